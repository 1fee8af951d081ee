"""Who may import whom: book, audit, course, live, clbook, one way; and no two modules import each other in a circle."""

import ast
import json
import pathlib

ROOT = pathlib.Path(__file__).parent.parent
# From the ground up; a room imports those that stand before it. `records` loads the others' `runs` by name.
ROOMS = ("clbook", *(f"clbook_book.{name}" for name in ("records", "live", "course", "audit")))


def room(module) -> int:
    """Which of the rooms a module is in: the last one whose name it begins with."""
    found = [k for k, name in enumerate(ROOMS) if f"{module}.".startswith(f"{name}.")]
    return max(found, default=0)


def modules() -> dict:
    """{name: its file} of both packages."""
    found = {}
    for place, package in ((ROOT, "clbook"), (ROOT / "book", "clbook_book")):
        for path in place.glob(f"{package}/**/*.py"):
            parts = path.relative_to(place).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imported(text, known) -> set:
    """The modules of both packages that a text imports, anywhere in its code."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "a relative import"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & known) or {node.module}
            found |= {node.module} if inner - known else set()
    return found & known


MODULES = modules()
IMPORTS = {name: imported(path.read_text("utf-8"), set(MODULES)) for name, path in MODULES.items()}


def test_no_import_runs_upward():
    wrong = []
    for module, others in IMPORTS.items():
        if module == "clbook_book":  # hands on `check`
            continue
        wrong += [f"{module} imports {other}" for other in others if room(other) > room(module)]
    assert wrong == []


def test_clbook_knows_nothing_of_the_book():
    """Where its records lie is asked of the import system; all else that names the book is a word to a reader."""
    own = [module for module in IMPORTS if module.split(".")[0] == "clbook"]
    assert [m for m in own if any("clbook_book" in other for other in IMPORTS[m])] == []


def test_chapters_know_nothing_of_the_audit():
    for path in (ROOT / "book").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert "clbook_book.audit" not in "".join(cell["source"]), path


def test_no_modules_import_each_other_in_a_circle():
    left = {module: set(others) - {module} for module, others in IMPORTS.items()}
    while free := [module for module, others in left.items() if not others & set(left)]:
        for module in free:
            del left[module]
    assert left == {}
