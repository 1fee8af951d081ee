"""Facts about the losses: the papers' sums, symmetries, float32 at small temperatures, and what is refused."""

import math

import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ive

from clbook import losses


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The tensors are small: a second thread only waits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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


def case(fast, oracle=None, inputs=2):
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
    **{name: two_view(name) for name in ("nt_xent", "cl", "dcl", "nt_xent_mean")},
    **{f"{name}-{labels.__name__}": labelled(name, labels)
       for name in ("nscl", "supcon") for labels in (balanced, unbalanced)},
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
    **{f"infonce-box-{p}": box(p) for p in (1, 2, 3)},
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
    tensors = [normal(4, 2, seed=s).requires_grad_() for s in range(inputs)]
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda *z: fast(z, 4, 0.5), tensors)


def rotation(d, seed):
    return torch.linalg.qr(normal(d, d, seed=seed)).Q


SEEDS, SIZES = st.integers(0, 2**31 - 1), st.integers(2, 9)
ISOTROPIC = {name: c for name, c in CASES.items() if not name.startswith("infonce")}
ISOTROPIC["infonce"] = case(lambda z, n, tau: losses.infonce(*z, tau=tau))
ISOTROPIC["infonce-sphere"] = case(lambda z, n, tau: losses.infonce(*z, tau=tau, normalize=True), inputs=3)
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
    order, labels = normal(n, seed=seed).argsort(), torch.tensor(unbalanced(n))
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
    expected = {"nt_xent": math.log(2 * n - 1), "cl": math.log(2 * n - 1), "dcl": math.log(2 * n - 2),
                "supcon": math.log(2 * n - 1), "nt_xent_mean": math.log(1 + 2 * (n - 1) / n),
                "nscl": ((n - 1) * math.log(2) + math.log(2 * (n - 1))) / n, "generalized": math.log(2),
                "simplified": 0.0, "infonce": math.log(n), "byol": 0.0, "vicreg": 2 * 25 * (1 - 0.01)}
    for name, value in expected.items():
        assert abs(call(name, [z, z], unbalanced(n), 0.1).item() - value) < 1e-12, name


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


def float32_against_float64(name, z, labels, tau, rtol):
    """Value and gradient in float32 against float64 on the same float32 numbers; returns the float64 value."""
    values, gradients = [], []
    for dtype in (torch.float32, torch.float64):
        leaves = [x.float().to(dtype).requires_grad_() for x in z]
        values.append(call(name, leaves, labels, tau).double())
        gradients.append(torch.stack(torch.autograd.grad(values[-1], leaves)).double())
    torch.testing.assert_close(*values, rtol=rtol, atol=0)
    assert (gradients[0] - gradients[1]).abs().max() <= rtol * gradients[1].abs().max()
    return values[1]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("duplicates", [False, True])
def test_float32_is_right_at_temperature_one_thousandth(name, duplicates):
    z = [normal(17, 4), normal(17, 4, seed=1)]
    if duplicates:
        z = [torch.cat([x[:9], x[:8]]) for x in z]
        z[1][:4] = z[0][:4]
    if name == "symbol_context":
        z[0] = z[0] / 1e-3
    float32_against_float64(name, z, balanced(17), 1e-3, rtol=2e-3)


@pytest.mark.parametrize("name", ["nt_xent", "cl", "supcon", "nt_xent_mean", "infonce", "symbol_context"])
def test_a_small_loss_is_not_lost_to_rounding(name):
    z = [6 * torch.eye(8, 9, dtype=torch.float64) + 0.01 * normal(8, 9, seed=s) for s in range(2)]
    value = float32_against_float64(name, z, range(8), 1.0 if name == "infonce" else 0.02, rtol=1e-3)
    assert 0 < value < 1e-12


def test_nearby_points_at_an_offset_keep_their_differences_in_float32():
    z = 3 + 0.02 * normal(200, 1).sigmoid()
    float32_against_float64("simplified", [z, z + 1e-3 * normal(200, 1, seed=1)], None, 1e-3, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("name", [*COSINE, "infonce"])
def test_the_cosine_losses_do_not_see_the_scale(name, scale):
    def loss(z):
        return losses.infonce(*z, tau=0.1, normalize=True) if name == "infonce" else call(name, z, balanced(9), 0.1)
    small = [normal(9, 5, seed=s, dtype=torch.float32).requires_grad_() for s in range(2)]
    scaled = [(z.detach() * scale).requires_grad_() for z in small]
    torch.testing.assert_close(loss(scaled), loss(small), rtol=1e-5, atol=0)
    got, want = (torch.stack(torch.autograd.grad(loss(z), z)) for z in (scaled, small))
    torch.testing.assert_close(got * scale, want, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["generalized", "simplified", "infonce", "symbol_context", "vicreg"])
def test_squares_that_overflow_are_refused_and_tiny_ones_vanish(name):
    z = [normal(9, 5, dtype=torch.float32), normal(9, 5, seed=1, dtype=torch.float32)]
    with pytest.raises(ValueError, match=r"^(z|z1|anchor|symbols), .*finite in torch.float32"):
        call(name, [1e30 * x for x in z], balanced(9), 0.1)
    tiny, zero = (call(name, [scale * x for x in z], balanced(9), 0.1) for scale in (1e-30, 0))
    torch.testing.assert_close(tiny, zero)


def test_the_hessian_where_anchor_and_positive_coincide_is_the_limit_of_nearby_ones():
    z = normal(1, 2)
    hessian = torch.autograd.functional.hessian(lambda a: losses.infonce(a, z, z + 1, tau=0.5, p=2), z)
    far = torch.autograd.functional.hessian(lambda a: losses.infonce(a, z + 1e-7, z + 1, tau=0.5, p=2), z)
    torch.testing.assert_close(hessian, far, rtol=1e-5, atol=1e-5)


FIRST = {"simplified": "z", "infonce": "anchor", "symbol_context": "symbols", "byol": "prediction"}
SECOND = {"simplified": "views", "infonce": "positive", "symbol_context": "contexts", "byol": "target"}


@pytest.mark.parametrize("tau", [0, -1.0, math.nan, math.inf, 1e-40])
@pytest.mark.parametrize("name", ["nt_xent", "cl", "dcl", "nscl", "supcon", "nt_xent_mean", "simplified", "infonce"])
def test_a_temperature_that_is_not_positive_is_refused(name, tau):
    with pytest.raises(ValueError, match=r"^tau = .* is not allowed: tau must be a finite number > 0"):
        call(name, [normal(4, 3), normal(4, 3, seed=1)], balanced(4), tau)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", EVERY)
def test_values_that_are_not_finite_are_refused(name, bad):
    for which, names, default in ((0, FIRST, "z1"), (1, SECOND, "z2")):
        z = [torch.ones(5, 3), torch.ones(5, 3)]
        z[which][2, 1] = bad
        with pytest.raises(ValueError, match=rf"^{names.get(name, default)} = a tensor with 1 of 15 values not finite"):
            call(name, z, balanced(5), 0.1)


def test_negatives_that_are_not_finite_are_refused_and_not_silently_weightless():
    negatives = torch.tensor([[0.0, 1.0, 2.0], [0.0, 1.0, math.inf]])
    for normalize in (False, True):
        with pytest.raises(ValueError, match="^negatives = .*not finite"):
            losses.infonce(torch.ones(2, 3), torch.ones(2, 3), negatives, normalize=normalize)


@pytest.mark.parametrize("name", [name for name in EVERY if name != "byol"])
def test_a_single_point_has_no_negatives_and_is_refused(name):
    with pytest.raises(ValueError, match=rf"^{FIRST.get(name, 'z1')} = .*n >= 2"):
        call(name, [torch.ones(1, 3), torch.ones(1, 3)], [0], 0.1)


@pytest.mark.parametrize("name", EVERY)
def test_shapes_and_types_that_do_not_match_are_refused(name):
    for other in (torch.ones(4, 2), torch.ones(5, 3), torch.ones(4)):
        with pytest.raises(ValueError, match=rf"^{SECOND.get(name, 'z2')} = a .*tensor of shape"):
            call(name, [torch.ones(4, 3), other], balanced(4), 0.1)
    with pytest.raises(ValueError, match=rf"^{FIRST.get(name, 'z1')} = a torch.int64 tensor"):
        call(name, [torch.ones(4, 3, dtype=torch.int64)] * 2, balanced(4), 0.1)


@pytest.mark.parametrize("name", COSINE)
def test_a_zero_row_has_no_direction_and_is_refused(name):
    z = [torch.ones(5, 3), torch.ones(5, 3).index_fill(0, torch.tensor(3), 0)]
    with pytest.raises(ValueError, match=rf"^{SECOND.get(name, 'z2')} = a tensor whose row 3 is zero"):
        call(name, z, balanced(5), 0.1)


@pytest.mark.parametrize(("name", "argument"), [("nscl", "labels"), ("supcon", "labels"), ("symbol_context", "ids")])
def test_labels_of_another_length_or_all_equal_are_refused(name, argument):
    z = [torch.ones(5, 3), torch.ones(5, 3)]
    for labels in ([0, 1, 2], [[0, 1, 0, 1, 0]]):
        with pytest.raises(ValueError, match=rf"^{argument} = of shape .* one for each of the 5 points"):
            call(name, z, labels, 0.1)
    with pytest.raises(ValueError, match=rf"^{argument} = 7 for all points .*negatives"):
        call(name, z, [7] * 5, 0.1)


@pytest.mark.parametrize("argument", [{"p": 0.5}, {"p": math.inf}, {"tau": [1.0, 2.0]}, {"tau": [1.0, 2.0, 0.0]},
                                      {"negatives": torch.ones(0, 3)}, {"negatives": torch.ones(4, 2)}])
def test_infonce_refuses(argument):
    with pytest.raises(ValueError, match=rf"^{next(iter(argument))} = .* is not allowed"):
        losses.infonce(torch.ones(4, 3), torch.ones(4, 3), **argument)


def test_vicreg_refuses_weights():
    for weights in ((1, 1), (1, -1, 1), (1, 1, math.nan)):
        with pytest.raises(ValueError, match="^weights = .*three finite numbers >= 0"):
            losses.vicreg(torch.ones(4, 3), torch.ones(4, 3), weights)


def same_value_and_gradient(ours, theirs, z):
    values = [f(*z) for f in (ours, theirs)]
    torch.testing.assert_close(*values, rtol=1e-9, atol=1e-12)
    for a, b in zip(*(torch.autograd.grad(v, z) for v in values), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("n", [3, 12])
def test_pytorch_metric_learning_agrees_where_the_definition_is_the_same(n):
    library = pytest.importorskip("pytorch_metric_learning.losses")
    z = [normal(n, 8, seed=s).requires_grad_() for s in range(2)]
    for labels in (balanced(n), unbalanced(n)):
        both = torch.tensor(labels).repeat(2)
        same_value_and_gradient(lambda a, b, y=labels: losses.supcon(a, b, y, 0.2),
                                lambda a, b, y=both: library.SupConLoss(0.2)(torch.cat([a, b]), y), z)
    own = torch.arange(n).repeat(2)
    same_value_and_gradient(lambda a, b: losses.nt_xent(a, b, 0.2),
                            lambda a, b: library.NTXentLoss(0.2)(torch.cat([a, b]), own), z)
    same_value_and_gradient(lambda a, b: losses.vicreg(a, b, (25 / 8, 12.5, 1)),
                            lambda a, b: library.VICRegLoss()(a, ref_emb=b), z)


def test_lightly_agrees_where_the_definition_is_the_same():
    library = pytest.importorskip("lightly.loss", reason="lightly needs torchvision, which this torch build lacks",
                                  exc_type=ImportError)
    z = [normal(12, 8, seed=s).requires_grad_() for s in range(2)]
    same_value_and_gradient(lambda a, b: losses.nt_xent(a, b, 0.2), library.NTXentLoss(0.2), z)
    same_value_and_gradient(lambda a, b: losses.dcl(a, b, 0.2), library.DCLLoss(0.2), z)
    same_value_and_gradient(lambda a, b: losses.vicreg(a, b, (25 / 8, 12.5, 1)), library.VICRegLoss(), z)
    same_value_and_gradient(lambda a, b: losses.byol(a, b) / 2 - 1, library.NegativeCosineSimilarity(), z)
