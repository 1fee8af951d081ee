"""The static explorer: what the page holds, and what a reader's browser does with it."""

from __future__ import annotations

import base64
import csv
import dataclasses
import functools
import importlib
import io
import itertools
import pkgutil
import re

import numpy as np
import pytest
import toy
from browser import alone, barriers
from matplotlib.collections import LineCollection
from PIL import Image

import clbook
import clbook_book
from clbook import experiments, style
from clbook.explore import controls, data, explore, static, vector
from clbook.training.settings import Settings

BASE = toy.Config(n=40)
GRID = {"a": [0.5, 1, 4], "b": [1, 2]}  # a slider and, of two values, a pair of buttons
FRAMES = 6


@pytest.fixture
def still(monkeypatch):
    monkeypatch.setenv("CLBOOK_STATIC", "1")
    monkeypatch.setattr(static, "sweep", toy.swept)


# --- the interface ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"size": [1, 2]}, "size = 1 is not allowed: no such setting"),
        ({"a": [1.0], "b": [2], "n": [40]}, "at most two"),
        ({"a": []}, r"a = \[\] is not allowed: a must be a list of values, at least one"),
        ({"a": [2, 3]}, "must hold base_config's value, 1.0"),
        ({"a": [1, 1.0]}, "each once, and 1.0 is there twice"),
        ({"a": [1, -1]}, "a = -1 is not allowed"),
        ({"b": [2, 2.5]}, "b = 2.5 is not allowed"),
        ({"a": [1], "time": "epochs"}, "time = 'epochs'.*Result has no such attribute"),
        ({"a": [1], "frames": 1}, "frames = 1"),
        ({"a": 1.0}, "a = 1.0 is not allowed: a must be a list of values"),
        ({"a": [1], "cells": str}, "cells with 1 axes"),
    ],
)
def test_bad_input_is_named(still, axes, message):
    with pytest.raises(ValueError, match=message):
        explore(toy.run, toy.draw, BASE, **axes)


def test_a_figure_without_a_picture_and_a_config_without_settings_are_named(still):
    with pytest.raises(ValueError, match="figure returned a Figure: it must return"):
        explore(toy.run, lambda result, frame=0: toy.draw(result, frame).fig, BASE, a=[1])
    with pytest.raises(ValueError, match="base_config = {'a': 1} is not allowed: it must be set"):
        explore(toy.run, toy.draw, {"a": 1}, a=[1])


NAMES = "eps|tau|lr|eta|psi|std|sd|init|dim|alike|normalize|scaling|augmentation|True|False|None"


def test_no_label_or_value_of_a_control_is_a_python_name():
    """Of every Config of the experiments and the papers: a live panel shows all of its fields."""
    parts = [*pkgutil.walk_packages(experiments.__path__, "clbook.experiments.")]
    parts += pkgutil.walk_packages(clbook_book.__path__, "clbook_book.")
    modules = [importlib.import_module(part.name) for part in parts]
    kinds = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    found = [kind for kind in kinds if issubclass(kind, Settings) and kind is not Settings]
    for field in itertools.chain(*map(dataclasses.fields, found)):
        values = map(controls.text, (*(field.metadata["choices"] or ()), True))
        said = [controls.label(field), *(value.replace("_", " ") for value in values)]
        assert not re.search(rf"_|\\|'|\b({NAMES})\b|^\(", "\n".join(said), re.MULTILINE), field
    assert len(found) >= 8


def test_the_first_step_and_what_a_result_names_are_among_the_frames(still):
    @dataclasses.dataclass
    class Timed(toy.Result):
        turned_at: int | None = None

    def run(config):
        result = toy.run(config)
        return Timed(**vars(result), turned_at=17 if config.a == 1 else None)

    pair = {"one": run(BASE), "two": run(BASE.replace(a=4.0))}
    player = explore(run, toy.draw, BASE, time="steps", frames=5, a=[0.5, 1])
    assert player.setup["times"] == [[0, 1, 10, 20, 30], [0, 1, 15, 17, 30]]
    assert static.must_stay(pair, toy.run(BASE).steps) == {1, 17}
    first_so = static.must_stay(run(BASE), [0, 10, 20, 30])
    assert first_so == {1, 2}, "the first recorded time at which it is so"


def test_the_first_and_the_last_recorded_time_are_always_kept():
    for count in (1, 2, 5, 24, 25, 1000):
        chosen = static.thinned(count, 24)
        assert chosen[0] == 0 and chosen[-1] == count - 1 and len(chosen) == min(count, 24)
        assert max(np.diff(chosen), default=1) - min(np.diff(chosen), default=1) <= 1


# --- the browser ------------------------------------------------------------------------------------------------------


def ending(result):
    """A made-up end of a run, for its cell."""
    config = result.config
    return config.a / 4, f"{config.a * config.b:g}", f"arms of {config.a * config.b:g}"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_STATIC", "1")
        patch.setattr(static, "sweep", toy.swept)
        made = functools.partial(explore, toy.run, toy.draw, BASE, time="steps")
        players = [
            made(frames=FRAMES, title="Arms", **GRID),
            made(name="length", steps=[3, 30]),
            made(frames=FRAMES, name="grid", cells=ending, **GRID),
        ]
        link = '<a href="#length:steps=3&amp;frame=1">a short run</a>'
        words = (
            f"<p id='section'>First this. (2) Then take <em>just</em> {link}, e.g. of 3. (So it is.) And "
            '<a href="#length:steps=30">a long one</a> last, or <a href="#length:steps=3">the short</a> again.</p>'
            '<p style="height: 70vh"></p>'
        )
        body = words.join(p._repr_html_() for p in players)
    file = tmp_path_factory.mktemp("book") / "page.html"
    file.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width"><title>Toy</title>'
        f'<body style="font-family:sans-serif">{body}</body></html>'
    )
    return file


@pytest.fixture
def page(visit, address):
    return visit(address)


@pytest.fixture
def drawn(visit, still, tmp_path):
    """`drawn(figure, width, **how)`: an explorer of the toy with another figure, on an opened page of its own."""

    def drawn(figure, width=1200, a=(1,), **how):
        made = explore(toy.run, figure, BASE, name="own", a=a, **how)
        return visit(alone(made, tmp_path), width=width, height=844)

    return drawn


def figure_of(page, k):
    return page.locator("figure.clbook-explorer").nth(k)


def press(page, axis, index, k=0):
    """Press the button number `index` of a choice."""
    figure_of(page, k).locator(f"[data-axis={axis}] input").nth(index).check(force=True)


def shown(page, k=0):
    return figure_of(page, k).locator("img").first.get_attribute("alt")


def expected(k, **settings):
    return toy.draw(toy.run(BASE.replace(**settings)), k).alt


def slide(page, axis, k=0):
    return figure_of(page, k).locator(f"input[data-axis={axis}]")


def to_the_end(page, k=0):
    """Show the end of the run at the start, whatever it is called, by the button."""
    figure_of(page, k).get_by_role("button", name="To the end").click()
    wait_alt(page, expected(-1), k)


def wait_alt(page, alt, k=0):
    page.wait_for_function(
        "([k, alt]) => document.querySelectorAll('figure.clbook-explorer img')[k].alt === alt",
        arg=[k, alt],
        timeout=30_000,  # a setting that is chosen at the beginning plays for five seconds
    )


CELLS = "all => all.map(e => e.getAttribute('aria-label').replace(' (rad)', ''))"


def test_a_pad_has_a_cell_for_each_run(page):
    pad, said = page.locator(".clbook-pad"), page.locator(".clbook-pad output")
    words = [f"a = {a:g}, b = {b}: arms of {a * b:g}" for a in GRID["a"] for b in GRID["b"]]
    to_the_end(page, 2)
    page.get_by_role("button", name="All cells").click()
    assert pad.get_by_role("radio").evaluate_all(CELLS) == words
    assert said.inner_text().replace(" (rad)", "") == words[3]
    assert figure_of(page, 2).locator("input[type=range]").count() == 1  # of time alone
    page.locator(".clbook-cells label").nth(4).click()
    wait_alt(page, expected(-1, a=4.0, b=1), 2)
    assert said.inner_text().endswith("arms of 4")
    keys = ["ArrowUp", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowUp"]
    for key, a, b in zip(keys, [1.0, 1.0, 1.0, 0.5, 0.5, 0.5], [1, 2, 2, 2, 1, 1]):
        page.keyboard.press(key)
        wait_alt(page, expected(-1, a=a, b=b), 2)
    page.wait_for_function("location.hash === '#grid:a=0.5&b=1&frame=5'")
    page.evaluate("location.hash = '#grid:a=4&b=2&frame=0'")
    wait_alt(page, expected(0, a=4.0), 2)
    assert pad.locator("input:checked").get_attribute("value") == "5"
    page.get_by_role("button", name="Reset").nth(2).click()
    wait_alt(page, expected(0), 2)
    assert said.inner_text().endswith("arms of 2")


def test_a_cell_tells_its_run_s_end_only_once_that_run_has_been_shown(page):
    """A question comes before the picture: eye and screen reader get no answer from cells that nobody has chosen."""
    cells = page.locator(".clbook-pad").get_by_role("radio")
    signs = "all => all.map(e => getComputedStyle(e.nextElementSibling).visibility === 'visible')"
    plain = "all => all.map(e => getComputedStyle(e.parentNode).backgroundColor === 'rgb(255, 255, 255)')"

    def told():
        words = [": arms of" in name for name in cells.evaluate_all(CELLS)]
        assert cells.evaluate_all(signs) == words
        assert cells.evaluate_all(plain) == [not seen for seen in words]
        return [k for k, seen in enumerate(words) if seen]

    assert told() == []  # the start stands at its beginning
    to_the_end(page, 2)
    assert told() == [3]
    page.locator(".clbook-cells label").nth(4).click()
    page.keyboard.press("ArrowUp")
    page.evaluate("location.hash = '#grid:a=0.5&b=1&frame=0'")
    wait_alt(page, expected(0, a=0.5, b=1), 2)
    assert told() == [2, 3, 4]  # of the last one the beginning alone was seen
    page.evaluate("location.hash = '#grid:a=0.5&b=1'")
    wait_alt(page, expected(-1, a=0.5, b=1), 2)
    assert told() == [0, 2, 3, 4]
    page.get_by_role("button", name="All cells").click()
    assert told() == [*range(6)]


def test_keys_do_not_reach_the_page(page):
    page.evaluate("window.heard = 0; document.addEventListener('keydown', () => heard++)")
    slide(page, "a").press("ArrowRight")
    assert page.evaluate("heard") == 0


@pytest.mark.parametrize("k, count", [(0, FRAMES), (1, 31)])
def test_play_takes_five_seconds_whatever_the_number_of_frames(tabs, address, k, count):
    page = tabs().page
    page.clock.install(time=0)
    page.goto(address.as_uri())
    page.clock.pause_at(1000)
    time = slide(page, "frame", k)
    if k:  # a run of its own length
        assert time.get_attribute("max") == str(count - 1)
    figure_of(page, k).get_by_role("button", name="Play").click()
    seen = set()
    for _ in range(80):  # of 50 ms
        page.clock.run_for(50)
        seen.add(time.input_value())
    assert 0.5 * (count - 1) <= max(map(int, seen)) < count - 1, "it ends no earlier than after 4 s"
    page.clock.run_for(2000)
    page.wait_for_function(
        "k => document.querySelectorAll('[data-do=play]')[k].textContent === 'Play'", arg=k
    )
    assert int(time.input_value()) == count - 1 and len(seen) >= 0.5 * count


def test_play_begins_when_there_is_something_to_draw(visit, address):
    """The time that a slow machine takes to unpack the frames is no part of it."""
    slow = """{
      let later = 0;
      const now = performance.now.bind(performance), json = Response.prototype.json;
      performance.now = () => now() + later;
      Response.prototype.json = async function () {
        await new Promise((release) => { window.unpacked = () => { later = 10000; release(); }; });
        return json.call(this);
      };
    }"""
    page = visit(address, slow)
    page.get_by_role("button", name="Play", exact=True).first.click()
    page.wait_for_function("'unpacked' in window")
    page.evaluate("window.unpacked()")
    page.wait_for_function("document.querySelector('figure img').src.startsWith('blob:')")
    frame = slide(page, "frame")
    assert int(frame.input_value()) < int(frame.get_attribute("max"))


LAST = f"document.querySelector('input[data-axis=frame]').value === '{FRAMES - 1}'"


def test_play_pause_and_reset(page):
    play = page.get_by_role("button", name="Play").first
    play.click()
    page.wait_for_function("document.querySelector('input[data-axis=frame]').value === '2'")
    page.get_by_role("button", name="Pause").click()
    at = slide(page, "frame").input_value()
    page.wait_for_timeout(400)
    assert slide(page, "frame").input_value() == at
    play.click()
    page.wait_for_function(LAST)
    wait_alt(page, expected(-1))
    page.wait_for_function("document.querySelector('[data-do=play]').textContent === 'Play'")
    slide(page, "a").press("Home")
    wait_alt(page, expected(-1, a=0.5))
    page.get_by_role("button", name="Reset").first.click()
    wait_alt(page, expected(0))
    assert slide(page, "a").input_value() == "1"


def test_the_end_is_one_key_or_one_click_away(page):
    assert shown(page) == expected(0) and slide(page, "frame").input_value() == "0"
    assert slide(page, "frame").get_attribute("aria-valuetext") == "0"
    page.get_by_role("button", name="Play").first.focus()
    page.keyboard.press("End")
    wait_alt(page, expected(-1))
    assert slide(page, "frame").input_value() == str(FRAMES - 1)
    page.keyboard.press("Home")
    wait_alt(page, expected(0))
    slide(page, "frame").press("End")
    wait_alt(page, expected(-1))
    slide(page, "frame").press("Home")
    wait_alt(page, expected(0))
    to_the_end(page)


def test_a_setting_chosen_at_the_beginning_plays(visit, page, address):
    slide(page, "a").press("End")
    page.get_by_role("button", name="Pause").first.wait_for()
    page.wait_for_function(LAST)
    wait_alt(page, expected(-1, a=4.0))
    still = visit(address, reduced_motion="reduce")  # who wants no motion sees the end
    slide(still, "a").press("End")
    wait_alt(still, expected(-1, a=4.0))


def test_what_is_not_reached_is_covered_and_has_no_name(drawn):
    """A curve ends at the time shown: in the picture, beside its name, and under the pointer."""

    def figure(result, frame):
        fig, ((ax,),) = style.axes(1)
        time = result.steps[frame]
        ax.plot(result.steps, 1 + result.steps / 30, lw=8, color="#ff0000", label="rising")
        ax.axhline(1.5, color="#0000ff", lw=2)
        style.so_far(ax, time)
        style.name_lines(ax)
        return style.Picture(fig, f"step {time}")

    page = drawn(figure, time="steps", frames=FRAMES)
    image, readout = page.locator("figure.clbook-explorer img"), page.locator(".clbook-readout")

    def red():
        picture = np.asarray(Image.open(io.BytesIO(image.screenshot())).convert("RGB"), int)
        red, blue = ((abs(picture - ink).sum(2) < 60).any(0) for ink in [(255, 0, 0), (0, 0, 255)])
        return red.sum() / blue.sum()

    def hover(part):
        box = image.bounding_box()
        page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)
        readout.wait_for(state="visible")
        return float(readout.inner_text().split("x = ")[1].split(",")[0])

    assert red() < 0.05 and hover(0.7) == 0
    slide(page, "frame").press("End")
    wait_alt(page, "step 30")
    page.wait_for_function("document.querySelector('img').complete")
    assert red() > 0.8 and hover(0.7) > 15


def test_reduced_motion_steps_instead_of_playing(visit, address):
    page = visit(address, reduced_motion="reduce")
    page.get_by_role("button", name="Step").first.click()
    wait_alt(page, expected(1))
    assert slide(page, "frame").input_value() == "1"
    page.wait_for_timeout(400)
    assert shown(page) == expected(1)


def test_runs_of_different_length_keep_the_time(page):
    slide(page, "frame", 1).press("Home")
    for _ in range(6):
        slide(page, "frame", 1).press("ArrowRight")  # step 6 of 30
    wait_alt(page, expected(6), 1)
    press(page, "steps", 0, 1)
    wait_alt(page, expected(3, steps=3), 1)
    assert slide(page, "frame", 1).get_attribute("max") == "3"
    page.locator("[data-axis=b] input:checked").first.focus()
    page.keyboard.press("ArrowLeft")
    wait_alt(page, expected(-1, b=1))


def test_the_address_holds_the_state(visit, address):
    page = visit(address, at="#section")
    page.wait_for_timeout(300)
    assert page.url.endswith("#section") and shown(page) == expected(0)
    for k in range(2):
        to_the_end(page, k)
    slide(page, "a").press("ArrowRight")
    press(page, "steps", 0, 1)
    page.wait_for_function("location.hash === '#a-b:a=4&b=2&frame=5;length:steps=3&frame=3'")
    other = visit(address, at=page.evaluate("location.hash"))
    wait_alt(other, expected(-1, a=4.0))
    wait_alt(other, expected(-1, steps=3), 1)
    other.evaluate("location.hash = '#a-b:a=5e-1&b=7&frame=2'")  # off the grid: b stays
    wait_alt(other, expected(8, a=0.5))
    other.evaluate("location.hash = '#section'")
    other.wait_for_timeout(300)
    assert other.url.endswith("#section") and shown(other) == expected(8, a=0.5)


def test_an_address_that_is_just_opened_is_not_written_over(page):
    """A moved slider is written after a while; what the reader opens before that counts."""
    page.evaluate("""async () => {
      const slider = document.querySelector("[data-axis=frame]");
      slider.value = 3;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => setTimeout(done, 100));
      location.hash = "#a-b:a=4&b=2&frame=0";
      const until = performance.now() + 300;
      while (performance.now() < until); // the timer's time passes before the page hears of the address
    }""")
    wait_alt(page, expected(0, a=4.0))
    page.wait_for_timeout(300)
    assert page.url.endswith("#a-b:a=4&b=2&frame=0")


def test_a_malformed_address_is_left_alone(visit, address):
    page = visit(address, at="#%E0:eps=1;a-b:a=4&b=%E0")
    wait_alt(page, expected(-1, a=4.0))
    page.evaluate("location.hash = '#%:a=1'")
    page.wait_for_timeout(300)
    assert shown(page) == expected(-1, a=4.0)


def test_a_setting_in_the_text_is_set_where_it_stands(page):
    """The sentence keeps its place; a small copy of a picture that is out of sight leads there and back."""
    link = page.get_by_role("link", name="a short run").first
    link.evaluate("e => e.scrollIntoView({ block: 'start' })")
    before = link.bounding_box()["y"]
    for _ in range(2):
        link.click()
        wait_alt(page, expected(1, steps=3), 1)
        assert abs(link.bounding_box()["y"] - before) <= 1
        assert slide(page, "frame", 1).get_attribute("max") == "3"
        press(page, "steps", 1, 1)  # the reader goes on, and comes back by the link
        wait_alt(page, expected(1), 1)
        page.wait_for_function("location.hash === '#length:steps=30&frame=1'")
    link.evaluate("e => e.scrollIntoView({ block: 'end' })")
    before = link.bounding_box()["y"]
    page.set_viewport_size({"width": 1200, "height": 500})
    page.locator("[data-do=guide]").nth(1).click()
    link.evaluate("e => e.scrollIntoView({ block: 'start', behavior: 'instant' })")
    link.click()
    mini = page.locator(".clbook-mini")
    mini.wait_for()
    assert mini.get_by_role("img").get_attribute("aria-label") == expected(1, steps=3)
    page.keyboard.press("Tab")
    mini.get_by_role("button", name="Go there").click()
    assert mini.count() == 0
    back = page.get_by_role("button", name="Back to the sentence")
    assert back.evaluate("e => e === document.activeElement")
    assert not page.locator(".clbook-guide").nth(1).is_visible()
    page.wait_for_function(
        """back => {
      const { top, bottom } = back.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight && back.closest("figure").getBoundingClientRect().top > -1;
    }""",
        arg=back.element_handle(),
    )
    back.click()
    assert link.evaluate("e => e === document.activeElement") and back.count() == 0
    link.click()
    mini.get_by_role("button", name="Close").press("Escape")
    assert mini.count() == 0 and link.evaluate("e => e === document.activeElement")


def test_a_guide_tells_the_settings_that_the_text_names(page):
    figure = figure_of(page, 1)
    assert not page.locator("[data-do=guide]").first.is_visible()  # the text names none of its own
    start = figure.get_by_role("button", name="Guide me")
    start.click()
    words = figure.locator(".clbook-sentence")
    assert start.get_attribute("aria-expanded") == "true"
    assert words.inner_text() == "1 of 4. Then take just a short run, e.g. of 3."
    wait_alt(page, expected(1, steps=3), 1)
    assert figure.get_by_role("button", name="Back", exact=True).is_disabled()
    figure.get_by_role("button", name="Next").click()
    for named, steps in (("a long one", 30), ("the short", 3)):  # one sentence of two settings
        assert words.inner_text() == "2 of 4. And a long one last, or the short again."
        assert words.locator("strong").inner_text() == named
        wait_alt(page, expected(-1, steps=steps), 1)
        if steps == 30:
            figure.get_by_role("button", name="Next").click()
    figure.get_by_role("button", name="Back", exact=True).click()
    figure.get_by_role("button", name="Back", exact=True).click()
    assert words.inner_text().startswith("1 of 4.")
    for name in ("Next",) * 5 + ("Done",):
        figure.get_by_role("button", name=name).click()
    assert not words.is_visible() and start.get_attribute("aria-expanded") == "false"


@pytest.mark.parametrize("size", [(1200, 800), (1200, 500), (390, 844)])
def test_a_guide_is_seen_together_with_the_picture(visit, address, size):
    """Picture above, sentence below, at each of its steps; of a picture that is too high its upper part."""
    page = visit(address, width=size[0], height=size[1])
    figure = figure_of(page, 1)
    figure.scroll_into_view_if_needed()
    figure.get_by_role("button", name="Guide me").click()
    following = figure.get_by_role("button", name="Next")
    assert following.evaluate("e => e === document.activeElement")
    for alt in (expected(1, steps=3), expected(-1)):
        wait_alt(page, alt, 1)
        page.wait_for_function(
            """figure => {
          const box = (name) => figure.querySelector(name).getBoundingClientRect();
          const picture = box(".clbook-stage"), guide = box(".clbook-guide");
          const seen = Math.min(picture.height, innerHeight - guide.height - 40, 150);
          return picture.top > -1 && guide.bottom < innerHeight + 1 && guide.top >= picture.top + seen;
        }""",
            arg=figure.element_handle(),
        )
        if following.is_visible():
            following.click()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_guide_and_copy_are_no_barriers(visit, address, theme):
    page = visit(address, color_scheme=theme, height=500)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    figure = figure_of(page, 1)
    figure.get_by_role("button", name="Guide me").click()
    figure.get_by_role("button", name="Embed").click()
    link = page.get_by_role("link", name="a short run").first
    link.evaluate("e => e.scrollIntoView({ block: 'start' })")
    link.click()
    page.locator(".clbook-mini").wait_for()
    assert [each for each in barriers(page) if "clbook" in each or "button" in each] == []


def test_an_explorer_stands_alone(visit, address, page):
    only = visit(address, at="?only=length#length:steps=3&frame=2")
    alone = "alt => document.querySelector('body > .clbook-alone img')?.alt === alt"
    only.wait_for_function(alone, arg=expected(2, steps=3))
    assert only.locator("figure.clbook-explorer:visible").count() == 1
    assert not only.get_by_role("link", name="a short run").first.is_visible()
    page.get_by_role("button", name="Embed").nth(1).click()
    code, copied = page.locator(".clbook-code").nth(1), page.locator(".clbook-told").nth(1)
    page.wait_for_function("e => e.textContent !== ''", arg=copied.element_handle())
    assert re.fullmatch(
        r'<iframe src="file:\S+\?only=length:steps=30&amp;frame=0" title="length" [^>]+></iframe>',
        code.input_value(),
    )
    embedded = re.search('src="([^"]*)"', code.input_value())[1].replace("&amp;", "&")
    only.goto(embedded)
    assert only.locator("figure.clbook-explorer:visible").count() == 1


def test_a_title_stands_above_and_a_caption_below(visit, still, tmp_path):
    players = [
        explore(toy.run, toy.draw, BASE, a=[1], title=title, caption=caption)
        for title, caption in (("Arms", ""), ("Arms again", "Dots: points. Or arms."))
    ]
    (tmp_path / "two.html").write_text("".join(p._repr_html_() for p in players), encoding="utf-8")
    page = visit(tmp_path / "two.html")
    titles = page.locator(".clbook-title")
    assert titles.all_inner_texts() == ["Arms", "Arms again"]
    assert page.locator(".clbook-caption").all_inner_texts() == ["Dots: points. Or arms."]
    assert page.locator("figure").nth(1).get_attribute("aria-label") == "Arms again"
    note = "In JupyterLab every setting can be changed, and the experiment runs anew."
    assert page.locator(".clbook-note:visible").all_inner_texts() == [note]  # said once


def test_axes_with_a_scale_of_their_own_keep_it_in_every_run(still):
    def figure(result):
        fig, ((own, all_runs),) = style.axes(2)
        for ax in (own, all_runs):
            ax.plot([0, 1], [0, result.config.a])
            ax.set_ylim(0, result.config.a)
        own.set_gid("own scale")
        return style.Picture(fig, "a line")

    player = explore(toy.run, figure, BASE, a=[0.5, 1, 4])
    assert [axes[0][7] for axes in player.scene.axes] == [0.5, 1, 4]
    assert {axes[1][7] for axes in player.scene.axes} == {4}


def download(page, name):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).first.click()
    return waiting.value.suggested_filename, waiting.value.path().read_text(encoding="utf-8")


def test_csv_holds_the_results_own_numbers(page):
    to_the_end(page)
    slide(page, "frame").press("ArrowLeft")
    wait_alt(page, expected(22))
    name, text = download(page, "CSV")
    assert name == "a-b_a=1_b=2_steps=22.csv"
    comment, _, table = text.partition("\n")
    assert comment == (
        f"# clbook {clbook.__version__}, a-b: a = 1, b = 2, n = 40, steps = 30, delay = 0, "
        "shape = spiral, turn = on"
    )
    series = {}
    for row in csv.DictReader(io.StringIO(table)):
        assert row["steps"] == "22"
        series.setdefault((row["panel"], row["series"]), []).append(row)

    def numbers(rows, *names):
        return np.array([[float(row[name]) for name in names] for row in rows])

    result, close = toy.run(BASE), {"rtol": 5e-5, "atol": 1e-12}  # five digits
    line = "a = 1, step 22"
    of_classes = {
        (panel, f"{name} {c}")
        for panel, name in (("z_2", "class"), (line, "radius"))
        for c in (0, 1)
    }
    assert set(series) == {*of_classes, ("cos(z_i, z_j)", "cells 1")}
    for c in range(2):
        points = numbers(series["z_2", f"class {c}"], "z_1", "z_2")
        np.testing.assert_allclose(points, result.z[22][result.labels == c], **close)
        drawn = numbers(series[line, f"radius {c}"], "iteration + 1", "mean ‖z_i‖")
        np.testing.assert_allclose(drawn[:, 0], result.steps[:23] + 1, **close)
        radius = np.linalg.norm(result.z[:23, result.labels == c], axis=2).mean(1)
        np.testing.assert_allclose(drawn[:, 1], radius, **close)
    order = np.argsort(result.labels, kind="stable")
    unit = result.z[22][order] / np.linalg.norm(result.z[22][order], axis=1, keepdims=True)
    cells = numbers(series["cos(z_i, z_j)", "cells 1"], "column", "row", "value")
    np.testing.assert_allclose(cells[:, 2], (unit @ unit.T).ravel(), rtol=5e-5, atol=1e-7)


def test_figures_with_bars_words_and_arrows_have_numbers_too(drawn):
    def figure(result):
        fig, ((bars, across, arrows, empty),) = style.axes(4)
        bars.bar(["one", "two"], [3.25, 1 / 3])
        across.barh([0, 1], [2, 5], left=1)
        across.set_yticks([0, 1], ["cat", "dog"])
        across.set_title(r"$\Theta\sqrt{n}$")
        arrows.quiver(*result.z[-1].T, *result.z[0].T, gid="moves")
        arrows.set(xlabel=r"$\varepsilon\,/\,\tau$", ylabel=r"mean $\|z_i\|$")
        lines = LineCollection(result.z[:, :2].swapaxes(0, 1), gid="paths")
        arrows.add_collection(lines)
        style.so_far(arrows, 0.0)  # what is covered has its numbers in the file
        empty.plot([1, 2], [3, 1 / 7])
        empty.axvline(1.5)
        return style.Picture(fig, "four kinds")

    page = drawn(figure)
    rows = list(csv.DictReader(io.StringIO(download(page, "CSV")[1].partition("\n")[2])))
    kinds = {}
    for row in rows:
        kinds.setdefault(row["series"], []).append(row)
    bars, across = kinds["bars 1"][:2], kinds["bars 1"][2:]
    assert [row["x"] for row in bars] == ["one", "two"]
    assert [float(row["y"]) for row in bars] == pytest.approx([3.25, 1 / 3], rel=5e-5)
    shown = [(row["x"], row["y"], row["start"]) for row in across]
    assert shown == [("3", "cat", "1"), ("6", "dog", "1")]
    assert len(kinds["moves"]) == BASE.n and {"dx", "dy"} <= set(rows[0])
    assert [row["item"] for row in kinds["paths"]] == ["1"] * 31 + ["2"] * 31
    assert [float(row["y"]) for row in kinds["line 1"]] == pytest.approx([3, 1 / 7], rel=5e-5)

    table = list(csv.DictReader(io.StringIO(data.table(figure(toy.run(BASE)).fig))))
    assert len(table) == len(rows) and {"ε / τ", "mean ‖z_i‖"} <= table[0].keys()
    assert {row["panel"] for row in table} == {"1", "Θ√n", "mean ‖z_i‖", "4"}
    for live, page_s in zip(table, rows, strict=True):  # a panel's file says what the page's says
        assert live.keys() == page_s.keys()
        for name, value in live.items():
            if re.fullmatch(r"-?\d[\d.e+-]*", value):
                assert float(page_s[name]) == pytest.approx(float(value), rel=5e-5)
            else:
                assert page_s[name] == value


def test_a_name_is_no_formula_of_a_spreadsheet(drawn):
    def figure(result):
        fig, ((ax,),) = style.axes()
        ax.plot([1, 2], [-3, 4], gid="=1+1")
        ax.set(xlabel="@sum", ylabel="=A1")
        return style.Picture(fig, "a line")

    page = drawn(figure)
    table = ["panel,series,'@sum,'=A1", "'=A1,'=1+1,1,-3", "'=A1,'=1+1,2,4"]
    assert data.table(figure(toy.run(BASE)).fig).splitlines() == table
    assert download(page, "CSV")[1].splitlines()[1:] == table


def test_several_runs_are_one_frame_and_the_figure_may_have_its_own_times(still):
    def figure(pair, frame):
        picture = toy.draw(pair["one"], frame)
        picture.alt = f"{[run.config.b for run in pair.values()]}, seen from {90 * frame}"
        return picture

    compare = {"one": {"b": 1}, "three": {"b": 3}}
    times = {"seen from (degrees)": range(0, 360, 90)}
    player = explore(toy.run, figure, BASE, compare=compare, time=times, a=[0.5, 1])
    assert player.setup["times"] == [[0, 90, 180, 270]] * 2
    told = [f"[1, 3], seen from {angle}" for angle in (0, 90, 180, 270)]
    assert [alt for *_, alt in player.scene.frames[:4]] == told
    page = player._repr_html_()
    assert 'aria-label="seen from (degrees)"' in page and '"time": "seen from"' in page


def test_axes_and_colours_are_the_same_in_all_frames_and_hold_all_data(still):
    def figure(result, frame):
        fig, ((points, matrix),) = style.axes(2)
        points.plot(result.steps + 1, result.radius * result.config.a**3)
        points.plot([frame + 1], [result.config.a**3], "o", gid="now")
        points.set(xscale="log", ylim=(0, 1))  # too low for the largest a
        matrix.imshow(result.z[frame] @ result.z[frame].T * result.config.a)
        return style.Picture(fig, f"a = {result.config.a:g}")

    player = explore(toy.run, figure, BASE, time="steps", frames=3, a=[0.5, 1, 4], b=[2, 3])
    (one,) = player.scene.axes  # the same geometry in every frame
    left, right, bottom, top = one[0][4:8]
    bits = [np.frombuffer(column, np.uint32) << 8 for column in player.scene.columns]
    columns = [column.view(np.float32) for column in bits]
    for _, _, series, _ in player.scene.frames:
        for axes, _, _, _, *refs in (list(player.scene.series)[k] for k in series):
            x, y = (columns[k] for k in refs[:2])
            if not axes:
                assert left <= x.min() and x.max() <= right and bottom <= y.min() and y.max() <= top
    assert top >= 64
    images = {mark.image for mark in player.scene.ops if mark.image}
    assert len(images) == 18  # on one scale, small values are not stretched


RASTERISE = """async ([svg, width, height]) => {
    const img = new Image();
    img.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
    await img.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d").drawImage(img, 0, 0, width, height);
    return canvas.toDataURL("image/png").split(",")[1];
}"""


def test_the_drawing_is_matplotlibs_own(page):
    to_the_end(page)
    _, svg = download(page, "SVG")
    result = toy.run(BASE)
    pictures = [toy.draw(result, k) for k in (-1, 0)]
    pen = vector.Pen()
    for picture in pictures:
        pen.draw(picture)  # places the axes as the page has them

    def pixels(png):
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), float)

    agg = [pixels(picture.png(dpi=150)) for picture in pictures]
    height, width, _ = agg[0].shape
    drawn = pixels(base64.b64decode(page.evaluate(RASTERISE, [svg, width, height])))
    difference = [np.abs(drawn - a).mean() for a in agg]
    # Of 255: letters are hinted, and lines snapped to pixels, only there.
    assert difference[0] < 2.2 and difference[1] > 2 * difference[0], difference


def test_hover_names_the_nearest_datum(page):
    to_the_end(page)
    box = page.locator("figure.clbook-explorer img").first.bounding_box()
    result = toy.run(BASE)
    picture = toy.draw(result)
    vector.Pen().draw(picture)
    size = picture.fig.get_size_inches() * 72
    chosen = 17  # a point that stands alone
    x, y = picture.fig.axes[0].transData.transform(result.z[-1][chosen]) / size
    page.mouse.move(box["x"] + x * box["width"] + 1, box["y"] + (1 - y) * box["height"] + 1)
    readout = page.locator(".clbook-readout").first
    readout.wait_for(state="visible")
    one, two = (f"{v:.4g}".replace("-", "−") for v in result.z[-1][chosen])
    assert readout.inner_text() == f"class {result.labels[chosen]}: z_1 = {one}, z_2 = {two}"
    dot = page.locator(".clbook-dot").first.bounding_box()
    assert abs(dot["x"] + dot["width"] / 2 - box["x"] - x * box["width"]) < 1.5
    assert abs(dot["y"] + dot["height"] / 2 - box["y"] - (1 - y) * box["height"]) < 1.5
    page.mouse.move(5, 5)
    readout.wait_for(state="hidden")


def test_a_tap_on_a_phone_names_the_datum_and_stays(visit, address):
    page = visit(address, width=390, height=844, has_touch=True)
    image = page.locator("figure.clbook-explorer img").first
    drawn = "i => i.src.startsWith('blob:') && i.complete"
    page.wait_for_function(drawn, arg=image.element_handle())
    box = image.bounding_box()
    image.tap(position={"x": box["width"] / 2, "y": box["height"] / 6})
    readout = page.locator(".clbook-readout").first
    readout.wait_for(state="visible")
    assert re.match(r"class \d: z_1 = \S+, z_2 = \S+$", readout.inner_text())


def test_a_phone_shows_all_frames_on_one_scale(drawn):
    """A name beside a panel that gets longer as time goes on takes no room from the panel."""

    def figure(result, frame):
        time = result.steps[frame]
        fig, ((left, right),) = style.axes(2)
        for ax in (left, right):
            ax.plot(result.steps, result.steps)
        left.text(1.0, 0.5, "o" * (1 + time // 3), transform=left.transAxes)
        fig.set_layout_engine("none")
        left.set_position([0.1, 0.2, 0.25, 0.6])
        right.set_position([0.7, 0.2, 0.25, 0.6])
        return style.Picture(fig, f"step {time}")

    page = drawn(figure, 390, time="steps", frames=FRAMES)
    tiles = page.evaluate("""async () => {
      const data = await clbookFrames.unpack(document.querySelector(".clbook-frames").textContent);
      return data.frames.map((frame) => clbookFrames.arranged(data, frame, 350).tiles);
    }""")
    assert len(tiles) == FRAMES and len(tiles[0]) == 2
    assert all(each == tiles[0] for each in tiles)


def test_print_has_no_buttons_and_says_the_setting(page):
    page.emulate_media(media="print")
    hidden = page.locator("figure.clbook-explorer :is(button, input[type=range], .clbook-note)")
    assert hidden.count() > 6 and not any(each.is_visible() for each in hidden.all())
    said = page.locator("figure.clbook-explorer .clbook-controls").first.inner_text().split()
    assert said == ["a", "(rad)", "1", "b", "2", "time", "(iterations)", "0"]
