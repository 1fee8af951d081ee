"""Sphinx extension of the book: a link to a term or a theorem shows its text, where the pointer or the keyboard is.

The texts are put into the built pages, so that nothing is asked for when they are shown: at the end of each page
stands, unseen, what its links lead to, and each link is described by it. `book.js` shows it.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from urllib.parse import unquote

GLOSSARY = "book/glossary.html"
# Terms of the glossary with what is said of them: one definition may have several.
ENTRY = re.compile(r"((?:<dt id=\"term-.*?</dt>\s*)+)<dd>(.*?)</dd>", re.DOTALL)
TERM = re.compile(r'<dt id="(term-[^"]*)"')
THEOREM = re.compile(r'<div class="proof (?!admonition)\w+ admonition" id="([^"]+)">')
LINK = re.compile(
    r'<a class="reference internal"( aria-describedby="[^"]*")? href="([^"#]*)#([^"]+)"'
)
NOTES = re.compile(r'<div class="clbook-notes">.*?<!-- clbook-notes -->\n', re.DOTALL)
UNSEEN = re.compile(
    r'<a class="headerlink".*?</a>|<span class="eqno">.*?</span>|\s*First in\s.*?(?=</p>)',
    re.DOTALL,
)


def plain(text) -> str:
    """A piece of a page as it can stand in another: without places, and without links, which nobody could reach."""
    text = UNSEEN.sub("", text)
    text = re.sub(r"</?a\b[^>]*>", "", text)
    return re.sub(r'\s(id|aria-describedby)="[^"]*"', "", text).strip()


def element(page, start) -> str:
    """The whole element `div` that begins at `start`."""
    depth = 0
    for tag in re.compile(r"<(/?)div\b").finditer(page, start):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return page[start : tag.end() + 1]
    return page[start:]


def explained(pages) -> dict[tuple[str, str], str]:
    """{(page, place): text} of all terms and theorems of `pages`, {name: HTML}."""
    found = {}
    for terms, text in ENTRY.findall(pages.get(GLOSSARY, "")):
        for term in TERM.findall(terms):
            found[GLOSSARY, term] = plain(text)
    for name, page in pages.items():
        for theorem in THEOREM.finditer(page):
            found[name, theorem[1]] = plain(element(page, theorem.start()))
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
