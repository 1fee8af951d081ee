"""What a block asks of its reader, and says at the end of a run: a prediction, goals, and the number in question."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping

from clbook.explore.static import said

SIGNS = ("==", "!=", ">=", "<=", ">", "<")
ENTRY = re.compile(r"(\w+)(?:\[(\d+)\])?")  # loss, or means[1]
PLACE = re.compile(r"\{(?::\.(\d)([fg%]))?\}")  # {}, {:.2f}, {:.3g} or {:.0%}


@dataclasses.dataclass(frozen=True)
class Ask:
    """A prediction that lies on the block: what its runs show is covered until a reader has chosen, or skips.

    Attributes:
        question: one sentence, about what can be seen at the start.
        choices: the answers.
        answer: which of them is right.
        replies: what each of them is told once the runs have ended, one sentence each.
        shows: settings of the runs that answer, {name: value} each: they stand beside each other. () for the run at
            the settings that a reader has chosen.
    """

    question: str
    choices: tuple[str, ...]
    answer: str
    replies: tuple[str, ...]
    shows: tuple[dict, ...] = ()

    def __post_init__(self):
        if self.answer not in self.choices:
            raise ValueError(
                f"answer = {self.answer!r} is not allowed: it must be one of {self.choices}"
            )
        if len(self.replies) != len(self.choices):
            raise ValueError(
                f"replies = {self.replies!r} is not allowed: there must be {len(self.choices)}, one for each choice"
            )

    def told(self) -> dict:
        """As the page's script reads it."""
        shows = [{name: said(value) for name, value in each.items()} for each in self.shows]
        return vars(self) | {"right": self.choices.index(self.answer), "shows": shows}


class Goal:
    """What may be reached by playing: `Goal("Separate them by noise", "separable_at >= 0", "augmentation == noise")`.

    Each condition is `name sign value`. A name is a quantity that a run records, of which the last number counts
    (`means[1]`: its second entry), or else a setting; a sign is one of `SIGNS`. A value is a number, or the word that
    the setting's button shows. What has not happened, such as `separable_at` of a run without it, fulfils nothing.

    Attributes:
        words: what a reader is asked to do, as one short sentence.
        conditions: (name, sign, value) each. All of them must hold at the end of one run.
        hint: what to move, in which direction, and why: one sentence, folded.
    """

    def __init__(self, words: str, *conditions: str, hint: str = ""):
        self.words, self.conditions = words, [parsed(condition) for condition in conditions]
        self.hint = hint

    def told(self) -> dict:
        """As the page's script reads it."""
        return vars(self)


# "means[1] < 0.5"  ->  ("means[1]", "<", 0.5);  "augmentation == noise"  ->  ("augmentation", "==", "noise")
def parsed(condition: str) -> tuple[str, str, float | str]:
    """(name, sign, value) of a condition; ValueError where it is none."""
    parts = condition.split()
    if len(parts) != 3 or not ENTRY.fullmatch(parts[0]) or parts[1] not in SIGNS:
        raise ValueError(
            f"condition = {condition!r} is not allowed: it must be `name sign value`, with one of {', '.join(SIGNS)}"
        )
    name, sign, value = parts
    try:
        return name, sign, float(value)
    except ValueError:
        return name, sign, value


def known(names: Collection[str], name: str) -> bool:
    """Whether `name`, which may be that of an entry, is one of `names`."""
    return name.partition("[")[0] in names


def expect(argument: str, name: str, names: Collection[str]) -> None:
    """ValueError unless `name`, as above, is one of `names`."""
    if not known(names, name):
        raise ValueError(
            f"{argument} = {name!r} is not allowed: here it must be one of {', '.join(names)}"
        )


# {"same": "same colour {:.0%}"}  ->  [["same", "same colour ", "0", "%", ""]]
def phrases(says: Mapping[str, str]) -> list[list[str]]:
    """(name, words before, digits, kind, words after) of each quantity that the status says."""
    found = []
    for name, words in says.items():
        if len(PLACE.findall(words)) != 1:
            raise ValueError(
                f"says = {words!r} is not allowed: it must hold one of {{}}, {{:.2f}}, {{:.3g}} and {{:.0%}}"
            )
        before, digits, kind, after = PLACE.split(words)
        found.append([name, before, digits or "4", kind or "g", after])
    return found
