"""What a page offers of settings that are numbers.

It cannot ask the Config. So its ranges are those of which the Config takes every value, whatever values the other
settings have: this is asked when the page is made.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field

from clbook.explore import controls
from clbook.training.settings import Settings, fields

PLACES = 1000  # of a slider; where a field is above its end, and not at it, the slider begins one of them above it
FAR = 10  # a slider over a field without an end goes to so many times the value at the start
FARTHEST = {int: 2**53, float: sys.float_info.max}  # the end of such a field, in JavaScript


def ends(field: Field) -> tuple[float, float]:
    """The lowest and the highest value of a field by itself."""
    low, above, high = (field.metadata[key] for key in ("low", "above", "high"))
    farthest = FARTHEST[type(field.default)]
    if low is None and above is not None:
        low = math.nextafter(above, math.inf) if type(field.default) is float else above + 1
    return -farthest if low is None else low, farthest if high is None else high


def ranges(configs: Sequence[Settings], names: Sequence[str]) -> dict[str, list[float]]:
    """{name: [lowest, highest]}: each of `configs` takes these values, in all combinations.

    A condition of several fields makes some of the ranges narrower, first those that it narrows at the start as well:
    on a ring the distance of the points, and not how far they may be off their places. It is asked at the ends of the
    ranges, and holds between them if it grows or falls with each of its fields.
    """
    known = fields(type(configs[0]))
    found = {name: [getattr(configs[0], name)] * 2 for name in names}

    def taken(name, value):
        for corner in itertools.product(*map(set, (found | {name: [value]}).values())):
            for config in configs:
                try:
                    config.replace(**dict(zip(names, corner, strict=True)))
                except (ValueError, ArithmeticError):
                    return False
        return True

    for narrowed in (False, True):  # first the ends that may stay where they are
        for name in names:
            for side, end in enumerate(ends(known[name])):
                here = found[name][side]
                if here != end and taken(name, end):
                    found[name][side] = end
                elif here != end and narrowed:
                    found[name][side] = last(here, end, functools.partial(taken, name))
    return found


def last(value: float, end: float, taken: Callable) -> float:
    """The last value that is taken on the way from `value`, which is, to `end`, which is not."""
    while True:
        middle = (value + end) // 2 if isinstance(value, int) else short((value + end) / 2)
        if middle in (value, end):
            return value
        if taken(middle):
            value = middle
        else:
            end = middle


def short(value: float) -> float:
    """A number of three digits, as sliders give them."""
    return float(f"{value:.3g}")


def knobs(configs: Sequence[Settings], names: Sequence[str]) -> list[dict]:
    """Sliders, as the script reads them, of the fields that may have more than one value."""
    return [
        knob(configs[0], name, least, most)
        for name, (least, most) in ranges(configs, names).items()
        if least < most
    ]


def knob(config: Settings, name: str, least: float, most: float) -> dict:
    """A slider from `low` to `high`; what is typed may be `least` to `most`."""
    field = fields(type(config))[name]
    value, about, meaning = getattr(config, name), field.metadata, controls.meaning(field)
    farthest, far = FARTHEST[type(value)], FAR * (abs(value) or 1)
    low = least if least > -farthest else -far
    high = most if most < farthest else far
    lowest, highest = ends(field)
    if least > lowest:
        meaning += f", and here at least {least:g}"
    if most < highest:
        meaning += f", and here at most {most:g}"
    log = about["log"] or name == "steps"
    if log and not about["low"]:
        low = max(least, short((value or high) / 1000))  # a slider by ratios begins above 0
    elif about["low"] is None and isinstance(value, float) and least > -farthest:
        low = max(least, min(value, short(least + (high - least) / PLACES)))
    limits = {"low": low, "high": high, "least": least, "most": most}
    words = {"name": name, "label": controls.label(field), "about": meaning}
    return words | limits | {"value": value, "log": log, "whole": isinstance(value, int)}
