"""Kernels of a build: forked, and as separate from each other as started ones."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_cache.executors.utils import single_nb_execution
from nbclient.exceptions import CellTimeoutError, DeadKernelError

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "book/_ext"))
import clbook_kernels  # noqa: E402

pytestmark = pytest.mark.skipif(not clbook_kernels.FORKS, reason="kernels are forked on Linux")


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """`executed(*cells)`: what `single_nb_execution` gives of a notebook with these cells, in a folder of its own."""
    for name in ("MPLBACKEND", "OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.setenv(name, "")  # so that what stood there is put back
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLBOOK_OWN", "of the build")
    clbook_kernels.prepare(ROOT)

    def executed(*cells, timeout=60):
        notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
        kernels = {"kernel_manager_class": clbook_kernels.MANAGER}
        return single_nb_execution(notebook, str(tmp_path), timeout, False, **kernels)

    yield executed
    assert not multiprocessing.active_children()


def said(done):
    """What each cell printed."""
    return ["".join(output.get("text", "") for output in cell.outputs) for cell in done.nb.cells]


LOADED = "import sys; print({'torch', 'clbook.losses', 'clbook_book.course.why.figures'} <= set(sys.modules))"


def test_a_kernel_has_what_is_needed_and_its_own_folder_and_environment(executed, tmp_path):
    done = executed(LOADED, "import os; print(os.getcwd(), os.environ['CLBOOK_OWN'])")
    assert done.err is None and said(done) == ["True\n", f"{tmp_path} of the build\n"]


def test_a_figure_of_pyplot_is_shown_below_its_cell(executed):
    done = executed("from matplotlib import pyplot\npyplot.plot([1, 2]);")
    (shown,) = done.nb.cells[0].outputs
    assert "image/png" in shown["data"]


def test_a_kernel_starts_processes_as_this_one_would(executed):
    done = executed("import multiprocessing; print(multiprocessing.get_start_method())")
    assert said(done) == [multiprocessing.get_start_method() + "\n"]


def test_no_kernel_sees_what_another_did(executed):
    assert executed("import clbook; clbook.mark = 1").err is None
    assert said(executed("import clbook; print(hasattr(clbook, 'mark'))")) == ["False\n"]


def test_errors_dead_kernels_and_late_ones_are_told(executed):
    assert "ZeroDivisionError" in executed("1 / 0").exc_string
    with pytest.raises(DeadKernelError):
        executed("import os; os._exit(3)")
    assert isinstance(executed("while True: pass", timeout=2).err, CellTimeoutError)


WITHOUT_GPU = f"""
FIRST = {clbook_kernels.FIRST[1:]}
import pkgutil, torch

def refused(*arguments):
    raise AssertionError("a GPU was asked for")

torch.cuda.is_available = torch.cuda.device_count = refused
torch.cuda._lazy_init = refused
import clbook, clbook_book, importlib
for name in FIRST:
    importlib.import_module(name)
for package in (clbook, clbook_book):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""


def test_nothing_asks_for_a_gpu_when_it_is_imported():
    # A process that has asked cannot be forked: its children would have no GPU.
    done = subprocess.run([sys.executable, "-c", WITHOUT_GPU], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
