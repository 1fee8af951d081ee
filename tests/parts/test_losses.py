"""Facts about the losses: the papers' sums, symmetries, float32 at small temperatures, and what is refused."""

import functools
import inspect
import math

import oracles
import pytest
import torch
from scipy.special import ive
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from wrong import WRONG, answers_or_names_it

from clbook import losses

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def looked_at(monkeypatch):
    """The values of tensors are checked too, as they are if a reader asks for it."""
    monkeypatch.setenv("CLBOOK_CHECK", "1")


TAUS = [1e-3, 1e-2, 0.1, 0.5, 1.0, 10.0]


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def balanced(n):
    return [i % min(n, 4) for i in range(n)]


def unbalanced(n):
    return [0] * (n - 1) + [1]


def temperatures(tau, d):
    """A temperature for each dimension, from tau / 2 to tau; tau a number, or (R, 1, 1) for R runs."""
    device = tau.device if isinstance(tau, torch.Tensor) else None
    return tau * torch.linspace(0.5, 1, d, dtype=torch.float64, device=device)


def case(fast, oracle=None, inputs=2):
    """fast(tensors (..., n, d), n, tau: number or (R, 1, 1)) against oracle(tensors (T, n, d), n, tau: (T,))."""
    return fast, oracle, inputs


def labelled(name, labels):
    return case(
        lambda z, n, tau: getattr(losses, name)(*z, labels(n), tau),
        lambda z, n, tau: getattr(oracles, name)(*z, labels(n), tau),
    )


def two_view(name):
    return case(
        lambda z, n, tau: getattr(losses, name)(*z, tau),
        lambda z, n, tau: getattr(oracles, name)(*z, tau),
    )


def box(p):
    return case(
        lambda z, n, tau: losses.infonce(*z, tau=temperatures(tau, z[0].shape[-1]), p=p),
        lambda z, n, tau: oracles.infonce_box(*z, temperatures(tau[:, None], z[0].shape[-1]), p),
    )


CASES = {
    **{name: two_view(name) for name in ("nt_xent", "cl", "dcl", "nt_xent_mean")},
    **{
        f"{name}-{labels.__name__}": labelled(name, labels)
        for name in ("nscl", "supcon")
        for labels in (balanced, unbalanced)
    },
    "generalized": case(
        lambda z, n, tau: losses.generalized(*z, lambda t: -t / tau),
        lambda z, n, tau: oracles.generalized(
            *z, lambda t: -t / tau[:, None, None], lambda r: torch.logaddexp(r, torch.zeros_like(r))
        ),
    ),
    "generalized-cauchy": case(
        lambda z, n, tau: losses.generalized(*z, lambda t: -torch.log1p(t / tau), torch.exp),
        lambda z, n, tau: oracles.generalized(
            *z, lambda t: -torch.log1p(t / tau[:, None, None]), torch.exp
        ),
    ),
    "simplified": case(
        lambda z, n, tau: losses.simplified(z[0], torch.stack(z[1:], -3), tau),
        lambda z, n, tau: oracles.simplified(z[0], torch.stack(z[1:], 1), tau),
        inputs=3,
    ),
    "infonce-sphere": case(
        lambda z, n, tau: losses.infonce(*z, tau=temperatures(tau, z[0].shape[-1]), normalize=True),
        lambda z, n, tau: oracles.infonce_sphere(*z, temperatures(tau[:, None], z[0].shape[-1])),
        inputs=3,
    ),
    **{f"infonce-box-{p}": box(p) for p in (1, 2, 3)},
    "symbol_context": case(
        lambda z, n, tau: losses.symbol_context(z[0] / tau, z[1]),
        lambda z, n, tau: oracles.symbol_context(z[0] / tau[:, None, None], z[1], list(range(n))),
    ),
    "symbol_context-ids": case(
        lambda z, n, tau: losses.symbol_context(z[0] / tau, z[1], balanced(n)),
        lambda z, n, tau: oracles.symbol_context(z[0] / tau[:, None, None], z[1], balanced(n)),
    ),
}
UNTEMPERED = {
    "vicreg": case(
        lambda z, n, tau: losses.vicreg(*z, (25, 25, 1)),
        lambda z, n, tau: oracles.vicreg(*z, (25, 25, 1)),
    ),
    "byol": case(lambda z, n, tau: losses.byol(*z), lambda z, n, tau: oracles.byol(*z)),
}


@pytest.mark.parametrize("d", [1, 2, 8, 128])
@pytest.mark.parametrize("n", [2, 3, 17, 64])
@pytest.mark.parametrize("name", [*CASES, *UNTEMPERED])
def test_value_and_gradient_are_the_papers_sums(name, n, d):
    """Of six problems with a temperature each: side by side, in two rows of three, and one by one."""
    fast, oracle, inputs = (CASES | UNTEMPERED)[name]
    d = min(d, 24) if name == "vicreg" else d  # its sums run over pairs of dimensions
    taus = torch.tensor(TAUS, dtype=torch.float64)
    tensors = [normal(6, n, d, seed=s) for s in range(inputs)]
    batched = [z.clone().requires_grad_() for z in tensors]
    expected = oracle(batched, n, taus)
    gradients = torch.autograd.grad(expected.sum(), batched)

    def compare(run, tau, shape, layout):
        leaves = [z[run].clone().requires_grad_() for z in tensors]
        value = fast([z.view(*shape, n, d) for z in leaves], n, tau)
        torch.testing.assert_close(
            value, expected[run].view(shape), rtol=1e-10, atol=1e-10, msg=lambda m: f"{layout}: {m}"
        )
        for got, want in zip(torch.autograd.grad(value.sum(), leaves), gradients, strict=True):
            scale = want[run].abs().amax((-2, -1), keepdim=True).clamp(min=1)
            assert ((got - want[run]).abs() <= 1e-10 * scale).all(), f"gradient, {layout}"

    for shape in ((6,), (2, 3)):
        compare(slice(None), taus.view(*shape, 1, 1), shape, f"runs {shape}")
    for t, tau in enumerate(TAUS):
        compare(t, tau, (), f"tau={tau}")


@pytest.mark.parametrize("name", [*CASES, *UNTEMPERED])
def test_derivatives_of_both_modes_and_both_orders_are_consistent(name):
    fast, _, inputs = (CASES | UNTEMPERED)[name]
    tensors = [normal(4, 2, seed=s).requires_grad_() for s in range(inputs)]
    assert torch.autograd.gradcheck(lambda *z: fast(z, 4, 0.5), tensors)
    assert torch.autograd.gradgradcheck(lambda *z: fast(z, 4, 0.5), tensors)
    wide = [normal(4, 6, seed=s).requires_grad_() for s in range(inputs)]
    modes = {"check_forward_ad": True, "check_backward_ad": False}
    assert torch.autograd.gradcheck(lambda *z: fast(z, 4, 0.5), wide, **modes)


def ways(name):
    """The calls of a loss: {how: arguments(z1, z2, labels, tau) -> (args, kwargs)}."""
    if name == "infonce":
        kinds = {"sphere": {"normalize": True}, "box": {}, "box, p = 1": {"p": 1}}
        kinds["box, p = 3"] = {"p": 3}
        found = {}
        for how, k in kinds.items():
            found[how] = lambda a, b, y, tau, k=k: (
                (a, b),
                {"tau": temperatures(tau, a.shape[-1]).to(a.dtype), **k},
            )
            found[f"{how}, negatives"] = lambda a, b, y, tau, k=k: (
                (a, b, a + b),
                {"tau": tau, **k},
            )
        return found
    return {
        "generalized": {"": lambda a, b, y, tau: ((a, b, lambda t: -t / tau), {})},
        "simplified": {"": lambda a, b, y, tau: ((a, torch.stack([a + b, b, a - b], -3), tau), {})},
        "symbol_context": {
            "": lambda a, b, y, tau: ((a / tau, b), {}),
            "ids": lambda a, b, y, tau: ((a / tau, b, y), {}),
        },
        "vicreg": {"": lambda a, b, y, tau: ((a, b), {})},
        "byol": {"": lambda a, b, y, tau: ((a, b), {})},
        "nscl": {"": lambda a, b, y, tau: ((a, b, y, tau), {})},
        "supcon": {"": lambda a, b, y, tau: ((a, b, y, tau), {})},
    }.get(name, {"": lambda a, b, y, tau: ((a, b, tau), {})})


EVERY = [
    "nt_xent", "cl", "dcl", "nscl", "supcon", "nt_xent_mean",
    "generalized", "simplified", "infonce", "symbol_context", "vicreg", "byol",
]  # fmt: skip
WAYS = [(name, how) for name in EVERY for how in ways(name)]


def problems(runs, n, d, dtype=torch.float32):
    """z1, z2 (runs, n, d), labels (runs, n) and tau (runs, 1, 1), different in each run."""
    labels = torch.stack([torch.arange(n).roll(r) % (2 + r % 3) for r in range(runs)])
    tau = 0.1 + normal(runs, 1, 1, seed=2, dtype=dtype).sigmoid()
    return normal(runs, n, d, dtype=dtype), normal(runs, n, d, seed=1, dtype=dtype), labels, tau


def value_and_gradients(loss, way, problem, leaves=(0, 1, 3)):
    """The losses, and the gradients of their sum with respect to z1, z2 and tau (0 where the loss has none)."""
    problem = [x.clone().requires_grad_() if i in leaves else x for i, x in enumerate(problem)]
    args, kwargs = way(*problem)
    value = loss(*args, **kwargs)
    return value, *torch.autograd.grad(
        value.sum(), [problem[i] for i in leaves], materialize_grads=True
    )


@pytest.mark.parametrize("name, how", WAYS)
def test_a_loss_of_several_runs_is_the_list_of_their_losses(name, how):
    problem = problems(6, 9, 4, torch.float64)
    loss, way = getattr(losses, name), ways(name)[how]
    singles = [value_and_gradients(loss, way, [x[i] for x in problem]) for i in range(6)]
    together = value_and_gradients(loss, way, problem)
    nested = value_and_gradients(loss, way, [x.unflatten(0, (2, 3)) for x in problem])
    for got, nest, want in zip(together, nested, map(torch.stack, zip(*singles))):
        torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(nest.flatten(0, 1), want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["nscl", "supcon", "symbol_context"])
def test_runs_may_share_their_labels(name):
    z1, z2, labels, tau = problems(3, 9, 4, torch.float64)
    ways_to_say = labels[0], labels[0].expand(3, 9), labels[0].tolist()
    shared = [call(name, (z1, z2), y, tau) for y in ways_to_say]
    assert all(torch.equal(x, shared[0]) for x in shared) and shared[0].shape == (3,)


def test_runs_may_share_their_negatives_or_have_a_temperature_each_on_the_same_points():
    z1, z2, _, tau = problems(3, 9, 4, torch.float64)
    for normalize in (False, True):
        shared = losses.infonce(z1, z2, z1[0], tau, normalize=normalize)
        each = losses.infonce(z1, z2, z1[0].expand(3, 9, 4), tau, normalize=normalize)
        torch.testing.assert_close(shared, each, rtol=1e-13, atol=0)
    for name in ("nt_xent", "supcon", "simplified", "infonce"):
        swept = call(name, (z1[0], z2[0]), balanced(9), tau)
        torch.testing.assert_close(
            swept, torch.stack([call(name, (z1[0], z2[0]), balanced(9), float(t)) for t in tau])
        )


@pytest.mark.parametrize("name, how", [way for way in WAYS if way[0] not in ("vicreg", "byol")])
def test_a_temperature_can_be_learnt(name, how):
    z1, z2, labels, _ = (x[0] for x in problems(1, 5, 3, torch.float64))
    loss, way = getattr(losses, name), ways(name)[how]

    def of_tau(tau):
        args, kwargs = way(z1, z2, labels, tau)
        return loss(*args, **kwargs)

    for shape in ((), (1, 1)):
        tau = torch.full(shape, 0.4, dtype=torch.float64)
        assert torch.autograd.gradcheck(of_tau, tau.requires_grad_())
        given = "tau" in inspect.signature(loss).parameters
        torch.testing.assert_close(of_tau(tau), of_tau(0.4) if given else of_tau(tau))


# Without a GPU torch cannot differentiate fake "cuda" tensors, whether it is built with CUDA or not; "meta" is a device
# of its own as well.
DEVICE = "cuda" if torch.cuda.is_available() else "meta"


@pytest.mark.parametrize("runs", [(), (3,)])
@pytest.mark.parametrize("name, how", WAYS)
def test_nothing_is_read_from_the_device_unless_asked(name, how, runs, monkeypatch):
    """Forward, backward and twice: a fake tensor has no values to read, and does not mix with what is on the CPU."""
    loss, way = getattr(losses, name), ways(name)[how]
    with FakeTensorMode():
        z1, z2, tau = (
            torch.randn(*runs, *shape, device=DEVICE, requires_grad=True)
            for shape in ((7, 3), (7, 3), (1, 1))
        )
        args, kwargs = way(z1, z2, torch.zeros(*runs, 7, dtype=torch.long, device=DEVICE), tau)
        value = loss(*args, **kwargs)
        first = torch.autograd.grad(value.sum(), (z1, z2), create_graph=True)
        (second,) = torch.autograd.grad(sum(g.square().sum() for g in first), z1)
        assert value.shape == runs
        assert second.shape == z1.shape
        assert value.device.type == second.device.type == DEVICE
        monkeypatch.setenv("CLBOOK_CHECK", "1")
        with pytest.raises(DataDependentOutputException):
            loss(*args, **kwargs)


def first_and_second(loss, way, z1, z2, labels, tau):
    """The losses, their gradient with respect to z1 and z2, and a second derivative."""
    z1, z2 = z1.clone().requires_grad_(), z2.clone().requires_grad_()
    args, kwargs = way(z1, z2, labels, tau)
    value = loss(*args, **kwargs)
    first = torch.autograd.grad(value.sum(), (z1, z2), create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in first), (z1, z2))
    return value, *first, *second


@pytest.mark.parametrize("shared_tau", [True, False])
@pytest.mark.parametrize("name, how", WAYS)
def test_vmap_over_runs_gives_what_the_leading_axis_gives(name, how, shared_tau):
    """Values, and gradients through `torch.func.grad`: what vmap runs are the plain forms."""
    z1, z2, labels, tau = problems(3, 7, 5, torch.float64)
    tau = 0.3 if shared_tau else tau
    loss, way = getattr(losses, name), ways(name)[how]

    def of_one(z1, z2, labels, tau):
        args, kwargs = way(z1, z2, labels, tau)
        return loss(*args, **kwargs)

    axes = (0, 0, 0, None if shared_tau else 0)
    want = first_and_second(loss, way, z1, z2, labels, tau)
    torch.testing.assert_close(torch.vmap(of_one, axes)(z1, z2, labels, tau), want[0])
    gradient = torch.func.grad(of_one, (0, 1))
    slopes = torch.vmap(gradient, axes)(z1, z2, labels, tau)
    torch.testing.assert_close(slopes, want[1:3])

    def steepness(*problem):
        return sum(slope.square().sum() for slope in gradient(*problem))

    curved = torch.vmap(torch.func.grad(steepness, (0, 1)), axes)(z1, z2, labels, tau)
    torch.testing.assert_close(curved, want[3:])


@pytest.mark.long  # seconds for each of them
@pytest.mark.parametrize("name, how", WAYS)
def test_compiled_whole_a_loss_is_the_same(name, how):
    """fullgraph: nothing in a loss sends torch.compile back to Python. The gradient is compiled too."""
    z1, z2, labels, tau = problems(2, 7, 5, torch.float64)
    loss, way = getattr(losses, name), ways(name)[how]

    def called(z1, z2, labels, tau):
        args, kwargs = way(z1, z2, labels, tau)
        return loss(*args, **kwargs)

    torch.compiler.reset()
    compiled = torch.compile(called, fullgraph=True, backend="aot_eager")
    for temperature in (0.3, tau):
        problem = z1, z2, labels, temperature
        values = []
        for function in (compiled, called):
            leaves = [z.clone().requires_grad_() for z in problem[:2]]
            value = function(*leaves, *problem[2:])
            values.append((value, *torch.autograd.grad(value.sum(), leaves)))
        torch.testing.assert_close(*values)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name, how", WAYS)
def test_under_autocast_a_loss_is_that_of_float32(name, how, dtype):
    """Of 16-bit embeddings the loss is float32's of the same numbers; of float32 nothing is rounded."""
    z1, z2, labels, _ = (x[0] for x in problems(1, 9, 16))
    loss, way = getattr(losses, name), ways(name)[how]
    tau = 0.05
    for halved in (False, True):
        inputs = [z.to(dtype) if halved else z for z in (z1, z2)]
        args, kwargs = way(*inputs, labels, tau)
        exact = [x.float() if torch.is_tensor(x) and x.ndim > 1 else x for x in args]
        want = loss(*exact, **kwargs)
        leaves = [z.clone().requires_grad_() for z in inputs]
        with torch.autocast("cpu", dtype=dtype):
            args, kwargs = way(*leaves, labels, tau)
            got = loss(*args, **kwargs)
        assert got.dtype == torch.float32
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
        slopes = torch.autograd.grad(got, leaves)
        assert all(slope.dtype == z.dtype for slope, z in zip(slopes, leaves))
        assert all(slope.isfinite().all() for slope in slopes)


def test_embeddings_of_16_and_of_32_bits_go_together():
    z1, z2, _, _ = (x[0] for x in problems(1, 9, 16))
    mixed = losses.nt_xent(z1.bfloat16(), z2, 0.1)
    torch.testing.assert_close(mixed, losses.nt_xent(z1.bfloat16().float(), z2, 0.1))


@pytest.mark.parametrize("name, how", WAYS)
def test_a_nan_in_is_a_nan_out(name, how):
    z1, z2, labels, _ = problems(2, 7, 3)
    z1[1, 4, 2] = math.nan
    args, kwargs = ways(name)[how](z1, z2, labels, 0.3)
    value = getattr(losses, name)(*args, **kwargs)
    assert value[0].isfinite()
    assert value[1].isnan()


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


COSINE = ["nt_xent", "cl", "dcl", "nscl", "supcon", "nt_xent_mean", "byol"]


def test_labels_that_all_differ_turn_the_supervised_losses_into_their_unsupervised_ones():
    z1, z2 = normal(9, 4), normal(9, 4, seed=1)
    torch.testing.assert_close(losses.nscl(z1, z2, range(9), 0.1), losses.dcl(z1, z2, 0.1))
    torch.testing.assert_close(losses.supcon(z1, z2, range(9), 0.1), losses.nt_xent(z1, z2, 0.1))


@pytest.mark.parametrize("n", [2, 50])
def test_values_with_everything_at_one_point(n):
    z = torch.ones(n, 3, dtype=torch.float64)
    expected = {
        "nt_xent": math.log(2 * n - 1), "cl": math.log(2 * n - 1), "dcl": math.log(2 * n - 2),
        "supcon": math.log(2 * n - 1), "nt_xent_mean": math.log(1 + 2 * (n - 1) / n),
        "nscl": ((n - 1) * math.log(2) + math.log(2 * (n - 1))) / n, "generalized": math.log(2),
        "simplified": 0.0, "infonce": math.log(n), "byol": 0.0, "vicreg": 2 * 25 * (1 - 0.01),
    }  # fmt: skip
    for name, value in expected.items():
        assert abs(call(name, [z, z], unbalanced(n), 0.1).item() - value) < 1e-12, name


@pytest.mark.parametrize("tau", [0.5, 0.2, 0.1, 0.05])
def test_evenly_spaced_points_on_the_circle_reach_the_plateau_of_eq_3(tau):
    angle = torch.arange(64, dtype=torch.float64) * (2 * math.pi / 64)
    z = torch.stack([angle.cos(), angle.sin()], 1)
    plateau = math.log(1 + ive(0, 1 / tau))  # ive(0, x) = exp(-x) I0(x)
    assert abs(losses.generalized(z, z, lambda t: -t / tau).item() - plateau) < 1e-10
    # Eq. 1's indicator takes the two copies of the anchor itself, 2/n, out of twice the same mean.
    plateau = math.log(1 + 2 * ive(0, 1 / tau) - 2 / 64)
    assert abs(losses.nt_xent_mean(z, z, tau).item() - plateau) < 1e-10


def test_softplus_keeps_both_tails():
    t = torch.tensor([-700.0, -40.0, 0.0, 25.0, 700.0], dtype=torch.float64, requires_grad=True)
    value = losses.softplus(t)
    expected = [math.exp(-700), math.exp(-40), math.log(2), 25 + math.log1p(math.exp(-25)), 700.0]
    assert value.tolist() == pytest.approx(expected, rel=1e-14, abs=0)
    (slope,) = torch.autograd.grad(value.sum(), t)
    torch.testing.assert_close(slope, torch.sigmoid(t), rtol=1e-14, atol=0)


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


@pytest.mark.parametrize(
    "name", ["nt_xent", "cl", "supcon", "nt_xent_mean", "infonce", "symbol_context"]
)
def test_a_small_loss_is_not_lost_to_rounding(name):
    z = [6 * torch.eye(8, 9, dtype=torch.float64) + 0.01 * normal(8, 9, seed=s) for s in range(2)]
    tau = 1.0 if name == "infonce" else 0.02
    value = float32_against_float64(name, z, range(8), tau, rtol=1e-3)
    assert 0 < value < 1e-12


@pytest.mark.parametrize("name", ["simplified", "infonce"])
def test_nearby_points_at_an_offset_keep_their_differences_in_float32(name):
    z = 3 + 0.02 * normal(200, 1).sigmoid()
    near = z + 1e-3 * normal(200, 1, seed=1)
    float32_against_float64(name, [z, near], None, 1e-3, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("name", [*COSINE, "infonce"])
def test_the_cosine_losses_do_not_see_the_scale(name, scale):
    def loss(z):
        if name == "infonce":
            return losses.infonce(*z, tau=0.1, normalize=True)
        return call(name, z, balanced(9), 0.1)

    small = [normal(9, 5, seed=s, dtype=torch.float32).requires_grad_() for s in range(2)]
    scaled = [(z.detach() * scale).requires_grad_() for z in small]
    torch.testing.assert_close(loss(scaled), loss(small), rtol=1e-5, atol=0)
    got, want = (torch.stack(torch.autograd.grad(loss(z), z)) for z in (scaled, small))
    torch.testing.assert_close(got * scale, want, rtol=1e-3, atol=1e-5)


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize(
    "name", ["generalized", "simplified", "infonce", "symbol_context", "vicreg"]
)
def test_squares_that_overflow_are_refused_and_tiny_ones_vanish(name):
    z = [normal(9, 5, dtype=torch.float32), normal(9, 5, seed=1, dtype=torch.float32)]
    with pytest.raises(ValueError, match=r"^(z|z1|anchor|symbols), .*finite in torch.float32"):
        call(name, [1e30 * x for x in z], balanced(9), 0.1)
    tiny, zero = (call(name, [scale * x for x in z], balanced(9), 0.1) for scale in (1e-30, 0))
    torch.testing.assert_close(tiny, zero)


def test_the_hessian_where_anchor_and_positive_coincide_is_the_limit_of_nearby_ones():
    z = normal(1, 2)

    def hessian(positive):
        loss = functools.partial(losses.infonce, positive=positive, negatives=z + 1, tau=0.5, p=2)
        return torch.autograd.functional.hessian(loss, z)

    torch.testing.assert_close(hessian(z), hessian(z + 1e-7), rtol=1e-5, atol=1e-5)


FIRST = {"simplified": "z", "infonce": "anchor", "symbol_context": "symbols", "byol": "prediction"}
OTHER = {"simplified": "views", "infonce": "positive", "symbol_context": "contexts"}
OTHER["byol"] = "target"


TEMPERED = {"nt_xent", "cl", "dcl", "nscl", "supcon", "nt_xent_mean", "simplified", "infonce"}
LABELLED = {"nscl": "labels", "supcon": "labels", "symbol_context": "ids"}


def refused(name, says, z, labels=(0, 1, 2, 3, 0), tau=0.1):
    """The loss names what it refuses."""
    with pytest.raises(ValueError, match=f"^{says}"):
        call(name, z, labels, tau)


@pytest.mark.parametrize("name", EVERY)
def test_shapes_types_and_temperatures_that_make_no_sense_are_refused(name):
    first, other, ones = FIRST.get(name, "z1"), OTHER.get(name, "z2"), torch.ones(5, 3)
    for wrong in (torch.ones(5, 2), torch.ones(6, 3), torch.ones(5)):
        refused(name, rf"{other} = a .*tensor of shape", [ones, wrong])
    refused(name, f"{first} = a torch.int64 tensor", [ones.long()] * 2)
    refused(name, f"{first} = a float32 ndarray .* must be a torch tensor", [ones.numpy()] * 2)
    if name != "byol":  # a single point has no negatives
        refused(name, f"{first} = .*n >= 2", [ones[:1]] * 2, [0])
    if name in TEMPERED:
        says = "tau = .* is not allowed: tau must be a finite number > 0"
        for tau in (0, -1.0, math.nan, math.inf, 1e-40, True, torch.tensor(True)):
            refused(name, says, [ones, ones], tau=tau)


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize("name", EVERY)
def test_values_that_make_no_sense_are_refused_if_looked_at(name):
    first, other, ones = FIRST.get(name, "z1"), OTHER.get(name, "z2"), torch.ones(5, 3)
    for which, argument in enumerate((first, other)):
        for bad in (math.nan, math.inf, -math.inf):
            z = [torch.ones(5, 3), torch.ones(5, 3)]
            z[which][2, 1] = bad
            refused(name, f"{argument} = a tensor with 1 of 15 values not finite", z)
    if name in COSINE:
        zero = ones.index_fill(0, torch.tensor(3), 0)
        refused(name, f"{other} = a tensor whose row 3 is zero", [ones, zero])
    if argument := LABELLED.get(name):
        for labels in ([0, 1, 2], [[0, 1, 0, 1, 0]]):
            says = f"{argument} = of shape .* one for each of the 5 points"
            refused(name, says, [ones, ones], labels)
        refused(name, f"{argument} = 7 for all points .*negatives", [ones, ones], [7] * 5)
        says = f"{argument} = a tensor with 1 of 5 values not finite"
        refused(name, says, [ones, ones], [0, 1, 0, 1, math.nan])
    for tau in (0.0, -1.0, math.nan, math.inf) if name in TEMPERED else ():
        says = "tau = .* must be a finite number > 0"
        refused(name, says, [ones, ones], tau=torch.full((1, 1), tau))


@pytest.mark.usefixtures("looked_at")
def test_negatives_that_are_not_finite_are_refused_and_not_silently_weightless():
    negatives = torch.tensor([[0.0, 1.0, 2.0], [0.0, 1.0, math.inf]])
    for normalize in (False, True):
        with pytest.raises(ValueError, match="^negatives = .*not finite"):
            losses.infonce(torch.ones(2, 3), torch.ones(2, 3), negatives, normalize=normalize)


@pytest.mark.parametrize("name", COSINE)
def test_unasked_a_zero_row_makes_the_loss_nan(name):
    z1, z2, labels, _ = problems(2, 5, 3)
    z2[1, 3] = 0
    args, kwargs = ways(name)[""](z1, z2, labels, 0.1)
    value = getattr(losses, name)(*args, **kwargs)
    assert value[0].isfinite()
    assert value[1].isnan()


@pytest.mark.usefixtures("looked_at")
def test_infonce_and_vicreg_refuse_arguments_of_their_own():
    ones = torch.ones(4, 3)
    wrong = {"p": [0.5, math.inf], "tau": [[1.0, 2.0], [1.0, 2.0, 0.0]]}
    wrong["negatives"] = [torch.ones(0, 3), torch.ones(4, 2)]
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=rf"^{name} = .* is not allowed"):
                losses.infonce(ones, ones, **{name: value})
    for weights in ((1, 1), (1, -1, 1), (1, 1, math.nan)):
        with pytest.raises(ValueError, match="^weights = .*three finite numbers >= 0"):
            losses.vicreg(ones, ones, weights)


@pytest.mark.parametrize("check", ["0", "1"])
@pytest.mark.parametrize("name", EVERY)
def test_a_wrong_argument_gives_a_value_or_an_error_that_names_it(name, check, monkeypatch):
    """Each argument is replaced by each wrong kind. An error may name another one that does not match it."""
    monkeypatch.setenv("CLBOOK_CHECK", check)
    z1, z2, labels, _ = (x[0] for x in problems(1, 6, 3))
    right = {
        "negatives": z1[:2],
        "views": z2[None],
        "labels": labels,
        "ids": labels,
        "tau": 0.3,
        "log_eta": lambda t: -t / 0.3,
        "psi": losses.softplus,
        "weights": (25, 25, 1),
        "p": 2,
        "normalize": False,
    }
    loss = getattr(losses, name)
    parameters = inspect.signature(loss).parameters
    points = iter([z1, z2])
    right = {p: right[p] if p in right else next(points) for p in parameters}

    def tensor(**arguments):
        assert isinstance(value := loss(**arguments), torch.Tensor)
        return value

    tensor(**right)
    names = "|".join(parameters)
    named = rf"({names})( = .* is not allowed: \1 must be .*|(, ({names}))* give a loss of .*)"
    # A module as log_eta or psi raises errors of its own.
    kinds = {kind: wrong for kind, wrong in WRONG.items() if "module" not in kind}
    answers_or_names_it(tensor, right, kinds | {"a truth value": True}, named)


def test_a_point_without_a_class_makes_its_run_nan():
    z1, z2 = torch.randn(2, 4, 3), torch.randn(2, 4, 3)
    ids = torch.tensor([[0.0, 0, 1, 1], [0, 0, 1, math.nan]])
    values = (
        losses.nscl(z1, z2, ids, 0.5),
        losses.supcon(z1, z2, ids, 0.5),
        losses.symbol_context(z1, z2, ids),
    )
    for value in values:
        assert value.isnan().tolist() == [False, True]


def test_a_function_given_to_the_generalized_loss_returns_a_tensor_entry_by_entry():
    z = torch.eye(3)
    with pytest.raises(ValueError, match="psi = 1.0 is not allowed: psi must be a function that"):
        losses.generalized(z, z, lambda t: -t, lambda t: 1.0)
    with pytest.raises(ValueError, match="log_eta = a torch.float32 tensor of shape .* must be"):
        losses.generalized(z, z, lambda t: t.sum())


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
        same_value_and_gradient(
            lambda a, b, y=labels: losses.supcon(a, b, y, 0.2),
            lambda a, b, y=both: library.SupConLoss(0.2)(torch.cat([a, b]), y),
            z,
        )
    own = torch.arange(n).repeat(2)
    same_value_and_gradient(
        lambda a, b: losses.nt_xent(a, b, 0.2),
        lambda a, b: library.NTXentLoss(0.2)(torch.cat([a, b]), own),
        z,
    )
    same_value_and_gradient(
        lambda a, b: losses.vicreg(a, b, (25 / 8, 12.5, 1)),
        lambda a, b: library.VICRegLoss()(a, ref_emb=b),
        z,
    )
