"""Matplotlib's own drawing as a compact display list that the player turns back into SVG, frame by frame.

Every mark of a figure - line, marker, text, filled shape - is one thing: a path drawn at a position with a style. Paths
are SVG path data in relative whole units, so they are already delta-coded, do not depend on where they stand, and a
line that has grown since the last frame is the old text and a suffix. A `Pen` turns one figure into such marks, a
`Scene` stores what the drawings of many frames share once; they meet in plain data, so pens may work in other processes.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import io
import json
import os

import matplotlib as mpl
import numpy as np
from matplotlib.backend_bases import FigureCanvasBase, RendererBase
from matplotlib.colors import to_hex
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, BboxTransformTo
from PIL import Image

from clbook.figures import style

UNITS = 20  # drawing units in a canvas pixel; a canvas pixel is a point, 1/72 inch
MAGNIFY = 2  # image pixels in a canvas pixel
CELLS = 128  # images with at most so many rows and columns are kept as cells, not resampled
FAR = 10_000 * UNITS  # vertices further out than this are pulled in, so that no viewer overflows
TITLES = ("left", "center", "right")
COMMANDS = {Path.MOVETO: ("m", 1), Path.LINETO: ("l", 1), Path.CURVE3: ("q", 2), Path.CURVE4: ("c", 3)}


def quantise(vertices) -> np.ndarray:
    """`vertices` (n, 2), in units, as whole numbers (n, 2)."""
    return np.clip(np.rint(vertices), -FAR, FAR).astype(np.int64)


def encode(vertices, codes, origin) -> str:
    """SVG path data with relative coordinates, drawn from `origin`.

    Args:
        vertices: whole numbers (n, 2), in units.
        codes: matplotlib's path codes (n,), without STOP.
        origin: (2,), the point that the first command is relative to.
    """
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
        words.append(letter + " ".join(f"{px - x} {py - y}" for px, py in points[i:i + count]))
        (x, y), i = points[i + count - 1], i + count
        if letter == "m":
            start = x, y
    return "".join(words)


class Table(dict):
    """Distinct things, each numbered by its first appearance."""

    def number(self, key) -> int:
        return self.setdefault(key, len(self))


def deltas(values) -> list[int]:
    """Whole numbers as differences from the one before."""
    return np.diff(np.asarray(values, np.int64), prepend=0).tolist()


def ragged(rows) -> tuple[list[int], list[int]]:
    """Rows of whole numbers as (differences of lengths, differences of all numbers one after the other)."""
    return deltas([len(row) for row in rows]), deltas([value for row in rows for value in row])


def png(rgba) -> str:
    """`rgba` (rows, columns, 4), uint8, as a base64 PNG, with a palette where it has at most 256 colours."""
    colours, index = np.unique(rgba.view(np.uint32), return_inverse=True)
    if len(colours) <= 256:
        image = Image.fromarray(index.reshape(rgba.shape[:2]).astype(np.uint8))
        image.putpalette(colours.tobytes(), "RGBA")
    else:
        image = Image.fromarray(rgba)
    buffer = io.BytesIO()
    image.save(buffer, format="png")
    return base64.b64encode(buffer.getvalue()).decode()


class Canvas(FigureCanvasBase):
    """Lets the layout engine measure text with the renderer that draws it."""

    def get_renderer(self):
        return self.renderer


@dataclasses.dataclass(frozen=True)
class Drawing:
    """One frame as plain data.

    Attributes:
        size: width and height in units.
        marks: in drawing order, (clips, paths, styles, points, series, image): clips and paths as path data, paths and
            styles with one entry or one for each point, points as a flat tuple of x and y in units, series None or
            (number of the axes, name, 1 for a line and 0 for points), image None or a base64 PNG, which has no paths
            and whose points are its corner and size.
        axes: of each axes, in units, (x0, y0, x1, y1, x limits, y limits, x log, y log), or None where the read-out
            cannot invert it.
        alt: the alt text.
    """

    size: tuple
    marks: list
    axes: tuple
    alt: str


class Pen:
    """Draws pictures; what is slow to make and comes again is made once.

    A figure with the same surroundings as an earlier one is laid out as that was, so drawings depend on what the pen
    has drawn before. Letters do not, so all pens of a process share them: 0.3 s for each pen of a book's page.
    """

    text, extent = {}, {}

    def __init__(self):
        self.png, self.layout = {}, {}

    def draw(self, picture) -> Drawing:
        """Draw a `Picture`. Artists with a gid are data: the player offers their points as CSV under that name."""
        fig = picture.fig
        fig.dpi = 72
        size = tuple(round(v * UNITS) for v in fig.get_size_inches() * 72)
        axes = [ax for outer in fig.axes for ax in (outer, *outer.child_axes)]
        for k, ax in enumerate(axes):
            ax.set_gid(k)
            for image in ax.images:  # let cells through as they are: smaller than resampled, and sharp at any size
                if image.get_interpolation() in ("auto", "antialiased", "nearest") and max(image.get_size()) <= CELLS:
                    image.set_interpolation("none")
        fig.set_canvas(canvas := Canvas(fig))
        canvas.renderer = renderer = Renderer(self, fig)
        with mpl.rc_context(style.RC):
            self._arrange(fig, axes)
            fig.draw(renderer)
        return Drawing(size, renderer.marks, tuple(self._geometry(ax, size[1]) for ax in axes), picture.alt)

    def _arrange(self, fig, axes):
        """Place the axes: by the layout engine, or as it placed those of an earlier frame with the same surroundings.

        The engine takes longer than the drawing, and axes that stand still are easier to watch.
        """
        if fig.get_layout_engine() is None:
            return
        key = tuple((ax.get_xscale(), ax.get_yscale(), ax.get_xlim(), ax.get_ylim(), ax.get_aspect(), ax.get_xlabel(),
                     ax.get_ylabel(), [ax.get_title(loc).count("\n") + bool(ax.get_title(loc)) for loc in TITLES],
                     ax.get_visible()) for ax in axes)
        key = repr((key, fig.get_suptitle(), fig.get_supxlabel(), fig.get_supylabel()))
        if key not in self.layout:
            fig.get_layout_engine().execute(fig)
            self.layout[key] = [ax.get_position(original=True).frozen() for ax in axes]
        fig.set_layout_engine("none")
        for ax, position in zip(axes, self.layout[key], strict=True):
            ax.set_position(position, which="original")

    def _geometry(self, ax, height):
        scales = ax.get_xscale(), ax.get_yscale()
        if ax.name != "rectilinear" or not set(scales) <= {"linear", "log"} or not ax.get_visible():
            return None
        x0, y0, x1, y1 = ax.get_window_extent().extents * UNITS
        limits = (*ax.get_xlim(), *ax.get_ylim())
        return (*(round(float(v), 2) for v in (x0, height - y1, x1, height - y0)), *map(float, limits),
                *(int(s == "log") for s in scales))


class Scene:
    """The frames of one explorer: `add` takes the next one's `Drawing`, `payload` is all of them as text for the player."""

    def __init__(self):
        self.paths, self.points, self.lists = Table(), Table(), Table()
        self.styles, self.images, self.series, self.ops, self.axes = Table(), Table(), Table(), Table(), Table()
        self.frames, self.size = [], None
        self._texts, self._parts = [], []  # of each path: its text; (number of steps back, characters cut, suffix)
        self._slots = []  # the last frame's paths, in drawing order

    def add(self, drawing):
        """Number the marks of the next frame; ValueError where its size differs from the first one's."""
        if self.size not in (None, drawing.size):
            raise ValueError(f"figure size {drawing.size} differs from the first frame's {self.size}: "
                             "all frames share one size")
        self.size, slots, ops = drawing.size, [], []
        for clips, paths, styles, points, series, image in drawing.marks:
            op = (self._list(clips, slots), self._list(paths, slots),
                  self.lists.number(tuple(map(self.styles.number, styles))), self.points.number(points),
                  -1 if series is None else self.series.number(series),
                  -1 if image is None else self.images.number(image))
            ops.append(self.ops.number(op))
        self._slots = slots
        self.frames.append((ops, self.axes.number(drawing.axes), drawing.alt))

    def _list(self, texts, slots) -> int:
        """The number of a list of paths, whose numbers `slots` is extended by."""
        numbers = tuple(self._path(text, len(slots) + k) for k, text in enumerate(texts))
        slots.extend(numbers)
        return self.lists.number(numbers)

    def _path(self, text, slot) -> int:
        """The number of a path; a new one is stored as the path in the last frame's same `slot`, cut, and a suffix."""
        number = self.paths.number(text)
        if number == len(self._texts):
            reference = self._slots[slot] if slot < len(self._slots) else number
            before = self._texts[reference] if reference < number else ""
            shared = len(before) if text.startswith(before) else len(os.path.commonprefix([before, text]))
            self._texts.append(text)
            self._parts.append((number - reference, len(before) - shared, text[shared:]))
        return number

    def payload(self) -> str:
        """All frames as base64 of gzipped JSON; number columns hold differences, which compress well."""
        gaps, cuts, suffixes = zip(*self._parts, strict=True)
        ops = np.array(list(self.ops)).T
        data = {
            "units": UNITS, "size": self.size, "gaps": deltas(gaps), "cuts": cuts, "suffixes": suffixes,
            "x": ragged([p[0::2] for p in self.points]), "y": ragged([p[1::2] for p in self.points]),
            "lists": ragged(self.lists), "ops": [deltas(column) for column in ops],
            "styles": list(self.styles), "images": list(self.images), "series": list(self.series),
            "axes": list(self.axes), "frames": [(deltas(ops), axes, alt) for ops, axes, alt in self.frames]}
        packed = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
        return base64.b64encode(gzip.compress(packed, 9, mtime=0)).decode()


class Renderer(RendererBase):
    """Collects one figure's drawing calls as the marks of a `Drawing`."""

    def __init__(self, pen, fig):
        super().__init__()
        self.pen, self.marks = pen, []
        self.width, self.height = fig.get_size_inches() * 72
        self.flip = Affine2D().scale(UNITS, -UNITS)
        self.place = self.flip.frozen().translate(0, self.height * UNITS)
        self.drop = Affine2D().translate(0, -self.height)  # so that flip does what place does
        self.groups, self.label, self.rectangles = [], None, {}

    def get_canvas_width_height(self):
        return self.width, self.height

    def get_text_width_height_descent(self, s, prop, ismath):
        known, key = self.pen.extent, (s, hash(prop), ismath)
        if key not in known:
            known[key] = super().get_text_width_height_descent(s, prop, ismath)
        return known[key]

    def option_image_nocomposite(self):
        return True

    def option_scale_image(self):
        return True

    def get_image_magnification(self):
        return MAGNIFY

    def open_group(self, s, gid=None):
        self.groups.append((s, gid))
        if gid is not None and s != "axes":
            axes = [g for name, g in self.groups if name == "axes"]
            self.label = (axes[-1], str(gid)) if axes else None

    def close_group(self, s):
        self.groups.pop()
        self.label = None

    def draw_path(self, gc, path, transform, rgbFace=None):
        if gc.get_hatch():
            raise ValueError(f"hatch = '{gc.get_hatch()}' is not allowed: the explorer draws fills without hatches")
        clip = (0, 0, self.width * UNITS, self.height * UNITS)
        plain = rgbFace is None and self.label is None
        path = path.cleaned(transform + self.place, remove_nans=True, clip=clip if plain else None,
                            simplify=path.should_simplify if plain else False, sketch=gc.get_sketch_params())
        vertices, codes = quantise(path.vertices[:-1]), path.codes[:-1]
        if len(vertices):
            self._mark(gc, [encode(vertices, codes, vertices[0])], [self._style(gc, rgbFace)], vertices[:1], line=1)

    def draw_markers(self, gc, marker_path, marker_trans, path, trans, rgbFace=None):
        points = (trans + self.place).transform(path.vertices)
        self._mark(gc, [self._around_origin(marker_path, marker_trans)], [self._style(gc, rgbFace)],
                   quantise(points[np.isfinite(points).all(1)]), line=0)

    def draw_path_collection(self, gc, master_transform, paths, all_transforms, offsets, offset_trans, *args,
                             hatchcolors=()):
        raw = list(self._iter_collection_raw_paths(master_transform, paths, all_transforms))
        lines = not offset_trans.transform(offsets).any()
        marks, texts = [], {}
        for x, y, k, gc0, face in self._iter_collection(gc, range(len(raw)), offsets, offset_trans, *args,
                                                        hatchcolors=hatchcolors):
            if lines:
                path = raw[k][0].cleaned(raw[k][1] + self.place, remove_nans=True)
                vertices = quantise(path.vertices[:-1])
                if not len(vertices):
                    continue
                text, point = encode(vertices, path.codes[:-1], vertices[0]), vertices[0]
            else:
                if k not in texts:
                    texts[k] = self._around_origin(*raw[k])
                text, point = texts[k], quantise(self.place.transform((x, y)))
            marks.append((text, self._style(gc0, face), point))
        if marks:
            texts, styles, points = zip(*marks, strict=True)
            self._mark(gc, texts, styles, np.array(points), line=int(lines))

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        key = (s, hash(prop), angle, ismath)
        known = self.pen.text
        if key not in known:
            glyphs = Path(*self._text2path.get_text_path(prop, s, ismath=ismath))
            turn = Affine2D().scale(prop.get_size_in_points() / self._text2path.FONT_SCALE).rotate_deg(angle)
            known[key] = self._around_origin(glyphs, turn) if len(glyphs) else ""
        if known[key]:
            gc.set_linewidth(0)
            self._mark(gc, [known[key]], [self._style(gc, gc.get_rgb())], quantise(np.array([[x, y]]) * UNITS), line=0)

    def draw_image(self, gc, x, y, im, transform=None):
        if transform is None:  # else it takes the unit square to the image's place
            transform = Affine2D().scale(im.shape[1] / MAGNIFY, im.shape[0] / MAGNIFY)
        (x0, y0), (x1, y1) = (transform + Affine2D().translate(x, y) + self.place).transform([(0, 0), (1, 1)])
        pixels = np.ascontiguousarray(im[::1 if y0 < y1 else -1, ::1 if x0 < x1 else -1])
        known, key = self.pen.png, (im.shape, pixels.tobytes())
        if key not in known:
            known[key] = png(pixels)
        box = quantise(np.array([[min(x0, x1), min(y0, y1)], [abs(x1 - x0), abs(y1 - y0)]]))
        self._add(gc, (), (), box, image=known[key])

    def _around_origin(self, path, transform) -> str:
        """Path data of a marker or text, drawn from the point it is placed at."""
        path = path.cleaned(transform + self.flip)
        return encode(quantise(path.vertices[:-1]), path.codes[:-1], (0, 0))

    def _mark(self, gc, texts, styles, points, line):
        """Draw paths at `points` (n, 2); one path or style, or one for each point."""
        if len(set(texts)) == 1:
            texts = texts[:1]
        if len(set(styles)) == 1:
            styles = styles[:1]
        self._add(gc, texts, styles, points, line=line)

    def _add(self, gc, texts, styles, points, line=0, image=None):
        series = (*self.label, line) if self.label else None
        self.label = None  # a line and its markers are one series
        self.marks.append((self._clips(gc), tuple(texts), tuple(styles), tuple(points.ravel().tolist()), series, image))

    def _clips(self, gc) -> tuple[str, ...]:
        """The paths, placed at the canvas's corner, that the drawing is cut to."""
        rectangle, (path, transform) = gc.get_clip_rectangle(), gc.get_clip_path()
        texts = [] if path is None else [self._around_origin(path, transform + self.drop)]
        if rectangle is not None:
            key = rectangle.bounds
            if key not in self.rectangles:
                self.rectangles[key] = self._around_origin(Path.unit_rectangle(), BboxTransformTo(rectangle) + self.drop)
            texts.append(self.rectangles[key])
        return tuple(texts)

    def _style(self, gc, face) -> str:
        """SVG attributes of fill and stroke."""
        forced = gc.get_alpha() if gc.get_forced_alpha() else None
        words = []

        def colour(name, rgba):
            alpha = forced if forced is not None else (rgba[3] if rgba is not None and len(rgba) == 4 else 1)
            if rgba is None or alpha == 0:
                words.append(f'{name}="none"')
                return False
            words.append(f'{name}="{to_hex(rgba)}"' + (f' {name}-opacity="{alpha:.3g}"' if alpha < 1 else ""))
            return True

        colour("fill", face)
        width = gc.get_linewidth() * UNITS
        if width > 0 and colour("stroke", gc.get_rgb()):
            cap, join = gc.get_capstyle().replace("projecting", "square"), gc.get_joinstyle()
            words.append(f'stroke-width="{width:.4g}" stroke-linecap="{cap}" stroke-linejoin="{join}"')
            offset, dashes = gc.get_dashes()
            if dashes is not None:
                lengths = " ".join(f"{d * UNITS:.4g}" for d in dashes)
                words.append(f'stroke-dasharray="{lengths}" stroke-dashoffset="{offset * UNITS:.4g}"')
        if not gc.get_antialiased():
            words.append('shape-rendering="crispEdges"')
        return " ".join(words)
