"""What nbval, which runs them, does not look at: how the notebooks are stored."""

import pathlib

import nbformat
import pytest
from ipykernel.ipkernel import IPythonKernel

ROOT = pathlib.Path(__file__).parents[2]
KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
NOTEBOOKS = sorted((ROOT / "book").rglob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_is_a_page_of_the_book():
    pages = (ROOT / "_toc.yml").read_text()
    names = [path.relative_to(ROOT).with_suffix("").as_posix() for path in NOTEBOOKS]
    assert names and [name for name in names if f"{name}\n" not in pages] == []


def test_checked_cells_run_and_store_the_output_they_are_checked_against(notebook):
    """nbval passes a checked cell that has no stored output, and fails one whose execution count is null."""
    for cell in code_cells(notebook):
        tags = cell.metadata.get("tags", [])
        assert not {"raises-exception", "nbval-skip", "skip-execution"} & set(tags), cell.source
        assert "NBVAL_SKIP" not in cell.source and "NBVAL_RAISES_EXCEPTION" not in cell.source
        if "NBVAL_CHECK_OUTPUT" in cell.source:
            assert cell.outputs and cell.execution_count is not None, cell.source
            for output in cell.outputs:
                assert output.output_type == "stream" or "text/plain" in output.data


def test_only_checked_cells_store_outputs(notebook):
    """Figures and explorers are computed by the build: stored ones would be old, and megabytes in every commit."""
    for cell in code_cells(notebook):
        assert not cell.outputs or "NBVAL_CHECK_OUTPUT" in cell.source, cell.source
    told = IPythonKernel.language_info | {"version": notebook.metadata.language_info.version}
    assert notebook.metadata == {"kernelspec": KERNEL, "language_info": told}, "Lab adds this"


def test_notebook_is_valid_and_light(notebook, request):
    nbformat.validate(notebook)
    assert len(nbformat.writes(notebook)) < 200_000
