"""Sphinx extension of the book: a link to a term or a theorem shows its text, where the pointer or the keyboard is.

The texts are put into the built pages, so that nothing is asked for when they are shown: at the end of each page
stands, unseen, what its links lead to, and each link is described by it. `book.js` shows it.
"""

from __future__ import annotations

import copy
import html
import os
import re
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup, SoupStrainer, Tag

GLOSSARY = "book/glossary.html"
ENTRIES = SoupStrainer("dl", class_=re.compile(r"\bglossary\b"))
BOXES = SoupStrainer("div", class_=re.compile(r"\bproof\b"))
UNSEEN = "a.headerlink, span.eqno"  # parts of a text that mean nothing in another page
FIRST = re.compile(r"\s*\bFirst in\s")  # how the place of a term's first use begins
# Where a page is changed: its links, and what an earlier build has added.
LINK = re.compile(
    r'<a class="reference internal"( aria-describedby="[^"]*")? href="([^"#]*)#([^"]+)"'
)
NOTES = re.compile(r'<div class="clbook-notes">.*?<!-- clbook-notes -->\n', re.DOTALL)


def plain(element: Tag) -> Tag:
    """A copy of a piece of a page as it can stand in another: without places and links, which nobody reaches."""
    found = copy.copy(element)
    for part in found.select(UNSEEN):
        part.decompose()
    for words in found.find_all(string=FIRST):  # "First in" and what follows it
        for rest in list(words.next_siblings):
            rest.extract()
        words.replace_with(FIRST.split(words)[0])
    for link in found.find_all("a"):
        link.unwrap()
    for part in (found, *found.find_all(True)):
        part.attrs.pop("id", None)
        part.attrs.pop("aria-describedby", None)
    return found


def terms(page: str) -> dict[str, str]:
    """{place: text} of the terms of the glossary; one text may have several terms."""
    found, waiting = {}, []
    for entry in BeautifulSoup(page, "html.parser", parse_only=ENTRIES).find_all(("dt", "dd")):
        if entry.name == "dt":
            waiting.append(entry.get("id", ""))
            continue
        text = plain(entry).decode_contents().strip()
        found.update((term, text) for term in waiting if term.startswith("term-"))
        waiting = []
    return found


def theorems(page: str) -> dict[str, str]:
    """{place: text} of the theorems of a page, and of what is said as they are; a proof is none."""
    found = {}
    for box in BeautifulSoup(page, "html.parser", parse_only=BOXES).select("div.proof[id]"):
        if box["class"] != ["proof", "admonition"]:
            found[box["id"]] = str(plain(box)).strip()
    return found


def explained(pages) -> dict[tuple[str, str], str]:
    """{(page, place): text} of all terms and theorems of `pages`, {name: HTML}."""
    found = {}
    for place, text in terms(pages.get(GLOSSARY, "")).items():
        found[GLOSSARY, place] = text
    for name, page in pages.items():
        if 'class="proof' not in page:
            continue
        for place, text in theorems(page).items():
            found[name, place] = text
    return found


def annotated(name, page, texts) -> str:
    """A page whose links are described by what they lead to, `texts`; the same if it was annotated before."""
    notes, folder = {}, os.path.dirname(name)

    def describe(link):
        path = os.path.normpath(os.path.join(folder, link[2])) if link[2] else name
        target = path.replace(os.sep, "/"), unquote(html.unescape(link[3]))
        rest = f'href="{link[2]}#{link[3]}"'
        if target not in texts:
            return f'<a class="reference internal" {rest}'
        note = notes.setdefault(target, f"clbook-note-{len(notes)}")
        return f'<a class="reference internal" aria-describedby="{note}" {rest}'

    page = LINK.sub(describe, NOTES.sub("", page))
    if not notes:
        return page
    unseen = "\n".join(
        f'<div class="clbook-note bd-article" id="{note}" role="tooltip" hidden>{texts[target]}</div>'
        for target, note in notes.items()
    )
    block = f'<div class="clbook-notes">\n{unseen}\n</div><!-- clbook-notes -->\n'
    before, body, after = page.rpartition("</body>")
    return before + block + body + after


def annotate(app, exception):
    """Annotate the pages once all are built."""
    if exception or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    paths = [folder / app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
    pages = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.is_file()
    }
    texts = explained(pages)
    for name, page in pages.items():
        new = annotated(name, page, texts)
        if new != page:
            (folder / name).write_text(new, encoding="utf-8")


def setup(app):
    """Register the hook."""
    app.connect("build-finished", annotate)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
