"""Sweeps: order, caching, and that neither an error nor a kill loses or damages a finished run."""

import dataclasses
import functools
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import joblib
import numpy as np
import pytest
import toy
import toy_program
from dask.distributed import Client, LocalCluster

from clbook import sweep as engine
from clbook.settings import Settings, setting
from clbook.sweep import fingerprint, kept, parallel, sources, sweep


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def stored(cache):
    """Files of finished results below the cache folder."""
    return sorted(cache.rglob("*.pkl"))


def test_results_come_in_the_order_of_the_configs_and_duplicates_run_once(cache):
    configs = [toy.Config(a=a) for a in (3.0, 1.0, 2.0, 1.0)]
    results = sweep(toy.run, configs, n_jobs=1)
    assert [r.config.a for r in results] == [3.0, 1.0, 2.0, 1.0] and len(stored(cache)) == 3


def test_the_second_time_nothing_runs():
    (first,), (again,) = sweep(toy.run, [toy.Config()]), sweep(toy.run, [toy.Config()])
    assert (
        again.seconds == first.seconds
    )  # the stored run, not a new one: no two take the same time


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

    results = sweep(
        toy.run, [toy.Config(a=a) for a in (1.0, 2.0, 3.0, 4.0)], progress=progress, n_jobs=1
    )
    assert calls == [(0.25, 1), (0.5, 2)]
    assert [r is not None for r in results] == [True, True, False, False] and len(
        stored(cache)
    ) == 2


def package(folder, text):
    """A package whose `experiment.run` calls `inner.value` through `middle`."""
    root = folder / "stalebook"
    root.mkdir(exist_ok=True)
    (root / "__init__.py").write_text("")
    (root / "inner.py").write_text(f"def value(config):\n    return {text}\n")
    (root / "middle.py").write_text(
        "from . import inner\n\ndef value(config):\n    return inner.value(config)\n"
    )
    (root / "unrelated.py").write_text(f"# {text}\n")
    (root / "experiment.py").write_text(
        "from stalebook.middle import value\n\ndef run(config):\n    return value(config)\n"
    )
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from stalebook.experiment import run; from clbook.sweep import sweep, sources; "
            "print(sweep(run, [1, 2], n_jobs=1), sorted(sources(run)))",
        ],
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_an_edit_of_a_module_that_the_run_imports_indirectly_is_never_served_stale(tmp_path, cache):
    modules = "['stalebook', 'stalebook.experiment', 'stalebook.inner', 'stalebook.middle']"
    assert package(tmp_path, "config * 10") == f"[10, 20] {modules}"
    assert package(tmp_path, "config * 10") == f"[10, 20] {modules}" and len(stored(cache)) == 2
    assert package(tmp_path, "config * 11") == f"[11, 22] {modules}" and len(stored(cache)) == 4


def test_the_fingerprint_covers_losses_and_not_figures():
    from clbook.experiments.separability import run

    modules = set(sources(run))
    assert {
        "clbook.losses",
        "clbook.models",
        "clbook.data",
        "clbook.kernels",
        "clbook.settings",
    } <= modules
    assert not any(name.endswith((".figures", ".claims", ".style")) for name in modules)
    assert not any(name.startswith("clbook.explore") for name in modules)
    assert fingerprint(run) != fingerprint(toy.run)


def fails_at_three(config):
    if config.a == 3.0:
        raise RuntimeError("crash")
    return toy.run(config)


def test_a_crash_keeps_what_had_finished(cache):
    configs = [toy.Config(a=a) for a in (1.0, 2.0, 3.0, 4.0)]
    with pytest.raises(RuntimeError, match="crash"):
        sweep(fails_at_three, configs, n_jobs=1)
    assert len(stored(cache)) == 3
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
    assert all(joblib.load(path).config in configs for path in stored(cache))
    assert not list(cache.rglob("*.part")), "a temporary file was left behind"


@pytest.mark.parametrize(
    "run", [lambda config: toy.run(config), functools.partial(toy.run), "run", None]
)
def test_a_run_without_a_name_is_refused_in_words(run):
    with pytest.raises(
        ValueError, match="^run = .* is not allowed: it must be a function that has a name"
    ):
        sweep(run, [toy.Config()])


@pytest.mark.parametrize(
    "configs, given", [(toy.Config(), r"Config\(\)"), (toy.Config, ".*Config'>"), (None, "None")]
)
def test_configs_that_are_no_list_are_refused_in_words(configs, given):
    with pytest.raises(
        ValueError, match=rf"^configs = {given} is not allowed: it must be a list of settings"
    ):
        sweep(toy.run, configs)


def nothing(config, *, progress=None, device=None):
    return None


def test_a_live_run_that_returns_no_outcome_is_named():
    for run in (nothing, lambda config, **how: nothing(config)):
        with pytest.raises(ValueError, match="^run returned a NoneType: it must return an Outcome"):
            kept(run, toy.Config())


def test_processes_are_used_without_asking(monkeypatch):
    """joblib's own default is one process (None in its active backend); a book would then be built on one core."""
    if os.cpu_count() < 2:
        pytest.skip("one core has nothing to run in parallel")
    monkeypatch.delenv(
        "LOKY_MAX_CPU_COUNT", raising=False
    )  # a build's, or these tests', part of the cores
    assert os.getpid() not in parallel(os.getpid, [()] * 4)


GROUP = [toy_program.Config(growth=g, seed=s) for s in range(3) for g in (0.5, 1.0, 1.5)]


def test_a_grid_is_trained_in_groups_and_gives_the_runs_one_by_one(cache, monkeypatch):
    monkeypatch.setattr(engine, "_pays", lambda program, configs: True)
    for config, result in zip(GROUP, sweep(toy_program.run, GROUP, n_jobs=2)):
        assert result.config == config and np.array_equal(result.z, toy_program.run(config).z)
    assert len(stored(cache)) == 9


@pytest.mark.parametrize(
    "bad, says",
    [
        ({"growth": 1e30}, "growth = 1e.30 .*diverged"),
        ({"heavy": 1.0}, "heavy = 1.0 .*must be 0"),
    ],
    ids=["diverges", "cannot be made"],
)
def test_one_bad_config_of_a_group_is_named_and_all_others_are_stored(
    cache, monkeypatch, bad, says
):
    monkeypatch.setattr(engine, "_pays", lambda program, configs: True)
    configs = [*GROUP[:5], GROUP[5].replace(**bad), *GROUP[6:]]
    with pytest.raises(ValueError, match=says) as error:
        sweep(toy_program.run, configs, n_jobs=1)
    assert configs[5].described() in error.value.__notes__[0]
    assert {joblib.load(path).config for path in stored(cache)} == set(configs) - {configs[5]}


def test_runs_of_a_group_are_stored_as_they_end_not_with_the_group(cache):
    """A kill in the middle of a group keeps each run that had ended."""
    script = textwrap.dedent("""
        import os, signal
        import toy_program
        from clbook import runs, sweep
        key, ended = sweep.fingerprint(toy_program.run), []
        def done(result):
            sweep.save(key, result.config, result)
            ended.append(result)
            if len(ended) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
        runs.together(toy_program.Doubling, [toy_program.Config(end=e) for e in (2, 5, 0)], done=done)
    """)
    code = subprocess.run(
        [sys.executable, "-c", script], cwd=pathlib.Path(__file__).parent
    ).returncode
    assert code == -signal.SIGKILL and {joblib.load(path).config.end for path in stored(cache)} == {
        2,
        5,
    }


def test_named_runs_of_a_grid_are_stored_one_by_one_and_shared_with_other_sweeps(cache):
    both = sweep(
        toy_program.run_pair,
        [toy_program.Config(start=2.0), toy_program.Config(start=3.0)],
        n_jobs=1,
    )
    assert [r["fast"].z[1] for r in both] == [4.0, 6.0] and len(stored(cache)) == 4
    assert (
        kept(toy_program.run_pair, toy_program.Config(start=2.0))["slow"].seconds
        == both[0]["slow"].seconds
    )
    sweep(toy_program.run, [toy_program.Config(start=2.0, growth=2.0)], n_jobs=1)
    assert len(stored(cache)) == 4


def test_live_panels_find_what_a_sweep_has_stored_and_keep_what_is_not_stopped(cache):
    (first,) = sweep(toy.run, [toy.Config()])
    assert kept(toy.run, toy.Config()).seconds == first.seconds
    assert kept(toy.run, toy.Config(a=3.0), progress=lambda fraction, partial: False).stopped
    assert len(stored(cache)) == 1
    kept(toy.run, toy.Config(a=3.0))
    assert len(stored(cache)) == 2


@dataclasses.dataclass(frozen=True)
class Reader(Settings):
    path: str = setting("", "a file of numbers")

    @property
    def files(self):
        return (pathlib.Path(self.path),)


def total(config):
    return sum(map(float, pathlib.Path(config.path).read_text().split()))


def test_a_result_follows_the_content_of_the_data_files_it_read(tmp_path):
    config = Reader(path=str(tmp_path / "numbers"))
    for text in ("1 2", "1 2 3", "1 2"):
        pathlib.Path(config.path).write_text(text)
        assert sweep(total, [config], n_jobs=1) == [sum(map(float, text.split()))]


def test_shaken_runs_are_kept_apart(monkeypatch):
    plain = fingerprint(toy.run)
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-6")
    assert fingerprint(toy.run) != plain


def slow(config):
    time.sleep(config.delay)
    return toy.run(config.replace(delay=0.0))


def test_a_cluster_runs_the_sweep_and_outlives_one_of_its_workers(cache):
    """Two worker processes; one is killed while runs are going: every run arrives, none is stored twice."""
    configs = [toy.Config(a=float(a), steps=3, delay=0.2) for a in range(1, 25)]
    two = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**two) as cluster, Client(cluster):
        victim = next(iter(cluster.workers.values())).pid

        def kill():
            while len(stored(cache)) < 4:
                time.sleep(0.02)
            os.kill(victim, signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()
        with joblib.parallel_config(backend="dask"):
            results = sweep(slow, configs)
    assert [r.config.a for r in results] == [c.a for c in configs]
    assert len(stored(cache)) == len(configs)


def test_no_configs_give_no_results():
    assert sweep(toy.run, []) == []
