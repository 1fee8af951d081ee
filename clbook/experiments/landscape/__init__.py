"""What the loss alone decides: a configuration of points on the sphere, without data and without a network.

`experiment` measures one configuration (loss, gradient, curvature), `curves` the loss over the number of places, its
plateau and thresholds, `maps` what the loss forgets about the data, `descent` where it sends free points, `variation`
LS Lemma B.4; `figures` draws.
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
from clbook.experiments.landscape.maps import Maps, MapsConfig, Shuffle, forget
from clbook.experiments.landscape.variation import SecondVariation, second_variation

__all__ = [
    "ETA",
    "PSI",
    "Config",
    "Maps",
    "MapsConfig",
    "Result",
    "SecondVariation",
    "Shuffle",
    "counts",
    "curvature",
    "even",
    "even_loss",
    "forget",
    "places",
    "reach",
    "restricted",
    "run",
    "second_variation",
    "tangents",
    "uniform_loss",
]
