"""When does a contrastive loss remember the data? Tables on the views of points on a ring, from disjoint views on.

A data point is an angle, a view of it another angle within width/2 of it, every one as likely. An encoder is a function
of the view. Cut the ring where a point's views begin or end and halfway between neighbouring points: within a piece
nothing tells two views apart, so an encoder is a table with one unit vector a piece, and expectations over views are
sums. The loss is InfoNCE with many negatives (Wang and Isola 2020, Theorem 1).
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook.experiments.landscape import even
from clbook.metrics import nccc
from clbook.training.loop import Training, one_thread
from clbook.training.optim import sgd
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
from clbook.training.streams import stream

DATA, SHUFFLE, START = range(3)  # purposes of the streams of random numbers
RING = 360.0  # degrees
WIDTHS = tuple(np.geomspace(2, RING, 61))  # where `curves` has the loss


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; by default views overlap within each class and not between classes."""

    n: int = setting(24, "number of data points, all classes together", low=6, high=120)
    classes: int = setting(4, "number of classes, one arc of the ring each", low=2, high=8)
    spacing: float = setting(
        10.0,
        "mean distance of neighbouring data points of a class",
        unit="degrees",
        above=0.0,
        high=60.0,
        each=True,
    )
    jitter: float = setting(
        0.2,
        "how far a data point may lie off its even position, in spacings",
        low=0.0,
        high=0.45,
        each=True,
    )
    width: float = setting(
        20.0,
        "width of the interval of views around a data point",
        unit="degrees",
        low=0.1,
        high=RING,
        log=True,
        each=True,
    )
    tau: float = setting(0.2, "temperature", low=0.01, high=10.0, log=True, each=True)
    d: int = setting(2, "embedding dimensions; 2 is the circle", low=2, high=8)
    start: str = setting(
        "random",
        "table at the start: sorted, two classes exchanged, points shuffled, or random",
        choices=("sorted", "exchanged", "shuffled", "random"),
        each=True,
    )
    moves: str = setting(
        "all",
        "pieces that training moves: all, or those alone that several data points share",
        choices=("all", "shared"),
        each=True,
    )
    parts: int = setting(1, "entries of the table for each piece of the ring", low=1, high=8)
    lr: float = setting(
        0.3,
        "step size; a view that feels nothing but attraction moves 2 lr",
        above=0.0,
        high=2.0,
        log=True,
        each=True,
    )
    steps: int = iterations(400)
    record_every: int = recorded_every()
    seed: int = seed_of("data, shuffle and random start")

    def check(self):
        if self.n % self.classes or self.n < 2 * self.classes:
            raise self.error(
                "n", f"2, 3, ... times classes = {self.classes}, so that the classes are equal"
            )
        if not (self.n // self.classes - 1 + 2 * self.jitter) * self.spacing < RING / self.classes:
            raise self.error(
                "spacing",
                f"so small that {self.classes} classes of {self.n // self.classes} points "
                "do not reach each other on the ring",
            )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps`."""

    steps: np.ndarray = recorded()
    loss: np.ndarray = quantity("the population loss", dims="step")
    x: np.ndarray = quantity("data points, ascending", dims="point", unit="degrees")
    labels: np.ndarray = quantity("class of each point", dims="point")
    chances: np.ndarray = quantity(
        "probability that a view of a data point lies in each entry of the table",
        dims="point entry",
    )
    table: np.ndarray = quantity("the encoder: a unit vector for each entry", dims="step entry dim")

    @property
    def z(self) -> np.ndarray:
        """(T, n, d) embeddings of the data points: the mean over a point's views, at unit length."""
        mean = self.chances @ self.table
        return mean / np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1e-300)

    @property
    def shares(self) -> np.ndarray:
        """(n, n) the part of its views that a data point has in common with another."""
        return np.minimum(self.chances[:, None], self.chances).sum(-1)

    @property
    def islands(self) -> int:
        """Sets of data points between which no chain of shared views leads."""
        return max(1, int((np.diff(self.x, append=self.x[0] + RING) >= self.config.width).sum()))

    def accuracy(self, frame: int = -1) -> float:
        """Share of data points that lie nearest to their own class's centre, taken over the other points."""
        z, labels = self.z[frame], self.labels
        hits = []
        for i in range(len(z)):
            one = slice(i, i + 1)
            others, of_others = np.delete(z, i, 0), np.delete(labels, i)
            hits.append(nccc(others, of_others, z[one], labels[one]))
        return float(np.mean(hits))

    def neighbours(self, frame: int = -1) -> float:
        """Share of the two nearest data points on the ring that are the two nearest in the embedding as well.

        It is 2 / (n - 1) on average where the points are mixed at random.
        """
        z = self.z[frame]
        on_ring = _two_nearest(np.abs(_turn(self.x[:, None] - self.x)))
        embedded = _two_nearest(-z @ z.T)
        kept = (on_ring[:, :, None] == embedded[:, None]).any(-1)
        return float(kept.mean())


def _turn(angle):
    """An angle or angles, arrays or tensors, as between -180 and 180 degrees."""
    return (angle + RING / 2) % RING - RING / 2


def _two_nearest(distance):
    """(n, 2) the nearest others by a table of distances (n, n)."""
    oneself = np.diag(np.full(len(distance), np.inf))
    return np.argsort(distance + oneself, axis=1, kind="stable")[:, :2]


def points(config: Config) -> tuple[Tensor, Tensor]:
    """(n,) data points in degrees, ascending, float64, and (n,) labels.

    The classes are turned copies of each other: as long as they share no views, two of them can change places.
    """
    each = config.n // config.classes
    off = 2 * torch.rand(each, generator=stream(config.seed, DATA), dtype=torch.float64) - 1
    from_centre = torch.arange(each) - (each - 1) / 2
    inside = config.spacing * (from_centre + config.jitter * off)
    numbers = torch.arange(config.classes)
    centres = RING / config.classes * (numbers.double() + 0.5)
    return (centres[:, None] + inside).flatten(), numbers.repeat_interleave(each)


def pieces(config: Config) -> tuple[Tensor, Tensor]:
    """The ring cut into c = 3 n parts pieces.

    Returns:
        chances (n, c): probability that a view of a data point lies in each piece; rows sum to one.
        nearest (c,): the data point nearest to each piece.
    """
    x, _ = points(config)
    width = config.width * torch.ones((), dtype=torch.float64)
    half = width / 2
    gaps = (x.roll(-1) - x) % RING
    between = x + gaps / 2
    reach = torch.where(width < RING, half, 0.0)  # all the ring: views end nowhere
    ends = torch.cat([x - reach, x + reach])
    cuts = (torch.cat([ends, between]) % RING).sort().values
    length = torch.diff(cuts, append=cuts[:1] + RING)
    middles = cuts + length / 2
    apart = _turn(middles - x[:, None]).abs()  # (n, 3n) from data points to the middles of pieces
    chances = torch.where(apart < half, length, 0.0)
    chances = chances / chances.sum(1, keepdim=True)  # the sum is the width up to rounding
    of_entries = (chances / config.parts).repeat_interleave(config.parts, 1)
    nearest = apart.argmin(0).repeat_interleave(config.parts)
    return of_entries, nearest


def places(config: Config) -> Tensor:
    """(n, d) where the start sends the data points: n even places on a circle, in the order that `start` says."""
    order = torch.arange(config.n)
    if config.start == "exchanged":
        first, second, *others = order.split(config.n // config.classes)
        order = torch.cat([second, first, *others])
    elif config.start == "shuffled":
        order = torch.randperm(config.n, generator=stream(config.seed, SHUFFLE))
    return F.pad(even(config.n, 2), (0, config.d - 2))[order]


def first_table(config: Config, nearest: Tensor) -> Tensor:
    """(c, d) the encoder at the start: a view goes to the place of its nearest data point, or anywhere."""
    if config.start != "random":
        return places(config)[nearest]
    noise = torch.randn(
        len(nearest), config.d, generator=stream(config.seed, START), dtype=torch.float64
    )
    return F.normalize(noise, dim=1)


def population_loss(table: Tensor, chances: Tensor, tau) -> Tensor:
    """InfoNCE of an encoder, in expectation over data points and views and for many negatives.

    -E[z_v . z_v+] / tau + E_v log E_v'[exp(z_v . z_v' / tau)]: v and v+ are views of one data point, v' of any.

    Args:
        table: (..., c, d) unit vectors. chances: (..., n, c), rows sum to one. tau: a number or (..., 1, 1).
    Returns:
        (...).
    """
    return _loss(table @ table.mT / tau, *pairs(chances))


def pairs(chances: Tensor) -> tuple[Tensor, Tensor]:
    """(..., c, c) how often two pieces hold views of one data point (HaoChen et al. 2021's graph), and (..., c) views.

    The second is the probability of a view, the row sum of the first.
    """
    return chances.mT @ chances / chances.shape[-2], chances.mean(-2)


def _loss(similarity, together, views):
    weighted = similarity + views.log().unsqueeze(-2)
    repulsion = torch.logsumexp(weighted, -1)
    attraction = together * similarity
    return (views * repulsion).sum(-1) - attraction.sum((-2, -1))


class Overlap(Training):
    """R tables that descend on the population loss, each entry on its sphere and in units of how often it is seen."""

    Result = Result
    compiles = ("objective",)

    def setup(self):
        s = self.state
        found = [pieces(config) for config in self.configs]
        chances = [p for p, _ in found]
        s.chances = torch.stack(chances)
        s.together, s.views = pairs(s.chances)
        self.labels = np.arange(self.config.classes).repeat(self.config.n // self.config.classes)
        s.tau = self.column("tau", torch.float64)
        s.lr = self.column("lr", torch.float64)
        free = [self.moving(c, p) for c, p in zip(self.configs, chances, strict=True)]
        # The gradient in an entry has a factor views / tau; a piece that holds no view stays where it is.
        moves = torch.stack(free) & (s.views > 0)
        s.scale = s.tau * torch.where(moves, 1 / s.views, 0.0)[..., None]
        starts = [first_table(c, near) for c, (_, near) in zip(self.configs, found, strict=True)]
        s.weights = [torch.stack(starts)]

    @staticmethod
    def moving(config: Config, chances: Tensor) -> Tensor:
        """(c,) which entries of the table move: all, or those that several data points share."""
        if config.moves == "shared":
            return (chances > 0).sum(0) > 1
        return torch.ones(chances.shape[1], dtype=torch.bool)

    def objective(self, s, table: Tensor) -> Tensor:
        """(R,) the population loss."""
        return _loss(table @ table.mT / s.tau, s.together, s.views)

    def forward(self, s, drawn, t):
        (table,) = s.weights
        return table, self.objective(s, table)

    def step(self, s, drawn, losses, t):
        (gradient,) = self.gradients(losses, s.weights)
        scaled = s.scale * gradient
        (table,) = sgd(s.weights, [scaled], s.lr)
        return {"weights": [F.normalize(table.detach(), dim=-1)]}

    def measure(self, s, z, losses, t):
        return {"table": z, "loss": losses}

    def shown(self, s, recorded):
        """`Result.z`."""
        return {"z": F.normalize(s.chances @ recorded["table"], dim=-1)}

    def result(self, i, columns, head):
        x, labels = points(head["config"])
        chances, _ = pieces(head["config"])
        inputs = {"x": x.numpy(), "labels": labels.numpy(), "chances": chances.numpy()}
        return Result(**head, **columns, **inputs)


run = Overlap.run
MAPS = {start: {"start": start} for start in ("sorted", "shuffled", "random")}


def lookup_loss(config: Config, widths: tuple[float, ...] | None = None) -> np.ndarray:
    """The loss of the table that `config` starts from, or of those at other `widths`: () or (len(widths),)."""
    configs = [config] if widths is None else [config.replace(width=width) for width in widths]
    with one_thread():
        chances, nearest = zip(*map(pieces, configs), strict=True)
        tables = [first_table(c, k) for c, k in zip(configs, nearest, strict=True)]
        found = population_loss(torch.stack(tables), torch.stack(chances), config.tau)
    losses = found.numpy()
    return losses[0] if widths is None else losses


@functools.lru_cache(maxsize=64)
def curves(config: Config) -> dict[str, np.ndarray]:
    """{start: (61,) `lookup_loss` at `WIDTHS`} of all starts but the random one."""
    return {
        start: lookup_loss(config.replace(start=start), WIDTHS)
        for start in ("sorted", "exchanged", "shuffled")
    }
