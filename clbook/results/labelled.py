"""Results as labelled arrays: an `xarray.Dataset` whose axes have names and whose coordinates are settings."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import xarray
from torch import is_tensor

from clbook.training.settings import Outcome, Settings, fields, quantities


def dataset(
    results: Sequence[Outcome | dict | None],
    configs: Sequence[Settings],
    dims: Sequence[str] = (),
) -> xarray.Dataset:
    """The quantities of many runs as one Dataset.

    A quantity has the axes of the runs first, then its own. Their names are those that its `settings.quantity` gives;
    where it gives none, axis k is called QUANTITY_k. Where a run has no number there is NaN: after the end of a run
    that is shorter than others, for None, for what was not recorded. Quantities that are no arrays are left out.

    A quantity that has the name of a setting is called recorded_NAME. If all runs were recorded at the same `steps`, or
    a beginning of them, these label the axis `step`; else `recorded_steps` is a coordinate that each run has.

    Args:
        results: Results of one kind, or dicts; None for a run that has not finished.
        configs: the settings of the results.
        dims: names of settings. The results are those of the grid of their values, the last one fastest. With none the
            runs have one axis, "run", and each setting that varies is a coordinate along it.

    Returns:
        The Dataset. Quantities and coordinates have attributes `long_name`, their meaning, and `units`. Its own
        attributes are the settings that all runs share.

    Raises:
        ValueError: the results are not the grid of `dims`; a quantity has other axes than it names.
    """
    named = [_named(result) for result in results]
    there = [result for result in named if result is not None]
    found = of_settings(configs, dims)
    runs = tuple(dims) or ("run",)
    shape = [found.sizes[name] for name in dims] or [len(configs)]
    if not there:
        return found
    for name, field in _quantities(there[0]).items():
        if not any(hasattr(result, name) for result in there):
            continue
        table = padded([getattr(result, name, None) for result in named])
        if table.dtype == object:
            continue
        axes = _own_axes(field, table.ndim - 1)
        common = _common(table) if name == "steps" else None
        if common is not None:
            put(found, name, axes, common, words(field))
        else:
            table = table.reshape(*shape, *table.shape[1:])
            put(found, name, runs + axes, table, words(field))
    return found


def _named(result):
    """A result whose numbers are attributes: of a dict, as a plain function gives, the entries, tensors as arrays."""
    if not isinstance(result, dict):
        return result
    arrays = {name: value.numpy(force=True) for name, value in result.items() if is_tensor(value)}
    return SimpleNamespace(**result | arrays)


def _quantities(result) -> dict:
    """{name: field} of what a result holds; of a dict the fields say nothing but their names."""
    if isinstance(result, SimpleNamespace):
        return {name: SimpleNamespace(name=name, metadata={}) for name in vars(result)}
    return quantities(type(result))


def of_settings(configs: Sequence[Settings], dims: Sequence[str] = ()) -> xarray.Dataset:
    """A Dataset of the runs' settings alone: coordinates those that vary, attributes those that all runs share.

    Arguments and errors are those of `dataset`.
    """
    known = fields(type(configs[0]))
    columns = {name: [getattr(config, name) for config in configs] for name in known}
    axes = {name: list(dict.fromkeys(columns[name])) for name in dims}  # in order of appearance
    points = zip(*(columns[name] for name in dims), strict=True)
    if dims and list(points) != list(itertools.product(*axes.values())):
        raise ValueError(
            f"dims = {tuple(dims)} is not allowed: dims must be settings of whose values, each once, the runs are the "
            "grid, the last setting fastest"
        )

    found = xarray.Dataset()
    for name, values in axes.items():
        found.coords[name] = (name, _plain(values), words(known[name]))
    for name, column in columns.items():
        if not dims and len(set(column)) > 1:
            found.coords[name] = ("run", _plain(column), words(known[name]))
        elif name not in dims:
            found.attrs[name] = column[0]
    return found


def _plain(values: list) -> list:
    """Values of a setting as an array takes them: a tuple of numbers is one text."""
    return [str(value) if isinstance(value, tuple) else value for value in values]


def put(
    found: xarray.Dataset,
    name: str,
    axes: Sequence[str],
    values: np.ndarray,
    attributes: dict | None = None,
) -> None:
    """Put the quantity `name` into `found`, beside the settings.

    One that has the name of a setting is called recorded_NAME. `steps` label the axis that is theirs alone; those that
    each run has of its own are the coordinate `recorded_steps`.
    """
    entry = (axes, values, attributes)
    if name == "steps" and len(axes) == 1:
        found.coords[axes[0]] = entry
    elif name == "steps":
        found.coords["recorded_steps"] = entry
    elif name in found.coords or name in found.attrs:
        found[f"recorded_{name}"] = entry
    else:
        found[name] = entry


def words(field: dataclasses.Field) -> dict[str, str]:
    """Meaning and unit of a setting or quantity, by the names that xarray's pictures read."""
    said = {"long_name": field.metadata.get("doc"), "units": field.metadata.get("unit")}
    return {name: text for name, text in said.items() if text}


def _own_axes(field: dataclasses.Field, count: int) -> tuple[str, ...]:
    names = field.metadata.get("dims")
    if names is None:
        return tuple(f"{field.name}_{k}" for k in range(count))
    if len(names) != count:
        raise ValueError(
            f"dims = {' '.join(names)!r} is not allowed: {field.name} of these runs has {count} axes"
        )
    return names


def _common(table: np.ndarray) -> np.ndarray | None:
    """The longest row (T,) of `table` (R, T), if all others are a beginning of it."""
    gone = np.isnan(table)
    longest = table[gone.sum(1).argmin()]
    return longest if ((table == longest) | gone).all() else None


def padded(values: Sequence) -> np.ndarray:
    """(R, ...) R arrays of unequal lengths as one: shorter ones end in NaN, or in "" if they hold texts.

    None stands for an array of NaN. Whole numbers and truth values become floating point numbers where one is missing.
    """
    there = [np.asarray(value) for value in values if value is not None]
    if not there:
        return np.full(len(values), np.nan)
    shapes = {array.shape for array in there}
    dtype = np.result_type(*there)
    missing = len(shapes) > 1 or len(there) < len(values)
    if missing and dtype.kind in "biu":
        dtype = np.dtype(float)

    longest = np.max(list(shapes), axis=0).astype(int)
    table = np.zeros((len(values), *longest), dtype)  # zero is "" where it is a text
    if missing and table.dtype.kind != "U":
        table[:] = np.nan
    for k, value in enumerate(values):
        if value is not None:
            corner: tuple = tuple(map(slice, np.shape(value)))
            table[(k, *corner)] = value
    return table
