"""The explorers of the built pages: the words of their controls, and the settings that links and cells name."""

import html
import re

from pages import built, every_explorer, found, source  # noqa: F401 (a fixture)

NAMES = "eps|tau|lr|eta|psi|std|sd|init|dim|alike|normalize|scaling|augmentation|True|False|None"


@every_explorer
def test_labels_and_values_of_controls_hold_no_python_names(page):
    controls = re.findall(
        r'<div class="clbook-controls">(.*?)<div class="clbook-buttons">', source(page), re.DOTALL
    )
    assert len(controls) == source(page).count('<figure class="clbook-explorer"')
    for words in controls:
        shown = [html.unescape(text).strip() for text in re.findall(r">([^<>]+)<", words)]
        spoken = re.findall(r'aria-(?:label|valuetext)="([^"]*)"', words)
        assert not [text for text in shown + spoken if re.search(rf"_|\\|'|\b({NAMES})\b", text)]


@every_explorer
def test_a_run_shows_its_first_step_and_a_pad_has_a_cell_for_each_run(page):
    texts = re.findall(r'<figure class="clbook-explorer".*?</figure>', source(page), re.DOTALL)
    for text, (name, setup, _) in zip(texts, found(page), strict=True):
        assert 'data-axis="frame"' not in text or all(times[0] == 0 for times in setup["times"]), (
            name
        )
        cells = re.findall(
            r'-pad" value="(\d+)"\s+aria-label="[^"]+ = [^"]+, [^"]+ = [^"]+: [^"]+"', text
        )
        assert [*map(int, cells)] == [*range(len(setup["times"]))] * (
            'class="clbook-pad"' in text
        ), name


@every_explorer
def test_links_in_the_text_set_an_explorer_of_the_page_to_a_run_that_it_has(page):
    axes = {
        name: dict(setup["axes"])
        | {"frame": [str(k) for k in range(min(map(len, setup["times"])))]}
        for name, setup, _ in found(page)
    }
    links = re.findall(r'href="#([\w-]+):([^"]*)"', source(page))
    assert links, "settings that a page names are links"
    for name, settings in links:
        given = dict(pair.split("=") for pair in html.unescape(settings).split("&"))
        assert {axis: value for axis, value in given.items() if value not in axes[name][axis]} == {}
