"""Contrastive losses: one pure function an equation, differentiable twice.

Papers: LS = linear separability, VA = variational analysis, SA = supervised alignment, SL = semantic learners,
CS = content and style. A bad argument raises a ValueError that names it.
"""

from __future__ import annotations

import functools
import math
import numbers
import operator

import torch.nn.functional as F


def simplified(z, views, tau):
    """The simplified SimCLR loss, LS eq. 12, averaged over the points and the views.

    mean over i, k of  log[(1/n) sum_j exp(-|z_i - v_kj|^2 / (2 tau))] + |z_i - v_ki|^2 / (2 tau).

    Anchors: the n points. Denominator: n terms for each view k, one for each data point, the positive v_ki included.
    The gradient with respect to `z` alone is the partial one of LS Theorem 4.3 (times 1/n, from the mean over points).

    Args:
        z: (n, d) embeddings of the points, n >= 2.
        views: (m, n, d) embeddings of the augmented points, views[k, j] = f(T_k(x_j)).
        tau: temperature > 0.

    Returns:
        A scalar >= -log n; 0 when all views coincide.

    Raises:
        ValueError: wrong shapes, tau <= 0, values that are not finite or whose squares overflow.
    """
    _check_tau(tau)
    _check_points(z=z)
    if views.ndim != 3 or views.shape[1:] != z.shape or not len(views):
        raise _error("views", f"a tensor of shape {tuple(views.shape)}", f"of shape (m, {z.shape[0]}, {z.shape[1]})")
    log_weights = _squared_distances(z, views) * (-0.5 / tau)  # (m, n, n)
    log_shares = F.log_softmax(log_weights, -1).diagonal(dim1=-2, dim2=-1)  # (m, n)
    return _finite(-log_shares.mean() - math.log(len(z)), z=z, views=views)


def _squared_distances(a, b):
    """|a_i - b_j|^2: (n, d) and (..., m, d) to (..., n, m); differences first, since nearby points cancel."""
    return functools.reduce(operator.add, (
        (x[:, None] - y[..., None, :]).square() for x, y in zip(a.unbind(-1), b.unbind(-1), strict=True)))


def _error(name, value, allowed):
    return ValueError(f"{name} = {value} is not allowed: {name} must be {allowed}")


def _check_tau(tau):
    if not isinstance(tau, numbers.Real) or not 0 < tau < math.inf:
        raise _error("tau", repr(tau), "a finite number > 0")


def _check_points(**points):
    """Each argument is a floating-point tensor (n, d) of the first one's shape, n >= 2, d >= 1."""
    shape = next(iter(points.values())).shape
    for name, x in points.items():
        if x.ndim != 2 or x.shape != shape or shape[0] < 2 or shape[1] < 1 or not x.is_floating_point():
            raise _error(name, f"a {x.dtype} tensor of shape {tuple(x.shape)}", "floating-point, of shape (n, d) "
                         f"with n >= 2, d >= 1{f', equal to {tuple(shape)}' if len(points) > 1 else ''}")


def _finite(loss, **inputs):
    """`loss`, if it is finite; else a ValueError that says which input is to blame (read only in that case)."""
    if math.isfinite(loss.item()):
        return loss
    for name, x in inputs.items():
        if bad := int((~x.isfinite()).sum()):
            raise _error(name, f"a tensor with {bad} of {x.numel()} values not finite", "finite")
    raise ValueError(f"{' and '.join(inputs)}: finite, but the loss overflows {loss.dtype}; scale them down")
