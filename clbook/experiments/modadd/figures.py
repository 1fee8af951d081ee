"""Figures of the chapter "Contrastive learners are semantic learners": training on modular addition."""

from __future__ import annotations

import numpy as np

from clbook.experiments.modadd.lookup_figures import DIFFERENT_TONE, SAME_TONE
from clbook.metrics import mean_interval
from clbook.style import INK, MUTED, Picture, axes, colour, legend, mosaic

START_TONES = {"pretrained": SAME_TONE, "random": DIFFERENT_TONE, "permuted": colour(2)}


def _band(ax, x, values, tone, name):
    """Mean over seeds of values (T, S) with its 95 % interval."""
    mean, half = mean_interval(values)
    ax.fill_between(x, mean - half, mean + half, color=tone, alpha=0.2, lw=0)
    ax.plot(x, mean, color=tone, label=name, gid=name)


def _distances(ax, result):
    """Mean distances of both kinds of pairs, a thin line a seed."""
    for name, tone in (("different", DIFFERENT_TONE), ("equivalent", SAME_TONE)):
        values = getattr(result, name)
        ax.plot(result.steps, values, color=tone, lw=0.6, alpha=0.5)
        ax.plot(result.steps, values.mean(1), color=tone, label=name, lw=2, gid=name)
    ax.set(ylim=(0, None), ylabel="mean distance")


def _loss(ax, result):
    ax.plot(result.steps, result.loss, color=colour(0), lw=0.8)
    ax.plot(result.steps, result.floor.mean(1), color=INK, lw=1, ls="--", label="floor")
    ax.axhline(np.log(result.config.batch), color=MUTED, lw=0.8, ls=":")
    ax.set(ylim=(0, 1.15 * max(result.loss[0].max(), np.log(result.config.batch))), ylabel="loss")


def training(result) -> Picture:
    """SL Fig. 2: distances and loss of the contrastive runs, accuracy of the classifiers that start from them."""
    fig, ((left, middle, right),) = axes(3, width=7.9, height=3.0)
    _distances(left, result)
    _loss(middle, result)
    for start, values in result.accuracy.items():
        _band(right, result.accuracy_at, values, START_TONES[start], start)
    right.axhline(1 / result.config.k, color=MUTED, lw=0.8, ls=":")
    right.set(ylim=(0, 1.02), ylabel="accuracy on unseen pairs", xlabel="epoch of the classifier")
    for ax in (left, middle):
        ax.set(xlabel="epoch")
    for ax, place in ((left, "lower left"), (middle, "lower left"), (right, "upper left")):
        legend(ax, loc=place)
    says = ", ".join(f"{start} {values[-1].mean():.2f}" for start, values in result.accuracy.items())
    return Picture(fig, f"In {result.config.epochs} epochs the ratio of distances falls to {result.ratio[-1].mean():.2f}, "
                        f"the mean of {result.config.seeds} seeds; accuracy of the classifiers at the end: {says}.")


def _projection(table):
    """(d, 2) main axes of table (N, d), each with a fixed sign; one axis is followed by zeros where d = 1."""
    _, _, main = np.linalg.svd(table - table.mean(0), full_matrices=False)
    main = np.vstack([main, np.zeros_like(main[:1])])[:2]
    return (main * np.sign(main[np.arange(2), np.abs(main).argmax(1)] + 1e-12)[:, None]).T


def embedding(result, frame=-1) -> Picture:
    """The symbols of the first seed on the two main axes of their last position, coloured mod k; distances and loss."""
    fig, ax = mosaic([["z", "d"], ["z", "l"]], width=7.6, height=3.6, width_ratios=(1.15, 1))
    config, tables = result.config, result.tables[:, 0]
    axes_ = _projection(tables[-1])
    shown = (tables[frame] - tables[frame].mean(0)) @ axes_
    for u, (x, y) in enumerate(shown):
        ax["z"].scatter(x, y, s=150, color=colour(u % config.k), alpha=0.85, linewidths=0, gid=f"symbol {u}")
        ax["z"].annotate(str(u), (x, y), ha="center", va="center", fontsize=7.5, color="white", weight="bold")
    reach = 1.15 * max(1e-3, np.abs((tables - tables.mean(1, keepdims=True)) @ axes_).max())
    collapsed = " (collapsed)" if result.collapsed[0] else ""
    ax["z"].set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="first main axis",
                ylabel="second main axis", title=f"epoch {result.steps[frame]}")
    _distances(ax["d"], result)
    _loss(ax["l"], result)
    for name in "dl":
        ax[name].axvline(result.steps[frame], color=MUTED, lw=1, ls=":")
    ax["d"].set(title=f"ratio at the end {result.ratio[-1, 0]:.2f}{collapsed}" if np.isfinite(result.ratio[-1, 0]) else "")
    ax["l"].set(xlabel="epoch")
    ax["d"].set_ylim(0, 1.45 * max(result.different[:, 0].max(), result.equivalent[:, 0].max()))
    legend(ax["d"], loc="upper right", ncols=2, columnspacing=1)
    return Picture(fig, f"k = {config.k}, d = {config.d}, decay {config.decay:g}, start {config.init:g}, "
                        f"epoch {result.steps[frame]}: equivalent symbols are {result.equivalent[frame, 0]:.2f} apart, "
                        f"different ones {result.different[frame, 0]:.2f}; last loss {result.loss[-1, 0]:.2f}{collapsed}.")


def variants(runs, random) -> Picture:
    """Rows {name: result}: ratio, distances and accuracy after pretraining, a dot a seed.

    random: (S,) accuracies of classifiers from random embeddings after as many epochs, drawn as a band.
    """
    fig, ((left, middle, right),) = axes(3, width=7.9, height=0.31 * len(runs) + 1.1, sharey=True)
    mean, half = mean_interval(random)
    right.axvspan(mean - half, mean + half, color=DIFFERENT_TONE, alpha=0.25, lw=0, label="random start")
    says = []
    for y, (name, run) in enumerate(runs.items()):
        row = np.full(run.config.seeds, y)
        alive = ~run.collapsed
        left.scatter(run.ratio[-1][alive], row[alive], s=16, color=colour(0), gid="ratio")
        for kind, tone, shift in (("different", DIFFERENT_TONE, 0.12), ("equivalent", SAME_TONE, -0.12)):
            middle.scatter(getattr(run, kind)[-1], row + shift, s=14, color=tone, label=None if y else kind, gid=kind)
        right.scatter(run.accuracy["pretrained"][-1], row, s=16, color=SAME_TONE, gid="accuracy")
        if not alive.all():
            left.text(0.05, y, f"{(~alive).sum()} collapsed", va="center", fontsize=8, color=MUTED)
        says.append(f"{name}: ratio {run.ratio[-1].mean():.2f}, accuracy {run.accuracy['pretrained'][-1].mean():.2f}")
    left.axvline(1, color=MUTED, lw=0.8, ls=":")
    left.set(yticks=range(len(runs)), yticklabels=runs, ylim=(len(runs) - 0.5, -1.2), xlim=(0, 1.3), xlabel="ratio")
    middle.set(xlim=(0, None), xlabel="mean distance")
    right.set(xlim=(0, 1.02), xlabel="accuracy on unseen pairs")
    for ax in (middle, right):
        legend(ax, loc="upper right", ncols=2, columnspacing=0.8, handletextpad=0.3, borderpad=0, handlelength=1.2)
    return Picture(fig, "; ".join(says) + f"; random start {mean:.2f}.")


def decays(runs) -> Picture:
    """{name: result} on all samples: ratio and loss over the epochs, a line a seed."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.1)
    for i, (name, run) in enumerate(runs.items()):
        left.plot(run.steps, run.ratio, color=colour(i), lw=0.7, alpha=0.6)
        left.plot(run.steps, run.ratio.mean(1), color=colour(i), lw=2, label=name, gid=name)
        right.plot(run.steps, run.loss, color=colour(i), lw=0.8)
    right.plot(run.steps, run.floor.mean(1), color=INK, ls="--", label="floor of the batches")
    left.set(yscale="log", xlabel="epoch", ylabel="ratio: equivalent / different")
    left.minorticks_off()
    right.set(ylim=(1.4, 2.2), xlabel="epoch", ylabel="loss")
    legend(left, loc="center right", bbox_to_anchor=(1, 0.32))
    legend(right, loc="upper right")
    return Picture(fig, "; ".join(f"{name}: ratio {run.ratio[-1].min():.3f} to {run.ratio[-1].max():.3f}, loss "
                                  f"{run.loss[-1].mean():.3f}" for name, run in runs.items()) + ".")


def pairs(result) -> Picture:
    """SL Fig. 7a: the distances of all pairs of symbols, a panel a seed."""
    fig, (row,) = axes(result.config.seeds, width=7.8, height=2.8, sharey=True)
    u, v = np.triu_indices(result.config.N, 1)
    for s, ax in enumerate(row):
        lengths = np.linalg.norm(result.tables[:, s, u] - result.tables[:, s, v], axis=2)
        for kind, tone in ((False, DIFFERENT_TONE), (True, SAME_TONE)):
            ax.plot(result.steps, lengths[:, ((u - v) % result.config.k == 0) == kind], color=tone, lw=0.5, alpha=0.7)
        ax.set(xlabel="epoch", title=f"seed {result.config.seed + s}", ylim=(0, None))
    row[0].set_ylabel("distance")
    return Picture(fig, f"Distances of all pairs over {result.config.epochs} epochs; at the end equivalent pairs are "
                        f"{result.equivalent[-1].mean():.2f} apart, different ones {result.different[-1].mean():.2f}.")
