"""Random numbers: one stream on the CPU for each seed and purpose.

So a run's draws depend neither on the device, nor on the runs beside it, nor on what else the run draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from clbook._arguments import refused
from clbook.training.settings import SEEDS, Settings

BLOCK = 32  # steps whose random numbers are drawn, and copied to the device, at once


def stream(seed: int, purpose: int) -> torch.Generator:
    """The CPU generator of a seed and a purpose. No two pairs share numbers.

    The generator's own seed is a number whose digits are read in three parts,

        group | seed, four digits | purpose, two digits,

    so that different pairs have different numbers. All of them are below 2^32, which is as much as torch keeps.

    Args:
        seed: 0 .. 9,999.
        purpose: 0 .. 99, named by each experiment; or such a number plus a multiple of 1,000,000, the group.

    Raises:
        ValueError: a seed or a purpose outside of these.
    """
    if not 0 <= seed < SEEDS:
        raise refused("seed", seed, f"a whole number >= 0 and < {SEEDS}")
    if not (0 <= purpose < 2**32 - 10**6 and purpose % 10**6 < 100):
        raise refused("purpose", purpose, "0 .. 99, or that plus a multiple of 1,000,000")
    return torch.Generator().manual_seed(100 * seed + purpose)


def streams(configs: Sequence[Settings], purpose: int) -> list[torch.Generator]:
    """`stream(config.seed, purpose)` of each run; runs of one seed share one object, and so its draws."""
    made = {seed: stream(seed, purpose) for seed in {config.seed for config in configs}}
    return [made[config.seed] for config in configs]


class Draws:
    """What R runs draw at each step: on the CPU, for a block of steps at once, copied to the device once a block.

    Args:
        generators: R of them, as from `streams`; an object that stands there twice is drawn from once, for both.
        draw: `draw(generator) -> tensor`, one run's numbers for one step, on the CPU.
        block: steps in a block, from 1 to `BLOCK`; it does not change the numbers.
    """

    def __init__(self, generators: Sequence[torch.Generator], draw: Callable, block: int = BLOCK):
        self.generators = list(dict.fromkeys(generators))
        places = [self.generators.index(g) for g in generators]
        self.own = torch.tensor(places)  # (R,) whose numbers each run takes
        self.draw, self.block = draw, max(1, min(BLOCK, block))
        self.used = self.block

    def next(self) -> Tensor:
        """(R, ...) the next step's numbers."""
        if self.used == self.block:
            self.values = self._draw_block().to(self.own.device)  # (block, generators, ...)
            self.used = 0
        drawn = self.values[self.used]
        self.used += 1
        if len(self.generators) == len(self.own) == 1:
            return drawn  # nothing to choose from
        return drawn[self.own]

    def _draw_block(self) -> Tensor:
        steps = [torch.stack([self.draw(g) for g in self.generators]) for _ in range(self.block)]
        return torch.stack(steps)

    def to(self, device: torch.device | str) -> None:
        """Give the numbers on `device` from the next block on."""
        self.own = self.own.to(device)

    def keep(self, stay: Tensor) -> None:
        """Go on for the runs `stay` (R,) alone."""
        self.own = self.own[stay]
