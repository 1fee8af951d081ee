"""Latents with content and style, and the maps that hide them: the controlled data-generating process of CS Sec. 4.1.

Latents z live in the hyperbox [0, 1]^d or on the unit sphere S^{d-1}; the first d_c dimensions are content, which a
positive pair shares, the rest is style, which varies. Observations are x = g(z), with g an invertible linear or
leaky-ReLU network.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from clbook._arguments import (
    at_least,
    choice,
    dense,
    floats,
    positive,
    refused,
    source,
    table,
    whole,
)

SPACES = ("box", "sphere")
PROPOSALS = 16  # offered at once by the rejection sampler, which takes the first that is accepted
SLOPE = 0.2  # of the leaky ReLU below 0


def marginal(n: int, d: int, space: str, generator: torch.Generator) -> Tensor:
    """Latents drawn from the marginal distribution.

    Returns: z (n, d), uniform in the box [0, 1]^d, or on the unit sphere.
    Raises ValueError: another space, n or d below 1.
    """
    return _placed(_points(n, d, space, generator), space)


def positives(
    z: Tensor,
    d_c: int,
    style_sd: float,
    space: str,
    generator: torch.Generator,
    content_sd: float = 0.0,
) -> Tensor:
    """A positive partner for each latent, drawn from the conditional of CS Sec. 2 and 4.1.

    Box: every dimension is normal around z, with standard deviation `content_sd` in the first d_c dimensions (0, the
    default: they stay) and `style_sd` in the others, truncated to [0, 1]. Sphere: von Mises-Fisher around z with
    concentration 1 / style_sd^2, given that the first d_c dimensions stay; then a single style dimension stays too.

    Args: z (n, d); d_c and the standard deviations, plain numbers.
    Returns: (n, d).
    Raises ValueError: d_c outside 0 .. d, a style_sd that is not above 0, a content_sd below 0, or not 0 on the sphere.
    """
    n, d = table("z", z).shape
    source("generator", generator)
    settings = _settings(d, d_c, style_sd, space, content_sd)
    return _partners(z, _chances(n, d, space, generator).to(z), *settings)


# The same for R runs at once, in two halves: random numbers, which only ask for shapes, and what settings make of them.


def draws(n: int, d: int, space: str, generator: torch.Generator) -> Tensor:
    """The random numbers of n pairs, in the order in which `marginal` and then `positives` draw them.

    Returns: (n, k), which `pairs` turns into latents and partners; k depends on d and space alone.
    """
    return torch.cat([_points(n, d, space, generator), _chances(int(n), d, space, generator)], -1)


def pairs(
    drawn: Tensor,
    d: int,
    d_c: int | Tensor,
    style_sd: float | Tensor,
    space: str,
    content_sd: float | Tensor = 0.0,
) -> tuple[Tensor, Tensor]:
    """Latents and their positives, from random numbers. No value of a tensor is read, so none is checked.

    Args: drawn (..., n, k), as from `draws`; d_c, style_sd and content_sd, numbers or tensors (..., 1, 1).
    Returns: two tensors (..., n, d).
    Raises ValueError: as `positives`, of plain numbers; numbers drawn for another d or space.
    """
    settings = _settings(d, d_c, style_sd, space, content_sd)
    columns = 2 * d if space == "box" else 2 * d + 3 * PROPOSALS
    if floats("drawn", drawn, 2).shape[-1] != columns:
        raise refused("drawn", drawn, f"draws(n, {d}, {space!r}, generator), (..., n, {columns})")
    points, chances = drawn.split([d, drawn.shape[-1] - d], -1)
    z = _placed(points, space)
    return z, _partners(z, chances, *settings)


def _settings(d, d_c, style_sd, space, content_sd):
    """d_c, style_sd, space and content_sd, checked: words, and those numbers that are no tensors."""
    choice("space", space, SPACES)
    whole("d", d, 1)
    d_c = _each("d_c", d_c, lambda name, value: whole(name, value, 0, d))
    style_sd = _each("style_sd", style_sd, positive)
    content_sd = _each("content_sd", content_sd, functools.partial(at_least, 0))
    if isinstance(content_sd, float) and content_sd > 0 and space == "sphere":
        raise refused("content_sd", content_sd, ">= 0, and 0 on the sphere")
    return d_c, style_sd, space, content_sd


def _each(name, value, check):
    """A number, checked; or a tensor (..., 1, 1) of one for each run."""
    if not isinstance(value, Tensor):
        return check(name, value)
    if any(size != 1 for size in dense(name, value).shape[-2:]):
        raise refused(name, value, "a number, or a tensor (..., 1, 1) of them")
    return value


def _points(n, d, space, generator):
    n, d = whole("n", n, 1), whole("d", d, 1)
    choice("space", space, SPACES)
    source("generator", generator)
    return (torch.rand if space == "box" else torch.randn)(n, d, generator=generator)


def _placed(points, space):
    return points if space == "box" else F.normalize(points, dim=-1)


def _chances(n, d, space, generator):
    """What `_partners` needs: in the box (n, d) uniform, on the sphere (n, d + 3 PROPOSALS) (`_von_mises_fisher`)."""
    if space == "box":
        return torch.rand(n, d, generator=generator)
    side = torch.randn(n, d, generator=generator)
    radius, angle, threshold = torch.rand(3, n, PROPOSALS, generator=generator)
    return torch.cat([side, radius.log(), (2 * math.pi * angle).cos(), threshold.log()], -1)


def _partners(z, chances, d_c, style_sd, space, content_sd):
    style = torch.arange(z.shape[-1], device=z.device) >= d_c  # (d,) or (..., 1, d)
    if space == "sphere":
        return _von_mises_fisher(z, style, style_sd, chances)
    sd = torch.where(style, style_sd, content_sd).to(z)
    low, high = (torch.special.ndtr((edge - z) / sd.clamp(min=1e-6)) for edge in (0, 1))
    step = torch.special.ndtri((low + chances * (high - low)).clamp(1e-7, 1 - 1e-7))
    return torch.where(sd > 0, (z + sd * step).clamp(0, 1), z)


def _von_mises_fisher(z, style, sd, chances):
    """von Mises-Fisher around z, concentration 1 / sd^2, on the sphere of the m style dimensions through z.

    The partner is w axis + (1 - w^2)^1/2 side, with a side uniform at right angles to the axis. w is drawn by algorithm
    VM* of Wood 1994, whose steps and letters stand below. Of `PROPOSALS` values proposed for w the first that is
    accepted is taken, and the first of all where none is: Wood's envelope accepts with probability 0.657 or more for
    m = 2 .. 64 and any concentration up to 1e4, so that happens in one of 3e7 points.

    chances: (..., n, d + 3 PROPOSALS) standard normals; logs of uniform numbers; cosines of uniform angles; logs again.
    """
    side, log_uniform, cosine, threshold = chances.split([z.shape[-1], *[PROPOSALS] * 3], -1)
    own = z * style
    radius = own.norm(dim=-1, keepdim=True)
    axis = own / radius.clamp(min=1e-12)
    m1 = style.sum(-1, keepdim=True).to(z) - 1  # (..., 1, 1): m - 1
    kappa = radius**2 / sd**2
    # Step 0: b = (-2 kappa + (4 kappa^2 + (m-1)^2)^1/2) / (m-1), written so that nothing cancels.
    b = m1 / (2 * kappa + (4 * kappa**2 + m1**2).sqrt()).clamp(min=1e-12)
    x0 = (1 - b) / (1 + b)
    c = kappa * x0 + m1 * torch.log1p(-(x0**2) + 1e-12)
    # Step 1: beta ~ Beta((m-1)/2, (m-1)/2) is (1 + t)/2, t the first coordinate of a uniform direction in R^m. The
    # length of the first two coordinates is (1 - U^(2/(m-2)))^1/2; t is that times the cosine of their angle.
    length = (-torch.expm1(log_uniform * (2 / (m1 - 1).clamp(min=0)))).sqrt()
    beta = (1 + length * cosine) / 2  # (..., n, PROPOSALS)
    w = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)
    # Step 2: accept where kappa w + (m-1) log(1 - x0 w) - c >= log U.
    accepted = kappa * w + m1 * torch.log1p(-x0 * w) - c >= threshold
    w = w.gather(-1, accepted.to(torch.uint8).argmax(-1, keepdim=True))  # the first accepted
    # Step 3: the partner, on the sphere through z.
    w = torch.where((radius > 0) & (m1 > 0), w, 1.0)  # a single style dimension has nowhere to go
    side = side * style
    side = F.normalize(side - (side * axis).sum(-1, keepdim=True) * axis, dim=-1)
    moved = w * axis + (1 - w**2).clamp(min=0).sqrt() * side
    return torch.where(style, radius * moved, z)


def mixed(z: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """x = g(z), a network without biases: matrices with a leaky ReLU between two (CS Sec. 4.1).

    Args:
        z: (..., n, d).
        matrices: a sequence of (..., d, d) tensors, the first one is applied first; one makes g linear. Leading axes
            are separate networks.

    Returns: (..., n, d).
    Raises ValueError: other shapes.
    """
    floats("z", z, 2)
    for i, matrix in enumerate(_matrices(matrices, z.shape[-1])):
        z = (F.leaky_relu(z, SLOPE) if i else z) @ matrix.mT.to(z)
    return z


def _matrices(given, d):
    """A sequence of square matrices (..., d, d), checked, as a list."""
    if not isinstance(given, Sequence) or not given:
        raise refused("matrices", given, "a sequence of one matrix or more")
    for i, matrix in enumerate(given):
        if floats(f"matrices[{i}]", matrix, 2).shape[-2:] != (d, d):
            raise refused(f"matrices[{i}]", matrix, f"square, (..., {d}, {d})")
    return list(given)


def rotations(d: int, layers: int, generator: torch.Generator) -> list[Tensor]:
    """A random rotation (d, d) for each layer."""
    d, layers = whole("d", d, 1), whole("layers", layers, 1)
    source("generator", generator)
    found = [
        torch.nn.init.orthogonal_(torch.empty(d, d), generator=generator) for _ in range(layers)
    ]
    return found
