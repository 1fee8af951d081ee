"""The optima of the chapter's look-up tables, kept whole: how the record is made."""

from __future__ import annotations

from clbook.experiments.modadd import lookup
from clbook_book.records import Recipe, fields

SEEDS = range(3)
# What is changed in the random table.
VARIANTS = (
    {},
    {"broken": "answers"},
    {"broken": "contexts"},
    {"contexts": 12, "d": 32},
)
RANDOM_TABLES = tuple(lookup.Config(seed=seed, **changes) for changes in VARIANTS for seed in SEEDS)
PENALTIES = (1e-4, 1e-3, 0.015, 0.02)
WITH_DECAY = tuple(
    lookup.Config(data="cmodadd", decay=decay, seed=seed) for decay in PENALTIES for seed in SEEDS
)

RECIPES = {}
RECIPES["modadd-optima"] = Recipe(
    "optima of random tables, all hypotheses and each of three broken, and of CModAdd at four decays, three seeds",
    lookup.run,
    RANDOM_TABLES + WITH_DECAY,
    fields(),
    ("loss",),
    start=1.0,
)
