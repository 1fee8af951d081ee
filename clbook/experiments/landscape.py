"""What the loss alone says about an embedding once the map is invariant (LS Sections 2-3, App. B; VA Sections 2-3).

An invariant map sends all views of a point to one place, so the loss is a function of n points on the sphere and
nothing else. This module puts them at K places, m copies at each, and measures loss, gradient and curvature. Curvatures
and gradients are those of n times the loss, so that they do not depend on the number of copies.
"""

from __future__ import annotations

import dataclasses
import math
import time

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import roots_jacobi

from clbook import data, theory
from clbook.dynamics import default_device, one_thread
from clbook.experiments.base import Outcome, Settings, setting
from clbook.losses import byol, generalized, nt_xent_mean, softplus, vicreg
from clbook.metrics import nccc

LOG2 = math.log(2)
# Psi of LS eq. 3, as functions of the logarithm r of its argument; r <= 0 for an invariant map, so exp(r) <= 1.
PSI = {"log(1+t)": softplus, "log(1+2t)": lambda r: softplus(r + LOG2), "log t": lambda r: r, "t": torch.exp}
# log eta of LS eq. 4, as functions of t = |a - b|^2 / 2 and tau.
ETA = {"exp": lambda t, tau: -t / tau, "rational": lambda t, tau: -torch.log1p(t / tau),
       "flat": lambda t, tau: -(t / tau).square()}
TAUS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)  # where the threshold is measured
CURVE, MOST = 64, 200  # numbers of places on the curve, and tried for the threshold
NEGATIVE = 1e-9  # an eigenvalue counts as negative below -NEGATIVE times the largest one in absolute value


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one configuration; the default is eight even places on the circle, four copies at each."""

    arrangement: str = setting("even", "where the places lie", choices=("even", "random"))
    clusters: int = setting(8, "number of places K", low=1, high=128)
    copies: int = setting(4, "points at each place, m", low=1, high=64)
    dim: int = setting(2, "embedding dimensions; 2 is the circle", low=2, high=8)
    tau: float = setting(0.2, "temperature", low=1e-3, high=10.0, log=True)
    psi: str = setting("log(1+t)", "Psi of LS eq. 3", choices=tuple(PSI))
    eta: str = setting("exp", "similarity of LS eq. 4: exp(-t/tau), 1/(1 + t/tau) or exp(-(t/tau)^2)",
                       choices=tuple(ETA))
    tolerance: float = setting(0.01, "relative distance from the plateau that counts as reaching it", low=1e-6,
                               high=0.5, log=True)
    jitter: float = setting(0.0, "size of the difference between two views of a point; 0 is an invariant map", low=0.0,
                            high=3.0)
    seed: int = setting(0, "seed of random places and of the views", low=0, high=2**31)

    def check(self):
        if self.clusters * self.copies > 256:
            raise self.error("copies", f"at most {256 // self.clusters} for {self.clusters} places: 256 points in all")
        if self.clusters * self.copies < 2:
            raise self.error("copies", "at least 2 for a single place: the loss compares points")
        if self.arrangement == "even" and self.clusters not in counts(self.dim, self.clusters):
            raise self.error("clusters", f"one of {', '.join(map(str, counts(self.dim, 128)))} for even places in "
                                         f"{self.dim} dimensions")

    def log_eta(self, t):
        """log eta of half squared distances `t`."""
        return ETA[self.eta](t, self.tau)

    def loss(self, z1, z2):
        """LS eq. 3 with this Psi and eta of two views (n, d)."""
        return generalized(z1, z2, self.log_eta, PSI[self.psi])


@dataclasses.dataclass
class Result(Outcome):
    """Losses, gradient and curvature of one configuration of n = K m points, and the curves that it lies on.

    Attributes:
        z: (n, d) points, copies of a place side by side.
        loss_mean, loss: LS eq. 1, and eq. 3 with the chosen Psi and eta, of the two views.
        alignment, uniformity: Wang and Isola's measures, mean |z1 - z2|^2 and log mean exp(-2 |a - b|^2), of the views.
        distance: smallest squared distance between places (NaN for one place).
        counts: (c,) numbers K of places that can be even in this dimension. distances: (c,) their smallest squared
            distances.
        curve_mean, curve_finite, curve: (c,) eq. 1 for many copies; eq. 1 for one copy, which is also what an indicator
            on embedded instead of data points gives for any number; the chosen eq. 3.
        plateau_mean, plateau: eq. 1 for many points and the chosen eq. 3 for the uniform distribution.
        taus, thresholds: (t,) temperatures, and the smallest squared distance at which K even points on the circle come
            within `tolerance` of the plateau of eq. 1 (relative); threshold: that at this tau, threshold_count: its K.
        gradient: (n, d) n times the gradient of eq. 3 at the invariant map; tangential: (n,) length of its tangential
            part.
        eigenvalues: ascending, (n (d - 1),) of n times the Riemannian Hessian of eq. 3 at the invariant map.
        whole: ascending, (K (d - 1),) of its restriction to directions that move all copies of a place alike.
        split: ascending, (K (m - 1) (d - 1),) of that to directions that keep the centre of each place's copies. With
            `whole` these are all eigenvalues, since swapping two copies changes nothing.
    """

    z: np.ndarray
    loss_mean: float
    loss: float
    alignment: float
    uniformity: float
    distance: float
    counts: np.ndarray
    distances: np.ndarray
    curve_mean: np.ndarray
    curve_finite: np.ndarray
    curve: np.ndarray
    plateau_mean: float
    plateau: float
    taus: np.ndarray
    thresholds: np.ndarray
    threshold: float
    threshold_count: int
    gradient: np.ndarray
    tangential: np.ndarray
    eigenvalues: np.ndarray
    whole: np.ndarray
    split: np.ndarray

    def negative(self, values) -> int:
        """How many of `values`, eigenvalues of this result, are negative beyond rounding."""
        return int((values < -NEGATIVE * np.abs(self.eigenvalues).max()).sum())


def counts(dim, most) -> list[int]:
    """Numbers of places up to `most` that lie evenly: all on the circle; else 1, 2, simplex and cross-polytope."""
    return [k for k in (range(1, most + 1) if dim == 2 else (1, 2, dim + 1, 2 * dim)) if k <= most]


def even(count, dim):
    """(count, dim) even places on the unit sphere, float64; `count` as `counts` allows."""
    if dim == 2:
        angle = 2 * math.pi / count * torch.arange(count, dtype=torch.float64)
        return torch.stack([angle.cos(), angle.sin()], 1)
    axes = torch.eye(dim, dtype=torch.float64)
    if count <= 2 or count == 2 * dim:
        return torch.cat([axes[:(count + 1) // 2], -axes[:count // 2]])
    corner = (1 - math.sqrt(dim + 1)) / dim  # equidistant from the unit vectors, on the far side of their mean
    simplex = torch.cat([axes, torch.full((1, dim), corner, dtype=torch.float64)])
    return F.normalize(simplex - simplex.mean(0), dim=1)


def places(config: Config):
    """(K, d) places of a configuration, float64."""
    if config.arrangement == "even":
        return even(config.clusters, config.dim)
    generator = torch.Generator().manual_seed(config.seed)
    return F.normalize(torch.randn(config.clusters, config.dim, generator=generator, dtype=torch.float64), dim=1)


def even_loss(count, config, psi, others_only=False):
    """LS eq. 3 of an invariant map onto `count` even places with equal weight; all anchors see the same.

    With Psi(t) = log(1 + 2t) it is eq. 1 for many copies of each place. With `others_only` the anchor's own place is
    left out, as an indicator on embedded points would do.
    """
    place = even(count, config.dim)
    log_weights = config.log_eta((place - place[0]).square().sum(1) / 2)
    return float(PSI[psi](torch.logsumexp(log_weights[int(others_only):], 0) - math.log(count)))


def uniform_loss(config, psi):
    """LS eq. 3 of an invariant map onto the uniform distribution on the sphere, by Gauss quadrature over cos(angle)."""
    u, weight = map(torch.tensor, roots_jacobi(600, (config.dim - 3) / 2, (config.dim - 3) / 2))
    return float(PSI[psi](torch.logsumexp(config.log_eta(1 - u) + weight.log() - weight.sum().log(), 0)))


def reach(tau, tolerance) -> int:
    """Smallest number of even points on the circle whose eq. 1 (many copies) is within `tolerance` of its plateau."""
    config, plateau = Config(tau=tau), theory.circle_plateau(tau)
    return next(k for k in range(1, MOST + 1) if even_loss(k, config, "log(1+2t)") <= (1 + tolerance) * plateau)


def tangents(z):
    """(n, d, d - 1) orthonormal bases of the tangent spaces of the sphere at z (n, d); equal points get equal bases."""
    return torch.linalg.svd(z[:, None])[2][:, 1:].mT


def uniformity(z):
    """log of the mean of exp(-2 |z_i - z_j|^2) over pairs i < j (Wang and Isola 2020, Section 4.1)."""
    return float(torch.logsumexp(-2 * torch.pdist(z).square(), 0) - math.log(len(z) * (len(z) - 1) / 2))


def hessian(function, start):
    """(p, p) Hessian of a scalar function of a tensor at `start`, any shape with p entries."""
    flat = torch.autograd.functional.hessian(function, start)
    return flat.reshape(start.numel(), start.numel())


def curvature(config: Config, z):
    """n times the Riemannian Hessian of eq. 3 in orthonormal tangent coordinates, square, n (d - 1) rows.

    z -> (z + h) / |z + h| agrees with the sphere's geodesics to second order, so an ordinary Hessian in h will do.
    """
    basis = tangents(z)

    def moved(a):
        w = F.normalize(z + torch.einsum("nde,ne->nd", basis, a), dim=1)
        return config.loss(w, w)

    return len(z) * hessian(moved, torch.zeros(len(z), config.dim - 1, dtype=z.dtype, device=z.device))


def restricted(matrix, config):
    """(whole, split): `curvature` restricted to directions that move places whole, and to those that part copies."""
    m, k = config.copies, config.dim - 1
    one = torch.eye(m, dtype=matrix.dtype, device=matrix.device)
    one[:, 0] = 1
    mix = torch.linalg.qr(one)[0]  # orthonormal; the first column is the mean over copies, up to sign
    mixed = torch.einsum("au,iajbcd,bv->iujvcd", mix,
                         matrix.reshape(config.clusters, m, k, config.clusters, m, k).permute(0, 1, 3, 4, 2, 5), mix)
    mixed = mixed.permute(0, 1, 4, 2, 3, 5)  # (K, m, k, K, m, k)
    whole, split = mixed[:, :1, :, :, :1], mixed[:, 1:, :, :, 1:]
    return [part.reshape(2 * (math.prod(part.shape[:3]),)) for part in (whole, split)]


def run(config: Config, *, progress=None, device=None) -> Result:
    """Measure one configuration.

    Args:
        config: the settings.
        progress: `progress(fraction, partial_result)`, called before the Hessian and after it; returning False stops
            there: a result without the Hessian has NaN eigenvalues and `stopped` set.
        device: a torch device; None takes CUDA when there is one.
    """
    began, device = time.monotonic(), default_device(device)
    with one_thread():
        place = places(config)
        z = place.repeat_interleave(config.copies, 0).to(device).requires_grad_()
        generator = torch.Generator().manual_seed(config.seed + 1)
        noise = torch.randn(2, *z.shape, generator=generator, dtype=z.dtype).to(device)
        z1, z2 = F.normalize(z.detach() + config.jitter * noise, dim=2)
        gradient = len(z) * torch.autograd.grad(config.loss(z, z), z)[0]
        z = z.detach()
        radial = (gradient * z).sum(1, keepdim=True) * z
        number = np.array(counts(config.dim, CURVE))
        simclr = config.replace(eta="exp")
        reached = np.array([reach(tau, config.tolerance) for tau in (*TAUS, config.tau)])
        thresholds = 4 * np.sin(np.pi / reached) ** 2
        result = Result(
            config=config, seconds=0.0, device=str(device), stopped=False, z=z.cpu().numpy(),
            loss_mean=float(nt_xent_mean(z1, z2, config.tau)), loss=float(config.loss(z1, z2)),
            alignment=float((z1 - z2).square().sum(1).mean()), uniformity=(uniformity(z1) + uniformity(z2)) / 2,
            distance=float(torch.pdist(place).min() ** 2) if len(place) > 1 else math.nan,
            counts=number, distances=np.array([nearest(k, config.dim) for k in number]),
            curve_mean=np.array([even_loss(k, simclr, "log(1+2t)") for k in number]),
            curve_finite=np.array([even_loss(k, simclr, "log(1+2t)", others_only=True) for k in number]),
            curve=np.array([even_loss(k, config, config.psi) for k in number]),
            plateau_mean=theory.sphere_plateau(config.tau, config.dim), plateau=uniform_loss(config, config.psi),
            taus=np.array(TAUS), thresholds=thresholds[:-1], threshold=float(thresholds[-1]),
            threshold_count=int(reached[-1]), gradient=gradient.cpu().numpy(),
            tangential=(gradient - radial).norm(dim=1).cpu().numpy(),
            eigenvalues=np.full(len(z) * (config.dim - 1), math.nan),
            whole=np.full(config.clusters * (config.dim - 1), math.nan),
            split=np.full(config.clusters * (config.copies - 1) * (config.dim - 1), math.nan))
        result.seconds = time.monotonic() - began
        if progress is not None and progress(0.5, result) is False:
            return dataclasses.replace(result, stopped=True)
        matrix = curvature(config, z)
        parts = [torch.linalg.eigvalsh(part).cpu().numpy() for part in restricted(matrix, config)]
        result.whole, result.split = parts
        result.eigenvalues = np.sort(np.concatenate(parts))
    result.seconds = time.monotonic() - began
    result.stopped = progress is not None and progress(1.0, result) is False
    return result


def nearest(count, dim) -> float:
    """Smallest squared distance between `count` even places; NaN for one."""
    return float(torch.pdist(even(count, dim)).min() ** 2) if count > 1 else math.nan


@dataclasses.dataclass
class SecondVariation:
    """The second variation of LS Lemma B.4 in one direction h, along the straight line f + s h, four times.

    Attributes:
        autograd: the second derivative itself, Psi(t) = log(1 + t/2). formula: LS B.3's expression for any Psi and eta.
        printed: LS eq. 21 as printed. corrected: eq. 21 with G for G^2 and its missing factors.
        curved: along the sphere instead, through (f + s h) / |f + s h|.
    """

    autograd: float
    formula: float
    printed: float
    corrected: float
    curved: float


def second_variation(z, h, tau) -> SecondVariation:
    """All readings of LS Lemma B.4's second variation at z (n, d) in direction h (n, d), eta(t) = exp(-t / tau)."""
    def along(path):
        s = torch.zeros((), dtype=z.dtype, requires_grad=True)
        loss = generalized(path(s), path(s), lambda t: -t / tau, lambda r: softplus(r - LOG2))
        (first,) = torch.autograd.grad(loss, s, create_graph=True)
        return float(torch.autograd.grad(first, s)[0])

    apart, change = z[:, None] - z, h[:, None] - h
    weight = torch.exp(-apart.square().sum(2) / (2 * tau))  # at most 1
    inner, square = (apart * change).sum(2), change.square().sum(2)
    G = weight.mean(1)
    slope, bend = 0.5 / (1 + G / 2), -0.25 / (1 + G / 2) ** 2  # Psi' and Psi''
    formula = (bend * (-weight * inner / tau).mean(1) ** 2
               + slope * (weight * inner**2 / tau**2 - weight * square / tau).mean(1)).mean()

    def eq21(c, factors):
        one, two, three = factors
        return float((-one / tau**2 / (1 + c) ** 2 * (weight * inner).mean(1) ** 2
                      + two / tau**2 / (1 + c) * (weight * inner**2).mean(1)
                      - three / tau / (1 + c) * (weight * square).mean(1)).mean())

    return SecondVariation(along(lambda s: z + s * h), float(formula), eq21(G**2 / 2, (1, 1, 1)),
                           eq21(G / 2, (1 / 4, 1 / 2, 1 / 2)), along(lambda s: F.normalize(z + s * h, dim=1)))


@dataclasses.dataclass(frozen=True)
class MapsConfig(Settings):
    """Settings of four invariant maps from three clean clusters to the circle."""

    n: int = setting(120, "number of points, all classes together", low=6, high=600)
    tau: float = setting(0.2, "temperature", low=1e-3, high=10.0, log=True)
    seed: int = setting(0, "seed of the data, the views and the shuffled maps", low=0, high=2**31)

    def check(self):
        if self.n % 3:
            raise self.error("n", "a multiple of 3, so that the three classes are equal")


@dataclasses.dataclass
class Maps(Outcome):
    """What `forget` measured on four maps: (three places, everywhere) x (by class, shuffled), in `names`' order.

    Attributes:
        x: (n, 3) inputs, two coordinates and a brightness. labels: (n,). z: (4, n, 2) embeddings.
        losses: name of a loss -> (4,). accuracy: (4,) of the nearest class centre, on points not used for the centres.
    """

    names: tuple
    x: np.ndarray
    labels: np.ndarray
    z: np.ndarray
    losses: dict
    accuracy: np.ndarray


def forget(config: MapsConfig, *, progress=None, device=None) -> Maps:
    """Send three clean clusters to the circle by four maps that ignore what views change (LS Prop. B.1, VA Prop. 2.1).

    A view redraws the brightness x_3; each map looks up the nearest data point in (x_1, x_2) and returns its target, so
    it is defined everywhere and invariant. The losses see two views, like in training.
    """
    began, device = time.monotonic(), default_device(device)
    generator = torch.Generator().manual_seed(config.seed)
    plane, labels = data.clusters(config.n, 3, 0.1, generator)
    plane = plane.double()
    views = [torch.cat([plane, torch.rand(config.n, 1, generator=generator, dtype=plane.dtype)], 1) for _ in range(3)]
    three, circle = even(3, 2)[labels], even(config.n, 2)
    shuffle = torch.randperm(config.n, generator=generator)
    targets = {"three places, by class": three, "three places, shuffled": three[shuffle],
               "everywhere, by class": circle, "everywhere, shuffled": circle[shuffle]}
    x, first, second = (view.to(device) for view in views)
    predictor = torch.tensor([[1.0, 0.0], [0.0, 0.5]], dtype=plane.dtype, device=device)
    rows, accuracy = [], []
    for target in targets.values():
        z, z1, z2 = (target.to(device)[torch.cdist(v[:, :2], x[:, :2]).argmin(1)] for v in (x, first, second))
        rows.append({"NT-Xent, eq. 1": nt_xent_mean(z1, z2, config.tau),
                     "eq. 3": generalized(z1, z2, lambda t: -t / config.tau),
                     "VICReg": vicreg(z1, z2), "BYOL, fixed predictor": byol(z1 @ predictor, z2)})
        accuracy.append(nccc(z[::2], labels[::2], z[1::2], labels[1::2]))
    result = Maps(config, time.monotonic() - began, str(device), False, tuple(targets), x.cpu().numpy(), labels.numpy(),
                  torch.stack(list(targets.values())).numpy(),
                  {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}, np.array(accuracy))
    result.stopped = progress is not None and progress(1.0, result) is False
    return result
