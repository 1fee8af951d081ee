"""The English of the chapters, counted: `python tests/test_editorial.py` lists what is against the rules, page by page.

Exercises, solutions and folded evidence are left out, as are formulas and code. A chapter speaks of what happens; how
that was judged, and to how many decimals, stands on the papers' pages.
"""

import json
import re
import sys

import pytest
from test_course import CHAPTERS, FOLDED, ROOT, cells, prose

OTHERS = {"sizes"}  # a page of commands
READ = [page for page in CHAPTERS if page.rpartition("/")[2] not in OTHERS]
PREDICTED = re.compile(
    r"^:::\{predict\}.*?^:::$|^\*\*Predict first\.\*\*.*?(?=^$|\Z)(\n\d\. .*?(?=^$|\Z))?",
    re.DOTALL | re.MULTILINE,
)
VERDICT = r"\b(holds|fails|undecided|not seen here|seen here|misprinted|not tested)\b"
LETTERS = r"\b(LS|VA|SA|SL|CS)\b"
PHRASES = [  # what no native would write; what to write instead
    (r"\bshall\b", "should"),
    (r"\bparted\b|\b(colours?|clusters?|threshold|twins|weights) parts?\b", "separate"),
    (r"\b(lines|classes|flows|they) part\b", "separate"),
    (r"\bparts (the|them|clusters)\b|\bto part\b|\bBlack lines part\b", "separate"),
    (r"below the (fraction )?line\b|above it the sum", "in the denominator"),
    (r"\b(read|are|is|neighbours) right for\b|\bright for 0", "accuracy"),
    (
        r"\b(an?|one) (line|number|colour|disc|interval|score|file|row|dot|step) a (point|seed|class|network|pair)\b",
        "per",
    ),
    (r"\bOne line a point\b|\ba number a point\b", "per"),
    (r"stands? on \{doc\}|says besides|how we judge is said in", "the paper's other claims are on its page"),
    (r"Level: middle|middle level", "intermediate"),
    (r"for the eye; the picture", "say it plainly"),
    (r"What it comes to", "Putting it together"),
    (r"has the loose|[Ww]here the (statement|paper|statements)s? (is|are) loose", "imprecise"),
    (r"stands still", "stops changing"),
    (r"thrown (far )?out", "pushed far away"),
    (r"is drowned", "no longer matters"),
    (r"fall together", "collapse to one vector"),
    (r"all but the same", "nearly the same"),
    (r"in a hundred\b", "per cent"),
    (r"[Ss]ynonyms that people made", "natural synonyms"),
    (r"told the length", "sees only the length"),
    (r"as a part of", "as a fraction of"),
    (r"[Tt]o mend\b", "to cure"),
]  # fmt: skip


def captions(page):
    """The captions of the page's figures."""
    found = []
    for cell in json.loads((ROOT / f"{page}.ipynb").read_text())["cells"]:
        found.append(cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", ""))
    return "\n\n".join(found)


def open_text(page):
    """What a reader of the page reads unasked, without the keys of citations, the numbers of items and predictions."""
    text = re.sub(r"\b[a-z]+\d{4}[a-z]+\b", "", PREDICTED.sub("", prose(page)))
    return re.sub(r"\(\d\)", "", text)


def sentences(text):
    """The sentences of a text; a cell of a table is one, and the number of a list's item is none."""
    text = re.sub(r"^(\d+\.|\*\*\(\d\)\*\*)\s", "", re.sub("`[^`]+`", "code", text), flags=re.M)
    return re.split(r"(?<=[.!?:])\s|\n\n|\n[-*] |\|", text)


def findings(page):
    """[(rule, what is against it)] of a page."""
    text, source = (
        open_text(page),
        "\n\n".join(t for kind, t, _ in cells(page) if kind == "markdown"),
    )
    every = text + "\n\n" + captions(page)
    found = [("verdict word", word) for word in re.findall(VERDICT, every)]
    found += [
        ("paper's letters", each) for each in re.findall(rf".{{0,30}}{LETTERS}.{{0,20}}", every)
    ]
    found += [("three decimals", number) for number in re.findall(r"\d\.\d{3,}", every)]
    found += [("claim in a sentence", "{claim}")] * FOLDED.sub("", source).count("{claim}")
    for sentence in sentences(text):
        if len(re.findall(r"\d[\d.,]*", sentence)) > 2:
            found.append(("more than two numbers", " ".join(sentence.split())))
    for pattern, instead in PHRASES:
        for hit in re.finditer(pattern, PREDICTED.sub("", FOLDED.sub("", source)) + captions(page)):
            found.append((instead, hit[0]))
    return found


@pytest.mark.parametrize("page", READ)
def test_a_chapter_is_plain_english(page):
    assert findings(page) == []


if __name__ == "__main__":
    total = 0
    for each in READ:
        found = findings(each)
        total += len(found)
        print(f"{each}: {len(found)}")
        for rule, what in found:
            print(f"    {rule}: {what}")
    sys.exit(total > 0)
