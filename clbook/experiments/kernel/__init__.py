"""What does the network add? `experiment` holds the chapter's training."""

from clbook.experiments.kernel.experiment import (
    FLOWS,
    VIEWS,
    Config,
    Result,
    TwoFlows,
    dataset,
    orbits,
    partial_gradient,
    run,
)

__all__ = [
    "Config",
    "FLOWS",
    "TwoFlows",
    "Result",
    "VIEWS",
    "dataset",
    "orbits",
    "partial_gradient",
    "run",
]
