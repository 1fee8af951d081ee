"""Sphinx extension of the book: the claims of all chapters on the papers' pages and in the ledger.

A chapter's table of claims carries its rows as JSON (`clbook.claims.Judged`). They are read here from the chapters'
stored outputs, so that the papers' pages, the ledger and `ledger.json` need no computation, and joined with the list
of what stands in each paper, `book/papers/items/*.yaml`.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import jinja2
import yaml
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from clbook import claims

logger = logging.getLogger(__name__)

HERE = Path(__file__).parent
DATA = re.compile(
    r'<script type="application/json" class="clbook-claims-data">(.*?)</script>', re.DOTALL
)
KEYS = (
    "id",
    "paper",
    "item",
    "source",
    "ours",
    "says",
    "setting",
    "measured",
    "evidence",
    "verdict",
    "margin",
    "chapter",
    "anchor",
)  # of ledger.json
PAGES = {
    "LS": "book/papers/ls",
    "VA": "book/papers/va",
    "SA": "book/papers/sa",
    "SL": "book/papers/sl",
    "CS": "book/papers/cs",
}
LEDGER = "book/ledger"
TEST = re.compile(r"tests/\w+\.py(::\w+)?")
WHOSE = {
    "claims": False,
    "own-claims": True,
    "code-claims": "code",
}  # directive: what `ours` of its claims is


class Part(nodes.General, nodes.Element):
    """Where a part of the ledger will stand: `kind`, and the paper it is about, or None for all."""


class Quote(nodes.Inline, nodes.TextElement):
    """Where a claim of the id `claim` will be quoted: what was measured, its verdict, a link to its row."""


class QuoteRole(SphinxRole):
    """{claim}`ls-fig-4-donut`: the numbers of a claim within a sentence, never typed by hand."""

    def run(self):
        return [Quote(claim=self.text)], []


class PartDirective(SphinxDirective):
    """`{claims} LS`, `{own-claims} LS`, `{code-claims} LS`, `{ledger-counts}`, `{ledger-items} LS`, ..."""

    optional_arguments = 1

    def run(self):
        paper = self.arguments[0] if self.arguments else None
        if paper not in (None, *PAGES):
            raise self.error(f"paper={paper!r}: allowed are {', '.join(PAGES)}")
        return [Part(kind=self.name, paper=paper)]


def slug(*words: str) -> str:
    """An id for the page, of the paper and the item."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def papers(app) -> dict:
    """What stands in the papers: {"LS": {"title", "items", "errors"}}, each item with an id; read once a build."""
    return read(Path(app.srcdir) / "book/papers/items")


@functools.cache
def read(folder: Path) -> dict:
    loader = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # the one in C is ten times as fast, where it is there
    found = {
        paper: yaml.load((folder / f"{paper.lower()}.yaml").read_bytes(), loader) for paper in PAGES
    }
    for paper, record in found.items():
        for item in record["items"]:
            item["id"] = slug(paper, item["item"])
    return found


def collect(app, doctree):
    """Keep a page's claims, and take their JSON out of the page."""
    docname = app.env.docname
    app.env.clbook_claims = getattr(app.env, "clbook_claims", {})
    app.env.clbook_claims[docname] = []
    for node in list(doctree.findall(nodes.raw)):
        for data in DATA.findall(node.astext()):
            app.env.clbook_claims[docname] += json.loads(data)
            node.children[:] = [nodes.Text(DATA.sub("", node.astext()))]
    app.env.clbook_quoting = getattr(app.env, "clbook_quoting", set())
    if any(doctree.findall(Quote)):
        app.env.clbook_quoting.add(docname)
    places = {id for node in doctree.findall(nodes.Element) for id in node["ids"]}
    for record in app.env.clbook_claims[docname]:
        if record["anchor"] not in places:
            logger.warning(
                "claim %s: no place %r on this page",
                record["id"],
                record["anchor"],
                location=docname,
            )


def forget(app, env, docname):
    """Forget the claims of a page that is read again."""
    getattr(env, "clbook_claims", {}).pop(docname, None)


def merge(app, env, docnames, other):
    """Take over the claims of pages that another process has read."""
    for docname in docnames:
        env.clbook_claims[docname] = other.clbook_claims.get(docname, [])


def written_again(app, env):
    """The papers' pages, the ledger and the pages that quote claims depend on all chapters."""
    quoting = getattr(env, "clbook_quoting", set())
    return [docname for docname in {*PAGES.values(), LEDGER, *quoting} if docname in env.found_docs]


def records(env) -> list[dict]:
    """All claims of the book, in the order of their pages."""
    return [
        {
            **record,
            "docname": docname,
            "chapter": docname.removeprefix("book/"),
            "row": docname if record["shown"] else PAGES[record["paper"]],
        }
        for docname in sorted(env.clbook_claims)
        for record in env.clbook_claims[docname]
    ]


def check(app, env):
    """Every claim stands once, and names items that the list has; every item has a claim, or the reason why not."""
    known = {
        (paper, item["item"]): item
        for paper, record in papers(app).items()
        for item in record["items"]
    }
    seen = set()
    for record in records(env):
        if record["id"] in seen:
            logger.warning("claim %s: judged twice", record["id"], location=record["docname"])
        seen.add(record["id"])
        for source in record["source"].split("; "):
            if tuple(source.split(" ", 1)) not in known:
                logger.warning(
                    "claim %s: book/papers/items has no item %r",
                    record["id"],
                    source,
                    location=record["docname"],
                )
    named = {
        tuple(source.split(" ", 1))
        for record in records(env)
        for source in record["source"].split("; ")
    }
    for key, item in known.items():
        if key not in named and not item.get("untested"):
            logger.warning(
                "book/papers/items: %s %s has no claim, and no reason why it is not tested", *key
            )


def rows(app, env, paper: str) -> list[dict]:
    """The items of a paper in its order, each with its `claims`."""
    found = [(record, record["source"].split("; ")) for record in records(env)]
    return [
        {
            **item,
            "claims": [record for record, sources in found if f"{paper} {item['item']}" in sources],
        }
        for item in papers(app)[paper]["items"]
    ]


def counts(app, env) -> list[tuple[str, list]]:
    """(what is counted, a number a paper) of the table on top of the ledger."""
    items = {paper: rows(app, env, paper) for paper in PAGES}
    table = [("items of the paper", [len(items[paper]) for paper in PAGES])]
    for state, name in (
        ("claimed", "judged"),
        ("definition", "definitions"),
        ("not tested", "not tested"),
    ):
        table.append(
            (
                f"of these {name}",
                [sum(state_of(item) == state for item in items[paper]) for paper in PAGES],
            )
        )
    for ours, whose in (
        (False, "claims of the paper"),
        (True, "questions of ours"),
        ("code", "checks of our code"),
    ):
        for verdict in claims.VERDICTS:
            numbers = [
                sum(
                    (record["paper"], record["verdict"], record["ours"]) == (paper, verdict, ours)
                    for record in records(env)
                )
                for paper in PAGES
            ]
            if any(numbers):
                table.append((f"{whose}: {verdict}", numbers))
    return table


def state_of(item: dict) -> str:
    """ "claimed", "definition" or "not tested"."""
    return (
        "claimed"
        if item["claims"]
        else "definition"
        if item.get("kind") == "definition"
        else "not tested"
    )


def address(app, docname: str, target: str) -> str:
    """The relative address of a page from another; "" from itself."""
    return "" if docname == target else app.builder.get_relative_uri(docname, target)


def quote(app, doctree, docname):
    """Put the measured text of each quoted claim into its sentence."""
    known = {record["id"]: record for record in records(app.env)}
    for node in list(doctree.findall(Quote)):
        record = known.get(node["claim"])
        if record is None:
            logger.warning("no claim %r", node["claim"], location=docname)
            continue
        app.env.get_domain("math").data["has_equations"][docname] = True
        target = f"{address(app, docname, record['row'])}#claim-{record['id']}"
        html = (
            f'<span class="clbook-quote mathjax_process">{claims.words(record["measured"])} '
            f'(<a href="{target}">{record["verdict"]}</a>)</span>'
        )
        node.replace_self(nodes.raw("", html, format="html"))


def fill(app, doctree, docname):
    """Put the parts of the ledger where their directives stand."""
    for part in list(doctree.findall(Part)):
        paper, env = part["paper"], app.env
        env.get_domain("math").data["has_equations"][docname] = (
            True  # the texts have formulas: the page needs MathJax
        )
        render = (
            jinja2.Environment(
                loader=jinja2.FileSystemLoader(HERE), autoescape=False, trim_blocks=True
            )
            .get_template("ledger.html")
            .render
        )
        common = dict(
            kind=part["kind"],
            whose=WHOSE,
            paper=paper,
            words=claims.words,
            ledger=address(app, docname, LEDGER),
            page=lambda record: address(app, docname, record["docname"]),
            row=lambda record: f"{address(app, docname, record['row'])}#claim-{record['id']}",
        )
        if part["kind"] in WHOSE:
            mine = [
                record
                for item in rows(app, env, paper)
                for record in item["claims"]
                if record["ours"] == WHOSE[part["kind"]]
            ]
            mine = list(
                {record["id"]: record for record in mine}.values()
            )  # in the order of the paper, each once
            here = [record for record in mine if record["paper"] == paper and not record["shown"]]
            html = render(
                common,
                elsewhere=[record for record in mine if record not in here],
                table=claims.table(here, common["page"]) if here else "",
            )
        elif part["kind"] == "ledger-counts":
            html = render(common, papers=PAGES, table=counts(app, env), verdicts=claims.VERDICTS)
        elif part["kind"] == "ledger-items":
            html = render(common, items=rows(app, env, paper))
        else:
            errors = papers(app)[paper].get("errors", [])
            errors = [
                {**error, "checked": TEST.sub(r"`\g<0>`", error["checked"])} for error in errors
            ]
            html = render(common, errors=errors, slug=slug)
        part.replace_self(nodes.raw("", html, format="html"))


def write_json(app, exception):
    """`ledger.json` beside `index.html`: one record a claim, and one for each item that no claim is about."""
    if exception or app.builder.format != "html":
        return
    found = records(app.env)
    table = [
        {**record, "setting": f"paper: {record['theirs']}; here: {record['here']}"}
        for record in found
    ]
    first = {(record["paper"], record["item"]) for record in found}
    for paper in PAGES:
        for item in rows(app, app.env, paper):
            mine = {"id": item["id"], "paper": paper, "item": item["item"]}
            if (paper, item["item"]) in first:
                continue
            if item["claims"]:  # it stands second in a claim's source: the claim is about it too
                table.append({**table[found.index(item["claims"][0])], **mine})
            else:
                table.append(
                    {
                        **mine,
                        "source": f"{paper} {item['item']}",
                        "ours": False,
                        "says": item["says"],
                        "setting": "",
                        "measured": item["untested"],
                        "evidence": "",
                        "verdict": "not tested",
                        "margin": None,
                        "chapter": "ledger",
                        "anchor": f"item-{item['id']}",
                    }
                )
    text = json.dumps([{key: record[key] for key in KEYS} for record in table], indent=1)
    (Path(app.outdir) / "ledger.json").write_text(text)


def setup(app):
    """Register the directives and the hooks."""
    app.add_node(Part)
    app.add_node(Quote)
    app.add_role("claim", QuoteRole())
    for name in (*WHOSE, "ledger-counts", "ledger-items", "ledger-errors"):
        app.add_directive(name, PartDirective)
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", written_again)
    app.connect("env-check-consistency", check)
    app.connect("doctree-resolved", fill)
    app.connect("doctree-resolved", quote)
    app.connect("build-finished", write_json)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
