"""What was run for the chapter: linear encoders, deep ones, projectors on digits, DirectCLR.

Those on digits are records since their differences are as small as what another processor's rounding makes of a run.
"""

from __future__ import annotations

import functools

import numpy as np

from clbook import theory
from clbook.experiments.content_style import Config, pair_cosine, projector, run, style_gain
from clbook.results.sweep import combined
from clbook_book.records import by_name, fields, recorded

THREE, EIGHT = range(3), range(8)  # seeds


def map_size(result) -> np.ndarray:
    """(T,) size of the map."""
    return np.linalg.norm(result.map, axis=(1, 2))


def style_read(result) -> np.ndarray:
    """(T,) R^2 of the style at the output."""
    return result.style_r2[:, -1]


def stacked(results, *names, **ends) -> dict[str, np.ndarray]:
    """The attributes `names` over time, and for name=attribute their last values, (runs, ...) in float32."""
    found = {}
    for name in names:
        found[name] = [getattr(result, name) for result in results]
    for name, attribute in ends.items():
        found[name] = [getattr(result, attribute)[-1] for result in results]
    return {name: np.asarray(rows, dtype=np.float32) for name, rows in found.items()}


# Linear encoders.


WIDER = [Config(d_c=contents, style_sd=sd) for contents in (0, 1, 2, 4) for sd in (0.1, 1.0)]


@recorded(
    "content-style-box",
    run,
    combined(Config(tau_c=0.01), seed=THREE) + WIDER,
    keep=fields(size=map_size),
    curves=("size",),
    start=0.05,
)
def box(runs):
    """The box: more and less style within a pair, and a low temperature of content."""
    return runs


SPHERE = Config(space="sphere", normalize=True, d_c=4, style_sd=0.4)  # of the table of losses
CONTENTS = {("box", k): Config(d_c=k) for k in (0, 1, 2, 4)}
CONTENTS |= {("sphere", k): SPHERE.replace(style_sd=0.3, d_c=k) for k in (0, 4)}


@recorded(
    "cs-five",
    run,
    CONTENTS.values(),
    seeds=range(5),
    keep=fields(size=map_size),
    curves=("size",),
    start=0.02,
)
def contents(runs):
    """Linear encoders in the box and on the sphere, five seeds."""
    return by_name(CONTENTS, runs)  # {(world, d_c): runs}


@recorded(
    "cs-sphere-grid",
    run,
    combined(
        SPHERE.replace(steps=600),
        d_c=(1, 2, 4),
        tau=(0.25, 0.5, 1.0, 2.0),
        style_sd=(0.2, 0.3, 0.5),
        seed=THREE,
    ),
    keep=fields(size=map_size),
    curves=("size",),
    start=0.05,
)
def sphere_grid(runs):
    """Linear encoders on the sphere over contents, temperatures and spreads of style, three seeds.

    Rows: d_c, tau, tau d_c (1 - rho), style's gain over content's, and the same as predicted.
    """
    rows, cosine = [], functools.cache(pair_cosine)  # of many draws, none by tau
    for result in runs:
        c = result.config
        rho = cosine(c.replace(seed=0, tau=1.0))
        gain = style_gain(result.map[-1], c.d_c)
        predicted = theory.style_share(c.tau, c.d_c, c.d - c.d_c, rho)
        rows.append((c.d_c, c.tau, c.tau * c.d_c * (1 - rho), gain, predicted))
    return rows


# Deep encoders.


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
BARE = DEEP.replace(normalize=False)
BOX = BARE.replace(space="box", tau=1.0)
NO_NORM = "sphere, no $\\ell_2$ norm"
# (world, label): settings, and how many seeds: three of those that the text compares.
WORLDS = {
    ("box", "$d_c$ = 0"): (BOX.replace(d_c=0), 1),
    ("box", "$d_c$ = 5"): (BOX, 1),
    ("box", r"$d_c$ = 5, $\tau_c$ = .1"): (BOX.replace(tau_c=0.1), 1),
    ("sphere", "$d_c$ = 0"): (DEEP.replace(d_c=0), 3),
    ("sphere", "$d_c$ = 5"): (DEEP, 3),
    ("sphere", r"$d_c$ = 5, $\tau_c$ = .3"): (DEEP.replace(tau_c=0.3), 1),
    ("sphere", r"$d_c$ = 5, all $\tau$ halved"): (DEEP.replace(tau=0.25), 3),
    (NO_NORM, "$d_c$ = 5"): (BARE, 1),
    (NO_NORM, r"$d_c$ = 5, $\tau_c$ = .3"): (BARE.replace(tau_c=0.3), 1),
}


@recorded(
    "cs-deep-short",
    run,
    [base.replace(seed=seed) for base, seeds in WORLDS.values() for seed in range(seeds)],
    keep=fields(style=style_read),
    curves=("style",),
    start=0.3,
    record=("r2",),
)
def deep_short(runs):
    """The chapter's deep encoders, 2,000 steps."""
    left = iter(runs)  # {(world, label): runs}
    return {key: [next(left) for _ in range(seeds)] for key, (_, seeds) in WORLDS.items()}


@recorded(
    "content-style-depth",
    run,
    combined(DEEP, tau=(0.1, 0.25, 0.5), normalize=(True, False)),
    keep=fields(style=style_read),
    curves=("style",),
    start=0.3,
    record=("r2",),
)
def depths(runs):
    """Deep encoders, three temperatures, with and without norm."""
    return runs


# Projectors on digits.


PLAIN = projector.Config(record_every=200)
ROWS = {
    "regular": PLAIN,
    "without norm": PLAIN.replace(normalize=False),
    "two temperatures": PLAIN.replace(normalize=False, tau_ratio=0.7),
    "one, in between": PLAIN.replace(normalize=False, tau=0.84),
}
DIRECT = PLAIN.replace(method="directclr")
READ = ("spectrum", "readout")  # what `read_out` asks of a run
AXES = {"loss": "run step", "readout": "run place", "rank": "run place"}


def read_out(results) -> dict[str, np.ndarray]:
    """The loss over time; readouts and ranks at the end."""
    return stacked(results, "loss", readout="readout", rank="rank")


@recorded(
    "cs-heads",
    projector.run,
    ROWS,
    seeds=EIGHT,
    start=0.5,
    record=READ,
    axes=AXES,
    labels={"place": ("h", "z")},
)
def heads(results):
    """Digits: with and without norm, two temperatures and one, eight seeds.

    Keeps:
        rank: effective rank of the outputs of the encoder and of the projector.
    """
    return read_out(results)


@recorded(
    "cs-direct",
    projector.run,
    {"directclr": DIRECT},
    seeds=EIGHT,
    start=0.5,
    record=READ,
    axes=AXES,
    labels={"place": ("h", "r", "z")},
)
def direct(results):
    """Digits: DirectCLR, eight seeds.

    Keeps:
        rank: effective rank of the outputs of the encoder and of the projector.
    """
    return read_out(results)


@recorded(
    "content-style-projector",
    projector.run,
    [
        ROWS["two temperatures"],
        *combined(PLAIN, tau=(0.1, 0.3, 1.0), normalize=(True, False)),
    ],
    keep=fields(),
    start=0.5,
    record=READ,
)
def projectors(runs):
    """Projectors on digits: three temperatures, with and without norm, and two temperatures."""
    return runs


@recorded(
    "content-style-directclr",
    projector.run,
    [DIRECT, DIRECT.replace(decay=1.0)],
    keep=fields(),
    start=0.5,
    record=READ,
)
def decays(runs):
    """DirectCLR on digits at two decays."""
    return runs
