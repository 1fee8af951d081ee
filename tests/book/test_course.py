"""The book as a course, from its sources: terms come before their use, exercises have solutions that run."""

import re

import pytest
from clbook_div import Div
from clbook_predict import Predict
from clbook_quiz import Quiz
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from myst_parser.docutils_ import Parser
from sources import CHAPTERS, NOTEBOOKS, markdown


def implementations(page):
    """The solutions in code: blocks that begin with the comment "implement it"."""
    found = r"^(`{3,})python\n(# implement it.*?)^\1$"
    return [block for _, block in re.findall(found, markdown(page), re.DOTALL | re.MULTILINE)]


@pytest.mark.parametrize("page", CHAPTERS)
def test_an_exercise_has_a_solution(page):
    posed = re.findall(r"\{exercise\}[^\n]*\n:label: ([\w-]+)", markdown(page))
    assert [label for label in posed if f"{{solution}} {label}\n" not in markdown(page)] == []


CODE = [(page, block) for page in NOTEBOOKS for block in implementations(page)]


@pytest.mark.parametrize(("page", "block"), CODE, ids=[page for page, _ in CODE])
def test_solutions_in_code_run_and_check_themselves(page, block):
    assert "assert" in block
    exec(compile(block, "solution", "exec"), {})


GOOD = "Why?\n\n1. a\n2. b\n   c\n\n<!-- 1: Not so. -->\n<!-- 2 right: So it\nis. -->"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2. b\n   c\n", "", "two or more"),
        ("<!-- 1: Not so. -->\n", "", "each answer has one"),
        ("2 right", "2", "one answer is right"),
        ("<!-- 1:", "<!-- 1 right:", "one answer is right"),
    ],
)
def test_a_question_is_read_and_one_that_cannot_be_answered_is_refused(old, new, said):
    assert Quiz.read(GOOD) == ("Why?", ["a", "b c"], ["Not so.", "So it is."], 1)
    with pytest.raises(ValueError, match=said):
        Quiz.read(GOOD.replace(old, new))
    with pytest.raises(ValueError, match="a prediction has three"):
        Predict.read(GOOD)


@pytest.mark.parametrize(
    ("kind", "said"), [("predict", r"\[\] .* has 1"), ("quiz x", "'x'.* has 0")]
)
def test_a_div_with_a_name_too_few_or_too_many_is_told_with_page_and_line(
    monkeypatch, capsys, kind, said
):
    monkeypatch.setattr(Div, "kinds", {"predict": Predict, "quiz": Quiz})
    monkeypatch.setitem(directives._directives, "div", Div)
    how = {"myst_enable_extensions": ["colon_fence"]}
    text = f"Text.\n\n:::{{div}} {kind}\n{GOOD}\n:::"
    publish_doctree(text, source_path="page.md", parser=Parser(), settings_overrides=how)
    assert re.search(rf"page.md:3: .*names = .*{said}", capsys.readouterr().err)
