"""The figure of the five runs: what is seen of a run, without its labels and with them."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection

from clbook.experiments.practice.experiment import (
    DOTS,
    Result,
    held,
    of_pixels,
    queries,
)
from clbook.style import INK, MUTED, Picture, colour, log_axis, mosaic, name_lines, so_far
from clbook_book.course.drawing import bare, square

SIGNS = {  # the line of the checklist that gives a run away
    "healthy": "spread grows, alignment comes down",
    "stuck": "CKA with the start stays near 1",
    "collapsed": "spread and alignment fall to 0",
    "weak views": "two views agree from the beginning",
    "strong views": "two views stay far apart",
}
CURVES = {"CKA with start": "cka", "spread": "spread", "alignment": "alignment"}
TONES = {
    "cka": colour(3),
    "spread": colour(0),
    "alignment": colour(2),
    "accuracy": colour(1),
}
WRONG = np.array([1.0, 0.8, 0.6])  # the ground of a neighbour of another digit
TICKS = (1, 10, 100)
LEAST = 1e-6  # where the axis of the variances begins
SIDE = 8  # pixels
EDGE = 1.25  # of the plane


def seen(result: Result, frame: int = -1) -> Picture:
    """One run at a recorded time: its plane, neighbours, variances, loss and signs.

    Where `View.labels` is set, colours are digits, and the title says what is wrong.
    """
    above = ["plane"] * 2 + ["near"] * 2 + ["spectrum"] * 2
    below = ["loss"] * 3 + ["signs"] * 3
    fig, ax = mosaic([above, below], width=7.8, height=4.45, height_ratios=(1.15, 1))
    _plane(ax["plane"], result, frame)
    wrong = _neighbours(ax["near"], result, frame)
    _spectrum(ax["spectrum"], result, frame)
    _loss(ax["loss"], result, frame)
    _signs(ax["signs"], result, frame)
    return Picture(fig, _told(result, frame, wrong))


def _plane(ax, result, frame):
    """The held-out pictures as dots, and strokes that join two views of one."""
    config = result.config
    places = result.places[frame]
    _, labels = held()
    if config.labels:
        for digit in range(10):
            _dots(ax, places[labels[:DOTS] == digit], colour(digit), f"digit {digit}")
        ax.set_title(f"run {config.letter}: {config.fault}")
    else:
        _dots(ax, places, MUTED, "pictures")
        ax.set_title(f"run {config.letter}")
    ax.add_collection(LineCollection(result.pairs[frame], colors=INK, linewidths=0.8, gid="views"))
    square(ax, EDGE, xticks=[], yticks=[])


def _dots(ax, places, tone, gid):
    ax.scatter(*places.T, s=8, color=tone, linewidths=0, gid=gid)


def _neighbours(ax, result, frame) -> int:
    """Four pictures, each with those nearest to it. Returns how many of these are of another digit."""
    pictures, labels = held()
    rows, wrong = [], 0
    gap = np.ones((SIDE + 1, 3, 3))
    for query, near in zip(queries(), result.near[frame], strict=True):
        row = [_tile(pictures[query]), gap]
        differs = labels[near] != labels[query]
        wrong += int(differs.sum())
        row += map(_tile, pictures[near], differs & result.config.labels)
        rows.append(np.concatenate(row, 1))
    ax.imshow(np.concatenate(rows), interpolation="nearest")
    ax.set_title("pictures | nearest")
    bare(ax)
    return wrong


def _tile(picture, marked=False):
    """A picture (64,) in ink on a white or marked ground, with a white edge: (9, 9, 3) colours."""
    ground = WRONG if marked else np.ones(3)
    ink = picture.numpy().reshape(SIDE, SIDE, 1)
    tile = np.ones((SIDE + 1, SIDE + 1, 3))
    tile[:SIDE, :SIDE] = ground * (1 - ink)
    return tile


def _spectrum(ax, result, frame):
    variances = np.maximum(result.spectrum[frame], LEAST)
    ax.plot(np.arange(1, len(variances) + 1), variances, color=TONES["spread"], gid="variance")
    log_axis(ax, (LEAST, 1e-4, 1e-2, 1), axis="y")
    ax.set(ylim=(LEAST, 1), xlabel="axis", title="variance by axis")


def _loss(ax, result, frame):
    ax.axhline(result.ceiling, color=MUTED, lw=0.8, ls=":")
    ax.plot(result.steps + 1, result.loss, color=INK, gid="loss")
    ax.set(xlabel="iteration, from 1", title="loss (dotted: ceiling)")
    log_axis(ax, TICKS)
    so_far(ax, result.steps[frame] + 1)


def _signs(ax, result, frame):
    times, config = result.steps + 1, result.config
    for name, quantity in CURVES.items():
        ax.plot(times, getattr(result, quantity), color=TONES[quantity], label=name)
    title = "signs without labels"
    if config.labels:
        title = SIGNS[config.fault]
        tone = TONES["accuracy"]
        ax.plot(times, result.accuracy, color=tone, ls="--", label="accuracy")
        ax.axhline(of_pixels(), color=tone, lw=0.8, ls=":")
    ax.set(xlabel="iteration, from 1", ylim=(0, 1.3), title=title)
    ax.set_ylabel("value", visible=False)  # the curves are not of one quantity
    log_axis(ax, TICKS)
    so_far(ax, times[frame])
    name_lines(ax)


def _told(result, frame, wrong) -> str:
    """The picture in words."""
    config = result.config
    numbers = []
    for name, quantity in CURVES.items():
        numbers.append(f"{name} {getattr(result, quantity)[frame]:.2f}")
    said = (
        f"Run {config.letter} at iteration {result.steps[frame]}: loss {result.loss[frame]:.2f}, "
        f"ceiling {result.ceiling:.2f}; {', '.join(numbers)}."
    )
    if not config.labels:
        return f"{said} The dots are grey: labels are off."
    shown = result.near[frame].size
    return (
        f"{said} This is the run called {config.fault}: {SIGNS[config.fault]}. "
        f"Accuracy {result.accuracy[frame]:.2f}, of the pixels {of_pixels():.2f}. "
        f"Of the {shown} nearest pictures {shown - wrong} show the same digit."
    )
