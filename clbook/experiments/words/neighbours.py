"""Nearest neighbours of one word in a run of `words`: with injected twins, or without."""

from __future__ import annotations

import dataclasses

import numpy as np

from clbook.experiments.words.experiment import Config, Result, run
from clbook.experiments.words.twins import TWIN
from clbook.results.store import cached
from clbook.training.settings import Outcome, quantity, setting

SHOWN = 8  # nearest words
VARIANTS = {"split": {}, "whole": {"injected": 0}}  # with twins, and without


@dataclasses.dataclass(frozen=True)
class View(Config):
    """A word to look at in a run of otherwise equal settings."""

    word: str = setting("number", "the word whose nearest neighbours are shown")


@dataclasses.dataclass
class Neighbours(Outcome):
    """Nearest symbols of a word in one run."""

    steps: np.ndarray = quantity("recorded steps", dims="step", unit="steps")
    names: np.ndarray = quantity("the nearest symbols, the nearest first", dims="step rank")
    distances: np.ndarray = quantity(
        "how far they are, in units of the mean distance to all symbols", dims="step rank"
    )
    twin: str | None = quantity("name of the word's twin, or None where it was not split")


def nearest(result: Result, word: str) -> tuple[np.ndarray, np.ndarray]:
    """The symbols nearest to `word`, or to its first twin where it was split.

    Returns:
        names (T, 8) and distances (T, 8), in units of the mean over all symbols.

    Raises:
        ValueError: the word is not in the vocabulary.
    """
    name = word if word in result.words else word + TWIN[0]
    if name not in result.words:
        raise ValueError(
            f"word = {word!r} is not allowed: word must be one of the {len(result.words)} words of the "
            f"run, such as {', '.join(result.words[20:25])}"
        )
    k = result.words.index(name)
    found = [closest(table, k) for table in result.table.astype(np.float32)]
    near, distances = map(np.stack, zip(*found, strict=True))
    return np.array(result.words)[near], distances


def closest(table: np.ndarray, k: int, shown: int = SHOWN) -> tuple[np.ndarray, np.ndarray]:
    """The `shown` symbols nearest to symbol k in a table (V, d), and how far they are, in units of the mean."""
    away = np.linalg.norm(table - table[k], axis=1)
    mean = away.sum() / (len(away) - 1)
    order = np.argsort(away, kind="stable")
    near = order[order != k][:shown]
    return near, away[near] / mean


def look(config: View, *, progress=None, device=None) -> Neighbours:
    """The neighbours of the word in its run, which is trained if it is not in the store.

    Args:
        config, progress, device: as for `words.run`.

    Raises:
        ValueError: as `words.run`; the word is not in the vocabulary.
    """
    # The word is no part of the run: another one needs no training.
    settings = Config(**{f.name: getattr(config, f.name) for f in dataclasses.fields(Config)})

    def seen(result):
        names, distances = nearest(result, config.word)
        twin = config.word + TWIN[1]
        return Neighbours(
            config=config,
            seconds=result.seconds,
            device=result.device,
            stopped=result.stopped,
            steps=result.steps,
            names=names,
            distances=distances,
            twin=twin if twin in result.words else None,
        )

    def report(fraction, partial):
        return progress(fraction, partial and seen(partial))

    told = None if progress is None else report
    return seen(cached(run, settings, progress=told, device=device, record=("table",)))
