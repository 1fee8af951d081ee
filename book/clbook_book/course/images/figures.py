"""Figures of the page on real images, all from records."""

from __future__ import annotations

import numpy as np
import torch
import xarray
from matplotlib.lines import Line2D

from clbook.experiments.images import views
from clbook.style import Picture, axes, band, colour, legend, log_axis

OBJECTS = (
    "plane",
    "car",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)  # CIFAR-10's, in its order


def seen(image: np.ndarray, count: int = 9, **how) -> Picture:
    """An image (height, width, 3), uint8, and `count` random views of it; `how` goes to `views.draw`."""
    x = torch.from_numpy(image.copy()).permute(2, 0, 1)[None].float() / 255
    drawn = views.draw(count, torch.Generator().manual_seed(0), **how)
    shown = (
        torch.cat([x, views.views(x.expand(count, -1, -1, -1), drawn)])
        .permute(0, 2, 3, 1)
        .clamp(0, 1)
        .numpy()
    )
    fig, grid = axes((count + 1) // 2, 2, width=7.4, height=3.2)
    for ax, picture in zip(grid.flat, shown, strict=True):
        ax.imshow(picture)
        ax.axis("off")
    grid[0, 0].set_title("the image", fontsize=9)
    return Picture(
        fig,
        f"A photograph of a flower and {count} random views: parts of it, some mirrored, in other "
        "colours or without colours.",
    )


def planes(mnist: xarray.Dataset, cifar: xarray.Dataset) -> Picture:
    """LS and VA Fig. 1: t-SNE of pixels and of features; below, how often neighbours are right, in all dimensions."""
    fig, grid = axes(2, 2, width=7.4, height=7.6)
    said, sets = [], (("MNIST", mnist, range(10)), ("CIFAR-10", cifar, OBJECTS))
    for row, (name, record, names) in zip(grid, sets, strict=True):
        first, tones = record.isel(seed=0), [colour(k) for k in record.labels.values]
        rights = {"pixels": first.pixels, "features": first.knn.isel(epoch=-1)}
        for ax, (what, right) in zip(row, rights.items(), strict=True):
            ax.scatter(*record[f"{what}_plane"].values.T, s=3, lw=0, c=tones)
            ax.set(
                title=f"{name}, {'pixels' if what == 'pixels' else 'SimCLR features'}",
                xticks=[],
                yticks=[],
                xlabel=f"neighbours right: {right:.2f}",
            )
            said.append(
                f"{name}, {what}: right for {right:.2f}, in the plane for {first[f'{what}_seen']:.2f}"
            )
        marks = [Line2D([], [], ls="", marker="o", ms=5, color=colour(k)) for k in range(10)]
        row[1].legend(
            marks,
            names,
            loc="center left",
            bbox_to_anchor=(1, 0.5),
            handletextpad=0.1,
            frameon=False,
        )
    return Picture(
        fig,
        "Four pictures by t-SNE of 2,000 test images, coloured by class. Ten nearest training images, "
        "in all dimensions, and ten nearest points of the plane: " + "; ".join(said) + ".",
    )


def spectra(record: xarray.Dataset) -> Picture:
    """Variance of the test images along the axes, before and after the projector, the largest as 1."""
    fig, ((ax,),) = axes(1, width=5.2, height=3.0)
    ends = []
    for k, (name, what) in enumerate((("h", "before the projector"), ("z", "after it"))):
        values = record[f"spectrum_{name}"].values
        values = values / values[:, :1]
        band(ax, np.arange(1, values.shape[1] + 1), values, color=colour(k), label=what, gid=what)
        ends.append(f"{what} {values[:, 31].mean():.1g}")
    log_axis(ax, axis="y")
    ax.set(xlabel="axis, the largest variance first", ylabel="variance, largest = 1")
    legend(ax, loc="lower left")
    return Picture(
        fig,
        "Variances of 2,000 test images along their axes, falling from 1; at the 32nd of 64 axes "
        + ", ".join(ends)
        + ".",
    )


def emergence(record: xarray.Dataset) -> Picture:
    """LS Fig. 4: paths of 40 images of two classes on the line, one run; accuracy of a linear readout, all runs."""
    fig, ((left, right),) = axes(2, width=7.2, height=3.0)
    time = record.step + 1
    for label, line in zip(record.labels.values, record.path.values[0], strict=True):
        left.plot(time, line, color=colour(label), lw=0.6)
    left.set(title="one run", xlabel="iteration, from 1", ylabel="embedding z")
    for k, line in enumerate(record.accuracy.values):
        right.plot(time, line, color=colour(2), lw=1, gid=f"seed {k}")
    right.set(
        title="linear readout, three seeds",
        xlabel="iteration, from 1",
        ylabel="accuracy",
        ylim=(0.45, 1.02),
    )
    log_axis(left)
    log_axis(right)
    marks = [Line2D([], [], color=colour(k)) for k in range(2)]
    legend(left, handles=marks, labels=OBJECTS[:2], loc="upper left")
    ends = ", ".join(f"{line[0]:.2f} to {line[-1]:.2f}" for line in record.accuracy.values)
    return Picture(
        fig,
        f"Left: paths of 20 planes and 20 cars on a line. Right: accuracy of a linear readout, {ends}.",
    )
