"""Optimisers of R networks at once, as pure functions: weights and gradients in, new weights out.

Weights, gradients and what an optimiser remembers are lists of tensors (R, ...). Nothing is changed in place, so that a
step is a function of what it is given. A rate or a decay for each run is a tensor (R,) or (R, 1, ...). At one rate and
decay for all runs each function is the optimiser of `torch.optim` that its docstring names (tested).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

Tensors = Sequence[Tensor]

BETA1, BETA2, TINY = 0.9, 0.999, 1e-8  # Adam's constants, Kingma and Ba 2015


def per_run(value, weights: Tensors) -> list:
    """A number for each run, (R,) or (R, 1, ...), shaped to multiply each tensor of `weights`."""
    if not isinstance(value, Tensor):
        return [value] * len(weights)
    return [value.reshape(-1, *(1,) * (w.ndim - 1)) for w in weights]


def warmed(t: int, steps: int, warmup: int = 0, cosine: bool = True) -> float:
    """Factor of the learning rate at step t = 1 .. `steps` (SA Sec. 5): linear warm-up, then half a cosine, or 1.

    Up to t = `warmup` it is t / warmup. From there a cosine falls from 1 to 0, which it would reach one step after the
    last; without `cosine` the factor stays 1.
    """
    if not 1 <= t <= steps:
        raise ValueError(f"t = {t} is not allowed: t must be a step, from 1 to steps = {steps}")
    if t <= warmup:
        return t / warmup
    if not cosine:
        return 1.0
    return 0.5 + 0.5 * math.cos(math.pi * (t - warmup) / (steps + 1 - warmup))


def sgd(weights: Tensors, gradients: Tensors, lr: float | Tensor) -> list[Tensor]:
    """Gradient descent, w - lr g: `torch.optim.SGD`.

    Args:
        weights, gradients: lists of tensors (R, ...).
        lr: learning rate of each run, (R,), or one number.

    Returns:
        The new weights.
    """
    return _moved(weights, gradients, lr, -1.0)


def _moved(values: Tensors, by: Tensors, lr, factor) -> list[Tensor]:
    """values + factor lr by."""
    if not isinstance(lr, Tensor):
        return list(torch._foreach_add(list(values), list(by), alpha=factor * lr))
    return list(torch._foreach_addcmul(list(values), list(by), per_run(lr, values), value=factor))


def momentum(
    weights: Tensors,
    gradients: Tensors,
    velocity: Tensors,
    lr: float | Tensor,
    factor: float = 1.0,
    beta: float = 0.9,
) -> tuple[list[Tensor], list[Tensor]]:
    """Gradient descent with momentum: v <- beta v + factor lr g, then w <- w - v.

    At a constant rate this is `torch.optim.SGD(momentum=beta)`. velocity: zeros at the start (`zeros`).

    Returns:
        The new weights and the new velocity.
    """
    after = _moved(torch._foreach_mul(list(velocity), beta), gradients, lr, factor)
    return list(torch._foreach_sub(list(weights), after)), after


def lars_directions(
    weights: Tensors, gradients: Tensors, trust: float, decay: float, axes: int = 1
) -> list[Tensor]:
    """What LARS descends along instead of the gradient (You et al. 2017, Algorithm 1).

    Each network's matrix has a rate of its own, s (g + decay w) with s = trust |w| / (|g| + decay |w|). As in SimCLR's
    code biases are left alone: g.

    Args:
        weights, gradients: lists of tensors (R, ...).
        trust: factor of each matrix's own rate.
        decay: weight decay, part of that rate as above.
        axes: how many leading axes number networks: 0 for the weights of one, 2 for (R, M, ...), M networks a run.
    """
    directions = []
    for w, g in zip(weights, gradients, strict=True):
        if w.ndim <= axes + 1:  # a bias
            directions.append(g)
            continue
        own = tuple(range(axes, w.ndim))  # the axes of one network's matrix
        size = torch.linalg.vector_norm(w, dim=own, keepdim=True)
        slope = torch.linalg.vector_norm(g, dim=own, keepdim=True)
        ratio = torch.where((size > 0) & (slope > 0), trust * size / (slope + decay * size), 1.0)
        directions.append(ratio * (g + decay * w))
    return directions


def adam(
    weights: Tensors,
    gradients: Tensors,
    memory: dict,
    lr: float | Tensor,
    decay: float | Tensor = 0.0,
    kind: str = "l2",
) -> tuple[list[Tensor], dict]:
    """Adam (Kingma and Ba 2015, Algorithm 1), with a weight decay for each run.

    m <- beta1 m + (1 - beta1) g, v <- beta2 v + (1 - beta2) g^2, w <- w - lr m' / (sqrt(v') + 1e-8), where m' and v'
    are m / (1 - beta1^t) and v / (1 - beta2^t) at update number t = 1, 2, ...

    Args:
        weights, gradients: lists of tensors (R, ...).
        memory: what the last update returned; at the start `adam_memory(weights)`.
        lr: one number, or (R,) where there is no decay.
        decay: (R,) or one number.
        kind: "l2" adds decay w to the gradient before Adam sees it, as `torch.optim.Adam` does; "decoupled" shrinks w
            by 1 - lr decay, as `torch.optim.AdamW` does. Not checked, and any other text is taken for "decoupled".

    Returns:
        The new weights and the new memory.
    """
    weights, gradients = [w.detach() for w in weights], list(gradients)
    if isinstance(decay, Tensor) or decay:
        if kind == "l2":
            gradients = _moved(gradients, weights, decay, 1.0)  # g + decay w
        else:
            weights = _moved(weights, weights, decay, -lr)  # (1 - lr decay) w
    if type(weights[0]) is Tensor and not isinstance(lr, Tensor):
        return _adam_of_torch(weights, gradients, memory, lr)
    return _adam(weights, gradients, memory, lr)


def _adam(weights: list, gradients: list, memory: dict, lr) -> tuple[list, dict]:
    """`adam` without decay, as its formula."""
    updates = memory["updates"] + 1  # t, the same for all runs

    # The running means m and v.
    first = torch._foreach_lerp(memory["first"], gradients, 1 - BETA1)
    second = torch._foreach_mul(memory["second"], BETA2)
    second = torch._foreach_addcmul(second, gradients, gradients, value=1 - BETA2)

    # lr m' / (sqrt(v') + TINY)
    step = per_run(lr / (1 - BETA1**updates), weights)
    scale = per_run((1 - BETA2**updates).sqrt(), weights)
    size = torch._foreach_add(torch._foreach_div(torch._foreach_sqrt(second), scale), TINY)
    moves = torch._foreach_mul(torch._foreach_div(first, size), step)

    after = torch._foreach_sub(weights, moves)
    return list(after), {"first": list(first), "second": list(second), "updates": updates}


@torch.no_grad()
def _adam_of_torch(weights: list, gradients: list, memory: dict, lr: float) -> tuple[list, dict]:
    """`_adam` by torch's own kernel, a quarter of the time. It works in place, so it is given copies."""
    # It reads memory in order: a gradient that is a transposed view must be laid out first.
    gradients = [g.contiguous() for g in gradients]
    weights = [w.clone(memory_format=torch.contiguous_format) for w in weights]
    first = [m.clone(memory_format=torch.contiguous_format) for m in memory["first"]]
    second = [v.clone(memory_format=torch.contiguous_format) for v in memory["second"]]
    updates = memory["updates"] + 1
    torch._fused_adam_(
        weights,
        gradients,
        first,
        second,
        [],
        [updates[0]] * len(weights),
        lr=lr,
        beta1=BETA1,
        beta2=BETA2,
        weight_decay=0.0,
        eps=TINY,
        amsgrad=False,
        maximize=False,
    )
    return weights, {"first": first, "second": second, "updates": updates}


def adam_memory(weights: Tensors) -> dict:
    """What `adam` remembers before its first update."""
    updates = weights[0].new_zeros(len(weights[0]))  # (R,): a tensor, since everything of a run is
    return {"first": zeros(weights), "second": zeros(weights), "updates": updates}


def zeros(weights: Tensors) -> list[Tensor]:
    """A zero for each weight."""
    return [torch.zeros_like(w, requires_grad=False) for w in weights]
