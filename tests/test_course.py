"""The book as a course, from its sources: terms come before their use, exercises and questions are whole.

Exercises, solutions and folded evidence are left out of what a chapter must not say, as are formulas and code.
"""

import itertools
import json
import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "book/_ext"))
from clbook_predict import Predict  # noqa: E402 (modules of the build)
from clbook_quiz import Quiz  # noqa: E402

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"]] + [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
NOTEBOOKS = [page for page in PAGES if (ROOT / f"{page}.ipynb").exists()]
CHAPTERS = [page for page in NOTEBOOKS if "papers" not in page]
TAUGHT = [page for page in CHAPTERS if page != "book/sizes"]  # that is a page of commands
FENCED = r"^(`{{3,}}|:{{3,}})\{{({})\}}[^\n]*\n.*?^\1\s*$"
FOLDED = re.compile(
    FENCED.format("exercise|solution|dropdown|glossary|bibliography|quiz"), re.DOTALL | re.MULTILINE
)
PREDICTED = re.compile(r"^:::\{predict\} ([\w-]+)\n(.*?)^:::$", re.DOTALL | re.MULTILINE)
ASKED = re.compile(r"^:::\{quiz\}\n(.*?)^:::$", re.DOTALL | re.MULTILINE)
# Entries whose names are everyday words too: a page may use those before the book gives them a meaning of its own.
EVERYDAY = {"Block", "Content", "Gain", "Key", "Ratio", "Reach", "Record", "Style", "Symbol"}


def cells(page):
    """(kind, source, tags) of the page's cells; a text page is one cell."""
    text = ROOT / f"{page}.md"
    if text.exists():
        return [("markdown", text.read_text(), set())]
    notebook = json.loads((ROOT / f"{page}.ipynb").read_text())
    return [
        (cell["cell_type"], "".join(cell["source"]), set(cell["metadata"].get("tags", [])))
        for cell in notebook["cells"]
    ]


def markdown(page):
    """All text of a page."""
    return "\n\n".join(source for kind, source, _ in cells(page) if kind == "markdown")


def prose(page):
    """The open text of a chapter: no exercises, predictions, code and keys of citations, formulas as one word."""
    text = PREDICTED.sub("", FOLDED.sub("", markdown(page)))
    text = re.sub(r"^```python\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|<[^>]+>", " x ", text, flags=re.DOTALL)
    return re.sub(r"\b[a-z]+\d{4}[a-z]+\b", "", text)


def implementations(page):
    """The solutions in code: blocks that begin with the comment "implement it"."""
    found = r"^(`{3,})python\n(# implement it.*?)^\1$"
    return [block for _, block in re.findall(found, markdown(page), re.DOTALL | re.MULTILINE)]


# --- exercises and questions ---


@pytest.mark.parametrize("page", CHAPTERS)
def test_an_exercise_is_whole(page):
    """Level and solution; where the page is taught in a course also its place, its minutes and a hint."""
    source = markdown(page)
    for title, label in re.findall(r"\{exercise\}([^\n]*)\n:label: ([\w-]+)", source):
        assert re.search(r"\((warm-up|standard|hard)[;),]", title), (label, title)
        posed, found, _ = source.split(f":label: {label}\n")[1].partition(f"{{solution}} {label}\n")
        assert found, label
        if page in TAUGHT[1:]:
            assert re.search(r"; .*(paper|browser|notebook).*; \d+ min\)", title), label
            assert "{dropdown} Hint" in posed, label


CODE = [(page, block) for page in NOTEBOOKS for block in implementations(page)]


@pytest.mark.parametrize(("page", "block"), CODE, ids=[page for page, _ in CODE])
def test_solutions_in_code_run_and_check_themselves(page, block):
    assert "assert" in block
    exec(compile(block, "solution", "exec"), {})


@pytest.mark.parametrize("page", TAUGHT[1:])
def test_a_chapter_ends_with_five_questions(page):
    after = markdown(page).split("## What you can now do")[1]
    right = [Quiz.read(body).right for body in ASKED.findall(after)]
    assert len(right) == 5 and len(set(right)) > 1


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_prompt_is_a_prediction_with_three_answers(page):
    names = []
    for name, body in PREDICTED.findall(markdown(page)):
        found = Predict.read(body)
        assert found.question.startswith("**Predict first.**") and len(set(found.answers)) == 3
        names.append(name)
    assert "Predict first" not in PREDICTED.sub("", markdown(page))
    assert len(set(names)) == len(names)


def test_the_right_answer_of_a_prediction_has_no_place_of_its_own():
    asked = [body for page in CHAPTERS for _, body in PREDICTED.findall(markdown(page))]
    right = [Predict.read(body).right for body in asked]
    assert len(right) > 30 and min(map(right.count, range(3))) >= 3


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_explorer_has_its_question_and_a_computed_answer(page):
    found = cells(page)
    for k, (kind, source, _) in enumerate(found):
        if kind == "code" and re.search(r"\bexplore\(", source):
            before = next(text for kind, text, _ in reversed(found[:k]) if kind == "markdown")
            assert "Predict first" in before, before[-300:]
            after = itertools.takewhile(lambda cell: "explore(" not in cell[1], found[k + 1 :])
            assert any("hide-cell" in tags for _, _, tags in after), source


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


# --- what a chapter says ---


@pytest.mark.parametrize("page", TAUGHT)
def test_a_chapter_has_none_of_an_audit_s_words(page):
    """No verdicts, no "LS" as the name of a loss, no three decimals, no claim in an open sentence."""
    captions = re.findall(r'"caption": "(.*)"', (ROOT / f"{page}.ipynb").read_text())
    text = "\n\n".join([prose(page), *captions])
    audit = r"\b(holds|fails|undecided|(?:not )?seen here|misprinted|not tested|LS|VA|SA|SL|CS)\b"
    assert re.findall(audit + r"|\d\.\d{3,}|\{claim\}", text) == []


# --- terms ---


def glossary():
    """(terms, definition, page where they are first used) of each entry."""
    text = (ROOT / "book/glossary.md").read_text()
    body = re.search(r"\{glossary\}\n:sorted:\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]
    for entry in re.split(r"\n\n+", body.strip()):
        terms = [line for line in entry.splitlines() if not line.startswith(" ")]
        meaning, _, first = " ".join(entry.split()).rpartition(" First in {doc}`")
        yield terms, meaning, f"book/{first.removesuffix('`')}"


def test_every_term_is_defined_once():
    names = [term.lower() for terms, *_ in glossary() for term in terms]
    assert len(names) >= 60 and len(set(names)) == len(names)
    for terms, meaning, _ in glossary():
        assert meaning.endswith(".") and len(meaning.removeprefix(" ".join(terms)).split()) >= 5


@pytest.mark.parametrize(
    ("terms", "page"), [pytest.param(terms, page, id=terms[0]) for terms, _, page in glossary()]
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
