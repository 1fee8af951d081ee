"""The projector on real images: what it loses, what norm and temperatures change, and DirectCLR (CS Sec. 4.2, App. E).

A network h = f(x), a projector p, and InfoNCE on two augmented views of each image. SimCLR's loss sees p(h).
DirectCLR's sees the first few dimensions of r = h + p(h), a residual block, and r is what a readout gets.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from clbook import augment, data
from clbook.losses import symbol_context
from clbook.metrics import linear_probe, spectral_rank, spectrum
from clbook.models import MLP, mlp, stacked
from clbook.training.loop import State, Training, recorded_times
from clbook.training.optim import adam, adam_memory
from clbook.training.settings import (
    Outcome,
    Settings,
    iterations,
    quantity,
    recorded,
    seed_of,
    setting,
)
from clbook.training.streams import Draws, stream, streams

# Purposes of the streams of random numbers.
IMAGES, WEIGHTS, COPIES, BATCHES, VIEWS, NOISE = range(6)

DRAWN_AT_ONCE = 2**23  # random numbers of one seed that a block of steps may hold: 32 MB
BANK = 12  # augmented copies of the images, made once; a step draws two for each image and adds fresh noise
LAYERS = 6  # tensors of f: weights and biases of three layers
PLACES = {"simclr": ("h", "z"), "directclr": ("h", "r", "z")}


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default is "regular" of CS Table 2, on scikit-learn's digits."""

    method: str = setting(
        "simclr",
        "what the loss sees: all of p(h), or the first dimensions of h + p(h)",
        choices=tuple(PLACES),
    )
    normalize: bool = setting(
        True, "divide embeddings by their l2 norm; False standardises each dimension instead"
    )
    tau: float = setting(1.0, "temperature", low=1e-2, high=10.0, log=True, each=True)
    tau_ratio: float = setting(
        1.0,
        "temperature of the second half of z, over tau",
        low=0.01,
        high=100.0,
        log=True,
        each=True,
    )
    direct: int = setting(12, "dimensions that DirectCLR trains", low=1, high=512)
    d: int = setting(64, "dimensions of h and of p(h)", low=2, high=512)
    width: int = setting(128, "units of each of the two hidden layers of f", low=1, high=2000)
    data: str = setting(
        "digits", "images; colour ones are turned to grey", choices=tuple(data.IMAGES)
    )
    n: int = setting(1200, "images to train on", low=20, high=50_000)
    n_test: int = setting(540, "images for the readout", low=20, high=10_000)
    noise: float = setting(
        0.1,
        "sd of the noise that a view adds, beside turning, resizing, blur",
        low=0.0,
        high=2.0,
        each=True,
    )
    batch: int = setting(128, "images in a batch", low=2, high=5000)
    lr: float = setting(2e-3, "step size of AdamW", above=0.0, high=1.0, log=True)
    decay: float = setting(
        1e-2,
        "AdamW's weight decay: a step multiplies weights by 1 - lr decay",
        low=0.0,
        high=100.0,
        each=True,
    )
    steps: int = iterations(400)
    record_every: int = setting(
        0, "record every so many; 0: start and end", unit="iterations", low=0, high=100_000
    )
    seed: int = seed_of("images, weights, batches and views")

    def check(self):
        if self.direct > self.d:
            raise self.error("direct", f"at most d = {self.d}")
        if self.batch > self.n:
            raise self.error("batch", f"at most n = {self.n}")

    @property
    def files(self) -> tuple:
        """The files of the images that are read."""
        return data.image_files(self.data)


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded. `places` are where the network is read."""

    steps: np.ndarray = recorded()
    places: tuple = quantity(
        "h: before the projector; z: as the loss sees it; for DirectCLR r between them",
    )
    loss: np.ndarray = quantity("the loss of that iteration's batch", dims="step")
    rows: np.ndarray = quantity(
        "mean absolute weight that each dimension gets in the projector's last layer",
        dims="step dim",
    )
    spectrum: np.ndarray = quantity(
        "eigenvalues of the test images' covariance, descending, divided by the first; NaN beyond z",
        dims="step place eigenvalue",
        on_request=True,
    )
    readout: np.ndarray = quantity(
        "test accuracy of a linear probe fitted to the training images, without augmentation",
        dims="step place",
        on_request=True,
    )

    @property
    def rank(self) -> np.ndarray:
        """(T, places) effective rank, as `metrics.effective_rank`: exp of the entropy of the shares of the sizes."""
        return spectral_rank(np.nan_to_num(self.spectrum))


Images = tuple[Tensor, Tensor]  # grey images (n, pixels) in [0, 1], and their labels (n,)


def dataset(config: Config) -> tuple[Images, Images]:
    """The images of a run, on the CPU: those to train on, and those to test.

    Raises:
        ValueError: images that are not to be had; the message names what to set.
    """
    return split(config.data, config.n, config.n_test, config.seed)


def split(name: str, n: int, n_test: int, seed: int) -> tuple[Images, Images]:
    """n images of a data set to train on and n_test others, by the seed."""
    generator = stream(seed, IMAGES)
    x, labels = data.images(name, n + n_test, 10, generator)
    if name == "cifar10":
        x = x.unflatten(1, (3, -1)).mean(1)  # to grey
    order = torch.randperm(len(x), generator=generator)
    first, rest = order[:n], order[n:]
    return (x[first], labels[first]), (x[rest], labels[rest])


@functools.lru_cache(maxsize=4)
def material(name: str, n: int, n_test: int, seed: int, files: tuple):
    """The images of `split`, and a bank (BANK, n, pixels) of augmented copies of those to train on.

    Made once for all runs that agree in the arguments; `files` are there so that changed files are read again.
    """
    train, test = split(name, n, n_test, seed)
    x, _ = train
    generator = stream(seed, COPIES)
    return train, test, torch.stack([augment.images(x, generator) for _ in range(BANK)])


def places(config: Config, weights: Sequence[Tensor], x: Tensor) -> dict[str, Tensor]:
    """What R networks make of images, at each place where they are read.

    Args:
        config: says which method, and how z is normalised.
        weights: of f, then of p, each a list of tensors (R, ...).
        x: (R, n, pixels).

    Returns:
        {place: (R, n, d)}; z is as the loss sees it, with rows whose squared lengths have mean 1.
    """
    h = mlp(weights[:LAYERS], x, "relu")
    p = mlp(weights[LAYERS:], h, "relu")
    found = {"h": h}
    if config.method == "directclr":
        found["r"] = h + p
        z = found["r"][..., : config.direct]
    else:
        z = p
    if config.normalize:
        found["z"] = normalize(z, dim=-1)
    else:
        found["z"] = standardised(z) / z.shape[-1] ** 0.5
    return found


def standardised(z: Tensor) -> Tensor:
    """z (..., n, d) with every dimension of mean 0 and variance 1 over the n (CS Sec. 4.2)."""
    centred = z - z.mean(-2, keepdim=True)
    sd = z.std(-2, correction=0, keepdim=True)
    return centred / (sd + 1e-6)


class Projectors(Training):
    """R runs of AdamW on networks f and projectors p, side by side.

    The loss is CS eq. 1 both ways: similarity sum_k z_k z'_k / tau_k, and the other images' partner views as negatives.
    """

    Result = Result
    compiles = ("objective",)

    def setup(self):
        c = self.config
        s = self.state
        self.times = set(recorded_times(c.steps, c.record_every or c.steps))
        self.read_images()
        s.weights = self.first_weights()
        s.noise = self.column("noise")
        s.decay = self.column("decay")
        s.tau = self.temperatures()
        self.draw_views()

    def read_images(self):
        """The images, and a bank of augmented copies, of each seed: runs of one seed share theirs."""
        c = self.config
        shared = self.shared
        of_runs = [config.seed for config in self.configs]
        seeds = sorted(set(of_runs))
        # A file that is missing is told of by those who read it.
        present = [path for path in c.files if path.exists()]
        files = tuple((str(path), path.stat().st_mtime_ns) for path in present)
        made = [material(c.data, c.n, c.n_test, seed, files) for seed in seeds]
        shared.train, shared.test, banks = zip(*made, strict=True)
        shared.banks = torch.stack(banks)  # (seeds, BANK, n, pixels)
        self.state.own = torch.tensor([seeds.index(seed) for seed in of_runs])

    def first_weights(self) -> list[Tensor]:
        """Tensors (R, ...) of f, then of the projector; a run's two networks take their start from one stream."""
        c = self.config
        widths_of_f = (self.shared.banks.shape[-1], c.width, c.width, c.d)
        widths_of_p = (c.d, c.width, c.d)
        encoders = []
        projectors = []
        for config in self.configs:
            generator = stream(config.seed, WEIGHTS)
            encoders.append(MLP(widths_of_f, "relu", generator))
            projectors.append(MLP(widths_of_p, "relu", generator))
        return stacked(encoders) + stacked(projectors)

    def temperatures(self) -> Tensor:
        """(R, 1, k) the temperature of each dimension of z."""
        c = self.config
        k = c.direct if c.method == "directclr" else c.d
        rows = [temperatures(config.tau, config.tau_ratio, k) for config in self.configs]
        return torch.stack(rows)[:, None]

    # Views.

    def draw_views(self):
        """What a step draws: its images, which two copies of each it takes, and the noise on them."""
        c = self.config
        configs = self.configs
        pixels = self.shared.banks.shape[-1]
        count = 2 * c.batch  # views of a step
        largest = max(count * pixels, c.n)  # numbers of one step
        block = DRAWN_AT_ONCE // largest

        def batch(generator):
            return torch.randperm(c.n, generator=generator)[: c.batch]

        def copies(generator):
            ranks = torch.rand(BANK, c.batch, generator=generator).argsort(0)
            return ranks[:2].flatten()  # two different copies of each image

        def noise(generator):
            return torch.randn(count, pixels, generator=generator)

        self.draws["batch"] = Draws(streams(configs, BATCHES), batch, block)
        self.draws["copies"] = Draws(streams(configs, VIEWS), copies, block)
        self.draws["noise"] = Draws(streams(configs, NOISE), noise, block)

    def views(self, s: State, drawn) -> Tensor:
        """(R, 2 batch, pixels): one view of each image of a batch, then a second one of each."""
        copies = self.shared.banks[s.own[:, None], drawn.copies, drawn.batch.repeat(1, 2)]
        return copies + s.noise * drawn.noise

    # Training.

    def objective(self, s: State, views: Tensor) -> Tensor:
        """(R,) the loss on views as from `views`."""
        u, v = places(self.config, s.weights, views)["z"].chunk(2, 1)
        first_view = symbol_context(u / s.tau, v)  # anchors are the first views, then the second
        second_view = symbol_context(v / s.tau, u)
        return (first_view + second_view) / 2

    def begin(self, s):
        return s.replace(memory=adam_memory(s.weights))

    def forward(self, s, drawn, t):
        losses = self.objective(s, self.views(s, drawn))
        return losses[:, None], losses

    def step(self, s, drawn, losses, t):
        gradients = self.gradients(losses, s.weights)
        weights, memory = adam(s.weights, gradients, s.memory, self.config.lr, s.decay, "decoupled")
        return {"weights": weights, "memory": memory}

    # What is recorded.

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        last = s.weights[-2]  # (R, d, width): the projector's last layer
        row = {"loss": losses, "rows": last.abs().mean(2)}
        if self.record:
            row |= self.readings(s)
        return row

    def readings(self, s: State) -> dict:
        """Spectra and readouts, as far as asked for; "finite" is False where the network has overflowed."""
        c = self.config
        runs = len(s.own)
        count = len(PLACES[c.method])
        spectra = np.full((runs, count, c.d), np.nan)
        readouts = np.full((runs, count), np.nan)
        fine = np.zeros(runs, bool)
        for i, own in enumerate(s.own.tolist()):
            x, y = self.shared.train[own]
            x_test, y_test = self.shared.test[own]
            train = self.features(s, i, x)
            test = self.features(s, i, x_test)
            fine[i] = finite(train) and finite(test)
            if not fine[i]:
                continue  # its numbers are read by nobody
            if self.wants("spectrum"):
                spectra[i] = [shares(z, c.d) for z in test.values()]
            if self.wants("readout"):
                readouts[i] = [linear_probe(train[k], y, test[k], y_test) for k in test]
        row = {"finite": fine}
        if self.wants("spectrum"):
            row["spectrum"] = spectra
        if self.wants("readout"):
            row["readout"] = readouts
        return row

    def features(self, s: State, i: int, x: Tensor) -> dict[str, Tensor]:
        """{place: (n, d)} what run i makes of images x (n, pixels)."""
        seen = places(self.config, [w[i : i + 1] for w in s.weights], x[None])
        return {place: z[0] for place, z in seen.items()}

    def result(self, i, columns, head):
        return self.Result(**head, **columns, places=PLACES[self.config.method])


def shares(z: Tensor, d: int) -> np.ndarray:
    """(d,) the spectrum of z (n, k) over its largest value; NaN beyond it, and where z does not vary at all."""
    found = np.full(d, np.nan)
    sizes = spectrum(z)
    if sizes[0] > 0:
        found[: len(sizes)] = sizes / sizes[0]
    return found


def finite(features: dict[str, Tensor]) -> bool:
    """Whether all of them are finite."""
    return all(bool(z.isfinite().all()) for z in features.values())


def temperatures(tau: float, ratio: float, d: int) -> Tensor:
    """(d,) the temperature of each dimension: tau for the first half, ratio tau for the second (CS Sec. 4.2)."""
    half = d // 2
    first = [tau] * half
    second = [ratio * tau] * (d - half)
    return torch.tensor(first + second)


run = Projectors.run
