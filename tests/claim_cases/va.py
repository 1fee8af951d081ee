"""Made-up runs on which the claims of VA's own room give each verdict that they may give."""

import numpy as np
import xarray

from clbook import theory
from clbook.papers.va import recipes
from clbook.results import records

STEPS = np.array([0, 10, 100, 10_000, 20_000])
DELTAS = np.array([0.01, 0.1, 1.0])


def record(name, accuracy=0.2, at=0, **curves):
    """The record `name` with this accuracy from the time `at` on, and other curves, each at one level."""
    line = np.where(np.arange(len(STEPS)) >= at, accuracy, 0.2)
    recipe = recipes.RECIPES[name]
    settings = records.grid(records.of_runs(recipe), recipe.dims)
    runs = settings.config.expand_dims(step=STEPS, axis=-1)
    made = {"accuracy": xarray.zeros_like(runs, float) + xarray.DataArray(line, dims="step")}
    for curve, level in curves.items():
        made[curve] = xarray.full_like(runs, level, float)
    return settings.assign(made)


def uniform(accuracy, at=0):
    return {
        "uniform": record("va-uniform", accuracy, at),
        "eq_18": record("va-eq-18", accuracy, at),
    }


EVEN = np.arange(120) * 2 * np.pi / 120
CLUSTERED = EVEN // (np.pi / 2) + 0.1 * EVEN


def life(angles=EVEN, loss=0.0, later=0.0, spread=0.0):
    """Runs with four clusters at these angles, this far above the lowest loss, that move by `later` in the end.

    The neighbours of a point are of its cluster at all times: that evenly spread points have, too.
    """
    level = theory.circle_plateau(recipes.BASE.tau, 1) + loss
    made = record("va-life", 1.0, recorded_loss=level, recorded_spread=spread)
    places = xarray.DataArray(
        np.tile(np.stack([np.cos(angles), np.sin(angles)], -1), (3, 1, 1)),
        dims=("moment", "point", "dim"),
    )
    return {
        "life": made.assign(
            later=xarray.full_like(made.config, later, float),
            z=places.broadcast_like(made.config.drop_vars("config")),
            labels=("point", np.repeat(range(4), 30)),
        )
    }


def free(above):
    """Runs without a network that end this far above the loss of the uniform distribution, at chance."""
    made = record("va-free", recorded_loss=above)
    plateaus = [theory.sphere_plateau(recipes.BASE.tau, d, 1) for d in (2, 3)]
    made["recorded_loss"] += xarray.DataArray(plateaus, dims="d")
    return {"free": made}


def speeds(network):
    """Losses that have fallen by 90 % at this recorded time with the network, at the second without."""
    made = record("va-speeds", recorded_loss=1.0)
    loss = made.recorded_loss
    loss.loc[{"network": True, "step": STEPS[network:]}] = 0.0
    loss.loc[{"network": False, "step": STEPS[1:]}] = 0.0
    return {"speeds": made}


def lost(small):
    """A last cluster that is captured at the second time where sizes are equal; a small one so far."""
    made = record("va-lost", tail=0.0)
    made["tail"].loc[{"ratio": [0.2, 0.05], "step": STEPS[1:]}] = small
    made["tail"].loc[{"ratio": 1.0, "step": STEPS[1:]}] = 1.0
    return {"lost": made}


def powers(p):
    return {"trained": {"delta": DELTAS, "errors": DELTAS[:, None] ** p * np.ones(5)}}


def rests(change, accuracy=1.0):
    """Runs from a uniform start whose loss ends this far from where it was until the last recorded time."""
    made = record("va-uniform", accuracy, recorded_loss=0.0)
    made.recorded_loss[:, -1] = change
    return {"uniform": made}


def settles(change):
    """Runs with and without the network whose loss changes so much at the last recorded time."""
    made = record("va-speeds", recorded_loss=1.0)
    made.recorded_loss[..., -1] += change
    return {"speeds": made} | free(0.0)


CASES = {
    **{
        f"va-uniform-{name}": {"holds when": uniform(1.0), "not seen here": uniform(0.3)}
        for name in ("start", "eq-18", "deep")
    },
    "va-uniform-slow": {
        "seen here": {"slow": record("va-slow")},
        "not seen here": {"slow": record("va-slow", 1.0)},
    },
    "va-free-uniform": {"seen here": free(0.0), "not seen here": free(0.1)},
    "va-uniform-small-steps": {"seen here": uniform(0.3), "not seen here": uniform(1.0)},
    "va-by-15": {"holds when": uniform(1.0, at=1), "not seen here": uniform(1.0, at=2)},
    "va-abstract-1": {
        "holds": {"lowest": {0.2: [0.0] * 5}},
        "fails": {"lowest": {0.2: [-0.1] * 5}},
    },
    # Evenly spread points are the trivial minimiser.
    "va-abstract-2": {"seen here": life(CLUSTERED), "not seen here": life(EVEN)},
    "va-trivial-end": {"seen here": life(loss=0.1), "not seen here": life()},
    "va-stationary": {"seen here": life(CLUSTERED), "not seen here": life(CLUSTERED, later=1.0)},
    "va-speeds": {"seen here": speeds(3), "not seen here": speeds(1)},
    "va-remark-4-4-lost": {"seen here": lost(0.0), "not seen here": lost(1.0)},
    "va-eq-3": {
        verdict: {"views_at_minimum": {0.2: [(apart, 0.0)] * 5}}
        for verdict, apart in (("holds", 1e-9), ("fails", 1.0))
    },
    "va-prop-2-1-minimum": {
        "holds when": {"lowest": {0.2: [0.0] * 5}, "merged": {0.2: 0.7}},
        "fails": {"lowest": {0.2: [0.1] * 5}, "merged": {0.2: 0.7}},
    },
    "va-remark-4-2": {
        "holds": {"identity_kernel": [(0.0, 0.0)] * 5},
        "misprinted": {"identity_kernel": [(0.95, 0.0)] * 5},
        "fails": {"identity_kernel": [(0.95, 0.95)] * 5},
    },
    # A kernel that does not look at the data.
    "va-kernel-injects": {
        "holds": {"shuffled": {"tanh": [0.5] * 5}},
        "fails": {"shuffled": {"tanh": [0.0] * 5}},
    },
    "va-a-4-convergence": {
        "holds": {"stuck": [(0.0, 0.1)] * 5},
        "fails": {"stuck": [(0.0, -0.1)] * 5},
    },
    "va-own-setting": {
        "holds": {"clean_and_places": [(0.0, 0.0)] * 5},
        "fails": {"clean_and_places": [(0.1, 0.1)] * 5},
    },
    "va-definitions": {
        "holds": {"written": [{"eq. 1": (1.0, 1.0)}] * 3},
        "fails": {"written": [{"eq. 1": (2.0, 1.0)}] * 3},
    },
    "va-theorem-4-5-training": {"holds": powers(1.0), "fails": powers(0.0)},
    "va-network-at-rest": {"seen here": rests(0.0), "not seen here": rests(1.0)},
    "va-vanilla-at-rest": {"seen here": settles(0.0), "not seen here": settles(1.0)},
}
