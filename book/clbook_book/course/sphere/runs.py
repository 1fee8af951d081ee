"""What was run for the chapter: from three starts, below and beyond the rate at which descent gets unstable."""

from __future__ import annotations

import functools

import numpy as np
import xarray

from clbook.experiments.sphere import PAIR, Config, run
from clbook.results.labelled import padded
from clbook.results.sweep import combined
from clbook_book.course.sphere import limits
from clbook_book.course.sphere.figures import SNAPSHOT
from clbook_book.records import fields, grid, recorded

CURVES, TIMES = ("accuracy", "loss", "reach"), ("clustered_at", "separable_at")
AXES = dict.fromkeys(CURVES, "run step")


def curves(results) -> dict[str, np.ndarray]:
    """Accuracy, loss and reach (runs, T), NaN after a run's end; when each clustered and separated, NaN for never."""
    found = {}
    for name in CURVES:
        found[name] = np.float64(padded([getattr(r, name) for r in results]))
    for name in TIMES:
        found[name] = np.array([getattr(r, name) for r in results], float)
    return found


def pairs(configs) -> list:
    """Each Config through the network and point by point."""
    return [one for config in configs for one in config.compared(PAIR).values()]


# From a uniform start, at many rates.


RATES = (0.15, 0.5, 1.5, 5.0)
UNIFORM = Config(start="uniform", steps=100, record_every=20)
BOTH = {"d": (2, 3), "depth": (1, 4)}  # on the circle and on the sphere, hidden layers
STARTS = combined(UNIFORM, **BOTH, seed=range(3))
# Of each start: half the rate at which descent gets unstable, 1 / `sharpness`.
HALF = (0.115, 0.09, 0.149, 0.516, 0.441, 0.538, 0.067, 0.059, 0.073, 0.178, 0.209, 0.219)
GENTLE = [
    config.replace(lr=lr, steps=300, record_every=50)
    for config, lr in zip(STARTS, HALF, strict=True)
]


@recorded("sphere-sharpness")
def sharpness(seeds=range(3)) -> np.ndarray:
    """(d, depth, seed) the sharpness of the loss at the uniform starts, on the circle and on the sphere."""
    found = [limits.sharpness_at_start(config) for config in combined(UNIFORM, **BOTH, seed=seeds)]
    return np.reshape(found, (2, 2, len(seeds)))


@recorded(
    "ls-uniform-start",
    run,
    combined(UNIFORM, **BOTH, seed=range(3), lr=RATES) + GENTLE,
    curves=("accuracy", "loss", "reach"),
    start=0.3,
    record=CURVES + TIMES,
    axes=AXES,
)
def from_uniform(results):
    """Four clusters from a uniform start, four learning rates, and half the stability limit."""
    return curves(results)


@functools.cache
def uniform() -> tuple[xarray.Dataset, xarray.Dataset]:
    """These runs at the four rates, along d, depth, seed and lr; those at half the limit, along d, depth and seed."""
    record = from_uniform()
    trained = record.sel(run=record.steps == 100).dropna("step", how="all")
    gentle = record.sel(run=record.steps == 300)
    return grid(trained, ("d", "depth", "seed", "lr")), grid(gentle, ("d", "depth", "seed"))


# From other starts.


@recorded(
    "sphere-starts",
    run,
    combined(
        Config(steps=100),
        d=(2, 3),
        start=("uniform", "cap", "ordinary"),
        depth=(1, 4),
        seed=range(5),
    ),
    curves=("accuracy", "loss", "reach"),
    start=0.3,
    record=CURVES + TIMES,
    axes=AXES,
    dims=("d", "start", "depth", "seed"),
)
def starts(results):
    """Four clusters from a uniform start, a cap and an ordinary start, five seeds, 100 iterations."""
    return curves(results)


@recorded(
    "sphere-explorers",
    run,
    pairs(
        [
            *combined(Config(), start=("cap", "uniform"), depth=(1, 4)),
            *combined(Config(start="uniform", steps=100), lr=RATES),
            *combined(Config(n=120, steps=100), tau=(0.05, 0.1, 0.2), classes=(2, 4, 6)),
        ]
    ),
    keep=fields(),
    curves=("loss", "accuracy"),
    start=0.3,
    record=SNAPSHOT,
)
def explorers(runs):
    """Starts and depths, learning rates, temperatures and clusters, with and without network."""
    return runs


@recorded(
    "sphere-turned",
    run,
    pairs(combined(Config(d=3, n=120), depth=(1, 4))),
    keep=fields(),
    curves=("loss", "accuracy"),
    start=0.3,
    record=(*SNAPSHOT, "separable_at"),
)
def turned(runs):
    """A cap on the sphere, one hidden layer and four, with and without network."""
    return runs


@recorded(
    "sphere-tables",
    run,
    [
        *combined(
            Config(network=False, gradient="partial", record_every=50),
            d=(2, 3),
            start=("cap", "uniform"),
            seed=range(5),
        ),
        *combined(Config(noise=0.01, steps=100), seed=range(5)),
        *combined(
            Config(lr=0.004, n=120, steps=60, record_every=1), tau=(0.8, 0.4, 0.2, 0.1, 0.05)
        ),
    ],
    keep=fields(),
    curves=("loss", "accuracy"),
    start=0.3,
    record=("loss", "accuracy", *TIMES),
)
def tables(runs):
    """Free points from two starts, a cap with little noise, and small steps at five temperatures."""
    return runs
