"""Every built page, opened once in a browser, and its first control moved.

The other tests of pages (test_book and what is named by what it tries) ask more of each.
"""

import pytest
from browser import HERE, SKIPPED
from pages import HTML, built, every_page  # noqa: F401 (a fixture)

# The first control of a page that can be used, in the order of the page: a slider or a row of buttons of an explorer,
# the button of a block that trains, a field of the ledger.
FIRST = """() => {
  const kinds = ".clbook-explorer input, figure button, .clbook-filter select";
  const usable = (e) => !e.disabled && !e.checked && e.offsetParent && !e.closest("[inert]");
  // A section of runs is folded until its title is pressed.
  document.querySelector("details.clbook-runs:has(.clbook-explorer) > summary")?.click();
  return [...document.querySelectorAll(kinds)].find(usable) ?? null; }"""
# The key that moves it.
KEY = """e => e.type === "range" ? (Number(e.value) < Number(e.max) ? "ArrowRight" : "ArrowLeft")
  : e.type === "radio" ? "Space" : e.tagName === "SELECT" ? "ArrowDown" : "Enter" """
# What a reader sees and hears of the block around a control.
SEEN = """control => {
  const block = control.closest("figure, .clbook-filter");
  const canvas = block.querySelector("canvas")?.getAttribute("aria-label");
  return [block.innerText, canvas, ...[...block.querySelectorAll("img")].map(i => i.alt)].join(); }"""


@pytest.fixture(scope="module")
def tab(tabs):
    """One tab for all pages; the reader has skipped all predictions and wants no motion."""
    opened = tabs(reduced_motion="reduce")
    opened.page.unroute_all()  # to ask for each file of a page takes longer than the page
    # To set formulas is half of what a page takes; test_book looks at them.
    opened.page.route("**/tex-*.js", lambda route: route.fulfill(body=""))
    opened.page.on(
        "request", lambda sent: sent.url.startswith(HERE) or opened.requests.append(sent.url)
    )
    opened.page.add_init_script(SKIPPED)
    return opened


def test_the_file_that_readme_names_leads_to_the_first_page(tab):
    tab.page.goto((HTML / "index.html").as_uri())
    tab.page.wait_for_url("**/book/intro.html")


@every_page
def test_a_page_opens_and_its_first_control_changes_what_it_shows(tab, page):
    tab.requests.clear(), tab.errors.clear()
    tab.page.goto((HTML / page).as_uri())
    images = tab.page.evaluate(
        """() => Promise.all([...document.images].map(async i => {
          i.loading = "eager";
          if (!i.complete) await new Promise(done => { i.onload = i.onerror = done; });
          return [i.alt.trim(), i.naturalWidth, i.outerHTML.slice(0, 200)]; }))"""
    )
    assert [tag for alt, width, tag in images if not alt or not width] == []
    control = tab.page.evaluate_handle(FIRST).as_element()
    assert control or not tab.page.query_selector("figure[class^=clbook], .clbook-filter")
    if control:
        before = control.evaluate(SEEN)
        control.focus()
        tab.page.keyboard.press(control.evaluate(KEY))
        tab.page.wait_for_function(
            f"([e, before]) => ({SEEN})(e) !== before", arg=[control, before]
        )
    assert tab.requests == [] and tab.errors == []
