"""The built pages, as the tests find them: opened as files, in `_build/html`."""

import base64
import functools
import gzip
import json
import os
import re
import sys

import pytest
from clbook_goals import SETUP
from sources import NOTEBOOKS, ROOT, cells

HTML = ROOT / "_build" / "html"
# All but sources of the package, and the one that leads on to the first; without reading any, since each process of
# the tests does this.
PAGES = sorted(
    page
    for path in HTML.rglob("*.html")
    if not {"_static", "_modules"} & set(path.parts)
    and (page := path.relative_to(HTML).as_posix()) != "index.html"
)
EXPLORERS = [
    f"{page}.html"
    for page in NOTEBOOKS
    if any(kind == "code" and "explore(" in source for kind, source, _ in cells(page))
]
# A page's tests come one after another, so that they can share what a fixture opens.
every_page = pytest.mark.parametrize("page", PAGES or ["no book"], scope="module")
every_explorer = pytest.mark.parametrize("page", EXPLORERS, scope="module")


@pytest.fixture(scope="module", autouse=True)
def built():
    """Skips, or fails in CI, where there is no built book of this state of the package."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from clbook_build import fingerprint

    problem = None
    if not PAGES:
        problem = "there is no built book: run `jupyter-book build .` first"
    elif not (ROOT / "_build" / ".jupyter_cache" / fingerprint(ROOT)).is_dir():
        problem = "the built book is older than clbook: run `jupyter-book build .` again"
    if problem:
        pytest.fail(problem) if os.environ.get("CI") else pytest.skip(problem)


@functools.cache
def source(page):
    """The HTML of a page."""
    return (HTML / page).read_text(encoding="utf-8")


def found(page):
    """(name, settings of the player, payload) of each explorer of a page."""
    setups = re.findall(
        r'<script type="application/json" class="clbook-setup">(.*?)</script>', source(page)
    )
    frames = re.findall(r'class="clbook-frames">([^<]*)<', source(page))
    players = [setup for setup in map(json.loads, setups) if "times" in setup]  # not the doctor
    for setup, packed in zip(players, frames, strict=True):
        drawings, numbers = (gzip.decompress(base64.b64decode(part)) for part in packed.split())
        yield setup["name"], setup, json.loads(drawings) | {"numbers": numbers}


def blocks(page):
    """{name: setup} of the blocks of a page that train."""
    return {setup["name"]: setup for setup in map(json.loads, SETUP.findall(source(page)))}
