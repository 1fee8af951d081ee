"""Self-supervised and supervised losses trained side by side under shared randomness (SA Section 5).

One run trains a copy of the same network for each loss. The copies have the same initial weights and see the same
batches and the same two views of each point: they are the slices of one tensor program. DCL, SA's "CL", is the reference.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import torch
import torch.nn.functional as F

from clbook import augment, data, losses, metrics
from clbook.models import MLP
from clbook.runs import Descent, Diverged, default_device, iterate, recorded_times, warmed
from clbook.settings import Outcome, Settings, setting

NAMES = {"pair": ("dcl", "nscl"), "labels": ("dcl", "nscl", "supcon", "ce"), "all": ("dcl", "nscl", "supcon", "ce", "cl")}
POWERS = {"linear": 1.0, "root": 0.5, "fourth root": 0.25, "constant": 0.0}
BASE_BATCH = 64  # the batch size at which all scalings of the learning rate agree
INPUTS = 32  # dimensions of the synthetic points
LAYERS = 5  # three of the encoder and two of the projector
MOVES = {"digits": {"shift": 1.0, "blur": 0.0}, "mnist": {"shift": 2.0}, "cifar10": {"shift": 3.0, "scale": 0.2}}
RATIO = 2.0  # of the geometric series of recorded times
LOOKED_AT = 800, 128  # most training points that are compared, most test points whose losses are recorded


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default trains all five losses on ten classes, each for 200 steps."""

    data: str = setting("synthetic", "the data set", choices=("synthetic", *data.IMAGES))
    classes: int = setting(10, "number of classes C; the image sets have 10", low=2, high=100)
    n: int = setting(2000, "number of training points, all classes together", low=16, high=50_000, log=True)
    test: int = setting(400, "points kept out of training, on which representations are compared", low=10, high=5000)
    spread: float = setting(1.2, "standard deviation within a synthetic class; that of the means is 1", low=0.0, high=10.0)
    noise: float = setting(0.3, "standard deviation of the noise in a view", low=0.0, high=5.0)
    compare: str = setting("all", "pair: DCL and NSCL; labels: and SCL and CE; all: and CL", choices=tuple(NAMES))
    width: int = setting(128, "width of the encoder's three layers and of the projector's hidden one", low=2, high=1024)
    d: int = setting(64, "embedding dimensions", low=2, high=256)
    batch: int = setting(128, "points in a batch B, each seen as two views", low=4, high=4096, log=True)
    replacement: bool = setting(False, "draw each batch with replacement; else each epoch is a fresh order of the data")
    tau: float = setting(0.5, "temperature of the contrastive losses", low=1e-3, high=10.0, log=True)
    optimizer: str = setting("sgd", "sgd with momentum, or lars", choices=("sgd", "lars"))
    lr: float = setting(0.03, "learning rate at a batch size of 64", above=0.0, high=100.0, log=True)
    trust: float = setting(0.02, "LARS: share of its length by which lr = 1 moves a matrix", above=0.0, high=10.0, log=True)
    scaling: str = setting("constant", "how the learning rate grows with the batch size", choices=tuple(POWERS))
    schedule: str = setting("cosine", "learning rate after the warm-up", choices=("cosine", "constant"))
    warmup: int = setting(20, "iterations of linear warm-up", unit="iterations", low=0, high=10_000)
    steps: int = setting(200, "iterations", unit="iterations", low=1, high=20_000, log=True)
    probe: str = setting("never", "when linear probes are fitted, which is slow", choices=("never", "end", "always"))
    record_every: int = setting(0, "record every so many; 0: a geometric series", unit="iterations", low=0, high=10_000)
    seed: int = setting(0, "seed of data, weights, batches and views", low=0, high=2**31)

    @property
    def names(self) -> tuple:
        """The losses, the reference first."""
        return NAMES[self.compare]

    @property
    def rate(self) -> float:
        """The learning rate at this batch size, before warm-up and schedule."""
        return self.lr * (self.batch / BASE_BATCH) ** POWERS[self.scaling]

    def check(self):
        if self.data != "synthetic" and self.classes > 10:
            raise self.error("classes", f"at most 10 for {self.data}, which has no more")
        if min(self.n, self.test) < self.classes:
            raise self.error("n" if self.n < self.classes else "test", f"at least the number of classes, {self.classes}")
        if self.batch > self.n and not self.replacement:
            raise self.error("batch", f"at most n = {self.n} without replacement")
        if self.warmup >= self.steps:
            raise self.error("warmup", f"smaller than the number of steps, {self.steps}")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at T times, of M = len(config.names) networks; on test points unless said.

    Similarities, gaps and angles (degrees) compare each network with the first, trained with DCL: whose own column is 1
    or 0. Angles are between changes since the start, NaN where nothing has moved. Accuracies are those of readouts of the
    encoder's outputs, on test points.
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


def dataset(config: Config):
    """(x, labels, x_test, labels_test) on the CPU, both parts sorted by class, class sizes equal up to rounding."""
    generator, total = torch.Generator().manual_seed(config.seed), config.n + config.test
    if config.data == "synthetic":
        x, labels = data.mixture(total, config.classes, config.spread, INPUTS, generator)
    else:
        x, labels = data.images(config.data, total, config.classes, generator)
    test = torch.zeros(total, dtype=torch.bool)
    test[torch.arange(config.test) * total // config.test] = True  # evenly, so from every class
    return x[~test], labels[~test], x[test], labels[test]


def batches(config: Config, labels):
    """(steps, B) indices of the points in each batch; ValueError where one holds a single class: NSCL has no negatives."""
    generator = torch.Generator().manual_seed(config.seed + 3)
    if config.replacement:
        drawn = torch.randint(config.n, (config.steps, config.batch), generator=generator)
    else:
        whole = config.n // config.batch  # batches in an epoch; the few points left over wait for the next
        epochs = [torch.randperm(config.n, generator=generator)[:whole * config.batch].view(whole, config.batch)
                  for _ in range(-(-config.steps // whole))]
        drawn = torch.cat(epochs)[:config.steps]
    single = (labels[drawn] == labels[drawn[:, :1]]).all(1)
    if single.any():
        raise config.error("batch", f"larger: batch number {int(single.nonzero()[0])} is of one class, NSCL needs negatives")
    return drawn


def view(config: Config, x, generator):
    """A fresh view of every point of x: noise, after a turn, a change of size and a shift where x holds images."""
    x = x if config.data == "synthetic" else augment.images(x, generator, **MOVES[config.data])
    return augment.noise(x, config.noise, generator)


class Networks:
    """M copies of one network with a classification head, as one function of their weights (M, P).

    Images are centred and scaled, all pixels by one number, with the training points x (n, D).
    """

    def __init__(self, config: Config, x):
        generator = torch.Generator().manual_seed(config.seed + 2)
        self.centre, self.scale = (0.0, 1.0) if config.data == "synthetic" else (x.mean(0), x.var(0).mean().sqrt())
        parts = [MLP((x.shape[1], *[config.width] * 4, config.d), "relu", generator),
                 MLP((config.d, config.classes), generator=generator)]
        parameters = [p.detach() for part in parts for p in part.parameters()]
        self.shapes, self.sizes = [p.shape for p in parameters], [p.numel() for p in parameters]
        self.start = torch.nn.utils.parameters_to_vector(parameters)

    def layers(self, weights):
        """[(W (M, out, in), b (M, out)), ...]: encoder, projector, head."""
        parts = [p.unflatten(1, shape) for p, shape in zip(weights.split(self.sizes, 1), self.shapes)]
        return list(zip(parts[::2], parts[1::2]))

    def __call__(self, weights, x):
        """x (n, D) to the encoder's outputs (M, n, width), the embeddings (M, n, d) and the head's (M, n, C)."""
        out, signal = [], ((x - self.centre) / self.scale).expand(len(weights), *x.shape)
        for k, (W, b) in enumerate(self.layers(weights)):
            signal = torch.baddbmm(b[:, None], signal, W.mT)
            if k < LAYERS - 1:
                signal = signal.relu()
            out.append(signal)
        return out[2], out[4], out[5]


def loss_of(name, z, scores, labels, tau):
    """The loss `name` of the two views z (2B, d) of a batch; the cross-entropy reads the head's scores (2B, C)."""
    if name == "ce":
        return F.cross_entropy(scores, labels.repeat(2))
    return getattr(losses, name)(*z.chunk(2), *(() if name in ("cl", "dcl") else (labels,)), tau)


def training(config: Config, x, labels, names):
    """(networks, start (M, P), step) for `iterate`: one network for each of `names`, a step of each on the same views."""
    networks = Networks(config, x)
    drawn, generator = batches(config, labels.cpu()).to(x.device), torch.Generator().manual_seed(config.seed + 4)
    lars = {"decay": 1e-6, "trust": config.trust} if config.optimizer == "lars" else {}
    descent = Descent(networks.sizes, [len(s) > 1 for s in networks.shapes], **lars)

    def step(weights, t):
        chosen = drawn[t - 1]
        views = view(config, x[chosen].repeat(2, 1).cpu(), generator).to(x)
        weights = weights.detach().requires_grad_()
        _, z, scores = networks(weights, views)
        total = sum(loss_of(*each, labels[chosen], config.tau) for each in zip(names, z, scores))
        (gradient,) = torch.autograd.grad(total, weights)
        factor = warmed(t, config.steps, config.warmup, config.schedule == "cosine")
        return descent.step(weights.detach(), gradient, config.rate * factor)

    return networks, networks.start.to(x.device).repeat(len(names), 1), step


def angle(a, b):
    """Angle in degrees between vectors a and b (..., k); NaN where one is zero."""
    cosine = (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def pca_angle(start, a, b):
    """SA App. A.2: (n, d) embeddings at the start and of both networks, in three principal axes, then the means' angle."""
    stacked = np.concatenate([start, start, a, b]).astype(np.float64)
    _, _, axes = np.linalg.svd(stacked - stacked.mean(0), full_matrices=False)
    return angle((a - start).mean(0) @ axes[:3].T, (b - start).mean(0) @ axes[:3].T)


class Recorder:
    """Collects the arrays of a `Result`; called by `iterate` at every step."""

    def __init__(self, config, networks, x, labels, x_test, labels_test):
        self.config, self.networks, self.device, self.rows = config, networks, x.device, []
        self.times = set(recorded_times(config.steps, config.record_every, RATIO))
        near, some = (torch.arange(min(most, count)) * count // min(most, count)
                      for most, count in zip(LOOKED_AT, (config.n, config.test)))  # evenly, so from every class
        self.x, self.y = torch.cat([x_test, x[near]]), labels[near].cpu().numpy()
        self.labels, self.view_labels = labels_test.cpu().numpy(), labels_test[some]
        self.views = view(config, x_test[some].repeat(2, 1).cpu(), torch.Generator().manual_seed(config.seed + 5)).to(x)
        self.began = time.monotonic()

    @torch.no_grad()
    def __call__(self, weights, t):
        if t in self.times:
            if not weights.isfinite().all():
                raise Diverged(t)
            with np.errstate(invalid="ignore"):
                self.rows.append({"steps": t, **self.diagnostics(weights, t)})

    def diagnostics(self, weights, t):
        labels, count, both = self.labels, self.config.test, (self.view_labels, self.config.tau)
        inner, z, _ = (out.cpu().numpy() for out in self.networks(weights, self.x))
        (inner, near), (z, z_near) = ((part[:, :count], part[:, count:]) for part in (inner, z))
        views = [v.chunk(2) for v in self.networks(weights, self.views)[1]]
        first, mine = self.rows[0]["z"] if self.rows else z, labels == labels[0]
        moved = (weights - self.networks.start.to(weights))[:, :-sum(self.networks.sizes[-2:])].cpu().numpy()  # no head
        means = np.stack([(z - first)[:, labels == c].mean(1) for c in np.unique(labels)], 1)  # (M, C, d)
        pairs = [(W.norm(dim=(1, 2)), (W - W[0]).norm(dim=(1, 2))) for W, _ in self.networks.layers(weights)[:LAYERS]]
        layer_gap = torch.stack([2 * apart / (size + size[0]) for size, apart in pairs], 1).cpu().numpy()
        fit = self.config.probe == "always" or self.config.probe == "end" and t == self.config.steps
        readouts = {"nccc": metrics.nccc, "probe": metrics.linear_probe if fit else lambda *_: np.nan}
        similarities = {"cka": (metrics.linear_cka, z), "rsa": (metrics.rsa, z), "cka_train": (metrics.linear_cka, z_near),
                        "rsa_train": (metrics.rsa, z_near), "cka_encoder": (metrics.linear_cka, inner)}
        return {
            "z": z, "layer_gap": layer_gap, "gap": layer_gap.mean(1), "weight_angle": angle(moved, moved[0]),
            "class_angle": angle(means, means[0]).mean(1),
            "pca_angle": np.array([pca_angle(first[0, mine], z[0, mine], v[mine]) for v in z]),
            "loss_gap": np.array([float(losses.dcl(*v, both[1]) - losses.nscl(*v, *both)) for v in views]),
            **{key: np.array([metric(v[0], w) for w in v]) for key, (metric, v) in similarities.items()},
            **{key: np.array([read(a, self.y, b, labels) for a, b in zip(near, inner)]) for key, read in readouts.items()}}

    def result(self, stopped) -> Result:
        columns = {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}
        return Result(config=self.config, seconds=time.monotonic() - self.began, device=str(self.device), stopped=stopped,
                      labels=self.labels, **columns)


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train one network for each loss under shared randomness; progress and device as in `separability.run`.

    Raises ValueError: the data set lacks files or images; a batch holds one class; the run diverged (names lr).
    """
    device = default_device(device)
    x, labels, x_test, labels_test = (array.to(device) for array in dataset(config))
    networks, start, step = training(config, x, labels, config.names)
    recorder = Recorder(config, networks, x, labels, x_test, labels_test)
    report = progress and (lambda fraction: progress(fraction, recorder.result(stopped=True)))
    try:
        _, _, stopped = iterate(step, start, config.steps, recorder, report)
    except Diverged as error:
        raise config.diverged("lr", error.step) from error
    return recorder.result(stopped)
