"""Links to terms and theorems show their text, and a page knows where one was; on pages as Sphinx writes them."""

import sys
from pathlib import Path

import pytest
from browser import barriers

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book/_ext"))

from clbook_hover import annotated, explained  # noqa: E402

GLOSSARY = """<dl class="glossary"><dt id="term-CE">CE<a class="headerlink" href="#term-CE">#</a></dt>
<dt id="term-Cross-entropy">Cross-entropy</dt><dd><p>Minus a <a href="x.html">logarithm</a>. First in
<a href="intro.html">the intro</a></p></dd><dt id="term-View">View</dt><dd><p>What one sees.</p></dd></dl>"""
THEOREM = """<div class="proof theorem admonition" id="thm-one"><p class="admonition-title">Theorem 1</p>
<div class="math" id="equation-one"><span class="eqno">(1)<a class="headerlink" href="#equation-one">#</a></span>
\\[x\\]</div></div>
<div class="proof admonition" id="proof"><p>Proof.</p></div>"""
PAGE = """<!DOCTYPE html><html lang="en" data-theme="light"><head><title>A page</title>
<link rel="stylesheet" href="{root}/book/_static/book.css"></head><body><main>
<article class="bd-article"><section id="top">
<h1>A page</h1><p>A <a class="reference internal" href="glossary.html#term-CE">loss</a>, a
<a class="reference internal" href="glossary.html#term-Cross-entropy">loss</a>, {theorem}'s
<a class="reference internal" href="#thm-one">first</a> and a
<a class="reference internal" href="other.html#fig">figure</a>.</p>
<p class="clbook-note">Small print of a toy.</p>
<section id="one"><h2>One<a class="headerlink" href="#one">#</a></h2><p style="height: 1500px">1</p></section>
<section id="two"><h2>Two<a class="headerlink" href="#two">#</a></h2><p style="height: 1500px">2</p></section>
</section></article></main><script src="{root}/book/_static/book.js"></script></body></html>"""
NOTE = ".clbook-notes .clbook-note:not([hidden])"
PAGES = {
    "book/glossary.html": GLOSSARY,
    "book/page.html": PAGE.format(root=ROOT.as_uri(), theorem=THEOREM),
}


def test_texts_are_plain_and_stand_once():
    texts = explained(PAGES)
    for term in ("term-CE", "term-Cross-entropy"):
        assert texts["book/glossary.html", term] == "<p>Minus a logarithm.</p>"
    theorem = texts["book/page.html", "thm-one"]
    assert "Theorem 1" in theorem and "\\[x\\]" in theorem
    assert "Proof" not in theorem and "(1)" not in theorem and "id=" not in theorem
    page = annotated("book/page.html", PAGES["book/page.html"], texts)
    assert page.count('role="tooltip"') == 3 and page.count("aria-describedby") == 3
    assert annotated("book/page.html", page, texts) == page, "a second build adds nothing"
    assert annotated("book/page.html", page, {}) == PAGES["book/page.html"]


@pytest.fixture(scope="module")
def tab(tabs, tmp_path_factory):
    """The page in a browser."""
    path = tmp_path_factory.mktemp("hover") / "page.html"
    path.write_text(annotated("book/page.html", PAGES["book/page.html"], explained(PAGES)))
    opened = tabs(width=390, height=844)
    opened.page.goto(path.as_uri())
    return opened


def seen(page):
    return [note.inner_text() for note in page.query_selector_all(NOTE)]


def test_a_text_is_shown_at_the_focus_and_the_pointer_and_leaves_with_them(tab):
    page, (first, _, theorem) = tab.page, tab.page.query_selector_all("a[aria-describedby]")
    first.focus()
    assert seen(page) == ["Minus a logarithm."]
    page.keyboard.press("Escape")
    assert seen(page) == []
    theorem.hover()
    page.wait_for_selector(NOTE)
    assert "Theorem 1" in seen(page)[0]
    box = page.query_selector(NOTE).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert barriers(page) == []
    page.query_selector(NOTE).hover()
    page.mouse.move(5, 800)
    page.wait_for_function(f"!document.querySelector('{NOTE}')")
    assert tab.requests == [] and tab.errors == []


def test_a_page_offers_the_section_that_was_read_last(tab):
    page = tab.page
    page.reload()  # axe's test has taken parts of it away
    assert page.query_selector(".clbook-resume") is None
    page.evaluate("document.getElementById('two').scrollIntoView()")
    page.wait_for_function("Object.values(localStorage).includes('two')")
    page.goto(page.url.partition("#")[0])
    offered = page.wait_for_selector(".clbook-resume a")
    assert offered.inner_text() == "Two" and offered.get_attribute("href") == "#two"
    assert tab.errors == []
