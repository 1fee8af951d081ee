"""Where embeddings on the sphere end: the chapter's training; its theory checks and figures are modules of this folder."""

from clbook.experiments.sphere.experiment import (
    CLUSTERED,
    DRAWS,
    NEIGHBOURS,
    TURNS,
    Config,
    Embedding,
    Recorder,
    Result,
    Turned,
    coherence,
    dataset,
    run,
    run_pair,
    run_turned,
    sharpness_at_start,
    start,
)

__all__ = [
    "CLUSTERED",
    "Config",
    "DRAWS",
    "Embedding",
    "NEIGHBOURS",
    "Recorder",
    "Result",
    "TURNS",
    "Turned",
    "coherence",
    "dataset",
    "run",
    "run_pair",
    "run_turned",
    "sharpness_at_start",
    "start",
]
