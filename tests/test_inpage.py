"""The block that trains in the page, in Chromium, from a file: no kernel, no network."""

import numpy as np
import pytest
from browser import NoBrowser, barriers, browser

from clbook.experiments import separability
from clbook.experiments.separability import figures
from clbook.explore.inpage import train_here

CONFIG = separability.Config(n=40, steps=400)
DONE = "document.querySelector('.clbook-status').textContent.includes('iterations in')"


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    made = train_here(
        separability.run,
        figures.trajectories,
        CONFIG,
        settings=("eps", "tau", "lr_over_tau"),
        title="Train it here",
        name="here",
        classes=(2, 3),
    )
    path = tmp_path_factory.mktemp("page") / "page.html"
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A block</title><main>'
    path.write_text(f"{head}<h1>A block</h1>{made._repr_html_()}</main>")
    return path


@pytest.fixture(scope="module")
def tab():
    try:
        with browser() as opened:
            yield opened
    except NoBrowser as error:
        pytest.skip(str(error))


@pytest.fixture
def opened(tab, block):
    found = tab()
    found.page.goto(block.as_uri())
    yield found
    assert found.requests == [] and found.errors == []
    found.page.context.close()


def status(page):
    return page.inner_text(".clbook-status")


def test_it_trains_and_says_what_came_out(opened):
    page = opened.page
    assert page.is_visible("figure img") and not page.is_visible("canvas")
    page.click("[data-do=train]")
    page.wait_for_function(DONE)
    truth = separability.run(CONFIG)
    assert f"separable from iteration {truth.separable_at}." in status(page)
    assert page.is_visible("canvas") and not page.is_visible("figure img")
    label = page.get_attribute("canvas", "aria-label")
    assert "eps = 0.1" in label and f"separable from iteration {truth.separable_at}" in label
    assert page.inner_text("[data-do=train]") == "Train"


def test_a_program_may_ask_for_a_run(opened):
    found = opened.page.evaluate(
        "window.clbook.explorers.here.run({eps: 0.17, seed: 3, classes: 3})"
    )
    truth = separability.run(CONFIG.replace(eps=0.17, seed=3, classes=3))
    assert found["separable_at"] == truth.separable_at
    assert found["steps"] == truth.steps.tolist()
    z = np.array(found["z"])
    largest = float(abs(truth.z[-1]).max())
    assert z == pytest.approx(truth.z[-1].ravel(), abs=1e-4 * largest)
    with pytest.raises(Exception, match="width is not allowed: it must be one of eps, tau"):
        opened.page.evaluate("window.clbook.explorers.here.run({width: 3})")


def test_stop_pin_seed_and_reset(opened):
    page = opened.page
    page.evaluate("() => { window.clbook.explorers.here.run({steps: 100000}); }")
    page.wait_for_function(
        "document.querySelector('.clbook-status').textContent.startsWith('iter')"
    )
    page.click("[data-do=train]")
    assert status(page).startswith("Stopped at iteration ")
    stood = status(page)
    page.wait_for_timeout(150)
    assert status(page) == stood  # nothing goes on in the background
    page.click("[data-do=pin]")
    assert status(page).startswith("Pinned")
    page.click("[data-do=reset]")
    assert status(page) == "Press Train." and page.is_visible("figure img")
    page.click("[data-do=seed]")
    page.wait_for_function(DONE)
    assert "seed = " in page.get_attribute("canvas", "aria-label")


def test_a_value_may_be_typed_and_one_out_of_range_is_named(opened):
    page = opened.page
    box = page.locator("label:has-text('temperature') input[type=text]")
    box.fill("50")
    box.press("Enter")
    assert status(page).startswith("tau = 50 is not allowed: temperature")
    assert box.get_attribute("aria-invalid") == "true"
    box.fill("0.237")
    box.press("Enter")
    page.click("[data-do=train]")
    page.wait_for_function(DONE)
    assert "tau = 0.237" in page.get_attribute("canvas", "aria-label")


def test_a_run_that_diverges_says_so_and_what_stood_there_remains(opened):
    page = opened.page
    box = page.locator("label:has-text('rate') input[type=text]")
    box.fill("10")
    box.press("Enter")
    tau = page.locator("label:has-text('temperature') input[type=text]")
    tau.fill("10")
    tau.press("Enter")
    page.click("[data-do=train]")
    page.wait_for_function("document.querySelector('[data-do=train]').textContent === 'Train'")
    assert "diverged" in status(page) or "iterations in" in status(page)
    assert page.is_visible("canvas")


def test_the_arrow_keys_move_a_slider_and_train(opened):
    page = opened.page
    slider = page.locator("input[type=range]").first
    slider.focus()
    before = slider.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") != before
    page.wait_for_function(DONE)


@pytest.mark.parametrize("width", [390, 1200])
def test_it_has_no_barriers_and_fits_a_phone(tab, block, width):
    found = tab(width=width)
    found.page.goto(block.as_uri())
    found.page.click("[data-do=train]")
    found.page.wait_for_function(DONE)
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(found.page) == []
    found.page.context.close()


def test_without_a_script_a_picture_stands_there(tab, block):
    found = tab(java_script_enabled=False)
    found.page.goto(block.as_uri())
    assert "Trajectories of 40 embedded points" in found.page.get_attribute("figure img", "alt")
    assert "takes JavaScript" in found.page.inner_text(".clbook-status")
    found.page.context.close()


def test_wrong_fields_and_runs_are_named():
    picture = figures.trajectories
    with pytest.raises(ValueError, match="'width' is not allowed: settings must be fields"):
        train_here(separability.run, picture, CONFIG, settings=("width",))
    with pytest.raises(ValueError, match="run must be the `run` of a Training"):
        train_here(len, picture, CONFIG, settings=("eps",))
