"""The six patients of "Your own run": their reports, the block that looks at them, and their figures."""

from __future__ import annotations

import json

import numpy as np

from clbook.diagnose import Line, Report
from clbook.experiments.diagnose.experiment import SIDE, TRAIN, configs, data, pair
from clbook.style import INK, MUTED, Picture, axes, colour, log_axis
from clbook.training.streams import stream
from clbook_book.course.practice import runs
from clbook_book.live.diagnosis import in_page

NAMES = {  # by the letter under which a reader meets them
    "P": "views leak a shortcut",
    "Q": "tiny temperature",
    "R": "healthy",
    "S": "projector used",
    "T": "batch too small",
    "U": "views destroy content",
}
LINES = {  # beginning of a line's name: what its axis is called, and the reference that is drawn
    "spread": ("spread", "random directions"),
    "alignment": ("alignment", "partners shuffled"),
    "k-NN": ("neighbours right", "raw input"),
    "partner accuracy in a batch": ("partners found\nin a batch", "among all"),
    "linear probe of what": ("probe of what\nis used", "before the projector"),
}


def reports() -> dict[str, Report]:
    """{name of a patient's run: its report}, by letter, from the record of the six."""
    texts = runs.patients()["report:lines"]
    return {name: _report(texts.sel(patient=name).item()) for name in NAMES.values()}


def _report(text: str) -> Report:
    """The report of which `text` is the JSON."""
    whole = json.loads(text)
    whole["lines"] = tuple(Line(**line) for line in whole["lines"])
    return Report(**whole)


def doctor():
    """The block that computes the lines about two views, of a patient or of a reader's file."""
    views = runs.patients().views
    examples = {}
    for letter, name in NAMES.items():
        config = configs()[name]
        z1, z2 = views.sel(patient=name).dropna(views.dims[-1]).values
        examples[f"patient {letter}"] = z1, z2, {"tau": config.tau, "batch": config.batch}
    return in_page(dict(zip(examples, reports().values(), strict=True)), examples)


def stamped() -> Picture:
    """Five pictures in two views each, as most patients saw them and as patient P did."""
    x, _ = data("digits")
    fig, (row,) = axes(2, width=7.4, height=1.6)
    for ax, name in zip(row, ("healthy", "views leak a shortcut"), strict=True):
        views = np.stack(
            pair(x[TRAIN : TRAIN + 5], configs()[name].replace(noise=0.0), stream(2, 0))
        )  # (view, picture, number)
        tiles = np.full((2, 5, SIDE + 1, SIDE + 4), np.nan)
        tiles[..., :SIDE, :SIDE] = views[..., : SIDE**2].reshape(2, 5, SIDE, SIDE)
        tiles[..., :SIDE, SIDE + 1] = 0.5 + views[..., SIDE**2 :] / 4
        sheet = tiles.swapaxes(1, 2).reshape(2 * (SIDE + 1), -1)
        ax.imshow(sheet, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        ax.set(xticks=[], yticks=[])
        ax.grid(False)
        ax.spines[:].set_visible(False)
    row[0].set_title("a new stamp for each view")
    row[1].set_title("patient P: one stamp for both views")
    return Picture(
        fig,
        "Two panels, each with five small pictures of digits in a row and other views of the same five below. Beside "
        "each view stands its stamp, a column of eight grey squares. On the left the two stamps of a picture differ; "
        "on the right they are equal.",
    )


def telling(reports: dict[str, Report]) -> Picture:
    """Each run's value on the five lines that tell, and the reference beside it.

    Args:
        reports: {name of the run: its report}.
    """
    fig, (row,) = axes(len(LINES), width=9.6, height=2.9, sharey=True)
    names = list(reports)
    heights = range(len(names))
    told = []
    for ax, (start, (label, beside)) in zip(row, LINES.items(), strict=True):
        lines = [report[start] for report in reports.values()]
        values = [line.value for line in lines]
        references = [_beside(line, beside) for line in lines]
        inks = [colour(1) if line.alarm else INK for line in lines]
        ax.scatter(references, heights, marker="|", s=120, color=MUTED, gid="reference")
        ax.scatter(values, heights, s=30, color=inks, zorder=3, gid="value")
        ax.set(xlabel=label, xlim=(-0.05, 1.05), ylim=(len(names) - 0.5, -0.5))
        if start == "spread":
            log_axis(ax, [1e-4, 1e-2, 1])
            ax.set(xlim=(1e-5, 3))
        if start == "alignment":
            ax.set(xlim=(-0.1, 2.1))
        alarms = [name for name, line in zip(names, lines, strict=True) if line.alarm]
        told.append(f"{label.replace(chr(10), ' ')}: {' and '.join(alarms) or 'no run'}")
    row[0].set_yticks(heights, names)
    return Picture(
        fig,
        f"Dots: {len(names)} runs on five lines of the report; strokes: the reference beside each. "
        f"Orange, with an alarm: {'; '.join(told)}.",
    )


def _beside(line, start):
    """The reference whose name begins so."""
    for what, number in line.reference.items():
        if what.startswith(start):
            return number
    raise KeyError(f"{start}: {line.name} has {', '.join(line.reference)}")
