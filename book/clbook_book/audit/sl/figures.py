"""Figures of the page of SL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray

from clbook.experiments.modadd import Result, over_seeds
from clbook.metrics import mean_interval
from clbook.style import MUTED, Picture, axes, band, colour, legend
from clbook_book.audit.judging import listed
from clbook_book.course.modadd import figures
from clbook_book.course.modadd.lookup_figures import DIFFERENT_TONE, SAME_TONE

START_TONES = figures.START_TONES | {"one vector a class": colour(0)}


def basis(record: xarray.Dataset) -> Picture:
    """Twins' largest distance, narrowest extent of the contexts: against columns a dimension, a dot a table."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.0)
    names = [name for name in record.variant.values if name.endswith("columns")]
    apart = record.twins.max("pair")
    narrowest = record.narrowest
    for ax, found, tone, label in (
        (left, apart, SAME_TONE, "distance of twins"),
        (right, narrowest, colour(0), "narrowest extent / widest"),
    ):
        for name in names:
            values = np.maximum(found.sel(variant=name), 1e-8)
            ax.scatter(
                np.full(len(values), int(name.split()[0]) / 32),
                values,
                s=22,
                color=tone,
                linewidths=0,
                alpha=0.7,
                gid=name,
            )
        ax.set(
            yscale="log",
            xlabel="pairs of context and label / dimensions",
            ylabel=label,
            xlim=(0.8, 6.6),
        )
        ax.minorticks_off()
    says = []
    for name in names:
        own = apart.sel(variant=name)
        says.append(f"{name} {own.min():.0e} to {own.max():.0e}")
    return Picture(
        fig,
        f"d = 32. Largest distance of twins, over five tables: {'; '.join(says)}.",
    )


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


def dose(gaps, ratio, accuracy, random) -> Picture:
    """Ratio of distances and accuracy (doses, S) against the total variation of equivalent symbols, a dot a seed."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.0)
    for ax, values, tone, label in (
        (left, ratio, colour(0), "ratio"),
        (right, accuracy, SAME_TONE, "accuracy"),
    ):
        ax.plot(gaps, values.mean(1), color=tone, gid=label)
        ax.scatter(
            np.repeat(gaps, values.shape[1]),
            values.ravel(),
            s=18,
            color=tone,
            linewidths=0,
            alpha=0.6,
        )
        ax.set(xlabel="total variation of equivalent symbols", ylim=(0, 1.15))
    right.axhspan(
        random.min(), random.max(), color=DIFFERENT_TONE, alpha=0.25, lw=0, label="random start"
    )
    left.set(ylabel="ratio: equivalent / different")
    right.set(ylabel="accuracy at epoch 100")
    legend(right, loc="upper right")
    says = []
    for numbers in zip(gaps, ratio.mean(1), accuracy.mean(1), strict=True):
        says.append(listed(numbers))
    return Picture(
        fig,
        f"Total variation, ratio, accuracy: {'; '.join(says)}. Random start: {random.mean():.2f}.",
    )


def coin(fixed, fresh) -> Picture:
    """Words with one toss an occurrence and with one a draw: twins' mean distance, and how often they are nearest."""
    fig, ((left, right),) = axes(2, width=7.6, height=3.0)
    says = []
    for runs, tone, name in (
        (fixed, DIFFERENT_TONE, "one toss per occurrence"),
        (fresh, SAME_TONE, "one toss per draw"),
    ):
        distance = np.array([run.distances["injected"].mean(1) for run in runs])
        share = np.array([run.twin_nearest for run in runs])
        band(left, runs[0].steps, distance, color=tone, label=name, gid=name)
        band(right, runs[0].steps, share, color=tone, gid=name)
        says.append(
            f"{name}: at the end {distance[:, -1].mean():.2f} apart, {share[:, -1].mean():.0%} nearest"
        )
    left.set(xlabel="step", ylabel="mean distance of twins", ylim=(0, None))
    right.set(xlabel="step", ylabel="share of nearest twins", ylim=(0, 1.02))
    legend(left, loc="upper left")
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


def pairs(runs: Sequence[Result], times: np.ndarray) -> Picture:
    """SL Fig. 7a: the distances of all pairs of symbols, a panel a run; times (T,): the epochs of the runs' tables."""
    rows = -(-len(runs) // 5)
    fig, panels = axes(5, rows, width=7.8, height=0.6 + 1.9 * rows, sharex=True, sharey=True)
    config = runs[0].config
    u, v = np.triu_indices(config.N, 1)
    for run, ax in zip(runs, panels.flat, strict=True):
        lengths = np.linalg.norm(run.tables[:, u] - run.tables[:, v], axis=2)
        for kind, tone in ((False, DIFFERENT_TONE), (True, SAME_TONE)):
            ax.plot(
                times, lengths[:, ((u - v) % config.k == 0) == kind], color=tone, lw=0.5, alpha=0.7
            )
        ax.set(xticks=(0, config.epochs // 2), title=f"seed {run.config.seed}")
    panels[-1, 2].set(xlabel="epoch")
    for ax in panels[:, 0]:
        ax.set(ylabel="distance", ylim=(0, None))  # after all panels: they share the axis
    equivalent, different = (
        over_seeds(runs, kind)[-1].mean() for kind in ("equivalent", "different")
    )
    return Picture(
        fig,
        f"Distances of all pairs over {config.epochs} epochs; at the end equivalent pairs are "
        f"{equivalent:.2f} apart, different ones {different:.2f}.",
    )
