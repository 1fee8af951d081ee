"""What the loss alone decides: a configuration of points on the sphere, without data and without a network.

`experiment` measures one configuration (loss, gradient, curvature), `curves` the loss over the number of places, its
plateau and thresholds, `maps` what the loss forgets about the data.
"""

from clbook.experiments.landscape.curves import (
    ETA,
    PSI,
    counts,
    even,
    even_loss,
    reach,
    uniform_loss,
)
from clbook.experiments.landscape.experiment import (
    Config,
    Result,
    curvature,
    places,
    restricted,
    run,
    tangents,
)
from clbook.experiments.landscape.maps import Maps, MapsConfig, forget

__all__ = [
    "ETA",
    "PSI",
    "Config",
    "Maps",
    "MapsConfig",
    "Result",
    "counts",
    "curvature",
    "even",
    "even_loss",
    "forget",
    "places",
    "reach",
    "restricted",
    "run",
    "tangents",
    "uniform_loss",
]
