"""Labelled results: axes by setting, NaN where a run has nothing, units and meanings with the numbers."""

import dataclasses

import numpy as np
import pytest
import torch
from toy_program import Config, run

from clbook.results.labelled import dataset, padded
from clbook.results.sweep import sweep
from clbook.training.settings import Outcome, Settings, setting


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))


def meaning(doc, dims, unit=""):
    return dataclasses.field(metadata={"doc": doc, "dims": tuple(dims.split()), "unit": unit})


@dataclasses.dataclass(frozen=True)
class Other(Settings):
    shape: str = setting("disc", "the shape", choices=("disc", "ring"))
    widths: tuple = setting((4, 4), "layers")
    a: float = setting(1.0, "size", unit="m")


@dataclasses.dataclass
class Result(Outcome):
    steps: np.ndarray = meaning("recorded iterations", "step", "iterations")
    z: np.ndarray = meaning("embeddings", "step point", "m")
    at: int | None = meaning("first iteration", "")
    names: list = meaning("names of the points", "point")
    plain: np.ndarray
    recorder: object


def result(config, steps, at, points=2):
    z = np.arange(len(steps) * points, dtype=np.float32).reshape(len(steps), points)
    head = dict(config=config, seconds=0.0, device="cpu", stopped=False)
    names = ["a", "b"][:points]
    return Result(**head, steps=np.array(steps), z=z, at=at, names=names, plain=z[0], recorder={})


def test_a_grid_has_its_settings_as_dimensions_in_the_order_given():
    found = sweep(run, Config(), seed=range(3), growth=(0.5, 2.0), start=[1.0, 3.0])
    assert found.z.dims[:3] == ("seed", "growth", "start") and found.z.shape[:3] == (3, 2, 2)
    for seed, growth, start in ((0, 0.5, 1.0), (2, 2.0, 3.0)):
        one = run(Config(seed=seed, growth=growth, start=start))
        np.testing.assert_array_equal(found.z.sel(seed=seed, growth=growth, start=start), one.z)
    assert found.attrs["steps"] == 10 and found.attrs["broken"] is False
    assert not {"seed", "growth", "start"} & set(found.attrs)
    assert found.growth.attrs["long_name"] == "factor of a step"


@pytest.mark.parametrize(
    ("seeds", "says"), [([0, 1, 1], "each once, and 1 is there twice"), ([], "at least one")]
)
def test_an_axis_that_is_no_axis_is_refused_before_anything_is_trained(seeds, says):
    trained = []

    def noted(config):
        trained.append(config)
        return run(config)

    with pytest.raises(ValueError, match=rf"^seed = .* is not allowed: seed must be .*, {says}"):
        sweep(noted, Config(), growth=(0.5, 2.0), seed=iter(seeds))
    assert not trained


def measured(config):
    return {"area": config.a**2, "sides": torch.tensor([config.a, 2.0], requires_grad=True)}


def test_a_grid_of_dicts_has_their_entries_by_name_tensors_as_arrays():
    found = sweep(measured, Other(), a=(1.0, 3.0), shape=("disc", "ring"), n_jobs=1)
    assert found.sides.dims == ("a", "shape", "sides_0") and found.attrs["widths"] == (4, 4)
    np.testing.assert_array_equal(found.area.sel(shape="ring"), [1.0, 9.0])


def labelled(results, dims=()):
    return dataset(results, [result.config for result in results], dims)


def test_a_list_of_results_has_the_settings_that_vary_along_the_runs():
    configs = [Other(a=2.0), Other(a=3.0, widths=(8,)), Other(a=3.0)]
    found = labelled([result(c, [0, 1, 5], 4) for c in configs])
    assert found.z.dims == ("run", "step", "point") and list(found.a.values) == [2.0, 3.0, 3.0]
    assert list(found.widths.values) == ["(4, 4)", "(8,)", "(4, 4)"]
    assert found.attrs == {"shape": "disc"} and found.a.attrs["units"] == "m"
    assert list(found.step.values) == [0, 1, 5] and found.step.attrs["units"] == "iterations"
    assert found.z.attrs == {"long_name": "embeddings", "units": "m"}
    assert found["at"].dtype.kind == "i" and list(found.names.values[0]) == ["a", "b"]
    assert found.plain.dims == ("run", "plain_0") and "recorder" not in found


def test_shorter_runs_end_in_nan_and_none_is_nan():
    runs = [result(Other(a=1.0), [0, 1, 5], 4), result(Other(a=2.0), [0, 1], None, points=1)]
    found = labelled(runs, ("a",))
    assert list(found.step.values) == [0, 1, 5]
    np.testing.assert_array_equal(found["at"], [4.0, np.nan])
    np.testing.assert_array_equal(found.z.sel(a=2.0), [[0, np.nan], [1, np.nan], [np.nan] * 2])
    assert found.z.dtype == np.float32 and list(found.names.values[1]) == ["a", ""]
    np.testing.assert_array_equal(found.z.sel(a=1.0), runs[0].z)


def test_steps_that_differ_are_each_runs_own():
    found = labelled([result(Other(a=1.0), [0, 1, 5], 4), result(Other(a=2.0), [0, 2], 0)])
    assert "step" not in found.coords and found.recorded_steps.dims == ("run", "step")
    np.testing.assert_array_equal(found.recorded_steps, [[0, 1, 5], [0, 2, np.nan]])
    several = labelled([run(Config(steps=steps)) for steps in (3, 20)])
    assert list(several.steps.values) == [3, 20], "the setting: how long each run was to be"


def test_a_run_that_has_not_finished_is_nan():
    configs = [Other(a=1.0), Other(a=2.0)]
    found = dataset([None, result(configs[1], [0], 3)], configs, ("a",))
    np.testing.assert_array_equal(found["at"], [np.nan, 3])
    calls = []
    stopped = sweep(run, Config(), lambda *seen: calls.append(seen) or False, 1, growth=(1.0, 2.0))
    assert stopped.sizes["growth"] == 2


def test_what_cannot_be_labelled_is_refused_in_words():
    runs = [result(Other(a=a, shape=s), [0], 1) for a, s in ((1.0, "disc"), (2.0, "ring"))]
    with pytest.raises(ValueError, match=r"dims = \('a', 'shape'\) is not allowed"):
        labelled(runs, ("a", "shape"))
    with pytest.raises(ValueError, match="dims = 'step point' is not allowed: z of .* has 1"):
        labelled([dataclasses.replace(r, z=r.z[0]) for r in runs])
    for axis in ({"growth": 1.0}, {"growth": "12"}):
        with pytest.raises(ValueError, match="^growth = .* must be a list of values"):
            sweep(run, Config(), **axis)
    with pytest.raises(ValueError, match="growht = .* did you mean growth"):
        sweep(run, Config(), growht=(1.0,))
    with pytest.raises(ValueError, match="^configs = .* must be settings"):
        sweep(run, [Config()], growth=(1.0,))


def test_padding_keeps_what_there_is():
    assert padded([1, 2]).dtype.kind == "i" and padded([True, False]).dtype == bool
    np.testing.assert_array_equal(padded([[1], [1, 2]]), [[1, np.nan], [1, 2]])
    np.testing.assert_array_equal(padded([None, None]), [np.nan, np.nan])
    assert padded([[["a"]], [["b", "cc"]]]).tolist() == [[["a", ""]], [["b", "cc"]]]
