"""The page "Your own run": its five runs show what its text says, and the claims it quotes exist."""

import math
import pathlib
import re

import nbformat
import numpy as np
import pytest
import torch
import torch.nn.functional as F

import clbook_book
from clbook import losses
from clbook.experiments import practice
from clbook.experiments.practice import experiment
from clbook_book.course.practice import figures

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOK = nbformat.read(ROOT / "book" / "practice.ipynb", as_version=4)
TEXT = "\n\n".join(cell.source for cell in NOTEBOOK.cells if cell.cell_type == "markdown")
pytestmark = pytest.mark.usefixtures("one_thread")


def solution(label):
    """The code in the solution of the exercise `label`."""
    body = re.search(rf"````\{{solution\}} {label}\n(.*?)\n````", TEXT, re.S)[1]
    return re.search(r"```python\n(.*?)```", body, re.S)[1]


@pytest.fixture(scope="module")
def played():
    """{letter: the run that the page's explorer shows under it}."""
    return {letter: practice.look(practice.View(letter=letter)) for letter in practice.FAULTS}


def test_the_smoke_detector_of_the_solution_is_right():
    names = {}
    exec(solution("ex-pr-alarm"), names)
    assert clbook_book.check("practice", "alarm", names["alarm"]).right


def test_own_data_are_taken_as_the_reference_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = np.repeat(["ash", "beech", "fir"], 40)
    x = np.random.default_rng(0).normal(size=(120, 5)) + 5 * np.eye(5)[np.repeat([1, 0, 2], 40)]
    text = (ROOT / "book/api/experiments.md").read_text()
    found = {"x": x, "y": y}
    exec(re.search(r"\(api-own-data\)=.*?```python\n(.*?)```", text, re.S)[1], found)
    assert found["flow"].x.shape == (60, 5)
    assert np.bincount(found["flow"].labels).tolist() == [20] * 3
    # three clouds, five apart: a nearest centre finds them
    assert found["five"].nccc[-1].min() > 0.9


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
