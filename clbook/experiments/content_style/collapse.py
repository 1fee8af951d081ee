"""What theory says about gradients and optima, against autograd and trained maps (CS App. C and D).

Down to `sphere_identity`, latents are uniform on the box [0, 1]^8, and all is linear, z = W x, float64 and small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import leaky_relu, normalize

from clbook import latents
from clbook.experiments.content_style.experiment import Config, drawn
from clbook.losses import infonce, softplus
from clbook.runs import one_thread, stream

PARTS, COSINE, GROWTH = 10**9, 0, 4  # purposes of the streams of `parts`, `pair_cosine` and `growth`

CHUNK = 100  # anchors whose similarities `parts` holds at once
DIM = 8  # latent dimensions of the paper's linear experiments
TINY = 1e-3  # size of W at which Lemma 5 is exact to seven digits


def pairs(n: int, d_c: int, style_sd: float, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Latents and their views.

    Returns: both (n, 8) in float64; the first d_c dimensions, the content, are equal in both.
    """
    z = latents.marginal(n, DIM, "box", generator).double()
    return z, latents.positives(z, d_c, style_sd, "box", generator)


def matrix(kind: str, generator: torch.Generator) -> torch.Tensor:
    """A random matrix: a "rotation" (orthogonal), or "gaussian" entries. Returns: (8, 8)."""
    entries = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    return torch.linalg.qr(entries)[0] if kind == "rotation" else entries


def loss(z: torch.Tensor, views: torch.Tensor, detach: bool = False) -> torch.Tensor:
    """CS eq. 4 of embeddings (..., n, d); its second sum repeats each term M = n - 1 times.

    Anchors: the rows of z. Denominator: the positive and the M other anchors, held still with `detach`.
    Returns: (..., n), a term for each anchor.
    """
    others = z.detach() if detach else z
    lengths = z.square().sum(-1)[..., :, None] + others.square().sum(-1)[..., None, :]
    logits = z @ others.mT - lengths / 2
    logits = logits.masked_fill(torch.eye(z.shape[-2], dtype=torch.bool), -math.inf)
    return softplus(torch.logsumexp(logits, -1) + (z - views).square().sum(-1) / 2)


def descent(W: torch.Tensor, x: torch.Tensor, views: torch.Tensor, detach: bool = False) -> torch.Tensor:
    """dW/dt under gradient flow on the sum of CS eq. 4, by autograd.

    Args: W (d, D); observations x and views (n, D); detach, as for `loss`.
    Returns: (d, D).
    """
    W = W.clone().requires_grad_()
    return -torch.autograd.grad(loss(x @ W.T, views @ W.T, detach).sum(), W)[0]


def lemma5(W: torch.Tensor, x: torch.Tensor, views: torch.Tensor, share: float = 2,
           prefactor: float | None = None) -> torch.Tensor:
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
def lemma5_errors(scales: Sequence[float], n: int = 1024, d_c: int = 4, style_sd: float = 0.3,
                  seed: int = 0) -> dict[str, list[float]]:
    """Relative errors of Lemma 5, with the prefactor M, where W is a rotation times each of `scales`.

    Returns: {name: errors}. corrected, printed: share 2 and 1 against the full gradient. detached: share 1, the
    negatives held still.
    """
    generator = stream(seed, 0)
    turn, mixing = matrix("rotation", generator), matrix("rotation", generator)
    x, views = (z @ mixing.T for z in pairs(n, d_c, style_sd, generator))
    errors = {}
    for name, share, still in (("corrected", 2, False), ("printed", 1, False), ("detached", 1, True)):
        truths = [(W, descent(W, x, views, still)) for W in (scale * turn for scale in scales)]
        errors[name] = [float((lemma5(W, x, views, share) - truth).norm() / truth.norm()) for W, truth in truths]
    return errors


@one_thread()
def gradient_spectrum(d_c: int, style_sd: float = 0.3, n: int = 1024, start: str = "rotation", mixing: str = "rotation",
                      whiten: bool = False, seed: int = 0) -> torch.Tensor:
    """Singular values of the gradient at a small W (CS Lemma 6, Prop. 2).

    start, mixing: the kind of W and of the map from latents to observations. whiten: the observations, before all else.
    Returns: (8,), descending.
    """
    generator = stream(seed, 0)
    W, A = (matrix(kind, generator) for kind in (start, mixing))
    x, views = (z @ A.T for z in pairs(n, d_c, style_sd, generator))
    if whiten:
        root = torch.linalg.cholesky(torch.linalg.inv(x.T.cov()))
        x, views = x @ root, views @ root
    return torch.linalg.svdvals(descent(TINY * W, x, views))


def largest_drop(values: torch.Tensor) -> int:
    """How many of the descending `values` stand before the largest ratio of neighbours: Prop. 2's reading of d_c."""
    return int((values[:-1] / values[1:]).argmax()) + 1


@one_thread()
def layer_ranks(layers: int, d_c: int = 3, n: int = 200, seed: int = 0) -> list[int]:
    """Ranks of the gradient of CS eq. 4 in each weight matrix of f, seen through D (CS Prop. 5).

    f is the inverse of a generator of so many layers; D then doubles the content and drops the style.
    """
    generator, ends = stream(seed, 0), []
    g = latents.mixing(DIM, layers, generator)
    weights = [torch.linalg.inv(matrix.double()).requires_grad_() for matrix in reversed(g.matrices)]
    for x in map(g, pairs(n, d_c, 0.3, generator)):
        for i, weight in enumerate(weights):
            x = (leaky_relu(x, 1 / g.slope) if i else x) @ weight.T
        ends.append(2 * x * (torch.arange(DIM) < d_c))
    gradients = torch.autograd.grad(loss(*ends).sum(), weights)
    return [int(torch.linalg.matrix_rank(gradient, rtol=1e-10)) for gradient in gradients]


@one_thread()
def surface(content: Sequence[float], style: Sequence[float], d_c: int, style_sd: float = 0.3, n: int = 128,
            batches: int = 4, seed: int = 0) -> np.ndarray:
    """Mean of CS eq. 4 where the encoder finds the latents and scales them.

    Args: content, style: the scales to try. batches: of n pairs, whose mean it is.
    Returns: (len(content), len(style)).
    """
    generator = stream(seed, 0)
    content, style = (torch.tensor(np.asarray(scales), dtype=torch.float64) for scales in (content, style))
    scale = torch.where(torch.arange(DIM) < d_c, content[:, None, None], style[:, None])[:, :, None]  # (C, S, 1, 8)
    made = (pairs(n, d_c, style_sd, generator) for _ in range(batches))
    return torch.stack([loss(scale * z, scale * views).mean(-1) for z, views in made]).mean(0).numpy()


@one_thread()
def sphere_identity(scaling: Sequence[float], classes: int = 5, n: int = 200, tau: float = 0.5,
                    seed: int = 0) -> tuple[float, float, int, int, float]:
    """CS Prop. 6: f has a corner of a simplex for each class as content, random style, and is seen through a scaling.

    Returns: InfoNCE of the content alone, of D f; rank of f, of D f; largest gradient in the style of f.
    """
    generator = stream(seed, 0)
    corners = torch.linalg.svd(torch.eye(classes, dtype=torch.float64) - 1 / classes)[0][:, :classes - 1]
    content = corners[torch.arange(n) % classes]
    style = torch.randn(2, n, DIM - classes + 1, generator=generator, dtype=torch.float64)
    f = torch.cat([content.expand(2, -1, -1), style], 2).requires_grad_()
    seen = f * torch.tensor(scaling, dtype=torch.float64)
    through = infonce(*seen, tau=tau, normalize=True)
    (gradient,) = torch.autograd.grad(through, f)
    ranks = [int(torch.linalg.matrix_rank(z[0].detach())) for z in (f, seen)]
    alone = infonce(content, content, tau=tau, normalize=True).item()
    return alone, through.item(), *ranks, gradient[..., classes - 1:].abs().max().item()


@one_thread()
def parts(maps: np.ndarray, config: Config, samples: int = 10_000, anchors: int = 1000) -> np.ndarray:
    """Alignment, uniformity and total of linear maps f o g as in CS Table 1, on fresh latents of config's kind.

    Alignment is the mean of minus the similarity within pairs, total is InfoNCE with `samples` negatives from the
    marginal, uniformity their difference; means are over `anchors` pairs.

    Args: maps (..., d, d).
    Returns: (3, ...).
    """
    maps = torch.as_tensor(maps, dtype=torch.float32)
    generator = stream(config.seed, PARTS)
    points = *drawn(config, anchors, generator), latents.marginal(samples, config.d, config.space, generator)
    a, b, c = (z @ maps.mT for z in points)
    tau = torch.tensor(config.temperatures, dtype=torch.float32)
    total = sum(infonce(y, x, c, tau, config.p, config.normalize) * x.shape[-2]
                for x, y in zip(a.split(CHUNK, -2), b.split(CHUNK, -2), strict=True)) / anchors
    pair = normalize(a, dim=-1) * normalize(b, dim=-1) if config.normalize else -(a - b).abs() ** config.p
    alignment = -(pair / tau).sum(-1).mean(-1)
    return torch.stack([alignment, total - alignment, total]).double().numpy()


def unit_error(p: int, seed: int = 0) -> float:
    """Relative difference of InfoNCE (box), written out with eight temperatures, and in units of which each is 1."""
    generator = stream(seed, 0)
    a, b, tau = torch.rand(201, DIM, generator=generator, dtype=torch.float64).split([100, 100, 1])
    distances = ((a[:, None] - b).abs() ** p / tau).sum(-1)
    written = (distances.diagonal() + torch.logsumexp(-distances, 1)).mean()
    return abs(float(infonce(a / tau ** (1 / p), b / tau ** (1 / p), p=p) / written - 1))


def best_scale(encoder: np.ndarray, config: Config) -> float:
    """The best scale of a linear map `encoder` (d, d), of 65 between 0.01 and 100.

    Returns: the s for which s times the map has the lowest InfoNCE.
    """
    scales = np.geomspace(0.01, 100, 65)
    return float(scales[parts(scales[:, None, None] * encoder, config, samples=500, anchors=500)[2].argmin()])


def pair_cosine(config: Config, samples: int = 20_000) -> float:
    """Mean cosine of the style parts of a pair, weighted by their squared length, on the sphere. Returns: rho."""
    z, positive = drawn(config, samples, stream(config.seed, COSINE))
    return float((z * positive)[:, config.d_c:].sum() / z[:, config.d_c:].square().sum())


def growth(config: Config, scale: float = 0.05, samples: int = 1000) -> np.ndarray:
    """Rate at which gradient flow enlarges the gain of each latent, relative to the gain, at the map `scale` times I.

    The latents of the first d_c dimensions go to the embedding dimensions of temperature tau_c. Means over 4 batches.

    Returns: (d,).
    """
    rates, generator = [], stream(config.seed, GROWTH)
    for _ in range(4):
        z, positive = (points.double() for points in drawn(config, samples, generator))
        A = (scale * torch.eye(config.d, dtype=torch.float64)).requires_grad_()
        tau = torch.tensor(config.temperatures)
        loss = infonce(positive @ A.T, z @ A.T, tau=tau, p=config.p, normalize=config.normalize)
        (gradient,) = torch.autograd.grad(loss, A)
        rates.append(-gradient.diagonal().numpy() / scale)
    return np.mean(rates, 0)
