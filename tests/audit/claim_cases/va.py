"""Made-up runs on which the claims of VA's own room give each verdict that they may give."""

import numpy as np
import xarray

from clbook_book import records

EVEN = np.arange(120) * 2 * np.pi / 120
CLUSTERED = EVEN // (np.pi / 2) + 0.1 * EVEN


def life(later=0.0):
    """Runs with four clusters on the circle, that move by `later` in the end."""
    recipe = records.recipes()["va-life"]
    made = records.grid(records.of_runs(recipe), recipe.dims)
    steps = made.config.expand_dims(step=[0, 20_000], axis=-1)
    places = xarray.DataArray(
        np.tile(np.stack([np.cos(CLUSTERED), np.sin(CLUSTERED)], -1), (3, 1, 1)),
        dims=("moment", "point", "dim"),
    )
    return {
        "life": made.assign(
            recorded_spread=xarray.full_like(steps, 0.0, float),
            later=xarray.full_like(made.config, later, float),
            z=places.broadcast_like(made.config.drop_vars("config")),
            labels=("point", np.repeat(range(4), 30)),
        )
    }


CASES = {"va-stationary": {"seen here": life(), "not seen here": life(later=1.0)}}
