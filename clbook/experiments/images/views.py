"""SimCLR's random views (Chen et al. 2020, App. A): crop, flip, colour jitter, grey, blur, each drawn for each image.

What is drawn is a table of numbers from the run's own CPU stream; it is applied where the images are.

Two ranges differ from SimCLR's. A hue turns by half as much: at the strength 0.5 by 18 degrees at most, there by 36.
A crop keeps a fifth of the image or more unless `smallest` says otherwise; there 8 percent.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from kornia.color import rgb_to_grayscale
from kornia.enhance import adjust_hue, adjust_saturation
from kornia.filters import gaussian_blur2d
from torch import Tensor

AREA = (0.2, 1.0)  # share of the image that a crop keeps
RATIO = (3 / 4, 4 / 3)  # of a crop's sides
JITTERED, GREY, BLURRED = 0.8, 0.2, 0.5  # probabilities
COLUMNS = (
    "height",
    "width",
    "down",
    "right",
    "flip",
    "brightness",
    "contrast",
    "saturation",
    "hue",
    "grey",
    "blur",
)


def draw(
    n: int,
    generator: torch.Generator,
    colour: float = 0.5,
    flip: bool = True,
    blur: bool = False,
    smallest: float = AREA[0],
) -> Tensor:
    """(n, 11) the numbers of `COLUMNS` for n images.

    height, width, down, right: the crop's half sides and centre, in halves of the image. flip: -1 or 1. brightness,
    contrast, saturation: factors in 1 +- 0.8 `colour`; hue: a turn in +- 0.2 pi `colour`; all 1 and 0 for one image in
    five. grey: whether the image loses its colours. blur: standard deviation, in pixels of an image of 32; 0: none.

    Args:
        colour: strength of the jitter; SimCLR has 1 on ImageNet, 0.5 on CIFAR-10. flip: whether images are mirrored.
        blur: SimCLR blurs on ImageNet alone. smallest: the smallest share of the image that a crop keeps.
    """

    def uniform(low, high):
        return low + (high - low) * torch.rand(n, generator=generator)

    def happens(probability):
        return torch.rand(n, generator=generator) < probability

    area, ratio = uniform(smallest, AREA[1]), uniform(*(math.log(r) for r in RATIO)).exp()
    width, height = ((area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1))
    down, right = ((1 - side) * uniform(-1, 1) for side in (height, width))
    mirrored = torch.where(happens(0.5 if flip else 0.0), -1.0, 1.0)
    jittered = happens(JITTERED)
    factors = [
        torch.where(jittered, uniform(1 - 0.8 * colour, 1 + 0.8 * colour), 1.0) for _ in range(3)
    ]
    hue = torch.where(jittered, uniform(-0.2, 0.2) * colour * math.pi, 0.0)
    grey = happens(GREY).float()
    sd = torch.where(happens(BLURRED if blur else 0.0), uniform(0.1, 2.0), 0.0)
    return torch.stack([height, width, down, right, mirrored, *factors, hue, grey, sd], 1)


def cropped(x: Tensor, drawn: Tensor) -> Tensor:
    """The crops of images x (n, channels, height, width), mirrored, at the size of the images."""
    height, width, down, right, flip = drawn[:, :5].T
    zero = torch.zeros_like(height)
    matrix = torch.stack([width * flip, zero, right, zero, height, down], 1).view(-1, 2, 3)
    grid = F.affine_grid(matrix, x.shape, align_corners=False)
    return F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def coloured(x: Tensor, drawn: Tensor) -> Tensor:
    """Images x (n, 3, height, width) in [0, 1] with brightness, contrast, saturation and hue changed, some grey."""
    brightness, contrast = (drawn[:, k, None, None, None] for k in (5, 6))
    x = (x * brightness).clamp(0, 1)
    middle = rgb_to_grayscale(x).mean((1, 2, 3), keepdim=True)
    x = (middle + contrast * (x - middle)).clamp(0, 1)
    x = adjust_hue(adjust_saturation(x, drawn[:, 7]), drawn[:, 8])
    return torch.where(drawn[:, 9, None, None, None] > 0, rgb_to_grayscale(x), x)


def views(x: Tensor, drawn: Tensor) -> Tensor:
    """A view of each image x (n, channels, height, width), `drawn` (n, 11) as from `draw`, on the device of x.

    Images of one channel are not coloured. What blurs is a Gaussian whose size follows the image's.
    """
    x = cropped(x, drawn)
    if x.shape[1] == 3:
        x = coloured(x, drawn)
    if bool((drawn[:, 10] > 0).any()):
        side = max(x.shape[-2] // 10 * 2 + 1, 3)
        sd = drawn[:, 10:].clamp(min=1e-3).expand(-1, 2) * x.shape[-2] / 32
        x = gaussian_blur2d(x, (side, side), sd)
    return x
