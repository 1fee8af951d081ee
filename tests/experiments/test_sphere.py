"""What `experiments.sphere` promises about its runs."""

import math

import numpy as np
import pytest
import torch
from scipy.special import i0e

from clbook import data, theory
from clbook.experiments import sphere
from clbook.experiments.sphere import PAIR, Config, dataset, run, start
from clbook.experiments.sphere.push import first_push, push_coherence
from clbook.losses import simplified
from clbook.metrics import neighbour_accuracy
from clbook_book.course.sphere import figures
from clbook_book.course.sphere.limits import strongest_curvature


@pytest.mark.parametrize(
    "d, value", [(2, math.log(i0e(5))), (3, math.log(0.1 * (1 - math.exp(-10))))]
)
def test_the_plateau_has_its_closed_form(d, value):
    assert theory.simplified_plateau(0.2, d) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_plateau_is_the_loss_of_many_uniform_points(d):
    """n uniform points have the plateau as their loss up to 1/n from the point itself and sampling noise."""
    z = start(Config(d=d, n=2000, start="uniform")).double()
    expected = theory.simplified_plateau(0.2, d)
    assert float(simplified(z, z[None], 0.2)) == pytest.approx(expected, abs=0.02)


def test_both_flows_start_with_equal_arrows():
    pair = Config(d=3, steps=1).compared(PAIR)
    network, vanilla = (run(config, record=("arrows",)) for config in pair.values())
    np.testing.assert_allclose(network.arrows[0], vanilla.arrows[0], atol=1e-4)


@pytest.mark.parametrize("kind", ["cap", "uniform"])
def test_the_first_push_is_the_first_step_before_it_is_put_on_the_sphere(kind):
    config = Config(d=3, steps=1, start=kind, lr=0.1)
    pushed = start(config).numpy() + first_push(config)
    np.testing.assert_allclose(
        pushed / np.linalg.norm(pushed, axis=1, keepdims=True), run(config).z[1], atol=1e-6
    )


def test_pushes_of_a_cluster_are_compared_with_those_of_all_points():
    within, together = push_coherence(Config(start="uniform", first=-3.0, gap=2.0))
    assert 0 < together < within <= 1


def test_vanilla_flow_never_changes_the_cyclic_order_on_the_circle():
    result = run(Config(network=False, start="uniform", n=50, steps=100, record_every=1))
    angle = np.arctan2(result.z[..., 1], result.z[..., 0])
    order = np.argsort(angle[0])
    gaps = np.diff(angle[:, order], axis=1, append=angle[:, order[:1]]) % (2 * np.pi)
    assert np.allclose(gaps.sum(1), 2 * np.pi, atol=1e-3)


def test_arrows_are_the_negative_tangential_gradient():
    result = run(Config(network=False, steps=3, record_every=1, d=3), record=("arrows",))
    z = torch.tensor(result.z[2], dtype=torch.float64, requires_grad=True)
    # its derivative is the projection on the tangent plane
    unit = torch.nn.functional.normalize(z, dim=1)
    (gradient,) = torch.autograd.grad(200 * simplified(unit, z.detach()[None], 0.2), z)
    np.testing.assert_allclose(result.arrows[2], -gradient.numpy(), atol=1e-4)
    np.testing.assert_allclose((result.arrows * result.z).sum(2), 0, atol=1e-4)


@pytest.mark.parametrize(
    "settings", [{}, {"d": 3, "depth": 4}, {"network": False}, {"start": "uniform", "lr": 5.0}]
)
def test_embeddings_stay_on_the_sphere_and_begin_where_the_start_says(settings):
    config = Config(steps=20, **settings)
    result = run(config, record=("reach",))
    np.testing.assert_allclose(np.linalg.norm(result.z, axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(result.z[0], start(config), atol=1e-6)
    assert result.reach[0] < 1e-5 if config.network else np.isnan(result.reach).all()


def test_starts_are_a_cap_around_the_first_axis_or_uniform():
    cap, uniform = (start(Config(d=3, n=2000, start=kind)) for kind in ("cap", "uniform"))
    assert cap[:, 0].min() > 0.9 and cap[:, 1:].std() == pytest.approx(0.05, rel=0.1)
    assert uniform.mean(0).abs().max() < 0.05
    assert uniform.square().mean(0) == pytest.approx([1 / 3] * 3, abs=0.03)


def test_clusters_lie_in_a_row_as_in_the_papers():
    wide = Config(n=2000, first=-3.0, gap=2.0, d=3)
    for config, centres in ((Config(n=2000), [-1, 0, 1, 2]), (wide, [-3, -1, 1, 3])):
        x, labels = dataset(config)
        means = torch.stack([x[labels == k].mean(0) for k in range(4)])
        assert means[:, 0].tolist() == pytest.approx(centres, abs=0.03)
        assert means[:, 1:].abs().max() < 0.03
        assert x.shape == (2000, config.d)


def test_neighbour_accuracy_by_hand_and_against_a_slow_loop():
    z, labels = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 0.15]), np.array([0, 0, 0, 1, 1, 1, 1])
    assert neighbour_accuracy(z, labels, k=2) == pytest.approx(6 / 7)
    points, ids = data.clusters(60, 3, 0.6, torch.Generator().manual_seed(0))
    hits = 0
    for i in range(60):
        others = [
            j for j in torch.cdist(points[i : i + 1], points)[0].argsort().tolist() if j != i
        ][:10]
        hits += int(ids[others].bincount(minlength=3).argmax() == ids[i])
    assert neighbour_accuracy(points, ids) == hits / 60
    with pytest.raises(ValueError, match="k = 7 is not allowed"):
        neighbour_accuracy(z, labels, k=7)


def test_sharpness_finds_the_strongest_curvature_with_its_sign():
    w = torch.zeros(3, requires_grad=True)
    for values in ([1.0, 4.0, -2.0], [1.0, 2.0, -5.0]):
        loss = (torch.tensor(values) * w**2).sum() / 2
        strongest = max(values, key=abs)
        assert strongest_curvature(loss, [w], torch.Generator().manual_seed(0)) == pytest.approx(
            strongest, rel=1e-3
        )


def test_an_ordinary_start_is_the_network_s_own_output_and_needs_one():
    config = Config(start="ordinary", n=30, steps=5)
    flow = sphere.Sphere([config])
    g = flow.output(flow.state.weights, flow.state.x)[0].detach()
    expected = torch.nn.functional.normalize(g, dim=1)
    np.testing.assert_allclose(run(config).z[0], expected, atol=1e-6)
    with pytest.raises(ValueError, match="start = 'ordinary' is not allowed"):
        config.replace(network=False)


def test_turned_looks_at_the_pair_from_all_sides():
    pair = {
        name: run(config, record=figures.SNAPSHOT)
        for name, config in Config(d=3, steps=5).compared(PAIR).items()
    }
    angles = figures.ANGLES
    assert angles.tolist() == list(range(0, 360, 60)) and len(angles) == sphere.TURNS
    front, side = (figures.turned(pair, frame) for frame in (0, 2))
    assert "seen from 0 degrees" in front.alt and "seen from 120 degrees" in side.alt
    equator = front.fig.axes[1].lines[1].get_ydata()  # its near half lies below its middle
    assert -0.4 < np.nanmin(equator) < np.nanmax(equator) < 0.01, "seen from above"
