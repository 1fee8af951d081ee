"""Tables of products and distances in the losses, without the copies that autograd makes of them.

Each class is one operation. Its plain form stands beside its call in `losses`, and is what runs
under torch.compile and torch.vmap. tests/bench_losses.py measures both.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in the type of a and b: autocast would round them to 16 bits."""
    kind = a.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        with torch.autocast(kind, enabled=False):
            return a @ b
    return a @ b


class LogOdds(torch.autograd.Function):
    """`losses.log_odds`. The forward pass hides entries in the table itself, and keeps a softmax.

    Its arguments are those of `losses.log_odds`, but `hidden` is (..., N, M) or None.
    """

    @staticmethod
    def forward(ctx, a, b, partners, hidden):
        logits = matmul(a, b.mT)
        positive = torch.cat([logits.diagonal(k, -2, -1) for k in partners], -1)
        hide(logits, partners, hidden)
        shares = logits.softmax(-1)
        # The largest share is exp(largest logit) / sum of exp: this gives the logarithm of the sum.
        largest = shares.amax(-1)
        log_sum = logits.amax(-1) - largest.log()
        ctx.save_for_backward(a, b, hidden, shares)
        ctx.partners = partners
        return log_sum - positive

    @staticmethod
    def backward(ctx, slopes):
        a, b, hidden, shares = ctx.saved_tensors
        if torch.is_grad_enabled():  # this pass is differentiated too: shares are of a and b again
            logits = matmul(a, b.mT)
            hide(logits, ctx.partners, hidden)
            shares = logits.softmax(-1)
        pull = shares * slopes[..., None]
        parts = slopes.chunk(len(ctx.partners), -1)
        for k, part in zip(ctx.partners, parts, strict=True):
            pull.diagonal(k, -2, -1).sub_(part)
        slope_a = matmul(pull, b).sum_to_size(a.shape)
        slope_b = matmul(pull.mT, a).sum_to_size(b.shape)
        return slope_a, slope_b, None, None


def hide(logits: Tensor, partners: tuple[int, ...], hidden: Tensor | None) -> None:
    """Writes minus infinity into the hidden entries, or into those of an anchor's own point."""
    if hidden is not None:
        logits.masked_fill_(hidden, -math.inf)
        return
    for k in {0, *partners}:
        logits.diagonal(k, -2, -1).fill_(-math.inf)


class SquaredDistances(torch.autograd.Function):
    """|a_i - b_j|^2, (..., n, m), of rows a_i (..., n, d) and b_j (..., m, d).

    It is computed from differences, because the expanded square loses near points to rounding. The
    gradient comes from products, so that no (..., n, m, d) is held.
    """

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square_()

    @staticmethod
    def backward(ctx, slopes):
        a, b = ctx.saved_tensors
        # Around their middle: products of points that are far from 0 would round the differences.
        middle = b.detach().mean(-2, keepdim=True)
        x, y = a - middle, b - middle
        slope_a = slopes.sum(-1)[..., None] * x - matmul(slopes, y)
        slope_b = slopes.sum(-2)[..., None] * y - matmul(slopes.mT, x)
        slope_a = (2 * slope_a).sum_to_size(a.shape)
        slope_b = (2 * slope_b).sum_to_size(b.shape)
        return slope_a, slope_b
