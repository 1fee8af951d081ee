"""How far CL's and DCL's losses are from NSCL's at embeddings that nobody trained: points around random class means."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

from clbook import losses
from clbook.data import balanced_labels
from clbook.training.streams import stream

POINTS, CLASSES = 0, 2  # purposes of the streams of random numbers


def views(
    n: int,
    classes: int,
    seed: int,
    labels: Tensor | None = None,
    d: int = 16,
    spread: float = 1.0,
    noise: float = 0.5,
) -> tuple[Tensor, ...]:
    """Points around random class means, and a view of each.

    Args:
        n, classes, d: numbers of points, of classes, of dimensions.
        labels: (n,) the points' classes; None for classes of equal size.
        spread: standard deviation within a class; that of the class means is 1.
        noise: standard deviation of a view around its point.

    Returns:
        z1, z2 (n, d), unit vectors in float64, and labels (n,).
    """
    generator = stream(seed, POINTS)
    if labels is None:
        labels = balanced_labels(n, classes)

    def normal(rows):
        return torch.randn(rows, d, generator=generator, dtype=torch.float64)

    means = normal(classes)
    within = normal(n)
    apart = normal(n) / math.sqrt(d)
    z = normalize(means[labels] + spread * within, dim=1)
    return z, normalize(z + noise * apart, dim=1), labels


def loss_gaps(n: int, classes: int, tau: float, seed: int) -> tuple[float, float]:
    """(DCL - NSCL, CL - NSCL), all 2n views anchors, of n points whose classes are random, as in SA's batches."""
    labels = torch.randint(classes, (n,), generator=stream(seed, CLASSES))
    z1, z2, _ = views(n, classes, seed, labels)
    dcl = losses.dcl(z1, z2, tau)
    cl = losses.nt_xent(z1, z2, tau)
    nscl = losses.nscl(z1, z2, labels, tau)
    return float(dcl - nscl), float(cl - nscl)
