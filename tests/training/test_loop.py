"""The loop: rows, ends, divergence, progress and Stop of R runs side by side; streams; optimisers; what shakes."""

import dataclasses
import itertools
import pickle
import threading
import typing

import numpy as np
import pytest
import torch
import toy_program as toy

from clbook.training import loop, optim
from clbook.training.loop import State, Training, follow, one_thread, recorded_times, training_of
from clbook.training.settings import Outcome, Settings, setting
from clbook.training.streams import SEEDS, Draws, stream, streams
from clbook_book.audit.sa import surrogate


def test_each_run_has_the_rows_of_its_recorded_times_and_ends_by_itself():
    configs = [toy.Config(growth=g, end=e) for g, e in ((1.0, 0), (1.0, 4), (2.0, 0))]
    whole, short, fast = toy.Doubling.train(configs)
    assert whole.steps.tolist() == fast.steps.tolist() == recorded_times(configs[0].steps)
    start = configs[0].start
    assert short.steps[-1] == 4 and whole.z[-1] == start and fast.z[3] == start * 2**3


def test_a_run_that_diverges_is_named_with_its_step_and_leaves_the_others_alone():
    good, bad, other = toy.Doubling.train([toy.Config(growth=g) for g in (1.0, 1e30, 1.5)])
    assert isinstance(bad, ValueError)
    assert "growth = 1e+30" in str(bad) and "diverged at iteration 2" in str(bad)
    for one in (good, other):
        assert np.array_equal(one.z, toy.run(one.config).z)
    with pytest.raises(ValueError, match="growth .* diverged at iteration 2"):
        toy.run(toy.Config(growth=1e30, steps=2))  # at its last recorded time, too


def test_runs_that_have_ended_leave_the_program():
    class Counted(toy.Doubling):
        def forward(self, s, drawn, t):
            seen.append((len(s.weights[0]), len(s.growth), len(self.configs)))
            return super().forward(s, drawn, t)

    seen = []
    configs = [toy.Config(end=2), toy.Config(end=0), toy.Config(growth=1e30)]
    follow(Counted(configs).to("cpu"))
    assert seen[0] == (3, 3, 3) and seen[-1] == (1, 1, 1)


def test_outcomes_are_handed_in_as_soon_as_they_are_there():
    order = []
    configs = [toy.Config(end=e) for e in (0, 2, 5)]
    toy.Doubling.train(configs, done=lambda result: order.append(result.config.end))
    assert order == [2, 5, 0]


def test_an_error_of_the_measurement_is_no_divergence():
    with pytest.raises(ValueError, match="a recorder's own mistake"):
        toy.run(toy.Config(broken=True))


def test_progress_is_called_when_its_time_has_come_and_false_stops(monkeypatch):
    # Every look at the clock takes 0.03 s: the loop looks once a step.
    clock = itertools.count(step=0.03)
    monkeypatch.setattr(loop.time, "monotonic", lambda: next(clock))
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
    says = "^config = .* is not allowed: it must be settings such as Config"
    with pytest.raises(ValueError, match=says):
        toy.run(config)


class Bare(Settings):
    a: float = 1.0


class Field(Settings):  # a plain field of a dataclass, which has other metadata
    a: float = dataclasses.field(default=1.0)


class Rate(Settings):
    lr: float = setting(0.1, "a rate")


class More(toy.Config):
    lr: float = setting(0.1, "a rate")


class Whole(Settings):
    __annotations__ = {"lr": "float"}
    lr = setting(1, "a rate")


frozen = dataclasses.dataclass(frozen=True)


@pytest.mark.parametrize(
    "kind, says",
    [
        (frozen(Bare), r"a = 1.0 is not .*: in Bare it must be setting\(1.0, 'what it means'"),
        (frozen(Field), r"a = 1.0 is not .*: in Field it must be setting\(1.0, 'what it means'"),
        (Rate, "Rate is not allowed: .* frozen dataclass"),
        (dataclasses.dataclass(type("Open", (Rate,), {})), "Open is not .* frozen dataclass"),
        (More, "More is not allowed: .* frozen dataclass"),
        (frozen(Whole), "lr = 1 is not allowed: in Whole it is a float.* 1.0"),
        (lambda: setting(None, "nothing"), "default = None .* must be True or False"),
    ],
)
def test_settings_of_a_wrong_form_are_refused(kind, says):
    with pytest.raises(ValueError, match=f"^{says}"):
        kind()


def test_a_result_may_say_itself_how_it_is_shown():
    @dataclasses.dataclass(repr=False)
    class Own(Outcome):
        def __repr__(self):
            return "in my own words"

    assert repr(Own(toy.Config(), 0.0, "cpu", False)) == "in my own words"
    assert repr(toy.run(toy.Config())).startswith("Result of Config(), ")


class Pair(typing.NamedTuple):
    rate: object
    memory: object


def test_what_a_state_holds_is_kept_in_step_with_its_runs():
    """A tuple with names is one of what it holds; an array of NumPy's would stay as long as it was."""
    held = loop.State(pair=Pair(torch.arange(3.0), [torch.ones(3, 2)]))
    kept = held.keep(torch.tensor([True, False, True])).pair
    assert kept.rate.tolist() == [0.0, 2.0] and kept.memory[0].shape == (2, 2)

    class Beside(toy.Doubling):
        def setup(self):
            super().setup()
            self.state.beside = {"numbers": np.zeros(len(self.configs))}

    with pytest.raises(ValueError, match="^state.beside = a NumPy array is not allowed: it must"):
        Beside([toy.Config()])


def test_what_nobody_asked_for_is_not_recorded_and_says_how_to_ask():
    plain, asked = toy.run(toy.Config()), toy.run(toy.Config(), record=("square",))
    assert plain.recorded == frozenset() and asked.recorded == {"square"}
    assert np.array_equal(asked.square, asked.z**2) and np.array_equal(asked.z, plain.z)
    for result in (plain, pickle.loads(pickle.dumps(plain))):
        with pytest.raises(AttributeError, match="square was not recorded.*record=.'square'"):
            _ = result.square
        assert not hasattr(result, "square") and "square: not asked for" in repr(result)
    with pytest.raises(AttributeError, match="square was not recorded"):
        _ = plain.root
    with pytest.raises(AttributeError, match="^Result has no attribute 'cube'"):
        _ = asked.cube
    assert toy.run(toy.Config(), record="all").recorded == {"square"}
    with pytest.raises(ValueError, match="^record = 'cube' is not allowed: .* square"):
        toy.run(toy.Config(), record=("cube",))


def test_run_is_a_method_of_what_is_trained():
    assert training_of(toy.run) is toy.Doubling
    assert training_of(pickle.loads(pickle.dumps(toy.run))) is toy.Doubling
    assert training_of(len) is None and training_of(toy.Config().replace) is None


# What a training holds.


def test_a_tensor_of_the_runs_cannot_be_forgotten():
    """It is part of the state, with the runs as its leading axis, or is shared: nothing else holds a tensor."""

    class Hidden(toy.Doubling):
        def setup(self):
            super().setup()
            self.table = [torch.zeros(3)]

    class Flat(toy.Doubling):
        def setup(self):
            super().setup()
            self.state.table = {"rows": torch.zeros(3)}

    class Later(toy.Doubling):
        def step(self, s, drawn, losses, t):
            self.seen = t
            return super().step(s, drawn, losses, t)

    two = [toy.Config(), toy.Config(growth=2.0)]
    for kind, says in (
        (Hidden, "table = a tensor is not allowed: it must be an attribute of `state`"),
        (Flat, r"state.table = a tensor of shape \(3,\) is not allowed: .* 2 runs"),
    ):
        with pytest.raises(ValueError, match=f"^{says}"):
            kind(two)
    with pytest.raises(AttributeError, match="^seen cannot be set after setup"):
        Later.train(two)


def test_all_draws_go_on_for_the_runs_that_stay():
    class Noisy(Training):
        Result = toy.Result

        def setup(self):
            self.state.weights = [torch.zeros(len(self.configs))]
            for name in ("one", "other"):
                own = streams(self.configs, len(self.draws))
                self.draws[name] = Draws(own, lambda g: torch.rand(1, generator=g))

    training = Noisy([toy.Config(seed=seed) for seed in (1, 2, 3)]).to("cpu")
    beside = training.draw()
    training.keep(training.start(), torch.tensor([False, True, False]))
    later = training.draw()
    assert beside.one.shape == beside.other.shape == (3, 1)
    assert later.one.shape == later.other.shape == (1, 1)
    second = stream(2, 1)
    assert beside.other[1] == torch.rand(1, generator=second)
    assert later.other[0] == torch.rand(1, generator=second)


def test_a_state_is_replaced_not_changed():
    s = State(weights=[torch.ones(2, 3)], more={"x": torch.zeros(2)})
    other = s.replace(more={"x": torch.ones(2)})
    assert float(s.more["x"].sum()) == 0 and other.weights is s.weights
    assert other.keep(torch.tensor([True, False])).weights[0].shape == (1, 3)


# Random numbers.


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


def test_no_two_pairs_of_seed_and_purpose_share_numbers():
    """torch keeps 32 bits of a seed: each pair has a number of its own below that."""
    seeds, last = (0, 1, 99, 100, SEEDS - 1), 4_293_000_000
    purposes = (0, 1, 99, 1_000_000, 1_000_003, 2_000_003, last + 99)
    numbers = [stream(s, p).initial_seed() for s in seeds for p in purposes]
    assert len(set(numbers)) == len(numbers) and max(numbers) < 2**32
    for seed, purpose in ((SEEDS, 0), (-1, 0), (0, 100), (0, 1_000_100), (0, 2**32), (0, -1)):
        with pytest.raises(ValueError, match="^(seed|purpose) = .* is not allowed"):
            stream(seed, purpose)


def test_shaking_moves_every_start_by_the_relative_amount_and_by_its_own_seed(monkeypatch):
    plain = toy.run(toy.Config(start=3.0)).z[0]
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-3")
    moved, other = (toy.run(toy.Config(start=3.0, seed=s)).z[0] for s in (0, 1))
    assert 0 < abs(moved - plain) < 0.02 and moved != other
    beside = toy.Doubling.train([toy.Config(start=3.0, seed=s) for s in (0, 1)])
    assert [r.z[0] for r in beside] == [moved, other]


def test_shaking_keeps_copies_of_one_start_equal(monkeypatch):
    """Theorems about two trainings ask for one start."""
    plain = surrogate.Coupled([surrogate.Config(n=12, batch=8, classes=4)]).state.weights[0]
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-6")
    cl, nscl = surrogate.Coupled([surrogate.Config(n=12, batch=8, classes=4)]).state.weights[0][0]
    assert torch.equal(cl, nscl) and 0 < float((cl - plain[0, 0]).norm()) < 1e-4


def test_recorded_times_hold_both_ends_and_grow_geometrically():
    times = recorded_times(5000)
    assert times[:4] == [0, 1, 2, 3] and times[-1] == 5000 and len(times) < 80
    assert all(b <= 1.2 * a + 1 for a, b in itertools.pairwise(times))
    assert recorded_times(10, 3) == [0, 3, 6, 9, 10]


def test_threads_that_overlap_put_back_the_number_from_before():
    """Two live panels at once: a thread that starts later has all cores again."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with one_thread():
        assert torch.get_num_threads() == 1
    inside, leave = threading.Barrier(2), threading.Event()

    def first():
        with one_thread():
            inside.wait()
            leave.wait()

    def second():
        inside.wait()
        with one_thread():
            leave.set()
            one.join()

    one, two = threading.Thread(target=first), threading.Thread(target=second)
    found = []
    try:
        for thread in (one, two):
            thread.start()
        two.join()
        later = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        later.start()
        later.join()
        assert found == [2]
    finally:
        torch.set_num_threads(before)


# Optimisers.


def weights(count):
    """`count` networks' weights: a matrix and a bias each, (R, 3, 4) and (R, 3), and fixed gradients for ten steps."""
    generator = torch.Generator().manual_seed(0)

    def drawn():
        shapes = (count, 3, 4), (count, 3)
        return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]

    return drawn(), [drawn() for _ in range(10)]


def by_sgd(w, gradients, memory):
    return optim.sgd(w, gradients, torch.tensor([0.1, 0.2])), memory


def by_momentum(w, gradients, memory):
    return optim.momentum(w, gradients, memory or optim.zeros(w), torch.tensor([0.1, 0.2]))


def by_adam(*kind):
    def step(w, gradients, memory):
        decay = torch.tensor([0.0, 0.1])
        return optim.adam(w, gradients, memory or optim.adam_memory(w), 0.1, decay, *kind)

    return step


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (by_sgd, lambda p, i: torch.optim.SGD(p, 0.1 * (i + 1))),
        (by_momentum, lambda p, i: torch.optim.SGD(p, 0.1 * (i + 1), momentum=0.9)),
        (by_adam(), lambda p, i: torch.optim.Adam(p, 0.1, weight_decay=0.1 * i)),
        (by_adam("decoupled"), lambda p, i: torch.optim.AdamW(p, 0.1, weight_decay=0.1 * i)),
    ],
    ids=["sgd", "momentum", "adam", "adamw"],
)
def test_optimisers_of_several_networks_are_torchs_and_change_nothing_in_place(ours, theirs):
    start, gradients = weights(2)
    mine, memory = [w.clone() for w in start], None
    lone = [[w[i].clone().requires_grad_() for w in start] for i in (0, 1)]
    others = [theirs(p, i) for i, p in enumerate(lone)]
    for gradient in gradients:
        before = [w.clone() for w in mine]
        after, memory = ours(mine, gradient, memory)
        assert all(map(torch.equal, mine, before))
        mine = after
        for i, (parameters, other) in enumerate(zip(lone, others)):
            for p, g in zip(parameters, gradient):
                p.grad = g[i].clone()
            other.step()
    for i, parameters in enumerate(lone):
        for w, p in zip(mine, parameters):
            # rates are numbers there and float32 tensors here
            torch.testing.assert_close(w[i], p, rtol=1e-6, atol=1e-7)


def test_adam_is_its_formula():
    """What torch's kernel gives on copies, and what the formula gives, which other backends take."""
    start, gradients = weights(2)
    by_kernel, by_formula = start, start
    kept, other = optim.adam_memory(start), optim.adam_memory(start)
    for gradient in gradients:
        turned = gradient[0].mT.contiguous().mT  # the same numbers, laid out the other way
        gradient = [turned, *gradient[1:]]
        by_kernel, kept = optim.adam(by_kernel, gradient, kept, 0.1)
        by_formula, other = optim._adam(by_formula, gradient, other, 0.1)
    for a, b in zip(by_kernel, by_formula):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_warm_up_is_linear_and_the_cosine_ends_one_step_after_the_last():
    factors = [optim.warmed(t, 100, 10) for t in range(1, 101)]
    assert factors[:10] == pytest.approx([0.1 * t for t in range(1, 11)]) and 0 < factors[-1] < 1e-3
    assert optim.warmed(50, 100, 10, cosine=False) == 1.0


class Misspelt(toy.Doubling):
    def step(self, s, drawn, losses, t):
        return {"wieghts": s.weights}


class Summed(toy.Doubling):
    def forward(self, s, drawn, t):
        return super().forward(s, drawn, t)[0], torch.tensor(0.0)


class Averaged(toy.Doubling):
    def measure(self, s, z, losses, t):
        return super().measure(s, z, losses, t) | {"z": torch.tensor(0.0)}


@pytest.mark.parametrize(
    "kind, says",
    [
        (Misspelt, "step: a change of 'wieghts' .* in the state, which has .*weights"),
        (Summed, r"forward: the losses of shape \(\) is not allowed: it must be \(2,\)"),
        (Averaged, r"measure: z of shape \(\) is not allowed: it must be \(2,\)"),
    ],
)
def test_a_name_or_shape_that_the_state_lacks_is_an_error(kind, says):
    with pytest.raises(ValueError, match=says):
        kind.train([toy.Config(), toy.Config()])
