"""When clusters separate: the chapter's training; its theory checks and figures are modules of this folder."""

from clbook.experiments.separability.experiment import (
    DRAWS,
    IMAGE_VIEWS,
    Config,
    Embedding,
    Pair,
    Recorder,
    Result,
    dataset,
    follow,
    network_flow,
    run,
    run_pair,
    start,
    vanilla_flow,
    view_maker,
)

__all__ = [
    "Config",
    "DRAWS",
    "Embedding",
    "IMAGE_VIEWS",
    "Pair",
    "Recorder",
    "Result",
    "dataset",
    "follow",
    "network_flow",
    "run",
    "run_pair",
    "start",
    "vanilla_flow",
    "view_maker",
]
