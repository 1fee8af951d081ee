"""Views that scatter: a start that meets all conditions of LS Theorem 4.3, and whose clusters close up."""

from __future__ import annotations

import torch

from clbook import theory
from clbook.losses import simplified

SCALE = 5.0  # f(w, x) = R(x) + SCALE w_q on cluster q, so that Theta = kappa = 2 SCALE^2
N, EPS, TAU = 60, 0.1, 1.0


def ratio() -> float:
    """The left side of (e) over the right: a point's views have its cluster's mean, and the kernel is two blocks."""
    left, right = theory.separation_condition(EPS, TAU, N, 0.0, 2 * SCALE**2, 0.0, 0.0)
    return left / right


def growth(gap: float, scatter: float, gradient: str) -> float:
    """How fast the gap between the clusters' means grows under eq. 12, divided by the gap.

    Both clusters have the same N/2 even places around their means. Each has one weight, so that it moves as a whole.
    A point has two views, at its cluster's mean give or take sqrt(scatter tau); of a cluster's first views every second
    one lies to the left.
    """
    own = torch.linspace(-EPS / 3, EPS / 3, N // 2, dtype=torch.float64)
    weights = torch.tensor([-gap / 2, gap / 2], dtype=torch.float64) / SCALE
    weights.requires_grad_()
    means = (SCALE * weights).repeat_interleave(N // 2)[:, None]
    z = own.repeat(2)[:, None] + means
    side = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(N // 2)[:, None]
    off = (scatter * TAU) ** 0.5 * side
    views = torch.stack([means + off, means - off])
    loss = simplified(z, views if gradient == "full" else views.detach(), TAU)
    (slope,) = torch.autograd.grad(loss, weights)
    return float(SCALE * (slope[0] - slope[1]) / gap)
