"""Modular addition: the chapter's training; its theory checks and figures are modules of this folder."""

from clbook.experiments.modadd.experiment import (
    COLLAPSED,
    DECAYS,
    PAPER,
    VARIANTS,
    Config,
    Result,
    Samples,
    Variants,
    distances,
    run,
    run_variants,
    train,
)

__all__ = [
    "COLLAPSED",
    "Config",
    "DECAYS",
    "PAPER",
    "Result",
    "Samples",
    "VARIANTS",
    "Variants",
    "distances",
    "run",
    "run_variants",
    "train",
]
