"""Sphinx extension of the book: what many pages have alike is a file beside them, which a browser loads once.

What a reader plays with is whole by itself: its style sheet and its script stand in the HTML of its cell. Where they
have a name, `<script data-file="player">`, the built page links to a file of that name in the place of the first one.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from clbook.data import written

NAMED = re.compile(r'<(style|script) data-file="([\w-]+)">(.*?)</\1>', re.DOTALL)
KINDS = {"style": "css", "script": "js"}
LINKS = {
    "style": '<link rel="stylesheet" href="{}">',
    "script": '<script src="{}"></script>',
}


def file_name(tag: str, name: str, text: str) -> str:
    """The file of a style sheet or a script; other contents have another name, so that no browser keeps old ones."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name}-{digest}.{KINDS[tag]}"


def link_files(app, pagename, templatename, context, doctree):
    """Write the named style sheets and scripts of a page as files, and let the page link to them."""
    folder = Path(app.outdir) / "_static"
    here = set()  # the files that the page links to already

    def link(found: re.Match) -> str:
        tag, name, text = found.groups()
        file = folder / file_name(tag, name, text)
        if not file.exists():
            with written(file) as target:
                target.write(text.encode())
        if file in here:
            return ""
        here.add(file)
        return LINKS[tag].format(context["pathto"](f"_static/{file.name}", 1))

    if "body" in context:
        context["body"] = NAMED.sub(link, context["body"])


def setup(app):
    """Register the hook."""
    app.connect("html-page-context", link_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
