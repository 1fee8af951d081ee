"""Is self-supervision secretly supervised? The chapter's training.

`experiment` trains a network for each loss; `gaps` compares the losses at points that no network made.
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
