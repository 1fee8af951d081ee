"""The figure of the page "Train SimCLR tomorrow": what is seen of a run, without its labels and with them."""

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
from clbook.style import INK, MUTED, Picture, colour, mosaic, name_lines, so_far

SIGNS = {  # the line of the checklist that gives a run away
    "healthy": "spread grows, alignment comes down",
    "stuck": "CKA with the start stays near 1",
    "collapsed": "spread and alignment fall to 0",
    "weak views": "two views agree from the beginning",
    "strong views": "two views stay far apart",
}
CURVES = {"CKA with start": "cka", "spread": "spread", "alignment": "alignment"}
TONES = {"cka": colour(3), "spread": colour(0), "alignment": colour(2), "accuracy": colour(1)}
WRONG = np.array([1.0, 0.8, 0.6])  # the ground of a neighbour of another digit
LEAST = 1e-6  # where the axis of the variances begins
SIDE = 8  # pixels


def seen(result: Result, frame: int = -1) -> Picture:
    """One run at a recorded time: its plane, neighbours, variances, loss and signs.

    Where `View.labels` is set, colours are digits, and the title says what is wrong.
    """
    fig, ax = mosaic(
        [["plane"] * 2 + ["near"] * 3 + ["spectrum"] * 2, ["loss"] * 3 + ["signs"] * 4],
        width=7.8,
        height=5.0,
        height_ratios=(1.15, 1),
    )
    _plane(ax["plane"], result, frame)
    wrong = _neighbours(ax["near"], result, frame)
    _spectrum(ax["spectrum"], result, frame)
    _loss(ax["loss"], result, frame)
    _signs(ax["signs"], result, frame)
    return Picture(fig, _told(result, frame, wrong))


def _plane(ax, result, frame):
    """The held-out pictures as dots, and strokes that join two views of one."""
    places, labels = result.places[frame], held()[1][:DOTS]
    config = result.config
    if config.labels:
        for digit in range(10):
            mine = places[labels == digit]
            ax.scatter(*mine.T, s=8, color=colour(digit), linewidths=0, gid=f"digit {digit}")
    else:
        ax.scatter(*places.T, s=8, color=MUTED, linewidths=0, gid="pictures")
    ax.add_collection(LineCollection(result.pairs[frame], colors=INK, linewidths=0.8, gid="views"))
    edge = 1.25
    name = f"run {config.run}"
    title = f"{name}: {config.fault}" if config.labels else name
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), xticks=[], yticks=[], aspect="equal")
    ax.set_title(title)


def _neighbours(ax, result, frame) -> int:
    """Four pictures, each with those nearest to it. Returns how many of these are of another digit."""
    pictures, labels = held()
    rows, wrong = [], 0
    for query, near in zip(queries(), result.near[frame], strict=True):
        row = [_tile(pictures[query]), np.ones((SIDE + 1, 3, 3))]
        for other in near:
            differs = labels[other] != labels[query]
            wrong += int(differs)
            row.append(_tile(pictures[other], differs and result.config.labels))
        rows.append(np.concatenate(row, 1))
    ax.imshow(np.concatenate(rows), interpolation="nearest")
    ax.set(xticks=[], yticks=[], title="pictures | nearest")
    ax.spines[:].set_visible(False)
    ax.grid(False)
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
    ax.set(yscale="log", ylim=(LEAST, 1), xlabel="axis", title="variance by axis")
    ax.set_yticks([1e-6, 1e-4, 1e-2, 1])


def _loss(ax, result, frame):
    ax.axhline(result.ceiling, color=MUTED, lw=0.8, ls=":")
    ax.plot(result.steps + 1, result.loss, color=INK, gid="loss")
    ax.set(xscale="log", xlabel="iteration + 1", title="loss (dotted: ceiling)")
    so_far(ax, result.steps[frame] + 1)


def _signs(ax, result, frame):
    for name, quantity in CURVES.items():
        values = getattr(result, quantity)
        ax.plot(result.steps + 1, values, color=TONES[quantity], label=name)
    if result.config.labels:
        accuracy = result.accuracy
        ax.plot(result.steps + 1, accuracy, color=TONES["accuracy"], ls="--", label="accuracy")
        ax.axhline(of_pixels(), color=TONES["accuracy"], lw=0.8, ls=":")
    ax.set(xscale="log", xlabel="iteration + 1", ylim=(0, 1.3))
    ax.set_title(SIGNS[result.config.fault] if result.config.labels else "signs without labels")
    so_far(ax, result.steps[frame] + 1)
    name_lines(ax)


def _told(result, frame, wrong) -> str:
    """The picture in words."""
    config = result.config
    now = {name: getattr(result, name)[frame] for name in CURVES.values()}
    numbers = ", ".join(f"{name} {now[quantity]:.2f}" for name, quantity in CURVES.items())
    said = (
        f"Run {config.run} at iteration {result.steps[frame]}: loss {result.loss[frame]:.2f}, its "
        f"ceiling {result.ceiling:.2f}; {numbers}; uniformity {result.uniformity[frame]:.2f}."
    )
    if not config.labels:
        return said + " The dots have no colours."
    shown = result.near[frame].size
    return (
        f"{said} It is the {config.fault} one: {SIGNS[config.fault]}. Accuracy of the nearest centre "
        f"{result.accuracy[frame]:.2f}, of the pixels {of_pixels():.2f}; {shown - wrong} of the {shown} "
        "nearest pictures show the same digit."
    )
