"""Many settings, many results: run in parallel, cached on disk, nothing finished is ever lost."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import os
import pathlib

import joblib
import torch
from joblib.parallel import get_active_backend
from tqdm.auto import tqdm

from clbook.data import cache_folder
from clbook.runs import default_device

LEAST = 8  # runs in one program that are worth another process: a program's cost hardly depends on how many it holds


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


def sources(run) -> dict[str, str]:
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


def fingerprint(run) -> str:
    """Hash of what a result depends on beside its Config: sources of `run`, versions of torch and numpy, the device.

    joblib.Memory by itself sees an edit of the function it caches, not of what that function calls.
    """
    device = default_device()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    digest = hashlib.sha256(f"{torch.__version__} {name}".encode())
    for module, text in sorted(sources(run).items()):
        digest.update(f"\0{module}\0{text}".encode())
    return digest.hexdigest()


def _call(run, config, key, result=None):
    """One run. `key` is the fingerprint: it is here only to be part of the cache's key; `result` is not part of it."""
    return run(config) if result is None else result


def _together(call, run, configs, key):
    """Results of `configs`, computed by `run.together` in one program and kept one by one."""
    return [call(run, config, key, result) for config, result in zip(configs, run.together(configs))]


def parallel(function, arguments, n_jobs=None):
    """A generator of `function(*a) for a in arguments`, in order; by parallel processes where there is more than one.

    Args:
        arguments: a list of tuples. Arrays in them are copied to the processes, so that they can be written to there.
        n_jobs: processes; None takes what `joblib.parallel_config` says, else all cores.
    """
    if n_jobs is None:
        n_jobs = get_active_backend()[1]
        n_jobs = -1 if n_jobs in (None, 1) else n_jobs
    pool = joblib.Parallel(n_jobs=1 if len(arguments) < 2 else n_jobs, return_as="generator", max_nbytes=None)
    return pool(joblib.delayed(function)(*a) for a in arguments)


def sweep(run, configs, progress=None, n_jobs=None):
    """`[run(config) for config in configs]`, from the cache where possible, the rest in parallel.

    Results are stored one by one as they finish, each file written under another name and then renamed: an interrupted
    or failed sweep keeps every finished run and leaves no half-written file. A bar shows how far it is.

    Args:
        run: `run(config) -> Result`, a function of an importable module (or of a notebook). Where it has an attribute
            `together`, a function from a list of configs to their results in one program, that is used instead.
        configs: frozen dataclasses.
        progress: `progress(fraction, results_so_far)`; returning False ends the sweep, which then returns None for
            each run that has not finished.
        n_jobs: processes, as in `parallel`. A reader with a cluster writes
            `with joblib.parallel_config(backend="dask"):` around the call.

    Returns:
        Results in the order of `configs`.
    """
    configs = list(configs)
    memory = joblib.Memory(cache_folder(), verbose=0)
    call, key = memory.cache(_call, ignore=["result"]), fingerprint(run)
    results = [call(run, c, key) if call.check_call_in_cache(run, c, key) else None for c in configs]
    missing = list(dict.fromkeys(c for c, result in zip(configs, results) if result is None))
    if hasattr(run, "together"):  # one program a process; it keeps its results when all of its runs are done
        count = min(joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs), len(missing) // LEAST or 1)
        edges = [len(missing) * i // count for i in range(count + 1)]  # neighbours stay together: they are often of one shape
        parts = [missing[a:b] for a, b in zip(edges, edges[1:]) if a < b]
        missing, pool = sum(parts, []), parallel(_together, [(call, run, part, key) for part in parts], n_jobs)
        done = (result for part in pool for result in part)
    else:
        done = pool = parallel(call, [(run, config, key) for config in missing], n_jobs)
    quiet = len(missing) < 2 or os.environ.get("CLBOOK_STATIC") == "1"  # a page keeps what is written while it is built
    try:
        with tqdm(total=len(missing), unit="run", leave=False, disable=quiet) as bar:
            for finished, (config, result) in enumerate(zip(missing, done), 1):
                results = [result if c == config else r for c, r in zip(configs, results)]
                bar.update()
                if progress is not None and progress(finished / len(missing), results) is False:
                    break
    finally:
        pool.close()
    return results
