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


def warmed(t: int, steps: int, warmup: int = 0, cosine: bool = True) -> float:
    """Factor of the learning rate at step t = 1 .. `steps` (SA Sec. 5): linear warm-up, then half a cosine, or 1.

    It is t / warmup up to t = `warmup` and cosine, if asked for, falls from 1 there to 0 one step after the last.
    """
    if t <= warmup:
        return t / warmup
    return 0.5 + 0.5 * math.cos(math.pi * (t - warmup) / (steps + 1 - warmup)) if cosine else 1.0


class Descent:
    """Gradient descent with momentum, plain or LARS, on M networks of one architecture at once.

    v <- momentum v + lr s (g + decay w),  w <- w - v (You et al. 2017, Algorithm 1). Plain SGD has s = 1. LARS has, for
    each network and each matrix, s = trust |w| / (|g| + decay |w|); as in SimCLR's code it leaves biases alone (s = 1,
    no decay). At a constant rate plain SGD is torch.optim.SGD.

    Args:
        sizes: numbers of entries of the parameters, in the order in which they stand in a row of weights.
        matrix: for each parameter, whether it is a matrix. momentum, decay: as above. trust: None is plain SGD.
    """

    def __init__(self, sizes, matrix, momentum=0.9, decay=0.0, trust=None):
        self.sizes, self.matrix, self.momentum, self.decay, self.trust = sizes, matrix, momentum, decay, trust
        self.velocity = 0.0

    def step(self, weights, gradient, lr):
        """The next weights, from weights and gradient (M, P)."""
        if self.trust is None:
            direction = gradient + self.decay * weights if self.decay else gradient
        else:
            parts = zip(weights.split(self.sizes, 1), gradient.split(self.sizes, 1), self.matrix)
            direction = torch.cat([self._adapted(w, g) if matrix else g for w, g, matrix in parts], 1)
        self.velocity = self.momentum * self.velocity + lr * direction
        return weights - self.velocity

    def _adapted(self, w, g):
        size, slope = w.norm(dim=1, keepdim=True), g.norm(dim=1, keepdim=True)
        ratio = self.trust * size / (slope + self.decay * size)
        return torch.where((size > 0) & (slope > 0), ratio, 1.0) * (g + self.decay * w)
