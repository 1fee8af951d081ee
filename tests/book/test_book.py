"""The built pages in a real browser, with no network: what a reader without kernel, connection or mouse gets.

They are checked where they lie, in `_build/html`, opened as files. Nothing here knows a page or an explorer by name.
"""

import functools
import html.parser
import os
import re
import urllib.parse

import pytest
from browser import SKIPPED, barriers
from pages import EXPLORERS, HTML, PAGES, built, every_explorer, every_page, found, source  # noqa: F401

LIMIT = 1_000_000  # bytes of a page
WITH_PICTURES = 2_000_000  # bytes of a page with its images
PHOTOGRAPHS = "book/photographs.html"  # has the photographs themselves in it
PHONE = 390  # pixels


class Links(html.parser.HTMLParser):
    """The ids of a page, where it links to, and the images and other files that it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.hints = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.update(attrs[key] for key in ("id", "name") if attrs.get(key))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("img", "script", "source", "iframe") and attrs.get("src"):
            self.loads.append(attrs["src"])
        if attrs.get("rel") in ("preconnect", "dns-prefetch", "prefetch", "preload"):
            self.hints.append(attrs["href"])


@pytest.fixture(scope="module")
def parsed():
    """Page name -> its `Links`."""
    return {name: Links(source(name)) for name in PAGES}


@every_page
def test_links_lead_somewhere(page, parsed):
    broken = []
    for href in parsed[page].links:
        url = urllib.parse.urlsplit(href)
        if url.scheme or url.netloc:
            continue
        target = (HTML / page).parent / urllib.parse.unquote(url.path) if url.path else HTML / page
        name = os.path.relpath(target.resolve(), HTML.resolve())
        part = urllib.parse.unquote(url.fragment)
        sets = re.match(r"[\w-]+:\w+=", part)  # a block or an explorer
        anchors = parsed[name].ids if part and not sets and name in parsed else {part}
        if not target.exists() or part not in anchors:
            broken.append(href)
    assert broken == []


@every_page
def test_page_is_light(page, parsed):
    files = {(HTML / page).parent / src for src in parsed[page].loads if "_images" in src}
    page_alone = (HTML / page).stat().st_size
    size = page_alone + sum(file.stat().st_size for file in files)
    assert size < WITH_PICTURES, f"{size / 1e6:.2f} MB"
    assert page_alone < LIMIT or page == PHOTOGRAPHS, f"{page_alone / 1e6:.2f} MB"
    code = re.findall(r'class="clbook-(?:here|play)-code">(.*?)</script>', source(page), re.DOTALL)
    assert sum(map(len, code)) <= 185_000  # 77,000 of them are the digits' pixels


def test_references_lead_to_the_papers():
    page = source("book/bibliography.html")
    entries = re.findall(r'<div class="citation".*?</div>', page, re.DOTALL)
    place = r'href="https://(doi\.org|arxiv\.org/abs|proceedings)'
    there = [entry for entry in entries if re.search(place, entry)]
    # Ten have neither DOI nor arXiv number.
    assert len(entries) > 40 and len(there) >= len(entries) - 10


@pytest.fixture(scope="module")
def kept(tabs, page):
    """`kept(**how)`: this page in a tab as `browser.browser` opens it, one for each `how` and all tests of the page."""
    of_page = {}

    def kept(**how):
        key = tuple(sorted(how.items()))
        if key not in of_page:
            of_page[key] = tabs(**how)
            # Nothing is covered: the reader has skipped all predictions (they have a test of their own), and on a
            # paper's page has unfolded the runs.
            of_page[key].page.add_init_script(SKIPPED)
            of_page[key].page.goto((HTML / page).as_uri())
            unfold = "all => all.forEach(runs => { runs.open = true; })"
            of_page[key].page.eval_on_selector_all("details.clbook-runs", unfold)
        return of_page[key]

    yield kept
    for each in of_page.values():
        each.page.context.close()


def show(opened, theme="light", media="screen", width=1200, height=900):
    """Show the page in a theme, on a screen or in print, so many pixels wide; returns when it has faded in."""
    opened.page.set_viewport_size({"width": width, "height": height})
    opened.page.emulate_media(color_scheme=theme, media=media)
    shown = "theme => document.documentElement.dataset.theme === theme"
    opened.page.wait_for_function(shown, arg=theme)
    still = "document.getAnimations().every(each => each.playState !== 'running')"
    opened.page.wait_for_function(still)


def explorers(opened):
    return opened.page.query_selector_all("figure.clbook-explorer")


@every_page
def test_page_needs_no_network_logs_no_error_and_describes_its_images(page, parsed, kept):
    opened = kept()
    opened.page.mouse.wheel(0, 100_000)
    opened.page.wait_for_timeout(300)
    images = opened.page.eval_on_selector_all(
        "img", "all => all.map(i => [i.alt.trim(), i.naturalWidth, i.outerHTML.slice(0, 200)])"
    )
    assert [tag for alt, width, tag in images if not alt or not width] == []
    assert opened.requests == [] and opened.errors == []
    urls = parsed[page].loads + parsed[page].hints
    assert [url for url in urls if urllib.parse.urlsplit(url).netloc] == []


@every_page
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_is_readable_on_a_phone(kept, theme):
    opened = kept()
    show(opened, theme, width=PHONE)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= PHONE
    for figure in explorers(opened):
        box = figure.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE
        image = figure.query_selector("img")
        assert image.bounding_box()["width"] >= 280
        turned = "invert(0.93) hue-rotate(180deg)" if theme == "dark" else "none"
        assert image.evaluate("i => getComputedStyle(i).filter") == turned


@every_explorer
def test_letters_and_sliders_are_large_enough_on_a_phone(kept, page):
    opened = kept()
    show(opened, width=PHONE)
    smallest = [data["letters"] / data["units"] * 96 / 72 for _, _, data in found(page)]
    for figure, letters in zip(explorers(opened), smallest, strict=True):
        image = figure.query_selector("img")
        image.scroll_into_view_if_needed()
        opened.page.wait_for_function("i => i.src.startsWith('blob:') && i.complete", arg=image)
        scales = image.evaluate("""async i => {
          const text = await (await fetch(i.src)).text();
          const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
          const parts = [...svg.querySelectorAll("svg")], all = parts.length ? parts : [svg];
          const shrunk = i.getBoundingClientRect().width / svg.width.baseVal.value;
          return all.map(p => p.width.baseVal.value / p.viewBox.baseVal.width * shrunk); }""")
        assert letters * min(scales) * 20 * 72 / 96 >= 8.99
        assert max(scales) <= 1.5 * min(scales), "the panels of a figure have about one scale"
        for control in figure.query_selector_all("input, button:visible"):
            assert control.bounding_box()["height"] >= 43.9
        for cell in figure.query_selector_all(".clbook-pad input"):
            box = cell.bounding_box()
            assert box["width"] >= 40 and box["x"] + box["width"] <= 390


@every_explorer
def test_explorers_show_their_start_and_end_without_javascript(kept):
    for figure in explorers(kept(java_script_enabled=False)):
        for image in figure.query_selector_all("img"):
            assert image.is_visible() and image.get_attribute("alt").strip()
            assert image.bounding_box()["width"] > 200 and image.bounding_box()["height"] > 100
        assert "The sliders need JavaScript" in figure.inner_text()


def press_arrow(page, slider):
    """Focus the slider and press the arrow key that has room to move it."""
    key = "s => Number(s.value) < Number(s.max) ? 'ArrowRight' : 'ArrowLeft'"
    slider.press(slider.evaluate(key))


def drag(page, slider):
    """Press the mouse in the middle of the slider and let go near the end that is further from its value."""
    slider.scroll_into_view_if_needed()
    box, y = slider.bounding_box(), slider.bounding_box()["y"] + slider.bounding_box()["height"] / 2
    end = slider.evaluate("s => 2 * Number(s.value) < Number(s.min) + Number(s.max) ? 0.98 : 0.02")
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], y, steps=4)
    page.mouse.up()


@every_explorer
@pytest.mark.parametrize("move", [press_arrow, drag], ids=["key", "mouse"])
def test_every_slider_changes_picture_and_alt_text(kept, move):
    opened = kept()
    show(opened)
    for figure in explorers(opened):
        image = figure.query_selector("img")
        sliders = figure.query_selector_all("input[type=range]")
        assert sliders or figure.query_selector("input[type=radio]")
        image.scroll_into_view_if_needed()
        src = functools.partial(image.get_attribute, "src")
        look = image.screenshot if move is press_arrow else src
        before = look()
        for slider in sliders:
            text = image.get_attribute("alt")
            move(opened.page, slider)
            other = "([image, text]) => image.alt !== text"
            opened.page.wait_for_function(other, arg=[image, text], timeout=5000)
            image.evaluate("image => image.decode()")
            after = look()
            assert after != before, slider.get_attribute("aria-label")
            before = after
    assert opened.requests == [] and opened.errors == []


@every_explorer
def test_answers_are_covered_until_the_reader_commits_or_skips(tabs, page):
    """What a page shows at first: beginnings, questions and no text that says what is seen."""
    opened = tabs().page
    opened.goto((HTML / page).as_uri())
    asked = opened.locator(".clbook-predict")
    assert asked.count() == source(page).count("clbook-predict docutils")
    told = opened.get_by_text(re.compile("^(What to see|Why)"))
    under = """e => { // an explorer between a question of its section and this text
      let before = e.closest("p, div.cell");
      while ((before = before?.previousElementSibling)) if (before.matches(".clbook-predict")) return true;
      return false; }"""
    for text in told.all():
        assert not (text.evaluate(under) and text.is_visible()), text.inner_text()
    for block in opened.query_selector_all("figure.clbook-pull.clbook-held"):
        assert block.query_selector(".clbook-pair").is_visible()
        assert block.query_selector(".clbook-buttons").evaluate("e => e.inert")
    for figure in opened.query_selector_all("figure.clbook-explorer.clbook-held"):
        time = figure.query_selector("input[data-axis=frame]")
        assert figure.query_selector("img").is_visible()
        cells = figure.query_selector_all(".clbook-pad label > span")
        assert not any(cell.is_visible() for cell in cells)
        waits = time.evaluate_handle("e => e.closest('label')") if time else figure
        waits = waits.as_element() if time else figure.query_selector(".clbook-controls")
        assert waits.evaluate("e => e.inert") and (not time or time.input_value() == "0")
    if asked.count():
        opened.get_by_role("button", name="Skip all").first.click()
        assert not opened.query_selector_all(".clbook-held, .clbook-covered")
    opened.context.close()


@every_explorer
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (PHONE, 844)])
def test_a_picture_and_its_first_control_are_seen_together(kept, page, width, height):
    opened = kept(width=width, height=height)
    for figure, (name, _, data) in zip(explorers(opened), found(page), strict=True):
        image, control = figure.query_selector("img"), figure.query_selector("input")
        image.evaluate("i => i.scrollIntoView({ block: 'start', behavior: 'instant' })")
        if width == PHONE:  # a phone draws its own picture, in parts, once it comes near
            drawn = "i => i.src.startsWith('blob:') && i.complete"
            opened.page.wait_for_function(drawn, arg=image)
        else:  # letters are large enough beside both sidebars
            zoom = image.evaluate("""i => i.getBoundingClientRect().width
                / parseFloat(getComputedStyle(i).getPropertyValue("--clbook-width"))""")
            assert data["letters"] / data["units"] * 96 / 72 * zoom >= 8.99, name
        place, at = image.bounding_box(), control.bounding_box()
        assert at["y"] >= 0 and at["y"] + at["height"] <= height, "the control is on the screen"
        assert max(place["y"], 0) + 120 <= at["y"], "and part of the picture above it"
        bench = figure.query_selector(".clbook-bench").bounding_box()
        assert place["height"] + bench["height"] <= height, "and all of it in the right place"
        code = figure.evaluate_handle("f => f.closest('.cell').querySelector('.cell_input')")
        folded = code.as_element()
        assert not folded or not folded.is_visible()


@every_explorer
def test_a_setting_in_the_text_is_set_where_it_stands(kept, page):
    """Explorers and blocks that train answer beside the sentence: their picture is in sight, or a small copy of it."""
    opened = kept(width=1280, height=800)
    for link in opened.page.locator(".bd-article a[href^='#'][href*=':']").all():
        if not link.is_visible():
            continue
        link.evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
        before = link.bounding_box()["y"]
        link.evaluate("e => e.click()")  # Playwright's own scrolls on when it has to try again
        name = link.get_attribute("href").split(":")[0][1:]
        there = "name => decodeURIComponent(location.hash).includes(name)"
        opened.page.wait_for_function(there, arg=name)
        assert abs(link.bounding_box()["y"] - before) <= 40
        seen = """() => document.querySelector(".clbook-mini")
          || [...document.querySelectorAll(".clbook-stage, .clbook-canvas")].some((stage) => {
            const { top, bottom } = stage.getBoundingClientRect();
            return top >= 0 && bottom <= innerHeight;
          })"""
        opened.page.wait_for_function(seen)


@every_page
def test_formulas_stand_beside_their_numbers(kept):
    opened = kept()
    show(opened)
    hidden = """all => all.filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
    assert opened.page.eval_on_selector_all("div.math, div.math > mjx-container", hidden) == []


@every_page
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(kept, page, theme):
    opened = kept()
    show(opened, theme)
    colours = ["color-contrast", "link-in-text-block"]  # the other rules see no theme
    assert barriers(opened.page, *(colours if theme == "dark" else [])) == []


def test_axe_finds_what_is_wrong(tabs):
    page = tabs().page
    page.set_content(
        '<html lang="en"><title>x</title><main><h1>x</h1><img src="data:,"><p>dark</p>'
        '<p style="color:#ccc">pale</p><p>and <a href="#b">some</a></p><p>and <a href="#b"></a></p>'
        '<pre class="highlight"><span class="k">in</span> <span class="k">is'
        '</span> <span class="c" style="color:#ccc"># pale</span></pre></main>'
    )
    wrong = ["color-contrast", "color-contrast", "image-alt", "link-name"]
    assert [each.split(":")[0] for each in barriers(page)] == wrong


@every_page
def test_print_from_the_dark_theme_is_dark_on_white_without_buttons(kept, page):
    opened = kept()
    show(opened, "dark", media="print")
    inks = opened.page.eval_on_selector_all(
        ".bd-content :is(p, h1, h2, td, .highlight span)",
        "all => all.filter(e => e.offsetParent).map(e => getComputedStyle(e).color.match(/\\d+/g).map(Number))",
    )
    assert inks and all(sum(ink[:3]) < 3 * 140 for ink in inks)
    filters = "all => all.map(i => getComputedStyle(i).filter)"
    assert set(opened.page.eval_on_selector_all(".cell_output img", filters)) <= {"none"}
    buttons = opened.page.query_selector_all(".bd-content button")
    assert not [each.inner_text() for each in buttons if each.is_visible()]
