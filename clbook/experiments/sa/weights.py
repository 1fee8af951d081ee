"""Descent on the weights of an encoder, CL and NSCL side by side (SA App. B), and descent on similarities beside it (SA
App. C). Two encoders: a table of angles on the circle, whose constants are known, and a small smooth network.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch.func import jacrev
from torch.nn.functional import normalize

from clbook import theory
from clbook.experiments.sa.surrogate import Config, Coupled, views
from clbook.runs import alone, stream
from clbook.settings import Outcome

WEIGHTS, DIRECTION = 3, 4  # purposes of the streams of random numbers
HIDDEN, OUT = 8, 3  # of the network
ROUNDS, MOVE = 5, 1e-5  # of the power iteration for beta: steps, and their length


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded, at K times; J (n 2n, p) is the derivative of the table in CL's weights, P = J J^T.

    What is said to be of a step is of the one that begins at the recorded time, with CL's weights and batch.
    """

    steps: np.ndarray  # (K,) recorded steps
    drift: np.ndarray  # (K,) |w^CL - w^NSCL|
    moved: np.ndarray  # (K,) |Sigma(w_t) - Sigma(w_0)|_F of CL
    missed: np.ndarray  # (K,) |Sigma(w_t) - surrogate|_F of CL, E_t of SA eqs. 7 to 9
    cosine: np.ndarray  # (K,) between the movements of Sigma(w_t) and of the surrogate
    stretch: np.ndarray  # (K,) |P|, the largest eigenvalue
    G: np.ndarray  # (K,) the longest gradient of a similarity in the weights (Assumption 2)
    beta: np.ndarray  # (K,) a lower estimate of the smoothness of both losses (Assumption 1)
    pull: np.ndarray  # (K,) |gradient of the loss in the table| of a step
    slope: np.ndarray  # (K,) |gradient of the loss in the weights| of a step
    chain: np.ndarray  # (K,) how far the latter is from J^T times the former
    apart: np.ndarray  # (K,) |gradient of CL's loss in the weights - NSCL's|, Lemma 7's left side
    rest: np.ndarray  # (K,) |R_t| of a step, SA eq. 4
    half: np.ndarray  # (K,) the same for half the step size
    bound: (
        np.ndarray
    )  # (K,) SA Theorem 2, with the constants of the encoder or, where unknown, the estimates
    triangle: np.ndarray  # (K,) 4 G S / tau, a gradient being <= 2 G / tau

    def constants(self) -> dict[str, float]:
        """G, beta, and C_Sigma and M_Sigma of SA App. C: those of the circle, else lower estimates along the path.

        On the circle |R| <= |dw|^2 sqrt(24 n) / 2, from (a - b)^4 <= 8 (a^4 + b^4). P has the eigenvalue 0, so that
        |P - I| is at least 1.
        """
        c, spread = self.config, max(1.0, float(self.stretch.max()) - 1)
        if isinstance(self, Circle):
            return {
                "G": math.sqrt(2),
                "beta": 2 / c.tau**2 + 4 / c.tau,
                "C": spread,
                "M": math.sqrt(24 * c.n),
            }
        curved = 2 * self.rest / (c.eta * self.slope) ** 2
        return {
            "G": float(self.G.max()),
            "beta": float(self.beta.max()),
            "C": spread,
            "M": float(curved.max()),
        }

    def miss_bound(self) -> float:
        """Right side of SA eq. 9 at the end, of a run that is recorded at every step."""
        c, found = self.config, self.constants()
        total, squares = c.eta * c.steps, c.eta**2 * float((self.slope[:-1] ** 2).sum())
        return math.exp(total / (2 * c.tau**2 * c.batch)) * (
            math.sqrt(2) * found["C"] * total / (c.tau * math.sqrt(c.batch))
            + found["M"] / 2 * squares
        )


class Circle(Result):
    """A run's Result for angles on the circle."""


class OnWeights(Coupled):
    """SA eq. 1 beside descent on weights w (R, 2, p), of CL and of NSCL: the base of both encoders."""

    def setup(self):
        super().setup()
        s = self.state
        s.x, w = (
            torch.stack(of) for of in zip(*(self.begun(c) for c in self.configs), strict=True)
        )
        s.start = self.table(w, s.x)
        s.way = torch.stack(
            [
                torch.randn(w.shape[1], dtype=w.dtype, generator=stream(c.seed, DIRECTION))
                for c in self.configs
            ]
        )
        self.trained = [s.start[:, None].repeat(1, 2, 1, 1), w[:, None].repeat(1, 2, 1)]

    def begun(self, config):
        """Inputs (2n, D) and weights (p,) of one run at the start."""
        raise NotImplementedError

    @staticmethod
    def embed(w, x):
        """(..., 2n, k) unit vectors of inputs x (..., 2n, D) by weights w (..., p)."""
        raise NotImplementedError

    def table(self, w, x):
        """Sigma (..., n, 2n) of weights w (..., p)."""
        z = self.embed(w, x)
        return z[..., : z.shape[-2] // 2, :] @ z.mT

    def now(self, t):
        tables, w = (x.detach() for x in self.trained)
        return torch.cat([tables.sum(-1).flatten(1), w.flatten(1)], -1)

    def slopes(self, w, counts):
        """(R, 2, p) gradients of CL's and NSCL's losses at w (R, 2, p), and those in their tables (R, 2, n, 2n)."""
        leaf = w.detach().requires_grad_()
        tables = self.table(leaf, self.state.x[:, None].expand(-1, 2, -1, -1))
        found = self.gradients(tables.detach(), counts)[0]
        return torch.autograd.grad((tables * found).sum(), leaf)[0], found

    def advance(self, t):
        s, (tables, w), counts = self.state, self.trained, self.counts(t)
        step = self.slopes(w, counts)[0]
        with torch.no_grad():
            tables -= s.eta * self.gradients(tables, counts)[0]
            w -= s.eta[..., 0] * step

    def measure(self, z, t):
        s, (tables, w), counts = (
            self.state,
            (x.detach() for x in self.trained),
            self.counts(min(t, self.steps - 1)),
        )
        cl, eta, n = w[:, 0], s.eta[:, 0, 0], self.config.n
        z, dz = (
            self.embed(cl, s.x),
            torch.stack([jacrev(self.embed)(*one) for one in zip(cl, s.x, strict=True)]),
        )
        J = torch.einsum("rik,rjkp->rijp", z[:, :n], dz) + torch.einsum(
            "rjk,rikp->rijp", z, dz[:, :n]
        )
        sims = z[:, :n] @ z.mT
        slope, pull = self.slopes(cl[:, None].repeat(1, 2, 1), counts)
        chained = torch.einsum("rijp,rij->rp", J, pull[:, 0])
        moved, ahead = sims - s.start, tables[:, 0] - s.start

        def left_over(size):
            """R_t of a step of this size (R, 1): what is not linear in it."""
            step = -size * slope[:, 0]
            return self.table(cl + step, s.x) - sims - (J * step[:, None, None]).sum(-1)

        gaps = {
            "drift": w[:, 0] - w[:, 1],
            "moved": moved,
            "missed": sims - tables[:, 0],
            "pull": pull[:, 0],
            "slope": slope[:, 0],
            "chain": slope[:, 0] - chained,
            "apart": slope[:, 0] - slope[:, 1],
            "rest": left_over(eta),
            "half": left_over(eta / 2),
        }
        found = {name: gap.flatten(1).norm(dim=1) for name, gap in gaps.items()}
        flat = J.flatten(1, 2)
        return found | {
            "cosine": (moved * ahead).flatten(1).sum(1)
            / (found["moved"] * ahead.flatten(1).norm(dim=1)),
            "stretch": torch.linalg.eigvalsh(flat.mT @ flat)[:, -1],
            "G": flat.norm(dim=-1).amax(1),
            "beta": self.smoothness(cl[:, None].repeat(1, 2, 1), counts),
        }

    def smoothness(self, w, counts):
        """(R,) a lower estimate of beta: the longest change of a gradient at w (R, 2, p) by the length of the move.

        The moves are those of a power iteration: each goes where the change before it pointed.
        """
        here, way, longest = self.slopes(w, counts)[0], self.state.way[:, None].expand_as(w), 0.0
        for _ in range(ROUNDS):
            move = MOVE * way / way.norm(dim=-1, keepdim=True)
            way = self.slopes(w + move, counts)[0] - here
            longest = torch.clamp(way.norm(dim=-1).amax(1) / MOVE, min=longest)
        return longest

    def result(self, i, columns, head):
        c = head["config"]
        made = self.Result(**head, **columns, bound=np.zeros(0), triangle=np.zeros(0))
        G, beta = (made.constants()[name] for name in ("G", "beta"))
        sums = (
            c.eta * columns["steps"] / c.steps
        )  # step sizes that add up to what they do in so many steps
        made.bound = np.array(
            [
                theory.weight_bound(c.classes, c.batch, c.steps, e, c.tau, c.delta, G, beta)
                for e in sums
            ]
        )
        made.triangle = 4 * G * sums * c.steps / c.tau
        return made


class OnCircle(OnWeights):
    """Each of the 2n inputs is looked up in a table of angles w (2n,)."""

    Result = Circle

    def points(self, config):
        return views(config.replace(d=2))

    def begun(self, config):
        z1, z2, _ = self.points(config)
        z = torch.cat([z1, z2])
        return z, torch.atan2(z[:, 1], z[:, 0])

    @staticmethod
    def embed(w, x):
        return torch.stack([w.cos(), w.sin()], -1)


class OnNetwork(OnWeights):
    """A network with one hidden layer of HIDDEN tanh units; its outputs are scaled to length 1."""

    Result = Result

    def begun(self, config):
        z1, z2, _ = self.points(config)
        shapes = ((config.d, HIDDEN), (1, HIDDEN), (HIDDEN, OUT))
        generator = stream(config.seed, WEIGHTS)
        w = [
            torch.randn(a * b, dtype=z1.dtype, generator=generator) / math.sqrt(a)
            for a, b in shapes
        ]
        return torch.cat([z1, z2]), torch.cat(w)

    @staticmethod
    def embed(w, x):
        W, b, V = w.split([x.shape[-1] * HIDDEN, HIDDEN, HIDDEN * OUT], -1)
        hidden = torch.tanh(x @ W.unflatten(-1, (-1, HIDDEN)) + b[..., None, :])
        return normalize(hidden @ V.unflatten(-1, (HIDDEN, OUT)), dim=-1)


def run_circle(config: Config, *, progress=None, device=None) -> Circle:
    """Gradient descent on weights, where SA's Assumptions 1 and 2 hold with known constants; arguments as in `run`.

    The encoder looks each of the 2n inputs up in a table of angles w and puts it there on the circle: Sigma_ik(w) =
    cos(w_i - w_k), so G = sqrt(2) and beta <= 2 / tau^2 + 4 / tau. SA eq. 1 runs beside it from Sigma(w_0).
    """
    return alone(OnCircle, config, progress, device)


def run_network(config: Config, *, progress=None, device=None) -> Result:
    """Gradient descent on the weights of a small smooth network, as `run_circle`; its constants are estimated."""
    return alone(OnNetwork, config, progress, device)


run_circle.program, run_network.program = OnCircle, OnNetwork
