"""The runs of `separability` with another map or another loss (LS Remarks 4.3 and 4.4, Figure 4 on MNIST).

A map that is linear in its weights, f(w, x) = R + w' phi(x), has the kernel phi(x)' phi(y), which training cannot move.
"""

from __future__ import annotations

import dataclasses

import torch

from clbook.experiments import separability
from clbook.experiments.separability.experiment import VIEWS, Separability
from clbook.losses import generalized, softplus
from clbook.training.settings import setting
from clbook.training.streams import stream

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

    def check(self):
        super().check()
        if self.features != "none" and (self.hidden or not self.plane):
            raise self.error("features", "none with hidden layers or images")


class Variant(Separability):
    """R runs of `separability` whose weights may see fixed features, and whose loss may augment both samples."""

    def setup(self):
        if self.config.features == "random":
            rows = [torch.randn(100, 3, generator=stream(c.seed, FEATURES)) for c in self.configs]
            self.state.rows = torch.stack(rows)
        super().setup()

    def lifted(self, s, x):
        """The features (R, n, P) of x (R, n, D): random ridges, bumps around knots, or products of hats at them."""
        kind = self.config.features
        if kind == "none":
            return x
        if kind == "random":
            slopes, offsets = s.rows[..., :2], s.rows[..., 2]  # (R, P, 2), (R, P)
            return torch.tanh(x @ slopes.mT + offsets[:, None])
        knots = torch.linspace(-BOX, BOX, GRID, device=x.device, dtype=x.dtype)
        apart = (x[..., None] - knots) / (knots[1] - knots[0])  # (R, n, 2, GRID)
        if kind == "radial":
            hats = torch.exp(-apart.square() / 2)
        else:
            hats = (1 - apart.abs()).clamp(min=0)
        return (hats[..., 0, :, None] * hats[..., 1, None, :]).flatten(-2)

    def augment(self, draws, purpose, count):
        both = purpose == VIEWS and self.config.loss in PSI
        super().augment(draws, purpose, 2 if both else count)

    def objective(self, s, views):
        """The embedding (R, n, d) and the chosen loss (R,)."""
        if self.config.loss not in PSI:
            return super().objective(s, views)
        z = self.embed_points(s)
        v = self.embed_views(s, views)
        first, other = v[:, 0], v[:, -1]  # the same where there are no views
        if self.config.gradient == "partial":
            other = other.detach()
        return z, generalized(first, other, lambda t: -t / s.tau, PSI[self.config.loss])


run = Variant.run
