"""What contrastive learning keeps of latents that a positive pair shares, and of latents that it does not (CS Sec. 3 and 4).

Latents z with d_c content and d_s = d - d_c style dimensions are hidden by x = g(z); an encoder f is trained with InfoNCE on
pairs x, x~ (CS Sec. 4.1). Runs of equal shapes are one tensor program, with a leading axis for the runs.
"""

from __future__ import annotations

import dataclasses
import itertools
import time

import numpy as np
import torch
import torch.nn.functional as F

from clbook import latents
from clbook.losses import infonce_runs
from clbook.metrics import r2
from clbook.models import MLP
from clbook.runs import Diverged, default_device, iterate, recorded_times
from clbook.settings import Outcome, Settings, setting

TESTED = 1000  # fresh latents on which a run's R^2 is measured; its loss on the first LOSS_ON of them
LOSS_ON = 256


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default is linear, in the box, and style is suppressed."""

    space: str = setting("box", "where the latents live", choices=latents.SPACES)
    d: int = setting(8, "dimensions of latents, observations and embeddings", low=2, high=64)
    d_c: int = setting(2, "number of content dimensions", low=0, high=64)
    style_sd: float = setting(0.3, "standard deviation of style within a pair (sphere: 1/sqrt(concentration))", low=0.01,
                              high=10.0, log=True)
    content_sd: float = setting(0.0, "standard deviation of content within a pair; box only", low=0.0, high=10.0)
    mixing_layers: int = setting(1, "layers of g; one is linear", low=1, high=10)
    layers: int = setting(1, "layers of f; one is linear, without bias", low=1, high=20)
    width: int = setting(50, "width of the hidden layers of f", low=1, high=1000)
    normalize: bool = setting(False, "similarity of normalised embeddings (cosine); off: minus a distance to the power p")
    p: int = setting(2, "exponent of that distance: |a - b|^p, summed over dimensions", choices=(1, 2))
    tau: float = setting(1.0, "temperature", low=1e-3, high=100.0, log=True)
    tau_c: float = setting(1.0, "temperature of the first d_c embedding dimensions, over tau", low=1e-3, high=1e3, log=True)
    tau_s: float = setting(1.0, "temperature of the other embedding dimensions, over tau", low=1e-3, high=1e3, log=True)
    n: int = setting(128, "pairs in a batch; an anchor's negatives are the other n - 1", low=2, high=4096)
    lr: float = setting(0.01, "learning rate of Adam", above=0.0, high=1.0, log=True)
    steps: int = setting(2000, "iterations", unit="iterations", low=1, high=100_000, log=True)
    record_every: int = setting(0, "record every so many; 0: a geometric series", unit="iterations", low=0, high=100_000)
    seed: int = setting(0, "seed of g, weights and latents", low=0, high=2**20)

    def check(self):
        if self.d_c > self.d:
            raise self.error("d_c", f"at most the number of dimensions, d = {self.d}")
        if self.content_sd and self.space == "sphere":
            raise self.error("content_sd", "0 on the sphere: there content does not change within a pair")

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
        r2: (T, layers + 1, d) adjusted R^2 of each latent under the best affine map from x (first), from each hidden layer,
            from the embedding (last); NaN where f is linear: an invertible matrix keeps it at its value for x.
    """

    steps: np.ndarray
    loss: np.ndarray
    map: np.ndarray
    r2: np.ndarray

    @property
    def undone(self) -> np.ndarray:
        """(T, d, d) the map in the units in which every temperature is 1: row k divided by tau_k^(1/p)."""
        return self.map / self.config.temperatures[:, None] ** (1 / (2 if self.config.normalize else self.config.p))

    @property
    def content_r2(self) -> np.ndarray:
        """(T, layers + 1) mean R^2 of the content; NaN without content."""
        return _mean(self.r2[..., :self.config.d_c])

    @property
    def style_r2(self) -> np.ndarray:
        """(T, layers + 1) mean R^2 of the style; NaN without style."""
        return _mean(self.r2[..., self.config.d_c:])


def _mean(values):
    return values.mean(-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


def singular(maps) -> np.ndarray:
    """(..., d) singular values of maps (..., d, d), divided by the largest, descending (CS Fig. 1, left)."""
    values = np.linalg.svd(maps, compute_uv=False)
    return values / values[..., :1]


def gains(maps) -> np.ndarray:
    """(..., d) how much the map (..., d, d) stretches each latent: the lengths of its columns."""
    return np.linalg.norm(maps, axis=-2)


def style_gain(maps, d_c) -> np.ndarray:
    """(...) mean gain of style divided by mean gain of content; 0 < d_c < d."""
    gain = gains(maps)
    return gain[..., d_c:].mean(-1) / gain[..., :d_c].mean(-1)


def drawn(config: Config, n, generator):
    """Latents z of config's kind and their positives, both (n, d)."""
    z = latents.marginal(n, config.d, config.space, generator)
    return z, latents.positives(z, config.d_c, config.style_sd, config.space, generator, config.content_sd)


class Runs:
    """Runs of equal shapes: their data, encoders and losses, as tensors (R, ...)."""

    def __init__(self, configs, device):
        self.configs, self.device, first = configs, device, configs[0]
        self.seeds = sorted({c.seed for c in configs})
        self.own = [self.seeds.index(c.seed) for c in configs]
        self.settings = {name: torch.tensor([float(getattr(c, name)) for c in configs])[:, None, None]
                         for name in ("d_c", "style_sd", "content_sd")}
        self.tau = torch.tensor(np.stack([c.temperatures for c in configs]), dtype=torch.float32, device=device)
        matrices = [latents.mixing(first.d, first.mixing_layers, torch.Generator().manual_seed(c.seed)).matrices for c in configs]
        self.g = latents.Mixing([torch.stack(layer).to(device) for layer in zip(*matrices)])
        widths = (first.d, *(first.width,) * (first.layers - 1), first.d)
        nets = [MLP(widths, "leaky_relu", torch.Generator().manual_seed(c.seed + 1)).parameters() for c in configs]
        stacked = [torch.stack(layer).detach().to(device) for layer in zip(*nets)]
        self.weights, self.biases = stacked[::2], []
        if first.layers > 1:  # He et al. 2015: PyTorch's default shrinks the signal, and the deep f then forgets style anyway
            self.weights, self.biases = [6**0.5 * w for w in stacked[::2]], [torch.zeros_like(b) for b in stacked[1::2]]
        self.tested = self.pairs(TESTED, 0)

    def pairs(self, n, t):
        """z and z~, (R, n, d), of step t; a run gets the same ones whatever runs beside it."""
        first, generators = self.configs[0], [torch.Generator().manual_seed(s * 1_000_003 + t) for s in self.seeds]
        z = latents.marginal(n, first.d, first.space, (generators, self.own))
        positive = latents.positives(z, space=first.space, generator=(generators, self.own), **self.settings)
        return z.to(self.device), positive.to(self.device)

    def layers(self, x):
        """[x, hidden layers, f(x)], each (R, n, width)."""
        out = [x]
        for i, weight in enumerate(self.weights):
            y = torch.baddbmm(self.biases[i][:, None], out[-1], weight.mT) if self.biases else out[-1] @ weight.mT
            out.append(F.leaky_relu(y, inplace=True) if i < len(self.weights) - 1 else y)
        return out

    def loss(self, z, positive):
        """(R,) InfoNCE; the positive is compared with the anchors, as in CS eq. 1."""
        first, n = self.configs[0], z.shape[1]
        a, b = self.layers(self.g(torch.cat([z, positive], 1)))[-1].split(n, 1)
        return infonce_runs(b, a, tau=self.tau, p=first.p, normalize=first.normalize)

    @torch.no_grad()
    def measured(self):
        """Loss, map and R^2 of every run now."""
        first, count = self.configs[0], len(self.configs)
        out = {"loss": self.loss(*(z[:, :LOSS_ON] for z in self.tested)).cpu().numpy(),
               "map": np.full((count, first.d, first.d), np.nan), "r2": np.full((count, first.layers + 1, first.d), np.nan)}
        if first.layers > 1:
            z, outputs = self.tested[0].cpu(), [layer.cpu() for layer in self.layers(self.g(self.tested[0]))]
            out["r2"] = np.stack([[r2(z[i], layer[i]) for layer in outputs] for i in range(count)])
        elif first.mixing_layers == 1:
            out["map"] = (self.weights[0] @ self.g.matrices[0]).cpu().double().numpy()
        return out

    def train(self, progress=None):
        """The runs' results; `progress(fraction, results so far)`."""
        first, rows, began = self.configs[0], [], time.monotonic()
        times = set(recorded_times(first.steps, first.record_every, ratio=1.5))
        parameters = [p.requires_grad_() for p in (*self.weights, *self.biases)]
        optimizer = torch.optim.Adam(parameters, lr=first.lr, fused=True)

        def step(_, t):
            losses = self.loss(*self.pairs(first.n, t))
            optimizer.zero_grad()
            losses.sum().backward()
            optimizer.step()
            return losses.detach()

        def record(_, t):
            if t in times:
                rows.append({"steps": t, **self.measured()})

        def results(stopped):
            steps, seconds = np.array([row["steps"] for row in rows]), (time.monotonic() - began) / len(self.configs)
            columns = {key: np.stack([row[key] for row in rows], 1) for key in ("loss", "map", "r2")}
            return [Result(config, seconds, str(self.device), stopped, steps, *(c[i] for c in columns.values()))
                    for i, config in enumerate(self.configs)]

        report = progress and (lambda fraction: progress(fraction, results(True)))
        try:
            _, _, stopped = iterate(step, torch.zeros(len(self.configs)), first.steps, record, report)
        except Diverged as error:
            raise first.diverged("lr", error.step) from error
        return results(stopped)


def shape(config: Config) -> tuple:
    """What runs of one tensor program have in common."""
    return dataclasses.astuple(config.replace(d_c=0, style_sd=1.0, content_sd=0.0, tau=1.0, tau_c=1.0, tau_s=1.0, seed=0))


def together(configs, *, device=None) -> list[Result]:
    """`[run(config) for config in configs]`; those that differ only in contents, sds, temperatures or seeds run at once."""
    configs, done = list(configs), {}
    for _, group in itertools.groupby(sorted(dict.fromkeys(configs), key=shape), shape):
        runs = Runs([*group], default_device(device))
        done.update(zip(runs.configs, runs.train()))
    return [done[config] for config in configs]


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train one encoder; progress, device and errors as for `sphere.run`."""
    report = progress and (lambda fraction, results: progress(fraction, results[0]))
    return Runs([config], default_device(device)).train(report)[0]


run.together = together  # `sweep` calls it: a grid of runs is one program
