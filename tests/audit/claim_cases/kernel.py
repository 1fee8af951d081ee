"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray


def flows(name, spread, moved=1.0):
    """Five runs of a flow whose points and views are as far apart as `spread`."""
    return [{name: Run(spread=np.array([0.0, spread, spread]), moved=np.array([0.0, moved]))}] * 5


def stories(*alignment):
    """Five runs on each kind of data with this alignment at times 0, 1, 2, which separate at 1."""
    axes, shape = ("data", "activation", "seed"), (2, 1, 5)
    kept = {
        "recorded_steps": ((*axes, "step"), np.tile(np.arange(3), (*shape, 1))),
        "separable_at": (axes, np.ones(shape, int)),
        "alignment": ((*axes, "step"), np.tile(alignment, (*shape, 1))),
    }
    places = {"data": ["clusters", "donut"], "activation": ["tanh"]}
    return {"stories": xarray.Dataset(kept, coords=places)}


def until(start, then):
    """A record of five donuts that separate at 1: alignment of the kernel at the start, and then."""
    axes = ("activation", "eps", "seed", "step")
    kept = {
        "separable_at": (axes[:3], np.ones((1, 1, 5))),
        "recorded_steps": (axes, np.tile([0.0, 1.0, 2.0], (1, 1, 5, 1))),
        "alignment": (axes, np.tile([start, then, 0.9], (1, 1, 5, 1))),
    }
    places = {"activation": ["tanh"], "eps": [1.0]}
    return {"fig5": xarray.Dataset(kept, coords=places)}


CASES = {
    "va-theorem-4-2-network": {
        "holds": {"three_flows": flows("network", 0.1)},
        "fails": {"three_flows": flows("network", 1e-15)},
    },
    "ls-fig-5-donut": {
        "seen here": stories(0.1, 0.8, 0.9),
        "not seen here": stories(0.1, 0.2, 0.4),
    },
    "ls-blocks-first": {
        "seen here": stories(0.1, 0.8, 0.9) | until(0.1, 0.8),
        "not seen here": stories(0.1, 0.1, 0.9) | until(0.1, 0.1),
    },
}
