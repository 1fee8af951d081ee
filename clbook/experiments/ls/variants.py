"""The runs of `separability` with another map or another loss (LS Remarks 4.3 and 4.4, Figure 4 on MNIST).

A map that is linear in its weights, f(w, x) = R + w' phi(x), has the kernel phi(x)' phi(y), which training cannot move.
"""

from __future__ import annotations

import dataclasses

import torch

from clbook import data
from clbook.experiments import separability
from clbook.experiments.separability.experiment import VIEWS, Flow, Result
from clbook.losses import generalized, softplus
from clbook.runs import alone, stream
from clbook.settings import setting

FEATURES = 5  # purpose of the stream that random features are drawn from; 0 to 4 are those of `separability`
GRID, BOX = (
    12,
    2.4,
)  # knots of the splines in each direction, and how far they reach from the origin
PSI = {
    "both views": lambda r: r,
    "eq. 3": softplus,
}  # of LS eq. 3, as functions of the logarithm of its argument


@dataclasses.dataclass(frozen=True)
class Config(separability.Config):
    """Settings of one run; the default is that of `separability`."""

    features: str = setting(
        "none",
        "fixed features of a point that the trained weights see; none: the point itself",
        choices=("none", "random", "radial", "spline"),
    )
    loss: str = setting(
        "eq. 12",
        "eq. 12; both views: the same with both samples augmented; eq. 3: that with "
        "Psi(t) = log(1 + t)",
        choices=("eq. 12", *PSI),
    )
    images: str = setting("digits", "what data = digits stands for", choices=("digits", "mnist"))

    def check(self):
        super().check()
        if self.features != "none" and (self.hidden or not self.plane):
            raise self.error("features", "none with hidden layers or images")
        if self.images != "digits" and self.data != "digits":
            raise self.error("images", "digits, where data is not digits")

    @property
    def files(self):
        return data.image_files("mnist") if self.images == "mnist" else super().files


class Variant(Flow):
    """R runs of `separability` whose weights may see fixed features, and whose loss may augment both samples."""

    def setup(self):
        if self.config.features == "random":
            rows = [torch.randn(100, 3, generator=stream(c.seed, FEATURES)) for c in self.configs]
            self.state.rows = torch.stack(rows)
        super().setup()

    def points(self, config):
        if config.images == "mnist":
            return data.images("mnist", config.n, config.classes, stream(config.seed, 0))
        return super().points(config)

    def lifted(self, x):
        """The features (R, n, P) of x (R, n, D): random ridges, bumps around knots, or products of hats at them."""
        kind = self.config.features
        if kind == "none":
            return x
        if kind == "random":
            return torch.tanh(x @ self.state.rows[..., :2].mT + self.state.rows[:, None, :, 2])
        knots = torch.linspace(-BOX, BOX, GRID, device=x.device, dtype=x.dtype)
        apart = (x[..., None] - knots) / (knots[1] - knots[0])  # (R, n, 2, GRID)
        hats = (
            torch.exp(-apart.square() / 2) if kind == "radial" else (1 - apart.abs()).clamp(min=0)
        )
        return (hats[..., 0, :, None] * hats[..., 1, None, :]).flatten(-2)

    def drawer(self, purpose, count):
        return super().drawer(purpose, 2 if purpose == VIEWS and self.config.loss in PSI else count)

    def objective(self, views):
        """(R,) the chosen loss and the embedding (R, n, d)."""
        if self.config.loss not in PSI:
            return super().objective(views)
        z, v = self.embed(views)
        other = (
            v[:, -1] if self.config.gradient == "full" else v[:, -1].detach()
        )  # the same where there are no views
        return generalized.formula(
            v[:, 0], other, lambda t: -t / self.state.tau, PSI[self.config.loss]
        ), z


def run(config: Config, *, progress=None, device=None) -> Result:
    """`separability.run` with the map and the loss of `config`."""
    return alone(Variant, config, progress, device)


run.program = Variant
