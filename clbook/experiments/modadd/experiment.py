"""Contrastive learning of modular addition: which symbols come to lie together (SL Sec. 5, App. A.6 to A.10).

A symbol u has a row z_u of a table, a context such as (?, b, c) goes through a transformer; SL eq. 2 brings a symbol
and its contexts together. Afterwards a run may train classifiers on its table (`classifier`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook import data
from clbook.experiments.modadd.classifier import EVERY, STARTS, Classifiers, During, Weights, starts
from clbook.training.loop import State, recorded_times
from clbook.training.optim import adam_memory
from clbook.training.settings import Outcome, Settings, quantity, seed_of, setting
from clbook.training.streams import stream
from clbook.transformer import Transformer, functional, lookup

START, SAMPLES = 0, 1_000_003  # purposes of the streams of random numbers

COLLAPSED = 0.1  # mean distance of different pairs below which, with a loss of log(batch), nothing is left to compare


@dataclasses.dataclass(frozen=True)
class Learned(Settings):
    """What learns, from which task, and how: the settings of the two trainings that have a transformer.

    SL do not give heads and feed-forward width. `hidden` here and `classifier.HIDDEN` were chosen with SL Fig. 2b in
    view.
    """

    N: int = setting(16, "number of symbols, 0 .. N - 1", low=2, high=200)
    k: int = setting(8, "modulus: symbols that agree mod k are equivalent", low=1, high=200)
    d: int = setting(8, "embedding dimensions", low=1, high=1024)
    layers: int = setting(1, "layers of the context encoder", low=1, high=12)
    heads: int = setting(1, "attention heads of each layer; they divide d", low=1, high=64)
    hidden: int = setting(16, "width of each layer's feed-forward part", low=1, high=4096)
    lr: float = setting(1e-3, "learning rate of Adam", above=0.0, high=10.0, log=True)
    decay: float = setting(1e-3, "weight decay", low=0.0, high=1.0, each=True)
    decay_kind: str = setting(
        "l2", "l2: decay is part of Adam's gradient; decoupled: AdamW", choices=("l2", "decoupled")
    )
    init: float = setting(
        1.0,
        "standard deviation of the symbol table at the start",
        above=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    batch: int = setting(32, "samples in a batch", low=2, high=4096)

    def check(self):
        if self.k > self.N:
            raise self.error("k", f"a whole number >= 1 and <= N = {self.N}")
        if self.d % self.heads:
            raise self.error("heads", f"a divisor of d = {self.d}")


@dataclasses.dataclass(frozen=True)
class Config(Learned):
    """Settings of one run; the default shows in seconds what SL's own settings (`PAPER`) show in minutes."""

    fraction: float = setting(0.8, "part of the samples that is trained on", above=0.0, high=1.0)
    misaligned: str = setting(
        "none",
        "whose contexts are uneven: one symbol's, all symbols'; shuffled: at random",
        choices=("none", "one", "all", "shuffled"),
        each=True,
    )
    p: float = setting(
        0.9, "probability of the heavy context where there is one", above=0.0, high=1.0, each=True
    )
    epochs: int = setting(
        500, "passes through the training samples", unit="epochs", low=1, high=100_000, log=True
    )
    classifier: str = setting(
        "none",
        "classifiers trained afterwards: from pretrained, random, permuted tables",
        choices=("none", "pretrained", "both", "all"),
    )
    classifier_epochs: int = setting(
        100, "passes of the classifier", unit="epochs", low=1, high=100_000, log=True
    )
    seed: int = seed_of("start, split and batches")

    def check(self):
        super().check()
        if self.samples < 2:
            raise self.error(
                "fraction", f"at least {1 / self.N**2:g}, two samples of {2 * self.N**2}"
            )

    @property
    def samples(self) -> int:
        """Training samples of the contrastive task."""
        return round(self.fraction * 2 * self.N**2)

    @property
    def steps(self) -> int:
        """Epochs of both parts, the contrastive one and the classifiers' after it."""
        return self.epochs + (self.classifier_epochs if self.classifier != "none" else 0)


# SL train five seeds: [PAPER.replace(seed=seed) for seed in range(5)]
PAPER = Config(
    lr=1e-4, decay=1e-2, layers=3, epochs=10_000, classifier="all", classifier_epochs=10_000
)

VARIANTS = {  # SL Fig. 2 and 5 to 8 (Fig. 4, d = 128, has another shape), and a control
    "base": {},
    "no decay": {"decay": 0.0},
    "no decay, small start": {"decay": 0.0, "init": 0.02},
    "decay, small start": {"init": 0.02},
    "one symbol, p = .9": {"misaligned": "one"},
    "all symbols, p = .5": {"misaligned": "all", "p": 0.5},
    "all symbols, p = .9": {"misaligned": "all"},
    "shuffled": {"misaligned": "shuffled"},
}
DECAYS = {name: VARIANTS[name] for name in ("base", "no decay", "no decay, small start")}


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded."""

    steps: np.ndarray = quantity(
        "recorded epochs of the contrastive part", dims="step", unit="epochs"
    )
    tables: np.ndarray = quantity("the symbols' embeddings z_u", dims="step symbol dim")
    loss: np.ndarray = quantity(
        "SL eq. 2, mean over the batches of the epoch (before any step at epoch 0)", dims="step"
    )
    equivalent: np.ndarray = quantity(
        "mean distance |z_u - z_v| of pairs that agree mod k", dims="step"
    )
    different: np.ndarray = quantity("mean distance of the other pairs", dims="step")
    accuracy: dict = quantity(
        "{start: (T',) share of the pairs they have not seen that the classifiers add correctly}"
    )
    accuracy_at: np.ndarray = quantity(
        "epochs of the classifiers", dims="classifier_step", unit="epochs"
    )
    floor: np.ndarray = quantity(
        "the same batches' loss where z_u . E(rho) is exactly log p(rho | u) / p(rho) (Lemma A.1)",
        dims="step",
        on_request=True,
    )

    @property
    def ratio(self) -> np.ndarray:
        """(T,) equivalent / different; NaN where there are no such pairs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.equivalent / self.different

    @property
    def collapsed(self) -> bool:
        """Whether at the end every distance is small and the loss that of guessing: the ratio says nothing then."""
        guessing = self.loss[-1] > 0.99 * math.log(min(self.config.batch, self.config.samples))
        return bool(guessing and not self.different[-1] > COLLAPSED)


def over_seeds(results: Sequence[Result], name: str) -> np.ndarray:
    """(T, S) of S runs, a column each: the field `name`, or the accuracy from the start `name`; T of the shortest."""
    columns = [
        result.accuracy[name] if name in STARTS else getattr(result, name) for result in results
    ]
    shortest = min(map(len, columns))
    return np.stack([column[:shortest] for column in columns], 1)


def distances(tables: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Mean distance of equivalent and of different pairs of rows of tables (..., N, d): two tensors (...), or NaN."""
    N = tables.shape[-2]
    u, v = torch.triu_indices(N, N, offset=1, device=tables.device)
    same = (u - v) % k == 0
    means = []
    for kind in (same, ~same):
        one = tables[..., u[kind], :]
        other = tables[..., v[kind], :]
        means.append((one - other).norm(dim=-1).mean(-1))
    equivalent, different = means
    return equivalent, different


def one_heavy_context(
    symbols: Tensor, chosen: Iterable[int], p: float, generator: torch.Generator
) -> Tensor:
    """Weights p(context | symbol) of samples with symbols (n,): uniform, but p on a random sample of each `chosen` one.

    SL App. A.10: the heavy context takes p, the symbol's others share 1 - p evenly. Returns (n,), sums to 1 a symbol.
    """
    weights = 1 / symbols.bincount()[symbols].double()
    for u in chosen:
        (mine,) = torch.nonzero(symbols == u, as_tuple=True)
        if len(mine) > 1:
            weights[mine] = (1 - p) / (len(mine) - 1)
            heavy = torch.randint(len(mine), (1,), generator=generator)
            weights[mine[heavy]] = p
    return weights


class Samples:
    """The training samples of one run, and the epochs drawn from them.

    Attributes:
        symbols: (n,).
        contexts: (n, 3), and ids: (n,), their numbers.
        weights: (n,) p(rho | u) within the run's split.
        pmi: (N, 2 N k) pointwise mutual information of symbol and context in that split.
    """

    def __init__(self, config: Config, whole: bool = False):
        generator = stream(config.seed, SAMPLES)
        self.generator = generator
        N = config.N
        symbols, contexts = data.cmodadd(N, config.k)
        count = len(symbols)
        if config.misaligned == "shuffled":
            symbols = symbols[torch.randperm(count, generator=generator)]
        kept = torch.randperm(count, generator=generator)
        if not whole:
            kept = kept[: config.samples]
        self.symbols = symbols[kept]
        self.contexts = contexts[kept]
        one = torch.randint(N, (1,), generator=generator).tolist()
        chosen = {"one": one, "all": range(N)}.get(config.misaligned, ())
        self.weights = one_heavy_context(self.symbols, chosen, config.p, generator)
        self.uneven = bool(chosen)
        _, ids = torch.unique(contexts, dim=0, return_inverse=True)
        self.ids = ids[kept]
        self.pmi = self.information(N, int(ids.max()) + 1)

    def information(self, symbols: int, contexts: int) -> Tensor:
        """(symbols, contexts) pointwise mutual information log p(u, rho) / (p(u) p(rho)) of the samples."""
        joint = torch.zeros(symbols, contexts, dtype=torch.float64)
        joint.index_put_((self.symbols, self.ids), self.weights, accumulate=True)
        return (joint / joint.mean(0)).log()

    def epoch(self) -> Tensor:
        """Indices (n,) of one epoch: every sample once, or as many draws by weight where the contexts are uneven."""
        n = len(self.symbols)
        if self.uneven:
            return torch.multinomial(self.weights, n, replacement=True, generator=self.generator)
        return torch.randperm(n, generator=self.generator)


def floor(pmi: Tensor, symbols: Tensor, ids: Tensor, batch: int) -> Tensor:
    """Loss of the exact PMI on the batches that an epoch is cut into.

    Args:
        pmi: (R, N, contexts).
        symbols, ids: (R, n), the epoch's samples in their order.
        batch: samples in a batch.

    Returns:
        (R,).
    """
    total = 0
    runs = torch.arange(len(pmi), device=pmi.device)[:, None, None]
    rows = symbols[:, :, None].split(batch, 1)
    for u, rho in zip(rows, ids[:, None].split(batch, 2), strict=True):
        scores = pmi[runs, u, rho]  # (R, B, B)
        push = scores.logsumexp(-1)
        pull = scores.diagonal(dim1=1, dim2=2)
        total = total + (push - pull).sum(-1)
    return total / symbols.shape[1]


class Addition(Classifiers):
    """R contrastive runs, each followed by the classifiers asked for; a step is an epoch.

    state.weights holds first what the contrastive part trains, the table and then the encoder's weights, and behind
    them the classifiers'.
    """

    Result = Result

    def setup(self):
        c = self.config
        s = self.state
        samples = [self.samples(config) for config in self.configs]
        for name in ("symbols", "contexts", "ids", "pmi"):
            setattr(s, name, torch.stack([getattr(own, name) for own in samples]))
        # The first epoch's batches are measured before the first step, the later ones are trained on.
        s.order = torch.stack([own.epoch() for own in samples])
        self.draws["order"] = During(samples, Samples.epoch, range(c.epochs))
        s.decay = self.column("decay", axes=0)
        own = self.contrastive_weights()
        s.memory = adam_memory(own)
        runs = len(samples)
        s.losses = torch.zeros(runs)
        s.classifier_losses = torch.zeros(runs, len(starts(c)))
        self.times = set(recorded_times(c.epochs))
        self.parts = len(own)
        s.weights = own
        if c.classifier != "none":
            s.weights = own + self.add_classifiers(begin=c.epochs)
            times = recorded_times(c.classifier_epochs, EVERY)
            self.times |= {c.epochs + t for t in times}

    def samples(self, config: Config) -> Samples:
        """The training samples of one run."""
        return Samples(config)

    def contrastive_weights(self) -> Weights:
        """The table (R, N, d) and the encoder's weights at the start."""
        c = self.config
        shape = (c.N, c.d)
        generators = [stream(config.seed, START) for config in self.configs]
        sizes = {"layers": c.layers, "heads": c.heads, "hidden": c.hidden}
        # One token more than symbols: the mask.
        weights, self.encoder = functional(Transformer(c.N + 1, 3, c.d, c.d, generators, **sizes))
        drawn = [torch.randn(shape, generator=g) for g in generators]
        return [self.column("init") * torch.stack(drawn), *weights]

    # The two sides, as functions of the weights of the contrastive part.

    def vectors(self, weights: Weights) -> Tensor:
        """(R, N, d) the symbols' vectors."""
        return weights[0]

    def encode(self, weights: Weights, contexts: Tensor) -> Tensor:
        """(R, n, d) embeddings of contexts (R, n, 3)."""
        return self.encoder(weights[1:], contexts)

    def objective(self, weights: Weights, symbols: Tensor, contexts: Tensor) -> Tensor:
        """(R,) SL eq. 2 of a batch, symbols (R, B) and contexts (R, B, 3): `losses.symbol_context`.

        Written as one softmax, which costs a fifth of the step less.
        """
        z = lookup(self.vectors(weights), symbols)
        c = self.encode(weights, contexts)
        scores = z @ c.mT  # (R, B, B)
        return -F.log_softmax(scores, -1).diagonal(dim1=1, dim2=2).mean(1)

    def batches(self, s: State, order: Tensor) -> list[tuple[Tensor, Tensor]]:
        """An epoch's batches: symbols (R, B), contexts (R, B, 3). A single sample left over is none: its loss is 0."""
        size = self.config.batch
        three = order[..., None].expand(-1, -1, 3)  # of a context's places
        symbols = s.symbols.gather(1, order)
        contexts = s.contexts.gather(1, three)
        cut = zip(symbols.split(size, 1), contexts.split(size, 1), strict=True)
        return [(u, rho) for u, rho in cut if u.shape[1] > 1]

    # Training.

    @torch.no_grad()
    def begin(self, s):
        """The state with the loss before the first step."""
        total = 0
        for symbols, contexts in self.batches(s, s.order):
            losses = self.objective(s.weights[: self.parts], symbols, contexts)
            total = total + losses * (symbols.shape[1] / self.config.samples)
        return s.replace(losses=total)

    def forward(self, s, drawn, t):
        """The losses of the last epoch: the contrastive one, then the classifiers', which are 0 before they learn."""
        return torch.cat([s.losses[:, None], s.classifier_losses], 1), s.losses

    def step(self, s, drawn, losses, t):
        c = self.config
        own = s.weights[: self.parts]
        classifiers = s.weights[self.parts :]
        if t >= c.epochs:
            classifiers, memory, losses = self.classifier_epoch(s, classifiers, drawn.pairs)
            changes = {"classifier_memory": memory, "classifier_losses": losses}
            return changes | {"weights": own + classifiers}
        own, memory, losses = self.contrastive_epoch(s, own, drawn.order)
        if t + 1 == c.epochs and classifiers:
            classifiers = self.seated(s, classifiers, self.vectors(own))
        changes = {"memory": memory, "losses": losses, "order": drawn.order}
        return changes | {"weights": own + classifiers}

    def contrastive_epoch(
        self, s: State, weights: Weights, order: Tensor
    ) -> tuple[Weights, dict, Tensor]:
        """Adam through the batches of an epoch.

        Returns:
            The new weights; Adam's new memory; (R,) the mean loss over the epoch's samples.
        """
        memory = s.memory
        total = 0
        for symbols, contexts in self.batches(s, order):
            losses = self.objective(weights, symbols, contexts)
            weights, memory = self.descended(s, weights, losses, memory)
            total = total + losses.detach() * (symbols.shape[1] / self.config.samples)
        return weights, memory, total

    # What is recorded.

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        """Of the contrastive part, which stands still once the classifiers learn; their accuracy, NaN before."""
        c = self.config
        own = s.weights[: self.parts]
        classifiers = s.weights[self.parts :]
        table = self.vectors(own)
        row = {"tables": table, "loss": losses}
        row["equivalent"], row["different"] = distances(table, c.k)
        if self.wants("floor"):
            symbols = s.symbols.gather(1, s.order)
            row["floor"] = floor(s.pmi, symbols, s.ids.gather(1, s.order), c.batch)
        row["accuracy"] = torch.full_like(s.classifier_losses, math.nan)
        if classifiers and t >= c.epochs:
            row["accuracy"] = self.accuracy(s, classifiers)
        return row

    def result(self, i, columns, head):
        c = self.config
        steps = columns["steps"]
        accuracy = columns.pop("accuracy")
        first = steps <= c.epochs
        learns = c.classifier != "none"
        later = (steps >= c.epochs) & learns
        accuracy = accuracy[later]
        at = steps[later] - c.epochs
        contrastive = {name: values[first] for name, values in columns.items()}
        learned = {start: accuracy[:, k] for k, start in enumerate(starts(c))}
        return self.Result(**head, **contrastive, accuracy=learned, accuracy_at=at)


run = Addition.run
