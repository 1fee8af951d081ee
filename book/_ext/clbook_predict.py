"""Sphinx extension of the book: a prediction, three answers to choose from, and a sentence for each.

    :::{div} predict walk-eps
    **Predict first.** Will the clusters separate earlier or later?

    1. earlier
    2. later
    3. at the same time

    <!-- 1: A wide start has no linear phase. -->
    <!-- 2 right: The wider the start, the less room the exponential has. -->
    <!-- 3: Only where the square of the width over the temperature is the same. -->
    :::

`:::{div} predict walk-eps walk:eps=3` asks about a setting of the explorer below, which is shown once the reader has
answered.

A notebook shows the question and the answers, and no comments. In the page `predict.js` makes a form of it, and covers
what answers it until the reader has committed or skips; without a script all of it stands there.
"""

from __future__ import annotations

from pathlib import Path

from clbook_answers import Asking
from clbook_div import add_kind
from docutils import nodes

# What this browser keeps of the answers, which the blocks that train keep too.
TASKS = Path(__file__).parents[1] / "clbook_book" / "live" / "tasks.js"


class reasons(nodes.container):  # noqa: N801 (docutils names its nodes so)
    """What each answer is told, behind the answers."""


class Predict(Asking):
    """`{div} predict name [asks]`: the name is what a link to it, and the reader's browser, calls it."""

    required_arguments = 1
    optional_arguments = 1
    counts = (3,)
    rule = "a prediction has three"

    def run(self):
        found = self.question()
        box = nodes.container(classes=["clbook-predict"], ids=[f"predict-{self.arguments[0]}"])
        box += self.parsed(found.question)
        box += self.numbered(found.answers, "clbook-answers")
        why = reasons(classes=["clbook-reasons"], asks="".join(self.arguments[1:]))
        why += self.numbered(found.sentences, "clbook-sentences")
        why[0][found.right]["classes"].append("clbook-right")
        number = found.right + 1
        said = nodes.paragraph("", f"Answer {number} is right.", classes=["clbook-which"])
        why.insert(0, said)
        box += why
        return [box]

    def numbered(self, texts, name):
        """A numbered list of Markdown texts."""
        items = nodes.enumerated_list(classes=[name], enumtype="arabic", prefix="", suffix=".")
        for text in texts:
            items += nodes.list_item("", *self.parsed(text))
        return items


def enter(translator, node):
    """Begin the reasons in a page."""
    asks = {"data-asks": node["asks"]} if node["asks"] else {}
    translator.body.append(translator.starttag(node, "div", CLASS="docutils container", **asks))


def leave(translator, node):
    """End the reasons in a page."""
    translator.body.append("</div>\n")


def add_tasks(app, config):
    """Copy `tasks.js` to the built pages."""
    config.html_static_path.append(str(TASKS))


def setup(app):
    """Register the directive, and the scripts that ask in the page."""
    app.add_node(reasons, html=(enter, leave))
    add_kind(app, "predict", Predict)
    app.connect("config-inited", add_tasks)
    app.add_js_file(TASKS.name)
    app.add_js_file("predict.js")
    app.add_css_file("predict.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
