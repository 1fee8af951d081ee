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
    z = torch.cat([z1, z2])
    y = labels.repeat(2)
    n = len(z1)
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


def cosines(z: torch.Tensor) -> np.ndarray:
    """(n, n) cosines between the rows of z (n, d), pair by pair."""
    rows = []
    for a in z:
        rows.append([float(cosine_similarity(a, b, 0)) for b in z])
    return np.array(rows)


def layer_gap(a: torch.nn.Linear, b: torch.nn.Linear) -> torch.Tensor:
    """How far the weights of two layers are apart, over the mean of their sizes."""
    size = torch.linalg.matrix_norm
    distance = size(a.weight - b.weight)
    mean = 0.5 * (size(a.weight) + size(b.weight))
    return distance / mean


def definitions(seed: int) -> dict[str, float]:
    """{what SA define: how far the book's function is from it} for small random inputs."""
    generator = torch.Generator().manual_seed(seed)
    z1, z2, other = torch.randn(3, 7, 3, generator=generator, dtype=torch.float64)
    y = torch.tensor([0, 0, 0, 1, 1, 2, 2])
    tau = 0.3 + 0.5 * seed
    found = {}
    ours = {
        "cl": losses.cl(z1, z2, tau),
        "dcl": losses.dcl(z1, z2, tau),
        "nscl": losses.nscl(z1, z2, y, tau),
        "scl": losses.supcon(z1, z2, y, tau),
    }
    for name, value in ours.items():
        found[name] = float(value - written_out(z1, z2, y, tau, name))
    S = cosines(z1)
    T = cosines(other)
    H = np.eye(7) - 1 / 7
    K = H @ S @ H
    L = H @ T @ H
    cka = (K * L).sum() / np.sqrt((K**2).sum() * (L**2).sum())
    found["CKA"] = metrics.linear_cka(z1, other) - cka
    up = np.triu_indices(7, 1)
    rsa = np.corrcoef(1 - S[up], 1 - T[up])[0, 1]
    found["RSA"] = metrics.rsa(z1, other) - rsa
    fluctuation = math.sqrt(math.log((seed + 1) * 64 / 0.1) / (2 * 64))
    share = 1 / 5 + fluctuation
    delta = 2 * math.exp(2 / tau) * share / (1 - share)
    found["Delta"] = theory.delta(5, 64, seed + 1, 0.1, tau) - delta
    nets = [
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).double() for _ in range(2)
    ]
    for net in nets:
        for p in net.parameters():
            p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64)
    gaps = [layer_gap(a, b) for a, b in zip(*nets, strict=True)]
    gap = sum(gaps) / len(gaps)
    found["weight gap"] = float(metrics.weight_gap(*nets) - gap.detach())
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
        new[2 * k] = (scale[:, None] * new[2 * k])[:, order]
        new[2 * k + 1] = (scale * new[2 * k + 1])[:, order]
        new[2 * k + 2] = new[2 * k + 2][:, :, order] / scale[order]
    x = torch.randn(1, 50, 64, generator=generator, dtype=torch.float64)
    old = unrolled(weights)
    now = unrolled(new)
    apart = float((now - old).norm() / old.norm())
    change = similarities(weights, x) - similarities(new, x)
    return apart, float(change.abs().max())


def unrolled(weights: list) -> torch.Tensor:
    """All numbers of a network's weights in a row."""
    return torch.cat([w.flatten() for w in weights])


def similarities(weights: list, x: torch.Tensor) -> torch.Tensor:
    """(n, n) cosines of the embeddings of x (1, n, d) by the network with these weights."""
    _, embeddings, *_ = experiment.networks([w[:, None] for w in weights], x)
    z = torch.nn.functional.normalize(embeddings[0, 0], dim=1)
    return z @ z.T
