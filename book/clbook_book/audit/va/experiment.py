"""VA's own training (VA Sections 2 to 4): their losses, noise and network, in the loop of the sphere chapter.

The embedding is that of `experiments.sphere`, f(w, x) = normalise(R + g(w, x) - g(w0, x)). Clean data lie on a line or
around orthogonal axes; noise and views leave the clean coordinates alone (VA Section 4.2), so R is a function of these.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F

from clbook import data
from clbook.experiments import sphere
from clbook.experiments.sphere.experiment import DATA, WEIGHTS, along_sphere
from clbook.losses import generalized, nt_xent_mean
from clbook.metrics import separable
from clbook.models import ACTIVATIONS, Averaging, affine
from clbook.training.settings import quantity, setting
from clbook.training.streams import stream


@dataclasses.dataclass(frozen=True)
class Config(sphere.Config):
    """Settings of one run; the default is VA Fig. 5 from its uniform start, with eq. 4."""

    start: str = setting(
        "uniform",
        "where the embedding starts: close together, or anywhere",
        choices=("cap", "uniform"),
    )
    loss: str = setting(
        "eq. 4",
        "VA eq. 1 (NT-Xent), VA eq. 4 with log(1 + t), or LS eq. 12",
        choices=("eq. 1", "eq. 4", "LS eq. 12"),
    )
    net: str = setting(
        "mlp",
        "mlp: all weights and biases are trained; averaging: VA eq. 18, one hidden layer, only "
        "its inner weights are",
        choices=("mlp", "averaging"),
    )
    centres: str = setting(
        "line", "cluster centres: in a row, or one on each axis", choices=("line", "axes")
    )
    ratio: float = setting(
        1.0, "size of the last cluster relative to each other one", above=0.0, high=1.0
    )
    views: str = setting(
        "orthogonal",
        "noise changes only what the clean data leave out, or all coordinates",
        choices=("orthogonal", "all"),
    )
    first: float = setting(
        -3.0, "where the row of clusters begins", low=-10.0, high=10.0, each=True
    )
    gap: float = setting(
        2.0,
        "distance between neighbours in the row; of a centre on an axis, from the origin",
        low=0.0,
        high=10.0,
        each=True,
    )

    def check(self):
        if self.net == "averaging" and self.depth != 1:
            raise self.error("net", "mlp for more than one hidden layer")
        if self.loss != "LS eq. 12" and self.gradient != "full":
            raise self.error("gradient", f"full for {self.loss}: both of its arguments are views")

    @property
    def clean(self) -> int:
        """How many coordinates the clean data have."""
        return 1 if self.centres == "line" else self.classes

    @property
    def dim(self) -> int:
        """Dimension of the inputs: in a row as many as the embedding has, else one more than axes."""
        return self.d if self.centres == "line" else self.classes + 1


@dataclasses.dataclass
class Result(sphere.Result):
    """What one run recorded. Losses and arrows are those of `Config.loss`."""

    apart: np.ndarray = quantity(
        "whether an affine rule is right on every point", dims="step", on_request=True
    )
    tail: np.ndarray = quantity(
        "share of the last cluster's points whose nearest neighbour is of their cluster",
        dims="step",
        on_request=True,
    )
    spread: np.ndarray = quantity(
        "median distance of a point and a view of it", dims="step", on_request=True
    )


def dataset(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns x (n, D) and labels (n,): clean data in the first coordinates, noise in the others (VA Section 4.2)."""
    c = config
    last = max(1, round(c.n * c.ratio / (c.classes - 1 + c.ratio)))
    others = data.balanced_labels(c.n - last, c.classes - 1)
    labels = torch.cat([others, torch.full((last,), c.classes - 1)])
    if c.centres == "line":
        centres = c.first + c.gap * torch.arange(c.classes)[:, None]  # (classes, 1)
    else:
        centres = c.gap * torch.eye(c.classes)
    clean = F.pad(centres[labels], (0, c.dim - c.clean))  # zeros in the coordinates of noise
    scale = torch.tensor([c.spread] * c.clean + [c.noise] * (c.dim - c.clean))
    noise = torch.randn(c.n, c.dim, generator=stream(c.seed, DATA))
    return clean + scale * noise, labels


class Variational(sphere.Sphere):
    """The sphere chapter's `Sphere` with VA's data, losses and network."""

    Result = Result
    views = 2
    data = staticmethod(dataset)
    from_views = ("spread",)

    def setup(self):
        super().setup()
        c, s = self.config, self.state
        if c.views == "orthogonal":
            s.noise = s.noise * (torch.arange(c.dim) >= c.clean)  # (R, 1, 1, D)

    def networks(self, D):
        c = self.config
        if c.net == "mlp":
            return super().networks(D)
        scale = c.width**-0.5
        generators = [stream(k.seed, WEIGHTS) for k in self.configs]
        return [Averaging(D, c.d, c.width, c.activation, scale, g) for g in generators]

    def output(self, weights, x):
        c = self.config
        if c.net == "mlp":
            return super().output(weights, x)
        hidden = ACTIVATIONS[c.activation]()(affine(x, *weights))  # (R, m, d width)
        return c.width**-0.5 * hidden.unflatten(-1, (c.d, -1)).sum(-1)

    def loss(self, s, z, views):
        """VA eq. 4 or eq. 1 (R,) of pairs of views (R, m, n, d); m = 1, the points themselves, for an invariant map."""
        if self.config.loss == "LS eq. 12":
            return super().loss(s, z, views)
        tau = s.tau[:, None]
        first = views[:, ::2]
        second = views[:, 1::2] if views.shape[1] > 1 else first
        if self.config.loss == "eq. 1":
            return nt_xent_mean(first, second, tau).mean(1)
        return generalized(first, second, lambda t: -t / tau).mean(1)

    def arrows(self, s, z, views):
        """The loss (R,), and minus VA eq. 7, what the gradient would be at an invariant map, along the sphere."""
        if self.config.loss == "LS eq. 12":
            return super().arrows(s, z, views)
        with torch.no_grad():
            loss = self.loss(s, z, views)
        z = z.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(z.shape[1] * self.loss(s, z, z[:, None]).sum(), z)
        return loss, along_sphere(-gradient, z)

    def more(self, s, z, views):
        row = {}
        if self.wants("apart"):
            found = [
                bool(points.isfinite().all()) and separable(points, self.labels) for points in z
            ]
            row["apart"] = np.array(found)
        if self.wants("tail"):
            row["tail"] = self.tail(z)
        if self.wants("spread"):
            row["spread"] = (views - z[:, None]).norm(dim=-1).flatten(1).median(1).values
        return row

    def tail(self, z):
        """(R,) the share of the last cluster's points whose nearest neighbour is of their cluster."""
        labels = torch.from_numpy(self.labels).to(z.device)
        last = labels == labels[-1]
        itself = torch.diag(torch.full_like(labels, torch.inf, dtype=z.dtype))
        away = torch.cdist(z, z) + itself
        return last[away[:, last].argmin(-1)].float().mean(1)


run = Variational.run
