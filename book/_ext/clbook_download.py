"""Sphinx extension of the book: each page with code as a notebook that reads well and runs anywhere.

The notebooks of `book/` are MyST: outside the book their references, citations and boxes are raw text, and they need
the checkout. Beside the pages, in `_notebooks`, the build puts for each of them one of plain Markdown, written from the
resolved page, with the build's outputs, and a first cell that installs the wheels of both packages, which lie there
too. Where the book has an address (`html_baseurl`) the wheels and the other pages are named by it; where the repository
has one as well, on GitHub, the page gets a button that opens its notebook in Colab.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import jinja2
import nbformat
from docutils import nodes
from jupyter_cache import get_cache
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image
from sphinx.util import logging

logger = logging.getLogger(__name__)

HERE = Path(__file__).parent
FOLDER = "_notebooks"  # below the built pages
PUBLISHED = "gh-pages"  # the branch that holds the built pages, where the repository is on GitHub
# What the wheels are made of: {name: (folder of the project, its files)}.
PACKAGES = {
    "clbook": ("", ("pyproject.toml", "LICENSE", "clbook")),
    "clbook_book": ("book", ("book/pyproject.toml", "book/clbook_book")),
}
PICTURE = re.compile(
    r'<figure class="clbook-explorer".*?<img[^>]*?\balt="(?P<alt>[^"]*)"[^>]*?'
    r'\bsrc="data:image/webp;base64,(?P<webp>[^"]+)"',
    re.DOTALL,
)
HIDDEN = (
    re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL),
    re.compile(r'<span class="bar".*?</span>', re.DOTALL),
)
# A formula of several lines, which a quotation cannot have.
FORMULA = re.compile(
    r"^( *)(\\begin\{equation\*\}\n.*?\n *\\end\{equation\*\})$", re.DOTALL | re.MULTILINE
)
FOLDED = "\f"  # around a text that is folded
SVG = re.compile(r"(<svg\b.*?</svg>)", re.DOTALL)
SETS = re.compile(r'<a href="(#[\w-]+:[^"]+)"')  # a link that sets an explorer
SPECIAL = re.compile(r"([\\`*_$<~])")


# --- the page as Markdown -------------------------------------------------------------------------------------------


class Page:
    """The resolved page `docname` as a list of notebook cells: `Page(app, docname, doctree).cells`.

    `sources` are the cells of the page's own notebook, with outputs: the page names them by their number.
    """

    def __init__(self, app, docname, doctree, sources):
        self.app, self.docname, self.sources = app, docname, sources
        self.address, self.next = app.config.html_baseurl, 0
        headings = {id for section in doctree.findall(nodes.section) for id in section["ids"]}
        # The places that the page itself links to.
        self.targets = headings & {
            link.get("refid") or link.get("refuri", "").partition("#")[2]
            for link in doctree.findall(nodes.reference)
        }
        self.cells, self.text, self.files = [], [], {}
        for block in doctree.children:
            self.add(block)
        self.code(len(sources))

    def add(self, block, level=1):
        """Add a block of the page to the cells; a section begins a cell of text, code ends one."""
        if isinstance(block, nodes.section):
            self.flush()
            for child in block.children:
                if isinstance(child, nodes.title):
                    self.text += [f'<a id="{id}"></a>' for id in block["ids"] if id in self.targets]
                    self.text.append("#" * min(level, 6) + " " + self.heading(block))
                else:
                    self.add(child, level + 1)
        elif "cell_index" in block:
            self.code(block["cell_index"] + 1)
            for figure in block.findall(nodes.figure):
                self.text += [
                    f"**{self.number(figure, 'figure')}.** {self.inline(caption)}"
                    for caption in figure.findall(nodes.caption)
                ]
        elif text := self.block(block):
            self.text.append(text)

    def flush(self):
        """Make cells of the text since the last one: what is folded is one of its own, folded up."""
        for k, text in enumerate("\n\n".join(self.text).split(FOLDED)):
            if not text.strip():
                continue
            cell = new_markdown_cell(text.strip())
            if files := {name: file for name, file in self.files.items() if name in text}:
                cell.attachments = files
            if k % 2:
                cell.metadata.jupyter = {"source_hidden": True}
            self.cells.append(cell)
        self.text, self.files = [], {}

    def code(self, end):
        """Add the code before the cell `end` that is not there yet: cells that the page does not show, too."""
        for source in self.sources[self.next : end]:
            if source.cell_type == "code":
                self.flush()
                self.cells.append(code_cell(source))
        self.next = max(end, self.next)
        self.flush()

    def number(self, node, kind) -> str:
        """ "Fig. 1.1", or "1.1" for a kind whose numbers have no name."""
        numbers = self.app.env.toc_fignumbers.get(self.docname, {}).get(kind, {})
        found = next((".".join(map(str, numbers[id])) for id in node["ids"] if id in numbers), "")
        return self.app.config.numfig_format.get(kind, "%s") % found if found else ""

    def heading(self, section) -> str:
        """The title of a section, with its number."""
        numbers = self.app.env.toc_secnumbers.get(self.docname, {})
        place = "" if isinstance(section.parent, nodes.document) else f"#{section['ids'][0]}"
        number = ".".join(map(str, numbers.get(place) or ()))
        return f"{number}. {self.inline(section[0])}" if number else self.inline(section[0])

    def children(self, node) -> str:
        """All blocks in `node`, one below the other."""
        return "\n\n".join(filter(None, map(self.block, node.children)))

    def block(self, node) -> str:
        """A block as Markdown; "" for what is not seen."""
        return getattr(self, type(node).__name__, self.other)(node)

    def other(self, node) -> str:
        if isinstance(node, nodes.Admonition) or "admonition" in node.get("classes", ()):
            return self.admonition(node)
        if isinstance(node, nodes.Inline | nodes.Text):
            return self.inline(node)
        return self.children(node)

    def ignored(self, node) -> str:
        return ""

    target = comment = index = toctree = compound = substitution_definition = meta = colspec = (
        ignored
    )

    def paragraph(self, node) -> str:
        return self.inline(node)

    rubric = caption = paragraph

    def title(self, node) -> str:
        return f"**{self.inline(node)}**"

    def transition(self, node) -> str:
        return "---"

    def section(self, node) -> str:  # the body of a box; sections of the page are in `add`
        return self.children(node)

    def math_block(self, node) -> str:
        tex = node.astext().strip()
        number = self.number(node, "displaymath") or node.get("number") or ""
        tag = f" \\tag{{{number}}}" if number else ""
        if tex.startswith(r"\begin{") and node.get("nowrap"):
            return tex
        if "\\\\" in tex and r"\begin{" not in tex:  # as Sphinx does
            tex = f"\\begin{{aligned}}\n{tex}\n\\end{{aligned}}"
        # JupyterLab's extension for MyST numbers what stands between dollars, by itself.
        return f"\\begin{{equation*}}\n{tex}{tag}\n\\end{{equation*}}"

    def literal_block(self, node) -> str:
        return f"```{node.get('language', '').replace('ipython3', 'python')}\n{node.astext()}\n```"

    def bullet_list(self, node) -> str:
        return self.items(node, lambda k: "- ")

    def enumerated_list(self, node) -> str:
        return self.items(node, lambda k: f"{k + node.get('start', 1)}. ")

    def items(self, node, mark) -> str:
        bodies = [self.children(item) for item in node.children]
        wide = any("\n\n" in body for body in bodies)
        return ("\n\n" if wide else "\n").join(
            mark(k) + textwrap.indent(body, " " * len(mark(k))).lstrip()
            for k, body in enumerate(bodies)
        )

    def definition_list_item(self, node) -> str:
        terms = [self.inline(term) for term in node.children if isinstance(term, nodes.term)]
        return f"**{', '.join(terms)}**: " + "\n\n".join(
            self.children(part) for part in node.children if isinstance(part, nodes.definition)
        )

    def block_quote(self, node) -> str:
        return box(self.children(node))

    def admonition(self, node) -> str:
        title = next(
            (self.inline(child) for child in node.children if isinstance(child, nodes.title)), ""
        )
        body = "\n\n".join(
            filter(
                None,
                (
                    self.block(child)
                    for child in node.children
                    if not isinstance(child, nodes.title)
                ),
            )
        )
        return (
            fold(title, body)
            if "dropdown" in node["classes"]
            else box(f"**{title}**\n\n{body}" if title else body)
        )

    def enumerable(self, node) -> str:
        """A theorem, an exercise: its kind and number, then its title."""
        kind = node.get("countertype") or node.get("type")
        title = self.inline(node[0]).strip() if isinstance(node[0], nodes.title) else ""
        name = f"{(node.get('realtype') or kind).title()} {self.number(node, kind).split(' ')[-1]}".strip()
        body = "\n\n".join(
            filter(
                None,
                (
                    self.block(child)
                    for child in node.children
                    if not isinstance(child, nodes.title)
                ),
            )
        )
        return box(f"**{f'{name} {title}'.strip()}.** {body}")

    theorem_node = proposition_node = lemma_node = corollary_node = definition_node = (
        remark_node
    ) = enumerable
    example_node = algorithm_node = conjecture_node = assumption_node = property_node = (
        axiom_node
    ) = enumerable
    criterion_node = observation_node = exercise_node = exercise_enumerable_node = enumerable

    def proof_node(self, node) -> str:
        return box(self.children(node[0]))

    def solution_node(self, node) -> str:
        return fold(self.inline(node[0]), "\n\n".join(map(self.block, node.children[1:])))

    def reasons(self, node) -> str:  # what the answers of a prediction are told
        return fold("Answer", self.children(node))

    def container(self, node) -> str:
        """Of a quiz the question and its numbered answers; what each is told is folded."""
        options = [part for part in node.children if type(part).__name__ == "quiz_option"]
        if not options:
            return self.other(node)
        asked = [self.block(part) for part in node.children if part not in options]
        answers = [f"{k}. {self.block(each[0])}" for k, each in enumerate(options, 1)]
        told = [f"{k}. {self.block(each[1])}" for k, each in enumerate(options, 1)]
        return "\n\n".join([*asked, "\n".join(answers), fold("Answers", "\n".join(told))])

    def dropdown_main(self, node) -> str:
        return fold(node[0][0].astext(), "\n\n".join(map(self.block, node.children[1:])))

    def figure(self, node) -> str:
        caption = " ".join(
            self.inline(child) for child in node.children if isinstance(child, nodes.caption)
        )
        number = self.number(node, "figure")
        text = f"**{number}.** {caption}" if number else caption
        return "\n\n".join(
            filter(None, [self.image(image) for image in node.findall(nodes.image)] + [text])
        )

    def image(self, node) -> str:
        """A picture, kept in the cell."""
        path = Path(self.app.srcdir) / node["uri"]
        if not path.is_file():
            return f"*{escape(node.get('alt', ''))}*"
        kind = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}[path.suffix]
        self.files[path.name] = {kind: base64.b64encode(path.read_bytes()).decode()}
        alt = node.get("alt", "").replace("[", "(").replace("]", ")").replace("\n", " ")
        return f"![{alt}](attachment:{path.name})"

    def table(self, node) -> str:
        rows = [[self.cell(entry) for entry in row.children] for row in node.findall(nodes.row)]
        head = next(iter(node.findall(nodes.thead)), None)
        if head is None:
            rows.insert(0, [""] * len(rows[0]))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join(
            [
                *(
                    self.inline(title) + "\n"
                    for title in node.children
                    if isinstance(title, nodes.title)
                ),
                lines[0],
                "|" + " --- |" * len(rows[0]),
                *lines[1:],
            ]
        )

    def cell(self, entry) -> str:
        """One line of Markdown; a bar would end the cell, also one in a formula."""
        text = " ".join(self.children(entry).split())
        text = re.sub(
            r"\$[^$]+\$", lambda tex: tex[0].replace(r"\|", r"\Vert ").replace("|", r"\vert "), text
        )
        return text.replace("|", r"\|")

    def raw(self, node) -> str:
        if "html" not in node.get("format", ""):
            return ""
        parts = SVG.split(node.astext())
        parts[1::2] = map(self.drawing, parts[1::2])
        # A blank line or an indented one would end the HTML.
        lines = (map(str.strip, self.plain(part).splitlines()) for part in parts[::2])
        parts[::2] = ("\n".join(filter(None, each)) for each in lines)
        return "\n\n".join(filter(None, parts))

    def drawing(self, svg) -> str:
        """A drawing within the page as a picture: black on white, without its links."""
        said = re.search(r"<title[^>]*>(.*?)</title>", svg)
        paper = r'<svg xmlns="http://www.w3.org/2000/svg"\1><rect width="100%" height="100%" fill="white"/>'
        whole = re.sub(r"^<svg([^>]*)>", paper, svg).replace("inherit", "sans-serif")
        packed = base64.b64encode(whole.encode()).decode()
        # As HTML: JupyterLab's extension for MyST shows no drawings of Markdown, neither attached nor in the address.
        return f'<img alt="{said[1] if said else ""}" src="data:image/svg+xml;base64,{packed}">'

    def plain(self, text) -> str:
        """HTML of the book in a notebook: no style, no tooltips, formulas between dollars, links that lead on."""
        for hidden in HIDDEN:
            text = hidden.sub("", text)
        text = re.sub(
            r"<(?!a\b|/)(\w+)[^>]*>",
            r"<\1>",
            re.sub(r"</?(?:span|div|figure|figcaption)\b[^>]*>", "", text),
        )
        text = re.sub(r"\\\((.+?)\\\)", formula, text, flags=re.DOTALL)
        return re.sub(r"<a\b([^>]*)>(.*?)</a>|</?a\b[^>]*>", self.anchor, text, flags=re.DOTALL)

    def anchor(self, found) -> str:
        """An HTML link as one with a whole address, or its text alone; places that links lead to are left out."""
        href, text = re.search(r'\bhref="([^"]*)"', found[1] or ""), found[2] or ""
        uri = self.whole(html.unescape(href[1])) if href else ""
        return f'<a href="{html.escape(uri)}">{text}</a>' if uri else text

    # --- within a line

    def inline(self, node) -> str:
        """What stands in a line; line breaks of the source are spaces."""
        if isinstance(node, nodes.Text):
            return escape(node.astext().replace("\n", " "))
        if isinstance(node, nodes.math):
            return f"${' '.join(node.astext().split())}$"
        if isinstance(node, nodes.literal):
            return f"`{node.astext()}`"
        if isinstance(node, nodes.raw):
            return self.plain(node.astext()) if "html" in node["format"] else ""
        if isinstance(node, nodes.image):
            return self.image(node)
        if isinstance(node, Setting):
            return f"[{''.join(map(self.inline, node.children))}]({node['refuri']})"
        text = "".join(map(self.inline, linked(node.children)))
        if isinstance(node, nodes.emphasis | nodes.strong) and text.strip():
            mark = "*" if isinstance(node, nodes.emphasis) else "**"
            inner = text.strip()
            return text.replace(inner, mark + inner + mark)
        if isinstance(node, nodes.reference):
            uri = node.get("refuri") or f"#{node['refid']}"
            return self.link(text, uri)
        return text

    def link(self, text, uri) -> str:
        """A link, or plain text where it would lead nowhere: a notebook lies alone, and its headings are its places."""
        if uri.startswith("#") and uri[1:] in self.targets:
            return f"[{text}]({uri})"
        if found := self.whole(uri):
            return f"[{text}]({found})"
        return text if "#" in uri or "*" in text else f"*{text}*"

    def whole(self, uri) -> str:
        """The whole address of a link of this page; where the book has none the notebook of that page, or ""."""
        if urlsplit(uri).scheme:
            return uri
        if self.address:
            return urljoin(address_of(self.address, f"{self.docname}.html"), uri)
        path = urljoin(f"/{self.docname}.html", uri).lstrip("/").partition("#")[0]
        name = path.removesuffix(".html")
        return notebook_name(name) if name != self.docname and has_notebook(self.app, name) else ""


class Setting(nodes.Inline, nodes.TextElement):
    """A link that sets an explorer of its page, from its first tag to its last."""


def linked(children) -> list:
    """Parts of a line, those between the two tags of a link that sets an explorer as one."""
    found, link = [], None
    for child in children:
        tag = child.astext() if isinstance(child, nodes.raw) else ""
        if opened := SETS.match(tag):
            link = Setting(refuri=html.unescape(opened[1]))
            found.append(link)
        elif tag == "</a>" and link is not None:
            link = None
        elif link is not None:
            link += child.deepcopy()
        else:
            found.append(child)
    return found


def formula(tex) -> str:
    """A formula of HTML between dollars, where no sign is an entity, nor one that might begin a tag."""
    signs = html.unescape(tex[1]).replace("<", r"\lt ").replace(">", r"\gt ")
    return f"${signs}$"


def escape(text) -> str:
    """Text in which Markdown sees no marks."""
    return SPECIAL.sub(r"\\\1", text)


def box(body) -> str:
    """A box with a bar at its left: a quotation, as JupyterLab's extension for MyST shows no formulas within HTML."""
    lines = FORMULA.sub(lambda tex: tex[1] + " ".join(tex[2].split()), body.replace(FOLDED, ""))
    return textwrap.indent(lines, "> ", lambda line: True)


def fold(title, body) -> str:
    """A text that opens: a cell of its own that JupyterLab folds up to its first line, and others show open."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("*", "")
    return f"{FOLDED}▸ {title}\n\n{body.replace(FOLDED, '')}{FOLDED}"


def address_of(base, path) -> str:
    """The address of a file of the built book."""
    return urljoin(base.rstrip("/") + "/", path)


# --- code and its outputs -------------------------------------------------------------------------------------------


def code_cell(source):
    """A cell of code as the page shows it: folded code is folded, cells that the page leaves out are folded up."""
    tags = source.metadata.get("tags", [])
    cell = new_code_cell(
        source.source.removeprefix("# NBVAL_CHECK_OUTPUT\n"),
        outputs=[output for each in source.outputs for output in lean(each)],
    )
    # An explorer's call is mostly its title and its caption, which stand in the panel again.
    if tags or any('class="clbook-explorer"' in shown for shown in pages(source)):
        cell.metadata.jupyter = {"source_hidden": True, "outputs_hidden": "remove-cell" in tags}
    return cell


def pages(source) -> list[str]:
    """The HTML of a cell's outputs."""
    return [output.get("data", {}).get("text/html", "") for output in source.outputs]


def lean(output) -> list:
    """An output once: a picture without its HTML form, an explorer as its first picture."""
    if output.output_type not in ("display_data", "execute_result"):
        return [output]
    data = output.data
    if 'class="clbook-explorer"' in (page := data.get("text/html", "")):
        note = new_output(
            "stream", name="stdout", text="Run this cell: the picture gets its sliders.\n"
        )
        if not (found := PICTURE.search(page)):
            return [note]
        data = {"image/png": as_png(found["webp"]), "text/plain": html.unescape(found["alt"])}
        return [note, picture(data)]
    if "image/png" in data:
        return [picture({kind: data[kind] for kind in ("image/png", "text/plain") if kind in data})]
    return [new_output("display_data", data)]


def picture(data):
    """A picture as wide as it was drawn: it has 144 pixels an inch, of which a page has 96."""
    wide, _ = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).size
    return new_output("display_data", data, metadata={"image/png": {"width": round(wide * 2 / 3)}})


def as_png(webp: str) -> str:
    """A base64 WebP as a base64 PNG, which a notebook's output can be."""
    file = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(webp))).save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def executed(app, docname):
    """A page's notebook with the outputs of the build, and what its kernel said of itself."""
    notebook = nbformat.read(app.env.doc2path(docname), as_version=4)
    try:
        return get_cache(app.config.nb_execution_cache_path).merge_match_into_notebook(notebook)[1]
    except KeyError:
        return notebook


def first_cell(app, title):
    """The code that installs what the page needs."""
    base = app.config.html_baseurl
    needed = []
    for wheel, extra in zip(wheel_names(app), ("[book]", ""), strict=True):
        name = wheel.partition("-")[0].replace("_", "-")
        address = address_of(base, f"{FOLDER}/{wheel}")
        needed.append(f"{name}{extra} @ {address}" if base else f"./{wheel}{extra}")
    template = jinja2.Template((HERE / "install.py.jinja").read_text(), trim_blocks=True)
    return new_code_cell(
        template.render(
            book=app.config.html_title,
            title=title,
            wheels=wheel_names(app),
            version=app.clbook_wheel_version,
            folder=FOLDER,
            hosted=bool(base),
            requirements=" ".join(f'"{each}"' for each in needed),
        )
    )


# --- the packages ----------------------------------------------------------------------------------------------------


def wheel_version(app) -> str:
    """The version of the wheels: the package's own, and what both are made of.

    pip leaves a package alone whose version is there already; a wheel of another state has to have another one.
    """
    root = Path(app.srcdir)
    digest = hashlib.sha256()
    paths = [path for package in PACKAGES for path in package_files(root, package)]
    for path in paths:
        name = path.relative_to(root).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{app.config.clbook_environment['clbook']}+s{digest.hexdigest()[:12]}"


def wheel_names(app) -> list[str]:
    """The names of the wheels of both packages that the book is built with."""
    return [f"{name}-{app.clbook_wheel_version}-py3-none-any.whl" for name in PACKAGES]


def package_files(root, package) -> list[Path]:
    """The files that the wheel of a package is made of."""
    found = [
        path
        for name in PACKAGES[package][1]
        for path in ([root / name] if (root / name).is_file() else sorted((root / name).rglob("*")))
    ]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def make_wheel(app):
    """Put the wheels among the notebooks; made in copies, so that the checkout stays clean, and only after a change."""
    root, folder = Path(app.srcdir), Path(app.outdir) / FOLDER
    if not offered(app):
        return
    app.clbook_wheel_version = version = wheel_version(app)
    kept = Path(app.outdir).parent / ".wheels" / version
    if not all((kept / name).is_file() for name in wheel_names(app)):
        shutil.rmtree(kept.parent, ignore_errors=True)
        kept.mkdir(parents=True)
        for package in PACKAGES:
            build_wheel(root, package, version, kept)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    for name in wheel_names(app):
        shutil.copyfile(kept / name, folder / name)


def build_wheel(root, package, version, target):
    """Build the wheel of a package, with that version, into the folder `target`."""
    project = PACKAGES[package][0]
    with tempfile.TemporaryDirectory() as copy:
        for path in package_files(root, package):
            copied = Path(copy) / path.relative_to(root)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
        module = Path(copy) / project / package / "__init__.py"
        line = re.compile(r'^__version__ = ".*"$', re.MULTILINE)
        text = module.read_text(encoding="utf-8")
        module.write_text(line.sub(f'__version__ = "{version}"', text), encoding="utf-8")
        build = f"from setuptools import build_meta; build_meta.build_wheel({str(target)!r})"
        command = [sys.executable, "-c", build]
        subprocess.run(command, cwd=Path(copy) / project, check=True, capture_output=True)


def offered(app) -> bool:
    """Whether this build offers notebooks: it makes pages, of a book that has its package beside it."""
    return app.builder.name == "html" and (Path(app.srcdir) / "pyproject.toml").is_file()


# --- hooks ----------------------------------------------------------------------------------------------------------


def notebook_name(docname) -> str:
    """The file of a page's notebook: all lie in one folder, where the wheel is."""
    return docname.removeprefix("book/").replace("/", "-") + ".ipynb"


def has_notebook(app, docname) -> bool:
    """Whether a page is offered as a notebook: it has code."""
    return (
        offered(app)
        and docname in app.env.found_docs
        and Path(app.env.doc2path(docname)).suffix == ".ipynb"
    )


def write_notebook(app, doctree, docname):
    """Write the notebook of a resolved page, and name it at the page's end."""
    if not has_notebook(app, docname):
        return
    title = app.env.titles[docname].astext()
    made = executed(app, docname)
    page = Page(app, docname, doctree, made.cells)
    # As JupyterLab would write it when it has a kernel: else each notebook counts as changed once it is opened. Under
    # another version of Python it still does.
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    language = made.metadata.get("language_info", {"name": "python"})
    notebook = new_notebook(
        cells=[first_cell(app, title), *page.cells],
        metadata={"kernelspec": kernel, "language_info": language},
    )
    for k, cell in enumerate(notebook.cells):
        cell.id = f"cell-{k}"
    nbformat.validate(notebook)
    path = Path(app.outdir) / FOLDER / notebook_name(docname)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    up = posixpath.relpath(FOLDER, posixpath.dirname(docname) or ".")
    said = zip(wheel_names(app), ("the package", "what the book adds to it"), strict=True)
    packages = " and ".join(f'<a href="{up}/{name}" download>{what}</a>' for name, what in said)
    line = (
        f'<p class="clbook-computed">To run and change: <a href="{up}/{notebook_name(docname)}" download>this page '
        f"as a notebook</a>, with a first cell that installs {packages}"
        + ("" if app.config.html_baseurl else "; keep the three in one folder")
        + ".</p>"
    )
    doctree.append(nodes.raw("", line, format="html"))


def add_buttons(app, pagename, templatename, context, doctree):
    """Point the theme's download button at the notebook; add Colab where book and repository have addresses."""
    if not has_notebook(app, pagename):
        return
    here = posixpath.relpath(
        f"{FOLDER}/{notebook_name(pagename)}", posixpath.dirname(pagename) or "."
    )
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button["label"] == "download-source-button":
                button.update(
                    url=here, tooltip="Download this page as a notebook that runs anywhere"
                )
    repository = urlsplit(app.config.html_theme_options.get("repository_url") or "")
    if repository.netloc == "github.com" and app.config.html_baseurl:
        context["header_buttons"].append(
            {
                "type": "link",
                "text": "Colab",
                "icon": "fas fa-rocket",
                "label": "colab-button",
                "tooltip": "Open this page's notebook in Colab",
                "url": f"https://colab.research.google.com/github{repository.path.rstrip('/')}/blob/{PUBLISHED}/{FOLDER}/"
                f"{notebook_name(pagename)}",
            }
        )


def setup(app):
    """Register the hooks: after all others, so that a page is complete when its notebook is written."""
    app.add_config_value(
        "comments_config", {}, "", dict
    )  # jupyter-book sets it, also where nothing reads it
    app.connect("builder-inited", make_wheel)
    app.connect("doctree-resolved", write_notebook, priority=900)
    app.connect("html-page-context", add_buttons, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
