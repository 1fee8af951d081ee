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

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import NullLocator
from PIL import Image
from scipy.optimize import isotonic_regression
from tabulate import tabulate

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
    """No garbage is collected meanwhile: beside a chapter's packages that takes as long as a picture, or longer."""
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
    columns: int = 1, rows: int = 1, *, width: float = 7.2, height: float = 3.2, **kwargs
) -> tuple[Figure, np.ndarray]:
    """(figure, array of axes) in the book's style, made without pyplot so that threads may draw."""
    with DRAWING, mpl.rc_context(RC):
        fig = Figure(figsize=(width, height))
        return fig, fig.subplots(rows, columns, squeeze=False, **kwargs)


def mosaic(
    layout: list, *, width: float = 7.2, height: float = 4.0, **kwargs
) -> tuple[Figure, dict[str, Axes]]:
    """(figure, {name: axes}) for a layout as in matplotlib's `subplot_mosaic`, in the book's style."""
    with DRAWING, mpl.rc_context(RC):
        fig = Figure(figsize=(width, height))
        return fig, fig.subplot_mosaic(layout, **kwargs)


def legend(ax: Axes, **kwargs) -> Legend:
    """A legend without a frame, on a white ground that no line crosses."""
    return ax.legend(**{"frameon": True, "edgecolor": "none", "fontsize": 9, **kwargs})


def name_lines(ax: Axes, gap: float = 12.0) -> None:
    """Names beside labelled lines, `gap` points apart or more, led to from where each ends in the axes' limits."""
    lines, said = [line for line in ax.lines if not line.get_label().startswith("_")], []
    for line in lines:
        lead = {
            "arrowstyle": "-",
            "color": line.get_color(),
            "ls": line.get_linestyle(),
            "shrinkA": 1,
            "shrinkB": 0,
        }
        said.append(
            ax.annotate(
                line.get_label(),
                (0, 0),
                (1.07, 0),
                line.get_transform(),
                "axes fraction",
                lead | {"relpos": (0, 0.5), "patchA": None},
                False,
                va="center",
                fontsize=9,
                color=INK,
            )
        )
        line.set(gid=line.get_gid() or line.get_label(), label="_named")  # a legend has the others

    def place(ax):
        heights, step = (
            [],
            gap / 72 * ax.figure.dpi / ax.get_window_extent().height * np.arange(len(lines)),
        )
        for line, text in zip(lines, said, strict=True):
            inside = ax.transAxes.inverted().transform(
                line.get_transform().transform(line.get_xydata())
            )
            last = np.where(np.abs(inside[:, 1] - 0.5) <= 0.5, inside[:, 0], -np.inf).argmax()
            text.xy = line.get_xydata()[last]
            heights.append(np.nan_to_num(inside[last, 1]))
        order = np.argsort(heights, kind="stable")
        places = (
            isotonic_regression(np.array(heights)[order] - step).x.clip(0, max(0, 1 - step[-1]))
            + step
        )
        for k, height in zip(order, places, strict=True):
            said[k].set_position((1.07, height))

    place(ax)
    ax.callbacks.connect("ylim_changed", place)


def log_axis(ax: Axes, ticks: Sequence[float] | None = None, *, axis: str = "x") -> None:
    """Axis "x", "y" or both ("xy") logarithmic: `ticks` or powers of ten; minor ones take longer than the curves."""
    for name in axis:
        ax.set(**{f"{name}scale": "log"})
        line = {"x": ax.xaxis, "y": ax.yaxis}[name]
        line.set_minor_locator(NullLocator())
        if ticks is not None:
            line.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])


def band(ax: Axes, x, values, half=None, *, alpha: float = 0.18, **look) -> None:
    """Several runs as one line: the mean of values (S, len(x)) over S, in a band from the least to the largest.

    half: (len(x),) half widths of the band about the mean, as of `metrics.mean_interval`, in place of the range.
    look: of the line (color, label, gid ...).
    """
    values = np.asarray(values)
    mean = values.mean(0)
    low, high = (values.min(0), values.max(0)) if half is None else (mean - half, mean + half)
    (line,) = ax.plot(x, mean, **look)
    ax.fill_between(x, low, high, color=line.get_color(), alpha=alpha, lw=0)


def plane(z: np.ndarray) -> np.ndarray:
    """(d, 2) the two principal axes of points z (..., n, d): `z @ plane(z)` shows them, `other @ plane(z)` others so.

    Each axis points to where its largest entry is positive, so that neither turns over between two frames. Where d = 1
    the second one is zero.
    """
    points = z.reshape(-1, z.shape[-1]).astype(np.float64)
    main = np.linalg.svd(points - points.mean(0), full_matrices=False)[2][:2]
    main = np.vstack([main, np.zeros((2 - len(main), z.shape[-1]))])
    largest = main[[0, 1], np.abs(main).argmax(1)]
    return (main * np.where(largest < 0, -1, 1)[:, None]).T


@dataclasses.dataclass
class Picture:
    """A drawn figure and the text that says what it shows.

    Attributes:
        fig: the matplotlib figure. alt: one or two sentences with its numbers, for a reader who cannot see it.
    A notebook shows it as HTML; the build as a PNG with the alt text inside ("Description").
    """

    fig: Figure
    alt: str

    def __post_init__(self):
        self.alt = re.sub(r"[$\\{}]", "", self.alt)  # formulas as they are spoken: tau, d_c

    def png(self, dpi: int = 144, place: Callable | None = None) -> bytes:
        """The figure as a PNG file, the alt text inside; `place(fig)` may place its axes before it is drawn."""
        buffer = io.BytesIO()
        with DRAWING, mpl.rc_context(RC):
            self.fig.dpi, canvas = dpi, FigureCanvasAgg(self.fig)
            if place:
                place(self.fig)
            canvas.print_png(buffer, metadata={"Description": self.alt})  # savefig draws twice
        return buffer.getvalue()

    def small(self, dpi: int = 144, colours: int = 128) -> str:
        """The figure as a base64 PNG of few colours: a few kilobytes, to be saved with a notebook or page."""
        buffer = io.BytesIO()
        Image.open(io.BytesIO(self.png(dpi))).convert("RGB").quantize(colours).save(
            buffer, "png", optimize=True
        )
        return base64.b64encode(buffer.getvalue()).decode()

    def _repr_mimebundle_(self, include=None, exclude=None):
        if (
            os.environ.get("CLBOOK_STATIC") == "1"
        ):  # the built page takes the file, and the alt text that is in it
            return {"image/png": base64.b64encode(self.png()).decode(), "text/plain": self.alt}
        tag = (
            f'<img style="width:{int(self.fig.get_figwidth() * 96)}px;max-width:100%;background:white" '
            f'alt="{html.escape(self.alt)}" src="data:image/png;base64,{self.small()}">'
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
    name = {"eps": "epsilon"}.get(name, name).replace("ambda", "amda")  # as Unicode spells it
    return unicodedata.lookup(f"greek {'capital' if name[0].isupper() else 'small'} letter {name}")


def typeset(text: str) -> str:
    """`text` as HTML, with its formulas as one writes them: 'eps^2 / tau' is 'ε<sup>2</sup> / τ'."""
    text = html.escape(text, quote=False)
    for pattern, becomes in TYPESET:
        text = re.sub(pattern, becomes, text)
    return text


@dataclasses.dataclass
class Table:
    """A small table of measured values: `header` and `rows` of cells, already formatted.

    Shown by a notebook as an HTML table, with formulas as `typeset` writes them; printing it gives aligned text.
    """

    header: tuple
    rows: list

    def _repr_html_(self) -> str:
        header, *rows = ([typeset(str(cell)) for cell in row] for row in (self.header, *self.rows))
        cells = tabulate(rows, header, "unsafehtml", stralign=None, disable_numparse=True)
        return cells.replace("<table>", '<table class="table clbook-table">')

    def __str__(self) -> str:
        return tabulate(self.rows, self.header, "plain", stralign="left", disable_numparse=True)
