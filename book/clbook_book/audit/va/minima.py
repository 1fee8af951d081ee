"""What VA state about the loss alone, as far as `ls.exact` does not check it (VA Sections 2 and 3, Appendix A)."""

from __future__ import annotations

from collections.abc import Callable

import torch

from clbook.losses import nt_xent_mean
from clbook_book.audit.ls.exact import numbers


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
