"""Matplotlib's own drawing as a compact display list that the player turns back into SVG, frame by frame.

Every mark - line, marker, text, filled shape - is a path drawn at a position with a style. Paths are SVG path data in
relative whole units: already delta-coded, and the same wherever they stand. A `Pen` turns one figure into such marks, a
`Scene` stores what many frames share once.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import functools
import gzip
import json
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.backend_bases import FigureCanvasBase, RendererBase
from matplotlib.colors import to_hex, to_rgba
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D, BboxTransformTo
from PIL import Image

from clbook import style
from clbook.explore import data

UNITS = 20  # drawing units in a canvas pixel; a canvas pixel is a point, 1/72 inch
MAGNIFY = 2  # image pixels in a canvas pixel
CELLS = 128  # images with at most so many rows and columns are kept as cells, not resampled
FAR = 10_000 * UNITS  # vertices further out than this are pulled in, so that no viewer overflows
# Matplotlib's codes of a path -> the letter in SVG.
LETTERS = {Path.MOVETO: "m", Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}
FLIP = Affine2D().scale(UNITS, -UNITS)  # pixels to units, y downwards


def quantise(vertices) -> np.ndarray:
    """`vertices` (n, 2), in units, as whole numbers (n, 2)."""
    return np.clip(np.rint(vertices), -FAR, FAR).astype(np.int64)


def encode(vertices, codes, origin) -> str:
    """SVG path data of a path.

    Args:
        vertices: (n, 2) whole numbers.
        codes: (n,) matplotlib's codes, no STOP.
        origin: the point (x, y) from which the path data are relative.
    """
    if (codes[1:] == Path.LINETO).all():
        # By far the most paths are polylines: all of it at once.
        steps = np.diff(vertices, axis=0, prepend=np.asarray(origin)[None])
        pattern = "m%d %d" + "l%d %d" * (len(steps) - 1)
        return pattern % tuple(steps.ravel().tolist())
    words = []
    here = start = np.asarray(origin)  # `start` is where the present piece of the path began
    for points, code in Path(vertices, codes).iter_segments(simplify=False):
        if code == Path.CLOSEPOLY:
            words.append("z")
            here = start
            continue
        steps = points.astype(int).reshape(-1, 2) - here
        words.append(LETTERS[code] + " ".join(map(str, steps.ravel())))
        here = here + steps[-1]
        if code == Path.MOVETO:
            start = here
    return "".join(words)


def number(table, key) -> int:
    """The place of `key` among the distinct keys of the dict `table`, in order of their first appearance."""
    return table.setdefault(key, len(table))


def whole(path, transform, **how) -> tuple[np.ndarray, np.ndarray]:
    """A matplotlib path where `transform` takes it: vertices (n, 2), whole numbers, and codes (n,).

    `how` goes to matplotlib's `Path.cleaned`.
    """
    path = path.cleaned(transform, remove_nans=True, **how)
    return quantise(path.vertices[:-1]), path.codes[:-1]  # the last one is a STOP


def placed(path, transform) -> str:
    """Path data of a matplotlib path that `transform` takes to units, drawn from (0, 0)."""
    return encode(*whole(path, transform), (0, 0))


def deltas(values) -> list[int]:
    """Whole numbers as differences from the one before, which compress well."""
    return np.diff(values, prepend=0).tolist()


@functools.lru_cache(256)
def png(pixels: bytes, shape) -> str:
    """Colours (rows, columns, 4), as bytes, as a base64 PNG, with a palette where it has at most 256 of them."""
    rgba = np.frombuffer(pixels, np.uint8).reshape(shape)
    image = Image.fromarray(rgba)
    colours, index = np.unique(rgba.view(np.uint32), return_inverse=True)
    if len(colours) <= 256:
        index = index.reshape(rgba.shape[:2]).astype(np.uint8)
        image = Image.fromarray(index)
        image.putpalette(colours.tobytes(), "RGBA")
    return style.encoded(image, "png")


@functools.cache  # letters come again in every frame
def lettering(text, font, angle, is_math) -> str:
    """Path data of a text that begins at (0, 0); "" of spaces."""
    glyphs = Path(*text_to_path.get_text_path(font, text, ismath=is_math))
    size = font.get_size_in_points() * UNITS / text_to_path.FONT_SCALE
    turn = Affine2D().scale(size).rotate_deg(angle).scale(1, -1)
    return placed(glyphs, turn) if len(glyphs) else ""


class Mark(NamedTuple):
    """Paths, or an image, as they are drawn.

    Attributes:
        clips: path data of what the drawing is cut to, placed at the canvas's corner.
        paths, styles: path data and SVG attributes, one of each for each point.
        x, y: in units, where the paths stand; of an image its corner and its size.
        image: None or a base64 PNG, which has no paths.
    """

    clips: tuple
    paths: tuple
    styles: tuple
    x: tuple
    y: tuple
    image: str | None


@dataclasses.dataclass(frozen=True)
class Drawing:
    """One frame as plain data.

    Attributes:
        size: width and height in units.
        marks: in drawing order.
        axes: of each axes, (x0, y0, x1, y1 in units, x limits, y limits, x log, y log, *`data.names`, the time up to
            which its curves are shown or None); None if hidden.
        series: the numbers behind the marks, as `data.series` gives them.
        letters: the smallest size of letters, in units; those of an axis that is drawn again are not counted.
        alt: the alt text.
    """

    size: tuple
    marks: list[Mark]
    axes: tuple
    series: list[data.Series]
    letters: float
    alt: str


class Pen(RendererBase):
    """Draws pictures: collects matplotlib's drawing calls as marks.

    A figure with the same surroundings as an earlier one is laid out as that was, so drawings depend on what the pen
    has drawn before.

    The methods without a docstring are those that matplotlib calls of a renderer. `gc` has colours and line widths,
    transforms lead to pixels from the lower left corner.
    """

    # A text is measured once: the same ones come again in every frame.
    get_text_width_height_descent = staticmethod(
        functools.cache(RendererBase().get_text_width_height_descent)
    )

    def __init__(self):
        super().__init__()
        self.layout = {}  # where axes stood, as `data.arrange` notes it
        self.ticks = {}  # {how an axis looks, as `data.looks` says it: its marks}

    def draw(self, picture) -> Drawing:
        """Draw a `Picture`, and keep the numbers that its artists hold."""
        fig = picture.fig
        fig.dpi = 72
        self.width, self.height = fig.get_size_inches() * 72
        self.place = FLIP.frozen().translate(0, self.height * UNITS)
        self.marks = []
        self.letters = self.height * UNITS
        axes = data.panels(fig)
        for ax in axes:
            _keep_cells(ax)
        fig.set_canvas(FigureCanvasBase(fig))
        fig.canvas.get_renderer = lambda: self  # the layout engine measures text with what draws it
        with mpl.rc_context(style.RC):
            data.arrange(fig, self.layout)
            with self._drawn_once(axes):
                fig.draw(self)
        size = round(self.width * UNITS), round(self.height * UNITS)
        places = tuple(self._geometry(ax) for ax in axes)
        return Drawing(size, self.marks, places, data.series(axes), self.letters, picture.alt)

    @contextlib.contextmanager
    def _drawn_once(self, axes):
        """Meanwhile an axis that looks like an earlier one is drawn as that one was."""
        plain = []
        for ax in axes:
            if ax.name == "rectilinear":
                plain += [ax.xaxis, ax.yaxis]
        for axis in plain:
            self._draw_once(axis)
        try:
            yield
        finally:
            for axis in plain:  # others draw the figure as ever
                for own in ("draw", "get_tightbbox"):
                    vars(axis).pop(own, None)

    def _draw_once(self, axis):
        """Let an axis that looks like an earlier one be drawn as that one was.

        Ticks take matplotlib a third of the time of a frame, and between frames they rarely change.
        """
        looks = data.looks(axis)
        if axis.get_major_formatter().get_offset():  # such as "1e6", for which a title makes room
            return
        if looks in self.ticks:
            axis.draw = lambda renderer: self.marks.extend(self.ticks[looks])
            axis.get_tightbbox = lambda renderer, **how: None  # a title would ask, for an offset
            return

        def draw_and_keep(renderer):
            first = len(self.marks)
            type(axis).draw(axis, self)
            self.ticks[looks] = self.marks[first:]

        axis.draw = draw_and_keep

    def _geometry(self, ax):
        """What `Drawing.axes` says of an axes: where it stands, its limits, and what its axes are called."""
        scales = ax.get_xscale(), ax.get_yscale()
        if not data.shown(ax) or not set(scales) <= {"linear", "log"}:
            return None
        corners = ax.get_window_extent().get_points()
        (left, bottom), (right, top) = self.place.transform(corners).round(2).tolist()
        limits = [float(limit) for limit in ax.get_xlim() + ax.get_ylim()]
        log = [int(scale == "log") for scale in scales]
        return (left, top, right, bottom, *limits, *log, *data.names(ax), style.reached(ax))

    def get_canvas_width_height(self):
        return self.width, self.height

    def get_image_magnification(self):
        return MAGNIFY

    def option_image_nocomposite(self):
        return True

    option_scale_image = option_image_nocomposite

    def draw_path(self, gc, path, transform, rgbFace=None):
        if gc.get_hatch():
            raise ValueError(
                f"hatch = '{gc.get_hatch()}' is not allowed: the explorer draws fills without hatches"
            )
        if rgbFace is None:  # of a line, what lies outside or makes no difference is left out
            canvas = 0, 0, self.width * UNITS, self.height * UNITS
            shape = self._shape(path, transform, clip=canvas, simplify=path.should_simplify)
        else:
            shape = self._shape(path, transform, simplify=False)
        self._mark(gc, [(*shape, self._style(gc, rgbFace))])

    def draw_markers(self, gc, marker_path, marker_trans, path, trans, rgbFace=None):
        points = (trans + self.place).transform(path.vertices)
        points = points[np.isfinite(points).all(1)]
        marker = placed(marker_path, marker_trans + FLIP)
        look = self._style(gc, rgbFace)
        self._mark(gc, [(marker, point, look) for point in quantise(points)])

    def draw_path_collection(
        self,
        gc,
        master_transform,
        paths,
        all_transforms,
        offsets,
        offset_trans,
        *looks,
        **more,
    ):
        raw = self._iter_collection_raw_paths(master_transform, paths, all_transforms)
        shapes = [self._shape(path, transform) for path, transform in raw]
        # Lines stand where their own vertices say, at no offset; dots are one shape at many offsets.
        drawn = []
        for x, y, (text, start), own, face in self._iter_collection(
            gc, shapes, offsets, offset_trans, *looks, **more
        ):
            point = start + quantise(FLIP.transform((x, y)))
            drawn.append((text, point, self._style(own, face)))
        self._mark(gc, drawn)

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        text = lettering(s, prop, angle, ismath)
        if text:
            gc.set_linewidth(0)
            self.letters = min(self.letters, prop.get_size_in_points() * UNITS)
            point = quantise((x * UNITS, y * UNITS))
            self._mark(gc, [(text, point, self._style(gc, gc.get_rgb()))])

    def draw_image(self, gc, x, y, im, transform=None):
        if transform is None:  # else it takes the unit square to the image's place
            rows, columns = im.shape[:2]
            transform = Affine2D().scale(columns / MAGNIFY, rows / MAGNIFY)
        to_units = transform + Affine2D().translate(x, y) + self.place
        (x0, y0), (x1, y1) = quantise(to_units.transform([(0, 0), (1, 1)])).tolist()
        if y0 >= y1:  # its first row is the upper one in the page
            im = im[::-1]
        if x0 >= x1:
            im = im[:, ::-1]
        image = png(im.tobytes(), im.shape)
        wide, high = abs(x1 - x0), abs(y1 - y0)
        x, y = (min(x0, x1), wide), (min(y0, y1), high)
        self.marks.append(Mark(self._clips(gc), (), (), x, y, image))

    def _shape(self, path, transform, **how) -> tuple[str, np.ndarray]:
        """Path data and first point (2,) of a path where it is drawn; no text where nothing is left of it."""
        vertices, codes = whole(path, transform + self.place, **how)
        if not len(vertices):
            return "", np.zeros(2, int)
        return encode(vertices, codes, vertices[0]), vertices[0]

    def _mark(self, gc, drawn):
        """Draw (path data, point, style) one after another as one mark."""
        drawn = [each for each in drawn if each[0]]
        if not drawn:
            return
        texts, points, styles = zip(*drawn, strict=True)
        x, y = zip(*np.array(points).tolist(), strict=True)
        self.marks.append(Mark(self._clips(gc), texts, styles, x, y, None))

    def _clips(self, gc) -> tuple[str, ...]:
        """The paths, placed at the canvas's corner, that the drawing is cut to."""
        texts = []
        path, transform = gc.get_clip_path()
        if path is not None:
            texts.append(placed(path, transform + self.place))
        rectangle = gc.get_clip_rectangle()
        if rectangle is not None:
            to_units = BboxTransformTo(rectangle) + self.place
            texts.append(placed(Path.unit_rectangle(), to_units))
        return tuple(texts)

    def _style(self, gc, face) -> str:
        """SVG attributes of fill and stroke."""
        words = [_paint("fill", face, gc)]
        width = gc.get_linewidth() * UNITS
        if width > 0:
            words.append(_paint("stroke", gc.get_rgb(), gc))
            cap = gc.get_capstyle().replace("projecting", "square")
            words.append(f'stroke-width="{width:.4g}" stroke-linecap="{cap}"')
            words.append(f'stroke-linejoin="{gc.get_joinstyle()}"')
            offset, dashes = gc.get_dashes()
            if dashes is not None:
                lengths = " ".join(f"{dash * UNITS:.4g}" for dash in dashes)
                words.append(f'stroke-dasharray="{lengths}"')
                words.append(f'stroke-dashoffset="{offset * UNITS:.4g}"')
        if not gc.get_antialiased():
            words.append('shape-rendering="crispEdges"')
        return " ".join(words)


def _paint(name, rgba, gc) -> str:
    """The SVG attributes of a fill or a stroke: colour and opacity."""
    if rgba is None:
        return f'{name}="none"'
    alpha = gc.get_alpha() if gc.get_forced_alpha() else to_rgba(rgba)[3]
    if alpha <= 0:
        return f'{name}="none"'
    opacity = f' {name}-opacity="{alpha:.3g}"' if alpha < 1 else ""
    return f'{name}="{to_hex(rgba)}"{opacity}'


def _keep_cells(ax) -> None:
    """Let the cells of small matrices through as they are: smaller than resampled, and sharp at any size."""
    for image in ax.images:
        plain = image.get_interpolation() in ("auto", "antialiased", "nearest")
        if plain and max(image.get_size()) <= CELLS:
            image.set_interpolation("none")


def rounded(column) -> np.ndarray:
    """A column as float32 of 16 binary digits, about five decimal ones; whole numbers up to 65,536 stay as they are.

    The last byte of each, which would be 0, is left out: whole numbers of three bytes. The numbers are most of what a
    page weighs, and digits do not compress.
    """
    bits = column.astype(np.float32).view(np.uint32)
    return (bits + np.uint32(0x80)) >> np.uint32(8)


def packed(columns) -> bytes:
    """Columns of `rounded` numbers as bytes, each number as the difference from the one before it in its column.

    All last bytes come first, then all second ones, then all first ones: neighbours are alike.
    """
    steps = [np.diff(column, prepend=np.uint32(0)) for column in columns]
    flat = np.concatenate([np.zeros(0, np.uint32), *steps])
    return flat.view(np.uint8).reshape(-1, 4)[:, :3].T.tobytes()


class Scene:
    """The frames of one explorer: `add` takes the next one's `Drawing`, `payload` is all of them as text.

    What frames share is stored once. Each table is a dict {thing: its number}, and frames hold numbers.

    Attributes:
        ops: the marks. axes: tuples of what `Drawing.axes` says.
        columns: bytes of `rounded` numbers. series: what `data.Series` says, with the numbers of its columns.
        frames: (numbers of its ops, number of its axes, numbers of its series, alt text) of each frame.
        size: of all frames. letters: the smallest letters of each.
    """

    def __init__(self):
        self.ops, self.axes, self.columns, self.series = {}, {}, {}, {}
        self.frames, self.letters = [], []
        self.size = None

    def add(self, drawing):
        """Number what the next frame consists of.

        Raises:
            ValueError: its size differs from the first one's.
        """
        if self.size not in (None, drawing.size):
            raise ValueError(
                f"figure size {drawing.size} differs from the first frame's {self.size}: "
                "all frames share one size"
            )
        self.size = drawing.size
        self.letters.append(drawing.letters)
        ops = [number(self.ops, mark) for mark in drawing.marks]
        axes = number(self.axes, drawing.axes)
        held = []
        for *about, columns in drawing.series:
            for column in columns:
                about.append(number(self.columns, rounded(column).tobytes()))
            held.append(number(self.series, tuple(about)))
        self.frames.append((ops, axes, held, drawing.alt))

    def payload(self) -> str:
        """All frames as gzipped JSON, a space, and gzipped numbers, each as base64: `frames.js` unpacks them."""
        paths, styles = {}, {}
        # One list for each property of the marks: what is alike stands side by side, which compresses well.
        ops = {name: [] for name in ("clips", "paths", "styles", "x", "y", "images")}
        for mark in self.ops:
            ops["clips"].append([number(paths, text) for text in mark.clips])
            ops["paths"].append(deltas([number(paths, text) for text in mark.paths]))
            ops["styles"].append([number(styles, text) for text in mark.styles])
            ops["x"].append(deltas(mark.x))
            ops["y"].append(deltas(mark.y))
            ops["images"].append(mark.image)
        columns = [np.frombuffer(column, np.uint32) for column in self.columns]
        contents = {
            "paths": list(paths),
            "styles": list(styles),
            "ops": ops,
            "axes": list(self.axes),
            "series": list(self.series),
            "frames": self.frames,
        }
        contents["lengths"] = list(map(len, columns))
        contents |= {"units": UNITS, "size": self.size, "letters": min(self.letters)}
        text = json.dumps(contents, separators=(",", ":"), ensure_ascii=False)
        parts = [
            base64.b64encode(gzip.compress(part, 9, mtime=0)).decode()
            for part in (text.encode(), packed(columns))
        ]
        return " ".join(parts)
