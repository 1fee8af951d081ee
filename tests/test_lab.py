"""The live explorer in JupyterLab, in a real browser, by hand: keys, typed values, buttons, and heights."""

import json
import os
import pathlib
import subprocess
import sys
import time

import nbformat
import pytest
from browser import NoBrowser, browser

HERE = pathlib.Path(__file__).parent
CELLS = ["import toy\nfrom clbook.explore import explore",
         "explore(toy.run, toy.draw, toy.Config(steps=40), scrub='steps', name='toy', a=[0.1, 1.0, 10.0], "
         "shape=['spiral', 'circle'])",
         "after = 'the cell below'"]
NOTEBOOK = "jupyterapp.shell.currentWidget"
# In the page: the panel of a cell, its parts as a reader finds them, and how far the page has jumped.
PARTS = """
window.panelOf = (cell) => [...cell.node.querySelectorAll(".jp-OutputArea-output > .widget-vbox")];
window.handle = (k) => [...panel.querySelectorAll(".noUi-handle")].filter((each) => each.offsetParent)[k];
window.button = (words) => [...panel.querySelectorAll("button")].find((each) => each.textContent.trim() === words);
window.said = () => [...panel.querySelectorAll("[role=status], [role=alert]")].map((e) => e.textContent).join(" | ");
window.entry = (words) => [...panel.querySelectorAll(".widget-text")]
  .find((each) => each.querySelector("label")?.textContent.startsWith(words)).querySelector("input");
window.picture = () => panel.querySelector("img");
window.idle = () => button("Stop").disabled;
window.heights = new Set();
window.watch = () => { // while "All settings" is folded
  if (panel.offsetHeight && !entry("delay").offsetParent) heights.add(panel.offsetHeight);
  requestAnimationFrame(watch);
};
"""


class Lab:
    """The one notebook, open and run; in the page `panel` is its explorer."""

    def __init__(self, tab, folder):
        self.tab, self.page, self.folder = tab, tab.page, folder

    def ask(self, script, *given):
        return self.page.evaluate(script, *given)

    def until(self, script, seconds=60):
        self.page.wait_for_function(script, timeout=seconds * 1000)

    def run(self, cell):
        """Run a cell and take its panel, which is the only one."""
        self.ask(f"""(k) => {{ {NOTEBOOK}.content.activeCellIndex = k; {NOTEBOOK}.content.deselectAll();
                 jupyterapp.commands.execute("notebook:run-cell"); }}""", cell)
        self.until(f"!{NOTEBOOK}.content.widgets[{cell}].node.querySelector('.jp-InputPrompt').textContent.includes('*')")
        if cell == 1:
            self.until(f"panelOf({NOTEBOOK}.content.widgets[1]).length === 1")
            self.ask(f"() => {{ window.panel = panelOf({NOTEBOOK}.content.widgets[1])[0]; }}")
            self.until("picture()?.naturalWidth && idle()")

    def key(self, slider, name):
        self.ask("(k) => handle(k).focus({preventScroll: true})", slider)
        self.page.keyboard.press(name)

    def type(self, words):
        self.ask("""() => { const entry = panel.querySelector("input[type=text]"); entry.focus({preventScroll: true});
                 entry.select(); }""")
        self.page.keyboard.type(words)
        self.page.keyboard.press("Enter")

    def shows(self, words, seconds=60):
        """Wait for a run to end with `words` in its status or caption."""
        self.until(f"idle() && said().includes({json.dumps(words)})", seconds)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / "toy.ipynb")
    news = folder / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text('{"checkForUpdates": false, "fetchNews": "false"}')
    path = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    place = {"JUPYTER_RUNTIME_DIR": "run", "JUPYTER_CONFIG_DIR": "config", "JUPYTERLAB_SETTINGS_DIR": "settings",
             "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "CLBOOK_CACHE": "cache"}
    place = {name: str(folder / part) for name, part in place.items()}
    try:
        with browser() as open_tab:
            server = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
                 "--ServerApp.port=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"],
                env={**os.environ, **place, "PYTHONPATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                yield opened(open_tab, folder, server)
            finally:
                server.terminate()
                server.wait(20)
    except NoBrowser as missing:
        pytest.skip(f"{missing}: install one (Debian: apt install chromium) to try the explorer in JupyterLab")


def opened(open_tab, folder, server):
    """The notebook in JupyterLab, both cells run."""
    for _ in range(600):
        found = list((folder / "run").glob("jpserver-*.json"))
        if found or server.poll() is not None:
            break
        time.sleep(0.1)
    url = json.loads(found[0].read_text())["url"]
    tab = open_tab(allow=url.rstrip("/"))
    lab = Lab(tab, folder)
    tab.page.add_init_script(PARTS)
    tab.page.goto(f"{url}lab/tree/toy.ipynb", timeout=90_000)
    lab.until(f"window.jupyterapp && {NOTEBOOK}?.content?.widgets?.length === 3"
              f" && {NOTEBOOK}.sessionContext?.session?.kernel?.status === 'idle'", 90)
    lab.run(0)
    lab.run(1)
    lab.ask("() => { heights.clear(); watch(); }")
    return lab


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
    lab.ask("panel.querySelector('.widget-play button').click()")
    lab.shows("at step 40 ")


def test_typed_values_stop_and_an_explorer_that_is_run_anew_in_mid_run(lab):
    lab.ask("button('All settings').click()")
    lab.until("entry('delay').offsetParent")
    lab.ask("() => { entry('delay').focus(); entry('delay').select(); }")
    lab.page.keyboard.type("0.2")
    lab.page.keyboard.press("Enter")
    lab.until("said().includes('press Run')")
    lab.ask("button('All settings').click()")
    lab.until("!entry('delay').offsetParent")
    lab.type("-1")
    lab.until("said().includes('a = -1 is not allowed')")
    lab.type("2.5")
    lab.until("!idle() && /2.5.* [1-9]\\d?%/.test(said())")
    lab.ask("button('Stop').click()")
    lab.shows("stopped at")
    lab.type("3.5")
    lab.until("!idle() && /3.5.* [1-9]\\d?%/.test(said())")
    lab.run(1)
    lab.shows("a = 1, shape = spiral: ")


def test_reset_and_the_saved_files(lab):
    lab.key(0, "End")
    lab.shows("turn a = 10:")
    lab.ask("button('Reset').click()")
    lab.shows("turn a = 1:")
    for kind in ("SVG", "CSV"):
        lab.ask("(kind) => button(kind).click()", kind)
        lab.until(f"said().includes('time=40.{kind.lower()}')")
    assert {file.suffix for file in lab.folder.glob("toy_a=1*")} == {".svg", ".csv"}


def test_the_page_did_not_jump_nor_fail_and_its_file_is_small(lab):
    heights = lab.ask("[...heights]")
    assert max(heights) - min(heights) <= 5
    assert lab.tab.errors == [] and lab.tab.requests == []
    lab.ask(f"{NOTEBOOK}.context.save()")
    assert (lab.folder / "toy.ipynb").stat().st_size < 20_000
