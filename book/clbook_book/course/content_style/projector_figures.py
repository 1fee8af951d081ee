"""Figures of the chapters "Small is not lost" and "Layers and projectors": theory, and the projector on images."""

from __future__ import annotations

import numpy as np

from clbook.explore import Cell
from clbook.style import (
    ACCENT,
    INK,
    MUTED,
    Picture,
    axes,
    colour,
    legend,
    name_lines,
    needs,
    so_far,
)

BEFORE = colour(0)
AFTER = colour(1)
# Where the network is read, of all places: its number, name, colour and line.
SIDES = ((0, "before", BEFORE, "--"), (-1, "after", AFTER, "-"))
FLOOR = 1e-6  # eigenvalues below it are drawn there


def readings(cases) -> Picture:
    """Singular values of the gradient, one panel a case {title: {d_c: values}}; a filled dot ends the content."""
    fig, (row,) = axes(len(cases), width=7.8, height=2.9, sharey=True)
    for ax, (title, lines) in zip(row, cases.items(), strict=True):
        for k, (d_c, values) in enumerate(lines.items()):
            tone = colour(k)
            values = np.asarray(values) / float(values[0])
            place = range(1, len(values) + 1)
            ax.plot(place, values, "o-", ms=4, mfc="white", color=tone, label=f"$d_c$ = {d_c}")
            ax.plot(d_c, values[d_c - 1], "o", color=tone, ms=5)
        ax.set(title=title, xlabel="singular value", ylim=(0, 1.08), xticks=place)
    row[0].set_ylabel("size / largest")
    legend(row[0], loc="lower left")
    return Picture(
        fig, f"Normalised singular values of the gradient, a panel each for {'; '.join(cases)}."
    )


def surfaces(content, style, losses) -> Picture:
    """The loss over the scales of content and style, a panel for each {d_c: (content, style)}; best style marked."""
    fig, (row,) = axes(len(losses), width=7.8, height=3.1, sharey=True)
    said = []
    for ax, (d_c, values) in zip(row, losses.items(), strict=True):
        ax.contourf(content, style, np.log10(values).T, levels=14, cmap="viridis")
        best = style[values.argmin(1)]
        ax.plot(content, best, color="white", lw=2.2, gid="best style")
        said.append(f"d_c = {d_c}: from {best.min():.2f} up")
        ax.plot(1, 1, "o", color="white", ms=6, mec=ACCENT)
        ax.set(xscale="log", title=f"$d_c$ = {d_c}", xlabel="scale of content, $c$")
        ax.grid(False)
        ax.minorticks_off()
    row[0].set_ylabel("scale of style, $s$")
    return Picture(
        fig,
        "Contours of log loss. The style scale of lowest loss at each content scale: "
        f"{'; '.join(said)}.",
    )


def _spectra(ax, result, frame, title):
    """Covariance spectra before (dashed) and after (solid) the projector, as in CS Fig. 2, each with its rank."""
    spectrum = result.spectrum[frame]
    rank = result.rank[frame]
    for k, name, tone, line in SIDES:
        values = spectrum[k]
        index = np.arange(1, len(values) + 1)
        shown = np.maximum(values, FLOOR)
        place = result.places[k]
        ax.plot(index, shown, color=tone, ls=line, gid=place, label=f"{name}\nrank {rank[k]:.3g}")
    ax.set(yscale="log", ylim=(FLOOR, 1.6), xlabel="dimension", title=title)
    ax.minorticks_off()


def _says(result, frame):
    rank = result.rank[frame]
    readout = result.readout[frame]
    return (
        "before and after the projector "
        f"effective rank {rank[0]:.1f} and {rank[-1]:.1f}, "
        f"readout {readout[0]:.3f} and {readout[-1]:.3f}"
    )


@needs("spectrum", "readout")
def snapshot(result, frame=-1) -> Picture:
    """One recorded time: spectra (left), readout so far (right)."""
    fig, ((left, right),) = axes(2, width=7.4, height=3.0)
    c = result.config
    now = result.steps[frame]
    _spectra(left, result, frame, f"iteration {now}")
    left.set_ylabel("eigenvalue / largest")
    name_lines(left, 24)
    steps = result.steps
    for k, name, tone, line in SIDES:
        right.plot(steps, result.readout[:, k], color=tone, ls=line, marker="o", ms=4, label=name)
    so_far(right, now)
    right.set(xlabel="iteration", ylabel="readout accuracy", ylim=(0.85, 1))
    name_lines(right)
    size = "unit length" if c.normalize else "standardised"
    return Picture(fig, f"tau = {c.tau:g}, {size}, iteration {now}: {_says(result, frame)}.")


@needs("spectrum")
def ending(result) -> Cell:
    """(shade, sign, words) of a run for a cell: effective rank after the projector at the end; more is darker."""
    rank = float(result.rank[-1, -1])
    return Cell(
        min(1.0, rank / result.config.d),
        f"{rank:.0f}",
        f"effective rank {rank:.1f} after the projector",
    )


def unused(results) -> Picture:
    """CS Fig. 4 for {title: result}: mean absolute weight that each dimension of r gets in the last layer."""
    fig, (row,) = axes(len(results), width=7.4, height=2.9, sharey=True)
    said = []
    for ax, (title, result) in zip(row, results.items(), strict=True):
        c = result.config
        dims = np.arange(1, c.d + 1)
        start, end = result.rows[[0, -1]]
        ax.plot(dims, start, color=MUTED, lw=1, label="at the start", gid="start")
        ax.plot(dims, end, color=AFTER, label="at the end", gid="end")
        unused = slice(c.direct, None)
        start = start[unused]
        alone = start * (1 - c.lr * c.decay) ** c.steps
        ax.plot(dims[unused], alone, ":", color=INK, label="decay alone")
        ax.axvline(c.direct + 0.5, color=ACCENT, lw=1)
        ax.set(title=title, xlabel="dimension of $r$", ylim=(0, None))
        left = end[unused].mean() / start.mean()
        said.append(f"{title}: {left:.3f} of the unused weights is left")
    row[0].set_ylabel("mean |weight|")
    legend(row[-1], loc="center right")
    return Picture(fig, "; ".join(said) + ".")
