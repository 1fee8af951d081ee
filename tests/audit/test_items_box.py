"""The boxes of a paper's page and of the ledger find items by the names that their authors would type."""

import pathlib

import jinja2
import pytest

from clbook_book.audit import judging

FOLDER = pathlib.Path(__file__).parents[2] / "book" / "_ext"
LOADER = jinja2.FileSystemLoader(FOLDER)
TEMPLATE = jinja2.Environment(loader=LOADER, trim_blocks=True).get_template("ledger.html")
VERDICTS = ("holds", "fails", "not tested")
ITEMS = {  # name: what it says
    "Fig. 1, a": "The same after 5 steps, as Table 2 has it.",
    "Theorem 4.3": "Nothing.",
    "Theorem 4.30": "The proof fails, tested or not.",
    "Fig. 5, a": "Nothing.",
    "Fig. 5, b": "Nothing.",
    "Section 5.1, bound": "It agrees.",
    "Table 2, two temperatures": "Nothing.",
}
NAMES = list(ITEMS)


def filled(kind, prefix="item", claims=("Fig. 5, b",), **how):
    """The HTML of a kind of table; none of its items was tested, and those in `claims` could be."""
    items = []
    for k, (name, says) in enumerate(ITEMS.items()):
        of = "not tested" if name in claims else "definition"
        item = {"id": f"{prefix}-{k}", "item": name, "says": says, "state": of, "claims": []}
        items.append(item | {"untested": "not run", "place": ""})
    given = {"papers": ("LS", "SA"), "verdicts": VERDICTS, "table": [], "words": judging.words}
    given |= {"counts": [(1, "hold")], "headlines": []}
    return TEMPLATE.render(given | {"items": items} | how, kind=kind)


def opened(tabs, folder, html):
    path = folder / "page.html"
    path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8">{html}')
    tab = tabs()
    tab.page.goto(path.as_uri())
    return tab.page


@pytest.fixture(scope="module")
def page(tabs, tmp_path_factory):
    return opened(tabs, tmp_path_factory.mktemp("items"), filled("paper-items", paper="LS"))


@pytest.fixture(scope="module")
def ledger(tabs, tmp_path_factory):
    """A ledger of two papers with the same items, one below the other."""
    tables = [filled("ledger-items", paper, NAMES, paper=paper) for paper in ("LS", "SA")]
    html = "".join(f"<section>{table}</section>" for table in tables)
    return opened(tabs, tmp_path_factory.mktemp("ledger"), filled("ledger-counts") + html)


def found(page, text):
    """The items that are shown for what is typed, from the top, and what is said about their number."""
    page.fill(".clbook-find input", text)
    rows = page.locator(".clbook-items tbody tr:visible")
    names = rows.evaluate_all("rows => rows.map((row) => row.cells[0].textContent.trim())")
    return names, page.inner_text(".clbook-find output")


def test_items_of_that_name_stand_first(page):
    three, five = ["Theorem 4.3"], ["Fig. 5, a", "Fig. 5, b"]
    first = {"Theorem 4.3": three, "thm 4.3": three, "LS thm 4.3": three}
    first |= {"theo": ["Theorem 4.3", "Theorem 4.30"], "Fig. 5": five, "figure 5": five}
    first |= {"Fig 5b": five[1:], "Tab. 2": NAMES[6:], "sec 5": NAMES[5:6]}
    for typed, names in first.items():
        assert found(page, typed)[0][: len(names)] == names, typed


def test_those_that_mention_it_come_after_them(page):
    names, told = found(page, "Fig. 5")
    assert names == ["Fig. 5, a", "Fig. 5, b", "Fig. 1, a"]
    assert told == "2 items; it is mentioned in 1 more"
    assert found(page, "agrees") == (["Section 5.1, bound"], "1 item")
    assert found(page, "lemma")[0] == []
    assert found(page, "")[0] == NAMES, "all of them again, in the paper's order"


def test_a_verdict_is_asked_for_and_not_its_words(page):
    assert found(page, "fails") == ([], "0 items"), "one item says that another fails"
    assert found(page, "Fig. 5 not tested") == (["Fig. 5, b"], "1 item")
    assert found(page, "not tested") == (["Fig. 5, b"], "1 item")


def test_what_is_found_is_in_sight(page):
    page.evaluate("document.body.style.paddingTop = '880px'")
    page.evaluate("document.body.style.paddingBottom = '880px'")
    found(page, "Tab. 2")
    page.wait_for_function(
        "document.querySelector('.clbook-items tbody tr').getBoundingClientRect().bottom <= innerHeight"
    )


@pytest.mark.parametrize(
    ("typed", "shown", "told"),
    [
        ("SA Fig. 5b", ["SA-4"], "1 item"),
        ("SA figure 5", ["SA-3", "SA-4", "SA-0"], "2 items; it is mentioned in 1 more"),
        ("thm 4.3", ["LS-1", "SA-1"], "2 items"),
        ("lemma", [], "0 items"),
        ("SA fails", [], "0 items"),
        ("LS thm 4.3 not tested", ["LS-1"], "1 item"),
    ],
)
def test_the_ledger_is_searched_by_paper_and_name(ledger, typed, shown, told):
    ledger.fill(".clbook-filter input", typed)
    rows = ledger.locator("tr.clbook-item:visible")
    names = rows.evaluate_all("rows => rows.map((row) => row.id.slice('item-'.length))")
    assert (names, ledger.inner_text(".clbook-filter output")) == (shown, told)
    ledger.fill(".clbook-filter input", "")
    assert rows.count() == 2 * len(NAMES), "all of them again"


def test_a_claim_stands_under_its_item_and_in_another_item_is_referred_to():
    claim = {"id": "toy-1", "paper": "LS", "item": "Fig. 1", "source": "LS Fig. 1; LS Fig. 2"}
    claim |= {"verdict": "holds when", "condition": "$n > 2$", "ours": False, "interval": None}
    claim |= {"says": "a < b", "measured": "$x^2$ = 3", "bar": "above 2", "anchor": "place"}
    claim |= {"theirs": "none", "here": "toy", "evidence": "one seed"}
    items = [
        {"id": f"ls-fig-{k}", "item": f"Fig. {k}", "says": "It.", "claims": [claim]} for k in (1, 2)
    ]
    places = {"row": lambda row: f"#claim-{row['id']}", "page": lambda row: "chapter.html"}
    text = filled("paper-items", paper="LS", items=items, **places)
    first, second = text.split('<tr id="item-ls-fig-')[1:]
    assert 'id="claim-toy-1"' in first and 'id="claim-toy-1"' not in second
    assert r"holds when \(n &gt; 2\)" in first and r"Found: \(x^2\) = 3" in first
    assert "Bar: above 2." in first and "a &lt; b" in first and "chapter.html#place" in first
    assert 'href="#claim-toy-1"' in second and "judged with LS Fig. 1" in second
