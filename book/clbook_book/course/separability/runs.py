"""What was run for the chapter, and with its network and data for LS's page."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from clbook.experiments.separability import Config, condition, run
from clbook.results.labelled import padded
from clbook.results.sweep import combined
from clbook_book.records import by_name, documented, fields, recorded

FIVE = range(5)  # seeds
ASKED = (*condition.NEEDS, "alignment")  # what condition (e) asks for, and the kernel's alignment
# eps and tau of LS Fig. 3, by panel
PAIRS = {"second": (0.02, 0.1), "third": (1.0, 0.01), "fourth": (1.0, 0.001)}
# Those of the chapter's phase diagram.
EPS = (0.02, 0.1, 0.3, 1.0, 3.0)
TAU = (0.001, 0.01, 0.1, 1.0, 10.0)
AXES = dict.fromkeys(("steps", "width", "alignment"), "run step")


def extent(result) -> np.ndarray:
    """(T,) the extent of the embedding over time."""
    return np.ptp(result.z[..., 0], axis=1)


def rows(curves) -> np.ndarray:
    """(r, ..., T) curves of runs as one float32 array, NaN where a run had ended."""
    return np.float32(padded(curves))


def conditions(results) -> dict[str, np.ndarray]:
    """What every record keeps of condition (e): both sides as measured, the times, the spread of z."""
    found = condition.check(results)
    return {
        "left": found.left,
        "right": found.right,
        "delta": found.delta,
        "separable_at": padded([r.separable_at for r in results]),
        "steps": rows([r.steps for r in results]),
        "width": rows([extent(r) for r in results]),
    }


# What these are, and what `condition.check` gives, in words.
WORDS = documented(condition.Check) | {"width": "extent of the embedding"}

# The chapter's own.


TIGHT = Config(eps=0.1, tau=1.0, steps=100)
# Two clusters, through the network and without, from a tight and a wide start.
CLUSTERS = {
    "eps^2/tau = .01, network": TIGHT,
    "eps^2/tau = .01, vanilla": TIGHT.replace(network=False),
    "eps^2/tau = 300, network": Config(eps=1.0, tau=1 / 300, steps=5000, linger=1),
    "eps^2/tau = .01, network, no views": TIGHT.replace(augmentation="none"),
}


@recorded(
    "separability-clusters",
    run,
    CLUSTERS.values(),
    seeds=FIVE,
    keep=fields(extent=extent),
    curves=("extent",),
    start=0.05,
    record=ASKED,
)
def repeats(runs):
    """Two clusters from a tight and a wide start, with and without network and views, five seeds."""
    return by_name(CLUSTERS, runs)


TURNED = Config(data="donut", augmentation="rotation", lr_over_tau=0.1, steps=300)
# A disc in a ring, by its views.
DONUTS = {
    "rotation": TURNED,
    "noise": TURNED.replace(augmentation="noise"),
    "none": TURNED.replace(augmentation="none"),
    "rotation, but no network": TURNED.replace(network=False),
}


@recorded(
    "separability-donuts",
    run,
    DONUTS.values(),
    seeds=FIVE,
    keep=fields(extent=extent),
    curves=("extent",),
    start=0.05,
    record=ASKED,
)
def donuts(runs):
    """A disc in a ring, three kinds of views and no network, five seeds."""
    return by_name(DONUTS, runs)


GROWING = Config(eps=0.001, lr_over_tau=0.002, record_every=10)


@recorded(
    "separability-drawn",
    run,
    combined(Config(steps=4000, linger=4), eps=EPS, tau=TAU)
    + combined(GROWING.replace(gradient="full", steps=1200), seed=range(3))
    + combined(GROWING.replace(gradient="partial", steps=2400), seed=range(3)),
    keep=fields(extent=extent),
    curves=("extent",),
    start=0.05,
    record=condition.NEEDS,
)
def drawn(runs):
    """25 pairs of eps and tau, and six starts so tight that the extent grows exponentially."""
    return runs


# LS's: its Figures 3 and 5, and condition (e).


@recorded(
    "ls-phase-diagram",
    run,
    combined(Config(steps=4000, linger=4), seed=FIVE, eps=EPS, tau=TAU),
    curves=("width",),
    start=0.02,
    record=condition.NEEDS,
    axes={"width": "run step"},
    words=WORDS,
)
def phase_diagram(results):
    """25 pairs of eps and tau, five seeds, 4,000 iterations or until four times that of separation."""
    found = vars(condition.check(results)) | {"width": rows([extent(r) for r in results])}
    for setting in ("eps", "tau", "seed"):
        del found[setting]
    found["separable_at"] = found.pop("steps")  # `steps` would label the axis of the runs
    return found


@functools.cache
def measured() -> condition.Check:
    """What `condition.check` gives of the phase diagram's runs."""
    record = phase_diagram().rename(separable_at="steps")
    names = [field.name for field in dataclasses.fields(condition.Check)]
    return condition.Check(**{name: record[name].values for name in names})


LONG = Config(n=200, lr_over_tau=0.1, steps=10_000, linger=10.0)


@recorded(
    "ls-fig-3",
    run,
    [LONG.replace(eps=eps, tau=tau) for eps, tau in PAIRS.values()],
    seeds=FIVE,
    curves=("width", "path"),
    start=0.02,
    record=condition.NEEDS,
    axes=AXES | {"labels": "run point", "path": "run point other_step"},
    named={"panel": np.repeat([*PAIRS], 5)},
    words=WORDS,
    dims=("panel", "seed"),
)
def figure_3(results):
    """LS Figure 3, its three pairs of eps and tau, five seeds.

    Keeps, beside `conditions`:
        moved: median distance that a point has moved, as a share of eps.
        path: the embedding of 20 points at every other recorded time.
    """
    return conditions(results) | {
        "moved": np.array([np.median(abs(r.z[-1] - r.z[0])) / r.config.eps for r in results]),
        "labels": np.stack([r.labels[::10] for r in results]),
        "path": rows([r.z[::2, ::10, 0].T for r in results]),
    }


@recorded(
    "ls-fig-5",
    run,
    combined(
        Config(
            data="donut",
            augmentation="rotation",
            tau=1.0,
            lr_over_tau=0.05,
            steps=20_000,
            linger=1.0,
        ),
        activation=("tanh", "relu"),
        eps=(0.1, 1.0, 3.0, 10.0),
        seed=FIVE,
    ),
    curves=("width", "alignment"),
    start=0.02,
    record=ASKED,
    axes=AXES,
    words=WORDS,
    dims=("activation", "eps", "seed"),
)
def figure_5(results):
    """A donut until it separates, tanh and ReLU, eps^2 / tau = .01, 1, 9 and 100, five seeds.

    Keeps, beside `conditions`:
        alignment: of the kernel with the labels, over time.
    """
    return conditions(results) | {"alignment": rows([r.alignment for r in results])}


def grid(base) -> list:
    """The settings of the phase diagram up to eps^2 / tau = 100, three seeds, each until it separates."""
    every = combined(base.replace(linger=1.0), seed=range(3), eps=EPS, tau=TAU)
    return [config for config in every if config.eps**2 / config.tau < 101]


# eps, tau and seed of the runs of the phase diagram with a ratio of (e) above 1 that are mixed when they end.
MIXED = (
    (0.3, 0.001, 2),
    (1.0, 0.01, 2),
    (3.0, 0.1, 2),
    (1.0, 0.01, 3),
    (0.3, 0.001, 4),
    (1.0, 0.01, 4),
    (3.0, 0.1, 4),
)
LONGEST = Config(steps=100_000, linger=1.0)


@recorded(
    "ls-to-the-end",
    run,
    grid(LONGEST.replace(gradient="partial"))
    + [LONGEST.replace(eps=eps, tau=tau, seed=seed) for eps, tau, seed in MIXED],
    curves=("width",),
    start=0.0005,
    record=condition.NEEDS,
    axes=AXES,
    words=WORDS,
)
def to_the_end(results):
    """The chapter's phase diagram with the partial gradient, three seeds, and its seven slowest runs, until they
    separate."""
    return conditions(results)
