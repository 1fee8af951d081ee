"""What is wrong with my encoder? `experiment` has one healthy run and five sick ones, `figures` their lines."""

from clbook.experiments.diagnose.experiment import (
    HEALTHY,
    SICK,
    Config,
    Result,
    Sickness,
    data,
    run,
)

__all__ = ["Config", "HEALTHY", "Result", "SICK", "Sickness", "data", "run"]
