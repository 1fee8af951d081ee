"""The records of the page on CS: linear encoders, deep ones at two widths, under projectors, of classes; digits."""

from __future__ import annotations

import numpy as np

from clbook.experiments import content_style as cs
from clbook.experiments.content_style import Config, projector
from clbook.results.labelled import padded
from clbook_book import records
from clbook_book.audit.cs import computed, encoders
from clbook_book.audit.judging import computed_records
from clbook_book.course.content_style import recipes as chapter
from clbook_book.course.content_style.recipes import (
    PLAIN,
    READ,
    READ_ASKED,
    each,
    map_size,
    seeded,
    stacked,
    style_read,
)
from clbook_book.course.content_style.series import SPHERE, grid_configs
from clbook_book.records import Recipe, fields

SEEDS = range(3)
SDS = (0.05, 0.15, 0.3)
SPACES = ("box", "sphere")
FIVE, EIGHT = range(5), range(8)
KS = (1, 2, 4)
TRIED = (0.2, 0.3, 0.5)
WORLDS = ("box, p = 2", "box, p = 1", "sphere")
KINDS = {"no content": {"d_c": 0}, "content": {"d_c": 5}}
DIALS = {
    "lower tau_c": {"tau_c": 0.3},
    "no norm": {"normalize": False},
    "both": {"tau_c": 0.3, "normalize": False},
}


def linear_configs() -> dict:
    """{key: Config} of the linear runs: (world, d_c, tau_c), ("spread", space, d_c, style sd), ("recipe", p, content
    sd, tau_c)."""
    box = {"box, p = 2": Config(), "box, p = 1": Config(p=1)}
    globe = Config(space="sphere", normalize=True, style_sd=0.3)
    found = {}
    for world, base in (box | {"sphere": globe.replace(tau=0.5)}).items():
        found[world, 0, 1.0] = base.replace(d_c=0)
        found |= {
            (world, k, tau): base.replace(d_c=k, tau_c=tau)
            for k in (1, 2, 4)
            for tau in (0.01, 1.0, 10.0)
        }
    for base, sds in ((Config(), (0.1, 0.3, 0.6, 1.0)), (globe, (0.2, 0.3, 0.5))):
        found |= {
            ("spread", base.space, k, sd): base.replace(d_c=k, style_sd=sd)
            for k in (0, 4)
            for sd in sds
        }
    for p, sd in ((p, sd) for p in (2, 1) for sd in (0.05, 0.1, 0.15)):
        base = Config(p=p, d_c=4, content_sd=sd)
        found |= {
            ("recipe", p, sd, name): base.replace(tau_c=tau)
            for name, tau in (("1", 1.0), ("s", sd / 0.3))
        }
    return found


def sweep_configs() -> dict:
    """{(d_c, tau_c, style sd): Config} of linear runs on the sphere for CS Fig. 1, dashed: tau = 1."""
    globe = Config(space="sphere", normalize=True)
    found = {(0, 1.0, sd): globe.replace(d_c=0, style_sd=sd) for sd in TRIED}
    for k in KS:
        for tau in (0.03, 0.1, 0.3, 1.0, 10.0):
            found[k, tau, 0.3] = globe.replace(d_c=k, tau_c=tau)
    for sd in (0.2, 0.5):
        found[1, 0.1, sd] = globe.replace(d_c=1, tau_c=0.1, style_sd=sd)
    return found


def deep_configs() -> dict:
    """{(width, world, style sd, label): Config} of the deep runs. What learns slowly is trained longer."""
    box = Config(d=10, d_c=5, width=50, mixing_layers=3, layers=7, lr=3e-3, steps=8000)
    globe = box.replace(space="sphere", normalize=True, tau=0.5, lr=1e-3, steps=7000)
    long = globe.replace(steps=16_000)
    lower = KINDS | {"lower tau_c": {"tau_c": 0.1}}
    found = {}
    for base, sd, kinds in (
        (box, 0.15, lower),
        (box, 0.3, KINDS),
        (box.replace(n=1024, steps=10_000), 0.05, KINDS),
        (globe, 0.15, KINDS | DIALS),
        (long, 0.3, KINDS | DIALS),
        (long, 0.05, DIALS),
        (globe.replace(steps=64_000), 0.05, {"content": KINDS["content"]}),
        (globe.replace(steps=72_000), 0.05, {"no content": KINDS["no content"]}),
    ):
        for label, kind in kinds.items():
            found[50, base.space, sd, label] = base.replace(style_sd=sd, **kind)
    return found


def rotated_configs() -> dict:
    """{(width, world, style sd, label): Config} of deep runs at the paper's width that start from rotations."""
    base = Config(
        d=10, width=10, mixing_layers=3, layers=7, style_sd=0.15, n=256, lr=3e-3, steps=20_000
    )
    globe = base.replace(space="sphere", normalize=True, tau=0.5)
    found = {}
    for world, config in zip(SPACES, (base, globe), strict=True):
        for label, kind in KINDS.items():
            found[10, world, 0.15, label] = config.replace(**kind)
    return found


def projector_configs() -> dict:
    """{(d_c, layers above the fourth): Config} of the same encoder under projectors, on the sphere."""
    base = Config(
        space="sphere",
        normalize=True,
        d=10,
        style_sd=0.15,
        tau=0.5,
        mixing_layers=3,
        lr=1e-3,
        steps=3000,
    )
    keys = [*((5, above) for above in range(4)), (0, 0), (0, 3)]
    return {(k, above): base.replace(d_c=k, layers=4 + above) for k, above in keys}


def five_configs() -> dict:
    """{(world, d_c): Configs of five seeds} of the linear runs of CS Fig. 1, left."""
    globe = SPHERE.replace(style_sd=0.3)
    found = {("box", k): Config(d_c=k) for k in (0, 1, 2, 4)}
    found |= {("sphere", k): globe.replace(d_c=k) for k in (0, 4)}
    return {key: seeded({key: base}, FIVE) for key, base in found.items()}


def short_configs() -> dict:
    """{(world, label): Configs} of the chapter's deep runs."""
    return {key: tuple(configs) for key, configs in chapter.deep_configs().items()}


def runs_of(name: str, configs: dict) -> dict:
    """{setting: its runs} of the record `name`, which was made of {setting: Config}."""
    record = records.load(name)
    return {setting: record.sel(variant=str(setting)) for setting in configs}


CORNERS = Config(
    d=10, d_c=4, normalize=True, tau=0.5, mixing_layers=3, layers=3, lr=1e-3, steps=3000
)
CLASSES = {
    "style drawn anew": CORNERS.replace(style_sd=10.0),
    "style near the old one": CORNERS.replace(style_sd=0.2),
}
# Outputs are scaled to length 1 on average; at 1/64 of a temperature that is as if they had variance 1 in each of 64
# dimensions. So the first three rows have the temperature 1.
BARE = PLAIN.replace(normalize=False, tau=1 / 64)
DIGITS = {
    "regular": PLAIN,
    "without norm": BARE,
    "two temperatures": BARE.replace(tau_ratio=0.7),
    "regular, temperature 1/64": PLAIN.replace(tau=1 / 64),
    "regular, temperature 1/2": PLAIN.replace(tau=0.5),
}
LONG = projector.Config(decay=4.0, steps=1000, record_every=100)
WEAK_DECAY = (PLAIN.replace(method="directclr"),)
DIRECT = {"directclr": LONG.replace(method="directclr"), "simclr": LONG}


def deep(results):
    """Loss over time, NaN where a run had ended; R^2 of style and of content by layer at the end."""
    ends = stacked(style="style_r2", content="content_r2")
    return ends(results) | {"loss": np.float32(padded([r.loss for r in results]))}


def shielded(results):
    """Loss over time; R^2 of style in the fourth layer and at the output, at the end."""
    found = stacked("loss")(results)
    found["style"] = np.float32([r.style_r2[-1, [4, -1]] for r in results])
    return found


def direct(results):
    """Loss over time; at the end what is added to h, and what is left of the last layer's weights."""
    found = stacked("loss")(results)
    found["added"] = np.float32([r.added[-1] for r in results])
    found["left"] = np.float32([r.rows[-1] / r.rows[0] for r in results])
    return found


COLLAPSE = stacked("loss", "within", cosines="cosines", style="style_r2")
COLLAPSE_ASKED = ("loss", "r2", "within", "cosines")  # what `COLLAPSE` asks of a run
AXES = {
    **dict.fromkeys(("loss", "within"), "run step"),
    **dict.fromkeys(("style", "content"), "run layer"),
    **dict.fromkeys(("added", "left"), "run row"),
    **dict.fromkeys(("readout", "rank"), "run place"),
    "map": "run output factor",
    "cosines": "run pair",
}


def of_variants(says, run, variants: dict, reduce, curves, seeds=SEEDS, **more) -> Recipe:
    """The Recipe of runs of {variant: Config} with each of the seeds; all else as for `Recipe`."""
    return Recipe(
        says,
        run,
        seeded(variants, seeds),
        reduce,
        curves,
        axes=AXES,
        named={"variant": each(variants, seeds)},
        dims=("variant", "seed"),
        **more,
    )


def of_linear(says, variants: dict, seeds=SEEDS) -> Recipe:
    """The Recipe of linear encoders: their maps over time."""
    reduce = stacked("loss", map="map")
    asked = ("loss",)
    return of_variants(says, cs.run, variants, reduce, asked, seeds, start=0.02, record=asked)


def of_deep(says, run, variants: dict, seeds=SEEDS) -> Recipe:
    """The Recipe of deep encoders: what `deep` keeps."""
    asked = ("loss", "r2")
    return of_variants(says, run, variants, deep, ("loss",), seeds, start=0.01, record=asked)


RECIPES = computed_records(
    "cs",
    computed.keeping,
    computed.parts,
    computed.temperatures,
    computed.errors,
    computed.readings,
    computed.recipe,
    computed.surface,
)
RECIPES["cs-five"] = Recipe(
    "linear encoders in the box and on the sphere, five seeds",
    cs.run,
    sum(five_configs().values(), ()),
    fields(size=map_size),
    ("size",),
    start=0.02,
)
RECIPES["cs-sphere-grid"] = Recipe(
    "linear encoders on the sphere over contents, temperatures and spreads of style, three seeds",
    cs.run,
    grid_configs(),
    fields(size=map_size),
    ("size",),
    start=0.05,
)
RECIPES["cs-deep-short"] = Recipe(
    "the chapter's deep encoders, 2,000 steps",
    cs.run,
    sum(short_configs().values(), ()),
    fields(style=style_read),
    ("style",),
    start=0.3,
    record=("r2",),
)
RECIPES["cs-weak-decay"] = Recipe(
    "DirectCLR on digits with the usual weight decay",
    projector.run,
    WEAK_DECAY,
    fields(),
    ("loss",),
    start=0.5,
)
RECIPES["cs-linear"] = of_linear(
    "linear encoders, five seeds: contents, temperatures, spreads of style and of content",
    linear_configs(),
    FIVE,
)
RECIPES["cs-sweep"] = of_linear(
    "linear encoders on the sphere, five seeds: temperatures of content, at temperature 1",
    sweep_configs(),
    FIVE,
)
RECIPES["cs-deep"] = of_deep("deep encoders 50 wide, three seeds", cs.run, deep_configs())
RECIPES["cs-deep-rotated"] = of_deep(
    "deep encoders of the paper's width that start from rotations, five seeds",
    encoders.Orthogonal.run,
    rotated_configs(),
    FIVE,
)
RECIPES["cs-projectors"] = of_variants(
    "the same four layers under none to three projector layers, three seeds",
    encoders.Square.run,
    projector_configs(),
    shielded,
    ("loss",),
    start=0.02,
    record=("loss", "r2"),
    labels={"layer": ("fourth", "output")},
)
RECIPES["cs-classes"] = of_variants(
    "InfoNCE on encoders of four classes, style near the old one or drawn anew, three seeds",
    encoders.Classes.run,
    CLASSES,
    COLLAPSE,
    ("loss", "within"),
    start=0.02,
    record=COLLAPSE_ASKED,
)
RECIPES["cs-digits"] = of_variants(
    "digits, outputs standardised to variance 1, eight seeds",
    projector.run,
    DIGITS,
    READ,
    ("loss",),
    EIGHT,
    start=0.5,
    record=READ_ASKED,
    labels={"place": ("h", "z")},
)
RECIPES["cs-directclr"] = of_variants(
    "DirectCLR and SimCLR on digits until unused weights have decayed, three seeds",
    encoders.Direct.run,
    DIRECT,
    direct,
    ("loss",),
    start=0.1,
    record=("added",),
)
