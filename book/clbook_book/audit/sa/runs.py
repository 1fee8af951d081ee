"""What was run for SA's claims: each function gives one thing that measures take, once in a process.

Those marked `recorded` are kept as records; the others take less than a second. Runs are lists of Results, seeds
fastest; records of arrays are Datasets.
"""

import functools
import itertools

import numpy as np
import torch
from scipy.stats import binom
from torch.nn.functional import normalize

from clbook import augment, data, sweep, theory
from clbook.experiments import alignment
from clbook.experiments.alignment import gaps
from clbook.experiments.alignment.experiment import BASE_BATCH, NAMES, POWERS, angle, pca_angle
from clbook.experiments.alignment.experiment import Config as Plain
from clbook.experiments.alignment.experiment import run as plain
from clbook.results.sweep import combined
from clbook_book.audit.sa import lemmas, surrogate, weights
from clbook_book.audit.sa.copies import Config, run
from clbook_book.course.alignment.runs import nscl
from clbook_book.course.photographs import runs as pictures
from clbook_book.records import fields, grouped, over_time, recorded

THREE, FIVE = range(3), range(5)  # seeds
LARS = dict(optimizer="lars", lr=0.15)
IMAGES = Plain(data="digits", n=1200, noise=0.1)
DIGITS = Config(data="digits", n=1200, noise=0.1)
SYNTHETIC = Plain(compare="labels")
SIMILARITIES = ("cka", "rsa", "cka_train", "rsa_train")

# Axes of the arrays: of runs that record each loss, and of runs of which the pair of DCL and NSCL is kept.
OF_LOSSES = {
    **dict.fromkeys(("cka", "rsa", "gap", "weight_angle", "nccc", "within"), "run loss step"),
    "steps": "step",
    "class_angle": "run embedding class step",
}
OF_PAIRS = dict.fromkeys(SIMILARITIES, "run step")
LOSSES = {"loss": NAMES["labels"]}


def pairs(results, *names) -> dict[str, np.ndarray]:
    """Similarities of NSCL with DCL, (runs, T)."""
    columns = {}
    for name in names:
        columns[name] = np.array([getattr(r, name)[:, 1] for r in results], np.float32)
    return columns


# Trainings of the chapter on alignment.


def distances(result) -> np.ndarray:
    """(T, 3, 2) rho and r of NSCL's, SCL's and CE's table on the test points, relative to DCL's."""
    z = normalize(torch.as_tensor(result.z, dtype=torch.float64), dim=-1)  # (T, M, N, d)
    tables = z @ z.mT
    scores = surrogate.similarity_scores(tables[:, :1], tables[:, 1:4])
    return np.stack([scores["rho"], scores["r"]], -1)


def of_training(name, configs, asked, start=0.3, **derived):
    """`recorded` for trainings of the chapter, five seeds, but for their embeddings."""
    keep = fields("z", nscl=nscl, **derived)
    more = dict(curves=("nscl",), start=start, record=asked)
    return recorded(name, plain, configs, keep, FIVE, **more)


@of_training(
    "sa-digits",
    [IMAGES],
    ("cka", "rsa", "gap", "nccc", "probe", "cka_encoder", "z"),
    distances=distances,
)
def digits(runs):
    """Digits, five losses, momentum, 200 iterations, five seeds."""
    return runs


@of_training(
    "sa-digits-lars",
    [IMAGES.replace(compare="labels", record_every=200, **LARS)],
    ("cka", "nccc"),
    start=1.0,
)
def digits_lars(runs):
    """Digits, four losses, LARS, 200 iterations, five seeds."""
    return runs


@of_training(
    "sa-long-pairs",
    [IMAGES.replace(compare="pair", schedule="constant", warmup=0, steps=600, record_every=20)],
    ("cka", "rsa", "gap", "layer_gap", "weight_angle", "class_angle", "pca_angle"),
    start=0.1,
)
def long_pairs(runs):
    """Digits, DCL and NSCL, 600 iterations with a constant rate, five seeds."""
    return runs


@of_training(
    "sa-by-classes",
    combined(SYNTHETIC, classes=(2, 5, 10, 20, 50)),
    ("cka", "rsa", "cka_train", "rsa_train", "nccc", "loss_gap"),
)
def by_classes(runs):
    """Synthetic points of 2 to 50 classes, four losses, five seeds."""
    return grouped(runs, "classes")


@of_training(
    "sa-easy",
    [SYNTHETIC.replace(classes=20, spread=0.5, record_every=200)],
    ("cka", "nccc"),
    start=1.0,
)
def easy(runs):
    """Synthetic points of twenty classes, less than half as wide as usual, five seeds."""
    return runs


@of_training("sa-by-tau", combined(SYNTHETIC, tau=lemmas.TAUS), ("cka", "rsa"))
def by_tau(runs):
    """Synthetic points of ten classes at three temperatures, five seeds."""
    return runs


# Records: trainings of minutes and hours.


def of_longer(name, base, start):
    """`recorded` for longer trainings of the chapter with four losses: CKA with DCL, accuracy by the nearest centre."""
    both = ("cka", "nccc")
    more = dict(axes=OF_LOSSES, labels=LOSSES)
    return recorded(name, plain, base, seeds=THREE, curves=both, record=both, start=start, **more)


@of_longer("alignment-longer", IMAGES.replace(compare="labels", steps=600, record_every=30), 0.1)
def longer(results):
    """Digits, four losses, momentum, 600 iterations instead of 200, three seeds."""
    return over_time(results, "cka", "nccc")


@of_longer("alignment-fifty", SYNTHETIC.replace(classes=50, steps=1000, record_every=50), 0.06)
def fifty(results):
    """Synthetic data of 50 classes, four losses, 1,000 iterations instead of 200, three seeds."""
    return over_time(results, "cka", "nccc")


@functools.cache
def momentum():
    """Digits for 600 iterations and synthetic points of fifty classes for 1,000: four losses, momentum."""
    return [longer(), fifty()]


def scaled(base, sizes, steps) -> list:
    """Runs of all scalings, batch sizes and seeds, in this order, with steps(B) steps, recorded at each fourth of them.

    At the batch size at which all scalings agree they are one run.
    """
    return [
        base.replace(
            batch=b,
            scaling=p if b != BASE_BATCH else "constant",
            steps=steps(b),
            record_every=steps(b) // 4,
            seed=s,
        )
        for p in POWERS
        for b in sizes
        for s in FIVE
    ]


SMALL = Plain(compare="pair", width=64)


@recorded(
    "alignment-batch",
    plain,
    scaled(SMALL, (32, 64, 128), lambda b: 200)
    + scaled(SMALL, (32, 64, 128), lambda b: 12_800 // b),
    curves=("cka",),
    record=("cka",),
    start=0.3,
    axes=OF_PAIRS,
    named={
        "budget": np.repeat(["fixed steps", "fixed epochs"], 60),
        "law": np.tile(np.repeat([*POWERS], 15), 2),  # in either half
    },
    dims=("budget", "law", "batch", "seed"),
)
def batches(results):
    """Four scalings of the rate, B = 32, 64, 128, five seeds: 200 iterations, then 12,800 points seen."""
    return pairs(results, "cka")


POINTS = Config(compare="pair", width=64, **LARS)
SEEN = scaled(POINTS, (32, 64, 128, 256), lambda b: 25_600 // b)


@recorded(
    "sa-batch",
    run,
    [config.replace(warmup=config.steps // 10) for config in SEEN],
    curves=("cka",),
    record=SIMILARITIES,
    start=0.3,
    axes=OF_PAIRS,
    named={"law": np.repeat([*POWERS], 20)},
    dims=("law", "batch", "seed"),
)
def batches_lars(results):
    """Synthetic points, LARS, four scalings of the rate, B = 32 to 256, 25,600 points seen, five seeds."""
    return pairs(results, *SIMILARITIES)


@functools.cache
def sized():
    """CKA at the end of these runs."""
    return batches_lars().cka.isel(step=-1)


def by_class(z, labels) -> list[np.ndarray]:
    """The embeddings (T, M, points, d) of each class, of z (T, M, n, d)."""
    return [z[:, :, labels == c] for c in np.unique(labels)]


def class_angles(result) -> np.ndarray:
    """(2, 10, T) angles, degrees, by which NSCL's mean embedding of a class has turned from DCL's: plain, by PCA.

    NaN before the first step.
    """
    plain, projected = [], []
    for z in by_class(result.z, result.labels):
        start, dcl, nscl = z[0, 0], z[:, 0], z[:, 1]
        plain.append(angle((dcl - start).mean(1), (nscl - start).mean(1)))
        projected.append([pca_angle(start, a, b) for a, b in zip(dcl, nscl, strict=True)])
    return np.array([plain, projected])


APART = DIGITS.replace(compare="pair", schedule="constant", warmup=0, twin=1e-6)
TWINS = {"loss": ("dcl", "nscl", "twin"), "embedding": ("plain", "by PCA")}


@recorded(
    "sa-plateau",
    run,
    APART.replace(steps=6000, record_every=100),
    seeds=THREE,
    curves=("cka",),
    record=("cka", "weight_angle", "z"),
    start=0.02,
    axes=OF_LOSSES,
    labels=TWINS,
)
def plateau(results):
    """Digits, DCL, NSCL and a twin of DCL, momentum, 6,000 iterations, three seeds."""
    turned = np.array([class_angles(r) for r in results], np.float32)
    return over_time(results, "cka", "weight_angle") | {"class_angle": turned}


def within(result) -> np.ndarray:
    """(M, T) share of the variance of the unit embeddings that is within classes."""
    unit = result.z / np.linalg.norm(result.z, axis=-1, keepdims=True)
    inside = [z.var(2).sum(-1) for z in by_class(unit, result.labels)]
    return (np.mean(inside, 0) / unit.var(2).sum(-1)).T


@recorded(
    "sa-lars",
    run,
    DIGITS.replace(compare="labels", steps=3000, record_every=50, **LARS),
    seeds=THREE,
    curves=("cka", "gap"),
    record=("cka", "rsa", "gap", "z"),
    start=0.02,
    axes=OF_LOSSES,
    labels=LOSSES,
)
def long_lars(results):
    """Digits, four losses, LARS, 3,000 iterations, three seeds.

    Keeps:
        within: share of the variance of the unit embeddings that is within classes.
    """
    return over_time(results, "cka", "rsa", "gap") | {
        "within": np.array([within(r) for r in results], np.float32)
    }


COUNTS = (2, 3, 5, 7, 10)  # of classes


def subset(count: int) -> Config:
    """Training on `count` random classes of digits for 60 epochs, the first tenth a warm-up."""
    n = 120 * count  # points
    steps = 60 * (n // 128)
    return DIGITS.replace(
        compare="pair",
        subset=True,
        classes=count,
        n=n,
        test=40 * count,
        steps=steps,
        warmup=steps // 10,
        record_every=steps // 10,
    )


@recorded(
    "sa-subsets",
    run,
    [subset(count) for count in COUNTS],
    seeds=FIVE,
    curves=("cka",),
    record=SIMILARITIES,
    start=0.5,
    axes=OF_PAIRS,
    dims=("classes", "seed"),
)
def subsets(results):
    """2, 3, 5, 7 and 10 random classes of digits, 120 points a class, momentum, 60 epochs, five seeds."""
    return pairs(results, *SIMILARITIES)


PAIR = Config(compare="pair", record_every=20)


@recorded(
    "sa-temperature",
    run,
    [PAIR.replace(tau=tau, lr=0.06 * tau) for tau in lemmas.TAUS]
    + combined(PAIR.replace(**LARS), tau=lemmas.TAUS),
    seeds=FIVE,
    curves=("cka",),
    record=SIMILARITIES,
    start=0.3,
    axes=OF_PAIRS,
    dims=("optimizer", "tau", "seed"),
)
def temperatures(results):
    """Synthetic points, tau = .1, .5, 1, momentum with a rate proportional to tau, then LARS, five seeds."""
    return pairs(results, *SIMILARITIES)


@functools.cache
def photographs():
    """{set: record of four losses} for CIFAR-10 and MNIST."""
    return {"CIFAR-10": pictures.cifar10(), "MNIST": pictures.mnist()}


@functools.cache
def images():
    """The same and the digits with LARS."""
    return photographs() | {"digits": long_lars()}


@functools.cache
def photographs_tau():
    """{set: record of DCL and NSCL at the temperatures 0.1 and 1}."""
    return {"CIFAR-10": pictures.cifar10_tau(), "MNIST": pictures.mnist_tau()}


# Definitions and losses.


@functools.cache
def _batch_of_digits():
    """Two views of 120 digits as unit vectors, and their labels."""
    generator = torch.Generator().manual_seed(0)
    x, y = data.images("digits", 120, 10, generator)
    views = [augment.images(x, generator).double() for _ in range(2)]
    u1, u2 = (normalize(view, dim=1) for view in views)
    return u1, u2, y


CLASSES = (10, 20, 40, 80, 160)  # of `loss_gaps`


@recorded("sa-loss-gaps")
def loss_gaps(seeds=FIVE) -> dict[float, np.ndarray]:
    """{tau: (seeds, classes, 2) DCL and CL minus NSCL} of random embeddings."""
    found = {}
    for tau in (0.5, 1.0):
        found[tau] = np.array([[gaps.loss_gaps(512, c, tau, s) for c in CLASSES] for s in seeds])
    return found


# Theorem 1: descent on similarities.


def of_descent(name, run, configs, asked, seeds=FIVE, **derived):
    """`recorded` for descent on similarities or on weights, but for the tables at its end."""
    return recorded(
        name,
        run,
        configs,
        fields("final", **derived),
        seeds,
        curves=("drift",),
        start=0.3,
        record=asked,
    )


def positives(result) -> float:
    """How far the positives have moved, on average, over S / (tau N)."""
    c = result.config
    z1, z2, _ = surrogate.views(c)
    moved = result.final[0][:, c.n :].diagonal() - (z1 * z2).sum(1).numpy()
    return abs(moved.mean()) * c.tau * c.n / (c.eta * result.steps[-1])


def way(result) -> float:
    """How far CL's table has moved."""
    start = surrogate.table(*surrogate.views(result.config)[:2]).numpy()
    return np.linalg.norm(result.final[0] - start)


@of_descent(
    "sa-coupled",
    surrogate.run,
    combined(surrogate.Config(), tau=(0.5, 1.0, 2.0, 5.0), classes=(2, 20, 50))
    + combined(surrogate.Config(), batch=(32, 64, 128, 200), eta=(0.1, 1.0, 10.0)),
    "all",
    THREE,
    positives=positives,
    way=way,
)
def coupled(runs):
    """Eq. 1 for CL and NSCL: twelve settings of tau and C, twelve of B and eta, three seeds."""
    return runs


REPEATING = surrogate.Config(classes=4, n=4, tau=5.0, eta=0.5, steps=1, replacement=True)


@functools.cache
def repeats():
    """One step of eq. 1 on four points, drawn with replacement: of each seed five batch sizes, 16 to 4096."""
    return sweep(surrogate.run, combined(REPEATING, seed=FIVE, batch=(16, 64, 256, 1024, 4096)))


@functools.cache
def fresh_repeats():
    """(seeds,) drift over Theorem 1 after such a step with B = 4096, each place with a view of its own."""
    configs = combined(REPEATING.replace(batch=4096), seed=FIVE)
    return np.array([lemmas.fresh_drift(config) for config in configs])


@functools.cache
def sides():
    """{"repeated", "distinct": (seeds, 3) left over right side of eqs. 10, 11, 13} for such points and for others."""
    settings = {
        "repeated": REPEATING.replace(batch=1024),
        "distinct": REPEATING.replace(n=64, batch=64, replacement=False),
    }
    found = {}
    for name, base in settings.items():
        found[name] = np.array([lemmas.quotients(config) for config in combined(base, seed=THREE)])
    return found


# What the bounds are worth.


@functools.cache
def printed_cka():
    """CKA of CL and NSCL in SA Section 5.1: Tiny-ImageNet, 1,000 epochs."""
    return 0.87


@functools.cache
def moving_exponents():
    """{data set: Theorem 1's exponent when the positives have moved by 1 on average, at least}, B = 1024, tau = 1."""
    return {name: N / (2 * 1024) for name, (_, N, _) in lemmas.SETS.items()}


@functools.cache
def imagenet_batches():
    """{(B, tau): Theorem 1's factor over N} on ImageNet-1K when the positives have moved by 1."""
    classes, N, epochs = lemmas.SETS["ImageNet-1K"]
    found = {}
    for batch, tau in itertools.product((128, 256, 512, 1024), (0.5, 1.0)):
        steps = epochs * N // batch
        found[batch, tau] = theory.delta(classes, batch, steps, 0.01, tau) / batch**0.5
    return found


@functools.cache
def tightening():
    """{what grows: log of Theorem 1's bound at its values}; the others are C = 1000, B = 1024, tau = 1.

    The sizes of 97,000 steps add up to 1. With so small a sum the exponential is 1, and the factor before it is seen.
    """
    usual = {"C": 1000, "B": 1024, "tau": 1.0}
    grown = {
        "C": (2, 10, 100, 1000, 10_000),
        "B": (128, 256, 512, 1024),
        "tau": (0.1, 0.5, 1.0, 5.0),
    }
    found = {}
    for name, values in grown.items():
        settings = [usual | {name: value} for value in values]
        found[name] = np.array(
            [lemmas.log_bound(T=97_000, eta=1 / 97_000, **setting) for setting in settings]
        )
    return found


@functools.cache
def class_deltas():
    """{C: Delta} at B = 1024, tau = 1, T = 97,000, delta = .01."""
    return {C: theory.delta(C, 1024, 97_000, 0.01, 1.0) for C in (2, 10, 50, 100, 200, 1000)}


@functools.cache
def delta_example():
    """{tau: Delta for SA's example, C = 1000, B = 512, one step}; 1e9 stands for infinity."""
    return {tau: theory.delta(1000, 512, 1, 0.01, tau) for tau in (1.0, 1e9)}


@functools.cache
def bound_changes():
    """{what is fixed: log10 of Theorem 1 at B = 1024 over that at 256, for each scaling of the rate}; C = 100, tau = 1.

    The rates are SA's; an epoch has 50,000 points.
    """
    seen = 300 * 50_000  # points
    fixed = {"fixed steps": (15_000, 15_000), "fixed epochs": (seen // 256, seen // 1024)}
    found = {}
    for name, (steps, steps_of_large) in fixed.items():
        changes = []
        for power in alignment.POWERS.values():
            rate = 0.3 / 256 if power else 0.3
            small = lemmas.log_bound(100, 256, steps, rate * 256**power, 1.0)
            large = lemmas.log_bound(100, 1024, steps_of_large, rate * 1024**power, 1.0)
            changes.append((large - small) / np.log(10))
        found[name] = changes
    return found


def one_step(within: float, between: float, view: float, tau: float, eta: float) -> dict:
    """The similarities of CL's and NSCL's tables after a step of eq. 1 from one table of 64 points in 16 classes.

    Cosines of points are `within` and `between` classes, those of a point and a view `view` times as large. The batch
    holds every point once.
    """
    labels = torch.arange(64) % 16
    cosines = torch.where(labels[:, None] == labels, within, between).double().fill_diagonal_(1)
    start = torch.cat([cosines, view * cosines], 1)
    tables = torch.stack([start, start])
    slopes = surrogate.batch_gradients(tables, torch.ones(64, dtype=torch.float64), labels, tau)
    return surrogate.similarity_scores(*(tables - eta * slopes))


@functools.cache
def far():
    """{measure: what it is after a step, rho or r}, where these are above 1."""
    cka = one_step(within=0.98, between=0.4, view=1.0, tau=0.1, eta=90.0)
    rsa = one_step(within=0.0, between=2e-5, view=0.9, tau=2.0, eta=1.0)
    found = {"CKA": (cka["cka"], cka["rho"]), "RSA": (rsa["rsa"], rsa["r"])}
    return {name: tuple(map(float, values)) for name, values in found.items()}


# The lemmas.


@functools.cache
def anchors():
    """Both sides of eq. 12 at the anchors of one batch of digits."""
    return lemmas.anchors(*_batch_of_digits(), 0.5)


@functools.cache
def softmax_curvature():
    """Largest eigenvalue of Diag(p) - pp', at p = (1/2, 1/2) and at 10,000 random p."""
    rng = np.random.default_rng(0)
    p = np.vstack([[0.5, 0.5, 0, 0, 0], rng.dirichlet(np.full(5, 0.5), 10_000)])
    return np.linalg.eigvalsh(p[:, None] * (np.eye(5) - p[:, :, None])).max(1)


@functools.cache
def batch_curvature():
    """(3, 2) largest eigenvalue of the Hessians of CL's and NSCL's batch loss, over Lemma 2's bound."""
    base = surrogate.Config(classes=3, n=8, batch=6)
    found = []
    for s, tau in zip(THREE, (0.2, 1.0, 5.0), strict=True):
        found.append(lemmas.batch_curvature(base.replace(tau=tau, seed=s)))
    return np.array(found)


@functools.cache
def masses():
    """(tables, 2) how near Lemma 4's two bounds are, 1 being attained: random points, then all similarities 1."""
    found = []
    for config in combined(surrogate.Config(), seed=THREE, classes=(2, 20, 50)):
        z1, z2, labels = surrogate.views(config)
        sims = surrogate.table(z1, z2)
        found += [lemmas.mass_shares(sims, labels, tau) for tau in (0.1, 1.0, 5.0)]
    found.append(lemmas.mass_shares(torch.ones_like(sims), labels, 0.1))
    return np.array(found)


@functools.cache
def crowded():
    """How far Lemma 5's mean is off; log of the largest probability that an anchor of a batch has more classmates than
    Corollary 3 says, over what it allows, for B = 2 and for larger B.

    An anchor has too many classmates where its class has m or more of the B draws. Of C classes some one has so many
    with at most C times the probability of one, which for B = 2 is exact.
    """
    sizes, counts = (2, 3, 4, 5, 8, 32, 128, 1024), (*range(2, 33), 100, 1000, 10_000)
    means, over = [], {}
    for B, C in itertools.product(sizes, counts):
        m = np.arange(1, B + 1)
        epsilon = m / B - 1 / C  # for a little less, m are too many
        log_allowed = np.log(B) - 2 * B * epsilon**2
        log_found = np.minimum(0, np.log(C) + binom.logsf(m - 1, B, 1 / C))
        asked = (epsilon > 0) & (log_allowed < 0)  # else nothing is promised
        over.setdefault(B > 2, []).extend((log_found - log_allowed)[asked])
        means.append((1 - 1 / C) / B)
    return max(means), max(over[False]), max(over[True])


# Theorem 2: descent on weights.


def changed(eta: float) -> list:
    """Settings of descent on weights around this step size: eta, B and tau are varied one by one, the last three with
    batches that are drawn with replacement."""
    usual = surrogate.Config(n=24, classes=12, batch=8, d=6, steps=40, record_every=1, eta=eta)
    repeating = usual.replace(replacement=True)
    return [
        usual,
        usual.replace(eta=eta / 10),
        usual.replace(eta=10 * eta),
        usual.replace(batch=4),
        usual.replace(batch=16),
        usual.replace(tau=0.5),
        usual.replace(tau=5.0),
        usual.replace(tau=5.0, eta=eta / 10),
        repeating,
        repeating.replace(batch=16),
        repeating.replace(tau=5.0),
    ]


@of_descent("sa-circles", weights.run_circle, changed(0.1), "all", THREE)
def all_circles(runs):
    """Descent on angles of the circle, at last with replacement, three seeds."""
    return runs


@of_descent("sa-networks", weights.run_network, changed(0.01), "all", THREE)
def all_networks(runs):
    """Descent on the weights of a network with one hidden layer, at last with replacement, three seeds."""
    return runs


@functools.cache
def encoders():
    """{encoder: the runs on the circle or of the network}, those whose batches are drawn with replacement, too."""
    return {"circle": all_circles(), "network": all_networks()}


def circles():
    """Descent on angles of the circle, whose constants are known; distinct anchors."""
    return [run for run in encoders()["circle"] if not run.config.replacement]


def networks():
    """Descent on the weights of a network with one hidden layer; distinct anchors."""
    return [run for run in encoders()["network"] if not run.config.replacement]


@of_descent("sa-wide-networks", weights.run_wide_network, changed(0.01)[:1], ("cosine",))
def wide_networks(runs):
    """A network with 512 hidden units and 128 outputs, five seeds."""
    return runs


NEAR = combined(changed(0.1)[0], d=(2, 8, 32, 128, 512))
UNRELATED = [config.replace(spread=100.0, noise=100.0) for config in NEAR]  # points are all noise


@of_descent("sa-free", weights.run_free, UNRELATED + NEAR, ("cosine",))
def all_free(runs):
    """Free embeddings in 2 to 512 dimensions, which begin unrelated, then views near their points, five seeds."""
    return runs


def _free(begun: list) -> dict:
    """{d: free embeddings in so many dimensions} that begin with one of these settings, but for the seed."""
    return grouped([run for run in all_free() if run.config.replace(seed=0) in begun], "d")


@functools.cache
def free():
    """{d: free embeddings in so many dimensions, which begin unrelated}."""
    return _free(UNRELATED)


@functools.cache
def free_near():
    """{d: the same where each view begins near its point}."""
    return _free(NEAR)


COLLAPSED = surrogate.Config(n=24, classes=6, batch=8, tau=0.5, eta=0.2, steps=330, record_every=5)


@of_descent("sa-from-one-angle", weights.run_from_one_angle, [COLLAPSED], ())
def from_one_angle(runs):
    """Angles on the circle from a nearly collapsed start, five seeds."""
    return runs


def descended(training) -> tuple[np.ndarray, dict]:
    """Distance of the weights of CL and NSCL after each step, (seeds, T); {"cka", "rho": (seeds,) of the similarities
    at the end}."""
    s = training.state
    _, w = s.weights  # (R, 2, p)
    apart = []
    for t in range(training.steps):
        slopes, _ = training.slopes(s, w, t)
        w = w - s.eta[:, 0] * slopes
        apart.append(weights.length(w[:, 0] - w[:, 1]).numpy())
    tables = training.table(w, s.x[:, None].expand(-1, 2, -1, -1))
    scores = surrogate.similarity_scores(*tables.unbind(1))
    return np.array(apart).T, {name: scores[name].numpy() for name in ("cka", "rho")}


@functools.cache
def tables_from_one_angle():
    """{"cka", "rho": (seeds,) of the similarities of CL and NSCL at the end of these runs}, repeated step by step."""
    _, scores = descended(weights.FromOneAngle(combined(COLLAPSED, seed=FIVE)))
    return scores


class BesideInputs(weights.FromOneAngle):
    """The same angles beside the input itself, which has nine tenths of the embedding's squared length."""

    def embed(self, w, x):
        return torch.cat([0.9**0.5 * x, 0.1**0.5 * super().embed(w, x)], -1)


@functools.cache
def beside_inputs():
    """`descended` of these, at ten times the step size."""
    return descended(BesideInputs(combined(COLLAPSED.replace(eta=2.0), seed=FIVE)))
