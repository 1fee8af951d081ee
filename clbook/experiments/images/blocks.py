"""The blocks of an encoder's neural kernel on real images, before and after training (LS Sec. 4, condition (c)).

The kernel says how much a step on one image moves the features of another. It has blocks where images of one class move
each other more than others.
"""

from __future__ import annotations

import copy
import dataclasses

import numpy as np

from clbook import kernels
from clbook.data import evenly
from clbook.experiments.images import experiment as images
from clbook.training.loop import default_device
from clbook.training.settings import Outcome, setting


@dataclasses.dataclass(frozen=True)
class Config(images.Config):
    """Settings of one run: those of `images`, and of how many images the kernel is taken; the default is on digits."""

    sample: int = setting(
        60,
        "test images on which the kernel is computed, of all classes alike",
        unit="images",
        low=4,
        high=1000,
    )

    def check(self):
        super().check()
        if self.sample > self.test:
            raise self.error("sample", f"at most test = {self.test}")


@dataclasses.dataclass
class Result(Outcome):
    """What one run found before training and after it, (2,) each.

    Attributes:
        aligned: centred alignment of the kernel with the classes, `kernels.alignment`; at most 1.
        fisher: `kernels.fisher`, of condition (c) in LS Theorem 4.3.
        steps (S,): the loss before each step. knn: accuracy of ten neighbours at the end, on the test images.
    A run that was stopped has NaN.
    """

    aligned: np.ndarray
    fisher: np.ndarray
    steps: np.ndarray
    knn: float


def scores(trainer: images.Trainer, network: images.Network, count: int) -> tuple[float, float]:
    """Alignment with the classes and Fisher ratio of a network's kernel, on `count` test images, evenly over classes.

    The kernel is that of the encoder's features h, with the means and variances of batch normalisation held.
    """
    i = trainer.images
    chosen = evenly(count, len(i.x_test))  # test images are sorted by class
    x = i.x_test[chosen].to(trainer.device, trainer.dtype)
    kernel, labels = kernels.empirical(network.eval().encoder, x), i.y_test[chosen]
    return kernels.alignment(kernel, labels), kernels.fisher(kernel, labels)


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train, and take the kernel of the network as it was and as it is; arguments and errors as for `images.run`."""
    trainer = images.Trainer(config, default_device(device))
    untrained = copy.deepcopy(trainer.network)
    trained = images.train(trainer, progress)
    found, knn = np.full((2, 2), np.nan), np.nan
    if not trained.stopped:
        found = np.array(
            [scores(trainer, network, config.sample) for network in (untrained, trainer.network)]
        )
        knn = float(trained.knn[-1])
    aligned, fisher = found.T
    return Result(
        config,
        trained.seconds,
        trained.device,
        trained.stopped,
        aligned,
        fisher,
        trained.steps,
        knn,
    )
