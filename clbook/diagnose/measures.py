"""The numbers of the lines about two views, as functions of tensors: a report computes them, and a page traces them.

Each returns {name: number}, a tensor with one entry each; a name that ends in ".alarm" is whether the line's rule finds
something wrong. Whatever is random is an argument.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from clbook import losses
from clbook.losses import unit

PROGRESS = 0.1  # a loss that has come less of the way from chance to its floor has learned nothing
SPREAD = 0.02  # of the spread of random directions: below it all points have one place
APART = 0.7  # partners as far apart as this share of the distance of strangers share nothing
RANK = 0.1  # of the effective rank of a Gaussian sample: below it most dimensions are unused
DEAD = 1e-3  # an axis with less than this share of the largest deviation is dead
UNUSED = 0.5  # of the axes: where more are dead, most of the dimensions are
ANSWERED = 0.3  # a share of partners found in a batch, of which
BEYOND = 0.1  # less than this share is found among all points where the batch is too small
NEARER = (
    1e-12  # by how much the cosine of a partner must be larger than all others: more than rounding
)
NOISE = 1e-13  # a variance with less than this share of the largest one is rounding


def two_views(
    z1: Tensor,
    z2: Tensor,
    order: Tensor,
    gaussian: Tensor,
    tau: Tensor,
    factor: Tensor,
    batch: Tensor,
) -> dict[str, Tensor]:
    """All numbers about two views of n points, with NT-Xent as the loss.

    Args:
        z1, z2: (n, d) in float64, no row zero, n >= 4.
        order: (n,) the rows in random order.
        gaussian: (n, d) a sample of the standard normal distribution.
        tau: () the temperature.
        factor: (2,) a and b, for a library that prints a + b tau times the mean over the views.
        batch: () points in a batch, at most n.
    """
    loss = nt_xent(unit(z1), unit(z2), unit(gaussian), tau)
    scale = factor[0] + factor[1] * tau
    loss = {name: scale * number for name, number in loss.items()}
    return judged_loss(loss) | directions(z1, z2, order, gaussian, batch)


def directions(
    z1: Tensor,
    z2: Tensor,
    order: Tensor,
    gaussian: Tensor,
    batch: Tensor,
) -> dict[str, Tensor]:
    """All of them but those of the loss; arguments as for `two_views`."""
    u1, u2, random = unit(z1), unit(z2), unit(gaussian)
    found = {"length": lengths(z1).mean()}
    found |= apart(u1, u2, order)
    found |= spread(u1, random)
    found |= partners(u1[order], u2[order], batch)
    return found | dimensions(u1, gaussian)


def lengths(z: Tensor) -> Tensor:
    """(n,) of the rows."""
    return (z * z).sum(-1).sqrt()


def nt_xent(u1: Tensor, u2: Tensor, random: Tensor, tau: Tensor) -> dict[str, Tensor]:
    """NT-Xent as a mean over the views; its chance, its floor, and what equal partners in random directions have."""
    same = torch.ones_like(u1[:, :1])
    return {
        "loss": losses.nt_xent(u1, u2, tau),
        "loss.chance": losses.nt_xent(same, same, tau),
        "loss.floor": nt_xent_floor(len(u1), tau),
        "loss.random": losses.nt_xent(random, random, tau),
    }


def nt_xent_floor(n: int, tau: Tensor) -> Tensor:
    """NT-Xent of n points on the corners of a simplex, whose cosines are -1 / (n - 1), with equal partners."""
    others = torch.full_like(tau, n - 1)
    return torch.log1p(2 * others * torch.exp(-(1 + 1 / others) / tau))


def judged_loss(found: dict) -> dict:
    """The numbers of a loss, floats or tensors, with how much of the way from chance to the floor a loss has come."""
    way = (found["loss.chance"] - found["loss"]) / (found["loss.chance"] - found["loss.floor"])
    return found | {"loss.way": way, "loss.alarm": way < PROGRESS}


def apart(u1: Tensor, u2: Tensor, order: Tensor) -> dict[str, Tensor]:
    """The squared distance of partners, beside that of strangers."""
    found = ((u1 - u2) ** 2).sum(-1).mean()
    strangers = ((u1 - u2[order]) ** 2).sum(-1).mean()
    near = torch.where(strangers > 0, found / strangers.clamp(min=1e-300), 1.0)
    return {
        "alignment": found,
        "alignment.strangers": strangers,
        "alignment.share": near,
        "alignment.alarm": near > APART,
    }


def spread(u: Tensor, random: Tensor) -> dict[str, Tensor]:
    """The variance of the directions and their uniformity, beside random ones."""
    found, at_random = variance(u), variance(random)
    even, evenest = uniformity(u), uniformity(random)
    return {
        "spread": found,
        "spread.random": at_random,
        "spread.share": found / at_random,
        "spread.alarm": found < SPREAD * at_random,
        "uniformity": even,
        "uniformity.random": evenest,
        "uniformity.share": even / evenest,
    }


def variance(z: Tensor) -> Tensor:
    """The sum of the variances along all axes."""
    return ((z - z.mean(0)) ** 2).sum(-1).mean()


def uniformity(u: Tensor) -> Tensor:
    """log of the mean of exp(-2 |u_i - u_j|^2) over pairs of unit vectors (Wang and Isola 2020, Sec. 4.1)."""
    n = len(u)
    places = torch.arange(n)
    squares = (2 - 2 * (u @ u.mT)).clamp(min=0)
    weights = torch.where(places[:, None] == places, 0.0, torch.exp(-2 * squares))
    return torch.log(weights.sum() / (n * n - n))


def partners(u1: Tensor, u2: Tensor, batch: Tensor) -> dict[str, Tensor]:
    """The share of views that are nearer to their partner than to all others: of all views, and of those in a batch.

    Rows are in random order; batches are taken one after the other, and what is left at the end is left out.
    """
    n = len(u1)
    row = torch.arange(n)
    number = torch.floor(row / batch)
    whole = number < torch.floor(torch.full_like(batch, n) / batch)
    point, number = torch.cat([row, row]), torch.cat([number, number])
    views = torch.cat([u1, u2])
    cosines = torch.where(point[:, None] == point, -math.inf, views @ views.mT)
    together = torch.where(number[:, None] == number, cosines, -math.inf)
    own = (u1 * u2).sum(-1)
    own = torch.cat([own, own])
    found = own > cosines.amax(1) + NEARER
    inside = own > together.amax(1) + NEARER
    share = found.to(u1.dtype).mean()
    asked = 2 * whole.to(u1.dtype).sum()
    in_batch = (inside & torch.cat([whole, whole])).to(u1.dtype).sum() / asked
    chance = 1 / (2 * torch.full_like(batch, n) - 1)
    return {
        "partners": share,
        "partners.chance": chance,
        "partners.times": share / chance,
        "batch": in_batch,
        "batch.chance": 1 / (2 * batch - 1),
        "batch.alarm": (in_batch > ANSWERED) & (share < BEYOND * in_batch),
    }


def dimensions(z: Tensor, gaussian: Tensor) -> dict[str, Tensor]:
    """Effective rank and dead axes of points (n, d), beside a Gaussian sample (n, d)."""
    n, d = z.shape
    most = min(n - 1, d)
    own, other = variances(z), variances(gaussian)
    rounding = 1e-14 * z.abs().amax()  # of points that all coincide
    rank = torch.where(own[-1].sqrt() > rounding, effective_rank(own), 0.0)
    full = effective_rank(other)
    dead = dead_axes(own[-most:])
    share = dead / most
    return {
        "rank": rank,
        "rank.gaussian": full,
        "rank.most": torch.full_like(rank, most),
        "rank.share": rank / full,
        "rank.alarm": rank < RANK * full,
        "dead": dead,
        "dead.gaussian": dead_axes(other[-most:]),
        "dead.share": share,
        "dead.alarm": share > UNUSED,
    }


def variances(z: Tensor) -> Tensor:
    """(min(n, d),) variances of points (n, d) along their axes, ascending; those that are rounding are 0."""
    n, d = z.shape
    centred = z - z.mean(0)
    products = centred.mT @ centred if d < n else centred @ centred.mT
    found = torch.linalg.eigvalsh(products / n)
    return torch.where(found > NOISE * found[-1], found, 0.0)


def effective_rank(variances: Tensor) -> Tensor:
    """exp of the entropy of the deviations over their sum (Roy and Vetterli 2007)."""
    size = variances.sqrt()
    share = size / size.sum().clamp(min=1e-300)
    entropy = torch.where(share > 0, -share * torch.log(share.clamp(min=1e-300)), 0.0).sum()
    return torch.exp(entropy)


def dead_axes(variances: Tensor) -> Tensor:
    """How many deviations are at most `DEAD` of the largest."""
    size = variances.sqrt()
    return (size <= DEAD * size[-1]).to(size.dtype).sum()
