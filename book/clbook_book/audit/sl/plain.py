"""SL's contrastive task with the encoder of `torch.nn.TransformerEncoder`, at PyTorch's own width and dropout.

SL Sec. 5 names three transformer layers and neither heads, widths nor dropout. Who writes this down in PyTorch and
leaves the rest as it is gets a feed-forward width of 2048 and a dropout of .1. Samples, batches, epochs, Adam and the
classifiers afterwards are those of `modadd.run`; the classifiers have the chapter's width and no dropout.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from clbook.experiments import modadd
from clbook.experiments.modadd.classifier import During, Weights
from clbook.experiments.modadd.experiment import START, Addition
from clbook.training.settings import setting
from clbook.training.streams import stream

DROPPED = 5_000_011  # purpose of the stream of random numbers


@dataclasses.dataclass(frozen=True)
class Config(modadd.Config):
    """Settings of `modadd.run`, with PyTorch's width of a layer, and its dropout."""

    hidden: int = setting(2048, "width of each layer's feed-forward part", low=1, high=4096)
    dropout: float = setting(
        0.1, "part of the units that each layer drops while it learns", low=0.0, high=0.9
    )


class Kept(torch.autograd.Function):
    """Dropout of ReLU(x), in place of x, by random numbers of 16 bits: on the CPU half the time of both by PyTorch."""

    @staticmethod
    def forward(ctx, x: Tensor, p: float) -> Tensor:
        ctx.scale = 1 / (1 - p)
        words = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        drawn = words.view(torch.int16)[: x.numel()].view(x.shape)  # uniform from -2^15 to 2^15 - 1
        kept = drawn.to(x.dtype).ge_(round(p * 2**16) - 2**15)  # 1 or 0
        x.relu_().mul_(kept).mul_(ctx.scale)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, slope: Tensor) -> tuple[Tensor, None]:
        (units,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(slope, units, 0).mul_(ctx.scale), None


class Layer(nn.TransformerEncoderLayer):
    """PyTorch's layer. The dropout of its hidden units, where there is any, is `Kept`; the others are PyTorch's."""

    def _ff_block(self, x: Tensor) -> Tensor:
        p = self.dropout.p
        if not (self.training and p):
            return super()._ff_block(x)
        return self.dropout2(self.linear2(Kept.apply(self.linear1(x), p)))


class Encoder(nn.Module):
    """Token and position embeddings, PyTorch's layers, a linear readout of all three positions: (n, 3) -> (n, d).

    As `clbook.transformer.Transformer`, but that the weights start as PyTorch's do: all layers as copies of one.
    """

    def __init__(self, config: Config):
        super().__init__()
        c = config
        self.tokens = nn.Embedding(c.N + 1, c.d)  # the last one is the mask
        self.positions = nn.Parameter(torch.randn(3, c.d))
        layer = Layer(c.d, c.heads, c.hidden, c.dropout, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, c.layers, enable_nested_tensor=False)
        self.last = nn.Linear(3 * c.d, c.d)

    def forward(self, contexts: Tensor) -> Tensor:
        """Embeddings (n, d) of contexts (n, 3), int64."""
        x = self.tokens(contexts) + self.positions
        return self.last(self.layers(x).flatten(1))


@contextlib.contextmanager
def drawing(seed: int) -> Iterator[None]:
    """What PyTorch draws in here comes from `seed`; outside, its generator goes on as if nothing had been drawn."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class Plain(Addition):
    """`modadd.Addition` with an `Encoder`, one run a program."""

    beside = 1

    @classmethod
    def train(cls, configs, **options) -> list:
        """As `Training.train`, with numbers below 1e-38 taken as 0.

        The decay makes the weights of units that are never active as small as that, where a step takes five times as
        long.
        """
        torch.set_flush_denormal(True)
        try:
            return super().train(configs, **options)
        finally:
            torch.set_flush_denormal(False)

    def setup(self):
        super().setup()
        (config,) = self.configs
        generator = stream(config.seed, DROPPED)
        self.state.noise = noise(generator)[None]
        self.draws["noise"] = During([generator], noise, range(config.epochs))

    def contrastive_weights(self) -> Weights:
        c = self.config
        with drawing(stream(c.seed, START).initial_seed()):
            net = Encoder(c)
            table = c.init * torch.randn(c.N, c.d)
        first = [weight.detach()[None] for weight in net.parameters()]
        places = []
        for part in net.modules():
            own = part._parameters
            places += [(own, name) for name in own if own[name] is not None]

        def encoder(weights, contexts):
            for (own, name), weight in zip(places, weights, strict=True):
                own[name] = weight[0]
            return net(contexts[0])[None]

        self.encoder = encoder
        return [table[None], *first]

    def begin(self, s):
        with drawing(s.noise.item()):
            return super().begin(s)

    def step(self, s, drawn, losses, t):
        """As `Addition.step`. What an epoch drops depends on its own number alone."""
        if drawn.noise is None:
            return super().step(s, drawn, losses, t)
        with drawing(drawn.noise.item()):
            return super().step(s, drawn, losses, t)


def noise(generator: torch.Generator) -> Tensor:
    """The seed of what one epoch drops."""
    return torch.randint(2**31, (), generator=generator)


run = Plain.run
