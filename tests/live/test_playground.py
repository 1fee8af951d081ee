"""The toy of the front page: its training is the chapter's, and what a reader does to the points is what is trained."""

import pathlib

import numpy as np
import pytest
import torch
from browser import alone, barriers
from stepping import advance

from clbook import metrics
from clbook.experiments import separability
from clbook.losses import simplified
from clbook_book.course.separability import play
from clbook_book.live.playground import Playground
from clbook_book.live.tasks import Goal

CONFIG = play.Config(n=50, drawn=40, steps=150)
STATUS = "document.querySelector('.clbook-status').textContent"
ENDED = f"{STATUS}.startsWith('After')"

# The training in Python.


def test_with_every_point_there_it_is_the_training_of_the_chapter():
    shared = {"n": 40, "d": 2, "eps": 0.3, "tau": 0.3, "steps": 60, "seed": 3}
    for different in ({}, {"network": False}, {"augmentation": "none"}):
        changes = shared | different
        toy = play.run(CONFIG.replace(drawn=40, **changes))
        truth = separability.run(
            separability.Config(lr_over_tau=0.03, spread=0.25, noise=0.2, **changes)
        )
        assert np.array_equal(toy.steps, truth.steps)
        assert toy.z == pytest.approx(truth.z, rel=1e-4, abs=1e-5)


def test_loss_and_neighbours_are_those_of_the_points_that_are_there():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(1, 9, 2, generator=generator)
    views = torch.randn(1, 3, 9, 2, generator=generator)
    labels = torch.tensor([[0, 1, 0, 1, 1, 0, 0, 1, 0]])
    there = torch.tensor([[1.0, 0, 1, 1, 1, 0, 1, 1, 1]])
    mine = there[0] > 0
    found = play.masked_loss(z, views, there, torch.full((1, 1, 1), 0.4))
    assert found.item() == pytest.approx(simplified(z[:, mine], views[:, :, mine], 0.4).item())
    share = metrics.neighbour_accuracy(z[0, mine], labels[0, mine], k=1)
    assert play.own_neighbours(z, labels, there).item() == pytest.approx(share)


@pytest.mark.parametrize("network", [True, False])
def test_a_shuffle_deals_places_and_nothing_else(network):
    flow = play.MovedPoints([CONFIG.replace(network=network)])
    s = flow.start()
    for t in range(20):
        s = advance(flow, s, t)
    still = s.replace(lr=0 * s.lr)
    drawn = flow.draw()
    before, _ = flow.forward(still, drawn, 20)
    order = torch.arange(50)
    order[:40] = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    asked = still.replace(order=order[None])
    after, losses = flow.forward(asked, drawn, 20)
    torch.testing.assert_close(after[0, :40], before[0, order[:40]])
    later = asked.replace(**flow.step(asked, drawn, losses, 20))
    again, _ = flow.forward(later, drawn, 21)  # the places stay, and nobody is moved twice
    torch.testing.assert_close(again, after)


def test_a_number_of_points_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match="drawn = 60 is not allowed"):
        play.Config(n=50, drawn=60)


# In the page.


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    runs = [play.run(CONFIG.replace(network=network)) for network in (True, False)]
    goals = (
        Goal("Train each point alone", "network == off"),
        Goal("Sort them", "network == on", "neighbours > 0.5"),
    )
    made = Playground(
        play.MovedPoints,
        CONFIG,
        play.ending(*runs),
        title="Who sorts?",
        caption="Try.",
        goals=goals,
    )
    return alone(made, tmp_path_factory.mktemp("page"))


@pytest.fixture
def page(visit, block):
    return visit(block)


def status(page):
    return page.inner_text(".clbook-status")


def points(page):
    found = page.evaluate("clbook.explorers.play.points()")
    there = np.array(found["there"])
    return np.array(found["x"]).reshape(-1, 2), np.array(found["label"]), there


def on_screen(page, x):
    """Where a point of the plane stands on the screen."""
    box = page.locator(".clbook-data").bounding_box()
    scale = min(box["width"], box["height"]) / 3.2
    right = box["x"] + box["width"] / 2 + (x[0] - 0.5) * scale
    return right, box["y"] + box["height"] / 2 - (x[1] - 0.5) * scale


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=6)
    page.mouse.up()


def of_python(page, config):
    """Python's run of `config` on the points that stand in the page, and which of them are there."""
    x, labels, there = points(page)

    class Mine(play.MovedPoints):
        def setup(self):
            super().setup()
            self.state.x = torch.tensor(x, dtype=torch.float32)[None]
            self.state.label = torch.tensor(labels)[None]
            self.state.there = torch.tensor(there, dtype=torch.float32)[None]

    return Mine.run(config), there > 0


@pytest.mark.parametrize("network", [True, False])
def test_the_run_on_dragged_points_is_that_of_python(page, network):
    drawn = play.MovedPoints([CONFIG]).state.x[0].numpy()
    x, _, there = points(page)
    assert x == pytest.approx(drawn, abs=1e-6) and there.sum() == 40
    drag(page, on_screen(page, x[0]), on_screen(page, (-0.4, 0.6)))
    page.click("[data-tool=cluster]")
    assert status(page) == "Drag a point: its whole cluster comes along."
    drag(page, on_screen(page, x[30]), on_screen(page, x[30] + np.array([0.3, -0.2])))
    page.click("[data-tool=paint1]")
    drag(page, on_screen(page, (-0.6, -0.6)), on_screen(page, (-0.1, -0.6)))
    page.click("[data-tool=delete]")
    page.mouse.click(*on_screen(page, x[3]))
    now, labels, there = points(page)
    assert now[0] == pytest.approx([-0.4, 0.6], abs=0.03)  # it is gripped within a pixel or two
    assert now[30] - x[30] == pytest.approx([0.3, -0.2], abs=0.03)
    assert now[25] - x[25] == pytest.approx(now[30] - x[30], abs=1e-5)
    assert there[3] == 0 and 42 <= there.sum() <= 49 and labels[40] == 1
    found = page.evaluate(
        "network => clbook.explorers.play.run({network, seed: 3, steps: 150})", network
    )
    truth, mine = of_python(page, CONFIG.replace(network=network, seed=3))
    z = np.array(found["z"]).reshape(-1, 2)
    largest = float(abs(truth.z[-1][mine]).max())
    assert found["t"] == 150
    assert z[mine] == pytest.approx(truth.z[-1][mine], abs=1e-4 * largest)
    assert found["loss"][0] == pytest.approx(truth.loss[-1], abs=1e-4)
    assert found["neighbours"][0] == pytest.approx(truth.neighbours[-1], abs=1e-6)


def test_goals_are_noticed_where_a_run_ends_and_are_kept(page):
    marks = page.locator(".clbook-goals em")
    assert marks.all_inner_texts() == ["(open)", "(open)"]
    page.click("[data-way='1']")
    page.click("[data-do=train]")
    page.wait_for_function(ENDED)
    assert status(page).endswith("You have reached a goal: Train each point alone.")
    page.reload()
    assert marks.all_inner_texts() == ["(reached in run 1)", "(open)"]
    page.click("[data-do=train]")
    page.wait_for_function(ENDED)
    assert play.run(CONFIG).neighbours[-1] > 0.5
    assert marks.all_inner_texts() == ["(reached in run 1)", "(reached in run 1)"]


def test_a_program_may_not_ask_for_what_the_config_refuses(page):
    for name, value in (("seed", "1.5"), ("seed", "-1"), ("steps", "0"), ("network", "2")):
        with pytest.raises(Exception, match=f"RangeError: {name} = {value} is not allowed: "):
            page.evaluate(f"window.clbook.explorers.play.run({{{name}: {value}}})")
    with pytest.raises(Exception, match="tau is not allowed: it must be one of steps, seed, netw"):
        page.evaluate("window.clbook.explorers.play.run({tau: 1})")
    assert status(page) == "Press Train."


def shown(page):
    """The loss and the share of neighbours that the page shows."""
    loss = page.inner_text(".clbook-loss").replace("−", "-")
    return float(loss), page.evaluate("document.querySelector('meter').value")


def test_shuffle_leaves_the_loss_and_takes_the_order(page):
    page.click("[data-do=train]")
    assert page.inner_text("[data-do=train]") == "Pause"
    page.wait_for_function(ENDED)
    loss, share = shown(page)
    assert share > 0.9
    page.click("[data-do=shuffle]")
    assert shown(page)[0] == loss and shown(page)[1] < 0.75
    assert status(page).startswith("Shuffled: loss")
    page.click("[data-do=train]")  # from there it goes on
    page.wait_for_function(ENDED)
    assert "300 steps" in status(page)


def test_alone_the_loss_is_lower_and_the_colours_stay_mixed(page):
    page.click("[data-do=train]")
    page.wait_for_function(ENDED)
    together = shown(page)
    page.click("[data-way='1']")
    page.click("[data-do=train]")
    page.wait_for_function(ENDED)
    assert "each point alone" in status(page)
    assert shown(page)[0] < together[0] and shown(page)[1] < 0.75


def test_pause_goes_on_where_it_was_and_reset_begins_anew(page):
    page.evaluate("() => { clbook.explorers.play.run({steps: 100000}); }")
    page.wait_for_function("document.querySelector('meter').value > 0.9")
    page.click("[data-do=train]")
    assert status(page).startswith("Paused after ")
    stood = int(status(page).split()[2])
    page.click("[data-do=train]")
    page.click("[data-do=train]")
    assert int(status(page).split()[2]) >= stood
    x, _, _ = points(page)
    drag(page, on_screen(page, x[0]), on_screen(page, (-0.4, 0.6)))
    page.click("[data-do=again]")  # with the points that the reader has made
    assert status(page).startswith("Back at the start") and abs(shown(page)[0]) < 0.1
    assert points(page)[0][0] == pytest.approx([-0.4, 0.6], abs=0.03)
    page.click("[data-tool=delete]")
    page.click("[data-do=reset]")
    assert status(page) == "Press Train." and points(page)[0] == pytest.approx(x)
    # Again a click takes nothing away.
    assert page.get_attribute("[data-tool=point]", "aria-pressed") == "true"


def test_the_keys_choose_move_add_and_take_away(page):
    x, _, _ = points(page)
    page.focus(".clbook-data")
    page.keyboard.press("PageDown")
    assert status(page).startswith("Point 2 of 40, blue disc, at")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    now, _, _ = points(page)
    assert now[1] - x[1] == pytest.approx([0.08, 0.08], abs=1e-5)
    assert now[0] == pytest.approx(x[0])
    page.keyboard.press("Shift+ArrowLeft")
    assert points(page)[0][0] - x[0] == pytest.approx([-0.08, 0], abs=1e-5)
    page.keyboard.press("Enter")
    assert points(page)[2].sum() == 41 and status(page).startswith("Point 41 of 41, blue disc")
    page.keyboard.press("Delete")
    assert points(page)[2].sum() == 40
    for _ in range(45):
        page.keyboard.press("Delete")
    assert points(page)[2].sum() == 4 and status(page) == "The last 4 points stay."


def test_there_is_room_for_no_more_points_than_the_program_has(page):
    page.click("[data-tool=paint0]")
    for k in range(4):
        drag(page, on_screen(page, (-0.9, -0.9 + 0.4 * k)), on_screen(page, (1.9, -0.8 + 0.4 * k)))
    assert points(page)[2].sum() == 50 and "There is room for 50 points" in status(page)


def finger(page, start, *way):
    """Put a finger down, move it along, and lift it."""
    client = page.context.new_cdp_session(page)
    steps = [("touchStart", start), *(("touchMove", place) for place in way), ("touchEnd", None)]
    for kind, place in steps:
        touches = [] if place is None else [{"x": place[0], "y": place[1]}]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


def test_touch_drags_too(visit, block):
    page = visit(block, width=390, height=844, has_touch=True)
    x, _, _ = points(page)
    finger(page, on_screen(page, x[0]), on_screen(page, (-0.4, 0.6)))
    page.wait_for_function(f"{STATUS}.startsWith('Point 1 of 40')")
    assert points(page)[0][0] == pytest.approx([-0.4, 0.6], abs=0.05)


def test_a_finger_that_meets_no_point_scrolls_the_page(visit, block):
    page = visit(block, width=390, height=500, has_touch=True)
    x, y = on_screen(page, (1.8, -0.8))
    finger(page, *((x, y - up) for up in range(0, 120, 10)))
    page.wait_for_function("scrollY > 0")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_it_has_no_barriers_and_fits_a_phone(visit, block, width, theme):
    page = visit(block, width=width, reduced_motion="reduce")
    if theme == "dark":
        page.evaluate("""() => {
          document.documentElement.dataset.theme = "dark";
          document.body.style.cssText = "background: #121212; color: #ced6dd";
        }""")
    page.click("[data-do=train]")
    page.wait_for_function(ENDED)
    page.click("[data-do=shuffle]")
    label = page.get_attribute(".clbook-embedding", "aria-label")
    assert label.startswith("The embedding. 40 points, step 150, through a network: loss")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []


def test_without_a_script_a_picture_stands_there(visit, block):
    page = visit(block, java_script_enabled=False)
    assert page.is_visible("figure img")
    assert "each point trained alone" in page.get_attribute("figure img", "alt")
    assert "takes JavaScript" in status(page)
    assert not page.is_visible(".clbook-pair")


INTRO = pathlib.Path(__file__).parents[2] / "_build" / "html" / "book" / "intro.html"


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_of_the_book_trains(visit, width, height):
    if not INTRO.exists():
        pytest.skip("there is no built book")
    page = visit(INTRO, width=width, height=height)
    for part in (".clbook-data", ".clbook-embedding", "[data-do=train]", ".clbook-meters"):
        box = page.locator(f".clbook-play {part}").bounding_box()
        assert box["y"] + box["height"] <= height
    page.click(".clbook-play [data-do=train]")
    page.wait_for_function(ENDED.replace(".clbook-status", ".clbook-play .clbook-status"))
    assert page.evaluate("document.querySelector('.clbook-play meter').value") > 0.9
