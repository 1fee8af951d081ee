"""The kernel at work: what a pulled point does to the others is what the package's kernel says."""

import pathlib
import re

import numpy as np
import pytest
import torch
from browser import alone, barriers

from clbook import kernels
from clbook_book.course.kernel import pull
from clbook_book.live.pulling import Pulling

ROOT = pathlib.Path(__file__).parents[2]
CONFIG = pull.Config(n=16)
NETWORKS = {"128 units": {}, "4 units": {"width": 4}}
SETTINGS = {
    "blend": ("who is coupled", {0: "nobody", 1: "network", 2: "all alike"}),
    "angle": ("angle", {}),
    "donut": ("donut", {}),
}
STATUS = "document.querySelector('.clbook-status').textContent"


def of_package(config):
    """K (n, n, d, d) of the run's network, by `kernels.one_hidden`."""
    flow = pull.Pull([config])
    (inner,) = flow.state.weights[0]
    given = inner, flow.state.x[0], config.activation, config.d, 1 / config.width
    return kernels.one_hidden(*given).numpy()


def test_a_pull_moves_all_by_the_kernel():
    flow = pull.Pull([CONFIG])
    s = flow.start()
    pulls = torch.zeros_like(s.pull)
    pulls[0, 5] = torch.tensor([0.3, -1.0], dtype=torch.float64)
    row = flow.measure(s.replace(pull=pulls), s.rest, None, 0)
    truth = of_package(CONFIG)[:, 5] @ [0.3, -1.0]
    assert (row["z"] - s.rest)[0].numpy() == pytest.approx(truth, abs=1e-12)


def test_the_ends_of_the_blend_are_no_network_and_equal_entries():
    K = pull.run(CONFIG).kernel[-1]
    truth = of_package(CONFIG).diagonal(axis1=2, axis2=3).mean(-1)
    assert pytest.approx(truth) == K
    mean = K.diagonal().mean()
    alone, equal = (pull.run(CONFIG.replace(blend=blend)).kernel[-1] for blend in (0.0, 2.0))
    assert alone == pytest.approx(mean * np.eye(16))
    assert equal == pytest.approx(np.full((16, 16), mean))
    halfway = pull.run(CONFIG.replace(blend=0.5)).kernel[-1]
    assert halfway == pytest.approx((alone + K) / 2)


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    picture = pull.picture(pull.run(CONFIG))
    made = Pulling(pull.Pull, CONFIG, picture, "Who?", "Pull.", NETWORKS, SETTINGS)
    return alone(made, tmp_path_factory.mktemp("page"))


@pytest.fixture
def page(visit, block):
    return visit(block)


def status(page):
    return page.inner_text(".clbook-status")


def state(page):
    found = page.evaluate("clbook.explorers.pull.state()")
    for name in ("rest", "pull", "x", "z"):
        found[name] = np.array(found[name]).reshape(-1, 2)
    found["kernel"] = np.array(found["kernel"]).reshape(16, 16)
    return found


def grip(page, i):
    """Press the pointer on the embedded point i."""
    box, rest = page.locator(".clbook-embedding").bounding_box(), state(page)["rest"]
    scale = min(box["width"], box["height"]) / (2.5 * max(1.0, abs(rest).max()))
    x = box["x"] + box["width"] / 2 + rest[i, 0] * scale
    y = box["y"] + box["height"] / 2 - rest[i, 1] * scale
    page.mouse.move(x, y)
    page.mouse.down()
    return x, y


@pytest.mark.parametrize(("way", "width"), enumerate([128, 4]))
def test_a_dragged_point_takes_the_others_along_by_the_kernel(page, way, width):
    """Of either network: a pull with the mouse moves every point by K_ij times it, to 1e-6."""
    page.click(f"[data-way='{way}']")
    x, y = grip(page, 3)
    page.mouse.move(x + 40, y - 20, steps=4)
    now = state(page)
    page.mouse.up()
    j = now["chosen"]
    K = of_package(CONFIG.replace(width=width))
    assert abs(now["pull"][j]).min() > 0.1
    truth = K[:, j] @ now["pull"][j]
    assert now["z"] - now["rest"] == pytest.approx(truth, abs=1e-6)
    assert now["kernel"] == pytest.approx(K.diagonal(axis1=2, axis2=3).mean(-1), abs=1e-6)
    after = state(page)  # they stay where they were pulled to
    assert after["rest"] == pytest.approx(now["z"]) and not after["pull"].any()
    assert status(page).startswith(f"Point {j + 1} of 16, ")


def set_slider(page, label, value):
    page.locator(f"label:has-text('{label}') input").evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", value
    )


def test_sliders_change_data_and_kernel(page):
    set_slider(page, "angle", 30)
    found, truth = state(page), pull.run(CONFIG.replace(angle=30.0))
    assert found["x"] == pytest.approx(truth.x, abs=1e-6)
    assert found["kernel"] == pytest.approx(truth.kernel[-1], abs=1e-6)
    said = r"The mean entry of K is [\d.]+ inside a cluster and [\d.]+ between clusters\."
    assert re.fullmatch(said, status(page))
    set_slider(page, "donut", 1)
    truth = pull.run(CONFIG.replace(angle=30.0, donut=1.0))
    assert state(page)["x"] == pytest.approx(truth.x, abs=1e-6)
    set_slider(page, "coupled", 0)
    x, y = grip(page, 3)
    page.mouse.move(x + 40, y, steps=2)
    now = state(page)
    page.mouse.up()
    moved = abs(now["z"] - now["rest"]).max(1) > 1e-9
    assert moved.sum() == 1 and moved[now["chosen"]]
    page.click("[data-do=reset]")
    assert state(page)["kernel"] == pytest.approx(pull.run(CONFIG).kernel[-1], abs=1e-6)


def test_a_row_of_the_kernel_is_chosen_by_pointer_and_by_key(page):
    box = page.locator(".clbook-matrix").bounding_box()
    side = min(box["width"], box["height"]) / 16
    page.mouse.move(box["x"] + 20, box["y"] + 7.5 * side)
    assert state(page)["chosen"] == 7
    page.focus(".clbook-embedding")
    page.keyboard.press("PageDown")
    assert state(page)["chosen"] == 8
    assert status(page).startswith("Point 9 of 16, orange square: K is ")
    label = page.get_attribute(".clbook-matrix", "aria-label")
    assert "16 rows and columns" in label and "Row of Point 9" in label
    before = state(page)["rest"]
    page.keyboard.press("ArrowRight")
    truth = of_package(CONFIG)[:, 8] @ [0.25, 0.0]
    assert state(page)["rest"] - before == pytest.approx(truth, abs=1e-6)
    assert status(page).startswith("Point 9 of 16, orange square, moved by ")
    page.keyboard.press("Home")
    assert state(page)["rest"] == pytest.approx(before)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_all_pushes_and_no_barriers(visit, block, width, theme):
    motion = "reduce" if theme == "dark" else "no-preference"
    page = visit(block, width=width, reduced_motion=motion)
    if theme == "dark":
        page.evaluate("""() => {
          document.documentElement.dataset.theme = "dark";
          document.body.style.cssText = "background: #121212; color: #ced6dd";
        }""")
    page.click("[data-do=pushes]")
    page.wait_for_function(f"{STATUS}.startsWith('How far')")
    grip(page, 3)
    page.mouse.up()
    assert status(page).startswith("These are arrows.")
    set_slider(page, "angle", 80)
    pushes, moves = (float(part.split(",")[0].strip(".")) for part in status(page).split("s ")[-2:])
    assert pushes < 0.6 < 0.9 < moves
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []


def test_an_address_shows_the_block_alone(visit, block):
    """With `?only=pull` nothing else of its page is seen."""
    script = f'<script src="{(ROOT / "book/_static/book.js").as_uri()}"></script>'
    path = block.with_name("with-script.html")
    path.write_text(block.read_text().replace("</main>", f"</main>{script}"))
    for name, alone_there in (("pull", True), ("another", False)):
        page = visit(path, at=f"?only={name}")
        assert page.is_visible(".clbook-pull") and page.is_visible("h1") != alone_there


def test_a_small_block_has_the_sliders_that_it_is_given_and_no_button_for_its_one_network():
    made = pull.block(CONFIG, "Who?", "Pull.", sliders=("angle",))
    assert made.networks == {"": {}} and list(made.settings) == ["angle"]
    assert "data-way" not in made._repr_html_().partition("<script")[0]


def test_without_a_script_a_picture_stands_there(visit, block):
    page = visit(block, java_script_enabled=False)
    assert "the points of its cluster follow it" in page.get_attribute("figure img", "alt")
    assert "takes JavaScript" in status(page)
    assert not page.is_visible(".clbook-pair")


def test_kernels_are_blended_where_they_are(monkeypatch):
    """On a GPU too: tensors without values stand for its own."""
    flow = pull.Pull([pull.Config(n=6, width=4)]).to("meta")
    n, d = flow.state.rest.shape[1:]
    K = torch.ones(1, n, n, d, d, dtype=torch.float64, device="meta")
    monkeypatch.setattr(pull.Pull, "network_kernel", lambda self, s: K)
    assert flow.blended(flow.state).device.type == "meta"
