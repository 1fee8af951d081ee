"""Figures of the page on photographs, all from records: lines are means over seeds, bands their range."""

from __future__ import annotations

import numpy as np

from clbook.experiments.alignment.figures import said
from clbook.experiments.photographs.claims import CE, DCL, NSCL, SCL, ranks, rows
from clbook.experiments.photographs.recipes import ROWS, SEEDS, TEMPERATURES
from clbook.results.records import Record
from clbook.style import Picture, Table, axes, band, colour, legend, log_axis

NAMES = {"NSCL": NSCL, "SCL": SCL, "CE": CE}
WORDS = (
    "norm",
    "no norm",
    "no norm, two temperatures",
    "no norm, variance 1",
    "no norm, variance 1, two temperatures",
    "norm, temperature 1/64",
)  # of the rows of ROWS


def line(ax, x, values, tone, name, **look) -> str:
    """Mean of values (seeds, K) as a line, their range as a band; returns its end in words."""
    band(ax, x, values, color=tone, label=name, gid=name, **look)
    return said(name, values)


def ticks(epochs: np.ndarray) -> np.ndarray:
    """Some five of the epochs, the first and the last among them where they divide so."""
    return epochs[:: max(1, len(epochs) // 4)]


def twins(cifar: Record, mnist: Record) -> Picture:
    """SA Fig. 2 and 6: CKA, RSA and weight gap of the losses with labels to DCL, over the epochs; a row a set."""
    fig, grid = axes(3, 2, width=7.8, height=4.8)
    texts, measures = (
        [],
        (("cka", "CKA with DCL"), ("rsa", "RSA with DCL"), ("gap", "weight gap to DCL")),
    )
    for row, (title, record) in zip(grid, (("CIFAR-10", cifar), ("MNIST", mnist)), strict=True):
        for ax, (key, label) in zip(row, measures, strict=True):
            ends = [
                line(ax, record["epochs"], record[key][..., k], colour(n), name)
                for n, (name, k) in enumerate(NAMES.items())
            ]
            ax.set(
                title=title,
                xlabel="epoch",
                ylabel=label,
                ylim=(0, None if key == "gap" else 1.03),
                xticks=ticks(record["epochs"]),
            )
            texts.append(f"{title}, {label}: {', '.join(ends)}")
    legend(grid[0, 0], loc="best")
    return Picture(fig, "At the end, mean and range of three seeds. " + "; ".join(texts) + ".")


def temperatures(cifar: Record, mnist: Record, cifar_tau: Record, mnist_tau: Record) -> Picture:
    """SA Fig. 4: CKA and RSA of NSCL with DCL over the epochs, a curve a temperature; a row a set."""
    fig, grid = axes(2, 2, width=7.2, height=4.8)
    texts = []
    for row, (title, middle, others) in zip(
        grid, (("CIFAR-10", cifar, cifar_tau), ("MNIST", mnist, mnist_tau)), strict=True
    ):
        for ax, (key, label) in zip(row, (("cka", "CKA"), ("rsa", "RSA")), strict=True):
            low, high = others[key][..., NSCL].reshape(2, len(SEEDS), -1)
            curves = zip(TEMPERATURES, (low, middle[key][..., NSCL], high), strict=True)
            ends = [
                line(ax, middle["epochs"], values, colour(n), f"$\\tau$ = {tau:g}")
                for n, (tau, values) in enumerate(curves)
            ]
            ax.set(
                title=title,
                xlabel="epoch",
                ylabel=f"{label} of NSCL and DCL",
                ylim=(0, 1.03),
                xticks=ticks(middle["epochs"]),
            )
            texts.append(f"{title}, {label}: {', '.join(ends)}")
    legend(grid[0, 0], loc="best")
    return Picture(fig, "At the end, mean and range of three seeds. " + "; ".join(texts) + ".")


def accuracies(cifar: Record, mnist: Record) -> Table:
    """SA Table 1: accuracies on the test images of nearest class centres and of a linear probe, means of seeds."""
    found = []
    for name, k in {"CL (DCL)": DCL, **NAMES}.items():
        found.append(
            (
                name,
                *(
                    f"{record[key][:, k].mean():.3f}"
                    for record in (cifar, mnist)
                    for key in ("nccc", "probe")
                ),
            )
        )
    found.append(
        (
            "pixels",
            *(
                text
                for record in (cifar, mnist)
                for text in ("–", f"{record['pixels'].mean():.3f}")
            ),
        )
    )
    return Table(
        ("loss", "CIFAR-10, centres", "CIFAR-10, probe", "MNIST, centres", "MNIST, probe"), found
    )


def spectra(norms: Record) -> Picture:
    """CS Fig. 2: variances of the test images along their axes, the largest as 1, before and after the projector."""
    fig, (row,) = axes(2, width=7.2, height=3.0, sharey=True)
    texts = []
    for ax, (place, title) in zip(
        row, (("h", "before the projector"), ("z", "after it")), strict=True
    ):
        effective = ranks(norms, place).mean(1)
        for k, (name, values) in enumerate(
            zip(WORDS, rows(norms, f"spectrum_{place}"), strict=True)
        ):
            values = np.maximum(values / values[:, :1], 1e-12)
            line(ax, np.arange(1, values.shape[1] + 1), values, colour(k), name)
            texts.append(f"{title}, {name}: effective rank {effective[k]:.1f}")
        ax.set(title=title, xlabel="axis, the largest variance first")
        log_axis(ax, axis="y")
    row[0].set_ylabel("variance, largest = 1")
    legend(row[0], loc="lower left", fontsize=7)
    return Picture(fig, "Variances along the axes, falling from 1. " + "; ".join(texts) + ".")


def readouts(norms: Record) -> Table:
    """CS Table 2: accuracy of a linear readout after and before the projector, mean and sd of three seeds."""
    found = []
    for k, (name, (_, tau, ratio, _)) in enumerate(zip(WORDS, ROWS, strict=True)):
        values = (rows(norms, key)[k] for key in ("probe_z", "probe"))
        found.append(
            (
                name,
                f"{tau:.2g}" if ratio == 1 else f"{tau:g} and {tau * ratio:g}",
                *(f"{v.mean():.3f} ± {v.std(ddof=1):.3f}" for v in values),
            )
        )
    return Table(("outputs", "temperature", "after the projector", "before it"), found)
