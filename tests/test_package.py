"""What others install: that the package is whole, needs no more than it says, and that its pins agree."""

import ast
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
import clbook_book

ROOT = pathlib.Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BOOK = tomllib.loads((ROOT / "book/pyproject.toml").read_text())["project"]
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
package = importlib.import_module(sys.argv[3])
inner = package.__name__ + "."
for name in modules or [m.name for m in pkgutil.walk_packages(package.__path__, inner)]:
    if not name.endswith("__main__"):
        importlib.import_module(name if name.startswith(inner) else inner + name)
"""


def names(needs):
    """The names by which requirements are imported."""
    found = [re.match(r"[\w-]+", need)[0] for need in needs]
    return {IMPORTED.get(name, name) for name in found} - {"clbook"}


def python(code, *given, folder=ROOT):
    """What some code has done in an interpreter of its own."""
    command = [sys.executable, "-c", code, *given]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


def imports(modules, forbidden, package="clbook"):
    return python(IMPORT, modules, " ".join(sorted(forbidden)), package)


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


def test_the_stub_names_what_the_package_has(tmp_path):
    """An editor completes, and a type checker reads, `__init__.pyi`; code runs `__init__.py`."""
    tree = ast.parse((ROOT / "clbook/__init__.pyi").read_text())
    said = {name.asname for node in tree.body[:-2] for name in node.names}
    assert said == {*clbook.PARTS, *clbook.RESULTS} and said < set(dir(clbook))
    (tmp_path / "own.py").write_text("import clbook\nreveal_type(clbook.sweep)\n")
    ran = python("import mypy.__main__; mypy.__main__.console_entry()", tmp_path / "own.py")
    assert 'type is "def (run: ' in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("name", "missing", "extra"),
    [("kernels", "scipy", "measure"), ("sweep", "joblib", "book"), ("style", "matplotlib", "book")],
)
def test_a_part_says_which_extra_it_needs(name, missing, extra):
    ran = python(f"import sys; sys.modules[{missing!r}] = None; from clbook import {name}")
    assert f"clbook.{name} needs {missing}: pip install 'clbook[{extra}]'" in ran.stderr


def test_the_examples_of_the_wheels_page_run(built):
    """What PyPI shows, with the package from the wheel."""
    page = built["clbook"][2]
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    ran = python("\n".join(blocks) + "\nprint(clbook.__file__)", folder=built["site"])
    assert len(blocks) == 2 and " lines, " in ran.stdout, ran.stderr
    assert "pip install clbook " in page and not re.search(r"\]\((?!https://)", page)


def test_kernels_and_metrics_need_scipy_and_scikit_learn_besides():
    # scikit-learn brings joblib.
    others = names(EXTRAS["book"]) - names(EXTRAS["measure"]) - {"joblib"}
    ran = imports("kernels metrics theory data diagnose", others)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("package", ["clbook", "clbook_book"])
def test_the_extra_book_is_enough_for_every_module(package):
    others = names(BOOK["dependencies"]) | {"clbook_book"} if package == "clbook" else set()
    others |= {"jupyter_book", "sphinx", "myst_nb", "nbformat", "pytest", "hypothesis", "dask"}
    others |= {"playwright", "distributed", "pytorch_metric_learning", "torchvision"}
    ran = imports("", others, package)
    assert ran.returncode == 0, ran.stderr


PROJECTS = {"clbook": ROOT, "clbook_book": ROOT / "book"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """{package: (names in the sdist, names in the wheel made of it, its metadata)}, and "site": both installed."""
    folder, found = tmp_path_factory.mktemp("package"), {}
    for package, project in PROJECTS.items():
        source, target = folder / package / "source", folder / package
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(project / package, source / package, ignore=ignored)
        for name in ("pyproject.toml", "MANIFEST.in", "LICENSE"):
            if (project / name).exists():
                shutil.copy(project / name, source)
        make("sdist", source, target)
        (sdist,) = target.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(target / "unpacked", filter="data")
            held = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
        make("wheel", target / "unpacked" / sdist.name.removesuffix(".tar.gz"), target)
        (wheel,) = target.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (metadata,) = [name for name in archive.namelist() if name.endswith("METADATA")]
            archive.extractall(folder / "site")
            found[package] = held, set(archive.namelist()), archive.read(metadata).decode()
    return found | {"site": folder / "site"}


def make(kind, source, target):
    """Build the sdist or the wheel, with the setuptools that is installed."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(target)!r})"
    python(code, folder=source).check_returncode()


@pytest.mark.parametrize("package", PROJECTS)
def test_sdist_and_wheel_hold_the_package_and_its_files(built, package):
    sdist, wheel, _ = built[package]
    files = {
        path.relative_to(PROJECTS[package]).as_posix()
        for path in (PROJECTS[package] / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    kinds = {".py", ".html", ".css", ".js"}
    if package == "clbook_book":
        kinds |= {".yaml", ".txt", ".nc", ".json"}
    assert {pathlib.Path(name).suffix for name in files} >= kinds
    assert files - sdist == set() and files - wheel == set()
    told = f"{package}-{clbook.__version__}.dist-info"
    assert {name.split("/")[0] for name in wheel} == {package, told}


def test_installed_packages_find_the_records(built):
    code = "import clbook; r = clbook.records; print(r.folder(), *sorted(p.stem for p in r.folder().glob('*.nc')))"
    ran = python(code, folder=built["site"])
    folder = built["site"] / "clbook_book/records"
    names = sorted(path.stem for path in (ROOT / "book/clbook_book/records").glob("*.nc"))
    assert ran.stdout.split() == [str(folder), *names]


def test_the_wheel_says_what_it_needs(built):
    metadata = built["clbook"][2]
    assert re.findall(r"^Provides-Extra: (\w+)$", metadata, re.MULTILINE) == list(EXTRAS)
    needs = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert set(needs) == {"numpy", "torch"}
    assert "License-Expression: MIT" in metadata
    needed = re.findall(r"^Requires-Dist: ([\w-]+)", built["clbook_book"][2], re.MULTILINE)
    assert needed == ["clbook", "pyyaml"]


def pins(name):
    """{package: version} of a requirements file, names as pip compares them."""
    lines = re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / name).read_text(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in lines}


def test_the_pinned_versions_are_those_of_the_lock_and_lie_within_the_ranges():
    pinned, locked = pins("requirements.txt"), pins("requirements.lock")
    assert pinned.items() <= locked.items() and len(locked) > 3 * len(pinned)
    for need in [*PROJECT["dependencies"], *BOOK["dependencies"], *sum(EXTRAS.values(), [])]:
        if found := re.match(r"([\w-]+)>=([\d.]+)(?:,<(\d+))?$", need):
            version = tuple(map(int, pinned[found[1]].split(".")))
            assert tuple(map(int, found[2].split("."))) <= version, need
            assert found[3] is None or version[0] < int(found[3]), need


def test_version_is_said_once_and_cited_right():
    said = {"CITATION.cff": "version: {}\n", "CHANGELOG.md": "## {}", "README.md": "{{{}}}"}
    said["book/reuse.md"] = "version = {{{}}}"
    for name, words in said.items():
        assert words.format(clbook.__version__) in (ROOT / name).read_text(), name
    assert clbook_book.__version__ == clbook.__version__
    assert f"clbook[book]=={clbook.__version__}" in BOOK["dependencies"]
