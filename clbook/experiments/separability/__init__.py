"""When do clusters separate? The chapter's training; `condition` holds its theory checks."""

from clbook.experiments.separability.experiment import (
    PAIR,
    Config,
    Result,
    Separability,
    dataset,
    run,
    start,
)

__all__ = ["PAIR", "Config", "Separability", "Result", "dataset", "run", "start"]
