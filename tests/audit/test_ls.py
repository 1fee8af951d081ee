"""What the functions of LS's own room promise; what they find is judged on the paper's page."""

import functools
import itertools
import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import pdist
from stepping import advance

from clbook import kernels, theory
from clbook.experiments import separability, sphere
from clbook.experiments.landscape import curves
from clbook.losses import generalized, simplified, softplus
from clbook_book.audit.ls import batches, exact, noisy, repair, variants
from clbook_book.audit.ls.measures import best_line
from clbook_book.audit.ls.runs import least_spread
from clbook_book.audit.va import minima
from clbook_book.course.sphere import limits
from clbook_book.course.sphere.runs import HALF, STARTS


def test_the_first_variation_is_that_of_eq_3():
    """The derivative along h against differences of `losses.generalized`, averaged over all pairs of views."""
    e, h = exact.numbers(0, 3, 5, 2), exact.numbers(1, 3, 5, 2)

    def loss(s):
        moved = e + s * h
        pairs = [generalized(a, b, lambda t: -t / 0.5, softplus) for a in moved for b in moved]
        return torch.stack(pairs).mean().item()

    found = exact.first_variation(0)["autograd"]
    assert (loss(1e-6) - loss(-1e-6)) / 2e-6 == pytest.approx(found, rel=1e-6)


def test_equal_integrals_are_not_enough_for_theorem_3_1_where_g_differs():
    """Five points of the circle, 1 + 2 + 2: the integrals have no part along it, and the gradient has."""
    angle = torch.tensor([0.0, 1, 1, -1, -1], dtype=torch.float64) * math.radians(111.2906932877089)
    z = torch.stack([angle.cos(), angle.sin()], 1).requires_grad_()
    along = torch.stack([-angle.sin(), angle.cos()], 1)
    loss = 5 * generalized(z, z, lambda t: -t, softplus)
    (slope,) = torch.autograd.grad(loss, z)
    apart = (z[:, None] - z).detach()
    similar = torch.exp(-apart.square().sum(2) / 2)
    integrals = -(similar[..., None] * apart).mean(1)
    assert (integrals * along).sum(1).abs().max() < 1e-14
    assert (slope * along).sum(1).abs().max() > 2e-3
    assert similar.mean(1).max() - similar.mean(1).min() > 0.1


def test_charges_at_rest_are_even_and_not_stationary():
    """Eight on a sphere: a square antiprism, whose height alone has to be found. All G are equal."""
    turn = torch.arange(8, dtype=torch.float64) * math.pi / 4

    def charges(height):
        z = torch.full_like(turn, height)
        z[1::2] *= -1
        flat = math.sqrt(1 - height**2)
        return torch.stack([flat * turn.cos(), flat * turn.sin(), z], 1)

    rest = minimize_scalar(lambda height: (1 / pdist(charges(height))).sum(), bounds=(0.3, 0.8))
    assert rest.fun == pytest.approx(19.675288, abs=1e-6)  # the least energy of eight charges
    z = charges(rest.x).requires_grad_()
    (slope,) = torch.autograd.grad(8 * generalized(z, z, lambda t: -t / 0.2, softplus), z)
    along = slope - (slope * z).sum(1, keepdim=True) * z
    assert along.norm(dim=1).min().item() == pytest.approx(0.0065, rel=0.01)


def test_any_two_places_agree_up_to_multiples_of_the_places():
    """Of the circle, and they attract or repel: so that is not what Theorem 3.1 needs."""
    z = torch.tensor([[1.0, 0], [0.5, 0.75**0.5]], dtype=torch.float64)
    integral = torch.stack([z[1] - z[0], z[0] - z[1]])  # up to one factor
    along = torch.stack([-z[:, 1], z[:, 0]], 1)
    common = torch.linalg.solve(along, (integral * along).sum(1))
    assert ((integral - common) * along).sum(1).abs().max() < 1e-15
    assert (integral * along).sum(1).abs().min() > 0.8


def test_the_threshold_is_on_a_line_up_to_a_third_of_a_step():
    taus = np.linspace(0.005, 0.1, 200)
    for tolerance, misses in ((0.1, 0.024), (0.01, 0.083), (1e-4, 0.309)):
        gaps = 4 * np.sin(np.pi / curves.reach(taus, tolerance)) ** 2
        dense = SimpleNamespace(taus=taus, gaps=gaps)
        assert best_line(dense, 0.1)[0] == pytest.approx(-misses, abs=0.001)


def test_views_that_scatter_end_the_linear_law_of_step_1():
    """(a) and (b) hold with gamma = 0: the views of a point lie at M on both sides of its cluster's mean."""
    z = 0.1 * torch.cat([torch.linspace(-0.5, -0.1, 20), torch.linspace(0.1, 0.5, 20)]).double()
    means = z.unflatten(0, (2, -1)).mean(1).repeat_interleave(20)
    side = torch.tensor([1.0, -1.0]).double().repeat(20)
    for M, times in ((0.7, 24), (1.5, 112)):
        z.requires_grad_()
        views = torch.stack([means + M * side, means - M * side])[..., None]
        (slope,) = torch.autograd.grad(40 * simplified(z[:, None], views, 1.0), z)
        error = (slope - (z.detach().mean() - means)).abs().max()
        assert error / 0.1**3 == pytest.approx(times, rel=0.03)


@pytest.mark.parametrize("gradient", ["partial", "full"])
def test_interlaced_combs_stay_interlaced(gradient):
    """Places 0, 2, 4 and 1, 3, 5 times eps / 5; f = R + 100 w_q, and the members of a cluster are its points' views."""
    n, eps, scale = 60, 0.1, 100.0
    tau = eps**2 / 500
    R = eps / 5 * torch.arange(6).double().repeat(n // 6)
    first = torch.arange(n) % 2 == 0

    def velocity(shift):
        w = torch.tensor([0.0, shift * eps / 5 / scale], dtype=torch.float64, requires_grad=True)
        z = R + scale * torch.where(first, w[0], w[1])
        views = z if gradient == "full" else z.detach()
        half = (z[:, None] - views).square() / (2 * tau)
        own = torch.where(first[:, None] == first, half, 0.0).sum(1) / (n / 2)
        (slope,) = torch.autograd.grad((own + torch.logsumexp(-half, 1)).mean(), w)
        return float(slope[0] - slope[1])

    # The shift alone decides the velocity, so that the flow from 0 never passes the place of rest.
    assert velocity(0.0) > 0 > velocity(0.02) and velocity(-0.3) > 0 > velocity(0.3)
    left, right = theory.separation_condition(eps, tau, n, 0.0, 2 * scale**2, 0.0, 0.0)
    assert left / right == pytest.approx(310, rel=1e-2)


def test_scatter_of_the_views_slows_the_gap_and_closes_it():
    """The rate is (Theta / 4 tau)(1 - M^2 / tau), twice that with the full gradient, for narrow starts."""
    for gradient, times in (("partial", 1), ("full", 2)):
        for scatter in (0.0, 0.5, 2.0):
            law = times * 2 * noisy.SCALE**2 / (4 * noisy.TAU) * (1 - scatter)
            assert noisy.growth(1e-3, scatter, gradient) == pytest.approx(law, rel=2e-3)


@pytest.mark.parametrize(("data", "least", "most"), [("clusters", 1, 1.03), ("donut", 5.8, 38)])
def test_views_at_their_points_grow_at_a_rate_between_two_bounds(data, least, most):
    """The largest eigenvalue of the covariance of the gradients is from Theta / 4 to Theta / 4 + sigma^2."""
    for seed in range(5):
        config = separability.Config(data=data, augmentation="none", seed=seed)
        flow = separability.Separability([config]).to("cpu", torch.float64)
        kernel = repair.kernel_at_start(flow, flow.state)[0]
        theta, sigma2 = kernels.gradient_structure(kernel, flow.shared.labels)
        centred = kernel - kernel.mean(0)
        rate = torch.linalg.eigvalsh(centred - centred.mean(1, keepdim=True))[-1] / len(kernel)
        assert theta / 4 < rate < theta / 4 + sigma2
        assert least < rate / (theta / 4) < most
        push = repair.push(kernel, flow.shared.labels).numpy()
        share, _ = repair.margin(push, flow.shared.labels.numpy())
        assert share < -1 if data == "donut" else share > 0.5  # the gradients of the donut overlap


@pytest.mark.parametrize("count", [2, 3, 5, 8, 16, 32])
def test_even_points_with_a_place_each_are_minima(count):
    """Eq. 3 curves up along each wave of angles but a rotation: 2 (1 + G) second > first^2, in 120 digits."""
    with mpmath.workdps(120):
        for tau, m in itertools.product((0.01, 0.2, 1, 10_000), range(1, count // 2 + 1)):
            G = first = second = mpmath.mpf(0)
            for k in range(count):
                turn = mpmath.mpf(2 * k) / count
                sin, cos = mpmath.sinpi(turn), mpmath.cospi(turn)
                share = mpmath.exp((cos - 1) / tau) / count
                G += share
                first += share * sin / tau * mpmath.sinpi(turn * m)
                second += share * (sin**2 / tau - cos) / tau * (1 - mpmath.cospi(turn * m))
            assert 2 * (1 + G) * second > first**2


def test_other_losses_make_a_saddle_of_even_points_with_a_place_each():
    """Five places, tau = .2, Psi(t) = 1 - exp(-400 t) up to a factor."""

    def loss(angles):
        z = minima.circle(angles)
        return generalized(z, z, lambda t: -t / 0.2, lambda r: -((0.2 - r.exp()) * 400).exp())

    curvature = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, minima.even(5)[0]))
    assert curvature[1] < -0.9 * curvature.abs().max() and curvature[-1] > 0


def test_lemma_b_4_asks_more_of_psi_than_that_it_rises():
    """Two opposite places that h exchanges, Psi(t) = 1 - exp(-a t) up to a factor; sigma = 4 > 3 K^2 tau."""
    z, tau = torch.tensor([[1.0, 0], [-1, 0]], dtype=torch.float64), 0.3
    steepest = (2 - tau / 2) * math.exp(2 / tau)

    def loss(a, s):
        moved = (1 - 2 * s) * z
        return generalized(moved, moved, lambda t: -t / tau, lambda r: -((0.5 - r.exp()) * a).exp())

    for part, sign in ((0.95, 1), (1.05, -1)):
        along = functools.partial(loss, part * steepest)
        assert torch.autograd.functional.hessian(along, z.new_zeros(())) * sign > 0


def test_the_bound_of_the_repaired_theorem_is_that_of_a_sum():
    """The closed form of the repaired theorem against its recursion."""
    start = {"h": 0.01, "eps": 0.1, "gap": 0.02, "theta": 4.0, "kappa": 3.0}
    errors = {"rate": 2.0, "eta": 0.01, "zeta": 0.1}
    h, eps, gap, theta, kappa, rate, eta, zeta = (start | errors).values()
    D, pair = gap, -eps
    for k in range(1, 200):
        pair += h * ((kappa / theta - zeta) * rate * D - eta)
        D += h * ((1 - zeta) * rate * D - eta)
        bound = theory.repaired_bound(k, **start, **errors)
        assert bound == pytest.approx(pair, rel=1e-9)


def test_the_component_along_u_grows_like_the_gap_only_for_equal_blocks():
    z = np.random.default_rng(0).uniform(size=12)
    same, other = (repair.still_kernel(3, 1, c, z, t=0.7, tau=0.5) for c in (3, 2))
    assert max(same.values()) < 1e-12 and other["alpha"] > 1e-4 and other["gap"] < 1e-12


def test_without_features_a_variant_is_a_run_of_the_chapter():
    plain = separability.run(separability.Config(steps=30), record=("drift",))
    variant = variants.run(variants.Config(steps=30), record=("drift",))
    assert np.array_equal(plain.z, variant.z) and np.array_equal(plain.drift, variant.drift)


@pytest.mark.parametrize("features", ["random", "radial", "spline"])
def test_the_kernel_of_a_linear_map_cannot_move(features):
    config = variants.Config(features=features, hidden=(), steps=30, record_every=10)
    result = variants.run(config, record=("drift",))
    assert (result.drift == 0).all() and abs(result.z[-1] - result.z[0]).max() > 0


def test_splines_add_up_to_one():
    flow = variants.Variant([variants.Config(features="spline", hidden=())])
    assert flow.lifted(flow.state, flow.state.x).sum(-1) == pytest.approx(1, abs=1e-5)


def test_without_noise_both_samples_are_the_point_itself():
    """Then eq. 12 with one sample augmented and with both are one loss, and the full gradient agrees."""
    bare = variants.Config(noise=0.0, steps=30)
    one, both = (variants.run(bare.replace(loss=loss)) for loss in ("eq. 12", "both views"))
    assert np.allclose(one.z, both.z, atol=1e-5)


def test_features_do_not_go_with_hidden_layers():
    with pytest.raises(ValueError, match="features = 'spline'"):
        variants.Config(features="spline")


def test_a_batch_of_all_points_is_a_run_of_the_sphere_chapter():
    config = sphere.Config(n=batches.BATCH, network=False, gradient="partial", steps=20)
    batch, plain = (run(config, record=("loss", "accuracy")) for run in (batches.run, sphere.run))
    assert batch.loss == pytest.approx(plain.loss, abs=1e-4)
    assert batch.accuracy == pytest.approx(plain.accuracy)


def test_without_a_network_only_the_points_of_a_batch_move():
    config = sphere.Config(n=500, network=False, gradient="partial", steps=5)
    flow = batches.Batches([config]).to("cpu")
    s = flow.start()
    moved = (advance(flow, s, 2).weights[0] - s.weights[0]).norm(dim=-1)[0] > 1e-5
    assert 0.95 * batches.BATCH < moved.sum() <= batches.BATCH  # one may happen to stand still


def test_half_the_stability_limit_is_that_of_the_start():
    for config, half in list(zip(STARTS, HALF, strict=True))[::5]:
        assert half == pytest.approx(1 / limits.sharpness_at_start(config), rel=0.02)


def test_the_widest_gap_is_that_of_the_best_weights():
    R, phi = np.array([0.0, 1.0, 0.2, 0.9]), np.array([2.0, 1.0, -1.0, 3.0])
    first = np.array([True, True, False, False])
    scan = [
        (R + w * phi)[first].min() - (R + w * phi)[~first].max() for w in np.linspace(-2, 2, 4001)
    ]
    assert repair.widest(R, phi, first) == pytest.approx(max(scan), abs=1e-2)
    apart = np.array([2.0, 1.0, -1.0, -2.0])  # no overlap: the gap grows with w
    assert repair.widest(R, apart, first) == np.inf


def test_a_run_that_is_separable_from_the_start_has_a_spread():
    """Its points lie on a cross; iteration 0 is not never."""
    cross = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    run = SimpleNamespace(separable_at=0, steps=np.array([0]), z=cross[None])
    assert least_spread(run) == pytest.approx(0.5)
    run.separable_at = None
    assert least_spread(run) == 0.0
