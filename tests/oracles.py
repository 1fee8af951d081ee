"""Slow losses, written from the papers as sums over anchors and pairs: float64 answers for `clbook.losses`.

Embeddings carry a leading axis of T temperatures, (T, n, d) with tau of shape (T,), and a loss is (T,): one call answers
for every temperature. Gradients come from autograd through these loops.
"""

import math

import torch


def sim(a, b):
    """Cosine of two (T, d) vectors: (T,)."""
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))


def log_sum_exp(terms):
    """log sum exp over a list of (T,) terms."""
    return torch.logsumexp(torch.stack(terms), 0)


def mean(terms):
    return sum(terms) / len(terms)


def points(z):
    return list(z.unbind(-2))


def views(z1, z2):
    """The 2n views as triples (data point, which view, embedding)."""
    return [(i, h, z) for h, zs in enumerate((points(z1), points(z2))) for i, z in enumerate(zs)]


def _two_view(z1, z2, tau, in_denominator, is_positive, all_anchors):
    """mean over anchors of the mean over positives p of -log[exp(sim(a, p) / tau) / sum over the denominator]."""
    everything = views(z1, z2)
    losses = []
    for i, h, a in everything if all_anchors else everything[:z1.shape[-2]]:
        others = [v for v in everything if v[:2] != (i, h)]
        denominator = log_sum_exp([sim(a, b) / tau for j, _, b in others if in_denominator(i, j)])
        losses.append(mean([denominator - sim(a, b) / tau for j, _, b in others if is_positive(i, j)]))
    return mean(losses)


def nt_xent(z1, z2, tau):
    """Chen et al. 2020, eq. 1."""
    return _two_view(z1, z2, tau, lambda i, j: True, lambda i, j: i == j, True)


def cl(z1, z2, tau):
    """SA Sec. 3."""
    return _two_view(z1, z2, tau, lambda i, j: True, lambda i, j: i == j, False)


def dcl(z1, z2, tau):
    """Yeh et al. 2022, eq. 6."""
    return _two_view(z1, z2, tau, lambda i, j: i != j, lambda i, j: i == j, True)


def nscl(z1, z2, labels, tau):
    """SA Sec. 3, over the views of both sides."""
    return _two_view(z1, z2, tau, lambda i, j: labels[i] != labels[j], lambda i, j: i == j, True)


def supcon(z1, z2, labels, tau):
    """Khosla et al. 2020, eq. 2."""
    return _two_view(z1, z2, tau, lambda i, j: True, lambda i, j: labels[i] == labels[j], True)


def nt_xent_mean(z1, z2, tau):
    """LS eq. 1: the expectation over y is (1/n) sum over data points, the indicator is on data points."""
    losses = []
    for i, x in enumerate(points(z1)):
        attraction = sim(x, points(z2)[i]) / tau
        log_ratios = [sim(x, y) / tau - attraction - math.log(z1.shape[-2])
                      for z in (z1, z2) for j, y in enumerate(points(z)) if j != i]
        losses.append(log_sum_exp([torch.zeros_like(tau), *log_ratios]))
    return mean(losses)


def generalized(z1, z2, log_eta, psi_of_log):
    """LS eq. 3; log_eta and psi_of_log act on (T,) tensors."""
    losses = []
    for i, x in enumerate(points(z1)):
        log_etas = [log_eta((x - y).square().sum(-1) / 2) for y in points(z2)]
        losses.append(psi_of_log(log_sum_exp(log_etas) - math.log(z1.shape[-2]) - log_etas[i]))
    return mean(losses)


def simplified(z, views, tau):
    """LS eq. 12; z (T, n, d), views (T, m, n, d)."""
    losses = []
    for i, x in enumerate(points(z)):
        for view in views.unbind(1):
            log_weights = [-(x - y).square().sum(-1) / (2 * tau) for y in points(view)]
            losses.append(log_sum_exp(log_weights) - math.log(z.shape[-2]) - log_weights[i])
    return mean(losses)


def _cross_entropy(similarity, anchors, positives, negatives_of):
    losses = []
    for i, a in enumerate(anchors):
        attraction = similarity(a, positives[i])
        losses.append(log_sum_exp([attraction, *(similarity(a, c) for c in negatives_of(i))]) - attraction)
    return mean(losses)


def infonce_sphere(anchor, positive, negatives, tau):
    """CS eq. 1 with negatives (T, M, d); tau (T, d)."""
    def similarity(a, b):
        return (a / a.norm(dim=-1, keepdim=True) * b / b.norm(dim=-1, keepdim=True) / tau).sum(-1)
    return _cross_entropy(similarity, points(anchor), points(positive), lambda i: points(negatives))


def infonce_box(anchor, positive, tau, p):
    """The l_p form, the other positives of the batch as negatives; tau (T, d)."""
    def similarity(a, b):
        return -((a - b).abs() ** p / tau).sum(-1)
    others = points(positive)
    return _cross_entropy(similarity, points(anchor), others, lambda i: others[:i] + others[i + 1:])


def symbol_context(symbols, contexts, ids):
    """SL eq. 2, contexts of the anchor's own symbol left out."""
    c = points(contexts)
    return _cross_entropy(lambda a, b: (a * b).sum(-1), points(symbols), c,
                          lambda i: [c[j] for j in range(len(c)) if ids[j] != ids[i]])


def vicreg(z1, z2, weights):
    """Bardes et al. 2022, eq. 1 to 6."""
    n, d = z1.shape[-2:]
    invariance = mean([(a - b).square().sum(-1) for a, b in zip(points(z1), points(z2), strict=True)])
    variance = covariance = 0
    for z in (z1, z2):
        centred = [x - mean(points(z)) for x in points(z)]
        for k in range(d):
            for m in range(d):
                c = sum(x[:, k] * x[:, m] for x in centred) / (n - 1)
                if k == m:
                    variance = variance + (1 - (c + 1e-4).sqrt()).clamp(min=0) / d
                else:
                    covariance = covariance + c ** 2 / d
    return weights[0] * invariance + weights[1] * variance + weights[2] * covariance


def byol(prediction, target):
    """Grill et al. 2020, eq. 2."""
    return mean([2 - 2 * sim(p, t) for p, t in zip(points(prediction), points(target), strict=True)])
