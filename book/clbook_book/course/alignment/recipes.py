"""Runs that the chapter shows, and embeddings at the end of some: how their records are made."""

from __future__ import annotations

import numpy as np

from clbook.experiments.alignment import Config, run
from clbook_book.course.alignment import figures
from clbook_book.records import Recipe, fields

DIGITS = Config(data="digits", n=1200, noise=0.1, record_every=200)
LABELS = Config(compare="labels")
TWO = LABELS.replace(classes=2, record_every=200)
SIDES = tuple(
    LABELS.replace(classes=classes, tau=tau) for classes in (2, 10, 50) for tau in (0.1, 0.5, 1.0)
)


def nscl(result) -> np.ndarray:
    """(T,) the CKA of NSCL with DCL."""
    return result.cka[:, 1]


RECIPES = {}
RECIPES["alignment-sides"] = Recipe(
    "points of three numbers of classes at three temperatures, four losses",
    run,
    SIDES,
    fields(nscl=nscl),
    ("nscl",),
    start=0.3,
    record=figures.SIDES,
)
RECIPES["alignment-ends"] = Recipe(
    "digits, and points of two classes with three seeds, at their start and at their end",
    run,
    (DIGITS, *(TWO.replace(seed=seed) for seed in range(3))),
    fields(nscl=nscl),
    ("nscl",),
    start=1.0,
    record=("z", "cka"),
)
