"""What VA's claims are measured on: each function trains, loads or computes one thing, once in a process."""

import functools

from clbook.experiments import kernel
from clbook_book import records
from clbook_book.audit.ls import evidence as ls
from clbook_book.audit.va import computed, flows, recipes, series

SEEDS = range(5)
WIDTHS = computed.WIDTHS
DELTAS = computed.DELTAS

# What the chapter on the kernel shows as well.
ratios = series.ratios
# What LS's claims are judged on as well: images, maps to the circle, points on it, the kernel.
cifar = ls.cifar
maps = ls.maps
still = ls.still
explicit = ls.explicit


@functools.cache
def three_flows():
    """Five seeds of the flow through a network, through one that sees |x| alone, and without a network."""
    runs = iter(records.runs("va-three-flows"))
    found = []
    for _ in SEEDS:
        found.append({name: next(runs) for name in kernel.FLOWS})
    return found


@functools.cache
def cluster_speeds():
    """{number of clusters: (ratios, seeds, clusters)} speeds at the first step; the last cluster shrinks."""
    return records.value("va-cluster-speeds")


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
def free():
    """Free points, without a network, from both starts on circle and sphere."""
    return records.load("va-free")


@functools.cache
def life():
    """20,000 iterations on VA's row of clusters, from the cap and from the uniform start."""
    return records.load("va-life")


@functools.cache
def lost():
    """Three clusters on orthogonal axes, the last one smaller and smaller, trained to the end."""
    return records.load("va-lost")


@functools.cache
def lost_wide():
    """The same from a wider cap, 1,000 iterations."""
    return records.load("va-lost-wide")


# The losses, in double precision.


@functools.cache
def at_rest():
    """Gradients in the weights from evenly spread points and from random ones, by loss, a seed each."""
    return [flows.at_rest(seed) for seed in SEEDS]


@functools.cache
def lowest():
    """{tau: seeds} how far 20 descents of 12 points on eq. 1 get below evenly spread points."""
    return records.value("va-lowest")


@functools.cache
def views_at_minimum():
    """{tau: seeds} how far two views of a point are apart at the lowest minimum of eq. 1, and the loss there."""
    return records.value("va-views-at-minimum")


# Section 4.1: one step, and invariance.


@functools.cache
def identity_kernel():
    """Relative errors of eq. 13 by eq. 11 with identity blocks, and with n times these, a seed each."""
    return [flows.identity_errors(seed) for seed in SEEDS]


# Four clusters on a line, whose views are turned copies of the points.


@functools.cache
def unlike_gradients():
    """In VA's own setting: how points move, how far views are from them, how gradients differ, a seed each."""
    return [flows.unlike_gradients(seed) for seed in SEEDS]


@functools.cache
def constant_start():
    """The flow through a network that starts at a constant map."""
    return kernel.run(series.TURNING.replace(eps=0.0))


# Section 4.2: the kernel of one hidden layer, and clusters.


@functools.cache
def wide():
    """{rows of B: (WIDTHS, draws)} relative error of the kernel at infinite width, for three kinds of rows."""
    return records.value("va-wide")


@functools.cache
def printed():
    """Theorem 4.5 as printed, in the paper's own setting, at the start."""
    return records.value("va-printed")


@functools.cache
def trained():
    """Theorem 4.5 as printed after 50 steps of training."""
    return records.value("va-trained")


@functools.cache
def tight():
    """{start: runs[delta][seed]} one step of clusters of each radius in DELTAS."""
    size = len(SEEDS)
    runs = records.runs("va-tight")
    rows = iter(runs[k : k + size] for k in range(0, len(runs), size))
    found = {}
    for name in recipes.STARTS:
        found[name] = [next(rows) for _ in DELTAS]
    return found


@functools.cache
def corollary():
    """(WIDTHS to 4,096, seeds, 2) relative error of Theorem 4.5 for ReLU: with beta of the network, and with 1/2."""
    return records.value("va-corollary")


# Section 4.2.1: LS eq. 12 on circle and sphere.


@functools.cache
def pushes():
    """{d: seeds} how alike the first push is within VA's clusters, and of all points together."""
    return computed.pushes()
