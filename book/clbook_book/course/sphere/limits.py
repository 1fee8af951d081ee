"""Where descent gets unstable: the sharpness of the loss at a start."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor

from clbook.experiments.sphere import Config, Sphere
from clbook.training.loop import one_thread

ROUNDS = 30  # of power iteration


def strongest_curvature(
    loss: Tensor, parameters: Iterable[Tensor], generator: torch.Generator
) -> float:
    """The Hessian eigenvalue of largest absolute value, by power iteration on Hessian-vector products.

    Near a minimum, gradient descent with a learning rate above 2 / sharpness moves away instead of closer.

    Args:
        loss: scalar tensor with a graph to `parameters`.
        parameters: tensors, as of `module.parameters()`.
        generator: source of the first direction.

    Returns:
        A number, negative where the strongest curvature is downwards.
    """
    parameters = list(parameters)
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    direction = [torch.randn(p.shape, generator=generator).to(p) for p in parameters]
    for _ in range(ROUNDS):
        length = torch.nn.utils.get_total_norm(direction)
        direction = [v / length for v in direction]
        product = torch.autograd.grad(gradients, parameters, direction, retain_graph=True)
        curvature = sum((p * v).sum() for p, v in zip(product, direction, strict=True))
        direction = product
    return float(curvature)


def sharpness_at_start(config: Config) -> float:
    """`strongest_curvature` of the mean loss over the network's weights w at w0."""
    config = config.replace(network=True)
    draws = torch.Generator().manual_seed(config.seed)
    with one_thread():
        flow = Sphere([config], record=("loss",)).to("cpu")
        s = flow.start()
        z = F.normalize(flow.embed_points(s), dim=-1)
        views = F.normalize(flow.embed_views(s, flow.recorded_draws["noise"].next()), dim=-1)
        return strongest_curvature(flow.loss(s, z, views).sum(), s.weights, draws)
