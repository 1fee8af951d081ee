"""The patients of "Your own run": each sick run is told from the healthy one by its line, in five of five seeds."""

import pathlib
import re
import sys
import types

import numpy as np
import pytest
import torch
from encoders import Timm, Transformer, noisy
from torch import nn

from clbook import diagnose, metrics, records
from clbook.diagnose import lines, measures
from clbook.experiments.diagnose import HEALTHY, SICK, configs, run
from clbook.experiments.diagnose import experiment as chapter
from clbook_book.course.practice import patients

ROOT = pathlib.Path(__file__).parents[2]
REFERENCE = (ROOT / "book/api/diagnose.md").read_text()
SEEDS = range(5)


@pytest.fixture(scope="module")
def reports():
    """{run: its reports, one a seed}, of the page's runs and two healthy ones of other kinds."""
    kinds = configs() | {"healthy, other data": HEALTHY.replace(data="bars")}
    kinds["healthy, other loss"] = HEALTHY.replace(loss="dcl")
    found = {}
    for name, config in kinds.items():
        found[name] = [run(config.replace(seed=seed)).report() for seed in SEEDS]
    return found


@pytest.mark.parametrize("kind", ["healthy", "healthy, other data", "healthy, other loss"])
def test_a_healthy_run_raises_no_alarm_in_any_seed(reports, kind):
    assert [line.name for report in reports[kind] for line in report.alarms] == []


# Of each line that tells: how far it is from its threshold, as a ratio > 1 where it alarms.
MARGINS = {
    "spread": lambda line, n: measures.SPREAD * line.reference["random directions"] / line.value,
    "alignment": lambda line, n: line.value / line.reference["partners shuffled"] / measures.APART,
    "k-NN": lambda line, n: errors(line, "raw input", n),
    "partner accuracy in a batch": lambda line, n: line.value / measures.ANSWERED,
    "linear probe of what is used": lambda line, n: errors(line, "before the projector", n // 2),
}


def errors(line, beside, asked):
    """By how many times the least difference an accuracy is behind another."""
    other = line.reference[beside]
    middle = (line.value + other) / 2
    return (other - line.value) / (lines.ERRORS * np.sqrt(2 * middle * (1 - middle) / asked))


@pytest.mark.parametrize("name", SICK)
def test_a_sick_run_is_told_by_its_line_in_every_seed(reports, name):
    tells = SICK[name].tells
    margins = {}
    for kind in (name, "healthy"):
        margins[kind] = [MARGINS[tells](each[tells], each.looked) for each in reports[kind]]
    told = [report[tells].alarm for report in reports[name]]
    silent = [report[tells].alarm for report in reports["healthy"]]
    assert all(told) and not any(silent)
    assert min(margins[name]) > 1.2 and max(margins["healthy"]) < 0.8


def test_the_telling_lines_tell_the_sick_runs_from_each_other(reports):
    """The text: spread alarms for the collapse alone, the batch's quiz for the small batch alone, and so on."""
    for tells, alone in (
        ("spread", {"tiny temperature"}),
        ("partner accuracy in a batch", {"batch too small"}),
        ("linear probe of what is used", {"projector used"}),
        ("alignment", {"tiny temperature", "views destroy content"}),
    ):
        for seed in SEEDS:
            alarmed = {name for name, found in reports.items() if found[seed][tells].alarm}
            assert alarmed == alone, (tells, seed)


def test_the_shortcut_has_the_best_loss_and_keeps_the_stamp(reports):
    for seed in SEEDS:
        leak = reports["views leak a shortcut"][seed]
        well = reports["healthy"][seed]
        assert leak["loss"].value < well["loss"].value and leak["partner accuracy"].value > 0.99
        assert leak["R2 of the stamp"].value > well["R2 of the stamp"].value
        assert leak["R2 of the ink"].value < well["R2 of the ink"].value
        assert leak["k-NN"].value < 0.2 < 0.8 < well["k-NN"].value


def test_an_untrained_network_keeps_the_stamp_too():
    begun = run(configs()["views leak a shortcut"].replace(steps=2))
    (kept,) = metrics.r2(begun.raw[:, -1:], begun.start)
    assert kept > 0.9


# The experiment.


def test_a_run_is_the_same_again_and_touches_no_global_seed():
    state = torch.get_rng_state()
    a, b = (run(HEALTHY.replace(steps=4)) for _ in range(2))
    for name in ("loss", "z1", "z2", "before", "after", "start", "raw", "labels"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert torch.equal(torch.get_rng_state(), state)
    other = run(HEALTHY.replace(steps=4, seed=1))
    assert not np.array_equal(a.z1, other.z1)
    assert len(a.loss) == 4 and a.z1.shape == (1000, 32) and a.raw.shape == (1000, 72)


def test_a_run_that_is_stopped_has_what_it_has(monkeypatch):
    monkeypatch.setattr(chapter, "PROGRESS_EVERY", -1.0)
    seen = []

    def progress(fraction, partial):
        seen.append(fraction)
        return len(seen) < 3

    result = run(HEALTHY.replace(steps=50), progress=progress)
    assert result.stopped and len(result.loss) == 3 and seen == sorted(seen)


def test_both_views_have_one_stamp_only_where_it_is_shared():
    x, _ = chapter.data("digits")
    for shared in (False, True):
        config = HEALTHY.replace(shared=shared)
        one, two = chapter.pair(x[:5], config, torch.Generator().manual_seed(0))
        assert torch.equal(one[:, 64:], two[:, 64:]) == shared
        assert not torch.equal(one[:, :64], two[:, :64])


def test_bars_are_bright_along_a_line_of_their_direction():
    x, labels = chapter.data("bars")
    pictures = x.view(-1, 8, 8).numpy()
    assert x.min() >= 0 and x.max() <= 1 and np.bincount(labels).min() >= 449
    columns = pictures[labels == 0].std(1).mean()  # a vertical bar: a column is of one brightness
    rows = pictures[labels == 2].std(2).mean()
    assert columns < 1e-6 and rows < 1e-6 and pictures[labels == 1].std(1).mean() > 0.05


def test_the_figure_marks_the_alarms(reports):
    shown = {name: reports[name][0] for name in ("healthy", *SICK)}
    picture = patients.telling(shown)
    assert "spread: tiny temperature;" in picture.alt
    assert "probe of what is used: projector used" in picture.alt
    assert len(picture.fig.axes) == len(patients.LINES)


# The page.


def test_without_labels_three_patients_raise_an_alarm_and_three_do_not():
    """Also on the hundred pictures that the page has of each."""
    views = records.load("practice-patients").views
    seen, whole = [], patients.reports()
    for letter, name in patients.NAMES.items():
        config = configs()[name]
        z1, z2 = views.sel(patient=name).dropna("dim").values
        few = diagnose.report(z1, z2, tau=config.tau, batch=config.batch)
        named = {line.name for line in few.alarms}
        assert named <= {line.name for line in whole[name].alarms}
        seen += [letter] if named else []
    assert seen == ["Q", "T", "U"] and not whole["healthy"].alarms


def test_the_three_lines_for_other_models_run_as_they_stand(monkeypatch, tmp_path):
    g = torch.Generator().manual_seed(0)
    images = torch.randn(40, 1, 6, 6, generator=g)
    labels = np.arange(40) % 2
    names = {"images": images, "labels": labels, "views": noisy, "projector": nn.Linear(8, 4)}
    names["photographs"] = torch.randn(40, 8, generator=g)
    for name in ("encoder", "untrained"):
        names[name] = nn.Sequential(nn.Flatten(), nn.Linear(36, 8))
    auto = types.SimpleNamespace(from_pretrained=lambda name: Transformer())
    made = lambda name, pretrained, num_classes: Timm(num_classes)  # noqa: E731
    timm = types.SimpleNamespace(create_model=made)
    monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(AutoModel=auto))
    monkeypatch.setitem(sys.modules, "timm", timm)
    monkeypatch.chdir(tmp_path)
    z = np.random.default_rng(0).standard_normal((40, 5))
    names |= {"z1": z, "z2": z + 0.1, "z": z}
    own = REFERENCE[REFERENCE.index("## From a network") :]
    given = re.findall(r"```python\n(.*?)```", own, re.S)
    for block in given:
        assert len([line for line in block.splitlines() if line and "import" not in line]) <= 3
        found = dict(names)
        exec(block, found)
        (report,) = [value for value in found.values() if isinstance(value, diagnose.Report)]
        assert report.looked == 40
    assert len(given) == 4
