"""What a reader takes away, and what is published: a page as a notebook of plain Markdown that installs what it needs.

The toy of CONTRIBUTING.md is followed here to the letter: its files are written beside a copy of the package, its
chapter is built as a book of one page, and that page's notebook is looked at, and run. Where the book has been built,
all of its notebooks are looked at as well; `.ci/download` runs one of them in a new environment.
"""

import base64
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types
import urllib.parse
import zipfile
from xml.etree import ElementTree

import nbformat
import pytest
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "book/_ext"))
import clbook_download  # noqa: E402
import clbook_publish  # noqa: E402

BUILT = ROOT / "_build/html"
NOTEBOOKS = sorted((BUILT / "_notebooks").glob("*.ipynb"))
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
CAPTION = "The points at the end."
# MyST that a front end without it would show as it is, and HTML that only the book's style sheet makes readable.
RAW = re.compile(
    r"\{[\w:-]+\}`|^`{3,}\{|^:{3,}|^\([\w-]+\)=$|<span|<style|mathjax|\\\(|\[\]\(|\$[^$\n]*&[gl]t;[^$\n]*\$",
    re.MULTILINE,
)


def files():
    """{path: text} of the files that CONTRIBUTING.md writes out, and of the one that "Trainings of your own" does."""
    named = r"^`((?:clbook|book/clbook_book)/[\w/.]+)`[^\n]*:\n\n```\w+\n(.*?)^```$"
    found = {each[1]: each[2] for each in re.finditer(named, GUIDE, re.DOTALL | re.MULTILINE)}
    page = (ROOT / "book/api/training.md").read_text()
    own = re.search(r"^`pull.py`:\n\n```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return {"clbook/experiments/pull/experiment.py": own[1], **found}


def chapter():
    """The cells of the toy chapter."""
    text = GUIDE[GUIDE.index("The toy's chapter") : GUIDE.index("## Records")]
    cells, made = [], {"markdown": new_markdown_cell, "python": new_code_cell}
    block = r"^(`{3,})(markdown|python)\n(.*?)^\1$"
    for found in re.finditer(block, text, re.DOTALL | re.MULTILINE):
        cells.append(made[found[2]](found[3].strip()))
    figure = next(cell for cell in cells if cell.source.startswith("pulled ="))
    figure.metadata.mystnb = {"figure": {"name": "fig-pull", "caption": CAPTION}}
    return cells


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A copy of the package and of the book's configuration, with the toy as its only page; built."""
    folder = tmp_path_factory.mktemp("toy")
    for name in ("clbook", "book/clbook_book", "book/_ext", "book/_static", ".ci"):
        shutil.copytree(ROOT / name, folder / name)
    for name in (
        "pyproject.toml", "book/pyproject.toml", "LICENSE", "requirements.txt", "MANIFEST.in",
        "CITATION.cff", "CHANGELOG.md", "book/references.bib",
    ):  # fmt: skip
        shutil.copy(ROOT / name, folder / name)
    for name, text in files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    # The ledger asks for all papers' claims.
    lines = (ROOT / "_config.yml").read_text().splitlines(keepends=True)
    kept = "".join(line for line in lines if "clbook_ledger" not in line)
    (folder / "_config.yml").write_text(kept)
    contents = "format: jb-book\nroot: book/pull\nchapters: [{file: book/bibliography}]\n"
    (folder / "_toc.yml").write_text(contents)
    (folder / "book/bibliography.md").write_text("# Bibliography\n\n```{bibliography}\n```\n")
    nbformat.write(new_notebook(cells=chapter(), metadata=KERNEL), folder / "book/pull.ipynb")
    build(folder)
    html = folder / "_build/html"
    return types.SimpleNamespace(
        folder=folder,
        page=(html / "book/pull.html").read_text(),
        offered=html / "_notebooks",
        notebook=nbformat.read(html / "_notebooks/pull.ipynb", as_version=4),
    )


def run(command, folder, package=None):
    """What a command has done in a folder that holds the package, or with the package of another."""
    place = package or folder
    env = {"PYTHONPATH": f"{place}:{place}/book", "CLBOOK_CACHE": str(place / "cache")}
    env = os.environ | env
    return subprocess.run(command, cwd=folder, env=env, text=True, capture_output=True, check=False)


def build(folder):
    book = pathlib.Path(sys.executable).with_name("jupyter-book")
    built = run([book, "build", ".", "-W", "-n", "--keep-going"], folder)
    assert built.returncode == 0, built.stdout + built.stderr


def texts(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def wheels(folder):
    found = sorted(folder.glob("*.whl"))
    assert [path.name.partition("-")[0] for path in found] == ["clbook", "clbook_book"]
    return found


PIP = [sys.executable, "-m", "pip"]
INSTALL = ["install", "--quiet", "--no-deps", "--no-index"]


def version_of(toy):
    """The version of the toy's package."""
    return re.search(r'__version__ = "(.*)"', (toy.folder / "clbook/__init__.py").read_text())[1]


def test_the_claim_of_the_guide_is_judged(toy):
    """Its three passages, each put into the file that the guide names."""
    text = GUIDE[GUIDE.index("## Judge a claim") : GUIDE.index("## Add a chapter")]
    stated, pulled, measure = re.findall(r"^```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    paper = toy.folder / "book/clbook_book/audit/ls"
    items = (paper / "items.yaml").read_text()
    first = items.index("  claims:\n") + len("  claims:\n")
    (paper / "items.yaml").write_text(items[:first] + stated + items[first:])
    with open(paper / "runs.py", "a") as file:
        file.write(f"\n\nfrom clbook.experiments import pull\n\n\n{pulled}")
    with open(paper / "measures.py", "a") as file:
        file.write(f"\n\n{measure}")
    judge = [sys.executable, "-m", "clbook_book.audit", "ls", "--claim", "ls-pull-alone"]
    ran = run(judge, toy.folder)
    assert re.match(r"holds +ls-pull-alone  \(not in the list\)\n", ran.stdout), ran.stderr
    assert "of the spread is left" in ran.stdout


def test_the_experiment_of_the_guide_keeps_what_every_experiment_promises(toy):
    """Its line for tests/registry.py, and the contract's own tests on it."""
    line = re.search(r'^"pull": Case\(.*\),$', GUIDE, re.MULTILINE)[0]
    code = f"""
import sys; sys.path[:0] = [{str(ROOT / "tests")!r}]
import registry
from clbook.experiments import pull
registry.CASES.clear(); registry.CASES.update(eval("{{" + {line!r} + "}}", vars(registry) | dict(pull=pull)))
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", {str(toy.folder)!r},
                      {str(ROOT / "tests/experiments/test_contract.py")!r}]))
"""
    ran = run([sys.executable, "-c", code], toy.folder)
    assert ran.returncode == 0 and "passed" in ran.stdout, ran.stdout


def test_references_are_plain_text(toy):
    text = texts(toy.notebook)
    assert not RAW.search(text)
    for words in (
        "[Chen *et al.*, 2020]", r"\tag{1}", "How many steps does (1) take",
        "[A pull alone](#pull-see) and Fig. 1", f"**Fig. 1.** {CAPTION}",
        "**Proposition 1 (The spread).** The spread after $t$ steps", "Proof. By (1) the mean",
        "**Exercise 1 (Too large a step (warm-up)).** What happens in Proposition 1 at lr = 2?",
        '<a id="pull-see"></a>',
        r"| 0.1 | $\lvert \log 2 / \log 0.9 \rvert = 6.6$ |",
    ):  # fmt: skip
        assert words in text
    # JupyterLab's extension for MyST shows formulas within HTML as they are written.
    assert not re.search(r"<(div|details)", text)


def test_a_drawing_of_the_page_is_a_picture_in_the_text():
    svg = '<svg viewBox="0 0 2 1"><title>Bar</title><path d="M0 0h2"/></svg>'
    drawn = f"<figure>\n{svg}\n<figcaption>One: \\(a &lt; b\\).</figcaption></figure>"
    page = clbook_download.Page.__new__(clbook_download.Page)
    text = page.raw(nodes.raw("", drawn, format="html"))
    kept = re.fullmatch('<img alt="Bar" src="data:image/svg.xml;base64,(.*)">\n\n(.*)', text)
    assert len(ElementTree.fromstring(base64.b64decode(kept[1]))) == 3
    assert kept[2] == r"One: $a \lt  b$."


def test_a_solution_is_a_cell_that_is_folded_up(toy):
    (folded,) = [cell for cell in toy.notebook.cells if cell.source.startswith("▸ ")]
    assert folded.source.startswith("▸ Solution to Exercise 1 (Too large a step (warm-up))\n\n")
    assert folded.metadata.jupyter.source_hidden


def test_code_is_the_page_s_own_with_the_outputs_of_the_build(toy):
    first, *code = [cell for cell in toy.notebook.cells if cell.cell_type == "code"]
    assert toy.notebook.cells[0] == first
    own = [cell.source for cell in chapter() if cell.cell_type == "code"]
    assert [cell.source for cell in code] == own
    shown = [{kind for output in cell.outputs for kind in output.get("data", {})} for cell in code]
    assert shown == [{"image/png", "text/plain"}] * 2
    assert all("clbook-explorer" not in json.dumps(cell) for cell in code)
    assert [cell.metadata.get("jupyter", {}).get("source_hidden") for cell in code] == [True, None]
    assert "Run this cell: the picture gets its sliders." in code[0].outputs[0].text


def test_the_page_offers_its_notebook_and_the_package(toy):
    first, second = (path.name for path in wheels(toy.offered))
    assert toy.page.count('href="../_notebooks/pull.ipynb"') == 2
    assert all(f'href="../_notebooks/{name}"' in toy.page for name in (first, second))
    assert f'%pip install --quiet "./{first}[book]" "./{second}"' in toy.notebook.cells[0].source
    assert "colab" not in toy.page.lower()


HERE = {"a checkout": (True, "0.1"), "this version": (False, None), "another": (False, "0.1")}


@pytest.mark.parametrize("here", HERE)
def test_the_first_cell_installs_only_what_is_missing(toy, monkeypatch, here):
    editable, version = HERE[here]
    url = '{"dir_info": {"editable": true}}' if editable else None
    version = version or wheels(toy.offered)[0].name.split("-")[1]
    found = types.SimpleNamespace(version=version, read_text=lambda file: url)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: found)
    ran = []
    code = toy.notebook.cells[0].source
    assert code.count("    %pip install ") == 1
    exec(re.sub(r"%pip .*", "ran.append(1)", code), {"ran": ran})
    assert bool(ran) is (here == "another")


def test_the_notebook_runs_with_the_package_from_the_wheel_alone(toy, tmp_path):
    """All but the first cell; `.ci/download` runs that too, in a new environment."""
    command = [*PIP, *INSTALL, "--target", tmp_path / "site", *wheels(toy.offered)]
    subprocess.run(command, check=True)
    first, *cells = toy.notebook.cells
    code = "\n\n".join(cell.source for cell in cells if cell.cell_type == "code")
    code += "\nimport clbook\nprint(clbook.__file__)\nprint(pulled[0].spread[-1])\n"
    (tmp_path / "run.py").write_text(code)
    ran = run([sys.executable, "run.py"], tmp_path, package=tmp_path / "site")
    assert ran.returncode == 0, ran.stderr
    place, spread = ran.stdout.splitlines()[-2:]
    assert pathlib.Path(place).is_relative_to(tmp_path) and float(spread) < 0.01


def test_a_wheel_of_another_state_is_installed_over_an_older_one(toy, tmp_path):
    """pip leaves alone what has the version that is there: two states of the package have two versions."""
    place, offered = tmp_path / "venv", tmp_path / "html/_notebooks"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    shutil.copytree(toy.offered, offered)
    losses = toy.folder / "clbook/losses.py"
    before = losses.read_text()
    losses.write_text(before + "\nSTATE = 2\n")
    # What a build begins with; its pages are not needed.
    builder = types.SimpleNamespace(name="html")
    config = types.SimpleNamespace(clbook_environment={"clbook": version_of(toy)})
    app = types.SimpleNamespace(
        srcdir=toy.folder, outdir=offered.parent, builder=builder, config=config
    )
    clbook_download.make_wheel(app)
    losses.write_text(before)
    old, new = wheels(toy.offered)[0], wheels(offered)[0]
    assert new.name != old.name
    for each in (old, new):
        subprocess.run([*PIP, "--python", place / "bin/python", *INSTALL, each], check=True)
    (installed,) = place.glob("lib/python*/site-packages/clbook/losses.py")
    assert "STATE = 2" in installed.read_text()


def test_without_an_address_nothing_holds_one(toy):
    """What names a place does so of others alone: the papers that the page cites, and what writes the format down."""
    html = toy.folder / "_build/html"
    for path in sorted(html.rglob("*.html")):
        if "_static" not in path.parts:
            page = path.read_text()
            assert not re.search(r'rel="canonical"|"og:|"twitter:', page), path
            hosts = {urllib.parse.urlsplit(found).netloc for found in ADDRESS.findall(page)}
            assert hosts <= {"arxiv.org", "doi.org", "www.w3.org", "creativecommons.org"}, path
    assert not (html / "sitemap.xml").exists() and not (html / "404.html").exists()
    assert (html / ".nojekyll").exists()
    commit(toy.folder)
    crawled = run([sys.executable, ".ci/crawl"], toy.folder)
    assert crawled.returncode == 0, crawled.stdout + crawled.stderr
    (html / "404.html").write_text("<p>")
    assert "404.html is there" in run([sys.executable, ".ci/crawl"], toy.folder).stderr
    (html / "404.html").unlink()
    assert '<meta name="description" content="What does the pull do alone?"' in toy.page
    assert 'rel="license">CC BY 4.0</a>' in toy.page
    assert 'href="../_static/icon.svg"' in toy.page


def commit(folder):
    """Make the folder a repository whose only commit holds its sources: `.ci/crawl` compares with that."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    (folder / ".gitignore").write_text("_build\ncache\n")
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "a"]):
        subprocess.run([*git, *command], cwd=folder, check=True)


ADDRESS = re.compile(r"https?://[^\s\"'<>\\]+")
CODE, BOOK = "https://github.com/some/one", "https://some.example/book"


@pytest.fixture(scope="module")
def hosted(toy):
    """The toy with addresses, as `.ci/address` writes them; built again. The last to use `toy`."""
    for _ in range(2):
        subprocess.run([toy.folder / ".ci/address", CODE, BOOK], check=True)
    sources = toy.folder / "_build/html/_modules/index.html"
    sources.parent.mkdir(exist_ok=True)
    sources.write_text('<link rel="canonical" href="https://older.example/_modules/index.html" />')
    build(toy.folder)
    assert not sources.exists()  # else it would go on naming its address
    return toy.folder / "_build/html"


def test_with_addresses_links_are_whole_and_there_is_a_colab_button(toy, hosted):
    page = (hosted / "book/pull.html").read_text()
    colab = "https://colab.research.google.com/github/some/one/blob/gh-pages/_notebooks/pull.ipynb"
    assert colab in page
    notebook = nbformat.read(toy.offered / "pull.ipynb", as_version=4)
    first, second = (f"{BOOK}/_notebooks/{path.name}" for path in wheels(toy.offered))
    install = f'%pip install --quiet "clbook[book] @ {first}" "clbook-book @ {second}"'
    assert install in notebook.cells[0].source
    assert f"]({BOOK}/book/bibliography.html#" in texts(notebook)


def test_with_an_address_a_page_says_where_it_is_and_what_it_shows(hosted):
    page = (hosted / "book/pull.html").read_text()
    assert f'<link rel="canonical" href="{BOOK}/book/pull.html" />' in page
    told = dict(re.findall(r'<meta property="og:(\w+)" content="(.*?)" />', page))
    assert told["url"] == f"{BOOK}/book/pull.html" and told["title"] == "What if nothing pushes?"
    assert told["description"] == "What does the pull do alone?"
    with Image.open(hosted / told["image"].removeprefix(f"{BOOK}/")) as image:
        assert image.info["Copyright"].startswith('"What if nothing pushes?", in Why contrastive')
        assert image.info["Description"].startswith("60 points after")
        image.load()
    shown = [told["image"], *re.findall("<loc>(.*?)</loc>", (hosted / "sitemap.xml").read_text())]
    assert len(shown) == 3
    assert all((hosted / place.removeprefix(f"{BOOK}/")).is_file() for place in shown)
    assert not (hosted / "CNAME").exists()  # the book lies below a domain of others
    assert clbook_publish.own_domain("https://owner.github.io/") == ""
    assert clbook_publish.own_domain("https://book.example/") == "book.example"
    links = re.findall(r'href="(.*?)"', (hosted / "404.html").read_text())
    assert len(links) == 3
    assert all((hosted / link.removeprefix(f"{BOOK}/")).is_file() for link in links)


def test_with_addresses_all_that_the_pages_name_is_there(toy, hosted):
    """Asked of a plain HTTP server below the path of the book's address; what is taken away is missed."""
    crawled = run([sys.executable, ".ci/crawl"], toy.folder)
    assert crawled.returncode == 0, crawled.stdout + crawled.stderr
    assert "1 addresses of the repository and of Colab compared with files" in crawled.stdout
    page, notebook = hosted / "book/pull.html", toy.offered / "pull.ipynb"
    text, moved = page.read_text(), notebook.with_suffix(".moved")
    wrong = text.replace("_notebooks/pull.ipynb", "_notebooks/pul.ipynb")
    page.write_text(wrong + "<a href='#nowhere'>")
    notebook.rename(moved)
    missed = run([sys.executable, ".ci/crawl"], toy.folder)
    page.write_text(text)
    moved.rename(notebook)
    assert missed.returncode == 1
    missing = "_notebooks/pul.ipynb: HTTP Error 404", "#nowhere, which has no such part"
    assert all(words in missed.stderr for words in (*missing, "on gh-pages"))


def test_a_release_is_packed(toy, hosted):
    version = version_of(toy)
    command = [sys.executable, ".ci/release", f"v{version}"]
    log = toy.folder / "CHANGELOG.md"
    text = re.sub(rf"^## {version}.*$", "## not dated", log.read_text(), flags=re.MULTILINE)
    log.write_text(text)
    assert "has no section" in run(command, toy.folder).stderr
    log.write_text(text.replace("## not dated", f"## {version}, 2026-12-01"))
    assert "the tag is v7.0.0" in run([*command[:2], "v7.0.0"], toy.folder).stderr
    for _ in range(2):
        done = run(command, toy.folder)
        assert done.returncode == 0, done.stderr
        # Gone from here, it may not be in what is packed next.
        (toy.folder / "clbook/latents.py").unlink(missing_ok=True)
    assert done.stdout.endswith(f"address={BOOK}/\n")
    out = toy.folder / "_build/release"
    packed = zipfile.ZipFile(out / f"book/clbook-book-{version}.zip").namelist()
    assert f"clbook-book-{version}/book/pull.html" in packed
    packed = zipfile.ZipFile(out / f"book/clbook-notebooks-{version}.zip").namelist()
    assert f"clbook-notebooks-{version}/pull.ipynb" in packed
    made = sorted(path.name for path in (out / "dist").iterdir())
    ends = [f"-{version}-py3-none-any.whl", f"-{version}.tar.gz"]
    assert made == [f"{name}{end}" for name in ("clbook", "clbook_book") for end in ends]
    with zipfile.ZipFile(out / "dist" / made[0]) as opened:
        metadata = opened.read(f"clbook-{version}.dist-info/METADATA").decode()
        assert "clbook/latents.py" not in opened.namelist()
    assert f"Project-URL: Documentation, {BOOK}/" in metadata
    assert f"Project-URL: Source, {CODE}" in metadata
    assert not re.search(r"\]\((?!https://)", metadata), "a relative link leads nowhere on PyPI"
    assert not (toy.folder / "build").exists()
    assert run([".ci/sums"], toy.folder).stdout == "sums: of 6 files\n"
    check = ["sha256sum", "--ignore-missing", "--check", "../book/SHA256SUMS"]
    assert run(check, out / "dist").stdout == "".join(f"{name}: OK\n" for name in made)


def test_pages_are_put_on_their_branch(toy, hosted, tmp_path):
    subprocess.run(["git", "init", "--quiet", toy.folder], check=True)
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "remote"], check=True)
    token = "cmVoZWFyc2FsOnNlY3JldA=="
    command = [sys.executable, toy.folder / ".ci/git-server", tmp_path, token]
    server = subprocess.Popen(command, text=True, stdout=subprocess.PIPE)
    try:
        address = server.stdout.readline().strip()
        push = ["env", "GIT_TERMINAL_PROMPT=0", ".ci/pages", f"{address}/remote"]
        assert "could not read Username" in run(push, toy.folder).stderr
        # As the action `checkout` leaves its login: beside the repository, in a file that its configuration includes.
        login = [f"http.{address}/.extraheader", f"AUTHORIZATION: basic {token}"]
        subprocess.run(["git", "config", "--file", tmp_path / "login", *login], check=True)
        include = [f"includeIf.gitdir:{toy.folder}/.git.path", tmp_path / "login"]
        subprocess.run(["git", "-C", toy.folder, "config", *include], check=True)
        for _ in range(2):
            pushed = run(push, toy.folder)
            assert pushed.returncode == 0, pushed.stderr
    finally:
        server.terminate()
        server.communicate()
    git = ["git", "-C", str(tmp_path / "remote")]
    listed = run([*git, "ls-tree", "-r", "--name-only", "gh-pages"], tmp_path).stdout.split("\n")
    assert {".nojekyll", "404.html", "_notebooks/pull.ipynb", "book/pull.html"} <= set(listed)
    assert run([*git, "rev-list", "--count", "gh-pages"], tmp_path).stdout == "1\n"


@pytest.mark.parametrize(
    "path", NOTEBOOKS or [None], ids=lambda path: path.stem if path else "no book"
)
def test_every_notebook_of_the_built_book_reads_well(path):
    if path is None:
        problem = "there is no built book with notebooks: run `jupyter-book build .` first"
        pytest.fail(problem) if os.environ.get("CI") else pytest.skip(problem)
    notebook, source = nbformat.read(path, as_version=4), source_of(path)
    nbformat.validate(notebook)
    assert RAW.findall(texts(notebook)) == []
    assert all(found.name in notebook.cells[0].source for found in wheels(path.parent))
    prose = re.sub(r"^```.*?^```$", "", texts(notebook), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)]*)\)", prose)
    inside = [link for link in links if link[0] != "#" and not urllib.parse.urlsplit(link).scheme]
    assert [link for link in inside if not (path.parent / link).is_file()] == []
    code, own = ([c for c in n.cells if c.cell_type == "code"] for n in (notebook, source))
    assert len(code) == len(own) + 1
    assert path.stat().st_size < 3_000_000


def source_of(path):
    """The book's own notebook of a page."""
    name = path.name.replace("papers-", "papers/")
    return nbformat.read(ROOT / "book" / name, as_version=4)
