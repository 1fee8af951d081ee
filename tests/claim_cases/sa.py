"""Made-up runs and records on which the claims of SA's page give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook import theory
from clbook.experiments.alignment import surrogate
from clbook.experiments.alignment.experiment import POWERS
from clbook.papers.sa.recipes import COUNTS, LOSSES, SIZES, TAUS, TWINS

LARS_STEPS = np.arange(0, 3001, 50)


def coupled(drift=1.0, batch=1024, times=1.0, **fields):
    """Five runs of eq. 1, two recorded times, bound 10, a tenth of what the lemmas allow, `times` over."""
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
        largest=1.0,
        positives=1.0,
    )
    return [Run(**{**base, **fields})] * 5


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
    runs = [on_weights(**fields)] * 5
    encoders = {"circle": runs, "network": runs}
    return {"circles": runs, "networks": runs, "encoders": encoders}


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
        for _ in range(5)
    ]
    return dict.fromkeys(("varied_circles", "varied_networks"), runs)


def classes(slope):
    """Runs whose loss gap falls in the number of classes with this slope."""
    return {c: [Run(loss_gap=np.full((4, 4), float(c) ** slope))] * 5 for c in (5, 10, 20)}


def early(twin, nscl):
    """A record of DCL, NSCL and its twin: distances as functions of the time."""
    t = np.arange(0, 301, 5.0)
    distance = np.tile(np.stack([0 * t, nscl(t), twin(t)]), (5, 1, 1))
    return record({"step": t, **TWINS}, distance=("seed loss step", distance))


def parting(law):
    """Five runs whose weights part by this law of the time."""
    t = np.arange(0, 331, 5)
    return [Run(steps=t, drift=np.append(0.0, law(t[1:] / 5.0)))] * 5


def turning(cosine, seed=0):
    """Five runs of the surrogate beside an encoder that end with this cosine."""
    config = surrogate.Config()
    return [
        on_weights(cosine=np.array([np.nan, cosine]), config=config.replace(seed=s))
        for s in range(5)
    ]


def shared(circle, network, wide, near):
    """The encoders whose inputs share weights or begin near each other, with these cosines."""
    found = {"varied_circles": circle, "varied_networks": network, "wide_networks": wide}
    return {name: turning(cosine) for name, cosine in found.items()} | {
        "free_near": {128: turning(near)}
    }


def by_dimension(*cosines):
    """Free embeddings in 2, 32, 128, ... dimensions, with these cosines."""
    return {"free": {d: turning(c) for d, c in zip((2, 32, 128, 512), cosines, strict=True)}}


def distances(nscl, scl, ce):
    """Five runs with these distances of tables, (times, losses, quantities) each."""
    return {"digits": [Run(distances=np.tile(np.array([nscl, scl, ce])[:, None], (4, 1, 2)))] * 5}


def dips(least):
    """The four records of CE's similarity, the smallest value so much below that at the end."""
    values = np.tile(np.array([1.0, 0.5 - least, 0.5])[:, None], (3, 1, 1))
    epochs = xarray.Dataset(
        dict.fromkeys(("cka", "rsa"), (("seed", "epoch", "loss"), values)), {"loss": ["ce"]}
    )
    steps = epochs.rename(epoch="step")
    sets = {"CIFAR-10": epochs, "MNIST": epochs}
    return {"photographs": sets, "momentum": [steps, steps]}


def record(places, **quantities):
    """A record of quantities (axes, values), with these places along the axes."""
    kept = {name: (axes.split(), values) for name, (axes, values) in quantities.items()}
    return xarray.Dataset(kept, coords={axis: list(values) for axis, values in places.items()})


def ended(weights=85.0, twin=0.9):
    """A record of a long training: angles and gaps at its end."""
    ones, axes = np.ones((3, 3, 61)), "seed loss step"
    turned = np.tile(np.array([30.0, 35.0])[:, None, None], (3, 1, 10, 61))
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


def digits(**quantities):
    """The same as one of the sets of images."""
    return {"images": {"digits": lars(**quantities)}}


def grid(ends, seeds=3, **places):
    """A record of pairs: CKA and RSA at each time, for settings with these ends, so many seeds each."""
    values = np.linspace(np.ones(np.shape(ends)), ends, 11, axis=-1)
    values = np.repeat(values[..., None, :], seeds, axis=-2)
    axes = " ".join([*places, "seed step"])
    return record(places, **dict.fromkeys(("cka", "rsa", "cka_train", "rsa_train"), (axes, values)))


def subsets(ends):
    """A record of random classes: CKA and RSA with these ends, by the number of classes."""
    return grid(ends, 5, classes=COUNTS)


def heated(ends):
    """A record of three temperatures, with a rate proportional to tau and with LARS."""
    return grid([ends, ends], 5, optimizer=("sgd", "lars"), tau=TAUS)


def batches(linear, others):
    rises = np.outer((linear, others, others, others), np.linspace(0, 1, len(SIZES)))
    return grid(0.5 + rises, 5, law=POWERS, batch=SIZES).cka.isel(step=-1)


def widths(lead):
    one = lars(cka=(1, 0.5 + lead, 0.5, 0.5))
    return one.expand_dims(data=["digits", "synthetic"], width=[32, 256])


EXACT, WRONG = [{"a": 0.0}] * 3, [{"a": 0.1}] * 3
WEAK = {(name, tau): 0 for name in ("CIFAR-10", "x") for tau in TAUS} | {("x", 1.0): 9}
TABLES = {"squares": np.ones(2), "display": np.ones(2), "identity": 0.0}
RISING, FALLING = np.linspace(0.2, 0.9, len(COUNTS)), np.linspace(0.9, 0.2, len(COUNTS))


def imagenet(share, power=600.0):
    """Factor over N and exponent in four settings."""
    return {(batch, tau): (share, power) for batch in (128, 512, 1024) for tau in (0.5, 1.0)}


def reversed_cka():
    made = lars()
    return made.assign(cka=(made.cka.dims, made.cka.values[..., ::-1]))


def tails(printed, corrected):
    return {"printed": printed, "corrected": corrected}


def images(lead):
    """The records of two sets of images, NSCL this far ahead at the end."""
    made = lars(cka=(1, 0.5 + lead, 0.5, 0.5)).rename(step="epoch")
    return {"photographs": {"CIFAR-10": made, "MNIST": made}}


CASES = {
    "sa-definitions": {
        "holds": {"definition_errors": EXACT},
        "fails": {"definition_errors": WRONG},
    },
    "sa-gap-training": {
        "seen here": {"by_classes": classes(-1.5)},
        "not seen here": {"by_classes": classes(-0.5)},
    },
    "sa-nscl-loss": {
        "holds": {"readings": {"NSCL": 1.0, "NSCL, printed": 2.0}},
        "misprinted": {"readings": {"NSCL": 1.0, "NSCL, printed": np.inf}},
    },
    "sa-reparametrised": {
        "holds": {"reparametrised": [(0.5, 0.0)] * 5},
        "fails": {"reparametrised": [(0.5, 0.1)] * 5},
    },
    "sa-theorem-1": {"holds when": {"coupled": coupled()}, "fails": {"coupled": small_drift(20.0)}},
    "sa-theorem-1-replacement": {
        "holds": {"repeats": coupled(), "fresh_repeats": np.full(5, 0.5)},
        "fails": {"repeats": coupled(drift=20.0), "fresh_repeats": np.full(5, 0.5)},
    },
    "sa-recurrence": {
        "holds when": {"coupled": coupled(drift=1e-9)},
        "fails": {"coupled": coupled(drift=20.0)},
    },
    "sa-repeated-anchors": {"holds when": {"sides": sides(1.0)}, "fails": {"sides": sides(2.0)}},
    "sa-beyond-triangle": {
        "holds": {"useful_steps": WEAK},
        "fails": {"useful_steps": dict.fromkeys(WEAK, 9)},
    },
    "sa-close": {
        "seen here": distances(0.3, 0.7, 1.2),
        "not seen here": distances(0.7, 0.3, 1.2),  # NSCL and SCL exchanged
    },
    "sa-bound-tightens": {
        "holds": {"bound_grid": [-np.add.outer(np.arange(4.0), np.arange(3.0))]},
        # A bound with exp(tau) in the place of exp(1 / tau).
        "fails": {"bound_grid": [np.subtract.outer(-np.arange(4.0), -np.arange(3.0))]},
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
        "holds": {"far": (0.1, 0.0)},
        "fails": {"far": (-1.0, 0.0)},
    },
    "sa-exponent": {
        "holds": {"moving_exponents": {"a": 0.1}, "coupled": coupled()},
        "fails": {"moving_exponents": {"a": 24.0}, "coupled": coupled()},
    },
    "sa-prefactor": {
        "holds when": {"imagenet_batches": imagenet(0.1)},
        "fails": {"imagenet_batches": imagenet(7.4)},  # as at tau = .5
    },
    "sa-gap-negligible": {
        "holds": {"imagenet_batches": imagenet(0.01, 0.0)},
        "fails": {"imagenet_batches": imagenet(0.1, 600.0)},
    },
    "sa-rho": {"holds": {"printed_cka": 0.999}, "fails": {"printed_cka": 0.87}},
    "sa-vacuous": {
        "holds": {"lasting": {("ImageNet-1K", 0.5): (5, 100)}},
        "fails": {"lasting": {("ImageNet-1K", 0.5): (90, 100), ("a", 0.5): (1, 100)}},
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
        "holds": {"negative_share": np.full(5, 0.9), "share_tails": tails((0, -1), (0.5, 1))},
        "misprinted": {"negative_share": np.full(5, 0.8), "share_tails": tails((0.5, 1), (0, -1))},
        "fails": {"negative_share": np.full(5, 0.5), "share_tails": tails((0.5, 1), (0.5, 1))},
    },
    "sa-corollary-3": {
        "holds": {"missed_promises": np.array([[0.1, 0.1, 0.5]] * 3)},
        "misprinted": {"missed_promises": np.array([[1.0, 0.1, 0.5]] * 3)},
        "fails": {"missed_promises": np.array([[1.0, 0.9, 0.5]] * 3)},
    },
    "sa-mass": {"holds": {"coupled": coupled()}, "fails": {"coupled": coupled(times=20)}},
    "sa-lemma-6": {
        "holds": {"anchors": TABLES, "coupled": coupled()},
        "fails": {"anchors": TABLES, "coupled": coupled(times=20)},
    },
    "sa-lemma-6-range": {
        "holds": {"large_steps": coupled(times=20)},
        "fails": {"large_steps": coupled()},
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
    "sa-summary": {"seen here": varied(), "not seen here": varied(-1)},
    "sa-summary-batch": {"seen here": varied(), "not seen here": varied(-1)},
    "sa-surrogate": {"holds": both(), "fails": both(missed=np.array([0, 2.0, 3.0]))},
    "sa-surrogate-free": {
        "seen here": by_dimension(0.2, 0.5, 0.9, 0.95),
        "not seen here": by_dimension(0.95, 0.9, 0.5, 0.2),
    },
    "sa-time-scale": {
        "seen here": shared(0.1, 0.1, 0.1, 0.4),
        "not seen here": shared(0.1, 0.1, 0.9, 0.4),
    },
    "sa-exponential": {
        "holds": {"from_one_angle": parting(lambda t: np.exp(t / 5))},
        "not seen here": {"from_one_angle": parting(lambda t: t**3)},  # a power
    },
    "sa-exponential-digits": {
        "seen here": {"start": early(np.exp, lambda t: t + 1e-9)},
        "not seen here": {"start": early(np.exp, lambda t: np.exp(t / 50))},
    },
    "sa-twin-end": {
        "seen here": {"plateau": ended(twin=0.1)},
        "not seen here": {"plateau": ended(twin=0.9)},
    },
    "sa-weight-angle": {
        "seen here": {"plateau": ended()},
        "not seen here": {"plateau": ended(weights=45.0)},
    },
    "sa-class-angle": {
        "seen here": {"plateau": ended()},
        "not seen here": {"plateau": ended(weights=10.0)},
    },
    "sa-long-lars": {
        "seen here": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(cka=(1, 0.4, 0.5, 0.5))},
    },
    "sa-long-lars-fall": {
        "seen here": {"long_lars": lars()},
        # The time reversed.
        "not seen here": {"long_lars": reversed_cka()},
    },
    "sa-scl-zero": {
        "seen here": digits(),
        "not seen here": digits(cka=(1, 0.9, 0.8, 0.5)),
    },
    "sa-tight": {
        "seen here": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(within=(0.4, 0.1, 0.4, 0.1))},
    },
    "sa-loose": {
        "seen here": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(within=(0.4, 0.1, 0.1, 0.1))},
    },
    "sa-ce-between": {
        "seen here": digits(),
        "not seen here": digits(cka=(1, 0.9, 0.8, 0.5)),
    },
    "sa-ce-dips": {"seen here": dips(0.3), "not seen here": dips(0.0)},
    "sa-ce-dips-lars": {
        "seen here": {"long_lars": lars(least=0.5)},
        "not seen here": {"long_lars": lars(least=0.0)},
    },
    "sa-weights-lars": {
        "seen here": {"long_lars": lars()},
        "not seen here": {"long_lars": lars(gap=(0, 2, -1, 0))},
    },
    "sa-centres-lars": {
        "seen here": digits(),
        "not seen here": digits(read=(0.9, 0.8, 0.7, 0)),
    },
    "sa-probe-lars": {
        "seen here": digits(),
        "not seen here": digits(read=(0.9, 0.8, 0.7, 0)),
    },
    "sa-subsets": {
        "seen here": {"subsets": subsets(RISING)},
        "not seen here": {"subsets": subsets(FALLING)},
    },
    "sa-subsets-decline": {
        "seen here": {"subsets": subsets(RISING)},
        "not seen here": {"subsets": subsets(RISING + 1)},
    },
    "sa-temperature-control": {
        "seen here": {"temperatures": heated([0.2, 0.5, 0.9])},
        "not seen here": {"temperatures": heated([0.9, 0.5, 0.2])},
    },
    "sa-batch-lars": {
        "seen here": {"sized": batches(-0.1, 0.1)},
        "not seen here": {"sized": batches(0.1, 0.1)},
    },
    "sa-batch-lars-root": {
        "seen here": {"sized": batches(-0.1, 0.1)},
        "not seen here": {"sized": batches(0.1, -0.1)},
    },
    "sa-batch-lars-others": {
        "seen here": {"sized": batches(-0.1, 0.1)},
        "not seen here": {"sized": batches(0.1, -0.1)},
    },
    "sa-bound-batch": {
        "holds": {"bound_changes": {"fixed epochs": [0.1, -0.1]}},
        "fails": {"bound_changes": {"fixed epochs": [-0.1, -0.1]}},
    },
    "sa-architectures": {
        "seen here": {"widths": widths(0.1)} | images(0.1),
        "not seen here": {"widths": widths(0.1)} | images(-0.1),
    },
}
