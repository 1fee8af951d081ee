"""What the lines about two views are called and say: for a report, and for the page that makes one from a file.

A text may hold numbers of `measures`: {NAME} is a number with three digits, {NAME%} a share in percent.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping

from clbook.diagnose.measures import ANSWERED, APART, BEYOND, DEAD, PROGRESS, RANK, SPREAD, UNUSED

NUMBER = re.compile(r"\{([\w.]+)(%?)\}")


def share(x: float) -> str:
    """A share in percent, as a sentence has it."""
    return f"{100 * x:.0f} %" if abs(x) >= 0.1 else f"{100 * x:.1f} %"


def filled(text: str, numbers: Mapping[str, float]) -> str:
    """The text with its numbers."""

    def said(found):
        number = numbers[found[1]]
        if found[2]:
            return share(number)
        whole = abs(number) >= 100 or float(number).is_integer()
        return f"{number:.0f}" if whole else f"{number:.3g}"

    return NUMBER.sub(said, text)


@dataclasses.dataclass(frozen=True)
class Words:
    """One line in words.

    Attributes:
        name: what was measured, to be filled with numbers.
        beside: {what: name of the number} of its references.
        calm, alarm: what it says without an alarm and with one; `alarm` is empty where there is never one.
        rule: when there is an alarm.
        page: the page of the book that it rests on.
        share: the name of the number that is drawn, a share of a reference from 0 to about 1; or nothing.
        zone: (low, high) of that number in which there is an alarm, where it alone decides.
    """

    name: str
    beside: dict[str, str]
    calm: str
    page: str
    alarm: str = ""
    rule: str = ""
    share: str = ""
    zone: tuple[float, float] | None = None


LOSS = Words(
    name="loss",
    beside={
        "chance": "loss.chance",
        "floor": "loss.floor",
        "random directions, partners equal": "loss.random",
    },
    calm=(
        "The loss has come {loss.way%} of the way from chance to a floor that no arrangement of {n} points goes below. "
        "It ranks neither temperatures nor views."
    ),
    alarm=(
        "The loss is at chance, that of a network whose outputs are all equal ({loss.way%} of the way to the floor): "
        "untrained, collapsed, or views that share nothing."
    ),
    rule=f"less than {share(PROGRESS)} of the way from chance to floor",
    page="practice",
    share="loss.way",
    zone=(-math.inf, PROGRESS),
)
LENGTH = Words(
    name="length of the vectors",
    beside={"unit": "one"},
    calm=(
        "The vectors have length {length} in the mean. The loss and all lines below see directions: the vectors are "
        "divided by their lengths here. Do the same before you compare with others."
    ),
    page="practice",
)
ALIGNMENT = Words(
    name="alignment",
    beside={"partners shuffled": "alignment.strangers", "views equal": "zero"},
    calm=(
        "Partners are {alignment.share%} as far apart (squared) as strangers. Near 0 the views are too weak to teach "
        "anything, or share a shortcut."
    ),
    alarm=(
        "Partners are nearly as far apart as strangers: the network finds next to nothing that two views of a point "
        "share. Where the spread alarms as well, all points have collapsed to one place; else the views destroy the "
        "content, or the outputs are noise."
    ),
    rule=f"partners more than {share(APART)} as far apart as strangers",
    page="landscape",
    share="alignment.share",
    zone=(APART, math.inf),
)
SPREADING = Words(
    name="spread",
    beside={"random directions": "spread.random", "all at one place": "zero"},
    calm="The directions have {spread.share%} of the variance of random ones.",
    alarm=(
        "The directions have {spread.share%} of the variance of random ones. All points are at nearly one place: "
        "collapsed."
    ),
    rule=f"less than {share(SPREAD)} of the variance of random directions",
    page="landscape",
    share="spread.share",
    zone=(-math.inf, SPREAD),
)
UNIFORMITY = Words(
    name="uniformity",
    beside={"random directions": "uniformity.random", "all at one place": "zero"},
    calm=(
        "Uniformity is {uniformity.share%} of that of random directions. It is 0 where all points coincide. If it "
        "is small although the spread is not, some points lie close together."
    ),
    page="landscape",
    share="uniformity.share",
)
PARTNERS = Words(
    name="partner accuracy",
    beside={"chance": "partners.chance"},
    calm=(
        "For {partners%} of the views the nearest other view is their partner, {partners.times} times as often as by "
        "chance. This is the quiz of the loss, and no readout: near 100 % with a poor readout, the views leak a "
        "shortcut."
    ),
    page="practice",
    share="partners",
)
BATCH = Words(
    name="partner accuracy in a batch of {size}",
    beside={"among all": "partners", "chance in a batch": "batch.chance"},
    calm=(
        "In a training batch the partner is found by {batch%} of the views, among all {n} points by {partners%}."
    ),
    alarm=(
        "In a training batch the partner is found by {batch%} of the views, among all {n} points by {partners%}. "
        "The quiz of a batch is answered without the near points: the batch is too small."
    ),
    rule=f"above {share(ANSWERED)} in a batch, and less than {share(BEYOND)} of that among all",
    page="alignment",
    share="batch",
)
RANKS = Words(
    name="effective rank, {where}",
    beside={"Gaussian": "rank.gaussian", "most, min(n - 1, d)": "rank.most"},
    calm=(
        "The points use some {rank} of {rank.most} dimensions; a Gaussian sample of this size uses {rank.gaussian}. "
        "This ignores size: a collapsed embedding can have as many."
    ),
    alarm=(
        "The points use some {rank} of {rank.most} dimensions; a Gaussian sample of this size uses {rank.gaussian}. "
        "Most dimensions have collapsed."
    ),
    rule=f"less than {share(RANK)} of a Gaussian sample of the same size",
    page="projectors",
    share="rank.share",
    zone=(-math.inf, RANK),
)
DEADS = Words(
    name="dead dimensions, {where}",
    beside={"Gaussian": "dead.gaussian", "axes": "rank.most"},
    calm=(
        "Along {dead} of {rank.most} axes the points have less than "
        f"{DEAD:g} of the largest deviation. Dead axes hold nothing, also where they are too few for an alarm."
    ),
    alarm=(
        "Along {dead} of {rank.most} axes the points have less than "
        f"{DEAD:g} of the largest deviation: most dimensions are dead."
    ),
    rule="more than half of the axes",
    page="content_style",
    share="dead.share",
    zone=(UNUSED, math.inf),
)
# {name of the number: the line in words} of all lines about two views, in the order in which they are read.
TWO_VIEWS = {
    "loss": LOSS,
    "length": LENGTH,
    "alignment": ALIGNMENT,
    "spread": SPREADING,
    "uniformity": UNIFORMITY,
    "partners": PARTNERS,
    "batch": BATCH,
    "rank": RANKS,
    "dead": DEADS,
}
