"""A chapter as slides, and its questions: in the built page, without a network."""

from pages import HTML, built  # noqa: F401 (a fixture)

PAGE = (HTML / "book/separability.html").as_uri()


def test_a_chapter_is_a_deck(tabs):
    opened = tabs()
    page = opened.page
    page.goto(f"{PAGE}?present")
    page.wait_for_selector(".clbook-turn")
    told = page.locator(".clbook-turn output")
    count = int(told.inner_text().split()[-1])
    assert count > 8 and page.get_by_role("heading", level=1).is_visible()
    for k in range(2, count + 1):
        page.keyboard.press("ArrowRight")
        assert told.inner_text() == f"{k} of {count}"
        assert page.locator("article h2:visible").count() == 1
        assert not page.locator("article h1").is_visible()
        assert page.locator(":is(.clbook-tally, .clbook-computed):visible").count() == 0
    assert page.get_by_role("button", name="Next").is_disabled()
    assert opened.requests == []


def test_a_question_answers_without_a_script(tabs):
    page = tabs(java_script_enabled=False).page
    page.goto(PAGE)
    first = page.locator(".clbook-quiz").first
    answers = first.locator("summary")
    assert answers.count() == 3 and not first.get_by_text("Right.").is_visible()
    answers.nth(1).click()
    assert first.get_by_text("Right.").is_visible()
