"""Content and style: the chapter's training; its theory checks and figures are modules of this folder."""

from clbook.experiments.content_style.experiment import (
    LOSS_ON,
    TESTED,
    Config,
    Result,
    Runs,
    drawn,
    gains,
    run,
    shape,
    singular,
    style_gain,
    together,
)

__all__ = [
    "Config",
    "LOSS_ON",
    "Result",
    "Runs",
    "TESTED",
    "drawn",
    "gains",
    "run",
    "shape",
    "singular",
    "style_gain",
    "together",
]
