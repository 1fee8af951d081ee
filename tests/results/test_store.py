"""The store never serves the numbers of other code or data, and never costs a result."""

import dataclasses
import functools
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
import time

import joblib
import pytest
import torch
import toy
from joblib.externals.loky import get_reusable_executor

from clbook.results import fingerprint, store
from clbook.results.store import cached
from clbook.results.sweep import sweep
from clbook.training.settings import Outcome, Settings, quantity, setting

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(autouse=True, scope="module")
def processes():
    """Processes that begin here know the stores of these tests: none is left for another file."""
    yield
    get_reusable_executor().shutdown()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def stored(cache):
    """Files of finished results below the cache folder."""
    return sorted(cache.rglob("*.pkl"))


def write(folder, **modules):
    """Write {module, with two underscores for a dot: text} below `folder`."""
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    importlib.invalidate_caches()


def python(folder, script):
    """What a script prints that runs in a process of its own in `folder`, as JSON."""
    time.sleep(0.05)  # files of this moment are older than the process
    (folder / "script.py").write_text(textwrap.dedent(script))
    command = [sys.executable, "-W", "always", "script.py"]
    env = os.environ | {"PYTHONPATH": f"{folder}:{folder}/book:{ROOT}:{ROOT}/book"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


EXPERIMENT = """
    import dataclasses, json, pathlib
    from clbook.training.settings import Outcome, Settings, quantity, setting

    @dataclasses.dataclass(frozen=True)
    class Config(Settings):
        a: float = setting(1.0, "a")
        steps: int = setting(1, "steps")
        seed: int = setting(0, "seed")

    @dataclasses.dataclass
    class Result(Outcome):
        value: float

    def outcome(config, value):
        return Result(config=config, seconds=0.0, device="cpu", stopped=False, value=float(value))
"""

# One experiment for each thing that a run may depend on: the file that says it, and how it is used.
USES = {
    "helper_function": ("def helper(a):\n    return {} * a\n", "used.helper(config.a)"),
    "constant": ("FACTOR = {}\n", "used.FACTOR * config.a"),
    "instance": (
        "class Scale:\n    def __init__(self, by):\n        self.by = by\n\nSCALE = Scale({})\n",
        "used.SCALE.by * config.a",
    ),
    "base_class": (
        "class Base:\n    @classmethod\n    def run(cls, config):\n        return {} * config.a\n",
        "Derived.run(config)",
    ),
}


def lab(folder, number):
    """Four experiments, `exp_NAME`, each over a module of its own in a folder without `__init__`, at `number`."""
    write(folder, frame=EXPERIMENT)
    for name, (text, value) in USES.items():
        write(folder, **{f"lab__{name}": text.format(number)})
        experiment = f"""
            from frame import Config, outcome
            from lab import {name} as used

            class Derived(getattr(used, "Base", object)):
                pass

            def run(config, *, progress=None, device=None):
                return outcome(config, {value})
        """
        write(folder, **{f"exp_{name}": experiment})


RUN_ALL = """
    import importlib, json, pathlib, os
    import frame
    from clbook.results.sweep import sweep
    found = {}
    for name in %s:
        run = importlib.import_module(f"exp_{name}").run
        found[name] = [r.value for r in sweep(run, [frame.Config(), frame.Config(a=2.0)])]
    count = len(list(pathlib.Path(os.environ["CLBOOK_CACHE"]).rglob("*.pkl")))
    print(json.dumps([found, count]))
"""


def test_a_readers_own_code_is_never_served_stale(tmp_path, cache):
    """A helper function, a constant, an object, a base class of another module: each is in the key of what uses it."""
    script = RUN_ALL % list(USES)
    lab(tmp_path, 1)
    assert python(tmp_path, script) == [{name: [1.0, 2.0] for name in USES}, 8]
    assert python(tmp_path, script)[1] == 8, "the second time nothing runs"
    lab(tmp_path, 5)
    assert python(tmp_path, script) == [{name: [5.0, 10.0] for name in USES}, 16]
    write(tmp_path, lab__constant="# a comment\nFACTOR = (5)\n")
    assert python(tmp_path, script)[1] == 16, "a comment is no other code"


def test_what_a_script_defines_is_swept_and_not_stored(tmp_path, cache):
    script = (
        textwrap.dedent(EXPERIMENT)
        + """
from clbook.results.sweep import sweep
FACTOR = %d
def run(config, *, progress=None, device=None):
    return outcome(config, FACTOR * config.a)
class Experiment:
    def __init__(self, by):
        self.by = by
    def run(self, config):
        return outcome(config, self.by * config.a)
configs = [Config(a=float(a)) for a in range(1, 5)]
runs = run, Experiment(FACTOR).run, lambda config: outcome(config, FACTOR)
print(json.dumps([[r.value for r in sweep(one, configs)] for one in runs]))
"""
    )
    assert python(tmp_path, script % 1) == [[1.0, 2.0, 3.0, 4.0]] * 2 + [[1.0] * 4]
    assert python(tmp_path, script % 5) == [[5.0, 10.0, 15.0, 20.0]] * 2 + [[5.0] * 4]
    assert not stored(cache)


def test_a_training_in_a_script_is_swept_in_one_program(tmp_path, cache):
    """CONTRIBUTING's toy pasted into a notebook: its Config and its Training are found nowhere but there."""
    text = (ROOT / "tests/toy_program.py").read_text().replace("from __future__", "# from")
    script = (
        text
        + """
import json
from clbook.results.sweep import sweep
found = sweep(run, [Config(start=float(s)) for s in range(1, 5)])
print(json.dumps([float(r.z[0]) for r in found]))
"""
    )
    assert python(tmp_path, script) == [1.0, 2.0, 3.0, 4.0] and not stored(cache)


OWN = """
from frame import Config, outcome
K = %d

def run(config, **how):
    return outcome(config, K * config.a)
"""
EDITED = """
    import importlib, json, pathlib, warnings
    import exp, frame
    from clbook.results.sweep import sweep
    configs = [frame.Config(a=1.0), frame.Config(a=2.0)]

    def edit(number):
        path = pathlib.Path("exp.py")
        path.write_text(path.read_text().replace(f"K = {exp.K}", f"K = {number}"))

    def values(configs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [r.value for r in sweep(exp.run, configs)]
        return found, [str(w.message) for w in caught]
"""


def own(folder, k):
    write(folder, frame=EXPERIMENT, exp=OWN % k)


def test_code_that_is_edited_between_import_and_sweep_is_not_stored(tmp_path, cache):
    """The process runs what it has imported; the next one runs what stands there now, and nothing else is found."""
    own(tmp_path, 1)
    found, told = python(
        tmp_path, EDITED + "\n    edit(77)\n    print(json.dumps(values(configs)))"
    )
    assert found == [1.0, 2.0], "what `run` gives in this process"
    assert len(told) == 1 and "exp.py was edited" in told[0] and not stored(cache)
    after = "\n    print(json.dumps([values(configs)[0], [exp.run(c).value for c in configs]]))"
    assert python(tmp_path, EDITED + after) == [[77.0, 154.0]] * 2


def test_code_that_is_edited_and_reloaded_is_neither_stored_nor_served_stale(tmp_path, cache):
    own(tmp_path, 1)
    found = python(
        tmp_path,
        EDITED
        + """
    first = values(configs)[0]
    edit(55)
    importlib.reload(exp)
    second = values([*configs, frame.Config(a=3.0)])[0]
    edit(1)  # as before, but this process still has the other code
    third = values([frame.Config(a=4.0)])[0]
    print(json.dumps([first, second, third]))""",
    )
    assert found == [[1.0, 2.0], [55.0, 110.0, 165.0], [220.0]] and len(stored(cache)) == 2
    after = "\n    print(json.dumps(values([frame.Config(a=float(a)) for a in range(1, 5)])[0]))"
    assert python(tmp_path, EDITED + after) == [1.0, 2.0, 3.0, 4.0]


def test_a_module_of_an_older_date_that_was_moved_into_place_counts_as_edited(tmp_path):
    path = tmp_path / "old.py"
    path.write_text("")
    os.utime(path, (1, 1))
    assert fingerprint.edited([path]) == [path]
    assert fingerprint.edited([ROOT / "clbook/losses.py"]) == []
    assert fingerprint.edited([tmp_path / "removed.py"])


# What counts.


def test_the_fingerprint_covers_losses_and_not_figures():
    from clbook.experiments.separability import Config, run

    modules = set(fingerprint.sources(run, Config))
    parts = {"losses", "models", "data", "training.settings"}
    assert {"clbook", *(f"clbook.{part}" for part in parts)} <= modules
    assert not any(name.endswith((".figures", ".style")) for name in modules)
    assert not any(name.startswith(("clbook.explore", "clbook_book.audit")) for name in modules)
    assert not any(name.partition(".")[0] in ("torch", "numpy", "dataclasses") for name in modules)
    assert fingerprint.fingerprint(run, Config) != fingerprint.fingerprint(toy.run, toy.Config)


EVERYTHING = """
    import json, pathlib, sys
    sys.path.insert(0, "book/_ext")
    from clbook_book import records
    from clbook.results.fingerprint import fingerprint
    from clbook.experiments import separability, sphere, words
    from clbook_build import fingerprint as of_the_book
    runs = {e.__name__: fingerprint(e.run, e.Config) for e in (separability, sphere, words)}
    older = sum(records.older(name) for name in records.recipes())
    print(json.dumps([runs, of_the_book(pathlib.Path()), older]))
"""


def test_a_comment_in_losses_changes_nothing_and_a_constant_all_that_use_it(tmp_path):
    for name in ("clbook", "book/_ext", "book/clbook_book"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    runs, book, older = python(tmp_path, EVERYTHING)
    losses = tmp_path / "clbook/losses.py"
    text = losses.read_text()
    start = text.index('"""') + 3
    losses.write_text(
        f"# A comment.\n{text[:start]}Another docstring. {text[start:]}\n# And one.\n"
    )
    assert python(tmp_path, EVERYTHING) == [runs, book, older]
    module = tmp_path / "clbook/__init__.py"
    version = re.compile(r'^__version__ = ".*"$', re.MULTILINE)
    module.write_text(version.sub('__version__ = "9.0.0"', module.read_text()))
    released = python(tmp_path, EVERYTHING)
    assert [released[0], released[2]] == [runs, older], "a release runs nothing again"
    assert released[1] != book, "the pages name the version"
    losses.write_text(text + "\nANOTHER = 1.0\n")
    changed, other_book, now_older = python(tmp_path, EVERYTHING)
    assert all(changed[name] != runs[name] for name in runs if not name.endswith("words"))
    assert other_book != book and now_older >= older


@dataclasses.dataclass(frozen=True)
class Reader(Settings):
    path: str = setting("", "a file of numbers")

    @property
    def files(self):
        return (pathlib.Path(self.path),)


def total(config):
    return Wide(config, 0.0, "cpu", False, loss=float(pathlib.Path(config.path).read_text()))


def test_a_result_follows_the_content_of_the_data_files_it_read(tmp_path, cache):
    config = Reader(path=str(tmp_path / "number"))
    for text in ("1", "2", "1"):
        pathlib.Path(config.path).write_text(text)
        (found,) = sweep(total, [config], n_jobs=1)
        assert found.loss == float(text)
    assert len(stored(cache)) == 2


def test_shaken_runs_and_those_of_another_default_dtype_are_kept_apart(monkeypatch):
    plain = store.path_of(toy.run, toy.Config())
    torch.set_default_dtype(torch.float64)
    try:
        assert store.path_of(toy.run, toy.Config()) != plain
    finally:
        torch.set_default_dtype(torch.float32)
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-6")
    assert store.path_of(toy.run, toy.Config()) != plain


@pytest.mark.parametrize("package", ["torch", "numpy", "kornia", "scipy", "scikit-learn", "pillow"])
def test_runs_of_other_versions_of_what_computes_are_kept_apart(monkeypatch, package):
    """Also of one that was not installed then."""
    version = importlib.metadata.version

    def others(change):
        def of(name):
            return change(name) if name == package else version(name)

        monkeypatch.setattr(importlib.metadata, "version", of)
        fingerprint.versions.cache_clear()
        return store.path_of(toy.run, toy.Config())

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    found = [others(change) for change in (version, lambda name: "0.0.1", missing)]
    monkeypatch.undo()
    fingerprint.versions.cache_clear()
    assert len(set(found)) == 3


def test_settings_of_another_class_are_another_run():
    @dataclasses.dataclass(frozen=True)
    class Local(toy.Config):
        pass

    assert store.path_of(toy.run, Local()) is None, "its class cannot be imported"
    assert store.path_of(toy.run, Reader()) != store.path_of(toy.run, toy.Config())
    assert store.path_of(len, toy.Config()) is None


# Files that cannot be read or written.


SPOIL = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\xa2 no pickle"),
    "foreign": lambda path: joblib.dump({"a": 1}, path),
    "of another config": lambda path: joblib.dump((toy.Config(a=2.0), toy.run(toy.Config())), path),
    "of another kind": lambda path: joblib.dump((toy.Config(), {"z": 1.0}), path),
    "of a class that is gone": lambda path: path.write_bytes(
        pickle.dumps(Reader()).replace(b"Reader", b"Radeer")
    ),
}


@pytest.mark.parametrize("spoil", SPOIL.values(), ids=SPOIL)
def test_a_file_that_is_no_result_counts_as_missing_and_is_named(cache, spoil):
    first, second = sweep(toy.run, [toy.Config(), toy.Config(a=3.0)], n_jobs=1)
    path = store.path_of(toy.run, toy.Config())
    spoil(path)
    with pytest.warns(UserWarning, match=f"{path} cannot be used, so it is made again"):
        again, other = sweep(toy.run, [toy.Config(), toy.Config(a=3.0)], n_jobs=1)
    assert (again.z == first.z).all() and other.seconds == second.seconds
    assert sweep(toy.run, [toy.Config()])[0].seconds == again.seconds, "it is whole again"
    spoil(path)
    with pytest.warns(UserWarning, match=str(path)):
        assert (cached(toy.run, toy.Config()).z == first.z).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_that_cannot_be_stored_are_returned_with_one_warning(cache, n_jobs):
    cache.write_text("a file in the place of the folder")
    configs = [toy.Config(a=a) for a in (1.0, 2.0, 3.0)]
    with pytest.warns(UserWarning) as told:
        results = sweep(toy.run, configs, n_jobs=n_jobs)
    assert [r.config for r in results] == configs
    assert [w for w in told if "3 of 3 results are not stored: " in str(w.message)]
    says = "the result is not stored: .*NotADirectoryError|FileExists"
    with pytest.warns(UserWarning, match=says):
        assert cached(toy.run, toy.Config()).config == toy.Config()


def test_a_full_disk_costs_a_warning(cache, monkeypatch):
    def full(result, file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.joblib, "dump", full)
    with pytest.warns(UserWarning, match="1 of 1 results are not stored: .*No space left"):
        assert sweep(toy.run, [toy.Config()])[0].config == toy.Config()
    assert not list(cache.rglob("*.part"))


@dataclasses.dataclass
class Odd(Outcome):
    value: object


def unpicklable(config, *, progress=None, device=None):
    return Odd(config=config, seconds=0.0, device="cpu", stopped=False, value=lambda: None)


def test_a_result_that_cannot_be_pickled_is_returned(cache):
    with pytest.warns(UserWarning, match="not stored: .*[Pp]ickl"):
        assert callable(sweep(unpicklable, [toy.Config()])[0].value)


# Live panels.


def nothing(config, *, progress=None, device=None):
    return None


def test_a_live_run_that_returns_no_outcome_is_named():
    for run in (nothing, lambda config, **how: nothing(config)):
        with pytest.raises(ValueError, match="^run returned a NoneType: it must return an Outcome"):
            cached(run, toy.Config())


def test_live_panels_find_what_a_sweep_has_stored_and_keep_what_is_not_stopped(cache):
    (first,) = sweep(toy.run, [toy.Config()])
    assert cached(toy.run, toy.Config()).seconds == first.seconds
    assert cached(toy.run, toy.Config(a=3.0), progress=lambda fraction, partial: False).stopped
    assert len(stored(cache)) == 1
    cached(toy.run, toy.Config(a=3.0))
    assert len(stored(cache)) == 2
    assert cached(toy.run, toy.Config(), device="meta").device == "meta"


# Quantities that are recorded only when asked for.

CALLS = []


@dataclasses.dataclass
class Wide(Outcome):
    loss: float = quantity("a loss", on_request=True)
    kernel: float = quantity("a kernel", on_request=True)


def measured(config, *, progress=None, device=None, record=()):
    CALLS.append(frozenset(record))
    return Wide(config, 0.0, "cpu", False, **dict.fromkeys(record, 1.0))


def swept(run, config, **k):
    return sweep(run, [config], **k)[0]


@pytest.mark.parametrize("way", [swept, cached])
def test_a_stored_result_serves_who_asks_for_less_and_is_widened_for_who_asks_for_more(cache, way):
    ask = functools.partial(way, measured, toy.Config())
    CALLS.clear()
    assert ask(record=("loss",)).recorded == {"loss"}
    assert ask().recorded == {"loss"} and len(CALLS) == 1
    assert ask(record=("kernel",)).recorded == {"loss", "kernel"} and len(CALLS) == 2
    assert ask(record=("loss",)).recorded == {"loss", "kernel"} and len(CALLS) == 2
    assert len(stored(cache)) == 1


def test_code_has_one_digest_in_all_versions_of_python(tmp_path):
    """Later ones write syntax trees otherwise: a record that is made by one is known by all."""
    path = tmp_path / "code.py"
    path.write_text(
        "import math\n\n\nclass Point:\n    x: float = 0.0\n\n    def far(self, *others, near=None):\n"
        "        return [math.hypot(self.x, y) for y in others if f'{y:.1f}' != near]\n\n\nasync def nothing(): ...\n"
    )
    expected = "a73a6add0acb536e029af05f5e817dc578a04b1c134d864da4bee058b6970a13"
    assert fingerprint.digest(path) == expected
