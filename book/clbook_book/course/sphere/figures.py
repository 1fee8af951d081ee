"""Figures of the chapter "Embeddings on the sphere"."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection

from clbook import theory
from clbook.experiments.sphere.experiment import TURNS
from clbook.explore import Cell
from clbook.style import (
    INK,
    MUTED,
    Picture,
    axes,
    colour,
    legend,
    mosaic,
    name_lines,
    needs,
    so_far,
    stand_aside,
)
from clbook.training.loop import shared_times
from clbook_book.course.drawing import bare, square

RING = np.linspace(0, 2 * np.pi, 73)
NETWORK, VANILLA = colour(7), colour(8)
# The camera: degrees to the side of e_1, and (in radians) above the equator.
AZIMUTH, TILT = 30.0, np.radians(20)
LIFT = 0.35  # width of the band in which points of the circle are drawn, at radii without a meaning
ANGLES = np.arange(0, 360, 360 // TURNS)  # degrees: views around the sphere, a full turn in all
ARROW = 0.45  # length of the longest arrow of a row, in radii of the sphere


def _seen(points: np.ndarray, azimuth: float) -> tuple[np.ndarray, np.ndarray]:
    """(screen (..., 2), depth (...)) of points (..., d) seen from afar; points in the plane are seen as they are."""
    if points.shape[-1] == 2:
        return points, np.zeros(points.shape[:-1])
    x, y, z = np.moveaxis(points, -1, 0)
    towards, right = _rotated(x, y, np.radians(azimuth))
    depth, up = _rotated(towards, z, TILT)
    return np.stack([right, up], -1), depth


def _rotated(x, y, angle):
    """The coordinates (x, y) of axes that are turned by the angle."""
    c = np.cos(angle)
    s = np.sin(angle)
    return x * c + y * s, y * c - x * s


def _stage(ax, d, azimuth, title):
    """An empty circle, or a sphere with the front of its equator and of two meridians."""
    c = np.cos(RING)
    s = np.sin(RING)
    ax.plot(c, s, color=MUTED, lw=0.8)
    if d == 3:
        zero = np.zeros_like(RING)
        for curve in ((c, s, zero), (c, zero, s), (zero, c, s)):
            screen, depth = _seen(np.stack(curve, -1), azimuth)
            front = np.where((depth >= 0)[:, None], screen, np.nan)
            ax.plot(*front.T, color=MUTED, lw=0.5, alpha=0.6)
    square(ax, 1.45 if d == 2 else 1.15)
    bare(ax)
    ax.set_title(title or "", pad=2)  # nearer to its own sphere than to the one above


def _points(ax, z, labels, arrows, azimuth=AZIMUTH):
    """Points z (n, d), a colour a class; on the sphere those behind are pale. Arrows are strokes from the dots."""
    screen, depth = _seen(z, azimuth)
    heads, _ = _seen(z + arrows, azimuth)
    ax.add_collection(
        LineCollection(
            np.stack([screen, heads], 1),
            linewidths=0.8,
            alpha=0.6,
            colors=[colour(k) for k in labels],
            zorder=1,
            gid="_arrows",  # enlarged for the eye: no numbers that a reader would want
        )
    )
    for k in np.unique(labels):
        for front in (False, True):
            mine = (labels == k) & ((depth >= -1e-9) == front)
            if mine.any():
                ax.plot(
                    *screen[mine].T,
                    "o",
                    ms=3.5,
                    mew=0,
                    color=colour(k),
                    alpha=1 if front else 0.25,
                    zorder=1,
                    gid=f"class {k}" + ("" if front else ", behind"),
                )  # a scatter takes three times as long


def _embedding(ax, result, i, azimuth=AZIMUTH, title=None):
    """One recorded time; arrows have one scale for the whole run, so that they shrink where it comes to rest.

    On the circle points stand at any radius of a band, else the last ones drawn would hide the others.
    """
    d = result.config.d
    _stage(ax, d, azimuth, title or f"iteration {result.steps[i]}")
    scale = ARROW / max(np.linalg.norm(result.arrows, axis=2).max(), 1e-12)
    z = result.z[i]
    if d == 2:
        radius = 1 + LIFT * (0.618 * np.arange(len(z)) % 1)
        z = radius[:, None] * z
    _points(ax, z, result.labels, scale * result.arrows[i], azimuth)


def _says(result, now=np.inf):
    """What is known at iteration `now` of when a run has clusters."""
    at = result.clustered_at
    if at is not None and at <= now:
        return f"clusters at iteration {at}"
    return "no clusters within this run" if now >= result.steps[-1] else "no clusters yet"


@needs("clustered_at")
def ending(pair: dict) -> Cell:
    """(shade, sign, words) of a run for a cell: when the network's clusters are apart; the sooner, the darker."""
    network = pair["network"]
    at, steps = network.clustered_at, network.config.steps
    if at is None:
        return Cell(0.0, "–", f"no clusters within {steps:,} iterations")
    return Cell(1 - np.log(max(at, 1)) / np.log(steps), str(at), f"clusters at iteration {at}")


def _setting(config):
    place = "Circle" if config.d == 2 else "Sphere"
    return f"{place}, {config.depth} hidden layer(s), {config.start} start"


def story(pair: dict, network_times, vanilla_times, azimuth: float = AZIMUTH) -> Picture:
    """Input, and both flows at the recorded iterations nearest to chosen ones, as the rows of VA Fig. 5 and 6."""
    columns, network, vanilla = range(len(network_times)), pair["network"], pair["vanilla"]
    fig, ax = mosaic(
        [
            ["input" for _ in columns],
            [f"network{j}" for j in columns],
            [f"vanilla{j}" for j in columns],
        ],
        width=7.8,
        height=4.9,
        height_ratios=(0.6, 1, 1),
    )
    ax["input"].scatter(
        *network.x[:, :2].T,
        s=7,
        color=[colour(k) for k in network.labels],
        linewidths=0,
        gid="input",
    )
    ax["input"].set(
        xlabel="$x_1$",
        ylabel="$x_2$",
        aspect="equal",
        title="input",
        ylim=(-0.6, 0.6),
        yticks=[-0.5, 0, 0.5],
    )
    for name, result, times in (
        ("network", network, network_times),
        ("vanilla", vanilla, vanilla_times),
    ):
        for j, t in enumerate(times):
            _embedding(ax[f"{name}{j}"], result, int(np.abs(result.steps - t).argmin()), azimuth)
        ax[f"{name}0"].set_ylabel(name)
    if network.config.d == 2:
        stand_aside(fig)
    side = f", seen from {azimuth:.0f} degrees" if network.config.d == 3 else ""
    return Picture(
        fig,
        f"{_setting(network.config)}{side}. Top row, the input. Middle row, through the network: "
        f"{_says(network)}. Bottom row, each point by itself: {_says(vanilla)}, and ends at loss "
        f"{vanilla.loss[-1]:.3f}.",
    )


SNAPSHOT = ("arrows", "loss", "accuracy", "clustered_at")  # what `snapshot` and `story` draw


@needs(*SNAPSHOT)
def snapshot(pair: dict, frame: int = -1) -> Picture:
    """Both flows at one recorded time (left, middle), and loss and neighbour accuracy over time (right)."""
    fig, ax = mosaic([["n", "v", "a"], ["n", "v", "l"]], width=8.4, height=3.0)
    now = int(shared_times(pair)[frame])
    network = pair["network"]
    vanilla = pair["vanilla"]
    config = network.config
    above, below = ax["a"], ax["l"]
    for name, title, tone, result in (
        ("n", "network", NETWORK, network),
        ("v", "vanilla", VANILLA, vanilla),
    ):
        _embedding(ax[name], result, frame, title=f"{title}, iteration {now}\n{_says(result, now)}")
        time = result.steps + 1
        above.plot(time, result.accuracy, color=tone, label=title)
        below.plot(time, result.loss, color=tone, label=title)
    below.axhline(theory.simplified_plateau(config.tau, config.d), color=MUTED, lw=0.8, ls="--")
    for curves, label in ((above, "10-NN accuracy"), (below, "loss")):
        so_far(curves, now + 1)
        curves.set(xscale="log", ylabel=label)
        curves.minorticks_off()
    below.set_xlabel("iteration, from 1")
    above.set(ylim=(0, 1.05), yticks=(0, 0.5, 1))
    for curves in (above, below):
        name_lines(curves)
    if config.d == 2:
        stand_aside(fig)
    settings = (
        f"{_setting(config)}, {config.classes} clusters, tau = {config.tau:g}, lr = {config.lr:g}"
    )
    accuracy = (
        f"{network.accuracy[frame]:.2f} through the network, {vanilla.accuracy[frame]:.2f} point "
        "by point"
    )
    return Picture(fig, f"{settings}, iteration {now}: 10-nearest-neighbour accuracy {accuracy}.")


@needs(*SNAPSHOT)
def turned(pair: dict, frame: int = 0) -> Picture:
    """`story` at recorded times from the first to the last, seen from the angle number `frame`."""
    recorded = shared_times(pair)
    times = recorded[np.linspace(0, len(recorded) - 1, 5).round().astype(int)]
    return story(pair, times, times, float(ANGLES[frame]))


def first_step(pair: dict, scores) -> Picture:
    """The cap on the sphere seen from the front, a tenth of its points: the gradient, and each flow's first step.

    `scores`: coherence within the clusters of the gradient, of the network's first step and of the vanilla one.
    """
    fig, (row,) = axes(3, width=7.8, height=3.2)
    network = pair["network"]
    vanilla = pair["vanilla"]
    front = network.z[0, :, 1:]
    moves = (network.arrows[0], network.z[1] - network.z[0], vanilla.z[1] - vanilla.z[0])
    names = "negative gradient, both", "first step, network", "first step, vanilla"
    told = []
    for ax, move, name, score in zip(row, moves, names, scores, strict=True):
        shown = 0.07 * move / np.linalg.norm(move, axis=1).mean()
        # One point in ten: strokes of all of them would hide each other.
        _points(ax, front[::10], network.labels[::10], shown[::10, 1:])
        square(ax, 0.28, title=f"{name}\ncoherence {score:.2f}", xlabel="$z^2$")
        told.append(f"{name}: coherence within a cluster {score:.2f}")
    row[0].set_ylabel("$z^3$")
    return Picture(fig, "; ".join(told) + ".")


def thresholds(rows) -> Picture:
    """Accuracy at the end and largest reach over lr times sharpness / 2, runs from uniform starts.

    rows: (name, lr times sharpness / 2, accuracy at the end, largest reach) of each run.
    """
    fig, ((left, right),) = axes(2, width=7.6, height=3.2, sharex=True)
    for k, name in enumerate(dict.fromkeys(row[0] for row in rows)):
        mine = np.array([row[1:] for row in rows if row[0] == name])
        for ax, column in ((left, 1), (right, 2)):
            ax.scatter(
                mine[:, 0],
                mine[:, column],
                s=22,
                color=colour(k),
                marker="os^D"[k % 4],
                label=name,
                gid=name,
            )
    for ax in (left, right):
        ax.axvline(1, color=INK, lw=0.8, ls="--")
        ax.set(xscale="log", xlabel=r"lr $\lambda_{\max}$ / 2")
        ax.minorticks_off()
    left.set(ylim=(0, 1.05), ylabel="10-NN accuracy at the end")
    right.set(yscale="log", ylabel="largest reach")
    right.axhline(1, color=MUTED, lw=0.8, ls=":")
    legend(right, loc="lower right", handletextpad=0.1, borderaxespad=0.2)
    below = [accuracy >= 0.95 for _, over, accuracy, _ in rows if over < 1]
    above = [accuracy >= 0.95 for _, over, accuracy, _ in rows if not over < 1]
    return Picture(
        fig,
        f"Runs from a uniform start. Below lr = 2 / lambda {sum(below)} of {len(below)} end in "
        f"clusters, above it {sum(above)} of {len(above)}.",
    )
