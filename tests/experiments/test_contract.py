"""What every experiment promises: the same numbers whatever runs beside it and whatever is recorded, pure steps, Stop,
divergence, bad settings, no wait for a device.
"""

import dataclasses
import math

import numpy as np
import pytest
import torch
from fake_cuda import Reads, fake_cuda
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from registry import CASES, files
from stepping import advance

from clbook.experiments.images import emergence
from clbook.training.loop import learning, one_thread, tensors, training_of
from clbook.training.settings import allowed, on_request, quantities
from clbook.training.streams import SEEDS

RUNS = {case.run: case for case in reversed(CASES.values())}  # the first case of each training
PARAMS = [
    pytest.param(case, id=name, marks=[] if RUNS[case.run] is case else pytest.mark.long)
    for name, case in CASES.items()
]
EVERY = pytest.mark.parametrize("case", PARAMS)
DIVERGING = {name: case for name, case in CASES.items() if case.diverges}
NAMES = [training_of(run).__module__.split(".", 2)[2] for run in RUNS]
NEAR = 1e-4  # runs of a few steps, alone and beside others, differ by rounding


@pytest.fixture(scope="module", autouse=True)
def named_files():
    """What cases read is there while they run."""
    with files():
        yield


def rounding(case):
    """How far two runs that are the same may be apart: on one thread not at all, but convolutions promise no bits."""
    return NEAR if case.run == emergence.run else 0.0


def differences(a, b, near=0.0):
    """Names of the fields in which two Results differ, beside the time they took."""

    def same(x, y):
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            return x.shape == y.shape and np.allclose(x, y, rtol=near, atol=near, equal_nan=True)
        if isinstance(x, np.ndarray):
            return np.array_equal(x, y)
        if isinstance(x, dict):
            return x.keys() == y.keys() and all(same(x[k], y[k]) for k in x)
        if isinstance(x, (list, tuple)):
            return len(x) == len(y) and all(map(same, x, y))
        return x == y

    names = (f.name for f in dataclasses.fields(a) if f.name != "seconds")
    shared = [name for name in names if name in vars(a) and name in vars(b)]
    return [name for name in shared if not same(getattr(a, name), getattr(b, name))]


@EVERY
def test_same_config_same_bits_and_no_global_seed_is_touched(case):
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    assert not differences(case.run(case.tiny), case.run(case.tiny), rounding(case))
    assert torch.equal(torch.get_rng_state(), torch_state) and np.array_equal(
        np.random.get_state()[1], numpy_state
    )


@EVERY
def test_a_run_is_the_same_alone_and_beside_others_up_to_rounding(case):
    configs = [case.tiny, *(case.tiny.replace(**change) for change in case.neighbours)]
    beside = training_of(case.run).train(configs[::-1], record="all")[::-1]
    for config, found in zip(configs, beside):
        assert not differences(found, case.run(config, record="all"), NEAR), config


@EVERY
def test_what_is_recorded_changes_nothing_else(case):
    """A run is the same without a quantity, with it alone, and with all."""
    plain, whole = case.run(case.tiny), case.run(case.tiny, record="all")
    asked = on_request(type(plain))
    assert not plain.recorded and whole.recorded == asked
    assert not differences(plain, whole, rounding(case))
    for name in asked:
        alone = case.run(case.tiny, record=(name,))
        assert alone.recorded == {name}
        assert not differences(alone, whole, rounding(case)), name


@EVERY
def test_a_step_is_a_pure_function(case):
    """The same state, draws and time give the same step again, and are left as they were."""
    training = programs(case).to("cpu")
    with one_thread():
        s = learning(training.start())
        drawn = training.draw()
        given = [tensor.detach().clone() for tensor in tensors(vars(s))]
        after = []
        for _ in range(2):
            z, losses = training.forward(s, drawn, 0)
            changes = training.watch(s, z, 0)
            changes |= training.step(s.replace(**changes), drawn, losses, 0)
            after.append([tensor.detach().clone() for tensor in tensors(changes)])
    assert all(map(same, tensors(vars(s)), given))
    assert len(after[0]) > 0 and all(same(*pair, rounding(case)) for pair in zip(*after))


def same(a, b, near=0.0):
    """Whether two tensors are equal up to `near`, NaN where NaN."""
    return torch.allclose(a.double(), b.double(), near, near, equal_nan=True)


@EVERY
def test_another_seed_is_another_run(case):
    assert differences(case.run(case.tiny), case.run(case.tiny.replace(seed=11)))


@EVERY
def test_a_run_that_is_stopped_has_what_it_has(case, monkeypatch):
    monkeypatch.setattr("clbook.training.loop.PROGRESS_EVERY", -1.0)
    seen = []

    def progress(fraction, partial):
        seen.append((fraction, len(partial.steps)))
        return len(seen) < 3

    result = case.run(case.tiny, progress=progress)
    assert result.stopped and len(seen) == 3
    assert sorted(seen) == seen and 0 <= seen[0][0] < seen[-1][0] < 1
    whole = case.run(case.tiny)
    assert not whole.stopped and len(result.steps) < len(whole.steps)
    assert result.steps.tolist() == whole.steps[: len(result.steps)].tolist()


@pytest.mark.parametrize("case", DIVERGING.values(), ids=DIVERGING)
def test_a_run_that_diverges_names_the_setting_to_blame(case):
    with pytest.raises(ValueError, match=f"{case.rate} = .* is not allowed.*diverged at iteration"):
        case.run(case.tiny.replace(**case.diverges))


def programs(case):
    """The program of the case's runs, on the CPU."""
    return training_of(case.run)(
        [case.tiny, *(case.tiny.replace(**change) for change in case.neighbours)]
    )


def plain_steps(training, s, first, last):
    """The state after each of the steps between two recorded times."""
    for t in range(first, last):
        s = advance(training, s, t)
        yield s


@EVERY
def test_a_plain_step_on_a_gpu_reads_nothing_from_it_and_mixes_no_devices(case):
    training = programs(case)
    vars(training)["times"] = set()  # at a recorded time it may read
    with one_thread(), fake_cuda():
        training.to("cuda:0")
        states = list(plain_steps(training, training.start(), 0, 2))
    assert all(w.device.type == "cuda" for s in states for w in tensors(vars(s)))


@EVERY
def test_a_recorded_time_mixes_no_devices(case):
    """Tensors without values stand for those of a GPU: what is measured of them meets no tensor of the CPU."""
    training = programs(case)
    with one_thread():
        training.to("meta")
        try:
            s = learning(training.start())
            z, losses = training.forward(s, training.draw(), 0)
            s = s.replace(**training.watch(s, z, 0))
            training.measure(s, z, losses, 0)
        except (ValueError, RuntimeError) as error:  # values are asked for
            assert "device" not in str(error), error


@EVERY
def test_a_plain_step_with_its_backward_pass_has_no_operation_that_waits(case):
    training = programs(case).to("cpu")
    vars(training)["times"] = set()
    with one_thread():
        (s,) = plain_steps(training, training.start(), 0, 1)
        with Reads() as reads:
            list(plain_steps(training, s, 1, 2))
    assert reads.found == []


def test_on_cuda_runs_agree_with_the_cpu_up_to_rounding():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device on this machine")
    for name, case in CASES.items():
        names = {field.name for field in dataclasses.fields(case.tiny)}
        at_once = {"warmup": 0} if "warmup" in names else {}  # one step has no room for a warm-up
        first = case.tiny.replace(**short(case.tiny), **at_once)
        found = differences(
            case.run(first, device="cuda"), case.run(first, device="cpu"), near=1e-3
        )
        assert set(found) <= {"device"}, name
        configs = [case.tiny, *(case.tiny.replace(**change) for change in case.neighbours)]
        beside = training_of(case.run).train(configs, device="cuda")
        assert all(result.device.startswith("cuda") for result in beside), name


def short(config):
    """The change that makes a run of one step."""
    return {"epochs" if "epochs" in {f.name for f in dataclasses.fields(config)} else "steps": 1}


def wrong_values(field):
    """Values that a setting may not have: of another kind, and beyond each of its ends."""
    m, kind = field.metadata, type(field.default)
    if kind is str and not m["choices"]:
        return [None, 3]
    ends = [("low", -1), ("high", 1)] if kind in (int, float) else []
    beyond = [m[end] + step for end, step in ends if m[end] is not None]
    return [None, "nonsense", math.nan, [1, "x"], *beyond] + [m["above"]] * (m["above"] is not None)


@pytest.mark.parametrize("case", RUNS.values(), ids=NAMES)
def test_a_bad_setting_is_refused_by_its_name_its_value_and_what_is_allowed(case):
    faults = []
    for field in dataclasses.fields(case.tiny):
        assert allowed(field) and field.metadata["doc"]
        for value in wrong_values(field):
            try:
                said = f"taken as {case.tiny.replace(**{field.name: value})}"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            asked = "ValueError: ", f"{field.name} = ", repr(value), "must be"
            if not all(words in said for words in asked):
                faults.append(f"{field.name} = {value!r}: {said}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("case", RUNS.values(), ids=NAMES)
def test_a_config_says_what_its_settings_mean_and_a_result_what_it_holds(case):
    config = case.tiny
    for field in dataclasses.fields(config):
        assert (
            f"{field.name} = {field.default!r}: {field.metadata['doc']}; {allowed(field)}."
            in type(config).__doc__
        )
        with pytest.raises(
            ValueError, match=f"{field.name}x = 1 is not allowed.*did you mean .*{field.name}"
        ):
            config.replace(**{f"{field.name}x": 1})
    result = case.run(config)
    lines, own = repr(result).splitlines(), quantities(type(result))
    assert len(lines) == 1 + len(own) and max(map(len, lines)) < 400
    assert config.described() in lines[0] and f"  steps: {result.steps.shape}" in lines[1:]
    assert all(field.metadata["doc"] for field in own.values())


@pytest.mark.parametrize("case", RUNS.values(), ids=NAMES)
def test_every_seed_of_a_config_has_streams_of_its_own(case):
    """`streams.stream` has four digits for a seed."""
    (seed,) = (f for f in dataclasses.fields(case.tiny) if f.name == "seed")
    assert (seed.metadata["low"], seed.metadata["high"]) == (0, SEEDS - 1)


@pytest.mark.parametrize("case", RUNS.values(), ids=NAMES)
def test_a_result_has_the_axes_that_its_quantities_name(case):
    result = case.run(case.tiny, record="all")
    sizes = {}
    for name, field in quantities(type(result)).items():
        value, dims = getattr(result, name), field.metadata["dims"]
        if isinstance(value, np.ndarray) and value.ndim:
            assert len(dims) == value.ndim, name
            for dim, size in zip(dims, value.shape):
                assert sizes.setdefault(dim, size) == size, (name, dim)
        else:
            assert dims == (), name


def values(field, times):
    """Any allowed value of a setting; of a whole number, up to so many `times` its default, or 40."""
    m, kind = field.metadata, type(field.default)
    if m["choices"]:
        return st.sampled_from(m["choices"])
    if kind is bool:
        return st.booleans()
    if kind is str:
        return st.just(field.default)
    low = m["low"] if m["low"] is not None else m["above"] if m["above"] is not None else 0
    high = m["high"] if m["high"] is not None else 100
    if kind is float:
        above = m["above"] is not None and m["low"] is None
        return st.floats(low, high, exclude_min=above, allow_subnormal=False)
    most = max(times * int(np.max(field.default)), math.ceil(low) + 3, 40)
    whole = st.integers(math.ceil(low), min(int(high), most))
    return st.lists(whole, min_size=1, max_size=3).map(tuple) if kind is tuple else whole


@pytest.mark.parametrize("case", RUNS.values(), ids=NAMES)
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_allowed_config_takes_a_step_or_is_refused_by_the_name_of_a_setting(case, data):
    every = dataclasses.fields(case.tiny)
    fields = [f for f in every if f.name not in ("steps", "epochs", "record_every")]
    chosen = data.draw(st.lists(st.sampled_from(fields), max_size=4, unique_by=lambda f: f.name))
    changes = {f.name: data.draw(values(f, case.largest), label=f.name) for f in chosen}
    names = ["CLBOOK_DATA", *(f.name for f in every)]  # files may not be there
    try:
        result = case.run(case.tiny.replace(**changes, **short(case.tiny)))
    except ValueError as error:
        assert any(f"{name} = " in str(error) for name in names), error
    else:
        assert len(result.steps) >= 1 and not result.stopped
