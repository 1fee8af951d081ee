"""What the loss alone says about an embedding once the map is invariant (LS Sections 2-3, App. B; VA Sections 2-3).

An invariant map sends all views of a point to one place, so the loss is a function of n points on the sphere and
nothing else. This module puts them at K places, m copies at each, and measures loss, gradient and curvature. Curvatures
and gradients are those of n times the loss, so that they do not depend on the number of copies.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from scipy.linalg import helmert
from torch import Tensor

from clbook import metrics
from clbook.experiments.landscape.curves import (
    ETA,
    PSI,
    Curves,
    Thresholds,
    counts,
    curves_at,
    even,
    thresholds_at,
)
from clbook.losses import generalized, nt_xent_mean
from clbook.training.loop import default_device, one_thread
from clbook.training.settings import Outcome, Settings, seed_of, setting
from clbook.training.streams import stream

PLACES, VIEWS = range(2)  # purposes of the streams of random numbers
# An eigenvalue counts as negative below -NEGATIVE times the largest one in absolute value.
NEGATIVE = 1e-9


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one configuration; the default is eight even places on the circle, four copies at each."""

    arrangement: str = setting("even", "where the places lie", choices=("even", "random"))
    clusters: int = setting(8, "number of places K", low=1, high=128)
    copies: int = setting(4, "points at each place, m", low=1, high=64)
    dim: int = setting(2, "embedding dimensions; 2 is the circle", low=2, high=8)
    tau: float = setting(0.2, "temperature", low=1e-3, high=10.0, log=True)
    psi: str = setting("log(1+t)", "Psi of LS eq. 3", choices=tuple(PSI))
    eta: str = setting(
        "exp",
        "similarity of LS eq. 4: exp(-t/tau), 1/(1 + t/tau), exp(-(t/tau)^2)",
        choices=tuple(ETA),
    )
    tolerance: float = setting(
        0.01, "relative distance that counts as at the plateau", low=1e-6, high=0.5, log=True
    )
    jitter: float = setting(
        0.0, "difference between two views of a point; 0 is an invariant map", low=0.0, high=3.0
    )
    seed: int = seed_of("random places and of the views", each=False)

    def check(self):
        if not 2 <= self.clusters * self.copies <= 256:
            raise self.error(
                "copies", f"such that {self.clusters} times it is 2 to 256 points in all"
            )
        allowed = counts(self.dim, 128)
        if self.arrangement == "even" and self.clusters not in allowed:
            listed = ", ".join(map(str, allowed))
            raise self.error(
                "clusters", f"one of {listed} for even places in {self.dim} dimensions"
            )

    def log_eta(self, t: Tensor) -> Tensor:
        """log eta of half squared distances `t`."""
        return ETA[self.eta](t, self.tau)

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """LS eq. 3 with this Psi and eta of two views (..., n, d): (...)."""
        return generalized(z1, z2, self.log_eta, PSI[self.psi])


@dataclasses.dataclass
class Result(Outcome):
    """Losses, gradient and curvature of one configuration of n = K m points, and the curves that it lies on.

    Attributes:
        z: (n, d) points, copies of a place side by side.
        loss_mean: LS eq. 1 of the two views.
        loss: eq. 3 of the two views, with the chosen Psi and eta.
        alignment: mean |z1 - z2|^2 over the two views z1, z2 of a point.
        uniformity: log mean exp(-2 |a - b|^2) over pairs of one view, mean over the two views.
        gradient: (n, d) n times the gradient of eq. 3 at the invariant map.
        tangential: (n,) its length along the sphere.
        whole: (K (d - 1),) eigenvalues, ascending, of n times the Riemannian Hessian of eq. 3 at the invariant map, in
            directions that move all copies of a place alike.
        split: (K (m - 1) (d - 1),) its other eigenvalues, ascending, in directions that keep the centre of each
            place's copies. As swapping two copies changes nothing, these are all.
        curves: the loss over K.
        thresholds: where it levels off.
    """

    z: np.ndarray
    loss_mean: float
    loss: float
    alignment: float
    uniformity: float
    gradient: np.ndarray
    tangential: np.ndarray
    whole: np.ndarray
    split: np.ndarray
    curves: Curves
    thresholds: Thresholds

    @property
    def eigenvalues(self) -> np.ndarray:
        """(n (d - 1),) `whole` and `split`, ascending."""
        return np.sort(np.concatenate([self.whole, self.split]))

    def negative(self, values: np.ndarray) -> int:
        """How many of `values`, eigenvalues of this result, are negative beyond rounding."""
        return int((values < -NEGATIVE * np.abs(self.eigenvalues).max()).sum())


def places(config: Config) -> Tensor:
    """(K, d) places of a configuration, float64."""
    if config.arrangement == "even":
        return even(config.clusters, config.dim)
    draws = stream(config.seed, PLACES)
    random = torch.randn(config.clusters, config.dim, generator=draws, dtype=torch.float64)
    return F.normalize(random, dim=1)


def tangents(z: Tensor) -> Tensor:
    """(n, d, d - 1) orthonormal bases of the tangent spaces of the sphere at z (n, d); equal points get equal bases."""
    _, _, rows = torch.linalg.svd(z[:, None])
    return rows[:, 1:].mT


def gradient(config: Config, z: Tensor) -> Tensor:
    """(n, d) n times the gradient of eq. 3 at the invariant map with values z (n, d)."""
    slope = torch.autograd.functional.jacobian(lambda w: config.loss(w, w), z)
    return len(z) * slope


def curvature(config: Config, z: Tensor) -> Tensor:
    """n times the Riemannian Hessian of eq. 3 in orthonormal tangent coordinates, square, n (d - 1) rows.

    z -> (z + h) / |z + h| agrees with the sphere's geodesics to second order, so an ordinary Hessian in h will do.
    """
    basis = tangents(z)

    def moved(a):
        h = torch.einsum("nde,ne->nd", basis, a)
        w = F.normalize(z + h, dim=1)
        return config.loss(w, w)

    still = z.new_zeros(len(z), config.dim - 1)
    hessian = torch.autograd.functional.hessian(moved, still)
    return len(z) * hessian.reshape(still.numel(), -1)


def restricted(matrix: Tensor, config: Config) -> tuple[Tensor, Tensor]:
    """(whole, split): `curvature` restricted to directions that move places whole, and to those that part copies."""
    tangential = config.dim - 1  # directions of each point
    of_copies = helmert(config.copies, full=True)
    mean_first = np.kron(np.eye(config.clusters), of_copies)  # row 0 of each block is the mean
    basis = torch.from_numpy(np.kron(mean_first, np.eye(tangential))).to(matrix)
    mixed = basis @ matrix @ basis.T
    whole = np.arange(len(matrix)) // tangential % config.copies == 0
    split = ~whole
    return mixed[whole][:, whole], mixed[split][:, split]


def views(config: Config, z: Tensor) -> Tensor:
    """(2, n, d) the two views of the points z, `jitter` apart; equal to z where that is 0."""
    noise = torch.randn(2, *z.shape, generator=stream(config.seed, VIEWS), dtype=z.dtype)
    return F.normalize(z + config.jitter * noise.to(z.device), dim=2)


def of_views(config: Config, z: Tensor) -> dict[str, float]:
    """What a Result says of the two views of the points z (n, d)."""
    z1, z2 = views(config, z)
    squares = (z1 - z2).square().sum(1)
    uniformity = metrics.uniformity(z1) + metrics.uniformity(z2)
    return {
        "loss_mean": float(nt_xent_mean(z1, z2, config.tau)),
        "loss": float(config.loss(z1, z2)),
        "alignment": float(squares.mean()),
        "uniformity": uniformity / 2,
    }


def run(config: Config, *, progress: Callable | None = None, device=None) -> Result:
    """Measure one configuration on `device`; None takes CUDA when there is one.

    `progress(fraction, partial_result)` is called before the Hessian and after it; returning False stops there, with
    `stopped` set and, before the Hessian, NaN eigenvalues.
    """
    began, device = time.monotonic(), default_device(device)
    with one_thread():
        z = places(config).repeat_interleave(config.copies, 0).to(device)
        measured = of_views(config, z)
        slope = gradient(config, z)
        tangential = (slope - (slope * z).sum(1, keepdim=True) * z).norm(dim=1)
        whole = config.clusters * (config.dim - 1)
        split = (config.copies - 1) * whole
        curvatures = {"whole": np.full(whole, math.nan), "split": np.full(split, math.nan)}
        curves = curves_at(config.tau, config.psi, config.eta, config.dim)
        thresholds = thresholds_at(config.tau, config.tolerance)
        points = z.cpu().numpy()
        result = Result(
            config=config,
            seconds=0.0,
            device=str(device),
            stopped=False,
            z=points,
            **measured,
            gradient=slope.cpu().numpy(),
            tangential=tangential.cpu().numpy(),
            **curvatures,
            curves=curves,
            thresholds=thresholds,
        )

        def told(fraction):
            result.seconds = time.monotonic() - began
            result.stopped = progress is not None and progress(fraction, result) is False
            return result.stopped

        if not told(0.5):
            parts = restricted(curvature(config, z), config)
            result.whole, result.split = (
                torch.linalg.eigvalsh(part).cpu().numpy() for part in parts
            )
            told(1.0)
    return result
