"""Runs from three starts, and from a uniform one below and beyond the rate at which descent gets unstable: records."""

from __future__ import annotations

import numpy as np
import xarray

from clbook.experiments.sphere import Config, run
from clbook.results.labelled import padded
from clbook.results.records import Recipe, grid

RATES = (0.15, 0.5, 1.5, 5.0)
STARTS = tuple(
    Config(d=d, depth=depth, start="uniform", seed=seed, steps=100, record_every=20)
    for d in (2, 3)
    for depth in (1, 4)
    for seed in range(3)
)
# Of each start: half the rate at which descent gets unstable, 1 / sphere.sharpness_at_start(config).
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
CURVES, TIMES = ("accuracy", "loss", "reach"), ("clustered_at", "separable_at")


def curves(results) -> dict[str, np.ndarray]:
    """Accuracy, loss and reach (runs, T), NaN after a run's end; when each clustered and separated, NaN for never."""
    found = {}
    for name in CURVES:
        found[name] = np.float64(padded([getattr(r, name) for r in results]))
    for name in TIMES:
        found[name] = np.array([getattr(r, name) for r in results], float)
    return found


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
