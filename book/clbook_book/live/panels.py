"""What a page draws of a run while it trains: panels side by side, each of what the run records or `shown` gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        kind: "points", "curves" or "bars".
        of: names of the recorded quantities that are drawn.
        names: what a reader calls them, one each.
        title, xlabel, ylabel: words around the axes.
        colour: the quantity that says which colour a bar has; "" for one colour.
        log: whether the vertical axis goes by ratios.
        limits: the ends of the vertical axis; None for what the numbers need.
        ball: whether points lie on the circle or the sphere of radius 1, which is drawn.
    """

    kind: str
    of: tuple[str, ...]
    names: tuple[str, ...]
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    colour: str = ""
    log: bool = False
    limits: tuple[float, float] | None = None
    ball: bool = False


def check(panels: Sequence[Panel], recorded: Sequence[str]) -> None:
    """ValueError for a quantity that the page does not have."""
    for panel in panels:
        for name in (*panel.of, panel.colour):
            if name and name not in recorded:
                raise ValueError(
                    f"panels = {name!r} is not allowed: a page has {', '.join(recorded)} of this training"
                )


def points(of: str = "z", views: str = "", **how) -> Panel:
    """Points (n, d), a colour a class: d = 1 as paths over time, d = 2 in the plane, d = 3 on the sphere.

    Args:
        views: a quantity (m, n, d), views of the points, which are joined by a line.
        how: `title`, `ball`.
    """
    both = (of, views) if views else (of,)
    return Panel("points", both, both, **how)


def curves(*, log: bool = False, title: str = "", limits=None, **of: str) -> Panel:
    """Numbers, or vectors of numbers, over time: `curves(loss="the loss")`, a name for each quantity."""
    words = {"xlabel": "iteration + 1", "title": title}
    return Panel("curves", tuple(of), tuple(of.values()), **words, log=log, limits=limits)


def bars(of: str, name: str, **how) -> Panel:
    """A bar for each entry of a quantity (k,). how: `title`, `xlabel`, `colour`, `log`, `limits`."""
    return Panel("bars", (of,), (name,), **how)
