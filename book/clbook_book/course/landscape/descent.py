"""Where the loss sends points that are free to go: down the chapter's loss, from few places, sorted or shuffled.

There is no network and no data. The map is invariant, so that a point is both of its views. Two circles have the same
points at the start; in one the classes keep together, in the other the points are dealt out at random.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
import torch.nn.functional as F

from clbook.losses import nt_xent_mean
from clbook.training.settings import (
    Settings,
    iterations,
    quantity,
    seed_of,
    setting,
)
from clbook.training.streams import stream
from clbook_book.course.points import Labelled, TwoSpheres
from clbook_book.course.readout import own_centre

SHAKE, ORDER = range(2)  # purposes of the streams of random numbers
CLASSES = 3


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; by default each class has a place of its own, in the circle that is sorted."""

    n: int = setting(60, "number of points, all classes together", low=3, high=300)
    places: int = setting(3, "number of places K", low=1, high=300, log=True, each=True)
    dim: int = setting(2, "embedding dimensions; 2 is the circle", low=2, high=3)
    tau: float = setting(0.2, "temperature", low=0.02, high=2.0, log=True, each=True)
    shake: float = setting(
        0.03,
        "distance that a point starts from its place",
        low=0.0,
        high=1.0,
        log=True,
        each=True,
    )
    lr: float = setting(
        0.1, "step size, in units of n times tau", above=0.0, high=0.5, log=True, each=True
    )
    steps: int = iterations(400, high=20_000)
    seed: int = seed_of("the start and of the shuffle")

    def check(self):
        if self.places > self.n:
            raise self.error("places", f"at most n = {self.n}")


@dataclasses.dataclass
class Result(Labelled):
    """What one run recorded, at the times `steps`."""

    sorted: np.ndarray = quantity(
        "the points of which each class keeps together at the start", dims="step point dim"
    )
    shuffled: np.ndarray = quantity(
        "the points that are dealt out at random", dims="step point dim"
    )
    loss: np.ndarray = quantity("the loss of `sorted`", dims="step")
    loss_shuffled: np.ndarray = quantity("the loss of `shuffled`", dims="step")
    even: np.ndarray = quantity("the loss of an even spread", dims="step")
    readout: np.ndarray = quantity(
        "share of the points of `sorted` nearest to their own class's centre, taken over the others",
        dims="step",
    )
    readout_shuffled: np.ndarray = quantity("the same of `shuffled`", dims="step")


def starting_points(config: Config) -> torch.Tensor:
    """(n, d) unit vectors near K even places of a great circle, about as many at each, neighbours side by side."""
    share = torch.arange(config.n, dtype=torch.float64) * config.places / config.n
    angle = share.floor() * (2 * math.pi / config.places)
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    circle = F.pad(circle, (0, config.dim - 2))
    generator = stream(config.seed, SHAKE)
    noise = torch.randn(config.n, config.dim, generator=generator, dtype=torch.float64)
    return F.normalize(circle + config.shake * noise, dim=1)


def spread_loss(n: int, dim: int, tau: torch.Tensor) -> torch.Tensor:
    """(R,) the loss of n points spread evenly, at temperatures tau (R,).

    On the circle they stand at n even places. On the sphere it is the loss of the uniform distribution, without the
    pairs of a point with itself.
    """
    if dim == 2:
        cosine = torch.cos(2 * math.pi / n * torch.arange(1, n, dtype=torch.float64))
        mean = torch.exp((cosine - 1) / tau[:, None]).sum(1) / n
    else:
        mean = tau / 2 * (1 - torch.exp(-2 / tau)) - 1 / n
    return torch.log(1 + 2 * mean)


class Descent(TwoSpheres):
    """R pairs of circles, state.weights[0] (R, 2, n, d): sorted and shuffled."""

    Result = Result

    def setup(self):
        c, s = self.config, self.state
        # Classes take turns, so that none is drawn above the others.
        labels = np.arange(c.n) % CLASSES
        by_class = torch.from_numpy(labels.argsort(kind="stable").argsort())
        self.shared.labels = torch.from_numpy(labels)
        pairs = []
        for config in self.configs:
            points = starting_points(config)
            order = torch.randperm(c.n, generator=stream(config.seed, ORDER))
            pairs.append(torch.stack([points[by_class], points[order]]))
        s.weights = [torch.stack(pairs)]
        s.tau = self.column("tau", torch.float64, axes=3)
        s.rate = c.n * self.column("lr", torch.float64, axes=3) * s.tau
        s.even = spread_loss(c.n, c.dim, s.tau.flatten())

    def forward(self, s, drawn, t):
        (z,) = s.weights
        by_circle = nt_xent_mean(z, z, s.tau)  # (R, 2): both views of a point are at its place
        return z, by_circle.sum(1)

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        by_class, shuffled = z.unbind(1)
        loss, of_shuffled = nt_xent_mean(z, z, s.tau).unbind(1)
        readout, readout_shuffled = own_centre(z, self.shared.labels, CLASSES).unbind(1)
        row = {"sorted": by_class, "shuffled": shuffled}
        row |= {"readout": readout, "readout_shuffled": readout_shuffled}
        return row | {"loss": loss, "loss_shuffled": of_shuffled, "even": s.even}


run = Descent.run
