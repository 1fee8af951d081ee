"""The rules of judging, and every claim: its record is whole, its verdict is the committed one and could be another."""

import functools
import json
import pathlib
import re
import sys
import types

import numpy as np
import pytest
import scipy.stats
from claim_cases import CASES
from controls import MARGINS, controlled, judged, listed, margins, real

from clbook_book.audit import __main__ as command_line
from clbook_book.audit import judging
from clbook_book.audit.judging import Claim, Every, Finding, Measures, Paper, judge

ROOT = pathlib.Path(__file__).parents[2]
PAPERS = {name: judging.paper(name) for name in judging.NAMES}
CLAIMS = [(name, id) for name, paper in PAPERS.items() for id in paper.claims]
CONTROLS = listed()


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        (0.1, "holds"),
        (-0.1, "fails"),
        (0.0, "undecided"),
        (float("nan"), "undecided"),  # no chance enters
        # The mean over seeds: the 95 % interval of these five is 1 -+ .98.
        ([0.0, 0.5, 1.0, 1.5, 2.0], "holds"),
        ([-0.1, 0.4, 0.9, 1.4, 1.9], "undecided"),
        ([0.0, -0.5, -1.0, -1.5, -2.0], "fails"),
        ([5.0], "undecided"),
        ([5.0] * 4, "undecided"),  # four seeds settle nothing
        ([5.0] * 5, "holds"),
        ([1.0, np.inf, 1.0, 1.0, 1.0], "undecided"),
        # Every run: one counter-example, or five without one.
        ([True] * 5, "holds"),
        ([True] * 4, "undecided"),
        ([True] * 5 + [False], "fails"),
        ([False], "fails"),
        (Every([0.1, 9.0, 9.0, 9.0, 9.0]), "holds"),
        (Every([-0.1, 9.0, 9.0, 9.0, 9.0]), "fails"),
        (Every([0.0, 9.0, 9.0, 9.0, 9.0]), "undecided"),
        # No run at all.
        ([], "undecided"),
        (Every([]), "undecided"),
    ],
)
def test_a_number_the_mean_or_every_run_decides(condition, verdict):
    found, *numbers = judge(condition)
    assert found == verdict and json.dumps(numbers, allow_nan=False)


def test_more_seeds_can_decide_what_few_leave_open():
    """The interval of the mean shrinks with the number of seeds; the scatter of single runs does not."""
    scattered = np.array([2.5, -0.5, 1.0, 3.0, -1.0])
    assert judge(scattered)[0] == "undecided"
    verdict, margin, (low, high) = judge(np.tile(scattered, 8))
    assert verdict == "holds" and margin == 1.0 and low == pytest.approx(2.0 - high)


def test_the_interval_is_the_t_interval_of_the_mean():
    margins = np.random.default_rng(0).normal(1.0, 2.0, 7)
    _, margin, interval = judge(margins)
    found = scipy.stats.ttest_1samp(margins, 0.0).confidence_interval(0.95)
    assert interval == pytest.approx((found.low, found.high))
    assert judge([3.0, 4.0, 5.0], least=3)[0] == "holds"  # where a run takes over a minute


WORDS = dict.fromkeys(("says", "theirs", "here", "bar", "evidence", "page", "anchor"), "x")
SOURCES = (("LS", "Theorem 4.3"), ("VA", "Prop. 2.1"))


def made(**fields):
    """A claim."""
    return Claim("toy-1", SOURCES, **{**WORDS, **fields})


def test_the_least_favourable_condition_decides():
    met, open_, broken = [1.0] * 5, [1.0, -1.0, 0.0, 1.0, 1.0], -2.0
    for conditions, verdict in (
        ((met, 0.5), "holds"),
        ((met, open_), "undecided"),
        ((met, open_, broken), "fails"),
    ):
        row = made().row(Finding("text", *conditions))
        assert row["verdict"] == verdict
    assert (row["margin"], row["paper"], row["item"]) == (-2.0, "LS", "Theorem 4.3")
    assert row["source"] == "LS Theorem 4.3; VA Prop. 2.1"


def test_a_claim_has_words_of_its_own_for_a_bar_that_is_not_met():
    row = made(verdicts=["holds", "not seen here"]).row(Finding("", -1.0))
    assert row["verdict"] == "not seen here"
    claim = made(verdicts=["holds when", "fails"], condition="d is odd")
    row = claim.row(Finding("", 1.0))
    assert (row["verdict"], row["condition"]) == ("holds when", "d is odd")


def test_wrong_claims_are_refused():
    with pytest.raises(ValueError, match="'perhaps' of toy-1: allowed are fails, undecided"):
        made().row(Finding("", verdict="perhaps"))
    with pytest.raises(ValueError, match="'holds when'"):
        made(condition="d is odd")
    with pytest.raises(ValueError, match="'perhaps'"):
        made(verdicts=["holds", "perhaps"])
    with pytest.raises(ValueError, match="'XX'"):
        judging.paper("XX")
    measures = Measures()
    measures("toy-1")(lambda runs: None)
    with pytest.raises(ValueError, match="'toy-1'"):
        measures("toy-1")(lambda runs: None)


def test_evidence_is_found_by_the_names_of_what_a_measure_takes(monkeypatch):
    runs = types.ModuleType("clbook_book.audit.toy.runs")
    runs.pulled = lambda: 3.0
    measures = types.ModuleType("clbook_book.audit.toy.measures")
    measures.measures = Measures()
    measures.measures("toy-1", 2.0)(lambda bar, pulled: Finding("", pulled - bar))
    monkeypatch.setitem(sys.modules, runs.__name__, runs)
    monkeypatch.setitem(sys.modules, measures.__name__, measures)
    toy = Paper("TOY", "", [], {"toy-1": made()}, [])
    (row,) = toy.judge()
    assert (row["verdict"], row["margin"]) == ("holds", 1.0)
    with pytest.raises(ValueError, match="'walks'"):
        toy.evidence("walks")


def test_the_list_of_verdicts_is_written_and_read_back(tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "LIST", tmp_path / "verdicts.txt")
    first, second = list(PAPERS["LS"].claims)[:2]
    assert judging.committed() == {}
    judging.write([{"id": second, "verdict": "holds when"}])
    judging.write([{"id": first, "verdict": "fails"}])
    assert judging.committed() == {first: "fails", second: "holds when"}


@functools.cache
def given(id: str) -> set[str]:
    """The verdicts that the controls and the made-up evidence of a claim are there for."""
    return {control.verdict for control in CONTROLS if control.id == id} | set(CASES.get(id, ()))


@pytest.mark.parametrize("name", judging.NAMES)
def test_a_claim_judged_from_the_records_has_the_verdict_of_the_list(name):
    paper, own = PAPERS[name], judging.committed()
    found = {id: judged(paper, id, real(paper, id))["verdict"] for id in paper.claims}
    assert found == {id: own[id] for id in paper.claims}


@pytest.mark.parametrize("name", judging.NAMES)
def test_a_claim_is_as_far_past_its_bar_as_the_list_says(name):
    """Where the verdict stays, a measure that reads something else is seen by its margins."""
    paper, listed = PAPERS[name], dict(line.split(" ", 1) for line in MARGINS.open())
    for id in paper.claims:
        found = margins(paper, id, real(paper, id))
        for margin, said in zip(found, listed[id].split(), strict=True):
            assert said == "-" or margin == pytest.approx(float(said), rel=0.05, abs=1e-6), id


@pytest.mark.long
@pytest.mark.parametrize("name", judging.NAMES)
def test_changed_evidence_gives_a_claim_the_other_verdicts(name):
    """By the controls, or made up by hand where no control does."""
    paper, own, faults = PAPERS[name], judging.committed(), []
    for id, claim in paper.claims.items():
        missing = set(claim.verdicts) - {own[id]} - given(id)
        if missing:
            faults.append(
                f"{id}: no control (python tests/controls.py {id}) and no case is {missing}"
            )
        for expected, evidence in CASES.get(id, {}).items():
            verdict = judged(paper, id, {key: evidence[key] for key in real(paper, id)})["verdict"]
            if verdict != expected:
                faults.append(f"{id}: {verdict} on the evidence made up for {expected}")
    for control in CONTROLS:
        if control.id in paper.claims:
            verdict = controlled(paper, control)
            if verdict != control.verdict:
                faults.append(f"{control.line()}: {verdict or 'no verdict'}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("name", "id"), CLAIMS)
def test_a_claim_is_whole(name, id):
    claim = PAPERS[name].claims[id]
    stated = (claim.says, claim.theirs, claim.here, claim.bar, claim.evidence)
    assert all(stated) and claim.page and claim.anchor
    assert not any(text.endswith(".") for text in stated)
    for paper, item in claim.sources:
        assert item in [known["item"] for known in PAPERS[paper].items], (paper, item)


def test_ids_are_unique_and_nothing_is_left_over():
    ids = [id for _, id in CLAIMS]
    assert len(ids) == len(set(ids))
    assert {*CASES, *(control.id for control in CONTROLS)} <= set(ids)
    for name, paper in PAPERS.items():
        assert set(paper.measures) == set(paper.claims), name
    assert list(judging.committed()) == ids


def test_three_claims_of_each_paper_stand_on_top_of_its_page():
    for name, paper in PAPERS.items():
        own = {id for id, claim in paper.claims.items() if not claim.ours}
        assert len(paper.headlines) == 3 and set(paper.headlines) <= own, name


def test_every_item_of_the_papers_says_why_it_is_not_tested_or_has_a_claim():
    named = {source for name, id in CLAIMS for source in PAPERS[name].claims[id].sources}
    for name, paper in PAPERS.items():
        names = [item["item"] for item in paper.items]
        assert len(names) == len(set(names))
        for item in paper.items:
            assert (name, item["item"]) in named or item.get("untested"), item
        assert {error["item"] for error in paper.errors} <= set(names)


@pytest.mark.parametrize("name", judging.NAMES)
def test_nine_tenths_of_the_items_of_a_paper_are_tested_or_settled_by_reading(name):
    """What is a definition, an identity or true by reading says so; what is false is in the list of errors."""
    verdicts, paper = judging.committed(), PAPERS[name]
    settled = {(name, error["item"]) for error in paper.errors}
    for owner, id in CLAIMS:
        if verdicts[id] != "not tested":
            settled.update(PAPERS[owner].claims[id].sources)
    for item in paper.items:
        if "kind" in item:
            settled.add((name, item["item"]))
    share = np.mean([(name, item["item"]) in settled for item in paper.items])
    assert share >= 0.9, f"{share:.3f} of {len(paper.items)}"


def test_what_holds_under_a_condition_says_it():
    for name, id in CLAIMS:
        conditional = judging.committed()[id] == "holds when"
        assert conditional <= bool(PAPERS[name].claims[id].condition), id


def test_what_holds_can_fail():
    """On some evidence the measure finds the opposite; what cannot fail is called an identity."""
    good = {"holds", "holds when", "seen here", "identity"}
    # "Some time" is what no run of finite length can refute.
    open_ended = {"ls-any-family"}
    verdicts = judging.committed()
    for _, id in CLAIMS:
        if verdicts[id] in good - {"identity"}:
            missed = given(id) - good
            assert missed - {"undecided"} or (missed and id in open_ended), id


def test_the_tests_that_the_list_of_errors_names_exist():
    told = json.dumps([paper.errors for paper in PAPERS.values()])
    found = set(re.findall(r"tests/([\w/]+\.py)(?:::(test_\w+))?", told))
    assert found
    for file, name in found:
        assert f"def {name}" in (ROOT / "tests" / file).read_text(), name


def test_the_command_line_judges_an_item(capsys, monkeypatch):
    command = ["papers", "ls", "--item", "LS eq. 13"]
    monkeypatch.setattr(sys, "argv", command)
    assert command_line.main() == 0
    said = capsys.readouterr().out
    assert re.match(r"misprinted +ls-eq-13\n", said) and "bar: equal to" in said
