"""Runs from a uniform start, below and beyond the rate at which descent gets unstable: how their record is made."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from clbook.experiments.sphere import Config, run
from clbook.results.records import Recipe, Record

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
CURVES, TIMES = ("accuracy", "loss", "reach"), ("clustered_at", "separable_at")


def curves(results) -> dict[str, np.ndarray]:
    """Accuracy, loss and reach (runs, T), NaN after a run's end; when each clustered and separated, NaN for never."""
    longest = max(len(r.steps) for r in results)
    found = {name: np.full((len(results), longest), np.nan) for name in CURVES}
    for name, rows in found.items():
        for row, r in zip(rows, results, strict=True):
            row[: len(r.steps)] = getattr(r, name)
    return found | {name: np.array([getattr(r, name) for r in results], float) for name in TIMES}


def uniform(record: Record) -> tuple[list[SimpleNamespace], list[SimpleNamespace]]:
    """The runs of `TRAINED` and those of `GENTLE`, each with its config and its rows of the record."""
    runs = []
    for i, config in enumerate(TRAINED + GENTLE):
        rows = {name: record[name][i, : config.steps // config.record_every + 1] for name in CURVES}
        times = {
            name: None if np.isnan(record[name][i]) else int(record[name][i]) for name in TIMES
        }
        runs.append(SimpleNamespace(config=config, **rows, **times))
    return runs[: len(TRAINED)], runs[len(TRAINED) :]


AXES = dict.fromkeys(CURVES, "run step")

RECIPES = {
    "ls-uniform-start": Recipe(
        "four clusters from a uniform start, four learning rates, and half the stability limit",
        run,
        TRAINED + GENTLE,
        curves,
        ("accuracy", "loss", "reach"),
        start=0.3,
        record=CURVES + TIMES,
        axes=AXES,
    ),
}
