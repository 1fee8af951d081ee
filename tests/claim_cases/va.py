"""Made-up runs on which the claims of VA's own room give each verdict that they may give."""

import numpy as np
import xarray

from clbook import theory
from clbook.papers.va import recipes
from clbook.results import records

SEEDS, STEPS = range(3), np.array([0, 10, 100, 10_000, 20_000])
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
    return {"uniform": record("va-uniform", accuracy, at)}


def life(accuracy, loss=0.0, later=0.0, spread=0.0):
    """Runs that end at this accuracy, this far above the lowest loss, and move by `later` in their second half."""
    level = theory.circle_plateau(recipes.BASE.tau, 1) + loss
    made = record("va-life", accuracy, recorded_loss=level, recorded_spread=spread)
    return {"life": made.assign(later=xarray.full_like(made.config, later, float))}


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


def lost(small, at=1):
    """A last cluster that is captured at the second time where sizes are equal; a small one so far, from `at` on."""
    made = record("va-lost", tail=0.0)
    made["tail"].loc[{"ratio": [0.2, 0.05], "step": STEPS[at:]}] = small
    made["tail"].loc[{"ratio": 1.0, "step": STEPS[1:]}] = 1.0
    return {"lost": made}


def powers(p):
    return {"trained": {"delta": DELTAS, "errors": DELTAS[:, None] ** p * np.ones(3)}}


def models(error, fall):
    """One step's errors at three rates for two maps, the first with a kernel that cannot move."""
    found = ([error / fall**k for k in range(3)], 0.0)
    return {"other_maps": {"random features": [found] * 3, "table": [found] * 3}}


def gaps(printed):
    """Differences of eq. 4 and eq. 1 for three n, which fall so."""
    return {"consistency": np.array([[(fall, 0.1 / 4**k)] * 3 for k, fall in enumerate(printed)])}


def derivative(printed):
    return {"first_variations": [{"autograd": 1.0, "printed": printed, "corrected": 1.0}] * 3}


def rests(change, accuracy=1.0):
    """Runs from a uniform start whose loss ends this far from where it was until the last recorded time."""
    made = record("va-uniform", accuracy, recorded_loss=0.0)
    made.recorded_loss[:, -1] = change
    return {"uniform": made}


def settles(change):
    """Runs with and without the network whose loss changes so much at the last recorded time."""
    made = record("va-speeds", recorded_loss=1.0)
    made.recorded_loss[..., -1] += change
    return {"speeds": made}


CASES = {
    **{
        f"va-uniform-{name}": {"holds when": uniform(1.0), "not seen here": uniform(0.3)}
        for name in ("start", "eq-18", "deep")
    },
    "va-uniform-slow": {
        "holds": {"slow": record("va-slow", 1.0)},
        "not seen here": {"slow": record("va-slow")},
    },
    "va-free-uniform": {"holds": free(0.0), "fails": free(0.1)},
    "va-uniform-small-steps": {"holds": uniform(1.0), "not seen here": uniform(0.3)},
    "va-by-15": {"holds when": uniform(1.0, at=1), "not seen here": uniform(1.0, at=2)},
    "va-abstract-1": {
        "holds": {"lowest": {0.2: [0.0] * 3}},
        "fails": {"lowest": {0.2: [-0.1] * 3}},
    },
    "va-abstract-2": {"holds": life(1.0), "not seen here": life(0.3)},
    "va-trivial-end": {"holds": life(0.3), "not seen here": life(1.0, loss=0.1)},
    "va-stationary": {"holds": life(1.0), "not seen here": life(1.0, later=1.0)},
    "va-speeds": {"holds": speeds(3), "fails": speeds(1)},
    "va-remark-4-4-lost": {"holds": lost(0.0), "not seen here": lost(1.0)},
    "va-remark-4-4-late": {"holds": lost(1.0, at=3), "fails": lost(1.0, at=1)},
    "va-latent-distribution": {
        verdict: {"pushed": [{"radius": off, "invariant network": off}] * 3}
        for verdict, off in (("holds", 0.0), ("fails", 0.1))
    },
    "va-eq-3": {
        verdict: {"views_at_minimum": {0.2: [(apart, 0.0)] * 3}}
        for verdict, apart in (("holds", 1e-9), ("fails", 1.0))
    },
    "va-rescaled": {"holds": {"scales": [0.0] * 3}, "fails": {"scales": [0.1] * 3}},
    "va-consistent": {"holds": gaps((0.1, 0.02, 0.004)), "misprinted": gaps((0.4, 0.45, 0.46))},
    "va-eq-6": {"holds": derivative(1.0), "misprinted": derivative(2.0)},
    "va-eq-7-scale": {
        "holds": {"scaled_similarity": [(0.0, 0.0)] * 3},
        "misprinted": {"scaled_similarity": [(2.0, 0.0)] * 3},
    },
    "va-remark-4-1": {"holds": models(0.1, 10), "fails": models(0.1, 1)},
    "va-remark-4-2": {
        "holds": {"identity_kernel": [(0.0, 0.0)] * 3},
        "misprinted": {"identity_kernel": [(0.95, 0.0)] * 3},
    },
    "va-prop-a-1-rescaled": {
        "holds": {"growing": {"exp": np.array([1.0, 1e-2, 1e-4, 0.0])}},
        "fails": {"growing": {"exp": np.array([1.0, 1.0, 1.0])}},
    },
    "va-a-3-multiplier": {
        "holds": {"multipliers": [(1.0, 0.0)]},
        "fails": {"multipliers": [(1.0, 0.5)]},
    },
    "va-a-4-convergence": {
        "holds": {"stuck": [(0.0, 0.1)] * 3},
        "fails": {"stuck": [(0.0, -0.1)] * 3},
    },
    "va-own-setting": {
        "holds": {"clean_and_places": [(0.0, 0.0)] * 3},
        "fails": {"clean_and_places": [(0.1, 0.1)] * 3},
    },
    "va-definitions": {
        "holds": {"written": [{"eq. 1": (1.0, 1.0)}] * 3},
        "fails": {"written": [{"eq. 1": (2.0, 1.0)}] * 3},
    },
    "va-theorem-4-5-training": {"holds": powers(1.0), "fails": powers(0.5)},
    "va-network-at-rest": {"holds": rests(0.0), "not seen here": rests(1.0)},
    "va-vanilla-at-rest": {"holds": settles(0.0), "not seen here": settles(1.0)},
}
