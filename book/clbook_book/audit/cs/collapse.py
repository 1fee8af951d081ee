"""The loss of linear maps that find and scale the latents (CS eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from clbook import latents
from clbook.losses import softplus
from clbook.training.loop import one_thread
from clbook.training.streams import stream

DIM = 8  # latent dimensions of the paper's linear experiments


def pairs(n: int, d_c: int, style_sd: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Latents and their views.

    Returns: both (n, 8) in float64; the first d_c dimensions, the content, are equal in both.
    """
    z = latents.marginal(n, DIM, "box", generator).double()
    return z, latents.positives(z, d_c, style_sd, "box", generator)


def loss(z: Tensor, views: Tensor, detach: bool = False) -> Tensor:
    """CS eq. 4 of embeddings (..., n, d); its second sum repeats each term M = n - 1 times.

    Anchors: the rows of z. Denominator: the positive and the M other anchors, held still with `detach`.
    Returns: (..., n), a term for each anchor.
    """
    others = z.detach() if detach else z
    squares = z.square().sum(-1)
    of_anchors = squares[..., :, None]
    squares = others.square().sum(-1)
    of_others = squares[..., None, :]
    size = (of_anchors + of_others) / 2
    logits = z @ others.mT - size
    own = torch.eye(z.shape[-2], dtype=torch.bool)
    logits = logits.masked_fill(own, -math.inf)
    push = logits.logsumexp(-1)
    apart = z - views
    pull = apart.square().sum(-1) / 2
    return softplus(push + pull)


@one_thread()
def surface(
    content: Sequence[float],
    style: Sequence[float],
    d_c: int,
    style_sd: float = 0.3,
    n: int = 128,
    batches: int = 4,
    seed: int = 0,
) -> np.ndarray:
    """Mean of CS eq. 4 where the encoder finds the latents and scales them.

    Args: content, style: the scales to try. batches: of n pairs, whose mean it is.
    Returns: (len(content), len(style)).
    """
    generator = stream(seed, 0)
    of_content = torch.tensor(np.asarray(content), dtype=torch.float64)[:, None, None]
    of_style = torch.tensor(np.asarray(style), dtype=torch.float64)[:, None]
    scale = torch.where(torch.arange(DIM) < d_c, of_content, of_style)
    scale = scale[:, :, None]  # (C, S, 1, 8)
    means = []
    for _ in range(batches):
        z, views = pairs(n, d_c, style_sd, generator)
        means.append(loss(scale * z, scale * views).mean(-1))
    return torch.stack(means).mean(0).numpy()
