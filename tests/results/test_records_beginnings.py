"""Every record of the book: its beginning, made again; its runs, where chapters restore them."""

import pathlib
import re

import pytest
from threadpoolctl import threadpool_limits

from clbook.results import records as reading
from clbook.results import store
from clbook.training.settings import on_request, quantities
from clbook_book import records

BOOK = pathlib.Path(__file__).parents[2] / "book"
MADE = sorted(path.stem for path in reading.folder().glob("*.nc"))


def restored() -> list[str]:
    """The names of the records that chapters and series restore."""
    files = [*BOOK.glob("*.ipynb"), *BOOK.glob("papers/*.ipynb"), *records.PACKAGE.rglob("*.py")]
    found = []
    for path in files:
        for names in re.findall(r"records\.restore\(([^)]*)\)", path.read_text()):
            found += re.findall(r'"([\w-]+?)\\?"', names)
    return sorted(set(found))


@pytest.mark.parametrize("name", restored())
def test_a_record_that_is_restored_holds_its_runs(name, tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path))
    records.restore(name)
    recipe = records.recipes()[name]
    kept = {*records.load(name).data_vars}
    asked = {quantity for quantity in store.asked(recipe.run, recipe.record) if quantity in kept}
    for config in recipe.configs:
        path = store.path_of(recipe.run, config)
        result, _ = store.load(path, config, asked)
        assert result is not None and result.config == config
        always = quantities(type(result)).keys() - on_request(type(result))
        assert always <= vars(result).keys()


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
