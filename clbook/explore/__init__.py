"""One explorer, two renderings: a live panel in JupyterLab, a player with every frame in it in the built book."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from clbook import environment
from clbook.explore.subject import Cell, Subject, quantities
from clbook.results.sweep import combined, values_of
from clbook.training.settings import Settings, expect

__all__ = ["Cell", "explore", "grid"]


def explore(
    run: Callable,
    figure: Callable,
    base_config: Settings,
    *,
    compare: dict | None = None,
    time: str | dict | None = None,
    frames: int = 32,
    name: str | None = None,
    title: str = "",
    caption: str = "",
    cells: Callable | None = None,
    record: Sequence[str] = (),
    **axes: Iterable,
):
    """Sliders over an experiment: `explore(run, figure, Config(), eps=[.02, 1], tau=[.1, .01])`.

    Live, a moved slider reruns the experiment. Where the environment variable CLBOOK_STATIC is 1 (the book's build),
    every grid point is run once and drawn by the same figure function into a page that needs no kernel.

    Args:
        run: `run(config, *, progress=None, device=None)` -> Result. It takes `record`, a tuple of names, where
            quantities are asked for.
        figure: `figure(result)` -> Picture, or `figure(result, frame=i)` -> Picture where `time` is given.
        base_config: the settings at the start; its values of the explored fields are on the grid.
        compare: {name: {setting: value}}: one picture shows several runs, each with these changes of the settings.
            The figure then gets a dict {name: Result}. While they are made, a name whose run has not begun yet holds
            the run at work.
        time: name of the Result's array of recorded times (T,), e.g. "steps", through which a slider goes; `frame`
            counts through it. With `compare` it is the shortest of the runs' arrays. Or {label: values}, a list of
            the figure's own: {"seen from (degrees)": [0, 45, 90]}.
        frames: how many recorded times of a run the static page holds, at most. Among them
            are that after the first step and those that the Result names (`separable_at`).
        name: what a link calls the explorer (`#name:eps=1&tau=0.01`); the explored fields unless given.
        title: a short visible heading.
        caption: what stands below the picture.
        cells: `cells(result)` -> `Cell`: a shade, a number or sign, what the run comes to in words. The static page
            then has the runs of its two axes as cells to point at, in the place of two sliders; a live one has them
            below its sliders, filled in as runs are made.
        record: names of the quantities that the runs have to record, beside those that the figure and the cells
            declare by `style.needs`.
        axes: at most two fields of the Config, each with its grid of values.

    Raises:
        ValueError: an axis that is no field of the Config, more than two, cells with fewer, an empty or repeating grid,
            a value that the Config refuses, a start off the grid, fewer than two frames, `time` that the Result lacks,
            `compare` that is no dict of changes, a Config without `Settings`, a figure that returns no Picture.
    """
    subject = Subject(run, figure, compare, time, quantities(record, figure, cells))
    axes = grid(base_config, axes)
    subject.check(base_config)
    if cells and len(axes) != 2:
        raise ValueError(
            f"cells with {len(axes)} axes is not allowed: their rows are one, their columns another"
        )
    if not isinstance(frames, int) or frames < 2:
        raise ValueError(f"frames = {frames!r} is not allowed: frames must be a whole number >= 2")
    # The name stands in addresses and file names.
    name = re.sub(r"[^\w-]+", "-", name or "-".join(axes) or "explorer")
    shown = {"name": name, "title": title, "caption": caption, "axes": axes}
    if environment.static():
        from clbook.explore.static import player

        return player(subject, base_config, frames=frames, cells=cells, **shown)
    from clbook.explore.live import panel

    return panel(subject, base_config, cells=cells, **shown)


def grid(base_config: Settings, axes: dict[str, Iterable]) -> dict[str, list]:
    """`axes` with every value as the Config holds it.

    Raises:
        ValueError: as `explore` says.
    """
    expect("base_config", base_config)
    if len(axes) > 2:
        raise ValueError(
            f"{len(axes)} axes ({', '.join(axes)}) are not allowed: an explorer varies at most two fields"
        )
    return {axis: _values(base_config, axis, values) for axis, values in axes.items()}


def _values(base_config, axis, values) -> list:
    """The grid of one axis, checked."""
    # The Config refuses what it does not allow or does not have, and makes 1 and 1.0 the same.
    checked = [
        getattr(one, axis) for one in combined(base_config, **{axis: values_of(axis, values)})
    ]
    start = getattr(base_config, axis)
    if start not in checked:
        raise ValueError(
            f"{axis} = {checked!r} is not allowed: it must hold base_config's value, {start!r}"
        )
    return checked
