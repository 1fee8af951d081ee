"""Contrastive modular addition where the two sides share parameters, and its loss on the samples that are left out.

SL Sec. 3 let the symbols' embedding and the contexts' encoder share all, some or none of their parameters; SL Sec. 5
keep a fifth of the samples for validation. The training is the chapter's (`modadd.run`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F

from clbook.experiments import modadd
from clbook.experiments.modadd.experiment import Samples, Training, distances, floor
from clbook.runs import alone
from clbook.settings import setting
from clbook.transformer import lookup


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
    """As `modadd.Result`; held: (T,) SL eq. 2 on batches of the samples that are left out; a rest is not used."""

    held: np.ndarray


class Shared(Training):
    """`modadd.Training` with vectors of symbols that may be the encoder's."""

    Result = Result

    def setup(self):
        super().setup()
        c, s = self.config, self.state
        every = [Samples(k, whole=True) for k in self.configs]
        s.held_symbols, s.held_contexts = (
            torch.stack([getattr(own, name)[c.samples :] for own in every])
            for name in ("symbols", "contexts")
        )
        self.spoken = torch.full((1, c.N, 3), c.N)  # a symbol as the encoder reads it, (u, ?, ?)
        self.spoken[0, :, 0] = torch.arange(c.N)
        if c.shared != "none":
            del self.trained[0]

    @property
    def encoder_weights(self) -> list[torch.Tensor]:
        return super().encoder_weights if self.config.shared == "none" else self.trained

    def vectors(self) -> torch.Tensor:
        """(R, N, d) the symbols' vectors now."""
        if self.config.shared == "all":
            return self.encoder(self.spoken.expand(len(self.configs), -1, -1))
        return self.trained[0][:, : self.config.N]  # in the encoder's table the mask comes last

    def objective(self, symbols: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
        """(R,) SL eq. 2 of a batch: symbols (R, B), contexts (R, B, 3)."""
        scores = lookup(self.vectors(), symbols) @ self.encoder(contexts).mT
        return -F.log_softmax(scores, -1).diagonal(dim1=1, dim2=2).mean(1)

    @torch.no_grad()
    def measure(self, z, t):
        c, s, table = self.config, self.state, self.vectors()
        equivalent, different = distances(table, c.k)
        batches = zip(
            s.held_symbols.split(c.batch, 1), s.held_contexts.split(c.batch, 1), strict=True
        )
        held = [self.objective(*batch) for batch in batches if batch[0].shape[1] == c.batch]
        return {
            "tables": table,
            "loss": s.losses,
            "equivalent": equivalent,
            "different": different,
            "floor": floor(s.pmi, s.symbols.gather(1, s.drawn), s.ids.gather(1, s.drawn), c.batch),
            "held": torch.stack(held).mean(0),
            "accuracy": table.new_zeros(len(table), 0),
        }

    def result(self, i, columns, head):
        held = columns.pop("held")
        return Result(**vars(super().result(i, columns, head)), held=held)


def run(config: Config, *, progress=None, device=None) -> Result:
    """As `modadd.run`, without classifiers, for two sides that share what `config.shared` names."""
    return alone(Shared, config, progress, device)


run.program = Shared
