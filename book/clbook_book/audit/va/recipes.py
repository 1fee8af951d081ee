"""The long runs of VA's page: how their records are made, and read."""

import functools

import numpy as np
import xarray

from clbook.experiments import kernel, sphere
from clbook.results.sweep import combined
from clbook_book.audit.judging import computed_records
from clbook_book.audit.va import computed, series
from clbook_book.audit.va.experiment import Config, run
from clbook_book.records import Recipe, fields

# By network and depth: rates below the stability limit of both losses at the start, then rates beyond it.
BELOW = {("mlp", 1): (0.2, 0.6), ("mlp", 4): (2.0,), ("averaging", 1): (6.0, 20.0)}
BEYOND = {("mlp", 1): (3.0, 10.0), ("mlp", 4): (10.0, 20.0), ("averaging", 1): (90.0,)}
LOSSES = {"mlp": ("eq. 4", "eq. 1"), "averaging": ("eq. 4",)}
SEEDS = range(3)
BASE = Config(n=120, steps=3000)
FIVE = range(5)  # of runs that take seconds


def uniform_configs() -> tuple:
    """The runs from a uniform start: networks, dimensions, losses, rates, seeds, the last one fastest."""
    found = []
    for (net, depth), below in BELOW.items():
        base = BASE.replace(net=net, depth=depth)
        rates = below + BEYOND[net, depth]
        found += combined(base, d=(2, 3), loss=LOSSES[net], lr=rates, seed=SEEDS)
    return tuple(found)


UNIFORM = uniform_configs()
# Eq. 18's network at two rates between the ones above, long enough to see whether clusters come.
EQ_18 = combined(BASE.replace(net="averaging", steps=300), d=(2, 3), lr=(40.0, 60.0), seed=FIVE)
LONG = BASE.replace(steps=20_000)
LIFE = (
    *combined(LONG.replace(start="cap", lr=0.02), seed=SEEDS),
    *combined(LONG.replace(start="uniform", lr=10.0), seed=SEEDS),
)
FREE = combined(
    BASE.replace(lr=0.02, network=False, steps=1000),
    d=(2, 3),
    start=("uniform", "cap"),
    seed=FIVE,
)
RATIOS = (1.0, 0.2, 0.05)
THREE_AXES = BASE.replace(d=3, centres="axes", classes=3, net="averaging", start="cap", lr=0.1)
LOST = combined(THREE_AXES, ratio=RATIOS, seed=FIVE)
# From a wider cap, where a cluster may be hidden between others; the small one has five points.
WIDE_CAP = THREE_AXES.replace(n=220, cap=0.3, steps=1000)
LOST_WIDE = combined(WIDE_CAP, ratio=(1.0, 0.05), seed=FIVE)
CURVES = ("accuracy", "loss")
LIVED = (*CURVES, "spread")
LOSSES_AND_TAIL = (*CURVES, "tail")
TAIL = ("accuracy", "tail")  # tail: share of the last cluster's points beside one of their own


def curves(results, names=CURVES) -> dict[str, np.ndarray]:
    """Quantities of the runs over time, (runs, T) each, and the recorded times (T,)."""
    found = {"steps": results[0].steps}
    for name in names:
        found[name] = np.array([getattr(result, name) for result in results], np.float32)
    return found


def curves_and_apart(results) -> dict[str, np.ndarray]:
    """`curves`, and when hyperplanes separate all clusters (runs, T)."""
    return curves(results) | {"apart": np.array([result.apart for result in results])}


def moved(results, time: float) -> np.ndarray:
    """(runs,) how far the median point of a run moves from `time` on, or from its last record before it ends."""
    after = int(np.searchsorted(results[0].steps, time))
    found = []
    for result in results:
        before = result.z[min(after, len(result.z) - 1)]
        found.append(np.median(np.linalg.norm(result.z[-1] - before, axis=1)))
    return np.array(found, np.float32)


def curves_and_places(results) -> dict[str, np.ndarray]:
    """`curves`; `later` (runs,): how far the median point moves in the second half; `z`: the places at three times."""
    steps = results[0].steps
    kept = [min(int(np.searchsorted(steps, t)), len(steps) - 1) for t in (100, 3000, 20_000)]
    columns = curves(results, LIVED)
    columns["later"] = moved(results, steps[-1] / 2)
    columns["kept"] = steps[kept]
    columns["labels"] = results[0].labels
    columns["z"] = np.array([result.z[kept] for result in results], np.float16)
    return columns


def off_cluster(run) -> float:
    """How much the first velocities of the points differ from their cluster's mean, relative to all velocities."""
    velocity = run.measured[0]
    means = np.array([velocity[run.labels == q].mean(0) for q in np.unique(run.labels)])
    return float(np.linalg.norm(velocity - means[run.labels]) / np.linalg.norm(velocity))


def off_mean(run) -> float:
    """The relative error of Theorem 4.5 with the mean of the gradients over a cluster."""
    return run.error("mean")


def off_blocks(run) -> float:
    """The same with all blocks of the kernel."""
    return run.error("blocks")


AXES = {
    **dict.fromkeys((*LIVED, "tail", "apart"), "run step"),
    "steps": "step",
    "kept": "moment",
    "labels": "point",
    "z": "run moment point dim",
}

STARTS = {
    "random start": computed.FINE,
    "smooth start": computed.FINE.replace(start="smooth"),
    "centres on a line": computed.FINE.replace(centres="line", clusters=4),
}
TIGHT = sum((combined(base, delta=computed.DELTAS, seed=FIVE) for base in STARTS.values()), [])
VELOCITIES = ("measured", "mean", "blocks")
TIGHT_ERRORS = {"off_cluster": off_cluster, "off_mean": off_mean, "off_blocks": off_blocks}
THREE_FLOWS = tuple(
    config
    for seed in FIVE
    for config in series.TURNING.replace(seed=seed).compared(kernel.FLOWS).values()
)
RECIPES = computed_records(
    "va",
    computed.step_errors,
    computed.cluster_speeds,
    computed.corollary,
    computed.lowest,
    computed.views_at_minimum,
    computed.wide,
    computed.printed,
    computed.trained,
)
RECIPES["va-tight"] = Recipe(
    "one step of clusters of five radii, three starts, five seeds",
    kernel.run,
    TIGHT,
    fields("x", "views", "z", "copies", *VELOCITIES, **TIGHT_ERRORS),
    ("spread",),
    start=1.0,
    record=VELOCITIES,
)
RECIPES["va-three-flows"] = Recipe(
    "the flow through a network, through one that sees |x| alone, and without a network, five seeds",
    kernel.run,
    THREE_FLOWS,
    fields("x", "views", "z", "copies"),
    ("spread", "moved"),
    start=0.3,
)
RECIPES["va-uniform"] = Recipe(
    "VA Fig. 5 and 6 from a uniform start, eq. 4 and eq. 1, three networks, 3,000 iterations",
    run,
    UNIFORM,
    curves_and_apart,
    CURVES,
    record=(*CURVES, "apart"),
    axes=AXES,
)
RECIPES["va-eq-18"] = Recipe(
    "VA eq. 18 from a uniform start at two more rates, 300 iterations",
    run,
    EQ_18,
    functools.partial(curves, names=("accuracy",)),
    ("accuracy",),
    0.1,
    record=("accuracy",),
    axes=AXES,
    dims=("d", "lr", "seed"),
)
RECIPES["va-life"] = Recipe(
    "VA Fig. 5 with eq. 4 from a cap and from a uniform start, 20,000 iterations",
    run,
    LIFE,
    curves_and_places,
    LIVED,
    0.001,
    record=LIVED,
    axes=AXES,
    dims=("start", "seed"),
)
RECIPES["va-free"] = Recipe(
    "VA Fig. 5 and 6 without a network, eq. 4, 1,000 iterations",
    run,
    FREE,
    curves,
    CURVES,
    record=CURVES,
    axes=AXES,
    dims=("d", "start", "seed"),
)
RECIPES["va-lost"] = Recipe(
    "three orthogonal clusters, one of them small, VA eq. 4 and eq. 18, 3,000 iterations",
    run,
    LOST,
    functools.partial(curves, names=LOSSES_AND_TAIL),
    LOSSES_AND_TAIL,
    record=LOSSES_AND_TAIL,
    axes=AXES,
    dims=("ratio", "seed"),
)
RECIPES["va-lost-wide"] = Recipe(
    "three orthogonal clusters from a wider cap, one of them small, VA eq. 4 and eq. 18, 1,000 iterations",
    run,
    LOST_WIDE,
    functools.partial(curves, names=TAIL),
    TAIL,
    record=TAIL,
    axes=AXES,
    dims=("ratio", "seed"),
)


# Reading a record.


def reached(record):
    """(runs,) first recorded iteration at which a run of a record has clusters; inf: it never has."""
    above = record.accuracy >= sphere.CLUSTERED
    first = record.step[above.argmax("step")].drop_vars("step")
    return first.where(above.any("step"), np.inf)


def gap_ratio(record):
    """How far clusters are apart on the circle at the record's moments, by the gaps between neighbours.

    The median gap between neighbours of different clusters, over the gap that 95 % of neighbours in a cluster stay
    below. Evenly spread points have 1, whatever the order of their clusters.
    """
    return xarray.apply_ufunc(
        parted,
        record.z.astype(float),
        record.labels,
        input_core_dims=[["point", "dim"], ["point"]],
        vectorize=True,
    )


def parted(z: np.ndarray, labels: np.ndarray) -> float:
    """`gap_ratio` of points z (n, 2) of the circle."""
    angles = np.arctan2(z[:, 1], z[:, 0])
    order = np.argsort(angles)
    gaps = np.diff(angles[order], append=angles[order[0]] + 2 * np.pi)
    other = labels[order] != labels[np.roll(order, -1)]
    between = np.median(gaps[other])
    within = np.quantile(gaps[~other], 0.95)
    return float(between / within)
