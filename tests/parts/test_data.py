"""Data sets and augmentations: what a view may change and what it may not."""

import gzip
import os
import zipfile

import numpy as np
import pytest
import torch
from wrong import WRONG, answers_or_names_it

from clbook import augment, data


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_two_clusters_lie_where_the_paper_puts_them():
    x, labels = data.clusters(2000, 2, 0.1, generator())
    means = torch.stack([x[labels == k].mean(0) for k in (0, 1)])
    assert torch.allclose(means, torch.eye(2), atol=0.02)
    assert abs(float((x - means[labels]).std()) - 0.1) < 0.005


def test_class_sizes_differ_by_at_most_one():
    assert data.balanced_labels(10, 3).bincount().tolist() == [4, 3, 3]
    with pytest.raises(ValueError, match="n = 2 .* number of classes, 3"):
        data.balanced_labels(2, 3)


def test_donut_is_a_disc_inside_a_ring_and_both_are_uniform_in_area():
    x, labels = data.donut(4000, generator())
    disc, ring = (x[labels == k].norm(dim=1) for k in (0, 1))
    assert disc.max() <= 1 and ring.min() >= 1.8 and ring.max() <= 2.2
    assert abs(float((disc < 0.5).float().mean()) - 0.25) < 0.03


def test_digits_are_distinct_images_in_the_unit_interval():
    x, labels = data.images("digits", 90, 3, generator())
    assert x.min() >= 0 and x.max() <= 1 and labels.bincount().tolist() == [30, 30, 30]
    assert len(torch.unique(x, dim=0)) == 90
    with pytest.raises(ValueError, match="classes = 11"):
        data.images("digits", 50, 11, generator())


def test_rotation_keeps_the_radius_and_spreads_over_the_circle():
    x = torch.tensor([[2.0, 0.0]]).expand(4000, 2)
    views = augment.rotation(x, generator())
    assert torch.allclose(views.norm(dim=1), torch.full((4000,), 2.0), atol=1e-5)
    assert views.mean(0).norm() < 0.1


def test_points_of_any_leading_axes_are_turned_each_by_its_own_angle():
    x = torch.randn(2, 6, 3, generator=generator())
    angle = torch.rand(5, 2, 6, generator=generator())
    turned = augment.turn(x, angle)
    assert turned.shape == (5, 2, 6, 3) and torch.equal(turned[4, ..., 2], x[..., 2])
    plane = torch.complex(x[..., 0], x[..., 1]) * torch.polar(torch.ones(()), angle)
    torch.testing.assert_close(torch.complex(turned[..., 0], turned[..., 1]), plane)
    assert augment.rotation(x, generator()).shape == x.shape
    with pytest.raises(ValueError, match="^x = "):
        augment.rotation(torch.ones(6), generator())
    with pytest.raises(ValueError, match="^x = "):
        augment.turn(torch.ones(6), angle)
    with pytest.raises(ValueError, match="^angle = "):
        augment.turn(x, torch.ones(7))


def test_noise_has_the_standard_deviation_asked_for():
    assert abs(float(augment.noise(torch.zeros(5000, 2), 0.3, generator()).std()) - 0.3) < 0.01


def test_images_move_pixels_and_leave_the_global_generator_alone():
    x, _ = data.images("digits", 20, 2, generator())
    before = torch.get_rng_state()
    a, b = augment.images(x, generator(1)), augment.images(x, generator(1))
    assert torch.equal(a, b) and torch.equal(before, torch.get_rng_state())
    assert not torch.equal(a, augment.images(x, generator(2)))
    assert 0.02 < float((a - x).abs().mean()) < 0.3
    still = augment.images(x, generator(), degrees=0.0, scale=0.0, blur=0.1)
    assert torch.allclose(still, x, atol=1e-4)
    with pytest.raises(ValueError, match="square"):
        augment.images(torch.zeros(3, 60), generator())


def test_images_are_moves_drawn_and_then_applied_for_many_runs_at_once():
    x, _ = data.images("digits", 20, 2, generator())
    moves = augment.moves(20, generator(1), shift=1.0)
    assert moves.shape == (20, 5) and augment.moves(20, generator(1), blur=0.0).shape == (20, 4)
    assert torch.equal(augment.moved(x, moves), augment.images(x, generator(1), shift=1.0))
    both = torch.stack([augment.moves(20, generator(k)) for k in (1, 2)])
    views = augment.moved(torch.stack([x, x]), both)
    assert all(torch.equal(views[k - 1], augment.images(x, generator(k))) for k in (1, 2))


def idx(array):
    sizes = b"".join(int(size).to_bytes(4, "big") for size in array.shape)
    return b"\0\0\x08" + bytes([array.ndim]) + sizes + array.tobytes()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with a small MNIST in its own layout and a small CIFAR-10 table."""
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    y = np.arange(40, dtype=np.uint8) % 10
    raw, subset = tmp_path / "MNIST" / "raw", tmp_path / "cifar10_subset"
    raw.mkdir(parents=True)
    subset.mkdir()
    for part, array in (
        ("images-idx3", rng.integers(0, 256, (40, 28, 28), dtype=np.uint8)),
        ("labels-idx1", y),
    ):
        (raw / f"train-{part}-ubyte.gz").write_bytes(gzip.compress(idx(array)))
    colours = rng.integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    np.savez(subset / "cifar10_subset.npz", y_train=y, x_train=colours)
    return tmp_path


@pytest.mark.parametrize("name, pixels", [("mnist", 784), ("cifar10", 3072)])
def test_images_are_read_from_the_readers_folder(folder, name, pixels):
    x, labels = data.images(name, 12, 3, generator())
    assert x.shape == (12, pixels) and x.min() >= 0 and 0.95 < x.max() <= 1
    assert labels.bincount().tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match=f"class 0 of {name} has 4 examples, 5 were asked for"):
        data.images(name, 50, 10, generator())


def test_colours_of_an_image_follow_each_other(folder):
    table = np.load(folder / "cifar10_subset" / "cifar10_subset.npz")
    x, labels = data.images("cifar10", 40, 10, generator())
    first = x[labels == 3].reshape(-1, 3, 32, 32)
    stored = torch.tensor(table["x_train"][table["y_train"] == 3]).permute(0, 3, 1, 2).float() / 255
    assert torch.cdist(first.flatten(1), stored.flatten(1)).min(1).values.max() < 1e-3


def test_unpacked_idx_files_are_read_too(folder):
    packed = data.images("mnist", 20, 10, generator())[0]
    for path in (folder / "MNIST" / "raw").iterdir():
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    assert torch.equal(data.images("mnist", 20, 10, generator())[0], packed)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_a_missing_or_damaged_file_says_what_to_do(folder, name):
    for path in data.image_files(name):
        whole = path.read_bytes()
        for broken in (whole[: len(whole) // 2], b"", b"<html>404</html>"):
            path.write_bytes(broken)
            says = rf"CLBOOK_DATA = .* {name} is damaged .*download\('{name}'\)"
            with pytest.raises(ValueError, match=says):
                data.images(name, 10, 10, generator())
        path.unlink()
        says = rf"CLBOOK_DATA = .* has no file .*: set CLBOOK_DATA .*download\('{name}'\)"
        with pytest.raises(ValueError, match=says):
            data.images(name, 10, 10, generator())
        path.write_bytes(whole)
    labels = folder / "MNIST" / "raw" / "train-labels-idx1-ubyte.gz"  # whose head lies
    labels.write_bytes(gzip.compress(gzip.decompress(labels.read_bytes())[:-3]))
    with pytest.raises(ValueError, match="holds 37 bytes where its head says 40"):
        data.images("mnist", 10, 10, generator())


def test_image_files_are_those_that_are_read(folder):
    raw = folder / "MNIST" / "raw"
    images, labels = (raw / f"train-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1"))
    assert data.image_files("mnist") == (images, labels) and data.image_files("digits") == ()
    images.rename(images.with_suffix(""))
    assert data.image_files("mnist") == (images.with_suffix(""), labels)
    assert data.image_files("cifar10") == (folder / "cifar10_subset" / "cifar10_subset.npz",)
    (folder / "cifar10.npz").write_bytes(b"")
    assert data.image_files("cifar10") == (folder / "cifar10.npz",)


def test_download_stores_what_openml_sends_and_is_read_afterwards(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    asked = []

    def openml(name, **kwargs):
        asked.append(name)
        return np.full((20, 784), 7, dtype=np.int64), np.array([str(k % 10) for k in range(20)])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", openml)
    assert data.download("mnist") == tmp_path / "mnist.npz"
    assert asked == ["mnist_784"] and [p.name for p in tmp_path.iterdir()] == ["mnist.npz"]
    x, labels = data.images("mnist", 20, 10, generator())
    assert x.shape == (20, 784) and labels.bincount().tolist() == [2] * 10
    for call in (lambda: data.download("digits"), lambda: data.images("faces", 5, 2, generator())):
        with pytest.raises(ValueError, match="name = .* is not allowed: name must be one of"):
            call()


# A reader's own set.

POINTS = np.random.default_rng(0).normal(size=(6, 3))
NAMES = np.array(["b", "a", "b", "a", "c", "c"])


def saved(folder, **arrays):
    path = folder / "own.npz"
    np.savez(path, **{"x": POINTS, "y": NAMES} | arrays)
    return path


def test_a_table_is_found_by_text_or_path_in_the_home_folder_and_by_any_spelling_of_npz(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = saved(tmp_path)
    path.rename(tmp_path / "own.NPZ")
    for name in (tmp_path / "own.NPZ", str(tmp_path / "own.NPZ"), "~/own.NPZ"):
        x, labels, names = data.table(name)
        assert np.array_equal(x, POINTS) and names == ["a", "b", "c"]
        assert labels.tolist() == [1, 0, 1, 0, 2, 2]
        assert data.images(name, 4, 2, generator())[1].tolist() == [0, 0, 1, 1]
        assert data.image_files(name) == (tmp_path / "own.NPZ",)


@pytest.mark.parametrize("kind", [bool, np.int64, np.int8, np.float16, np.float64])
def test_a_table_may_hold_any_real_numbers_or_truth_values(tmp_path, kind):
    x = (3 * POINTS).astype(kind)
    path = saved(tmp_path, x=x)
    found, _ = data.images(path, 6, 3, generator())
    assert found.dtype == torch.float32
    assert {*map(tuple, found.tolist())} == {*map(tuple, x.astype(np.float32).tolist())}


@pytest.mark.parametrize("kind", [np.int64, np.uint16, np.uint8])
def test_images_may_be_of_any_whole_numbers_that_are_pixels(tmp_path, kind):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 4, 5, 3))
    x, _, _ = data.table(saved(tmp_path, x=pixels.astype(kind)))
    assert x.dtype == np.uint8 and np.array_equal(x, pixels.transpose(0, 3, 1, 2))
    for wrong in (pixels - 1, pixels + 1):
        with pytest.raises(ValueError, match="x has pixels .* they must be 0 .. 255"):
            data.table(saved(tmp_path, x=wrong))
    truth = pixels[..., 0] > 100
    x, _, _ = data.table(saved(tmp_path, x=truth))
    assert np.array_equal(x[:, 0] == 255, truth) and set(np.unique(x)) == {0, 255}


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": 1e39 * np.abs(POINTS)}, "x has entries beyond the range of float32"),
        ({"x": POINTS + np.inf}, "x has entries that are not finite"),
        ({"x": np.zeros((6, 0))}, r"x has shape \(6, 0\)"),
        ({"x": POINTS.astype(complex)}, "x has shape .* and type complex128"),
        ({"x": np.array([[None] * 3] * 6)}, "it is damaged, or has no arrays x and y"),
        ({"y": NAMES[:4]}, r"y has shape \(4,\), it must be \(6,\)"),
        ({"y": np.zeros(6)}, "y holds 1 class"),
        ({"y": np.array([0, 0, 1, 1, 1, np.nan])}, "y has numbers that are not whole"),
        ({"y": np.arange(6) / 7}, "y has numbers that are not whole"),
    ],
)
def test_a_table_that_is_no_set_is_refused_in_words(tmp_path, arrays, says):
    with pytest.raises(ValueError, match=f"^data = .*own.npz' is not allowed: {says}") as refused:
        data.table(saved(tmp_path, **arrays))
    assert "pickle" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"PK", b"<html>404</html>", b"\x80\x04K\x01."])
def test_what_is_no_archive_is_damaged_and_nobody_is_told_to_unpickle_it(tmp_path, content):
    (tmp_path / "own.npz").write_bytes(content)
    with pytest.raises(ValueError, match="own.npz' is not allowed: it is damaged, or") as refused:
        data.table(tmp_path / "own.npz")
    assert "pickle" not in str(refused.value)


def test_a_small_file_that_announces_a_huge_array_is_refused_by_its_head(tmp_path):
    head = np.lib.format.header_data_from_array_1_0(np.zeros((1, 2)))
    with zipfile.ZipFile(tmp_path / "own.npz", "w") as archive:
        with archive.open("x.npy", "w") as file:
            np.lib.format.write_array_header_1_0(file, head | {"shape": (10**9, 2)})
        with archive.open("y.npy", "w") as file:
            np.lib.format.write_array(file, np.arange(2))
    assert os.path.getsize(tmp_path / "own.npz") < 1000
    with pytest.raises(ValueError, match="own.npz' is not allowed: x has 16.0 GB, it must have"):
        data.table(tmp_path / "own.npz")


POINT_SETTINGS = {"n": 6, "classes": 2, "spread": 0.1, "generator": generator()}
X, IMAGES = torch.rand(6, 3), torch.rand(6, 16)
RANGES = {"degrees": 1.0, "scale": 0.1, "blur": 0.8, "shift": 1.0}
ARGUMENTS = {
    data.balanced_labels: {"n": 6, "classes": 2},
    data.evenly: {"most": 3, "count": 6},
    data.clusters: POINT_SETTINGS,
    data.row: POINT_SETTINGS | {"dim": 3, "first": -1.0, "gap": 1.0},
    data.mixture: POINT_SETTINGS | {"dim": 3},
    data.donut: {"n": 6, "generator": generator()},
    data.ball: {"n": 6, "d": 3, "diameter": 1.0, "generator": generator()},
    data.images: {"name": "digits", "n": 6, "classes": 2, "generator": generator()},
    data.download: {"name": "mnist"},
    data.image_files: {"name": "digits"},
    data.modadd: {"N": 6, "k": 2},
    data.cmodadd: {"N": 6, "k": 2},
    augment.noise: {"x": X, "sd": 0.1, "generator": generator()},
    augment.rotation: {"x": X, "generator": generator()},
    augment.turn: {"x": X, "angle": torch.rand(6)},
    augment.moves: {"n": 6, "generator": generator()} | RANGES,
    augment.moved: {"x": IMAGES, "drawn": augment.moves(6, generator())},
    augment.images: {"x": IMAGES, "generator": generator()} | RANGES,
}


@pytest.mark.parametrize(
    "function", ARGUMENTS, ids=lambda function: f"{function.__module__}.{function.__name__}"
)
def test_a_wrong_argument_is_named(function):
    answers_or_names_it(function, ARGUMENTS[function])


@pytest.mark.parametrize("read", [data.table, data.idx])
def test_a_table_asks_for_a_path(read):
    kinds = {kind: value for kind, value in WRONG.items() if not isinstance(value, str)}
    answers_or_names_it(read, {"path": "own.npz"}, kinds)


def test_classes_and_k_are_whole_and_a_spread_is_a_number():
    whole = "classes = 2.5", "classes must be a whole"
    for call, name, says in (
        (lambda: data.balanced_labels(6, 2.5), *whole),
        (lambda: data.clusters(6, 2.5, 0.1, generator()), *whole),
        (lambda: data.row(6, 2.5, 0.1, 2, generator()), *whole),
        (lambda: data.modadd(6, 2.5), "k = 2.5", "k must be a whole number"),
        *(
            (lambda s=s: data.clusters(6, 2, s, generator()), "spread", "spread must be a number")
            for s in (np.nan, np.inf, -1.0, 1e40)
        ),
    ):
        with pytest.raises(ValueError, match=f"{name}.* is not allowed: {says}"):
            call()
    assert data.balanced_labels(np.int64(6), np.int64(2)).dtype == torch.int64
