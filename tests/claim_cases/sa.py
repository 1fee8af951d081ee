"""Made-up runs and records on which the claims of SA's page give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook import theory
from clbook.experiments.alignment.experiment import POWERS
from clbook.papers.sa.recipes import COUNTS, LOSSES, SIZES, TAUS, TWINS

LARS_STEPS = np.arange(0, 3001, 50)


def coupled(drift=1.0, batch=1024, times=1.0, **fields):
    """Three runs of eq. 1, two recorded times, bound 10, a tenth of what the lemmas allow, `times` over."""
    config = Run(classes=20, batch=batch, steps=100, delta=0.01, tau=2.0, n=4, eta=0.5)
    most = theory.delta(20, batch, 100, 0.01, 2.0)
    size = 0.1 * times * most
    base = dict(
        config=config,
        steps=np.array([0, 1]),
        drift=np.array([0, drift]),
        bound=np.array([0, 10.0]),
        posterior=np.array([0, 2.0]),
        triangle=np.array([0, 20.0]),
        gram_norm=np.ones(2),
        std=np.ones(2),
        reweighting=np.array([size]),
        mass=np.array([size / 2]),
        gaps=np.array([size / 2 / batch**0.5]),
        path=np.array([0.0]),
        cka=np.ones(2),
        rsa=np.ones(2),
        rho=np.zeros(2),
        r=np.zeros(2),
        final=np.ones((2, 4, 8)),
    )
    return [Run(**{**base, **fields})] * 3


def small_drift(drift):
    return coupled(drift=drift, posterior=np.array([0, 2 * drift]))


def sides(square):
    return {"distinct": np.tile([square, 0.5, 0.5], (3, 1)), "repeated": np.full((3, 3), 9.0)}


def on_weights(eta=0.1, batch=8, tau=2.0, miss_bound=9.0, **fields):
    """A run on weights, three recorded times, whose constants are 1."""
    base = dict(
        config=Run(eta=eta, batch=batch, tau=tau, classes=12, steps=2, delta=0.01, n=24),
        constants=lambda: dict.fromkeys(("G", "beta", "C", "M"), 1.0),
        miss_bound=lambda: miss_bound,
        drift=np.array([0, 0.01, 0.02]),
        moved=np.array([0, 1.0, 2.0]),
        missed=np.array([0, 0.1, 0.2]),
        cosine=np.array([np.nan, 0.9, 0.9]),
        stretch=np.ones(3),
        G=np.ones(3),
        beta=np.ones(3),
        pull=np.ones(3),
        slope=np.full(3, 0.5),
        chain=np.zeros(3),
        apart=np.full(3, 0.1),
        rest=np.full(3, 4e-4),
        half=np.full(3, 1e-4),
        bound=np.array([0, 1.0, 2.0]),
        triangle=np.ones(3),
    )
    return Run(**{**base, **fields})


def both(**fields):
    return dict.fromkeys(("circles", "networks"), [on_weights(**fields)] * 3)


def varied(fall=1):
    """Runs in which eta, B and tau are varied one by one, and the miss falls or rises with each."""
    usual = {"eta": 0.1, "batch": 8, "tau": 2.0}
    changes = {"eta": (1.0, 0.1, 0.01), "batch": (4, 8, 16), "tau": (0.5, 2.0, 5.0)}
    configs = [usual] + [
        usual | {key: value} for key in changes for value in changes[key] if value != usual[key]
    ]
    ranks = [sum(changes[key].index(config[key]) for key in changes) for config in configs]
    runs = [
        on_weights(**config, missed=np.array([0, 1, 9.0 - fall * rank]))
        for config, rank in zip(configs, ranks, strict=True)
        for _ in range(3)
    ]
    return dict.fromkeys(("circles", "networks"), runs)


def classes(slope):
    """Runs whose loss gap falls in the number of classes with this slope."""
    return [
        [Run(config=Run(classes=c), loss_gap=np.full((4, 4), float(c) ** slope))] * 3
        for c in (5, 10, 20)
    ]


def early(twin, nscl):
    """A record of DCL, NSCL and its twin: distances as functions of the time."""
    t = np.arange(0, 301, 5.0)
    distance = np.tile(np.stack([0 * t, nscl(t), twin(t)]), (3, 1, 1))
    return record({"step": t, **TWINS}, distance=("seed loss step", distance))


def record(places, **quantities):
    """A record of quantities (axes, values), with these places along the axes."""
    kept = {name: (axes.split(), values) for name, (axes, values) in quantities.items()}
    return xarray.Dataset(kept, coords={axis: list(values) for axis, values in places.items()})


def ended(weights=85.0, plain=30.0, projected=35.0, twin=0.9):
    """A record of a long training: angles and gaps at its end."""
    ones, axes = np.ones((3, 3, 61)), "seed loss step"
    turned = np.tile(np.array([plain, projected])[:, None, None], (3, 1, 10, 61))
    return record(
        {"step": range(0, 6001, 100), **TWINS},
        weight_angle=(axes, weights * ones),
        cka=(axes, ones),
        gap=(axes, ones * np.array([0, 1, twin])[:, None]),
        class_angle=("seed embedding class step", turned),
    )


def lars(
    cka=(1, 0.9, 0.05, 0.5),
    within=(0.4, 0.4, 0.1, 0.2),
    gap=(0, 1, 2, 3),
    least=0.1,
    read=(0.7, 0.8, 0.9, 0),
):
    """A record of four losses: what each has at the end; alignment falls to it, gaps grow to it; CE has been lower."""
    way = np.linspace(0, 1, 61)
    similar = np.tile(1 - np.outer(1 - np.array(cka), way), (3, 1, 1))
    similar[:, 3, 30] -= least
    axes = "seed loss step"
    return record(
        {"step": LARS_STEPS, **LOSSES},
        cka=(axes, similar),
        rsa=(axes, similar),
        gap=(axes, np.tile(np.outer(gap, way), (3, 1, 1))),
        within=(axes, np.tile(np.outer(within, np.ones(61)), (3, 1, 1))),
        probe=("seed loss", np.tile(read, (3, 1))),
        nccc=(axes, np.tile(np.outer(read, np.ones(61)), (3, 1, 1))),
    )


def grid(ends, seeds=3, **places):
    """A record of pairs: CKA and RSA at each time, for settings with these ends, so many seeds each."""
    values = np.linspace(np.ones(np.shape(ends)), ends, 11, axis=-1)
    values = np.repeat(values[..., None, :], seeds, axis=-2)
    axes = " ".join([*places, "seed step"])
    return record(places, **dict.fromkeys(("cka", "rsa", "cka_train", "rsa_train"), (axes, values)))


def subsets(ends):
    """A record of random classes: CKA and RSA with these ends, by the number of classes."""
    return grid(ends, classes=COUNTS)


def heated(ends):
    """A record of three temperatures, with a rate proportional to tau and with LARS."""
    return grid([ends, ends], optimizer=("sgd", "lars"), tau=TAUS)


def batches(linear, others):
    rises = np.outer((linear, others, others, others), np.linspace(0, 1, len(SIZES)))
    return grid(0.5 + rises, 5, law=POWERS, batch=SIZES)


def widths(lead):
    one = lars(cka=(1, 0.5 + lead, 0.5, 0.5))
    return one.expand_dims(data=["digits", "synthetic"], width=[32, 256])


EXACT, WRONG = [{"a": 0.0}] * 3, [{"a": 0.1}] * 3
SOME = {("CIFAR-10", tau): 3 for tau in TAUS}
SMALL, LARGE = (
    {"a": (1.0, 1e-3, 1e6), "b": (2.0, 1e-3, 1e6)},
    {"a": (1e7, 5.0, 1e6), "b": (1e7, 5.0, 1e6)},
)
TABLES = {"squares": np.ones(2), "display": np.ones(2), "identity": 0.0}
RISING, FALLING = np.linspace(0.2, 0.9, len(COUNTS)), np.linspace(0.9, 0.2, len(COUNTS))

CASES = {
    "sa-definitions": {
        "holds": {"definition_errors": EXACT},
        "fails": {"definition_errors": WRONG},
    },
    "sa-gap-training": {
        "holds": {"by_classes": classes(-1.5)},
        "not seen here": {"by_classes": classes(-0.5)},
    },
    "sa-nscl-loss": {
        "holds": {"readings": {"NSCL": 1.0, "NSCL, printed": 2.0}},
        "misprinted": {"readings": {"NSCL": 1.0, "NSCL, printed": np.inf}},
    },
    "sa-reparametrised": {
        "holds": {"reparametrised": [(0.5, 0.0)] * 3},
        "fails": {"reparametrised": [(0.5, 0.1)] * 3},
    },
    "sa-theorem-1": {"holds when": {"coupled": coupled()}, "fails": {"coupled": small_drift(20.0)}},
    "sa-theorem-1-replacement": {
        "holds": {"repeats": coupled()},
        "fails": {"repeats": coupled(drift=20.0)},
    },
    "sa-recurrence": {
        "holds when": {"coupled": coupled(drift=1e-9)},
        "fails": {"coupled": coupled(drift=20.0)},
    },
    "sa-repeated-anchors": {"holds when": {"sides": sides(1.0)}, "fails": {"sides": sides(2.0)}},
    "sa-beyond-triangle": {
        "holds": {"useful_steps": SOME, "coupled": coupled()},
        "fails": {"useful_steps": dict.fromkeys(SOME, 0), "coupled": coupled()},
    },
    "sa-corollary-1": {
        "holds when": {"coupled": coupled()},
        "fails": {"coupled": coupled(cka=-np.ones(2))},
    },
    "sa-corollary-2": {
        "holds when": {"coupled": coupled()},
        "fails": {"coupled": coupled(rsa=-np.ones(2))},
    },
    "sa-corollaries-far": {
        "holds": {"far_correlation": 0.1, "far_certified": 0.0},
        "fails": {"far_correlation": -1.0, "far_certified": 0.0},
    },
    "sa-exponent": {"holds": {"trainings": SMALL}, "fails": {"trainings": LARGE}},
    "sa-prefactor": {"holds": {"imagenet_batches": SMALL}, "fails": {"imagenet_batches": LARGE}},
    "sa-rho": {"holds": {"trainings": SMALL}, "fails": {"trainings": LARGE}},
    "sa-vacuous": {
        "holds": {"lasting": {("a", 0.1): (5, 100)}},
        "fails": {"lasting": {("a", 0.1): (100, 100)}},
    },
    "sa-range": {
        "holds": {"random_pairs": np.full((3, 9, 2), 0.5)},
        "fails": {"random_pairs": np.full((3, 9, 2), -0.5)},
    },
    "sa-lemma-2": {
        "holds": {"softmax_curvature": np.array([0.5, 0.3]), "batch_curvature": np.ones(2)},
        "fails": {"softmax_curvature": np.array([0.6, 0.3]), "batch_curvature": np.ones(2)},
    },
    "sa-lemma-3": {
        "holds": {"anchors": TABLES},
        "fails": {"anchors": TABLES | {"display": np.zeros(2)}},
    },
    "sa-lemma-4": {"holds": {"masses": np.ones((3, 2))}, "fails": {"masses": np.full((3, 2), 1.1)}},
    "sa-lemma-5": {
        "holds": {"negative_share": np.full(3, 0.9), "rare_shares": (np.full(3, 0.1), 0.7)},
        "misprinted": {"negative_share": np.full(3, 0.7875), "rare_shares": (np.ones(3), 0.7)},
        "fails": {"negative_share": np.full(3, 0.5), "rare_shares": (np.ones(3), 0.7)},
    },
    "sa-corollary-3": {
        "holds": {"fewest_negatives": np.full((3, 9), 0.8), "promised_share": 0.7},
        "fails": {"fewest_negatives": np.full((3, 9), 0.6), "promised_share": 0.7},
    },
    "sa-mass": {"holds": {"coupled": coupled()}, "fails": {"coupled": coupled(times=20)}},
    "sa-lemma-6": {
        "holds": {"anchors": TABLES, "coupled": coupled()},
        "fails": {"anchors": TABLES, "coupled": coupled(times=20)},
    },
    "sa-lemma-6-range": {
        "holds": {"large_steps": coupled()},
        "fails": {"large_steps": coupled(times=20)},
    },
    "sa-lemma-7": {"holds": both(), "fails": both(apart=np.full(3, 1e6))},
    "sa-lemma-8": {"holds when": {"coupled": coupled()}, "fails": {"coupled": coupled(times=40)}},
    "sa-assumptions": {"holds": both(), "fails": both(beta=np.full(3, 2.0))},
    "sa-eq-15": {"holds": both(), "fails": both(drift=np.array([0, 1e6, 1e9]))},
    "sa-theorem-2": {"holds": both(), "fails": both(drift=np.array([0, 20.0, 20.0]))},
    "sa-delta": {
        "holds": {"delta_example": {1.0: 1.0, 1e9: 0.01}},
        "misprinted": {"delta_example": {1.0: 1.0, 1e9: 0.2}},
    },
    "sa-eq-5": {"holds": both(), "fails": both(half=np.full(3, 2e-4))},
    "sa-eq-6": {"holds": both(), "fails": both(rest=np.ones(3))},
    "sa-eq-7": {"holds": both(), "fails": both(missed=np.array([0, 5.0, 50.0]))},
    "sa-eq-9": {"holds": both(), "fails": both(miss_bound=0.1)},
    "sa-summary": {"holds": varied(), "not seen here": varied(-1)},
    "sa-surrogate": {"holds": both(), "fails": both(missed=np.array([0, 1.0, 2.0]))},
    "sa-time-scale": {"holds": both(), "fails": both(cosine=np.zeros(3))},
    "sa-exponential": {
        "holds": {"start": early(np.exp, lambda t: np.exp(t / 50))},
        "not seen here": {"start": early(np.exp, lambda t: t + 1e-9)},
    },
    "sa-twin": {
        "holds": {"start": early(lambda t: np.exp(t / 10), np.exp)},
        "fails": {"start": early(lambda t: t, np.exp)},
    },
    "sa-twin-end": {"holds": {"plateau": ended()}, "fails": {"plateau": ended(twin=0.1)}},
    "sa-weight-angle": {
        "holds": {"plateau": ended()},
        "not seen here": {"plateau": ended(weights=45.0)},
    },
    "sa-class-angle": {
        "holds": {"plateau": ended()},
        "not seen here": {"plateau": ended(weights=10.0)},
    },
    "sa-projection": {"holds": {"plateau": ended()}, "fails": {"plateau": ended(projected=30.5)}},
    "sa-long-lars": {
        "holds": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(cka=(1, 0.4, 0.5, 0.5))},
    },
    "sa-scl-zero": {
        "holds": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(cka=(1, 0.9, 0.8, 0.5))},
    },
    "sa-tight": {
        "holds": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(within=(0.4, 0.1, 0.1, 0.1))},
    },
    "sa-ce-between": {
        "holds": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(cka=(1, 0.9, 0.8, 0.5))},
    },
    "sa-ce-dips": {
        "holds": {"long_lars": lars(least=0.5)},
        "not seen here": {"long_lars": lars(least=0.0)},
    },
    "sa-weights-lars": {
        "holds": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(gap=(0, 2, 1, 0))},
    },
    "sa-table-1": {
        "holds": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(read=(0.9, 0.8, 0.7, 0))},
    },
    "sa-subsets": {
        "holds": {"subsets": subsets(RISING)},
        "not seen here": {"subsets": subsets(FALLING)},
    },
    "sa-subsets-decline": {
        "holds": {"subsets": subsets(RISING)},
        "not seen here": {"subsets": subsets(RISING + 1)},
    },
    "sa-temperature-control": {
        "holds": {"temperatures": heated([0.2, 0.5, 0.9])},
        "not seen here": {"temperatures": heated([0.9, 0.5, 0.2])},
    },
    "sa-batch-lars": {
        "holds": {"sized": batches(-0.1, 0.1)},
        "not seen here": {"sized": batches(0.1, 0.1)},
    },
    "sa-batch-lars-others": {
        "holds": {"sized": batches(-0.1, 0.1)},
        "not seen here": {"sized": batches(0.1, -0.1)},
    },
    "sa-bound-batch": {
        "holds": {"bound_changes": {"fixed epochs": [0.1, -0.1]}},
        "fails": {"bound_changes": {"fixed epochs": [-0.1, -0.1]}},
    },
    "sa-architectures": {
        "holds": {"widths": widths(0.1)},
        "not seen here": {"widths": widths(-0.1)},
    },
}
