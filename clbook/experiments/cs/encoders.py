"""More of what CS train: deep encoders with the losses of Table 1, the same encoder under projectors, encoders and
classifiers of classes, DirectCLR with its parts (CS Sec. 3, Sec. 4.1, App. A, App. E). Each is a program of its own.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch.nn.functional import normalize

from clbook.experiments.content_style import experiment, latents, projector
from clbook.experiments.content_style.experiment import WEIGHTS, Config, Encoders, drawn
from clbook.losses import infonce
from clbook.models import MLP, affine, stacked
from clbook.optim import Adam
from clbook.runs import alone, stream

FRESH, HEAD = 10, 11  # purposes of the streams of fresh latents, and of a classifier's last layer

DECAY = 0.1  # weight decay of the classifiers
CHUNK = 100  # anchors whose similarities `terms` holds at once


def terms(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, config: Config) -> torch.Tensor:
    """Alignment, uniformity and total of embeddings, as in CS Table 1: pairs a, b (..., n, d), negatives c (..., M, d).

    Alignment is the mean of minus the similarity within pairs, total is InfoNCE, uniformity their difference.
    Returns: (3, ...).
    """
    tau = torch.tensor(config.temperatures, dtype=torch.float32)
    total = (
        sum(
            infonce(y, x, c, tau, config.p, config.normalize) * x.shape[-2]
            for x, y in zip(a.split(CHUNK, -2), b.split(CHUNK, -2), strict=True)
        )
        / a.shape[-2]
    )
    pair = (
        normalize(a, dim=-1) * normalize(b, dim=-1)
        if config.normalize
        else -((a - b).abs() ** config.p)
    )
    alignment = -(pair / tau).sum(-1).mean(-1)
    return torch.stack([alignment, total - alignment, total])


# Table 1 for deep encoders.


@dataclasses.dataclass
class DeepResult(experiment.Result):
    """As `experiment.Result`; terms: (T, 2, 3) of the inverse of g and of f, at the end (before it NaN)."""

    terms: np.ndarray


class Deep(Encoders):
    """`Encoders` that also measure the losses of CS Table 1, with 10,000 negatives and 500 anchors."""

    Result = DeepResult

    @torch.no_grad()
    def measure(self, z, t):
        found = np.full((len(z), 2, 3), np.nan)
        if t == self.steps:
            matrices, negatives = self.state.mixing, 10_000
            for i, config in enumerate(self.configs):
                generator = stream(config.seed, FRESH)
                points = (
                    *drawn(config, 500, generator),
                    latents.marginal(negatives, config.d, config.space, generator),
                )
                sizes, every = [len(p) for p in points], torch.cat(points)
                x = latents.mixed(every.expand(len(z), -1, -1), matrices)
                for k, embedded in enumerate((every, self.layers(x)[-1][i])):
                    found[i, k] = terms(*embedded.split(sizes), config)
        return super().measure(z, t) | {"terms": found}


def run_deep(config: Config, *, progress=None, device=None) -> DeepResult:
    """Train one deep encoder; arguments and errors as for `content_style.run`."""
    return alone(Deep, config, progress, device)


run_deep.program = Deep


# The same encoder under projectors.


class Square(Encoders):
    """Encoders whose layers are all `width` wide, the output as well: what stands above a layer does not change it."""

    def setup(self):
        super().setup()
        self.state.tau = self.state.tau[..., :1]

    def start(self):
        """The same weights as in `Encoders` (He et al. 2015), layer by layer; biases zero."""
        c = self.config
        widths = (c.d, *(c.width,) * c.layers)
        made = stacked([MLP(widths, "leaky_relu", stream(k.seed, WEIGHTS)) for k in self.configs])
        return [6**0.5 * w for w in made[::2]] + [torch.zeros_like(b) for b in made[1::2]]


def run_square(config: Config, *, progress=None, device=None) -> experiment.Result:
    """Train one encoder of `Square`; arguments and errors as for `content_style.run`. All temperatures are tau."""
    return alone(Square, config, progress, device)


run_square.program = Square


# Classes as content.


@dataclasses.dataclass
class ClassResult(experiment.Result):
    """As `experiment.Result`; within: (T,) variance within the classes over that between them, of the embeddings;
    cosines: (T, K (K - 1) / 2) of the class means, from their own mean."""

    within: np.ndarray
    cosines: np.ndarray


class Classes(Encoders):
    """Encoders of latents whose content is one of d_c corners, a class, the same in a pair; box only (CS Lemma 1).

    With a style_sd of 10 two views of a class have independent styles (Awasthi et al. 2022, Assumption 3.1).
    """

    Result = ClassResult

    def pairs(self, drawn):
        """As in `Encoders`; the first latent alone says which class it is."""
        K = self.config.d_c
        classes = torch.arange(
            K, device=drawn.device
        )  # `one_hot` would read its argument from the device
        corner = ((drawn[..., :1] * K).long().clamp(max=K - 1) == classes).to(drawn)
        return [torch.cat([corner, z[..., K:]], -1) for z in super().pairs(drawn)]

    @torch.no_grad()
    def measure(self, z, t):
        c, (tested, _) = self.config, self.state.tested
        rows = super().measure(z, t)
        embedded = self.layers(latents.mixed(tested, self.state.mixing))[-1]
        embedded = normalize(embedded, dim=-1) if c.normalize else embedded
        member = tested[..., : c.d_c]  # (R, n, K)
        means = member.mT @ embedded / member.sum(1)[..., None]
        within = (embedded - member @ means).square().sum(-1).mean(1)
        from_centre = means - means.mean(1, keepdim=True)
        unit = normalize(from_centre, dim=-1)
        one, other = torch.triu_indices(c.d_c, c.d_c, 1)
        return rows | {
            "within": within / from_centre.square().sum(-1).mean(1),
            "cosines": (unit @ unit.mT)[:, one, other],
        }


class Classifiers(Classes):
    """The same encoders under a linear layer, trained with cross-entropy and weight decay (CS Lemma 4)."""

    def setup(self):
        super().setup()
        sizes = self.config.d, self.config.d_c
        self.trained += stacked(
            [MLP(sizes, "leaky_relu", stream(k.seed, HEAD)) for k in self.configs]
        )

    def begin(self):
        self.optimiser = Adam(self.trained, self.config.lr, DECAY, kind="decoupled")

    def losses(self, z, positive):
        """(R,) cross-entropy of the classes of z."""
        logits = affine(self.layers(latents.mixed(z, self.state.mixing))[-1], *self.trained[-2:])
        return -(logits.log_softmax(-1) * z[..., : self.config.d_c]).sum(-1).mean(-1)


def run_classes(config: Config, *, progress=None, device=None) -> ClassResult:
    """Train one encoder of classes; arguments and errors as for `content_style.run`."""
    return alone(Classes, config, progress, device)


def run_classifier(config: Config, *, progress=None, device=None) -> ClassResult:
    """Train one classifier; arguments and errors as for `content_style.run`."""
    return alone(Classifiers, config, progress, device)


run_classes.program, run_classifier.program = Classes, Classifiers


# DirectCLR taken apart.


@dataclasses.dataclass
class DirectResult(projector.Result):
    """As `projector.Result`; added: (T, d) root mean square of r - h in each dimension over that of h, test images."""

    added: np.ndarray


class Direct(projector.Projectors):
    """`Projectors` that also measure what the projector adds to h in each dimension of r (CS eq. 28)."""

    Result = DirectResult

    @torch.no_grad()
    def measure(self, z, t):
        added = []
        for i, own in enumerate(self.state.own.tolist()):
            seen = projector.places(
                self.config, [w[i : i + 1] for w in self.trained], self.splits[own][1][0][None]
            )
            h, r = seen["h"][0], seen.get("r", seen["h"])[0]
            added.append((r - h).square().mean(0).sqrt() / h.square().mean().sqrt())
        return super().measure(z, t) | {"added": torch.stack(added)}


def run_direct(config: projector.Config, *, progress=None, device=None) -> DirectResult:
    """Train DirectCLR (or SimCLR, where nothing is added to h); arguments and errors as for `projector.run`."""
    return alone(Direct, config, progress, device)


run_direct.program = Direct
