"""Records: how they are made and kept."""

import dataclasses
import runpy
import shutil
import sys

import h5py
import joblib
import numpy as np
import pytest
import torch
import xarray
from toy_program import Config, run

from clbook import sweep
from clbook.results import records as reading
from clbook.results import store
from clbook.results.labelled import padded, put
from clbook.results.sweep import parallel
from clbook.training.settings import Outcome, quantity
from clbook_book import records
from clbook_book.records import Recipe, fields

TOY = tuple(Config(growth=growth, steps=200) for growth in (1.01, 1.02, 0.99))


def curves(results):
    return {
        "steps": results[0].steps,
        "z": padded([result.z for result in results]),
        "end": [result.z[-1] for result in results],
        "start": [result.config.start for result in results],
    }


def recipe(configs=TOY):
    more = {"axes": {"steps": "step", "z": "run step"}, "dims": ("variant",)}
    names = {"variant": ["slow", "fast", "falling"][: len(configs)]}
    return Recipe("numbers that grow", run, configs, curves, ("z",), start=0.0, named=names, **more)


def test_two_records_of_one_name_are_refused():
    name, known = next(iter(records.recipes().items()))
    with pytest.raises(ValueError, match=f"name = '{name}' is not allowed: .* {known.says}"):
        records.recorded(name)(curves)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A recipe in a folder of its own, with a store of its own."""
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reading, "folder", lambda: tmp_path / "records")
    known = {"toy": recipe()}
    monkeypatch.setattr(records, "recipes", lambda: known)
    return known


def test_a_record_has_its_arrays_and_says_how_it_was_made(toy):
    made = records.make("toy")
    kept = records.load("toy")
    assert all(np.array_equal(kept[name], made[name]) for name in ("step", "z", "recorded_end"))
    assert kept.recorded_end.values == pytest.approx([1.01**200, 1.02**200, 0.99**200], rel=1e-5)
    said = records.made(kept)
    assert said["command"] == "python -m clbook_book.records toy" and said["device"] == "cpu"
    assert kept.config[1] == "Config(growth=1.02, steps=200)"
    assert "numbers that grow" in records.summary(kept) and "commit" in records.made(kept)
    assert not list(reading.folder().glob("*.part"))


def test_a_record_describes_itself(toy):
    """Without clbook: xarray alone reads settings, axes, meanings and how it was made from the file."""
    records.make("toy")
    plain = xarray.load_dataset(reading.folder() / "toy.nc", engine="h5netcdf")
    assert plain.z.dims == ("variant", "step") and list(plain.growth.values) == [1.01, 1.02, 0.99]
    assert plain.growth.attrs["long_name"] == "factor of a step" and plain.attrs["steps"] == 200
    assert plain.attrs["made_says"] == "numbers that grow" and plain.attrs["made_seconds"] > 0
    kept = records.load("toy")
    fast = kept.z.sel(variant="fast", step=10).item()
    assert fast == pytest.approx(1.02**10, rel=1e-5)


def test_runs_that_are_a_grid_have_its_axes_in_the_recipes_order(toy):
    configs = tuple(Config(growth=g, steps=20, seed=s) for g in (1.02, 0.99, 1.01) for s in (1, 0))
    words = {"variant": np.repeat(["slow", "fast", "falling"], 2)}
    axes = {"steps": "step", "z": "run step"}
    made = Recipe("", run, configs, curves, ("z",), axes=axes, named=words)
    toy["toy"] = dataclasses.replace(made, dims=("variant", "seed"))
    kept = records.make("toy")
    assert kept.z.dims == ("variant", "seed", "step") and kept.growth.dims == ("variant", "seed")
    assert list(kept.variant.values) == ["slow", "fast", "falling"]
    assert list(kept.seed.values) == [1, 0]
    one = run(configs[3])
    np.testing.assert_array_equal(kept.z.sel(variant="fast", seed=0), one.z)
    again, recorded = records.beginning("toy")["z"]
    assert records.state("toy") == "as the code makes it" and len(again) <= len(recorded) + 1


def test_runs_that_ended_early_end_in_nan(toy):
    toy["toy"] = recipe((TOY[0], TOY[1].replace(end=5)))
    whole, short = records.make("toy").z.values
    before = int((records.load("toy").step <= 5).sum())
    assert np.isfinite(whole).all() and 0 < before < len(whole)
    # A run ends at the first recorded time from `end` on.
    assert np.isfinite(short[:before]).all() and np.isnan(short[before + 1 :]).all()


def test_code_and_settings_that_change_make_a_record_older_until_its_beginning_repeats(
    toy, monkeypatch
):
    assert records.state("toy") == "not made yet"
    records.make("toy")
    assert records.state("toy") == "as the code makes it" and not records.older("toy")
    toy["toy"] = recipe(TOY[:2])
    assert records.state("toy") == "of other settings" and records.older("toy")
    toy["toy"] = recipe()
    monkeypatch.setattr(records, "fingerprint", lambda run, kind: "other code")
    assert records.state("toy") == "older than the code" and records.older("toy")
    made = records.made(records.load("toy"))
    assert records.main(["--check", "toy"]) == 0
    assert records.state("toy").startswith("its beginning repeats at") and not records.older("toy")
    entry = records.checked()["toy"]
    assert entry["fingerprint"] == "other code" and entry["versions"] == records.VERSIONS
    assert records.made(records.load("toy")) == made, "a check is no making"
    monkeypatch.setattr(records, "fingerprint", lambda run, kind: "still other code")
    assert records.older("toy")


def changed(name, by):
    dataset = xarray.load_dataset(reading.folder() / f"{name}.nc", engine="h5netcdf")
    dataset["z"] = dataset.z * by
    records.write(name, dataset)


@pytest.mark.parametrize("code", ["the same", "other"])
def test_a_beginning_that_does_not_repeat_is_not_written_down(toy, monkeypatch, capsys, code):
    records.make("toy")
    again, kept = records.beginning("toy")["z"]
    assert again.shape == kept.shape and np.array_equal(again, kept)
    assert records.differences("toy") == []
    if code == "other":
        monkeypatch.setattr(records, "fingerprint", lambda run, kind: "other code")
        changed("toy", 1 + 1e-6)
        assert records.differences("toy") == [], "rounding"
    changed("toy", 1.001)
    (reading.folder() / "checked.json").unlink()  # it says that the record was made
    assert records.main(["--check"]) == 1 and records.checked() == {}
    assert "z: off by 0.00" in capsys.readouterr().out


@pytest.mark.parametrize("count", [1, 3])
def test_a_run_that_was_trained_alone_repeats_to_the_bit(toy, count):
    toy["toy"] = recipe(TOY[:count])
    records.make("toy")
    changed("toy", 1 + 1e-6)
    alone = count == 1  # beside others the sums of a run are rounded otherwise
    assert bool(records.differences("toy")) == alone


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("code", ["the same", "other"])
def test_all_recorded_times_count_where_a_record_was_made(toy, monkeypatch, count, code):
    toy["toy"] = dataclasses.replace(recipe(TOY[:count]), start=1.0)
    steps = records.make("toy").step
    changed("toy", np.where(steps > 1, 1.001, 1))  # the first two recorded times are 0 and 1
    if code == "other":
        monkeypatch.setattr(records, "fingerprint", lambda run, kind: "other code")
    assert bool(records.differences("toy")) == (code == "the same")


def whole(configs=TOY, *without):
    return Recipe("numbers that grow", run, configs, fields(*without), ("z",), start=0.0)


@pytest.fixture
def kept(toy, tmp_path):
    """The Results of which a record of whole runs was made; one is shorter, and the store is empty again."""
    configs = (*TOY[:2], TOY[2].replace(end=5))
    toy["toy"] = whole(configs)
    trained = sweep(run, configs)
    records.make("toy")
    shutil.rmtree(tmp_path / "cache")
    return trained


def served(results):
    """Whether they are from a record: there they take no time."""
    return [result.seconds == 0.0 for result in results]


def test_runs_of_a_record_are_found_like_runs_of_ones_own_and_nothing_is_written(kept, tmp_path):
    configs = [result.config for result in kept]
    found = sweep(run, configs)
    assert all(served(found)) and not any(served(kept))
    for mine, theirs in zip(found, kept, strict=True):
        assert vars(mine).keys() == vars(theirs).keys() and mine.config == theirs.config
        assert np.array_equal(mine.steps, theirs.steps) and np.array_equal(mine.z, theirs.z)
    assert all(served([store.cached(run, config) for config in configs]))
    assert not (tmp_path / "cache").exists()
    found[0].z[:] = 0  # a reader's own affair
    assert np.array_equal(sweep(run, configs)[0].z, kept[0].z)
    # What was trained here is taken first, as it may hold more.
    store.save(store.path_of(run, configs[0]), configs[0], kept[0])
    assert served(sweep(run, configs)) == [False, True, True]


def test_other_settings_shaken_runs_another_precision_and_another_device_are_trained(
    kept, monkeypatch
):
    config = kept[0].config
    others = [config, config.replace(seed=1), config.replace(steps=201)]
    assert served(sweep(run, others)) == [True, False, False]
    path = store.path_of(run, config)
    assert store.load(run, config, path, frozenset())[0] is not None
    assert store.load(run, config, path, frozenset(), "meta")[0] is None
    monkeypatch.setattr(torch, "get_default_dtype", lambda: torch.float64)
    assert reading.find(run, config) is None
    monkeypatch.undo()


def test_a_shaken_run_is_in_no_record(kept, monkeypatch):
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-6")
    assert reading.find(run, kept[0].config) is None


def test_a_default_that_has_changed_is_another_setting(kept, monkeypatch):
    """The words for the settings leave out what stands at its default, so they stay the same."""
    config = kept[0].config
    other = config.replace(start=2.0)
    monkeypatch.setattr(Config, "described", lambda self: "Config(growth=1.01, steps=200)")
    assert reading.find(run, config) is not None and reading.find(run, other) is None


def test_of_a_run_that_two_records_keep_what_either_has_is_found(toy, tmp_path):
    for k, more in enumerate([(), ("square",)]):
        toy[f"toy{k}"] = dataclasses.replace(whole(), record=more)
        records.make(f"toy{k}")
        shutil.rmtree(tmp_path / "cache")
    assert all(served(sweep(run, TOY, record=("square",))))


def test_for_a_quantity_that_its_record_lacks_a_run_is_made_with_all_that_it_had(toy, tmp_path):
    toy["toy"] = dataclasses.replace(whole(), record=("square",))
    records.make("toy")
    shutil.rmtree(tmp_path / "cache")
    path = store.path_of(run, TOY[0])
    assert store.load(run, TOY[0], path, frozenset(["more"])) == (None, {"more", "square"})


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_record_is_not_made_of_itself_and_leaves_the_store_as_it_is(kept, tmp_path, n_jobs):
    mine = tmp_path / "cache" / "runs" / "mine.record.pkl"
    store.save(mine, TOY[0], kept[0])
    with joblib.parallel_config(n_jobs=n_jobs):
        again = records.make("toy")
    assert records.made(again)["seconds"] > 0 and reading.in_use()
    assert mine.exists()


def test_processes_that_have_worked_before_know_whether_records_are_in_use():
    """Or a record would be made of what its runs find in others."""
    assert list(parallel(reading.in_use, [(), ()], n_jobs=2)) == [True, True]
    with reading.unused():
        assert list(parallel(reading.in_use, [(), ()], n_jobs=2)) == [False, False]
    assert list(parallel(reading.in_use, [(), ()], n_jobs=2)) == [True, True]


def test_a_record_that_is_older_than_its_code_serves_nothing_until_its_beginning_repeats(
    kept, monkeypatch
):
    for module in (records, reading):
        monkeypatch.setattr(module, "fingerprint", lambda run, kind: "other code")
    assert records.older("toy") and reading.find(run, TOY[0]) is None
    assert not any(served(sweep(run, TOY[:1])))
    assert records.main(["--check", "toy"]) == 0
    assert reading.find(run, TOY[0]) is not None


def test_records_serve_whatever_versions_made_them(kept, monkeypatch):
    monkeypatch.setattr(store.fingerprint, "versions", lambda: {"torch": "of another day"})
    assert all(served(sweep(run, TOY[:2])))


def of_its_own(results):
    return fields()(results)


@pytest.mark.parametrize("what", [fields("z"), fields(z=lambda r: r.z[-1:]), of_its_own])
def test_a_record_that_does_not_keep_whole_runs_serves_none(toy, tmp_path, what):
    toy["toy"] = dataclasses.replace(whole(), reduce=what)
    assert "runs_of" not in records.make("toy").attrs
    shutil.rmtree(tmp_path / "cache")
    assert reading.find(run, TOY[0]) is None


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def in_conflict(path):
    path.write_bytes(b"<<<<<<< ours")


@pytest.mark.parametrize("name", ["toy.nc", "checked.json"])
@pytest.mark.parametrize("spoil", [cut, in_conflict])
def test_a_damaged_file_costs_a_warning_that_names_path_and_cure(kept, spoil, name):
    path = reading.folder() / name
    spoil(path)
    with pytest.warns(UserWarning, match=f"{path} cannot be used.*git checkout {path}"):
        found = sweep(run, TOY[:2])
    assert not any(served(found)) and np.array_equal(found[0].z, kept[0].z)


def test_a_record_that_is_gone_is_trained(kept):
    (reading.folder() / "toy.nc").unlink()
    assert not any(served(sweep(run, TOY[:1])))


@dataclasses.dataclass
class Named(Outcome):
    words: list = quantity("names of the rows")
    rows: np.ndarray = quantity("numbers", dims="row column")
    title: str = quantity("a text")
    more: dict = quantity("further arrays, or none")


def named(words, rows, title="", more=()):
    head = {"config": None, "seconds": 0.0, "device": "cpu", "stopped": False}
    return Named(**head, words=words, rows=np.array(rows), title=title, more=dict(more))


def of_table(kept, run):
    table = xarray.Dataset()
    for name, array in kept.items():
        put(table, name, ["run", *(f"{name}_{k}" for k in range(array.ndim - 1))], array)
    return reading.run_of(table, run)


def test_texts_and_shapes_come_back_and_other_numbers_of_axes_are_refused():
    results = [named(["a", "b c"], [[1.0], [2.0]], "one"), named(["d"], [[3.0]], "another")]
    kept = fields()(results)
    back = [of_table(kept, k) for k in range(2)]
    assert [one["words"] for one in back] == [["a", "b c"], ["d"]]
    assert [one["rows"].tolist() for one in back] == [[[1.0], [2.0]], [[3.0]]]
    assert [one["title"] for one in back] == ["one", "another"]
    assert [one["more"] for one in back] == [{}, {}]
    kept = fields()([results[0], named(["d"], [[3.0, 4.0, 5.0]])])
    wide = of_table(kept, 1)
    assert wide["rows"].tolist() == [[3.0, 4.0, 5.0]]
    with pytest.raises(ValueError, match="rows is not allowed: its arrays have different numbers"):
        fields()([results[0], named(["d"], [3.0])])


def test_processors_of_one_name_are_told_apart(tmp_path, monkeypatch):
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(records, "Path", lambda _: info)
    text = "processor\t: 0\ncpu family\t: 23\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nstepping\t: 2\n\nprocessor\t: 1\n"
    info.write_text(text)
    first = records.processor()
    info.write_text(text.replace(": 23", ": 25"))
    assert first == "cpu family 23, model 1, model name AMD EPYC, stepping 2" != records.processor()


def test_unknown_records_are_refused(toy):
    with pytest.raises(ValueError, match="name = 'none' is not allowed: the records are toy"):
        records.make("none")


def test_records_have_names_and_a_near_one_is_offered():
    assert reading.names() == sorted(set(reading.names())) and len(reading.names()) > 100
    for ask in (reading.load, reading.made):
        with pytest.raises(ValueError, match="name = 'sa-lar' is not allowed.* you mean sa-lars"):
            ask("sa-lar")


@pytest.mark.parametrize(("shaken", "allowed"), [(1.0001, 0.003), (1.005, 0.02), (1.1, 0.2)])
def test_rounding_leads_no_farther_than_a_shake_does(shaken, allowed):
    again = np.ones(3)
    assert records.grown(again * shaken, again, again) == pytest.approx(allowed)


def test_every_record_has_a_recipe_and_every_recipe_a_record():
    assert {path.stem for path in reading.folder().glob("*.nc")} == set(records.recipes())


def test_every_variable_of_a_record_says_what_it_is():
    for path in reading.folder().glob("*.nc"):
        with h5py.File(path) as file:
            told = {name for name in file if file[name].attrs.get("long_name")}
            assert {name for name in file if not file[name].is_scale} <= told, path
    assert reading.load("ls-fig-3").separable_at.attrs["units"] == "iterations"
    # A setting and a quantity of one name.
    looks, recorded = (reading.load("why-counts")[name] for name in ("looks", "recorded_looks"))
    assert looks.attrs["long_name"].startswith("who looks alike")
    assert recorded.attrs["long_name"] == "group that a symbol looks like"


def measured(seeds=range(3)):
    """Numbers of each seed, for two settings."""
    found = {}
    for name, factor in (("once", 1), ("twice", 2)):
        found[name] = np.array([[factor * seed, 0.5] for seed in seeds])
    return {"by name": found, (1, "two"): [(1, 2.5), "text", None], "rows": list(np.eye(2))}


def test_what_a_function_gives_is_kept_and_given_back(toy):
    toy["toy"] = records.Computed(measured)
    records.make("toy")
    kept, whole = records.value("toy"), measured()
    assert list(kept) == list(whole) and kept[1, "two"] == [[1, 2.5], "text", None]
    np.testing.assert_array_equal(kept["by name"]["twice"], whole["by name"]["twice"])
    assert len(kept["rows"]) == 2 and kept["rows"][1].tolist() == [0, 1]
    assert records.made(records.load("toy"))["says"] == "Numbers of each seed, for two settings"
    assert records.state("toy") == "as the code makes it"


def test_the_first_seed_of_what_a_function_gives_is_repeated(toy):
    toy["toy"] = records.Computed(measured)
    records.make("toy")
    again, kept = records.beginning("toy")["value by name once"]
    assert again.shape == kept.shape == (1, 2) and records.differences("toy") == []
    dataset = xarray.load_dataset(reading.folder() / "toy.nc", engine="h5netcdf")
    dataset["value by name twice"] = dataset["value by name twice"] + 0.01
    records.write("toy", dataset)
    (wrong,) = records.differences("toy")
    assert wrong.startswith("value by name twice")


def test_runs_are_given_back_at_the_length_that_they_had(toy):
    configs = (TOY[0], TOY[1].replace(end=5))
    toy["toy"] = Recipe("", run, configs, records.fields("z", size=lambda r: r.z), ("size",))
    records.make("toy")
    whole, short = records.runs("toy")
    alone = run(configs[1])
    np.testing.assert_array_equal(short.size, alone.z)
    np.testing.assert_array_equal(short.steps, alone.steps)
    assert len(whole.size) > len(short.size) and short.config == configs[1]
    assert not hasattr(short, "z")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")  # the command is run in this process
def test_the_command_that_a_record_names_makes_it_again(tmp_path, monkeypatch):
    """`python -m clbook_book.records ls-growing`, a record of what a function computes."""
    before = records.load("ls-growing")
    monkeypatch.setattr(reading, "folder", lambda: tmp_path)
    monkeypatch.setattr(sys, "argv", ["records", "ls-growing"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("clbook_book.records", run_name="__main__")
    assert not ended.value.code
    xarray.testing.assert_allclose(records.load("ls-growing"), before, rtol=1e-4)
