"""Sphinx extension of the book: a question at the end of a chapter, whose answers say why they are right or wrong.

`CLBOOK_SOLUTIONS=off jupyter-book build .` makes a book without the solutions of the exercises, for a class.

    :::{div} quiz
    What decides which class goes where?

    1. the loss
    2. the training

    <!-- 1: The loss is the same after a shuffle. -->
    <!-- 2 right: The network moves alike points alike. -->
    :::

A notebook shows the question and the answers, and no comments. In the page each answer opens by itself, without a
script, and shows its sentence.
"""

from __future__ import annotations

import os

from clbook_answers import Asking
from clbook_div import add_kind
from docutils import nodes
from sphinx_exercise.nodes import solution_node


class quiz_option(nodes.container):  # noqa: N801 (docutils names its nodes so)
    """An answer with its sentence: a paragraph to open, and one behind it."""


class quiz_head(nodes.container):  # noqa: N801
    """What of an answer is shown before it is opened."""


class Quiz(Asking):
    """`{div} quiz`: its body is a question, its answers, and a comment for each of them."""

    def run(self):
        found = self.question()
        box = nodes.container(classes=["clbook-quiz"])
        box += self.parsed(found.question)
        for k, answer in enumerate(found.answers):
            right = k == found.right
            one = quiz_option(right=right)
            head = quiz_head()
            head += self.parsed(answer)
            one += head
            one += self.parsed(("**Right.** " if right else "**No.** ") + found.sentences[k])
            box += one
        return [box]


def tags(name: str):
    """Functions that begin and end a node as an HTML element of this name."""

    def enter(translator, node):
        translator.body.append(translator.starttag(node, name, CLASS=f"clbook-{name}"))

    def leave(translator, node):
        translator.body.append(f"</{name}>\n")

    return enter, leave


def without_solutions(app, doctree, docname):
    """Take the solutions out of a page, where the environment asks for it."""
    if os.environ.get("CLBOOK_SOLUTIONS") == "off":
        for node in list(doctree.findall(solution_node)):
            node.parent.remove(node)


def setup(app):
    """Register the directive."""
    app.connect("doctree-resolved", without_solutions)
    app.add_node(quiz_option, html=tags("details"))
    app.add_node(quiz_head, html=tags("summary"))
    add_kind(app, "quiz", Quiz)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
