"""Figures of the chapter "The loss forgets the data"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clbook import theory
from clbook.experiments.landscape.experiment import Result
from clbook.experiments.landscape.maps import Maps
from clbook.explore import Cell
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
    stand_aside,
)
from clbook_book.course import drawing
from clbook_book.course.drawing import bare, by_class, square
from clbook_book.course.landscape.descent import Result as Descended
from clbook_book.course.landscape.quiz import Result as Quiz
from clbook_book.course.landscape.shuffle import Shuffle

CIRCLE = np.linspace(0, 2 * np.pi, 200)
EQ1, EQ3, MARK = colour(0), colour(1), colour(2)
PARTNER, OTHER = colour(2), colour(4)
DOTTED = {"lw": 0.8, "ls": ":"}
RING = {"facecolors": "none", "zorder": 3}  # around the configuration that the sliders hold


def _power(value):
    digits, power = f"{value:.1e}".split("e")
    return rf"${digits} \cdot 10^{{{int(power)}}}$" if value else "0"


def _over_places(ax):
    log_axis(ax, (1, 2, 4, 8, 16, 32, 64))
    ax.set(xlabel="places $K$", xlim=(0.9, 70))


def _over_gaps(ax):
    """From places far apart to close ones."""
    log_axis(ax, (4, 1, 0.3, 0.1, 0.03, 0.01))
    ax.set(xlabel="smallest squared distance", xlim=(4.6, 0.008))


def _curve(ax, x, y, ink, name, **look):
    ax.plot(x, y, ".-", color=ink, gid=name, **{"ms": 4, "label": name, **look})


def _circle(ax, limit=1.25, title=None):
    ax.plot(np.cos(CIRCLE), np.sin(CIRCLE), color=MUTED, lw=0.8)
    square(ax, limit, title=title)
    bare(ax)


def _spread_copies(z, step=0.07):
    """Points z (n, 2) with the copies of a place pushed outwards one behind the other, so that each can be seen."""
    keys = [tuple(np.round(p, 9)) for p in z]
    before = [keys[:i].count(key) for i, key in enumerate(keys)]
    return z * (1 + step * np.array(before)[:, None])


def forgetting(maps: Maps) -> Picture:
    """The data (left) and four invariant maps to the circle, coloured by class, each with its loss and readout."""
    fig, ax = mosaic(
        [["data", "0", "1"], ["data", "2", "3"]], width=9.2, height=5.6, width_ratios=(1.15, 1, 1)
    )
    plane = maps.x[:, :2]
    loss = maps.losses["NT-Xent, eq. 1"]
    by_class(ax["data"], plane, maps.labels, 14)
    for k in np.unique(maps.labels):
        x, y = plane[maps.labels == k].mean(0)
        ax["data"].text(x, y - 0.4, f"class {k}", color=colour(k), ha="center", va="top")
    ax["data"].set(
        xlabel="$x_1$",
        ylabel="$x_2$",
        aspect="equal",
        title="the data",
        ylim=(-0.75, 1.45),
    )
    text = []
    for i, name in enumerate(maps.names):
        # Copies of a place stand outwards.
        limit, size = (1.75, 13) if "three" in name else (1.25, 18)
        panel = ax[str(i)]
        readout = f"{maps.accuracy[i]:.0%}"
        _circle(panel, limit, f"{name}\nloss {loss[i]:.4f}, readout {readout}")
        by_class(panel, _spread_copies(maps.z[i], 0.017), maps.labels, size, f"{name}, ")
        said = f"accuracy of the nearest class centre {readout}"
        text.append(f"{name}: loss {loss[i]:.6f}, {said}")
    stand_aside(fig)
    return Picture(
        fig,
        "Three clusters in the plane and four invariant maps of them to the circle. "
        f"{'; '.join(text)}.",
    )


def two_orders(shuffle: Shuffle, result: Result) -> Picture:
    """The same places given out by class and at random, with loss and readout; the loss of up to so many places."""
    K = result.config.clusters
    tau = result.config.tau
    fig, ((left, right, curve),) = axes(3, width=9.2, height=3.3, width_ratios=(1, 1, 1.2))
    places = shuffle.places(K)
    n = len(shuffle.labels)
    copy = np.arange(n) % (n // K)
    turn = 2.4 * copy
    direction = np.stack([np.cos(turn), np.sin(turn)], 1)
    away = 0.055 * np.sqrt(copy + 0.5)
    beside = away[:, None] * direction
    said = []
    for ax, order, name in ((left, np.arange(n), "by class"), (right, shuffle.order, "shuffled")):
        loss = shuffle.loss(places[order], tau)
        readout = shuffle.readout(places[order])
        found = f"loss {loss:.4f}, readout {readout:.0%}"
        _circle(ax, 1.75, f"{name}\n{found}")
        by_class(ax, (places + beside)[order], shuffle.labels, 11, f"{name}, ")
        said.append(f"{name}: {found}")
    uniform = shuffle.uniform(tau)
    curve.axhline(uniform, color=INK, lw=1.2, ls="--", label="uniform")
    counts = [k for k in shuffle.counts if k <= K]  # more places are for the reader to find out
    losses = [shuffle.loss(shuffle.places(k), tau) for k in counts]
    curve.plot(counts, losses, ".-", color=INK, ms=4, gid="loss")
    here = shuffle.loss(places, tau)
    curve.scatter([K], [here], s=60, edgecolors=INK, linewidths=1.4, gid="these places", **RING)
    log_axis(curve, (1, 3, 6, 12, 24, 60, 120))
    curve.set(
        xlabel="places $K$",
        ylabel="loss",
        xlim=(0.8, 1.2 * n),
        ylim=(-0.03, 1.15),
        title=f"$\\tau$ = {tau:g}",
    )
    name_lines(curve)
    stand_aside(fig)
    return Picture(
        fig,
        f"{n} points of three classes at K = {K} even places, tau = {tau:g}. "
        f"{'; '.join(said)}. The uniform distribution has {uniform:.4f}.",
    )


def descending(result: Descended) -> Picture:
    """The two circles before the points are let go, and the loss on their way down."""
    fig, ((left, right, curve),) = axes(3, width=8.6, height=3.0, width_ratios=(1, 1, 1.3))
    n = result.config.n
    K = result.config.places
    begin, end = result.loss[[0, -1]]
    even = result.even[0]
    tones = [colour(k) for k in result.labels]
    band = 0.618 * np.arange(n) % 1  # points are drawn in it, so that each can be seen
    radius = 1 + 0.25 * band[:, None]
    starts = {"sorted by class": result.sorted[0], "shuffled": result.shuffled[0]}
    for ax, (name, z) in zip((left, right), starts.items(), strict=True):
        _circle(ax, 1.4, name)
        x, y = (radius * z[:, :2]).T
        ax.scatter(x, y, s=12, c=tones, linewidths=0, gid=name)
    curve.plot(
        result.steps + 1,
        result.loss,
        color=INK,
        gid="loss",
        label="loss of both",
    )
    curve.axhline(even, color=INK, lw=1.2, ls=":", label="even spread")
    curve.set(
        xscale="log",
        xlabel="iteration, from 1",
        ylabel="loss",
        ylim=(-0.05, 1.15),
    )
    name_lines(curve)
    return Picture(
        fig,
        f"Two circles with the same {n} points at K = {K} places: in the left one each of three colours keeps "
        f"together, in the right one they are mixed. Beside them the loss, the same for both: while the points "
        f"move it falls from {begin:.2f} to {end:.2f}; an even spread has {even:.2f}.",
    )


def quiz(result: Quiz) -> Picture:
    """The anchor and its twelve views on the circle (left), and how likely each of them is picked (right)."""
    fig, ((circle, bars),) = axes(2, width=7.2, height=3.4, width_ratios=(1, 1.8))
    count = len(result.views)
    tau = result.config.tau
    rival = result.config.rival
    partner = result.chances[0]
    others = result.chances[1:]
    _circle(circle, 1.35)
    circle.scatter(*result.anchor, s=150, marker="*", color=INK, zorder=4, gid="anchor")
    circle.scatter(*result.views[:1].T, s=55, color=PARTNER, zorder=3, gid="partner")
    circle.scatter(*result.views[1:].T, s=55, color=OTHER, zorder=3, gid="negatives")
    beside = {"ha": "right", "va": "center", "fontsize": 10, "annotation_clip": False}
    circle.annotate("anchor", 0.9 * result.anchor, color=INK, **beside)
    circle.annotate("partner", 0.9 * result.views[0], color=PARTNER, **beside)
    order = np.argsort(-result.cosines, kind="stable")  # as in a row: the most similar first
    place = np.empty(count, int)
    place[order] = np.arange(count)
    bars.bar(place[1:], others, color=OTHER, label="a negative")
    bars.bar(place[:1], [partner], color=PARTNER, label="the partner")
    bars.axhline(1 / count, color=INK, lw=1, ls=":")
    bars.text(count - 0.5, 1 / count + 0.015, "guessing", ha="right", va="bottom")
    bars.set_xticks(range(count), [f"{c:.1f}" for c in result.cosines[order]])
    bars.set(
        xlabel="cosine with the anchor, one bar for each view",
        ylabel="picked with probability",
        xlim=(-0.6, count - 0.4),
        ylim=(0, 1),
        title=f"partner picked: {partner:.0%}, loss {result.loss:.2f}",
    )
    bars.grid(axis="x", visible=False)
    legend(bars, loc="upper right")
    views = (
        "Twelve views of which the partner is 30 degrees from the anchor and the nearest negative "
        f"{rival:g} degrees, at tau = {tau:g}."
    )
    picked = (
        f"The partner is picked with probability {partner:.3f}, the most likely negative with "
        f"{others.max():.3f}; the loss is {result.loss:.3f}."
    )
    return Picture(fig, f"{views} {picked} Guessing would be {1 / count:.3f}.")


def above(shuffle: Shuffle, result: Result) -> Cell:
    """(shade, sign, words) of a run of `two_orders` for a cell: its loss above the plateau; the less, the darker."""
    K = result.config.clusters
    tau = result.config.tau
    more = max(0.0, shuffle.loss(shuffle.places(K), tau) - shuffle.uniform(tau))
    sign = f"{more:.2f}"
    words = f"loss {sign} above that of the uniform distribution, in both orders"
    return Cell(max(0.0, 1 - more), sign, words)


def _spectrum(ax, result):
    """Eigenvalues in order, by whether they part copies or move whole places."""
    ax.axhline(0, color=MUTED, lw=1)
    kinds = ((result.split, 3, "parts copies"), (result.whole, 5, "moves whole places"))
    first = 1
    for values, k, name in kinds:
        directions = first + np.arange(len(values))
        ax.plot(directions, values, "o", ms=4.5, color=colour(k), label=name, gid=name)
        first += len(values)
    ax.set_xlabel("direction")


def _verdict(result):
    """In words: how many directions go down, and of which kind."""
    K = result.config.clusters
    m = result.config.copies
    down = result.negative(result.eigenvalues)
    whole = result.negative(result.whole)
    return (
        f"K = {K} places, m = {m}: {down} of {len(result.eigenvalues)} directions "
        f"go down, {whole} of those that move whole places; K(m - 1) = {K * (m - 1)}"
    )


def _thresholds(ax, result, ink, name, line_ink, line_name=None):
    """Measured thresholds against tau, and their line for small tau."""
    measured = result.thresholds
    tolerance = result.config.tolerance
    end = np.array([0, 1.05 * measured.taus.max()])
    ax.plot(end, theory.threshold_slope(tolerance) * end, color=line_ink, lw=1, label=line_name)
    gid = f"tolerance {tolerance:g}"
    ax.plot(measured.taus, measured.gaps, "o", ms=4.5, color=ink, label=name, gid=gid)
    ax.set(xlabel=r"$\tau$", ylim=(0, 3.3))


def three_panels(results: Sequence[Result], tolerances: Sequence[Result]) -> Picture:
    """LS Figure 2: loss against K and the gap, for `results` at several tau; the thresholds of each of `tolerances`."""
    fig, ((left, middle, right),) = axes(3, width=10.2, height=3.5)
    plateaus = []
    for k, result in enumerate(results):
        tone = colour(k)
        tau = f"{result.config.tau:g}"
        curves = result.curves
        left.axhline(curves.simclr_plateau, color=tone, **DOTTED)
        for ax, x in ((left, curves.counts), (middle, curves.distances)):
            _curve(ax, x, curves.simclr, tone, f"eq. 1, tau {tau}", label=tau, ms=3.5)
            ax.plot(x, curves.chosen, "--", lw=1, color=tone, gid=f"eq. 3, tau {tau}")
        plateaus.append(f"{curves.simclr_plateau:.5f} at tau {tau}")
    left.set(ylabel="loss", title="eq. 1 (solid), eq. 3 (dashed)")
    _over_places(left)
    legend(left, title=r"$\tau$", loc="upper right", ncols=2)
    middle.set_title("the same, against the gap")
    _over_gaps(middle)
    slopes = []
    for k, result in enumerate(tolerances):
        tolerance = result.config.tolerance
        _thresholds(right, result, colour(k), f"{tolerance:g}", colour(k))
        slopes.append(f"{theory.threshold_slope(tolerance):.2f} for {tolerance:g}")
    right.set_title("gap at the plateau")
    legend(right, title="tolerance", loc="upper left")
    return Picture(
        fig,
        f"Loss of K even points on the circle: falls with K to the plateaus {', '.join(plateaus)} (eq. 1). "
        "The gap at which the plateau is reached grows with tau, with slope by tolerance "
        f"{', '.join(slopes)}.",
    )


def threshold(result: Result) -> Picture:
    """Loss against the smallest squared distance with the threshold, and thresholds against tau, for one tolerance."""
    config = result.config
    curves = result.curves
    gap = result.thresholds.gap
    count = result.thresholds.count
    plateau = curves.simclr_plateau
    slope = theory.threshold_slope(config.tolerance)
    fig, ((left, right),) = axes(2, width=8.2, height=3.3)
    left.axhspan(plateau, (1 + config.tolerance) * plateau, color=MARK, alpha=0.25, lw=0)
    left.axhline(plateau, color=EQ1, **DOTTED)
    _curve(left, curves.distances, curves.simclr, EQ1, "eq. 1")
    left.axvline(gap, color=MARK, lw=1.2)
    _over_gaps(left)
    left.set(
        ylabel="loss", title=f"$\\tau$ = {config.tau:g}: plateau from $K$ = {count}, gap {gap:.3g}"
    )
    name_lines(left)
    _thresholds(right, result, EQ1, "measured", MUTED, f"slope {slope:.2f}\n(small $\\tau$)")
    right.scatter(
        [config.tau], [gap], s=70, edgecolors=MARK, linewidths=1.6, gid="this temperature", **RING
    )
    right.set(ylabel="threshold", title=f"tolerance {config.tolerance:g}")
    name_lines(right, 24)
    return Picture(
        fig,
        f"tau = {config.tau:g}, tolerance {config.tolerance:g}: {count} even points "
        f"reach the plateau {plateau:.5f}, with smallest squared distance {gap:.4g}. "
        f"Thresholds follow a line of slope {slope:.3g} while tau is small.",
    )


def indicator(result: Result) -> Picture:
    """Eq. 1 of K even places with the indicator on data points, on embedded points, and for one data point a place."""
    curves = result.curves
    fig, ((ax,),) = axes(width=6.0, height=3.2)
    ax.axhline(curves.simclr_plateau, color=MUTED, label="plateau", **DOTTED)
    _curve(ax, curves.counts, curves.simclr, EQ1, "indicator on data points, many copies", ms=5)
    _curve(
        ax,
        curves.counts,
        curves.embedded,
        colour(3),
        "indicator on embedded points (or one copy)",
        ms=5,
    )
    ax.set(ylabel="eq. 1", ylim=(-0.05, 1.2))
    _over_places(ax)
    legend(ax, loc="upper right")
    on_data = f"falls from {curves.simclr[0]:.4f} to {curves.simclr_plateau:.4f}"
    on_embedded = f"rises from {abs(curves.embedded[0]):.4f} to {curves.embedded[-1]:.4f}"
    return Picture(
        fig,
        f"Eq. 1 at tau = {result.config.tau:g} against K. Indicator on data points: {on_data}. "
        f"On embedded points: {on_embedded}.",
    )


def arrows(results: Sequence[Result], titles: Sequence[str]) -> Picture:
    """Points on the circle and the downhill direction of eq. 3 at each: straight out where nothing is to be gained."""
    count = len(results)
    fig, (row,) = axes(count, width=2.7 * count, height=3.0)
    said = []
    for ax, result, title in zip(row, results, titles, strict=True):
        z = result.z
        along = result.tangential.max()
        _circle(ax, 1.75, f"{title}\ntangential part {_power(along)}")
        downhill = -result.gradient
        length = np.linalg.norm(downhill, axis=1).max()
        step = downhill / length * 0.55 if length > 1e-12 else np.zeros_like(z)
        drawing.arrows(ax, z, step, width=0.012, color=EQ3)
        ax.scatter(*z.T, s=28, color=INK, zorder=3, linewidths=0, gid=title)
        said.append(f"{title}: largest tangential gradient {along:.1e}")
    return Picture(fig, f"Points on the circle with arrows downhill. {'; '.join(said)}.")


def spectra(results: Sequence[Result]) -> Picture:
    """Curvature in every direction at several numbers of places and copies."""
    count = len(results)
    fig, (row,) = axes(count, width=3.1 * count, height=3.1)
    for ax, result in zip(row, results, strict=True):
        _spectrum(ax, result)
        c = result.config
        down = result.negative(result.eigenvalues)
        ax.set_title(f"$K$ = {c.clusters}, $m$ = {c.copies}: {down} down")
    row[0].set_ylabel("curvature")
    legend(row[0], loc="center left")
    return Picture(fig, f"Eigenvalues of the Hessian. {'; '.join(map(_verdict, results))}.")


def measures(results: Sequence[Result], names: Sequence[str]) -> Picture:
    """Alignment and uniformity of configurations, each labelled with its loss (eq. 1)."""
    fig, ((ax,),) = axes(width=6.4, height=3.8)
    told = []
    for k, (result, name) in enumerate(zip(results, names, strict=True)):
        at = result.alignment, result.uniformity
        loss = f"{result.loss_mean:.3f}"
        ax.scatter(*at, s=45, color=INK, zorder=3, linewidths=0, gid=name)
        ax.annotate(
            f"{name}: {loss}",
            at,
            va="center",
            fontsize=9,
            xytext=(8, 5 if k % 2 else -5),
            textcoords="offset points",
        )
        measured = f"alignment {result.alignment:.3f}, uniformity {result.uniformity:.3f}"
        told.append(f"{name}: {measured}, loss {loss}")
    ax.set(
        xlabel="alignment (0: views agree)",
        ylabel="uniformity (lower: more even)",
        xlim=(-0.03, 1.75 * max(r.alignment for r in results)),
    )
    ax.margins(y=0.12)
    return Picture(fig, "; ".join(told) + ".")
