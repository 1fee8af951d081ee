"""Made-up configurations on which the claims of the chapter give each verdict that they may give."""

import dataclasses

from clbook.experiments import landscape
from clbook.experiments.landscape import Config


def made(clusters, copies, **changes):
    return landscape.run(Config(clusters=clusters, copies=copies, **changes))


def changed(results, **fields):
    """Copies of results with other values."""
    return [dataclasses.replace(result, **fields) for result in results]


EVEN, ONE, RANDOM = made(5, 1), made(1, 5), made(5, 1, arrangement="random", seed=5)
STILL = [EVEN, ONE, RANDOM]

CASES = {
    "va-prop-2-1-formula": {
        "holds": {"still": [dataclasses.replace(ONE, loss_mean=0.0, z=ONE.z[:1])] * 3},
        "misprinted": {"still": STILL},
        "fails": {"still": changed(STILL, loss_mean=9.0)},
    }
}
