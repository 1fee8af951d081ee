"""Which pairs of a batch a loss pulls together and which it pushes apart."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor


def pair_weights(loss: Callable, z1: Tensor, z2: Tensor) -> Tensor:
    """(2n, 2n) derivative of loss(z1, z2) in each cosine: < 0 pulls the pair together, > 0 pushes it apart.

    For a loss of the cosines alone the gradient in a unit view is a sum over the others' directions, with unique
    coefficients for independent views. Each cosine is counted once for either end. The diagonal is nan.
    """
    z = torch.cat([z1, z2]).double()
    z.requires_grad_()
    (gradient,) = torch.autograd.grad(loss(*z.chunk(2)), z)
    z = z.detach()
    length = z.norm(dim=1, keepdim=True)
    return (gradient * length @ torch.linalg.pinv(z / length)).fill_diagonal_(math.nan)
