"""Nearest neighbours of one word in two runs of `words`: with injected twins, and without."""

from __future__ import annotations

import dataclasses

import numpy as np

from clbook.experiments.words.experiment import Config, Result, read, run
from clbook.experiments.words.twins import TWIN
from clbook.runs import Several, several
from clbook.settings import Outcome, setting
from clbook.store import cached

SHOWN = 8  # nearest words
VARIANTS = {"split": {}, "whole": {"injected": 0}}  # the two runs: with twins, and without


@dataclasses.dataclass(frozen=True)
class View(Config):
    """A word to look at in two runs of otherwise equal settings: with injected twins, and without."""

    word: str = setting("number", "the word whose nearest neighbours are shown")


@dataclasses.dataclass
class Neighbours(Outcome):
    """Nearest symbols of a word at the recorded times, with injected twins [0] and without [1].

    Attributes:
        steps: (T,). names: two (T, 8) arrays. distances: two (T, 8), in units of the mean distance to all symbols.
        twin: name of the word's twin, or None where it was not split.
    """

    steps: np.ndarray
    names: list
    distances: list
    twin: str | None


def nearest(result: Result, word: str) -> tuple[np.ndarray, np.ndarray]:
    """The symbols nearest to `word`, or to its first twin where it was split.

    Returns:
        names (T, 8) and distances (T, 8), in units of the mean over all symbols.

    Raises:
        ValueError: the word is not in the vocabulary.
    """
    name = next((name for name in (word, word + TWIN[0]) if name in result.words), None)
    if name is None:
        raise ValueError(
            f"word = {word!r} is not allowed: word must be one of the {len(result.words)} words of the "
            f"run, such as {', '.join(result.words[20:25])}"
        )
    k, table = result.words.index(name), result.table.astype(np.float32)
    away = np.linalg.norm(table - table[:, k, None], axis=2)
    unit = away.sum(1, keepdims=True) / (len(result.words) - 1)
    away[:, k] = np.inf
    near = np.argsort(away, axis=1, kind="stable")[:, :SHOWN]
    return np.array(result.words)[near], np.take_along_axis(away, near, 1) / unit


def _trained(config, *, progress=None, device=None):
    """`run`, from the store where it is there: another word needs no training."""
    return cached(run, config, progress=progress, device=device)


def _view(config: View, both: Several) -> Neighbours:
    """The neighbours of the word in finished or partial runs."""
    steps, (names, distances) = (
        both.steps,
        zip(*(nearest(both[name], config.word) for name in VARIANTS), strict=True),
    )
    twin, count = config.word + TWIN[1], len(both.steps)
    return Neighbours(
        config=config,
        seconds=both.seconds,
        device=both.device,
        stopped=both.stopped,
        steps=steps,
        names=[n[:count] for n in names],
        distances=[d[:count] for d in distances],
        twin=twin if twin in both["split"].words else None,
    )


def run_view(config: View, *, progress=None, device=None) -> Neighbours:
    """Both runs and the neighbours of the word in each; progress and device as for `run`."""
    # The word is no part of the runs: another one needs no training.
    settings = Config(**{f.name: getattr(config, f.name) for f in dataclasses.fields(Config)})
    read(settings, progress)
    report = progress and (lambda fraction, both: progress(fraction, _view(config, both)))
    return _view(config, several(_trained, settings, VARIANTS, progress=report, device=device))
