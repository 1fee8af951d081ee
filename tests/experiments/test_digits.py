"""The digits that lie at random places: views, convolutions and votes are what they are called; and it learns."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.neighbors import KNeighborsClassifier

from clbook.experiments import digits
from clbook.experiments.digits.experiment import THROWN, convolved, elected, mixed, right, views

STILL = dict.fromkeys(THROWN, 0.0)
PICTURES = torch.rand(1, 7, 16, 16, generator=torch.Generator().manual_seed(0))
HALF = torch.full((1, 6, 7), 0.5)  # no turn, no shift, no change of scale
MOST = HALF.clone()
MOST[:, 2] = 1  # to the right as far as may be


@pytest.mark.parametrize(
    ("u", "changes", "truth"),
    [
        (torch.rand(1, 6, 7), {}, PICTURES),
        (HALF, THROWN, PICTURES),
        (HALF, {"mirrored": 1.0}, PICTURES.flip(3)),
        (HALF, {"half_turns": 1.0}, PICTURES.flip(2, 3)),
        (MOST, {"shift": 0.25}, F.pad(PICTURES[..., 2:], (0, 2))),
    ],
    ids=["nothing is allowed", "nothing is drawn", "mirrored", "upside down", "two pixels"],
)
def test_a_view_is_what_the_settings_say(u, changes, truth):
    assert torch.allclose(views(PICTURES, u, STILL | changes), truth, atol=1e-5)


def test_a_larger_scale_shows_more_of_the_picture():
    square = torch.zeros(1, 1, 16, 16)
    square[..., 4:12, 4:12] = 1
    u = torch.full((1, 6, 1), 0.5)
    u[:, 1] = 1
    seen = views(square, u, STILL | {"scale": 0.5})
    assert seen.sum() == pytest.approx(64 / 1.5**2, rel=0.1)


def test_patches_times_weights_are_a_convolution():
    g = torch.Generator().manual_seed(1)
    x, w = torch.randn(2, 3, 9, 8, 4, generator=g), torch.randn(2, 36, 5, generator=g)
    found = convolved(x, w, 3)
    for run in range(2):
        kernel = w[run].T.reshape(5, 4, 3, 3)
        truth = F.conv2d(x[run].permute(0, 3, 1, 2), kernel).permute(0, 2, 3, 1)
        assert torch.allclose(found[run], truth, atol=1e-5)


def test_votes_are_those_of_scikit_learn():
    points = np.random.default_rng(0).normal(size=(80, 5))
    labels = np.arange(80) % 3
    agree = 0
    for k in range(80):
        others = np.arange(80) != k
        model = KNeighborsClassifier(5, metric="cosine", algorithm="brute")
        model.fit(points[others], labels[others])
        agree += model.predict(points[k : k + 1])[0] == labels[k]
    labels = torch.tensor(labels)
    found = right(elected(torch.tensor(points)[None], labels), labels)
    assert float(found) == pytest.approx(agree / 80)


def test_votes_for_the_other_of_6_and_9_are_mixed():
    votes = torch.zeros(1, 3, 10)
    votes[0, 0, 9] = 5  # all about a 6
    votes[0, 1, 6] = 2  # some about a 9
    votes[0, 2, 9] = 5  # and about an 8, which do not count
    assert mixed(votes, torch.tensor([6, 9, 8])).item() == pytest.approx(7 / 10)


def test_training_brings_the_digit_out_only_where_views_differ():
    config = digits.Config(steps=80)
    seen = digits.run(config)
    blind = digits.run(config.replace(turn=0.0, shift=0.0, scale=0.0))
    assert seen.pixels < 0.4 and seen.untrained < 0.5
    assert seen.knn[-1] > seen.pixels + 0.15
    assert blind.knn[-1] < seen.knn[-1]


def test_channels_are_two():
    with pytest.raises(ValueError, match="channels = .* two whole numbers"):
        digits.Config(channels=(16,))
