"""When do clusters separate? The chapter's training; `condition` holds its theory checks, `figures` what it draws.

`play` is the same training on points that a reader of the front page moves.
"""

from clbook.experiments.separability.experiment import (
    PAIR,
    Config,
    Flow,
    Result,
    dataset,
    run,
    start,
)

__all__ = ["PAIR", "Config", "Flow", "Result", "dataset", "run", "start"]
