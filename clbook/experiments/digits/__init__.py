"""What counts as the same picture? `experiment` trains a small SimCLR on digits at random places and angles."""

from clbook.experiments.digits.experiment import Config, Result, run, views

__all__ = ["Config", "Result", "run", "views"]
