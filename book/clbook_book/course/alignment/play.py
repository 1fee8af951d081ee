"""The chapter's first toy: points on a circle flee from each other, from all others or from other classes alone.

There is no network, and a point is both of its views. The points descend on the chapter's DCL and NSCL from one start.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook import losses
from clbook.data import balanced_labels
from clbook.experiments.sphere.experiment import along_sphere
from clbook.style import Picture, axes, colour
from clbook.training.loop import State
from clbook.training.settings import (
    Settings,
    iterations,
    quantity,
    seed_of,
    setting,
)
from clbook.training.streams import stream
from clbook_book.course.drawing import bare, by_class, square
from clbook_book.course.points import Labelled, TwoSpheres

START = 0  # purpose of the stream of random numbers
STROKE = 0.6  # length in the picture of a push that is n times tau times the gradient


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; by default half of the pushes are between classmates."""

    n: int = setting(60, "number of points, all classes together", low=4, high=200)
    classes: int = setting(2, "number of classes C", low=2, high=100)
    tau: float = setting(0.2, "temperature", low=0.02, high=2.0, log=True, each=True)
    lr: float = setting(
        0.02, "step size, in units of n times tau", above=0.0, high=0.5, log=True, each=True
    )
    steps: int = iterations(1000, high=20_000)
    seed: int = seed_of("the start")

    def check(self):
        if self.classes > self.n:
            raise self.error("classes", f"at most n = {self.n}")


@dataclasses.dataclass
class Result(Labelled):
    """What one run recorded, at the times `steps`."""

    free: np.ndarray = quantity(
        "the points that all others push, trained with DCL", dims="step point dim"
    )
    spared: np.ndarray = quantity(
        "the points that classmates do not push, trained with NSCL", dims="step point dim"
    )
    free_push: np.ndarray = quantity(
        "each point of `free`, and where a step along its push would take it",
        dims="step end point dim",
    )
    spared_push: np.ndarray = quantity("the same of `spared`", dims="step end point dim")
    alike: np.ndarray = quantity("CKA of `free` and `spared`", dims="step")
    gap: np.ndarray = quantity("DCL - NSCL, both of `free`", dims="step")


def similarity(a: Tensor, b: Tensor) -> Tensor:
    """(R,) `metrics.linear_cka` of unit vectors a and b (R, n, d), as operations that a page can do."""
    a = a - a.mean(-2, keepdim=True)
    b = b - b.mean(-2, keepdim=True)
    across = _size(a, b).square()
    within = _size(a, a)
    return across / (within * _size(b, b))


def _size(a, b):
    """(R,) Frobenius norm of A'B."""
    return (a.mT @ b).square().sum((-2, -1)).sqrt()


class Pushes(TwoSpheres):
    """R pairs of circles, state.weights[0] (R, 2, n, 2): the points that all push, and those that classmates spare."""

    Result = Result

    def setup(self):
        c = self.config
        s = self.state
        self.shared.labels = balanced_labels(c.n, c.classes)
        starts = []
        for config in self.configs:
            drawn = torch.randn(c.n, 2, generator=stream(config.seed, START), dtype=torch.float64)
            starts.append(F.normalize(drawn, dim=1))
        start = torch.stack(starts)
        s.weights = [torch.stack([start, start], 1)]
        s.tau = self.column("tau", torch.float64)
        s.rate = c.n * self.column("lr", torch.float64, axes=3) * s.tau[..., None]

    def both(self, s: State, free: Tensor, spared: Tensor) -> tuple[Tensor, ...]:
        """DCL of `free` and NSCL of `spared`, each (R,), of points (R, n, 2)."""
        return losses.dcl(free, free, s.tau), losses.nscl(spared, spared, self.shared.labels, s.tau)

    def forward(self, s, drawn, t):
        (z,) = s.weights
        without, with_labels = self.both(s, *z.unbind(1))
        return z, without + with_labels

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        free, spared = z.unbind(1)
        without, with_labels = self.both(s, free, free)
        row = {"free": free, "spared": spared}
        row["free_push"], row["spared_push"] = self.strokes(s, z).unbind(1)
        row["alike"] = similarity(free, spared)
        row["gap"] = without - with_labels
        return row

    @torch.enable_grad()
    def strokes(self, s: State, z: Tensor) -> Tensor:
        """(R, 2, 2, n, 2): of both circles, z (R, 2, n, 2), each point, and where a step along its push leads."""
        z = z.detach().requires_grad_()
        without, with_labels = self.both(s, *z.unbind(1))
        (slope,) = self.gradients(without + with_labels, [z])
        push = -self.config.n * s.tau[..., None] * slope
        return torch.stack([z, z + STROKE * along_sphere(push, z)], 2).detach()


run = Pushes.run


def pushes(result: Result) -> Picture:
    """The start: both circles, and the push on each point as a stroke."""
    fig, (panels,) = axes(2, width=5.6, height=2.25)
    ends = (
        ("no labels: all push", result.free_push[0]),
        ("labels: classmates do not", result.spared_push[0]),
    )
    for ax, (title, strokes) in zip(panels, ends, strict=True):
        by_class(ax, strokes[0], result.labels, 14)
        for k, path in zip(result.labels, strokes.swapaxes(0, 1), strict=True):
            ax.plot(*path.T, color=colour(k), lw=1)
        square(ax, 1.15)
        bare(ax)
        ax.set_title(title)
    return Picture(
        fig,
        f"Two circles with the same {len(result.labels)} points in {result.config.classes} colours, mixed: the start. "
        "A stroke at each point shows where it is pushed. Left, without labels, all others push it; right, with "
        "labels, the points of its own colour do not.",
    )
