"""The chapter's training with a twin, a third network whose start is a little off, or with random classes of images."""

from __future__ import annotations

import dataclasses

import torch

from clbook.data import images
from clbook.experiments.alignment import experiment
from clbook.experiments.alignment.experiment import DATA, Copies
from clbook.training.settings import setting
from clbook.training.streams import stream

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


class Variants(Copies):
    """`Copies` with the two settings."""

    def setup(self):
        super().setup()
        if self.config.twin:
            self.perturb_third_network()

    def perturb_third_network(self):
        """Multiply each weight of the third network by 1 + twin * (a standard normal number)."""
        generators = [stream(config.seed, TWIN) for config in self.configs]
        for w in self.state.weights:  # (R, M, ...)
            for third, generator in zip(w[:, 2], generators, strict=True):
                noise = torch.randn(third.shape, generator=generator)
                third *= 1 + self.config.twin * noise

    def dataset(self, config):
        """(x, labels, x_test, labels_test): with `subset` of random classes, which have other numbers now."""
        if not config.subset:
            return super().dataset(config)
        train, test = config.n // config.classes, config.test // config.classes  # of each class
        x, _ = images(config.data, ALL * (train + test), ALL, stream(config.seed, DATA))
        order = torch.randperm(ALL, generator=stream(config.seed, CLASSES))
        x = x.unflatten(0, (ALL, train + test))[order[: config.classes]]
        labels = torch.arange(config.classes)
        return (
            x[:, :train].flatten(0, 1),
            labels.repeat_interleave(train),
            x[:, train:].flatten(0, 1),
            labels.repeat_interleave(test),
        )


run = Variants.run
