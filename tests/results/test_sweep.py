"""Sweeps: order, caching, and that neither an error nor a kill loses or damages a finished run."""

import functools
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import joblib
import numpy as np
import psutil
import pytest
import torch
import toy
import toy_program
from dask.distributed import Client, LocalCluster

from clbook import environment
from clbook.experiments import alignment, overlap
from clbook.results import sweep as sweeping
from clbook.results.sweep import attempt, bar, often, parallel, sweep, tasks
from clbook.training import loop


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A store of its own; no GPU, on which a sweep has no other processes."""
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return tmp_path / "cache"


def stored(cache):
    """Files of finished results below the cache folder."""
    return sorted(cache.rglob("*.pkl"))


def toys(*values, **others):
    """Settings with these values of a."""
    return [toy.Config(a=float(a), **others) for a in values]


def test_results_come_in_the_order_of_the_configs_and_each_runs_once(cache):
    configs = toys(3, 1, 2, 1)
    results = sweep(toy.run, configs, n_jobs=1)
    assert [r.config.a for r in results] == [3.0, 1.0, 2.0, 1.0] and len(stored(cache)) == 3
    again = sweep(toy.run, configs)  # the stored runs: no two new ones take the same time
    assert [r.seconds for r in again] == [r.seconds for r in results]
    assert sweep(toy.run, []) == []


def halted(config, *, progress=None, device=None):
    """A run that stops itself half way for a certain setting."""
    stop = config.a == 2.0
    return toy.run(config, progress=(lambda fraction, partial: fraction < 0.5) if stop else None)


def test_a_result_that_says_it_was_stopped_is_given_and_not_stored(cache):
    whole, part = sweep(halted, [toy.Config(), toy.Config(a=2.0)], n_jobs=1)
    assert part.stopped and len(part.steps) < len(whole.steps)
    assert len(stored(cache)) == 1


def test_a_function_that_is_no_run_fails_as_it_does_alone_and_names_its_settings(cache):
    with pytest.raises(TypeError, match="no len") as caught:
        sweep(len, [toy.Config(), toy.Config(a=2.0)])
    assert "in Config()" in caught.value.__notes__[-1] and stored(cache) == []


def test_processes_give_the_same_results_as_one():
    configs = toys(1, 2, 3)
    parallel = sweep(toy.run, configs, n_jobs=2)
    for config, result in zip(configs, parallel):
        assert (result.z == toy.run(config).z).all()


def test_progress_sees_partial_results_and_false_ends_the_sweep(cache):
    calls = []

    def progress(fraction, results):
        calls.append((fraction, sum(r is not None for r in results)))
        return len(calls) < 2

    results = sweep(toy.run, toys(1, 2, 3, 4), progress=progress, n_jobs=1)
    assert calls == [(0.25, 1), (0.5, 2)] and len(stored(cache)) == 2
    assert [r is not None for r in results] == [True, True, False, False]


def fails_at_three(config):
    if config.a == 3.0:
        raise RuntimeError("crash")
    return toy.run(config)


def test_a_crash_keeps_what_had_finished(cache):
    configs = toys(1, 2, 3, 4)
    with pytest.raises(RuntimeError, match="crash"):
        sweep(fails_at_three, configs, n_jobs=1)
    assert len(stored(cache)) == 3
    assert [r.config.a for r in sweep(fails_at_three, configs[:2], n_jobs=1)] == [1.0, 2.0]


def process(script, **variables):
    """A process that runs this script beside the tests."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    here = pathlib.Path(__file__).parent
    places = [
        str(here),
        os.environ.get("PYTHONPATH", ""),
    ]  # the module of these tests is found in its processes, too
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))} | variables
    return subprocess.Popen(command, cwd=here.parent, env=env)


def test_a_killed_sweep_keeps_finished_runs_and_no_half_written_file_is_taken_for_one(cache):
    """Killed while it writes the fourth result: whatever is stored must load, and the rest must run."""
    code = process("""
        import os, signal
        import toy
        from clbook.results.store import joblib
        from clbook.results.sweep import sweep
        dump, begun = joblib.dump, []
        def half(value, file):
            dump(value, file)
            begun.append(value)
            if len(begun) == 4:
                file.truncate(100)
                os.kill(os.getpid(), signal.SIGKILL)
        joblib.dump = half
        sweep(toy.run, [toy.Config(a=float(a)) for a in range(1, 7)], n_jobs=1)
    """).wait()
    assert code == -signal.SIGKILL and len(stored(cache)) == 3
    (part,) = cache.rglob("*.part")
    assert part.stat().st_size == 100
    configs = toys(*range(1, 7))
    results = sweep(toy.run, configs, n_jobs=1)
    assert [r.config for r in results] == configs and len(stored(cache)) == 6
    assert all(joblib.load(path)[0] in configs for path in stored(cache))
    assert list(cache.rglob("*.part")) == [part], "another temporary file was left behind"


def notes_itself(config):
    """A run that leaves a file, and waits where there is one that says so."""
    folder = pathlib.Path(os.environ["RUNS"])
    (folder / f"{config.a}-{os.getpid()}").touch()
    waited(lambda: not (folder / f"wait-{config.a}").exists())
    return toy.run(config)


TWO = """
    import toy, test_sweep
    from clbook.results.sweep import sweep
    configs = [toy.Config(a=float(a)) for a in range(1, 7)]
    assert [r.config for r in sweep(test_sweep.notes_itself, configs, n_jobs=1)] == configs
"""


def test_two_processes_on_one_grid_make_each_run_once_and_leave_whole_files(cache, tmp_path):
    """One waits in a run until the other has made all else."""
    (tmp_path / "wait-1.0").touch()
    first = process(TWO, RUNS=str(tmp_path))
    waited(lambda: list(tmp_path.glob("1.0-*")))
    second = process(TWO, RUNS=str(tmp_path))
    waited(lambda: len(stored(cache)) == 5)
    (tmp_path / "wait-1.0").unlink()
    assert (first.wait(), second.wait()) == (0, 0)
    made = sorted(path.name.split("-") for path in tmp_path.glob("?.0-*"))
    assert [run for run, _ in made] == [f"{a}.0" for a in range(1, 7)]
    assert {pid for _, pid in made[1:]} == {str(second.pid)} != {made[0][1]}
    kept = [joblib.load(path) for path in stored(cache)]
    assert {config for config, _ in kept} == {*toys(*range(1, 7))}
    assert not [*cache.rglob("*.part"), *cache.rglob("*.lock")]


def test_the_run_of_a_process_that_was_killed_is_made_by_another(cache, tmp_path):
    (tmp_path / "wait-1.0").touch()
    first = process(TWO, RUNS=str(tmp_path))
    waited(lambda: list(tmp_path.glob("1.0-*")))
    second = process(TWO, RUNS=str(tmp_path))
    waited(lambda: len(stored(cache)) == 5)
    first.kill()
    (tmp_path / "wait-1.0").unlink()
    assert second.wait() == 0 and len(stored(cache)) == 6
    assert (tmp_path / f"1.0-{second.pid}").exists()


def test_arguments_that_make_no_sweep_are_refused_in_words(cache):
    one, no_list = [toy.Config()], "it must be a list of settings"
    of_settings = "configs = .* is not allowed: it must be settings such"
    wrong = [(run, one, "run = .* is not allowed: run must be a function") for run in ("a", None)]
    wrong.append((lambda config: None, one, "run returned nothing: it must return an Outcome"))
    for configs, given in ((one[0], r"Config\(\)"), (toy.Config, ".*Config'>"), (None, "None")):
        wrong.append((toy.run, configs, f"configs = {given} is not allowed: {no_list}"))
    for configs in ({"a": toy.Config()}, [1, 2], [toy.Config(), None], "abc", [one]):
        wrong.append((toy.run, configs, of_settings))
    says = r"configs = Config\(.*\) of .*overlap.* is not allowed: run asks for a setting '\w+'"
    wrong.append((alignment.run, [overlap.Config()], says))
    for run, configs, says in wrong:
        with pytest.raises(ValueError, match=f"^{says}"):
            sweep(run, configs)
    with pytest.raises(ValueError, match=r"record = \('a',\) is not allowed: it must be \(\) for"):
        sweep(lambda config: toy.run(config), one, record=("a",))


def test_the_home_folder_may_be_written_as_a_tilde(monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", "~/kept")
    monkeypatch.setenv("CLBOOK_DATA", "~/sets")
    assert environment.cache_folder() == pathlib.Path.home() / "kept"
    assert environment.data_folder() == pathlib.Path.home() / "sets"


def test_a_run_without_a_name_is_swept_and_not_stored(cache):
    for run in (lambda config: toy.run(config), functools.partial(toy.run)):
        assert [r.config.a for r in sweep(run, [toy.Config(), toy.Config(a=2.0)])] == [1.0, 2.0]
    assert not stored(cache)


def test_processes_are_used_without_asking(monkeypatch):
    """joblib's own default is one process (None in its active backend); a book would then be built on one core."""
    if os.cpu_count() < 2:
        pytest.skip("one core has nothing to run in parallel")
    # A build's, or these tests', part of the cores.
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    assert os.getpid() not in parallel(os.getpid, [()] * 4)


def pid(config):
    return os.getpid()


def somewhere(config, *, progress=None, device=None):
    """A run whose Result says in which process it was made."""
    return toy.run(config, progress=progress, device=str(os.getpid()))


@pytest.mark.parametrize("patience", [np.inf, 0.0])
def test_a_sweep_starts_processes_only_for_what_has_not_ended_here(cache, monkeypatch, patience):
    if os.cpu_count() < 2:
        pytest.skip("one core has nothing to run in parallel")
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    monkeypatch.setattr(sweeping, "PATIENCE", patience)
    told = []
    configs = toys(*range(1, 6))
    results = sweep(somewhere, configs, progress=lambda share, found: told.append(share))
    assert told == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [r.config for r in results] == configs and len(stored(cache)) == 5
    assert not any(r.stopped for r in results)
    sweep(somewhere, toys(*range(1, 8)), lambda share, found: told.append(share), n_jobs=1)
    assert told[5:] == [0.5, 1.0], "of the two that were missing"
    here = [r.device == str(os.getpid()) for r in results]
    assert here == [patience > 0] * 5
    assert not list(pathlib.Path(tempfile.gettempdir()).glob(f"clbook-*{os.getpid()}*"))


def test_runs_of_a_program_that_end_before_their_time_is_over_are_kept(monkeypatch):
    """The others are left to be made anew, be they at work or not yet begun."""
    clock = itertools.count()
    monkeypatch.setattr(sweeping.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(loop, "PROGRESS_EVERY", -1.0)
    configs = [toy_program.Config(end=end, steps=1000) for end in (1, 3, 2, 0)]
    configs[1] = configs[1].replace(heavy=1.0)  # the program is halved
    ended = attempt(toy_program.run, configs, (), False, until=200)
    assert [one.config for one in ended] == configs[:3]
    assert attempt(fails_in_time, [toy.Config()], (), False, until=50) == []


def fails_in_time(config, *, progress):
    while progress(0.0):
        pass
    raise ValueError("nothing to show yet")


def test_a_process_that_has_worked_before_knows_the_shake(monkeypatch):
    def told():
        return list(parallel(os.getenv, [("CLBOOK_SHAKE", "")] * 2, 2))

    monkeypatch.delenv("CLBOOK_SHAKE", raising=False)
    assert told() == ["", ""]
    monkeypatch.setenv("CLBOOK_SHAKE", "1e-6")
    assert told() == ["1e-6", "1e-6"]
    monkeypatch.delenv("CLBOOK_SHAKE")
    assert told() == ["", ""]


def test_there_are_no_more_processes_than_runs():
    found = sweep(pid, toys(1, 2), n_jobs=20)
    assert os.getpid() not in found
    executor = joblib.externals.loky.reusable_executor._executor
    assert executor is None or executor._max_workers <= 2


GROUP = [toy_program.Config(growth=g, seed=s) for s in range(3) for g in (0.5, 1.0, 1.5)]


def test_a_grid_is_trained_in_groups_and_gives_the_runs_one_by_one(cache):
    for config, result in zip(GROUP, sweep(toy_program.run, GROUP, n_jobs=2)):
        assert result.config == config and np.allclose(result.z, toy_program.run(config).z)
    assert len(stored(cache)) == 9


@pytest.mark.parametrize(
    ("beside", "jobs", "sizes"),
    [(40, 1, [9]), (40, 2, [5, 4]), (4, 1, [3, 3, 3]), (1, 2, [1] * 9), (40, 20, [1] * 9)],
)
def test_runs_of_a_program_are_shared_out(monkeypatch, beside, jobs, sizes):
    monkeypatch.setattr(toy_program.Doubling, "beside", beside)
    found = tasks(toy_program.run, GROUP, jobs)
    assert [len(task) for task in found] == sizes and sum(found, []) == GROUP
    longer = [config.replace(steps=20) for config in GROUP[:2]]
    for task in tasks(toy_program.run, GROUP + longer, 1):
        assert len({config.steps for config in task}) == 1, "another program"
    assert tasks(toy.run, toys(1, 2), jobs) == [toys(1), toys(2)]


BAD = {"diverges": ({"growth": 1e30}, "diverged"), "cannot be made": ({"heavy": 1.0}, "must be 0")}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("place", [0, 4, 8])
@pytest.mark.parametrize("bad", BAD)
def test_one_bad_config_anywhere_is_named_and_costs_no_other_run(cache, bad, place, n_jobs):
    change, says = BAD[bad]
    configs = list(GROUP)
    configs[place] = configs[place].replace(**change)
    with pytest.raises(ValueError, match=says) as error:
        sweep(toy_program.run, configs, n_jobs=n_jobs)
    (note,) = error.value.__notes__
    assert note.startswith(f"in {configs[place].described()}; of the 8 other runs 8 have finished")
    assert "(8 are stored; " in note
    assert {joblib.load(path)[0] for path in stored(cache)} == set(configs) - {configs[place]}
    configs[place] = None
    assert [r and r.config for r in error.value.results] == configs


def test_a_batch_that_cannot_be_drawn_costs_no_other_run(cache):
    base = alignment.Config(
        n=100, test=10, width=4, d=4, batch=10, steps=60, warmup=1, classes=2, compare="pair"
    )
    configs = [base.replace(seed=seed) for seed in (17, 0, 1, 2)]  # 17: a batch of one class
    with pytest.raises(ValueError, match="batch = 10 is not allowed") as error:
        sweep(alignment.run, configs)
    assert "seed=17" in error.value.__notes__[0] and len(stored(cache)) == 3


def always_fails(config):
    raise KeyError("crash")


def test_the_note_says_what_else_failed_and_what_is_stored(cache):
    configs = toys(3, 1)
    with pytest.raises(KeyError) as error:
        sweep(always_fails, configs, n_jobs=1)
    note = error.value.__notes__[-1]
    assert "of the 1 other runs 0 have finished (0 are stored" in note
    assert note.endswith("failed as well: Config()")
    shutil.rmtree(cache)
    cache.write_text("a file in the place of the folder")
    with pytest.raises(RuntimeError, match="crash") as error, pytest.warns(UserWarning):
        sweep(fails_at_three, configs, n_jobs=1)
    assert "1 have finished (0 are stored" in error.value.__notes__[-1]
    assert error.value.results[1].config == configs[1], "not stored, and not lost"


def dies_at_three(config):
    if config.a == 3.0:
        os._exit(1)
    return toy.run(config)


def test_a_process_that_dies_is_told_with_what_it_was_doing(cache):
    configs = toys(1, 2, 3, 4)
    with pytest.raises(Exception, match="(?i)terminated") as error:
        sweep(dies_at_three, configs, n_jobs=2)
    assert "Config(a=3.0)" in error.value.__notes__[-1]
    assert [r.config.a for r in sweep(dies_at_three, configs[:2], n_jobs=1)] == [1.0, 2.0]


@pytest.mark.parametrize("working", [True, False], ids=["at work", "while they start"])
def test_a_killed_sweep_leaves_no_processes_behind(tmp_path, working):
    """Kill the process that sweeps: those that it started end by themselves, long before joblib ends idle ones."""
    noted = tmp_path / "pids"
    noted.mkdir()
    swept = process(
        """
        import toy, test_sweep
        from clbook.results.sweep import sweep
        sweep(test_sweep.notes_its_process, [toy.Config(a=float(a)) for a in range(1, 5)], n_jobs=2)
        """,
        PIDS=str(noted),
    )
    begun = psutil.Process(swept.pid).children
    waited(lambda: len(list(noted.iterdir())) == 2 if working else len(begun()) > 3)
    pids = [each.pid for each in begun()]
    swept.kill()
    swept.wait()
    killed = time.monotonic()
    waited(lambda: not any(map(alive, pids)))
    assert len(pids) > 3 and time.monotonic() - killed < 200  # joblib takes 300 s


def waited(come):
    """Look for what is to come, as long as even a slow machine may take: some ten minutes."""
    for _ in range(6000):
        if come():
            return
        time.sleep(0.1)


def notes_its_process(config):
    pathlib.Path(os.environ["PIDS"], str(os.getpid())).touch()
    time.sleep(1200)  # longer than anybody waits


def alive(pid):
    status = pathlib.Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_runs_of_a_group_are_stored_as_they_end_not_with_the_group(cache):
    """A kill in the middle of a group keeps each run that had ended."""
    code = process("""
        import os, signal
        import toy_program
        from clbook.results import store
        from clbook.results.sweep import sweep
        save, ended = store.save, []
        def counted(path, config, result):
            save(path, config, result)
            ended.append(result)
            if len(ended) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
        store.save = counted
        sweep(toy_program.run, [toy_program.Config(end=e) for e in (2, 5, 0)], n_jobs=1)
    """).wait()
    ends = {joblib.load(path)[0].end for path in stored(cache)}
    assert code == -signal.SIGKILL and ends == {2, 5}


def slow(config):
    time.sleep(config.delay)
    return toy.run(config.replace(delay=0.0))


def test_a_cluster_runs_the_sweep_and_outlives_one_of_its_workers(cache):
    """Two worker processes; one is killed while runs are going: every run arrives, none is stored twice."""
    configs = toys(*range(1, 25), steps=3, delay=0.2)
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


def test_the_clock_of_a_bar_goes_on_while_a_part_is_at_work():
    """And ends with it, whether the part fails or not."""
    moved = threading.Event()
    with pytest.raises(KeyError), often(moved.set):
        assert moved.wait(60)
        raise KeyError
    assert not [thread for thread in threading.enumerate() if thread.name == "clbook bar"]


def test_no_bar_stands_in_a_built_page(monkeypatch, capfd):
    assert list(bar([1, 2])) == [1, 2]
    assert "step" in capfd.readouterr().err
    monkeypatch.setenv("CLBOOK_STATIC", "1")
    assert list(bar([1, 2])) == [1, 2]
    assert capfd.readouterr().err == ""
