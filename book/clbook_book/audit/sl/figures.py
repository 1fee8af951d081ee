"""Figures of the page of SL."""

from __future__ import annotations

from collections.abc import Sequence

from clbook.experiments.modadd import Result, over_seeds
from clbook.metrics import mean_interval
from clbook.style import MUTED, Picture, axes, band, colour, legend
from clbook_book.course.modadd import figures

START_TONES = figures.START_TONES | {"one vector a class": colour(0)}


def starts(panels: dict, at) -> Picture:
    """{title: {start: accuracy (S, T)}} of classifiers at the epochs at (T,): means and 95 % intervals over seeds."""
    fig, (row,) = axes(len(panels), width=7.8, height=3.2, sharey=True)
    for ax, (title, curves) in zip(row, panels.items(), strict=True):
        for name, values in curves.items():
            _, half = mean_interval(values.T)
            band(ax, at, values, half, color=START_TONES[name], label=name, gid=name)
        ax.axhline(1 / 8, color=MUTED, lw=0.8, ls=":")
        ax.set(xlabel="epoch of the classifier", xticks=(0, at[-1] // 2, at[-1]), title=title)
    row[0].set(ylim=(0, 1.02), ylabel="accuracy on unseen pairs")
    legend(row[0], loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4)
    says = []
    for title, curves in panels.items():
        ends = [f"{name} {values[:, -1].mean():.2f}" for name, values in curves.items()]
        says.append(f"{title or 'Accuracy'}: at the end {', '.join(ends)}")
    return Picture(fig, "; ".join(says) + ".")


def ratios(sets: dict[str, Sequence[Result]]) -> Picture:
    """{name: runs, a seed each}: the ratio of distances over the epochs, mean and 95 % interval over seeds."""
    fig, ((ax,),) = axes(width=7.6, height=3.4)
    ends = []
    for k, (name, runs) in enumerate(sets.items()):
        values = over_seeds(runs, "ratio")
        mean, half = mean_interval(values)
        band(ax, runs[0].steps, values.T, half, color=colour(k), label=name, gid=name)
        ends.append(f"{name} {mean[-1]:.2f}")
    ax.axhline(1, color=MUTED, lw=0.8, ls=":")
    ax.set(xlabel="epoch", ylabel="ratio: equivalent / different", ylim=(0, None))
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    return Picture(fig, f"Ratio at the end, mean over seeds: {'; '.join(ends)}.")
