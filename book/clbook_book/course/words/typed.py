"""Words that a reader types: who is nearest in the chapter's run, and a text of the reader's own that trains."""

from __future__ import annotations

import base64
import dataclasses
import gzip

import xarray

from clbook import style
from clbook.explore.static import Block, filled
from clbook_book.course.words import halves
from clbook_book.live.inpage import programs, written
from clbook_book.live.page import shared_code

FILES = ("clbook.explore/address.js", "clbook_book.live/block.js")


def packed(data: bytes) -> str:
    """Letters for a page, from which its script unpacks `data`."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


@dataclasses.dataclass(eq=False, repr=False)
class Nearest(Block):
    """The nearest of any word, at four times of a run.

    Attributes:
        record: "words-nearest", of one run.
        words: the run's symbols.
        word: the one that is shown at first.
        title, caption: a short heading, and what stands below.
        name: of the block, for links.
    """

    record: xarray.Dataset
    words: list[str]
    word: str
    title: str
    caption: str
    name: str = "neighbours"

    def _repr_html_(self) -> str:
        # All words' neighbours of one rank and time side by side, and low bytes before high ones: this packs best.
        near = self.record.near.values.transpose(0, 2, 1)
        away = self.record.away.values.transpose(0, 2, 1)
        planes = (near & 255).astype("u1"), (near >> 8).astype("u1"), away
        setup = {
            "name": self.name,
            "word": self.word,
            "words": self.words,
            "times": self.record.time.values.tolist(),
            "listed": near.shape[1],
        }
        return filled(
            "clbook_book.course.words/nearest.html",
            setup,
            css=["clbook_book.live/inpage.css", "clbook_book.course.words/typed.css"],
            js=[*FILES, "clbook_book.course.words/typed.js"],
            block=self,
            packed=packed(b"".join(plane.tobytes() for plane in planes)),
        )


@dataclasses.dataclass(eq=False, repr=False)
class Own(Block):
    """A text of the reader's own: ten words split by a coin, vectors trained in the page, and who finds its half.

    Attributes:
        text: the one that stands there at first.
        source: what it is, such as "a novel".
        title, caption: a short heading, and what stands below.
        name: of the block, for links and `window.clbook.explorers[name]`.
    """

    text: str
    source: str
    title: str
    caption: str
    name: str = "own"

    def _repr_html_(self) -> str:
        config = halves.Config()
        traced = programs(halves.Halves, [config], ())
        setup = {
            "name": self.name,
            "steps": config.steps,
            "seed": config.seed,
            "sizes": [halves.WORDS, halves.SPLIT, halves.LETTERS, halves.NEAR],
            "coin": halves.COIN,
            "programs": [{"spec": made.spec} for made in traced],
            "colours": style.CLASS_COLOURS,
        }
        return filled(
            "clbook_book.course.words/own.html",
            setup,
            css=["clbook_book.live/inpage.css", "clbook_book.course.words/typed.css"],
            js=[*FILES, "clbook_book.course.words/typed.js"],
            block=self,
            packed=packed(self.text.encode()),
            code=shared_code() + "\n" + written(traced),
        )
