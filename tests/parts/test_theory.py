"""Predictions at the ends of their ranges, and what they say of arguments outside. Their truth: the chapters' tests."""

import math

import pytest
from wrong import answers_or_names_it

from clbook import theory

# log E exp((u - 1)/tau) on the sphere of R^d by mpmath with 60 digits: log(hyp0f1(d/2, 1/(4 tau^2))) - 1/tau.
PLATEAUS = {
    (1e-12, 2): -14.734449091168822, (1e-8, 3): -19.11382792451231,
    (1e-4, 5): -18.015315640844534, (0.00199, 2): -4.028499855306632,
    (0.00201, 2): -4.023497308623649, (0.002, 300): -248.77642824875673,
    (0.2, 300): -4.958339079945557, (0.001, 500): -454.1446186198916,
    (0.2, 1000): -4.987500155932946, (0.01, 5000): -99.00019981357295,
    (1e6, 100): -9.99999995e-07, (10.0, 100_000): -0.09999995,
}  # fmt: skip


@pytest.mark.parametrize(("tau", "d"), PLATEAUS)
def test_the_plateau_is_right_however_small_tau_and_however_large_d(tau, d):
    found = theory.simplified_plateau(tau, d)
    assert found == pytest.approx(PLATEAUS[tau, d], rel=1e-11, abs=1e-11)
    assert theory.sphere_plateau(tau, d, 3.0) == pytest.approx(math.log1p(3 * math.exp(found)))


@pytest.mark.parametrize("d", [2, 3, 10])
def test_the_plateau_falls_to_its_limit_without_a_jump(d):
    taus = [1e-300, 1e-100, 1e-16, 1e-4, 0.0019999, 0.002, 0.0020001, 0.1, 1.0, 1e100]
    values = [theory.simplified_plateau(tau, d) for tau in taus]
    assert values == sorted(values) and math.isfinite(values[0]) and values[-1] <= 0
    assert theory.sphere_plateau(1e-300, d) < 1e-140


def test_the_two_forms_of_the_plateau_meet_at_tau_1_in_500():
    for d in (2, 3, 10, 100, 1000):
        below = theory.simplified_plateau(math.nextafter(0.002, 0), d)
        assert below == pytest.approx(theory.simplified_plateau(0.002, d), abs=1e-10)


def test_what_was_not_measured_makes_its_side_nan():
    measured = {"gamma": 0.1, "theta": 2.0, "sigma2": 0.2, "delta": 0.3}
    left, right = theory.separation_condition(0.5, 0.1, 16, **measured)
    assert (left, right) == pytest.approx((4.0, 1.25 + 0.6))
    left, right = theory.separation_condition(0.5, 0.1, 16, **measured | {"delta": math.nan})
    assert left == pytest.approx(4.0) and math.isnan(right)


def test_growth_doubles_where_the_views_move_too():
    assert theory.growth_rate(2.0, 0.1) == pytest.approx(5.0)
    assert theory.growth_rate(2.0, 0.1, "full") == pytest.approx(10.0)


ETA = [0.1, 0.2, 0.3]
CONDITION = {"eps": 0.1, "tau": 0.1, "n": 8, "gamma": 0.0, "theta": 1.0}
CONDITION |= {"sigma2": 0.0, "delta": 0.0}
REPAIRED = {"k": [0, 1, 2], "h": 0.1, "eps": 0.1, "gap": 0.05, "theta": 1.0, "kappa": 0.5}
REPAIRED |= {"rate": 0.2, "eta": 0.01, "zeta": 0.01}
POSTERIOR = {"injections": [1.0, 2.0], "eta": 0.1, "B": 8, "tau": 1.0, "convex": False}
VELOCITY = {"share": [0.25, 0.75], "squared_norm": [4.0, 1.0], "gain": [[0.5, 0.5], [0.2, 0.2]]}
VELOCITY |= {"gradient": [[2.0, 1.0], [-1.0, 0.0]]}
BOUND = {"C": 10, "B": 512, "T": 3, "delta": 0.1, "tau": 1.0}
ARGUMENTS = {
    theory.separation_condition: CONDITION,
    theory.growth_rate: {"theta": 1.0, "tau": 0.1, "gradient": "full"},
    theory.circle_plateau: {"tau": 0.1, "factor": 2},
    theory.sphere_plateau: {"tau": 0.1, "d": 3, "factor": 2},
    theory.simplified_plateau: {"tau": 0.1, "d": 3},
    theory.fluctuation: {"B": 8, "T": 3, "delta": 0.1},
    theory.delta: BOUND,
    theory.similarity_bound: BOUND | {"eta": ETA},
    theory.triangle_bound: {"B": 8, "T": 3, "eta": ETA, "tau": 1.0},
    theory.weight_bound: BOUND | {"eta": ETA, "G": 1.0, "beta": 1.0},
    theory.cka_lower_bound: {"drift": 0.5, "gram_norm": 1.0},
    theory.rsa_lower_bound: {"drift": 0.5, "std": 1.0, "pairs": 3},
    theory.total: {"eta": ETA, "T": 3},
    theory.posterior_bound: POSTERIOR,
    theory.threshold_slope: {"tolerance": 0.01},
    theory.even_similarity: {"count": 4, "tau": 0.1},
    theory.split_curvature: {"count": 4, "tau": 0.1},
    theory.batch_floor: {"batch": 32, "k": 8, "samples": 512},
    theory.repaired_bound: REPAIRED,
    theory.l2_distance: {"decay": 0.01, "N": 16, "k": 8},
    theory.cluster_velocity: VELOCITY,
    theory.style_share: {"tau": 1.0, "d_c": 2, "d_s": 3, "rho": 0.9},
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_named(function):
    answers_or_names_it(function, ARGUMENTS[function])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("gradient", lambda: theory.growth_rate(1.0, 1.0, "both")),
        ("tau", lambda: theory.sphere_plateau(0.0, 2)),
        ("d", lambda: theory.sphere_plateau(0.1, 1)),
        ("d", lambda: theory.sphere_plateau(0.1, 2.5)),
        ("factor", lambda: theory.circle_plateau(0.1, -1)),
        ("drift", lambda: theory.cka_lower_bound(-0.5, 1)),
        ("T", lambda: theory.triangle_bound(8, -1, 0.1, 1.0)),
        ("tau", lambda: theory.separation_condition(**CONDITION | {"tau": -0.1})),
        ("sigma2", lambda: theory.separation_condition(**CONDITION | {"sigma2": -0.1})),
        ("eta", lambda: theory.total("3", 2)),
        ("samples", lambda: theory.batch_floor(32, 8, 511)),
        ("samples", lambda: theory.batch_floor(32, 8, 2**63)),  # it would never end
        ("eta", lambda: theory.repaired_bound(**REPAIRED | {"eta": [0.1, 0.1]})),
        ("zeta", lambda: theory.repaired_bound(**REPAIRED | {"zeta": 1.0})),
        ("eta", lambda: theory.total([0.1, math.nan], 2)),
        ("C", lambda: theory.delta(math.nan, 8, 1, 0.1, 1.0)),
        ("C", lambda: theory.delta(1, 8, 1, 0.1, 1.0)),
        ("B", lambda: theory.delta(9, 0, 1, 0.1, 1.0)),
        ("T", lambda: theory.delta(9, 8, 0, 0.1, 1.0)),
        ("delta", lambda: theory.delta(9, 8, 1, 1.0, 1.0)),
        ("tau", lambda: theory.similarity_bound(9, 8, 1, 1.0, 0.0, 0.1)),
        ("eta", lambda: theory.triangle_bound(8, 3, [1.0, 2.0], 1.0)),
        ("eta", lambda: theory.posterior_bound([1.0], 1e6, 8, 1.0, convex=True)),
        ("gram_norm", lambda: theory.cka_lower_bound(1, 0)),
        ("std", lambda: theory.rsa_lower_bound(1, 0.0, 3)),
        ("pairs", lambda: theory.rsa_lower_bound(1, 1.0, 0)),
        ("G", lambda: theory.weight_bound(9, 8, 1, 1.0, 1.0, 0.1, 0, 1)),
        ("beta", lambda: theory.weight_bound(9, 8, 1, 1.0, 1.0, 0.1, 1, 0)),
    ],
)
def test_what_a_docstring_excludes_is_refused(name, call):
    with pytest.raises(ValueError, match=f"^{name} = .* is not allowed: {name} must be "):
        call()


def test_the_repaired_bound_takes_a_list_of_steps():
    each = [theory.repaired_bound(**REPAIRED | {"k": k}) for k in REPAIRED["k"]]
    assert theory.repaired_bound(**REPAIRED).tolist() == each
