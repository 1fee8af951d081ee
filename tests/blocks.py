"""The blocks that train in the pages, as their notebooks make them: without a trace, a picture or any other cell."""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
import pathlib
from collections.abc import Mapping, Sequence
from unittest import mock

from clbook.results.sweep import combined
from clbook.training.loop import training_of
from clbook_book.live import inpage
from clbook_book.live.playground import Playground
from clbook_book.live.pulling import Pulling

BOOK = pathlib.Path(__file__).parent.parent / "book"
MAKERS = ("train_here", "Playground", "block")


@dataclasses.dataclass
class Block:
    """What a page can train.

    Attributes:
        page, name: where it is.
        kind: the Training.
        configs: the settings at the start, of each shape.
        settings: the names of those that it may offer.
        says: {quantity: words} of its status.
        goals: what a reader may reach.
        ask: its prediction, or None.
        moved: whether all that it draws is drawn at each step, as where points are moved by hand.
    """

    page: str
    name: str
    kind: type
    configs: list
    settings: list[str]
    goals: Sequence = ()
    ask: object = None
    says: Mapping = dataclasses.field(default_factory=dict)
    moved: bool = False


def train_here(run, figure, config, *, settings, without=(), name="here", **others):
    """Stands for `inpage.train_here`: what the block is made of."""
    shapes = {key: values for key, values in others.items() if hasattr(config, key)}
    more = inpage.numbers_of(config, (*settings, *shapes, *without))
    named = [*settings, *more, *{"steps", "seed"} - {*settings}]
    tasks = {key: others[key] for key in ("goals", "ask", "says") if key in others}
    return Block("", name, training_of(run), combined(config, **shapes), named, **tasks)


def of(page: str, made) -> Block:
    """A block that a cell has made."""
    if isinstance(made, Block):
        return dataclasses.replace(made, page=page)
    goals = ()
    if isinstance(made, Playground):
        ways, settings, goals = made.ways(), ["steps", "seed"], made.goals
    elif isinstance(made, Pulling):
        ways, settings = made.ways(), list(made.settings)
    else:
        raise TypeError(f"{page}: blocks.py does not know what a {type(made).__name__} trains")
    return Block(page, made.name, made.kind, ways, settings, goals, moved=True)


def names(tree: ast.AST, kind: type) -> set[str]:
    """The names that some code reads (`ast.Load`) or gives a value (`ast.Store`)."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {name.id for name in found if isinstance(name.ctx, kind)}


def given(statement: ast.stmt) -> set[str]:
    """The names that a statement gives a value."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).split(".")[0] for each in statement.names}
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    return names(statement, ast.Store)


def is_block(statement: ast.stmt) -> bool:
    """Whether a statement makes a block, and shows it."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in MAKERS


def made_in(path: pathlib.Path) -> list:
    """The blocks of a notebook: of its code the statements that make one, and those that these need."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    code = ast.parse("\n".join(sources)).body
    found = []
    for number, statement in enumerate(code):
        if not is_block(statement):
            continue
        needed, wanted = [], names(statement, ast.Load)
        for before in reversed(code[:number]):
            if given(before) & wanted:
                needed.insert(0, before)
                wanted |= names(before, ast.Load)
        space = {}
        exec(compile(ast.Module(needed, []), path.name, "exec"), space)
        found.append(eval(compile(ast.Expression(statement.value), path.name, "eval"), space))
    return found


def blocks_of(path: pathlib.Path) -> list[Block]:
    """Those of one page."""
    with mock.patch.object(inpage, "train_here", train_here):
        return [of(path.stem, made) for made in made_in(path)]


@functools.cache
def blocks() -> list[Block]:
    """Those of all pages."""
    found = []
    for path in sorted(BOOK.rglob("*.ipynb")):
        if "_build" not in path.parts and ".ipynb_checkpoints" not in path.parts:
            found += blocks_of(path)
    return found
