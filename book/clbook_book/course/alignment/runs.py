"""What was run for the chapter."""

from __future__ import annotations

import numpy as np

from clbook.experiments.alignment import Config, run
from clbook.results.sweep import combined
from clbook_book.records import fields, recorded

LABELS = Config(compare="labels")


def nscl(result) -> np.ndarray:
    """(T,) the CKA of NSCL with DCL."""
    return result.cka[:, 1]


@recorded(
    "alignment-sides",
    run,
    combined(LABELS, classes=(2, 10, 50), tau=(0.1, 0.5, 1.0)),
    keep=fields(nscl=nscl),
    curves=("nscl",),
    start=0.3,
    record=("plane", "cka", "gap", "loss_gap"),
)
def sides(runs):
    """Points of three numbers of classes at three temperatures, four losses."""
    return runs


@recorded(
    "alignment-ends",
    run,
    [
        Config(data="digits", n=1200, noise=0.1, record_every=200),
        *combined(LABELS.replace(classes=2, record_every=200), seed=range(3)),
    ],
    keep=fields(nscl=nscl),
    curves=("nscl",),
    start=1.0,
    record=("z", "cka"),
)
def ends(runs):
    """Digits, and points of two classes with three seeds, at their start and at their end."""
    return runs
