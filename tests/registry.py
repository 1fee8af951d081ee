"""Every experiment that trains, for the tests of what all promise: tiny settings, settings that diverge, runs of one program."""

import dataclasses
from collections.abc import Callable

from clbook.experiments import alignment, content_style, kernel, modadd, separability, sphere, words
from clbook.experiments.alignment import surrogate
from clbook.experiments.content_style import projector
from clbook.experiments.modadd import lookup
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
    "sphere": Case(sphere.run, sphere.Config(n=24, steps=12, width=10), "lr",
                   {"activation": "identity", "depth": 8, "width": 100, "lr": 100.0, "tau": 1e-3, "start": "uniform", "steps": 50},
                   ({"seed": 2}, {"tau": 1.0, "lr": 0.5}, {"cap": 0.5, "noise": 0.1})),
    "sphere, deep, three dimensions": Case(sphere.run, sphere.Config(d=3, depth=3, n=24, steps=8, width=9), "lr", None,
                                           ({"seed": 2}, {"spread": 0.5, "gap": 2.0})),
    "sphere, vanilla": Case(sphere.run, sphere.Config(n=24, steps=12, network=False), "lr", None, ({"seed": 2}, {"tau": 1.0})),
    "kernel": Case(kernel.run, kernel.Config(n=18, steps=6, width=20), "lr_over_tau",
                   {"lr_over_tau": 10_000.0, "tau": 10.0, "activation": "relu", "steps": 400},
                   ({"seed": 2}, {"tau": 1.0, "delta": 0.1}, {"angle": 90.0, "eps": 1.0})),
    "kernel, vanilla": Case(kernel.run, kernel.Config(n=18, steps=6, width=20, flow="vanilla"), "lr_over_tau", None,
                            ({"seed": 2}, {"tau": 1.0})),
    "kernel, radius": Case(kernel.run, kernel.Config(n=18, steps=6, width=20, flow="radius", gradient="full"), "lr_over_tau", None,
                           ({"seed": 2}, {"lr_over_tau": 0.1})),
    "alignment": Case(alignment.run, alignment.Config(n=80, test=30, classes=4, width=12, d=6, batch=24, steps=8, warmup=2), "lr",
                      {"lr": 100.0, "steps": 60}, ({"seed": 2}, {"tau": 1.0, "lr": 0.3}, {"noise": 1.0, "spread": 0.5})),
    "alignment, LARS on digits": Case(
        alignment.run, alignment.Config(data="digits", optimizer="lars", n=80, test=40, width=12, d=6, batch=24, steps=5, warmup=1,
                                        compare="pair", probe="end"), "lr", None, ({"seed": 2}, {"lr": 0.3})),
    "surrogate": Case(surrogate.run, surrogate.Config(classes=4, n=24, batch=16, steps=12, d=5), "eta", None,  # bounded steps
                      ({"seed": 2}, {"tau": 0.5, "classes": 6}, {"replacement": True, "eta": 3.0})),
    "circle": Case(surrogate.run_circle, surrogate.Config(classes=4, n=24, batch=16, steps=12), "eta", None,
                   ({"seed": 2}, {"tau": 0.5, "eta": 3.0})),
    "content_style": Case(content_style.run, content_style.Config(n=24, steps=8), "lr", {"lr": 1.0, "steps": 400},
                          ({"seed": 2}, {"tau": 1.0, "style_sd": 0.1}, {"d_c": 0})),
    "content_style, deep on the sphere": Case(
        content_style.run, content_style.Config(space="sphere", normalize=True, layers=3, mixing_layers=2, width=11, n=24, steps=5),
        "lr", None, ({"seed": 2}, {"tau": 1.0, "d_c": 4})),
    "projector": Case(projector.run, projector.Config(n=60, n_test=40, batch=16, d=8, width=9, direct=4, steps=6), "lr", None,
                      ({"seed": 2}, {"tau": 0.5, "tau_ratio": 2.0})),
    "modadd": Case(modadd.run, modadd.Config(N=6, k=3, batch=12, epochs=4), "lr", {"lr": 10.0, "epochs": 200},
                   ({"seed": 2}, {"decay": 0.1, "init": 0.1}, {"misaligned": "all"})),
    "modadd, classifiers": Case(modadd.run, modadd.Config(N=6, k=3, batch=12, epochs=3, classifier="all", classifier_epochs=3), "lr",
                                None, ({"seed": 2}, {"decay": 0.1})),
    "look-up tables": Case(lookup.flow, lookup.Config(data="cmodadd", steps=12), "lr", {"lr": 1e3, "steps": 200},
                           ({"seed": 2}, {"decay": 0.1, "std": 0.5})),
    "words": Case(words.run, words.Config(d=8, batch=32, steps=6), "lr", {"lr": 1.0, "steps": 100}, ({"seed": 2}, {"decay": 0.1})),
}
