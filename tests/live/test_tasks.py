"""What a block asks of its reader: parsing, refusals, and when a run has reached a goal."""

import math
import re

import pytest
from blocks import BOOK, blocks
from reaching import reached

from clbook.experiments.separability import Config
from clbook_book.live.tasks import SIGNS, Ask, Goal, phrases

# What a run recorded at its end, and conditions of it and of its settings that hold, or do not.
ROW = {"loss": [0.25], "means": [3.0, -1.0], "separable_at": [-1], "found_at": [7]}
ROW["lost"] = [math.nan]
HOLD = ["loss <= 0.25", "loss != 1", "means[1] < 0", "means > 2", "found_at == 7", "classes == 2"]
HOLD += ["network == on", "data == clusters", "eps == 0.1", "steps >= 10"]
MISS = ["loss < 0.25", "means[1] > 0"]
MISS += ["separable_at <= 1000", "separable_at >= 0", "separable_at != 3"]
MISS += ["lost >= 0", "lost < 0", "network == off", "data == donut", "classes > 2"]


@pytest.mark.parametrize("condition", HOLD)
def test_a_condition_holds(condition):
    assert reached(Goal("", condition), ROW, Config())
    assert reached(Goal("", condition, "loss == 0.25"), ROW, Config())
    assert not reached(Goal("", condition, "loss > 0.25"), ROW, Config())


@pytest.mark.parametrize("condition", MISS)
def test_a_condition_does_not_hold(condition):
    """A time that never came, and a number that there is not, fulfil nothing."""
    assert not reached(Goal("", condition), ROW, Config())


WRONG = ["", "loss", "loss < 1 2", "loss = 1", "means[x] > 1", "a-b > 1"]


@pytest.mark.parametrize("condition", WRONG)
def test_what_is_no_condition_is_named(condition):
    refused = f"condition = {condition!r} is not allowed: it must be `name"
    with pytest.raises(ValueError, match=re.escape(refused)) as error:
        Goal("Try", condition)
    assert ", ".join(SIGNS) in str(error.value)


def test_a_prediction_has_an_answer_and_a_reply_for_each_choice():
    ask = Ask("Which?", ("a", "b"), "b", ("no", "yes"), ({"eps": 0.3, "network": False},))
    assert ask.told()["right"] == 1
    assert ask.told()["shows"] == [{"eps": "0.3", "network": "off"}]
    with pytest.raises(ValueError, match="answer = 'c' is not allowed: it must be one of"):
        Ask("Which?", ("a", "b"), "c", ("no", "yes"))
    with pytest.raises(ValueError, match=r"replies = \('no',\) is not allowed: there must be 2"):
        Ask("Which?", ("a", "b"), "a", ("no",))


def test_a_number_in_words_has_one_place():
    says = {"same": "same colour {:.0%}", "means[1]": "{} at the end", "loss": "loss {:.3g}"}
    assert phrases(says) == [
        ["same", "same colour ", "0", "%", ""],
        ["means[1]", "", "4", "g", " at the end"],
        ["loss", "loss ", "3", "g", ""],
    ]
    for words in ("loss", "{} and {}", "{:.2e}", "{loss}"):
        with pytest.raises(ValueError, match="says = .* is not allowed: it must hold one of"):
            phrases({"loss": words})


# (page, block): the quantity that its question is about, which is the first number in the status.
QUANTITIES = {
    ("bench", "bench"): "readout", ("landscape", "free"): "readout",
    ("overlap", "ring-here"): "accuracy", ("separability", "here"): "neighbours",
    ("separability", "donut-here"): "neighbours", ("alignment", "push"): "alike",
    ("kernel", "orbits-here"): "spread", ("kernel", "imbalance-here"): "behind",
    ("sphere", "here"): "accuracy", ("content_style", "box-here"): "means[1]",
    ("content_style", "globe-here"): "style_gain", ("projectors", "depth-here"): "means[1]",
    ("modadd", "transformer-here"): "ratio", ("remembers", "tables-here"): "ratio",
    ("why", "views-here"): "neighbours", ("why", "counts-here"): "ratio",
}  # fmt: skip


def test_the_quantity_of_its_question_is_a_number_in_the_status_of_a_block():
    # Toys, pulls and the thrown digits say their numbers by themselves.
    training = [each for each in blocks() if each.name not in ("play", "pull", "digits")]
    assert {(each.page, each.name): next(iter(each.says), None) for each in training} == QUANTITIES


def test_no_two_scripts_define_one_global_name():
    defined = r"^(?:window\.|\(window\.\w+ \?\?= {}\)\.|function |const |let |class )(\w+)"
    scripts = [path for part in ("clbook", "book") for path in (BOOK.parent / part).rglob("*.js")]
    names = [each for path in scripts for each in re.findall(defined, path.read_text(), re.M)]
    assert len(names) > 40 and sorted(names) == sorted(set(names))
