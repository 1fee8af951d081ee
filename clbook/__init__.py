"""The theory of contrastive learning, as code that can be run and checked.

Imports go one way:

    parts         data augment models transformer losses kernels metrics theory: mathematics alone
    training      settings streams optim anchored runs: how an experiment is said, and trained
    results       fingerprint store sweep labelled records: how runs are kept and found again
    drawing       style
    explore       one explorer: live, recorded
    experiments   a folder for each chapter of the book and for each paper
    claims        what the papers say, judged on what was measured

`theory` holds what the papers predict; experiments, pages and tests read it.
"""

import importlib
import os

# Read by MKL at its first product: without it the last bits of a product depend on where in memory a matrix lies, and a
# run beside others would differ from the same run alone.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

__version__ = "0.1.0"

# `import clbook; clbook.losses` works. A part is loaded when it is first asked for, because some
# need more than numpy and torch, which are all that `import clbook` needs.
PARTS = ("augment", "data", "kernels", "losses", "metrics", "models", "theory", "transformer")


def __getattr__(name: str):
    if name not in PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *PARTS})
