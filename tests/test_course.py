"""The book as a course: how long its pages are, that terms come before their use, and that exercises can be solved."""

import itertools
import json
import pathlib
import re

import pytest
import yaml

from clbook.papers import judging

ROOT = pathlib.Path(__file__).parent.parent
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"]] + [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
NOTEBOOKS = [page for page in PAGES if (ROOT / f"{page}.ipynb").exists()]
CHAPTERS = [page for page in NOTEBOOKS if "papers" not in page]
CLAIMS = [claim for name in judging.NAMES for claim in judging.paper(name).claims.values()]
JUDGING = {claim.page for claim in CLAIMS if claim.shown}
FENCED = r"^(`{{3,}}|:{{3,}})\{{({})\}}[^\n]*\n.*?^\1\s*$"
FOLDED = re.compile(
    FENCED.format("exercise|solution|dropdown|glossary|bibliography|quiz"), re.DOTALL | re.MULTILINE
)
MOST_WORDS, MOST_MINUTES = 2900, 82
# The answers of a prediction: a reader weighs them, and reads none of the sentences but one.
ANSWERS = re.compile(r"(?<=\n)\d\. [^\n]+\n(?=(?:\d\. |\n<!-- 1))")
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


def prose(page, spared=None):
    """The open text of a page: no exercises, no code, formulas as one word, without what matches `spared`."""
    text = FOLDED.sub(
        "", "\n\n".join(source for kind, source, _ in cells(page) if kind == "markdown")
    )
    text = spared.sub("", text) if spared else text
    text = re.sub(r"^```python\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\$\$.*?^\$\$[^\n]*$", " formula ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$[^$]+\$", " x ", text)
    text = re.sub(
        r"^(`{3,}|:{3,})[^\n]*$|^:\w+:[^\n]*$|^\([\w-]+\)=$|<[^>]+>", "", text, flags=re.MULTILINE
    )
    return re.sub(r"\{[\w:]+\}`([^`<]*)(<[^>]*>)?`", r"\1", text)


def measured(page):
    """Words of open text, and minutes: 1 for 100 words, 3 an equation, 2 a figure or table, 4 an explorer."""
    source = "\n".join(source for kind, source, _ in cells(page) if kind == "markdown")
    code = [
        source for kind, source, tags in cells(page) if kind == "code" and "remove-cell" not in tags
    ]
    words = len(re.findall(r"[^\W_][\w'’.,-]*", prose(page, ANSWERS)))
    explorers = sum(len(re.findall(r"\bexplore\(", text)) for text in code)
    notebook = ROOT / f"{page}.ipynb"
    figures = notebook.read_text().count('"figure"') if notebook.exists() else 0
    tables = sum(len(re.findall(r"^Table\(", text, re.MULTILINE)) for text in code)
    equations = len(re.findall(r"^\$\$", FOLDED.sub("", source), re.MULTILINE)) // 2
    return {
        "words": words,
        "equations": equations,
        "figures": figures,
        "tables": tables,
        "explorers": explorers,
        "minutes": round(words / 100 + 3 * equations + 2 * (figures + tables) + 4 * explorers),
    }


def exercises(page):
    """(label, title) of each exercise of the page, and the labels that have a solution."""
    source = "\n".join(source for kind, source, _ in cells(page) if kind == "markdown")
    posed = re.findall(r"\{exercise\}([^\n]*)\n:label: ([\w-]+)", source)
    return [(label, title) for title, label in posed], set(
        re.findall(r"\{solution\} ([\w-]+)", source)
    )


def implementations(page):
    """The solutions in code: blocks that begin with the comment "implement it"."""
    source = "\n".join(source for kind, source, _ in cells(page) if kind == "markdown")
    blocks = re.findall(
        r"^(`{3,})python\n(# implement it.*?)^\1$", source, re.DOTALL | re.MULTILINE
    )
    return [block for _, block in blocks]


def shown(name):
    """How many claims stand on the page of the chapter."""
    return sum(claim.shown for claim in CLAIMS if claim.page == name)


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_is_read_in_about_an_hour(page):
    found = measured(page)
    print(page, found, f"{shown(pathlib.Path(page).name)} claims")
    assert found["words"] <= MOST_WORDS and found["minutes"] <= MOST_MINUTES


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_time_that_a_chapter_tells_is_what_it_takes(page):
    source = "\n".join(source for kind, source, _ in cells(page) if kind == "markdown")
    told = re.search(r"\(about (\d+) minutes", source)
    if told:
        assert int(told[1]) == pytest.approx(measured(page)["minutes"], rel=0.2)


@pytest.mark.parametrize("page", ["book/why", "book/practice"])
def test_the_open_text_has_no_verdicts_and_few_numbers(page):
    """What was measured, and how it was judged, is folded away."""
    source = "\n\n".join(source for kind, source, _ in cells(page) if kind == "markdown")
    assert "{claim}" not in FOLDED.sub("", source)
    assert source.count("{claim}") > 15, "the evidence is on the page"
    text = prose(page)
    verdicts = r"\b(holds|fails|undecided|not seen here|seen here|misprinted|not tested)\b"
    assert re.findall(verdicts, text) == []
    assert re.findall(r"\d\.\d{3,}", text) == []
    for sentence in re.split(r"(?<=[.!?:])\s|\n\n|\|", re.sub("`[^`]+`", "code", text)):
        assert len(re.findall(r"\d[\d.,]*", sentence)) <= 2, sentence


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_exercise_has_a_level_and_a_solution(page):
    posed, solved = exercises(page)
    for label, title in posed:
        assert re.search(r"\((warm-up|standard|hard)[;),]", title), (label, title)
        assert label in solved, label


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_explorer_has_its_question_and_a_computed_answer(page):
    found = cells(page)
    for k, (kind, source, _) in enumerate(found):
        if kind == "code" and re.search(r"\bexplore\(", source):
            before = next(text for kind, text, _ in reversed(found[:k]) if kind == "markdown")
            assert "Predict first" in before, before[-300:]
            after = itertools.takewhile(
                lambda cell: not re.search(r"\bexplore\(", cell[1]), found[k + 1 :]
            )
            assert any(kind == "code" and "hide-cell" in tags for kind, _, tags in after), source


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=f"{page}-{k}")
        for page in NOTEBOOKS
        for k, block in enumerate(implementations(page))
    ],
)
def test_solutions_in_code_run_and_check_themselves(block):
    assert "assert" in block
    exec(compile(block, "solution", "exec"), {})


def test_every_chapter_has_something_to_implement():
    assert [name for name in JUDGING if not implementations(f"book/{name}")] == []


def test_a_chapter_shows_five_to_seven_claims_on_its_own_question():
    for name in JUDGING:
        assert 5 <= shown(name) <= 7, name


def glossary():
    """(terms, page where they are first used) of each entry."""
    text = (ROOT / "book/glossary.md").read_text()
    body = re.search(r"\{glossary\}\n:sorted:\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]
    for entry in re.split(r"\n\n+", body.strip()):
        terms = [line for line in entry.splitlines() if not line.startswith(" ")]
        page = re.search(r"First in \{doc\}`([\w/]+)`", entry)
        yield terms, page and f"book/{page[1]}"


@pytest.mark.parametrize(
    ("terms", "page"),
    [pytest.param(*entry, id=entry[0][0]) for entry in glossary() if entry[0][0] not in EVERYDAY],
)
def test_terms_are_defined_at_or_before_their_first_use(terms, page):
    """No page before the one that introduces a term uses it, unless it links to the glossary."""
    assert page in PAGES, terms
    # written as in the glossary: short names as they are, other words in any case
    patterns = [
        re.compile(rf"(?<![\w`]){re.escape(term)}(?!\w)", 0 if term.isupper() else re.IGNORECASE)
        for term in terms
    ]
    for earlier in PAGES[: PAGES.index(page)]:
        source = "\n".join(source for kind, source, _ in cells(earlier) if kind == "markdown")
        text = re.sub(
            r"\{(term|doc|ref|numref|prf:ref|cite:?\w*|eq)\}`[^`]*`", "", FOLDED.sub("", source)
        )
        used = [pattern.pattern for pattern in patterns if pattern.search(text)]
        linked = any(
            re.search(rf"\{{term\}}`[^`]*{re.escape(term)}", source, re.IGNORECASE)
            for term in terms
        )
        assert not used or linked, f"{terms} on {earlier}"
