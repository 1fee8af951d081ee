"""Words whose twins are drawn afresh: at every draw a coin decides which of two twins the word is.

In SL A.11 the coin is tossed once for each occurrence, so that a finite text shows each twin contexts of its own.
Tossed at every draw, p(rho | u_1) = p(rho | u_2) holds exactly, as Theorem 4.2 asks.
"""

from __future__ import annotations

import torch

from clbook.experiments.words.experiment import Embedding


def tossed(symbols: torch.Tensor, other: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """symbols (R, n), each exchanged for its twin where the number `drawn` (R, n) is below a half.

    other (R, V): the twin of each symbol; a symbol without a twin is its own.
    """
    return torch.where(drawn < 0.5, other.gather(1, symbols), symbols)


class Fresh(Embedding):
    """`words.Embedding` with the coin tossed at every draw; contexts are read as they stand in the text."""

    def setup(self):
        super().setup()
        pairs = self.state.pairs["injected"]
        self.state.other = torch.arange(self.mask).repeat(len(self.configs), 1)
        self.state.other.scatter_(1, pairs.flatten(1), pairs.flip(2).flatten(1))

    def batch(self, s, part, drawn):
        """As `Embedding.batch`, with the symbols tossed by the number of the middle place, which is free."""
        symbols, ids, there = super().batch(s, part, drawn)
        return tossed(symbols, s.other, drawn[..., 1 + self.config.window]), ids, there


run = Fresh.run
