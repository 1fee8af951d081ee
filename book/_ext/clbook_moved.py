"""Sphinx extension of the book: the address of a page that became part of another leads there.

Who kept the old address, with a section behind it or without, arrives where the text is now: sections keep their names.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

import jinja2

TEMPLATE = Path(__file__).parent / "templates" / "moved.html"
MOVED = {"book/diagnose": "book/practice"}  # the page that was: the page that has its text


def write_old_addresses(app, exception):
    """Write a page that leads on at each old address whose new one is built."""
    if exception or app.builder.name != "html":
        return
    template = jinja2.Template(TEMPLATE.read_text("utf-8"), autoescape=True)
    for old, new in MOVED.items():
        if new in app.env.found_docs and old not in app.env.found_docs:
            place = posixpath.relpath(app.builder.get_target_uri(new), posixpath.dirname(old))
            title = app.env.titles[new].astext()
            page = Path(app.outdir, app.builder.get_target_uri(old))
            page.write_text(template.render(place=place, title=title), encoding="utf-8")


def setup(app):
    """Register the hook."""
    app.connect("build-finished", write_old_addresses)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
