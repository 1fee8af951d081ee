"""Made-up runs on which the claims of LS's own room give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

NAN = np.nan


def runs(*at, **fields):
    """Runs that separate at these iterations (None: never)."""
    return [Run(separable_at=steps, **fields) for steps in at]


def ended(ratio, at):
    """A record of runs with this ratio of (e), one of which separates at `at`."""
    return record(
        "run",
        left=np.full(6, ratio),
        right=np.ones(6),
        separable_at=np.array([1.0, 2.0, 1.0, 2.0, 1.0, at]),
        gradient=["partial", "full", "full", "partial", "partial", "partial"],
    )


def record(axes, places=None, **quantities):
    """A record of quantities along these axes, or those of them that each has."""
    kept = {}
    for name, values in quantities.items():
        kept[name] = (axes.split()[: np.ndim(values)], values)
    return xarray.Dataset(kept, coords=places)


def equal(slope):
    return dict(partial=slope, full=slope, ratio=900.0, eps=0.1)


def mnist(*accuracy, at=NAN):
    """A record of three runs with these accuracies over time, which are separable at this iteration."""
    lines = np.array([accuracy] * 3)
    return {"fig4_mnist": record("seed step", accuracy=lines, separable_at=np.full(3, at))}


CASES = {
    "ls-more-clusters": {
        "seen here": {"several": {"3 in 2-D": runs(5, 6, 7, 8, 9)}},
        "not seen here": {"several": {"3 in 2-D": runs(5, 6, 7, 8, None)}},
    },
    "ls-any-family": {
        "seen here": {
            "to_the_end": ended(5.0, 9.0),
            "random_features": ended(5.0, 9.0),
            "linear_maps": {"spline": runs(*[3] * 5)},
        },
        "undecided": {
            "to_the_end": ended(5.0, NAN),
            "random_features": ended(5.0, 9.0),
            "linear_maps": {"spline": runs(*[3] * 5)},
        },
    },
    "ls-theorem-4-3": {
        "holds": {"scattered": {("partial", 0.0): np.ones(3), ("partial", 2.0): np.ones(3)}},
        "fails": {"scattered": {("partial", 0.0): np.ones(3), ("partial", 2.0): -np.ones(3)}},
    },
    "ls-step-5": {
        "holds": {"printed_bounds": {1: [-9.0, -8.0]}, "equal_means": equal(0.0)},
        "fails": {"printed_bounds": {1: [-9.0, 5.0]}, "equal_means": equal(0.0)},
    },
    "ls-fig-4-mnist-end": {"seen here": mnist(0.4, 1.0, at=9.0), "undecided": mnist(0.4, 0.9)},
}
