"""The paper's long runs: how the records of its page are made."""

from __future__ import annotations

import numpy as np

from clbook.experiments import separability, sphere
from clbook.experiments.ls import batches, variants
from clbook.experiments.separability import Config, condition
from clbook.records import Recipe

PAIRS = ((0.02, 0.1), (1.0, 0.01), (1.0, 0.001))  # eps and tau of LS Fig. 3
EPS, TAU = (0.02, 0.1, 0.3, 1.0, 3.0), (0.001, 0.01, 0.1, 1.0, 10.0)  # those of the chapter's phase diagram
MIXED = ((0.3, 0.001), (1.0, 0.01), (3.0, 0.1))  # where a run of the phase diagram may be mixed when it ends, seed 2


def padded(curves) -> np.ndarray:
    """(r, ..., T) arrays of unequal last axis as one float32 array, NaN where a run had ended."""
    longest = max(curve.shape[-1] for curve in curves)
    widths = [[(0, 0)] * (curve.ndim - 1) + [(0, longest - curve.shape[-1])] for curve in curves]
    return np.stack([np.pad(curve.astype(np.float32), width, constant_values=np.nan)
                     for curve, width in zip(curves, widths, strict=True)])


def separable_at(results) -> np.ndarray:
    """(r,) iterations, NaN where a run has not separated."""
    return np.array([np.nan if r.separable_at is None else r.separable_at for r in results])


def conditions(results) -> dict[str, np.ndarray]:
    """What every record keeps of condition (e): both sides as measured, the settings, the times, the spread of z."""
    found = condition.check(results)
    kept = ("eps", "tau", "seed", "left", "right", "delta")
    return {name: getattr(found, name) for name in kept} | {
        "full": np.array([r.config.gradient == "full" for r in results]), "separable_at": separable_at(results),
        "steps": padded([r.steps for r in results]), "width": padded([np.ptp(r.z[..., 0], axis=1) for r in results])}


def figure_3(results) -> dict[str, np.ndarray]:
    """`conditions`, how far the points have moved, and the paths of 20 points at every other recorded time."""
    moved = [np.median(abs(r.z[-1] - r.z[0])) / r.config.eps for r in results]
    return conditions(results) | {"moved": np.array(moved), "labels": np.stack([r.labels[::10] for r in results]),
                                  "path": padded([r.z[::2, ::10, 0].T for r in results])}


def figure_5(results) -> dict[str, np.ndarray]:
    """`conditions`, and the alignment of the kernel with the labels at all recorded times; sigma^2 / Theta there."""
    scatter = [r.sigma2 / r.theta for r in results]
    return conditions(results) | {"alignment": padded([r.alignment for r in results]), "scatter": padded(scatter)}


def figure_4(results) -> dict[str, np.ndarray]:
    """Accuracy of a linear readout of the embedding, and the paths of 20 points."""
    accuracy = [np.array([condition.linear_probe(z, r.labels, z, r.labels) for z in r.z]) for r in results]
    return {"steps": padded([r.steps for r in results]), "accuracy": padded(accuracy),
            "separable_at": separable_at(results), "labels": np.stack([r.labels[::15] for r in results]),
            "path": padded([r.z[:, ::15, 0].T for r in results])}


def figure_6(results) -> dict[str, np.ndarray]:
    """Label accuracy of the nearest neighbours at all recorded times, and when an affine rule was right on all."""
    return {"steps": padded([r.steps for r in results]), "accuracy": padded([r.accuracy for r in results]),
            "separable_at": separable_at(results)}


def grid(**settings) -> list[dict]:
    """Settings of the phase diagram up to eps^2 / tau = 100, three seeds."""
    return [dict(eps=eps, tau=tau, seed=seed, linger=1.0, **settings)
            for seed in range(3) for eps in EPS for tau in TAU if eps**2 / tau < 101]


RECIPES = {
    "ls-fig-3": Recipe(
        "LS Figure 3, its three pairs of eps and tau, five seeds", separability.run,
        tuple(Config(n=200, lr_over_tau=0.1, steps=10_000, linger=10.0, eps=eps, tau=tau, seed=seed)
              for eps, tau in PAIRS for seed in range(5)),
        figure_3, ("width", "path"), start=0.02),
    "ls-fig-5": Recipe(
        "a donut until it separates, at eps^2 / tau = .01, 1, 9 and 100, three seeds", separability.run,
        tuple(Config(data="donut", augmentation="rotation", tau=1.0, eps=eps, lr_over_tau=0.05, steps=20_000,
                     linger=1.0, seed=seed) for eps in (0.1, 1.0, 3.0, 10.0) for seed in range(3)),
        figure_5, ("width", "alignment"), start=0.02),
    "ls-to-the-end": Recipe(
        "the chapter's phase diagram with the partial gradient, and its three slowest runs, until they separate",
        separability.run,
        tuple(Config(steps=100_000, **one) for one in grid(gradient="partial"))
        + tuple(Config(steps=100_000, linger=1.0, eps=eps, tau=tau, seed=2) for eps, tau in MIXED),
        conditions, ("width",), start=0.0005),
    "ls-linear": Recipe(
        "the same phase diagram with 100 random features in place of a network, partial gradient", variants.run,
        tuple(variants.Config(features="random", hidden=(), steps=100_000, **one) for one in grid(gradient="partial")),
        conditions, ("width",), start=0.0005),
    "ls-fig-6": Recipe(
        "LS Figure 6 with 2,000 points, lr = .001 and batches of 200, three seeds", batches.run,
        tuple(sphere.Config(n=2000, lr=0.001, steps=3000, seed=seed) for seed in range(3)),
        figure_6, ("accuracy",), start=0.005),
    "ls-mnist": Recipe(
        "LS Figure 4 on MNIST: three digits, three hidden layers of 100, three seeds", variants.run,
        tuple(variants.Config(data="digits", images="mnist", classes=3, n=300, augmentation="image",
                              hidden=(100, 100, 100), lr_over_tau=0.1, steps=5000, seed=seed) for seed in range(3)),
        figure_4, ("accuracy", "path"), start=0.002),
}
