"""Sphinx extension of the book: the API reference, from the docstrings of the package.

The docstrings are plain text: signs that reStructuredText would read as markup stand for themselves. Under each name
stand the pages whose code uses it, and in the code of a page each name leads to its entry.
"""

from __future__ import annotations

import ast
import functools
import html
import inspect
import json
import pkgutil
import re
from pathlib import Path

from clbook.training.settings import Outcome, quantities

MARKUP = re.compile(r"([|*])")
SETTING = re.compile(r"^\s*(\w+ = .*?): (.*)$")
# The code of a cell, highlighted, and a name in it with what stands behind its dots; not one that sets an argument.
CELL = re.compile(r'(<div class="highlight-ipython3 .*?<pre>)(.*?)(</pre>)', re.DOTALL)
DOT = '<span class="o">.</span>'
NAME = re.compile(
    rf'(?<!{re.escape(DOT)})<span class="n">\w+</span>(?:{re.escape(DOT)}<span class="n">\w+</span>)*'
    r'(?!<span class="o">=</span>)'
)
TAG = re.compile(r"<[^>]+>")


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


def imported(cells: list[str]) -> dict[str, str]:
    """{name: what it stands for, "clbook.losses"} of imports from both packages, but for names that are set again."""
    found, changed = {}, set()
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except SyntaxError:  # a line for the notebook alone
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clbook"):
                names = {each.asname or each.name: each.name for each in node.names}
                found.update((own, f"{node.module}.{name}") for own, name in names.items())
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                changed.add(node.id)
            elif isinstance(node, ast.arg):
                changed.add(node.arg)
    return {own: name for own, name in found.items() if own not in changed}


@functools.cache
def home(name: str) -> str:
    """Where a name of a package is defined: "clbook.sweep" is "clbook.results.sweep.sweep"."""
    try:
        value = pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return name
    if inspect.ismodule(value):
        return value.__name__
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"


def linked(body: str, entry) -> str:
    """The page with links from names in its cells to their entries; `entry(name)` is an address, or None."""
    cells = [html.unescape(TAG.sub("", found[2])) for found in CELL.finditer(body)]
    known = imported(cells)

    def link(found):
        own, *parts = TAG.sub("", found[0]).split(".")
        if own not in known:
            return found[0]
        pieces = found[0].split(DOT)
        for count in range(len(pieces), 0, -1):  # the longest that has an entry
            name = ".".join([known[own], *parts[: count - 1]])
            address = entry(name) or entry(home(name))
            if address:
                inside = f'<a class="clbook-api" href="{address}">{DOT.join(pieces[:count])}</a>'
                return DOT.join([inside, *pieces[count:]])
        return found[0]

    return CELL.sub(lambda found: found[1] + NAME.sub(link, found[2]) + found[3], body)


def link_cells(app, pagename, templatename, context, doctree):
    """Lead from the code of a page to the reference."""
    if app.builder.format != "html" or "highlight-ipython3" not in context.get("body", ""):
        return
    entries = app.env.domaindata["py"]["objects"]

    def entry(name):
        found = entries.get(name)
        if found is None:
            return None
        return f"{app.builder.get_relative_uri(pagename, found.docname)}#{found.node_id}"

    context["body"] = linked(context["body"], entry)


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
    app.connect("html-page-context", link_cells)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
