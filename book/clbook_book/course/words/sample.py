"""What the chapter says of its text: its size, and some of its sentences."""

from __future__ import annotations

from clbook.experiments.words import corpus

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
