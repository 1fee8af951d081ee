"""Data sets and augmentations: what a view may change and what it may not."""

import pytest
import torch

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
    radius = x.norm(dim=1)
    assert radius[labels == 0].max() <= 1 and radius[labels == 1].min() >= 1.8 and radius[labels == 1].max() <= 2.2
    assert abs(float((radius[labels == 0] < 0.5).float().mean()) - 0.25) < 0.03


def test_digits_are_distinct_images_in_the_unit_interval():
    x, labels = data.digits(90, 3, generator())
    assert x.min() >= 0 and x.max() <= 1 and labels.bincount().tolist() == [30, 30, 30]
    assert len(torch.unique(x, dim=0)) == 90
    with pytest.raises(ValueError, match="classes = 11"):
        data.digits(50, 11, generator())


def test_rotation_keeps_the_radius_and_spreads_over_the_circle():
    x = torch.tensor([[2.0, 0.0]]).expand(4000, 2)
    views = augment.rotation(x, generator())
    assert torch.allclose(views.norm(dim=1), torch.full((4000,), 2.0), atol=1e-5)
    assert views.mean(0).norm() < 0.1


def test_noise_has_the_standard_deviation_asked_for():
    assert abs(float(augment.noise(torch.zeros(5000, 2), 0.3, generator()).std()) - 0.3) < 0.01


def test_images_move_pixels_and_leave_the_global_generator_alone():
    x, _ = data.digits(20, 2, generator())
    before = torch.get_rng_state()
    a, b = augment.images(x, generator(1)), augment.images(x, generator(1))
    assert torch.equal(a, b) and torch.equal(before, torch.get_rng_state())
    assert not torch.equal(a, augment.images(x, generator(2)))
    assert 0.02 < float((a - x).abs().mean()) < 0.3
    still = augment.images(x, generator(), degrees=0.0, scale=0.0, blur=0.1)
    assert torch.allclose(still, x, atol=1e-4)
    with pytest.raises(ValueError, match="square"):
        augment.images(torch.zeros(3, 60), generator())
