"""The toy at the beginning of the chapter on overlapping views: its training, with all that the page draws of it."""

from __future__ import annotations

import torch

from clbook.experiments.overlap import Overlap, points
from clbook.experiments.overlap.experiment import RING
from clbook_book.course.readout import own_centre


def on_circle(degrees: torch.Tensor) -> torch.Tensor:
    """Unit vectors (..., 2) at angles (...)."""
    turn = degrees.deg2rad()
    return torch.stack([turn.cos(), turn.sin()], -1)


class Ring(Overlap):
    """The chapter's training.

    state.ring (R, n, 2) are the data points on the circle, state.arcs (R, 25, n, 2) the interval of views of each, from
    end to end.
    """

    def setup(self):
        super().setup()
        s = self.state
        self.shared.labels = torch.from_numpy(self.labels)
        x = torch.stack([points(config)[0] for config in self.configs])
        width = self.column("width", torch.float64, axes=1)
        gaps = (x.roll(-1, 1) - x) % RING
        s.islands = (gaps >= width).sum(1).clamp(min=1)  # as `Result.islands`
        s.ring = on_circle(x)
        share = torch.linspace(-0.5, 0.5, 25)[:, None]
        s.arcs = on_circle(x[:, None] + width[..., None] * share)

    def shown(self, s, recorded):
        """`z`, `accuracy` and `islands` of the Result."""
        row = super().shown(s, recorded)
        right = own_centre(row["z"], self.shared.labels, self.config.classes)
        return row | {"accuracy": right, "islands": s.islands.double()}


run = Ring.run
