"""When does contrastive training separate the clusters of its data? (LS Section 4, Theorem 4.3, Figures 3 to 5)

The embedding is f(w, x) = R + g(w, x) - g(w0, x), with g a network and R_i drawn uniformly from a ball of diameter eps,
shared by x_i and all its augmentations. So f starts invariant and inside the ball, as condition (a) asks, and its
kernel (LS eq. 8) is the kernel of g.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch

from clbook import augment, data, kernels
from clbook.losses import simplified
from clbook.metrics import intervals, separable
from clbook.models import ACTIVATIONS, MLP, member, mlp, stacked
from clbook.optim import Descent
from clbook.runs import Draws, Program, alone, several, stream, streams
from clbook.settings import Outcome, Settings, setting

DATA, START, WEIGHTS, VIEWS, RECORDED = range(5)  # purposes of the streams of random numbers

DRAWS = 16  # augmentations over which the recorded loss and the mean of condition (b) are taken
IMAGE_VIEWS = 64  # augmented copies of an image drawn before training; each step takes one of them


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default separates two clusters in about fifty iterations."""

    data: str = setting(
        "clusters", "the data set", choices=("clusters", "donut", *data.IMAGES), file=".npz"
    )
    classes: int = setting(2, "number of classes", low=2, high=10)
    n: int = setting(100, "number of points, all classes together", low=2, high=2000)
    d: int = setting(1, "embedding dimensions", low=1, high=16)
    eps: float = setting(
        0.1,
        "diameter of the ball from which the embedding starts",
        low=0.0,
        high=10.0,
        log=True,
        each=True,
    )
    tau: float = setting(0.1, "temperature", above=0.0, low=1e-4, high=10.0, log=True, each=True)
    lr_over_tau: float = setting(
        0.01, "learning rate divided by tau", above=0.0, high=10.0, log=True, each=True
    )
    steps: int = setting(5000, "most iterations", unit="iterations", low=1, high=100_000, log=True)
    activation: str = setting("tanh", "activation of the hidden layers", choices=tuple(ACTIVATIONS))
    hidden: tuple = setting((100,), "width of each hidden layer", low=1, high=2000)
    network: bool = setting(
        True, "train a network (LS eq. 11); False moves each point by itself (LS eq. 10)"
    )
    gradient: str = setting(
        "full",
        "of a network; full: back-propagate through both views; partial: through z alone, "
        "as in LS eq. 7. Without a network it is always partial (LS eq. 9)",
        choices=("full", "partial"),
    )
    augmentation: str = setting(
        "noise", "what makes a view", choices=("noise", "rotation", "image", "none")
    )
    spread: float = setting(0.1, "standard deviation of a cluster", low=0.0, high=2.0, each=True)
    noise: float = setting(
        0.1, "standard deviation of the noise augmentation", low=0.0, high=2.0, each=True
    )
    linger: float = setting(
        0.0,
        "end the run at this multiple of the time of separation; 0 runs all steps",
        low=0.0,
        high=100.0,
        each=True,
    )
    record_every: int = setting(
        0,
        "record every this many iterations; 0 records a geometric series of times",
        unit="iterations",
        low=0,
        high=10_000,
    )
    kernels: int = setting(0, "number of kernel matrices kept", low=0, high=50)
    seed: int = setting(
        0, "seed of data, start, weights and augmentations", low=0, high=2**31, each=True
    )

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self.lr_over_tau * self.tau

    @property
    def plane(self) -> bool:
        """Whether the data are drawn in the plane, and not read: images, or a file of the reader's."""
        return self.data in ("clusters", "donut")

    @property
    def files(self) -> tuple:
        """The files of the data that are read."""
        return data.image_files(self.data)

    def check(self):
        if self.n < self.classes:
            raise self.error("n", f"at least the number of classes, {self.classes}")
        if self.data == "donut" and self.classes != 2:
            raise self.error("classes", "2 for the donut: a disc and a ring")
        if self.augmentation == ("image" if self.plane else "rotation"):
            raise self.error(
                "augmentation",
                f"noise, {'rotation' if self.plane else 'image'} or none for {self.data}",
            )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps` (T,). Arrays of the kernel are NaN where there is no network.

    Attributes:
        steps: (T,) recorded iterations. x: (n, D) inputs. labels: (n,).
        z: (T, n, d) embeddings. loss: (T,) LS eq. 12 on the views of that iteration.
        separable_at: first iteration at which the classes are linearly separable (for d >= 2: first recorded one),
            or None.
        theta, sigma2: (T,) squared distance of the classes' mean gradients and spread around them, condition (c).
        alignment: (T,) centred alignment of K(t) with the label Gram matrix: 1 for perfect blocks.
        drift: (T,) operator norm of K(t) - K(0), condition (d).
        gamma: (T,) augmentation inconsistency, condition (b).
        kernel_steps: (m,) and kernel: (m, n, n) the kept kernel matrices (traces over d divided by d).
    """

    steps: np.ndarray
    x: np.ndarray
    labels: np.ndarray
    z: np.ndarray
    loss: np.ndarray
    separable_at: int | None
    theta: np.ndarray
    sigma2: np.ndarray
    alignment: np.ndarray
    drift: np.ndarray
    gamma: np.ndarray
    kernel_steps: np.ndarray
    kernel: np.ndarray


def dataset(config: Config):
    """x (n, D) and labels (n,) of a run, on the CPU. They depend on data, classes, n, spread and seed alone."""
    generator = stream(config.seed, DATA)
    if config.data == "clusters":
        return data.clusters(config.n, config.classes, config.spread, generator)
    if config.data == "donut":
        return data.donut(config.n, generator)
    return data.images(config.data, config.n, config.classes, generator)


def start(config: Config) -> torch.Tensor:
    """R (n, d): uniform in the d-dimensional ball of diameter eps."""
    return data.ball(config.n, config.d, config.eps, stream(config.seed, START))


class Flow(Program):
    """R runs of gradient descent on LS eq. 12: the weights of a network (LS eq. 11),
    or each point by itself (LS eq. 10).

    Without a network f stays invariant (LS Theorem 4.2): the views of a point are the point, whatever the augmentation.
    Each point then follows the partial gradient of its own loss: vanilla flow (LS eq. 9).
    """

    rate, Result, compiles = "lr_over_tau", Result, ("objective",)

    def setup(self):
        c, s = self.config, self.state
        x, labels = zip(*map(self.points, self.configs), strict=True)
        s.x, self.labels, self.inputs = torch.stack(x), labels[0], [points.numpy() for points in x]
        self.sizes = (
            self.labels.bincount().tolist()
        )  # of the classes, whose points lie side by side
        s.start, s.tau, s.lr = (
            torch.stack([start(k) for k in self.configs]),
            self.each("tau"),
            self.each("lr"),
        )
        s.linger, s.separable_at = self.each("linger", axes=0), torch.full((len(x),), -1)
        self.mixed, self.trained = True, [s.start]
        if c.network:
            widths = (self.lifted(s.x).shape[2], *c.hidden, c.d)
            nets = [MLP(widths, c.activation, stream(k.seed, WEIGHTS)) for k in self.configs]
            self.trained, self.net = stacked(nets), nets[0]
            s.frozen, s.noise = [w.clone() for w in self.trained], self.each("noise")
            s.shift = s.start - mlp(s.frozen, self.lifted(s.x), c.activation)
            self.draws, self.recorded = self.drawer(VIEWS, 1), self.drawer(RECORDED, DRAWS)

    def points(self, config):
        """x (n, D) and labels (n,) of a run."""
        return dataset(config)

    def lifted(self, x):
        """What the trained weights see of inputs (R, n, D): the inputs themselves."""
        return x

    def begin(self):
        # The loss is a mean over points; LS eq. 10, which moves each point by itself, has no 1/n.
        self.optimiser = Descent(
            self.trained, self.state.lr * (1 if self.config.network else self.config.n)
        )

    def drawer(self, purpose, count):
        """Draws of what `views` needs for `count` views of each point, or None."""
        c, s, pixels = self.config, self.state, self.state.x.shape[1:]
        if c.augmentation == "noise":
            return Draws(
                streams(self.configs, purpose),
                lambda g: torch.stack([torch.randn(pixels, generator=g) for _ in range(count)]),
            )
        if c.augmentation == "rotation":
            return Draws(
                streams(self.configs, purpose),
                lambda g: torch.stack([torch.rand(c.n, generator=g) for _ in range(count)]),
            )
        if c.augmentation == "image":
            generators = [stream(k.seed, purpose) for k in self.configs]
            try:
                bank = [
                    torch.stack([augment.images(x, g) for _ in range(IMAGE_VIEWS)])
                    for x, g in zip(s.x, generators, strict=True)
                ]
            except ValueError as error:
                raise c.error(
                    "augmentation", f"noise or none for the data {c.data!r}: {error}"
                ) from error
            setattr(s, f"bank_{purpose}", torch.stack(bank))
            return Draws(generators, lambda g: torch.randint(IMAGE_VIEWS, (count,), generator=g))

    def views(self, draws, purpose):
        """(R, m, n, D) freshly augmented copies of the points."""
        s, kind = self.state, self.config.augmentation
        if kind == "none":
            return s.x[:, None]
        drawn = draws.next()
        if kind == "noise":
            return s.x[:, None] + s.noise[..., None] * drawn
        if kind == "rotation":
            return augment.turn(s.x[:, None], 2 * math.pi * drawn)
        return getattr(s, f"bank_{purpose}")[
            torch.arange(len(drawn), device=drawn.device)[:, None], drawn
        ]

    def embed(self, views):
        """f(x) (R, n, d) and f of views (R, m, n, D), (R, m, n, d), each in one pass through the networks."""
        c, s, n = self.config, self.state, self.config.n
        both = self.lifted(torch.cat([s.x, views.flatten(1, 2)], 1))
        out, flat = mlp(self.trained, both, c.activation), both[:, n:]
        moved = (out[:, n:] - mlp(s.frozen, flat, c.activation)).unflatten(1, (-1, n))
        return out[:, :n] + s.shift, moved + s.start[:, None]

    def objective(self, views):
        """(R,) LS eq. 12 and the embedding (R, n, d)."""
        z, v = self.embed(views)
        v = v if self.config.gradient == "full" else v.detach()
        return simplified.formula(z, v, self.state.tau), z

    def now(self, t):
        if self.config.network:
            self.losses, z = self.objective(self.views(self.draws, VIEWS))
            return z if t else self.state.start  # the same up to rounding
        (z,) = self.trained
        self.losses = simplified.formula(z, z.detach()[:, None], self.state.tau)
        return z

    def advance(self, t):
        self.descend(self.losses)

    def watch(self, z, t):
        if self.config.d == 1 and self.mixed:
            s = self.state
            first = intervals(z.detach()[..., 0], self.sizes) & (s.separable_at < 0)
            s.separable_at = torch.where(first, t, s.separable_at)

    def over(self, t):
        s = self.state
        return (
            (s.linger > 0) & (s.separable_at >= 0) & (t >= s.linger * s.separable_at.clamp(min=1))
        )

    @torch.no_grad()
    def measure(self, z, t):
        """The loss and the quantities of conditions (b), (c) and (d), measured now."""
        c, s = self.config, self.state
        if c.d > 1:
            for i in torch.nonzero(s.separable_at < 0)[:, 0].tolist():
                s.separable_at[i] = (
                    t if z[i].isfinite().all() and separable(z[i], self.labels) else -1
                )
        row = {"z": z, "separable_at": s.separable_at}
        self.mixed = bool((s.separable_at < 0).any())  # else there is nothing left to watch for
        if not c.network:
            nothing = torch.full((len(z),), math.nan)
            row |= dict.fromkeys(("theta", "sigma2", "alignment", "drift", "gamma"), nothing)
            return row | {"loss": self.losses}
        _, views = self.embed(self.views(self.recorded, RECORDED))
        means = torch.stack([z[:, self.labels == k].mean(1) for k in range(c.classes)], 1)
        row["gamma"] = (views.mean(1) - means[:, self.labels]).norm(dim=-1).amax(1)
        row["loss"] = simplified.formula(z, views, s.tau)
        return row | self.kernels(t)

    def kernels(self, t):
        """What the kernel K(t) of each run says; "finite" is False where the weights have overflowed."""
        c, s, rows = self.config, self.state, []
        found = [
            kernels.empirical(member(self.net, self.trained, i), x)  # (n, n, d, d) each
            for i, x in enumerate(self.lifted(s.x))
        ]
        matrices = torch.stack([K.transpose(1, 2).reshape(2 * (c.n * c.d,)) for K in found])
        if t == 0:
            s.first_matrix = matrices
        finite = matrices.flatten(1).isfinite().all(1)
        for K, matrix, first, fine in zip(
            found, matrices, s.first_matrix, finite.tolist(), strict=True
        ):
            if not fine:
                rows.append((math.nan,) * 4)
                continue
            theta, sigma2 = kernels.gradient_structure(K, self.labels)
            # In float64: LAPACK can give NaN in float32 while only a few entries have moved, by a rounding step each.
            drift = torch.linalg.eigvalsh((matrix - first).double()).abs().max()
            rows.append(
                (
                    float(theta),
                    float(sigma2),
                    float(kernels.alignment(K, self.labels)),
                    float(drift),
                )
            )
        out = dict(
            zip(("theta", "sigma2", "alignment", "drift"), np.array(rows).T, strict=True)
        ) | {"finite": finite}
        if c.kernels:
            out["kernel"] = torch.stack([K.diagonal(dim1=2, dim2=3).mean(-1) for K in found])
        return out

    def result(self, i, columns, head):
        c, kept = head["config"], columns.pop("kernel", np.zeros((0, self.config.n, self.config.n)))
        keep = np.unique(
            np.linspace(0, max(len(kept) - 1, 0), min(c.kernels, len(kept))).round().astype(int)
        )
        at = int(columns.pop("separable_at")[-1])
        return Result(
            **head,
            **columns,
            x=self.inputs[i],
            labels=self.labels.cpu().numpy(),
            separable_at=None if at < 0 else at,
            kernel_steps=columns["steps"][keep],
            kernel=kept[keep],
        )


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train from the eps-ball, with or without a network, and watch for separation.

    Args:
        config: the settings.
        progress: `progress(fraction, partial_result)`, about ten times a second; returning False stops the run, which
            then returns what it has, with `stopped` set.
        device: a torch device; None takes CUDA when there is one.

    Raises:
        ValueError: the run diverged; the message names lr_over_tau, its value and its range.
    """
    return alone(Flow, config, progress, device)


run.program = Flow
PAIR = {"network": {"network": True}, "vanilla": {"network": False}}


def run_pair(config: Config, *, progress=None, device=None):
    """`run` with and without the network, otherwise with equal settings (LS eq. 11 beside eq. 10): a `runs.Several`."""
    return several(run, config, PAIR, progress=progress, device=device)


run_pair.variants = run, PAIR
