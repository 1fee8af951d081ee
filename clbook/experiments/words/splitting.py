"""The text of a run: its words, some of them split in two, and the pairs of words that are compared (SL App. A.11).

A chosen word is split by a coin: each occurrence becomes one or the other of two artificial twins, with equal
probability. The twins have the same contexts, as Theorem 4.2 asks; natural synonyms only nearly so; random pairs not.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from clbook.experiments.words import corpus
from clbook.training.settings import Settings

HELD = 20  # every 20th sentence is held out, to see whether the contexts are learnt or memorised
REACH = 20  # a random pair's words stand at most this many places from its model's, in the order of frequency
TWIN = "₁₂"  # good is split into good₁ and good₂
FEWEST = 10  # different words: with fewer there may be no random pair that is not given


@dataclasses.dataclass
class Text:
    """The text of a run, ready to train on.

    Attributes:
        words: (V,) names of the symbols; a split word keeps its number as twin 1, all second twins come last.
        counts: (V,) occurrences. tokens, sentence: (N,) symbol and sentence of each place.
        held: (N,) left out of training.
        pairs: {"injected", "natural", "random, injected", "random, natural"} -> (P, 2) symbols. The k-th random pair
            has words about as frequent as those of the k-th pair it is compared with.
    """

    words: list
    counts: np.ndarray
    tokens: np.ndarray
    sentence: np.ndarray
    held: np.ndarray
    pairs: dict


def text(config: Settings) -> Text:
    """The corpus of a run (a `words.Config`) with its words split and its pairs drawn.

    Returns:
        A Text; the coin and the pairs are drawn from NumPy's generator of the run's seed.

    Raises:
        ValueError: the corpus, or WordNet's table, cannot be read (see `corpus.load`); the text has fewer words than
            are to be split, or too few sentences to hold any out.
    """
    corpus.require(config.corpus, *["wordnet"] * (config.natural == "wordnet"))
    generator = np.random.default_rng(config.seed)
    words, tokens, sentence = restricted(corpus.load(config.corpus), config, generator)
    counts = np.bincount(tokens, minlength=len(words))
    natural = natural_pairs(words, counts, config.natural)
    chosen = to_split(counts, natural, config, generator)
    words, tokens, second = split(words, tokens, chosen, generator)
    counts = np.bincount(tokens, minlength=len(words))
    pairs = {"injected": np.stack([chosen, second], 1), "natural": natural}
    pairs |= {f"random, {kind}": matched(given, counts, generator) for kind, given in pairs.items()}
    return Text(
        words=words,
        counts=counts,
        tokens=tokens,
        sentence=sentence,
        held=held_out(sentence),
        pairs=pairs,
    )


def held_out(sentence: np.ndarray) -> np.ndarray:
    """(N,) whether a place is held out of training, from the number of its sentence (N,)."""
    return sentence % HELD == HELD - 1


def restricted(
    whole: corpus.Corpus, config: Settings, generator
) -> tuple[list, np.ndarray, np.ndarray]:
    """The sentences and the vocabulary that a run reads.

    Returns:
        words (V,), the most frequent first; tokens and sentence (N,), the word and the sentence of each place. Other
        words are left out of the text, as if they had not been written.
    """
    number = np.arange(len(whole.starts) - 1)
    known = whole.tokens < config.vocabulary
    if config.sentences:
        known &= np.repeat(
            generator.permutation(len(number)) < config.sentences, np.diff(whole.starts)
        )
    tokens, sentence = (
        whole.tokens[known].astype(np.int64),
        np.repeat(number, np.diff(whole.starts))[known],
    )
    words = whole.words[: config.vocabulary]
    if len(words) < FEWEST:
        raise config.error(
            "corpus", f"a text of {FEWEST} different words or more: it has {len(words)}"
        )
    if len(np.unique(tokens[held_out(sentence)])) < 2:
        read = len(np.unique(sentence))
        raise config.error(
            "corpus", f"a longer text: of the {read} sentences read, none is held out"
        )
    return words, tokens, sentence


def natural_pairs(words: list, counts: np.ndarray, source: str) -> np.ndarray:
    """(P, 2) numbers of the natural synonyms, from `corpus.synonyms`, of which both words occur."""
    number = {word: k for k, word in enumerate(words) if counts[k]}
    pairs = [(number[one], number[other]) for one, other in corpus.synonyms(number, source)]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def to_split(counts: np.ndarray, natural: np.ndarray, config: Settings, generator) -> np.ndarray:
    """(injected,) numbers of the words to split, drawn from those that are common and in no natural pair."""
    free = np.setdiff1d(np.flatnonzero(counts >= config.common), natural)
    if len(free) < config.injected:
        raise config.error(
            "injected",
            f"at most {len(free)} here: the vocabulary has {len(counts)} words, {len(free)} "
            f"of them occur {config.common} times (common) and are in no natural pair",
        )
    return np.sort(generator.choice(free, config.injected, replace=False))


def split(
    words: list, tokens: np.ndarray, chosen: np.ndarray, generator
) -> tuple[list, np.ndarray, np.ndarray]:
    """Toss a coin at each occurrence of a chosen word: it becomes the word's first or its second twin.

    Returns:
        words and tokens with the twins, and second (injected,), the numbers of the second twins: V, V + 1, ...
    """
    second = len(words) + np.arange(len(chosen))
    twin = np.arange(len(words))  # what tails make of a word: its second twin, or itself
    twin[chosen] = second
    tails = generator.random(len(tokens)) < 0.5
    names = list(words)
    for k in chosen:
        names[k] += TWIN[0]
    return (
        names + [words[k] + TWIN[1] for k in chosen],
        np.where(tails, twin[tokens], tokens),
        second,
    )


def matched(pairs: np.ndarray, counts: np.ndarray, generator) -> np.ndarray:
    """For each pair of (P, 2) two other symbols near in the order of frequency, none of them given together: (P, 2)."""
    order = np.argsort(-counts, kind="stable")
    rank = np.argsort(order, kind="stable")
    taken = {frozenset(pair) for pair in pairs.tolist()}
    out = []
    for pair in pairs:
        while True:
            u, v = order[
                np.clip(rank[pair] + generator.integers(-REACH, REACH + 1, 2), 0, len(order) - 1)
            ].tolist()
            if u != v and frozenset((u, v)) not in taken:
                break
        out.append((u, v))
    return np.array(out, dtype=np.int64).reshape(-1, 2)
