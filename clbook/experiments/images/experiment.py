"""Contrastive learning of real images, and its supervised relatives: the experiments of LS Fig. 1 and 4, SA Sec. 5 and
CS Sec. 4.2 at any size, on one processor or on several processes.

Each image of a batch gives two random views; an encoder makes features h of them, a projector embeddings z, and a loss
of `clbook.losses` compares all views of the batch, those of other processes included. Every process draws the order of
the images and the views of the whole batch from the same streams and works on its share, so that the number of
processes does not change the run (Chen et al. 2020; SA Sec. 5).
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from clbook import losses
from clbook.data import written
from clbook.experiments.images import readout, sets
from clbook.experiments.images.networks import STAGES, ResNet, gathered, processes, projector
from clbook.experiments.images.views import draw, views
from clbook.metrics import linear_probe, spectrum
from clbook.models import CNN, MLP
from clbook.training import optim
from clbook.training.loop import PROGRESS_EVERY, default_device
from clbook.training.settings import Outcome, Settings, seed_of, setting
from clbook.training.streams import stream

SPLIT, WEIGHTS, ORDER, VIEWS = range(4)  # purposes of the streams of random numbers
LABELLED = ("nscl", "supcon", "ce")
TRUST = 1e-3  # of LARS, as in SimCLR's code


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default trains a small residual network on 8 x 8 digits for about 20 seconds."""

    data: str = setting(
        "digits", "images: digits, mnist, cifar10, a folder of class folders, or an .npz file"
    )
    train: int = setting(
        1000, "training images; 0 takes all that are not held out", unit="images", low=0
    )
    test: int = setting(500, "images held out", unit="images", low=10)
    classes: int = setting(0, "classes, the first so many; 0 takes all", low=0)
    side: int = setting(
        32, "side to which a folder's images are brought", unit="pixels", low=8, high=1024
    )
    loss: str = setting(
        "nt_xent", "the loss", choices=("nt_xent", "dcl", "nscl", "supcon", "ce", "vicreg")
    )
    network: str = setting("resnet", "the encoder", choices=("resnet", "cnn", "mlp"))
    depth: int = setting(8, "layers of the residual network", choices=tuple(STAGES))
    width: int = setting(
        16, "channels of the first stage; units of a layer of the mlp", low=1, high=1024
    )
    stem: str = setting("small", "first layer of the residual network", choices=("small", "large"))
    projector: tuple = setting(
        (128, 64), "widths of the projector's layers; none: the loss sees the features", low=1
    )
    tau: float = setting(0.5, "temperature", above=0.0, high=10.0, log=True)
    batch: int = setting(250, "images in a batch, each with two views", unit="images", low=2)
    epochs: int = setting(30, "times that every image is seen", unit="epochs", low=1)
    optimiser: str = setting("sgd", "how the weights move", choices=("sgd", "lars"))
    lr: float = setting(0.2, "learning rate, after the warm-up", above=0.0, high=100.0, log=True)
    momentum: float = setting(0.9, "momentum", low=0.0, high=0.999)
    decay: float = setting(1e-4, "weight decay", low=0.0, high=1.0)
    warmup: int = setting(
        3, "epochs in which the learning rate rises; half a cosine follows", unit="epochs", low=0
    )
    colour: float = setting(0.5, "strength of the colour jitter", low=0.0, high=1.0)
    flip: bool = setting(False, "mirror half of the views")
    blur: bool = setting(False, "blur half of the views")
    smallest: float = setting(
        0.4, "smallest share of an image that a view shows", above=0.0, high=1.0
    )
    precision: str = setting(
        "float32", "numbers of the forward pass", choices=("float32", "bfloat16", "float64")
    )
    every: int = setting(5, "epochs between two readouts", unit="epochs", low=1)
    seed: int = seed_of("the split, the start, the order and the views", each=False)

    def check(self):
        if 0 < self.train < self.batch:
            raise self.error("batch", f"at most train = {self.train}")

    @property
    def files(self) -> tuple:
        return sets.files(self.data)


@dataclasses.dataclass
class Result(Outcome):
    """What a run shows: curves over T readouts, and the features of the test images at the last of them.

    A run that was stopped before its first readout has no features, and `nan` for their accuracies.

    Attributes:
        steps: (S,) the loss before each step.
        epochs: (T,) the epochs after which it was read out.
        loss: (T,) mean of the loss over the epoch.
        knn: (T,) accuracy of ten neighbours in h, test images.
        pixels: the same accuracy from the pixels.
        probe: accuracy of a linear classifier on h.
        probe_z: that of one on z.
        h: (test, features) encoder's outputs for the test images.
        z: (test, d) projector's outputs for them.
        labels: (test,) their classes.
        spectrum_h: variances of h along its axes.
        spectrum_z: variances of z along its axes.
    """

    steps: np.ndarray
    epochs: np.ndarray
    loss: np.ndarray
    knn: np.ndarray
    pixels: float
    probe: float
    probe_z: float
    h: np.ndarray
    z: np.ndarray
    labels: np.ndarray
    spectrum_h: np.ndarray
    spectrum_z: np.ndarray


class Network(nn.Module):
    """Encoder, projector and, for the loss `ce`, a head."""

    def __init__(self, config: Config, shape: tuple, classes: int):
        super().__init__()
        generator = stream(config.seed, WEIGHTS)
        self.encoder, features = encoder(config, shape, generator)
        widths = (features, *config.projector)
        self.projector, d = projector(widths, generator), widths[-1]
        # After the projector, as SA's.
        self.head = projector((d, classes), generator) if config.loss == "ce" else nn.Identity()

    def forward(self, x):
        """x (n, channels, height, width) -> h (n, features), what the loss sees (n, d)."""
        h = self.encoder(x)
        return h, self.head(self.projector(h))


def encoder(config: Config, shape: tuple, generator: torch.Generator) -> tuple[nn.Module, int]:
    """The encoder for images of `shape` (channels, height, width), and how many features it has."""
    if config.network == "resnet":
        made = ResNet(config.depth, config.width, shape[0], config.stem, generator=generator)
        return made, made.features
    if config.network == "cnn":
        features = 8 * config.width
        return CNN(shape, features, (config.width, 2 * config.width), generator=generator), features
    widths = (int(np.prod(shape)), config.width, config.width, config.width)
    return nn.Sequential(nn.Flatten(), MLP(widths, "relu", generator)), config.width


def objective(config: Config, z1: Tensor, z2: Tensor, y: Tensor) -> Tensor:
    """The loss of all views z1, z2 (n, d) with labels y (n,)."""
    if config.loss == "ce":
        return (nn.functional.cross_entropy(z1, y) + nn.functional.cross_entropy(z2, y)) / 2
    if config.loss == "vicreg":
        return losses.vicreg(z1, z2)
    labels = (y,) if config.loss in LABELLED else ()
    return getattr(losses, config.loss)(z1, z2, *labels, config.tau)


class Trainer:
    """One run at work: data, network, optimiser, streams, and what has been recorded. Every process has one.

    `objective` is the function of that name above; an experiment with a loss of its own puts another in its place.
    """

    objective = staticmethod(objective)

    def __init__(self, config: Config, device: torch.device):
        self.config, self.device = config, device
        self.rank, self.world = dist.get_rank() if dist.is_initialized() else 0, processes()
        if config.batch % self.world:
            raise config.error("batch", f"a multiple of the {self.world} processes")
        self.images = sets.load(
            config.data,
            config.train,
            config.test,
            config.classes,
            config.side,
            stream(config.seed, SPLIT),
        )
        if config.batch > len(self.images.x):
            raise config.error(
                "batch", f"at most the number of training images, {len(self.images.x)}"
            )
        self.dtype = torch.float64 if config.precision == "float64" else torch.float32
        self.network = Network(config, self.images.x.shape[1:], len(self.images.classes)).to(
            device, self.dtype
        )
        self.shared = DistributedDataParallel(self.network) if self.world > 1 else self.network
        self.weights = list(self.network.parameters())
        self.velocity = optim.zeros(self.weights)
        self.order, self.draws = stream(config.seed, ORDER), stream(config.seed, VIEWS)
        self.x, self.y = self.images.x.to(device, self.dtype), self.images.y.to(device)
        self.batches = len(self.x) // config.batch
        self.epoch, self.rows, self.steps, self.read = 0, [], [], {}
        self.seconds = 0.0  # of the sittings that a checkpoint has seen

    def share(self, rows: Tensor) -> Tensor:
        """This process's part of the rows of a batch."""
        size = len(rows) // self.world
        return rows[self.rank * size : (self.rank + 1) * size]

    def view(self, chosen: Tensor) -> Tensor:
        """A fresh view of this process's share of the images `chosen` (batch,)."""
        c = self.config
        drawn = self.share(draw(len(chosen), self.draws, c.colour, c.flip, c.blur, c.smallest))
        seen = views(self.x[self.share(chosen).to(self.device)], drawn.to(self.device, self.dtype))
        # With the colours last in memory convolutions take two thirds of the time.
        return seen.to(memory_format=torch.channels_last)

    def loss(self, chosen: Tensor) -> Tensor:
        """The loss of a batch `chosen` (batch,), of all processes' views: the same number in each."""
        both = torch.cat([self.view(chosen), self.view(chosen)])
        with torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"
        ):
            _, z = self.shared(both)
        z1, z2 = (gathered(part) for part in z.to(self.dtype).chunk(2))
        return self.objective(self.config, z1, z2, self.y[chosen.to(self.device)])

    def step(self, chosen: Tensor, factor: float) -> Tensor:
        """One step down the gradient, at `factor` of the learning rate; returns the loss before it."""
        loss = self.loss(chosen)
        self.network.zero_grad(set_to_none=True)
        loss.backward()
        self.descend(factor)
        return loss.detach()

    @torch.no_grad()
    def descend(self, factor: float) -> None:
        """One step with momentum along the gradient and the decay, or along LARS's directions."""
        c, gradients = self.config, [p.grad for p in self.weights]
        if c.optimiser == "lars":
            directions = optim.lars_directions(self.weights, gradients, TRUST, c.decay, axes=0)
        else:
            directions = [g + c.decay * w for w, g in zip(self.weights, gradients, strict=True)]
        after, self.velocity = optim.momentum(
            self.weights, directions, self.velocity, c.lr, factor, c.momentum
        )
        for mine, new in zip(self.weights, after, strict=True):
            mine.copy_(new)

    def train_epoch(self, tell) -> bool:
        """See every image once; `tell(fraction)` may return False to stop. Returns whether the epoch was finished."""
        self.network.train()
        steps = self.config.epochs * self.batches
        order, first = torch.randperm(len(self.x), generator=self.order), len(self.steps)
        for k, chosen in enumerate(
            order[: self.batches * self.config.batch].split(self.config.batch)
        ):
            t = self.epoch * self.batches + k + 1
            self.steps.append(self.step(chosen, self.factor(t)))
            if tell(t / steps) is False:
                return False
        self.epoch += 1
        mean = float(torch.stack(self.steps[first:]).mean())
        if not np.isfinite(mean):
            raise self.config.diverged("lr", self.epoch * self.batches)
        if self.due():
            self.record(mean)
        return True

    def factor(self, t: int) -> float:
        """The share of the learning rate at step t = 1, 2, ...: it rises in the warm-up, then half a cosine falls."""
        steps, warmup = self.config.epochs * self.batches, self.config.warmup * self.batches
        return optim.warmed(t, steps, min(warmup, steps))

    def due(self) -> bool:
        """Whether the network is read out after this epoch."""
        return self.epoch % self.config.every == 0 or self.epoch == self.config.epochs

    @torch.no_grad()
    def embedded(self, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """h and z of images, without views."""
        self.network.eval()
        parts = [self.network.encoder(part.to(self.device, self.dtype)) for part in x.split(500)]
        z = [self.network.projector(h) for h in parts]
        found = tuple(torch.cat(values).float().cpu().numpy() for values in (parts, z))
        if not all(np.isfinite(values).all() for values in found):
            raise self.config.diverged("lr", self.epoch * self.batches)
        return found

    def record(self, loss: float) -> None:
        """Keep the epoch's loss, and what the features of the test images tell now."""
        i, (h, z), (h_test, z_test) = (
            self.images,
            self.embedded(self.images.x),
            self.embedded(self.images.x_test),
        )
        self.rows.append((self.epoch, loss, readout.knn(h, i.y, h_test, i.y_test)))
        pixels = self.read.get("pixels") or readout.knn(
            i.x.flatten(1), i.y, i.x_test.flatten(1), i.y_test
        )
        self.read = {
            "pixels": pixels,
            "probe": linear_probe(h, i.y, h_test, i.y_test),
            "probe_z": linear_probe(z, i.y, z_test, i.y_test),
            "h": h_test,
            "z": z_test,
            "spectrum_h": spectrum(h_test),
            "spectrum_z": spectrum(z_test),
        }

    def result(self, seconds: float, stopped: bool) -> Result:
        """The run's Result as it stands."""
        nothing = dict.fromkeys(("pixels", "probe", "probe_z"), np.nan)
        nothing |= dict.fromkeys(("h", "z", "spectrum_h", "spectrum_z"), np.empty(0))
        epochs, loss, knn = np.array(self.rows, float).reshape(-1, 3).T
        return Result(
            self.config,
            seconds,
            str(self.device),
            stopped,
            self.losses().numpy(),
            epochs.astype(int),
            loss,
            knn,
            labels=self.images.y_test.numpy(),
            **nothing | self.read,
        )

    def losses(self) -> Tensor:
        """(S,) the loss before each step so far, float32."""
        if not self.steps:
            return torch.empty(0)
        return torch.stack(self.steps).float().cpu()

    def state(self) -> dict:
        """All that the rest of the run depends on, and all settings, since a default may change."""
        recorded = {
            "config": repr(self.config),
            "epoch": self.epoch,
            "seconds": self.seconds,
            "rows": self.rows,
            "steps": self.losses(),
            "read": plain(self.read),
        }
        trained = {
            "network": self.network.state_dict(),
            "velocity": self.velocity,
            "order": self.order.get_state(),
            "draws": self.draws.get_state(),
        }
        return recorded | trained

    def take_up(self, state: dict) -> None:
        """Go on from `state`."""
        if state["config"] != repr(self.config):
            raise ValueError(
                f"checkpoint = {state['config']} is not allowed: it must be of {self.config}"
            )
        self.epoch, self.rows = state["epoch"], state["rows"]
        self.seconds = state["seconds"]
        for name, value in state["read"].items():
            self.read[name] = value.numpy() if isinstance(value, Tensor) else value
        self.steps = list(state["steps"].to(self.device, self.dtype))
        self.network.load_state_dict(state["network"])
        self.velocity = [kept.to(self.device) for kept in state["velocity"]]
        self.order.set_state(state["order"])
        self.draws.set_state(state["draws"])


def plain(read: dict) -> dict:
    """What was read out, its arrays as tensors: a checkpoint holds tensors, numbers and texts alone."""
    found = {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in read.items()
    }
    return found


def save(trainer: Trainer, path: pathlib.Path) -> None:
    """Write a checkpoint; the first process alone does."""
    if trainer.rank == 0:
        with written(path) as file:
            torch.save(trainer.state(), file)


def restore(trainer: Trainer, path: pathlib.Path) -> None:
    """Take up the checkpoint at `path`; ValueError where it is damaged or of other settings.

    A file from elsewhere runs no code: one that holds anything but tensors, numbers and texts is refused.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (
        Exception
    ) as error:  # zipfile, pickle, EOFError, RuntimeError: all say that the file is no checkpoint
        raise ValueError(
            f"checkpoint = {str(path)!r} is damaged: {error}; delete it to begin anew"
        ) from error
    trainer.take_up(state)


def run(
    config: Config, *, progress=None, device=None, checkpoint: str | os.PathLike | None = None
) -> Result:
    """Train one encoder (LS Sec. 4.2.2, SA Sec. 5, CS Sec. 4.2).

    Args:
        config: the settings. progress: `progress(fraction, partial)` some times a second, and with a partial Result
            after each readout, else with None; returning False stops the run, which returns what it has.
        device: None takes the GPU where there is one.
        checkpoint: a file that is written after every epoch, and taken up where it exists: a run that was broken off
            goes on to the same numbers, up to rounding.
    Raises ValueError: settings or files that are not allowed, a checkpoint of other settings, a run that diverged.
    """
    return train(Trainer(config, default_device(device)), progress, checkpoint)


def teller(progress: Callable | None, rows: list, partial: Callable) -> Callable:
    """`tell(fraction)`, which calls `progress` some times a second, with `partial()` if `rows` has grown since."""
    last, told = time.monotonic(), 0

    def tell(fraction):
        nonlocal last, told
        if progress is None or time.monotonic() - last < PROGRESS_EVERY:
            return True
        new, last, told = len(rows) > told, time.monotonic(), len(rows)
        return progress(fraction, partial() if new else None)

    return tell


def train(trainer: Trainer, progress=None, checkpoint: str | os.PathLike | None = None) -> Result:
    """Train to the end, or go on from the checkpoint; arguments as for `run`."""
    began = time.monotonic()
    path = checkpoint and pathlib.Path(checkpoint)
    if path and path.exists():
        restore(trainer, path)

    before = trainer.seconds

    def made(stopped):
        return trainer.result(before + time.monotonic() - began, stopped)

    tell = teller(progress, trainer.rows, lambda: made(True))
    while trainer.epoch < trainer.config.epochs:
        if not trainer.train_epoch(tell):
            return made(True)
        trainer.seconds = before + time.monotonic() - began
        if path:
            save(trainer, path)
    return made(False)
