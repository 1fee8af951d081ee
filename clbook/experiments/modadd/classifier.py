"""Modular addition downstream: classifiers that start from contrastive embeddings, or not (SL Fig. 2b, 4b to 8b).

The starts of a classifier: "pretrained", the table as it was learned; "random", N(0, 1); "permuted", the learned table
with its rows permuted: the same vectors on other symbols. The starts of one run share the other weights, the split and
the batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from clbook import data
from clbook.optim import Adam
from clbook.runs import Draws, Program, stream
from clbook.settings import Settings
from clbook.transformer import Transformer, bind

CLASSIFIER = 2_000_003  # purpose of the stream of random numbers

LAYERS, HIDDEN = 3, 48  # as many layers as SL's; two heads where d is even
FRACTION = 0.8  # of the N^2 pairs is trained on
EVERY = 10  # epochs between two measurements, as in SL
STARTS = ("pretrained", "random", "permuted")


def starts(config: Settings) -> tuple[str, ...]:
    """Names of the starts that `config.classifier` asks for."""
    return STARTS[: ("none", "pretrained", "both", "all").index(config.classifier)]


class Classifiers(Program):
    """Networks (a, b) -> (a + b) mod k, one for each start of each contrastive run, at that run's lr, batch and decay.

    Axis 0 goes through the starts of the first run, then through those of the second, and so on. A step is an epoch;
    the program that trains the tables calls `seat` and then `advance`, so that both parts are one run.
    """

    def __init__(self, configs: Sequence[Settings]):
        self.starts = starts(configs[0])
        super().__init__([c for c in configs for _ in self.starts])

    def setup(self):
        c, s, count = self.config, self.state, len(self.starts)
        generators = [stream(k.seed, CLASSIFIER) for k in self.configs[::count]]
        self.net = Transformer(
            c.N, 2, c.d, c.k, generators, layers=LAYERS, heads=2 - c.d % 2, hidden=HIDDEN
        )
        self.trained = [w.detach().repeat_interleave(count, 0) for w in self.net.parameters()]
        order = torch.stack(
            [torch.randperm(c.N**2, generator=g) for g in generators]
        ).repeat_interleave(count, 0)
        cut = round(FRACTION * c.N**2)
        s.seen, s.unseen = order[:, :cut], order[:, cut:]
        learned, permuted = (
            torch.arange(c.N),
            [torch.randperm(c.N, generator=g) for g in generators],
        )
        s.rows = torch.stack(
            [rows if start == "permuted" else learned for rows in permuted for start in self.starts]
        )
        s.learned = torch.tensor(
            [float(start != "random") for _ in generators for start in self.starts]
        )[:, None, None]
        s.losses = torch.zeros(len(self.configs))
        self.pairs, self.labels = data.modadd(c.N, c.k)
        self.draws = Draws(
            [g for g in generators for _ in self.starts], lambda g: torch.randperm(cut, generator=g)
        )

    def begin(self):
        self.optimiser = Adam(
            self.trained, self.config.lr, self.each("decay"), self.config.decay_kind
        )
        bind(self.net, self.trained)

    def keep(self, stay: torch.Tensor) -> None:
        super().keep(stay)
        bind(self.net, self.trained)

    @torch.no_grad()
    def seat(self, tables: torch.Tensor) -> None:
        """Give the classifiers their first embeddings: tables (R, N, d), the last ones of the contrastive runs."""
        tables = tables.repeat_interleave(len(self.starts), 0)
        placed = tables.gather(1, self.state.rows[..., None].expand_as(tables))
        self.trained[0].lerp_(placed, self.state.learned)  # at 0 and 1 it is exact

    def now(self, t: int) -> torch.Tensor:
        return self.state.losses

    def advance(self, t: int) -> None:
        shuffled, total = self.state.seen.gather(1, self.draws.next()), 0
        for batch in shuffled.split(self.config.batch, 1):
            scores = F.log_softmax(self.net(self.pairs[batch]), -1)
            losses = -scores.gather(2, self.labels[batch][..., None]).mean(
                (1, 2)
            )  # cross-entropy of each run
            self.descend(losses)
            total = total + losses.detach()
        self.state.losses = total

    @torch.no_grad()
    def accuracy(self) -> torch.Tensor:
        """(R, starts) the share of unseen pairs that each classifier adds correctly, now."""
        unseen = self.state.unseen
        right = self.net(self.pairs[unseen]).argmax(-1) == self.labels[unseen]
        return right.double().mean(1).view(-1, len(self.starts))
