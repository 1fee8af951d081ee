"""VA's own training (VA Sections 2 to 4): their losses, noise and network, in the loop of the sphere chapter.

The embedding is that of `experiments.sphere`, f(w, x) = normalise(R + g(w, x) - g(w0, x)). Clean data lie on a line or
around orthogonal axes; noise and views leave the clean coordinates alone (VA Section 4.2), so R is a function of these.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook import data
from clbook.experiments import sphere
from clbook.experiments.sphere.experiment import DATA, WEIGHTS
from clbook.losses import generalized, nt_xent_mean
from clbook.metrics import separable
from clbook.models import ACTIVATIONS, Averaging, affine
from clbook.runs import alone, stream
from clbook.settings import setting


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
    """What one run recorded. Losses and arrows are those of `Config.loss`.

    Attributes:
        apart: (T,) whether an affine rule is right on every point. tail: (T,) share of the last cluster's points whose
            nearest neighbour is of their cluster. spread: (T,) median distance of a point and a view of it.
    """

    apart: np.ndarray
    tail: np.ndarray
    spread: np.ndarray


def dataset(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns x (n, D) and labels (n,): clean data in the first coordinates, noise in the others (VA Section 4.2)."""
    c, draws = config, stream(config.seed, DATA)
    last = max(1, round(c.n * c.ratio / (c.classes - 1 + c.ratio)))
    labels = torch.cat(
        [data.balanced_labels(c.n - last, c.classes - 1), torch.full((last,), c.classes - 1)]
    )
    centres = (
        c.first + c.gap * torch.arange(c.classes)[:, None]
        if c.centres == "line"
        else c.gap * torch.eye(c.classes)
    )
    scale = torch.tensor([c.spread] * c.clean + [c.noise] * (c.dim - c.clean))
    return torch.nn.functional.pad(centres[labels], (0, c.dim - c.clean)) + scale * torch.randn(
        c.n, c.dim, generator=draws
    ), labels


class Flow(sphere.Flow):
    """The sphere chapter's `Flow` with VA's data, losses and network."""

    Result, views, data = Result, 2, staticmethod(dataset)

    def setup(self):
        super().setup()
        if self.config.network and self.config.views == "orthogonal":
            self.state.noise = self.state.noise * (
                torch.arange(self.config.dim) >= self.config.clean
            )

    def networks(self, D):
        c = self.config
        if c.net == "mlp":
            return super().networks(D)
        return [
            Averaging(D, c.d, c.width, c.activation, c.width**-0.5, stream(k.seed, WEIGHTS))
            for k in self.configs
        ]

    def output(self, weights, x):
        c = self.config
        if c.net == "mlp":
            return super().output(weights, x)
        units = ACTIVATIONS[c.activation]()(affine(x, *weights)).unflatten(-1, (c.d, -1))
        return c.width**-0.5 * units.sum(-1)

    def loss(self, z, views):
        """VA eq. 4 or eq. 1 (R,) of pairs of views (R, m, n, d); m = 1, the points themselves, for an invariant map."""
        if self.config.loss == "LS eq. 12":
            return super().loss(z, views)
        first, tau = views[:, ::2], self.state.tau[:, None]
        second = views[:, 1::2] if views.shape[1] > 1 else first
        if self.config.loss == "eq. 1":
            return nt_xent_mean.formula(first, second, tau).mean(1)
        return generalized.formula(first, second, lambda t: -t / tau).mean(1)

    def arrows(self, z, views):
        """The loss (R,), and minus VA eq. 7, what the gradient would be at an invariant map, along the sphere."""
        if self.config.loss == "LS eq. 12":
            return super().arrows(z, views)
        with torch.no_grad():
            loss = self.loss(z, views)
        z = z.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(z.shape[1] * self.loss(z, z[:, None]).sum(), z)
        return loss, (gradient * z).sum(-1, keepdim=True) * z - gradient

    def more(self, z, views):
        whole, labels = (
            z.flatten(1).isfinite().all(1).tolist(),
            torch.from_numpy(self.labels).to(z.device),
        )
        apart = np.array(
            [fine and separable(points, self.labels) for points, fine in zip(z, whole, strict=True)]
        )
        last = labels == labels[-1]
        away = torch.cdist(z, z) + torch.diag(torch.full_like(labels, torch.inf, dtype=z.dtype))
        tail = last[away[:, last].argmin(-1)].float().mean(1)
        return {
            "apart": apart,
            "tail": tail,
            "spread": (views - z[:, None]).norm(dim=-1).flatten(1).median(1).values,
        }


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train from the chosen start, through a network or point by point, as `sphere.run` does."""
    return alone(Flow, config, progress, device)


run.program = Flow
