"""What the blocks cost that train in the pages: steps a second against PyTorch, and how soon a page answers.

    python tests/benchmarks/bench_pages.py [--only kernel] [--rounds 7]           node against PyTorch
    python tests/benchmarks/bench_pages.py --pages _build/html/book [--only ...]  Chromium, on pages that are built

The blocks are those of the notebooks: `train_here`, `Playground` and `pull.block`, each with its first shape, or with
all of them (`--shapes`). The first form traces them anew and needs node; its table says how many steps node takes in a
second of its processor's time, how many PyTorch takes (eager, one thread, `stepping.advance`), and the median of the
ratio over the rounds, in each of which both have their turn. Of a block that does not train, and of one that draws each
step, what is drawn is computed in both.

The second form opens the built pages from their files, presses and slides as a reader does, and gives milliseconds,
median and longest of some tries. For Train it opens the page, leaves it alone for a moment, scrolls to the block and
clicks at once: the time is that until the first picture. For a slider, moved while it trains, it is that until the
first picture of the run that begins then; for Stop, until the words that it has stopped. Memory is that of the page and
its workers, after runs 5 and 55. Sizes are kilobytes of the page and of the code that was generated.
"""

import argparse
import functools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from clbook.training.loop import learning, one_thread
from clbook_book.live import inpage
from clbook_book.live.page import shared_code

sys.path.append(str(pathlib.Path(__file__).parent.parent))  # what tests share

from blocks import BOOK, blocks_of  # noqa: E402
from stepping import advance  # noqa: E402

OWN = ("steps", "seed")  # what a page sets of any training, without a trace
BUSY = 0.15  # seconds of processor time that a contender takes in a round
NODE = """
const made = [];
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [k, due, steps] = JSON.parse(line), run = made[k] ??= programs[k]();
  if (!run.t || run.t + steps > 5000) run.start({}, 0);
  const from = process.cpuUsage();
  for (let i = 0; i < steps; i++) {
    if (due && !run.spec.step.length) run.put({}); // all that changes is what a reader moves
    run.step(due);
  }
  const { user, system } = process.cpuUsage(from);
  console.log((user + system) / 1e6);
});
"""


def pages(only: str) -> list:
    """The notebooks that have a block and `only` in their name."""
    paths = sorted(BOOK.glob("*.ipynb"))
    return [path for path in paths if only in path.stem and blocks_of(path)]


# Steps a second.


class Node:
    """A process of node with the programs of a block: `spend(k, due, steps)` gives seconds of processor time."""

    def __init__(self, traced, folder):
        made = []
        for k, program in enumerate(traced):
            spec = json.dumps(program.spec)
            made.append(f"() => new Program(shape{k}_setup(), shape{k}_step(), {spec})")
        programs = f"const programs = [{','.join(made)}];"
        lines = [shared_code(), inpage.written(traced), programs, NODE]
        path = pathlib.Path(folder) / "block.js"
        path.write_text("\n".join(lines), encoding="utf-8")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(["node", path], stdin=pipe, stdout=pipe, text=True)

    def spend(self, k, due, steps):
        print(json.dumps([k, due, steps]), file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Eager:
    """PyTorch's own steps of one training: `spend(due, steps)` gives seconds of processor time."""

    def __init__(self, kind, config):
        self.training = kind([config])
        vars(self.training)["times"] = set()
        self.begin()

    def begin(self):
        self.s, self.t = self.training.start(), 0

    def spend(self, due, steps):
        if self.t + steps > 5000:
            self.begin()
        began = time.process_time()
        for _ in range(steps):
            self.t += 1
            self.s = self.seen() if due else advance(self.training, self.s, self.t)
        return time.process_time() - began

    def seen(self):
        """The state after a step of which all is computed that is drawn."""
        training, t = self.training, self.t
        s, drawn = learning(self.s), training.draw()
        z, losses = training.forward(s, drawn, t)
        s = s.changed("watch", training.watch(s, z, t))
        training.shown(s, training.measure(s, z, losses, t))
        return s.changed("step", training.step(s, drawn, losses, t))


def enough(spend) -> int:
    """How many steps take BUSY seconds of processor time, once all is warm."""
    steps = 1
    while (took := spend(steps)) < BUSY:
        steps *= 2
    return max(1, round(steps * BUSY / took))


def speeds(path, rounds, shapes):
    """A line for each shape of each block of a page."""
    for it in blocks_of(path):
        configs, due = it.configs if shapes else it.configs[:1], it.moved
        traced = inpage.programs(it.kind, configs, [s for s in it.settings if s not in OWN])
        with tempfile.TemporaryDirectory() as folder, one_thread():
            node = Node(traced, folder)
            for k, config in enumerate(configs):
                eager = Eager(it.kind, config)
                sides = functools.partial(node.spend, k, due), functools.partial(eager.spend, due)
                counts = [enough(side) for side in sides]
                rates = []
                for _ in range(rounds):
                    rates.append([n / side(n) for n, side in zip(counts, sides)])
                js, python = map(statistics.median, zip(*rates))
                ratio = statistics.median(a / b for a, b in rates)
                size = len(traced[k].setup + traced[k].step) / 1000
                print(
                    f"{path.stem:14} {it.name:15} {k:5} {size:8.1f} {js:10.0f} {python:10.0f} {ratio:7.2f}"
                )
                sys.stdout.flush()
            node.close()


# The pages.

RESTS = 300  # milliseconds that a page is there before anything on it is pressed

# `answer`: a promise of the milliseconds from an event on a block to the first frame in which `done()`.
WATCH = """() => {
window.watch = (block, kind, done) => {
  let from = null;
  block.addEventListener(kind, (event) => { from ??= event.timeStamp; }, { capture: true });
  window.answer = new Promise((resolve) => {
    const look = () => from !== null && done() ? resolve(performance.now() - from) : requestAnimationFrame(look);
    look();
  });
};
window.drawn = (canvas) => { const before = canvas.toDataURL(); return () => canvas.toDataURL() !== before; };
}"""
HERE = {
    "train": "watch(block, 'click', () => !block.querySelector('canvas').hidden)",
    "slide": """const range = block.querySelector("input[type=range]"), { knobs: [{ name }] } = setup;
      watch(block, "input", () => block.querySelector("canvas").getAttribute("aria-label")
        .includes(`${name} = ${range.getAttribute("aria-valuetext")}`));""",
    "stop": "watch(block, 'click', () => block.querySelector('.clbook-status').textContent.startsWith('Stopped'))",
    "draw": "watch(block, 'click', drawn(block.querySelector('.clbook-embedding')))",
    "pull": "watch(block, 'keydown', drawn(block.querySelector('.clbook-embedding')))",
    "pause": "watch(block, 'click', () => block.querySelector('[data-do=train]').textContent === 'Train')",
}


def answer(block, what, act) -> float:
    """Milliseconds from what `act()` does on a block to its answer."""
    setup = "JSON.parse(block.querySelector('[class$=-setup]').textContent)"
    block.evaluate(f"block => {{ const setup = {setup}; {HERE[what]} }}")
    act()
    return block.page.evaluate("window.answer")


def tries(page, block, kind, count) -> dict:
    """{what: milliseconds of each try}; each first click is on a page that has just been opened."""
    found = {"train": [], "slide": [], "stop": []}
    train = block.locator("[data-do=train]")
    address = page.url.partition("#")[0]
    for _ in range(count):
        page.goto("about:blank")  # what the address keeps would train at once
        page.goto(address)
        page.wait_for_function("window.MathJax?.startup?.promise")
        page.evaluate("MathJax.startup.promise.then(() => {})")
        page.evaluate(WATCH)
        page.wait_for_timeout(RESTS)
        if kind == "pull":
            embedding = block.locator(".clbook-embedding")
            found["train"].append(answer(block, "pull", lambda e=embedding: e.press("ArrowRight")))
            continue
        train.scroll_into_view_if_needed()
        if kind == "play":
            found["train"].append(answer(block, "draw", train.click))
            found["stop"].append(answer(block, "pause", train.click))
            continue
        found["train"].append(answer(block, "train", train.click))
        name = block.get_attribute("data-name")
        page.evaluate(f"() => {{ window.clbook.explorers['{name}'].run({{steps: 100000}}); }}")
        page.wait_for_function(
            "block => /^iteration/.test(block.textContent)",
            arg=block.locator(".clbook-status").element_handle(),
        )
        slider = block.locator("input[type=range]").first
        found["slide"].append(answer(block, "slide", lambda s=slider: s.press("ArrowRight")))
        page.wait_for_timeout(200)  # it trains
        found["stop"].append(answer(block, "stop", train.click))
    return found


def megabytes(page) -> float:
    """What the page's process holds, all workers included."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    own = page.context.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    held = []
    for process in own["processInfo"]:
        if process["type"] == "renderer":
            text = pathlib.Path(f"/proc/{process['id']}/status").read_text()
            held.append(int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1000)
    return max(held)


def memory(page, name) -> list[float]:
    """Megabytes after 5 runs and after 50 more."""
    found = []
    for first, last in ((0, 5), (5, 55)):
        page.evaluate(
            """async ([name, first, last]) => {
              for (let seed = first; seed < last; seed++) await window.clbook.explorers[name].run({ seed, steps: 60 });
            }""",
            [name, first, last],
        )
        found.append(megabytes(page))
    return found


def latencies(folder, only, count):
    """A line for each block of the pages in a folder."""
    from browser import SKIPPED, browser

    with browser() as tab:
        for name in (page.stem for page in pages(only)):
            path = folder / f"{name}.html"
            opened = tab(width=1280, height=800)
            page = opened.page
            page.add_init_script(SKIPPED)  # no block waits for an answer
            page.set_default_timeout(180_000)
            page.goto(path.resolve().as_uri())
            code = page.evaluate("""() => [...document.querySelectorAll('[class$=-code]')]
              .map((e) => e.textContent.length).reduce((a, b) => a + b, 0)""")
            size = path.stat().st_size
            print(f"{name}: {size / 1000:.0f} kB, of it generated code {code / 1000:.0f}")
            for block in page.locator("figure.clbook-here").all():
                marks = block.get_attribute("class").split()
                kind = next(k for k in ("pull", "play", "here") if f"clbook-{k}" in marks)
                row = f"  {block.get_attribute('data-name'):16}"
                for what, found in tries(page, block, kind, count).items():
                    if found:
                        row += f" {what} {statistics.median(found):4.0f} {max(found):4.0f}"
                if kind == "here":
                    before, after = memory(page, block.get_attribute("data-name"))
                    row += f" memory {before:.0f} {after:.0f}"
                print(row, flush=True)
            page.context.close()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--pages", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.pages:
        return latencies(arguments.pages, arguments.only, arguments.rounds)
    print(
        f"{'page':14} {'block':15} {'shape':>5} {'kB':>8} {'node':>10} {'PyTorch':>10} {'ratio':>7}"
    )
    for path in pages(arguments.only):
        speeds(path, arguments.rounds, arguments.shapes)


if __name__ == "__main__":
    main()
