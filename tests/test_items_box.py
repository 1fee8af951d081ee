"""The boxes of a paper's page and of the ledger find items by the names that their authors would type."""

import pathlib

import jinja2
import pytest

FOLDER = pathlib.Path(__file__).parent.parent / "book" / "_ext"
NAMES = (
    "Fig. 1, a",
    "Theorem 4.3",
    "Theorem 4.30",
    "Fig. 5, a",
    "Fig. 5, b",
    "Section 5.1, bound",
    "Table 2, two temperatures",
)
VERDICTS = ("holds", "fails", "not tested")
SAYS = {
    "Fig. 1, a": "The same after 5 steps, as Table 2 has it.",
    "Section 5.1, bound": "It agrees.",
    "Theorem 4.30": "The proof fails, tested or not.",
}


@pytest.fixture(scope="module")
def page(tabs, tmp_path_factory):
    loader = jinja2.FileSystemLoader(FOLDER)
    template = jinja2.Environment(loader=loader, trim_blocks=True).get_template("ledger.html")
    items = [
        {
            "id": f"item-{k}",
            "item": name,
            "says": SAYS.get(name, "Nothing."),
            "claims": [],
            "kind": "claim" if name == "Fig. 5, b" else "definition",
            "untested": "not run",
        }
        for k, name in enumerate(NAMES)
    ]
    html = template.render(
        kind="paper-items", paper="LS", whose={}, verdicts=VERDICTS, items=items, words=str
    )
    path = tmp_path_factory.mktemp("items") / "items.html"
    path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8">{html}')
    opened = tabs()
    opened.page.goto(path.as_uri())
    return opened.page


def found(page, text):
    """The items that are shown for what is typed, from the top, and what is said about their number."""
    page.fill(".clbook-find input", text)
    rows = page.locator(".clbook-items tbody tr:visible")
    names = rows.evaluate_all("rows => rows.map((row) => row.cells[0].textContent.trim())")
    return names, page.inner_text(".clbook-find output")


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("Theorem 4.3", ["Theorem 4.3"]),
        ("thm 4.3", ["Theorem 4.3"]),
        ("LS thm 4.3", ["Theorem 4.3"]),
        ("theo", ["Theorem 4.3", "Theorem 4.30"]),
        ("Fig. 5", ["Fig. 5, a", "Fig. 5, b"]),
        ("figure 5", ["Fig. 5, a", "Fig. 5, b"]),
        ("Fig 5b", ["Fig. 5, b"]),
        ("Tab. 2", ["Table 2, two temperatures"]),
        ("sec 5", ["Section 5.1, bound"]),
    ],
)
def test_items_of_that_name_stand_first(page, typed, first):
    names, _ = found(page, typed)
    assert names[: len(first)] == first


def test_those_that_mention_it_come_after_them(page):
    names, told = found(page, "Fig. 5")
    assert names == ["Fig. 5, a", "Fig. 5, b", "Fig. 1, a"]
    assert told == "2 items; it is mentioned in 1 more"
    assert found(page, "agrees") == (["Section 5.1, bound"], "1 item")
    assert found(page, "lemma")[0] == []
    assert found(page, "")[0] == list(NAMES), "all of them again, in the paper's order"


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


def test_what_the_book_asked_itself_is_marked_in_the_table_of_a_paper():
    loader = jinja2.FileSystemLoader(FOLDER)
    template = jinja2.Environment(loader=loader, trim_blocks=True).get_template("ledger.html")
    record = {"verdict": "holds", "says": "It is so."}
    claims = [record | {"ours": ours} for ours in (False, True, "code")]
    html = template.render(
        kind="paper-items",
        paper="LS",
        whose={},
        verdicts=VERDICTS,
        items=[{"id": "item", "item": "Fig. 1", "says": "Nothing.", "claims": claims}],
        words=str,
        row=lambda record: "#row",
        page=lambda record: "page",
    )
    marks = [
        line.partition("</a>")[2].partition(":")[0] for line in html.splitlines() if "#row" in line
    ]
    assert marks == ["", " (our question)", " (a check of our code)"]


@pytest.fixture(scope="module")
def ledger(tabs, tmp_path_factory):
    """A ledger of two papers with the same items, one below the other."""
    loader = jinja2.FileSystemLoader(FOLDER)
    template = jinja2.Environment(loader=loader, trim_blocks=True).get_template("ledger.html")
    given = {
        "whose": {},
        "papers": ("LS", "SA"),
        "verdicts": VERDICTS,
        "table": [],
        "words": str,
    }
    html = template.render(given, kind="ledger-counts")
    for paper in ("LS", "SA"):
        items = [
            {
                "id": f"{paper}-{k}",
                "item": name,
                "place": "",
                "says": SAYS.get(name, "Nothing."),
                "claims": [],
                "untested": "not run",
            }
            for k, name in enumerate(NAMES)
        ]
        table = template.render(given, kind="ledger-items", paper=paper, items=items)
        html += f"<section>{table}</section>"
    path = tmp_path_factory.mktemp("ledger") / "ledger.html"
    path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8">{html}')
    opened = tabs()
    opened.page.goto(path.as_uri())
    return opened.page


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
