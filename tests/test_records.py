"""Records: how they are made and kept; the beginning of each one in the book, made again."""

import pathlib

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from toy_program import Config, run

from clbook import records
from clbook.records import Recipe

MADE = sorted(path.stem for path in records.FOLDER.glob("*.npz"))
SHAKEN = 30  # rounding enters at every step, a shake at the start alone
TOY = tuple(Config(growth=growth, steps=200) for growth in (1.01, 1.02, 0.99))


def curves(results):
    return {
        "steps": results[0].steps,
        "z": np.stack([result.z for result in results]),
        "end": [result.z[-1] for result in results],
    }


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A recipe in a folder of its own, with a store of its own."""
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(records, "FOLDER", tmp_path / "records")
    known = {"toy": Recipe("numbers that grow", run, TOY, curves, ("z",), start=0.0)}
    monkeypatch.setattr(records, "recipes", lambda: known)
    return known


def test_a_record_has_its_arrays_and_says_how_it_was_made(toy):
    made = records.make("toy")
    kept = records.load("toy")
    assert all(np.array_equal(kept[name], made[name]) for name in ("steps", "z", "end"))
    assert kept["end"] == pytest.approx([1.01**200, 1.02**200, 0.99**200], rel=1e-5)
    assert kept.made["command"] == "python -m clbook.records toy" and kept.made["device"] == "cpu"
    assert kept.made["settings"][
        1
    ] == "Config(growth=1.02, steps=200)" and "numbers that grow" in repr(kept)
    assert not list(records.FOLDER.glob("*.part"))


def test_a_record_is_older_when_settings_or_sources_have_changed(toy, monkeypatch):
    records.make("toy")
    assert not records.older("toy")
    toy["toy"] = Recipe("numbers that grow", run, TOY[:2], curves, ("z",))
    assert records.older("toy")
    toy["toy"] = Recipe("numbers that grow", run, TOY, curves, ("z",))
    monkeypatch.setattr(records, "code_of", lambda recipe: "other code")
    assert records.older("toy")


def test_the_beginning_is_compared_with_the_record(toy):
    records.make("toy")
    again, kept = records.beginning("toy")["z"]
    assert again.shape == kept.shape and np.array_equal(again, kept)
    path = records.FOLDER / "toy.npz"
    with np.load(path) as file:
        changed = dict(file) | {"z": file["z"] * 1.001}
    np.savez(path, **changed)
    again, kept = records.beginning("toy")["z"]
    assert not np.allclose(again, kept, rtol=1e-4)


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
    with pytest.raises(ValueError, match="python -m clbook.records toy"):
        records.load("toy")


def test_every_record_has_a_recipe_and_every_recipe_a_record():
    assert set(MADE) == set(records.recipes())


@pytest.mark.parametrize("name", MADE)
def test_a_record_begins_as_the_code_does_now(name, monkeypatch):
    """To the bit on the versions and the processor it was made with. Elsewhere the first two recorded times to 1e-4, or
    no farther than `SHAKEN` times what a start changed by 1e-6 moves them, and 2 %: training makes rounding grow.
    """
    missing = [
        item
        for item in records.recipes()[name].configs[0].files  # others are versions of libraries
        if isinstance(item, pathlib.Path) and not item.exists()
    ]
    if missing:
        pytest.skip(f"needs {missing[0]}")
    made = records.load(name).made
    same = (made["versions"], made["processor"]) == (records.VERSIONS, records.processor())
    with threadpool_limits(
        1
    ):  # as they were made: what NumPy's products add up depends on their threads
        found, shaken = records.beginning(name), {}
        for curve, (again, kept) in found.items():
            assert again.shape == kept.shape and again.shape[-1] > 1, curve
            again = again.astype(kept.dtype)
            if same:
                assert np.array_equal(again, kept, equal_nan=True), curve
            elif not np.allclose(
                again[..., :2], kept[..., :2], rtol=1e-4, atol=1e-5, equal_nan=True
            ):
                if not shaken:
                    monkeypatch.setenv("CLBOOK_SHAKE", "1e-6")
                    shaken = records.beginning(name)
                moved = np.nanmax(abs(shaken[curve][0] - again)[..., :2])
                allowed = min(SHAKEN * moved, 0.02 * np.nanmax(abs(kept)))
                assert np.nanmax(abs(again - kept)[..., :2]) <= allowed, curve
