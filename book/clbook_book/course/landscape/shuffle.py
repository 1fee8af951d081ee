"""The same places of the circle in two orders, which the loss cannot tell apart and a readout can."""

from __future__ import annotations

import numpy as np
import torch

from clbook import theory
from clbook.experiments.landscape.curves import even
from clbook.experiments.landscape.maps import readout
from clbook.losses import nt_xent_mean


class Shuffle:
    """n points of three classes at K even places of the circle, as many at each: by class, or in the random `order`.

    Attributes:
        labels: (n,) classes, side by side. order: (n,) a permutation. counts: the numbers K that divide n.
    """

    def __init__(self, n: int = 120, seed: int = 0):
        self.labels = np.arange(n) * 3 // n
        self.order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).numpy()
        self.counts = [k for k in range(1, n + 1) if n % k == 0]

    def places(self, K: int) -> np.ndarray:
        """(n, 2) the place of each point, neighbours side by side; `places(K)[order]` is the shuffled map."""
        n = len(self.labels)
        place = np.arange(n) * K // n
        return even(K, 2).numpy()[place]

    def loss(self, z: np.ndarray, tau: float) -> float:
        """Eq. 1 of an invariant map to z (n, 2)."""
        points = torch.from_numpy(z)
        return nt_xent_mean(points, points, tau).item()

    def uniform(self, tau: float) -> float:
        """What eq. 1 of n points tends to with the number of places: log(1 + 2 G - 2/n) of the uniform distribution."""
        return float(np.log(np.exp(theory.circle_plateau(tau)) - 2 / len(self.labels)))

    def readout(self, z: np.ndarray) -> float:
        """`readout` of a map to z (n, 2)."""
        return readout(z, self.labels)
