"""The store: one file a run in `cache_folder()`, for sweeps and live panels alike.

A result is found again only by the same settings, the same code, data files, versions and kind of device. A run that
cannot be told apart so is not stored: one that is defined in a notebook or a script, a lambda, a method of an object.
Nor is a run whose code has been edited since this process began, because the process may have imported the old code.

The files are pickles, and a pickle runs whatever code its author has put into it: the folder must be the reader's own,
not one that others can write to.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import joblib
import torch

from clbook import fingerprint
from clbook.data import cache_folder, written
from clbook.runs import default_device, training_of
from clbook.settings import Outcome, Settings, fields


def path_of(run: Callable, config: Settings, device=None) -> Path | None:
    """The file of the run of `config`, whether it is there or not; None where this run is not stored.

    A warning says, once, which file of code has been edited.
    """
    kind = type(config)
    if not all(map(fingerprint.importable, fingerprint.parts(run, kind))):
        return None
    sources = fingerprint.sources(run, kind)
    if run.__module__ not in sources:  # code without a file, such as Python's own `len`
        return None
    edited = fingerprint.edited(sources.values())
    for path in edited:
        _warn_of(path)
    if edited:
        return None
    text = [
        fingerprint.fingerprint(run, kind),
        repr(fingerprint.versions()),
        _name(default_device(device)),
        os.environ.get("CLBOOK_SHAKE", ""),
        repr([(name, getattr(config, name)) for name in fields(kind)]),
    ]
    text += [_identity(item) for item in config.files]
    key = hashlib.sha256("\0".join(text).encode()).hexdigest()
    return cache_folder() / "runs" / f"{key[:40]}.pkl"


@functools.cache  # once a file
def _warn_of(path: Path) -> None:
    warnings.warn(
        f"{path} was edited after this process had begun, which may have imported what stood there before: runs that "
        "use it are neither stored nor taken from the store, until you restart",
        stacklevel=2,
    )


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _identity(item) -> str:
    """What stands for one of `Settings.files` in a key: a file's content, or the item itself."""
    if isinstance(item, Path) and item.is_file():
        return fingerprint.digest(item)
    return str(item)


def load(path: Path | None, config: Settings):
    """The result of `config` in a file of the store; None where there is none.

    A file that cannot be read, or that holds something else, counts as none; a warning names it.
    """
    if path is None or not path.exists():
        return None
    try:
        whose, result = joblib.load(path)
        if whose == config:
            return result
        wrong = f"it holds another run, of {whose}"
    except Exception as error:  # a pickle can fail in any way
        wrong = f"{type(error).__name__} {error}"
    warnings.warn(f"{path} cannot be used, so the run is made again: {wrong}", stacklevel=2)
    return None


def save(path: Path | None, config: Settings, result) -> str:
    """Store the result of `config`. Returns why it could not be stored; "" where it was, or where `path` is None."""
    if path is None:
        return ""
    try:
        with written(path) as file:
            joblib.dump((config, result), file)
    except Exception as error:  # a full disk, a folder of others, a result that cannot be pickled
        return f"{type(error).__name__} {error} ({path})"
    return ""


def asked(run: Callable, record: Sequence[str] | str) -> tuple[str, ...]:
    """`record` as a tuple of names; "all" are all quantities that a Training's Result has on request."""
    training = training_of(run)
    if record == "all" and training is not None:
        found = dataclasses.fields(training.Result)
        return tuple(field.name for field in found if field.metadata.get("asked"))
    return (record,) if isinstance(record, str) else tuple(record)


def holds(result, record: Sequence[str]) -> bool:
    """Whether a result has all quantities that `record` names."""
    return all(hasattr(result, name) for name in record)


def cached(
    run: Callable, config: Settings, *, progress: Callable | None = None, device=None, record=()
) -> Outcome:
    """`run(config)`, from the store where it is there; what is not stopped is stored. What live panels call.

    Args:
        run: as for `sweep`.
        config, progress, device: as for `run`.
        record: names of the quantities that are wanted beside those that are always recorded.
    """
    path, record = path_of(run, config, device), asked(run, record)
    found = load(path, config)
    if found is not None and holds(found, record):
        return found
    if found is not None:
        record = tuple({*record, *found.recorded})
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
