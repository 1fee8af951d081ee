"""How dense the code is, counted on its syntax tree: how much a line holds, not how many lines there are.

No statement of the package is large but the tables, no comprehension stands inside another one, no function is long.
The package has few nodes a line, and so has the engine, all of it but its experiments and papers; each of their rooms
has a ceiling, which may only fall. `python tests/test_density.py` prints what is measured, as a table to paste.
"""

import ast
import dataclasses
import functools
import pathlib

import pytest

PACKAGE = pathlib.Path(__file__).parent.parent / "clbook"
ROOMS = (PACKAGE / "experiments", PACKAGE / "papers")

A_LINE = 7.0  # nodes a line of code, in the mean of the package, and of the engine
ENGINE = 43_230  # nodes of the engine: to fall to 30,000
TRACE = 9_640  # nodes of the room that writes trainings as JavaScript: at most 10,000
BELOW = 200  # lines of JavaScript that all written trainings call: runtime and random numbers
DIAGNOSE = 9_208  # nodes of the instruments on a reader's own encoder
STATEMENT = 40  # nodes of one statement
FUNCTION = 60  # lines of one function, without its docstring

# Statements that may be larger: tables of settings.
TABLES = {
    "style.py RC",
    "style.py TYPESET",
    "explore/controls.py LABELS",
    "trace/javascript.py CHEAP",
}

# Of each room: nodes a line.
CEILINGS = {
    "alignment": 7.03,
    "content_style": 6.88,
    "diagnose": 6.28,
    "images": 7.0,
    "kernel": 6.88,
    "landscape": 6.98,
    "modadd": 6.96,
    "overlap": 6.85,
    "photographs": 6.78,
    "practice": 6.78,
    "separability": 6.86,
    "sphere": 6.65,
    "why": 6.73,
    "words": 6.76,
    "cs": 7.1,
    "ls": 7.25,
    "sa": 7.2,
    "sl": 6.75,
    "va": 6.78,
}

# What a reader does not see: Load, Store, and the signs of operators, which their expressions stand for.
UNSEEN = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PARTS = (
    ast.stmt,
    ast.ExceptHandler,
    ast.match_case,
)  # what a compound statement has below its head


@dataclasses.dataclass
class Density:
    """What is counted of some files.

    nodes: of the syntax tree, without docstrings. lines: on which one of them begins. statements, comprehensions,
    functions: those beyond the limits, each as a text that says where it is.
    """

    nodes: int = 0
    lines: int = 0
    statements: list = dataclasses.field(default_factory=list)
    comprehensions: list = dataclasses.field(default_factory=list)
    functions: list = dataclasses.field(default_factory=list)

    @property
    def a_line(self):
        return self.nodes / max(self.lines, 1)


def measured(paths) -> Density:
    found = Density()
    for path in paths:
        count(found, path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).as_posix())
    return found


def count(found, text, name) -> None:
    """Add one file, its text and its name, to what was found."""
    tree = ast.parse(text)
    docstrings = without_docstrings(tree)
    nodes = seen(tree)
    found.nodes += len(nodes)
    found.lines += len({node.lineno for node in nodes if hasattr(node, "lineno")})
    for node in nodes:
        place = f"{name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1 - docstrings.get(node, 0)
            if length > FUNCTION:
                found.functions.append(f"{place} {node.name} has {length} lines")
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef):
            size = of_head(node)
            if size > STATEMENT and f"{name} {target(node)}" not in TABLES:
                found.statements.append(f"{place} has {size} nodes")
        elif isinstance(node, COMPREHENSIONS):
            inside = [other for other in seen(node) if isinstance(other, COMPREHENSIONS)]
            if len(inside) > 1:
                found.comprehensions.append(place)


def without_docstrings(tree) -> dict:
    """Take the docstrings out of the tree. Returns how many lines each had, by what it belongs to."""
    lines = {}
    for node in ast.walk(tree):
        if isinstance(node, (*DEFINITIONS, ast.Module)) and ast.get_docstring(node) is not None:
            first = node.body.pop(0)
            lines[node] = first.end_lineno - first.lineno + 1
    return lines


def seen(tree) -> list:
    """The nodes of a tree that a reader sees."""
    return [node for node in ast.walk(tree) if not isinstance(node, UNSEEN)]


def of_head(statement) -> int:
    """Nodes of a statement without the statements inside it: of an `if`, its condition."""
    size = 1
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, (*PARTS, *UNSEEN)):
            size += len(seen(child))
    return size


def target(statement) -> str:
    """The name that a statement assigns to; nothing where it is none, or several."""
    targets = getattr(statement, "targets", [])
    return getattr(targets[0], "id", "") if len(targets) == 1 else ""


@functools.cache
def engine() -> Density:
    return measured(
        path for path in PACKAGE.rglob("*.py") if not any(map(path.is_relative_to, ROOMS))
    )


@functools.cache
def package() -> Density:
    return measured(PACKAGE.rglob("*.py"))


@functools.cache
def trace() -> Density:
    return measured((PACKAGE / "trace").rglob("*.py"))


@functools.cache
def diagnose() -> Density:
    return measured((PACKAGE / "diagnose").rglob("*.py"))


@functools.cache
def rooms() -> dict:
    """{room: Density}, by name."""
    folders = [init.parent for kind in ROOMS for init in kind.glob("*/__init__.py")]
    return {folder.name: measured(folder.rglob("*.py")) for folder in sorted(folders)}


def told(places) -> str:
    return "".join(f"\n  {place}" for place in places)


@pytest.mark.parametrize("part", [package, engine])
def test_there_are_few_nodes_a_line(part):
    found = part()
    assert found.a_line <= A_LINE, f"{found.nodes} nodes in {found.lines} lines: {found.a_line:.2f}"


def test_the_engine_is_small():
    own = engine().nodes - trace().nodes - diagnose().nodes
    assert own <= ENGINE, f"{own} nodes, at most {ENGINE}"
    assert trace().nodes <= TRACE, f"{trace().nodes} nodes, at most {TRACE}"
    assert diagnose().nodes <= DIAGNOSE, f"{diagnose().nodes} nodes, at most {DIAGNOSE}"


def test_what_written_trainings_call_is_small():
    lines = []
    for name in ("runtime.js", "random.js"):
        lines += (PACKAGE / "trace" / name).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= BELOW, f"{len(lines)} lines, at most {BELOW}"
    assert max(map(len, lines)) <= 120


def test_no_statement_is_large_but_the_tables():
    found = package()
    assert not found.statements, f"above {STATEMENT} nodes:{told(found.statements)}"


def test_every_table_that_may_be_large_is_one():
    names = set()
    for table in TABLES:
        file, name = table.split()
        body = ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body
        names |= {table for node in body if target(node) == name and of_head(node) > STATEMENT}
    assert names == TABLES


def test_comprehensions_stand_alone():
    found = package()
    assert not found.comprehensions, f"one inside another:{told(found.comprehensions)}"


def test_no_function_is_long():
    found = package()
    assert not found.functions, f"above {FUNCTION} lines:{told(found.functions)}"


def test_every_room_has_a_ceiling():
    assert set(CEILINGS) == set(rooms())


@pytest.mark.parametrize("room", CEILINGS)
def test_a_room_is_below_its_ceiling_which_follows_when_it_gets_simpler(room):
    value, ceiling = rooms()[room].a_line, CEILINGS[room]
    assert value <= ceiling + 0.005, f"{room}: {value:.2f} nodes a line, at most {ceiling}"
    assert value >= 0.9 * ceiling, f"{room}: {value:.2f}, so lower its ceiling, {ceiling}"


SAMPLE = '''
"""A docstring is no code."""
X = 1


def f(a):
    """Nor is this one.

    It has lines.
    """
    if a + 1 > 0:
        return [[c for c in b] for b in a]
    return X
'''


def test_counting_on_a_sample():
    found = Density()
    count(found, SAMPLE, "sample.py")
    # Module; X = 1: 3; def, arguments, a: 3; if: 1 and its condition, a + 1 > 0: 5; return: 1 and two comprehensions:
    # 5 nodes inside (two names of c, one of b, the comprehension and its `for`), 5 outside; return X: 2.
    assert found.nodes == 1 + 3 + 3 + 6 + 1 + 9 + 2
    assert found.lines == 5
    assert found.comprehensions == ["sample.py:12"]
    assert not found.statements and not found.functions
    long = "def f():\n" + '    """Doc.\n\n    """\n' + "    x = 1\n" * 60
    count(found, long, "long.py")
    assert found.functions == ["long.py:1 f has 61 lines"]
    large = "if x:\n    y = [" + "1, " * 38 + "]\n"
    count(found, large, "large.py")  # y, the list, the statement and 38 numbers
    assert found.statements == ["large.py:2 has 41 nodes"]


if __name__ == "__main__":
    whole = engine()
    print(f"# engine: {whole.nodes} nodes, {whole.lines} lines, {whole.a_line:.2f} a line")
    for place in (*package().statements, *package().comprehensions, *package().functions):
        print(f"#   {place}")
    print("CEILINGS = {")
    for name, density in rooms().items():
        print(f'    "{name}": {density.a_line:.2f},')
    print("}")
