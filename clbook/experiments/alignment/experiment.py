"""Self-supervised and supervised losses trained side by side under shared randomness (SA Section 5).

One run trains a copy of the same network for each loss. The copies have the same initial weights and see the same
batches and the same two views of each point: slices of one tensor program. DCL, SA's "CL", is the reference.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import pathlib
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook import augment, losses, metrics
from clbook.data import IMAGES, evenly, image_files, images, mixture
from clbook.models import MLP, affine, stacked
from clbook.training.loop import State, Training, recorded_times
from clbook.training.optim import lars_directions, momentum, warmed, zeros
from clbook.training.settings import (
    Outcome,
    Settings,
    iterations,
    quantity,
    recorded,
    recorded_every,
    seed_of,
    setting,
)
from clbook.training.streams import Draws, stream, streams

DATA, WEIGHTS, BATCHES, VIEWS, RECORDED = 0, 2, 3, 4, 5  # purposes of the streams of random numbers

NAMES = {
    "pair": ("dcl", "nscl"),
    "labels": ("dcl", "nscl", "supcon", "ce"),
    "all": ("dcl", "nscl", "supcon", "ce", "cl"),
}
POWERS = {"linear": 1.0, "root": 0.5, "fourth root": 0.25, "constant": 0.0}
DISCS, SHOWN = 4, 150  # how many networks a figure draws, and how many test points of each
BASE_BATCH = 64  # the batch size at which all scalings of the learning rate agree
INPUTS = 32  # dimensions of the synthetic points
ENCODER, LAYERS = 3, 5  # layers of the encoder, and of encoder and projector together
DECAY = 1e-6  # weight decay of LARS
MOVES = {
    "digits": {"shift": 1.0, "blur": 0.0},
    "mnist": {"shift": 2.0},
    "cifar10": {"shift": 3.0, "scale": 0.2},
}
RATIO = 2.0  # of the geometric series of recorded times
MOST_TRAINING, MOST_VIEWED = 800, 128  # points that are compared, and test points of the loss gap
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
    steps: int = iterations(200, high=20_000)
    record_every: int = recorded_every()
    seed: int = seed_of("data, weights, batches and views")

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
    """What one run recorded of M = len(config.names) networks; on test points unless said.

    Similarities, gaps and angles compare each network with the first, trained with DCL. Its own column is 1 or 0.
    Angles are between changes since the start, NaN where nothing has moved. A similarity is NaN where it has no answer:
    an embedding is 0, or all are one. Accuracies are those of readouts of the encoder's outputs. `pca_angle` is the
    angle of the first class's mean embedding in three principal axes, as in SA App. A.2.
    """

    steps: np.ndarray = recorded()
    labels: np.ndarray = quantity("class of each test point, sorted", dims="point")
    z: np.ndarray = quantity(
        "embeddings, after the projector", dims="step network point dim", on_request=True
    )
    plane: np.ndarray = quantity(
        "some test points of the first networks, as unit vectors on two axes: see `on_plane`",
        dims="step drawn shown axis",
        on_request=True,
    )
    cka: np.ndarray = quantity("CKA of the embeddings", dims="step network", on_request=True)
    rsa: np.ndarray = quantity("RSA of the embeddings", dims="step network", on_request=True)
    cka_train: np.ndarray = quantity(
        "CKA, of training points", dims="step network", on_request=True
    )
    rsa_train: np.ndarray = quantity(
        "RSA, of training points", dims="step network", on_request=True
    )
    cka_encoder: np.ndarray = quantity(
        "CKA of the encoder's outputs", dims="step network", on_request=True
    )
    gap: np.ndarray = quantity(
        "relative weight gap, mean over layers (SA Sec. 5.1, Fig. 6)",
        dims="step network",
        on_request=True,
    )
    layer_gap: np.ndarray = quantity(
        "relative weight gap of each layer", dims="step network layer", on_request=True
    )
    weight_angle: np.ndarray = quantity(
        "angle of all weights (SA App. A.2)", dims="step network", unit="degrees", on_request=True
    )
    class_angle: np.ndarray = quantity(
        "angle of a class's mean embedding, averaged over classes",
        dims="step network",
        unit="degrees",
        on_request=True,
    )
    pca_angle: np.ndarray = quantity(
        "angle of the first class's mean embedding, in SA's way: see `pca_angle`",
        dims="step network",
        unit="degrees",
        on_request=True,
    )
    loss_gap: np.ndarray = quantity(
        "DCL - NSCL of each network's embeddings of two views", dims="step network", on_request=True
    )
    nccc: np.ndarray = quantity(
        "accuracy of nearest class centres", dims="step network", on_request=True
    )
    probe: np.ndarray = quantity(
        "accuracy of a linear probe at the end, which is slow to fit",
        dims="network",
        on_request=True,
    )


# What all networks of a run share: points, batches, views, start.


def dataset(config: Config) -> tuple[Tensor, ...]:
    """The points of a run, on the CPU.

    Returns:
        x, labels, x_test, labels_test: both parts sorted by class, class sizes equal up to rounding.
    """
    generator = stream(config.seed, DATA)
    total = config.n + config.test
    if config.data == "synthetic":
        x, labels = mixture(total, config.classes, config.spread, INPUTS, generator)
    else:
        x, labels = images(config.data, total, config.classes, generator)
    places = evenly(config.test, total)
    test = torch.zeros(total, dtype=torch.bool)
    test[places] = True
    train = ~test
    return x[train], labels[train], x[test], labels[test]


def batches(config: Config, labels: Tensor) -> Tensor:
    """(steps, B) positions of the points in each batch.

    Raises:
        ValueError: a batch is of one class, so that NSCL has no negatives.
    """
    generator = stream(config.seed, BATCHES)
    n = config.n
    steps = config.steps
    B = config.batch
    if config.replacement:
        drawn = torch.randint(n, (steps, B), generator=generator)
    else:
        whole = n // B  # batches in an epoch; the few points left over wait for the next
        count = math.ceil(steps / whole)
        epochs = [
            torch.randperm(n, generator=generator)[: whole * B].view(whole, B) for _ in range(count)
        ]
        drawn = torch.cat(epochs)[:steps]
    classes = labels[drawn]
    single = (classes == classes[:, :1]).all(1)
    if single.any():
        first = int(single.nonzero()[0])
        raise config.error(
            "batch", f"larger: batch number {first} is of one class, NSCL needs negatives"
        )
    return drawn


def draw(config: Config, n: int, pixels: int, generator: torch.Generator) -> Tensor:
    """(n, m + pixels) what `view` needs for n points: for images m numbers of `augment.moves`, then noise."""
    parts = []
    if config.data in MOVES:
        moves = augment.moves(n, generator, **MOVES[config.data])
        parts.append(moves)
    parts.append(torch.randn(n, pixels, generator=generator))
    return torch.cat(parts, 1)


def view(x: Tensor, drawn: Tensor, noise: Tensor) -> Tensor:
    """A view of each point: an image is moved, then noise is added.

    Args:
        x: (R, n, D).
        drawn: (R, n, m + D), as from `draw`.
        noise: (R, 1, 1) standard deviation of the noise.
    """
    pixels = x.shape[-1]
    of_moves = drawn.shape[-1] - pixels
    moves, normal = drawn.split([of_moves, pixels], -1)
    if of_moves > 0:
        x = augment.moved(x, moves)
    return x + noise * normal


def start(config: Config, inputs: int) -> torch.nn.Module:
    """The network that all losses begin with: encoder and projector, then the classification head, for CE alone."""
    generator = stream(config.seed, WEIGHTS)
    network = MLP((inputs, *[config.width] * 4, config.d), "relu", generator)
    return torch.nn.Sequential(network, MLP((config.d, config.classes), generator=generator))


def networks(weights: list[Tensor], x: Tensor) -> tuple[Tensor, ...]:
    """M networks for each of R runs, on the run's points.

    Args:
        weights: W (R, M, out, in) and b (R, M, out) of each layer in turn, the head's last or left out.
        x: (R, n, D).

    Returns:
        The encoder's outputs (R, M, n, width), the embeddings (R, M, n, d) and what comes last: with a head its scores
        (R, M, n, C).
    """
    runs = weights[0].shape[:2]  # R and M
    signal = x[:, None].expand(*runs, *x.shape[1:])
    signal = signal.flatten(0, 1)  # (R M, n, D)
    flat = [w.flatten(0, 1) for w in weights]
    matrices = flat[::2]
    biases = flat[1::2]
    outputs = []
    for layer, W in enumerate(matrices, 1):
        signal = affine(signal, W, biases[layer - 1])
        if layer < LAYERS:  # neither the embedding nor the head is rectified
            signal = signal.relu()
        outputs.append(signal.unflatten(0, runs))
    return outputs[ENCODER - 1], outputs[LAYERS - 1], outputs[-1]


# Losses of one network in each of R runs.


def contrastive(name: str, z: Tensor, labels: Tensor, tau: Tensor) -> Tensor:
    """(R,) the loss `name` of `losses`, of embeddings z (R, 2B, d), first views first, with labels (R, B)."""
    z1, z2 = z.chunk(2, -2)
    loss = getattr(losses, name)
    if name in ("nscl", "supcon"):
        return loss(z1, z2, labels, tau)
    return loss(z1, z2, tau)


def cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """(R,) the mean of -log softmax(scores)_y over scores (R, n, C) and labels (R, n)."""
    return F.cross_entropy(scores.mT, labels, reduction="none").mean(-1)


class Copies(Training):
    """R runs, in each M copies of one network that see the same views, each trained with its own loss."""

    Result = Result
    compiles = ("objective",)
    copy_axes = 1

    def setup(self):
        c = self.config
        s = self.state
        self.times = set(recorded_times(c.steps, c.record_every, RATIO))
        s.tau = self.column("tau")
        s.noise = self.column("noise")
        s.lr = self.column("rate", axes=0)
        self.gather_points()
        self.draw_ahead()
        inputs = self.shared.x.shape[-1]
        starts = stacked([start(config, inputs) for config in self.configs])
        if "ce" not in c.names:
            starts = starts[: 2 * LAYERS]  # no other loss trains the head
        copies = len(c.names)
        s.weights = [torch.stack([w] * copies, 1) for w in starts]  # (R, M, ...)
        s.first_weights = [w.clone() for w in s.weights]
        s.velocity = zeros(s.weights)

    def dataset(self, config: Config) -> tuple[Tensor, ...]:
        """`dataset` of one run."""
        return dataset(config)

    def gather_points(self):
        """Put the points of all runs into `shared`. Runs that agree in seed and spread have the same ones."""
        s = self.state
        shared = self.shared
        keys = [(config.seed, config.spread) for config in self.configs]
        different = dict(zip(keys, self.configs, strict=True))
        order = list(different)
        numbers = [order.index(key) for key in keys]
        s.points = torch.tensor(numbers)  # which set is a run's
        sets = [self.dataset(config) for config in different.values()]
        x, labels, x_test, labels_test = zip(*sets, strict=True)
        x = torch.stack(x)  # (sets, n, D)
        shared.x = x
        shared.x_test = torch.stack(x_test)
        shared.labels = labels[0]  # the same for all runs
        shared.labels_test = labels_test[0]
        compared = evenly(MOST_TRAINING, self.config.n)
        shared.x_train = x[:, compared]
        shared.labels_train = shared.labels[compared]
        self.standardise(x)

    def standardise(self, x: Tensor):
        """Data that are read are centred, and scaled by one number, with the training points x (sets, n, D)."""
        s = self.state
        runs = len(self.configs)
        s.centre = torch.zeros(runs, 1, x.shape[-1])
        s.scale = torch.ones(runs, 1, 1)
        if self.config.data != "synthetic":
            centre = x.mean(1, keepdim=True)  # (sets, 1, D)
            variance = x.var(1).mean(-1)
            scale = variance.sqrt()  # (sets,)
            s.centre = centre[s.points]
            s.scale = scale[s.points, None, None]

    def draw_ahead(self):
        """Draw each run's batches, and the views of the loss gap; the views of the training come in blocks."""
        c = self.config
        s = self.state
        labels = self.shared.labels
        pixels = self.shared.x.shape[-1]
        orders = {config.seed: batches(config, labels) for config in self.configs}
        of_runs = [orders[config.seed] for config in self.configs]
        s.batches = torch.stack(of_runs)  # (R, steps, B)
        count = 2 * c.batch  # views of a step

        def views(generator):
            return draw(c, count, pixels, generator)

        block = DRAWN // (count * pixels)
        self.draws["views"] = Draws(streams(self.configs, VIEWS), views, block)
        if self.wants("loss_gap"):
            self.draw_recorded(pixels)

    def draw_recorded(self, pixels: int):
        """Draw the views of the loss gap, two of each of some test points."""
        c = self.config
        s = self.state
        shared = self.shared
        some = evenly(MOST_VIEWED, c.test)
        count = 2 * len(some)
        drawn = [draw(c, count, pixels, stream(config.seed, RECORDED)) for config in self.configs]
        drawn = torch.stack(drawn)
        x = shared.x_test[s.points][:, some]
        s.views = view(torch.cat([x, x], 1), drawn, s.noise)
        shared.labels_viewed = shared.labels_test[some]

    def begin(self, s):
        if self.wants("class_angle", "pca_angle"):
            _, z = self.of_test_points(s)
            return s.replace(first_z=z)
        return s

    # Training.

    def outputs(self, s: State, x: Tensor) -> tuple[Tensor, ...]:
        """`networks` of points or views x (R, n, D)."""
        x = (x - s.centre) / s.scale
        return networks(s.weights, x)

    def objective(self, s: State, views: Tensor, labels: Tensor) -> Tensor:
        """(R, M) the loss of every network on views (R, 2B, D) of points with labels (R, B)."""
        _, z, scores = self.outputs(s, views)
        found = []
        for k, name in enumerate(self.config.names):
            if name == "ce":
                of_both = labels.tile(2)  # of both views
                loss = cross_entropy(scores[:, k], of_both)
            else:
                loss = contrastive(name, z[:, k], labels, s.tau)
            found.append(loss)
        return torch.stack(found, 1)

    def forward(self, s, drawn, t):
        # After the last step there is no batch: the last one is seen again.
        last = self.steps - 1
        batch = s.batches[:, min(t, last)]  # (R, B)
        points = s.points[:, None]
        x = self.shared.x[points, batch]  # (R, B, D)
        labels = self.shared.labels[batch]
        found = self.objective(s, view(torch.cat([x, x], 1), drawn.views, s.noise), labels)
        return found, found.sum(1)

    def step(self, s, drawn, losses, t):
        c = self.config
        directions = self.gradients(losses, s.weights)  # no two networks share a weight
        weights = [w.detach() for w in s.weights]
        if c.optimizer == "lars":
            directions = lars_directions(weights, directions, c.trust, DECAY, axes=2)
        factor = warmed(t + 1, c.steps, c.warmup, c.schedule == "cosine")
        weights, velocity = momentum(weights, directions, s.velocity, s.lr, factor)
        return {"weights": weights, "velocity": velocity}

    # What is recorded.

    def of_test_points(self, s: State) -> tuple[Tensor, Tensor]:
        """The encoder's outputs (R, M, test, width) and the embeddings (R, M, test, d) of test points."""
        return self.outputs(s, self.shared.x_test[s.points])[:2]

    def of_training_points(self, s: State) -> tuple[Tensor, Tensor]:
        """The same of those training points that are compared."""
        return self.outputs(s, self.shared.x_train[s.points])[:2]

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        encoder, z = self.of_test_points(s)
        labels = self.shared.labels_test
        row = {"finite": all_finite([*s.weights, encoder, z])}
        if self.wants("z", "plane"):
            row["z"] = z
        encoder_train, z_train = None, None
        if self.wants("cka_train", "rsa_train", "nccc"):
            encoder_train, z_train = self.of_training_points(s)
        similarities = {
            "cka": (metrics.linear_cka, z),
            "rsa": (metrics.rsa, z),
            "cka_encoder": (metrics.linear_cka, encoder),
            "cka_train": (metrics.linear_cka, z_train),
            "rsa_train": (metrics.rsa, z_train),
        }
        for name in self.record & similarities.keys():
            row[name] = beside_first(*similarities[name])
        if self.wants("nccc"):
            row["nccc"] = self.accuracies(metrics.nccc, encoder_train, encoder)
        if self.wants("gap", "layer_gap"):
            row["layer_gap"] = layer_gaps(s.weights)
            row["gap"] = row["layer_gap"].mean(-1)
        if self.wants("weight_angle"):
            row["weight_angle"] = weight_angles(s.weights, s.first_weights)
        if self.wants("class_angle"):
            row["class_angle"] = class_angles(z, s.first_z, labels)
        if self.wants("pca_angle"):
            row["pca_angle"] = first_class_angles(z, s.first_z, labels)
        if self.wants("loss_gap"):
            row["loss_gap"] = self.loss_gap(s)
        return row

    def loss_gap(self, s: State) -> Tensor:
        """(R, M) DCL - NSCL, both of each network's embeddings of the same views."""
        _, z, _ = self.outputs(s, s.views)
        z1, z2 = z.chunk(2, -2)  # (R, M, n, d)
        tau = s.tau[:, None]
        supervised = losses.nscl(z1, z2, self.shared.labels_viewed, tau)
        free = losses.dcl(z1, z2, tau)
        return free - supervised

    def accuracies(self, readout: Callable, train: Tensor, test: Tensor) -> np.ndarray:
        """(R, M) accuracy of a readout of outputs (R, M, n, k) of training points on those of test points."""
        y = self.shared.labels_train.cpu()
        y_test = self.shared.labels_test.cpu()
        train = train.cpu()
        test = test.cpu()

        def accuracy(*at):
            return readout(train[at], y, test[at], y_test)

        return of_each(train, accuracy)

    @torch.no_grad()
    def ending(self, s):
        if not self.wants("probe"):
            return {}
        train, _ = self.of_training_points(s)
        test, _ = self.of_test_points(s)
        return {"probe": self.accuracies(metrics.linear_probe, train, test)}

    def result(self, i, columns, head):
        labels = self.shared.labels_test.cpu().numpy()
        kept = {name: value for name, value in columns.items() if name in self.record}
        if self.wants("plane"):
            kept["plane"] = on_plane(columns["z"], labels)
        return self.Result(**head, **kept, steps=columns["steps"], labels=labels)


# What a figure draws of the embeddings of a run.


def unit(z: np.ndarray) -> np.ndarray:
    """Vectors z (..., d) divided by their lengths; 0 stays 0."""
    return z / np.maximum(np.linalg.norm(z, axis=-1, keepdims=True), 1e-30)


def some_points(labels: np.ndarray) -> np.ndarray:
    """Positions of at most `SHOWN` test points, evenly spaced among the sorted ones."""
    n = len(labels)
    return np.linspace(0, n - 1, min(SHOWN, n)).round().astype(int)


def on_plane(z: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(T, m, k, 2) `some_points` of the m first networks, on two principal axes of them all at the last time.

    z (T, M, n, d) are the embeddings. There is one plane a run: nothing turns from one time to the next. It is not
    centred: points stay within their network's unit disc.
    """
    points = unit(z[:, :DISCS, some_points(labels)].astype(np.float64))
    _, vectors = np.linalg.eigh(np.cov(points[-1].reshape(-1, z.shape[-1]).T))
    top = vectors[:, -2:]
    top = top[:, ::-1]  # the largest first
    place = np.abs(top).argmax(0)
    largest = top[place, [0, 1]]  # entry of each axis, positive in the end
    top = top * np.sign(largest)
    return np.float32(points @ top)


# Quantities of R runs, each of M networks. The first network of a run is the reference.


def all_finite(tensors: list[Tensor]) -> Tensor:
    """(R,) whether all entries of tensors (R, ...) are finite."""
    return torch.stack([x.flatten(1).isfinite().all(1) for x in tensors]).all(0)


def of_each(z: Tensor, metric: Callable) -> np.ndarray:
    """(R, M) metric(i, k) of network k of run i, z (R, M, ...) what is measured.

    NaN where it has no answer: of a network that has collapsed, or whose weights overflow.
    """
    found = np.full(z.shape[:2], np.nan)
    for i, k in np.ndindex(*found.shape):
        with contextlib.suppress(ValueError):
            found[i, k] = metric(i, k)
    return found


def beside_first(metric: Callable, z: Tensor) -> np.ndarray:
    """(R, M) metric(a, b), a (n, d) the points of a run's first network and b those of each, of z (R, M, n, d)."""
    z = z.cpu()

    def of_network(i, k):
        return metric(z[i, 0], z[i, k])

    return of_each(z, of_network)


def layer_gaps(weights: list[Tensor]) -> Tensor:
    """(R, M, layers) 2 |W - W'|_F / (|W|_F + |W'|_F), W' the reference's (SA Sec. 5.1). The head is left out."""
    gaps = []
    for W in weights[: 2 * LAYERS : 2]:  # (R, M, out, in); the biases stand between
        size = torch.linalg.matrix_norm(W)
        gaps.append(2 * torch.linalg.matrix_norm(W - W[:, :1]) / (size + size[:, :1]))
    return torch.stack(gaps, -1)


def weight_angles(weights: list[Tensor], first: list[Tensor]) -> np.ndarray:
    """(R, M) angle, in degrees, of all weights' change since the start to the reference's. The head is left out."""
    changes = [(w - w0).flatten(2) for w, w0 in zip(weights, first, strict=True)]
    whole = torch.cat(changes[: 2 * LAYERS], 2)
    change = whole.cpu().numpy()
    return angle(change, change[:, :1])


def class_angles(z: Tensor, first: Tensor, labels: Tensor) -> np.ndarray:
    """(R, M) angle, in degrees, of a class's mean change to the reference's, averaged over the classes.

    Args:
        z, first: (R, M, n, d) embeddings now and at the start.
        labels: (n,).
    """
    change = z - first
    found = []
    for c in labels.unique():
        mine = change[:, :, labels == c]
        mean = mine.mean(2).cpu().numpy()  # (R, M, d)
        found.append(angle(mean, mean[:, :1]))
    return np.mean(found, 0)


def first_class_angles(z: Tensor, first: Tensor, labels: Tensor) -> np.ndarray:
    """(R, M) `pca_angle` of the first class; arguments as for `class_angles`."""
    mine = labels == labels[0]
    z = z[:, :, mine].cpu().numpy()
    start = first[:, 0, mine]  # of the reference
    start = start.cpu().numpy()

    def of_network(i, k):
        return pca_angle(start[i], z[i, 0], z[i, k])

    return of_each(z, of_network)


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle in degrees between vectors a and b (..., k); NaN where one is zero."""
    a = np.asarray(a, np.float64)
    b = np.asarray(b, np.float64)
    length = np.linalg.norm(a, axis=-1)
    other = np.linalg.norm(b, axis=-1)
    product = (a * b).sum(-1)
    with np.errstate(invalid="ignore"):
        cosine = product / (length * other)
    cosine = np.clip(cosine, -1, 1)  # rounding may pass 1
    return np.degrees(np.arccos(cosine))


def pca_angle(start: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle in degrees between the mean changes of two networks, in three principal axes (SA App. A.2).

    Args:
        start: (n, d) embeddings at the start, which both networks share.
        a, b: (n, d) embeddings of both.
    """
    cloud = np.concatenate([start, start, a, b]).astype(np.float64)
    _, _, axes = np.linalg.svd(cloud - cloud.mean(0), full_matrices=False)
    axes = axes[:3].T
    return angle((a - start).mean(0) @ axes, (b - start).mean(0) @ axes)


run = Copies.run
