"""What an invariant map's loss forgets, where it levels off, which configurations stand still and which are stable."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clbook import metrics, theory
from clbook.experiments import landscape
from clbook.experiments.landscape import ETA, PSI, Config, MapsConfig, even, even_loss, forget, run
from clbook.experiments.landscape.curves import EQ1, MOST
from clbook.losses import generalized, nt_xent_mean
from clbook_book.audit.ls.variation import second_variation
from clbook_book.course.landscape import descent as down
from clbook_book.course.landscape.shuffle import Shuffle

SEEDS = range(5)
PLATEAUS = {0.5: 0.48058, 0.2: 0.31268, 0.1: 0.22767, 0.05: 0.16514, 0.02: 0.10717}
tau_values = st.floats(0.02, 2.0)


def test_a_map_that_reads_the_brightness_is_not_invariant_and_its_loss_does_depend_on_the_data():
    maps = forget(MapsConfig())
    angle = torch.tensor(maps.x[:, 2])
    z = torch.stack([angle.cos(), angle.sin()], 1)
    other = z[torch.randperm(len(z), generator=torch.Generator().manual_seed(0))]
    assert abs(float(nt_xent_mean(z, z, 0.2) - nt_xent_mean(z, other, 0.2))) > 0.1


@pytest.mark.parametrize("tau, value", PLATEAUS.items())
def test_plateau_in_closed_form(tau, value):
    assert round(theory.circle_plateau(tau), 5) == value
    angle = 2 * np.pi * np.arange(4096) / 4096
    mean = np.exp((np.cos(angle) - 1) / tau).mean()
    assert theory.circle_plateau(tau) == pytest.approx(math.log1p(2 * mean), abs=1e-13)
    assert theory.circle_plateau(tau, factor=1) == pytest.approx(math.log1p(mean), abs=1e-13)


@pytest.mark.parametrize("tau", [1e-3, 0.01, 0.2, 10.0])
@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_sphere_plateau_is_the_quadrature_of_its_definition(tau, d):
    expected = landscape.uniform_loss(tau, EQ1, dim=d)
    assert theory.sphere_plateau(tau, d) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.2, 0.5, 2.0])
def test_64_even_points_reach_the_plateau_to_1e_10(tau):
    z = even(64, 2)
    expected = theory.circle_plateau(tau, 1)
    assert float(generalized(z, z, lambda t: -t / tau)) == pytest.approx(expected, abs=1e-10)
    curves = run(Config(tau=tau, clusters=2, copies=1)).curves
    assert curves.counts[-1] == 64
    assert curves.simclr[-1] == pytest.approx(theory.circle_plateau(tau), abs=1e-10)


@pytest.mark.parametrize("count", [1, 3, 8, 20])
def test_one_anchor_speaks_for_all_and_many_copies_approach_eq_1(count):
    """`even_loss` against the losses themselves: eq. 3 exactly, eq. 1 up to its 2/n."""
    z = even(count, 2)
    if count > 1:
        expected = float(Config(tau=0.3).loss(z, z))
        assert float(even_loss([count], 0.3)) == pytest.approx(expected, abs=1e-14)
        assert float(even_loss([count], 0.3, EQ1, others_only=True)) == pytest.approx(
            float(nt_xent_mean(z, z, 0.3)), abs=1e-14
        )
    limit = float(even_loss([count], 0.3, EQ1))
    for m in (4, 16):
        copied = z.repeat(m, 1)
        expected = math.log(math.exp(limit) - 2 / (count * m))
        assert float(nt_xent_mean(copied, copied, 0.3)) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("eta", ETA)
@pytest.mark.parametrize("dim", [2, 5])
def test_a_curve_holds_the_losses_of_its_configurations_and_no_place_too_many(dim, eta):
    """Each K and tau in one tensor is the loss of that configuration alone: padded places weigh nothing."""
    numbers, taus = [k for k in landscape.counts(dim, 20) if k > 1], (0.05, 1.0)
    losses = even_loss(
        numbers, torch.tensor(taus, dtype=torch.float64)[:, None, None], "log t", eta, dim
    )
    for tau, row in zip(taus, losses, strict=True):
        for number, loss in zip(numbers, row, strict=True):
            z = even(number, dim)
            config = Config(clusters=number, dim=dim, tau=tau, eta=eta, psi="log t")
            assert float(loss) == pytest.approx(float(config.loss(z, z)), abs=1e-13)


@given(st.integers(1, 40), tau_values)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_even_points_alias_the_bessel_series(count, tau):
    mean = np.exp((np.cos(2 * np.pi * np.arange(count) / count) - 1) / tau).mean()
    assert theory.even_similarity(count, tau) == pytest.approx(mean, rel=1e-11)


@pytest.mark.parametrize("tolerance", [0.1, 0.01, 1e-4, 1e-6])
def test_threshold_is_linear_for_small_tau_with_the_slope_of_its_tolerance_and_bends_below_it(
    tolerance,
):
    found = run(Config(tolerance=tolerance, clusters=2, copies=1)).thresholds
    slope, ratio = theory.threshold_slope(tolerance), found.gaps / found.taus
    # whole numbers of points make steps
    assert np.abs(ratio[found.taus <= 0.02] / slope - 1).max() < 0.15
    assert (ratio < 1.05 * slope).all() and ratio[-1] < 0.8 * slope
    assert np.corrcoef(found.taus, found.gaps)[0, 1] ** 2 > 0.95


def test_the_misplaced_indicator_rewards_collapse_and_makes_the_curve_rise():
    curves = run(Config()).curves
    assert curves.embedded[0] == 0 and (np.diff(curves.embedded) > 0).all()
    assert (np.diff(curves.simclr) < 1e-14).all()


@pytest.mark.parametrize("psi, eta", list(itertools.product(PSI, ETA)))
@pytest.mark.parametrize("dim, clusters", [(2, 1), (2, 7), (3, 4), (3, 6), (5, 10)])
def test_even_and_single_points_are_stationary_for_every_psi_and_eta(psi, eta, dim, clusters):
    config = Config(psi=psi, eta=eta, dim=dim, clusters=clusters, copies=2)
    z = landscape.places(config).repeat_interleave(2, 0).requires_grad_()
    (g,) = torch.autograd.grad(config.loss(z, z), z)
    assert (g - (g * z).sum(1, keepdim=True) * z).abs().max() < 1e-13


def test_threshold_is_the_first_count_within_the_tolerance():
    result = run(Config(tau=0.07, tolerance=0.003))
    within = result.curves.simclr <= 1.003 * result.curves.simclr_plateau
    assert result.thresholds.count == result.curves.counts[within][0]
    assert result.thresholds.gap == pytest.approx(result.curves.distances[within][0])


def test_every_allowed_temperature_and_tolerance_has_a_threshold():
    fields = [Config.__dataclass_fields__[name].metadata for name in ("tau", "tolerance")]
    taus, tolerances = ((field["low"], field["high"]) for field in fields)
    reached = np.array([landscape.reach(taus, tolerance) for tolerance in tolerances])
    assert (reached >= 1).all() and 150 < reached.max() < MOST
    with pytest.raises(ValueError, match="tolerance = 1e-06 is not reached"):
        landscape.reach([1e-4], 1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_points_are_not_stationary_and_eq_5_fails_at_even_ones(seed):
    tangential = run(Config(clusters=8, copies=1, arrangement="random", seed=seed)).tangential
    assert tangential.max() > 1e-2
    five = run(Config(clusters=5, copies=1)).gradient
    assert np.linalg.norm(five[0] - five[1]) > 0.05, (
        "the integrals of eq. 5 differ; only tangential parts agree"
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_collapse_is_the_global_maximum_among_invariant_maps(seed):
    for eta in ETA:
        collapsed = run(Config(clusters=1, copies=8, eta=eta)).loss
        apart = Config(clusters=8, copies=1, eta=eta, arrangement="random", seed=seed)
        assert run(apart).loss < collapsed - 0.05


@pytest.mark.parametrize("K, m", [(4, 5), (8, 4), (3, 10)])
@pytest.mark.parametrize("tau", [0.05, 0.2, 0.5])
def test_copies_give_exactly_K_times_m_minus_1_ways_down_and_none_moves_whole_places(K, m, tau):
    result = run(Config(clusters=K, copies=m, tau=tau))
    assert result.negative(result.eigenvalues) == K * (m - 1)
    assert result.negative(result.whole) == 0
    np.testing.assert_allclose(
        result.eigenvalues[: K * (m - 1)], theory.split_curvature(K, tau), rtol=1e-9
    )
    assert np.abs(result.whole).min() < 1e-12, "turning everything changes nothing"


@pytest.mark.parametrize("points, ways", [(4, 1), (5, 2), (8, 5), (16, 13)])
def test_even_points_on_the_equator_of_a_sphere_have_ways_down(points, ways):
    equator = torch.nn.functional.pad(even(points, 2), (0, 1))

    def loss(heights):
        z = torch.nn.functional.normalize(
            equator + heights[:, None] * equator.new_tensor([0, 0, 1])
        )
        return generalized(z, z, lambda t: -t / 0.2).mean()

    heights = torch.zeros(points, dtype=torch.float64)
    curvatures = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, heights))
    assert int((curvatures < -1e-4).sum()) == ways


@pytest.mark.parametrize("psi", PSI)
def test_psi_only_rescales_the_curvature_of_splitting_and_rational_eta_keeps_its_sign(psi):
    for eta in ("exp", "rational"):
        result = run(Config(clusters=4, copies=3, psi=psi, eta=eta))
        assert result.negative(result.eigenvalues) == 8 and result.negative(result.whole) == 0
        split = result.eigenvalues[:8]
        assert np.ptp(split) < 1e-9 * np.abs(split).max()


@pytest.mark.parametrize("psi", PSI)
def test_a_flat_eta_makes_clusters_stable_and_better_than_uniform(psi):
    result = run(Config(clusters=4, copies=5, tau=0.5, eta="flat", psi=psi))
    assert result.negative(result.eigenvalues) == 0 and (result.eigenvalues > 1e-6).sum() == 19
    assert result.loss < result.curves.chosen_plateau - 0.01


def test_hessian_agrees_with_differences_along_a_geodesic():
    config = Config(clusters=5, copies=2, arrangement="random")
    z = landscape.places(config).repeat_interleave(2, 0)
    direction = torch.randn(10, 1, generator=torch.Generator().manual_seed(0), dtype=z.dtype)
    h = (landscape.tangents(z) @ direction[:, :, None])[:, :, 0]
    length, step = h.norm(dim=1, keepdim=True), 1e-4

    def at(s):
        w = z * (s * length).cos() + h / length * (s * length).sin()
        return float(config.loss(w, w))

    measured = 10 * (at(step) - 2 * at(0.0) + at(-step)) / step**2
    matrix = landscape.curvature(config, z)
    assert float(direction[:, 0] @ matrix @ direction[:, 0]) == pytest.approx(measured, rel=1e-5)
    parts = torch.cat(
        [torch.linalg.eigvalsh(part) for part in landscape.restricted(matrix, config)]
    )
    torch.testing.assert_close(
        parts.sort()[0], torch.linalg.eigvalsh(matrix), atol=1e-12, rtol=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_general_second_variation_is_exact_and_eq_21_as_printed_is_not(seed):
    z, g = even(5, 2), torch.Generator().manual_seed(seed)
    h = torch.stack([-z[:, 1], z[:, 0]], 1) * torch.randn(5, 1, generator=g, dtype=z.dtype)
    for tau in (0.1, 0.2, 1.0):
        s = second_variation(z, h, tau)
        assert s.formula == pytest.approx(s.autograd, rel=1e-10)
        assert s.corrected == pytest.approx(s.autograd, rel=1e-10)
        assert abs(s.printed - s.autograd) > 0.5 * abs(s.autograd)
        assert s.curved >= s.autograd - 1e-12, (
            "bending along the sphere adds a term that is not negative"
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_views_apart_cost_alignment_and_loss(seed):
    results = [
        run(Config(clusters=40, copies=1, jitter=jitter, seed=seed))
        for jitter in (0.0, 0.1, 0.3, 1.0)
    ]
    losses, alignments = [r.loss_mean for r in results], [r.alignment for r in results]
    assert losses == sorted(losses) and alignments == sorted(alignments) and alignments[1] > 1e-3


def test_log_loss_is_alignment_plus_uniformity_at_even_points():
    """The exact decomposition of the exercise, with 1/(2 tau) for Wang and Isola's 2 and pairs i = i included."""
    result = run(Config(clusters=9, copies=1, psi="log t"))
    z = result.z
    squares = ((z[:, None] - z) ** 2).sum(2)
    expected = result.alignment / 0.4 + math.log(np.exp(-squares / 0.4).mean())
    assert result.loss == pytest.approx(expected, abs=1e-13)


def test_even_places_are_even():
    for dim in (2, 3, 5, 8):
        for count in landscape.counts(dim, 16):
            z = even(count, dim)
            assert z.shape == (count, dim)
            assert torch.allclose(z.norm(dim=1), torch.ones(count, dtype=z.dtype))
            if count > 1:
                assert z.sum(0).norm() < 1e-12
                near = (torch.cdist(z, z) + 9 * torch.eye(count)).amin(1)
                assert torch.allclose(near, near[0].expand_as(near))


def test_progress_can_stop_before_the_hessian():
    seen = []
    result = run(Config(), progress=lambda fraction, partial: seen.append((fraction, partial.loss)))
    assert [fraction for fraction, _ in seen] == [0.5, 1.0] and not result.stopped
    stopped = run(Config(), progress=lambda fraction, partial: False)
    assert stopped.stopped and np.isnan(stopped.eigenvalues).all() and stopped.loss == result.loss


@pytest.mark.parametrize(
    "kind, changes, says",
    [
        (Config, {"dim": 3, "clusters": 5}, "clusters = .* must be "),
        (Config, {"copies": 33}, "copies = .* must be "),
        (Config, {"clusters": 1, "copies": 1}, "copies = .* must be "),
        (MapsConfig, {"n": 100}, "n = 100 .* a multiple of 3"),
        (down.Config, {"n": 6, "places": 7}, "places = 7 .* must be at most n = 6"),
    ],
)
def test_combinations_that_make_no_sense_are_refused(kind, changes, says):
    with pytest.raises(ValueError, match=says):
        kind(**changes)


def test_a_shuffle_uses_the_same_places():
    shuffle = Shuffle(n=12)
    places = shuffle.places(4)
    mixed = places[shuffle.order]
    assert shuffle.counts == [1, 2, 3, 4, 6, 12] and len(np.unique(places.round(9), axis=0)) == 4
    assert shuffle.loss(places, 0.2) == pytest.approx(shuffle.loss(mixed, 0.2), abs=1e-12)
    assert Shuffle().loss(Shuffle().places(120), 0.2) == pytest.approx(
        Shuffle().uniform(0.2), rel=1e-6
    )


@pytest.mark.parametrize("changes", [{}, {"places": 1}, {"places": 12, "dim": 3}, {"n": 31}])
def test_both_circles_have_one_loss_that_falls_to_that_of_an_even_spread(changes):
    result = down.run(down.Config(**changes))
    assert np.abs(result.loss_shuffled - result.loss).max() < 1e-12
    assert (np.diff(result.loss) < 1e-12).all()
    above = result.loss - result.even
    assert above[0] > 0.1 and 0 < above[-1] < 2e-3
    z = torch.from_numpy(result.sorted[-1])
    assert result.loss[-1] == pytest.approx(float(nt_xent_mean(z, z, 0.2)))


def test_the_readout_of_free_points_asks_for_the_centre_of_the_others():
    result = down.run(down.Config(places=1, steps=50))
    for name, share in (("sorted", result.readout), ("shuffled", result.readout_shuffled)):
        z, labels = getattr(result, name)[-1], result.labels
        others = [np.arange(60) != i for i in range(60)]
        right = [metrics.nccc(z[o], labels[o], z[~o], labels[~o]) for o in others]
        assert share[-1] == pytest.approx(np.mean(right))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("tau", [0.1, 0.2, 1.0])
def test_the_loss_of_an_even_spread_is_the_plateau_less_a_point_with_itself(dim, tau):
    n = 60
    found = down.spread_loss(n, dim, torch.tensor([tau], dtype=torch.float64))
    plateau = math.exp(theory.sphere_plateau(tau, dim))
    assert float(found) == pytest.approx(math.log(plateau - 2 / n), rel=1e-6)


def test_free_points_are_spread_over_their_places():
    uneven = down.starting_points(down.Config(n=7, places=3, shake=0.0))
    _, counts = np.unique(uneven.numpy().round(9), axis=0, return_counts=True)
    assert sorted(counts) == [2, 2, 3]
