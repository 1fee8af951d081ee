"""What the chapter looks at in its runs: how the records are made. The runs' own tables would be too large."""

from __future__ import annotations

from clbook.experiments.words import experiment
from clbook.experiments.words.experiment import Config
from clbook_book.course.words import atlas, neighbours, sample
from clbook_book.records import Computed, Recipe, fields

MAPS = (Config(), Config(std=1.0))

RECIPES = {}
RECIPES["words-map"] = Recipe(
    "maps of the vocabulary, from two starts",
    atlas.look,
    MAPS,
    fields(nearest=lambda seen: seen.away[:, 0]),
    ("nearest",),
    start=0.085,
)
RECIPES["words-nearest"] = Recipe(
    "the nearest neighbours of all words at four times",
    experiment.run,
    (Config(),),
    neighbours.of_all,
    ("nearest",),
    start=0.085,
    record=("table",),
    axes={"near": "run time word rank", "away": "run time word rank", "nearest": "run step"},
    labels={"time": neighbours.TIMES},
)
RECIPES["words-text"] = Computed(sample.text)
