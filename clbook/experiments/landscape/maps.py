"""Four invariant maps of one data set: two keep the classes together, two destroy them, and the loss forgets which."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch

from clbook import data
from clbook.experiments.landscape.curves import even
from clbook.losses import byol, generalized, nt_xent_mean, vicreg
from clbook.metrics import nccc
from clbook.training.settings import Settings, seed_of, setting
from clbook.training.streams import stream

MAPS = 0  # purpose of the one stream of random numbers: data, brightness, then the shuffle
PREDICTOR = (1.0, 0.5)  # BYOL's, a fixed diagonal matrix


@dataclasses.dataclass(frozen=True)
class MapsConfig(Settings):
    """Settings of four invariant maps from three clean clusters to the circle."""

    n: int = setting(120, "number of points, all classes together", low=6, high=600)
    tau: float = setting(0.2, "temperature", low=1e-3, high=10.0, log=True)
    seed: int = seed_of("the data, the views and the shuffled maps", each=False)

    def check(self):
        if self.n % 3:
            raise self.error("n", "a multiple of 3, so that the three classes are equal")


@dataclasses.dataclass
class Maps:
    """What `forget` measured on the four maps `names`.

    Attributes:
        x: (n, 3) inputs, two coordinates and a brightness. labels: (n,). z: (4, n, 2) embeddings.
        losses: {name of a loss: (4,)}.
        accuracy: (4,) of the nearest class centre, on points not used for the centres.
    """

    names: ClassVar[tuple[str, ...]] = (
        "three places, by class",
        "three places, shuffled",
        "everywhere, by class",
        "everywhere, shuffled",
    )
    x: np.ndarray
    labels: np.ndarray
    z: np.ndarray
    losses: dict[str, np.ndarray]
    accuracy: np.ndarray


def losses_by_name(tau: float) -> dict[str, Callable]:
    """{name: loss of two views (..., n, 2)} of the losses that are compared."""

    def log_eta(t):
        return -t / tau

    def fixed_byol(z1, z2):
        return byol(z1 * z1.new_tensor(PREDICTOR), z2)

    return {
        "NT-Xent, eq. 1": lambda z1, z2: nt_xent_mean(z1, z2, tau),
        "eq. 3": lambda z1, z2: generalized(z1, z2, log_eta),
        "VICReg": vicreg,
        "BYOL, fixed predictor": fixed_byol,
    }


def forget(config: MapsConfig) -> Maps:
    """Send three clean clusters to the circle by four maps that ignore what views change (LS Prop. B.1, VA Prop. 2.1).

    A view redraws the brightness x_3; each map looks up the nearest data point in (x_1, x_2) and returns its target, so
    it is defined everywhere and invariant. The losses see two views, like in training.
    """
    generator = stream(config.seed, MAPS)
    plane, labels = data.clusters(config.n, 3, 0.1, generator)
    plane = plane.double()
    brightness = torch.rand(3, config.n, 1, generator=generator, dtype=plane.dtype)
    three = even(3, 2)[labels]
    circle = even(config.n, 2)
    shuffle = torch.randperm(config.n, generator=generator)
    targets = torch.stack([three, three[shuffle], circle, circle[shuffle]])  # (4, n, 2)
    # The data and two views of them, (3, n, 3).
    views = torch.cat([plane.expand(3, -1, -1), brightness], 2)
    nearest = torch.cdist(views[..., :2], plane).argmin(2)  # (3, n)
    z, z1, z2 = targets[:, nearest].unbind(1)  # (4, n, 2) each
    losses = {name: loss(z1, z2).numpy() for name, loss in losses_by_name(config.tau).items()}
    accuracy = [readout(points, labels) for points in z]
    return Maps(
        x=views[0].numpy(),
        labels=labels.numpy(),
        z=z.numpy(),
        losses=losses,
        accuracy=np.array(accuracy),
    )


def readout(z: np.ndarray, labels: np.ndarray) -> float:
    """Accuracy of the nearest class centre on every second one of the points z (n, d); the centres are the others'."""
    return nccc(z[::2], labels[::2], z[1::2], labels[1::2])
