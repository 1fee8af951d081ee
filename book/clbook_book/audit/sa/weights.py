"""Descent on the weights of an encoder, CL and NSCL side by side (SA App. B), and descent on similarities beside it (SA
App. C). The encoders: a table of angles on the circle, whose constants are known; smooth networks; free embeddings.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch
from torch.func import jacfwd, vmap
from torch.nn.functional import normalize

from clbook import theory
from clbook.training.loop import State
from clbook.training.optim import sgd
from clbook.training.settings import Outcome, quantity
from clbook.training.streams import stream
from clbook_book.audit.sa.surrogate import Config, Coupled, batch_gradients, so_far, views

WEIGHTS, DIRECTION = 3, 4  # purposes of the streams of random numbers
ROUNDS, MOVE = 5, 1e-5  # of the power iteration for beta: steps, and their length
TIGHT = 1e-4  # standard deviation of angles that are nearly collapsed
CIRCLE_G = math.sqrt(
    2
)  # Assumption 2 on the circle: a similarity is the cosine of a difference of two angles


def circle_beta(tau: float) -> float:
    """Smoothness of both losses on the circle, Assumption 1."""
    return 2 / tau**2 + 4 / tau


@dataclasses.dataclass
class Result(Outcome):
    """What one run recorded; J (n 2n, p) is the derivative of the table in CL's weights, P = J J^T.

    What is said to be of a step is of the one that begins at the recorded time, with CL's weights and batch.
    """

    steps: np.ndarray = quantity("recorded steps", dims="step", unit="steps")
    drift: np.ndarray = quantity("|w^CL - w^NSCL|", dims="step")
    moved: np.ndarray = quantity("|Sigma(w_t) - Sigma(w_0)|_F of CL", dims="step")
    missed: np.ndarray = quantity(
        "|Sigma(w_t) - surrogate|_F of CL, E_t of SA eqs. 7 to 9", dims="step"
    )
    cosine: np.ndarray = quantity(
        "between the movements of Sigma(w_t) and of the surrogate", dims="step", on_request=True
    )
    stretch: np.ndarray = quantity("|P|, the largest eigenvalue", dims="step", on_request=True)
    G: np.ndarray = quantity(
        "the longest gradient of a similarity in the weights (Assumption 2)",
        dims="step",
        on_request=True,
    )
    beta: np.ndarray = quantity(
        "a lower estimate of the smoothness of both losses (Assumption 1)",
        dims="step",
        on_request=True,
    )
    pull: np.ndarray = quantity(
        "|gradient of the loss in the table| of a step", dims="step", on_request=True
    )
    slope: np.ndarray = quantity(
        "|gradient of the loss in the weights| of a step", dims="step", on_request=True
    )
    chain: np.ndarray = quantity(
        "how far the latter is from J^T times the former", dims="step", on_request=True
    )
    apart: np.ndarray = quantity(
        "|gradient of CL's loss in the weights - NSCL's|, Lemma 7's left side",
        dims="step",
        on_request=True,
    )
    rest: np.ndarray = quantity("|R_t| of a step, SA eq. 4", dims="step", on_request=True)
    half: np.ndarray = quantity("|R_t| of a step of half the size", dims="step", on_request=True)
    bound: np.ndarray = quantity(
        "SA Theorem 2, with the constants of the encoder or, where unknown, the estimates",
        dims="step",
        on_request=True,
    )
    triangle: np.ndarray = quantity(
        "4 G S / tau, S the sum of the step sizes: a gradient is at most 2 G / tau",
        dims="step",
        on_request=True,
    )

    def constants(self) -> dict[str, float]:
        """Lower estimates along the path of G, beta, and C_Sigma and M_Sigma of SA App. C.

        P has the eigenvalue 0, so that |P - I| is at least 1.
        """
        curved = 2 * self.rest / (self.config.eta * self.slope) ** 2
        return {
            "G": float(self.G.max()),
            "beta": float(self.beta.max()),
            "C": max(1.0, float(self.stretch.max()) - 1),
            "M": float(curved.max()),
        }

    def miss_bound(self) -> float:
        """Right side of SA eq. 9 at the end, of a run that is recorded at every step."""
        c, found = self.config, self.constants()
        total = c.eta * c.steps
        squares = c.eta**2 * float((self.slope[:-1] ** 2).sum())
        grown = math.exp(total / (2 * c.tau**2 * c.batch))
        pulled = math.sqrt(2) * found["C"] * total / (c.tau * math.sqrt(c.batch))
        return grown * (pulled + found["M"] / 2 * squares)


class Circle(Result):
    """A run's Result for angles on the circle."""

    def constants(self) -> dict[str, float]:
        """G, beta, and C_Sigma and M_Sigma of SA App. C: known, but for C_Sigma.

        |R| <= |dw|^2 sqrt(24 n) / 2, from (a - b)^4 <= 8 (a^4 + b^4).
        """
        c = self.config
        known = {"G": CIRCLE_G, "beta": circle_beta(c.tau), "M": math.sqrt(24 * c.n)}
        return super().constants() | known


class OnWeights(Coupled):
    """SA eq. 1 beside descent on weights w (R, 2, p), of CL and of NSCL: the base of both encoders."""

    Result = Result
    beside = 40  # the tables are small here: two take 1.1 times as long as one

    def setup(self):
        super().setup()
        s = self.state
        begun = [self.begun(config) for config in self.configs]
        s.x = torch.stack([x for x, _ in begun])  # (R, 2n, D)
        w = torch.stack([w for _, w in begun])  # (R, p)
        s.start = self.table(w, s.x)  # (R, n, 2n)
        s.weights = [torch.stack([s.start, s.start], 1), torch.stack([w, w], 1)]
        directions = []
        for config in self.configs:
            directions.append(
                torch.randn(w.shape[1], dtype=w.dtype, generator=stream(config.seed, DIRECTION))
            )
        s.way = torch.stack(directions)

    def begun(self, config: Config) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs (2n, D) and weights (p,) of one run at the start."""
        raise NotImplementedError

    def embed(self, w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """(..., 2n, k) unit vectors of inputs x (..., 2n, D) by weights w (..., p)."""
        raise NotImplementedError

    def smoothness_of(self, config: Config, columns: dict) -> tuple[float, float]:
        """G and beta of a run: the largest of what was recorded, where they are not known."""
        return float(columns["G"].max()), float(columns["beta"].max())

    def table(self, w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Sigma (..., n, 2n) of weights w (..., p)."""
        z = self.embed(w, x)
        return z[..., : z.shape[-2] // 2, :] @ z.mT

    def slopes(self, s: State, w: torch.Tensor, t: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Gradients of CL's and NSCL's losses of step t: at w (R, 2, p), and in their tables (R, 2, n, 2n).

        After the last step there is no batch: the last one is taken.
        """
        counts = self.counts(s, min(t, self.steps - 1))
        leaf = w.detach().requires_grad_()
        tables = self.table(leaf, s.x[:, None].expand(-1, 2, -1, -1))
        pulls = batch_gradients(tables.detach(), counts, s.labels, s.tau)
        (slopes,) = torch.autograd.grad((tables * pulls).sum(), leaf)
        return slopes, pulls

    def forward(self, s, drawn, t):
        tables, w = (x.detach() for x in s.weights)
        # The losses' gradients are written out, see `slopes`.
        return torch.cat([tables.sum(-1).flatten(1), w.flatten(1)], -1), None

    def step(self, s, drawn, losses, t):
        tables, w = (x.detach() for x in s.weights)
        slopes, _ = self.slopes(s, w, t)
        pulls = batch_gradients(tables, self.counts(s, t), s.labels, s.tau)
        return {"weights": sgd([tables, w], [pulls, slopes], s.eta)}

    # What is recorded.

    def measure(self, s, z, losses, t):
        tables, w = (x.detach() for x in s.weights)
        cl, nscl = w.unbind(1)  # (R, p)
        sims = self.table(cl, s.x)  # (R, n, 2n)
        moved = (sims - s.start).flatten(1)
        ahead = (tables[:, 0] - s.start).flatten(1)
        row = {"drift": length(cl - nscl), "moved": length(moved), "missed": length(moved - ahead)}
        row["cosine"] = (moved * ahead).sum(1) / (length(moved) * length(ahead))
        if set(self.record) - {"cosine"}:  # all else needs J, which is large
            row["beta"] = self.smoothness(s, cl, t)
            row |= self.of_a_step(s, cl, sims, t)
        return row

    def of_a_step(self, s: State, w: torch.Tensor, sims: torch.Tensor, t: int) -> dict:
        """What is recorded of the step from CL's weights w (R, p), where its table is sims (R, n, 2n)."""
        row = {}
        J = vmap(jacfwd(self.table))(w, s.x)  # (R, n, 2n, p)
        flat = J.flatten(1, 2)  # (R, n 2n, p)
        row["stretch"] = torch.linalg.eigvalsh(flat.mT @ flat)[:, -1]
        row["G"] = flat.norm(dim=-1).amax(1)

        slopes, pulls = self.slopes(s, torch.stack([w, w], 1), t)
        slope, pull = slopes[:, 0], pulls[:, 0]  # CL's
        row["pull"], row["slope"] = length(pull), length(slope)
        row["apart"] = length(slope - slopes[:, 1])
        row["chain"] = length(slope - torch.einsum("rijp,rij->rp", J, pull))

        for name, share in (("rest", 1.0), ("half", 0.5)):
            step = -share * s.eta[:, 0, 0] * slope
            linear = torch.einsum("rijp,rp->rij", J, step)
            row[name] = length(self.table(w + step, s.x) - sims - linear)  # R_t
        return row

    def smoothness(self, s: State, w: torch.Tensor, t: int) -> torch.Tensor:
        """(R,) a lower estimate of beta: the longest change of a gradient at w (R, p) by the length of the move.

        The moves are those of a power iteration: each goes where the change before it pointed.
        """
        w = torch.stack([w, w], 1)  # of CL's loss and of NSCL's
        here, _ = self.slopes(s, w, t)
        way = s.way[:, None].expand_as(w)
        found = []
        for _ in range(ROUNDS):
            move = MOVE * way / way.norm(dim=-1, keepdim=True)
            there, _ = self.slopes(s, w + move, t)
            way = there - here
            found.append(way.norm(dim=-1).amax(1) / MOVE)
        return torch.stack(found).amax(0)

    def ending(self, s):
        return {}

    def result(self, i, columns, head):
        c, steps = head["config"], columns["steps"]
        if self.wants("bound", "triangle"):
            G, beta = self.smoothness_of(c, columns)
            columns["bound"] = np.array(
                [
                    theory.weight_bound(c.classes, c.batch, c.steps, eta, c.tau, c.delta, G, beta)
                    for eta in so_far(c, steps)
                ]
            )
            columns["triangle"] = 4 * G * c.eta * steps / c.tau
        names = ("steps", "drift", "moved", "missed", *self.record)
        return self.Result(**head, **{name: columns[name] for name in names})


def length(x: torch.Tensor) -> torch.Tensor:
    """(R,) Euclidean length of each of x (R, ...)."""
    return x.flatten(1).norm(dim=1)


class OnCircle(OnWeights):
    """Gradient descent on weights, where SA's Assumptions 1 and 2 hold with known constants.

    The encoder looks each of the 2n inputs up in a table of angles w (2n,) and puts it there on the circle: Sigma_ik(w)
    = cos(w_i - w_k), so G = sqrt(2) and beta <= 2 / tau^2 + 4 / tau. SA eq. 1 runs beside it from Sigma(w_0).
    """

    Result = Circle

    def points(self, config):
        return views(config.replace(d=2))

    def begun(self, config):
        z1, z2, _ = self.points(config)
        z = torch.cat([z1, z2])
        return z, torch.atan2(z[:, 1], z[:, 0])

    def embed(self, w, x):
        return torch.stack([w.cos(), w.sin()], -1)

    def smoothness_of(self, config, columns):
        return CIRCLE_G, circle_beta(config.tau)


class FromOneAngle(OnCircle):
    """Angles on the circle that begin within TIGHT of each other: nearly collapsed."""

    def begun(self, config):
        z, w = super().begun(config)
        generator = stream(config.seed, WEIGHTS)
        return z, TIGHT * torch.randn(w.shape, dtype=w.dtype, generator=generator)


class Free(OnWeights):
    """Gradient descent on the embeddings themselves, d numbers for each of the 2n inputs; no input shares a weight."""

    def begun(self, config):
        z1, z2, _ = self.points(config)
        z = torch.cat([z1, z2])
        return z, z.flatten()

    def embed(self, w, x):
        return normalize(w.unflatten(-1, (x.shape[-2], -1)), dim=-1)


class OnNetwork(OnWeights):
    """Gradient descent on the weights of a network with one hidden layer of `hidden` tanh units; its `out` outputs are
    scaled to length 1. Its constants are estimated.
    """

    hidden, out = 8, 3

    def begun(self, config):
        z1, z2, _ = self.points(config)
        generator = stream(config.seed, WEIGHTS)
        layers = []
        for rows, columns in ((config.d, self.hidden), (1, self.hidden), (self.hidden, self.out)):
            layer = torch.randn(rows * columns, dtype=z1.dtype, generator=generator)
            layers.append(layer / math.sqrt(rows))
        return torch.cat([z1, z2]), torch.cat(layers)

    def embed(self, w, x):
        h = self.hidden
        W, b, V = w.split([x.shape[-1] * h, h, h * self.out], -1)
        hidden = torch.tanh(x @ W.unflatten(-1, (-1, h)) + b[..., None, :])
        return normalize(hidden @ V.unflatten(-1, (h, self.out)), dim=-1)


class OnWideNetwork(OnNetwork):
    """The same with 512 hidden units and 128 outputs, as many as SA's projector has."""

    hidden, out = 512, 128


run_circle, run_network = OnCircle.run, OnNetwork.run
run_from_one_angle, run_free, run_wide_network = FromOneAngle.run, Free.run, OnWideNetwork.run
