"""A text of the reader's own: a coin splits ten of its words. Do the halves find each other when vectors are trained?

A symbol is a word or a half of one, a context a word that stands near it; the loss is that of an endless batch of such
pairs (`lookup.infonce`), so that a step needs the text's counts alone and a page can train on any text.
"""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import re

import numpy as np
import torch
from torch import Tensor

from clbook.experiments.modadd.lookup import infonce
from clbook.training.loop import Training
from clbook.training.optim import adam, adam_memory
from clbook.training.settings import Outcome, Settings, quantity, recorded, seed_of, setting
from clbook.training.streams import stream

START, COIN = 0, 1  # purposes of the streams of random numbers
WORDS, SPLIT = 500, 10  # the most frequent words of a text, and how many of them a coin splits
LETTERS = 5  # of a word that is split, at least: shorter ones are mostly "the" and "with"
NEAR = 4  # words on each side that are contexts


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

    text: str = setting("", "path of a text; none: all pairs alike, as a page begins")
    d: int = setting(32, "embedding dimensions", low=1, high=256)
    std: float = setting(0.02, "standard deviation of the start", above=0.0, high=10.0, each=True)
    lr: float = setting(0.05, "learning rate of Adam", above=0.0, high=1.0, log=True, each=True)
    steps: int = setting(300, "steps", unit="steps", low=1, high=100_000, log=True)
    seed: int = seed_of("the start and of the coin")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded."""

    steps: np.ndarray = recorded("steps")
    z: np.ndarray = quantity(
        "vectors of the words, then of the second halves", dims="step symbol d"
    )
    loss: np.ndarray = quantity("SL eq. 2 for an endless batch", dims="step")
    split: list[int] = quantity("numbers of the words that are split")

    def found(self) -> int:
        """How many of the split words' halves are each other's nearest at the end, by the cosine."""
        z = self.z[-1] / np.linalg.norm(self.z[-1], axis=1, keepdims=True)
        cosines = z @ z.T
        np.fill_diagonal(cosines, -np.inf)
        nearest = cosines.argmax(1)
        halves = [(k, WORDS + j) for j, k in enumerate(self.split)]
        return sum(nearest[one] == other and nearest[other] == one for one, other in halves)


def counted(text: str, seed: int) -> tuple[list[str], list[int], np.ndarray]:
    """The words of a text, which of them are split, and p(symbol, context), (WORDS + SPLIT, WORDS).

    The second half of split word j is the symbol WORDS + j. A text of fewer words leaves rows and columns at zero.
    """
    tokens = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", text.lower())
    words = [word for word, _ in collections.Counter(tokens).most_common(WORDS)]
    number = {word: k for k, word in enumerate(words)}
    split = [k for k, word in enumerate(words) if len(word) >= LETTERS][:SPLIT]
    generator = stream(seed, COIN)
    contexts = np.array([number.get(word, -1) for word in tokens], int)
    symbols = contexts.copy()
    for place, word in enumerate(contexts):
        if word in split and torch.rand((), generator=generator) < 0.5:
            symbols[place] = WORDS + split.index(word)
    joint = np.zeros((WORDS + SPLIT, WORDS))
    for apart in range(1, NEAR + 1):
        for left, right in (
            (symbols[apart:], contexts[:-apart]),
            (symbols[:-apart], contexts[apart:]),
        ):
            both = (left >= 0) & (right >= 0)
            np.add.at(joint, (left[both], right[both]), 1)
    return words, split, joint / max(1, joint.sum())


class Halves(Training):
    """R runs of gradient descent by Adam on the tables z (R, symbols, d) and c (R, contexts, d)."""

    Result = Result

    def setup(self):
        s = self.state
        self.split, s.joint = self.counts()
        s.lr = self.column("lr")
        std = self.column("std", axes=2)
        tables = []
        for config in self.configs:
            generator = stream(config.seed, START)
            tables.append(torch.randn(2 * WORDS + SPLIT, config.d, generator=generator))
        s.weights = list((std * torch.stack(tables)).split((WORDS + SPLIT, WORDS), 1))
        s.memory = adam_memory(s.weights)

    def counts(self) -> tuple[list, Tensor]:
        """Of each run's text the words that are split, and p (R, symbols, contexts)."""
        if not self.config.text:
            shape = len(self.configs), WORDS + SPLIT, WORDS
            return [[] for _ in self.configs], torch.full(shape, 1 / (shape[1] * shape[2]))
        splits, joints = [], []
        for config in self.configs:
            _, split, joint = counted(pathlib.Path(config.text).read_text("utf-8"), config.seed)
            splits.append(split)
            joints.append(torch.from_numpy(joint).float())
        return splits, torch.stack(joints)

    def forward(self, s, drawn, t):
        return torch.cat(s.weights, 1), None

    @torch.no_grad()
    def step(self, s, drawn, losses, t):
        z, c = s.weights
        _, slope = infonce(z, c, s.joint)  # the derivative in z c'
        weights, memory = adam(s.weights, [slope @ c, slope.mT @ z], s.memory, s.lr)
        return {"weights": weights, "memory": memory}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        loss, _ = infonce(*s.weights, s.joint)
        return {"z": s.weights[0], "loss": loss}

    def result(self, i, columns, head):
        return Result(**head, **columns, split=self.split[i])


run = Halves.run
