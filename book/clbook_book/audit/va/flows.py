"""The flow of embedded points at single moments, exactly (VA eq. 11 and 13)."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from clbook.experiments.kernel import partial_gradient
from clbook.losses import generalized, nt_xent_mean
from clbook.models import MLP
from clbook.training.streams import stream

TAU = 0.1


def identity_errors(seed: int, n: int = 20) -> tuple[float, float]:
    """Relative errors of eq. 13 by eq. 11 with K_ii = I as Remark 4.2 says, and with K_ii = n I; no other blocks."""
    z, views = 0.3 * torch.randn(2, n, 2, generator=stream(seed, 3), dtype=torch.float64)
    own = -partial_gradient(z, views[None], TAU)  # eq. 13
    blocks = torch.einsum("ij,kl->ijkl", torch.eye(n), torch.eye(2)).double()
    mixed = (
        -torch.einsum("ijkl,jl->ik", blocks, partial_gradient(z, views[None], TAU)) / n
    )  # eq. 11
    return tuple(float((found - own).norm() / own.norm()) for found in (mixed, n * mixed))


def at_rest(seed: int, n: int = 24, tau: float = 0.2) -> dict[str, tuple[float, float]]:
    """{loss: largest gradient in the weights, from evenly spread points of the circle and from random ones}.

    The map is R + g - g0 on the sphere, g a network with one hidden layer. It sends n random points, and a view of each
    beside it, to places R that have nothing to do with them. "eq. 4, free": the map is not held on the sphere.
    """
    draws = stream(seed, 4)
    x, noise = torch.randn(2, n, 3, generator=draws, dtype=torch.float64)
    net = MLP((3, 50, 2), "tanh", draws).double()
    angles = 2 * torch.pi * torch.arange(n, dtype=torch.float64) / n
    even = torch.stack([angles.cos(), angles.sin()], 1)[torch.randperm(n, generator=draws)]
    other = F.normalize(torch.randn(n, 2, generator=draws, dtype=torch.float64))

    def slope(loss, places, bound=F.normalize):
        views = []
        for inputs in (x, x + noise):
            output = net(inputs)
            views.append(bound(places + output - output.detach()))
        gradients = torch.autograd.grad(loss(*views), list(net.parameters()))
        return max(float(gradient.abs().max()) for gradient in gradients)

    def eq_1(a, b):
        return nt_xent_mean(a, b, tau)

    def eq_4(a, b):
        return generalized(a, b, lambda t: -t / tau)

    return {
        "eq. 1": (slope(eq_1, even), slope(eq_1, other)),
        "eq. 4": (slope(eq_4, even), slope(eq_4, other)),
        "eq. 4, free": (slope(eq_4, even, lambda z: z), slope(eq_4, other, lambda z: z)),
    }
