"""What a function computes, kept as a record: numbers, texts, arrays, and dictionaries, lists and tuples of these."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator

import numpy as np
import torch
import xarray

from clbook.results.labelled import put

STRUCTURE = "structure"  # the variable that says where in the whole each array stands


def packed(value) -> xarray.Dataset:
    """`value` as a Dataset: a variable for each array, named by the keys that lead to it; all else as JSON.

    A tuple becomes a list, a tensor an array.
    """
    found = xarray.Dataset()
    found[STRUCTURE] = ((), json.dumps(_pack(value, "value", found)))
    return found


def unpacked(found: xarray.Dataset):
    """What `packed` was given."""
    return _unpack(json.loads(found[STRUCTURE].item()), found)


def _pack(value, name: str, found: xarray.Dataset):
    """What JSON can hold of `value`; its arrays go into `found`."""
    if isinstance(value, torch.Tensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        put(found, name, [f"{name}_{axis}" for axis in range(value.ndim)], value)
        return {"array": name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        pairs = []
        for key, inner in value.items():
            pairs.append([repr(key), _pack(inner, f"{name} {key}".replace("/", "|"), found)])
        return {"pairs": pairs}
    if isinstance(value, (list, tuple)):
        shapes = {getattr(inner, "shape", ()) for inner in value}
        if len(shapes) == 1 and shapes != {()}:
            rows = np.stack([np.asarray(inner) for inner in value])
            return {"rows": _pack(rows, name, found)}
        return [_pack(inner, f"{name} {k}", found) for k, inner in enumerate(value)]
    return value


def _unpack(kept, found: xarray.Dataset):
    if isinstance(kept, list):
        return [_unpack(inner, found) for inner in kept]
    if not isinstance(kept, dict):
        return kept
    if "array" in kept:
        return found[kept["array"]].values
    if "rows" in kept:
        return list(_unpack(kept["rows"], found))
    whole = {}
    for key, inner in kept["pairs"]:
        whole[ast.literal_eval(key)] = _unpack(inner, found)
    return whole


def leaves(value, name: str = "value") -> Iterator[tuple[str, np.ndarray]]:
    """(name, array) of each array, number and text in `value`."""
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, (list, tuple)):
        inside = enumerate(value)
    else:
        yield name, np.asarray(value)
        return
    for key, inner in inside:
        yield from leaves(inner, f"{name} {key}")


def beginning(function, kept) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{name: (computed again, as kept)}; for the first seed alone, where the function takes `seeds`."""
    seeds = inspect.signature(function).parameters.get("seeds")
    again = function() if seeds is None else function(seeds=seeds.default[:1])
    before, found = dict(leaves(kept)), {}
    for name, array in leaves(again):
        found[name] = array, before[name][tuple(map(slice, array.shape))]
    return found
