"""The kernel at work: data, embedding and kernel side by side; a reader pulls a point, and all others move.

Kernel and moves are the traced ones of `course.kernel.pull`.
"""

from __future__ import annotations

import dataclasses

from clbook_book.live.moved import Moved
from clbook_book.live.ranges import knobs

STEP = 0.25  # the pull of an arrow key
LEAST = 1.0  # half a side of the smallest part of the embedding that is shown


@dataclasses.dataclass(eq=False, repr=False)
class Pulling(Moved):
    """The block as HTML, of a Training whose state has x, rest and pull (R, n, 2).

    It records z (R, n, 2), kernel (R, n, n), pushes and moves (R, n, 2).

    Attributes:
        networks: {words on a button: changes of the settings}, the first one none.
        settings: {name of a setting that is a number: (label, {value: word that stands beside the slider there})}.
    """

    files = ("playground", "pulling")
    networks: dict[str, dict]
    settings: dict[str, tuple[str, dict]]
    name: str = "pull"

    def ways(self) -> list:
        """The settings at the start, with each network."""
        return [self.config.replace(**changes) for changes in self.networks.values()]

    def follows(self) -> tuple[str, ...]:
        """The settings that have a slider."""
        return tuple(self.settings)

    def setup(self, traced: list) -> dict:
        """What the script reads."""
        sliders = knobs(self.ways(), self.follows())
        for slider in sliders:
            # The page's own words take the place of those of the Config.
            slider["label"], slider["words"] = self.settings[slider["name"]]
        return {"step": STEP, "least": LEAST, "knobs": sliders}
