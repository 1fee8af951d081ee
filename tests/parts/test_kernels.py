"""Kernels against their definition, the closed forms against autograd, block scores against explicit gradients."""

import functools
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from wrong import answers_or_names_it

from clbook import _layerwise, kernels, models


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def jacobian(model, x):
    """(n, d, parameters) by one backward pass for each sample and output: LS eq. 8's gradients as they are written."""
    weights = [p for p in model.parameters() if p.requires_grad]

    def row(value):
        gradients = torch.autograd.grad(value, weights, retain_graph=True, materialize_grads=True)
        return torch.cat([g.flatten() for g in gradients])

    return torch.stack([torch.stack([row(value) for value in model(xi[None])[0]]) for xi in x])


def by_definition(model, x):
    J = jacobian(model, x)
    return torch.einsum("ikp,jlp->ijkl", J, J)


class Fallback(nn.Module):
    """What the layerwise path cannot take: a norm, a layer used twice, a weight used in passing, a scalar; in-place."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.twice = nn.Linear(5, 6), nn.LayerNorm(6), nn.Linear(6, 6)
        self.tied, self.last = nn.Linear(6, 4), nn.Linear(6, 2, bias=False)
        self.scale = nn.Parameter(torch.tensor(1.3))
        self.unused = nn.Linear(3, 3)

    def forward(self, x):
        h = self.norm(torch.relu_(self.first(x)))
        h = self.twice(torch.tanh(self.twice(h))) * self.scale
        return self.last(F.linear(torch.tanh(self.tied(h)), self.tied.weight.T))


class Detached(nn.Module):
    """A branch that passes no gradient, and a layer called by keyword."""

    def __init__(self):
        super().__init__()
        self.stopped, self.detached, self.last = nn.Linear(5, 4), nn.Linear(5, 4), nn.Linear(4, 2)

    def forward(self, x):
        with torch.no_grad():
            gate = self.stopped(x)
        return self.last(input=torch.tanh(gate * self.stopped(x)) + self.detached(x).detach())


class Sequence(nn.Module):
    """Attention over 5 positions of 1 number: Linear layers that see several positions a sample."""

    def __init__(self):
        super().__init__()
        self.embed, self.query, self.value, self.last = (
            nn.Linear(a, b) for a, b in ((1, 4), (4, 4), (4, 3), (3, 2))
        )

    def forward(self, x):
        h = torch.tanh(self.embed(x[:, :, None]))
        return self.last((self.query(h) @ h.mT).softmax(2).matmul(self.value(h)).mean(1))


class Last(nn.Module):
    """The last output of a recurrent layer."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.last = kind(1, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.layer(x[:, :, None])[0][:, -1])


class Branch(nn.Module):
    """A Python branch on the values."""

    def __init__(self):
        super().__init__()
        self.norm, self.last = nn.LayerNorm(5), nn.Linear(5, 2)

    def forward(self, x):
        h = self.norm(x)
        return self.last(h if h.abs().max().item() > 0 else -h)


class Centred(nn.Module):
    """Subtracts the mean of the batch."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        return self.last(x - x.mean(0))


class Noisy(nn.Linear):
    """Dropout as a function, which no module tells of."""

    def forward(self, x):
        return F.dropout(super().forward(x), 0.5)


def networks():
    for hidden, activation in (((20,), "tanh"), ((12, 20, 16), "gelu")):
        for d in (1, 2, 3):
            build = functools.partial(models.MLP, (5, *hidden, d), activation)
            yield pytest.param(build, (5,), id=f"{len(hidden)} hidden, d={d}, {activation}")
    yield pytest.param(lambda: models.MLP((5, 2), "identity"), (5,), id="linear")
    yield pytest.param(lambda: models.CNN((2, 9, 7), 3), (2, 9, 7), id="CNN")
    yield pytest.param(
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, groups=2),
            nn.ReLU(inplace=True),
            nn.Conv2d(4, 3, 3, padding="same", bias=False),
            nn.Flatten(),
            nn.Linear(36, 2),
        ),
        (2, 5, 6),
        id="grouped and same-padded convolutions",
    )
    yield pytest.param(
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3, 2, 1, dilation=2), nn.Tanh(), nn.Flatten()),
        (2, 7, 8),
        id="a convolution with stride, padding and dilation",
    )
    yield pytest.param(Fallback, (5,), id="fallback")
    yield pytest.param(Detached, (5,), id="detached")
    yield pytest.param(Sequence, (5,), id="attention")
    for kind in (nn.RNN, nn.GRU, nn.LSTM):
        yield pytest.param(functools.partial(Last, kind), (5,), id=kind.__name__)
    yield pytest.param(Branch, (5,), id="branch on a value")
    yield pytest.param(
        lambda: nn.Sequential(nn.Linear(5, 4), nn.GroupNorm(2, 4), nn.PReLU()), (5,), id="PReLU"
    )


@pytest.mark.parametrize("block", [None, 64])
@pytest.mark.parametrize(("build", "shape"), list(networks()))
def test_layerwise_kernel_is_the_definition(build, shape, block, generator, monkeypatch):
    if block:  # several blocks of rows and several chunks of gradients
        monkeypatch.setattr(_layerwise, "BLOCK", block)
        monkeypatch.setattr(_layerwise, "CHUNK", 16 * block)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build().double()
    x = torch.randn(11, *shape, generator=generator, dtype=torch.float64)
    K, expected = kernels.empirical(model, x), by_definition(model, x)
    torch.testing.assert_close(K, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(kernels.autograd(model, x), expected, rtol=0, atol=1e-10)
    trace = kernels.empirical_trace(model, x)
    torch.testing.assert_close(trace, expected.diagonal(dim1=2, dim2=3).sum(-1), rtol=0, atol=1e-10)
    assert K.shape == (11, 11, *expected.shape[2:])
    assert not K.requires_grad


def test_blocks_of_rows_make_the_whole(monkeypatch, generator):
    monkeypatch.setattr(_layerwise, "BLOCK", 100)
    a, delta = torch.randn(11, 3, generator=generator), torch.randn(2, 11, 4, generator=generator)
    K = torch.zeros(2, 2, 11, 11)
    _layerwise.add(K, [(a, delta), (a, delta)])
    whole = torch.einsum("if,jf,kio,ljo->klij", a, a, delta, delta)
    torch.testing.assert_close(K, 2 * whole)


def test_frozen_parameters_do_not_count(generator):
    model = models.MLP((3, 6, 6, 2), generator=generator).double()
    model[0].weight.requires_grad_(False)
    model[2].bias.requires_grad_(False)
    model[4].requires_grad_(False)
    x = torch.randn(7, 3, generator=generator, dtype=torch.float64)
    expected = by_definition(model, x)
    torch.testing.assert_close(kernels.empirical(model, x), expected, rtol=0, atol=1e-12)


def test_a_network_is_left_as_it_was(generator):
    model, x = models.MLP((3, 6, 1), generator=generator), torch.randn(7, 3, generator=generator)
    with torch.no_grad():
        kernels.empirical(model, x)
    assert all(p.grad is None for p in model.parameters())
    assert not any(m._forward_hooks for m in model.modules())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), "BatchNorm1d in training mode"),
        (nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)), "Dropout in training mode"),
        (nn.Sequential(nn.Linear(3, 4), nn.Flatten(0)), r"Tensor \(20,\) for 5 inputs"),
        (
            nn.GRU(3, 2),
            r"model = GRU is not allowed: model must be a module that returns one tensor \(n, d\): "
            r"it returned tuple of Tensor \(5, 2\), Tensor \(1, 2\) for 5 inputs",
        ),
        (
            nn.LSTM(3, 2),
            r"tuple of Tensor \(5, 2\), tuple of Tensor \(1, 2\), Tensor \(1, 2\) for 5 inputs",
        ),
        (Centred(), "mixes samples or is random"),
        (Noisy(3, 200), "mixes samples or is random"),
        (torch.tanh, "must be a torch.nn.Module"),
        (nn.Sequential(nn.Linear(3, 4)).requires_grad_(False), "no trainable parameter"),
    ],
)
def test_networks_without_a_kernel_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        kernels.empirical(model, torch.arange(15.0).view(5, 3))


def test_inputs_without_a_kernel_are_refused():
    with torch.inference_mode():
        made = torch.ones(5, 3)
    says = r"x = {} is not allowed: x must be a Tensor \(n, ...\), n >= 1"
    for x, said in (
        (torch.ones(0, 3), says.format(r"Tensor \(0, 3\)")),
        (torch.ones(5, 3).numpy(), says.format(r"ndarray \(5, 3\)")),
        (made, "inference_mode"),
    ):
        with pytest.raises(ValueError, match=said):
            kernels.empirical(nn.Linear(3, 2), x)
    with torch.inference_mode(), pytest.raises(ValueError, match="inference_mode"):
        kernels.empirical(nn.Linear(3, 2), torch.ones(5, 3))


def test_a_network_that_has_overflowed_has_a_kernel_that_is_not_finite(generator):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.no_grad():
        model[0].weight.fill_(1e30)
        model[2].weight.fill_(1e30)
    assert not kernels.empirical(model, torch.randn(5, 3, generator=generator)).isfinite().all()


def test_proposition_4_1_is_first_order_in_the_step(generator):
    """LS Prop. 4.1: dz = -(1/n) K grad L; what is left over after one step shrinks with the learning rate."""
    x = torch.randn(12, 2, generator=generator, dtype=torch.float64)
    target = torch.randn(12, 2, generator=generator, dtype=torch.float64)
    errors = []
    for lr in (1e-2, 1e-3):
        model = models.MLP((2, 30, 2), generator=torch.Generator().manual_seed(1)).double()
        z = model(x)
        K, slope = kernels.empirical(model, x), (z - target).detach()
        (0.5 * (z - target).square().sum(1).mean()).backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= lr * p.grad
            actual = model(x) - z
        predicted = -lr / len(x) * torch.einsum("ijkl,jl->ik", K, slope)
        errors.append(float((actual - predicted).norm() / actual.norm()))
    assert errors[1] < errors[0] / 8


class Inner(nn.Module):
    """f = A' sigma(B x), A fixed with entries a (LS eq. 30-31, VA eq. 18-19)."""

    def __init__(self, B, d, a):
        super().__init__()
        self.B, self.d, self.a = nn.Parameter(B), d, a

    def forward(self, x):
        return self.a * torch.tanh(x @ self.B.T).unflatten(1, (self.d, -1)).sum(2)


@pytest.mark.parametrize("d", [1, 3])
def test_the_explicit_kernel_needs_the_prefactor_of_its_own_paper(d, generator):
    M, D = 8, 5
    B = torch.randn(M * d, D, generator=generator, dtype=torch.float64)
    x = torch.randn(6, D, generator=generator, dtype=torch.float64)
    of_ls, of_va = 1 / (M * D), 1 / M  # LS Prop. B.5 and VA Prop. 4.3
    for ours, theirs in ((of_ls, of_va), (of_va, of_ls)):
        truth = by_definition(Inner(B, d, math.sqrt(ours)), x)
        found = kernels.one_hidden(B, x, "tanh", d, ours)
        torch.testing.assert_close(found, truth, rtol=0, atol=1e-12)
        assert (kernels.one_hidden(B, x, "tanh", d, theirs) - truth).norm() > 0.5 * truth.norm()


def errors_of_width(M, rows, x, seeds):
    """RMS error of the ReLU kernel of M inner units, rows(generator, M), against its limit."""
    limit, total = kernels.infinite_width(x), 0
    for s in range(seeds):
        B = rows(torch.Generator().manual_seed(s), M)
        K = kernels.one_hidden(B, x, "relu", 1, 1 / M)[..., 0, 0]
        total += (K - limit).square().mean()
    return math.sqrt(total / seeds)


def test_the_infinite_width_error_falls_like_the_root_of_the_width(generator):
    x = torch.randn(8, 3, generator=generator, dtype=torch.float64)

    def rows(g, M, shift=0.0):
        return torch.randn(M, 3, generator=g, dtype=torch.float64) + shift

    widths = (64, 1024, 16384)
    errors = [errors_of_width(M, rows, x, 20) for M in widths]
    slope = math.log(errors[-1] / errors[0]) / math.log(widths[-1] / widths[0])
    assert -0.58 < slope < -0.42
    # VA Prop. 4.4 asks for Gaussian rows: they must be centred too.
    shifted = [errors_of_width(M, lambda g, M: rows(g, M, 1.0), x, 5) for M in widths]
    assert shifted[-1] > 0.5 * shifted[0]


def test_infinite_width_of_coincident_opposite_and_zero_points():
    x = torch.tensor([[0.3, 0.4], [0.3, 0.4], [-3.0, -4.0], [0.0, 0.0]], dtype=torch.float64)
    K = kernels.infinite_width(x, scale=0.5)
    expected = torch.zeros(4, 4, dtype=torch.float64)
    expected[:2, :2] = 0.5 * 0.25 / 2
    expected[2, 2] = 0.5 * 25 / 2
    torch.testing.assert_close(K, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("weight", [math.nan, math.inf])
def test_the_kernel_of_a_diverged_network_is_not_finite(weight):
    B = torch.tensor([[1.0, 0.0], [weight, 0.0]])  # NaN > 0 is False: ReLU's slope would be 0
    K = kernels.one_hidden(B, torch.ones(3, 2), "relu", 1, 1.0)
    assert not K.isfinite().any()


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 1], [0, 1, 2, 0, 2]])
def test_scores_from_the_kernel_are_scores_of_the_gradients(labels, generator):
    """LS condition (c) and the centred alignment, from gradients and centring matrices written out."""
    model = models.MLP((2, 9, 2), generator=generator).double()
    x, labels = torch.randn(5, 2, generator=generator, dtype=torch.float64), torch.tensor(labels)
    J, K = jacobian(model, x), kernels.empirical(model, x)
    g = J.flatten(1) / math.sqrt(2)  # the trace over d divided by d
    means = {c: g[labels == c].mean(0) for c in set(labels.tolist())}
    pairs = [(means[p] - means[q]).square().sum() for p in means for q in means if p < q]
    theta = float(sum(pairs) / len(pairs))
    within = [(gi - means[int(c)]).square().sum() for gi, c in zip(g, labels, strict=True)]
    sigma2 = float(sum(within) / len(within))
    assert kernels.gradient_structure(K, labels) == pytest.approx((theta, sigma2), rel=1e-10)
    assert kernels.fisher(g @ g.T, labels.numpy()) == pytest.approx(theta / sigma2, rel=1e-10)

    H = torch.eye(5, dtype=torch.float64) - 1 / 5
    A, T = H @ g @ g.T @ H, H @ (labels[:, None] == labels).double() @ H
    expected = float((A * T).sum() / A.norm() / T.norm())
    assert kernels.alignment(K, labels) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 0.0, 1.0), (3.0, 1.0, 1.0), (2.0, -1.0, 5.0)])
def test_ideal_blocks_score_one(a, b, c):
    """Step 2 of LS Theorem 4.3's proof: blocks a, b, c with sigma = 0 and Theta = a + c - 2b."""
    labels = torch.tensor([0] * 4 + [1] * 6)
    K = torch.tensor([[a, b], [b, c]])[labels][:, labels]
    assert kernels.alignment(K, labels) == pytest.approx(1, abs=1e-12)
    assert kernels.gradient_structure(K, labels) == pytest.approx((a + c - 2 * b, 0), abs=1e-12)
    assert kernels.fisher(K, labels) > 1e12


def test_a_kernel_blind_to_the_classes_scores_zero():
    labels = [0, 1, 0, 1]
    K = torch.tensor([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    assert kernels.alignment(K, labels) == pytest.approx(0, abs=1e-12)
    assert kernels.fisher(K, labels) == 0


@pytest.mark.parametrize("score", [kernels.alignment, kernels.fisher])
@pytest.mark.parametrize(
    ("K", "labels", "message"),
    [
        (torch.eye(4), [0, 1, 0], "labels must be one label for each point"),
        (torch.eye(4), [1, 1, 1, 1], "labels must be of two or more classes, not 1"),
        (torch.eye(4) * math.nan, [0, 1, 0, 1], "K must be finite numbers"),
        (torch.ones(4, 3), [0, 1, 0, 1], r"K = Tensor \(4, 3\) is not allowed: K must be \(n, n\)"),
    ],
)
def test_scores_refuse_bad_input(score, K, labels, message):
    with pytest.raises(ValueError, match=message):
        score(K, labels)


ONES = torch.ones(4, 4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: kernels.one_hidden(ONES, ONES, "sine", 1, 1.0), "activation = 'sine'"),
        (lambda: kernels.one_hidden(ONES, ONES, "tanh", 3, 1.0), "d = 3"),
        (lambda: kernels.alignment(0.1 * ONES, [0, 1, 0, 1]), "K must be a kernel that is not co"),
        (lambda: models.MLP((3,)), "widths"),
        (lambda: models.MLP((3, 0, 1)), "widths"),
        (lambda: models.MLP((3, 2.5)), "widths"),
        (lambda: models.MLP((3, 2), "sine"), "activation = 'sine'"),
        (lambda: models.CNN((8, 8)), "image"),
        (lambda: models.CNN((1, 8, 8), 0), "d = "),
        (lambda: models.CNN((1, 8, 8), 1, (4, 4, 4)), "channels"),
        (lambda: models.MLP((3, 2), generator=0), "generator = 0"),
    ],
)
def test_networks_and_kernels_refuse_what_they_cannot_mean(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_kernels_on_an_accelerator_equal_those_on_the_cpu(generator):
    model = models.CNN((1, 8, 8), 2, generator=generator).double()
    x = torch.randn(6, 1, 8, 8, generator=generator, dtype=torch.float64)
    expected, labels = kernels.empirical(model, x), [0, 1, 0, 1, 0, 1]
    K = kernels.empirical(model.cuda(), x.cuda())
    assert K.is_cuda
    torch.testing.assert_close(K.cpu(), expected, rtol=0, atol=1e-10)
    assert kernels.fisher(K, labels) == pytest.approx(kernels.fisher(expected, labels), rel=1e-8)


def many(count, widths, activation="tanh"):
    """Networks of one architecture, and their weights as `models.stacked` makes them."""
    generators = [torch.Generator().manual_seed(seed) for seed in range(count)]
    networks = [models.MLP(widths, activation, generator) for generator in generators]
    return networks, models.stacked(networks)


@pytest.mark.parametrize("widths", [(2, 100, 1), (3, 20, 30, 2), (4, 3)])
@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
def test_kernels_of_many_networks_at_once_are_those_of_each(widths, activation, generator):
    networks, weights = many(5, widths, activation)
    x = torch.randn(5, 20, widths[0], generator=generator)
    expected = torch.stack([kernels.empirical(net, xi) for net, xi in zip(networks, x)])
    K = kernels.mlp(weights, x, activation)
    assert K.shape == (5, 20, 20, widths[-1], widths[-1]) and not K.requires_grad
    assert (K - expected).abs().max() < 1e-6 * expected.abs().max()
    exact = by_definition(networks[2].double(), x[2].double())
    own = [w[2].double() for w in weights]  # one network, without an axis of runs
    alone = kernels.mlp(own, x[2].double(), activation)
    torch.testing.assert_close(alone, exact, rtol=0, atol=1e-12)
    shared = kernels.mlp(weights, x[0], activation)  # the same inputs for all
    torch.testing.assert_close(shared[3], kernels.empirical(networks[3], x[0]), rtol=0, atol=1e-5)


def scores(K, labels):
    own = kernels.alignment(K, labels), kernels.fisher(K, labels)
    return *kernels.gradient_structure(K, labels), *own


@pytest.mark.parametrize("d", [1, 2])
def test_scores_of_many_kernels_at_once_are_those_of_each(d, generator):
    _, weights = many(6, (2, 30, d))
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 2, 2])
    K = kernels.mlp(weights, torch.randn(6, 8, 2, generator=generator), "tanh")
    for several in (K, K.diagonal(dim1=3, dim2=4).mean(-1)):
        found = scores(several, labels)
        for i in range(6):
            expected = scores(K[i], labels)
            assert all(isinstance(score, float) for score in expected)
            assert [score[i].item() for score in found] == pytest.approx(expected)


def test_of_many_kernels_those_without_a_score_are_nan():
    labels = [0, 1, 0, 1]
    K = torch.eye(4).repeat(4, 1, 1)
    K[1, 0, 2] = math.nan
    K[2] = 0.1  # constant
    K[3, 0, 0] = math.inf
    assert kernels.alignment(K, labels).isnan().tolist() == [False, True, True, True]
    theta, sigma2 = kernels.gradient_structure(K, labels)
    assert theta.isnan().tolist()[:3] == [False, True, False] and theta[2] == 0
    assert kernels.fisher(K, labels)[2] == 0


def test_the_trace_never_holds_the_whole_kernel(generator):
    """d = 40 outputs: the whole kernel of 50 samples has 4,000,000 numbers; no tensor that is made has 400,000."""
    made = []

    class Largest(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                made.append(out.numel())
            return out

    model = models.MLP((3, 20, 40), generator=generator)
    x = torch.randn(50, 3, generator=generator)
    with Largest():
        trace = kernels.empirical_trace(model, x)
    assert max(made) < 400_000
    whole = kernels.empirical(model, x).diagonal(dim1=2, dim2=3).sum(-1)
    torch.testing.assert_close(trace, whole)


class Spatial(nn.Module):
    """A vector for each of two positions: (n, 2, 2)."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 4)

    def forward(self, x):
        return self.last(x).unflatten(1, (2, 2))


@pytest.mark.parametrize("kernel", [kernels.empirical, kernels.empirical_trace, kernels.autograd])
def test_what_a_kernel_cannot_be_of_is_named(kernel):
    with pytest.raises(ValueError, match="^model = Spatial is not allowed: model must be"):
        kernel(Spatial(), torch.ones(5, 3))
    with pytest.raises(ValueError, match=r"^x = Tensor \(5, 3\) is not allowed: x must be .*dtype"):
        kernel(nn.Linear(3, 2), torch.ones(5, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="^model = "):
        kernel(nn.Linear(3, 2).requires_grad_(False), torch.ones(5, 3))


K = torch.eye(6) + 0.1 * torch.arange(36).view(6, 6)
OF_A_NETWORK = {"model": nn.Linear(3, 2), "x": torch.ones(6, 3)}
SCORE = {"K": K, "labels": [0, 1, 0, 1, 0, 1]}
HIDDEN = {"B": torch.ones(4, 3), "x": torch.ones(6, 3), "activation": "tanh", "d": 2, "scale": 1.0}
ARGUMENTS = {
    kernels.empirical: OF_A_NETWORK,
    kernels.empirical_trace: OF_A_NETWORK,
    kernels.autograd: OF_A_NETWORK,
    kernels.mlp: {"weights": many(2, (3, 4, 2))[1], "x": torch.ones(6, 3), "activation": "tanh"},
    kernels.one_hidden: HIDDEN,
    kernels.infinite_width: {"x": torch.ones(6, 3), "scale": 1.0},
    kernels.alignment: SCORE,
    kernels.gradient_structure: SCORE,
    kernels.fisher: SCORE,
    kernels.top_eigenvector: SCORE,
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_named(function):
    answers_or_names_it(function, ARGUMENTS[function])


@pytest.mark.parametrize(
    ("shapes", "dtype"),
    [
        ([(4, 3)], None),  # no b
        ([(4, 5), (4,), (2, 4), (2,)], None),  # another x
        ([(4, 3), (4,), (2, 5), (2,)], None),  # layers that do not fit
        ([(4, 3), (4,)], torch.float64),
    ],
)
def test_weights_that_make_no_network_are_named(shapes, dtype):
    weights = [torch.ones(shape, dtype=dtype) for shape in shapes]
    with pytest.raises(ValueError, match="^weights = .* is not allowed: weights must be W and b"):
        kernels.mlp(weights, torch.ones(6, 3), "tanh")
