"""What the network adds to the flow of the embeddings (VA Section 4; LS Sections 4.1 and B.4 to B.6).

The network is VA eq. 18, g(w, x) = A' s(B x) with w = B, and the embedding f(w, x) = R + g(w, x) - g(w0, x), with R
shared by a point and its views so that f starts invariant (VA eq. 17). In float64: errors of 1e-12 are measured.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from clbook import augment, data, kernels, theory
from clbook.losses import simplified
from clbook.models import ACTIVATIONS, Averaging, affine, stacked
from clbook.training.loop import State, Training, recorded_times
from clbook.training.optim import sgd
from clbook.training.settings import (
    Outcome,
    Settings,
    iterations,
    quantity,
    recorded,
    seed_of,
    setting,
)
from clbook.training.streams import stream

START, WEIGHTS, DATA = 1, 2, 11  # purposes of the streams of random numbers

VIEWS = 6  # copies of each point, turned by angles evenly spaced in +-angle; the loss takes the mean over them
FLOWS = {flow: {"flow": flow} for flow in ("network", "radius", "vanilla")}


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default is three tight clusters with orthogonal centres, embedded at random."""

    centres: str = setting(
        "axes",
        "cluster centres: orthogonal unit vectors along the axes, or points on a line",
        choices=("axes", "line"),
    )
    clusters: int = setting(3, "number of clusters", low=2, high=8)
    n: int = setting(120, "number of points, all clusters together", low=4, high=2000)
    ratio: float = setting(
        1.0,
        "size of the last cluster relative to each other one",
        low=0.001,
        high=1.0,
        log=True,
        each=True,
    )
    delta: float = setting(0.01, "radius of a cluster", low=0.0, high=2.0, log=True, each=True)
    start: str = setting(
        "random",
        "random: anywhere in a ball; smooth: at a linear function of the point",
        choices=("random", "smooth"),
    )
    eps: float = setting(
        0.1,
        "diameter of the ball from which the embedding starts",
        low=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    d: int = setting(2, "embedding dimensions", low=1, high=16)
    width: int = setting(
        256, "hidden units for each embedding dimension, M", low=1, high=16_384, log=True
    )
    activation: str = setting("tanh", "activation of the hidden layer", choices=tuple(ACTIVATIONS))
    flow: str = setting(
        "network",
        "what moves a point: the network, one that sees |x| alone, or only its own gradient",
        choices=tuple(FLOWS),
    )
    angle: float = setting(
        30.0,
        "views turn a point by up to this angle",
        unit="degrees",
        low=0.0,
        high=180.0,
        each=True,
    )
    tau: float = setting(0.1, "temperature", above=0.0, low=1e-4, high=10.0, log=True, each=True)
    lr_over_tau: float = setting(
        0.01, "learning rate divided by tau", above=0.0, high=10_000.0, log=True, each=True
    )
    gradient: str = setting(
        "partial",
        "partial: back-propagate through z alone (VA eq. 11); full: the views as well",
        choices=("full", "partial"),
    )
    steps: int = iterations(1)
    seed: int = seed_of("data, start and weights")

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self.lr_over_tau * self.tau

    def check(self):
        if self.centres == "line" and self.clusters % 2:
            raise self.error(
                "clusters", "even for centres on a line: an odd number puts one at the origin"
            )
        if self.n < 2 * self.clusters:
            raise self.error("n", f"at least twice the number of clusters, {2 * self.clusters}")


@dataclasses.dataclass
class Result(Outcome):
    """Velocities are changes in one iteration divided by the learning rate, at the recorded times `steps`."""

    steps: np.ndarray = recorded()
    x: np.ndarray = quantity("points", dims="point input")
    labels: np.ndarray = quantity("cluster of each point", dims="point")
    views: np.ndarray = quantity("turned copies of the points", dims="view point input")
    share: np.ndarray = quantity("share of the points that lie in each cluster", dims="cluster")
    z: np.ndarray = quantity("embeddings", dims="step point dim")
    copies: np.ndarray = quantity("embedded views", dims="step view point dim")
    spread: np.ndarray = quantity(
        "largest distance between a point's embedding and that of one of its views", dims="step"
    )
    moved: np.ndarray = quantity("largest distance of a point from its start", dims="step")
    measured: np.ndarray = quantity("velocity", dims="step point dim", on_request=True)
    kernel: np.ndarray = quantity(
        "velocity by VA Proposition 4.1, from K(t) and the partial gradient",
        dims="step point dim",
        on_request=True,
    )
    mean: np.ndarray = quantity(
        "velocity by VA Theorem 4.5 with the cluster's mean gradient",
        dims="step point dim",
        on_request=True,
    )
    own: np.ndarray = quantity(
        "velocity by VA Theorem 4.5 with each point's own gradient",
        dims="step point dim",
        on_request=True,
    )
    blocks: np.ndarray = quantity(
        "velocity without the theorem's hypothesis: the kernel between all centres, and mean gradients",
        dims="step point dim",
        on_request=True,
    )
    gain: np.ndarray = quantity("beta of VA Theorem 4.5", dims="step cluster dim", on_request=True)

    def error(self, prediction: str, frame: int = 0) -> float:
        """|measured - predicted| / |measured| for "kernel", "mean", "own", "blocks", or "limit" (VA Corollary 4.6)."""
        velocity = self.measured[frame]
        if prediction == "limit":
            rescaled = 0.5 / self.gain[frame]
            predicted = self.mean[frame] * rescaled[self.labels]
        else:
            predicted = getattr(self, prediction)[frame]
        return relative_error(predicted, velocity)

    def speeds(self, velocity: str = "measured", frame: int = 0) -> np.ndarray:
        """(N,) length of each cluster's mean velocity."""
        v = getattr(self, velocity)[frame]
        means = [v[self.labels == q].mean(0) for q in range(len(self.share))]
        return np.array([np.linalg.norm(mean) for mean in means])


def relative_error(found: np.ndarray, truth: np.ndarray) -> float:
    """|found - truth| / |truth|."""
    missed = np.linalg.norm(found - truth)
    return float(missed / np.linalg.norm(truth))


def centres_of(config: Config) -> Tensor:
    """Returns the cluster centres (N, D): orthogonal ones need D = N, those on a line lie in the plane."""
    N = config.clusters
    if config.centres == "axes":
        return torch.eye(N, dtype=torch.float64)
    places = torch.arange(1.0 - N, N, 2, dtype=torch.float64)
    return places[:, None] * torch.eye(1, 2, dtype=torch.float64)


def dataset(config: Config) -> tuple[Tensor, Tensor, Tensor]:
    """Returns points x (n, D), labels (n,) and start R (n, d) of a run, on the CPU."""
    n = config.n
    d = config.d
    centres = centres_of(config)
    N, D = centres.shape
    others = N - 1
    last = max(1, round(n * config.ratio / (others + config.ratio)))
    labels = torch.cat([data.balanced_labels(n - last, others), torch.full((last,), others)])
    diameter = 2 * config.delta
    around = data.ball(n, D, diameter, stream(config.seed, DATA))
    x = centres[labels] + around.double()
    draws = stream(config.seed, START)
    if config.start == "random":
        anywhere = data.ball(n, d, config.eps, draws)
        return x, labels, anywhere.double()
    mix = torch.randn(D, d, generator=draws, dtype=torch.float64)
    smooth = config.eps / 2 * x @ mix / math.sqrt(D)
    return x, labels, smooth


def orbits(x: Tensor, angle: float) -> Tensor:
    """Returns the points x (n, D) and VIEWS copies of them, turned by -angle to angle degrees: (1 + VIEWS, n, D)."""
    angles = torch.linspace(-angle, angle, VIEWS).to(x).deg2rad()
    points = x[None]
    return torch.cat([points, augment.turn(points, angles[:, None])])


def partial_gradient(z: Tensor, views: Tensor, tau: float | Tensor) -> Tensor:
    """grad_z L(z_i, x_i) of LS eq. 12 for every point z (..., n, d), with the views (..., m, n, d) held still.

    Returns:
        (..., n, d).
    """
    z = z.detach().requires_grad_()
    loss = simplified(z, views.detach(), tau)  # a mean over the n points
    (gradient,) = torch.autograd.grad(z.shape[-2] * loss.sum(), z)
    return gradient


def network(config: Settings, D: int) -> Averaging:
    """The network of a run at its start, on inputs of D dimensions, in float64."""
    c = config
    return Averaging(D, c.d, c.width, c.activation, c.width**-0.5, stream(c.seed, WEIGHTS)).double()


class TwoFlows(Training):
    """R runs that follow f on the points and their views, z (R, 1 + VIEWS, n, d).

    Through a network gradient descent moves its weights (VA eq. 15). In the vanilla flow points and views are
    particles, each moved by the gradient at its place (VA eq. 14).
    """

    rate = "lr_over_tau"
    Result = Result

    def setup(self):
        c, s = self.config, self.state
        # The last iteration begins there: each recorded time knows the step that follows.
        self.steps = c.steps - 1
        self.times = set(recorded_times(self.steps))
        self.trains = c.flow != "vanilla"
        points, labels, starts = zip(*[dataset(config) for config in self.configs], strict=True)
        self.inputs = []
        turned = []
        for config, x, own in zip(self.configs, points, labels, strict=True):
            orbit = orbits(x, config.angle)
            views = orbit[1:].numpy()
            self.inputs.append({"x": x.numpy(), "views": views, "labels": own.numpy()})
            turned.append(orbit)
        s.labels = torch.stack(labels)
        s.R = torch.stack(starts)  # (R, n, d)
        s.tau = self.column("tau", torch.float64)
        s.lr = self.column("lr", torch.float64)
        s.orbits = torch.stack(turned)  # (R, 1 + VIEWS, n, D)
        s.x = self.sees(s.orbits)
        self.shared.centres = self.sees(centres_of(c))
        D = s.x.shape[-1]
        (s.inner,) = stacked([network(config, D) for config in self.configs])  # B (R, M d, D)
        if self.trains:
            s.weights = [s.inner]
        else:  # what a network would do is predicted all the same
            s.weights = [s.R[:, None].repeat(1, 1 + VIEWS, 1, 1)]

    def sees(self, x: Tensor) -> Tensor:
        """What the network is given of points x (..., D)."""
        return x.norm(dim=-1, keepdim=True) if self.config.flow == "radius" else x

    def begin(self, s):
        """The state with g(w0, x) of the points and views, so that f is exactly R at w0, for points and views alike."""
        with torch.no_grad():
            return s.replace(frozen=self.output(s, s.inner))

    def output(self, s: State, inner: Tensor) -> Tensor:
        """g (R, 1 + VIEWS, n, d) of the points and views, VA eq. 18, with inner weights B (R, M d, D)."""
        c = self.config
        units = ACTIVATIONS[c.activation]()(affine(s.x.flatten(1, 2), inner))
        summed = units.unflatten(-1, (c.d, -1)).sum(-1)
        outputs = c.width**-0.5 * summed
        return outputs.unflatten(1, (-1, c.n))

    def embed(self, s: State) -> Tensor:
        """f (R, 1 + VIEWS, n, d)."""
        (trained,) = s.weights
        if not self.trains:
            return trained
        return self.output(s, trained) - s.frozen + s.R[:, None]

    def forward(self, s, drawn, t):
        z = self.embed(s)
        views = z[:, 1:]
        if self.config.gradient == "partial":
            views = views.detach()
        return z, simplified(z[:, 0], views, s.tau)

    def step(self, s, drawn, losses, t):
        if self.trains:
            return {"weights": sgd(s.weights, self.gradients(losses, s.weights), s.lr)}
        z = s.weights[0].detach()
        count = z.shape[1]
        views = z[:, None, 1:].expand(-1, count, -1, -1, -1)  # the same for all particles
        slope = partial_gradient(z, views, s.tau[..., None])  # each particle's own
        return {"weights": [z - s.lr[..., None] * slope]}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        """The step from t to t + 1, and what the theory predicts for it."""
        points = z[:, 0]
        copies = z[:, 1:]
        row = {"z": points, "copies": copies}
        row["spread"] = (copies - z[:, :1]).norm(dim=-1).flatten(1).amax(1)
        row["moved"] = (points - s.R).norm(dim=-1).amax(1)
        after = self.embed(self.later(s))
        row["finite"] = after.flatten(1).isfinite().all(1)
        if self.wants("measured"):
            row["measured"] = (after[:, 0] - points) / s.lr
        if self.wants(*PREDICTED):
            with torch.enable_grad():
                gradient = partial_gradient(points, copies, s.tau)
            found = [self.predicted(s, i, g) for i, g in enumerate(gradient)]
            for name in found[0]:
                row[name] = np.stack([one[name] for one in found])
        return {name: row[name] for name in row if name in self.record or name not in PREDICTED}

    def shown(self, s, recorded):
        """Sizes of the clusters, how far their means have moved (R, clusters), and that of the last one as a share."""
        names = torch.arange(self.config.clusters)
        members = (s.labels[..., None] == names).to(s.R)  # (R, n, clusters)
        sums = members.mT @ (recorded["z"] - s.R)
        sizes = members.sum(1)
        shift = (sums / sizes[..., None]).norm(dim=-1)
        others = shift[:, :-1].mean(-1).clamp(min=1e-300)
        return {
            "shift": shift,
            "behind": shift[:, -1] / others,
            "sizes": sizes,
            "cluster": names.expand(sizes.shape),
        }

    @torch.enable_grad()
    def later(self, s: State) -> State:
        """The state one iteration later."""
        _, losses = self.forward(s, None, 0)
        return s.replace(**self.step(s, None, losses, 0))

    def predicted(self, s: State, i: int, gradient: Tensor) -> dict[str, np.ndarray]:
        """Run i by Proposition 4.1 and Theorem 4.5: velocities (n, d) from its partial gradient (n, d); beta (N, d)."""
        c = self.config
        inner = s.weights[0][i] if self.trains else s.inner[i]
        by_kernel = -gradient
        if self.trains:
            K = kernels.one_hidden(inner, s.x[i, 0], c.activation, c.d, 1 / c.width)  # (n, n, d, d)
            by_kernel = -torch.einsum("ijkl,jl->ik", K, gradient) / c.n
        inner = inner.cpu()
        centres = self.shared.centres.cpu()
        labels = s.labels[i].cpu()
        gradient = gradient.cpu()

        members = one_hot(labels, c.clusters).to(gradient)  # (n, N)
        norms = centres.square().sum(1)
        share = members.mean(0)
        sizes = members.sum(0)
        mean = members.T @ gradient / sizes[:, None]  # (N, d)
        # (N, N, d, d), VA eq. 20
        between = kernels.one_hidden(inner, centres, c.activation, c.d, 1 / c.width)
        blocks = -torch.einsum("qrkl,r,rl->qk", between, share, mean)[labels]
        beta = (torch.einsum("qqkk->qk", between) / norms[:, None]).numpy()
        by_cluster = theory.cluster_velocity(share, norms, beta, mean.numpy())
        by_point = theory.cluster_velocity(
            share[labels], norms[labels], beta[labels], gradient.numpy()
        )
        return {
            "kernel": by_kernel.cpu().numpy(),
            "gain": beta,
            "mean": by_cluster[labels],
            "own": by_point,
            "blocks": blocks.numpy(),
        }

    def result(self, i, columns, head):
        inputs = self.inputs[i]
        share = np.bincount(inputs["labels"]) / self.config.n
        return Result(**head, **inputs, **columns, share=share)


PREDICTED = ("kernel", "mean", "own", "blocks", "gain")
run = TwoFlows.run
