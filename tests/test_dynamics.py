"""The driver loop: recording, stopping, progress, and the refusal to go on with numbers that are not finite."""

import itertools
import time

import pytest
import torch

from clbook.runs import Diverged, iterate, one_thread, recorded_times


def test_every_step_is_recorded_with_its_number_and_the_start_with_zero():
    seen = []
    state, t, stopped = iterate(lambda s, t: s + t, torch.zeros(1), 4, lambda s, t: seen.append((t, float(s))))
    assert seen == [(0, 0.0), (1, 1.0), (2, 3.0), (3, 6.0), (4, 10.0)] and (float(state), t, stopped) == (10.0, 4, False)


def test_record_can_end_the_run():
    _, t, stopped = iterate(lambda s, t: s + 1, torch.zeros(1), 100, lambda s, t: t < 7)
    assert (t, stopped) == (7, False)


def test_progress_can_stop_the_run_and_is_not_called_more_than_it_needs():
    calls = []

    def step(state, t):
        time.sleep(0.01)
        return state

    def progress(fraction):
        calls.append(fraction)
        return len(calls) < 2

    _, t, stopped = iterate(step, torch.zeros(1), 1000, lambda s, t: None, progress)
    assert stopped and len(calls) == 2 and 10 < t < 100


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_state_that_is_not_finite_raises_with_its_step(bad):
    with pytest.raises(Diverged) as error:
        iterate(lambda s, t: s * (bad if t == 3 else 1), torch.ones(2), 5, lambda s, t: None)
    assert error.value.step == 3


def test_a_step_that_refuses_its_numbers_counts_as_diverged_with_its_cause_kept():
    def step(state, t):
        if t == 4:
            raise ValueError("z gives a loss of nan")
        return state

    with pytest.raises(Diverged) as error:
        iterate(step, torch.ones(1), 9, lambda s, t: None)
    assert error.value.step == 4 and "loss of nan" in str(error.value.__cause__)


def test_thread_count_is_put_back():
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_recorded_times_hold_both_ends_and_grow_geometrically():
    times = recorded_times(5000)
    assert times[:4] == [0, 1, 2, 3] and times[-1] == 5000 and len(times) < 80
    assert all(b <= 1.2 * a + 1 for a, b in itertools.pairwise(times))
    assert recorded_times(10, 3) == [0, 3, 6, 9, 10]
