"""Figures of the page of SL."""

from __future__ import annotations

from collections.abc import Sequence

from clbook.experiments.modadd import Result, over_seeds
from clbook.metrics import mean_interval
from clbook.style import MUTED, Picture, axes, band, colour, legend
from clbook_book.course.modadd import figures


def over_time(ax, at, curves: dict, tones: dict) -> str:
    """Draw {name: (S, T)} at the times at (T,): means and 95 % intervals over seeds. The means at the end, in words."""
    ends = []
    for name, values in curves.items():
        mean, half = mean_interval(values.T)
        band(ax, at, values, half, color=tones[name], label=name, gid=name)
        ends.append(f"{name} {mean[-1]:.2f}")
    return ", ".join(ends)


def starts(panels: dict, at) -> Picture:
    """{title: {start: accuracy (S, T)}} of classifiers at the epochs at (T,)."""
    fig, (row,) = axes(len(panels), width=7.8, height=3.2, sharey=True)
    says = []
    for ax, (title, curves) in zip(row, panels.items(), strict=True):
        ends = over_time(ax, at, curves, figures.START_TONES)
        says.append(f"{title}: at the end {ends}")
        ax.axhline(1 / 8, color=MUTED, lw=0.8, ls=":")
        ax.set(xlabel="epoch of the classifier", xticks=(0, at[-1] // 2, at[-1]), title=title)
    row[0].set(ylim=(0, 1.02), ylabel="accuracy on unseen pairs")
    legend(row[0], loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4)
    return Picture(fig, "; ".join(says) + ".")


def ratios(sets: dict[str, Sequence[Result]]) -> Picture:
    """{name: runs, a seed each}: the ratio of distances over the epochs."""
    fig, ((ax,),) = axes(width=7.6, height=3.4)
    first, *_ = sets.values()
    ends = over_time(
        ax,
        first[0].steps,
        {name: over_seeds(runs, "ratio").T for name, runs in sets.items()},
        {name: colour(k) for k, name in enumerate(sets)},
    )
    ax.axhline(1, color=MUTED, lw=0.8, ls=":")
    ax.set(xlabel="epoch", ylabel="ratio: equivalent / different", ylim=(0, None))
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    return Picture(fig, f"Ratio at the end, mean over seeds: {ends}.")
