"""The paper's long runs: how the records of its page are made."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import torch

from clbook.experiments import separability, sphere
from clbook.experiments.separability import condition
from clbook.metrics import linear_probe
from clbook.results.labelled import padded
from clbook.results.sweep import combined
from clbook_book.audit.judging import computed_records
from clbook_book.audit.ls import batches, computed, repair, variants
from clbook_book.course.separability.recipes import conditions, grid, over_time
from clbook_book.records import Recipe, fields

SETS = {
    "clusters": {"steps": 1000},
    "donut": dict(data="donut", augmentation="rotation", steps=1000),
    "no views": dict(data="donut", augmentation="none", steps=300),
}
LOSSES = ("eq. 12", "both views", "eq. 3")


def readout_accuracy(result) -> np.ndarray:
    """(T,) accuracy of a linear readout of the embedding at each recorded time."""
    labels = result.labels
    return np.array([linear_probe(z, labels, z, labels) for z in result.z])


def curves(results, names=()) -> dict[str, np.ndarray]:
    """When each run separated, its recorded times, and fields over time."""
    found = {"separable_at": padded([r.separable_at for r in results])}
    for name in ("steps", *names):
        found[name] = over_time([getattr(r, name) for r in results])
    return found


def figure_4(results) -> dict[str, np.ndarray]:
    """`curves`, the accuracy of a linear readout of the embedding, and the paths of 20 points."""
    found = curves(results)
    found["accuracy"] = over_time([readout_accuracy(r) for r in results])
    found["labels"] = np.stack([r.labels[::15] for r in results])
    found["path"] = over_time([r.z[:, ::15, 0].T for r in results])
    return found


def overlaps(results) -> dict[str, np.ndarray]:
    """`conditions`, and kappa / Theta of the start: below 0 where gradients of the clusters overlap."""
    shares = []
    for r in results:
        flow = variants.Variant([r.config]).to("cpu", torch.float64)
        pushed = repair.push(repair.kernel_at_start(flow, flow.state)[0], flow.shared.labels)
        shares.append(repair.margin(pushed.numpy(), r.labels)[0])
    return conditions(results) | {"kappa": np.array(shares)}


# Label accuracy of the nearest neighbours over time, and the loss.
OF_NEIGHBOURS = functools.partial(curves, names=("accuracy",))
OF_NEIGHBOURS_AND_LOSS = functools.partial(curves, names=("accuracy", "loss"))

AXES = {
    **dict.fromkeys(("steps", "width", "accuracy", "loss", "whole"), "run step"),
    "labels": "run point",
    "path": "run point step",
}


def least_spread(run) -> float:
    """The smallest singular value of the embedding where a run separates, over the largest; 0 where it does not."""
    if run.separable_at is None:
        return 0.0
    z = run.z[np.searchsorted(run.steps, run.separable_at)]
    largest, *_, smallest = np.linalg.svd(z - z.mean(0), compute_uv=False)
    return float(smallest / largest)


# The settings of each record, the one named last fastest.


def full_losses() -> tuple:
    """Each loss on each of the three sets, five seeds."""
    base = variants.Config(lr_over_tau=0.1, linger=1.0)
    configs = []
    for loss, change in itertools.product(LOSSES, SETS.values()):
        configs += combined(base.replace(loss=loss, **change), seed=range(5))
    return tuple(configs)


def phase_diagram() -> tuple:
    """The chapter's phase diagram with random features and the partial gradient."""
    base = variants.Config(features="random", hidden=(), steps=100_000)
    return tuple(base.replace(**one) for one in grid(gradient="partial"))


def several_clusters() -> tuple:
    """Three and four clusters in two and three dimensions, five seeds."""
    base = separability.Config(n=120, eps=0.1, tau=1.0, steps=1000, linger=1.0)
    configs = []
    for classes, d in ((3, 2), (4, 2), (4, 3)):
        configs += combined(base.replace(classes=classes, d=d), seed=range(5))
    return tuple(configs)


def linear_maps() -> tuple:
    """Three sets of features from a tight start, five seeds; the rates suit their kernels."""
    base = variants.Config(
        hidden=(), eps=0.001, noise=0.03, steps=600, record_every=10, gradient="partial"
    )
    configs = []
    for features, rate in (("random", 0.0015), ("radial", 0.015), ("spline", 0.13)):
        configs += combined(base.replace(features=features, lr_over_tau=rate), seed=range(5))
    return tuple(configs)


OVERLAPPING = variants.Config(
    features="random", hidden=(), gradient="partial", eps=0.3, tau=1.0, steps=1000, linger=1.0
)
WHOLE_BATCH = sphere.Config(n=2000, start="uniform", lr=2.0, steps=16, record_every=2)
IN_BATCHES = sphere.Config(n=2000, start="uniform", steps=400)
FROM_CAP = sphere.Config(n=2000, lr=0.001, steps=3000)
FREE = sphere.Config(n=2000, lr=0.001, steps=50_000, network=False, gradient="partial")
VANILLA = sphere.Config(network=False, gradient="partial", record_every=50)
AS_DONUT = separability.Config(lr_over_tau=0.1, steps=300)  # rate and length of the donut's runs
MNIST = variants.Config(data="mnist", classes=3, n=300, augmentation="image")
DEEP = MNIST.replace(hidden=(100, 100, 100), lr_over_tau=0.1, steps=5000)

SET_OF_RUN = np.tile(np.repeat([*SETS], 5), len(LOSSES))  # of `full_losses`

RECIPES = computed_records(
    "ls",
    computed.linear_errors,
    computed.linear_powers,
    computed.growth,
    computed.blocks,
    computed.thetas,
    computed.overlapping,
    computed.overlapping_moved,
    computed.explicit,
    computed.growing,
    computed.step_errors,
)
RECIPES["ls-full-loss"] = Recipe(
    "clusters and a donut under eq. 12, the same with both samples augmented, and eq. 3, five seeds",
    variants.run,
    full_losses(),
    conditions,
    ("width",),
    start=0.05,
    record=condition.NEEDS,
    axes=AXES,
    named={"set": SET_OF_RUN},
    dims=("loss", "set", "seed"),
)
RECIPES["ls-linear"] = Recipe(
    "the chapter's phase diagram with 100 random features in place of a network, partial gradient",
    variants.run,
    phase_diagram(),
    conditions,
    ("width",),
    start=0.0005,
    record=condition.NEEDS,
    axes=AXES,
)
RECIPES["ls-overlap"] = Recipe(
    "two clusters of three spreads, 100 and 400 points, random features, partial gradient, five seeds",
    variants.run,
    combined(OVERLAPPING, spread=(0.1, 0.2, 0.5), n=(100, 400), seed=range(5)),
    overlaps,
    ("width",),
    start=0.02,
    record=condition.NEEDS,
    axes=AXES,
    dims=("spread", "n", "seed"),
)
RECIPES["ls-uniform-size"] = Recipe(
    "LS Figures 6 and 7 from the uniform start with 2,000 points, all in one batch, the loss summed, five seeds",
    sphere.run,
    combined(WHOLE_BATCH, d=(2, 3), depth=(1, 4), seed=range(5)),
    OF_NEIGHBOURS,
    ("accuracy",),
    start=0.3,
    record=("accuracy", "separable_at"),
    axes=AXES,
    dims=("d", "depth", "seed"),
)
RECIPES["ls-uniform-batches"] = Recipe(
    "LS Figure 6 from the uniform start with 2,000 points in batches of 200, the loss a mean or a sum, five seeds",
    batches.run,
    combined(IN_BATCHES, lr=(0.001, 0.2), seed=range(5)),
    OF_NEIGHBOURS,
    ("accuracy",),
    start=0.02,
    record=("accuracy", "separable_at"),
    axes=AXES,
    dims=("lr", "seed"),
)
RECIPES["ls-fig-6"] = Recipe(
    "LS Figure 6 with 2,000 points, lr = .001 and batches of 200, three seeds",
    batches.run,
    combined(FROM_CAP, seed=range(3)),
    OF_NEIGHBOURS_AND_LOSS,
    ("accuracy", "loss"),
    start=0.005,
    record=("accuracy", "loss", "separable_at"),
    axes=AXES,
    dims=("seed",),
)
RECIPES["ls-fig-6-free"] = Recipe(
    "LS Figure 6 with 2,000 points and no network, lr = .001 and batches of 200, 50,000 steps",
    batches.run,
    combined(FREE, start=("uniform", "cap"), seed=range(3)),
    OF_NEIGHBOURS_AND_LOSS,
    ("loss",),
    start=0.001,
    record=("accuracy", "loss", "separable_at"),
    axes=AXES,
    dims=("start", "seed"),
)
RECIPES["ls-mnist"] = Recipe(
    "LS Figure 4 on MNIST: three digits, three hidden layers of 100, three seeds",
    variants.run,
    combined(DEEP, seed=range(3)),
    figure_4,
    ("accuracy", "path"),
    start=0.002,
    axes=AXES,
    dims=("seed",),
)
RECIPES["ls-several"] = Recipe(
    "three and four clusters in two and three dimensions, five seeds",
    separability.run,
    several_clusters(),
    fields("x", "z", least_spread=least_spread),
    ("loss",),
    start=0.1,
    record=("loss",),
)
RECIPES["ls-clusters"] = Recipe(
    "two clusters at the donut's learning rate, five seeds",
    separability.run,
    combined(AS_DONUT, seed=range(5)),
    fields("x", "z"),
    ("theta",),
    start=0.2,
    record=("theta", "sigma2"),
)
RECIPES["ls-linear-maps"] = Recipe(
    "maps linear in their weights, three sets of features, from a tight start, five seeds",
    variants.run,
    linear_maps(),
    fields("x", "z"),
    ("theta",),
    start=0.1,
    record=("theta", "drift"),
)
RECIPES["ls-vanilla"] = Recipe(
    "free points on circle and sphere, from a cap and from a uniform start, five seeds",
    sphere.run,
    combined(VANILLA, d=(2, 3), start=("cap", "uniform"), seed=range(5)),
    fields("x", "z"),
    ("loss",),
    start=0.2,
    record=("loss", "accuracy"),
)
