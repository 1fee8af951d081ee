"""What SA's claims are measured on: a function for each thing, which trains, loads or computes it once in a process.

The pages `papers/sa`, `alignment` and `photographs` show the same runs and records. Trainings go through `sweep`, so
that what a page has trained is found in the store. Runs are lists of Results, seeds fastest; records are Datasets.
"""

import functools
import itertools

import numpy as np
import torch
from scipy.stats import binom
from torch.nn.functional import normalize

from clbook import augment, data, sweep, theory
from clbook.experiments import alignment
from clbook.experiments.alignment import surrogate
from clbook.results.sweep import combined
from clbook_book import records
from clbook_book.audit.judging import of_computed, of_groups, of_record, of_runs
from clbook_book.audit.sa import checks, recipes, weights
from clbook_book.audit.sa.computed import FEW, SEEDS

REPEATING = surrogate.Config(classes=4, n=4, tau=5.0, eta=0.5, steps=1, replacement=True)


# Trainings of the chapter on alignment.


# Digits with five losses: momentum, 200 iterations; with `recipes.distances`.
digits = of_runs("sa-digits")
# DCL and NSCL alone on digits: 600 iterations with a constant rate.
long_pairs = of_runs("sa-long-pairs")
# {number of classes, 2 to 50: runs of synthetic points with four losses}.
by_classes = of_groups("sa-by-classes", "classes")


# Records: trainings of minutes and hours.


@functools.cache
def sized():
    """The same with LARS, with equally many points seen."""
    return records.load("sa-batch").cka.isel(step=-1)


# The same three for 6,000 iterations.
plateau = of_record("sa-plateau")


@functools.cache
def momentum():
    """Digits for 600 iterations and synthetic points of fifty classes for 1,000: four losses, momentum."""
    return [records.load("alignment-longer"), records.load("alignment-fifty")]


# Digits, four losses, LARS, 3,000 iterations.
long_lars = of_record("sa-lars")
# DCL and NSCL on 2 to 10 random classes of digits, 60 epochs.
subsets = of_record("sa-subsets")
# DCL and NSCL at three temperatures, with a rate proportional to tau and with LARS.
temperatures = of_record("sa-temperature")
# Four losses with LARS on digits and on synthetic points, perceptrons of two widths.
widths = of_record("sa-widths")


@functools.cache
def photographs():
    """{set: record of four losses} for CIFAR-10 and MNIST."""
    return {
        "CIFAR-10": records.load("photographs-cifar10"),
        "MNIST": records.load("photographs-mnist"),
    }


@functools.cache
def images():
    """The same and the digits with LARS."""
    return photographs() | {"digits": long_lars()}


@functools.cache
def photographs_tau():
    """{set: record of DCL and NSCL at the temperatures 0.1 and 1}."""
    return {
        "CIFAR-10": records.load("photographs-cifar10-tau"),
        "MNIST": records.load("photographs-mnist-tau"),
    }


# Definitions and losses.


@functools.cache
def _batch_of_digits():
    """Two views of 120 digits as unit vectors, and their labels."""
    generator = torch.Generator().manual_seed(0)
    x, y = data.images("digits", 120, 10, generator)
    views = [augment.images(x, generator).double() for _ in range(2)]
    u1, u2 = (normalize(view, dim=1) for view in views)
    return u1, u2, y


# {tau: (seeds, classes, 2) DCL and CL minus NSCL} of random embeddings of `computed.CLASSES` classes.
loss_gaps = of_computed("sa-loss-gaps")


# Theorem 1: descent on similarities.


# Eq. 1 for CL and NSCL, three seeds of each setting: twelve of tau and C, then twelve of B and eta.
coupled = of_runs("sa-coupled")


@functools.cache
def repeats():
    """One step of eq. 1 on four points, drawn with replacement: of each seed five batch sizes, 16 to 4096."""
    configs = combined(REPEATING, seed=SEEDS, batch=(16, 64, 256, 1024, 4096))
    return sweep(surrogate.run, configs)


@functools.cache
def fresh_repeats():
    """(seeds,) drift over Theorem 1 after such a step with B = 4096, each place with a view of its own."""
    configs = combined(REPEATING.replace(batch=4096), seed=SEEDS)
    return np.array([checks.fresh_drift(config) for config in configs])


@functools.cache
def sides():
    """{"repeated", "distinct": (seeds, 3) left over right side of eqs. 10, 11, 13} for such points and for others."""
    settings = {
        "repeated": REPEATING.replace(batch=1024),
        "distinct": REPEATING.replace(n=64, batch=64, replacement=False),
    }
    found = {}
    for name, base in settings.items():
        configs = combined(base, seed=FEW)
        found[name] = np.array([checks.quotients(config) for config in configs])
    return found


# What the bounds are worth.


@functools.cache
def useful_steps():
    """{(data set, tau): steps of SA's training until Theorem 1 passes the triangle inequality}."""
    found = {}
    for (name, (classes, *_)), tau in itertools.product(checks.SETS.items(), checks.TAUS):
        found[name, tau] = checks.useful_steps(classes, tau)
    return found


@functools.cache
def printed_cka():
    """CKA of CL and NSCL in SA Section 5.1: Tiny-ImageNet, 1,000 epochs."""
    return 0.87


@functools.cache
def moving_exponents():
    """{data set: Theorem 1's exponent when the positives have moved by 1 on average, at least}, B = 1024, tau = 1."""
    return {name: N / (2 * 1024) for name, (_, N, _) in checks.SETS.items()}


@functools.cache
def imagenet_batches():
    """{(B, tau): Theorem 1's factor over N} on ImageNet-1K when the positives have moved by 1."""
    classes, N, epochs = checks.SETS["ImageNet-1K"]
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
            [checks.log_bound(T=97_000, eta=1 / 97_000, **setting) for setting in settings]
        )
    return found


@functools.cache
def class_deltas():
    """{C: Delta} at B = 1024, tau = 1, T = 97,000, delta = .01."""
    return {C: theory.delta(C, 1024, 97_000, 0.01, 1.0) for C in (2, 10, 50, 100, 200, 1000)}


@functools.cache
def delta_example():
    """{tau: Delta for SA's example, C = 1000, B = 512, one step}; 1e9 stands for infinity."""
    return {tau: theory.delta(1000, 512, 1, 0.01, tau) for tau in (0.5, 1.0, 10.0, 1e9)}


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
            small = checks.log_bound(100, 256, steps, rate * 256**power, 1.0)
            large = checks.log_bound(100, 1024, steps_of_large, rate * 1024**power, 1.0)
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
    every = torch.ones(64, dtype=torch.float64)
    slopes = surrogate.batch_gradients(tables, every, labels, tau)
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
    return checks.anchors(*_batch_of_digits(), 0.5)


@functools.cache
def softmax_curvature():
    """Largest eigenvalue of Diag(p) - pp', at p = (1/2, 1/2) and at 10,000 random p."""
    rng = np.random.default_rng(0)
    half = [0.5, 0.5, 0, 0, 0]
    p = np.vstack([half, rng.dirichlet(np.full(5, 0.5), 10_000)])
    others = np.eye(5) - p[:, :, None]
    return np.linalg.eigvalsh(p[:, None] * others).max(1)


@functools.cache
def batch_curvature():
    """(3, 2) largest eigenvalue of the Hessians of CL's and NSCL's batch loss, over Lemma 2's bound."""
    base = surrogate.Config(classes=3, n=8, batch=6)
    found = []
    for s, tau in zip(FEW, (0.2, 1.0, 5.0), strict=True):
        found.append(checks.batch_curvature(base.replace(tau=tau, seed=s)))
    return np.array(found)


@functools.cache
def masses():
    """(tables, 2) how near Lemma 4's two bounds are, 1 being attained: random points, then all similarities 1."""
    found = []
    for config in combined(surrogate.Config(), seed=FEW, classes=(2, 20, 50)):
        z1, z2, labels = surrogate.views(config)
        sims = surrogate.table(z1, z2)
        found += [checks.mass_shares(sims, labels, tau) for tau in (0.1, 1.0, 5.0)]
    equal = torch.ones_like(sims)
    found.append(checks.mass_shares(equal, labels, 0.1))
    return np.array(found)


@functools.cache
def share_tails():
    """{mean that is taken: its largest error, log of the largest probability for one anchor over Lemma 5's}; exact."""
    found = {"printed": [], "corrected": []}
    for B, C in itertools.product((2, 4, 8, 32, 128, 1024), (2, 10, 100, 1000)):
        printed = 1 - 1 / C
        true = (1 - 1 / B) * printed
        for name, mean in (("printed", printed), ("corrected", true)):
            epsilon = np.linspace(0.001, 0.999, 60) * mean
            least = B * (mean - epsilon)
            fewer = np.ceil(least - 1e-9) - 1  # negatives, of the B - 1 others
            log_allowed = -2 * B * epsilon**2
            over = binom.logcdf(fewer, B - 1, printed) - log_allowed
            found[name].append((abs(mean - true), over.max()))
    return {name: tuple(np.max(rows, 0)) for name, rows in found.items()}


@functools.cache
def share_of_two():
    """The largest share of negatives in a batch of two points, and Corollary 3's promise for C = 1000, delta = .77."""
    return 0.5, 1 - 1 / 1000 - theory.fluctuation(2, 1, 0.77)


# Theorem 2: descent on weights.


@functools.cache
def encoders():
    """{encoder: the runs on the circle or of the network}, those whose batches are drawn with replacement, too."""
    return {"circle": records.runs("sa-circles"), "network": records.runs("sa-networks")}


def circles():
    """Descent on angles of the circle, whose constants are known; distinct anchors."""
    return [run for run in encoders()["circle"] if not run.config.replacement]


def networks():
    """Descent on the weights of a network with one hidden layer; distinct anchors."""
    return [run for run in encoders()["network"] if not run.config.replacement]


# A network with 512 hidden units and 128 outputs.
wide_networks = of_runs("sa-wide-networks")


def _free(begun: list) -> dict:
    """{d: free embeddings in so many dimensions} that begin with one of these settings, but for the seed."""
    found = {}
    for run in records.runs("sa-free"):
        if run.config.replace(seed=0) in begun:
            found.setdefault(run.config.d, []).append(run)
    return found


@functools.cache
def free():
    """{d: free embeddings in so many dimensions, which begin unrelated}."""
    return _free(recipes.UNRELATED)


@functools.cache
def free_near():
    """{d: the same where each view begins near its point}."""
    return _free(recipes.NEAR)


# Angles on the circle from a nearly collapsed start.
from_one_angle = of_runs("sa-from-one-angle")


@functools.cache
def tables_from_one_angle():
    """{"cka", "rho": (seeds,) of the similarities of CL and NSCL at the end of these runs}, repeated step by step."""
    training = weights.FromOneAngle(recipes.seeded([recipes.COLLAPSED]))
    s = training.state
    _, w = s.weights  # (R, 2, p)
    for t in range(training.steps):
        slopes, _ = training.slopes(s, w, t)
        w = w - s.eta[:, 0] * slopes
    tables = training.table(w, s.x[:, None].expand(-1, 2, -1, -1))
    scores = surrogate.similarity_scores(*tables.unbind(1))
    return {name: scores[name].numpy() for name in ("cka", "rho")}
