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
from scipy.special import entr
from torch.nn.functional import normalize

from clbook import augment, data
from clbook.losses import symbol_context
from clbook.metrics import linear_probe, spectrum
from clbook.models import MLP, mlp, stacked
from clbook.optim import Adam
from clbook.runs import BLOCK, Draws, Program, alone, recorded_times, stream, streams
from clbook.settings import Outcome, Settings, setting

IMAGES, WEIGHTS, COPIES, BATCHES, VIEWS, NOISE = range(
    6
)  # purposes of the streams of random numbers

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
    steps: int = setting(400, "iterations", unit="iterations", low=1, high=100_000, log=True)
    record_every: int = setting(
        0, "record every so many; 0: start and end", unit="iterations", low=0, high=100_000
    )
    seed: int = setting(
        0, "seed of images, weights, batches and views", low=0, high=2**31, each=True
    )

    def check(self):
        for name, other in (("direct", "d"), ("batch", "n")):
            if getattr(self, name) > getattr(self, other):
                raise self.error(name, f"at most {other} = {getattr(self, other)}")

    @property
    def files(self) -> tuple:
        folder = data.data_folder()
        found = folder.rglob("*") if self.data != "digits" else ()
        return tuple(
            sorted(
                p for p in found if self.data in str(p.relative_to(folder)).lower() and p.is_file()
            )
        )


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps` (T,).

    Attributes:
        steps: (T,). loss: (T,) of that iteration's batch.
        places: where the network is read: h before the projector, z as the loss sees it, for DirectCLR also r.
        spectrum: (T, places, d) eigenvalues of the test images' covariance, descending, divided by the first; NaN
            beyond z.
        readout: (T, places) test accuracy of a linear probe fitted to the training images, without augmentation.
        rows: (T, d) mean absolute weight that each dimension gets in the projector's last layer.
    """

    steps: np.ndarray
    loss: np.ndarray
    places: tuple
    spectrum: np.ndarray
    readout: np.ndarray
    rows: np.ndarray

    @property
    def rank(self) -> np.ndarray:
        """(T, places) effective rank of each, as `metrics.effective_rank`."""
        size = np.sqrt(np.nan_to_num(self.spectrum))
        return np.exp(entr(size / size.sum(-1, keepdims=True)).sum(-1))


def dataset(config: Config) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The images of a run, on the CPU.

    Returns: (x, labels) to train on and (x, labels) to test: x (n, pixels) grey, in [0, 1].
    Raises ValueError: images that are not to be had; it names what to set.
    """
    return _split(config.data, config.n, config.n_test, config.seed)


def _split(name, n, n_test, seed):
    generator = stream(seed, IMAGES)
    x, labels = data.images(name, n + n_test, 10, generator)
    if name == "cifar10":
        x = x.unflatten(1, (3, -1)).mean(1)
    order = torch.randperm(len(x), generator=generator)
    return [(x[part], labels[part]) for part in (order[:n], order[n:])]


@functools.lru_cache(maxsize=4)
def _material(name, n, n_test, seed, files):
    """The images, and a bank of augmented copies (BANK, n, pixels), of all runs that agree in these: made once."""
    splits, generator = _split(name, n, n_test, seed), stream(seed, COPIES)
    return splits, torch.stack([augment.images(splits[0][0], generator) for _ in range(BANK)])


def places(
    config: Config, weights: Sequence[torch.Tensor], x: torch.Tensor
) -> dict[str, torch.Tensor]:
    """What R networks give for x (R, n, pixels): weights of f, then of p, each a list of tensors (R, ...).

    Returns: {place: (R, n, d)}; z as the loss sees it, with rows of length 1, on average if not each.
    """
    h = mlp(weights[:LAYERS], x, "relu")
    found, z = {"h": h}, mlp(weights[LAYERS:], h, "relu")
    if config.method == "directclr":
        found["r"] = h + z
        z = found["r"][..., : config.direct]
    return found | {
        "z": normalize(z, dim=-1) if config.normalize else standardised(z) / z.shape[-1] ** 0.5
    }


def standardised(z: torch.Tensor) -> torch.Tensor:
    """z (..., n, d) with every dimension of mean 0 and variance 1 over the n (CS Sec. 4.2)."""
    return (z - z.mean(-2, keepdim=True)) / (z.std(-2, correction=0, keepdim=True) + 1e-6)


class Projectors(Program):
    """R runs of AdamW on networks f and projectors p, side by side.

    The loss is CS eq. 1 both ways: similarity sum_k z_k z'_k / tau_k, and the other images' partner views as negatives.
    """

    Result, compiles = Result, ("losses",)

    def setup(self):
        c, s = self.config, self.state
        self.times = set(recorded_times(c.steps, c.record_every or c.steps))
        seeds = sorted({k.seed for k in self.configs})
        files = tuple((str(path), path.stat().st_mtime_ns) for path in c.files)
        splits, banks = zip(
            *(_material(c.data, c.n, c.n_test, seed, files) for seed in seeds), strict=True
        )
        self.splits = list(splits)  # of each seed
        self.banks = torch.stack(banks)  # (seeds, BANK, n, pixels): runs of one seed share theirs
        s.own = torch.tensor([seeds.index(k.seed) for k in self.configs])
        pixels = self.banks.shape[-1]
        encoders, projectors = [], []
        for k in self.configs:
            generator = stream(k.seed, WEIGHTS)
            encoders.append(MLP((pixels, c.width, c.width, c.d), "relu", generator))
            projectors.append(MLP((c.d, c.width, c.d), "relu", generator))
        self.trained = stacked(encoders) + stacked(projectors)
        s.tau, s.noise, s.decay = self.temperatures(), self.each("noise"), self.each("decay")
        self.draw_from(pixels)

    def draw_from(self, pixels):
        """The streams of what a step draws: its images, which two copies of each, and the noise of the views."""
        c = self.config
        block = max(1, min(BLOCK, DRAWN_AT_ONCE // max(2 * c.batch * pixels, c.n)))
        for name, purpose, draw in (
            ("batches", BATCHES, lambda g: torch.randperm(c.n, generator=g)[: c.batch]),
            (
                "copies",
                VIEWS,
                lambda g: torch.rand(BANK, c.batch, generator=g).argsort(0)[:2].flatten(),
            ),
            ("noises", NOISE, lambda g: torch.randn(2 * c.batch, pixels, generator=g)),
        ):
            setattr(self, name, Draws(streams(self.configs, purpose), draw, block))

    def temperatures(self):
        """(R, 1, k) the temperature of each dimension of z."""
        k = self.config.direct if self.config.method == "directclr" else self.config.d
        return torch.stack(
            [temperatures(config.tau, config.tau_ratio, k) for config in self.configs]
        )[:, None]

    def begin(self):
        self.optimiser = Adam(self.trained, self.config.lr, self.state.decay, kind="decoupled")

    def views(self):
        """(R, 2 batch, pixels): two views of each image of a batch, those of one kind first."""
        s, chosen = self.state, self.batches.next()
        return (
            self.banks[s.own[:, None], self.copies.next(), chosen.repeat(1, 2)]
            + s.noise * self.noises.next()
        )

    def losses(self, views):
        """(R,) the loss on views as from `views`."""
        u, v = places(self.config, self.trained, views)["z"].chunk(2, 1)
        tau = self.state.tau
        return (symbol_context.formula(u / tau, v) + symbol_context.formula(v / tau, u)) / 2

    def now(self, t):
        self.current = self.losses(self.views())
        return self.current[:, None]

    def advance(self, t):
        self.descend(self.current)

    @torch.no_grad()
    def measure(self, z, t):
        """Spectra and readouts of the images as they are; "finite" is False where the weights have overflowed."""
        rows = [self.read(i, own) for i, own in enumerate(self.state.own.tolist())]
        table = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        return table | {"loss": self.current, "rows": self.trained[-2].abs().mean(2)}

    def read(self, i, own):
        """Run i's spectra and readouts. Its images are those of seed number `own`."""
        c, ((x, y), (test, y_test)) = self.config, self.splits[own]
        weights = [w[i : i + 1] for w in self.trained]
        train, held = (
            {k: v[0] for k, v in places(c, weights, part[None]).items()} for part in (x, test)
        )
        row = {
            "spectrum": np.full((len(held), c.d), np.nan),
            "readout": np.full(len(held), np.nan),
            "finite": True,
        }
        if not all(v.isfinite().all() for v in (*train.values(), *held.values())):
            return row | {"finite": False}
        for k, place in enumerate(held):
            sizes = spectrum(held[place])
            if sizes[0] > 0:
                row["spectrum"][k, : len(sizes)] = sizes / sizes[0]
            row["readout"][k] = linear_probe(train[place], y, held[place], y_test)
        return row

    def result(self, i, columns, head):
        return self.Result(**head, **columns, places=PLACES[self.config.method])


def temperatures(tau: float, ratio: float, d: int) -> torch.Tensor:
    """(d,) the temperature of each dimension: tau for the first half, ratio tau for the second (CS Sec. 4.2)."""
    return torch.tensor([tau] * (d // 2) + [tau * ratio] * (d - d // 2))


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train, and read the network before and after its projector.

    Args:
        config: the settings. progress, device: as for `separability.run`.

    Returns:
        What was recorded.

    Raises:
        ValueError: the run diverged, and the message names lr; or the images are not to be had, and it names
            what to set.
    """
    return alone(Projectors, config, progress, device)


run.program = Projectors
