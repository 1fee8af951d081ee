"""The toy at the beginning of the chapter on labels: points that flee from all others, or from other classes alone."""

import numpy as np
import pytest
import torch
from browser import alone, barriers

from clbook import losses, metrics
from clbook_book.course.alignment import play
from clbook_book.live import panels
from clbook_book.live.inpage import train_here

SMALL = play.Config(n=20, steps=60)
STATUS = "document.querySelector('.clbook-status').textContent"
ENDED = f"{STATUS}.includes('iterations in')"

# The training in Python.


def test_what_is_recorded_is_what_metrics_and_losses_say():
    result = play.run(SMALL.replace(classes=4, tau=0.3))
    labels = torch.tensor(result.labels)
    for free, spared, alike, gap in zip(
        result.free, result.spared, result.alike, result.gap, strict=True
    ):
        assert alike == pytest.approx(metrics.linear_cka(free, spared), abs=1e-9)
        z = torch.tensor(free)
        assert gap == pytest.approx(float(losses.dcl(z, z, 0.3) - losses.nscl(z, z, labels, 0.3)))


def test_a_stroke_leads_from_a_point_along_its_push():
    result = play.run(SMALL.replace(classes=4, tau=0.3))
    labels = torch.tensor(result.labels)
    trained = {
        "free_push": lambda z: losses.dcl(z, z, 0.3),
        "spared_push": lambda z: losses.nscl(z, z, labels, 0.3),
    }
    for name, loss in trained.items():
        ends = torch.tensor(getattr(result, name)[-1])
        (slope,) = torch.autograd.grad(loss(z := ends[0].clone().requires_grad_()), z)
        stroke = ends[1] - ends[0]
        assert (stroke * ends[0]).sum(1).abs().max() < 1e-9, "along the circle"
        around = torch.stack([-ends[0, :, 1], ends[0, :, 0]], 1)
        push = -play.STROKE * SMALL.n * 0.3 * (slope * around).sum(1)
        torch.testing.assert_close((stroke * around).sum(1), push)


def test_points_with_a_class_each_are_spared_nothing():
    result = play.run(SMALL.replace(classes=20))
    assert np.array_equal(result.free, result.spared)
    assert result.gap == pytest.approx(0, abs=1e-12)


def test_more_classes_than_points_are_not_allowed():
    with pytest.raises(ValueError, match="classes = 21 is not allowed"):
        SMALL.replace(classes=21)


# What the page says of it.


# The block in a page.


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    """The toy with 20 points, alone on a page."""
    shown = (
        panels.points("free", views="free_push", ball=True, title="no labels"),
        panels.points("spared", views="spared_push", ball=True, title="labels"),
        panels.curves(alike="alike", gap="loss gap", limits=(0.0, 1.05)),
    )
    how = {"settings": ("tau",), "classes": (2, 10), "name": "push", "title": "Who pushes"}
    made = train_here(play.run, play.pushes, SMALL, panels=shown, **how)
    return alone(made, tmp_path_factory.mktemp("push"))


@pytest.mark.parametrize("width", [390, 1200])
def test_a_page_trains_what_python_does(visit, block, width):
    page = visit(block, width=width)
    assert "Two circles with the same 20 points in 2 colours" in page.get_attribute("img", "alt")
    for classes in (2, 10):
        found = page.evaluate(
            "(classes) => clbook.explorers.push.run({classes}).then(({alike, gap}) => [alike[0], gap[0]])",
            classes,
        )
        truth = play.run(SMALL.replace(classes=classes))
        assert found == pytest.approx([truth.alike[-1], truth.gap[-1]], rel=1e-3, abs=1e-5)
    page.click("text='2'")
    page.wait_for_function(ENDED)
    assert "loss gap" in page.get_attribute("canvas", "aria-label")
    canvas = page.locator("canvas").bounding_box()
    # On a phone the circles stand side by side above the curves, which are lower there.
    height = 260 if width > 480 else canvas["width"] / 2 + 206
    assert canvas["height"] == pytest.approx(height, abs=3)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []


def test_it_is_used_by_keys_alone(visit, block):
    page = visit(block)
    page.focus("[data-do=train]")
    page.keyboard.press("Enter")
    page.wait_for_function(ENDED)
    before = page.evaluate(STATUS)
    page.focus("input[type=range]")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{ENDED} && {STATUS} !== {before!r}")
