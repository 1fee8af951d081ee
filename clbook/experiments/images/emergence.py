"""Do two classes of photographs become linearly separable on a line? (LS Sec. 4.2.2 and Fig. 4, CIFAR-10)

A network of two convolutions and a linear layer, all points at first in a small ball, gradient descent on LS eq. 12:
f(w, x_i) = start_i + net(w, x_i) - net(w_0, x_i), also for views of x_i.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from clbook import augment, data
from clbook.experiments.images import sets
from clbook.experiments.images.views import coloured, draw
from clbook.losses import simplified
from clbook.metrics import linear_probe
from clbook.models import CNN, stacked
from clbook.training.loop import Training
from clbook.training.optim import sgd
from clbook.training.settings import Outcome, Settings, quantity, recorded, seed_of, setting
from clbook.training.streams import Draws, stream, streams

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
    seed: int = seed_of("images, weights, start and views")

    @property
    def files(self) -> tuple:
        return sets.files(self.data)


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps`."""

    steps: np.ndarray = recorded()
    z: np.ndarray = quantity("the embedding, one number for each image", dims="step point")
    labels: np.ndarray = quantity("class of each image", dims="point")
    accuracy: np.ndarray = quantity(
        "accuracy of a linear readout of the embedding", dims="step", on_request=True
    )


def view(x: Tensor, generator: torch.Generator) -> Tensor:
    """A view of each image x (n, 3, side, side): turned, resized, blurred, in other colours, as LS list them."""
    moved = augment.images(x.flatten(1), generator).view_as(x).clamp(0, 1)
    return coloured(moved, draw(len(x), generator))


class Emergence(Training):
    """R runs of gradient descent on LS eq. 12, each with a network of its own.

    The embedding is that of `training.anchored`, f(w, x) = R + g(w, x) - g(w0, x). Views come from a bank that is drawn
    before, so that R - g(w0, view) is known for all of them.
    """

    rate = "lr_over_tau"
    Result = Result
    beside = 1

    def setup(self):
        c, s = self.config, self.state
        images = [
            sets.load(c.data, c.n, 10, c.classes, 32, stream(k.seed, SPLIT)) for k in self.configs
        ]
        s.x = torch.stack([own.x for own in images])  # (R, n, channels, side, side)
        s.labels = torch.stack([own.y for own in images])
        banks = []
        for x, k in zip(s.x, self.configs, strict=True):
            generator = stream(k.seed, BANK)
            banks.append(torch.stack([view(x, generator) for _ in range(c.bank)]))
        s.bank = torch.stack(banks)  # (R, bank, n, channels, side, side)
        networks = [CNN(s.x.shape[2:], 1, generator=stream(k.seed, WEIGHTS)) for k in self.configs]
        s.weights = stacked(networks)
        self.net = networks[0]
        self.names = [name for name, _ in self.net.named_parameters()]
        R = torch.stack([data.ball(c.n, 1, k.eps, stream(k.seed, START)) for k in self.configs])
        s.shift = R - self.outputs(s.weights, s.x)
        shifts = [R - self.outputs(s.weights, views) for views in s.bank.unbind(1)]
        s.shifts = torch.stack(shifts, 1)  # (R, bank, n, 1)
        s.tau = self.column("tau")
        s.lr = self.column("lr_over_tau") * s.tau

        def choose(generator):
            return torch.randint(c.bank, (), generator=generator)

        self.draws["view"] = Draws(streams(self.configs, DRAWS), choose)

    def outputs(self, weights: list[Tensor], x: Tensor) -> Tensor:
        """(R, m, 1) of each run's network on its own images x (R, m, channels, side, side)."""
        found = []
        for i, images in enumerate(x):
            own = {name: w[i] for name, w in zip(self.names, weights, strict=True)}
            found.append(functional_call(self.net, own, (images,)))
        return torch.stack(found)

    def forward(self, s, drawn, t):
        runs = torch.arange(len(drawn.view), device=drawn.view.device)
        views = s.bank[runs, drawn.view]
        of_views = s.shifts[runs, drawn.view]
        images = torch.cat([s.x, views], 1)
        shifts = torch.cat([s.shift, of_views], 1)
        z, v = (self.outputs(s.weights, images) + shifts).chunk(2, 1)
        return z, simplified(z, v[:, None], s.tau)

    def step(self, s, drawn, losses, t):
        return {"weights": sgd(s.weights, self.gradients(losses, s.weights), s.lr)}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        row = {"z": z[..., 0]}
        if self.wants("accuracy"):
            seen = (
                z.nan_to_num(posinf=0.0, neginf=0.0).cpu().numpy()
            )  # of a run that has diverged, too
            labels = s.labels.cpu().numpy()
            row["accuracy"] = [
                linear_probe(own, y, own, y) for own, y in zip(seen, labels, strict=True)
            ]
        return row

    def ending(self, s):
        return {"labels": s.labels}


run = Emergence.run
