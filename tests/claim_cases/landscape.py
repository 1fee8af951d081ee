"""Made-up configurations on which the claims of the chapter give each verdict that they may give."""

import dataclasses

import numpy as np

from clbook.experiments import landscape
from clbook.experiments.landscape import Config, Maps, SecondVariation
from clbook.experiments.landscape.variation import within_lemma


def made(clusters, copies, **changes):
    return landscape.run(Config(clusters=clusters, copies=copies, **changes))


def changed(results, **fields):
    """Copies of results with other values."""
    return [dataclasses.replace(result, **fields) for result in results]


def maps(three, three_mixed, many, many_mixed):
    losses = np.array([three, three_mixed, many, many_mixed])
    names = "NT-Xent, eq. 1", "VICReg", "BYOL, fixed predictor"
    return {
        "maps": Maps(
            x=None,
            labels=None,
            z=np.zeros((4, 3, 2)),
            losses=dict.fromkeys(names, losses),
            accuracy=np.array([1.0, 0.3, 1.0, 0.3]),
        )
    }


def curves(simclr):
    """Results at two temperatures whose eq. 1 over 1, 2, ... places is this, with its last value as the plateau."""
    own = dataclasses.replace(EVEN.curves, simclr=np.array(simclr), simclr_plateau=simclr[-1])
    return [dataclasses.replace(EVEN, config=Config(tau=tau), curves=own) for tau in (0.1, 0.2)]


def thresholds(counts, tolerance=0.01):
    """A result whose thresholds are at these numbers of places, for tau = .005, .01 and .02."""
    gaps = 4 * np.sin(np.pi / np.array(counts)) ** 2
    own = dataclasses.replace(EVEN.thresholds, taus=np.array([0.005, 0.01, 0.02]), gaps=gaps)
    return {
        "by_tolerance": [
            dataclasses.replace(EVEN, config=Config(tolerance=tolerance), thresholds=own)
        ]
    }


def variation(autograd, printed, corrected):
    return {
        "variations": {
            "random h": SecondVariation(autograd, autograd, printed, corrected, autograd)
        }
    }


EVEN, ONE, RANDOM = made(5, 1), made(1, 5), made(5, 1, arrangement="random", seed=5)
STILL = [EVEN, ONE, RANDOM]
SHARED = [made(4, 5), made(8, 4)]
FINITE = [made(16, copies) for copies in (1, 4)]
FORGETS = {"holds": maps(0.5, 0.5, 0.3, 0.3), "fails": maps(0.5, 0.6, 0.3, 0.4)}
IDENTITY = {"identity": FORGETS["holds"], "fails": FORGETS["fails"]}
FALLS, RISES = curves([1.0, 0.5, 0.2, 0.2]), curves([0.2, 0.5, 0.8, 1.0])

CASES = {
    "va-prop-2-1": {"identity": FORGETS["holds"], "fails": FORGETS["fails"]},
    "va-prop-2-1-formula": {
        "holds": {"still": [dataclasses.replace(ONE, loss_mean=0.0, z=ONE.z[:1])] * 3},
        "misprinted": {"still": STILL},
        "fails": {"still": changed(STILL, loss_mean=9.0)},
    },
    "ls-vicreg": IDENTITY,
    "ls-byol": IDENTITY,
    "ls-arbitrary": IDENTITY,
    "ls-no-collapse": {
        "holds": {"by_tau": FALLS, "still": STILL},
        "fails": {"by_tau": RISES, "still": STILL},
    },
    "ls-fig-2-left": {"holds": {"by_tau": FALLS}, "fails": {"by_tau": RISES}},
    "ls-smaller-tau": {"holds": {"by_tau": FALLS}, "fails": {"by_tau": RISES}},
    "ls-indicator": {"holds": {"finite": FINITE}, "fails": {"finite": FINITE[::-1]}},
    "ls-data-points": {"holds": {"finite": FINITE}, "fails": {"finite": FINITE[::-1]}},
    "ls-fig-2-right": {"holds when": thresholds([63, 45, 32]), "fails": thresholds([63, 10, 9])},
    "ls-threshold-slope": {"holds": thresholds([46, 33, 23]), "fails": thresholds([20, 15, 10])},
    "ls-remark-3-1": {
        "holds": {"still": STILL, "solids": [EVEN]},
        "fails": {"still": STILL, "solids": [RANDOM]},
    },
    "ls-eq-5": {
        "holds": {"still": [ONE, ONE, ONE]},
        "misprinted": {"still": STILL},
        "fails": {"still": [RANDOM, ONE, RANDOM]},
    },
    "ls-theorem-3-1": {
        "holds when": {"still": STILL, "solids": [EVEN]},
        "fails": {"still": changed(STILL, tangential=RANDOM.tangential), "solids": [EVEN]},
    },
    "ls-remark-3-2": {
        "holds when": {"alone": [EVEN], "saddles": SHARED, "still": STILL},
        "fails": {"alone": SHARED, "saddles": SHARED, "still": STILL},
    },
    "ls-copies-part": {
        "holds": {"saddles": SHARED},
        "fails": {"saddles": changed(SHARED, split=np.ones(3))},
    },
    "ls-prop-b-3-first-order": {
        "identity": {"still": STILL},
        "fails": {"still": changed(STILL, gradient=np.ones((5, 2)))},
    },
    "ls-prop-b-3-constant": {
        "holds": {"still": changed(STILL, split=np.ones(4)), "parted": [0.1]},
        "fails": {"still": STILL, "parted": [-0.1]},
    },
    "ls-lemma-b-4": {
        "holds": {"within": [within_lemma(3)]},
        "fails": {"within": [[one._replace(autograd=-1.0) for one in within_lemma(3)]]},
    },
    "ls-eq-21": {
        "holds": variation(1.0, 1.0, 1.0),
        "misprinted": variation(1.0, 2.0, 1.0),
        "fails": variation(1.0, 2.0, 3.0),
    },
}
