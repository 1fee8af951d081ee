"""Figures of the page on CS's items."""

from __future__ import annotations

import numpy as np

from clbook.style import ACCENT, MUTED, Picture, axes, colour, legend


def lemmas(scales, errors, sizes, ranks, conditions, d=8) -> Picture:
    """Left: relative error of Lemma 5's forms against the scale of W. Right: rank of the gradient by batch size."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.1)
    said = []
    for k, (name, values) in enumerate(errors.items()):
        marker = "os^"[k % 3]
        left.plot(scales, values, marker=marker, ms=4, color=colour(k), label=name, gid=name)
        said.append(f"{name} {values[0]:.1e}")
    left.axvline(1, color=MUTED, lw=0.8, ls=":")
    left.set(
        xscale="log",
        yscale="log",
        xlabel="size of $W$ (1: as the inverse of $g$)",
        ylabel="relative error",
        ylim=(1e-8, 30),
    )
    legend(left, loc="lower right")
    right.plot(sizes, ranks, "o", color=ACCENT, ms=6, gid="rank", label="measured rank")
    sizes = np.asarray(sizes)
    right.plot(sizes, np.minimum(2 * sizes - 1, d), color=MUTED, label="min(2n - 1, d)")
    right.plot(sizes, np.minimum(sizes, d), color=MUTED, ls="--", label="min(n, d)")
    for n, rank, condition in zip(sizes, ranks, conditions, strict=True):
        if rank == d:
            right.annotate(
                f"{condition:.0f}",
                (n, rank),
                (0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    right.set(
        xlabel="images in the batch, $n = M + 1$", ylabel="rank of the gradient", ylim=(0, d + 1.5)
    )
    legend(right, loc="lower right")
    for ax in (left, right):
        ax.minorticks_off()
    return Picture(
        fig,
        f"Relative errors at the smallest W: {', '.join(said)}. Ranks of the gradient for n = {sizes[0]} to "
        f"{sizes[-1]}: {', '.join(map(str, ranks))}.",
    )
