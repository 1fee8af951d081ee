"""Records: runs that took longer than a build may, each kept as a small file.

A record is an `xarray.Dataset` in a netCDF file that describes itself. Its axes and places have names, so that it is
read by them: `load("cs-heads").readout.sel(variant="regular", place="z")` holds that readout for each seed. Settings
that vary are coordinates, those that all runs share are attributes, and so is how it was made (`made_...`). Those of
the book come with its own package; `clbook_book.records` makes and checks them.
"""

from __future__ import annotations

import difflib
import importlib.util
from pathlib import Path

import xarray

COMMAND = "python -m clbook_book.records"  # makes and checks records


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


def made(record: xarray.Dataset) -> dict:
    """How a record was made: says, command, versions, processor, device, seconds, date, commit, fingerprint.

    The command is today's: a file that is older holds that of its day.

    Examples:
        >>> record = xarray.Dataset(attrs={"tau": 0.1, "made_device": "cpu", "made_seconds": 12.5})
        >>> made(record)
        {'device': 'cpu', 'seconds': 12.5}
    """
    found = {}
    for name, value in record.attrs.items():
        if name.startswith("made_"):
            found[name.removeprefix("made_")] = value
    if "command" in found:
        found["command"] = f"{COMMAND} {found['command'].rpartition(' ')[2]}"
    return found
