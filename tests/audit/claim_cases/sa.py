"""Made-up runs and records on which the claims of SA's page give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook_book.audit.sa.recipes import COUNTS, LOSSES, TWINS

LARS_STEPS = np.arange(0, 3001, 50)


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


def varied(fall=1):
    """Runs in which eta, B and tau are varied one by one, and the miss falls or rises with each."""
    usual = {"eta": 0.1, "batch": 8, "tau": 2.0}
    changes = {"eta": (1.0, 0.1, 0.01), "batch": (4, 8, 16), "tau": (0.5, 2.0, 5.0)}
    configs = [usual] + [
        usual | {key: value} for key in changes for value in changes[key] if value != usual[key]
    ]
    ranks = [sum(changes[key].index(config[key]) for key in changes) for config in configs]
    runs = [
        on_weights(**config, missed=np.array([0, 1, 9.0 - fall * rank]))
        for config, rank in zip(configs, ranks, strict=True)
        for _ in range(5)
    ]
    return dict.fromkeys(("varied_circles", "varied_networks"), runs)


def record(places, **quantities):
    """A record of quantities (axes, values), with these places along the axes."""
    kept = {name: (axes.split(), values) for name, (axes, values) in quantities.items()}
    return xarray.Dataset(kept, coords={axis: list(values) for axis, values in places.items()})


def ended(weights=85.0, twin=0.9):
    """A record of a long training: angles and gaps at its end."""
    ones, axes = np.ones((3, 3, 61)), "seed loss step"
    turned = np.tile(np.array([30.0, 35.0])[:, None, None], (3, 1, 10, 61))
    return record(
        {"step": range(0, 6001, 100), **TWINS},
        weight_angle=(axes, weights * ones),
        cka=(axes, ones),
        gap=(axes, ones * np.array([0, 1, twin])[:, None]),
        class_angle=("seed embedding class step", turned),
    )


def lars(
    cka=(1, 0.9, 0.05, 0.5),
    within=(0.4, 0.4, 0.1, 0.2),
    gap=(0, 1, 2, 3),
    least=0.1,
    read=(0.7, 0.8, 0.9, 0),
):
    """A record of four losses: what each has at the end; alignment falls to it, gaps grow to it; CE has been lower."""
    way = np.linspace(0, 1, 61)
    similar = np.tile(1 - np.outer(1 - np.array(cka), way), (3, 1, 1))
    similar[:, 3, 30] -= least
    axes = "seed loss step"
    return record(
        {"step": LARS_STEPS, **LOSSES},
        cka=(axes, similar),
        rsa=(axes, similar),
        gap=(axes, np.tile(np.outer(gap, way), (3, 1, 1))),
        within=(axes, np.tile(np.outer(within, np.ones(61)), (3, 1, 1))),
        probe=("seed loss", np.tile(read, (3, 1))),
        nccc=(axes, np.tile(np.outer(read, np.ones(61)), (3, 1, 1))),
    )


def digits(**quantities):
    """The same as one of the sets of images."""
    return {"images": {"digits": lars(**quantities)}}


def grid(ends, seeds=3, **places):
    """A record of pairs: CKA and RSA at each time, for settings with these ends, so many seeds each."""
    values = np.linspace(np.ones(np.shape(ends)), ends, 11, axis=-1)
    values = np.repeat(values[..., None, :], seeds, axis=-2)
    axes = " ".join([*places, "seed step"])
    return record(places, **dict.fromkeys(("cka", "rsa", "cka_train", "rsa_train"), (axes, values)))


def subsets(ends):
    """A record of random classes: CKA and RSA with these ends, by the number of classes."""
    return grid(ends, 5, classes=COUNTS)


RISING, FALLING = np.linspace(0.2, 0.9, len(COUNTS)), np.linspace(0.9, 0.2, len(COUNTS))


CASES = {
    "sa-vacuous": {
        "holds": {"lasting": {("ImageNet-1K", 0.5): (5, 100)}},
        "fails": {"lasting": {("ImageNet-1K", 0.5): (90, 100), ("a", 0.5): (1, 100)}},
    },
    "sa-corollary-3": {
        "holds": {"missed_promises": np.array([[0.1, 0.1, 0.5]] * 3)},
        "misprinted": {"missed_promises": np.array([[1.0, 0.1, 0.5]] * 3)},
        "fails": {"missed_promises": np.array([[1.0, 0.9, 0.5]] * 3)},
    },
    "sa-lemma-7": {"holds": both(), "fails": both(apart=np.full(3, 1e6))},
    "sa-summary": {"seen here": varied(), "not seen here": varied(-1)},
    "sa-summary-batch": {"seen here": varied(), "not seen here": varied(-1)},
    "sa-surrogate": {"holds": both(), "fails": both(missed=np.array([0, 2.0, 3.0]))},
    "sa-weight-angle": {
        "seen here": {"plateau": ended()},
        "not seen here": {"plateau": ended(weights=45.0)},
    },
    "sa-scl-zero": {"seen here": digits(), "not seen here": digits(cka=(1, 0.9, 0.8, 0.5))},
    "sa-probe-lars": {"seen here": digits(), "not seen here": digits(read=(0.9, 0.8, 0.7, 0))},
    "sa-subsets": {
        "seen here": {"subsets": subsets(RISING)},
        "not seen here": {"subsets": subsets(FALLING)},
    },
    "sa-bound-batch": {
        "holds": {"bound_changes": {"fixed epochs": [0.1, -0.1]}},
        "fails": {"bound_changes": {"fixed epochs": [-0.1, -0.1]}},
    },
}
