"""The book's one figure style, and `Picture`: a matplotlib figure that carries its own alt text."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import gc
import html
import io
import os
import re
import threading
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import NullLocator
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from scipy.optimize import isotonic_regression
from tabulate import tabulate

from clbook import environment
from clbook._arguments import choice, reals, refused

# After Okabe and Ito, ten that stay apart for colour-blind readers too; class k has the same colour on every page.
CLASS_COLOURS = (
    "#2576B6",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#8CC3F3",
    "#B2933C",
    "#5D3A9B",
    "#555555",
    "#2FBCC5",
)
INK, MUTED, GRID, ACCENT = "#1b1f24", "#5b6470", "#dde1e6", "#000000"

RC = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.prop_cycle": mpl.cycler(color=CLASS_COLOURS),
    "mathtext.fontset": "dejavusans",
    "figure.constrained_layout.use": True,
    "image.cmap": "viridis",
}

# matplotlib's settings and font caches are shared by all threads; a panel draws in one, a cell in another.
DRAWING = threading.RLock()


@contextlib.contextmanager
def uncollected():
    """No garbage is collected meanwhile.

    Beside the packages of a chapter, one collection takes as long as drawing a picture, or longer.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def colour(k: int) -> str:
    """The colour of class `k` (they repeat after ten)."""
    return CLASS_COLOURS[int(k) % len(CLASS_COLOURS)]


def needs(*names: str) -> Callable:
    """Decorator of a figure function: names the quantities of a Result that it draws.

    `explore` has them recorded: `@needs("loss", "alignment")` above `def curves(result, frame=-1)`.
    """

    def named(figure):
        figure.needs = names
        return figure

    return named


def axes(
    columns: int = 1, rows: int = 1, *, width: float = 7.2, height: float = 3.2, **kwargs: object
) -> tuple[Figure, np.ndarray]:
    """A figure in the book's style and its axes, made without pyplot so that threads may draw.

    Args:
        columns: how many axes side by side.
        rows: how many rows of them.
        width: of the figure, in inches.
        height: of the figure, in inches.
        kwargs: of matplotlib's `subplots`.

    Returns:
        The figure and an array (rows, columns) of axes.
    """
    with DRAWING, mpl.rc_context(RC):
        fig = Figure(figsize=(width, height))
        return fig, fig.subplots(rows, columns, squeeze=False, **kwargs)


def mosaic(
    layout: list, *, width: float = 7.2, height: float = 4.0, **kwargs: object
) -> tuple[Figure, dict[str, Axes]]:
    """A figure in the book's style and {name: axes}, laid out as by matplotlib's `subplot_mosaic`.

    Args:
        layout: rows of names.
        width: of the figure, in inches.
        height: of the figure, in inches.
        kwargs: of `subplot_mosaic`.
    """
    with DRAWING, mpl.rc_context(RC):
        fig = Figure(figsize=(width, height))
        return fig, fig.subplot_mosaic(layout, **kwargs)


def legend(ax: Axes, **kwargs: object) -> Legend:
    """A legend without a frame, on a white ground that no line crosses."""
    return ax.legend(**{"frameon": True, "edgecolor": "none", "fontsize": 9, **kwargs})


BESIDE = 1.07  # where names of lines begin, in widths of the axes


def name_lines(ax: Axes, gap: float = 12.0) -> None:
    """Name each labelled line beside the axes, at the height where it ends.

    The names stand in the order of the lines' ends. From each, a thin line leads to the last point of its own line that
    is within the axes. When the limits change, the names follow.

    Args:
        ax: axes with lines. A line that has no label gets no name.
        gap: the least distance from one name to the next, in points.
    """
    lines = [line for line in ax.lines if not line.get_label().startswith("_")]
    if not lines:
        return
    names = []
    for line in lines:
        names.append(_name(ax, line))
        # A legend has the other artists. What identifies the line in the page is its label, now its gid.
        line.set(gid=line.get_gid() or line.get_label(), label="_named")

    def place(ax):
        ends = []
        for line, name in zip(lines, names, strict=True):
            name.xy, height, whole = _end(ax, line)
            ends.append(height)
            # Over what is covered no line leads to a name: the name itself has the line's colour.
            name.arrow_patch.set_visible(whole)
            name.set_color(INK if whole else line.get_color())
        pixels = gap / 72 * ax.figure.dpi
        least = pixels / ax.get_window_extent().height  # the gap in heights of the axes
        for name, height in zip(names, _apart(np.array(ends), least), strict=True):
            name.set_position((BESIDE, height))

    place(ax)
    ax.callbacks.connect("ylim_changed", place)


AHEAD = "_ahead"  # the gid of what covers the time that is not reached yet


def so_far(ax: Axes, now: float) -> None:
    """Show the curves of an axes up to the time `now` alone: a dotted line stands there, what comes later is covered.

    Where this is called before `name_lines`, a name stands beside the place that its curve has reached.
    """
    for line in ax.lines:
        if line.get_transform() == ax.get_yaxis_transform(which="grid"):
            line.set_zorder(
                2.42
            )  # a line across the panel is a mark to compare with: it belongs to no time
    ax.axvline(now, color=MUTED, lw=1, ls=":", zorder=2.45)
    # The cover is a sheet larger than any axes, in inches, that hangs at the time shown: from one time to the next it
    # is only moved. It begins three points later, so that the marker of a curve's last point is seen whole.
    sheet = [(3 / 72, -30), (30, -30), (30, 30), (3 / 72, 30)]
    cover = PolyCollection(
        [sheet],
        offsets=[(now, 0.5)],
        offset_transform=ax.get_xaxis_transform(),
        transform=ax.figure.dpi_scale_trans,
        facecolors=ax.get_facecolor(),
        linewidths=0,
        zorder=2.4,  # above lines, below the frame and letters
        gid=AHEAD,
    )
    ax.add_collection(cover, autolim=False)


def reached(ax: Axes) -> float | None:
    """The time up to which `so_far` shows the curves of an axes; None where it shows all."""
    for cover in ax.collections:
        if cover.get_gid() == AHEAD:
            return float(cover.get_offsets()[0, 0])
    return None


def _name(ax, line):
    """The name of a line, and the thin line that leads to it; `place` decides where both are."""
    lead = {
        "arrowstyle": "-",
        "color": line.get_color(),
        "ls": line.get_linestyle(),
        "shrinkA": 1,
        "shrinkB": 0,
        "relpos": (0, 0.5),
        "patchA": None,
    }
    return ax.annotate(
        line.get_label(),
        xy=(0, 0),
        xycoords=line.get_transform(),
        xytext=(BESIDE, 0),
        textcoords="axes fraction",
        arrowprops=lead,
        annotation_clip=False,
        va="center",
        fontsize=9,
        color=INK,
    )


def _end(ax, line):
    """The last visible point of a line.

    Returns:
        Where it is, in the line's own coordinates; its height in the axes, 0 to 1; whether the line ends there.
    """
    points = line.get_xydata()
    pixels = line.get_transform().transform(points)
    x, y = ax.transAxes.inverted().transform(pixels).T
    visible = np.abs(y - 0.5) <= 0.5
    until = reached(ax)
    across = line.get_transform() == ax.get_yaxis_transform(which="grid")
    shown = np.full(len(points), True) if until is None or across else points[:, 0] <= until
    last = np.where(visible & shown, x, -np.inf).argmax()
    return points[last], np.nan_to_num(y[last]), bool(shown.all())


def _apart(heights, gap):
    """Heights in the same order, `gap` apart or more, and as near to the given ones as that allows.

    Let h_k be the k-th height from below. The new ones may be written as f_k + k gap, and they are apart enough if f
    never falls. Nearest, in least squares, is the f of isotonic regression on h_k - k gap.
    """
    order = np.argsort(heights, kind="stable")
    gaps = gap * np.arange(len(heights))
    free = isotonic_regression(heights[order] - gaps).x
    free = free.clip(0, max(0, 1 - gaps[-1]))  # the lowest and the highest stay within the axes
    found = np.empty(len(heights))
    found[order] = free + gaps
    return found


def stand_aside(fig) -> None:
    """Say below a figure of points on a circle that their distance from the circle has no meaning in it."""
    fig.supxlabel(
        "Distance from the circle means nothing: points make room for each other.",
        fontsize=9,
        color=MUTED,
    )


def log_axis(ax: Axes, ticks: Sequence[float] | None = None, *, axis: str = "x") -> None:
    """Make an axis logarithmic.

    Args:
        ax: the axes.
        ticks: where it has ticks; None is at powers of ten. There are no minor ticks: they take longer to draw than the
            curves.
        axis: "x", "y" or both, "xy".
    """
    for name in choice("axis", axis, ("x", "y", "xy")):
        ax.set(**{f"{name}scale": "log"})
        line = ax.xaxis if name == "x" else ax.yaxis
        line.set_minor_locator(NullLocator())
        if ticks is not None:
            line.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])


def band(ax: Axes, x, values, half=None, *, alpha: float = 0.18, **look) -> None:
    """Several runs as one line: their mean, in a band from the least to the largest.

    Args:
        ax: the axes.
        x: (T,) places of the values.
        values: (S, T), a row a run.
        half: (T,) half widths of the band about the mean, as of `metrics.mean_interval`, in place of the range.
        alpha: how opaque the band is, 0 to 1.
        look: of the line (color, label, gid ...).
    """
    values = np.asarray(values)
    mean = values.mean(0)
    if half is None:
        low, high = values.min(0), values.max(0)
    else:
        low, high = mean - half, mean + half
    (line,) = ax.plot(x, mean, **look)
    ax.fill_between(x, low, high, color=line.get_color(), alpha=alpha, lw=0)


def plane(z: np.ndarray) -> np.ndarray:
    """The two principal axes of points: `z @ plane(z)` shows them, `other @ plane(z)` shows others in the same way.

    Each axis points to where its largest entry is positive, so that neither turns over between two frames.

    Args:
        z: points (..., n, d).

    Returns:
        (d, 2), a column an axis. Where d = 1 the second one is zero.
    """
    z = reals("z", z)
    if z.ndim < 2 or z.size == 0 or not np.isfinite(z).all():
        raise refused("z", z, "finite points (..., n, d)")
    d = z.shape[-1]
    points = z.reshape(-1, d)
    _, _, rows = np.linalg.svd(points - points.mean(0), full_matrices=False)
    axes = np.zeros((2, d))
    found = rows[:2]  # one alone where d = 1
    axes[: len(found)] = found
    signs = np.where(axes[[0, 1], np.abs(axes).argmax(1)] < 0, -1, 1)
    return axes.T * signs


def encoded(image: Image.Image, kind: str, **how: object) -> str:
    """A file of an image in base64; `how` goes to Pillow's `save`."""
    file = io.BytesIO()
    image.save(file, kind, **how)
    return base64.b64encode(file.getvalue()).decode()


# What a file says of itself, by its kind: the names of its description and of its source.
INSIDE = {
    ".png": ("Description", "Copyright"),
    ".svg": ("Description", "Rights"),
    ".pdf": ("Subject", "Keywords"),
}


@dataclasses.dataclass
class Picture:
    """A drawn figure and the text that says what it shows.

    A notebook shows it as HTML. The build takes a PNG file with the text inside ("Description").

    Attributes:
        fig: the matplotlib figure.
        alt: one or two sentences with its numbers, for a reader who cannot see it.
    """

    fig: Figure
    alt: str

    def __post_init__(self):
        # Formulas are written as they are spoken: tau, d_c.
        self.alt = re.sub(r"[$\\{}]", "", self.alt)

    def png(self, dpi: int = 144, place: Callable | None = None) -> bytes:
        """The figure as a PNG file, with the alt text inside.

        Args:
            dpi: pixels an inch.
            place: `place(fig)` is called before drawing, and may place the axes.
        """
        file = io.BytesIO()
        with DRAWING, mpl.rc_context(RC):
            self.fig.dpi = dpi
            canvas = FigureCanvasAgg(self.fig)
            if place:
                place(self.fig)
            # `savefig` would draw twice.
            canvas.print_png(file, metadata={"Description": self.alt})
        return file.getvalue()

    def save(self, path: str | os.PathLike, source: str = "") -> None:
        """Write the figure to a file, with the alt text and the source inside.

        Args:
            path: ends in .png, .svg or .pdf.
            source: where the picture is from and under which licence, for those who find the file.

        Raises:
            ValueError: another ending.
        """
        said, rights = INSIDE[choice("ending of path", Path(path).suffix, INSIDE)]
        with DRAWING, mpl.rc_context(RC):
            self.fig.savefig(path, metadata={said: self.alt, rights: source})

    def small(self, dpi: int = 144, colours: int = 128) -> str:
        """The figure as a base64 PNG of few colours, with the alt text inside: a few kilobytes."""
        about = PngInfo()
        about.add_text("Description", self.alt)
        few = self._in_few_colours(dpi, colours)
        return encoded(few, "png", optimize=True, pnginfo=about, dpi=(dpi, dpi))

    def inline(self, dpi: int = 144, colours: int = 128) -> str:
        """The address of an image that stands in a page itself: a lossless WebP, a quarter smaller than `small`."""
        few = self._in_few_colours(dpi, colours).convert("RGB")
        return f"data:image/webp;base64,{encoded(few, 'webp', lossless=True)}"

    def _in_few_colours(self, dpi: int, colours: int) -> Image.Image:
        """The figure with a palette."""
        whole = Image.open(io.BytesIO(self.png(dpi)))
        # The colours that cover what is there best: of a thin line as of a large matrix.
        method = Image.Quantize.MAXCOVERAGE
        return whole.convert("RGB").quantize(colours, method, kmeans=1, dither=Image.Dither.NONE)

    def _repr_mimebundle_(self, include=None, exclude=None):
        if environment.static():
            # The built page takes the file, and the alt text that is in it.
            # Lines, dots and the shades of a colour map are few colours; a photograph keeps all of its own.
            shown = [image for ax in self.fig.axes for image in ax.images]
            coloured = any(image.get_array().ndim == 3 for image in shown)
            png = base64.b64encode(self.png()).decode() if coloured else self.small(colours=256)
            return {"image/png": png, "text/plain": self.alt}
        width = int(self.fig.get_figwidth() * 96)  # CSS has 96 pixels an inch
        tag = (
            f'<img style="width:{width}px;max-width:100%;background:white" '
            f'alt="{html.escape(self.alt)}" src="{self.inline()}">'
        )
        return {"text/html": tag, "text/plain": self.alt}


GREEK = (
    "alpha|beta|gamma|delta|eps|epsilon|eta|theta|kappa|lambda|mu|rho|sigma|tau|Delta|Theta|Sigma"
)
TYPESET = (  # patterns in escaped text, and what they become, in this order
    (rf"(?<![A-Za-z])({GREEK})(?![A-Za-z])", lambda found: greek(found[1])),
    (r"(?<=\d)e[+-]?0+\b", ""),
    (r"(?<![\w.])1e([+-]?)0*(\d+)\b", r"10^\1\2"),
    (r"\b(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b", r"\1·10^\2\3"),
    (r"\bR2\b", "R^2"),
    (r"\^\+?(-?\w+)", r"<sup>\1</sup>"),
    (r"((?<![A-Za-z])[A-Za-zα-ωΑ-Ω]|\|)_(\w{1,2})\b", r"\1<sub>\2</sub>"),
    (r"\bsqrt\(", "√("),
    (r"&lt;=", "≤"),
    (r"&gt;=", "≥"),
    (r"-&gt;", "→"),
    (r"\binf\b", "∞"),
    (r"(?<![\w.)-])-(?=[\d.]|log)|(?<= )-(?= )", "−"),
)


def greek(name: str) -> str:
    """The Greek letter of that name; KeyError where there is none."""
    case = "capital" if name[0].isupper() else "small"
    name = {"eps": "epsilon"}.get(name, name)
    name = name.replace("ambda", "amda")  # as Unicode spells it
    return unicodedata.lookup(f"greek {case} letter {name}")


def typeset(text: str) -> str:
    """`text` as HTML, with its formulas as one writes them: 'eps^2 / tau' is 'ε<sup>2</sup> / τ'."""
    text = html.escape(text, quote=False)
    for pattern, becomes in TYPESET:
        text = re.sub(pattern, becomes, text)
    return text


# What a command of TeX becomes in plain text. A Greek letter is found by its name, any other command left out.
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
    tex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)
    tex = re.sub(r"\\([A-Za-z]+|.)", _sign, tex)
    tex = re.sub(r"[${}]", "", tex)
    return " ".join(tex.split())


def _sign(found) -> str:
    """The sign of a TeX command."""
    name = found[1].removeprefix("var")
    if name in SIGNS:
        return SIGNS[name]
    if re.match("math|text|left|right", name):  # it only sets type
        return ""
    try:
        return greek(name)
    except KeyError:
        return name


@dataclasses.dataclass
class Table:
    """A small table of measured values.

    A notebook shows it as an HTML table, with formulas as `typeset` writes them. Printing it gives aligned text.

    Attributes:
        header: names of the columns.
        rows: cells, already formatted.
    """

    header: tuple
    rows: list

    def _repr_html_(self) -> str:
        header = _typeset_cells(self.header)
        rows = [_typeset_cells(row) for row in self.rows]
        found = tabulate(rows, header, "unsafehtml", stralign=None, disable_numparse=True)
        return found.replace("<table>", '<table class="table clbook-table">')

    def __str__(self) -> str:
        return tabulate(self.rows, self.header, "plain", stralign="left", disable_numparse=True)


def _typeset_cells(row):
    return [typeset(str(cell)) for cell in row]
