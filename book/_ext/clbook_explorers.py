"""Sphinx extension of the book: what a cell shows stands right below the text, its code folded below it.

A cell whose code a reader should copy has the tag `show-code`, and stands as it is.
"""

from __future__ import annotations

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.transforms.post_transforms import SphinxPostTransform


class FoldBelow(SphinxPostTransform):
    """Fold the code of each cell below what it shows, but of those that are answers, which are folded as a whole."""

    default_priority = (
        198  # before myst-nb folds the cells that are tagged, after it has chosen what is shown
    )
    formats = ("html",)

    def run(self, **kwargs):
        for cell in list(self.document.findall(nodes.container)):
            if cell.get("nb_element") != "cell_code" or cell.get("hide_mode") == "all":
                continue
            code = cell[0] if len(cell) else None  # an empty cell has been removed
            if code is None or code.get("nb_element") != "cell_code_source":
                continue
            if "tag_show-code" in cell["classes"]:
                continue
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
