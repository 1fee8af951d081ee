"""More of what CS train: deep encoders of the paper's width, the same encoder under projectors, encoders of classes,
DirectCLR with its parts (CS Sec. 3, Sec. 4.1, App. A, App. E). Each is a program of its own. And the losses of Table 1.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch.nn.functional import leaky_relu, normalize

from clbook import latents
from clbook.experiments.content_style import experiment, projector
from clbook.experiments.content_style.experiment import (
    WEIGHTS,
    Config,
    Encoders,
    deep_start,
)
from clbook.losses import infonce
from clbook.models import affine
from clbook.training.settings import quantity
from clbook.training.streams import stream

SLOPE = 0.2  # of the leaky ReLU of `Orthogonal`, as in g
CHUNK = 100  # anchors whose similarities `terms` holds at once


def terms(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, config: Config) -> torch.Tensor:
    """Alignment, uniformity and total of embeddings, as in CS Table 1.

    Alignment is the mean of minus the similarity within pairs, total is InfoNCE, uniformity their difference.

    Args:
        a, b: (..., n, d) pairs.
        c: (..., M, d) negatives.
        config: says which similarity, and its temperatures.

    Returns:
        (3, ...).
    """
    tau = torch.tensor(config.temperatures, dtype=torch.float32)
    n, total = a.shape[-2], 0.0
    for first in range(0, n, CHUNK):
        x, y = (side[..., first : first + CHUNK, :] for side in (a, b))
        share = x.shape[-2] / n  # of the anchors, in this chunk
        total = total + share * infonce(y, x, c, tau, config.p, config.normalize)
    similar = (similarity(a, b, config) / tau).sum(-1)
    alignment = -similar.mean(-1)
    return torch.stack([alignment, total - alignment, total])


def similarity(a: torch.Tensor, b: torch.Tensor, config: Config) -> torch.Tensor:
    """What each dimension of pairs a, b (..., n, d) adds to their similarity, before the temperature."""
    if config.normalize:
        return normalize(a, dim=-1) * normalize(b, dim=-1)
    return -((a - b).abs() ** config.p)


# Deep encoders of the paper's width.


class Orthogonal(Encoders):
    """`Encoders` as g itself is made: random rotations of all layers, and the slope that g has below 0.

    The layers must be as wide as the latents. f can then be g's inverse but for the slopes, and no layer starts with a
    direction that it does not see.
    """

    def first_weights(self):
        c = self.config
        if c.width != c.d:
            raise c.error("width", f"as many as the dimensions, d = {c.d}")
        networks = []
        for config in self.configs:
            networks.append(latents.rotations(c.d, c.layers, stream(config.seed, WEIGHTS)))
        weights = [torch.stack(layer) for layer in zip(*networks, strict=True)]
        return weights + [torch.zeros(weight.shape[:2]) for weight in weights]

    def layers(self, weights, x):
        count, seen = self.config.layers, [x]
        for i, (matrix, bias) in enumerate(zip(weights[:count], weights[count:], strict=True)):
            x = affine(x, matrix, bias)
            if i < count - 1:
                x = leaky_relu(x, SLOPE)
            seen.append(x)
        return seen


# The same encoder under projectors.


class Square(Encoders):
    """Encoders whose layers are all `width` wide, the output as well: what stands above a layer does not change it.

    All temperatures are tau.
    """

    def setup(self):
        super().setup()
        self.state.tau = self.state.tau[..., :1]

    def first_weights(self):
        """The same weights as in `Encoders`, layer by layer; biases zero."""
        c = self.config
        hidden = [c.width] * c.layers
        return deep_start(self.networks((c.d, *hidden)))


# Classes as content.


@dataclasses.dataclass
class ClassResult(experiment.Result):
    """As `experiment.Result`, and how far the embeddings of a class have collapsed."""

    within: np.ndarray = quantity(
        "variance of the embeddings within the classes over that between them",
        dims="step",
        on_request=True,
    )
    cosines: np.ndarray = quantity(
        "cosines of the class means, seen from their own mean", dims="step pair", on_request=True
    )


class Classes(Encoders):
    """Encoders of latents whose content is one of d_c corners, a class, the same in a pair; box only (CS Lemma 1).

    With a style_sd of 10 two views of a class have independent styles (Awasthi et al. 2022, Assumption 3.1).
    """

    Result = ClassResult

    def pairs(self, s, numbers):
        """As in `Encoders`; the first latent alone says which class it is."""
        K = self.config.d_c
        first = numbers[..., :1]  # uniform in [0, 1)
        chosen = (first * K).long().clamp(max=K - 1)
        # `one_hot` would read its argument from the device.
        classes = torch.arange(K, device=numbers.device)
        corner = (chosen == classes).to(numbers)
        z, positive = super().pairs(s, numbers)
        return [torch.cat([corner, side[..., K:]], -1) for side in (z, positive)]

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        row = super().measure(s, z, losses, t)
        if self.wants("within", "cosines"):
            collapse = self.collapse(s)
            row |= {name: value for name, value in collapse.items() if self.wants(name)}
        return row

    def collapse(self, s) -> dict:
        """What a Result of classes says of each run's embeddings."""
        c, (tested, _) = self.config, s.tested
        embedded = self.layers(s.weights, latents.mixed(tested, s.mixing))[-1]
        if c.normalize:
            embedded = normalize(embedded, dim=-1)
        members = tested[..., : c.d_c]  # (R, n, K), 1 in the column of the point's class
        means = members.mT @ embedded / members.sum(1)[..., None]  # (R, K, d)
        inside = (embedded - members @ means).square().sum(-1).mean(1)
        from_centre = means - means.mean(1, keepdim=True)
        between = from_centre.square().sum(-1).mean(1)
        directions = normalize(from_centre, dim=-1)
        one, other = torch.triu_indices(c.d_c, c.d_c, 1)
        cosines = (directions @ directions.mT)[:, one, other]
        return {"within": inside / between, "cosines": cosines}


# DirectCLR taken apart.


@dataclasses.dataclass
class DirectResult(projector.Result):
    """As `projector.Result`, and what the projector adds to h (CS eq. 28)."""

    added: np.ndarray = quantity(
        "root mean square of r - h in each dimension over that of h, on the test images",
        dims="step dim",
        on_request=True,
    )


class Direct(projector.Projectors):
    """`Projectors` that also measure what the projector adds to h in each dimension of r (CS eq. 28)."""

    Result = DirectResult

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        row = super().measure(s, z, losses, t)
        if self.wants("added"):
            row["added"] = self.added(s)
        return row

    def added(self, s) -> torch.Tensor:
        """(R, d); 0 for SimCLR, where nothing is added."""
        rows = []
        for i, own in enumerate(s.own.tolist()):
            x, _ = self.shared.test[own]
            seen = self.features(s, i, x)
            h = seen["h"]
            r = seen.get("r", h)
            change = (r - h).square().mean(0)
            size = h.square().mean()
            rows.append((change / size).sqrt())
        return torch.stack(rows)
