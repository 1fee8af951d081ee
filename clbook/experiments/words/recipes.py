"""What the chapter looks at in its runs: how the records are made. The runs' own tables would be too large."""

from __future__ import annotations

from clbook.experiments.words import atlas, corpus, neighbours
from clbook.experiments.words.experiment import Config
from clbook.results.records import Computed, Recipe, fields

MAPS = (Config(), Config(std=1.0))
VIEWS = tuple(
    neighbours.View(word=word, **changes)
    for word in neighbours.WORDS
    for changes in neighbours.VARIANTS.values()
)

SHOWN = (1000, 20_000, 40_000, 60_000)  # sentences


def text() -> dict:
    """How many words, distinct words and sentences the chapter's text has, and four of its sentences."""
    documents = corpus.load()
    sentences = []
    for k in SHOWN:
        begin, end = documents.starts[k : k + 2]
        words = [documents.words[number] for number in documents.tokens[begin:end]]
        sentences.append(" ".join(words))
    return {
        "words": len(documents.tokens),
        "distinct": len(documents.words),
        "sentences": len(documents.starts) - 1,
        "shown": sentences,
    }


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
RECIPES["words-text"] = Computed(text)
