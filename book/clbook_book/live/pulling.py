"""The kernel at work: data, embedding and kernel side by side; a reader pulls a point, and all others move.

Kernel and moves are the traced ones of `course.kernel.pull`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from clbook import style
from clbook.explore.ranges import knobs
from clbook.explore.static import Block, filled
from clbook.training.loop import Training
from clbook_book.live.inpage import programs, written
from clbook_book.live.page import shared_code

CLASSES = ("blue disc", "orange square")
STEP = 0.25  # the pull of an arrow key
LEAST = 1.0  # half a side of the smallest part of the embedding that is shown


@dataclasses.dataclass(eq=False, repr=False)
class Pulling(Block):
    """The block as HTML.

    Attributes:
        kind: the Training, whose state has x, rest and pull (R, n, 2), and which records z (R, n, 2), kernel
            (R, n, n), pushes and moves (R, n, 2).
        config: its settings at the start.
        networks: {words on a button: changes of the settings}, the first one none.
        settings: {name of a setting that is a number: (label, {value: word that stands beside the slider there})}.
        picture: what stands there without JavaScript.
        title, caption: a question, and what to try.
        name: of the block, for `window.clbook.explorers[name]`.
    """

    kind: type[Training]
    config: Any
    networks: dict[str, dict]
    settings: dict[str, tuple[str, dict]]
    picture: style.Picture
    title: str
    caption: str
    name: str = "pull"

    def _repr_html_(self) -> str:
        traced = programs(self.kind, self.ways(), tuple(self.settings), "way")
        return filled(
            "clbook_book.live/pulling.html",
            self.setup(traced),
            css=[
                "clbook_book.live/inpage.css",
                "clbook_book.live/playground.css",
                "clbook_book.live/pulling.css",
            ],
            js=["clbook_book.live/plane.js", "clbook_book.live/pulling.js"],
            pull=self,
            code=shared_code() + "\n" + written(traced, "way"),
            still=self.picture.inline(),
        )

    def ways(self) -> list:
        """The settings at the start, with each network."""
        return [self.config.replace(**changes) for changes in self.networks.values()]

    def setup(self, traced: list) -> dict:
        """What the script reads."""
        sliders = knobs(self.ways(), tuple(self.settings))
        for slider in sliders:
            # The page's own words take the place of those of the Config.
            slider["label"], slider["words"] = self.settings[slider["name"]]
        programs = [made.spec for made in traced]
        return {
            "name": self.name,
            "n": self.config.n,
            "seed": self.config.seed,
            "step": STEP,
            "least": LEAST,
            "classes": CLASSES,
            "labels": traced[0].labels,
            "knobs": sliders,
            "colours": style.CLASS_COLOURS[: len(CLASSES)],
            "programs": programs,
        }
