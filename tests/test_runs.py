"""The loop: rows, ends, divergence, progress and Stop of R runs side by side; streams; optimisers; what shakes."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
import toy_program as toy

from clbook import optim, runs
from clbook.experiments.sa import surrogate
from clbook.runs import (
    Draws,
    follow,
    one_thread,
    recorded_times,
    several,
    stream,
    streams,
    together,
)
from clbook.settings import Settings


def test_each_run_has_the_rows_of_its_recorded_times_and_ends_by_itself():
    configs = [toy.Config(growth=g, end=e) for g, e in ((1.0, 0), (1.0, 4), (2.0, 0))]
    whole, short, fast = together(toy.Doubling, configs)
    assert whole.steps.tolist() == fast.steps.tolist() == recorded_times(configs[0].steps)
    assert (
        short.steps[-1] == 4
        and whole.z[-1] == configs[0].start
        and fast.z[3] == configs[0].start * 2**3
    )


def test_a_run_that_diverges_is_named_with_its_step_and_leaves_the_others_alone():
    good, bad, other = together(toy.Doubling, [toy.Config(growth=g) for g in (1.0, 1e30, 1.5)])
    assert (
        isinstance(bad, ValueError)
        and "growth = 1e+30" in str(bad)
        and "diverged at iteration 2" in str(bad)
    )
    assert np.array_equal(good.z, toy.run(good.config).z) and np.array_equal(
        other.z, toy.run(other.config).z
    )
    with pytest.raises(ValueError, match="growth"):
        toy.run(toy.Config(growth=1e30))


def test_runs_that_have_ended_leave_the_program():
    program = toy.Doubling([toy.Config(end=2), toy.Config(end=0), toy.Config(growth=1e30)]).to(
        "cpu"
    )
    follow(program)
    assert len(program.trained[0]) == len(program.state.growth) == len(program.configs) == 1


def test_outcomes_are_handed_in_as_soon_as_they_are_there():
    order = []
    configs = [toy.Config(end=e) for e in (0, 2, 5)]
    together(toy.Doubling, configs, done=lambda result: order.append(result.config.end))
    assert order == [2, 5, 0]


def test_an_error_of_the_measurement_is_no_divergence():
    with pytest.raises(ValueError, match="a recorder's own mistake"):
        toy.run(toy.Config(broken=True))


def test_progress_is_called_when_its_time_has_come_and_false_stops(monkeypatch):
    clock = itertools.count(
        step=0.03
    )  # every look at the clock takes 0.03 s: the loop looks once a step
    monkeypatch.setattr(runs.time, "monotonic", lambda: next(clock))
    seen = []

    def progress(fraction, partial):
        seen.append(fraction)
        return len(seen) < 3

    result = toy.run(toy.Config(steps=1000), progress=progress)
    assert result.stopped and len(seen) == 3 and 0 < seen[0] < seen[1] < seen[2] < 0.05
    assert result.steps[-1] < 1000 * 0.05


def test_programs_hold_runs_of_one_shape_only():
    with pytest.raises(ValueError, match="several shapes"):
        toy.Doubling([toy.Config(steps=3), toy.Config(steps=4)])


@pytest.mark.parametrize("config", [toy.Config, {"steps": 3}, 3])
def test_what_is_no_settings_is_refused(config):
    with pytest.raises(
        ValueError, match="^config = .* is not allowed: it must be settings such as Config"
    ):
        toy.run(config)


@dataclasses.dataclass(frozen=True)
class Bare(Settings):
    a: float = 1.0


def test_a_setting_without_a_meaning_is_refused():
    with pytest.raises(
        ValueError,
        match=r"^a = 1.0 is not allowed: in Bare it must be setting\(1.0, 'what it means'",
    ):
        Bare()


def test_several_names_its_runs_and_trains_those_of_one_program_together():
    found = several(
        toy.run,
        toy.Config(),
        {"slow": {"growth": 1.0}, "fast": {"growth": 2.0}, "long": {"steps": 40}},
    )
    assert found["fast"].config.growth == 2.0 and found["long"].config.steps == 40
    assert found.steps.tolist() == found["slow"].steps.tolist() and not found.stopped
    parts = []
    stopped = several(
        toy.run,
        toy.Config(steps=10**6),
        {"a": {}, "b": {"growth": 0.5}},
        progress=lambda fraction, partial: parts.append(sorted(partial.runs)) or False,
    )
    assert stopped.stopped and parts == [["a", "b"]]


def test_draws_depend_on_seed_and_purpose_alone():
    def numbers(seeds, block, steps=7):
        generators = [stream(s, 3) for s in seeds]
        draws = Draws(generators, lambda g: torch.randn(5, generator=g), block)
        return torch.stack([draws.next() for _ in range(steps)], 1)

    one = numbers([4], 32)
    assert torch.equal(numbers([1, 4, 9], 32)[1], one[0]) and torch.equal(numbers([4], 3), one)
    assert not torch.equal(numbers([5], 32), one)
    a, b, c = streams([toy.Config(seed=1), toy.Config(seed=1), toy.Config(seed=2)], 0)
    assert a is b and a is not c
    assert stream(1, 0).initial_seed() != stream(0, 1).initial_seed(), "two purposes share a stream"


def test_shaking_moves_every_start_by_the_relative_amount_and_by_its_own_seed(monkeypatch):
    plain = toy.run(toy.Config(start=3.0)).z[0]
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-3")
    moved, other = (toy.run(toy.Config(start=3.0, seed=s)).z[0] for s in (0, 1))
    assert 0 < abs(moved - plain) < 0.02 and moved != other
    beside = together(toy.Doubling, [toy.Config(start=3.0, seed=s) for s in (0, 1)])
    assert [r.z[0] for r in beside] == [moved, other]


def test_shaking_keeps_copies_of_one_start_equal(monkeypatch):
    """Theorems about two trainings ask for one start."""
    plain = surrogate.Coupled([surrogate.Config(n=12, batch=8, classes=4)]).trained[0]
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-6")
    cl, nscl = surrogate.Coupled([surrogate.Config(n=12, batch=8, classes=4)]).trained[0][0]
    assert torch.equal(cl, nscl) and 0 < float((cl - plain[0, 0]).norm()) < 1e-4


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


def weights(count):
    """`count` networks' weights: a matrix and a bias each, (R, 3, 4) and (R, 3), and fixed gradients for ten steps."""
    generator = torch.Generator().manual_seed(0)
    start = [
        torch.randn(count, *shape, generator=generator, dtype=torch.float64)
        for shape in ((3, 4), (3,))
    ]
    return start, [
        [torch.randn(w.shape, generator=generator, dtype=torch.float64) for w in start]
        for _ in range(10)
    ]


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (
            lambda w: optim.Descent(w, torch.tensor([0.1, 0.2])),
            lambda p, i: torch.optim.SGD(p, 0.1 * (i + 1)),
        ),
        (
            lambda w: optim.Descent(w, torch.tensor([0.1, 0.2]), 0.9, 0.01),
            lambda p, i: torch.optim.SGD(p, 0.1 * (i + 1), momentum=0.9, weight_decay=0.01),
        ),
        (
            lambda w: optim.Adam(w, 0.1, torch.tensor([0.0, 0.1])),
            lambda p, i: torch.optim.Adam(p, 0.1, weight_decay=0.1 * i),
        ),
        (
            lambda w: optim.Adam(w, 0.1, torch.tensor([0.0, 0.1]), "decoupled"),
            lambda p, i: torch.optim.AdamW(p, 0.1, weight_decay=0.1 * i),
        ),
    ],
    ids=["sgd", "momentum and decay", "adam", "adamw"],
)
def test_optimisers_of_several_networks_are_torchs_and_go_on_when_one_leaves(ours, theirs):
    start, gradients = weights(2)
    mine = [w.clone().requires_grad_() for w in start]
    optimiser = ours(mine)
    lone = [[w[i].clone().requires_grad_() for w in start] for i in (0, 1)]
    others = [theirs(p, i) for i, p in enumerate(lone)]
    for t, gradient in enumerate(gradients):
        if t == 5:
            stay = torch.tensor([False, True])
            mine[:] = [w.detach()[stay].requires_grad_() for w in mine]
            optimiser.keep(stay)
        optimiser.step([g if t < 5 else g[1:] for g in gradient])
        for i, (parameters, other) in enumerate(zip(lone, others)):
            for p, g in zip(parameters, gradient):
                p.grad = g[i].clone()
            other.step()
    for w, p in zip(mine, lone[1]):
        torch.testing.assert_close(
            w[0], p, rtol=1e-6, atol=1e-8
        )  # rates are numbers there and float64 tensors here


def test_warm_up_is_linear_and_the_cosine_ends_one_step_after_the_last():
    factors = [optim.warmed(t, 100, 10) for t in range(1, 101)]
    assert factors[:10] == pytest.approx([0.1 * t for t in range(1, 11)]) and 0 < factors[-1] < 1e-3
    assert optim.warmed(50, 100, 10, cosine=False) == 1.0


def test_compiling_without_a_compiler_says_what_is_missing(monkeypatch):
    def none():
        raise OSError("no working compiler")

    monkeypatch.setattr("torch._inductor.cpp_builder.get_cpp_compiler", none)
    with pytest.raises(
        RuntimeError, match=r"compile = True needs a C\+\+ compiler.*install g\+\+ or clang"
    ):
        together(toy.Doubling, [toy.Config()], device="cpu", compile=True)
