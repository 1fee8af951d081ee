"""The questions at the end of the chapters, and how they are read."""

import re
import sys

import pytest
from test_course import ROOT, cells
from test_editorial import READ

sys.path.insert(0, str(ROOT / "book/_ext"))

from clbook_quiz import Quiz  # noqa: E402 (a module of the build)

CHAPTERS = [page.rpartition("/")[2] for page in READ if page != "book/intro"]
QUIZ = re.compile(r"^:::\{quiz\}\n(.*?)^:::$", re.DOTALL | re.MULTILINE)
GOOD = "Why?\n\n1. a\n2. b\n   c\n\n<!-- 1: Not so. -->\n<!-- 2 right: So it\nis. -->"


def test_a_question_is_read():
    assert Quiz.read(GOOD) == ("Why?", ["a", "b c"], ["Not so.", "So it is."], 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2. b\n   c\n", "", "two or more"),
        ("<!-- 1: Not so. -->\n", "", "each answer has one"),
        ("2 right", "2", "one answer is right"),
        ("<!-- 1:", "<!-- 1 right:", "one answer is right"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(old, new, said):
    with pytest.raises(ValueError, match=said):
        Quiz.read(GOOD.replace(old, new))


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_ends_with_five_questions(page):
    source = "\n\n".join(text for kind, text, _ in cells(f"book/{page}") if kind == "markdown")
    after = source.split("## What you can now do")[1]
    questions = [Quiz.read(body) for body in QUIZ.findall(after)]
    assert len(questions) == 5
    assert len({question.right for question in questions}) > 1, (
        "the right answers are not all at one place"
    )


@pytest.mark.parametrize("page", CHAPTERS)
def test_an_exercise_has_its_place_its_minutes_and_a_hint(page):
    source = "\n\n".join(text for kind, text, _ in cells(f"book/{page}") if kind == "markdown")
    posed = re.findall(r"\{exercise\}([^\n]*)\n:label: ([\w-]+)", source)
    assert posed
    for title, label in posed:
        assert re.search(
            r"\((warm-up|standard|hard); .*(paper|browser|notebook).*; \d+ min\)", title
        )
        between = source.split(f":label: {label}\n")[1].split(f"{{solution}} {label}")[0]
        assert "{dropdown} Hint" in between, label
