"""SL's definitions written out: eq. 1 and 2 as loops, and which symbols are equivalent for the paper's N and k."""

from __future__ import annotations

import math

import numpy as np
import torch

from clbook import data
from clbook.experiments.modadd.equivalence import Finite, semantic_gap
from clbook.losses import symbol_context


def slow_loss(anchors: torch.Tensor, positives: torch.Tensor) -> float:
    """SL eq. 2 (and eq. 1, where one encoder made both) of vectors (n, d), term by term."""
    n, total = len(anchors), 0.0
    for i in range(n):
        similar = [math.exp(float(anchors[i] @ positives[j])) for j in range(n)]
        total -= math.log(similar[i] / sum(similar)) / n
    return total


def loss_errors(n: int, seed: int, d: int = 5) -> tuple[float, float]:
    """|`losses.symbol_context` - `slow_loss`| for n points: one encoder for both views (eq. 1), and two (eq. 2)."""
    generator = torch.Generator().manual_seed(seed)
    first, second, noise = (torch.randn(n, d, generator=generator, dtype=torch.float64) for _ in range(3))
    encoder = torch.randn(d, d, generator=generator, dtype=torch.float64)
    views = (first @ encoder).tanh(), ((first + 0.1 * noise) @ encoder).tanh()  # two augmentations, one encoder
    return tuple(abs(float(symbol_context(*pair)) - slow_loss(*pair)) for pair in (views, (first, second)))


def example() -> tuple[np.ndarray, np.ndarray]:
    """Two words with the same answers in one context and not in another: their semantic gap, (2, 2), and the gap in
    each context, (2,)."""
    table = Finite.of([("full", "the glass is _", "drink", 1), ("empty", "the glass is _", "drink", 1),
                       ("full", "the glass is _", "fill", 1), ("empty", "the glass is _", "fill", 1),
                       ("full", "a _ car park", "drive on", 1), ("empty", "a _ car park", "park", 1)])
    given = table.p / table.joint[..., None]
    return semantic_gap(table), np.abs(given[0] - given[1]).sum(1) / 2


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
    found = [np.unique(rows, axis=0, return_inverse=True)[1].ravel() for rows in (labels.view(N, N).numpy(), seen)]
    agree = np.arange(N)[:, None] % k == np.arange(N) % k
    return (*(len(set(group.tolist())) for group in found),
            all(bool(((group[:, None] == group) == agree).all()) for group in found))
