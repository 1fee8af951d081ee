"""Optimisers of R networks at once: weights, gradients and what an update remembers are lists of tensors (R, ...)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.optim.adam import adam

VECTOR = 16  # numbers that the widest vector instruction takes at once


def warmed(t: int, steps: int, warmup: int = 0, cosine: bool = True) -> float:
    """Factor of the learning rate at step t = 1 .. `steps` (SA Sec. 5): linear warm-up, then half a cosine, or 1.

    It is t / warmup up to t = `warmup` and cosine, if asked for, falls from 1 there to 0 one step after the last.
    """
    if t <= warmup:
        return t / warmup
    return 0.5 + 0.5 * math.cos(math.pi * (t - warmup) / (steps + 1 - warmup)) if cosine else 1.0


class Descent:
    """Gradient descent, plain, with momentum or as LARS, of R networks at once.

    v <- momentum v + lr s (g + decay w),  w <- w - v (You et al. 2017, Algorithm 1). Plain SGD has s = 1. LARS has, for
    each network and each matrix, s = trust |w| / (|g| + decay |w|); as in SimCLR's code it leaves biases alone (s = 1,
    no decay). At a constant rate plain SGD is torch.optim.SGD.

    Args:
        weights: list of tensors (R, ...), changed in place.
        lr: (R,), also with axes of length 1 after it, or one number; `factor` of a step multiplies it.
        momentum, decay: as above. trust: None is plain SGD.
        axes: how many leading axes number networks; with 2, weights are (R, M, ...) and each run has M networks.
    """

    def __init__(
        self,
        weights,
        lr,
        momentum: float = 0.0,
        decay: float = 0.0,
        trust: float | None = None,
        axes: int = 1,
    ):
        self.weights, self.momentum, self.decay, self.trust, self.axes = (
            weights,
            momentum,
            decay,
            trust,
            axes,
        )
        lr = (
            torch.as_tensor(lr, dtype=weights[0].dtype, device=weights[0].device)
            .flatten()
            .expand(len(weights[0]))
        )
        self.lr = [lr.reshape(-1, *(1,) * (w.ndim - 1)) for w in weights]
        self.velocity = (
            [torch.zeros_like(w, requires_grad=False) for w in weights] if momentum else None
        )

    @torch.no_grad()
    def step(self, gradients: Sequence[torch.Tensor], factor: float = 1.0) -> None:
        """One update from gradients of the shapes of the weights."""
        if self.decay or self.trust is not None:
            gradients = [
                self._direction(w, g) for w, g in zip(self.weights, gradients, strict=True)
            ]
        if self.velocity is None:
            torch._foreach_addcmul_(self.weights, gradients, self.lr, value=-factor)
            return
        torch._foreach_mul_(self.velocity, self.momentum)
        torch._foreach_addcmul_(self.velocity, gradients, self.lr, value=factor)
        torch._foreach_sub_(self.weights, self.velocity)

    def _direction(self, w, g):
        matrix = w.ndim > self.axes + 1
        if self.trust is None or not matrix:
            return g + self.decay * w if self.trust is None else g
        own = tuple(range(self.axes, w.ndim))
        size, slope = (torch.linalg.vector_norm(x, dim=own, keepdim=True) for x in (w, g))
        ratio = self.trust * size / (slope + self.decay * size)
        return torch.where((size > 0) & (slope > 0), ratio, 1.0) * (g + self.decay * w)

    def keep(self, stay: torch.Tensor) -> None:
        """Go on for the runs `stay` (R,) alone; `weights` already holds theirs."""
        self.lr = [lr[stay] for lr in self.lr]
        self.velocity = self.velocity and [v[stay] for v in self.velocity]


class Adam:
    """torch.optim.Adam on R networks at once, with a weight decay for each.

    All weights of a run lie side by side in one row of one tensor, and `weights` become views of it: one update for
    twenty small tensors. Rows are as long as a multiple of the processor's widest vector, because torch rounds the
    entries that are left over otherwise, and a run beside others would leave over other ones than alone. The update is
    torch's own function: the first optimiser object of a process imports torch's compiler, close to a second.

    Args:
        weights: list of leaf tensors (R, ...), changed in place. lr: one number. decay: (R,) or one number.
        kind: "l2" adds decay * w to the gradient before Adam sees it, as torch.optim.Adam does; "decoupled" shrinks w
            by 1 - lr * decay, as AdamW does.
    """

    def __init__(self, weights: list[torch.Tensor], lr: float, decay=0.0, kind: str = "l2"):
        like, runs = weights[0].detach(), len(weights[0])
        self.weights, self.lr, self.kind = weights, lr, kind
        self.spare = like.new_zeros(runs, -sum(w[0].numel() for w in weights) % VECTOR)
        self._lay_out(torch.cat([*(w.detach().flatten(1) for w in weights), self.spare], 1))
        self.moments, self.steps = (
            [torch.zeros_like(self.row) for _ in range(2)],
            torch.zeros((), device=like.device),
        )
        self.decay = None
        if isinstance(decay, torch.Tensor) or decay:
            decay = (
                torch.as_tensor(decay, dtype=like.dtype, device=like.device).flatten().expand(runs)
            )
            self.decay = decay[:, None].repeat(1, self.row.shape[1])

    def _lay_out(self, row):
        self.row, sizes = row, [w[0].numel() for w in self.weights]
        for w, values in zip(
            self.weights, row.split([*sizes, self.spare.shape[1]], 1), strict=False
        ):
            w.data = values.view(w.shape)

    @torch.no_grad()
    def step(self, gradients: Sequence[torch.Tensor]) -> None:
        """One update from gradients of the shapes of the weights."""
        gradient = torch.cat([*(g.flatten(1) for g in gradients), self.spare], 1)
        if self.decay is not None and self.kind == "l2":
            gradient.addcmul_(self.row, self.decay)
        elif self.decay is not None:
            self.row.addcmul_(self.row, self.decay, value=-self.lr)
        first, second = self.moments
        adam(
            [self.row],
            [gradient],
            [first],
            [second],
            [],
            [self.steps],
            fused=True,
            amsgrad=False,
            maximize=False,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            lr=self.lr,
            weight_decay=0.0,
        )

    def keep(self, stay: torch.Tensor) -> None:
        """Go on for the runs `stay` (R,) alone; `weights` already holds theirs."""
        self.spare, self.decay = self.spare[stay], None if self.decay is None else self.decay[stay]
        self.moments = [moment[stay] for moment in self.moments]
        self._lay_out(self.row[stay])
