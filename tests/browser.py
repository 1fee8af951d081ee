"""A real browser for tests of pages: headless Chromium,
with every request that leaves the machine blocked and counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shutil
import tempfile

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
HERE = ("file:", "data:", "blob:", "about:")
# An init script: the reader has skipped all predictions, and no block waits for an answer.
SKIPPED = """localStorage.setItem("clbook-predictions", '{"skip all": true}')"""
# axe-core 4.14.1 of npm, MPL 2.0: for tests only
AXE = pathlib.Path(__file__).parent / "vendor" / "axe.min.js"

# What a page has many times, axe sees once: formulas are boxes of their size, which scroll as they do (glyphs are half
# of a page's elements, and without any text); of the words of code one of each kind is left: a kind has one colour. Of
# blocks that are made alike one is left: tags around them and within and all their attributes are the same, but for
# what a text says and where a link leads.
SPARED = """() => {
  const sizes = [...document.querySelectorAll("mjx-container")].map((e) => [e, e.scrollWidth, e.scrollHeight]);
  for (const [formula, width, height] of sizes) {
    const box = document.createElement("span");
    box.style.cssText = `display: inline-block; width: ${width}px; height: ${height}px`;
    formula.replaceChildren(box);
  }
  const seen = new Set();
  for (const word of document.querySelectorAll(".highlight span[class]")) {
    const kind = `${word.className} in ${word.closest(".cell_input, .cell_output, .bd-content, body").className}`;
    if (seen.has(kind)) word.replaceWith(...word.childNodes);
    seen.add(kind);
  }
  const free = ["id", "href", "alt", "src", "title", "aria-label", "aria-describedby", "aria-labelledby"];
  const make = (e) => [e.tagName, e.textContent.trim() !== "", ...e.matches("mjx-container") ? [] :
    [...e.attributes].map((a) => a.name + (free.includes(a.name) ? a.value !== "" : a.value)).sort()].join(" ");
  const places = new Map([[document.documentElement, "html"]]);
  const around = (e) => places.get(e) ?? places.set(e, `${around(e.parentElement)}, ${e.tagName} ${
    e.getAttribute("class")} ${e.getAttribute("style")}`).get(e);
  for (const block of document.querySelectorAll("main :is(tr, p, li):not(summary *)")) {
    if (!block.isConnected) continue;
    const within = new Set([block, ...block.querySelectorAll(":not(mjx-container *)")].map(make));
    const kind = [block.matches("tr") && block.rowIndex % 2, around(block.parentElement), ...[...within].sort()].join();
    if (seen.has(kind)) block.remove();
    seen.add(kind);
  }
}"""


class NoBrowser(Exception):
    """There is no Chromium on this machine; with CI set a RuntimeError is raised instead."""


def chromium() -> str:
    """Path of the browser; `NoBrowser` where there is none, RuntimeError where CI is set."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    message = "no chromium, chromium-browser or google-chrome on the PATH"
    raise RuntimeError(message) if os.environ.get("CI") else NoBrowser(message)


@dataclasses.dataclass
class Tab:
    """A page and what it did.

    Attributes:
        page: Playwright's page.
        requests: addresses that were asked for and blocked. errors: console errors and uncaught exceptions.
    """

    page: object
    requests: list[str] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)


def barriers(page, *rules) -> list[str]:
    """What axe-core (with these rules, or all) calls serious or critical on a page: 'rule: where', once each place."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
        page.evaluate(SPARED)
    how = {"resultTypes": ["violations"], "preload": False} | ({"runOnly": rules} if rules else {})
    found = page.evaluate("how => axe.run(document, how).then(result => result.violations)", how)
    return [
        f"{each['id']}: {node['target'][0]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def alone(made, folder: pathlib.Path) -> pathlib.Path:
    """A page in `folder` with nothing on it but a block, of which `made._repr_html_()` is the HTML."""
    path = folder / f"{getattr(made, 'name', 'block')}.html"
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A block</title><main>'
    path.write_text(f"{head}<h1>A block</h1>{made._repr_html_()}</main>", encoding="utf-8")
    return path


@contextlib.contextmanager
def visits(tabs):
    """For a fixture: `visit(path, **how)` opens a file in a tab of its own and gives Playwright's page.

    `script` runs before those of the page, `at` is added to its address, all else goes to `tabs`. In the end no page
    has asked for anything or logged an error.
    """
    opened = []

    def visit(path, script="", at="", **how):
        opened.append(tabs(**how))
        opened[-1].page.add_init_script(script or ";")
        opened[-1].page.goto(path.as_uri() + at)
        return opened[-1].page

    yield visit
    for tab in opened:
        assert tab.requests == [] and tab.errors == []
        tab.page.context.close()


@contextlib.contextmanager
def browser():
    """`with browser() as tab: t = tab(width=390)`: a fresh profile; `tab` opens an empty `Tab`.

    `tab(width=1200, height=900, allow=None, **context)`: `allow` is an origin that may be asked, e.g. a local server's;
    other arguments go to Playwright's context, e.g. java_script_enabled, reduced_motion.
    """
    executable = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        process = playwright.chromium.launch(
            executable_path=executable, args=FLAGS, env={**os.environ, "HOME": home}
        )

        def tab(width=1200, height=900, allow=None, **context):
            page = process.new_context(
                viewport={"width": width, "height": height}, **context
            ).new_page()
            opened = Tab(page)

            def gate(route):
                url = route.request.url
                if url.startswith(HERE) or (allow and url.startswith(allow)):
                    route.continue_()
                else:
                    opened.requests.append(url)
                    route.abort()

            page.route("**/*", gate)
            page.on(
                "console",
                lambda message: message.type == "error" and opened.errors.append(message.text),
            )
            page.on("pageerror", lambda error: opened.errors.append(str(error)))
            return opened

        try:
            yield tab
        finally:
            process.close()
