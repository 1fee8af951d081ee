"""Networks: plain modules whose initial weights come from a given generator and never from the global one."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable

import torch
from torch import nn

ACTIVATIONS = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "sigmoid": nn.Sigmoid,
    "identity": nn.Identity,
}


def _activation(name):
    if name not in ACTIVATIONS:
        raise ValueError(
            f"activation = {name!r} is not allowed: activation must be one of {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]


def _whole(name, values, least, most=math.inf):
    """`values` as a tuple of `least` to `most` whole numbers >= 1; ValueError naming `name` otherwise."""
    values = tuple(values) if isinstance(values, Iterable) else (values,)
    whole = all(
        isinstance(v, numbers.Integral) and not isinstance(v, bool) and v >= 1 for v in values
    )
    if not whole or not least <= len(values) <= most:
        raise ValueError(
            f"{name} = {values!r} is not allowed: {name} must be {least} "
            f"{'' if least == most else 'or more '}whole number(s) >= 1"
        )
    return values


def _layer(kind, *args, generator, draw=None, **kwargs):
    """A layer with PyTorch's default distribution, U(-b, b) with b = fan_in^-1/2, drawn with `generator`.

    `draw(tensor)` fills a parameter in another way.
    """
    # Shapes alone, so that nothing is drawn from the global generator; `nn.utils.skip_init` takes long at first.
    layer = kind(*args, device="meta", **kwargs)
    bound = layer.weight[0].numel() ** -0.5
    draw = draw or (lambda tensor: tensor.uniform_(-bound, bound, generator=generator))
    for name, shape in [(name, empty.shape) for name, empty in layer.named_parameters()]:
        setattr(layer, name, nn.Parameter(draw(torch.empty(shape, device=generator.device))))
    return layer


class MLP(nn.Sequential):
    """Fully connected network, Linear - activation - ... - Linear, (n, widths[0]) -> (n, widths[-1]).

    LS Sec. 4.2 has `MLP((2, 100, 1))` and `MLP((D, 100, 100, 100, 1))`.

    Args:
        widths: numbers of units from the input to the output, at least two. activation: a key of `ACTIVATIONS`; none
            follows the last layer.
        generator: source of the initial weights; the layers are made on its device. None is a fresh
            `torch.Generator()`, so two networks made without one start equal.
    Raises ValueError: other widths or activations.
    """

    def __init__(self, widths, activation="tanh", generator=None):
        widths, make = _whole("widths", widths, 2), _activation(activation)
        generator = generator or torch.Generator()
        layers = [
            module
            for pair in itertools.pairwise(widths)
            for module in (_layer(nn.Linear, *pair, generator=generator), make())
        ]
        super().__init__(*layers[:-1])


class Averaging(nn.Module):
    """One hidden layer whose outer weights stay fixed: g(x) = A' s(B x), (..., D) -> (..., d) (VA eq. 18, LS eq. 30).

    A adds up the k-th block of `width` units into output k and multiplies by `scale`: 1/sqrt(M) in VA eq. 19,
    1/sqrt(M D) in LS eq. 31, with M = width. The rows of B are standard Gaussian.

    Args:
        D, d: input and output dimensions. width: hidden units for each output.
        activation: a key of `ACTIVATIONS`. scale: the non-zero entries of A.
        generator: source of B; None is a fresh `torch.Generator()`.
    """

    def __init__(self, D, d, width, activation, scale, generator=None):
        super().__init__()
        D, d, width = _whole("D, d, width", (D, d, width), 3, 3)
        generator = torch.Generator() if generator is None else generator
        self.inner = _layer(
            nn.Linear,
            D,
            width * d,
            bias=False,
            generator=generator,
            draw=lambda tensor: tensor.normal_(generator=generator),
        )
        self.activation, self.d, self.scale = _activation(activation)(), d, scale

    def forward(self, x):
        return self.scale * self.activation(self.inner(x)).unflatten(-1, (self.d, -1)).sum(-1)


class CNN(nn.Sequential):
    """Two convolutional layers (3 x 3, stride 2) and one fully connected layer (LS Sec. 4.2.2).

    (n, *image) -> (n, d). LS does not give the sizes; these keep a 28 x 28 image at 7 x 7 before the last layer.

    Args:
        image: (channels, height, width) of the input. d: embedding dimensions.
        channels: of the two convolutional layers. activation, generator: as for `MLP`.
    Raises ValueError: other sizes or activations.
    """

    def __init__(self, image, d=1, channels=(8, 16), activation="relu", generator=None):
        depth, height, width = _whole("image", image, 3, 3)
        first, second = _whole("channels", channels, 2, 2)
        (d,), make = _whole("d", d, 1, 1), _activation(activation)
        generator = generator or torch.Generator()
        conv = {"kernel_size": 3, "stride": 2, "padding": 1, "generator": generator}
        cells = -(-height // 4) * -(-width // 4)
        super().__init__(
            _layer(nn.Conv2d, depth, first, **conv),
            make(),
            _layer(nn.Conv2d, first, second, **conv),
            make(),
            nn.Flatten(),
            _layer(nn.Linear, second * cells, d, generator=generator),
        )


# R networks of one architecture: parameters are lists of tensors (R, ...), in the order of `module.parameters()`.


def stacked(networks) -> list[torch.Tensor]:
    """The parameters of R networks of one architecture: tensors (R, ...)."""
    return [
        torch.stack(same).detach()
        for same in zip(*(net.parameters() for net in networks), strict=True)
    ]


def affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """x W' + b of R layers: x (R, n, i), weight (R, o, i), bias (R, o) -> (R, n, o).

    A product with one output column, or one input column, whose gradient is such a product, is written as a sum: one
    run alone would take another routine than several.
    """
    if 1 in weight.shape[1:]:
        out = (x * weight).sum(-1, keepdim=True) if weight.shape[1] == 1 else x * weight.mT
        return out if bias is None else out + bias[:, None]
    return x @ weight.mT if bias is None else torch.baddbmm(bias[:, None], x, weight.mT)


def mlp(parameters, x: torch.Tensor, activation: str) -> torch.Tensor:
    """R networks `MLP` at once: parameters as from `stacked`, x (R, n, widths[0]) -> (R, n, widths[-1])."""
    # In place where the derivative needs the output alone.
    act = torch.tanh_ if activation == "tanh" else ACTIVATIONS[activation]()
    for k in range(0, len(parameters), 2):
        x = affine(act(x) if k else x, parameters[k], parameters[k + 1])
    return x


def member(net: nn.Module, parameters: list[torch.Tensor], i: int) -> nn.Module:
    """`net`, a module of the architecture, with the weights of the i-th of R networks; parameters as from `stacked`."""
    for p, values in zip(net.parameters(), parameters, strict=True):
        p.data = values[i].detach()
    return net
