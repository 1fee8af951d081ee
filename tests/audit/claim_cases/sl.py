"""Made-up runs on which the claims of SL's page give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np

from clbook_book.audit.sl.measures import BOTH, ONE, SMALL, WITH, WITHOUT
from clbook_book.audit.sl.recipes import RANDOM

AT = np.array([0, 500, 1000, 10_000])


def runs(
    ratio=0.4,
    pretrained=0.5,
    random=0.5,
    different=3.0,
    kept=1.0,
    loss=1.5,
    middle=1.0,
    at_half=1.0,
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
            equivalent=np.array([3.0, at_half, 1.0]),
            config=Run(misaligned="none"),
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


BETTER = {"pretrained": 0.9}
SLOW = {"at_half": 2.0}  # half of the first distance is passed at the end only
CUT, THREE = {"loss": 3.45}, np.full(5, 3)  # learned nothing; three groups of distances
# The control of each claim, which must not pass, is the evidence for its second word.


TOGETHER = [Run(tables=np.tile(np.eye(8), (1, 2, 1)))] * 5  # equivalent symbols, and they alone
CASES = {
    "sl-own-only": {"seen here": {"paper": TOGETHER, "defaults": TOGETHER}},
    "sl-own-longer": {"seen here": own(one=SLOW), "not seen here": own(base=SLOW)},
    "sl-own-less-useful": {"seen here": own(base=BETTER), "not seen here": own(one=BETTER)},
    "sl-own-fig-7a": {
        "seen here": own(),
        "not seen here": own(both={"ratio": 0.9}),
        "undecided": own(both=CUT),
    },
    "sl-own-bands": {
        "seen here": own() | {"own_groups": THREE},
        "not seen here": own() | {"own_groups": THREE - 1},
        "undecided": own(both=CUT) | {"own_groups": THREE},
    },
    "sl-own-fig-5b": {
        "seen here": own(base=BETTER, without={"pretrained": 0.6}),
        "not seen here": own(base=BETTER, without=BETTER),
    },
}
