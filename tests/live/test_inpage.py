"""The block that trains in the page, in Chromium, from a file: no kernel, no network."""

import dataclasses
import functools
import itertools
import random
import re
import time

import numpy as np
import pytest
import toy
import toy_program
from blocks import blocks
from browser import alone, barriers
from PIL import Image

from clbook.experiments import content_style, overlap, separability, sphere
from clbook.explore import explore, static
from clbook.training.settings import setting
from clbook_book.course.content_style import figures as linear_figures
from clbook_book.course.separability import figures
from clbook_book.live import inpage, panels
from clbook_book.live.inpage import train_here
from clbook_book.live.ranges import knobs
from clbook_book.live.tasks import Ask, Goal

CONFIG = separability.Config(n=40, steps=400)
STATUS = "document.querySelector('.clbook-status').textContent"
DONE = f"{STATUS}.includes('iterations in')"
TRAIN, HERE, TAU = "[data-do=train]", "window.clbook.explorers.here", "temperature τ"


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    how = {"settings": ("eps", "tau", "lr_over_tau"), "title": "Train it here", "name": "here"}
    made = train_here(separability.run, figures.trajectories, CONFIG, classes=(2, 3), **how)
    return alone(made, tmp_path_factory.mktemp("page"))


@pytest.fixture
def page(visit, block):
    return visit(block)


def status(page):
    return page.inner_text(".clbook-status")


def label(page):
    """What a screen reader hears of the picture."""
    return page.get_attribute("canvas", "aria-label")


def type_into(page, name, value):
    box = page.get_by_label(f"{name}, typed")
    box.fill(str(value))
    box.press("Enter")
    return box


def train(page):
    """Train to the end."""
    page.click(TRAIN)
    page.wait_for_function(DONE)


def trained(page, words):
    """Wait for the end of the run that a change has begun, with these words in the picture's."""
    page.wait_for_function(
        "words => document.querySelector('canvas').ariaLabel.includes(words)", arg=words
    )
    page.wait_for_function(f"document.querySelector('{TRAIN}').textContent === 'Train'")


def run(page, settings, name="here"):
    """What a block's run with these settings has found."""
    return page.evaluate(f"window.clbook.explorers.{name}.run({{{settings}}})")


def begun(page, settings=""):
    """Wait until the start of a run, whose settings are among the words of the picture, is drawn."""
    page.wait_for_function(
        "words => /^Before.*iteration 0/.test(document.querySelector('canvas').ariaLabel ?? '')"
        " && document.querySelector('canvas').ariaLabel.includes(words)",
        arg=settings,
    )


def test_it_trains_and_says_what_came_out(page):
    begun(page)
    assert page.is_visible("canvas") and not page.is_visible("figure img")
    train(page)
    told = f"separable from iteration {separability.run(CONFIG).separable_at}"
    assert f"{told}." in status(page) and told in label(page) and "ε 0.1," in label(page)
    assert page.is_visible("canvas") and not page.is_visible("figure img")
    assert page.inner_text(TRAIN) == "Train"


def same_run(found, truth):
    """Whether a page has found what Python's run has."""
    assert found["steps"] == truth.steps.tolist()
    largest = float(abs(truth.z[-1]).max())
    assert np.array(found["z"]) == pytest.approx(truth.z[-1].ravel(), abs=1e-4 * largest)


def test_a_program_may_ask_for_a_run(page):
    found = run(page, "eps: 0.17, seed: 3, classes: 3")
    truth = separability.run(CONFIG.replace(eps=0.17, seed=3, classes=3))
    assert found["separable_at"] == truth.separable_at
    same_run(found, truth)
    with pytest.raises(Exception, match="width is not allowed: it must be one of eps, tau"):
        run(page, "width: 3")
    with pytest.raises(Exception, match="classes C = 7 is not allowed: it must be one of 2, 3"):
        run(page, "classes: 7")


def test_a_run_that_another_replaces_leaves_nothing_in_it(page):
    # What the worker has sent of the first run may arrive after the second has been asked for.
    steps = page.evaluate(
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


def test_a_saved_picture_says_what_it_shows_and_where_it_is_from(page, tmp_path):
    train(page)
    page.click("details > summary")
    with page.expect_download() as saved:
        page.click("[data-do=png]")
    saved.value.save_as(tmp_path / "here.png")
    with Image.open(tmp_path / "here.png") as picture:  # its checksums hold
        said, licence = picture.text["Description"], picture.text["Copyright"]
    assert saved.value.suggested_filename == "here.png" and licence.endswith("CC BY 4.0")
    assert said.startswith("Train it here. ") and label(page) in said and "here:" in said


def test_stop_pin_seed_and_reset(page):
    page.evaluate(f"() => {{ {HERE}.run({{steps: 100000}}); }}")
    page.wait_for_function(f"{STATUS}.startsWith('iter')")
    page.click(TRAIN)
    assert status(page).startswith("Stopped at iteration ")
    stood = status(page)
    page.wait_for_timeout(150)
    assert status(page) == stood  # nothing goes on in the background
    page.click("[data-do=pin]")
    assert status(page).startswith("Pinned")
    page.click("[data-do=reset]")
    assert status(page).startswith("Press Train.")
    begun(page)
    page.click("[data-do=seed]")  # another start, and no training
    page.wait_for_function("!document.querySelector('canvas').ariaLabel.includes('seed 0:')")
    begun(page)
    assert page.inner_text(TRAIN) == "Train" and status(page).startswith("Press Train.")


def test_a_value_may_be_typed_and_one_out_of_range_is_named(page):
    box = type_into(page, TAU, 50)
    refusal = status(page)
    assert refusal.startswith("temperature τ = 50 is not allowed: temperature")
    with pytest.raises(Exception, match=re.escape(refusal)):  # a program is told the same
        run(page, "tau: 50")
    assert box.get_attribute("aria-invalid") == "true"
    train(page)  # what is trained is what stands there, and the status says so
    assert status(page).startswith("temperature τ stays 0.1, as 50 is not allowed: 400 iterations")
    assert box.get_attribute("aria-invalid") is None
    assert f"temperature τ {box.input_value()}" in label(page)
    type_into(page, TAU, 0.237)
    page.wait_for_function("document.querySelector('canvas').ariaLabel.includes('τ 0.237')")
    page.wait_for_function(DONE)
    assert "temperature τ 0.237" in label(page) and status(page).startswith("400 iterations")


def test_what_is_said_of_a_value_out_of_range_is_not_written_over_by_a_run(page):
    page.click("summary")
    type_into(page, "steps (iterations)", 100000)
    page.click(TRAIN)
    page.wait_for_function(f"{STATUS}.startsWith('iteration')")
    type_into(page, TAU, 50)
    assert page.inner_text(TRAIN) == "Train"  # it has stopped
    assert status(page).startswith("temperature τ = 50 is not allowed: temperature")


def test_a_run_that_diverges_says_so_and_what_stood_there_remains(page):
    page.locator("label:has-text('rate') input[type=text]").fill("10")
    page.keyboard.press("Enter")
    type_into(page, TAU, 10)
    page.click(TRAIN)
    page.wait_for_function(f"document.querySelector('{TRAIN}').textContent === 'Train'")
    assert "diverged" in status(page) or "iterations in" in status(page)
    assert page.is_visible("canvas")


@pytest.mark.parametrize(
    "without",
    ["delete window.Worker", "URL.createObjectURL = () => 'blob:null/nothing'"],
    ids=["no workers", "a worker that does not begin"],
)
def test_a_browser_that_cannot_train_says_so_and_the_picture_remains(tabs, block, without):
    page = tabs().page
    page.add_init_script(without)
    page.goto(block.as_uri())
    cannot = f"{STATUS} === 'This browser cannot train here.'"
    page.wait_for_function(cannot)  # the worker begins before anybody presses Train
    page.evaluate(f"{STATUS} = ''")
    page.click(TRAIN)
    page.wait_for_function(cannot)
    page.wait_for_function(f"document.querySelector('{TRAIN}').textContent === 'Train'")
    assert page.is_visible("figure img") and not page.is_visible("canvas")
    assert run(page, "eps: 0.17") == {"steps": []}
    page.context.close()


def test_a_page_in_the_background_trains_to_its_end_which_stands_there_then(visit, block):
    page = visit(block, "window.requestAnimationFrame = () => 1")  # nobody sees it: no frames
    page.click(TRAIN)
    page.wait_for_function(DONE, polling=50)
    assert page.is_visible("canvas") and not page.is_visible("figure img")
    assert f"iteration {CONFIG.steps}," in label(page)


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
def test_a_block_that_a_notebook_takes_away_ends_its_worker(visit, block, hidden):
    """Where its cell runs again, as JupyterLab does it: all of the output anew, each of its scripts run."""
    page = visit(block, ENDED)
    train(page)
    html = BLOCK.search(block.read_text(encoding="utf-8")).group()
    page.wait_for_function("location.hash.includes('here')")
    page.evaluate(AGAIN, [hidden, html])
    page.wait_for_function("window.ended === 1")
    page.wait_for_function(DONE)  # the run of the address
    assert run(page, "eps: 0.17")["steps"][-1] == CONFIG.steps
    assert page.evaluate("window.ended") == 1


def test_a_block_that_is_put_elsewhere_trains_on_and_one_that_is_put_back_again(visit, block):
    page = visit(block, ENDED)
    page.evaluate("""() => {
        window.figure = document.querySelector("figure.clbook-here");
        window.parent = figure.parentNode;
        window.found = window.clbook.explorers.here.run({steps: 50000});
    }""")
    page.wait_for_function(f"{STATUS}.includes('iteration 1')")
    page.evaluate("document.body.append(figure)")
    page.wait_for_timeout(100)
    assert page.evaluate("window.ended") == 0 and page.inner_text(TRAIN) == "Stop"
    page.evaluate("figure.remove()")
    page.wait_for_function("window.ended === 1")
    steps = page.evaluate("found.then(({ steps }) => steps)")
    assert 0 < steps[-1] < 50000
    page.evaluate("parent.append(figure)")
    assert page.inner_text(TRAIN) == "Train"
    assert run(page, "steps: 400")["steps"][-1] == 400


def test_the_arrow_keys_move_a_slider_which_draws_another_start_and_after_train_trains(page):
    begun(page)
    slider = page.locator("input[type=range]").first
    slider.focus()
    before = slider.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    after = slider.get_attribute("aria-valuetext")
    assert after != before
    begun(page, f"ε {after},")
    assert status(page).startswith("Press Train.")
    train(page)
    page.evaluate(f"{STATUS} = ''")
    slider.press("ArrowLeft")
    page.wait_for_function(DONE)


# What may be set.


def test_every_slider_offers_what_the_config_takes_and_no_more():
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
    ball = content_style.Config(space="sphere", normalize=True, d_c=4)
    with pytest.raises(ValueError, match="settings = 'content_sd' is not allowed: here it has one"):
        train_here(content_style.run, linear_figures.linear, ball, settings=("tau", "content_sd"))


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


def other_picture(run):
    """A picture of another run: what is looked at is drawn in the page."""
    return figures.trajectories(separability.run(CONFIG))


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    how = {"settings": ("spacing", "jitter"), "panels": (panels.points(ball=True),)}
    made = train_here(overlap.run, other_picture, Endless(), name="ring", **how)
    return alone(made, tmp_path_factory.mktemp("ring"))


def test_sliders_and_boxes_and_programs_take_the_same_values(visit, ring):
    page = visit(ring)
    box = page.get_by_label("spacing (degrees), typed")
    slider = page.locator("input[type=range]").first
    train(page)
    for key, value in (("Home", "0.0152"), ("End", "15.2")):
        slider.press(key)
        page.wait_for_function(DONE)
        assert box.input_value() == value
    found = run(page, "spacing: 0.001, steps: 500", "ring")
    truth = overlap.run(Endless(spacing=0.001, steps=500))
    assert found["steps"] == truth.steps.tolist()
    assert np.array(found["z"]) == pytest.approx(truth.z[-1].ravel(), abs=1e-4)
    type_into(page, "spacing (degrees)", 12.5)
    # Its last words: that a run has ended is still said of the one before.
    page.wait_for_function(
        "/spacing 12.5, .*: iteration 500\\./.test(document.querySelector('canvas').ariaLabel)"
    )
    stood = label(page)
    refused = {"spacing": ["60", "15.3", "0", "-1", "'12'", "null"], "jitter": ["NaN"]}
    refused |= {"steps": ["0", "2.5", "Infinity"], "seed": ["10000"]}
    for name, value in [(name, value) for name, values in refused.items() for value in values]:
        said = value.strip("'")
        with pytest.raises(Exception, match=rf"RangeError: {name} = {said} is not allowed: "):
            run(page, f"{name}: {value}", "ring")
        if said == value and value != "null":
            typed = box if name == "spacing" else page.locator(f"[aria-label^={name}][type=text]")
            typed.evaluate("(box, said) => { box.value = said; }", said)
            typed.dispatch_event("change")
            assert status(page).startswith(f"{name} = {said} is not allowed: ")
    assert label(page) == stood  # nothing was trained, and nothing set
    # Where small values matter, the first tenth of a slider is a thousandth of the range.
    scale = "clbookSettings.scale({ low: 0, high: 1, value: 0 }).inverse(0.1)"
    assert page.evaluate(scale) == pytest.approx(0.001)


# The address.


def hash_with(page, words):
    """The address behind the #, once all of `words` stand in it."""
    page.wait_for_function("words => words.every(word => location.hash.includes(word))", arg=words)
    return page.evaluate("location.hash")


def test_a_link_keeps_all_of_it(visit, page, block):
    """Settings typed, shapes, steps, seed, and what pinned runs had."""
    page.click("summary")
    type_into(page, TAU, 0.237)
    type_into(page, "seed", 11)
    page.click("text='3'")
    train(page)
    page.click("[data-do=pin]")
    type_into(page, "seed", 12)
    type_into(page, "steps (iterations)", 300)
    page.click("text='2'")
    trained(page, "seed 12: iteration 300")
    words = label(page)
    address = hash_with(page, ["classes=2", "seed=12", "steps=300", "pin=classes%3D3", "seed%3D11"])

    other = visit(block, at=address)
    other.wait_for_function("document.querySelector('canvas').ariaLabel?.includes('seed 12')")
    # The pinned run is told as done before the other one has come to its end.
    other.wait_for_function("document.querySelector('canvas').ariaLabel.includes('n 300')")
    other.wait_for_function(DONE)
    assert label(other) == words
    assert words.count("temperature τ 0.237") == 2
    assert other.get_by_label("seed, typed").input_value() == "12"
    assert other.locator(".clbook-choices [aria-pressed=true]").all_inner_texts() == ["2"]
    assert hash_with(other, ["seed=12"]) == address


NOTED = """
window.written = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  if (this.font.startsWith("bold")) window.written.push(text);
  return write.call(this, text, x, y);
};
"""


def test_runs_beside_each_other_are_named_by_what_differs(visit, block):
    """The latest names on the canvas, and what a screen reader hears: the settings in which the runs differ."""
    page = visit(block, NOTED, width=390)
    page.click("summary")

    def names_after(act, words):
        page.evaluate("window.written = []")
        act()
        trained(page, words)
        return page.evaluate("window.written")

    train(page)
    assert page.evaluate("window.written") == []  # a run alone needs no name
    page.click("[data-do=pin]")
    type_into(page, TAU, 0.05)
    names = names_after(lambda: type_into(page, "seed", 3), "seed 3: iteration 400")
    assert names[-2:] == ["temperature τ 0.1, seed 0", "temperature τ 0.05, seed 3"]
    assert status(page).startswith("temperature τ 0.05, seed 3: 400 iterations in ")
    for name in ("τ 0.1, seed 0", "τ 0.05, seed 3"):
        assert f"temperature {name}, of classes C 2, ε 0.1," in label(page)
    page.click("[data-do=pin]")
    names = names_after(
        lambda: page.click("text='3'"),
        "classes C 3, ε 0.1, temperature τ 0.05, rate / τ 0.01, seed 3: iteration 400",
    )[-3:]
    assert [text.split(", ")[0] for text in names] == [f"classes C {k}" for k in (2, 2, 3)]
    assert names[2] == "classes C 3, temperature τ 0.05, seed 3"
    assert "classes C 3, temperature τ 0.05, seed 3, of" in label(page)


def test_an_address_sets_the_block_and_what_is_not_allowed_is_left_out(page):
    page.evaluate("location.hash = '#another:eps=1;here:eps=0.3&tau=50&classes=9&seed=1.5&width=3'")
    page.wait_for_function(DONE)
    assert "ε 0.3, temperature τ 0.1," in label(page) and "seed 0:" in label(page)
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


def test_every_setting_that_a_run_depends_on_is_offered(page):
    boxes = page.locator("details input[type=text]")
    labels = boxes.evaluate_all("found => found.map(box => box.ariaLabel)")
    assert labels == ["spread, typed", "noise, typed", "steps (iterations), typed", "seed, typed"]
    found = run(page, "noise: 0.2, steps: 50")
    same_run(found, separability.run(CONFIG.replace(noise=0.2, steps=50)))


def test_without_a_script_a_picture_stands_there(visit, block):
    page = visit(block, java_script_enabled=False)
    assert "Trajectories of 40 embedded points" in page.get_attribute("figure img", "alt")
    assert "takes JavaScript" in status(page) and not page.is_visible("details")


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


def test_bars_and_curves_and_a_whole_number(visit, tmp_path):
    config = content_style.Config(steps=40)
    bars = panels.bars("gain", "gain", colour="style")
    curves = panels.curves(means="mean gain", losses="loss")
    how = {"settings": ("d_c", "tau"), "panels": (bars, curves), "name": "box"}
    made = train_here(content_style.run, linear_figures.linear, config, **how)
    page = visit(alone(made, tmp_path))
    found = run(page, "d_c: 3, tau: 0.7, seed: 2", "box")
    truth = content_style.run(config.replace(d_c=3, tau=0.7, seed=2))
    assert found["steps"] == truth.steps.tolist()
    assert found["gain"] == pytest.approx(content_style.gains(truth.map[-1]), rel=1e-4)
    assert drawn(page) >= 2  # content and style
    assert f"{config.steps} iterations in" in status(page) and ", loss " in status(page)
    slider = page.locator("input[type=range]").first
    slider.press("ArrowRight")  # of a whole number a key moves to the next
    assert slider.get_attribute("aria-valuetext") == "4"
    box = page.locator("label:has-text('content dimensions') input[type=text]")
    for refused in ("2.5", "9"):
        box.fill(refused)
        box.press("Enter")
        assert status(page).startswith(f"content dimensions = {refused} is not allowed: ")


@pytest.fixture(scope="module")
def ball(tmp_path_factory):
    """Points on the circle or the sphere, with the curve of their loss."""
    shown = (panels.points(ball=True), panels.curves(losses="loss of the step"))
    how = {"settings": ("tau",), "panels": shown, "d": (2, 3), "name": "ball"}
    made = train_here(sphere.run, other_picture, sphere.Config(n=40, d=3, steps=20), **how)
    return alone(made, tmp_path_factory.mktemp("ball"))


@pytest.mark.parametrize("width", [390, 1200])
def test_points_on_the_sphere_with_their_curves(visit, ball, width):
    page = visit(ball, width=width)
    train(page)
    assert "separable" not in status(page)  # that is on request, and no page computes it
    assert ", loss of the step " in status(page)
    assert drawn(page) >= 4
    page.click("[data-do=pin]")
    page.click("[data-do=seed]")
    page.wait_for_function(DONE)
    assert label(page).count("loss of the step") == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def picture_of(page):
    return page.evaluate("document.querySelector('canvas').toDataURL()")


def test_the_sphere_turns_by_drag_and_by_keys(visit, ball):
    page = visit(ball)
    train(page)
    words, before = label(page), picture_of(page)
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
    assert label(page) == words  # the run is what it was
    assert barriers(page) == []
    page.click("text='2'")  # the circle does not turn
    page.wait_for_function(DONE)
    assert page.get_attribute("canvas", "role") == "img"
    assert page.locator("canvas").evaluate("(canvas) => canvas.tabIndex") == -1


# What a block asks of its reader.

ASK = Ask(
    "At which width do they separate sooner?",
    ("0.02", "0.2"),
    "0.02",
    ("The gap grows from the start.", "It has to be crossed first."),
    ({"eps": 0.02}, {"eps": 0.2}),
)
GOALS = (Goal("Separate them", "separable_at >= 0"), Goal("Start wide", "eps >= 3"))


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    says = {"neighbours": "nearest of one colour {:.0%}", "losses": "loss {:.2f}"}
    how = {"settings": ("eps", "tau"), "panels": (panels.data(), panels.points(span=1.7))}
    how |= {"says": says, "ask": ASK, "goals": GOALS, "name": "asked"}
    longer = CONFIG.replace(steps=2000)
    made = train_here(separability.run, figures.trajectories, longer, **how)
    return alone(made, tmp_path_factory.mktemp("asked"))


REPLY = "document.querySelector('.clbook-reply').textContent"


def goals(page):
    return page.locator(".clbook-goals em").all_inner_texts()


def test_a_choice_trains_what_answers_it_and_a_goal_is_noticed_and_remembered(visit, asked):
    page = visit(asked)
    begun(page)  # the picture is there before anybody chooses, and no reply
    assert page.is_visible("canvas") and page.evaluate(REPLY) == ""
    assert goals(page) == ["(open)", "(open)"]
    page.click(TRAIN)
    assert status(page).startswith("First your guess") and page.inner_text(TRAIN) == "Train"
    page.get_by_role("button", name="0.2", exact=True).click()
    page.wait_for_function(f"{REPLY} !== ''")
    stood = page.evaluate(REPLY)
    assert stood.startswith("Not so. It has to be crossed first. The answer is")
    assert label(page).count("iteration 2000") == 2 and "nearest of one colour" in status(page)
    assert goals(page)[0].startswith("(reached in run ") and goals(page)[1] == "(open)"
    reached = goals(page)
    page.reload()  # the address has both runs
    page.wait_for_function(f"{DONE} && {STATUS}.includes('0.2: ')")
    assert page.evaluate(REPLY) == stood and goals(page) == reached
    type_into(page, "ε, width of the start", 3)  # it has trained, so that a change trains
    page.wait_for_function(f"{STATUS}.includes('You have reached a goal: Start wide.')")


def test_where_nothing_is_kept_it_asks_and_notices(tabs, asked):
    page = tabs().page
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    )
    page.goto(asked.as_uri())
    begun(page)
    page.get_by_role("button", name="0.02").click()
    page.wait_for_function(f"{REPLY}.startsWith('Right.')")
    assert goals(page)[0].startswith("(reached in run ")
    page.context.close()


def test_a_panel_of_what_a_page_does_not_have_is_named():
    how = {"settings": ("tau",), "panels": (panels.curves(accuracy="accuracy"),)}
    with pytest.raises(
        ValueError, match="panels = 'accuracy' is not allowed: here it must be one of z, fin"
    ):
        train_here(sphere.run, figures.trajectories, sphere.Config(n=40, steps=20), **how)


def test_wrong_fields_and_runs_are_named():
    picture = figures.trajectories
    with pytest.raises(ValueError, match="'width' is not allowed: here it must be one of"):
        train_here(separability.run, picture, CONFIG, settings=("width",))
    with pytest.raises(ValueError, match="run must be the `run` of a Training"):
        train_here(len, picture, CONFIG, settings=("eps",))


# What was traced is kept.


def test_a_second_kernel_traces_nothing_and_a_damaged_file_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path))
    how = {"settings": ("eps", "tau"), "classes": (2, 3)}

    def made(**changes):
        return train_here(separability.run, figures.trajectories, CONFIG, **how | changes).code

    first = made()
    traced = []
    for make in (inpage.program, inpage.knobs):
        # A stand-in of another module would be other code; this one belongs to the same.
        told = functools.update_wrapper(lambda *a, m=make: traced.append(m) or m(*a), make)
        monkeypatch.setattr(inpage, make.__name__, told)
    assert made() == first and traced == []
    assert made(settings=("eps", "lr_over_tau")) != first and len(traced) == 3
    for path in (tmp_path / "programs").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    with pytest.warns(UserWarning, match="cannot be used, so it is made again"):
        assert made() == first
    assert len(traced) == 6


def test_a_bar_tells_how_far_the_tracing_is_but_not_in_a_built_page(monkeypatch, capfd):
    monkeypatch.setattr(inpage, "stored", lambda *given: time.sleep(0.2) or given[-2:])
    assert inpage.programs(separability, [CONFIG] * 2, ("eps",)) == [(["eps"], [])] * 2
    assert f"{inpage.TRACING}:   0%" in (err := capfd.readouterr().err) and "2 of 2 parts" in err
    monkeypatch.setenv("CLBOOK_STATIC", "1")
    assert inpage.programs(separability, [CONFIG] * 2, ("eps",)) == [(["eps"], [])] * 2
    assert capfd.readouterr().err == ""


def test_a_store_that_cannot_be_written_costs_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder")
    how = {"settings": ("eps",), "figure": figures.trajectories, "base_config": CONFIG}
    with pytest.warns(UserWarning, match="what trains in the page is not stored"):
        assert train_here(separability.run, **how).code


def test_a_number_of_the_text_is_dragged_and_drives_the_block(visit, block, tmp_path):
    path = tmp_path / "named.html"
    words = 'Take a start <a href="#here:eps=0.3">0.3</a> wide, or <a href="#here:classes=3">3 classes</a>.'
    html = block.read_text(encoding="utf-8").replace(
        "</main>", f"<p style='margin-top: 200vh'>{words}</p></main>"
    )
    path.write_text(html, encoding="utf-8")
    page = visit(path)
    number, classes = page.locator(".clbook-scrub").all()
    assert number.get_attribute("aria-label") == "ε" and classes.get_attribute("role") == "slider"
    number.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    box = number.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 50, box["y"] + 5, steps=5)
    page.mouse.up()
    dragged = float(number.inner_text())
    assert dragged > 0.3 and number.get_attribute("aria-valuenow") == str(dragged)
    mini = page.locator(".clbook-mini")
    page.wait_for_function(
        "document.querySelector('.clbook-mini p').textContent.includes('iterations in')"
    )
    assert mini.get_by_role("img").is_visible() and page.evaluate("scrollY") == before
    assert page.get_by_label("ε, width of the start, typed").input_value() == str(dragged)
    number.press("ArrowLeft")
    assert 0.3 < float(number.inner_text()) < dragged
    page.wait_for_function(f"{STATUS}.includes('iterations in')")
    assert barriers(page) == []
    classes.press("ArrowLeft")
    assert classes.inner_text() == "2 classes" and number.inner_text() == "0.3"  # as it was written
    classes.press("Home")
    mini.get_by_role("button", name="Close").press("Escape")
    assert mini.count() == 0 and classes.evaluate("e => e === document.activeElement")
