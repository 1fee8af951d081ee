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

from clbook import __version__
from clbook.explore import controls
from clbook.explore.data import stretch, unite
from clbook.explore.vector import Pen, Scene, saved
from clbook.sweep import parallel, sweep

WEIGHT = 900_000  # characters of an explorer's frames: three of them fit a page
FEW = 6  # frames a run that are looked at to learn an explorer's limits
BATCH = 20  # frames drawn with one pen, which is worth another process's start


def player(run, figure, base_config, *, scrub, frames, name, title, axes):
    """Run the grid `axes` and draw its frames; arguments as `explore` has checked them. Returns a `Player`."""
    configs = [base_config.replace(**dict(zip(axes, values, strict=True)))
               for values in itertools.product(*axes.values())]
    results = sweep(run, configs)
    if scrub is not None and not hasattr(results[0], scrub):
        raise ValueError(f"scrub = {scrub!r} is not allowed: {type(results[0]).__name__} has no such attribute")
    times, shots = [], []  # the recorded times of each run; (result, arguments of `figure`) of each frame
    for result in results:
        recorded = getattr(result, scrub) if scrub else [0]
        kept = spread(len(recorded), frames)
        times.append([float(f"{recorded[k]:.6g}") for k in kept])
        shots += [(result, {"frame": k} if scrub else {}) for k in kept]
    few = [shots[k] for k in spread(len(shots), FEW * len(results))]
    limits, (_, found) = None, draw_all(figure, few, None)
    while found != limits:  # once, and again where a frame needed more room than those few
        limits = found
        drawings, found = draw_all(figure, shots, limits)
    drawn = iter(drawings)
    runs = [list(zip(run, itertools.islice(drawn, len(run)), strict=True)) for run in times]  # (time, drawing)
    while True:
        scene = Scene()
        for _, drawing in itertools.chain.from_iterable(runs):
            scene.add(drawing)
        size, most = len(scene.payload()), max(map(len, runs))
        if size <= WEIGHT or most <= 2:
            break
        runs = [[run[k] for k in spread(len(run), max(2, most * WEIGHT // size))] for run in runs]
    start = configs.index(base_config)
    picture = figure(results[start], **({"frame": -1} if scrub else {}))
    stretch(picture.fig, limits)
    return Player(base_config, axes, scrub, [[t for t, _ in run] for run in runs], scene, start, picture, name, title)


def draw_all(figure, shots, limits) -> tuple[list, dict]:
    """`Drawing`s of all shots, none where `limits` is None, and the limits that hold them all; in parallel."""
    settings = dict(mpl.rcParams.copy())
    del settings["backend"]
    batches = [(figure, shots[k:k + BATCH], settings, limits) for k in range(0, len(shots), BATCH)]
    drawings, found = [], dict(limits or {})
    for some, own in parallel(draw, batches):
        drawings += some
        for key, values in own.items():
            unite(found, key, values)
    return drawings, found


def draw(figure, batch, settings, limits) -> tuple[list, dict]:
    """`Drawing`s of a batch by one pen, none where `limits` is None, and the limits that hold the batch too.

    settings: matplotlib's, which hold in the notebook's process alone.
    """
    pen, drawings, found = Pen(), [], dict(limits or {})
    with mpl.rc_context(settings):
        for result, how in batch:
            picture = figure(result, **how)
            stretch(picture.fig, found)
            drawings += [] if limits is None else [pen.draw(picture)]
    return drawings, found


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
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")


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
        fields = {f.name: f for f in dataclasses.fields(self.base_config)}
        axes = {axis: [words(v) for v in values] for axis, values in self.axes.items()}
        settings = {name: words(getattr(self.base_config, name)) for name in fields}
        setup = json.dumps({"name": self.name, "times": self.times, "axes": list(axes.items()), "settings": settings,
                            "time": self.scrub, "version": __version__})
        sliders = [(axis, controls.label(fields[axis]), controls.meaning(fields[axis]),
                    values.index(settings[axis]), values,
                    len(values) == 2 or not isinstance(self.axes[axis][0], (int, float)))  # buttons instead of a slider
                   for axis, values in axes.items()]
        if self.scrub is not None:
            times = [f"{t:.6g}" for t in self.times[self.start]]
            unit = next((fields[name].metadata["unit"] for name in ("steps", "epochs") if name in fields), "")
            label = "seen from (degrees)" if self.scrub == "angles" else f"time ({unit or 'iterations'})"
            sliders.append(("frame", label, "what is shown of a run", len(times) - 1, times, False))
        return jinja2.Template(asset("player.html"), autoescape=True).render(
            name=self.name, title=self.title, alt=self.picture.alt, png=small_png(self.picture), sliders=sliders,
            width=round(self.picture.fig.get_figwidth() * 96), play=self.scrub is not None,
            setup=setup.replace("<", "\\u003c"), frames=self.scene.payload(), first=Player._first is self,
            css=asset("player.css"), js=asset("frames.js") + asset("player.js"))


def asset(file) -> str:
    """The text of a file of this package."""
    return importlib.resources.files("clbook.explore").joinpath(file).read_text(encoding="utf-8")
