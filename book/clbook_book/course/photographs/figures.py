"""Figures of the page on photographs, all from records: lines are means over seeds, bands their range."""

from __future__ import annotations

import numpy as np
import xarray

from clbook.metrics import spectral_rank
from clbook.style import Picture, Table, axes, band, colour, legend, log_axis
from clbook_book.course.drawing import end_in_words

NAMES = {"NSCL": "nscl", "SCL": "supcon", "CE": "ce"}


def panel(ax, title: str, label: str, curves: dict, **settings) -> str:
    """Curves {name: (seeds, epochs)}, means as lines and ranges as bands; returns their ends in words."""
    ends = []
    for k, (name, values) in enumerate(curves.items()):
        band(ax, values.epoch, values, color=colour(k), label=name, gid=name)
        ends.append(end_in_words(name, values))
    epochs = values.epoch.values
    some = epochs[:: max(1, len(epochs) // 4)]  # five, the first and the last among them
    ax.set(title=title, xlabel="epoch", xticks=some, **settings)
    return f"{title}, {label}: {', '.join(ends)}"


def twins(cifar, mnist) -> Picture:
    """SA Fig. 2 and 6: CKA, RSA and weight gap of the losses with labels to DCL, over the epochs; a row a set."""
    fig, grid = axes(3, 2, width=7.8, height=4.8)
    texts = []
    for row, (title, record) in zip(grid, (("CIFAR-10", cifar), ("MNIST", mnist)), strict=True):
        for ax, key, label, top in (
            (row[0], "cka", "CKA with DCL", 1.03),
            (row[1], "rsa", "RSA with DCL", 1.03),
            (row[2], "gap", "weight gap to DCL", None),
        ):
            curves = {name: record[key].sel(loss=loss) for name, loss in NAMES.items()}
            texts.append(panel(ax, title, label, curves, ylabel=label, ylim=(0, top)))
    legend(grid[0, 0], loc="best")
    return Picture(fig, "At the end, mean and range of three seeds. " + "; ".join(texts) + ".")


def temperatures(cifar, mnist, cifar_tau, mnist_tau) -> Picture:
    """SA Fig. 4: CKA and RSA of NSCL with DCL over the epochs, a curve a temperature; a row a set."""
    fig, grid = axes(2, 2, width=7.2, height=4.8)
    texts = []
    for row, title, middle, others in (
        (grid[0], "CIFAR-10", cifar, cifar_tau),
        (grid[1], "MNIST", mnist, mnist_tau),
    ):
        for ax, key in zip(row, ("cka", "rsa"), strict=True):
            half, rest = (record[key].sel(loss="nscl") for record in (middle, others))
            curves = {
                r"$\tau$ = 0.1": rest.sel(tau=0.1),
                r"$\tau$ = 0.5": half,
                r"$\tau$ = 1": rest.sel(tau=1.0),
            }
            name = key.upper()
            look = {"ylabel": f"{name} of NSCL and DCL", "ylim": (0, 1.03)}
            texts.append(panel(ax, title, name, curves, **look))
    legend(grid[0, 0], loc="best")
    return Picture(fig, "At the end, mean and range of three seeds. " + "; ".join(texts) + ".")


def accuracies(cifar, mnist) -> Table:
    """SA Table 1: accuracies on the test images of nearest class centres and of a linear probe, means of seeds."""
    names = {"CL (DCL)": "dcl", **NAMES}
    columns = {"loss": [*names, "pixels"]}
    for title, record in (("CIFAR-10", cifar), ("MNIST", mnist)):
        means = record.mean("seed")
        for key, place in (("nccc", "centres"), ("probe", "probe")):
            column = [f"{means[key].sel(loss=loss):.3f}" for loss in names.values()]
            pixels = "–" if key == "nccc" else f"{means.pixels:.3f}"
            columns[f"{title}, {place}"] = [*column, pixels]
    return Table(tuple(columns), list(zip(*columns.values(), strict=True)))


def ranks(record, place: str):
    """(variants, seeds) effective rank at a place, "h" or "z"."""
    axis = [f"axis_{place}"]
    return xarray.apply_ufunc(spectral_rank, record[f"spectrum_{place}"], input_core_dims=[axis])


def spectra(norms: xarray.Dataset) -> Picture:
    """CS Fig. 2: variances of the test images along their axes, the largest as 1, before and after the projector."""
    fig, (row,) = axes(2, width=7.2, height=3.0, sharey=True)
    texts = []
    for ax, (place, title) in zip(
        row, (("h", "before the projector"), ("z", "after it")), strict=True
    ):
        effective = ranks(norms, place).mean("seed")
        for k, name in enumerate(norms.variant.values):
            values = norms[f"spectrum_{place}"].sel(variant=name).values
            values = np.maximum(values / values[:, :1], 1e-12)
            axis = np.arange(1, values.shape[1] + 1)
            band(ax, axis, values, color=colour(k), label=name, gid=name)
            texts.append(f"{title}, {name}: effective rank {effective.sel(variant=name):.1f}")
        ax.set(title=title, xlabel="axis, the largest variance first")
        log_axis(ax, axis="y")
    row[0].set_ylim(bottom=2e-8)  # room for the legend below the curves
    row[0].set_ylabel("variance, largest = 1")
    legend(row[0], loc="lower left", fontsize=7)
    return Picture(fig, "Variances along the axes, falling from 1. " + "; ".join(texts) + ".")


def readouts(norms: xarray.Dataset) -> Table:
    """CS Table 2: accuracy of a linear readout after and before the projector, mean and sd of three seeds."""
    found = []
    for name in norms.variant.values:
        runs = norms.sel(variant=name)
        tau, ratio = runs.tau.values[0], runs.tau_ratio.values[0]
        heat = f"{tau:.2g}" if ratio == 1 else f"{tau:g} and {tau * ratio:g}"
        after, before = (
            f"{v.mean():.3f} ± {v.std(ddof=1):.3f}" for v in (runs.probe_z, runs.probe)
        )
        found.append((name, heat, after, before))
    return Table(("outputs", "temperature", "after the projector", "before it"), found)
