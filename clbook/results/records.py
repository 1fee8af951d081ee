"""Records: runs that took longer than a build may, each kept as a small file.

A record is an `xarray.Dataset` in a netCDF file that describes itself. Its axes and places have names, so that it is
read by them: `load("cs-heads").readout.sel(variant="regular", place="z")` holds that readout for each seed. Settings
that vary are coordinates, those that all runs share are attributes, and so is how it was made (`made_...`). Those of
the book come with its own package; `clbook_book.records` makes and checks them.

A record that keeps all that its runs recorded says so, by the attribute `runs_of`. Sweeps, explorers and live panels
find its runs here like those that were made on this machine (`find`).
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import functools
import importlib.util
import json
import typing
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import torch
import xarray

from clbook import environment
from clbook.results.fingerprint import fingerprint
from clbook.training.loop import training_of
from clbook.training.settings import Outcome, Settings, fields, on_request, quantities

COMMAND = "python -m clbook_book.records"  # makes and checks records
_used = ContextVar("used", default=True)  # whether `find` looks into records


def folder() -> Path:
    """Where records lie: in the book's own package; where that is not installed, in `records` where one stands.

    Examples:
        >>> folder().name
        'records'
    """
    book = importlib.util.find_spec("clbook_book")
    return Path(book.origin).parent / "records" if book and book.origin else Path("records")


def names() -> list[str]:
    """The records that there are, sorted; the part before the first dash is the paper or the page.

    Examples:
        >>> [name for name in names() if name.startswith("photographs-norms")]
        ['photographs-norms']
    """
    return sorted(path.stem for path in folder().glob("*.nc"))


def load(name: str) -> xarray.Dataset:
    """The record `name`, as it was kept. Its axes select: `record.cka.sel(loss="nscl", tau=0.1)`.

    Raises:
        ValueError: there is no such record.

    Examples:
        >>> readout = load("cs-heads").readout  # of the content, for four projectors
        >>> readout.dims
        ('variant', 'seed', 'place')
        >>> means = readout.mean("seed")
        >>> bool((means.sel(place="h") > means.sel(place="z")).all())  # the projector loses some
        True
    """
    path = folder() / f"{name}.nc"
    if not path.exists():
        near = " or ".join(difflib.get_close_matches(name, names())) or "one of records.names()"
        raise ValueError(f"name = {name!r} is not allowed: no such record; did you mean {near}?")
    return xarray.load_dataset(path, engine="h5netcdf")


def made(record: xarray.Dataset | str) -> dict:
    """How a record was made: says, command, versions, processor, device, seconds, date, commit, fingerprint.

    The command is today's: a file that is older holds that of its day.

    Args:
        record: what `load` gives, or its name.

    Raises:
        ValueError: there is no record of that name.

    Examples:
        >>> record = xarray.Dataset(attrs={"tau": 0.1, "made_device": "cpu", "made_seconds": 12.5})
        >>> made(record)
        {'device': 'cpu', 'seconds': 12.5}
    """
    if isinstance(record, str):
        record = load(record)
    found = {
        name.removeprefix("made_"): value
        for name, value in record.attrs.items()
        if name.startswith("made_")
    }
    if "command" in found:
        found["command"] = f"{COMMAND} {found['command'].rpartition(' ')[2]}"
    return found


# Runs out of records.


@contextlib.contextmanager
def unused(whether: bool = True) -> Iterator[None]:
    """While this is open no run is taken from a record; nothing changes where `whether` is False.

    Examples:
        >>> with unused():  # as a record is made: not of itself
        ...     in_use()
        False
        >>> in_use()
        True
    """
    token = _used.set(_used.get() and not whether)
    try:
        yield
    finally:
        _used.reset(token)


def in_use() -> bool:
    """Whether runs are taken from records now.

    Examples:
        >>> in_use()
        True
    """
    return _used.get()


def checked() -> dict[str, dict]:
    """{name: at which commit, date, versions, processor and fingerprint a record was made or repeated last}.

    They stand in the file `checked.json`; where that is damaged, a warning says so.

    Examples:
        >>> "date" in checked()["cs-heads"]
        True
    """
    return _read(_index, folder() / "checked.json") or {}


def find(run: Callable, config: Settings) -> Outcome | None:
    """The Result of `config`, where a record has it; None where it has to be trained.

    A record serves as long as the code of its run is that by which it was made, or by which its beginning was last
    repeated, on whatever versions and device that was. A run that is shaken, or not of single precision, is in none.
    What several records have of a run is put together. It took no seconds here, and says that it was made on the CPU.

    Args:
        run, config: as for `sweep`.

    Examples:
        >>> from clbook.experiments import separability
        >>> find(separability.run, separability.Config(eps=0.123)) is None  # in no record
        True
    """
    if not in_use() or environment.shake() or torch.get_default_dtype() != torch.float32:
        return None
    kind: type = type(config)
    found: dict = {}
    for name, last in checked().items():
        if last["fingerprint"] != fingerprint(run, kind):
            continue
        path = folder() / f"{name}.nc"
        if config.described() in (_read(_settings, path) or ()):
            record = _read(_whole, path)
            place = None if record is None else _place(record, config)
            found = found if place is None else run_of(record, place) | found
    # A function of which no record has a run is not asked what it returns.
    returned = result_of(run) if found else None
    if returned is None or quantities(returned).keys() - on_request(returned) - found.keys():
        return None
    result = returned.__new__(returned)
    # A copy, since the record serves again, and what is made of these arrays is the reader's own affair.
    own = copy.deepcopy(found)
    vars(result).update(own, config=config, seconds=0.0, device="cpu", stopped=False)
    return result


def result_of(run: Callable) -> Any:
    """The type of what `run` returns; of a function that does not say so, a plain object.

    Examples:
        >>> from clbook.experiments import separability
        >>> result_of(separability.run) is separability.Result
        True
    """
    training = training_of(run)
    if training is not None:
        return training.Result
    return typing.get_type_hints(run).get("return", SimpleNamespace)


def _read(read: Callable, path: Path):
    """`read(path, which)` of a file as it is now; None where there is none, or, with a warning, where it is damaged."""
    try:
        stat = path.stat()
        return read(path, (stat.st_mtime_ns, stat.st_ino))
    except FileNotFoundError:
        return None
    except Exception as error:  # HDF5 has errors of many kinds
        _warn_of(path, f"{type(error).__name__} {error}")
        return None


@functools.cache  # once for all runs
def _warn_of(path: Path, wrong: str) -> None:
    warnings.warn(
        f"{path} cannot be used, so the runs that it holds are made again: {wrong}. `git checkout {path}` brings it "
        "back, and so does installing the book's package anew",
        stacklevel=2,
    )


@functools.lru_cache(1)
def _index(path: Path, which: tuple) -> dict[str, dict]:
    return json.loads(path.read_text())


@functools.cache
def _settings(path: Path, which: tuple) -> list[str]:
    """The words for the settings of each run of a record of whole runs; none of another record."""
    with h5py.File(path) as file:  # to read it as a whole takes a hundred times as long
        return list(file["config"].asstr()[()]) if "runs_of" in file.attrs else []


@functools.lru_cache(16)  # as many as a page uses
def _whole(path: Path, which: tuple) -> xarray.Dataset:
    return xarray.load_dataset(path, engine="h5netcdf")


def _place(record: xarray.Dataset, config: Settings) -> int | None:
    """Where the run of `config` stands along the axis "run" of a record; None where it has none.

    A setting that is younger than the record had its default in it, so that the words for the settings are the same.
    """
    for place in np.flatnonzero(record.config.values == config.described()):
        kept = {name: column.values[place] for name, column in record.coords.items()}
        differ = False
        for name in fields(type(config)):
            value = getattr(config, name)
            # As texts, since netCDF has no truth values and no tuples.
            differ |= str((record.attrs | kept).get(name, value)) != str(value)
        if not differ:
            return int(place)
    return None


def run_of(record: xarray.Dataset, run: int) -> dict:
    """{name: value} of one run of a record that was made with `clbook_book.records.fields`.

    What netCDF has no way to keep has a mark behind its name: NAME:length are the shapes of arrays that are padded
    in the table of all runs, NAME:whole whole numbers or None, NAME:lines lists of texts, NAME:empty dictionaries
    without entries. NAME.KEY is an entry of a dictionary.

    Examples:
        >>> record = xarray.Dataset({"z": ("run", [0.5, 0.25]), "at:whole": ("run", [3.0, np.nan])})
        >>> run_of(record, 0)["at"], run_of(record, 1)["at"]
        (3, None)
    """
    found: dict = {}
    for key in (*record.data_vars, "recorded_steps"):
        if key not in record:
            continue
        # A quantity with the name of a setting is called recorded_NAME.
        name, _, mark = key.removeprefix("recorded_").partition(":")
        value = record[key].values[run]
        if mark == "length":
            continue
        if f"{name}:length" in record:
            # Older records say how long the first axis is, and no more.
            shape = np.atleast_1d(record[f"{name}:length"].values[run])
            value = value[tuple(map(slice, shape))]
        if mark == "empty":
            value = {}
        if mark == "lines":
            value = str(value).split("\n")
        if mark == "whole":
            value = None if np.isnan(value) else int(value)
        outer, _, inner = name.partition(".")
        if inner:
            found.setdefault(outer, {})[inner] = value
        else:
            found[outer] = value
    return found
