"""The static explorer: every grid point run once, every frame drawn once, in a page that needs no kernel or network."""

from __future__ import annotations

import dataclasses
import importlib.resources
import itertools
import json

import jinja2
import matplotlib as mpl
import numpy as np

from clbook import __version__
from clbook.explore import controls, pictured, times
from clbook.explore.data import stretch, unite
from clbook.explore.vector import Pen, Scene
from clbook.style import uncollected
from clbook.sweep import parallel, sweep

WEIGHT = 1_200_000  # characters of an explorer's frames: two of them fit a page
FEW = 6  # frames of a run whose limits are looked at before all are drawn
BATCH = 20  # frames drawn with one pen, which is worth another process's start


def player(run, figure, base_config, *, scrub, frames, name, title, pad, axes):
    """Run the grid `axes` and draw its frames; arguments as `explore` has checked them. Returns a `Player`."""
    configs = [
        base_config.replace(**dict(zip(axes, at, strict=True)))
        for at in itertools.product(*axes.values())
    ]
    results = sweep(run, configs)
    runs = []  # [(time, whether it has to stay, (result, arguments of `figure`))] of each run
    for result in results:
        recorded = times(result, scrub)
        wanted = moments(result, recorded)
        runs.append(
            thinned(
                [
                    (float(f"{t:.6g}"), k in wanted, (result, {"frame": k} if scrub else {}))
                    for k, t in enumerate(recorded)
                ],
                frames,
            )
        )
    few = [shot for run in runs for *_, shot in thinned(run, FEW)]
    shots = [shot for run in runs for *_, shot in run]
    limits, (_, found) = None, draw_all(figure, few, None)
    while found != limits:  # once, and again where a frame needed more room than those few
        limits = found
        drawings, found = draw_all(figure, shots, limits)
    drawn = iter(drawings)
    runs = [[(time, stays, next(drawn)) for time, stays, _ in run] for run in runs]
    while True:
        scene = Scene()
        for *_, drawing in itertools.chain.from_iterable(runs):
            scene.add(drawing)
        most = max(map(len, runs)) * WEIGHT // len(scene.payload())
        fewer = [thinned(run, most) for run in runs]
        if [*map(len, fewer)] == [*map(len, runs)]:
            break
        runs = fewer
    start = configs.index(base_config)
    picture = pictured(figure, results[start], **({"frame": -1} if scrub else {}))
    stretch(picture.fig, limits)
    shown, ends = (
        [[t for t, *_ in run] for run in runs],
        pad and [pad(result) for result in results],
    )
    return Player(base_config, axes, scrub, shown, ends, scene, start, picture, name, title)


def draw_all(figure, shots, limits) -> tuple[list, dict]:
    """`Drawing`s of all shots, none where `limits` is None, and the limits that hold them all; in parallel."""
    settings = {
        key: value for key, value in mpl.rcParams.copy().items() if key != "backend"
    }  # this process's alone
    batches = [
        (figure, shots[k : k + BATCH], settings, limits) for k in range(0, len(shots), BATCH)
    ]
    drawings, found = [], dict(limits or {})
    for some, own in parallel(draw, batches):
        drawings += some
        for key, values in own.items():
            unite(found, key, values)
    return drawings, found


@uncollected()
def draw(figure, batch, settings, limits) -> tuple[list, dict]:
    """`Drawing`s of a batch by one pen, none where `limits` is None, and the limits that hold the batch too."""
    pen, drawings, found = Pen(), [], dict(limits or {})
    with mpl.rc_context(settings):
        for result, how in batch:
            picture = pictured(figure, result, **how)
            stretch(picture.fig, found)
            drawings += [] if limits is None else [pen.draw(picture)]
    return drawings, found


def moments(result, recorded) -> set[int]:
    """Which recorded times of a run stay: after the first step, and at what its result names, as `separable_at`."""
    named = [
        t
        for part in getattr(result, "runs", {None: result}).values()
        for key, t in vars(part).items()
        if key.endswith("_at") and isinstance(t, int)
    ]
    return {1, *np.searchsorted(recorded, named).tolist()} & {*range(len(recorded))}


def thinned(run, most) -> list:
    """`most` frames (time, whether it has to stay, ...) of a run: the ends, those that have to, others evenly."""
    always = {0, len(run) - 1, *(k for k, (_, stays, *_) in enumerate(run) if stays)}
    others = np.linspace(
        0, len(run) - 1, len(run) if len(run) <= most else max(2, most + 2 - len(always))
    )
    return [run[k] for k in sorted(always.union(others.round().astype(int).tolist()))]


class Player:
    """The explorer as HTML. The first one that a process shows brings the style sheet and the script with it.

    Attributes:
        scene: the frames, run by run, each run's recorded times in order. times: those times, one list for each run.
        ends: (shade from 0 to 1, text, words) of each run, for a pad in the place of two sliders; or None.
        picture: what the page shows first, the last recorded time of the run number `start`.
    """

    _first = None

    def __init__(self, base_config, axes, scrub, times, ends, scene, start, picture, name, title):
        self.base_config, self.axes, self.scrub, self.times, self.ends = (
            base_config,
            axes,
            scrub,
            times,
            ends,
        )
        self.scene, self.start, self.picture, self.name, self.title = (
            scene,
            start,
            picture,
            name,
            title,
        )

    def _repr_html_(self) -> str:
        Player._first = Player._first or self
        fields = {f.name: f for f in dataclasses.fields(self.base_config)}
        axes = {
            axis: [controls.text(v).replace("_", " ") for v in values]
            for axis, values in self.axes.items()
        }
        settings = {
            name: controls.text(getattr(self.base_config, name)).replace("_", " ")
            for name in fields
        }
        setup = json.dumps(
            {
                "name": self.name,
                "times": self.times,
                "axes": list(axes.items()),
                "settings": settings,
                "time": self.scrub,
                "version": __version__,
            }
        )
        sliders = [
            (
                axis,
                controls.label(fields[axis]),
                controls.meaning(fields[axis]),
                at.index(settings[axis]),
                at,
                len(at) == 2 or not isinstance(self.axes[axis][0], (int, float)),
            )  # buttons instead of a slider
            for axis, at in axes.items()
        ]
        if self.scrub is not None:
            times = [f"{t:.6g}" for t in self.times[self.start]]
            unit = next(
                (fields[name].metadata["unit"] for name in ("steps", "epochs") if name in fields),
                "",
            )
            label = (
                "seen from (degrees)"
                if self.scrub == "angles"
                else f"time ({unit or 'iterations'})"
            )
            sliders.append(("frame", label, "what is shown of a run", len(times) - 1, times, False))
        html, css, *js = (
            importlib.resources.files("clbook.explore").joinpath(file).read_text(encoding="utf-8")
            for file in ("player.html", "player.css", "frames.js", "player.js")
        )
        return jinja2.Template(html, autoescape=True).render(
            name=self.name,
            title=self.title,
            alt=self.picture.alt,
            png=self.picture.small(192, 256),
            sliders=sliders,
            width=round(self.picture.fig.get_figwidth() * 96),
            play=self.scrub is not None,
            ends=self.ends,
            setup=setup.replace("<", "\\u003c"),
            frames=self.scene.payload(),
            first=Player._first is self,
            css=css,
            js="".join(js),
        )
