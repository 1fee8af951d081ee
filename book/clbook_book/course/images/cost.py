"""What a training step takes: seconds = a + b x views x operations, and memory = weights + views x what is kept.

Measured on small networks and images; for larger ones it is a forecast, which the sizes of `CHECKED` put to the test.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from clbook.experiments.images import experiment
from clbook.experiments.images.experiment import Trainer
from clbook.experiments.images.networks import ResNet
from clbook.training.settings import Outcome, Settings, seed_of, setting

# (depth, width, stem, side of the images, images in a batch)
FITTED = (
    (8, 8, "small", 32, 32),
    (8, 16, "small", 32, 16),
    (8, 16, "small", 32, 48),
    (14, 16, "small", 32, 32),
    (8, 24, "small", 32, 32),
)
CHECKED = (
    (20, 32, "small", 32, 32),
    (18, 64, "large", 64, 16),
    (50, 64, "large", 64, 16),
    (50, 64, "large", 224, 2),
)
COPIES = 3  # of the weights: themselves, their gradients, their velocity
FORWARD = 3  # times the operations of a forward pass that a step has: backward takes two


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """How the steps are timed."""

    repeats: int = setting(
        2, "steps timed of each size, after one that is not", unit="steps", low=1
    )
    seed: int = seed_of("the starts and the images", each=False)


@dataclasses.dataclass
class Result(Outcome):
    """What each size of FITTED and CHECKED, in this order, was found to take.

    Attributes:
        views (S,): views in a step.
        flops (S,): operations of one view's forward pass.
        weights (S,): weights of the network and its projector.
        kept (S,): bytes of each view that wait for the backward pass.
        step (S,): seconds of processor time of a step on one thread, the least of the repeats.
    """

    views: np.ndarray
    flops: np.ndarray
    weights: np.ndarray
    kept: np.ndarray
    step: np.ndarray


def flops(network: nn.Module, image: tuple) -> int:
    """Floating point operations of one image's forward pass: two a multiplication with its sum."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network.eval()(torch.rand(1, *image))
    return counter.get_total_flops()


def kept(trainer: Trainer, chosen: torch.Tensor) -> int:
    """Bytes that the loss of a batch keeps for the backward pass, the weights not counted."""
    weights = {p.untyped_storage().data_ptr() for p in trainer.weights}
    found = {}

    def pack(tensor):
        found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        trainer.loss(chosen)
    return sum(size for place, size in found.items() if place not in weights)


def measured(config: Config, depth: int, width: int, stem: str, side: int, batch: int) -> tuple:
    """(views, flops, weights, kept, step) of one size, on random grey images."""
    made = experiment.Config(
        train=batch, test=10, batch=batch, depth=depth, width=width, stem=stem, seed=config.seed
    )
    trainer, chosen = Trainer(made, torch.device("cpu")), torch.arange(batch)
    trainer.x = torch.rand(
        batch, 1, side, side, generator=torch.Generator().manual_seed(config.seed)
    )
    operations = flops(ResNet(depth, width, 1, stem), (1, side, side))
    trainer.network.train()
    waiting, times = kept(trainer, chosen), []
    for _ in range(config.repeats + 1):
        began = time.process_time()
        trainer.step(chosen, 1.0)
        times.append(time.process_time() - began)
    return (
        2 * batch,
        operations,
        sum(p.numel() for p in trainer.weights),
        waiting / (2 * batch),
        min(times[1:]),
    )


def run(config: Config, *, progress=None, device=None) -> Result:
    """Measure every size; `progress(fraction, None)` after each, False stops."""
    began, rows, sizes = time.monotonic(), [], FITTED + CHECKED
    for size in sizes:
        rows.append(measured(config, *size))
        if progress is not None and progress(len(rows) / len(sizes), None) is False:
            break
    columns = (np.array(column, float) for column in zip(*rows, strict=True))
    return Result(config, time.monotonic() - began, "cpu", len(rows) < len(sizes), *columns)


def line(record) -> tuple[float, float]:
    """(a, b) of step = a + b x views x flops on the sizes of FITTED, the relative errors least in squares.

    record: the record `images-cost`, a run a seed; the runs' means are fitted.
    """
    mean = record.mean("seed").isel(size=slice(len(FITTED)))
    views, flops, step = mean.views.values, mean.flops.values, mean.step.values
    rows = np.stack([np.ones_like(step), views * flops], 1) / step[:, None]
    (a, b), *_ = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)
    return float(a), float(b)


def forecast(record) -> np.ndarray:
    """(sizes,) seconds of a step of each size of FITTED and CHECKED by `line`."""
    a, b = line(record)
    return a + b * (record.views * record.flops).mean("seed").values
