"""Sweeps: order, caching, and that neither an error nor a kill loses or damages a finished run."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import toy

from clbook.sweep import fingerprint, parallel, sources, sweep


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def stored(cache):
    """Files of finished results below the cache folder."""
    return sorted(cache.rglob("output.pkl"))


def test_results_come_in_the_order_of_the_configs_and_duplicates_run_once(cache):
    configs = [toy.Config(a=a) for a in (3.0, 1.0, 2.0, 1.0)]
    results = sweep(toy.run, configs, n_jobs=1)
    assert [r.config.a for r in results] == [3.0, 1.0, 2.0, 1.0] and len(stored(cache)) == 3


def test_the_second_time_nothing_runs():
    slow = toy.Config(steps=20, delay=0.02)
    first = sweep(toy.run, [slow])[0]
    began = time.perf_counter()
    again = sweep(toy.run, [slow])[0]
    assert time.perf_counter() - began < first.seconds / 2
    assert again.seconds == first.seconds  # the stored run, not a new one


def test_processes_give_the_same_results_as_one():
    configs = [toy.Config(a=a) for a in (1.0, 2.0, 3.0)]
    parallel = sweep(toy.run, configs, n_jobs=2)
    for config, result in zip(configs, parallel):
        assert (result.z == toy.run(config).z).all()


def test_progress_sees_partial_results_and_false_ends_the_sweep(cache):
    calls = []

    def progress(fraction, results):
        calls.append((fraction, sum(r is not None for r in results)))
        return len(calls) < 2

    results = sweep(toy.run, [toy.Config(a=a) for a in (1.0, 2.0, 3.0, 4.0)], progress=progress, n_jobs=1)
    assert calls == [(0.25, 1), (0.5, 2)]
    assert [r is not None for r in results] == [True, True, False, False] and len(stored(cache)) == 2


def package(folder, text):
    """A package whose `experiment.run` calls `inner.value` through `middle`."""
    root = folder / "stalebook"
    root.mkdir(exist_ok=True)
    (root / "__init__.py").write_text("")
    (root / "inner.py").write_text(f"def value(config):\n    return {text}\n")
    (root / "middle.py").write_text("from . import inner\n\ndef value(config):\n    return inner.value(config)\n")
    (root / "unrelated.py").write_text(f"# {text}\n")
    (root / "experiment.py").write_text(
        "from stalebook.middle import value\n\ndef run(config):\n    return value(config)\n")
    return subprocess.run(
        [sys.executable, "-c", "from stalebook.experiment import run; from clbook.sweep import sweep, sources; "
         "print(sweep(run, [1, 2], n_jobs=1), sorted(sources(run)))"],
        env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True).stdout.strip()


def test_an_edit_of_a_module_that_the_run_imports_indirectly_is_never_served_stale(tmp_path, cache):
    modules = "['stalebook', 'stalebook.experiment', 'stalebook.inner', 'stalebook.middle']"
    assert package(tmp_path, "config * 10") == f"[10, 20] {modules}"
    assert package(tmp_path, "config * 10") == f"[10, 20] {modules}" and len(stored(cache)) == 2
    assert package(tmp_path, "config * 11") == f"[11, 22] {modules}" and len(stored(cache)) == 4


def test_the_fingerprint_covers_losses_and_not_figures():
    from clbook.experiments.separability import run

    modules = set(sources(run))
    assert {"clbook.losses", "clbook.models", "clbook.data", "clbook.kernels", "clbook.settings"} <= modules
    assert not any(name.startswith(("clbook.figures", "clbook.explore")) for name in modules)
    assert fingerprint(run) != fingerprint(toy.run)


def fails_at_three(config):
    if config.a == 3.0:
        raise RuntimeError("crash")
    return toy.run(config)


def test_a_crash_keeps_what_had_finished(cache):
    configs = [toy.Config(a=a) for a in (1.0, 2.0, 3.0, 4.0)]
    with pytest.raises(RuntimeError, match="crash"):
        sweep(fails_at_three, configs, n_jobs=1)
    assert len(stored(cache)) == 2
    assert [r.config.a for r in sweep(fails_at_three, configs[:2], n_jobs=1)] == [1.0, 2.0]


def test_a_killed_sweep_keeps_finished_runs_and_leaves_no_half_written_file(cache):
    """Kill the process in the middle; whatever is stored must load, and the rest must run."""
    script = textwrap.dedent("""
        from clbook.sweep import sweep
        import toy
        sweep(toy.run, [toy.Config(a=float(a), steps=10, delay=0.03) for a in range(1, 21)], n_jobs=1)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], cwd=pathlib.Path(__file__).parent)
    deadline = time.monotonic() + 60
    while len(stored(cache)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(stored(cache))
    assert 3 <= kept < 20
    configs = [toy.Config(a=float(a), steps=10, delay=0.03) for a in range(1, 21)]
    results = sweep(toy.run, configs, n_jobs=1)
    assert [r.config for r in results] == configs and len(stored(cache)) == 20
    assert not [path for path in cache.rglob("*") if "thread-" in path.name], "a temporary file was left behind"


def test_processes_are_used_without_asking():
    """joblib's own default is one process (None in its active backend); a book would then be built on one core."""
    if os.cpu_count() < 2:
        pytest.skip("one core has nothing to run in parallel")
    assert os.getpid() not in parallel(os.getpid, [()] * 4)
