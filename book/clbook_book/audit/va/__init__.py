"""The paper VA in its own setting: `experiment` is its training, the other modules check what it states."""

from clbook_book.audit.va.experiment import Config, Result, Variational, dataset, run

__all__ = ["Config", "Variational", "Result", "dataset", "run"]
