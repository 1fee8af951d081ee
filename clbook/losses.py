"""Contrastive losses: one pure function an equation, of one run or of R runs side by side, differentiable twice.

LS = linear separability, VA = variational analysis, SA = supervised alignment, SL = semantic learners, CS = content
and style. `z1` and `z2` are two views of the same n data points: z1[i] and z2[i] are a positive pair. sim is the
cosine. The losses differ in who the anchors are and which pairs the denominator holds: each docstring says both.

Leading axes are runs: points (..., n, d) give losses (...), each what its run gives alone (on a CPU thread to the bit).
tau is a number or a tensor that broadcasts against (..., n, d), such as (R, 1, 1), and may need a gradient. labels and
ids are (n,) or (..., n). Every loss checks what it is given and what it gives: ValueErrors name the argument. The same
without checks is `nt_xent.formula` and so on, for training loops and `torch.vmap`: nothing waits for the device there.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F

FEW = 4  # coordinates up to which squared distances are cheaper one by one than through torch.cdist


def checked(
    *points: str, least: int = 2, cosine: bool = False, per_dimension: bool = False
) -> Callable:
    """Makes a formula a public loss: arguments are checked before, the value after; `.formula` is the formula itself.

    points: its arguments (..., n, d) of equal shape, n >= least; cosine: rows need a direction; per_dimension: d taus.
    """

    def public(formula):
        signature = inspect.signature(formula)

        @functools.wraps(formula)
        def loss(*args, **kwargs):
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            values, z = given.arguments, given.arguments[points[0]]
            _check_points(
                {name: values[name] for name in points},
                least if values.get("negatives") is None else 1,
            )
            for name in values.keys() - points:
                values[name] = _accepted(name, values[name], z, z.shape[-1] if per_dimension else 1)
            inputs = {
                name: values[name]
                for name in (*points, "views", "negatives")
                if values.get(name) is not None
            }
            for name, x in inputs.items():
                if not _finite(x):
                    bad = int((~x.isfinite()).sum())
                    raise _error(
                        name, f"a tensor with {bad} of {x.numel()} values not finite", "finite"
                    )
            value = formula(*given.args, **given.kwargs)
            if not _finite(value):
                raise _blame(value, inputs, values.get("normalize", cosine))
            return value

        loss.formula = formula
        return loss

    return public


@checked("z1", "z2", cosine=True)
def nt_xent(z1: torch.Tensor, z2: torch.Tensor, tau: float | torch.Tensor) -> torch.Tensor:
    """SimCLR's NT-Xent, Chen et al. 2020, eq. 1.

    mean over views a of  -log[ exp(sim(a, a') / tau) / sum_{b != a} exp(sim(a, b) / tau) ],  a' being a's other view.

    Anchors: all 2n views. Denominator: the 2n - 1 other views, positive included.
    Libraries: pytorch-metric-learning's NTXentLoss, but for a small constant inside the log.
    Args: z1, z2 (..., n, d), n >= 2, no zero row; tau > 0. Returns: (...), > 0 and at most log(2n - 1) + 2 / tau.
    Raises ValueError: shapes that differ, one point only, tau <= 0, a zero row, values that are not finite.
    """
    positive, negatives = _similarities(_views(z1, z2), tau)
    return softplus(negatives - positive).mean(
        -1
    )  # -log[e^p / (e^p + sum e^s)] = log(1 + sum e^s / e^p)


@checked("z1", "z2", cosine=True)
def cl(z1: torch.Tensor, z2: torch.Tensor, tau: float | torch.Tensor) -> torch.Tensor:
    """The CL loss of SA Sec. 3 (unnumbered; SA trains with `dcl`); `nt_xent` is the mean of cl(z1, z2), cl(z2, z1).

    mean_i  -log[ e(z1_i, z2_i) / sum_j (1{j != i} e(z1_i, z1_j) + e(z1_i, z2_j)) ],  e(a, b) = exp(sim(a, b) / tau).

    Anchors: the n views in z1. Denominator: 2n - 1 terms, both views of the other points and the positive.
    Args, Returns, Raises: as `nt_xent`.
    """
    positive, negatives = _similarities(_views(z1, z2), tau, anchors=1)
    return softplus(negatives - positive).mean(-1)


@checked("z1", "z2", cosine=True)
def dcl(z1: torch.Tensor, z2: torch.Tensor, tau: float | torch.Tensor) -> torch.Tensor:
    """Decoupled contrastive loss, Yeh et al. 2022, eq. 6; the "CL" of SA's experiments (Sec. 5.1).

    mean over views a of  -sim(a, a') / tau + log sum_b exp(sim(a, b) / tau),  b over both views of the other points.

    Anchors: all 2n views. Denominator: 2n - 2 terms, the positive left out.
    Args: z1, z2 (..., n, d), n >= 2; tau > 0. Returns: (...), within 2 / tau of log(2n - 2). Raises as `nt_xent`.
    """
    positive, negatives = _similarities(_views(z1, z2), tau)
    return (negatives - positive).mean(-1)


@checked("z1", "z2", cosine=True)
def nscl(
    z1: torch.Tensor, z2: torch.Tensor, labels: torch.Tensor, tau: float | torch.Tensor
) -> torch.Tensor:
    """Negatives-only supervised contrastive loss, Luthra et al. 2025, SA Sec. 3 (unnumbered), symmetric in the views.

    mean over views a of  -sim(a, a') / tau + log sum_b exp(sim(a, b) / tau),  b over the views of other classes.

    Anchors: all 2n views (SA's formula: those in z1). Denominator: two terms for each point of another class, the
    positive left out, as in SA Sec. 3 (SA Lemma 3 covers both choices). The positive pair is still the point's own:
    labels only remove terms, and with n different labels this is `dcl`.
    Args: z1, z2 (..., n, d), n >= 2; labels (n,) or (..., n), not all equal; tau > 0.
    Returns: (...), >= log 2 - 2 / tau. Raises as `nt_xent`, and for labels of another shape or all equal.
    """
    positive, negatives = _similarities(
        _views(z1, z2), tau, same=labels[..., :, None] == labels[..., None, :]
    )
    return (negatives - positive).mean(-1)


@checked("z1", "z2", cosine=True)
def supcon(
    z1: torch.Tensor, z2: torch.Tensor, labels: torch.Tensor, tau: float | torch.Tensor
) -> torch.Tensor:
    """Supervised contrastive loss L_out, Khosla et al. 2020, eq. 2; the "SCL" of SA Sec. 5.

    mean over views a of  -(1 / |P(a)|) sum_{p in P(a)} log[ exp(sim(a, p) / tau) / sum_{b != a} exp(sim(a, b) / tau) ].

    Anchors: all 2n views. Positives P(a): all other views of the class, |P(a)| = 2 n_class - 1. Denominator: the 2n - 1
    other views, positives included. The denominator is `nt_xent`'s: the two differ by the mean attraction only.
    Args: z1, z2 (..., n, d), n >= 2; labels (n,) or (..., n), not all equal; tau > 0. Returns: (...), > 0 and at most
    log(2n - 1) + 2 / tau. Raises as `nscl`.
    """
    n, u, labels = z1.shape[-2], _views(z1, z2), labels.expand(z1.shape[:-1]).contiguous()
    point = u[..., :n, :] + u[..., n:, :]
    first, last = (
        torch.searchsorted(labels.sort(-1).values, labels, right=after) for after in (False, True)
    )
    place = first[..., None].expand_as(
        point
    )  # a number for each class, without a read from the device
    # Without the anchor's own point: exactly 0 for a class of one, so that a small loss survives rounding.
    peers = torch.zeros_like(point).scatter_add(-2, place, point).gather(-2, place) - point
    others = 2 * (last - first - 1)  # how many views of its class's other points
    attraction = (point / tau * peers).sum(-1) / 2  # to them, the mean of the two views
    positive, negatives = _similarities(u, tau)
    lost = (others * positive[..., :n] - attraction) / (
        others + 1
    )  # own positive less mean positive
    return softplus(negatives - positive).mean(-1) + lost.mean(-1)


@checked("z1", "z2", cosine=True)
def nt_xent_mean(z1: torch.Tensor, z2: torch.Tensor, tau: float | torch.Tensor) -> torch.Tensor:
    """NT-Xent with expectations for sums, LS and VA eq. 1.

    mean_i  log(1 + (1/n) sum_{j != i} (e(z1_i, z1_j) + e(z1_i, z2_j)) / e(z1_i, z2_i)),  e(a, b) = exp(sim(a, b)/tau).

    Anchors: the n views in z1. Negatives: 2n - 2 terms divided by n, then the positive. The indicator is on the *data*
    points: two points with the same embedding still repel. `cl` is this without the 1/n.
    Args: z1, z2 (..., n, d), n >= 2; tau > 0. Returns: (...), > 0 and at most log 3 + 2 / tau. Raises as `nt_xent`.
    """
    positive, negatives = _similarities(_views(z1, z2), tau, anchors=1)
    return softplus(negatives - math.log(z1.shape[-2]) - positive).mean(-1)


def softplus(t: torch.Tensor) -> torch.Tensor:
    """log(1 + e^t), to full relative accuracy in both tails (torch's own is cut off at t = 20)."""
    return -F.logsigmoid(-t)


@checked("z1", "z2")
def generalized(
    z1: torch.Tensor, z2: torch.Tensor, log_eta: Callable, psi: Callable = softplus
) -> torch.Tensor:
    """The generalised NT-Xent loss, LS eq. 3 and 4 (VA eq. 4 and 5), in log space.

    mean_i  Psi( (1/n) sum_j eta(|z1_i - z2_j|^2 / 2) / eta(|z1_i - z2_i|^2 / 2) ).

    Anchors: the n rows z1_i = f(T x_i). Numerator: n terms z2_j = f(T' x_j), the positive included, no indicator. On
    the unit sphere with eta(t) = exp(-t / tau) and the default Psi(t) = log(1 + t) it is eq. 1 without its factor 2.
    Args: z1, z2 (..., n, d), n >= 2; log_eta and psi, elementwise: log eta of half squared distances, for example
    `lambda t: -t / tau`, and Psi of the logarithm of its argument. Returns: (...). Raises ValueError: as `simplified`.
    """
    log_weights = log_eta(_distances(z1, z2) / 2)  # (..., n, n)
    positive = log_weights.diagonal(dim1=-2, dim2=-1)
    return psi(torch.logsumexp(log_weights, -1) - math.log(z1.shape[-2]) - positive).mean(-1)


@checked("z")
def simplified(z: torch.Tensor, views: torch.Tensor, tau: float | torch.Tensor) -> torch.Tensor:
    """The simplified SimCLR loss, LS eq. 12, averaged over the points and the views.

    mean over i, k of  log[(1/n) sum_j exp(-|z_i - v_kj|^2 / (2 tau))] + |z_i - v_ki|^2 / (2 tau).

    Anchors: the n points. Denominator: n terms for each view k, one for each data point, the positive v_ki included.
    The gradient with respect to `z` alone is the partial one of LS Theorem 4.3 (times 1/n, from the mean over points).
    Args: z (..., n, d), n >= 2; views (..., m, n, d), views[..., k, j, :] = f(T_k(x_j)); tau > 0.
    Returns: (...), >= -log n. Raises ValueError: wrong shapes, one point only, tau <= 0, values or squares not finite.
    """
    log_weights = _distances(z, views.flatten(-3, -2)) / (-2 * tau)  # (..., n, m n)
    log_shares = F.log_softmax(log_weights.unflatten(-1, views.shape[-3:-1]), -1)  # (..., n, m, n)
    positive = log_shares.diagonal(dim1=-3, dim2=-1)  # (..., m, n)
    return -positive.mean((-2, -1)) - math.log(z.shape[-2])


@checked("anchor", "positive", per_dimension=True)
def infonce(
    anchor: torch.Tensor,
    positive: torch.Tensor,
    negatives: torch.Tensor | None = None,
    tau: float | torch.Tensor = 1.0,
    p: float = 2,
    normalize: bool = False,
) -> torch.Tensor:
    """InfoNCE with a temperature for each dimension: CS eq. 1, and its l_p form for boxes (CS Sec. 4).

    mean_i  -log[ exp(s(a_i, b_i)) / (exp(s(a_i, b_i)) + sum_m exp(s(a_i, c_m))) ],
    s(a, b) = -sum_k |a_k - b_k|^p / tau_k,  or with normalize=True  sum_k a_k b_k / tau_k  of the normalised vectors.

    Anchors: the n rows of `anchor` (CS eq. 1 compares its negatives with the positive: swap the two for that).
    Denominator: the positive and the M negatives; with None the n - 1 other rows of `positive` (CS eq. 4: of `anchor`).
    Args: anchor, positive (..., n, d); negatives (M, d), (..., M, d) or None; tau > 0: one, (d,), (..., 1, 1) or
    (..., 1, d); p >= 1; normalize: on the sphere, without p. Returns: (...), >= 0. Raises ValueError: as `simplified`.
    """
    others = (
        positive
        if negatives is None
        else negatives.expand(*anchor.shape[:-2], *negatives.shape[-2:])
    )
    if normalize:
        a, b = _unit(anchor) / tau, _unit(positive)
        logits = _products(a, b if negatives is None else _unit(others))
    else:
        unit = tau ** (1 / p)  # |x|^p / tau = |x / unit|^p: a temperature is a change of units
        logits = -_distances(anchor, others, p, unit)
    if negatives is None:  # the positive of anchor i is candidate i
        attraction, hidden = logits.diagonal(dim1=-2, dim2=-1).clone(), _diagonal(anchor)
    else:
        attraction, hidden = (
            (a * b if normalize else -_power((anchor - positive) / unit, p)).sum(-1),
            None,
        )
    return softplus(_logsumexp(logits, hidden) - attraction).mean(-1)


@checked("symbols", "contexts")
def symbol_context(
    symbols: torch.Tensor, contexts: torch.Tensor, ids: torch.Tensor | None = None
) -> torch.Tensor:
    """InfoNCE between symbols and their contexts, SL eq. 2, with the scalar product as similarity.

    mean_i  -log[ exp(s_i . c_i) / sum_j exp(s_i . c_j) ].

    Anchors: the n symbols. Denominator: the n contexts of the batch, the positive c_i included; with `ids`, contexts of
    other occurrences of the anchor's symbol are left out. SL Lemma A.1's softmax is over symbols: swap the arguments.
    Args: symbols, contexts (..., n, d), n >= 2; ids (n,) or (..., n), not all equal, or None. Returns: (...), >= 0.
    Raises ValueError: wrong shapes, one pair only, ids all equal, products not finite.
    """
    hidden = (
        _diagonal(symbols) if ids is None else ids[..., :, None] == ids[..., None, :]
    )  # (n, n) or (..., n, n)
    products = _products(symbols, contexts)
    attraction = products.diagonal(dim1=-2, dim2=-1).clone()
    return softplus(_logsumexp(products, hidden) - attraction).mean(-1)


@checked("z1", "z2")
def vicreg(
    z1: torch.Tensor, z2: torch.Tensor, weights: Sequence[float] = (25, 25, 1)
) -> torch.Tensor:
    """VICReg, Bardes et al. 2022, eq. 1 to 6, as in LS B.1 and VA A.1.

    l1 mean_i |z1_i - z2_i|^2  +  l2 (v(z1) + v(z2))  +  l3 (c(z1) + c(z2)), with C the covariance (divisor n - 1) of z,
    v(z) = (1/d) sum_k max(0, 1 - sqrt(C_kk + 1e-4)),  c(z) = (1/d) sum_{k != l} C_kl^2.
    No anchors and no negatives: the variance term prevents collapse.
    Args: z1, z2 (..., n, d), n >= 2; weights (l1, l2, l3), each >= 0. Returns: (...), >= 0. Raises as `generalized`.
    """
    loss = weights[0] * (z1 - z2).square().sum(-1).mean(-1)
    for z in (z1, z2):
        centred = z - z.mean(-2, keepdim=True)
        c = _products(centred.mT, centred.mT) / (z.shape[-2] - 1)  # (..., d, d)
        variance = F.relu(1 - (c.diagonal(dim1=-2, dim2=-1) + 1e-4).sqrt()).mean(-1)
        covariance = c.masked_fill(_diagonal(c), 0).square().sum(-1).mean(-1)
        loss = loss + weights[1] * variance + weights[2] * covariance
    return loss


@checked("prediction", "target", cosine=True, least=1)
def byol(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """BYOL's regression loss, Grill et al. 2020, eq. 2, as in LS B.1 and VA A.1 but on normalised vectors.

    mean_i |p_i / |p_i| - t_i / |t_i||^2  =  2 - 2 mean_i sim(p_i, t_i).

    No negatives. The target's gradient is the caller's decision: BYOL passes target.detach() and adds the swapped pair.
    Args: prediction, target (..., n, d). Returns: (...), in [0, 4]. Raises ValueError: shapes that differ, a zero row.
    """
    return (_unit(prediction) - _unit(target)).square().sum(-1).mean(-1)


def _similarities(u, tau, anchors=2, same=None):
    """(..., anchors n) sim(a, a') / tau and log sum_b exp(sim(a, b) / tau), of `_views` u: a the first n or all.

    a' is the other view of a; b runs over both views of the other points, or of those that are not `same` (..., n, n).
    """
    n, a = u.shape[-2] // 2, u[..., : anchors * u.shape[-2] // 2, :] / tau
    positive = (a[..., :n, :] * u[..., n:, :]).sum(-1)
    negatives = _logsumexp(_products(a, u), _diagonal(u[..., :n, :]) if same is None else same)
    return positive.tile(anchors), negatives


def _views(z1, z2):
    return _unit(torch.cat([z1, z2], -2))  # (..., 2n, d)


def _unit(z):
    """The rows, divided by their norms; by their largest entries first, so that no square overflows."""
    z = z / torch.linalg.vector_norm(
        z.detach(), math.inf, -1, keepdim=True
    )  # no direction depends on this scale
    return z / torch.linalg.vector_norm(z, dim=-1, keepdim=True)


def _diagonal(z):
    return torch.eye(z.shape[-2], dtype=torch.bool, device=z.device)  # (n, n)


def _logsumexp(logits, hidden=None):
    """log sum exp of each row, without the `hidden` (..., n, n) of each (n, n) block. Overwrites `logits`."""
    if hidden is not None:  # autograd need not know: exp(-inf) is 0, and so is its gradient
        n = hidden.shape[-1]
        blocks = logits.detach().unflatten(-1, (-1, n)).unflatten(-3, (-1, n))
        blocks.add_(torch.where(hidden, -math.inf, 0.0)[..., None, :, None, :])
    shift = logits.detach().amax(-1, keepdim=True)
    return logits.sub_(shift).exp_().sum(-1).log() + shift[..., 0]


def _products(a, b):
    """(..., n, m) scalar products of rows (..., n, d) and (..., m, d), to the same bits alone and beside other runs."""
    # BLAS goes another way for one row or column, for few numbers, and by where a run begins: hence the zeros.
    n, m, runs = a.shape[-2], b.shape[-2], np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (_filled(x.expand(*runs, *x.shape[-2:])) for x in (a, b))
    filled = a @ b.mT
    return filled if filled.shape[-2:] == (n, m) else filled[..., :n, :m].contiguous()


def _filled(x):
    n, d = (-size % 8 for size in x.shape[-2:])
    return F.pad(x, (0, d, 0, n)) if n or d else x


def _distances(a, b, p=2, unit=None):
    """(..., n, m) sum_k |(a_ik - b_jk) / unit_k|^p from differences, not expanded: near points cancel."""
    if p == 2 and unit is None and a.shape[-1] <= FEW:
        columns = zip(a.unbind(-1), b.unbind(-1), strict=True)
        return functools.reduce(
            torch.add, (_power(x[..., :, None] - y[..., None, :], 2) for x, y in columns)
        )
    middle = b.detach().mean(
        -2, keepdim=True
    )  # else division and products round differences of points far from 0
    a, b = ((x - middle if unit is None else (x - middle) / unit) for x in (a, b))
    if p == 2 and a.shape[-1] > 1:
        return _SquaredDistances.apply(a, b)
    return _power(a[..., :, None, :] - b[..., None, :, :], p).sum(-1)


def _power(
    x, p
):  # only p = 1, 2 have the same bits beside others: pow itself rounds the ends of a tensor otherwise
    return x.square() if p == 2 else x.abs() if p == 1 else x.abs() ** p


class _SquaredDistances(torch.autograd.Function):
    """|a_i - b_j|^2 from differences, its gradient from products: no (..., n, m, d) is held. Differentiable twice."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square()

    @staticmethod
    def backward(ctx, slopes):
        a, b = ctx.saved_tensors
        return (
            2 * (slopes.sum(-1, keepdim=True) * a - _products(slopes, b.mT)),
            2 * (slopes.mT.sum(-1, keepdim=True) * b - _products(slopes.mT, a.mT)),
        )


def _error(name, value, allowed):
    return ValueError(f"{name} = {value} is not allowed: {name} must be {allowed}")


def _check_points(points, least):
    """Each is a float32 or float64 tensor (..., n, d) of the first one's shape, n >= least, d >= 1."""
    shape = getattr(next(iter(points.values())), "shape", ())
    for name, x in points.items():
        if (
            not isinstance(x, torch.Tensor)
            or x.ndim < 2
            or x.shape != shape
            or shape[-2] < least
            or shape[-1] < 1
            or x.dtype not in (torch.float32, torch.float64)
        ):
            kind, size = (
                f"{getattr(x, 'dtype', 'plain')} {type(x).__name__.lower()}",
                tuple(getattr(x, "shape", ())),
            )
            raise _error(
                name,
                f"a {kind} of shape {size}",
                "a torch tensor, float32 or float64, (..., n, d) with "
                f"n >= {least}, d >= 1, equal for {' and '.join(points)}",
            )


def _accepted(name, x, z, d):
    """The argument `name` of a loss of points z (..., n, d), as its formula takes it; tau is one number or d."""
    if name in ("labels", "ids", "tau") and not isinstance(x, numbers.Real | None):
        x = torch.as_tensor(x, dtype=z.dtype if name == "tau" else None, device=z.device)
    shape, (*runs, n, width) = tuple(getattr(x, "shape", ())), z.shape
    match name:
        case _ if x is None:
            return None
        case "tau" if (
            not all(
                have in (1, want)
                for have, want in zip(shape[::-1], (d, 1, *runs[::-1]), strict=False)
            )
            or not ((t := torch.as_tensor(x)) > 1e-30).all()
            or not t.isfinite().all()
        ):
            raise _error(
                name,
                repr(x),
                "a finite number > 0 (and > 1e-30: float32 holds no larger 1 / tau), or such a "
                f"tensor that broadcasts against {(*runs, 1, d)}",
            )
        case "labels" | "ids" if shape not in ((n,), (*runs, n)):
            raise _error(name, f"of shape {shape}", f"one for each of the {n} points")
        case "labels" | "ids" if (alike := (x == x[..., :1]).all(-1)).any():
            raise _error(
                name,
                f"{x[alike].flatten()[0]} for all points",
                "at least two values: negatives are needed",
            )
        case "views" if len(shape) < 3 or not shape[-3] or shape[:-3] + shape[-2:] != z.shape:
            raise _error(
                name,
                f"a tensor of shape {shape}",
                f"of shape (..., m >= 1, n, d) for z {tuple(z.shape)}",
            )
        case "negatives" if (
            len(shape) < 2
            or not shape[-2]
            or shape[-1] != width
            or shape[:-2] not in ((), (*runs,))
        ):
            raise _error(
                name,
                f"a tensor of shape {shape}",
                f"of shape (M >= 1, {width}), or such for each run",
            )
        case "p" if not (isinstance(x, numbers.Real) and 1 <= x < math.inf):
            raise _error(name, repr(x), "a finite number >= 1")
        case "weights" if len(x) != 3 or not all(0 <= w < math.inf for w in x):
            raise _error(name, repr(x), "three finite numbers >= 0")
    return x


def _finite(x):
    """Whether all of x is. A sum that is finite says so at once."""
    return math.isfinite(x.detach().sum()) or bool(x.isfinite().all())


def _blame(value, inputs, cosine):
    """The error of a loss that is not finite though its inputs are: a row without direction, or an overflow."""
    for name, x in inputs.items():
        if cosine and not x.any(-1).all():
            row = ", ".join(map(str, (~x.any(-1)).nonzero()[0].tolist()))
            return _error(
                name,
                f"a tensor whose row {row} is zero",
                "without zero rows: the cosine needs a direction",
            )
    return ValueError(
        f"{', '.join(inputs)} give a loss of {value.tolist()}: their differences, powers or products "
        f"(psi is given a logarithm) must be finite in {value.dtype}"
    )
