"""A tiny experiment on the engine: numbers that grow by a factor a step, for the tests of loop and sweep."""

import dataclasses

import numpy as np
import torch

from clbook.runs import Program, alone, several
from clbook.settings import Outcome, Settings, setting


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    start: float = setting(1.0, "the number at the start", each=True)
    growth: float = setting(1.0, "factor of a step", above=0.0, each=True)
    end: int = setting(0, "end at this step; 0: at the last", low=0, each=True)
    heavy: float = setting(0.0, "a program with a value above 0 cannot be made", low=0.0, each=True)
    broken: bool = setting(False, "whether the measurement fails")
    steps: int = setting(10, "steps", low=1)
    seed: int = setting(0, "seed", low=0, each=True)


@dataclasses.dataclass
class Result(Outcome):
    """steps (T,), z (T,)."""

    steps: np.ndarray
    z: np.ndarray


class Doubling(Program):
    """z <- growth z."""

    rate, Result = "growth", Result

    def setup(self):
        heavy = [c for c in self.configs if c.heavy]
        if heavy:
            raise heavy[0].error("heavy", "0 here")
        self.trained = [self.each("start", axes=0)]
        self.state.growth, self.state.end = self.each("growth", axes=0), self.each("end", axes=0)

    def now(self, t):
        return self.trained[0][:, None]

    def advance(self, t):
        with torch.no_grad():
            self.trained[0] *= self.state.growth

    def measure(self, z, t):
        if self.config.broken and t == 3:
            raise ValueError("a recorder's own mistake")
        return {"z": z[:, 0]}

    def over(self, t):
        return (self.state.end > 0) & (t >= self.state.end)


def run(config, *, progress=None, device=None):
    return alone(Doubling, config, progress, device)


run.program = Doubling
PAIR = {"slow": {"growth": 1.0}, "fast": {"growth": 2.0}}


def run_pair(config, *, progress=None, device=None):
    return several(run, config, PAIR, progress=progress, device=device)


run_pair.variants = run, PAIR
