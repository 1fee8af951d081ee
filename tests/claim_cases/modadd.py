"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np

from clbook import theory

CLASSES = np.tile(np.eye(8, dtype=bool), (2, 2))
NEAR, FAR = np.full((5, 4), 1e-7), np.full((5, 4), 0.5)  # twins, five seeds
LOW, HIGH = np.full(5, 0.2), np.full(5, 0.8)
NO_BASIS = "(3) impossible:\n24 columns, d = 32"
WITH, HALF, ALL = "base", "all symbols, p = .5", "all symbols, p = .9"


def gaps(exceptions):
    """Total variations that put the classes mod 8 together, but for a pair."""
    gap = np.where(CLASSES, 0.0, 1.0)
    gap[0, 1] = 0.0 if exceptions else 1.0
    return Run(semantic=gap, conditional=gap)


def optimum(same, different):
    return np.full(8, same), np.full(112, different)


def formula(factor):
    """Optima whose different symbols are at the formula's distance times a factor."""
    return {
        decay: [optimum(0.0, factor * theory.l2_distance(decay))] * 5
        for decay in (1e-4, 1e-3, 0.015)
    }


def runs(ratio=(1.0, 0.5), pretrained=0.5, random=0.5, count=5, **fields):
    """Equal training runs whose classifiers have these accuracies; permuted symbols help as random ones do."""
    accuracy = {
        "pretrained": np.array([pretrained]),
        "random": np.array([random]),
        "permuted": np.array([random]),
    }
    return [Run(ratio=np.array(ratio), accuracy=accuracy, **fields) for _ in range(count)]


def first(accuracy):
    """Training runs with this accuracy from the trained start; it is .5 from the others."""
    return {"first": runs(pretrained=accuracy), "paper": runs(pretrained=accuracy)}


def all_uneven(half, all_, accuracy):
    return {
        "trained": {
            WITH: runs(ratio=(1.0, 0.4)),
            HALF: runs(ratio=(1.0, half)),
            ALL: runs(ratio=(1.0, all_), pretrained=accuracy),
        }
    }


def different(kept):
    return {"first": runs(different=np.array([4.0, *[2.0] * 6, 2.0 * kept]))}


def dose(accuracy=0.9, half=0.6, more=0.5):
    """Runs with these accuracies on aligned data and at p = .5; those at p = .3 end at the ratio `more`."""
    return {
        p: runs(ratio=(1.0, more if p == 0.3 else 0.5), pretrained=half if p == 0.5 else accuracy)
        for p in (1 / 32, 0.1, 0.3, 0.5, 0.7, 0.9)
    }


def positive(same=1e-7, different=2.0):
    """Optima of tables without zeros and of CModAdd with decay, equivalent symbols and others so far apart."""
    return {
        "aligned_tables": (np.full(5, same), np.full(5, different)),
        "with_decay": {1e-3: [optimum(1e-7, 6.0)] * 5},
    }


ALONE = {"twin_moved": (14.0, {"contexts": 1e-16})}
# The control of each claim, which must not pass, is the evidence for its second word.
CASES = {
    "sl-aligned": {
        "holds": {"aligned": gaps(0), "classes": (10, 10, True)},
        "fails": {"aligned": gaps(0), "classes": (10, 11, False)},  # another task than addition
    },
    "sl-theorem-3-1": {
        "holds when": {"twins": {"all hypotheses": NEAR, "softmax over symbols": NEAR}, **ALONE},
        "fails": {"twins": {"all hypotheses": NEAR, "softmax over symbols": FAR}, **ALONE},
    },
    "sl-needed": {
        "holds": {"twins": {"(2) broken": FAR, NO_BASIS: FAR}},
        "fails": {"twins": {"(2) broken": FAR, NO_BASIS: NEAR}},
    },
    "sl-lemma-a-1": {
        "holds": {"lemma": (LOW / 1e3, LOW / 1e3)},
        "misprinted": {"lemma": (HIGH, LOW / 1e3)},
        "undecided": {"lemma": (HIGH, HIGH)},
    },
    "sl-prop-a-2": {
        "holds when": {"twins": {"(1) broken": FAR}},
        "fails": {"twins": {"(1) broken": NEAR}},
    },
    "sl-corollary-4-3": {
        "holds when": positive(),
        "fails": positive(different=1e-7),  # too few dimensions: others coincide, too
    },
    "sl-one-distance": {
        "holds": {"with_decay": formula(1.0)},
        "fails": {"with_decay": formula(1.1)},
    },
    "sl-imbalance-fades": {
        "holds": {"law_errors": {"a": LOW / 100, "b": LOW / 50}},
        "fails": {"law_errors": {"a": LOW / 100, "b": LOW}},
    },
    "sl-large-symbols": {
        "holds": {"flow_ratios": {"large symbols": HIGH, "small start": LOW}},
        "fails": {"flow_ratios": {"large symbols": LOW, "small start": HIGH}},
    },
    "sl-fig-2a": {"seen here": different(1.0), "not seen here": different(0.5)},
    "sl-all-uneven": {
        "seen here": all_uneven(0.6, 0.8, 0.1),
        "not seen here": all_uneven(0.6, 0.5, 0.1),
    },
    "sl-loss-zero": {
        "holds": {"trained": {WITH: runs(floor=LOW)}},
        "fails": {"trained": {WITH: runs(floor=LOW + 1)}},
    },
    "sl-loss-floor": {
        "seen here": {"full": {"a": runs(loss=LOW, floor=LOW)}},
        "not seen here": {
            "full": {"a": runs(loss=LOW, floor=LOW), "b": runs(loss=HIGH + 1, floor=LOW)}
        },
    },
    "sl-fig-2b": {"seen here": first(0.9), "not seen here": first(0.1)},
    "sl-permuted": {"seen here": first(0.9), "not seen here": first(0.1)},
    "sl-unrelated": {
        "seen here": {"shuffled": runs(ratio=(1.0, 1.0)), "first": runs()},
        "not seen here": {"shuffled": runs(ratio=(1.0, 1.0), pretrained=0.9), "first": runs()},
    },
    "sl-rq1": {
        "seen here": {"dose": dose(), "random": LOW, "own_wide": runs()},
        "not seen here": {"dose": dose(accuracy=0.1), "random": LOW, "own_wide": runs()},
    },
    "sl-violated": {"seen here": {"dose": dose()}, "not seen here": {"dose": dose(more=1.1)}},
    "sl-partial": {
        "seen here": {"dose": dose(), "random": LOW},
        "not seen here": {"dose": dose(), "random": HIGH},
    },
    "sl-never-together": {
        "holds": {"by_class": (HIGH, HIGH), "apart": runs(ratio=(1.0, 1.1))},
        "fails": {"by_class": (LOW / 1e6, HIGH), "apart": runs(ratio=(1.0, 1.1))},
    },
    "sl-good": {
        "seen here": {"oracle": np.full((5, 4), 0.9), "long": runs()},
        "not seen here": {"oracle": np.full((5, 4), 0.1), "long": runs()},
    },
}
