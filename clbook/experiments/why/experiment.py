"""Who averages over what counts as alike: the counts, or the network? Symbols that are seen once against many times.

Symbols come in groups that mean the same: each draws its contexts from its group's. A symbol is seen m times, and the
loss is InfoNCE of symbol and context on exactly these occurrences (SL eq. 2 with all of them in one batch). Contexts
have a table of vectors. A symbol's vector is linear in its features, whose scalar products are 1 for a symbol with
itself, `alike` for two that look alike and 0 for others. With alike = 0 that is a table as well, and the counts alone
can bring symbols together; else the layer's kernel couples those that look alike (LS, VA Prop. 4.1).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor

from clbook.models import MLP, mlp, stacked
from clbook.training.loop import Training, array
from clbook.training.optim import per_run, sgd
from clbook.training.settings import (
    Outcome,
    Settings,
    iterations,
    quantity,
    recorded,
    recorded_every,
    seed_of,
    setting,
)
from clbook.training.shown import distance_ratio, on_main_axes
from clbook.training.streams import stream

OCCURRENCES, START, LAYERS = range(3)  # purposes of the streams of random numbers
ACTIVATION = "tanh"


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; by default each symbol is seen once and a layer sees who looks alike."""

    groups: int = setting(4, "number of groups of symbols that mean the same", low=2, high=10)
    symbols: int = setting(12, "symbols of a group", low=2, high=200)
    contexts: int = setting(24, "contexts of a group", low=1, high=400)
    m: int = setting(1, "how often each symbol is seen", low=1, high=10_000, log=True, each=True)
    sampled: bool = setting(
        True,
        "draw the occurrences; False has the probabilities themselves, for m without end",
        each=True,
    )
    noise: float = setting(
        0.1,
        "share of occurrences in any context, not only in the group's",
        above=0.0,
        high=1.0,
        each=True,
    )
    alike: float = setting(
        0.5,
        "scalar product of the features of two symbols that look alike; 0 is a table",
        low=0.0,
        high=1.0,
        each=True,
    )
    looks: str = setting(
        "same",
        "who looks alike: symbols of the same meaning, or groups that cross the meanings",
        choices=("same", "crossed"),
        each=True,
    )
    hidden: int = setting(
        0, "width of a hidden layer (tanh) behind the features; 0 has none", low=0, high=500
    )
    d: int = setting(8, "embedding dimensions", low=2, high=64)
    decay: float = setting(
        0.3,
        "weight decay; 1 - noise keeps every direction of a table from growing",
        low=0.0,
        high=10.0,
        each=True,
    )
    std: float = setting(
        0.01,
        "standard deviation of the start (contexts; symbols without a hidden layer)",
        above=0.0,
        high=1.0,
        log=True,
        each=True,
    )
    lr: float = setting(
        0.1,
        "learning rate, in units of how often a symbol or context is seen",
        above=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    steps: int = iterations(1000)
    record_every: int = recorded_every()
    seed: int = seed_of("the occurrences and of the start")

    def check(self):
        if self.looks == "crossed" and self.symbols % self.groups:
            raise self.error(
                "symbols",
                f"a multiple of groups = {self.groups}, so that looks can cross the meanings",
            )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps`."""

    steps: np.ndarray = recorded()
    loss: np.ndarray = quantity(
        "loss without the decay, less log(number of occurrences)", dims="step"
    )
    z: np.ndarray = quantity("vectors of the symbols", dims="step symbol dim")
    joint: np.ndarray = quantity(
        "share of the occurrences that are of a symbol in a context", dims="symbol context"
    )
    features: np.ndarray = quantity("features of the symbols", dims="symbol feature")
    meaning: np.ndarray = quantity("group that a symbol shares contexts with", dims="symbol")
    looks: np.ndarray = quantity("group that a symbol looks like", dims="symbol")

    def ratio(self, by: str = "meaning", vectors: np.ndarray | None = None) -> np.ndarray:
        """Mean distance of two symbols of a group over that of two of different groups, (T,) or of `vectors` (T, S, d).

        by: "meaning" or "looks". Groups without order have about 1, groups with a single vector 0.
        """
        label = getattr(self, by)
        same = label[:, None] == label
        pairs = np.triu(np.ones_like(same), 1)
        z = self.z if vectors is None else vectors
        distance = np.array([np.linalg.norm(points[:, None] - points, axis=-1) for points in z])
        within = distance[:, same & pairs].mean(1)
        return within / np.maximum(distance[:, ~same & pairs].mean(1), 1e-300)

    def readout(self, by: str = "meaning", frame: int = -1) -> float:
        """Share of symbols that lie nearest to their own group's centre, taken over the other symbols."""
        z, group = self.z[frame], getattr(self, by)  # (S, d), (S,)
        member = np.eye(self.config.groups)[group]  # (S, G)
        # Each symbol is left out of its own group's sum, (S, G, d).
        sums = member.T @ z - member[:, :, None] * z[:, None]
        centres = sums / (member.sum(0) - member)[:, :, None]
        nearest = np.linalg.norm(centres - z[:, None], axis=-1).argmin(1)
        return float((nearest == group).mean())

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """How fast each direction grows at a small start, without hidden layer and decay; see `growth`.

        Returns: rates (k,), descending; shares (k, 2) of each direction's pattern over the symbols that its groups of
            meaning, and of looks, account for.
        """
        return growth(self.joint, self.features, self.meaning, self.looks)


def growth(joint, features, *groupings) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of X' A, A_us = sqrt(S P) (p(u, s) - p(u) p(s)), and what groups share in each direction.

    From a small start z = X W and C / sqrt(S/P) follow dW = X' A C, dC = A' X W: each pair of singular vectors of X' A
    grows exponentially, at the rate of its singular value less the decay.

    Args:
        joint: (S, P). features: X (S, D). groupings: each (S,), a number for each symbol's group.
    Returns: (k,) rates above rounding, descending; (k, len(groupings)) R^2 of a direction's pattern X u, (S,), over
        the symbols in terms of its means over groups.
    """
    independent = joint.sum(1, keepdims=True) * joint.sum(0)
    centred = np.sqrt(joint.size) * (joint - independent)
    left, rates, _ = np.linalg.svd(features.T @ centred, full_matrices=False)
    kept = rates > 1e-6 * max(rates[0], 1e-300)
    pattern = features @ left[:, kept]  # (S, k)
    shares = []
    for label in groupings:
        member = np.eye(label.max() + 1)[label]
        means = member @ (member.T @ pattern / member.sum(0)[:, None])
        shares.append((means**2).sum(0) / (pattern**2).sum(0))
    return rates[kept], np.stack(shares, 1)


def groups(config: Config) -> tuple[Tensor, Tensor]:
    """(S,) group of meaning and (S,) group of looks of each symbol, S = groups times symbols."""
    meaning = torch.arange(config.groups).repeat_interleave(config.symbols)
    if config.looks == "same":
        return meaning, meaning
    return meaning, torch.arange(len(meaning)) % config.groups


def root(number: float) -> float:
    """The square root, also of a setting that a trace follows."""
    if hasattr(number, "sqrt"):
        return number.sqrt()
    return math.sqrt(number)


def features(config: Config) -> Tensor:
    """(S, groups + S) float64: sqrt(alike) in the entry of one's looks, sqrt(1 - alike) in an entry of one's own."""
    _, looks = groups(config)
    belongs = looks[:, None] == torch.arange(config.groups)
    shared = root(config.alike) * belongs.double()
    alone = torch.eye(len(looks), dtype=torch.float64)
    return torch.cat([shared, root(1 - config.alike) * alone], 1)


def probabilities(config: Config) -> Tensor:
    """(S, P) float64: the chance of each context, given a symbol; P = groups times contexts."""
    meaning, _ = groups(config)
    own = meaning[:, None] == torch.arange(config.groups).repeat_interleave(config.contexts)
    fits = (1 - config.noise) * own.double() / config.contexts
    anywhere = config.noise / own.shape[1]
    return fits + anywhere


def joint(config: Config) -> Tensor:
    """(S, P) float64: the share of all occurrences that are of a symbol in a context; each symbol has equally many."""
    chances = probabilities(config)
    if config.sampled:
        generator = stream(config.seed, OCCURRENCES)
        drawn = torch.multinomial(chances, config.m, replacement=True, generator=generator)
        counts = torch.zeros_like(chances)
        chances = counts.scatter_add_(1, drawn, torch.ones(drawn.shape, dtype=chances.dtype))
    return chances / chances.sum()


def infonce(z: Tensor, c: Tensor, joint: Tensor) -> Tensor:
    """SL eq. 2 over a batch of all occurrences, less the logarithm of their number.

    -E[z_u . c_s] + E_u log E_s'[exp(z_u . c_s')], (u, s) drawn from `joint` and s' from its second marginal.

    Args: z (..., S, d), c (..., P, d), joint (..., S, P), entries sum to one. Returns: (...).
    """
    logits = z @ c.mT
    pushed = (logits + joint.sum(-2, keepdim=True).log()).logsumexp(-1)
    return (joint.sum(-1) * pushed).sum(-1) - (joint * logits).sum((-2, -1))


class Symbols(Training):
    """R gradient descents with decay on the symbols' weights and the contexts' table, in float64."""

    Result = Result
    compiles = ("objective",)

    def setup(self):
        s, c = self.state, self.config
        joints = [joint(config) for config in self.configs]
        s.joint = torch.stack(joints)  # (R, S, P)
        meaning, _ = groups(self.config)
        self.labels = meaning.numpy()
        s.x = torch.stack([features(config) for config in self.configs])
        s.decay = self.column("decay", torch.float64)
        s.lr = self.column("lr", torch.float64)
        self.symbols, self.contexts = s.joint.shape[1:]
        width = s.x.shape[-1]
        shape = self.contexts + width, c.d
        generators = [stream(config.seed, START) for config in self.configs]
        drawn = [torch.randn(shape, generator=g, dtype=torch.float64) for g in generators]
        start = self.column("std", torch.float64) * torch.stack(drawn)
        contexts, linear = start.split([self.contexts, width], 1)
        s.weights = [linear, contexts]
        if c.hidden:
            widths = (width, c.hidden, c.d)
            networks = [MLP(widths, ACTIVATION, stream(k.seed, LAYERS)) for k in self.configs]
            s.weights = [*stacked([network.double() for network in networks]), contexts]

    def embed(self, s) -> Tensor:
        """(R, S, d) the symbols' vectors."""
        *layers, _ = s.weights
        return mlp(layers, s.x, ACTIVATION) if self.config.hidden else s.x @ layers[0]

    def objective(self, s) -> tuple[Tensor, Tensor]:
        """(R, S, d) the symbols' vectors, and (R,) losses without decay."""
        z = self.embed(s)
        return z, infonce(z, s.weights[-1], s.joint)

    def forward(self, s, drawn, t):
        return self.objective(s)

    def step(self, s, drawn, losses, t):
        *layers, contexts = self.gradients(losses, s.weights)
        # The loss is a mean: in these units a symbol, and a context, feels the mean over its own occurrences.
        gradients = [*(self.symbols * g for g in layers), self.contexts * contexts]
        rates = per_run(s.decay, s.weights)
        weights = [w.detach() for w in s.weights]
        slopes = [g + rate * w for g, rate, w in zip(gradients, rates, weights, strict=True)]
        return {"weights": sgd(weights, slopes, s.lr)}

    def measure(self, s, z, losses, t):
        return {"z": z, "loss": losses}

    def shown(self, s, recorded):
        """The symbols on their two main axes, what each looks like, and `Result.ratio` by meaning and by looks."""
        z = recorded["z"]
        meaning, looks = groups(self.config)
        by_meaning, by_looks = (
            distance_ratio(z, group[:, None] == group) for group in (meaning, looks)
        )
        return {
            "plane": on_main_axes(z),
            "looks": looks.expand(len(z), -1),
            "ratio": by_meaning,
            "ratio_looks": by_looks,
        }

    def result(self, i, columns, head):
        meaning, looks = (label.numpy() for label in groups(head["config"]))
        return Result(
            **head,
            **columns,
            joint=array(self.state.joint[i]),
            features=features(head["config"]).numpy(),
            meaning=meaning,
            looks=looks,
        )


run = Symbols.run
