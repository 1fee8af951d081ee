"""What VA state about the loss alone, as far as `ls.exact` does not check it (VA Sections 2 and 3, Appendix A)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.func import functional_call

from clbook.experiments.landscape.curves import PSI
from clbook.losses import generalized, nt_xent_mean
from clbook.models import Averaging
from clbook_book.audit.ls.exact import numbers

TAU = 0.2


def circle(angles: torch.Tensor) -> torch.Tensor:
    """Points (..., 2) of the circle at angles (...)."""
    return torch.stack([angles.cos(), angles.sin()], -1)


def descended(loss: Callable, angles: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Each row of angles (R, n) taken down to a minimum of loss(angles) -> (R,): (angles, losses)."""
    angles = angles.clone().requires_grad_()
    method = torch.optim.LBFGS(
        [angles],
        max_iter=500,
        history_size=20,
        tolerance_grad=1e-10,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def total():
        method.zero_grad()
        value = loss(angles).sum()
        value.backward()
        return value

    method.step(total)
    return angles.detach(), loss(angles).detach()


def above_even(tau: float, seed: int, n: int = 12, starts: int = 20) -> float:
    """Lowest eq. 1 of an invariant map of n points on the circle that descents find, less that of n even points."""

    def loss(angles):
        return nt_xent_mean(circle(angles), circle(angles), tau)

    return float(descended(loss, 3 * numbers(seed, starts, n))[1].min() - loss(even(n))[0])


def even(n: int) -> torch.Tensor:
    """Angles (1, n) of n evenly spread points."""
    return torch.arange(n, dtype=torch.float64)[None] * 2 * torch.pi / n


def constant_above_even(tau: float, n: int = 12) -> float:
    """Eq. 1 of a constant map of n points, less that of n evenly spread points."""
    constant, spread = circle(0 * even(n)), circle(even(n))
    return float(nt_xent_mean(constant, constant, tau) - nt_xent_mean(spread, spread, tau))


def views_at_minimum(tau: float, seed: int, n: int = 8, starts: int = 20) -> tuple[float, float]:
    """(farthest two views of a point, loss) at the lowest minimum of eq. 1 over free places of n points' two views.

    The two transformations of eq. 1 are drawn independently, so that both may be the same.
    """

    def loss(angles):
        a, b = circle(angles).unflatten(1, (2, n)).unbind(1)
        return sum(nt_xent_mean(one, two, tau) for one in (a, b) for two in (a, b)) / 4

    angles, losses = descended(loss, 3 * numbers(seed, starts, 2 * n))
    a, b = circle(angles[losses.argmin()]).unflatten(0, (2, n))
    return float((a - b).norm(dim=1).max()), float(losses.min())


def consistency_gaps(n: int, seed: int) -> tuple[float, float]:
    """Relative difference of eq. 4 and eq. 1 for n random points of the circle: Psi(t) = log(1 + t), log(1 + 2t)."""
    z = circle(torch.pi * numbers(seed, n))
    truth = nt_xent_mean(z, z, TAU)
    found = (generalized(z, z, lambda t: -t / TAU, PSI[psi]) for psi in ("log(1+t)", "log(1+2t)"))
    return tuple(float(abs(value / truth - 1)) for value in found)


def eq_7_errors(seed: int, height: float, n: int = 7) -> tuple[float, float]:
    """Relative errors of eq. 7 at an invariant map for eta(t) = height e^(-t), as printed and divided by eta(0)."""
    z = numbers(seed, n, 2).requires_grad_()
    # The height cancels in eq. 4: each similarity is divided by another one.
    truth = n * torch.autograd.grad(generalized(z, z, lambda t: -t), z)[0]
    apart = (z[:, None] - z).detach()
    eta = torch.exp(-apart.square().sum(2) / 2)
    slope = 1 / (1 + eta.mean(1))
    printed = -((slope[:, None] + slope) * height * eta)[..., None] * apart
    return tuple(
        float((found.mean(1) - truth).norm() / truth.norm())
        for found in (printed, printed / height)
    )


def stuck(seed: int) -> tuple[float, float]:
    """(largest gradient of eq. 4 in B at B = 0, loss a little beside B = 0 less the loss there), for VA eq. 18."""
    net, x = Averaging(3, 2, 16, "tanh", 0.25).double(), numbers(seed, 20, 3)
    beside = numbers(seed + 1, *net.inner.weight.shape)

    def loss(B):
        z = functional_call(net, {"inner.weight": B}, (x,))
        return generalized(z, z, lambda t: -t / TAU)

    zero = torch.zeros_like(beside, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss(zero), zero)
    return float(gradient.abs().max()), float(
        (loss(1e-2 * beside / beside.norm()) - loss(zero)).detach()
    )
