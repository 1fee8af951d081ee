"""Predictions of the papers as functions of their constants: LS on separation and plateaus, SA on CL against NSCL.

A prediction that needs a map or a training stands with the experiment that has it. All arguments are plain numbers, all
results are floats, and an argument out of range is a ValueError that names it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, hyp0f1

from clbook._arguments import (
    at_least,
    chance,
    choice,
    measured,
    number,
    positive,
    reals,
    refused,
    whole,
)

Rates = float | Sequence[float] | np.ndarray  # one step size for all steps, or one for each
LARGEST_EXPONENT = 709  # the last whole number whose exp is a float64


# LS: when training separates two classes.


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


# LS: the loss of an invariant map whose embedded distribution is uniform on the sphere.


def circle_plateau(tau: float, factor: float = 2) -> float:
    """Loss of such a map on the circle: log(1 + factor exp(-1/tau) I_0(1/tau)).

    Args:
        tau: temperature, > 0.
        factor: 2 for LS eq. 1 with many points, where both views of the others repel; 1 for LS eq. 3 with
            Psi(t) = log(1 + t).

    Raises:
        ValueError: an argument out of range.
    """
    return sphere_plateau(tau, 2, factor)


def sphere_plateau(tau: float, d: int, factor: float = 2) -> float:
    """Loss of such a map on the unit sphere of R^d: log(1 + factor E exp((u - 1)/tau)), u as in `simplified_plateau`.

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
    """LS eq. 12 of such a map on the unit sphere of R^d: log E exp((u - 1)/tau).

    u is one coordinate of a uniform point. Its E exp(u/tau) is 0F1(; d/2; 1/(4 tau^2)), which is
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


# SA: how far training by CL stays from training by NSCL.


def fluctuation(B: int, T: int, delta: float) -> float:
    """epsilon_{B, delta} = sqrt(log(T B / delta) / (2 B)): how far the share of negatives may fall (SA Lemma 5).

    Args:
        B: batch size, >= 1.
        T: number of steps, >= 1.
        delta: probability of failure, between 0 and 1.

    Raises:
        ValueError: an argument out of range.
    """
    B = at_least(1, "B", B)
    T = at_least(1, "T", T)
    log_of_ratio = math.log(T) + math.log(B) - math.log(chance("delta", delta))
    return math.sqrt(log_of_ratio / (2 * B))


def delta(
    C: float,
    B: int,
    T: int,
    delta: float,
    tau: float,
) -> float:
    """Delta_{C, delta}(B; tau) = 2 exp(2/tau) s / (1 - s), s = 1/C + epsilon_{B, delta} (SA Sec. 3, eq. 14).

    It bounds |p - q|_1 for every anchor of T batches, where p is the softmax of CL and q that of NSCL (SA Lemma 6).
    Similarities lie in [-1, 1].

    Args:
        C: number of classes, of equal size, >= 2.
        B: batch size, >= 1.
        T: number of steps, >= 1.
        delta: probability of failure, between 0 and 1.
        tau: temperature, > 0.

    Returns:
        The bound; infinite where s >= 1, which SA excludes.

    Raises:
        ValueError: an argument out of range.
    """
    C = at_least(2, "C", C)
    tau = positive("tau", tau)
    share = 1 / C + fluctuation(B, T, delta)  # of a batch: at most so much is of an anchor's class
    if share >= 1:
        return math.inf
    return 2 * _exp(2 / tau) * share / (1 - share)


_delta = delta  # for the functions below: their argument `delta` hides the name


def similarity_bound(
    C: float,
    B: int,
    T: int,
    eta: Rates,
    tau: float,
    delta: float,
) -> float:
    """|Sigma - Sigma'|_F <= exp(S / (2 tau^2 B)) S Delta / (tau sqrt(B)), S the sum of eta (SA Theorem 1, eq. 2).

    The proof needs batches of distinct points.

    Args:
        C, B, T, tau, delta: as in `delta`.
        eta: step sizes >= 0, one number or T.

    Raises:
        ValueError: an argument out of range.
    """
    gap = _delta(C, B, T, delta, tau)
    S = total(eta, T)
    if S == 0:
        return 0.0  # also where Delta is infinite
    growth = _exp(S / B / tau / tau / 2)
    return growth * S * gap / (tau * math.sqrt(B))


def triangle_bound(B: int, T: int, eta: Rates, tau: float) -> float:
    """2 sqrt(2) S / (tau sqrt(B)), S the sum of eta: how far apart any two runs of SA eq. 1 get, by Lemma 3 alone.

    SA Theorem 1 says more than this only while exp(S / (2 tau^2 B)) Delta < 2 sqrt(2).

    Args:
        B: batch size, >= 1.
        T: number of steps, >= 1.
        eta: step sizes >= 0, one number or T.
        tau: temperature, > 0.

    Raises:
        ValueError: an argument out of range.
    """
    B = at_least(1, "B", B)
    tau = positive("tau", tau)
    return 2 * math.sqrt(2) * total(eta, T) / (tau * math.sqrt(B))


def weight_bound(
    C: float,
    B: int,
    T: int,
    eta: Rates,
    tau: float,
    delta: float,
    G: float,
    beta: float,
) -> float:
    """G Delta (exp(beta S) - 1) / (beta tau), S the sum of eta: how far apart the weights get (SA Theorem 2).

    Args:
        C, B, T, tau, delta: as in `delta`.
        eta: step sizes >= 0, one number or T.
        G: largest norm of the gradient of a similarity in the weights, > 0.
        beta: smoothness of the loss of a batch, of CL and of NSCL, > 0.

    Raises:
        ValueError: an argument out of range.
    """
    G = positive("G", G)
    beta = positive("beta", beta)
    gap = _delta(C, B, T, delta, tau)
    S = total(eta, T)
    if S == 0:
        return 0.0  # also where Delta is infinite
    growth = math.expm1(beta * S) if beta * S < LARGEST_EXPONENT else math.inf
    return G * gap * growth / (beta * tau)


def cka_lower_bound(drift: float, gram_norm: float) -> float:
    """(1 - rho) / (1 + rho), rho = drift / |H Sigma H|_F (SA Corollary 1). Above rho = 1 it is negative, so empty.

    Args:
        drift: |Sigma - Sigma'|_F, >= 0.
        gram_norm: |H Sigma H|_F, > 0.

    Raises:
        ValueError: an argument out of range.
    """
    rho = measured("drift", drift) / positive("gram_norm", gram_norm)
    return 2 / (1 + rho) - 1  # the same, and -1 for an infinite rho


def rsa_lower_bound(drift: float, std: float, pairs: int) -> float:
    """(1 - r) / (1 + r), r = drift / (sqrt(pairs) std) (SA Corollary 2).

    The proof needs r <= 1. Beyond, the correlation can be -1, which is below this.

    Args:
        drift: |Sigma - Sigma'|_F, >= 0.
        std: standard deviation of the dissimilarities, > 0.
        pairs: how many there are, N (N - 1) / 2 for N points, >= 1.

    Raises:
        ValueError: an argument out of range.
    """
    std = positive("std", std)
    pairs = at_least(1, "pairs", pairs)
    return cka_lower_bound(drift, math.sqrt(pairs) * std)


def total(eta: Rates, T: int) -> float:
    """The sum of T step sizes.

    Args:
        eta: step sizes, finite and >= 0, one number for all or T of them.
        T: number of steps, >= 1.

    Raises:
        ValueError: an argument out of range.
    """
    T = at_least(1, "T", T)
    rates = reals("eta", eta)
    fits = rates.shape in ((), (T,))
    holds = fits and np.isfinite(rates).all() and (rates >= 0).all()
    if not holds:
        raise refused("eta", eta, f"finite and >= 0, one number or {T:g}")
    if rates.ndim == 0:
        return T * float(rates)
    return float(rates.sum())


def _exp(x):
    if x >= LARGEST_EXPONENT:
        return math.inf
    return math.exp(x)
