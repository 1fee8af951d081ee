"""What the papers predict, one function a statement. Experiments, tests and chapters compare it with measurements."""

from __future__ import annotations

import math


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
