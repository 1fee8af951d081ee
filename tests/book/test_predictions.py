"""Predictions: what a page covers until the reader has committed to an answer."""

import pathlib
import re
import subprocess
import sys

import pytest
import toy
from browser import barriers

from clbook.explore import explore, static

ROOT = pathlib.Path(__file__).parents[2]

FIRST = """
**Predict first.** When do the *arms* turn, at a = 1?

1. early
2. late
3. never

<!-- 1: They need time. -->
<!-- 2 right: Late indeed. -->
<!-- 3: Wait. -->
"""
PAGE = f"""
# A page

## Arms

:::{{div}} predict arms arms:a=1
{FIRST}
:::

```{{raw}} html
:file: arms.html
```

**What to see.** The arms turn at the end. <a href="#arms:a=4">Four</a> is more.

(late-section)=
**Why.** A reason that nobody has guessed.

## Still

:::{{div}} predict still
{FIRST}
:::

```{{raw}} html
:file: still.html
```

**What to see.** They have turned.

## Exercises

None.
"""
CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["myst_parser", "clbook_predict"]
myst_enable_extensions = ["colon_fence"]
html_theme = "sphinx_book_theme"
html_static_path = [{str(ROOT / "book" / "_static")!r}]
html_css_files = ["book.css"]
html_context = {{"default_mode": "auto"}}
project = "Toy"
"""
ANSWERS = ("The arms turn at the end", "A reason that nobody", "They have turned")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predictions")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_STATIC", "1")
        patch.setattr(static, "sweep", toy.swept)
        for name, how in (("arms", {"time": "steps", "frames": 4}), ("still", {})):
            made = explore(toy.run, toy.draw, toy.Config(n=20), name=name, a=[1, 4], **how)
            (folder / f"{name}.html").write_text(made._repr_html_())
    (folder / "conf.py").write_text(CONF)
    (folder / "index.md").write_text(PAGE)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(folder), str(folder / "out")]
    subprocess.run(command, check=True)
    return folder / "out" / "index.html"


@pytest.fixture
def page(visit, address):
    return visit(address)


def seen(page):
    """Which of the answers can be seen."""
    return [page.get_by_text(words).first.is_visible() for words in ANSWERS]


def guess(page, box, answer):
    """Commit to an answer of the prediction number `box`."""
    form = page.locator(".clbook-predict").nth(box)
    form.get_by_role("radio", name=answer).check()
    form.get_by_role("button", name="That is my guess").click()
    form.get_by_role("button", name="That is my guess").wait_for(state="hidden")


def test_the_answer_is_covered_until_the_reader_commits(page):
    assert seen(page) == [False] * 3
    # The beginning can be seen, and that of other settings; what leads on waits, and what changes a still picture.
    arms, still = page.locator("figure.clbook-explorer").all()
    for figure in (arms, still):
        assert figure.locator("img").is_visible()
        assert figure.locator(".clbook-buttons").evaluate("e => e.inert")
    assert arms.locator("label:has([data-axis=frame])").evaluate("e => e.inert")
    arms.get_by_role("radio", name="4").check(force=True)
    page.wait_for_function("document.querySelector('#arms figure img').alt.includes('turn a = 4')")
    assert "step 0" in arms.locator("img").get_attribute("alt")
    assert still.locator(".clbook-controls").evaluate("e => e.inert")
    assert not page.get_by_text("Late indeed").first.is_visible()
    form = page.locator(".clbook-predict").first
    form.get_by_role("button", name="That is my guess").click()
    assert "Choose one" in form.inner_text() and seen(page) == [False] * 3

    guess(page, 0, "never")
    assert seen(page) == [True, True, False]
    told = form.get_by_role("status").inner_text()
    assert "Not so. Wait." in told and "Answer 2 is right. Late indeed." in told
    assert page.locator("#arms .clbook-guess").inner_text() == "Your guess: never"
    assert page.locator("#arms [inert]").count() == 0
    page.wait_for_function("document.querySelector('#arms figure img').alt.includes('turn a = 1')")
    plays = "document.querySelector('#arms [data-axis=frame]').value > 0"
    page.wait_for_function(plays)
    assert "0 of 1 right, of 2 asked" in page.locator(".clbook-tally").inner_text()
    guess(page, 1, "late")
    assert seen(page) == [True] * 3
    assert page.locator("#still figure.clbook-explorer img").is_visible()
    tally = page.locator(".clbook-tally")
    assert "1 of 2 right, of 2 asked" in tally.inner_text()
    assert tally.evaluate("e => e.nextElementSibling.id") == "exercises"


def test_a_guess_is_remembered_and_can_be_asked_again(page):
    guess(page, 0, "late")
    page.reload()
    assert seen(page) == [True, True, False]
    assert "1 of 1 right" in page.locator(".clbook-tally").inner_text()
    page.get_by_role("button", name="Ask me again").click()
    page.get_by_role("button", name="That is my guess").nth(1).wait_for()
    page.wait_for_function("document.querySelectorAll('.clbook-commit').length === 2")
    assert seen(page) == [False] * 3


def test_one_click_skips_all(page):
    page.get_by_role("button", name="Skip all").first.click()
    assert seen(page) == [True] * 3
    page.reload()
    assert seen(page) == [True] * 3


def test_who_skips_a_question_sees_the_end_of_its_run(page):
    page.get_by_role("button", name="Skip", exact=True).first.click()
    time = "document.querySelector('#arms [data-axis=frame]')"
    page.wait_for_function(f"{time}.value === {time}.max")


def test_it_is_answered_by_keyboard(page):
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("radiogroup").first.get_by_role("radio").nth(1).is_checked()
    page.keyboard.press("Enter")
    assert seen(page) == [True, True, False]
    assert page.evaluate("document.activeElement.className") == "clbook-result"
    name = page.locator(".clbook-guesses").nth(1).get_attribute("aria-labelledby")
    assert "When do the arms turn" in page.locator(f"[id='{name}']").inner_text()


def test_a_guess_may_be_drawn_and_stays_over_the_run(page):
    form = page.locator(".clbook-predict").first
    sheet = page.locator("#arms .clbook-sheet")
    lines = sheet.locator("path")
    assert not page.locator(".clbook-predict").nth(1).get_by_text("Draw it, too").count()
    form.get_by_role("button", name="Draw it, too").click()
    place = sheet.bounding_box()
    assert place == pytest.approx(page.locator("#arms .clbook-stage img").bounding_box(), abs=1)
    at = [(0.2, 0.5), (0.5, 0.25), (0.8, 0.5)]
    for k, (u, v) in enumerate(at):
        x, y = place["x"] + u * place["width"], place["y"] + v * place["height"]
        page.mouse.move(x, y)
        if k == 0:
            page.mouse.down()
    page.mouse.up()
    page.mouse.click(x, y)  # a mark
    assert lines.count() == 2
    drawn = re.findall(r"[\d.]+", lines.first.get_attribute("d").replace("h0", ""))
    assert [*map(float, drawn)] == pytest.approx(sum(map(list, at), []), abs=0.01)

    guess(page, 0, "late")
    assert lines.count() == 2 and lines.first.is_visible()
    page.locator("#arms [data-axis=frame]").press("End")  # what is drawn is not in the way
    page.mouse.click(x, y)
    assert lines.count() == 2
    page.get_by_role("button", name="Erase my drawing").click()
    assert lines.count() == 0
    assert not page.get_by_role("button", name="Erase my drawing").count()


def test_where_motion_is_unwanted_a_guess_plays_nothing(visit, address):
    page = visit(address, reduced_motion="reduce")
    guess(page, 0, "late")
    page.wait_for_timeout(300)
    assert page.locator("#arms [data-axis=frame]").input_value() == "0"


def test_a_link_to_what_is_covered_uncovers_it(visit, address, page):
    for fragment in ("#late-section", "#arms:a=4"):
        assert seen(visit(address, at=fragment)) == [True, True, False]
    page.evaluate("location.hash = '#arms:a=4'")
    page.wait_for_function("!document.querySelector('#arms .clbook-covered')")
    assert seen(page) == [True, True, False]


REFUSED = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"


def test_without_a_store_it_asks_and_answers(tabs, address):
    page = tabs().page  # the theme's own scripts stop at what is refused
    page.add_init_script(REFUSED)
    page.goto(address.as_uri())
    guess(page, 0, "late")
    assert seen(page) == [True, True, False]
    page.context.close()


def test_without_a_script_all_of_it_stands_there(visit, address):
    page = visit(address, java_script_enabled=False)
    assert seen(page) == [True] * 3
    text = page.locator(".clbook-predict").first.inner_text()
    assert all(word in text for word in ("early", "late", "never", "Answer 2 is right", "Late"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_state_is_a_barrier(visit, address, theme):
    page = visit(address, color_scheme=theme)
    parts = ".clbook-predict, .clbook-tally, .clbook-cover, .clbook-explorer"

    def own():
        found = barriers(page)
        return [each for each in found if page.evaluate(INSIDE, [each.split(": ", 1)[1], parts])]

    assert own() == []
    page.goto(address.as_uri() + "?again")
    guess(page, 0, "never")
    guess(page, 1, "late")
    assert own() == []


INSIDE = "([place, parts]) => !!document.querySelector(place)?.closest(parts)"
