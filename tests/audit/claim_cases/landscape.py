"""Made-up configurations on which the claims of the chapter give each verdict that they may give."""

import dataclasses

import numpy as np

from clbook.experiments import landscape
from clbook.experiments.landscape import Config, Maps


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


EVEN, ONE, RANDOM = made(5, 1), made(1, 5), made(5, 1, arrangement="random", seed=5)
STILL = [EVEN, ONE, RANDOM]
FORGETS = {"holds": maps(0.5, 0.5, 0.3, 0.3), "fails": maps(0.5, 0.6, 0.3, 0.4)}
IDENTITY = {"identity": FORGETS["holds"], "fails": FORGETS["fails"]}

CASES = {
    "va-prop-2-1-formula": {
        "holds": {"still": [dataclasses.replace(ONE, loss_mean=0.0, z=ONE.z[:1])] * 3},
        "misprinted": {"still": STILL},
        "fails": {"still": changed(STILL, loss_mean=9.0)},
    },
    "ls-vicreg": IDENTITY,
}
