"""The long runs of the chapter's network and data, which LS's page shows: how their records are made."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray

from clbook import theory
from clbook.experiments.separability import Config, condition, run
from clbook.results.labelled import padded
from clbook_book.course.separability import series
from clbook_book.records import Recipe, fields

# eps and tau of LS Fig. 3, by panel
PAIRS = {"second": (0.02, 0.1), "third": (1.0, 0.01), "fourth": (1.0, 0.001)}
# Those of the chapter's phase diagram.
EPS = (0.02, 0.1, 0.3, 1.0, 3.0)
TAU = (0.001, 0.01, 0.1, 1.0, 10.0)
# eps, tau and seed of the runs of the phase diagram with a ratio of (e) above 1 that are mixed when they end
MIXED = (
    (0.3, 0.001, 2),
    (1.0, 0.01, 2),
    (3.0, 0.1, 2),
    (1.0, 0.01, 3),
    (0.3, 0.001, 4),
    (1.0, 0.01, 4),
    (3.0, 0.1, 4),
)


def conditions(results) -> dict[str, np.ndarray]:
    """What every record keeps of condition (e): both sides as measured, the times, the spread of z."""
    found = condition.check(results)
    return {
        "left": found.left,
        "right": found.right,
        "delta": found.delta,
        "separable_at": padded([r.separable_at for r in results]),
        "steps": over_time([r.steps for r in results]),
        "width": extents(results),
    }


def over_time(curves) -> np.ndarray:
    """(r, ..., T) curves of runs as one float32 array, NaN where a run had ended."""
    return np.float32(padded(curves))


def extents(results) -> np.ndarray:
    """(r, T) the extent of the embedding over time, NaN where a run had ended."""
    return over_time([np.ptp(r.z[..., 0], axis=1) for r in results])


def phase(results) -> dict[str, np.ndarray]:
    """All that `condition.check` measures, and the extent of the embedding over time."""
    found = vars(condition.check(results)) | {"width": extents(results)}
    for setting in ("eps", "tau", "seed"):
        del found[setting]
    found["separable_at"] = found.pop("steps")  # `steps` would label the axis of the runs
    return found


def checked(record: xarray.Dataset) -> condition.Check:
    """The measurements that `phase` has kept."""
    names = [field.name for field in dataclasses.fields(condition.Check)]
    record = record.rename(separable_at="steps")
    return condition.Check(**{name: record[name].values for name in names})


def figure_3(results) -> dict[str, np.ndarray]:
    """`conditions`, how far the points have moved, and the paths of 20 points at every other recorded time."""
    moved = [np.median(abs(r.z[-1] - r.z[0])) / r.config.eps for r in results]
    labels = [r.labels[::10] for r in results]
    paths = [r.z[::2, ::10, 0].T for r in results]
    return conditions(results) | {
        "moved": np.array(moved),
        "labels": np.stack(labels),
        "path": over_time(paths),
    }


def figure_5(results) -> dict[str, np.ndarray]:
    """`conditions`, and at all recorded times: alignment of the kernel with the labels, sigma^2 / Theta, ratio of (e).

    That ratio, `later`, is the one of Theorem 4.3 with the weights, the gradients and the extent of that time; delta is
    the drift of the kernel from then until separation.
    """
    scatter = [r.sigma2 / r.theta for r in results]
    return conditions(results) | {
        "alignment": over_time([r.alignment for r in results]),
        "scatter": over_time(scatter),
        "later": over_time([ratio_from_then_on(r) for r in results]),
    }


def ratio_from_then_on(result) -> np.ndarray:
    """(T,) left / right of (e) with each recorded time taken for the start; NaN from separation on."""
    config = result.config
    ratio = np.full(len(result.steps), np.nan)
    extent = np.ptp(result.z[..., 0], axis=1)
    before = result.steps < (np.inf if result.separable_at is None else result.separable_at)
    for t in np.flatnonzero(before):
        drifts = result.kernel[before][t:] - result.kernel[t]
        delta = abs(np.linalg.eigvalsh(drifts.astype(float))).max()
        left, right = theory.separation_condition(
            extent[t],
            config.tau,
            config.n,
            result.gamma[t],
            result.theta[t],
            result.sigma2[t],
            delta,
        )
        ratio[t] = left / right
    return ratio


def grid(**settings) -> list[dict]:
    """Settings of the phase diagram up to eps^2 / tau = 100, three seeds."""
    return [
        dict(eps=eps, tau=tau, seed=seed, linger=1.0, **settings)
        for seed in range(3)
        for eps in EPS
        for tau in TAU
        if eps**2 / tau < 101
    ]


AXES = dict.fromkeys(("steps", "width", "alignment", "scatter", "later"), "run step")
PATHS = AXES | {"labels": "run point", "path": "run point other_step"}

PHASE_DIAGRAM_RUNS = tuple(
    Config(steps=4000, linger=4, eps=eps, tau=tau, seed=seed)
    for seed in range(5)
    for eps in EPS
    for tau in TAU
)
PHASE_DIAGRAM = Recipe(
    "25 pairs of eps and tau, five seeds, 4,000 iterations or until four times that of separation",
    run,
    PHASE_DIAGRAM_RUNS,
    phase,
    ("width",),
    start=0.02,
    record=condition.NEEDS,
    axes={"width": "run step"},
)

FIGURE_3_RUNS = tuple(
    Config(n=200, lr_over_tau=0.1, steps=10_000, linger=10.0, eps=eps, tau=tau, seed=seed)
    for eps, tau in PAIRS.values()
    for seed in range(5)
)
FIGURE_3 = Recipe(
    "LS Figure 3, its three pairs of eps and tau, five seeds",
    run,
    FIGURE_3_RUNS,
    figure_3,
    ("width", "path"),
    start=0.02,
    record=condition.NEEDS,
    axes=PATHS,
    named={"panel": np.repeat([*PAIRS], 5)},
    dims=("panel", "seed"),
)

DONUT = dict(data="donut", augmentation="rotation", tau=1.0, lr_over_tau=0.05)
FIGURE_5_RUNS = tuple(
    Config(**DONUT, steps=20_000, linger=1.0, activation=activation, eps=eps, seed=seed)
    for activation in ("tanh", "relu")
    for eps in (0.1, 1.0, 3.0, 10.0)
    for seed in range(5)
)
FIGURE_5 = Recipe(
    "a donut until it separates, tanh and ReLU, eps^2 / tau = .01, 1, 9 and 100, five seeds",
    run,
    FIGURE_5_RUNS,
    figure_5,
    ("width", "alignment"),
    start=0.02,
    record=(*condition.NEEDS, "alignment", "kernel"),
    axes=AXES,
    dims=("activation", "eps", "seed"),
)

PARTIAL_RUNS = tuple(Config(steps=100_000, **one) for one in grid(gradient="partial"))
SLOWEST_RUNS = tuple(
    Config(steps=100_000, linger=1.0, eps=eps, tau=tau, seed=seed) for eps, tau, seed in MIXED
)
TO_THE_END = Recipe(
    "the chapter's phase diagram with the partial gradient, three seeds, and its seven slowest runs, "
    "until they separate",
    run,
    PARTIAL_RUNS + SLOWEST_RUNS,
    conditions,
    ("width",),
    start=0.0005,
    record=condition.NEEDS,
    axes=AXES,
)


def extent(result) -> np.ndarray:
    """(T,) the extent of the embedding over time."""
    return np.ptp(result.z[..., 0], axis=1)


def of_series(says: str, bases: dict) -> Recipe:
    """The Recipe of five seeds of each of {name: Config}."""
    return Recipe(
        says,
        run,
        series.seeded(bases),
        fields(extent=extent),
        ("extent",),
        start=0.05,
        record=series.ASKED,
    )


# What the chapter draws of the phase diagram, and the starts at which it measures how fast the extent grows.
DRAWN = tuple(Config(steps=4000, linger=4, eps=eps, tau=tau) for eps in EPS for tau in TAU)
TIGHT = Config(eps=0.001, lr_over_tau=0.002, record_every=10)
GROWING = tuple(
    TIGHT.replace(gradient=gradient, steps=steps, seed=seed)
    for gradient, steps in (("full", 1200), ("partial", 2400))
    for seed in range(3)
)

CHAPTER = Recipe(
    "25 pairs of eps and tau, and six starts so tight that the extent grows exponentially",
    run,
    DRAWN + GROWING,
    fields(extent=extent),
    ("extent",),
    start=0.05,
    record=condition.NEEDS,
)

RECIPES = {
    "separability-drawn": CHAPTER,
    "separability-clusters": of_series(
        "two clusters from a tight and a wide start, with and without network and views, five seeds",
        series.CLUSTERS,
    ),
    "separability-donuts": of_series(
        "a disc in a ring, three kinds of views and no network, five seeds", series.DONUTS
    ),
    "ls-phase-diagram": PHASE_DIAGRAM,
    "ls-fig-3": FIGURE_3,
    "ls-fig-5": FIGURE_5,
    "ls-to-the-end": TO_THE_END,
}
