"""Points and encoders for the tests of reports."""

import random

import numpy as np
import torch
from torch import nn

N, D = 60, 6


def clouds(n=N, d=D, seed=0, apart=2.0):
    """Arguments of a report: three clouds, two views of each point, and what stands beside them."""
    g = np.random.default_rng(seed)
    y = np.arange(n) % 3
    z = apart * np.eye(3, d)[y] + 0.5 * g.standard_normal((n, d))
    z1, z2 = (z + 0.2 * g.standard_normal((n, d)) for _ in range(2))
    start = np.tanh(z @ g.standard_normal((d, 8)))
    before = np.hstack([z, g.standard_normal((n, 2))])
    return {"z1": z1, "z2": z2, "z": z, "labels": y, "before": before, "start": start, "raw": z**3}


def noisy(x):
    return x + 0.1 * torch.randn_like(x) + 0.0 * random.random() + 0.0 * np.random.rand()


class Trap:
    """What a pickled file could do."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('executed')",))


class Output:
    """What a Hugging Face model returns."""

    def __init__(self, last_hidden_state):
        self.last_hidden_state = last_hidden_state


class Transformer(nn.Module):
    """A stand-in of Hugging Face's interface: forward(pixel_values) -> an object with last_hidden_state."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, pixel_values):
        return Output(self.layer(pixel_values.unflatten(1, (2, 4))))


class Timm(nn.Module):
    """A stand-in of timm's interface: num_classes=0 gives pooled features from forward."""

    def __init__(self, num_classes=0):
        super().__init__()
        self.body = nn.Conv2d(1, 6, 3)
        self.head = nn.Identity() if num_classes == 0 else nn.Linear(6, num_classes)

    def forward_features(self, x):
        return self.body(x)

    def forward(self, x):
        return self.head(self.forward_features(x).mean((2, 3)))
