"""Figures of "Same contexts, same vector" and "What training remembers": training on modular addition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clbook.experiments.modadd.experiment import Result, over_seeds
from clbook.explore import Cell
from clbook.metrics import mean_interval
from clbook.style import (
    INK,
    MUTED,
    Picture,
    axes,
    colour,
    legend,
    mosaic,
    name_lines,
    needs,
    plane,
    so_far,
)
from clbook_book.course.drawing import square
from clbook_book.course.modadd.lookup_figures import DIFFERENT_TONE, SAME_TONE

START_TONES = {"pretrained": SAME_TONE, "random": DIFFERENT_TONE, "permuted": colour(2)}


def _band(ax, x, values, tone, name):
    """Mean over seeds of values (T, S) with its 95 % interval."""
    mean, half = mean_interval(values)
    ax.fill_between(x, mean - half, mean + half, color=tone, alpha=0.2, lw=0)
    ax.plot(x, mean, color=tone, label=name, gid=name)


def _distances(ax, runs):
    """Mean distances of both kinds of pairs, a thin line a seed; runs: a list that differs in the seed."""
    for name, tone in {"different": DIFFERENT_TONE, "equivalent": SAME_TONE}.items():
        values = over_seeds(runs, name)
        steps = runs[0].steps[: len(values)]
        ax.plot(steps, values, color=tone, lw=0.6, alpha=0.5)
        ax.plot(steps, values.mean(1), color=tone, label=name, lw=2, gid=name)
    ax.set(ylim=(0, None), ylabel="mean distance")


def _loss(ax, runs):
    """The loss, a thin line a seed, between its floor and the loss of equal scores."""
    first = runs[0]
    loss = over_seeds(runs, "loss")
    floor = over_seeds(runs, "floor").mean(1)
    guessing = np.log(first.config.batch)
    steps = first.steps[: len(loss)]
    ax.plot(steps, loss, color=colour(0), lw=0.8)
    ax.plot(steps, floor, color=INK, lw=1, ls="--", label="floor")
    ax.axhline(guessing, color=MUTED, lw=1, ls=":", label="equal scores")
    ax.set(ylim=(0, 1.15 * max(loss[0].max(), guessing)), ylabel="loss")


@needs("floor")
def training(runs: Sequence[Result]) -> Picture:
    """SL Fig. 2: distances and loss of contrastive runs, a seed each; accuracy of the classifiers that follow them."""
    fig, ((left, middle, right),) = axes(3, width=7.9, height=3.0)
    _distances(left, runs)
    _loss(middle, runs)
    first = runs[0]
    ends = []
    for start in first.accuracy:
        values = over_seeds(runs, start)
        _band(right, first.accuracy_at[: len(values)], values, START_TONES[start], start)
        ends.append(f"{start} {values[-1].mean():.2f}")
    right.axhline(1 / first.config.k, color=MUTED, lw=0.8, ls=":")
    right.set(ylim=(0, 1.02), ylabel="accuracy on unseen pairs", xlabel="epoch of the classifier")
    for ax in (left, middle):
        ax.set(xlabel="epoch")
        legend(ax, loc="best")
    legend(
        right,
        loc="lower center",
        bbox_to_anchor=(0.45, 1),
        ncols=3,
        fontsize=8,
        columnspacing=0.7,
        handlelength=1,
    )
    ratio = over_seeds(runs, "ratio")[-1].mean()
    return Picture(
        fig,
        f"In {first.config.epochs} epochs the ratio of distances falls to "
        f"{ratio:.2f}, the mean of {len(runs)} seeds; accuracy of the "
        f"classifiers at the end: {', '.join(ends)}.",
    )


def _symbols(ax, places, k):
    """The symbols at places (N, 2), each with its number, coloured mod k."""
    for u, place in enumerate(places):
        ax.plot(*place, "o", ms=7.7, color=colour(u % k), alpha=0.85, mew=0, gid=f"symbol {u}")
        # The numbers of equivalent symbols: away from each other.
        side = place - places[u % k :: k].mean(0)
        ax.annotate(
            str(u),
            place,
            9 * side / max(np.linalg.norm(side), 1e-12),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7.5,
            color=INK,
        )


@needs("floor")
def embedding(result: Result, frame: int = -1) -> Picture:
    """The symbols of one run on the two main axes of their last position, coloured mod k; distances and loss."""
    layout = [["z", "distances"], ["z", "loss"]]
    fig, ax = mosaic(layout, width=7.6, height=3.6, width_ratios=(1.15, 1))
    left = ax["z"]
    distances = ax["distances"]
    loss = ax["loss"]
    config = result.config
    tables = result.tables
    shown = (tables - tables.mean(1, keepdims=True)) @ plane(tables[-1])
    _symbols(left, shown[frame], config.k)
    largest = np.abs(shown).max()
    square(left, 1.15 * max(1e-3, largest), xlabel="first main axis", ylabel="second main axis")
    epoch = result.steps[frame]
    left.set(title=f"epoch {epoch}", gid="own scale")
    _distances(distances, [result])
    _loss(loss, [result])
    ended = epoch == result.steps[-1]
    collapsed = " (collapsed)" if result.collapsed and ended else ""
    ratio = result.ratio[frame]
    if np.isfinite(ratio):
        distances.set_title(f"ratio {ratio:.2f}{collapsed}")
    largest = max(result.different.max(), result.equivalent.max())
    distances.set_ylim(0, 1.1 * largest)
    loss.set_xlabel("epoch")
    for panel in (distances, loss):
        so_far(panel, epoch)
        name_lines(panel)
    equivalent = result.equivalent[frame]
    different = result.different[frame]
    about = f"k = {config.k}, d = {config.d}, decay {config.decay:g}, start {config.init:g}"
    return Picture(
        fig,
        f"{about}, epoch {epoch}: equivalent symbols are {equivalent:.2f} apart, "
        f"different ones {different:.2f}; loss {result.loss[frame]:.2f}{collapsed}.",
    )


def ending(result: Result) -> Cell:
    """(shade, sign, words) of a run for a cell: the ratio of distances at the end; the smaller, the darker."""
    if result.collapsed:
        return Cell(0.0, "point", "all symbols in one point")
    ratio = float(result.ratio[-1])
    return Cell(
        max(0.0, 1 - ratio),
        f"{ratio:.2f}",
        f"distance of equivalent over different symbols {ratio:.2f} at the end",
    )


@needs("floor")
def decays(sets: dict[str, Sequence[Result]]) -> Picture:
    """{name: runs, a seed each} on all samples: ratio and loss over the epochs, a line a seed."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.1)
    says = []
    for i, (name, runs) in enumerate(sets.items()):
        tone = colour(i)
        ratio = over_seeds(runs, "ratio")
        steps = runs[0].steps[: len(ratio)]
        left.plot(steps, ratio, color=tone, lw=0.7, alpha=0.6)
        left.plot(steps, ratio.mean(1), color=tone, lw=2, label=name, gid=name)
        loss = over_seeds(runs, "loss")
        right.plot(steps, loss, color=tone, lw=0.8)
        end = ratio[-1]
        ends = f"ratio {end.min():.3f} to {end.max():.3f}"
        says.append(f"{name}: {ends}, loss {loss[-1].mean():.3f}")
    floor = over_seeds(runs, "floor").mean(1)
    right.plot(steps, floor, color=INK, ls="--", label="floor of the batches")
    left.set(yscale="log", ylabel="ratio: equivalent / different")
    left.minorticks_off()
    right.set(ylim=(1.4, 2.2), ylabel="loss")
    for ax in (left, right):
        ax.set_xlabel("epoch")
    legend(left, loc="center right", bbox_to_anchor=(1, 0.42))
    legend(right, loc="upper right")
    return Picture(fig, "; ".join(says) + ".")
