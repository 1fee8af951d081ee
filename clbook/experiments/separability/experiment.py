"""When does contrastive training separate the clusters of its data? (LS Section 4, Theorem 4.3, Figures 3 to 5)

The embedding is f(w, x) = R + g(w, x) - g(w0, x), with g a network and R_i drawn uniformly from a ball of diameter eps,
shared by x_i and all its augmentations. So f starts invariant and inside the ball, as condition (a) asks, and its kernel
(LS eq. 8) is the kernel of g.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import time

import numpy as np
import torch

from clbook import augment, data, kernels
from clbook.losses import simplified
from clbook.metrics import separable
from clbook.models import ACTIVATIONS, MLP
from clbook.runs import Diverged, default_device, iterate, recorded_times
from clbook.settings import Outcome, Settings, setting

DRAWS = 16  # augmentations over which the recorded loss and the mean of condition (b) are taken
IMAGE_VIEWS = 64  # augmented copies of an image drawn before training; each step takes one of them


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default separates two clusters in about fifty iterations."""

    data: str = setting("clusters", "the data set", choices=("clusters", "donut", "digits"))
    classes: int = setting(2, "number of classes", low=2, high=10)
    n: int = setting(100, "number of points, all classes together", low=2, high=2000)
    d: int = setting(1, "embedding dimensions", low=1, high=16)
    eps: float = setting(0.1, "diameter of the ball from which the embedding starts", low=0.0, high=10.0, log=True)
    tau: float = setting(0.1, "temperature", above=0.0, low=1e-4, high=10.0, log=True)
    lr_over_tau: float = setting(0.01, "learning rate divided by tau", above=0.0, high=10.0, log=True)
    steps: int = setting(5000, "most iterations", unit="iterations", low=1, high=100_000, log=True)
    activation: str = setting("tanh", "activation of the hidden layers", choices=tuple(ACTIVATIONS))
    hidden: tuple = setting((100,), "width of each hidden layer", low=1, high=2000)
    network: bool = setting(True, "train a network (LS eq. 11); False moves each point by itself (LS eq. 10)")
    gradient: str = setting("full", "full: back-propagate through both views; partial: through z alone, as in LS eq. 7",
                            choices=("full", "partial"))
    augmentation: str = setting("noise", "what makes a view", choices=("noise", "rotation", "image", "none"))
    spread: float = setting(0.1, "standard deviation of a cluster", low=0.0, high=2.0)
    noise: float = setting(0.1, "standard deviation of the noise augmentation", low=0.0, high=2.0)
    linger: float = setting(0.0, "end the run at this multiple of the time of separation; 0 runs all steps", low=0.0,
                            high=100.0)
    record_every: int = setting(0, "record every this many iterations; 0 records a geometric series of times",
                                unit="iterations", low=0, high=10_000)
    kernels: int = setting(0, "number of kernel matrices kept", low=0, high=50)
    seed: int = setting(0, "seed of data, start, weights and augmentations", low=0, high=2**31)

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self.lr_over_tau * self.tau

    def check(self):
        if self.n < self.classes:
            raise self.error("n", f"at least the number of classes, {self.classes}")
        if self.data == "donut" and self.classes != 2:
            raise self.error("classes", "2 for the donut: a disc and a ring")
        if self.augmentation == "rotation" and self.data == "digits":
            raise self.error("augmentation", "noise, image or none for the digits")
        if self.augmentation == "image" and self.data != "digits":
            raise self.error("augmentation", "noise, rotation or none for points in the plane")


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
    generator = torch.Generator().manual_seed(config.seed)
    if config.data == "clusters":
        return data.clusters(config.n, config.classes, config.spread, generator)
    if config.data == "donut":
        return data.donut(config.n, generator)
    return data.images("digits", config.n, config.classes, generator)


def start(config: Config) -> torch.Tensor:
    """R (n, d): uniform in the d-dimensional ball of diameter eps."""
    generator = torch.Generator().manual_seed(config.seed + 1)
    direction = torch.nn.functional.normalize(torch.randn(config.n, config.d, generator=generator), dim=1)
    radius = config.eps / 2 * torch.rand(config.n, 1, generator=generator) ** (1 / config.d)
    return radius * direction


def view_maker(config: Config, x: torch.Tensor, seed: int):
    """A function that returns a freshly augmented copy of x (n, D) each time it is called."""
    generator = torch.Generator(x.device).manual_seed(seed)
    if config.augmentation == "noise":
        return lambda: augment.noise(x, config.noise, generator)
    if config.augmentation == "rotation":
        return lambda: augment.rotation(x, generator)
    if config.augmentation == "image":
        bank = [augment.images(x, generator) for _ in range(IMAGE_VIEWS)]
        return lambda: bank[int(torch.randint(IMAGE_VIEWS, (1,), generator=generator, device=x.device))]
    return lambda: x


class Embedding:
    """f(w, x) = R + g(w, x) - g(w0, x) on the n points of a run, and on views of them; R is drawn by `start` unless given."""

    def __init__(self, config: Config, x: torch.Tensor, R: torch.Tensor | None = None):
        generator = torch.Generator().manual_seed(config.seed + 2)
        widths = (x.shape[1], *config.hidden, config.d)
        self.net = MLP(widths, config.activation, generator).to(x)
        self.frozen = copy.deepcopy(self.net).requires_grad_(False)
        self.parameters = list(self.net.parameters())
        self.x, self.start = x, (start(config) if R is None else R).to(x)
        self.shift = self.start - self.frozen(x)

    def points(self):
        """f(x), (n, d)."""
        return self.net(self.x) + self.shift

    def pair(self, views):
        """f(x) and f(views), both (n, d), in one pass through the network."""
        out, n = self.net(torch.cat([self.x, views])), len(self.x)
        return out[:n] + self.shift, out[n:] + self.start - self.frozen(views)

    def views(self, view, draws):
        """f(T(x)) for `draws` augmentations T, (draws, n, d)."""
        with torch.no_grad():
            return torch.stack([self.pair(view())[1] for _ in range(draws)])


def network_flow(config: Config, embedding: Embedding, view):
    """(z0, step) for `iterate`: a step is one of gradient descent on the weights (LS eq. 11) with one view a point."""

    def step(z, t):
        z, v = embedding.pair(view())
        loss = simplified(z, (v if config.gradient == "full" else v.detach())[None], config.tau)
        gradients = torch.autograd.grad(loss, embedding.parameters)
        with torch.no_grad():
            torch._foreach_add_(embedding.parameters, gradients, alpha=-config.lr)
            return embedding.points()

    return embedding.start, step


def vanilla_flow(config: Config, z0: torch.Tensor):
    """(z0, step) for `iterate`: z_i <- z_i - lr grad L(z_i) (LS eq. 10), no network.

    f stays invariant (LS Theorem 4.2), so the views of a point are the point, whatever the augmentation.
    """

    def step(z, t):
        z = z.detach().requires_grad_()
        views = z if config.gradient == "full" else z.detach()
        (gradient,) = torch.autograd.grad(simplified(z, views[None], config.tau), z)
        return (z - config.lr * config.n * gradient).detach()  # `simplified` is a mean over points; eq. 10 has no 1/n

    return z0, step


class Recorder:
    """Collects a run's arrays; called by `iterate` at every step."""

    def __init__(self, config, x, labels, embedding, view):
        self.config, self.x, self.labels, self.embedding, self.view = config, x, labels, embedding, view
        self.times = set(recorded_times(config.steps, config.record_every))
        self.rows, self.kept, self.separable_at, self.first_matrix = [], [], None, None
        one_hot = torch.nn.functional.one_hot(labels).to(x)
        self.average = one_hot / one_hot.sum(0) @ one_hot.T  # (n, n): replaces each point by the mean of its class
        self.began = time.monotonic()

    def __call__(self, z, t):
        """Record step `t` where it is due; False ends the run, once it has lingered after separating."""
        config = self.config
        due = t in self.times
        if self.separable_at is None and (config.d == 1 or due) and separable(z, self.labels):
            self.separable_at = t
        over = bool(config.linger) and self.separable_at is not None and t >= config.linger * max(self.separable_at, 1)
        if due or over:
            self.rows.append({"steps": t, "z": z.cpu().numpy().copy(), **self.diagnostics(z, t)})
        return not over

    def diagnostics(self, z, t):
        """The loss and the quantities of conditions (b), (c) and (d), measured now."""
        tau = self.config.tau
        if self.embedding is None:
            return dict.fromkeys(("theta", "sigma2", "alignment", "drift", "gamma"), math.nan) | {
                "loss": float(simplified(z, z[None], tau))}
        views = self.embedding.views(self.view, DRAWS)
        class_means = self.average @ z
        kernel = kernels.empirical(self.embedding.net, self.x)  # (n, n, d, d)
        if not kernel.isfinite().all():  # the weights can overflow before the embedding does
            raise Diverged(t)
        matrix = kernel.transpose(1, 2).reshape(2 * (z.numel(),))
        if not self.rows:
            self.first_matrix = matrix
        if self.config.kernels:
            self.kept.append(kernel.diagonal(dim1=2, dim2=3).mean(-1).cpu().numpy())
        theta, sigma2 = kernels.gradient_structure(kernel, self.labels)
        return {"loss": float(simplified(z, views, tau)), "theta": float(theta), "sigma2": float(sigma2),
                "alignment": float(kernels.alignment(kernel, self.labels)),
                "drift": float(torch.linalg.eigvalsh(matrix - self.first_matrix).abs().max()),
                "gamma": float((views.mean(0) - class_means).norm(dim=1).max())}

    def collected(self, stopped):
        """(columns, common): the recorded rows as arrays, and what the results of all experiments have beside them."""
        columns = {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}
        return columns, {
            "config": self.config, "seconds": time.monotonic() - self.began, "device": str(self.x.device), "stopped": stopped,
            "x": self.x.cpu().numpy(), "labels": self.labels.cpu().numpy(), "separable_at": self.separable_at}

    def result(self, stopped) -> Result:
        columns, common = self.collected(stopped)
        count = min(self.config.kernels, len(self.kept))
        keep = np.unique(np.linspace(0, len(self.kept) - 1, count).round().astype(int)) if count else []
        n = self.config.n
        return Result(
            kernel_steps=columns["steps"][keep] if count else np.zeros(0, int),
            kernel=np.stack([self.kept[i] for i in keep]) if count else np.zeros((0, n, n)), **columns, **common)


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
    device = default_device(device)
    x, labels = (array.to(device) for array in dataset(config))
    embedding = Embedding(config, x) if config.network else None
    recorder = Recorder(config, x, labels, embedding, view_maker(config, x, config.seed + 4))
    flow = (network_flow(config, embedding, view_maker(config, x, config.seed + 3)) if config.network
            else vanilla_flow(config, start(config).to(device)))
    return follow(flow, recorder, progress, "lr_over_tau")


def follow(flow, recorder, progress, rate):
    """The recorder's result after iterating `flow` (start, step); ValueError names the field `rate` where it diverges."""
    config = recorder.config
    report = None if progress is None else lambda fraction: progress(fraction, recorder.result(stopped=True))
    try:
        _, _, stopped = iterate(flow[1], flow[0], config.steps, recorder, report)
    except Diverged as error:
        raise config.diverged(rate, error.step) from error
    return recorder.result(stopped)


@dataclasses.dataclass
class Pair(Outcome):
    """The run through the network and the vanilla run from the same start, at the same recorded times `steps` (T,)."""

    steps: np.ndarray
    network: Result
    vanilla: Result


def run_pair(config: Config, *, run=run, progress=None, device=None) -> Pair:
    """`run` with and without the network, otherwise with equal settings (LS eq. 11 beside eq. 10)."""
    def pair(network, vanilla):
        count = min(len(network.steps), len(vanilla.steps))
        return Pair(config, network.seconds + vanilla.seconds, network.device, network.stopped or vanilla.stopped,
                    network.steps[:count], network, vanilla)

    def half(offset, other):
        return progress and (lambda fraction, partial: progress(offset + fraction / 2, pair(other or partial, partial)))

    network = run(config.replace(network=True), progress=half(0.0, None), device=device)
    if network.stopped:
        return pair(network, network)
    vanilla = run(config.replace(network=False), progress=half(0.5, network), device=device)
    return pair(network, vanilla)
