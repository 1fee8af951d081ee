"""How much of it there is: syntax nodes of each part, and no function that is long.

What a part may have is changed in a commit that says why. `python tests/test_density.py` prints what it has.
"""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
TOTALS = {  # nodes of a part, at most
    "clbook": 86_000,
    "book/clbook_book/live": 12_000,
    "book/clbook_book/records": 3_620,
    "book/clbook_book/course": 43_840,
    "book/clbook_book/audit": 45_818,
}
FUNCTION = 60  # lines of one function, at most, without its docstring

# What a reader does not see: Load, Store, and the signs of operators, which their expressions stand for.
UNSEEN = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)


def trees(part):
    """(path, syntax tree without docstrings) of each file of a part."""
    for path in sorted((ROOT / part).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
                del node.body[0]
        yield path.relative_to(ROOT), tree


def nodes(tree) -> int:
    """How many nodes a reader sees."""
    return sum(not isinstance(node, UNSEEN) for node in ast.walk(tree))


def long_functions(path, tree) -> list[str]:
    """The functions of a file that have too many lines."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.body:
            lines = node.end_lineno - node.body[0].lineno + 1
            if lines > FUNCTION:
                found.append(f"{path}:{node.lineno} {node.name} has {lines} lines")
    return found


@pytest.mark.parametrize("part", TOTALS)
def test_a_part_has_no_more_nodes_than_it_may(part):
    found = sum(nodes(tree) for _, tree in trees(part))
    assert found <= TOTALS[part], f"{part}: {found} nodes"
    assert found >= 0.98 * TOTALS[part], f"{part}: {found} nodes, so lower what it may have"


@pytest.mark.parametrize("part", TOTALS)
def test_no_function_is_long(part):
    assert [each for path, tree in trees(part) for each in long_functions(path, tree)] == []


if __name__ == "__main__":
    for part in TOTALS:
        print(part, sum(nodes(tree) for _, tree in trees(part)))
