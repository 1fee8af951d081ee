"""How far the kernel moves in the runs of LS Appendix D, on the circle and on the sphere."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook import kernels
from clbook.experiments import sphere
from clbook.experiments.sphere.experiment import Flow
from clbook.models import member
from clbook.runs import alone


@dataclasses.dataclass
class Result(sphere.Result):
    """`sphere.Result`, and drift (T,): the operator norm of K(t) - K(0), divided by that of K(0)."""

    drift: np.ndarray


class Drifting(Flow):
    """R runs of `sphere` through a network that record the kernel's drift."""

    Result = Result

    def setup(self):
        if not self.config.network:
            raise self.config.error("network", "True: the kernel is a network's")
        super().setup()
        self.net = self.networks(self.state.x.shape[-1])[0]

    def more(self, z, views):
        """The drift of the kernel of f = y / |y|: that of y between projections along the sphere."""
        s, found = self.state, []
        with torch.no_grad():
            length = (self.output(self.trained, s.x) + s.shift).norm(dim=-1)
        for i, x in enumerate(s.x):
            flat = torch.eye(z.shape[-1], device=z.device) - z[i, :, :, None] * z[i, :, None]
            along = flat / length[i, :, None, None]
            K = kernels.empirical(member(self.net, self.trained, i), x)
            K = torch.einsum("iab,ijbc,jcd->iajd", along, K, along)
            found.append(K.flatten(2, 3).flatten(0, 1).double())
        matrices = torch.stack(found)
        if not hasattr(s, "first"):
            s.first = matrices
        size = [
            torch.linalg.eigvalsh(part).abs().amax(-1) for part in (matrices - s.first, s.first)
        ]
        return {"drift": size[0] / size[1]}


def run(config: sphere.Config, *, progress=None, device=None) -> Result:
    """`sphere.run` through a network, with the kernel's drift."""
    return alone(Drifting, config, progress, device)


run.program = Drifting
