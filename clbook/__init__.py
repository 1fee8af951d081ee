"""The theory of contrastive learning, as code that can be run and checked.

Imports go one way:

    parts         data augment latents models transformer losses kernels metrics theory: mathematics alone
    training      how an experiment is said, and trained
    results       how runs are kept and found again: store, sweep, records
    style         how figures and tables are drawn
    explore       one explorer: live, recorded
    diagnose      the instruments on an encoder of the reader's own: a part that reads all others
    experiments   what is trained, and what is checked of it

`theory` holds what the papers predict, a file a paper; experiments, pages and tests read it. What only the pages of the
book need is a package of its own, `clbook_book`, of which this one knows nothing.
"""

import importlib
import os

# Read by MKL at its first product: without it the last bits of a product depend on where in memory a matrix lies, and a
# run beside others would differ from the same run alone.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

__version__ = "0.2.0"

# `import clbook; clbook.losses` works. A part is loaded when it is first asked for, because some
# need more than numpy and torch, which are all that `import clbook` needs. `__init__.pyi` says the same to editors.
PARTS = (
    "augment",
    "data",
    "diagnose",
    "experiments",
    "explore",
    "kernels",
    "latents",
    "losses",
    "metrics",
    "models",
    "results",
    "style",
    "theory",
    "training",
    "transformer",
)
MEASURE = {
    "data",
    "diagnose",
    "kernels",
    "metrics",
    "theory",
}  # for these the extra `measure` is enough
# What is asked of finished runs: `from clbook import records, sweep`.
RESULTS = {"records", "sweep"}


def __getattr__(name: str):
    if name not in (*PARTS, *RESULTS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "clbook.results" if name in RESULTS else "clbook"
    try:
        found = importlib.import_module(f"{room}.{name}")
    except ModuleNotFoundError as missing:
        extra = "measure" if name in MEASURE else "book"
        raise ModuleNotFoundError(
            f"clbook.{name} needs {missing.name}: pip install 'clbook[{extra}]'", name=missing.name
        ) from missing
    return found.sweep if name == "sweep" else found


def __dir__() -> list[str]:
    return sorted({*globals(), *PARTS, *RESULTS})
