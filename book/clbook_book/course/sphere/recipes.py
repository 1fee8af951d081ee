"""Runs from three starts, and from a uniform one below and beyond the rate at which descent gets unstable: records.

So are the runs that the chapter draws and has in its tables, which are kept whole.
"""

from __future__ import annotations

import numpy as np
import xarray

from clbook.experiments.sphere import PAIR, Config, run
from clbook.results.labelled import padded
from clbook_book.course.sphere import limits
from clbook_book.course.sphere.figures import SNAPSHOT
from clbook_book.records import Computed, Recipe, fields, grid

RATES = (0.15, 0.5, 1.5, 5.0)
STARTS = limits.starts()
# Of each start: half the rate at which descent gets unstable, 1 / `limits.sharpness_at_start`.
HALF = (0.115, 0.09, 0.149, 0.516, 0.441, 0.538, 0.067, 0.059, 0.073, 0.178, 0.209, 0.219)
TRAINED = tuple(config.replace(lr=lr) for config in STARTS for lr in RATES)
GENTLE = tuple(
    config.replace(lr=lr, steps=300, record_every=50)
    for config, lr in zip(STARTS, HALF, strict=True)
)
THREE_STARTS = tuple(
    Config(d=d, start=start, depth=depth, seed=seed, steps=100)
    for d in (2, 3)
    for start in ("uniform", "cap", "ordinary")
    for depth in (1, 4)
    for seed in range(5)
)
# What the chapter's explorers show, through the network and point by point.
STARTS_AND_DEPTHS = tuple(
    Config(start=start, depth=depth) for start in ("cap", "uniform") for depth in (1, 4)
)
AT_RATES = tuple(Config(start="uniform", lr=lr, steps=100) for lr in RATES)
ON_SPHERE = tuple(Config(d=3, n=120, depth=depth) for depth in (1, 4))
CLUSTERS = tuple(
    Config(n=120, steps=100, tau=tau, classes=classes)
    for tau in (0.05, 0.1, 0.2)
    for classes in (2, 4, 6)
)
# What stands in its tables alone.
FREE = tuple(
    Config(network=False, gradient="partial", record_every=50, d=d, start=start, seed=seed)
    for d in (2, 3)
    for start in ("cap", "uniform")
    for seed in range(5)
)
LITTLE_NOISE = tuple(Config(noise=0.01, steps=100, seed=seed) for seed in range(5))
AT_TEMPERATURES = tuple(
    Config(tau=tau, lr=0.004, n=120, steps=60, record_every=1) for tau in (0.8, 0.4, 0.2, 0.1, 0.05)
)
CURVES, TIMES = ("accuracy", "loss", "reach"), ("clustered_at", "separable_at")


def curves(results) -> dict[str, np.ndarray]:
    """Accuracy, loss and reach (runs, T), NaN after a run's end; when each clustered and separated, NaN for never."""
    found = {}
    for name in CURVES:
        found[name] = np.float64(padded([getattr(r, name) for r in results]))
    for name in TIMES:
        found[name] = np.array([getattr(r, name) for r in results], float)
    return found


def pairs(configs) -> tuple:
    """Each Config through the network and point by point."""
    found = []
    for config in configs:
        found += config.compared(PAIR).values()
    return tuple(found)


def uniform(record: xarray.Dataset) -> tuple[xarray.Dataset, xarray.Dataset]:
    """The runs of `TRAINED`, along d, depth, seed and lr, and those of `GENTLE`, along d, depth and seed."""
    trained = record.sel(run=record.steps == 100).dropna("step", how="all")
    gentle = record.sel(run=record.steps == 300)
    return grid(trained, ("d", "depth", "seed", "lr")), grid(gentle, ("d", "depth", "seed"))


AXES = dict.fromkeys(CURVES, "run step")

RECIPES = {}
RECIPES["ls-uniform-start"] = Recipe(
    "four clusters from a uniform start, four learning rates, and half the stability limit",
    run,
    TRAINED + GENTLE,
    curves,
    ("accuracy", "loss", "reach"),
    start=0.3,
    record=CURVES + TIMES,
    axes=AXES,
)
RECIPES["sphere-starts"] = Recipe(
    "four clusters from a uniform start, a cap and an ordinary start, five seeds, 100 iterations",
    run,
    THREE_STARTS,
    curves,
    ("accuracy", "loss", "reach"),
    start=0.3,
    record=CURVES + TIMES,
    axes=AXES,
    dims=("d", "start", "depth", "seed"),
)
RECIPES["sphere-explorers"] = Recipe(
    "starts and depths, learning rates, temperatures and clusters, with and without network",
    run,
    pairs(STARTS_AND_DEPTHS + AT_RATES + CLUSTERS),
    fields(),
    ("loss", "accuracy"),
    start=0.3,
    record=SNAPSHOT,
)
RECIPES["sphere-turned"] = Recipe(
    "a cap on the sphere, one hidden layer and four, with and without network",
    run,
    pairs(ON_SPHERE),
    fields(),
    ("loss", "accuracy"),
    start=0.3,
    record=(*SNAPSHOT, "separable_at"),
)
RECIPES["sphere-tables"] = Recipe(
    "free points from two starts, a cap with little noise, and small steps at five temperatures",
    run,
    FREE + LITTLE_NOISE + AT_TEMPERATURES,
    fields(),
    ("loss", "accuracy"),
    start=0.3,
    record=("loss", "accuracy", *TIMES),
)
RECIPES["sphere-sharpness"] = Computed(limits.sharpness)
