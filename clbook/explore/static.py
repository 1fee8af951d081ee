"""The static explorer: every grid point run once, every frame drawn once, in a page that needs no kernel or network."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import math
from typing import Any, NamedTuple

import jinja2
import numpy as np

from clbook import __version__
from clbook.explore import controls
from clbook.explore.data import stretch
from clbook.explore.subject import runs_of
from clbook.explore.vector import Drawing, Pen, Scene
from clbook.results.sweep import combined, sweep
from clbook.style import Picture, uncollected
from clbook.training.settings import fields


@dataclasses.dataclass(eq=False)
class Shot:
    """A picture of the page.

    Attributes:
        result, frame: what the figure draws, at which of the recorded times.
        time: that recorded time.
    """

    result: Any
    frame: int
    time: float


def player(subject, base_config, *, frames, axes, cells, name, **words) -> Player:
    """Run the grid `axes` and draw its frames; arguments as `explore` has checked them."""
    configs = combined(base_config, **axes)
    results = run_grid(subject, configs)
    runs = [choose_times(subject, result, frames) for result in results]
    drawings, limits = draw_runs(subject, runs)
    scene = Scene()
    for drawing in drawings:
        scene.add(drawing)
    # The page opens with the first recorded time of the start, as a plain picture; a reader without a script sees the
    # last one as well.
    start = configs.index(base_config)
    shown = [0] if subject.time is None else [0, -1]
    pictures = [subject.picture(results[start], frame) for frame in shown]
    for picture in pictures:
        stretch(picture.fig, limits)
    ends = [cells(result) for result in results] if cells else None
    times = [[shot.time for shot in run] for run in runs]
    knobs = [explored(base_config, axis, values) for axis, values in axes.items()]
    known = fields(type(base_config))
    setup = {
        "name": name,
        "times": times,
        "axes": [(knob.axis, knob.values) for knob in knobs],
        "settings": {field: said(getattr(base_config, field)) for field in known},
        "time": subject.time_name,
        "version": __version__,
    }
    if subject.time is not None:
        knobs.append(recorded(subject, known, times[start]))
    return Player(name, knobs, setup, scene, ends, pictures, **words)


def run_grid(subject, configs) -> list:
    """The result of each of `configs`; all runs are made in one sweep."""
    made = sweep(subject.run, [subject.settings(config) for config in configs], **subject.asked)
    return [subject.seen(runs) for runs in made]


# Which recorded times the page shows


def choose_times(subject, result, most) -> list[Shot]:
    """The shots of a run: at most `most` of its recorded times, spread evenly, and those that have to stay."""
    recorded = subject.times(result)
    shots = []
    for k in thinned(len(recorded), most, must_stay(result, recorded)):
        rounded = float(f"{recorded[k]:.6g}")  # as the page says it
        shots.append(Shot(result, k, rounded))
    return shots


def must_stay(result, recorded) -> set[int]:
    """The numbers of the recorded times that a page keeps.

    These are the time after the first step, and those that a Result names by an attribute such as `separable_at`.
    """
    named = []
    for run in runs_of(result):
        for key, time in vars(run).items():
            if key.endswith("_at") and isinstance(time, int):
                named.append(time)
    # Between two recorded times it is the later one that shows what is named.
    return {k for k in (1, *np.searchsorted(recorded, named).tolist()) if k < len(recorded)}


def thinned(count, most, stay=()) -> list[int]:
    """At most `most` of the numbers below `count`: both ends and those that have to stay, the others spread evenly.

    It may be more than `most` where many have to stay.
    """
    if count <= most:
        return list(range(count))
    last = count - 1
    always = {0, last, *stay}
    # Two of the evenly spread ones are the ends, which are among `always` already.
    even = np.linspace(0, last, max(2, most + 2 - len(always)))
    return sorted(always.union(even.round().astype(int).tolist()))


# Drawing: all frames have the same limits, so that only the data move


@uncollected()
def draw_runs(subject, runs) -> tuple[list[Drawing], dict]:
    """Draw the shots of all runs with common limits of axes and colours. Each picture has a figure of its own.

    Returns:
        The drawings, run by run, and the limits as `data.stretch` notes them.
    """
    pictures, limits = [], {}
    for run in runs:
        for shot in run:
            picture = subject.picture(shot.result, shot.frame)
            stretch(picture.fig, limits)
            pictures.append(picture)
    # Limits that hold all frames are known only now.
    pen, drawings = Pen(), []
    for picture in pictures:
        stretch(picture.fig, limits)
        drawings.append(pen.draw(picture))
    return drawings, limits


# The page's part


class Knob(NamedTuple):
    """A slider, or a row of buttons, as the page's template shows it.

    Attributes:
        axis: the field of the Config, or "frame" for the recorded times.
        label, about: what stands beside it, and what it means.
        index: which of its `values` it stands on at the start.
        values: the values as words.
        choice: whether it is a row of buttons.
    """

    axis: str
    label: str
    about: str
    index: int
    values: list[str]
    choice: bool


def explored(config, axis, values) -> Knob:
    """The knob of an explored field."""
    field = fields(type(config))[axis]
    words = [said(value) for value in values]
    start = values.index(getattr(config, axis))
    choice = len(words) == 2 or not isinstance(values[0], (int, float))
    return Knob(axis, controls.label(field), controls.meaning(field), start, words, choice)


def recorded(subject, known, times) -> Knob:
    """The slider of the recorded times of a run.

    It has the figure's own label, or the time with the unit that the fields `known` have for the length of a run.
    """
    if isinstance(subject.time, dict):
        (label,) = subject.time
    else:
        length = known.get("steps") or known.get("epochs")
        unit = length.metadata["unit"] if length else ""
        label = f"time ({unit or 'iterations'})"
    words = [f"{time:.6g}" for time in times]
    return Knob("frame", label, "what is shown of a run", 0, words, False)


class Block:
    """What a page shows as HTML, under a name. Each brings its style sheet and script; a built page has them once."""

    name: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"  # a notebook keeps it beside the HTML


def filled(template, setup, css=(), js=(), **shown) -> str:
    """The HTML of a block.

    Args:
        template: its file, with the package: "clbook.explore/player.html".
        setup: what the script reads.
        css, js: files that the block brings with it.
        shown: what the template asks for besides.
    """
    shown["setup"] = json.dumps(setup).replace("<", "\\u003c")  # it stands inside HTML
    shown["css"] = "".join(map(file, css))
    shown["js"] = "".join(map(file, js))
    return jinja2.Template(file(template), autoescape=True).render(shown)


@dataclasses.dataclass(eq=False, repr=False)
class Player(Block):
    """The explorer as HTML.

    Attributes:
        name, title, caption: as for `explore`.
        knobs: the sliders and buttons: of the explored fields, then of the recorded times.
        setup: what the script reads.
        scene: the frames of all runs, run by run, in the order of their recorded times.
        cells: the `Cell` of each run, in the place of two sliders; or None.
        pictures: what the page shows first: the first recorded time of the run that it opens with. Where that has
            several, the last one is the second, for a reader without a script.
    """

    name: str
    knobs: list[Knob]
    setup: dict
    scene: Scene
    cells: list | None
    pictures: list[Picture]
    title: str
    caption: str

    def signs(self, limit) -> str:
        """The sign of the cells whose shade is `limit`; where they differ, the smallest and the largest."""
        signs = {sign for shade, sign, _ in self.cells if shade == limit}
        ordered = sorted(signs, key=lambda sign: (_number(sign), sign))
        return " … ".join(dict.fromkeys((ordered[0], ordered[-1])))

    def _repr_html_(self) -> str:
        # As sharp as a plain screen shows them: with a script, the frames take their place at once.
        stills = [picture.inline(96, 64) for picture in self.pictures]
        width = round(self.pictures[0].fig.get_figwidth() * 96)  # CSS pixels
        return filled(
            "clbook.explore/player.html",
            self.setup,
            css=["clbook.explore/named.css", "clbook.explore/player.css"],
            js=[
                "clbook.explore/address.js",
                "clbook.explore/named.js",
                "clbook.explore/frames.js",
                "clbook.explore/player.js",
            ],
            player=self,
            knobs=self.knobs,
            stills=stills,
            width=width,
        )


def said(value) -> str:
    """A value of a setting as a reader says it."""
    return controls.text(value).replace("_", " ") or "none"


def file(name) -> str:
    """The text of a file of a package: "clbook.explore/player.js"."""
    package, _, path = name.partition("/")
    return importlib.resources.files(package).joinpath(path).read_text(encoding="utf-8")


def _number(sign) -> float:
    """The number that a cell shows: 0.5 of '50%'; infinite for a sign such as '–', which says never."""
    try:
        return float(sign.rstrip("%")) / (100 if sign.endswith("%") else 1)
    except ValueError:
        return math.inf
