"""What SA define, written out, beside what the book computes; and what a network's parametrisation changes."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from clbook import losses, metrics, theory
from clbook.experiments.alignment import experiment
from clbook.models import stacked
from clbook.training.streams import stream


def written_out(
    z1: torch.Tensor, z2: torch.Tensor, labels: torch.Tensor, tau: float, name: str
) -> torch.Tensor:
    """CL, DCL, NSCL or SCL of SA Secs. 3 and 5 as sums over views; CL with the first views as anchors."""
    z, y, n = torch.cat([z1, z2]), labels.repeat(2), len(z1)
    total = []
    for a in range(n if name == "cl" else 2 * n):
        partner = (a + n) % (2 * n)
        others = [b for b in range(2 * n) if b != a]
        under = {
            "cl": others,
            "scl": others,
            "dcl": [b for b in others if b != partner],
            "nscl": [b for b in others if y[b] != y[a]],
        }[name]
        pulls = [b for b in others if y[b] == y[a]] if name == "scl" else [partner]
        s = [cosine_similarity(z[a], z[b], 0) / tau for b in range(2 * n)]
        line = sum(s[b].exp() for b in under).log()
        total.append(sum(line - s[b] for b in pulls) / len(pulls))
    return sum(total) / len(total)


def definitions(seed: int) -> dict[str, float]:
    """{what SA define: how far the book's function is from it} for small random inputs."""
    generator = torch.Generator().manual_seed(seed)
    z1, z2, other = torch.randn(3, 7, 3, generator=generator, dtype=torch.float64)
    y, tau, found = torch.tensor([0, 0, 0, 1, 1, 2, 2]), 0.3 + 0.5 * seed, {}
    ours = {
        "cl": losses.cl(z1, z2, tau),
        "dcl": losses.dcl(z1, z2, tau),
        "nscl": losses.nscl(z1, z2, y, tau),
        "scl": losses.supcon(z1, z2, y, tau),
    }
    found |= {
        name: float(value - written_out(z1, z2, y, tau, name)) for name, value in ours.items()
    }
    S, T = (
        np.array([[float(cosine_similarity(a, b, 0)) for b in z] for a in z]) for z in (z1, other)
    )
    H = np.eye(7) - 1 / 7
    K, L = H @ S @ H, H @ T @ H
    found["CKA"] = metrics.linear_cka(z1, other) - (K * L).sum() / np.sqrt(
        (K**2).sum() * (L**2).sum()
    )
    up = np.triu_indices(7, 1)
    found["RSA"] = metrics.rsa(z1, other) - np.corrcoef(1 - S[up], 1 - T[up])[0, 1]
    fluctuation = math.sqrt(math.log((seed + 1) * 64 / 0.1) / (2 * 64))
    share = 1 / 5 + fluctuation
    found["Delta"] = theory.delta(5, 64, seed + 1, 0.1, tau) - 2 * math.exp(2 / tau) * share / (
        1 - share
    )
    nets = [
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).double() for _ in range(2)
    ]
    for net in nets:
        for p in net.parameters():
            p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64)
    size = torch.linalg.matrix_norm
    gaps = [
        size(a.weight - b.weight) / (0.5 * (size(a.weight) + size(b.weight)))
        for a, b in zip(*nets, strict=True)
    ]
    found["weight gap"] = float(metrics.weight_gap(*nets) - (sum(gaps) / len(gaps)).detach())
    return {name: abs(error) for name, error in found.items()}


def outside(seed: int, draws: int = 1000) -> np.ndarray:
    """(draws, 2) CKA and RSA of pairs of random embeddings of 5 points in the plane."""
    pairs = torch.randn(draws, 2, 5, 2, generator=stream(seed, 0), dtype=torch.float64)
    return np.array([[metrics.linear_cka(a, b), metrics.rsa(a, b)] for a, b in pairs])


def reparametrised(seed: int) -> tuple[float, float]:
    """A perceptron whose hidden units are put in another order and rescaled, with what undoes it in the next layer.

    Returns how far its weights are from the old ones, relative to their length, and the largest change of a cosine of
    the embeddings of 50 random inputs.
    """
    generator = stream(seed, 1)
    net = experiment.start(experiment.Config(data="digits", seed=seed), 64).double()
    weights = [w.detach() for w in stacked([net])][: 2 * experiment.LAYERS]
    new = [w.clone() for w in weights]
    for k in range(experiment.LAYERS - 1):
        width = weights[2 * k].shape[1]
        order = torch.randperm(width, generator=generator)
        scale = (0.2 * torch.randn(width, generator=generator, dtype=torch.float64)).exp()
        new[2 * k], new[2 * k + 1] = (
            (scale[:, None] * new[2 * k])[:, order],
            (scale * new[2 * k + 1])[:, order],
        )
        new[2 * k + 2] = new[2 * k + 2][:, :, order] / scale[order]
    x = torch.randn(1, 50, 64, generator=generator, dtype=torch.float64)
    cosines = []
    for those in (weights, new):
        z = torch.nn.functional.normalize(
            experiment.networks([w[:, None] for w in those], x)[1][0, 0], dim=1
        )
        cosines.append(z @ z.T)
    old, now = (torch.cat([w.flatten() for w in those]) for those in (weights, new))
    return float((now - old).norm() / old.norm()), float((cosines[0] - cosines[1]).abs().max())
