"""What the papers predict, one function a statement. Experiments, tests and chapters compare it with measurements."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, ive


def separation_condition(eps, tau, n, gamma, theta, sigma2, delta):
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


def growth_rate(theta, tau, gradient="partial"):
    """Rate of growth of the gap between two equal clusters while all |z_i - z_j|^2 << tau (LS eq. 34): Theta/(4 tau).

    That is for the gradient in z alone ("partial"), which the proof uses. Back-propagation also moves the views
    ("full"), which doubles the rate.
    """
    return {"partial": 1, "full": 2}[gradient] * theta / (4 * tau)


def cluster_velocity(share, squared_norm, gain, gradient):
    """Velocity of a cluster's embedding, -(n_q / n) |xi_q|^2 beta_q grad L (VA eq. 21, Theorem 4.5), for orthogonal centres.

    Args:
        share: (N,) n_q / n, the share of the points that lie in the cluster.
        squared_norm: (N,) |xi_q|^2 of its centre.
        gain: (N, d) diagonal of beta_q, the mean over hidden units of the squared slope at xi_q; for ReLU and infinite width 1/2
            (VA Corollary 4.6).
        gradient: (N, d) partial gradient of the loss. The statement has it at the cluster's centre, its proof needs the
            mean over the cluster's points.

    Returns:
        (N, d).
    """
    return -np.asarray(share)[:, None] * np.asarray(squared_norm)[:, None] * gain * gradient


def circle_plateau(tau, factor=2):
    """Loss of an invariant map onto the uniform distribution on the circle: log(1 + factor exp(-1/tau) I0(1/tau)).

    factor 2: LS eq. 1 with many points (both views of the others repel). factor 1: LS eq. 3 with Psi(t) = log(1 + t).
    """
    return sphere_plateau(tau, 2, factor)


def sphere_plateau(tau, d, factor=2):
    """`circle_plateau` on the unit sphere of R^d, d >= 2: log(1 + factor E exp((u - 1) / tau)).

    u is one coordinate of a uniform point.
    """
    return math.log1p(factor * math.exp(simplified_plateau(tau, d)))


def simplified_plateau(tau, d):
    """LS eq. 12 of an invariant map whose embedded distribution is uniform on the unit sphere of R^d, d >= 2.

    log E exp((u - 1) / tau) = log[Gamma(d/2) (2 tau)^(d/2 - 1) exp(-1/tau) I_{d/2 - 1}(1/tau)], u a uniform point's
    coordinate: log(exp(-1/tau) I0(1/tau)) on the circle, log((1 - exp(-2/tau)) tau / 2) on the sphere of R^3.
    """
    order = d / 2 - 1
    return gammaln(d / 2) + order * math.log(2 * tau) + math.log(ive(order, 1 / tau))


def _aliases(count, tau):
    """Multiples K, 2K, ... of K = `count` and exp(-1/tau) I_{pK}(1/tau): what K even points mistake for a constant."""
    orders = count * np.arange(1, 2 + math.ceil(12 / (count * math.sqrt(tau)) + 40 / count))
    return orders, ive(orders, 1 / tau)


def even_similarity(count, tau) -> float:
    """Mean over j of exp((cos(2 pi j / K) - 1) / tau), K = `count`: exp(-1/tau) (I0 + 2 sum_{p >= 1} I_{pK})(1/tau).

    By exp(cos(u) / tau) = sum_k I_k(1/tau) exp(i k u), of which K even points see only the multiples of K.
    """
    return float(ive(0, 1 / tau) + 2 * _aliases(count, tau)[1].sum())


def split_curvature(count, tau) -> float:
    """Curvature of LS eq. 3, Psi(t) = log(1 + t), on the circle where copies at one of K = `count` even places part.

    It is -4 Psi'(G) exp(-1/tau) sum_{p >= 1} (pK)^2 I_{pK}(1/tau) < 0, G the `even_similarity`: the eigenvalue of n
    times the Hessian in the angles, with K(m - 1) eigenvectors where each place holds m copies.
    """
    orders, aliases = _aliases(count, tau)
    return float(-4 * (orders**2 * aliases).sum() / (1 + even_similarity(count, tau)))


def threshold_slope(tolerance) -> float:
    """Slope in tau, as tau -> 0, of the smallest squared distance of K even points on the circle at the plateau.

    They are within the relative `tolerance` of it from K^2 = 2 ln(2/tolerance) / tau on, by 2 I_K / I_0 =
    2 exp(-K^2 tau / 2), and then 4 sin^2(pi / K) = 2 pi^2 tau / ln(2/tolerance).
    """
    return 2 * math.pi**2 / math.log(2 / tolerance)


def style_share(tau, d_c, d_s, rho):
    """Style gain over content gain of the best linear map on the sphere, to leading order in 1 / tau; ours, not a paper's.

    With e the content's share of the embeddings' squared length, InfoNCE is, up to a constant and terms of order tau^-3,
    -(e + rho (1 - e)) / tau + (e^2 / d_c + (1 - e)^2 / d_s) / (2 tau^2); it is least at e = 1 once tau d_c (1 - rho) >= 1.

    Args:
        tau: temperature. d_c, d_s: dimensions of content and of style, both >= 1. rho: mean cosine of a pair's style.
    """
    e = min(1.0, (tau * (1 - rho) + 1 / d_s) * d_c * d_s / (d_c + d_s))
    return math.sqrt((1 - e) / d_s / (e / d_c))
