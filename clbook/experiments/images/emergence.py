"""Do two classes of photographs become linearly separable on a line? (LS Sec. 4.2.2 and Fig. 4, CIFAR-10)

A network of two convolutions and a linear layer, all points at first in a small ball, gradient descent on LS eq. 12:
f(w, x_i) = start_i + net(w, x_i) - net(w_0, x_i), also for views of x_i.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch.func import functional_call

from clbook import augment, data
from clbook.experiments.images import sets
from clbook.experiments.images.views import coloured, draw
from clbook.losses import simplified
from clbook.metrics import linear_probe
from clbook.models import CNN, stacked
from clbook.optim import Descent
from clbook.runs import Draws, Program, alone, stream, streams
from clbook.settings import Outcome, Settings, setting

SPLIT, WEIGHTS, START, BANK, DRAWS = range(5)  # purposes of the streams of random numbers


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

    data: str = setting("cifar10", "images, as for `images.Config`")
    n: int = setting(200, "images", unit="images", low=4)
    classes: int = setting(2, "classes, the first so many", low=2)
    eps: float = setting(
        0.1, "diameter of the ball that the embedding starts in", above=0.0, each=True
    )
    tau: float = setting(0.1, "temperature", above=0.0, each=True)
    lr_over_tau: float = setting(0.1, "learning rate over the temperature", above=0.0, each=True)
    steps: int = setting(5000, "iterations", unit="iterations", low=1)
    bank: int = setting(
        32, "views of each image, drawn before training; a step takes one", unit="views", low=1
    )
    seed: int = setting(0, "seed of images, weights, start and views", low=0, high=2**31, each=True)

    @property
    def files(self) -> tuple:
        return sets.files(self.data)


@dataclasses.dataclass
class Result(Outcome):
    """steps (T,) recorded iterations; z (T, n) the embedding, labels (n,); accuracy (T,) of a linear readout of it."""

    steps: np.ndarray
    z: np.ndarray
    labels: np.ndarray
    accuracy: np.ndarray


def view(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A view of each image x (n, 3, side, side): turned, resized, blurred, in other colours, as LS list them."""
    moved = augment.images(x.flatten(1), generator).view_as(x).clamp(0, 1)
    return coloured(moved, draw(len(x), generator))


class Flow(Program):
    """R runs of gradient descent on LS eq. 12, each with a network of its own."""

    rate, Result = "lr_over_tau", Result

    def setup(self):
        c, s = self.config, self.state
        images = [
            sets.load(c.data, c.n, 10, c.classes, 32, stream(k.seed, SPLIT)) for k in self.configs
        ]
        s.x, s.labels = (torch.stack([getattr(own, name) for own in images]) for name in ("x", "y"))
        generators = [stream(k.seed, BANK) for k in self.configs]
        s.bank = torch.stack(
            [
                torch.stack([view(x, g) for _ in range(c.bank)])
                for x, g in zip(s.x, generators, strict=True)
            ]
        )
        nets = [CNN(s.x.shape[2:], 1, generator=stream(k.seed, WEIGHTS)) for k in self.configs]
        self.trained, self.net, self.names = (
            stacked(nets),
            nets[0],
            [name for name, _ in nets[0].named_parameters()],
        )
        start = torch.stack([data.ball(c.n, 1, k.eps, stream(k.seed, START)) for k in self.configs])
        s.shift = start - self.outputs(s.x)
        s.shifts = torch.stack([start - self.outputs(views) for views in s.bank.unbind(1)], 1)
        s.tau, s.lr = self.each("tau"), self.each("lr_over_tau") * self.each("tau")
        self.draws = Draws(
            streams(self.configs, DRAWS), lambda g: torch.randint(c.bank, (), generator=g)
        )

    def outputs(self, x: torch.Tensor) -> torch.Tensor:
        """(R, m, 1) of each run's network on its own images x (R, m, channels, side, side)."""
        outputs = []
        for i, images in enumerate(x):
            weights = {name: w[i] for name, w in zip(self.names, self.trained, strict=True)}
            outputs.append(functional_call(self.net, weights, (images,)))
        return torch.stack(outputs)

    def begin(self):
        self.optimiser = Descent(self.trained, self.state.lr)

    def now(self, t):
        s, drawn = self.state, self.draws.next()
        run = torch.arange(len(drawn), device=drawn.device)
        both = self.outputs(torch.cat([s.x, s.bank[run, drawn]], 1)) + torch.cat(
            [s.shift, s.shifts[run, drawn]], 1
        )
        z, views = both.chunk(2, 1)
        self.losses = simplified.formula(z, views[:, None], s.tau)
        return z

    def advance(self, t):
        self.descend(self.losses)

    @torch.no_grad()
    def measure(self, z, t):
        seen = z.nan_to_num(posinf=0.0, neginf=0.0).cpu().numpy()  # of a run that has diverged, too
        right = [
            linear_probe(own, y, own, y)
            for own, y in zip(seen, self.state.labels.cpu().numpy(), strict=True)
        ]
        return {"z": z[..., 0], "accuracy": right, "labels": self.state.labels}

    def result(self, i, columns, head):
        return Result(**head, **columns | {"labels": columns["labels"][0]})


def run(config: Config, *, progress=None, device=None) -> Result:
    """Descend from the ball; ValueError: settings or files that are not allowed, a run that diverged."""
    return alone(Flow, config, progress, device)


run.program = Flow
