"""A panel of many small pictures at their places while a network trains, and views of one as its settings make them.

What stands near what is drawn by pictures.js; the views are the training's own function, traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from clbook.results.fingerprint import importable
from clbook_book.live.kept import kept
from clbook_book.live.page import drawing
from clbook_book.live.panels import Panel


def pictures(
    of: str,
    images: str,
    view: Callable,
    settings: Sequence[str],
    side: int,
    right: tuple[str, str],
    span: float,
    **more,
) -> Panel:
    """Pictures at their places.

    Args:
        of: a quantity (n, d), where they are. images: the part of the state (n, side, side) that they are.
        view: `view(picture, how, generator)` -> views (m, side, side) of a picture (side, side), `how` being
            {setting: number}.
        settings: those that `view` reads.
        right: two quantities, the share of pictures whose neighbours tell their class, and the same by pixels.
        span: the share of the block's width, beside the other panels.
        more: `presets` {words: {setting: value}}, `classes` what a class is called, `words` before the readout,
            `chance` the share that guessing finds.
    """
    names = (of, images, *right)
    told = {"side": side, "right": right[0], "reference": right[1]} | more
    told["code"] = program(view, settings, side)
    return Panel(
        "pictures",
        names,
        names,
        span=span,
        height=440,
        script="clbook_book.live/pictures.js",
        more=told,
    )


def program(view: Callable, settings: Sequence[str], side: int) -> str:
    """JavaScript of {make, draws, Generator}; `make` has inputs "given.picture", "given.SETTING", output "views"."""
    generator = torch.Generator().manual_seed(0)
    given = {"given.picture": torch.rand(side, side)}
    given |= {f"given.{name}": torch.tensor(0.1) for name in settings}

    def one(inputs):
        how = {name: inputs[f"given.{name}"] for name in settings}
        return {"views": view(inputs["given.picture"], how, generator)}

    def written():
        return drawing(one, given)

    # What stands in a notebook has no file by which its text could be found again.
    if not importable(view):
        return written()
    return kept(written, str, [__name__, view.__module__], [view.__qualname__, settings, side])
