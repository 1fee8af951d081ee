"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

SETTINGS = [(d, depth) for d in (2, 3) for depth in (1, 4)]
SEEDS = range(5)


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


def trained(accuracy, loss):
    """Runs of each seed, two beyond the limit and one below, that end so."""
    ends = [[0.2, accuracy], [0.2, accuracy], [0.2, 0.2]]
    kept = {
        "accuracy": ((*AXES, "step"), np.tile(ends, (1, 1, 3, 1, 1))),
        "loss": ((*AXES, "step"), np.tile([-1.9, loss], (1, 1, 3, 3, 1))),
    }
    return xarray.Dataset(kept)


CASES = {
    "ls-cap-clusters": {
        "seen here": {"cap": capped(at=5), "cap_wide_gap": through(5)},
        "not seen here": {"cap": capped(at=5), "cap_wide_gap": through(None)},
    },
    "ls-clusters-by-climbing": {
        "holds": {"uniform_trained": trained(1.0, -1.0)},
        "fails": {"uniform_trained": trained(1.0, -2.0)},
        "undecided": {"uniform_trained": trained(0.3, -1.0)},
    },
}
