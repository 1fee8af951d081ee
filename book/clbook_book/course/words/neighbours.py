"""Nearest neighbours of one word in a run of `words`: with injected twins, or without."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from clbook.experiments.words.experiment import Config, Result, run
from clbook.experiments.words.twins import TWIN
from clbook.results.store import cached
from clbook.training.settings import Outcome, quantity, recorded, setting

SHOWN = 8  # nearest words
VARIANTS = {"split": {}, "whole": {"injected": 0}}  # with twins, and without
WORDS = ("width", "real", "color", "figure", "cache", "score", "row", "true")  # the chapter's


@dataclasses.dataclass(frozen=True)
class View(Config):
    """A word to look at in a run of otherwise equal settings."""

    word: str = setting("number", "the word whose nearest neighbours are shown")


@dataclasses.dataclass
class Neighbours(Outcome):
    """Nearest symbols of a word in one run."""

    steps: np.ndarray = recorded("steps")
    symbol: str = quantity("the word, or its first twin where it was split")
    names: np.ndarray = quantity("the nearest symbols, the nearest first", dims="step rank")
    distances: np.ndarray = quantity(
        "how far they are, in units of the mean distance to all symbols", dims="step rank"
    )

    @property
    def twin(self) -> str | None:
        """The other twin; None where the word was not split."""
        return twin_of(self.symbol)


def twin_of(symbol: str) -> str | None:
    """The second twin of a first one; None for a word that was not split."""
    return symbol.replace(*TWIN) if TWIN[0] in symbol else None


def closest(table: np.ndarray, k: int, shown: int = SHOWN) -> tuple[np.ndarray, np.ndarray]:
    """The `shown` symbols nearest to symbol k in a table (V, d), and how far they are, in units of the mean."""
    away = np.linalg.norm(table - table[k], axis=1)
    mean = away.sum() / (len(away) - 1)
    order = np.argsort(away, kind="stable")
    near = order[order != k][:shown]
    return near, away[near] / mean


def closest_over_time(result: Result, k: int) -> tuple[np.ndarray, np.ndarray]:
    """`closest` at each recorded time of a run with its table: (T, 8) symbols and (T, 8) distances."""
    found = [closest(table, k) for table in result.table.astype(np.float32)]
    near, distances = map(np.stack, zip(*found, strict=True))
    return near, distances


def of_run(see: Callable, config: Config, progress=None, device=None) -> Outcome:
    """`see(result)` of the run of `config` with its table, which is trained if it is not in the store.

    Args:
        see: makes an Outcome of the run's Result.
        config, progress, device: as for `words.run`.
    """

    def report(fraction, partial):
        return progress(fraction, partial and see(partial))

    told = None if progress is None else report
    return see(cached(run, config, progress=told, device=device, record=("table",)))


def look(config: View, *, progress=None, device=None) -> Neighbours:
    """The neighbours of the word in its run, which is trained if it is not in the store.

    Args:
        config, progress, device: as for `words.run`.

    Raises:
        ValueError: as `words.run`; the word is not in the vocabulary.
    """

    def seen(result):
        word = config.word
        symbol = word if word in result.words else word + TWIN[0]
        if symbol not in result.words:
            raise ValueError(
                f"word = {word!r} is not allowed: word must be one of the {len(result.words)} words of the "
                f"run, such as {', '.join(result.words[20:25])}"
            )
        near, distances = closest_over_time(result, result.words.index(symbol))
        return Neighbours(
            config=config,
            seconds=result.seconds,
            device=result.device,
            stopped=result.stopped,
            steps=result.steps,
            symbol=symbol,
            names=np.array(result.words)[near],
            distances=distances,
        )

    # The word is no part of the run: another one needs no training.
    settings = Config(**{f.name: getattr(config, f.name) for f in dataclasses.fields(Config)})
    return of_run(seen, settings, progress, device)
