"""What toys with labelled points share: what each records, and how free points descend on two spheres side by side."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch.nn.functional as F

from clbook.training.loop import Training
from clbook.training.optim import sgd
from clbook.training.settings import Outcome, quantity, recorded


@dataclasses.dataclass
class Labelled(Outcome):
    """What a run of labelled points recorded, at the times `steps`."""

    steps: np.ndarray = recorded()
    labels: np.ndarray = quantity("class of each point", dims="point")


class TwoSpheres(Training):
    """R pairs of spheres with the same points, state.weights[0] (R, 2, n, d). A step goes back to the sphere."""

    copy_axes = 1

    def step(self, s, drawn, losses, t):
        (z,) = sgd(s.weights, self.gradients(losses, s.weights), s.rate)
        return {"weights": [F.normalize(z.detach(), dim=-1)]}

    def result(self, i, columns, head):
        return self.Result(**head, **columns, labels=self.shared.labels.cpu().numpy())
