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
from clbook.experiments.modadd.experiment import Samples, Training
from clbook.runs import Draws, alone, recorded_times, stream
from clbook.settings import Outcome, setting

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
            self.contexts = torch.cat(
                [self.contexts[:, :2], torch.full((len(self.symbols), 1), config.N)], 1
            )
            self.ids = torch.unique(self.contexts, dim=0, return_inverse=True)[1]
        joint = torch.zeros(config.N, int(self.ids.max()) + 1, dtype=torch.float64)
        joint.index_put_((self.symbols, self.ids), self.weights, accumulate=True)
        self.pmi = (joint / joint.mean(0)).log()

    def keep(self, rows: torch.Tensor):
        """Go on with these samples alone."""
        self.symbols, self.contexts, self.ids = (
            self.symbols[rows],
            self.contexts[rows],
            self.ids[rows],
        )
        self.weights = self.weights[rows]

    def one_each(self) -> torch.Tensor:
        """For each context one of its samples, the first in the run's random order: (contexts,) rows."""
        return torch.from_numpy(np.sort(np.unique(self.ids.numpy(), return_index=True)[1]))


class Drawn(Training):
    """`modadd.Training` on `Chosen` samples."""

    def setup(self):
        super().setup()
        if self.config.drawn == "plain":
            return
        made = {
            (k.seed, k.misaligned, k.p): Chosen(k) for k in self.configs
        }  # runs that draw the same draw once
        samples = [made[k.seed, k.misaligned, k.p] for k in self.configs]
        for name in ("symbols", "contexts", "ids", "pmi"):
            setattr(self.state, name, torch.stack([getattr(own, name) for own in samples]))
        self.draws = Draws(samples, Samples.epoch)


def run(config: Config, *, progress=None, device=None) -> modadd.Result:
    """As `modadd.run`, on the samples that `config.drawn` names."""
    return alone(Drawn, config, progress, device)


run.program = Drawn


# Classifiers from tables that nobody trained.


@dataclasses.dataclass
class Classified(Outcome):
    """Accuracy (T,) on unseen pairs at the epochs `steps` (T,) of classifiers that start from one vector a class."""

    steps: np.ndarray
    accuracy: np.ndarray


class Oracle(Classifiers):
    """The chapter's classifiers; the symbols of a class start at one vector, drawn from N(0, 1)."""

    Result = Classified

    def setup(self):
        if self.config.classifier != "pretrained":
            raise self.config.error("classifier", "pretrained")
        super().setup()
        c = self.config
        self.steps, self.times = (
            c.classifier_epochs,
            set(recorded_times(c.classifier_epochs, EVERY)),
        )
        vectors = torch.stack(
            [torch.randn(c.k, c.d, generator=stream(k.seed, CLASSES)) for k in self.configs]
        )
        self.seat(vectors[:, torch.arange(c.N) % c.k])

    def now(self, t):
        return self.state.losses[:, None]

    def measure(self, z, t):
        return {"accuracy": self.accuracy()[:, 0]}


def classify(config: modadd.Config, *, progress=None, device=None) -> Classified:
    """Classifiers of a run with `classifier="pretrained"`, from one random vector a class; no contrastive part."""
    return alone(Oracle, config, progress, device)


classify.program = Oracle
