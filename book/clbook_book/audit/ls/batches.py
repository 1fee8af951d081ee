"""LS Figure 6 at its own size: 2,000 points, and steps on random batches of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F

from clbook.experiments.sphere.experiment import NEIGHBOURS, Sphere
from clbook.metrics import neighbour_accuracy, separable
from clbook.training.optim import sgd
from clbook.training.settings import Outcome, quantity
from clbook.training.streams import Draws, streams

CHOICE, BATCH = 6, 200  # purpose of the stream that batches are drawn from, and their size


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at the times `steps`."""

    steps: np.ndarray = quantity("recorded iterations", dims="step", unit="iterations")
    loss: np.ndarray = quantity(
        "LS eq. 12 of all points, each its own only view", dims="step", on_request=True
    )
    accuracy: np.ndarray = quantity(
        "label accuracy of the 10 nearest neighbours", dims="step", on_request=True
    )
    labels: np.ndarray = quantity("cluster of each point", dims="point")
    separable_at: int | None = quantity(
        "first recorded iteration at which an affine rule is right on every point, or None",
        unit="iterations",
        on_request=True,
    )


class Batches(Sphere):
    """R runs of `sphere` whose steps see `BATCH` of the points, drawn without repetition."""

    Result = Result

    def setup(self):
        n = self.config.n
        if n < BATCH:
            raise self.config.error("n", f"at least {BATCH}, a batch")
        super().setup()

        def choose(generator):
            return torch.randperm(n, generator=generator)[:BATCH]

        self.draws["chosen"] = Draws(streams(self.configs, CHOICE), choose)

    def forward(self, s, drawn, t):
        """The batch's embedding (R, BATCH, d) and its loss."""
        rows = torch.arange(len(drawn.chosen), device=drawn.chosen.device)[:, None]
        if not self.config.network:
            z = s.weights[0][rows, drawn.chosen]
            views = z if self.config.gradient == "full" else z.detach()
            return z, self.loss(s, z, views[:, None])
        batch = {"x": s.x[rows, drawn.chosen]}
        if s.frozen is not None:
            batch |= {"R": s.R[rows, drawn.chosen], "shift": s.shift[rows, drawn.chosen]}
        z, losses = self.objective(s.replace(**batch), drawn.noise[:, :, :BATCH])
        return z, losses

    def step(self, s, drawn, losses, t):
        if self.config.network:
            return super().step(s, drawn, losses, t)
        # As in `sphere`: free points follow their own gradients, so the sum of the batch's losses, not its mean.
        (z,) = sgd(s.weights, self.gradients(losses, s.weights), BATCH * s.lr)
        return {"weights": [F.normalize(z.detach(), dim=-1)]}

    @torch.no_grad()
    def everywhere(self, s):
        """The embedding of all points (R, n, d)."""
        if not self.config.network:
            return s.weights[0]
        points = self.output(s.weights, s.x)
        return F.normalize(points if s.shift is None else points + s.shift, dim=-1)

    def watch(self, s, z, t):
        if t not in self.times or not self.wants("separable_at"):
            return {}
        at = s.separable_at.clone()
        whole = self.everywhere(s)
        for i in torch.nonzero(at < 0)[:, 0].tolist():
            if bool(whole[i].isfinite().all()) and separable(whole[i], self.labels):
                at[i] = t
        return {"separable_at": at}

    def measure(self, s, z, losses, t):
        row = {"separable_at": s.separable_at}
        whole = self.everywhere(s).detach()
        row["finite"] = whole.flatten(1).isfinite().all(1)
        if self.wants("accuracy"):
            found = [neighbour_accuracy(points, self.labels, NEIGHBOURS) for points in whole]
            row["accuracy"] = np.array(found)
        if self.wants("loss"):
            row["loss"] = self.loss(s, whole, whole[:, None])
        return row

    def result(self, i, columns, head):
        at = int(columns.pop("separable_at")[-1])
        if self.wants("separable_at"):
            columns["separable_at"] = None if at < 0 else at
        return Result(**head, **columns, labels=self.labels)


run = Batches.run
