"""Sphinx extension of the book: pages that are never stale, and that say what it took to compute them.

The execution cache of jupyter-cache is keyed by a notebook's own cells. Left alone it would go on serving the numbers
of an older `clbook`, and would not notice that the package no longer imports. Here each state of the package gets a
cache of its own, and the change of that setting makes Sphinx read every page again.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path
from unittest import mock

import nbformat
from clbook_kernels import AT_ONCE, MANAGER, begin, prepare
from docutils import nodes
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from PIL import Image
from PIL.PngImagePlugin import putchunk
from sphinx.domains.std import StandardDomain
from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)

SOURCES = (
    "clbook/**/*.py",
    "clbook/**/*.js",
    "clbook/**/*.css",
    "clbook/**/*.html",
    "book/clbook_book/**/*.py",
    "book/clbook_book/**/*.js",
    "book/clbook_book/**/*.css",
    "book/clbook_book/**/*.html",
    "book/clbook_book/**/*.yaml",
    "book/clbook_book/**/*.nc",
    "requirements.txt",
)

# Run by the interpreter and in the folder that the notebooks run in, so that it sees the package that they will see.
PROBE = """
import importlib, json, os, pkgutil, platform
import clbook, clbook_book
for package in (clbook, clbook_book):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
import torch
cuda = torch.cuda.is_available()
cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
print(json.dumps(dict(
    packages=[os.path.dirname(os.path.realpath(each.__file__)) for each in (clbook, clbook_book)],
    clbook=clbook.__version__,
    python=platform.python_version(), torch=torch.__version__,
    device=torch.cuda.get_device_name(0) if cuda else f"the CPU ({cores} cores)")))
"""


def fingerprint(root: Path) -> str:
    """Hash of all that a notebook's numbers depend on besides its own cells.

    These are the code of both packages below `root`, as the store and the records see it, without comments and
    docstrings;
    its version and its other files, the records, the pinned requirements, the versions of Python and torch, and the
    folder of data files that the reader has chosen.
    """
    from clbook.results.fingerprint import digest

    found = hashlib.sha256()
    for text in (
        platform.python_version(),
        metadata.version("torch"),
        version(root),
        os.environ.get("CLBOOK_DATA", ""),
    ):
        found.update(f"{text}\0".encode())
    for path in sorted({path for pattern in SOURCES for path in root.glob(pattern)}):
        found.update(f"{path.relative_to(root).as_posix()}\0{digest(path)}\0".encode())
    return found.hexdigest()[:16]


def version(root: Path) -> str:
    """The version of the `clbook` below `root`: each page names it."""
    text = (root / "clbook/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return found[1] if found else ""


def probe(root: Path) -> dict:
    """Versions and device that the notebooks will run with.

    Raises:
        ExtensionError: where a module of either package does not import, or the notebooks would import another one than
            that below `root`.
    """
    run = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=root / "book",
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise ExtensionError(f"clbook does not import, so the book cannot be built:\n{run.stderr}")
    environment = json.loads(run.stdout.splitlines()[-1])
    for place, own in zip(environment["packages"], ("clbook", "book/clbook_book"), strict=True):
        if Path(place) != (root / own).resolve():
            raise ExtensionError(
                f"the notebooks would import {Path(own).name} from {place}, not from {root}: "
                "run `pip install -r requirements.txt` here first"
            )
    return environment


def choose_cache(app, config):
    """Point myst-nb at the execution cache of this state of the package, and remove the caches of other states."""
    root = Path(app.srcdir)
    caches = Path(app.outdir).parent / ".jupyter_cache"
    cache = caches / fingerprint(root)
    record = cache / "environment.json"
    prepare(root)
    if not record.exists():
        begin()
        environment = probe(root)
        shutil.rmtree(caches, ignore_errors=True)
        cache.mkdir(parents=True)
        record.write_text(json.dumps(environment))
    config.nb_execution_cache_path = str(cache)
    config.clbook_environment = json.loads(record.read_text())


def execute(app, env, docnames):
    """Execute the notebooks that are new to the execution cache, some at once, where myst-nb will look for them.

    The largest come first, so that none is left alone at the end. One that fails is left to myst-nb, which shows where.
    It is a warning all the same, since it may pass the second time: by runs that the first time has stored.
    """
    if app.config.nb_execution_mode != "cache":
        return
    cache, new = get_cache(app.config.nb_execution_cache_path), []
    pages = [path for path in map(Path, map(env.doc2path, docnames)) if path.suffix == ".ipynb"]
    for path in sorted(pages, key=lambda path: -path.stat().st_size):
        notebook = nbformat.read(path, as_version=4)
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            new.append((path, notebook))
    if not new:
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        going = {}
        for path, notebook in new:
            how = app.config.nb_execution_timeout, False
            done = pool.submit(
                single_nb_execution, notebook, str(path.parent), *how, kernel_manager_class=MANAGER
            )
            going[done] = path
        for done in as_completed(going):
            path = str(going[done])
            page = env.path2doc(path)
            error = done.exception() or done.result().err
            if error:
                logger.warning("%s failed when it was executed: %s", page, error)
                continue
            result = done.result()
            logger.info("executed %s in %.0f s", page, result.time)
            bundle = CacheBundleIn(result.nb, path, data={"execution_seconds": result.time})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def add_computed(app, doctree, docname):
    """Append to a notebook's page how long its code took, and with what."""
    run = getattr(app.env, "nb_metadata", {}).get(docname, {}).get("exec_data")
    if not run or not run["runtime"]:
        return
    seconds = run["runtime"]
    time = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} minutes"
    versions = app.config.clbook_environment
    text = (
        f"The code of this page took {time} when the book was built, on {versions['device']}, with clbook "
        f"{versions['clbook']}, torch {versions['torch']} and Python {versions['python']}."
    )
    doctree.append(nodes.paragraph(text, text, classes=["clbook-computed"]))


def describe_figures(app, doctree):
    """Give each computed figure the alt text and the size that its PNG carries (see `clbook.style.Picture`).

    And give the file its source: who saves it by the browser's menu has the citation, too.
    """
    version = app.config.clbook_environment["clbook"]
    book = f"in {app.config.html_title} (clbook {version}), CC BY 4.0"
    for node in doctree.findall(nodes.image):
        path = Path(app.srcdir) / node["uri"]
        if path.suffix != ".png" or not path.exists():
            continue
        with Image.open(path) as image:
            if "Description" not in image.info:
                continue
            node["alt"] = image.info["Description"]
            node["width"] = f"{image.width * 96 / image.info['dpi'][0]:.0f}px"
            node["classes"] += ["dark-light", "clbook-figure"]
            told = "Copyright" in image.info
        if not told:
            source = f'"{doctree.next_node(nodes.title).astext()}", {book}'
            path.write_bytes(signed(path.read_bytes(), source))


def signed(png: bytes, source: str) -> bytes:
    """A PNG file with its source inside, under the name that `Picture.save` gives it."""
    chunk = io.BytesIO()
    putchunk(chunk, b"tEXt", b"Copyright\0" + source.encode("latin-1", "replace"))
    return png[:33] + chunk.getvalue() + png[33:]  # behind the signature and the header


def name_old_records(app):
    """Say in the build's log which records the code has left behind."""
    kept = sorted(
        path.stem for path in (Path(app.srcdir) / "book/clbook_book/records").glob("*.nc")
    )
    if kept:  # imported here, and not on top: a package that does not import is reported by `probe`
        from clbook_book import records
    for name in kept:
        if records.older(name):
            logger.info(
                "record %s: %s; `python -m clbook_book.records --check %s` repeats its beginning",
                name,
                records.state(name),
                name,
            )


class References(StandardDomain):
    """Sphinx's own references; the page that those by number lead to is read once, and not for each reference."""

    def _resolve_numref_xref(self, env, *others):
        if not hasattr(self, "_page"):
            self._page = functools.cache(env.get_doctree)
        with mock.patch.object(env, "get_doctree", self._page):
            return super()._resolve_numref_xref(env, *others)


def keep_garbage(app):
    """Collect no garbage: to look through all the pages that a build holds took a third of its time."""
    gc.disable()


def leave(app, exception):
    """Nor when the process ends: what is there then stays until it has ended."""
    gc.freeze()
    gc.enable()


def setup(app):
    """Register the hooks; tell the notebooks that they run for a static page."""
    os.environ["CLBOOK_STATIC"] = "1"
    app.add_config_value("clbook_environment", {}, "env", dict)
    app.add_domain(References, override=True)
    app.connect("config-inited", choose_cache)
    app.connect("builder-inited", keep_garbage)
    app.connect("builder-inited", name_old_records)
    app.connect("env-before-read-docs", execute)
    app.connect("doctree-read", describe_figures)
    app.connect("doctree-resolved", add_computed)
    app.connect("build-finished", leave)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
