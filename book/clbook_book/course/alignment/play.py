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
from clbook.style import INK, MUTED, Picture, axes, colour
from clbook.training.loop import State, Training
from clbook.training.optim import sgd
from clbook.training.settings import Outcome, Settings, quantity, setting
from clbook.training.streams import stream
from clbook_book.course.drawing import bare, by_class, square

START = 0  # purpose of the stream of random numbers
ANCHOR = 0  # the point whose pushes the first picture shows


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; by default half of the pushes are between classmates."""

    n: int = setting(60, "number of points, all classes together", low=4, high=200)
    classes: int = setting(2, "number of classes C", low=2, high=100)
    tau: float = setting(0.2, "temperature", low=0.02, high=2.0, log=True, each=True)
    lr: float = setting(
        0.02, "step size, in units of n times tau", above=0.0, high=0.5, log=True, each=True
    )
    steps: int = setting(1000, "iterations", unit="iterations", low=1, high=20_000, log=True)
    seed: int = setting(0, "seed of the start", low=0, high=9999, each=True)

    def check(self):
        if self.classes > self.n:
            raise self.error("classes", f"at most n = {self.n}")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps`."""

    steps: np.ndarray = quantity("recorded iterations", dims="step", unit="iterations")
    labels: np.ndarray = quantity("class of each point", dims="point")
    free: np.ndarray = quantity(
        "the points that all others push, trained with DCL", dims="step point dim"
    )
    spared: np.ndarray = quantity(
        "the points that classmates do not push, trained with NSCL", dims="step point dim"
    )
    alike: np.ndarray = quantity("CKA of `free` and `spared`", dims="step")
    gap: np.ndarray = quantity("DCL - NSCL, both of `free`", dims="step")


def similarity(a: Tensor, b: Tensor) -> Tensor:
    """(R,) `metrics.linear_cka` of unit vectors a and b (R, n, d), as operations that a page can do."""
    a = a - a.mean(-2, keepdim=True)
    b = b - b.mean(-2, keepdim=True)
    across = _size(a, b).square()
    within = _size(a, a)
    beside = _size(b, b)
    return across / (within * beside)


def _size(a, b):
    """(R,) Frobenius norm of A'B."""
    squares = (a.mT @ b).square()
    whole = squares.sum((-2, -1))
    return whole.sqrt()


class Pushes(Training):
    """R pairs of circles, state.weights[0] (R, 2, n, 2): the points that all push, and those that classmates spare."""

    Result = Result
    copy_axes = 1

    def setup(self):
        c = self.config
        s = self.state
        self.shared.labels = balanced_labels(c.n, c.classes)
        starts = []
        for config in self.configs:
            generator = stream(config.seed, START)
            drawn = torch.randn(c.n, 2, generator=generator, dtype=torch.float64)
            starts.append(F.normalize(drawn, dim=1))
        start = torch.stack(starts)
        s.weights = [torch.stack([start, start], 1)]
        s.tau = self.column("tau", torch.float64)
        lr = self.column("lr", torch.float64, axes=3)
        tau = s.tau[..., None]
        s.rate = c.n * lr * tau

    def both(self, s: State, free: Tensor, spared: Tensor) -> tuple[Tensor, ...]:
        """DCL of `free` and NSCL of `spared`, each (R,), of points (R, n, 2)."""
        labels = self.shared.labels
        without = losses.dcl(free, free, s.tau)
        with_labels = losses.nscl(spared, spared, labels, s.tau)
        return without, with_labels

    def forward(self, s, drawn, t):
        (z,) = s.weights
        without, with_labels = self.both(s, *z.unbind(1))
        return z, without + with_labels

    def step(self, s, drawn, losses, t):
        gradients = self.gradients(losses, s.weights)
        (z,) = sgd(s.weights, gradients, s.rate)
        unit = F.normalize(z.detach(), dim=-1)
        return {"weights": [unit]}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        free, spared = z.unbind(1)
        without, with_labels = self.both(s, free, free)
        row = {"free": free, "spared": spared}
        row["alike"] = similarity(free, spared)
        row["gap"] = without - with_labels
        return row

    def result(self, i, columns, head):
        labels = self.shared.labels.cpu().numpy()
        return Result(**head, **columns, labels=labels)


run = Pushes.run


def _pushed(ax, result, pushing):
    """The points, and a line from the anchor to each of those that push it; thick where the push is strong."""
    z = result.free[0]
    labels = result.labels
    # A push, as a share of the strongest that there can be.
    cosines = z @ z[ANCHOR]
    weights = np.exp((cosines - 1) / result.config.tau)
    own = labels[ANCHOR]
    shade = colour(own)
    for i in np.flatnonzero(pushing):
        tone = shade if labels[i] == own else MUTED
        width = 0.3 + 1.5 * weights[i]
        x, y = z[[ANCHOR, i]].T
        ax.plot(x, y, color=tone, lw=width, zorder=1)
    by_class(ax, z, labels, 14, zorder=2)
    x, y = z[ANCHOR]
    ax.scatter(x, y, s=60, color=shade, edgecolor=INK, zorder=3)
    square(ax, 1.15)
    bare(ax)


def pushes(result: Result) -> Picture:
    """The start, and what pushes one of its points: all others, or the points of other classes alone."""
    fig, ((left, right),) = axes(2, width=5.6, height=2.25)
    z = result.free[0]
    labels = result.labels
    others = np.arange(len(z)) != ANCHOR
    mates = others & (labels == labels[ANCHOR])
    _pushed(left, result, others)
    left.set_title("no labels: all push")
    _pushed(right, result, others & ~mates)
    right.set_title("labels: classmates do not")
    return Picture(
        fig,
        f"Two circles with the same {len(z)} points in {result.config.classes} colours, mixed: the start. Lines lead "
        "from one point to those that push it. Left, without labels, to all others; right, with labels, the "
        f"lines to the {mates.sum()} points of its own colour are missing.",
    )
