"""What `experiments.alignment` promises about its runs; what they show is judged by the chapter's claims."""

import dataclasses
import math

import numpy as np
import oracles
import pytest
import torch
from stepping import advance

from clbook import augment, data, losses, metrics
from clbook.experiments.alignment import Config, Copies, batches, dataset, experiment, run
from clbook.experiments.alignment.experiment import on_plane, some_points
from clbook.models import MLP
from clbook.training.optim import lars_directions, momentum, zeros
from clbook_book import records
from clbook_book.audit.sa import copies, runs

SMALL = Config(n=200, test=40, width=16, d=8, batch=20, steps=12, warmup=2)
DIGITS = Config(data="digits", n=1200, noise=0.1)


def trained(*configs):
    """The states of runs of `configs` at the start and after all steps."""
    training = Copies(list(configs)).to("cpu")
    begun = ended = training.start()
    for t in range(training.steps):
        ended = advance(training, ended, t)
    return begun, ended


def module(weights, i, k):
    """Network k of run i as modules: encoder and projector, then the head."""
    net = experiment.start(SMALL, 32)
    with torch.no_grad():
        for p, values in zip(net.parameters(), weights, strict=True):
            p.copy_(values[i, k])
    return net


def views_of(monkeypatch, config):
    """The views that a run of `config` trains on, one tensor a step."""
    seen, view = [], experiment.view
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "view", lambda *args: seen.append(view(*args)) or seen[-1])
        trained(config)
    return seen


def test_networks_share_start_batches_and_views_to_the_bit(monkeypatch):
    monkeypatch.setitem(experiment.NAMES, "all", ("dcl", "dcl", "nscl", "ce"))
    begun, ended = trained(SMALL)
    assert all((w == w[:, :1]).all() for w in begun.weights)
    W = ended.weights[0][0]
    assert torch.equal(W[0], W[1]), "two copies with one loss see the same and stay equal"
    assert not torch.equal(W[0], W[2]) and not torch.equal(W[2], W[3])
    first = views_of(monkeypatch, SMALL)
    assert len(first) == SMALL.steps, "one tensor of views a step, for all networks"
    for other in (
        SMALL.replace(compare="pair", tau=0.1),
        SMALL.replace(optimizer="lars", scaling="linear"),
    ):
        again, _ = trained(other)
        assert torch.equal(again.batches, begun.batches)
        assert all(torch.equal(a[:, 0], b[:, 0]) for a, b in zip(again.weights, begun.weights))
        others = views_of(monkeypatch, other)
        assert all(torch.equal(a, b) for a, b in zip(first, others)), (
            "views depend on the seed alone"
        )


@pytest.mark.parametrize("name", ["dcl", "nscl", "supcon", "ce", "cl"])
def test_a_run_is_the_plain_training_of_one_network(name, monkeypatch):
    """Against an nn.Module, autograd and torch.optim.SGD on the same batches and views."""
    config = SMALL.replace(schedule="constant", warmup=0, steps=6, lr=0.05)
    monkeypatch.setitem(experiment.NAMES, "all", (name, "ce", "dcl"))
    begun, ended = trained(config.replace(seed=7), config)
    x, labels, *_ = dataset(config)
    net = module(begun.weights, 1, 0)
    generator = torch.Generator().manual_seed(config.seed + 2)
    plain = MLP((32, 16, 16, 16, 16, 8), "relu", generator), MLP((8, 10), generator=generator)
    plain = [p for part in plain for p in part.parameters()]
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), plain, strict=True))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    noise = torch.Generator().manual_seed(config.seed + 4)
    for chosen in batches(config, labels):
        z = net[0](augment.noise(x[chosen].repeat(2, 1), config.noise, noise))
        optimizer.zero_grad()
        if name == "ce":
            loss = torch.nn.functional.cross_entropy(net[1](z), torch.cat([labels[chosen]] * 2))
        else:
            given = () if name in ("cl", "dcl") else (labels[chosen],)
            loss = getattr(losses, name)(*z.chunk(2), *given, config.tau)
        loss.backward()
        optimizer.step()
    for p, w in zip(net.parameters(), ended.weights):
        torch.testing.assert_close(w[1, 0], p, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("tau", [0.05, 0.5, 5.0])
def test_each_network_has_its_own_loss_of_its_own_run(tau):
    """Against the papers' sums, of one run: the loss, the labels and the temperature are that network's."""
    z = torch.randn(3, 14, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.tensor([[0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1, 1]])
    taus = torch.tensor([tau, 2 * tau, tau], dtype=z.dtype)
    for name in ("supcon", "dcl", "cl", "nscl"):
        ours = experiment.contrastive(name, z, labels, taus.reshape(3, 1, 1))
        for i in range(3):
            given = () if name in ("cl", "dcl") else (labels[i].tolist(),)
            expected = getattr(oracles, name)(*z[i : i + 1].chunk(2, 1), *given, taus[i : i + 1])
            torch.testing.assert_close(ours[i], expected[0], rtol=1e-9, atol=1e-12)
    scores = torch.randn(3, 7, 4, generator=torch.Generator().manual_seed(1))
    y = labels.clamp(max=3)
    expected = torch.stack([torch.nn.functional.cross_entropy(*pair) for pair in zip(scores, y)])
    torch.testing.assert_close(experiment.cross_entropy(scores, y), expected)


def test_batches_without_replacement_hold_each_point_once_an_epoch():
    labels = dataset(SMALL)[1]
    drawn = batches(SMALL, labels)
    assert drawn.shape == (12, 20) and sorted(drawn[:10].flatten().tolist()) == list(range(200))
    assert not torch.equal(drawn[0], drawn[10])
    again = batches(SMALL.replace(replacement=True, steps=200), labels)
    assert max(len(row) - len(set(row.tolist())) for row in again) > 0 and again.max() < 200


def test_lars_against_a_loop_over_networks_and_layers():
    generator = torch.Generator().manual_seed(0)

    def normal(shape):
        return torch.randn(2, 3, *shape, generator=generator, dtype=torch.float64)

    weights = [normal(shape) for shape in ((3, 4), (3,), (2, 3), (2, 3, 2, 2))]
    weights[0][1, 2] = 0  # a layer of zeros takes the plain step
    rates, memory = torch.tensor([0.5, 0.2]), zeros(weights)
    expected, velocity = [w.numpy().copy() for w in weights], [np.zeros(w.shape) for w in weights]
    for t in range(3):
        gradients = [normal(w.shape[2:]) for w in weights]
        directions = lars_directions(weights, gradients, trust=0.3, decay=0.1, axes=2)
        weights, memory = momentum(weights, directions, memory, rates, 1 / (t + 1), beta=0.8)
        for w, v, slopes in zip(expected, velocity, gradients):
            for i, k in np.ndindex(2, 3):
                g = slopes[i, k].numpy()
                if w.ndim > 3:
                    length = np.linalg.norm(w[i, k])
                    g = (0.3 * length / (np.linalg.norm(g) + 0.1 * length) if length else 1.0) * (
                        g + 0.1 * w[i, k]
                    )
                v[i, k] = 0.8 * v[i, k] + float(rates[i].double()) / (t + 1) * g
                w[i, k] -= v[i, k]
    for ours, theirs in zip(weights, expected):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_recorded_numbers_are_the_definitions():
    result = run(SMALL.replace(compare="all"), record="all")
    z = result.z[-1]
    assert result.z.shape == (len(result.steps), 5, 40, 8) and result.steps[-1] == 12
    for k in range(5):
        assert result.cka[-1, k] == pytest.approx(metrics.linear_cka(z[0], z[k]), abs=1e-6)
        assert result.rsa[-1, k] == pytest.approx(metrics.rsa(z[0], z[k]), abs=1e-6)
    np.testing.assert_allclose(result.cka[:, 0], 1, atol=1e-6)
    np.testing.assert_allclose(result.cka[0], 1, atol=1e-6)
    np.testing.assert_allclose(result.gap, result.layer_gap.mean(2), atol=1e-7)
    assert (result.gap[:, 0] == 0).all() and (result.gap[0] == 0).all()
    assert np.isnan(result.weight_angle[0]).all()
    assert (result.loss_gap > 0).all(), "DCL has more terms below the line than NSCL"
    np.testing.assert_allclose(result.loss_gap[:, 0], gap_of_dcl(result), atol=1e-5)
    assert result.probe.shape == (5,), "a probe is fitted at the end, and not at the other times"
    assert all(((share >= 0) & (share <= 1)).all() for share in (result.nccc, result.probe))


def gap_of_dcl(result):
    """DCL - NSCL on DCL's embeddings of the recorded views, both from `losses`; the weights are trained again."""
    config, out = result.config, []
    _, _, x_test, labels_test = dataset(config)
    noise = torch.Generator().manual_seed(config.seed + 5)
    views = augment.noise(x_test.repeat(2, 1), config.noise, noise)
    training = Copies([config]).to("cpu")
    s = training.start()
    for t in range(config.steps + 1):
        if t in result.steps:
            pair = training.outputs(s, views[None])[1][0, 0].detach().chunk(2)
            out.append(
                float(losses.dcl(*pair, config.tau) - losses.nscl(*pair, labels_test, config.tau))
            )
        s = advance(training, s, t) if t < config.steps else s
    return np.array(out)


def test_weight_gap_and_angles_against_the_modules():
    begun, ended = trained(SMALL)
    modules = [module(state.weights, 0, k)[0] for state, k in ((begun, 0), (ended, 0), (ended, 1))]
    result = run(SMALL, record=("gap", "weight_angle"))
    assert result.gap[-1, 1] == pytest.approx(metrics.weight_gap(modules[1], modules[2]), rel=1e-4)
    flat = [torch.nn.utils.parameters_to_vector(m.parameters()).detach().double() for m in modules]
    a, b = flat[1] - flat[0], flat[2] - flat[0]
    expected = float(torch.rad2deg(torch.arccos(a @ b / a.norm() / b.norm())))
    assert result.weight_angle[-1, 1] == pytest.approx(expected, abs=0.05)


def test_a_similarity_without_an_answer_is_not_a_divergence():
    points = torch.randn(1, 1, 5, 3, generator=torch.Generator().manual_seed(0))
    collapsed = torch.ones_like(points), 0 * points, math.nan * points
    for metric in (metrics.linear_cka, metrics.rsa):
        found = experiment.beside_first(metric, torch.cat([points, *collapsed], 1))
        assert found.shape == (1, 4) and np.isnan(found).tolist() == [[False, True, True, True]]


def test_three_principal_axes_keep_the_angle_of_three_points_and_not_of_clouds():
    rng = np.random.default_rng(0)
    start, a, b = rng.normal(size=(3, 1, 50))
    exact = experiment.angle(a[0] - start[0], b[0] - start[0])
    assert experiment.pca_angle(start, a, b) == pytest.approx(exact, abs=1e-6)
    # wide where both move alike
    start = rng.normal(size=(100, 50)) * np.where(np.arange(50) < 3, 10, 0.01)
    a, b = (start + np.eye(50)[0] + np.eye(50)[k] for k in (3, 4))
    assert experiment.angle((a - start).mean(0), (b - start).mean(0)) == pytest.approx(60, abs=1e-6)
    assert experiment.pca_angle(start, a, b) < 5


def test_mixture_has_unit_spread_between_means_and_the_asked_spread_within():
    x, labels = data.mixture(40_000, 100, 0.5, 32, torch.Generator().manual_seed(0))
    means = torch.stack([x[labels == c].mean(0) for c in range(100)])
    assert labels.bincount().tolist() == [400] * 100
    assert (x - means[labels]).std() == pytest.approx(0.5, rel=0.01)
    assert means.std() == pytest.approx(1, rel=0.05)


def test_training_and_test_points_are_different_images_of_all_classes():
    x, labels, x_test, labels_test = dataset(DIGITS)
    assert len(x) == 1200 and len(x_test) == 400 and torch.cdist(x, x_test).min() > 0
    assert labels_test.bincount().tolist() == [40] * 10 and labels.bincount().tolist() == [120] * 10


def test_colours_move_together_and_a_shift_moves_by_pixels():
    grey = torch.zeros(50, 8, 8)
    grey[:, 3:5, 3:5] = 1
    grey = grey.reshape(50, 64)
    rgb = augment.images(
        torch.cat([grey, 2 * grey, 3 * grey], 1), torch.Generator().manual_seed(0)
    ).reshape(50, 3, 64)
    torch.testing.assert_close(rgb[:, 0], augment.images(grey, torch.Generator().manual_seed(0)))
    torch.testing.assert_close(rgb[:, 2], 3 * rgb[:, 0])
    only_shift = {"degrees": 0.0, "scale": 0.0, "blur": 0.0, "shift": 1.0}
    moved = augment.images(grey, torch.Generator().manual_seed(0), **only_shift).reshape(50, 8, 8)
    centre = (moved.sum(1) * torch.arange(8)).sum(1) / moved.sum((1, 2)) - 3.5
    assert centre.abs().max() <= 1 + 1e-5 and centre.std() > 0.4
    still = augment.images(grey, torch.Generator().manual_seed(0), degrees=0.0, scale=0.0, blur=0.0)
    torch.testing.assert_close(still, grey)


def variant(**changes):
    return copies.Config(
        n=200, test=40, width=16, d=8, batch=20, steps=12, warmup=2, compare="pair", **changes
    )


def test_a_twin_changes_nothing_else_and_starts_a_little_off():
    plain = run(SMALL.replace(compare="pair"), record=("z",))
    twin = copies.run(variant(twin=1e-3), record=("z",))
    np.testing.assert_allclose(twin.z[:, :2], plain.z, rtol=1e-4, atol=1e-5)
    begun = copies.Variants([variant(twin=1e-3)]).state.weights
    size, off, apart = (
        sum(float(part.square().sum()) for part in parts) ** 0.5
        for parts in zip(*((w[0, 0], w[0, 2] - w[0, 0], w[0, 1] - w[0, 0]) for w in begun))
    )
    assert off == pytest.approx(1e-3 * size, rel=0.2) and apart == 0
    assert variant(twin=1e-3).names == ("dcl", "nscl", "dcl")
    assert variant().names == plain.config.names


def test_what_is_drawn_of_embeddings_are_cosines_with_the_two_main_axes_of_the_end():
    draws = np.random.default_rng(0)
    labels = np.repeat([0, 1], 100)
    means = np.eye(3, 6)[[0, 1]] * 3  # of two classes: they differ along two axes
    z = draws.normal(size=(4, 5, 200, 6)) + means[labels]
    plane = on_plane(z, labels)
    assert plane.shape == (4, 4, 150, 2) and np.linalg.norm(plane, axis=-1).max() <= 1
    spread = plane[-1].reshape(-1, 2).var(0)
    unit = z[-1, :4][:, some_points(labels)].reshape(-1, 6)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert spread == pytest.approx(np.linalg.eigvalsh(np.cov(unit.T, ddof=0))[-2:][::-1], rel=1e-5)
    # Nothing turns: points that stay where they are are drawn where they were.
    still = on_plane(np.repeat(z[-1:], 2, axis=0), labels)
    np.testing.assert_array_equal(still[0], plane[-1])
    np.testing.assert_array_equal(still[0], still[1])
    assert not on_plane(np.zeros_like(z), labels).any()  # collapsed networks: at the centre


def test_a_subset_has_some_classes_with_as_many_points_each():
    config = copies.Config(
        data="digits", subset=True, classes=3, n=90, test=30, batch=20, steps=2, warmup=1
    )
    x, labels, x_test, labels_test = copies.Variants([config]).dataset(config)
    assert labels.bincount().tolist() == [30] * 3 and labels_test.bincount().tolist() == [10] * 3
    assert torch.cdist(x, x_test).min() > 0
    every, digit = data.images("digits", 1600, 10, torch.Generator().manual_seed(0))
    of = [set(digit[torch.cdist(x[labels == c], every).argmin(1)].tolist()) for c in range(3)]
    assert all(len(digits) == 1 for digits in of) and len(set.union(*of)) == 3
    with pytest.raises(ValueError, match="subset"):
        config.replace(n=91)


def test_what_a_record_keeps_of_embeddings():
    result = copies.run(variant(twin=1e-3), record="all")
    plain, projected = runs.class_angles(result)
    # the first of ten classes
    means = [(result.z[-1, k, :4] - result.z[0, k, :4]).mean(0) for k in (0, 1)]
    assert plain[0, -1] == pytest.approx(float(experiment.angle(*means)), rel=1e-4)
    assert np.mean(plain, 0)[-1] == pytest.approx(result.class_angle[-1, 1], rel=1e-4)
    assert projected[0][-1] == pytest.approx(result.pca_angle[-1, 1], rel=1e-4)
    unit = result.z[-1, 0] / np.linalg.norm(result.z[-1, 0], axis=1, keepdims=True)
    inside = sum(
        ((unit[4 * c : 4 * c + 4] - unit[4 * c : 4 * c + 4].mean(0)) ** 2).sum() for c in range(10)
    )
    expected = inside / ((unit - unit.mean(0)) ** 2).sum()
    assert runs.within(result)[0, -1] == pytest.approx(expected, rel=1e-4)
    recipe = dataclasses.replace(runs.plateau.recipe, configs=(result.config,), dims=())
    kept = records.labelled(recipe, [result])
    end = kept.weight_angle.sel(loss="nscl").isel(run=0, step=-1)
    assert end == pytest.approx(result.weight_angle[-1, 1], rel=1e-5)


def test_batch_larger_than_the_data_is_allowed_with_replacement():
    assert Config(batch=3000, replacement=True).batch == 3000


def test_a_batch_of_one_class_is_refused_before_training():
    with pytest.raises(ValueError, match="batch = 4 .* must be larger: batch number"):
        run(SMALL.replace(classes=2, batch=4, steps=200))


def test_too_many_digits_are_refused():
    with pytest.raises(ValueError, match="class 0 of digits has 178 examples"):
        dataset(Config(data="digits", n=1700, test=400))


def test_a_readers_own_points_have_views_with_noise_alone(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 5)) + 9 * np.eye(5)[np.repeat([1, 0, 2], 20)]
    np.savez(tmp_path / "own.npz", x=x, y=np.repeat([4, 0, 7], 20))
    config = SMALL.replace(data=str(tmp_path / "own.npz"), classes=3, n=40, test=15)
    inputs, labels, _, y_test = dataset(config)
    assert (inputs.argmax(1) == labels).all() and len(y_test) == 15 and y_test.bincount().min() >= 4
    assert experiment.draw(config, 3, 5, torch.Generator()).shape == (3, 5)
    assert np.isfinite(run(config, record=("cka",)).cka).all()
    assert config.files == (tmp_path / "own.npz",)
    with pytest.raises(ValueError, match="classes = 4 is not allowed: .*own.npz has 3 classes"):
        run(config.replace(classes=4))
