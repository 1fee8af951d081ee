"""The kernel's closed forms against autograd, finite width and exact flows (VA Prop. 4.1, 4.3, 4.4, Theorem 4.5)."""

from __future__ import annotations

import numpy as np
import torch
from torch.func import functional_call, jvp
from torch.nn.functional import normalize, pad

from clbook import data, kernels, theory
from clbook.experiments.kernel.experiment import Result, network, relative_error
from clbook.losses import generalized, simplified
from clbook.models import Averaging
from clbook.training.loop import one_thread


def explicit_errors(
    width: int = 64, D: int = 5, d: int = 3, n: int = 12, activation: str = "tanh", seed: int = 0
) -> dict[tuple[str, str], float]:
    """Relative error of the explicit kernel against autograd, for both papers' outer weights and both prefactors.

    Returns:
        {(entries of A, prefactor): error}: VA has 1/sqrt(M) and 1/M, LS 1/sqrt(M D) and 1/(M D).
    """
    draws = torch.Generator().manual_seed(seed)
    x = torch.randn(n, D, generator=draws, dtype=torch.float64)
    va = 1 / width
    ls = 1 / (width * D)
    errors = {}
    for entries, square in (("1/sqrt(M)", va), ("1/sqrt(M D)", ls)):
        draws = torch.Generator().manual_seed(seed + 1)
        net = Averaging(D, d, width, activation, square**0.5, draws).double()
        truth = kernels.autograd(net, x)
        for name, prefactor in (("1/M", va), ("1/(M D)", ls)):
            explicit = kernels.one_hidden(net.inner.weight, x, activation, d, prefactor)
            missed = explicit - truth
            error = missed.norm() / truth.norm()
            errors[entries, name] = float(error)
    return errors


@one_thread()
def width_errors(
    widths, seeds, stretch=(1.0, 1.0, 1.0), shift=(0.0, 0.0, 0.0), angles_after=(1.0, 1.0, 1.0)
) -> np.ndarray:
    """Relative errors of the infinite-width kernel (VA Proposition 4.4) for ReLU, on 20 points of R^3.

    Args:
        widths: hidden units. seeds: of the inner weights; the points are always the same.
        stretch, shift: a row of B is stretch * g + shift, with g standard Gaussian.
        angles_after: the limit takes its angles between the points multiplied by this. With `stretch` it is the right
            limit for rows of unequal variances, since b x = g (stretch * x).

    Returns:
        (widths, seeds).
    """

    def normal(rows, seed):
        draws = torch.Generator().manual_seed(seed)
        return torch.randn(rows, 3, generator=draws, dtype=torch.float64)

    x = normal(20, 0)
    scale = torch.tensor(angles_after, dtype=torch.float64)
    u = normalize(x * scale, dim=1)
    cosines = u @ u.T
    limit = (x @ x.T) * kernels.infinite_width(u) / cosines
    stretch = torch.tensor(stretch, dtype=torch.float64)
    shift = torch.tensor(shift, dtype=torch.float64)
    errors = np.empty((len(widths), len(seeds)))
    for column, seed in enumerate(seeds):
        B = normal(max(widths), seed + 1) * stretch + shift
        for row, width in enumerate(widths):
            K = kernels.one_hidden(B[:width], x, "relu", 1, 1 / width)
            missed = K[..., 0, 0] - limit
            errors[row, column] = missed.norm() / limit.norm()
    return errors


def kernel_of_all(result: Result) -> torch.Tensor:
    """The kernel of a run's points and views at the start, (N, N, d, d) with N = (1 + VIEWS) n, the points first."""
    c = result.config
    sets = np.concatenate([result.x[None], result.views])
    points = torch.from_numpy(sets).flatten(0, 1)
    inner = network(c, points.shape[1]).inner.weight.detach()
    return kernels.one_hidden(inner, points, c.activation, c.d, 1 / c.width)


@one_thread()
def joint_error(result: Result) -> float:
    """Relative error of Proposition 4.1 for the first step of a run, with points and views as one set of points.

    The gradient is that of the loss in all embedded points, those of the views too.
    """
    c = result.config
    embedded = [torch.tensor(v[0], requires_grad=True) for v in (result.z, result.copies)]
    loss = simplified(*embedded, c.tau)
    gradients = torch.autograd.grad(loss, embedded)
    gradient = torch.cat([part.reshape(-1, c.d) for part in gradients])
    n = len(result.x)
    of_points = kernel_of_all(result)[:n]
    velocity = -torch.einsum("ijkl,jl->ik", of_points, gradient)
    return relative_error(velocity.numpy(), result.measured[0])


@one_thread()
def printed_errors(
    deltas, seed: int, steps: int = 0, D: int = 5, d: int = 2, width: int = 256, tau: float = 0.1
) -> np.ndarray:
    """Relative errors (len(deltas),) of VA Theorem 4.5 as printed, in the paper's own setting (VA eq. 16 to 18).

    N = d clusters around orthogonal centres of lengths 1 and 1.5, of 40 and 20 points; noise and views in the D - d
    other coordinates only; the start a random function of the first d coordinates; VA eq. 4 with its full gradient,
    whose value at the centre is VA eq. 7. The velocity of the flow is exact: a directional derivative. It is that after
    so many `steps` of gradient descent, lr = tau.
    """
    draws = torch.Generator().manual_seed(seed)
    centres = torch.diag(torch.tensor([1.0, 1.5], dtype=torch.float64))
    labels = torch.arange(60) // 40
    of_clusters = data.ball(2, d, 0.1, draws).double()
    start = of_clusters[labels]
    noise = []  # of the point and of two views
    for _ in range(3):
        outer = data.ball(60, D - d, 2.0, draws).double()
        noise.append(pad(outer, (d, 0)))
    net = Averaging(D, d, width, "tanh", width**-0.5, draws).double()
    inner = net.inner.weight.detach()
    clean = pad(centres, (0, D - d))

    def embed(B, x):
        now = functional_call(net, {"inner.weight": B}, (x,))
        return now - net(x).detach() + start

    def loss(z1, z2):
        return generalized(z1, z2, lambda t: -t / tau)

    norms = centres.square().sum(1)
    share = labels.bincount() / 60
    at_centres = clean[labels]
    errors = []
    for delta in deltas:
        x, first, second = (at_centres + delta * part for part in noise)

        def slope(B, first=first, second=second):
            """The gradient of the loss of two views in the inner weights."""
            B = B.requires_grad_()
            z1 = embed(B, first)
            z2 = embed(B, second)
            (gradient,) = torch.autograd.grad(loss(z1, z2), B)
            return gradient

        B = inner.clone()
        for _ in range(steps):
            moved = B - tau * slope(B)
            B = moved.detach()
        step = -slope(B)
        B = B.detach()
        places = embed(B, at_centres).requires_grad_()
        total = 60 * loss(places, places)
        (gradient,) = torch.autograd.grad(total, places)
        kernel = kernels.one_hidden(B, clean, "tanh", d, 1 / width)
        trace = torch.einsum("qqkk->qk", kernel)
        gain = trace / norms[:, None]
        of_cluster = gradient[[0, -1]].numpy()
        predicted = theory.cluster_velocity(share, norms, gain.numpy(), of_cluster)
        _, velocity = jvp(lambda B, x=x: embed(B, x), (B,), (step,))
        errors.append(relative_error(predicted[labels], velocity.numpy()))
    return np.array(errors)
