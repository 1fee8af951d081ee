"""Where descent from a uniform start gets unstable: the sharpness of the loss there, which is a record."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clbook.experiments.sphere import Config, Sphere
from clbook.training.loop import one_thread

UNIFORM = Config(start="uniform", steps=100, record_every=20)
DIMENSIONS = (2, 3)
DEPTHS = (1, 4)  # hidden layers
SEEDS = range(3)
ROUNDS = 30  # of power iteration


def starts(seeds=SEEDS) -> tuple:
    """The uniform starts: on the circle and on the sphere, with one hidden layer and with four, each seed."""
    grid = itertools.product(DIMENSIONS, DEPTHS, seeds)
    return tuple(UNIFORM.replace(d=d, depth=depth, seed=seed) for d, depth, seed in grid)


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


def sharpness(seeds=SEEDS) -> np.ndarray:
    """(d, depth, seed) the sharpness of the loss at the uniform starts, on the circle and on the sphere."""
    found = [sharpness_at_start(config) for config in starts(seeds)]
    return np.reshape(found, (len(DIMENSIONS), len(DEPTHS), len(seeds)))
