"""Augmentations T: each call draws a fresh view of every point. They never see labels.

Random numbers come from the generator that is passed in, never from torch's global one. Of kornia only the functions
are used, with numbers that are drawn here, since its random classes draw from the global generator.
"""

from __future__ import annotations

import math

import torch
from kornia.filters import gaussian_blur2d
from kornia.geometry.transform import get_rotation_matrix2d, warp_affine
from torch import Generator, Tensor

from clbook._arguments import at_least, floats, refused, source, whole

# Points.


def noise(x: Tensor, sd: float, generator: Generator) -> Tensor:
    """Each coordinate plus independent normal noise: x + sd N(0, 1).

    Args:
        x: points, of any shape.
        sd: standard deviation of the noise, in the unit of x.
        generator: source of the noise, on the device of x.

    Returns:
        A tensor like x.
    """
    floats("x", x)
    sd = at_least(0.0, "sd", sd)
    source("generator", generator)
    return x + sd * torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)


def rotation(x: Tensor, generator: Generator) -> Tensor:
    """Each point turned about the origin by an angle of its own, uniform on the circle (LS Sec. 4.2.2, the donut).

    Args:
        x: points (..., n, D), D >= 2; they turn in the plane of the first two coordinates.
        generator: source of the angles, on the device of x.

    Returns:
        A tensor like x.
    """
    floats("x", x, 2)
    source("generator", generator)
    share = torch.rand(x.shape[:-1], generator=generator, device=x.device, dtype=x.dtype)
    angle = 2 * math.pi * share
    return turn(x, angle)


def turn(x: Tensor, angle: Tensor) -> Tensor:
    """Points turned in the plane of the first two coordinates: (u, v) -> (cos a u - sin a v, sin a u + cos a v).

    Args:
        x: points (..., n, D), D >= 2.
        angle: in radians, one for all points or (..., n), one for each. Leading axes of x and angle broadcast.

    Returns:
        (..., n, D).
    """
    floats("x", x, 2)
    floats("angle", angle)
    if x.shape[-1] < 2:
        raise refused("x", x, "points (..., n, D) of two coordinates or more")
    u = x[..., 0]
    v = x[..., 1]
    cos = angle.cos()
    sin = angle.sin()
    try:
        first = cos * u - sin * v
        second = sin * u + cos * v
    except RuntimeError as error:  # the shapes do not broadcast
        raise refused("angle", angle, f"one, or one a point of x {tuple(x.shape)}") from error
    turned = torch.stack([first, second], dim=-1)
    # The other coordinates stay. They are repeated where there are several angles for a point.
    return torch.cat([turned, x[..., 2:].expand(*first.shape, -1)], dim=-1)


# Images: flattened, colour after colour, (..., colours * side * side).


def moves(
    n: int,
    generator: Generator,
    *,
    degrees: float = 15.0,
    scale: float = 0.1,
    blur: float = 0.8,
    shift: float = 0.0,
) -> Tensor:
    """Draw what `moved` does to each of n images. The defaults are those of LS Sec. 4.2.2.

    Args:
        n: number of images.
        generator: source of all four; what is drawn is on its device.
        degrees: the angle is uniform in +- `degrees`.
        scale: the factor of size is uniform in 1 +- `scale`, `scale` < 1.
        blur: the standard deviation of the blur is uniform in [0.1, `blur`] pixels; 0 is no blur.
        shift: the shift is uniform in +- `shift` pixels, each way.

    Returns:
        (n, 4), the angle in degrees, the factor of size and two shifts in pixels. With blur (n, 5), the last column is
        its standard deviation.
    """
    n = whole("n", n, 0)
    source("generator", generator)
    degrees = at_least(0.0, "degrees", degrees)
    scale = at_least(0.0, "scale", scale)
    if scale >= 1:
        raise refused("scale", scale, "a number >= 0 and < 1")
    blur = at_least(0.0, "blur", blur)
    shift = at_least(0.0, "shift", shift)

    smallest = 1 - scale
    largest = 1 + scale
    size = _uniform(smallest, largest, (n, 1), generator)
    angle = _uniform(-degrees, degrees, (n, 1), generator)
    # Nothing is drawn for a shift or a blur that is not there.
    shifts = size.new_zeros(n, 2)
    if shift:
        shifts = _uniform(-shift, shift, (n, 2), generator)
    columns = [angle, size, shifts]
    if blur:
        columns.append(_uniform(0.1, blur, (n, 1), generator))
    return torch.cat(columns, dim=1)


def _uniform(low, high, shape, generator):
    """Numbers uniform in [low, high], on the generator's device."""
    return low + (high - low) * torch.rand(shape, generator=generator, device=generator.device)


def moved(x: Tensor, drawn: Tensor) -> Tensor:
    """Images turned, resized, shifted and blurred. What comes from outside an image is black.

    Args:
        x: flattened square images (..., n, colours * side * side) of 1 or 3 colours.
        drawn: (..., n, 4 or 5), for each image what `moves` has drawn, on the device of x.

    Returns:
        A tensor like x.

    Raises:
        ValueError: images that are not square, or have another number of colours.
    """
    floats("x", x, 2)
    floats("drawn", drawn, 2)
    images = x.shape[:-1]
    if drawn.shape not in ((*images, 4), (*images, 5)):
        raise refused("drawn", drawn, f"(..., 4 or 5), a row an image of x {tuple(x.shape)}")
    colours, side = _square(x)
    pictures = x.reshape(-1, colours, side, side)
    angle, size, shifts, blur = drawn.to(x.dtype).flatten(0, -2).tensor_split((1, 2, 4), dim=1)

    # A 2 x 3 matrix for each image: it turns and resizes about the centre, then shifts.
    size = size.expand(-1, 2)  # the same along both axes
    matrix = get_rotation_matrix2d(torch.full_like(size, (side - 1) / 2), angle[:, 0], size)
    matrix[:, :, 2] += shifts
    pictures = warp_affine(pictures, matrix, (side, side), align_corners=True)
    if blur.shape[1] == 1:
        blur = blur.expand(-1, 2)
        pictures = gaussian_blur2d(pictures, (3, 3), blur)
    return pictures.reshape(x.shape)


def _square(x):
    """Colours and side of flattened square images."""
    pixels = x.shape[-1]
    for colours in (1, 3):
        side = math.isqrt(pixels // colours)
        if side > 1 and colours * side**2 == pixels:
            return colours, side
    raise refused("x", x, "flattened square images (..., n, pixels) in 1 or 3 colours")


def images(x: Tensor, generator: Generator, **ranges: float) -> Tensor:
    """A fresh view of flattened square images: `moved` by what `moves` draws.

    Args:
        x: images (..., n, colours * side * side).
        generator: source of the moves.
        ranges: `degrees`, `scale`, `blur`, `shift` of `moves`.

    Returns:
        A tensor like x.
    """
    floats("x", x, 2)
    shape = x.shape[:-1]
    drawn = moves(shape.numel(), generator, **ranges)
    drawn = drawn.unflatten(0, shape)
    return moved(x, drawn.to(x.device))
