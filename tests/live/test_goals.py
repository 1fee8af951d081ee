"""Goals and predictions of the blocks: what runs in Python say of them."""

import functools
import types

import numpy as np
import pytest
from blocks import BOOK, blocks, blocks_of
from reaching import SETTINGS, reached, settings_of


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
            return types.SimpleNamespace(
                row={name: v[-1] if np.ndim(v) else v for name, v in columns.items()}
            )

    config = it.configs[0].replace(**changes)
    return config, Ending.run(config).row


@pytest.mark.parametrize(("page", "name"), SETTINGS)
def test_each_goal_can_be_reached_and_missed(page, name):
    it = block(page, name)
    assert len(it.goals) >= 2 and all(goal.hint for goal in it.goals)
    for goal, (reach, miss) in zip(it.goals, SETTINGS[page, name], strict=True):
        for wanted, several in ((True, reach), (False, miss)):
            for text in several.split():
                config, row = end(it, **settings_of(text))
                assert reached(goal, row, config) == wanted, (goal.words, text, row)


def test_every_block_with_goals_has_its_settings_here():
    again = ("intro", "digits")  # the block of the photographs' page
    assert {(each.page, each.name) for each in blocks() if each.goals} == {*SETTINGS, again}


def test_wide_views_lay_the_colours_of_the_ring_on_each_other():
    it = block("overlap", "ring-here")
    assert it.ask.answer == "on each other"
    narrow, wide = (end(it, **shown)[1]["accuracy"] for shown in it.ask.shows)
    assert narrow == 1 and wide < 0.7


def test_each_circle_of_free_points_keeps_what_it_has():
    it = block("landscape", "free")
    assert it.ask.answer == "on neither"
    _, row = end(it)
    assert row["readout"] == 1 and row["readout_shuffled"] < 0.5
    assert row["loss"] == pytest.approx(row["loss_shuffled"], abs=1e-12)
    assert row["loss"] == pytest.approx(row["even"], abs=1e-3)


def test_rotations_alone_separate_the_donut_of_the_views():
    it = block("why", "views-here")
    assert it.ask.answer == "with rotations"
    turned, none = (end(it, **shown)[1]["neighbours"] for shown in it.ask.shows)
    assert turned > 0.95 > 0.9 > none


def test_symbols_in_a_table_gather_by_their_counts_and_in_a_layer_by_their_looks():
    it = block("why", "counts-here")
    assert it.ask.answer == "no"
    once, often = (end(it, m=m)[1]["ratio"] for m in (it.ask.shows[0]["m"], 64))
    assert once > 0.9 > 0.2 > often
    row = end(it, m=1, alike=0.5, looks="crossed")[1]
    assert row["ratio_looks"] < 0.6 and row["ratio"] > 0.95


def test_large_tables_end_at_the_loss_of_small_ones_and_stay_apart():
    it = block("remembers", "tables-here")
    assert it.ask.answer == "both alike"
    large, small = (end(it, **shown)[1] for shown in it.ask.shows)
    assert large["loss"] == pytest.approx(small["loss"], abs=0.005)
    assert large["ratio"] == pytest.approx(0.29, abs=0.01) and small["ratio"] < 0.005


def test_content_takes_more_than_half_of_the_style_at_the_output():
    it = block("projectors", "depth-here")
    assert it.ask.answer == "less than half"
    without, beside = (end(it, **shown)[1]["means"][1] for shown in it.ask.shows)
    assert 0.2 * without < beside < 0.5 * without


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
    assert it.ask.answer == "in the network alone"
    _, row = end(it, steps=5, classes=4)
    assert row["accuracy"] > 0.95 > 0.3 > row["free_accuracy"]
    assert (row["z"] @ row["z"].mean(0)).min() > 0, "no point is on the other side yet"


def test_the_circles_end_more_alike_with_thirty_classes():
    it = block("alignment", "push")
    assert it.ask.answer == "more alike"
    two, thirty = (end(it, **shown)[1]["alike"] for shown in it.ask.shows)
    assert two < 0.3 and thirty > 0.9
