"""The rules of judging, and every claim: its record is whole, and its measure can give each verdict."""

import importlib
import inspect
import json
import pathlib
import re

import numpy as np
import pytest
import yaml

from clbook import claims
from clbook.claims import Chapter, Finding, judge

ROOT = pathlib.Path(__file__).parent.parent
PAPERS = {"ls", "va", "sa", "sl", "cs"}
ROOMS = {path.parent.name: path.parent.parent.name for path in ROOT.glob("clbook/*/*/claims.py")}
CHAPTERS = sorted(ROOMS)
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
ITEMS = {
    path.stem.upper(): yaml.load(path.read_bytes(), LOADER)
    for path in (ROOT / "book/papers/items").glob("*.yaml")
}


def chapter(name):
    return importlib.import_module(f"clbook.{ROOMS[name]}.{name}.claims").chapter


def cases(name):
    return importlib.import_module(f"claim_cases.{name}").CASES


CLAIMS = [(name, id) for name in CHAPTERS for id in chapter(name)]


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        (0.1, "holds"),
        (-0.1, "fails"),
        (0.0, "undecided"),
        (float("nan"), "undecided"),  # no chance enters
        ([1.0, 1.1, 0.9], "holds"),
        ([-1.0, -1.1, -0.9], "fails"),
        ([1.0, -0.5, 0.1], "undecided"),
        ([5.0], "undecided"),
        ([5.0, 5.0], "undecided"),  # one seed or two settle nothing
        ([True] * 3, "holds"),
        ([False] * 3, "fails"),
        ([True, True, False], "undecided"),
        ([1.0, np.inf, 1.0], "undecided"),
    ],
)
def test_seeds_decide_only_together_and_beyond_twice_their_spread(condition, verdict):
    assert judge(condition)[0] == verdict


WORDS = dict.fromkeys(("says", "theirs", "here", "bar", "evidence", "anchor"), "x")


@pytest.fixture
def made(tmp_path):
    """`made(finding, **fields)`: a chapter of one claim, whose measure finds that."""

    def made(finding, **fields):
        folder = tmp_path / "toy"
        folder.mkdir(exist_ok=True)
        stated = {"toy-1": {"source": "LS Theorem 4.3; VA Prop. 2.1", **WORDS, **fields}}
        (folder / "claims.yaml").write_text(yaml.safe_dump(stated))
        toy = Chapter(str(folder / "claims.py"))
        toy.measure("toy-1")(lambda runs: finding)
        return toy

    return made


def test_the_least_favourable_condition_decides(made):
    met, open_, broken = [1.0] * 3, [1.0, -1.0, 0.0], -2.0
    for conditions, verdict in (
        ((met, 0.5), "holds"),
        ((met, open_), "undecided"),
        ((met, open_, broken), "fails"),
    ):
        (row,) = made(Finding("text", 1.0, conditions)).judge(runs=None)
        assert row["verdict"] == verdict
    assert (row["margin"], row["paper"], row["item"]) == (-2.0, "LS", "Theorem 4.3")


def test_a_claim_has_words_of_its_own_for_a_bar_that_is_not_met(made):
    (row,) = made(Finding("", 1.0, (-1.0,)), verdicts=["holds", "not seen here"]).judge(runs=None)
    assert row["verdict"] == "not seen here"
    (row,) = made(
        Finding("", 1.0, (1.0,)), verdicts=["holds when", "fails"], condition="d is odd"
    ).judge(runs=None)
    assert (row["verdict"], row["condition"]) == ("holds when", "d is odd")


def test_wrong_claims_are_refused(made):
    with pytest.raises(ValueError, match="'perhaps' of toy-1: allowed are fails, undecided"):
        made(Finding("", 1.0, verdict="perhaps")).judge(runs=None)
    with pytest.raises(ValueError, match="'holds when'"):
        made(Finding("", 1.0), condition="d is odd")
    with pytest.raises(ValueError, match="'perhaps'"):
        made(Finding("", 1.0), verdicts=["holds", "perhaps"])


def test_the_table_shows_the_chapters_own_and_carries_all(made):
    toy = made(Finding("a < b, $x^2$", 1.0, (1.0,)), shown=True)
    page = toy.judge(runs=None)._repr_html_()
    assert 'id="claim-toy-1"' in page and r"a &lt; b, \(x^2\)" in page and "The bar: x." in page
    (data,) = re.findall(r'class="clbook-claims-data">(.*?)</script>', page)
    assert json.loads(data)[0]["measured"] == "a < b, $x^2$"
    assert 'id="claim-toy-1"' not in made(Finding("", 1.0, (1.0,))).judge(runs=None)._repr_html_()


@pytest.mark.parametrize(("name", "id"), CLAIMS)
def test_a_measure_can_give_each_verdict(name, id):
    claim, given = chapter(name)[id], cases(name)[id]
    for verdict, runs in given.items():
        assert claim.record(runs)["verdict"] == verdict
    one_seed = set(given) == {"undecided"} and claim.evidence.startswith(
        "1 seed"
    )  # no result can settle it
    assert set(given) >= set(claim.verdicts) or one_seed


@pytest.mark.parametrize(("name", "id"), CLAIMS)
def test_a_claim_is_whole(name, id):
    claim = chapter(name)[id]
    assert all((claim.says, claim.theirs, claim.here, claim.bar, claim.evidence, claim.anchor))
    for source in claim.source.split("; "):
        paper, item = source.split(" ", 1)
        assert item in [known["item"] for known in ITEMS[paper]["items"]], source
    assert not any(
        text.endswith(".")
        for text in (claim.says, claim.theirs, claim.here, claim.bar, claim.evidence)
    )


def test_ids_are_unique_and_nothing_is_left_over():
    ids = [id for _, id in CLAIMS]
    assert len(ids) == len(set(ids))
    for name in CHAPTERS:
        assert set(cases(name)) == set(chapter(name))
        shown = sum(claim.shown for claim in chapter(name).values())
        assert 4 <= shown <= 7 or (
            name in PAPERS and shown == 0
        )  # a paper's own room shows its claims on its page


def test_every_item_of_the_papers_says_why_it_is_not_tested_or_has_a_claim():
    named = {
        source
        for name in CHAPTERS
        for claim in chapter(name).values()
        for source in claim.source.split("; ")
    }
    for paper, record in ITEMS.items():
        names = [item["item"] for item in record["items"]]
        assert len(names) == len(set(names))
        assert [
            item["item"]
            for item in record["items"]
            if f"{paper} {item['item']}" not in named and not item.get("untested")
        ] == []
        assert {error["item"] for error in record.get("errors", [])} <= set(names)


def test_the_tests_that_the_list_of_errors_names_exist():
    for file, name in set(re.findall(r"tests/(test_\w+\.py)(?:::(test_\w+))?", json.dumps(ITEMS))):
        assert f"def {name}" in (ROOT / "tests" / file).read_text(), name


def test_measures_are_given_runs_by_name():
    for name, id in CLAIMS:
        assert inspect.signature(chapter(name)[id].measure).parameters


def test_verdicts_of_a_notebook_are_read_back(made):
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    judged = made(Finding("", 1.0, (1.0,)), verdicts=["holds when", "fails"], condition="so").judge(
        runs=None
    )
    cell = new_code_cell(
        "print(judged)", outputs=[new_output("stream", name="stdout", text=f"{judged!r}\n")]
    )
    assert claims.verdicts(new_notebook(cells=[cell])) == {"toy-1": "holds when"}
