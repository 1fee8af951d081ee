"""What a result depends on beside its settings: one answer for the store, the records and the book's build.

It is the code that runs: the syntax trees of all modules that a run uses. Comments, docstrings and layout are no part
of a syntax tree, so an edit of them changes nothing. Imports are followed through all packages that are no part of
Python and are not installed, the reader's own among them, and through `clbook` and the book's
own package wherever they lie. Installed packages
count by their version where they compute: those of `COMPUTING`.

What imports do not show is not seen: a module that is loaded by a name put together at run time, a value that other
code sets in a module, a file that a run reads and `Settings.files` does not name.

This module imports Python's own library alone, so that the book's build can ask it before anything else is imported.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import itertools
import math
import os
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from pathlib import Path

COMPUTING = ("torch", "numpy", "kornia", "scipy", "scikit-learn", "pillow")  # what makes results
OURS = ("clbook", "clbook_book")
INSTALLED = ("site-packages", "dist-packages")  # folders of what pip and Debian install
STANDARD = Path(sysconfig.get_path("stdlib"))
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Stands for every version in a digest: which release a module belongs to is no part of what runs, so a new version
# leaves finished runs and records where they are.
RELEASE = "0.1.0"
TICK = 0.01  # seconds: how exactly Linux tells when a process began


def _began() -> float:
    """When this process began, in seconds since 1970; without Linux's /proc, when it came here."""
    try:
        # The fields follow the program's name in parentheses, which may hold spaces; the 20th of them is the start, in
        # ticks since the machine began. A tick is added: a file written in the same one does not count as edited.
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        since_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot + TICK
    except (OSError, AttributeError):
        return time.time()


BEGAN = _began()


def syntax(path: Path) -> ast.Module | None:
    """The syntax tree of a file, without docstrings and versions; None where the file is no Python."""
    if path.suffix != ".py":
        return None
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return None
    # An empty body is no Python, but this tree is only written out as words.
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            node.value = ast.Constant(RELEASE)
    return tree


def content(path: Path) -> tuple[str, list]:
    """Of a file as it is now the hash, of its syntax tree where it is Python, and the statements that import."""
    # Time and size are part of the call, so that the kept answer is of the file as it is now.
    stat = path.stat()
    return _content(path, stat.st_mtime_ns, stat.st_size)


@functools.cache
def _content(path: Path, changed: int, size: int) -> tuple[str, list]:
    tree = syntax(path)
    if tree is None:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), []
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return hashlib.sha256(in_words(tree).encode()).hexdigest(), imports


def in_words(tree: ast.AST) -> str:
    """A syntax tree in words, as Python 3.11 writes it: records and results are known by it in later ones too."""
    if sys.version_info >= (3, 13):
        # Later Pythons leave out empty lists, and know parameters of types, which 3.11 does not.
        text = ast.dump(tree, show_empty=True)
    else:
        text = ast.dump(tree)
    return text.replace(", type_params=[]", "")


def digest(path: Path) -> str:
    """Hash of a file: its syntax tree where it is Python, else its bytes."""
    return content(path)[0]


# Which modules a run uses. Answers are kept: a process in which one of these files changes stores nothing (`edited`).


@functools.cache
def _spec(module: str):
    """The import system's entry for a module whose code counts; None for all others."""
    parent = module.rpartition(".")[0]
    # A package that does not count is not asked for its modules: to find one would import the package.
    if parent and _spec(parent) is None:
        return None
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # a package may run any code of its own to be found
        return None
    if spec is None:
        return None
    # A folder without `__init__` has no file of its own, only places where its modules lie.
    places = [spec.origin] if spec.origin else spec.submodule_search_locations or ()
    own = module.partition(".")[0] in OURS or any(_is_own(Path(place)) for place in places)
    return spec if own else None


def _is_own(path: Path) -> bool:
    """Whether a module at this place is neither a part of Python nor installed."""
    if not path.is_absolute():  # "built-in", "frozen"
        return False
    return not path.is_relative_to(STANDARD) and not any(part in INSTALLED for part in path.parts)


@functools.cache
def _file(module: str) -> Path | None:
    """The file of a module whose code counts; None for a folder without `__init__`, and for other modules."""
    spec = _spec(module)
    return Path(spec.origin) if spec is not None and spec.origin else None


@functools.cache
def _imports(module: str, path: Path) -> frozenset[str]:
    """Names of the modules that a module imports anywhere in its code."""
    found: set[str] = set()
    for node in content(path)[1]:
        if isinstance(node, ast.Import):
            for alias in node.names:  # `import a.b` imports `a`, then `a.b`
                found.update(itertools.accumulate(alias.name.split("."), "{}.{}".format))
        else:
            relative = "." * node.level + (node.module or "")
            try:
                base = importlib.util.resolve_name(relative, _spec(module).parent)
            except ImportError:  # it fails when it is run, too: inside of `try`
                continue
            for alias in node.names:
                # What is taken from a package is one of its modules, or a name in its `__init__`.
                inner = f"{base}.{alias.name}"
                found.add(base if _spec(inner) is None else inner)
    return frozenset(found)


def modules(*names: str) -> dict[str, Path]:
    """{module: its file} of the modules that count among `names`, and of all that they import.

    The `__init__` of each package around them is there too, since it runs before them; what else it imports is not.
    """
    # Imports are followed until no new module comes; circles end, since a module is looked at once.
    found, waiting = {}, list(names)
    while waiting:
        module = waiting.pop()
        path = None if module in found else _file(module)
        if path is not None:
            found[module] = path
            waiting += _imports(module, path)
    for module in list(found):
        while module := module.rpartition(".")[0]:
            path = _file(module)
            if path is not None:
                found[module] = path
    return found


# What a run is made of.


def parts(run: Callable, kind: type) -> list:
    """The function, or the classes, that `run` consists of, and the classes of its settings, of the type `kind`."""
    # Separability.run is a method of a class: all classes that it inherits from are its code.
    owner = getattr(run, "__self__", None)
    training = list(owner.__mro__) if isinstance(owner, type) else [run]
    return training + list(kind.__mro__)


def importable(thing: object) -> bool:
    """Whether another process can import this function or class: it stands at the top of a module that is no script."""
    name = getattr(thing, "__module__", "")
    found = sys.modules.get(name)
    for part in getattr(thing, "__qualname__", "?").split("."):
        found = getattr(found, part, None)
    return name != "__main__" and found is thing


@functools.cache
def sources(run: Callable, kind: type) -> dict[str, Path]:
    """{module: its file} of all code that `run` uses with settings of the type `kind`."""
    return modules(*{thing.__module__ for thing in parts(run, kind)})


def edited(paths: Iterable[Path]) -> list[Path]:
    """Those of the files that are newer than this process, which may have imported what stood there before."""
    return [path for path in paths if _changed(path) > BEGAN]


def _changed(path: Path) -> float:
    """When a file was written or moved to its place, in seconds since 1970; infinity where it is gone."""
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return math.inf
    # mtime alone can be set back, as by `cp -p` of an older file; ctime says when it came to its place.
    return max(stat.st_mtime, stat.st_ctime)


@functools.cache
def fingerprint(run: Callable, kind: type) -> str:
    """Hash of the code that `run` uses with settings of the type `kind`: what a record says of its own code."""
    text = [run.__qualname__]
    text += [f"{thing.__module__}.{thing.__qualname__}" for thing in parts(run, kind)]
    text += [f"{module} {digest(path)}" for module, path in sorted(sources(run, kind).items())]
    return hashlib.sha256("\0".join(text).encode()).hexdigest()


@functools.cache
def versions() -> dict[str, str]:
    """{package: version} of what computes; "missing" where it is not installed."""
    found = {}
    for name in COMPUTING:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    return found
