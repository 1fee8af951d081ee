"""Five runs of one loop on digits: a healthy one, and four with a fault. What a practitioner sees of each over time.

All five start from the same network.
"""

from __future__ import annotations

import dataclasses
import functools
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from clbook import losses, metrics
from clbook.data import IMAGES
from clbook.models import MLP
from clbook.results.store import cached
from clbook.style import plane
from clbook.training.settings import Outcome, Settings, quantity, recorded, seed_of, setting
from clbook.training.streams import stream

WEIGHTS, BATCHES, VIEWS, HELD_VIEWS = range(4)  # purposes of the streams of random numbers
TRAINED = 1300  # pictures to train on; the other 497 are held out
BATCH, TAU, KNOWN = 128, 0.5, 5  # KNOWN: labels of each digit for a readout
DOTS, PAIRS, NEAR = 200, 30, 5  # how many held-out pictures, pairs of views and neighbours are kept
TIMES = (0, 1, 2, 4, 7, 12, 20, 30, 45, 70, 100, 150, 200)

RUNS = {  # by the name of the page: what differs from the healthy run
    "healthy": {},
    "stuck": {"lr": 3e-6},
    "collapsed": {"attract": True},
    "weak views": {"move": 0.0, "noise": 0.05},
    "strong views": {"move": 0.3},
}
FAULTS = {
    "A": "weak views",
    "B": "stuck",
    "C": "strong views",
    "D": "healthy",
    "E": "collapsed",
}  # by the letter under which a reader meets them


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run."""

    letter: str = setting("A", "which of the five runs", choices=tuple(FAULTS))
    seed: int = seed_of("the network, the batches and the views", each=False)

    @property
    def fault(self) -> str:
        """The name of the run on the page, "healthy" for the one without a fault."""
        return FAULTS[self.letter]


@dataclasses.dataclass(frozen=True)
class View(Config):
    """A run, and whether its labels are opened."""

    labels: bool = setting(False, "whether labels, and what is wrong, are shown")


@dataclasses.dataclass
class Result(Outcome):
    """What one run showed on held-out pictures, at the times `steps`."""

    steps: np.ndarray = recorded()
    loss: np.ndarray = quantity("loss of two views of the held-out pictures", dims="step")
    cka: np.ndarray = quantity("CKA of the outputs with those of the start", dims="step")
    spread: np.ndarray = quantity("variance of the outputs, of length 1", dims="step")
    alignment: np.ndarray = quantity("mean squared distance of two views", dims="step")
    uniformity: np.ndarray = quantity("uniformity of the outputs", dims="step")
    spectrum: np.ndarray = quantity("variances along the axes, descending", dims="step axis")
    accuracy: np.ndarray = quantity("nearest centre with five labels of each digit", dims="step")
    places: np.ndarray = quantity("pictures in the plane of most variance", dims="step picture xy")
    pairs: np.ndarray = quantity("two views of a picture in this plane", dims="step pair view xy")
    near: np.ndarray = quantity("nearest of the held-out pictures", dims="step query rank")

    @property
    def ceiling(self) -> float:
        """The loss where all outputs are equal."""
        pictures, _ = held()
        return float(np.log(2 * len(pictures) - 1))


@functools.cache
def digits() -> tuple[torch.Tensor, np.ndarray]:
    """All pictures (1797, 64), from 0 to 1, and their labels (1797,)."""
    pixels, labels = IMAGES["digits"]()
    return torch.tensor(pixels / 16, dtype=torch.float32), labels


def held() -> tuple[torch.Tensor, np.ndarray]:
    """The held-out pictures (497, 64) and their labels (497,)."""
    pictures, labels = digits()
    return pictures[TRAINED:], labels[TRAINED:]


def queries() -> list[int]:
    """Of the held-out pictures, the first 2, 3, 5 and 8: digits that are easily taken for another."""
    _, labels = held()
    return [int(np.flatnonzero(labels == digit)[0]) for digit in (2, 3, 5, 8)]


def view(x, generator, move=0.12, noise=0.2):
    """A view of each picture in x (n, 64): turned, stretched and moved, with noise."""
    n = len(x)
    changed = torch.randn(n, 2, 3, generator=generator)
    maps = torch.eye(2, 3) + move * changed
    images = x.view(n, 1, 8, 8)
    grid = F.affine_grid(maps, images.shape, align_corners=False)
    moved = F.grid_sample(images, grid, align_corners=False)
    grain = torch.randn(n, 64, generator=generator)
    return moved.flatten(1) + noise * grain


def network(seed) -> nn.Sequential:
    """An encoder and a projector: 64 pixels, 256, 64 and 32 numbers."""
    weights = stream(seed, WEIGHTS)
    encoder = MLP((64, 256, 64), "relu", weights)
    projector = MLP((64, 32), "relu", weights)
    return nn.Sequential(encoder, nn.ReLU(), projector)


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train one of the five, and measure it at the recorded times.

    Args:
        config: which one, and its seed.
        progress: `progress(fraction, result so far)`; where it returns False, the run is stopped.
        device: has no effect; these networks are small.
    """
    begun = time.perf_counter()
    changes = dict(RUNS[config.fault])
    lr = changes.pop("lr", 3e-3)
    attract = changes.pop("attract", False)
    batches = stream(config.seed, BATCHES)
    draws = stream(config.seed, VIEWS)
    net = network(config.seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    pictures, _ = digits()
    seen, stopped, end = [], False, TIMES[-1]

    def result():
        seconds = time.perf_counter() - begun
        steps = np.array(TIMES[: len(seen)])
        return Result(config, seconds, "cpu", stopped, steps=steps, **together(seen))

    for step in range(end + 1):
        if step in TIMES:
            seen.append(measured(net, config.seed, changes))
            if progress and progress(step / end, result()) is False:
                stopped = step < end
                break
        batch = pictures[torch.randperm(TRAINED, generator=batches)[:BATCH]]
        z1 = net(view(batch, draws, **changes))
        z2 = net(view(batch, draws, **changes))
        loss = losses.byol(z1, z2) if attract else losses.nt_xent(z1, z2, TAU)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return result()


def together(seen) -> dict:
    """The quantities that were measured at each time, as arrays (T, ...)."""
    columns = {name: np.stack([each[name] for each in seen]) for name in seen[0]}
    places, pairs = turned(columns["places"], columns["pairs"])
    return columns | {"places": places, "pairs": pairs}


@torch.no_grad()
def measured(net, seed, changes) -> dict:
    """The quantities of a `Result` at one time, on the same views of the held-out pictures at each of them.

    Args:
        changes: the strength of the views.
    """
    pictures, _ = held()
    draws = stream(seed, HELD_VIEWS)
    z1 = net(view(pictures, draws, **changes))
    z2 = net(view(pictures, draws, **changes))
    every = net(digits()[0])
    start = network(seed)(pictures)
    z, u1, u2 = unit(every[TRAINED:]), unit(z1), unit(z2)
    axes, middle = plane(z), z.mean(0)
    views = np.stack([u1[:PAIRS], u2[:PAIRS]], 1)
    variances = metrics.spectrum(z)
    found = {
        "loss": losses.nt_xent(z1, z2, TAU).item(),
        "alignment": losses.byol(z1, z2).item(),
        "cka": metrics.linear_cka(start, z),
        "uniformity": metrics.uniformity(z),
        "spread": variances.sum(),
        "spectrum": variances,
    }
    found["accuracy"] = readout(unit(every))
    found["places"] = (z[:DOTS] - middle) @ axes
    found["pairs"] = (views - middle) @ axes
    found["near"] = nearest(z)
    return found


def unit(outputs) -> np.ndarray:
    """Outputs (n, d) at length 1."""
    return F.normalize(outputs, dim=1).numpy()


def readout(z) -> float:
    """Accuracy of the nearest centre of five labels per digit, on the held-out ones of all pictures z (1797, d)."""
    _, labels = digits()
    known = []
    for digit in range(10):
        known += np.flatnonzero(labels[:TRAINED] == digit)[:KNOWN].tolist()
    held_out = z[TRAINED:], labels[TRAINED:]
    return metrics.nccc(z[known], labels[known], *held_out)


@functools.cache
def of_pixels() -> float:
    """What `readout` gives for the raw pictures."""
    return readout(digits()[0].numpy())


def nearest(z) -> np.ndarray:
    """The numbers (queries, NEAR) of the held-out pictures whose z (497, d) is nearest to each query's, it left out."""
    found = []
    for query in queries():
        distances = np.linalg.norm(z - z[query], axis=1)
        distances[query] = np.inf
        order = np.argsort(distances, kind="stable")
        found.append(order[:NEAR])
    return np.stack(found)


def turned(places, pairs) -> tuple[np.ndarray, np.ndarray]:
    """Places (T, n, 2) and pairs (T, m, 2, 2), turned or mirrored at each time to lie near those before it.

    The two main axes of a cloud may exchange their places from one time to the next; the eye should not see that.
    """
    places = places.copy()
    pairs = pairs.copy()
    for k in range(1, len(places)):
        product = places[k].T @ places[k - 1]
        left, _, right = np.linalg.svd(product)
        turn = left @ right
        places[k] = places[k] @ turn
        pairs[k] = pairs[k] @ turn
    return places, pairs


def look(config: View, *, progress=None, device=None) -> Result:
    """The run of a `View`, from the store where it is there: to open the labels needs no training.

    Args:
        config, progress, device: as for `run`.
    """
    settings = Config(config.letter, config.seed)

    def seen(result):
        return dataclasses.replace(result, config=config)

    def report(fraction, partial=None):
        return progress(fraction, None if partial is None else seen(partial))

    return seen(cached(run, settings, progress=progress and report, device=device))
