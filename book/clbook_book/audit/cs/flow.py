"""The gradient flow of CS's linear model, against autograd (CS App. B and C).

Latents are uniform on the box [0, 1]^8, and all is linear, z' = W x with x = A z, float64 and small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from clbook.experiments.content_style.experiment import Config, fresh_pairs
from clbook.losses import infonce
from clbook.training.loop import one_thread
from clbook.training.streams import stream
from clbook_book.audit.cs.collapse import DIM, loss, pairs

GROWTH = 4  # purpose of the stream of `growth`
TINY = 1e-3  # size of W at which Lemma 5 is exact to seven digits


def matrix(kind: str, generator: torch.Generator) -> torch.Tensor:
    """A random matrix: a "rotation" (orthogonal), or "gaussian" entries. Returns: (8, 8)."""
    entries = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    return torch.linalg.qr(entries)[0] if kind == "rotation" else entries


def descent(
    W: torch.Tensor, x: torch.Tensor, views: torch.Tensor, detach: bool = False
) -> torch.Tensor:
    """dW/dt (d, D) under gradient flow on the sum of CS eq. 4, by autograd, for observations x and views (n, D);
    detach: as for `loss`."""
    W = W.clone().requires_grad_()
    return -torch.autograd.grad(loss(x @ W.T, views @ W.T, detach).sum(), W)[0]


def lemma5(
    W: torch.Tensor,
    x: torch.Tensor,
    views: torch.Tensor,
    share: float = 2,
    prefactor: float | None = None,
) -> torch.Tensor:
    """dW/dt = M W [share Sigma_x - Sigma_x~]: CS eq. 5 has share 1; the full gradient has share 2.

    The matrices are `covariances`. `prefactor`: M = n - 1 unless given, which makes the limit of small W exact in every
    sample; CS prints M + 1. Returns: (d, D), for W (d, D).
    """
    data, within = covariances(x, views)
    return (len(x) - 1 if prefactor is None else prefactor) * W @ (share * data - within)


def covariances(x: torch.Tensor, views: torch.Tensor) -> torch.Tensor:
    """Sigma_x: covariance of x, divisor n - 1. Sigma_x~: mean outer product of x - x~. Returns: both, (2, D, D)."""
    gap = x - views
    return torch.stack([x.T.cov(), gap.T @ gap / len(x)])


@one_thread()
def lemma5_errors(
    scales: Sequence[float], n: int = 1024, d_c: int = 4, style_sd: float = 0.3, seed: int = 0
) -> dict[str, list[float]]:
    """{name: relative errors of Lemma 5}, with the prefactor M, where W is a rotation times each of `scales`; corrected
    and printed: share 2 and 1 against the full gradient; detached: share 1, the negatives held still."""
    generator = stream(seed, 0)
    turn = matrix("rotation", generator)
    mixing = matrix("rotation", generator)
    x, views = (z @ mixing.T for z in pairs(n, d_c, style_sd, generator))
    kinds = {"corrected": (2, False), "printed": (1, False), "detached": (1, True)}
    errors = {name: [] for name in kinds}
    for name, (share, still) in kinds.items():
        for scale in scales:
            W = scale * turn
            truth = descent(W, x, views, still)
            errors[name].append(_off(lemma5(W, x, views, share), truth))
    return errors


def _off(found: torch.Tensor, truth: torch.Tensor) -> float:
    """The size of found - truth over that of truth."""
    return float((found - truth).norm() / truth.norm())


@one_thread()
def gradient_spectrum(
    d_c: int,
    style_sd: float = 0.3,
    n: int = 1024,
    start: str = "rotation",
    mixing: str = "rotation",
    whiten: bool = False,
    seed: int = 0,
    flow: Callable = descent,
) -> torch.Tensor:
    """Singular values of the gradient at a small W (CS Lemma 6, Prop. 2).

    start, mixing: the kind of W and of the map from latents to observations. whiten: the observations, before all else.
    flow: `lemma5` for many pairs; it differs by 1e-6 at so small a W.
    Returns: (8,), descending.
    """
    generator = stream(seed, 0)
    W, A = (matrix(kind, generator) for kind in (start, mixing))
    x, views = (z @ A.T for z in pairs(n, d_c, style_sd, generator))
    if whiten:
        root = torch.linalg.cholesky(torch.linalg.inv(x.T.cov()))
        x, views = x @ root, views @ root
    return torch.linalg.svdvals(flow(TINY * W, x, views))


def largest_drop(values: torch.Tensor) -> int:
    """How many of the descending `values` stand before the largest ratio of neighbours: Prop. 2's reading of d_c."""
    return int((values[:-1] / values[1:]).argmax()) + 1


def growth(config: Config, scale: float = 0.05, samples: int = 1000) -> np.ndarray:
    """(d,) rate at which gradient flow enlarges the gain of each latent, over the gain, at the map `scale` times I.

    The latents of the first d_c dimensions go to the embedding dimensions of temperature tau_c. Means over 4 batches.
    """
    rates, generator = [], stream(config.seed, GROWTH)
    for _ in range(4):
        z, positive = (points.double() for points in fresh_pairs(config, samples, generator))
        A = (scale * torch.eye(config.d, dtype=torch.float64)).requires_grad_()
        tau = torch.tensor(config.temperatures)
        loss = infonce(positive @ A.T, z @ A.T, tau=tau, p=config.p, normalize=config.normalize)
        (gradient,) = torch.autograd.grad(loss, A)
        rates.append(-gradient.diagonal().numpy() / scale)
    return np.mean(rates, 0)


def sampled(
    n: int, d_c: int, style_sd: float, seed: int, kind: str = "gaussian"
) -> tuple[torch.Tensor, ...]:
    """Random A and W (8, 8) of a `kind` (x = A z), and n pairs of latents, (n, 8) twice."""
    generator = stream(seed, 0)
    return matrix(kind, generator), matrix(kind, generator), *pairs(n, d_c, style_sd, generator)


def lower_rank(seed: int = 0) -> list[float]:
    """Mean squared distance within pairs without content, over that of a random W, when 1, 2, ... 8 of the smallest
    singular values of W are set to zero (8,): CS Section 3 says that it rises."""
    A, W, z, views = sampled(200, 0, 0.3, seed)
    left, values, right = torch.linalg.svd(W)
    seen = (z - views) @ (right @ A).T * values  # (n, 8): a column for each singular direction
    sizes = seen.square().sum(0)
    return (sizes.cumsum(0) / sizes.sum()).flip(0)[1:].tolist() + [0.0]


def shares(z: torch.Tensor, views: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax shares of CS eq. 4: alpha_ii (n,), and alpha_ij (n, n) with zeros on the diagonal."""
    logits = -torch.cdist(z, z).square() / 2
    logits.diagonal().copy_(-(z - views).square().sum(1) / 2)
    alpha = logits.softmax(1)
    return alpha.diagonal(), alpha - torch.diag(alpha.diagonal())


def printed_derivatives(seed: int = 0) -> tuple[float, float]:
    """Relative error of the derivative in z_i before CS eq. 7 against autograd; with z_i's part as others' negative."""
    _, _, z, views = sampled(60, 4, 0.3, seed)
    z = (3 * z).requires_grad_()
    views = 3 * views
    (truth,) = torch.autograd.grad(loss(z, views).sum(), z)
    z = z.detach()
    own, others = shares(z, views)
    apart = z[:, None] - z  # (n, n, 8)
    printed = (1 - own)[:, None] * (z - views) - (others[..., None] * apart).sum(1)
    corrected = printed - (others.T[..., None] * apart).sum(1)
    return _off(printed, truth), _off(corrected, truth)


def endless(scale: float, points: int = 2001) -> tuple[float, float, float]:
    """The terms of CS eq. 11 for endless negatives, W a rotation times `scale`, centred data: by quadrature.

    The box is a product, and so is a Gaussian share: one dimension decides the ratio of the terms, eight the shares.
    Returns: the cross term over the other one; the least and the largest M alpha_ij.
    """
    z = (np.arange(points) + 0.5) / points - 0.5
    weight = np.exp(-((scale * (z[:, None] - z)) ** 2) / 2)
    share = weight / weight.mean(1, keepdims=True)  # of a negative at z_j, times M
    mean = share @ z / points  # of the negatives, as the anchor weighs them
    cross = float((z * mean).mean() / (z * z).mean())
    return cross, float(share.min()) ** DIM, float(share.max()) ** DIM


def eigenvalues(style_sd: float, share: float = 1, seed: int = 0) -> np.ndarray:
    """(8,) ascending eigenvalues of share Sigma_x - Sigma_x~ for a rotation as generator, four content dimensions."""
    A, _, z, views = sampled(20_000, 4, style_sd, seed, "rotation")
    data, within = covariances(z @ A.T, views @ A.T)
    return torch.linalg.eigvalsh(share * data - within).numpy()


def tempered(tau: float, seed: int = 0) -> tuple[float, float, float]:
    """The gradient of CS eq. 4 at a rotation W, its distances over tau: relative difference from that of tau = 1 at
    W / sqrt(tau), over sqrt(tau); and its cosine with the gradient of tau = 1 at W itself, and so at W times .001."""
    _, W, *views = sampled(200, 4, 0.3, seed, "rotation")
    gradient = descent(W, *(z / tau**0.5 for z in views))
    along = descent(W / tau**0.5, *views) / tau**0.5
    still = descent(W, *views)
    small = descent(TINY * W, *(z / tau**0.5 for z in views)), descent(TINY * W, *views)
    return (
        _off(along, gradient),
        _cosine(gradient, still),
        _cosine(*small),
    )


def _cosine(one: torch.Tensor, other: torch.Tensor) -> float:
    """The cosine of two matrices."""
    return float((one * other).sum() / one.norm() / other.norm())
