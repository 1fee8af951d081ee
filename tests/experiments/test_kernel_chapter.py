"""The numbers of the chapter "The neural kernel": velocities, invariance, closed forms, clusters, and K(t)."""

import numpy as np
import pytest
import torch

from clbook import augment, kernels, models, theory
from clbook.experiments import kernel
from clbook.experiments.kernel import Config, TwoFlows, dataset, partial_gradient, run

SEEDS = range(5)
FINE = Config(lr_over_tau=1e-5)


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def test_the_vanilla_flow_moves_copies_one_by_one_so_that_a_zero_spread_says_something():
    config = Config(n=20, lr_over_tau=1.0, flow="vanilla")
    *_, start = dataset(config)
    orbits = torch.stack([start + 1e-3 * k for k in range(1 + kernel.VIEWS)])
    flow = TwoFlows([config]).to("cpu")
    s = flow.start().replace(weights=[orbits[None].clone()])
    (moved,) = flow.later(s).weights[0] - orbits
    assert (moved[0] - moved[-1]).abs().max() > 1e-6
    for z, step in zip(orbits, moved, strict=True):
        torch.testing.assert_close(step, -config.lr * partial_gradient(z, orbits[1:], config.tau))


def test_averaging_is_the_sum_it_stands_for():
    net = models.Averaging(3, 2, 4, "tanh", 0.5)
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    A = 0.5 * torch.block_diag(torch.ones(4, 1), torch.ones(4, 1))
    torch.testing.assert_close(net(x), torch.tanh(x @ net.inner.weight.T) @ A)
    with pytest.raises(ValueError, match="^width = 0 is not allowed"):
        models.Averaging(3, 2, 0, "tanh", 0.5)


@pytest.mark.parametrize("seed", SEEDS)
def test_cluster_velocities_are_first_order_in_delta_for_orthogonal_centres(seed):
    deltas = (0.003, 0.01, 0.03, 0.1)

    def errors(reading, **how):
        configs = [FINE.replace(delta=d, seed=seed, **how) for d in deltas]
        return [run(c, record=("measured", reading)).error(reading) for c in configs]

    assert 0.8 < slope(deltas, errors("mean")) < 1.2 and errors("mean")[0] < 0.01
    assert 0.8 < slope(deltas, errors("own", start="smooth")) < 1.2
    assert min(errors("own")) > 1, "each point's own gradient is not its cluster's"
    line = {"centres": "line", "clusters": 4}
    assert min(errors("mean", **line)) > 0.5 and 0.8 < slope(deltas, errors("blocks", **line)) < 1.2


def test_predicted_velocity_is_the_formula():
    velocity = theory.cluster_velocity(
        [0.25, 0.75], [4.0, 1.0], np.array([[0.5], [0.2]]), np.array([[2.0], [-1.0]])
    )
    np.testing.assert_allclose(velocity, [[-1.0], [0.15]])


def test_sizes_follow_the_ratio():
    labels = dataset(Config(clusters=4, n=240, ratio=0.05))[1]
    assert labels.bincount().tolist() == [79, 79, 78, 4]


def test_top_eigenvector_of_ideal_blocks_is_the_label():
    labels = torch.arange(8) // 4
    y = 2.0 * labels - 1
    vector, share = kernels.top_eigenvector(3 + torch.outer(y, y), labels)
    assert share == pytest.approx(1) and abs(vector @ y.numpy()) == pytest.approx(8**0.5)
    other = torch.tensor([1.0, -1.0] * 4)
    assert kernels.top_eigenvector(torch.outer(other, other), labels)[1] == pytest.approx(
        0, abs=1e-12
    )


def test_turn_keeps_lengths_and_further_coordinates():
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = augment.turn(x, torch.tensor(torch.pi / 2, dtype=torch.float64))
    torch.testing.assert_close(turned[:, 0], -x[:, 1])
    torch.testing.assert_close(turned.norm(dim=1), x.norm(dim=1))
    assert torch.equal(turned[:, 2:], x[:, 2:])


def test_settings_that_make_no_sense_together():
    with pytest.raises(ValueError, match="clusters = 3 .* even for centres on a line"):
        Config(centres="line")


def test_the_measured_velocity_is_the_step_that_follows():
    result = run(Config(steps=4, lr_over_tau=1.0), record=("measured",))
    assert result.steps.tolist() == [0, 1, 2, 3]
    moved = np.diff(result.z, axis=0) / result.config.lr
    np.testing.assert_allclose(result.measured[:-1], moved, rtol=1e-9, atol=1e-12)
