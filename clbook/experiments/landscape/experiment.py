"""What the loss alone says about an embedding once the map is invariant (LS Sections 2-3, App. B; VA Sections 2-3).

An invariant map sends all views of a point to one place, so the loss is a function of n points on the sphere and
nothing else. This module puts them at K places, m copies at each, and measures loss, gradient and curvature. Curvatures
and gradients are those of n times the loss, so that they do not depend on the number of copies.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import time

import numpy as np
import torch
import torch.nn.functional as F
from scipy.linalg import helmert
from scipy.special import roots_jacobi

from clbook import data, theory
from clbook.losses import byol, generalized, nt_xent_mean, softplus, vicreg
from clbook.metrics import nccc
from clbook.runs import default_device, one_thread
from clbook.settings import Outcome, Settings, setting

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
    eta: str = setting("exp", "similarity of LS eq. 4: exp(-t/tau), 1/(1 + t/tau), exp(-(t/tau)^2)", choices=tuple(ETA))
    tolerance: float = setting(0.01, "relative distance that counts as at the plateau", low=1e-6, high=0.5, log=True)
    jitter: float = setting(0.0, "difference between two views of a point; 0 is an invariant map", low=0.0, high=3.0)
    seed: int = setting(0, "seed of random places and of the views", low=0, high=2**31)

    def check(self):
        if not 2 <= self.clusters * self.copies <= 256:
            raise self.error("copies", f"such that {self.clusters} times it is 2 to 256 points in all")
        if self.arrangement == "even" and self.clusters not in (allowed := counts(self.dim, 128)):
            raise self.error("clusters", f"one of {', '.join(map(str, allowed))} for even places in {self.dim} dimensions")

    def log_eta(self, t):
        """log eta of half squared distances `t`."""
        return ETA[self.eta](t, self.tau)

    def loss(self, z1, z2):
        """LS eq. 3 with this Psi and eta of two views (n, d)."""
        return generalized(z1, z2, self.log_eta, PSI[self.psi])


@dataclasses.dataclass
class Result(Outcome):
    """Losses, gradient and curvature of one configuration of n = K m points, and the curves that it lies on."""

    z: np.ndarray  # (n, d) points, copies of a place side by side
    loss_mean: float  # LS eq. 1 of the two views
    loss: float  # eq. 3 of the two views, with the chosen Psi and eta
    alignment: float  # mean |z1 - z2|^2 over the two views z1, z2 of a point
    uniformity: float  # log mean exp(-2 |a - b|^2) over pairs of one view, mean over the two views
    counts: np.ndarray  # (c,) numbers K of places that can be even in this dimension
    distances: np.ndarray  # (c,) their smallest squared distances
    curve_mean: np.ndarray  # (c,) eq. 1 for many copies
    curve_finite: np.ndarray  # (c,) eq. 1 for one copy; with the indicator on embedded points, for any number of copies
    curve: np.ndarray  # (c,) the chosen eq. 3
    plateau_mean: float  # eq. 1 of the uniform distribution
    plateau: float  # the chosen eq. 3 of the uniform distribution
    taus: np.ndarray  # (t,)
    thresholds: np.ndarray  # (t,) largest gap of even points on the circle within `tolerance` of the plateau
    threshold: float  # that at this tau
    threshold_count: int  # the number of points that has it
    gradient: np.ndarray  # (n, d) n times the gradient of eq. 3 at the invariant map
    tangential: np.ndarray  # (n,) its length along the sphere
    # Eigenvalues of n times the Riemannian Hessian of eq. 3 at the invariant map, ascending. As swapping two copies
    # changes nothing, these are all.
    whole: np.ndarray  # (K (d - 1),) in directions that move all copies of a place alike
    split: np.ndarray  # (K (m - 1) (d - 1),) in directions that keep the centre of each place's copies

    @property
    def eigenvalues(self) -> np.ndarray:
        """(n (d - 1),) `whole` and `split`, ascending."""
        return np.sort(np.concatenate([self.whole, self.split]))

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
    return F.normalize(torch.from_numpy(helmert(dim + 1).T), dim=1)  # a simplex: unit vectors of R^(dim + 1), projected


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


def curvature(config: Config, z):
    """n times the Riemannian Hessian of eq. 3 in orthonormal tangent coordinates, square, n (d - 1) rows.

    z -> (z + h) / |z + h| agrees with the sphere's geodesics to second order, so an ordinary Hessian in h will do.
    """
    basis = tangents(z)

    def moved(a):
        w = F.normalize(z + torch.einsum("nde,ne->nd", basis, a), dim=1)
        return config.loss(w, w)

    still = z.new_zeros(len(z), config.dim - 1)
    return len(z) * torch.autograd.functional.hessian(moved, still).reshape(still.numel(), -1)


def restricted(matrix, config):
    """(whole, split): `curvature` restricted to directions that move places whole, and to those that part copies."""
    mean_first = np.kron(np.eye(config.clusters), helmert(config.copies, full=True))  # row 0 of each block is the mean
    basis = torch.from_numpy(np.kron(mean_first, np.eye(config.dim - 1))).to(matrix)
    mixed = basis @ matrix @ basis.T
    whole = torch.arange(len(matrix), device=matrix.device) // (config.dim - 1) % config.copies == 0
    return [mixed[kept][:, kept] for kept in (whole, ~whole)]


def run(config: Config, *, progress=None, device=None) -> Result:
    """Measure one configuration on `device`; None takes CUDA when there is one.

    `progress(fraction, partial_result)` is called before the Hessian and after it; returning False stops there, with
    `stopped` set and, before the Hessian, NaN eigenvalues.
    """
    began, device = time.monotonic(), default_device(device)
    with one_thread():
        z = places(config).repeat_interleave(config.copies, 0).to(device)
        generator = torch.Generator().manual_seed(config.seed + 1)
        noise = torch.randn(2, *z.shape, generator=generator, dtype=z.dtype).to(device)
        z1, z2 = F.normalize(z + config.jitter * noise, dim=2)
        gradient = len(z) * torch.autograd.functional.jacobian(lambda w: config.loss(w, w), z)
        radial = (gradient * z).sum(1, keepdim=True) * z
        number, simclr = counts(config.dim, CURVE), config.replace(eta="exp")
        reached = np.array([reach(tau, config.tolerance) for tau in (*TAUS, config.tau)])
        thresholds = 4 * np.sin(np.pi / reached) ** 2
        result = Result(
            config=config, seconds=0.0, device=str(device), stopped=False, z=z.cpu().numpy(),
            loss_mean=float(nt_xent_mean(z1, z2, config.tau)), loss=float(config.loss(z1, z2)),
            alignment=float((z1 - z2).square().sum(1).mean()), uniformity=(uniformity(z1) + uniformity(z2)) / 2,
            counts=np.array(number),
            distances=np.array([min(torch.pdist(even(k, config.dim)).square().tolist(), default=math.nan) for k in number]),
            curve_mean=np.array([even_loss(k, simclr, "log(1+2t)") for k in number]),
            curve_finite=np.array([even_loss(k, simclr, "log(1+2t)", others_only=True) for k in number]),
            curve=np.array([even_loss(k, config, config.psi) for k in number]),
            plateau_mean=theory.sphere_plateau(config.tau, config.dim), plateau=uniform_loss(config, config.psi),
            taus=np.array(TAUS), thresholds=thresholds[:-1], threshold=thresholds[-1], threshold_count=int(reached[-1]),
            gradient=gradient.cpu().numpy(), tangential=(gradient - radial).norm(dim=1).cpu().numpy(),
            whole=np.full(config.clusters * (config.dim - 1), math.nan),
            split=np.full((len(z) - config.clusters) * (config.dim - 1), math.nan))

        def stop(fraction):
            result.seconds = time.monotonic() - began
            result.stopped = progress is not None and progress(fraction, result) is False
            return result.stopped

        if not stop(0.5):
            result.whole, result.split = (torch.linalg.eigvalsh(part).cpu().numpy()
                                          for part in restricted(curvature(config, z), config))
            stop(1.0)
    return result


SecondVariation = collections.namedtuple("SecondVariation", "autograd formula printed corrected curved")


def second_variation(z, h, tau) -> SecondVariation:
    """LS Lemma B.4's second variation at z (n, d) in direction h (n, d), eta(t) = exp(-t / tau), Psi(t) = log(1 + t/2).

    Returns floats: `autograd`, the second derivative itself along the line z + s h; `formula`, LS B.3's expression for
    any Psi; `printed`, LS eq. 21 as printed; `corrected`, that with G for G^2 and its missing factors; `curved`, the
    second derivative along the sphere, through (z + s h) / |z + s h|.
    """
    def along(path):
        def loss(s):
            return generalized(path(s), path(s), lambda t: -t / tau, lambda r: softplus(r - LOG2))
        return float(torch.autograd.functional.hessian(loss, z.new_zeros(())))

    apart, change = z[:, None] - z, h[:, None] - h
    weight = torch.exp(-apart.square().sum(2) / (2 * tau))  # at most 1
    inner, square = (apart * change).sum(2), change.square().sum(2)

    def reading(slope, bend):
        """LS B.3 with (n,) values of Psi' and Psi'' at G."""
        return float((bend * (weight * inner).mean(1) ** 2 / tau**2
                      + slope * (weight * (inner**2 / tau - square)).mean(1) / tau).mean())

    G = weight.mean(1)
    slope = torch.func.grad(lambda t: torch.log1p(t / 2).sum())
    bend = torch.func.grad(lambda t: slope(t).sum())
    return SecondVariation(along(lambda s: z + s * h), reading(slope(G), bend(G)),
                           reading(1 / (1 + G**2 / 2), -1 / (1 + G**2 / 2) ** 2), reading(1 / (2 + G), -1 / (2 + G) ** 2),
                           along(lambda s: F.normalize(z + s * h, dim=1)))


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
class Maps:
    """What `forget` measured on four maps."""

    names = ("three places, by class", "three places, shuffled", "everywhere, by class", "everywhere, shuffled")
    x: np.ndarray  # (n, 3) inputs, two coordinates and a brightness
    labels: np.ndarray  # (n,)
    z: np.ndarray  # (4, n, 2) embeddings
    losses: dict  # name of a loss -> (4,)
    accuracy: np.ndarray  # (4,) of the nearest class centre, on points not used for the centres


def forget(config: MapsConfig) -> Maps:
    """Send three clean clusters to the circle by four maps that ignore what views change (LS Prop. B.1, VA Prop. 2.1).

    A view redraws the brightness x_3; each map looks up the nearest data point in (x_1, x_2) and returns its target, so
    it is defined everywhere and invariant. The losses see two views, like in training.
    """
    generator = torch.Generator().manual_seed(config.seed)
    plane, labels = data.clusters(config.n, 3, 0.1, generator)
    plane = plane.double()
    brightness = torch.rand(3, config.n, 1, generator=generator, dtype=plane.dtype)
    three, circle, shuffle = even(3, 2)[labels], even(config.n, 2), torch.randperm(config.n, generator=generator)
    targets = torch.stack([three, three[shuffle], circle, circle[shuffle]])  # (4, n, 2)
    x, *_ = views = torch.cat([plane.expand(3, -1, -1), brightness], 2)  # (3, n, 3)
    z, z1, z2 = (targets[:, torch.cdist(view[:, :2], x[:, :2]).argmin(1)] for view in views)
    predictor = torch.tensor([1.0, 0.5], dtype=plane.dtype)  # a diagonal matrix
    losses = {"NT-Xent, eq. 1": lambda a, b: nt_xent_mean(a, b, config.tau),
              "eq. 3": lambda a, b: generalized(a, b, lambda t: -t / config.tau),
              "VICReg": vicreg, "BYOL, fixed predictor": lambda a, b: byol(a * predictor, b)}
    return Maps(x.numpy(), labels.numpy(), z.numpy(),
                {name: np.array([float(loss(*pair)) for pair in zip(z1, z2)]) for name, loss in losses.items()},
                np.array([nccc(a[::2], labels[::2], a[1::2], labels[1::2]) for a in z]))
