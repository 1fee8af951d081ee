"""Metrics against their definitions; separability against brute force in exact integers."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestCentroid
from sklearn.svm import SVC
from wrong import answers_or_names_it

from clbook import metrics, models

few = settings(max_examples=150, deadline=None, derandomize=True)


def labelled(coordinates, classes):
    """Strategy: small-integer points with labels, in which ties, collinear points and repeated points are common."""
    point = st.tuples(*[st.integers(-3, 3)] * coordinates)
    return st.lists(st.tuples(point, st.integers(0, classes - 1)), min_size=2, max_size=9).map(
        lambda rows: (np.array([r[0] for r in rows]), np.array([r[1] for r in rows]))
    )


def disjoint_intervals(z, labels):
    """Whether some order of the classes puts each one strictly below the next."""
    groups = [z[labels == c] for c in np.unique(labels)]
    return any(
        all(a.max() < b.min() for a, b in itertools.pairwise(order))
        for order in itertools.permutations(groups)
    )


def separated_by_a_line(z, labels):
    """Whether all differences a - b lie in an open half plane: from some u on, within less than a half turn."""
    first = labels == labels[0]
    differences = [a - b for a in z[first] for b in z[~first]]

    def within(u, v):
        cross, dot = u[0] * v[1] - u[1] * v[0], u @ v
        return cross > 0 or (cross == 0 and dot > 0)

    return any(all(within(u, v) for v in differences) for u in differences)


@few
@given(labelled(1, 4))
def test_one_dimension_is_disjoint_intervals_and_so_is_a_line_in_space(case):
    z, labels = case
    assume(len(set(labels)) > 1)
    expected = disjoint_intervals(z[:, 0], labels)
    single = torch.tensor(z[:, 0], dtype=torch.float32)
    assert metrics.separable(z, labels) == expected
    assert metrics.separable(single, torch.tensor(labels)) == expected
    assert metrics.separable(z @ np.array([[0.3, -1.7, 2.9]]) + 5, labels) == expected


@few
@given(labelled(2, 2))
def test_two_classes_in_the_plane_are_separated_by_a_line(case):
    z, labels = case
    assume(len(set(labels)) > 1)
    assert metrics.separable(z, labels) == separated_by_a_line(z, labels)


@few
@given(labelled(2, 3), st.floats(1e-4, 1e4), st.floats(-100, 100))
def test_separability_does_not_change_under_affine_maps(case, scale, shift):
    z, labels = case
    assume(len(set(labels)) > 1)
    stretched = z @ np.array([[1.0, 0.4], [0.0, 0.01]]) * scale + shift * scale
    assert metrics.separable(stretched, labels) == metrics.separable(z, labels)


# Where no hard margin exists, nothing can converge.
@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("gap", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("d", [2, 10])
def test_separability_agrees_with_a_hard_margin(d, gap):
    rng = np.random.default_rng(d)
    labels = rng.integers(0, 2, 80)
    z = rng.normal(size=(80, d))
    z[:, 0] = np.where(labels == 1, 1, -1) * (np.abs(z[:, 0]) + gap)
    hard = SVC(kernel="linear", C=1e8, max_iter=200_000).fit(z, labels)
    assert metrics.separable(z, labels) == (hard.score(z, labels) == 1) == (gap >= 0)


@pytest.mark.parametrize(
    ("points", "labels", "expected"),
    [
        ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], False),  # xor
        ([[0, 0], [4, 0], [0, 4], [1, 1]], [0, 0, 0, 1], False),  # inside the other's hull
        ([[0, 0], [2, 0], [1, 0]], [0, 0, 1], False),  # on the other's hull
        # The middle one has no half plane of its own, but has a score.
        ([[0, 0], [1, 0], [2, 0]], [0, 1, 2], True),
        # Inside three other classes: Voronoi cells are such a rule.
        ([[0, 0], [4, 0], [0, 4], [1, 1]], [0, 1, 2, 3], True),
        ([[1, 1], [1, 1]], [0, 1], False),
    ],
)
def test_known_configurations(points, labels, expected):
    assert metrics.separable(points, labels) is expected


NEARLY_IN_LINE = (  # 24 points (float32) of four classes that a run left on its way to diverge
    "602f06bfbe035a3f942b06bf15065a3f962406bf610a5a3f5c3306bf4a015a3f742e06bf4e045a3fa52806bfe2075a3f"
    "b89c063f4bc059bfbe5b063f69e859bf166006bfbbe5593fb687063f46cd59bfd14e063f60f059bfe2c4063f73a759bf"
    "0631063fb9025abf142d063f27055abff333063fec005abf2629063f92075abfca34063f69005abf5830063f25035abf"
    "5230063f29035abf682e063f56045abf3230063f3c035abf1f2c063fbe055abfe333063ff6005abff02b063fdb055abf"
)


def test_the_linear_program_has_an_answer_where_its_tightest_tolerance_cannot_be_met():
    z = np.frombuffer(bytes.fromhex(NEARLY_IN_LINE), "<f4").reshape(24, 2)
    assert metrics.separable(z, np.repeat(range(4), 6)) is False


def test_a_donut_is_not_separable_until_it_is_lifted():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], 1)
    z, labels = np.concatenate([ring, 2 * ring]), np.repeat([0, 1], 60)
    assert not metrics.separable(z, labels)
    assert metrics.separable(np.column_stack([z, (z**2).sum(1)]), labels)


def cosines(a):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    return a @ a.T


def cka_by_definition(a, b):
    H = np.eye(len(a)) - 1 / len(a)
    A, B = H @ cosines(a) @ H, H @ cosines(b) @ H
    return (A * B).sum() / np.linalg.norm(A) / np.linalg.norm(B)


def rsa_by_definition(a, b):
    pairs = np.triu_indices(len(a), 1)
    return np.corrcoef(1 - cosines(a)[pairs], 1 - cosines(b)[pairs])[0, 1]


@pytest.mark.parametrize(("n", "d1", "d2"), [(3, 2, 2), (40, 5, 9), (30, 60, 4), (200, 16, 16)])
@pytest.mark.parametrize("offset", [0.0, 1.0, 30.0])
def test_similarity_of_representations_is_the_definition(n, d1, d2, offset):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, d1))
    b = np.tanh(a @ rng.normal(size=(d1, d2))) + 0.3 * rng.normal(size=(n, d2))
    a, b = a + offset, b + offset  # an offset puts all points in a narrow cone
    assert metrics.linear_cka(a, b) == pytest.approx(cka_by_definition(a, b), abs=1e-10)
    assert metrics.rsa(a, b) == pytest.approx(rsa_by_definition(a, b), abs=1e-10)
    single = [torch.tensor(v, dtype=torch.float32) for v in (a, b)]
    assert metrics.linear_cka(*single) == pytest.approx(cka_by_definition(a, b), abs=1e-3)


@pytest.mark.parametrize("similarity", [metrics.linear_cka, metrics.rsa])
def test_similarity_ignores_rotations_and_lengths(similarity):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(50, 6)), rng.normal(size=(50, 6))
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    turned = a @ rotation * rng.uniform(0.1, 10, (50, 1))
    assert similarity(a, turned) == pytest.approx(1, abs=1e-12)
    assert similarity(a * 1e30, b * 1e-30) == pytest.approx(similarity(a, b), abs=1e-12)
    assert similarity(a, b) == pytest.approx(similarity(b, a), abs=1e-12)


def test_weight_gap_is_the_mean_over_layers():
    m1, m2 = models.MLP((3, 4, 2)), models.MLP((3, 4, 2))
    assert metrics.weight_gap(m1, m2) == 0
    with torch.no_grad():
        m2[0].weight.mul_(3)  # 2 |W - 3W| / (|W| + |3W|) = 1
        m2[2].weight.neg_()  # opposite: 2
        m2[2].bias.zero_()  # not a matrix
    assert metrics.weight_gap(m1, m2) == pytest.approx(1.5, abs=1e-6)
    says = "m2 = MLP is not allowed: m2 must be a module with the layers of m1"
    with pytest.raises(ValueError, match=says):
        metrics.weight_gap(m1, models.MLP((3, 5, 2)))


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 60)
    centres = {"a": (0, 0), "b": (2, 0), "c": (0, 2)}
    z = np.array([centres[label] for label in y]) + rng.normal(size=(180, 2))
    return z[::2], y[::2], z[1::2], y[1::2]


def test_nearest_class_centre_is_scikit_learns(blobs):
    train, y, test, y_test = blobs
    assert metrics.nccc(*blobs) == NearestCentroid().fit(train, y).score(test, y_test)
    assert 0.6 < metrics.nccc(*blobs) < 1


def test_linear_probe_reads_what_is_there_and_nothing_else(blobs):
    train, y, test, y_test = blobs
    one_hot = [np.eye(3)[np.searchsorted(list("abc"), labels)] for labels in (y, y_test)]
    assert metrics.linear_probe(one_hot[0], y, one_hot[1], y_test) == 1
    noise = np.random.default_rng(1).normal(size=(2, 90, 2))
    assert metrics.linear_probe(noise[0], y, noise[1], y_test) < 0.55
    assert metrics.linear_probe(1e6 * train, y, 1e6 * test, y_test) == metrics.linear_probe(*blobs)


def test_readouts_refuse_arguments_that_do_not_fit(blobs):
    right = dict(zip(("train", "y", "test", "y_test"), blobs))
    _, y, test, y_test = blobs
    wrong = (
        ({"y_test": np.searchsorted(["a", "b", "c"], y_test)}, "y_test must be .* type of y"),
        ({"y_test": np.full(90, "d")}, "y_test must be labels of which some are in y"),
        ({"y": np.where(y == "a", math.nan, 1.0)}, "y must be labels that are not NaN"),
        ({"y": y[1:]}, "^y = .* y must be one label for each point"),
        ({"test": test[:, :1]}, "test must be points of as many dimensions as train, 2"),
        ({"y_test": y_test[1:]}, "y_test must be one label for each point"),
    )
    for readout in (metrics.nccc, metrics.linear_probe):
        for changes, message in wrong:
            with pytest.raises(ValueError, match=message):
                readout(**right | changes)


def test_r2_is_adjusted_and_sees_each_latent():
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(60, 3))
    features = np.column_stack(
        [latents[:, 0] * 2 + 1, latents[:, 1] + rng.normal(size=60), rng.normal(size=(60, 4))]
    )
    plain = np.array([LinearRegression().fit(features, v).score(features, v) for v in latents.T])
    adjusted = 1 - (1 - plain) * 59 / (60 - 6 - 1)
    np.testing.assert_allclose(metrics.r2(latents, features), adjusted, atol=1e-12)
    copies = np.column_stack([features, features[:, 0]])  # a column that adds nothing costs nothing
    np.testing.assert_allclose(metrics.r2(latents, copies), adjusted, atol=1e-10)
    blind = [metrics.r2(rng.normal(size=60), rng.normal(size=(60, 20)))[0] for _ in range(100)]
    assert abs(np.mean(blind)) < 0.05  # the plain R^2 of 20 useless features is 20 / 59
    np.testing.assert_array_equal(metrics.r2(latents, np.ones((60, 2))), np.zeros(3))


def test_spectrum_holds_the_variances():
    z = np.random.default_rng(0).normal(size=(50, 4)) * [5, 1, 0.1, 0]
    variances = np.linalg.eigvalsh(np.cov(z.T, bias=True))[::-1]
    np.testing.assert_allclose(metrics.spectrum(z), variances, atol=1e-12)
    assert metrics.spectrum(torch.tensor(z[:3])).shape == (3,)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_effective_rank_counts_equal_directions(k):
    z = np.zeros((12, 7))
    z[:k, :k] = 3 * np.eye(k)
    z[k : 2 * k, :k] = -3 * np.eye(k)
    assert metrics.effective_rank(z) == pytest.approx(k, abs=1e-10)
    z[:, 6] = 1e-3 * np.tile([1, -1], 6)
    assert k < metrics.effective_rank(z) < k + 0.1


def test_a_collapsed_representation_has_effective_rank_zero():
    assert metrics.effective_rank(np.full((7, 3), 0.1)) == 0


def test_intervals_are_separability_on_a_line_for_many_runs_at_once():
    generator = torch.Generator().manual_seed(0)
    for sizes in ([3, 4], [2, 3, 2], [1, 1, 1, 2]):
        labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        far = torch.randint(0, 5, (400, len(sizes)), generator=generator)[:, labels]  # with ties
        z = (far + torch.randint(0, 2, (400, sum(sizes)), generator=generator)).float()
        expected = [metrics.separable(points, labels) for points in z]
        assert metrics.intervals(z, sizes).tolist() == expected and 0 < sum(expected) < 400


def test_bfloat16_is_read_as_float32():
    a, b = torch.randn(2, 20, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    assert metrics.linear_cka(a, b) == metrics.linear_cka(a.float(), b.float())


@pytest.mark.parametrize("similarity", [metrics.linear_cka, metrics.rsa])
def test_several_representations_at_once_are_each_compared(similarity):
    rng = np.random.default_rng(0)
    several, reference = rng.normal(size=(2, 3, 30, 5)), rng.normal(size=(30, 8)) + 2
    expected = [[similarity(one, reference) for one in row] for row in several]
    np.testing.assert_allclose(similarity(several, reference), expected, atol=1e-13)
    np.testing.assert_allclose(similarity(reference, several), expected, atol=1e-13)
    own = similarity(several, several)
    np.testing.assert_allclose(own, np.ones((2, 3)), atol=1e-13)
    with pytest.raises(ValueError, match=r"b must be of the leading axes of a, \(2, 3\)"):
        similarity(several, several[0])


@pytest.mark.parametrize("similarity", [metrics.linear_cka, metrics.rsa])
def test_of_several_representations_those_without_an_answer_are_nan(similarity):
    rng = np.random.default_rng(0)
    several, reference = rng.normal(size=(5, 30, 5)), rng.normal(size=(30, 8))
    several[1, 3] = 0  # a zero row
    several[2] = several[2, 0]  # collapsed
    several[3, 0, 0] = np.inf
    found = similarity(several, reference)
    assert np.isnan(found).tolist() == [False, True, True, True, False]
    assert found[4] == pytest.approx(similarity(several[4], reference), abs=1e-13)


def test_alignment_and_uniformity_are_wang_and_isolas():
    rng = np.random.default_rng(0)
    z1, z2 = rng.normal(size=(2, 12, 3))
    away = [np.exp(-3 * ((z1[i] - z1[j]) ** 2).sum()) for i in range(12) for j in range(i)]
    assert metrics.uniformity(z1, t=3) == pytest.approx(np.log(np.mean(away)), abs=1e-12)
    assert metrics.uniformity(100 * z1) < -700  # in log space: the mean itself underflows
    assert metrics.uniformity(np.ones((4, 2))) == 0
    lengths = [np.linalg.norm(a - b) for a, b in zip(z1, z2)]
    assert metrics.alignment(z1, z2, alpha=1) == pytest.approx(np.mean(lengths), abs=1e-12)
    assert metrics.alignment(torch.tensor(z1), z1) == 0


def test_an_interval_covers_the_mean_as_often_as_it_says():
    samples = np.random.default_rng(0).normal(size=(4000, 4))
    mean, half = metrics.mean_interval(samples, level=0.9)
    assert 0.88 < (np.abs(mean) < half).mean() < 0.92
    low, high = stats.t.interval(0.9, 3, samples.mean(1), stats.sem(samples, axis=1))
    np.testing.assert_allclose([mean - half, mean + half], [low, high])
    for level in (0, 1, 95, math.nan):
        with pytest.raises(ValueError, match=f"level = {level} is not allowed: level must be"):
            metrics.mean_interval(samples, level)


LINE, ROWS, SIX = [1.0, 2.0, 3.0], np.eye(4), np.random.default_rng(0).normal(size=(6, 5))
COMPARED = [
    ((ROWS, np.eye(3)), r"b = ndarray \(3, 3\) .* a representation of the same 4 inputs"),
    ((ROWS, np.diag([1.0, 1, 1, 0])), "b must be free of zero rows"),
    ((np.ones((4, 2)), ROWS), "a must be a representation in which not all cosines are"),
    ((ROWS * math.nan, ROWS), "a must be finite numbers"),
]
REFUSED = {
    metrics.separable: [
        ((LINE, [0, 1]), r"labels = \[0, 1\] .* must be one label for each point, \(3,\)"),
        (([1.0, math.nan], [0, 1]), r"z = \[1.0, nan\] is not allowed: z must be finite numbers"),
        (([[1.0, math.inf], [0, 0]], [0, 1]), "z must be finite numbers"),
        ((LINE, [1, 1, 1]), "labels must be of two or more classes, not 1"),
        ((np.zeros((2, 2, 2)), [0, 1]), r"z = ndarray \(2, 2, 2\) .*: z must be n points"),
    ],
    metrics.linear_cka: COMPARED,
    metrics.rsa: COMPARED,
    metrics.r2: [
        ((SIX, SIX[1:]), "features must be as many rows as latents, 6"),
        ((SIX, SIX), "features must be of more rows than its rank"),
        ((np.ones((6, 1)), SIX[:, :1]), "latents must be free of constant columns"),
    ],
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_has_no_answer_is_refused(function):
    for arguments, message in REFUSED[function]:
        with pytest.raises(ValueError, match=message):
            function(*arguments)


A = np.random.default_rng(0).normal(size=(6, 3))
LABELS = [0, 1, 0, 1, 0, 1]
READOUT = {"train": A, "y": LABELS, "test": A, "y_test": LABELS}
ARGUMENTS = {
    metrics.class_ids: {"labels": LABELS, "n": 6},
    metrics.separable: {"z": A, "labels": LABELS},
    metrics.intervals: {"z": torch.ones(2, 6), "sizes": [2, 4]},
    metrics.linear_cka: {"a": A, "b": A},
    metrics.rsa: {"a": A, "b": A},
    metrics.weight_gap: {"m1": torch.nn.Linear(3, 2), "m2": torch.nn.Linear(3, 2)},
    metrics.nccc: READOUT,
    metrics.linear_probe: READOUT,
    metrics.neighbour_accuracy: {"z": A, "labels": LABELS, "k": 2},
    metrics.r2: {"latents": A, "features": A},
    metrics.spectrum: {"z": A},
    metrics.effective_rank: {"z": A},
    metrics.spectral_rank: {"variances": A**2},
    metrics.uniformity: {"z": A, "t": 2.0},
    metrics.alignment: {"z1": A, "z2": A, "alpha": 2.0},
    metrics.mean_interval: {"values": A, "level": 0.95},
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_named(function):
    answers_or_names_it(function, ARGUMENTS[function])
