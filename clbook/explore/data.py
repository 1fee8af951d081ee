"""The numbers behind a figure, taken from its artists: what a frame's CSV holds, and how far its axes must reach."""

from __future__ import annotations

import csv
import io
import re
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.container import BarContainer
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver

from clbook.style import plain


def panels(fig) -> list:
    """All axes of a figure, insets included."""
    found = []
    for ax in fig.axes:
        found += [ax, *ax.child_axes]
    return found


# --- where the axes stand in the figure ---


def room(axis) -> tuple:
    """What decides how much room an axis takes: its scale, its label, how long the words at its ticks are and where."""
    low, high = axis.get_view_interval()
    places = axis.get_majorticklocs()
    seen = any(on for name, on in axis.get_tick_params().items() if name.startswith("label"))
    words = axis.get_major_formatter().format_ticks(places) if seen else ()
    lengths = [len(word) for word in words]
    along = (places - low) / (high - low)  # 0 and 1 are the ends, over which a word may reach
    return axis.get_scale(), axis.get_label_text(), lengths, along.round(1).tolist()


def looks(axis) -> str:
    """All that decides how the ticks and the label of an axis are drawn, in figures of one function.

    What a figure function does to single ticks it does in all its figures.
    """
    words = []
    for ticker, which in ((axis.major, "major"), (axis.minor, "minor")):
        places = ticker.locator()
        words.append((places, ticker.formatter.format_ticks(places), axis.get_tick_params(which)))
    label = axis.get_label()
    text = label.get_text(), label.get_color(), label.get_visible(), label.get_size()
    corners = axis.axes.get_position().bounds
    limits = axis.get_view_interval()
    found = axis.axis_name, corners, limits, axis.get_scale(), axis.get_visible(), words, text
    return repr(found)


def surroundings(ax) -> tuple:
    """What stands around an axes and decides where it can stand: ticks, labels, titles, names beside its lines."""
    beside = [
        len(text.get_text())
        for text in ax.texts
        if getattr(text, "anncoords", "") == "axes fraction"
    ]
    titles = [ax.get_title(place) for place in ("left", "center", "right")]
    lines = [len(title.splitlines()) for title in titles]
    return room(ax.xaxis), room(ax.yaxis), ax.get_visible(), beside, lines


def arrange(fig, known) -> None:
    """Place the axes of a figure.

    matplotlib's layout engine takes longer than the drawing, and axes that stand still are easier to watch. So a figure
    with the same surroundings as an earlier one gets that one's places.

    Args:
        known: a dict of the places found so far, which is added to.
    """
    axes = panels(fig)
    around = [surroundings(ax) for ax in axes]
    titles = fig.get_suptitle(), fig.get_supxlabel(), fig.get_supylabel()
    key = repr((around, *fig.get_size_inches(), *titles))
    if key not in known:
        engine = fig.get_layout_engine()
        if engine is not None:
            engine.execute(fig)
        known[key] = [ax.get_position(original=True).frozen() for ax in axes]
    fig.set_layout_engine("none")
    for ax, position in zip(axes, known[key], strict=True):
        ax.set_position(position, which="original")


# --- the numbers that are drawn ---


class Series(NamedTuple):
    """The numbers of one line, cloud of points, set of bars, matrix or field of arrows.

    Attributes:
        axes: the number of its axes among `panels`.
        name: what a reader calls it.
        kind: "line", "points", "lines", "bars", "cells" or "arrows".
        extra: the names of its columns after x and y.
        columns: x, y and those, each (n,), floats.
    """

    axes: int
    name: str
    kind: str
    extra: tuple
    columns: tuple


def shown(ax) -> bool:
    """Whether an axes holds data: neither hidden, nor curved, nor a colour bar."""
    if ax.name != "rectilinear" or ax.get_label() == "<colorbar>":
        return False
    return ax.get_visible()


def numbers(ax, artist):
    """The numbers of an artist.

    Returns:
        (kind, names of the columns after x and y, columns), or None where it is not drawn in data coordinates.
    """
    if isinstance(artist, BarContainer):
        return _bars(artist)
    if isinstance(artist, AxesImage):
        return _cells(artist)
    # Dots and arrows stand at offsets; lines and shapes where their own corners are.
    by_offsets = isinstance(artist, (PathCollection, Quiver))
    place = artist.get_offset_transform() if by_offsets else artist.get_transform()
    # A line across the whole panel (`axvline`) has a value in one direction only: it counts as no data.
    if not all(place.contains_branch_seperately(ax.transData)):
        return None
    if isinstance(artist, Line2D):
        return "line", (), artist.get_xydata().T
    if isinstance(artist, Quiver):
        return "arrows", ("dx", "dy"), (artist.X, artist.Y, artist.U, artist.V)
    if isinstance(artist, PathCollection):
        x, y = artist.get_offsets().T
        values = artist.get_array()
        return ("points", (), (x, y)) if values is None else ("points", ("value",), (x, y, values))
    if isinstance(artist, (LineCollection, PolyCollection)):
        return _lines(artist)
    return None


def _bars(container):
    """Bars: the place of each, the value at its end, and the value that it starts from."""
    left, bottom, right, top = np.array([bar.get_bbox().extents for bar in container.patches]).T
    if container.orientation == "vertical":
        return "bars", ("from",), ((left + right) / 2, top, bottom)
    return "bars", ("start",), (right, (bottom + top) / 2, left)


def _cells(image):
    """A matrix: column, row and value of each cell. A picture in colours has no numbers."""
    values = image.get_array()
    if values.ndim != 2:
        return None
    rows, columns = values.shape
    left, right, bottom, top = image.get_extent()
    if image.origin == "upper":
        bottom, top = top, bottom
    # Of edges and middles in turn, every second one is a middle.
    x = np.linspace(left, right, 2 * columns + 1)[1::2]
    y = np.linspace(bottom, top, 2 * rows + 1)[1::2]
    return "cells", ("value",), (*np.meshgrid(x, y), values)


def _lines(collection):
    """Many lines or filled shapes: their corners, with the number of the line that each belongs to."""
    corners = [path.vertices for path in collection.get_paths()]
    x, y = np.concatenate([np.empty((0, 2)), *corners]).T
    lengths = np.array([len(line) for line in corners], dtype=int)
    item = np.repeat(np.arange(len(corners)) + 1, lengths)
    return "lines", ("item",), (x, y, item)


def called(artist) -> str:
    """What a reader calls an artist: its gid, else its label; "" where it has neither. "_..." is no name."""
    first = artist.patches[0] if isinstance(artist, BarContainer) else artist
    for name in (first.get_gid(), artist.get_label()):
        if name and not name.startswith("_"):
            return plain(name)
    return ""


def series(axes) -> list[Series]:
    """What is drawn in `axes`, in their order.

    What has a name, bars and matrices; where an axes has none of these, all that is drawn.
    """
    found = []
    for k, ax in enumerate(axes):
        if not shown(ax):
            continue
        drawn = []
        for artist in (*ax.containers, *ax.lines, *ax.collections, *ax.images):
            about = numbers(ax, artist)
            if about is None:
                continue
            kind, extra, columns = about
            columns = tuple(_floats(column) for column in columns)
            if len(columns[0]):
                drawn.append(Series(k, called(artist), kind, extra, columns))
        named = [one for one in drawn if one.name or one.kind in ("bars", "cells")]
        for i, one in enumerate(named or drawn, 1):
            name = one.name or f"{one.kind} {i}"
            found.append(one._replace(name=name))
    return found


def _floats(column) -> np.ndarray:
    """A column as floats (n,), NaN where it is masked."""
    return np.ma.filled(np.ma.asarray(column, float), np.nan).ravel()


# --- the numbers as a table ---


def names(ax) -> tuple:
    """What a reader calls an axes.

    Returns:
        (panel, x, y, words on x, words on y): the panel is the title, or what y is; words are pairs (place, word) of
        the ticks that stand for words.
    """
    x = label(ax.xaxis)
    y = label(ax.yaxis)
    panel = plain(ax.get_ylabel())
    for place in ("right", "left", "center"):  # of several titles the last one in this order counts
        panel = plain(ax.get_title(place)) or panel
    return panel, x, y, tick_words(ax.xaxis), tick_words(ax.yaxis)


def label(axis) -> str:
    """The label of an axis; without one, that of a panel above, below or beside it with the same axis.

    Of panels that stand in a column or a row, with the same limits, often one alone says what the axis is.
    """
    others = [getattr(ax, f"{axis.axis_name}axis") for ax in axis.figure.axes]
    for each in (axis, *others):
        found = each.get_label_text()
        if found and np.allclose(_span(each), _span(axis), rtol=1e-3, atol=1e-3):
            return plain(found)
    return ""


def _span(axis) -> tuple:
    """Where an axis begins and ends, in the figure and in the data, and whether it goes by ratios."""
    place = axis.axes.get_position()
    ends = place.intervalx if axis.axis_name == "x" else place.intervaly
    return *ends, *axis.get_view_interval(), axis.get_scale() == "log"


def tick_words(axis) -> tuple:
    """((place, word), ...) of the ticks at which words stand, or numbers that are not their places."""
    formatter = axis.get_major_formatter()
    numbered = isinstance(formatter, mpl.ticker.ScalarFormatter)
    places = axis.get_majorticklocs()
    words = []
    for place, text in zip(places, formatter.format_ticks(places), strict=True):  # hidden ones, too
        word = re.search(r"[^\W\d_]{2}", text.replace("mathdefault", ""))
        if word or (not numbered and _elsewhere(text, place)):
            words.append((float(place), plain(text)))
    return tuple(words)


def _elsewhere(text, place) -> bool:
    """Whether a text is a number, and another one than its place."""
    try:
        return abs(float(text.replace("\u2212", "-")) - place) > 1e-3 * max(1, abs(place))
    except ValueError:
        return False


def table(fig) -> str:
    """The numbers of a figure as CSV: one row a datum, its axes and series, columns named as the axes are."""
    axes = panels(fig)
    rows = []
    for one in series(axes):
        panel, x, y, *ticks = names(axes[one.axes])
        heads = column_names(one, panel, x, y)
        # Where a tick of x or y has a word, the word says more than its place.
        words = [*map(dict, ticks), *({} for _ in one.extra)]
        for values in zip(*one.columns, strict=True):
            row = {"panel": as_text(panel or f"{one.axes + 1}"), "series": as_text(one.name)}
            for head, value, said in zip(heads, values, words, strict=True):
                number = "" if np.isnan(value) else f"{value:.8g}"
                row[head] = as_text(said.get(value, number))
            rows.append(row)
    heads = dict.fromkeys(head for row in rows for head in row)  # each once, in order
    text = io.StringIO()
    writer = csv.DictWriter(text, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def column_names(one, panel, x, y) -> list[str]:
    """The names of the columns of a series in axes that `names` calls so."""
    if one.kind == "cells":
        x = x or "column"
        y = y or "row"
    elif not x:
        x, y = "x", y or "y"  # the panel says what is drawn, and needs not be y
    else:
        y = y or panel or "y"
    if x == y:
        y = f"{y} (vertical)"
    return [as_text(head) for head in (x, y, *one.extra)]


def as_text(name) -> str:
    """A name in a CSV: one that begins with = or @ would be a formula to a spreadsheet."""
    return f"'{name}" if name.startswith(("=", "@")) else name


# --- one scale for all frames of an explorer ---


def unite(limits, key, values) -> tuple:
    """Widen `limits[key]` to hold `values`; returns that (low, high)."""
    values = [*values, *limits.get(key, ())]
    limits[key] = float(min(values)), float(max(values))
    return limits[key]


def stretch(fig, limits) -> None:
    """Widen a figure's axes and colour scales to hold their data and `limits`, and note there what they have become.

    Once it has seen all figures of an explorer, all have the same limits. The axes of a matrix stay as they are, and
    those with gid "own scale".
    """
    axes = panels(fig)
    drawn = series(axes)
    for k, ax in enumerate(axes):
        if not shown(ax):
            continue
        place = len(axes), k  # figures with another number of axes are not compared
        for j, artist in enumerate((*ax.images, *ax.collections)):
            if artist.get_array() is not None:
                artist.autoscale_None()
                low, high = unite(limits, (*place, j), artist.get_clim())
                artist.set_clim(low, high)
        if ax.images or ax.get_gid() == "own scale":
            continue
        for i, axis in enumerate((ax.xaxis, ax.yaxis)):
            columns = [one.columns[i] for one in drawn if one.axes == k]
            _widen(axis, columns, limits, (*place, axis.axis_name))


def _widen(axis, columns, limits, key) -> None:
    """`stretch` for one axis; `columns` are the numbers along it of each series."""
    first, last = axis.get_view_interval()
    reach = [first, last]  # all that the axis has to hold
    values = np.concatenate([[], *columns])
    values = values[np.isfinite(values)]
    if axis.get_scale() == "log":
        values = values[values > 0]
    if len(values):
        low, high = values.min(), values.max()
        if low < min(reach) or high > max(reach):
            axis.axes.autoscale(True, axis.axis_name)  # matplotlib's own margins around the data
        reach += [low, high, *axis.get_view_interval()]
    low, high = unite(limits, key, reach)
    if first > last:  # an axis that runs the other way
        low, high = high, low
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
