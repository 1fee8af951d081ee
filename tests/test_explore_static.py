"""The static explorer: what the page holds, and what a reader's browser does with it."""

from __future__ import annotations

import base64
import csv
import io
import os

import joblib
import matplotlib as mpl
import numpy as np
import pytest
import toy
from browser import NoBrowser, browser
from PIL import Image

from clbook.explore import explore, static, vector

BASE = toy.Config(n=40)
GRID = {"a": [0.5, 1, 4], "b": [1, 2]}
FRAMES = 6


# --- processes --------------------------------------------------------------------------------------------------------

@pytest.fixture
def still(monkeypatch):
    monkeypatch.setenv("CLBOOK_STATIC", "1")
    monkeypatch.setattr(static, "sweep", lambda run, configs: [run(c) for c in configs])


def test_a_run_that_fits_is_drawn_with_one_pen_and_nothing_is_lost():
    runs = [("a", list(range(12))), ("b", list(range(9))), ("c", [None]), ("d", list(range(101))), ("e", [4])]
    batches = static.batches(runs)
    assert [(name, k) for batch in batches for name, piece in batch for k in piece] == [
        (name, k) for name, frames in runs for k in frames]
    assert [[name for name, _ in batch] for batch in batches[:2]] == [["a"], ["b", "c"]]
    assert max(sum(len(piece) for _, piece in batch) for batch in batches) <= static.BATCH


def test_the_page_does_not_depend_on_the_number_of_processes(still, monkeypatch):
    monkeypatch.setattr(static, "BATCH", 3)
    monkeypatch.setattr(static.Player, "_first", None)
    pids = set()

    def shown():
        # a function of this test alone, as one written in a notebook; its layout differs from frame to frame
        def figure(result, frame):
            picture = toy.draw(result, frame)
            picture.fig.axes[0].set_ylabel("$z_2$" if frame else "two\nlines")
            picture.alt += f" {os.getpid()}"
            return picture

        player = explore(toy.run, figure, BASE, scrub="steps", frames=4, a=[0.5, 1])
        pids.update(alt.rsplit(" ", 1)[1] for _, _, alt in player.scene.frames)
        player.scene.frames = [(*frame, alt.rsplit(" ", 1)[0]) for *frame, alt in player.scene.frames]
        return player.scene.payload()

    with mpl.rc_context({"xtick.labelsize": 7.5}):
        with joblib.parallel_config(backend="sequential"):
            alone = shown()
        assert pids == {str(os.getpid())}
        with joblib.parallel_config(backend="loky", n_jobs=2):
            together = shown()
    assert together == alone and len(pids) > 1
    with joblib.parallel_config(backend="sequential"):
        assert shown() != alone  # the size of the letters above went to the processes


def test_an_error_in_a_process_is_the_readers_own(still, monkeypatch):
    monkeypatch.setattr(static, "BATCH", 2)

    def figure(result, frame):
        picture = toy.draw(result, frame)
        picture.fig.axes[1].bar([1], [1], hatch="/")
        return picture

    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(ValueError, match="hatch = '/'"):
        explore(toy.run, figure, BASE, scrub="steps", frames=6, a=[1])


# --- the interface ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("axes", "message"), [
    ({"size": [1, 2]}, "size is not a field of Config"),
    ({"a": [1.0], "b": [2], "n": [40]}, "at most two"),
    ({"a": []}, "a = .*must hold the start's value, 1.0"),
    ({"a": [2, 3]}, "must hold the start's value, 1.0"),
    ({"a": [1, 1.0]}, "repeats a value"),
    ({"a": [1, -1]}, "a = -1 is not allowed"),
    ({"b": [2, 2.5]}, "b = 2.5 is not allowed"),
    ({"a": [1], "scrub": "epochs"}, "scrub = 'epochs'.*Result has no such attribute"),
    ({"a": [1], "frames": 1}, "frames = 1"),
])
def test_bad_input_is_named(still, axes, message):
    with pytest.raises(ValueError, match=message):
        explore(toy.run, toy.draw, BASE, **axes)


def test_the_first_and_the_last_recorded_time_are_always_kept():
    for count in (1, 2, 5, 24, 25, 1000):
        chosen = static.spread(count, 24)
        assert chosen[0] == 0 and chosen[-1] == count - 1 and len(chosen) == min(count, 24)
        assert max(np.diff(chosen), default=1) - min(np.diff(chosen), default=1) <= 1


def test_script_and_style_come_once_a_process(still, monkeypatch):
    monkeypatch.setattr(static.Player, "_first", None)
    first, second = (explore(toy.run, toy.draw, BASE, a=[1]) for _ in range(2))
    assert "window.clbookExplorer" in first._repr_html_() and "window.clbookExplorer" in first._repr_html_()
    assert "window.clbookExplorer" not in second._repr_html_()


# --- the browser ------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def tabs():
    try:
        with browser() as tab:
            yield tab
    except NoBrowser as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_STATIC", "1")
        patch.setattr(static, "sweep", lambda run, configs: [run(c) for c in configs])
        patch.setattr(static.Player, "_first", None)
        players = [explore(toy.run, toy.draw, BASE, scrub="steps", frames=FRAMES, title="Arms", **GRID),
                   explore(toy.run, toy.draw, BASE, scrub="steps", frames=FRAMES, name="length", steps=[3, 30])]
        body = "<p id='section'>A paragraph.</p>".join(p._repr_html_() for p in players)
    file = tmp_path_factory.mktemp("book") / "page.html"
    file.write_text('<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
                    'content="width=device-width"><title>Toy</title>'
                    f'<body style="font-family:sans-serif">{body}</body></html>')
    return file.as_uri()


def shown(page, k=0):
    img = page.locator("figure.clbook-explorer img").nth(k)
    return img.get_attribute("src"), img.get_attribute("alt")


def expected(k, a=1.0, b=2, n=40, steps=30):
    return toy.draw(toy.run(toy.Config(a=a, b=b, n=n, steps=steps)), k).alt


def slide(page, axis, k=0):
    return page.locator("figure.clbook-explorer").nth(k).locator(f"input[data-axis={axis}]")


def wait_alt(page, alt, k=0):
    page.wait_for_function("([k, alt]) => document.querySelectorAll('figure.clbook-explorer img')[k].alt === alt",
                           arg=[k, alt], timeout=5000)


@pytest.fixture
def tab(tabs, address):
    """The page at 1200 px; whatever the test did, nothing was requested and nothing went wrong."""
    opened = tabs()
    opened.page.goto(address)
    yield opened
    assert opened.requests == [] and opened.errors == []
    opened.page.context.close()


def test_every_slider_moves_by_arrow_key_and_by_mouse(tab):
    page, states = tab.page, [shown(tab.page)]
    assert states[0][1] == expected(-1)
    for axis, key, alt, value in (("a", "ArrowRight", expected(-1, a=4.0), "4"),
                                  ("b", "ArrowLeft", expected(-1, 4.0, 1), "1"),
                                  ("frame", "ArrowLeft", expected(24, 4.0, 1), "24")):
        slide(page, axis).focus()
        page.keyboard.press(key)
        wait_alt(page, alt)
        assert slide(page, axis).get_attribute("aria-valuetext") == value
        assert slide(page, axis).locator("+ output").inner_text() == value
        states.append(shown(page))
    for axis, alt in (("a", expected(24, 0.5, 1)), ("b", expected(24, 0.5, 1)), ("frame", expected(0, 0.5, 1))):
        box = slide(page, axis).bounding_box()
        page.mouse.click(box["x"] + 4, box["y"] + box["height"] / 2)  # to the least value
        wait_alt(page, alt)
        states.append(shown(page))
    assert len({src for src, _ in states}) == len(states) - 1  # b was at its least value already


def test_keys_do_not_reach_the_page(tab):
    tab.page.evaluate("window.heard = 0; document.addEventListener('keydown', () => heard++)")
    slide(tab.page, "a").focus()
    tab.page.keyboard.press("ArrowRight")
    assert tab.page.evaluate("heard") == 0


def test_play_pause_and_reset(tab):
    page = tab.page
    play = page.get_by_role("button", name="Play").first
    play.click()
    page.wait_for_function("document.querySelector('input[data-axis=frame]').value === '2'")
    pause = page.get_by_role("button", name="Pause")
    pause.click()
    at = slide(page, "frame").input_value()
    page.wait_for_timeout(400)
    assert slide(page, "frame").input_value() == at
    play.click()
    page.wait_for_function(f"document.querySelector('input[data-axis=frame]').value === '{FRAMES - 1}'")
    wait_alt(page, expected(-1))
    page.wait_for_function("document.querySelector('[data-do=play]').textContent === 'Play'")
    slide(page, "a").press("Home")
    wait_alt(page, expected(-1, 0.5))
    page.get_by_role("button", name="Reset").first.click()
    wait_alt(page, expected(-1))
    assert slide(page, "a").input_value() == "1"


def test_reduced_motion_steps_instead_of_playing(tabs, address):
    page = tabs(reduced_motion="reduce").page
    page.goto(address)
    button = page.get_by_role("button", name="Step").first
    button.click()
    wait_alt(page, expected(0))
    button.click()
    wait_alt(page, expected(6))
    page.wait_for_timeout(400)
    assert shown(page)[1] == expected(6)


def test_runs_of_different_length_keep_the_time(tab):
    page = tab.page
    slide(page, "frame", 1).press("Home")
    slide(page, "frame", 1).press("ArrowRight")  # step 6 of 30
    wait_alt(page, expected(6), 1)
    slide(page, "steps", 1).press("Home")
    wait_alt(page, expected(3, steps=3), 1)
    assert slide(page, "frame", 1).get_attribute("max") == "3"


def test_the_address_holds_the_state(tab, tabs, address):
    page = tab.page
    page.goto(address + "#section")
    page.wait_for_timeout(300)
    assert page.url.endswith("#section") and shown(page)[1] == expected(-1)
    slide(page, "a").press("ArrowRight")
    slide(page, "steps", 1).press("Home")
    page.wait_for_function("location.hash === '#a-b:a=4&b=2&frame=5;length:steps=3&frame=3'")
    other = tabs().page
    other.goto(page.url)
    wait_alt(other, expected(-1, 4.0))
    wait_alt(other, expected(-1, steps=3), 1)
    other.evaluate("location.hash = '#a-b:a=5e-1&b=7&frame=2'")  # off the grid: b stays
    wait_alt(other, expected(12, 0.5))
    other.evaluate("location.hash = '#section'")
    other.wait_for_timeout(300)
    assert other.url.endswith("#section") and shown(other)[1] == expected(12, 0.5)


def download(page, name):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).first.click()
    return waiting.value.suggested_filename, waiting.value.path().read_text(encoding="utf-8")


def test_csv_holds_the_figures_numbers(tab):
    page = tab.page
    slide(page, "frame").press("ArrowLeft")
    wait_alt(page, expected(24))
    name, text = download(page, "CSV")
    assert name == "a-b_a=1_b=2_frame=4.csv"
    series = {}
    for row in csv.DictReader(io.StringIO(text)):
        series.setdefault((row["series"], row["axes"]), []).append((float(row["x"]), float(row["y"])))
    result = toy.run(BASE)
    assert set(series) == {("class 0", "0"), ("class 1", "0"), ("radius 0", "1"), ("radius 1", "1")}
    for c in range(2):
        quantum = 2.2 / (100 * vector.UNITS)  # the axes are wider than 100 points
        np.testing.assert_allclose(series[f"class {c}", "0"], result.z[24][result.labels == c], atol=quantum)
        line = np.array(series[f"radius {c}", "1"])
        np.testing.assert_allclose(line[:, 0], result.steps[:25] + 1, rtol=np.log(32 / 0.9) / (100 * vector.UNITS))
        radius = np.linalg.norm(result.z[:25, result.labels == c], axis=2).mean(1)
        np.testing.assert_allclose(line[:, 1], radius, atol=quantum)


RASTERISE = """async ([svg, width, height]) => {
    const img = new Image();
    img.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
    await img.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d").drawImage(img, 0, 0, width, height);
    return canvas.toDataURL("image/png").split(",")[1];
}"""


def test_the_drawing_is_matplotlibs_own(tab, tmp_path):
    _, svg = download(tab.page, "SVG")
    result = toy.run(BASE)
    pictures = [toy.draw(result, k) for k in (-1, 0)]
    pen = vector.Pen()
    for picture in pictures:
        pen.draw(picture)  # places the axes as the page has them
    agg = [np.asarray(Image.open(io.BytesIO(p.png(dpi=150))).convert("RGB"), float) for p in pictures]
    height, width, _ = agg[0].shape
    drawn = Image.open(io.BytesIO(base64.b64decode(tab.page.evaluate(RASTERISE, [svg, width, height])))).convert("RGB")
    difference = [np.abs(np.asarray(drawn, float) - a).mean() for a in agg]
    assert difference[0] < 2.2, difference  # of 255: letters are hinted, and lines snapped to pixels, only there
    assert difference[1] > 2 * difference[0], difference


def test_hover_reads_data_coordinates(tab):
    page = tab.page
    box = page.locator("figure.clbook-explorer img").first.bounding_box()
    result = toy.run(BASE)
    picture = toy.draw(result)
    vector.Pen().draw(picture)
    ax = picture.fig.axes[1]
    x, y = ax.transAxes.transform((0.5, 0.25)) / (picture.fig.get_size_inches() * 72)
    page.mouse.move(box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"])
    readout = page.locator(".clbook-readout").first
    readout.wait_for(state="visible")
    got = [float(v) for v in readout.inner_text().split(", ")]
    np.testing.assert_allclose(got, [np.sqrt(0.9 * 32), 0.275], rtol=0.03)
    page.mouse.move(5, 5)
    readout.wait_for(state="hidden")


def test_without_script_the_start_is_there(tabs, address):
    page = tabs(java_script_enabled=False).page
    page.goto(address)
    img = page.locator("figure.clbook-explorer img").first
    assert img.bounding_box()["width"] > 600 and img.get_attribute("alt") == expected(-1)
    assert np.asarray(Image.open(io.BytesIO(img.screenshot()))).std() > 10  # a picture, not a blank
    assert page.get_by_text("The sliders need JavaScript").first.is_visible()
    assert slide(page, "a").is_disabled()


def test_with_script_the_note_about_it_is_gone(tab):
    assert tab.page.get_by_text("The sliders need JavaScript").count() == 0


def test_a_phone_shows_all_of_it(tabs, address):
    page = tabs(width=390, height=844, has_touch=True).page
    page.goto(address)
    slide(page, "a").tap(position={"x": 6, "y": 10})
    wait_alt(page, expected(-1, 0.5))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("figure.clbook-explorer img").first.bounding_box()["width"] >= 480  # letters of 9 px and more
    for control in page.locator("figure.clbook-explorer :is(input, button, output, .clbook-stage)").all():
        box = control.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
