"""What a page draws of a run while it trains: panels side by side, each of what the run records or `shown` gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from clbook_book.live import tasks


@dataclasses.dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        kind: "data", "points", "curves" or "bars".
        of: names of the recorded quantities that are drawn; of data also parts of the state at the start.
        names: what a reader calls them, one each.
        title, xlabel: words around the axes.
        colour: the quantity that says which colour a bar or a point has; "" for one colour, and for points their class.
        limits: the ends of the vertical axis, of curves at least, of data those of both; None for what numbers need.
        ball: whether points lie on the circle or the sphere of radius 1, which is drawn.
        numbers: of the points, from 0, that carry their number.
        span: the share of the picture's width, beside the other panels.
        height: in pixels, at least.
        script: the file that draws a kind of its own.
        more: what that reads besides.
    """

    kind: str
    of: tuple[str, ...]
    names: tuple[str, ...]
    title: str = ""
    xlabel: str = ""
    colour: str = ""
    limits: tuple[float, float] | None = None
    ball: bool = False
    numbers: Sequence[int] = ()
    span: float = 1
    height: int = 0
    script: str = ""
    more: dict = dataclasses.field(default_factory=dict)


def check(panels: Sequence[Panel], shapes: Mapping[str, Sequence[int]]) -> None:
    """ValueError for a quantity that the page does not have, and for data that are in no plane."""
    for panel in panels:
        for name in (*panel.of, panel.colour):
            if name:
                tasks.expect("panels", name, shapes)
        if panel.kind == "data" and shapes[panel.of[0]][-1] not in (1, 2):
            raise ValueError(
                f"panels = data of {panel.of[0]!r} is not allowed: it must have 1 or 2 numbers a point, not "
                f"{shapes[panel.of[0]][-1]}"
            )


def data(of: str = "x", title: str = "data", **how) -> Panel:
    """The data points (n, 2), or (n, 1) as numbers on a line, a colour a class, as they are at the start of a run.

    Args:
        of: a part of the state, such as x, or a quantity that is recorded.
        how: `limits`, `span`.
    """
    return Panel("data", (of,), (of,), title=title, **how)


def points(of: str = "z", views: str = "", **how) -> Panel:
    """Points (n, d), a colour a class: d = 1 as paths over time, d = 2 in the plane, d = 3 on the sphere.

    Args:
        views: a quantity (m, n, d), views of the points, which are joined by a line.
        how: `title`, `colour`, `ball`, `numbers`, `span`.
    """
    both = (of, views) if views else (of,)
    return Panel("points", both, both, **how)


def curves(*, title: str = "", limits=None, span: float = 1, **of: str) -> Panel:
    """Numbers, or vectors of numbers, over time: `curves(loss="the loss")`, a name for each quantity."""
    names = tuple(of.values())
    return Panel("curves", tuple(of), names, title=title, limits=limits, span=span)


def bars(of: str, name: str, **how) -> Panel:
    """A bar with its number for each entry of a quantity (k,). how: `title`, `xlabel`, `colour`, `limits`."""
    return Panel("bars", (of,), (name,), **how)
