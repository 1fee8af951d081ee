"""What all tests share."""

import gc
import os
import pathlib
import sys

import pytest
from browser import NoBrowser, browser

sys.path.append(str(pathlib.Path(__file__).parent.parent / "book/_ext"))
from clbook_cores import share  # noqa: E402

if "PYTEST_XDIST_WORKER_COUNT" in os.environ:  # in each process, before torch is imported
    share(int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
    gc.disable()  # until all modules are loaded: to look through what they leave behind takes a fifth of the time


@pytest.hookimpl(optionalhook=True)  # pytest-xdist need not be there
def pytest_xdist_auto_num_workers(config):
    """One process more than there are cores, since some wait for a browser or a kernel; four at most."""
    return (os.cpu_count() or 1) + 1


LONG = ("test_book.py", "test_trace.py")  # files that take minutes


def pytest_collection_modifyitems(items):
    """The longest files first: one process runs all of a file, and at the end the others would wait for it."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


def pytest_collection_finish():
    gc.enable()


@pytest.fixture(scope="module")
def tabs():
    """Opens tabs of one browser; skips where there is none (in CI that is an error)."""
    try:
        with browser() as opened:
            yield opened
    except NoBrowser as missing:
        pytest.skip(f"{missing}: install one (Debian: apt install chromium) to try the pages")
