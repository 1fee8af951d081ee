"""What contrastive learning keeps of latents that a pair shares, and of those that it does not (CS Sec. 3 and 4).

Latents z with d_c content and d_s = d - d_c style dimensions are hidden by x = g(z); an encoder f is trained with
InfoNCE on pairs x, x~ (CS Sec. 4.1).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook import latents
from clbook.losses import infonce
from clbook.metrics import r2
from clbook.models import MLP, affine, stacked
from clbook.training.loop import State, Training, recorded_times
from clbook.training.optim import adam, adam_memory
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
from clbook.training.streams import Draws, stream, streams

MIXING, WEIGHTS, PAIRS, TESTED = range(4)  # purposes of the streams of random numbers
COSINE = 0  # of the stream of `pair_cosine`: MIXING's, too, but what is drawn there never meets a network's weights

LOSS_ON = 256  # pairs on which the recorded loss is measured
LEAST_TESTED = 1000  # latents on which a run's R^2 is measured, at least; a wide encoder needs more
ROUNDING = 1e-12  # an axis of features with less than this share of the largest variance has none
DRAWN_AT_ONCE = 2**21  # random numbers of one seed that a block of steps may hold: 8 MB


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default is linear, in the box, and style is suppressed."""

    space: str = setting("box", "where the latents live", choices=latents.SPACES)
    d: int = setting(8, "dimensions of latents, observations and embeddings", low=2, high=64)
    d_c: int = setting(2, "number of content dimensions", low=0, high=64, each=True)
    style_sd: float = setting(
        0.3,
        "standard deviation of style within a pair (sphere: 1/sqrt(concentration))",
        low=0.01,
        high=10.0,
        log=True,
        each=True,
    )
    content_sd: float = setting(
        0.0, "standard deviation of content within a pair; box only", low=0.0, high=10.0, each=True
    )
    mixing_layers: int = setting(1, "layers of g; one is linear", low=1, high=10)
    layers: int = setting(1, "layers of f; one is linear, without bias", low=1, high=20)
    width: int = setting(50, "width of the hidden layers of f", low=1, high=1000)
    normalize: bool = setting(
        False, "similarity of normalised embeddings (cosine); off: minus a distance to a power"
    )
    p: int = setting(2, "that power: |a - b|^p, summed over dimensions", choices=(1, 2))
    tau: float = setting(1.0, "temperature", low=1e-3, high=100.0, log=True, each=True)
    tau_c: float = setting(
        1.0,
        "temperature of the first d_c embedding dimensions, over tau",
        low=1e-3,
        high=1e3,
        log=True,
        each=True,
    )
    tau_s: float = setting(
        1.0,
        "temperature of the other embedding dimensions, over tau",
        low=1e-3,
        high=1e3,
        log=True,
        each=True,
    )
    n: int = setting(
        128, "pairs in a batch; an anchor's negatives are the other n - 1", low=2, high=4096
    )
    lr: float = setting(0.01, "learning rate of Adam", above=0.0, high=1.0, log=True)
    steps: int = iterations(2000)
    record_every: int = recorded_every(high=100_000)
    seed: int = seed_of("g, weights and latents")

    def check(self):
        if self.d_c > self.d:
            raise self.error("d_c", f"at most the number of dimensions, d = {self.d}")
        if self.content_sd and self.space == "sphere":
            raise self.error(
                "content_sd", "0 on the sphere: there content does not change within a pair"
            )

    @property
    def temperatures(self) -> np.ndarray:
        """(d,) the temperature of each embedding dimension."""
        return self.tau * np.where(np.arange(self.d) < self.d_c, self.tau_c, self.tau_s)


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded. Layers are counted from x, which is layer 0, to the embedding f(x)."""

    steps: np.ndarray = recorded()
    map: np.ndarray = quantity(
        "the matrix of f o g, from latents to embeddings before any normalisation; "
        "NaN unless f and g are linear",
        dims="step dim latent",
    )
    loss: np.ndarray = quantity(
        f"InfoNCE on {LOSS_ON} pairs that training has not seen", dims="step", on_request=True
    )
    r2: np.ndarray = quantity(
        "adjusted R^2 of each latent under the best affine map from each layer; "
        "NaN where f is linear: an invertible matrix keeps it at its value for x",
        dims="step layer latent",
        on_request=True,
    )

    @property
    def undone(self) -> np.ndarray:
        """(T, d, d) the map with the temperatures undone: in the units in which every one of them is 1.

        A distance |x_k|^p / tau_k is |x_k / tau_k^(1/p)|^p, so row k of the map is divided by tau_k^(1/p).
        """
        p = 2 if self.config.normalize else self.config.p
        units = self.config.temperatures ** (1 / p)
        return self.map / units[:, None]

    @property
    def content_r2(self) -> np.ndarray:
        """(T, layers + 1) mean R^2 of the content; NaN without content."""
        return _mean(self.r2[..., : self.config.d_c])

    @property
    def style_r2(self) -> np.ndarray:
        """(T, layers + 1) mean R^2 of the style; NaN without style."""
        return _mean(self.r2[..., self.config.d_c :])


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis; NaN where it is empty."""
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    return values.mean(-1)


def singular(maps: np.ndarray) -> np.ndarray:
    """(..., d) singular values of maps (..., d, d), divided by the largest, descending (CS Fig. 1, left)."""
    values = np.linalg.svd(maps, compute_uv=False)
    return values / values[..., :1]


def gains(maps: np.ndarray) -> np.ndarray:
    """(..., d) how much the map (..., d, d) stretches each latent: the lengths of its columns."""
    return np.linalg.norm(maps, axis=-2)


def style_gain(maps: np.ndarray, d_c: int) -> np.ndarray:
    """(...) mean gain of style divided by mean gain of content; 0 < d_c < d."""
    gain = gains(maps)
    content = gain[..., :d_c].mean(-1)
    style = gain[..., d_c:].mean(-1)
    return style / content


def fresh_pairs(config: Config, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """n latents and their positives, drawn as the settings say.

    Returns:
        z and z~, both (n, d).
    """
    c = config
    z = latents.marginal(n, c.d, c.space, generator)
    return z, latents.positives(z, c.d_c, c.style_sd, c.space, generator, c.content_sd)


def pair_cosine(config: Config) -> float:
    """Mean cosine of the style parts of a pair, weighted by their squared length, on the sphere. Returns: rho."""
    z, positive = fresh_pairs(config, 20_000, stream(config.seed, COSINE))
    style = slice(config.d_c, None)
    together = (z * positive)[:, style].sum()
    size = z[:, style].square().sum()
    return float(together / size)


class Encoders(Training):
    """R runs of Adam on InfoNCE, each with an encoder f, a network g that hides the latents, and pairs of its own."""

    Result = Result
    compiles = ("objective",)
    decay = 0.0  # weight decay, decoupled; some programs of the room `cs` have one

    def setup(self):
        c = self.config
        s = self.state
        self.times = set(recorded_times(c.steps, c.record_every, ratio=1.5))
        s.mixing = self.mixings()
        s.d_c = self.column("d_c")
        s.style_sd = self.column("style_sd")
        s.content_sd = self.column("content_sd")
        s.tau = self.temperatures()
        s.weights = self.first_weights()
        self.draws["pairs"] = self.training_pairs()
        if self.record or not self.linear:  # what is on request, and what a page shows of layers
            s.tested = self.tested_pairs()  # pairs that training has not seen

    def temperatures(self) -> Tensor:
        """(R, 1, d) `Config.temperatures` of each run."""
        wide = torch.float64
        content = torch.arange(self.config.d) < self.column("d_c")
        own = torch.where(content, self.column("tau_c", wide), self.column("tau_s", wide))
        return (self.column("tau", wide) * own).float()

    def mixings(self) -> list[Tensor]:
        """The matrices (R, d, d) of each layer of g."""
        networks = [
            latents.rotations(config.d, config.mixing_layers, stream(config.seed, MIXING))
            for config in self.configs
        ]
        return [torch.stack(layer) for layer in zip(*networks, strict=True)]

    def first_weights(self) -> list[Tensor]:
        """Weights (R, out, in) of all layers of f, then, unless f is linear, their biases (R, out)."""
        c = self.config
        widths = (c.d, *[c.width] * (c.layers - 1), c.d)
        if c.layers == 1:
            return self.networks(widths)[:1]
        return deep_start(self.networks(widths))

    def networks(self, widths) -> list[Tensor]:
        """Parameters of R networks: weight (R, out, in) and bias (R, out), layer by layer."""
        networks = [
            MLP(widths, "leaky_relu", stream(config.seed, WEIGHTS)) for config in self.configs
        ]
        return stacked(networks)

    # Pairs.

    def numbers(self, n: int, generator: torch.Generator) -> Tensor:
        """The random numbers (n, k) of n pairs."""
        return latents.draws(n, self.config.d, self.config.space, generator)

    def training_pairs(self) -> Draws:
        """The numbers of the pairs that each step sees."""
        c = self.config

        def numbers(generator):
            return self.numbers(c.n, generator)

        one = numbers(stream(c.seed, PAIRS))
        return Draws(streams(self.configs, PAIRS), numbers, DRAWN_AT_ONCE // one.numel())

    def tested_pairs(self) -> Sequence[Tensor]:
        """Latents and positives (R, n, d) on which all quantities on request are measured."""
        enough = 2 * self.config.width  # R^2 needs more points than the rank of a layer
        n = max(LEAST_TESTED, enough)
        # A stream for each run: those of one seed see the same pairs.
        numbers = [self.numbers(n, stream(config.seed, TESTED)) for config in self.configs]
        return self.pairs(self.state, torch.stack(numbers))

    def pairs(self, s: State, numbers: Tensor) -> Sequence[Tensor]:
        """Latents and positives, both (R, n, d), from their random numbers (R, n, k)."""
        c = self.config
        return latents.pairs(numbers, c.d, s.d_c, s.style_sd, c.space, s.content_sd)

    # Training.

    def layers(self, weights: list[Tensor], x: Tensor) -> list[Tensor]:
        """[x, hidden layers, f(x)], each (R, n, width), of observations x (R, n, d)."""
        count = self.config.layers
        matrices = weights[:count]
        biases = weights[count:] or [None] * count  # a linear f has none
        last = count - 1
        seen = [x]
        for i, matrix in enumerate(matrices):
            x = affine(x, matrix, biases[i])
            if i < last:
                x = F.leaky_relu(x)
            seen.append(x)
        return seen

    def objective(self, s: State, z: Tensor, positive: Tensor) -> Tensor:
        """(R,) InfoNCE of pairs (R, n, d). As in CS eq. 1 the positives are compared with the n latents z."""
        c = self.config
        *_, embedded = self.layers(s.weights, latents.mixed(torch.cat([z, positive], 1), s.mixing))
        f_z, f_positive = embedded.split(z.shape[1], 1)
        return infonce(f_positive, f_z, tau=s.tau, p=c.p, normalize=c.normalize)

    def begin(self, s):
        return s.replace(memory=adam_memory(s.weights))

    def forward(self, s, drawn, t):
        z, positive = self.pairs(s, drawn.pairs)
        losses = self.objective(s, z, positive)
        return losses[:, None], losses

    def step(self, s, drawn, losses, t):
        gradients = self.gradients(losses, s.weights)
        weights, memory = adam(
            s.weights, gradients, s.memory, self.config.lr, self.decay, "decoupled"
        )
        return {"weights": weights, "memory": memory}

    # What is recorded.

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        row = {"map": self.linear_map(s)}
        if self.wants("loss"):
            z, positive = (side[:, :LOSS_ON] for side in s.tested)
            row["loss"] = self.objective(s, z, positive)
        if self.wants("r2"):
            row |= self.r2_of_layers(s)
        return row

    @property
    def linear(self) -> bool:
        """Whether f o g is a matrix."""
        return self.config.layers == 1 and self.config.mixing_layers == 1

    def linear_map(self, s: State) -> Tensor:
        """(R, d, d) the matrix of f o g; NaN unless f and g are linear."""
        if self.linear:
            return (s.weights[0] @ s.mixing[0]).double()
        d = self.config.d
        return torch.full((len(self.configs), d, d), math.nan, dtype=torch.float64)

    # What a page shows besides.

    def shown(self, s, recorded):
        if self.linear:
            return self.shown_of_map(s, recorded["map"])
        return self.shown_of_layers(s)

    def style(self, s: State) -> Tensor:
        """(R, d) 1 for each latent that is style, 0 for content."""
        index = torch.arange(self.config.d)
        return (index >= s.d_c[..., 0]).double()

    def means(self, s: State, values: Tensor) -> Tensor:
        """(R, 2) the mean of `values` (R, d) over content, and over style; NaN where there is none."""
        style = self.style(s)
        means = []
        for kind in (1 - style, style):
            whole = (kind * values).sum(-1)
            means.append(whole / kind.sum(-1))
        return torch.stack(means, -1)

    def shown_of_map(self, s: State, map_: Tensor) -> dict:
        """Gains, singular values over the largest, mean gains (content, style), `style_gain`, and who is style."""
        gain = map_.square().sum(-2).sqrt()
        squares = torch.linalg.eigvalsh(map_.mT @ map_).flip(-1).clamp(min=0)
        shares = squares / squares[..., :1]
        means = self.means(s, gain)
        return {
            "gain": gain,
            "singular": shares.sqrt(),
            "means": means,
            "style_gain": means[..., 1] / means[..., 0],
            "style": self.style(s),
        }

    def shown_of_layers(self, s: State) -> dict:
        """R^2 of the latents in each layer, that at the output, its means (content, style), the style's by layer."""
        z, _ = s.tested
        x = latents.mixed(z, s.mixing)

        # Layers of one width are taken together: in a page that is one piece of code.
        _, *hidden, output = self.layers(s.weights, x)
        by_layer = [explained(z, x)]
        if hidden:
            by_layer += explained(z[:, None], torch.stack(hidden, 1)).unbind(1)
        by_layer.append(explained(z, output))

        means = [self.means(s, r2) for r2 in by_layer]
        depth = torch.stack(means, 1)  # (R, layers + 1, 2)
        return {
            "r2": torch.stack(by_layer, 1),
            "read": by_layer[-1],
            "means": means[-1],
            "depth": depth[..., 1],
            "style": self.style(s),
        }

    def r2_of_layers(self, s: State) -> dict:
        """R^2 of the latents in each layer, NaN where f is linear; "finite" is False where a layer has overflowed."""
        c = self.config
        z, _ = s.tested
        found = np.full((len(z), c.layers + 1, c.d), np.nan)
        if c.layers == 1:
            return {"r2": found}
        layers = self.layers(s.weights, latents.mixed(z, s.mixing))
        whole = torch.cat(layers, 2).flatten(1)
        finite = whole.isfinite().all(1)
        for i, fine in enumerate(finite.tolist()):
            if fine:
                found[i] = [r2(z[i], layer[i]) for layer in layers]
        return {"r2": found, "finite": finite}


def explained(z: Tensor, features: Tensor) -> Tensor:
    """`metrics.r2` of whole stacks of points, by operations that a page can do.

    Both agree where no axis of the features is shorter than a millionth of the longest one: here it counts as none.

    Args:
        z: the latents (..., n, k). features: (..., n, d).

    Returns:
        (..., k) adjusted R^2 of each latent under the best affine map from the features.
    """
    z = centred(z)
    features = centred(features)

    # Each axis of the features gives a part of every latent, and these parts are orthogonal.
    spread, axes = torch.linalg.eigh(features.mT @ features)  # ascending
    largest = spread[..., -1:]
    there = spread > ROUNDING * largest
    common = features.mT @ z  # (..., d, k)
    along = axes.mT @ common
    weight = torch.where(there, 1 / spread, 0.0)
    parts = weight[..., None] * along.square()

    fitted = parts.sum(-2)
    total = z.square().sum(-2)
    missed = 1 - fitted / total  # 1 - R^2
    n = z.shape[-2]
    rank = there.sum(-1, keepdim=True)
    freedom = n - 1 - rank
    return 1 - missed * (n - 1) / freedom


def centred(points: Tensor) -> Tensor:
    """Points (..., n, d) less their mean, in double precision."""
    points = points.double()
    return points - points.mean(-2, keepdim=True)


def deep_start(parameters: Sequence[Tensor]) -> list[Tensor]:
    """The start of a deep encoder, from the parameters of fresh networks: all weights, then all biases.

    Weights have the size of He et al. 2015, biases are 0. PyTorch's own start is 6^(1/2) times smaller: it shrinks the
    signal, and a deep f then forgets style whatever it is trained with.
    """
    size = 6**0.5
    weights = [size * weight for weight in parameters[::2]]
    return weights + [torch.zeros_like(bias) for bias in parameters[1::2]]


run = Encoders.run
