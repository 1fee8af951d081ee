"""The five runs whose faults a reader looks for: how their record is made."""

from __future__ import annotations

from clbook.experiments.practice import FAULTS, Config, run
from clbook_book.records import Recipe, fields

RECIPES = {
    "practice-runs": Recipe(
        "digits in five runs, four of which are ill",
        run,
        tuple(Config(letter=letter) for letter in FAULTS),
        fields(),
        ("loss",),
        start=0.1,
    )
}
