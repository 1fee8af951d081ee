"""What was looked at in the chapter's runs, whose own tables would be too large; and in its text."""

from __future__ import annotations

from clbook.experiments.words import corpus, experiment
from clbook.experiments.words.experiment import Config
from clbook_book.course.words import atlas, neighbours
from clbook_book.records import fields, recorded


@recorded(
    "words-map",
    atlas.look,
    [Config(), Config(std=1.0)],
    keep=fields(nearest=lambda seen: seen.away[:, 0]),
    curves=("nearest",),
    start=0.085,
)
def maps(runs):
    """Maps of the vocabulary, from two starts.

    Keeps:
        nearest: distance of the symbol nearest to the marked twin, over its mean distance to all symbols.
    """
    return runs


@recorded(
    "words-nearest",
    experiment.run,
    [Config()],
    curves=("nearest",),
    start=0.085,
    record=("table",),
    axes={"near": "run time word rank", "away": "run time word rank", "nearest": "run step"},
    labels={"time": neighbours.TIMES},
)
def nearest(results):
    """The nearest neighbours of all words at four times.

    Keeps:
        near: numbers of the words that are nearest to each word.
        away: their distances, in hundredths of the word's mean distance to all others.
        nearest: distance of the nearest word, the mean over all words, in the same unit.
    """
    return neighbours.of_all(results)


@recorded("words-text")
def text() -> dict:
    """How many words, distinct words and sentences the chapter's text has, and four of its sentences."""
    documents = corpus.load()
    sentences = []
    for k in (1000, 20_000, 40_000, 60_000):
        begin, end = documents.starts[k : k + 2]
        words = [documents.words[number] for number in documents.tokens[begin:end]]
        sentences.append(" ".join(words))
    return {
        "words": len(documents.tokens),
        "distinct": len(documents.words),
        "sentences": len(documents.starts) - 1,
        "shown": sentences,
    }
