"""What is drawn of reports: the lines about two views as shares of their references, and spectra."""

from __future__ import annotations

import math

import numpy as np

from clbook import style
from clbook.diagnose.wording import TWO_VIEWS

LEFT, RIGHT = -0.15, 1.25  # of the shares that are drawn; others stand at the end
# The lines that are drawn, and what their axes are called.
LABELS = {
    "loss": "loss: way from chance to floor",
    "alignment": "alignment, of strangers'",
    "spread": "spread, of random directions'",
    "uniformity": "uniformity, of random directions'",
    "partners": "partners found among all",
    "batch": "partners found in a batch",
    "rank": "effective rank, of a Gaussian's",
    "dead": "dead axes, of all",
}


def strips(reports: dict) -> style.Picture:
    """The lines about two views of some reports, each as a share of its reference; alarm zones are shaded.

    Args:
        reports: {name: report}; with one report its name is not shown.
    """
    fig, ((ax,),) = style.axes(1, width=7.2, height=3.6)
    for height, key in enumerate(LABELS):
        about = TWO_VIEWS[key]
        if about.zone is not None:
            low, high = np.clip(about.zone, LEFT, RIGHT)
            ax.barh(height, high - low, left=low, height=0.7, color=style.colour(1), alpha=0.25)
        for k, report in enumerate(reports.values()):
            share = report.numbers.get(about.share, math.nan)
            where = np.clip(share, LEFT + 0.05, RIGHT - 0.05)
            ax.scatter(
                where,
                height,
                s=30,
                color=style.colour(k) if len(reports) > 1 else style.INK,
                zorder=3,
            )
    ax.axvline(1, color=style.MUTED, lw=1)
    ax.set(xlim=(LEFT, RIGHT), ylim=(len(LABELS) - 0.5, -0.5), xlabel="share of the reference")
    ax.set_yticks(range(len(LABELS)), LABELS.values())
    alarms = [line.name for report in reports.values() for line in report.alarms]
    return style.Picture(
        fig,
        "Lines of a report as shares of their references, the zone of an alarm shaded. "
        f"Alarms: {', '.join(alarms) or 'none'}.",
    )


def spectrum(report) -> style.Picture:
    """The deviations along the axes, descending, as shares of the largest."""
    fig, ((ax,),) = style.axes(1, width=4.4, height=3.0)
    for k, (where, sizes) in enumerate(report.deviations.items()):
        shares = [size / sizes[0] if sizes[0] > 0 else 0.0 for size in sizes]
        ax.plot(range(1, len(shares) + 1), shares, "o-", ms=3, color=style.colour(k), label=where)
    style.log_axis(ax, [1e-4, 1e-2, 1], axis="y")
    ax.set(xlabel="axis", ylabel="share of the largest deviation", ylim=(1e-5, 2))
    style.legend(ax)
    ranks = [f"{line.name}: {line.value:.3g}" for line in report.lines if "rank" in line.name]
    return style.Picture(fig, f"Deviations along the axes, descending. {'; '.join(ranks)}.")
