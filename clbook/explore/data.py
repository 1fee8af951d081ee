"""The numbers behind a figure, taken from its artists: what a frame's CSV holds, and how far its axes must reach."""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress

import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.container import BarContainer
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver

from clbook.style import greek

SIGNS = {
    "|": "‖",
    ",": " ",
    "times": "×",
    "cdot": "·",
    "infty": "∞",
    "le": "≤",
    "ge": "≥",
    "ell": "ℓ",
    "sqrt": "√",
}


def plain(tex) -> str:
    """A label with formulas as text: r'mean $\\|z_i\\|$' is 'mean ‖z_i‖'."""

    def sign(found):
        name = found[1].removeprefix("var")
        with suppress(KeyError):
            return greek(name)
        return SIGNS.get(name, "" if re.match("math|text|left|right", name) else name)

    tex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)
    return " ".join(re.sub(r"[${}]", "", re.sub(r"\\([A-Za-z]+|.)", sign, tex)).split())


def panels(fig) -> list:
    """All axes of a figure, insets included."""
    return [ax for outer in fig.axes for ax in (outer, *outer.child_axes)]


def room(axis) -> tuple:
    """What decides how much room an axis takes: scale, label, the letters of its ticks and of those at its ends."""
    (low, high), at = sorted(axis.get_view_interval()), axis.get_majorticklocs()
    ticks = zip(at, axis.get_major_formatter().format_ticks(at), strict=True)
    letters = {
        (tick - low) / (high - low): len(text) for tick, text in ticks if low <= tick <= high
    }
    ends = [number for place, number in letters.items() if number > 1 and abs(place - 0.5) > 0.45]
    return (
        axis.get_scale(),
        axis.get_label_text(),
        max(letters.values(), default=0),
        ends * (axis.axis_name == "x"),
    )


def arrange(fig, known) -> None:
    """Place the axes: as `known` (a dict) has those of an earlier figure with equal surroundings, or by the engine."""
    axes = panels(
        fig
    )  # the engine takes longer than the drawing, and axes that stand still are easier to watch
    around = [
        (
            room(ax.xaxis),
            room(ax.yaxis),
            ax.get_visible(),
            [
                len(text.get_text())
                for text in ax.texts
                if getattr(text, "anncoords", "") == "axes fraction"
            ],
            [t.count("\n") + bool(t) for t in map(ax.get_title, ("left", "center", "right"))],
        )
        for ax in axes
    ]
    key = repr(
        (
            around,
            *fig.get_size_inches(),
            fig.get_suptitle(),
            fig.get_supxlabel(),
            fig.get_supylabel(),
        )
    )
    if key not in known:
        if fig.get_layout_engine() is not None:
            fig.get_layout_engine().execute(fig)
        known[key] = [ax.get_position(original=True).frozen() for ax in axes]
    fig.set_layout_engine("none")
    for ax, position in zip(axes, known[key], strict=True):
        ax.set_position(position, which="original")


def shown(ax) -> bool:
    """Whether an axes holds data: neither hidden, nor curved, nor a colour bar."""
    return ax.get_visible() and ax.name == "rectilinear" and ax.get_label() != "<colorbar>"


def numbers(ax, artist):
    """(kind, names of columns after x and y, columns) of an artist; None where it is not drawn in data coordinates."""
    if isinstance(artist, BarContainer):
        boxes, k = (
            np.array([bar.get_bbox().get_points() for bar in artist.patches]),
            artist.orientation == "vertical",
        )
        boxes[:, 1, 1 - k] = boxes[:, :, 1 - k].mean(1)
        return "bars", ("from" if k else "start",), (*boxes[:, 1].T, boxes[:, 0, int(k)])
    if isinstance(artist, AxesImage):
        values, (left, right, *ends) = artist.get_array(), artist.get_extent()
        edges = (left, right), ends[::-1] if artist.origin == "upper" else ends
        x, y = (
            np.linspace(*span, 2 * n + 1)[1::2]
            for span, n in zip(edges, values.shape[1::-1], strict=True)
        )
        return ("cells", ("value",), (*np.meshgrid(x, y), values)) if values.ndim == 2 else None
    at = (
        artist.get_offset_transform()
        if isinstance(artist, (PathCollection, Quiver))
        else artist.get_transform()
    )
    if not all(at.contains_branch_seperately(ax.transData)):
        return None
    if isinstance(artist, Line2D):
        return "line", (), artist.get_xydata().T
    if isinstance(artist, Quiver):
        return "arrows", ("dx", "dy"), (artist.X, artist.Y, artist.U, artist.V)
    if isinstance(artist, PathCollection):
        values = [] if artist.get_array() is None else [artist.get_array()]
        return "points", ("value",) * len(values), (*artist.get_offsets().T, *values)
    if isinstance(artist, (LineCollection, PolyCollection)):
        paths = [path.vertices for path in artist.get_paths()] or [np.empty((0, 2))]
        return (
            "lines",
            ("item",),
            (*np.concatenate(paths).T, np.repeat(np.arange(len(paths)) + 1, [*map(len, paths)])),
        )
    return None


def series(axes) -> list[tuple]:
    """[(number of the axes, name, kind, names of columns after x and y, columns (n,))] of what is drawn.

    What has a name - gid, else label -, bars and cells; where an axes has none of these, all that is drawn.
    """
    out = []
    for k, ax in enumerate(axes):
        named, other = [], []
        for artist in (*ax.containers, *ax.lines, *ax.collections, *ax.images) if shown(ax) else ():
            first = artist.patches[0] if isinstance(artist, BarContainer) else artist
            said = [str(name) for name in (first.get_gid(), artist.get_label()) if name is not None]
            name = plain(next((name for name in said if not name.startswith("_")), ""))
            kind, extra, columns = numbers(ax, artist) or ("", (), ((),))
            if np.size(columns[0]):
                columns = tuple(
                    np.ma.filled(np.ma.asarray(c, float), np.nan).ravel() for c in columns
                )
                (named if name or kind in ("bars", "cells") else other).append(
                    (name, kind, extra, columns)
                )
        out += [
            (k, name or f"{kind} {i}", kind, *rest)
            for i, (name, kind, *rest) in enumerate(named or other, 1)
        ]
    return out


def names(ax) -> tuple:
    """(title or y, x, y, words on x, on y): what a reader calls an axes; words stand at ticks, by their place."""
    ticks = [
        zip(a.get_majorticklocs(), a.get_majorticklabels(), strict=False)
        for a in (ax.xaxis, ax.yaxis)
    ]
    words = (
        tuple(
            (float(at), plain(tick.get_text()))
            for at, tick in each
            if re.search(r"[^\W\d_]{2}", tick.get_text().replace("mathdefault", ""))
        )
        for each in ticks
    )
    titles, x, y = (
        map(ax.get_title, ("center", "left", "right")),
        plain(ax.get_xlabel()),
        plain(ax.get_ylabel()),
    )
    return plain(next(filter(None, titles), "")) or y, x, y, *words


def table(fig) -> str:
    """The numbers of a figure as CSV: one row a datum, its axes and series, columns named as the axes are."""
    rows, axes, text = [], panels(fig), io.StringIO()
    for k, named, kind, extra, columns in series(axes):
        title, x, y, *words = names(axes[k])
        x, y = (
            (x or "column", y or "row")
            if kind == "cells"
            else (x or "x", y or (x and title) or "y")
        )
        heads = x, y if y != x else f"{y} (vertical)", *extra
        for values in zip(*columns, strict=True):
            said = [f"{v:.8g}" if v == v else "" for v in values]
            said[:2] = [
                dict(known).get(v, text)
                for known, v, text in zip(words, values, said, strict=False)
            ]
            rows.append(
                {"panel": title or k + 1, "series": named} | dict(zip(heads, said, strict=True))
            )
    writer = csv.DictWriter(
        text, dict.fromkeys(name for row in rows for name in row), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def unite(limits, key, values) -> tuple:
    """(low, high) that hold `values` and what the dict `limits` has for `key`, where they are noted."""
    values = *values, *limits.get(key, ())
    limits[key] = float(min(values)), float(max(values))
    return limits[key]


def stretch(fig, limits) -> None:
    """Widen a figure's axes to hold their data and `limits`, colour scales too; note there what they have become.

    Once it has seen all figures of an explorer, all have the same limits; a matrix stays, as with gid "own scale".
    """
    axes = panels(fig)
    drawn = series(axes)
    for k, ax in enumerate(axes):
        for j, artist in enumerate((*ax.images, *ax.collections) if shown(ax) else ()):
            if artist.get_array() is not None:
                artist.autoscale_None()
                artist.set_clim(unite(limits, (len(axes), k, j), artist.get_clim()))
        for i, what in enumerate(
            "xy" if shown(ax) and not ax.images and ax.get_gid() != "own scale" else ""
        ):
            get, log = getattr(ax, f"get_{what}lim"), getattr(ax, f"get_{what}scale")() == "log"
            first, last = get()
            values = np.concatenate(
                [np.empty(0), *(columns[i] for n, *_, columns in drawn if n == k)]
            )
            values = values[np.isfinite(values) & ((values > 0) | (not log))]
            if len(values) and (values.min() < min(first, last) or values.max() > max(first, last)):
                ax.autoscale(True, what)
            low, high = unite(limits, (len(axes), k, what), (first, last, *get(), *values))
            ax.set(**{f"{what}lim": (low, high) if first < last else (high, low)})
