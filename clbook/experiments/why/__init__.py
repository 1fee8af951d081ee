"""Who averages, the counts or the network? `experiment` trains symbols seen m times."""

from clbook.experiments.why.experiment import (
    Config,
    Result,
    Symbols,
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
    "features",
    "groups",
    "growth",
    "infonce",
    "joint",
    "probabilities",
    "run",
]
