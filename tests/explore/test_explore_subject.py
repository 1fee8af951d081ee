"""What an explorer runs and draws: one run, or several by name; which quantities; which times."""

import numpy as np
import pytest
import toy

from clbook import style
from clbook.explore.subject import Subject, quantities

PAIR = {"one": {"b": 1}, "three": {"b": 3}, "again": {"b": 1}}
BASE = toy.Config(steps=4)


def nothing(fraction, partial=None):
    return True


def test_a_figure_gets_the_one_result_or_the_runs_by_name():
    alone = Subject(toy.run, toy.draw)
    assert isinstance(alone.result(BASE, nothing), toy.Result)
    runs = Subject(toy.run, toy.draw, compare=PAIR).result(BASE, nothing)
    assert {name: run.config.b for name, run in runs.items()} == {"one": 1, "three": 3, "again": 1}
    assert runs["again"] is runs["one"], "equal settings are run once"


@pytest.fixture
def unstored():
    """Runs of this module's own, which no store has."""
    made = []

    def run(config, *, progress=None, device=None):
        made.append(config.b)
        return toy.run(config, progress=progress, device=device)

    return run, made


def test_until_a_run_has_begun_the_one_at_work_is_in_its_place(unstored):
    run, made = unstored
    seen = []

    def progress(fraction, partial):
        seen.append((fraction, [part.config.b for part in partial.values()]))
        return True

    Subject(run, toy.draw, compare=PAIR).result(BASE, progress)
    assert made == [1, 3]
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    half = len(seen) // 2
    assert [arms for _, arms in seen] == [[1, 1, 1]] * half + [[1, 3, 1]] * half


def test_a_stop_ends_all_runs(unstored):
    run, made = unstored
    found = Subject(run, toy.draw, compare=PAIR).result(BASE, lambda fraction, partial: False)
    assert made == [1] and all(part.stopped for part in found.values())


def test_a_quantity_is_asked_for_once_by_whoever_needs_it():
    @style.needs("loss", "alignment")
    def figure(result):
        """Not drawn here."""

    @style.needs("alignment", "separable_at")
    def cells(result):
        """Not drawn here."""

    assert quantities(["z"], figure, cells) == ("z", "loss", "alignment", "separable_at")
    assert quantities((), toy.draw, None) == ()
    with pytest.raises(ValueError, match="record = 'loss' is not allowed"):
        quantities("loss")


def test_a_function_that_records_all_it_has_is_not_asked():
    assert Subject(toy.run, toy.draw).asked == {}
    assert Subject(toy.run, toy.draw, record=("loss",)).asked == {"record": ("loss",)}


def test_times_are_the_result_s_or_the_figure_s_own():
    result = toy.run(BASE)
    assert list(Subject(toy.run, toy.draw).times(result)) == [0]
    assert list(Subject(toy.run, toy.draw, time="steps").times(result)) == [0, 1, 2, 3, 4]
    both = {"long": result, "short": toy.run(BASE.replace(steps=2))}
    pair = Subject(toy.run, toy.draw, PAIR, "steps")
    assert list(pair.times(both)) == [0, 1, 2]
    turned = Subject(toy.run, toy.draw, time={"seen from (degrees)": np.arange(0, 360, 90)})
    assert list(turned.times(result)) == [0, 90, 180, 270] and turned.time_name == "seen from"


@pytest.mark.parametrize(
    ("compare", "time", "message"),
    [
        ({}, None, "compare = {} is not allowed"),
        ([1], None, r"compare = \[1\] is not allowed"),
        ({"one": 3}, None, "compare = {'one': 3} is not allowed"),
        ({"one": {"b": 0}}, None, "b = 0 is not allowed"),
        (None, ["steps"], r"time = \['steps'\] is not allowed"),
        (None, {"angle": "all"}, "its values must be numbers"),
        (None, {"angle": []}, "its values must be numbers"),
        (None, {"a": [1], "b": [2]}, "time = "),
    ],
)
def test_bad_comparisons_and_times_are_named(compare, time, message):
    with pytest.raises(ValueError, match=message):
        Subject(toy.run, toy.draw, compare, time).check(BASE)


@pytest.mark.parametrize("name", ["seconds", "z", "config", "epochs"])
def test_a_time_that_names_no_list_of_numbers_is_named(name):
    message = "Result has no such attribute" if name == "epochs" else "must name an array"
    with pytest.raises(ValueError, match=f"time = '{name}' is not allowed: .*{message}"):
        Subject(toy.run, toy.draw, time=name).times(toy.run(BASE))
