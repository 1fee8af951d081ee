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
COMMANDS = {
    Path.MOVETO: ("m", 1),
    Path.LINETO: ("l", 1),
    Path.CURVE3: ("q", 2),
    Path.CURVE4: ("c", 3),
}


def quantise(vertices) -> np.ndarray:
    """`vertices` (n, 2), in units, as whole numbers (n, 2)."""
    return np.clip(np.rint(vertices), -FAR, FAR).astype(np.int64)


def encode(vertices, codes, origin) -> str:
    """SVG path data, relative from the point `origin`, of whole `vertices` (n, 2) with `codes` (n,), no STOP."""
    if (codes[1:] == Path.LINETO).all():
        steps = np.diff(vertices, axis=0, prepend=np.asarray(origin)[None])
        return ("m%d %d" + "l%d %d" * (len(steps) - 1)) % tuple(steps.ravel().tolist())
    words, (x, y), points, i = [], map(int, origin), vertices.tolist(), 0
    start = x, y
    while i < len(points):
        if codes[i] == Path.CLOSEPOLY:
            words.append("z")
            (x, y), i = start, i + 1
            continue
        letter, count = COMMANDS[codes[i]]
        words.append(letter + " ".join(f"{px - x} {py - y}" for px, py in points[i : i + count]))
        (x, y), i = points[i + count - 1], i + count
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
    return encode(quantise(path.vertices[:-1]), path.codes[:-1], (0, 0))


def deltas(values) -> list[int]:
    """Whole numbers as differences from the one before."""
    return np.diff(np.asarray(values, np.int64), prepend=0).tolist()


def ragged(rows) -> tuple[list[int], list[int]]:
    """Rows of whole numbers as (differences of lengths, differences of all numbers one after the other)."""
    return deltas([len(row) for row in rows]), deltas([value for row in rows for value in row])


def png(rgba) -> str:
    """`rgba` (rows, columns, 4), uint8, as a base64 PNG, with a palette where it has at most 256 colours."""
    colours, index = np.unique(rgba.view(np.uint32), return_inverse=True)
    image, buffer = Image.fromarray(rgba), io.BytesIO()
    if len(colours) <= 256:
        image = Image.fromarray(index.reshape(rgba.shape[:2]).astype(np.uint8))
        image.putpalette(colours.tobytes(), "RGBA")
    image.save(buffer, "png")
    return base64.b64encode(buffer.getvalue()).decode()


@dataclasses.dataclass(frozen=True)
class Drawing:
    """One frame as plain data.

    Attributes:
        size: width and height in units.
        marks: in drawing order, (clips, paths, styles, points, image): clips and paths as path data, paths and styles
            one or one for each point, points as flat x and y in units, image None or a base64 PNG, which has no paths
            and whose points are its corner and size.
        axes: of each axes, (x0, y0, x1, y1 in units, x limits, y limits, x log, y log, *`data.names`); None if hidden.
        series: the numbers behind the marks, as `data.series` gives them.
        letters: the smallest size of letters, in units. alt: the alt text.
    """

    size: tuple
    marks: list
    axes: tuple
    series: list
    letters: float
    alt: str


class Pen(RendererBase):
    """Draws pictures: collects matplotlib's drawing calls as marks. What is slow to make and comes again is made once.

    A figure with the same surroundings as an earlier one is laid out as that was, so drawings depend on what the pen
    has drawn before. Letters do not, so all pens of a process share them: 0.3 s for each pen of a book's page.
    """

    text, extent = {}, {}

    def __init__(self):
        super().__init__()
        self.png, self.layout, self.flip = {}, {}, Affine2D().scale(UNITS, -UNITS)

    def draw(self, picture) -> Drawing:
        """Draw a `Picture`, and keep the numbers that its artists hold."""
        fig = picture.fig
        fig.dpi = 72
        self.width, self.height = fig.get_size_inches() * 72
        self.place = self.flip.frozen().translate(0, self.height * UNITS)
        self.marks, self.letters, axes = [], self.height * UNITS, data.panels(fig)
        for ax in axes:
            for image in (
                ax.images
            ):  # let cells through as they are: smaller than resampled, and sharp at any size
                if (
                    image.get_interpolation() in ("auto", "antialiased", "nearest")
                    and max(image.get_size()) <= CELLS
                ):
                    image.set_interpolation("none")
        fig.set_canvas(FigureCanvasBase(fig))
        fig.canvas.get_renderer = lambda: self  # the layout engine measures text with what draws it
        with mpl.rc_context(style.RC):
            data.arrange(fig, self.layout)
            fig.draw(self)
        size = round(self.width * UNITS), round(self.height * UNITS)
        return Drawing(
            size,
            self.marks,
            tuple(map(self._geometry, axes)),
            data.series(axes),
            self.letters,
            picture.alt,
        )

    def _geometry(self, ax):
        scales = ax.get_xscale(), ax.get_yscale()
        if not data.shown(ax) or not set(scales) <= {"linear", "log"}:
            return None
        (x0, y1), (x1, y0) = self.place.transform(ax.get_window_extent().get_points())
        return (
            *(round(float(v), 2) for v in (x0, y0, x1, y1)),
            *map(float, (*ax.get_xlim(), *ax.get_ylim())),
            *(int(s == "log") for s in scales),
            *data.names(ax),
        )

    def get_canvas_width_height(self):
        return self.width, self.height

    def get_image_magnification(self):
        return MAGNIFY

    def get_text_width_height_descent(self, s, prop, ismath):
        measure = super().get_text_width_height_descent
        return once(self.extent, (s, hash(prop), ismath), lambda: measure(s, prop, ismath))

    def option_image_nocomposite(self):
        return True

    option_scale_image = option_image_nocomposite

    def draw_path(self, gc, path, transform, rgbFace=None):
        if gc.get_hatch():
            raise ValueError(
                f"hatch = '{gc.get_hatch()}' is not allowed: the explorer draws fills without hatches"
            )
        clip = None if rgbFace is not None else (0, 0, self.width * UNITS, self.height * UNITS)
        text, point = self._line(
            path,
            transform,
            clip=clip,
            simplify=clip is not None and path.should_simplify,
            sketch=gc.get_sketch_params(),
        )
        if text:
            self._mark(gc, [text], [self._style(gc, rgbFace)], point)

    def draw_markers(self, gc, marker_path, marker_trans, path, trans, rgbFace=None):
        points = (trans + self.place).transform(path.vertices)
        self._mark(
            gc,
            [placed(marker_path, marker_trans + self.flip)],
            [self._style(gc, rgbFace)],
            quantise(points[np.isfinite(points).all(1)]),
        )

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
        lines = not offset_trans.transform(offsets).any()
        shapes = [
            self._line(*raw) if lines else (placed(raw[0], raw[1] + self.flip), None)
            for raw in self._iter_collection_raw_paths(master_transform, paths, all_transforms)
        ]
        marks = [
            (
                text,
                self._style(gc0, face),
                point if lines else quantise(self.place.transform([(x, y)])),
            )
            for x, y, (text, point), gc0, face in self._iter_collection(
                gc, shapes, offsets, offset_trans, *args, hatchcolors=hatchcolors
            )
            if text
        ]
        if marks:
            texts, styles, points = zip(*marks, strict=True)
            self._mark(gc, texts, styles, np.concatenate(points))

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        def letters():
            glyphs = Path(*self._text2path.get_text_path(prop, s, ismath=ismath))
            turn = (
                Affine2D()
                .scale(prop.get_size_in_points() / self._text2path.FONT_SCALE)
                .rotate_deg(angle)
            )
            return placed(glyphs, turn + self.flip) if len(glyphs) else ""

        if text := once(self.text, (s, hash(prop), angle, ismath), letters):
            gc.set_linewidth(0)
            self.letters = min(self.letters, prop.get_size_in_points() * UNITS)
            self._mark(
                gc, [text], [self._style(gc, gc.get_rgb())], quantise(np.array([[x, y]]) * UNITS)
            )

    def draw_image(self, gc, x, y, im, transform=None):
        if transform is None:  # else it takes the unit square to the image's place
            transform = Affine2D().scale(im.shape[1] / MAGNIFY, im.shape[0] / MAGNIFY)
        (x0, y0), (x1, y1) = (transform + Affine2D().translate(x, y) + self.place).transform(
            [(0, 0), (1, 1)]
        )
        pixels = np.ascontiguousarray(im[:: 1 if y0 < y1 else -1, :: 1 if x0 < x1 else -1])
        box = quantise(np.array([[min(x0, x1), min(y0, y1)], [abs(x1 - x0), abs(y1 - y0)]]))
        self._mark(
            gc, (), (), box, image=once(self.png, (im.shape, pixels.tobytes()), lambda: png(pixels))
        )

    def _line(self, path, transform, **how) -> tuple[str, np.ndarray]:
        """Path data and first point (1, 2) of a path where it is drawn; no text where nothing is left of it."""
        path = path.cleaned(transform + self.place, remove_nans=True, **how)
        vertices = quantise(path.vertices[:-1])
        return encode(vertices, path.codes[:-1], vertices[0]) if len(vertices) else "", vertices[:1]

    def _mark(self, gc, texts, styles, points, image=None):
        """Draw paths at `points` (n, 2), one path or style, or one for each point; or the image, as `Drawing` says."""
        texts, styles = (items[:1] if len(set(items)) == 1 else items for items in (texts, styles))
        self.marks.append(
            (self._clips(gc), tuple(texts), tuple(styles), tuple(points.ravel().tolist()), image)
        )

    def _clips(self, gc) -> tuple[str, ...]:
        """The paths, placed at the canvas's corner, that the drawing is cut to."""
        rectangle, (path, transform) = gc.get_clip_rectangle(), gc.get_clip_path()
        texts = [] if path is None else [placed(path, transform + self.place)]
        if rectangle is not None:
            texts.append(placed(Path.unit_rectangle(), BboxTransformTo(rectangle) + self.place))
        return tuple(texts)

    def _style(self, gc, face) -> str:
        """SVG attributes of fill and stroke."""
        words, width = [], gc.get_linewidth() * UNITS
        for name, rgba in [("fill", face), ("stroke", gc.get_rgb())][: 1 + (width > 0)]:
            alpha = (
                0 if rgba is None else gc.get_alpha() if gc.get_forced_alpha() else to_rgba(rgba)[3]
            )
            opacity = f' {name}-opacity="{alpha:.3g}"' if alpha < 1 else ""
            words.append(f'{name}="{to_hex(rgba)}"{opacity}' if alpha > 0 else f'{name}="none"')
        if width > 0 and alpha > 0:
            cap, join = gc.get_capstyle().replace("projecting", "square"), gc.get_joinstyle()
            words.append(
                f'stroke-width="{width:.4g}" stroke-linecap="{cap}" stroke-linejoin="{join}"'
            )
            offset, dashes = gc.get_dashes()
            if dashes is not None:
                lengths = " ".join(f"{d * UNITS:.4g}" for d in dashes)
                words.append(
                    f'stroke-dasharray="{lengths}" stroke-dashoffset="{offset * UNITS:.4g}"'
                )
        if not gc.get_antialiased():
            words.append('shape-rendering="crispEdges"')
        return " ".join(words)


class Scene:
    """The frames of one explorer: `add` takes the next one's `Drawing`, `payload` is all of them as text."""

    def __init__(self):
        # what the frames share: distinct things -> their numbers
        self.paths, self.points, self.lists, self.styles, self.images, self.ops, self.axes = (
            {} for _ in range(7)
        )
        self.series, self.columns, self.frames, self.size, self.letters = {}, {}, [], None, []

    def add(self, drawing):
        """Number the marks of the next frame; ValueError where its size differs from the first one's."""
        if self.size not in (None, drawing.size):
            raise ValueError(
                f"figure size {drawing.size} differs from the first frame's {self.size}: "
                "all frames share one size"
            )
        self.size, ops = drawing.size, []
        self.letters.append(drawing.letters)
        for *texts, styles, points, image in drawing.marks:
            lists = [(self.paths, texts[0]), (self.paths, texts[1]), (self.styles, styles)]
            op = (
                *(
                    number(self.lists, tuple(number(table, item) for item in items))
                    for table, items in lists
                ),
                number(self.points, points),
                -1 if image is None else number(self.images, image),
            )
            ops.append(number(self.ops, op))
        held = [
            number(
                self.series,
                (*head, *(number(self.columns, c.astype(np.float32).tobytes()) for c in columns)),
            )
            for *head, columns in drawing.series
        ]
        self.frames.append((ops, number(self.axes, drawing.axes), held, drawing.alt))

    def payload(self) -> str:
        """All frames as base64 of gzipped JSON; number columns hold differences, which compress well."""
        numbers = np.frombuffer(b"".join(self.columns), np.uint8).reshape(
            -1, 4
        )  # of which all first bytes come first
        data = {
            "units": UNITS,
            "size": self.size,
            "letters": min(self.letters),
            "paths": list(self.paths),
            "x": ragged([p[0::2] for p in self.points]),
            "y": ragged([p[1::2] for p in self.points]),
            "lists": ragged(self.lists),
            "ops": [deltas(column) for column in zip(*self.ops, strict=True)],
            "styles": list(self.styles),
            "images": list(self.images),
            "series": list(self.series),
            "lengths": [len(c) // 4 for c in self.columns],
            "numbers": base64.b64encode(numbers.T.tobytes()).decode(),
            "axes": list(self.axes),
            "frames": [(deltas(ops), *rest) for ops, *rest in self.frames],
        }
        packed = gzip.compress(
            json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode(), 9, mtime=0
        )
        return base64.b64encode(packed).decode()
