"""Contrastive losses: one pure function an equation, each a scalar that can be differentiated twice.

LS = linear separability, VA = variational analysis, SA = supervised alignment, SL = semantic learners, CS = content
and style. `z1` and `z2` are two views of the same n data points: z1[i] and z2[i] are a positive pair. sim is the
cosine. The losses differ in who the anchors are and which pairs the denominator holds: each docstring says both.
"""

from __future__ import annotations

import functools
import math
import numbers
import operator

import torch
import torch.nn.functional as F


def softplus(t):
    """log(1 + e^t), to full relative accuracy in both tails (torch's own is cut off at t = 20)."""
    return -F.logsigmoid(-t)


def nt_xent(z1, z2, tau):
    """SimCLR's NT-Xent, Chen et al. 2020, eq. 1.

    mean over views a of  -log[ exp(sim(a, a') / tau) / sum_{b != a} exp(sim(a, b) / tau) ],  a' being a's other view.

    Anchors: all 2n views. Denominator: the 2n - 1 other views, positive included.
    Libraries: lightly's NTXentLoss is the same; so are pytorch-metric-learning's NTXentLoss and SupConLoss for points
    that all have their own label, but for a small constant inside the log, and anchors left out where it gives 0.
    Args: z1, z2 (n, d), n >= 2, no zero row; tau > 0, the temperature. Range: > 0, at most log(2n - 1) + 2 / tau.
    Raises ValueError: shapes that differ or one point only, tau <= 0, a zero row, values that are not finite.
    """
    return softplus(_log_ratio(_unit_views(z1, z2, tau), tau)).mean()


def cl(z1, z2, tau):
    """The CL loss of SA Sec. 3 (unnumbered; SA trains with `dcl`), half of `nt_xent`: that is the mean of cl(z1, z2) and cl(z2, z1).

    mean_i  -log[ e(z1_i, z2_i) / sum_j (1{j != i} e(z1_i, z1_j) + e(z1_i, z2_j)) ],  e(a, b) = exp(sim(a, b) / tau).

    Anchors: the n views in z1. Denominator: 2n - 1 terms, both views of the other points and the positive.
    Args: z1, z2 (n, d), n >= 2; tau > 0. Range: > 0, at most log(2n - 1) + 2 / tau. Raises ValueError as `nt_xent`.
    """
    return softplus(_log_ratio(_unit_views(z1, z2, tau), tau, anchors=1)).mean()


def dcl(z1, z2, tau):
    """Decoupled contrastive loss, Yeh et al. 2022, eq. 6; the "CL" of SA's experiments (Sec. 5.1).

    mean over views a of  -sim(a, a') / tau + log sum_b exp(sim(a, b) / tau),  b over both views of the other points.

    Anchors: all 2n views. Denominator: 2n - 2 terms, the positive left out. Libraries: lightly 1.6's DCLLoss is the same.
    Args: z1, z2 (n, d), n >= 2; tau > 0. Range: within 2 / tau of log(2n - 2). Raises ValueError as `nt_xent` does.
    """
    return _log_ratio(_unit_views(z1, z2, tau), tau).mean()


def nscl(z1, z2, labels, tau):
    """Negatives-only supervised contrastive loss, Luthra et al. 2025, SA Sec. 3 (unnumbered), symmetric in the views.

    mean over views a of  -sim(a, a') / tau + log sum_b exp(sim(a, b) / tau),  b over the views of other classes.

    Anchors: all 2n views (SA's formula: those in z1). Denominator: two terms for each point of another class. The
    positive is left out, as in SA Sec. 3; SA Lemma 3 covers both choices. The positive pair is still the point's own:
    labels only remove terms, and with n different labels this is `dcl`.
    Args: z1, z2 (n, d), n >= 2; labels (n,), not all equal; tau > 0. Range: >= log 2 - 2 / tau; it can be negative.
    Raises ValueError as `nt_xent` does, and for labels of another length, or all equal (no negatives).
    """
    u = _unit_views(z1, z2, tau)
    labels = _labels("labels", labels, z1)
    return _log_ratio(u, tau, same=labels[:, None] == labels).mean()


def supcon(z1, z2, labels, tau):
    """Supervised contrastive loss L_out, Khosla et al. 2020, eq. 2; the "SCL" of SA Sec. 5.

    mean over views a of  -(1 / |P(a)|) sum_{p in P(a)} log[ exp(sim(a, p) / tau) / sum_{b != a} exp(sim(a, b) / tau) ].

    Anchors: all 2n views. Positives P(a): all other views of the class, |P(a)| = 2 n_class - 1. Denominator: the 2n - 1
    other views, positives included. The denominator is `nt_xent`'s: the two differ by the mean attraction only.
    Libraries: pytorch-metric-learning's SupConLoss is the same up to small constants, but averages over the anchors
    whose loss is not 0, and gives 0 for a single class; Khosla's code multiplies by tau / base_temperature, here by 1.
    Args: z1, z2 (n, d), n >= 2; labels (n,), not all equal; tau > 0. Range: > 0, at most log(2n - 1) + 2 / tau.
    Raises ValueError as `nscl` does.
    """
    u = _unit_views(z1, z2, tau)
    _, group, size = _labels("labels", labels, z1).unique(return_inverse=True, return_counts=True)
    u1, u2 = u.chunk(2)
    point = u1 + u2  # (n, d)
    class_sum = point.new_zeros(len(size), z1.shape[1]).index_add(0, group, point)
    # Without the anchor's own point it is exactly 0 for a class of one, so that a small loss survives rounding.
    attraction = (point * (class_sum[group] - point)).sum(-1) / 2  # (n,) to others of the class, mean of the two views
    others = 2 * size[group] - 2
    lost = (others * (u1 * u2).sum(-1) - attraction) / (others + 1) / tau  # positive less mean positive
    return softplus(_log_ratio(u, tau)).mean() + lost.mean()


def nt_xent_mean(z1, z2, tau):
    """NT-Xent with expectations for sums, LS and VA eq. 1.

    mean_i  log(1 + (1/n) sum_{j != i} (e(z1_i, z1_j) + e(z1_i, z2_j)) / e(z1_i, z2_i)),  e(a, b) = exp(sim(a, b)/tau).

    Anchors: the n views in z1. Negatives: 2n - 2 terms divided by n, then the positive. The indicator is on the *data*
    points: two points with the same embedding still repel. `cl` is this without the 1/n.
    Args: z1, z2 (n, d), n >= 2; tau > 0. Range: > 0, at most log 3 + 2 / tau. Raises ValueError as `nt_xent` does.
    """
    return softplus(_log_ratio(_unit_views(z1, z2, tau), tau, anchors=1) - math.log(len(z1))).mean()


def generalized(z1, z2, log_eta, psi=softplus):
    """The generalised NT-Xent loss, LS eq. 3 and 4 (VA eq. 4 and 5), in log space.

    mean_i  Psi( (1/n) sum_j eta(|z1_i - z2_j|^2 / 2) / eta(|z1_i - z2_i|^2 / 2) ).

    Anchors: the n rows z1_i = f(T x_i). Numerator: n terms z2_j = f(T' x_j), the positive included, no indicator. On
    the unit sphere with eta(t) = exp(-t / tau) and the default Psi(t) = log(1 + t) it is eq. 1 without its factor 2.
    Args: z1, z2 (n, d), n >= 2, on the sphere where the constraint set is the sphere; log_eta, log eta of a tensor of half
    squared distances, for example `lambda t: -t / tau`; psi, Psi as a function of the logarithm r of its argument.
    Range: in the range of Psi; >= log(1 + 1/n) for the default one.
    Raises ValueError: shapes that differ or one point only, values that are not finite, a loss that is not finite.
    """
    _check_points(z1=z1, z2=z2)
    _check_finite(z1=z1, z2=z2)
    log_weights = log_eta(_distances(z1, z2, [0.5] * z1.shape[1]))  # (n, n)
    log_ratio = torch.logsumexp(log_weights, 1) - math.log(len(z1)) - log_weights.diagonal()
    return _finite(psi(log_ratio).mean(), z1=z1, z2=z2)


def simplified(z, views, tau):
    """The simplified SimCLR loss, LS eq. 12, averaged over the points and the views.

    mean over i, k of  log[(1/n) sum_j exp(-|z_i - v_kj|^2 / (2 tau))] + |z_i - v_ki|^2 / (2 tau).

    Anchors: the n points. Denominator: n terms for each view k, one for each data point, the positive v_ki included.
    The gradient with respect to `z` alone is the partial one of LS Theorem 4.3 (times 1/n, from the mean over points).
    Args: z (n, d), n >= 2; views (m, n, d), views[k, j] = f(T_k(x_j)); tau > 0. Range: >= -log n; 0 where views coincide.
    Raises ValueError: wrong shapes or one point only, tau <= 0, values that are not finite or whose squares overflow.
    """
    _check_tau(tau)
    _check_points(z=z)
    if views.ndim != 3 or views.shape[1:] != z.shape or not len(views):
        raise _error("views", f"a tensor of shape {tuple(views.shape)}", f"of shape (m, {z.shape[0]}, {z.shape[1]})")
    log_weights = _distances(z, views, [-0.5 / tau] * z.shape[1])  # (m, n, n)
    log_shares = F.log_softmax(log_weights, -1).diagonal(dim1=-2, dim2=-1)  # (m, n)
    return _finite(-log_shares.mean() - math.log(len(z)), z=z, views=views)


def infonce(anchor, positive, negatives=None, tau=1.0, p=2, normalize=False):
    """InfoNCE with a temperature for each dimension: CS eq. 1, and its l_p form for boxes (CS Sec. 4).

    mean_i  -log[ exp(s(a_i, b_i)) / (exp(s(a_i, b_i)) + sum_m exp(s(a_i, c_m))) ],
    s(a, b) = -sum_k |a_k - b_k|^p / tau_k,  or with normalize=True  sum_k a_k b_k / tau_k  of the normalised vectors.

    Anchors: the n rows of `anchor` (CS eq. 1 compares its negatives with the positive: swap the two for that).
    Denominator: the positive and the M negatives; with negatives=None the n - 1 other rows of `positive`.
    CS eq. 4 has p=2, tau=2, and the other anchors as negatives.
    Args: anchor, positive (n, d); negatives (M, d) or None; tau > 0, or d of them; p >= 1, the exponent;
    normalize: similarity on the sphere, where p is not used. Range: >= 0.
    Raises ValueError: wrong shapes, no negatives, tau <= 0, p < 1, values that are not finite or whose powers overflow,
    and with normalize=True a zero row.
    """
    _check_points(anchor=anchor, positive=positive, least=2 if negatives is None else 1)
    others = positive if negatives is None else negatives
    if others.ndim != 2 or not len(others) or others.shape[1] != anchor.shape[1]:
        raise _error("negatives", f"a tensor of shape {tuple(others.shape)}", f"of shape (M >= 1, {anchor.shape[1]})")
    if not isinstance(p, numbers.Real) or not 1 <= p < math.inf:
        raise _error("p", repr(p), "a finite number >= 1")
    weights = 1 / _temperatures(tau, anchor)  # (d,)
    inputs = {"anchor": anchor, "positive": positive, "negatives": others}
    if normalize:
        a, b, c = _unit(**inputs).split([len(anchor), len(positive), len(others)])
        attraction, logits = (a * b * weights).sum(-1), (a * weights) @ c.T
    else:
        _check_finite(**inputs)
        attraction = -(_power(anchor - positive, p) * weights).sum(-1)
        logits = _distances(anchor, others, -weights, p)
    if negatives is None:
        logits.detach().fill_diagonal_(-math.inf)
    return _finite(softplus(_logsumexp(logits) - attraction).mean(), **inputs)


class _CrossEntropy(torch.autograd.Function):
    """(R,) mean over the rows of -log_softmax(logits (R, n, m))[i, i]. Its gradient takes the place of the logits: at R runs
    at once, new memory costs more than the arithmetic."""

    @staticmethod
    def forward(ctx, logits):
        positive = logits.diagonal(dim1=1, dim2=2)
        shift = logits.amax(2, keepdim=True)
        attraction = positive - shift[..., 0]
        total = logits.sub_(shift).exp_().sum(2, keepdim=True)
        logits.div_(total * logits.shape[1])
        positive.sub_(1 / logits.shape[1])
        ctx.gradient = logits
        return (total[..., 0].log() - attraction).mean(1)

    @staticmethod
    def backward(ctx, upstream):
        return ctx.gradient.mul_(upstream[:, None, None])


def infonce_runs(anchor, positive, negatives=None, tau=1.0, p=2, normalize=False):
    """`infonce` of R separate runs in one program: (R,) losses, each the same number up to rounding; differentiable once.

    With u_k = tau_k^(1/p), |a_k - b_k|^p / tau_k = |a_k / u_k - b_k / u_k|^p: the temperatures are a change of units. For p = 2
    the squares are expanded, around the mean of the candidates; what depends on the anchor alone leaves the softmax.
    Args: anchor, positive (R, n, d); negatives (R, M, d) or None; tau, a number or (R, d); p, normalize as for `infonce`.
    Raises ValueError: shapes that do not fit, a tau that is not positive, losses that are not finite.
    """
    runs = {"anchor": anchor, "positive": positive} | ({} if negatives is None else {"negatives": negatives})
    for name, x in runs.items():
        if x.ndim != 3 or x.shape[::2] != anchor.shape[::2] or (name == "positive" and x.shape != anchor.shape):
            raise _error(name, f"of shape {tuple(x.shape)}", "of shape (R, n, d), with R and d equal for all, as is n of a pair")
    tau = torch.as_tensor(tau, dtype=anchor.dtype, device=anchor.device)
    if tau.shape not in ((), anchor.shape[::2]) or not ((tau > 1e-30) & tau.isfinite()).all():
        raise _error("tau", f"a tensor of shape {tuple(tau.shape)}", f"a number > 0, or of shape {tuple(anchor.shape[::2])}")
    unit = tau.expand(anchor.shape[::2])[:, None] ** (-1 / (2 if normalize else p))
    points = {name: (F.normalize(x, dim=-1) if normalize else x) * unit for name, x in runs.items()}
    a, b = points["anchor"], points["positive"]
    if negatives is not None:  # the positive of anchor i is candidate i
        b = torch.cat([b, points["negatives"]], 1)
    if normalize:
        logits = a @ b.mT
    elif p == 2:
        middle = b.detach().mean(1, keepdim=True)
        a, b = a - middle, b - middle
        logits = torch.baddbmm(-b.square().sum(-1)[:, None], a, b.mT, alpha=2)
    else:
        logits = -_power(torch.cdist(a, b, p=p, compute_mode="donot_use_mm_for_euclid_dist"), p)
    if negatives is not None:
        hidden = ~torch.eye(a.shape[1], dtype=torch.bool, device=a.device)
        logits[:, :, :a.shape[1]].detach().masked_fill_(hidden, -math.inf)
    loss = _CrossEntropy.apply(logits)
    if not loss.isfinite().all():
        raise ValueError(f"{', '.join(runs)} give losses {loss.tolist()}: they must be finite")
    return loss


def symbol_context(symbols, contexts, ids=None):
    """InfoNCE between symbols and their contexts, SL eq. 2, with the scalar product as similarity.

    mean_i  -log[ exp(s_i . c_i) / sum_j exp(s_i . c_j) ].

    Anchors: the n symbols. Denominator: the n contexts of the batch, the positive c_i included; with `ids`, contexts of
    other occurrences of the anchor's symbol are left out. The softmax runs over contexts; SL Lemma A.1's runs over
    symbols: swap the two arguments for it.
    Args: symbols, contexts (n, d), n >= 2; ids (n,) symbol numbers, not all equal, or None. Range: >= 0, unbounded.
    Raises ValueError: shapes that differ or one pair only, ids of another length or all equal (no negatives), values
    that are not finite or whose products overflow.
    """
    _check_points(symbols=symbols, contexts=contexts)
    logits = symbols @ contexts.T
    ids = _labels("ids", range(len(symbols)) if ids is None else ids, symbols)
    logits.detach().masked_fill_(ids[:, None] == ids, -math.inf)
    loss = softplus(_logsumexp(logits) - (symbols * contexts).sum(-1)).mean()
    return _finite(loss, symbols=symbols, contexts=contexts)


def vicreg(z1, z2, weights=(25, 25, 1)):
    """VICReg, Bardes et al. 2022, eq. 1 to 6, as in LS B.1 and VA A.1.

    l1 mean_i |z1_i - z2_i|^2  +  l2 (v(z1) + v(z2))  +  l3 (c(z1) + c(z2)), with C the covariance (divisor n - 1) of z,
    v(z) = (1/d) sum_k max(0, 1 - sqrt(C_kk + 1e-4)),  c(z) = (1/d) sum_{k != l} C_kl^2.

    No anchors and no negatives: the variance term prevents collapse.
    Libraries: the authors' code, lightly and pytorch-metric-learning also divide the first term by d and halve l2.
    Args: z1, z2 (n, d), n >= 2; weights (l1, l2, l3), each >= 0. Range: >= 0.
    Raises ValueError: shapes that differ or one point only, negative weights, values that are not finite or overflow.
    """
    _check_points(z1=z1, z2=z2)
    if len(weights) != 3 or not all(0 <= w < math.inf for w in weights):
        raise _error("weights", repr(weights), "three finite numbers >= 0")
    attraction = (z1 - z2).square().sum(-1).mean()
    covariances = [z.T.cov(correction=1).reshape(z.shape[1], z.shape[1]) for z in (z1, z2)]
    variance = sum(F.relu(1 - (c.diagonal() + 1e-4).sqrt()).mean() for c in covariances)
    covariance = sum((c - c.diagonal().diag()).square().sum() / len(c) for c in covariances)
    return _finite(weights[0] * attraction + weights[1] * variance + weights[2] * covariance, z1=z1, z2=z2)


def byol(prediction, target):
    """BYOL's regression loss, Grill et al. 2020, eq. 2, as in LS B.1 and VA A.1 but on normalised vectors.

    mean_i |p_i / |p_i| - t_i / |t_i||^2  =  2 - 2 mean_i sim(p_i, t_i).

    No negatives. The target's gradient is the caller's decision: BYOL passes target.detach() and adds the swapped pair.
    Libraries: lightly's NegativeCosineSimilarity is this / 2 - 1. Args: prediction, target (n, d). Range: in [0, 4].
    Raises ValueError: shapes that differ, a zero row, values that are not finite.
    """
    _check_points(prediction=prediction, target=target, least=1)
    p, t = _unit(prediction=prediction, target=target).chunk(2)
    return (p - t).square().sum(-1).mean()


def _unit(**rows):
    """All rows, stacked and divided by their norms; by their largest entries first, so that no square overflows."""
    z = torch.cat(tuple(rows.values()))
    # The direction does not depend on the scale, so its derivative through the scale is 0.
    scale = torch.linalg.vector_norm(z.detach(), math.inf, -1, keepdim=True)
    if not (scale.isfinite() & (scale > 0)).all():
        _check_finite(**rows)
        name, row = next((name, i) for name, x in rows.items() for i in range(len(x)) if not x[i].any())
        raise _error(name, f"a tensor whose row {row} is zero", "without zero rows: the cosine needs a direction")
    z = z / scale
    return z / torch.linalg.vector_norm(z, dim=-1, keepdim=True)


def _unit_views(z1, z2, tau):
    """The 2n normalised views, z1's first, of checked arguments."""
    _check_tau(tau)
    _check_points(z1=z1, z2=z2)
    return _unit(z1=z1, z2=z2)


def _log_ratio(u, tau, anchors=2, same=None):
    """(anchors, n): log sum_b exp(sim(a, b) / tau) - sim(a, a') / tau for the views a of the first one or two blocks.

    u: (2n, d) views, a' the other view of a. b: both views of the other points, or of those that are not `same` (n, n).
    """
    n = len(u) // 2
    logits = (u[:anchors * n] / tau) @ u.T
    # A hidden pair weighs exp(-inf) = 0, and so does its gradient: autograd need not know.
    pairs = logits.detach().view(anchors, n, 2, n)
    if same is None:
        pairs.diagonal(dim1=1, dim2=3).fill_(-math.inf)
    else:
        pairs.add_(torch.where(same, -math.inf, 0.0)[:, None])
    return _logsumexp(logits).view(anchors, n) - (u[:n] * u[n:]).sum(-1) / tau


def _logsumexp(logits):
    """log sum exp of each row; `logits` is overwritten, which halves the memory of torch.logsumexp."""
    shift = logits.detach().amax(1, keepdim=True)
    return logits.sub_(shift).exp_().sum(1).log() + shift[:, 0]


def _power(x, p):
    return x.pow(p) if p % 2 == 0 else x.abs().pow(p)


def _distances(a, b, weights, p=2):
    """sum_k w_k |a_ik - b_jk|^p: (n, d), (..., m, d) to (..., n, m); squares stay unexpanded: near points cancel."""
    columns = zip(a.unbind(-1), b.unbind(-1), weights, strict=True)
    return functools.reduce(operator.add, (_power(x[:, None] - y[..., None, :], p) * w for x, y, w in columns))


def _error(name, value, allowed):
    return ValueError(f"{name} = {value} is not allowed: {name} must be {allowed}")


def _check_tau(tau):
    if not isinstance(tau, numbers.Real) or not 1e-30 < tau < math.inf:
        raise _error("tau", repr(tau), "a finite number > 0 (and > 1e-30: float32 holds no larger 1 / tau)")


def _temperatures(tau, like):
    """`tau` as a tensor of d temperatures."""
    t = torch.as_tensor(tau, dtype=like.dtype, device=like.device)
    if t.shape not in ((), like.shape[1:]) or not ((t > 1e-30) & t.isfinite()).all():
        raise _error("tau", repr(tau), f"a finite number > 0, or {like.shape[1]} of them")
    return t.expand(like.shape[1])


def _check_points(least=2, **points):
    """Each argument is a float32 or float64 tensor (n, d) of the first one's shape, n >= least, d >= 1."""
    shape = next(iter(points.values())).shape
    for name, x in points.items():
        if (x.ndim != 2 or x.shape != shape or shape[0] < least or shape[1] < 1
                or x.dtype not in (torch.float32, torch.float64)):
            raise _error(name, f"a {x.dtype} tensor of shape {tuple(x.shape)}", "float32 or float64, of shape (n, d) with "
                         f"n >= {least}, d >= 1, equal for {' and '.join(points)}")


def _labels(name, labels, like):
    """`labels` as a tensor (n,); at least two must differ."""
    labels = torch.as_tensor(labels, device=like.device)
    if labels.shape != like.shape[:1]:
        raise _error(name, f"of shape {tuple(labels.shape)}", f"one for each of the {len(like)} points")
    if (labels == labels[0]).all():
        raise _error(name, f"{labels[0].item()} for all points", "at least two different values: negatives are needed")
    return labels


def _check_finite(**inputs):
    for name, x in inputs.items():
        if bad := int((~x.isfinite()).sum()):
            raise _error(name, f"a tensor with {bad} of {x.numel()} values not finite", "finite")


def _finite(loss, **inputs):
    """`loss`, if it is finite; only otherwise are the inputs read, to say which is to blame."""
    if math.isfinite(loss.item()):
        return loss
    _check_finite(**inputs)
    raise ValueError(f"{', '.join(inputs)} give a loss of {loss.item()}: their differences, powers or products must be "
                     f"finite in {loss.dtype}")
