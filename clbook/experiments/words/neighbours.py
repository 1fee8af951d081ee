"""Nearest neighbours of one word in two runs of `words`: with injected twins, and without."""

from __future__ import annotations

import dataclasses

import joblib
import numpy as np

from clbook.data import cache_folder
from clbook.experiments.words.experiment import TWIN, Config, Result, run
from clbook.runs import default_device
from clbook.settings import Outcome, setting
from clbook.sweep import fingerprint, sweep

SHOWN = 8  # nearest words


@dataclasses.dataclass(frozen=True)
class View(Config):
    """A word to look at in two runs of otherwise equal settings: with injected twins, and without."""

    word: str = setting("number", "the word whose nearest neighbours are shown")


@dataclasses.dataclass
class Neighbours(Outcome):
    """Nearest symbols of a word at the recorded times `steps` (T,), with injected twins [0] and without [1].

    names: two (T, 8) arrays. distances: two (T, 8), in units of the mean distance to all symbols.
    twin: name of the word's twin, or None where it was not split.
    """

    steps: np.ndarray
    names: list
    distances: list
    twin: str | None


def nearest(result: Result, word: str):
    """(names (T, 8), distances (T, 8)) of the symbols nearest to `word`, or to its first twin where it was split.

    Distances are in units of the mean over all symbols. Raises ValueError: the word is not in the vocabulary.
    """
    name = next((name for name in (word, word + TWIN[0]) if name in result.words), None)
    if name is None:
        raise ValueError(f"word = {word!r} is not allowed: word must be one of the {len(result.words)} words of the run, "
                         f"such as {', '.join(result.words[20:25])}")
    k, table = result.words.index(name), result.table.astype(np.float32)
    away = np.linalg.norm(table - table[:, k, None], axis=2)
    unit = away.sum(1, keepdims=True) / (len(result.words) - 1)
    away[:, k] = np.inf
    near = np.argsort(away, axis=1, kind="stable")[:, :SHOWN]
    return np.array(result.words)[near], np.take_along_axis(away, near, 1) / unit


class _Stopped(Exception):
    """Carries what a stopped run has past the cache, which keeps finished runs only."""


def _train(config, key, device, progress):
    """One run. `key` is the fingerprint: it is here only to be part of the cache's key."""
    result = run(config, progress=progress, device=device)
    if result.stopped:
        raise _Stopped(result)
    return result


def _trained(config, progress, device):
    """The run of `config`: the sweep's, or with `progress` one that can be stopped, kept so that another word needs none."""
    if progress is None:
        return sweep(run, [config])[0]
    train = joblib.Memory(cache_folder(), verbose=0).cache(_train, ignore=["progress"])
    try:
        return train(config, fingerprint(run), str(default_device(device)), progress)
    except _Stopped as stopped:
        return stopped.args[0]


def run_view(config: View, *, progress=None, device=None) -> Neighbours:
    """Both runs and the neighbours of the word in each; progress and device as in `separability.run`."""
    settings = {f.name: getattr(config, f.name) for f in dataclasses.fields(Config)}
    both = []

    def view(first, second):
        count = min(len(first.steps), len(second.steps))
        names, distances = zip(*(nearest(result, config.word) for result in (first, second)))
        twin = config.word + TWIN[1]
        return Neighbours(config, first.seconds + second.seconds, first.device, first.stopped or second.stopped,
                          first.steps[:count], [n[:count] for n in names], [d[:count] for d in distances],
                          twin if twin in first.words else None)

    def report(fraction, partial):
        return progress((len(both) + fraction) / 2, view(both[0] if both else partial, partial))

    for injected in (config.injected, 0):
        both.append(_trained(Config(**settings | {"injected": injected}), progress and report, device))
        if both[-1].stopped:
            break
    return view(both[0], both[-1])
