"""What the papers predict, one function a statement. Experiments, tests and chapters compare it with measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, ive

Rates = float | Sequence[float] | np.ndarray  # of all steps, or one for each


def separation_condition(
    eps: float, tau: float, n: int, gamma: float, theta: float, sigma2: float, delta: float
) -> tuple[float, float]:
    """Both sides of condition (e) of LS Theorem 4.3: Theta sqrt(n) eps >> eps^3/tau + gamma + sigma^2 + delta.

    Args:
        eps: diameter of the start, condition (a). tau: temperature. n: number of points.
        gamma: augmentation inconsistency, condition (b).
        theta, sigma2: squared distance of the classes' mean gradients and their spread, condition (c).
        delta: largest operator norm of K(t) - K(0), condition (d).

    Returns:
        (left, right). The paper gives no threshold for their ratio; ours is 1 where one is needed.
    """
    return theta * math.sqrt(n) * eps, eps**3 / tau + gamma + sigma2 + delta


def growth_rate(theta: float, tau: float, gradient: str = "partial") -> float:
    """Rate of growth of the gap between two equal clusters while all |z_i - z_j|^2 << tau (LS eq. 34): Theta/(4 tau).

    That is for the gradient in z alone ("partial"), which the proof uses. Back-propagation also moves the views
    ("full"), which doubles the rate.
    """
    return {"partial": 1, "full": 2}[gradient] * theta / (4 * tau)


def circle_plateau(tau: float, factor: float = 2) -> float:
    """Loss of an invariant map onto the uniform distribution on the circle: log(1 + factor exp(-1/tau) I0(1/tau)).

    factor 2: LS eq. 1 with many points (both views of the others repel). factor 1: LS eq. 3 with Psi(t) = log(1 + t).
    """
    return sphere_plateau(tau, 2, factor)


def sphere_plateau(tau: float, d: int, factor: float = 2) -> float:
    """`circle_plateau` on the unit sphere of R^d, d >= 2: log(1 + factor E exp((u - 1) / tau)).

    u is one coordinate of a uniform point.
    """
    return math.log1p(factor * math.exp(simplified_plateau(tau, d)))


def simplified_plateau(tau: float, d: int) -> float:
    """LS eq. 12 of an invariant map whose embedded distribution is uniform on the unit sphere of R^d, d >= 2.

    log E exp((u - 1) / tau) = log[Gamma(d/2) (2 tau)^(d/2 - 1) exp(-1/tau) I_{d/2 - 1}(1/tau)], u a uniform point's
    coordinate: log(exp(-1/tau) I0(1/tau)) on the circle, log((1 - exp(-2/tau)) tau / 2) on the sphere of R^3.
    """
    order = d / 2 - 1
    return gammaln(d / 2) + order * math.log(2 * tau) + math.log(ive(order, 1 / tau))


def fluctuation(B: int, T: int, delta: float) -> float:
    """epsilon_{B, delta} = sqrt(log(T B / delta) / (2 B)): how far the share of negatives may fall (SA Lemma 5)."""
    _within("B", B, B >= 1, ">= 1")
    _within("T", T, T >= 1, ">= 1")
    _within("delta", delta, 0 < delta < 1, "between 0 and 1")
    return math.sqrt(math.log(T * B / delta) / (2 * B))


def reweighting_bound(C: int, B: int, T: int, delta: float, tau: float) -> float:
    """Delta_{C, delta}(B; tau) = 2 exp(2/tau) s / (1 - s), s = 1/C + epsilon_{B, delta} (SA Sec. 3, eq. 14).

    Bounds |p - q|_1 for every anchor of T batches, p the softmax of CL and q of NSCL (SA Lemma 6), for similarities in
    [-1, 1]. C: classes of equal size. B: batch size. T: steps. delta: probability of failure. tau: temperature.
    Infinite where s >= 1, which SA excludes. Raises ValueError: an argument out of range.
    """
    _within("C", C, C >= 2, ">= 2")
    _within("tau", tau, 0 < tau < math.inf, "> 0")
    share = 1 / C + fluctuation(B, T, delta)
    return 2 * _exp(2 / tau) * share / (1 - share) if share < 1 else math.inf


delta = reweighting_bound  # SA's own name for it, which is also that of an argument: the probability of failure


def similarity_bound(C: int, B: int, T: int, eta: Rates, tau: float, delta: float) -> float:
    """SA Theorem 1, eq. 2: |Sigma - Sigma'|_F <= exp(S / (2 tau^2 B)) S Delta / (tau sqrt(B)), S = sum of eta.

    eta: a number or T of them, >= 0. The proof needs batches of distinct points; the rest as in `reweighting_bound`.
    """
    gap, S = reweighting_bound(C, B, T, delta, tau), total(eta, T)
    return _exp(S / (2 * tau**2 * B)) * S * gap / (tau * math.sqrt(B)) if S else 0.0


def triangle_bound(B: int, T: int, eta: Rates, tau: float) -> float:
    """2 sqrt(2) S / (tau sqrt(B)), S = sum of eta: how far apart any two runs of SA eq. 1 get, by Lemma 3 alone.

    SA Theorem 1 says more than this only while exp(S / (2 tau^2 B)) Delta < 2 sqrt(2).
    """
    _within("B", B, B >= 1, ">= 1")
    _within("tau", tau, 0 < tau < math.inf, "> 0")
    return 2 * math.sqrt(2) * total(eta, T) / (tau * math.sqrt(B))


def cka_lower_bound(drift: float, gram_norm: float) -> float:
    """(1 - rho) / (1 + rho), rho = drift / |H Sigma H|_F (SA Corollary 1); negative, so empty, for rho > 1."""
    _within("gram_norm", gram_norm, gram_norm > 0, "> 0")
    return 2 / (1 + drift / gram_norm) - 1


def rsa_lower_bound(drift: float, std: float, pairs: int) -> float:
    """(1 - r) / (1 + r), r = drift / (sqrt(pairs) std), std that of the N (N - 1) / 2 dissimilarities (SA Corollary 2).

    Its proof needs r <= 1: beyond, the correlation can be -1, below this.
    """
    _within("std", std, std > 0, "> 0")
    _within("pairs", pairs, pairs >= 1, ">= 1")
    return cka_lower_bound(drift, math.sqrt(pairs) * std)


def weight_bound(
    C: int, B: int, T: int, eta: Rates, tau: float, delta: float, G: float, beta: float
) -> float:
    """SA Theorem 2: G Delta (exp(beta S) - 1) / (beta tau), S = sum of eta: how far apart the two runs' weights get.

    G: largest norm of the gradient of a similarity in the weights. beta: smoothness of both batch losses, > 0.
    """
    _within("G", G, G > 0, "> 0")
    _within("beta", beta, beta > 0, "> 0")
    growth = beta * total(eta, T)
    gap = reweighting_bound(C, B, T, delta, tau)
    return G * gap * (math.expm1(growth) if growth < 709 else math.inf) / (beta * tau)


def _exp(x):
    return (
        math.exp(x) if x < 709 else math.inf
    )  # 709: the last whole number before float64 overflows


def total(eta: Rates, T: int) -> float:
    """The sum of T step sizes, given as one number or as T."""
    eta = np.asarray(eta, float)
    _within(
        "eta",
        eta.tolist(),
        eta.shape in ((), (T,)) and (eta >= 0).all() and np.isfinite(eta).all(),
        f"finite and >= 0, one number or {T}",
    )
    return float(eta.sum() if eta.ndim else T * eta)


def _within(name, value, holds, allowed):
    if not holds:
        raise ValueError(f"{name} = {value!r} is not allowed: {name} must be {allowed}")
