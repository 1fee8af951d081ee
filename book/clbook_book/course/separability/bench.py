"""A bench of one's own: the toy of the front page with every suspect as a setting.

Views may turn a point as well as move it, a loss may spare classmates, a start may be ordered by class; the network
may be wide, narrow, a linear map, or none.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from clbook import augment, data
from clbook.experiments.separability.experiment import DATA
from clbook.losses import squared_distances
from clbook.training.settings import quantity, setting
from clbook.training.streams import Draws, stream, streams
from clbook_book.course.separability import play


@dataclasses.dataclass(frozen=True)
class Config(play.Config):
    """Clusters or a donut, and all that a reader may change of views, network, loss and start."""

    hidden: tuple = setting((64,), "width of the hidden layer", low=1, high=2000)
    turn: float = setting(
        0.0, "views are turned by up to", unit="degrees", low=0.0, high=180.0, each=True
    )
    spared: float = setting(
        0.0, "classmates spared (0: none, 1: all)", low=0.0, high=1.0, each=True
    )
    ordered: float = setting(
        0.0, "start ordered by class (0: no, 1: side by side)", low=0.0, high=1.0, each=True
    )


@dataclasses.dataclass
class Result(play.Result):
    """What one run recorded; entries of points that are not there have no meaning."""

    readout: np.ndarray = quantity(
        "share of the points that are nearer to the mean of their own class", dims="step"
    )


def nearer_to_own(z: Tensor, labels: Tensor, there: Tensor) -> Tensor:
    """(R,) share of the points z (R, n, d) that are there which are nearer to the mean of their class, 0 or 1."""
    members = torch.stack([there * (labels == k) for k in (0, 1)], 1)  # (R, 2, n)
    means = members @ z / members.sum(-1, keepdim=True)
    right = squared_distances(z, means).argmin(-1) == labels
    return (right * there).sum(-1) / there.sum(-1)


class Bench(play.MovedPoints):
    """The toy's training. A view is turned about the origin, then moved; state.lift parts the classes at the start."""

    Result = Result

    def setup(self):
        super().setup()
        s = self.state
        s.turn = math.pi / 180 * self.column("turn")
        s.spared = self.column("spared")
        s.lift = self.column("ordered") * self.column("eps")

    def points(self, config):
        if config.data == "clusters":
            return super().points(config)
        x, labels = data.donut(config.drawn, stream(config.seed, DATA))
        free = config.n - config.drawn
        return pad(x, (0, 0, 0, free)), pad(labels, (0, free))

    def normal(self, purpose, count):
        n = self.config.n

        def draw(generator):
            moves = torch.randn(count, n, 2, generator=generator)
            turns = torch.rand(count, n, 1, generator=generator)
            return torch.cat([moves, 2 * turns - 1], -1)

        return Draws(streams(self.configs, purpose), draw)

    def views(self, s, drawn, purpose):
        turned = augment.turn(s.x[:, None], s.turn * drawn[..., 2])
        return turned + s.noise[:, None] * drawn[..., :2]

    def moves(self, s):
        # Half of the start's width to either side, at the first step alone.
        side = s.lift * (s.label[..., None] - 0.5)
        return super().moves(s) + pad(side, (0, self.config.d - 1))

    def step(self, s, drawn, losses, t):
        return super().step(s, drawn, losses, t) | {"lift": torch.zeros_like(s.lift)}

    def loss(self, s, z, views):
        mates = (s.label[:, :, None] == s.label[:, None]) * (1 - torch.eye(self.config.n))
        return play.masked_loss(z, views, s.there, s.tau, 1 - s.spared * mates)

    def measure(self, s, z, losses, t):
        return super().measure(s, z, losses, t) | {"readout": nearer_to_own(z, s.label, s.there)}


run = Bench.run
