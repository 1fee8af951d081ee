"""Runs that take longer than a build may: made once, and kept as a small file beside this one.

What was run for a record stands in a file `runs.py` of course or audit: its name, once, above the function that says
what is kept (`recorded`).

A record is an `xarray.Dataset` in a netCDF file that describes itself. Its axes and places have names, so that it is
read by them: `load("cs-heads").readout.sel(variant="regular", place="z")` holds that readout for each seed. Settings
that vary are coordinates, those that all runs share are attributes, and so is how it was made (`made_...`). When its
beginning was last repeated by the code of that day stands beside the records, in `checked.json`; a command writes it,
nobody by hand:

    python -m clbook_book.records                    what there is, and what has become of the code since
    python -m clbook_book.records NAME ...           make these
    python -m clbook_book.records --check [NAME ...] repeat the beginnings of these, or of all; notes which did
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import importlib
import inspect
import json
import platform
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import h5netcdf
import h5py
import numpy as np
import torch
import xarray
from xarray.backends import H5NetCDFStore

from clbook import environment
from clbook.data import written
from clbook.results import records as reading
from clbook.results.fingerprint import fingerprint, parts
from clbook.results.labelled import of_settings, padded, put
from clbook.results.labelled import words as words_of
from clbook.results.records import COMMAND, checked, load, made
from clbook.results.sweep import sweep
from clbook.training.loop import training_of
from clbook.training.settings import Outcome, Settings, on_request, quantities
from clbook_book.records import computed

PACKAGE = Path(__file__).parent.parent
SHAKEN = 30  # rounding enters at every step, a shake at the start alone
SHAKES = ("1e-6", "-1e-6", "5e-7")  # shares by which a start is changed, one after the other

VERSIONS = f"torch {torch.__version__}, NumPy {np.__version__}, Python {platform.python_version()}"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a record is made: `reduce(sweep(run, configs))`.

    Attributes:
        says: what the runs are.
        run, configs, record: as for `sweep`.
        reduce: from the list of Results to {name: array}; it takes Results of unequal length from runs that ended
            early (`labelled.padded` makes one array of them).
        curves: names of arrays (runs, ..., recorded times): a share `start` of their first run is what is repeated.
        axes: {name of an array: its axes, such as "run loss step"}. An array `steps` whose axis is "step" labels that
            axis. An array that is not named here has the axis "run", then NAME_0, NAME_1 ... `labelled.put` names them.
        labels: {axis: what stands at its places}, such as {"loss": ("dcl", "nscl")}.
        named: {name: a word for each run}, further coordinates along "run" beside the settings that vary.
        words: {name: its meaning} of arrays that are no quantity of a Result; `recorded` adds those that the docstring
            of its function tells, a line each.
        dims: settings and names, such as ("variant", "seed"), of whose values the runs are the grid, the last one
            fastest. They are axes of the record in place of "run". With none the axis "run" stays.
    """

    says: str
    run: Callable
    configs: Sequence[Settings]
    reduce: Callable[[list[Outcome]], dict[str, np.ndarray]]
    curves: tuple[str, ...] = ("loss",)
    start: float = 0.01
    record: tuple[str, ...] = ()
    axes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    labels: Mapping[str, Sequence] = dataclasses.field(default_factory=dict)
    named: Mapping[str, Sequence] = dataclasses.field(default_factory=dict)
    words: Mapping[str, str] = dataclasses.field(default_factory=dict)
    dims: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """Hash of the code that the runs depend on."""
        return fingerprint(self.run, type(self.configs[0]))


@dataclasses.dataclass(frozen=True)
class Computed:
    """How a record of what a function gives is made.

    Attributes:
        function: gives numbers, texts, arrays, or dictionaries, lists and tuples of these. Where it takes `seeds`, the
            first one alone is repeated as the record's beginning.
    """

    function: Callable
    configs = ()  # it has no settings

    @property
    def says(self) -> str:
        """What the function gives."""
        return summary_of(self.function)

    @property
    def code(self) -> str:
        """Hash of the code that the function depends on."""
        return fingerprint(self.function, Settings)


class fields:  # it is called like a function
    """A `reduce` that keeps what Results hold: arrays, numbers, texts, lists of texts, and arrays in dictionaries.

    `runs` gives them back, at the length that they had. Where all is kept, sweeps find the runs too.

    Args:
        without: names of what is left out.
        derived: name=function(result), kept besides.
    """

    def __init__(self, *without: str, **derived: Callable):
        self.without, self.derived = without, derived

    def __call__(self, results: list[Outcome]) -> dict[str, np.ndarray]:
        rows = [_quantities(result, self.without) for result in results]
        for row, result in zip(rows, results, strict=True):
            for name, function in self.derived.items():
                row[name] = np.asarray(function(result))
        found = {}
        for name in rows[0]:
            if all(name in row for row in rows):  # a run in the store may have more
                found |= _table(name, [row[name] for row in rows])
        return found

    def whole(self, kind: type) -> bool:
        """Whether all that every Result of this kind holds is kept, and nothing else has the name of a quantity."""
        always = quantities(kind).keys() - on_request(kind)
        return always.isdisjoint(self.without) and quantities(kind).keys().isdisjoint(self.derived)


def _quantities(result: Outcome, without: Sequence[str]) -> dict:
    """{name: array, number or None} of a Result; an entry of a dictionary is called name.key, a list name:lines."""
    found = {}
    for name in quantities(type(result)).keys() - set(without):
        value = vars(result).get(name)
        if isinstance(value, (list, tuple)):
            found[f"{name}:lines"] = np.array("\n".join(value))
        elif isinstance(value, str):
            found[name] = np.array(value)
        elif isinstance(value, dict) and not value:
            found[f"{name}:empty"] = np.array(0)
        elif isinstance(value, dict):
            found |= {f"{name}.{key}": entry for key, entry in value.items()}
        elif name in vars(result) and isinstance(value, (np.ndarray, int, float, type(None))):
            found[name] = value
    return found


def _table(name: str, values: list) -> dict[str, np.ndarray]:
    """A quantity of all runs; where their arrays are of unequal shape, the shapes are noted as name:length.

    Raises:
        ValueError: arrays with different numbers of axes.
    """
    if not all(isinstance(value, np.ndarray) for value in values):
        missing = [np.nan if value is None else value for value in values]
        whole = all(isinstance(value, (int, type(None))) for value in values)
        return {f"{name}:whole" if whole else name: np.array(missing, float)}
    axes = {value.ndim for value in values}
    if len(axes) > 1:
        raise ValueError(
            f"{name} is not allowed: its arrays have different numbers of axes, {axes}"
        )
    shapes = np.array([value.shape for value in values], int)
    table = np.zeros((len(values), *shapes.max(0)), np.result_type(*values))
    for run, value in enumerate(values):
        table[run, *map(slice, value.shape)] = value
    same = (shapes == shapes[0]).all()
    return {name: table} if same else {name: table, f"{name}:length": shapes}


def summary(record: xarray.Dataset) -> str:
    """How a record was made, in a line for a page. A record of computed values has no runs."""
    how = made(record)
    what = f"{record.config.size} runs" if "config" in record else "computed values"
    cost = f"{what}, {how['seconds']:,.0f} s on {how['device']} with {how['versions']}"
    return f"Record of {how['date']}: {how['says']}; {cost}; made by {how['command']}"


RECIPES: dict[str, Recipe | Computed] = {}  # of each record; `recorded` writes here


def recorded(
    name: str, run: Callable | None = None, configs=(), keep=None, seeds=(), **more
) -> Callable:
    """Decorator: the function below is what the record `name` keeps; its docstring begins with what that is.

    Without a run, the record keeps what the function computes. With one, it keeps the arrays {name: array} that the
    function makes of the Results of `sweep(run, configs)`. With `keep=fields(...)` it keeps these Results themselves,
    and the function says what is made of them when they are read.

    Called without arguments, the function gives what is in the record: its value, its Dataset, or what it makes of the
    Results. A process reads a record once. `function.recipe` is how it is made.

    Args:
        run, configs: as for `sweep`.
        seeds: each of the settings has each of these, seeds fastest. Of {variant: settings} the record then has the
            axes "variant" and "seed", of settings that stand in no list the axis "seed".
        more: what else a `Recipe` has.

    Raises:
        ValueError: there is a record of that name already.
    """

    if seeds and isinstance(configs, dict):
        variants = np.repeat([str(variant) for variant in configs], len(seeds))
        more |= {"named": {"variant": variants}, "dims": ("variant", "seed")}
        configs = configs.values()
    if isinstance(configs, Settings):
        more |= {"dims": ("seed",)}
        configs = [configs]
    if seeds:
        configs = [config.replace(seed=seed) for config in configs for seed in seeds]

    def register(function):
        if name in RECIPES:
            raise ValueError(
                f"name = {name!r} is not allowed: a record has it already, {RECIPES[name].says}"
            )
        if run is None:
            RECIPES[name] = Computed(function)
        else:
            says = summary_of(function)
            told = documented(function) | more.pop("words", {})
            RECIPES[name] = Recipe(says, run, tuple(configs), keep or function, words=told, **more)

        @functools.cache
        @functools.wraps(function)
        def read():
            if run is None:
                return value(name)
            return function(_runs(RECIPES[name], load(name))) if keep else load(name)

        read.recipe = RECIPES[name]
        return read

    return register


def over_time(results: list[Outcome], *names: str) -> dict[str, np.ndarray]:
    """{name: (runs, ..., T), float32} of quantities over time, NaN where a run had ended, and the recorded `steps`."""
    found = {"steps": max((result.steps for result in results), key=len)}
    for name in names:
        curves = [np.moveaxis(getattr(result, name), 0, -1) for result in results]
        found[name] = np.float32(padded(curves))
    return found


def grouped(runs: list, *settings: str) -> dict:
    """{values of these settings: the runs with them}; of one setting its value alone."""
    found = {}
    for run in runs:
        key, *others = (getattr(run.config, setting) for setting in settings)
        found.setdefault((key, *others) if others else key, []).append(run)
    return found


def by_name(names, runs: list) -> dict:
    """{name: its runs}, equally many of each, one name after the other."""
    size = len(runs) // len(names)
    return {name: runs[k * size : (k + 1) * size] for k, name in enumerate(names)}


def summary_of(function: Callable) -> str:
    """The first sentence of a function's docstring, in one line; "" where it has none."""
    first, *_ = (inspect.getdoc(function) or "").partition("\n\n")
    return " ".join(first.split()).removesuffix(".")


def documented(thing: Callable) -> dict[str, str]:
    """{name: meaning} of what the docstring of a function or class tells in lines such as `    a, b (T,): meaning.`"""
    line = r"^    ([\w, ]+)(?: \(.*?\))?: (.+(?:\n {8}.+)*)"
    told = re.findall(line, inspect.getdoc(thing) or "", re.MULTILINE)
    return {
        name: " ".join(text.split()).removesuffix(".")
        for names, text in told
        for name in names.split(", ")
    }


@functools.cache
def recipes() -> dict[str, Recipe | Computed]:
    """All recipes: those of the files `runs.py` of course and audit."""
    for path in sorted(PACKAGE.glob("*/*/runs.py")):
        *_, folder, room = path.parent.parts
        importlib.import_module(f"clbook_book.{folder}.{room}.runs")
    return RECIPES


# Where and when something is computed.


def processor() -> str:
    """The kind of processor, and not its name alone: another one may round differently."""
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor()
    first = cpuinfo.read_text().partition("\n\n")[0]
    what = r"^(cpu family|model|model name|stepping|cache size)\s*: (.*)"
    told = re.findall(what, first, re.MULTILINE)
    return ", ".join(f"{name} {value}" for name, value in told)


def device_name(device: str) -> str:
    """What a device is called: "cpu", or a GPU's own name, since another one may round differently."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def commit() -> str:
    """The commit of the code, with a + where files have changed since; "" outside a checkout."""
    command = ["git", "-C", str(PACKAGE), "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def now() -> dict[str, str]:
    """Commit, date, versions, processor and threads of this moment."""
    return {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "versions": VERSIONS,
        "processor": processor(),
        "threads": str(torch.get_num_threads()),  # sums are rounded in their order
    }


# Making, writing and reading.


def of_runs(recipe: Recipe) -> xarray.Dataset:
    """The settings of a recipe's runs and the words for them, along the axis "run"."""
    found = of_settings(recipe.configs)
    found.coords["config"] = ("run", [config.described() for config in recipe.configs])
    for name, words in recipe.named.items():
        found.coords[name] = ("run", np.asarray(words))
    return found


def labelled(recipe: Recipe, results: list[Outcome]) -> xarray.Dataset:
    """What the recipe keeps of its runs' results, with names of axes, and the settings of the runs."""
    found = of_runs(recipe)
    for name, array in recipe.reduce(results).items():
        if name in recipe.axes:
            axes = recipe.axes[name].split()
        else:
            axes = ["run", *(f"{name}_{k}" for k in range(np.ndim(array) - 1))]
        put(found, name, axes, np.asarray(array))
    for axis, words in recipe.labels.items():
        found.coords[axis] = (axis, np.asarray(words))
    for name, value in found.attrs.items():
        # netCDF has no truth values and no sequences of settings.
        found.attrs[name] = str(value) if isinstance(value, (bool, tuple)) else value
    if isinstance(recipe.reduce, fields) and recipe.reduce.whole(type(results[0])):
        first, *_ = parts(recipe.run, type(recipe.configs[0]))
        found.attrs["runs_of"] = f"{first.__module__}.{first.__qualname__}"
    return grid(found, recipe.dims)


def grid(found: xarray.Dataset, dims: tuple[str, ...]) -> xarray.Dataset:
    """`found` with the axes `dims` in place of "run"; `Recipe.dims` says which."""
    if not dims:
        return found
    if len(dims) == 1:
        return found.swap_dims(run=dims[0])
    # xarray sorts what stands along an axis; the recipe's own order is kept.
    order = {name: list(dict.fromkeys(found[name].values)) for name in dims}
    return found.set_index(run=dims).unstack("run").reindex(order).transpose(*dims, ...)


def explain(found: xarray.Dataset, recipe: Recipe | Computed) -> None:
    """Give each variable of a record its meaning and unit, as the attributes `long_name` and `units`.

    Of a quantity its Result says them, of what `fields` derives the first sentence of its function, of other arrays
    the recipe. Of a computed value it is what the record is, and the keys that lead to the value.
    """
    meanings, settings = {}, {"config": {"long_name": "the settings of a run, in words"}}
    if isinstance(recipe, Recipe):
        kind = reading.result_of(recipe.run)
        derived = getattr(recipe.reduce, "derived", {})
        told = documented(kind) | recipe.words
        own = {name: field for name, field in quantities(kind).items() if field.metadata}
        done = {name: summary_of(function) for name, function in derived.items()}
        meanings |= {name: {"long_name": text} for name, text in told.items()}
        meanings |= {name: words_of(field) for name, field in own.items()}
        meanings |= {name: {"long_name": text} for name, text in done.items() if text}
        settings |= {field.name: words_of(field) for field in dataclasses.fields(recipe.configs[0])}
    for name, variable in found.variables.items():
        kept = re.match(r"(recorded_)?(\w*)", name)[2]  # of NAME.KEY and NAME:length, too
        if isinstance(recipe, Computed):
            variable.attrs["long_name"] = f"{recipe.says}: {name}"
        elif name.endswith(":length"):
            variable.attrs["long_name"] = f"shape of {kept} in each run"
        else:
            # A quantity of a setting's name is called recorded_NAME, so that NAME is the setting.
            variable.attrs |= settings.get(name) or meanings.get(kept, {})


def write(name: str, found: xarray.Dataset) -> None:
    """Write the file of the record `name`, compressed; long texts are written as characters, which can be."""
    small = {"zlib": True, "complevel": 9, "shuffle": True}
    encoding = {}
    for key, variable in found.variables.items():
        if key.endswith(":lines"):
            encoding[key] = small | {"dtype": "S1"}
        elif variable.nbytes > 1000 and variable.dtype.kind not in "OU":
            encoding[key] = small
    path = reading.folder() / f"{name}.nc"
    # HDF5's layout since 1.10: a table takes two kilobytes less.
    with written(path) as file, h5netcdf.File(file.name, "w", libver="v110") as layout:
        found.dump_to_store(H5NetCDFStore(layout), encoding=encoding)


@reading.unused()  # or a record would be made of itself
def make(name: str) -> xarray.Dataset:
    """Run the recipe `name` and keep the record; runs that were made before are taken from the store."""
    if name not in (known := recipes()):
        raise ValueError(f"name = {name!r} is not allowed: the records are {', '.join(known)}")
    recipe = known[name]
    if isinstance(recipe, Computed):
        began = time.monotonic()  # not of this process alone: a sweep has others
        found = computed.packed(recipe.function())
        how = {"device": "cpu", "seconds": time.monotonic() - began}
    else:
        results = sweep(recipe.run, recipe.configs, record=recipe.record)
        found = labelled(recipe, results)
        seconds = sum(result.seconds for result in results)
        how = {"device": device_name(results[0].device), "seconds": seconds}
    command = f"{COMMAND} {name}"
    what = {"says": recipe.says, "command": command, "fingerprint": recipe.code}
    origin = now() | what | how
    found.attrs |= {f"made_{key}": value for key, value in origin.items()}
    explain(found, recipe)
    write(name, found)
    note(name)
    return load(name)


def value(name: str):
    """What the function gave of which `name` is the record."""
    return computed.unpacked(load(name))


def runs(name: str) -> list:
    """Of each run of the record `name`, which was made with `fields`: its Result, as far as the record keeps it.

    Of a function that is no Training's `run`, and does not say what it returns, they are plain objects.
    """
    return _runs(recipes()[name], load(name))


def _runs(recipe: Recipe, record: xarray.Dataset) -> list:
    kind, found = reading.result_of(recipe.run), []
    for place, config in enumerate(recipe.configs):
        found.append(kind.__new__(kind))
        vars(found[-1]).update(reading.run_of(record, place), config=config)
    return found


# What has become of the code since.


def state(name: str) -> str:
    """Whether the record `name` is what the code gives now, in words."""
    recipe, path = recipes()[name], reading.folder() / f"{name}.nc"
    if not path.exists():
        return "not made yet"
    with h5py.File(path) as file:  # a build asks this of all records: they are not read as a whole
        made_by = file.attrs["made_fingerprint"]
        kept = list(file["config"].asstr()[()].ravel()) if "config" in file else []
    last = checked().get(name, {})
    settings = [config.described() for config in recipe.configs]
    if settings != kept:
        return "of other settings"
    if made_by == recipe.code:
        return "as the code makes it"
    if last.get("fingerprint") == recipe.code:
        return f"its beginning repeats at {last['commit']}"
    return "older than the code"


def older(name: str) -> bool:
    """Whether settings or code have changed since the record was made, and its beginning not been repeated."""
    return state(name) in ("of other settings", "older than the code")


@reading.unused()  # what is repeated is trained
def beginning(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{curve: (made again now, as recorded)}: the first recorded times of the record's first run."""
    recipe, record = recipes()[name], load(name)
    if isinstance(recipe, Computed):
        return computed.beginning(recipe.function, computed.unpacked(record))
    more = {"record": recipe.record} if recipe.record else {}
    again = recipe.run(
        recipe.configs[0], progress=lambda fraction, partial: fraction < recipe.start, **more
    )
    arrays, found = recipe.reduce([again]), {}
    first = dict.fromkeys(recipe.dims or ("run",), 0)
    for curve in recipe.curves:
        # As in `labelled.put`, a curve that has the name of a setting is called recorded_NAME.
        name = f"recorded_{curve}" if f"recorded_{curve}" in record else curve
        kept = record[name].isel(first).values
        array = np.asarray(arrays[curve])[0].astype(kept.dtype)
        found[curve] = array, kept[..., : array.shape[-1]]
    return found


def differences(name: str) -> list[str]:
    """The curves of the record `name` whose beginning the code does not repeat, each with how far it is off.

    By the code, on the versions, the processor and as many threads as made the record, all recorded times of the
    beginning are compared, otherwise the first two. There they have the same bits if the run was trained alone. Beside
    others, and elsewhere, sums are rounded otherwise: the times agree to 1e-4, computed values to 2 %, or where
    training makes rounding grow they are no farther off than `grown` allows.
    """
    here = now() | {"fingerprint": recipes()[name].code}
    before = made(load(name))
    then = {"threads": here["threads"]} | before  # older records do not say how many
    same = all(
        then[key] == here[key] for key in ("versions", "processor", "threads", "fingerprint")
    )
    if isinstance(recipes()[name], Computed):
        return _off(beginning(name), same)
    alone = same and _alone(recipes()[name])
    close = {"rtol": 0.0, "atol": 0.0} if alone else {"rtol": 1e-4, "atol": 1e-5}
    wrong = []
    times = None if same else 2  # all of them, or the first two
    shaken = functools.cache(functools.partial(_shaken, name))
    for curve, (again, whole) in beginning(name).items():
        too_short = again.shape[-1] < 2 and recipes()[name].start < 1.0
        if again.shape != whole.shape or too_short:
            wrong.append(f"{curve}: shape {again.shape} instead of {whole.shape}")
            continue
        again, kept = again[..., :times], whole[..., :times]
        if np.allclose(again, kept, equal_nan=True, **close):
            continue
        off = np.where(np.isnan(again) & np.isnan(kept), 0.0, abs(again - kept)).max()
        allowed = 0.0
        for shake in () if alone else SHAKES:
            other = shaken(shake)[curve][0][..., : again.shape[-1]]
            allowed = max(allowed, grown(other, again[..., : other.shape[-1]], whole))
            if off <= allowed:
                break
        if not off <= allowed:  # NaN where one of them has no number
            wrong.append(f"{curve}: off by {off:.3g}, and {allowed:.3g} is allowed")
    return wrong


def _alone(recipe: Recipe) -> bool:
    """Whether the first run was trained alone: beside runs of its program it comes out the same up to rounding."""
    training = training_of(recipe.run)
    if training is None or training.beside == 1:
        return True
    program = recipe.configs[0].program
    return all(config.program != program for config in recipe.configs[1:])


def grown(shaken, again, whole) -> float:
    """How far rounding may lead: `SHAKEN` times as far as a changed start (`SHAKES`), and 2 %.

    Where that start alone leads farther than 2 %, twice as far as it does.

    Args:
        shaken: numbers that come of the changed start. again: of the unchanged one. whole: all that was recorded.
    """
    moved = np.nanmax(abs(shaken - again))
    return min(SHAKEN * moved, max(0.02 * np.nanmax(abs(whole)), 2 * moved))


def _off(parts: dict, same: bool) -> list[str]:
    """Which parts of what a function gives differ: at all, or by more than 2 % of the largest number there.

    Where a function looks for an optimum that is flat, another processor or number of threads ends up to 1.5 % from it.
    """
    wrong = []
    for name, (again, kept) in parts.items():
        if again.dtype.kind not in "iuf":
            if not np.array_equal(again, kept):
                wrong.append(f"{name}: other values")
            continue
        largest = np.nanmax(abs(np.where(np.isfinite(kept), kept, 0)), initial=0.0)
        allowed = 0.0 if same else 0.02 * largest + 1e-5
        if not np.allclose(again, kept, rtol=0.0, atol=allowed, equal_nan=True):
            wrong.append(f"{name}: {again} instead of {kept}")
    return wrong


def _shaken(name: str, shake: str) -> dict:
    """`beginning` from a start that is changed by a share `shake`."""
    environment.set_shake(shake)
    try:
        return beginning(name)
    finally:
        environment.set_shake("")


def check(name: str) -> list[str]:
    """`differences` of the record `name`; where there are none, that is written down."""
    wrong = differences(name)
    if not wrong:
        note(name)
    return wrong


def note(name: str) -> None:
    """Write down that the beginning of the record `name` is what the code of now gives."""
    path = reading.folder() / "checked.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    known[name] = now() | {"fingerprint": recipes()[name].code}
    text = json.dumps(known, indent=1, sort_keys=True)
    with written(path) as file:
        file.write(f"{text}\n".encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: see the module's docstring. Returns how many beginnings were not repeated."""
    parser = argparse.ArgumentParser(prog=COMMAND)
    parser.add_argument("names", nargs="*", help="records to make; none: list all, and their state")
    parser.add_argument("--check", action="store_true", help="repeat beginnings instead")
    asked = parser.parse_args(arguments)
    failed = 0
    for name in asked.names or recipes():
        if asked.check:
            wrong = check(name)
            failed += bool(wrong)
            print(f"{name:24} {'; '.join(wrong) or 'repeats'}", flush=True)
        elif asked.names:
            print(summary(make(name)), flush=True)
        else:
            print(f"{name:24} {state(name):36} {recipes()[name].says}")
    return failed
