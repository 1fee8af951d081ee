"""Figures of the page on VA's items."""

from __future__ import annotations

import xarray

from clbook import theory
from clbook.style import MUTED, Picture, axes, colour, legend, log_axis
from clbook_book.audit.va import recipes

NAMES = {
    ("mlp", 1): "one hidden layer",
    ("mlp", 4): "four hidden layers",
    ("averaging", 1): "eq. 18",
}


BELOW, BEYOND = "below the limit", "beyond it"


def uniform(record: xarray.Dataset) -> Picture:
    """Neighbour accuracy over time of the runs from a uniform start, by network and dimension."""
    fig, grid = axes(3, 2, width=7.8, height=4.6, sharex=True, sharey=True)
    said = []
    for row, d in zip(grid, (2, 3), strict=True):
        for ax, (network, low) in zip(row, recipes.BELOW.items(), strict=True):
            net, depth = network
            title = f"{NAMES[network]}, d = {d}"
            mine = record.sel(run=(record.net == net) & (record.depth == depth) & (record.d == d))
            best = {BELOW: [], BEYOND: []}
            for line in mine.accuracy:
                lr = line.lr.item()
                name = BELOW if lr in low else BEYOND
                label = None if best[name] else name
                gid = f"{name}, lr {lr:g}, seed {line.seed.item()}"
                look = {"color": colour(name == BEYOND), "lw": 0.7, "alpha": 0.7}
                ax.plot(record.step + 1, line, label=label, gid=gid, **look)
                best[name].append(line.max())
            ax.axhline(0.95, color=MUTED, lw=0.8, ls=":")
            ax.set(title=title, ylim=(0, 1.03))
            log_axis(ax)
            ranges = [f"{min(v):.2f} to {max(v):.2f} {name}" for name, v in best.items()]
            said.append(f"{title}: best accuracy {', '.join(ranges)}")
        row[0].set_ylabel("10-NN accuracy")
    for ax in grid[1]:
        ax.set_xlabel("iteration + 1")
    legend(grid[0][0], loc="center right")
    return Picture(fig, "Runs from a uniform start. " + "; ".join(said) + ".")


def by_seed(ax, curves: xarray.DataArray, k: int, label: str, name: str) -> None:
    """Draw curves (seed, step) in the k-th colour: the first with its label in the legend, `name` for the pointer."""
    for seed in curves.seed.values:
        ax.plot(
            curves.step + 1,
            curves.sel(seed=seed),
            color=colour(k),
            lw=0.9,
            label=None if seed else label,
            gid=f"{name}, seed {seed}",
        )


def life(record: xarray.Dataset) -> Picture:
    """Accuracy, loss and distance of views over 20,000 iterations."""
    fig, (row,) = axes(3, width=7.8, height=2.9, sharex=True)
    shown = {
        "10-NN accuracy": record.accuracy,
        "loss, eq. 4": record.recorded_loss,
        "a view from its point": record.recorded_spread,
    }
    for ax, (title, curves) in zip(row, shown.items(), strict=True):
        for k, start in enumerate(("cap", "uniform")):
            by_seed(ax, curves.sel(start=start), k, start, start)
        log_axis(ax)
        ax.set(title=title, xlabel="iteration + 1")
    plateau = theory.circle_plateau(recipes.BASE.tau, 1)
    row[1].axhline(plateau, color=MUTED, lw=0.8, ls="--")
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
    tail = record["tail"]
    for k, ratio in enumerate(record.ratio.values):
        by_seed(ax, tail.sel(ratio=ratio), k, f"{ratio:g}", f"size {ratio:g}")
    log_axis(ax)
    ax.set(xlabel="iteration + 1", ylabel="beside one of their own", ylim=(-0.03, 1.03))
    legend(ax, title="relative size", loc="center", bbox_to_anchor=(0.58, 0.5))
    end = tail.isel(step=-1).mean("seed")
    ends = ", ".join(f"{mean:.2f} at size {mean.ratio.item():g}" for mean in end)
    return Picture(
        fig,
        f"Share of the last cluster's points that are nearest to one of their own; at the end {ends}.",
    )
