"""The live explorer in JupyterLab, in a real browser, by hand: keys, typed values, buttons, and heights."""

import nbformat
import pytest
from browser import NoBrowser, browser
from lab import NOTEBOOK, Lab, jupyterlab

CELLS = [
    "import toy\nfrom clbook.explore import explore",
    "explore(toy.run, toy.draw, toy.Config(steps=40), time='steps', name='toy', a=[0.1, 1.0, 10.0], "
    "shape=['spiral', 'circle'])",
    "after = 'the cell below'",
]


LINK = 'Look at <a href="#toy:a=10&amp;shape=circle">a circle</a>.'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    cells.append(nbformat.v4.new_markdown_cell(LINK))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "toy.ipynb")
    return folder


@pytest.fixture(scope="module")
def lab(folder):
    """The notebook in JupyterLab, its first two cells run."""
    try:
        with browser() as open_tab, jupyterlab(folder, CLBOOK_CACHE=str(folder / "cache")) as url:
            lab = Lab(open_tab, url, "toy.ipynb", len(CELLS) + 1)
            lab.run(0)
            lab.run(1)
            lab.take(1)
            lab.ask("watch()")
            yield lab
    except NoBrowser as missing:
        pytest.skip(f"{missing}: install one (Debian: apt install chromium) to try JupyterLab")


def test_keys_move_sliders_and_choices_and_not_the_notebook(lab):
    for key, value in (("End", "10"), ("Home", "0.1"), ("ArrowRight", "0.18"), ("ArrowUp", "0.32")):
        lab.key(0, key)
        lab.shows(f"turn a = {value}:")
        assert lab.ask("panel.querySelector('input[type=text]').value") == value
    lab.ask("button('circle').focus()")
    lab.page.keyboard.press("Space")
    lab.shows("shape = circle: ")
    assert lab.ask(f"{NOTEBOOK}.content.activeCellIndex") == 1


def test_end_and_home_reach_the_ends_of_the_recorded_times(lab):
    for key, step in (("Home", 0), ("End", 40), ("ArrowLeft", 39), ("End", 40)):
        lab.key(1, key)
        lab.shows(f"at step {step} ")


def test_play_runs_to_the_end(lab):
    lab.key(1, "Home")
    lab.shows("at step 0 ")
    lab.ask("button('Play').click()")
    lab.until("button('Pause')")
    lab.shows("at step 40 ")
    lab.until("button('Play')")


def test_every_button_and_entry_in_sight_has_a_name(lab):
    names = lab.ask("""seen("button, input").map((e) =>
      e.textContent.trim() || e.title || e.labels?.[0]?.textContent || e.closest(".widget-text").title)""")
    assert len(names) >= 8 and all(names)


def test_typed_values_stop_and_an_explorer_that_is_run_anew_in_mid_run(lab):
    lab.ask("button('All settings').click()")
    lab.until("!folded()")
    lab.type("0.2", "entry('delay (s)')")
    lab.until("said().includes('press Run')")
    lab.ask("button('All settings').click()")
    lab.until("folded()")
    lab.type("-1")
    lab.until("said().includes('a = -1 is not allowed')")
    lab.type("2.5")
    lab.until("!idle() && /2.5.* [1-9]\\d?%/.test(said())")
    lab.ask("button('Stop').click()")
    lab.shows("stopped at")
    lab.type("3.5")
    lab.until("!idle() && /3.5.* [1-9]\\d?%/.test(said())")
    lab.run(1)
    lab.take(1)
    lab.shows("a = 1 rad, shape = spiral: ")


def test_a_link_in_the_text_sets_the_explorer(lab):
    lab.ask(f"{NOTEBOOK}.node.querySelector('a[href*=\"#toy:\"]').click()")
    lab.shows("a = 10 rad, shape = circle: ")
    assert lab.ask("typed(0).value") == "10"


def test_the_file_keeps_the_latest_picture_which_is_out_of_sight_while_the_panel_lives(lab, folder):
    picture = f"{NOTEBOOK}.content.widgets[1].node.querySelectorAll('.jp-RenderedImage')"
    lab.until(f"{picture}.length === 1")
    assert lab.ask(f"{picture}[0].offsetParent") is None
    lab.key(0, "Home")
    lab.shows("turn a = 0.1:")
    text = f"{NOTEBOOK}.model.cells.get(1).outputs.get(2).data['text/plain']"
    lab.until(f"{text}.includes('a = 0.1:')")
    lab.save()
    _, view, image = nbformat.read(folder / "toy.ipynb", as_version=4).cells[1].outputs
    assert "application/vnd.jupyter.widget-view+json" in view.data and "image/png" in image.data


def test_reset_and_the_saved_files(lab, folder):
    lab.key(0, "End")
    lab.shows("turn a = 10:")
    lab.ask("button('Reset').click()")
    lab.shows("turn a = 1:")
    for kind in ("SVG", "CSV"):
        lab.ask("(kind) => button(kind).click()", kind)
        lab.until(f"said().includes('time=40.{kind.lower()}')")
    assert {file.suffix for file in folder.glob("toy_a=1*")} == {".svg", ".csv"}


def test_the_page_did_not_jump_nor_fail_and_its_file_is_small(lab, folder):
    heights = lab.ask("[...heights.keys()]")
    assert max(heights) - min(heights) <= 5
    assert lab.tab.errors == [] and lab.tab.requests == []
    lab.save()
    assert (folder / "toy.ipynb").stat().st_size < 20_000


def test_without_its_kernel_the_notebook_shows_the_picture_and_no_error(lab):
    """Opened again, with a kernel that knows nothing of the panel."""
    lab.save()
    lab.ask(f"{NOTEBOOK}.sessionContext.shutdown()")
    lab.page.reload()
    lab.until("document.querySelector('.jp-RenderedImage img')?.naturalWidth")
    lab.until("document.querySelector('.jupyter-widgets')?.textContent.includes('Error')")
    seen = "(kind) => document.querySelector(kind).offsetParent !== null"
    assert lab.ask(seen, ".jp-RenderedImage img") and not lab.ask(seen, ".jupyter-widgets")
