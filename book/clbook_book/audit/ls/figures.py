"""Figures of the page on LS's items."""

from __future__ import annotations

import numpy as np
import xarray
from matplotlib.collections import LineCollection

from clbook.style import MUTED, Picture, axes, colour, legend, log_axis
from clbook_book.audit.judging import listed

MARK = "#111111"


def _paths(ax, one, steps, title):
    """The kept trajectories of one run of a record; returns when it separated, in words."""
    path = one.path.values
    labels = one.labels.values
    at = one.separable_at.item()
    there = np.isfinite(path[0])
    time, path = steps[: path.shape[1]][there] + 1, path[:, there]
    for k in np.unique(labels):
        bundle = LineCollection(
            [np.column_stack([time, line]) for line in path[labels == k]],
            colors=colour(k),
            linewidths=0.8,
            alpha=0.8,
        )
        bundle.set_gid(f"class {k}")
        ax.add_collection(bundle)
    if np.isfinite(at):
        ax.axvline(at + 1, color=MARK, lw=1.2)
    log_axis(ax)
    when = "not within this run" if np.isnan(at) else f"separable at {at:.0f}"
    pad = 0.06 * np.ptp(path)
    ax.set(
        xlim=(1, 1.05 * time[-1]),
        ylim=(path.min() - pad, path.max() + pad),
        xlabel="iteration, from 1",
        title=f"{title}\n{when}",
    )
    return when


def figure_3(record: xarray.Dataset) -> Picture:
    """LS Figure 3, second to fourth panel: the first seed of each pair of eps and tau."""
    fig, (row,) = axes(record.sizes["panel"], width=7.8, height=2.8)
    said = []
    for ax, panel in zip(row, record.panel.values, strict=True):
        one = record.sel(panel=panel, seed=0)
        eps = one.eps.item()
        tau = one.tau.item()
        when = _paths(
            ax, one, one.recorded_steps.values[::2], rf"$\varepsilon = {eps:g}$, $\tau = {tau:g}$"
        )
        said.append(f"ε = {eps:g}, τ = {tau:g}: {when}")
    row[0].set_ylabel("embedding $z_i$")
    return Picture(fig, "Trajectories of 20 points, seed 0. " + "; ".join(said) + ".")


def figure_4(record: xarray.Dataset) -> Picture:
    """The trajectories of MNIST's digits on a line (one seed), and the accuracy of a linear readout (all)."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.0)
    first = record.sel(seed=0)
    said = _paths(left, first, first.recorded_steps.values, "three digits, seed 0")
    left.set_ylabel("embedding $z_i$")
    for seed in record.seed.values:
        one = record.sel(seed=seed)
        name = f"seed {seed}"
        right.plot(
            one.recorded_steps + 1, one.accuracy, color=colour(seed + 3), label=name, gid=name
        )
    right.axhline(1 / 3, color=MUTED, lw=0.8, ls=":", label="guessing")
    log_axis(right)
    right.set(xlabel="iteration, from 1", ylim=(0, 1.03), title="accuracy on a line")
    legend(right, loc="upper left")
    return Picture(
        fig,
        f"Three digits of MNIST embedded on a line, seed 0: {said}. A linear readout is right on "
        f"a share of {listed(record.accuracy.isel(step=-1))} of the points at the end of the three seeds.",
    )
