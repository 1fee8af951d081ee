"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook.experiments.alignment.experiment import POWERS
from clbook.papers.sa.computed import CLASSES
from clbook.papers.sa.recipes import CHAPTER_SIZES, TAUS

STEPS = np.array([0, 200, 500, 600])


def trained(*last, key="cka"):
    """Five runs of four networks: what each has, at all times but the first, in the columns DCL, NSCL, SCL, CE."""
    values = np.stack([np.ones(4), *[np.array(last, float)] * 3])
    return [Run(config=Run(warmup=20), steps=STEPS, **{key: values})] * 5


def moved(**keys):
    """Five runs of one network beside the reference, {key: NSCL's values at STEPS}."""
    return [
        Run(
            config=Run(warmup=0),
            steps=STEPS,
            **{
                key: np.stack([np.ones(4), *[np.array(values, float)] * 3], 1)
                for key, values in keys.items()
            },
        )
    ] * 5


def similar(*ends):
    """{temperature: five runs with this CKA and RSA at the end}; the temperatures stand for numbers of classes, too."""
    keys = "cka", "rsa", "cka_train", "rsa_train"
    runs = [moved(**dict.fromkeys(keys, (1, 1, 1, end))) for end in ends]
    return dict(zip(TAUS, runs, strict=True))


def batches(linear, *others, how="fixed epochs"):
    """CKA at three batch sizes, five seeds: it rises by so much under each scaling."""
    ends = [[np.outer([0, rise / 2, rise], np.ones(5)) for rise in (linear, *others)]]
    places = {"budget": [how], "law": [*POWERS][: len(others) + 1], "batch": [*CHAPTER_SIZES]}
    return xarray.DataArray(ends, places, (*places, "seed"))


def gaps(power):
    """Loss gaps in (seeds, classes, 2) that fall like C to this power."""
    return {0.5: np.tile((np.array(CLASSES, float) ** power)[None, :, None], (5, 1, 2))}


GOOD, BAD = trained(1, 0.9, 0.5, 0.4), trained(1, 0.4, 0.5, 0.9)
FEW, EASY = trained(1, 0.4, 0.4, 0.4), {20: GOOD}
RISING, FALLING = similar(0.2, 0.5, 0.9), similar(0.9, 0.5, 0.2)
WIDER = (0, 1, 2, 3)
LOWER = {"bound_changes": {"fixed steps": [-1.0, -2.0]}}

CASES = {
    "sa-closest": {
        "seen here": {"digits": GOOD, "lars": GOOD},
        "not seen here": {"digits": GOOD, "lars": BAD},
    },
    "sa-decline": {
        "seen here": {"long_pairs": moved(cka=(1, 0.9, 0.8, 0.8))},
        "not seen here": {"long_pairs": moved(cka=(1, 0.7, 0.8, 0.8))},
    },
    "sa-two-classes": {
        "seen here": {"by_classes": {2: FEW}},
        "not seen here": {"by_classes": {2: GOOD}},
    },
    "sa-easy-classes": {
        "seen here": {"by_classes": EASY, "easy": FEW},
        "not seen here": {"by_classes": EASY, "easy": trained(1, 1, 0, 0)},
    },
    "sa-more-classes": {
        "seen here": {"by_classes": RISING},
        "not seen here": {"by_classes": FALLING},
    },
    "sa-classes-decline": {
        "seen here": {"by_classes": {2: moved(cka=(1, 0.9, 0.8, 0.7))}},
        "not seen here": {"by_classes": {2: moved(cka=(0.5, 0.6, 0.7, 0.8))}},
    },
    "sa-temperature": {"seen here": {"by_tau": RISING}, "not seen here": {"by_tau": FALLING}},
    "sa-batch-linear": {
        "seen here": {"fixed": batches(-0.1)},
        "not seen here": {"fixed": batches(0.1)},
    },
    "sa-batch-others": {
        "seen here": {"fixed": batches(0, 0.1, 0.1)},
        "not seen here": {"fixed": batches(0, 0.1, -0.1)},
    },
    "sa-batch-steps": {
        "seen here": {"fixed": batches(-0.1, -0.1, how="fixed steps"), **LOWER},
        "not seen here": {"fixed": batches(-0.1, 0.1, how="fixed steps"), **LOWER},
    },
    "sa-weights-part": {
        "seen here": {
            "long_pairs": moved(gap=WIDER, cka=[0.9] * 4, rsa=[0.9] * 4),
            "digits": moved(gap=WIDER),
        },
        "not seen here": {
            "long_pairs": moved(gap=WIDER, cka=[0.2] * 4, rsa=[0.9] * 4),
            "digits": moved(gap=WIDER),
        },
    },
    "sa-scl-weights": {
        "seen here": {"digits": trained(0, 0.1, 0.2, 0.3, key="gap")},
        "not seen here": {"digits": trained(0, 0.2, 0.1, 0.3, key="gap")},
    },
    "sa-nearest-centre": {
        "seen here": dict.fromkeys(("digits", "lars"), trained(0.7, 0.8, 0.9, 0, key="nccc")),
        "not seen here": dict.fromkeys(("digits", "lars"), trained(0.9, 0.8, 0.7, 0, key="nccc")),
    },
    "sa-loss-gap": {
        "holds when": {"loss_gaps": gaps(-1)},
        "fails": {"loss_gaps": gaps(-0.9)},  # CL's slope
    },
}
