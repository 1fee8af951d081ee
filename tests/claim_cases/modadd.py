"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np

from clbook import theory

CLASSES = np.tile(np.eye(8, dtype=bool), (2, 2))
NEAR, FAR = np.full((3, 4), 1e-7), np.full((3, 4), 0.5)  # twins, three seeds
LOW, HIGH = np.full(3, 0.2), np.full(3, 0.8)
NO_BASIS = "(3) impossible:\n24 columns, d = 32"
WITH, HALF, ALL = "base", "all symbols, p = .5", "all symbols, p = .9"


def gaps(exceptions):
    """Total variations that put the classes mod 8 together, but for a pair."""
    gap = np.where(CLASSES, 0.0, 1.0)
    gap[0, 1] = 0.0 if exceptions else 1.0
    return Run(semantic=gap, conditional=gap)


def optimum(same, different):
    return Run(distances=lambda: (np.full(8, same), np.full(112, different)))


def formula(factor):
    """Optima whose different symbols are at the formula's distance times a factor."""
    return {
        decay: [optimum(0.0, factor * theory.l2_distance(decay))] * 3
        for decay in (1e-4, 1e-3, 0.015)
    }


def runs(ratio=(1.0, 0.5), pretrained=0.5, random=0.5, count=3, **fields):
    """Equal training runs whose classifiers have these accuracies; permuted symbols help as random ones do."""
    accuracy = {
        "pretrained": np.array([pretrained]),
        "random": np.array([random]),
        "permuted": np.array([random]),
    }
    return [Run(ratio=np.array(ratio), accuracy=accuracy, **fields) for _ in range(count)]


def first(accuracy):
    """Training runs with this accuracy from the trained start; it is .5 from the others."""
    return {"first": runs(pretrained=accuracy)}


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


def dose(accuracies=(0.9, 0.8, 0.7, 0.6, 0.5, 0.5), more=0.5):
    """Runs with these accuracies at each p; those at p = .3 end at the ratio `more`."""
    return {
        p: runs(ratio=(1.0, more if p == 0.3 else 0.5), pretrained=accuracy)
        for p, accuracy in zip((1 / 32, 0.1, 0.3, 0.5, 0.7, 0.9), accuracies, strict=True)
    }


GAPS = np.linspace(0, 0.9, 6)  # total variation between equivalent symbols at each p
CASES = {
    "sl-aligned": {"holds": {"aligned": gaps(0)}, "fails": {"aligned": gaps(1)}},
    "sl-theorem-3-1": {
        "holds when": {"twins": {"all hypotheses": NEAR, "softmax over symbols": NEAR}},
        "fails": {"twins": {"all hypotheses": NEAR, "softmax over symbols": FAR}},
    },
    "sl-basis-alone": {
        "holds": {"twin_moved": 14.0, "loss_change": {"contexts": 2.0}},
        "fails": {"twin_moved": 14.0, "loss_change": {"contexts": 1e-16}},
    },
    "sl-needed": {
        "holds": {"twins": {"(2) broken": FAR, NO_BASIS: FAR}},
        "fails": {"twins": {"(2) broken": FAR, NO_BASIS: NEAR}},
    },
    "sl-lemma-a-1": {
        "holds": {"lemma_printed": LOW / 1e3, "lemma_corrected": LOW / 1e3},
        "misprinted": {"lemma_printed": HIGH, "lemma_corrected": LOW / 1e3},
        "undecided": {"lemma_printed": HIGH, "lemma_corrected": HIGH},
    },
    "sl-prop-a-2": {
        "holds when": {"twins": {"(1) broken": FAR}},
        "fails": {"twins": {"(1) broken": NEAR}},
    },
    "sl-corollary-4-3": {
        "holds when": {"with_decay": {1e-3: [optimum(1e-7, 6.0)] * 3}},
        "fails": {"with_decay": {1e-3: [optimum(1e-7, 1e-7)] * 3}},
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
    "sl-fig-2a": {"holds": different(1.0), "not seen here": different(0.5)},
    "sl-all-uneven": {
        "holds": all_uneven(0.6, 0.8, 0.1),
        "not seen here": all_uneven(0.6, 0.5, 0.1),
    },
    "sl-loss-zero": {
        "holds": {"trained": {WITH: runs(floor=LOW)}},
        "fails": {"trained": {WITH: runs(floor=LOW + 1)}},
    },
    "sl-loss-floor": {
        "holds": {"full": {"a": runs(loss=LOW, floor=LOW)}},
        "not seen here": {
            "full": {"a": runs(loss=LOW, floor=LOW), "b": runs(loss=HIGH + 1, floor=LOW)}
        },
    },
    "sl-fig-2b": {"holds": first(0.9), "not seen here": first(0.1)},
    "sl-permuted": {"holds": first(0.9), "not seen here": first(0.1)},
    "sl-fig-4a": {
        "holds": {"wide": runs(), "undecayed": runs(ratio=(1.0, 0.9))},
        "not seen here": {"wide": runs(), "undecayed": runs(ratio=(1.0, 0.2))},
    },
    "sl-fig-4b": {"holds": {"wide": runs()}, "not seen here": {"wide": runs(pretrained=0.9)}},
    "sl-unrelated": {
        "holds": {"shuffled": runs(ratio=(1.0, 1.0)), "random": LOW + 0.3},
        "undecided": {"shuffled": runs(), "random": LOW},
    },
    "sl-rq1": {
        "holds": {"dose": dose(), "gaps": GAPS, "random": LOW},
        "not seen here": {
            "dose": dose((0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
            "gaps": GAPS,
            "random": LOW,
        },
    },
    "sl-violated": {"holds": {"dose": dose()}, "not seen here": {"dose": dose(more=1.1)}},
    "sl-partial": {
        "holds": {"dose": dose(), "random": LOW},
        "not seen here": {"dose": dose(), "random": HIGH},
    },
    "sl-never-together": {
        "holds when": {"apart": runs(ratio=(1.0, 1.1))},
        "fails": {"apart": runs()},
    },
    "sl-good": {
        "holds": {"oracle": np.full((3, 4), 0.9), "long": runs()},
        "not seen here": {"oracle": np.full((3, 4), 0.1), "long": runs()},
    },
    "sl-own-fig-4a": {
        "holds": {"own_wide": runs(), "own_undecayed": runs(ratio=(1.0, 0.9))},
        "not seen here": {"own_wide": runs(), "own_undecayed": runs(ratio=(1.0, 0.2))},
    },
    "sl-own-fig-4b": {
        "holds": {"own_wide": runs()},
        "not seen here": {"own_wide": runs(pretrained=0.9)},
    },
}
