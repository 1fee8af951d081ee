"""What a training's `shown` draws of points, as operations on tensors that a page can do itself."""

from __future__ import annotations

import torch
from torch import Tensor


def on_main_axes(z: Tensor) -> Tensor:
    """Points z (R, n, d) on their two principal axes, (R, n, 2); each axis points as `style.plane` says."""
    centred = z - z.mean(-2, keepdim=True)
    _, vectors = torch.linalg.eigh(centred.mT @ centred)  # ascending
    axes = vectors[..., -2:].flip(-1)
    largest = axes.abs().argmax(-2, keepdim=True)
    signs = torch.where(axes.gather(-2, largest) < 0, -1.0, 1.0)
    return centred @ (signs * axes)


def distance_ratio(z: Tensor, same: Tensor) -> Tensor:
    """(R,) mean distance of the pairs of z (R, n, d) that are `same` (n, n), over that of the other pairs."""
    apart = (z[:, :, None] - z[:, None]).square().sum(-1).sqrt()
    pairs = torch.ones_like(same).triu(1)
    within, between = ((kind & pairs).to(z.dtype) for kind in (same, ~same))
    mean_within = (apart * within).sum((-2, -1)) / within.sum()
    mean_between = (apart * between).sum((-2, -1)) / between.sum()
    return mean_within / mean_between.clamp(min=1e-300)
