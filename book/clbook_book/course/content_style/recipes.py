"""The deep runs by their settings; the projector on digits, CS Table 2 and DirectCLR: how the records are made.

The latter are records since their differences are as small as what another processor's rounding makes of a run.
"""

import numpy as np

from clbook.experiments.content_style import Config, projector, run
from clbook_book.records import Recipe, fields

SEEDS = range(8)
PLAIN = projector.Config(record_every=200)
ROWS = {
    "regular": PLAIN,
    "without norm": PLAIN.replace(normalize=False),
    "two temperatures": PLAIN.replace(normalize=False, tau_ratio=0.7),
    "one, in between": PLAIN.replace(normalize=False, tau=0.84),
}
DIRECT = {"directclr": PLAIN.replace(method="directclr")}
DEEP = Config(
    space="sphere",
    normalize=True,
    d=10,
    d_c=5,
    style_sd=0.15,
    tau=0.5,
    mixing_layers=3,
    layers=7,
    lr=1e-3,
    steps=2000,
    record_every=500,
)
# Small enough for a page, where it trains faster than PyTorch does.
SMALL = DEEP.replace(
    d=8,
    d_c=4,
    layers=5,
    width=24,
    n=64,
    lr=3e-3,
    record_every=0,
)


def deep_configs() -> dict:
    """{(world, label): Configs} of the deep runs: three seeds of those that the text compares, one of others."""
    bare = DEEP.replace(normalize=False)
    box = bare.replace(space="box", tau=1.0)
    in_box = {
        "$d_c$ = 0": box.replace(d_c=0),
        "$d_c$ = 5": box,
        r"$d_c$ = 5, $\tau_c$ = .1": box.replace(tau_c=0.1),
    }
    on_sphere = {
        "$d_c$ = 0": DEEP.replace(d_c=0),
        "$d_c$ = 5": DEEP,
        r"$d_c$ = 5, $\tau_c$ = .3": DEEP.replace(tau_c=0.3),
        r"$d_c$ = 5, all $\tau$ halved": DEEP.replace(tau=0.25),
    }
    without_norm = {
        "$d_c$ = 5": bare,
        r"$d_c$ = 5, $\tau_c$ = .3": bare.replace(tau_c=0.3),
    }
    worlds = {"box": in_box, "sphere": on_sphere, "sphere, no $\\ell_2$ norm": without_norm}
    compared = ("$d_c$ = 0", "$d_c$ = 5", r"$d_c$ = 5, all $\tau$ halved")
    found = {}
    for world, configs in worlds.items():
        for label, config in configs.items():
            seeds = range(3) if world == "sphere" and label in compared else (0,)
            found[world, label] = [config.replace(seed=s) for s in seeds]
    return found


def seeded(configs: dict, seeds=range(3)) -> tuple:
    """Each of {key: Config} with each seed, seeds fastest."""
    return tuple(config.replace(seed=s) for config in configs.values() for s in seeds)


def each(names, seeds=range(3)) -> np.ndarray:
    """The name of each run, as text, of a record of `seeded(configs)`."""
    return np.repeat([str(name) for name in names], len(seeds))


def stacked(*names, **ends):
    """A `reduce` of records: the attributes `names` over time, and for name=attribute their last values, float32."""

    def reduce(results):
        found = {}
        for name in names:
            found[name] = [getattr(result, name) for result in results]
        for name, attribute in ends.items():
            found[name] = [getattr(result, attribute)[-1] for result in results]
        return {name: np.asarray(rows, dtype=np.float32) for name, rows in found.items()}

    return reduce


def box_configs() -> tuple:
    """Linear encoders in the box with more and less style within a pair, and with a low temperature of content."""
    configs = [Config(tau_c=0.01, seed=seed) for seed in range(3)]
    for contents in (0, 1, 2, 4):
        configs += [Config(d_c=contents, style_sd=sd) for sd in (0.1, 1.0)]
    return tuple(configs)


def depth_configs() -> tuple:
    """Deep encoders at three temperatures, with and without norm."""
    configs = []
    for tau in (0.1, 0.25, 0.5):
        configs += [DEEP.replace(tau=tau, normalize=normalize) for normalize in (True, False)]
    return tuple(configs)


def projector_configs() -> tuple:
    """Projectors at three temperatures, with and without norm; one of two temperatures."""
    configs = [ROWS["two temperatures"]]
    for tau in (0.1, 0.3, 1.0):
        configs += [PLAIN.replace(tau=tau, normalize=normalize) for normalize in (True, False)]
    return tuple(configs)


def map_size(result) -> np.ndarray:
    """(T,) size of the map."""
    return np.linalg.norm(result.map, axis=(1, 2))


def style_read(result) -> np.ndarray:
    """(T,) R^2 of the style at the output."""
    return result.style_r2[:, -1]


READ = stacked("loss", readout="readout", rank="rank")
READ_ASKED = ("spectrum", "readout")  # what `READ` asks of a run
AXES = {"loss": "run step", "readout": "run place", "rank": "run place"}


def on_digits(says: str, variants: dict, places: tuple) -> Recipe:
    """The Recipe of runs on digits {variant: Config}, eight seeds each, read out at `places`."""
    return Recipe(
        says,
        projector.run,
        seeded(variants, SEEDS),
        READ,
        ("loss",),
        start=0.5,
        record=READ_ASKED,
        axes=AXES,
        labels={"place": places},
        named={"variant": each(variants, SEEDS)},
        dims=("variant", "seed"),
    )


RECIPES = {
    "cs-heads": on_digits(
        "digits: with and without norm, two temperatures and one, eight seeds", ROWS, ("h", "z")
    ),
    "cs-direct": on_digits("digits: DirectCLR, eight seeds", DIRECT, ("h", "r", "z")),
}
RECIPES["content-style-box"] = Recipe(
    "the box: more and less style within a pair, and a low temperature of content",
    run,
    box_configs(),
    fields(size=map_size),
    ("size",),
    start=0.05,
)
RECIPES["content-style-depth"] = Recipe(
    "deep encoders, three temperatures, with and without norm",
    run,
    depth_configs(),
    fields(style=style_read),
    ("style",),
    start=0.3,
    record=("r2",),
)


def of_projectors(says: str, configs: tuple) -> Recipe:
    """The Recipe of whole runs on digits."""
    return Recipe(says, projector.run, configs, fields(), ("loss",), start=0.5, record=READ_ASKED)


RECIPES["content-style-projector"] = of_projectors(
    "projectors on digits: three temperatures, with and without norm, and two temperatures",
    projector_configs(),
)
RECIPES["content-style-directclr"] = of_projectors(
    "DirectCLR on digits at two decays",
    (DIRECT["directclr"], DIRECT["directclr"].replace(decay=1.0)),
)
