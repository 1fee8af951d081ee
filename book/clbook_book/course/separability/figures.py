"""Figures of the chapter "When do clusters separate?"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patheffects import withStroke

from clbook import augment, theory
from clbook.experiments.separability.condition import Check
from clbook.experiments.separability.experiment import VIEWS, Config, Result, dataset
from clbook.explore import Cell
from clbook.explore.static import thinned
from clbook.style import INK, MUTED, Picture, axes, colour, legend, log_axis, mosaic, needs, so_far
from clbook.training.loop import shared_times
from clbook.training.streams import stream

MARK = "#111111"
MOST_PATHS = 30  # of a class: more lines of one colour cover each other


def _limits(z):
    low, high = float(z.min()), float(z.max())
    pad = 0.06 * max(high - low, 1e-9)
    return low - pad, high + pad


def _paths(ax, result, *, title=None, unit=1.0):
    """Trajectories of a 1-D embedding, in units of `unit`, over iteration + 1, and the first separable iteration.

    Of a class of many points some have a line: evenly chosen in their order at the end, from the lowest to the highest.
    """
    time = result.steps + 1
    z = result.z / unit
    for k in np.unique(result.labels):
        paths = z[:, result.labels == k, 0].T
        in_order = np.argsort(paths[:, -1])
        even = np.linspace(0, len(paths) - 1, min(len(paths), MOST_PATHS))
        paths = paths[in_order[even.round().astype(int)]]
        lines = [np.column_stack([time, path]) for path in paths]
        alpha = 0.75 if k == 0 else 0.45
        bundle = LineCollection(lines, colors=colour(k), linewidths=0.7, alpha=alpha)
        bundle.set_gid(f"class {k}")
        ax.add_collection(bundle)
    _separation(ax, result)
    log_axis(ax)
    ax.set(xlim=(1, time[-1] * 1.05), ylim=_limits(z), xlabel="iteration, from 1", title=title)


def _separation(ax, result, **look):
    """A line at the first separable iteration, if there is one, on an axis of iteration + 1."""
    if result.separable_at is not None:
        ax.axvline(result.separable_at + 1, color=MARK, lw=1.2, **look)


def when(result: Result) -> str:
    """The iteration at which a run separated, or "> 4,000" of one of 4,000. Iteration 0, its start, is one too."""
    at = result.separable_at
    return f"> {result.config.steps:,}" if at is None else str(at)


def times(results: Sequence[Result]) -> str:
    """The iterations at which some runs separated."""
    return ", ".join(when(result) for result in results)


def _ended(result, now):
    """Whether the run had come to its end by iteration `now`; one that was stopped never does."""
    return now >= result.steps[-1] and not result.stopped


def when_separable(result, now=np.inf):
    """What is known at iteration `now` of when a run becomes separable."""
    at = result.separable_at
    if at is not None and at <= now:
        return f"separable from iteration {at}"
    return "not separable within this run" if _ended(result, now) else "not separable yet"


def _short(result, now=np.inf):
    """`when_separable` in few words."""
    at = result.separable_at
    if at is not None and at <= now:
        return f"separable at {at}"
    return "not within this run" if _ended(result, now) else "not yet"


def ending(result: Result) -> Cell:
    """(shade, sign, words) of a run for a cell: when its classes become separable; the sooner, the darker."""
    at, steps = result.separable_at, result.config.steps
    if at is None:
        return Cell(0.0, "–", f"not separable within {steps:,} iterations")
    log_time = np.log(max(at, 1))
    log_end = np.log(max(steps, 2))
    return Cell(min(1.0, 2 - 2 * log_time / log_end), str(at), f"separable at iteration {at}")


def _strip(ax, z, labels, limits):
    """The embedding at one time, on the same vertical axis as the trajectories; aside, the points have no order.

    All classes share one strip: only their height can tell them apart.
    """
    numbers = np.arange(len(labels))
    aside = numbers * 0.618 % 1  # golden-ratio spacing keeps neighbours apart
    for k in np.unique(labels):
        mine = labels == k
        dots = ax.scatter(aside[mine], z[mine, 0], s=9, color=colour(k), linewidths=0)
        dots.set_gid(f"class {k} now")
    ax.set(xlim=(-0.15, 1.15), ylim=limits, xticks=[], xlabel="all points")
    ax.tick_params(labelleft=False)


def _numbers(config):
    return f"eps = {config.eps:g}, tau = {config.tau:g}"


def trajectories(result: Result, frame: int = -1) -> Picture:
    """All points' paths (left) and the embedding at one recorded time (right), in units of eps, each run on its scale.

    Of an embedding in several dimensions the first is shown. The axes have a fixed place: they stand still from run to
    run.
    """
    place = {"left": 0.1, "right": 0.985, "bottom": 0.16, "top": 0.91, "wspace": 0.07}
    fig, ((left, right),) = axes(2, width=7.2, height=3.3, width_ratios=(3, 1), gridspec_kw=place)
    fig.set_layout_engine("none")
    config = result.config
    now = int(result.steps[frame])
    z = result.z[frame]
    known = when_separable(result, now)
    first = f" (coordinate 1 of {config.d})" if config.d > 1 else ""
    label = rf"embedding{first} $z_i\,/\,\varepsilon$"
    unit = np.float64(config.eps)  # float32 would round the smallest eps to 0
    if unit == 0:
        # All start in one point.
        unit = 1.0
        label = f"embedding{first} $z_i$"
    _paths(left, result, title=known, unit=unit)
    so_far(left, now + 1)
    left.set_ylabel(label)
    left.locator_params(axis="y", nbins=5)
    _strip(right, z / unit, result.labels, left.get_ylim())
    left.set_xlim(1, 1.05 * (config.steps + 1))
    for ax in (left, right):
        ax.set_gid("own scale")
    right.set_title(f"iteration {now}")
    return Picture(
        fig,
        f"Trajectories of {config.n} embedded points{first}, {_numbers(config)}: "
        f"{known}. At iteration {now} the embedding spans "
        f"{np.ptp(z):.3g}.",
    )


def views(config: Config, count: int = 60) -> Picture:
    """The data in the plane (left), and `count` views of one point of each class: turned (middle), noisy (right)."""
    x, labels = dataset(config)
    draws = stream(config.seed, VIEWS)
    kinds = {
        "input": None,
        "views: rotation": lambda point: augment.rotation(point, draws),
        "views: noise": lambda point: augment.noise(point, config.noise, draws),
    }
    fig, (row,) = axes(len(kinds), width=7.8, height=3.2, sharex=True, sharey=True)
    for ax, (title, view) in zip(row, kinds.items(), strict=True):
        alpha = 0.3 if view else 1
        for k in range(config.classes):
            points = x[labels == k]
            look = {"s": 10, "color": colour(k), "linewidths": 0}
            name = f"class {k}"
            ax.scatter(*points.T, alpha=alpha, gid=name, label=name, **look)
            if view:
                same = points[:1].expand(count, -1)
                ax.scatter(*view(same).T, gid=f"views {k}", **look)
                ring = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.4}
                ax.scatter(*points[0], s=60, zorder=3, **ring)
        ax.set(aspect="equal", title=title, xlabel="$x_1$")
    row[0].set_ylabel("$x_2$")
    fig.legend(
        *row[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=config.classes,
        frameon=False,
        fontsize=9,
    )
    return Picture(
        fig,
        f"{config.n} points in the plane ({config.data}) and {count} views of one point of each class. "
        "Turned views go round the origin at the point's own radius; noisy ones, of standard "
        f"deviation {config.noise:g}, stay around the point.",
    )


def panels(results: Sequence[Result], titles: Sequence[str]) -> Picture:
    """Trajectories of several runs side by side, each with its own scale."""
    count = len(results)
    fig, (row,) = axes(count, width=2.6 * count, height=2.7)
    said = []
    for ax, result, title in zip(row, results, titles, strict=True):
        _paths(ax, result, title=f"{title}\n{_short(result)}")
        said.append(f"{title}: {when_separable(result)}")
    row[0].set_ylabel("embedding $z_i$")
    return Picture(fig, "; ".join(said) + ".")


def _median_times(check, epses, taus):
    """(len(epses), len(taus)) median iterations to separate over the seeds; inf where the median run never does."""
    until = np.where(check.separated, check.steps, np.inf)
    times = np.empty((len(epses), len(taus)))
    for i, eps in enumerate(epses):
        for j, tau in enumerate(taus):
            times[i, j] = np.median(until[(check.eps == eps) & (check.tau == tau)])
    return times


def _map_of_times(ax, times, epses, taus):
    """`times` as colours on a logarithmic scale, each with its number; returns the image."""
    finite = np.where(np.isfinite(times), times, np.nan)
    image = ax.imshow(np.log10(finite), origin="lower", aspect="auto", cmap="viridis_r")
    middle = (np.nanmin(finite) * np.nanmax(finite)) ** 0.5
    for (i, j), value in np.ndenumerate(times):
        ink, rim = ("white", INK) if middle < value < np.inf else (INK, "white")
        said = ax.text(
            j,
            i,
            f"{value:.0f}" if np.isfinite(value) else "–",
            ha="center",
            va="center",
            fontsize=8,
            color=ink,
            zorder=4,
        )
        said.set_path_effects([withStroke(linewidth=2.5, foreground=rim)])
    ax.set(
        xlabel=r"$\tau$",
        ylabel=r"$\varepsilon$",
        title="iterations to separate, median of the seeds",
    )
    ax.set_xticks(range(len(taus)), labels=[f"{tau:g}" for tau in taus])
    ax.set_yticks(range(len(epses)), labels=[f"{eps:g}" for eps in epses])
    ax.grid(False)
    return image


def _level_lines(ax, epses, taus, level=10.0):
    """Where eps^2/tau and eps^3/tau equal `level`, on the axes of `_map_of_times`."""
    columns = np.arange(len(taus))
    rows = np.arange(len(epses))
    log_level = np.log10(level) + np.log10(taus)
    for power, line in ((2, "-"), (3, "--")):
        heights = np.interp(log_level / power, np.log10(epses), rows, left=np.nan, right=np.nan)
        label = rf"$\varepsilon^{power}/\tau = {level:g}$"
        ax.plot(columns, heights, line, color=colour(1), lw=1.6, label=label)
    legend(ax, loc="upper left", bbox_to_anchor=(0.0, -0.14), ncols=2)


def _times_by_group(ax, check, power):
    """Times of all runs against eps^power/tau; returns the factor by which the best increasing function misses them."""
    group = check.eps**power / check.tau
    done = check.separated
    for seed in np.unique(check.seed):
        mine = done & (check.seed == seed)
        name = f"seed {seed}"
        ax.scatter(
            group[mine],
            check.steps[mine],
            s=14,
            color=colour(seed),
            label=name,
            gid=name,
        )
    others = group[~done]
    late = 2 * check.steps[done].max()
    heights = np.full(len(others), late)
    ax.scatter(others, heights, s=18, marker="x", color=MUTED, label="not within the run")
    factor = check.misfit(group)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel=rf"$\varepsilon^{power}/\tau$",
        ylabel="iterations",
        title=f"typically off by {_off(factor)}",
    )
    return factor


def _off(factor):
    """How far off a factor is: near 1 as per cent, beyond 2 as it is."""
    more = 100 * (factor - 1)
    if factor > 2:
        return f"a factor of {factor:.1f}"
    return f"{more:.0f}%" if more >= 1 else f"{more:.1g}%"


def phase_diagram(check: Check, epses: Sequence[float], taus: Sequence[float]) -> Picture:
    """Median time to separation over eps and tau (left); all times against both groups of eps and tau (right)."""
    fig, ax = mosaic(
        [["map", "square"], ["map", "cube"]], width=7.6, height=4.6, width_ratios=(1.3, 1)
    )
    image = _map_of_times(ax["map"], _median_times(check, epses, taus), epses, taus)
    _level_lines(ax["map"], epses, taus)
    fig.colorbar(image, ax=ax["map"], label=r"$\log_{10}$ of iterations", location="top")
    square = _times_by_group(ax["square"], check, 2)
    cube = _times_by_group(ax["cube"], check, 3)
    tight = {
        "handletextpad": 0,
        "labelspacing": 0.2,
        "columnspacing": 0.2,
        "borderaxespad": 0.1,
        "borderpad": 0,
    }
    legend(ax["square"], loc="upper left", fontsize=8, ncols=2, **tight)
    mixed = np.sum(~check.separated)
    return Picture(
        fig,
        "Time to separation over eps and tau, and against both groups: an increasing function of "
        f"eps^2/tau misses the times by a factor {square:.2f}; an increasing function of eps^3/tau "
        f"misses the times by a factor {cube:.2f}. "
        f"{mixed} of {len(check.separated)} runs ended before.",
    )


def condition(check: Check) -> Picture:
    """Both sides of condition (e), with the kernel's measured drift and without."""
    fig, (row,) = axes(2, width=7.6, height=3.4, sharex=True, sharey=True)
    ratios = {r"$\delta = 0$": check.ratio_frozen, r"$\delta(T)$ as measured": check.ratio}
    text = []
    for ax, (name, ratio) in zip(row, ratios.items(), strict=True):
        left = check.left
        right = left / ratio
        done = check.separated
        ax.scatter(
            right[done], left[done], s=18, color=colour(0), label="separated", gid="separated"
        )
        late = "not within the run"
        ax.scatter(
            right[~done], left[~done], s=18, color=colour(1), label=late, gid=late, marker="x"
        )
        span = [min(left.min(), right.min()), left.max()]
        ax.plot(span, span, color=MUTED, lw=1, ls="--")
        auc = f"AUC {check.auc(ratio):.2f}"
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="right side of (e)",
            title=f"{name}: {auc}",
        )
        (tn, _), (_, tp) = check.confusion(ratio)
        text.append(f"ratio > 1 is right in {tp + tn} of {len(ratio)} runs, {auc}")
    row[0].set_ylabel("left side of (e)")
    legend(row[0], loc="lower right")
    return Picture(
        fig, f"Condition (e). With delta = 0: {text[0]}. With the measured drift: {text[1]}."
    )


def gap_and_spread(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """(T,) distance of the two class means, and (T,) the larger of the two classes' widths, of a 1-D embedding."""
    first = result.z[:, result.labels == 0, 0]
    second = result.z[:, result.labels == 1, 0]
    gap = np.abs(first.mean(1) - second.mean(1))
    return gap, np.maximum(*[np.ptp(z, axis=1) for z in (first, second)])


@needs("theta")
def race(results: Sequence[Result]) -> Picture:
    """The gap between two classes, their width and the room sqrt(tau) over training, a panel for each run.

    Dotted: how the gap grows in the linear phase, by the measured Theta at the start.
    """
    fig, (row,) = axes(len(results), width=7.8, height=3.6, sharey=True)
    said = [_raced(ax, result) for ax, result in zip(row, results, strict=True)]
    top = 100 * max(np.sqrt(result.config.tau) for result in results)
    row[0].set(ylabel="distance in the embedding", ylim=(1e-4, top))
    legend(row[0], loc="lower right")
    return Picture(
        fig, f"The gap of two clusters and their width over training. {'. '.join(said)}."
    )


def _raced(ax, result):
    """One panel of `race`; returns what it shows in words."""
    config = result.config
    time = result.steps + 1
    gap, spread = gap_and_spread(result)
    room = np.sqrt(config.tau)
    ax.axhspan(room, 100 * room, color=MARK, alpha=0.08, lw=0)
    ax.axhline(room, color=MARK, lw=1, ls="--")
    width = "width of a class"
    ax.plot(time, spread, color=colour(7), label=width, gid=width)
    ax.plot(time, gap, color=INK, lw=2.2, label="gap between them", gid="gap")
    linear = _linear_phase(result, gap[0])
    shown = np.where(linear < 3 * room, linear, np.nan)
    ax.plot(time, shown, ":", color=INK, gid="linear phase")
    _separation(ax, result)
    log_axis(ax, axis="xy")
    title = f"{_setting(config)}\n{_short(result)}"
    ax.set(xlabel="iteration, from 1", title=title, xlim=(1, time[-1]))
    ax.text(1.2, 1.15 * room, r"beyond $\sqrt{\tau}$: the push fades", fontsize=9, va="bottom")
    return (
        f"{_numbers(config)}: the gap starts at {gap[0]:.2g}, the width of a class at {spread[0]:.2g}, and the "
        f"room is {room:.2g}; {when_separable(result)}"
    )


def _linear_phase(result, gap):
    """(T,) how the gap, so large at the start, grows while theory is linear."""
    config = result.config
    rate = theory.growth_rate(result.theta[0], config.tau, config.gradient)
    return gap * np.exp(np.minimum(rate * config.lr * result.steps, 50))


def _setting(config):
    return rf"$\varepsilon$ = {config.eps:g}, $\tau$ = {config.tau:g}"


def kernel_story(result: Result) -> Picture:
    """Trajectories and block scores on one time axis, above the kernel matrices at six recorded times."""
    chosen = thinned(len(result.steps), 6)
    times = result.steps[chosen]
    names = [f"kernel {t}" for t in times]
    half = len(names)
    above = ["paths"] * half + ["score"] * half
    below = [name for name in names for _ in range(2)]
    fig, ax = mosaic([above, below], width=max(7.2, 1.5 * half), height=4.7, height_ratios=(1.4, 1))
    paths = ax["paths"]
    score = ax["score"]
    known = when_separable(result)
    _paths(paths, result, title=known)
    paths.set_ylabel("embedding $z_i$")
    score.plot(
        result.steps + 1,
        result.alignment,
        color=colour(2),
        label="alignment with the labels",
        gid="alignment",
    )
    _separation(score, result, label="first separable")
    for t in times:
        score.axvline(t + 1, color=MUTED, lw=0.8, ls=":")
    score.set(
        xscale="log", xlabel="iteration, from 1", ylim=(0, 1.05), title="block score of $K(t)$"
    )
    legend(score, loc="center left")
    for name, k in zip(names, chosen, strict=True):
        panel = ax[name]
        kernel = result.kernel[k]
        scale = np.abs(kernel).max()
        panel.imshow(kernel, cmap="RdBu_r", vmin=-scale, vmax=scale)
        panel.set(xticks=[], yticks=[], title=f"$K({result.steps[k]})$: {result.alignment[k]:.2f}")
        panel.grid(False)
    return Picture(
        fig,
        f"The embedding is {known}. The kernel's alignment with the labels goes from "
        f"{result.alignment[0]:.2f} at the start to {result.alignment[-1]:.2f} at iteration "
        f"{result.steps[-1]}.",
    )


def side_by_side(pair: dict, frame: int = -1) -> Picture:
    """The same start with and without the network at one iteration."""
    fig, (row,) = axes(4, width=7.9, height=3.0, width_ratios=(2, 1, 2, 1))
    times = shared_times(pair)
    now = int(times[frame])
    end = times[-1] + 1
    network = pair["network"]
    vanilla = pair["vanilla"]
    for (left, right), result, name in (
        (row[:2], network, "through the network"),
        (row[2:], vanilla, "each point by itself"),
    ):
        _paths(left, result, title=f"{name}\n{_short(result, now)}")
        so_far(left, now + 1)
        left.set(xscale="linear", xlim=(1, end))  # the lines cross late in the run
        _strip(right, result.z[frame], result.labels, left.get_ylim())
        right.set_title(f"iteration {now}")
    row[0].set_ylabel("embedding $z_i$")
    return Picture(
        fig,
        f"Iteration {now}, {_numbers(vanilla.config)}. Through the network: "
        f"{when_separable(network, now)}; each point by itself: {when_separable(vanilla, now)}.",
    )
