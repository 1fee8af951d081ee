"""The exact optimum of InfoNCE on look-up tables (SL Sec. 3 and 4, A.1 to A.5), in float64.

Every symbol and every context has a vector of its own, and the loss is that of an endless batch: SL eq. 2 less the
logarithm of the batch size, so that its infimum is minus the mutual information of symbol and context.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import torch
from scipy import optimize, stats

from clbook.experiments.modadd.equivalence import SAME, cmodadd, conditional_gap, random_table
from clbook.runs import PROGRESS_EVERY, Diverged, iterate, one_thread, recorded_times
from clbook.settings import Outcome, Settings, setting


def pmi(joint):
    """Pointwise mutual information log p(u, rho) / (p(u) p(rho)), (S, P); minus infinity where p(u, rho) = 0."""
    with np.errstate(divide="ignore"):
        return np.log(joint) - np.log(joint.sum(1, keepdims=True)) - np.log(joint.sum(0))


def mutual_information(joint) -> float:
    """I(symbol; context) in nats."""
    seen = joint > 0
    return float(joint[seen] @ pmi(joint)[seen])


def infonce(z, c, joint, over="contexts"):
    """SL eq. 2 for an endless batch: E[-z_u . c_rho + log E_rho' exp(z_u . c_rho')], and its derivative in z c^T, (S, P).

    over="symbols" sums over symbols u' ~ p(u) instead, as SL Lemma A.1 does. z (S, d), c (P, d), joint (S, P).
    """
    if over == "symbols":
        loss, slope = infonce(c, z, joint.T)
        return loss, slope.T
    symbol, logits = joint.sum(1), z @ c.T
    weighted = logits + joint.sum(0).log()
    total = weighted.logsumexp(1)
    return symbol @ total - (joint * logits).sum(), symbol[:, None] * (weighted - total[:, None]).exp() - joint


def update(z, c, joint):
    """SL A.5 in expectation: (pull, push), (S, d) each; the step of z_u is along pull - push = -(dL/dz_u) / p(u).

    pull is the mean of the contexts that the symbol is seen in, push the mean of all contexts by its softmax.
    """
    _, slope = infonce(z, c, joint)
    symbol = joint.sum(1, keepdim=True)
    return joint @ c / symbol, (slope + joint) @ c / symbol


def batch_floor(batch=32, k=8, samples=None) -> float:
    """Least expected loss of SL eq. 2 on CModAdd in a batch: E log(1 + X), X the other contexts that fit the anchor.

    X is Bin(batch - 1, 1/k) for independent draws, hypergeometric where the batch is drawn from `samples` without repeats.
    """
    x = np.arange(batch)
    fits = (stats.binom(batch - 1, 1 / k) if samples is None
            else stats.hypergeom(samples - 1, samples // k - 1, batch - 1))
    return float(fits.pmf(x) @ np.log1p(x))


def l2_distance(decay, N=16, k=8) -> float:
    """Distance of all different symbols of CModAdd at the optimum with decay/2 (|Z|^2 + |C|^2), d >= k - 1 (this book's).

    The optimal logits are a (1[fits] - 1/k); the penalty is decay times their nuclear norm. See the chapter.
    """
    contexts = 2 * N * k
    slope = (k - 1) * decay * np.sqrt(N * contexts) / k  # derivative of the penalty in a
    if slope * k >= k - 1:
        return 0.0
    return float(np.sqrt(2 * np.sqrt(contexts / N) * np.log((k - 1) * (1 - slope) / slope)))


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one optimum (`run`) or of one gradient descent (`flow`)."""

    data: str = setting("table", "a random table, whose contexts come with their labels, or CModAdd",
                        choices=("table", "cmodadd"))
    broken: str = setting("none", "which hypothesis of SL Theorem 3.1 the random table breaks",
                          choices=("none", "answers", "contexts"))
    contexts: int = setting(24, "contexts of the random table, two labels each", low=2, high=1000)
    N: int = setting(16, "symbols of CModAdd", low=2, high=64)
    k: int = setting(8, "modulus of CModAdd, at most N", low=1, high=64)
    d: int = setting(8, "embedding dimensions", low=1, high=256)
    decay: float = setting(0.0, "lambda of the penalty lambda/2 (|Z|^2 + |C|^2)", low=0.0, high=1.0)
    std: float = setting(1.0, "standard deviation of the symbols' start", above=0.0, high=100.0, log=True)
    std_contexts: float = setting(1.0, "standard deviation of the contexts' start", above=0.0, high=100.0, log=True)
    over: str = setting("contexts", "what the softmax runs over: contexts (eq. 2) or symbols (Lemma A.1)",
                        choices=("contexts", "symbols"))
    lr: float = setting(1.0, "learning rate of gradient descent", above=0.0, high=1000.0, log=True)
    steps: int = setting(1000, "steps of gradient descent", unit="steps", low=1, high=1_000_000, log=True)
    seed: int = setting(0, "seed of the table and of the start", low=0, high=2**31)

    def check(self):
        if self.k > self.N:
            raise self.error("k", f"at most N = {self.N}")


@dataclasses.dataclass
class Result(Outcome):
    """Tables at the recorded `steps` (T,): z (T, S, d), c (T, P, d); loss (T,) without the penalty; joint (S, P)."""

    steps: np.ndarray
    z: np.ndarray
    c: np.ndarray
    loss: np.ndarray
    joint: np.ndarray

    def distances(self, frame=-1):
        """Sorted distances of the conditionally equivalent pairs, and of the different pairs."""
        u, v = np.triu_indices(len(self.joint), 1)
        length = np.linalg.norm(self.z[frame, u] - self.z[frame, v], axis=1)
        same = conditional_gap(self.joint)[u, v] <= SAME
        return np.sort(length[same]), np.sort(length[~same])

    def imbalance(self, frame=-1):
        """M = Z'Z - C'C, (d, d), which gradient flow without decay conserves."""
        return self.z[frame].T @ self.z[frame] - self.c[frame].T @ self.c[frame]


class _Tables:
    """Z and C as one tensor x (S + P, d), and the states that were kept."""

    def __init__(self, config):
        made = cmodadd(config.N, config.k) if config.data == "cmodadd" else random_table(
            config.seed, config.broken, config.contexts)
        self.config, self.began, self.kept, self.joint = config, time.perf_counter(), {}, torch.from_numpy(made.labelled)
        generator = torch.Generator().manual_seed(config.seed)
        self.start = torch.randn(sum(self.joint.shape), config.d, generator=generator, dtype=torch.float64)
        for part, std in zip(self.start.split(self.joint.shape), (config.std, config.std_contexts)):
            part *= std

    def slope(self, x):
        """(loss, its gradient in x), both with the penalty."""
        z, c = x.split(self.joint.shape)
        loss, slope = infonce(z, c, self.joint, self.config.over)
        return (loss + self.config.decay / 2 * x.square().sum(),
                torch.cat([slope @ c, slope.T @ z]) + self.config.decay * x)

    def result(self, stopped=False):
        z, c = torch.stack(list(self.kept.values())).split(self.joint.shape, 1)
        loss = [float(infonce(*tables, self.joint, self.config.over)[0]) for tables in zip(z, c)]
        return Result(self.config, time.perf_counter() - self.began, "cpu", stopped, np.array([*self.kept]), z.numpy(),
                      c.numpy(), np.array(loss), self.joint.numpy())


@one_thread()
def run(config: Config, *, progress=None, device=None) -> Result:
    """Minimise by L-BFGS as far as float64 goes; records the start and the end. lr and steps are not used.

    progress as in `separability.run`; device is not used: such small tables are fastest on the CPU.
    """
    tables, last, stopped = _Tables(config), time.monotonic(), False

    def table(flat):
        return torch.from_numpy(flat).view(-1, config.d)

    def watch(flat):
        nonlocal last, stopped
        if progress is not None and time.monotonic() - last > PROGRESS_EVERY:
            tables.kept[1] = table(flat.copy())
            last, stopped = time.monotonic(), progress(0.5, tables.result()) is False
            if stopped:
                raise StopIteration

    def objective(flat):
        return tuple(part.numpy().ravel() for part in tables.slope(table(flat)))

    tables.kept[0] = tables.start
    end = optimize.minimize(objective, tables.start.numpy().ravel(), jac=True, method="L-BFGS-B", callback=watch, options={
        "maxcor": 50, "ftol": 0, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 40_000})
    tables.kept = {0: tables.start, max(1, end.nit): table(end.x)}
    return tables.result(stopped)


def flow(config: Config, *, progress=None, device=None) -> Result:
    """Gradient descent with weight decay, recorded at a geometric series of steps; time is lr times steps.

    Arguments as `run`. Raises ValueError where it diverges, naming lr.
    """
    tables, times = _Tables(config), set(recorded_times(config.steps))

    def record(x, t):
        if t in times:
            tables.kept[t] = x

    try:
        x, t, stopped = iterate(lambda x, t: x - config.lr * tables.slope(x)[1], tables.start, config.steps, record,
                                progress and (lambda fraction: progress(fraction, tables.result())))
    except Diverged as error:
        raise config.diverged("lr", error.step) from error
    tables.kept[t] = x
    return tables.result(stopped)
