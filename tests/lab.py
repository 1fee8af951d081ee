"""JupyterLab in a real browser: a notebook is opened and run, and its explorers are moved as a reader moves them."""

import json
import os
import pathlib
import subprocess
import sys
import time
from contextlib import contextmanager

HERE = pathlib.Path(__file__).parent
NOTEBOOK = "jupyterapp.shell.currentWidget"
# In the page: the panel of a cell, its parts as a reader finds them, how high it was, and the times of the last key or
# click and of the first picture after it, by the browser's clock.
PARTS = """
window.panelOf = (cell) => [...cell.node.querySelectorAll(".jp-OutputArea-output > .widget-vbox")];
window.seen = (kind) => [...panel.querySelectorAll(kind)].filter((each) => each.offsetParent);
window.handle = (k) => seen(".noUi-handle")[k];
window.typed = (k) => seen("input[type=text]")[k];
window.button = (words) => [...panel.querySelectorAll("button")].find((each) => each.textContent.trim() === words);
window.box = (words) => [...panel.querySelectorAll("label:has([type=checkbox])")]
  .find((each) => each.textContent.trim() === words).querySelector("input");
window.said = () => [...panel.querySelectorAll("[role=status], [role=alert]")].map((e) => e.textContent).join(" | ");
window.entry = (words) => [...panel.querySelectorAll(".widget-text")]
  .find((each) => each.querySelector("label")?.textContent === words).querySelector("input");
window.picture = () => panel.querySelector("img");
window.idle = () => button("Stop").disabled;
window.folded = () => !panel.querySelector(".widget-gridbox").offsetParent;
window.panel = null;
window.heights = new Map(); // of the panel: those of its parts
window.watch = () => {
  if (panel?.offsetHeight && folded()) heights.set(panel.offsetHeight, [...panel.children].map((e) => e.offsetHeight));
  requestAnimationFrame(watch);
};
window.pressed = window.painted = 0;
for (const kind of ["keydown", "click"]) addEventListener(kind, (event) => {
  pressed = event.timeStamp;
  painted = 0;
}, true);
document.addEventListener("load", (event) => {
  if (panel && event.target === picture()) requestAnimationFrame(() => { painted ||= performance.now(); });
}, true);
"""
EXECUTE = f"""async (code) => {{
  const asked = {NOTEBOOK}.sessionContext.session.kernel.requestExecute({{ code, store_history: false }});
  let printed = "";
  asked.onIOPub = ({{ content }}) => {{ printed += content.text ?? content.traceback?.join("\\n") ?? ""; }};
  await asked.done;
  return printed;
}}"""


@contextmanager
def jupyterlab(folder, **place):
    """The address of a JupyterLab over `folder`, which finds this checkout; `place` is added to its environment."""
    extension = folder / "settings/@jupyterlab/apputils-extension"
    news = extension / "notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text('{"checkForUpdates": false, "fetchNews": "false"}')
    own = {"JUPYTER_RUNTIME_DIR": "run", "JUPYTER_CONFIG_DIR": "config"}
    own |= {f"JUPYTERLAB_{part.upper()}_DIR": part for part in ("settings", "workspaces")}
    own = {name: str(folder / part) for name, part in own.items()}
    path = os.pathsep.join(
        [str(HERE), str(HERE.parent), str(HERE.parent / "book"), os.environ.get("PYTHONPATH", "")]
    )
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
        "--expose-app-in-browser", "--ServerApp.port=0", "--IdentityProvider.token=",
        f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": path, **own, **place}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, env=env, **quiet)
    try:
        for _ in range(600):
            found = list((folder / "run").glob("jpserver-*.json"))
            if (found and found[0].read_text()) or server.poll() is not None:
                break
            time.sleep(0.1)
        yield json.loads(found[0].read_text())["url"]
    finally:
        server.terminate()
        server.wait(120)


class Lab:
    """A notebook in JupyterLab, opened in a new tab; in the page `panel` is the explorer at hand.

    Attributes:
        tab: what `browser` gives. page: Playwright's page.
    """

    def __init__(self, open_tab, url, notebook, cells):
        self.tab = open_tab(allow=url.rstrip("/"))
        self.page = self.tab.page
        self.page.add_init_script(PARTS)
        self.page.goto(f"{url}lab/tree/{notebook}", timeout=90_000)
        self.until(
            f"window.jupyterapp && {NOTEBOOK}?.content?.widgets?.length === {cells}"
            f" && {NOTEBOOK}.sessionContext?.session?.kernel?.status === 'idle'",
            90,
        )

    def ask(self, script, *given):
        return self.page.evaluate(script, *given)

    def until(self, script, seconds=60):
        self.page.wait_for_function(script, timeout=seconds * 1000)

    def execute(self, code):
        """What a line of code prints in the notebook's kernel."""
        return self.ask(EXECUTE, code)

    def run(self, cell):
        """Run a cell to its end."""
        self.ask(
            f"""(k) => {{ {NOTEBOOK}.content.activeCellIndex = k; {NOTEBOOK}.content.deselectAll();
                 jupyterapp.commands.execute("notebook:run-cell"); }}""",
            cell,
        )
        prompt = f"{NOTEBOOK}.content.widgets[{cell}].node.querySelector('.jp-InputPrompt')"
        self.until(f"!{prompt}.textContent.includes('*')")

    def take(self, cell):
        """Take the explorer of a cell, which is the only one, and wait for its picture."""
        self.until(f"panelOf({NOTEBOOK}.content.widgets[{cell}]).length === 1")
        self.ask(f"() => {{ window.panel = panelOf({NOTEBOOK}.content.widgets[{cell}])[0]; }}")
        self.until("picture()?.naturalWidth && idle()")

    def key(self, slider, name):
        """Press a key on one of the sliders in sight."""
        self.ask("(k) => handle(k).focus({preventScroll: true})", slider)
        self.page.keyboard.press(name)

    def type(self, words, entry="typed(0)"):
        """Type into an entry, by default the first one in sight."""
        self.ask(f"() => {{ {entry}.focus({{preventScroll: true}}); {entry}.select(); }}")
        self.page.keyboard.type(words)
        self.page.keyboard.press("Enter")

    def shows(self, words, seconds=60):
        """Wait for a run to end with `words` in its status or caption."""
        self.until(f"idle() && said().includes({json.dumps(words)})", seconds)

    def save(self):
        """Save the notebook."""
        self.ask(f"{NOTEBOOK}.context.save()")
