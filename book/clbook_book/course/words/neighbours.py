"""Nearest neighbours in a run of `words`: of one word at each recorded time, and of all words at some of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from clbook.experiments.words.experiment import Config, Result, run
from clbook.experiments.words.splitting import TWIN
from clbook.results.store import cached
from clbook.training.settings import Outcome

SHOWN = 8  # nearest words of one word
LISTED = 5  # of each of all words
TIMES = (0, 250, 1000, 3000)  # steps at which those are listed
AT_ONCE = 500  # words whose distances to all others are held in memory


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


def of_all(results: list[Result]) -> dict[str, np.ndarray]:
    """Of a run: the symbols nearest to each one at `TIMES`, how far they are, and how far the nearest is in the mean.

    Distances are hundredths of a symbol's mean distance to all others.
    """
    (result,) = results
    times = [lists(table) for table in result.table]
    kept = [times[frame] for frame in np.flatnonzero(np.isin(result.steps, TIMES))]
    near, away = (np.stack(part)[None] for part in zip(*kept, strict=True))
    nearest = np.array([[away[:, 0].mean() for _, away in times]])
    return {
        "near": near.astype(np.uint16),
        "away": away.round().astype(np.uint8),
        "nearest": nearest,
    }


def lists(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(V, LISTED) the rows nearest to each row of a table (V, d), and how far, in hundredths of its mean distance."""
    vectors = torch.from_numpy(table.astype(np.float32))
    near, away = [], []
    for rows in vectors.split(AT_ONCE):
        every = torch.cdist(rows, vectors)
        mean = every.sum(1, keepdim=True) / (len(vectors) - 1)
        least, which = every.topk(LISTED + 1, largest=False)  # the first one is the symbol itself
        near.append(which[:, 1:])
        away.append((100 * least / mean)[:, 1:])
    return torch.cat(near).numpy(), torch.cat(away).numpy()
