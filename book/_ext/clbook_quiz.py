"""Sphinx extension of the book: a question at the end of a chapter, whose answers say why they are right or wrong.

`CLBOOK_SOLUTIONS=off jupyter-book build .` makes a book without the solutions of the exercises, for a class.

    :::{quiz}
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
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx_exercise.nodes import solution_node

ANSWER = re.compile(r"^(\d)\. (.+(?:\n {3}.+)*)", re.MULTILINE)
SENTENCE = re.compile(r"<!-- (\d)( right)?: (.+?) -->", re.DOTALL)


class quiz_option(nodes.container):  # noqa: N801 (docutils names its nodes so)
    """An answer with its sentence: a paragraph to open, and one behind it."""


class quiz_head(nodes.container):  # noqa: N801
    """What of an answer is shown before it is opened."""


def read(text: str) -> tuple[str, list[tuple[str, str, bool]]]:
    """The question, and (answer, sentence, whether it is right) of each answer.

    Raises:
        ValueError: for fewer than two answers, an answer without a sentence, none or several that are right.
    """
    told = SENTENCE.findall(text)
    text = SENTENCE.sub("", text)
    answers = [" ".join(body.split()) for _, body in ANSWER.findall(text)]
    if len(answers) < 2:
        raise ValueError(f"answers = {answers!r} are not allowed: a question has two or more")
    if [int(number) for number, _, _ in told] != list(range(1, len(answers) + 1)):
        raise ValueError(f"sentences = {told!r} are not allowed: each answer has one, in order")
    if sum(bool(mark) for _, mark, _ in told) != 1:
        raise ValueError(f"sentences = {told!r} are not allowed: one answer is right")
    options = []
    for answer, (_, mark, sentence) in zip(answers, told, strict=True):
        options.append((answer, " ".join(sentence.split()), bool(mark)))
    return ANSWER.sub("", text).strip(), options


class Quiz(Directive):
    """`{quiz}`: its body is a question, its answers, and a comment for each of them."""

    has_content = True

    def run(self):
        try:
            question, options = read("\n".join(self.content))
        except ValueError as error:
            raise self.error(str(error)) from error
        box = nodes.container(classes=["clbook-quiz"])
        box += self.parsed(question)
        for answer, sentence, right in options:
            one = quiz_option(right=right)
            head = quiz_head()
            head += self.parsed(answer)
            one += head
            one += self.parsed(("**Right.** " if right else "**No.** ") + sentence)
            box += one
        return [box]

    def parsed(self, text):
        """Markdown as nodes."""
        place = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), "quiz"), self.content_offset, place)
        return place.children


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
    app.add_directive("quiz", Quiz)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
