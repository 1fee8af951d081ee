"""Look-up tables of SL's theorems: other distributions, contexts that are given, and what a perturbation does."""

from __future__ import annotations

import numpy as np
import torch
from scipy import optimize

from clbook import data
from clbook.experiments.modadd import equivalence, lookup
from clbook.experiments.modadd.equivalence import Finite
from clbook.training.loop import one_thread

TWINS = (np.arange(equivalence.SYMBOLS) // 2)[:, None] == np.arange(
    equivalence.SYMBOLS
) // 2  # of the random table


PRECISELY = {"maxcor": 50, "ftol": 0, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 40_000}


# Distributions.


def no_answer(N: int = 16, k: int = 8) -> Finite:
    """CModAdd without the answer: the contexts are "? + b" and "a + ?"; every symbol is in each of them equally often.

    N symbols; k changes nothing: it is named so that the table can stand beside `equivalence.cmodadd_table`.
    """
    pairs, _ = data.modadd(N, k)
    return Finite.of(
        row for a, b in pairs.tolist() for row in ((a, f"? + {b}", "", 1), (b, f"{a} + ?", "", 1))
    )


def apart(N: int = 16, k: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """CModAdd's joint (N, 2 N k) where each context keeps one of the symbols that fit it, each symbol equally many; and
    the class (c - b) mod k that fits each context. Equivalent symbols share no context."""
    symbols, contexts = data.cmodadd(N, k)
    known = contexts[:, :2].min(1).values  # the hole is N
    kept = (symbols // k) % (N // k) == known % (N // k)
    numbered, ids = torch.unique(contexts, dim=0, return_inverse=True)
    joint = np.zeros((N, len(numbered)))
    np.add.at(joint, (symbols[kept].numpy(), ids[kept].numpy()), 1 / int(kept.sum()))
    classes = (numbered[:, 2] - numbered[:, :2].min(1).values) % k
    return joint, classes.numpy()


def views(seed: int = 0, broken: str = "none") -> np.ndarray:
    """p(first view, second view), (S, S): points are the contexts of a random table, and each of the two views is
    one of the symbols of this context, drawn alike. Twins are as likely for each point, unless `broken`."""
    joint = equivalence.random_table(seed, broken).joint
    return joint @ (joint / joint.sum(0)).T


# Optima.


@one_thread()
def optimum(
    joint: np.ndarray,
    d: int = 8,
    *,
    contexts: np.ndarray | None = None,
    decay: float = 0.0,
    seed: int = 0,
    start: tuple | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Z (S, d) and C (P, d) that minimise SL eq. 2 in the limit of large batches (`lookup.infonce`), by L-BFGS.

    Args: joint (S, P); contexts (P, d): given, and not moved (a frozen encoder); decay: lambda of the penalty
    lambda/2 (|Z|^2 + |C|^2); start: Z and C in place of draws from N(0, 1) by `seed`.
    """
    p, generator = torch.from_numpy(joint), torch.Generator().manual_seed(seed)
    z, c = (torch.randn(n, d, generator=generator, dtype=torch.float64) for n in joint.shape)
    if start is not None:
        z, c = map(torch.as_tensor, start)
    free = [z.clone(), c.clone()] if contexts is None else [z.clone()]
    sizes = [w.numel() for w in free]

    def unpacked(flat):
        parts = torch.from_numpy(flat.copy()).split(sizes)
        tables = [part.view_as(w) for part, w in zip(parts, free, strict=True)]
        return tables if contexts is None else [*tables, torch.as_tensor(contexts)]

    def objective(flat):
        tables = [w.requires_grad_(k < len(free)) for k, w in enumerate(unpacked(flat))]
        loss = lookup.infonce(*tables, p)[0] + decay / 2 * sum(
            w.square().sum() for w in tables[: len(free)]
        )
        slopes = torch.autograd.grad(loss, tables[: len(free)])
        return loss.item(), torch.cat([slope.flatten() for slope in slopes]).numpy()

    end = optimize.minimize(
        objective,
        torch.cat([w.flatten() for w in free]).numpy(),
        jac=True,
        method="L-BFGS-B",
        options=PRECISELY,
    )
    return tuple(w.detach().numpy() for w in unpacked(end.x))


@one_thread()
def one_table(joint: np.ndarray, d: int = 8, *, seed: int = 0) -> np.ndarray:
    """Z (S, d) that minimises SL eq. 1 in the limit of large batches: one table for both views; by L-BFGS, as above."""
    p, generator = torch.from_numpy(joint), torch.Generator().manual_seed(seed)
    start = torch.randn(len(joint), d, generator=generator, dtype=torch.float64)

    def objective(flat):
        z = torch.from_numpy(flat.copy()).view_as(start).requires_grad_()
        loss = lookup.infonce(z, z, p)[0]
        (slope,) = torch.autograd.grad(loss, z)
        return loss.item(), slope.flatten().numpy()

    end = optimize.minimize(
        objective, start.flatten().numpy(), jac=True, method="L-BFGS-B", options=PRECISELY
    )
    return end.x.reshape(start.shape)


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
