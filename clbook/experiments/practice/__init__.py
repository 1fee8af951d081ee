"""Which run is healthy? `experiment` trains the five runs of the page with their signs."""

from clbook.experiments.practice.experiment import FAULTS, RUNS, Config, Result, View, look, run

__all__ = ["FAULTS", "RUNS", "Config", "Result", "View", "look", "run"]
