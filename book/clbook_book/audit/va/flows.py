"""The flow of embedded points at single moments, exactly (VA eq. 11 and 13)."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from clbook.experiments.kernel import partial_gradient
from clbook.experiments.sphere import CLUSTERED
from clbook.losses import generalized, nt_xent_mean
from clbook.metrics import neighbour_accuracy
from clbook.models import MLP, Averaging
from clbook.training.streams import stream
from clbook_book.audit.va.experiment import Config, dataset
from clbook_book.audit.va.minima import circle, even

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

    The map is R + g - g0 on the sphere, g a network with one hidden layer. It sends n random points and a view of
    each to places R that have nothing to do with them.
    """
    draws = stream(seed, 4)
    inputs = torch.randn(2, n, 3, generator=draws, dtype=torch.float64)
    net = MLP((3, 50, 2), "tanh", draws).double()
    places = circle(even(n))[0, torch.randperm(n, generator=draws)]
    other = F.normalize(torch.randn(n, 2, generator=draws, dtype=torch.float64))

    def slope(loss, R):
        output = net(inputs)
        views = F.normalize(R + output - output.detach(), dim=-1)
        gradients = torch.autograd.grad(loss(*views), list(net.parameters()))
        return max(float(gradient.abs().max()) for gradient in gradients)

    losses = {
        "eq. 1": lambda a, b: nt_xent_mean(a, b, tau),
        "eq. 4": lambda a, b: generalized(a, b, lambda t: -t / tau),
    }
    return {name: (slope(loss, places), slope(loss, other)) for name, loss in losses.items()}


def off_sphere(seed: int, tau: float, lr: float = 6.0, most: int = 1000) -> tuple[float, float]:
    """Iteration, of so many, at which the 10-NN accuracy is .95, and by how much the loss rises in a step until then.

    VA Fig. 5's centres with noise across the line, the network of eq. 18, gradient descent on eq. 4. A point
    and a view of it start at the same of 120 even places of the circle, in random order, and R + g - g0 is not put back
    on it.
    """
    draws = stream(seed, 7)
    x, labels = dataset(Config(n=120, seed=seed))
    views = torch.stack([x, x]).double()
    views[1, :, 1] += 0.3 * torch.randn(120, generator=draws)
    places = circle(even(120))[0, torch.randperm(120, generator=draws)]
    net = Averaging(2, 2, 100, "tanh", 0.1, draws).double()
    inner = net.inner.weight
    start = net(views).detach()
    rise, before = -torch.inf, torch.inf
    for iteration in range(most):
        z = places + net(views) - start
        loss = generalized(*z, lambda t: -t / tau)
        rise, before = max(rise, loss.item() - before), loss.item()
        if neighbour_accuracy(z[0].detach(), labels) >= CLUSTERED:
            return iteration, rise
        inner.data -= lr * torch.autograd.grad(loss, inner)[0]
    return torch.inf, rise


def unlike_gradients(
    seed: int, n: int = 40, steps: int = 200, tau: float = 0.2
) -> tuple[float, float, float]:
    """How far points move, how far views are from them at most, and how much gradients in the weights differ at least.

    VA Section 4.2: eq. 18's network, noise in the third coordinate alone, to which no unit listens at the start, and
    eq. 15 with clean points in the sum, by gradient descent on eq. 4 at lr = 1.
    """
    draws = stream(seed, 5)
    x = torch.randn(n, 3, generator=draws, dtype=torch.float64)
    noise = torch.zeros_like(x)
    noise[:, 2] = x[:, 2].sign()  # a view is one unit away in the third coordinate
    x[:, 2] = 0
    net = Averaging(3, 2, 64, "tanh", 64**-0.5, draws).double()
    inner = net.inner.weight
    with torch.no_grad():
        inner[:, 2] = 0
        start = net(x)
    apart, unlike = 0.0, torch.inf
    for _ in range(steps):
        z = net(x)
        (gradient,) = torch.autograd.grad(generalized(z, z, lambda t: -t / tau), inner)
        with torch.no_grad():
            # Gradients in the third column: 0 at a point, the units' slopes at its view.
            slopes = (1 - torch.tanh(x @ inner.T).square()) / 8
            unlike = min(unlike, float(slopes.norm(dim=1).min()))
            inner -= gradient
            apart = max(apart, float((net(x + noise) - net(x)).abs().max()))
    with torch.no_grad():
        moved = float((net(x) - start).norm(dim=1).max())
    return moved, apart, unlike
