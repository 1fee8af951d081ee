"""What the claims of LS are judged on: each function's name is what the measures call its result."""

import functools
import itertools

import numpy as np

from clbook import records, sweep
from clbook.experiments import landscape, separability, sphere
from clbook.experiments.kernel import closed_forms
from clbook.experiments.separability import Config, condition
from clbook.metrics import separable
from clbook.papers.ls import drift, exact, repair, variants

SEEDS = range(3)
SPREADS = (0.2, 0.1, 0.05, 0.025)  # of a cluster, for `blocks` and `thetas`
# Places on the circle, and tau as a share of the largest that Lemma B.4 allows, for `bounds`.
PLACES = tuple(itertools.product((2, 3, 4, 5), (0.999, 0.5)))
# The data whose kernels `eigenvalues` looks at.
DATA = {
    "clusters, spread .1": Config(),
    "clusters, spread .5": Config(spread=0.5),
    "donut": Config(data="donut", augmentation="rotation"),
}


# Sections 1 to 3: the losses.


@functools.cache
def written():
    """Our functions beside the definitions written out, three draws."""
    return [exact.written_out(seed) for seed in SEEDS]


@functools.cache
def scales():
    """How much eq. 1 changes when an embedding is multiplied by a number, three draws."""
    return [exact.rescaled(seed) for seed in SEEDS]


@functools.cache
def on_sphere():
    """What eq. 3 and eq. 1 have in common on the sphere, three draws."""
    return [exact.on_the_sphere(seed) for seed in SEEDS]


@functools.cache
def pushed():
    """How far points and their views are apart once embedded, as sets, for three maps; three draws."""
    return [exact.pushed(seed) for seed in SEEDS]


# Section 4: separation.


@functools.cache
def velocity():
    """{map: relative errors of eq. 7, three draws} for maps that are no networks."""
    return {name: [exact.velocity_error(name, seed) for seed in SEEDS] for name in exact.MAPS}


@functools.cache
def followed():
    """The record of two clusters followed on after they separate, a network and random features."""
    return records.load("ls-lost-again")


@functools.cache
def to_the_end():
    """The record of the phase diagram with the partial gradient, and of its three slowest runs, to their end."""
    return records.load("ls-to-the-end")


@functools.cache
def equal_means():
    """A start at rest that meets all conditions of Theorem 4.3: the clusters' means are equal."""
    return repair.equal_means(n=100, eps=0.1, tau=1.0)


@functools.cache
def watched():
    """72 runs with each step kept, for the promises of the repaired theorem."""
    plain = Config(noise=0.03, steps=600, linger=3.0, record_every=1)
    starts = itertools.product(("partial", "full"), range(4), (0.1, 0.3, 1.0), (0.1, 1.0, 10.0))
    configs = []
    for gradient, seed, eps, tau in starts:
        configs.append(plain.replace(gradient=gradient, seed=seed, eps=eps, tau=tau))
    return sweep(repair.run, configs)


@functools.cache
def several():
    """{setting: runs of five seeds} of three and four clusters in two and three dimensions."""
    plain = Config(n=120, eps=0.1, tau=1.0, steps=1000, linger=1.0)
    found = {}
    for classes, d in ((3, 2), (4, 2), (4, 3)):
        configs = [plain.replace(classes=classes, d=d, seed=seed) for seed in range(5)]
        found[f"{classes} clusters, d = {d}"] = sweep(separability.run, configs)
    return found


@functools.cache
def full_loss():
    """The record of clusters and a donut under three losses."""
    return records.load("ls-full-loss")


@functools.cache
def random_features():
    """The record of the phase diagram with random features in place of a network."""
    return records.load("ls-linear")


@functools.cache
def linear_maps():
    """{features: runs of three seeds} from a tight start; the map is linear in its weights."""
    plain = variants.Config(
        hidden=(), eps=0.001, noise=0.03, steps=600, record_every=10, gradient="partial"
    )
    found = {}
    for features, rate in (("random", 0.0015), ("radial", 0.015), ("spline", 0.13)):
        configs = [plain.replace(features=features, lr_over_tau=rate, seed=seed) for seed in SEEDS]
        found[features] = sweep(variants.run, configs, record=("theta", "drift"))
    return found


@functools.cache
def blocks():
    """(seeds, spreads, 2) sigma^2, and how far the kernel is from blocks, as clusters get tighter."""
    found = []
    for seed in SEEDS:
        configs = [Config(spread=spread, seed=seed) for spread in SPREADS]
        found.append([condition.block_error(config) for config in configs])
    return np.array(found)


@functools.cache
def thetas():
    """(seeds, spreads) Theta of the start as clusters get tighter."""
    found = []
    for seed in SEEDS:
        configs = [Config(spread=spread, steps=1, seed=seed) for spread in SPREADS]
        starts = [separability.run(config, record=("theta",)) for config in configs]
        found.append([start.theta[0] for start in starts])
    return np.array(found)


@functools.cache
def steep():
    """How steep the gradients of w sign(x) and of tanh(w x) are in x, over ever smaller distances."""
    return [exact.steepness(distance) for distance in (0.1, 1e-3, 1e-6)]


@functools.cache
def fig3():
    """The record of the three settings of Figure 3."""
    return records.load("ls-fig-3")


@functools.cache
def shapes():
    """{data: runs of five seeds} of the donut and of clusters, with Theta and sigma^2."""
    clusters = Config(lr_over_tau=0.1, steps=300)
    donut = clusters.replace(data="donut", augmentation="rotation")
    found = {}
    for name, config in (("donut", donut), ("clusters", clusters)):
        configs = [config.replace(seed=seed) for seed in range(5)]
        found[name] = sweep(separability.run, configs, record=("theta", "sigma2"))
    return found


@functools.cache
def affine():
    """{data: whether an affine function separates the classes of the points themselves, by draw}."""
    plain = Config(data="digits", augmentation="image", classes=3, n=99)
    digits = [separability.dataset(plain.replace(seed=seed)) for seed in SEEDS]
    return {
        "donut": [separable(run.x, run.labels) for run in shapes()["donut"]],
        "digits": [separable(x, labels) for x, labels in digits],
    }


@functools.cache
def fig4_mnist():
    """The record of three digits of MNIST, embedded on a line."""
    return records.load("ls-mnist")


@functools.cache
def photo_blocks():
    """The record of the kernel of an encoder of images, before and after training."""
    return records.load("photographs-blocks")


@functools.cache
def stories():
    """The record of the kernel on two clusters and on a donut while networks train."""
    return records.load("ls-fig-5-training")


@functools.cache
def fig5():
    """The record of donuts from four widths of the start, with the alignment of the kernel."""
    return records.load("ls-fig-5")


# Appendix B: variations of the loss, and its kernel.


@functools.cache
def first_variations():
    """The derivative of eq. 3 by autograd and by eq. 13, three draws."""
    return [exact.first_variation(seed) for seed in SEEDS]


@functools.cache
def growing():
    """{eta: the largest derivative of eq. 3 at k f as k grows}."""
    return {eta: exact.growing_scale(eta) for eta in landscape.ETA}


@functools.cache
def multipliers():
    """What eq. 18 says at even points: how far its integrals differ, as printed and corrected."""
    sets = ((5, 2), (8, 2), (4, 3), (6, 3))  # places, dimension
    return [exact.multiplier(landscape.even(count, dim)) for count, dim in sets]


@functools.cache
def bounds():
    """The second variation along random directions, and Lemma B.4's bounds of it; for each of `PLACES`."""
    return [exact.lower_bounds(count, share) for count, share in PLACES]


@functools.cache
def kept():
    """{what the network sees: distances of a view from its point after 20 steps, three seeds}."""
    return {
        "radius": [exact.invariance_after(False, seed) for seed in SEEDS],
        "point": [exact.invariance_after(True, seed) for seed in SEEDS],
    }


@functools.cache
def explicit():
    """{activation: relative errors of Prop. B.5 by scale of the entries and by prefactor}."""
    names = ("tanh", "relu", "gelu")
    return {name: closed_forms.explicit_errors(activation=name) for name in names}


# Appendix C: the proof of Theorem 4.3.


@functools.cache
def linear_errors():
    """(eps, gamma, tau, error of the linear law of Step 1) for extents, noises, temperatures and draws."""
    found = []
    for tau, part in itertools.product((0.1, 1.0), (1.0, 0.3, 0.1, 0.01)):
        eps = part * tau**0.5
        for share, seed in itertools.product((0.0, 0.1, 0.5), range(2)):
            gamma = share * eps
            found.append((eps, gamma, tau, exact.linear_error(eps, gamma, tau, seed)))
    return found


@functools.cache
def linear_powers():
    """p in: error of Step 1's linear law ~ eps^p without noise, from eps to 2 eps."""
    found = []
    for eps, seed in itertools.product((0.3, 0.1), SEEDS):
        narrow, wide = (exact.linear_error(extent, 0, 1.0, seed) for extent in (eps, 2 * eps))
        found.append(np.log2(wide / narrow))
    return found


@functools.cache
def eigenvalues():
    """The lowest eigenvalue of Step 3, what the proof says it is, the largest other one; `DATA` and seeds."""
    found = []
    for config, seed in itertools.product(DATA.values(), SEEDS):
        kernel, labels = repair.double(config.replace(seed=seed))
        found.append(repair.growing(kernel.numpy(), labels.numpy()))
    return found


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
def components():
    """{points: (seeds, starts, 2)} |alpha(0)| / eps and |z_perp(0)| / eps of Step 4 at uniform starts."""
    found = {}
    for n in (50, 200, 800, 3200):
        found[n] = np.stack([repair.first_component(n, seed) for seed in SEEDS])
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


# Appendix D: the circle.


@functools.cache
def fig6():
    """The record of Figure 6 with a network, at the paper's size."""
    return records.load("ls-fig-6")


@functools.cache
def fig6_free():
    """The record of Figure 6 without a network, at the paper's size."""
    return records.load("ls-fig-6-free")


@functools.cache
def _short():
    """Runs on the circle with every step's kernel compared with that of the start, three seeds."""
    plain = sphere.Config(steps=20, record_every=1)
    kept = ("drift", "separable_at")
    return [drift.run(plain.replace(seed=seed), record=kept) for seed in SEEDS]


@functools.cache
def drifts():
    """How far the kernel on the circle has moved when hyperplanes separate the clusters, three seeds."""
    return [run.drift[run.steps == run.separable_at][0] for run in _short()]
