"""Figures of "So why does it work?": the answer in one picture, and the experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray

from clbook.experiments.why.experiment import Result
from clbook.explore import Cell
from clbook.style import (
    INK,
    MUTED,
    Picture,
    axes,
    band,
    colour,
    legend,
    log_axis,
    mosaic,
    name_lines,
    plane,
)
from clbook_book.course.drawing import arrows, bare, by_class
from clbook_book.course.why.parts import Linked, Part

TABLE, LAYER, DEEP = colour(8), colour(7), colour(4)
KINDS = {"meaning": (colour(0), "o"), "looks": (colour(1), "s"), "chance": (MUTED, "x")}
RATIO = "distance within / between"
RATES = 24  # of the fastest directions that are drawn

SHARED, OWN = KINDS["meaning"][0], KINDS["chance"][0]  # the two parts of a push in `answer`
COMMON = np.array([0.9, 0.45])  # the part of a push that all in `answer` have
# Where the parts of `answer` lead: the words of the link, the page ("" is the figure's own), the section and its title.
MECHANISM = (
    "One mechanism: averaging",
    "",
    "why-averaging",
    "One mechanism: averaging over what counts as alike",
)
READ_ON = {
    "the network": ("Pull a point", "", "why-network", "The network"),
    "the views": ("Turn the views", "", "why-views", "The views"),
    "the counts": ("Count the uses", "", "why-uses", "The counts"),
}
LOST = ("What is lost", "", "why-lost", "What is lost")
TITLE = "Why contrastive learning works"
STRIP = 0.13  # of the height of the lower panels: below them, the link to what is lost
AVERAGERS = {  # who averages: over what, what is kept, what is lost
    "the network": ("inputs that look alike", "what look-alikes share", "what tells them apart"),
    "the views": ("copies of one point", "what the copies share", "what changes between them"),
    "the counts": ("uses of one symbol", "its mix of contexts", "the luck of each use"),
}
LAST = ["the counts"]  # the lowest panel on a phone
# How far the averagers' panels reach, and on a phone, where they are as wide as the screen.
HALF, SLIM = 1.5, 2.6


def answer() -> Linked:
    """The book's answer: what averaging does to pushes, who can average and over what, and what is lost.

    A drawing, but its arithmetic is real: the blue arrow is the mean of the grey ones. Each part has room for its link.
    On a phone the panels stand below one another.
    """
    fig, ax = mosaic(
        [["pushes", "mean", "steps"], list(AVERAGERS)],
        width=7.8,
        height=6.1,
        height_ratios=(1, 1.35),
    )
    slim, panels = mosaic(
        [["pushes", "pushes"], ["mean", "steps"], *[[name, name] for name in AVERAGERS]],
        width=3.7,
        height=12,
        height_ratios=(1, 1, 1.6, 1.6, 1.6),
    )
    told = []
    for name, (over, kept, lost) in AVERAGERS.items():
        told.append(f"{name} over {over}, which keeps {kept} and loses {lost}")
    alt = (
        "First, three panels: scattered points with grey arrows in all "
        "directions; the same arrows from one origin with their mean in blue, which points up to "
        f"the right; the points again, all with this blue arrow. Below, who can average: {'; '.join(told)}."
    )
    phone = Linked(slim, alt, TITLE, _parts(panels, LAST, SLIM))
    return Linked(fig, alt, TITLE, _parts(ax, list(AVERAGERS), HALF), phone)


def _parts(ax, above, half) -> list[Part]:
    """Draw all panels {name: axes}; those of the averagers reach from -half to half. Returns their links.

    The one to what is lost stands below the panels `above`.
    """
    _mechanism(ax["pushes"], ax["mean"], ax["steps"])
    draw = {"the network": _look_alikes, "the views": _copies, "the counts": _uses}
    parts = [Part(*MECHANISM, [ax["pushes"], ax["mean"], ax["steps"]])]
    for name, (over, kept, lost) in AVERAGERS.items():
        panel = ax[name]
        draw[name](panel)
        panel.set(xlim=(-half, half), ylim=(-2.55, 1.1), title=f"{name}:\n{over}")
        below = {"ha": "center", "va": "top"}
        panel.text(0, -1.2, f"kept: {kept}", color=SHARED, gid="kept", **below)
        panel.text(0, -1.5, f"lost: {lost}", color=OWN, gid="lost", **below)
        parts.append(Part(*READ_ON[name], [panel], (STRIP, 1)))
    for panel in ax.values():
        panel.set_aspect("equal")
        bare(panel)
    return [*parts, Part(*LOST, [ax[name] for name in above], (0, STRIP))]


def _mechanism(before, averaged, after):
    """Points with pushes of their own; the pushes and their mean; the points, moved by this mean."""
    rng = np.random.default_rng(6)
    columns, rows = np.meshgrid((-2, -0.7, 0.6, 1.9), (-1.2, 0, 1.2))
    grid = np.stack([columns.ravel(), rows.ravel()], -1)
    places = grid + rng.uniform(-0.35, 0.35, size=grid.shape)
    around = np.linspace(0, 2 * np.pi, len(grid), endpoint=False)
    pushes = COMMON + rng.permutation(_circle(around))
    mean = pushes.mean(0, keepdims=True)
    _arrows(before, places, pushes, OWN)
    _arrows(averaged, np.zeros_like(pushes), pushes, OWN)
    _arrows(averaged, np.zeros_like(mean), mean, SHARED, width=0.02)
    _arrows(after, places, np.repeat(mean, len(places), 0), SHARED)
    before.set_title("1  pushes as they come")
    averaged.set_title("2  averaged")
    after.set_title("3  moving together")
    for panel in (before, averaged, after):
        panel.set(xlim=(-2.7, 3.6), ylim=(-2.5, 2.5))


def _circle(angles):
    """Points (n, 2) of the unit circle."""
    return np.stack([np.cos(angles), np.sin(angles)], -1)


def _arrows(ax, places, moves, tone, width=0.012):
    """Arrows from `places` along `moves`, both (n, 2), with a dot at the foot of each."""
    _dots(ax, places, 9, f"feet {tone}")
    look = {"width": width, "headwidth": 3.5, "gid": f"arrows {tone}"}
    arrows(ax, places, moves, color=tone, **look)


def _dots(ax, points, size, gid, inside=INK, marker="o"):
    """Marks at points (n, 2), above the lines."""
    ax.scatter(
        *points.T,
        s=size,
        color=inside,
        edgecolors=INK,
        marker=marker,
        zorder=3,
        gid=gid,
    )


def _look_alikes(ax):
    """Two groups of inputs; from one input lines to the others, the thicker the nearer."""
    k = np.arange(10)
    disc = 0.19 * np.sqrt(k)[:, None] * _circle(2.4 * k)
    near = disc - (0.8, 0)
    inputs = np.concatenate([near, disc * (-1, 1) + (0.8, 0)])
    for j, other in enumerate(inputs):
        distance = np.linalg.norm(other - near[0])
        thick = 3.0 * np.exp(-2 * distance**2)
        ax.plot(*np.stack([near[0], other]).T, color=SHARED, lw=thick, gid=f"kernel {j}")
    _dots(ax, inputs, 16, "inputs")


def _copies(ax):
    """A point on a circle about the middle, and its turned copies."""
    copies = 0.95 * _circle(np.arange(0, 2 * np.pi, np.pi / 6))
    circle = 0.95 * _circle(np.linspace(0, 2 * np.pi, 200))
    ax.plot(*circle.T, color=SHARED, gid="turned")
    ax.plot(0, 0, marker="+", ms=8, color=INK, gid="middle")
    _dots(ax, copies[1:], 34, "copies", inside="white")
    _dots(ax, copies[:1], 34, "point")


def _uses(ax):
    """Two symbols and the contexts in which they are used; they share the two in the middle."""
    symbols = np.array([(-0.75, 0.45), (-0.75, -0.45)])
    contexts = np.array([(0.75, 0.9), (0.75, 0.3), (0.75, -0.3), (0.75, -0.9)])
    for k, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3)):
        line = np.stack([symbols[k], contexts[j]])
        shared = j in (1, 2)
        ax.plot(*line.T, color=SHARED if shared else OWN, gid=f"use {k} {j}")
    _dots(ax, symbols, 50, "symbols")
    _dots(ax, contexts, 44, "contexts", inside="white", marker="s")


def kinds(result: Result) -> np.ndarray:
    """(k,) of each direction of `Result.rates`: "meaning", "looks" or "chance", by what most of its pattern is."""
    _, shares = result.rates()
    looks = np.where(result.config.looks == "crossed", shares[:, 1], 0.0)
    options = np.stack([shares[:, 0], looks, np.full(len(shares), 0.5)])
    return np.array(["meaning", "looks", "chance"])[options.argmax(0)]


def one(result: Result) -> Picture:
    """A run without hidden layer: the symbols at the end, rates of growth at the start, the ratio over time."""
    fig, ax = mosaic(
        [["symbols", "rates", "ratio"]], width=7.6, height=3.0, width_ratios=(1, 1, 1.15)
    )
    config, z = result.config, result.z[-1]
    seen = z @ plane(z)
    by_class(ax["symbols"], seen, result.meaning, 16)
    ax["symbols"].set(
        xticks=[],
        yticks=[],
        title=f"symbols, iteration {result.steps[-1]}",
        aspect="equal",
        gid="own scale",
    )
    kind = kinds(result)[:RATES]
    _rates(ax["rates"], result, kind)
    ratio = result.ratio()
    ax["ratio"].plot(
        result.steps + 1, ratio, color=TABLE if config.alike == 0 else LAYER, gid="meaning"
    )
    ax["ratio"].axhline(1, color=MUTED, lw=0.8, ls=":")
    ax["ratio"].set(
        ylim=(0, 1.15),
        xlabel="iteration, from 1",
        ylabel=RATIO,
        title=f"ends at {ratio[-1]:.2f}",
    )
    log_axis(ax["ratio"])
    led = int((kind == "meaning")[: config.groups - 1].sum())
    seen = "once" if config.m == 1 else f"{config.m} times"
    return Picture(
        fig,
        f"Each symbol is seen {seen}, alike = {config.alike:g}: of the {config.groups - 1} "
        f"fastest directions {led} are about meaning. Distance within over between groups: least "
        f"{ratio.min():.2f}, at the end {ratio[-1]:.2f}.",
    )


def _rates(ax, result, kind):
    """The rates of the fastest directions, marked by what each is about, and the decay."""
    rates = result.rates()[0][:RATES]
    for name, (tone, marker) in KINDS.items():
        mine = np.flatnonzero(kind == name)
        if len(mine):
            ax.scatter(
                mine + 1,
                rates[mine],
                s=20,
                color=tone,
                marker=marker,
                label=name,
                gid=name,
            )
    ax.axhline(
        result.config.decay,
        color=INK,
        lw=0.8,
        ls="--",
        label="decay",
        gid="decay",
    )
    ax.set(
        xlabel="direction",
        ylabel="rate of growth",
        ylim=(0, None),
        title="at the start",
    )
    name_lines(ax)
    legend(ax, loc="upper right")


def ending(result: Result) -> Cell:
    """(shade, sign, words) of a run for a cell: the ratio of distances at the end; the smaller, the darker."""
    ratio = float(result.ratio()[-1])
    return Cell(
        max(0.0, 1 - ratio),
        f"{ratio:.2f}",
        f"distance within over between groups {ratio:.2f} at the end",
    )


def _against_m(runs: Sequence[Result], read) -> tuple[list, np.ndarray]:
    """(the numbers of occurrences, (seeds, numbers) of read(run))."""
    found = {(r.config.seed, r.config.m): read(r) for r in runs}
    seeds = sorted({seed for seed, _ in found})
    times = sorted({m for _, m in found})
    return times, np.array([[found[seed, m] for m in times] for seed in seeds])


def against_m(table, layer, deep, crossed) -> Picture:
    """Distance ratios at the end over m: who looks alike means the same (left), or not (right).

    Args: runs of several seeds at the same numbers m; crossed: of a layer, with looks that cross the meanings.
    """
    fig, ((left, right),) = axes(2, width=7.8, height=3.2, sharey=True)
    told = []
    for name, runs, tone in (
        ("table", table, TABLE),
        ("layer", layer, LAYER),
        ("two layers", deep, DEEP),
    ):
        times, values = _against_m(runs, lambda r: r.ratio()[-1])
        band(left, times, values, color=tone, label=name, gid=name)
        first = values[:, 0].mean()
        last = values[:, -1].mean()
        told.append(f"{name} {first:.2f} at m = {times[0]}, {last:.2f} at {times[-1]}")
    for by in ("meaning", "looks"):
        times, values = _against_m(crossed, lambda r, by=by: r.ratio(by)[-1])
        band(right, times, values, color=KINDS[by][0], label=f"by {by}", gid=by)
        first = values[:, 0].mean()
        last = values[:, -1].mean()
        told.append(f"looks that mislead, by {by} {first:.2f}, then {last:.2f}")
    for ax, title in (
        (left, "who looks alike means the same"),
        (right, "looks cross the meanings"),
    ):
        ax.axhline(1, color=MUTED, lw=0.8, ls=":")
        ax.set(xlabel="occurrences m of each symbol", title=title, ylim=(0, 1.2))
        log_axis(ax, times[::2])
        legend(ax, loc="lower left")
    left.set_ylabel(RATIO)
    return Picture(
        fig,
        f"Mean over {len(values)} seeds of the distance within over between groups: "
        f"{'; '.join(told)}.",
    )


def over_time(ratio: xarray.DataArray) -> Picture:
    """The distance ratio over training for several numbers of occurrences: of a table (left) and of a layer (right).

    Args: ratio: along alike (0 is a table), seen (the number of occurrences, in words), seed and step.
    """
    fig, ((left, right),) = axes(2, width=7.8, height=3.2, sharey=True)
    told = []
    for ax, title, alike in ((left, "table", 0.0), (right, "layer", 0.5)):
        for k, name in enumerate(ratio.seen.values):
            values = ratio.sel(alike=alike, seen=name).values
            tone = (colour(1), colour(4), colour(2), INK)[k % 4]
            band(ax, ratio.step.values + 1, values, color=tone, label=name, gid=name)
            least = values.min(1).mean()
            end = values[:, -1].mean()
            told.append(f"{title}, {name}: least {least:.2f}, at the end {end:.2f}")
        ax.axhline(1, color=MUTED, lw=0.8, ls=":")
        ax.set(xlabel="iteration, from 1", title=title, ylim=(0, 1.2))
        log_axis(ax)
    left.set_ylabel(RATIO)
    legend(left, loc="lower left")
    return Picture(fig, f"Distance within over between groups without decay. {'; '.join(told)}.")
