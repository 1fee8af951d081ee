"""Every experiment that trains, for the tests of what all promise: tiny settings, settings that diverge, runs of one program."""

import dataclasses
from collections.abc import Callable

from clbook.experiments import separability
from clbook.settings import Settings


@dataclasses.dataclass(frozen=True)
class Case:
    """`run` at the settings `tiny`; `diverges` changes it so that it diverges, by fault of the setting `rate`, or is None.

    neighbours: changes of settings marked `each`: with `tiny` itself they make one program.
    """

    run: Callable
    tiny: Settings
    rate: str
    diverges: dict | None
    neighbours: tuple


S = separability.Config
CASES = {
    "separability": Case(separability.run, S(n=30, steps=24, hidden=(20,)), "lr_over_tau",
                         {"lr_over_tau": 10.0, "tau": 10.0, "activation": "relu", "hidden": (300, 300), "steps": 400},
                         ({"eps": 0.5, "tau": 0.01, "seed": 3}, {"seed": 1, "linger": 2.0}, {"lr_over_tau": 0.1, "noise": 0.5})),
    "separability, two dimensions": Case(
        separability.run, S(n=24, d=2, steps=12, hidden=(8, 8), gradient="partial", kernels=2), "lr_over_tau", None,
        ({"seed": 2}, {"eps": 1.0, "linger": 1.0})),
    "separability, vanilla": Case(separability.run, S(n=30, steps=24, network=False), "lr_over_tau", None,
                                  ({"seed": 2}, {"eps": 1.0}, {"tau": 1.0})),
    "separability, donut": Case(separability.run, S(data="donut", augmentation="rotation", n=30, steps=12, hidden=(9,)),
                                "lr_over_tau", None, ({"seed": 2}, {"lr_over_tau": 0.1})),
    "separability, digits": Case(separability.run, S(data="digits", augmentation="image", n=20, steps=8, hidden=(9,)),
                                 "lr_over_tau", None, ({"seed": 2}, {"tau": 1.0})),
}
