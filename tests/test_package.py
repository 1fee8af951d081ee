"""What others install: that the package is whole, needs no more than it says, and that its pins agree."""

import importlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

import clbook

ROOT = pathlib.Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Where a package is imported by another name.
IMPORTED = {"scikit-learn": "sklearn", "pillow": "PIL", "pyyaml": "yaml"}
# Imports the modules that are named, or all, where the packages `forbidden` cannot be imported.
IMPORT = """
import importlib, pkgutil, sys
modules, forbidden = sys.argv[1].split(), sys.argv[2].split()
class Forbid:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in forbidden:
            raise ModuleNotFoundError(f"{name} must not be needed")
sys.meta_path.insert(0, Forbid())
if "dask" in forbidden:
    sys.modules["dask"] = None  # xarray asks whether it is there
import clbook
for name in modules or [m.name for m in pkgutil.walk_packages(clbook.__path__, "clbook.")]:
    importlib.import_module(name if name.startswith("clbook.") else "clbook." + name)
"""


def names(needs):
    """The names by which requirements are imported."""
    found = [re.match(r"[\w-]+", need)[0] for need in needs]
    return {IMPORTED.get(name, name) for name in found} - {"clbook"}


def python(code, *given, folder=ROOT):
    """What some code has done in an interpreter of its own."""
    command = [sys.executable, "-c", code, *given]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


def imports(modules, forbidden):
    return python(IMPORT, modules, " ".join(sorted(forbidden)))


def test_losses_need_torch_and_numpy_only():
    assert names(PROJECT["dependencies"]) == {"numpy", "torch"}
    others = {"scipy", "pandas", "IPython", "traitlets"}
    others |= names(EXTRAS["measure"]) | names(EXTRAS["book"])
    modules = "losses models transformer training.optim training.loop training.settings"
    ran = imports(modules, others)
    assert ran.returncode == 0, ran.stderr
    assert imports("kernels", others).returncode != 0, "nothing is forbidden"


def test_parts_are_there_after_import_clbook():
    code = (
        "import sys, clbook; assert not {'xarray', 'matplotlib', 'clbook.losses'} & set(sys.modules);"
        "print(clbook.losses.nt_xent.__name__, *dir(clbook)); clbook.nothing"
    )
    ran = python(code)
    assert ran.stdout.startswith("nt_xent ")
    rooms = {"training", "results", "style", "explore", "experiments"}
    assert rooms | set(clbook.PARTS) <= set(ran.stdout.split())
    for name in clbook.PARTS:
        assert importlib.import_module(f"clbook.{name}") is getattr(clbook, name)
    assert "module 'clbook' has no attribute 'nothing'" in ran.stderr


def test_kernels_and_metrics_need_scipy_and_scikit_learn_besides():
    # scikit-learn brings joblib.
    others = names(EXTRAS["book"]) - names(EXTRAS["measure"]) - {"joblib"}
    ran = imports("kernels metrics theory data diagnose", others)
    assert ran.returncode == 0, ran.stderr


def test_the_extra_book_is_enough_for_every_module():
    others = {"jupyter_book", "sphinx", "myst_nb", "nbformat", "pytest", "hypothesis", "dask"}
    others |= {"playwright", "distributed", "pytorch_metric_learning", "torchvision"}
    ran = imports("", others)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(names in the sdist, names in the wheel made of it, the wheel's metadata, where its files are unpacked)."""
    folder = tmp_path_factory.mktemp("package")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("clbook", "book/records"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    make("sdist", folder / "source", folder)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
        held = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    make("wheel", folder / "unpacked" / sdist.name.removesuffix(".tar.gz"), folder)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        archive.extractall(folder / "site")
        return held, set(archive.namelist()), archive.read(metadata).decode(), folder / "site"


def make(kind, source, target):
    """Build the sdist or the wheel, with the setuptools that is installed."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(target)!r})"
    python(code, folder=source).check_returncode()


def test_sdist_and_wheel_hold_the_package_its_files_and_the_records(built):
    sdist, wheel, *_ = built
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "clbook").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {pathlib.Path(name).suffix for name in files} >= {".py", ".yaml", ".html", ".css", ".js"}
    assert files - sdist == set() and files - wheel == set()
    kept = [path.name for path in (ROOT / "book/records").iterdir()]
    records = {name for name in kept if name.endswith(".nc") or name == "checked.json"}
    assert {f"book/records/{name}" for name in records} - sdist == set()
    put = {name for name in wheel if name.startswith("clbook/kept/")}
    assert put == {f"clbook/kept/{name}" for name in records}
    folders = {"clbook", f"clbook-{clbook.__version__}.dist-info"}
    assert {name.split("/")[0] for name in wheel} == folders


def test_an_installed_package_finds_its_records(built):
    code = "import clbook.results.records as r; print(r.FOLDER, *sorted(p.stem for p in r.FOLDER.glob('*.nc')))"
    ran = python(code, folder=built[3])
    names = sorted(path.stem for path in (ROOT / "book/records").glob("*.nc"))
    assert ran.stdout.split() == [str(built[3] / "clbook/kept"), *names]


def test_the_wheel_says_what_it_needs(built):
    metadata = built[2]
    assert re.findall(r"^Provides-Extra: (\w+)$", metadata, re.MULTILINE) == list(EXTRAS)
    needs = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert set(needs) == {"numpy", "torch"}
    assert "License-Expression: MIT" in metadata


def pins(name):
    """{package: version} of a requirements file, names as pip compares them."""
    lines = re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / name).read_text(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in lines}


def test_pins_and_lock_agree():
    pinned, locked = pins("requirements.txt"), pins("requirements.lock")
    assert pinned.items() <= locked.items() and len(locked) > 3 * len(pinned)


def test_the_pinned_versions_lie_within_the_ranges():
    pinned = pins("requirements.txt")
    for need in [*PROJECT["dependencies"], *sum(EXTRAS.values(), [])]:
        if found := re.match(r"([\w-]+)>=([\d.]+)(?:,<(\d+))?$", need):
            version = tuple(map(int, pinned[found[1]].split(".")))
            assert tuple(map(int, found[2].split("."))) <= version, need
            assert found[3] is None or version[0] < int(found[3]), need


def test_version_is_said_once_and_cited_right():
    said = {"CITATION.cff": "version: {}\n", "CHANGELOG.md": "## {}", "README.md": "{{{}}}"}
    for name, words in said.items():
        assert words.format(clbook.__version__) in (ROOT / name).read_text(), name


def test_nothing_but_the_papers_pages_knows_of_the_audit():
    for path in (ROOT / "clbook").rglob("*.py"):
        if not path.is_relative_to(ROOT / "clbook/papers"):
            assert "clbook.papers" not in path.read_text(encoding="utf-8"), path
    for path in (ROOT / "book").glob("*.ipynb"):
        assert "clbook.papers" not in path.read_text(encoding="utf-8"), path
