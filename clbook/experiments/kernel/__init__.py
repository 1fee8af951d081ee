"""What the network adds: the chapter's training; its theory checks and figures are modules of this folder."""

from clbook.experiments.kernel.experiment import (
    FLOWS,
    VIEWS,
    Config,
    Embedding,
    Result,
    dataset,
    network_flow,
    partial_gradient,
    run,
    vanilla_flow,
)

__all__ = [
    "Config",
    "Embedding",
    "FLOWS",
    "Result",
    "VIEWS",
    "dataset",
    "network_flow",
    "partial_gradient",
    "run",
    "vanilla_flow",
]
