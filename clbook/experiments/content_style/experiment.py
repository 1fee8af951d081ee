"""What contrastive learning keeps of latents that a pair shares, and of those that it does not (CS Sec. 3 and 4).

Latents z with d_c content and d_s = d - d_c style dimensions are hidden by x = g(z); an encoder f is trained with
InfoNCE on pairs x, x~ (CS Sec. 4.1).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F

from clbook.experiments.content_style import latents
from clbook.losses import infonce
from clbook.metrics import r2
from clbook.models import MLP, affine, stacked
from clbook.optim import Adam
from clbook.runs import BLOCK, Draws, Program, alone, recorded_times, stream, streams
from clbook.settings import Outcome, Settings, setting

MIXING, WEIGHTS, PAIRS, TESTED = range(4)  # purposes of the streams of random numbers

LOSS_ON = 256  # pairs on which the recorded loss is measured
LEAST_TESTED = 1000  # latents on which a run's R^2 is measured, at least; a wide encoder needs more
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
    steps: int = setting(2000, "iterations", unit="iterations", low=1, high=100_000, log=True)
    record_every: int = setting(
        0, "record every so many; 0: a geometric series", unit="iterations", low=0, high=100_000
    )
    seed: int = setting(0, "seed of g, weights and latents", low=0, high=2**20, each=True)

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
    """What one run recorded at the times `steps` (T,).

    Attributes:
        loss: (T,) InfoNCE on 256 fresh pairs. map: (T, d, d) the matrix of f o g from latents to embeddings, before any
            normalisation; NaN unless both are linear.
        r2: (T, layers + 1, d) adjusted R^2 of each latent under the best affine map from x (first), from each hidden
            layer, from the embedding (last); NaN where f is linear: an invertible matrix keeps it at its value for x.
    """

    steps: np.ndarray
    loss: np.ndarray
    map: np.ndarray
    r2: np.ndarray

    @property
    def undone(self) -> np.ndarray:
        """(T, d, d) the map in the units in which every temperature is 1: row k divided by tau_k^(1/p)."""
        return self.map / self.config.temperatures[:, None] ** (
            1 / (2 if self.config.normalize else self.config.p)
        )

    @property
    def content_r2(self) -> np.ndarray:
        """(T, layers + 1) mean R^2 of the content; NaN without content."""
        return _mean(self.r2[..., : self.config.d_c])

    @property
    def style_r2(self) -> np.ndarray:
        """(T, layers + 1) mean R^2 of the style; NaN without style."""
        return _mean(self.r2[..., self.config.d_c :])


def _mean(values: np.ndarray) -> np.ndarray:
    return values.mean(-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


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
    return gain[..., d_c:].mean(-1) / gain[..., :d_c].mean(-1)


def drawn(config: Config, n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """n fresh latents of config's kind and their positives.

    Returns: z and z~, both (n, d).
    """
    z = latents.marginal(n, config.d, config.space, generator)
    return z, latents.positives(
        z, config.d_c, config.style_sd, config.space, generator, config.content_sd
    )


class Encoders(Program):
    """R runs of Adam on InfoNCE: encoders f, the networks g that hide their latents, and the pairs they see."""

    Result, compiles = Result, ("losses",)

    def setup(self):
        c, s = self.config, self.state
        self.times = set(recorded_times(c.steps, c.record_every, ratio=1.5))
        mixings = [
            latents.mixing(c.d, c.mixing_layers, stream(k.seed, MIXING)).matrices
            for k in self.configs
        ]
        s.mixing = [torch.stack(layer) for layer in zip(*mixings, strict=True)]
        s.d_c, s.style_sd, s.content_sd = (
            self.each("d_c"),
            self.each("style_sd"),
            self.each("content_sd"),
        )
        s.tau = torch.tensor(np.stack([k.temperatures for k in self.configs])).float()[
            :, None
        ]  # (R, 1, d)
        self.trained = self.start()
        numbers = self.numbers(c.n, stream(c.seed, PAIRS)).numel()
        self.draws = Draws(
            streams(self.configs, PAIRS),
            lambda g: self.numbers(c.n, g),
            block=max(1, min(BLOCK, DRAWN_AT_ONCE // numbers)),
        )
        tested = max(LEAST_TESTED, 2 * c.width)  # R^2 needs more points than the rank of a layer
        s.tested = self.pairs(
            torch.stack([self.numbers(tested, stream(k.seed, TESTED)) for k in self.configs])
        )

    def begin(self):
        self.optimiser = Adam(self.trained, self.config.lr)

    def start(self):
        """Weights (R, out, in) of all layers of f, then, unless f is linear, their biases (R, out)."""
        c = self.config
        widths = (c.d, *(c.width,) * (c.layers - 1), c.d)
        drawn = stacked([MLP(widths, "leaky_relu", stream(k.seed, WEIGHTS)) for k in self.configs])
        weights, biases = drawn[::2], drawn[1::2]
        if c.layers == 1:
            return weights
        # He et al. 2015: PyTorch's default shrinks the signal, and the deep f then forgets style anyway.
        return [6**0.5 * w for w in weights] + [torch.zeros_like(b) for b in biases]

    def numbers(self, n, generator):
        """The random numbers of n pairs."""
        return latents.draws(n, self.config.d, self.config.space, generator)

    def pairs(self, drawn):
        """Latents and positives (R, n, d) from random numbers."""
        s = self.state
        return latents.pairs(
            drawn, self.config.d, s.d_c, s.style_sd, self.config.space, s.content_sd
        )

    def layers(self, x):
        """[x, hidden layers, f(x)], each (R, n, width)."""
        count, out = self.config.layers, [x]
        weights, biases = self.trained[:count], self.trained[count:]
        for i, weight in enumerate(weights):
            y = affine(out[-1], weight, biases[i] if biases else None)
            out.append(F.leaky_relu(y, inplace=True) if i < count - 1 else y)
        return out

    def losses(self, z, positive):
        """(R,) InfoNCE; the positive is compared with the anchors, as in CS eq. 1."""
        c, n = self.config, z.shape[1]
        a, b = self.layers(latents.mixed(torch.cat([z, positive], 1), self.state.mixing))[-1].split(
            n, 1
        )
        return infonce.formula(b, a, tau=self.state.tau, p=c.p, normalize=c.normalize)

    def now(self, t):
        self.current = self.losses(*self.pairs(self.draws.next()))
        return self.current[:, None]

    def advance(self, t):
        self.descend(self.current)

    @torch.no_grad()
    def measure(self, z, t):
        """Loss, map and R^2 on latents that training has not seen."""
        c, s, shape = self.config, self.state, (len(z), self.config.layers + 1, self.config.d)
        row = {
            "loss": self.losses(*(side[:, :LOSS_ON] for side in s.tested)),
            "map": np.full((len(z), c.d, c.d), np.nan),
            "r2": np.full(shape, np.nan),
        }
        if c.layers > 1:
            seen = self.layers(latents.mixed(s.tested[0], s.mixing))
            fine = torch.stack([layer.flatten(1).isfinite().all(1) for layer in seen]).all(0)
            for i in torch.nonzero(fine)[:, 0].tolist():
                row["r2"][i] = [r2(s.tested[0][i], layer[i]) for layer in seen]
            row["finite"] = fine
        elif c.mixing_layers == 1:
            row["map"] = (self.trained[0] @ s.mixing[0]).double()
        return row


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train one encoder.

    Args:
        config: the settings. progress, device: as for `separability.run`.

    Returns:
        What was recorded.

    Raises:
        ValueError: the run diverged; the message names lr, its value and its range.
    """
    return alone(Encoders, config, progress, device)


run.program = Encoders
