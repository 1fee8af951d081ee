"""Every experiment that trains, for what all promise: tiny settings, settings that diverge, runs of one program."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable

import numpy as np

from clbook.experiments import (
    alignment,
    content_style,
    digits,
    kernel,
    modadd,
    overlap,
    separability,
    sphere,
    why,
    words,
)
from clbook.experiments.content_style import projector
from clbook.experiments.images import emergence
from clbook.experiments.modadd import lookup
from clbook.training.settings import Settings
from clbook_book.audit.cs import encoders
from clbook_book.audit.ls import batches
from clbook_book.audit.ls import variants as maps
from clbook_book.audit.sa import copies, surrogate, weights
from clbook_book.audit.va import experiment as va
from clbook_book.course.alignment import play
from clbook_book.course.landscape import descent
from clbook_book.course.modadd import play as batches_of_modadd
from clbook_book.course.separability import play as first


@dataclasses.dataclass(frozen=True)
class Case:
    """`run` at the settings `tiny`, and changes of them.

    neighbours: of settings marked `each`: with `tiny` itself they make one program. diverges: with it the run diverges,
    by fault of the setting `rate`; None where another case of the experiment does, or no allowed setting makes it.
    largest: whole numbers are tried up to so many times their defaults; less where a step of large ones takes minutes.
    """

    run: Callable
    tiny: Settings
    neighbours: tuple
    rate: str = "lr"
    diverges: dict | None = None
    largest: int = 3


FILES = pathlib.Path(tempfile.gettempdir()) / f"clbook-registry-{os.getpid()}"
FOLDER, PICTURES = str(FILES / "text"), str(FILES / "set.npz")


@contextlib.contextmanager
def files():
    """The files that the cases name: a folder of text, and pictures.

    Sixty sentences over a few words are enough for a vocabulary to be split. There are forty pictures of two classes,
    8 x 8 in colour.
    """
    nouns = ("river", "stone", "bridge", "garden", "window", "letter", "sailor", "orchard")
    verbs = ("holds", "finds", "keeps", "sees", "leaves")
    lines = (
        f"the {nouns[i % 8]} {verbs[i % 5]} the old {nouns[(3 * i + 1) % 8]} near every {nouns[i // 8 % 8]} today."
        for i in range(400)
    )
    x = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    (FILES / "text").mkdir(parents=True)
    (FILES / "text" / "text.txt").write_text("\n".join(lines))
    np.savez(PICTURES, x=x, y=np.repeat([0, 1], 20))
    yield
    shutil.rmtree(FILES)


S, A, C = separability.Config, alignment.Config, content_style.Config
K, M, W = kernel.Config, modadd.Config, sphere.Config
TEXT = words.Config(corpus=FOLDER, vocabulary=15, injected=4, common=20)
LARS = {"data": "digits", "optimizer": "lars", "compare": "pair"}
SMALL = A(n=200, test=40, width=16, d=8, batch=20, steps=12, warmup=2)
DEEP = C(n=24, d=4, d_c=2, layers=2, width=6, steps=4)
P = projector.Config(n=100, n_test=100, batch=50, d=8, width=9, direct=4, steps=12)
WILD = {"N": 16, "k": 8, "batch": 32, "epochs": 100, "decay_kind": "decoupled"}
WILD |= {"lr": 10.0, "decay": 1.0, "init": 10.0}
LONG, IDENTITY = {"steps": 400}, {"activation": "identity"}
SEED, TAU, DECAY = {"seed": 2}, {"tau": 1.0}, {"decay": 0.1}
CASES = {
    "separability": Case(separability.run, S(n=30, steps=24, hidden=(20,)),
        ({"eps": 0.5, "tau": 0.01, "seed": 3}, {"seed": 1, "linger": 2.0},
        {"lr_over_tau": 0.1, "noise": 0.5}), "lr_over_tau",
        {"lr_over_tau": 10.0, "tau": 10.0, "activation": "relu", "hidden": (300, 300)} | LONG),
    "separability, two dimensions": Case(separability.run,
        S(n=24, d=2, steps=12, hidden=(8, 7), gradient="partial"),
        (SEED, {"eps": 1.0, "linger": 1.0})),
    "separability, vanilla": Case(separability.run, S(n=30, steps=24, network=False),
        (SEED, {"eps": 1.0}, TAU)),
    "separability, donut": Case(separability.run,
        S(data="donut", augmentation="rotation", n=30, steps=12, hidden=(9,)),
        (SEED, {"lr_over_tau": 0.1})),
    "separability, digits": Case(separability.run,
        S(data="digits", augmentation="image", n=20, steps=8, hidden=(9,)), (SEED, TAU)),
    "separability, the first page": Case(first.run, first.Config(n=12, drawn=9, steps=8),
        (SEED, TAU, {"eps": 0.5})),
    "sphere": Case(sphere.run, W(n=24, steps=12, width=10),
        (SEED, {"tau": 1.0, "lr": 0.5}, {"cap": 0.5, "noise": 0.1, "first": -3.0}), "lr",
        IDENTITY | {"depth": 8, "width": 100, "lr": 100.0, "tau": 1e-3, "start": "uniform",
        "steps": 50}),
    "sphere, deep, three dimensions": Case(sphere.run,
        W(d=3, depth=3, n=25, steps=8, width=7, activation="relu"),
        (SEED, {"spread": 0.5, "gap": 2.0})),
    "sphere, vanilla": Case(sphere.run, W(n=24, steps=12, network=False), (SEED, TAU)),
    "separability, radial features": Case(maps.run,
        maps.Config(n=20, steps=12, hidden=(), features="radial", loss="eq. 3"),
        (SEED, {"eps": 0.5, "tau": 0.01})),
    "sphere, batches": Case(batches.run, W(n=210, steps=3, width=7),
        (SEED, {"tau": 1.0, "lr": 0.5})),
    "sphere, VA": Case(va.run,
        va.Config(n=24, steps=8, width=9, d=2, net="averaging", loss="eq. 1"),
        (SEED, {"tau": 1.0, "first": 0.0})),
    "kernel": Case(kernel.run, K(n=18, steps=6, width=20),
        (SEED, {"tau": 1.0, "delta": 0.1, "ratio": 0.3}, {"angle": 90.0, "eps": 1.0}),
        "lr_over_tau",
        IDENTITY | {"lr_over_tau": 1e4, "n": 8, "steps": 300, "gradient": "full", "angle": 180.0}),
    "kernel, vanilla": Case(kernel.run, K(n=18, steps=6, width=20, flow="vanilla"), (SEED, TAU)),
    "kernel, radius": Case(kernel.run, K(n=17, steps=6, width=21, flow="radius", gradient="full"),
        (SEED, {"lr_over_tau": 0.1})),
    "alignment": Case(alignment.run, SMALL,
        ({"seed": 1, "tau": 0.1}, {"lr": 0.1, "noise": 0.1}, {"scaling": "linear", "spread": 0.5}),
        "lr", {"lr": 100.0, "compare": "labels", "schedule": "constant", "steps": 200}),
    "alignment, points that flee": Case(play.run, play.Config(n=12, classes=3, steps=8),
        (SEED, TAU, {"lr": 0.1})),
    "alignment, LARS on digits": Case(alignment.run,
        A(n=80, test=41, width=13, d=6, batch=25, steps=5, warmup=1, **LARS), (SEED, {"lr": 0.3})),
    "surrogate": Case(surrogate.run, surrogate.Config(classes=4, n=24, batch=16, steps=12, d=5),
        (SEED, {"tau": 0.5, "classes": 6}, {"replacement": True, "eta": 3.0})),
    "alignment, with a twin": Case(copies.run,
        copies.Config(**vars(SMALL)).replace(steps=6, compare="pair", twin=0.01),
        ({"seed": 1}, {"tau": 0.1})),
    "network": Case(weights.run_network,
        surrogate.Config(classes=4, n=12, batch=8, steps=5, d=3, eta=0.1),
        (SEED, {"tau": 0.5, "eta": 0.3}), largest=1),
    "circle": Case(weights.run_circle, surrogate.Config(classes=4, n=24, batch=16, steps=12),
        (SEED, {"tau": 0.5, "eta": 3.0}), largest=1),
    "content_style": Case(content_style.run, C(n=24, steps=8),
        (SEED, {"tau": 1.0, "style_sd": 0.1}, {"d_c": 0, "content_sd": 0.1})),
    "content_style, deep on the sphere": Case(content_style.run,
        C(space="sphere", normalize=True, layers=3, mixing_layers=2, width=11, n=25, steps=5),
        (SEED, {"tau": 1.0, "d_c": 4})),
    "emergence": Case(emergence.run, emergence.Config(data=PICTURES, n=12, steps=6, bank=3),
        (SEED, {"eps": 0.5, "tau": 1.0}, {"lr_over_tau": 0.5}), "lr_over_tau",
        {"lr_over_tau": 1e30}),
    "digits": Case(digits.run,
        digits.Config(channels=(2, 3), d=4, pairs=5, steps=6, record_every=3),
        (SEED, {"turn": 0.0, "mirrored": 0.5, "lr": 0.1}, {"half_turns": 0.5, "noise": 0.1}),
        largest=1),
    "projector": Case(projector.run, P,
        (SEED, {"tau": 0.5, "noise": 0.5}, {"tau_ratio": 2.0, "decay": 1.0}), "lr",
        {"lr": 1.0, "decay": 100.0, "steps": 200, "normalize": False, "d": 64, "width": 128}),
    "content_style, square": Case(encoders.Square.run, DEEP.replace(layers=3),
        (SEED, {"tau": 0.5})),
    "content_style, classes": Case(encoders.Classes.run, DEEP.replace(d=5, d_c=3, normalize=True),
        (SEED, {"style_sd": 10.0})),
    "projector, taken apart": Case(encoders.Direct.run, P.replace(steps=4, method="directclr"),
        (SEED, {"tau": 0.5})),
    "modadd": Case(modadd.run, M(N=6, k=3, batch=12, epochs=4),
        (SEED, {"decay": 0.1, "init": 0.1}, {"misaligned": "all"}), "lr", WILD),
    "modadd, a batch a step": Case(batches_of_modadd.run,
        batches_of_modadd.Config(N=6, k=3, d=4, batch=6, steps=8),
        (SEED, {"decay": 0.01, "init": 0.1})),
    "modadd, classifiers": Case(modadd.run,
        M(N=6, k=3, batch=12, epochs=3, classifier="all", classifier_epochs=3), (SEED, DECAY)),
    "look-up tables": Case(lookup.flow, lookup.Config(steps=12),
        ({"seed": 2, "decay": 0.1}, {"std": 0.5, "lr": 0.3}, {"broken": "answers"}), "lr",
        {"data": "cmodadd", "std": 90.0, "lr": 900.0, "decay": 1.0, "steps": 1000}),
    "landscape, free points": Case(descent.run, descent.Config(n=12, steps=8),
        ({"seed": 2, "places": 5}, TAU, {"lr": 0.3, "shake": 0.5})),
    "landscape, free points of the sphere": Case(descent.run,
        descent.Config(n=13, steps=8, dim=3, places=4), (SEED, TAU)),
    "overlap": Case(overlap.run, overlap.Config(n=12, steps=12),
        (SEED, {"tau": 1.0, "width": 50.0, "lr": 0.1}, {"start": "shuffled", "moves": "shared"},
        {"spacing": 5.0, "jitter": 0.0, "start": "sorted"})),
    "counts": Case(why.run, why.Config(groups=2, symbols=4, contexts=3, d=3, steps=12),
        (SEED, {"m": 5, "alike": 0.0, "decay": 0.0}, {"sampled": False, "std": 0.1, "lr": 0.3},
        {"looks": "crossed", "noise": 0.5}), "lr", {"lr": 10.0, "decay": 10.0} | LONG),
    "counts, hidden layer": Case(why.run,
        why.Config(groups=2, symbols=3, contexts=4, d=3, hidden=5, steps=8), (SEED, {"m": 3})),
    "words": Case(words.run, TEXT.replace(steps=6, batch=16, d=7),
        (SEED, {"std": 0.1, "decay": 1e-3}, {"subsample": 0.1})),
    "words, transformer": Case(words.run,
        TEXT.replace(steps=4, batch=9, d=6, encoder="transformer"), (SEED, {"std": 0.1})),
}  # fmt: skip
