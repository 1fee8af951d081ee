"""The last page lists the goals of all blocks, and says which of them have been reached."""

import json
import pathlib
import subprocess
import sys

import pytest
import toy

from clbook_book.live.inpage import Here
from clbook_book.live.tasks import Goal

ROOT = pathlib.Path(__file__).parents[2]
CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["myst_parser", "clbook_goals"]
"""
FIRST = "# First\n\n```{toctree}\nbook/second\nbook/last\n```\n"
SECOND = "# Second & more\n\n## Arms\n\n```{raw} html\n:file: arms.html\n```\n\n```{raw} html\n:file: still.html\n```\n"
LAST = "# Last\n\n```{goals}\n```\n"
GOALS = [Goal("Turn them < by a half", "turn >= 0.5"), Goal("Stop them", "turn == 0")]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("goals")
    (folder / "book").mkdir()
    picture = toy.draw(toy.run(toy.Config(n=20)))
    for name, goals in (("arms", GOALS), ("still", [])):
        told = [goal.told() for goal in goals]
        setup = {"name": name, "panels": [], "ask": None, "goals": told, "seed": 0, "shapes": []}
        setup |= {"knobs": [{"name": "turn"}], "more": []}
        made = Here(name, f"The {name}", "", picture, setup, "")
        # The script of the block alone: what it needs of a training is not here.
        html = made._repr_html_().replace("clbookHere(document.currentScript.parentNode)", "")
        (folder / "book" / f"{name}.html").write_text(html)
    texts = {"conf.py": CONF, "index.md": FIRST, "book/second.md": SECOND, "book/last.md": LAST}
    for name, text in texts.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(folder), str(folder / "out")]
    subprocess.run(command, check=True)
    return folder / "out" / "book" / "last.html"


def listed(page):
    return page.locator("[data-block] > li").all_text_contents()


def test_all_goals_are_listed_with_links_and_what_is_reached_is_marked(visit, address):
    words = [goal.words for goal in GOALS]
    page = visit(address, java_script_enabled=False)
    assert listed(page) == words
    link = page.locator(".clbook-goal-list > li > a")
    assert link.get_attribute("href") == "second.html#arms" and link.inner_text() == "The arms"
    block = "second.html#arms:seed=0"
    opened = page.locator("[data-block] a").evaluate_all("a => a.map(e => e.getAttribute('href'))")
    assert opened == [block, f"{block}&turn=0"], "with the settings that a goal names"
    page = visit(address)
    assert listed(page) == [f"{each} (open)" for each in words]
    assert "0 of 2 goals" in page.get_by_role("status").inner_text()
    store = json.dumps({"book/second#arms": {words[0]: 3}, "book/second#another": {words[1]: 1}})
    page.evaluate("store => localStorage.setItem('clbook-goals', store)", store)
    page.reload()
    assert listed(page) == [f"{words[0]} (reached in run 3)", f"{words[1]} (open)"]
    assert "1 of 2 goals" in page.get_by_role("status").inner_text()


def test_where_nothing_can_be_kept_the_list_stands(tabs, address):
    page = tabs().page  # the theme's own scripts stop at what is refused
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    )
    page.goto(address.as_uri())
    assert listed(page) == [f"{goal.words} (open)" for goal in GOALS]
    page.context.close()
