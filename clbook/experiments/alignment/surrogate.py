"""Descent on the similarities themselves, CL and NSCL side by side (SA eq. 1), and what SA's theorems promise about it.

The table Sigma (n, 2n) holds the similarity of each of n fixed points x_i to the points x_k (column k) and to one fixed
view x'_k of each (column n + k). SA writes the batch losses as functions of such entries (i, k), i the anchor, and so
treats (i, k) and (k, i) as two numbers: so does this module.
"""

from __future__ import annotations

import dataclasses
import math
import time

import numpy as np
import torch
from torch.nn.functional import log_softmax, normalize, one_hot, softmax

from clbook import losses, theory
from clbook.data import balanced_labels
from clbook.runs import Diverged, default_device, iterate, recorded_times
from clbook.settings import Outcome, Settings, setting


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; at the default Theorem 1 begins by saying something."""

    classes: int = setting(20, "number of classes C, of equal size", low=2, high=1000, log=True)
    n: int = setting(200, "number of points N, all classes together", low=4, high=2000, log=True)
    batch: int = setting(128, "batch size B", low=2, high=10_000, log=True)
    eta: float = setting(1.0, "step size", above=0.0, high=1e4, log=True)
    tau: float = setting(2.0, "temperature", low=1e-3, high=100.0, log=True)
    steps: int = setting(100, "steps T", unit="steps", low=1, high=100_000, log=True)
    replacement: bool = setting(False, "draw batches with replacement, as SA write, so that points repeat")
    delta: float = setting(0.01, "probability with which the bounds may fail", above=0.0, high=0.999, log=True)
    d: int = setting(16, "dimensions of the embeddings at the start", low=2, high=1000, log=True)
    spread: float = setting(1.0, "standard deviation within a class; that of the class means is 1", low=0.0, high=100.0)
    noise: float = setting(0.5, "standard deviation of a view around its point", low=0.0, high=100.0)
    record_every: int = setting(0, "record every this many steps; 0: a geometric series", unit="steps", low=0, high=10_000)
    seed: int = setting(0, "seed of points, views and batches", low=0, high=2**31)

    def check(self):
        if self.classes > self.n:
            raise self.error("classes", f"at most n = {self.n}")
        largest = -(-self.n // self.classes)
        if not self.replacement and not largest < self.batch <= self.n:
            raise self.error("batch", f"> {largest}, the largest class, and <= n = {self.n} without replacement")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at K times."""

    steps: np.ndarray  # (K,) recorded steps
    drift: np.ndarray  # (K,) |Sigma^CL - Sigma^NSCL|_F
    cka: np.ndarray  # (K,) between the two tables' n x n parts, as the next
    rsa: np.ndarray
    gram_norm: np.ndarray  # (K,) what Corollary 1 divides by, for CL
    std: np.ndarray  # (K,) what Corollary 2 divides by, for CL
    bound: np.ndarray  # (K,) SA eq. 2 for the steps so far, Delta taken for all T
    posterior: np.ndarray  # (K,) `theory.posterior_bound` of the injections
    triangle: np.ndarray  # (K,) `theory.triangle_bound`
    injections: np.ndarray  # (T,) norm of the difference of the two batch gradients at Sigma^CL, each step
    reweighting: np.ndarray  # (T,) largest |p - q|_1 of an anchor at Sigma^CL, each step: Lemma 6 says at most Delta
    final: np.ndarray  # (2, n, 2n) both tables at the end; their rows are sorted by class


@dataclasses.dataclass
class Circle(Outcome):
    """What `run_circle` recorded, at K times."""

    steps: np.ndarray  # (K,) recorded steps
    drift: np.ndarray  # (K,) |w^CL - w^NSCL|
    moved: np.ndarray  # (K,) |Sigma(w_t) - Sigma(w_0)|_F of CL
    missed: np.ndarray  # (K,) |Sigma(w_t) - surrogate|_F of CL, left side of SA eq. 9
    bound: np.ndarray  # (K,) SA Theorem 2
    triangle: np.ndarray  # (K,) 4 G S / tau, a gradient being <= 2 G / tau


def views(config: Config, labels=None):
    """z1, z2 (n, d), unit vectors in float64, and labels (n,): points around random class means, and a view of each."""
    generator = torch.Generator().manual_seed(config.seed)
    labels = balanced_labels(config.n, config.classes) if labels is None else labels
    means, within, noise = (torch.randn(rows, config.d, generator=generator, dtype=torch.float64)
                            for rows in (config.classes, config.n, config.n))
    z = normalize(means[labels] + config.spread * within, dim=1)
    return z, normalize(z + config.noise * noise / math.sqrt(config.d), dim=1), labels


def table(z1, z2):
    """Sigma (n, 2n) of unit vectors z1, z2 (n, d)."""
    return z1 @ torch.cat([z1, z2]).T


def batches(config: Config):
    """Batches without end, each as counts (n,): how often a point is in it. One with a single class is drawn again."""
    generator, labels = torch.Generator().manual_seed(config.seed + 1), balanced_labels(config.n, config.classes)
    while True:
        drawn = (torch.randint(config.n, (config.batch,), generator=generator) if config.replacement
                 else torch.randperm(config.n, generator=generator)[:config.batch])
        if (labels[drawn] != labels[drawn[0]]).any():
            yield torch.bincount(drawn, minlength=config.n).double()


def logits(sims, counts, labels, tau):
    """(anchors (m,), CL's logits (m, 2n), NSCL's): similarity / tau plus the log of how often the key is below the line.

    SA Sec. 3: CL's anchor i meets both views of every point but its own x_i; NSCL's those of other classes alone. The loss
    of an anchor is logsumexp(logits) - Sigma_ii' / tau, its gradient (softmax(logits) - e_i') / tau, i' = n + i.
    """
    anchors = counts.nonzero()[:, 0]
    full = sims[anchors] / tau + counts.log().repeat(2)
    full[range(len(anchors)), anchors] = -math.inf
    return anchors, full, full.masked_fill(labels[anchors, None] == labels.repeat(2), -math.inf)


def batch_gradients(state, counts, labels, tau):
    """CL's gradient at state[0] and NSCL's at state[1], (2, n, 2n); the injection and the largest |p - q|_1 at state[0]."""
    gradients = torch.zeros_like(state)
    for k, sims in enumerate(state):
        anchors, *both = logits(sims, counts, labels, tau)
        shares, weight = [softmax(part, 1) for part in both], counts[anchors, None] / (counts.sum() * tau)
        if k == 0:
            gap = shares[0] - shares[1]
            measured = (weight * gap).norm().item(), gap.abs().sum(1).max().item()
        gradients[k, anchors] = weight * (shares[k] - one_hot(anchors + len(sims), sims.shape[1]))
    return gradients, measured


def readings(z1, z2, labels, tau):
    """{name: loss} of one batch of unit vectors, z1's points the anchors: what SA puts below the line, and where."""
    anchors, full, negatives = logits(table(z1, z2), torch.ones(len(z1), dtype=z1.dtype), labels, tau)
    partner = one_hot(anchors + len(z1), 2 * len(z1)).bool()
    names = {"CL, positive in (Sec. 3)": full, "CL, positive out: DCL (Sec. 5)": full.masked_fill(partner, -math.inf),
             "NSCL, positive out (Sec. 3)": negatives, "NSCL, positive in (Lemma 3)": torch.where(partner, full, negatives)}
    values = {name: float((part.logsumexp(1) - full[partner]).mean()) for name, part in names.items()}
    return values | {"NSCL, -log q_ii' as written (App. D.1)": float(-log_softmax(negatives, 1)[partner].mean())}


def loss_gaps(config: Config):
    """(DCL - NSCL, CL - NSCL), all 2n views anchors, of n points whose classes are drawn at random, as in SA's batches."""
    labels = torch.randint(config.classes, (config.n,), generator=torch.Generator().manual_seed(config.seed + 2))
    z1, z2, _ = views(config, labels)
    supervised = losses.nscl(z1, z2, labels, config.tau)
    return tuple(float(loss(z1, z2, config.tau) - supervised) for loss in (losses.dcl, losses.nt_xent))


def pair_weights(loss, z1, z2):
    """(2n, 2n) derivative of loss(z1, z2) in each cosine: < 0 pulls the pair together, > 0 pushes it apart, 0 leaves it out.

    For a loss of the cosines alone the gradient in a unit view is a sum over the others' directions; for independent views
    its coefficients are unique. Each cosine is counted once for either end. The diagonal is nan.
    """
    z = torch.cat([z1, z2]).double().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(*z.chunk(2)), z)
    length = z.detach().norm(dim=1, keepdim=True)
    return (gradient * length @ torch.linalg.pinv(z.detach() / length)).fill_diagonal_(math.nan)


def similarity_scores(sims):
    """CKA and RSA (SA Sec. 3) of two tables' n x n parts; of the first |H Sigma H|_F and the dissimilarities' deviation."""
    a, b = sims[..., :sims.shape[1]]
    k, m = (s - s.mean(0) - s.mean(1, keepdim=True) + s.mean() for s in (a, b))
    i, j = torch.triu_indices(*a.shape, 1)
    u, v = (s[i, j] - s[i, j].mean() for s in (a, b))
    scores = (k * m).sum() / (k.norm() * m.norm()), (u @ v) / (u.norm() * v.norm()), k.norm(), u.std(correction=0)
    return [x.item() for x in scores]


def _descend(config, state, gradient, row, result, progress):
    """The loop of both runs: state - eta gradient(state, counts), row(state) at the recorded times."""
    began, rows, stream = time.perf_counter(), [], batches(config)
    times = set(recorded_times(config.steps, config.record_every))

    def record(state, t):
        if t in times:
            rows.append((t, *row(state)))
        record.state = state

    def outcome(stopped=False):
        columns = np.array(rows).T
        return result((config, time.perf_counter() - began, str(state.device), stopped, columns[0].astype(int)), columns[1:],
                      config.eta * columns[0] / config.steps, record.state)

    try:
        _, _, stopped = iterate(lambda state, t: state - config.eta * gradient(state, next(stream).to(state.device)), state,
                                config.steps, record, progress and (lambda fraction: progress(fraction, outcome())))
    except Diverged as error:
        raise config.diverged("eta", error.step) from None
    return outcome(stopped)


def run(config: Config, *, progress=None, device=None) -> Result:
    """SA eq. 1 as written, in float64: both tables from one start, by the same batches.

    Progress and device as in `separability.run`. Raises ValueError: the run diverged (names eta).
    """
    z1, z2, labels = (array.to(default_device(device)) for array in views(config))
    measured, B, T, tau = [], config.batch, config.steps, config.tau

    def gradient(state, counts):
        gradients, pair = batch_gradients(state, counts, labels, tau)
        measured.append(pair)
        return gradients

    def row(state):
        return (state[0] - state[1]).norm().item(), *similarity_scores(state)

    def result(common, columns, eta, state):
        injections, reweighting = np.array(measured).reshape(-1, 2).T
        bound, triangle = np.array([(theory.similarity_bound(config.classes, B, T, e, tau, config.delta),
                                     theory.triangle_bound(B, T, e, tau)) for e in eta]).T
        posterior = theory.posterior_bound(injections, config.eta, B, tau)[common[-1]]
        return Result(*common, *columns, bound, posterior, triangle, injections, reweighting, state.cpu().numpy())

    return _descend(config, table(z1, z2).repeat(2, 1, 1), gradient, row, result, progress)


def run_circle(config: Config, *, progress=None, device=None) -> Circle:
    """Gradient descent on weights, where SA's Assumptions 1 and 2 hold with known constants; arguments as in `run`.

    The encoder looks each of the 2n inputs up in a table of angles w and puts it there on the circle: Sigma_ik(w) =
    cos(w_i - w_k), so G = sqrt(2) and beta <= 2 / tau^2 + 4 / tau. SA eq. 1 runs beside it from Sigma(w_0), same batches.
    """
    z1, z2, labels = (array.to(default_device(device)) for array in views(config.replace(d=2)))
    w0 = torch.atan2(*torch.cat([z1, z2]).T.flip(0)).repeat(2, 1)
    n, tau = config.n, config.tau

    def angles(w):
        return w[:, :n, None] - w[:, None]

    def gradient(state, counts):  # state (2, 1 + n, 2n): the weights, and below them the surrogate's table
        between = angles(state[:, 0])
        turn = -batch_gradients(between.cos(), counts, labels, tau)[0] * between.sin()
        weights = -turn.sum(1)
        weights[:, :n] += turn.sum(2)
        return torch.cat([weights[:, None], batch_gradients(state[:, 1:], counts, labels, tau)[0]], 1)

    def row(state):
        now = angles(state[:, 0]).cos()[0]
        return [x.norm().item() for x in (state[0, 0] - state[1, 0], now - start[0, 1:], now - state[0, 1:])]

    def result(common, columns, eta, state):
        G, beta = math.sqrt(2), 2 / tau**2 + 4 / tau
        bound = [theory.weight_bound(config.classes, config.batch, config.steps, e, tau, config.delta, G, beta) for e in eta]
        return Circle(*common, *columns, np.array(bound), 4 * G * eta * config.steps / tau)

    start = torch.cat([w0[:, None], angles(w0).cos()], 1)
    return _descend(config, start, gradient, row, result, progress)
