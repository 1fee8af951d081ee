"""The built pages: labels, numbers and limits of every explorer, what a phone shows of it, and barriers (axe-core)."""

import base64
import gzip
import html
import json
import re

import numpy as np
import pytest
from browser import AXE, barriers
from test_book import EXPLORERS, TEXTS, built, every_explorer, every_page, tab, visit  # noqa: F401 (fixtures)

# The places of axes that show each run on a scale of its own; all others have one scale in all runs.
OWN_SCALE = {"first": (0, 1), "clusters": (0, 1), "donut": (0, 1), "imbalance": (0,), "ma-decay": (0,), "map": (0,),
             "counts": (0,), "ma-shape": (0,)}


NAMES = "eps|tau|lr|eta|psi|std|sd|init|dim|alike|normalize|scaling|augmentation|True|False|None"


def found(page):
    """(name, settings of the player, payload) of each explorer of a page."""
    setups = re.findall(r'<script type="application/json" class="clbook-setup">(.*?)</script>', TEXTS[page])
    frames = re.findall(r'class="clbook-frames">([^<]*)<', TEXTS[page])
    for setup, packed in zip(map(json.loads, setups), frames, strict=True):
        yield setup["name"], setup, json.loads(gzip.decompress(base64.b64decode(packed)))


def frames(data):
    """For each frame, its axes and {place of the axes: [(name, columns)]}."""
    planes = np.frombuffer(base64.b64decode(data["numbers"]), np.uint8).reshape(4, -1)
    numbers = np.ascontiguousarray(planes.T).view(np.float32).ravel()
    columns = np.split(numbers, np.cumsum(data["lengths"])[:-1])
    for _, place, held, _ in data["frames"]:
        drawn = {}
        for axes, name, _, _, *refs in (data["series"][k] for k in held):
            drawn.setdefault(axes, []).append((name, [columns[k] for k in refs]))
        yield data["axes"][place], drawn


@every_explorer
def test_labels_and_values_of_controls_hold_no_python_names(page):
    controls = re.findall(r'<div class="clbook-controls">(.*?)<div class="clbook-buttons">', TEXTS[page], re.DOTALL)
    assert len(controls) == TEXTS[page].count('<figure class="clbook-explorer"')
    for words in controls:
        shown = [html.unescape(text).strip() for text in re.findall(r">([^<>]+)<", words)]
        spoken = re.findall(r'aria-(?:label|valuetext)="([^"]*)"', words)
        assert not [text for text in shown + spoken if re.search(rf"_|\\|'|\b({NAMES})\b", text)]


@every_explorer
def test_a_run_shows_its_first_step_and_a_pad_has_a_cell_for_each_run(page):
    texts = re.findall(r'<figure class="clbook-explorer".*?</figure>', TEXTS[page], re.DOTALL)
    for text, (name, setup, _) in zip(texts, found(page), strict=True):
        assert 'data-axis="frame"' not in text or all(times[0] == 0 for times in setup["times"]), name
        cells = re.findall(r'-pad" value="(\d+)"\s+aria-label="[^"]+ = [^"]+, [^"]+ = [^"]+: [^"]+"', text)
        assert [*map(int, cells)] == [*range(len(setup["times"]))] * ('class="clbook-pad"' in text), name


@every_explorer
def test_every_frame_of_every_run_has_numbers_within_axes_that_stand_still(page):
    for name, setup, data in found(page):
        assert len(data["frames"]) == sum(map(len, setup["times"]))
        limits, runs = {}, np.repeat(range(len(setup["times"])), [*map(len, setup["times"])])
        for k, (axes, drawn) in enumerate(frames(data)):
            assert drawn, f"{name}: frame {k} has no numbers"
            for place, shape in enumerate(axes):
                if shape is None or any(len(columns) == 3 and "cells" in label
                                        for label, columns in drawn.get(place, ())):
                    continue
                run = runs[k] if place in OWN_SCALE.get(name, ()) else "all"
                held = limits.setdefault((len(axes), place, run), shape[4:8])
                assert shape[4:8] == held, f"{name}: axes {place} of frame {k}"
                room = [1e-5 * max(map(abs, shape[i:i + 2])) for i in (4, 6)]
                for label, columns in drawn.get(place, ()):
                    for i, log in ((0, shape[8]), (1, shape[9])):
                        values = columns[i][np.isfinite(columns[i]) & ((columns[i] > 0) | (not log))]
                        low, high = sorted(shape[4 + 2 * i:6 + 2 * i])
                        outside = values[(values < low - room[i]) | (values > high + room[i])]
                        assert not len(outside), f"{name}, frame {k}, {label}: {outside[:3]} outside {low} to {high}"


@every_explorer
def test_links_in_the_text_set_an_explorer_of_the_page_to_a_run_that_it_has(page):
    axes = {name: dict(setup["axes"]) | {"frame": [str(k) for k in range(min(map(len, setup["times"])))]}
            for name, setup, _ in found(page)}
    links = re.findall(r'href="#([\w-]+):([^"]*)"', TEXTS[page])
    assert links, "settings that a page names are links"
    for name, settings in links:
        given = dict(pair.split("=") for pair in html.unescape(settings).split("&"))
        assert {axis: value for axis, value in given.items() if value not in axes[name][axis]} == {}


@every_explorer
def test_letters_and_sliders_are_large_enough_on_a_phone(visit, page):  # noqa: F811 (a fixture)
    opened = visit(width=390, has_touch=True)
    smallest = [data["letters"] / data["units"] * 96 / 72 for _, _, data in found(page)]
    for figure, letters in zip(opened.page.query_selector_all("figure.clbook-explorer"), smallest, strict=True):
        image = figure.query_selector("img")
        image.scroll_into_view_if_needed()
        opened.page.wait_for_function("i => i.src.startsWith('blob:') && i.complete", arg=image)
        zoom = image.evaluate("""async i => {
          const text = await (await fetch(i.src)).text();
          const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
          const parts = [...svg.querySelectorAll("svg")], all = parts.length ? parts : [svg];
          const shrunk = i.getBoundingClientRect().width / svg.width.baseVal.value;
          return Math.min(...all.map(p => p.width.baseVal.value / p.viewBox.baseVal.width)) * shrunk; }""")
        assert letters * zoom * 20 * 72 / 96 >= 8.99
        for control in figure.query_selector_all("input, button"):
            assert control.bounding_box()["height"] >= 43.9
        for cell in figure.query_selector_all(".clbook-pad input"):
            box = cell.bounding_box()
            assert box["width"] >= 40 and box["x"] + box["width"] <= 390


@every_page
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(visit, page, theme):  # noqa: F811 (a fixture)
    opened = visit(color_scheme=theme)
    opened.page.wait_for_timeout(300)  # the theme fades in
    assert opened.page.evaluate("document.documentElement.dataset.theme") == theme
    assert barriers(opened.page) == []


@every_page
def test_print_from_the_dark_theme_is_dark_on_white_without_buttons(visit, page):  # noqa: F811 (a fixture)
    opened = visit(color_scheme="dark")
    opened.page.emulate_media(media="print")
    opened.page.wait_for_timeout(300)  # the theme fades in
    inks = opened.page.eval_on_selector_all(
        ".bd-content :is(p, h1, h2, td, .highlight span)",
        "all => all.filter(e => e.offsetParent).map(e => getComputedStyle(e).color.match(/\\d+/g).map(Number))")
    assert inks and all(sum(ink[:3]) < 3 * 140 for ink in inks)
    buttons = opened.page.query_selector_all(".bd-content button")
    assert not [each.inner_text() for each in buttons if each.is_visible()]


def test_axe_finds_what_is_wrong(tab):  # noqa: F811 (a fixture)
    page = tab().page
    page.set_content('<html lang="en"><title>x</title><main><h1>x</h1><img src="data:,">'
                     '<p style="color:#ccc">pale</p></main>')
    assert [each.split(":")[0] for each in barriers(page)] == ["color-contrast", "image-alt"]
    assert AXE.exists() and EXPLORERS
