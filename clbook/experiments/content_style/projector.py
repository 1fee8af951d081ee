"""The projector on real images: what it loses, what norm and temperatures change, and DirectCLR (CS Sec. 4.2, App. E).

A network h = f(x), a projector p, and InfoNCE on two augmented views of each image. SimCLR's loss sees p(h). DirectCLR's
sees the first few dimensions of r = h + p(h), a residual block, and r is what a readout gets.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import torch
from scipy.special import entr
from torch.nn.functional import normalize

from clbook import augment, data
from clbook.losses import symbol_context
from clbook.metrics import linear_probe, spectrum
from clbook.models import MLP
from clbook.runs import Diverged, default_device, iterate, one_thread, recorded_times
from clbook.settings import Outcome, Settings, setting

BANK = 12  # augmented copies of the images, made once; a step draws two for each image and adds fresh noise
PLACES = {"simclr": ("h", "z"), "directclr": ("h", "r", "z")}


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one run; the default is "regular" of CS Table 2, on scikit-learn's digits."""

    method: str = setting("simclr", "what the loss sees: all of p(h), or the first dimensions of h + p(h)",
                          choices=tuple(PLACES))
    normalize: bool = setting(True, "divide embeddings by their l2 norm; False standardises each dimension instead")
    tau: float = setting(1.0, "temperature", low=1e-2, high=10.0, log=True)
    tau_ratio: float = setting(1.0, "temperature of the second half of z, over tau", low=0.01, high=100.0, log=True)
    direct: int = setting(12, "dimensions that DirectCLR trains", low=1, high=512)
    d: int = setting(64, "dimensions of h and of p(h)", low=2, high=512)
    width: int = setting(128, "units of each of the two hidden layers of f", low=1, high=2000)
    data: str = setting("digits", "images; colour ones are turned to grey", choices=tuple(data.IMAGES))
    n: int = setting(1200, "images to train on", low=20, high=50_000)
    n_test: int = setting(540, "images for the readout", low=20, high=10_000)
    noise: float = setting(0.1, "sd of the noise that a view adds, beside turning, resizing, blur", low=0.0, high=2.0)
    batch: int = setting(128, "images in a batch", low=2, high=5000)
    lr: float = setting(2e-3, "step size of AdamW", above=0.0, high=1.0, log=True)
    decay: float = setting(1e-2, "AdamW's weight decay: a step multiplies weights by 1 - lr decay", low=0.0, high=100.0)
    steps: int = setting(400, "iterations", unit="iterations", low=1, high=100_000, log=True)
    record_every: int = setting(0, "record every so many; 0: start and end", unit="iterations", low=0, high=100_000)
    seed: int = setting(0, "seed of images, weights, batches and views", low=0, high=2**31)

    def check(self):
        for name, other in (("direct", "d"), ("batch", "n")):
            if getattr(self, name) > getattr(self, other):
                raise self.error(name, f"at most {other} = {getattr(self, other)}")


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps` (T,).

    Attributes:
        steps: (T,). loss: (T,) of the last batch, NaN at the start.
        places: where the network is read: h before the projector, z as the loss sees it, for DirectCLR also r.
        spectrum: (T, places, d) eigenvalues of the test images' covariance, descending, divided by the first; NaN beyond z.
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
    def rank(self):
        """(T, places) effective rank of each, as `metrics.effective_rank`."""
        size = np.sqrt(np.nan_to_num(self.spectrum))
        return np.exp(entr(size / size.sum(-1, keepdims=True)).sum(-1))


def dataset(config: Config):
    """(x, labels) to train on and (x, labels) to test, on the CPU: x (n, pixels) grey, in [0, 1]."""
    generator = torch.Generator().manual_seed(config.seed)
    x, labels = data.images(config.data, config.n + config.n_test, 10, generator)
    if config.data == "cifar10":
        x = x.unflatten(1, (3, -1)).mean(1)
    order = torch.randperm(len(x), generator=generator)
    return [(x[part], labels[part]) for part in (order[:config.n], order[config.n:])]


class Network:
    """f and p of a run."""
    def __init__(self, config, pixels, device):
        generator = torch.Generator().manual_seed(config.seed + 1)
        self.config = config
        self.encoder = MLP((pixels, config.width, config.width, config.d), "relu", generator).to(device)
        self.projector = MLP((config.d, config.width, config.d), "relu", generator).to(device)
        self.parameters = [*self.encoder.parameters(), *self.projector.parameters()]

    def __call__(self, x):
        """{place: (n, d)}; z as the loss sees it, with rows of length 1, on average if not each."""
        h = self.encoder(x)
        found, z = {"h": h}, self.projector(h)
        if self.config.method == "directclr":
            found["r"] = h + z
            z = found["r"][:, :self.config.direct]
        if self.config.normalize:
            return found | {"z": normalize(z, dim=1)}
        return found | {"z": (z - z.mean(0)) / (z.std(0, correction=0) + 1e-6) / z.shape[1]**0.5}


def temperatures(config: Config, like):
    """(k,): tau for the first half of the dimensions of `like` (n, k), tau_ratio tau for the second."""
    tau = torch.full_like(like[0], config.tau)
    tau[len(tau) // 2:] *= config.tau_ratio
    return tau


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train, and read the network before and after its projector.

    The loss is CS eq. 1 both ways: similarity sum_k z_k z'_k / tau_k, and the other images' partner views as negatives.

    progress, device and errors as for `sphere.run`; images that are not to be had: a ValueError that names what to set.
    """
    began, device = time.monotonic(), default_device(device)
    (x, y), (test, y_test) = ([part.to(device) for part in split] for split in dataset(config))
    generator = torch.Generator(device).manual_seed(config.seed + 2)
    with one_thread():
        bank = torch.stack([augment.images(x, generator) for _ in range(BANK)])
    network = Network(config, x.shape[1], device)
    optimizer = torch.optim.AdamW(network.parameters, config.lr, weight_decay=config.decay)
    times, rows = set(recorded_times(config.steps, config.record_every or config.steps)), []

    def step(state, t):
        chosen = torch.randperm(config.n, generator=generator, device=device)[:config.batch]
        copies = torch.rand(BANK, config.batch, generator=generator, device=device).argsort(0)[:2]
        views = augment.noise(bank[copies, chosen].flatten(0, 1), config.noise, generator)
        u, v = network(views)["z"].chunk(2)
        tau = temperatures(config, u)
        loss = (symbol_context(u / tau, v) + symbol_context(v / tau, u)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def record(loss, t):
        if t in times:
            train, held = network(x), network(test)
            sizes = [spectrum(value) for value in held.values()]
            rows.append({"steps": t, "loss": float(loss) if t else np.nan,
                         "spectrum": np.stack([np.r_[s / s[0], np.full(config.d - len(s), np.nan)] for s in sizes]),
                         "readout": np.array([linear_probe(train[k], y, held[k], y_test) for k in held]),
                         "rows": network.projector[-1].weight.abs().mean(1).cpu().numpy()})

    def result(stopped):
        columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        return Result(config, time.monotonic() - began, str(device), stopped, places=PLACES[config.method], **columns)

    try:
        _, _, stopped = iterate(step, torch.zeros((), device=device), config.steps, record,
                                progress and (lambda fraction: progress(fraction, result(stopped=True))))
    except Diverged as error:
        raise config.diverged("lr", error.step) from error
    return result(stopped)
