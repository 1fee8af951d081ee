"""Checks of SA's lemmas and sizes, and descent on weights, against plain loops and autograd."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch.autograd.functional import hessian, jacobian

from clbook import theory
from clbook.training.streams import stream
from clbook_book.audit.sa import lemmas, surrogate
from clbook_book.audit.sa.surrogate import Config, batches, logits, table, views
from clbook_book.audit.sa.weights import (
    Free,
    OnNetwork,
    run_circle,
    run_free,
    run_network,
    run_wide_network,
)

SMALL = Config(classes=3, n=9, batch=6, d=3, tau=0.7, eta=0.1, steps=3, record_every=1)


def batch_losses(tables, counts, labels, tau):
    """(2,) a batch's losses (SA Sec. 3), CL's at Sigma^CL and NSCL's at Sigma^NSCL, the tables (2, n, 2n)."""
    pull = (tables / tau)[..., len(counts) :].diagonal(dim1=-2, dim2=-1)
    push = logits(tables, counts, labels, tau).logsumexp(-1)
    return ((push - pull) * counts).sum(-1) / counts.sum()


def network(config):
    """The network as modules' formulas: table(w) and the losses of the first batch."""
    state = OnNetwork([config]).state
    x, w = state.x[0], state.weights[1][0, 0]

    def sims(w):
        W = w[: 8 * config.d].view(config.d, 8)
        b = w[8 * config.d : 8 * config.d + 8]
        V = w[-24:].view(8, 3)
        z = torch.nn.functional.normalize(torch.tanh(x @ W + b) @ V, dim=1)
        return z[: config.n] @ z.T

    counts, labels = batches(config)[0].double(), views(config)[2]
    return w, sims, lambda w: batch_losses(sims(w).expand(2, -1, -1), counts, labels, config.tau)


def test_a_step_on_the_networks_weights_is_a_step_down_its_losses():
    w, sims, losses = network(SMALL)
    after = [
        w - 0.1 * torch.autograd.grad(losses(v := w.clone().requires_grad_())[k], v)[0]
        for k in (0, 1)
    ]
    result = run_network(SMALL, device="cpu", record=("slope", "apart"))
    assert result.drift[1] == pytest.approx((after[0] - after[1]).norm().item(), rel=1e-9)
    assert result.moved[1] == pytest.approx((sims(after[0]) - sims(w)).norm().item(), rel=1e-9)
    slopes = [torch.autograd.grad(losses(v := w.clone().requires_grad_())[k], v)[0] for k in (0, 1)]
    assert result.slope[0] == pytest.approx(slopes[0].norm().item(), rel=1e-9)
    assert result.apart[0] == pytest.approx((slopes[0] - slopes[1]).norm().item(), rel=1e-9)


def test_jacobian_remainder_and_smoothness_against_autograd():
    w, sims, losses = network(SMALL)
    result, J = run_network(SMALL, device="cpu", record="all"), jacobian(sims, w)
    flat = J.flatten(0, 1)
    expected = torch.linalg.eigvalsh(flat.T @ flat)[-1].item()
    assert result.stretch[0] == pytest.approx(expected, rel=1e-9)
    assert result.G[0] == pytest.approx(J.norm(dim=2).max().item(), rel=1e-9)
    assert result.chain.max() < 1e-12
    step = -0.1 * torch.autograd.grad(losses(v := w.clone().requires_grad_())[0], v)[0]
    expected = (sims(w + step) - sims(w) - J @ step).norm().item()
    assert result.rest[0] == pytest.approx(expected, rel=1e-6)
    bends = [
        torch.linalg.eigvalsh(hessian(lambda v, k=k: losses(v)[k], w)).abs().max().item()
        for k in (0, 1)
    ]
    assert 0.25 * max(bends) < result.beta[0] <= max(bends) * (1 + 1e-3), "a lower estimate"
    found = result.constants()
    total, squares = 0.1 * 3, 0.01 * float((result.slope[:3] ** 2).sum())
    right = math.exp(total / (2 * 0.49 * 6)) * (
        math.sqrt(2 / 6) * found["C"] * total / 0.7 + found["M"] / 2 * squares
    )
    assert result.miss_bound() == pytest.approx(right) and found["C"] >= 1


def test_constants_of_the_circle_are_not_passed():
    result = run_circle(SMALL.replace(eta=1.0), device="cpu", record="all")
    found = result.constants()
    assert result.G.max() <= found["G"] + 1e-12 and result.beta.max() <= found["beta"]
    assert (result.rest <= found["M"] / 2 * result.slope**2).all() and result.stretch.max() <= 6 * 9


def test_the_gradients_of_eq_1_are_derivatives_of_the_batch_losses():
    z1, z2, labels = views(SMALL)
    counts = batches(SMALL)[0].double()
    tables = table(z1, z2) * torch.tensor([1.0, 0.9])[:, None, None]
    slopes = torch.func.grad(lambda t: batch_losses(t, counts, labels, SMALL.tau).sum())(tables)
    expected = surrogate.batch_gradients(tables, counts, labels, SMALL.tau)
    torch.testing.assert_close(slopes, expected, atol=1e-12, rtol=0)


def test_lemma_8_fails_where_positives_have_left_the_range_and_theorem_1_does_not():
    n, tau = 400, 5.0  # a point a class, similarities 0: no classmates, and distinct points
    counts, labels = torch.ones(n, dtype=torch.float64), torch.arange(n)
    tables, S = torch.zeros(2, n, 2 * n, dtype=torch.float64), 0.0
    for eta in (12 * tau**2 * n, tau**2 * n):
        slopes = surrogate.batch_gradients(tables, counts, labels, tau)
        gap, drift = (float((pair[0] - pair[1]).norm()) for pair in (slopes, tables))
        allowed = theory.delta(n, n, 2, 0.01, tau) / (tau * n**0.5) + drift / (2 * tau**2 * n)
        tables, S = tables - eta * slopes, S + eta
        bound = theory.similarity_bound(n, n, 2, S / 2, tau, 0.01)
        assert (tables[0] - tables[1]).norm() < bound
    assert gap > 2.3 * allowed


def test_positives_move_no_further_than_the_step_sizes_allow():
    for eta in (0.1, 10.0):
        config = Config(n=40, batch=20, tau=0.7, eta=eta, steps=50)
        result = surrogate.run(config, device="cpu", record=("final",))
        z1, z2, _ = views(config)
        moved = result.final[:, :, config.n :].diagonal(0, 1, 2) - (z1 * z2).sum(1).numpy()
        assert (abs(moved.mean(1)) <= 50 * eta / (0.7 * 40)).all()
        sums = eta * batches(config).sum(0) / 20  # of the step sizes, for each row
        assert result.drift[-1] <= math.sqrt(2) / 0.7 * sums.norm(), "the bound by rows"


def test_in_many_dimensions_free_embeddings_that_begin_unrelated_move_as_the_surrogate_does():
    far = SMALL.replace(spread=100.0, noise=100.0)
    cosines = []
    for d in (2, 128):
        training = Free([far.replace(d=d)])
        J = jacobian(
            lambda w, t=training: t.table(w, t.state.x[0]), training.state.weights[1][0, 0]
        )
        rows = J.flatten(0, 1)[[1, 2, 12, 40]]  # similarities of two different points
        P = rows @ rows.T
        cosines.append(float(P.diagonal().sum() / (2 * P.norm())))  # 2 I: the cosine is 1
        assert (P.diagonal() <= 2 + 1e-9).all()
    assert cosines[1] > 0.95 > cosines[0]
    result = run_free(far.replace(d=128), device="cpu", record=("cosine",))
    assert result.cosine[-1] > 0.8
    wide = run_wide_network(SMALL, device="cpu", record=("cosine",))
    assert wide.cosine[-1] < 0.5 and wide.moved[-1] > 0


class Linear(Free):
    """One matrix for all inputs."""

    def begun(self, config):
        x, _ = super().begun(config)
        return x, torch.randn(x.shape[1] * 128, generator=stream(config.seed, 3), dtype=x.dtype)

    def embed(self, w, x):
        return torch.nn.functional.normalize(x @ w.unflatten(-1, (x.shape[-1], -1)), dim=-1)


def test_shared_weights_go_the_way_of_the_surrogate_where_inputs_are_unrelated():
    far = Config(n=24, classes=12, batch=8, d=512, spread=100.0, noise=100.0, steps=40, eta=0.1)
    ends = [
        Linear.run(config, device="cpu", record=("cosine",)).cosine[-1]
        for config in (far, far.replace(spread=1.0, noise=0.5))
    ]
    assert ends[0] > 0.75 and ends[1] < 0.5


def test_with_a_view_for_each_place_the_bound_fails_for_large_batches_alone():
    base = Config(classes=4, n=4, tau=5.0, eta=0.5, steps=1, replacement=True)
    small, large = (lemmas.fresh_drift(base.replace(batch=b)) for b in (64, 10_000))
    assert small < 0.5 and large > 1.5


def test_the_logarithm_of_the_bound():
    bound = theory.similarity_bound(20, 64, 10, 0.3, 0.8, 0.01)
    assert lemmas.log_bound(20, 64, 10, 0.3, 0.8) == pytest.approx(math.log(bound))


def test_corollary_3_fails_for_batches_of_one_or_two_alone():
    for B, C in itertools.product((1, 2, 3, 4, 5), (2, 3, 4, 8)):
        batches = np.array([*itertools.product(range(C), repeat=B)])
        negatives = (batches[:, :, None] != batches[:, None]).mean(2).min(1)  # of the worst anchor
        kept = []
        for delta in np.linspace(0.01, 0.99, 50):
            promised = 1 - 1 / C - theory.fluctuation(B, 1, delta)
            kept.append((negatives < promised).mean() <= delta)
        assert all(kept) == (B > 1 and (B, C) not in ((2, 4), (2, 8)))
