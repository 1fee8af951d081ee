"""A block whose points a reader moves: its programs run in the page itself, where each change is seen at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

from clbook import style
from clbook.explore.static import Block, filled
from clbook.training.loop import Training
from clbook_book.live.inpage import programs, written
from clbook_book.live.page import shared_code

CLASSES = ("blue disc", "orange square")


@dataclasses.dataclass(eq=False, repr=False)
class Moved(Block):
    """The block as HTML. Kinds of it have `ways()`, the settings of each program, and `setup(traced)`: what their
    script reads besides what all of them read; and a name, for links and for `window.clbook.explorers[name]`.

    Attributes:
        files: names of the style sheets besides that of all blocks, the last one also of the template and the script.
        kind: the Training.
        config: its settings at the start.
        picture: what stands there without JavaScript.
        title, caption: a question, and what to try.
    """

    files: ClassVar[tuple[str, ...]]
    kind: type[Training]
    config: Any
    picture: style.Picture
    title: str
    caption: str

    def follows(self) -> Sequence[str]:
        """The settings that a reader may change in a program."""
        return ()

    def _repr_html_(self) -> str:
        traced = programs(self.kind, self.ways(), self.follows())
        setup = {
            "name": self.name,
            "seed": self.config.seed,
            "classes": CLASSES,
            "colours": style.CLASS_COLOURS[: len(CLASSES)],
            "programs": [made.told() for made in traced],
        }
        scripts = ("settings", "tasks", "drawing", "block", "hand", self.files[-1])
        return filled(
            f"clbook_book.live/{self.files[-1]}.html",
            setup | self.setup(traced),
            css=[f"clbook_book.live/{name}.css" for name in ("inpage", *self.files)],
            js=[f"clbook_book.live/{name}.js" for name in scripts],
            block=self,
            code=shared_code() + "\n" + written(traced),
            still=self.picture.inline(),
        )
