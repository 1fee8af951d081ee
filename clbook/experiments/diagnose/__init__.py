"""What is wrong with my encoder? `experiment` has one healthy run and five sick ones."""

from clbook.experiments.diagnose.experiment import (
    HEALTHY,
    SICK,
    Config,
    Result,
    Sickness,
    configs,
    data,
    run,
)

__all__ = [
    "Config",
    "HEALTHY",
    "Result",
    "SICK",
    "Sickness",
    "configs",
    "data",
    "run",
]
