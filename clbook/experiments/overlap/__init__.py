"""When does the loss remember the data? `experiment` holds tables on overlapping views."""

from clbook.experiments.overlap.experiment import (
    MAPS,
    WIDTHS,
    Config,
    Flow,
    Result,
    curves,
    lookup_loss,
    pairs,
    pieces,
    places,
    points,
    population_loss,
    run,
)

__all__ = [
    "Config",
    "Flow",
    "MAPS",
    "Result",
    "WIDTHS",
    "curves",
    "lookup_loss",
    "pairs",
    "pieces",
    "places",
    "points",
    "population_loss",
    "run",
]
