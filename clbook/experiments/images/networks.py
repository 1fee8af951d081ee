"""Encoders for images: the residual network of the field's standard form, and batch normalisation over processes.

Initial weights come from a given generator: convolutions N(0, 2 / fan_out), batch normalisation at 1 and 0 (He et al.
2016).
"""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from clbook.models import MLP

# Blocks a stage: depths 18 to 50 have four stages (He et al., Table 1), 8, 14 and 20 three (their Sec. 4.2).
STAGES = {
    8: (1, 1, 1),
    14: (2, 2, 2),
    20: (3, 3, 3),
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
}
BOTTLENECK = (50,)


class _Sum(torch.autograd.Function):
    """The sum of a tensor over all processes, which all of them get; so the gradients are summed too."""

    @staticmethod
    def forward(ctx, values):
        total = values.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return _Sum.forward(ctx, gradient)


def processes() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def gathered(values: torch.Tensor) -> torch.Tensor:
    """`values` (m, d) of all processes, one after the other; gradients find their way back to their process."""
    if processes() == 1:
        return values
    whole = values.new_zeros(processes(), *values.shape)
    whole[dist.get_rank()] = values
    return _Sum.apply(whole).flatten(0, 1)


class Norm(nn.BatchNorm2d):
    """Batch normalisation whose means run over the batches of all processes; alone it is torch's own."""

    def forward(self, x):
        if not self.training or processes() == 1:
            return super().forward(x)
        count = x.numel() / x.shape[1] * processes()
        mean = _Sum.apply(x.mean((0, 2, 3))) / processes()
        centred = x - mean[:, None, None]
        variance = _Sum.apply(centred.square().mean((0, 2, 3))) / processes()
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * count / (count - 1), self.momentum)
            self.num_batches_tracked += 1
        scale = self.weight * (variance + self.eps).rsqrt()
        return centred * scale[:, None, None] + self.bias[:, None, None]


def _conv(inputs, outputs, size, stride=1):
    return nn.utils.skip_init(
        nn.Conv2d, inputs, outputs, size, stride=stride, padding=size // 2, bias=False
    )


class Block(nn.Module):
    """Two 3 x 3 convolutions, or 1 x 1, 3 x 3, 1 x 1 with four times the channels at the end, beside a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        if bottleneck:
            sizes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        else:
            sizes = [(inputs, width, 3, stride), (width, width, 3, 1)]
        layers = []
        for a, b, size, step in sizes:
            layers += [_conv(a, b, size, step), Norm(b), nn.ReLU(inplace=True)]
        self.branch, self.shortcut = nn.Sequential(*layers[:-1]), nn.Identity()
        self.stride = stride
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(_conv(inputs, outputs, 1), Norm(outputs))

    def forward(self, x):
        # A 1 x 1 convolution with a stride, as every second pixel and then one without: with a stride, fewer than
        # eight channels and the colours last in memory, the gradient of torch 2.13 on a processor without AVX-512
        # writes beyond its array.
        seen = x[..., :: self.stride, :: self.stride]
        return F.relu(self.branch(x) + self.shortcut(seen))


class ResNet(nn.Sequential):
    """Residual network (He et al. 2016), (n, channels, height, width) -> (n, features): its last layer is left out.

    Args:
        depth: a key of `STAGES`; 50 has bottleneck blocks. width: channels of the first stage, doubled at each next.
        channels: of the image. stem: "small", one 3 x 3 convolution (CIFAR), or "large", 7 x 7 with stride 2 and a
            max-pooling (ImageNet).
        generator: source of the initial weights; None is a fresh `torch.Generator()`.
    Raises ValueError: another depth or stem.
    """

    def __init__(self, depth=18, width=64, channels=3, stem="large", generator=None):
        if depth not in STAGES:
            raise ValueError(
                f"depth = {depth!r} is not allowed: depth must be one of {', '.join(map(str, STAGES))}"
            )
        if stem not in ("small", "large"):
            raise ValueError(f"stem = {stem!r} is not allowed: stem must be small or large")
        first = _conv(channels, width, 3) if stem == "small" else _conv(channels, width, 7, 2)
        layers, inputs, bottleneck = (
            [first, Norm(width), nn.ReLU(inplace=True)],
            width,
            depth in BOTTLENECK,
        )
        if stem == "large":
            layers.append(nn.MaxPool2d(3, 2, 1))
        for stage, blocks in enumerate(STAGES[depth]):
            for block in range(blocks):
                layers.append(
                    Block(inputs, width * 2**stage, 2 if stage and not block else 1, bottleneck)
                )
                inputs = width * 2**stage * (4 if bottleneck else 1)
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        super().__init__(*layers)
        self.features = inputs
        start(self, generator or torch.Generator())


@torch.no_grad()
def start(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """Give every convolution its initial weights, in the order of the modules."""
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = layer.out_channels * layer.kernel_size[0] * layer.kernel_size[1]
            layer.weight.normal_(0, (2 / fan_out) ** 0.5, generator=generator)
    return network


def projector(widths, generator: torch.Generator) -> nn.Module:
    """Linear - ReLU - ... - Linear of `widths`, (n, widths[0]) -> (n, widths[-1]); one width: the identity."""
    return MLP(widths, "relu", generator) if len(widths) > 1 else nn.Identity()
