"""Contrastive modular addition on other samples: without the answer, or with no context that two symbols share.

The training is the chapter's (`modadd.run`); only the samples differ. `classify` trains the chapter's classifiers from
tables that nobody trained: one random vector for each class.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook.experiments import modadd
from clbook.experiments.modadd.classifier import EVERY, Classifiers
from clbook.experiments.modadd.experiment import Addition, Samples
from clbook.training.loop import recorded_times
from clbook.training.settings import Outcome, quantity, setting
from clbook.training.streams import stream

CLASSES = 4_000_037  # purpose of the stream of random numbers


@dataclasses.dataclass(frozen=True)
class Config(modadd.Config):
    """Settings of `modadd.run`, and which samples it learns from."""

    drawn: str = setting(
        "plain",
        "plain: as in the chapter; no answer: contexts without it; apart: each context keeps "
        "one of its symbols",
        choices=("plain", "no answer", "apart"),
    )

    def check(self):
        super().check()
        if self.drawn == "apart" and self.samples != 2 * self.N * self.k:
            raise self.error(
                "fraction", f"k / N = {self.k / self.N:g} where each context keeps one symbol"
            )


class Chosen(Samples):
    """The samples of one run: those of `Samples`, changed as `config.drawn` says; a run reads both alike."""

    def __init__(self, config: Config):
        super().__init__(config, whole=True)
        if config.drawn == "apart":
            self.keep(self.one_each())
        if config.drawn == "no answer":
            hidden = torch.full((len(self.symbols), 1), config.N)
            self.contexts = torch.cat([self.contexts[:, :2], hidden], 1)
            self.ids = torch.unique(self.contexts, dim=0, return_inverse=True)[1]
        self.pmi = self.information(config.N, int(self.ids.max()) + 1)

    def keep(self, rows: torch.Tensor):
        """Go on with these samples alone."""
        self.symbols, self.contexts = self.symbols[rows], self.contexts[rows]
        self.ids, self.weights = self.ids[rows], self.weights[rows]

    def one_each(self) -> torch.Tensor:
        """For each context one of its samples, the first in the run's random order: (contexts,) rows."""
        return torch.from_numpy(np.sort(np.unique(self.ids.numpy(), return_index=True)[1]))


class Drawn(Addition):
    """`modadd.Addition` on `Chosen` samples."""

    def samples(self, config):
        return Samples(config) if config.drawn == "plain" else Chosen(config)


run = Drawn.run


# Classifiers from tables that nobody trained.


@dataclasses.dataclass
class Classified(Outcome):
    """What classifiers that start from one vector a class recorded."""

    steps: np.ndarray = quantity("recorded epochs", dims="step", unit="epochs")
    accuracy: np.ndarray = quantity(
        "share of the pairs they have not seen that they add correctly", dims="step"
    )


class Oracle(Classifiers):
    """The chapter's classifiers; the symbols of a class start at one vector, drawn from N(0, 1).

    No contrastive part: settings have classifier="pretrained", and the vectors are in the place of what it learns.
    """

    Result = Classified
    alike = 1

    def setup(self):
        c, s = self.config, self.state
        if c.classifier != "pretrained":
            raise c.error("classifier", "pretrained")
        self.steps = c.classifier_epochs
        self.times = set(recorded_times(self.steps, EVERY))
        s.decay = self.column("decay", axes=0)
        generators = [stream(config.seed, CLASSES) for config in self.configs]
        vectors = torch.stack([torch.randn(c.k, c.d, generator=g) for g in generators])
        table = vectors[:, torch.arange(c.N) % c.k]  # (R, N, d)
        weights = self.add_classifiers()
        s.weights = self.seated(s, weights, table)
        s.classifier_losses = torch.zeros(len(self.configs), 1)

    def forward(self, s, drawn, t):
        """The losses of the last epoch, 0 before the first."""
        return s.classifier_losses, s.classifier_losses[:, 0]

    def step(self, s, drawn, losses, t):
        weights, memory, losses = self.classifier_epoch(s, s.weights, drawn.pairs)
        return {"weights": weights, "classifier_memory": memory, "classifier_losses": losses}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        return {"accuracy": self.accuracy(s, s.weights)[:, 0]}


classify = Oracle.run
