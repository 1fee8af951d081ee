"""Made-up runs and records on which the claims of SA's page give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook_book.audit.sa.recipes import COUNTS, TWINS


def on_weights(eta=0.1, batch=8, tau=2.0, miss_bound=9.0, **fields):
    """A run on weights, three recorded times, whose constants are 1."""
    base = dict(
        config=Run(eta=eta, batch=batch, tau=tau, classes=12, steps=2, delta=0.01, n=24),
        constants=lambda: dict.fromkeys(("G", "beta", "C", "M"), 1.0),
        miss_bound=lambda: miss_bound,
        drift=np.array([0, 0.01, 0.02]),
        moved=np.array([0, 1.0, 2.0]),
        missed=np.array([0, 0.1, 0.2]),
        cosine=np.array([np.nan, 0.9, 0.9]),
        stretch=np.ones(3),
        G=np.ones(3),
        beta=np.ones(3),
        pull=np.ones(3),
        slope=np.full(3, 0.5),
        chain=np.zeros(3),
        apart=np.full(3, 0.1),
        rest=np.full(3, 4e-4),
        half=np.full(3, 1e-4),
        bound=np.array([0, 1.0, 2.0]),
        triangle=np.ones(3),
    )
    return Run(**{**base, **fields})


def both(**fields):
    runs = [on_weights(**fields)] * 5
    encoders = {"circle": runs, "network": runs}
    return {"circles": runs, "networks": runs, "encoders": encoders}


def record(places, **quantities):
    """A record of quantities (axes, values), with these places along the axes."""
    kept = {name: (axes.split(), values) for name, (axes, values) in quantities.items()}
    return xarray.Dataset(kept, coords={axis: list(values) for axis, values in places.items()})


def ended(weights=85.0):
    """A record of a long training: angles and gaps at its end."""
    ones, axes = np.ones((3, 3, 61)), "seed loss step"
    turned = np.tile(np.array([30.0, 35.0])[:, None, None], (3, 1, 10, 61))
    return record(
        {"step": range(0, 6001, 100), **TWINS},
        weight_angle=(axes, weights * ones),
        class_angle=("seed embedding class step", turned),
    )


def grid(ends, seeds=3, **places):
    """A record of pairs: CKA and RSA at each time, for settings with these ends, so many seeds each."""
    values = np.linspace(np.ones(np.shape(ends)), ends, 11, axis=-1)
    values = np.repeat(values[..., None, :], seeds, axis=-2)
    axes = " ".join([*places, "seed step"])
    return record(places, **dict.fromkeys(("cka", "rsa", "cka_train", "rsa_train"), (axes, values)))


def subsets(ends):
    """A record of random classes: CKA and RSA with these ends, by the number of classes."""
    return grid(ends, 5, classes=COUNTS)


def photographed(*cka):
    """A set of photographs with these CKA of NSCL after each epoch, alike in three seeds."""
    values = np.tile(np.array(cka)[:, None], (3, 1, 1))
    return record({"loss": ["nscl"]}, cka=("seed epoch loss", values))


RISING, FALLING = np.linspace(0.2, 0.9, len(COUNTS)), np.linspace(0.9, 0.2, len(COUNTS))


CASES = {
    "sa-theorem-2": {"holds": both(), "fails": both(apart=np.full(3, 1e6))},
    "sa-surrogate": {"holds": both(), "fails": both(missed=np.array([0, 2.0, 3.0]))},
    "sa-weight-angle": {
        "seen here": {"plateau": ended()},
        "not seen here": {"plateau": ended(weights=45.0)},
    },
    "sa-subsets": {
        "seen here": {"subsets": subsets(RISING)},
        "not seen here": {"subsets": subsets(FALLING)},
    },
    "sa-subsets-decline": {
        "seen here": {
            "subsets": subsets(FALLING),
            "photographs": {"CIFAR-10": photographed(1, 0.9, 0.8, 0.7, 0.6)},
        },
        "not seen here": {
            "subsets": subsets(FALLING),
            "photographs": {"CIFAR-10": photographed(1, 0.9, 0.8, 0.7, 0.8)},
        },
    },
    "sa-bound-batch": {
        "holds": {"bound_changes": {"fixed epochs": [0.1, -0.1]}},
        "fails": {"bound_changes": {"fixed epochs": [-0.1, -0.1]}},
    },
}
