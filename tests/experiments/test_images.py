"""Images: networks of the standard form, SimCLR's views, image sets, several processes, runs taken up again."""

import dataclasses
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import image_processes
import numpy as np
import pytest
import torch
import torch.multiprocessing
import xarray
from image_processes import LOSSES, SMALL, gradients
from kornia.enhance import adjust_hue, adjust_saturation
from PIL import Image
from torch import nn

from clbook import losses
from clbook.experiments.images import emergence, experiment, networks, sets, views
from clbook.experiments.images.experiment import Config, Trainer, run
from clbook_book import records
from clbook_book.course.images import cost, figures, runs

CPU = torch.device("cpu")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("depth", "parameters"), [(18, 11_689_512), (34, 21_797_672), (50, 25_557_032)]
)
def test_residual_networks_have_the_standard_size(depth, parameters):
    made = networks.ResNet(depth)
    classifier = 1000 * (made.features + 1)  # of ImageNet
    assert sum(p.numel() for p in made.parameters()) + classifier == parameters


def test_a_residual_network_starts_from_its_generator_alone():
    torch.manual_seed(0)
    first, second, other = (networks.ResNet(8, 4, generator=seeded(seed)) for seed in (1, 1, 2))
    x = torch.rand(3, 3, 16, 16)
    one, same, another = (
        nn.utils.parameters_to_vector(n.parameters()) for n in (first, second, other)
    )
    assert torch.equal(one, same) and not torch.equal(one, another)
    assert first(x).shape == (3, first.features) == (3, 16)
    with pytest.raises(ValueError, match="depth = 9 is not allowed: depth must be one of 8, 14"):
        networks.ResNet(9)
    with pytest.raises(ValueError, match="stem = 'tiny'"):
        networks.ResNet(8, stem="tiny")


@pytest.mark.parametrize("depth", [8, 50])
def test_a_convolution_of_one_pixel_has_no_stride_and_sees_every_second_one(depth):
    """With a stride and few channels its gradient writes beyond its array on some processors."""
    made = networks.ResNet(depth, 4, generator=seeded())
    for layer in made.modules():
        if isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1):
            assert layer.stride == (1, 1)
    (block, *_) = (b for b in made if isinstance(b, networks.Block) and b.stride == 2)
    convolution, norm = block.shortcut
    x = torch.randn(2, convolution.in_channels, 9, 8, generator=seeded())
    shortcut = norm(nn.functional.conv2d(x, convolution.weight, stride=2))
    assert torch.allclose(block(x), torch.relu(block.branch(x) + shortcut), atol=1e-5)


def unchanged(n):
    """Numbers of views that change nothing."""
    drawn = torch.zeros(n, len(views.COLUMNS))
    drawn[:, [0, 1, 4, 5, 6, 7]] = 1.0
    return drawn


def test_a_view_of_which_nothing_was_drawn_is_the_image():
    x = torch.rand(4, 3, 16, 16, generator=seeded())
    assert torch.allclose(views.views(x, unchanged(4)), x, atol=1e-5)


def test_each_part_of_a_view_does_what_it_says():
    x = torch.rand(2, 3, 16, 16, generator=seeded())

    def changed(**columns):
        drawn = unchanged(2)
        for name, value in columns.items():
            drawn[:, views.COLUMNS.index(name)] = value
        return views.views(x, drawn)

    assert torch.allclose(changed(flip=-1.0), x.flip(-1), atol=1e-5)
    # the upper left quarter, twice as large
    corner = changed(height=0.5, width=0.5, down=-0.5, right=-0.5)
    quarter = nn.functional.interpolate(x[..., :8, :8], scale_factor=2, mode="bilinear")
    assert torch.allclose(corner[..., 1:-1, 1:-1], quarter[..., 1:-1, 1:-1], atol=1e-5)
    assert torch.allclose(changed(brightness=0.5), 0.5 * x, atol=1e-5)
    grey = changed(grey=1.0)
    assert torch.equal(grey[:, 0], grey[:, 1]) and torch.equal(grey[:, 1], grey[:, 2])
    assert torch.allclose(changed(saturation=0.3), adjust_saturation(x, 0.3), atol=1e-5)
    assert torch.allclose(changed(hue=0.2), adjust_hue(x, 0.2), atol=1e-5)
    assert changed(contrast=0.5).std() < x.std() and changed(blur=2.0).std() < x.std()


def test_what_is_drawn_lies_in_its_ranges():
    drawn = views.draw(4000, seeded(), colour=1.0, flip=True, blur=True)
    named = dict(zip(views.COLUMNS, drawn.T, strict=True))
    area = named["height"] * named["width"]
    assert area.min() > 0.15 and area.max() <= 1
    assert (named["height"] + named["down"].abs()).max() <= 1 + 1e-6  # the crop lies in the image
    assert named["brightness"].min() >= 0.2 and named["brightness"].max() <= 1.8
    for name, share in (("grey", 0.2), ("blur", 0.5)):
        assert abs((named[name] > 0).float().mean() - share) < 0.03
    assert abs((named["flip"] < 0).float().mean() - 0.5) < 0.03
    assert abs((named["hue"] == 0).float().mean() - 0.2) < 0.03


def write_folder(path, classes=("cat", "dog"), count=6):
    for k, name in enumerate(classes):
        (path / name).mkdir(parents=True)
        for i in range(count):
            Image.fromarray(np.full((9, 7, 3), 40 * k + i, np.uint8)).save(path / name / f"{i}.png")


def test_sets_are_cut_into_classes_of_one_size(tmp_path):
    write_folder(tmp_path / "pets")
    made = sets.load(str(tmp_path / "pets"), 0, 4, 0, 16, seeded())
    assert made.x.shape == (8, 3, 16, 16) and made.x_test.shape == (4, 3, 16, 16)
    assert made.classes == ["cat", "dog"]
    x = np.arange(10 * 8 * 8).reshape(10, 8, 8).astype(np.uint8)
    np.savez(tmp_path / "set.npz", x=x, y=np.repeat(["b", "a"], 5))
    made = sets.load(str(tmp_path / "set.npz"), 6, 2, 0, 32, seeded())
    assert made.x.shape == (6, 1, 8, 8) and made.classes == ["a", "b"]
    assert made.y.bincount().tolist() == [3, 3]
    digits = sets.load("digits", 100, 50, 3, 32, seeded())
    assert digits.y.bincount().tolist() == [34, 33, 33] and digits.x.max() == 1
    rows = torch.cat([digits.x, digits.x_test]).flatten(1)
    assert len(rows.unique(dim=0)) == 150  # no image twice


def test_sets_that_cannot_be_read_are_refused_by_name(tmp_path):
    def refused(says, name, n=4, test=2, classes=0):
        with pytest.raises(ValueError, match=says):
            sets.load(str(name), n, test, classes, 16, seeded())

    refused("must be one of digits, mnist, cifar10, cifar10_all, a folder", "nowhere")
    (tmp_path / "empty").mkdir()
    refused("has no folders with images", tmp_path / "empty")
    write_folder(tmp_path / "one", ("cat",))
    refused("has 1 classes, and two are needed", tmp_path / "one")
    write_folder(tmp_path / "two")
    refused("class cat of .* has 6 images, 11 were asked for", tmp_path / "two", n=20)
    (tmp_path / "two/cat/0.png").write_bytes(b"no image")
    refused("0.png is damaged", tmp_path / "two")
    (tmp_path / "cut.npz").write_bytes(b"PK")
    refused("is damaged", tmp_path / "cut.npz")
    for says, arrays in (
        (r"x has shape \(4, 8\)", dict(x=np.zeros((4, 8), np.uint8), y=np.arange(4))),
        ("type float64", dict(x=np.zeros((4, 8, 8)), y=np.zeros(4))),
        (r"y has shape \(3,\)", dict(x=np.zeros((4, 8, 8), np.uint8), y=np.zeros(3))),
        ("no arrays x and y", dict(pixels=np.zeros(3))),
    ):
        np.savez(tmp_path / "wrong.npz", **arrays)
        refused(says, tmp_path / "wrong.npz")
    with pytest.raises(ValueError, match="batch = 90 .* batch must be at most train = 60"):
        Config(**SMALL | {"batch": 90})
    write_folder(tmp_path / "few", count=15)
    with pytest.raises(ValueError, match="batch = 30 .* at most the number of training images"):
        run(Config(**SMALL | {"data": str(tmp_path / "few"), "test": 10, "train": 0}))


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_the_one_of_the_room(loss):
    z1, z2 = torch.randn(2, 8, 5, generator=seeded())
    y = torch.arange(8) % 3
    plain = {
        "nt_xent": lambda: losses.nt_xent(z1, z2, 0.3),
        "dcl": lambda: losses.dcl(z1, z2, 0.3),
        "nscl": lambda: losses.nscl(z1, z2, y, 0.3),
        "supcon": lambda: losses.supcon(z1, z2, y, 0.3),
        "ce": lambda: nn.functional.cross_entropy(torch.cat([z1, z2]), y.repeat(2)),
        "vicreg": lambda: losses.vicreg(z1, z2),
    }
    found = experiment.objective(Config(loss=loss, tau=0.3), z1, z2, y)
    assert torch.allclose(found, plain[loss]())


def test_a_step_is_that_of_a_plain_loop():
    config = Config(**SMALL, decay=0.01, momentum=0.9, lr=0.1)
    trainer, twin = Trainer(config, CPU), Trainer(config, CPU)
    plain = torch.optim.SGD(twin.network.encoder.parameters(), 0.1, 0.9, weight_decay=0.01)
    plain.add_param_group({"params": list(twin.network.projector.parameters())})
    for chosen in torch.arange(60).split(30):
        trainer.step(chosen, 1.0)
        both = []
        how = config.colour, config.flip, config.blur, config.smallest
        for _ in range(2):
            both.append(views.views(twin.x[chosen], views.draw(30, twin.draws, *how).double()))
        loss = losses.nt_xent(*twin.network(torch.cat(both))[1].chunk(2), config.tau)
        plain.zero_grad()
        loss.backward()
        plain.step()
    for mine, theirs in zip(trainer.network.parameters(), twin.network.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize("network", ["resnet", "cnn", "mlp"])
@pytest.mark.parametrize("optimiser", ["sgd", "lars"])
def test_every_network_is_trained_and_read_out(network, optimiser):
    config = Config(**SMALL | {"precision": "float32"}, network=network, optimiser=optimiser)
    result = run(config)
    assert result.epochs.tolist() == [1, 2] and np.isfinite(result.loss).all()
    assert result.h.shape[0] == result.z.shape[0] == 20 and result.z.shape[1] == 6
    assert len(result.spectrum_z) == 6


def test_a_run_that_was_broken_off_goes_on_to_the_same_numbers(tmp_path):
    config = Config(**SMALL | {"epochs": 3})
    whole, path = run(config), tmp_path / "run.pt"
    trainer = Trainer(config, CPU)
    trainer.train_epoch(lambda fraction: True)
    trainer.seconds = 1000.0  # it tells those of all its sittings
    experiment.save(trainer, path)
    # what was done after the checkpoint is lost, and done again
    trainer.train_epoch(lambda fraction: True)
    again = run(config, checkpoint=path)
    assert np.allclose(whole.h, again.h, atol=1e-6)
    assert again.loss == pytest.approx(whole.loss, rel=1e-9)
    assert min(again.seconds, torch.load(path, weights_only=True)["seconds"]) > 1000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.pt"]
    with pytest.raises(ValueError, match="checkpoint = Config.* it must be of .*tau=0.3"):
        run(config.replace(tau=0.3), checkpoint=path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"run.pt' is damaged"):
        run(config, checkpoint=path)


class Harmful:
    """Unpickled, it would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_a_checkpoint_from_elsewhere_runs_no_code(tmp_path):
    config, path, harm = Config(**SMALL), tmp_path / "run.pt", tmp_path / "harm"
    trainer = Trainer(config, CPU)
    torch.save(trainer.state() | {"rows": Harmful(harm)}, path)
    with pytest.raises(ValueError, match=r"run.pt' is damaged"):
        run(config, checkpoint=path)
    assert not harm.exists()
    torch.load(path, weights_only=False)  # as it would have been read
    assert harm.exists()


def test_progress_is_told_and_stops(monkeypatch):
    monkeypatch.setattr(experiment, "PROGRESS_EVERY", 0.0)
    told = []
    result = run(
        Config(**SMALL),
        progress=lambda fraction, partial: told.append((fraction, partial)) or len(told) < 3,
    )
    assert result.stopped and result.epochs.tolist() == [1]
    assert [fraction for fraction, _ in told] == [0.25, 0.5, 0.75]
    assert [partial is None for _, partial in told] == [True, True, False]
    assert len(result.steps) == 3
    partial = told[-1][1]  # what was read out after the first epoch
    assert partial.epochs.tolist() == [1] and partial.h.shape[0] == 20
    assert np.isfinite(partial.probe)


def test_a_run_stopped_before_its_first_readout_has_its_losses_alone(monkeypatch):
    monkeypatch.setattr(experiment, "PROGRESS_EVERY", 0.0)
    result = run(Config(**SMALL), progress=lambda fraction, partial: False)
    assert len(result.steps) == 1 and not len(result.epochs) and not result.h.size
    assert np.isnan(result.probe)
    assert set(runs.pictures([result])) == {"steps"}


def test_a_record_of_runs_has_the_planes_and_accuracies():
    result = run(Config(**SMALL | {"test": 60}))
    found = runs.pictures([result, result])
    assert found["knn"].shape == (2, 2) and found["steps"].shape == (2, 4)
    assert found["labels"].shape == (60,)
    assert found["pixels_plane"].shape == found["features_plane"].shape == (60, 2)
    one, other = found["untrained"]
    assert one == pytest.approx(other, abs=0.02) and found["spectrum_z"].shape == (2, 6)
    assert found["knn"][0, -1] == pytest.approx(result.knn[-1])


def test_operations_and_what_is_kept_are_counted():
    convolution = nn.Conv2d(3, 4, 3, padding=1)
    assert cost.flops(convolution, (3, 8, 8)) == 2 * 27 * 4 * 8 * 8
    config = Config(**SMALL | {"precision": "float32"})
    one, two = (cost.kept(Trainer(config, CPU), torch.arange(n)) for n in (15, 30))
    # all but the loss's table of cosines and the means grow with the views
    assert 1.8 < two / one < 2.1


def test_the_line_of_costs_is_found_where_there_is_one():
    sizes = len(cost.FITTED) + len(cost.CHECKED)
    views, flops = np.tile(np.arange(1.0, sizes + 1), (3, 1)), np.full((3, sizes), 1e6)
    step = 0.1 + 1e-9 * views * flops
    kept = {"views": views, "flops": flops, "step": step}
    record = xarray.Dataset({name: (("seed", "size"), array) for name, array in kept.items()})
    assert cost.line(record) == pytest.approx((0.1, 1e-9))
    assert cost.forecast(record) == pytest.approx(step[0])


def test_a_run_that_diverges_names_its_rate():
    with pytest.raises(ValueError, match="lr = 100.0 is not allowed: lr must be smaller here"):
        run(Config(**SMALL | {"loss": "vicreg", "network": "mlp", "lr": 100.0, "epochs": 30}))


def free_port():
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


@pytest.mark.parametrize("world", [2, pytest.param(3, marks=pytest.mark.long)])
def test_several_processes_have_the_loss_and_gradient_of_one(world, tmp_path):
    path = str(tmp_path / "found.pt")
    # which loads all this once, not once a process
    server = torch.multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["clbook.experiments.images.experiment", "sklearn.linear_model"])
    torch.multiprocessing.start_processes(
        image_processes.one_of, (world, free_port(), path), world, start_method="forkserver"
    )
    found = torch.load(path, weights_only=False)
    for loss in LOSSES:
        value, grads = gradients(loss)
        assert torch.allclose(found[loss][0], value, rtol=0, atol=1e-6), loss
        for mine, theirs in zip(found[loss][1], grads, strict=True):
            assert torch.allclose(mine, theirs, rtol=0, atol=1e-6), loss
    assert np.allclose(found["trained"], run(Config(**SMALL)).h, atol=1e-5)


@pytest.mark.long
def test_when_a_process_dies_all_end_and_the_run_is_taken_up_again(tmp_path):
    path = tmp_path / "run.pt"
    values = {**SMALL, "epochs": 12, "every": 4, "train": 120}
    words = [f"--{name}={value}" for name, value in values.items() if name != "projector"]
    words += ["--projector", "8", "6", f"--checkpoint={path}", f"--out={tmp_path / 'out.npz'}"]
    command = ["-m", "clbook.experiments.images", *words]
    launcher = ["-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={free_port()}"]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    begun = subprocess.Popen(
        [sys.executable, *launcher, *command], stderr=subprocess.PIPE, text=True, env=env
    )
    while not path.exists() and begun.poll() is None:
        time.sleep(0.1)
    workers = subprocess.run(
        ["pgrep", "-P", str(begun.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(workers[-1]), signal.SIGKILL)
    told = begun.communicate(timeout=120)[1]
    assert begun.returncode and "SIGKILL" in told and path.exists()
    epoch = torch.load(path, weights_only=False)["epoch"]
    assert 0 < epoch < 12
    whole = run(Config(**values))
    # by one process: the checkpoint does not know how many there were
    subprocess.run(
        [sys.executable, *command], check=True, capture_output=True, timeout=240, env=env
    )
    with np.load(tmp_path / "out.npz") as out:
        assert np.allclose(out["h"], whole.h, atol=1e-4) and out["epochs"][-1] == 12


def test_the_streams_of_a_run_are_its_own():
    assert len({experiment.SPLIT, experiment.WEIGHTS, experiment.ORDER, experiment.VIEWS}) == 4


def test_figures_say_what_the_records_have():
    mnist, cifar = (records.load(f"images-{name}") for name in ("mnist", "cifar10"))
    shown, first = figures.planes(mnist, cifar), cifar.isel(seed=0)
    right, seen = first.pixels.item(), first.pixels_seen.item()
    assert f"CIFAR-10, pixels: right for {right:.2f}, in the plane for {seen:.2f}" in shown.alt
    ends = [f"{rights:.2f}" for r in (mnist, cifar) for rights in (r.pixels[0], r.knn[0, -1])]
    assert [ax.get_xlabel()[-4:] for ax in shown.fig.axes] == ends
    before, after = (cifar[name].values for name in ("spectrum_h", "spectrum_z"))
    before, after = ((values[:, 31] / values[:, 0]).mean() for values in (before, after))
    said = f"before the projector {before:.1g}, after it {after:.1g}"
    assert said in figures.spectra(cifar).alt
    assert "5 random views" in figures.seen(np.zeros((20, 20, 3), np.uint8), 5).alt


def test_an_embedding_on_the_line_starts_in_its_ball_and_moves(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    np.savez(tmp_path / "set.npz", x=x, y=np.repeat([0, 1], 20))
    config = emergence.Config(data=str(tmp_path / "set.npz"), n=20, steps=8, bank=3)
    result = emergence.run(config, record=("accuracy",))
    assert result.z.shape == (9, 20) and np.abs(result.z[0]).max() <= config.eps / 2
    assert result.steps[-1] == 8
    assert np.allclose(result.z, emergence.run(config).z, atol=1e-6)
    assert abs(result.z[0] - result.z[-1]).max() > 1e-3
    twice = (result, dataclasses.replace(result, config=result.config.replace(seed=1)))
    configs = tuple(one.config for one in twice)
    recipe = dataclasses.replace(records.recipes()["images-emergence"], configs=configs)
    kept = records.labelled(recipe, twice)
    assert kept.path.shape == (2, 4, 9) and "20 planes" in figures.emergence(kept).alt
    with pytest.raises(ValueError, match="lr_over_tau = 1e[+]30 is not allowed"):
        emergence.run(config.replace(lr_over_tau=1e30))
