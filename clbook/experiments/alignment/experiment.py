"""Self-supervised and supervised losses trained side by side under shared randomness (SA Section 5).

One run trains a copy of the same network for each loss. The copies have the same initial weights and see the same
batches and the same two views of each point: slices of one tensor program. DCL, SA's "CL", is the reference.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
from collections.abc import Sequence

import numpy as np
import torch

from clbook import augment, losses, metrics
from clbook.data import IMAGES, evenly, image_files, images, mixture
from clbook.models import MLP, affine, stacked
from clbook.optim import Descent, warmed
from clbook.runs import BLOCK, Draws, Program, alone, recorded_times, stream, streams
from clbook.settings import Outcome, Settings, setting

DATA, WEIGHTS, BATCHES, VIEWS, RECORDED = 0, 2, 3, 4, 5  # purposes of the streams of random numbers

NAMES = {
    "pair": ("dcl", "nscl"),
    "labels": ("dcl", "nscl", "supcon", "ce"),
    "all": ("dcl", "nscl", "supcon", "ce", "cl"),
}
POWERS = {"linear": 1.0, "root": 0.5, "fourth root": 0.25, "constant": 0.0}
BASE_BATCH = 64  # the batch size at which all scalings of the learning rate agree
INPUTS = 32  # dimensions of the synthetic points
LAYERS = 5  # three of the encoder and two of the projector
MOVES = {
    "digits": {"shift": 1.0, "blur": 0.0},
    "mnist": {"shift": 2.0},
    "cifar10": {"shift": 3.0, "scale": 0.2},
}
RATIO = 2.0  # of the geometric series of recorded times
LOOKED_AT = (
    800,
    128,
)  # most training points that are compared, most test points whose losses are recorded
DRAWN = 2**23  # most random numbers drawn ahead for a run: of large images, those of fewer steps


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default trains all five losses on ten classes, each for 200 steps."""

    data: str = setting("synthetic", "the data set", choices=("synthetic", *IMAGES), file=".npz")
    classes: int = setting(10, "number of classes C, of a set the first so many", low=2, high=100)
    n: int = setting(
        2000, "number of training points, all classes together", low=16, high=50_000, log=True
    )
    test: int = setting(
        400, "points kept out of training, on which representations are compared", low=10, high=5000
    )
    spread: float = setting(
        1.2,
        "standard deviation within a synthetic class; that of the means is 1",
        low=0.0,
        high=10.0,
        each=True,
    )
    noise: float = setting(
        0.3, "standard deviation of the noise in a view", low=0.0, high=5.0, each=True
    )
    compare: str = setting(
        "all", "pair: DCL and NSCL; labels: and SCL and CE; all: and CL", choices=tuple(NAMES)
    )
    width: int = setting(
        128,
        "width of the encoder's three layers and of the projector's hidden one",
        low=2,
        high=1024,
    )
    d: int = setting(64, "embedding dimensions", low=2, high=256)
    batch: int = setting(
        128, "points in a batch B, each seen as two views", low=4, high=4096, log=True
    )
    replacement: bool = setting(
        False, "draw each batch with replacement; else each epoch is a fresh order of the data"
    )
    tau: float = setting(
        0.5, "temperature of the contrastive losses", low=1e-3, high=10.0, log=True, each=True
    )
    optimizer: str = setting("sgd", "sgd with momentum, or lars", choices=("sgd", "lars"))
    lr: float = setting(
        0.03, "learning rate at a batch size of 64", above=0.0, high=100.0, log=True, each=True
    )
    trust: float = setting(
        0.02,
        "LARS: share of its length by which lr = 1 moves a matrix",
        above=0.0,
        high=10.0,
        log=True,
    )
    scaling: str = setting(
        "constant",
        "how the learning rate grows with the batch size",
        choices=tuple(POWERS),
        each=True,
    )
    schedule: str = setting(
        "cosine", "learning rate after the warm-up", choices=("cosine", "constant")
    )
    warmup: int = setting(20, "iterations of linear warm-up", unit="iterations", low=0, high=10_000)
    steps: int = setting(200, "iterations", unit="iterations", low=1, high=20_000, log=True)
    probe: str = setting(
        "never", "when linear probes are fitted, which is slow", choices=("never", "end", "always")
    )
    record_every: int = setting(
        0, "record every so many; 0: a geometric series", unit="iterations", low=0, high=10_000
    )
    seed: int = setting(0, "seed of data, weights, batches and views", low=0, high=2**31, each=True)

    @property
    def names(self) -> tuple:
        """The losses, the reference first."""
        return NAMES[self.compare]

    @property
    def rate(self) -> float:
        """The learning rate at this batch size, before warm-up and schedule."""
        return self.lr * (self.batch / BASE_BATCH) ** POWERS[self.scaling]

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        """The files of the image set."""
        return image_files(self.data)

    def check(self):
        if self.data in IMAGES and self.classes > 10:
            raise self.error("classes", f"at most 10 for {self.data}, which has no more")
        if min(self.n, self.test) < self.classes:
            short = "n" if self.n < self.classes else "test"
            raise self.error(short, f"at least the number of classes, {self.classes}")
        if self.batch > self.n and not self.replacement:
            raise self.error("batch", f"at most n = {self.n} without replacement")
        if self.warmup >= self.steps:
            raise self.error("warmup", f"smaller than the number of steps, {self.steps}")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at T times, of M = len(config.names) networks; on test points unless said.

    Similarities, gaps and angles (degrees) compare each network with the first, trained with DCL: whose own column is 1
    or 0. Angles are between changes since the start, NaN where nothing has moved; a similarity is NaN where it has no
    answer, because an embedding is 0 or all are one. Accuracies are those of readouts of the encoder's outputs, on test
    points.
    """

    steps: np.ndarray  # (T,) recorded iterations
    labels: np.ndarray  # (test,), sorted
    z: np.ndarray  # (T, M, test, d) embeddings, after the projector
    cka: np.ndarray  # (T, M) of z, as the next
    rsa: np.ndarray
    cka_train: np.ndarray  # (T, M) of training points, as the next
    rsa_train: np.ndarray
    cka_encoder: np.ndarray  # (T, M) of the encoder's outputs
    gap: np.ndarray  # (T, M) mean over layers of the relative weight gap (SA Sec. 5.1, Fig. 6)
    layer_gap: np.ndarray  # (T, M, 5) each layer's
    weight_angle: np.ndarray  # (T, M) of all weights (SA App. A.2)
    class_angle: np.ndarray  # (T, M) of a class's mean embedding, averaged over classes
    pca_angle: np.ndarray  # (T, M) of the first class's in SA's way, see the function
    loss_gap: np.ndarray  # (T, M) DCL - NSCL of each network's embeddings of two views
    nccc: np.ndarray  # (T, M) accuracy of nearest class centres
    probe: np.ndarray  # (T, M) accuracy of a linear probe, NaN where none was fitted


def dataset(config: Config) -> tuple[torch.Tensor, ...]:
    """(x, labels, x_test, labels_test) on the CPU, both parts sorted by class, class sizes equal up to rounding."""
    generator, total = stream(config.seed, DATA), config.n + config.test
    if config.data == "synthetic":
        x, labels = mixture(total, config.classes, config.spread, INPUTS, generator)
    else:
        x, labels = images(config.data, total, config.classes, generator)
    test = torch.zeros(total, dtype=torch.bool)
    test[evenly(config.test, total)] = True
    return x[~test], labels[~test], x[test], labels[test]


def batches(config: Config, labels: torch.Tensor) -> torch.Tensor:
    """(steps, B) indices of the points in each batch; ValueError where one is of one class: NSCL has no negatives."""
    generator = stream(config.seed, BATCHES)
    if config.replacement:
        drawn = torch.randint(config.n, (config.steps, config.batch), generator=generator)
    else:
        whole = (
            config.n // config.batch
        )  # batches in an epoch; the few points left over wait for the next
        epochs = [
            torch.randperm(config.n, generator=generator)[: whole * config.batch].view(
                whole, config.batch
            )
            for _ in range(-(-config.steps // whole))
        ]
        drawn = torch.cat(epochs)[: config.steps]
    single = (labels[drawn] == labels[drawn[:, :1]]).all(1)
    if single.any():
        first = int(single.nonzero()[0])
        raise config.error(
            "batch", f"larger: batch number {first} is of one class, NSCL needs negatives"
        )
    return drawn


def draw(config: Config, n: int, pixels: int, generator: torch.Generator) -> torch.Tensor:
    """What `view` needs for n points: (n, m + pixels), m numbers of `augment.moves` if they are images, then noise."""
    moves = [augment.moves(n, generator, **MOVES[config.data])] if config.data in MOVES else []
    return torch.cat([*moves, torch.randn(n, pixels, generator=generator)], 1)


def view(x: torch.Tensor, drawn: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """A view of each of x (R, n, D), which `drawn` (R, n, m + D) decides: noise of sd (R, 1, 1); images move before."""
    moves, normal = drawn.split([drawn.shape[-1] - x.shape[-1], x.shape[-1]], -1)
    return (augment.moved(x, moves) if moves.shape[-1] else x) + noise * normal


def start(config: Config, inputs: int) -> torch.nn.Module:
    """The network that all losses begin with: encoder and projector, then the classification head, for CE alone."""
    generator = stream(config.seed, WEIGHTS)
    return torch.nn.Sequential(
        MLP((inputs, *[config.width] * 4, config.d), "relu", generator),
        MLP((config.d, config.classes), generator=generator),
    )


def networks(weights: list[torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """M networks for each of R runs, on the run's points.

    Args:
        weights: W (R, M, out, in) and b (R, M, out) of each layer in turn, the head's last or left out. x: (R, n, D).

    Returns:
        The encoder's outputs (R, M, n, width), the embeddings (R, M, n, d) and what comes last: with a head its scores
        (R, M, n, C).
    """
    out, leading = [], weights[0].shape[:2]
    signal = x[:, None].expand(*leading, *x.shape[1:]).flatten(0, 1)
    for k in range(len(weights) // 2):
        signal = affine(signal, *(w.flatten(0, 1) for w in weights[2 * k : 2 * k + 2]))
        if k < LAYERS - 1:
            signal = signal.relu()
        out.append(signal.unflatten(0, leading))
    return out[2], out[LAYERS - 1], out[-1]


def contrasts(
    names: Sequence[str], z: torch.Tensor, labels: torch.Tensor, tau: torch.Tensor | float
) -> torch.Tensor:
    """Contrastive losses of R runs, `names[k]` of the two views z[:, k] of a batch, from one tensor of cosines.

    They are those of `losses`: mean over the views a of  log sum_b exp(s_ab) - sum_p w_ap s_ap,  s = cosine / tau. They
    differ in the views b below the line and in the shares w of those that pull: the partner, for SupCon the class.

    Args:
        names: K of "dcl", "cl", "nscl", "supcon". z: (R, K, 2B, d), first views first. labels: (R, B).
        tau: a number or (R, 1, 1, 1).

    Returns:
        (R, K)
    """
    count = z.shape[-2] // 2
    unit = torch.nn.functional.normalize(z, dim=-1)
    s = unit / tau @ unit.mT  # (R, K, 2B, 2B)
    itself = torch.eye(2 * count, dtype=torch.bool, device=z.device)
    partner = itself.roll(count, 1)
    same = (labels[:, :, None] == labels[:, None]).tile(2, 2)  # (R, 2B, 2B)
    peers = (same & ~itself).to(z.dtype)
    left_out = {"dcl": itself | partner, "nscl": same}
    pulling = {"supcon": peers / peers.sum(-1, keepdim=True)}
    hidden = torch.stack([left_out.get(name, itself).expand_as(same) for name in names], 1)
    w = torch.stack([pulling.get(name, partner.to(z.dtype)).expand_as(same) for name in names], 1)
    of_view = s.masked_fill(hidden, -math.inf).logsumexp(-1) - (w * s).sum(-1)  # (R, K, 2B)
    first = of_view[..., :count].mean(-1)  # SA's CL has the first views alone as anchors
    return torch.stack(
        [first[:, k] if name == "cl" else of_view[:, k].mean(-1) for k, name in enumerate(names)], 1
    )


def cross_entropy(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(R,) the mean of -log softmax(scores)_y over scores (R, n, C) and labels (R, n)."""
    return -scores.log_softmax(-1).gather(-1, labels[..., None])[..., 0].mean(-1)


class Copies(Program):
    """R runs, in each M copies of one network that see the same views, each trained with its own loss."""

    Result, compiles, alike = Result, ("objective",), 1

    def setup(self):
        c, s = self.config, self.state
        self.times = set(recorded_times(c.steps, c.record_every, RATIO))
        s.tau, s.noise, s.lr = self.each("tau", axes=3), self.each("noise"), self.each("rate")
        s.losses = torch.zeros(len(self.configs), len(c.names))
        self.gather_points()
        self.draw_ahead()
        starts = stacked([start(k, self.x.shape[-1]) for k in self.configs])
        starts = (
            starts if "ce" in c.names else starts[: 2 * LAYERS]
        )  # no other loss trains the head
        self.trained = [w[:, None].repeat(1, len(c.names), *(1,) * (w.ndim - 1)) for w in starts]
        s.start = [w.clone() for w in self.trained]

    def dataset(self, config):
        """`dataset` of one run."""
        return dataset(config)

    def gather_points(self):
        """Training points x (sets, n, D), shared by runs that agree in seed and spread, and those that are recorded."""
        c, s = self.config, self.state
        sets = {(k.seed, k.spread): k for k in self.configs}
        s.points = torch.tensor([list(sets).index((k.seed, k.spread)) for k in self.configs])
        x, labels, x_test, labels_test = zip(*(self.dataset(k) for k in sets.values()), strict=True)
        self.x, self.labels, self.labels_test = (
            torch.stack(x),
            labels[0],
            labels_test[0],
        )  # labels of all runs
        near = evenly(LOOKED_AT[0], c.n)
        self.near = self.labels[near].numpy()
        s.seen = torch.cat([torch.stack(x_test), self.x[:, near]], 1)[s.points]
        s.centre, s.scale = (
            torch.zeros(len(s.seen), 1, x[0].shape[1]),
            torch.ones(len(s.seen), 1, 1),
        )
        if (
            c.data != "synthetic"
        ):  # others are centred, and scaled by one number, with the training points
            s.centre = torch.stack([a.mean(0, keepdim=True) for a in x])[s.points]
            s.scale = torch.stack([a.var(0).mean().sqrt() for a in x])[s.points, None, None]

    def draw_ahead(self):
        """Each run's batches (steps, B) and the views that are recorded; the views of the training come in blocks."""
        c, s, pixels = self.config, self.state, self.x.shape[-1]
        orders = {k.seed: batches(k, self.labels) for k in self.configs}
        s.batches = torch.stack([orders[k.seed] for k in self.configs])
        block = max(1, min(BLOCK, DRAWN // (2 * c.batch * pixels)))
        self.draws = Draws(
            streams(self.configs, VIEWS), lambda g: draw(c, 2 * c.batch, pixels, g), block
        )
        some = evenly(LOOKED_AT[1], c.test)
        drawn = torch.stack(
            [draw(c, 2 * len(some), pixels, stream(k.seed, RECORDED)) for k in self.configs]
        )
        self.view_labels, s.views = (
            self.labels_test[some],
            view(s.seen[:, some].tile(2, 1), drawn, s.noise),
        )

    def begin(self):
        lars = (
            {"decay": 1e-6, "trust": self.config.trust} if self.config.optimizer == "lars" else {}
        )
        self.optimiser = Descent(self.trained, self.state.lr, momentum=0.9, axes=2, **lars)

    def now(self, t):
        return self.state.losses  # of the step that led here

    def advance(self, t):
        c, s = self.config, self.state
        chosen = s.batches[:, t]
        views = view(self.x[s.points[:, None], chosen].tile(2, 1), self.draws.next(), s.noise)
        found = self.objective(views, self.labels[chosen])
        self.descend(found, warmed(t + 1, c.steps, c.warmup, c.schedule == "cosine"))
        s.losses = found.detach()

    def objective(self, views, labels):
        """(R, M) the loss of every network on views (R, 2B, D) of points with labels (R, B)."""
        names, (_, z, scores) = self.config.names, self.outputs(views)
        which = [k for k, name in enumerate(names) if name != "ce"]
        chosen = z if len(which) == len(names) else torch.stack([z[:, k] for k in which], 1)
        found = iter(contrasts([names[k] for k in which], chosen, labels, self.state.tau).unbind(1))
        y = labels.tile(2)  # of both views
        return torch.stack(
            [
                cross_entropy(scores[:, k], y) if name == "ce" else next(found)
                for k, name in enumerate(names)
            ],
            1,
        )

    def outputs(self, x):
        """`networks` of points or views x (R, n, D)."""
        return networks(self.trained, (x - self.state.centre) / self.state.scale)

    @torch.no_grad()
    def measure(self, z, t):
        """What a `Result` has, for each run by itself; "finite" is False where weights or outputs have overflowed."""
        c, s = self.config, self.state
        inner, z, _ = self.outputs(s.seen)
        z1, z2 = self.outputs(s.views)[1].chunk(2, -2)
        loss_gap = losses.dcl.formula(z1, z2, s.tau) - losses.nscl.formula(
            z1, z2, self.view_labels, s.tau
        )
        if t == 0:
            s.first = z[:, :, : c.test].clone()
        finite = (
            torch.stack([a.flatten(1).isfinite().all(1) for a in (*self.trained, inner, z)])
            .all(0)
            .cpu()
            .numpy()
        )
        inner, z, first, loss_gap, labels = (
            a.cpu().numpy() for a in (inner, z, s.first, loss_gap, self.labels_test)
        )
        weights, start = ([w.cpu().numpy() for w in those] for those in (self.trained, s.start))
        fit, rows = c.probe == "always" or (c.probe == "end" and t == c.steps), []
        for i in np.flatnonzero(finite):
            (inside, inside_near), (out, out_near) = (
                np.split(a[i], [c.test], 1) for a in (inner, z)
            )
            with np.errstate(invalid="ignore", over="ignore"):
                rows.append(
                    {
                        "z": out,
                        "loss_gap": loss_gap[i],
                        **similarities(out, out_near, inside),
                        **weights_apart([w[i] for w in weights], [w[i] for w in start]),
                        **angles(out, first[i], labels),
                        **readouts(inside_near, self.near, inside, labels, fit),
                    }
                )
        places = (
            np.cumsum(finite) - 1
        )  # a run that is not finite gets another's row, which nobody reads
        table = (
            {name: np.stack([rows[k][name] for k in places]) for name in rows[0]} if rows else {}
        )
        return table | {"finite": finite}

    def result(self, i, columns, head):
        return self.Result(**head, **columns, labels=self.labels_test.cpu().numpy())


# What is recorded of one run: arrays whose first axis is the M networks, the reference first.


def defined(metric, *args) -> float:
    """metric(*args), or NaN where it has no answer: for a network that has collapsed."""
    try:
        return metric(*args)
    except ValueError:
        return math.nan


def similarities(z: np.ndarray, z_train: np.ndarray, encoder: np.ndarray) -> dict[str, np.ndarray]:
    """{name: (M,)} CKA and RSA with the reference: embeddings (M, n, d) of test and training points, and outputs."""
    pairs = {
        "cka": (metrics.linear_cka, z),
        "rsa": (metrics.rsa, z),
        "cka_train": (metrics.linear_cka, z_train),
        "rsa_train": (metrics.rsa, z_train),
        "cka_encoder": (metrics.linear_cka, encoder),
    }
    return {
        name: np.array([defined(metric, a[0], b) for b in a]) for name, (metric, a) in pairs.items()
    }


def weights_apart(weights: list[np.ndarray], start: list[np.ndarray]) -> dict[str, np.ndarray]:
    """How far weights (M, out, in), (M, out), ... are from the reference's, and their changes' angle; no head."""
    weights, start, size = weights[: 2 * LAYERS], start[: 2 * LAYERS], np.linalg.norm
    gaps = [
        2 * size(W - W[0], axis=(1, 2)) / (size(W, axis=(1, 2)) + size(W[0])) for W in weights[::2]
    ]
    change = np.concatenate(
        [(w - w0).reshape(len(w), -1) for w, w0 in zip(weights, start, strict=True)], 1
    )
    layer_gap = np.stack(gaps, 1)
    return {
        "layer_gap": layer_gap,
        "gap": layer_gap.mean(1),
        "weight_angle": angle(change, change[0]),
    }


def angles(z: np.ndarray, start: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Angles to the reference's of the classes' mean changes, from embeddings `start` to those now, both (M, n, d)."""
    means = np.stack(
        [(z - start)[:, labels == c].mean(1) for c in np.unique(labels)], 1
    )  # (M, C, d)
    mine = labels == labels[0]
    by_pca = np.array([pca_angle(start[0, mine], z[0, mine], v[mine]) for v in z])
    return {"class_angle": angle(means, means[0]).mean(1), "pca_angle": by_pca}


def readouts(
    train: np.ndarray, y: np.ndarray, test: np.ndarray, y_test: np.ndarray, fit: bool
) -> dict[str, np.ndarray]:
    """Test accuracies of the encoder's outputs, train (M, n, k) and test (M, m, k); a linear probe only if `fit`."""
    nccc = [metrics.nccc(a, y, b, y_test) for a, b in zip(train, test, strict=True)]
    probe = [
        metrics.linear_probe(a, y, b, y_test) if fit else math.nan
        for a, b in zip(train, test, strict=True)
    ]
    return {"nccc": np.array(nccc), "probe": np.array(probe)}


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle in degrees between vectors a and b (..., k); NaN where one is zero."""
    cosine = (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def pca_angle(start: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """SA App. A.2: (n, d) embeddings at the start and of both networks, in 3 principal axes, then the means' angle."""
    stack = np.concatenate([start, start, a, b]).astype(np.float64)
    _, _, axes = np.linalg.svd(stack - stack.mean(0), full_matrices=False)
    return angle((a - start).mean(0) @ axes[:3].T, (b - start).mean(0) @ axes[:3].T)


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train one network for each loss under shared randomness; progress and device as in `separability.run`.

    Raises ValueError: the data set lacks files or images; a batch holds one class; the run diverged (names lr).
    """
    return alone(Copies, config, progress, device)


run.program = Copies
