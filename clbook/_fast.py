"""Tables of products and distances in the losses, without the copies that autograd makes of them.

Each class is one operation. Its plain form stands beside its call in `losses`, and is what runs
under torch.compile and torch.vmap. tests/benchmarks/bench_losses.py measures both.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in the type of a and b: autocast would round them to 16 bits."""
    device = a.device.type
    if device == "meta" or not torch.is_autocast_enabled(device):
        return a @ b
    with torch.autocast(device, enabled=False):
        return a @ b


class CosineLogOdds(torch.autograd.Function):
    """`losses.log_odds`, from the normalisation on.

    Args:
        views: (..., 2n, d), the first views of n points and then the second.
        root: the square root of the temperature, a number or a tensor.
        anchors: n or 2n, the number of views that are compared with all.
        hidden: booleans (..., anchors, 2n), or None to hide the views of the anchor's point.

    Returns:
        (..., anchors)
    """

    @staticmethod
    def forward(ctx, views, root, anchors, hidden):
        n = views.shape[-2] // 2
        z, norm = scaled(views, root)
        log_odds, shares = compared(z.narrow(-2, 0, anchors), z, (n, -n), hidden)
        ctx.save_for_backward(views, z, norm, shares, hidden)
        ctx.root, ctx.anchors = root, anchors
        return log_odds

    @staticmethod
    def backward(ctx, slopes):
        views, z, norm, shares, hidden = ctx.saved_tensors
        root, anchors = ctx.root, ctx.anchors
        n = views.shape[-2] // 2
        if torch.is_grad_enabled():
            # A second derivative is asked for. What `forward` saved is constant to autograd, so it is computed again.
            z, norm = scaled(views, root)
            _, shares = compared(z.narrow(-2, 0, anchors), z, (n, -n), hidden)
        pull = pulled(shares, slopes, (n, -n))
        slope = matmul(pull.mT, z.narrow(-2, 0, anchors))
        slope.narrow(-2, 0, anchors).add_(matmul(pull, z))
        # z has the length 1 / root, whatever the views are: no slope along z reaches them.
        along = (z * slope).sum(-1, keepdim=True)
        slope_views = (slope - z * (along * root**2)) / norm
        slope_root = None
        if ctx.needs_input_grad[1]:
            slope_root = (-along / root).sum_to_size(root.shape)
        return slope_views.sum_to_size(views.shape), slope_root, None, None


class LogOdds(torch.autograd.Function):
    """log[ sum_j exp(a_i . b_j) / exp(a_i . b_i) ], (..., n), for rows a_i and b_j (..., n, d).

    Args:
        a: (..., n, d).
        b: (..., n, d).
        hidden: booleans (..., n, n), which b_j the sum leaves out. None leaves out b_i.
    """

    @staticmethod
    def forward(ctx, a, b, hidden):
        log_odds, shares = compared(a, b, (0,), hidden)
        ctx.save_for_backward(a, b, shares, hidden)
        return log_odds

    @staticmethod
    def backward(ctx, slopes):
        a, b, shares, hidden = ctx.saved_tensors
        if torch.is_grad_enabled():
            _, shares = compared(a, b, (0,), hidden)
        pull = pulled(shares, slopes, (0,))
        return matmul(pull, b), matmul(pull.mT, a), None


def scaled(views: Tensor, root: float | Tensor) -> tuple[Tensor, Tensor]:
    """The views at the length 1 / root, and what they are divided by for that."""
    # By the largest entry first, so that no square overflows.
    largest = torch.linalg.vector_norm(views.detach(), math.inf, -1, keepdim=True)
    z = views / largest
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True) * root
    return z / norm, norm * largest


def compared(
    a: Tensor, b: Tensor, partners: tuple[int, ...], hidden: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The log odds (..., N) of the negatives of each a_i, and the share (..., N, M) of each b_j in them.

    Args:
        a: (..., N, d).
        b: (..., M, d).
        partners: the diagonals of the (N, M) table of products on which the positives stand.
        hidden: booleans (..., N, M). None hides the positives and the main diagonal.
    """
    logits = matmul(a, b.mT)
    positive = torch.cat([logits.diagonal(k, -2, -1) for k in partners], -1)
    if hidden is None:
        for k in {0, *partners}:
            logits.diagonal(k, -2, -1).fill_(-math.inf)
    else:
        logits.masked_fill_(hidden, -math.inf)
    shares = logits.softmax(-1)
    # The largest share is exp(largest logit) / sum of exp: this gives the logarithm of the sum.
    log_sum = logits.amax(-1) - shares.amax(-1).log()
    return log_sum - positive, shares


def pulled(shares: Tensor, slopes: Tensor, partners: tuple[int, ...]) -> Tensor:
    """The slopes of the products (..., N, M), from those of the log odds (..., N)."""
    pull = shares * slopes[..., None]
    for k in partners:
        positive = pull.diagonal(k, -2, -1)
        rows = slopes.narrow(-1, max(-k, 0), positive.shape[-1])
        positive.sub_(rows)
    return pull


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
