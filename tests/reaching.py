"""Whether a run has reached a goal of a block, as tasks.js says it; and runs that reach each goal, or do not."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import numpy as np

from clbook.explore.static import said
from clbook.training.settings import Settings
from clbook_book.live.tasks import ENTRY, Goal, known

SIGNS = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, ">": operator.gt,
    "<": operator.lt,
}  # fmt: skip

STILL = "turn=0.0&scale=0.0&shift=0.0&steps=50"  # digits of which two views are alike
MOVED = "turn=0.0&scale=0.0&shift=0.4&steps=200"

# (page, block): for each of its goals, in their order, the settings of two runs that reach it and of two that do not,
# as a page's address has them; "-" is the run that the block begins with.
SETTINGS = {
    ("intro", "play"): [
        ("- seed=1", "network=False spread=1.0"),
        ("network=False network=False&seed=1", "- seed=1"),
        ("spread=2.0 spread=2.0&seed=1", "- network=False")],
    ("bench", "bench"): [
        ("data=donut&turn=180.0 data=donut&turn=180.0&seed=1",
         "data=donut data=donut&turn=180.0&network=False"),
        ("network=False&spared=1.0 network=False&spared=1.0&seed=1",
         "network=False network=False&ordered=1.0"),
        ("eps=10.0 eps=10.0&seed=1", "- eps=10.0&ordered=1.0")],
    ("landscape", "free"): [
        ("places=1 places=1&seed=1", "- places=5"),
        ("shake=0.0 shake=0.0&seed=1", "- shake=0.3"),
        ("dim=3 dim=3&places=12", "- places=60")],
    ("overlap", "ring-here"): [
        ("width=13.0 width=12.0&seed=4", "width=13.0&seed=1 width=15.0"),
        ("width=45.0 width=60.0&seed=1", "width=20.0 width=120.0"),
        ("start=shuffled&tau=0.5 start=shuffled&tau=1.0", "start=shuffled tau=0.5"),
        ("width=120.0&tau=0.5 width=120.0&start=sorted", "width=120.0 width=90.0&tau=0.5")],
    ("separability", "here"): [
        ("classes=4&steps=10&lr_over_tau=0.05 classes=4&steps=10&lr_over_tau=0.05&eps=0.02",
         "classes=4&steps=10 classes=4&steps=10&eps=0.02"),
        ("spread=0.1&eps=3.0&tau=0.01 spread=0.1&eps=3.0&tau=0.001",
         "spread=0.1 spread=0.1&eps=3.0"),
        ("tau=0.003&noise=2.0 tau=0.003&noise=2.0&seed=1",
         "tau=0.003 tau=0.003&noise=1.0 noise=2.0")],
    ("separability", "donut-here"): [
        ("lr_over_tau=0.15 lr_over_tau=0.13", "- eps=0.02"),
        ("eps=3.0 eps=3.0&tau=0.01", "- eps=1.0")],
    ("content_style", "box-here"): [
        ("style_sd=0.6 style_sd=1.0", "- d_c=2"),
        ("tau_c=0.01 content_sd=0.15", "- content_sd=0.1")],
    ("content_style", "globe-here"): [
        ("tau=0.25 tau=0.1", "- tau=0.5"),
        ("d_c=1&tau=5.0&style_sd=0.5 d_c=1&tau=2.0&style_sd=1.0", "d_c=1&tau=2.0 tau=2.0")],
    ("projectors", "depth-here"): [
        ("tau=0.1 tau=0.1&seed=1", "- seed=1"),
        ("style_sd=0.5 style_sd=0.5&d_c=5", "- d_c=7&tau=0.05")],
    ("modadd", "transformer-here"): [
        ("init=1.0&decay=0.001 init=1.0&decay=0.001&seed=1", "- init=3.0&decay=0.001"),
        ("decay=0.01 init=1.0&decay=0.01", "- init=1.0&decay=0.001")],
    ("remembers", "tables-here"): [
        ("decay=0.001 std_contexts=1.0", "- decay=0.02"),
        ("std=3.0 std=10.0", "- std=0.05")],
    ("kernel", "orbits-here"): [
        ("angle=0.0 angle=0.0&seed=1", "- angle=1.0"),
        ("angle=10.0&tau=1.0&lr_over_tau=1.0 angle=5.0&tau=1.0&lr_over_tau=1.0", "- angle=10.0")],
    ("kernel", "imbalance-here"): [
        ("ratio=0.05&eps=1.0 ratio=0.05&eps=2.0", "ratio=0.05 eps=1.0"),
        ("ratio=0.05&steps=60 ratio=0.05&lr_over_tau=0.1", "ratio=0.05 ratio=0.05&steps=20")],
    ("sphere", "here"): [
        ("classes=4&steps=3&lr=0.05 classes=4&steps=3&tau=0.1", "classes=4&steps=3 classes=4"),
        ("classes=4&cap=0.5&lr=0.08 classes=4&cap=0.5&lr=0.2",
         "classes=4&cap=0.5&steps=30 classes=4"),
        ("classes=4&cap=10.0&lr=0.5 classes=4&cap=10.0&lr=1.0", "classes=4&cap=10.0 classes=4")],
    ("alignment", "push"): [
        ("classes=10&tau=0.1 classes=10&tau=0.09", "classes=10 classes=10&tau=1.0"),
        ("classes=30&tau=1.0 classes=30&tau=2.0", "classes=30 classes=10")],
    ("why", "views-here"): [
        ("eps=1.0&tau=1.0 eps=1.0&steps=1000", "- eps=1.0"), ("eps=3.0 eps=10.0", "- eps=0.5")],
    ("why", "counts-here"): [
        ("looks=crossed&m=16&alike=0.1 looks=crossed&m=16&alike=0.12",
         "looks=crossed&m=16 looks=crossed"),
        ("m=16&alike=0.0&decay=0.5 m=16&alike=0.0&decay=0.6",
         "m=16&alike=0.0 m=1&alike=0.0&decay=10.0")],
    ("photographs", "digits"): [
        (f"{MOVED} {MOVED}&seed=1", f"{STILL} {STILL.replace('turn=0.0', 'turn=0.6')}"),
        (f"{MOVED}&half_turns=0.5 {MOVED}&half_turns=0.5&seed=1", f"{STILL} {MOVED}")],
}  # fmt: skip


def settings_of(text):
    """{name: value} of settings as an address has them; none of "-"."""
    pairs = [pair.split("=") for pair in text.split("&")] if text != "-" else []
    values = {"True": True, "False": False}
    return {
        name: values.get(
            word, word if word.isalpha() else float(word) if "." in word else int(word)
        )
        for name, word in pairs
    }


def reached(goal: Goal, row: Mapping, config: Settings) -> bool:
    """Whether a run of `config` has reached it that recorded `row` {name: numbers} at its end."""
    for name, sign, value in goal.conditions:
        found = entry(row, name) if known(row, name) else getattr(config, name)
        if isinstance(value, str):
            found = said(found)
        if found is None or not SIGNS[sign](found, value):
            return False
    return True


def entry(row: Mapping, name: str) -> float | None:
    """The number that `name` stands for; None for a time (a name on _at) that has not come."""
    key, place = ENTRY.fullmatch(name).groups()
    found = float(np.ravel(row[key])[int(place or 0)])
    return None if key.endswith("_at") and found < 0 else found
