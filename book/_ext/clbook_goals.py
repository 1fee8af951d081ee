"""Sphinx extension of the book: the goals of all blocks in one list, as the pages have them.

    ```{goals}
    ```

A block that trains in a page has its goals in what its script reads. Of each page they are kept when it is read, and
listed once all are: by page and block, folded. The link of a goal opens its block and trains, with the settings
that the goal names. `goals.js` marks what this browser has reached; without it, or without anything kept, the list
stands as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from urllib.parse import urlencode

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

SCRIPT = Path(__file__).parent / "goals.js"
LABEL = re.compile(r'<figure class="clbook-here[^>]*? aria-label="([^"]*)"')
SETUP = re.compile(r'class="clbook-here-setup">(.*?)</script>', re.DOTALL)


class Goals(nodes.General, nodes.Element):
    """Where the list will stand."""


class GoalsDirective(SphinxDirective):
    """`{goals}`."""

    def run(self):
        self.env.note_reread()  # goals of another page may have changed
        return [Goals()]


def blocks(document: nodes.document) -> Iterator[dict]:
    """The blocks of a page that have goals: name, title, section (its id) and goals (words)."""
    for raw in document.findall(nodes.raw):
        html = raw.astext()
        label, setup = LABEL.search(html), SETUP.search(html)
        made = json.loads(setup.group(1)) if label and setup else {}
        if not made.get("goals"):
            continue
        section = raw.parent
        while not isinstance(section, nodes.section):
            section = section.parent
        yield {
            "name": made["name"],
            "title": unescape(label.group(1)),
            "section": section["ids"][0],
            "goals": {goal["words"]: address(made, goal, section) for goal in made["goals"]},
        }


def address(made: dict, goal: dict, section: nodes.section) -> str:
    """Where a goal leads in its page: to the block with what the goal asks of its settings, "ring:seed=0&start=sorted".

    A block whose settings an address does not keep is found in its section.
    """
    if "shapes" not in made:
        return section["ids"][0]
    fields = {each["name"] for kind in ("shapes", "knobs", "more") for each in made[kind]}
    asked = [
        (name, f"{v:g}" if isinstance(v, float) else v)
        for name, sign, v in goal["conditions"]
        if sign == "==" and name in fields
    ]
    return f"{made['name']}:{urlencode([('seed', made['seed']), *asked])}"


def kept(env) -> dict[str, list]:
    """{page: its blocks with goals}."""
    if not hasattr(env, "clbook_goals"):
        env.clbook_goals = {}
    return env.clbook_goals


def keep(app, document):
    """Keep what a page that has been read has."""
    kept(app.env)[app.env.docname] = list(blocks(document))


def forget(app, env, docname):
    """Forget a page that is read anew."""
    kept(env).pop(docname, None)


def merge(app, env, docnames, other):
    """Take over the pages that another process has read."""
    kept(env).update({name: kept(other)[name] for name in docnames if name in kept(other)})


def in_order(env, page: str) -> Iterator[str]:
    """A page, and those below it in the order of the contents."""
    yield page
    for below in env.toctree_includes.get(page, []):
        yield from in_order(env, below)


def listed(app, page: str) -> str:
    """The list as HTML, for a page that it stands on."""
    lines = ['<p class="clbook-reached-count" role="status"></p>', '<ul class="clbook-goal-list">']
    for other in in_order(app.env, app.config.root_doc):
        for block in kept(app.env).get(other, []):
            # As tasks.js calls the block in what the browser keeps.
            key = f"{'/'.join(other.split('/')[-2:])}#{block['name']}"
            uri = app.builder.get_relative_uri(page, other)
            chapter = escape(app.env.titles[other].astext())
            lines.append(
                f'<li>{chapter}: <a href="{uri}#{block["section"]}">{escape(block["title"])}</a>'
            )
            number = len(block["goals"])
            lines.append(f"<details><summary>{number} goal{'s' * (number > 1)}</summary>")
            lines.append(f'<ul data-block="{escape(key)}">')
            lines += [
                f'<li><a href="{uri}#{escape(place)}">{escape(words)}</a></li>'
                for words, place in block["goals"].items()
            ]
            lines.append("</ul></details></li>")
    return "\n".join([*lines, f"</ul><script>{SCRIPT.read_text(encoding='utf-8')}</script>"])


def put(app, document, docname):
    """The list in its place."""
    for place in list(document.findall(Goals)):
        place.replace_self(nodes.raw("", listed(app, docname), format="html"))


def setup(app):
    """Register the directive and what keeps the goals."""
    app.add_node(Goals)
    app.add_directive("goals", GoalsDirective)
    app.connect("doctree-read", keep)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", put)
    return {
        "version": "1",
        "env_version": 2,  # of what `kept` holds: where it changes, all pages are read anew
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
