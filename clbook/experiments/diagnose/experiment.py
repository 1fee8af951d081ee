"""SimCLR on small pictures with a stamp, healthy and in five ways sick, for `clbook.diagnose` to tell apart.

A picture has 8 x 8 pixels, and a stamp of eight random numbers beside it that has nothing to do with what it shows: a
watermark, or the noise of a camera. A view moves the picture and adds noise. Its stamp is drawn anew, unless `shared`
says that both views of a picture keep one: then the stamp alone answers the quiz.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time

import numpy as np
import torch
from torch import Generator, Tensor, nn

from clbook import diagnose, losses
from clbook.experiments.practice.experiment import digits, view
from clbook.models import MLP
from clbook.training.loop import PROGRESS_EVERY, default_device, one_thread
from clbook.training.settings import Outcome, Settings, iterations, quantity, seed_of, setting
from clbook.training.streams import stream

WEIGHTS, ORDER, VIEWS, HELD = range(4)  # purposes of the streams of random numbers
SIDE, STAMP = 8, 8  # pixels of a side, numbers of a stamp
TRAIN = 797  # pictures to train on; a thousand are held out
FEATURES = 64  # of the encoder
LOSSES = {"nt_xent": losses.nt_xent, "dcl": losses.dcl}


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default is healthy."""

    data: str = setting("digits", "the pictures", choices=("digits", "bars"))
    loss: str = setting("nt_xent", "the loss", choices=tuple(LOSSES))
    tau: float = setting(0.5, "temperature", low=1e-4, high=10.0, log=True)
    move: float = setting(
        0.12, "how far a view turns, stretches and moves a picture", unit="sides", low=0, high=2.0
    )
    noise: float = setting(0.2, "noise of a view, white is 1", low=0.0, high=10.0)
    shared: bool = setting(False, "both views of a picture have the same stamp")
    batch: int = setting(128, "pictures in a batch, each with two views", low=2, high=TRAIN)
    projector: int = setting(32, "outputs of the projector", low=1, high=256)
    use: str = setting("encoder", "the output that is read out", choices=("encoder", "projector"))
    width: int = setting(256, "hidden units of the encoder", low=1, high=2048)
    lr: float = setting(0.05, "learning rate", above=0.0, high=100.0, log=True)
    momentum: float = setting(0.9, "momentum", low=0.0, high=0.999)
    steps: int = iterations(300)
    seed: int = seed_of("the start, the batches and the views", each=False)


@dataclasses.dataclass(frozen=True)
class Sickness:
    """A way to be sick.

    changes: what differs from the healthy Config. tells: the line of the report that should tell. why: in words.
    """

    changes: dict
    tells: str
    why: str


HEALTHY = Config()
SICK: dict[str, Sickness] = {}
SICK["tiny temperature"] = Sickness(
    {"tau": 0.003},
    "spread",
    "The gradient grows with 1 / tau: the first steps kill the network.",
)
SICK["views destroy content"] = Sickness(
    {"noise": 1.2},
    "alignment",
    "Under the noise two views of a picture share next to nothing.",
)
SICK["views leak a shortcut"] = Sickness(
    {"shared": True},
    "k-NN",
    "Both views have one stamp, which alone answers the quiz.",
)
SICK["batch too small"] = Sickness(
    {"batch": 4, "lr": 0.0016},  # the rate in proportion to the batch
    "partner accuracy in a batch",
    "Six negatives are told apart without looking closely.",
)
SICK["projector used"] = Sickness(
    {"use": "projector", "projector": 3},
    "linear probe of what is used",
    "Three outputs are read out in place of the 64 features before them.",
)


def configs(**changes) -> dict[str, Config]:
    """{name: settings} of the healthy run and the sick ones; `changes` go to all, the seed say."""
    base = HEALTHY.replace(**changes)
    found = {"healthy": base}
    for name, sick in SICK.items():
        found[name] = base.replace(**sick.changes)
    return found


@dataclasses.dataclass
class Result(Outcome):
    """What one run shows on the pictures that were held out.

    Its arrays are those that `diagnose.report` takes.
    """

    steps: np.ndarray = quantity("iterations", dims="step", unit="iterations")
    loss: np.ndarray = quantity("loss of each batch", dims="step")
    z1: np.ndarray = quantity("projector's output for one view", dims="point dim")
    z2: np.ndarray = quantity("projector's output for another view", dims="point dim")
    before: np.ndarray = quantity("encoder's output", dims="point feature")
    after: np.ndarray = quantity("projector's output", dims="point dim")
    start: np.ndarray = quantity("encoder's output before training", dims="point feature")
    raw: np.ndarray = quantity("the pictures with their stamps", dims="point input")
    labels: np.ndarray = quantity("class of each picture", dims="point")

    def report(self, **more) -> diagnose.Report:
        """The diagnosis of the run; `more` goes to `diagnose.report`."""
        config = self.config
        used = self.after if config.use == "projector" else self.before
        factors = {"the stamp": self.raw[:, -1], "the ink": self.raw[:, : SIDE**2].mean(1)}
        return diagnose.report(
            self.z1,
            self.z2,
            used,
            self.labels,
            before=self.before,
            start=self.start,
            raw=self.raw,
            factors=factors,
            tau=config.tau,
            loss=config.loss,
            batch=config.batch,
            **more,
        )


@functools.cache
def data(name: str) -> tuple[Tensor, np.ndarray]:
    """The pictures (1797, 64), from 0 to 1, and their classes (1797,)."""
    return _bars() if name == "bars" else digits()


def _bars():
    """Bars of four directions, at any distance from the middle."""
    generator = stream(0, HELD)
    count = 1797
    labels = torch.arange(count) % 4
    angle = math.pi / 4 * labels[:, None, None]
    distance = 0.6 * (2 * torch.rand(count, 1, 1, generator=generator) - 1)
    places = torch.linspace(-1, 1, SIDE)
    across = places * torch.cos(angle) + places[:, None] * torch.sin(angle) - distance
    return torch.exp(-((across / 0.2) ** 2)).flatten(1), labels.numpy()


def stamps(count: int, generator: Generator) -> Tensor:
    """(count, STAMP) random stamps."""
    return torch.randn(count, STAMP, generator=generator)


def pair(x: Tensor, config: Config, generator: Generator) -> tuple[Tensor, Tensor]:
    """Two views (m, 72) of pictures (m, 64)."""
    first = stamps(len(x), generator)
    second = first if config.shared else stamps(len(x), generator)
    one = torch.cat([view(x, generator, config.move, config.noise), first], 1)
    two = torch.cat([view(x, generator, config.move, config.noise), second], 1)
    return one, two


def networks(config: Config) -> tuple[nn.Module, nn.Module]:
    """An encoder 72 -> 64 and a projector, untrained."""
    generator = stream(config.seed, WEIGHTS)
    encoder = MLP((SIDE**2 + STAMP, config.width, FEATURES), "relu", generator)
    projector = nn.Sequential(nn.ReLU(), MLP((FEATURES, config.projector), "relu", generator))
    return encoder, projector


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train one network, and keep what it gives for the pictures that were held out.

    Args:
        config: the settings.
        progress: progress(fraction, None) some times a second; returning False stops the run.
        device: None takes the GPU where there is one.

    Raises:
        ValueError: the run diverged.
    """
    began = time.monotonic()
    device = default_device(device)
    x, _ = data(config.data)
    encoder, projector = networks(config)
    network = nn.Sequential(encoder, projector).to(device)
    with one_thread():
        curve = _train(network, x[:TRAIN], config, progress, device)
        seconds = time.monotonic() - began
        seen = _seen(network, config, device)
    stopped = len(curve) < config.steps
    return Result(
        config=config,
        seconds=seconds,
        device=str(device),
        stopped=stopped,
        steps=np.arange(len(curve)),
        loss=np.array(curve),
        **seen,
    )


def _train(network, x, config, progress, device):
    """Stochastic gradient descent; returns the loss of each batch."""
    order = stream(config.seed, ORDER)
    draws = stream(config.seed, VIEWS)
    optimizer = torch.optim.SGD(network.parameters(), lr=config.lr, momentum=config.momentum)
    told = time.monotonic()
    curve = []
    for step in range(config.steps):
        batch = torch.randperm(len(x), generator=order)[: config.batch]
        one, two = pair(x[batch], config, draws)
        loss = LOSSES[config.loss](network(one.to(device)), network(two.to(device)), config.tau)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
        if not math.isfinite(curve[-1]):
            raise config.diverged("lr", step)
        if progress is not None and time.monotonic() - told > PROGRESS_EVERY:
            told = time.monotonic()
            if progress(step / config.steps, None) is False:
                break
    return curve


@torch.no_grad()
def _seen(network, config, device):
    """The arrays of a Result, of the pictures that were held out."""
    x, labels = data(config.data)
    held = x[TRAIN:]
    draws = stream(config.seed, HELD)
    one, two = pair(held, config, draws)
    clean = torch.cat([held, stamps(len(held), draws)], 1)
    encoder, projector = network
    before = encoder(clean.to(device))
    untrained, _ = networks(config)
    found = {
        "z1": network(one.to(device)),
        "z2": network(two.to(device)),
        "before": before,
        "after": projector(before),
        "start": untrained(clean),
        "raw": clean,
    }
    arrays = {name: values.cpu().numpy() for name, values in found.items()}
    return arrays | {"labels": labels[TRAIN:]}
