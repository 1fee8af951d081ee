"""Who averages, the counts or the network? `experiment` trains symbols seen m times."""

from clbook.experiments.why.experiment import (
    Config,
    Flow,
    Result,
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
    "Flow",
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
