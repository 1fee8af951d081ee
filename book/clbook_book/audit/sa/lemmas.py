"""Checks of SA's lemmas, one by one, and what its theorem is worth at the sizes of SA's trainings."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.func import jacfwd
from torch.nn.functional import normalize

from clbook import theory
from clbook.training.streams import stream
from clbook_book.audit.sa.surrogate import (
    Config,
    batch_gradients,
    batches,
    below,
    logits,
    table,
    views,
)

SETS = {
    "CIFAR-10": (10, 50_000, 1000),
    "Mini-ImageNet": (100, 50_000, 1000),
    "Tiny-ImageNet": (200, 100_000, 1000),
    "ImageNet-1K": (1000, 1_281_167, 100),
}  # classes C, training points N, epochs of SA's training
TAUS = (0.1, 0.5, 1.0)


# Lemmas.


def batch_curvature(config: Config) -> np.ndarray:
    """(2,) largest eigenvalue of the Hessian of CL's and NSCL's first batch loss, times 2 tau^2 B (SA Lemma 2)."""
    z1, z2, labels = views(config)
    counts = batches(config)[0].double()
    sims = table(z1, z2)

    def gradients(sims):
        return batch_gradients(sims, counts, labels, config.tau).flatten(1)

    hessians = jacfwd(gradients)(sims).flatten(2)  # (2, n 2n, n 2n)
    return 2 * config.tau**2 * config.batch * torch.linalg.eigvalsh(hessians).amax(1).numpy()


def mean_mass(sims: torch.Tensor, keys: torch.Tensor, tau: float) -> torch.Tensor:
    """tau log(Z / |S|) of every anchor (n,) of a table `sims` (n, 2n), whose keys S are those where `keys` is True."""
    masses = (sims / tau).masked_fill(~keys, -math.inf).logsumexp(1)
    return tau * (masses - keys.sum(1).to(sims.dtype).log())


def mass_shares(sims: torch.Tensor, labels: torch.Tensor, tau: float) -> np.ndarray:
    """(2,) how near SA Lemma 4's two bounds are, 1 being attained: for sets of keys, for the ratio of their masses.

    |log(Z / |S|)| tau for the positives and negatives of every anchor of a table, and |log of the ratio of Z / |S||
    tau / 2.
    """
    full, negative = below(torch.ones(len(sims), dtype=sims.dtype), labels).isfinite()
    of_positives = mean_mass(sims, full & ~negative, tau)
    of_negatives = mean_mass(sims, negative, tau)
    sets = max(float(of_positives.abs().max()), float(of_negatives.abs().max()))
    return np.array([sets, float((of_positives - of_negatives).abs().max()) / 2])


def anchors(
    u1: torch.Tensor, u2: torch.Tensor, labels: torch.Tensor, tau: float
) -> tuple[np.ndarray, np.ndarray]:
    """SA Lemma 3 on one batch of unit vectors: squared gradients of each anchor by autograd and by eq. 12, both (2, n)
    and times tau^2."""
    sims = table(u1, u2).requires_grad_()
    n = len(u1)
    parts = logits(sims, torch.ones(n, dtype=torch.float64), labels, tau)
    pull = sims[:, n:].diagonal() / tau
    forces = [
        torch.autograd.grad((part.logsumexp(1) - pull).sum(), sims, retain_graph=True)[0]
        for part in parts
    ]
    shares = parts.detach().softmax(2)
    own = shares[:, :, n:].diagonal(dim1=1, dim2=2)
    squares = tau**2 * torch.stack(forces).square().sum(2)
    display = (1 - own) ** 2 + shares.square().sum(2) - own**2
    return squares.numpy(), display.numpy()


def fresh_drift(config: Config) -> float:
    """Drift over Theorem 1 after one step in which each place of the batch has a view of its own.

    Rows and columns of points are shared by all places that hold them, columns of views by none.
    """
    generator = stream(config.seed, 3)
    z1, _, labels = views(config)
    picks = torch.randint(config.n, (config.batch,), generator=generator)
    noise = torch.randn(config.batch, config.d, generator=generator, dtype=z1.dtype)
    z2 = normalize(z1[picks] + config.noise * noise / math.sqrt(config.d), dim=1)
    often = torch.bincount(picks, minlength=config.n).to(z1.dtype)

    sims = z1 @ torch.cat([z1, z2]).T / config.tau
    sims[:, : config.n] += often.log()
    own = torch.eye(config.n, sims.shape[1], dtype=torch.bool)
    same = labels[:, None] == torch.cat([labels, labels[picks]])
    p, q = (sims.masked_fill(hidden, -math.inf).softmax(1) for hidden in (own, same))
    # The attraction is that of both losses. A row counts as often as its point is in the batch.
    drift = config.eta * ((p - q) * often[:, None]).norm() / (config.tau * config.batch)
    bound = theory.similarity_bound(
        config.classes, config.batch, 1, config.eta, config.tau, config.delta
    )
    return float(drift / bound)


# Sizes.


def log_bound(C: int, B: int, T: int, eta: float, tau: float) -> float:
    """log of Theorem 1 for T steps of size eta, which may be too large for a number; delta is .01."""
    S = T * eta
    gap = theory.delta(C, B, T, 0.01, tau)
    return math.log(S / (tau * math.sqrt(B))) + math.log(gap) + S / (2 * tau**2 * B)


def over_triangle(C: int, B: int, S: float, T: int, tau: float) -> float:
    """Theorem 1 over the triangle inequality after T steps whose sizes add up to S.

    Where it is 1 or more, Theorem 1 says nothing that does not hold for any two losses.
    """
    bound = theory.similarity_bound(C, B, T, S / T, tau, 0.01)
    return bound / theory.triangle_bound(B, T, S / T, tau)


def quotients(config: Config) -> list[float]:
    """Left over right side of SA eqs. 10, 11 and 13, for NSCL and the first batch."""
    z1, z2, labels = views(config)
    sims = table(z1, z2)
    often = batches(config)[0].double()

    def gradient(sims):
        return batch_gradients(sims.repeat(2, 1, 1), often, labels, config.tau)[1]

    push = torch.zeros_like(sims)
    push[0, -2], push[0, -1] = 1e-3, -1e-3
    g = gradient(sims)
    squares = g.square().sum() / (g.square().sum(1) / often).sum()
    moved = gradient(sims + push) - g
    steepness = 2 * config.tau**2 * config.batch * moved.norm() / push.norm()
    size = config.tau * (config.batch / 2) ** 0.5 * g.norm()
    return [float(squares), float(steepness), float(size)]
