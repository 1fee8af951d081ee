"""Transformer encoders, several of equal shape at once: every parameter has a leading axis of members."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from clbook import models
from clbook._arguments import choice, floats, refused, source, whole

READOUTS = ("flatten", "mean")

Generators = Sequence[Generator]  # one a member


class Transformer(nn.Module):
    """Token and position embeddings, standard normal at the start, `layers` blocks, a linear readout.

    Args:
        tokens: size of the vocabulary.
        length: tokens in a sequence.
        d: width, the numbers that stand for a token.
        out: output dimensions.
        generators: one `torch.Generator` a member: its start does not depend on the members beside it.
        layers: number of blocks.
        heads: attention heads in each block; they divide d.
        hidden: width of each block's two-layer network; None is 4 d.
        readout: "flatten" reads all positions side by side, "mean" their mean.

    Raises:
        ValueError: heads that do not divide d, another readout, sizes below 1.
    """

    def __init__(
        self,
        tokens: int,
        length: int,
        d: int,
        out: int,
        generators: Generators,
        *,
        layers: int = 1,
        heads: int = 1,
        hidden: int | None = None,
        readout: str = "flatten",
    ):
        super().__init__()
        tokens = whole("tokens", tokens, 1)
        length = whole("length", length, 1)
        d = whole("d", d, 1)
        out = whole("out", out, 1)
        layers = whole("layers", layers, 0)
        if hidden is None:
            hidden = 4 * d
        hidden = whole("hidden", hidden, 1)
        self.readout = choice("readout", readout, READOUTS)
        heads = whole("heads", heads, 1)
        if d % heads:
            raise refused("heads", heads, f"a divisor of d = {d}")
        if not isinstance(generators, (list, tuple)) or not generators:
            raise refused("generators", generators, "a list of torch.Generator, one a member")
        for generator in generators:
            source("generators", generator)

        self.tokens = _normal((tokens, d), generators)
        self.positions = _normal((length, d), generators)
        self.blocks = nn.ModuleList()
        for _ in range(layers):
            self.blocks.append(Block(d, heads, hidden, generators))
        self.last = Linear(length * d if readout == "flatten" else d, out, generators)

    def forward(self, tokens: Tensor, present: Tensor | None = None) -> Tensor:
        """Read out sequences of tokens.

        Args:
            tokens: (members, n, length) int64.
            present: bool, of the same shape, False where a sequence is padded; None is nowhere. Padding is not attended
                to, and "mean" leaves it out as well. Every sequence needs one token that is present.

        Returns:
            (members, n, out).
        """
        members, n, length = tokens.shape
        d = self.tokens.shape[-1]
        x = lookup(self.tokens, tokens.flatten(1)).view(members, n, length, d)
        x = x + self.positions[:, None]
        x = x.flatten(1, 2)  # (members, n * length, d), as the blocks take it
        mask = None
        if present is not None:
            # In attention each sequence has its own mask, the same for all heads and positions.
            mask = present.view(-1, 1, 1, length)
        for block in self.blocks:
            x = block(x, length, mask)
        x = x.view(members, n, length, d)
        if self.readout == "flatten":
            return self.last(x.flatten(2))
        if present is None:
            return self.last(x.mean(2))
        weight = present[..., None].to(x.dtype)  # 1 for a token, 0 for padding
        return self.last((weight * x).sum(2) / weight.sum(2))


class Block(nn.Module):
    """Self-attention and a two-layer ReLU network, each added to its input and then normalised (Vaswani et al. 2017).

    With h = norm(x + attention(x)), the block is norm(h + network(h)). That is the order of the defaults of
    `torch.nn.TransformerEncoderLayer`, here without dropout.

    Args:
        d: width.
        heads: attention heads, which divide d.
        hidden: width of the two-layer network.
        generators: one a member.
    """

    def __init__(self, d: int, heads: int, hidden: int, generators: Generators):
        super().__init__()
        self.heads = heads
        self.inward = Linear(d, 3 * d, generators)  # queries, keys and values side by side
        self.outward = Linear(d, d, generators)
        self.up = Linear(d, hidden, generators)
        self.down = Linear(hidden, d, generators)
        device = generators[0].device
        self.norm1 = Norm(d, len(generators), device)
        self.norm2 = Norm(d, len(generators), device)

    def forward(self, x: Tensor, length: int, mask: Tensor | None = None) -> Tensor:
        """One block.

        Args:
            x: (members, n * length, d).
            length: tokens in a sequence.
            mask: (members * n, 1, 1, length), False where no one may look; None is nowhere.

        Returns:
            A tensor like x.
        """
        mixed = self.attention(x, length, mask)
        x = self.norm1(x + mixed)
        return self.norm2(x + self.down(F.relu(self.up(x))))

    def attention(self, x: Tensor, length: int, mask: Tensor | None) -> Tensor:
        """The mean of the values v in a sequence, weighted by softmax(q . k / sqrt(d / heads)), for each position."""
        qkv = self.inward(x).view(-1, length, 3, self.heads, x.shape[-1] // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (members * n, heads, length, one_head)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.outward(mixed.transpose(1, 2).reshape(x.shape))


class Linear(nn.Module):
    """An affine map for each member, x W + b: (members, n, fan_in) -> (members, n, fan_out).

    Weights and biases start from U(-b, b) with b = 1/sqrt(fan_in), as those of `torch.nn.Linear`.
    """

    def __init__(self, fan_in: int, fan_out: int, generators: Generators):
        super().__init__()
        drawn = []
        for g in generators:
            uniform = torch.rand(fan_in + 1, fan_out, generator=g, device=g.device)
            drawn.append(2 * uniform - 1)
        both = fan_in**-0.5 * torch.stack(drawn)
        weight, bias = both.split([fan_in, 1], dim=1)
        self.weight = _parameter(weight.clone())
        self.bias = _parameter(bias.clone())

    def forward(self, x: Tensor) -> Tensor:
        """x W + b for each member, (members, n, fan_in) -> (members, n, fan_out)."""
        return torch.baddbmm(self.bias, x, self.weight)


class Norm(nn.Module):
    """Layer normalisation over the last axis of (members, n, d), with a gain and a bias for each member."""

    def __init__(self, d: int, members: int, device: torch.device):
        super().__init__()
        one = torch.ones(members, 1, d, device=device)
        self.gain = _parameter(one)
        self.bias = _parameter(torch.zeros_like(one))

    def forward(self, x: Tensor) -> Tensor:
        """x (members, n, d), each row normalised, then times the gain and plus the bias of its member."""
        normalised = F.layer_norm(x, [x.shape[-1]])
        return torch.addcmul(self.bias, normalised, self.gain)


def _normal(shape, generators):
    """A parameter (members, *shape), standard normal, each member from its own generator."""
    drawn = [torch.randn(shape, generator=g, device=g.device) for g in generators]
    return _parameter(torch.stack(drawn))


def _parameter(drawn: Tensor) -> nn.Parameter:
    """A parameter that begins as `drawn`, which a trace puts in its place (`models.numbers`)."""
    parameter = nn.Parameter(drawn)
    parameter.drawn = drawn
    return parameter


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of a table for each member. The backward pass is faster than that of indexing.

    Args:
        table: (members, tokens, d).
        ids: (members, n) int64, each 0 .. tokens - 1.

    Returns:
        (members, n, d).
    """
    members, tokens, d = floats("table", table, 3).shape
    fits = (
        isinstance(ids, Tensor)
        and ids.dtype == torch.int64
        and ids.ndim == 2
        and len(ids) == members
    )
    if not fits:
        raise refused("ids", ids, f"int64 (members, n) of {members} members")
    # All tables under each other are one, in which member m begins at row m * tokens.
    begin = tokens * torch.arange(members, device=ids.device)
    return F.embedding(ids + begin[:, None], table.reshape(members * tokens, d))


def functional(net: nn.Module) -> tuple[list[Tensor], Callable]:
    """A network in two parts: its weights, and the function that it is of them.

    As `torch.func.functional_call`, which for a network of many small parameters takes a sixth of a step each time.

    Args:
        net: any module without buffers and without shared parameters. It is not changed.

    Returns:
        The weights, in the order of `net.parameters()`; and `call(weights, *inputs)`, the network's output with other
        weights of the same order in their place.
    """
    if not isinstance(net, nn.Module):
        raise refused("net", net, "a torch.nn.Module")
    weights = [w.detach() for w in models.numbers(net)]
    # A copy that nobody else sees computes with whatever weights it was given last.
    own = copy.deepcopy(net)
    places = []
    for part in own.modules():
        places += [(part._parameters, name) for name in part._parameters]

    def call(given: Sequence[Tensor], *inputs: Tensor) -> Tensor:
        for (parameters, name), weight in zip(places, given, strict=True):
            parameters[name] = weight
        return own(*inputs)

    return weights, call
