"""Many settings, many results: grouped into programs, run in parallel, kept on disk; nothing finished is ever lost."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import os
import pathlib
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import joblib
import numpy as np
import torch
from joblib.parallel import get_active_backend
from tqdm.auto import tqdm

from clbook.data import cache_folder, written
from clbook.runs import default_device, gathered, grouped, one_thread, together
from clbook.settings import Outcome, Settings

MOST = 40  # runs in one program on a CPU: more do not lower the cost of each
PAYS = 0.85  # share of the time of two lone steps that a step of two runs may take, for a program of several to pay


@functools.cache
def _source(module: str):
    """(path, text, modules of the same package it imports) of `module`; None where it has no source file."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    text = pathlib.Path(spec.origin).read_text(encoding="utf-8")
    package, imported = module.split(".")[0], set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:  # relative: climb from this module's own package
                home = (spec.name if spec.submodule_search_locations else spec.parent).split(".")
                base = ".".join(home[: len(home) - node.level + 1] + ([base] if base else []))
            imported.add(base)
            imported.update(f"{base}.{alias.name}" for alias in node.names)
    return spec.origin, text, frozenset(name for name in imported if name.split(".")[0] == package)


def sources(run: Callable) -> dict[str, str]:
    """{module: text} of everything in its package that `run` depends on through imports, itself included.

    A function that lives in no importable module (one written in a notebook) counts with its own text.
    """
    found, waiting = {}, [run.__module__]
    while waiting:
        module = waiting.pop()
        if module not in found and (entry := _source(module)) is not None:
            found[module] = entry[1]
            waiting.extend(entry[2])
    return found or {run.__module__: inspect.getsource(run)}


def fingerprint(run: Callable, device=None) -> str:
    """Hash of what a result depends on beside its Config: sources of `run`, versions, device, shaking."""
    device = default_device(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    shake = os.environ.get("CLBOOK_SHAKE", "")
    digest = hashlib.sha256(
        f"{torch.__version__} {np.__version__} {name} {shake} {run.__qualname__}".encode()
    )
    for module, text in sorted(sources(run).items()):
        digest.update(f"\0{module}\0{text}".encode())
    return digest.hexdigest()


@functools.cache
def _content(path: str, size: int, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _identity(item):
    """What stands for one of `Settings.files` in a key: a file's content, or the item itself."""
    if isinstance(item, pathlib.Path) and item.is_file():
        stat = item.stat()
        return _content(str(item), stat.st_size, stat.st_mtime_ns)
    return str(item)


# The store: one file a run, for sweeps and live panels alike.


def place(key: str, config: Settings) -> pathlib.Path:
    """The file of the run of `config` by the function whose `fingerprint` is `key`; it follows the data files read."""
    files = [_identity(item) for item in getattr(config, "files", ())]
    return cache_folder() / "runs" / f"{joblib.hash((key, config, files))}.pkl"


def load(key: str, config: Settings) -> Outcome | None:
    """The stored result, or None."""
    path = place(key, config)
    return joblib.load(path) if path.exists() else None


def save(key: str, config: Settings, result: Outcome) -> None:
    """Store a result."""
    with written(place(key, config)) as file:
        joblib.dump(result, file)


def kept(
    run: Callable, config: Settings, *, progress: Callable | None = None, device=None
) -> Outcome:
    """`run(config)`, from the store where it is there; what is not stopped is stored. What live panels call.

    Of a function with `variants` each run is stored by itself, as `sweep` does.
    """

    def made():
        result = run(config, progress=progress, device=device)
        if not isinstance(result, Outcome):
            raise ValueError(
                f"run returned a {type(result).__name__}: it must return an Outcome, as Result is"
            )
        return result

    base, variants = getattr(run, "variants", (run, {}))
    if not importable(base):
        return made()
    key = fingerprint(base, device)
    configs = _variants(config, variants)
    found = {name: load(key, c) for name, c in configs.items()}
    if None in found.values():
        result = made()
        for part in result.runs.values() if variants else [result]:
            if not part.stopped:
                save(key, part.config, part)
        return result
    return gathered(config, found) if variants else found[None]


def _variants(config, variants) -> dict:
    """{name: the config of each named run}; {None: config} where there are no variants."""
    changes = variants(config) if callable(variants) else variants
    return {name: config.replace(**change) for name, change in changes.items()} or {None: config}


def importable(run: Callable) -> bool:
    """Whether `run` is a function of an importable module: only its sources, and so its results, can be told apart."""
    return getattr(run, "__module__", "__main__") != "__main__" and "<" not in getattr(
        run, "__qualname__", "<"
    )


def parallel(function: Callable, arguments: list[tuple], n_jobs: int | None = None) -> Iterator:
    """A generator of `function(*a) for a in arguments`, in order; by parallel processes where there is more than one.

    Args:
        arguments: a list of tuples. Arrays in them are copied to the processes, so that they can be written to there.
        n_jobs: processes; None takes what `joblib.parallel_config` says, else all cores.
    """
    jobs = 1 if len(arguments) < 2 else _jobs(n_jobs)
    pool = joblib.Parallel(n_jobs=jobs, return_as="generator", max_nbytes=None)
    return pool(joblib.delayed(function)(*a) for a in arguments)


def _jobs(n_jobs):
    if n_jobs is None and (n_jobs := get_active_backend()[1]) in (None, 1):
        return -1
    return n_jobs


def _pays(program, configs) -> bool:
    """Whether two runs in one program are cheaper than one after the other, measured: one run may fill a cache."""
    with one_thread():
        made = program(configs[:2]).to("cpu")

        def seconds(first, last):
            began = time.perf_counter()
            for t in range(first, last):
                made.now(t)
                made.advance(t)
            return time.perf_counter() - began

        seconds(0, 2)
        both = min(seconds(2, 4), seconds(4, 6))
        made.keep(torch.tensor([True, False]))
        seconds(6, 7)
        return both < PAYS * 2 * min(seconds(7, 9), seconds(9, 11))


def _tasks(run, configs, n_jobs):
    """Lists of configs, each a task of one process: those of one program where that pays, else single runs."""
    if not hasattr(run, "program"):
        return [[c] for c in dict.fromkeys(configs)]
    groups = grouped(configs)
    if default_device().type == "cuda":
        return groups
    jobs, tasks = joblib.effective_n_jobs(_jobs(n_jobs)), []
    share = (
        jobs if len(groups) < jobs else 1
    )  # processes that a group is shared out to: each costs a step's overhead
    for group in groups:
        count = len(group)
        if count > share and group[0].steps > 20 and _pays(run.program, group):
            count = share * -(-count // (share * MOST))  # as many runs in each program
        edges = [len(group) * k // count for k in range(count + 1)]
        tasks += [group[first:last] for first, last in pairwise(edges)]
    return tasks


def _finish(run, configs, key, compile=False):
    """[(config, Result or exception)] of one task; each run is stored as soon as it ends.

    Where a whole program fails, by a setting of one run or for want of memory, its runs are halved: only what fails
    alone has failed.
    """
    found = []

    def done(outcome):
        if not isinstance(outcome, Exception):
            save(key, outcome.config, outcome)
            found.append((outcome.config, outcome))

    try:
        if hasattr(run, "program"):
            return list(
                zip(
                    configs, together(run.program, configs, done=done, compile=compile), strict=True
                )
            )
        result = run(configs[0])
        save(key, configs[0], result)
        return [(configs[0], result)]
    except Exception as error:
        left = [c for c in configs if c not in dict(found)]
        if not isinstance(error, ValueError):
            error.add_note(traceback.format_exc())
        if len(left) == 1:
            return [*found, (left[0], error)]
        half = len(left) // 2
        return (
            found
            + _finish(run, left[:half], key, compile)
            + _finish(run, left[half:], key, compile)
        )


def sweep(
    run: Callable,
    configs: Iterable[Settings],
    progress: Callable | None = None,
    n_jobs: int | None = None,
    compile: bool = False,
) -> list:
    """`[run(config) for config in configs]`: from the store where possible, the rest in programs and in parallel.

    A run is stored as soon as it ends: an interrupted or failed sweep keeps what it has. A bar shows how far it is.

    Args:
        run: `run(config) -> Result`, a function defined at the top of a module or notebook. Its attribute `program`, a
            `runs.Program`, lets runs of one shape train as one tensor program: where that pays on a CPU, always on a
            GPU, where the sweep stays in this process. `variants`, a pair (run, {name: changes}), says that `run`
            gives the `runs.several` of these.
        configs: a list of settings; of none the results are [].
        progress: `progress(fraction, results_so_far)`; returning False ends the sweep, which then returns None for
            each run that has not finished.
        n_jobs: processes, as in `parallel`. A reader with a cluster writes
            `with joblib.parallel_config(backend="dask"):` around the call; a group of runs is then a task.
        compile: put each program through torch.compile.

    Returns:
        Results in the order of `configs`.

    Raises:
        ValueError: run or configs that are none.
        The error of the first run that failed, naming its config, when all others have finished and are stored.
    """
    if not callable(run) or "<" in getattr(run, "__qualname__", "<"):
        raise ValueError(
            f"run = {run!r} is not allowed: it must be a function that has a name (def run(config): ...) "
            "and stands at the top of a module or notebook, so that the store can tell it from others"
        )
    if not isinstance(configs, Iterable):
        given = configs.described() if isinstance(configs, Settings) else repr(configs)
        raise ValueError(
            f"configs = {given} is not allowed: it must be a list of settings, such as [Config()]"
        )
    configs = list(configs)
    if hasattr(run, "variants"):
        return _several(run, configs, progress, n_jobs, compile)
    key = fingerprint(run)
    results = {c: load(key, c) for c in dict.fromkeys(configs)}
    missing = [c for c, result in results.items() if result is None]
    tasks = _tasks(run, missing, n_jobs)
    n_jobs = 1 if default_device().type == "cuda" else n_jobs
    pool, failed = parallel(_finish, [(run, task, key, compile) for task in tasks], n_jobs), {}
    quiet = (
        len(missing) < 2 or os.environ.get("CLBOOK_STATIC") == "1"
    )  # a page keeps what is written while it is built
    try:
        with tqdm(total=len(missing), unit="run", leave=False, disable=quiet) as bar:
            for outcomes in pool:
                for config, outcome in outcomes:
                    if isinstance(outcome, Exception):
                        failed[config] = outcome
                        continue
                    results[config] = outcome
                    if not place(
                        key, config
                    ).exists():  # it was made on a machine with a store of its own
                        save(key, config, outcome)
                bar.update(len(outcomes))
                share = 1 - sum(r is None for r in results.values()) / max(len(missing), 1)
                if progress is not None and progress(share, [results[c] for c in configs]) is False:
                    return [results[c] for c in configs]
    finally:
        pool.close()
    for config, error in failed.items():
        whose = config.described() if hasattr(config, "described") else repr(config)
        error.add_note(f"in {whose}; all other runs are stored")
        raise error
    return [results[c] for c in configs]


def _several(run, configs, progress, n_jobs, compile):
    """`sweep` of a function with `variants`: all runs of all configs in one sweep, then gathered by name."""
    base, variants = run.variants
    made = {c: _variants(c, variants) for c in dict.fromkeys(configs)}

    def assembled(found):
        sets = {c: {name: found[part] for name, part in parts.items()} for c, parts in made.items()}
        return [None if None in sets[c].values() else gathered(c, sets[c]) for c in configs]

    flat = list(dict.fromkeys(part for parts in made.values() for part in parts.values()))

    def report(fraction, results):
        return progress(fraction, assembled(dict(zip(flat, results, strict=True))))

    results = sweep(base, flat, progress and report, n_jobs, compile)
    return assembled(dict(zip(flat, results, strict=True)))
