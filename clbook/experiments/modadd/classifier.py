"""Modular addition downstream: classifiers that start from contrastive embeddings, or not (SL Fig. 2b, 4b to 8b).

A classifier learns (a, b) -> (a + b) mod k. Its starts are "pretrained", the table as it was learned; "random",
N(0, 1); "permuted", the learned table with its rows permuted: the same vectors on other symbols. The starts of one run
share the other weights, the split and the batches.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from clbook import data
from clbook.training.loop import State, Training
from clbook.training.optim import adam, adam_memory
from clbook.training.settings import Settings
from clbook.training.streams import Draws, stream
from clbook.transformer import Transformer, functional

CLASSIFIER = 2_000_003  # purpose of the stream of random numbers

LAYERS, HIDDEN = 3, 48  # as many layers as SL's; two heads where d is even
FRACTION = 0.8  # of the N^2 pairs is trained on
EVERY = 10  # epochs between two measurements, as in SL
STARTS = ("pretrained", "random", "permuted")

Weights = list[Tensor]


def starts(config: Settings) -> tuple[str, ...]:
    """Names of the starts that `config.classifier` asks for."""
    return STARTS[: ("none", "pretrained", "both", "all").index(config.classifier)]


class During(Draws):
    """Draws for some steps of a run; at the others None is drawn.

    Args:
        generators, draw: as for `Draws`.
        steps: the steps for which numbers are drawn.
    """

    def __init__(self, generators, draw: Callable, steps: range):
        super().__init__(generators, draw)
        self.steps = steps
        self.step = 0

    def next(self) -> Tensor | None:
        """(R, ...) the next step's numbers, or None."""
        drawn = super().next() if self.step in self.steps else None
        self.step += 1
        return drawn


def shuffled(count: int, generators: list[torch.Generator]) -> Tensor:
    """(R, count) the numbers 0 .. count - 1, in an order of each run's own."""
    return torch.stack([torch.randperm(count, generator=g) for g in generators])


class Classifiers(Training):
    """R runs with classifiers, S of them each, one for each start. A step of theirs is an epoch.

    Axis 1 of the classifiers' weights (R, S, ...) goes through the starts. A subclass calls `add_classifiers` in
    `setup`, gives them their first embeddings by `seated`, and learns by `classifier_epoch`.
    """

    def add_classifiers(self, begin: int = 0) -> Weights:
        """Make what the classifiers need; their weights (R, S, ...), which are returned, are not yet `seated`.

        Args:
            begin: the step of the run at which they begin to learn.
        """
        c = self.config
        s = self.state
        self.starts = starts(c)
        generators = [stream(config.seed, CLASSIFIER) for config in self.configs]
        heads = 1 if c.d % 2 else 2
        sizes = {"layers": LAYERS, "heads": heads, "hidden": HIDDEN}
        first, self.classify = functional(Transformer(c.N, 2, c.d, c.k, generators, **sizes))
        count = len(self.starts)
        weights = [torch.stack([w] * count, 1) for w in first]
        s.classifier_memory = adam_memory(weights)
        # The pairs (a, b), numbered 0 .. N^2 - 1: those that a run trains on, and the others.
        pairs, sums = data.modadd(c.N, c.k)
        self.shared.pairs = pairs
        self.shared.sums = sums
        count = len(pairs)
        order = shuffled(count, generators)
        cut = round(FRACTION * count)
        s.seen = order[:, :cut]
        s.unseen = order[:, cut:]
        s.permuted = shuffled(c.N, generators)
        end = begin + c.classifier_epochs

        def epoch(generator):
            return torch.randperm(cut, generator=generator)

        self.draws["pairs"] = During(generators, epoch, range(begin, end))
        return weights

    def seated(self, s: State, weights: Weights, tables: Tensor) -> Weights:
        """The classifiers' weights with first embeddings made of the learned tables (R, N, d)."""
        # The embeddings (R, S, N, d) are the first weights of a Transformer.
        random, *rest = weights
        rows = s.permuted[..., None].expand_as(tables)
        embeddings = []
        for k, start in enumerate(self.starts):
            if start == "pretrained":
                embeddings.append(tables)
            if start == "random":
                embeddings.append(random[:, k])
            if start == "permuted":
                embeddings.append(tables.gather(1, rows))
        return [torch.stack(embeddings, 1), *rest]

    def scores(self, weights: Weights, numbers: Tensor) -> Tensor:
        """(R, S, n, k) what the classifiers answer to the pairs with `numbers` (R, n)."""
        count = len(self.starts)
        flat = [w.flatten(0, 1) for w in weights]  # (R S, ...): as many networks
        pairs = self.shared.pairs[numbers]
        pairs = pairs.repeat_interleave(count, 0)  # (R S, n, 2)
        return self.classify(flat, pairs).unflatten(0, (-1, count))

    def cross_entropy(self, weights: Weights, numbers: Tensor) -> Tensor:
        """(R, S) mean over the pairs with `numbers` (R, n) of -log p(a + b mod k)."""
        scores = self.scores(weights, numbers)
        logs = scores.log_softmax(-1)  # (R, S, n, k)
        sums = self.shared.sums[numbers]
        place = sums[:, None].expand(logs.shape[:3])  # (R, S, n)
        return -logs.gather(3, place[..., None]).mean((2, 3))

    def classifier_epoch(
        self, s: State, weights: Weights, order: Tensor
    ) -> tuple[Weights, dict, Tensor]:
        """One epoch of Adam on the pairs that are trained on.

        Args:
            weights: of the classifiers, (R, S, ...).
            order: (R, n) in which the pairs come.

        Returns:
            The new weights; Adam's new memory; (R, S) the sum of the batches' losses.
        """
        memory = s.classifier_memory
        total = 0
        for batch in s.seen.gather(1, order).split(self.config.batch, 1):
            losses = self.cross_entropy(weights, batch)
            weights, memory = self.descended(s, weights, losses, memory)
            total = total + losses.detach()
        return weights, memory, total

    def descended(
        self, s: State, weights: Weights, losses: Tensor, memory: dict
    ) -> tuple[Weights, dict]:
        """Weights, ready to learn on, and Adam's memory after one update by the gradients of `losses`."""
        c = self.config
        gradients = self.gradients(losses, weights)
        with torch.no_grad():
            weights, memory = adam(weights, gradients, memory, c.lr, s.decay, c.decay_kind)
        return [w.requires_grad_() for w in weights], memory

    def accuracy(self, s: State, weights: Weights) -> Tensor:
        """(R, S) the share of unseen pairs that each classifier adds correctly."""
        scores = self.scores(weights, s.unseen)
        answers = scores.argmax(-1)  # (R, S, n)
        return (answers == self.shared.sums[s.unseen][:, None]).double().mean(2)
