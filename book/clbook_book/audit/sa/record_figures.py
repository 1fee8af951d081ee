"""Figures of the longer trainings: mean and range over seeds, everywhere."""

from __future__ import annotations

import numpy as np

from clbook.style import INK, MUTED, Picture, axes, band, colour, legend, log_axis
from clbook_book.course.drawing import end_in_words

LABELS = {"NSCL": ("nscl", colour(0)), "SCL": ("supcon", colour(1)), "CE": ("ce", colour(2))}


def bands(panels) -> Picture:
    """Four panels: (label of y, x (K,), {name: (values (seeds, K), colour)}, settings of the axes)."""
    fig, grid = axes(2, 2, width=7.8, height=4.6)
    says = []
    for ax, (label, x, curves, settings) in zip(grid.flat, panels, strict=True):
        ends = []
        for name, (values, tone) in curves.items():
            band(ax, x, values, color=tone, label=name, gid=name, lw=1.3)
            ends.append(end_in_words(name, np.asarray(values)))
        ax.set(ylabel=label, xlabel="iteration")
        ax.set(**settings)
        says.append(f"{label}: {', '.join(ends)}")
    named = {}  # over all panels: one may have a curve more
    for ax in grid.flat:
        handles, labels = ax.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    fig.legend(
        [*named.values()], [*named], loc="outside lower center", ncols=5, frameon=False, fontsize=9
    )
    return Picture(fig, "At the end, mean and range of the seeds. " + "; ".join(says) + ".")


def chosen(record, key, which) -> dict:
    """{name: (values (seeds, K), colour)} of some networks of a record."""
    return {name: (record[key].sel(loss=loss), tone) for name, (loss, tone) in which.items()}


def long_training(record) -> Picture:
    """SA Fig. 2 and 6 with LARS: similarity, weight gap and spread within classes of the losses with labels."""
    panels = []
    for key, label, top in (
        ("cka", "CKA with DCL", 1.03),
        ("rsa", "RSA with DCL", 1.03),
        ("gap", "weight gap to DCL", 1.1),
        ("within", "variance within classes", 0.75),
    ):
        curves = chosen(record, key, LABELS)
        if key == "within":
            curves = {"DCL": (record.within.sel(loss="dcl"), INK)} | curves
        panels.append((label, record.step, curves, {"ylim": (0, top)}))
    return bands(panels)


def subsets(record) -> Picture:
    """SA Fig. 3 and 7 on random subsets of the classes of digits: a curve for each number of classes."""
    shades = ["#bdd7e7", "#6baed6", "#3182bd", "#08519c", "#08264d"]
    times = np.linspace(0, 1, record.sizes["step"])
    settings = {"ylim": (0, 1.03), "xlabel": "share of the training"}
    panels = []
    for key, label in (
        ("cka", "CKA, test"),
        ("cka_train", "CKA, training"),
        ("rsa", "RSA, test"),
        ("rsa_train", "RSA, training"),
    ):
        curves = {}
        for count, tone in zip(record.classes.values, shades, strict=True):
            curves[f"{count} classes"] = (record[key].sel(classes=count), tone)
        panels.append((label, times, curves, settings))
    return bands(panels)


def by_batch(record) -> Picture:
    """SA Fig. 5 with LARS: CKA at the end against B under four scalings."""
    sizes = record.batch.values
    fig, (row,) = axes(4, width=7.8, height=2.4, sharey=True)
    says = []
    for ax, scaling in zip(row, record.law.values, strict=True):
        ends = record.cka.isel(step=-1).sel(law=scaling).transpose("seed", "batch")
        band(ax, sizes, ends, color=colour(0), label="CKA", gid="CKA", marker="o", ms=3.5)
        ax.set(title=f"lr: {scaling}", ylim=(0, 1.03), xlabel="batch size $B$")
        log_axis(ax, sizes)
        first, *_, last = ends.mean("seed").values
        says.append(f"{scaling}: {first:.2f} and {last:.2f}")
    row[0].set_ylabel("CKA, DCL and NSCL")
    return Picture(fig, "CKA at B = 32 and at 256, five seeds. " + "; ".join(says) + ".")


def arrow(ax, turn: float, length: float, tone: str) -> None:
    """An arrow from the origin; `turn` in radians."""
    tip = length * np.cos(turn), length * np.sin(turn)
    ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": tone, "lw": 1.2})


def pairs_of_arrows(ax, angles, lengths) -> str:
    """An arrow along 0 degrees and one at its angle for each seed, lengths (seeds, 2); the angles in words."""
    for angle, (dcl, nscl) in zip(np.radians(angles), lengths, strict=True):
        arrow(ax, 0.0, dcl, INK)
        arrow(ax, angle, nscl, colour(0))
    arc = np.linspace(0, np.pi / 2, 60)
    ax.plot(np.cos(arc), np.sin(arc), color=MUTED, lw=0.6)
    ax.set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1), aspect="equal", xticks=[], yticks=[])
    ax.grid(False)
    between = f"{angles.min():.1f} to {angles.max():.1f}"
    return f"{angles.mean():.1f} degrees ({between})"


def polar(record) -> Picture:
    """SA Fig. 1: directions in which DCL (along 0 degrees) and NSCL have moved, a pair of arrows a seed; over time."""
    end = record.isel(step=-1)
    turned = record.weight_angle.sel(loss="nscl")
    first = end.isel({"class": 0})
    lengths = first.class_moved.values
    moved = end.moved.sel(loss=["dcl", "nscl"]).values
    fig, ((*arrows, over_time),) = axes(4, width=7.8, height=2.5)
    shown = {
        "(a) weights": (turned.isel(step=-1), moved),
        "(b) class 0, by axes": (first.class_angle.sel(embedding="by PCA"), lengths),
        "class 0, plain": (first.class_angle.sel(embedding="plain"), lengths),
    }
    says = []
    for ax, (title, (angles, moved)) in zip(arrows, shown.items(), strict=True):
        says.append(f"{title}: {pairs_of_arrows(ax, angles.values, moved / moved.max())}")
        ax.set_title(title, fontsize=9)
    mean = record.class_angle.mean("class")
    curves = {
        "weights": (turned, INK),
        "classes": (mean.sel(embedding="plain"), colour(0)),
        "classes, by axes": (mean.sel(embedding="by PCA"), colour(1)),
    }
    for name, (values, tone) in curves.items():
        band(over_time, record.step, values, color=tone, label=name, gid=name, lw=1.2)
    over_time.set(xlabel="iteration", title="angle, degrees", ylim=(0, 120), yticks=[0, 30, 60, 90])
    legend(over_time, loc="upper left")
    return Picture(fig, "Angles between the changes of DCL and NSCL. " + "; ".join(says) + ".")
