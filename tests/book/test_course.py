"""The book as a course, from its sources: terms come before their use, exercises have solutions that run."""

import re

import pytest
from clbook_predict import Predict
from clbook_quiz import Quiz
from sources import CHAPTERS, NOTEBOOKS, PAGES, ROOT, markdown

FENCED = r"^(`{{3,}}|:{{3,}})\{{({})\}}[^\n]*\n.*?^\1\s*$"
FOLDED = re.compile(
    FENCED.format("exercise|solution|dropdown|glossary|bibliography|quiz"), re.DOTALL | re.MULTILINE
)
# Entries whose names are everyday words too: a page may use those before the book gives them a meaning of its own.
EVERYDAY = {"Block", "Content", "Gain", "Key", "Ratio", "Reach", "Record", "Style", "Symbol"}


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


def glossary():
    """(terms, page where they are first used) of each entry."""
    text = (ROOT / "book/glossary.md").read_text()
    body = re.search(r"\{glossary\}\n:sorted:\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]
    for entry in re.split(r"\n\n+", body.strip()):
        terms = [line for line in entry.splitlines() if not line.startswith(" ")]
        first = " ".join(entry.split()).rpartition(" First in {doc}`")[2]
        yield terms, f"book/{first.removesuffix('`')}"


@pytest.mark.parametrize(
    ("terms", "page"), [pytest.param(terms, page, id=terms[0]) for terms, page in glossary()]
)
def test_terms_are_defined_at_or_before_their_first_use(terms, page):
    """No page before the one that introduces a term uses it, unless it links to the glossary."""
    assert page in PAGES, terms
    if terms[0] in EVERYDAY:
        return
    # written as in the glossary: short names as they are, other words in any case
    patterns = [
        re.compile(rf"(?<![\w`]){re.escape(term)}(?!\w)", 0 if term.isupper() else re.IGNORECASE)
        for term in terms
    ]
    for earlier in PAGES[: PAGES.index(page)]:
        source = markdown(earlier)
        links = r"\{(term|doc|ref|numref|prf:ref|cite:?\w*|eq)\}`[^`]*`"
        text = re.sub(links, "", FOLDED.sub("", source))
        if any(pattern.search(text) for pattern in patterns):
            linked = [rf"\{{term\}}`[^`]*{re.escape(term)}" for term in terms]
            assert re.search("|".join(linked), source, re.IGNORECASE), f"{terms} on {earlier}"
