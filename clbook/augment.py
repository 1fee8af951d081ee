"""Augmentations T: each call draws one fresh view of every point. They never see labels.

Random numbers come from the generator that is passed in, never from torch's global one; kornia is used through its
functions, with parameters that we draw, because its random classes draw from the global generator.
"""

from __future__ import annotations

import math

import torch
from kornia.filters import gaussian_blur2d
from kornia.geometry.transform import get_rotation_matrix2d, warp_affine


def noise(x: torch.Tensor, sd: float, generator: torch.Generator) -> torch.Tensor:
    """x (n, D) plus independent normal noise of standard deviation `sd` in each coordinate."""
    return x + sd * torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)


def rotation(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """x (n, 2) with every point turned about the origin by its own uniform angle (LS Section 4.2.2, the donut)."""
    angle = 2 * math.pi * torch.rand(len(x), generator=generator, device=x.device, dtype=x.dtype)
    return turn(x, angle)


def turn(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """x (..., n, D) turned by `angle`, one or (..., n) in radians, in the plane of the first two coordinates."""
    cos, sin = angle.cos(), angle.sin()
    plane = torch.stack(
        [cos * x[..., 0] - sin * x[..., 1], sin * x[..., 0] + cos * x[..., 1]], dim=-1
    )
    return torch.cat([plane, x[..., 2:].expand(*plane.shape[:-1], -1)], dim=-1)


def _uniform(low, high, size, generator):
    return low + (high - low) * torch.rand(size, generator=generator, device=generator.device)


def moves(
    n: int, generator: torch.Generator, *, degrees=15.0, scale=0.1, blur=0.8, shift=0.0
) -> torch.Tensor:
    """What `moved` does to each of n pictures: (n, 4) angle, factor of size, two shifts; with blur (n, 5), its sd.

    The angle is uniform in +-`degrees`, the factor in 1 +- `scale`, the shift in +-`shift` pixels each way, the blur's
    standard deviation in [0.1, `blur`] pixels (0: no blur). The defaults are those of LS Section 4.2.2.
    """
    size = _uniform(1 - scale, 1 + scale, (n, 1), generator)
    angle = _uniform(-degrees, degrees, (n, 1), generator)
    shifts = (
        _uniform(-shift, shift, (n, 2), generator) if shift else torch.zeros_like(size).expand(n, 2)
    )
    blurs = [_uniform(0.1, blur, (n, 1), generator)] if blur else []
    return torch.cat([angle, size, shifts, *blurs], 1)


def moved(x: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """Flattened square images x (..., colours * side * side), 1 or 3 colours, turned, resized, shifted and blurred.

    `drawn` (..., 4 or 5), as from `moves`, says how; it is on the device of x, where all the work is done.
    What comes from outside the image is black. Raises ValueError where the images are not square.
    """
    pixels, drawn = x.shape[-1], drawn.flatten(0, -2)
    colours = next((c for c in (1, 3) if math.isqrt(pixels // c) ** 2 * c == pixels), None)
    if colours is None:
        raise ValueError(
            f"x has {pixels} pixels an image: images must be square, in 1 or 3 colours"
        )
    side = math.isqrt(pixels // colours)
    picture = x.reshape(-1, colours, side, side)
    centre = torch.full((len(drawn), 2), (side - 1) / 2, device=x.device)
    matrix = get_rotation_matrix2d(centre, drawn[:, 0], drawn[:, 1:2].expand(-1, 2))
    matrix[:, :, 2] += drawn[:, 2:4]
    picture = warp_affine(picture, matrix, (side, side), align_corners=True)
    if drawn.shape[1] == 5:
        picture = gaussian_blur2d(picture, (3, 3), drawn[:, 4:].expand(-1, 2))
    return picture.reshape(x.shape)


def images(x: torch.Tensor, generator: torch.Generator, **ranges) -> torch.Tensor:
    """A fresh view of flattened square images x (n, pixels): `moved` by fresh `moves`, whose `ranges` it takes."""
    return moved(x, moves(len(x), generator, **ranges).to(x.device))
