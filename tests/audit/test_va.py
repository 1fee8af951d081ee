"""What `audit.va` promises: VA's data and losses in the sphere chapter's loop, and its checks of statements."""

import dataclasses

import numpy as np
import pytest
import torch

from clbook.experiments import sphere
from clbook.experiments.sphere import start
from clbook.losses import generalized, nt_xent_mean
from clbook.metrics import neighbour_accuracy
from clbook_book.audit.va import Config, Variational, dataset, minima, run, runs

TINY = Config(n=24, steps=6, width=10)
FIELDS = {field.name for field in dataclasses.fields(sphere.Config)}


def first_gradient(config):
    """(loss of the first step, its gradient in the last weights) of a run."""
    flow = Variational([config]).to("cpu")
    s = flow.start()
    _, loss = flow.forward(s, flow.draw(), 0)
    return loss, flow.gradients(loss, s.weights)[-1], flow


def test_with_the_other_paper_s_data_and_loss_a_run_is_the_sphere_chapter_s():
    """Apart from its views: VA draws two at each step."""
    config = Config(
        n=24, steps=6, width=10, loss="LS eq. 12", views="all", network=False, spread=0.1, noise=0.1
    )
    ours = run(config)
    theirs = sphere.run(sphere.Config(**{name: getattr(config, name) for name in FIELDS}))
    np.testing.assert_allclose(ours.z, theirs.z, atol=1e-6)
    np.testing.assert_array_equal(ours.x, theirs.x)


@pytest.mark.parametrize(
    "change", [{}, {"loss": "eq. 1"}, {"net": "averaging"}, {"centres": "axes", "classes": 3}]
)
def test_the_first_loss_is_the_paper_s_of_two_views_of_each_point(change):
    config = TINY.replace(**change)
    loss, _, flow = first_gradient(config)
    flow = Variational([config]).to("cpu")
    views = flow.embed_views(flow.start(), flow.draw().noise)
    one, two = torch.nn.functional.normalize(views, dim=-1)[0]
    plain = (
        nt_xent_mean(one, two, 0.2)
        if config.loss == "eq. 1"
        else generalized(one, two, lambda t: -t / 0.2)
    )
    assert loss.item() == pytest.approx(plain.item(), abs=1e-6)


def test_noise_leaves_the_clean_coordinates_alone_and_the_start_is_a_function_of_them():
    for change in ({"d": 2}, {"d": 3}, {"centres": "axes", "classes": 3, "d": 3}):
        config = Config(n=60, **change)
        flow = Variational([config], record=("loss",)).to("cpu")
        s = flow.start()
        noise = flow.recorded_draws["noise"].next()
        places = flow.embed_views(s, noise) - flow.embed_points(s)[:, None]
        x, _ = dataset(config)
        moved = (x + s.noise * noise - x)[..., : config.clean]
        assert moved.abs().max() == 0 and places.abs().max() < 1e-6


def test_clusters_lie_in_a_row_or_on_axes_and_the_last_one_may_be_small():
    x, labels = dataset(Config(n=2000, d=3))
    assert x.shape == (2000, 3)
    means = torch.stack([x[labels == k].mean(0) for k in range(4)])
    assert means[:, 0].tolist() == pytest.approx([-3, -1, 1, 3], abs=0.03)
    assert means[:, 1:].abs().max() < 0.06
    x, labels = dataset(Config(n=410, centres="axes", classes=3, ratio=0.05))
    assert labels.bincount().tolist() == [200, 200, 10] and x.shape == (410, 4)
    means = torch.stack([x[labels == k].mean(0) for k in range(3)])
    torch.testing.assert_close(means[:, :3], 2 * torch.eye(3), atol=0.1, rtol=0)


def test_without_a_network_views_stay_with_their_points_and_the_loss_falls():
    result = run(TINY.replace(network=False, lr=0.02, steps=40), record=("spread", "loss"))
    assert (result.spread == 0).all() and (np.diff(result.loss) < 1e-6).all()
    np.testing.assert_allclose(result.z[0], start(TINY), atol=1e-6)


def test_arrows_are_minus_eq_7_along_the_sphere():
    result = run(TINY, record=("arrows",))
    z = torch.tensor(result.z[0], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(24 * generalized(z, z, lambda t: -t / 0.2), z)
    gradient -= (gradient * z).sum(1, keepdim=True) * z
    np.testing.assert_allclose(result.arrows[0], -gradient.detach().numpy(), atol=1e-5)


def test_the_last_cluster_s_points_are_counted_by_their_nearest_neighbour():
    result = run(TINY.replace(steps=1), record=("tail",))
    apart = np.linalg.norm(result.z[0][:, None] - result.z[0], axis=2) + np.diag([np.inf] * 24)
    last = result.labels == 3
    assert result.tail[0] == pytest.approx((result.labels[apart[last].argmin(1)] == 3).mean())


def test_settings_that_exclude_each_other_are_refused():
    with pytest.raises(ValueError, match="net = 'averaging' is not allowed"):
        Config(net="averaging", depth=4)
    with pytest.raises(ValueError, match="gradient = 'partial' is not allowed"):
        Config(gradient="partial")


def test_descents_find_the_minimum_of_a_bowl():
    angles, values = minima.descended(
        lambda a: (a - 1).square().sum(1), torch.zeros(2, 3, dtype=torch.float64)
    )
    torch.testing.assert_close(angles, torch.ones_like(angles))
    assert values.max() < 1e-12


def test_the_minimum_of_eq_1_is_not_invariant_where_two_points_share_a_view():
    """Two points of two views each, one of them in common, at angles a, -a and 0."""

    def loss(a):
        places = minima.circle(torch.tensor([[a, -a], [0.0, 0.0]], dtype=torch.float64))
        return sum(float(nt_xent_mean(x, y, 0.2)) for x in places for y in places) / 4

    assert loss(0.0) == pytest.approx(np.log(2))  # invariant maps have all at one place
    assert min(loss(a) for a in np.linspace(0, 3, 301)) == pytest.approx(0.534, abs=1e-3)


def test_a_slope_of_the_similarity_that_is_not_lipschitz_costs_a_root_of_delta():
    """Theorem 4.5 puts the gradient at the centre for that at the points, which are of order delta away from it."""
    noise = torch.randn(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    centres = torch.eye(2, dtype=torch.float64)[torch.arange(60) // 40]  # |a - b|^2 / 2 = 1

    def gradient(delta, kink):
        def log_eta(t):
            return (torch.exp(-t / 2) - kink * (t - 1).sign() * (t - 1).abs() ** 1.5).log()

        z = (centres + delta * noise).requires_grad_()
        (found,) = torch.autograd.grad(60 * generalized(z, z, log_eta), z)
        return found[:40].mean(0)

    for kink, power in ((0.0, 1.0), (0.1, 0.5)):
        exact = gradient(0.0, kink)
        small, large = ((gradient(delta, kink) - exact).norm() for delta in (1e-6, 1e-4))
        assert (large / small).log10() / 2 == pytest.approx(power, abs=0.05)


def test_eq_7_is_the_gradient_divided_by_the_height_of_the_similarity():
    """The height cancels in eq. 4, where each similarity is divided by another one, and stays in eq. 7."""
    draws = torch.Generator().manual_seed(0)
    z = torch.randn(7, 2, generator=draws, dtype=torch.float64).requires_grad_()
    (truth,) = torch.autograd.grad(7 * generalized(z, z, lambda t: -t), z)
    apart = (z[:, None] - z).detach()
    eta = torch.exp(-apart.square().sum(2) / 2)
    slope = 1 / (1 + eta.mean(1))  # Psi', the same for every height
    weight = (slope[:, None] + slope) * 3.0 * eta
    printed = -(weight[..., None] * apart).mean(1)
    torch.testing.assert_close(printed / 3.0, truth)


def test_evenly_spread_points_in_the_order_of_the_data_have_neighbours_but_no_gaps():
    angles, labels = np.arange(120) * 2 * np.pi / 120, np.repeat(range(4), 30)
    even = np.stack([np.cos(angles), np.sin(angles)], 1)
    assert neighbour_accuracy(even, labels) > 0.95
    assert runs.parted(even, labels) == pytest.approx(1.0)
    angles = angles - angles % (np.pi / 2) / 2  # each cluster on half of its arc
    assert runs.parted(np.stack([np.cos(angles), np.sin(angles)], 1), labels) > 10
