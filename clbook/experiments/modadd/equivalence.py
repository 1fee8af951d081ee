"""Which symbols mean the same in a finite distribution, and whether two distributions are aligned (SL Sec. 2 to 5)."""

from __future__ import annotations

import dataclasses
import itertools
import numbers
from collections.abc import Iterable

import numpy as np
import torch

from clbook import data
from clbook.experiments.modadd.experiment import one_heavy_context

SAME = 1e-9  # total variation up to which two distributions count as equal
SYMBOLS = 8  # of the random table


@dataclasses.dataclass(frozen=True, eq=False)
class Finite:
    """A distribution p (symbols, contexts, labels) that sums to 1, with names along each axis; one label means none."""

    symbols: tuple
    contexts: tuple
    labels: tuple
    p: np.ndarray

    @classmethod
    def of(cls, rows: Iterable) -> Finite:
        """From rows (symbol, context, label, weight); weights are divided by their sum, rows that repeat add up."""
        rows = [tuple(row) for row in rows]
        if not rows or any(len(row) != 4 for row in rows):
            raise ValueError(
                f"rows = {rows!r:.80} are not allowed: each must be (symbol, context, label, weight)"
            )
        *columns, _ = zip(*rows, strict=True)
        names = [tuple(dict.fromkeys(column)) for column in columns]
        p = np.zeros([len(axis) for axis in names])
        for *place, weight in rows:
            if not (isinstance(weight, numbers.Real) and 0 <= weight < np.inf):
                raise ValueError(
                    f"weight = {weight!r} of {place} is not allowed: weight must be a finite number >= 0"
                )
            at = tuple(axis.index(name) for axis, name in zip(names, place, strict=True))
            p[at] += weight
        if not p.sum() > 0:
            raise ValueError("all weights are 0: at least one must be > 0")
        return cls(*names, p / p.sum())

    @property
    def joint(self) -> np.ndarray:
        """p(symbol, context), (S, P)."""
        return self.p.sum(2)

    @property
    def labelled(self) -> np.ndarray:
        """p(symbol, (context, label)), (S, P * labels): what SL Sec. 3 contrasts."""
        return self.p.reshape(len(self.symbols), -1)


def modadd_table(N: int = 16, k: int = 8) -> Finite:
    """ModAdd, the downstream task (SL Sec. 5): the context of a symbol is the other addend, the label the sum mod k."""
    pairs, labels = data.modadd(N, k)
    samples = zip(pairs.tolist(), labels.tolist(), strict=True)
    rows = []
    for (a, b), label in samples:
        rows.append((a, f"? + {b}", label, 1))
        rows.append((b, f"{a} + ?", label, 1))
    return Finite.of(rows)


def cmodadd_table(N: int = 16, k: int = 8, heavy: Iterable[int] = (), share: float = 0.9) -> Finite:
    """CModAdd, the contrastive task, without label: the symbol behind the ? of "? + b = c" or "a + ? = c".

    Each symbol of `heavy` has probability `share` on one random context of its own, the others share the rest (A.10).
    """
    if not 0 < share < 1:
        raise ValueError(f"share = {share!r} is not allowed: share must be a number > 0 and < 1")
    symbols, contexts = data.cmodadd(N, k)
    weights = one_heavy_context(symbols, heavy, share, torch.Generator().manual_seed(0))
    samples = zip(symbols.tolist(), contexts.tolist(), weights.tolist(), strict=True)
    rows = []
    for symbol, context, weight in samples:
        a, b, c = ("?" if x == N else x for x in context)
        rows.append((symbol, f"{a} + {b} = {c}", "", weight))
    return Finite.of(rows)


def random_table(seed: int = 0, broken: str = "none", contexts: int = 24) -> Finite:
    """Four pairs of symbols, two labels, all probabilities > 0. Both symbols of a pair have equal p(y | u, rho) unless
    `broken` is "answers", and equal p(rho | u) unless it is "contexts"."""

    def draws(part, *shape):
        scores = generator.normal(size=(SYMBOLS, *shape))
        if broken != part:
            scores = scores[::2].repeat(2, 0)  # one for both symbols of a pair
        weights = np.exp(1.25 * scores)
        return weights / weights.sum(-1, keepdims=True)

    generator = np.random.default_rng(seed)
    symbol = generator.dirichlet(np.full(SYMBOLS, 5.0))[:, None, None]
    context = draws("contexts", contexts)[..., None]
    answer = draws("answers", contexts, 2)
    p = symbol * context * answer
    return Finite(*[tuple(range(size)) for size in p.shape], p)


def conditional_gap(joint: np.ndarray) -> np.ndarray:
    """Total variation between p(rho | u) and p(rho | v) for all pairs, (S, S); NaN for a symbol that never occurs."""
    with np.errstate(invalid="ignore"):
        given = joint / joint.sum(1, keepdims=True)
    return _total_variation(given)


def _total_variation(p: np.ndarray) -> np.ndarray:
    """Between all pairs of the distributions p (S, ..., k): (S, S, ...)."""
    return np.abs(p[:, None] - p[None]).sum(-1) / 2


def semantic_gap(distribution: Finite) -> np.ndarray:
    """Largest total variation between p(y | u, rho) and p(y | v, rho) over the contexts that both occur in (Def. 2.1).

    (S, S); NaN where they share no context: then nothing speaks for or against their equivalence.
    """
    with np.errstate(invalid="ignore"):
        given = distribution.p / distribution.joint[..., None]
    gap = _total_variation(given)  # (S, S, P), NaN where one of the two is never seen
    unknown = np.isnan(gap).all(2)
    largest = np.nan_to_num(gap, nan=0.0).max(2)
    return np.where(unknown, np.nan, largest)


@dataclasses.dataclass(frozen=True, eq=False)
class Alignment:
    """SL Def. 4.1 for one pair of distributions.

    Attributes:
        symbols: names. semantic: (S, S) `semantic_gap` downstream. conditional: (S, S) `conditional_gap` of the
        contrastive distribution. aligned: whether exactly the same pairs have gap 0 in both. misses: the other pairs.
    """

    symbols: tuple
    semantic: np.ndarray
    conditional: np.ndarray

    @property
    def misses(self) -> list[tuple]:
        downstream = self.semantic <= SAME
        contrastive = self.conditional <= SAME
        differ = np.triu(downstream != contrastive, 1)
        names = self.symbols
        return [(names[u], names[v]) for u, v in np.argwhere(differ)]

    @property
    def aligned(self) -> bool:
        return not self.misses

    def groups(self, which: str) -> list[tuple]:
        """Sets of equivalent symbols, as sorted tuples, by the gap named `which` ("semantic" or "conditional")."""
        groups = [
            tuple(itertools.compress(self.symbols, row)) for row in getattr(self, which) <= SAME
        ]
        return list(dict.fromkeys(groups))


def check(contrastive: Finite, downstream: Finite) -> Alignment:
    """Which symbols are equivalent in each distribution, and whether the two are aligned (SL Def. 2.1, 4.1)."""
    if set(contrastive.symbols) != set(downstream.symbols):
        raise ValueError(
            f"symbols = {contrastive.symbols!r} are not allowed: contrastive and downstream must have the "
            f"same symbols, {downstream.symbols!r}"
        )
    order = [contrastive.symbols.index(s) for s in downstream.symbols]
    return Alignment(
        downstream.symbols, semantic_gap(downstream), conditional_gap(contrastive.joint[order])
    )
