"""The exact optimum of InfoNCE on look-up tables (SL Sec. 3 and 4, A.1 to A.5), in float64.

Every symbol and every context has a vector of its own, and the loss is that of an endless batch: SL eq. 2 less the
logarithm of the batch size, so that its infimum is minus the mutual information of symbol and context.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import numpy as np
import scipy
import torch
from torch import Tensor

from clbook.experiments.modadd.equivalence import (
    SAME,
    Finite,
    cmodadd_table,
    conditional_gap,
    random_table,
)
from clbook.training.loop import PROGRESS_EVERY, Training, one_thread, wanted
from clbook.training.optim import sgd
from clbook.training.settings import Outcome, Settings, quantity, recorded, seed_of, setting
from clbook.training.shown import distance_ratio, on_main_axes
from clbook.training.streams import stream

START = 0  # purpose of the stream of random numbers

AXES = {"contexts": -1, "symbols": -2}  # of (..., S, P), by what the softmax runs over

STOPPED = 99  # scipy's status of a minimisation that its callback ended


def pmi(joint: np.ndarray) -> np.ndarray:
    """Pointwise mutual information log p(u, rho) / (p(u) p(rho)), (S, P); minus infinity where p(u, rho) = 0."""
    with np.errstate(divide="ignore"):
        symbols = np.log(joint.sum(1, keepdims=True))
        contexts = np.log(joint.sum(0))
        return np.log(joint) - symbols - contexts


def mutual_information(joint: np.ndarray) -> float:
    """I(symbol; context) in nats."""
    seen = joint > 0
    return float(joint[seen] @ pmi(joint)[seen])


def infonce(z: Tensor, c: Tensor, joint: Tensor, over: str = "contexts") -> tuple[Tensor, Tensor]:
    """SL eq. 2 for an endless batch: E[-z_u . c_rho + log E_rho' exp(z_u . c_rho')], and its derivative in z c^T.

    over="symbols" sums over symbols u' ~ p(u) instead, as SL Lemma A.1 does.
    Args: z (..., S, d), c (..., P, d), joint (..., S, P). Returns: (...) and (..., S, P).
    """
    axis = AXES[over]
    anchors, prior = marginals(joint, over)
    logits = z @ c.mT
    scores = logits + prior
    total = scores.logsumexp(axis, keepdim=True)
    push = (anchors * total).sum((-2, -1))
    pull = (joint * logits).sum((-2, -1))
    chosen = scores.softmax(axis)
    slope = anchors * chosen - joint
    return push - pull, slope


def marginals(joint: Tensor, over: str) -> tuple[Tensor, Tensor]:
    """p of the anchors, and log p of what the softmax runs over; both broadcast against joint (..., S, P)."""
    axis = AXES[over]
    anchors = joint.sum(axis, keepdim=True)
    prior = joint.sum(-3 - axis, keepdim=True)  # over the other axis
    return anchors, prior.log()


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Settings of one optimum (`run`) or of one gradient descent (`flow`)."""

    data: str = setting(
        "table",
        "a random table, whose contexts come with their labels, or CModAdd",
        choices=("table", "cmodadd"),
    )
    broken: str = setting(
        "none",
        "which hypothesis of SL Theorem 3.1 the random table breaks",
        choices=("none", "answers", "contexts"),
        each=True,
    )
    contexts: int = setting(24, "contexts of the random table, two labels each", low=2, high=1000)
    N: int = setting(16, "symbols of CModAdd", low=2, high=64)
    k: int = setting(8, "modulus of CModAdd, at most N", low=1, high=64)
    d: int = setting(8, "embedding dimensions", low=1, high=256)
    decay: float = setting(
        0.0, "lambda of the penalty lambda/2 (|Z|^2 + |C|^2)", low=0.0, high=1.0, each=True
    )
    std: float = setting(
        1.0, "standard deviation of the symbols' start", above=0.0, high=100.0, log=True, each=True
    )
    std_contexts: float = setting(
        1.0, "standard deviation of the contexts' start", above=0.0, high=100.0, log=True, each=True
    )
    over: str = setting(
        "contexts",
        "what the softmax runs over: contexts (eq. 2) or symbols (Lemma A.1)",
        choices=("contexts", "symbols"),
    )
    lr: float = setting(
        1.0, "learning rate of gradient descent", above=0.0, high=1000.0, log=True, each=True
    )
    steps: int = setting(
        1000, "steps of gradient descent", unit="steps", low=1, high=1_000_000, log=True
    )
    seed: int = seed_of("the table and of the start")

    def check(self):
        if self.k > self.N:
            raise self.error("k", f"at most N = {self.N}")


@dataclasses.dataclass
class Result(Outcome):
    """What one optimum or one gradient descent recorded."""

    steps: np.ndarray = recorded("steps")
    z: np.ndarray = quantity("table of the symbols", dims="step symbol dim")
    c: np.ndarray = quantity("table of the contexts", dims="step context dim")
    loss: np.ndarray = quantity("SL eq. 2 for an endless batch, without the penalty", dims="step")
    joint: np.ndarray = quantity("p(symbol, context)", dims="symbol context")

    def distances(self, frame: int = -1) -> tuple[np.ndarray, np.ndarray]:
        """Sorted distances of the conditionally equivalent pairs, and of the different pairs."""
        u, v, length = all_distances(self.z[frame])
        same = conditional_gap(self.joint)[u, v] <= SAME
        return np.sort(length[same]), np.sort(length[~same])

    def imbalance(self, frame: int = -1) -> np.ndarray:
        """M = Z'Z - C'C, (d, d), which gradient flow without decay conserves."""
        z = self.z[frame]
        c = self.c[frame]
        return z.T @ z - c.T @ c


def all_distances(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u < v of all pairs of rows of z (S, d), and |z_u - z_v|: three arrays (pairs,)."""
    u, v = np.triu_indices(len(z), 1)
    return u, v, np.linalg.norm(z[u] - z[v], axis=1)


def distribution(config: Config) -> Finite:
    """What the tables of a run are fitted to."""
    if config.data == "cmodadd":
        return cmodadd_table(config.N, config.k)
    return random_table(config.seed, config.broken, config.contexts)


def start(config: Config, joint: np.ndarray) -> tuple[Tensor, Tensor]:
    """Z (S, d) and C (P, d) from which a run starts; joint (S, P) is what it is fitted to."""
    generator = stream(config.seed, START)
    sizes = joint.shape
    z, c = torch.randn(sum(sizes), config.d, generator=generator, dtype=torch.float64).split(sizes)
    return config.std * z, config.std_contexts * c


class LookupTables(Training):
    """R gradient descents with weight decay on the tables Z (R, S, d) and C (R, P, d), in float64.

    They are recorded at a geometric series of steps; time is lr times steps.
    """

    Result = Result

    def setup(self):
        c = self.config
        s = self.state
        self.joints = []
        starts = []
        for config in self.configs:
            joint = distribution(config).labelled
            self.joints.append(joint)
            starts.append(start(config, joint))
        joints = np.stack(self.joints)
        s.joint = torch.from_numpy(joints)
        symbols = np.arange(joints.shape[1])
        pairs = symbols // 2  # those of the random table
        self.labels = symbols % c.k if c.data == "cmodadd" else pairs
        s.decay = self.column("decay", torch.float64)
        s.lr = self.column("lr", torch.float64)
        s.weights = [torch.stack(tables) for tables in zip(*starts, strict=True)]

    def forward(self, s, drawn, t):
        """Both tables, (R, S + P, d); the step has its gradient in closed form and needs no losses."""
        return torch.cat(s.weights, 1), None

    @torch.no_grad()
    def step(self, s, drawn, losses, t):
        """Along the gradient of the loss and of the penalty decay/2 (|Z|^2 + |C|^2).

        In closed form, since autograd takes twice as long.
        """
        z, c = s.weights
        _, slope = infonce(z, c, s.joint, self.config.over)  # the derivative in z c'
        of_z = slope @ c + s.decay * z
        return {"weights": sgd(s.weights, [of_z, slope.mT @ z + s.decay * c], s.lr)}

    @torch.no_grad()
    def measure(self, s, z, losses, t):
        """Both tables, and their losses without the penalty."""
        z, c = s.weights
        losses, _ = infonce(z, c, s.joint, self.config.over)
        return {"z": z, "c": c, "loss": losses}

    def shown(self, s, recorded):
        """The symbols on their two main axes, and the distance of equivalent pairs over that of different ones."""
        z = recorded["z"]
        same = torch.as_tensor(conditional_gap(self.joints[0]) <= SAME)
        return {"plane": on_main_axes(z), "ratio": distance_ratio(z, same)}

    def result(self, i, columns, head):
        return Result(**head, **columns, joint=self.joints[i])


flow = LookupTables.run


@one_thread()
def run(config: Config, *, progress=None, device=None, record: Sequence[str] = ()) -> Result:
    """Minimise by L-BFGS as far as float64 goes; records the start and the end. lr and steps are not used.

    Args:
        config, progress, record: as for `Training.run`.
        device: not used: one minimisation of such small tables is fastest on the CPU.
    """
    wanted(Result, record)
    began = told = time.monotonic()
    table = distribution(config).labelled
    joint = torch.from_numpy(table)
    first = torch.cat(start(config, table)).numpy().ravel()

    def unpacked(flat):
        """Z (S, d) and C (P, d) of a flat array."""
        return torch.from_numpy(flat).view(-1, config.d).split(table.shape)

    def objective(flat):
        """The loss with its penalty, and the gradient."""
        z, c = unpacked(flat)
        loss, slope = infonce(z, c, joint, config.over)
        penalty = config.decay / 2 * (flat @ flat)
        gradient = torch.cat([slope @ c, slope.T @ z]).numpy().ravel()
        return loss.item() + penalty, gradient + config.decay * flat

    def result(steps, flat, stopped):
        """The start, and the tables after that many steps."""
        ends = unpacked(first), unpacked(flat)
        losses = []
        for z, c in ends:
            loss, _ = infonce(z, c, joint, config.over)
            losses.append(loss.item())
        head = {"config": config, "device": "cpu", "stopped": stopped}
        head["seconds"] = time.monotonic() - began
        z = np.stack([z.numpy() for z, _ in ends])
        c = np.stack([c.numpy() for _, c in ends])
        times = np.array([0, steps])
        loss = np.array(losses)
        return Result(**head, steps=times, z=z, c=c, loss=loss, joint=table)

    def watch(flat):
        nonlocal told
        if progress is not None and time.monotonic() - told > PROGRESS_EVERY:
            told = time.monotonic()
            if progress(0.5, result(1, flat.copy(), True)) is False:
                raise StopIteration

    end = scipy.optimize.minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        callback=watch,
        options={"maxcor": 50, "ftol": 0, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 40_000},
    )
    return result(max(1, end.nit), end.x, end.status == STOPPED)
