"""What SA predict: how far training by CL stays from training by NSCL."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clbook._arguments import at_least, chance, measured, positive, reals, refused

Rates = float | Sequence[float] | np.ndarray  # one step size for all steps, or one for each
LARGEST_EXPONENT = 709  # the last whole number whose exp is a float64


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

    SA Theorem 1 says more than this only while exp(S / (2 tau^2 B)) Delta < 2 sqrt(2). Two losses with the same pull
    stay within half of it.

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
    """(1 - rho) / (1 + rho), rho = drift / |H Sigma H|_F (SA Corollary 1).

    The proof needs rho <= 1. Beyond, it is negative, and CKA is above it for cosines of embeddings; the CKA of two
    tables of SA eq. 1 can be below.

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


def posterior_bound(
    injections: Sequence[float] | np.ndarray,
    eta: Rates,
    B: int,
    tau: float,
    convex: bool = False,
) -> np.ndarray:
    """The recursion in the proof of SA Theorem 1, D <- (1 + eta / (2 tau^2 B)) D + eta g, with g as measured.

    Args:
        injections: (T,) g_t, norm of the difference of the two batch gradients at CL's own similarities.
        eta: step size, one or T.
        B: batch size, points distinct.
        tau: temperature.
        convex: leave the growth factor out. NSCL's batch loss is convex in the similarities and its Hessian at most
            1 / (2 tau^2 B), so a step of at most 4 tau^2 B moves no two tables further apart.

    Returns:
        (T + 1,) bounds on the drift after 0 .. T steps.

    Raises:
        ValueError: an argument out of range; convex, and a longer step.
    """
    if not isinstance(convex, bool):
        raise refused("convex", convex, "True or False")
    found = reals("injections", injections)
    if found.ndim != 1 or not found.size:
        raise refused("injections", injections, "a list of T numbers, T >= 1")
    injections = found
    B = at_least(1, "B", B)
    tau = positive("tau", tau)
    total(eta, len(injections))  # checks eta
    eta = np.broadcast_to(eta, injections.shape)
    longest = 4 * tau**2 * B
    if convex and (eta > longest).any():
        raise ValueError(
            f"eta = {eta.max():g} is not allowed: eta must be at most 4 tau^2 B = {longest:g}"
        )
    bounds = [0.0]
    for step, injection in zip(eta, injections, strict=True):
        growth = 1.0 if convex else 1 + step / (2 * tau**2 * B)
        bounds.append(growth * bounds[-1] + step * injection)
    return np.array(bounds)


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
    if not (rates.shape in ((), (T,)) and np.isfinite(rates).all() and (rates >= 0).all()):
        raise refused("eta", eta, f"finite and >= 0, one number or {T:g}")
    if rates.ndim == 0:
        return T * float(rates)
    return float(rates.sum())


def _exp(x):
    if x >= LARGEST_EXPONENT:
        return math.inf
    return math.exp(x)
