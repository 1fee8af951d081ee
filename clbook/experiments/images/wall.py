"""Cats beside cats: SimCLR on all photographs of CIFAR-10, and what lies beside what while it trains.

One run is read out at epochs 0, 1, 3, 10, 30, 100 ..., where its learning rate starts anew, and at its end. Its
networks at these times are kept in the checkpoint, so that all that the wall shows is computed from them afterwards.
"""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import torch
from torch import Tensor

from clbook import environment
from clbook.experiments.images import experiment as images
from clbook.experiments.images import neighbours
from clbook.metrics import linear_probe, spectrum
from clbook.training import optim
from clbook.training.loop import default_device
from clbook.training.settings import Outcome, setting
from clbook.training.streams import stream

CHOICE = 4  # the purpose of the stream that draws the wall's photographs; `images` has 0 to 3
SHOWN, POOL = 20, 200  # of each class: photographs on the wall, training images beside them
BESIDE = 8  # neighbours that the wall shows
VOTING = 10  # neighbours that elect a class
PROBED = 1000  # training images of each class to which the linear probe is fitted


@dataclasses.dataclass(frozen=True)
class Config(images.Config):
    """Settings of the run: those of `images`, for all of CIFAR-10."""

    data: str = setting("cifar10_all", "images", choices=("cifar10_all",))
    train: int = setting(0, "training images; 0 takes all", unit="images", low=0)
    test: int = setting(10_000, "images held out", unit="images", low=200)
    width: int = setting(32, "channels of the first stage", low=1, high=1024)
    batch: int = setting(256, "images in a batch, each with two views", unit="images", low=2)
    epochs: int = setting(36, "times that every image is seen", unit="epochs", low=1)
    restart: int = setting(
        12,
        "epochs after which the learning rate starts at its height again; 0: it never does",
        unit="epochs",
        low=0,
    )
    warmup: int = setting(
        1, "epochs in which the learning rate rises; half a cosine follows", unit="epochs", low=0
    )
    flip: bool = setting(True, "mirror half of the views")
    smallest: float = setting(
        0.2, "smallest share of an image that a view shows", above=0.0, high=1.0
    )

    def check(self):
        super().check()
        if self.restart >= self.epochs:
            raise self.error("restart", f"less than epochs = {self.epochs}")


@dataclasses.dataclass
class Result(Outcome):
    """What the run shows at T readouts, and before them by the pixels: P = T + 1 places, the pixels first.

    A run that was stopped has `steps` alone; the other arrays are empty.

    Attributes:
        steps (S,): the loss before each step.
        epochs (T,): the epochs after which it was read out.
        loss (T,): mean of the loss over the epoch.
        knn (P,): accuracy of ten neighbours on the test images.
        probe (P,): test accuracy of a linear probe, fitted to 1,000 training images of each class; of the pixels it
            sees as many principal components as there are features.
        probe_z (T,): accuracy of the probe on z.
        confusion (P, C, C): test images of each class, a row, by the class that their neighbours elect.
        spectrum_h, spectrum_z (T, d): variances of the test images along their axes.
        nearest (P, m, 8): the rows of the pool that are nearest to each of the m photographs on the wall.
        share (P,): share of the photographs most of whose eight nearest are of their class.
        plane (P, m, 2): t-SNE of the photographs.
        labels (m,): classes of the photographs.
        pool_labels (n,): classes of the pool.
        photographs, pool (m or n, 3, side, side): uint8 images.
    """

    steps: np.ndarray
    epochs: np.ndarray
    loss: np.ndarray
    knn: np.ndarray
    probe: np.ndarray
    probe_z: np.ndarray
    confusion: np.ndarray
    spectrum_h: np.ndarray
    spectrum_z: np.ndarray
    nearest: np.ndarray
    share: np.ndarray
    plane: np.ndarray
    labels: np.ndarray
    pool_labels: np.ndarray
    photographs: np.ndarray
    pool: np.ndarray


OF_A_RUN = {field.name for field in dataclasses.fields(Outcome)} | {"steps"}
# What is read out of the kept networks, all but what a run has in any case.
READ = tuple(f.name for f in dataclasses.fields(Result) if f.name not in OF_A_RUN)


def readouts(epochs: int, restart: int) -> list[int]:
    """The epochs after which the network is kept: 0, 1, 3, 10, 30, 100 ..., the restart and the last."""
    early = [1, 3]
    while early[-1] < epochs:
        early += [10 * epoch for epoch in early[-2:]]
    return sorted({0, restart, *(epoch for epoch in early if epoch < epochs), epochs})


class Trainer(images.Trainer):
    """Training that keeps the network at the readouts, in `networks`, beside the epoch and its mean loss, in `rows`."""

    def __init__(self, config: Config, device):
        super().__init__(config, device)
        self.networks = []
        self.record(float("nan"))

    def due(self) -> bool:
        """Whether the network is kept after this epoch."""
        return self.epoch in readouts(self.config.epochs, self.config.restart)

    def factor(self, t: int) -> float:
        """The share of the learning rate at step t: after the restart it falls a second time, without a warm-up.

        A run that has ended goes on so, with nothing to repeat (warm restarts: Loshchilov and Hutter 2017).
        """
        begin, end = 0, self.config.restart * self.batches
        if t > end:
            begin, end = end, self.config.epochs * self.batches
        warmup = 0 if begin else self.config.warmup * self.batches
        return optim.warmed(t - begin, end - begin, min(warmup, end - begin))

    def record(self, loss: float) -> None:
        """Keep the epoch, its loss and the network."""
        self.rows.append((self.epoch, loss))
        self.networks.append(copy.deepcopy(self.network.state_dict()))

    def state(self) -> dict:
        """All that the rest of the run depends on, and the networks kept so far."""
        return super().state() | {"networks": self.networks}

    def take_up(self, state: dict) -> None:
        """Go on from `state`."""
        super().take_up(state)
        self.networks = state["networks"]

    def result(self, seconds: float, stopped: bool) -> Result:
        """The run's Result as it stands; what the kept networks tell is read out where the run was not stopped."""
        found = read_out(self) if not stopped else {}
        return Result(
            self.config,
            seconds,
            str(self.device),
            stopped,
            steps=self.losses().numpy(),
            **dict.fromkeys(READ, np.empty(0)) | found,
        )


def run(config: Config, *, progress=None, device=None, checkpoint=None) -> Result:
    """Train, or go on from a checkpoint, and read out the networks that were kept.

    Args:
        config, progress, device: as for `images.run`.
        checkpoint: a file that is written after every epoch, and taken up where it exists; None takes the one that the
            environment variable CLBOOK_CHECKPOINT names, if it does.
    Raises ValueError: as `images.run`.
    """
    path = checkpoint or environment.checkpoint()
    return images.train(Trainer(config, default_device(device)), progress, path)


def read_out(trainer: Trainer) -> dict[str, np.ndarray]:
    """What the networks that `trainer` has kept so far tell: the arrays `READ` of a Result."""
    networks = [of_network(trainer, state) for state in trainer.networks]
    places = [of_pixels(trainer), *networks]
    found = {}
    for name in ("knn", "probe", "confusion", "nearest", "share"):
        found[name] = np.array([place[name] for place in places])
    for name in ("probe_z", "spectrum_h", "spectrum_z"):
        found[name] = np.array([network[name] for network in networks])
    epochs, loss = np.array(trainer.rows, float).T
    found["epochs"] = epochs.astype(int)
    found["loss"] = loss
    found["plane"] = neighbours.planes([place["points"] for place in places], trainer.config.seed)
    return found | shown(trainer)


def of_pixels(trainer: Trainer) -> dict:
    """What the pixels tell; the probe sees as many of their principal components as there are features."""
    i, rows = trainer.images, probed(trainer)
    train, test = i.x.flatten(1), i.x_test.flatten(1)
    found = told(trainer, train, test)
    few, few_test = neighbours.principal(train[rows], test, trainer.network.encoder.features)
    found["probe"] = linear_probe(few, i.y[rows], few_test, i.y_test)
    return found


def of_network(trainer: Trainer, state: dict) -> dict:
    """What a network that was kept tells by its features h, and what its z tells."""
    trainer.network.load_state_dict(state)
    i, rows = trainer.images, probed(trainer)
    h, z = trainer.embedded(i.x)
    h_test, z_test = trainer.embedded(i.x_test)
    found = told(trainer, torch.from_numpy(h), torch.from_numpy(h_test))
    found["probe"] = linear_probe(h[rows], i.y[rows], h_test, i.y_test)
    found["probe_z"] = linear_probe(z[rows], i.y[rows], z_test, i.y_test)
    found["spectrum_h"] = spectrum(h_test)
    found["spectrum_z"] = spectrum(z_test)
    return found


def told(trainer: Trainer, train: Tensor, test: Tensor) -> dict:
    """What lies beside what, by the vectors of training images (n, d) and test images (m, d), pixels or features."""
    i, classes = trainer.images, len(trainer.images.classes)
    photographs, pool = chosen(trainer)
    votes = i.y[neighbours.nearest(train, test, VOTING)]
    guessed = neighbours.elected(votes, classes)
    points = test[photographs]
    beside = neighbours.nearest(train[pool], points, BESIDE)
    own = neighbours.among_its_own(i.y[pool][beside].numpy(), i.y_test[photographs].numpy())
    return {
        "knn": float((guessed == i.y_test).float().mean()),
        "confusion": neighbours.confusion(i.y_test, guessed, classes),
        "nearest": beside.numpy(),
        "share": own.mean(),
        "points": points,
    }


def shown(trainer: Trainer) -> dict[str, np.ndarray]:
    """The images of the wall and of the pool, and their classes."""
    i = trainer.images
    photographs, pool = chosen(trainer)
    return {
        "labels": i.y_test[photographs].numpy(),
        "pool_labels": i.y[pool].numpy(),
        "photographs": as_bytes(i.x_test[photographs]),
        "pool": as_bytes(i.x[pool]),
    }


def chosen(trainer: Trainer) -> tuple[Tensor, Tensor]:
    """Rows of the test images that are on the wall, and of the training images of which the nearest are shown."""
    generator = stream(trainer.config.seed, CHOICE)
    photographs = neighbours.of_each(trainer.images.y_test, SHOWN, generator)
    return photographs, neighbours.of_each(trainer.images.y, POOL, generator)


def probed(trainer: Trainer) -> Tensor:
    """Rows of the training images to which the linear probe is fitted."""
    return neighbours.of_each(trainer.images.y, PROBED, stream(trainer.config.seed, CHOICE))


def as_bytes(x: Tensor) -> np.ndarray:
    """Images in [0, 1] as whole numbers 0 .. 255."""
    return (255 * x).round().to(torch.uint8).numpy()
