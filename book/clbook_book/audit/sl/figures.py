"""Figures of the page of SL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray

from clbook.experiments.modadd import Result, lookup, over_seeds
from clbook.metrics import mean_interval
from clbook.style import INK, MUTED, Picture, axes, band, colour, legend
from clbook_book.audit.judging import listed
from clbook_book.course.drawing import square
from clbook_book.course.modadd import figures
from clbook_book.course.modadd.lookup_figures import DIFFERENT_TONE, SAME_TONE, _arrow, _mark

START_TONES = figures.START_TONES | {"one vector a class": colour(0)}


def lines(angles=(60, 20, 0)) -> Picture:
    """SL Fig. 3: for two context vectors at some angles, the differences that each one allows, a line each."""
    fig, (row,) = axes(len(angles), width=7.6, height=3.0)
    for ax, angle in zip(row, angles, strict=True):
        both = (
            (0, 1, 4, SAME_TONE, "$c_1$"),
            (angle, 0.8, 1.6, DIFFERENT_TONE, "$c_2$"),
        )  # seen if parallel
        for turn, size, width, tone, name in both:
            x = size * np.cos(np.pi * turn / 180)
            y = size * np.sin(np.pi * turn / 180)
            ax.plot([-2 * -y, 2 * -y], [-2 * x, 2 * x], color=tone, lw=width, alpha=0.7, gid=name)
            ax.annotate(
                "",
                (x, y),
                (0, 0),
                arrowprops={"arrowstyle": "->", "color": tone, "lw": 0.5 + width / 2},
            )
        if angle:
            ax.plot(0, 0, ls="", marker="o", color=INK, gid="the solution")
        ax.set(
            xlim=(-1.3, 1.3),
            ylim=(-1.3, 1.3),
            aspect="equal",
            xticks=[],
            yticks=[],
            title=f"{angle} degrees apart",
        )
        ax.grid(False)
    return Picture(
        fig,
        "For each of two context vectors (arrows) the line of differences that are orthogonal to it. "
        "At angles of 60 and 20 degrees the lines meet in zero only; parallel vectors have one line, "
        "and every point of it is a solution.",
    )


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


def sides(record: xarray.Dataset) -> Picture:
    """Ratios by what the two sides share, and the losses where they share nothing, of five seeds each."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.0)
    ratio = record.equivalent / record.different
    for k, name in enumerate(record.variant.values):
        band(left, record.step, ratio.sel(variant=name), color=colour(k), label=name, gid=name)
    apart = record.sel(variant="none")
    for name, tone, label in (
        ("held", DIFFERENT_TONE, "left-out samples"),
        ("loss", colour(0), "training samples"),
        ("floor", INK, "floor"),
    ):
        band(right, record.step, apart[name], color=tone, gid=name, label=label)
    left.set(xlabel="epoch", ylabel="ratio: equivalent / different", ylim=(0, None))
    right.set(xlabel="epoch", ylabel="loss", ylim=(0, None))
    for ax in (left, right):
        legend(
            ax,
            loc="lower center",
            bbox_to_anchor=(0.5, 1),
            ncols=3,
            columnspacing=0.8,
            handlelength=1.2,
        )
    held = apart.held.mean("seed").values
    end = ratio.isel(step=-1).mean("seed")
    ends = [f"{mean.variant.item()} {mean:.2f}" for mean in end]
    losses = f"{held[0]:.2f} at first, {held.max():.2f} at most, {held[-1]:.2f} at the end"
    return Picture(fig, f"Ratio at the end: {', '.join(ends)}. Loss on left-out samples: {losses}.")


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


def variants(sets: dict[str, Sequence[Result]], random: np.ndarray) -> Picture:
    """Rows {name: runs, a seed each}: ratio, distances and accuracy after pretraining, a dot a seed.

    random: (S,) accuracies of classifiers from random embeddings after as many epochs, drawn as a band.
    """
    fig, ((left, middle, right),) = axes(3, width=7.9, height=0.31 * len(sets) + 1.1, sharey=True)
    mean, half = mean_interval(random)
    right.axvspan(
        mean - half, mean + half, color=DIFFERENT_TONE, alpha=0.25, lw=0, label="random start"
    )
    says = []
    for y, (name, runs) in enumerate(sets.items()):
        row = np.full(len(runs), y)
        alive = np.array([not run.collapsed for run in runs])
        ratio = over_seeds(runs, "ratio")[-1]
        accuracy = over_seeds(runs, "pretrained")[-1]
        left.scatter(ratio[alive], row[alive], s=16, color=colour(0), gid="ratio")
        for kind, tone, shift in (
            ("different", DIFFERENT_TONE, 0.12),
            ("equivalent", SAME_TONE, -0.12),
        ):
            length = over_seeds(runs, kind)[-1]
            middle.scatter(
                length, row + shift, s=14, color=tone, label=None if y else kind, gid=kind
            )
        right.scatter(accuracy, row, s=16, color=SAME_TONE, gid="accuracy")
        if not alive.all():
            left.text(0.05, y, f"{(~alive).sum()} collapsed", va="center", fontsize=8, color=MUTED)
        says.append(f"{name}: ratio {ratio.mean():.2f}, accuracy {accuracy.mean():.2f}")
    left.axvline(1, color=MUTED, lw=0.8, ls=":")
    left.set(
        yticks=range(len(sets)),
        yticklabels=sets,
        ylim=(len(sets) - 0.5, -1.2),
        xlim=(0, 1.3),
        xlabel="ratio",
    )
    middle.set(xlim=(0, None), xlabel="mean distance")
    right.set(xlim=(0, 1.02), xlabel="accuracy on unseen pairs")
    for ax in (middle, right):
        legend(
            ax,
            loc="upper right",
            ncols=2,
            columnspacing=0.8,
            handletextpad=0.3,
            borderpad=0,
            handlelength=1.2,
        )
    return Picture(fig, "; ".join(says) + f"; random start {mean:.2f}.")


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


def push_pull(result, frame=-1, symbol=0) -> Picture:
    """SL A.5 for one symbol in the plane: contexts, as large as their softmax weights, both means, push and pull.

    The arrows at the symbol are drawn at half the size that they would have in the left panel.
    """
    k = result.config.k
    joint = torch.from_numpy(result.joint)
    z = result.z[frame]
    c = result.c[frame]
    own = z[symbol]
    both_tables = torch.from_numpy(z), torch.from_numpy(c)
    pulls, pushes = lookup.update(*both_tables, joint)
    pull = pulls[symbol].numpy()
    push = pushes[symbol].numpy()
    both = pull - push
    fig, ((left, right),) = axes(2, width=7.6, height=3.7)
    prior = joint.sum(0).log()
    scores = torch.from_numpy(c @ own) + prior
    weight = torch.softmax(scores, 0).numpy()
    size = 3 + 1500 * weight
    fits = result.joint.argmax(0) % k  # the class of the symbols that a context is seen with
    tones = [colour(fit) for fit in fits]
    left.scatter(*c.T, s=size, color=tones, linewidths=0, alpha=0.6, gid="contexts")
    left_edge = 1.6 * np.abs(result.c).max()
    right_edge = 1.6 * np.abs(result.z).max()
    halved = right_edge / left_edge / 2  # of the size that arrows have on the left
    _arrow(left, push, both, INK, "pull - push")
    _arrow(right, own, halved * pull, colour(2), "pull")
    _arrow(right, own, -halved * push, colour(1), "push")
    _arrow(right, own, halved * both, INK, "pull - push")
    _mark(left, pull, "^", colour(2), "mean of its contexts (pull)")
    _mark(left, push, "v", colour(1), "softmax mean (push)")
    tones = [colour(u % k) for u in range(len(z))]
    right.scatter(*z.T, s=30, color=tones, linewidths=0, gid="symbols")
    right.plot(*own, ls="", marker="o", ms=9, mfc="none", mec=INK, gid="the symbol")
    step = result.steps[frame]
    coordinates = {"xlabel": "first coordinate", "ylabel": "second coordinate"}
    square(left, left_edge, title=f"contexts, step {step}", **coordinates)
    square(right, right_edge, title=f"arrows for symbol {symbol}, step {step}", **coordinates)
    legend(left, loc="upper left")
    of_pull, of_push, of_both = np.linalg.norm([pull, push, both], axis=1)
    return Picture(
        fig,
        f"Step {step}, symbol {symbol}: pull of length {of_pull:.2f}, "
        f"push {of_push:.2f}, together {of_both:.3f}. Loss {result.loss[frame]:.3f}.",
    )
