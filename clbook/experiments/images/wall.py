"""Cats beside cats: SimCLR on all photographs of CIFAR-10, and what lies beside what while it trains.

One run is read out at epochs 0, 1, 3, 10, 30, 100 ... and at its end. Its networks at these times are kept in the
checkpoint, so that all that the wall shows is computed from them afterwards.
"""

from __future__ import annotations

import copy
import dataclasses

from clbook.experiments.images import experiment as images
from clbook.training.settings import setting


@dataclasses.dataclass(frozen=True)
class Config(images.Config):
    """Settings of the run: those of `images`, for all of CIFAR-10."""

    data: str = setting("cifar10_all", "images", choices=("cifar10_all",))
    train: int = setting(0, "training images; 0 takes all", unit="images", low=0)
    test: int = setting(10_000, "images held out", unit="images", low=200)
    width: int = setting(32, "channels of the first stage", low=1, high=1024)
    batch: int = setting(256, "images in a batch, each with two views", unit="images", low=2)
    epochs: int = setting(12, "times that every image is seen", unit="epochs", low=1)
    warmup: int = setting(
        1, "epochs in which the learning rate rises; half a cosine follows", unit="epochs", low=0
    )
    flip: bool = setting(True, "mirror half of the views")
    smallest: float = setting(
        0.2, "smallest share of an image that a view shows", above=0.0, high=1.0
    )


def readouts(epochs: int) -> list[int]:
    """The epochs after which the network is kept: 0, 1, 3, 10, 30, 100 ... and the last."""
    early = [1, 3]
    while early[-1] < epochs:
        early += [10 * epoch for epoch in early[-2:]]
    return [0, *(epoch for epoch in early if epoch < epochs), epochs]


class Trainer(images.Trainer):
    """Training that keeps the network at the readouts, in `networks`, beside the epoch and its mean loss, in `rows`."""

    def __init__(self, config: Config, device):
        super().__init__(config, device)
        self.networks = []
        self.record(float("nan"))

    def due(self) -> bool:
        """Whether the network is kept after this epoch."""
        return self.epoch in readouts(self.config.epochs)

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
