"""Figures of the chapter "The neural kernel"."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.collections import LineCollection

from clbook import kernels
from clbook.experiments.kernel.experiment import Result
from clbook.explore import Cell
from clbook.metrics import r2
from clbook.style import (
    INK,
    MUTED,
    Picture,
    axes,
    colour,
    legend,
    log_axis,
    mosaic,
    name_lines,
    needs,
    so_far,
)
from clbook_book.course.drawing import arrows, between_classes, by_class
from clbook_book.course.separability.figures import when_separable

FLOW_NAMES = {
    "network": "through the network",
    "radius": "a network seeing $|x|$",
    "vanilla": "each point by itself",
}
MOST_CELLS = 64  # a side of the picture of a kernel
SHORT_NAMES = {"network": "network", "radius": "sees $|x|$", "vanilla": "by itself"}


def _fit(ax, *points):
    """Equal axes around all points, with a margin."""
    points = np.concatenate([p.reshape(-1, 2) for p in points])
    half = 0.56 * max(np.ptp(points, axis=0).max(), 1e-9)
    x, y = (points.min(0) + points.max(0)) / 2
    ax.set(
        xlim=(x - half, x + half),
        ylim=(y - half, y + half),
        aspect="equal",
        xlabel="$z^1$",
        ylabel="$z^2$",
    )
    ax.locator_params(nbins=4)


def _means(values, labels):
    """The mean of the values (n, d) over each class, (classes, d)."""
    return np.array([values[labels == k].mean(0) for k in np.unique(labels)])


def orbits(flows: dict) -> Picture:
    """Where three flows end, points joined to their copies, and how far these come apart over time."""
    names = list(flows)
    fig, ax = mosaic([names[:2], [*names[2:], "spread"]], width=5.7, height=5.0)
    spread = ax["spread"]
    text = []
    for i, (name, run) in enumerate(flows.items()):
        panel = ax[name]
        z = run.z[-1]
        copies = run.copies[-1]
        for k in np.unique(run.labels):
            paths = copies[:, run.labels == k].swapaxes(0, 1)
            tracks = LineCollection(paths, colors=colour(k), linewidths=0.8, alpha=0.7)
            tracks.set_gid(f"{name}, orbits of class {k}")
            panel.add_collection(tracks)
        by_class(panel, z, run.labels, 9)
        _fit(panel, z, copies)
        panel.set_title(FLOW_NAMES[name])
        spread.plot(
            run.steps + 1,
            np.maximum(run.spread, 1e-18),
            color=colour(i + 3),
            ls=("-", "--", ":")[i],
            lw=2,
            label=SHORT_NAMES[name],
            gid=name,
        )
        end = f"distance to a copy {run.spread[-1]:.1e}, points moved {run.moved[-1]:.2g}"
        text.append(f"{FLOW_NAMES[name]}: {end}")
    log_axis(spread, axis="xy")
    spread.set(
        xlabel="iteration, from 1", ylim=(3e-19, 30), title="distance to a copy (0 at $10^{-18}$)"
    )
    name_lines(spread)
    return Picture(
        fig,
        f"Iteration {run.steps[-1]}, views turned by up to {run.config.angle:g} degrees. {'; '.join(text)}.",
    )


@needs("measured", "mean", "gain")
def velocities(result: Result, frame: int = 0) -> Picture:
    """Velocities of all points with VA Theorem 4.5's for their clusters (left), and the clusters' speeds (right)."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.3, width_ratios=(1.15, 1))
    z = result.z[frame]
    moved = result.measured[frame]
    predicted = result.mean[frame]
    fastest = np.linalg.norm([moved, predicted], axis=2).max()
    scale = 0.3 * np.ptp(z) / fastest
    one_place = result.config.start == "smooth"
    width, of_clusters = (0.02, 0.007) if one_place else (0.003, 0.011)
    tones = [colour(k) for k in result.labels]
    steps = scale * moved
    arrows(left, z, steps, color=tones, width=width, gid="measured")
    middle = _means(z, result.labels)
    mean = scale * _means(predicted, result.labels)
    arrows(left, middle, mean, color=INK, width=of_clusters, zorder=5, gid="predicted")
    _fit(left, z, z + steps, middle + mean)
    left.set(gid="own scale", title="measured (coloured), predicted (plain)")
    measured = result.speeds("measured", frame)
    expected = result.speeds("mean", frame)
    place = np.arange(len(measured))
    tones = [colour(k) for k in place]
    right.scatter(place, measured, s=90, color=tones, linewidths=0, gid="measured")
    ring = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.4}
    right.scatter(place, expected, s=220, gid="predicted", **ring)
    both = np.concatenate([measured, expected])
    low, high = both.min(), both.max()
    limits = (0, 1.2 * high)
    if one_place:
        log_axis(right, axis="y")
        limits = (0.5 * low, 2 * high)
    error = result.error("mean", frame)
    right.set(
        xticks=place,
        xlim=(-0.6, len(place) - 0.4),
        ylabel="speed of the cluster",
        ylim=limits,
        title=f"error of the predicted velocity: {error:.1%}",
    )
    sizes = [str(round(s * result.config.n)) for s in result.share]
    right.set_xticklabels([f"{size}\npoints" for size in sizes])
    return Picture(
        fig,
        f"Centres along the {result.config.centres}, clusters of {', '.join(sizes)} points. Measured "
        f"speeds {_listed(measured)}, predicted {_listed(expected)}; error over all points "
        f"{error:.1%}.",
    )


def _listed(speeds):
    return ", ".join(f"{v:.2g}" for v in speeds)


@needs("measured")
def behind(result: Result) -> Cell:
    """(shade, sign, words) of a run of `velocities` for a cell: the last cluster's speed over the fastest other's."""
    *others, last = result.speeds()
    share = float(last / max(others))
    sign = f"{share:.2f}"
    return Cell(
        min(1.0, share), sign, f"the shrinking cluster has {sign} of the fastest other's speed"
    )


def lines(x, curves, *, xlabel, ylabel, slope) -> Picture:
    """Logarithmic plot of named errors (len(x), ...): medians over the seeds, and the seeds as faint dots."""
    fig, ((ax,),) = axes(width=6.6, height=3.5)
    text = []
    starts = []
    for i, (name, values) in enumerate(curves.items()):
        values = np.asarray(values).reshape(len(x), -1)
        middle = np.median(values, axis=1)
        first, last = middle[0], middle[-1]
        starts.append(first)
        power, _ = np.polyfit(np.log(x), np.log(middle), 1)
        found = f"slope {power:.2f}"
        tone = colour(i)
        ax.plot(x, middle, color=tone, marker="o", ms=4, label=f"{name}: {found}", gid=name)
        ax.plot(x, values, ".", color=tone, alpha=0.25, ms=3)
        text.append(f"{name}: from {first:.2g} to {last:.2g}, {found}")
    law = 0.6 * starts[0] * (np.asarray(x) / x[0]) ** slope
    ax.plot(x, law, color=MUTED, ls="--", lw=1, label=f"slope {slope:g}")
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Picture(fig, f"{ylabel.capitalize()} over {xlabel}. {'; '.join(text)}.")


BLOCKS = ("kernel", "alignment", "theta", "sigma2")


@needs(*BLOCKS)
def blocks(result, frame: int = -1) -> Picture:
    """The kernel at one recorded time, its top eigenvector on the data, and the block scores over training.

    result: of `separability.run`, with the quantities `BLOCKS`.
    """
    fig, ax = mosaic(
        [["kernel", "plane"], ["kernel", "scores"]],
        width=7.2,
        height=4.2,
        height_ratios=(1.25, 1),
    )
    now = int(result.steps[frame])
    K = result.kernel[frame]
    labels = result.labels
    vector, share = kernels.top_eigenvector(K, labels)
    means = _means(vector, labels)
    vector = vector * np.sign(means[1] - means[0])
    _matrix(ax["kernel"], K, labels, result.config.data == "donut")
    ax["kernel"].set_title(f"$K({now})$: a push on $j$ moves $i$")
    _pattern(ax["plane"], result.x, vector)
    ax["plane"].set_title(f"top eigenvector: {share:.0%} class")
    _scores(ax["scores"], result, now)
    i = int(np.searchsorted(result.steps, now))
    alignment = result.alignment[i]
    ratio = result.theta[i] / result.sigma2[i]
    told = (
        f"{result.config.data}, {result.config.activation}, iteration {now}: alignment "
        f"{alignment:.2f}, Fisher ratio {ratio:.2g}, top eigenvector {share:.0%} class"
    )
    linear = linear_share(result.x, vector)
    return Picture(
        fig,
        f"{told}; {when_separable(result, now)}. A plane through the data predicts "
        f"{linear:.0%} of the eigenvector.",
    )


def linear_share(x, vector) -> float:
    """R^2 of the best linear function of the positions x (n, 2) for a pattern (n,) on the points."""
    (share,) = r2(np.asarray(vector)[:, None], np.asarray(x))
    return float(share)


def _matrix(ax, K, labels, donut):
    """The kernel as cells, red positive and blue negative, the points in the order of their classes.

    Of many points one of two or three is shown: the blocks look the same, and cells stay large enough to be seen.
    """
    every = math.ceil(len(K) / MOST_CELLS)
    labels = labels[::every]
    cells = (K / np.abs(K).max())[::every, ::every]
    ax.imshow(cells, cmap="RdBu_r", vmin=-1, vmax=1, gid="cells of K, largest = 1")
    between_classes(ax, labels, 0.8)
    classes, first = np.unique(labels, return_index=True)
    middle = (first + np.append(first[1:], len(labels))) / 2
    names = ("disc", "ring") if donut else [f"class {k}" for k in classes]
    ax.set_xticks(middle, names)
    ax.set_yticks(middle, names, rotation=90, va="center")
    ax.tick_params(length=0)
    some = "" if every == 1 else f", one of {every}"
    ax.set(xlabel=f"point $j${some}", ylabel=f"point $i${some}")
    ax.grid(False)


def _pattern(ax, x, vector):
    """The data in the plane, each point in the colour of its entry: red positive, blue negative, 0 white."""
    ax.scatter(
        *np.asarray(x).T,
        s=30,
        c=vector / np.abs(vector).max(),
        cmap="RdBu_r",
        vmin=-1,
        vmax=1,
        edgecolors=INK,
        linewidths=0.5,
        gid="entry of the eigenvector, largest = 1",
    )
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    ax.locator_params(nbins=5)


def _scores(ax, result, now):
    """Alignment and Fisher ratio up to iteration `now`, and when the classes were separable."""
    ratio = result.theta / result.sigma2
    time = result.steps + 1
    ax.plot(time, result.alignment, color=colour(2), label="alignment", gid="alignment")
    ax.plot(time, ratio, color=colour(4), ls="--", label="Fisher ratio", gid="fisher")
    at = result.separable_at
    if at is not None:
        ax.axvline(at + 1, color=INK, lw=1.3)
        above = ax.get_xaxis_transform()
        reached = at <= now
        ax.text(
            at + 1,
            1.03,
            "separable",
            visible=reached,
            transform=above,
            ha="center",
            va="bottom",
            fontsize=9,
        )
    so_far(ax, now + 1)
    both = np.stack([result.alignment, ratio])
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="iteration, from 1",
        ylim=(0.5 * both.min(), 2 * both.max()),
    )
    ax.set_title(result.config.activation, loc="left")
    ax.set_ylabel("value", visible=False)  # the two curves are not of one quantity
    name_lines(ax, 18)
