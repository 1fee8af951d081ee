"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook import theory

SETTINGS = [(d, depth) for d in (2, 3) for depth in (1, 4)]
SEEDS = range(5)


def free(accuracy, above=0.0):
    """Runs of free points that end this far above the plateau, at rest since iteration 100."""
    return {
        (d, kind): [
            Run(
                config=Run(tau=0.2, d=d),
                steps=np.array([0, 100, 200, 300]),
                accuracy=[0.2, accuracy],
                loss=theory.simplified_plateau(0.2, d) + above + np.zeros(4),
                z=np.zeros((4, 5, d)),
            )
            for _ in SEEDS
        ]
        for d in (2, 3)
        for kind in ("cap", "uniform")
    }


def through(at, loss=0.0, way=0.0, arrows=None):
    """Runs through the network that cluster and are separable at this iteration; their points move a way after 200."""
    z = np.zeros((4, 4, 2))
    z[-1, :, 0] = way
    arrows = np.eye(4) if arrows is None else arrows
    return [
        Run(
            clustered_at=at,
            separable_at=at,
            loss=[0.0, loss],
            steps=np.array([0, 100, 200, 300]),
            z=z,
            arrows=[arrows],
            labels=np.array([0, 0, 1, 1]),
        )
        for _ in SEEDS
    ]


def capped(**fields):
    return {case: through(**fields) for case in SETTINGS}


AXES = ("d", "depth", "seed", "lr")


def gentle(at):
    """Runs of small steps from a uniform start."""
    never = np.full((2, 2, 3), np.nan if at is None else at)
    kept = {
        "clustered_at": (AXES[:3], never),
        "separable_at": (AXES[:3], never),
        "accuracy": ((*AXES[:3], "step"), np.ones((2, 2, 3, 2))),
    }
    return xarray.Dataset(kept)


def trained(accuracy, loss):
    """Runs of each seed, two beyond the limit and one below, that end so."""
    ends = [[0.2, accuracy], [0.2, accuracy], [0.2, 0.2]]
    kept = {
        "accuracy": ((*AXES, "step"), np.tile(ends, (1, 1, 3, 1, 1))),
        "loss": ((*AXES, "step"), np.tile([-1.9, loss], (1, 1, 3, 3, 1))),
    }
    return xarray.Dataset(kept)


def large(above=0.0):
    """A record of five runs of 2,000 free points from each of two starts that end this far above the plateau."""
    loss = np.full((2, 5, 2), theory.simplified_plateau(0.2, 2) + above)
    axes = ("start", "seed", "step")
    return xarray.Dataset({"loss": (axes, loss), "accuracy": (axes, np.full((2, 5, 2), 0.25))})


def uniform(accuracy):
    """Records from a uniform start: below the stability limit nothing, and beyond it this accuracy."""
    size = {"accuracy": (("d", "depth", "seed", "step"), np.full((2, 2, 5, 2), accuracy))}
    places = {"d": [2, 3], "depth": [1, 4]}
    return {
        "uniform_trained": trained(0.3, -1.0)
        .assign_coords(d=[2], depth=[1])
        .reindex(**places, fill_value=0.2),
        "uniform_gentle": gentle(None).assign_coords(**places),
        "uniform_size": xarray.Dataset(size, coords=places),
    }


CASES = {
    "ls-free-uniform": {
        "seen here": {"vanilla": free(0.25), "fig6_free": large()},
        "not seen here": {"vanilla": free(0.25), "fig6_free": large(above=1.0)},
    },
    "ls-cap-clusters": {
        "seen here": {"cap": capped(at=5), "cap_wide_gap": through(5)},
        "not seen here": {"cap": capped(at=5), "cap_wide_gap": through(None)},
    },
    "ls-uniform-start": {"holds when": uniform(1.0), "not seen here": uniform(0.3)},
    "ls-uniform-deep": {"holds when": uniform(1.0), "undecided": uniform(0.3)},
    "ls-clusters-by-climbing": {
        "holds": {"uniform_trained": trained(1.0, -1.0)},
        "fails": {"uniform_trained": trained(1.0, -2.0)},
        "undecided": {"uniform_trained": trained(0.3, -1.0)},
    },
    "va-same-direction": {
        "seen here": {"pushes": {2: [(0.99, 0.5)] * 5}},
        "not seen here": {"pushes": {2: [(0.97, 0.97 + k / 100) for k in range(1, 6)]}},
    },
    "va-own-gradients": {
        "seen here": {"cap": capped(at=5, arrows=np.array([[1.0, 0.0], [-1.0, 0.0]] * 2))},
        "not seen here": {"cap": capped(at=5, arrows=np.ones((4, 2)))},
    },
    "ls-capacity": {
        "seen here": {"vanilla": free(0.25), "cap": capped(at=5, loss=-1.0)},
        "not seen here": {"vanilla": free(0.25), "cap": capped(at=5, loss=-5.0)},
    },
}
