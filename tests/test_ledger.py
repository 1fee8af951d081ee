"""The ledger as it was built: every item of the papers, every claim once, and a filter that needs no network."""

import json
import re

import pytest
from pages import HTML, PAGES, built, source  # noqa: F401 (a fixture)

from clbook.papers import judging

KEYS = "id paper item source ours says setting bar condition measured evidence verdict margin interval chapter anchor"
LEDGER = "book/ledger.html"


@pytest.fixture(scope="module")
def ledger():
    return json.loads((HTML / "ledger.json").read_text())


def test_every_item_of_the_papers_is_listed(ledger):
    listed = {(record["paper"], record["item"]) for record in ledger}
    assert {
        (name, item["item"]) for name in judging.NAMES for item in judging.paper(name).items
    } == listed
    assert all(
        set(record) == set(KEYS.split()) and record["verdict"] in judging.VERDICTS
        for record in ledger
    )
    assert len({record["id"] for record in ledger}) == len(ledger)


def test_a_verdict_with_a_condition_says_it_and_no_other_has_one(ledger):
    for record in ledger:
        assert bool(record["condition"]) == (record["verdict"] == "holds when"), record["id"]


def test_the_ledger_says_what_the_committed_list_says(ledger):
    """A verdict that changed is a line of verdicts.txt, for a person to read."""
    judged = {record["id"]: record["verdict"] for record in ledger}
    committed = judging.committed()
    assert {id: judged[id] for id in committed} == committed


@pytest.mark.parametrize("name", judging.NAMES)
def test_lines_of_an_item_differ_in_more_than_their_verdict(name):
    page = source(f"book/papers/{name.lower()}.html")
    for item in re.findall(r'<tr id="item-.*?</tr>', page, re.DOTALL):
        lines = re.findall(r"</a>:(.*?)\(<a", item, re.DOTALL)
        assert len(set(lines)) == len(lines), lines


def test_every_claim_stands_on_one_page():
    for id in judging.committed():
        assert len([name for name in PAGES if f'id="claim-{id}"' in source(name)]) == 1, id


def test_a_chapter_leads_to_its_claims_in_one_line():
    for name in judging.NAMES:
        for claim in judging.paper(name).claims.values():
            page = source(f"book/{claim.page}.html")
            if claim.shown and "papers/" not in claim.page:
                (line,) = re.findall(r'<p class="clbook-evidence">.*?</p>', page, re.DOTALL)
                assert f'href="papers/{name.lower()}.html#claim-{claim.id}"' in line, claim.id
                assert "clbook-claims" not in page, claim.page


def test_every_claim_leads_to_its_place_in_the_chapter(ledger):
    judged = judging.committed()
    for record in ledger:
        if record["id"] in judged:
            page = source(f"book/{record['chapter']}.html")
            assert f'id="{record["anchor"]}"' in page, record["id"]


def test_without_a_script_the_ledger_shows_all(tabs, ledger):
    page = tabs(java_script_enabled=False).page
    page.goto((HTML / LEDGER).as_uri())
    items = page.query_selector_all("tr.clbook-item")
    assert len(items) == len({(record["paper"], record["item"]) for record in ledger})
    assert (
        all(item.is_visible() for item in items)
        and not page.query_selector(".clbook-filter").is_visible()
    )


def test_the_filter_leaves_what_was_asked_for(tabs):
    opened = tabs()
    opened.page.goto((HTML / LEDGER).as_uri())
    opened.page.select_option("[data-filter=paper]", "SA")
    opened.page.select_option("[data-filter=verdict]", "fails")
    shown = opened.page.eval_on_selector_all(
        "tr.clbook-item:not([hidden])", "all => all.map(e => [e.dataset.paper, e.dataset.verdicts])"
    )
    assert shown and all(
        paper == "SA" and "fails" in verdicts.split("|") for paper, verdicts in shown
    )
    lines = opened.page.eval_on_selector_all(
        "tr.clbook-item:not([hidden]) li:not([hidden])", "all => all.map(e => e.dataset.verdict)"
    )
    assert set(lines) == {"fails"}
    assert opened.page.inner_text(".clbook-filter output") == f"{len(shown)} items"
    assert [
        name
        for name in judging.NAMES
        if opened.page.get_by_role("heading", name=f"{name}: ").count()
    ] == ["SA"]
    assert opened.requests == [] and opened.errors == []


def test_the_bar_is_shown_on_focus_and_in_print(tabs):
    page = tabs().page
    page.goto((HTML / "book/papers/ls.html").as_uri())
    verdict, bar = (
        page.locator(".clbook-claims .verdict").first,
        page.locator(".clbook-claims .bar").first,
    )
    assert not bar.is_visible()
    verdict.focus()
    assert bar.is_visible() and re.match("The bar: .+", bar.inner_text())
    verdict.evaluate("element => element.blur()")
    page.emulate_media(media="print")
    assert bar.is_visible()
