"""Data sets: labelled point clouds and scikit-learn's digits (shipped with it, no download).

Every maker takes a `torch.Generator`, returns `x` (n, D) float32 and `labels` (n,) int64 sorted by class, with class
sizes that differ by at most one.
"""

from __future__ import annotations

import math

import torch
from sklearn.datasets import load_digits

DONUT_RING = (1.8, 2.2)  # radii of the ring; the disc has radius 1


def balanced_labels(n: int, classes: int) -> torch.Tensor:
    """(n,) labels 0, 0, ..., 1, 1, ...: every class has floor(n / classes) or one more point."""
    if not 1 <= classes <= n:
        raise ValueError(f"n = {n} is not allowed: n must be at least the number of classes, {classes}")
    return torch.arange(n) * classes // n


def clusters(n: int, classes: int, spread: float, generator: torch.Generator):
    """Gaussian clusters in the plane, centred on the unit circle (LS Section 4.2.1; VA Section 5).

    Two clusters lie at (1, 0) and (0, 1); up to four are a quarter turn apart, more are spread evenly.
    `spread` is the standard deviation of each coordinate. Returns x (n, 2), labels (n,).
    """
    labels = balanced_labels(n, classes)
    angle = labels * (math.pi / 2 if classes <= 4 else 2 * math.pi / classes)
    centres = torch.stack([angle.cos(), angle.sin()], dim=1)
    return centres + spread * torch.randn(n, 2, generator=generator), labels


def row(n: int, classes: int, spread: float, dim: int, generator: torch.Generator, *, first=-1.0, gap=1.0):
    """Gaussian clusters in a row along the first axis, from `first` on, `gap` apart; the other coordinates have mean 0.

    LS Fig. 6 has four at -1, 0, 1, 2, the default; VA Fig. 5 has them at -3, -1, 1, 3. `spread` is the standard deviation
    of each of the `dim` coordinates. Returns x (n, dim), labels (n,).
    """
    labels = balanced_labels(n, classes)
    x = spread * torch.randn(n, dim, generator=generator)
    x[:, 0] += first + gap * labels
    return x, labels


def donut(n: int, generator: torch.Generator):
    """A disc of radius 1 (label 0) inside a ring (label 1), both uniform in area (LS Fig. 4, left). x (n, 2)."""
    labels = balanced_labels(n, 2)
    inner = torch.where(labels == 0, 0.0, DONUT_RING[0])
    outer = torch.where(labels == 0, 1.0, DONUT_RING[1])
    u = torch.rand(n, generator=generator)
    radius = (inner**2 + u * (outer**2 - inner**2)).sqrt()
    angle = 2 * math.pi * torch.rand(n, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels


def digits(n: int, classes: int, generator: torch.Generator):
    """`n` of scikit-learn's 8 x 8 digits, from the classes 0 .. classes - 1, drawn without replacement.

    Returns x (n, 64) in [0, 1] and labels (n,). Raises ValueError where the set has too few images of a class.
    """
    images, targets = load_digits(return_X_y=True)
    images, targets = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(targets)
    if not 1 <= classes <= 10:
        raise ValueError(f"classes = {classes} is not allowed: the digits have between 1 and 10 classes")
    labels = balanced_labels(n, classes)
    chosen = []
    for k in range(classes):
        of_class, wanted = torch.nonzero(targets == k).flatten(), int((labels == k).sum())
        if wanted > len(of_class):
            raise ValueError(f"n = {n} is not allowed: class {k} of the digits has {len(of_class)} images, "
                             f"{wanted} were asked for")
        chosen.append(of_class[torch.randperm(len(of_class), generator=generator)[:wanted]])
    return images[torch.cat(chosen)], labels


def modadd(N: int, k: int):
    """Modular addition (SL Sec. 5): every pair (a, b) of the symbols 0 .. N - 1 and its label (a + b) mod k.

    Returns pairs (N^2, 2) and labels (N^2,), not sorted by class. Two symbols are equivalent when they agree mod k.
    """
    if not 1 <= k <= N:
        raise ValueError(f"k = {k} is not allowed: k must be a whole number >= 1 and <= N = {N}")
    pairs = torch.cartesian_prod(torch.arange(N), torch.arange(N))
    return pairs, pairs.sum(1) % k


def cmodadd(N: int, k: int):
    """Contrastive modular addition (SL Sec. 5): `modadd`'s equations (a, b, c) with a or b masked, each once.

    Returns symbols (2 N^2,), the masked a or b, and contexts (2 N^2, 3), the equation with the mask N in its place. The
    answer c shares its tokens 0 .. k - 1 with the symbols. Every symbol is in 2 N contexts.
    """
    pairs, answers = modadd(N, k)
    equations = torch.column_stack([pairs, answers])
    contexts = equations.repeat(2, 1)
    contexts[: N * N, 0] = contexts[N * N:, 1] = N
    return torch.cat([pairs[:, 0], pairs[:, 1]]), contexts


def one_heavy_context(symbols: torch.Tensor, chosen, p: float, generator: torch.Generator):
    """Weights p(context | symbol) of samples with symbols (n,): uniform, but p on one random sample of each `chosen` symbol.

    SL App. A.10: the heavy context takes p, the symbol's others share 1 - p evenly. Returns (n,), sums to 1 a symbol.
    """
    weights = 1 / symbols.bincount()[symbols].double()
    for u in chosen:
        (mine,) = torch.nonzero(symbols == u, as_tuple=True)
        if len(mine) > 1:
            weights[mine] = (1 - p) / (len(mine) - 1)
            weights[mine[torch.randint(len(mine), (1,), generator=generator)]] = p
    return weights
