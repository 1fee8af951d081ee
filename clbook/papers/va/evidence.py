"""What VA's claims are measured on: each function trains, loads or computes one thing, once in a process."""

import functools

import numpy as np

from clbook import records, sweep
from clbook.experiments import kernel, sphere
from clbook.experiments.kernel import closed_forms, series
from clbook.experiments.sphere.push import push_coherence
from clbook.papers.ls import evidence as ls
from clbook.papers.va import flows, losses

SEEDS = range(5)

# What the chapter on the kernel shows as well.
step_errors = series.step_errors
three_flows = series.three_flows
cluster_speeds = series.cluster_speeds
ratios = series.ratios


# Records: runs too long to repeat.


@functools.cache
def uniform():
    """VA Fig. 5 and 6 from a uniform start: three networks, two losses, several learning rates."""
    return records.load("va-uniform")


@functools.cache
def eq_18():
    """Eq. 18's network from a uniform start at two more rates, 300 iterations."""
    return records.load("va-eq-18")


@functools.cache
def slow():
    """Eq. 18's network on the sphere from a uniform start, 20,000 steps below the stability limit."""
    return records.load("va-slow")


@functools.cache
def free():
    """Free points, without a network, from both starts on circle and sphere."""
    return records.load("va-free")


@functools.cache
def life():
    """20,000 iterations on VA's row of clusters, from the cap and from the uniform start."""
    return records.load("va-life")


@functools.cache
def speeds():
    """The row of clusters from a cap, with and without the network."""
    return records.load("va-speeds")


@functools.cache
def lost():
    """Three clusters on orthogonal axes, the last one smaller and smaller, trained to the end."""
    return records.load("va-lost")


@functools.cache
def cifar():
    """SimCLR on CIFAR-10's subset: what neighbours tell of a class, by pixels and by features."""
    return ls.cifar()


# The losses, in double precision.


@functools.cache
def lowest():
    """{tau: seeds} how far 20 descents of 12 points on eq. 1 get below evenly spread points."""
    found = {}
    for tau in (0.05, 0.2, 1.0):
        found[tau] = [losses.above_even(tau, seed) for seed in SEEDS]
    return found


@functools.cache
def views_at_minimum():
    """{tau: seeds} how far two views of a point are apart at the lowest minimum of eq. 1, and the loss there."""
    found = {}
    for tau in (0.2, 0.5):
        found[tau] = [losses.views_at_minimum(tau, seed) for seed in SEEDS]
    return found


@functools.cache
def written():
    """The book's losses, kernel and network beside loops over single numbers, a draw each."""
    return ls.written()


@functools.cache
def maps():
    """Four maps of three clean clusters: to three places and to 120, by class and shuffled."""
    return ls.maps()


@functools.cache
def merged():
    """{tau: loss} eq. 1 of a constant map of 12 points, less that of 12 evenly spread ones."""
    return {tau: losses.constant_above_even(tau) for tau in (0.05, 0.2, 1.0)}


@functools.cache
def still():
    """Five even points of the circle, five at one place, five random ones."""
    return ls.still()


@functools.cache
def consistency():
    """(n, seeds, 2) relative difference of eq. 4 and eq. 1: with log(1 + t), and with log(1 + 2t)."""
    found = []
    for n in (64, 256, 1024):
        found.append([losses.consistency_gaps(n, seed) for seed in SEEDS])
    return np.array(found)


@functools.cache
def stuck():
    """The gradient of eq. 4 at weights zero, and how much the loss changes beside them, a seed each."""
    return [losses.stuck(seed) for seed in SEEDS]


# Section 4.1: one step, and invariance.


@functools.cache
def other_maps():
    """{map: seeds} errors of Prop. 4.1 for one step, and how much the kernel moves, of maps that are no networks."""
    found = {}
    for name in flows.MODELS:
        found[name] = [flows.step_errors(name, seed) for seed in SEEDS]
    return found


@functools.cache
def identity_kernel():
    """Relative errors of eq. 13 by eq. 11 with identity blocks, and with n times these, a seed each."""
    return [flows.identity_errors(seed) for seed in SEEDS]


# Four clusters on a line, whose views are turned copies of the points.


@functools.cache
def shuffled():
    """{activation: seeds} how much the first velocities change with the data behind the same embedded points."""
    found = {}
    for name in ("tanh", "relu", "gelu"):
        found[name] = [flows.shuffled(name, seed) for seed in SEEDS]
    return found


@functools.cache
def constant_start():
    """The flow through a network that starts at a constant map."""
    return kernel.run(series.TURNING.replace(eps=0.0))


# Section 4.2: the kernel of one hidden layer, and clusters.


@functools.cache
def clean_and_places():
    """How far VA's views are from their points, in the clean coordinates and where they start, a seed each."""
    return [flows.setting_errors(seed) for seed in SEEDS]


@functools.cache
def explicit():
    """{activation: {(entries of A, prefactor): relative error}} of the explicit kernel against autograd."""
    return ls.explicit()


WIDTHS = (64, 256, 1024, 4096, 16_384)


@functools.cache
def wide():
    """{rows of B: (WIDTHS, draws)} relative error of the kernel at infinite width, for three kinds of rows."""
    draws, stretch = range(20), (3.0, 1.0, 0.3)
    error = functools.partial(closed_forms.width_errors, WIDTHS, draws)
    return {
        "isotropic": error(),
        "stretched": error(stretch=stretch),
        "shifted": error(shift=(1.0, 1.0, 1.0)),
        "stretched, angles too": error(stretch=stretch, angles_after=stretch),
    }


DELTAS = (0.003, 0.01, 0.03, 0.1, 0.3)  # radius of a cluster


def _as_printed(steps: int) -> dict:
    """Relative errors (DELTAS, seeds) of Theorem 4.5 as printed, after so many steps."""
    errors = [closed_forms.printed_errors(DELTAS, seed, steps=steps) for seed in SEEDS]
    return {"delta": DELTAS, "errors": np.transpose(errors)}


@functools.cache
def printed():
    """Theorem 4.5 as printed, in the paper's own setting, at the start."""
    return _as_printed(0)


@functools.cache
def trained():
    """Theorem 4.5 as printed after 50 steps of training."""
    return _as_printed(50)


FINE = kernel.Config(lr_over_tau=1e-5)  # a learning rate too small to matter


@functools.cache
def tight():
    """{start: runs[delta][seed]} one step of clusters of each radius in DELTAS."""
    starts = {
        "random start": FINE,
        "smooth start": FINE.replace(start="smooth"),
        "centres on a line": FINE.replace(centres="line", clusters=4),
    }
    predicted = ("measured", "mean", "own", "blocks")
    found = {name: [] for name in starts}
    for name, base in starts.items():
        for delta in DELTAS:
            configs = [base.replace(delta=delta, seed=seed) for seed in SEEDS]
            found[name].append(sweep(kernel.run, configs, record=predicted))
    return found


@functools.cache
def corollary():
    """(WIDTHS to 4,096, seeds, 2) relative error of Theorem 4.5 for ReLU: with beta of the network, and with 1/2."""
    relu = FINE.replace(activation="relu", delta=0.001, start="smooth")
    errors = []
    for width in WIDTHS[:4]:
        configs = [relu.replace(width=width, seed=seed) for seed in range(5)]
        runs = sweep(kernel.run, configs, record=("measured", "mean", "gain"))
        errors.append([(run.error("mean"), run.error("limit")) for run in runs])
    return np.array(errors)


# Section 4.2.1: LS eq. 12 on circle and sphere.


@functools.cache
def pushes():
    """{d: seeds} how alike the first push is within VA's clusters, and of all points together."""
    row = sphere.Config(start="uniform", first=-3.0, gap=2.0, gradient="partial")
    found = {}
    for d in (2, 3):
        found[d] = [push_coherence(row.replace(d=d, seed=seed)) for seed in range(5)]
    return found


@functools.cache
def cap():
    """{(d, hidden layers): runs} through a network from a cap."""
    return ls.cap()
