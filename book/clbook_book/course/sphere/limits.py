"""Where descent from a uniform start gets unstable: the sharpness of the loss there, which is a record."""

from __future__ import annotations

import itertools

import numpy as np

from clbook.experiments.sphere.experiment import Config, sharpness_at_start

UNIFORM = Config(start="uniform", steps=100, record_every=20)
DIMENSIONS = (2, 3)
DEPTHS = (1, 4)  # hidden layers
SEEDS = range(3)


def starts(seeds=SEEDS) -> tuple:
    """The uniform starts: on the circle and on the sphere, with one hidden layer and with four, each seed."""
    grid = itertools.product(DIMENSIONS, DEPTHS, seeds)
    return tuple(UNIFORM.replace(d=d, depth=depth, seed=seed) for d, depth, seed in grid)


def sharpness(seeds=SEEDS) -> np.ndarray:
    """(d, depth, seed) the sharpness of the loss at the uniform starts, on the circle and on the sphere."""
    found = [sharpness_at_start(config) for config in starts(seeds)]
    return np.reshape(found, (len(DIMENSIONS), len(DEPTHS), len(seeds)))
