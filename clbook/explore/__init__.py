"""One explorer, two renderings: a live panel in JupyterLab, a player with every frame in it in the built book."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Sequence

from clbook.settings import expect
from clbook.style import Picture


def explore(
    run, figure, base_config, *, scrub=None, frames=32, name=None, title="", pad=None, **axes
):
    """Sliders over an experiment: `explore(run, figure, Config(), eps=[.02, 1], tau=[.1, .01])`.

    Live, a moved slider reruns the experiment. Where the environment variable CLBOOK_STATIC is 1 (the book's build),
    every grid point is run once and drawn by the same figure function into a page that needs no kernel.

    Args:
        run: `run(config, *, progress=None, device=None)` -> Result.
        figure: `figure(result)` -> Picture, or `figure(result, frame=i)` -> Picture where `scrub` is given.
        base_config: the settings at the start; its values of the explored fields are on the grid.
        scrub: name of the Result's array of recorded times (T,), e.g. "steps"; `frame` counts through it.
        frames: how many recorded times of a run the static page holds at most, fewer where they are heavy; among them
            that after the first step and those that the Result names (`separable_at`).
        name: what a link calls the explorer (`#name:eps=1&tau=0.01`); the explored fields unless given.
        title: a short visible heading; what follows its first full stop stands below the picture, as a caption.
        pad: `pad(result)` -> (shade from 0 to 1, a number or sign, what the run comes to in words): the static page has
            the runs of its two axes as cells to point at, in the place of two sliders.
        axes: at most two fields of the Config, each with its grid of values.

    Raises:
        ValueError: an axis that is no field of the Config, more than two, a pad with fewer, an empty or repeating grid,
            a value that the Config refuses, a start off the grid, fewer than two frames, `scrub` that the Result lacks,
            a Config without `Settings`, a figure that returns no Picture.
    """
    axes = grid(base_config, axes)
    if pad and len(axes) != 2:
        raise ValueError(
            f"pad with {len(axes)} axes is not allowed: its rows are one, its columns another"
        )
    if not isinstance(frames, int) or frames < 2:
        raise ValueError(f"frames = {frames!r} is not allowed: frames must be a whole number >= 2")
    name = re.sub(r"[^\w-]+", "-", name or "-".join(axes) or "explorer")
    if os.environ.get("CLBOOK_STATIC") == "1":
        from clbook.explore.static import player

        return player(
            run,
            figure,
            base_config,
            scrub=scrub,
            frames=frames,
            name=name,
            title=title,
            pad=pad,
            axes=axes,
        )
    from clbook.explore.live import panel

    return panel(run, figure, base_config, scrub=scrub, name=name, title=title, axes=axes)


def grid(base_config, axes) -> dict[str, list]:
    """`axes` with every value as the Config holds it; ValueError as `explore` says."""
    expect("base_config", base_config)
    fields = [f.name for f in dataclasses.fields(base_config)]
    if len(axes) > 2:
        raise ValueError(
            f"{len(axes)} axes ({', '.join(axes)}) are not allowed: an explorer varies at most two fields"
        )
    checked = {}
    for axis, values in axes.items():
        if axis not in fields:
            raise ValueError(
                f"{axis} is not a field of {type(base_config).__name__}: it has {', '.join(fields)}"
            )
        if not isinstance(values, Iterable) or isinstance(values, str):
            raise ValueError(f"{axis} = {values!r} is not allowed: it must be a list of values")
        checked[axis] = [getattr(base_config.replace(**{axis: value}), axis) for value in values]
        start = getattr(base_config, axis)
        if start not in checked[axis]:
            raise ValueError(
                f"{axis} = {checked[axis]!r} is not allowed: it must hold the start's value, {start!r}"
            )
        if len(set(checked[axis])) < len(checked[axis]):
            raise ValueError(f"{axis} = {checked[axis]!r} is not allowed: it repeats a value")
    return checked


def times(result, scrub: str | None) -> Sequence:
    """The recorded times of a Result, [0] without `scrub`; ValueError where it has no such array."""
    if scrub and not hasattr(result, scrub):
        raise ValueError(
            f"scrub = {scrub!r} is not allowed: {type(result).__name__} has no such attribute"
        )
    return getattr(result, scrub) if scrub else [0]


def pictured(figure, result, **frame) -> Picture:
    """What `figure` draws of a Result; ValueError where that is no Picture."""
    picture = figure(result, **frame)
    if not isinstance(picture, Picture):
        raise ValueError(
            f"figure returned a {type(picture).__name__}: it must return a Picture(fig, alt text)"
        )
    return picture
