"""Contrastive training on the circle and on the sphere, through a network and without (VA Fig. 5, 6; LS Fig. 6, 7).

The embedding is f(w, x) = normalise(R + g(w, x) - g(w0, x)), g a network and R_i a unit vector shared by x_i and its
views. So f starts invariant and knows nothing of the data, as VA eq. 17 asks: every point stands at its R_i.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
import torch.nn.functional as F

from clbook import data
from clbook.experiments import separability
from clbook.experiments.separability import Pair, follow, network_flow, vanilla_flow, view_maker
from clbook.losses import simplified
from clbook.metrics import neighbour_accuracy, sharpness
from clbook.models import ACTIVATIONS
from clbook.runs import default_device, one_thread
from clbook.settings import Outcome, Settings, setting

DRAWS = 4  # augmentations over which loss, arrows and sharpness are averaged; memory is DRAWS n^2 numbers
NEIGHBOURS = 10  # nearest points that vote on a point's label
CLUSTERED = 0.95  # neighbour accuracy from which the embedding counts as clustered
TURNS = 8  # views around the sphere, a full turn in all


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default tears a small cap of the circle into the four clusters of the data."""

    augmentation = "noise"  # read by `separability`'s functions, like `hidden` and the settings; here there is no choice
    linger = 0.0

    d: int = setting(2, "embedding dimensions: the circle (2) or the sphere (3); the data have as many", choices=(2, 3))
    depth: int = setting(1, "number of hidden layers", low=1, high=8)
    width: int = setting(100, "width of each hidden layer", low=1, high=2000)
    activation: str = setting("tanh", "activation of the hidden layers", choices=tuple(ACTIVATIONS))
    classes: int = setting(4, "number of clusters, in a row", low=2, high=10)
    n: int = setting(200, "number of points, all clusters together", low=20, high=2000)
    start: str = setting("cap", "where the embedding starts: close together, or anywhere", choices=("cap", "uniform"))
    cap: float = setting(0.05, "standard deviation of the cap, in each coordinate", above=0.0, high=10.0, log=True)
    tau: float = setting(0.2, "temperature", low=1e-3, high=10.0, log=True)
    lr: float = setting(0.02, "learning rate", above=0.0, high=100.0, log=True)
    steps: int = setting(300, "iterations", unit="iterations", low=1, high=100_000, log=True)
    network: bool = setting(True, "train a network; False moves each point by itself (VA eq. 13)")
    gradient: str = setting("full", "full: back-propagate through both views; partial: through z alone",
                            choices=("full", "partial"))
    first: float = setting(-1.0, "where the row of clusters begins", low=-10.0, high=10.0)
    gap: float = setting(1.0, "distance between neighbouring clusters", low=0.0, high=10.0)
    spread: float = setting(0.1, "standard deviation of a cluster", low=0.0, high=2.0)
    noise: float = setting(0.3, "standard deviation of the noise augmentation", low=0.0, high=2.0)
    record_every: int = setting(0, "record every this many iterations; 0 records a geometric series of times",
                                unit="iterations", low=0, high=10_000)
    seed: int = setting(0, "seed of data, start, weights and augmentations", low=0, high=2**31)

    @property
    def hidden(self) -> tuple:
        return (self.width,) * self.depth


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps` (T,).

    Attributes:
        steps: (T,) recorded iterations. x: (n, d) inputs. labels: (n,).
        z: (T, n, d) embeddings, unit vectors.
        arrows: (T, n, d) negative gradient of LS eq. 12 in z_i, the views held still: its part along the sphere.
        loss: (T,) LS eq. 12. accuracy: (T,) label accuracy of the 10 nearest neighbours, each point's own left out.
        reach: (T,) median over points of |g(w, x) - g(w0, x)|, to be compared with |R| = 1; NaN without a network.
        clustered_at: first recorded iteration with accuracy >= 0.95, or None.
        separable_at: first recorded iteration at which an affine rule is right on every point, or None.
    """

    steps: np.ndarray
    x: np.ndarray
    labels: np.ndarray
    z: np.ndarray
    arrows: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray
    reach: np.ndarray
    clustered_at: int | None
    separable_at: int | None


def dataset(config: Config):
    """x (n, d) and labels (n,) of a run, on the CPU."""
    generator = torch.Generator().manual_seed(config.seed)
    return data.row(config.n, config.classes, config.spread, config.d, generator, first=config.first, gap=config.gap)


def start(config: Config) -> torch.Tensor:
    """R (n, d), unit vectors: e_1 plus noise, normalised (a cap), or uniform on the sphere."""
    noise = torch.randn(config.n, config.d, generator=torch.Generator().manual_seed(config.seed + 1))
    if config.start == "cap":
        noise = config.cap * noise
        noise[:, 0] += 1
    return F.normalize(noise, dim=1)


class Embedding(separability.Embedding):
    """f(w, x) = normalise(R + g(w, x) - g(w0, x))."""

    def pair(self, views):
        return tuple(F.normalize(part, dim=1) for part in super().pair(views))

    def points(self):
        return F.normalize(super().points(), dim=1)

    @torch.no_grad()
    def moved(self):
        """g(w, x) - g(w0, x), (n, d)."""
        return super().points() - self.start


class Recorder(separability.Recorder):
    """Collects the arrays of a `Result`."""

    def diagnostics(self, z, t):
        """Loss, arrows and neighbour accuracy now."""
        z = z.detach().requires_grad_()
        views = z.detach()[None] if self.embedding is None else self.embedding.views(self.view, DRAWS)
        loss = simplified(z, views, self.config.tau)
        (gradient,) = torch.autograd.grad(len(z) * loss, z)
        tangential = gradient - (gradient * z).sum(1, keepdim=True) * z
        reach = math.nan if self.embedding is None else self.embedding.moved().norm(dim=1).median().item()
        return {"loss": loss.item(), "reach": reach, "arrows": -tangential.detach().cpu().numpy(),
                "accuracy": neighbour_accuracy(z, self.labels, NEIGHBOURS)}

    def result(self, stopped) -> Result:
        columns, common = self.collected(stopped)
        clustered = columns["steps"][columns["accuracy"] >= CLUSTERED]
        return Result(**common, **columns, clustered_at=int(clustered[0]) if len(clustered) else None)


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train from the chosen start, through a network or point by point.

    Args:
        config: the settings.
        progress: `progress(fraction, partial_result)`, about ten times a second; returning False stops the run, which
            then returns what it has, with `stopped` set.
        device: a torch device; None takes CUDA when there is one.

    Raises:
        ValueError: the run diverged; the message names lr, its value and its range.
    """
    device = default_device(device)
    x, labels = (array.to(device) for array in dataset(config))
    embedding = Embedding(config, x, start(config)) if config.network else None
    recorder = Recorder(config, x, labels, embedding, view_maker(config, x, config.seed + 4))
    if embedding is not None:
        return follow(network_flow(config, embedding, view_maker(config, x, config.seed + 3)), recorder, progress, "lr")
    z0, step = vanilla_flow(config, start(config).to(device))
    return follow((z0, lambda z, t: F.normalize(step(z, t), dim=1)), recorder, progress, "lr")


def run_pair(config: Config, *, progress=None, device=None) -> Pair:
    """`run` with and without the network, otherwise with equal settings: rows 2 and 3 of VA Fig. 5 and 6."""
    return separability.run_pair(config, run=run, progress=progress, device=device)


def coherence(vectors, labels) -> float:
    """How alike the directions of `vectors` (n, d) are within a class: length of their mean, averaged; 1 if all are equal."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float(np.mean([np.linalg.norm(unit[labels == k].mean(0)) for k in np.unique(labels)]))


def sharpness_at_start(config: Config) -> float:
    """`metrics.sharpness` of the mean loss over the network's weights w at w0."""
    x, _ = dataset(config)
    embedding = Embedding(config, x, start(config))
    view = view_maker(config, x, config.seed + 4)
    with one_thread():
        pairs = [embedding.pair(view()) for _ in range(DRAWS)]
        loss = simplified(pairs[0][0], torch.stack([v for _, v in pairs]), config.tau)
        return sharpness(loss, embedding.parameters, torch.Generator().manual_seed(config.seed))


@dataclasses.dataclass
class Turned(Outcome):
    """A pair of runs and the angles, in degrees, from which it is looked at."""

    angles: np.ndarray
    pair: Pair


def run_turned(config: Config, *, progress=None, device=None) -> Turned:
    """`run_pair`, to be looked at from all sides."""
    def turned(pair):
        return Turned(pair.config, pair.seconds, pair.device, pair.stopped, np.arange(0, 360, 360 // TURNS), pair)

    return turned(run_pair(config, device=device,
                           progress=progress and (lambda fraction, partial: progress(fraction, turned(partial)))))
