"""The ledger as it was built: every item of the papers, every claim once, and a filter that needs no network."""

import json
import re

import pytest
from pages import HTML, PAGES, built, source  # noqa: F401 (a fixture)

from clbook_book.audit import judging

KEYS = "id paper item source ours says setting bar condition measured evidence verdict margin interval chapter anchor"
LEDGER = "book/ledger.html"


@pytest.fixture(scope="module")
def ledger():
    return json.loads((HTML / "ledger.json").read_text())


def test_every_item_of_the_papers_is_listed(ledger):
    listed = {(record["paper"], record["item"]) for record in ledger}
    papers = {name: judging.paper(name).items for name in judging.NAMES}
    assert listed == {(name, item["item"]) for name, items in papers.items() for item in items}
    for record in ledger:
        assert set(record) == set(KEYS.split()) and record["verdict"] in judging.VERDICTS
        assert bool(record["condition"]) == (record["verdict"] == "holds when"), record["id"]
    assert len({record["id"] for record in ledger}) == len(ledger)


def test_the_ledger_says_what_the_committed_list_says(ledger):
    """A verdict that changed is a line of verdicts.txt, for a person to read."""
    judged = {record["id"]: record["verdict"] for record in ledger}
    committed = judging.committed()
    assert {id: judged[id] for id in committed} == committed


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
                assert "clbook-items" not in page, claim.page


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
    assert all(item.is_visible() for item in items)
    assert not page.query_selector(".clbook-filter").is_visible()


def test_the_filter_leaves_what_was_asked_for(tabs):
    opened = tabs()
    page, items = opened.page, "tr.clbook-item:not([hidden])"
    page.goto((HTML / LEDGER).as_uri())
    page.select_option("[data-filter=paper]", "SA")
    page.select_option("[data-filter=verdict]", "fails")
    found = "all => all.map(e => [e.dataset.paper, e.dataset.verdicts])"
    shown = page.eval_on_selector_all(items, found)
    assert shown and {paper for paper, _ in shown} == {"SA"}
    assert all("fails" in verdicts.split("|") for _, verdicts in shown)
    lines = page.locator(f"{items} li:not([hidden])")
    assert set(lines.evaluate_all("all => all.map(e => e.dataset.verdict)")) == {"fails"}
    assert page.inner_text(".clbook-filter output") == f"{len(shown)} items"
    headed = {n for n in judging.NAMES if page.get_by_role("heading", name=f"{n}: ").count()}
    assert headed == {"SA"}
    assert opened.requests == [] and opened.errors == []


def test_a_verdict_its_figure_and_its_bar_are_seen_and_the_setting_is_folded(tabs):
    page = tabs().page
    page.goto((HTML / "book/papers/ls.html").as_uri())
    claim = page.locator("#claim-ls-theorem-3-1")
    for part in ("verdict", "measured", "bar"):
        assert claim.locator(f".{part}").is_visible(), part
    setting = claim.locator(".setting")
    assert not setting.is_visible()
    claim.locator("summary").click()
    assert setting.is_visible()


def test_a_link_to_the_runs_unfolds_their_section(tabs):
    page = tabs().page
    page.goto((HTML / "book/papers/ls.html").as_uri())
    opened = "[...document.querySelectorAll('details.clbook-runs[open]')].map(e => e.parentNode.id)"
    assert page.locator("details.clbook-runs").count() > 10 and page.evaluate(opened) == []
    claim = page.locator("#claim-ls-persist")
    claim.locator("summary").click()
    claim.get_by_text("The runs").click()
    page.wait_for_function(f"{opened}.length == 1")
    assert page.locator("#ls-linear").evaluate("e => Math.abs(e.getBoundingClientRect().top)") < 200
    page.goto((HTML / "book/papers/ls.html").as_uri() + "#threshold:tau=0.2")
    threshold = page.locator("figure.clbook-explorer").filter(
        has_text="Where the plateau is reached"
    )
    threshold.wait_for(state="visible")


@pytest.mark.parametrize("name", judging.NAMES)
def test_the_first_screen_has_the_counts_and_what_weighs_most(tabs, name):
    page = tabs().page
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((HTML / f"book/papers/{name.lower()}.html").as_uri())
    headlines = page.locator(".clbook-headlines li")
    assert headlines.count() == 3
    box = headlines.last.bounding_box()
    assert box["y"] + box["height"] <= 800
    own = [claim for claim in judging.paper(name).claims.values() if not claim.ours]
    numbers = page.locator(".clbook-found b").all_inner_texts()
    assert sum(map(int, numbers)) == len(own)
