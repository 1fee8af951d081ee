"""What was run for the chapter: the optima of its look-up tables, kept whole."""

from __future__ import annotations

from clbook.experiments.modadd import lookup
from clbook.results.sweep import combined
from clbook_book.records import fields, recorded

BROKEN = ({}, {"broken": "answers"}, {"broken": "contexts"}, {"contexts": 12, "d": 32})


@recorded(
    "modadd-optima",
    lookup.run,
    [
        *(lookup.Config(**changes) for changes in BROKEN),  # of a random table
        *combined(lookup.Config(data="cmodadd"), decay=(1e-4, 1e-3, 0.015, 0.02)),
    ],
    keep=fields(),
    seeds=range(3),
    start=1.0,
)
def optima(runs):
    """Optima of random tables, all hypotheses and each of three broken, and of CModAdd at four decays, three seeds."""
    return runs
