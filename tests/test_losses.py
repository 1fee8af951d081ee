"""Facts about the losses: the papers' sums, symmetries, float32 at small temperatures, and what is refused."""

import math

import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ive

from clbook import losses

TAUS = [1e-3, 1e-2, 0.1, 0.5, 1.0, 10.0]


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def balanced(n):
    return [i % min(n, 4) for i in range(n)]


def unbalanced(n):
    return [0] * (n - 1) + [1]


def temperatures(tau, d):
    """A temperature for each dimension, from tau / 2 to tau."""
    return tau * torch.linspace(0.5, 1, d, dtype=torch.float64)


def case(fast, oracle, inputs=2):
    """fast(tensors, n, tau: number) against oracle(tensors with a leading T axis, n, tau: (T,))."""
    return fast, oracle, inputs


def labelled(name, labels):
    return case(lambda z, n, tau: getattr(losses, name)(*z, labels(n), tau),
                lambda z, n, tau: getattr(oracles, name)(*z, labels(n), tau))


def two_view(name):
    return case(lambda z, n, tau: getattr(losses, name)(*z, tau), lambda z, n, tau: getattr(oracles, name)(*z, tau))


def box(p):
    return case(lambda z, n, tau: losses.infonce(*z, tau=temperatures(tau, z[0].shape[1]), p=p),
                lambda z, n, tau: oracles.infonce_box(*z, temperatures(tau[:, None], z[0].shape[-1]), p))


CASES = {
    "nt_xent": two_view("nt_xent"),
    "cl": two_view("cl"),
    "dcl": two_view("dcl"),
    "nscl-balanced": labelled("nscl", balanced),
    "nscl-unbalanced": labelled("nscl", unbalanced),
    "supcon-balanced": labelled("supcon", balanced),
    "supcon-unbalanced": labelled("supcon", unbalanced),
    "nt_xent_mean": two_view("nt_xent_mean"),
    "generalized": case(
        lambda z, n, tau: losses.generalized(*z, lambda t: -t / tau),
        lambda z, n, tau: oracles.generalized(*z, lambda t: -t / tau[:, None, None],
                                              lambda r: torch.logaddexp(r, torch.zeros_like(r)))),
    "generalized-cauchy": case(
        lambda z, n, tau: losses.generalized(*z, lambda t: -torch.log1p(t / tau), lambda r: r.exp()),
        lambda z, n, tau: oracles.generalized(*z, lambda t: -torch.log1p(t / tau[:, None, None]), lambda r: r.exp())),
    "simplified": case(
        lambda z, n, tau: losses.simplified(z[0], torch.stack(z[1:]), tau),
        lambda z, n, tau: oracles.simplified(z[0], torch.stack(z[1:], 1), tau), inputs=3),
    "infonce-sphere": case(
        lambda z, n, tau: losses.infonce(*z, tau=temperatures(tau, z[0].shape[1]), normalize=True),
        lambda z, n, tau: oracles.infonce_sphere(*z, temperatures(tau[:, None], z[0].shape[-1])), inputs=3),
    "infonce-box-1": box(1),
    "infonce-box-2": box(2),
    "infonce-box-3": box(3),
    "symbol_context": case(
        lambda z, n, tau: losses.symbol_context(z[0] / tau, z[1]),
        lambda z, n, tau: oracles.symbol_context(z[0] / tau[:, None, None], z[1], list(range(n)))),
    "symbol_context-ids": case(
        lambda z, n, tau: losses.symbol_context(z[0] / tau, z[1], balanced(n)),
        lambda z, n, tau: oracles.symbol_context(z[0] / tau[:, None, None], z[1], balanced(n))),
}
UNTEMPERED = {
    "vicreg": case(lambda z, n, tau: losses.vicreg(*z, (25, 25, 1)), lambda z, n, tau: oracles.vicreg(*z, (25, 25, 1))),
    "byol": case(lambda z, n, tau: losses.byol(*z), lambda z, n, tau: oracles.byol(*z)),
}


@pytest.mark.parametrize("d", [1, 2, 8, 128])
@pytest.mark.parametrize("n", [2, 3, 17, 64])
@pytest.mark.parametrize("name", [*CASES, *UNTEMPERED])
def test_value_and_gradient_are_the_papers_sums(name, n, d):
    fast, oracle, inputs = (CASES | UNTEMPERED)[name]
    taus = TAUS if name in CASES else [1.0]
    tensors = [normal(n, d, seed=s) for s in range(inputs)]
    batched = [z.expand(len(taus), n, d).clone().requires_grad_() for z in tensors]
    expected = oracle(batched, n, torch.tensor(taus, dtype=torch.float64))
    gradients = torch.autograd.grad(expected.sum(), batched)
    for t, tau in enumerate(taus):
        leaves = [z.clone().requires_grad_() for z in tensors]
        value = fast(leaves, n, tau)
        torch.testing.assert_close(value, expected[t], rtol=1e-10, atol=1e-10, msg=lambda m, tau=tau: f"tau={tau}: {m}")
        for got, want in zip(torch.autograd.grad(value, leaves), gradients, strict=True):
            scale = max(1, float(want[t].abs().max()))
            assert (got - want[t]).abs().max() <= 1e-10 * scale, f"gradient, tau={tau}"


@pytest.mark.parametrize("name", [*CASES, *UNTEMPERED])
def test_first_and_second_derivatives_are_consistent(name):
    fast, _, inputs = (CASES | UNTEMPERED)[name]
    tensors = [normal(4, 3, seed=s).requires_grad_() for s in range(inputs)]
    assert torch.autograd.gradcheck(lambda *z: fast(z, 4, 0.5), tensors)
    assert torch.autograd.gradgradcheck(lambda *z: fast(z, 4, 0.5), tensors)


def rotation(d, seed):
    return torch.linalg.qr(normal(d, d, seed=seed)).Q


SEEDS = st.integers(0, 2**31 - 1)
SIZES = st.integers(2, 9)
ISOTROPIC = {name: CASES[name] for name in CASES if name not in ("infonce-sphere", "infonce-box-1", "infonce-box-2", "infonce-box-3")}
ISOTROPIC["infonce"] = case(lambda z, n, tau: losses.infonce(*z, tau=tau), None)
ISOTROPIC["infonce-sphere"] = case(lambda z, n, tau: losses.infonce(*z, tau=tau, normalize=True), None, inputs=3)
ISOTROPIC["byol"] = UNTEMPERED["byol"]


@given(name=st.sampled_from(sorted(ISOTROPIC)), n=SIZES, d=st.integers(1, 6), tau=st.sampled_from(TAUS[1:]), seed=SEEDS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_rotating_all_embeddings_changes_nothing(name, n, d, tau, seed):
    fast, _, inputs = ISOTROPIC[name]
    tensors = [normal(n, d, seed=seed + s) for s in range(inputs)]
    rotated = [z @ rotation(d, seed) for z in tensors]
    torch.testing.assert_close(fast(rotated, n, tau), fast(tensors, n, tau), rtol=1e-9, atol=1e-9)


def call(name, z, labels, tau):
    """Any loss by its name, with labels where it takes them."""
    if name in ("nscl", "supcon"):
        return getattr(losses, name)(*z, labels, tau)
    if name == "symbol_context":
        return losses.symbol_context(*z, labels)
    if name in ("vicreg", "byol"):
        return getattr(losses, name)(*z)
    if name == "generalized":
        return losses.generalized(*z, lambda t: -t / tau)
    if name == "simplified":
        return losses.simplified(z[0], z[1][None], tau)
    return losses.infonce(*z, tau=tau) if name == "infonce" else getattr(losses, name)(*z, tau)


EVERY = ["nt_xent", "cl", "dcl", "nscl", "supcon", "nt_xent_mean", "generalized", "simplified", "infonce",
         "symbol_context", "vicreg", "byol"]
COSINE = ["nt_xent", "cl", "dcl", "nscl", "supcon", "nt_xent_mean", "byol"]


@given(name=st.sampled_from(EVERY), n=SIZES, d=st.integers(1, 6), tau=st.sampled_from(TAUS[1:]), seed=SEEDS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_order_of_the_points_does_not_matter(name, n, d, tau, seed):
    z = [normal(n, d, seed=seed), normal(n, d, seed=seed + 1)]
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    labels = torch.tensor(unbalanced(n))
    torch.testing.assert_close(call(name, [x[order] for x in z], labels[order], tau), call(name, z, labels, tau),
                               rtol=1e-9, atol=1e-9)


@given(name=st.sampled_from(["nt_xent", "dcl", "nscl", "supcon", "vicreg", "byol"]), n=SIZES, seed=SEEDS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_losses_whose_anchors_are_both_views_are_symmetric_in_them(name, n, seed):
    z1, z2 = normal(n, 3, seed=seed), normal(n, 3, seed=seed + 1)
    torch.testing.assert_close(call(name, [z2, z1], unbalanced(n), 0.2), call(name, [z1, z2], unbalanced(n), 0.2))


def test_cl_and_nt_xent_mean_have_the_first_views_as_anchors_only():
    z1, z2 = normal(7, 3), normal(7, 3, seed=1)
    assert abs(losses.cl(z1, z2, 0.2) - losses.cl(z2, z1, 0.2)) > 1e-3
    assert abs(losses.nt_xent_mean(z1, z2, 0.2) - losses.nt_xent_mean(z2, z1, 0.2)) > 1e-3
    torch.testing.assert_close((losses.cl(z1, z2, 0.2) + losses.cl(z2, z1, 0.2)) / 2, losses.nt_xent(z1, z2, 0.2))


def test_labels_that_all_differ_turn_the_supervised_losses_into_their_unsupervised_ones():
    z1, z2 = normal(9, 4), normal(9, 4, seed=1)
    torch.testing.assert_close(losses.nscl(z1, z2, range(9), 0.1), losses.dcl(z1, z2, 0.1))
    torch.testing.assert_close(losses.supcon(z1, z2, range(9), 0.1), losses.nt_xent(z1, z2, 0.1))


def test_swapping_symbols_and_contexts_is_the_softmax_over_symbols():
    symbols, contexts = normal(6, 3), normal(6, 3, seed=1)
    over_symbols = -torch.log_softmax(contexts @ symbols.T, 1).diagonal().mean()
    torch.testing.assert_close(losses.symbol_context(contexts, symbols), over_symbols)


def test_a_temperature_per_dimension_is_a_rescaling_of_the_axes_in_the_box():
    a, b, tau = normal(8, 3), normal(8, 3, seed=1), torch.tensor([0.1, 1.0, 5.0], dtype=torch.float64)
    for p in (1, 2, 3):
        torch.testing.assert_close(losses.infonce(a, b, tau=tau, p=p),
                                   losses.infonce(a * tau ** (-1 / p), b * tau ** (-1 / p), p=p))


@pytest.mark.parametrize("n", [2, 50])
def test_values_with_everything_at_one_point(n):
    z = torch.ones(n, 3, dtype=torch.float64)
    labels = unbalanced(n)
    expected = {"nt_xent": math.log(2 * n - 1), "cl": math.log(2 * n - 1), "dcl": math.log(2 * n - 2),
                "supcon": math.log(2 * n - 1), "nt_xent_mean": math.log(1 + 2 * (n - 1) / n),
                "nscl": ((n - 1) * math.log(2) + math.log(2 * (n - 1))) / n, "generalized": math.log(2),
                "simplified": 0.0, "infonce": math.log(n), "byol": 0.0, "vicreg": 2 * 25 * (1 - 0.01)}
    for name, value in expected.items():
        assert abs(call(name, [z, z], labels, 0.1).item() - value) < 1e-12, name


@pytest.mark.parametrize("tau", [0.5, 0.2, 0.1, 0.05])
def test_evenly_spaced_points_on_the_circle_reach_the_plateau_of_eq_3(tau):
    angle = torch.arange(64, dtype=torch.float64) * (2 * math.pi / 64)
    z = torch.stack([angle.cos(), angle.sin()], 1)
    plateau = math.log(1 + ive(0, 1 / tau))  # ive(0, x) = exp(-x) I0(x)
    assert abs(losses.generalized(z, z, lambda t: -t / tau).item() - plateau) < 1e-10
    # Eq. 1's indicator takes the two copies of the anchor itself, 2/n, out of twice the same mean.
    assert abs(losses.nt_xent_mean(z, z, tau).item() - math.log(1 + 2 * ive(0, 1 / tau) - 2 / 64)) < 1e-10


def test_softplus_keeps_both_tails():
    t = torch.tensor([-700.0, -40.0, 0.0, 25.0, 700.0], dtype=torch.float64, requires_grad=True)
    value = losses.softplus(t)
    expected = torch.tensor([math.exp(-700), math.exp(-40), math.log(2), 25 + math.log1p(math.exp(-25)), 700.0],
                            dtype=torch.float64)
    torch.testing.assert_close(value, expected, rtol=1e-14, atol=0)
    torch.testing.assert_close(torch.autograd.grad(value.sum(), t)[0], torch.sigmoid(t), rtol=1e-14, atol=0)
