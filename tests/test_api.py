"""The API reference: every public name of the parts stands there, says what it is, and names the pages that use it."""

import doctest
import importlib
import inspect
import pathlib
import re
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "book/_ext"))
import clbook_api  # noqa: E402

PAGES = [ROOT / "book/api.md", *sorted((ROOT / "book/api").glob("*.md"))]
BUILT = [(ROOT / "_build/html" / path.relative_to(ROOT)).with_suffix(".html") for path in PAGES]
TEXT = "\n".join(path.read_text() for path in PAGES)
# {module: names, or () for all that it defines}
MODULES = {
    found[1]: tuple(re.findall(r"\w+", found[2] or ""))
    for found in re.finditer(r"automodule:: ([\w.]+)\n   :members:([^\n]*)", TEXT)
}
EXPERIMENTS = re.findall(r"autoclass:: (clbook\.experiments\.\w+\.\w+)", TEXT)
PARTS = {
    "diagnose", "losses", "kernels", "metrics", "models", "transformer", "data", "augment",
    "latents", *(f"theory.{paper}" for paper in ("ls", "va", "sa", "sl", "cs")),
}  # fmt: skip


def public(module, chosen):
    """The functions and classes that a module defines, or hands on by `__all__`, or those chosen of them."""
    loaded = importlib.import_module(module)
    if hasattr(loaded, "__all__"):
        return set(loaded.__all__)
    return {
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module
        and (not chosen or name in chosen)
    }


NAMES = [
    (module, name) for module, chosen in MODULES.items() for name in sorted(public(module, chosen))
]


def test_all_parts_and_experiments_are_on_the_page():
    assert not any(MODULES[f"clbook.{part}"] for part in PARTS), "whole"
    folders = {path.parent.name for path in ROOT.glob("clbook/experiments/*/experiment.py")}
    shown = {name.split(".")[2] for name in EXPERIMENTS}
    assert shown == folders and len(EXPERIMENTS) == 2 * len(folders)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_name_says_what_it_is_and_what_its_arguments_are(module, name):
    value = getattr(importlib.import_module(module), name)
    assert value.__doc__ and len(value.__doc__.split()) > 3
    if inspect.isfunction(value):
        for argument in inspect.signature(value).parameters.values():
            assert argument.annotation is not inspect.Parameter.empty, argument


def test_pages_are_found_by_what_their_code_uses(tmp_path):
    (tmp_path / "book").mkdir()
    code = '"from clbook.metrics import rsa, r2\\nlosses.nt_xent(a, b, 1.0)"'
    cell = f'{{"cell_type": "code", "source": [{code}]}}'
    (tmp_path / "book/toy.ipynb").write_text(f'{{"cells": [{cell}]}}')
    assert clbook_api.pages(tmp_path, "clbook.metrics", "r2") == ["book/toy"]
    assert clbook_api.pages(tmp_path, "clbook.losses", "nt_xent") == ["book/toy"]
    assert clbook_api.pages(tmp_path, "clbook.losses", "cl") == []


def test_a_name_in_a_cell_leads_to_its_entry():
    """As a whole, with its module, wherever it was imported from; not an argument, nor a name that is set again."""
    code = (
        "from clbook import losses, records, sweep\nfrom clbook.metrics import r2 as share, rsa\n"
        "losses.nt_xent(a, b, 1.0), records.load('x').mean(), r.losses, f(share=1), share(a)\n"
        "sweep(losses.nothing)\nrsa = 3\n"
    )
    name, dot = r"(?<![\w'])([a-z]\w*)(?![\w']|=)", clbook_api.DOT
    cell = re.sub(name, r'<span class="n">\1</span>', code).replace(".", dot)
    cell = f'<div class="highlight-ipython3 notranslate"><div class="highlight"><pre>{cell}</pre></div></div>'
    known = {f"{module}.{name}": f"#{module}.{name}" for module, name in NAMES}
    body = clbook_api.linked(cell, known.get)
    assert clbook_api.TAG.sub("", body) == code
    found = [
        (clbook_api.TAG.sub("", words), address)
        for address, words in re.findall(r'<a class="clbook-api" href="#(.*?)">(.*?)</a>', body)
    ]
    assert found == [
        ("sweep", "clbook.results.sweep.sweep"),
        ("share", "clbook.metrics.r2"),
        ("losses.nt_xent", "clbook.losses.nt_xent"),
        ("records.load", "clbook.results.records.load"),
        ("share", "clbook.metrics.r2"),
        ("sweep", "clbook.results.sweep.sweep"),
    ]


def blocks(path):
    """The Python of a page: [text of a block]."""
    return re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_example_of_a_page_prints_what_stands_there(path, tmp_path, monkeypatch):
    """Its lines before which >>> stands; a whole file that a page writes out lies beside them."""
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    for found in re.finditer(
        r"^`(\w+\.py)`:\n\n```python\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE
    ):
        (tmp_path / found[1]).write_text(found[2])
    text = "\n".join(block for block in blocks(path) if block.startswith(">>>"))
    example = doctest.DocTestParser().get_doctest(
        text, {"__name__": "own"}, path.stem, str(path), 0
    )
    said = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert example.examples and not "".join(said)


def test_what_the_pages_lead_to_is_there():
    named = re.findall(r"{py:obj}`~?(clbook[\w.]+)`", TEXT)
    assert len(named) > 50
    for name in named:
        module, _, last = name.rpartition(".")
        assert name in EXPERIMENTS or last == "run" or (module, last) in NAMES, name


@pytest.mark.skipif(not BUILT[0].exists(), reason="there is no built book")
def test_the_built_pages_have_every_name():
    page = "".join(path.read_text() for path in BUILT)
    missing = [f"{module}.{name}" for module, name in NAMES if f'id="{module}.{name}"' not in page]
    assert missing == [] and 'id="clbook.experiments.separability.Config"' in page
    assert page.count("Used on: ") > 20
    chapter = (ROOT / "_build/html/book/separability.html").read_text()
    assert 'class="clbook-api" href="api/results.html#clbook.results.sweep.sweep"' in chapter
