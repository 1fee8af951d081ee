"""What is drawn of the diagnoses: each run on the lines that tell the sick ones."""

from __future__ import annotations

from clbook.diagnose import Report
from clbook.style import INK, MUTED, Picture, axes, colour, log_axis

LINES = {  # beginning of a line's name: what its axis is called, and the reference that is drawn
    "spread": ("spread", "random directions"),
    "alignment": ("alignment", "partners shuffled"),
    "k-NN": ("neighbours right", "raw input"),
    "partner accuracy in a batch": ("partners found\nin a batch", "among all"),
    "linear probe of what": ("probe of what\nis used", "before the projector"),
}


def telling(reports: dict[str, Report]) -> Picture:
    """Each run's value on the five lines that tell, and the reference beside it.

    Args:
        reports: {name of the run: its report}, the healthy one first.
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
