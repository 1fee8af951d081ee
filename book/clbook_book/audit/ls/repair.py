"""LS Theorem 4.3 repaired: a bound from below on the gap between two clusters, checked at every step of a run.

Write D for the difference of the clusters' mean embeddings, push_i = <g_i, mu_1 - mu_2> with the gradients of the
start, Theta for the mean difference of push between the clusters and kappa for the smallest. If up to step k every
point moves by h (c push_i D / 4 tau), up to h (eta + zeta lambda D) / 2, where lambda = c Theta / 4 tau and c is 1 for
the partial gradient, 2 for the full one, then points of different clusters are apart at k by at least
`theory.repaired_bound`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.linalg import expm
from scipy.optimize import linprog

from clbook import theory
from clbook.experiments.separability import Separability
from clbook.losses import simplified
from clbook.training.loop import State


def kernel_at_start(flow: Separability, s: State) -> torch.Tensor:
    """K(0) (R, n, n) of the runs of `flow`, which have d = 1; float64 where their weights are."""
    return flow.tangent_kernel(s, s.first_weights)[..., 0, 0]


def push(kernel: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """<g_i, mu_1 - mu_2> (n,) from the kernel (n, n) of two clusters."""
    return kernel[:, labels == 0].mean(1) - kernel[:, labels == 1].mean(1)


def margin(push: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """(kappa / Theta, Theta) from the push (n,) of the points; below 0 where gradients of the clusters overlap."""
    first = labels == 0
    theta = push[first].mean() - push[~first].mean()
    return (push[first].min() - push[~first].max()) / theta, theta


# What the proof says about its matrices and its start.


def growing_direction(a: float, b: float, c: float, n: int) -> np.ndarray:
    """u (n,) of Step 3, a unit vector; the first n/2 points are those of the first cluster."""
    u = np.repeat([a - b, b - c], n // 2)
    return u / np.linalg.norm(u)


def still_kernel(
    a: float, b: float, c: float, z: np.ndarray, t: float, tau: float
) -> dict[str, float]:
    """The flow (33) with constant blocks and no remainder, from z (n,) to t, against what Step 4 says of it.

    Returns relative errors: "alpha" of alpha(0) e^(Theta t / 4 tau) for <z, u>, "gap" of the same law for the
    difference of the clusters' means; "rest": how far the part of z orthogonal to u has moved, divided by its length.
    """
    half = len(z) // 2
    kernel = np.kron([[a, b], [b, c]], np.ones((half, half)))
    same = np.kron(np.eye(2), np.ones((half, half)))
    later = expm(-t * kernel @ (1 / len(z) - 2 * same / len(z)) / (len(z) * tau)) @ z
    u = growing_direction(a, b, c, len(z))
    growth = math.exp((a + c - 2 * b) / (4 * tau) * t)

    def gap(z):
        return z[:half].mean() - z[half:].mean()

    before, after = (part - (part @ u) * u for part in (z, later))
    alpha = abs(later @ u / (growth * (z @ u)) - 1)
    means = abs(gap(later) / (growth * gap(z)) - 1)
    moved = np.linalg.norm(after - before) / np.linalg.norm(before)
    return {"alpha": alpha, "gap": means, "rest": moved}


def equal_means(n: int, eps: float, tau: float, scale: float = 5.0) -> dict[str, float]:
    """A start that meets (a) to (e) with its own diameter eps, and is at rest.

    f(w, x) = R(x) + scale * w_q for x in cluster q, each cluster at the same n/2 even places R from -eps/2 to eps/2;
    views are the points. Returns the largest derivative of the mean loss in w, "partial" and "full"; the ratio of (e).
    """
    places = torch.linspace(-eps / 2, eps / 2, n // 2, dtype=torch.float64).repeat(2)
    cluster = torch.arange(n) // (n // 2)
    found = {}
    for gradient in ("partial", "full"):
        w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        z = (places + scale * w[cluster])[:, None]
        views = z if gradient == "full" else z.detach()
        (slope,) = torch.autograd.grad(simplified(z, views[None], tau), w)
        found[gradient] = float(slope.abs().max())
    left, right = theory.separation_condition(
        eps, tau, n, gamma=eps / 2, theta=2 * scale**2, sigma2=0.0, delta=0.0
    )
    return found | {"ratio": left / right, "eps": eps}


def overlap(
    n: int, moved: float = 0.0, seed: int = 0, eps: float = 1.0, tau: float = 100.0
) -> dict:
    """A start that meets (a) to (e), with means apart, of a map that no weights separate; n a multiple of 12.

    f(w, x) = R(x) + w phi(x) with one weight, phi = 1 -+ 3 on cluster 1 and -1 -+ 3 on cluster 2, R at both ends of an
    interval of length eps, two thirds at the upper end on cluster 1, at the lower on cluster 2. A view is a random
    member of the point's cluster. moved: how far each R and phi may be moved besides, at random.

    Returns n, the ratio of (e), kappa / Theta, and "best": the largest gap between the clusters over all w, by linear
    programming, divided by eps; below 0 no w separates them.
    """
    # Of each quarter of the points phi, and how many of three stand at the upper end; two quarters are a cluster.
    quarters = ((1 + 3, 2), (1 - 3, 2), (-1 + 3, 1), (-1 - 3, 1))
    third = np.arange(n // 4) % 3
    phi = np.concatenate([np.full(n // 4, float(value)) for value, _ in quarters])
    R = eps / 2 * np.concatenate([np.where(third < upper, 1, -1) for _, upper in quarters])
    first = np.arange(n) < n // 2  # cluster 1
    draw = np.random.default_rng(seed)
    R = R + moved * draw.uniform(-1, 1, n)
    phi = phi + moved * draw.uniform(-1, 1, n)
    centre = np.where(first, phi[first].mean(), phi[~first].mean())
    share, theta = margin(phi * (phi[first].mean() - phi[~first].mean()), (~first).astype(int))
    sigma2 = ((phi - centre) ** 2).mean()
    left, right = theory.separation_condition(
        np.ptp(R), tau, n, gamma=0.0, theta=theta, sigma2=sigma2, delta=0.0
    )
    best = max(widest(R, phi, first), widest(R, phi, ~first))
    return {"n": n, "ratio": left / right, "kappa": share, "best": best / eps}


def widest(R: np.ndarray, phi: np.ndarray, above: np.ndarray) -> float:
    """The largest gap, over all w, by which the points R + w phi (n,) of `above` are above all others.

    gap <= (R_i + w phi_i) - top and top >= R_j + w phi_j: a linear programme in w, gap and top, of the extreme points.
    """
    rows, sides = [], []
    for part, sign in ((above, -1), (~above, 1)):
        corners = hull(phi[part], sign * R[part])
        for k in np.flatnonzero(part)[corners]:
            rows.append([sign * phi[k], float(sign < 0), sign * -1.0])
            sides.append(-sign * R[k])
    found = linprog([0, -1, 0], rows, sides, bounds=(None, None))
    return math.inf if found.status == 3 else float(found.x[1])  # 3: unbounded


def hull(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which of the points (x, y) can be the highest y + w x for some w: for few distinct x, the highest at each."""
    order = np.lexsort((-y, x))
    _, first = np.unique(x[order], return_index=True)
    return order[first]


def printed_bound(
    t: float, constant: float, n: int, eps: float, tau: float, scale: float = 5.0
) -> float:
    """F(t) of Step 5 for the start of `equal_means`: a = c = scale^2, b = 0, sigma^2 = delta = 0, gamma = eps / 2."""
    theta, root = 2 * scale**2, scale**2  # root of xi
    remainder = eps**3 / (n * tau**2) + eps / (2 * n * tau)
    leading = theta / root * eps - tau / (math.sqrt(n) * root) * remainder
    return leading * math.exp(theta / (4 * tau) * t) - constant * (
        math.sqrt(n) * eps + t * remainder
    )
