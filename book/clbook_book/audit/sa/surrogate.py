"""Descent on the similarities themselves, CL and NSCL side by side (SA eq. 1), and what SA's theorems promise about it.

The table Sigma (n, 2n) holds the similarity of each of n fixed points x_i to the points x_k (column k) and to one fixed
view x'_k of each (column n + k). SA writes the batch losses as functions of such entries (i, k), i the anchor, and so
treats (i, k) and (k, i) as two numbers: so does this module.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from clbook import theory
from clbook.data import balanced_labels
from clbook.experiments.alignment import gaps
from clbook.training.loop import State, Training
from clbook.training.optim import sgd
from clbook.training.settings import (
    Outcome,
    Settings,
    quantity,
    recorded,
    recorded_every,
    seed_of,
    setting,
)
from clbook.training.streams import stream

BATCHES = 1  # purpose of the stream of random numbers; 0 is that of the points
DRAWN = 2**22  # most places in batches that are drawn at once


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; at the default Theorem 1 begins by saying something.

    The tables' shape is that of n: all that does not change it may differ between the runs of one program.
    """

    classes: int = setting(20, "number of classes C, of equal size", low=2, high=1000, each=True)
    n: int = setting(200, "number of points N, all classes together", low=4, high=2000)
    batch: int = setting(128, "batch size B", low=2, high=10_000, each=True)
    eta: float = setting(1.0, "step size", above=0.0, high=1e4, each=True)
    tau: float = setting(2.0, "temperature", low=1e-3, high=100.0, each=True)
    steps: int = setting(100, "steps T", unit="steps", low=1, high=100_000)
    replacement: bool = setting(
        False, "draw batches with replacement, as SA write, so that points repeat", each=True
    )
    delta: float = setting(
        0.01,
        "probability with which the bounds may fail",
        above=0.0,
        high=0.999,
        each=True,
    )
    d: int = setting(16, "dimensions of the embeddings at the start", low=2, high=1000, each=True)
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
    record_every: int = recorded_every(unit="steps")
    seed: int = seed_of("points, views and batches")

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
    """What one run recorded; of what is recorded at each step, the steps up to the last recorded time."""

    steps: np.ndarray = recorded("steps")
    drift: np.ndarray = quantity("|Sigma^CL - Sigma^NSCL|_F", dims="step")
    bound: np.ndarray = quantity(
        "SA eq. 2 for the steps so far, Delta taken for all T", dims="step"
    )
    triangle: np.ndarray = quantity("`theory.triangle_bound`", dims="step")
    cka: np.ndarray = quantity("CKA of the two tables' n x n parts", dims="step", on_request=True)
    rsa: np.ndarray = quantity("RSA of the two tables' n x n parts", dims="step", on_request=True)
    gram_norm: np.ndarray = quantity(
        "what Corollary 1 divides by, for CL", dims="step", on_request=True
    )
    std: np.ndarray = quantity("what Corollary 2 divides by, for CL", dims="step", on_request=True)
    rho: np.ndarray = quantity(
        "|K - K'|_F / |K|_F of the centred tables, SA's rho_T", dims="step", on_request=True
    )
    r: np.ndarray = quantity(
        "|b - a| / (sqrt(M) sigma_D) of the dissimilarities, SA's r_T", dims="step", on_request=True
    )
    posterior: np.ndarray = quantity(
        "`theory.posterior_bound` of the injections", dims="step", on_request=True
    )
    path: np.ndarray = quantity("drift before each step", dims="each", on_request=True)
    gaps: np.ndarray = quantity(
        "norm of the difference of the two batch gradients, each at its own table (Lemma 8)",
        dims="each",
        on_request=True,
    )
    injections: np.ndarray = quantity(
        "norm of the difference of the two batch gradients, both at Sigma^CL",
        dims="each",
        on_request=True,
    )
    reweighting: np.ndarray = quantity(
        "largest |p - q|_1 of an anchor at Sigma^CL: Lemma 6 says at most Delta",
        dims="each",
        on_request=True,
    )
    mass: np.ndarray = quantity(
        "largest Z_pos / Z_neg of an anchor at Sigma^CL: eq. 14 says at most Delta / 2",
        dims="each",
        on_request=True,
    )
    final: np.ndarray = quantity(
        "both tables at the end; their rows are sorted by class",
        dims="table anchor key",
        on_request=True,
    )


EACH_STEP = ("path", "gaps", "injections", "reweighting", "mass")  # what is recorded at each step
SIMILARITIES = ("cka", "rsa", "gram_norm", "std", "rho", "r")


def views(config: Config) -> tuple[Tensor, ...]:
    """z1, z2 (n, d) and labels (n,) at the start of a run: `gaps.views`."""
    c = config
    return gaps.views(c.n, c.classes, c.seed, d=c.d, spread=c.spread, noise=c.noise)


def table(z1: Tensor, z2: Tensor) -> Tensor:
    """Sigma (n, 2n) of unit vectors z1, z2 (n, d)."""
    return z1 @ torch.cat([z1, z2]).T


def batches(config: Config) -> Tensor:
    """(T, n) how often each point is in each step's batch. A batch with a single class is drawn again."""
    generator = stream(config.seed, BATCHES)
    n = config.n
    labels = balanced_labels(n, config.classes)
    most = max(1, DRAWN // config.batch)
    missing = config.steps
    drawn = []
    while missing:
        rows = min(missing, most)
        if config.replacement:
            places = torch.randint(n, (rows, config.batch), generator=generator)
        else:
            orders = [torch.randperm(n, generator=generator) for _ in range(rows)]
            places = torch.stack(orders)[:, : config.batch]
        classes = labels[places]
        places = places[(classes != classes[:, :1]).any(1)]
        kept = len(places)
        counts = torch.zeros(kept, n, dtype=torch.int16)  # small: there may be many
        counts.scatter_add_(1, places, torch.ones_like(places, dtype=torch.int16))
        drawn.append(counts)
        missing -= kept
    return torch.cat(drawn)


def below(counts: Tensor, labels: Tensor) -> Tensor:
    """log of how often each key stands below the line of each anchor, for CL and for NSCL: (..., 2, n, 2n).

    SA Sec. 3: CL's anchor i meets both views of every point but its own x_i; NSCL's those of other classes alone. All n
    points have a row; the rows of those with count 0 are of no batch's loss.

    Args:
        counts, labels: (..., n).
    """
    n = counts.shape[-1]
    own = torch.eye(n, 2 * n, dtype=torch.bool, device=counts.device)
    same = (labels[..., :, None] == labels[..., None, :]).tile(2)
    hidden = torch.stack([own.expand_as(same), same], -3)
    often = counts.log().tile(2)[..., None, None, :]  # (..., 1, 1, 2n)
    return often.masked_fill(hidden, -math.inf)


def logits(sims: Tensor, counts: Tensor, labels: Tensor, tau: float | Tensor) -> Tensor:
    """CL's and NSCL's logits (..., 2, n, 2n), similarity / tau plus `below`.

    An anchor's loss is logsumexp(logits) - Sigma_ii' / tau, its gradient (softmax(logits) - e_i') / tau, i' = n + i.

    Args:
        sims: one table (..., 1, n, 2n) or (n, 2n) for both losses, or one for each (..., 2, n, 2n).
        counts, labels: (..., n).
        tau: a number or (..., 1, 1, 1).
    """
    return sims / tau + below(counts, labels)


def batch_gradients(tables: Tensor, counts: Tensor, labels: Tensor, tau: float | Tensor) -> Tensor:
    """(..., 2, n, 2n) gradients of `batch_losses` in the tables; arguments as there."""
    forces = logits(tables, counts, labels, tau).softmax(-1)
    partner = forces[..., counts.shape[-1] :].diagonal(dim1=-2, dim2=-1)
    partner.sub_(1)  # it pulls
    return forces * (shares(counts) / tau)


def shares(counts: Tensor) -> Tensor:
    """(..., 1, n, 1) share of each anchor in the batch, 0 for points out of it; counts (..., n)."""
    return (counts / counts.sum(-1, keepdim=True))[..., None, :, None]


def injections(
    sims: Tensor, counts: Tensor, labels: Tensor, tau: float | Tensor
) -> tuple[Tensor, ...]:
    """How far CL and NSCL differ at one table, p and q being their softmaxes.

    Args:
        sims: (..., 1, n, 2n) one table.
        counts, labels: (..., n).
        tau: a number or (..., 1, 1, 1).

    Returns:
        The norm of the difference of the two batch gradients, the largest |p - q|_1 of an anchor and the largest
        Z_pos / Z_neg of an anchor, each (...).
    """
    p, q = logits(sims, counts, labels, tau).softmax(-1).unbind(-3)  # (..., n, 2n) each
    change = p - q
    of_anchors = change.norm(dim=-1)[..., None, :, None] * (shares(counts) / tau)
    injection = of_anchors.flatten(-3).norm(dim=-1)
    # p shares Z out among the keys, and q is 0 just at the positives.
    of_positives = (p * (q == 0)).sum(-1)  # (..., n)
    mass = of_positives / (p * (q > 0)).sum(-1)
    reweighting = change.abs().sum(-1)
    out = counts == 0
    reweighting = reweighting.masked_fill(out, 0.0)
    mass = mass.masked_fill(out, 0.0)
    return injection, reweighting.amax(-1), mass.amax(-1)


def similarity_scores(cl: Tensor, nscl: Tensor) -> dict[str, Tensor]:
    """CKA and RSA (SA Sec. 3) of two tables (..., n, 2n), what they divide by, rho and r: `SIMILARITIES`, each (...).

    `metrics` has both for points; a table that descends is soon no longer one of cosines, and not even symmetric.
    """
    n = cl.shape[-2]
    a = cl[..., :n]
    b = nscl[..., :n]
    scores = {}

    # CKA compares the centred tables.
    K = centred(a).flatten(-2)
    L = centred(b).flatten(-2)
    apart = K - L
    size = K.norm(dim=-1)
    scores["cka"] = cosine_similarity(K, L, -1)
    scores["gram_norm"] = size
    scores["rho"] = apart.norm(dim=-1) / size

    # RSA correlates the similarities of each pair of points, once.
    i, j = torch.triu_indices(n, n, 1, device=cl.device)
    u = a[..., i, j]  # (..., pairs)
    v = b[..., i, j]
    apart = u - v
    u = u - u.mean(-1, keepdim=True)
    v = v - v.mean(-1, keepdim=True)
    scores["rsa"] = cosine_similarity(u, v, -1)
    scores["std"] = u.square().mean(-1).sqrt()
    scores["r"] = apart.norm(dim=-1) / u.norm(dim=-1)
    return scores


def centred(table: Tensor) -> Tensor:
    """H S H of tables S (..., n, n), H = I - 11'/n."""
    by_row = table.mean(-1, keepdim=True)
    by_column = table.mean(-2, keepdim=True)
    return table - by_row - by_column + by_column.mean(-1, keepdim=True)


def drift(tables: Tensor) -> Tensor:
    """(R,) Frobenius norm of the difference of the two tables in each (R, 2, n, 2n)."""
    return torch.linalg.matrix_norm(tables[:, 0] - tables[:, 1])


def so_far(config: Config, steps: np.ndarray) -> np.ndarray:
    """The step sizes of which T steps add up to the first `steps`."""
    return config.eta * steps / config.steps


class Coupled(Training):
    """SA eq. 1 as written, for R runs, in float64: the two tables of each from one start, by the same batches."""

    rate = "eta"
    Result = Result
    copy_axes = 1
    beside = 1  # two tables of 200 x 400 side by side take 2.0 times as long as one

    def setup(self):
        s = self.state
        points = [self.points(config) for config in self.configs]
        tables = torch.stack([table(z1, z2) for z1, z2, _ in points])
        s.weights = [torch.stack([tables, tables], 1)]  # (R, 2, n, 2n)
        *_, labels = zip(*points, strict=True)
        s.labels = torch.stack(labels)
        s.eta = self.column("eta", torch.float64, axes=3)
        s.tau = self.column("tau", torch.float64, axes=3)
        s.batches = torch.stack([batches(config) for config in self.configs])  # (R, T, n)
        self.follows = self.wants("posterior", *EACH_STEP)
        if self.follows:
            s.each_step = torch.full(
                (len(points), len(EACH_STEP), self.steps), math.nan, dtype=torch.float64
            )

    def points(self, config: Config) -> tuple[Tensor, ...]:
        """`views` of one run."""
        return views(config)

    def counts(self, s: State, t: int) -> Tensor:
        """(R, n) how often each point is in the batch of step t."""
        return s.batches[:, t].double()

    def forward(self, s, drawn, t):
        (tables,) = s.weights
        return tables.detach().sum(-1), None  # the losses' gradients are written out below

    @torch.no_grad()
    def step(self, s, drawn, losses, t):
        (tables,) = s.weights
        counts = self.counts(s, t)
        gradients = batch_gradients(tables, counts, s.labels, s.tau)
        changes = {"weights": sgd([tables], [gradients], s.eta)}
        if self.follows:
            at_cl = injections(tables[:, :1], counts, s.labels, s.tau)
            # (R, 5), in the order of `EACH_STEP`
            row = torch.stack([drift(tables), drift(gradients), *at_cl], 1)
            place = torch.tensor([t], device=row.device)
            changes["each_step"] = s.each_step.index_copy(2, place, row[..., None])
        return changes

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        (tables,) = s.weights
        row = {"drift": drift(tables)}
        if self.wants(*SIMILARITIES):
            row |= similarity_scores(tables[:, 0], tables[:, 1])
        return row

    def ending(self, s):
        row = {}
        if self.wants("final"):
            row["final"] = s.weights[0]
        if self.follows:
            row |= dict(zip(EACH_STEP, s.each_step.unbind(1), strict=True))
        return row

    def result(self, i, columns, head):
        c = head["config"]
        steps = columns["steps"]
        for name in EACH_STEP:
            if name in columns:
                columns[name] = columns[name][: steps[-1]]
        if self.wants("posterior"):
            columns["posterior"] = theory.posterior_bound(
                columns["injections"], c.eta, c.batch, c.tau
            )[steps]
        bounds = []
        for eta in so_far(c, steps):
            bound = theory.similarity_bound(c.classes, c.batch, c.steps, eta, c.tau, c.delta)
            bounds.append((bound, theory.triangle_bound(c.batch, c.steps, eta, c.tau)))
        columns["bound"], columns["triangle"] = np.transpose(bounds)
        names = ("steps", "drift", "bound", "triangle", *self.record)
        return Result(**head, **{name: columns[name] for name in names})


run = Coupled.run
