"""Made-up runs on which the claims of VA's own room give each verdict that they may give."""

import numpy as np
import xarray

from clbook import theory
from clbook_book import records
from clbook_book.audit.va import recipes

STEPS = np.array([0, 10, 100, 10_000, 20_000])


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


CASES = {
    "va-stationary": {"seen here": life(CLUSTERED), "not seen here": life(CLUSTERED, later=1.0)}
}
