"""What was run for LS's claims: each function gives one thing that measures take, once in a process.

Those marked `recorded` are kept as records; the others take less than a second.
"""

import functools
import itertools

import numpy as np
import torch

from clbook import sweep, theory
from clbook.experiments import landscape, separability, sphere
from clbook.experiments.separability import Config, condition
from clbook.metrics import linear_probe, separable
from clbook.results.labelled import padded
from clbook.results.sweep import combined
from clbook_book.audit.ls import batches, exact, noisy, repair, variants
from clbook_book.audit.ls.variation import second_variation, within_lemma
from clbook_book.audit.va import closed_forms
from clbook_book.course.images import runs as images
from clbook_book.course.kernel import runs as kernel
from clbook_book.course.separability import runs as chapter
from clbook_book.course.separability.runs import conditions, rows
from clbook_book.records import by_name, fields, grouped, recorded

THREE, FIVE = range(3), range(5)  # seeds
AXES = {
    **dict.fromkeys(("steps", "width", "accuracy", "loss", "whole"), "run step"),
    "labels": "run point",
    "path": "run point step",
}


def curves(results, *names) -> dict[str, np.ndarray]:
    """When each run separated, its recorded times, and fields over time."""
    found = {"separable_at": padded([r.separable_at for r in results])}
    for name in ("steps", *names):
        found[name] = rows([getattr(r, name) for r in results])
    return found


# What the chapters show as well: clusters and donuts, images (Fig. 1, Fig. 4).


repeats = chapter.repeats
donuts = chapter.donuts
mnist_images = images.mnist
cifar = images.cifar10
emergence = images.line


# The losses and their landscape (Sections 2 and 3).


@functools.cache
def on_sphere():
    """What eq. 3 and eq. 1 have in common on the sphere, five draws."""
    return [exact.on_the_sphere(seed) for seed in FIVE]


@functools.cache
def maps():
    """Four invariant maps of three clusters to the circle, two of them shuffled; VA's claims alone ask for them."""
    return landscape.forget(landscape.MapsConfig())


def on_landscape(configs):
    """A function that gives the landscape's Results with these settings, once in a process."""
    return functools.cache(lambda: sweep(landscape.run, configs))


PLACES = landscape.Config(copies=1)  # even, with a point each
FEW = PLACES.replace(clusters=2)

# The loss over the number of even places, at six temperatures.
by_tau = on_landscape(combined(FEW, tau=(0.5, 0.2, 0.1, 0.05, 0.02, 0.01)))
# The thresholds at which the loss is level, for three tolerances.
by_tolerance = on_landscape(combined(FEW, tolerance=(0.1, 0.01, 1e-4)))
# 16 even places with 1, 4 and 16 points each.
finite = on_landscape(combined(landscape.Config(clusters=16), copies=(1, 4, 16)))
# Five even points of the circle, five points at one place, five random points.
FIVE_POINTS = PLACES.replace(clusters=5)
still = on_landscape(
    [
        FIVE_POINTS,
        landscape.Config(clusters=1, copies=5),
        FIVE_POINTS.replace(arrangement="random", seed=5),
    ]
)
# The simplex and the cross-polytope in three and four dimensions, the cross-polytope in five.
SOLIDS = (3, 4), (3, 6), (4, 5), (4, 8), (5, 10)
solids = on_landscape([PLACES.replace(dim=d, clusters=k) for d, k in SOLIDS])
# Even places of the circle that several points share.
SHARED = (4, 5), (8, 4), (3, 10)
saddles = on_landscape([landscape.Config(clusters=k, copies=m) for k, m in SHARED])
# Even points of the circle with a place each, at three temperatures.
alone = on_landscape(combined(PLACES, clusters=(3, 4, 5, 8, 16), tau=(0.05, 0.2, 0.5)))


@functools.cache
def variations():
    """{direction: the second variation at five even points, by derivative and by formula}."""
    z = landscape.even(5, 2)
    turn = torch.stack([-z[:, 1], z[:, 0]], 1)
    draws = torch.randn(5, 1, generator=torch.Generator().manual_seed(0), dtype=z.dtype)
    return {
        "random h": second_variation(z, turn * draws, 0.2),
        "rotation": second_variation(z, turn, 0.2),
    }


@functools.cache
def within():
    """Second variations inside the conditions of Lemma B.4, for two to five places."""
    return [within_lemma(K) for K in (2, 3, 4, 5)]


# When clusters separate (Section 4, Appendix C).


to_the_end = chapter.to_the_end


@functools.cache
def equal_means():
    """A start at rest that meets all conditions of Theorem 4.3: the clusters' means are equal."""
    return repair.equal_means(n=100, eps=0.1, tau=1.0)


SCATTERS = (0.0, 0.09, 0.49, 0.81, 1.21, 2.25)


@functools.cache
def scattered():
    """{(gradient, squared scatter of the views / tau): growth of 40 gaps up to eps}; means apart, without overlap."""
    gaps = np.linspace(0, noisy.EPS, 41)[1:]
    return {
        (gradient, scatter): np.array([noisy.growth(gap, scatter, gradient) for gap in gaps])
        for gradient in ("partial", "full")
        for scatter in SCATTERS
    }


@recorded("ls-overlapping")
def overlapping():
    """Starts that meet all conditions of Theorem 4.3 and no weights separate: the clusters' gradients overlap."""
    return [repair.overlap(n) for n in (1200, 12_000, 120_000, 1_200_000)]


@recorded("ls-overlapping-moved")
def overlapping_moved(seeds=FIVE):
    """The same with each number moved a little, five draws."""
    return [repair.overlap(1200, moved=0.05, seed=seed) for seed in seeds]


def least_spread(run) -> float:
    """The smallest singular value of the embedding where a run separates, over the largest; 0 where it does not."""
    if run.separable_at is None:
        return 0.0
    z = run.z[np.searchsorted(run.steps, run.separable_at)]
    largest, *_, smallest = np.linalg.svd(z - z.mean(0), compute_uv=False)
    return float(smallest / largest)


SEVERAL = separability.Config(n=120, eps=0.1, tau=1.0, steps=1000, linger=1.0)


@recorded(
    "ls-several",
    separability.run,
    [SEVERAL.replace(classes=classes, d=d) for classes, d in ((3, 2), (4, 2), (4, 3))],
    seeds=FIVE,
    keep=fields("x", "z", least_spread=least_spread),
    start=0.1,
    record=("loss",),
)
def several(runs):
    """Three and four clusters in two and three dimensions, five seeds."""
    groups = grouped(runs, "classes", "d")
    return {f"{classes} clusters, d = {d}": found for (classes, d), found in groups.items()}


SETS = {
    "clusters": {"steps": 1000},
    "donut": dict(data="donut", augmentation="rotation", steps=1000),
    "no views": dict(data="donut", augmentation="none", steps=300),
}
LOSSES = ("eq. 12", "both views", "eq. 3")
FAST = variants.Config(lr_over_tau=0.1, linger=1.0)


@recorded(
    "ls-full-loss",
    variants.run,
    [FAST.replace(loss=loss, **change) for loss in LOSSES for change in SETS.values()],
    seeds=FIVE,
    curves=("width",),
    start=0.05,
    record=condition.NEEDS,
    axes=AXES,
    named={"set": np.tile(np.repeat([*SETS], 5), len(LOSSES))},
    words=chapter.WORDS,
    dims=("loss", "set", "seed"),
)
def full_loss(results):
    """Clusters and a donut under eq. 12, the same with both samples augmented, and eq. 3, five seeds."""
    return conditions(results)


@recorded(
    "ls-linear",
    variants.run,
    chapter.grid(variants.Config(features="random", hidden=(), gradient="partial", steps=100_000)),
    curves=("width",),
    start=0.0005,
    record=condition.NEEDS,
    axes=AXES,
    words=chapter.WORDS,
)
def random_features(results):
    """The chapter's phase diagram with 100 random features in place of a network, partial gradient."""
    return conditions(results)


FLAT = variants.Config(
    hidden=(), eps=0.001, noise=0.03, steps=600, record_every=10, gradient="partial"
)
RATES = {"random": 0.0015, "radial": 0.015, "spline": 0.13}  # of features, as suits their kernels


@recorded(
    "ls-linear-maps",
    variants.run,
    [FLAT.replace(features=features, lr_over_tau=rate) for features, rate in RATES.items()],
    seeds=FIVE,
    keep=fields("x", "z"),
    curves=("theta",),
    start=0.1,
    record=("theta", "drift"),
)
def linear_maps(runs):
    """Maps linear in their weights, three sets of features, from a tight start, five seeds."""
    return by_name(RATES, runs)


SPREADS = (0.2, 0.1, 0.05, 0.025)  # of a cluster, for `blocks` and `thetas`


@recorded("ls-blocks")
def blocks(seeds=FIVE):
    """(seeds, spreads, 2) sigma^2, and how far the kernel is from blocks, as clusters get tighter."""
    found = []
    for seed in seeds:
        configs = [Config(spread=spread, seed=seed) for spread in SPREADS]
        found.append([exact.block_error(config) for config in configs])
    return np.array(found)


@recorded("ls-thetas")
def thetas(seeds=FIVE):
    """(seeds, spreads) Theta of the start as clusters get tighter."""
    found = []
    for seed in seeds:
        configs = [Config(spread=spread, steps=1, seed=seed) for spread in SPREADS]
        starts = [separability.run(config, record=("theta",)) for config in configs]
        found.append([start.theta[0] for start in starts])
    return np.array(found)


fig3 = chapter.figure_3


@recorded(
    "ls-clusters",
    separability.run,
    [separability.Config(lr_over_tau=0.1, steps=300)],  # rate and length of the donut's runs
    seeds=FIVE,
    keep=fields("x", "z"),
    curves=("theta",),
    start=0.2,
    record=("theta", "sigma2"),
)
def clusters(runs):
    """Two clusters at the donut's learning rate, five seeds."""
    return runs


@functools.cache
def shapes():
    """{data: runs of five seeds} of the donut and of clusters, with Theta and sigma^2."""
    return {"donut": donuts()["rotation"], "clusters": clusters()}


@functools.cache
def affine():
    """Whether an affine function separates the classes of the donut's points themselves, by draw."""
    return np.array([separable(run.x, run.labels) for run in shapes()["donut"]])


def readout_accuracy(result) -> np.ndarray:
    """(T,) accuracy of a linear readout of the embedding at each recorded time."""
    labels = result.labels
    return np.array([linear_probe(z, labels, z, labels) for z in result.z])


MNIST = variants.Config(
    data="mnist",
    classes=3,
    n=300,
    augmentation="image",
    hidden=(100, 100, 100),
    lr_over_tau=0.1,
    steps=5000,
)


@recorded(
    "ls-mnist",
    variants.run,
    MNIST,
    seeds=THREE,
    curves=("accuracy", "path"),
    start=0.002,
    axes=AXES,
)
def fig4_mnist(results):
    """LS Figure 4 on MNIST: three digits, three hidden layers of 100, three seeds.

    Keeps, beside `curves`:
        accuracy: of a linear readout of the embedding.
        path: the embedding of 20 points over time.
    """
    found = curves(results)
    found["accuracy"] = rows([readout_accuracy(r) for r in results])
    found["labels"] = np.stack([r.labels[::15] for r in results])
    found["path"] = rows([r.z[:, ::15, 0].T for r in results])
    return found


# The kernel on two clusters and on a donut while networks train; donuts from four widths of the start.
stories = kernel.stories
fig5 = chapter.figure_5


@recorded("ls-step-errors")
def step_errors(seeds=FIVE):
    """{"partial": relative errors (3 rates, 5 seeds) of Prop. 4.1 for one step}, the rate falling."""
    rows = []
    for rate in (1e-1, 1e-2, 1e-3):
        config = Config(lr_over_tau=rate, noise=0.03)
        rows.append([exact.step_error(config.replace(seed=seed)) for seed in seeds])
    return {"partial": rows}


@recorded("ls-growth")
def growth():
    """(gradient, growth rate of the gap between the clusters, the rate predicted) of ten runs."""
    tight = Config(eps=0.001, lr_over_tau=0.002, record_every=10)
    configs = []
    for gradient, steps in (("full", 1200), ("partial", 2400)):
        one = tight.replace(gradient=gradient, steps=steps)
        configs += [one.replace(seed=seed) for seed in FIVE]
    found = []
    for run in sweep(separability.run, configs, record=("theta",)):
        gradient = run.config.gradient
        predicted = theory.growth_rate(run.theta[0], run.config.tau, gradient)
        found.append((gradient, condition.measured_growth(run), predicted))
    return found


@functools.cache
def constant():
    """Five starts at which all points and views are at one place."""
    start = Config(eps=0.0, spread=0.02, steps=1)
    return sweep(separability.run, combined(start, seed=FIVE), record=("gamma", "theta", "sigma2"))


@functools.cache
def constant_slope():
    """The largest derivative of the loss where all points and views are at one place."""
    return exact.constant_gradient(n=100, tau=0.1)


phase_diagram = chapter.measured


@functools.cache
def tiny():
    """Five seeds of two clusters from a start of extent 1e-4, at the temperature 1e-4."""
    tight = Config(eps=1e-4, tau=1e-4, steps=400, linger=1)
    return sweep(separability.run, combined(tight, seed=FIVE), record=chapter.ASKED)


@functools.cache
def block_powers():
    """The power of sigma^2 with which the error of the kernel's blocks falls, for each seed."""
    return [np.polyfit(*np.log(block.T), 1)[0] for block in blocks()]


# Appendix B: variations of the loss, and its kernel.


@functools.cache
def first_variations():
    """The derivative of eq. 3 by autograd and by eq. 13, five draws."""
    return [exact.first_variation(seed) for seed in FIVE]


@functools.cache
def pairwise():
    """Errors of eq. 14 over many losses: where eta(0) = 1, where it is 3, and corrected; a row a draw."""
    return [exact.pairwise(seed) for seed in FIVE]


@functools.cache
def parted():
    """How much the loss of a constant map changes where its points are parted at random, for losses and draws."""
    return [change for seed in FIVE for change in exact.parted(seed)]


@recorded("ls-growing")
def growing():
    """{eta: the largest derivative of eq. 3 at k f as k grows}."""
    return {eta: exact.growing_scale(eta) for eta in landscape.ETA}


@functools.cache
def one_step():
    """{whether gradients agree: (seeds, 2)} distance of view and point after a step of .1 and of .01, over the step."""
    found = {}
    for agree in (True, False):
        rows = [[exact.apart_after(h, agree, seed) for h in (0.1, 0.01)] for seed in FIVE]
        found[agree] = np.array(rows)
    return found


@recorded("ls-explicit")
def explicit():
    """{activation: {(scale of the entries of A, prefactor): relative error}} of the kernel of Prop. B.5."""
    names = ("tanh", "relu", "gelu")
    return {name: closed_forms.explicit_errors(activation=name) for name in names}


# Appendix C: the proof of Theorem 4.3.


@recorded("ls-linear-errors")
def linear_errors():
    """(eps, gamma, tau, error of the linear law of Step 1) for extents, noises, temperatures and draws."""
    found = []
    for tau, part in itertools.product((0.1, 1.0), (1.0, 0.3, 0.1, 0.01)):
        eps = part * tau**0.5
        for share, seed in itertools.product((0.0, 0.1, 0.5), range(2)):
            gamma = share * eps
            found.append((eps, gamma, tau, exact.linear_error(eps, gamma, tau, seed)))
    return found


@recorded("ls-linear-powers")
def linear_powers():
    """p in: error of Step 1's linear law ~ eps^p without noise, from eps to 2 eps."""
    found = []
    for eps, seed in itertools.product((0.3, 0.1), FIVE):
        narrow, wide = (exact.linear_error(extent, 0, 1.0, seed) for extent in (eps, 2 * eps))
        found.append(np.log2(wide / narrow))
    return found


@functools.cache
def flows():
    """The flow with constant blocks against the law of Step 4; two kernels, three random starts of each."""
    draw = np.random.default_rng(0)
    found = []
    for a, b, c in ((3, 1, 2), (5, -1, 1)):
        for _ in range(3):
            found.append(repair.still_kernel(a, b, c, draw.uniform(-0.5, 0.5, 20), t=1.0, tau=0.5))
    return found


@functools.cache
def printed_bounds():
    """{constant: F(t) of Step 5 over time} at the start of `equal_means`."""
    times = np.linspace(0, 1.5, 16)
    found = {}
    for constant in (1, 1000):
        found[constant] = [
            repair.printed_bound(t, constant, n=100, eps=0.1, tau=1.0) for t in times
        ]
    return found


# Embeddings on the sphere (end of Section 3, Appendix D).


WHOLE_BATCH = sphere.Config(n=2000, start="uniform", lr=2.0, steps=16, record_every=2)


@recorded(
    "ls-uniform-size",
    sphere.run,
    combined(WHOLE_BATCH, d=(2, 3), seed=FIVE),
    curves=("accuracy",),
    start=0.3,
    record=("accuracy", "separable_at"),
    axes=AXES,
    dims=("d", "seed"),
)
def uniform_size(results):
    """LS Figure 6 from the uniform start with 2,000 points, all in one batch, the loss summed, five seeds."""
    return curves(results, "accuracy")


@recorded(
    "ls-uniform-deep",
    sphere.run,
    combined(WHOLE_BATCH.replace(depth=4, steps=300), d=(2, 3), seed=FIVE),
    curves=("accuracy",),
    start=0.01,
    record=("accuracy",),
    axes=AXES,
    dims=("d", "seed"),
)
def uniform_deep(results):
    """LS Figure 7: as Figure 6, with four hidden layers, 300 iterations, five seeds."""
    return {name: rows([getattr(r, name) for r in results]) for name in ("steps", "accuracy")}


@recorded(
    "ls-uniform-batches",
    batches.run,
    combined(sphere.Config(n=2000, start="uniform", steps=400), lr=(0.001, 0.2), seed=FIVE),
    curves=("accuracy",),
    start=0.02,
    record=("accuracy", "separable_at"),
    axes=AXES,
    dims=("lr", "seed"),
)
def uniform_batches(results):
    """LS Figure 6 from the uniform start with 2,000 points in batches of 200, the loss a mean or a sum, five seeds."""
    return curves(results, "accuracy")


@recorded(
    "ls-vanilla",
    sphere.run,
    combined(
        sphere.Config(network=False, gradient="partial", record_every=50),
        d=(2, 3),
        start=("cap", "uniform"),
        seed=FIVE,
    ),
    keep=fields("x", "z"),
    start=0.2,
    record=("loss", "accuracy"),
)
def vanilla(runs):
    """Free points on circle and sphere, from a cap and from a uniform start, five seeds."""
    return grouped(runs, "d", "start")


PUBLISHED = sphere.Config(n=2000, lr=0.001)


@recorded(
    "ls-fig-6",
    batches.run,
    combined(PUBLISHED.replace(steps=300, record_every=10), start=("ordinary", "cap"), seed=FIVE),
    curves=("accuracy", "loss"),
    start=0.03,
    record=("accuracy", "loss", "separable_at"),
    axes=AXES,
    dims=("start", "seed"),
)
def fig6(results):
    """LS Figure 6 with 2,000 points, lr = .001, batches of 200; from the network's own start and a cap, five seeds."""
    return curves(results, "accuracy", "loss")


@recorded(
    "ls-fig-6-free",
    batches.run,
    combined(
        PUBLISHED.replace(steps=50_000, network=False, gradient="partial"),
        start=("uniform", "cap"),
        seed=THREE,
    ),
    start=0.001,
    record=("accuracy", "loss", "separable_at"),
    axes=AXES,
    dims=("start", "seed"),
)
def fig6_free(results):
    """LS Figure 6 with 2,000 points and no network, lr = .001 and batches of 200, 50,000 steps."""
    return curves(results, "accuracy", "loss")
