"""Sphinx extension of the book: the API reference, from the docstrings of the package.

The docstrings are plain text: signs that reStructuredText would read as markup stand for themselves. Under each name
stand the pages whose code uses it.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from pathlib import Path

from clbook.training.settings import Outcome, quantities

MARKUP = re.compile(r"([|*])")
SETTING = re.compile(r"^\s*(\w+ = .*?): (.*)$")


def plain(app, what, name, obj, options, lines):
    """Escape what would be markup, keep formulas, and make lists of settings and quantities. Runs before napoleon."""
    settings = "Settings:" in lines
    formula, found = False, []
    for before, line in zip(["", *lines], list(lines), strict=False):
        # What is indented below an empty line is a formula; sections (Args:) have no line between.
        if line.startswith("    ") and not (before or formula or settings):
            formula = True
            found += [".. code-block:: text", ""]
        formula = formula and (line.startswith("    ") or not line)
        setting = SETTING.match(line) if settings else None
        if setting:
            found.append(f"* ``{setting[1]}``: {escaped(setting[2])}")
        else:
            found.append(line if formula else escaped(line))
    lines[:] = found
    if settings:
        lines.insert(lines.index("Settings:") + 1, "")
    held = described(obj) if inspect.isclass(obj) and issubclass(obj, Outcome) else {}
    if any(held.values()):  # a Result whose docstring has Attributes says it there
        lines += ["", "What it holds:", ""]
        for quantity, meaning in held.items():
            lines.append(f"* ``{quantity}``: {escaped(meaning)}")


def escaped(text: str) -> str:
    """The text with signs that would be markup as they are."""
    return MARKUP.sub(r"\\\1", text)


def described(result: type) -> dict[str, str]:
    """{name of a recorded quantity: what it is, its axes, and whether it must be asked for}."""
    found = {}
    for name, field in quantities(result).items():
        said = field.metadata
        unit = f", in {said['unit']}" if said.get("unit") else ""
        axes = f" ({', '.join(said['dims'])})" if said.get("dims") else ""
        asked = "; recorded where it is asked for" if said.get("on_request") else ""
        found[name] = f"{said.get('doc', '')}{unit}{axes}{asked}"
    return found


@functools.cache
def sources(folder: Path) -> dict[str, str]:
    """{page: its code} of all notebooks of the book."""
    found = {}
    for path in sorted((folder / "book").rglob("*.ipynb")):
        if any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts):
            continue
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        found[path.relative_to(folder).with_suffix("").as_posix()] = "\n".join(code)
    return found


def pages(folder: Path, module: str, name: str) -> list[str]:
    """The pages whose code uses `name` of the module: as `module.name`, or imported from it."""
    last = module.rpartition(".")[2]
    used = re.compile(rf"\b{last}\.{name}\b|from {re.escape(module)} import [^\n]*\b{name}\b")
    return [page for page, code in sources(folder).items() if used.search(code)]


def tell_pages(app, what, name, obj, options, lines):
    """Append the pages that use a function or a class. Runs after napoleon."""
    if what not in ("function", "class"):
        return
    module, _, short = name.rpartition(".")
    if module.startswith("clbook.theory."):
        module = "clbook.theory"
    found = [f":doc:`/{page}`" for page in pages(Path(app.srcdir), module, short)]
    if found:
        lines += ["", f"Used on: {', '.join(found)}.", ""]


def setup(app):
    """Register the hooks; napoleon has priority 500."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.setup_extension("sphinx.ext.viewcode")  # [source], in the book itself
    app.config.autodoc_member_order = "bysource"
    # Unions of what is taken, by their names.
    app.config.autodoc_type_aliases = {name: name for name in ("Rows", "Points", "Device")}
    app.connect("autodoc-process-docstring", plain, priority=400)
    app.connect("autodoc-process-docstring", tell_pages, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
