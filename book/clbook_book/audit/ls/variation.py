"""The second variation of the loss in one direction, by derivative and by formula (LS Lemma B.4, eq. 20 and 21)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F

from clbook.experiments.landscape.curves import LOG2, even
from clbook.losses import generalized, softplus


class SecondVariation(NamedTuple):
    """Readings of one second variation.

    Attributes:
        autograd: the second derivative itself along the line z + s h. formula: LS B.3's expression for any Psi.
        printed: LS eq. 21 as printed. corrected: that with G for G^2 and its missing factors.
        curved: the second derivative along the sphere, through (z + s h) / |z + s h|.
    """

    autograd: float
    formula: float
    printed: float
    corrected: float
    curved: float


def second_variation(z: torch.Tensor, h: torch.Tensor, tau: float) -> SecondVariation:
    """LS Lemma B.4's at z (n, d) in direction h (n, d), for eta(t) = exp(-t / tau) and Psi(t) = log(1 + t/2)."""

    def along(path):
        def loss(s):
            return generalized(path(s), path(s), lambda t: -t / tau, lambda r: softplus(r - LOG2))

        return float(torch.autograd.functional.hessian(loss, z.new_zeros(())))

    apart = z[:, None] - z
    change = h[:, None] - h
    weight = torch.exp(-apart.square().sum(2) / (2 * tau))  # at most 1
    inner = (apart * change).sum(2)
    square = change.square().sum(2)
    # Along the line G has the derivatives -first / tau and second / tau.
    G = weight.mean(1)
    first = (weight * inner).mean(1)
    second = (weight * (inner**2 / tau - square)).mean(1)

    def reading(slope, bend):
        """LS B.3 with (n,) values of Psi' and Psi'' at G."""
        by_bend = bend * first**2 / tau**2
        by_slope = slope * second / tau
        both = by_bend + by_slope
        return float(both.mean())

    slope = torch.func.grad(lambda t: torch.log1p(t / 2).sum())
    bend = torch.func.grad(lambda t: slope(t).sum())
    squared = 1 + G**2 / 2
    printed = reading(1 / squared, -1 / squared**2)
    plain = 2 + G
    corrected = reading(1 / plain, -1 / plain**2)
    curved = along(lambda s: F.normalize(z + s * h, dim=1))
    return SecondVariation(
        autograd=along(lambda s: z + s * h),
        formula=reading(slope(G), bend(G)),
        printed=printed,
        corrected=corrected,
        curved=curved,
    )


def within_lemma(count: int) -> list[SecondVariation]:
    """LS Lemma B.4 inside its conditions: along those of 300 random h at `count` even places that meet its eq. 20.

    z + h stays on the circle. sigma is 3/10 of the squared distance of neighbours, which bounds it; tau is a little
    below sigma / 3 K^2.
    """
    z = even(count, 2)
    generator = torch.Generator().manual_seed(0)
    neighbours = 4 * math.sin(math.pi / count) ** 2
    sigma = 0.3 * neighbours
    turns = torch.randn(300, count, generator=generator, dtype=z.dtype)
    x, y = z.T
    angle = torch.atan2(y, x) + turns
    moved = torch.stack([angle.cos(), angle.sin()], 2)
    h = moved - z  # (300, K, 2)
    i, j = torch.triu_indices(count, count, 1)
    apart = z[i] - z[j]
    change = h[:, i] - h[:, j]
    inner = (apart * change).sum(2)
    least = sigma * change.square().sum(2)
    inside = (inner**2 >= least).all(1)
    tau = 0.999 * sigma / (3 * count**2)
    return [second_variation(z, one, tau) for one in h[inside]]
