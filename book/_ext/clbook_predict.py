"""Sphinx extension of the book: a prediction, three answers to choose from, and a sentence for each.

    :::{predict} walk-eps
    **Predict first.** Will the clusters separate earlier or later?

    1. earlier
    2. later
    3. at the same time

    <!-- 1: A wide start has no linear phase. -->
    <!-- 2 right: The wider the start, the less room the exponential has. -->
    <!-- 3: Only where the square of the width over the temperature is the same. -->
    :::

A notebook shows the question and the answers, and no comments. In the page `predict.js` makes a form of it, and covers
what answers it until the reader has committed or skips; without a script all of it stands there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

ANSWER = re.compile(r"^(\d)\. (.+(?:\n {3}.+)*)", re.MULTILINE)
SENTENCE = re.compile(r"<!-- (\d)( right)?: (.+?) -->", re.DOTALL)


class reasons(nodes.container):  # noqa: N801 (docutils names its nodes so)
    """What each answer is told, behind the answers."""


class Prediction(NamedTuple):
    """A question with its answers.

    Attributes:
        question: its text, Markdown.
        answers: the answers, Markdown.
        sentences: one for each of them.
        right: the number of the right one, from 0.
    """

    question: str
    answers: list[str]
    sentences: list[str]
    right: int


def read(text: str) -> Prediction:
    """The prediction that the body of a directive says.

    Raises:
        ValueError: other than three answers, an answer without a sentence, none or several that are right.
    """
    told = SENTENCE.findall(text)
    text = SENTENCE.sub("", text)
    answers = [" ".join(body.split()) for _, body in ANSWER.findall(text)]
    if len(answers) != 3:
        raise ValueError(f"answers = {answers!r} are not allowed: a prediction has three")
    if [int(number) for number, _, _ in told] != [1, 2, 3]:
        raise ValueError(f"sentences = {told!r} are not allowed: each answer has one, in order")
    right = [k for k, (_, mark, _) in enumerate(told) if mark]
    if len(right) != 1:
        raise ValueError(f"right = {right!r} is not allowed: one answer is right")
    sentences = [" ".join(body.split()) for _, _, body in told]
    return Prediction(ANSWER.sub("", text).strip(), answers, sentences, right[0])


class Predict(Directive):
    """`{predict} name`: the name is what a link to it, and the reader's browser, calls it."""

    required_arguments = 1
    has_content = True

    def run(self):
        try:
            found = read("\n".join(self.content))
        except ValueError as error:
            raise self.error(str(error)) from error
        box = nodes.container(classes=["clbook-predict"], ids=[f"predict-{self.arguments[0]}"])
        box += self.parsed(found.question)
        box += self.numbered(found.answers, "clbook-answers")
        why = reasons(classes=["clbook-reasons"])
        why += self.numbered(found.sentences, "clbook-sentences")
        why[0][found.right]["classes"].append("clbook-right")
        number = found.right + 1
        said = nodes.paragraph("", f"Answer {number} is right.", classes=["clbook-which"])
        why.insert(0, said)
        box += why
        return [box]

    def parsed(self, text):
        """Markdown as nodes."""
        place = nodes.container()
        lines = text.splitlines()
        self.state.nested_parse(StringList(lines, "prediction"), self.content_offset, place)
        return place.children

    def numbered(self, texts, name):
        """A numbered list of Markdown texts."""
        items = nodes.enumerated_list(classes=[name], enumtype="arabic", prefix="", suffix=".")
        for text in texts:
            items += nodes.list_item("", *self.parsed(text))
        return items


def enter(translator, node):
    """Begin the reasons in a page."""
    translator.body.append(translator.starttag(node, "div", CLASS="docutils container"))


def leave(translator, node):
    """End the reasons in a page."""
    translator.body.append("</div>\n")


def setup(app):
    """Register the directive, and the script that asks in the page."""
    app.add_node(reasons, html=(enter, leave))
    app.add_directive("predict", Predict)
    app.add_js_file("predict.js")
    app.add_css_file("predict.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
