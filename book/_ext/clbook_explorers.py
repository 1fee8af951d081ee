"""Sphinx extension of the book: what a reader plays with stands right below its question, its code folded below it."""

from __future__ import annotations

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.transforms.post_transforms import SphinxPostTransform

TOYS = tuple(f'<figure class="clbook-{kind}' for kind in ("explorer", "here", "wall", "diagnose"))
TOYS += ('<div class="clbook-parts',)  # a picture whose parts are links


class FoldBelow(SphinxPostTransform):
    """Fold the code of a cell that shows an explorer or a picture of links, or trains in the page, and put it below."""

    default_priority = (
        198  # before myst-nb folds the cells that are tagged, after it has chosen what is shown
    )
    formats = ("html",)

    def run(self, **kwargs):
        for cell in list(self.document.findall(nodes.container)):
            if cell.get("nb_element") != "cell_code" or len(cell) < 2:
                continue
            if not any(toy in raw.astext() for raw in cell.findall(nodes.raw) for toy in TOYS):
                continue
            code = cell[0]
            cell.remove(code)
            fold = HideCodeCellNode(prompt_show="Show the code", prompt_hide="Hide the code")
            fold["classes"].append("below-input")
            fold += code
            cell += fold
            cell["hide_mode"] = None


def setup(app):
    """Register the transform."""
    app.add_post_transform(FoldBelow)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
