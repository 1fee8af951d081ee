"""The front page: its few lines of SimCLR do what they say."""

import ast
import pathlib

import nbformat
import pytest
import torch

from clbook import losses

BOOK = pathlib.Path(__file__).parents[2] / "book"
NOTEBOOK = nbformat.read(BOOK / "intro.ipynb", as_version=4)


@pytest.fixture(scope="module")
def page():
    """What the page's imports, data and functions define, without its runs, tables and explorer."""
    keep = (ast.Import, ast.ImportFrom, ast.FunctionDef)
    body = []
    for cell in NOTEBOOK.cells:
        nodes = ast.parse(cell.source).body if cell.cell_type == "code" else []
        whole = cell.id in ("intro-digits", "intro-readout")
        body += [node for node in nodes if whole or isinstance(node, keep)]
    names = {}
    exec(compile(ast.Module(body, []), str(BOOK / "intro.ipynb"), "exec"), names)
    return names


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("tau", [0.01, 0.5, 10.0])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 8), (64, 32)])
def test_the_loss_on_the_page_is_nt_xent(page, n, d, tau):
    generator = torch.Generator().manual_seed(n)
    z = torch.randn(2, n, d, generator=generator, dtype=torch.float64, requires_grad=True)
    values = [loss(*z, tau) for loss in (page["nt_xent"], losses.nt_xent)]
    torch.testing.assert_close(*values, rtol=1e-12, atol=1e-12)
    slopes = [torch.autograd.grad(value, z)[0] for value in values]
    torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-12)


def test_shuffling_the_places_leaves_the_loss(page):
    generator = torch.Generator().manual_seed(0)
    z1, z2 = torch.randn(2, 50, 8, generator=generator, dtype=torch.float64)
    places = torch.randperm(50, generator=generator)
    before, after = page["nt_xent"](z1, z2, 0.5), page["nt_xent"](z1[places], z2[places], 0.5)
    torch.testing.assert_close(before, after, rtol=1e-12, atol=0)
    parted = page["nt_xent"](z1, z2[places], 0.5)
    assert abs(before - parted) > 0.01, "parting the pairs does change it"


@pytest.mark.parametrize("seed", [3, 4])
def test_training_makes_the_digits_readable(page, seed):
    """On seeds that the page does not show: pixels beat random weights, training beats both, by at least .03."""
    readout, pictures = page["readout"], page["pictures"]
    untrained, _ = page["simclr"](seed, steps=0)
    encoder, _ = page["simclr"](seed)
    for model, count in ((page["nearest"], 1), (page["linear"], 5)):
        seen = (pictures, untrained(pictures), encoder(pictures))
        pixels, before, after = (readout(z, model, count) for z in seen)
        assert before < pixels < after - 0.03
