"""The explorers of the built pages: the settings that links and cells name."""

import html
import re

from pages import built, every_explorer, found, source  # noqa: F401 (a fixture)


@every_explorer
def test_a_run_shows_its_first_step_and_a_pad_has_a_cell_for_each_run(page):
    texts = re.findall(r'<figure class="clbook-explorer".*?</figure>', source(page), re.DOTALL)
    for text, (name, setup, _) in zip(texts, found(page), strict=True):
        if 'data-axis="frame"' in text:
            assert {times[0] for times in setup["times"]} == {0}, name
        cell = r'-pad" value="(\d+)"\s+aria-label="[^"]+ = [^"]+, [^"]+ = [^"]+: [^"]+"'
        runs = range(len(setup["times"])) if 'class="clbook-pad"' in text else ()
        assert [*map(int, re.findall(cell, text))] == [*runs], name


@every_explorer
def test_links_in_the_text_set_an_explorer_of_the_page_to_a_run_that_it_has(page):
    axes = {}
    for name, setup, _ in found(page):
        frames = range(min(map(len, setup["times"])))
        axes[name] = dict(setup["axes"]) | {"frame": [*map(str, frames)]}
    links = re.findall(r'href="#([\w-]+):([^"]*)"', source(page))
    assert links, "settings that a page names are links"
    for name, settings in links:
        given = dict(pair.split("=") for pair in html.unescape(settings).split("&"))
        assert {axis: value for axis, value in given.items() if value not in axes[name][axis]} == {}
