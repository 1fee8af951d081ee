"""Word embeddings from words and the contexts they were cut out of, with fabricated synonyms (SL App. A.11, Fig. 9).

A place of the text is drawn, its word is the symbol u, the words around it are the context rho. A table has a vector
for each symbol, an encoder makes one of the context; InfoNCE asks each symbol to find its own context in a batch
(SL eq. 2).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

from clbook.experiments.words import corpus
from clbook.experiments.words.twins import text
from clbook.losses import symbol_context
from clbook.optim import Adam
from clbook.runs import Draws, Program, alone, recorded_times, stream, streams
from clbook.settings import Outcome, Settings, setting
from clbook.transformer import Transformer, lookup

START, DRAWN, RECORDED = range(
    3
)  # purposes of the streams of random numbers; the text is drawn by NumPy, in `twins`

RECORDS = 12  # times at which a run is recorded, beside the start
BATCHES = 4  # batches over which the two recorded losses are averaged
TRAINED, HELD_OUT = range(2)  # the two parts of a text


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default reads the installed libraries' documentation and takes some 15 seconds."""

    corpus: str = setting(
        "documentation", "text: documentation, gutenberg, bookcorpus or a folder of text files"
    )
    encoding: str = setting("utf-8", "encoding of a folder's files")
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
    seed: int = setting(
        0, "seed of the split, the pairs, the start and the batches", low=0, high=2**31, each=True
    )

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
    """What one run recorded, at the times `steps` (T,).

    Attributes:
        steps: (T,) recorded steps. words: (V,). counts: (V,) occurrences. pairs: as in `twins.Text`.
        table: (T, V, d) float16, the symbols' embeddings. distances: {kind of pair -> (T, P)} Euclidean.
        twin_nearest: (T,) share of twins 1 whose nearest symbol of all is twin 2, NaN where no word is split.
        loss, held: (T,) mean loss on training sentences and on sentences held out.
    """

    steps: np.ndarray
    words: list
    counts: np.ndarray
    pairs: dict
    table: np.ndarray
    distances: dict
    twin_nearest: np.ndarray
    loss: np.ndarray
    held: np.ndarray

    def ratio(self, kind: str, frame: int = -1) -> float:
        """Mean distance of the `kind` of pairs over that of the random pairs matched to it; NaN where there is none."""
        near, far = self.distances[kind][frame], self.distances[f"random, {kind}"][frame]
        return float(near.mean() / far.mean()) if len(near) else float("nan")


# What a batch is made of.


def kept_share(counts: np.ndarray, subsample: float) -> np.ndarray:
    """(V,) probability min(1, sqrt(t / f)) with which a word of frequency f is kept, as in word2vec."""
    return np.sqrt(subsample * counts.sum() / np.maximum(counts, 1)).clip(max=1)


def running_sums(shares: list, texts: list) -> torch.Tensor:
    """(2, R, N) running sums of the weights with which places are drawn: those to train on, and those held out."""
    weights = [
        torch.from_numpy(np.stack([~found.held, found.held], 1) * share[found.tokens][:, None])
        for share, found in zip(shares, texts, strict=True)
    ]
    return _side_by_side(weights, 0).cumsum(1).permute(2, 0, 1).contiguous()


def uniform(batch: int, window: int):
    """A function that draws what a batch needs: (batch, 2 window + 2) uniform numbers, column 0 for the place."""

    def draw(generator):
        place = torch.rand(batch, 1, generator=generator, dtype=torch.float64)
        return torch.cat(
            [place, torch.rand(batch, 2 * window + 1, generator=generator).double()], 1
        )

    return draw


def _side_by_side(values, padding):
    """Tensors of R runs, (N, ...) each, as one (R, N, ...); a text that was read in part is shorter than another's."""
    return pad_sequence(values, batch_first=True, padding_value=padding)


def rows(table, ids):
    """Rows of table (R, V, d) at ids (R, n): (R, n, d). As `transformer.lookup`, with a backward pass for many ids."""
    members, tokens, d = table.shape
    offset = tokens * torch.arange(members, device=ids.device)[:, None]
    return table.reshape(-1, d).index_select(0, (ids + offset).flatten()).view(members, -1, d)


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
    vectors = rows(table, ids.flatten(1)).view(*ids.shape, -1)
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


class Embedding(Program):
    """R runs on SL eq. 2, or on Lemma A.1's direction of it: a table of symbols and an encoder of contexts each."""

    Result, compiles = Result, ("losses",)

    def setup(self):
        c, s, ends = self.config, self.state, (self.config.window,) * 2
        self.times = set(recorded_times(c.steps, -(-c.steps // RECORDS)))
        self.texts = texts = [text(k) for k in self.configs]
        self.mask = len(
            texts[0].words
        )  # the number after the last symbol's; runs of one program have as many words
        shares = [
            kept_share(found.counts, k.subsample)
            for found, k in zip(texts, self.configs, strict=True)
        ]
        s.keep = torch.tensor(np.pad(shares, ((0, 0), (0, 1))), dtype=torch.float32)
        for name, outside in (("tokens", self.mask), ("sentence", -1)):
            padded = [
                F.pad(torch.from_numpy(getattr(found, name)), ends, value=outside)
                for found in texts
            ]
            setattr(s, name, _side_by_side(padded, outside))
        s.sums = list(running_sums(shares, texts))
        s.pairs = {
            kind: _side_by_side([torch.from_numpy(found.pairs[kind]) for found in texts], 0)
            for kind in texts[0].pairs
        }
        draw = uniform(c.batch, c.window)
        self.draws = Draws(streams(self.configs, DRAWN), draw)
        same = [
            stream(k.seed, RECORDED) for k in self.configs
        ]  # the losses are recorded on the same batches each time
        s.same = torch.stack([torch.stack([draw(g) for _ in range(BATCHES)]) for g in same])
        self.trained = self.start([stream(k.seed, START) for k in self.configs])

    def start(self, generators) -> list[torch.Tensor]:
        """The table (R, V, d) of the symbols and the weights of the encoders, each run's from its own generator."""
        c, std = self.config, self.each("std")

        def vectors(rows):
            return std * torch.stack([torch.randn(rows, c.d, generator=g) for g in generators])

        table = vectors(self.mask)
        if c.encoder == "mean":
            return [table, vectors(self.mask + 1)]
        self.net = Transformer(
            self.mask + 1,
            2 * c.window + 1,
            c.d,
            c.d,
            generators,
            readout="mean",
            hidden=2 * c.d,
            heads=1 if c.d % 2 else 2,
        )  # heads must divide d
        weights = {name: w.detach() for name, w in self.net.named_parameters()}
        self.names = list(weights)
        return [
            table,
            *(std * w if name in ("tokens", "positions") else w for name, w in weights.items()),
        ]

    def begin(self):
        decay = [k.decay for k in self.configs]
        self.optimiser = Adam(self.trained, self.config.lr, decay if any(decay) else 0.0)

    def encode(self, ids, there):
        """(R, n, d) embeddings of the contexts: ids and there (R, n, 2 window + 1) as from `windows`."""
        if self.config.encoder == "mean":
            return mean_of_window(self.trained[1], ids, there)
        there[..., self.config.window].fill_(
            True
        )  # the transformer reads the mask in the word's place
        return torch.func.functional_call(
            self.net, dict(zip(self.names, self.trained[1:], strict=True)), (ids, there)
        )

    def losses(self, part, drawn):
        """(R,) SL eq. 2, or Lemma A.1's, on a batch of places of a part of the text."""
        c, s = self.config, self.state
        symbols, ids, there = windows(s.tokens, s.sentence, s.sums[part], s.keep, drawn)
        pair = lookup(self.trained[0], symbols), self.encode(ids, there)
        return symbol_context.formula(
            *(pair if c.over == "contexts" else pair[::-1]), symbols if c.masked else None
        )

    def now(self, t):
        return (
            self.trained[0].detach().flatten(1).sum(1, keepdim=True)
        )  # finite where every vector is

    def advance(self, t):
        self.descend(self.losses(TRAINED, self.draws.next()))

    @torch.no_grad()
    def measure(self, z, t):
        """The table, distances of all pairs, who is nearest to the first twins, and the two losses."""
        table, s = self.trained[0].detach(), self.state
        trained, held = (
            torch.stack([self.losses(part, drawn) for drawn in s.same.unbind(1)]).double().mean(0)
            for part in (TRAINED, HELD_OUT)
        )
        nearest = torch.stack(
            [twin_nearest(*run) for run in zip(table, s.pairs["injected"], strict=True)]
        )
        return {
            "table": table.half(),
            "twin_nearest": nearest,
            "loss": trained,
            "held": held,
            **{kind: distances(table, pairs) for kind, pairs in s.pairs.items()},
        }

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


def read(config: Config, progress=None) -> None:
    """Read the run's text, which `corpus.load` keeps; the first time takes seconds, in which `progress` can stop it.

    Raises:
        ValueError: as `corpus.load`; `progress` returned False: there is nothing to show yet.
    """
    corpus.load(config.corpus, config.encoding, report=progress and (lambda: progress(0.0, None)))


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train the symbol table and the context encoder with InfoNCE.

    Args:
        config: the settings.
        progress: `progress(fraction, partial_result)`, about ten times a second; returning False stops the run, which
            then returns what it has, with `stopped` set. While a text is read for the first time it is None.
        device: a torch device; None takes CUDA when there is one.

    Raises:
        ValueError: the text cannot be read or is too small, or its reading was stopped; the run diverged (the message
            names lr).
    """
    read(config, progress)
    return alone(Embedding, config, progress, device)


run.program = Embedding
