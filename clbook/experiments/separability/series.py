"""Series of runs that the chapter shows in several places, and that the audit of the papers judges."""

import functools

from clbook import sweep
from clbook.experiments.separability import Config, condition, run


def repeat(config):
    """The run with five seeds, and what condition (e) asks for."""
    seeds = [config.replace(seed=seed) for seed in range(5)]
    return sweep(run, seeds, record=(*condition.NEEDS, "alignment"))


@functools.cache
def repeats():
    """{setting: five seeds} of two clusters, through the network and without, from a tight and a wide start."""
    tight = Config(eps=0.1, tau=1.0, steps=100)
    wide = Config(eps=1.0, tau=1 / 300, steps=5000, linger=1)
    return {
        "eps^2/tau = .01, network": repeat(tight),
        "eps^2/tau = .01, vanilla": repeat(tight.replace(network=False)),
        "eps^2/tau = 300, network": repeat(wide),
        "eps^2/tau = .01, network, no views": repeat(tight.replace(augmentation="none")),
    }


@functools.cache
def donuts():
    """{views: five seeds} of a disc in a ring."""
    turned = Config(data="donut", augmentation="rotation", lr_over_tau=0.1, steps=300)
    return {
        "rotation": repeat(turned),
        "noise": repeat(turned.replace(augmentation="noise")),
        "none": repeat(turned.replace(augmentation="none")),
        "rotation, but no network": repeat(turned.replace(network=False)),
    }
