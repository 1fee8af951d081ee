"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np

from clbook import theory

STEPS = np.array([0, 200, 500, 600])


def trained(*last, key="cka", classes=2):
    """Three runs of four networks: what each has, at all times but the first, in the columns DCL, NSCL, SCL, CE."""
    values = np.stack([np.ones(4), *[np.array(last, float)] * 3])
    return [Run(config=Run(warmup=20, classes=classes), steps=STEPS, **{key: values})] * 3


def moved(**keys):
    """Three runs of one network beside the reference, {key: NSCL's values at STEPS}."""
    return [Run(config=Run(warmup=0), steps=STEPS,
                **{key: np.stack([np.ones(4), *[np.array(values, float)] * 3], 1) for key, values in keys.items()})] * 3


def similar(*ends):
    """Three runs for each end, with CKA and RSA there."""
    keys = "cka", "rsa", "cka_train", "rsa_train"
    return [moved(**dict.fromkeys(keys, (1, 1, 1, end))) for end in ends]


def batches(linear, *others, how="fixed epochs"):
    """CKA at three batch sizes, five seeds: it rises by so much under each scaling."""
    return {how: np.array([np.outer([0, rise / 2, rise], np.ones(5)) for rise in (linear, *others)])}


def coupled(drift=1.0, batch=1024, **fields):
    """Three runs of eq. 1, two recorded times, bound 10."""
    config = Run(classes=20, batch=batch, steps=100, delta=0.01, tau=2.0, n=4)
    most = theory.delta(20, batch, 100, 0.01, 2.0)
    base = dict(config=config, steps=np.array([0, 1]), drift=np.array([0, drift]), bound=np.array([0, 10.0]),
                triangle=np.array([0, 20.0]), injections=np.array([0.1 * most / 2 / batch**0.5]), gram_norm=np.ones(2),
                reweighting=np.array([0.1 * most]), std=np.ones(2), cka=np.ones(2), rsa=np.ones(2),
                final=np.ones((2, 4, 8)))
    return [Run(**{**base, **fields})] * 3


def far(times):
    """A run of eq. 1 whose softmaxes differ by so many times Delta."""
    return coupled(reweighting=np.array([times * theory.delta(20, 1024, 100, 0.01, 2.0)]))


def sides(square):
    return {"distinct": np.tile([square, 0.5, 0.5], (3, 1)), "repeated": np.full((3, 3), 9.0)}


def circle(drift=1.0, missed=2.0):
    return [Run(drift=np.array([0, drift]), bound=np.array([0, 10.0]), triangle=np.array([0, 20.0]),
                missed=np.array([0, missed]), moved=np.array([0, 1.0]))] * 2


def gaps(power):
    """Loss gaps in (seeds, classes, 2) that fall like C to this power."""
    return {0.5: np.tile((np.arange(1.0, 6) ** power)[None, :, None], (3, 1, 2))}


GOOD, BAD = trained(1, 0.9, 0.5, 0.4), trained(1, 0.4, 0.5, 0.9)
FEW, EASY = trained(1, 0.4, 0.4, 0.4), [trained(1, 0.9, 0.5, 0.4, classes=20)]
RISING = similar(0.2, 0.5, 0.9)
SOME = {("CIFAR-10", tau): 3 for tau in (0.1, 0.5, 1.0)}
NONE = dict.fromkeys(SOME, 0)
WIDER = (0, 1, 2, 3)
ANGLES = dict(class_angle=(0, 1, 2, 30), pca_angle=(0, 1, 2, 20))

CASES = {
    "sa-closest": {"holds": {"digits": GOOD, "lars": GOOD}, "not seen here": {"digits": GOOD, "lars": BAD}},
    "sa-decline": {"holds": {"long": moved(cka=(1, 0.9, 0.8, 0.8))},
                   "not seen here": {"long": moved(cka=(1, 0.7, 0.8, 0.8))}},
    "sa-two-classes": {"holds": {"by_classes": [FEW]}, "fails": {"by_classes": [GOOD]}},
    "sa-easy-classes": {"holds": {"by_classes": EASY, "easy": FEW},
                        "fails": {"by_classes": EASY, "easy": trained(1, 1, 0, 0)}},
    "sa-more-classes": {"holds": {"by_classes": RISING}, "not seen here": {"by_classes": RISING[::-1]}},
    "sa-classes-decline": {"holds": {"by_classes": [moved(cka=(1, 0.9, 0.8, 0.7))]},
                           "not seen here": {"by_classes": [moved(cka=(0.5, 0.6, 0.7, 0.8))]}},
    "sa-temperature": {"holds": {"by_tau": RISING}, "not seen here": {"by_tau": RISING[::-1]}},
    "sa-batch-linear": {"holds": {"fixed": batches(-0.1)}, "not seen here": {"fixed": batches(0.1)}},
    "sa-batch-others": {"holds": {"fixed": batches(0, 0.1, 0.1)}, "not seen here": {"fixed": batches(0, 0.1, -0.1)}},
    "sa-batch-steps": {"holds": {"fixed": batches(0.1, 0.1, how="fixed steps")},
                       "fails": {"fixed": batches(-0.1, 0.1, how="fixed steps")}},
    "sa-weights-part": {
        "holds": {"long": moved(gap=WIDER, cka=[0.9] * 4, rsa=[0.9] * 4), "digits": moved(gap=WIDER)},
        "not seen here": {"long": moved(gap=WIDER, cka=[0.2] * 4, rsa=[0.9] * 4), "digits": moved(gap=WIDER)}},
    "sa-scl-weights": {"holds": {"digits": trained(0, 0.1, 0.2, 0.3, key="gap")},
                       "not seen here": {"digits": trained(0, 0.2, 0.1, 0.3, key="gap")}},
    "sa-weight-angle": {"holds": {"long": moved(weight_angle=(0, 1, 2, 85))},
                        "undecided": {"long": moved(weight_angle=(0, 1, 2, 45))}},
    "sa-class-angle": {"holds": {"long": moved(weight_angle=(0, 1, 2, 40), **ANGLES)},
                       "not seen here": {"long": moved(weight_angle=(0, 1, 2, 10), **ANGLES)}},
    "sa-nearest-centre": {"holds": dict.fromkeys(("digits", "lars"), trained(0.7, 0.8, 0.9, 0, key="nccc")),
                          "not seen here": dict.fromkeys(("digits", "lars"), trained(0.9, 0.8, 0.7, 0, key="nccc"))},
    "sa-loss-gap": {"holds when": {"classes": np.arange(1.0, 6), "gaps": gaps(-1)},
                    "fails": {"classes": np.arange(1.0, 6), "gaps": gaps(-0.5)}},
    "sa-nscl-loss": {"holds": {"read": {"NSCL": 1.0, "NSCL, printed": 2.0}},
                     "misprinted": {"read": {"NSCL": 1.0, "NSCL, printed": np.inf}}},
    "sa-theorem-1": {"holds when": {"coupled": coupled()}, "fails": {"coupled": coupled(drift=20.0)}},
    "sa-theorem-1-replacement": {"holds": {"repeats": coupled()}, "fails": {"repeats": coupled(drift=20.0)}},
    "sa-repeated-anchors": {"holds when": {"sides": sides(1.0), "coupled": coupled()},
                            "fails": {"sides": sides(2.0), "coupled": coupled()}},
    "sa-beyond-triangle": {"holds": {"life": SOME, "coupled": coupled()},
                           "fails": {"life": NONE, "coupled": coupled()}},
    "sa-lemma-2": {"holds": {"curvature": np.array([0.5, 0.3])}, "fails": {"curvature": np.array([0.6, 0.3])}},
    "sa-lemma-3": {"holds": {"squares": np.ones(2), "display": np.ones(2)},
                   "fails": {"squares": np.ones(2), "display": np.zeros(2)}},
    "sa-lemma-5": {"holds": {"share": np.full(3, 0.9)}, "misprinted": {"share": np.full(3, 0.7875)},
                   "fails": {"share": np.full(3, 0.5)}},
    "sa-corollary-3": {"holds": {"fewest": np.full((3, 9), 0.8), "promised": 0.7},
                       "fails": {"fewest": np.full((3, 9), 0.6), "promised": 0.7}},
    "sa-lemma-6": {"holds": {"identity": 0.0, "coupled": coupled()}, "fails": {"identity": 0.1, "coupled": coupled()}},
    "sa-lemma-6-range": {"holds": {"wild": coupled()}, "fails": {"wild": far(2)}},
    "sa-corollaries": {"holds": {"coupled": coupled()}, "fails": {"coupled": coupled(rsa=-np.ones(2))}},
    "sa-corollaries-far": {"holds": {"correlation": 0.1, "certified": 0.0},
                           "fails": {"correlation": -1.0, "certified": 0.0}},
    "sa-theorem-2": {"holds": {"circles": circle()}, "fails": {"circles": circle(drift=20.0)}},
    "sa-delta": {"holds": {"example": {1.0: 1.0, 1e9: 0.01}}, "misprinted": {"example": {1.0: 1.0, 1e9: 0.2}}},
    "sa-vacuous": {"holds": {"life": SOME, "sets": [("CIFAR-10", 10, 50_000)]},
                   "fails": {"life": dict.fromkeys(SOME, 10**6), "sets": [("CIFAR-10", 10, 50_000)]}},
    "sa-bound-batch": {"holds": {"theorem": {"fixed epochs": [0.1, -0.1]}},
                       "fails": {"theorem": {"fixed epochs": [-0.1, -0.1]}}},
    "sa-surrogate": {"holds": {"circles": circle(missed=0.1)}, "fails": {"circles": circle()}},
}
