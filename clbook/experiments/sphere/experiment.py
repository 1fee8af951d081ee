"""Contrastive training on the circle and on the sphere, through a network and without (VA Fig. 5, 6; LS Fig. 6, 7).

The embedding is f(w, x) = normalise(R + g(w, x) - g(w0, x)), g a network and R_i a unit vector shared by x_i and its
views. So f starts invariant and knows nothing of the data, as VA eq. 17 asks: every point stands at its R_i.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
import torch
import torch.nn.functional as F

from clbook import data
from clbook.losses import simplified
from clbook.metrics import neighbour_accuracy, separable
from clbook.models import ACTIVATIONS, MLP, mlp, stacked
from clbook.optim import Descent
from clbook.runs import Draws, Program, Several, alone, one_thread, several, stream, streams
from clbook.settings import Outcome, Settings, setting

DATA, START, WEIGHTS, VIEWS, RECORDED = range(5)  # purposes of the streams of random numbers

DRAWS = 4  # augmentations over which loss, arrows and sharpness are averaged; memory is DRAWS n^2 numbers
NEIGHBOURS = 10  # nearest points that vote on a point's label
CLUSTERED = 0.95  # neighbour accuracy from which the embedding counts as clustered
TURNS = 8  # views around the sphere, a full turn in all


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default tears a small cap of the circle into the four clusters of the data."""

    d: int = setting(
        2,
        "embedding dimensions: the circle (2) or the sphere (3); the data have as many",
        choices=(2, 3),
    )
    depth: int = setting(1, "number of hidden layers", low=1, high=8)
    width: int = setting(100, "width of each hidden layer", low=1, high=2000)
    activation: str = setting("tanh", "activation of the hidden layers", choices=tuple(ACTIVATIONS))
    classes: int = setting(4, "number of clusters, in a row", low=2, high=10)
    n: int = setting(200, "number of points, all clusters together", low=20, high=2000)
    start: str = setting(
        "cap", "where the embedding starts: close together, or anywhere", choices=("cap", "uniform")
    )
    cap: float = setting(
        0.05,
        "standard deviation of the cap, in each coordinate",
        above=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    tau: float = setting(0.2, "temperature", low=1e-3, high=10.0, log=True, each=True)
    lr: float = setting(0.02, "learning rate", above=0.0, high=100.0, log=True, each=True)
    steps: int = setting(300, "iterations", unit="iterations", low=1, high=100_000, log=True)
    network: bool = setting(True, "train a network; False moves each point by itself (VA eq. 13)")
    gradient: str = setting(
        "full",
        "full: back-propagate through both views; partial: through z alone",
        choices=("full", "partial"),
    )
    first: float = setting(
        -1.0, "where the row of clusters begins", low=-10.0, high=10.0, each=True
    )
    gap: float = setting(
        1.0, "distance between neighbouring clusters", low=0.0, high=10.0, each=True
    )
    spread: float = setting(0.1, "standard deviation of a cluster", low=0.0, high=2.0, each=True)
    noise: float = setting(
        0.3, "standard deviation of the noise augmentation", low=0.0, high=2.0, each=True
    )
    record_every: int = setting(
        0,
        "record every this many iterations; 0 records a geometric series of times",
        unit="iterations",
        low=0,
        high=10_000,
    )
    seed: int = setting(
        0, "seed of data, start, weights and augmentations", low=0, high=2**31, each=True
    )


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


def dataset(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns x (n, d) and labels (n,) of a run, on the CPU."""
    return data.row(
        config.n,
        config.classes,
        config.spread,
        config.d,
        stream(config.seed, DATA),
        first=config.first,
        gap=config.gap,
    )


def start(config: Config) -> torch.Tensor:
    """Returns R (n, d), unit vectors: e_1 plus noise, normalised (a cap), or uniform on the sphere."""
    noise = torch.randn(config.n, config.d, generator=stream(config.seed, START))
    if config.start == "cap":
        noise = config.cap * noise
        noise[:, 0] += 1
    return F.normalize(noise, dim=1)


class Flow(Program):
    """R runs of gradient descent on LS eq. 12 of unit vectors: a network's weights, or each point alone (VA eq. 13).

    Without a network f stays invariant (LS Theorem 4.2): the views of a point are the point; after a step each point is
    put back on the sphere. Another paper's data, network and loss are those of a subclass.
    """

    Result, compiles, views = (
        Result,
        ("objective",),
        1,
    )  # views: how many of each point a step draws

    @staticmethod
    def data(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
        """x (n, D) and labels (n,) of a run."""
        return dataset(config)

    def networks(self, D: int) -> list[torch.nn.Module]:
        """The network of each run at its start, for inputs in R^D."""
        c = self.config
        return [
            MLP((D, *(c.width,) * c.depth, c.d), c.activation, stream(k.seed, WEIGHTS))
            for k in self.configs
        ]

    def output(self, weights: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        """g (R, m, d) of the networks with these weights, for x (R, m, D)."""
        return mlp(weights, x, self.config.activation)

    def loss(self, z: torch.Tensor, views: torch.Tensor) -> torch.Tensor:
        """LS eq. 12 (R,) of the points z (R, n, d) and m views of each (R, m, n, d)."""
        return simplified.formula(z, views, self.state.tau)

    def setup(self):
        c, s = self.config, self.state
        x, labels = zip(*(self.data(config) for config in self.configs), strict=True)
        self.inputs, self.labels = [points.numpy() for points in x], labels[0].numpy()
        s.start, s.tau, s.lr = (
            torch.stack([start(k) for k in self.configs]),
            self.each("tau"),
            self.each("lr"),
        )
        s.separable_at = torch.full((len(x),), -1)
        self.trained = [s.start]
        if c.network:
            s.x, s.noise = torch.stack(x), self.each("noise", axes=3)
            self.trained = stacked(self.networks(s.x.shape[-1]))
            s.frozen = [w.clone() for w in self.trained]
            s.shift = s.start - self.output(s.frozen, s.x)
            self.draws, self.recorded = self.drawer(VIEWS, self.views), self.drawer(RECORDED, DRAWS)

    def begin(self):
        # The loss is a mean over points; VA eq. 13, which moves each point by itself, has no 1/n.
        self.optimiser = Descent(
            self.trained, self.state.lr * (1 if self.config.network else self.config.n)
        )

    def drawer(self, purpose: int, count: int) -> Draws:
        """The noise (R, count, n, D) of `count` views of each point at each step."""
        points = self.state.x.shape[1:]
        return Draws(
            streams(self.configs, purpose),
            lambda g: torch.stack([torch.randn(points, generator=g) for _ in range(count)]),
        )

    def embed(self, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """R + g(w, x) - g(w0, x), not yet on the sphere: of the points (R, n, d) and of views (R, m, n, d) of them."""
        c, s = self.config, self.state
        flat = (s.x[:, None] + s.noise * noise).flatten(1, 2)
        out = self.output(self.trained, torch.cat([s.x, flat], 1))
        moved = (out[:, c.n :] - self.output(s.frozen, flat)).unflatten(1, (-1, c.n))
        return out[:, : c.n] + s.shift, moved + s.start[:, None]

    def objective(self, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The loss (R,) and the embedding (R, n, d)."""
        z, views = (F.normalize(part, dim=-1) for part in self.embed(noise))
        views = views if self.config.gradient == "full" else views.detach()
        return self.loss(z, views), z

    def now(self, t):
        if self.config.network:
            self.losses, z = self.objective(self.draws.next())
            return z
        (z,) = self.trained
        views = z if self.config.gradient == "full" else z.detach()
        self.losses = self.loss(z, views[:, None])
        return z

    def advance(self, t):
        self.descend(self.losses)
        if not self.config.network:  # the list is the one that the optimiser holds
            self.trained[:] = [
                F.normalize(z.detach(), dim=-1).requires_grad_() for z in self.trained
            ]

    def measure(self, z, t):
        """Loss, arrows, reach, neighbour accuracy and separability now."""
        s, z = self.state, z.detach()
        views, reach = z[:, None], torch.full((len(z),), math.nan)
        if self.config.network:
            with torch.no_grad():
                points, views = self.embed(self.recorded.next())
            reach, views = (
                (points - s.start).norm(dim=-1).median(1).values,
                F.normalize(views, dim=-1),
            )
        loss, arrows = self.arrows(z, views)
        on_sphere = (z.norm(dim=-1) > 0.5).all(
            1
        )  # not so where a square has overflowed: then 0 is what is left of it
        fine = (on_sphere & z.flatten(1).isfinite().all(1)).tolist()
        accuracy = [
            neighbour_accuracy(points, self.labels, NEIGHBOURS) if whole else math.nan
            for points, whole in zip(z, fine, strict=True)
        ]
        for i in torch.nonzero(s.separable_at < 0)[:, 0].tolist():
            if fine[i] and separable(z[i], self.labels):
                s.separable_at[i] = t
        return {
            "z": z,
            "loss": loss,
            "arrows": arrows,
            "reach": reach,
            "accuracy": np.array(accuracy),
            "separable_at": s.separable_at,
            "finite": on_sphere,
        } | self.more(z, views)

    def more(self, z: torch.Tensor, views: torch.Tensor) -> dict:
        """What a subclass measures besides, {name: (R, ...)}."""
        return {}

    def arrows(self, z: torch.Tensor, views: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """LS eq. 12 (R,) and minus its gradient in each z_i along the sphere (R, n, d), the views held still."""
        z = z.detach().requires_grad_()
        loss = self.loss(z, views.detach())
        (gradient,) = torch.autograd.grad(z.shape[1] * loss.sum(), z)
        return loss, (gradient * z).sum(-1, keepdim=True) * z - gradient

    def result(self, i, columns, head):
        at, clustered = (
            int(columns.pop("separable_at")[-1]),
            columns["steps"][columns["accuracy"] >= CLUSTERED],
        )
        return self.Result(
            **head,
            **columns,
            x=self.inputs[i],
            labels=self.labels,
            separable_at=None if at < 0 else at,
            clustered_at=int(clustered[0]) if len(clustered) else None,
        )


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train from the chosen start, through a network or point by point.

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
PAIR = {"network": {"network": True}, "vanilla": {"network": False, "gradient": "partial"}}


def run_pair(config: Config, *, progress=None, device=None) -> Several:
    """`run` with the network and without, then by the partial gradient (VA eq. 13): rows 2 and 3 of VA Fig. 5 and 6."""
    return several(run, config, PAIR, progress=progress, device=device)


run_pair.variants = run, PAIR


class Turned(Several):
    """The two runs of `run_pair`, to be looked at from `angles`."""

    @property
    def angles(self) -> np.ndarray:
        """(TURNS,) degrees around the sphere: what an explorer's slider goes through."""
        return np.arange(0, 360, 360 // TURNS)


def run_turned(config: Config, *, progress=None, device=None) -> Turned:
    """`run_pair`, to be looked at from all sides."""
    report = progress and (lambda fraction, partial: progress(fraction, Turned(**vars(partial))))
    return Turned(**vars(run_pair(config, progress=report, device=device)))


def coherence(vectors: np.ndarray, labels: np.ndarray) -> float:
    """How alike the directions of `vectors` (n, d) are within a class of `labels` (n,).

    Returns:
        The length of a class's mean direction, averaged over classes: 1 if all of a class are equal.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float(np.mean([np.linalg.norm(unit[labels == k].mean(0)) for k in np.unique(labels)]))


def sharpness(
    loss: torch.Tensor,
    parameters: Iterable[torch.Tensor],
    generator: torch.Generator,
    rounds: int = 30,
) -> float:
    """The Hessian eigenvalue of largest absolute value, by power iteration on Hessian-vector products.

    Near a minimum, gradient descent with a learning rate above 2 / sharpness moves away instead of closer.

    Args:
        loss: scalar tensor with a graph to `parameters`. parameters: tensors, as of `module.parameters()`.
        generator: source of the first direction. rounds: products taken.

    Returns:
        float; negative where the strongest curvature is downwards.
    """
    parameters = list(parameters)
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    direction = [torch.randn(p.shape, generator=generator).to(p) for p in parameters]
    for _ in range(rounds):
        length = torch.nn.utils.get_total_norm(direction)
        direction = [v / length for v in direction]
        product = torch.autograd.grad(gradients, parameters, direction, retain_graph=True)
        curvature = sum((p * v).sum() for p, v in zip(product, direction, strict=True))
        direction = product
    return float(curvature)


def sharpness_at_start(config: Config, program: type = Flow) -> float:
    """Returns `sharpness` of the mean loss over the network's weights w at w0."""
    with one_thread():
        flow = program([config.replace(network=True)]).to("cpu")
        z, views = (F.normalize(part, dim=-1) for part in flow.embed(flow.recorded.next()))
        loss = flow.loss(z, views).sum()
        return sharpness(loss, flow.trained, torch.Generator().manual_seed(config.seed))
