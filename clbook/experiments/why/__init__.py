"""Who averages, the counts or the network? `experiment` trains symbols seen m times."""

from clbook.experiments.why.experiment import (
    Config,
    Result,
    Symbols,
    endless_distance,
    features,
    groups,
    growth,
    infonce,
    joint,
    probabilities,
    run,
)

__all__ = [
    "Config",
    "Symbols",
    "Result",
    "endless_distance",
    "features",
    "groups",
    "growth",
    "infonce",
    "joint",
    "probabilities",
    "run",
]
