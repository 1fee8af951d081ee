"""A map of the vocabulary: the plane in which a run's table varies most, and who is nearest to one word."""

from __future__ import annotations

import dataclasses

import numpy as np

from clbook.experiments.words.experiment import Config, Result
from clbook.training.settings import quantity
from clbook_book.course.words.neighbours import closest, closest_over_time, of_run

FREQUENT = 1000  # words that the map shows, the most frequent ones
COMMON = 1500  # occurrences of a word in a marked pair, at most
MARKED = 7  # pairs of each kind, the most frequent ones


@dataclasses.dataclass(kw_only=True)
class Map(Result):
    """A run with its map."""

    plane: np.ndarray = quantity(
        "the symbols in the plane in which the most frequent ones vary most at the end",
        dims="step word axis",
    )
    ringed: int = quantity("the most frequent symbol of the marked twins")
    near: np.ndarray = quantity("the symbols nearest to it", dims="step rank")
    away: np.ndarray = quantity(
        "how far they are, in units of the mean distance to all symbols", dims="step rank"
    )
    first: np.ndarray = quantity(
        "number of split words whose nearest symbol is their twin", dims="step"
    )


def frequent(result: Result) -> np.ndarray:
    """The most frequent symbols of a run."""
    return np.argsort(-result.counts, kind="stable")[:FREQUENT]


def marked(result: Result, kind: str) -> np.ndarray:
    """(P, 2) of the pairs of a kind that occur at most `COMMON` times the most frequent, by the rarer word."""
    pairs = result.pairs[kind]
    often = result.counts[pairs]
    rare = (often <= COMMON).all(1)
    order = np.argsort(-often[rare].min(1), kind="stable")
    return pairs[rare][order[:MARKED]]


def plane(table: np.ndarray, often: np.ndarray) -> np.ndarray:
    """(T, V, 2) a table (T, V, d) in the two directions in which the symbols `often` vary most at the end."""
    cloud = table[-1, often]
    _, _, directions = np.linalg.svd(cloud - cloud.mean(0), full_matrices=False)
    return (table - table[:, often].mean(1, keepdims=True)) @ directions[:2].T


def twins_first(table: np.ndarray, pairs: np.ndarray) -> int:
    """For how many of the pairs (P, 2) the second symbol is the nearest to the first in a table (V, d)."""
    found = 0
    for one, other in pairs:
        (near,), _ = closest(table, one, shown=1)
        found += int(near == other)
    return found


def map_of(result: Result) -> Map:
    """The map of a run that has its table."""
    table = result.table.astype(np.float32)
    split = marked(result, "injected")
    ringed = int(split[0, 0]) if len(split) else int(result.counts.argmax())
    near, away = closest_over_time(result, ringed)
    first = [twins_first(now, result.pairs["injected"]) for now in table]
    run = {name: value for name, value in vars(result).items() if name != "table"}
    return Map(
        **run,
        plane=plane(table, frequent(result)).astype(np.float16),
        ringed=ringed,
        near=near,
        away=away,
        first=np.array(first),
    )


def look(config: Config, *, progress=None, device=None) -> Map:
    """The map of a run, which is trained if it is not in the store.

    Args:
        config, progress, device: as for `words.run`.

    Raises:
        ValueError: as `words.run`.
    """
    return of_run(map_of, config, progress, device)
