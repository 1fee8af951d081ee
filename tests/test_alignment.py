"""The alignment chapter's phenomena over three seeds, and what `experiments.alignment` promises about its runs."""

import dataclasses

import numpy as np
import pytest
import torch

from clbook import augment, data, losses, metrics
from clbook.experiments import alignment
from clbook.experiments.alignment import Config, Result, batches, dataset, figures, run, training
from clbook.models import MLP
from clbook.runs import Descent, iterate, warmed
from clbook.sweep import sweep

SEEDS, COUNTS, TAUS = range(3), (2, 5, 10, 20, 50), (0.1, 0.5, 1.0)
SMALL = Config(n=200, test=40, width=16, d=8, batch=20, steps=12, warmup=2)
SYNTHETIC, DIGITS = Config(compare="labels"), Config(data="digits", n=1200, noise=0.1, probe="end")


def ends(configs, key="cka"):
    """(len(configs), M) the last recorded values."""
    return np.array([getattr(r, key)[-1] for r in sweep(run, configs)])


# Phenomena; the chapter runs the same Configs.

def test_more_classes_bring_nscl_to_dcl_but_not_the_other_losses():
    cka = np.array([ends([SYNTHETIC.replace(classes=c, seed=s) for s in SEEDS]) for c in COUNTS])  # (C, seed, loss)
    assert (np.diff(cka[..., 1], axis=0) > 0.05).all(), "rising in every seed"
    assert (cka[-1, :, 1] - cka[0, :, 1]).min() >= 0.4
    assert cka[-1, :, 1].min() >= 0.95 and cka[-1, :, 2:].max() <= 0.70
    assert np.abs(cka[0, :, 1] - cka[0, :, 2]).max() <= 0.05, "with two classes NSCL is no closer than SCL"


def test_on_digits_nscl_is_the_closest_by_a_margin():
    cka = ends([DIGITS.replace(seed=s) for s in SEEDS])
    assert (cka[:, 1] - cka[:, 2:4].max(1)).min() >= 0.06
    assert (cka[:, 4] >= 0.97).all(), "CL and DCL are all but the same"
    nccc, probe = (ends([DIGITS.replace(seed=s) for s in SEEDS], key) for key in ("nccc", "probe"))
    assert (nccc[:, 2] > nccc[:, 1]).all() and (nccc[:, 1] > nccc[:, 0]).all()
    assert probe.min() >= 0.85 and (probe[:, 0] > nccc[:, 0]).all()


def test_a_higher_temperature_aligns_more_in_every_seed():
    cka = np.array([ends([SYNTHETIC.replace(tau=t, seed=s) for s in SEEDS])[:, 1] for t in TAUS])
    assert (np.diff(cka, axis=0) > 0.08).all()


def test_weights_part_while_representations_stay():
    config = DIGITS.replace(compare="pair", probe="never", schedule="constant", warmup=0, steps=600, record_every=20)
    for r in sweep(run, [config.replace(seed=s) for s in SEEDS]):
        assert r.steps[1] == 20 and r.gap[-1, 1] >= 8 * r.gap[1, 1]
        assert r.cka[:, 1].min() >= 0.75
        assert r.weight_angle[-1, 1] > r.class_angle[-1, 1]


# Shared randomness.

def test_networks_share_start_batches_and_views_to_the_bit(monkeypatch):
    x, labels, *_ = dataset(SMALL)
    seen, view = [], alignment.view
    monkeypatch.setattr(alignment, "view", lambda *args: seen.append(view(*args)) or seen[-1])
    _, start, step = training(SMALL, x, labels, ("dcl", "dcl", "nscl", "ce"))
    assert (start == start[0]).all()
    end, _, _ = iterate(step, start, SMALL.steps, lambda weights, t: None)
    assert torch.equal(end[0], end[1]), "two copies with one loss see the same and stay equal"
    assert not torch.equal(end[0], end[2]) and not torch.equal(end[2], end[3])
    assert len(seen) == SMALL.steps, "one tensor of views a step, for all networks"
    first = [v.clone() for v in seen]
    seen.clear()
    for other in (SMALL.replace(compare="pair", tau=0.1), SMALL.replace(optimizer="lars", scaling="linear")):
        assert torch.equal(batches(other, labels), batches(SMALL, labels))
        _, again, step = training(other, x, labels, other.names)
        assert torch.equal(again[0], start[0])
        iterate(step, again, SMALL.steps, lambda weights, t: None)
        assert all(torch.equal(a, b) for a, b in zip(first, seen)), "views depend on the seed alone"
        seen.clear()


@pytest.mark.parametrize("name", ["dcl", "nscl", "supcon", "ce", "cl"])
def test_a_run_is_the_plain_training_of_one_network(name):
    """Against an nn.Module, autograd and torch.optim.SGD on the same batches and views."""
    config = SMALL.replace(schedule="constant", warmup=0, steps=6, lr=0.05)
    x, labels, *_ = dataset(config)
    _, start, step = training(config, x, labels, (name, "dcl"))
    end, _, _ = iterate(step, start, config.steps, lambda weights, t: None)
    generator = torch.Generator().manual_seed(config.seed + 2)
    net = MLP((32, 16, 16, 16, 16, 8), "relu", generator)
    head = MLP((8, config.classes), generator=generator)
    parameters = [*net.parameters(), *head.parameters()]
    assert torch.equal(torch.nn.utils.parameters_to_vector(parameters), start[0])
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    noise = torch.Generator().manual_seed(config.seed + 4)
    for chosen in batches(config, labels):
        z = net(augment.noise(x[chosen].repeat(2, 1), config.noise, noise))
        optimizer.zero_grad()
        if name == "ce":
            loss = torch.nn.functional.cross_entropy(head(z), torch.cat([labels[chosen]] * 2))
        else:
            given = () if name in ("cl", "dcl") else (labels[chosen],)
            loss = getattr(losses, name)(*z.chunk(2), *given, config.tau)
        loss.backward()
        optimizer.step()
    torch.testing.assert_close(end[0], torch.nn.utils.parameters_to_vector(parameters), atol=1e-5, rtol=1e-4)


def test_batches_without_replacement_hold_each_point_once_an_epoch():
    labels = dataset(SMALL)[1]
    drawn = batches(SMALL, labels)
    assert drawn.shape == (12, 20) and sorted(drawn[:10].flatten().tolist()) == list(range(200))
    assert not torch.equal(drawn[0], drawn[10])
    again = batches(SMALL.replace(replacement=True, steps=200), labels)
    assert max(len(row) - len(set(row.tolist())) for row in again) > 0 and again.max() < 200


# Optimiser and schedule.

def test_lars_against_a_loop_over_layers():
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (3,), (2, 3)]
    sizes = [12, 3, 6]
    weights = torch.randn(2, 21, generator=generator, dtype=torch.float64)
    weights[1, :12] = 0  # a layer of zeros takes the plain step
    descent = Descent(sizes, [len(s) > 1 for s in shapes], momentum=0.8, decay=0.1, trust=0.3)
    expected = [[p.numpy().copy() for p in row.split(sizes)] for row in weights]
    velocity = [[np.zeros(s) for s in sizes] for _ in weights]
    for t in range(3):
        gradient, lr = torch.randn(2, 21, generator=generator, dtype=torch.float64), 0.5 / (t + 1)
        weights = descent.step(weights, gradient, lr)
        for row, speed, slope in zip(expected, velocity, gradient):
            for k, g in enumerate(p.numpy() for p in slope.split(sizes)):
                if k != 1:
                    length = np.linalg.norm(row[k])
                    rate = 0.3 * length / (np.linalg.norm(g) + 0.1 * length) if length else 1.0
                    g = rate * (g + 0.1 * row[k])
                speed[k] = 0.8 * speed[k] + lr * g
                row[k] = row[k] - speed[k]
    np.testing.assert_allclose(weights, [np.concatenate(row) for row in expected], atol=1e-12)


def test_lars_ignores_the_scale_of_the_loss():
    """With no decay a step of a matrix has length trust * lr * |w|, whatever the gradient's size."""
    w, g = torch.randn(1, 12, generator=torch.Generator().manual_seed(1)), torch.ones(1, 12)
    moves = [Descent([12], [True], momentum=0.0, trust=0.02).step(w, scale * g, 0.5) - w for scale in (1.0, 1e4)]
    torch.testing.assert_close(*moves)
    assert float(moves[0].norm()) == pytest.approx(0.01 * float(w.norm()), rel=1e-5)


def test_warm_up_is_linear_and_the_cosine_falls_to_zero():
    factors = [warmed(t, 100, 10) for t in range(1, 101)]
    assert factors[:10] == pytest.approx(np.arange(1, 11) / 10)
    assert np.all(np.diff(factors[9:]) < 0) and 0 < factors[-1] < 1e-3
    assert [warmed(t, 100, 0, cosine=False) for t in (1, 50, 100)] == [1.0] * 3


# What is recorded.

def test_recorded_numbers_are_the_definitions():
    result = run(SMALL.replace(probe="always", compare="all"))
    z = result.z[-1]
    assert result.z.shape == (len(result.steps), 5, 40, 8) and result.steps[-1] == 12
    for k in range(5):
        assert result.cka[-1, k] == pytest.approx(metrics.linear_cka(z[0], z[k]), abs=1e-6)
        assert result.rsa[-1, k] == pytest.approx(metrics.rsa(z[0], z[k]), abs=1e-6)
    np.testing.assert_allclose(result.cka[:, 0], 1, atol=1e-6)
    np.testing.assert_allclose(result.cka[0], 1, atol=1e-6)
    np.testing.assert_allclose(result.gap, result.layer_gap.mean(2), atol=1e-7)
    assert (result.gap[:, 0] == 0).all() and (result.gap[0] == 0).all() and np.isnan(result.weight_angle[0]).all()
    assert (result.loss_gap > 0).all(), "DCL has more terms below the line than NSCL"
    np.testing.assert_allclose(result.loss_gap[:, 0], gap_of_dcl(result), atol=1e-5)
    ended = run(SMALL.replace(probe="end", compare="all")).probe
    assert np.isnan(ended[:-1]).all() and (ended[-1] == result.probe[-1]).all() and np.isnan(run(SMALL).probe).all()
    assert ((0 <= result.nccc) & (result.nccc <= 1) & (0 <= result.probe) & (result.probe <= 1)).all()


def gap_of_dcl(result):
    """DCL - NSCL on DCL's embeddings of the recorder's views, both from `losses`; the weights are trained again."""
    config = result.config
    x, labels, x_test, labels_test = dataset(config)
    networks, start, step = training(config, x, labels, config.names)
    noise = torch.Generator().manual_seed(config.seed + 5)
    views, out = augment.noise(x_test.repeat(2, 1), config.noise, noise), []

    def record(weights, t):
        if t in result.steps:
            pair = networks(weights, views)[1][0].chunk(2)
            out.append(float(losses.dcl(*pair, config.tau) - losses.nscl(*pair, labels_test, config.tau)))

    iterate(step, start, config.steps, record)
    return np.array(out)


def test_weight_gap_and_angles_against_the_modules():
    x, labels, *_ = dataset(SMALL)
    networks, start, step = training(SMALL, x, labels, SMALL.names)
    end, _, _ = iterate(step, start, SMALL.steps, lambda weights, t: None)
    modules = []
    for row in (start[0], end[0], end[1]):
        modules.append(MLP((32, 16, 16, 16, 16, 8), "relu"))
        torch.nn.utils.vector_to_parameters(row[:sum(networks.sizes[:-2])], modules[-1].parameters())
    result = run(SMALL)
    assert result.gap[-1, 1] == pytest.approx(metrics.weight_gap(modules[1], modules[2]), rel=1e-4)
    flat = [torch.nn.utils.parameters_to_vector(m.parameters()).detach().double() for m in modules]
    a, b = flat[1] - flat[0], flat[2] - flat[0]
    assert result.weight_angle[-1, 1] == pytest.approx(float(torch.rad2deg(torch.arccos(a @ b / a.norm() / b.norm()))), abs=0.05)


def test_three_principal_axes_keep_the_angle_of_three_points_and_not_of_clouds():
    rng = np.random.default_rng(0)
    start, a, b = rng.normal(size=(3, 1, 50))
    assert alignment.pca_angle(start, a, b) == pytest.approx(alignment.angle(a[0] - start[0], b[0] - start[0]), abs=1e-6)
    start = rng.normal(size=(100, 50)) * np.where(np.arange(50) < 3, 10, 0.01)  # three wide directions, where both move alike
    a, b = (start + np.eye(50)[0] + np.eye(50)[k] for k in (3, 4))
    assert alignment.angle((a - start).mean(0), (b - start).mean(0)) == pytest.approx(60, abs=1e-6)
    assert alignment.pca_angle(start, a, b) < 5


def test_same_config_same_bits_and_stop_returns_what_there_is():
    first, again = run(SMALL), run(SMALL)
    for field in dataclasses.fields(Result):
        a = getattr(first, field.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, getattr(again, field.name), field.name)
    stopped = run(SMALL.replace(steps=20_000), progress=lambda fraction, partial: len(partial.steps) < 2)
    assert stopped.stopped and 2 <= len(stopped.steps) < 22


# Data and views.

def test_mixture_has_unit_spread_between_means_and_the_asked_spread_within():
    x, labels = data.mixture(40_000, 100, 0.5, 32, torch.Generator().manual_seed(0))
    means = torch.stack([x[labels == c].mean(0) for c in range(100)])
    assert labels.bincount().tolist() == [400] * 100
    assert (x - means[labels]).std() == pytest.approx(0.5, rel=0.01) and means.std() == pytest.approx(1, rel=0.05)


def test_training_and_test_points_are_different_images_of_all_classes():
    x, labels, x_test, labels_test = dataset(DIGITS)
    assert len(x) == 1200 and len(x_test) == 400 and torch.cdist(x, x_test).min() > 0
    assert labels_test.bincount().tolist() == [40] * 10 and labels.bincount().tolist() == [120] * 10


def test_colours_move_together_and_a_shift_moves_by_pixels():
    grey = torch.zeros(50, 8, 8)
    grey[:, 3:5, 3:5] = 1
    grey = grey.reshape(50, 64)
    rgb = augment.images(torch.cat([grey, 2 * grey, 3 * grey], 1), torch.Generator().manual_seed(0)).reshape(50, 3, 64)
    torch.testing.assert_close(rgb[:, 0], augment.images(grey, torch.Generator().manual_seed(0)))
    torch.testing.assert_close(rgb[:, 2], 3 * rgb[:, 0])
    moved = augment.images(grey, torch.Generator().manual_seed(0), degrees=0.0, scale=0.0, blur=0.0, shift=1.0).reshape(50, 8, 8)
    centre = (moved.sum(1) * torch.arange(8)).sum(1) / moved.sum((1, 2)) - 3.5
    assert centre.abs().max() <= 1 + 1e-5 and centre.std() > 0.4
    still = augment.images(grey, torch.Generator().manual_seed(0), degrees=0.0, scale=0.0, blur=0.0)
    torch.testing.assert_close(still, grey)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_image_sets_run_where_their_files_are(name):
    config = Config(data=name, n=100, test=40, batch=50, steps=2, warmup=1, noise=0.1)
    try:
        result = run(config)
    except ValueError as error:
        assert "CLBOOK_DATA" in str(error) and "download" in str(error), "it says what to do"
    else:
        assert np.isfinite(result.cka).all()


# Figures.

def test_figures_say_their_numbers():
    result, pair = run(SMALL), run(SMALL.replace(compare="pair"))
    for picture in (figures.sides(result), figures.sides(pair, frame=0), figures.matrices(result), figures.over_training([result]),
                    figures.by_classes([10], [[result]]), figures.heatmaps([10], [result]), figures.apart([pair])):
        assert len(picture.png(dpi=40)) > 1000 and any(ch.isdigit() for ch in picture.alt)
    assert f"{result.cka[-1, 1]:.2f}" in figures.sides(result).alt


# Bad input.

@pytest.mark.parametrize("changes, named", [
    ({"classes": 1}, "classes = 1"), ({"data": "digits", "classes": 11}, "classes = 11"), ({"tau": 0.0}, "tau = 0.0"),
    ({"tau": -1.0}, "tau = -1.0"), ({"batch": 3000}, "batch = 3000"), ({"classes": 50, "test": 40}, "test = 40"),
    ({"n": 20, "classes": 50, "batch": 10}, "n = 20"), ({"steps": 10}, "warmup = 20"), ({"data": "imagenet"}, "data = 'imagenet'"),
    ({"optimizer": "adam"}, "optimizer = 'adam'"), ({"compare": "none"}, "compare = 'none'")])
def test_bad_settings_name_the_field(changes, named):
    with pytest.raises(ValueError, match=f"{named} is not allowed"):
        Config(**changes)


def test_batch_larger_than_the_data_is_allowed_with_replacement():
    assert Config(batch=3000, replacement=True).batch == 3000


def test_a_batch_of_one_class_is_refused_before_training():
    with pytest.raises(ValueError, match="batch = 4 is not allowed: batch must be larger: batch number"):
        run(SMALL.replace(classes=2, batch=4, steps=200))


def test_too_many_digits_and_missing_or_damaged_files_say_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="class 0 of digits has 178 images"):
        dataset(Config(data="digits", n=1700, test=400))
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="CLBOOK_DATA = .*download"):
        run(Config(data="mnist"))
    (tmp_path / "MNIST" / "raw").mkdir(parents=True)
    (tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    with pytest.raises(ValueError, match="damaged"):
        run(Config(data="mnist"))


def test_divergence_names_the_learning_rate():
    with pytest.raises(ValueError, match="lr = 100.0 is not allowed: lr must be smaller here .* diverged at iteration"):
        run(Config(n=200, test=40, batch=20, width=16, d=8, lr=100.0, compare="labels", schedule="constant"))
