"""Figures of the chapter "Embeddings on the sphere"."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection

from clbook import theory
from clbook.figures.style import INK, MUTED, Picture, axes, colour, legend, mosaic

RING = np.linspace(0, 2 * np.pi, 73)
NETWORK, VANILLA = colour(7), colour(8)
AZIMUTH, TILT = 30.0, np.radians(20)  # the camera; degrees to the side of e_1, and above the equator
ARROW = 0.45  # length of the longest arrow of a row, in radii of the sphere


def _seen(points, azimuth):
    """(screen (..., 2), depth (...)) of points (..., d) seen from afar; points in the plane are seen as they are."""
    if points.shape[-1] == 2:
        return points, np.zeros(points.shape[:-1])
    a = np.radians(azimuth)
    x, y, z = np.moveaxis(points, -1, 0)
    towards, right = x * np.cos(a) + y * np.sin(a), y * np.cos(a) - x * np.sin(a)
    return (np.stack([right, z * np.cos(TILT) - towards * np.sin(TILT)], -1),
            towards * np.cos(TILT) + z * np.sin(TILT))


def _stage(ax, d, azimuth, title):
    """An empty circle, or a sphere with its equator and two meridians, hidden parts dotted."""
    ax.plot(np.cos(RING), np.sin(RING), color=MUTED, lw=0.8)
    if d == 3:
        c, s, zero = np.cos(RING), np.sin(RING), np.zeros_like(RING)
        for curve in ((c, s, zero), (c, zero, s), (zero, c, s)):
            screen, depth = _seen(np.stack(curve, -1), azimuth)
            for front, dashes in ((True, "-"), (False, ":")):
                shown = np.where(((depth >= 0) == front)[:, None], screen, np.nan)
                ax.plot(*shown.T, color=MUTED, lw=0.5, ls=dashes, alpha=0.6)
    ax.set(aspect="equal", xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), xticks=[], yticks=[], title=title)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def _points(ax, z, labels, azimuth=AZIMUTH, arrows=None, size=12):
    """Points z (n, d), a colour a class; on the sphere those behind are pale. Arrows are strokes that begin at the dots."""
    screen, depth = _seen(z, azimuth)
    if arrows is not None:
        tips = _seen(z + arrows, azimuth)[0]
        ax.add_collection(LineCollection(np.stack([screen, tips], 1), colors=INK, linewidths=0.6, alpha=0.7, gid="arrows"))
    for k in np.unique(labels):
        for front in (False, True):
            mine = (labels == k) & ((depth >= -1e-9) == front)
            if mine.any():
                ax.scatter(*screen[mine].T, s=size, color=colour(k), linewidths=0, alpha=1 if front else 0.25,
                           gid=f"class {k}" if front else f"class {k}, behind")


def _embedding(ax, result, i, *, azimuth=AZIMUTH, title=None):
    """One recorded time; arrows have one scale for the whole run, so that they shrink where it comes to rest."""
    _stage(ax, result.config.d, azimuth, title or f"iteration {result.steps[i]}")
    scale = ARROW / max(np.linalg.norm(result.arrows, axis=2).max(), 1e-12)
    _points(ax, result.z[i], result.labels, azimuth, scale * result.arrows[i])


def _input(ax, result):
    for k in np.unique(result.labels):
        ax.scatter(*result.x[result.labels == k, :2].T, s=7, color=colour(k), linewidths=0, gid=f"class {k}")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", title="input", ylim=(-0.8, 0.8))
    ax.set_yticks([-0.5, 0, 0.5])


def _says(result):
    return "never clusters" if result.clustered_at is None else f"clusters at iteration {result.clustered_at}"


def _setting(config):
    layers = f"{config.depth} hidden layer{'s' if config.depth > 1 else ''}"
    return f"{'circle' if config.d == 2 else 'sphere'}, {layers}, {config.start} start"


def story(pair, network_times, vanilla_times, azimuth=AZIMUTH) -> Picture:
    """Input, and both flows at chosen iterations, as the rows of VA Fig. 5 and 6; the nearest recorded ones are shown."""
    columns = len(network_times)
    fig, ax = mosaic([["x"] + [f"n{j}" for j in range(columns)], ["x"] + [f"v{j}" for j in range(columns)]],
                     width=10.2, height=3.9, width_ratios=[1.35] + [1] * columns)
    _input(ax["x"], pair.network)
    for name, result, times in (("n", pair.network, network_times), ("v", pair.vanilla, vanilla_times)):
        for j, t in enumerate(times):
            _embedding(ax[f"{name}{j}"], result, int(np.abs(result.steps - t).argmin()), azimuth=azimuth)
    ax["n0"].set_ylabel("network", color=NETWORK)
    ax["v0"].set_ylabel("vanilla", color=VANILLA)
    return Picture(fig, f"{_setting(pair.config)}. Top row, through the network: {_says(pair.network)}. Bottom row, each point "
                        f"by itself: {_says(pair.vanilla)}, and ends spread evenly at loss {pair.vanilla.loss[-1]:.3f}.")


def snapshot(pair, frame=-1) -> Picture:
    """Both flows at one recorded time (left, middle), and loss and neighbour accuracy over time (right)."""
    fig, ax = mosaic([["n", "v", "a"], ["n", "v", "l"]], width=9.0, height=3.3, width_ratios=(1, 1, 1.05))
    now = int(pair.steps[frame])
    for name, title, result in (("n", "through the network", pair.network), ("v", "each point by itself", pair.vanilla)):
        _embedding(ax[name], result, frame, title=f"{title}, iteration {now}\n{_says(result)}")
        tone = NETWORK if name == "n" else VANILLA
        ax["a"].plot(result.steps + 1, result.accuracy, color=tone, label="network" if name == "n" else "vanilla")
        ax["l"].plot(result.steps + 1, result.loss, color=tone)
    ax["l"].axhline(theory.simplified_plateau(pair.config.tau, pair.config.d), color=MUTED, lw=0.8, ls="--")
    for name, label in (("a", "10-NN accuracy"), ("l", "loss")):
        ax[name].axvline(now + 1, color=MUTED, lw=1, ls=":")
        ax[name].set(xscale="log", ylabel=label)
        ax[name].minorticks_off()
    ax["a"].set(ylim=(0, 1.05), xticklabels=[])
    ax["l"].set_xlabel("iteration + 1")
    legend(ax["a"], loc="center left")
    network, vanilla = pair.network.accuracy[frame], pair.vanilla.accuracy[frame]
    return Picture(fig, f"{_setting(pair.config)}, tau = {pair.config.tau:g}, {pair.config.classes} clusters, iteration {now}: "
                        f"10-nearest-neighbour accuracy {network:.2f} through the network, {vanilla:.2f} point by point.")


def turned(result, frame=0) -> Picture:
    """Both flows on the sphere at five recorded times each, seen from one angle."""
    angle, pair = float(result.angles[frame]), result.pair
    fig, grid = axes(5, 2, width=9.4, height=4.0)
    for row, run in zip(grid, (pair.network, pair.vanilla)):
        for ax, i in zip(row, np.linspace(0, len(run.steps) - 1, len(row)).round().astype(int)):
            _embedding(ax, run, i, azimuth=angle)
    grid[0][0].set_ylabel("network", color=NETWORK)
    grid[1][0].set_ylabel("vanilla", color=VANILLA)
    return Picture(fig, f"{_setting(pair.config)}, seen from {angle:.0f} degrees. Through the network: {_says(pair.network)}; "
                        f"each point by itself: {_says(pair.vanilla)}.")


def first_step(pair, scores) -> Picture:
    """The cap on the sphere seen from the front, with the arrows of the gradient and the way each flow goes at first.

    `scores`: coherence within the clusters of the gradient, of the network's first step and of the vanilla one.
    """
    fig, grid = axes(3, width=9.4, height=3.5, sharex=True, sharey=True)
    network, vanilla = pair.network, pair.vanilla
    moves = (network.arrows[0], network.z[1] - network.z[0], vanilla.z[1] - vanilla.z[0])
    names = ("negative gradient, both flows", "first step through the network", "first step of each point by itself")
    for ax, move, name, score in zip(grid[0], moves, names, scores):
        shown = 0.05 * move / np.linalg.norm(move, axis=1).mean()
        _points(ax, network.z[0, :, 1:], network.labels, arrows=shown[:, 1:], size=16)
        ax.set(aspect="equal", title=f"{name}\ncoherence {score:.2f}", xlabel="$z_2$")
    grid[0][0].set_ylabel("$z_3$")
    return Picture(fig, "; ".join(f"{name}: coherence within a cluster {score:.2f}" for name, score in zip(names, scores)) + ".")


def thresholds(rows) -> Picture:
    """Uniform starts: largest neighbour accuracy, and largest reach, against lr times sharpness / 2.

    `rows`: (name, x, accuracy, reach) of one run each.
    """
    fig, ((left, right),) = axes(2, width=8.6, height=3.4, sharex=True)
    names = list(dict.fromkeys(row[0] for row in rows))
    for k, name in enumerate(names):
        mine = np.array([row[1:] for row in rows if row[0] == name])
        for ax, column in ((left, 1), (right, 2)):
            ax.scatter(mine[:, 0], mine[:, column], s=22, color=colour(k), marker="os^D"[k % 4], label=name, gid=name)
    for ax in (left, right):
        ax.axvline(1, color=INK, lw=0.8, ls="--")
        ax.set(xscale="log", xlabel=r"lr $\lambda_{\max}$ / 2")
        ax.minorticks_off()
    left.set(ylim=(0, 1.05), ylabel="10-NN accuracy at the end")
    right.set(yscale="log", ylabel="largest reach")
    right.axhline(1, color=MUTED, lw=0.8, ls=":")
    legend(left, loc="lower right")
    below = [row for row in rows if row[1] < 1]
    above = [row for row in rows if row[1] >= 1]
    return Picture(fig, f"Runs from a uniform start. Of {len(below)} with a learning rate below 2 / lambda, "
                        f"{sum(row[2] >= 0.95 for row in below)} cluster; of {len(above)} above it, "
                        f"{sum(row[2] >= 0.95 for row in above)}.")
