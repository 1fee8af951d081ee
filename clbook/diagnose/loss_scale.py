"""A loss beside its chance and its floor, in the convention of the library that printed it.

Libraries print one loss in three ways: the mean over the views (here, lightly, pytorch-metric-learning), the sum of the
means of both directions (google-research/simclr), and the mean times temperature / base temperature (SupContrast, whose
base is 0.07).
"""

from __future__ import annotations

import math

import numpy as np
import torch

from clbook import losses
from clbook._arguments import number, positive, refused, whole
from clbook.metrics import Labels, class_ids

BASE = 0.07  # SupContrast's base temperature
# What the mean over the views is multiplied by, as a + b tau.
FACTORS = {"mean": (1.0, 0.0), "sum": (2.0, 0.0), "supcontrast": (0.0, 1 / BASE)}
SCALES = tuple(FACTORS)
NEAR = 5e-3  # the share by which a printed loss may differ from chance: an early step, or rounding


def _two_towers(z1, z2, tau):
    """CLIP's loss in one direction: the negatives of an anchor are the other rows of z2."""
    return losses.infonce(z1, z2, tau=tau, normalize=True)


UNLABELLED = {
    "nt_xent": losses.nt_xent,
    "cl": losses.cl,
    "dcl": losses.dcl,
    "nt_xent_mean": losses.nt_xent_mean,
    "infonce": _two_towers,
}
LABELLED = {"nscl": losses.nscl, "supcon": losses.supcon}
LOSSES = (*UNLABELLED, *LABELLED)


def factor(scale: str | float, tau: float) -> float:
    """What the mean over the views is multiplied by.

    Args:
        scale: "mean", "sum" of two directions, "supcontrast" for tau / 0.07, or the factor itself.
        tau: the temperature.

    Raises:
        ValueError: another scale.
    """
    if isinstance(scale, str):
        if scale not in FACTORS:
            raise refused("scale", scale, f"one of {', '.join(SCALES)}, or a number > 0")
        fixed, by_tau = FACTORS[scale]
        return fixed + by_tau * tau
    return positive("scale", scale)


def value(
    name: str,
    z1: np.ndarray,
    z2: np.ndarray,
    tau: float,
    labels: Labels = (),
) -> float:
    """The loss of the name `name`, as a mean over its anchors.

    Args:
        name: one of `LOSSES`.
        z1, z2: (n, d) two views of n points.
        tau: the temperature.
        labels: (n,), for a loss with labels; others look at none.
    """
    first = torch.from_numpy(np.ascontiguousarray(z1))
    second = torch.from_numpy(np.ascontiguousarray(z2))
    with torch.no_grad():
        if name in UNLABELLED:
            return UNLABELLED[name](first, second, tau).item()
        ids, _ = class_ids(labels, len(z1))
        return LABELLED[name](first, second, torch.from_numpy(ids), tau).item()


def chance(name: str, n: int, tau: float, labels: Labels = ()) -> float:
    """The loss where all outputs are equal."""
    same = np.ones((n, 1))
    return value(name, same, same, tau, labels)


def floor(name: str, n: int, tau: float, labels: Labels = ()) -> float:
    """The loss where partners agree and all others are as far from each other as can be: on a simplex.

    Without labels nothing is lower, in any dimension: the log of a sum is at least that of as many times the geometric
    mean, and the cosines of n unit vectors have a sum >= -n. For n vectors a simplex needs n - 1 dimensions. With
    labels there is a corner for each class, and nothing is lower for classes of equal size (Graf et al. 2021).
    """
    if name in UNLABELLED:
        corners = _simplex(n)
    else:
        ids, classes = class_ids(labels, n)
        corners = _simplex(classes)[ids]
    return value(name, corners, corners, tau, labels)


def _simplex(corners):
    """(k, k): the corners of a simplex around 0, which have the cosine -1 / (k - 1) with each other."""
    return np.eye(corners) - 1 / corners


def conventions(n: int, tau: float) -> dict[str, float]:
    """{convention: the loss of a collapsed or untrained network} for a batch of n points with two views each.

    Args:
        n: points in a batch, >= 2.
        tau: the temperature, > 0.

    Raises:
        ValueError: an argument out of range.

    Examples:
        >>> named = conventions(n=256, tau=0.1)
        >>> round(named["nt_xent, mean over the views"], 3)  # log(2n - 1) = log 511
        6.236
        >>> round(named["infonce, mean of one direction (CLIP, MoCo in a batch)"], 3)  # log n
        5.545
    """
    n = whole("n", n, 2)
    tau = positive("tau", tau)
    views = math.log(2 * n - 1)  # as many terms as an anchor has other views
    rows = math.log(n)
    both = factor("sum", tau)
    return {
        "nt_xent, mean over the views": views,
        "nt_xent, sum of two directions (google-research/simclr)": both * views,
        "nt_xent times tau / 0.07 (SupContrast)": factor("supcontrast", tau) * views,
        "dcl, mean over the views": math.log(2 * n - 2),
        "infonce, mean of one direction (CLIP, MoCo in a batch)": rows,
        "infonce, sum of two directions": both * rows,
    }


def which_chance(loss: float, n: int, tau: float) -> list[str]:
    """The conventions under which a printed loss is that of a network whose outputs are all equal.

    `which_chance(8.909, 256, 0.1)` is ["nt_xent times tau / 0.07 (SupContrast)"].

    Args:
        loss: as printed.
        n: points in a batch, >= 2.
        tau: the temperature, > 0.

    Returns:
        Names of `conventions`, in its order; none where the loss is not chance.

    Raises:
        ValueError: an argument out of range.

    Examples:
        >>> which_chance(8.909, n=256, tau=0.1)
        ['nt_xent times tau / 0.07 (SupContrast)']
        >>> which_chance(5.0, n=256, tau=0.1)  # below chance: something has been learned
        []
    """
    loss = number("loss", loss)
    named = [
        name
        for name, at_chance in conventions(n, tau).items()
        if abs(loss - at_chance) <= NEAR * at_chance
    ]
    return named
