"""What the claims of LS on the chapters' pages are judged on: one function for each thing that a measure takes."""

from __future__ import annotations

import functools

import numpy as np
import torch

from clbook import records, sweep, theory
from clbook.experiments import landscape, separability, sphere
from clbook.experiments.landscape.variation import within_lemma
from clbook.experiments.separability import condition
from clbook.experiments.separability.recipes import checked
from clbook.experiments.sphere import recipes as sphere_recipes
from clbook.papers.ls.evidence import blocks

# Images (Fig. 1, Fig. 4).


@functools.cache
def mnist_images():
    """SimCLR on MNIST: accuracies of pixels and features (a record)."""
    return records.load("images-mnist")


@functools.cache
def cifar():
    """SimCLR on CIFAR-10: accuracies of pixels and features, spectra (a record)."""
    return records.load("images-cifar10")


@functools.cache
def emergence():
    """Two classes of CIFAR-10 on a line, the linear readout over time (a record)."""
    return records.load("images-emergence")


# The landscape of the loss (Sections 2 and 3, Appendix B).


@functools.cache
def maps():
    """Four invariant maps of three clusters to the circle, two of them shuffled."""
    return landscape.forget(landscape.MapsConfig())


@functools.cache
def by_tau():
    """The loss over the number of even places, at six temperatures."""
    few = landscape.Config(clusters=2, copies=1)
    taus = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
    return sweep(landscape.run, [few.replace(tau=tau) for tau in taus])


@functools.cache
def by_tolerance():
    """The thresholds at which the loss is level, for three tolerances."""
    few = landscape.Config(clusters=2, copies=1)
    return sweep(landscape.run, [few.replace(tolerance=t) for t in (0.1, 0.01, 1e-4)])


@functools.cache
def finite():
    """16 even places with 1, 4 and 16 points each."""
    counts = (1, 4, 16)
    return sweep(landscape.run, [landscape.Config(clusters=16, copies=m) for m in counts])


@functools.cache
def still():
    """Five even points of the circle, five points at one place, five random points."""
    even = landscape.Config(clusters=5, copies=1)
    one = landscape.Config(clusters=1, copies=5)
    random = even.replace(arrangement="random", seed=5)
    return sweep(landscape.run, [even, one, random])


@functools.cache
def solids():
    """The simplex and the cross-polytope in three and four dimensions, the cross-polytope in five."""
    solids = ((3, 4), (3, 6), (4, 5), (4, 8), (5, 10))
    configs = [landscape.Config(dim=d, clusters=k, copies=1) for d, k in solids]
    return sweep(landscape.run, configs)


@functools.cache
def saddles():
    """Even places of the circle that several points share."""
    pairs = ((4, 5), (8, 4), (3, 10))
    return sweep(landscape.run, [landscape.Config(clusters=k, copies=m) for k, m in pairs])


@functools.cache
def alone():
    """Even points of the circle with a place each, at three temperatures."""
    configs = []
    for k in (3, 4, 5, 8, 16):
        for tau in (0.05, 0.2, 0.5):
            configs.append(landscape.Config(clusters=k, copies=1, tau=tau))
    return sweep(landscape.run, configs)


@functools.cache
def variations():
    """{direction: the second variation at five even points, by derivative and by formula}."""
    z = landscape.even(5, 2)
    turn = torch.stack([-z[:, 1], z[:, 0]], 1)
    draws = torch.randn(5, 1, generator=torch.Generator().manual_seed(0), dtype=z.dtype)
    return {
        "random h": landscape.second_variation(z, turn * draws, 0.2),
        "rotation": landscape.second_variation(z, turn, 0.2),
    }


@functools.cache
def within():
    """Second variations inside the conditions of Lemma B.4, for two to five places."""
    return [within_lemma(K) for K in (2, 3, 4, 5)]


# When clusters separate (Section 4, Appendix C).


def _repeat(config):
    """The run with five seeds, and what condition (e) asks for."""
    seeds = [config.replace(seed=seed) for seed in range(5)]
    return sweep(separability.run, seeds, record=(*condition.NEEDS, "alignment"))


@functools.cache
def step_errors():
    """{gradient: relative errors (3 rates, 3 seeds) of Prop. 4.1 for one step}, the rate falling."""
    errors = {"partial": [], "full": []}
    for gradient, rows in errors.items():
        for rate in (1e-1, 1e-2, 1e-3):
            config = separability.Config(lr_over_tau=rate, noise=0.03)
            seeds = [config.replace(seed=seed) for seed in range(3)]
            rows.append([condition.step_error(one, gradient) for one in seeds])
    return errors


@functools.cache
def growth():
    """(gradient, growth rate of the gap between the clusters, the rate predicted) of six runs."""
    tight = separability.Config(eps=0.001, lr_over_tau=0.002, record_every=10)
    configs = []
    for gradient, steps in (("full", 1200), ("partial", 2400)):
        one = tight.replace(gradient=gradient, steps=steps)
        configs += [one.replace(seed=seed) for seed in range(3)]
    found = []
    for run in sweep(separability.run, configs, record=("theta",)):
        gradient = run.config.gradient
        predicted = theory.growth_rate(run.theta[0], run.config.tau, gradient)
        found.append((gradient, condition.measured_growth(run), predicted))
    return found


@functools.cache
def repeats():
    """{setting: five seeds} of two clusters, through the network and without, from a tight and a wide start."""
    tight = separability.Config(eps=0.1, tau=1.0, steps=100)
    wide = separability.Config(eps=1.0, tau=1 / 300, steps=5000, linger=1)
    return {
        "eps^2/tau = .01, network": _repeat(tight),
        "eps^2/tau = .01, vanilla": _repeat(tight.replace(network=False)),
        "eps^2/tau = 300, network": _repeat(wide),
        "eps^2/tau = .01, network, no views": _repeat(tight.replace(augmentation="none")),
    }


@functools.cache
def constant():
    """Three starts at which all points and views are at one place."""
    start = separability.Config(eps=0.0, spread=0.02, steps=1)
    seeds = [start.replace(seed=seed) for seed in range(3)]
    return sweep(separability.run, seeds, record=("gamma", "theta", "sigma2"))


@functools.cache
def constant_slope():
    """The largest derivative of the loss where all points and views are at one place."""
    return condition.constant_gradient(n=100, tau=0.1)


@functools.cache
def phase_diagram():
    """What condition (e) asks for, and the outcome, over a grid of eps and tau (a record)."""
    return checked(records.load("ls-phase-diagram"))


@functools.cache
def more_points():
    """Two clusters of 50, 100 and 200 points, from a tight and a wide start (a record)."""
    return records.load("ls-more-points")


@functools.cache
def donuts():
    """{views: five seeds} of a disc in a ring."""
    turned = separability.Config(data="donut", augmentation="rotation", lr_over_tau=0.1, steps=300)
    return {
        "rotation": _repeat(turned),
        "noise": _repeat(turned.replace(augmentation="noise")),
        "none": _repeat(turned.replace(augmentation="none")),
        "rotation, but no network": _repeat(turned.replace(network=False)),
    }


@functools.cache
def tiny():
    """Five seeds of two clusters from a start of extent 1e-4, at the temperature 1e-4."""
    return _repeat(separability.Config(eps=1e-4, tau=1e-4, steps=400, linger=1))


@functools.cache
def block_powers():
    """The power of sigma^2 with which the error of the kernel's blocks falls, for each seed."""
    return [np.polyfit(*np.log(block.T), 1)[0] for block in blocks()]


# Embeddings on the sphere (end of Section 3, Appendix D).


@functools.cache
def uniform_trained():
    """Runs from a uniform start at four learning rates (a record)."""
    trained, _ = sphere_recipes.uniform(records.load("ls-uniform-start"))
    return trained


@functools.cache
def uniform_gentle():
    """Runs from a uniform start at half the rate at which descent gets unstable (a record)."""
    _, gentle = sphere_recipes.uniform(records.load("ls-uniform-start"))
    return gentle


@functools.cache
def uniform_ratio():
    """The learning rates of `uniform_trained`, each divided by the rate at which descent gets unstable."""
    sharp = sweep(sphere.sharpness_at_start, sphere_recipes.STARTS)
    rates = uniform_gentle().lr
    limit = rates.copy(data=2 / np.reshape(sharp, rates.shape))
    return uniform_trained()["lr"] / limit


@functools.cache
def uniform_large():
    """A run of 2,000 points from a uniform start, beyond that rate."""
    config = sphere.Config(n=2000, start="uniform", lr=2.0, steps=12, record_every=6)
    (large,) = sweep(sphere.run, [config], record=("loss", "accuracy", "reach"))
    return large


@functools.cache
def vanilla():
    """{(d, start): five seeds} of free points."""
    free = sphere.Config(network=False, gradient="partial", record_every=50)
    found = {}
    for d in (2, 3):
        for start in ("cap", "uniform"):
            one = free.replace(d=d, start=start)
            seeds = [one.replace(seed=seed) for seed in range(5)]
            found[d, start] = sweep(sphere.run, seeds, record=("loss", "accuracy"))
    return found


FROM_CAP = ("loss", "arrows", "clustered_at", "separable_at")  # what runs from a cap record


@functools.cache
def cap():
    """{(d, hidden layers): five seeds} of a network from points close together."""
    found = {}
    for d in (2, 3):
        for depth in (1, 4):
            one = sphere.Config(d=d, depth=depth, steps=100)
            seeds = [one.replace(seed=seed) for seed in range(5)]
            found[d, depth] = sweep(sphere.run, seeds, record=FROM_CAP)
    return found


@functools.cache
def cap_wide_gap():
    """Three seeds of a network from points close together, on clusters as far apart as VA's."""
    apart = sphere.Config(first=-3.0, gap=2.0, record_every=100)
    seeds = [apart.replace(seed=seed) for seed in range(3)]
    return sweep(sphere.run, seeds, record=FROM_CAP)
