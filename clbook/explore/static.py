"""The static explorer: every grid point run once, every frame drawn once, in a page that needs no kernel or network."""

from __future__ import annotations

import dataclasses
import importlib.resources
import io
import itertools
import json

import jinja2
import matplotlib as mpl
import numpy as np
from PIL import Image

from clbook.explore.vector import Pen, Scene, saved
from clbook.sweep import parallel, sweep

BATCH = 20  # frames drawn with one pen, which is worth another process's start


def player(run, figure, base_config, *, scrub, frames, name, title, axes):
    """Run the grid `axes` and draw its frames; arguments as `explore` has checked them. Returns a `Player`."""
    configs = [base_config.replace(**dict(zip(axes, values, strict=True)))
               for values in itertools.product(*axes.values())]
    results = sweep(run, configs)
    if scrub is not None and not hasattr(results[0], scrub):
        raise ValueError(f"scrub = {scrub!r} is not allowed: {type(results[0]).__name__} has no such attribute")
    # arguments of `figure` for each frame; its recorded time
    chosen, times = [[{}]] * len(configs), [[0]] * len(configs)
    if scrub is not None:
        chosen = [[{"frame": k} for k in spread(len(getattr(result, scrub)), frames)] for result in results]
        times = [[float(f"{getattr(result, scrub)[how['frame']]:.6g}") for how in hows]
                 for result, hows in zip(results, chosen, strict=True)]
    scene, settings = Scene(), dict(mpl.rcParams.copy())
    del settings["backend"]
    work = [(figure, batch, settings) for batch in batches(zip(results, chosen, strict=True))]
    for drawing in itertools.chain.from_iterable(parallel(draw, work)):
        scene.add(drawing)
    start = configs.index(base_config)
    picture = figure(results[start], **chosen[start][-1])
    return Player(base_config, axes, scrub, times, scene, start, picture, name, title)


def batches(runs) -> list:
    """`runs`, pairs of (result, frames), as lists of such pairs with at most BATCH frames each.

    A run stays whole where it fits, so that its axes stand still. The batches, and with them the drawings, do not
    depend on the number of processes.
    """
    out, room = [], 0
    for result, frames in runs:
        for piece in np.array_split(frames, -(-len(frames) // BATCH)):
            if len(piece) > room:
                out.append([])
                room = BATCH
            out[-1].append((result, piece.tolist()))
            room -= len(piece)
    return out


def draw(figure, batch, settings) -> list:
    """`Drawing`s of a batch by one pen, under matplotlib's `settings`, which hold in the notebook's process alone."""
    pen = Pen()
    with mpl.rc_context(settings):
        return [pen.draw(figure(result, **how)) for result, frames in batch for how in frames]


def spread(count, most) -> list[int]:
    """At most `most` of range(count), evenly spread, the first and the last always."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def small_png(picture) -> str:
    """The picture at twice its size on the page, with a palette: a few kilobytes, in base64."""
    image = Image.open(io.BytesIO(picture.png(dpi=192))).convert("RGB")
    return saved(image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE), optimize=True)


def words(value) -> str:
    """A setting's value for a reader and for a link."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " x ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


class Player:
    """The explorer as HTML. The first one that a process shows brings the style sheet and the script with it.

    Attributes:
        scene: the frames, run by run, each run's recorded times in order. times: those times, one list for each run.
        picture: what the page shows first, the last recorded time of the run number `start`.
    """

    _first = None

    def __init__(self, base_config, axes, scrub, times, scene, start, picture, name, title):
        self.base_config, self.axes, self.scrub, self.times = base_config, axes, scrub, times
        self.scene, self.start, self.picture, self.name, self.title = scene, start, picture, name, title

    def _repr_html_(self) -> str:
        Player._first = Player._first or self
        fields = {f.name: f.metadata for f in dataclasses.fields(self.base_config)}
        axes = {axis: [words(v) for v in values] for axis, values in self.axes.items()}
        setup = json.dumps({"name": self.name, "times": self.times, "axes": list(axes.items())})
        sliders = [(axis, axis, fields[axis], self.axes[axis].index(getattr(self.base_config, axis)), values)
                   for axis, values in axes.items()]
        if self.scrub is not None:
            times = [f"{t:.6g}" for t in self.times[self.start]]
            about = {"doc": "recorded time within the run", "unit": ""}
            sliders.append(("frame", f"{self.scrub} shown", about, len(times) - 1, times))
        return jinja2.Template(asset("player.html"), autoescape=True).render(
            name=self.name, title=self.title, alt=self.picture.alt, png=small_png(self.picture), sliders=sliders,
            width=round(self.picture.fig.get_figwidth() * 96), play=self.scrub is not None,
            others=", ".join(name for name in fields if name not in self.axes), setup=setup.replace("<", "\\u003c"),
            frames=self.scene.payload(), first=Player._first is self, css=asset("player.css"), js=asset("player.js"))


def asset(file) -> str:
    """The text of a file of this package."""
    return importlib.resources.files("clbook.explore").joinpath(file).read_text(encoding="utf-8")
