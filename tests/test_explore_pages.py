"""The explorers of the built pages: labels, numbers and limits of every run."""

import html
import re

import numpy as np
from test_book import TEXTS, built, every_explorer, found  # noqa: F401 (a fixture)

# The places of axes that show each run on a scale of its own; all others have one scale in all runs.
OWN_SCALE = {
    "first": (0, 1),
    "clusters": (0, 1),
    "donut": (0, 1),
    "imbalance": (0,),
    "ma-decay": (0,),
    "map": (0,),
    "counts": (0,),
    "ma-shape": (0,),
}


NAMES = "eps|tau|lr|eta|psi|std|sd|init|dim|alike|normalize|scaling|augmentation|True|False|None"


def frames(data):
    """For each frame, its axes and {place of the axes: [(name, columns)]}."""
    low, middle, high = np.frombuffer(data["numbers"], np.uint8).reshape(3, -1).astype(np.uint32)
    differences = np.split(low | middle << 8 | high << 16, np.cumsum(data["lengths"])[:-1])
    columns = [(np.cumsum(d, dtype=np.uint32) << 8).view(np.float32) for d in differences]
    for _, place, held, _ in data["frames"]:
        drawn = {}
        for axes, name, _, _, *refs in (data["series"][k] for k in held):
            drawn.setdefault(axes, []).append((name, [columns[k] for k in refs]))
        yield data["axes"][place], drawn


@every_explorer
def test_labels_and_values_of_controls_hold_no_python_names(page):
    controls = re.findall(
        r'<div class="clbook-controls">(.*?)<div class="clbook-buttons">', TEXTS[page], re.DOTALL
    )
    assert len(controls) == TEXTS[page].count('<figure class="clbook-explorer"')
    for words in controls:
        shown = [html.unescape(text).strip() for text in re.findall(r">([^<>]+)<", words)]
        spoken = re.findall(r'aria-(?:label|valuetext)="([^"]*)"', words)
        assert not [text for text in shown + spoken if re.search(rf"_|\\|'|\b({NAMES})\b", text)]


@every_explorer
def test_a_run_shows_its_first_step_and_a_pad_has_a_cell_for_each_run(page):
    texts = re.findall(r'<figure class="clbook-explorer".*?</figure>', TEXTS[page], re.DOTALL)
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
def test_every_frame_of_every_run_has_numbers_within_axes_that_stand_still(page):
    for name, setup, data in found(page):
        assert len(data["frames"]) == sum(map(len, setup["times"]))
        limits, runs = {}, np.repeat(range(len(setup["times"])), [*map(len, setup["times"])])
        for k, (axes, drawn) in enumerate(frames(data)):
            assert drawn, f"{name}: frame {k} has no numbers"
            for place, shape in enumerate(axes):
                if shape is None or any(
                    len(columns) == 3 and "cells" in label
                    for label, columns in drawn.get(place, ())
                ):
                    continue
                run = runs[k] if place in OWN_SCALE.get(name, ()) else "all"
                held = limits.setdefault((len(axes), place, run), shape[4:8])
                assert shape[4:8] == held, f"{name}: axes {place} of frame {k}"
                room = [1e-5 * max(map(abs, shape[i : i + 2])) for i in (4, 6)]
                for label, columns in drawn.get(place, ()):
                    for i, log in ((0, shape[8]), (1, shape[9])):
                        values = columns[i][
                            np.isfinite(columns[i]) & ((columns[i] > 0) | (not log))
                        ]
                        low, high = sorted(shape[4 + 2 * i : 6 + 2 * i])
                        outside = values[(values < low - room[i]) | (values > high + room[i])]
                        assert not len(outside), (
                            f"{name}, frame {k}, {label}: {outside[:3]} outside {low} to {high}"
                        )


@every_explorer
def test_links_in_the_text_set_an_explorer_of_the_page_to_a_run_that_it_has(page):
    axes = {
        name: dict(setup["axes"])
        | {"frame": [str(k) for k in range(min(map(len, setup["times"])))]}
        for name, setup, _ in found(page)
    }
    links = re.findall(r'href="#([\w-]+):([^"]*)"', TEXTS[page])
    assert links, "settings that a page names are links"
    for name, settings in links:
        given = dict(pair.split("=") for pair in html.unescape(settings).split("&"))
        assert {axis: value for axis, value in given.items() if value not in axes[name][axis]} == {}
