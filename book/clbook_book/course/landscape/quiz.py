"""The contrastive loss of one anchor as a quiz: twelve views on the circle, of which one is the anchor's partner.

A view is picked with probability proportional to exp(cosine / tau); the loss is minus the logarithm of the partner's.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook.losses import infonce
from clbook.training.settings import Outcome, Settings, setting

PARTNER = 30.0  # degrees from the anchor to its partner
OTHERS = np.linspace(75, 285, 10)  # degrees to the negatives that stay


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of the quiz."""

    tau: float = setting(0.2, "temperature", low=0.01, high=10.0, log=True)
    rival: float = setting(
        45.0,
        "angle from the anchor to the nearest negative; the partner is at 30",
        unit="degrees",
        low=0.0,
        high=75.0,
    )


@dataclasses.dataclass
class Result(Outcome):
    """The quiz and how it ends.

    Attributes:
        views: (12, 2) unit vectors: the partner first, then the nearest negative, then the others.
        anchor: (2,) unit vector.
        cosines: (12,) of the anchor with the views.
        chances: (12,) probabilities with which the views are picked; they sum to 1.
        loss: the contrastive loss of the anchor.
    """

    views: np.ndarray
    anchor: np.ndarray
    cosines: np.ndarray
    chances: np.ndarray
    loss: float


def run(config: Config, *, progress=None, device=None) -> Result:
    """Put the quiz and read the softmax; it takes no time, so `progress` and `device` are not used."""
    angles = torch.tensor([0.0, PARTNER, -config.rival, *OTHERS], dtype=torch.float64).deg2rad()
    points = torch.stack([angles.cos(), angles.sin()], 1)
    anchor = points[0]
    views = points[1:]
    cosines = views @ anchor
    return Result(
        config=config,
        seconds=0.0,
        device="cpu",
        stopped=False,
        views=views.numpy(),
        anchor=anchor.numpy(),
        cosines=cosines.numpy(),
        chances=(cosines / config.tau).softmax(0).numpy(),
        loss=float(infonce(anchor[None], views[:1], views[1:], config.tau, normalize=True)),
    )
