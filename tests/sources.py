"""The pages as they are written, for the tests that read them."""

import json
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"]] + [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
NOTEBOOKS = [page for page in PAGES if (ROOT / f"{page}.ipynb").exists()]
CHAPTERS = [page for page in NOTEBOOKS if "papers" not in page]
PREDICTED = re.compile(r"^:::\{div\} predict ([\w-]+).*?\n(.*?)^:::$", re.DOTALL | re.MULTILINE)


def cells(page):
    """(kind, source, tags) of the page's cells; a text page is one cell."""
    text = ROOT / f"{page}.md"
    if text.exists():
        return [("markdown", text.read_text(), set())]
    notebook = json.loads((ROOT / f"{page}.ipynb").read_text())
    return [
        (cell["cell_type"], "".join(cell["source"]), set(cell["metadata"].get("tags", [])))
        for cell in notebook["cells"]
    ]


def markdown(page):
    """All text of a page."""
    return "\n\n".join(source for kind, source, _ in cells(page) if kind == "markdown")
