"""Do two classes of photographs become linearly separable on a line? (LS Sec. 4.2.2 and Fig. 4, CIFAR-10)

A network of two convolutions and a linear layer, all points at first in a small ball, gradient descent on LS eq. 12.
"""

from __future__ import annotations

import copy
import dataclasses
import time

import numpy as np
import torch

from clbook import augment, data, losses
from clbook.experiments.images import sets
from clbook.experiments.images.views import coloured, draw
from clbook.metrics import linear_probe
from clbook.models import CNN
from clbook.runs import PROGRESS_EVERY, recorded_times, stream
from clbook.settings import Outcome, Settings, setting

SPLIT, WEIGHTS, START, BANK, DRAWS = range(5)  # purposes of the streams of random numbers


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

    data: str = setting("cifar10", "images, as for `images.Config`")
    n: int = setting(200, "images", unit="images", low=4)
    classes: int = setting(2, "classes, the first so many", low=2)
    eps: float = setting(0.1, "diameter of the ball that the embedding starts in", above=0.0)
    tau: float = setting(0.1, "temperature", above=0.0)
    lr_over_tau: float = setting(0.1, "learning rate over the temperature", above=0.0)
    steps: int = setting(5000, "iterations", unit="iterations", low=1)
    bank: int = setting(32, "views of each image, drawn before training; a step takes one", unit="views", low=1)
    seed: int = setting(0, "seed of images, weights, start and views", low=0, high=2**31)

    @property
    def files(self) -> tuple:
        """Paths of the files that the images are read from."""
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


def run(config: Config, *, progress=None, device=None) -> Result:
    """Descend on LS eq. 12 from z_i = start_i: f(w, x_i) = start_i + net(w, x_i) - net(w_0, x_i), also for views.

    Raises ValueError: settings or files that are not allowed, a run that diverged.
    """
    began, last, rows = time.monotonic(), time.monotonic(), []
    images = sets.load(config.data, config.n, 10, config.classes, 32, stream(config.seed, SPLIT))
    x, y, draws = images.x, images.y.numpy(), stream(config.seed, BANK)
    bank = torch.stack([view(x, draws) for _ in range(config.bank)])
    net = CNN(x.shape[1:], 1, generator=stream(config.seed, WEIGHTS))
    first, start = copy.deepcopy(net), data.ball(config.n, 1, config.eps, stream(config.seed, START))
    with torch.no_grad():
        shift, shifts = start - first(x), torch.stack([start - first(views) for views in bank])
    descent = torch.optim.SGD(net.parameters(), config.lr_over_tau * config.tau)
    times, draws, stopped = set(recorded_times(config.steps)), stream(config.seed, DRAWS), False
    for t in range(config.steps + 1):
        k = int(torch.randint(config.bank, (), generator=draws))
        z, views = (net(torch.cat([x, bank[k]])) + torch.cat([shift, shifts[k]])).chunk(2)
        if t in times:
            seen = z.detach().numpy().copy()
            if not np.isfinite(seen).all():
                raise config.diverged("lr_over_tau", t)
            rows.append((t, seen[:, 0], linear_probe(seen, y, seen, y)))
        if progress is not None and time.monotonic() - last > PROGRESS_EVERY:
            last = time.monotonic()
            if stopped := progress(t / config.steps, None) is False:
                break
        descent.zero_grad()
        losses.simplified(z, views[None], config.tau).backward()
        descent.step()
    steps, z, accuracy = map(np.array, zip(*rows, strict=True))
    return Result(config, time.monotonic() - began, "cpu", stopped, steps, z, y, accuracy)
