"""What the chapter looks at in its runs: how the records are made. The runs' own tables would be too large."""

from __future__ import annotations

from clbook.experiments.words.experiment import Config
from clbook_book.course.words import atlas, neighbours, sample
from clbook_book.records import Computed, Recipe, fields

MAPS = (Config(), Config(std=1.0))
VIEWS = tuple(
    neighbours.View(word=word, **changes)
    for word in neighbours.WORDS
    for changes in neighbours.VARIANTS.values()
)

RECIPES = {}
RECIPES["words-map"] = Recipe(
    "maps of the vocabulary, from two starts",
    atlas.look,
    MAPS,
    fields(nearest=lambda seen: seen.away[:, 0]),
    ("nearest",),
    start=0.085,
)
RECIPES["words-neighbours"] = Recipe(
    "nearest neighbours of eight words, with twins and without",
    neighbours.look,
    VIEWS,
    fields(nearest=lambda seen: seen.distances[:, 0]),
    ("nearest",),
    start=0.085,
)
RECIPES["words-text"] = Computed(sample.text)
