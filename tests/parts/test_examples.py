"""The examples in the docstrings of the package: each runs, and prints what stands there."""

import doctest
import importlib
import inspect

import pytest
import torch

from clbook import diagnose

WHOLE = (  # every public function has an example
    "clbook.losses",
    "clbook.metrics",
    "clbook.kernels",
    "clbook.results.sweep",
    "clbook.results.records",
)
DIAGNOSE = (  # those that `clbook.diagnose` hands on have one
    "clbook.diagnose.collecting",
    "clbook.diagnose.kernel",
    "clbook.diagnose.loss_scale",
    "clbook.diagnose.reporting",
)


def functions(module):
    """{name: function} of the public functions that a module defines."""
    loaded = importlib.import_module(module)
    return {
        name: value
        for name, value in vars(loaded).items()
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__ == module
    }


NAMES = [(module, name) for module in (*WHOLE, *DIAGNOSE) for name in functions(module)]
WITH_EXAMPLE = [
    (module, name)
    for module, name in NAMES
    if "\nExamples:\n" in (inspect.getdoc(functions(module)[name]) or "")
]


@pytest.fixture(autouse=True)
def left_alone(monkeypatch, tmp_path):
    """Nothing is left in the reader's cache, or in the state of the random numbers."""
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    with torch.random.fork_rng(devices=[]):
        yield


def test_every_public_function_has_an_example():
    chosen = [(module, name) for module, name in NAMES if module in WHOLE]
    chosen += [(module, name) for module, name in NAMES if name in diagnose.__all__]
    assert len(chosen) > 60
    assert [each for each in chosen if each not in WITH_EXAMPLE] == []


@pytest.mark.parametrize(("module", "name"), WITH_EXAMPLE)
def test_an_example_prints_what_stands_there(module, name):
    if (module, name) == ("clbook.results.records", "load"):
        pytest.importorskip("clbook_book", reason="the records come with the book's package")
    loaded = importlib.import_module(module)
    function = inspect.unwrap(functions(module)[name])  # a decorator has other globals
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    (example,) = finder.find(function, name, module=loaded)
    assert example.examples, "no line begins with >>>"
    said = []
    runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)
