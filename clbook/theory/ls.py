"""What LS predict: when training separates classes, the loss of uniform points, and places on the circle."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, hyp0f1, ive

from clbook._arguments import (
    at_least,
    chance,
    choice,
    measured,
    number,
    positive,
    reals,
    require,
    whole,
)


def separation_condition(
    eps: float,
    tau: float,
    n: int,
    gamma: float,
    theta: float,
    sigma2: float,
    delta: float,
) -> tuple[float, float]:
    """Both sides of LS Theorem 4.3, condition (e): Theta sqrt(n) eps >> eps^3/tau + gamma + sigma^2 + delta.

    Args:
        eps: diameter of the start, condition (a), >= 0.
        tau: temperature, > 0.
        n: number of points, >= 1.
        gamma: augmentation inconsistency, condition (b), >= 0.
        theta: squared distance of the classes' mean gradients, condition (c), >= 0.
        sigma2: spread of the gradients around their class's mean, condition (c), >= 0.
        delta: largest operator norm of K(t) - K(0), condition (d), >= 0.

    Returns:
        (left, right). The paper gives no threshold for their ratio. Where we need one, ours is 1. What was not
        measured is NaN, and so is its side.

    Raises:
        ValueError: an argument out of range.
    """
    eps = at_least(0, "eps", eps)
    tau = positive("tau", tau)
    n = at_least(1, "n", n)
    gamma = measured("gamma", gamma)
    theta = measured("theta", theta)
    sigma2 = measured("sigma2", sigma2)
    delta = measured("delta", delta)

    left = theta * math.sqrt(n) * eps
    right = eps * eps * eps / tau + gamma + sigma2 + delta
    return left, right


def growth_rate(theta: float, tau: float, gradient: str = "partial") -> float:
    """Rate at which the gap between two equal clusters grows while |z_i - z_j|^2 << tau: Theta/(4 tau) (LS eq. 34).

    For views that scatter little against sqrt(tau), where a point's mean view stays at its cluster's mean, or its views
    stay at the point and sigma2 is small against theta.

    Args:
        theta: squared distance of the classes' mean gradients.
        tau: temperature, > 0.
        gradient: "partial", the gradient in z alone, which the proof uses; "full" also moves the views, which doubles
            the rate.

    Raises:
        ValueError: an argument out of range.
    """
    theta = number("theta", theta)
    tau = positive("tau", tau)
    of_a_view = {"partial": 1, "full": 2}
    return of_a_view[choice("gradient", gradient, of_a_view)] * theta / (4 * tau)


def circle_plateau(tau: float, factor: float = 2) -> float:
    """Loss of an invariant map whose points are uniform on the circle: log(1 + factor exp(-1/tau) I_0(1/tau)).

    Args:
        tau: temperature, > 0.
        factor: 2 for LS eq. 1 with many points, where both views of the others repel; 1 for LS eq. 3 with
            Psi(t) = log(1 + t).

    Raises:
        ValueError: an argument out of range.
    """
    return sphere_plateau(tau, 2, factor)


def sphere_plateau(tau: float, d: int, factor: float = 2) -> float:
    """Loss of an invariant map whose points are uniform on the unit sphere of R^d.

    It is log(1 + factor E exp((u - 1)/tau)), u as in `simplified_plateau`.

    Args:
        tau: temperature, > 0.
        d: dimension of the space around the sphere, >= 2.
        factor: as in `circle_plateau`.

    Raises:
        ValueError: an argument out of range.
    """
    factor = positive("factor", factor)
    repulsion = math.exp(simplified_plateau(tau, d))  # E exp((u - 1)/tau), at most 1
    return math.log1p(factor * repulsion)


def simplified_plateau(tau: float, d: int) -> float:
    """LS eq. 12 of an invariant map whose points are uniform on the unit sphere of R^d.

    It is log E exp((u - 1)/tau), where u is one coordinate of a uniform point. Its E exp(u/tau) is
    0F1(; d/2; 1/(4 tau^2)), which is
    Gamma(d/2) (2 tau)^(d/2 - 1) I_{d/2 - 1}(1/tau): I_0(1/tau) on the circle, tau sinh(1/tau) on the sphere of R^3.

    Args:
        tau: temperature, > 0.
        d: dimension of the space around the sphere, >= 2.

    Raises:
        ValueError: an argument out of range.
    """
    tau = positive("tau", tau)
    d = whole("d", d, 2)
    if tau < 1 / 500:  # where 0F1 comes near the end of float64
        return _cold_plateau(tau, d)
    mean = hyp0f1(d / 2, (0.5 / tau) ** 2)  # E exp(u/tau)
    return math.log(mean) - 1 / tau


def _cold_plateau(tau, d):
    """`simplified_plateau` for tau < 1/500, by Debye's expansion of I_v(1/tau), v = d/2 - 1 (DLMF 10.41.3).

    The expansion is in powers of 1/s, s = sqrt(v^2 + 1/tau^2) > 500, and three of them leave an error of 1e-12. All is
    written with t = tau s, so that nothing overflows however small tau is.
    """
    v = d / 2 - 1
    t = math.hypot(1, v * tau)
    p2 = (v * tau / t) ** 2
    first = (3 - 5 * p2) / 24
    second = (81 - 462 * p2 + 385 * p2**2) / 1152
    third = (30375 - 369603 * p2 + 765765 * p2**2 - 425425 * p2**3) / 414720
    small = tau / t  # 1/s
    correction = first * small + second * small**2 + third * small**3

    exponent = v * v * tau / (1 + t) - v * math.log((v * tau + t) / 2)
    powers = v * math.log(tau) + math.log(tau) / 2
    width = math.log(2 * math.pi * t) / 2
    return float(gammaln(d / 2)) + exponent + powers - width + math.log1p(correction)


# What follows from LS eq. 1 and 3 for K even places on the circle.


def threshold_slope(tolerance: float) -> float:
    """Slope in tau, as tau -> 0, of the smallest squared distance of K even points on the circle at the plateau.

    They are within the relative `tolerance` of it from K^2 = 2 ln(2/tolerance) / tau on, by 2 I_K / I_0 =
    2 exp(-K^2 tau / 2), and then 4 sin^2(pi / K) = 2 pi^2 tau / ln(2/tolerance).

    Args:
        tolerance: between 0 and 1.

    Raises:
        ValueError: an argument out of range.
    """
    tolerance = chance("tolerance", tolerance)
    return 2 * math.pi**2 / math.log(2 / tolerance)


def _aliases(count, tau):
    """Multiples K, 2K, ... of K = `count` and exp(-1/tau) I_{pK}(1/tau): what K even points mistake for a constant."""
    orders = count * np.arange(1, 2 + math.ceil(12 / (count * math.sqrt(tau)) + 40 / count))
    return orders, ive(orders, 1 / tau)


def even_similarity(count: int, tau: float) -> float:
    """Mean over j of exp((cos(2 pi j / K) - 1) / tau), K = `count`: exp(-1/tau) (I0 + 2 sum_{p >= 1} I_{pK})(1/tau).

    By exp(cos(u) / tau) = sum_k I_k(1/tau) exp(i k u), of which K even points see only the multiples of K.

    Args:
        count: number of places, >= 1.
        tau: temperature, >= 1e-6.

    Raises:
        ValueError: an argument out of range.
    """
    count = whole("count", count, 1)
    tau = at_least(1e-6, "tau", tau)  # the sum over p has some 12 / (K sqrt(tau)) terms
    _, aliases = _aliases(count, tau)
    return float(ive(0, 1 / tau) + 2 * aliases.sum())


def split_curvature(count: int, tau: float) -> float:
    """Curvature of LS eq. 3, Psi(t) = log(1 + t), on the circle where copies at one of K = `count` even places part.

    It is -4 Psi'(G) exp(-1/tau) sum_{p >= 1} (pK)^2 I_{pK}(1/tau) < 0, G the `even_similarity`: the eigenvalue of n
    times the Hessian in the angles, with K(m - 1) eigenvectors where each place holds m copies.

    Args, errors: as for `even_similarity`.
    """
    similarity = even_similarity(count, tau)
    orders, aliases = _aliases(count, tau)
    return float(-4 * (orders**2 * aliases).sum() / (1 + similarity))


# LS Theorem 4.3 as we repaired it.


def repaired_bound(
    k: ArrayLike,
    *,
    h: float,
    eps: float,
    gap: float,
    theta: float,
    kappa: float,
    rate: float,
    eta: ArrayLike,
    zeta: float,
) -> np.ndarray:
    """What the repaired theorem promises for z_i - z_j after k steps, i and j of different clusters.

    Args:
        k: number of steps, or an array of them.
        h: size of a step, > 0.
        eps: largest distance at the start, >= 0.
        gap: D(0), difference of the clusters' means at the start, > eta / ((1 - zeta) rate).
        theta: mean difference of the clusters' push, > 0.
        kappa: its smallest difference, 0 < kappa <= theta.
        rate: lambda, how fast the gap grows, > 0.
        eta: absolute error of a step, one number or one for each k.
        zeta: relative error of a step, >= 0 and < kappa / theta. Beyond it a pair may lose what the gap gains.

    Returns:
        The bound, of the shape of k.

    Raises:
        ValueError: an argument out of range.
    """
    k = reals("k", k)
    h = positive("h", h)
    eps = at_least(0, "eps", eps)
    gap = number("gap", gap)
    theta = positive("theta", theta)
    kappa = number("kappa", kappa)
    rate = positive("rate", rate)
    eta = reals("eta", eta)
    require(eta.shape in ((), k.shape), "eta", eta, "a number, or one for each k")
    require(at_least(0, "zeta", zeta) < kappa / theta, "zeta", zeta, "below kappa / theta")
    # How far the gap has grown by step k: it begins at `gap` and grows by the factor 1 + slower h at each.
    slower = (1 - zeta) * rate
    grown = (gap - eta / slower) * np.expm1(k * math.log1p(slower * h))
    # What any two points of different clusters gain of it, at least.
    share = (kappa / theta - zeta) / (1 - zeta)
    return -eps + share * grown - (1 - share) * eta * h * k
