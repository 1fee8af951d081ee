"""What was run for the chapter: the five runs whose faults a reader looks for."""

from __future__ import annotations

from clbook.experiments.practice import FAULTS, Config, run
from clbook.results.sweep import combined
from clbook_book.records import fields, recorded


@recorded("practice-runs", run, combined(Config(), letter=FAULTS), keep=fields(), start=0.1)
def ill(runs):
    """Digits in five runs, four of which are ill."""
    return runs
