"""The long runs of the chapter's network and data, which LS's page shows: how their records are made."""

from __future__ import annotations

import dataclasses

import numpy as np

from clbook.experiments.separability import Config, condition, run
from clbook.results.records import Recipe, Record

PAIRS = ((0.02, 0.1), (1.0, 0.01), (1.0, 0.001))  # eps and tau of LS Fig. 3
EPS, TAU = (
    (0.02, 0.1, 0.3, 1.0, 3.0),
    (0.001, 0.01, 0.1, 1.0, 10.0),
)  # those of the chapter's phase diagram
MORE = tuple(
    (part, n)
    for part in ({}, dict(eps=1.0, tau=0.02, lr_over_tau=0.05, steps=2000))
    for n in (50, 100, 200)
)
MIXED = (
    (0.3, 0.001),
    (1.0, 0.01),
    (3.0, 0.1),
)  # where a run of the phase diagram may be mixed when it ends, seed 2


def padded(curves) -> np.ndarray:
    """(r, ..., T) arrays of unequal last axis as one float32 array, NaN where a run had ended."""
    longest = max(curve.shape[-1] for curve in curves)
    widths = [[(0, 0)] * (curve.ndim - 1) + [(0, longest - curve.shape[-1])] for curve in curves]
    return np.stack(
        [
            np.pad(curve.astype(np.float32), width, constant_values=np.nan)
            for curve, width in zip(curves, widths, strict=True)
        ]
    )


def separable_at(results) -> np.ndarray:
    """(r,) iterations, NaN where a run has not separated."""
    return np.array([np.nan if r.separable_at is None else r.separable_at for r in results])


def conditions(results) -> dict[str, np.ndarray]:
    """What every record keeps of condition (e): both sides as measured, the settings, the times, the spread of z."""
    found = condition.check(results)
    kept = ("eps", "tau", "seed", "left", "right", "delta")
    return {name: getattr(found, name) for name in kept} | {
        "full": np.array([r.config.gradient == "full" for r in results]),
        "separable_at": separable_at(results),
        "steps": padded([r.steps for r in results]),
        "width": padded([np.ptp(r.z[..., 0], axis=1) for r in results]),
    }


def phase(results) -> dict[str, np.ndarray]:
    """All that `condition.check` measures, and the extent of the embedding over time."""
    return vars(condition.check(results)) | {
        "width": padded([np.ptp(r.z[..., 0], axis=1) for r in results])
    }


def checked(record: Record) -> condition.Check:
    """The measurements that `phase` has kept."""
    return condition.Check(
        **{field.name: record[field.name] for field in dataclasses.fields(condition.Check)}
    )


def figure_3(results) -> dict[str, np.ndarray]:
    """`conditions`, how far the points have moved, and the paths of 20 points at every other recorded time."""
    moved = [np.median(abs(r.z[-1] - r.z[0])) / r.config.eps for r in results]
    return conditions(results) | {
        "moved": np.array(moved),
        "labels": np.stack([r.labels[::10] for r in results]),
        "path": padded([r.z[::2, ::10, 0].T for r in results]),
    }


def figure_5(results) -> dict[str, np.ndarray]:
    """`conditions`, and the alignment of the kernel with the labels at all recorded times; sigma^2 / Theta there."""
    scatter = [r.sigma2 / r.theta for r in results]
    return conditions(results) | {
        "alignment": padded([r.alignment for r in results]),
        "scatter": padded(scatter),
        "activation": np.array([r.config.activation for r in results]),
    }


def grid(**settings) -> list[dict]:
    """Settings of the phase diagram up to eps^2 / tau = 100, three seeds."""
    return [
        dict(eps=eps, tau=tau, seed=seed, linger=1.0, **settings)
        for seed in range(3)
        for eps in EPS
        for tau in TAU
        if eps**2 / tau < 101
    ]


AXES = dict.fromkeys(("steps", "width", "alignment", "scatter"), "run step")
PATHS = AXES | {"labels": "run point", "path": "run point other_step"}

RECIPES = {
    "ls-phase-diagram": Recipe(
        "25 pairs of eps and tau, three seeds, 4,000 iterations or until four times that of separation",
        run,
        tuple(
            Config(steps=4000, linger=4, eps=eps, tau=tau, seed=seed)
            for seed in range(3)
            for eps in EPS
            for tau in TAU
        ),
        phase,
        ("width",),
        start=0.02,
        record=condition.NEEDS,
        axes={"width": "run step"},
    ),
    "ls-more-points": Recipe(
        "two clusters of 50, 100 and 200 points in all, a tight and a wide start, five seeds",
        run,
        tuple(
            Config(linger=1.0, n=n, seed=seed, **change) for change, n in MORE for seed in range(5)
        ),
        conditions,
        ("width",),
        start=0.02,
        record=condition.NEEDS,
        axes=AXES,
    ),
    "ls-fig-3": Recipe(
        "LS Figure 3, its three pairs of eps and tau, five seeds",
        run,
        tuple(
            Config(n=200, lr_over_tau=0.1, steps=10_000, linger=10.0, eps=eps, tau=tau, seed=seed)
            for eps, tau in PAIRS
            for seed in range(5)
        ),
        figure_3,
        ("width", "path"),
        start=0.02,
        record=condition.NEEDS,
        axes=PATHS,
    ),
    "ls-fig-5": Recipe(
        "a donut until it separates, tanh and ReLU, eps^2 / tau = .01, 1, 9 and 100, three seeds",
        run,
        tuple(
            Config(
                data="donut",
                augmentation="rotation",
                tau=1.0,
                eps=eps,
                lr_over_tau=0.05,
                steps=20_000,
                linger=1.0,
                activation=activation,
                seed=seed,
            )
            for activation in ("tanh", "relu")
            for eps in (0.1, 1.0, 3.0, 10.0)
            for seed in range(3)
        ),
        figure_5,
        ("width", "alignment"),
        start=0.02,
        record=(*condition.NEEDS, "alignment"),
        axes=AXES,
    ),
    "ls-to-the-end": Recipe(
        "the chapter's phase diagram with the partial gradient, and its three slowest runs, until they separate",
        run,
        tuple(Config(steps=100_000, **one) for one in grid(gradient="partial"))
        + tuple(Config(steps=100_000, linger=1.0, eps=eps, tau=tau, seed=2) for eps, tau in MIXED),
        conditions,
        ("width",),
        start=0.0005,
        record=condition.NEEDS,
        axes=AXES,
    ),
}
