"""Slow losses, written from the papers as sums over anchors and pairs: float64 answers for `clbook.losses`.

Embeddings carry a leading axis of T temperatures, (T, n, d) with tau of shape (T,), and a loss is (T,): one call
answers for every temperature. Only the sum over the d coordinates is vectorised. Gradients come from autograd.
"""

import math

import torch


def table(similarity, a, b):
    """s[i][j] = similarity(a_i, b_j), each (T,), for a similarity of two (..., d) vectors."""
    return [row.unbind(-1) for row in similarity(a.unsqueeze(-2), b.unsqueeze(-3)).unbind(-2)]


def unit(z):
    return z / z.norm(dim=-1, keepdim=True)


def dot(a, b):
    return (a * b).sum(-1)


def half_square(a, b):
    return (a - b).square().sum(-1) / 2


def log_sum_exp(terms):
    """log sum exp over a list of (T,) terms."""
    return torch.logsumexp(torch.stack(terms), 0)


def mean(terms):
    return torch.stack(terms).mean(0)


def _two_view(z1, z2, tau, in_denominator, is_positive, all_anchors=True):
    """mean over anchors a of the mean over positives p of -log[exp(sim(a, p) / tau) / sum over the denominator].

    Views are numbered 0 .. 2n - 1, so that view v shows data point v % n; the two conditions are on data points.
    """
    n = z1.shape[-2]
    z = unit(torch.cat([z1, z2], -2))
    s = table(lambda a, b: dot(a, b) / tau[:, None, None], z, z)
    losses = []
    for a in range(2 * n if all_anchors else n):
        others = [b for b in range(2 * n) if b != a]
        denominator = log_sum_exp([s[a][b] for b in others if in_denominator(a % n, b % n)])
        losses.append(mean([denominator - s[a][p] for p in others if is_positive(a % n, p % n)]))
    return mean(losses)


def nt_xent(z1, z2, tau):
    """Chen et al. 2020, eq. 1."""
    return _two_view(z1, z2, tau, lambda i, j: True, lambda i, j: i == j)


def cl(z1, z2, tau):
    """SA Sec. 3."""
    return _two_view(z1, z2, tau, lambda i, j: True, lambda i, j: i == j, all_anchors=False)


def dcl(z1, z2, tau):
    """Yeh et al. 2022, eq. 6."""
    return _two_view(z1, z2, tau, lambda i, j: i != j, lambda i, j: i == j)


def nscl(z1, z2, labels, tau):
    """SA Sec. 3, over the views of both sides."""
    return _two_view(z1, z2, tau, lambda i, j: labels[i] != labels[j], lambda i, j: i == j)


def supcon(z1, z2, labels, tau):
    """Khosla et al. 2020, eq. 2."""
    return _two_view(z1, z2, tau, lambda i, j: True, lambda i, j: labels[i] == labels[j])


def nt_xent_mean(z1, z2, tau):
    """LS eq. 1: the expectation over y is (1/n) sum over data points, the indicator is on data points."""
    n = z1.shape[-2]
    first, second = (
        table(lambda a, b: dot(a, b) / tau[:, None, None], unit(z1), unit(z)) for z in (z1, z2)
    )
    losses = []
    for i in range(n):
        others = [s[i][j] for s in (first, second) for j in range(n) if j != i]
        log_terms = [other - second[i][i] - math.log(n) for other in others]
        losses.append(log_sum_exp([torch.zeros_like(tau), *log_terms]))  # log(1 + ...)
    return mean(losses)


def generalized(z1, z2, log_eta, psi_of_log):
    """LS eq. 3; log_eta acts on (T, n, n), psi_of_log on (T,)."""
    n = z1.shape[-2]
    s = table(lambda a, b: log_eta(half_square(a, b)), z1, z2)
    means = [log_sum_exp([s[i][j] for j in range(n)]) - math.log(n) for i in range(n)]
    return mean([psi_of_log(means[i] - s[i][i]) for i in range(n)])


def simplified(z, views, tau):
    """LS eq. 12; z (T, n, d), views (T, m, n, d)."""
    n = z.shape[-2]
    losses = []
    for view in views.unbind(1):
        s = table(lambda a, b: -half_square(a, b) / tau[:, None, None], z, view)
        losses += [
            log_sum_exp([s[i][j] for j in range(n)]) - math.log(n) - s[i][i] for i in range(n)
        ]
    return mean(losses)


def infonce_sphere(anchor, positive, negatives, tau):
    """CS eq. 1 with negatives (T, M, d) and a temperature for each coordinate, tau (T, d)."""

    def similarity(a, b):
        return dot(a, b / tau[:, None, None])

    towards = table(similarity, unit(anchor), unit(positive))
    away = table(similarity, unit(anchor), unit(negatives))
    n = anchor.shape[-2]
    return mean([log_sum_exp([towards[i][i], *away[i]]) - towards[i][i] for i in range(n)])


def infonce_box(anchor, positive, tau, p):
    """The l_p form, the other positives of the batch as negatives; tau (T, d)."""
    s = table(lambda a, b: -((a - b).abs() ** p / tau[:, None, None]).sum(-1), anchor, positive)
    return mean([log_sum_exp(list(s[i])) - s[i][i] for i in range(anchor.shape[-2])])


def symbol_context(symbols, contexts, ids):
    """SL eq. 2; contexts of other occurrences of the anchor's symbol are left out."""
    n = symbols.shape[-2]
    s = table(dot, symbols, contexts)
    losses = []
    for i in range(n):
        seen = [s[i][j] for j in range(n) if j == i or ids[j] != ids[i]]
        losses.append(log_sum_exp(seen) - s[i][i])
    return mean(losses)


def vicreg(z1, z2, weights):
    """Bardes et al. 2022, eq. 1 to 6."""
    n, d = z1.shape[-2:]
    loss = weights[0] * mean([(z1[:, i] - z2[:, i]).square().sum(-1) for i in range(n)])
    for z in (z1, z2):
        centred = z - sum(z.unbind(-2)).unsqueeze(-2) / n
        columns = centred.transpose(-1, -2)
        c = table(lambda a, b: dot(a, b) / (n - 1), columns, columns)
        spread = [(1 - (c[k][k] + 1e-4).sqrt()).clamp(min=0) for k in range(d)]
        shared = [c[k][m] ** 2 for k in range(d) for m in range(d) if k != m]
        loss = loss + weights[1] * mean(spread) + weights[2] / d * sum(shared)
    return loss


def byol(prediction, target):
    """Grill et al. 2020, eq. 2."""
    s = table(dot, unit(prediction), unit(target))
    return mean([2 - 2 * s[i][i] for i in range(prediction.shape[-2])])
