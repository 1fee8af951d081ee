"""The runs of the chapter's figures, over the number of occurrences and over time: how their records are made."""

from __future__ import annotations

import numpy as np

from clbook.experiments.why import Config, run
from clbook_book.records import Recipe, fields

TIMES = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # occurrences m of each symbol
SEEDS = range(3)


def at_the_end(times, *, steps=1000, **change) -> tuple[Config, ...]:
    """Runs of three seeds for each number of occurrences, recorded at their start and at their end."""
    base = Config(steps=steps, record_every=steps, **change)
    return tuple(base.replace(m=m, seed=seed) for m in times for seed in SEEDS)


COUNTED = (
    *at_the_end(TIMES, alike=0.0),
    *at_the_end(TIMES),
    *at_the_end(TIMES, looks="crossed"),
    *at_the_end(TIMES[::2], steps=3000, hidden=64, lr=0.01),
)

SEEN = {
    "m = 1": {"m": 1},
    "m = 16": {"m": 16},
    "m = 256": {"m": 256},
    "endless": {"sampled": False},
}
LONG = tuple(
    Config(alike=alike, decay=0.0, steps=4000, seed=seed, **change)
    for alike in (0.0, 0.5)
    for change in SEEN.values()
    for seed in SEEDS
)


def ratios(results) -> dict[str, np.ndarray]:
    """The recorded times (T,), and the distance ratio (runs, T) at these."""
    return {"steps": results[0].steps, "ratio": np.stack([r.ratio() for r in results])}


SEEN_BY_RUN = np.tile(np.repeat([*SEEN], len(SEEDS)), 2)

RECIPES = {}
RECIPES["why-counts"] = Recipe(
    "who averages: a table, a layer and two layers at nine numbers of occurrences, three seeds",
    run,
    COUNTED,
    fields(),
    ("loss",),
    start=1.0,
)
RECIPES["why-over-time"] = Recipe(
    "a table and a layer without decay, at three numbers of occurrences and at endless ones, three seeds",
    run,
    LONG,
    ratios,
    ("ratio",),
    start=0.02,
    axes={"steps": "step", "ratio": "run step"},
    named={"seen": SEEN_BY_RUN},
    dims=("alike", "seen", "seed"),
)
