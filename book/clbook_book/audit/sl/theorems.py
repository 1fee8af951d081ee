"""The exact checks of the page: each compares a statement of SL with an optimum in float64, for five seeds."""

from __future__ import annotations

import numpy as np
import torch

from clbook import data
from clbook.experiments import modadd
from clbook.experiments.modadd import equivalence, lookup
from clbook.losses import symbol_context
from clbook.results.sweep import sweep
from clbook.training.loop import one_thread
from clbook_book.audit.sl import tables
from clbook_book.audit.sl.tables import TWINS, distances, optimum

SEEDS = range(5)
CLASSES = np.tile(np.eye(8, dtype=bool), (2, 2))  # which of 16 symbols agree mod 8
FOUR = (
    np.array(
        [
            [0.42, 0.38, 0.1, 0.1],
            [0.38, 0.42, 0.1, 0.1],
            [0.1, 0.1, 0.42, 0.38],
            [0.1, 0.1, 0.38, 0.42],
        ]
    )
    / 4
)
ALONE = np.kron(np.eye(8), [1, 1]) / 16  # eight symbols, each with two contexts of its own
# Three groups, each of two symbols with one context of their own and a third, eight times as frequent, that has both.
THIRD = np.kron(np.eye(3), [[1, 0], [0, 1], [8, 8]]) / 54
PAIRS = np.kron(np.eye(3, dtype=bool), [[1, 1, 0], [1, 1, 0], [0, 0, 1]]) > 0


def extremes(optima: list, same: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest distance of the rows of each table that are `same`, smallest of the others."""
    found = [distances(z, same) for z in optima]
    return np.array([near.max() for near, _ in found]), np.array([far.min() for _, far in found])


@one_thread()
def views() -> tuple[np.ndarray, np.ndarray, float]:
    """Optima of SL eq. 1 on the views of `tables.views`, one table for both sides: farthest equivalent views, nearest
    others, (5,) each; and the nearest pair of a table whose pairs are not equivalent."""
    near, far = extremes([tables.one_table(tables.views(seed)) for seed in SEEDS], TWINS)
    broken, _ = distances(tables.one_table(tables.views(0, "contexts")), TWINS)
    return near, far, float(broken.min())


@one_thread()
def aligned() -> tuple[np.ndarray, np.ndarray]:
    """Random tables that are aligned with their own task, without labels, zeros or decay: twins' largest distance, and
    that of the nearest others; (5,) each."""
    optima = [optimum(equivalence.random_table(seed).joint, seed=seed)[0] for seed in SEEDS]
    return extremes(optima, TWINS)


@one_thread()
def unshared(decay: float = 0.03) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Symbols that are called equivalent and share no context, in look-up tables with decay, five starts each.

    In `ALONE`: their mean distance over that of the others. In `THIRD`: largest distance of them, and that of the
    nearest others.
    """
    alone, third = ([optimum(p, decay=decay, seed=s)[0] for s in SEEDS] for p in (ALONE, THIRD))
    means = [[kind.mean() for kind in distances(z, TWINS)] for z in alone]
    return np.divide(*np.transpose(means)), *extremes(third, PAIRS)


@one_thread()
def unlabelled() -> tuple[np.ndarray, np.ndarray]:
    """Twins with the same contexts and other answers: largest distance without labels, smallest with; (5,) each."""
    made = [equivalence.random_table(seed, "answers") for seed in SEEDS]
    plain = [
        distances(optimum(table.joint, seed=seed)[0], TWINS)[0]
        for seed, table in zip(SEEDS, made, strict=True)
    ]
    configs = [lookup.Config(seed=seed, broken="answers") for seed in SEEDS]
    labelled = [distances(run.z[-1], TWINS)[0] for run in sweep(lookup.run, configs)]
    return np.array([apart.max() for apart in plain]), np.array([apart.min() for apart in labelled])


@one_thread()
def one_dimension() -> tuple[np.ndarray, np.ndarray]:
    """d = 1: distance of the first two of `FOUR` symbols, which differ in their answers alone; that of the nearest
    different symbols of CModAdd with decay .001; (5,) each."""
    four = [abs(np.subtract(*optimum(FOUR, 1, seed=seed)[0][:2])).item() for seed in SEEDS]
    line = sweep(
        lookup.run, [lookup.Config(data="cmodadd", d=1, decay=1e-3, seed=seed) for seed in SEEDS]
    )
    return np.array(four), np.array([run.distances()[1].min() for run in line])


def update_error(symbols: int, batch: int, d: int = 8, seed: int = 0) -> float:
    """How far the step that SL A.5 print is from the gradient of eq. 2, relative to it, in the mean over the symbols of
    one batch of N(0, 1) vectors. A symbol's printed step is that of its first place.

    Symbols are drawn with replacement, except where the batch is no larger than their number: then each occurs once.
    """
    generator = torch.Generator().manual_seed(seed)
    table, contexts = (
        torch.randn(n, d, generator=generator, dtype=torch.float64) for n in (symbols, batch)
    )
    ids = (
        torch.randperm(symbols, generator=generator)[:batch]
        if batch <= symbols
        else torch.randint(symbols, (batch,), generator=generator)
    )
    printed = contexts - (table[ids] @ contexts.T).softmax(1) @ contexts
    free = table.clone().requires_grad_()
    (slope,) = torch.autograd.grad(-batch * symbol_context(free[ids], contexts), free)
    present = ids.unique()
    first = [int((ids == u).nonzero()[0]) for u in present]
    off = (printed[first] - slope[present]).norm(dim=1) / slope[present].norm(dim=1)
    return float(off.mean())


def steps() -> dict[str, np.ndarray]:
    """{kind of batch: `update_error` for five seeds}: 16 distinct symbols, and 32 places of 16 symbols."""
    found = {}
    for kind, batch in (("distinct", 16), ("repeated", 32)):
        found[kind] = np.array([update_error(16, batch, seed=seed) for seed in SEEDS])
    return found


def split_gaps(config: modadd.Config) -> np.ndarray:
    """(8,) the total variation between the contexts of two equivalent symbols in the samples that a run trains on."""
    samples = modadd.Samples(config)
    joint = np.zeros((16, int(samples.ids.max()) + 1))
    np.add.at(joint, (samples.symbols.numpy(), samples.ids.numpy()), 1 / len(samples.ids))
    return np.diagonal(equivalence.conditional_gap(joint), 8)


def classes(N: int = 101, k: int = 10) -> tuple[int, int, bool]:
    """How many different rows of probabilities the symbols have in ModAdd and in CModAdd, and whether both times the
    symbols with one row are those that agree mod k.

    A row is p(y | u, rho) over all contexts, and p(rho | u) over all contexts.
    """
    _, labels = data.modadd(N, k)
    symbols, contexts = data.cmodadd(N, k)
    _, ids = torch.unique(contexts, dim=0, return_inverse=True)
    seen = np.zeros((N, int(ids.max()) + 1))
    np.add.at(seen, (symbols.numpy(), ids.numpy()), 1 / (2 * N))
    agree = np.arange(N)[:, None] % k == np.arange(N) % k
    counts, as_classes = [], True
    for rows in (labels.view(N, N).numpy(), seen):
        different, number = np.unique(rows, axis=0, return_inverse=True)
        counts.append(len(different))
        same = number.reshape(N, 1) == number.ravel()
        as_classes &= bool((same == agree).all())
    return *counts, as_classes
