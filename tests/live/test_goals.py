"""Goals and predictions of the blocks: what runs in Python say of them."""

import functools
import types

import pytest
from blocks import BOOK, blocks, blocks_of
from reaching import reached

# (page, block): for each of its goals, in their order, the settings of two runs that reach it and of two that do not,
# as a page's address has them; "-" is the run that the block begins with.
SETTINGS = {
    ("intro", "play"): [
        ("- seed=1", "network=False spread=1.0"),
        ("network=False network=False&seed=1", "- seed=1"),
        ("spread=2.0 spread=2.0&seed=1", "- network=False"),
    ],
    ("bench", "bench"): [
        (
            ({"data": "donut", "turn": 180.0}, {"data": "donut", "turn": 180.0, "seed": 1}),
            ({"data": "donut"}, {"data": "donut", "turn": 180.0, "network": False}),
        ),
        (
            ({"network": False, "spared": 1.0}, {"network": False, "spared": 1.0, "seed": 1}),
            ({"network": False}, {"network": False, "ordered": 1.0}),
        ),
        (({"eps": 10.0}, {"eps": 10.0, "seed": 1}), ({}, {"eps": 10.0, "ordered": 1.0})),
    ],
    ("landscape", "free"): [
        ("places=1 places=1&seed=1", "- places=5"),
        ("shake=0.0 shake=0.0&seed=1", "- shake=0.3"),
        ("dim=3 dim=3&places=12", "- places=60"),
    ],
    ("overlap", "ring-here"): [
        ("width=13.0 width=12.0&seed=4", "width=13.0&seed=1 width=15.0"),
        ("width=45.0 width=60.0&seed=1", "width=20.0 width=120.0"),
        ("start=shuffled&tau=0.5 start=shuffled&tau=1.0", "start=shuffled tau=0.5"),
    ],
    ("separability", "here"): [
        (
            "classes=4&steps=10&lr_over_tau=0.05 classes=4&steps=10&lr_over_tau=0.05&eps=0.02",
            "classes=4&steps=10 classes=4&steps=10&eps=0.02",
        ),
        (
            "spread=0.1&eps=3.0&tau=0.01 spread=0.1&eps=3.0&tau=0.001",
            "spread=0.1 spread=0.1&eps=3.0",
        ),
    ],
    ("separability", "donut-here"): [
        ("lr_over_tau=0.15 lr_over_tau=0.13", "- eps=0.02"),
        ("eps=3.0 eps=3.0&tau=0.01", "- eps=1.0"),
    ],
    ("content_style", "box-here"): [
        ("style_sd=0.6 style_sd=1.0", "- d_c=2"),
        ("tau_c=0.01 content_sd=0.15", "- content_sd=0.1"),
    ],
    ("content_style", "globe-here"): [
        ("tau=0.25 tau=0.1", "- tau=0.5"),
        ("d_c=1&tau=5.0&style_sd=0.5 d_c=1&tau=2.0&style_sd=1.0", "d_c=1&tau=2.0 tau=2.0"),
    ],
    ("projectors", "depth-here"): [
        ("tau=0.1 tau=0.1&seed=1", "- seed=1"),
        ("style_sd=0.5 style_sd=0.5&d_c=5", "- d_c=7&tau=0.05"),
    ],
    ("modadd", "transformer-here"): [
        ("init=1.0&decay=0.001 init=1.0&decay=0.001&seed=1", "- init=3.0&decay=0.001"),
        ("decay=0.01 init=1.0&decay=0.01", "- init=1.0&decay=0.001"),
    ],
    ("remembers", "tables-here"): [
        ("decay=0.001 std_contexts=1.0", "- decay=0.005"),
        ("std=3.0 std=10.0", "- std=0.05"),
    ],
    ("kernel", "orbits-here"): [
        ("angle=0.0 angle=0.0&seed=1", "- angle=1.0"),
        ("angle=10.0&tau=1.0&lr_over_tau=1.0 angle=5.0&tau=1.0&lr_over_tau=1.0", "- angle=10.0"),
    ],
    ("kernel", "imbalance-here"): [
        ("ratio=0.05&eps=1.0 ratio=0.05&eps=2.0", "ratio=0.05 eps=1.0"),
        ("ratio=0.05&steps=60 ratio=0.05&lr_over_tau=0.1", "ratio=0.05 ratio=0.05&steps=20"),
    ],
    ("sphere", "here"): [
        ("classes=4&steps=3&lr=0.05 classes=4&steps=3&tau=0.1", "classes=4&steps=3 classes=4"),
        (
            "classes=4&cap=0.5&lr=0.08 classes=4&cap=0.5&lr=0.2",
            "classes=4&cap=0.5&steps=30 classes=4",
        ),
    ],
    ("alignment", "push"): [
        ("classes=10&tau=0.1 classes=10&tau=0.09", "classes=10 classes=10&tau=1.0"),
        ("classes=30&tau=1.0 classes=30&tau=2.0", "classes=30 classes=10"),
    ],
    ("why", "counts-here"): [
        (
            "looks=crossed&m=16&alike=0.1 looks=crossed&m=16&alike=0.12",
            "looks=crossed&m=16 looks=crossed",
        ),
        ("m=16&alike=0.0&decay=0.5 m=16&alike=0.0&decay=0.6", "m=16&alike=0.0 alike=0.0"),
    ],
}


@functools.cache
def block(page, name):
    """A block of a page."""
    (found,) = (each for each in blocks_of(BOOK / f"{page}.ipynb") if each.name == name)
    return found


def end(it, **changes):
    """(settings, {name: numbers}) of a run of a block at its end, of all that a page has of it."""

    class Ending(it.kind):
        def measure(self, s, z, losses, t):
            row = super().measure(s, z, losses, t)
            # A page records the losses of each step, whether `measure` does or not.
            own = {} if losses is None else {"losses": losses}
            return own | row | self.shown(s, row)

        def result(self, i, columns, head):
            return types.SimpleNamespace(row={name: v[-1] for name, v in columns.items()})

    config = it.configs[0].replace(**changes)
    return config, Ending.run(config).row


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


@pytest.mark.parametrize(("page", "name"), SETTINGS)
def test_each_goal_can_be_reached_and_missed(page, name):
    it = block(page, name)
    assert len(it.goals) >= 2
    for goal, (reach, miss) in zip(it.goals, SETTINGS[page, name], strict=True):
        for wanted, several in ((True, reach), (False, miss)):
            for text in several.split():
                config, row = end(it, **settings_of(text))
                assert reached(goal, row, config) == wanted, (goal.words, text, row)


def test_every_block_with_goals_has_its_settings_here():
    others = {
        ("intro", "digits"),
        ("photographs", "digits"),
    }  # trained on pictures that a reader throws
    assert {(each.page, each.name) for each in blocks() if each.goals} == {*SETTINGS, *others}


def test_wide_views_lay_the_colours_of_the_ring_on_each_other():
    it = block("overlap", "ring-here")
    assert it.ask.answer == "on each other"
    narrow, wide = (end(it, **shown)[1]["accuracy"] for shown in it.ask.shows)
    assert narrow == 1 and wide < 0.7


def test_each_circle_of_free_points_keeps_what_it_has():
    it = block("landscape", "free")
    assert it.ask.answer == "as they began"
    _, row = end(it)
    assert row["readout"] == 1 and row["readout_shuffled"] < 0.5
    assert row["loss"] == pytest.approx(row["loss_shuffled"], abs=1e-12)
    assert row["loss"] == pytest.approx(row["even"], abs=1e-3)


def test_symbols_that_are_seen_once_gather_by_their_looks():
    it = block("why", "counts-here")
    assert it.ask.answer == "those of looks"
    _, row = end(it, **it.ask.shows[0])
    assert row["ratio_looks"] < 0.6 and row["ratio"] > 0.95


def test_large_tables_come_closer_and_stay_apart():
    it = block("remembers", "tables-here")
    assert it.ask.answer == "come closer and stay apart"
    _, row = end(it, **it.ask.shows[0])
    assert 0.2 < row["ratio"] < 0.4


def test_only_the_ordinary_network_parts_points_from_their_turned_copies():
    it = block("kernel", "orbits-here")
    assert it.ask.answer == "in the first network"
    network, radius, vanilla = (end(it, **shown)[1]["spread"] for shown in it.ask.shows)
    assert network > 0.3 and radius < 1e-12 and vanilla == 0


def test_a_small_cluster_comes_a_sixth_as_far():
    it = block("kernel", "imbalance-here")
    assert it.ask.answer == "a sixth as far"
    even, small = (end(it, **shown)[1]["behind"] for shown in it.ask.shows)
    assert even > 0.8 and small == pytest.approx(1 / 6, abs=0.02)


def test_the_networks_colours_come_apart_while_the_bundle_spreads():
    it = block("sphere", "here")
    assert it.ask.answer == "colours, in the network"
    _, row = end(it, steps=5, classes=4)
    assert row["accuracy"] > 0.95 > 0.3 > row["free_accuracy"]
    assert (row["z"] @ row["z"].mean(0)).min() > 0, "no point is on the other side yet"


def test_the_circles_end_more_alike_with_thirty_classes():
    it = block("alignment", "push")
    assert it.ask.answer == "more alike"
    two, thirty = (end(it, **shown)[1]["alike"] for shown in it.ask.shows)
    assert two < 0.3 and thirty > 0.9
