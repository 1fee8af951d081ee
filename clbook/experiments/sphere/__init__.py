"""Where do embeddings on the sphere end? `experiment` holds the chapter's training, `push` what its first step does."""

from clbook.experiments.sphere.experiment import (
    CLUSTERED,
    PAIR,
    TURNS,
    Config,
    Result,
    Sphere,
    coherence,
    dataset,
    run,
    start,
)

__all__ = [
    "PAIR",
    "CLUSTERED",
    "Config",
    "Sphere",
    "Result",
    "TURNS",
    "coherence",
    "dataset",
    "run",
    "start",
]
