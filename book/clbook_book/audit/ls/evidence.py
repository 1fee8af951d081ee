"""What the claims of LS are judged on: each function's name is what the measures call its result."""

import functools

import numpy as np
import torch

from clbook import sweep
from clbook.experiments import landscape, separability
from clbook.experiments.separability import Config
from clbook.metrics import separable
from clbook.results.sweep import combined
from clbook_book import records
from clbook_book.audit.judging import of_computed, of_groups, of_record
from clbook_book.audit.ls import checks, computed, exact, noisy, repair
from clbook_book.audit.ls.variation import second_variation, within_lemma
from clbook_book.course.separability import series
from clbook_book.course.separability.recipes import checked
from clbook_book.course.sphere import recipes as sphere_recipes

SEEDS, SPREADS = computed.SEEDS, computed.SPREADS


def of_seeds(run, config, record=()) -> list:
    """Runs of five seeds."""
    return sweep(run, combined(config, seed=SEEDS), record=record)


# What the chapter on separability shows as well.
repeats = series.repeats
donuts = series.donuts


# Images (Fig. 1, Fig. 4).


# SimCLR on MNIST: accuracies of pixels and features.
mnist_images = of_record("images-mnist")
# SimCLR on CIFAR-10: accuracies of pixels and features, spectra.
cifar = of_record("images-cifar10")
# Two classes of CIFAR-10 on a line, the linear readout over time.
emergence = of_record("images-emergence")


# The losses and their landscape (Sections 2 and 3).


@functools.cache
def on_sphere():
    """What eq. 3 and eq. 1 have in common on the sphere, five draws."""
    return [exact.on_the_sphere(seed) for seed in SEEDS]


@functools.cache
def maps():
    """Four invariant maps of three clusters to the circle, two of them shuffled; VA's claims alone ask for them."""
    return landscape.forget(landscape.MapsConfig())


@functools.cache
def by_tau():
    """The loss over the number of even places, at six temperatures."""
    few = landscape.Config(clusters=2, copies=1)
    taus = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
    return sweep(landscape.run, combined(few, tau=taus))


@functools.cache
def by_tolerance():
    """The thresholds at which the loss is level, for three tolerances."""
    few = landscape.Config(clusters=2, copies=1)
    return sweep(landscape.run, combined(few, tolerance=(0.1, 0.01, 1e-4)))


@functools.cache
def finite():
    """16 even places with 1, 4 and 16 points each."""
    places = landscape.Config(clusters=16)
    return sweep(landscape.run, combined(places, copies=(1, 4, 16)))


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
    configs = [landscape.Config(clusters=k, copies=m) for k, m in pairs]
    return sweep(landscape.run, configs)


@functools.cache
def alone():
    """Even points of the circle with a place each, at three temperatures."""
    places = landscape.Config(copies=1)
    configs = combined(places, clusters=(3, 4, 5, 8, 16), tau=(0.05, 0.2, 0.5))
    return sweep(landscape.run, configs)


@functools.cache
def variations():
    """{direction: the second variation at five even points, by derivative and by formula}."""
    z = landscape.even(5, 2)
    turn = torch.stack([-z[:, 1], z[:, 0]], 1)
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(5, 1, generator=generator, dtype=z.dtype)
    return {
        "random h": second_variation(z, turn * draws, 0.2),
        "rotation": second_variation(z, turn, 0.2),
    }


@functools.cache
def within():
    """Second variations inside the conditions of Lemma B.4, for two to five places."""
    return [within_lemma(K) for K in (2, 3, 4, 5)]


# When clusters separate (Section 4, Appendix C).


# The phase diagram with the partial gradient, and of its seven slowest runs, to their end.
to_the_end = of_record("ls-to-the-end")


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


# Starts that meet all conditions of Theorem 4.3 and no weights separate: the clusters' gradients overlap.
overlapping = of_computed("ls-overlapping")
# The same with each number moved a little, five draws.
overlapping_moved = of_computed("ls-overlapping-moved")
# Clusters from tight to wide, so that their gradients overlap, with random features.
overlap_runs = of_record("ls-overlap")


@functools.cache
def donut_overlaps():
    """(seeds,) kappa / Theta of the donuts that rotations separate, at the start."""
    return np.array([repair.overlap_at_start(run.config) for run in donuts()["rotation"]])


@functools.cache
def several():
    """{setting: runs of five seeds} of three and four clusters in two and three dimensions."""
    groups = of_groups("ls-several", "classes", "d")()
    return {f"{classes} clusters, d = {d}": runs for (classes, d), runs in groups.items()}


# Clusters and a donut under three losses.
full_loss = of_record("ls-full-loss")
# The phase diagram with random features in place of a network.
random_features = of_record("ls-linear")


# {features: runs of five seeds} from a tight start; the map is linear in its weights.
linear_maps = of_groups("ls-linear-maps", "features")


# (seeds, spreads, 2) sigma^2, and how far the kernel is from blocks, as clusters get tighter.
blocks = of_computed("ls-blocks")
# (seeds, spreads) Theta of the start as clusters get tighter.
thetas = of_computed("ls-thetas")


# The three settings of Figure 3.
fig3 = of_record("ls-fig-3")


@functools.cache
def shapes():
    """{data: runs of five seeds} of the donut and of clusters, with Theta and sigma^2 (records)."""
    return {"donut": donuts()["rotation"], "clusters": records.runs("ls-clusters")}


@functools.cache
def affine():
    """Whether an affine function separates the classes of the donut's points themselves, by draw."""
    return np.array([separable(run.x, run.labels) for run in shapes()["donut"]])


# Three digits of MNIST, embedded on a line.
fig4_mnist = of_record("ls-mnist")
# The kernel on two clusters and on a donut while networks train.
stories = of_record("ls-fig-5-training")
# Donuts from four widths of the start, with the alignment of the kernel.
fig5 = of_record("ls-fig-5")
# {"partial": relative errors (3 rates, 5 seeds) of Prop. 4.1 for one step}, the rate falling.
step_errors = of_computed("ls-step-errors")
# (gradient, growth rate of the gap between the clusters, the rate predicted) of ten runs.
growth = of_computed("ls-growth")


@functools.cache
def constant():
    """Five starts at which all points and views are at one place."""
    start = Config(eps=0.0, spread=0.02, steps=1)
    return of_seeds(separability.run, start, ("gamma", "theta", "sigma2"))


@functools.cache
def constant_slope():
    """The largest derivative of the loss where all points and views are at one place."""
    return checks.constant_gradient(n=100, tau=0.1)


@functools.cache
def phase_diagram():
    """What condition (e) asks for, and the outcome, over a grid of eps and tau (a record)."""
    return checked(records.load("ls-phase-diagram"))


@functools.cache
def tiny():
    """Five seeds of two clusters from a start of extent 1e-4, at the temperature 1e-4."""
    tight = Config(eps=1e-4, tau=1e-4, steps=400, linger=1)
    return series.of_seeds({"tiny": tight})["tiny"]


@functools.cache
def block_powers():
    """The power of sigma^2 with which the error of the kernel's blocks falls, for each seed."""
    return [np.polyfit(*np.log(block.T), 1)[0] for block in blocks()]


# Appendix B: variations of the loss, and its kernel.


@functools.cache
def first_variations():
    """The derivative of eq. 3 by autograd and by eq. 13, five draws."""
    return [exact.first_variation(seed) for seed in SEEDS]


@functools.cache
def pairwise():
    """Errors of eq. 14 over many losses: where eta(0) = 1, where it is 3, and corrected; a row a draw."""
    return [exact.pairwise(seed) for seed in SEEDS]


@functools.cache
def parted():
    """How much the loss of a constant map changes where its points are parted at random, for losses and draws."""
    return [change for seed in SEEDS for change in exact.parted(seed)]


# {eta: the largest derivative of eq. 3 at k f as k grows}.
growing = of_computed("ls-growing")


@functools.cache
def one_step():
    """{whether gradients agree: (seeds, 2)} distance of view and point after a step of .1 and of .01, over the step."""
    found = {}
    for agree in (True, False):
        rows = [[exact.apart_after(h, agree, seed) for h in (0.1, 0.01)] for seed in SEEDS]
        found[agree] = np.array(rows)
    return found


# {activation: {(scale of the entries of A, prefactor): relative error}} of the kernel of Prop. B.5.
explicit = of_computed("ls-explicit")


# Appendix C: the proof of Theorem 4.3.


# (eps, gamma, tau, error of the linear law of Step 1) for extents, noises, temperatures and draws.
linear_errors = of_computed("ls-linear-errors")
# p in: error of Step 1's linear law ~ eps^p without noise, from eps to 2 eps.
linear_powers = of_computed("ls-linear-powers")


@functools.cache
def flows():
    """The flow with constant blocks against the law of Step 4; two kernels, three random starts of each."""
    draw = np.random.default_rng(0)
    found = []
    for a, b, c in ((3, 1, 2), (5, -1, 1)):
        for _ in range(3):
            start = draw.uniform(-0.5, 0.5, 20)
            found.append(repair.still_kernel(a, b, c, start, t=1.0, tau=0.5))
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


# 2,000 points from a uniform start, all in one batch, beyond that rate.
uniform_size = of_record("ls-uniform-size")
# 2,000 points from a uniform start in batches of 200, at two learning rates.
uniform_batches = of_record("ls-uniform-batches")


# {(d, start): five seeds} of free points.
vanilla = of_groups("ls-vanilla", "d", "start")


# Figure 6 with a network, at the paper's size.
fig6 = of_record("ls-fig-6")
# Figure 6 without a network, at the paper's size.
fig6_free = of_record("ls-fig-6-free")
