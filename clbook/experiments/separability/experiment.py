"""When does contrastive training separate the clusters of its data? (LS Section 4, Theorem 4.3, Figures 3 to 5)

The embedding is f(w, x) = R + g(w, x) - g(w0, x), with g a network and R_i drawn uniformly from a ball of diameter eps,
shared by x_i and all its augmentations. So f starts invariant and inside the ball, as condition (a) asks, and its
kernel (LS eq. 8) is the kernel of g.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor

from clbook import augment, data, kernels
from clbook.losses import simplified, squared_distances
from clbook.metrics import intervals, separable
from clbook.models import ACTIVATIONS, MLP, stacked
from clbook.training.anchored import Anchored
from clbook.training.loop import State, held
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
from clbook.training.streams import Draws, stream, streams

DATA, START, WEIGHTS, VIEWS, RECORDED = range(5)  # purposes of the streams of random numbers

DRAWS = 16  # augmentations over which the recorded loss and the mean of condition (b) are taken
FAR = 1e30  # more than any squared distance
IMAGE_VIEWS = 64  # augmented copies of an image drawn before training; each step takes one of them


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default separates two clusters in about fifty iterations."""

    data: str = setting(
        "clusters", "the data set", choices=("clusters", "donut", *data.IMAGES), file=".npz"
    )
    classes: int = setting(2, "number of classes", low=2, high=10)
    n: int = setting(100, "number of points, all classes together", low=2, high=2000)
    d: int = setting(1, "embedding dimensions", low=1, high=16)
    start: str = setting(
        "ball",
        "ball: f starts at points of a ball, which a point and its views share; ordinary: f is the network itself",
        choices=("ball", "ordinary"),
    )
    eps: float = setting(
        0.1,
        "diameter of the ball from which the embedding starts",
        low=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    tau: float = setting(0.1, "temperature", above=0.0, low=1e-4, high=10.0, log=True, each=True)
    lr_over_tau: float = setting(
        0.01, "learning rate divided by tau", above=0.0, high=10.0, log=True, each=True
    )
    steps: int = setting(5000, "most iterations", unit="iterations", low=1, high=100_000, log=True)
    activation: str = setting("tanh", "activation of the hidden layers", choices=tuple(ACTIVATIONS))
    hidden: tuple = setting((100,), "width of each hidden layer", low=1, high=2000)
    network: bool = setting(
        True, "train a network (LS eq. 11); False moves each point by itself (LS eq. 10)"
    )
    gradient: str = setting(
        "full",
        "of a network; full: back-propagate through both views; partial: through z alone, "
        "as in LS eq. 7. Without a network it is always partial (LS eq. 9)",
        choices=("full", "partial"),
    )
    augmentation: str = setting(
        "noise", "what makes a view", choices=("noise", "rotation", "image", "none")
    )
    spread: float = setting(0.1, "standard deviation of a cluster", low=0.0, high=2.0, each=True)
    noise: float = setting(
        0.1, "standard deviation of the noise augmentation", low=0.0, high=2.0, each=True
    )
    linger: float = setting(
        0.0,
        "end the run at this multiple of the time of separation; 0 runs all steps",
        low=0.0,
        high=100.0,
        each=True,
    )
    record_every: int = recorded_every()
    seed: int = seed_of("data, start, weights and augmentations")

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self.lr_over_tau * self.tau

    @property
    def plane(self) -> bool:
        """Whether the data are drawn in the plane, and not read: images, or a file of the reader's."""
        return self.data in ("clusters", "donut")

    @property
    def files(self) -> tuple:
        """The files of the data that are read."""
        return data.image_files(self.data)

    def check(self):
        if self.n < self.classes:
            raise self.error("n", f"at least the number of classes, {self.classes}")
        if self.data == "donut" and self.classes != 2:
            raise self.error("classes", "2 for the donut: a disc and a ring")
        if self.augmentation == ("image" if self.plane else "rotation"):
            raise self.error(
                "augmentation",
                f"noise, {'rotation' if self.plane else 'image'} or none for {self.data}",
            )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded. Quantities of the kernel are NaN where there is no network."""

    steps: np.ndarray = recorded()
    x: np.ndarray = quantity("inputs", dims="point input")
    labels: np.ndarray = quantity("class of each point", dims="point")
    z: np.ndarray = quantity("embeddings", dims="step point dim")
    separable_at: int | None = quantity(
        "first iteration at which the classes are linearly separable (for d >= 2: first recorded one), or None",
        unit="iterations",
    )
    loss: np.ndarray = quantity(
        f"LS eq. 12 on {DRAWS} fresh views of each point", dims="step", on_request=True
    )
    gamma: np.ndarray = quantity(
        "augmentation inconsistency, LS condition (b)", dims="step", on_request=True
    )
    theta: np.ndarray = quantity(
        "squared distance of the classes' mean gradients, LS condition (c)",
        dims="step",
        on_request=True,
    )
    sigma2: np.ndarray = quantity(
        "spread of the gradients around their class's mean, LS condition (c)",
        dims="step",
        on_request=True,
    )
    alignment: np.ndarray = quantity(
        "centred alignment of K(t) with the Gram matrix of the labels: 1 for perfect blocks",
        dims="step",
        on_request=True,
    )
    drift: np.ndarray = quantity(
        "operator norm of K(t) - K(0), LS condition (d)", dims="step", on_request=True
    )
    kernel: np.ndarray = quantity(
        "the kernel K(t), its trace over the embedding dimensions divided by d",
        dims="step point point2",
        on_request=True,
    )


def dataset(config: Config) -> tuple[Tensor, Tensor]:
    """x (n, D) and labels (n,) of a run, on the CPU. They depend on data, classes, n, spread and seed alone."""
    generator = stream(config.seed, DATA)
    if config.data == "clusters":
        return data.clusters(config.n, config.classes, config.spread, generator)
    if config.data == "donut":
        return data.donut(config.n, generator)
    return data.images(config.data, config.n, config.classes, generator)


def start(config: Config) -> Tensor:
    """R (n, d): uniform in the d-dimensional ball of diameter eps."""
    return data.ball(config.n, config.d, config.eps, stream(config.seed, START))


class Separability(Anchored):
    """R runs of gradient descent on LS eq. 12: of a network's weights (LS eq. 11), or of each point alone (LS eq. 10).

    Without a network f stays invariant (LS Theorem 4.2): the views of a point are the point, whatever the augmentation.
    Each point then follows the partial gradient of its own loss: vanilla flow (LS eq. 9).
    """

    rate = "lr_over_tau"
    Result = Result
    compiles = ("objective",)

    def setup(self):
        c, s = self.config, self.state
        self.shared.labels = self.gather([self.points(config) for config in self.configs])
        # Of the classes, whose points lie side by side.
        self.sizes = self.shared.labels.bincount().tolist()
        s.tau = self.column("tau")
        s.lr = self.column("lr")
        s.noise = self.column("noise")
        s.linger = self.column("linger", axes=0)
        s.separable_at = torch.full((len(self.configs),), -1)  # -1: not yet
        R = torch.stack([start(config) for config in self.configs])  # (R, n, d)
        if not c.network:
            s.weights = [R]
            return
        seen = self.lifted(s, s.x)
        widths = (seen.shape[2], *c.hidden, c.d)
        networks = [MLP(widths, c.activation, stream(k.seed, WEIGHTS)) for k in self.configs]
        s.weights = stacked(networks)
        at_start = R if c.start == "ball" else None
        s.first_weights = [w.clone() for w in s.weights]
        self.anchor(seen, at_start)
        self.augment(self.draws, VIEWS, 1)
        if self.wants("loss", "gamma"):
            self.augment(self.recorded_draws, RECORDED, DRAWS)

    def points(self, config: Config) -> tuple[Tensor, Tensor]:
        """x (n, D) and labels (n,) of a run."""
        return dataset(config)

    def lifted(self, s: State, x: Tensor) -> Tensor:
        """What the trained weights see of inputs (R, m, D): the inputs; in a subclass their features."""
        return x

    # Views.

    def augment(self, draws: dict, purpose: int, count: int) -> None:
        """Put the numbers that `count` views of each point take into `draws`, as its entry "views"."""
        c, s = self.config, self.state

        def angles(generator):
            turns = [torch.rand(c.n, generator=generator) for _ in range(count)]
            return 2 * math.pi * torch.stack(turns)

        def copies(generator):
            return torch.randint(IMAGE_VIEWS, (count,), generator=generator)

        if c.augmentation == "noise":
            draws["views"] = self.normal(purpose, count)
        if c.augmentation == "rotation":
            draws["views"] = Draws(streams(self.configs, purpose), angles)
        if c.augmentation == "image":
            generators = [stream(config.seed, purpose) for config in self.configs]
            setattr(s, f"bank_{purpose}", self.bank(generators))
            draws["views"] = Draws(generators, copies)

    def bank(self, generators: list[torch.Generator]) -> Tensor:
        """(R, IMAGE_VIEWS, n, D) augmented copies of the images of each run."""
        banks = []
        for x, generator in zip(self.state.x, generators, strict=True):
            try:
                copies = [augment.images(x, generator) for _ in range(IMAGE_VIEWS)]
            except ValueError as error:
                allowed = f"noise or none for the data {self.config.data!r}: {error}"
                raise self.config.error("augmentation", allowed) from error
            banks.append(torch.stack(copies))
        return torch.stack(banks)

    def views(self, s: State, drawn: Tensor | None, purpose: int) -> Tensor:
        """(R, m, n, D) augmented copies of the points, by the numbers drawn for them."""
        kind = self.config.augmentation
        x = s.x[:, None]
        if kind == "none":
            return x
        if kind == "noise":
            return x + s.noise[..., None] * drawn
        if kind == "rotation":
            return augment.turn(x, drawn)
        bank = getattr(s, f"bank_{purpose}")
        return bank[torch.arange(len(drawn), device=drawn.device)[:, None], drawn]

    # Training.

    def begin(self, s):
        """The state with K(0), where the drift from it is asked for."""
        if self.config.network and self.wants("drift"):
            return s.replace(first_kernel=self.tangent_kernel(s, s.weights))
        return s

    def embed_points(self, s: State) -> Tensor:
        """f of the points (R, n, d)."""
        return self.anchored_points(s, self.lifted(s, s.x))

    def embed_views(self, s: State, views: Tensor) -> Tensor:
        """f of views (R, m, n, D), (R, m, n, d)."""
        seen = self.lifted(s, views.flatten(1, 2))  # (R, m n, ...)
        return self.anchored_views(s, seen.unflatten(1, views.shape[1:3]))

    def objective(self, s: State, views: Tensor) -> tuple[Tensor, Tensor]:
        """The embedding (R, n, d) and LS eq. 12 (R,)."""
        z = self.embed_points(s)
        # With the partial gradient the loss pulls at the points, and the views hold still.
        of_views = s if self.config.gradient == "full" else held(s)
        return z, simplified(z, self.embed_views(of_views, views), s.tau)

    def forward(self, s, drawn, t):
        if not self.config.network:
            (z,) = s.weights
            return z, simplified(z, z.detach()[:, None], s.tau)
        z, losses = self.objective(s, self.views(s, getattr(drawn, "views", None), VIEWS))
        if t == 0 and s.R is not None:
            z = s.R  # what f is at w0, without the rounding of g - g
        return z, losses

    def step(self, s, drawn, losses, t):
        # The loss is a mean over the n points; LS eq. 10, which moves each point by itself, has no 1/n.
        factor = 1 if self.config.network else self.config.n
        return {"weights": sgd(s.weights, self.gradients(losses, s.weights), factor * s.lr)}

    def watch(self, s, z, t):
        """When the classes first became separable."""
        if self.config.d == 1:  # each class is an interval of the line
            found = intervals(z.detach()[..., 0], self.sizes)
        elif t in self.times:
            found = torch.tensor([self.apart(points) for points in z]).to(z.device)
        else:
            return {}
        return {"separable_at": torch.where(found & (s.separable_at < 0), t, s.separable_at)}

    def apart(self, z: Tensor) -> bool:
        """Whether a linear rule is right on every point of z (n, d)."""
        return bool(z.isfinite().all()) and separable(z, self.shared.labels)

    def finished(self, s, t):
        """The runs that are at `linger` times the iteration at which they became separable."""
        ends = s.linger > 0
        separated = s.separable_at >= 0
        until = s.linger * s.separable_at.clamp(min=1)
        return ends & separated & (t >= until)

    # What is recorded.

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        row = {"z": z, "separable_at": s.separable_at}
        if not self.config.network:
            n = self.config.n
            nothing = torch.full((len(z),), math.nan)
            row |= dict.fromkeys(("gamma", "theta", "sigma2", "alignment", "drift"), nothing)
            row["kernel"] = nothing[:, None, None].expand(-1, n, n)
            row["loss"] = losses
            return row
        if self.wants("loss", "gamma"):
            row |= self.on_fresh_views(s, z)
        if self.wants("theta", "sigma2", "alignment", "drift", "kernel"):
            row |= self.of_the_kernel(s)
        return row

    def shown(self, s, recorded):
        """The share of the points whose nearest other one is of their class."""
        labels, z = self.shared.labels, recorded["z"]
        nearest = (squared_distances(z, z) + FAR * torch.eye(z.shape[1])).argmin(-1)
        return {"neighbours": (labels[nearest] == labels).double().mean(-1)}

    def on_fresh_views(self, s: State, z: Tensor) -> dict:
        """The loss, and condition (b): how far the mean view is from the mean of its class, at most."""
        draws = self.recorded_draws.get("views")
        views = self.views(s, draws and draws.next(), RECORDED)  # (R, m, n, D)
        count = views.shape[1]
        losses = 0
        total = 0
        for one in views.split(1, 1):  # one view of all points at a time: so it stays in the cache
            v = self.embed_views(s, one)
            losses = losses + simplified(z, v, s.tau) / count
            total = total + v[:, 0]
        mean_view = total / count  # (R, n, d)
        labels = self.shared.labels
        classes = range(self.config.classes)
        means = torch.stack([z[:, labels == k].mean(1) for k in classes], 1)
        away = (mean_view - means[:, labels]).norm(dim=-1)  # (R, n)
        return {"loss": losses, "gamma": away.amax(1)}

    def of_the_kernel(self, s: State) -> dict:
        """What the kernel K(t) of each run says: conditions (c) and (d), and its blocks."""
        full = self.tangent_kernel(s, s.weights)  # (R, n, n, d, d)
        K = full.diagonal(dim1=3, dim2=4).mean(-1)  # (R, n, n)
        labels = self.shared.labels
        row = {"kernel": K}
        if self.wants("theta", "sigma2"):
            row["theta"], row["sigma2"] = kernels.gradient_structure(K, labels)
        if self.wants("alignment"):
            row["alignment"] = kernels.alignment(K, labels)
        if self.wants("drift"):
            row["drift"] = operator_norm(full - s.first_kernel)
        return row

    def tangent_kernel(self, s: State, weights: list[Tensor]) -> Tensor:
        """(R, n, n, d, d) the kernel of g at these weights, LS eq. 8."""
        return kernels.mlp(weights, self.lifted(s, s.x), self.config.activation)

    def result(self, i, columns, head):
        at = int(columns.pop("separable_at")[-1])
        kept = {name: value for name, value in columns.items() if name in self.record}
        return Result(
            **head,
            **kept,
            steps=columns["steps"],
            z=columns["z"],
            x=self.inputs[i],
            labels=self.shared.labels.cpu().numpy(),
            separable_at=None if at < 0 else at,
        )


def operator_norm(K: Tensor) -> Tensor:
    """(R,) largest absolute eigenvalue of kernels (R, n, n, d, d), as matrices (n d, n d); NaN where one is not finite.

    In float64: LAPACK can give NaN in float32 while only a few entries have moved, by a rounding step each.
    """
    R, n, _, d, _ = K.shape
    size = n * d
    matrices = K.transpose(2, 3).reshape(R, size, size).double()
    finite = matrices.flatten(1).isfinite().all(1)
    whole = finite[:, None, None]
    matrices = torch.where(whole, matrices, 0.0)
    return torch.where(finite, torch.linalg.eigvalsh(matrices).abs().amax(1), math.nan)


run = Separability.run
PAIR = {"network": {"network": True}, "vanilla": {"network": False}}  # LS eq. 11 beside eq. 10
