"""The loss of invariant maps onto K even places, as a curve over K: LS eq. 1 and 3, their plateaus and the thresholds.

None of it depends on a configuration of points: a curve is a function of (tau, psi, eta, dim), a threshold of (tau,
tolerance), with all K in one tensor.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from scipy.linalg import helmert
from scipy.special import roots_jacobi
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from clbook import theory
from clbook.losses import softplus

LOG2 = math.log(2)
# Psi of LS eq. 3, as functions of the logarithm r of its argument; r <= 0 for an invariant map, so exp(r) <= 1.
PSI = {
    "log(1+t)": softplus,
    "log(1+2t)": lambda r: softplus(r + LOG2),
    "log t": lambda r: r,
    "t": torch.exp,
}
# log eta of LS eq. 4, as functions of t = |a - b|^2 / 2 and tau; all are -inf at t = inf.
ETA = {
    "exp": lambda t, tau: -t / tau,
    "rational": lambda t, tau: -torch.log1p(t / tau),
    "flat": lambda t, tau: -(t / tau).square(),
}
# The Psi that makes eq. 3 of an invariant map eq. 1 for many copies of each place.
EQ1 = "log(1+2t)"
# Where the threshold is measured.
TAUS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
CURVE, MOST = 64, 200  # numbers of places on the curve, and tried for the threshold


@dataclasses.dataclass(frozen=True)
class Curves:
    """Losses of invariant maps onto K even places with equal weight, at one temperature, against K.

    Attributes:
        counts: (c,) numbers K of places that can be even in this dimension.
        distances: (c,) smallest squared distance of two of the places; NaN for one place.
        simclr: (c,) LS eq. 1 for many copies of each place.
        embedded: (c,) eq. 1 for one copy; with the indicator on embedded points, for any number of copies.
        chosen: (c,) eq. 3 with the chosen Psi and eta.
        simclr_plateau, chosen_plateau: eq. 1 and the chosen eq. 3 of the uniform distribution on the sphere.
    """

    counts: np.ndarray
    distances: np.ndarray
    simclr: np.ndarray
    embedded: np.ndarray
    chosen: np.ndarray
    simclr_plateau: float
    chosen_plateau: float


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """The largest gap of even points on the circle whose eq. 1 is within a tolerance of its plateau.

    Attributes:
        taus: (t,) temperatures. gaps: (t,) the threshold at each: squared distance of neighbours.
        gap, count: the threshold at the configuration's own temperature, and the number of points that has it.
    """

    taus: np.ndarray
    gaps: np.ndarray
    gap: float
    count: int


def counts(dim: int, most: int) -> list[int]:
    """Numbers of places up to `most` that lie evenly: all on the circle; else 1, 2, simplex and cross-polytope."""
    if dim == 2:
        return list(range(1, most + 1))
    return [k for k in (1, 2, dim + 1, 2 * dim) if k <= most]


def even(count: int, dim: int) -> Tensor:
    """(count, dim) even places on the unit sphere, float64; `count` as `counts` allows."""
    if dim == 2:
        angle = 2 * math.pi / count * torch.arange(count, dtype=torch.float64)
        return torch.stack([angle.cos(), angle.sin()], 1)
    axes = torch.eye(dim, dtype=torch.float64)
    if count <= 2 or count == 2 * dim:
        return torch.cat([axes[: (count + 1) // 2], -axes[: count // 2]])
    # A simplex: unit vectors of R^(dim + 1), projected.
    return F.normalize(torch.from_numpy(helmert(dim + 1).T), dim=1)


@functools.cache
def _apart(numbers: tuple[int, ...], dim: int) -> Tensor:
    """(c, most) t = |a - b|^2 / 2 from the first of each number of even places to all of them.

    A row with fewer places is filled with inf, which has no weight.
    """
    rows = []
    for count in numbers:
        places = even(count, dim)
        rows.append((places - places[0]).square().sum(1) / 2)
    return pad_sequence(rows, batch_first=True, padding_value=math.inf)


def even_loss(
    numbers: Sequence[int],
    tau: float | Tensor,
    psi: str = "log(1+t)",
    eta: str = "exp",
    dim: int = 2,
    others_only: bool = False,
) -> Tensor:
    """LS eq. 3 of invariant maps onto K even places with equal weight, K in `numbers`; all anchors see the same.

    Args:
        numbers: the K, as `counts` allows. tau: a number or (..., 1, 1). psi, eta: keys of `PSI` and `ETA`.
        others_only: leave the anchor's own place out, as an indicator on embedded points would do.

    Returns:
        (c,) or (..., c), float64.
    """
    t = _apart(tuple(numbers), dim)
    if others_only:
        t = t[:, 1:]
    log_weights = ETA[eta](t, tau)
    size = torch.tensor(list(numbers), dtype=log_weights.dtype)
    return PSI[psi](torch.logsumexp(log_weights, -1) - size.log())


def uniform_loss(tau: float, psi: str = "log(1+t)", eta: str = "exp", dim: int = 2) -> float:
    """LS eq. 3 of an invariant map onto the uniform distribution on the sphere, by Gauss quadrature over cos(angle)."""
    power = (dim - 3) / 2
    u, weight = map(torch.tensor, roots_jacobi(600, power, power))
    log_weights = ETA[eta](1 - u, tau) + weight.log()
    total = weight.sum().log()
    log_mean = torch.logsumexp(log_weights - total, 0)
    return float(PSI[psi](log_mean))


def curves_at(tau: float, psi: str, eta: str, dim: int) -> Curves:
    """The curves over K <= 64 at temperature tau in `dim` dimensions; psi and eta belong to the chosen eq. 3."""
    numbers = counts(dim, CURVE)
    nearest = 2 * _apart(tuple(numbers), dim)[:, 1:].amin(1)
    distances = nearest.masked_fill(nearest.isinf(), math.nan)
    simclr = even_loss(numbers, tau, EQ1, dim=dim)
    embedded = even_loss(numbers, tau, EQ1, dim=dim, others_only=True)
    chosen = even_loss(numbers, tau, psi, eta, dim)
    return Curves(
        counts=np.array(numbers),
        distances=distances.numpy(),
        simclr=simclr.numpy(),
        embedded=embedded.numpy(),
        chosen=chosen.numpy(),
        simclr_plateau=theory.sphere_plateau(tau, dim),
        chosen_plateau=uniform_loss(tau, psi, eta, dim),
    )


@functools.cache
def _approach(taus: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Eq. 1 (many copies) of 1 .. MOST even points on the circle, (t, MOST), and its plateau, (t, 1), at `taus`."""
    plateau = torch.tensor([theory.circle_plateau(tau) for tau in taus], dtype=torch.float64)
    tau = torch.tensor(taus, dtype=torch.float64)[:, None, None]
    return even_loss(range(1, MOST + 1), tau, EQ1), plateau[:, None]


def reach(taus: Sequence[float], tolerance: float) -> np.ndarray:
    """(t,) smallest numbers of even points on the circle whose eq. 1 is within `tolerance` of its plateau at each tau.

    Raises ValueError: where no number up to MOST is.
    """
    losses, plateau = _approach(tuple(taus))
    within = losses <= (1 + tolerance) * plateau
    if not within.any(1).all():
        raise ValueError(
            f"tolerance = {tolerance:g} is not reached by {MOST} points at each of taus = {tuple(taus)}"
        )
    return within.int().argmax(1).numpy() + 1


def thresholds_at(tau: float, tolerance: float) -> Thresholds:
    """The thresholds at `TAUS` and at temperature tau, for one tolerance."""
    many = reach(TAUS, tolerance)
    (own,) = reach((tau,), tolerance)
    gaps = 4 * np.sin(np.pi / many) ** 2
    gap = 4 * np.sin(np.pi / own) ** 2
    return Thresholds(
        taus=np.array(TAUS),
        gaps=gaps,
        gap=float(gap),
        count=int(own),
    )
