"""Contrastive losses: one plain function an equation.

LS = linear separability, VA = variational analysis, SA = supervised alignment, SL = semantic
learners, CS = content and style.

- `z1` and `z2` are two views of the same n data points: z1[i] and z2[i] are a positive pair. sim is
  the cosine. The losses differ in who the anchors are and in which pairs the denominator holds: each
  docstring says both.
- Leading axes are runs: points (..., n, d) give losses (...).
- tau is a number, or a tensor that broadcasts against (..., n, d), such as (R, 1, 1), and may need
  a gradient. labels and ids are (n,) or (..., n).
- Losses are differentiable twice, and in forward mode. They work under autocast, torch.compile and
  torch.vmap. Points of 16 bits are taken to float32, and so is the loss.
- A wrong type, shape or number is a ValueError that names the argument. Values of tensors are not
  read: a NaN or a zero row without a direction makes the loss NaN. With the environment variable
  CLBOOK_CHECK=1 they are read, and such values are a ValueError too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from clbook import _arguments
from clbook._arguments import applied, check_values, points, temperature, undefined


def log_odds(
    z1: Tensor,
    z2: Tensor,
    tau: float | Tensor,
    both: bool = True,
    same: Tensor | None = None,
) -> Tensor:
    """How much the negatives of each anchor weigh, together, against its positive.

        log[ sum_b exp(sim(a, b) / tau) / exp(sim(a, a') / tau) ],  a' the other view of a's point,
        b over both views of the other points

    Args:
        z1: (..., n, d), the first views.
        z2: (..., n, d), the second views.
        tau: the temperature.
        both: whether all 2n views are anchors, or those in z1 alone.
        same: booleans (..., n, n). b is not over the points that are the same as a's. With None
            each point is the same as itself only.

    Returns:
        (..., 2n), or (..., n) if not both.

    Examples:
        >>> z = torch.ones(4, 2)  # all views at one place: six negatives for a positive
        >>> log_odds(z, z, tau=0.5, both=False).exp().round()
        tensor([6., 6., 6., 6.])
    """
    n = z1.shape[-2]
    anchors = 2 * n if both else n
    z = unit(torch.cat([z1, z2], -2))  # (..., 2n, d)
    logits = matmul(z[..., :anchors, :] / tau, z.mT)  # (..., anchors, 2n) cosine / tau
    first, second = logits.diagonal(n, -2, -1), logits.diagonal(-n, -2, -1)
    positive = torch.cat([first, second], -1)  # the second is empty if z1 alone has the anchors
    same = own_point(z1) if same is None else same
    hidden = same.tile(anchors // n, 2)
    negatives = logits.masked_fill(hidden, -math.inf).logsumexp(-1)
    return negatives - positive


def softplus(t: Tensor) -> Tensor:
    """log(1 + e^t): of log odds t = log(negatives / positive) it is -log[positive / (positive + negatives)].

    To full relative accuracy in both tails, so that a small loss survives rounding: beyond 40 it is
    t, beside which e^-40 is lost.

    Examples:
        >>> round(float(softplus(torch.tensor(0.0))), 3)  # equal weights: log 2
        0.693
        >>> t = torch.tensor(-80.0)
        >>> float((1 + t.exp()).log()), float(softplus(t)) > 0  # log(1 + e^t) as written is 0
        (0.0, True)
    """
    return F.softplus(t, threshold=40)


def nt_xent(
    z1: Tensor,
    z2: Tensor,
    tau: float | Tensor,
) -> Tensor:
    """SimCLR's NT-Xent (Chen et al. 2020, eq. 1), with a' for the other view of a's point.

        mean over views a of  -log[ exp(sim(a, a') / tau) / sum_{b != a} exp(sim(a, b) / tau) ]

    Anchors: all 2n views. Denominator: the 2n - 1 other views, the positive included.
    pytorch-metric-learning's NTXentLoss is the same, but for a small constant inside the log.

    Args:
        z1: (..., n, d), the first views of n >= 2 points.
        z2: (..., n, d), the second views of the same points.
        tau: the temperature, > 0.

    Returns:
        (...), > 0 and at most log(2n - 1) + 2 / tau. NaN where a row is 0.

    Raises:
        ValueError: shapes or types that differ, one point only, tau <= 0. With CLBOOK_CHECK=1 also
            a zero row, and values that are not finite.

    Examples:
        >>> z = torch.eye(4)  # four directions; both views of a point lie on its own
        >>> round(float(nt_xent(z, z, tau=0.5)), 3)  # log(1 + 6 / e^2)
        0.594
        >>> same = torch.ones(4, 2)
        >>> round(float(nt_xent(same, same, tau=0.5)), 3)  # collapsed: log(2n - 1) = log 7
        1.946
    """
    z1, z2 = points(z1=z1, z2=z2)
    tau = temperature(tau, z1)
    # -log[ positive / (positive + negatives) ] of each anchor, see `softplus`
    loss = softplus(log_odds(z1, z2, tau)).mean(-1)
    return check_values(loss, cosine=True, z1=z1, z2=z2, tau=tau)


def cl(
    z1: Tensor,
    z2: Tensor,
    tau: float | Tensor,
) -> Tensor:
    """The CL loss of SA Sec. 3 (without a number there; SA trains with `dcl`).

        mean_i  -log[ e(z1_i, z2_i) / sum_j (1{j != i} e(z1_i, z1_j) + e(z1_i, z2_j)) ],
        e(a, b) = exp(sim(a, b) / tau)

    Anchors: the n views in z1. Denominator: 2n - 1 terms, both views of the other points and the
    positive. `nt_xent` is the mean of cl(z1, z2) and cl(z2, z1).

    Args:
        z1: (..., n, d), the anchors.
        z2: (..., n, d), the other views of the same points.
        tau: the temperature, > 0.

    Returns:
        (...), > 0 and at most log(2n - 1) + 2 / tau. NaN where a row is 0.

    Raises:
        ValueError: as `nt_xent`.

    Examples:
        >>> z1, z2 = torch.tensor([[1.0, 0], [0, 1]]), torch.tensor([[1.0, 1], [0, 1]])
        >>> round(float(cl(z1, z2, tau=0.5)), 2), round(float(cl(z2, z1, tau=0.5)), 2)
        (0.46, 0.81)
        >>> mean = (cl(z1, z2, tau=0.5) + cl(z2, z1, tau=0.5)) / 2
        >>> bool(torch.isclose(mean, nt_xent(z1, z2, tau=0.5)))
        True
    """
    z1, z2 = points(z1=z1, z2=z2)
    tau = temperature(tau, z1)
    loss = softplus(log_odds(z1, z2, tau, both=False)).mean(-1)
    return check_values(loss, cosine=True, z1=z1, z2=z2, tau=tau)


def dcl(
    z1: Tensor,
    z2: Tensor,
    tau: float | Tensor,
) -> Tensor:
    """Decoupled contrastive loss (Yeh et al. 2022, eq. 6), the "CL" of SA's experiments (Sec. 5.1).

        mean over views a of  -sim(a, a') / tau + log sum_b exp(sim(a, b) / tau),
        b over both views of the other points

    Anchors: all 2n views. Denominator: 2n - 2 terms. The positive is left out.

    Args:
        z1: (..., n, d), the first views of n >= 2 points.
        z2: (..., n, d), the second views of the same points.
        tau: the temperature, > 0.

    Returns:
        (...), within 2 / tau of log(2n - 2). NaN where a row is 0.

    Raises:
        ValueError: as `nt_xent`.

    Examples:
        >>> same = torch.ones(4, 2)
        >>> round(float(dcl(same, same, tau=0.5)), 3)  # collapsed: log(2n - 2) = log 6
        1.792
        >>> z = torch.eye(4)
        >>> round(float(dcl(z, z, tau=0.5)), 3)  # log 6 - 1 / tau: it may be negative
        -0.208
    """
    z1, z2 = points(z1=z1, z2=z2)
    tau = temperature(tau, z1)
    loss = log_odds(z1, z2, tau).mean(-1)
    return check_values(loss, cosine=True, z1=z1, z2=z2, tau=tau)


def nscl(
    z1: Tensor,
    z2: Tensor,
    labels: Tensor,
    tau: float | Tensor,
) -> Tensor:
    """Negatives-only supervised contrastive loss (Luthra et al. 2025, SA Sec. 3).

        mean over views a of  -sim(a, a') / tau + log sum_b exp(sim(a, b) / tau),
        b over the views of other classes

    Anchors: all 2n views (SA's formula: those in z1). Denominator: two terms for each point of
    another class. The positive is left out, as in SA Sec. 3 (SA Lemma 3 covers both choices). The
    positive pair is still the point's own: labels only remove terms, and with n different labels
    this is `dcl`.

    Args:
        z1: (..., n, d), the first views of n >= 2 points.
        z2: (..., n, d), the second views of the same points.
        labels: (n,) or (..., n), numbers, not all equal.
        tau: the temperature, > 0.

    Returns:
        (...), >= log 2 - 2 / tau. NaN where a row is 0, a label is NaN, or all labels are equal.

    Raises:
        ValueError: as `nt_xent`, and for labels of another length or that are no numbers. With
            CLBOOK_CHECK=1 also for labels that are all equal or not finite.

    Examples:
        >>> z = torch.eye(2)[[0, 0, 1, 1]]  # each class at one place, at right angles to the other
        >>> round(float(nscl(z, z, torch.tensor([0, 0, 1, 1]), tau=0.5)), 3)  # log 4 - 1 / tau
        -0.614
        >>> each = torch.tensor([0, 1, 2, 3])  # a class for each point
        >>> bool(torch.isclose(nscl(z, z, each, tau=0.5), dcl(z, z, tau=0.5)))
        True
    """
    z1, z2 = points(z1=z1, z2=z2)
    tau = temperature(tau, z1)
    labels = _arguments.labels("labels", labels, z1)
    loss = log_odds(z1, z2, tau, same=alike(labels)).mean(-1)
    loss = undefined(loss, labels)
    return check_values(loss, cosine=True, z1=z1, z2=z2, labels=labels, tau=tau)


def supcon(
    z1: Tensor,
    z2: Tensor,
    labels: Tensor,
    tau: float | Tensor,
) -> Tensor:
    """Supervised contrastive loss L_out (Khosla et al. 2020, eq. 2), the "SCL" of SA Sec. 5.

        mean over views a of  -(1 / |P(a)|) sum_{p in P(a)} log[ e(a, p) / sum_{b != a} e(a, b) ],
        e(a, b) = exp(sim(a, b) / tau)

    Anchors: all 2n views. Positives P(a): all other views of the class, |P(a)| = 2 n_class - 1.
    Denominator: the 2n - 1 other views, the positives included. This is `nt_xent`'s denominator:
    the two losses differ by the mean attraction only.

    Args:
        z1: (..., n, d), the first views of n >= 2 points.
        z2: (..., n, d), the second views of the same points.
        labels: (n,) or (..., n), numbers, not all equal.
        tau: the temperature, > 0.

    Returns:
        (...), > 0 and at most log(2n - 1) + 2 / tau. NaN where a row is 0 or a label is NaN.

    Raises:
        ValueError: as `nscl`.

    Examples:
        >>> z = torch.tensor([[1.0], [1], [-1], [-1]])  # two classes, opposite each other
        >>> round(float(supcon(z, z, torch.tensor([0, 0, 1, 1]), tau=0.5)), 2)  # log(3 + 4 / e^4)
        1.12
        >>> each = torch.tensor([0, 1, 2, 3])  # a class for each point
        >>> bool(torch.isclose(supcon(z, z, each, tau=0.5), nt_xent(z, z, tau=0.5)))
        True
    """
    z1, z2 = points(z1=z1, z2=z2)
    tau = temperature(tau, z1)
    labels = _arguments.labels("labels", labels, z1)
    peer = alike(labels) & ~own_point(z1)  # (..., n, n)
    own_pair = nt_xent(z1, z2, tau)  # the loss if a' were the only positive

    # What the attraction to all of P(a) is less: P(a) is a' and both views of the class's peers.
    # The sum of the cosines with peers is one product with the sum of peers.
    first, second = unit(z1), unit(z2)
    both = first + second
    peers = matmul(peer.to(both.dtype), both)  # (..., n, d), the sum over the peers of a point
    count = 2 * peer.sum(-1)
    positive = (first / tau * second).sum(-1)  # (..., n) cosine / tau
    attraction = (both / tau * peers).sum(-1) / 2  # (..., n), the mean of a point's two views
    lost = (count * positive - attraction) / (count + 1)
    loss = undefined(own_pair + lost.mean(-1), labels)
    return check_values(loss, cosine=True, z1=z1, z2=z2, labels=labels, tau=tau)


def nt_xent_mean(
    z1: Tensor,
    z2: Tensor,
    tau: float | Tensor,
) -> Tensor:
    """NT-Xent with expectations for sums (LS and VA, eq. 1).

        mean_i  log(1 + (1/n) sum_{j != i} (e(z1_i, z1_j) + e(z1_i, z2_j)) / e(z1_i, z2_i)),
        e(a, b) = exp(sim(a, b) / tau)

    Anchors: the n views in z1. Negatives: 2n - 2 terms divided by n, then the positive. The
    indicator is on the *data* points: two points with the same embedding still repel. `cl` is this
    without the 1/n.

    Args:
        z1: (..., n, d), the anchors.
        z2: (..., n, d), the other views of the same points.
        tau: the temperature, > 0.

    Returns:
        (...), > 0 and at most log 3 + 2 / tau. NaN where a row is 0.

    Raises:
        ValueError: as `nt_xent`.

    Examples:
        >>> few, many = torch.ones(4, 2), torch.ones(1000, 2)  # collapsed: log(3 - 2 / n)
        >>> [round(float(nt_xent_mean(same, same, tau=0.5)), 2) for same in (few, many)]
        [0.92, 1.1]
        >>> [round(float(cl(same, same, tau=0.5)), 2) for same in (few, many)]  # it grows
        [1.95, 7.6]
    """
    z1, z2 = points(z1=z1, z2=z2)
    tau = temperature(tau, z1)
    odds = log_odds(z1, z2, tau, both=False)  # (..., n)
    loss = softplus(odds - math.log(z1.shape[-2])).mean(-1)
    return check_values(loss, cosine=True, z1=z1, z2=z2, tau=tau)


def generalized(
    z1: Tensor,
    z2: Tensor,
    log_eta: Callable[[Tensor], Tensor],
    psi: Callable[[Tensor], Tensor] = softplus,
) -> Tensor:
    """The generalised NT-Xent loss (LS eq. 3 and 4, VA eq. 4 and 5), in log space.

        mean_i  Psi( (1/n) sum_j eta(|z1_i - z2_j|^2 / 2) / eta(|z1_i - z2_i|^2 / 2) )

    Anchors: the n rows z1_i = f(T x_i). Numerator: n terms z2_j = f(T' x_j), the positive included,
    no indicator. On the unit sphere with eta(t) = exp(-t / tau) and the default Psi(t) = log(1 + t)
    it is eq. 1 without its factor 2.

    Args:
        z1: (..., n, d), the anchors, n >= 2.
        z2: (..., n, d), the other views of the same points.
        log_eta: log eta of half squared distances, elementwise, such as `lambda t: -t / tau`.
        psi: Psi of the *logarithm* of its argument, elementwise.

    Returns:
        (...)

    Raises:
        ValueError: shapes or types that differ, one point only, log_eta or psi no function. With
            CLBOOK_CHECK=1 also values, or squares of distances, that are not finite.

    Examples:
        >>> same, far = torch.ones(4, 2), torch.diag(torch.full((4,), 100.0))
        >>> round(float(generalized(same, same, lambda t: -t / 0.5)), 3)  # collapsed: log 2
        0.693
        >>> round(float(generalized(far, far, lambda t: -t / 0.5)), 3)  # far apart: log(1 + 1 / n)
        0.223
    """
    z1, z2 = points(z1=z1, z2=z2)
    n = z1.shape[-2]
    halves = squared_distances(z1, z2) / 2
    log_weights = applied("log_eta", log_eta, halves)  # (..., n, n)
    positive = log_weights.diagonal(dim1=-2, dim2=-1)
    log_mean = log_weights.logsumexp(-1) - math.log(n)
    loss = applied("psi", psi, log_mean - positive).mean(-1)
    return check_values(loss, z1=z1, z2=z2)


def simplified(
    z: Tensor,
    views: Tensor,
    tau: float | Tensor,
) -> Tensor:
    """The simplified SimCLR loss (LS eq. 12), averaged over the points and the views.

        mean over i, k of  log[(1/n) sum_j exp(-|z_i - v_kj|^2 / (2 tau))] + |z_i - v_ki|^2 / (2 tau)

    Anchors: the n points. Denominator: n terms for each view k, one for each data point, the
    positive v_ki included. The gradient with respect to `z` alone is the partial one of LS
    Theorem 4.3 (times 1/n, from the mean over points).

    Args:
        z: (..., n, d), the anchors, n >= 2.
        views: (..., m, n, d), m views of each point: views[..., k, j, :] = f(T_k(x_j)).
        tau: the temperature, > 0, in units of a squared distance.

    Returns:
        (...), >= -log n.

    Raises:
        ValueError: wrong shapes or types, one point only, tau <= 0. With CLBOOK_CHECK=1 also
            values, or squares of distances, that are not finite.

    Examples:
        >>> same, far = torch.ones(4, 2), torch.diag(torch.full((4,), 100.0))
        >>> round(float(simplified(same, same[None], tau=0.1).exp()), 3)  # collapsed: the loss is 0
        1.0
        >>> round(float(simplified(far, far[None], tau=0.1).exp()), 3)  # far apart: it is -log n
        0.25
    """
    (z,) = points(z=z)
    views = _arguments.views(views, z)
    tau = temperature(tau, z)
    n = z.shape[-2]
    squares = squared_distances(z.unsqueeze(-3), views)  # (..., m, n, n)
    if isinstance(tau, Tensor):
        tau = tau.unsqueeze(-1)  # beside the axis of views
    log_shares = (squares / (-2 * tau)).log_softmax(-1)
    positive = log_shares.diagonal(dim1=-2, dim2=-1)  # (..., m, n)
    loss = -math.log(n) - positive.mean((-2, -1))
    return check_values(loss, z=z, views=views, tau=tau)


def infonce(
    anchor: Tensor,
    positive: Tensor,
    negatives: Tensor | None = None,
    tau: float | Tensor = 1.0,
    p: float = 2,
    normalize: bool = False,
) -> Tensor:
    """InfoNCE with a temperature for each dimension (CS eq. 1), and its l_p form (CS Sec. 4).

        mean_i  -log[ exp(s(a_i, b_i)) / (exp(s(a_i, b_i)) + sum_m exp(s(a_i, c_m))) ],
        s(a, b) = -sum_k |a_k - b_k|^p / tau_k,
        or with normalize=True  s(a, b) = sum_k a_k b_k / tau_k  of the normalised vectors

    Anchors: the n rows of `anchor` (CS eq. 1 compares its negatives with the positive: swap the two
    for that). Denominator: the positive and the M negatives. With None the negatives are the n - 1
    other rows of `positive` (CS eq. 4: of `anchor`).

    Args:
        anchor: (..., n, d), n >= 2, or n >= 1 with negatives.
        positive: (..., n, d).
        negatives: (M, d), (..., M, d) or None.
        tau: the temperature, > 0: one, (d,), (..., 1, 1) or (..., 1, d).
        p: the power of the distance, >= 1.
        normalize: on the sphere, without p.

    Returns:
        (...), >= 0. NaN where normalize is True and a row is 0.

    Raises:
        ValueError: wrong shapes or types, one point only, tau <= 0, p < 1. With CLBOOK_CHECK=1 also
            values, or powers of distances, that are not finite.

    Examples:
        >>> a, negative = torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])
        >>> round(float(infonce(a, a, negative)), 3)  # log(1 + 1 / e)
        0.313
        >>> sharp = torch.tensor([1.0, 0.01])  # where the negative does not differ: nothing changes
        >>> round(float(infonce(a, a, negative, tau=sharp)), 3)
        0.313
    """
    _arguments.at_least(1, "p", p)
    _arguments.require(isinstance(normalize, bool), "normalize", normalize, "True or False")
    least = 2 if negatives is None else 1
    anchor, positive = points(least, anchor=anchor, positive=positive)
    tau = temperature(tau, anchor, width=anchor.shape[-1])
    candidates = positive if negatives is None else _arguments.negatives(negatives, anchor)

    if normalize:
        a = unit(anchor) / tau
        attraction = (a * unit(positive)).sum(-1)  # (..., n)
        logits = matmul(a, unit(candidates).mT)  # (..., n, M)
    else:
        scale = tau ** (-1 / p)  # |x|^p / tau = |x scale|^p: a temperature is a change of units
        attraction = -power((anchor - positive) * scale, p).sum(-1)
        # Around their middle, because to scale points that are far from 0 would round differences.
        middle = candidates.detach().mean(-2, keepdim=True)
        a = (anchor - middle) * scale
        b = (candidates - middle) * scale
        logits = -distances(a, b, p)  # (..., n, M)
    if negatives is None:
        logits = logits.masked_fill(own_point(anchor), -math.inf)  # the positive is no negative
    repulsion = logits.logsumexp(-1)
    loss = softplus(repulsion - attraction).mean(-1)
    given = {"anchor": anchor, "positive": positive, "negatives": negatives, "tau": tau}
    return check_values(loss, cosine=normalize, **given)


def symbol_context(
    symbols: Tensor,
    contexts: Tensor,
    ids: Tensor | None = None,
) -> Tensor:
    """InfoNCE between symbols and their contexts (SL eq. 2), with the scalar product as similarity.

        mean_i  -log[ exp(s_i . c_i) / sum_j exp(s_i . c_j) ]

    Anchors: the n symbols. Denominator: the n contexts of the batch, the positive c_i included. With
    `ids`, contexts of other occurrences of the anchor's symbol are left out. SL Lemma A.1's softmax
    is over symbols: swap the arguments for that.

    Args:
        symbols: (..., n, d), n >= 2.
        contexts: (..., n, d).
        ids: (n,) or (..., n), a number for each symbol, not all equal, or None.

    Returns:
        (...), >= 0. NaN where an id is NaN, or all are equal.

    Raises:
        ValueError: wrong shapes or types, one pair only. With CLBOOK_CHECK=1 also ids that are all
            equal, and values or products that are not finite.

    Examples:
        >>> z = torch.zeros(4, 2)  # nothing learned: log n
        >>> round(float(symbol_context(z, z).exp()), 3)
        4.0
        >>> ids = torch.tensor([0, 0, 1, 1])  # the other occurrence is no negative: log 3
        >>> round(float(symbol_context(z, z, ids).exp()), 3)
        3.0
    """
    symbols, contexts = points(symbols=symbols, contexts=contexts)
    logits = matmul(symbols, contexts.mT)  # (..., n, n)
    positive = logits.diagonal(dim1=-2, dim2=-1)
    same = own_point(symbols)
    if ids is not None:
        ids = _arguments.labels("ids", ids, symbols)
        same = alike(ids)  # (..., n, n)
    negatives = logits.masked_fill(same, -math.inf).logsumexp(-1)
    loss = softplus(negatives - positive).mean(-1)
    if ids is not None:
        loss = undefined(loss, ids)
    return check_values(loss, symbols=symbols, contexts=contexts, ids=ids)


def vicreg(
    z1: Tensor,
    z2: Tensor,
    weights: Sequence[float] = (25, 25, 1),
) -> Tensor:
    """VICReg (Bardes et al. 2022, eq. 1 to 6), as in LS B.1 and VA A.1.

        l1 mean_i |z1_i - z2_i|^2  +  l2 (v(z1) + v(z2))  +  l3 (c(z1) + c(z2)),
        C = covariance of z (divisor n - 1),  v(z) = (1/d) sum_k max(0, 1 - sqrt(C_kk + 1e-4)),
        c(z) = (1/d) sum_{k != l} C_kl^2

    No anchors and no negatives: the variance term prevents collapse.

    Args:
        z1: (..., n, d), the first views of n >= 2 points.
        z2: (..., n, d), the second views of the same points.
        weights: (l1, l2, l3), each >= 0.

    Returns:
        (...), >= 0.

    Raises:
        ValueError: shapes or types that differ, one point only, weights that are not three numbers
            >= 0. With CLBOOK_CHECK=1 also values, or squares, that are not finite.

    Examples:
        >>> square = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])  # spread, uncorrelated
        >>> float(vicreg(square, square))
        0.0
        >>> same = torch.zeros(4, 2)  # collapsed: 25 for the variance of each view, less a little
        >>> round(float(vicreg(same, same)), 2)
        49.5
    """
    z1, z2 = points(z1=z1, z2=z2)
    _arguments.weights(weights)
    n = z1.shape[-2]
    loss = weights[0] * (z1 - z2).square().sum(-1).mean(-1)
    for z in (z1, z2):
        centred = z - z.mean(-2, keepdim=True)
        covariance = matmul(centred.mT, centred) / (n - 1)  # (..., d, d)
        variance = covariance.diagonal(dim1=-2, dim2=-1)
        between = covariance.masked_fill(own_point(covariance), 0)
        missing = F.relu(1 - (variance + 1e-4).sqrt())  # (..., d), of a standard deviation of 1
        redundant = between.square().sum(-1)  # (..., d)
        loss = loss + weights[1] * missing.mean(-1)
        loss = loss + weights[2] * redundant.mean(-1)
    return check_values(loss, z1=z1, z2=z2)


def byol(
    prediction: Tensor,
    target: Tensor,
) -> Tensor:
    """BYOL's regression loss (Grill et al. 2020, eq. 2), of LS B.1 and VA A.1 on normalised vectors.

        mean_i |p_i / |p_i| - t_i / |t_i||^2  =  2 - 2 mean_i sim(p_i, t_i)

    No negatives. The target's gradient is the caller's decision: BYOL passes target.detach() and
    adds the swapped pair.

    Args:
        prediction: (..., n, d).
        target: (..., n, d).

    Returns:
        (...), in [0, 4]. NaN where a row is 0.

    Raises:
        ValueError: shapes or types that differ. With CLBOOK_CHECK=1 also a zero row, and values
            that are not finite.

    Examples:
        >>> p = torch.eye(2)
        >>> [float(byol(p, target)) for target in (p, p.flip(0), -p)]  # equal, orthogonal, opposite
        [0.0, 2.0, 4.0]
    """
    prediction, target = points(1, prediction=prediction, target=target)
    loss = (unit(prediction) - unit(target)).square().sum(-1).mean(-1)
    return check_values(loss, cosine=True, prediction=prediction, target=target)


def unit(z: Tensor) -> Tensor:
    """The rows of z, each divided by its norm: NaN for a zero row.

    Examples:
        >>> unit(torch.tensor([3.0, 4.0]))
        tensor([0.6000, 0.8000])
        >>> unit(torch.zeros(2))
        tensor([nan, nan])
    """
    # By the largest entry first, so that no square overflows. No direction depends on this scale.
    largest = torch.linalg.vector_norm(z.detach(), math.inf, -1, keepdim=True)
    z = z / largest
    return z / torch.linalg.vector_norm(z, dim=-1, keepdim=True)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in the type of a and b: autocast would round them to 16 bits.

    Examples:
        >>> a = torch.eye(2)
        >>> with torch.autocast("cpu", torch.bfloat16):
        ...     (a @ a).dtype, matmul(a, a).dtype
        (torch.bfloat16, torch.float32)
    """
    device = a.device.type
    if device == "meta" or not torch.is_autocast_enabled(device):
        return a @ b
    with torch.autocast(device, enabled=False):
        return a @ b


def alike(labels: Tensor) -> Tensor:
    """(..., n, n) booleans, True where two points have the same label.

    Examples:
        >>> alike(torch.tensor([0, 0, 1])).tolist()
        [[True, True, False], [True, True, False], [False, False, True]]
    """
    return labels[..., :, None] == labels[..., None, :]


def own_point(z: Tensor) -> Tensor:
    """(n, n) booleans, True where a point meets itself, for n points z (..., n, d).

    Examples:
        >>> own_point(torch.zeros(2, 5)).tolist()  # two points
        [[True, False], [False, True]]
    """
    return torch.eye(z.shape[-2], dtype=torch.bool, device=z.device)


def distances(a: Tensor, b: Tensor, p: float) -> Tensor:
    """(..., n, m) sum_k |a_ik - b_jk|^p.

    Examples:
        >>> a, b = torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]])
        >>> float(distances(a, b, p=1)), float(distances(a, b, p=2))
        (7.0, 25.0)
    """
    if p == 2:
        return squared_distances(a, b)
    differences = a[..., :, None, :] - b[..., None, :, :]  # (..., n, m, d)
    return power(differences, p).sum(-1)


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(..., n, m) |a_i - b_j|^2 from differences: the expanded square rounds those of near points.

    Examples:
        >>> a, b = torch.tensor([[1e4]]), torch.tensor([[1e4 + 0.5]])
        >>> float(squared_distances(a, b))  # exact; around 1e8 float32 has steps of 8
        0.25
    """
    # Coordinate by coordinate, which holds no (..., n, m, d).
    squares = [(a[..., :, None, k] - b[..., None, :, k]).square() for k in range(a.shape[-1])]
    return sum(squares[1:], squares[0])


def power(x: Tensor, p: float) -> Tensor:
    """|x|^p. The square has a second derivative at 0 as well, which |x| has not.

    Examples:
        >>> x = torch.tensor([-2.0, 0.0, 3.0])
        >>> power(x, 1), power(x, 2)
        (tensor([2., 0., 3.]), tensor([4., 0., 9.]))
    """
    return x.square() if p == 2 else x.abs() ** p
