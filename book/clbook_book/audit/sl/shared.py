"""Contrastive modular addition where the two sides share parameters, and its loss on the samples that are left out.

SL Sec. 3 let the symbols' embedding and the contexts' encoder share all, some or none of their parameters; SL Sec. 5
keep a fifth of the samples for validation. The training is the chapter's (`modadd.run`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook.experiments import modadd
from clbook.experiments.modadd.experiment import Addition, Samples
from clbook.training.settings import quantity, setting


@dataclasses.dataclass(frozen=True)
class Config(modadd.Config):
    """Settings of `modadd.run`, and what the two sides share; no classifiers."""

    shared: str = setting(
        "none",
        "none: the symbols have a table of their own; table: the encoder's; all: the encoder "
        "reads the symbol, too",
        choices=("none", "table", "all"),
    )

    def check(self):
        super().check()
        if self.classifier != "none":
            raise self.error("classifier", "none")
        if 2 * self.N**2 - self.samples < self.batch:
            raise self.error(
                "fraction", f"so small that {self.batch} samples, a batch, are left out"
            )


@dataclasses.dataclass
class Result(modadd.Result):
    """As `modadd.Result`, and the loss on what was left out."""

    held: np.ndarray = quantity(
        "SL eq. 2 on batches of the samples that are left out; a rest is not used",
        dims="step",
        asked=True,
    )


class Shared(Addition):
    """`modadd.Addition` with vectors of symbols that may be the encoder's."""

    Result = Result

    def setup(self):
        super().setup()
        c, s = self.config, self.state
        every = [Samples(config, whole=True) for config in self.configs]
        s.held_symbols = torch.stack([own.symbols[c.samples :] for own in every])
        s.held_contexts = torch.stack([own.contexts[c.samples :] for own in every])
        self.shared.spoken = torch.full(
            (1, c.N, 3), c.N
        )  # a symbol as the encoder reads it, (u, ?, ?)
        self.shared.spoken[0, :, 0] = torch.arange(c.N)

    def contrastive_weights(self):
        table, *encoder = super().contrastive_weights()
        return [table, *encoder] if self.config.shared == "none" else encoder

    def vectors(self, weights):
        if self.config.shared == "none":
            return weights[0]
        if self.config.shared == "table":
            return weights[0][
                :, : self.config.N
            ]  # the encoder's own table, where the mask comes last
        runs = len(weights[0])
        return self.encode(weights, self.shared.spoken.expand(runs, -1, -1))

    def encode(self, weights, contexts):
        encoder = weights[1:] if self.config.shared == "none" else weights
        return self.encoder(encoder, contexts)

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        row = super().measure(s, z, losses, t)
        if self.wants("held"):
            row["held"] = self.held(s)
        return row

    def held(self, s) -> torch.Tensor:
        """(R,) the mean loss over full batches of the samples that are left out."""
        size = self.config.batch
        losses = []
        for k in range(0, s.held_symbols.shape[1] - size + 1, size):
            symbols, contexts = s.held_symbols[:, k : k + size], s.held_contexts[:, k : k + size]
            losses.append(self.objective(s.weights, symbols, contexts))
        return torch.stack(losses).mean(0)


run = Shared.run
