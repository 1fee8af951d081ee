"""A change in `clbook` is never served stale: what the execution cache of jupyter-cache does not see,
the extension does.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from clbook_build import probe
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.errors import ExtensionError

ROOT = pathlib.Path(__file__).parents[2]
CODE = "import time, clbook.deep\nprint('number', clbook.deep.NUMBER, 'computed', time.time_ns())"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


class Book:
    """A book of one page, with this book's configuration, over a package of one module."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(ROOT / "book" / "_ext", folder / "book" / "_ext")
        shutil.copytree(ROOT / "book" / "_static", folder / "book" / "_static")
        for name in ("requirements.txt", "book/references.bib"):
            shutil.copy(ROOT / name, folder / name)
        # This package has no claims, no ledger.
        lines = (ROOT / "_config.yml").read_text().splitlines(keepends=True)
        kept = "".join(line for line in lines if not re.search("clbook_(ledger|api)", line))
        (folder / "_config.yml").write_text(kept)
        (folder / "_toc.yml").write_text("format: jb-book\nroot: book/page\n")
        (folder / "clbook").mkdir()
        (folder / "clbook" / "__init__.py").write_text('__version__ = "0"\n')
        own = folder / "book" / "clbook_book"
        (own / "live").mkdir(parents=True)
        (own / "__init__.py").touch()
        shutil.copy(ROOT / "book/clbook_book/live/tasks.js", own / "live")  # each page reads it
        (folder / "clbook" / "results").mkdir()
        for file in ("__init__.py", "fingerprint.py"):
            shutil.copy(ROOT / "clbook" / "results" / file, folder / "clbook" / "results")
        self.write("deep", "NUMBER = 1\n")
        self.page_of("page", CODE)

    def page_of(self, name, code):
        cells = [new_markdown_cell("# Page"), new_code_cell(code)]
        path = self.folder / "book" / f"{name}.ipynb"
        nbformat.write(new_notebook(cells=cells, metadata=KERNEL), path)

    def write(self, module, text):
        (self.folder / "clbook" / f"{module}.py").write_text(text)

    def build(self):
        book = pathlib.Path(sys.executable).with_name("jupyter-book")
        command = [book, "build", ".", "-W", "-n", "--keep-going"]
        how = {
            "cwd": self.folder,
            "env": {**os.environ, "PYTHONPATH": f"{self.folder}:{self.folder}/book"},
        }
        return subprocess.run(command, text=True, capture_output=True, check=False, **how)

    def page(self):
        """(the number the page shows, when it was computed, the page's own text)."""
        page = self.folder / "_build" / "html" / "book" / "page.html"
        text = re.sub(r"<[^>]+>", "", page.read_text())
        number, stamp = re.search(r"number (\d+) computed (\d+)", text).groups()
        return int(number), int(stamp), text


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return Book(tmp_path_factory.mktemp("book"))


def test_an_edit_of_the_package_reaches_the_page(book):
    """That nothing else does is asked of the book by .ci/run."""
    first = book.build()
    assert first.returncode == 0, first.stdout + first.stderr
    number, stamp, text = book.page()
    assert number == 1 and "The code of this page took" in text and "clbook 0," in text

    book.write("deep", "NUMBER = 2\n")
    assert book.build().returncode == 0
    number, changed, _ = book.page()
    assert number == 2 and changed > stamp
    caches = list((book.folder / "_build" / ".jupyter_cache").iterdir())
    assert len(caches) == 1, "the outputs of the old package are still there"
    assert json.loads((caches[0] / "environment.json").read_text())["clbook"] == "0"


def test_a_package_that_does_not_import_ends_the_build_before_any_page(book, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{book.folder}:{book.folder}/book")
    assert probe(book.folder)["clbook"] == "0"
    book.write("unused", "raise RuntimeError('broken on import')\n")
    with pytest.raises(ExtensionError, match="(?s)clbook does not import.*broken on import"):
        probe(book.folder)
    (book.folder / "clbook" / "unused.py").unlink()


MEET = """import pathlib, time
pathlib.Path("{own}.here").touch()
for _ in range(1200):
    if pathlib.Path("{other}.here").exists():
        break
    time.sleep(0.1)
else:
    raise RuntimeError("this notebook was alone")"""


def test_two_notebooks_run_at_once_and_one_that_fails_is_reported(book):
    (book.folder / "_toc.yml").write_text(
        "format: jb-book\nroot: book/page\nchapters:\n- file: book/second\n- file: book/third\n"
    )
    book.page_of("page", MEET.format(own="page", other="second"))
    book.page_of("second", MEET.format(own="second", other="page"))
    book.page_of("third", "1 / 0")
    build = book.build()
    told = build.stdout + build.stderr
    assert build.returncode != 0 and "ZeroDivisionError" in told and "third.ipynb" in told
    assert (book.folder / "book/page.here").exists() and "this notebook was alone" not in told, told


LATE = """import pathlib
there = pathlib.Path("late.there")
if not there.exists():
    there.touch()
    raise RuntimeError("nothing was stored yet")"""


def test_a_notebook_that_passes_only_the_second_time_is_reported(book):
    (book.folder / "_toc.yml").write_text(
        "format: jb-book\nroot: book/page\nchapters:\n- file: book/late\n"
    )
    book.page_of("page", "1 + 1")
    book.page_of("late", LATE)
    build = book.build()
    told = build.stdout + build.stderr
    assert build.returncode != 0 and "book/late failed" in told and "nothing was stored yet" in told
