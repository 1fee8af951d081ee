"""What the theory of content and style says about gradients and optima, against autograd and trained maps (CS App. C and D).

Down to `sphere_identity` latents are uniform on the box [0, 1]^8, and all is linear, z = W x, float64 and small.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn.functional import normalize

from clbook import latents
from clbook.experiments import content_style
from clbook.losses import infonce, infonce_runs, softplus
from clbook.runs import one_thread

CHUNK = 100  # anchors whose similarities `parts` holds at once
DIM = 8  # latent dimensions of the paper's linear experiments
TINY = 1e-3  # size of W at which Lemma 5 is exact to seven digits


def pairs(n, d_c, style_sd, generator):
    """Latents and their views, both (n, 8) in float64; the first d_c dimensions, the content, are equal in both."""
    z = latents.marginal(n, DIM, "box", generator).double()
    return z, latents.positives(z, d_c, style_sd, "box", generator)


def matrix(kind, generator):
    """A random (8, 8) matrix: a "rotation" (orthogonal), or "gaussian" entries."""
    entries = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    return torch.linalg.qr(entries)[0] if kind == "rotation" else entries


def loss(z, views, detach=False):
    """CS eq. 4 of embeddings (n, d), a term for each anchor (n,); its second sum repeats each term M = n - 1 times.

    Anchors: the rows of z. Denominator: the positive and the M other anchors, held still with `detach`."""
    others = z.detach() if detach else z
    logits = z @ others.T - (z.square().sum(1)[:, None] + others.square().sum(1)) / 2
    logits = logits.masked_fill(torch.eye(len(z), dtype=torch.bool), -math.inf)
    return softplus(torch.logsumexp(logits, 1) + (z - views).square().sum(1) / 2)


def descent(W, x, views, detach=False):
    """dW/dt under gradient flow on the sum of CS eq. 4 at W (d, D), by autograd; observations x and views (n, D)."""
    W = W.clone().requires_grad_()
    return -torch.autograd.grad(loss(x @ W.T, views @ W.T, detach).sum(), W)[0]


def lemma5(W, x, views, share=2, prefactor=None):
    """dW/dt = M W [share Sigma_x - Sigma_x~]: CS eq. 5 has share 1; the full gradient has share 2.

    Sigma_x: covariance of x, divisor n - 1. Sigma_x~: mean outer product of x - x~. `prefactor`: M = n - 1 unless given,
    which makes the limit of small W exact in every sample; CS prints M + 1.
    """
    gap = x - views
    return (len(x) - 1 if prefactor is None else prefactor) * W @ (share * x.T.cov() - gap.T @ gap / len(x))


@one_thread()
def lemma5_errors(scales, n=1024, d_c=4, style_sd=0.3, seed=0):
    """{name: relative errors of Lemma 5 where W is a rotation times each of `scales`}, with the prefactor M.

    corrected, printed: share 2 and 1 against the full gradient. detached: share 1, the negatives held still.
    """
    generator = torch.Generator().manual_seed(seed)
    turn, mixing = matrix("rotation", generator), matrix("rotation", generator)
    x, views = (z @ mixing.T for z in pairs(n, d_c, style_sd, generator))
    errors = {}
    for name, share, still in (("corrected", 2, False), ("printed", 1, False), ("detached", 1, True)):
        truths = [(W, descent(W, x, views, still)) for W in (scale * turn for scale in scales)]
        errors[name] = [float((lemma5(W, x, views, share) - truth).norm() / truth.norm()) for W, truth in truths]
    return errors


@one_thread()
def gradient_spectrum(d_c, style_sd=0.3, n=1024, start="rotation", mixing="rotation", whiten=False, seed=0):
    """(8,) singular values, descending, of the gradient at a small W (CS Lemma 6, Prop. 2).

    start, mixing: the kind of W and of the map from latents to observations. whiten: the observations, before all else.
    """
    generator = torch.Generator().manual_seed(seed)
    W, A = (matrix(kind, generator) for kind in (start, mixing))
    x, views = (z @ A.T for z in pairs(n, d_c, style_sd, generator))
    if whiten:
        root = torch.linalg.cholesky(torch.linalg.inv(x.T.cov()))
        x, views = x @ root, views @ root
    return torch.linalg.svdvals(descent(TINY * W, x, views))


def largest_drop(values) -> int:
    """How many of the descending `values` stand before the largest ratio of neighbours: Prop. 2's reading of d_c."""
    return int((values[:-1] / values[1:]).argmax()) + 1


@one_thread()
def surface(content, style, d_c, style_sd=0.3, n=128, batches=4, seed=0):
    """Mean of CS eq. 4 when the encoder finds the latents and scales content and style: (len(content), len(style))."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [pairs(n, d_c, style_sd, generator) for _ in range(batches)]
    scales = torch.tensor([[[c] * d_c + [s] * (DIM - d_c) for s in style] for c in content]).double()
    return np.array([[np.mean([loss(k * z, k * v).mean().item() for z, v in drawn]) for k in row] for row in scales])


@one_thread()
def sphere_identity(scaling, classes=5, n=200, tau=0.5, seed=0):
    """CS Prop. 6: f has a corner of a simplex for each class as content, random style, and is seen through diag(scaling).

    Returns (InfoNCE of the content alone, of D f, rank of f, of D f, largest gradient in the style of f).
    """
    generator = torch.Generator().manual_seed(seed)
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


def parts(map, config: content_style.Config, samples=10_000, anchors=1000):
    """(alignment, uniformity, total) of the linear map f o g as in CS Table 1, on fresh latents of config's kind.

    Alignment is the mean of minus the similarity within pairs, total is InfoNCE with `samples` negatives from the marginal,
    uniformity their difference; means are over `anchors` pairs. map is (d, d), or (R, d, d) for R maps: (3,) or (3, R).
    """
    maps = torch.as_tensor(np.reshape(map, (-1, config.d, config.d)), dtype=torch.float32)
    generator = torch.Generator().manual_seed(config.seed + 10**9)
    points = *content_style.drawn(config, anchors, generator), latents.marginal(samples, config.d, config.space, generator)
    a, b, c = (z @ maps.mT for z in points)
    tau = torch.tensor(config.temperatures, dtype=torch.float32)
    with one_thread():
        total = sum(infonce_runs(y, x, c, tau.expand(len(maps), -1), config.p, config.normalize) * x.shape[1]
                    for x, y in zip(a.split(CHUNK, 1), b.split(CHUNK, 1))) / anchors
    pair = normalize(a, dim=-1) * normalize(b, dim=-1) if config.normalize else -(a - b).abs() ** config.p
    alignment = -(pair / tau).sum(-1).mean(-1)
    out = torch.stack([alignment, total - alignment, total]).double().numpy()
    return out[:, 0] if np.ndim(map) == 2 else out


def best_scale(map, config: content_style.Config) -> float:
    """The s that minimises the InfoNCE of s times the linear map, of 65 between 0.01 and 100."""
    scales = np.geomspace(0.01, 100, 65)
    return float(scales[parts(scales[:, None, None] * map, config, samples=500, anchors=500)[2].argmin()])


def pair_cosine(config: content_style.Config, samples=20_000) -> float:
    """rho: mean cosine of the style parts of a pair, weighted by their squared length, on the sphere."""
    z, positive = content_style.drawn(config, samples, torch.Generator().manual_seed(config.seed))
    return float((z * positive)[:, config.d_c:].sum() / z[:, config.d_c:].square().sum())


def growth(config: content_style.Config, scale=0.05, samples=1000) -> np.ndarray:
    """(d,) rate at which gradient flow enlarges the gain of each latent, relative to the gain, at the map `scale` times I.

    The latents of the first d_c dimensions go to the embedding dimensions of temperature tau_c. Means over 4 batches.
    """
    rates = []
    for batch in range(4):
        generator = torch.Generator().manual_seed(config.seed * 1_000_003 + batch)
        z, positive = (points.double() for points in content_style.drawn(config, samples, generator))
        A = (scale * torch.eye(config.d, dtype=torch.float64)).requires_grad_()
        loss = infonce(positive @ A.T, z @ A.T, tau=config.temperatures, p=config.p, normalize=config.normalize)
        (gradient,) = torch.autograd.grad(loss, A)
        rates.append(-gradient.diagonal().numpy() / scale)
    return np.mean(rates, 0)
