"""A tiny experiment on the engine: numbers that grow by a factor a step, for the tests of loop and sweep."""

import dataclasses

import numpy as np

from clbook.training.loop import Training
from clbook.training.settings import Outcome, Settings, quantity, setting


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    start: float = setting(1.0, "the number at the start", each=True)
    growth: float = setting(1.0, "factor of a step", above=0.0, each=True)
    end: int = setting(0, "end at this step; 0: at the last", low=0, each=True)
    heavy: float = setting(0.0, "a program with a value above 0 cannot be made", low=0.0, each=True)
    broken: bool = setting(False, "whether the measurement fails")
    steps: int = setting(10, "steps", low=1)
    seed: int = setting(0, "seed", low=0, high=9999, each=True)


@dataclasses.dataclass
class Result(Outcome):
    steps: np.ndarray = quantity("recorded steps", dims="step", unit="steps")
    z: np.ndarray = quantity("the number", dims="step")
    last: float = quantity("the number at the end")
    square: np.ndarray = quantity("its square", dims="step", on_request=True)

    @property
    def root(self):
        return np.sqrt(self.square)


class Doubling(Training):
    """z <- growth z."""

    rate, Result = "growth", Result

    def setup(self):
        for config in self.configs:
            if config.heavy:
                raise config.error("heavy", "0 here")
        s = self.state
        s.weights = [self.column("start", axes=0)]
        s.growth, s.end = self.column("growth", axes=0), self.column("end", axes=0)

    def forward(self, s, drawn, t):
        (z,) = s.weights
        return z[:, None], None

    def step(self, s, drawn, losses, t):
        (z,) = s.weights
        return {"weights": [s.growth * z]}

    def measure(self, s, z, losses, t):
        if self.config.broken and t == 3:
            raise ValueError("a recorder's own mistake")
        row = {"z": z[:, 0]}
        if self.wants("square"):
            row["square"] = z[:, 0] ** 2
        return row

    def finished(self, s, t):
        return (s.end > 0) & (t >= s.end)

    def ending(self, s):
        return {"last": s.weights[0]}

    def result(self, i, columns, head):
        last = float(columns.pop("last"))
        return Result(**head, **columns, last=last)


run = Doubling.run
PAIR = {"slow": {"growth": 1.0}, "fast": {"growth": 2.0}}
