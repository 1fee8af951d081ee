"""How far the kernel moves in the runs of LS Appendix D, on the circle and on the sphere."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from clbook import kernels
from clbook.experiments import sphere
from clbook.experiments.sphere.experiment import Sphere
from clbook.training.settings import quantity


@dataclasses.dataclass
class Result(sphere.Result):
    """`sphere.Result`, and the kernel's drift."""

    drift: np.ndarray = quantity(
        "operator norm of K(t) - K(0), divided by that of K(0)", dims="step", asked=True
    )


class Drifting(Sphere):
    """R runs of `sphere` through a network that record the kernel's drift."""

    Result = Result

    def setup(self):
        if not self.config.network:
            raise self.config.error("network", "True: the kernel is a network's")
        super().setup()

    def begin(self, s):
        """The state with `first`, the kernel at the start."""
        if not self.wants("drift"):
            return s
        return s.replace(first=self.kernel(s, self.unnormalised(s)))

    @torch.no_grad()
    def unnormalised(self, s):
        """y (R, n, d), the embedding before it is put on the sphere."""
        points = self.output(s.weights, s.x)
        return points if s.shift is None else points + s.shift

    def kernel(self, s, y):
        """(R, n d, n d) the kernel of f = y / |y|: that of y between projections along the sphere, over |y|."""
        size = y.norm(dim=-1, keepdim=True)  # (R, n, 1)
        z = y / size
        flat = torch.eye(y.shape[-1], device=y.device) - z[..., :, None] * z[..., None, :]
        along = flat / size[..., None]  # (R, n, d, d)
        K = kernels.mlp(s.weights, s.x, self.config.activation)  # (R, n, n, d, d)
        K = torch.einsum("riab,rijbc,rjcd->riajd", along, K, along)
        return K.flatten(3, 4).flatten(1, 2).double()

    def more(self, s, z, views):
        if not self.wants("drift"):
            return {}
        moved = self.kernel(s, self.unnormalised(s)) - s.first
        sizes = [torch.linalg.eigvalsh(part).abs().amax(-1) for part in (moved, s.first)]
        return {"drift": sizes[0] / sizes[1]}


run = Drifting.run
