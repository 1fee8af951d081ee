"""The longer trainings of the chapter and of SA's page: how their records are made."""

import numpy as np
import torch
from torch.nn.functional import normalize

from clbook.experiments.alignment import surrogate
from clbook.experiments.alignment.experiment import BASE_BATCH, NAMES, POWERS, angle, pca_angle
from clbook.experiments.alignment.experiment import Config as Plain
from clbook.experiments.alignment.experiment import run as plain
from clbook.results.sweep import combined
from clbook_book.audit.sa import checks, computed, weights
from clbook_book.audit.sa.variants import Config, run
from clbook_book.course.alignment.recipes import nscl
from clbook_book.records import Computed, Recipe, fields

SEEDS = range(3)
TAUS = (0.1, 0.5, 1.0)
COUNTS = (2, 3, 5, 7, 10)  # of classes
WIDTHS = (32, 256)
# Batch sizes and how many points are seen: of the chapter, then of SA's page.
CHAPTER_SIZES = (32, 64, 128)
CHAPTER_SEEN = 12_800
SIZES = (32, 64, 128, 256)
SEEN = 25_600
# Of the random subsets: points per class in training and in the test, and epochs.
EACH = 120
KEPT = 40
EPOCHS = 60
LARS = dict(optimizer="lars", lr=0.15)
IMAGES = Plain(data="digits", n=1200, noise=0.1)
LABELS = IMAGES.replace(compare="labels")
DIGITS = Config(data="digits", n=1200, noise=0.1)
APART = DIGITS.replace(compare="pair", schedule="constant", warmup=0, twin=1e-6)
POINTS = Config(compare="pair", width=64, **LARS)


# What the reducers below read: quantities on request.
BOTH = ("cka", "nccc")
MOVED = ("cka", "weight_angle")
LABELLED = ("cka", "rsa", "gap")
SIMILARITIES = ("cka", "rsa", "cka_train", "rsa_train")


def over_time(results, *names) -> dict[str, np.ndarray]:
    """{name: (runs, ..., T)} of some of what runs of equal recorded times have, and the times, `steps`."""
    columns = {}
    for name in names:
        rows = [np.moveaxis(getattr(r, name), 0, -1) for r in results]  # time is the last axis
        columns[name] = np.array(rows, np.float32)
    return columns | {"steps": results[0].steps}


def both(results) -> dict[str, np.ndarray]:
    """CKA with DCL and accuracy by the nearest centre, of each network."""
    return over_time(results, *BOTH)


def sized(base, sizes, steps) -> tuple:
    """Runs of all scalings, batch sizes and seeds, in this order, with steps(B) steps, recorded at each fourth of them.

    At the batch size at which all scalings agree they are one run.
    """
    return tuple(
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
    )


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


def within(result) -> np.ndarray:
    """(M, T) share of the variance of the unit embeddings that is within classes."""
    unit = result.z / np.linalg.norm(result.z, axis=-1, keepdims=True)
    inside = [z.var(2).sum(-1) for z in by_class(unit, result.labels)]
    return (np.mean(inside, 0) / unit.var(2).sum(-1)).T


def apart(results):
    """What SA Fig. 1 needs, of DCL, NSCL and the twin."""
    turned = np.array([class_angles(r) for r in results], np.float32)
    return over_time(results, *MOVED) | {"class_angle": turned}


def labelled(results):
    """What SA Fig. 2 and 6 need, of DCL, NSCL, SCL and CE."""
    columns = over_time(results, *LABELLED)
    return columns | {"within": np.array([within(r) for r in results], np.float32)}


def pairs(results, names=SIMILARITIES):
    """CKA and RSA of NSCL with DCL, on test and on training points."""
    columns = {}
    for name in names:
        columns[name] = np.array([getattr(r, name)[:, 1] for r in results], np.float32)
    return columns


def subset(count: int) -> Config:
    """Training on `count` random classes of digits for EPOCHS epochs, the first tenth a warm-up."""
    n = EACH * count
    steps = EPOCHS * (n // 128)
    return DIGITS.replace(
        compare="pair",
        subset=True,
        classes=count,
        n=n,
        test=KEPT * count,
        steps=steps,
        warmup=steps // 10,
        record_every=steps // 10,
    )


# Axes of the arrays: of runs that record each loss, and of runs of which the pair of DCL and NSCL is kept.
OF_LOSSES = {
    **dict.fromkeys((*LABELLED, *MOVED, *BOTH, "within"), "run loss step"),
    "steps": "step",
    "class_angle": "run embedding class step",
}
OF_PAIRS = dict.fromkeys(SIMILARITIES, "run step")
TWINS = {"loss": ("dcl", "nscl", "twin"), "embedding": ("plain", "by PCA")}
LOSSES = {"loss": NAMES["labels"]}

# What the claims are judged on beside these: runs of seconds, kept as they are but for their embeddings.

FIVE = range(5)


def seeded(bases, seeds=FIVE) -> tuple:
    """These settings with each seed, seeds fastest."""
    return tuple(base.replace(seed=s) for base in bases for s in seeds)


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


def distances(result) -> np.ndarray:
    """(T, 3, 2) rho and r of NSCL's, SCL's and CE's table on the test points, relative to DCL's."""
    z = normalize(torch.as_tensor(result.z, dtype=torch.float64), dim=-1)  # (T, M, N, d)
    tables = z @ z.mT
    scores = surrogate.similarity_scores(tables[:, :1], tables[:, 1:4])
    return np.stack([scores["rho"], scores["r"]], -1)


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


def of_training(says, configs, asked, start=0.3, **derived) -> Recipe:
    """A record of trainings of the chapter."""
    kept = fields("z", nscl=nscl, **derived)
    return Recipe(says, plain, configs, kept, ("nscl",), start=start, record=asked)


def of_longer(says, base, start) -> Recipe:
    """A record of longer trainings of the chapter with four losses."""
    return Recipe(
        says,
        plain,
        seeded([base], SEEDS),
        both,
        ("cka", "nccc"),
        record=BOTH,
        start=start,
        axes=OF_LOSSES,
        labels=LOSSES,
        dims=("seed",),
    )


def of_descent(says, run, configs, asked, **derived) -> Recipe:
    """A record of descent on similarities or on weights."""
    return Recipe(
        says, run, configs, fields("final", **derived), ("drift",), start=0.3, record=asked
    )


SYNTHETIC, USUAL = Plain(compare="labels"), surrogate.Config()
LONG_PAIRS = IMAGES.replace(
    compare="pair", schedule="constant", warmup=0, steps=600, record_every=20
)
COUPLED = combined(USUAL, tau=(0.5, 1.0, 2.0, 5.0), classes=(2, 20, 50))
COUPLED += combined(USUAL, batch=(32, 64, 128, 200), eta=(0.1, 1.0, 10.0))
COLLAPSED = surrogate.Config(n=24, classes=6, batch=8, tau=0.5, eta=0.2, steps=330, record_every=5)
NEAR = combined(changed(0.1)[0], d=(2, 8, 32, 128, 512))
UNRELATED = [config.replace(spread=100.0, noise=100.0) for config in NEAR]  # points are all noise
ASKED = ("cosine",)
LONGER = LABELS.replace(steps=600, record_every=30)
FIFTY = Plain(compare="labels", classes=50, steps=1000, record_every=50)
LONG_LARS = DIGITS.replace(compare="labels", steps=3000, record_every=50, **LARS)


def chapter_batches() -> tuple:
    """Four scalings of the rate, three batch sizes, five seeds: first with 200 steps, then with 12,800 points seen."""
    base = Plain(compare="pair", width=64)
    fixed_steps = sized(base, CHAPTER_SIZES, lambda b: 200)
    fixed_epochs = sized(base, CHAPTER_SIZES, lambda b: CHAPTER_SEEN // b)
    return fixed_steps + fixed_epochs


OF_CHAPTER = {
    "budget": np.repeat(["fixed steps", "fixed epochs"], 60),
    "law": np.tile(np.repeat([*POWERS], 15), 2),  # in either half
}


def page_batches() -> tuple:
    """Four scalings of the rate, four batch sizes, five seeds; the first tenth of the steps is a warm-up."""
    configs = sized(POINTS, SIZES, lambda b: SEEN // b)
    return tuple(config.replace(warmup=config.steps // 10) for config in configs)


def temperatures() -> tuple:
    """Three temperatures by momentum with a rate proportional to tau, then by LARS; five seeds."""
    base = Config(compare="pair", record_every=20)
    by_momentum = [base.replace(tau=tau, lr=0.06 * tau) for tau in TAUS]
    by_lars = combined(base.replace(**LARS), tau=TAUS)
    return seeded([*by_momentum, *by_lars])


def widths() -> tuple:
    """Digits and synthetic points, two widths, three seeds."""
    change = dict(compare="labels", record_every=20, **LARS)
    digits = combined(DIGITS.replace(**change), width=WIDTHS)
    synthetic = combined(Config(**change), width=WIDTHS)
    return seeded(digits + synthetic, SEEDS)


RECIPES = {}
RECIPES["sa-loss-gaps"] = Computed(computed.loss_gaps)
RECIPES["sa-digits"] = of_training(
    "digits, five losses, momentum, 200 iterations, five seeds",
    seeded([IMAGES]),
    ("cka", "rsa", "gap", "nccc", "probe", "cka_encoder", "z"),
    distances=distances,
)
RECIPES["sa-digits-lars"] = of_training(
    "digits, four losses, LARS, 200 iterations, five seeds",
    seeded([LABELS.replace(record_every=200, **LARS)]),
    BOTH,
    start=1.0,
)
RECIPES["sa-long-pairs"] = of_training(
    "digits, DCL and NSCL, 600 iterations with a constant rate, five seeds",
    seeded([LONG_PAIRS]),
    ("cka", "rsa", "gap", "layer_gap", "weight_angle", "class_angle", "pca_angle"),
    start=0.1,
)
RECIPES["sa-by-classes"] = of_training(
    "synthetic points of 2 to 50 classes, four losses, five seeds",
    seeded(combined(SYNTHETIC, classes=(2, 5, 10, 20, 50))),
    ("cka", "rsa", "cka_train", "rsa_train", "nccc", "loss_gap"),
)
RECIPES["sa-easy"] = of_training(
    "synthetic points of twenty classes, less than half as wide as usual, five seeds",
    seeded([SYNTHETIC.replace(classes=20, spread=0.5, record_every=200)]),
    BOTH,
    start=1.0,
)
RECIPES["sa-by-tau"] = of_training(
    "synthetic points of ten classes at three temperatures, five seeds",
    seeded(combined(SYNTHETIC, tau=checks.TAUS)),
    ("cka", "rsa"),
)
RECIPES["sa-coupled"] = of_descent(
    "eq. 1 for CL and NSCL: twelve settings of tau and C, twelve of B and eta, three seeds",
    surrogate.run,
    seeded(COUPLED, SEEDS),
    "all",
    positives=positives,
    way=way,
)
RECIPES["sa-circles"] = of_descent(
    "descent on angles of the circle, at last with replacement, three seeds",
    weights.run_circle,
    seeded(changed(0.1), SEEDS),
    "all",
)
RECIPES["sa-networks"] = of_descent(
    "descent on the weights of a network with one hidden layer, at last with replacement, three seeds",
    weights.run_network,
    seeded(changed(0.01), SEEDS),
    "all",
)
RECIPES["sa-wide-networks"] = of_descent(
    "a network with 512 hidden units and 128 outputs, five seeds",
    weights.run_wide_network,
    seeded(changed(0.01)[:1]),
    ASKED,
)
RECIPES["sa-free"] = of_descent(
    "free embeddings in 2 to 512 dimensions, which begin unrelated, then views near their points, five seeds",
    weights.run_free,
    seeded(UNRELATED + NEAR),
    ASKED,
)
RECIPES["sa-from-one-angle"] = of_descent(
    "angles on the circle from a nearly collapsed start, five seeds",
    weights.run_from_one_angle,
    seeded([COLLAPSED]),
    (),
)
RECIPES["alignment-longer"] = of_longer(
    "digits, four losses, momentum, 600 iterations instead of 200, three seeds", LONGER, 0.1
)
RECIPES["alignment-fifty"] = of_longer(
    "synthetic data of 50 classes, four losses, 1,000 iterations instead of 200, three seeds",
    FIFTY,
    0.06,
)
RECIPES["alignment-batch"] = Recipe(
    "four scalings of the rate, B = 32, 64, 128, five seeds: 200 iterations, then 12,800 points seen",
    plain,
    chapter_batches(),
    lambda results: pairs(results, ["cka"]),
    ("cka",),
    record=("cka",),
    start=0.3,
    axes=OF_PAIRS,
    named=OF_CHAPTER,
    dims=("budget", "law", "batch", "seed"),
)
RECIPES["sa-plateau"] = Recipe(
    "digits, DCL, NSCL and a twin of DCL, momentum, 6,000 iterations, three seeds",
    run,
    seeded([APART.replace(steps=6000, record_every=100)], SEEDS),
    apart,
    ("cka",),
    record=(*MOVED, "z"),
    start=0.02,
    axes=OF_LOSSES,
    labels=TWINS,
    dims=("seed",),
)
RECIPES["sa-lars"] = Recipe(
    "digits, four losses, LARS, 3,000 iterations, three seeds",
    run,
    seeded([LONG_LARS], SEEDS),
    labelled,
    ("cka", "gap"),
    record=(*LABELLED, "z"),
    start=0.02,
    axes=OF_LOSSES,
    labels=LOSSES,
    dims=("seed",),
)
RECIPES["sa-batch"] = Recipe(
    "synthetic points, LARS, four scalings of the rate, B = 32 to 256, 25,600 points seen, five "
    "seeds",
    run,
    page_batches(),
    pairs,
    ("cka",),
    record=SIMILARITIES,
    start=0.3,
    axes=OF_PAIRS,
    named={"law": np.repeat([*POWERS], 20)},
    dims=("law", "batch", "seed"),
)
RECIPES["sa-temperature"] = Recipe(
    "synthetic points, tau = .1, .5, 1, momentum with a rate proportional to tau, then LARS, "
    "five seeds",
    run,
    temperatures(),
    pairs,
    ("cka",),
    record=SIMILARITIES,
    start=0.3,
    axes=OF_PAIRS,
    dims=("optimizer", "tau", "seed"),
)
RECIPES["sa-subsets"] = Recipe(
    "2, 3, 5, 7 and 10 random classes of digits, 120 points a class, momentum, 60 epochs, five "
    "seeds",
    run,
    seeded([subset(count) for count in COUNTS]),
    pairs,
    ("cka",),
    record=SIMILARITIES,
    start=0.5,
    axes=OF_PAIRS,
    dims=("classes", "seed"),
)
RECIPES["sa-widths"] = Recipe(
    "digits and synthetic points, perceptrons of width 32 and 256, four losses, LARS, 200 "
    "iterations, three seeds",
    run,
    widths(),
    lambda results: over_time(results, "cka", "gap"),
    ("cka", "gap"),
    record=("cka", "gap"),
    start=0.15,
    axes=OF_LOSSES,
    labels=LOSSES,
    dims=("data", "width", "seed"),
)
