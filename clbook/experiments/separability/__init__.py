"""When do clusters separate? The chapter's training; `condition` holds its theory checks, `figures` what it draws."""

from clbook.experiments.separability.experiment import (
    Config,
    Flow,
    Result,
    dataset,
    run,
    run_pair,
    start,
)

__all__ = ["Config", "Flow", "Result", "dataset", "run", "run_pair", "start"]
