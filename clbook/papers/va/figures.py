"""Figures of the page on VA's items."""

from __future__ import annotations

import xarray

from clbook import theory
from clbook.papers.va import recipes
from clbook.style import MUTED, Picture, axes, colour, legend, log_axis

NAMES = {
    ("mlp", 1): "one hidden layer",
    ("mlp", 4): "four hidden layers",
    ("averaging", 1): "eq. 18",
}


def uniform(record: xarray.Dataset) -> Picture:
    """Neighbour accuracy over time of the runs from a uniform start, by network and dimension."""
    fig, grid = axes(3, 2, width=7.8, height=4.6, sharex=True, sharey=True)
    said = []
    for row, d in zip(grid, (2, 3), strict=True):
        for ax, (net, depth) in zip(row, recipes.BELOW, strict=True):
            mine = record.sel(run=(record.net == net) & (record.depth == depth) & (record.d == d))
            best = {"below the limit": [], "beyond it": []}
            for lr, seed, line in zip(
                mine.lr.values, mine.seed.values, mine.accuracy.values, strict=True
            ):
                name = "below the limit" if lr in recipes.BELOW[net, depth] else "beyond it"
                first = not best[name]
                best[name].append(line.max())
                ax.plot(
                    record.step + 1,
                    line,
                    color=colour(0 if name == "below the limit" else 1),
                    lw=0.7,
                    alpha=0.7,
                    label=name if first else None,
                    gid=f"{name}, lr {lr:g}, seed {seed}",
                )
            ax.axhline(0.95, color=MUTED, lw=0.8, ls=":")
            ax.set(title=f"{NAMES[net, depth]}, d = {d}", ylim=(0, 1.03))
            log_axis(ax)
            ranges = [f"{min(v):.2f} to {max(v):.2f} {name}" for name, v in best.items()]
            said.append(f"{NAMES[net, depth]}, d = {d}: best accuracy {', '.join(ranges)}")
        row[0].set_ylabel("10-NN accuracy")
    for ax in grid[1]:
        ax.set_xlabel("iteration + 1")
    legend(grid[0][0], loc="center right")
    return Picture(fig, "Runs from a uniform start. " + "; ".join(said) + ".")


def life(record: xarray.Dataset) -> Picture:
    """Accuracy, loss and distance of views over 20,000 iterations."""
    fig, (row,) = axes(3, width=7.8, height=2.9, sharex=True)
    curves = record[["accuracy", "recorded_loss", "recorded_spread"]]
    for k, start in enumerate(("cap", "uniform")):
        for seed in record.seed.values:
            one = curves.sel(start=start, seed=seed)
            for ax, line in zip(row, one.values(), strict=True):
                ax.plot(
                    record.step + 1,
                    line,
                    label=None if seed else start,
                    lw=0.9,
                    color=colour(k),
                    gid=f"{start}, seed {seed}",
                )
    row[1].axhline(theory.circle_plateau(recipes.BASE.tau, 1), color=MUTED, lw=0.8, ls="--")
    for ax, name in zip(
        row, ("10-NN accuracy", "loss, eq. 4", "a view from its point"), strict=True
    ):
        log_axis(ax)
        ax.set(title=name, xlabel="iteration + 1")
    legend(row[0], loc="lower right")
    end = record.isel(step=-1)
    accuracy, loss = end.accuracy, end.recorded_loss
    ends = (
        f"The accuracy ends between {accuracy.min():.2f} and {accuracy.max():.2f}, the loss between "
        f"{loss.min():.3f} and {loss.max():.3f}"
    )
    return Picture(
        fig,
        f"Six runs of 20,000 iterations. {ends}; the line is the loss of the uniform distribution.",
    )


def lost(record: xarray.Dataset) -> Picture:
    """Share of the last cluster's points that are beside one of their own, over time, by its relative size."""
    fig, ((ax,),) = axes(1, width=4.6, height=2.9)
    for k, ratio in enumerate(record.ratio.values):
        for seed in record.seed.values:
            line = record["tail"].sel(ratio=ratio, seed=seed)
            ax.plot(
                record.step + 1,
                line,
                color=colour(k),
                lw=0.9,
                label=None if seed else f"{ratio:g}",
                gid=f"size {ratio:g}, seed {seed}",
            )
    log_axis(ax)
    ax.set(xlabel="iteration + 1", ylabel="beside one of their own", ylim=(-0.03, 1.03))
    legend(ax, title="relative size", loc="center", bbox_to_anchor=(0.58, 0.5))
    end = record["tail"].isel(step=-1).mean("seed")
    ends = ", ".join(f"{mean:.2f} at size {mean.ratio.item():g}" for mean in end)
    return Picture(
        fig,
        f"Share of the last cluster's points that are nearest to one of their own; at the end {ends}.",
    )
