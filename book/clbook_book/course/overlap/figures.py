"""Figures of the section on overlapping views."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.collections import LineCollection

from clbook.experiments.overlap.experiment import (
    RING,
    WIDTHS,
    Config,
    Result,
    curves,
    pairs,
    pieces,
    points,
)
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
    stand_aside,
)
from clbook_book.course.drawing import bare, by_class, square

CIRCLE = np.linspace(0, 2 * np.pi, 73)
TICKS = (2, 5, 10, 20, 45, 90, 180, 360)
ROOM = 0.2  # for the legend above the curves, in heights of these
LIFT = 0.24  # width of the rings of all classes together
EDGE = 1.3  # of what is seen of a circle
ISLAND = 0.84  # radius at which the islands are drawn
SHORTER = 1.5  # degrees by which their ends are cut
# Tables, in colours that no class of the ring has.
SHUFFLED, RANDOM = colour(7), colour(9)
LOOKS = {
    "sorted": (INK, "sorted"),
    "exchanged": (colour(4), "two classes\nexchanged"),
    "shuffled": (SHUFFLED, "points\nshuffled"),
}


def _stage(ax, title):
    ax.plot(np.cos(CIRCLE), np.sin(CIRCLE), color=MUTED, lw=0.6, gid="circle")
    square(ax, EDGE)
    bare(ax)
    ax.set_title(title, fontsize=9)


def _data(ax, result: Result):
    """Data points, each in the middle of the arc of its views; neighbours on rings of their own."""
    _stage(ax, f"data and views\nislands: {result.islands}")
    config = result.config
    turn = np.radians(result.x)
    each = config.n // config.classes
    radius = 1 + LIFT * (np.arange(len(turn)) % each) / each
    arc = turn[:, None] + np.radians(config.width) * np.linspace(-0.5, 0.5, 41)
    for k in np.unique(result.labels):
        mine = result.labels == k
        radii = radius[mine]
        arcs = arc[mine]
        rings = radii[:, None] * np.stack([np.cos(arcs), np.sin(arcs)])
        line = np.pad(rings, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan).reshape(2, -1)
        ax.plot(*line, color=colour(k), lw=1.2, alpha=0.6, gid=f"views {k}")
        across = radii * np.cos(turn[mine])
        up = radii * np.sin(turn[mine])
        ax.scatter(across, up, s=20, color=colour(k), linewidths=0, zorder=3, gid=f"class {k}")
    _islands(ax, result)


def _islands(ax, result: Result):
    """A line inside the circle along each island."""
    angles = _along_islands(result)
    across = ISLAND * np.cos(angles)
    up = ISLAND * np.sin(angles)
    ax.plot(across, up, color=MUTED, lw=3, solid_capstyle="butt", gid="islands")


def _along_islands(result: Result) -> np.ndarray:
    """Angles from the first view of each island to its last, with NaN behind each island.

    They are a little shorter, so that islands that all but touch are seen apart.
    """
    x = result.x
    width = result.config.width
    gaps = np.diff(x, append=x[0] + RING)
    ends = np.flatnonzero(gaps >= width)  # points after which an island ends
    if len(ends) == 0:
        return CIRCLE
    begins = (np.roll(ends, 1) + 1) % len(x)
    first = x[begins] - width / 2 + SHORTER
    length = (x[ends] - x[begins]) % RING + width - 2 * SHORTER
    arcs = np.radians(first[:, None] + length[:, None] * np.linspace(0, 1, 41))
    return np.hstack([arcs, np.full((len(ends), 1), np.nan)]).flatten()


def _embedding(ax, result: Result, frame: int, title: str):
    """Data points where the encoder puts them; strokes join neighbours on the ring that share views."""
    z = result.z[frame]
    labels = result.labels
    _stage(ax, f"{title}\nloss {result.loss[frame]:.2f}, readout {result.accuracy(frame):.0%}")
    if z.shape[1] != 2:
        z = z @ plane(z)
    z = z * (1 + LIFT * labels / result.config.classes)[:, None]
    numbers = np.arange(len(z))
    following = np.roll(numbers, -1)
    strokes = np.stack([z, z[following]], 1)[result.shares[numbers, following] > 0]
    look = {"colors": MUTED, "linewidths": 0.7, "alpha": 0.7}
    ax.add_collection(LineCollection(strokes, zorder=1, gid="share views", **look))
    by_class(ax, z, labels, 30)


def maps(runs: dict) -> Picture:
    """The data with their views, two trained tables, and below the loss of tables against the width of the views."""
    circles = ["data", "random", "trained"]
    fig, ax = mosaic([circles, ["loss"] * 3], width=7.8, height=6.0, height_ratios=(1.05, 1))
    shuffled, random = runs["shuffled"], runs["random"]
    config = random.config
    _data(ax["data"], shuffled)
    _embedding(ax["random"], random, -1, "random start, trained")
    _embedding(ax["trained"], shuffled, -1, "shuffled, then trained")
    found = curves(config.replace(width=WIDTHS[0], start="sorted"))
    for name, (tone, label) in LOOKS.items():
        ax["loss"].plot(
            WIDTHS,
            found[name],
            color=tone,
            label=label,
            gid=name,
            ls="--" if name == "exchanged" else "-",
        )
    ax["loss"].axvline(config.width, ymax=1 / (1 + ROOM), color=MUTED, lw=1, ls=":", gid="width")
    for name, run, tone, marker in (
        ("random start, trained", random, RANDOM, "o"),
        ("shuffled, then trained", shuffled, SHUFFLED, "x"),
    ):
        ax["loss"].scatter(
            [config.width],
            run.loss[-1:],
            color=tone,
            marker=marker,
            s=50,
            zorder=3,
            label=name,
            gid=f"end, {name}",
        )
    ax["loss"].set(xlabel="width of the views, degrees", ylabel="loss")
    log_axis(ax["loss"], TICKS)
    low, high = ax["loss"].get_ylim()
    ax["loss"].set_ylim(low, high + ROOM * (high - low))
    name_lines(ax["loss"], 24)
    legend(ax["loss"], loc="upper left")
    stand_aside(fig)
    data = (
        f"Views {config.width:g} degrees wide at tau = {config.tau:g}: the {config.n} data points "
        f"form {shuffled.islands} islands."
    )
    tables = (
        f"Loss of the sorted table {runs['sorted'].loss[0]:.3f}, of the shuffled one "
        f"{shuffled.loss[0]:.3f}."
    )
    trained = (
        f"Trained from a random table the loss ends at {random.loss[-1]:.3f} and the readout is "
        f"right on {random.accuracy():.0%}."
    )
    return Picture(fig, f"{data} {tables} {trained}")


def beginning(result: Result) -> Picture:
    """The data with their views, and where the encoder has the data points at the start."""
    fig, ((data, start),) = axes(2, width=5.6, height=2.7)
    _data(data, result)
    _embedding(start, result, 0, "the table at the start")
    for ax in (data, start):
        ax.title.set_fontsize(11)
    config = result.config
    right = f"{result.accuracy(0):.0%}"
    alt = (
        f"Left, {config.n} data points in {config.classes} colours on a ring, each in the middle of an arc of views "
        f"{config.width:g} degrees wide; grey arcs mark {result.islands} islands. Right, the same points where the "
        f"table has them at the start: the readout is right on {right}."
    )
    return Picture(fig, alt)


def graph(config: Config) -> Picture:
    """Pieces of the ring (above) and what the loss sees of them: the first class's part of the matrix A.

    Above, a bar for each data point of the first class: the interval of its views, cut into pieces. Below, the
    probability that two views of one random data point lie in two pieces.
    """
    x, labels = points(config)
    chances, _ = pieces(config)
    together, _ = pairs(chances)
    mine = np.flatnonzero(labels.numpy() == 0)
    places = x[mine].numpy()
    p = chances[mine].numpy()
    seen = np.flatnonzero(p.sum(0) > 0)
    p = p[:, seen]
    A = together[seen][:, seen].numpy()
    fig, ((arcs,), (matrix,)) = axes(1, 2, width=6.4, height=6.4, height_ratios=(1, 2.6))
    _intervals(arcs, config, places, _ends(config, places, p))
    _matrix(matrix, A)
    shared = np.sum((p > 0).sum(0) > 1)
    empty = np.sum(A == 0)
    views = (
        f"{len(mine)} data points of one class, each with an interval of views "
        f"{config.width:g} degrees wide."
    )
    cut = f"They cut the ring into {len(seen)} pieces, of which {shared} belong to several points."
    below = (
        f"Below, the matrix A of these pieces, a {len(seen)} by {len(seen)} table with {empty} "
        f"zeros, where no data point has views in both pieces. Its entries sum to {A.sum():.3f}."
    )
    return Picture(fig, f"{views} {cut} {below}")


def _intervals(arcs, config, places, ends):
    """The interval of views of each data point, and the pieces between `ends` by their names."""
    count = len(places)
    for i, place in enumerate(places):
        left, right = place - config.width / 2, place + config.width / 2
        arcs.plot(
            [left, right],
            [i, i],
            color=MUTED,
            lw=6,
            solid_capstyle="butt",
            gid=f"views of {i + 1}",
        )
        arcs.plot([place], [i], "o", color=INK, ms=5)
    for edge in ends:
        arcs.axvline(edge, color=MUTED, lw=0.8, ls=":")
    for k, (begin, end) in enumerate(itertools.pairwise(ends)):
        arcs.text((begin + end) / 2, count - 0.4, _name(k), ha="center", va="bottom")
    arcs.set(
        yticks=range(count),
        ylim=(-0.6, count - 0.4),
        xlabel="angle on the ring, degrees",
    )
    arcs.set_yticklabels([f"point {i + 1}" for i in range(count)])
    arcs.grid(False)


def _matrix(matrix, A):
    """The matrix A of the pieces as a table, in per cent."""
    names = [_name(k) for k in range(len(A))]
    matrix.imshow(A, cmap="Blues", vmin=0, vmax=1.3 * A.max(), gid="A")
    for (v, u), value in np.ndenumerate(A):
        share = f"{100 * value:.1f}" if value > 0 else "0"
        matrix.text(u, v, share, ha="center", va="center")
    numbers = range(len(A))
    matrix.set_xticks(numbers, names)
    matrix.set_yticks(numbers, names)
    matrix.tick_params(length=0)
    matrix.grid(False)
    matrix.set_title("$A_{vu}$: two views of one point lie in $v$ and $u$, per cent")


def _name(k):
    """What piece number k is called, counted from 0."""
    return f"$v_{{{k + 1}}}$"


def _ends(config, x, p):
    """(c + 1,) where the pieces that the data points x see begin and end, from their chances p (n, c)."""
    length = p.max(0) * config.width  # a view is even on its interval
    start = x.min() - config.width / 2
    return start + np.concatenate([[0], np.cumsum(length)])


def ending(runs: dict) -> Cell:
    """(shade, sign, words) of a run for a cell: readout after training from random entries; the better, the darker."""
    right = runs["random"].accuracy()
    return Cell(right, f"{right:.0%}", f"readout {right:.0%} after training from random entries")


def each_has_its_own(result: Result) -> bool:
    """Whether every data point has views that no other has."""
    return bool((result.chances[:, (result.chances > 0).sum(0) == 1].sum(1) > 0).all())


def _by_seed(runs: list[Result], seeds, widths, read) -> np.ndarray:
    """(seeds, widths) read(run) of each run."""
    found = {(r.config.seed, r.config.width): read(r) for r in runs}
    return np.array([[found[seed, width] for width in widths] for seed in seeds])


def against_width(
    sorted_runs: list[Result], extended: list[Result], random: list[Result]
) -> Picture:
    """What shuffling costs at the least (left) and what training from random tables finds (right), over widths.

    The first is drawn as long as every data point has views of its own, which keep it where the shuffle put it.

    Args:
        sorted_runs: trained from sorted tables. extended: trained from shuffled ones where only shared pieces move.
        random: trained from random tables. All at the same widths and seeds.
    """
    widths = list(dict.fromkeys(r.config.width for r in random))
    seeds = list(dict.fromkeys(r.config.seed for r in random))

    def values(runs, read):
        return _by_seed(runs, seeds, widths, read)

    def end(run):
        return run.loss[-1]

    fig, ((left, right),) = axes(2, width=7.8, height=3.2)
    best = values(sorted_runs, end)
    least = values(extended, end)
    ends = values(random, end)
    least = np.where(values(extended, each_has_its_own).all(0), least, np.nan)
    accuracy = values(random, Result.accuracy)
    near = values(random, Result.neighbours)
    band(
        left,
        widths,
        least - best,
        color=SHUFFLED,
        label="shuffled, best extension",
        gid="shuffled",
    )
    band(left, widths, ends - best, color=RANDOM, label="random start, trained", gid="random")
    band(right, widths, accuracy, color=RANDOM, label="readout of the class", gid="readout")
    band(right, widths, near, color=colour(6), label="neighbours kept", gid="neighbours")
    right.axhline(1 / random[0].config.classes, color=MUTED, lw=0.8, ls=":")
    left.set_ylabel("loss above the sorted minimum")
    right.set_ylabel("share, trained from a random table")
    ticks = [tick for tick in TICKS if min(widths) <= tick <= min(max(widths), RING)]
    for ax in (left, right):
        ax.set_xlabel("width of the views, degrees")
        log_axis(ax, ticks)
    right.set(ylim=(0, 1.05))
    legend(left, loc="lower left")
    legend(right, loc="lower center")
    costs, hits = (least - best).mean(0), accuracy.mean(0)
    told = []
    for width, cost, hit in zip(widths, costs, hits, strict=True):
        words = f"{width:g} degrees: {hit:.0%}"
        if not np.isnan(cost):
            words += f" (shuffling costs {cost:.2f})"
        told.append(words)
    return Picture(
        fig,
        f"Mean over {len(seeds)} seeds of the readout after training from a random table, by width "
        f"of the views: {'; '.join(told)}.",
    )
