"""The one driver loop that every experiment's step function goes through, and what it needs around it."""

from __future__ import annotations

import contextlib
import math
import time

import torch

PROGRESS_EVERY = 0.1  # seconds between two calls of `progress`: often enough for Stop to act within half a second


class Diverged(ValueError):
    """A step produced a number that is not finite; `.step` says which."""

    def __init__(self, step: int):
        super().__init__(f"the state is no longer finite at step {step}")
        self.step = step


def default_device(device=None) -> torch.device:
    """`device`, or the CUDA device when there is one, else the CPU."""
    return torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")


@contextlib.contextmanager
def one_thread():
    """Run torch on one thread: small tensors are faster so, and sums have one order, hence the same bits every time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def recorded_times(steps: int, every: int = 0, ratio: float = 1.12) -> list[int]:
    """Steps 0 .. `steps` at which a run is recorded: each `every`-th, or for 0 a geometric series of `ratio`.

    The geometric series needs no knowledge of when the interesting moment comes. The first and last are always in.
    """
    if every:
        return sorted({*range(0, steps + 1, every), steps})
    times, t = {0, steps}, 1.0
    while t < steps:
        times.add(round(t))
        t *= ratio
    return sorted(times)


def iterate(step, state, steps, record, progress=None):
    """Apply `step` up to `steps` times: the loop of every experiment.

    Args:
        step: `step(state, t) -> state`, the t-th step (t = 1, 2, ...). The state is a tensor.
        state: the start.
        steps: how many steps at most.
        record: `record(state, t)`, called at the start (t = 0) and after each step; returning False ends the run there,
            because nothing more is to be seen.
        progress: `progress(fraction)`, called about ten times a second; returning False stops the run.

    Returns:
        (state, t, stopped): the last state, its step, and whether `progress` stopped the run.

    Raises:
        Diverged: a state is not finite, or a step or its record met numbers that a loss or kernel refuses.
    """
    with one_thread():
        if record(state, 0) is False:
            return state, 0, False
        last = time.monotonic()
        for t in range(1, steps + 1):
            try:
                state = step(state, t)
                if not math.isfinite(float(state.sum())):
                    raise Diverged(t)
                going = record(state, t)
            except Diverged:
                raise
            except ValueError as error:  # the start was accepted, so it is what training made of it that is refused
                raise Diverged(t) from error
            if going is False:
                return state, t, False
            if progress is not None and time.monotonic() - last > PROGRESS_EVERY:
                if progress(t / steps) is False:
                    return state, t, True
                last = time.monotonic()
        return state, steps, False
