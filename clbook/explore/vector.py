"""Matplotlib's own drawing as a compact display list that the player turns back into SVG, frame by frame.

Every mark - line, marker, text, filled shape - is a path drawn at a position with a style. Paths are SVG path data in
relative whole units: already delta-coded, and the same wherever they stand. A `Pen` turns one figure into such marks, a
`Scene` stores what many frames share once; they meet in plain data, so pens may work in other processes.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import io
import json
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.backend_bases import FigureCanvasBase, RendererBase
from matplotlib.colors import to_hex, to_rgba
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, BboxTransformTo
from PIL import Image

from clbook import style
from clbook.explore import data

UNITS = 20  # drawing units in a canvas pixel; a canvas pixel is a point, 1/72 inch
MAGNIFY = 2  # image pixels in a canvas pixel
CELLS = 128  # images with at most so many rows and columns are kept as cells, not resampled
FAR = 10_000 * UNITS  # vertices further out than this are pulled in, so that no viewer overflows
# Matplotlib's codes of a path -> the letter in SVG, and the points that it takes.
COMMANDS = {
    Path.MOVETO: ("m", 1),
    Path.LINETO: ("l", 1),
    Path.CURVE3: ("q", 2),
    Path.CURVE4: ("c", 3),
}


def quantise(vertices) -> np.ndarray:
    """`vertices` (n, 2), in units, as whole numbers (n, 2)."""
    whole = np.rint(vertices)
    return np.clip(whole, -FAR, FAR).astype(np.int64)


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
    x, y = map(int, origin)
    start = x, y  # where the present piece of the path began
    points = vertices.tolist()
    i = 0
    while i < len(points):
        if codes[i] == Path.CLOSEPOLY:
            words.append("z")
            x, y = start
            i += 1
            continue
        letter, count = COMMANDS[codes[i]]
        steps = [f"{px - x} {py - y}" for px, py in points[i : i + count]]
        words.append(letter + " ".join(steps))
        x, y = points[i + count - 1]
        i += count
        if letter == "m":
            start = x, y
    return "".join(words)


def number(table, key) -> int:
    """The place of `key` among the distinct keys of the dict `table`, in order of their first appearance."""
    return table.setdefault(key, len(table))


def once(known, key, make):
    """`known[key]`, made by `make()` where it is new."""
    if key not in known:
        known[key] = make()
    return known[key]


def placed(path, transform) -> str:
    """Path data of a matplotlib path that `transform` takes to units, drawn from (0, 0)."""
    path = path.cleaned(transform)
    vertices = quantise(path.vertices[:-1])  # the last one is a STOP
    return encode(vertices, path.codes[:-1], (0, 0))


def deltas(values) -> list[int]:
    """Whole numbers as differences from the one before."""
    values = np.asarray(values, np.int64)
    return np.diff(values, prepend=0).tolist()


def ragged(rows) -> tuple[list[int], list[int]]:
    """Rows of whole numbers as (differences of lengths, differences of all numbers one after the other)."""
    lengths = [len(row) for row in rows]
    values = [value for row in rows for value in row]
    return deltas(lengths), deltas(values)


def base64_text(data: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(data).decode()


def png(rgba) -> str:
    """`rgba` (rows, columns, 4), uint8, as a base64 PNG, with a palette where it has at most 256 colours."""
    image = Image.fromarray(rgba)
    colours, index = np.unique(rgba.view(np.uint32), return_inverse=True)
    if len(colours) <= 256:
        index = index.reshape(rgba.shape[:2]).astype(np.uint8)
        image = Image.fromarray(index)
        image.putpalette(colours.tobytes(), "RGBA")
    buffer = io.BytesIO()
    image.save(buffer, "png")
    return base64_text(buffer.getvalue())


class Mark(NamedTuple):
    """Paths, or an image, as they are drawn.

    Attributes:
        clips: path data of what the drawing is cut to, placed at the canvas's corner.
        paths: path data, one or one for each point.
        styles: SVG attributes, one or one for each point.
        points: flat x and y in units, where the paths stand; of an image its corner and its size.
        image: None or a base64 PNG, which has no paths.
    """

    clips: tuple
    paths: tuple
    styles: tuple
    points: tuple
    image: str | None


@dataclasses.dataclass(frozen=True)
class Drawing:
    """One frame as plain data.

    Attributes:
        size: width and height in units.
        marks: in drawing order.
        axes: of each axes, (x0, y0, x1, y1 in units, x limits, y limits, x log, y log, *`data.names`); None if hidden.
        series: the numbers behind the marks, as `data.series` gives them.
        letters: the smallest size of letters, in units.
        alt: the alt text.
    """

    size: tuple
    marks: list[Mark]
    axes: tuple
    series: list[data.Series]
    letters: float
    alt: str


class Pen(RendererBase):
    """Draws pictures: collects matplotlib's drawing calls as marks. What is slow to make and comes again is made once.

    A figure with the same surroundings as an earlier one is laid out as that was, so drawings depend on what the pen
    has drawn before. Letters do not, so all pens of a process share them: 0.3 s for each pen of a book's page.

    The methods without a docstring are those that matplotlib calls of a renderer. `gc` has colours and line widths,
    transforms lead to pixels from the lower left corner.
    """

    text, extent = {}, {}  # path data of a text, and its width, height and depth

    def __init__(self):
        super().__init__()
        self.png = {}  # images that have been encoded
        self.layout = {}  # where axes stood, as `data.arrange` notes it
        self.flip = Affine2D().scale(UNITS, -UNITS)  # to units, y downwards

    def draw(self, picture) -> Drawing:
        """Draw a `Picture`, and keep the numbers that its artists hold."""
        fig = picture.fig
        fig.dpi = 72
        self.width, self.height = fig.get_size_inches() * 72
        self.place = self.flip.frozen().translate(0, self.height * UNITS)  # pixels to units
        self.marks = []
        self.letters = self.height * UNITS
        axes = data.panels(fig)
        for ax in axes:
            _keep_cells(ax)
        fig.set_canvas(FigureCanvasBase(fig))
        fig.canvas.get_renderer = lambda: self  # the layout engine measures text with what draws it
        with mpl.rc_context(style.RC):
            data.arrange(fig, self.layout)
            fig.draw(self)
        size = round(self.width * UNITS), round(self.height * UNITS)
        places = tuple(self._geometry(ax) for ax in axes)
        return Drawing(
            size=size,
            marks=self.marks,
            axes=places,
            series=data.series(axes),
            letters=self.letters,
            alt=picture.alt,
        )

    def _geometry(self, ax):
        """What `Drawing.axes` says of an axes: where it stands, its limits, and what its axes are called."""
        scales = ax.get_xscale(), ax.get_yscale()
        if not data.shown(ax) or not set(scales) <= {"linear", "log"}:
            return None
        corners = ax.get_window_extent().get_points()
        (left, bottom), (right, top) = self.place.transform(corners)
        where = [round(float(value), 2) for value in (left, top, right, bottom)]
        limits = [float(limit) for limit in ax.get_xlim() + ax.get_ylim()]
        log = [int(scale == "log") for scale in scales]
        return (*where, *limits, *log, *data.names(ax))

    def get_canvas_width_height(self):
        return self.width, self.height

    def get_image_magnification(self):
        return MAGNIFY

    def get_text_width_height_descent(self, s, prop, ismath):
        measure = super().get_text_width_height_descent
        key = s, hash(prop), ismath
        return once(self.extent, key, lambda: measure(s, prop, ismath))

    def option_image_nocomposite(self):
        return True

    option_scale_image = option_image_nocomposite

    def draw_path(self, gc, path, transform, rgbFace=None):
        if gc.get_hatch():
            raise ValueError(
                f"hatch = '{gc.get_hatch()}' is not allowed: the explorer draws fills without hatches"
            )
        how = {"sketch": gc.get_sketch_params()}
        if rgbFace is None:  # of a line, what lies outside or makes no difference is left out
            how["clip"] = 0, 0, self.width * UNITS, self.height * UNITS
            how["simplify"] = path.should_simplify
        else:
            how["simplify"] = False
        text, point = self._line(path, transform, **how)
        if text:
            self._mark(gc, [text], [self._style(gc, rgbFace)], point)

    def draw_markers(self, gc, marker_path, marker_trans, path, trans, rgbFace=None):
        points = (trans + self.place).transform(path.vertices)
        points = points[np.isfinite(points).all(1)]
        marker = placed(marker_path, marker_trans + self.flip)
        self._mark(gc, [marker], [self._style(gc, rgbFace)], quantise(points))

    def draw_path_collection(
        self,
        gc,
        master_transform,
        paths,
        all_transforms,
        offsets,
        offset_trans,
        *args,
        hatchcolors=(),
    ):
        # Lines stand where their own vertices say; dots are one shape at many offsets.
        are_lines = not offset_trans.transform(offsets).any()
        shapes = []
        for path, transform in self._iter_collection_raw_paths(
            master_transform, paths, all_transforms
        ):
            if are_lines:
                shapes.append(self._line(path, transform))
            else:
                shapes.append((placed(path, transform + self.flip), None))
        texts, styles, points = [], [], []
        for x, y, (text, point), gc_of_one, face in self._iter_collection(
            gc, shapes, offsets, offset_trans, *args, hatchcolors=hatchcolors
        ):
            if not text:
                continue
            if not are_lines:
                point = quantise(self.place.transform([(x, y)]))
            texts.append(text)
            styles.append(self._style(gc_of_one, face))
            points.append(point)
        if texts:
            self._mark(gc, texts, styles, np.concatenate(points))

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        size = prop.get_size_in_points()

        def letters():
            glyphs = Path(*self._text2path.get_text_path(prop, s, ismath=ismath))
            if not len(glyphs):
                return ""
            turn = Affine2D().scale(size / self._text2path.FONT_SCALE).rotate_deg(angle)
            return placed(glyphs, turn + self.flip)

        text = once(self.text, (s, hash(prop), angle, ismath), letters)
        if text:
            gc.set_linewidth(0)
            self.letters = min(self.letters, size * UNITS)
            point = quantise(np.array([[x, y]]) * UNITS)
            self._mark(gc, [text], [self._style(gc, gc.get_rgb())], point)

    def draw_image(self, gc, x, y, im, transform=None):
        if transform is None:  # else it takes the unit square to the image's place
            rows, columns = im.shape[:2]
            transform = Affine2D().scale(columns / MAGNIFY, rows / MAGNIFY)
        to_units = transform + Affine2D().translate(x, y) + self.place
        (x0, y0), (x1, y1) = to_units.transform([(0, 0), (1, 1)])
        if y0 >= y1:  # its first row is the upper one in the page
            im = im[::-1]
        if x0 >= x1:
            im = im[:, ::-1]
        pixels = np.ascontiguousarray(im)
        corner = min(x0, x1), min(y0, y1)
        size = abs(x1 - x0), abs(y1 - y0)
        image = once(self.png, (im.shape, pixels.tobytes()), lambda: png(pixels))
        self._mark(gc, (), (), quantise([corner, size]), image)

    def _line(self, path, transform, **how) -> tuple[str, np.ndarray]:
        """Path data and first point (1, 2) of a path where it is drawn; no text where nothing is left of it."""
        path = path.cleaned(transform + self.place, remove_nans=True, **how)
        vertices = quantise(path.vertices[:-1])
        if not len(vertices):
            return "", vertices
        return encode(vertices, path.codes[:-1], vertices[0]), vertices[:1]

    def _mark(self, gc, texts, styles, points, image=None):
        """Draw paths at `points` (n, 2), one path or style, or one for each point; or the image, as `Mark` says."""
        if len(set(texts)) == 1:
            texts = texts[:1]
        if len(set(styles)) == 1:
            styles = styles[:1]
        flat = tuple(points.ravel().tolist())
        mark = Mark(self._clips(gc), tuple(texts), tuple(styles), flat, image)
        self.marks.append(mark)

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
        width = gc.get_linewidth() * UNITS
        words = [_paint("fill", face, gc)]
        if width > 0:
            stroke = _paint("stroke", gc.get_rgb(), gc)
            words.append(stroke)
            if stroke != NO_STROKE:
                words += _pen_strokes(gc, width)
        if not gc.get_antialiased():
            words.append('shape-rendering="crispEdges"')
        return " ".join(words)


NO_STROKE = 'stroke="none"'


def _paint(name, rgba, gc) -> str:
    """The SVG attributes of a fill or a stroke: colour and opacity."""
    if rgba is None:
        alpha = 0
    elif gc.get_forced_alpha():
        alpha = gc.get_alpha()
    else:
        alpha = to_rgba(rgba)[3]
    if alpha <= 0:
        return f'{name}="none"'
    opacity = f' {name}-opacity="{alpha:.3g}"' if alpha < 1 else ""
    return f'{name}="{to_hex(rgba)}"{opacity}'


def _pen_strokes(gc, width) -> list[str]:
    """The SVG attributes of a line: its width, how it ends and turns, its dashes."""
    cap = gc.get_capstyle().replace("projecting", "square")
    join = gc.get_joinstyle()
    words = [f'stroke-width="{width:.4g}" stroke-linecap="{cap}" stroke-linejoin="{join}"']
    offset, dashes = gc.get_dashes()
    if dashes is not None:
        lengths = " ".join(f"{dash * UNITS:.4g}" for dash in dashes)
        words.append(f'stroke-dasharray="{lengths}" stroke-dashoffset="{offset * UNITS:.4g}"')
    return words


def _keep_cells(ax) -> None:
    """Let the cells of small matrices through as they are: smaller than resampled, and sharp at any size."""
    for image in ax.images:
        plain = image.get_interpolation() in ("auto", "antialiased", "nearest")
        if plain and max(image.get_size()) <= CELLS:
            image.set_interpolation("none")


class Scene:
    """The frames of one explorer: `add` takes the next one's `Drawing`, `payload` is all of them as text.

    What frames share is stored once. Each table is a dict {thing: its number}, and frames hold numbers.

    Attributes:
        paths, styles, images, points: what marks are made of.
        lists: tuples of numbers of paths or styles. ops: marks, as five such numbers.
        axes: tuples of what `Drawing.axes` says.
        columns: bytes of float32 numbers. series: what `data.Series` says, with the numbers of its columns.
        frames: (numbers of its ops, number of its axes, numbers of its series, alt text) of each frame.
        size: of all frames. letters: the smallest letters of each.
    """

    def __init__(self):
        self.paths, self.styles, self.images, self.points = {}, {}, {}, {}
        self.lists, self.ops, self.axes = {}, {}, {}
        self.columns, self.series = {}, {}
        self.frames, self.letters = [], []
        self.size = None

    def add(self, drawing):
        """Number the marks of the next frame.

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
        ops = [self._number_mark(mark) for mark in drawing.marks]
        axes = number(self.axes, drawing.axes)
        held = [self._number_series(one) for one in drawing.series]
        self.frames.append((ops, axes, held, drawing.alt))

    def _number_mark(self, mark) -> int:
        clips = self._number_list(self.paths, mark.clips)
        paths = self._number_list(self.paths, mark.paths)
        styles = self._number_list(self.styles, mark.styles)
        points = number(self.points, mark.points)
        image = -1
        if mark.image is not None:
            image = number(self.images, mark.image)
        return number(self.ops, (clips, paths, styles, points, image))

    def _number_list(self, table, items) -> int:
        numbers = [number(table, item) for item in items]
        return number(self.lists, tuple(numbers))

    def _number_series(self, one) -> int:
        *about, columns = one
        for column in columns:
            packed = column.astype(np.float32).tobytes()
            about.append(number(self.columns, packed))
        return number(self.series, tuple(about))

    def payload(self) -> str:
        """All frames as base64 of gzipped JSON; columns of numbers hold differences, which compress well.

        `frames.js` unpacks it.
        """
        contents = {
            "units": UNITS,
            "size": self.size,
            "letters": min(self.letters),
            **self._packed_marks(),
            **self._packed_numbers(),
            "axes": list(self.axes),
            "frames": [(deltas(ops), *rest) for ops, *rest in self.frames],
        }
        text = json.dumps(contents, separators=(",", ":"), ensure_ascii=False)
        return base64_text(gzip.compress(text.encode(), 9, mtime=0))

    def _packed_marks(self) -> dict:
        x = [points[0::2] for points in self.points]
        y = [points[1::2] for points in self.points]
        ops = zip(*self.ops, strict=True)  # column by column
        return {
            "paths": list(self.paths),
            "x": ragged(x),
            "y": ragged(y),
            "lists": ragged(self.lists),
            "ops": [deltas(column) for column in ops],
            "styles": list(self.styles),
            "images": list(self.images),
        }

    def _packed_numbers(self) -> dict:
        # All first bytes of the float32 numbers come first, then all second ones: neighbours are alike.
        numbers = np.frombuffer(b"".join(self.columns), np.uint8).reshape(-1, 4)
        return {
            "series": list(self.series),
            "lengths": [len(column) // 4 for column in self.columns],
            "numbers": base64_text(numbers.T.tobytes()),
        }
