"""SimCLR's views of one photograph, drawn in a page: the functions of `images.views`, traced.

The page has no formula of its own. From a seed it draws the numbers that torch draws, and computes with them what the
training computes.
"""

from __future__ import annotations

import functools

import torch

from clbook.experiments.images.views import COLUMNS, coloured, cropped, draw
from clbook.explore.static import file
from clbook_book.live.kept import kept
from clbook_book.live.page import drawing

COLOUR, SMALLEST = 0.5, 0.2  # of the wall's training, which mirrors views and blurs none
SIDE = 32  # of a photograph


def numbers_of(generator: torch.Generator) -> torch.Tensor:
    """(1, 11) the numbers of one view, as the wall's training draws them."""
    return draw(1, generator, COLOUR, flip=True, blur=False, smallest=SMALLEST)


def view(photograph: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """The view (1, 3, side, side) of a photograph of this shape: `images.views.views` where nothing is blurred."""
    return coloured(cropped(photograph, drawn), drawn)


@functools.cache
def program() -> str:
    """JavaScript of a function clbookViews(), which gives {make, draws, columns, Generator}.

    `make()` has the input "given.photograph", those that `draws` fills from a Generator, and the outputs "view" and
    "drawn", the numbers whose names are `columns`.
    """
    return kept(written, str, [__name__], [])


def written() -> str:
    """The program, traced now."""
    generator = torch.Generator().manual_seed(0)

    def one(given):
        drawn = numbers_of(generator)
        return {"view": view(given["given.photograph"], drawn), "drawn": drawn}

    code = drawing(one, {"given.photograph": torch.rand(1, 3, SIDE, SIDE)}, columns=COLUMNS)
    # Inside one function, so that its names do not meet those of another block of the page.
    return f"function clbookViews(){{{code}}}"


def script() -> str:
    """The program, and what shows its views on the wall."""
    return program() + file("clbook_book.live/photograph.js")
