"""Runs that take longer than a build may: made once by `python -m clbook.records NAME`, kept as a small file in
`book/records`, with what it takes to make them again. A page says which of its numbers are a record's.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib
import json
import platform
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from clbook.data import written
from clbook.fingerprint import fingerprint
from clbook.settings import Outcome, Settings
from clbook.sweep import sweep

HERE = Path(__file__).parent
# Of the checkout; an installed package has the records in itself (see setup.py).
FOLDER = HERE / "kept" if (HERE / "kept").is_dir() else HERE.parent / "book/records"

VERSIONS = f"torch {torch.__version__}, NumPy {np.__version__}, Python {platform.python_version()}"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a record is made: `reduce(sweep(run, configs))`.

    says: what the runs are, one line. run, configs: as for `sweep`. reduce: from the list of Results to {name: array},
    the runs along the first axis; it takes Results of unequal length from runs that ended early.
    curves: names of arrays (runs, ..., recorded times): the tests repeat a share `start` of their first run.
    """

    says: str
    run: Callable
    configs: tuple[Settings, ...]
    reduce: Callable[[list[Outcome]], dict[str, np.ndarray]]
    curves: tuple[str, ...]
    start: float = 0.01


class Record(dict):
    """{name: array} of a record; `made` says how: says, command, settings, versions, device, seconds, date, sources."""

    def __init__(self, arrays: dict, made: dict):
        super().__init__(arrays)
        self.made = made

    def __repr__(self):
        made = self.made
        return (
            f"Record of {made['date']}: {made['says']}; {len(made['settings'])} runs, {made['seconds']:,.0f} s on "
            f"{made['device']} with {made['versions']}; made by {made['command']}"
        )


def recipes() -> dict[str, Recipe]:
    """All recipes: the dictionaries `RECIPES` in `clbook/experiments/<room>/recipes.py`."""
    found = {}
    for path in sorted((HERE / "experiments").glob("*/recipes.py")):
        found |= importlib.import_module(f"clbook.experiments.{path.parent.name}.recipes").RECIPES
    return found


def processor() -> str:
    """The kind of processor, and not its name alone: another one may round differently."""
    cpuinfo = Path("/proc/cpuinfo")
    first = cpuinfo.read_text().partition("\n\n")[0] if cpuinfo.exists() else ""
    told = re.findall(
        r"^(cpu family|model|model name|stepping|cache size)\s*: (.*)", first, re.MULTILINE
    )
    return ", ".join(f"{what} {value}" for what, value in told) or platform.processor()


def code_of(recipe: Recipe) -> str:
    """Hash of the code that a record's runs depend on."""
    return fingerprint(recipe.run, type(recipe.configs[0]))


def make(name: str) -> Record:
    """Run the recipe `name` and keep the record; runs that are in the store already are taken from it."""
    if name not in (known := recipes()):
        raise ValueError(f"name = {name!r} is not allowed: the records are {', '.join(known)}")
    recipe = known[name]
    results = sweep(recipe.run, recipe.configs)
    arrays = {key: np.asarray(value) for key, value in recipe.reduce(results).items()}
    made = {
        "says": recipe.says,
        "command": f"python -m clbook.records {name}",
        "versions": VERSIONS,
        "processor": processor(),
        "device": results[0].device,
        "sources": code_of(recipe),
        "settings": [config.described() for config in recipe.configs],
        "seconds": sum(result.seconds for result in results),
        "date": datetime.date.today().isoformat(),
    }
    with written(FOLDER / f"{name}.npz") as file:
        np.savez_compressed(file, made=json.dumps(made), **arrays)
    return load(name)


def load(name: str) -> Record:
    """The record `name`, as it was kept; ValueError where there is none."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise ValueError(
            f"name = {name!r} is not allowed: `python -m clbook.records {name}` makes the file {path}"
        )
    with np.load(path) as file:
        return Record(
            {key: file[key] for key in file.files if key != "made"}, json.loads(str(file["made"]))
        )


def older(name: str) -> bool:
    """Whether the sources or settings of a record's runs have changed since it was made."""
    recipe, made = recipes()[name], load(name).made
    settings = [config.described() for config in recipe.configs]
    return made["sources"] != code_of(recipe) or made["settings"] != settings


def beginning(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{curve: (made again now, as recorded)}: the first recorded times of the record's first run."""
    recipe, record = recipes()[name], load(name)
    again = recipe.run(
        recipe.configs[0], progress=lambda fraction, partial: fraction < recipe.start
    )
    found = {
        curve: np.asarray(array)
        for curve, array in recipe.reduce([again]).items()
        if curve in recipe.curves
    }
    return {
        curve: (array, record[curve][:1, ..., : array.shape[-1]]) for curve, array in found.items()
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m clbook.records", description=make.__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        help="records to make; none: list all, and which are older than the code",
    )
    for name in (asked := parser.parse_args().names):
        print(make(name))
    for name in () if asked else recipes():
        kept = (FOLDER / f"{name}.npz").exists()
        state = (
            "not made yet"
            if not kept
            else "older than the code"
            if older(name)
            else "as the code makes it"
        )
        print(f"{name:24} {state:24} {recipes()[name].says}")
