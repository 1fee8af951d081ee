"""The wall of photographs: what lies beside what, the record of it, and the page that shows it."""

import dataclasses
import io
import zipfile

import numpy as np
import pytest
import torch
from browser import alone, barriers
from PIL import Image

from clbook.experiments.images import neighbours, readout
from clbook.experiments.images import wall as runs
from clbook.experiments.images.views import views as views_of_training
from clbook.results import records as reading
from clbook_book import records
from clbook_book.course.images.figures import OBJECTS
from clbook_book.course.photographs import sprites
from clbook_book.course.photographs import wall as page
from clbook_book.course.photographs.runs import beside
from clbook_book.live import photograph as drawing

SMALL = dict(width=2, test=200, batch=150, projector=(8, 6), epochs=2, restart=1)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """A folder in the layout of CIFAR-10's zip of JPEG files: images of ten tones, with noise."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    (folder / "cifar10").mkdir()
    with zipfile.ZipFile(folder / "cifar10" / "cifar10_jpeg.zip", "w") as packed:
        for part, count in (("train", 32), ("test", 20)):
            for k, name in enumerate(sorted(OBJECTS)):
                for i in range(count):
                    pixels = rng.integers(20 * k, 20 * k + 60, (32, 32, 3)).astype(np.uint8)
                    file = io.BytesIO()
                    Image.fromarray(pixels).save(file, "jpeg")
                    packed.writestr(f"{part}/{name}/{i:04}.jpg", file.getvalue())
    return folder


@pytest.fixture(scope="module")
def ran(photographs, tmp_path_factory):
    """A small run of the wall, whole, and its checkpoint."""
    path = tmp_path_factory.mktemp("run") / "checkpoint.pt"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_DATA", str(photographs))
        patch.setenv("CLBOOK_CHECKPOINT", str(path))
        patch.setattr(runs, "POOL", 30)
        result = runs.run(runs.Config(**SMALL))
    return result, path


@pytest.fixture(scope="module")
def record(ran):
    recipe = records.recipes()["photographs-wall"]
    recipe = dataclasses.replace(recipe, configs=(ran[0].config,))
    return records.labelled(recipe, [ran[0]])


def test_the_networks_are_read_out_before_training_and_at_the_readouts(ran):
    result, _ = ran
    assert runs.readouts(5, 0) == [0, 1, 3, 5] and runs.readouts(30, 0) == [0, 1, 3, 10, 30]
    assert runs.readouts(36, 12) == [0, 1, 3, 10, 12, 30, 36]
    assert result.epochs.tolist() == [0, 1, 2]
    assert np.isnan(result.loss[0]) and np.isfinite(result.loss[1:]).all()
    assert result.nearest.shape == (4, 200, 8) and result.plane.shape == (4, 200, 2)
    assert result.confusion.sum(2).tolist() == [[20] * 10] * 4
    assert result.knn == pytest.approx([np.trace(table) / 200 for table in result.confusion])
    assert abs(result.plane).max() <= 1 + 1e-6
    assert result.spectrum_h.shape == (3, 8) and result.spectrum_z.shape == (3, 6)


def test_the_learning_rate_falls_twice_when_it_starts_anew(photographs, monkeypatch):
    """Up to the restart a run is the shorter run, which can so be continued."""
    monkeypatch.setenv("CLBOOK_DATA", str(photographs))
    trainer = runs.Trainer(runs.Config(**SMALL | {"epochs": 5, "restart": 2}), torch.device("cpu"))
    shorter = runs.Trainer(runs.Config(**SMALL | {"epochs": 2, "restart": 0}), torch.device("cpu"))
    assert trainer.batches == shorter.batches == 2
    factors = [trainer.factor(t) for t in range(1, 11)]
    assert factors[:4] == [shorter.factor(t) for t in range(1, 5)]
    assert factors[:4] == pytest.approx([0.5, 1.0, 0.75, 0.25])
    assert factors[4] > 0.9 and factors[4:] == sorted(factors[4:], reverse=True)
    with pytest.raises(ValueError, match="restart = 5 is not allowed: restart must be less than"):
        runs.Config(restart=5, epochs=5)


def test_a_checkpoint_gives_the_same_readouts(ran, photographs, monkeypatch):
    result, path = ran
    monkeypatch.setenv("CLBOOK_DATA", str(photographs))
    monkeypatch.setattr(runs, "POOL", 30)
    monkeypatch.setattr(runs, "linear_probe", lambda *points: 0.0)  # it takes half of the time
    again = runs.run(result.config, checkpoint=path)
    assert (again.nearest == result.nearest).mean() > 0.99
    assert again.knn == pytest.approx(result.knn, abs=0.02)
    assert np.array_equal(again.steps, result.steps)


def test_a_run_that_ends_early_has_its_losses(ran, photographs, monkeypatch):
    monkeypatch.setenv("CLBOOK_DATA", str(photographs))
    monkeypatch.setattr(runs.images, "PROGRESS_EVERY", 0.0)
    early = runs.run(ran[0].config, progress=lambda fraction, partial: fraction < 0.3)
    found = beside([early])
    assert set(found) == {"steps"}
    assert found["steps"][0] == pytest.approx(ran[0].steps[: len(early.steps)], rel=1e-4)


def test_neighbours_are_those_of_the_readout():
    generator = torch.Generator().manual_seed(0)
    train, test = torch.randn(2, 300, 5, generator=generator)
    y, y_test = torch.arange(300) % 3, torch.arange(300) % 3
    votes = y[neighbours.nearest(train, test, 10)]
    guessed = neighbours.elected(votes, 3)
    share = float((guessed == y_test).float().mean())
    assert share == pytest.approx(readout.knn(train, y, test, y_test))
    table = neighbours.confusion(y_test, guessed, 3)
    assert table.sum() == 300 and table[1, 2] == int(((y_test == 1) & (guessed == 2)).sum())


def test_principal_components_are_those_of_the_training_images():
    generator = torch.Generator().manual_seed(0)
    train = torch.randn(50, 4, generator=generator) * torch.tensor([1.0, 5.0, 0.1, 2.0]) + 3
    found, other = neighbours.principal(train, train[:7], 2)
    assert found.shape == (50, 2) and found.std(0).argmax() == 0
    assert np.allclose(found[:7], other, atol=1e-4)
    assert abs(np.corrcoef(found[:, 0], train[:, 1])[0, 1]) > 0.99  # the largest comes first


def test_a_sprite_keeps_its_images_apart():
    tones = np.linspace(0, 255, 50).astype(np.uint8)
    images = np.ones((50, 3, 32, 32), np.uint8) * tones[:, None, None, None]
    again = sprites.cut(sprites.sprite(images), 50)
    assert again.shape == images.shape
    assert abs(again.astype(int) - images.astype(int)).max() <= 3


def test_the_record_has_what_the_run_found(ran, record):
    result, _ = ran
    first = record.isel(run=0)
    near = record.tile_class.values[first.nearest.values]
    assert np.array_equal(near, result.pool_labels[result.nearest])
    assert np.array_equal(record.tile_class[:200], result.labels)
    own = neighbours.among_its_own(near, result.labels).mean(1)
    assert own == pytest.approx(result.share) and own == pytest.approx(first.share.values)
    tiles = sprites.cut(record.sprite.values, record.sizes["tile"])
    last = first.nearest.values[-1, 7, 0]
    assert abs(tiles[last].astype(int) - result.pool[result.nearest[-1, 7, 0]]).mean() < 25


def test_a_part_of_the_wall_has_the_same_neighbours(record):
    few = page.part(record, 2)
    assert few.sizes["photograph"] == 20
    beside = few.tile_class.values[few.isel(run=0).nearest.values[:, 3]]
    whole = record.tile_class.values[record.isel(run=0).nearest.values[:, 21]]
    assert np.array_equal(beside, whole)


@pytest.mark.parametrize("name", ["photographs-wall", "photographs-wall-large"])
def test_the_books_records_are_small_and_complete(name):
    kept = records.load(name)
    assert (reading.folder() / f"{name}.nc").stat().st_size < 2_000_000
    assert kept.sizes["photograph"] == 200 and kept.sizes["neighbour"] == 8
    for _ in range(2):  # each brings style and script
        text = page.Wall(kept, "The wall")._repr_html_()
        assert len(text) < 3_000_000
        assert text.count("function clbookWall(") == text.count('<style data-file="wall">.') == 1


# The page, in a browser.


@pytest.fixture(scope="module")
def path(record, tmp_path_factory):
    """The wall, alone in a page."""
    return alone(page.Wall(record, "The wall"), tmp_path_factory.mktemp("page"))


def test_the_wall_is_used_by_keyboard_and_says_what_it_shows(visit, path, ran):
    result, _ = ran
    wall = visit(path)
    share, slider = wall.locator(".clbook-share"), wall.locator("input[type=range]")
    assert share.inner_text().startswith(f"By pixels, {round(200 * result.share[0])} of 200")
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == "After 2 epochs"
    assert share.inner_text().startswith(f"After 2 epochs, {round(200 * result.share[-1])} of 200")
    chosen = wall.locator("[role=grid] button[tabindex='0']")
    assert chosen.count() == 1 and chosen.get_attribute("aria-label").startswith("cat 1 of 20")
    chosen.focus()
    wall.keyboard.press("ArrowDown")
    wall.keyboard.press("ArrowRight")
    label = wall.evaluate("document.activeElement.getAttribute('aria-label')")
    near = result.pool_labels[result.nearest[-1, 4 * 20 + 1]]
    assert label == f"deer 2 of 20, {(near == 4).sum()} of its 8 nearest alike"
    names = wall.locator(".clbook-beside").first.locator("li").all_inner_texts()
    assert [name.strip() for name in names] == [OBJECTS[k] for k in near]
    said = wall.inner_text(".clbook-said")
    assert said.startswith("After 2 epochs, deer 2 of 20 lies beside ")
    right = result.confusion[-1, 4, 4]
    assert f"{right} are found by" in wall.inner_text(".clbook-enemies")
    assert "Around deer 2 of 20 lie" in wall.get_attribute(".clbook-map", "aria-label")


def test_the_page_draws_the_views_of_the_training(visit, path, record):
    config = records.recipes()["photographs-wall"].configs[0]
    assert (config.colour, config.smallest) == (drawing.COLOUR, drawing.SMALLEST)
    assert config.flip and not config.blur
    wall = visit(path)
    views = wall.locator(".clbook-views")
    drawn = "name => document.querySelector('.clbook-views').dataset.drawn === name"
    wall.wait_for_function(drawn, arg="cat 1 of 20, 0")
    pixels = (
        "all => all.map(one => Array.from(one.getContext('2d').getImageData(0, 0, 32, 32).data))"
    )
    found = views.locator("canvas").evaluate_all(pixels)
    found = np.array(found).reshape(8, 32, 32, 4)[..., :3].transpose(0, 3, 1, 2) / 255
    photograph = sprites.cut(record.sprite.values, record.sizes["tile"])[3 * 20]
    photograph = torch.tensor(photograph)[None] / 255
    generator, said = torch.Generator().manual_seed(0), []
    for shown in found:
        numbers = drawing.numbers_of(generator)
        truth = views_of_training(photograph, numbers)[0].numpy()
        assert abs(shown - truth).mean() < 0.02
        said.append(f"{100 * numbers[0, 0] * numbers[0, 1]:.0f} % of it")
    told = views.locator("li").all_inner_texts()
    assert [text.strip().split(",")[0] for text in told] == said
    views.locator("button").click()
    wall.wait_for_function(drawn, arg="cat 1 of 20, 1")
    assert views.locator("li").all_inner_texts() != told
    wall.locator("[role=grid] button[tabindex='0']").press("ArrowRight")
    wall.wait_for_function(drawn, arg="cat 2 of 20, 1")
    assert "cat 2 of 20" in views.inner_text()


def test_a_second_kernel_finds_the_program_in_the_store(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path))
    drawing.program.cache_clear()
    first = drawing.program()
    drawing.program.cache_clear()
    monkeypatch.setattr(drawing, "written", None)  # nothing may be traced
    assert drawing.program() == first == drawing.program()


def test_a_click_on_the_map_chooses_a_photograph(visit, path, ran):
    wall = visit(path)
    canvas = wall.locator(".clbook-map")
    wall.wait_for_function("document.querySelector('.clbook-map').height > 300")
    box = canvas.bounding_box()
    size = max(14, round((box["width"] - 2) / 32))
    x, y = ran[0].plane[0].T
    width, height = box["width"] - 2 - 2 * size, box["height"] - 2 - 2 * size
    places = np.stack([size + width * (1 + x) / 2, size + height * (1 - y) / 2], 1)
    apart = np.linalg.norm(places[:, None] - places, axis=-1) + 1e6 * np.eye(len(places))
    alone = int(apart.min(1).argmax())  # the one farthest from any other
    canvas.click(position={"x": float(places[alone, 0]), "y": float(places[alone, 1])})
    label = wall.get_attribute("[role=grid] button[tabindex='0']", "aria-label")
    assert label.startswith(f"{OBJECTS[alone // 20]} {alone % 20 + 1} of 20")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_wall_fits_and_has_no_barriers(visit, path, theme, width):
    wall = visit(path, width=width)
    wall.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    assert wall.evaluate("document.documentElement.scrollWidth") <= width
    widths = "all => all.map((button) => button.getBoundingClientRect().width)"
    smallest = min(wall.locator("[role=grid] button").evaluate_all(widths))
    assert smallest >= 24, "a finger meets it"
    assert barriers(wall) == []


def test_without_javascript_a_picture_and_its_text_stand_there(visit, path, record):
    wall = visit(path, java_script_enabled=False)
    text = wall.inner_text(".clbook-still")
    assert all(line in text for line in page.shares(record))
    assert wall.is_visible(".clbook-still img") and not wall.is_visible(".clbook-live")
    assert wall.get_attribute("img", "alt").startswith("Photographs, of each class the one")


@pytest.mark.parametrize(("share", "said"), [(89 / 200, "45%"), (65 / 200, "33%"), (1, "100%")])
def test_halves_of_a_percent_are_rounded_up_in_either_precision(share, said):
    assert page.percent(share) == page.percent(np.float32(share)) == said
