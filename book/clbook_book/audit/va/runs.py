"""What was run for VA's claims: each function gives one thing that measures take, once in a process.

Those marked `recorded` are kept as records; the others take less than a second.
"""

import functools

import numpy as np
import xarray

from clbook import sweep
from clbook.experiments import kernel, sphere
from clbook.experiments.sphere.push import push_coherence
from clbook.results.sweep import combined
from clbook_book.audit.ls import runs as ls
from clbook_book.audit.va import closed_forms, flows, minima
from clbook_book.audit.va.experiment import Config, run
from clbook_book.records import by_name, fields, over_time, recorded

THREE, FIVE = range(3), range(5)  # seeds of runs that take minutes, and seconds
BASE = Config(n=120, steps=3000)
AXES = {
    **dict.fromkeys(("accuracy", "loss", "spread", "tail", "apart"), "run step"),
    "steps": "step",
    "kept": "moment",
    "labels": "point",
    "z": "run moment point dim",
}

# What LS's claims are judged on as well: images, maps to the circle, points on it, the kernel.
cifar = ls.cifar
maps = ls.maps
still = ls.still
explicit = ls.explicit


# Sections 2 and 3: the losses, in double precision; runs from a uniform start.


@recorded("va-lowest")
def lowest(seeds=FIVE):
    """{tau: seeds} how far 20 descents of 12 points on eq. 1 get below evenly spread points."""
    return {tau: [minima.above_even(tau, seed) for seed in seeds] for tau in (0.05, 0.2, 1.0)}


@recorded("va-views-at-minimum")
def views_at_minimum(seeds=FIVE):
    """{tau: seeds} how far two views of a point are apart at the lowest minimum of eq. 1, and the loss there."""
    return {tau: [minima.views_at_minimum(tau, seed) for seed in seeds] for tau in (0.2, 0.5)}


# By network and depth: rates below the stability limit of both losses at the start, then rates beyond it.
BELOW = {("mlp", 1): (0.2, 0.6), ("mlp", 4): (2.0,), ("averaging", 1): (6.0, 20.0)}
BEYOND = {("mlp", 1): (3.0, 10.0), ("mlp", 4): (10.0, 20.0), ("averaging", 1): (90.0,)}
UNIFORM = []
for (net, depth), below in BELOW.items():
    UNIFORM += combined(
        BASE.replace(net=net, depth=depth),
        d=(2, 3),
        loss=("eq. 4", "eq. 1") if net == "mlp" else ("eq. 4",),
        lr=below + BEYOND[net, depth],
        seed=THREE,
    )


@recorded(
    "va-uniform",
    run,
    UNIFORM,
    curves=("accuracy", "loss"),
    record=("accuracy", "loss", "apart"),
    axes=AXES,
)
def uniform(results):
    """VA Fig. 5 and 6 from a uniform start, eq. 4 and eq. 1, three networks, 3,000 iterations."""
    apart = np.array([result.apart for result in results])  # hyperplanes separate all clusters
    return over_time(results, "accuracy", "loss") | {"apart": apart}


def uniform_large():
    """{hidden layers: runs of 2,000 points from a uniform start, LS's sizes}."""
    return {1: ls.uniform_size(), 4: ls.uniform_deep()}


@recorded(
    "va-free",
    run,
    combined(
        BASE.replace(lr=0.02, network=False, steps=1000),
        d=(2, 3),
        start=("uniform", "cap"),
        seed=FIVE,
    ),
    curves=("accuracy", "loss"),
    record=("accuracy", "loss"),
    axes=AXES,
    dims=("d", "start", "seed"),
)
def free(results):
    """VA Fig. 5 and 6 without a network, eq. 4, 1,000 iterations."""
    return over_time(results, "accuracy", "loss")


@functools.cache
def at_rest():
    """Gradients in the weights from evenly spread points and from random ones, by loss, a seed each."""
    return [flows.at_rest(seed) for seed in FIVE]


@recorded("va-off-sphere")
def off_sphere(seeds=FIVE):
    """{tau: seeds} when clusters come from even points through eq. 18's network, not held on the circle."""
    return {tau: [flows.off_sphere(seed, tau) for seed in seeds] for tau in (0.1, 0.2, 0.5)}


# Section 4.1: one step, and invariance.


@functools.cache
def identity_kernel():
    """Relative errors of eq. 13 by eq. 11 with identity blocks, and with n times these, a seed each."""
    return [flows.identity_errors(seed) for seed in FIVE]


@recorded("va-step-errors")
def step_errors():
    """{gradient: (rates, seeds)} relative error of Prop. 4.1 for one step; "joint": full, views as points."""
    # Rates: learning rate / tau.
    axes = {"lr_over_tau": (0.1, 1.0, 10.0, 100.0, 1000.0), "seed": FIVE}
    base = kernel.Config(delta=0.3, width=16)
    asked = ("measured", "kernel")
    partial, full = (
        sweep(kernel.run, combined(base.replace(gradient=gradient), **axes), record=asked)
        for gradient in ("partial", "full")
    )
    errors = {
        "partial": [run.error("kernel") for run in partial],
        "full": [run.error("kernel") for run in full],
        "joint": [closed_forms.joint_error(run) for run in full],
    }
    return {name: np.reshape(values, (5, 5)) for name, values in errors.items()}


TURNING = kernel.Config(
    centres="line",
    clusters=4,
    delta=0.3,
    n=40,
    width=64,
    gradient="full",
    lr_over_tau=0.1,
    steps=120,
)


@recorded(
    "va-three-flows",
    kernel.run,
    [one for seed in FIVE for one in TURNING.replace(seed=seed).compared(kernel.FLOWS).values()],
    keep=fields("x", "views", "z", "copies"),
    curves=("spread", "moved"),
    start=0.3,
)
def three_flows(runs):
    """The flow through a network, through one that sees |x| alone, and without a network, five seeds."""
    rows = iter(runs)
    return [{name: next(rows) for name in kernel.FLOWS} for _ in FIVE]


@functools.cache
def unlike_gradients():
    """In VA's own setting: how points move, how far views are from them, how gradients differ, a seed each."""
    return [flows.unlike_gradients(seed) for seed in FIVE]


# Section 4.2: the kernel of one hidden layer, and clusters.


WIDTHS = (64, 256, 1024, 4096, 16_384)
DELTAS = (0.003, 0.01, 0.03, 0.1, 0.3)  # radius of a cluster


@recorded("va-wide")
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


def _as_printed(steps: int, seeds) -> dict:
    """Relative errors (DELTAS, seeds) of Theorem 4.5 as printed, after so many steps."""
    errors = [closed_forms.printed_errors(DELTAS, seed, steps=steps) for seed in seeds]
    return {"delta": DELTAS, "errors": np.transpose(errors)}


@recorded("va-printed")
def printed(seeds=FIVE):
    """Theorem 4.5 as printed, in the paper's own setting, at the start."""
    return _as_printed(0, seeds)


@recorded("va-trained")
def trained(seeds=FIVE):
    """Theorem 4.5 as printed after 50 steps of training."""
    return _as_printed(50, seeds)


FINE = kernel.Config(lr_over_tau=1e-5)  # a learning rate too small to matter


@recorded("va-corollary")
def corollary(seeds=FIVE):
    """(WIDTHS to 4,096, seeds, 2) relative error of Theorem 4.5 for ReLU: with beta of the network, and with 1/2."""
    relu = FINE.replace(activation="relu", delta=0.001, start="smooth")
    errors = []
    for width in WIDTHS[:4]:
        configs = combined(relu.replace(width=width), seed=seeds)
        runs = sweep(kernel.run, configs, record=("measured", "mean", "gain"))
        errors.append([(run.error("mean"), run.error("limit")) for run in runs])
    return np.array(errors)


def ratios():
    """Sizes of the cluster that shrinks, relative to each other one."""
    return 1.0, 0.5, 0.2, 0.1, 0.05


@recorded("va-cluster-speeds")
def cluster_speeds():
    """{number of clusters: (ratios, seeds, clusters)} speeds at the first step; the last cluster shrinks."""
    found = {}
    for number in (2, 3, 4):
        base = kernel.Config(n=240, start="smooth", clusters=number)
        speeds = []
        for ratio in ratios():
            configs = combined(base.replace(ratio=ratio), seed=FIVE)
            runs = sweep(kernel.run, configs, record=("measured",))
            speeds.append([run.speeds() for run in runs])
        found[number] = np.array(speeds)
    return found


THREE_AXES = BASE.replace(d=3, centres="axes", classes=3, net="averaging", start="cap", lr=0.1)


@recorded(
    "va-lost",
    run,
    combined(THREE_AXES, ratio=(1.0, 0.2, 0.05), seed=FIVE),
    curves=("accuracy", "loss", "tail"),
    record=("accuracy", "loss", "tail"),
    axes=AXES,
    dims=("ratio", "seed"),
)
def lost(results):
    """Three orthogonal clusters, one of them small, VA eq. 4 and eq. 18, 3,000 iterations."""
    # `tail` is the share of the last cluster's points beside one of their own.
    return over_time(results, "accuracy", "loss", "tail")


@recorded(
    "va-lost-wide",
    run,
    combined(THREE_AXES.replace(n=220, cap=0.3, steps=1000), ratio=(1.0, 0.05), seed=FIVE),
    curves=("accuracy", "tail"),
    record=("accuracy", "tail"),
    axes=AXES,
    dims=("ratio", "seed"),
)
def lost_wide(results):
    """Three orthogonal clusters from a wider cap, one of them small, VA eq. 4 and eq. 18, 1,000 iterations."""
    # A cluster may be hidden between others there; the small one has five points.
    return over_time(results, "accuracy", "tail")


def off_cluster(run) -> float:
    """How much the first velocities of the points differ from their cluster's mean, relative to all velocities."""
    velocity = run.measured[0]
    means = np.array([velocity[run.labels == q].mean(0) for q in np.unique(run.labels)])
    return float(np.linalg.norm(velocity - means[run.labels]) / np.linalg.norm(velocity))


STARTS = {
    "random start": FINE,
    "smooth start": FINE.replace(start="smooth"),
    "centres on a line": FINE.replace(centres="line", clusters=4),
}
VELOCITIES = ("measured", "mean", "blocks")


@recorded(
    "va-tight",
    kernel.run,
    [one for start in STARTS.values() for one in combined(start, delta=DELTAS, seed=FIVE)],
    keep=fields(
        "x",
        "views",
        "z",
        "copies",
        *VELOCITIES,
        off_cluster=off_cluster,
        # Relative errors of Theorem 4.5, with the mean of a cluster's gradients and with all blocks of the kernel.
        off_mean=lambda run: run.error("mean"),
        off_blocks=lambda run: run.error("blocks"),
    ),
    curves=("spread",),
    start=1.0,
    record=VELOCITIES,
)
def tight(runs):
    """One step of clusters of five radii, three starts, five seeds.

    Keeps:
        off_mean, off_blocks: relative error of Theorem 4.5, with the mean of a cluster's gradients, and with all blocks
            of the kernel.
    """
    return {
        name: list(by_name(DELTAS, own).values()) for name, own in by_name(STARTS, runs).items()
    }


@functools.cache
def pushes():
    """{d: seeds} how alike the first push is within VA's clusters, and of all points together."""
    row = sphere.Config(start="uniform", first=-3.0, gap=2.0, gradient="partial")
    return {d: [push_coherence(row.replace(d=d, seed=seed)) for seed in FIVE] for d in (2, 3)}


# Section 4.2.1: the life of clusters.


LIVED = ("accuracy", "loss", "spread")
LONG = BASE.replace(steps=20_000)


@recorded(
    "va-life",
    run,
    combined(LONG.replace(start="cap", lr=0.02), seed=THREE)
    + combined(LONG.replace(start="uniform", lr=10.0), seed=THREE),
    curves=LIVED,
    start=0.001,
    record=LIVED,
    axes=AXES,
    dims=("start", "seed"),
)
def life(results):
    """VA Fig. 5 with eq. 4 from a cap and from a uniform start, 20,000 iterations.

    Keeps:
        later: how far the median point moves in the second half.
        kept: iterations at which the embedding z is kept.
    """
    steps = results[0].steps
    kept = [min(int(np.searchsorted(steps, t)), len(steps) - 1) for t in (100, 3000, 20_000)]
    columns = over_time(results, *LIVED)
    columns["later"] = moved(results, steps[-1] / 2)
    columns["kept"] = steps[kept]
    columns["labels"] = results[0].labels
    columns["z"] = np.array([result.z[kept] for result in results], np.float16)
    return columns


def moved(results, time: float) -> np.ndarray:
    """(runs,) how far the median point of a run moves from `time` on, or from its last record before it ends."""
    after = int(np.searchsorted(results[0].steps, time))
    found = []
    for result in results:
        before = result.z[min(after, len(result.z) - 1)]
        found.append(np.median(np.linalg.norm(result.z[-1] - before, axis=1)))
    return np.array(found, np.float32)


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
