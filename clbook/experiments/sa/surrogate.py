"""Descent on the similarities themselves, CL and NSCL side by side (SA eq. 1), and what SA's theorems promise about it.

The table Sigma (n, 2n) holds the similarity of each of n fixed points x_i to the points x_k (column k) and to one fixed
view x'_k of each (column n + k). SA writes the batch losses as functions of such entries (i, k), i the anchor, and so
treats (i, k) and (k, i) as two numbers: so does this module.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import log_softmax, normalize

from clbook import losses, theory
from clbook.data import balanced_labels
from clbook.runs import Program, alone, stream
from clbook.settings import Outcome, Settings, setting

POINTS, BATCHES, CLASSES = range(3)  # purposes of the streams of random numbers
DRAWN = 2**22  # most places in batches that are drawn at once


def posterior_bound(
    injections: Sequence[float] | np.ndarray,
    eta: theory.Rates,
    B: int,
    tau: float,
    convex: bool = False,
) -> np.ndarray:
    """The recursion in the proof of SA Theorem 1, D <- (1 + eta / (2 tau^2 B)) D + eta g, with g as measured.

    Args:
        injections: (T,) g_t, norm of the difference of the two batch gradients at CL's own similarities.
        eta: step size, one or T. B: batch size, points distinct. tau: temperature.
        convex: leave the growth factor out. NSCL's batch loss is convex in the similarities and its Hessian at most
            1 / (2 tau^2 B), so a step of at most 4 tau^2 B moves no two tables further apart.

    Returns:
        (T + 1,) bounds on the drift after 0 .. T steps. Raises ValueError: convex, and a longer step.
    """
    injections = np.asarray(injections, float)
    theory.total(eta, len(injections))  # checks eta
    eta = np.broadcast_to(eta, injections.shape)
    if convex and (eta > 4 * tau**2 * B).any():
        raise ValueError(
            f"eta = {eta.max():g} is not allowed: eta must be at most 4 tau^2 B = {4 * tau**2 * B:g}"
        )
    bounds = [0.0]
    for step, gap in zip(eta, injections, strict=True):
        bounds.append((1 + (0 if convex else step / (2 * tau**2 * B))) * bounds[-1] + step * gap)
    return np.array(bounds)


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; at the default Theorem 1 begins by saying something.

    The tables' shape is that of n: all that does not change it may differ between the runs of one program.
    """

    classes: int = setting(
        20, "number of classes C, of equal size", low=2, high=1000, log=True, each=True
    )
    n: int = setting(200, "number of points N, all classes together", low=4, high=2000, log=True)
    batch: int = setting(128, "batch size B", low=2, high=10_000, log=True, each=True)
    eta: float = setting(1.0, "step size", above=0.0, high=1e4, log=True, each=True)
    tau: float = setting(2.0, "temperature", low=1e-3, high=100.0, log=True, each=True)
    steps: int = setting(100, "steps T", unit="steps", low=1, high=100_000, log=True)
    replacement: bool = setting(
        False, "draw batches with replacement, as SA write, so that points repeat", each=True
    )
    delta: float = setting(
        0.01,
        "probability with which the bounds may fail",
        above=0.0,
        high=0.999,
        log=True,
        each=True,
    )
    d: int = setting(
        16, "dimensions of the embeddings at the start", low=2, high=1000, log=True, each=True
    )
    spread: float = setting(
        1.0,
        "standard deviation within a class; that of the class means is 1",
        low=0.0,
        high=100.0,
        each=True,
    )
    noise: float = setting(
        0.5, "standard deviation of a view around its point", low=0.0, high=100.0, each=True
    )
    record_every: int = setting(
        0, "record every this many steps; 0: a geometric series", unit="steps", low=0, high=10_000
    )
    seed: int = setting(0, "seed of points, views and batches", low=0, high=2**31, each=True)

    def check(self):
        if self.classes > self.n:
            raise self.error("classes", f"at most n = {self.n}")
        largest = -(-self.n // self.classes)
        if not self.replacement and not largest < self.batch <= self.n:
            raise self.error(
                "batch", f"> {largest}, the largest class, and <= n = {self.n} without replacement"
            )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at K times; what is of each step, up to the last of them."""

    steps: np.ndarray  # (K,) recorded steps
    drift: np.ndarray  # (K,) |Sigma^CL - Sigma^NSCL|_F
    cka: np.ndarray  # (K,) between the two tables' n x n parts, as the next
    rsa: np.ndarray
    gram_norm: np.ndarray  # (K,) what Corollary 1 divides by, for CL
    std: np.ndarray  # (K,) what Corollary 2 divides by, for CL
    bound: np.ndarray  # (K,) SA eq. 2 for the steps so far, Delta taken for all T
    posterior: np.ndarray  # (K,) `posterior_bound` of the injections
    triangle: np.ndarray  # (K,) `theory.triangle_bound`
    rho: np.ndarray  # (K,) |K - K'|_F / |K|_F of the centred tables, SA's rho_T
    r: np.ndarray  # (K,) |b - a| / (sqrt(M) sigma_D) of the dissimilarities, SA's r_T
    path: np.ndarray  # (T,) drift before each step
    gaps: (
        np.ndarray
    )  # (T,) norm of the difference of the two batch gradients, each at its own table (Lemma 8)
    injections: np.ndarray  # (T,) the same, both at Sigma^CL
    reweighting: (
        np.ndarray
    )  # (T,) largest |p - q|_1 of an anchor at Sigma^CL, each step: Lemma 6 says at most Delta
    mass: np.ndarray  # (T,) largest Z_pos / Z_neg of an anchor at Sigma^CL, each step: eq. 14 says at most Delta / 2
    final: np.ndarray  # (2, n, 2n) both tables at the end; their rows are sorted by class


def views(config: Config, labels: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
    """z1, z2 (n, d), unit vectors in float64, and labels (n,): points around random class means, and a view of each."""
    generator = stream(config.seed, POINTS)
    labels = balanced_labels(config.n, config.classes) if labels is None else labels
    means, within, noise = (
        torch.randn(rows, config.d, generator=generator, dtype=torch.float64)
        for rows in (config.classes, config.n, config.n)
    )
    z = normalize(means[labels] + config.spread * within, dim=1)
    return z, normalize(z + config.noise * noise / math.sqrt(config.d), dim=1), labels


def table(z1: torch.Tensor, z2: torch.Tensor) -> torch.Tensor:
    """Sigma (n, 2n) of unit vectors z1, z2 (n, d)."""
    return z1 @ torch.cat([z1, z2]).T


def batches(config: Config) -> torch.Tensor:
    """(T, n) how often each point is in each step's batch. A batch with a single class is drawn again."""
    generator, labels, drawn = (
        stream(config.seed, BATCHES),
        balanced_labels(config.n, config.classes),
        [],
    )
    missing, most = config.steps, max(1, DRAWN // config.batch)
    while missing:
        rows = min(missing, most)
        if config.replacement:
            new = torch.randint(config.n, (rows, config.batch), generator=generator)
        else:
            orders = [torch.randperm(config.n, generator=generator) for _ in range(rows)]
            new = torch.stack(orders)[:, : config.batch]
        new = new[(labels[new] != labels[new[:, :1]]).any(1)]
        one = torch.ones((), dtype=torch.int16)  # small: there may be many steps
        drawn.append(
            torch.zeros(len(new), config.n, dtype=torch.int16).scatter_add_(
                1, new, one.expand(new.shape)
            )
        )
        missing -= len(new)
    return torch.cat(drawn)


def below(counts: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """log of how often each key stands below the line of each anchor, for CL and for NSCL: (..., 2, n, 2n).

    SA Sec. 3: CL's anchor i meets both views of every point but its own x_i; NSCL's those of other classes alone. All n
    points have a row; the rows of those with count 0 are of no batch's loss. counts, labels: (..., n).
    """
    n = counts.shape[-1]
    own = torch.eye(n, 2 * n, dtype=torch.bool, device=counts.device)
    same = (labels[..., :, None] == labels[..., None, :]).tile(2)
    hidden = torch.stack([own.expand_as(same), same], -3)
    return counts.log().tile(2)[..., None, None, :].masked_fill(hidden, -math.inf)


def logits(
    sims: torch.Tensor, counts: torch.Tensor, labels: torch.Tensor, tau: float
) -> torch.Tensor:
    """CL's and NSCL's logits (2, n, 2n) at one table sims (n, 2n): similarity / tau plus `below`.

    An anchor's loss is logsumexp(logits) - Sigma_ii' / tau, its gradient (softmax(logits) - e_i') / tau, i' = n + i.
    """
    return sims / tau + below(counts, labels)


def batch_losses(
    tables: torch.Tensor, counts: torch.Tensor, labels: torch.Tensor, tau
) -> torch.Tensor:
    """(..., 2) a batch's losses (SA Sec. 3), CL's at Sigma^CL and NSCL's at Sigma^NSCL; arguments as below."""
    n, scaled = counts.shape[-1], tables / tau
    anchors = (scaled + below(counts, labels)).logsumexp(-1) - scaled[..., n:].diagonal(
        dim1=-2, dim2=-1
    )
    return (anchors * counts[..., None, :]).sum(-1) / counts.sum(-1)[..., None]


def batch_gradients(
    tables: torch.Tensor, counts: torch.Tensor, labels: torch.Tensor, tau
) -> tuple[torch.Tensor, ...]:
    """Gradients of a batch's losses, CL's at Sigma^CL and NSCL's at Sigma^NSCL, and how far both differ at Sigma^CL.

    Args:
        tables: (..., 2, n, 2n) Sigma^CL and Sigma^NSCL. counts, labels: (..., n). tau: a number or (..., 1, 1, 1).

    Returns:
        The gradients (..., 2, n, 2n); the norm of the injection, the largest |p - q|_1 of an anchor and its largest
        Z_pos / Z_neg, each (...).
    """
    n, scaled, keys = counts.shape[-1], tables / tau, below(counts, labels)
    shares = (scaled + keys).softmax(-1)
    there = scaled[..., 0, :, :] + keys[..., 1, :, :]  # NSCL's logits at Sigma^CL
    gap = shares[..., 0, :, :] - there.softmax(-1)  # p - q
    mass = ((scaled[..., 0, :, :] + keys[..., 0, :, :]).logsumexp(-1) - there.logsumexp(-1)).expm1()
    total = counts.sum(-1)[..., None, None, None]
    weight = counts[..., None, :, None] / (
        total * tau
    )  # (..., 1, n, 1), 0 for points out of the batch
    injection = (weight[..., 0, :, 0] * gap.norm(dim=-1)).norm(dim=-1)
    reweighting, mass = (
        of.masked_fill(counts == 0, 0.0).amax(-1) for of in (gap.norm(p=1, dim=-1), mass)
    )
    shares[..., n:].diagonal(dim1=-2, dim2=-1).sub_(1)  # the partner pulls
    return shares.mul_(weight), injection, reweighting, mass


def readings(
    z1: torch.Tensor, z2: torch.Tensor, labels: torch.Tensor, tau: float
) -> dict[str, float]:
    """{name: loss} of one batch of unit vectors, z1's points the anchors: what SA puts below the line, and where."""
    full, negatives = logits(table(z1, z2), torch.ones(len(z1), dtype=z1.dtype), labels, tau)
    partner = torch.eye(len(z1), 2 * len(z1), dtype=torch.bool).roll(
        len(z1), 1
    )  # the column n + i of row i
    names = {
        "CL, positive in (Sec. 3)": full,
        "CL, positive out: DCL (Sec. 5)": full.masked_fill(partner, -math.inf),
        "NSCL, positive out (Sec. 3)": negatives,
        "NSCL, positive in (Lemma 3)": torch.where(partner, full, negatives),
    }
    values = {
        name: float((part.logsumexp(1) - full[partner]).mean()) for name, part in names.items()
    }
    return values | {
        "NSCL, -log q_ii' as written (App. D.1)": float(-log_softmax(negatives, 1)[partner].mean())
    }


def loss_gaps(config: Config) -> tuple[float, float]:
    """(DCL - NSCL, CL - NSCL), all 2n views anchors, of n points whose classes are random, as in SA's batches."""
    labels = torch.randint(config.classes, (config.n,), generator=stream(config.seed, CLASSES))
    z1, z2, _ = views(config, labels)
    supervised = losses.nscl(z1, z2, labels, config.tau)
    return tuple(
        float(loss(z1, z2, config.tau) - supervised) for loss in (losses.dcl, losses.nt_xent)
    )


def similarity_scores(cl: torch.Tensor, nscl: torch.Tensor) -> dict[str, torch.Tensor]:
    """CKA and RSA (SA Sec. 3) of two tables' n x n parts, rho and r; of the first |H Sigma H|_F and pairs' deviation.

    `metrics` has both for points; a table that descends is soon no longer one of cosines, and not even symmetric.
    """
    a, b = (s[:, : len(s)] for s in (cl, nscl))
    k, m = (s - s.mean(0) - s.mean(1, keepdim=True) + s.mean() for s in (a, b))
    above = torch.ones_like(a).triu(1)
    pairs = above.sum()
    u, v = (above * (s - (above * s).sum() / pairs) for s in (a, b))
    return {
        "cka": (k * m).sum() / (k.norm() * m.norm()),
        "rsa": (u * v).sum() / (u.norm() * v.norm()),
        "gram_norm": k.norm(),
        "std": u.norm() / pairs.sqrt(),
        "rho": (k - m).norm() / k.norm(),
        "r": (above * (a - b)).norm() / u.norm(),
    }


class Coupled(Program):
    """SA eq. 1 as written, for R runs, in float64: the two tables of each from one start, by the same batches."""

    rate, Result, alike = "eta", Result, 1

    def setup(self):
        s = self.state
        z1, z2, labels = zip(*(self.points(c) for c in self.configs), strict=True)
        s.labels = torch.stack(labels)
        s.eta, s.tau = (self.each(name, torch.float64, axes=3) for name in ("eta", "tau"))
        s.batches = torch.stack([batches(c) for c in self.configs])
        self.trained = [
            torch.stack([table(*pair) for pair in zip(z1, z2, strict=True)])[:, None].repeat(
                1, 2, 1, 1
            )
        ]
        # Read by `result` alone; s.row says where a run that is still here writes.
        s.row, self.last = torch.arange(len(z1)), self.trained[0].clone()
        self.measured = torch.zeros(5, len(z1), self.steps, dtype=torch.float64)  # at each step

    def points(self, config):
        """`views` of one run."""
        return views(config)

    def counts(self, t):
        """(R, n) how often each point is in the batch of step t."""
        return self.state.batches[:, t].double()

    def now(self, t):
        return self.trained[0].detach().sum(-1)  # not finite just where an entry is not

    def gradients(self, tables, counts):
        """`batch_gradients` at tables (R, 2, n, 2n)."""
        return batch_gradients(tables, counts, self.state.labels, self.state.tau)

    @torch.no_grad()
    def advance(self, t):
        s, tables = self.state, self.trained[0]
        gradients, *measured = self.gradients(tables, self.counts(t))
        apart = [(x[:, 0] - x[:, 1]).flatten(1).norm(dim=1) for x in (tables, gradients)]
        self.measured[:, s.row, t] = torch.stack([*apart, *measured])
        tables -= s.eta * gradients

    def measure(self, z, t):
        tables = self.trained[0].detach()
        self.last[self.state.row] = tables
        rows = [{"drift": (cl - nscl).norm(), **similarity_scores(cl, nscl)} for cl, nscl in tables]
        return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}

    def result(self, i, columns, head):
        c, steps = head["config"], columns["steps"]
        path, gaps, injections, reweighting, mass = (
            self.measured[:, i, : steps[-1]].clone().cpu().numpy()
        )
        sums = c.eta * steps / c.steps  # step sizes that add up to what they do in so many steps
        return Result(
            **head,
            **columns,
            path=path,
            gaps=gaps,
            injections=injections,
            reweighting=reweighting,
            mass=mass,
            final=self.last[i].clone().cpu().numpy(),
            bound=np.array(
                [
                    theory.similarity_bound(c.classes, c.batch, c.steps, e, c.tau, c.delta)
                    for e in sums
                ]
            ),
            triangle=np.array([theory.triangle_bound(c.batch, c.steps, e, c.tau) for e in sums]),
            posterior=posterior_bound(injections, c.eta, c.batch, c.tau)[steps],
        )


def run(config: Config, *, progress=None, device=None) -> Result:
    """SA eq. 1 as written, in float64: both tables from one start, by the same batches.

    Progress and device as in `separability.run`. Raises ValueError: the run diverged (names eta).
    """
    return alone(Coupled, config, progress, device)


run.program = Coupled
