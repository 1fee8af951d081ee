"""Word embeddings from words and the contexts they were cut out of, with fabricated synonyms (SL App. A.11, Fig. 9).

Chosen words are split in two: each occurrence becomes one or the other of two artificial twins, with equal probability. The
twins have the same contexts, as Theorem 4.2 asks; natural synonyms only nearly so; random pairs not at all.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import torch
import torch.nn.functional as F

from clbook import corpus
from clbook.losses import symbol_context
from clbook.runs import Diverged, default_device, iterate, one_thread, recorded_times
from clbook.settings import Outcome, Settings, setting
from clbook.transformer import Transformer

RECORDS = 12  # times at which a run is recorded, beside the start
HELD = 20  # every 20th sentence is held out, to see whether the contexts are learnt or memorised
BATCHES = 4  # batches over which the two recorded losses are averaged
REACH = 20  # a random pair's words stand at most this many places from its model's, in the order of frequency
TWIN = "₁₂"  # good is split into good₁ and good₂


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default reads the installed libraries' documentation and takes some 15 seconds."""

    corpus: str = setting("documentation", "text: documentation, gutenberg, bookcorpus or a folder of text files")
    encoding: str = setting("utf-8", "encoding of a folder's files")
    natural: str = setting("hand", "natural synonyms: a list for technical text, or WordNet's table",
                           choices=("hand", "wordnet"))
    sentences: int = setting(0, "sentences to read, drawn at random; 0 reads all", low=0, high=10_000_000)
    vocabulary: int = setting(4000, "words, the most frequent ones; the rest is left out", low=10, high=100_000)
    injected: int = setting(100, "words to split into two artificial synonyms", low=0, high=1000)
    common: int = setting(200, "occurrences that a word must have to be split", low=2, high=100_000)
    encoder: str = setting("mean", "context encoder: mean of the window's vectors, or a transformer with one layer",
                           choices=("mean", "transformer"))
    window: int = setting(5, "words of context on each side, within the sentence", low=1, high=20)
    d: int = setting(64, "embedding dimensions", low=2, high=512)
    std: float = setting(0.02, "standard deviation of the start, in each coordinate", above=0.0, high=10.0, log=True)
    decay: float = setting(0.0, "weight decay, added to the gradient", low=0.0, high=1.0)
    lr: float = setting(2e-3, "learning rate of Adam", above=0.0, high=1.0, log=True)
    batch: int = setting(512, "pairs of a word and its context in a batch", low=8, high=4096)
    steps: int = setting(3000, "training steps", unit="steps", low=1, high=1_000_000, log=True)
    subsample: float = setting(1e-3, "share of the text from which a word is thinned out (word2vec's t)",
                               above=0.0, high=1.0)
    masked: bool = setting(True, "leave other occurrences of the anchor's word out of its negatives")
    over: str = setting("contexts", "what the softmax runs over: contexts (SL eq. 2) or symbols (Lemma A.1)",
                        choices=("contexts", "symbols"))
    seed: int = setting(0, "seed of the split, the pairs, the start and the batches", low=0, high=2**31)

    def check(self):
        if self.injected > self.vocabulary:
            raise self.error("injected", f"at most vocabulary = {self.vocabulary}")
        # No field, but part of what `sweep` caches by: another version of the text is another run.
        parts = [self.corpus] + ["wordnet"] * (self.natural == "wordnet")
        object.__setattr__(self, "version", " ".join(map(corpus.version, parts)))


@dataclasses.dataclass
class Text:
    """The text of a run, ready to train on.

    Attributes:
        words: (V,) names of the symbols; a split word keeps its number as twin 1, all second twins come last.
        counts: (V,) occurrences. tokens, sentence: (N,) symbol and sentence of each place. held: (N,) left out of training.
        pairs: {"injected", "natural", "random, injected", "random, natural"} -> (P, 2) symbols. The k-th random pair has
            words about as frequent as those of the k-th pair it is compared with.
    """

    words: list
    counts: np.ndarray
    tokens: np.ndarray
    sentence: np.ndarray
    held: np.ndarray
    pairs: dict


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps` (T,).

    Attributes:
        words: (V,). counts: (V,) occurrences. pairs: as in `Text`.
        table: (T, V, d) float16, the symbols' embeddings. distances: {kind of pair -> (T, P)} Euclidean.
        twin_nearest: (T,) share of twins 1 whose nearest symbol of all is twin 2. loss, held: (T,) mean loss on training
        sentences and on sentences held out.
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

    def ratio(self, kind, frame=-1) -> float:
        """Mean distance of the `kind` of pairs over that of the random pairs matched to it; NaN where there are none."""
        near, far = self.distances[kind][frame], self.distances[f"random, {kind}"][frame]
        return float(near.mean() / far.mean()) if len(near) else float("nan")


def matched(pairs, counts, generator):
    """For each pair (P, 2) one of two other symbols near in the order of frequency, none of them given together: (P, 2)."""
    order = np.argsort(-counts, kind="stable")
    rank = np.argsort(order, kind="stable")
    taken = {frozenset(pair) for pair in pairs.tolist()}
    out = []
    for pair in pairs:
        while True:
            u, v = order[np.clip(rank[pair] + generator.integers(-REACH, REACH + 1, 2), 0, len(order) - 1)].tolist()
            if u != v and frozenset((u, v)) not in taken:
                break
        out.append((u, v))
    return np.array(out, dtype=np.int64).reshape(-1, 2)


def text(config: Config) -> Text:
    """The corpus of a run with its words split and its pairs drawn.

    Raises ValueError: as `corpus.load`; fewer words than are to be split; too few sentences to hold any out.
    """
    whole, generator = corpus.load(config.corpus, config.encoding), np.random.default_rng(config.seed)
    sentence = np.repeat(np.arange(len(whole.starts) - 1), np.diff(whole.starts))
    tokens = whole.tokens
    if config.sentences:
        kept = generator.permutation(len(whole.starts) - 1) < config.sentences
        tokens, sentence = tokens[kept[sentence]], sentence[kept[sentence]]
    V = min(config.vocabulary, len(whole.words))
    tokens, sentence = tokens[tokens < V].astype(np.int64), sentence[tokens < V]
    if V < 10:  # with fewer there may be no random pair that is not given
        raise config.error("corpus", f"a text of 10 different words or more: it has {V}")
    held = sentence % HELD == HELD - 1
    if len(np.unique(tokens[held])) < 2:
        raise config.error("corpus", f"a longer text: of the {len(np.unique(sentence))} sentences read, none is held out")
    counts, number = np.bincount(tokens, minlength=V), {word: k for k, word in enumerate(whole.words[:V])}
    seen = [word for word in whole.words[:V] if counts[number[word]]]
    natural = [[number[word] for word in pair] for pair in corpus.synonyms(seen, config.natural)]
    natural = np.array(natural, int).reshape(-1, 2)
    free = np.setdiff1d(np.flatnonzero(counts >= config.common), natural)
    if len(free) < config.injected:
        raise config.error("injected", f"at most {len(free)} here: the vocabulary has {V} words, {len(free)} of them occur "
                           f"{config.common} times (common) and are in no natural pair")
    chosen = np.sort(generator.choice(free, config.injected, replace=False))
    words, second = list(whole.words[:V]), np.full(V, -1)
    second[chosen] = V + np.arange(len(chosen))
    words += [words[k] + TWIN[1] for k in chosen]
    for k in chosen:
        words[k] += TWIN[0]
    other = (second[tokens] >= 0) & (generator.random(len(tokens)) < 0.5)
    tokens[other] = second[tokens[other]]
    counts = np.bincount(tokens, minlength=len(words))
    pairs = {"injected": np.stack([chosen, second[chosen]], 1), "natural": natural}
    pairs |= {f"random, {kind}": matched(given, counts, generator) for kind, given in pairs.items()}
    return Text(words, counts, tokens, sentence, held, pairs)


class Training:
    """Tables, encoder, optimiser and batches of a run, and what was recorded of it."""

    def __init__(self, config, device):
        self.config, self.device, self.began = config, device, time.perf_counter()
        self.text = found = text(config)
        V, w, generator = len(found.words), config.window, torch.Generator().manual_seed(config.seed)
        thinned = np.sqrt(config.subsample * len(found.tokens) / np.maximum(found.counts, 1)).clip(max=1)
        self.keep = torch.tensor(np.append(thinned, 0), dtype=torch.float32, device=device)  # the last symbol is the mask
        pad = (w, w)
        self.tokens = F.pad(torch.from_numpy(found.tokens), pad, value=V).to(device)
        self.sentence = F.pad(torch.from_numpy(found.sentence), pad, value=-1).to(device)
        self.around = torch.arange(-w, w + 1, device=device)
        drawn = torch.from_numpy(thinned[found.tokens])
        self.places = [torch.where(torch.from_numpy(part), drawn, 0.0).cumsum(0).to(device)
                       for part in (~found.held, found.held)]
        self.table = (config.std * torch.randn(V, config.d, generator=generator)).to(device).requires_grad_()
        if config.encoder == "mean":
            contexts = (config.std * torch.randn(V + 1, config.d, generator=generator)).to(device).requires_grad_()
            self.encoder, parameters = lambda ids, there: _mean(contexts, ids, there), [contexts]
        else:
            net = Transformer(V + 1, 2 * w + 1, config.d, config.d, [generator], heads=2 - config.d % 2, hidden=2 * config.d,
                              readout="mean", std=config.std).to(device)
            self.encoder, parameters = lambda ids, there: net(ids[None], there[None])[0], list(net.parameters())
        self.optimiser = torch.optim.Adam([self.table, *parameters], lr=config.lr, weight_decay=config.decay, fused=True)
        self.generator = torch.Generator(device=device).manual_seed(config.seed + 1)
        self.pairs = {kind: torch.from_numpy(pairs).to(device) for kind, pairs in found.pairs.items()}
        self.times = set(recorded_times(config.steps, -(-config.steps // RECORDS)))
        self.rows = []

    def loss(self, part=0, generator=None):
        """SL eq. 2 (or Lemma A.1's) on a batch of training places, or, for part = 1, of places held out."""
        c, generator = self.config, generator or self.generator
        total = self.places[part]
        draw = torch.rand(c.batch, generator=generator, device=self.device, dtype=total.dtype) * total[-1]
        place = torch.searchsorted(total, draw).clamp_max(len(total) - 1) + c.window
        symbols, near = self.tokens[place], place[:, None] + self.around
        ids = self.tokens[near]
        there = torch.rand(ids.shape, generator=generator, device=self.device) < self.keep[ids]
        there &= self.sentence[near] == self.sentence[place][:, None]
        ids[:, c.window], there[:, c.window] = len(self.table), c.encoder == "transformer"  # the mask in the word's place
        contexts = self.encoder(ids, there)
        pair = (F.embedding(symbols, self.table), contexts)
        return symbol_context(*(pair if c.over == "contexts" else pair[::-1]), symbols if c.masked else None)

    def step(self, table, t):
        self.optimiser.zero_grad()
        self.loss().backward()
        self.optimiser.step()
        return self.table.detach()

    @torch.no_grad()
    def record(self, table, t):
        if t not in self.times:
            return
        table, row = self.table, {}
        for kind, pairs in self.pairs.items():
            row[kind] = (table[pairs[:, 0]] - table[pairs[:, 1]]).norm(dim=1).cpu().numpy()
        first, second = self.pairs["injected"].T
        away = torch.cdist(table[first], table).scatter_(1, first[:, None], torch.inf)
        nearest = (away.argmin(1) == second).float().mean().item() if len(first) else float("nan")
        losses = []
        for part in (0, 1):
            same = torch.Generator(device=self.device).manual_seed(self.config.seed + 2)  # the same batches at each time
            losses.append(np.mean([self.loss(part, same).item() for _ in range(BATCHES)]))
        self.rows.append((t, table.half().cpu().numpy(), row, nearest, *losses))

    def result(self, stopped) -> Result:
        steps, tables, distances, nearest, loss, held = zip(*self.rows)
        found = self.text
        return Result(self.config, time.perf_counter() - self.began, self.device.type, stopped, np.array(steps), found.words,
                      found.counts, found.pairs, np.stack(tables),
                      {kind: np.stack([row[kind] for row in distances]) for kind in found.pairs},
                      np.array(nearest), np.array(loss), np.array(held))


def _mean(table, ids, there):
    """Mean of the vectors of the words that are there; zero where none is. table (V, d), ids, there (n, window): (n, d)."""
    weight = there.to(table.dtype)
    total = F.embedding_bag(ids, table, per_sample_weights=weight, mode="sum")
    return total / weight.sum(1, keepdim=True).clamp_min(1)


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train the symbol table and the context encoder with InfoNCE; progress and device as in `separability.run`.

    Raises ValueError: the text cannot be read or is too small; the run diverged (the message names lr).
    """
    with one_thread():
        training = Training(config, default_device(device))
    report = None if progress is None else lambda fraction: progress(fraction, training.result(stopped=True))
    try:
        _, _, stopped = iterate(training.step, training.table.detach(), config.steps, training.record, report)
    except Diverged as error:
        raise config.diverged("lr", error.step) from error
    return training.result(stopped)
