"""Transformer encoders, several of equal shape at once: every parameter has a leading axis of members."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import nn

READOUTS = ("flatten", "mean")


def _normal(shape, std, generators):
    """A parameter (members, *shape), normal with standard deviation `std`, each member from its own generator."""
    return nn.Parameter(
        torch.stack([std * torch.randn(shape, generator=g, device=g.device) for g in generators])
    )


class Linear(nn.Module):
    """An affine map a member, (members, n, fan_in) -> (members, n, fan_out), from U(-b, b), b^2 = 1 / fan_in."""

    def __init__(self, fan_in: int, fan_out: int, generators: Sequence[torch.Generator]):
        super().__init__()
        both = torch.stack(
            [torch.rand(fan_in + 1, fan_out, generator=g, device=g.device) for g in generators]
        )
        both = (2 * both - 1) * fan_in**-0.5
        self.weight, self.bias = (
            nn.Parameter(both[:, :-1].clone()),
            nn.Parameter(both[:, -1:].clone()),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if (
            1 in self.weight.shape[1:]
        ):  # one row or column: one member alone would take another routine than several
            return (x[..., None] * self.weight[:, None]).sum(2) + self.bias
        return torch.baddbmm(self.bias, x, self.weight)


class Norm(nn.Module):
    """Layer normalisation over the last axis of (members, n, d), with gain and bias a member."""

    def __init__(self, d: int, members: int, device: torch.device):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(members, 1, d, device=device))
        self.bias = nn.Parameter(torch.zeros(members, 1, d, device=device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addcmul(self.bias, F.layer_norm(x, x.shape[-1:]), self.gain)


class Block(nn.Module):
    """Self-attention and a two-layer ReLU network, each added to its input and then normalised (Vaswani et al. 2017).

    The order of `torch.nn.TransformerEncoderLayer`'s defaults, without dropout. hidden: width of the two-layer network.
    """

    def __init__(self, d: int, heads: int, hidden: int, generators: Sequence[torch.Generator]):
        super().__init__()
        self.heads = heads
        self.inward, self.outward = Linear(d, 3 * d, generators), Linear(d, d, generators)
        self.up, self.down = Linear(d, hidden, generators), Linear(hidden, d, generators)
        self.norm1, self.norm2 = (Norm(d, len(generators), generators[0].device) for _ in range(2))

    def forward(
        self, x: torch.Tensor, length: int, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """x (members, n * length, d) -> the same; mask (members * n, 1, 1, length), False where no one may look."""
        members, rows, d = x.shape
        qkv = self.inward(x).view(-1, length, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (members * n, heads, length, d / heads)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm1(x + self.outward(mixed.transpose(1, 2).reshape(members, rows, d)))
        return self.norm2(x + self.down(F.relu(self.up(x))))


class Transformer(nn.Module):
    """Token and position embeddings, `layers` blocks, a linear readout.

    Maps tokens (members, n, length) to (members, n, out).

    Args:
        tokens: size of the vocabulary. length: tokens in a sequence. d: width. out: output dimensions.
        generators: one `torch.Generator` a member: a member's start does not depend on which others run with it.
        layers, heads: number of blocks, attention heads in each (they divide d).
        hidden: width of each block's two-layer network; None is 4 d.
        readout: "flatten" reads all positions side by side, "mean" their mean.
        std: standard deviation of the token embeddings at the start; positions have 1 (flatten) or `std` (mean).
    Raises ValueError: heads that do not divide d, another readout.
    """

    def __init__(
        self,
        tokens: int,
        length: int,
        d: int,
        out: int,
        generators: Sequence[torch.Generator],
        *,
        layers: int = 1,
        heads: int = 1,
        hidden: int | None = None,
        readout: str = "flatten",
        std: float = 1.0,
    ):
        super().__init__()
        if heads < 1 or d % heads:
            raise ValueError(f"heads = {heads!r} is not allowed: heads must divide d = {d}")
        if readout not in READOUTS:
            raise ValueError(
                f"readout = {readout!r} is not allowed: readout must be one of {', '.join(READOUTS)}"
            )
        self.readout = readout
        self.tokens = _normal((tokens, d), std, generators)
        self.positions = _normal((length, d), 1.0 if readout == "flatten" else std, generators)
        self.blocks = nn.ModuleList(
            Block(d, heads, hidden or 4 * d, generators) for _ in range(layers)
        )
        self.last = Linear(length * d if readout == "flatten" else d, out, generators)

    def forward(self, tokens: torch.Tensor, present: torch.Tensor | None = None) -> torch.Tensor:
        """The readout, (members, n, out), of tokens (members, n, length) int64.

        present: of the same shape, False where a sequence is padded; None: nowhere. Padding is not attended to, and
        "mean" leaves it out as well. Every sequence needs one token that is present.
        """
        members, n, length = tokens.shape
        x = (
            lookup(self.tokens, tokens.flatten(1)).view(members, n, length, -1)
            + self.positions[:, None]
        )
        x, mask = x.flatten(1, 2), None if present is None else present.view(-1, 1, 1, length)
        for block in self.blocks:
            x = block(x, length, mask)
        x = x.view(members, n, length, -1)
        if self.readout == "flatten":
            return self.last(x.flatten(2))
        weight = torch.ones_like(x[..., :1]) if present is None else present[..., None].to(x.dtype)
        return self.last((weight * x).sum(2) / weight.sum(2))


def bind(module: nn.Module, tensors: Sequence[torch.Tensor]) -> None:
    """Let `module` compute with `tensors` in place of its parameters, in the order of `module.parameters()`.

    As `torch.func.functional_call`, which for a network of many small parameters costs a sixth of the step each time.
    """
    remaining = iter(tensors)
    for part in module.modules():
        for name in part._parameters:
            part._parameters[name] = next(remaining)


def lookup(table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Rows of table (members, tokens, d) at ids (members, n): (members, n, d). Faster backward than indexing."""
    members, tokens, d = table.shape
    offset = tokens * torch.arange(members, device=ids.device)[:, None]
    return F.embedding(ids + offset, table.reshape(members * tokens, d))


def functional(net: nn.Module) -> tuple[list[torch.Tensor], Callable]:
    """A network in two parts: its weights, and the function that it is of them.

    Args:
        net: any module without buffers. It is not changed.

    Returns:
        The weights, in the order of `net.parameters()`; and `call(weights, *inputs)`, the network's output with other
        weights of the same order in their place.
    """
    names = [name for name, _ in net.named_parameters()]
    weights = [w.detach() for w in net.parameters()]

    def call(given: Sequence[torch.Tensor], *inputs: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, dict(zip(names, given, strict=True)), inputs)

    return weights, call
