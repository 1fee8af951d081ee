"""The chapter's training with a twin, a third network whose start is a little off, or with random classes of images."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook.data import images
from clbook.experiments.alignment import experiment
from clbook.experiments.alignment.experiment import DATA, LAYERS, Copies
from clbook.runs import alone, stream
from clbook.settings import setting

TWIN, CLASSES = 6, 7  # purposes of the streams of random numbers
ALL = 10  # classes of an image set


@dataclasses.dataclass(frozen=True)
class Config(experiment.Config):
    """The chapter's settings, and two more."""

    twin: float = setting(
        0.0,
        "relative perturbation of the start of a third network, trained with DCL; 0: no third "
        "network",
        low=0.0,
        high=1.0,
    )
    subset: bool = setting(
        False, "of an image set, train on randomly chosen classes; n and test are divided evenly"
    )

    @property
    def names(self) -> tuple:
        return ("dcl", "nscl", "dcl") if self.twin else super().names

    def check(self):
        super().check()
        if self.subset and (
            self.data == "synthetic" or self.n % self.classes or self.test % self.classes
        ):
            raise self.error(
                "subset",
                "False, or an image set with n and test multiples of the number of classes",
            )


@dataclasses.dataclass
class Result(experiment.Result):
    """A run's Result, and lengths of all weights of encoder and projector, as one list."""

    distance: np.ndarray  # (T, M) |w - w^DCL|
    moved: np.ndarray  # (T, M) |w_t - w_0|


class Variants(Copies):
    """`Copies` with the two settings."""

    Result = Result

    def setup(self):
        super().setup()
        if self.config.twin:
            for generator, *weights in zip(
                [stream(c.seed, TWIN) for c in self.configs], *self.trained, strict=True
            ):
                for w in weights:
                    w[2] *= 1 + self.config.twin * torch.randn(w[2].shape, generator=generator)

    def dataset(self, config):
        """(x, labels, x_test, labels_test): with `subset` of random classes, which have other numbers now."""
        if not config.subset:
            return super().dataset(config)
        train, test = config.n // config.classes, config.test // config.classes
        x, _ = images(config.data, ALL * (train + test), ALL, stream(config.seed, DATA))
        chosen = torch.randperm(ALL, generator=stream(config.seed, CLASSES))[: config.classes]
        x = x.unflatten(0, (ALL, train + test))[chosen]
        labels = torch.arange(config.classes)
        return (
            x[:, :train].flatten(0, 1),
            labels.repeat_interleave(train),
            x[:, train:].flatten(0, 1),
            labels.repeat_interleave(test),
        )

    @torch.no_grad()
    def measure(self, z, t):
        weights, start = self.trained[: 2 * LAYERS], self.state.start[: 2 * LAYERS]
        gaps = {
            "distance": [w - w[:, :1] for w in weights],
            "moved": [w - first for w, first in zip(weights, start, strict=True)],
        }
        lengths = {
            name: sum(gap.square().flatten(2).sum(-1) for gap in those).sqrt()
            for name, those in gaps.items()
        }
        return super().measure(z, t) | lengths


def run(config: Config, *, progress=None, device=None) -> Result:
    """`alignment.run` with the settings `twin` and `subset`."""
    return alone(Variants, config, progress, device)


run.program = Variants
