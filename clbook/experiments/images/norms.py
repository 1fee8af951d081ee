"""SimCLR with outputs of length 1, or standardised, and with one temperature or two (CS Sec. 4.2, Fig. 2, Table 2).

The loss is CS eq. 1 both ways: similarity sum_k u_k v_k / tau_k, and the other images' partner views as negatives.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from clbook.experiments.content_style.projector import standardised, temperatures
from clbook.experiments.images import experiment as images
from clbook.losses import symbol_context
from clbook.training.loop import default_device
from clbook.training.settings import setting

Result = images.Result


@dataclasses.dataclass(frozen=True)
class Config(images.Config):
    """Settings of one run: those of `images`, and what is done to the outputs before the loss."""

    loss: str = setting("infonce", "CS eq. 1", choices=("infonce",))
    outputs: str = setting(
        "norm",
        "norm: of length 1 each; standard: every dimension standardised to variance 1; "
        "scaled: standardised, of length 1 on average",
        choices=("norm", "scaled", "standard"),
    )
    tau: float = setting(1.0, "temperature", above=0.0, high=10.0, log=True)
    tau_ratio: float = setting(
        1.0, "temperature of the second half of the dimensions, over tau", low=0.01, high=100.0
    )


def prepared(z: Tensor, outputs: str) -> Tensor:
    """z (n, d) as the loss sees it, by `Config.outputs`; means and variances are those of these n."""
    if outputs == "norm":
        return normalize(z, dim=-1)
    return standardised(z) / (z.shape[-1] ** 0.5 if outputs == "scaled" else 1)


def objective(config: Config, z1: Tensor, z2: Tensor, y=None) -> Tensor:
    """The loss of all views z1, z2 (n, d)."""
    u, v = prepared(torch.cat([z1, z2]), config.outputs).chunk(2)
    tau = temperatures(config.tau, config.tau_ratio, u.shape[1]).to(u)
    return (symbol_context(u / tau, v) + symbol_context(v / tau, u)) / 2


class Trainer(images.Trainer):
    """Training with that loss; its z are read out as the loss sees them."""

    objective = staticmethod(objective)

    def embedded(self, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """h and z of images, without views."""
        h, z = super().embedded(x)
        return h, prepared(torch.from_numpy(z), self.config.outputs).numpy()


def run(config: Config, *, progress=None, device=None) -> Result:
    """Train one encoder; arguments, Result and errors as for `images.run`."""
    return images.train(Trainer(config, default_device(device)), progress)
