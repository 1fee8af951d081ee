"""Contrastive learning of modular addition: which symbols come to lie together (SL Sec. 5, App. A.6 to A.10).

A symbol u has a row z_u of a table, a context such as (?, b, c) goes through a transformer; SL eq. 2 brings a symbol and its
contexts together. Runs of equal shape - seeds, and variants of one setting - train as one batched program.
"""

from __future__ import annotations

import dataclasses
import math
import time

import numpy as np
import torch
import torch.nn.functional as F

from clbook import data
from clbook.experiments.modadd.classifier import classify
from clbook.runs import Diverged, default_device, iterate, recorded_times
from clbook.settings import Outcome, Settings, setting
from clbook.transformer import Transformer, descend, lookup

COLLAPSED = 0.1  # mean distance of different pairs below which, with a loss of log(batch), nothing is left to compare


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one group of runs; the default shows in seconds what SL's own settings (`PAPER`) show in minutes.

    SL do not give heads and feed-forward width. `hidden` here and `classifier.HIDDEN` were chosen with SL Fig. 2b in view.
    """

    N: int = setting(16, "number of symbols, 0 .. N - 1", low=2, high=200)
    k: int = setting(8, "modulus: symbols that agree mod k are equivalent", low=1, high=200)
    d: int = setting(8, "embedding dimensions", low=1, high=1024)
    layers: int = setting(1, "layers of the context encoder", low=1, high=12)
    heads: int = setting(1, "attention heads of each layer; they divide d", low=1, high=64)
    hidden: int = setting(16, "width of each layer's feed-forward part", low=1, high=4096)
    lr: float = setting(1e-3, "learning rate of Adam", above=0.0, high=10.0, log=True)
    decay: float = setting(1e-3, "weight decay", low=0.0, high=1.0)
    decay_kind: str = setting("l2", "l2: decay is part of Adam's gradient; decoupled: AdamW", choices=("l2", "decoupled"))
    init: float = setting(1.0, "standard deviation of the symbol table at the start", above=0.0, high=10.0, log=True)
    batch: int = setting(32, "samples in a batch", low=2, high=4096)
    fraction: float = setting(0.8, "part of the samples that is trained on", above=0.0, high=1.0)
    misaligned: str = setting("none", "whose contexts are uneven: one symbol's, all symbols'; shuffled: contexts at random",
                              choices=("none", "one", "all", "shuffled"))
    p: float = setting(0.9, "probability of the heavy context where there is one", above=0.0, high=1.0)
    epochs: int = setting(500, "passes through the training samples", unit="epochs", low=1, high=100_000, log=True)
    classifier: str = setting("none", "classifiers trained afterwards: from pretrained, random, permuted tables",
                              choices=("none", "pretrained", "both", "all"))
    classifier_epochs: int = setting(100, "passes of the classifier", unit="epochs", low=1, high=100_000, log=True)
    variants: str = setting("appendix", "what `run_variants` compares: SL's appendix, or decay and start alone",
                            choices=("appendix", "decay"))
    seeds: int = setting(1, "runs, with consecutive seeds, in one batched program", low=1, high=100)
    seed: int = setting(0, "seed of the first run: start, split, batches", low=0, high=2**31)

    def check(self):
        if self.k > self.N:
            raise self.error("k", f"a whole number >= 1 and <= N = {self.N}")
        if self.d % self.heads:
            raise self.error("heads", f"a divisor of d = {self.d}")
        if self.samples < 2:
            raise self.error("fraction", f"at least {1 / self.N**2:g}, two samples of {2 * self.N**2}")

    @property
    def samples(self) -> int:
        """Training samples of the contrastive task."""
        return round(self.fraction * 2 * self.N**2)


PAPER = Config(lr=1e-4, decay=1e-2, layers=3, epochs=10_000, seeds=5, classifier="all", classifier_epochs=10_000)

VARIANTS = {  # SL Fig. 2 and 5 to 8 (Fig. 4, d = 128, has another shape), and a control
    "base": {}, "no decay": {"decay": 0.0}, "no decay, small start": {"decay": 0.0, "init": 0.02},
    "decay, small start": {"init": 0.02}, "one symbol, p = .9": {"misaligned": "one"},
    "all symbols, p = .5": {"misaligned": "all", "p": 0.5}, "all symbols, p = .9": {"misaligned": "all"},
    "shuffled": {"misaligned": "shuffled"}}
DECAYS = ("base", "no decay", "no decay, small start")


@dataclasses.dataclass
class Result(Outcome):
    """What a group of runs recorded, at the epochs `steps` (T,); S seeds.

    Attributes:
        steps: (T,) recorded epochs. tables: (T, S, N, d) the symbols' embeddings z_u.
        loss: (T, S) SL eq. 2, mean over the batches of the epoch (before any step at epoch 0).
        floor: (T, S) the same batches' loss where z_u . E(rho) is exactly log p(rho | u) / p(rho) (Lemma A.1).
        equivalent, different: (T, S) mean distance |z_u - z_v| of pairs that agree mod k, and of the others.
        accuracy: {start: (T', S)} of the classifier on pairs it has not seen, at its epochs accuracy_at (T',).
        ratio: (T, S) equivalent / different; NaN where there are no such pairs.
        collapsed: (S,) at the end every distance is small and the loss that of guessing: the ratio says nothing then.
    """

    steps: np.ndarray
    tables: np.ndarray
    loss: np.ndarray
    floor: np.ndarray
    equivalent: np.ndarray
    different: np.ndarray
    accuracy: dict = dataclasses.field(default_factory=dict)
    accuracy_at: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, int))

    @property
    def ratio(self):
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.equivalent / self.different

    @property
    def collapsed(self):
        guessing = self.loss[-1] > 0.99 * math.log(min(self.config.batch, self.config.samples))
        return guessing & ~(self.different[-1] > COLLAPSED)


def distances(tables, k):
    """Mean distance of equivalent and of different pairs of rows of tables (..., N, d): two arrays (...), or NaN."""
    tables = torch.as_tensor(tables)
    N = tables.shape[-2]
    u, v = torch.triu_indices(N, N, offset=1)
    gaps = (tables[..., u, :] - tables[..., v, :]).norm(dim=-1)
    same = (u - v) % k == 0
    return gaps[..., same].mean(-1).numpy(), gaps[..., ~same].mean(-1).numpy()


class Samples:
    """The training samples of one run and the batches drawn from them.

    symbols (n,), contexts (n, 3), weights (n,) = p(rho | u) within the run's split, pmi (N, contexts) of that split.
    """

    def __init__(self, config: Config, seed: int):
        self.config, self.generator = config, torch.Generator().manual_seed(seed + 1_000_003)
        symbols, contexts = data.cmodadd(config.N, config.k)
        if config.misaligned == "shuffled":
            symbols = symbols[torch.randperm(len(symbols), generator=self.generator)]
        kept = torch.randperm(len(symbols), generator=self.generator)[: config.samples]
        self.symbols, self.contexts = symbols[kept], contexts[kept]
        chosen = {"one": torch.randint(config.N, (1,), generator=self.generator).tolist(), "all": range(config.N)}
        chosen = chosen.get(config.misaligned, ())
        self.weights = data.one_heavy_context(self.symbols, chosen, config.p, self.generator)
        self.uneven = bool(chosen)
        _, self.ids = torch.unique(self.contexts, dim=0, return_inverse=True)
        joint = torch.zeros(config.N, int(self.ids.max()) + 1, dtype=torch.float64)
        joint.index_put_((self.symbols, self.ids), self.weights, accumulate=True)
        self.pmi = (joint / joint.mean(0)).log()

    def epoch(self):
        """Indices (n,) of one epoch: every sample once, or as many draws by weight where the contexts are uneven."""
        n = len(self.symbols)
        if self.uneven:
            return torch.multinomial(self.weights, n, replacement=True, generator=self.generator)
        return torch.randperm(n, generator=self.generator)

    def floor(self, indices):
        """Loss of the exact PMI on the batches that `indices` (n,) are cut into."""
        losses = []
        for batch in indices.split(self.config.batch):
            score = self.pmi[self.symbols[batch]][:, self.ids[batch]]
            losses.append((score.logsumexp(1) - score.diagonal()).sum())
        return float(sum(losses) / len(indices))


def train(configs, *, progress=None, device=None) -> list[Result]:
    """Train configs of equal shape (N, k, d, layers, heads, hidden, lr, batch, fraction, epochs, seeds) as one program.

    Args as for `run`; `progress(fraction, partial_results)`. Returns one `Result` a config.
    """
    device, began = default_device(device), time.perf_counter()
    first, members = configs[0], [(c, c.seed + i) for c in configs for i in range(c.seeds)]
    samples = [Samples(c, seed) for c, seed in members]
    generators = [torch.Generator().manual_seed(seed) for _, seed in members]
    scale = torch.tensor([c.init for c, _ in members])[:, None, None]
    encoder = Transformer(first.N + 1, 3, first.d, first.d, generators, layers=first.layers, heads=first.heads,
                          hidden=first.hidden)
    table = scale * torch.stack([torch.randn(first.N, first.d, generator=g) for g in generators])
    encoder, table = encoder.to(device), table.to(device).requires_grad_()
    symbols, contexts = (torch.stack([getattr(s, name) for s in samples]).to(device) for name in ("symbols", "contexts"))
    update = descend([table, *encoder.parameters()], first.lr, [c.decay for c, _ in members], first.decay_kind)
    rows, recorded = torch.arange(len(members), device=device)[:, None], set(recorded_times(first.epochs))
    columns = {"steps": [], "tables": [], "loss": [], "floor": []}
    drawn = torch.stack([s.epoch() for s in samples])

    def batch_losses(batch):
        """(members,) SL eq. 2 on the samples batch (members, B)."""
        scores = lookup(table, symbols[rows, batch]) @ encoder(contexts[rows, batch]).transpose(1, 2)
        return -F.log_softmax(scores, -1).diagonal(dim1=1, dim2=2).mean(1)

    def epoch(_, t):
        nonlocal drawn
        drawn, total = torch.stack([s.epoch() for s in samples]), 0
        for batch in drawn.to(device).split(first.batch, 1):
            losses = batch_losses(batch)
            update(losses.sum())
            total = total + losses.detach() * batch.shape[1] / drawn.shape[1]
        return total

    def record(loss, t):
        if t in recorded:
            for name, value in (("steps", t), ("tables", table.detach().cpu().clone()), ("loss", loss.cpu().numpy()),
                                ("floor", [s.floor(i) for s, i in zip(samples, drawn)])):
                columns[name].append(value)

    def results(stopped=False):
        tables, steps = torch.stack(columns["tables"]), np.array(columns["steps"])
        arrays = {name: np.array(columns[name]) for name in ("loss", "floor")}
        arrays["equivalent"], arrays["different"] = distances(tables, first.k)
        out = []
        for j, config in enumerate(configs):
            mine = slice(j * first.seeds, (j + 1) * first.seeds)
            out.append(Result(config, time.perf_counter() - began, str(device), stopped, steps, tables[:, mine].numpy(),
                              **{name: a[:, mine] for name, a in arrays.items()}))
        return out

    with torch.no_grad():
        losses = [batch_losses(b) * b.shape[1] / drawn.shape[1] for b in drawn.to(device).split(first.batch, 1)]
    report = progress and (lambda fraction: progress(fraction, results()))
    try:
        _, _, stopped = iterate(epoch, sum(losses), first.epochs, record, report)
    except Diverged as error:
        raise first.diverged("lr", error.step) from error
    finished = results(stopped)
    if not stopped and first.classifier != "none":
        classify(finished, progress and (lambda fraction: progress(fraction, finished)), device)
    return finished


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train `config.seeds` symbol tables and encoders on contrastive modular addition, then the classifiers asked for.

    progress, device and a run that diverges as in `separability.run`; progress goes from 0 to 1 for the contrastive part
    and once more for the classifiers.
    """
    return train([config], device=device, progress=progress and (lambda f, partial: progress(f, partial[0])))[0]


@dataclasses.dataclass
class Variants(Outcome):
    """Runs that differ in decay, start or alignment, trained side by side: {name: Result}."""

    runs: dict


def run_variants(config: Config, *, progress=None, device=None) -> Variants:
    """`run` for each of `VARIANTS` but the base, or for `DECAYS`, as one batched program."""
    names = DECAYS if config.variants == "decay" else tuple(VARIANTS)[1:]

    def together(results):
        last = results[-1]
        return Variants(config, last.seconds, last.device, last.stopped, dict(zip(names, results)))

    return together(train([config.replace(**VARIANTS[name]) for name in names], device=device,
                          progress=progress and (lambda f, partial: progress(f, together(partial)))))
