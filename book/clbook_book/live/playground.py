"""The toy of the front page: points that a reader moves, adds and takes away, and their embedding while it trains.

The step is the traced one of a Training whose state has the points, `course.separability.play`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from clbook_book.live.inpage import check_tasks
from clbook_book.live.moved import CLASSES, Moved
from clbook_book.live.panels import Panel
from clbook_book.live.ranges import knobs
from clbook_book.live.tasks import Goal

WAYS = ("through a network", "each point alone")
TOOLS = {
    "point": "move a point",
    "cluster": "move a cluster",
    "paint0": "paint ●",
    "paint1": "paint ■",
    "delete": "delete",
}
MIDDLE, SPAN = (0.5, 0.5), 3.2  # of the plane of the data: what is seen of it
LEAST = 0.25  # half a side of the smallest part of the embedding that is shown


@dataclasses.dataclass(eq=False, repr=False)
class Playground(Moved):
    """The block as HTML, of a Training whose state has x (R, n, 2), label, there and order (R, n), and lr.

    It records z (R, n, 2), loss and neighbours (R,). Of its settings `network` is what the reader chooses.

    Attributes:
        goals: what a reader may reach, of what is recorded and of `network`; the block notices it.
    """

    files = ("playground",)
    tools = TOOLS
    goals: Sequence[Goal] = ()
    name: str = "play"

    def ways(self) -> list:
        """The settings of both ways."""
        return [self.config.replace(network=network) for network in (True, False)]

    def setup(self, traced: list) -> dict:
        """What the script reads."""
        check_tasks({}, None, self.goals, {}, traced[0].recorded, ("network",))
        return {
            "room": self.config.n,
            "steps": self.config.steps,
            # No sliders are shown: their ranges are for programs, which may ask for a run.
            "knobs": knobs([self.config], ("steps", "seed")),
            "middle": MIDDLE,
            "span": SPAN,
            "least": LEAST,
            "goals": [goal.told() for goal in self.goals],
            "ways": WAYS,
        }


def hand(room: int, drops: Sequence[str]) -> Panel:
    """The same points as a panel of a block: parts x (n, 2), label and there (n,) of the state, and n = `room`.

    Args:
        drops: settings that draw other points, which then take the place of the reader's.
    """
    of = ("x", "label", "there")
    more = {"key": "points", "room": room, "classes": CLASSES, "tools": TOOLS, "drops": drops}
    script = "clbook_book.live/hand.js"
    return Panel("hand", of, of, title="data: yours to change", script=script, more=more)
