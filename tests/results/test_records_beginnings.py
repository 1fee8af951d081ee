"""Every record of the book: its beginning, made again; its runs, where it keeps them whole."""

import pathlib

import pytest
from threadpoolctl import threadpool_limits

from clbook.results import records as reading
from clbook.results import store
from clbook_book import records

MADE = sorted(path.stem for path in reading.folder().glob("*.nc"))


def test_every_run_of_a_record_of_whole_runs_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path))
    whole = 0
    for name, recipe in records.recipes().items():
        if "runs_of" not in records.load(name).attrs:
            continue
        whole += 1
        assert not records.older(name), name
        asked = store.asked(recipe.run, recipe.record)
        for config, kept in zip(recipe.configs, records.runs(name)):
            path = store.path_of(recipe.run, config)
            found, _ = store.load(recipe.run, config, path, asked & vars(kept).keys())
            assert found is not None and found.config == config, (name, config)
    assert whole > 30 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", MADE)
def test_a_record_begins_as_the_code_does_now(name):
    missing = [
        item
        for config in records.recipes()[name].configs[:1]
        for item in config.files  # others are versions of libraries
        if isinstance(item, pathlib.Path) and not item.exists()
    ]
    if missing:
        pytest.skip(f"needs {missing[0]}")
    with threadpool_limits(1):  # what NumPy's products add up depends on their threads
        assert records.differences(name) == []
