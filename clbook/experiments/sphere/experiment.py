"""Contrastive training on the circle and on the sphere, through a network and without (VA Fig. 5, 6; LS Fig. 6, 7).

The embedding is f(w, x) = normalise(R + g(w, x) - g(w0, x)), g a network and R_i a unit vector shared by x_i and its
views. So f starts invariant and knows nothing of the data, as VA eq. 17 asks: every point stands at its R_i.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook import data
from clbook.losses import simplified
from clbook.metrics import neighbour_accuracy, separable
from clbook.models import ACTIVATIONS, MLP, stacked
from clbook.training.anchored import Anchored
from clbook.training.loop import State, held
from clbook.training.optim import sgd
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
from clbook.training.streams import stream

DATA, START, WEIGHTS, VIEWS, RECORDED = range(5)  # purposes of the streams of random numbers

DRAWS = 4  # augmentations over which loss, arrows and sharpness are averaged; memory is DRAWS n^2 numbers
NEIGHBOURS = 10  # nearest points that vote on a point's label
CLUSTERED = 0.95  # neighbour accuracy from which the embedding counts as clustered
TURNS = 6  # views around the sphere, a full turn in all


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default tears a small cap of the circle into the four clusters of the data."""

    d: int = setting(
        2,
        "embedding dimensions: the circle (2) or the sphere (3); the data have as many",
        choices=(2, 3),
    )
    depth: int = setting(1, "number of hidden layers", low=1, high=8)
    width: int = setting(100, "width of each hidden layer", low=1, high=2000)
    activation: str = setting("tanh", "activation of the hidden layers", choices=tuple(ACTIVATIONS))
    classes: int = setting(4, "number of clusters, in a row", low=2, high=10)
    n: int = setting(200, "number of points, all clusters together", low=20, high=2000)
    start: str = setting(
        "cap",
        "where the embedding starts: close together, anywhere, or (ordinary) where the network puts it",
        choices=("cap", "uniform", "ordinary"),
    )
    cap: float = setting(
        0.05,
        "standard deviation of the cap, in each coordinate",
        above=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    tau: float = setting(0.2, "temperature", low=1e-3, high=10.0, log=True, each=True)
    lr: float = setting(0.02, "learning rate", above=0.0, high=100.0, log=True, each=True)
    steps: int = iterations(300)
    network: bool = setting(True, "train a network; False moves each point by itself (VA eq. 13)")
    gradient: str = setting(
        "full",
        "full: back-propagate through both views; partial: through z alone",
        choices=("full", "partial"),
    )
    first: float = setting(
        -1.0, "where the row of clusters begins", low=-10.0, high=10.0, each=True
    )
    gap: float = setting(
        1.0, "distance between neighbouring clusters", low=0.0, high=10.0, each=True
    )
    spread: float = setting(0.1, "standard deviation of a cluster", low=0.0, high=2.0, each=True)
    noise: float = setting(
        0.3, "standard deviation of the noise augmentation", low=0.0, high=2.0, each=True
    )
    record_every: int = recorded_every()
    seed: int = seed_of("data, start, weights and augmentations")

    def check(self):
        if self.start == "ordinary" and not self.network:
            raise self.error("start", "cap or uniform without a network")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps`."""

    steps: np.ndarray = recorded()
    x: np.ndarray = quantity("inputs", dims="point input")
    labels: np.ndarray = quantity("cluster of each point", dims="point")
    z: np.ndarray = quantity("embeddings, unit vectors", dims="step point dim")
    arrows: np.ndarray = quantity(
        "negative gradient of the loss in z_i, the views held still: its part along the sphere",
        dims="step point dim",
        on_request=True,
    )
    loss: np.ndarray = quantity(
        f"the loss on {DRAWS} fresh views of each point", dims="step", on_request=True
    )
    accuracy: np.ndarray = quantity(
        f"label accuracy of the {NEIGHBOURS} nearest neighbours, each point's own left out",
        dims="step",
        on_request=True,
    )
    reach: np.ndarray = quantity(
        "median over points of |g(w, x) - g(w0, x)|, to be compared with |R| = 1; NaN without a network",
        dims="step",
        on_request=True,
    )
    clustered_at: int | None = quantity(
        f"first recorded iteration with accuracy >= {CLUSTERED}, or None",
        unit="iterations",
        on_request=True,
    )
    separable_at: int | None = quantity(
        "first recorded iteration at which an affine rule is right on every point, or None",
        unit="iterations",
        on_request=True,
    )


def dataset(config: Config) -> tuple[Tensor, Tensor]:
    """Returns x (n, d) and labels (n,) of a run, on the CPU."""
    return data.row(
        config.n,
        config.classes,
        config.spread,
        config.d,
        stream(config.seed, DATA),
        first=config.first,
        gap=config.gap,
    )


def start(config: Config) -> Tensor:
    """Returns R (n, d), unit vectors: e_1 plus noise, normalised (a cap), or uniform on the sphere."""
    noise = torch.randn(config.n, config.d, generator=stream(config.seed, START))
    if config.start == "cap":
        noise = config.cap * noise
        noise[:, 0] += 1
    return F.normalize(noise, dim=1)


class Sphere(Anchored):
    """R runs of gradient descent on LS eq. 12 of unit vectors: a network's weights, or each point alone (VA eq. 13).

    Without a network f stays invariant (LS Theorem 4.2): the views of a point are the point; after a step each point is
    put back on the sphere. Another paper's data, network and loss are those of a subclass.
    """

    Result = Result
    compiles = ("objective",)
    views = 1  # how many of each point a step draws

    # What another paper has otherwise.

    @staticmethod
    def data(config: Config) -> tuple[Tensor, Tensor]:
        """x (n, D) and labels (n,) of a run."""
        return dataset(config)

    def networks(self, D: int) -> list[torch.nn.Module]:
        """The network of each run at its start, for inputs in R^D."""
        c = self.config
        widths = (D, *(c.width,) * c.depth, c.d)
        return [MLP(widths, c.activation, stream(k.seed, WEIGHTS)) for k in self.configs]

    def loss(self, s: State, z: Tensor, views: Tensor) -> Tensor:
        """LS eq. 12 (R,) of the points z (R, n, d) and m views of each (R, m, n, d)."""
        return simplified(z, views, s.tau)

    def more(self, s: State, z: Tensor, views: Tensor) -> dict:
        """What a subclass measures besides, {name: (R, ...)}."""
        return {}

    # Training.

    def setup(self):
        c, s = self.config, self.state
        self.labels = self.gather([self.data(config) for config in self.configs]).numpy()
        s.tau = self.column("tau")
        s.lr = self.column("lr")
        s.noise = self.column("noise", axes=3)
        s.separable_at = torch.full((len(self.configs),), -1)  # -1: not yet
        R = torch.stack([start(config) for config in self.configs])  # (R, n, d)
        if not c.network:
            s.weights = [R]
            return
        s.weights = stacked(self.networks(s.x.shape[-1]))
        at_start = None if c.start == "ordinary" else R
        self.anchor(s.x, at_start)
        self.draws["noise"] = self.normal(VIEWS, self.views)
        if self.wants("loss", "arrows", "reach", *self.from_views):
            self.recorded_draws["noise"] = self.normal(RECORDED, DRAWS)

    from_views = ()  # quantities of a subclass that `more` takes from the recorded views

    def embed_points(self, s: State) -> Tensor:
        """f of the points (R, n, d), not yet on the sphere."""
        return self.anchored_points(s, s.x)

    def embed_views(self, s: State, noise: Tensor) -> Tensor:
        """f of views of them (R, m, n, d), not yet on the sphere."""
        return self.anchored_views(s, s.x[:, None] + s.noise * noise)

    def objective(self, s: State, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The embedding (R, n, d) and the loss (R,)."""
        z = F.normalize(self.embed_points(s), dim=-1)
        # With the partial gradient the loss pulls at the points, and the views hold still.
        of_views = s if self.config.gradient == "full" else held(s)
        return z, self.loss(s, z, F.normalize(self.embed_views(of_views, noise), dim=-1))

    def forward(self, s, drawn, t):
        if self.config.network:
            return self.objective(s, drawn.noise)
        (z,) = s.weights
        views = z if self.config.gradient == "full" else z.detach()
        return z, self.loss(s, z, views[:, None])

    def step(self, s, drawn, losses, t):
        gradients = self.gradients(losses, s.weights)
        if self.config.network:
            return {"weights": sgd(s.weights, gradients, s.lr)}
        # The loss is a mean over the n points; VA eq. 13, which moves each point by itself, has no 1/n.
        (z,) = sgd(s.weights, gradients, self.config.n * s.lr)
        return {"weights": [F.normalize(z.detach(), dim=-1)]}

    def watch(self, s, z, t):
        """When the classes first became separable."""
        if t not in self.times or not self.wants("separable_at"):
            return {}
        at = s.separable_at.clone()
        for i in torch.nonzero(at < 0)[:, 0].tolist():
            if on_sphere(z[i]) and separable(z[i].detach(), self.labels):
                at[i] = t
        return {"separable_at": at}

    # What is recorded.

    def measure(self, s, z, losses, t):
        z = z.detach()
        row = {"z": z, "separable_at": s.separable_at}
        # Where a square has overflowed, 0 is what is left of a point.
        whole = z.norm(dim=-1) > 0.5
        row["finite"] = whole.all(1)
        views, row["reach"] = self.recorded_views(s, z)
        if self.wants("loss", "arrows"):
            row["loss"], row["arrows"] = self.arrows(s, z, views)
        if self.wants("accuracy", "clustered_at"):
            row["accuracy"] = np.array([self.accuracy(points) for points in z])
        return row | self.more(s, z, views)

    @torch.no_grad()
    def recorded_views(self, s: State, z: Tensor) -> tuple[Tensor, Tensor]:
        """Fresh views (R, m, n, d) on the sphere, and how far the points have moved, `reach` (R,)."""
        if "noise" not in self.recorded_draws:
            return z[:, None], torch.full((len(z),), math.nan)
        points = self.embed_points(s)
        views = self.embed_views(s, self.recorded_draws["noise"].next())
        from_start = points if s.R is None else points - s.R
        moved = from_start.norm(dim=-1)
        return F.normalize(views, dim=-1), moved.median(1).values

    def arrows(self, s: State, z: Tensor, views: Tensor) -> tuple[Tensor, Tensor]:
        """The loss (R,) and minus its gradient in each z_i along the sphere (R, n, d), the views held still."""
        z = z.detach().requires_grad_()
        loss = self.loss(s, z, views.detach())
        (gradient,) = torch.autograd.grad(z.shape[1] * loss.sum(), z)
        return loss, along_sphere(-gradient, z)

    def accuracy(self, z: Tensor) -> float:
        """Label accuracy of the nearest neighbours of the points z (n, d); NaN where one is not on the sphere."""
        return neighbour_accuracy(z, self.labels, NEIGHBOURS) if on_sphere(z) else math.nan

    def result(self, i, columns, head):
        steps = columns["steps"]
        at = int(columns.pop("separable_at")[-1])
        asked = {name: value for name, value in columns.items() if name in self.record}
        if "separable_at" in self.record:
            asked["separable_at"] = None if at < 0 else at
        if "clustered_at" in self.record:
            clustered = steps[columns["accuracy"] >= CLUSTERED]
            asked["clustered_at"] = int(clustered[0]) if len(clustered) else None
        return self.Result(
            **head, **asked, steps=steps, z=columns["z"], x=self.inputs[i], labels=self.labels
        )


def on_sphere(z: Tensor) -> bool:
    """Whether all points z (n, d) are finite, and none is left at 0 by an overflow."""
    return bool(z.isfinite().all() and (z.norm(dim=-1) > 0.5).all())


def along_sphere(vectors: Tensor, z: Tensor) -> Tensor:
    """The part of vectors (..., n, d) along the sphere at the unit vectors z (..., n, d)."""
    return vectors - (vectors * z).sum(-1, keepdim=True) * z


run = Sphere.run
# VA Fig. 5 and 6, rows 2 and 3: through the network, and each point by the partial gradient (VA eq. 13).
PAIR = {"network": {"network": True}, "vanilla": {"network": False, "gradient": "partial"}}


def coherence(vectors: np.ndarray, labels: np.ndarray) -> float:
    """How alike the directions of `vectors` (n, d) are within a class of `labels` (n,).

    Returns:
        The length of a class's mean direction, averaged over classes: 1 if all of a class are equal.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    means = [unit[labels == k].mean(0) for k in np.unique(labels)]
    return float(np.mean([np.linalg.norm(mean) for mean in means]))
