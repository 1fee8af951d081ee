"""One network trained with several losses, from the same start, with the same batches and the same views (SA Sec. 5).

Each copy is a run of `experiments.images`: what is drawn at random there depends on the seed, not on the loss.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
from torch import nn

from clbook import metrics
from clbook.experiments.images import experiment as images
from clbook.training.loop import default_device
from clbook.training.settings import Outcome, setting

OTHERS = {"nscl": ("nscl",), "labels": ("nscl", "supcon", "ce")}


@dataclasses.dataclass(frozen=True)
class Config(images.Config):
    """Settings of one run: those of `images`, and the losses; the default trains four copies on 8 x 8 digits."""

    loss: str = setting(
        "dcl", "the loss that the others are compared with", choices=("dcl", "nt_xent")
    )
    others: str = setting(
        "labels", "nscl: NSCL alone; labels: NSCL, SCL and CE", choices=tuple(OTHERS)
    )
    epochs: int = setting(10, "times that every image is seen", unit="epochs", low=1)
    every: int = setting(1, "epochs between two comparisons", unit="epochs", low=1)
    optimiser: str = setting("lars", "how the weights move", choices=("sgd", "lars"))
    lr: float = setting(5.0, "learning rate, after the warm-up", above=0.0, high=100.0, log=True)
    decay: float = setting(1e-6, "weight decay", low=0.0, high=1.0)

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses of the copies, the reference first."""
        return self.loss, *OTHERS[self.others]

    def copy(self, loss: str) -> images.Config:
        """The settings of the copy that is trained with `loss`; it is read out at its end alone."""
        shared = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(images.Config)
        }
        return images.Config(**shared | {"loss": loss, "every": self.epochs})


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded of its M copies, at T times; similarities and the gap compare each with the first.

    Attributes:
        losses: names of the losses.
        epochs (T,): epochs after which the copies were compared; 0, the first, is before training.
        cka, rsa (T, M): similarity of the embeddings z of the test images, after the projector; NaN where one has
            become constant.
        cka_h (T, M): CKA before the projector; NaN where an embedding has become constant.
        gap (T, M): gap of the weights of encoder and projector, `metrics.weight_gap` (SA Fig. 6).
        steps (S, M): loss of each copy before each step; NaN for steps that a copy has not come to.
        nccc (M,): test accuracy of the nearest class centres in h, at the end (SA Table 1); NaN of a stopped run.
        probe (M,): test accuracy of a linear probe on h, at the end (SA Table 1); NaN of a run that was stopped.
        pixels: test accuracy of a linear probe on the pixels.
    """

    losses: tuple
    epochs: np.ndarray
    cka: np.ndarray
    rsa: np.ndarray
    cka_h: np.ndarray
    gap: np.ndarray
    steps: np.ndarray
    nccc: np.ndarray
    probe: np.ndarray
    pixels: float


def similarity(measure, a: np.ndarray, b: np.ndarray) -> float:
    """`metrics.linear_cka` or `.rsa` of two embeddings (n, d); NaN where there is none, as of one that is constant."""
    try:
        return measure(a, b)
    except ValueError:
        return np.nan


def compared(copies: list[images.Trainer]) -> dict[str, list[float]]:
    """CKA, RSA and weight gap of each copy with the first, on the test images."""
    seen = [copy.embedded(copy.images.x_test) for copy in copies]
    weights = [nn.ModuleList([copy.network.encoder, copy.network.projector]) for copy in copies]
    (h_first, z_first), first = seen[0], weights[0]
    cka = [similarity(metrics.linear_cka, z, z_first) for _, z in seen]
    rsa = [similarity(metrics.rsa, z, z_first) for _, z in seen]
    cka_h = [similarity(metrics.linear_cka, h, h_first) for h, _ in seen]
    gap = [metrics.weight_gap(own, first) for own in weights]
    return {"cka": cka, "rsa": rsa, "cka_h": cka_h, "gap": gap}


def readouts(copies: list[images.Trainer]) -> dict:
    """Accuracies on the test images, at the end."""
    i, centres = copies[0].images, []
    for copy in copies:
        (h, _), (h_test, _) = copy.embedded(i.x), copy.embedded(i.x_test)
        centres.append(metrics.nccc(h, i.y, h_test, i.y_test))
    pixels = metrics.linear_probe(i.x.flatten(1), i.y, i.x_test.flatten(1), i.y_test)
    return {
        "nccc": np.array(centres),
        "probe": np.array([copy.read["probe"] for copy in copies]),
        "pixels": pixels,
    }


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train the copies side by side, an epoch each in turn, and compare them (SA Fig. 2, 4, 6 and Table 1).

    Args:
        config: the settings. progress: `progress(fraction, partial)` some times a second, with a partial Result after
            each comparison, else None; returning False stops the run, which returns what it has.
        device: None takes the GPU where there is one.
    Raises ValueError: settings or files that are not allowed, a run that diverged.
    """
    began = time.monotonic()
    copies = [images.Trainer(config.copy(loss), default_device(device)) for loss in config.losses]
    rows = [compared(copies)]

    def made(stopped):
        table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        epochs = np.minimum(np.arange(len(rows)) * config.every, config.epochs)
        steps = np.full((max(len(copy.steps) for copy in copies), len(copies)), np.nan, np.float32)
        for k, copy in enumerate(copies):
            steps[: len(copy.steps), k] = [float(loss) for loss in copy.steps]
        none = np.full(len(copies), np.nan)
        end = {"nccc": none, "probe": none, "pixels": np.nan} if stopped else readouts(copies)
        return Result(
            config,
            time.monotonic() - began,
            str(copies[0].device),
            stopped,
            losses=config.losses,
            epochs=epochs,
            steps=steps,
            **table,
            **end,
        )

    tell = images.teller(progress, rows, lambda: made(True))

    def share(fraction):
        """Of all copies, done, while the one at work tells its own `fraction`."""
        done = sum(copy.epoch for copy in copies) / config.epochs
        inside = fraction - min(copy.epoch for copy in copies) / config.epochs
        return (done + inside) / len(copies)

    for epoch in range(1, config.epochs + 1):
        for copy in copies:
            if not copy.train_epoch(lambda fraction: tell(share(fraction))):
                return made(True)
        if epoch % config.every == 0 or epoch == config.epochs:
            rows.append(compared(copies))
    return made(False)
