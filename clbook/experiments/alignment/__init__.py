"""Is self-supervision secretly supervised? The chapter's training.

`experiment` trains a network for each loss; `surrogate` holds the recursion of similarities and SA's theorems about it;
`figures` and `surrogate_figures` draw them.
"""

from clbook.experiments.alignment.experiment import (
    NAMES,
    POWERS,
    Config,
    Copies,
    Result,
    batches,
    dataset,
    run,
)

__all__ = ["NAMES", "POWERS", "Config", "Copies", "Result", "batches", "dataset", "run"]
