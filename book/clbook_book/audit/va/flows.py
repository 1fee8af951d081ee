"""Proposition 4.1 for models that are no networks, and what the runs of this room assume."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from clbook import data, kernels
from clbook.experiments.kernel import partial_gradient
from clbook.losses import generalized, simplified
from clbook.models import CNN, Averaging
from clbook.training.loop import one_thread
from clbook.training.streams import stream
from clbook_book.audit.va.experiment import Config, Variational, dataset

TAU = 0.1
RATES = (0.1, 0.01, 0.001)  # learning rates, from the largest on
MODELS = ("random features", "squared weights", "table", "convolutional")


class Features(nn.Module):
    """f(w, x) = phi(x) w, phi random cosines that are never trained; squared: phi(x) (w * w)."""

    def __init__(self, D: int, d: int, count: int, squared: bool, generator: torch.Generator):
        super().__init__()
        self.register_buffer("directions", torch.randn(D, count, generator=generator))
        self.register_buffer("phases", 2 * math.pi * torch.rand(count, generator=generator))
        self.w = nn.Parameter(torch.randn(count, d, generator=generator) / count**0.5)
        self.squared = squared

    def forward(self, x):
        features = torch.cos(x @ self.directions + self.phases)
        return features @ (self.w.square() if self.squared else self.w)


class Table(nn.Module):
    """f(w, x_i) = w_i: the weights are the embedded points, and x_i is the i-th unit vector."""

    def __init__(self, n: int, d: int, generator: torch.Generator):
        super().__init__()
        self.w = nn.Parameter(0.1 * torch.randn(n, d, generator=generator))

    def forward(self, x):
        return x @ self.w


def model_of(name: str, seed: int, n: int = 20) -> tuple[nn.Module, torch.Tensor]:
    """(model, n inputs) of one of MODELS, with d = 2."""
    draws = stream(seed, 1)
    if name == "convolutional":
        x, _ = data.images("digits", n, 2, draws)
        return CNN((1, 8, 8), d=2, activation="tanh", generator=draws).double(), x.double().view(
            -1, 1, 8, 8
        )
    if name == "table":
        return Table(n, 2, draws).double(), torch.eye(n, dtype=torch.float64)
    x = torch.randn(n, 3, generator=draws).double()
    return Features(3, 2, 200, name == "squared weights", draws).double(), x


@one_thread()
def step_errors(name: str, seed: int) -> tuple[list[float], float]:
    """(relative error of eq. 11 for one step of gradient descent at each of RATES, relative change of the kernel).

    The loss is LS eq. 12 with views that are held still; the change of the kernel is that of the largest step.
    """
    model, x = model_of(name, seed)
    parameters, z = list(model.parameters()), model(x)
    views = (z + 0.05 * torch.randn(z.shape, generator=stream(seed, 2))).detach()[None]
    gradients = torch.autograd.grad(simplified(z, views, TAU), parameters)
    z, K = z.detach(), kernels.autograd(model, x)
    predicted = -torch.einsum("ijkl,jl->ik", K, partial_gradient(z, views, TAU)) / len(x)
    errors, change = [], math.nan
    for rate in RATES:
        with torch.no_grad():
            for w, g in zip(parameters, gradients, strict=True):
                w -= rate * TAU * g
            velocity = (model(x) - z) / (rate * TAU)
        if math.isnan(change):
            change = float((kernels.autograd(model, x) - K).norm() / K.norm())
        with torch.no_grad():
            for w, g in zip(parameters, gradients, strict=True):
                w += rate * TAU * g
        errors.append(float((velocity - predicted).norm() / velocity.norm()))
    return errors, change


def identity_errors(seed: int, n: int = 20) -> tuple[float, float]:
    """Relative errors of eq. 13 by eq. 11 with K_ii = I as Remark 4.2 says, and with K_ii = n I; no other blocks."""
    z, views = 0.3 * torch.randn(2, n, 2, generator=stream(seed, 3), dtype=torch.float64)
    own = -partial_gradient(z, views[None], TAU)  # eq. 13
    blocks = torch.einsum("ij,kl->ijkl", torch.eye(n), torch.eye(2)).double()
    mixed = (
        -torch.einsum("ijkl,jl->ik", blocks, partial_gradient(z, views[None], TAU)) / n
    )  # eq. 11
    return tuple(float((found - own).norm() / own.norm()) for found in (mixed, n * mixed))


def shuffled(activation: str, seed: int, n: int = 20, width: int = 64) -> float:
    """Relative change of eq. 11's velocities when the data behind n embedded points are shuffled."""
    draws = stream(seed, 4)
    x = torch.randn(n, 3, generator=draws).double()
    z = F.normalize(torch.randn(n, 2, generator=draws).double()).requires_grad_()
    order = torch.randperm(n, generator=draws)
    model = Averaging(3, 2, width, activation, width**-0.5, draws).double()
    (pushes,) = torch.autograd.grad(n * generalized(z, z, lambda t: -t / 0.2), z)
    before = torch.einsum("ijkl,jl->ik", kernels.autograd(model, x), pushes)
    after = torch.einsum("ijkl,jl->ik", kernels.autograd(model, x[order]), pushes)
    return float((after - before).norm() / before.norm())


def setting_errors(seed: int) -> tuple[float, float]:
    """How far views are from their points in the clean coordinates, and in the embedding at the start (worst case)."""
    clean, places = [], []
    for change in ({"d": 2}, {"d": 3}, {"centres": "axes", "classes": 3, "d": 3}):
        config = Config(n=60, seed=seed, **change)
        flow = Variational([config], record=("loss",)).to("cpu")
        s = flow.start()
        noise = flow.recorded_draws["noise"].next()
        points = flow.embed_points(s)
        views = flow.embed_views(s, noise)
        x, _ = dataset(config)
        moved = (x + s.noise * noise - x)[..., : config.clean]
        clean.append(float(moved.abs().max()))
        places.append(float((views - points[:, None]).detach().abs().max()))
    return max(clean), float(np.max(places))
