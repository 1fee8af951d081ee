"""What VA's claims are measured on: each function trains, loads or computes one thing, once in a process.

What a record holds is said in `recipes.py`, and of what was computed in `computed.py`.
"""

import functools

from clbook.experiments import kernel
from clbook_book import records
from clbook_book.audit.judging import of_computed, of_record
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

# Sections 2 and 3: the losses, in double precision; runs from a uniform start.
lowest = of_computed("va-lowest")
views_at_minimum = of_computed("va-views-at-minimum")
uniform = of_record("va-uniform")
eq_18 = of_record("va-eq-18")
free = of_record("va-free")


@functools.cache
def at_rest():
    """Gradients in the weights from evenly spread points and from random ones, by loss, a seed each."""
    return [flows.at_rest(seed) for seed in SEEDS]


# Section 4.1: one step, and invariance.


@functools.cache
def identity_kernel():
    """Relative errors of eq. 13 by eq. 11 with identity blocks, and with n times these, a seed each."""
    return [flows.identity_errors(seed) for seed in SEEDS]


@functools.cache
def three_flows():
    """Five seeds of the flow through a network, through one that sees |x| alone, and without a network."""
    runs = iter(records.runs("va-three-flows"))
    return [{name: next(runs) for name in kernel.FLOWS} for _ in SEEDS]


@functools.cache
def unlike_gradients():
    """In VA's own setting: how points move, how far views are from them, how gradients differ, a seed each."""
    return [flows.unlike_gradients(seed) for seed in SEEDS]


@functools.cache
def constant_start():
    """The flow through a network that starts at a constant map."""
    return kernel.run(series.TURNING.replace(eps=0.0))


# Section 4.2: the kernel of one hidden layer, and clusters.
wide = of_computed("va-wide")
printed = of_computed("va-printed")
trained = of_computed("va-trained")
corollary = of_computed("va-corollary")
cluster_speeds = of_computed("va-cluster-speeds")
lost = of_record("va-lost")
lost_wide = of_record("va-lost-wide")
life = of_record("va-life")


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
def pushes():
    """{d: seeds} how alike the first push is within VA's clusters, and of all points together."""
    return computed.pushes()
