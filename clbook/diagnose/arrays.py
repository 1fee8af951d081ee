"""What a report is given: arrays, tensors, or files of numbers. Nothing in a file is executed."""

from __future__ import annotations

import csv
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from clbook._arguments import array, error, reals, refused, shown

Rows = np.ndarray | torch.Tensor | Sequence | str | os.PathLike  # numbers, or a file of them
LARGEST = 2e9  # bytes of a file's arrays
ENDINGS = (".npz", ".npy", ".csv")
GROUPS = ("factors", "layers")  # in an .npz file their members are called "factors.NAME"
KNOWN = ("z1", "z2", "z", "labels", "before", "start", "checkpoint", "twin", "raw")


def read(name: str, path: str | os.PathLike) -> dict[str, np.ndarray]:
    """The arrays of a file: by their names in an .npz, as {"": array} from an .npy or a CSV.

    Args:
        name: of the argument, in a message.
        path: a file that ends in .npz, .npy or .csv. A CSV has a row a point and may have a line of names above.

    Raises:
        ValueError: no such file, another ending, one of more than 2 GB, pickled objects, words in a CSV.
    """
    path = Path(path).expanduser()
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise refused(name, str(path), f"a file that ends in {', '.join(ENDINGS)}")
    if not path.is_file():
        raise refused(name, str(path), "a file that exists")
    try:
        size = _size(path, ending)
    except (OSError, zipfile.BadZipFile) as damaged:
        raise refused(name, str(path), "an .npz file as numpy.savez writes it") from damaged
    if size > LARGEST:
        said = f"{path} of {size / 1e9:.1f} GB"
        raise error(name, said, f"a file of at most {LARGEST / 1e9:.0f} GB: take fewer rows")
    if ending == ".csv":
        return _numbers(name, path)
    try:
        loaded = np.load(path, allow_pickle=False)
        if ending == ".npy":
            return {"": loaded}
        with loaded:
            return dict(loaded)
    # A damaged or pickled file raises a dozen kinds of error, of zipfile, zlib, NumPy and Python.
    except Exception as problem:
        allowed = "a whole file, as NumPy writes it"
        if "pickle" in str(problem):
            allowed = "a file of plain numbers, not of pickled objects, which could run code"
        raise refused(name, str(path), f"{allowed} ({problem})") from problem


def _size(path, ending):
    """Bytes of a file's arrays, without reading them."""
    if ending != ".npz":
        return path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _numbers(name, path):
    """The numbers of a CSV: {"": (n, d)}, or (n,) of one column; {"z1": (n, d), "z2": ...} where its columns say so."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = [row for row in csv.reader(file) if row]
    names = []
    if rows and not _is_number(rows[0][0]):
        names = [cell.strip() for cell in rows.pop(0)]
    found = []
    for row in rows:
        wrong = [cell for cell in row if not _is_number(cell)]
        if wrong:
            said = f"{path} with the entry {wrong[0]!r} in row {len(found) + 1}"
            raise error(name, said, "a CSV of numbers, but for a line of names above them")
        found.append([float(cell) for cell in row])
    widths = {len(row) for row in found}
    if len(widths) != 1:
        said = f"{path} with rows of {sorted(widths)} entries"
        raise error(name, said, "a CSV of one row or more, all of one length")
    numbers = np.array(found)
    views = [column[:2] for column in names]
    if len(views) == numbers.shape[1] and set(views) == {"z1", "z2"}:
        first = np.array([view == "z1" for view in views])
        return {"z1": numbers[:, first], "z2": numbers[:, ~first]}
    return {"": numbers[:, 0] if numbers.shape[1] == 1 else numbers}


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def opened(name: str, value: Rows | Mapping):
    """An argument, or the one array of the file that it names."""
    if not isinstance(value, (str, os.PathLike)):
        return value
    found = read(name, value)
    if len(found) == 1:
        (only,) = found.values()
        return only
    if name not in found:
        said = f"{value} with the arrays {', '.join(found)}"
        raise error(name, said, f"a file with one array, or with one that is called {name}")
    return found[name]


def points(
    name: str,
    value: Rows,
    n: int | None = None,
    d: int | None = None,
    directions: bool = False,
) -> np.ndarray:
    """An argument as finite float64 points (n, d); images and the like are flattened.

    Args:
        name: of the argument.
        value: an array, a tensor, a sequence, or the path of a file.
        n: rows that it must have.
        d: columns that it must have.
        directions: whether each row needs a direction, and so must not be zero.

    Raises:
        ValueError: another shape, entries that are not finite, rows of zeros.
    """
    found = reals(name, opened(name, value))
    rows = "rows" if n is None else f"{n} rows, one for each row of z1"
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim == 0 or found.size == 0 or (n is not None and len(found) != n):
        raise refused(name, value, f"an array of numbers (n, d) with {rows}")
    found = found.reshape(len(found), -1)
    if d is not None and found.shape[1] != d:
        raise refused(
            name, value, f"of as many columns as z1, {d}: both are outputs of one network"
        )
    finite = np.isfinite(found)
    if not finite.all():
        count = finite.size - int(finite.sum())
        said = f"{shown(value)} with {count} of {finite.size} entries NaN or infinite"
        raise error(name, said, "an array of finite numbers")
    zero = int((~found.any(1)).sum())
    if directions and zero:
        said = f"{shown(value)} with {zero} rows of zeros"
        allowed = "free of them: they have no direction, as where a network's last layer has died"
        raise error(name, said, allowed)
    return found


def labels(value: Rows, n: int) -> np.ndarray:
    """The argument `labels` as an array (n,) of numbers or strings, of two classes or more.

    Raises:
        ValueError: another length, one class only, no labels.
    """
    found = array("labels", opened("labels", value))
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (n,):
        raise refused("labels", value, f"one label for each row of z1, ({n},)")
    if found.dtype.kind not in "biufU" or (found != found).any():
        raise refused("labels", value, "numbers or strings, none of them NaN")
    classes = len(np.unique(found))
    if classes < 2:
        raise error("labels", f"{shown(value)} of one class", "of two classes or more")
    if classes == n:
        said = f"{shown(value)} that are all different"
        raise error("labels", said, "classes, of which some have two points or more")
    return found


def factors(value: Rows | Mapping, n: int) -> dict[str, np.ndarray]:
    """The argument `factors` as {name: (n,)}: from a mapping, or from the columns of an array (n, k).

    Raises:
        ValueError: another number of rows, a factor that is constant or not finite.
    """
    given = opened("factors", value)
    if not isinstance(given, Mapping):
        table = points("factors", given, n)
        given = {f"factor {k + 1}": column for k, column in enumerate(table.T)}
    found = {}
    for name, column in given.items():
        whole = f"factors[{name!r}]"
        column = points(whole, column, n)
        if column.shape[1] != 1:
            raise refused(whole, given[name], f"one number for each row of z1, ({n},)")
        if np.ptp(column) == 0:
            raise error(whole, "constant", "a number that varies between the points")
        found[str(name)] = column[:, 0]
    return found


def layers(given: Mapping, n: int) -> dict[str, np.ndarray]:
    """The argument `layers` as {name: (n, d)}.

    Raises:
        ValueError: no mapping, another number of rows.
    """
    if not isinstance(given, Mapping):
        raise refused("layers", given, "a dictionary {name: array (n, d)}")
    return {str(name): points(f"layers[{name!r}]", rows, n) for name, rows in given.items()}


def from_file(path: str | os.PathLike) -> dict:
    """The arguments of `report` that one file holds.

    An .npz has z1, z2 and more by their names, a factor as "factors.NAME", a layer as "layers.NAME"; names that
    `report` does not know are left out. An .npy has both views, (2, n, d). A CSV has both where the names of its
    columns begin with z1 or z2.

    Raises:
        ValueError: a file without two views, or what `read` refuses.
    """
    found = read("z1", path)
    if "" in found and found[""].ndim == 3 and len(found[""]) == 2:
        found = dict(zip(("z1", "z2"), found[""], strict=True))
    if "z1" not in found or "z2" not in found:
        names = ", ".join(name or "one array" for name in found)
        said = f"{path} with {names}"
        allowed = (
            "an .npz file with the arrays z1 and z2, an .npy of shape (2, n, d), a CSV with columns that are called "
            "z1... and z2..., or come with a z2: one view has no partner"
        )
        raise error("z1", said, allowed)
    arguments: dict = {name: found[name] for name in KNOWN if name in found}
    for group in GROUPS:
        start = f"{group}."
        members = [name for name in found if name.startswith(start)]
        if members:
            arguments[group] = {name.removeprefix(start): found[name] for name in members}
    return arguments
