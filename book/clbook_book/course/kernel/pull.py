"""The kernel at work: one embedded point is pulled, and all others move by their entries of K.

The network is the chapter's, VA eq. 18, at its start; nothing is trained. The pull is a part of the state, so that a
page can change it.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch

from clbook import data, kernels
from clbook.experiments.kernel.experiment import DATA, START, network, partial_gradient
from clbook.models import ACTIVATIONS, stacked
from clbook.style import Picture, axes, colour
from clbook.training.loop import State, Training
from clbook.training.settings import Settings, quantity, seed_of, setting
from clbook.training.streams import stream
from clbook_book.course.drawing import by_class
from clbook_book.course.points import Labelled
from clbook_book.live.pulling import Pulling

PUSH = 0.4  # the mean length of the pushes that are shown
NETWORKS = {
    "128 units, tanh": {},
    "4 units, tanh": {"width": 4},
    "128 units, relu": {"activation": "relu"},
}
SLIDERS = {
    "blend": ("who is coupled", {0: "nobody", 1: "network", 2: "all alike"}),
    "angle": ("angle between clusters (°)", {}),
    "radius": ("radius of a cluster", {}),
    "donut": ("from clusters to a donut", {0: "clusters", 1: "donut"}),
}


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Two clusters in the plane, embedded at random in another plane, and the network between them."""

    donut: float = setting(
        0.0,
        "0: two clusters, 1: a disc inside a ring, between: on the way",
        low=0.0,
        high=1.0,
        each=True,
    )
    n: int = setting(24, "number of points, all clusters together", low=6, high=200)
    angle: float = setting(
        90.0,
        "angle between the clusters, seen from the origin",
        unit="degrees",
        low=0.0,
        high=180.0,
        each=True,
    )
    radius: float = setting(0.2, "radius of a cluster", low=0.0, high=1.0, each=True)
    blend: float = setting(
        1.0,
        "0: no network, 1: the network's kernel, 2: all entries equal",
        low=0.0,
        high=2.0,
        each=True,
    )
    eps: float = setting(
        2.0, "diameter of the ball in which the points are embedded", low=0.0, high=10.0, each=True
    )
    tau: float = setting(0.5, "temperature", above=0.0, low=1e-4, high=10.0, log=True, each=True)
    d: int = setting(2, "embedding dimensions", low=1, high=16)
    width: int = setting(
        128, "hidden units for each embedding dimension", low=1, high=4096, log=True
    )
    activation: str = setting("tanh", "activation of the hidden layer", choices=tuple(ACTIVATIONS))
    steps: int = setting(1, "iterations, in which nothing changes", low=1, high=10)
    seed: int = seed_of("data, start and weights")


@dataclasses.dataclass
class Result(Labelled):
    """What stands there at the times `steps`, with the pull of the state."""

    x: np.ndarray = quantity("points", dims="point input")
    z: np.ndarray = quantity("embeddings, pulled", dims="step point dim")
    kernel: np.ndarray = quantity(
        "the kernel as blended, its trace over the embedding dimensions divided by d",
        dims="step point point2",
    )
    pushes: np.ndarray = quantity(
        "minus the gradient of LS eq. 12 in each point, all of one scale", dims="step point dim"
    )
    moves: np.ndarray = quantity(
        "what the kernel makes of all pushes, on the same scale", dims="step point dim"
    )


def dataset(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """Points x (n, 2) and labels (n,) of a run, on the CPU."""
    generator = stream(config.seed, DATA)
    ring, labels = data.donut(config.n, generator)
    around = data.ball(config.n, 2, 2.0, generator).double()
    turns = labels.double() * config.angle * (math.pi / 180)
    clusters = torch.stack([turns.cos(), turns.sin()], -1) + config.radius * around
    return clusters + config.donut * (ring.double() - clusters), labels


class Pull(Training):
    """R networks at their start. A pull u_j of point j moves point i by K_ij u_j.

    state.rest (R, n, d) is where the points stand, state.pull (R, n, d) how each is pulled.
    """

    Result = Result

    def setup(self):
        s = self.state
        inputs, labels = zip(*[dataset(config) for config in self.configs], strict=True)
        s.x = torch.stack(inputs)  # (R, n, 2)
        self.shared.labels = labels[0]  # the same for all runs
        starts = []
        for config in self.configs:
            starts.append(data.ball(config.n, config.d, config.eps, stream(config.seed, START)))
        s.rest = torch.stack(starts).double()
        s.pull = torch.zeros_like(s.rest)
        s.blend = self.column("blend", torch.float64, axes=4)
        s.tau = self.column("tau", torch.float64)
        s.weights = stacked([network(config, 2) for config in self.configs])  # B (R, M d, 2)

    def network_kernel(self, s: State) -> torch.Tensor:
        """K (R, n, n, d, d) of the networks."""
        c = self.config
        found = []
        for inner, x in zip(s.weights[0].detach(), s.x, strict=True):
            found.append(kernels.one_hidden(inner, x, c.activation, c.d, 1 / c.width))
        return torch.stack(found)

    def blended(self, s: State) -> torch.Tensor:
        """K (R, n, n, d, d): from no network, over the networks' own, to all entries equal, as state.blend says.

        Either end has the mean of K's diagonal, so that a pulled point goes as far.
        """
        n, d = s.rest.shape[1:]
        K = self.network_kernel(s)
        diagonal = K.diagonal(dim1=1, dim2=2).diagonal(dim1=1, dim2=2)
        mean = diagonal.mean((1, 2)).reshape(-1, 1, 1, 1, 1)
        equal = mean * torch.eye(d, dtype=K.dtype, device=K.device)
        alone = equal * torch.eye(n, dtype=K.dtype, device=K.device)[:, :, None, None]
        to_network = alone + s.blend * (K - alone)
        from_network = K + (s.blend - 1) * (equal - K)
        return torch.where(s.blend < 1, to_network, from_network)

    def forward(self, s, drawn, t):
        return s.rest, None

    def step(self, s, drawn, losses, t):
        return {}

    def measure(self, s, z, losses, t):
        K = self.blended(s)
        pushes = -partial_gradient(s.rest, s.rest[:, None], s.tau)
        pushes = PUSH * pushes / pushes.norm(dim=-1).mean()
        moves = moved(K, pushes)
        return {
            "z": s.rest + moved(K, s.pull),
            "kernel": K.diagonal(dim1=3, dim2=4).mean(-1),
            "pushes": pushes,
            "moves": PUSH * moves / moves.norm(dim=-1).mean(),
        }

    def result(self, i, columns, head):
        x = self.state.x[i].cpu().numpy()
        return Result(**head, **columns, x=x, labels=self.shared.labels.cpu().numpy())


def moved(K: torch.Tensor, pulls: torch.Tensor) -> torch.Tensor:
    """(R, n, d) how far all points move by pulls (R, n, d) through the kernel K (R, n, n, d, d)."""
    R, n, _, d, _ = K.shape
    size = n * d
    matrix = K.transpose(2, 3).reshape(R, size, size)
    return (matrix @ pulls.reshape(R, size, 1)).reshape(R, n, d)


run = Pull.run


def picture(result: Result) -> Picture:
    """Data, embedding and kernel; the first point is pulled to the right, and all go where K takes them."""
    fig, (panels,) = axes(3, width=7.4, height=2.8)
    left, middle, right = panels
    K = result.kernel[-1]
    rest = result.z[-1]
    ends = rest + K[:, :1] * [0.8, 0.0]
    by_class(left, result.x, result.labels, 18)
    by_class(middle, ends, result.labels, 18)
    for start, end, k in zip(rest, ends, result.labels, strict=True):
        middle.plot(*np.stack([start, end]).T, color=colour(k), lw=1)
    largest = abs(K).max()
    right.imshow(K, cmap="RdBu_r", vmin=-largest, vmax=largest)
    right.grid(False)
    for ax, title in zip(panels, ("data", "embedding", "kernel K"), strict=True):
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    same = result.labels[:, None] == result.labels
    within = K[same].mean()
    across = K[~same].mean()
    return Picture(
        fig,
        "Left, two clusters of points in the plane. Middle, the same points embedded in no order; one is pulled to the "
        "right, and the points of its cluster follow it while the others stay. Right, the kernel: a matrix with a "
        f"block for each cluster. The mean entry is {within:.2f} inside a cluster and {across:.2f} between clusters.",
    )


def block(config, title, caption, *, sliders=("blend",), networks=None, name="pull") -> Pulling:
    """The block in which a reader pulls a point.

    Args:
        config: its settings at the start; all networks have its width and activation but for their own changes.
        title, caption: a question, and what to try.
        sliders: names of SLIDERS.
        networks: {words on a button: changes of the settings}, as NETWORKS; none: the config's own, without a button.
        name: of the block in its page.
    """
    chosen = {slider: SLIDERS[slider] for slider in sliders}
    still = picture(run(config))
    return Pulling(Pull, config, still, title, caption, networks or {"": {}}, chosen, name)
