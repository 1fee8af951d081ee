"""What was run for the chapter's figures, over the number of occurrences and over time."""

from __future__ import annotations

import numpy as np

from clbook.experiments.why import Config, run
from clbook_book.records import fields, recorded

TIMES = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # occurrences m of each symbol
THREE = range(3)  # seeds


def at_the_end(times, *, steps=1000, **change) -> list[Config]:
    """Settings for each number of occurrences, recorded at their start and at their end."""
    base = Config(steps=steps, record_every=steps, **change)
    return [base.replace(m=m) for m in times]


@recorded(
    "why-counts",
    run,
    [
        *at_the_end(TIMES, alike=0.0),
        *at_the_end(TIMES),
        *at_the_end(TIMES, looks="crossed"),
        *at_the_end(TIMES[::2], steps=3000, hidden=64, lr=0.01),
    ],
    keep=fields(),
    seeds=THREE,
    start=1.0,
)
def counts(runs):
    """Who averages: a table, a layer and two layers at nine numbers of occurrences, three seeds."""
    return runs


LONG = Config(decay=0.0, steps=4000)
SEEN = {
    "m = 1": {"m": 1},
    "m = 16": {"m": 16},
    "m = 256": {"m": 256},
    "endless": {"sampled": False},
}


@recorded(
    "why-over-time",
    run,
    [LONG.replace(alike=alike, **change) for alike in (0.0, 0.5) for change in SEEN.values()],
    seeds=THREE,
    curves=("ratio",),
    start=0.02,
    axes={"steps": "step", "ratio": "run step"},
    named={"seen": np.tile(np.repeat([*SEEN], 3), 2)},
    dims=("alike", "seen", "seed"),
)
def over_time(results):
    """A table and a layer without decay, at three numbers of occurrences and at endless ones, three seeds.

    Keeps:
        ratio: mean distance of two symbols of a group over that of two symbols of different groups, by meaning.
    """
    return {"steps": results[0].steps, "ratio": np.stack([r.ratio() for r in results])}
