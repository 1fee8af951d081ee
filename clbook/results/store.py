"""The store: one file a run in `cache_folder()`, for sweeps and live panels alike.

A result is found again only by the same settings, the same code, data files, versions and kind of device. A run that
cannot be told apart so is not stored: one that is defined in a notebook or a script, a lambda, a method of an object.
Nor is a run whose code has been edited since this process began, because the process may have imported the old code,
nor what a run returns that is no `Outcome`.

The files are pickles, and a pickle runs whatever code its author has put into it: the folder must be the reader's own,
not one that others can write to.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import torch
from filelock import FileLock, Timeout
from torch.types import Device

from clbook import environment
from clbook.data import written
from clbook.environment import cache_folder
from clbook.results import fingerprint, records
from clbook.training.loop import default_device, training_of, wanted
from clbook.training.settings import Outcome, Settings, fields


def path_of(run: Callable, config: Settings, device: Device = None) -> Path | None:
    """The file of the run of `config`, whether it is there or not; None where this run is not stored.

    A warning says which files of code have been edited.
    """
    kind: type = type(config)
    # The code of a notebook cell or of a lambda has no file whose text could be compared.
    if not all(map(fingerprint.importable, fingerprint.parts(run, kind))):
        return None
    sources = fingerprint.sources(run, kind)
    if run.__module__ not in sources:  # code without a file, such as Python's own `len`
        return None
    edited = fingerprint.edited(sources.values())
    if edited:
        _warn_of(tuple(edited))
        return None
    return cache_folder() / "runs" / f"{_key(run, config, default_device(device))}.pkl"


@functools.cache  # once for all runs
def _warn_of(edited: tuple[Path, ...]) -> None:
    warnings.warn(
        f"{', '.join(map(str, edited))} was edited after this process had begun, which may have imported what stood "
        "there before: runs that use it are neither stored nor taken from the store, until you restart",
        stacklevel=2,
    )


def _key(run: Callable, config: Settings, device) -> str:
    """Hash of all that the result of a run depends on.

    That is its code, the versions of what computes, the device, torch's default dtype, settings and data files.
    """
    kind: type = type(config)
    cuda = device.type == "cuda"
    # The words whose hash is the file's name: whatever changes one of them changes the name, and old files stay unread.
    text = [
        fingerprint.fingerprint(run, kind),
        fingerprint.versions(),
        torch.cuda.get_device_name(device) if cuda else device.type,
        str(torch.get_default_dtype()),
        # Runs that were shaken are others than those that were not.
        environment.shake(),
        [(name, getattr(config, name)) for name in fields(kind)],
    ]
    for item in config.files:
        # A data file by what is in it; another item, such as the name of a data set, by its words.
        is_file = isinstance(item, Path) and item.is_file()
        text.append(fingerprint.digest(item) if is_file else str(item))
    return hashlib.sha256(repr(text).encode()).hexdigest()[:40]


def asked(run: Callable, record: Sequence[str] | str) -> frozenset[str]:
    """What `record` asks of the runs; of a Training the quantities on request alone, since it records all others."""
    training = training_of(run)
    if training is not None:
        return wanted(training.Result, record)
    return frozenset([record] if isinstance(record, str) else record)


def load(
    run: Callable,
    config: Settings,
    path: Path | None,
    record: frozenset[str],
    device: Device = None,
) -> tuple:
    """The result of `config` in its file of the store or in a record of the book, and what a run of it has to record.

    The store comes first, then the records; they serve where runs are made unless another device is asked for. The
    result is None where neither has all of `record`. What they have is then recorded again.
    """
    if path is None:
        return None, record
    wanted = record
    here = default_device(device) == default_device()
    for look in (lambda: read(path, config), lambda: records.find(run, config) if here else None):
        result = look()
        if result is None:
            continue
        if all(hasattr(result, name) for name in record):
            return result, record
        # It lacks something, so it is made again, with all that it had: the new file takes its place.
        wanted = wanted | result.recorded
    return None, wanted


def read(file: Path, config: Settings | str, kind: type = Outcome) -> Any:
    """What `save` wrote of `config` into this file, of the type `kind`.

    None where there is no file, and, with a warning, where it cannot be read or holds something else. What is no run
    has a name in the place of its settings.
    """
    if not file.exists():
        return None
    try:
        # The settings are kept beside the result: a file that was renamed or copied here by hand is found out.
        whose, result = joblib.load(file)
        wrong = "" if whose == config else f"it holds another run, of {whose}"
        if not isinstance(result, kind):
            wrong = f"it holds a {type(result).__name__}, which is no {kind.__name__}"
    except Exception as error:  # a pickle can fail in any way
        wrong = f"{type(error).__name__} {error}"
    if wrong:
        warnings.warn(f"{file} cannot be used, so it is made again: {wrong}", stacklevel=3)
        return None
    return result


def save(path: Path | None, config: Settings | str, result: object) -> str:
    """Store the result of `config`, or what has this name.

    Returns why it could not be stored; "" where it was, or where `path` is None.
    """
    if path is None:
        return ""
    try:
        # `written` puts a file in its place once it is whole: a process that dies leaves no half of one.
        with written(path) as file:
            joblib.dump((config, result), file)
    except Exception as error:  # a full disk, a folder of others, a result that cannot be pickled
        return f"{type(error).__name__} {error} ({path})"
    return ""


@contextlib.contextmanager
def locked(path: Path | None, wait: bool = False) -> Iterator[bool]:
    """Meanwhile no other process makes the run whose file is `path`; gives False where another one does.

    The lock is the system's, on an empty file beside that of the run: it ends with the process that has it, also with
    one that is killed. A run that is not stored has none, nor has any where no file can be written: two processes may
    make it then.

    `wait`: until the other process is done with the run, or has ended.
    """
    if path is None:
        yield True
        return
    lock, free = FileLock(path.with_suffix(".lock"), blocking=wait), True
    try:
        lock.acquire()
    except Timeout:
        free = False
    except OSError:  # a full disk, a folder of others
        pass
    try:
        yield free
    finally:
        if lock.is_locked:
            with contextlib.suppress(OSError):  # Windows keeps a file that is open
                os.remove(lock.lock_file)
        lock.release()


def cached(
    run: Callable,
    config: Settings,
    *,
    progress: Callable | None = None,
    device: Device = None,
    record: Sequence[str] = (),
) -> Outcome:
    """`run(config)`, from store or records where it is there; what is not stopped is stored. What live panels call.

    Args:
        run: as for `sweep`.
        config, progress, device: as for `run`.
        record: names of the quantities that are wanted beside those that are always recorded.
    """
    path = path_of(run, config, device)
    found, record = load(run, config, path, asked(run, record), device)
    if found is not None:
        return found
    more = {"record": record} if record else {}
    result = run(config, progress=progress, device=device, **more)
    if not isinstance(result, Outcome):
        raise ValueError(
            f"run returned a {type(result).__name__}: it must return an Outcome, as Result is"
        )
    if not result.stopped and path == path_of(run, config, device):  # unless edited meanwhile
        failed = save(path, config, result)
        if failed:
            warnings.warn(f"the result is not stored: {failed}", stacklevel=2)
    return result
