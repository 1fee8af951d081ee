"""Made-up runs on which the claims of SL's page give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook.papers.sl.measures import BOTH, ONE, SMALL, WITH, WITHOUT
from clbook.papers.sl.recipes import RANDOM

LOW, HIGH, NEAR = np.full(5, 0.2), np.full(5, 0.8), np.full(5, 1e-12)  # five seeds
AT = np.array([0, 500, 1000, 10_000])


def runs(
    ratio=0.4,
    pretrained=0.5,
    random=0.5,
    different=3.0,
    kept=1.0,
    loss=1.5,
    middle=1.0,
):
    """Five equal runs with these numbers at the end; the classifiers have them from epoch 500 on."""
    starts = ("pretrained", pretrained), ("random", random), ("permuted", random)
    accuracy = {name: np.array([0.1, *[value] * 3]) for name, value in starts}
    return [
        Run(
            ratio=np.array([1.0, middle, ratio]),
            steps=np.array([0, 500, 1000]),
            accuracy=accuracy,
            accuracy_at=AT,
            different=np.array([4.0, different, different * kept]),
            loss=np.full(3, loss),
        )
        for _ in range(5)
    ]


def own(**changes):
    """The paper's runs, {name: runs}: equal but for these changes {label: {field: value}}."""
    names = {
        "base": WITH,
        "without": WITHOUT,
        "small": SMALL,
        "both": BOTH,
        "one": ONE,
        "random": RANDOM,
    }
    return {"own": {name: runs(**changes.get(label, {})) for label, name in names.items()}}


def uneven(one):
    return {"own_uneven": {ONE: np.full(5, one), WITH: np.full(5, 0.4)}}


def nearest(with_decay, without):
    return {"own_nearest": {WITH: np.full(5, with_decay), WITHOUT: np.full(5, without)}}


def basis(twins, few=2.0):
    """The record of optima with twins so far apart; with few columns `few` apart."""
    apart = {f"{n} columns": twins for n in (64, 80, 100, 200)}
    apart |= {"48 columns, d = 16": twins, "48 columns, d = 8": twins}
    apart |= {"48 columns": few, "48 columns, d = 24": few}
    ones = np.ones((len(apart), 5, 1))
    kept = {
        "twins": (("variant", "seed", "pair"), ones * np.reshape([*apart.values()], (-1, 1, 1))),
        "narrowest": (("variant", "seed"), 0.1 * ones[..., 0]),
    }
    return {"basis": xarray.Dataset(kept, coords={"variant": [*apart]})}


def steps(distinct, contexts=0.0):
    return {
        "steps": {
            "distinct": [(distinct, contexts, 0.0)] * 5,
            "repeated": [(0.4, contexts, 0.8)] * 5,
        }
    }


def sides(ratio=0.5):
    """Three ways to share parameters, five seeds; the last ends at this ratio."""
    axes, ones = ("variant", "seed", "step"), np.ones((3, 5, 2))
    ends = np.reshape([0.5, 0.5, ratio], (3, 1, 1))
    kept = {
        "equivalent": (axes, np.concatenate([ones[..., :1], ends * ones[..., :1]], -1)),
        "different": (axes, ones),
    }
    return {"sides": xarray.Dataset(kept, coords={"variant": ["none", "table", "all"]})}


def several(twins, others=4.0):
    return {"several": {"both": np.full((5, 2), twins), "neither": np.full((5, 2), others)}}


def diagrams(error=0.0, change=0.0):
    """Fig. 1's losses, off by `error`; other labels change Fig. 1b by .5 and the others by `change`."""
    return {"figure_1": [{"a": (error, change), "b": (0.0, 0.5)}] * 3}


def counted(*counts):
    return {
        "definition_counts": dict.fromkeys(
            ("Def. 2.1", "Def. 4.1", "one distribution"), np.array(counts)
        )
    }


BETTER, WORSE = {"pretrained": 0.9}, {"pretrained": 0.1}
CUT, THREE = {"loss": 3.45}, np.full(5, 3)  # learned nothing; three groups of distances
# The control of each claim, which must not pass, is the evidence for its second word.

RIGHT, WRONG = counted(0, 27, 240), counted(1, 27, 240)

CASES = {
    "sl-simclr": {
        "seen here": {"views": (LOW / 100, HIGH, 1.0)},
        "not seen here": {"views": (HIGH, HIGH, 1.0)},  # twins on other points
    },
    "sl-def-2-1": {"holds": RIGHT, "fails": WRONG},
    "sl-def-4-1": {"holds": RIGHT, "fails": WRONG},
    "sl-two-distributions": {"holds": RIGHT, "fails": WRONG},
    "sl-similarity": {
        "holds": {"similarities": np.array([[0.0, 0.0, 1.0]] * 3)},
        "fails": {"similarities": np.array([[0.0, 0.1, 1.0]] * 3)},
    },
    "sl-fig-1": {"holds": diagrams(), "fails": diagrams(change=0.1)},
    "sl-crop-cutout": {"identity": {"cropped": (0.0, 0.0)}, "fails": {"cropped": (0.0, 1.0)}},
    "sl-own-setting": {
        "holds": {"setting": {"batch": (32, 32)}},
        "fails": {"setting": {"batch": (32, 64)}},
    },
    "sl-several-tasks": {"holds": several(1e-7), "fails": several(0.1)},
    "sl-shared": {"seen here": sides(), "not seen here": sides(ratio=1.2)},
    "sl-one-context": {
        "identity": {"example": (np.eye(2), (0.0, 1.0))},
        "fails": {"example": (np.eye(2), (0.3, 1.0))},
    },
    "sl-eq-1": {"holds": {"loss_errors": NEAR / 10}, "fails": {"loss_errors": LOW}},
    "sl-same-data": {"holds": {"same_columns": 0.0}, "fails": {"same_columns": 1e-9}},
    "sl-no-answer": {
        "holds": {"gap_without_answer": 0.0, "no_answer": runs(different=0.01)},
        "fails": {"gap_without_answer": 0.0, "no_answer": runs()},  # with the answer
    },
    "sl-theorem-4-2": {
        "holds when": {"unlabelled": (NEAR, HIGH)},
        "fails": {"unlabelled": (HIGH, HIGH)},
    },
    "sl-never-appears": {
        "identity": {"absent": (0 * LOW, NEAR)},
        "fails": {"absent": (LOW, NEAR)},
    },
    "sl-many-contexts": {"holds when": basis(1e-7), "fails": basis(2.0)},
    "sl-perturbed": {
        "identity": {"pushed": (np.full(5, 16), HIGH, NEAR, HIGH)},
        "fails": {"pushed": (np.full(5, 15), HIGH, HIGH, HIGH)},
    },
    "sl-perturbed-again": {
        "holds": {"pushed": (np.full(5, 16), HIGH, NEAR, HIGH)},
        "fails": {"pushed": (np.full(5, 16), HIGH, NEAR, NEAR)},
    },
    "sl-smaller-d": {"holds": basis(1e-7), "fails": basis(2.0)},
    "sl-any-d": {
        "holds": {"one_dimension": (NEAR, NEAR)},
        "fails": {"one_dimension": (HIGH, HIGH)},  # enough dimensions
    },
    "sl-frozen": {"holds": {"given": {"d = 1": NEAR}}, "fails": {"given": {"d = 1": LOW}}},
    "sl-decay-basis": {
        "holds": {"frequencies": (NEAR, LOW)},
        "fails": {"frequencies": (LOW, LOW)},
    },
    "sl-fig-3": {
        "identity": {"lines": (np.array([1, 1]), np.array([0, 0]))},
        "fails": {"lines": (np.array([1, 1]), np.array([0, 1]))},
    },
    "sl-update": {"holds when": steps(1e-15), "misprinted": steps(0.1)},
    "sl-update-encoder": {"holds": steps(0.0), "fails": steps(0.0, contexts=0.1)},
    "sl-own-fig-2a": {
        "seen here": {"paper": runs()},
        "not seen here": {"paper": runs(ratio=0.9)},  # classes permuted
    },
    "sl-own-only": {
        "seen here": {"own_closest": (LOW, HIGH, np.zeros(5, int))},
        "not seen here": {"own_closest": (LOW, np.array([0.8] * 4 + [0.1]), np.arange(5))},
    },
    "sl-own-fig-2b": {"seen here": own(base=BETTER), "not seen here": own(base=WORSE)},
    "sl-perfect-early": {
        "seen here": {"paper": runs(pretrained=1.0)},
        "not seen here": {"paper": runs(random=1.0)},
    },
    "sl-defaults-fig-2a": {
        "seen here": {"defaults": runs()},
        "not seen here": {"defaults": runs(ratio=0.9)},  # classes permuted
    },
    "sl-defaults-fig-2b": {
        "seen here": {"defaults": runs(**BETTER)},
        "not seen here": {"defaults": runs(**WORSE)},
    },
    "sl-own-fig-4a": {
        "seen here": {"own_wide": runs()},
        "not seen here": {"own_wide": runs(ratio=0.9)},
    },
    "sl-own-fig-4b": {
        "seen here": {"own_wide": runs()},
        "not seen here": {"own_wide": runs(pretrained=0.9)},
    },
    "sl-own-fig-5a": {
        "seen here": own(without={"ratio": 0.8}),
        "not seen here": own(without={"ratio": 0.3}),
    },
    "sl-own-fig-6a": {"seen here": own(), "not seen here": own(small={"ratio": 0.9})},
    "sl-own-fig-7a": {
        "seen here": own(),
        "not seen here": own(both={"ratio": 0.9}),
        "undecided": own(both=CUT),
    },
    "sl-own-fig-8a": {"seen here": own(), "not seen here": own(one={"ratio": 0.9})},
    "sl-uneven-pair": {"seen here": uneven(0.9), "not seen here": uneven(0.3)},
    "sl-own-farther": {
        "seen here": own(both={"different": 5.0}),
        "not seen here": own(small={"different": 5.0}),
        "undecided": own(both={"different": 5.0} | CUT),
    },
    "sl-own-bands": {
        "seen here": own() | {"own_groups": THREE},
        "not seen here": own() | {"own_groups": THREE - 1},
        "undecided": own(both=CUT) | {"own_groups": THREE},
    },
    "sl-own-longer": {
        "seen here": own(base={"middle": 0.4, "ratio": 0.3}, one={"ratio": 0.45}),
        "not seen here": own(base={"ratio": 0.3}, one={"middle": 0.4}),  # sooner close
    },
    "sl-own-less-useful": {"seen here": own(base=BETTER), "not seen here": own(one=BETTER)},
    "sl-own-nearest": {
        "seen here": own() | nearest(2.0, 1.0),
        "not seen here": own() | nearest(1.0, 2.0),  # decay and none exchanged
    },
    "sl-own-fig-5b": {
        "seen here": own(base=BETTER, without={"pretrained": 0.6}),
        "not seen here": own(base=BETTER, without=BETTER),
    },
    "sl-own-fig-6b": {"seen here": own(small=BETTER), "not seen here": own(small=WORSE)},
    "sl-own-fig-7b": {"seen here": own(both=BETTER), "not seen here": own(both=WORSE)},
    "sl-own-fig-8b": {"seen here": own(one=BETTER), "not seen here": own(one=WORSE)},
}
