"""What LS's claims are judged on and takes over a second to compute: each function is the recipe of a record."""

import itertools

import numpy as np

from clbook import sweep, theory
from clbook.experiments import landscape, separability
from clbook.experiments.separability import Config, condition
from clbook_book.audit.ls import checks, exact, repair
from clbook_book.audit.va import closed_forms

SEEDS = range(5)
SPREADS = (0.2, 0.1, 0.05, 0.025)  # of a cluster, for `blocks` and `thetas`


def overlapping():
    """Starts that meet all conditions of Theorem 4.3 and no weights separate: the clusters' gradients overlap."""
    return [repair.overlap(n) for n in (1200, 12_000, 120_000, 1_200_000)]


def overlapping_moved(seeds=SEEDS):
    """The same with each number moved a little, five draws."""
    return [repair.overlap(1200, moved=0.05, seed=seed) for seed in seeds]


def blocks(seeds=SEEDS):
    """(seeds, spreads, 2) sigma^2, and how far the kernel is from blocks, as clusters get tighter."""
    found = []
    for seed in seeds:
        configs = [Config(spread=spread, seed=seed) for spread in SPREADS]
        found.append([checks.block_error(config) for config in configs])
    return np.array(found)


def thetas(seeds=SEEDS):
    """(seeds, spreads) Theta of the start as clusters get tighter."""
    found = []
    for seed in seeds:
        configs = [Config(spread=spread, steps=1, seed=seed) for spread in SPREADS]
        starts = [separability.run(config, record=("theta",)) for config in configs]
        found.append([start.theta[0] for start in starts])
    return np.array(found)


def step_errors(seeds=SEEDS):
    """{"partial": relative errors (3 rates, 5 seeds) of Prop. 4.1 for one step}, the rate falling."""
    rows = []
    for rate in (1e-1, 1e-2, 1e-3):
        config = Config(lr_over_tau=rate, noise=0.03)
        rows.append([condition.step_error(config.replace(seed=seed), "partial") for seed in seeds])
    return {"partial": rows}


def growth():
    """(gradient, growth rate of the gap between the clusters, the rate predicted) of ten runs."""
    tight = Config(eps=0.001, lr_over_tau=0.002, record_every=10)
    configs = []
    for gradient, steps in (("full", 1200), ("partial", 2400)):
        one = tight.replace(gradient=gradient, steps=steps)
        configs += [one.replace(seed=seed) for seed in SEEDS]
    found = []
    for run in sweep(separability.run, configs, record=("theta",)):
        gradient = run.config.gradient
        predicted = theory.growth_rate(run.theta[0], run.config.tau, gradient)
        found.append((gradient, condition.measured_growth(run), predicted))
    return found


def growing():
    """{eta: the largest derivative of eq. 3 at k f as k grows}."""
    return {eta: exact.growing_scale(eta) for eta in landscape.ETA}


def or_never(step: int | None) -> float:
    """A step, infinity for None."""
    return np.inf if step is None else float(step)


def explicit():
    """{activation: {(scale of the entries of A, prefactor): relative error}} of the kernel of Prop. B.5."""
    names = ("tanh", "relu", "gelu")
    return {name: closed_forms.explicit_errors(activation=name) for name in names}


def linear_errors():
    """(eps, gamma, tau, error of the linear law of Step 1) for extents, noises, temperatures and draws."""
    found = []
    for tau, part in itertools.product((0.1, 1.0), (1.0, 0.3, 0.1, 0.01)):
        eps = part * tau**0.5
        for share, seed in itertools.product((0.0, 0.1, 0.5), range(2)):
            gamma = share * eps
            found.append((eps, gamma, tau, exact.linear_error(eps, gamma, tau, seed)))
    return found


def linear_powers():
    """p in: error of Step 1's linear law ~ eps^p without noise, from eps to 2 eps."""
    found = []
    for eps, seed in itertools.product((0.3, 0.1), SEEDS):
        narrow, wide = (exact.linear_error(extent, 0, 1.0, seed) for extent in (eps, 2 * eps))
        found.append(np.log2(wide / narrow))
    return found
