"""SimCLR on handwritten digits that lie at random places and angles, where pixels do not tell the digit.

The encoder is as small as convolutions can be: two of them, and a linear layer on the largest value of each channel.
A convolution is written as the product of patches and weights, so that a page can train it.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook.data import IMAGES
from clbook.losses import nt_xent
from clbook.training.loop import Training
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

DATA, WEIGHTS, BATCH, VIEWS, NOISE = range(5)  # purposes of the streams of random numbers
SIDE, SHOWN, NEAR = 16, 600, 5  # pixels of a canvas, held-out pictures, neighbours that vote
FIRST, SECOND, AROUND = 5, 3, 2  # sides of the patches, and zeros around the canvas
THROWN = {"turn": 0.6, "shift": 0.4, "scale": 0.15, "mirrored": 0.0, "half_turns": 0.0}
AT_ONCE = 100  # pictures whose patches are held in memory, where all are embedded


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run. What a view changes is what two pictures may differ in and still count as the same."""

    turn: float = setting(
        0.6, "views are turned by up to", unit="rad", low=0.0, high=3.15, each=True
    )
    shift: float = setting(
        0.4, "views are moved by up to", unit="half a canvas", low=0.0, high=1.0, each=True
    )
    scale: float = setting(
        0.15, "views are larger or smaller by up to this share", low=0.0, high=0.5, each=True
    )
    mirrored: float = setting(0.0, "share of mirrored views", low=0.0, high=1.0, each=True)
    half_turns: float = setting(0.0, "share of upside-down views", low=0.0, high=1.0, each=True)
    noise: float = setting(0.0, "noise of a view's pixels", low=0.0, high=1.0, each=True)
    channels: tuple = setting((16, 32), "channels of the two convolutions", low=1, high=256)
    d: int = setting(48, "embedding dimensions", low=2, high=256)
    pairs: int = setting(32, "pictures in a batch, two views each", low=2, high=1000)
    tau: float = setting(0.2, "temperature τ", low=0.01, high=10.0, log=True, each=True)
    lr: float = setting(5e-3, "learning rate of Adam", above=0.0, high=1.0, log=True, each=True)
    steps: int = iterations(400)
    record_every: int = recorded_every(10)
    seed: int = seed_of("data, weights and views")

    def check(self):
        if len(self.channels) != 2:
            raise self.error("channels", "two whole numbers")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded of held-out pictures, at the times `steps`."""

    steps: np.ndarray = recorded()
    loss: np.ndarray = quantity("NT-Xent of the batch", dims="step")
    z: np.ndarray = quantity("embeddings of the held-out pictures", dims="step point dim")
    knn: np.ndarray = quantity("share of them whose five nearest vote for their digit", dims="step")
    pixels: float = quantity("the same share, nearest by pixels")
    mixed: np.ndarray = quantity(
        "share of a 6's five nearest that are 9s, and the other way", dims="step"
    )
    pictures: np.ndarray = quantity("the held-out pictures", dims="point row column")
    labels: np.ndarray = quantity("their digits", dims="point")

    @property
    def untrained(self) -> float:
        """`knn` before the first step."""
        return float(self.knn[0])


def views(pictures: Tensor, u: Tensor, how) -> Tensor:
    """A view of each picture: mirrored or not, turned about the middle, scaled, and moved.

    Args:
        pictures: (R, n, side, side).
        u: (R, 6, n) uniform numbers in [0, 1), a row for each of turn, scale, two of shift, mirrored, half turns.
        how: has the settings of those names, numbers or (R, 1).

    Returns:
        (R, n, side, side), zeros where a view looks beyond its picture.
    """
    turn, size, right, down = (2 * u[:, :4] - 1).unbind(1)
    angle = turn * how["turn"] + math.pi * (u[:, 5] < how["half_turns"])
    flip = 1 - 2 * (u[:, 4] < how["mirrored"]).float()
    size = 1 + size * how["scale"]
    c, s = size * angle.cos(), size * angle.sin()
    # Pixel (x, y) of the view shows this place of the picture, both from -1 to 1.
    rows = [flip * c, -s, right * how["shift"], flip * s, c, down * how["shift"]]
    maps = torch.stack(rows, -1).reshape(-1, 2, 3)
    flat = pictures.reshape(-1, 1, *pictures.shape[2:])
    grid = F.affine_grid(maps, flat.shape, align_corners=False)
    return F.grid_sample(flat, grid, align_corners=False).reshape(pictures.shape)


def elected(vectors: Tensor, labels: Tensor) -> Tensor:
    """(R, n, 10) how many of the five points nearest to each of (R, n, d), by the cosine, have each label."""
    own = torch.arange(len(labels), device=labels.device)
    vectors = F.normalize(vectors, dim=2)
    near = torch.where(own == own[:, None], -2.0, vectors @ vectors.mT)
    votes = 0
    for _ in range(NEAR):
        nearest = near.argmax(2, keepdim=True)  # (R, n, 1)
        votes = votes + (labels[nearest] == torch.arange(10, device=labels.device)).float()
        near = torch.where(own == nearest, -2.0, near)
    return votes


def right(votes: Tensor, labels: Tensor) -> Tensor:
    """(R,) share of points whose label has the most votes; of labels with as many the smallest counts."""
    return (votes.argmax(2) == labels).float().mean(1)


def mixed(votes: Tensor, labels: Tensor) -> Tensor:
    """(R,) share of the votes about a 6 that are for 9, and about a 9 for 6."""
    six, nine = labels == 6, labels == 9
    swapped = six * votes[:, :, 9] + nine * votes[:, :, 6]
    return swapped.sum(1) / (NEAR * (six | nine).sum())


def convolved(x: Tensor, weight: Tensor, side: int) -> Tensor:
    """(R, n, h', w', c') the patches of images x (R, n, h, w, c) times weights (R, c side side, c')."""
    patches = x.unfold(2, side, 1).unfold(3, side, 1)  # (R, n, h', w', c, side, side)
    product = patches.reshape(len(x), -1, weight.shape[1]) @ weight
    return product.reshape(*patches.shape[:4], -1)


def started(shape: tuple[int, int], generator: torch.Generator) -> list[Tensor]:
    """Weights and biases of a layer, U(-b, b) with b = inputs^-1/2."""
    bound = shape[0] ** -0.5
    return [(2 * torch.rand(n, shape[1], generator=generator) - 1) * bound for n in (shape[0], 1)]


class Digits(Training):
    """R encoders, each on its own throw of the digits."""

    Result = Result
    beside = 4

    def setup(self):
        c, s = self.config, self.state
        pixels, labels = IMAGES["digits"]()
        order = np.random.RandomState(0).permutation(len(labels))
        # In 16 grey levels, 0 .. 15, and not in 17: a page holds two in a byte.
        small = torch.from_numpy(pixels[order].clip(max=15)).reshape(1, -1, 8, 8) / 15
        canvas = F.pad(small, [(SIDE - 8) // 2] * 4)
        self.shared.labels = torch.from_numpy(labels[order[-SHOWN:]])

        thrown, weights = [], []
        for config in self.configs:
            u = torch.rand(1, 6, len(labels), generator=stream(config.seed, DATA))
            thrown.append(views(canvas, u, THROWN))
            g = stream(config.seed, WEIGHTS)
            (first, second), own = c.channels, []
            for shape in ((FIRST**2, first), (SECOND**2 * first, second), (second, c.d)):
                own += started(shape, g)
            weights.append(standardised(own, thrown[-1]))
        thrown = torch.cat(thrown)
        s.train, s.pictures = thrown[:, :-SHOWN], thrown[:, -SHOWN:]
        s.pixels = right(elected(s.pictures.flatten(2), self.shared.labels), self.shared.labels)
        s.weights = [torch.stack(layer) for layer in zip(*weights, strict=True)]
        s.adam = adam_memory(s.weights)
        s.tau, s.lr = self.column("tau"), self.column("lr", axes=0)
        s.how = {name: self.column(name, axes=1) for name in THROWN}
        s.noise = self.column("noise", axes=3)

        def drawn(purpose, draw):
            return Draws(streams(self.configs, purpose), draw)

        count, held = 2 * c.pairs, len(labels) - SHOWN
        self.draws["which"] = drawn(BATCH, lambda g: torch.randint(held, (c.pairs,), generator=g))
        self.draws["u"] = drawn(VIEWS, lambda g: torch.rand(6, count, generator=g))
        self.draws["noise"] = drawn(NOISE, lambda g: torch.randn(count, SIDE, SIDE, generator=g))

    def features(self, weights, x):
        """(R, n, h, w, c) what the second convolution gives of pictures x (R, n, SIDE, SIDE), before its bend."""
        w1, b1, w2 = weights[:3]
        x = F.pad(x, [AROUND] * 4)[..., None]
        h = F.relu(convolved(x, w1, FIRST) + b1[:, None, None])
        h = h.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).mean((3, 5))
        return convolved(h, w2, SECOND)

    def embed(self, weights, features):
        """(R, n, d) unit vectors of `features`, each channel of which is standardised over all of them."""
        b2, w3, b3 = weights[3:]
        y = features - features.mean((1, 2, 3), keepdim=True)
        y = y * (y.square().mean((1, 2, 3), keepdim=True) + 1e-5).rsqrt()
        h = F.relu(y + b2[:, None, None]).amax((2, 3))
        return F.normalize(h @ w3 + b3, dim=2)

    def forward(self, s, drawn, t):
        """The embeddings (R, 2 pairs, d) of first and second views of the pictures of a batch, and the losses."""
        runs = torch.arange(len(s.train), device=s.train.device)[:, None]
        both = s.train[runs, drawn.which].repeat(1, 2, 1, 1)
        with torch.no_grad():
            x = views(both, drawn.u, s.how) + s.noise * drawn.noise
        z = self.embed(s.weights, self.features(s.weights, x))
        return z, nt_xent(*z.chunk(2, 1), s.tau)

    def step(self, s, drawn, losses, t):
        """Adam."""
        weights, memory = adam(s.weights, self.gradients(losses, s.weights), s.adam, s.lr)
        return {"weights": weights, "adam": memory}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        """Where the held-out pictures are, and what their neighbours tell."""
        parts = [self.features(s.weights, x) for x in s.pictures.split(AT_ONCE, 1)]
        z = self.embed(s.weights, torch.cat(parts, 1))
        labels = self.shared.labels
        votes = elected(z, labels)
        shares = {"knn": right(votes, labels), "mixed": mixed(votes, labels)}
        return {"loss": losses, "z": z} | shares

    def shown(self, s, recorded):
        """What the pixels tell, at each recorded time."""
        return {"pixels": s.pixels}

    def ending(self, s):
        """The pictures, and what their pixels tell."""
        return {"pixels": s.pixels, "pictures": s.pictures}

    def result(self, i, columns, head):
        """Run i's Result."""
        return Result(**head, **columns, labels=self.shared.labels.cpu().numpy())


def standardised(weights: list[Tensor], pictures: Tensor) -> list[Tensor]:
    """`weights` whose first layer gives, of a few of the pictures, mean 0 and variance 1 in each channel."""
    first = weights[0]
    x = F.pad(pictures[:, :64], [AROUND] * 4)[..., None]
    seen = convolved(x, first[None], FIRST).flatten(0, 3)
    mean = seen.mean(0)
    deviation = (seen - mean).square().mean(0).sqrt()
    return [first / deviation, (-mean / deviation)[None], *weights[2:]]


run = Digits.run
