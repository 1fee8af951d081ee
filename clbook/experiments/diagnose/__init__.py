"""What is wrong with my encoder? `experiment` has one healthy run and five sick ones."""

from clbook.experiments.diagnose.experiment import (
    HEALTHY,
    PATIENTS,
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
    "PATIENTS",
    "Result",
    "SICK",
    "Sickness",
    "configs",
    "data",
    "run",
]
