"""Sphinx extension of the book: what a page says of itself to search engines and to those who share it.

A page's description is the question that it asks. Where the book has an address (`html_baseurl`), each page names its
own address and a picture as well, and beside the pages stand a map of them and a page for addresses that lead nowhere.
Where it has none, nothing here writes one.
"""

from __future__ import annotations

import html
import posixpath
import re
import shutil
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import jinja2
from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

TEMPLATES = Path(__file__).parent / "templates"
PICTURE = "_static/explorer.png"  # of a page that has none of its own
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
MATHJAX = ("tex-chtml.js", "output", "input", "a11y", "sre", "ui")  # what a page loads, or its menu
LONGEST = 200  # letters of a description; search engines cut there


def add_templates(app, config):
    """Have the theme look for templates here, too."""
    config.templates_path = [*config.templates_path, str(TEMPLATES)]


def address(app) -> str:
    """The address of the built book, with a slash at its end; "" where it has none."""
    base = app.config.html_baseurl
    return base.rstrip("/") + "/" if base else ""


# What a page says of itself.


def description(doctree) -> str:
    """The first question in bold of a page, or else its first paragraph; formulas are no part of either."""
    for strong in doctree.findall(nodes.strong):
        question = words(strong)
        if question.endswith("?"):
            return question
    for paragraph in doctree.findall(nodes.paragraph):
        text = words(paragraph)
        if text and paragraph.next_node(nodes.math) is None:
            return cut(text)
    return ""


def words(node) -> str:
    """The text of a node in one line; "" where it holds a formula."""
    if node.next_node(nodes.math) is not None:
        return ""
    return " ".join(node.astext().split())


def cut(text) -> str:
    """As many whole sentences as fit into a description, or as many words."""
    if len(text) <= LONGEST:
        return text
    end = text.rfind(". ", 0, LONGEST)
    return text[: end + 1] if end > 0 else text[:LONGEST].rpartition(" ")[0] + " ..."


def picture(app, doctree) -> str:
    """The path of the first picture of a page, in the built book."""
    for image in doctree.findall(nodes.image):
        name = posixpath.basename(image["uri"])
        if name in app.builder.images.values() and name.endswith((".png", ".jpg")):
            return f"_images/{name}"
    return PICTURE


def describe(app, pagename, templatename, context, doctree):
    """Put the description, and where the book has an address what those who share a page show, into its head."""
    if doctree is None:
        return
    about = description(doctree)
    tags = [meta("name", "description", about)] if about else []
    base = address(app)
    if base:
        title = app.env.titles[pagename].astext()
        tags += [
            meta("property", "og:type", "article"),
            meta("property", "og:site_name", app.config.html_title),
            meta("property", "og:title", title),
            meta("property", "og:description", about or title),
            meta("property", "og:url", urljoin(base, app.builder.get_target_uri(pagename))),
            meta("property", "og:image", urljoin(base, picture(app, doctree))),
            meta("name", "twitter:card", "summary_large_image"),
        ]
    context["metatags"] = context.get("metatags", "") + "".join(f"\n    {tag}" for tag in tags)


def licence(app, pagename, templatename, context, doctree):
    """Say at a page's foot what may be done with it."""
    said = f'Text and figures: <a href="{LICENCE}" rel="license">CC BY 4.0</a>. Code: MIT.'
    if "book/reuse" in app.env.found_docs:
        said += f' <a href="{context["pathto"]("book/reuse")}">How to cite and reuse</a>.'
    context["theme_extra_footer"] = f"<p>{said}</p>"


def meta(kind, name, content) -> str:
    """A tag for the head of a page."""
    return f'<meta {kind}="{name}" content="{html.escape(content)}" />'


# The files that a host needs.


def drop_sources(app):
    """Remove the pages of sources that an earlier build made for another address: Sphinx asks for their date alone."""
    pages = Path(app.outdir) / "_modules"
    index = pages / "index.html"
    if index.exists():
        text = index.read_text(encoding="utf-8")
        named = re.search(r'rel="canonical" href="(.*?)_modules/', text)
        if (named[1] if named else "") != address(app):
            shutil.rmtree(pages)


def write_files(app, exception):
    """Write what stands beside the pages once all are built."""
    if exception or app.builder.name != "html":
        return
    folder, base = Path(app.outdir), address(app)
    prune(folder / "_static/mathjax")
    # GitHub's pages would lose each folder whose name begins with "_".
    (folder / ".nojekyll").touch()
    for name in ("sitemap.xml", "404.html", "CNAME"):
        (folder / name).unlink(missing_ok=True)
    if not base:
        return
    if domain := own_domain(base):
        (folder / "CNAME").write_text(f"{domain}\n", encoding="utf-8")
    places = [
        urljoin(base, app.builder.get_target_uri(name)) for name in sorted(app.env.found_docs)
    ]
    entries = "".join(f"  <url><loc>{html.escape(place)}</loc></url>\n" for place in places)
    (folder / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n',
        encoding="utf-8",
    )
    template = jinja2.Template((TEMPLATES / "missing.html").read_text("utf-8"), autoescape=True)
    page = template.render(book=app.config.html_title, base=base, root=app.config.root_doc)
    (folder / "404.html").write_text(page, encoding="utf-8")


def own_domain(base) -> str:
    """The domain that is the book's alone; "" where it lies below that of others.

    GitHub serves a branch under a domain only while the branch has it in a file `CNAME`.
    """
    parts = urlsplit(base)
    own = parts.path == "/" and not parts.netloc.endswith(".github.io")
    return parts.netloc if own else ""


def prune(mathjax):
    """Remove what no page of the book can load: MathJax for other input and output, and speech in other languages."""
    if not mathjax.is_dir():
        return
    for path in mathjax.iterdir():
        if path.name not in MATHJAX:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(mathjax / "output/svg", ignore_errors=True)
    for path in (mathjax / "sre/mathmaps").glob("*.json"):
        if path.stem not in ("base", "en"):
            path.unlink()


def setup(app):
    """Register the hooks."""
    app.connect("config-inited", add_templates)
    app.connect("builder-inited", drop_sources)
    app.connect("html-page-context", describe)
    app.connect("html-page-context", licence)
    app.connect("build-finished", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
