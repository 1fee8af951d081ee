"""When does the loss remember the data? `experiment` holds tables on overlapping views."""

from clbook.experiments.overlap.experiment import (
    MAPS,
    WIDTHS,
    Config,
    Overlap,
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
    "Overlap",
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
