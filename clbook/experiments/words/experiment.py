"""Word embeddings from words and the contexts they were cut out of, with fabricated synonyms (SL App. A.11, Fig. 9).

A place of the text is drawn, its word is the symbol u, the words around it are the context rho. A table has a vector
for each symbol, an encoder makes one of the context; InfoNCE asks each symbol to find its own context in a batch
(SL eq. 2).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from clbook.experiments.words import corpus
from clbook.experiments.words.splitting import text
from clbook.losses import symbol_context
from clbook.training.loop import State, Training, recorded_times
from clbook.training.optim import adam, adam_memory
from clbook.training.settings import Outcome, Settings, quantity, recorded, seed_of, setting
from clbook.training.streams import Draws, stream, streams
from clbook.transformer import Transformer, functional, lookup

# Purposes of the streams of random numbers; the text is drawn by NumPy, in `twins`.
START, DRAWN, RECORDED = range(3)

RECORDS = 12  # times at which a run is recorded, beside the start
BATCHES = 4  # batches over which the two recorded losses are averaged
TRAINED, HELD_OUT = range(2)  # the two parts of a text


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default reads the installed libraries' documentation.

    That takes one to five minutes on a CPU.
    """

    corpus: str = setting(
        "documentation", "text: documentation, gutenberg, bookcorpus or a folder of text files"
    )
    natural: str = setting(
        "hand",
        "natural synonyms: a list for technical text, or WordNet's table",
        choices=("hand", "wordnet"),
    )
    sentences: int = setting(
        0, "sentences to read, drawn at random; 0 reads all", low=0, high=10_000_000
    )
    vocabulary: int = setting(
        4000, "words, the most frequent ones; the rest is left out", low=10, high=100_000
    )
    injected: int = setting(100, "words to split into two artificial synonyms", low=0, high=1000)
    common: int = setting(
        200, "occurrences that a word must have to be split", low=2, high=100_000, each=True
    )
    encoder: str = setting(
        "mean",
        "context encoder: mean of the window's vectors, or a transformer with one layer",
        choices=("mean", "transformer"),
    )
    window: int = setting(5, "words of context on each side, within the sentence", low=1, high=20)
    d: int = setting(64, "embedding dimensions", low=2, high=512)
    std: float = setting(
        0.02,
        "standard deviation of the start, in each coordinate",
        above=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    decay: float = setting(0.0, "weight decay, added to the gradient", low=0.0, high=1.0, each=True)
    lr: float = setting(2e-3, "learning rate of Adam", above=0.0, high=1.0, log=True)
    batch: int = setting(512, "pairs of a word and its context in a batch", low=8, high=4096)
    steps: int = setting(3000, "training steps", unit="steps", low=1, high=1_000_000, log=True)
    subsample: float = setting(
        1e-3,
        "share of the text from which a word is thinned out (word2vec's t)",
        above=0.0,
        high=1.0,
        each=True,
    )
    masked: bool = setting(
        True, "leave other occurrences of the anchor's word out of its negatives"
    )
    over: str = setting(
        "contexts",
        "what the softmax runs over: contexts (SL eq. 2) or symbols (Lemma A.1)",
        choices=("contexts", "symbols"),
    )
    seed: int = seed_of("the split, the pairs, the start and the batches")

    def check(self):
        if self.injected > self.vocabulary:
            raise self.error("injected", f"at most vocabulary = {self.vocabulary}")

    @property
    def files(self) -> tuple:
        """Paths or versions of what the text was made from, and of WordNet's table where it is used."""
        return corpus.files(self.corpus) + (
            corpus.files("wordnet") if self.natural == "wordnet" else ()
        )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded."""

    steps: np.ndarray = recorded("steps")
    words: list = quantity("(V,) names of the symbols")
    counts: np.ndarray = quantity("occurrences of the symbols", dims="word")
    pairs: dict = quantity("{kind of pair: (P, 2) symbols}, as in `twins.Text`")
    distances: dict = quantity("{kind of pair: (T, P) Euclidean distances}")
    table: np.ndarray = quantity(
        "the symbols' embeddings, in half precision", dims="step word dim", on_request=True
    )
    twin_nearest: np.ndarray = quantity(
        "share of twins 1 whose nearest symbol of all is twin 2; NaN where no word is split",
        dims="step",
        on_request=True,
    )
    loss: np.ndarray = quantity("mean loss on training sentences", dims="step", on_request=True)
    held: np.ndarray = quantity("mean loss on sentences held out", dims="step", on_request=True)

    def ratio(self, kind: str, frame: int = -1) -> float:
        """Mean distance of the `kind` of pairs over that of the random pairs matched to it; NaN where there is none."""
        near, far = self.distances[kind][frame], self.distances[f"random, {kind}"][frame]
        return float(near.mean() / far.mean()) if len(near) else float("nan")


# What a batch is made of.


def kept_share(counts: np.ndarray, subsample: float) -> np.ndarray:
    """(V,) probability min(1, sqrt(t / f)) with which a word of frequency f is kept, as in word2vec."""
    return np.sqrt(subsample * counts.sum() / np.maximum(counts, 1)).clip(max=1)


def running_sums(shares: np.ndarray, texts: list) -> Tensor:
    """(2, R, N) running sums of the weights with which places are drawn: those to train on, and those held out."""
    weights = []
    for share, found in zip(shares, texts, strict=True):
        parts = np.stack([~found.held, found.held], 1)  # (N, 2)
        weights.append(torch.from_numpy(parts * share[found.tokens][:, None]))
    return _side_by_side(weights, 0).cumsum(1).permute(2, 0, 1).contiguous()


def uniform(batch: int, window: int) -> Callable:
    """A function that draws what a batch needs: (batch, 2 window + 2) uniform numbers, column 0 for the place."""

    def draw(generator):
        place = torch.rand(batch, 1, generator=generator, dtype=torch.float64)
        near = torch.rand(batch, 2 * window + 1, generator=generator).double()
        return torch.cat([place, near], 1)

    return draw


def _side_by_side(values, padding):
    """Tensors of R runs, (N, ...) each, as one (R, N, ...); a text that was read in part is shorter than another's."""
    return pad_sequence(values, batch_first=True, padding_value=padding)


def _at(values, index):
    """values (R, N) at index (R, ...): of the shape of `index`."""
    return values.gather(1, index.flatten(1)).view_as(index)


def windows(tokens, sentence, sums, keep, drawn):
    """R batches of places of the text and the windows around them.

    Args:
        tokens, sentence: (R, N + 2 window) symbol and sentence of each place, with a window of padding at both ends.
        sums: (R, N) running sums of the weight with which places are drawn.
        keep: (R, V + 1) probability that a symbol stays in a window; 0 for the last, which is no word.
        drawn: (R, n, 2 window + 2) uniform numbers: one for the place, one for each place of its window.

    Returns:
        symbols (R, n), the words at the places; ids (R, n, 2 window + 1), the words around them, with the mask in the
        middle; there, of the same shape: which of them are in the same sentence and kept. The middle is not.
    """
    window = drawn.shape[2] // 2 - 1
    place = torch.searchsorted(sums, drawn[..., 0] * sums[:, -1:])
    near = place[..., None] + torch.arange(2 * window + 1, device=place.device)
    ids, where = _at(tokens, near), _at(sentence, near)
    there = (drawn[..., 1:] < _at(keep, ids)) & (where == where[..., window, None])
    symbols = ids[..., window].clone()
    ids[..., window].fill_(keep.shape[1] - 1)
    there[..., window].fill_(False)
    return symbols, ids, there


def mean_of_window(table, ids, there):
    """Mean of the vectors of the words that are there; zero where none is.

    table (R, V, d), ids and there (R, n, window) -> (R, n, d).
    """
    weight = there.to(table.dtype)[..., None]
    vectors = lookup(table, ids.flatten(1)).view(*ids.shape, -1)
    return (weight * vectors).sum(2) / weight.sum(2).clamp_min(1)


# What is recorded.


def distances(table, pairs):
    """(R, P) Euclidean distances of the rows pairs (R, P, 2) of table (R, V, d)."""
    return (lookup(table, pairs[..., 0]) - lookup(table, pairs[..., 1])).norm(dim=-1)


def twin_nearest(table, pairs):
    """Share of first rows of pairs (P, 2) whose nearest row in all of table (V, d) is the second; NaN for no pair."""
    first, second = pairs.T
    away = torch.cdist(table[first], table).scatter_(1, first[:, None], torch.inf)
    return (away.argmin(1) == second).double().mean()


class Embedding(Training):
    """R runs on SL eq. 2, or on Lemma A.1's direction of it: a table of symbols and an encoder of contexts each."""

    Result = Result
    compiles = ("losses",)
    beside = 1  # one after the other is as fast: a step reads and writes whole tables

    @classmethod
    def prepare(cls, configs, progress=None):
        """Read the texts of the runs, which `corpus.load` keeps.

        The first time takes seconds, in which `progress` can stop it.

        Raises:
            ValueError: as `corpus.load`; `progress` returned False: there is nothing to show yet.
        """
        report = None if progress is None else lambda: progress(0.0, None)
        for name in dict.fromkeys(c.corpus for c in configs):
            corpus.load(name, report=report)

    def setup(self):
        c, s = self.config, self.state
        self.times = set(recorded_times(c.steps, -(-c.steps // RECORDS)))
        self.texts = [text(config) for config in self.configs]
        # The number after the last symbol's. Runs of one program have as many words.
        self.mask = len(self.texts[0].words)
        self.read_texts()
        draw = uniform(c.batch, c.window)
        self.draws["places"] = Draws(streams(self.configs, DRAWN), draw)
        # The two losses are recorded on the same batches each time, (R, BATCHES, batch, 2 window + 2).
        generators = [stream(config.seed, RECORDED) for config in self.configs]
        same = [torch.stack([draw(g) for _ in range(BATCHES)]) for g in generators]
        s.recorded_places = torch.stack(same)
        s.weights = self.start_weights()
        s.decay = self.column("decay", axes=0)
        self.decays = any(config.decay for config in self.configs)
        s.memory = adam_memory(s.weights)

    def read_texts(self) -> None:
        """Put the texts of the runs side by side, with what is drawn from them."""
        s, texts = self.state, self.texts
        shares = [
            kept_share(found.counts, config.subsample)
            for config, found in zip(self.configs, texts, strict=True)
        ]
        s.keep = torch.tensor(np.pad(shares, ((0, 0), (0, 1))), dtype=torch.float32)
        s.tokens = self.padded([found.tokens for found in texts], self.mask)
        s.sentence = self.padded([found.sentence for found in texts], -1)
        s.sums = list(running_sums(shares, texts))
        s.pairs = {}
        for kind in texts[0].pairs:
            own = [torch.from_numpy(found.pairs[kind]) for found in texts]
            s.pairs[kind] = _side_by_side(own, 0)

    def padded(self, values: list, outside: int) -> Tensor:
        """(R, N + 2 window) numbers of each place of R texts, with `outside` at both ends of each."""
        ends = (self.config.window, self.config.window)
        rows = [F.pad(torch.from_numpy(own), ends, value=outside) for own in values]
        return _side_by_side(rows, outside)

    def start_weights(self) -> list[Tensor]:
        """The table (R, V, d) of the symbols and the weights of the encoders, each run's from its own generator."""
        c, std = self.config, self.column("std")
        generators = [stream(config.seed, START) for config in self.configs]

        def vectors(count):
            return std * torch.stack([torch.randn(count, c.d, generator=g) for g in generators])

        table = vectors(self.mask)
        if c.encoder == "mean":
            return [table, vectors(self.mask + 1)]
        sizes = {"hidden": 2 * c.d, "heads": 1 if c.d % 2 else 2}  # heads must divide d
        net = Transformer(
            self.mask + 1, 2 * c.window + 1, c.d, c.d, generators, readout="mean", **sizes
        )
        (tokens, positions, *rest), self.transformer = functional(net)
        return [table, std * tokens, std * positions, *rest]

    def encode(self, weights: list[Tensor], ids: Tensor, there: Tensor):
        """(R, n, d) embeddings of the contexts: ids and there (R, n, 2 window + 1) as from `windows`."""
        if self.config.encoder == "mean":
            return mean_of_window(weights[1], ids, there)
        window = self.config.window
        middle = torch.arange(2 * window + 1, device=ids.device) == window
        # The transformer reads the mask in the word's place.
        return self.transformer(weights[1:], ids, there | middle)

    def batch(self, s: State, part: int, drawn: Tensor) -> tuple:
        """symbols, ids and there, as from `windows`, of a batch of places of a part of the text."""
        return windows(s.tokens, s.sentence, s.sums[part], s.keep, drawn)

    def losses(self, s: State, part: int, drawn: Tensor) -> Tensor:
        """(R,) SL eq. 2, or Lemma A.1's, on a batch of places of a part of the text."""
        c = self.config
        symbols, ids, there = self.batch(s, part, drawn)
        z, contexts = lookup(s.weights[0], symbols), self.encode(s.weights, ids, there)
        same = symbols if c.masked else None
        if c.over == "symbols":
            return symbol_context(contexts, z, same)
        return symbol_context(z, contexts, same)

    def forward(self, s, drawn, t):
        """The sum of the table, which is finite where every vector is, and the losses."""
        total = s.weights[0].detach().flatten(1).sum(1, keepdim=True)
        return total, self.losses(s, TRAINED, drawn.places)

    def step(self, s, drawn, losses, t):
        decay = s.decay if self.decays else 0.0
        gradients = self.gradients(losses, s.weights)
        with torch.no_grad():
            weights, memory = adam(s.weights, gradients, s.memory, self.config.lr, decay)
        return {"weights": weights, "memory": memory}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        table = s.weights[0]
        row = {kind: distances(table, pairs) for kind, pairs in s.pairs.items()}
        if self.wants("table"):
            row["table"] = table.half()
        if self.wants("twin_nearest"):
            pairs = s.pairs["injected"]
            nearest = [twin_nearest(*own) for own in zip(table, pairs, strict=True)]
            row["twin_nearest"] = torch.stack(nearest)
        if self.wants("loss"):
            row["loss"] = self.recorded_loss(s, TRAINED)
        if self.wants("held"):
            row["held"] = self.recorded_loss(s, HELD_OUT)
        return row

    def recorded_loss(self, s: State, part: int) -> Tensor:
        """(R,) mean loss over the batches on which it is recorded, of a part of the text."""
        losses = [self.losses(s, part, drawn) for drawn in s.recorded_places.unbind(1)]
        return torch.stack(losses).double().mean(0)

    def result(self, i, columns, head):
        found = self.texts[i]
        apart = {kind: columns.pop(kind)[:, : len(pairs)] for kind, pairs in found.pairs.items()}
        return Result(
            **head,
            **columns,
            words=found.words,
            counts=found.counts,
            pairs=found.pairs,
            distances=apart,
        )


run = Embedding.run
