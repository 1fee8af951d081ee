"""A sentence quotes a claim by its id: what was measured where there is such a claim, else a warning and the id."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONF = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "book/_ext")!r}]
from clbook_ledger import Quote, QuoteRole, quote
extensions = ["myst_parser"]
project = "Toy"
ROW = {{"id": "ls-one", "row": "index", "measured": "2 of 3 runs", "verdict": "holds"}}

def setup(app):
    app.clbook_rows = [ROW]
    app.add_node(Quote)
    app.add_role("claim", QuoteRole())
    app.connect("doctree-resolved", quote)
"""
PAGE = "# A page\n\nFound in {claim}`ls-one`, not in {claim}`ls-none`, and no more.\n"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """The page built as CI builds the book: a warning makes it fail, but all pages are written."""
    folder = tmp_path_factory.mktemp("quote")
    (folder / "conf.py").write_text(CONF)
    (folder / "index.md").write_text(PAGE)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(folder)]
    done = subprocess.run([*command, str(folder / "out")], capture_output=True, text=True)
    return done, (folder / "out/index.html").read_text()


def test_a_claim_is_quoted_with_its_verdict(build):
    _, page = build
    assert '2 of 3 runs (<a href="#claim-ls-one">holds</a>)' in page


def test_a_claim_that_there_is_not_is_one_warning(build):
    done, page = build
    (line,) = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert "no claim 'ls-none'" in line and "index" in line
    assert "unknown node type" not in done.stderr and done.returncode == 1
    assert "not in ls-none, and no more." in page
