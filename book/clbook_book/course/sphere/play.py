"""The chapter's first toy: the network's run, and beside it free points from the same start."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F

from clbook.experiments.sphere import experiment
from clbook.experiments.sphere.experiment import NEIGHBOURS
from clbook.losses import squared_distances
from clbook.training.optim import sgd
from clbook.training.settings import quantity, setting
from clbook_book.course.points import Labelled

FAR = 1e9  # beyond all distances: a point is no neighbour of its own
MOST = 10  # classes: their number is no part of the step's shape, so that a page has the step once


@dataclasses.dataclass(frozen=True)
class Config(experiment.Config):
    """Settings of one run: those of the chapter's experiment, with fewer points."""

    n: int = setting(100, "number of points, all clusters together", low=20, high=2000)

    def check(self):
        if not self.network:
            raise self.error("network", "True: free points are there besides")
        if self.start == "ordinary":
            raise self.error("start", "cap or uniform, which free points share with the network")


@dataclasses.dataclass
class Result(Labelled):
    """What one run recorded, at the times `steps`."""

    x: np.ndarray = quantity("inputs", dims="point input")
    z: np.ndarray = quantity("embeddings through the network", dims="step point dim")
    free: np.ndarray = quantity(
        "points without a network, from the same start", dims="step point dim"
    )
    accuracy: np.ndarray = quantity(f"label accuracy of the {NEIGHBOURS} nearest of z", dims="step")
    free_accuracy: np.ndarray = quantity("the same of `free`", dims="step")
    loss: np.ndarray = quantity("the loss of the network on the views of the step", dims="step")
    free_loss: np.ndarray = quantity("the loss of `free`", dims="step")


def elected(z: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(R,) `metrics.neighbour_accuracy` of z (R, n, d) with labels (R, n), as operations that a page can do."""
    apart = squared_distances(z, z) + FAR * torch.eye(z.shape[1])
    tenth = apart.sort(-1).values[..., NEIGHBOURS - 1, None]
    near = (apart <= tenth).to(z)  # (R, n, n): who votes on whom
    one_hot = (labels[..., None] == torch.arange(MOST)).to(z)
    votes = near @ one_hot  # (R, n, MOST)
    return (votes.argmax(-1) == labels).to(z).mean(-1)


class Beside(experiment.Sphere):
    """R networks, each with free points `state.free` (R, n, d) that begin where its points do."""

    Result = Result

    def setup(self):
        super().setup()
        s = self.state
        s.labels = torch.as_tensor(self.labels).repeat(len(self.configs), 1)
        s.free = s.R.clone()
        s.plane = s.x[..., :2].clone()  # of the data what lies in the plane

    def free_loss(self, s, z):
        """The loss (R,) of points z (R, n, d), which are their own views; the views hold still (VA eq. 13)."""
        return self.loss(s, z, z.detach()[:, None])

    def step(self, s, drawn, losses, t):
        changed = super().step(s, drawn, losses, t)
        z = s.free.detach().requires_grad_()
        slope = self.gradients(self.free_loss(s, z), [z])
        # Each point follows its own loss: VA eq. 13 has no 1/n.
        (moved,) = sgd([z], slope, self.config.n * s.lr)
        return changed | {"free": F.normalize(moved.detach(), dim=-1)}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        return {
            "z": z,
            "free": s.free,
            "accuracy": elected(z, s.labels),
            "free_accuracy": elected(s.free, s.labels),
            "loss": losses,
            "free_loss": self.free_loss(s, s.free),
        }

    def result(self, i, columns, head):
        return Result(**head, **columns, x=self.inputs[i], labels=self.labels)


run = Beside.run
