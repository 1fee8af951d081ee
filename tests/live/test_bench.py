"""The bench: what its loss leaves out, points that a reader paints, the link that keeps them, and what decided."""

import numpy as np
import pytest
import torch
from blocks import BOOK, made_in
from browser import alone, barriers

from clbook_book.course.separability import bench, play
from clbook_book.live.ranges import knobs

STATUS = "document.querySelector('.clbook-status').textContent"
TOLD = "document.querySelector('.clbook-suspects p').textContent"


def test_sparing_all_classmates_leaves_their_terms_out():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(1, 6, 2, generator=generator)
    labels = torch.tensor([0, 1, 0, 1, 1, 0])
    others = (labels[:, None] != labels).float() + torch.eye(6)
    found = play.masked_loss(
        z, z[:, None], torch.ones(1, 6), torch.full((1, 1, 1), 0.4), others[None]
    )
    squares = (z[0][:, None] - z[0]).square().sum(-1) / -0.8
    shares = torch.where(others > 0, squares, -torch.inf).softmax(-1)
    assert found.item() == pytest.approx(shares.diagonal().log().mean().neg().item() - np.log(6))


def test_an_order_of_the_start_parts_the_colours_and_only_at_first():
    config = bench.Config(network=False, steps=5, record_every=1, n=20, drawn=20)
    plain, ordered = (bench.run(config.replace(ordered=share)) for share in (0.0, 1.0))
    moved = ordered.z[0] - plain.z[0]
    half = np.where(ordered.labels == 0, -config.eps / 2, config.eps / 2)
    assert moved == pytest.approx(np.stack([half, 0 * half], 1), abs=1e-6)
    assert ordered.readout[0] == 1 and abs(ordered.z[-1] - ordered.z[0]).max() < config.eps


@pytest.mark.parametrize(
    ("low", "high", "settings"),
    [
        (0.9, 1.0, {"turn": 90.0}), (0.6, 0.95, {"turn": 180.0}), (0.9, 1.0, {"eps": 3.0}),
        (0.5, 0.7, {"eps": 10.0}), (0.4, 0.7, {"eps": 10.0, "spared": 1.0}),
        (1.0, 1.0, {"eps": 10.0, "ordered": 1.0}),
    ],
)  # fmt: skip
def test_the_answers_to_the_questions_are_what_the_bench_gives(low, high, settings):
    assert low <= bench.run(bench.Config(**settings)).readout[-1] <= high


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    (made,) = made_in(BOOK / "bench.ipynb")
    return alone(made, tmp_path_factory.mktemp("page"))


def begun(page):
    page.wait_for_function("/iteration 0/.test(document.querySelector('canvas').ariaLabel ?? '')")


ENDS = """end => {
  for (const range of document.querySelectorAll("input[type=range]")) {
    range.value = range[end];
    range.dispatchEvent(new Event("input"));
  }
  return clbook.explorers.bench.settings(); }"""


def test_sliders_have_both_ends_of_their_ranges_and_another_seed_is_another(visit, block):
    page = visit(block, "Math.random = () => 0.7")
    begun(page)
    offered = knobs([bench.Config()], ("noise", "turn", "spread", "tau", "spared", "ordered"))
    for end, side in (("min", "low"), ("max", "high")):
        found = page.evaluate(ENDS, end)
        for slider in offered:
            assert found[slider["name"]] == pytest.approx(slider[side]), slider["name"]
    page.click("[data-do=reset]")
    page.get_by_role("button", name="Another seed").click()
    page.wait_for_function("document.querySelector('canvas').ariaLabel.includes('seed 7000:')")


def test_points_are_painted_and_a_link_trains_on_them(visit, block):
    page = visit(block)
    begun(page)
    page.get_by_role("button", name="paint").first.click()
    box = page.locator(".clbook-hand").bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + 20)
    found = page.evaluate(
        "clbook.explorers.bench.run({...clbook.explorers.bench.settings(), network: false})"
    )
    points = page.evaluate("clbook.explorers.bench.settings().points")
    assert (
        len(points) == 5 * 61 and points[300] == "0"
    )  # the first of the points that are free is blue now
    page.wait_for_function("location.hash.includes('points')")
    again = visit(block, at=page.evaluate("location.hash"))
    again.wait_for_function(f"{STATUS}.includes('iterations in')")
    there = again.evaluate(
        "clbook.explorers.bench.run({...clbook.explorers.bench.settings(), seed: 0})"
    )
    assert there["z"] == found["z"]
    again.get_by_role(
        "button", name="donut"
    ).click()  # other data take the place of the painted ones
    assert again.evaluate("clbook.explorers.bench.settings().points") == ""
    page.locator(".clbook-hand").focus()
    page.keyboard.press("Delete")
    page.wait_for_function(f"{STATUS}.includes('iterations in')")


def test_what_decided_is_said_with_its_numbers(visit, block):
    page = visit(block)
    begun(page)
    page.evaluate("clbook.explorers.bench.run({data: 'donut', turn: 180})")
    page.get_by_role("button", name="What decided here?").click()
    page.wait_for_function(f"{TOLD}.includes('It takes')")
    told = page.inner_text(".clbook-suspects p")
    assert "It takes the views and the network: without the views it is 5" in told
    rows = page.locator(".clbook-suspects tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows][0] == "as it stands" and len(rows) == 5
    assert rows[3].endswith("is off already")
    assert page.evaluate("clbook.explorers.bench.settings().turn") == 180
    assert barriers(page) == []
    page.get_by_role("button", name="Another seed").click()  # it was true of the seed before
    page.wait_for_function("document.querySelector('.clbook-suspects table').hidden")
