"""The sums inside the losses, without the copies that autograd would make of (n, n) tables.

Each class is one operation whose plain form stands where it is called in `losses`. The forward
pass writes over its own table, and keeps the exponentials for the backward pass. They are faster
than the plain forms at every size that was measured (tests/bench_losses.py). What torch.compile or
torch.vmap runs takes the plain forms: see `_checks.transformed`.

Second derivatives: where autograd records the backward pass itself, that pass takes its shares from
the inputs anew, with operations that autograd knows, instead of from what the forward pass kept.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in the type of a and b: autocast would round them to 16 bits."""
    if torch.is_autocast_enabled(a.device.type):
        with torch.autocast(a.device.type, enabled=False):
            return a @ b
    return a @ b


def exponentials(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Writes over `logits` (..., m), and keeps exp within range by each row's largest entry.

    Returns:
        exp(logits - shift) in the place of `logits`, its sums (..., 1) over rows, and the
        logarithms (...) of the sums of exp(logits): minus infinity for a row of those.
    """
    shift = logits.amax(-1, keepdim=True)
    shift.clamp_(min=torch.finfo(shift.dtype).min)
    logits.sub_(shift).exp_()
    total = logits.sum(-1, keepdim=True)
    return logits, total, (total.log() + shift)[..., 0]


class LogSumExpOfProducts(torch.autograd.Function):
    """log sum_j exp(a_i . b_j) over the j that are not hidden, for rows a_i and b_j.

    Args:
        a: (..., n, d).
        b: (..., m, d).
        hidden: booleans that broadcast against (..., n, m), or None.

    Returns:
        (..., n)
    """

    @staticmethod
    def forward(ctx, a, b, hidden):
        logits = matmul(a, b.mT)
        if hidden is not None:
            logits.masked_fill_(hidden, -math.inf)
        shares, total, log_sum = exponentials(logits)
        ctx.save_for_backward(a, b, hidden, shares, total)
        return log_sum

    @staticmethod
    def backward(ctx, slopes):
        a, b, hidden, shares, total = ctx.saved_tensors
        slopes = slopes[..., None]
        if torch.is_grad_enabled():
            logits = matmul(a, b.mT)
            if hidden is not None:
                logits = logits.masked_fill(hidden, -math.inf)
            shares = logits.softmax(-1)
        else:
            slopes = slopes / total
        slope_a = matmul(shares, b) * slopes
        slope_b = matmul(shares.mT, a * slopes)
        return slope_a.sum_to_size(a.shape), slope_b.sum_to_size(b.shape), None


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
        return (2 * slope_a).sum_to_size(a.shape), (2 * slope_b).sum_to_size(b.shape)
