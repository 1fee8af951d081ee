"""Networks: plain modules whose initial weights come from a given generator and never from the global one.

Below them, R networks of one architecture at once: their weights are stacked along a leading axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Generator, Tensor, nn

from clbook._arguments import choice, floats, number, refused, source, whole

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


# Single networks.


class MLP(nn.Sequential):
    """Fully connected network, Linear - activation - ... - Linear: (n, widths[0]) -> (n, widths[-1]).

    LS Sec. 4.2 has `MLP((2, 100, 1))` and `MLP((D, 100, 100, 100, 1))`.

    Args:
        widths: numbers of units from the input to the output, at least two.
        activation: a key of `ACTIVATIONS`. None follows the last layer.
        generator: source of the initial weights; the layers are made on its device. None is a fresh
            `torch.Generator()`, so two networks that are made without one start equal.

    Raises:
        ValueError: other widths, or another activation.
    """

    def __init__(
        self,
        widths: Sequence[int],
        activation: str = "tanh",
        generator: Generator | None = None,
    ):
        widths = _sizes("widths", widths, least=2)
        make = _activation(activation)
        generator = _generator(generator)
        layers = []
        for fan_in, fan_out in itertools.pairwise(widths):
            layers.append(_uniform(nn.Linear(fan_in, fan_out, device="meta"), generator))
            layers.append(make())
        super().__init__(*layers[:-1])


class Averaging(nn.Module):
    """One hidden layer whose outer weights A stay fixed: g(x) = A s(B x) (VA eq. 18, LS eq. 30).

    The hidden units form d blocks of `width`. A adds up the k-th block into output k, and multiplies by `scale`.
    `scale` is 1/sqrt(M) in VA eq. 19, and 1/sqrt(M D) in LS eq. 31, with M = `width`. The rows of B are standard
    normal at the start.

    Args:
        D: input dimensions.
        d: output dimensions.
        width: hidden units for each output.
        activation: a key of `ACTIVATIONS`, s.
        scale: the non-zero entries of A.
        generator: source of B; None is a fresh `torch.Generator()`.
    """

    def __init__(
        self,
        D: int,
        d: int,
        width: int,
        activation: str,
        scale: float,
        generator: Generator | None = None,
    ):
        super().__init__()
        D = whole("D", D, 1)
        self.d = whole("d", d, 1)
        width = whole("width", width, 1)
        self.scale = number("scale", scale)
        self.activation = _activation(activation)()
        generator = _generator(generator)
        inner = nn.Linear(D, width * d, bias=False, device="meta")
        self.inner = _drawn(inner, lambda empty: empty.normal_(generator=generator), generator)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., d)."""
        units = self.activation(self.inner(x))
        blocks = units.unflatten(-1, (self.d, -1))
        return self.scale * blocks.sum(-1)


class CNN(nn.Sequential):
    """Two convolutional layers (3 x 3, stride 2) and one fully connected layer: (n, *image) -> (n, d) (LS Sec. 4.2.2).

    LS does not give the sizes. With these, a 28 x 28 image is 7 x 7 before the last layer.

    Args:
        image: (channels, height, width) of the input.
        d: embedding dimensions.
        channels: of the two convolutional layers, each of which a ReLU follows.
        generator: as for `MLP`.

    Raises:
        ValueError: other sizes.
    """

    def __init__(
        self,
        image: Sequence[int],
        d: int = 1,
        channels: Sequence[int] = (8, 16),
        generator: Generator | None = None,
    ):
        depth, height, width = _sizes("image", image, least=3, most=3)
        first, second = _sizes("channels", channels, least=2, most=2)
        d = whole("d", d, 1)
        generator = _generator(generator)
        form = {"kernel_size": 3, "stride": 2, "padding": 1, "device": "meta"}
        conv1 = nn.Conv2d(depth, first, **form)
        conv2 = nn.Conv2d(first, second, **form)
        # Each of them halves height and width, rounded up.
        cells = math.ceil(height / 4) * math.ceil(width / 4)
        last = nn.Linear(second * cells, d, device="meta")
        for layer in (conv1, conv2, last):
            _uniform(layer, generator)
        super().__init__(conv1, nn.ReLU(), conv2, nn.ReLU(), nn.Flatten(), last)


def _uniform(layer: nn.Module, generator: Generator) -> nn.Module:
    """A layer with PyTorch's own distribution, U(-b, b) with b = 1/sqrt(fan_in), drawn with `generator`."""
    fan_in = layer.weight[0].numel()
    bound = fan_in**-0.5
    return _drawn(
        layer, lambda empty: empty.uniform_(-bound, bound, generator=generator), generator
    )


def _drawn(layer: nn.Module, draw: Callable, generator: Generator) -> nn.Module:
    """`layer`, whose parameters have shapes alone, with numbers that `draw` fills in.

    A layer on the "meta" device has no numbers yet. An ordinary one would draw them from the global generator.
    """
    for name, empty in list(layer.named_parameters()):
        numbers = draw(torch.empty(empty.shape, device=generator.device))
        parameter = nn.Parameter(numbers)
        parameter.drawn = (
            numbers  # the same numbers; a trace knows them, but no Parameter that is made of them
        )
        setattr(layer, name, parameter)
    return layer


def _activation(name):
    return ACTIVATIONS[choice("activation", name, ACTIVATIONS)]


def _generator(given):
    if given is None:
        return Generator()
    return source("generator", given)


def _sizes(name, values, least, most=math.inf):
    """`values` as a list of `least` to `most` whole numbers >= 1."""
    try:
        sizes = list(values)
    except TypeError:
        sizes = []
    if not least <= len(sizes) <= most:
        more = "" if least == most else " or more"
        raise refused(name, values, f"{least}{more} whole numbers >= 1")
    return [whole(name, size, 1) for size in sizes]


# R networks of one architecture. Their parameters are a list of tensors (R, ...), as `module.parameters()` orders them.


def numbers(network: nn.Module) -> list[Tensor]:
    """The parameters of a network. A trace puts in their place what they were drawn as (`clbook_book.live.graph`)."""
    return list(network.parameters())


def stacked(networks: Iterable[nn.Module]) -> list[Tensor]:
    """The parameters of R networks of one architecture: tensors (R, ...), detached."""
    try:
        weights = [numbers(net) for net in networks]
        return [torch.stack(same).detach() for same in zip(*weights, strict=True)]
    except (TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise refused("networks", networks, "networks of one architecture") from error


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """R affine layers, x W' + b.

    Args:
        x: inputs (R, n, i).
        weight: W (R, o, i).
        bias: b (R, o); None is no b.

    Returns:
        (R, n, o).
    """
    try:
        if weight.shape[1] == 1:
            # One output is a weighted sum: half the time of the product where R n <= 6,000 and i = 100.
            out = (x * weight).sum(-1, keepdim=True)
            return out if bias is None else out + bias[:, None]
        if bias is None:
            return x @ weight.mT
        return torch.baddbmm(bias[:, None], x, weight.mT)
    except (AttributeError, LookupError, TypeError, RuntimeError):
        # Shapes are looked at only now: in a small network the look would take longer than a layer.
        _check_layers(x, weight, bias)
        raise


def _check_layers(x, weight, bias):
    """ValueError for the first of the three that is no tensor or does not fit."""
    R, outputs, inputs = floats("weight", weight, 3).shape
    floats("x", x, 3)
    if len(x) != R or x.shape[-1] != inputs:
        raise refused("x", x, f"a tensor (R, n, i) for weight {tuple(weight.shape)}")
    if bias is not None and floats("bias", bias, 2).shape != (R, outputs):
        raise refused("bias", bias, f"a tensor (R, o) for weight {tuple(weight.shape)}")


def mlp(parameters: Sequence[Tensor], x: Tensor, activation: str) -> Tensor:
    """R networks `MLP` at once.

    Args:
        parameters: weight, bias, weight, bias, ... of the R networks, as from `stacked`.
        x: inputs (R, n, widths[0]).
        activation: a key of `ACTIVATIONS`.

    Returns:
        (R, n, widths[-1]).
    """
    choice("activation", activation, ACTIVATIONS)
    if activation == "tanh":
        # In place, which saves a copy. The derivative, 1 - tanh^2, needs the output alone.
        act = torch.tanh_
    else:
        act = ACTIVATIONS[activation]()
    if not _are_tensors(parameters) or len(parameters) % 2:
        raise refused("parameters", parameters, "weights and biases in turn, as from `stacked`")
    for k in range(0, len(parameters), 2):
        if k > 0:
            x = act(x)
        x = affine(x, parameters[k], parameters[k + 1])
    return x


def _are_tensors(values):
    return isinstance(values, (list, tuple)) and all(isinstance(v, Tensor) for v in values)
