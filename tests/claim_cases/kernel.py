"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook.experiments import kernel

DELTAS = (0.01, 0.1, 1.0)
RATES = np.array([[1.0], [10.0], [100.0], [1000.0], [1.0]]) * np.ones(5)


def flows(name, spread, moved=1.0):
    """Five runs of a flow whose points and views are as far apart as `spread`."""
    return [{name: Run(spread=np.array([0.0, spread, spread]), moved=np.array([0.0, moved]))}] * 5


def tight(**powers):
    """Runs at each delta and five seeds: errors of a reading, and the scatter in a cluster, go like delta^power."""

    def run(delta):
        return Run(
            config=Run(delta=delta),
            labels=np.zeros(2, int),
            measured=np.array([[[1.0, 1.0], [1.0, -1.0]]])
            * [1.0, 0.1 * delta ** powers.get("scatter", 1)],
            error=lambda reading: delta ** powers.get(reading, 1),
        )

    return [[run(delta)] * 5 for delta in DELTAS]


def starts(random=None, smooth=None, line=None):
    return {
        "tight": {
            "random start": random or tight(),
            "smooth start": smooth or tight(),
            "centres on a line": line or tight(),
        }
    }


def explicit(own, other):
    return {
        "explicit": {
            "tanh": {
                ("1/sqrt(M)", "1/M"): own,
                ("1/sqrt(M D)", "1/(M D)"): own,
                ("1/sqrt(M)", "1/(M D)"): other,
                ("1/sqrt(M D)", "1/M"): other,
            }
        }
    }


def wide(**last):
    """Five draws: errors that end at these values."""
    names = ("isotropic", "stretched", "shifted")
    return {
        "wide": {name: np.array([[0.1], [last.get(name, 0.01)]]) * np.ones(5) for name in names}
    }


def printed(power):
    return {"printed": {"delta": DELTAS, "errors": np.array(DELTAS)[:, None] ** power * np.ones(5)}}


def sized(last):
    """Five seeds; the last cluster's speed beside the others' goes from 1 to `last` as its size does to .1."""
    found = {}
    for number in (2, 3, 4):
        found[number] = np.ones((2, 5, number))
        found[number][1, :, -1] = last
    return {"cluster_speeds": found, "ratios": (1.0, 0.1)}


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


FIRST, NEVER = RATES * np.array([1.0, 1.01, 0.99, 1.0, 1.0]), np.ones((5, 5))
STILL = kernel.run(kernel.Config(centres="line", clusters=2, n=4, width=4, eps=0.0, steps=2))
PARTED = Run(**{**vars(STILL), "spread": np.ones(2)})

CASES = {
    "va-prop-4-1-views": {
        "holds": {"step_errors": {"joint": FIRST}},
        "fails": {"step_errors": {"joint": NEVER}},
    },
    "va-theorem-4-2-vanilla": {
        "identity": {"three_flows": flows("vanilla", 0.0)},
        "fails": {"three_flows": flows("vanilla", 0.1)},
    },
    "va-theorem-4-2-network": {
        "holds": {"three_flows": flows("network", 0.1)},
        "fails": {"three_flows": flows("network", 1e-15)},
    },
    "va-theorem-4-2-only-if": {
        "holds": {"constant_start": PARTED},
        "fails": {"constant_start": STILL},
    },
    "va-prop-4-3": {"holds": explicit(1e-15, 1.0), "fails": explicit(0.1, 1.0)},
    "va-prop-4-4": {"holds when": wide(), "fails": wide(isotropic=0.2)},
    # A wrong formula is off by the same part whatever the radius.
    "va-theorem-4-5": {"holds": printed(1.0), "fails": printed(0.0)},
    "va-theorem-4-5-mean": {"holds": starts(), "fails": starts(random=tight(mean=0.0))},
    "va-theorem-4-5-own": {
        "holds when": starts(random=tight(own=0.0)),
        "fails": starts(smooth=tight(own=0.5)),
    },
    "va-fig-5-one-velocity": {"holds": starts(), "fails": starts(line=tight(scatter=0.0))},
    "va-fig-5-eq-21": {
        "seen here": starts(line=tight(mean=0.0)),
        "not seen here": starts(line=tight(mean=1.0)),
    },
    "va-corollary-4-6": {
        "holds": {"corollary": np.array([[[0.0, 0.1]] * 5, [[0.0, 0.01]] * 5])},
        "fails": {"corollary": np.array([[[0.0, 0.1]] * 5, [[0.0, 0.2]] * 5])},
    },
    "va-remark-4-4": {"holds when": sized(0.1), "fails": sized(1.0)},
    "va-remark-4-4-two": {"seen here": sized(1.0), "not seen here": sized(0.1)},
    "ls-fig-5-clusters-later": {
        "seen here": stories(0.98, 0.98, 0.99),
        "not seen here": stories(0.5, 0.5, 0.9),
    },
    "ls-fig-5-donut-rises": {
        "seen here": stories(0.1, 0.1, 0.3),
        "not seen here": stories(0.3, 0.3, 0.1),
    },
    "ls-fig-5-donut": {
        "seen here": stories(0.1, 0.1, 0.9),
        "not seen here": stories(0.1, 0.1, 0.3),
    },
    "ls-blocks-first": {
        "seen here": stories(0.1, 0.8, 0.9) | until(0.1, 0.8),
        "not seen here": stories(0.1, 0.1, 0.9) | until(0.1, 0.1),
    },
}
