"""Series of runs that the chapter shows in several places, and that the audit of the papers judges."""

import functools

from clbook import sweep
from clbook.experiments.separability import Config, condition, run

ASKED = (*condition.NEEDS, "alignment")  # what condition (e) asks for, and the kernel's alignment

TIGHT = Config(eps=0.1, tau=1.0, steps=100)
WIDE = Config(eps=1.0, tau=1 / 300, steps=5000, linger=1)
# Two clusters, through the network and without, from a tight and a wide start.
CLUSTERS = {
    "eps^2/tau = .01, network": TIGHT,
    "eps^2/tau = .01, vanilla": TIGHT.replace(network=False),
    "eps^2/tau = 300, network": WIDE,
    "eps^2/tau = .01, network, no views": TIGHT.replace(augmentation="none"),
}

TURNED = Config(data="donut", augmentation="rotation", lr_over_tau=0.1, steps=300)
# A disc in a ring.
DONUTS = {
    "rotation": TURNED,
    "noise": TURNED.replace(augmentation="noise"),
    "none": TURNED.replace(augmentation="none"),
    "rotation, but no network": TURNED.replace(network=False),
}


def seeded(bases: dict) -> tuple:
    """Each of {name: Config} with five seeds."""
    return tuple(base.replace(seed=seed) for base in bases.values() for seed in range(5))


def of_seeds(bases: dict) -> dict:
    """{name: runs of five seeds} of {name: Config}."""
    runs = iter(sweep(run, seeded(bases), record=ASKED))
    return {name: [next(runs) for _ in range(5)] for name in bases}


@functools.cache
def repeats():
    """{setting: five seeds} of two clusters (a record)."""
    return of_seeds(CLUSTERS)


@functools.cache
def donuts():
    """{views: five seeds} of a disc in a ring (a record)."""
    return of_seeds(DONUTS)
