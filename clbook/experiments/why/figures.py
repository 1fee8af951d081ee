"""Figures of the experiment in "So why does it work?"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clbook.experiments.why.experiment import Result
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

TABLE, LAYER, DEEP = colour(8), colour(7), colour(4)
KINDS = {"meaning": (colour(0), "o"), "looks": (colour(1), "s"), "chance": (MUTED, "x")}
RATIO = "distance within / between"
RATES = 24  # of the fastest directions that are drawn


def kinds(result: Result) -> np.ndarray:
    """(k,) of each direction of `Result.rates`: "meaning", "looks" or "chance", by what most of its pattern is."""
    _, shares = result.rates()
    looks = np.where(result.config.looks == "crossed", shares[:, 1], 0.0)
    options = np.stack([shares[:, 0], looks, np.full(len(shares), 0.5)])
    return np.array(["meaning", "looks", "chance"])[options.argmax(0)]


def one(result: Result) -> Picture:
    """A run without hidden layer: the symbols at the end, rates of growth at the start, the ratio over time."""
    fig, ax = mosaic(
        [["symbols", "rates", "ratio"]], width=7.8, height=3.0, width_ratios=(1, 1, 1.15)
    )
    config, z = result.config, result.z[-1]
    seen = z @ plane(z)
    for k in range(config.groups):
        ax["symbols"].scatter(
            *seen[result.meaning == k].T, s=16, color=colour(k), linewidths=0, gid=f"class {k}"
        )
    ax["symbols"].set(xticks=[], yticks=[], title=f"symbols, iteration {result.steps[-1]}")
    ax["symbols"].set(aspect="equal", gid="own scale")
    rates, kind = result.rates()[0][:RATES], kinds(result)[:RATES]
    for name, (tone, marker) in KINDS.items():
        mine = np.flatnonzero(kind == name)
        if len(mine):
            ax["rates"].scatter(
                mine + 1, rates[mine], s=20, color=tone, marker=marker, label=name, gid=name
            )
    ax["rates"].axhline(config.decay, color=INK, lw=0.8, ls="--", label="decay", gid="decay")
    ax["rates"].set(
        xlabel="direction", ylabel="rate of growth", ylim=(0, None), title="at the start"
    )
    name_lines(ax["rates"])
    legend(ax["rates"], loc="upper right")
    ratio = result.ratio()
    ax["ratio"].plot(
        result.steps + 1, ratio, color=TABLE if config.alike == 0 else LAYER, gid="meaning"
    )
    ax["ratio"].axhline(1, color=MUTED, lw=0.8, ls=":")
    ax["ratio"].set(
        ylim=(0, 1.15), xlabel="iteration + 1", ylabel=RATIO, title=f"ends at {ratio[-1]:.2f}"
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


def ending(result: Result) -> tuple[float, str, str]:
    """(shade, sign, words) of a run for a cell: the ratio of distances at the end; the smaller, the darker."""
    ratio = float(result.ratio()[-1])
    return (
        max(0.0, 1 - ratio),
        f"{ratio:.2f}",
        f"distance within over between groups {ratio:.2f} at the end",
    )


def _against_m(runs: Sequence[Result], read) -> tuple[list, np.ndarray]:
    """(the numbers of occurrences, (seeds, numbers) of read(run))."""
    found = {(r.config.seed, r.config.m): read(r) for r in runs}
    times, seeds = (sorted({key[i] for key in found}) for i in (1, 0))
    return times, np.array([[found[s, m] for m in times] for s in seeds])


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
        told.append(
            f"{name} {values[:, 0].mean():.2f} at m = {times[0]}, {values[:, -1].mean():.2f} at {times[-1]}"
        )
    for by in ("meaning", "looks"):
        times, values = _against_m(crossed, lambda r, by=by: r.ratio(by)[-1])
        band(right, times, values, color=KINDS[by][0], label=f"by {by}", gid=by)
        told.append(
            f"looks that mislead, by {by} {values[:, 0].mean():.2f}, then {values[:, -1].mean():.2f}"
        )
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
        + "; ".join(told)
        + ".",
    )


def over_time(table: Sequence[Result], layer: Sequence[Result]) -> Picture:
    """The distance ratio over training for several numbers of occurrences: of a table (left) and of a layer (right)."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.2, sharey=True)
    told = []
    for ax, title, runs in ((left, "table", table), (right, "layer", layer)):
        for k, name in enumerate(dict.fromkeys(_times(r) for r in runs)):
            mine = [r for r in runs if _times(r) == name]
            values = np.array([r.ratio() for r in mine])
            band(
                ax,
                mine[0].steps + 1,
                values,
                color=(colour(1), colour(4), colour(2), INK)[k % 4],
                label=name,
                gid=name,
            )
            told.append(
                f"{title}, {name}: least {values.min(1).mean():.2f}, at the end {values[:, -1].mean():.2f}"
            )
        ax.axhline(1, color=MUTED, lw=0.8, ls=":")
        ax.set(xlabel="iteration + 1", title=title, ylim=(0, 1.2))
        log_axis(ax)
    left.set_ylabel(RATIO)
    legend(left, loc="lower left")
    return Picture(
        fig, "Distance within over between groups without decay. " + "; ".join(told) + "."
    )


def _times(result: Result) -> str:
    return f"m = {result.config.m}" if result.config.sampled else "endless"
