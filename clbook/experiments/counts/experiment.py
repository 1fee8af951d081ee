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
import torch.nn.functional as F

from clbook.models import MLP, mlp, stacked
from clbook.optim import Descent
from clbook.runs import Program, alone, stream
from clbook.settings import Outcome, Settings, setting

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
    steps: int = setting(1000, "iterations", unit="iterations", low=1, high=100_000, log=True)
    record_every: int = setting(
        0,
        "record every this many iterations; 0 records a geometric series of times",
        unit="iterations",
        low=0,
        high=10_000,
    )
    seed: int = setting(0, "seed of the occurrences and of the start", low=0, high=2**31, each=True)

    def check(self):
        if self.looks == "crossed" and self.symbols % self.groups:
            raise self.error(
                "symbols",
                f"a multiple of groups = {self.groups}, so that looks can cross the meanings",
            )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps` (T,).

    Attributes:
        steps: (T,) recorded iterations. loss: (T,) without the decay, less log(number of occurrences).
        z: (T, S, d) vectors of the symbols.
        joint: (S, P) share of the occurrences that are of a symbol in a context. features: (S, D) of the symbols.
        meaning, looks: (S,) the group that a symbol shares contexts with, and the one that it looks like.
    """

    steps: np.ndarray
    loss: np.ndarray
    z: np.ndarray
    joint: np.ndarray
    features: np.ndarray
    meaning: np.ndarray
    looks: np.ndarray

    def ratio(self, by: str = "meaning", vectors: np.ndarray | None = None) -> np.ndarray:
        """Mean distance of two symbols of a group over that of two of different groups, (T,) or of `vectors` (T, S, d).

        by: "meaning" or "looks". Groups without order have about 1, groups with a single vector 0.
        """
        label = getattr(self, by)
        same = label[:, None] == label
        pairs = np.triu(np.ones_like(same), 1)
        z = self.z if vectors is None else vectors
        distance = np.array([np.linalg.norm(points[:, None] - points, axis=-1) for points in z])
        return distance[:, same & pairs].mean(1) / np.maximum(
            distance[:, ~same & pairs].mean(1), 1e-300
        )

    def readout(self, by: str = "meaning", frame: int = -1) -> float:
        """Share of symbols that lie nearest to their own group's centre, taken over the other symbols."""
        z, member = self.z[frame], np.eye(self.config.groups)[getattr(self, by)]  # (S, d), (S, G)
        sums = (
            member.T @ z - member[:, :, None] * z[:, None]
        )  # (S, G, d), each symbol left out of its own group's
        centres = sums / (member.sum(0) - member)[:, :, None]
        nearest = np.linalg.norm(centres - z[:, None], axis=-1).argmin(1)
        return float((nearest == getattr(self, by)).mean())

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
    centred = np.sqrt(joint.size) * (joint - joint.sum(1, keepdims=True) * joint.sum(0))
    left, rates, _ = np.linalg.svd(features.T @ centred, full_matrices=False)
    kept = rates > 1e-6 * max(rates[0], 1e-300)
    pattern = features @ left[:, kept]  # (S, k)
    shares = []
    for label in groupings:
        member = np.eye(label.max() + 1)[label]
        means = member @ (member.T @ pattern / member.sum(0)[:, None])
        shares.append((means**2).sum(0) / (pattern**2).sum(0))
    return rates[kept], np.stack(shares, 1)


def groups(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """(S,) group of meaning and (S,) group of looks of each symbol, S = groups times symbols."""
    meaning = torch.arange(config.groups).repeat_interleave(config.symbols)
    return meaning, meaning if config.looks == "same" else torch.arange(
        len(meaning)
    ) % config.groups


def features(config: Config) -> torch.Tensor:
    """(S, groups + S) float64: sqrt(alike) in the entry of one's looks, sqrt(1 - alike) in an entry of one's own."""
    _, looks = groups(config)
    return torch.cat(
        [
            math.sqrt(config.alike) * F.one_hot(looks, config.groups).double(),
            math.sqrt(1 - config.alike) * torch.eye(len(looks), dtype=torch.float64),
        ],
        1,
    )


def probabilities(config: Config) -> torch.Tensor:
    """(S, P) float64: the chance of each context, given a symbol; P = groups times contexts."""
    meaning, _ = groups(config)
    own = meaning[:, None] == torch.arange(config.groups).repeat_interleave(config.contexts)
    return (1 - config.noise) * own.double() / config.contexts + config.noise / own.shape[1]


def joint(config: Config) -> torch.Tensor:
    """(S, P) float64: the share of all occurrences that are of a symbol in a context; each symbol has equally many."""
    chances = probabilities(config)
    if config.sampled:
        drawn = torch.multinomial(
            chances, config.m, replacement=True, generator=stream(config.seed, OCCURRENCES)
        )
        chances = torch.zeros_like(chances).scatter_add_(
            1, drawn, torch.ones(drawn.shape, dtype=chances.dtype)
        )
    return chances / chances.sum()


def infonce(z: torch.Tensor, c: torch.Tensor, joint: torch.Tensor) -> torch.Tensor:
    """SL eq. 2 over a batch of all occurrences, less the logarithm of their number.

    -E[z_u . c_s] + E_u log E_s'[exp(z_u . c_s')], (u, s) drawn from `joint` and s' from its second marginal.

    Args: z (..., S, d), c (..., P, d), joint (..., S, P), entries sum to one. Returns: (...).
    """
    logits = z @ c.mT
    pushed = (logits + joint.sum(-2, keepdim=True).log()).logsumexp(-1)
    return (joint.sum(-1) * pushed).sum(-1) - (joint * logits).sum((-2, -1))


def endless_distance(config: Config) -> float:
    """Distance of two groups' vectors at the optimum for endless occurrences, without hidden layer, d >= groups - 1.

    There all of a group have one vector. By symmetry the logits are a (1[fits] - 1/G), with penalty decay (G-1) a
    / (G sqrt(kappa)), kappa = 1 + alike (symbols - 1) being the kernel's sum over a group; 0 where that is too high.
    Raises ValueError: looks that cross the meanings.
    """
    if config.looks != "same":
        raise config.error(
            "looks", "same: the closed form is for symbols that look like those of their meaning"
        )
    count, kappa = config.groups, 1 + config.alike * (config.symbols - 1)
    fits = 1 - config.noise * (count - 1) / count  # how often a context fits its symbol's meaning
    share = fits - config.decay * (count - 1) / count / math.sqrt(kappa)  # the softmax that it gets
    if share * count <= 1:
        return 0.0
    return math.sqrt(2 * math.sqrt(kappa) * math.log((count - 1) * share / (1 - share)))


class Flow(Program):
    """R gradient descents with decay on the symbols' weights and the contexts' table, in float64."""

    Result, compiles = Result, ("objective",)

    def setup(self):
        s, c = self.state, self.config
        self.joints = [joint(config) for config in self.configs]
        s.joint, s.x = (
            torch.stack(self.joints),
            torch.stack([features(config) for config in self.configs]),
        )
        s.decay, std, s.lr = (self.each(name, torch.float64) for name in ("decay", "std", "lr"))
        (self.symbols, self.contexts), width = s.joint.shape[1:], s.x.shape[-1]
        start = std * torch.stack(
            [
                torch.randn(
                    self.contexts + width,
                    c.d,
                    generator=stream(config.seed, START),
                    dtype=torch.float64,
                )
                for config in self.configs
            ]
        )
        contexts, linear = start.split([self.contexts, width], 1)
        self.trained = [linear, contexts]
        if c.hidden:
            networks = [
                MLP((width, c.hidden, c.d), ACTIVATION, stream(k.seed, LAYERS)).double()
                for k in self.configs
            ]
            self.trained = [*stacked(networks), contexts]

    def begin(self):
        self.optimiser = Descent(self.trained, self.state.lr)

    def embed(self) -> torch.Tensor:
        """(R, S, d) the symbols' vectors."""
        *layers, _ = self.trained
        return (
            mlp(layers, self.state.x, ACTIVATION)
            if self.config.hidden
            else self.state.x @ layers[0]
        )

    def objective(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(R,) losses without decay, and (R, S, d) the symbols' vectors."""
        z = self.embed()
        return infonce(z, self.trained[-1], self.state.joint), z

    def now(self, t):
        self.losses, z = self.objective()
        return z

    def advance(self, t):
        *layers, contexts = torch.autograd.grad(self.losses.sum(), self.trained)
        # The loss is a mean: in these units a symbol, and a context, feels the mean over its own occurrences.
        gradients = [*(self.symbols * g for g in layers), self.contexts * contexts]
        decay = [
            self.state.decay.reshape(-1, *(1,) * (w.ndim - 1)) * w.detach() for w in self.trained
        ]
        self.optimiser.step([g + shrink for g, shrink in zip(gradients, decay, strict=True)])

    def measure(self, z, t):
        return {"z": z, "loss": self.losses}

    def result(self, i, columns, head):
        meaning, looks = (label.numpy() for label in groups(head["config"]))
        return Result(
            **head,
            **columns,
            joint=self.joints[i].numpy(),
            features=features(head["config"]).numpy(),
            meaning=meaning,
            looks=looks,
        )


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train symbols and contexts on the occurrences that `config` says.

    Args:
        config: the settings.
        progress: `progress(fraction, partial_result)`, about ten times a second; returning False stops the run, which
            then returns what it has, with `stopped` set.
        device: a torch device; None takes CUDA when there is one.

    Returns:
        The recorded arrays.

    Raises:
        ValueError: the run diverged; the message names lr, its value and its range.
    """
    return alone(Flow, config, progress, device)


run.program = Flow
