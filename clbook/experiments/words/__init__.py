"""Words and their twins: the chapter's training; its theory checks and figures are modules of this folder."""

from clbook.experiments.words.experiment import (
    BATCHES,
    HELD,
    REACH,
    RECORDS,
    TWIN,
    Config,
    Result,
    Text,
    Training,
    matched,
    run,
    text,
)

__all__ = [
    "BATCHES",
    "Config",
    "HELD",
    "REACH",
    "RECORDS",
    "Result",
    "TWIN",
    "Text",
    "Training",
    "matched",
    "run",
    "text",
]
