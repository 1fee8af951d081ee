"""Look-up tables of SL's theorems: other distributions, contexts that are given, and what a perturbation does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy import optimize

from clbook.experiments.modadd import equivalence, lookup
from clbook.training.loop import one_thread

TWINS = (np.arange(equivalence.SYMBOLS) // 2)[:, None] == np.arange(
    equivalence.SYMBOLS
) // 2  # of the random table


PRECISELY = {"maxcor": 50, "ftol": 0, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 40_000}


# Distributions.


def views(seed: int = 0, broken: str = "none") -> np.ndarray:
    """p(first view, second view), (S, S): points are the contexts of a random table, and each of the two views is
    one of the symbols of this context, drawn alike. Twins are as likely for each point, unless `broken`."""
    joint = equivalence.random_table(seed, broken).joint
    return joint @ (joint / joint.sum(0)).T


# Optima.


def minimised(loss: Callable, start: list[torch.Tensor]) -> list[np.ndarray]:
    """The tables at a minimum of loss(*tables), from `start`, by L-BFGS."""
    sizes = [table.numel() for table in start]

    def unpacked(flat):
        parts = torch.from_numpy(flat.copy()).split(sizes)
        return [part.view_as(table) for part, table in zip(parts, start, strict=True)]

    def objective(flat):
        tables = [table.requires_grad_() for table in unpacked(flat)]
        value = loss(*tables)
        slopes = torch.autograd.grad(value, tables)
        return value.item(), torch.cat([slope.flatten() for slope in slopes]).numpy()

    flat = torch.cat([table.flatten() for table in start]).numpy()
    end = optimize.minimize(objective, flat, jac=True, method="L-BFGS-B", options=PRECISELY)
    return [table.numpy() for table in unpacked(end.x)]


@one_thread()
def optimum(
    joint: np.ndarray, d: int = 8, *, decay: float = 0.0, seed: int = 0, start: tuple | None = None
) -> list[np.ndarray]:
    """Z (S, d) and C (P, d) that minimise SL eq. 2 in the limit of large batches (`lookup.infonce`).

    Args: joint (S, P); decay: lambda of the penalty lambda/2 (|Z|^2 + |C|^2); start: Z and C in place of draws from
    N(0, 1) by `seed`.
    """
    p, generator = torch.from_numpy(joint), torch.Generator().manual_seed(seed)
    first = [torch.randn(n, d, generator=generator, dtype=torch.float64) for n in joint.shape]
    if start is not None:
        first = [torch.as_tensor(table) for table in start]

    def loss(z, c):
        return lookup.infonce(z, c, p)[0] + decay / 2 * (z.square().sum() + c.square().sum())

    return minimised(loss, first)


@one_thread()
def one_table(joint: np.ndarray, d: int = 8, *, seed: int = 0) -> np.ndarray:
    """Z (S, d) that minimises SL eq. 1 in the limit of large batches: one table for both views."""
    p, generator = torch.from_numpy(joint), torch.Generator().manual_seed(seed)
    start = torch.randn(len(joint), d, generator=generator, dtype=torch.float64)
    return minimised(lambda z: lookup.infonce(z, z, p)[0], [start])[0]


# What is measured.


def distances(z: np.ndarray, same: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distances of the pairs of rows of z (S, d) that are `same` (S, S), and of all others."""
    u, v = np.triu_indices(len(z), 1)
    length = np.linalg.norm(z[u] - z[v], axis=1)
    return np.sort(length[same[u, v]]), np.sort(length[~same[u, v]])


def group_sizes(z: np.ndarray, same: np.ndarray, least: float = 0.1) -> list[int]:
    """Sizes of the groups of distances of the pairs of rows of z (S, d) that are not `same` (S, S), nearest first.

    Between two groups there is a gap of a tenth of the mean distance. Groups of less than the part `least` of the
    pairs are left out.
    """
    length = distances(z, same)[1]
    ends = np.flatnonzero(np.diff(length) > 0.1 * length.mean()) + 1
    sizes = [len(part) for part in np.split(length, ends)]
    return [size for size in sizes if size >= least * len(length)]


def narrowest(contexts: np.ndarray) -> float:
    """Smallest over largest extent of contexts (P, d), less their mean: 0 where their differences do not span."""
    spread = np.linalg.svd(contexts - contexts.mean(0), compute_uv=False)
    return float(spread[min(len(spread), contexts.shape[1]) - 1] / spread[0])
