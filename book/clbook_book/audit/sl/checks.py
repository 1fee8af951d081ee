"""The exact checks of the page: each compares a statement of SL with an optimum in float64, for five seeds."""

from __future__ import annotations

import numpy as np
import torch

from clbook.experiments.modadd import equivalence, lookup
from clbook.results.sweep import sweep
from clbook.training.loop import one_thread
from clbook_book.audit.sl import tables, updates
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
NARROW = {"d": 16, "contexts": 12}  # 24 columns for 16 dimensions: too few for the twins to meet


@one_thread()
def views() -> tuple[np.ndarray, np.ndarray, float]:
    """Optima of SL eq. 1 on the views of `tables.views`, one table for both sides: farthest equivalent views, nearest
    others, (5,) each; and the nearest pair of a table whose pairs are not equivalent."""
    found = []
    for seed in SEEDS:
        near, far = distances(tables.one_table(tables.views(seed)), TWINS)
        found.append((near.max(), far.min()))
    broken, _ = distances(tables.one_table(tables.views(0, "contexts")), TWINS)
    return *np.array(found).T, float(broken.min())


@one_thread()
def aligned() -> tuple[np.ndarray, np.ndarray]:
    """Random tables that are aligned with their own task, without labels, zeros or decay: twins' largest distance, and
    that of the nearest others; (5,) each."""
    found = []
    for seed in SEEDS:
        near, far = distances(optimum(equivalence.random_table(seed).joint, seed=seed)[0], TWINS)
        found.append((near.max(), far.min()))
    return tuple(np.array(found).T)


@one_thread()
def by_class(decay: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """CModAdd in which equivalent symbols share no context, and an encoder that keeps (c - b) mod k of each: largest
    distance of equivalent symbols, and that of the nearest others, with a little decay; (5,) each."""
    joint, classes = tables.apart()
    kept = np.stack([joint[:, classes == k].sum(1) for k in range(8)], 1)
    found = []
    for seed in SEEDS:
        near, far = distances(optimum(kept, decay=decay, seed=seed)[0], CLASSES)
        found.append((near.max(), far.min()))
    return tuple(np.array(found).T)


def same_columns() -> float:
    """Largest difference between CModAdd's table and ModAdd's labelled one, columns in one order."""
    with_labels, without = (
        tables.columns(joint)
        for joint in (equivalence.modadd_table().labelled, equivalence.cmodadd_table().joint)
    )
    return float(abs(with_labels - without).max())


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
def absent() -> tuple[np.ndarray, np.ndarray]:
    """Symbol 1 never occurs: how far its vector moves, and the largest distance of the other twins; (5,) each."""
    moved, others = [], []
    for seed in SEEDS:
        joint = tables.without(equivalence.random_table(seed).labelled, 1)
        start = tuple(np.random.default_rng([seed, n]).normal(size=(n, 8)) for n in joint.shape)
        z, _ = optimum(joint, start=start)
        moved.append(abs(z[1] - start[0][1]).max())
        others.append(distances(z[2:], TWINS[2:, 2:])[0].max())
    return np.array(moved), np.array(others)


@one_thread()
def other_starts(starts=(3, 4), d: int = 32) -> list[tuple[float, float]]:
    """Two columns a dimension: the first tables of the record again, from other starts; for each the twins' largest
    distance and by how much the loss is above its least value, minus the mutual information."""
    found = []
    for table, seed in enumerate(starts):
        joint = equivalence.random_table(table, contexts=d).labelled
        z, c = optimum(joint, d, seed=seed)
        loss = lookup.infonce(*map(torch.from_numpy, (z, c, joint)))[0].item()
        found.append((distances(z, TWINS)[0].max(), loss + lookup.mutual_information(joint)))
    return found


@one_thread()
def pushed(size: float = 1e-3) -> np.ndarray:
    """(4, 5): at optima with too few columns, N(0, size) is added to the contexts. Independent directions afterwards;
    twins' largest distance before, with the best symbols for the moved contexts, and after minimising both again."""
    found = []
    for run in sweep(lookup.run, [lookup.Config(seed=seed, **NARROW) for seed in SEEDS]):
        contexts = run.c[-1] + size * np.random.default_rng(run.config.seed).normal(
            size=run.c[-1].shape
        )
        anew = tables.exact_rows(run.joint, contexts)
        again, _ = optimum(run.joint, start=(run.z[-1], contexts))
        rank = np.linalg.matrix_rank(contexts - contexts.mean(0))
        found.append([rank, *(distances(z, TWINS)[0].max() for z in (run.z[-1], anew, again))])
    return np.array(found).T


@one_thread()
def one_dimension() -> tuple[np.ndarray, np.ndarray]:
    """d = 1: distance of the first two of `FOUR` symbols, which differ in their answers alone; that of the nearest
    different symbols of CModAdd with decay .001; (5,) each."""
    four = [abs(np.subtract(*optimum(FOUR, 1, seed=seed)[0][:2])).item() for seed in SEEDS]
    line = sweep(
        lookup.run, [lookup.Config(data="cmodadd", d=1, decay=1e-3, seed=seed) for seed in SEEDS]
    )
    return np.array(four), np.array([run.distances()[1].min() for run in line])


def given(dimensions=(1, 2, 8)) -> dict[str, np.ndarray]:
    """{which contexts: (5,) largest distance of twins} for given contexts: random, and an untrained encoder's."""
    found = {}
    for d in dimensions:
        drawn, encoded = [], []
        for seed in SEEDS:
            joint = equivalence.random_table(seed).labelled
            contexts = np.random.default_rng(seed).normal(size=(joint.shape[1], d))
            drawn.append(distances(tables.exact_rows(joint, contexts), TWINS)[0].max())
            encoded.append(
                distances(tables.exact_rows(*tables.frozen_encoder(d=d, seed=seed)), CLASSES)[
                    0
                ].max()
            )
        found |= {f"random, d = {d}": np.array(drawn), f"transformer, d = {d}": np.array(encoded)}
    return found


@one_thread()
def frequencies(decay: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """With decay and too few columns, the largest distance of twins that are equally frequent, and of those that are
    not; (5,) each."""
    found = []
    for seed in SEEDS:
        joint = equivalence.random_table(seed, contexts=NARROW["contexts"]).labelled
        found.append(
            [
                distances(optimum(table, NARROW["d"], decay=decay, seed=seed)[0], TWINS)[0].max()
                for table in (tables.equally_frequent(joint), joint)
            ]
        )
    return tuple(np.array(found).T)


@one_thread()
def several(
    N: int = 12, moduli: tuple = (2, 3), d: int = 4, decay: float = 1e-3
) -> dict[str, np.ndarray]:
    """{in which of two additions, mod 2 and mod 3, two symbols agree: (5, 2) least and largest distance} at optima of
    eq. 2 with the labels of both tasks, half of the samples each."""
    joint = np.hstack([equivalence.modadd_table(N, k).labelled for k in moduli]) / len(moduli)
    u, v = np.triu_indices(N, 1)
    agree = [(u - v) % k == 0 for k in moduli]
    kinds = {
        "both": agree[0] & agree[1],
        "mod 2 only": agree[0] & ~agree[1],
        "mod 3 only": ~agree[0] & agree[1],
        "neither": ~agree[0] & ~agree[1],
    }
    z = [optimum(joint, d, decay=decay, seed=seed)[0] for seed in SEEDS]
    length = np.array([np.linalg.norm(table[u] - table[v], axis=1) for table in z])
    return {
        name: np.stack([length[:, kind].min(1), length[:, kind].max(1)], 1)
        for name, kind in kinds.items()
    }


def lines(angles=range(0, 181, 15)) -> tuple[np.ndarray, np.ndarray]:
    """SL Fig. 3: how many directions of differences two context vectors leave that are parallel, or at other angles."""
    first = np.array([1.0, 0.0])
    left = {}
    for angle in angles:
        second = np.array([np.cos(np.pi * angle / 180), np.sin(np.pi * angle / 180)])
        left[angle] = tables.solutions(first, second).shape[1]
    return (np.array([left.pop(angle) for angle in (0, 180)]), np.array([*left.values()]))


def steps() -> dict[str, list]:
    """{kind of batch: for five seeds `updates.errors`}: 16 distinct symbols, and 32 places of 16 symbols."""
    found = {}
    for kind, batch in (("distinct", 16), ("repeated", 32)):
        found[kind] = [updates.errors(16, batch, seed=seed) for seed in SEEDS]
    return found
