"""What only the pages of the book need: the course, the audit, and what trains in a page. Imports go one way:

    records   runs that take longer than a build may: the files, and the command that makes and checks them
    live      a training as JavaScript, and the blocks in which a page runs it
    course    a folder for each page: its figures, what a reader moves, what was run; exercises that check themselves
    audit     a folder for each paper: its items, runs, measures; judging

What the chapters' experiments train, and all that one of your own needs, is in `clbook`, which knows nothing of this
package.
"""

import importlib

__version__ = "0.2.0"


def __getattr__(name: str):
    # What an exercise asks of a reader's function.
    if name == "check":
        return importlib.import_module(f"{__name__}.course.exercises").check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
