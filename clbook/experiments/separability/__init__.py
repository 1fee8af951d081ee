"""When do clusters separate? `experiment` trains on clusters, the donut and images; `condition` has theory checks."""

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
