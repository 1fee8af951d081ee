"""The explorers of the built pages: the settings that links and cells name."""

import html
import json
import re

from pages import blocks, built, every_explorer, found, source  # noqa: F401 (a fixture)


@every_explorer
def test_a_run_shows_its_first_step_and_a_pad_has_a_cell_for_each_run(page):
    texts = re.findall(r'<figure class="clbook-explorer".*?</figure>', source(page), re.DOTALL)
    for text, (name, setup, _) in zip(texts, found(page), strict=True):
        if 'data-axis="frame"' in text:
            assert {times[0] for times in setup["times"]} == {0}, name
        cell = r'-pad" value="(\d+)"\s+aria-label="[^"]+ = [^"]+, [^"]+ = [^"]+: [^"]+"'
        runs = range(len(setup["times"])) if 'class="clbook-pad"' in text else ()
        assert [*map(int, re.findall(cell, text))] == [*runs], name


def takes(block, setting, text) -> bool:
    """Whether a block that trains has this setting with this value."""
    if "shapes" not in block:  # any word of a run, or one half of it
        return setting == "word" and not {text, f"{text}₁"}.isdisjoint(block["words"])
    words = {shape["name"]: shape["values"] for shape in block["shapes"]}
    if setting in words:
        return text in words[setting]
    knobs = {knob["name"]: knob for knob in (*block["knobs"], *block["more"])}
    return setting in knobs and knobs[setting]["least"] <= float(text) <= knobs[setting]["most"]


@every_explorer
def test_links_in_the_text_set_an_explorer_or_a_block_to_a_run_that_it_has(page):
    typed = re.findall(r'class="clbook-typed-setup">(.*?)</script>', source(page))
    axes, trained = {}, blocks(page) | {each["name"]: each for each in map(json.loads, typed)}
    for name, setup, _ in found(page):
        frames = range(min(map(len, setup["times"])))
        axes[name] = dict(setup["axes"]) | {"frame": [*map(str, frames)]}
    links = re.findall(r'(?:href="#|data-asks=")([\w-]+):([^"]*)"', source(page))
    assert links, "settings that a page names are links"
    for name, settings in links:
        given = dict(pair.split("=") for pair in html.unescape(settings).split("&"))
        if name in trained:
            assert all(takes(trained[name], *pair) for pair in given.items()), (name, given)
        else:
            refused = {
                axis: value for axis, value in given.items() if value not in axes[name][axis]
            }
            assert refused == {}


def test_links_of_the_last_page_open_blocks_and_explorers_with_settings_that_they_have():
    links = re.findall(r'href="(\w+)\.html#([\w-]+):([^"]*)"', source("book/end.html"))
    assert len(links) > 30, "what to do once more, and the goals"
    for page, name, settings in links:
        given = dict(pair.split("=") for pair in html.unescape(settings).split("&"))
        given.pop("pin", None)
        at = f"book/{page}.html"
        trained = blocks(at)
        if name in trained:
            assert all(takes(trained[name], *pair) for pair in given.items()), (page, given)
        else:
            (axes,) = (dict(setup["axes"]) for one, setup, _ in found(at) if one == name)
            assert all(value in axes[axis] for axis, value in given.items()), (page, given)
