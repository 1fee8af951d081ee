"""What the network adds to the flow of the embeddings (VA Section 4; LS Sections 4.1 and B.4 to B.6).

The network is VA eq. 18, g(w, x) = A' s(B x) with w = B, and the embedding f(w, x) = R + g(w, x) - g(w0, x), with R
shared by a point and its views so that f starts invariant (VA eq. 17). In float64: errors of 1e-12 are measured.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import time

import numpy as np
import torch

from clbook import augment, data, kernels, theory
from clbook.experiments import separability
from clbook.losses import simplified
from clbook.models import ACTIVATIONS, Averaging
from clbook.runs import Diverged, default_device, iterate, recorded_times
from clbook.settings import Outcome, Settings, setting

VIEWS = 6  # copies of each point, turned by angles evenly spaced in +-angle; the loss takes the mean over them
FLOWS = ("network", "radius", "vanilla")


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default is VA's setting, three tight clusters with orthogonal centres."""

    centres: str = setting("axes", "cluster centres: orthogonal unit vectors along the axes, or points on a line",
                           choices=("axes", "line"))
    clusters: int = setting(3, "number of clusters", low=2, high=8)
    n: int = setting(120, "number of points, all clusters together", low=4, high=2000)
    ratio: float = setting(1.0, "size of the last cluster relative to each other one", low=0.001, high=1.0, log=True)
    delta: float = setting(0.01, "radius of a cluster", low=0.0, high=2.0, log=True)
    start: str = setting("random", "random: anywhere in a ball; smooth: at a linear function of the point",
                         choices=("random", "smooth"))
    eps: float = setting(0.1, "diameter of the ball from which the embedding starts", low=0.0, high=10.0, log=True)
    d: int = setting(2, "embedding dimensions", low=1, high=16)
    width: int = setting(256, "hidden units for each embedding dimension, M", low=1, high=16_384, log=True)
    activation: str = setting("tanh", "activation of the hidden layer", choices=tuple(ACTIVATIONS))
    flow: str = setting("network", "what moves a point: the network, one that sees |x| alone, or only its own gradient",
                        choices=FLOWS)
    angle: float = setting(30.0, "views turn a point by up to this angle", unit="degrees", low=0.0, high=180.0)
    tau: float = setting(0.1, "temperature", above=0.0, low=1e-4, high=10.0, log=True)
    lr_over_tau: float = setting(0.01, "learning rate divided by tau", above=0.0, high=10_000.0, log=True)
    gradient: str = setting("partial", "partial: back-propagate through z alone (VA eq. 11); full: the views as well",
                            choices=("full", "partial"))
    steps: int = setting(1, "iterations", unit="iterations", low=1, high=100_000, log=True)
    seed: int = setting(0, "seed of data, start and weights", low=0, high=2**31)

    def check(self):
        if self.centres == "line" and self.clusters % 2:
            raise self.error("clusters", "even for centres on a line: an odd number puts one at the origin")
        if self.n < 2 * self.clusters:
            raise self.error("n", f"at least twice the number of clusters, {2 * self.clusters}")


@dataclasses.dataclass
class Result(Outcome):
    """Velocities are changes in one iteration divided by the learning rate, at the recorded times `steps` (T,).

    Attributes:
        x: (n, D) points. labels: (n,). views: (VIEWS, n, D). z: (T, n, d). copies: (T, VIEWS, n, d) embedded views.
        measured: (T, n, d) velocity. kernel: (T, n, d) VA Proposition 4.1's, from K(t) and the partial gradient.
        mean, own: (T, n, d) VA Theorem 4.5's, with the cluster's mean gradient and with each point's own.
        blocks: (T, n, d) the same without its hypothesis: the kernel between all centres, and mean gradients.
        gain: (T, N, d) beta of Theorem 4.5. share: (N,) of the points.
        spread: (T,) largest distance between a point's embedding and that of one of its views.
        moved: (T,) largest distance of a point from its start.
    """

    steps: np.ndarray
    x: np.ndarray
    labels: np.ndarray
    views: np.ndarray
    z: np.ndarray
    copies: np.ndarray
    measured: np.ndarray
    kernel: np.ndarray
    mean: np.ndarray
    own: np.ndarray
    blocks: np.ndarray
    gain: np.ndarray
    share: np.ndarray
    spread: np.ndarray
    moved: np.ndarray

    def error(self, prediction, frame=0) -> float:
        """|measured - predicted| / |measured| for "kernel", "mean", "own", "blocks", or "limit" (VA Corollary 4.6)."""
        velocity = self.measured[frame]
        predicted = (self.mean[frame] * (0.5 / self.gain[frame])[self.labels] if prediction == "limit"
                     else getattr(self, prediction)[frame])
        return float(np.linalg.norm(velocity - predicted) / np.linalg.norm(velocity))

    def speeds(self, velocity="measured", frame=0):
        """(N,) length of each cluster's mean velocity."""
        v = getattr(self, velocity)[frame]
        return np.array([np.linalg.norm(v[self.labels == q].mean(0)) for q in range(len(self.share))])


def dataset(config: Config):
    """Points x (n, D), labels (n,), centres (N, D) and start R (n, d) of a run; orthogonal centres need D = N."""
    N = config.clusters
    last = max(1, round(config.n * config.ratio / (N - 1 + config.ratio)))
    labels = torch.cat([data.balanced_labels(config.n - last, N - 1), torch.full((last,), N - 1)])
    centres = torch.eye(N, dtype=torch.float64)
    if config.centres == "line":
        centres = torch.arange(1.0 - N, N, 2, dtype=torch.float64)[:, None] * torch.eye(1, 2, dtype=torch.float64)
    D = centres.shape[1]
    noise = separability.start(config.replace(eps=2 * config.delta, d=D, seed=config.seed + 10)).double()
    x = centres[labels] + noise
    if config.start == "random":
        return x, labels, centres, separability.start(config).double()
    mix = torch.randn(D, config.d, generator=torch.Generator().manual_seed(config.seed + 1), dtype=torch.float64)
    return x, labels, centres, config.eps / 2 * x @ mix / math.sqrt(D)


class Embedding:
    """f(w, x) = R + g(w, x) - g(w0, x) on points and their views, x (1 + VIEWS, n, D)."""

    def __init__(self, config: Config, x, start):
        self.config = config
        self.sees = (lambda x: x.norm(dim=-1, keepdim=True)) if config.flow == "radius" else (lambda x: x)
        self.x = self.sees(x)
        generator = torch.Generator().manual_seed(config.seed + 2)
        self.net = Averaging(self.x.shape[-1], config.d, config.width, config.activation, config.width**-0.5,
                             generator).to(x)
        with torch.no_grad():
            self.shift = start - copy.deepcopy(self.net)(self.x)

    def __call__(self):
        """(1 + VIEWS, n, d)."""
        return self.net(self.x) + self.shift

    def kernel_of(self, centres):
        """The kernel between cluster centres (N, N, d, d), in closed form (VA eq. 20), and |xi_q|^2 (N,)."""
        c, centres = self.config, self.sees(centres)
        K = kernels.one_hidden(self.net.inner.weight, centres, c.activation, c.d, 1 / c.width)
        return K, centres.square().sum(1)


def network_flow(config: Config, embedding: Embedding):
    """A step of gradient descent on the weights (VA eq. 15), for `iterate`; the state is f on points and views."""
    def step(_, t):
        z = embedding()
        loss = simplified(z[0], z[1:] if config.gradient == "full" else z[1:].detach(), config.tau)
        (gradient,) = torch.autograd.grad(loss, embedding.net.inner.weight)
        with torch.no_grad():
            embedding.net.inner.weight -= config.lr_over_tau * config.tau * gradient
            return embedding()
    return step


def vanilla_flow(config: Config):
    """A step of VA eq. 14, for `iterate`: points and views are particles, each moved by the gradient at its place."""
    def step(orbits, t):
        return torch.stack([z - config.lr_over_tau * config.tau * partial_gradient(z, orbits[1:], config.tau)
                            for z in orbits])
    return step


def partial_gradient(z, views, tau):
    """grad_z L(z_i, x_i) of LS eq. 12 for every point, (n, d), with the views (m, n, d) held still."""
    z = z.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(len(z) * simplified(z, views.detach(), tau), z)
    return gradient


def run(config: Config, *, progress=None, device=None) -> Result:
    """Follow one flow and compare each recorded step with what VA Proposition 4.1 and Theorem 4.5 predict for it.

    Args:
        config: the settings.
        progress: `progress(fraction, partial_result)`; returning False stops the run, which then returns what it has.
        device: a torch device; None takes CUDA when there is one.

    Raises:
        ValueError: the run diverged; the message names lr_over_tau, its value and its range.
    """
    began, device = time.monotonic(), default_device(device)
    x, labels, centres, start = (array.to(device) for array in dataset(config))
    angles = torch.linspace(-config.angle, config.angle, VIEWS).to(x).deg2rad()
    orbits = torch.stack([x, *(augment.turn(x, angle) for angle in angles)])
    embedding = Embedding(config, orbits, start)
    share = labels.bincount() / config.n
    members = torch.nn.functional.one_hot(labels).double()
    times, rows, lr = set(recorded_times(config.steps - 1)), [], config.lr_over_tau * config.tau

    def record(z, t):
        if rows and rows[-1]["steps"] == t - 1:
            rows[-1]["measured"] = (z[0].cpu().numpy() - rows[-1]["z"]) / lr
        if t not in times:
            return
        gradient = partial_gradient(z[0], z[1:], config.tau)
        by_kernel = -gradient
        if config.flow != "vanilla":
            K = kernels.empirical(embedding.net, embedding.x[0])
            by_kernel = -torch.einsum("ijkl,jl->ik", K, gradient) / config.n
        between, norms = embedding.kernel_of(centres)
        gain = torch.einsum("qqkk->qk", between) / norms[:, None]
        mean = members.T @ gradient / members.sum(0)[:, None]

        def cluster(gradients):
            parts = (share[labels], norms[labels], gain[labels], gradients)
            return theory.cluster_velocity(*(part.detach().cpu().numpy() for part in parts))

        row = {"steps": t, "z": z[0], "copies": z[1:], "kernel": by_kernel, "gain": gain,
               "mean": cluster(mean[labels]), "own": cluster(gradient),
               "blocks": -torch.einsum("qrkl,r,rl->qk", between, share.to(z), mean)[labels],
               "spread": (z[1:] - z[0]).norm(dim=-1).max(), "moved": (z[0] - start).norm(dim=-1).max()}
        rows.append({key: v.detach().cpu().numpy() if isinstance(v, torch.Tensor) else v for key, v in row.items()})

    def result(stopped):
        whole = [row for row in rows if "measured" in row]
        fixed = {"x": x, "labels": labels, "views": orbits[1:], "share": share}
        return Result(config, time.monotonic() - began, str(device), stopped,
                      **{key: value.cpu().numpy() for key, value in fixed.items()},
                      **{key: np.array([row[key] for row in whole]) for key in whole[0]})

    step = vanilla_flow(config) if config.flow == "vanilla" else network_flow(config, embedding)
    begin = start.expand(len(orbits), *start.shape).clone()
    report = progress and (lambda fraction: progress(fraction, result(True)))
    try:
        _, _, stopped = iterate(step, begin, config.steps, record, report)
    except Diverged as error:
        raise config.diverged("lr_over_tau", error.step) from error
    return result(stopped)
