"""A question with numbered answers and a sentence for each, as a notebook has it: predictions and quizzes are said so.

    :::{div} quiz
    What decides which class goes where?

    1. the loss
    2. the training

    <!-- 1: The loss is the same after a shuffle. -->
    <!-- 2 right: The network moves alike points alike. -->
    :::

A notebook shows the question and the answers, and no comments.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

ANSWER = re.compile(r"^(\d)\. (.+(?:\n {3}.+)*)", re.MULTILINE)
SENTENCE = re.compile(r"<!-- (\d)( right)?: (.+?) -->", re.DOTALL)


class Question(NamedTuple):
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


class Asking(Directive):
    """A directive whose body is a question.

    Attributes:
        counts: how many answers it may have. rule: the same in words.
    """

    has_content = True
    counts = range(2, 10)
    rule = "a question has two or more"

    @classmethod
    def read(cls, text: str) -> Question:
        """The question that the body of a directive says.

        Raises:
            ValueError: another number of answers, an answer without a sentence, none or several that are right.
        """
        told = SENTENCE.findall(text)
        text = SENTENCE.sub("", text)
        answers = [" ".join(body.split()) for _, body in ANSWER.findall(text)]
        if len(answers) not in cls.counts:
            raise ValueError(f"answers = {answers!r} are not allowed: {cls.rule}")
        if [int(number) for number, _, _ in told] != list(range(1, len(answers) + 1)):
            raise ValueError(f"sentences = {told!r} are not allowed: each answer has one, in order")
        right = [k for k, (_, mark, _) in enumerate(told) if mark]
        if len(right) != 1:
            raise ValueError(f"right = {right!r} is not allowed: one answer is right")
        sentences = [" ".join(body.split()) for _, _, body in told]
        return Question(ANSWER.sub("", text).strip(), answers, sentences, right[0])

    def question(self) -> Question:
        """The question; an error of the build where it is not whole."""
        try:
            return self.read("\n".join(self.content))
        except ValueError as error:
            raise self.error(str(error)) from error

    def parsed(self, text):
        """Markdown as nodes."""
        place = nodes.container()
        lines = StringList(text.splitlines(), "question")
        self.state.nested_parse(lines, self.content_offset, place)
        return place.children
