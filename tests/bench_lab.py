"""Every explorer of every chapter in a real JupyterLab, moved by keys: seconds until a picture, and what is wrong.

    python tests/bench_lab.py [chapter ...]    # sphere, papers/cs; none: all

It wants the book's runs in the store: CLBOOK_CACHE is that of a build. They are linked into a store of its own.
"""

import json
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time
from itertools import pairwise

import nbformat
from browser import browser
from lab import NOTEBOOK, Lab, jupyterlab

from clbook.data import cache_folder

BOOK = pathlib.Path(__file__).parent.parent / "book"
SLOW = 600  # s for whatever waits for a whole chapter


def explorer(name):
    """In the kernel: the panel of that name."""
    from clbook.explore import live

    return next(panel for panel in live._panels if panel._name == name)


def facts():
    """In the kernel: what each panel has, printed."""
    from ipywidgets import SelectionSlider, Text

    from clbook.explore import controls, live

    found = []
    for panel in live._panels:
        stops = iter(
            [part.options for part in live._family(panel) if isinstance(part, SelectionSlider)]
        )
        axes, has = [], panel._fields
        for name in panel._axes:
            field, control = has[name], panel.controls[name]
            axis = {"name": controls.short(field), "label": controls.label(field)}
            if isinstance(control, Text):
                own = next(stops)
                axis |= {"kind": "slider", "words": [own[0], own[-1]], "off": off_grid(field, own)}
            else:
                options = getattr(control, "options", [])
                axis |= {
                    "kind": "choice" if options else "box",
                    "words": [words for words, _ in options],
                }
            axes.append(axis)
        longer = {
            name: min(has[name].metadata["high"], 50 * getattr(panel._base, name))
            for name in ("steps", "epochs")
            if name in has
        } | {name: 0 for name in ("linger",) if name in has}
        found.append(
            {
                "name": panel._name,
                "cell": panel.cell,
                "axes": axes,
                "scrub": bool(panel._scrub),
                "seed": panel.controls["seed"].description if "seed" in has else None,
                "longer": [
                    (panel.controls[name].description, str(value)) for name, value in longer.items()
                ],
            }
        )
    print(json.dumps(found))


def off_grid(field, stops):
    """A number between two stops of a slider, as text; None where there is none."""
    if not isinstance(field.default, (int, float)):
        return None
    for low, high in pairwise(map(float, stops)):
        middle = f"{(low + high) / 2:.3g}"
        if middle not in stops and (isinstance(field.default, float) or middle.isdecimal()):
            return middle
    return None


def settle(name):
    """In the kernel: wait for a panel's run and picture; print an error, and its first and last recorded time."""
    from clbook.explore import times

    panel = explorer(name)
    try:
        panel.wait(300)
    except Exception as error:  # noqa: BLE001 - it is said
        print(f"{type(error).__name__}: {error}")
    recorded = times(panel.result, panel._scrub)
    print(" ".join(f"{recorded[k]:g}" for k in (0, -1)) if len(recorded) else "")


class Explorer:
    """One explorer under trial.

    Attributes:
        wrong: what was not as it should be, in words. grid, time: seconds of pictures of grid settings and of times;
        ran: the grid settings that the store did not have.
    """

    def __init__(self, lab, facts, cell):
        self.lab, self.facts, self.cell, self.wrong, self.grid, self.time, self.ran = (
            lab,
            facts,
            cell,
            [],
            [],
            [],
            [],
        )
        lab.ask(f"async (k) => {{ await {NOTEBOOK}.content.scrollToItem(k, 'start'); }}", cell)
        lab.take(cell)
        self.settle()
        lab.ask("() => { panel.scrollIntoView({ block: 'center' }); heights.clear(); }")

    def settle(self):
        """Wait for the run and its picture to end; the first and the last recorded time."""
        *errors, times, _ = self.lab.execute(f"settle({self.facts['name']!r})").split("\n")
        self.wrong += errors
        self.lab.page.wait_for_timeout(100)
        return times.split()

    def expect(self, script, words):
        """Note `words` where `script` does not become true."""
        try:
            self.lab.until(script, 5)
        except Exception as error:  # noqa: BLE001 - Playwright's TimeoutError, or an error in the page
            self.wrong.append(words if "Timeout" in type(error).__name__ else f"{words}: {error}")

    def seconds(self, what, limit=30):
        """From the last key or click to the first picture after it."""
        try:
            self.lab.until("painted > 0", limit)
        except Exception:  # noqa: BLE001
            self.wrong.append(f"{what}: no picture in {limit} s")
            return float("nan")
        return self.lab.ask("(painted - pressed) / 1000")

    def tour(self):
        """Every axis to its ends by keys, each a run of the grid, and to a value off the grid."""
        sliders = [axis for axis in self.facts["axes"] if axis["kind"] == "slider"]
        for k, axis in enumerate(sliders):
            for key, end in (
                ("End", axis["words"][1]),
                ("Home", axis["words"][0]),
                ("End", axis["words"][1]),
            ):
                if self.lab.ask(f"typed({k}).value") == end:
                    continue
                self.lab.key(k, key)
                self.moved(f"{axis['name']} {key}", f"{axis['name']} = {end}")
                self.expect(
                    f"typed({k}).value === {json.dumps(end)}", f"{axis['name']}: {key} is not {end}"
                )
            before = self.lab.ask(f"typed({k}).value")
            self.lab.key(k, "ArrowLeft")
            self.expect(
                f"typed({k}).value !== {json.dumps(before)}", f"{axis['name']}: no arrow key"
            )
            self.settle()
            self.lab.type("nan", f"typed({k})")
            self.expect("said().includes('not allowed')", f"{axis['name']}: nan is not refused")
            if axis["off"]:
                self.lab.type(axis["off"], f"typed({k})")
                self.expect(
                    f"said().includes({json.dumps(axis['name'] + ' = ' + axis['off'])})",
                    "no off-grid value",
                )
                self.settle()
            self.lab.type(axis["words"][0], f"typed({k})")
            self.settle()
        for axis in self.facts["axes"]:
            if axis["kind"] == "choice":
                for words in axis["words"][::-1]:
                    if self.lab.ask(
                        "(words) => !button(words).classList.contains('mod-active')", words
                    ):
                        self.lab.ask("(words) => button(words).focus({preventScroll: true})", words)
                        self.lab.page.keyboard.press("Space")
                        self.moved(f"{axis['name']} {words}", f"{axis['name']} = ")
            elif axis["kind"] == "box":
                for _ in range(2):
                    self.lab.ask(
                        "(words) => box(words).focus({preventScroll: true})", axis["label"]
                    )
                    self.lab.page.keyboard.press("Space")
                    self.moved(axis["name"], axis["name"])

    def moved(self, what, said):
        """A picture of the grid has been asked for: note how long it takes where it is from the store."""
        seconds = self.seconds(what)
        self.settle()
        if self.lab.ask("said().includes('from the store')"):
            self.grid.append(seconds)
        else:
            self.ran.append(what)
        self.expect(
            f"said().includes({json.dumps(said)})", f"{what}: the status does not say {said}"
        )

    def times(self):
        """The time slider to its ends and back one."""
        if not self.facts["scrub"]:
            return
        first, last = self.settle()
        slider = sum(axis["kind"] == "slider" for axis in self.facts["axes"])
        for key, at in (("Home", first), ("End", last), ("ArrowLeft", None), ("End", last)):
            self.lab.key(slider, key)
            self.time.append(self.seconds(f"time {key}"))
            shown = "[...panel.querySelectorAll('label')].map(e => e.textContent).find(t => / = \\S+$/.test(t))"
            if at is not None:
                self.expect(f"{shown}.endsWith('= {at}')", f"time: {key} is not {at}")
            self.settle()

    def run(self, *settings):
        """Type values under "All settings", and press Run."""
        self.lab.ask("button('All settings').click()")
        self.lab.until("!folded()")
        for description, value in settings:
            self.lab.type(value, f"entry({json.dumps(description)})")
        self.lab.until("said().includes('press Run')")
        self.lab.ask("button('All settings').click()")
        self.lab.until("folded()")
        self.lab.ask("button('Run').click()")

    def fresh(self):
        """Seconds to the first picture of the start with a seed that no store has; nan where it changes nothing."""
        self.lab.ask("button('Reset').click()")
        self.settle()
        if self.facts["seed"] is None:
            return float("nan")
        seed = str(random.randrange(1000, 10**6))
        self.run((self.facts["seed"], seed))
        self.lab.until(f"painted > 0 || idle() && said().includes('{seed}')")
        self.settle()
        return self.lab.ask("painted > 0 ? (painted - pressed) / 1000 : NaN")

    def stop(self):
        """Seconds that Stop takes in mid-run; then the cell is run anew in mid-run, and has one panel at the start.

        nan where the longest run ends before it can be stopped.
        """
        if not self.facts["longer"]:
            return float("nan")
        self.run(*self.facts["longer"])
        if not self.going():
            return float("nan")
        self.lab.ask("""() => {
          window.stopped = 0;
          const asked = performance.now();
          const watched = () => {
            if (idle()) stopped = performance.now() - asked; else requestAnimationFrame(watched);
          };
          button("Stop").click();
          watched();
        }""")
        self.lab.until("stopped > 0", 60)
        self.expect("said().includes('stopped at')", "Stop: no 'stopped at'")
        self.settle()
        self.lab.ask("button('Run').click()")
        self.going()
        self.lab.run(self.cell)
        self.lab.take(self.cell)
        self.settle()
        if self.lab.ask("/replaced|stopped|Running/.test(said())"):
            self.wrong.append(f"run anew: {self.lab.ask('said()')[:90]}")
        return self.lab.ask("stopped / 1000")

    def going(self):
        """Wait until a run has begun and moved on; whether it is still going."""
        try:
            self.lab.until("!idle()", 5)
            self.lab.until("idle() || / [1-9]\\d?%|[1-9]\\.\\d s/.test(said())", 30)
        except Exception:  # noqa: BLE001 - Playwright's TimeoutError
            self.wrong.append(f"no run goes on: {self.lab.ask('said()')[:90]}")
        return not self.lab.ask("idle()")

    def row(self):
        """All of it, as a line."""
        began = time.monotonic()
        self.tour()
        if missing := len(self.ran):  # now the store has them
            self.tour()
        self.times()
        fresh, stop = self.fresh(), self.stop()
        heights = dict(self.lab.ask("[...heights]"))
        jump = max(heights) - min(heights)
        self.wrong += [f"jumps by {jump} px: {heights}"] * (jump > 5)
        grid, times = (
            f"{statistics.median(s):5.2f} {max(s):5.2f}" if s else "    -     -"
            for s in (self.grid, self.time)
        )
        return (
            f"  {self.facts['name']:12} {missing:3} {len(self.grid):3} {grid} {fresh:6.2f} {times} {stop:6.2f}"
            f" {jump:5.0f} {os.getloadavg()[0]:5.1f} {time.monotonic() - began:5.0f}  {'; '.join(self.wrong)}"
        )


def chapter(open_tab, url, book, name):
    """Run a chapter's notebook, of the folder `book`, and try its explorers; a line of each is printed."""
    file = book / name
    cells = nbformat.read(file, as_version=4).cells
    lab = Lab(open_tab, url, name, len(cells))
    began = time.monotonic()
    code = [k for k, cell in enumerate(cells) if cell.cell_type == "code"]
    lab.ask("() => { jupyterapp.commands.execute('notebook:run-all-cells'); }")
    lab.until(
        f"{json.dumps(code)}.every((k) => /\\d/.test({NOTEBOOK}.content.widgets[k].node"
        ".querySelector('.jp-InputPrompt').textContent))",
        SLOW,
    )
    took = time.monotonic() - began
    failed = lab.ask(
        f"{json.dumps(code)}.filter((k) => {NOTEBOOK}.content.widgets[k].model.outputs.toJSON()"
        ".some((output) => output.output_type === 'error'))"
    )
    explored = any("explore(" in cells[k].source for k in code)
    found = (
        json.loads(lab.execute("from bench_lab import facts, settle\nfacts()")) if explored else []
    )
    ids = lab.ask(f"{NOTEBOOK}.content.widgets.map((each) => each.model.id)")
    lab.ask("watch()")
    print(f"{file.stem}: run in {took:.0f} s; cells that failed: {failed}", flush=True)
    for facts in sorted(found, key=lambda facts: ids.index(facts["cell"])):
        print(Explorer(lab, facts, ids.index(facts["cell"])).row(), flush=True)
    lab.save()
    errors = {
        error for error in lab.tab.errors if "Cross reference" not in error
    }  # those lead to other pages
    print(
        f"  saved: {file.stat().st_size / 1000:.0f} kB; errors in the browser: {errors}", flush=True
    )
    lab.page.context.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        shutil.copytree(BOOK, root / "book", ignore=shutil.ignore_patterns("_*", "records"))
        shutil.copytree(cache_folder(), root / "store", copy_function=os.link)
        with (
            browser() as open_tab,
            jupyterlab(root / "book", CLBOOK_CACHE=str(root / "store")) as url,
        ):
            print(
                "  explorer     runs that the store lacked; grid settings: n, median, max; new seed; time: median,"
                " max; Stop; px; load; s; wrong"
            )
            pages = sorted(
                str(file.relative_to(BOOK).with_suffix("")) for file in BOOK.rglob("*.ipynb")
            )
            for name in sys.argv[1:] or pages:
                chapter(open_tab, url, root / "book", f"{name}.ipynb")
