"""Is self-supervision secretly supervised? The chapter's training.

`experiment` trains a network for each loss, `figures` draws, `claims` judges. Longer trainings: `recipes`, with the
settings that `variants` adds, and `record_figures`. `definitions` writes out what SA define. The recursion of
similarities and SA's theorems are in the room `sa`.
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
