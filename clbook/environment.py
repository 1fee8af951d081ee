"""What the environment variables of this package say. Each is read here alone, at the moment when it is asked for."""

from __future__ import annotations

import os
from pathlib import Path


def static() -> bool:
    """Whether pages without a kernel are being built: CLBOOK_STATIC is 1, as the build of the book sets it."""
    return os.environ.get("CLBOOK_STATIC") == "1"


def values_checked() -> bool:
    """Whether losses look at the values that they are given: CLBOOK_CHECK is set, to something that is not 0."""
    return os.environ.get("CLBOOK_CHECK", "0") not in ("", "0")


def shake() -> str:
    """By which share the start of every run is changed, in words: CLBOOK_SHAKE, such as "1e-6"; "" for none."""
    return os.environ.get("CLBOOK_SHAKE", "")


def set_shake(share: str) -> None:
    """Change the start of the runs that this process begins from now on by a share; by none where it is ""."""
    os.environ["CLBOOK_SHAKE"] = share


def checkpoint() -> str | None:
    """The file from which a long training on images goes on, CLBOOK_CHECKPOINT; None where none is named."""
    return os.environ.get("CLBOOK_CHECKPOINT")


def cache_folder() -> Path:
    """Where finished work is kept: the folder named by CLBOOK_CACHE, else ~/.cache/clbook."""
    return Path(os.environ.get("CLBOOK_CACHE") or "~/.cache/clbook").expanduser()


def data_folder() -> Path:
    """Where data files are looked for: the folder named by CLBOOK_DATA, else `data` in the `cache_folder()`."""
    return Path(os.environ.get("CLBOOK_DATA") or cache_folder() / "data").expanduser()
