"""The block on thrown digits: it trains in the page, and its map, neighbours, views and presets follow."""

import pytest
from browser import alone

from clbook.experiments.digits import Config
from clbook_book.course.photographs import digits
from clbook_book.live import pictures

CONFIG = Config(steps=12, channels=(4, 8), pairs=8, record_every=4)
RUN = """window.clbook.explorers.digits.run({}).then((found) => ({steps: found.steps, knn: found.knn[0],
  pixels: found.pixels[0], untrained: found.untrained[0], mixed: found.mixed[0]}))"""
NETWORK, VIEWS = ".clbook-strips p:nth-child(3) canvas", ".clbook-strips p:nth-child(1) canvas"


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    made = digits.block("Which digits?", "Try it.", CONFIG)
    return alone(made, tmp_path_factory.mktemp("page"))


def test_a_second_kernel_finds_the_views_in_the_store(block, monkeypatch):
    monkeypatch.setattr("clbook_book.live.pictures.drawing", None)  # nothing may be traced
    assert "given.turn" in pictures.program(digits.sample, digits.VIEWS, 16)
    with pytest.raises(TypeError):  # what is made anew each time could change unseen
        pictures.program(lambda picture, how, generator: picture, digits.VIEWS, 16)


def pixels(page, selector):
    return page.eval_on_selector(selector, "canvas => canvas.toDataURL()")


def ready(page):
    page.wait_for_function("!document.querySelector('.clbook-canvas canvas').hidden")
    page.wait_for_function("document.querySelector('.clbook-readout').textContent")


def test_it_trains_and_its_readouts_are_those_of_python(visit, block):
    page = visit(block)
    found = page.evaluate(RUN)
    truth = digits.run(CONFIG)
    assert found["steps"] == truth.steps.tolist()
    assert found["pixels"] == pytest.approx(truth.pixels, abs=0.01)
    assert found["untrained"] == pytest.approx(truth.untrained, abs=0.01)
    assert found["knn"] == pytest.approx(truth.knn[-1], abs=0.03)
    ready(page)
    assert "by chance 10 %" in page.inner_text(".clbook-readout")


def test_a_click_and_a_preset_change_what_stands_below(visit, block):
    page = visit(block)
    ready(page)
    before = page.get_attribute(NETWORK, "aria-label")
    page.get_by_role("button", name="Another picture").click()
    assert page.get_attribute(NETWORK, "aria-label") != before
    views = pixels(page, VIEWS)
    page.get_by_role("button", name="nothing", exact=True).click()
    assert pixels(page, VIEWS) != views
    assert page.get_by_label("turn (rad), typed").input_value() == "0"
    page.get_by_role("button", name="flat projection").click()
    assert (
        page.get_by_role("button", name="flat projection").get_attribute("aria-pressed") == "true"
    )
