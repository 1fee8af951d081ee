"""What it takes seconds to write, kept in the store beside the runs: the next kernel finds it there."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from clbook import environment
from clbook.results.fingerprint import digest, edited, modules, versions
from clbook.results.store import read, save


def kept(make: Callable[[], Any], kind: type, names: Sequence[str], by: Sequence) -> Any:
    """What `make()` gives, which is a `kind`; from the store where the same code has made it before.

    Args:
        make: a function without arguments.
        kind: the type of what it gives.
        names: modules, which with all that they import are the code.
        by: all else that it depends on; two are alike that are written alike.
    """
    code = modules(*names).values()
    if edited(code):
        return make()
    said = repr([*sorted(map(digest, code)), versions(), *by])
    name = hashlib.sha256(said.encode()).hexdigest()[:40]
    path = environment.cache_folder() / "programs" / f"{name}.pkl"
    made = read(path, name, kind)
    if made is None:
        made = make()
        if failed := save(path, name, made):
            warnings.warn(f"what trains in the page is not stored: {failed}", stacklevel=2)
    return made
