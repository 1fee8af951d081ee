"""Results as labelled arrays: an `xarray.Dataset` whose axes have names and whose coordinates are settings."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import xarray

from clbook.settings import Outcome, Settings, fields

HEAD = {field.name for field in dataclasses.fields(Outcome)}  # config, seconds ...: no quantities


def dataset(
    results: Sequence[Outcome | None],
    dims: Sequence[str] = (),
    configs: Sequence[Settings] | None = None,
) -> xarray.Dataset:
    """The quantities of many runs as one Dataset.

    A quantity has the axes of the runs first, then its own. Their names are those that its `settings.quantity` gives;
    where it gives none, axis k is called QUANTITY_k. Where a run has no number there is NaN: after the end of a run
    that is shorter than others, for None, for what was not recorded. Quantities that are no arrays are left out.

    A quantity that has the name of a setting is called recorded_NAME. If all runs were recorded at the same `steps`, or
    a beginning of them, these label the axis `step`; else `recorded_steps` is a coordinate that each run has.

    Args:
        results: Results of one kind; None for a run that has not finished.
        dims: names of settings. The results are those of the grid of their values, the last one fastest. With none the
            runs have one axis, "run", and each setting that varies is a coordinate along it.
        configs: the settings of the results; needed where a result is None.

    Returns:
        The Dataset. Quantities and coordinates have attributes `long_name`, their meaning, and `units`. Its own
        attributes are the settings that all runs share.

    Raises:
        ValueError: the results are not the grid of `dims`; a quantity has other axes than it names.
    """
    if configs is None:
        configs = [result.config for result in results]
    found = xarray.Dataset(coords=coordinates(configs, dims))
    axes = tuple(dims) or ("run",)
    shape = tuple(found.sizes[name] for name in dims) or (len(configs),)
    for field in quantities(results):
        name = field.name
        values = [getattr(result, name, None) for result in results]
        table = padded(values)
        if table.dtype == object:
            continue
        own = _own_axes(field, table.ndim - 1)
        common = _common(table) if name == "steps" else None
        if common is not None:
            found.coords[own[0]] = (own, common, words(field))
        else:
            table = table.reshape(shape + table.shape[1:])
            name = "recorded_steps" if name == "steps" else free(name, configs)
            found[name] = (axes + own, table, words(field))
    if "recorded_steps" in found:
        found = found.set_coords("recorded_steps")
    for name in fields(type(configs[0])):
        if name not in found.coords:
            found.attrs[name] = getattr(configs[0], name)
    return found


def free(name: str, configs: Sequence[Settings]) -> str:
    """What the quantity `name` is called beside the settings."""
    return f"recorded_{name}" if name in fields(type(configs[0])) else name


def quantities(results: Sequence[Outcome | None]) -> list[dataclasses.Field]:
    """The fields of the Results' class that one of them has, but for those of every Outcome."""
    there = [result for result in results if result is not None]
    found = []
    for field in dataclasses.fields(type(there[0])) if there else ():
        if field.name not in HEAD and any(hasattr(result, field.name) for result in there):
            found.append(field)
    return found


def coordinates(configs: Sequence[Settings], dims: Sequence[str] = ()) -> dict:
    """{setting: its values along the axes of the runs}; arguments and errors as for `dataset`."""
    found = {}
    for name, field in fields(type(configs[0])).items():
        column = [getattr(config, name) for config in configs]
        values = list(dict.fromkeys(column))  # in the order in which they come
        if name in dims:
            found[name] = (name, _plain(values), words(field))
        elif not dims and len(values) > 1:
            found[name] = ("run", _plain(column), words(field))
    _check_grid(configs, dims)
    return {name: found[name] for name in dims or found}


def _check_grid(configs: Sequence[Settings], dims: Sequence[str]) -> None:
    columns = []
    for name in dims:
        columns.append([getattr(config, name) for config in configs])
    grid = itertools.product(*map(dict.fromkeys, columns))
    if dims and list(zip(*columns, strict=True)) != list(grid):
        raise ValueError(
            f"dims = {tuple(dims)} is not allowed: dims must be settings of whose values, each once, the runs are the "
            "grid, the last setting fastest"
        )


def _plain(values: list) -> list:
    """Values of a setting as an array takes them: a tuple of numbers is one text."""
    return [str(value) if isinstance(value, tuple) else value for value in values]


def words(field: dataclasses.Field) -> dict[str, str]:
    """Meaning and unit of a setting or quantity, by the names that xarray's pictures read."""
    found = {"long_name": field.metadata.get("doc"), "units": field.metadata.get("unit")}
    return {name: text for name, text in found.items() if text}


def _own_axes(field: dataclasses.Field, count: int) -> tuple[str, ...]:
    names = field.metadata.get("dims")
    if names is None:
        names = tuple(f"{field.name}_{k}" for k in range(count))
    if len(names) != count:
        raise ValueError(
            f"dims = {' '.join(names)!r} is not allowed: {field.name} of these runs has {count} axes"
        )
    return tuple(names)


def _common(table: np.ndarray) -> np.ndarray | None:
    """The longest row (T,) of `table` (R, T), if all others are a beginning of it."""
    longest = table[np.argmin(np.isnan(table).sum(1))]
    same = (table == longest) | np.isnan(table)
    return longest if same.all() else None


def padded(values: Sequence) -> np.ndarray:
    """(R, ...) R arrays of unequal lengths as one: shorter ones end in NaN, or in "" if they hold texts.

    None stands for an array of NaN. Whole numbers and truth values become floating point numbers where one is missing.
    """
    arrays = [None if value is None else np.asarray(value) for value in values]
    there = [array for array in arrays if array is not None]
    if not there:
        return np.full(len(arrays), np.nan)
    shape = tuple(np.max([array.shape for array in there], axis=0).astype(int))
    dtype = np.result_type(*there)
    if len(there) == len(arrays) and all(array.shape == shape for array in there):
        return np.array(arrays, dtype)

    if dtype.kind in "biu":
        dtype = np.dtype(float)
    missing = "" if dtype.kind == "U" else np.nan
    table = np.full((len(arrays), *shape), missing, dtype)
    for k, array in enumerate(arrays):
        if array is not None:
            corner = tuple(slice(length) for length in array.shape)
            table[(k, *corner)] = array
    return table
