"""LS Figure 6 at its own size: 2,000 points, and steps on random batches of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F

from clbook.experiments import sphere
from clbook.experiments.sphere.experiment import NEIGHBOURS, Flow
from clbook.metrics import neighbour_accuracy, separable
from clbook.optim import Descent
from clbook.runs import Draws, alone, streams
from clbook.settings import Outcome

CHOICE, BATCH = 6, 200  # purpose of the stream that batches are drawn from, and their size


@dataclasses.dataclass
class Result(Outcome):
    """steps, accuracy (T,) of the 10 nearest neighbours, separable_at and labels as in `sphere.Result`.

    loss: (T,) LS eq. 12 of all points, each its own only view.
    """

    steps: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray
    labels: np.ndarray
    separable_at: int | None


class Batches(Flow):
    """R runs of `sphere` whose steps see `BATCH` of the points, drawn without repetition."""

    Result = Result

    def setup(self):
        n = self.config.n
        if n < BATCH:
            raise self.config.error("n", f"at least {BATCH}, a batch")
        super().setup()
        self.chosen = Draws(
            streams(self.configs, CHOICE), lambda g: torch.randperm(n, generator=g)[:BATCH]
        )

    def begin(self):
        # As in `sphere`: free points follow their own gradients, so the sum of the batch's losses, not its mean.
        self.optimiser = Descent(
            self.trained, self.state.lr * (1 if self.config.network else BATCH)
        )

    def now(self, t):
        """The batch's embedding (R, BATCH, d); at a recorded time that of all points (R, n, d)."""
        s, pick = self.state, self.chosen.next()
        rows = torch.arange(len(pick), device=pick.device)[:, None]
        if not self.config.network:
            z = self.trained[0][rows, pick]
            self.losses = self.loss(
                z, (z if self.config.gradient == "full" else z.detach())[:, None]
            )
            return self.trained[0] if t in self.times else z
        x, start, shift = (part[rows, pick] for part in (s.x, s.start, s.shift))
        views = x + s.noise[:, 0] * self.draws.next()[:, 0, :BATCH]
        out = self.output(self.trained, torch.cat([x, views], 1))
        moved = F.normalize(out[:, BATCH:] - self.output(s.frozen, views) + start, dim=-1)
        z = F.normalize(out[:, :BATCH] + shift, dim=-1)
        self.losses = self.loss(z, moved[:, None])
        if t not in self.times:
            return z
        with torch.no_grad():
            return F.normalize(self.output(self.trained, s.x) + s.shift, dim=-1)

    def measure(self, z, t):
        s, z = self.state, z.detach()
        for i in torch.nonzero(s.separable_at < 0)[:, 0].tolist():
            if separable(z[i], self.labels):
                s.separable_at[i] = t
        accuracy = [neighbour_accuracy(points, self.labels, NEIGHBOURS) for points in z]
        return {
            "accuracy": np.array(accuracy),
            "loss": self.loss(z, z[:, None]),
            "separable_at": s.separable_at,
        }

    def result(self, i, columns, head):
        at = int(columns.pop("separable_at")[-1])
        return Result(**head, **columns, labels=self.labels, separable_at=None if at < 0 else at)


def run(config: sphere.Config, *, progress=None, device=None) -> Result:
    """`sphere.run` on batches of `BATCH` points."""
    return alone(Batches, config, progress, device)


run.program = Batches
