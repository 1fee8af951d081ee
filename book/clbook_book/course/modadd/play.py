"""The chapter's experiment in a page: the symbols' table and the transformer, trained by one batch a step.

Loss, encoder and Adam are those of `experiment`, whose step is a whole epoch. Here every sample may come at any step,
and none is left out.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook import data
from clbook.experiments.modadd.experiment import START, Addition, Learned, distances
from clbook.style import Picture, axes, plane
from clbook.training.optim import adam_memory
from clbook.training.settings import Outcome, quantity, recorded, seed_of, setting
from clbook.training.shown import distance_ratio, on_main_axes
from clbook.training.streams import BLOCK, Draws, streams
from clbook_book.course.drawing import by_class

BATCHES = START + 1  # purpose of the stream of random numbers


@dataclasses.dataclass(frozen=True)
class Config(Learned):
    """Settings of one run; by default 500 epochs of the chapter's experiment."""

    steps: int = setting(6500, "batches", unit="batches", low=1, high=100_000, log=True)
    seed: int = seed_of("start and batches")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps`."""

    steps: np.ndarray = recorded("batches")
    z: np.ndarray = quantity("the symbols' embeddings", dims="step symbol dim")
    loss: np.ndarray = quantity("SL eq. 2 of the batch", dims="step")

    @property
    def ratio(self) -> np.ndarray:
        """(T,) mean distance of equivalent symbols, over that of different ones."""
        equivalent, different = distances(torch.from_numpy(self.z), self.config.k)
        return (equivalent / different).numpy()


class Batches(Addition):
    """R runs of `experiment.Addition` without classifiers, a batch a step."""

    Result = Result

    def setup(self):
        c = self.config
        s = self.state
        symbols, contexts = data.cmodadd(c.N, c.k)
        self.shared.symbols = symbols
        self.shared.contexts = contexts
        self.shared.labels = torch.arange(c.N) % c.k
        s.decay = self.column("decay", axes=0)
        s.weights = self.contrastive_weights()
        s.memory = adam_memory(s.weights)

        def numbers(generator):
            return torch.randint(len(symbols), (c.batch,), generator=generator)

        self.draws["batch"] = Draws(streams(self.configs, BATCHES), numbers, BLOCK)

    def begin(self, s):
        return s

    def forward(self, s, drawn, t):
        symbols = self.shared.symbols[drawn.batch]
        losses = self.objective(s.weights, symbols, self.shared.contexts[drawn.batch])
        return losses[:, None], losses

    def step(self, s, drawn, losses, t):
        weights, memory = self.descended(s, s.weights, losses, s.memory)
        return {"weights": weights, "memory": memory}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        return {"z": self.vectors(s.weights), "loss": losses}

    def shown(self, s, recorded):
        labels = self.shared.labels
        z = recorded["z"].double()
        return {"plane": on_main_axes(z), "ratio": distance_ratio(z, labels == labels[:, None])}

    def result(self, i, columns, head):
        return Result(**head, **columns)


run = Batches.run


def ending(result: Result) -> Picture:
    """The symbols of a run on the two main axes of their last position."""
    fig, ((ax,),) = axes(1, width=4.2, height=2.8)
    last = result.z[-1]
    places = (last - last.mean(0)) @ plane(last)
    by_class(ax, places, np.arange(len(last)) % result.config.k, 30)
    ax.set(aspect="equal", title=f"after {result.steps[-1]} batches")
    return Picture(
        fig,
        f"Symbols in the colours of their remainders. Those of one colour are {result.ratio[-1]:.2f} times as far "
        "apart as those of different ones.",
    )
