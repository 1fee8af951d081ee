"""Sphinx extension of the book: the judged claims on the chapters, on the papers' pages and in the ledger.

All claims are judged before any page is read, as `python -m clbook_book.audit` does it, a process a paper. What comes
out is kept beside the notebooks' outputs, so that a build of the same package judges nothing again.
"""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ProcessPoolExecutor
from html import escape
from pathlib import Path

import jinja2
from clbook_div import add_kind
from clbook_kernels import AT_ONCE, PROCESSES
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from clbook.data import written
from clbook.style import plain
from clbook_book.audit import judging
from clbook_book.audit.judging import paper as read_paper

logger = logging.getLogger(__name__)

HERE = Path(__file__).parent
KEYS = (
    "id",
    "paper",
    "item",
    "source",
    "ours",
    "says",
    "setting",
    "bar",
    "condition",
    "measured",
    "evidence",
    "verdict",
    "margin",
    "interval",
    "chapter",
    "anchor",
)  # of ledger.json
PAGES = {name: f"book/papers/{name.lower()}" for name in judging.NAMES}
LEDGER = "book/ledger"
RUNS = (
    "the-runs-behind-these-verdicts"  # on a paper's page: the section whose own sections are folded
)
NAMED = re.compile(
    r"tests/[\w/]+\.py(?:::\w+)?|[a-z]+(?:-[a-z0-9]+)+"
)  # a test, or perhaps a claim
# The order in which a paper's page counts its claims: what holds first, then what does not, then what is not known.
COUNTED = (
    "holds",
    "holds when",
    "seen here",
    "identity",
    "misprinted",
    "fails",
    "not seen here",
    "undecided",
    "not tested",
)


class Part(nodes.General, nodes.Element):
    """Where a part of the ledger will stand: `kind`, and the paper it is about, or None for all."""


class Quote(nodes.Inline, nodes.TextElement):
    """Where a claim of the id `claim` will be quoted: what was measured, its verdict, a link to its row."""


class QuoteRole(SphinxRole):
    """{claim}`ls-fig-4-donut`: the numbers of a claim within a sentence, never typed by hand."""

    def run(self):
        return [Quote(claim=self.text)], []


class PartDirective(SphinxDirective):
    """`{div} claims` in a chapter: one line that leads to the rows of the claims on its question.

    The rows stand on the papers' pages, under the items: `{div} paper-items LS`; `{div} paper-summary LS` has their
    counts and what weighs most, `{div} ledger-errors LS` the errors. In the ledger `{div} ledger-counts`, `{div}
    ledger-items LS`.
    """

    optional_arguments = 1

    def run(self):
        paper = self.arguments[0] if self.arguments else None
        if paper not in (None, *PAGES):
            raise self.error(f"paper={paper!r}: allowed are {', '.join(PAGES)}")
        return [Part(kind=self.name, paper=paper)]


def judge_paper(name: str) -> tuple[list[dict], float]:
    """The rows of a paper's claims, and the seconds that it took to judge them."""
    begun = time.monotonic()
    rows = list(read_paper(name).judge())
    return rows, time.monotonic() - begun


def judge(app):
    """Judge all claims that this state of the package has not judged yet, several papers at once."""
    folder = Path(app.config.nb_execution_cache_path)
    files = {name: folder / f"claims-{name.lower()}.json" for name in judging.NAMES}
    new = [name for name, file in files.items() if not file.exists()]
    with ProcessPoolExecutor(AT_ONCE, PROCESSES, max_tasks_per_child=1) as pool:
        going = {name: pool.submit(judge_paper, name) for name in new}
        for name, done in going.items():
            if done.exception() is not None:
                raise ExtensionError(f"the claims of {name} cannot be judged: {done.exception()}")
            rows, seconds = done.result()
            with written(files[name]) as file:
                file.write(json.dumps(rows, indent=1).encode())
            logger.info("judged the claims of %s in %.0f s", name, seconds)
    app.clbook_rows = []
    for name, file in files.items():
        for row in json.loads(file.read_text(encoding="utf-8")):
            row |= {"docname": f"book/{row['page']}", "chapter": row["page"], "row": PAGES[name]}
            app.clbook_rows.append(row)
    for row in app.clbook_rows:
        row["apart"] = apart(row, app.clbook_rows)


def apart(row: dict, all_rows: list[dict]) -> str:
    """What of a claim's setting, at most three parts, the others with its sentence do not have; "" without others."""
    others = [other for other in all_rows if other["says"] == row["says"] and other is not row]
    known = {part for other in others for part in parts(other["here"])}
    own = [part for part in parts(row["here"]) if part not in known]
    return ", ".join(own[:3] or [row["here"]]) if others else ""


def parts(setting: str) -> list[str]:
    """A setting at its commas and semicolons, but not within "B = 32, 64, 128"."""
    return re.split(r"[,;] (?=[A-Za-z$])", setting)


def look(app, doctree):
    """Note which pages show claims, and warn of a claim whose place is not on its page."""
    docname = app.env.docname
    app.env.clbook_showing = getattr(app.env, "clbook_showing", set())
    if any(doctree.findall(Quote)) or any(doctree.findall(Part)):
        app.env.clbook_showing.add(docname)
    places = {id for node in doctree.findall(nodes.Element) for id in node["ids"]}
    for row in app.clbook_rows:
        if row["docname"] == docname and row["anchor"] not in places:
            logger.warning(
                "claim %s: no place %r on this page", row["id"], row["anchor"], location=docname
            )


def merge(app, env, docnames, other):
    """Take over what another process has noted of the pages that it read."""
    env.clbook_showing = getattr(env, "clbook_showing", set())
    env.clbook_showing |= getattr(other, "clbook_showing", set()) & set(docnames)


def written_again(app, env):
    """Pages that show claims depend on all of them."""
    return [name for name in getattr(env, "clbook_showing", set()) if name in env.found_docs]


def check(app, env):
    """Every claim has an id of its own and names items that there are; every item has a claim, or says why not."""
    known = {}
    for name in judging.NAMES:
        for item in read_paper(name).items:
            known[f"{name} {item['item']}"] = item
    seen, named = set(), set()
    for row in app.clbook_rows:
        if row["id"] in seen:
            logger.warning("claim %s: two claims have this id", row["id"])
        seen.add(row["id"])
        for source in row["source"].split("; "):
            named.add(source)
            if source not in known:
                logger.warning("claim %s: there is no item %r", row["id"], source)
    for source, item in known.items():
        if source not in named and not item.get("untested"):
            logger.warning("%s has no claim, and no reason why it is not tested", source)


def rows(app, paper: str) -> list[dict]:
    """The items of a paper in its order, each with its judged `claims`."""
    found = []
    for item in read_paper(paper).items:
        source = f"{paper} {item['item']}"
        mine = [row for row in app.clbook_rows if source in row["source"].split("; ")]
        found.append({**item, "claims": mine})
        found[-1]["state"] = state_of(found[-1])
    return found


def counts(app) -> list[tuple[str, list]]:
    """(what is counted, a number a paper) of the table on top of the ledger."""
    items = {paper: rows(app, paper) for paper in PAGES}
    table = [("items of the paper", [len(items[paper]) for paper in PAGES])]
    for state, says in (
        ("claimed", "judged"),
        ("definition", "definitions"),
        ("identity", "true by construction"),
        ("by reading", "settled by reading"),
        ("not tested", "not tested"),
    ):
        numbers = []
        for paper in PAGES:
            numbers.append(sum(item["state"] == state for item in items[paper]))
        table.append((f"of these {says}", numbers))
    kinds = [(row["paper"], row["verdict"], row["ours"]) for row in app.clbook_rows]
    for ours, whose in ((False, "claims of the paper"), (True, "questions of ours")):
        for verdict in judging.VERDICTS:
            numbers = [kinds.count((paper, verdict, ours)) for paper in PAGES]
            if any(numbers):
                table.append((f"{whose}: {verdict}", numbers))
    return table


def verdicts(app, paper: str) -> list[tuple[str, int]]:
    """(verdict, how many of the paper's own claims have it), for each that one has."""
    own = [row["verdict"] for row in app.clbook_rows if row["paper"] == paper and not row["ours"]]
    return [(name, own.count(name)) for name in COUNTED if name in own]


def state_of(item: dict) -> str:
    """What the ledger has to say of an item: "claimed", "definition", "identity", "by reading" or "not tested"."""
    return "claimed" if item["claims"] else item.get("kind", "not tested")


def address(app, docname: str, target: str) -> str:
    """The relative address of a page from another; "" from itself."""
    return "" if docname == target else app.builder.get_relative_uri(docname, target)


def needs_mathjax(app, docname: str):
    """Let the page load MathJax: the texts of claims have formulas."""
    app.env.get_domain("math").data["has_equations"][docname] = True


def quote(app, doctree, docname):
    """Put the measured text of each quoted claim into its sentence; of one that there is not, a warning and its id."""
    known = {row["id"]: row for row in app.clbook_rows}
    for node in list(doctree.findall(Quote)):
        row = known.get(node["claim"])
        if row is None:
            logger.warning("no claim %r", node["claim"], location=docname)
            node.replace_self(nodes.Text(node["claim"]))
            continue
        needs_mathjax(app, docname)
        target = f"{address(app, docname, row['row'])}#claim-{row['id']}"
        condition = row["condition"] if row["verdict"] == "holds when" else ""
        verdict = f"{row['verdict']} {condition}".strip()
        html = (
            f'<span class="clbook-quote mathjax_process">{judging.words(row["measured"])} '
            f'(<a href="{target}">{judging.words(verdict)}</a>)</span>'
        )
        node.replace_self(nodes.raw("", html, format="html"))


def proof(text: str, known: dict[str, dict], place) -> str:
    """How an error was checked, as HTML: a test's name as code, a claim's as a link to its row, `place(row)`."""

    def code(found: re.Match) -> str:
        is_name = found[0].startswith("tests/") or found[0] in known
        return f"`{found[0]}`" if is_name else found[0]

    def link(found: re.Match) -> str:
        row = known.get(found[1])
        return f'<a href="{place(row)}">{found[0]}</a>' if row else found[0]

    return re.sub(r"<code>([\w-]+)</code>", link, judging.words(NAMED.sub(code, text)))


def fill(app, doctree, docname):
    """Put the parts of the ledger where their directives stand."""
    loader = jinja2.FileSystemLoader(HERE)
    template = jinja2.Environment(loader=loader, autoescape=False, trim_blocks=True).get_template(
        "ledger.html"
    )

    def page(row):
        return address(app, docname, row["docname"])

    def place(row):
        return f"{address(app, docname, row['row'])}#claim-{row['id']}"

    for part in list(doctree.findall(Part)):
        needs_mathjax(app, docname)
        kind, paper = part["kind"], part["paper"]
        if kind == "claims" and paper is None:
            given = {"mine": [r for r in app.clbook_rows if r["shown"] and r["docname"] == docname]}
            kind = "evidence"
        elif kind == "ledger-counts":
            given = {"papers": PAGES, "table": counts(app)}
        elif kind in ("ledger-items", "paper-items"):
            given = {"items": rows(app, paper)}
        elif kind == "paper-summary":
            known = {row["id"]: row for row in app.clbook_rows}
            headlines = [known[id] for id in read_paper(paper).headlines]
            given = {"counts": verdicts(app, paper), "headlines": headlines}
        else:
            errors, known = [], {row["id"]: row for row in app.clbook_rows}
            for error in read_paper(paper).errors:
                item = f"item-{judging.slug(paper, error['item'])}"
                checked = proof(error["checked"], known, place)
                errors.append({**error, "place": item, "checked": checked})
            given = {"errors": errors}
        html = template.render(
            given,
            kind=kind,
            verdicts=judging.VERDICTS,
            paper=paper,
            words=judging.words,
            spoken=lambda text: escape(plain(text)),
            row=place,
            page=page,
        )
        part.replace_self(nodes.raw("", html, format="html"))


def fold(app, doctree, docname):
    """Fold each section of runs on a paper's page to its title: the verdicts are what a reader comes for."""
    for runs in doctree.findall(nodes.section):
        if docname not in PAGES.values() or RUNS not in runs["ids"]:
            continue
        for section in [part for part in runs if isinstance(part, nodes.section)]:
            title, *rest = section.children
            opened = '<details class="clbook-runs"><summary>', "</summary>", "</details>"
            start, middle, end = (nodes.raw("", html, format="html") for html in opened)
            section.children = []
            section.extend([start, title, middle, *rest, end])


def write_json(app, exception):
    """`ledger.json` beside `index.html`: one record a claim and item that it is about, one for each untested item."""
    if exception or app.builder.format != "html":
        return
    table = {}
    for row in app.clbook_rows:
        setting = f"paper: {row['theirs']}; here: {row['here']}"
        condition = row["condition"] if row["verdict"] == "holds when" else ""
        table[row["id"]] = {**row, "setting": setting, "condition": condition}
    for paper in PAGES:
        for item in rows(app, paper):
            mine = {"id": item["id"], "paper": paper, "item": item["item"]}
            for claim in item["claims"]:
                # Where the item stands second in the claim's source: a record of its own.
                if (claim["paper"], claim["item"]) != (paper, item["item"]):
                    id = f"{claim['id']}--{item['id']}"
                    table[id] = {**table[claim["id"]], **mine, "id": id}
            if not item["claims"]:
                table[item["id"]] = mine | {
                    "source": f"{paper} {item['item']}",
                    "ours": False,
                    "says": item["says"],
                    "setting": "",
                    "bar": "",
                    "condition": "",
                    "measured": item.get("untested", ""),
                    "evidence": "",
                    "verdict": "identity" if item["state"] == "identity" else "not tested",
                    "margin": None,
                    "interval": None,
                    "chapter": "ledger",
                    "anchor": f"item-{item['id']}",
                }
    lines = [{key: row[key] for key in KEYS} for row in table.values()]
    (Path(app.outdir) / "ledger.json").write_text(json.dumps(lines, indent=1))


def setup(app):
    """Register the directives and the hooks."""
    app.add_node(Part)
    app.add_node(Quote)
    app.add_role("claim", QuoteRole())
    for name in (
        "claims",
        "ledger-counts",
        "ledger-items",
        "paper-items",
        "paper-summary",
        "ledger-errors",
    ):
        add_kind(app, name, PartDirective)
    app.connect("builder-inited", judge)
    app.connect("doctree-read", look)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", written_again)
    app.connect("env-check-consistency", check)
    app.connect("doctree-resolved", fill)
    app.connect("doctree-resolved", quote)
    app.connect("doctree-resolved", fold, priority=950)  # notebooks to download have been written
    app.connect("build-finished", write_json)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
