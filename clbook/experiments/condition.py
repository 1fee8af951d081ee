"""LS Proposition 4.1 checked on one step, and condition (e) of Theorem 4.3 held against what runs did."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from clbook import kernels, theory
from clbook.experiments.separability import Config, Embedding, Result, dataset, network_flow, view_maker
from clbook.losses import simplified


@dataclasses.dataclass
class Check:
    """One row a run: both sides of condition (e), and whether and when the run separated.

    Attributes (all (r,)):
        eps, tau: the settings. gamma, theta, sigma2: measured at the start. delta: largest drift of the kernel up to
            separation, or to the end.
        left, right: both sides of (e), with delta. ratio, ratio_frozen: left / right with delta, and with delta = 0.
        separated: whether the run separated. steps: iterations it took (NaN otherwise).
        folds: the same time in e-folds of the predicted growth, steps * lr * `theory.growth_rate` (NaN otherwise).
    """

    eps: np.ndarray
    tau: np.ndarray
    gamma: np.ndarray
    theta: np.ndarray
    sigma2: np.ndarray
    delta: np.ndarray
    left: np.ndarray
    right: np.ndarray
    ratio: np.ndarray
    ratio_frozen: np.ndarray
    separated: np.ndarray
    steps: np.ndarray
    folds: np.ndarray

    def confusion(self, ratio, threshold=1.0):
        """((true positives, false positives), (false negatives, true negatives)) of predicting `ratio` > threshold."""
        predicted = ratio > threshold
        return ((int((predicted & self.separated).sum()), int((predicted & ~self.separated).sum())),
                (int((~predicted & self.separated).sum()), int((~predicted & ~self.separated).sum())))

    def auc(self, ratio) -> float:
        """Probability that a run that separated has the larger `ratio`; NaN where all runs did the same."""
        both = self.separated.any() and not self.separated.all()
        return float(roc_auc_score(self.separated, ratio)) if both else float("nan")

    def rank_correlation(self, group) -> float:
        """Spearman's correlation of `group` with the time to separation in e-folds, over runs that separated."""
        return float(spearmanr(group[self.separated], self.folds[self.separated]).statistic)


def check(results: list[Result]) -> Check:
    """Measure condition (e) on network runs with two classes and d = 1, the theorem's setting."""
    rows = []
    for r in results:
        c, lr = r.config, r.config.lr_over_tau * r.config.tau
        until = r.steps <= (r.separable_at if r.separable_at is not None else r.steps[-1])
        measured = {"gamma": r.gamma[0], "theta": r.theta[0], "sigma2": r.sigma2[0], "delta": r.drift[until].max()}
        left, right = theory.separation_condition(c.eps, c.tau, c.n, **measured)
        _, frozen = theory.separation_condition(c.eps, c.tau, c.n, **(measured | {"delta": 0.0}))
        steps = np.nan if r.separable_at is None else r.separable_at
        rows.append({"eps": c.eps, "tau": c.tau, **measured, "left": left, "right": right, "ratio": left / right,
                     "ratio_frozen": left / frozen, "separated": r.separable_at is not None, "steps": steps,
                     "folds": steps * lr * theory.growth_rate(r.theta[0], c.tau, c.gradient)})
    return Check(**{key: np.array([row[key] for row in rows]) for key in rows[0]})


def step_error(config: Config, gradient="partial") -> float:
    """Relative error of LS Proposition 4.1 for one step of the run: |dz - predicted| / |predicted|, in float64.

    The prediction is -(lr/n) sum_j K_ij grad L_j with the kernel and gradient before the step. It is exact for a flow, so
    the error is first order in lr for the gradient that the proposition means, "partial": the one with respect to z_j
    with the views held still. With "full" the step also moves through the views, and the error does not vanish.
    """
    config = config.replace(gradient=gradient)
    x, _ = dataset(config)
    x = x.double()
    embedding = Embedding(config, x)
    view = view_maker(config, x, config.seed + 3)()
    z, v = (part.detach() for part in embedding.pair(view))
    z.requires_grad_()
    (g,) = torch.autograd.grad(config.n * simplified(z, v[None], config.tau), z)
    lr = config.lr_over_tau * config.tau
    predicted = -lr / config.n * torch.einsum("ijkl,jl->ik", kernels.empirical(embedding.net, x), g)
    start, step = network_flow(config, embedding, lambda: view)
    return float((step(start, 1) - start - predicted).norm() / predicted.norm())
