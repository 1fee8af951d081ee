"""The toy of the front page: the chapter's training on points that a reader moves, adds and takes away.

The step is that of `Separability`. The points, which of them are there, and who stands where are parts of the state, so
that a page can change them while it trains.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook import data
from clbook.experiments.separability import experiment
from clbook.experiments.separability.experiment import DATA, FAR, VIEWS
from clbook.losses import squared_distances
from clbook.style import Picture, axes, colour
from clbook.training.loop import State
from clbook.training.optim import sgd
from clbook.training.settings import quantity, setting
from clbook.training.streams import stream
from clbook_book.course.points import Labelled


@dataclasses.dataclass(frozen=True)
class Config(experiment.Config):
    """Two clusters in the plane, embedded in another plane, with room for points that a reader adds."""

    n: int = setting(90, "room for so many points", low=2, high=2000)
    drawn: int = setting(60, "points that are there at the start", low=2, high=2000)
    d: int = setting(2, "embedding dimensions", low=1, high=16)
    eps: float = setting(
        0.3, "diameter of the ball from which the embedding starts", low=0.0, high=10.0, each=True
    )
    tau: float = setting(0.3, "temperature", above=0.0, low=1e-4, high=10.0, log=True, each=True)
    lr_over_tau: float = setting(
        0.03, "learning rate divided by tau", above=0.0, high=10.0, log=True, each=True
    )
    steps: int = setting(400, "most iterations", unit="iterations", low=1, high=100_000, log=True)
    spread: float = setting(0.25, "standard deviation of a cluster", low=0.0, high=2.0, each=True)
    noise: float = setting(
        0.2, "standard deviation of the noise augmentation", low=0.0, high=2.0, each=True
    )

    def check(self):
        super().check()
        if not self.classes <= self.drawn <= self.n:
            raise self.error("drawn", f"from {self.classes}, the classes, to {self.n}, the room")


@dataclasses.dataclass
class Result(Labelled):
    """What one run recorded; entries of points that are not there have no meaning."""

    x: np.ndarray = quantity("inputs", dims="point input")
    there: np.ndarray = quantity("1 for a point that is there, else 0", dims="point")
    z: np.ndarray = quantity("embeddings", dims="step point dim")
    loss: np.ndarray = quantity("LS eq. 12 of the places, each view at its point", dims="step")
    neighbours: np.ndarray = quantity(
        "share of the points whose nearest other point is of their class", dims="step"
    )


def masked_loss(
    z: torch.Tensor,
    views: torch.Tensor,
    there: torch.Tensor,
    tau: torch.Tensor,
    weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """`losses.simplified` of the points that are there, and of no others.

    Args:
        z: (R, n, d).
        views: (R, m, n, d), m views of each point.
        there: (R, n), 1 or 0.
        tau: (R, 1, 1).
        weights: (R, n, n), how much the second point counts among the negatives of the first; None for 1.

    Returns:
        (R,).
    """
    squares = squared_distances(z[:, None], views)  # (R, m, n, n)
    present = there[:, None, None] > 0
    logits = squares / (-2 * tau[:, None])
    if weights is not None:
        logits = logits + weights.log().clamp(min=-FAR)[:, None]
    shares = torch.where(present, logits, -FAR).log_softmax(-1)
    positive = shares.diagonal(dim1=-2, dim2=-1).mean(1)  # (R, n)
    count = there.sum(-1)
    return -count.log() - (positive * there).sum(-1) / count


def own_neighbours(z: torch.Tensor, labels: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """(R,) share of the points z (R, n, d) that are there whose nearest other one has the same of the labels (R, n)."""
    squares = (z[:, :, None] - z[:, None]).square().sum(-1)
    oneself = torch.eye(z.shape[1], device=z.device)
    left_out = FAR * (oneself + (1 - there[:, None]))
    nearest = (squares + left_out).argmin(-1)  # (R, n)
    counted = (labels.gather(1, nearest) == labels) * there
    return counted.sum(-1) / there.sum(-1)


def dealt(values: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Rows of values (R, n, d) in the order (R, n): point i gets what point order[i] had."""
    return values.gather(1, order[..., None].expand(values.shape))


class MovedPoints(experiment.Separability):
    """The chapter's training, on the points of a state that a page may change.

    state.x (R, n, 2), state.label (R, n) and state.there (R, n) are the points. state.order (R, n) says whose place
    each point takes before the next step: then R_i changes by as much as the point is moved, and the network stays.
    """

    Result = Result

    def setup(self):
        super().setup()
        s, runs = self.state, len(self.configs)
        s.label = self.shared.labels.expand(runs, -1).clone()
        numbers = torch.arange(self.config.n)
        s.there = (numbers < self.config.drawn).float().expand(runs, -1).clone()
        s.order = numbers.expand(runs, -1).clone()

    def points(self, config):
        """x (n, 2) and labels (n,): those that are drawn, then places that are free."""
        generator = stream(config.seed, DATA)
        x, labels = data.clusters(config.drawn, config.classes, config.spread, generator)
        free = config.n - config.drawn
        x = torch.cat([x, x.new_zeros(free, 2)])
        labels = torch.cat([labels, labels.new_zeros(free)])
        return x, labels

    def embed_points(self, s: State) -> torch.Tensor:
        """f of the points (R, n, d), also where x has changed since the start."""
        return self.anchored_views(s, s.x[:, None])[:, 0]

    def places(self, s: State) -> torch.Tensor:
        """Where the points are before anybody's place is dealt anew, (R, n, d)."""
        return self.embed_points(s) if self.config.network else s.weights[0]

    def moves(self, s: State) -> torch.Tensor:
        """How far each point goes to take the place that it is dealt, (R, n, d); 0 where it keeps its own."""
        z = self.places(s).detach()
        return dealt(z, s.order) - z

    def loss(self, s: State, z: torch.Tensor, views: torch.Tensor) -> torch.Tensor:
        """(R,) the loss of z (R, n, d) beside views (R, m, n, d)."""
        return masked_loss(z, views, s.there, s.tau)

    def forward(self, s, drawn, t):
        moves = self.moves(s)
        if not self.config.network:
            z = s.weights[0] + moves
            return z, self.loss(s, z, z.detach()[:, None])
        s = s.replace(R=s.R + moves)
        z = self.embed_points(s)
        views = self.views(s, getattr(drawn, "views", None), VIEWS)  # of no kind: none are drawn
        return z, self.loss(s, z, self.embed_views(s, views))

    def step(self, s, drawn, losses, t):
        gradients = self.gradients(losses, s.weights)
        moves = self.moves(s)
        after = {"order": torch.arange(self.config.n, device=s.order.device).expand(s.order.shape)}
        if self.config.network:
            after["R"] = s.R + moves
            after["weights"] = sgd(s.weights, gradients, s.lr)
        else:
            # The loss is a mean over the points that are there; LS eq. 10 has no such factor.
            rate = s.there.sum(-1)[:, None, None] * s.lr
            after["weights"] = sgd([s.weights[0] + moves], gradients, rate)
        return after

    def watch(self, s, z, t):
        return {}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        return {
            "z": z,
            "loss": self.loss(s, z, z[:, None]),
            "neighbours": own_neighbours(z, s.label, s.there),
        }

    def shown(self, s, recorded):
        """Nothing more: the neighbours that are there are measured."""
        return {}

    def result(self, i, columns, head):
        s = self.state
        return self.Result(
            **head,
            **columns,
            x=s.x[i].cpu().numpy(),
            labels=s.label[i].cpu().numpy(),
            there=s.there[i].cpu().numpy(),
        )


run = MovedPoints.run


def ending(together: Result, alone: Result) -> Picture:
    """The data, and where they end through a network and each alone, with loss and neighbours above."""
    fig, (panels,) = axes(3, width=7.4, height=2.9)
    shown = {"data": together.x}
    words = []
    for name, result in (("through a network", together), ("each point alone", alone)):
        share = f"{result.neighbours[-1]:.0%}"
        shown[f"{name}: {share}"] = result.z[-1]
        words.append(f"{name} {share}, loss {result.loss[-1]:.2f}")
    there = together.there > 0
    for ax, (title, places) in zip(panels, shown.items(), strict=True):
        for k, marker in enumerate("os"):
            mine = there & (together.labels == k)
            ax.scatter(*places[mine].T, s=16, color=colour(k), marker=marker, linewidths=0)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    return Picture(
        fig,
        "Left, two clusters of points in the plane, blue discs and orange squares. Middle, their embedding trained "
        "through a network: two groups of one colour each. Right, each point trained alone: the colours lie mixed. "
        f"Points whose nearest neighbour has their colour: {'; '.join(words)}.",
    )
