"""May the symbols and the encoder share parameters? `experiment` trains modular addition with two sides that do."""

from clbook.experiments.shared.experiment import Config, Result, run

__all__ = ["Config", "Result", "run"]
