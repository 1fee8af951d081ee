"""What the figures of several rooms draw alike."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from clbook.style import INK, colour


def bare(ax: Axes) -> None:
    """Leave out ticks, grid and frame."""
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[:].set_visible(False)


def square(ax: Axes, reach: float, **words: object) -> None:
    """Show the plane as far as `reach` from the origin to each side. words: of `Axes.set`."""
    limits = (-reach, reach)
    ax.set(xlim=limits, ylim=limits, aspect="equal", **words)


def by_class(
    ax: Axes, points: np.ndarray, labels: np.ndarray, size: float, prefix: str = "", **look: object
) -> None:
    """Draw points (n, 2) as discs in the colours of their classes, labels (n,)."""
    for k in np.unique(labels):
        mine = points[labels == k]
        ax.scatter(*mine.T, s=size, color=colour(k), linewidths=0, gid=f"{prefix}class {k}", **look)


def arrows(ax: Axes, places: np.ndarray, steps: np.ndarray, **look: object) -> None:
    """Draw an arrow from each of the places (n, 2) along its step (n, 2), as long as the step."""
    ax.quiver(*places.T, *steps.T, angles="xy", scale_units="xy", scale=1, **look)


def between_classes(ax: Axes, labels: np.ndarray, width: float) -> None:
    """Part the rows and columns of a matrix where the classes of its points, labels (n,), change."""
    for edge in np.flatnonzero(np.diff(labels)) + 0.5:
        ax.axhline(edge, color=INK, lw=width)
        ax.axvline(edge, color=INK, lw=width)


def end_in_words(name: str, values: np.ndarray) -> str:
    """A curve's name and end, mean and range over seeds, in words; values (seeds, T)."""
    end = values[:, -1]
    return f"{name} {end.mean():.2f} ({end.min():.2f} to {end.max():.2f})"
