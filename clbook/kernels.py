"""The neural kernel K_ij^{kl} = <grad_w f^k(x_i), grad_w f^l(x_j)> (LS eq. 8), its closed forms and its block scores.

Kernels of networks have shape (n, n, d, d): samples i, j, then output coordinates k, l. R networks of one shape have
(R, n, n, d, d). The scores `alignment`, `gradient_structure` and `fisher` take one kernel or R of them, with the last
two axes or without; a kernel with them counts by its trace over the outputs, divided by d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from clbook._arguments import choice, dense, number, refused, shown, table, tensor, whole
from clbook._layerwise import (
    add,
    by_samples,
    check,
    derivatives,
    jacobian,
    layerwise,
    outputs,
)
from clbook.metrics import Labels, class_ids
from clbook.models import ACTIVATIONS


def empirical(model: nn.Module, x: Tensor) -> Tensor:
    """The kernel of any module over all its trainable parameters (LS eq. 8), layer by layer.

    A fully connected layer y = W a + b that sees one vector a sample adds (<a_i, a_j> + 1) <delta_i^k, delta_j^l>,
    where delta^k = df^k / dy comes from one backward pass of sum_i f^k(x_i): no parameter gradient is formed.
    A layer that sees several positions a sample (Conv2d, Linear on sequences) adds the Gram matrix of its per-sample
    gradients sum_t delta_t a_t'. Parameters of which neither is true (other modules, shared weights) go through their
    Jacobian, or sample by sample where torch cannot map over the module, a GRU say.

    On a CPU little more memory than K's own is used, on an accelerator twice K's. The Jacobian comes on top: n d
    numbers for each parameter that needs it.

    Args:
        model: module (n, ...) -> (n, d) that treats samples independently: f(x_i) must not depend on x_j.
            Its weights, mode and `.grad` fields are left as they are.
        x: (n, ...) inputs, on the model's device.

    Returns:
        (n, n, d, d). The slice of each pair k, l of outputs is contiguous.

    Raises:
        ValueError: x is nothing that the model takes; model is no module, its output is not (n, d), nothing in it is
            trainable, it mixes samples or is random (batch normalisation or dropout in training mode); all this
            inside inference_mode.

    Examples:
        >>> K = empirical(nn.Linear(2, 3), torch.eye(2))  # (x_i'x_j + 1) 1_{k=l}: no weights in it
        >>> K.shape
        torch.Size([2, 2, 3, 3])
        >>> K[..., 0, 0].tolist(), K[..., 0, 1].tolist()
        ([[2.0, 1.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]])
    """
    return layerwise(model, x)


def empirical_trace(model: nn.Module, x: Tensor) -> Tensor:
    """The trace of `empirical` over the outputs, sum_k K_ij^{kk}, without holding the (n, n, d, d).

    Divided by d it is what the scores below take of a kernel.

    Args:
        model, x: as for `empirical`.

    Returns:
        (n, n).

    Raises:
        ValueError: as for `empirical`.

    Examples:
        >>> empirical_trace(nn.Linear(2, 3), torch.eye(2)).tolist()  # 3 (x_i'x_j + 1)
        [[6.0, 3.0], [3.0, 6.0]]
    """
    return layerwise(model, x, trace=True)[..., 0, 0]


def autograd(model: nn.Module, x: Tensor) -> Tensor:
    """The kernel from its definition: every per-sample Jacobian at once, then their products. Slow.

    Arguments, result and errors are those of `empirical`.

    Examples:
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> autograd(nn.Linear(2, 1, bias=False), x)[..., 0, 0].tolist()  # x_i'x_j
        [[5.0, 11.0], [11.0, 25.0]]
        >>> model = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3))
        >>> torch.allclose(autograd(model, x), empirical(model, x), rtol=1e-3, atol=1e-4)
        True
    """
    check(model, x)
    outputs(model, x)
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    if not names:
        raise refused("model", model, "a module with a trainable parameter")
    J = jacobian(model, x, names)  # (d, n, parameters)
    return torch.einsum("kip,ljp->ijkl", J, J)


@torch.no_grad()
def mlp(
    weights: Sequence[Tensor],
    x: Tensor,
    activation: str,
) -> Tensor:
    """The kernel of `models.MLP`, of one network or of R at once, layer by layer.

    Layer y = W a + b adds (<a_i, a_j> + 1) <delta_i^k, delta_j^l>, with delta^k = df^k / dy.

    Args:
        weights: W (..., out, in) and b (..., out) of each layer in turn, as from `models.stacked`; leading axes R.
        x: (..., n, in) inputs of each network, or (n, in) of all.
        activation: a key of `models.ACTIVATIONS`.

    Returns:
        (..., n, n, d, d).

    Raises:
        ValueError: shapes that do not fit each other, another activation.

    Examples:
        >>> from clbook.models import MLP, stacked
        >>> x, network = torch.eye(2), MLP((2, 5, 3), "tanh")
        >>> K = mlp(stacked([network, network]), x, "tanh")
        >>> K.shape, torch.allclose(K[0], empirical(network, x), rtol=1e-3, atol=1e-4)
        (torch.Size([2, 2, 2, 3, 3]), True)
    """
    choice("activation", activation, ACTIVATIONS)
    if dense("x", x, 2).numel() == 0:
        raise refused("x", x, "of one input or more")
    try:
        inputs, layers = _forward(weights, x, activation)
        deltas = derivatives(layers[-1], layers)
    except (TypeError, AttributeError, IndexError, KeyError, RuntimeError, ValueError) as error:
        allowed = f"W and b of each layer in turn, which fit x, {shown(x)}: {error}"
        raise refused("weights", weights, allowed) from error

    factors = []
    for a, delta in zip(inputs, deltas, strict=True):
        with_one = F.pad(a, (0, 1), value=1.0)  # for the bias
        factors.append((with_one, delta.movedim(0, -3)))
    *runs, n, d = layers[-1].shape
    K = x.new_zeros((*runs, d, d, n, n))
    add(K, factors)
    return by_samples(K)


@torch.enable_grad()
def _forward(weights, x, activation):
    """What enters each layer of an MLP, (..., n, in), and what leaves it, (..., n, out), before the activation."""
    act = ACTIVATIONS[activation]()
    a = x.detach()
    inputs = []
    layers = []
    for W, b in zip(weights[0::2], weights[1::2], strict=True):
        y = a @ W.detach().mT + b.detach().unsqueeze(-2)
        y.requires_grad_()  # only here does the graph begin: of the weights no gradient is wanted
        inputs.append(a.detach())
        layers.append(y)
        a = act(y)
    return inputs, layers


def _slope(activation, y):
    """The derivative of an activation at y, entry by entry."""
    y = y.detach().requires_grad_()
    with torch.enable_grad():
        total = ACTIVATIONS[activation]()(y).sum()
    (slope,) = torch.autograd.grad(total, y)
    return slope + 0 * y.detach()  # ReLU's is 0 where y is NaN, which would look healthy


def one_hidden(
    B: Tensor,
    x: Tensor,
    activation: str,
    d: int,
    scale: float,
) -> Tensor:
    """The kernel of f = A' sigma(B x) over the inner weights B alone, A fixed (LS Prop. B.5, eq. 32; VA Prop. 4.3).

    K_ij^{kl} = 1_{k=l} scale x_i'x_j sum_{p in block k} sigma'(b_p x_i) sigma'(b_p x_j).

    Args:
        B: (M d, D) inner weights; rows (k-1) M .. k M feed output k.
        x: (n, D) inputs.
        activation: a key of `models.ACTIVATIONS`.
        d: output dimensions, a divisor of B's rows.
        scale: the square of A's non-zero entries: 1/(M D) for A = 1/sqrt(M D) (LS eq. 31), 1/M for A = 1/sqrt(M)
            (VA eq. 19).

    Returns:
        (n, n, d, d).

    Raises:
        ValueError: other shapes or types, another activation, a d that does not divide B's rows.

    Examples:
        >>> B = torch.tensor([[1.0, 0.0]])  # one unit
        >>> x = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]])  # it is off at the last point
        >>> one_hidden(B, x, "relu", d=1, scale=1.0)[..., 0, 0].tolist()  # x_i'x_j where it is on
        [[1.0, 2.0, 0.0], [2.0, 5.0, 0.0], [0.0, 0.0, 0.0]]
    """
    table("B", B)
    table("x", x)
    choice("activation", activation, ACTIVATIONS)
    d = whole("d", d, 1)
    if len(B) % d:
        raise refused("d", d, f"a divisor of the number of rows of B, {len(B)}")
    scale = number("scale", scale)

    if x.dtype != B.dtype or x.shape[1] != B.shape[1]:
        raise refused("x", x, f"of the type and of as many columns as B, {shown(B)}")

    y = x @ B.T  # (n, M d)
    slope = _slope(activation, y).unflatten(1, (d, -1)).transpose(0, 1)  # (d, n, M)
    K = scale * (x @ x.T) * (slope @ slope.mT)  # (d, n, n): the blocks k = l
    return torch.diag_embed(K.permute(1, 2, 0))


def infinite_width(x: Tensor, scale: float = 1.0) -> Tensor:
    """Limit M -> infinity of `one_hidden` for ReLU and isotropic centred Gaussian rows (LS Prop. B.6, VA Prop. 4.4).

    K_ij = scale x_i'x_j [1/2 - angle(x_i, x_j) / (2 pi)], times the d x d identity.

    Args:
        x: (n, D) inputs.
        scale: 1 with A = 1/sqrt(M) (VA), 1/D with A = 1/sqrt(M D) (LS).

    Returns:
        (n, n).

    Raises:
        ValueError: another shape or type, a scale that is no number.

    Examples:
        >>> infinite_width(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))  # half of 1, 3/8 of 1, half of 2
        tensor([[0.5000, 0.3750],
                [0.3750, 1.0000]])
    """
    table("x", x)
    scale = number("scale", scale)
    # The angle of unit vectors u and v is 2 atan2(|u - v|, |u + v|): arccos loses half the digits where they coincide.
    u = F.normalize(x, dim=1)
    exact = "donot_use_mm_for_euclid_dist"
    apart = torch.cdist(u, u, compute_mode=exact)
    half_angle = torch.atan2(apart, torch.cdist(u, -u, compute_mode=exact))
    share = 0.5 - half_angle / math.pi  # of the inner units, those at work on both points
    return scale * (x @ x.T) * share


# Scores: how much a kernel looks like the blocks of the classes. One kernel gives floats, R kernels tensors (R,).


def alignment(K: Tensor, labels: Labels) -> float | Tensor:
    """Centred alignment <HKH, HYY'H> / (|HKH| |HYY'H|) of a kernel with the Gram matrix of one-hot labels Y.

    In [-1, 1]: 1 for the ideal blocks of LS Fig. 5, near 0 for a kernel that ignores the classes. For two classes Y Y'
    may be replaced by y y' with y = +-1: centring makes them proportional.

    Args:
        K: (n, n) or (n, n, d, d), or (R, n, n) or (R, n, n, d, d).
        labels: (n,), of at least two classes.

    Returns:
        A float, or (R,) with NaN for a kernel that is constant or not finite.

    Raises:
        ValueError: other shapes; a single kernel that is constant or not finite.

    Examples:
        >>> from clbook.losses import alike
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> round(alignment(alike(labels).double(), labels), 3)  # the ideal blocks
        1.0
        >>> round(alignment(torch.eye(4), labels), 3)  # each point moves alone: 1 / sqrt(3)
        0.577
    """
    traced, Y = _traced(K, labels)
    centred = _centred(traced)
    norm = torch.linalg.matrix_norm
    size = norm(centred)
    constant = size <= 1e-14 * norm(traced)
    if traced.dim() == 2 and constant:
        raise refused("K", K, "a kernel that is not constant: its centred alignment is undefined")
    Y = Y - Y.mean(0)  # HY
    overlap = ((centred @ Y) * Y).sum((-2, -1))  # <HKH, HYY'H>
    return _plain((overlap / (size * norm(Y.T @ Y))).masked_fill(constant, math.nan))


def gradient_structure(
    K: Tensor,
    labels: Labels,
) -> tuple[float, float] | tuple[Tensor, Tensor]:
    """(Theta, sigma^2) of LS Theorem 4.3, condition (c), from the kernel alone.

    With g_i = grad_w f(x_i), mu_q their mean over class q and xi_i = g_i - mu_q: Theta = |mu_1 - mu_2|^2 and
    sigma^2 = (1/n) sum_i |xi_i|^2. LS divides class sums by n/2, which is the mean for its equal classes. For more
    than two classes Theta is the mean over pairs of classes.

    Args:
        K, labels: as for `alignment`.

    Returns:
        Theta and sigma^2, both >= 0; floats, or (R,) with NaN for a kernel that is not finite.

    Raises:
        ValueError: other shapes; a single kernel that is not finite.

    Examples:
        >>> from clbook.losses import alike
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> gradient_structure(alike(labels).double(), labels)  # classmates have one gradient
        (2.0, 0.0)
        >>> gradient_structure(torch.eye(4), labels)  # every gradient is orthogonal to every other
        (1.0, 0.5)
    """
    theta, sigma2 = _structure(K, labels)
    return _plain(theta), _plain(sigma2)


def fisher(K: Tensor, labels: Labels) -> float | Tensor:
    """The Fisher ratio Theta / sigma^2 of `gradient_structure`: infinite for ideal blocks, 0 where Theta is 0.

    Arguments, result and errors are those of `gradient_structure`.

    Examples:
        >>> from clbook.losses import alike
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> fisher(alike(labels).double(), labels), fisher(torch.eye(4), labels)
        (inf, 2.0)
    """
    theta, sigma2 = _structure(K, labels)
    return _plain((theta / sigma2).masked_fill(theta == 0, 0.0))


def _structure(K, labels):
    traced, Y = _traced(K, labels)
    members = Y.sum(0)  # (C,)
    classes = len(members)
    means = Y / members  # (n, C)
    S = means.T @ traced @ means  # (..., C, C): <mu_p, mu_q>
    lengths = S.diagonal(dim1=-2, dim2=-1)  # |mu_p|^2
    # The sum of |mu_p - mu_q|^2 over all p and q is 2 C sum_p |mu_p|^2 - 2 sum_pq <mu_p, mu_q>.
    same = classes * lengths.sum(-1)
    squares = 2 * (same - S.sum((-2, -1)))
    theta = squares / (classes * (classes - 1))
    # sum_i |g_i - mu|^2 = sum_i |g_i|^2 less the members of each class times its |mu|^2.
    gradients = traced.diagonal(dim1=-2, dim2=-1)
    sigma2 = (gradients.sum(-1) - lengths @ members) / len(Y)
    return theta.clamp(min=0), sigma2.clamp(min=0)


def top_eigenvector(K: Tensor, labels: Labels) -> tuple[np.ndarray, float]:
    """Eigenvector of the largest eigenvalue of the centred kernel: the pattern of embeddings that it moves the fastest.

    Args:
        K: (n, n) or (n, n, d, d).
        labels: (n,), of at least two classes.

    Returns:
        v (n,) of unit length, and the share in [0, 1] of it that is constant on every class. The share is 1 where the
        fastest pattern tells classes apart and nothing else.

    Raises:
        ValueError: other shapes, a kernel that is not finite.

    Examples:
        >>> a, b = torch.tensor([1.0, 1, -1, -1]), torch.tensor([1.0, -1, 1, -1])
        >>> labels = torch.tensor([0, 0, 1, 1])  # the pattern a tells the classes apart, b does not
        >>> [round(top_eigenvector(torch.outer(v, v), labels)[1], 3) for v in (a, b)]
        [1.0, 0.0]
    """
    traced, Y = _traced(K, labels)
    if traced.dim() != 2:
        raise refused("K", K, "one kernel, (n, n) or (n, n, d, d)")
    centred = _centred(traced)
    v = torch.linalg.eigh((centred + centred.T) / 2).eigenvectors[:, -1]
    on_classes = (Y.T @ v) ** 2 / Y.sum(0)  # of the sums over each class
    return v.cpu().numpy(), float(on_classes.sum())


def _traced(K, labels):
    """K as (..., n, n) in float64, its trace over d divided by d, and the one-hot labels (n, C)."""
    found = tensor("K", K).detach()
    if found.dim() > 3 and found.shape[-1] == found.shape[-2]:
        found = found.diagonal(dim1=-2, dim2=-1).double().mean(-1)
    if found.dim() not in (2, 3) or found.shape[-1] != found.shape[-2] or found.numel() == 0:
        raise refused("K", K, "(n, n) or (n, n, d, d), or R of them, (R, n, n) or (R, n, n, d, d)")
    if found.dim() == 2 and not found.isfinite().all():
        raise refused("K", K, "finite numbers")
    ids, classes = class_ids(labels, found.shape[-1])
    ids = torch.as_tensor(ids, device=found.device)
    return found.double(), F.one_hot(ids, classes).double()


def _centred(K):
    """H K H with H = I - 11'/n: the kernel's part that does not move all points alike."""
    rows = K.mean(-1, keepdim=True)
    columns = K.mean(-2, keepdim=True)
    return K - rows - columns + rows.mean(-2, keepdim=True)


def _plain(values):
    """The one number of a single kernel as a float; those of R kernels as they are."""
    return values.item() if values.dim() == 0 else values
