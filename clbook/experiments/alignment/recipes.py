"""Embeddings at the end of runs that the chapter shows: how their record is made."""

from __future__ import annotations

from clbook.experiments.alignment import Config, run
from clbook.results.records import Recipe, fields

DIGITS = Config(data="digits", n=1200, noise=0.1, record_every=200)
TWO = Config(compare="labels", classes=2, record_every=200)

RECIPES = {
    "alignment-ends": Recipe(
        "digits, and points of two classes with three seeds, recorded at their start and at their end",
        run,
        (DIGITS, *(TWO.replace(seed=seed) for seed in range(3))),
        fields(),
        ("cka",),
        start=1.0,
        record=("z", "cka"),
    )
}
