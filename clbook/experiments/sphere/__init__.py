"""Where do embeddings on the sphere end? `experiment` holds the chapter's training, `figures` what it draws."""

from clbook.experiments.sphere.experiment import (
    CLUSTERED,
    TURNS,
    Config,
    Flow,
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
    "Flow",
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
