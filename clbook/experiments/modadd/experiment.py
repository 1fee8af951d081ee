"""Contrastive learning of modular addition: which symbols come to lie together (SL Sec. 5, App. A.6 to A.10).

A symbol u has a row z_u of a table, a context such as (?, b, c) goes through a transformer; SL eq. 2 brings a symbol
and its contexts together. Afterwards a run may train classifiers on its table (`classifier`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F

from clbook import data
from clbook.experiments.modadd.classifier import EVERY, STARTS, Classifiers, starts
from clbook.optim import Adam
from clbook.runs import Draws, Program, Several, alone, recorded_times, several, stream
from clbook.settings import Outcome, Settings, setting
from clbook.transformer import Transformer, bind, lookup

START, SAMPLES = 0, 1_000_003  # purposes of the streams of random numbers

COLLAPSED = 0.1  # mean distance of different pairs below which, with a loss of log(batch), nothing is left to compare


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default shows in seconds what SL's own settings (`PAPER`) show in minutes.

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
    seed: int = setting(0, "seed of start, split and batches", low=0, high=2**31, each=True)

    def check(self):
        if self.k > self.N:
            raise self.error("k", f"a whole number >= 1 and <= N = {self.N}")
        if self.d % self.heads:
            raise self.error("heads", f"a divisor of d = {self.d}")
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
DECAYS = ("base", "no decay", "no decay, small start")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the epochs `steps` (T,) of the contrastive part.

    Attributes:
        steps: (T,) recorded epochs. tables: (T, N, d) the symbols' embeddings z_u.
        loss: (T,) SL eq. 2, mean over the batches of the epoch (before any step at epoch 0).
        floor: (T,) the same batches' loss where z_u . E(rho) is exactly log p(rho | u) / p(rho) (Lemma A.1).
        equivalent, different: (T,) mean distance |z_u - z_v| of pairs that agree mod k, and of the others.
        accuracy: {start: (T',)} of the classifiers on pairs they have not seen, at their epochs accuracy_at (T',).
        ratio: (T,) equivalent / different; NaN where there are no such pairs.
        collapsed: at the end every distance is small and the loss that of guessing: the ratio says nothing then.
    """

    steps: np.ndarray
    tables: np.ndarray
    loss: np.ndarray
    floor: np.ndarray
    equivalent: np.ndarray
    different: np.ndarray
    accuracy: dict
    accuracy_at: np.ndarray

    @property
    def ratio(self) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.equivalent / self.different

    @property
    def collapsed(self) -> bool:
        guessing = self.loss[-1] > 0.99 * math.log(min(self.config.batch, self.config.samples))
        return bool(guessing and not self.different[-1] > COLLAPSED)


def over_seeds(results: Sequence[Result], name: str) -> np.ndarray:
    """(T, S) of S runs, a column each: the field `name`, or the accuracy from the start `name`; T of the shortest."""
    columns = [r.accuracy[name] if name in STARTS else getattr(r, name) for r in results]
    return np.stack([c[: min(map(len, columns))] for c in columns], 1)


def distances(tables: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean distance of equivalent and of different pairs of rows of tables (..., N, d): two tensors (...), or NaN."""
    u, v = torch.triu_indices(tables.shape[-2], tables.shape[-2], offset=1)
    same = (u - v) % k == 0
    means = []
    for kind in (same, ~same):
        first, second = u[kind].to(tables.device), v[kind].to(tables.device)
        means.append((tables[..., first, :] - tables[..., second, :]).norm(dim=-1).mean(-1))
    return means[0], means[1]


def one_heavy_context(
    symbols: torch.Tensor, chosen: Iterable[int], p: float, generator: torch.Generator
) -> torch.Tensor:
    """Weights p(context | symbol) of samples with symbols (n,): uniform, but p on a random sample of each `chosen` one.

    SL App. A.10: the heavy context takes p, the symbol's others share 1 - p evenly. Returns (n,), sums to 1 a symbol.
    """
    weights = 1 / symbols.bincount()[symbols].double()
    for u in chosen:
        (mine,) = torch.nonzero(symbols == u, as_tuple=True)
        if len(mine) > 1:
            weights[mine] = (1 - p) / (len(mine) - 1)
            weights[mine[torch.randint(len(mine), (1,), generator=generator)]] = p
    return weights


class Samples:
    """The training samples of one run, and the epochs drawn from them.

    symbols (n,), contexts (n, 3) with numbers ids (n,), weights (n,) = p(rho | u) within the run's split, and pmi
    (N, 2 N k), the pointwise mutual information of symbol and context in that split. whole: all samples there are,
    first those of the split.
    """

    def __init__(self, config: Config, whole: bool = False):
        self.generator = stream(config.seed, SAMPLES)
        symbols, contexts = data.cmodadd(config.N, config.k)
        if config.misaligned == "shuffled":
            symbols = symbols[torch.randperm(len(symbols), generator=self.generator)]
        kept = torch.randperm(len(symbols), generator=self.generator)[
            : None if whole else config.samples
        ]
        self.symbols, self.contexts = symbols[kept], contexts[kept]
        chosen = {
            "one": torch.randint(config.N, (1,), generator=self.generator).tolist(),
            "all": range(config.N),
        }
        chosen = chosen.get(config.misaligned, ())
        self.weights = one_heavy_context(self.symbols, chosen, config.p, self.generator)
        self.uneven = bool(chosen)
        numbered, ids = torch.unique(contexts, dim=0, return_inverse=True)
        self.ids = ids[kept]
        joint = torch.zeros(config.N, len(numbered), dtype=torch.float64)
        joint.index_put_((self.symbols, self.ids), self.weights, accumulate=True)
        self.pmi = (joint / joint.mean(0)).log()

    def epoch(self) -> torch.Tensor:
        """Indices (n,) of one epoch: every sample once, or as many draws by weight where the contexts are uneven."""
        n = len(self.symbols)
        if self.uneven:
            return torch.multinomial(self.weights, n, replacement=True, generator=self.generator)
        return torch.randperm(n, generator=self.generator)


def floor(pmi: torch.Tensor, symbols: torch.Tensor, ids: torch.Tensor, batch: int) -> torch.Tensor:
    """Loss of the exact PMI on the batches that an epoch is cut into, (R,).

    Args: pmi (R, N, contexts); symbols, ids (R, n), the epoch's samples in their order; batch: samples in a batch.
    """
    total, run = 0, torch.arange(len(pmi), device=pmi.device)[:, None, None]
    for u, rho in zip(symbols.split(batch, 1), ids.split(batch, 1), strict=True):
        scores = pmi[run, u[:, :, None], rho[:, None]]
        total = total + (scores.logsumexp(-1) - scores.diagonal(dim1=1, dim2=2)).sum(-1)
    return total / symbols.shape[1]


class Training(Program):
    """R contrastive runs, each followed by the classifiers asked for; a step is an epoch."""

    Result = Result

    def setup(self):
        c, s = self.config, self.state
        made = {
            (k.seed, k.misaligned, k.p): Samples(k) for k in self.configs
        }  # runs that draw the same draw once
        samples = [made[k.seed, k.misaligned, k.p] for k in self.configs]
        s.symbols, s.contexts, s.ids, s.pmi = (
            torch.stack([getattr(own, name) for own in samples])
            for name in ("symbols", "contexts", "ids", "pmi")
        )
        self.draws = Draws(samples, Samples.epoch)
        generators = [stream(k.seed, START) for k in self.configs]
        self.encoder = Transformer(
            c.N + 1, 3, c.d, c.d, generators, layers=c.layers, heads=c.heads, hidden=c.hidden
        )
        table = self.each("init") * torch.stack(
            [torch.randn(c.N, c.d, generator=g) for g in generators]
        )
        self.trained = [table, *(w.detach() for w in self.encoder.parameters())]
        self.classifiers, self.times = None, set(recorded_times(c.epochs))
        if c.classifier != "none":
            self.classifiers = Classifiers(self.configs)
            self.times |= {c.epochs + t for t in recorded_times(c.classifier_epochs, EVERY)}

    def to(self, device, dtype=None) -> Training:
        if self.classifiers:
            self.classifiers.to(device, dtype)
        return super().to(device, dtype)

    @property
    def encoder_weights(self) -> list[torch.Tensor]:
        """The encoder's part of `trained`."""
        return self.trained[1:]

    def begin(self):
        self.optimiser = Adam(
            self.trained, self.config.lr, self.each("decay"), self.config.decay_kind
        )
        bind(self.encoder, self.encoder_weights)
        with torch.no_grad():
            self.epoch(learn=False)

    def keep(self, stay: torch.Tensor) -> None:
        super().keep(stay)
        bind(self.encoder, self.encoder_weights)
        if self.classifiers:
            self.classifiers.keep(stay.repeat_interleave(len(self.classifiers.starts)))

    def batches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The epoch's batches: symbols (R, B), contexts (R, B, 3). A single sample left over is none: its loss is 0."""
        s, size = self.state, self.config.batch
        symbols = s.symbols.gather(1, s.drawn)
        contexts = s.contexts.gather(1, s.drawn[..., None].expand(-1, -1, 3))
        for batch in zip(symbols.split(size, 1), contexts.split(size, 1), strict=True):
            if batch[0].shape[1] > 1:
                yield batch

    def objective(self, symbols: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
        """(R,) SL eq. 2 of a batch: `losses.symbol_context`, as one softmax, which costs a fifth of the step less.

        In one dimension a product of numbers: its gradient by BLAS would depend on the number of runs.
        """
        z, c = lookup(self.trained[0], symbols), self.encoder(contexts)
        scores = z * c.mT if self.config.d == 1 else z @ c.mT
        return -F.log_softmax(scores, -1).diagonal(dim1=1, dim2=2).mean(1)

    def epoch(self, learn: bool = True) -> None:
        """Draw an epoch and go through its batches; `state.losses` (R,) becomes the mean over its samples."""
        s, total = self.state, 0
        s.drawn = self.draws.next()
        for symbols, contexts in self.batches():
            losses = self.objective(symbols, contexts)
            if learn:
                self.descend(losses)
            total = total + losses.detach() * (symbols.shape[1] / self.config.samples)
        s.losses = total

    def now(self, t):
        """(R, 1) the loss of the last epoch; (R, 1 + starts) with the classifiers' once they are at work."""
        losses = self.state.losses[:, None]
        if t < self.config.epochs or not self.classifiers:
            return losses
        if t == self.config.epochs:
            self.classifiers.seat(self.trained[0])
        return torch.cat([losses, self.classifiers.now(t).view(len(losses), -1)], 1)

    def advance(self, t):
        if t < self.config.epochs:
            self.epoch()
        else:
            self.classifiers.advance(t)

    @torch.no_grad()
    def measure(self, z, t):
        """Of the contrastive part, which stands still once the classifiers learn, and their accuracy (NaN before)."""
        c, s, table = self.config, self.state, self.trained[0]
        equivalent, different = distances(table, c.k)
        row = {
            "tables": table,
            "loss": s.losses,
            "equivalent": equivalent,
            "different": different,
            "floor": floor(s.pmi, s.symbols.gather(1, s.drawn), s.ids.gather(1, s.drawn), c.batch),
        }
        nothing = table.new_full((len(table), len(starts(c))), math.nan)
        return row | {
            "accuracy": self.classifiers.accuracy()
            if self.classifiers and t >= c.epochs
            else nothing
        }

    def result(self, i, columns, head):
        c, accuracy, steps = self.config, columns.pop("accuracy"), columns["steps"]
        first, later = steps <= c.epochs, (steps >= c.epochs) & (c.classifier != "none")
        return Result(
            **head,
            **{name: values[first] for name, values in columns.items()},
            accuracy={start: accuracy[later, j] for j, start in enumerate(starts(c))},
            accuracy_at=steps[later] - c.epochs,
        )


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train a symbol table and an encoder on contrastive modular addition, then the classifiers asked for.

    Args:
        config: the settings.
        progress: `progress(fraction, partial_result)`, about ten times a second; returning False stops the run, which
            then returns what it has, with `stopped` set.
        device: a torch device; None takes CUDA when there is one.

    Raises:
        ValueError: the run diverged; the message names lr, its value and its range.
    """
    return alone(Training, config, progress, device)


run.program = Training
APPENDIX = {name: change for name, change in VARIANTS.items() if name != "base"}
DECAY_AND_START = {name: VARIANTS[name] for name in DECAYS}


def run_variants(config: Config, *, progress=None, device=None) -> Several:
    """`run` for each of `VARIANTS` but the base, side by side."""
    return several(run, config, APPENDIX, progress=progress, device=device)


def run_decays(config: Config, *, progress=None, device=None) -> Several:
    """`run` for each of `DECAYS`, side by side."""
    return several(run, config, DECAY_AND_START, progress=progress, device=device)


run_variants.variants = run, APPENDIX
run_decays.variants = run, DECAY_AND_START


def by_name(sets: Sequence[Several]) -> dict[str, list[Result]]:
    """{name: the runs of that name, one a seed} from sets over several seeds."""
    return {name: [each[name] for each in sets] for name in sets[0].runs}
