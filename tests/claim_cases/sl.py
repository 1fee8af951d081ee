"""Made-up runs on which the claims of SL's page give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
from claim_cases.words import seeds

from clbook.experiments.sl.claims import BOTH, ONE, SMALL, WITH, WITHOUT

LOW, HIGH, NEAR = np.full(3, 0.2), np.full(3, 0.8), np.full(3, 1e-12)
AT = np.array([0, 500, 1000, 10_000])


def runs(ratio=0.5, pretrained=0.5, random=0.5, different=3.0, kept=1.0):
    """Three equal runs with these numbers at the end; the classifiers have them from epoch 500 on."""
    accuracy = {name: np.array([0.1, *[value] * 3]) for name, value in (("pretrained", pretrained), ("random", random))}
    return [Run(ratio=np.array([1.0, 1.0, ratio]), steps=np.array([0, 500, 1000]), accuracy=accuracy, accuracy_at=AT,
                different=np.array([4.0, different, different * kept])) for _ in range(3)]


def own(**changes):
    """The paper's runs, {name: runs}: equal but for these changes {label: {field: value}}."""
    names = {"base": WITH, "without": WITHOUT, "small": SMALL, "both": BOTH, "one": ONE}
    return {"own": {name: runs(**changes.get(label, {})) for label, name in names.items()}}


def uneven(without=0.8, one=0.5, base=0.4):
    return {"own_uneven": {WITHOUT: np.full(3, without), ONE: np.full(3, one), WITH: np.full(3, base)}}


def nearest(**values):
    return {"own_nearest": {name: np.full(3, values.get(label, 1.0)) for label, name in (
        ("base", WITH), ("without", WITHOUT), ("small", SMALL), ("both", BOTH))}}


def basis(twins, few=2.0):
    names = [f"{n} columns" for n in (64, 80, 100, 200)] + ["48 columns, d = 16", "48 columns, d = 8"]
    found = {name: (np.full(3, twins), np.full(3, 0.1)) for name in names}
    return {"basis": found | {"48 columns": (np.full(3, few), NEAR), "48 columns, d = 24": (np.full(3, few), NEAR)}}


def steps(distinct, contexts=0.0):
    return {"steps": {"distinct": [(distinct, contexts, 0.0)] * 3, "repeated": [(0.4, contexts, 0.8)] * 3}}


def dose(**changes):
    """{p: runs} by changes {p times ten: fields of `runs`}."""
    return {p: runs(**changes.get(f"p{round(10 * p)}", {})) for p in (1 / 32, 0.1, 0.3, 0.5, 0.7, 0.9)}


GAPS = np.linspace(0, 0.9, 6)
FALLING = dose(p0={"pretrained": 0.9}, p1={"pretrained": 0.8}, p3={"pretrained": 0.7}, p5={"pretrained": 0.6})
BETTER, WORSE = {"pretrained": 0.9}, {"pretrained": 0.1}

CASES = {
    "sl-one-context": {"holds": {"words": np.eye(2), "word_gaps": np.array([0.0, 1.0])},
                       "fails": {"words": np.eye(2), "word_gaps": np.array([0.3, 1.0])}},
    "sl-eq-1": {"holds": {"loss_errors": NEAR / 10}, "fails": {"loss_errors": LOW}},
    "sl-own-example": {"holds": {"classes": (10, 10, True)}, "fails": {"classes": (10, 11, False)}},
    "sl-same-data": {"holds": {"same_columns": 0.0}, "fails": {"same_columns": 1e-9}},
    "sl-no-answer": {"holds": {"gap": 0.0, "samples": (runs(different=0.01), runs())},
                     "fails": {"gap": 0.0, "samples": (runs(), runs())}},
    "sl-theorem-4-2": {"holds when": {"unlabelled": (NEAR, HIGH)}, "fails": {"unlabelled": (HIGH, HIGH)}},
    "sl-never-appears": {"holds": {"absent": (0 * LOW, NEAR)}, "fails": {"absent": (LOW, NEAR)}},
    "sl-many-contexts": {"holds when": basis(1e-7), "fails": basis(2.0)},
    "sl-perturbed": {"holds when": {"pushed": (np.full(3, 16), HIGH, NEAR, HIGH)},
                     "fails": {"pushed": (np.full(3, 15), HIGH, NEAR, HIGH)}},
    "sl-smaller-d": {"holds": basis(1e-7), "fails": basis(2.0)},
    "sl-any-d": {"holds": {"one_dimension": (HIGH, HIGH)}, "fails": {"one_dimension": (NEAR, NEAR)}},
    "sl-frozen": {"holds": {"given": {"d = 1": NEAR}}, "fails": {"given": {"d = 1": LOW}}},
    "sl-decay-basis": {"holds when": {"frequencies": (NEAR, LOW)}, "fails": {"frequencies": (LOW, LOW)}},
    "sl-fig-3": {"holds": {"lines": (np.array([1, 1]), np.array([0, 0]))},
                 "fails": {"lines": (np.array([1, 1]), np.array([0, 1]))}},
    "sl-update": {"holds when": steps(1e-15), "misprinted": steps(0.1)},
    "sl-update-encoder": {"holds when": steps(0.0), "fails": steps(0.0, contexts=0.1)},
    "sl-own-fig-2a": {"holds": {"paper": runs()}, "not seen here": {"paper": runs(kept=0.5)}},
    "sl-own-fig-2b": {"holds": {"paper": runs(**BETTER)}, "not seen here": {"paper": runs(**WORSE)}},
    "sl-perfect-early": {"holds": {"paper": runs(pretrained=1.0)}, "not seen here": {"paper": runs(random=1.0)}},
    "sl-own-fig-5a": {"holds": own(without={"ratio": 0.8}), "not seen here": own(without={"ratio": 0.3})},
    "sl-own-fig-6a": {"holds": own(small={"ratio": 0.2}), "not seen here": own(small={"ratio": 0.9})},
    "sl-own-fig-7a": {"holds": own(both={"ratio": 0.2}), "not seen here": own(both={"ratio": 0.9})},
    "sl-own-fig-8a": {"holds": uneven(), "not seen here": uneven(one=0.9)},
    "sl-own-farther": {"holds": own(both={"different": 5.0}), "not seen here": own(small={"different": 5.0})},
    "sl-own-bands": {"holds": {"own_gaps": LOW}, "not seen here": {"own_gaps": LOW / 10}},
    "sl-own-longer": {"holds": own(base=BETTER) | uneven(), "not seen here": own(base=WORSE) | uneven()},
    "sl-own-nearest": {"holds": nearest(base=2.0, both=2.0), "not seen here": nearest(without=2.0, small=2.0)},
    "sl-own-fig-5b": {"holds": own(base=BETTER, without={"pretrained": 0.6}),
                      "not seen here": own(base=BETTER, without=BETTER)},
    "sl-own-fig-6b": {"holds": own(small=BETTER), "not seen here": own(small=WORSE)},
    "sl-own-fig-7b": {"holds": own(both=BETTER), "not seen here": own(both=WORSE)},
    "sl-own-fig-8b": {"holds": own(one=BETTER), "not seen here": own(one=WORSE)},
    "sl-fig-4a": {"holds": {"wide": runs()}, "not seen here": {"wide": runs(ratio=1.2)}},
    "sl-fig-4b": {"holds": {"wide": runs()}, "not seen here": {"wide": runs(**BETTER)}},
    "sl-unrelated": {"holds": {"shuffled": runs(ratio=1.0), "random": LOW + 0.3},
                     "not seen here": {"shuffled": runs(ratio=0.5), "random": LOW}},
    "sl-rq1": {"holds": {"dose": FALLING, "gaps": GAPS, "random": LOW},
               "not seen here": {"dose": dict(zip(FALLING, reversed(FALLING.values()), strict=True)), "gaps": GAPS,
                                 "random": LOW}},
    "sl-violated": {"holds": {"dose": dose()}, "not seen here": {"dose": dose(p3={"ratio": 1.1})}},
    "sl-partial": {"holds": {"dose": dose(), "random": LOW}, "not seen here": {"dose": dose(), "random": HIGH}},
    "sl-never-together": {"holds": {"apart": runs(ratio=1.1)}, "fails": {"apart": runs(ratio=0.5)}},
    "sl-good": {"holds": {"oracle": np.full((3, 4), 0.9), "long": runs()},
                "not seen here": {"oracle": np.full((3, 4), 0.1), "long": runs()}},
    "sl-fresh-coin": {"holds": {"fresh": seeds(nearest=0.99)["seeds"], "fixed": seeds(twins=0.6)["seeds"]},
                      "fails": {"fresh": seeds(nearest=0.5)["seeds"], "fixed": seeds(twins=0.6)["seeds"]}},
    "sl-fresh-same": {"holds": {"fresh": seeds(twins=0.001)["seeds"]}, "not seen here": {"fresh": seeds()["seeds"]}},
    "sl-whole-sentence": {"holds": {"wide_window": seeds()["seeds"]},
                          "not seen here": {"wide_window": seeds(natural=1.5)["seeds"]}},
}
