"""The practical page: on other seeds its runs and instruments do what its text says, and the claims it quotes exist."""

import ast
import math
import pathlib
import re

import nbformat
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from clbook import losses
from clbook.experiments import practice
from clbook.experiments.practice import experiment
from clbook_book.course.practice import figures

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOK = nbformat.read(ROOT / "book" / "practice.ipynb", as_version=4)
TEXT = "\n\n".join(cell.source for cell in NOTEBOOK.cells if cell.cell_type == "markdown")
SEEDS = range(3, 5)  # the page shows 0 to 2
# Ranges that the text says may overlap with those of the healthy runs.
OVERLAP = {
    ("stuck", "kernel alignment"),
    ("weak views", "kernel alignment"),
    ("weak views", "spread"),
    ("weak views", "CKA with the start"),
    ("strong views", "CKA with the start"),
    ("weak views", "linear probe, before the projector"),
    ("strong views", "linear probe, before the projector"),
    ("collapsed", "effective rank"),
}


def solution(label):
    """The code in the solution of the exercise `label`."""
    body = re.search(rf"````\{{solution\}} {label}\n(.*?)\n````", TEXT, re.S)[1]
    return re.search(r"```python\n(.*?)```", body, re.S)[1]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def page():
    """What the page defines, without its fifteen runs and what is read from them."""
    names = {}
    for cell in NOTEBOOK.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and not {"remove-cell", "hide-input"} & set(tags):
            body = [n for n in ast.parse(cell.source).body if not isinstance(n, ast.Expr)]
            body = [n for n in body if not ast.unparse(n).startswith(("nets =", "measured ="))]
            exec(compile(ast.Module(body, []), cell.id, "exec"), names)
    return names


@pytest.fixture(scope="module")
def nets(page):
    runs = page["runs"].items()
    return {name: [page["simclr"](seed, **changes) for seed in SEEDS] for name, changes in runs}


@pytest.fixture(scope="module")
def ranges(page, nets):
    """{run: {what: its values over SEEDS}} of the page's table."""
    found = {}
    for name, changes in page["runs"].items():
        rows = [page["instruments"](net, seed, **changes) for seed, net in zip(SEEDS, nets[name])]
        found[name] = {what: [row[what] for row in rows] for what in rows[0]}
    return found


@pytest.fixture(scope="module")
def played():
    """{letter: the run that the page's explorer shows under it}."""
    return {letter: practice.look(practice.View(letter=letter)) for letter in practice.FAULTS}


def test_a_star_is_where_two_ranges_do_not_meet(page):
    page["measured"] = {
        "healthy": [{"loss": 1.0}, {"loss": 2.0}],
        "above": [{"loss": 2.001}, {"loss": 3.0}],
        "meets": [{"loss": 0.0}, {"loss": 1.0}],
        "below": [{"loss": -0.001}, {"loss": 0.5}],
    }
    cells = [page["cell"](run, "loss") for run in ("healthy", "above", "meets", "below")]
    assert cells == ["1.00 to 2.00", "2.00 to 3.00 *", "0.00 to 1.00", "0.00 to 0.50 *"]


def test_other_seeds_are_apart_where_the_text_says_so(ranges):
    good = ranges["healthy"]
    together = {
        (run, what)
        for run in ranges
        for what, values in ranges[run].items()
        if run != "healthy" and min(values) <= max(good[what]) and min(good[what]) <= max(values)
    }
    assert together <= OVERLAP


def test_solution_of_the_ceiling_prints_what_it_says(page, capsys):
    exec(solution("ex-pr-ceiling"), page | {"nets": {"healthy": [page["simclr"](0)]}})
    found = [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    assert found == pytest.approx([6.6, 5.2, 6.6], abs=0.1)  # rounding moves them by .08


def test_own_data_and_an_own_loss_are_taken_as_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = np.repeat(["ash", "beech", "fir"], 40)
    x = np.random.default_rng(0).normal(size=(120, 5)) + 5 * np.eye(5)[np.repeat([1, 0, 2], 40)]
    found = page | {"x": x, "y": y}
    exec(re.search(r"\(pr-own\)=.*?```python\n(.*?)```", TEXT, re.S)[1], found)
    assert found["flow"].x.shape == (60, 5)
    assert np.bincount(found["flow"].labels).tolist() == [20] * 3
    # three clouds, five apart: a nearest centre finds them
    assert found["five"].nccc[-1].min() > 0.9
    assert not torch.equal(found["net"](page["held"]), page["simclr"](0)(page["held"]))


def test_longer_training_helps_where_the_solution_says_so(page, ranges):
    better = {}
    for name in ("healthy", "weak views", "strong views"):
        changes = page["runs"][name]
        short = {what: values[0] for what, values in ranges[name].items()}
        long = page["instruments"](page["simclr"](SEEDS[0], 800, **changes), SEEDS[0], **changes)
        better[name] = long["nearest centre, after"] - short["nearest centre, after"]
        assert long["loss"] < short["loss"]
    assert better["healthy"] > 0.03 and better["strong views"] > 0.05
    assert better["weak views"] < 0.03


def test_the_smoke_detector_of_the_solution(page, nets):
    exec(solution("ex-pr-alarm"), page)
    with torch.no_grad():
        for i, seed in enumerate(SEEDS):
            start = page["simclr"](seed, steps=0)(page["held"])
            for name, changes in page["runs"].items():
                draws, net = page["stream"](seed, 3), nets[name][i]
                views = {key: value for key, value in changes.items() if key in ("move", "noise")}
                z1, z2 = (net(page["view"](page["held"], draws, **views)) for _ in range(2))
                z = net(page["held"])
                assert page["alarm"](z1, z2, z, start) == name
                if name == "healthy":  # who goes where is out of its sight
                    places = torch.randperm(len(z), generator=draws)
                    assert page["alarm"](z1[places], z2[places], z[places], start) == name


@pytest.mark.parametrize("letter", practice.FAULTS)
def test_a_run_of_the_explorer_is_the_one_that_the_page_trains(page, ranges, letter):
    fault = practice.FAULTS[letter]
    theirs, ours = dict(page["runs"][fault]), dict(practice.RUNS[fault])
    assert (theirs.pop("loss", None) is page["only_attract"]) == ours.pop("attract", False)
    assert theirs == ours
    found, table = practice.run(practice.Config(letter, SEEDS[0])), ranges[fault]
    assert found.ceiling == pytest.approx(math.log(2 * len(page["held"]) - 1))
    named = {"cka": "CKA with the start", "accuracy": "nearest centre, after"}
    for ours in ("loss", "cka", "spread", "alignment", "uniformity", "accuracy"):
        theirs = table[named.get(ours, ours)][0]
        assert getattr(found, ours)[-1] == pytest.approx(theirs, abs=0.02), ours


def test_all_five_start_from_one_network(played):
    first = played["A"]
    for run in played.values():
        assert run.steps.tolist() == list(experiment.TIMES)
        np.testing.assert_array_equal(run.places[0], first.places[0])
        assert run.accuracy[0] == first.accuracy[0] and run.cka[0] == pytest.approx(1)


def test_the_signs_are_those_that_the_answers_name(played):
    names = dict(A="weak views", B="stuck", C="strong views", D="healthy", E="collapsed")
    assert {letter: run.config.fault for letter, run in played.items()} == names
    by = {run.config.fault: run for run in played.values()}
    healthy, stuck, collapsed = by["healthy"], by["stuck"], by["collapsed"]
    weak, strong = by["weak views"], by["strong views"]
    assert min(by.values(), key=lambda run: run.loss[-1]) is weak
    assert stuck.cka.min() > 0.95 > 0.5 > collapsed.cka[-1]
    assert stuck.spread[-1] > 0.05
    assert max(collapsed.spread[-1], collapsed.alignment[-1]) < 0.005
    for run in (stuck, collapsed):
        assert run.loss.min() > run.ceiling - 0.1
    assert weak.alignment.max() < 0.1 and weak.spread[-1] > 0.9
    assert strong.alignment.argmax() == len(strong.steps) - 1
    assert healthy.alignment.max() > healthy.alignment[-1] + 0.1
    assert 0.1 < healthy.alignment[-1] < strong.alignment[-1]
    right = {fault for fault, run in by.items() if run.accuracy[-1] > experiment.of_pixels()}
    assert right == {"healthy"}
    labels = experiment.held()[1]
    queries = labels[experiment.queries()]
    assert (labels[weak.near[-1]] == queries[:, None]).mean() > 0.8, "its neighbours look right"


def test_the_picture_names_nothing_before_the_labels_are_opened(played):
    for letter, run in played.items():
        opened = practice.look(practice.View(letter=letter, labels=True))
        assert opened.config.labels and opened.loss is not None
        told = []
        for frame in (0, 5, -1):
            closed = figures.seen(run, frame)
            words = [closed.alt]
            for ax in closed.fig.axes:
                words += [ax.get_title(), *(text.get_text() for text in ax.texts)]
            assert not re.search("|".join([*practice.RUNS, "accuracy"]), " ".join(words), re.I)
            assert f"Run {letter} at iteration {run.steps[frame]}" in closed.alt
            shown = figures.seen(opened, frame)
            assert run.config.fault in shown.alt and figures.SIGNS[run.config.fault] in shown.alt
            told += [closed.alt, shown.alt]
        assert len(set(told)) == 6


def test_neighbours_of_another_digit_have_a_ground_of_their_own(played):
    labels = experiment.held()[1]
    for letter in "BE":
        run = practice.look(practice.View(letter=letter, labels=True))
        (image,) = next(ax for ax in figures.seen(run).fig.axes if ax.images).images
        tile = figures.SIDE + 1
        grounds = image.get_array()[::tile, tile + 3 :: tile]
        expected = labels[run.near[-1]] != labels[experiment.queries()][:, None]
        np.testing.assert_array_equal((grounds != 1).any(-1) & (grounds[..., 0] == 1), expected)


def test_a_stopped_run_says_so_and_a_view_is_told_while_it_trains():
    heard = []

    def progress(fraction, partial=None):
        heard.append((fraction, partial.config.labels, len(partial.steps)))
        return len(heard) < 3

    view = practice.View(seed=17, labels=True)
    found = practice.look(view, progress=progress)
    assert found.stopped and found.config == view and len(found.steps) == 3
    assert [labels for _, labels, _ in heard] == [True] * 3


def test_points_are_turned_to_lie_near_those_before_them():
    generator = np.random.default_rng(0)
    first, pairs = generator.normal(size=(40, 2)), generator.normal(size=(5, 2, 2))
    mirrored = np.array([[0.0, 1.0], [1.0, 0.0]])
    places, ends = experiment.turned(
        np.stack([first, first @ mirrored]), np.stack([pairs, pairs @ mirrored])
    )
    np.testing.assert_allclose(places[1], first, atol=1e-12)
    np.testing.assert_allclose(ends[1], pairs, atol=1e-12)


def printed_by_supcontrast(z1, z2, temperature, base=0.07):
    """SupContrast without labels, written out: T / T_0 times minus the log-probability of the partner, 2n anchors."""
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    total = 0.0
    for i, anchor in enumerate(z):
        logits = [(anchor @ key).item() / temperature for j, key in enumerate(z) if j != i]
        partner = (anchor @ z[(i + len(z1)) % len(z)]).item() / temperature
        total -= partner - math.log(sum(math.exp(value) for value in logits))
    return temperature / base * total / len(z)


def printed_by_google_research(z1, z2, temperature):
    """google-research/simclr, written out: the mean over n anchors of each direction, added."""
    z1, z2 = F.normalize(z1, dim=1), F.normalize(z2, dim=1)
    found = 0.0
    for a, b in ((z1, z2), (z2, z1)):
        others = (a @ a.T / temperature).fill_diagonal_(-1e9)
        logits = torch.cat([a @ b.T / temperature, others], 1)
        found += F.cross_entropy(logits, torch.arange(len(a))).item()
    return found


def test_other_programs_print_the_loss_at_the_scale_that_the_page_says():
    z1, z2 = torch.randn(2, 12, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for tau in (0.07, 0.1, 0.5):
        ours = losses.nt_xent(z1, z2, tau).item()
        assert printed_by_supcontrast(z1, z2, tau) == pytest.approx(ours * tau / 0.07)
        assert printed_by_google_research(z1, z2, tau) == pytest.approx(2 * ours)
