"""Whether a run has reached a goal of a block, as tasks.js says it in the page."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import numpy as np

from clbook.explore.static import said
from clbook.training.settings import Settings
from clbook_book.live.tasks import ENTRY, Goal, known

SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def reached(goal: Goal, row: Mapping, config: Settings) -> bool:
    """Whether a run of `config` has reached it that recorded `row` {name: numbers} at its end."""
    for name, sign, value in goal.conditions:
        found = entry(row, name) if known(row, name) else getattr(config, name)
        if isinstance(value, str):
            found = said(found)
        if found is None or not SIGNS[sign](found, value):
            return False
    return True


def entry(row: Mapping, name: str) -> float | None:
    """The number that `name` stands for; None for a time (a name on _at) that has not come."""
    key, place = ENTRY.fullmatch(name).groups()
    found = float(np.ravel(row[key])[int(place or 0)])
    return None if key.endswith("_at") and found < 0 else found
