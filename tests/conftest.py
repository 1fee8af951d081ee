"""What all tests share, and which of them are run when."""

import gc
import os
import pathlib
import sys

import pytest
from browser import NoBrowser, browser, visits
from threadpoolctl import threadpool_limits

sys.path.append(str(pathlib.Path(__file__).parent.parent / "book/_ext"))
from clbook_cores import share  # noqa: E402

if "PYTEST_XDIST_WORKER_COUNT" in os.environ:  # in each process, before torch is imported
    share(int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
    gc.disable()  # until all modules are loaded: to look through what they leave behind takes a fifth of the time

# `pytest` is what one runs after a change, in no more time than a build takes. `pytest --all` runs these files,
# tests marked `long`, and the notebooks, too, as CI does. Files and folders that the command names are run whole.
ALL = {
    # each page in a browser, at several widths, with each slider moved
    "alignment_play", "book", "deck", "diagnose_inpage", "diagnose_page", "explore_live", "explore_pages",
    "explore_static", "hover", "inpage", "items_box", "lab", "ledger", "playground", "predictions", "pulling", "wall",
    # whole trainings, traced or made again; environments and builds of their own
    "download", "forked", "goals", "onnx", "practice", "records_beginnings", "stale", "trace",
    # wrong values for every argument, a sample of them each day
    "fuzz",
}  # fmt: skip


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="all tests, the long ones too, as CI does")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: run by `pytest --all`, or where its file is named")
    if config.args_source != pytest.Config.ArgsSource.TESTPATHS:
        config.option.all = True
    elif config.option.all:
        config.args.insert(0, "book")  # the notebooks


def pytest_ignore_collect(collection_path, config):
    long = collection_path.stem.removeprefix("test_") in ALL
    return True if long and not config.option.all else None


@pytest.hookimpl(optionalhook=True)  # pytest-xdist need not be there
def pytest_xdist_auto_num_workers(config):
    """One process more than there are cores, since some wait for a browser or a kernel; four at most."""
    return (os.cpu_count() or 1) + 1


LONGEST = ("test_trace.py", "test_book.py")  # files that take minutes


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests stay in one process; of the traces' whole runs those of an experiment do."""
    # Groups of pytest-xdist would say the same, but 3.8 does not see them with pytest 9.2.
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            if "test_an_experiment_in_the_page" in nodeid:
                return nodeid.rpartition("-")[0]  # without the browser
            return nodeid.partition("::")[0]

    return ByFile(config, log)


def pytest_collection_modifyitems(config, items):
    """The longest files first, as others would wait for them at the end."""
    if not config.option.all:
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_collection_finish():
    gc.enable()


def pytest_terminal_summary(terminalreporter, config):
    if not config.option.all:
        terminalreporter.write_line("These were the short tests; all others, too: pytest --all")


@pytest.fixture(scope="module")
def tabs():
    """Opens tabs of one browser; skips where there is none (in CI that is an error)."""
    try:
        with browser() as opened:
            yield opened
    except NoBrowser as missing:
        pytest.skip(f"{missing}: install one (Debian: apt install chromium) to try the pages")


@pytest.fixture
def visit(tabs):
    """Opens pages, which must ask nothing of the network and log no error (`browser.visits`)."""
    with visits(tabs) as visit:
        yield visit


@pytest.fixture(scope="module")
def one_thread():
    """For small tensors and matrices: a second thread only waits."""
    from clbook.training import loop

    with loop.one_thread(), threadpool_limits(1):
        yield
