"""The block that trains in the page, in Chromium, from a file: no kernel, no network."""

import dataclasses
import itertools
import random
import re

import numpy as np
import pytest
import toy
import toy_program
from blocks import blocks
from browser import alone, barriers

from clbook.experiments import content_style, overlap, separability, sphere
from clbook.experiments.content_style import figures as linear_figures
from clbook.experiments.separability import figures
from clbook.explore import explore, static
from clbook.explore.inpage import Here, numbers_of, train_here, written
from clbook.explore.ranges import knobs
from clbook.trace import panels
from clbook.trace.page import Program
from clbook.training.settings import setting

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
    return alone(made, tmp_path_factory.mktemp("page"))


@pytest.fixture
def opened(tabs, block):
    found = tabs()
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
    with pytest.raises(Exception, match="classes = 7 is not allowed: classes must be one of 2, 3"):
        opened.page.evaluate("window.clbook.explorers.here.run({classes: 7})")


def test_a_run_that_another_replaces_leaves_nothing_in_it(opened):
    # What the worker has sent of the first run may arrive after the second has been asked for.
    steps = opened.page.evaluate(
        """async () => {
          const found = [], here = window.clbook.explorers.here;
          for (let k = 0; k < 30; k++) {
            here.run({ steps: 100000 });
            await new Promise((resolve) => setTimeout(resolve, 20 + k));
            found.push((await here.run({ seed: 3, steps: 50 })).steps);
          }
          return found;
        }"""
    )
    truth = separability.run(CONFIG.replace(seed=3, steps=50))
    assert steps == [truth.steps.tolist()] * 30


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
    page.click("[data-do=train]")  # what is trained is what stands there
    page.wait_for_function(DONE)
    assert box.get_attribute("aria-invalid") is None
    assert f"tau = {box.input_value()}" in page.get_attribute("canvas", "aria-label")
    box.fill("0.237")
    box.press("Enter")
    page.wait_for_function("document.querySelector('canvas').ariaLabel.includes('tau = 0.237')")
    page.wait_for_function(DONE)
    assert "tau = 0.237" in page.get_attribute("canvas", "aria-label")


def test_what_is_said_of_a_value_out_of_range_is_not_written_over_by_a_run(opened):
    page = opened.page
    steps = page.locator("[aria-label='steps (iterations), typed']")
    page.locator("summary").click()
    steps.fill("100000")
    steps.press("Enter")
    page.click("[data-do=train]")
    page.wait_for_function(
        "document.querySelector('.clbook-status').textContent.startsWith('iteration')"
    )
    box = page.locator("label:has-text('temperature') input[type=text]")
    box.fill("50")
    box.press("Enter")
    assert page.inner_text("[data-do=train]") == "Train"  # it has stopped
    assert status(page).startswith("tau = 50 is not allowed: temperature")


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


@pytest.mark.parametrize(
    "without",
    ["delete window.Worker", "URL.createObjectURL = () => 'blob:null/nothing'"],
    ids=["no workers", "a worker that does not begin"],
)
def test_a_browser_that_cannot_train_says_so_and_the_picture_remains(tabs, block, without):
    opened = tabs()
    page = opened.page
    page.add_init_script(without)
    page.goto(block.as_uri())
    cannot = (
        "document.querySelector('.clbook-status').textContent === 'This browser cannot train here.'"
    )
    page.wait_for_function(cannot)  # the worker begins before anybody presses Train
    page.evaluate("document.querySelector('.clbook-status').textContent = ''")
    page.click("[data-do=train]")
    page.wait_for_function(cannot)
    page.wait_for_function("document.querySelector('[data-do=train]').textContent === 'Train'")
    assert page.is_visible("figure img") and not page.is_visible("canvas")
    found = page.evaluate("window.clbook.explorers.here.run({eps: 0.17})")
    assert found == {"steps": []}
    page.context.close()


def test_a_page_in_the_background_trains_to_its_end_which_stands_there_then(tabs, block):
    opened = tabs()
    page = opened.page
    page.add_init_script("window.requestAnimationFrame = () => 1")  # nobody sees it: no frames
    page.goto(block.as_uri())
    page.click("[data-do=train]")
    page.wait_for_function(DONE, polling=50)
    assert page.is_visible("canvas") and not page.is_visible("figure img")
    assert f"iteration {CONFIG.steps}," in page.get_attribute("canvas", "aria-label")
    page.context.close()


ENDED = """window.ended = 0;
const end = Worker.prototype.terminate;
Worker.prototype.terminate = function () { window.ended += 1; end.call(this); };"""
BLOCK = re.compile(r'<style data-file="inpage">.*</figure>', re.DOTALL)
AGAIN = """async ([hidden, html]) => {
    const output = document.querySelector("main"), cell = document.createElement("div");
    output.hidden = hidden;
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame); // seen by what watches sizes
    output.replaceChildren(cell);
    output.hidden = false;
    cell.innerHTML = html;
    for (const old of cell.querySelectorAll("script:not([type])")) {
        const script = document.createElement("script");
        script.textContent = old.textContent;
        old.replaceWith(script);
    }
}"""


@pytest.mark.parametrize("hidden", [False, True])
def test_a_block_that_a_notebook_takes_away_ends_its_worker(tabs, block, hidden):
    """Where its cell runs again, as JupyterLab does it: all of the output anew, each of its scripts run."""
    opened = tabs()
    page = opened.page
    page.add_init_script(ENDED)
    page.goto(block.as_uri())
    page.click("[data-do=train]")
    page.wait_for_function(DONE)
    html = BLOCK.search(block.read_text(encoding="utf-8")).group()
    page.wait_for_function("location.hash.includes('here')")
    page.evaluate(AGAIN, [hidden, html])
    page.wait_for_function("window.ended === 1")
    page.wait_for_function(DONE)  # the run of the address
    found = page.evaluate("window.clbook.explorers.here.run({eps: 0.17})")
    assert found["steps"][-1] == CONFIG.steps and opened.errors == []
    assert page.evaluate("window.ended") == 1
    page.context.close()


def test_a_block_that_is_put_elsewhere_trains_on_and_one_that_is_put_back_again(tabs, block):
    opened = tabs()
    page = opened.page
    page.add_init_script(ENDED)
    page.goto(block.as_uri())
    page.evaluate("""() => {
        window.figure = document.querySelector("figure.clbook-here");
        window.parent = figure.parentNode;
        window.found = window.clbook.explorers.here.run({steps: 50000});
    }""")
    page.wait_for_function(
        "document.querySelector('.clbook-status').textContent.includes('iteration 1')"
    )
    page.evaluate("document.body.append(figure)")
    page.wait_for_timeout(100)
    assert page.evaluate("window.ended") == 0 and page.inner_text("[data-do=train]") == "Stop"
    page.evaluate("figure.remove()")
    page.wait_for_function("window.ended === 1")
    steps = page.evaluate("found.then(({ steps }) => steps)")
    assert 0 < steps[-1] < 50000
    page.evaluate("parent.append(figure)")
    assert page.inner_text("[data-do=train]") == "Train"
    found = page.evaluate("window.clbook.explorers.here.run({steps: 400})")
    assert found["steps"][-1] == 400 and opened.errors == []
    page.context.close()


def test_each_block_brings_its_script_and_style():
    """So cells may run again, and in any order."""
    picture = figures.trajectories(separability.run(CONFIG))
    for name in ("one", "two"):
        text = Here(name, "", "", picture, {}, "")._repr_html_()
        for part in (
            ".clbook-here { --clbook-line",
            "window.clbookShared ??= ",
            "window.clbookHere ??=",
        ):
            assert text.count(part) == 1, part


def test_the_arrow_keys_move_a_slider_and_train(opened):
    page = opened.page
    slider = page.locator("input[type=range]").first
    slider.focus()
    before = slider.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") != before
    page.wait_for_function(DONE)


def test_it_says_how_far_it_is_while_it_is_made_but_not_in_a_built_page(monkeypatch, capfd):
    def made():
        return train_here(
            separability.run, figures.trajectories, CONFIG, settings=("tau",), classes=(2, 3)
        )

    made()
    told = capfd.readouterr().err
    assert "Writing what trains in the page:   0%" in told and "2 of 2 parts" in told
    monkeypatch.setenv("CLBOOK_STATIC", "1")
    made()
    assert capfd.readouterr().err == ""


# What may be set.


def test_every_page_offers_what_the_config_takes_and_no_more():
    """Each slider's ends and all combinations of them, what may be typed, and what lies between."""
    draws = random.Random(0)
    found = {f"{each.page}, {each.name}": each for each in blocks()}
    assert len(found) == len(blocks()) > 15
    for block in found.values():
        sliders = knobs(block.configs, block.settings)
        names = [slider["name"] for slider in sliders]
        typed = [(slider["least"], slider["most"]) for slider in sliders]
        moved = [(slider["low"], slider["high"]) for slider in sliders]
        inside = []
        for _ in range(20):
            kinds = [draws.randint if s["whole"] else draws.uniform for s in sliders]
            inside.append([draw(*both) for draw, both in zip(kinds, moved)])
        for values in [*itertools.product(*typed), *itertools.product(*moved), *inside]:
            for config in block.configs:
                config.replace(**dict(zip(names, values)))
        for slider in sliders:
            assert slider["least"] <= slider["low"] <= slider["value"] <= slider["high"]
            assert slider["high"] <= slider["most"]
            beyond = slider["most"] + 1 if slider["whole"] else slider["most"] * 1.01
            corners = itertools.product(*typed)
            assert any(refused(block, names, corner, slider["name"], beyond) for corner in corners)


def refused(block, names, corner, name, value):
    """Whether a config refuses a value, the other settings being at a corner."""
    try:
        for config in block.configs:
            config.replace(**dict(zip(names, corner)) | {name: value})
    except ValueError:
        return True
    return False


def test_a_condition_of_several_fields_narrows_the_one_that_it_binds():
    """Points of a ring: how far they may lie off their places is free, their distance is not."""
    ring = overlap.Config()
    by_name = {slider["name"]: slider for slider in knobs([ring], ("spacing", "jitter"))}
    assert (by_name["jitter"]["low"], by_name["jitter"]["high"]) == (0.0, 0.45)
    assert (by_name["spacing"]["low"], by_name["spacing"]["high"]) == (0.0152, 15.2)
    assert by_name["spacing"]["about"].endswith("(a number > 0 and <= 60), and here at most 15.2")
    ring.replace(spacing=15.2, jitter=0.45)
    with pytest.raises(ValueError, match="spacing"):
        ring.replace(spacing=15.3, jitter=0.45)
    with pytest.raises(ValueError, match="settings = 'content_sd' is not allowed: here it has one"):
        train_here(
            content_style.run,
            linear_figures.linear,
            content_style.Config(space="sphere", normalize=True, d_c=4),
            settings=("tau", "content_sd"),
        )


def test_a_field_without_ends_has_a_slider_with_ends_and_takes_any_number():
    start, growth, end = knobs([toy_program.Config(start=-3.0)], ("start", "growth", "end"))
    assert (start["low"], start["high"]) == (-30.0, 30.0)
    assert (start["least"], start["most"]) == (-1.7976931348623157e308, 1.7976931348623157e308)
    assert (growth["low"], growth["high"], growth["least"]) == (0.01, 10.0, 5e-324)
    assert (end["low"], end["high"], end["least"], end["most"]) == (0, 10, 0, 2**53)


@dataclasses.dataclass(frozen=True)
class Endless(overlap.Config):
    """A number of steps without an upper end, as a reader may write it."""

    steps: int = setting(40, "iterations", low=1)


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    made = train_here(
        overlap.run,
        lambda run: figures.trajectories(separability.run(CONFIG)),
        Endless(),
        settings=("spacing", "jitter"),
        panels=(panels.points(ball=True),),
        name="ring",
    )
    return alone(made, tmp_path_factory.mktemp("ring"))


def test_sliders_and_boxes_and_programs_take_the_same_values(tabs, ring):
    opened = tabs()
    page = opened.page
    page.goto(ring.as_uri())
    box = page.get_by_label("spacing (degrees), typed")
    slider = page.locator("input[type=range]").first
    for key, value in (("Home", "0.0152"), ("End", "15.2")):
        slider.press(key)
        page.wait_for_function(DONE)
        assert box.input_value() == value
    found = page.evaluate("window.clbook.explorers.ring.run({spacing: 0.001, steps: 500})")
    truth = overlap.run(Endless(spacing=0.001, steps=500))
    assert found["steps"] == truth.steps.tolist()
    assert np.array(found["z"]) == pytest.approx(truth.z[-1].ravel(), abs=1e-4)
    box.fill("12.5")
    box.press("Enter")
    page.wait_for_function(DONE)
    stood = page.get_attribute("canvas", "aria-label")
    for name, value in (
        ("spacing", "60"),
        ("spacing", "15.3"),
        ("spacing", "0"),
        ("spacing", "-1"),
        ("spacing", "'12'"),
        ("spacing", "null"),
        ("jitter", "NaN"),
        ("steps", "0"),
        ("steps", "2.5"),
        ("steps", "Infinity"),
        ("seed", "10000"),
    ):
        said = value.strip("'")
        with pytest.raises(Exception, match=rf"RangeError: {name} = {said} is not allowed: "):
            page.evaluate(f"window.clbook.explorers.ring.run({{{name}: {value}}})")
        if said == value and value != "null":
            typed = box if name == "spacing" else page.locator(f"[aria-label^={name}][type=text]")
            typed.evaluate("(box, said) => { box.value = said; }", said)
            typed.dispatch_event("change")
            assert status(page).startswith(f"{name} = {said} is not allowed: ")
    assert (
        page.get_attribute("canvas", "aria-label") == stood
    )  # nothing was trained, and nothing set
    assert opened.requests == [] and opened.errors == []
    page.context.close()


# The address.


def hash_with(page, words):
    """The address behind the #, once all of `words` stand in it."""
    page.wait_for_function("words => words.every(word => location.hash.includes(word))", arg=words)
    return page.evaluate("location.hash")


def type_into(page, label, value):
    box = page.get_by_label(f"{label}, typed")
    box.fill(str(value))
    box.press("Enter")


def test_a_link_keeps_all_of_it(tabs, opened, block):
    """Settings typed, shapes, steps, seed, and what pinned runs had."""
    page = opened.page
    page.click("summary")
    type_into(page, "temperature τ", 0.237)
    type_into(page, "seed", 11)
    page.click("text='3'")
    page.click("[data-do=train]")
    page.wait_for_function(DONE)
    page.click("[data-do=pin]")
    type_into(page, "seed", 12)
    type_into(page, "steps (iterations)", 300)
    page.click("text='2'")
    page.click("[data-do=train]")
    page.wait_for_function(DONE)
    words = page.get_attribute("canvas", "aria-label")
    address = hash_with(page, ["classes=2", "seed=12", "steps=300", "pin=classes%3D3", "seed%3D11"])

    other = tabs()
    other.page.goto(block.as_uri() + address)
    other.page.wait_for_function("document.querySelector('canvas').ariaLabel.includes('seed = 12')")
    # The pinned run is told as done before the other one has come to its end.
    other.page.wait_for_function("document.querySelector('canvas').ariaLabel.includes('n 300')")
    other.page.wait_for_function(DONE)
    assert other.page.get_attribute("canvas", "aria-label") == words
    assert "classes C" not in words and words.count("tau = 0.237") == 2
    assert other.page.get_by_label("seed, typed").input_value() == "12"
    pressed = other.page.locator(".clbook-choices [aria-pressed=true]")
    assert pressed.all_inner_texts() == ["2"]
    assert hash_with(other.page, ["seed=12"]) == address
    assert other.requests == [] and other.errors == []
    other.page.context.close()


NOTED = """
window.written = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  if (this.font.startsWith("bold")) window.written.push([text, x, this.measureText(text).width]);
  return write.call(this, text, x, y);
};
"""


@pytest.mark.parametrize("width", [390, 1200])
def test_runs_beside_each_other_are_named_by_what_differs(tabs, block, width):
    """The latest names on the canvas, and what a screen reader hears: the settings in which the runs differ."""
    opened = tabs(width=width)
    page = opened.page
    page.add_init_script(NOTED)
    page.goto(block.as_uri())
    page.click("summary")

    def trained():
        page.evaluate("window.written = []")
        page.click("[data-do=train]")
        page.wait_for_function(DONE)
        return page.evaluate("window.written")

    assert trained() == []  # a run alone needs no name
    page.click("[data-do=pin]")
    type_into(page, "temperature τ", 0.05)
    type_into(page, "seed", 3)
    assert [text for text, *_ in trained()[-2:]] == ["tau 0.1, seed 0", "tau 0.05, seed 3"]
    assert status(page).startswith("tau 0.05, seed 3: 400 iterations in ")
    label = page.get_attribute("canvas", "aria-label")
    assert "tau 0.1, seed 0, of eps = 0.1" in label and "tau 0.05, seed 3, of eps = 0.1" in label
    page.click("[data-do=pin]")
    page.click("text='3'")
    names = trained()[-3:]
    assert [text.split(", ")[0] for text, *_ in names] == ["classes 2", "classes 2", "classes 3"]
    room = page.evaluate("document.querySelector('canvas').clientWidth") / (
        1 if width == 390 else 3
    )
    assert all(long <= room - 16 for _, _, long in names)
    if width == 390:
        assert names[2][0] == "classes 3, tau 0.05, seed 3"
    assert "classes 3, tau 0.05, seed 3, of" in page.get_attribute("canvas", "aria-label")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.requests == [] and opened.errors == []
    page.context.close()


def test_an_address_sets_the_block_and_what_is_not_allowed_is_left_out(opened):
    page = opened.page
    page.evaluate("location.hash = '#another:eps=1;here:eps=0.3&tau=50&classes=9&seed=1.5&width=3'")
    page.wait_for_function(DONE)
    label = page.get_attribute("canvas", "aria-label")
    assert "eps = 0.3, tau = 0.1," in label and "seed = 0:" in label
    assert hash_with(page, ["classes=2"]).startswith("#another:eps=1;here:")  # another's is kept
    page.click("[data-do=reset]")
    page.wait_for_function("location.hash === '#another:eps=1'")


def test_blocks_of_both_kinds_share_the_address(tabs, block, tmp_path, monkeypatch):
    """What trains in the page and what was recorded: each is set by its part, and writes that part alone."""
    monkeypatch.setenv("CLBOOK_STATIC", "1")
    monkeypatch.setattr(static, "sweep", toy.swept)
    player = explore(toy.run, toy.draw, toy.Config(n=40), name="still", a=[1, 4], steps=[3, 30])
    text = block.read_text(encoding="utf-8")
    path = tmp_path / "both.html"
    path.write_text(text.replace("</main>", f"{player._repr_html_()}</main>"), encoding="utf-8")
    page = tabs().page
    page.goto(path.as_uri() + "#here:tau=0.5;still:a=4&steps=30")
    page.wait_for_function(DONE)
    assert page.get_by_label("temperature τ, typed").input_value() == "0.5"
    assert hash_with(page, ["here:", "tau=0.5", "still:a=4&steps=30"])
    page.locator(".clbook-explorer [data-axis=steps] input").first.check(force=True)
    assert hash_with(page, ["here:", "tau=0.5", "still:a=4&steps=3"]).count("still:") == 1
    page.locator(".clbook-here").get_by_role("button", name="Reset").click()
    page.wait_for_function("location.hash === '#still:a=4&steps=3'")
    page.context.close()


def test_every_setting_that_a_run_depends_on_is_offered(opened):
    boxes = opened.page.locator("details input[type=text]")
    labels = boxes.evaluate_all("found => found.map(box => box.ariaLabel)")
    assert labels == [
        "spread, typed",
        "noise, typed",
        "steps (iterations), typed",
        "seed, typed",
    ]
    found = opened.page.evaluate("window.clbook.explorers.here.run({noise: 0.2, steps: 50})")
    truth = separability.run(CONFIG.replace(noise=0.2, steps=50))
    assert found["steps"] == truth.steps.tolist()
    largest = float(abs(truth.z[-1]).max())
    assert np.array(found["z"]) == pytest.approx(truth.z[-1].ravel(), abs=1e-4 * largest)


@pytest.mark.parametrize("width", [390, 1200])
def test_it_has_no_barriers_and_fits_a_phone(tabs, block, width):
    found = tabs(width=width)
    found.page.goto(block.as_uri())
    found.page.click("[data-do=train]")
    found.page.wait_for_function(DONE)
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(found.page) == []
    found.page.context.close()


def test_without_a_script_a_picture_stands_there(tabs, block):
    found = tabs(java_script_enabled=False)
    found.page.goto(block.as_uri())
    assert "Trajectories of 40 embedded points" in found.page.get_attribute("figure img", "alt")
    assert "takes JavaScript" in found.page.inner_text(".clbook-status")
    found.page.context.close()


# Other panels.


def drawn(page):
    """How many colours the picture has beside white and grey."""
    return page.evaluate("""() => {
      const c = document.querySelector("canvas");
      const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      const found = new Set();
      for (let i = 0; i < d.length; i += 4)
        if (Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 150)
          found.add(`${d[i] >> 5} ${d[i + 1] >> 5} ${d[i + 2] >> 5}`);
      return found.size;
    }""")


def test_bars_and_curves_and_a_whole_number(tabs, tmp_path):
    config = content_style.Config(steps=40)
    made = train_here(
        content_style.run,
        linear_figures.linear,
        config,
        settings=("d_c", "tau"),
        panels=(
            panels.bars("gain", "gain", colour="style", log=True),
            panels.curves(means="mean gain", losses="loss", log=True),
        ),
        name="box",
    )
    opened = tabs()
    page = opened.page
    page.goto(alone(made, tmp_path).as_uri())
    found = page.evaluate("window.clbook.explorers.box.run({d_c: 3, tau: 0.7, seed: 2})")
    truth = content_style.run(config.replace(d_c=3, tau=0.7, seed=2))
    assert found["steps"] == truth.steps.tolist()
    assert found["gain"] == pytest.approx(content_style.gains(truth.map[-1]), rel=1e-4)
    assert drawn(page) >= 2  # content and style
    assert f"{config.steps} iterations in" in status(page) and ", loss " in status(page)
    slider = page.locator("input[type=range]").first
    slider.press("ArrowRight")
    assert (
        slider.get_attribute("aria-valuetext") == "4"
    )  # of a whole number a key moves to the next
    box = page.locator("label:has-text('content dimensions') input[type=text]")
    for refused in ("2.5", "9"):
        box.fill(refused)
        box.press("Enter")
        assert status(page).startswith(f"d_c = {refused} is not allowed: ")
    assert opened.requests == [] and opened.errors == []
    page.context.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_points_on_the_sphere_with_their_curves(tabs, tmp_path, width):
    made = train_here(
        sphere.run,
        lambda run: figures.trajectories(separability.run(CONFIG)),
        sphere.Config(n=40, d=3, steps=20),
        settings=("tau",),
        panels=(panels.points(ball=True), panels.curves(losses="loss of the step")),
        name="ball",
    )
    opened = tabs(width=width)
    page = opened.page
    page.goto(alone(made, tmp_path).as_uri())
    page.click("[data-do=train]")
    page.wait_for_function(DONE)
    assert "separable" not in status(page)  # that is on request, and no page computes it
    assert ", loss of the step " in status(page)
    assert drawn(page) >= 4
    page.click("[data-do=pin]")
    page.click("[data-do=seed]")
    page.wait_for_function(DONE)
    assert page.get_attribute("canvas", "aria-label").count("loss of the step") == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.requests == [] and opened.errors == []
    page.context.close()


def picture_of(page):
    return page.evaluate("document.querySelector('canvas').toDataURL()")


def test_the_sphere_turns_by_drag_and_by_keys(tabs, tmp_path):
    made = train_here(
        sphere.run,
        lambda run: figures.trajectories(separability.run(CONFIG)),
        sphere.Config(n=40, d=3, steps=20),
        settings=("tau",),
        panels=(panels.points(ball=True), panels.curves(losses="loss of the step")),
        d=(2, 3),
        name="ball",
    )
    opened = tabs()
    page = opened.page
    page.goto(alone(made, tmp_path).as_uri())
    page.click("[data-do=train]")
    page.wait_for_function(DONE)
    words, before = page.get_attribute("canvas", "aria-label"), picture_of(page)
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 120, steps=3)
    page.mouse.up()
    dragged = picture_of(page)
    assert dragged != before
    page.focus("canvas")
    page.keyboard.press("ArrowLeft")
    assert picture_of(page) != dragged
    page.keyboard.press("Home")
    assert picture_of(page) == before
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert status(page) == "Seen from 40° around, 26° up."
    assert page.get_attribute("canvas", "aria-label") == words  # the run is what it was
    assert barriers(page) == []
    page.click("text='2'")  # the circle does not turn
    page.wait_for_function(DONE)
    assert page.get_attribute("canvas", "role") == "img"
    assert page.locator("canvas").evaluate("(canvas) => canvas.tabIndex") == -1
    assert opened.requests == [] and opened.errors == []
    page.context.close()


def test_a_panel_of_what_a_page_does_not_have_is_named():
    with pytest.raises(
        ValueError, match="panels = 'accuracy' is not allowed: a page has z, finite"
    ):
        train_here(
            sphere.run,
            figures.trajectories,
            sphere.Config(n=40, steps=20),
            settings=("tau",),
            panels=(panels.curves(accuracy="accuracy"),),
        )


def test_all_numbers_in_which_runs_of_one_program_may_differ_are_settings():
    assert numbers_of(CONFIG, ("eps", "tau")) == ["lr_over_tau", "spread", "noise", "linger"]


def test_wrong_fields_and_runs_are_named():
    picture = figures.trajectories
    with pytest.raises(ValueError, match="'width' is not allowed: settings must be fields"):
        train_here(separability.run, picture, CONFIG, settings=("width",))
    with pytest.raises(ValueError, match="run must be the `run` of a Training"):
        train_here(len, picture, CONFIG, settings=("eps",))


def test_a_function_that_two_programs_share_is_written_once():
    one = Program("function way0_setup(){1}\nfunction way0_step(){2}", {}, {}, [], [], [])
    two = Program("function way1_setup(){1}\nfunction way1_step(){3}", {}, {}, [], [], [])
    assert written([one, two], "way").splitlines() == [
        "function way0_setup(){1}",
        "function way0_step(){2}",
        "const way1_setup=way0_setup;",
        "function way1_step(){3}",
    ]
