"""SA's coupled recursion against a literal double loop, and the theorems, corollaries and lemmas about it."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import grad
from torch.autograd.functional import hessian

from clbook import losses, theory
from clbook.training.loop import training_of
from clbook_book.audit.sa import surrogate
from clbook_book.audit.sa.surrogate import Config, batch_gradients, batches, run, table, views
from clbook_book.audit.sa.weights import run_circle
from clbook_book.course.alignment.forces import pair_weights

SEEDS = range(3)
COUNTER = Config(classes=4, n=4, batch=1024, tau=5.0, eta=0.5, steps=1, replacement=True)
SMALL = Config(classes=3, n=12, batch=9, tau=0.7, eta=2.0, steps=4, record_every=1)


def literal_loss(sims, batch, labels, tau, supervised):
    """SA Sec. 3 letter by letter: a sum over the places of the batch (a multiset), -log of a fraction for each."""
    n, total = len(sims), 0.0
    for i in batch:
        below = 0.0
        for j in batch:
            if not (supervised and labels[j] == labels[i]):
                below = below + torch.exp(sims[i, n + j] / tau)
                below = below + (torch.exp(sims[i, j] / tau) if j != i else 0.0)
        total = total - torch.log(torch.exp(sims[i, n + i] / tau) / below)
    return total / len(batch)


def readings(z1, z2, labels, tau):
    """{name: loss} of one batch of unit vectors, z1's points the anchors: what SA puts below the line, and where."""
    n = len(z1)
    full, negatives = surrogate.logits(table(z1, z2), torch.ones(n, dtype=z1.dtype), labels, tau)
    partner = torch.eye(n, 2 * n, dtype=torch.bool).roll(n, 1)  # the column n + i of row i
    below_the_line = {
        "CL, positive in (Sec. 3)": full,
        "CL, positive out: DCL (Sec. 5)": full.masked_fill(partner, -math.inf),
        "NSCL, positive out (Sec. 3)": negatives,
        "NSCL, positive in (Lemma 3)": torch.where(partner, full, negatives),
    }
    values = {}
    for name, part in below_the_line.items():
        values[name] = float((part.logsumexp(1) - full[partner]).mean())
    written = -torch.log_softmax(negatives, 1)[partner].mean()
    return values | {"NSCL, -log q_ii' as written (App. D.1)": float(written)}


def test_readings_are_the_losses_of_the_package():
    z1, z2, labels = views(SMALL)
    one, two = (readings(a, b, labels, 0.5) for a, b in ((z1, z2), (z2, z1)))
    expected = losses.cl(z1, z2, 0.5).item()
    assert one["CL, positive in (Sec. 3)"] == pytest.approx(expected, rel=1e-12)
    for name, loss in (
        ("CL, positive out: DCL (Sec. 5)", losses.dcl(z1, z2, 0.5)),
        ("NSCL, positive out (Sec. 3)", losses.nscl(z1, z2, labels, 0.5)),
    ):
        assert (one[name] + two[name]) / 2 == pytest.approx(loss.item(), rel=1e-12)
    assert one["NSCL, positive in (Lemma 3)"] > max(0, one["NSCL, positive out (Sec. 3)"])
    assert one["NSCL, -log q_ii' as written (App. D.1)"] == math.inf


def test_batches_are_those_drawn_one_by_one_with_single_classes_left_out(monkeypatch):
    config = SMALL.replace(classes=2, batch=2, replacement=True, steps=30)
    monkeypatch.setattr(surrogate, "DRAWN", 14)  # a few at once
    generator, expected = torch.Generator().manual_seed(config.seed + 1), []
    while len(expected) < 30:
        pair = torch.randint(12, (2,), generator=generator)
        if pair[0] // 6 != pair[1] // 6:
            expected.append(torch.bincount(pair, minlength=12))
    assert torch.equal(batches(config), torch.stack(expected).short())


def drawn(counts):
    return [i for i, m in enumerate(counts.int().tolist()) for _ in range(m)]


@pytest.mark.parametrize("replacement", [False, True])
def test_gradients_and_the_recursion_are_those_of_the_losses_as_written(replacement):
    config = SMALL.replace(replacement=replacement)
    z1, z2, labels = views(config)
    state = table(z1, z2).repeat(2, 1, 1)
    for counts in batches(config).double():
        ours = batch_gradients(state, counts, labels, config.tau)
        injection, _, mass = surrogate.injections(state[:1], counts, labels, config.tau)
        theirs = []
        for k in (0, 1):
            leaf = state[k].clone().requires_grad_()
            theirs += grad(literal_loss(leaf, drawn(counts), labels, config.tau, k == 1), leaf)
        torch.testing.assert_close(ours, torch.stack(theirs), atol=1e-13, rtol=1e-10)
        at_cl = state[0].clone().requires_grad_()
        (supervised,) = grad(literal_loss(at_cl, drawn(counts), labels, config.tau, True), at_cl)
        assert injection.item() == pytest.approx((theirs[0] - supervised).norm().item(), rel=1e-10)
        shares = []
        for i in set(drawn(counts)):
            mass_of = {True: 0.0, False: 0.0}  # of the anchor's class, of others
            for j in drawn(counts):
                for k in {j, j + 12} - {i}:
                    mass_of[bool(labels[j] == labels[i])] += math.exp(state[0, i, k] / config.tau)
            shares.append(mass_of[True] / mass_of[False])
        assert mass.item() == pytest.approx(max(shares), rel=1e-10)
        state = state - config.eta * torch.stack(theirs)
    result = run(config, device="cpu", record="all")
    np.testing.assert_allclose(result.final, state, atol=1e-12)
    assert result.drift[-1] == pytest.approx((state[0] - state[1]).norm().item(), rel=1e-10)
    a, b = (s[:, : config.n].numpy() for s in state)
    H = np.eye(config.n) - 1 / config.n
    k, m = H @ a @ H, H @ b @ H
    upper = np.triu_indices(config.n, 1)
    expected = (k * m).sum() / np.linalg.norm(k) / np.linalg.norm(m)
    assert result.cka[-1] == pytest.approx(expected, abs=1e-12)
    assert result.rsa[-1] == pytest.approx(np.corrcoef(1 - a[upper], 1 - b[upper])[0, 1], abs=1e-12)
    assert result.rho[-1] == pytest.approx(np.linalg.norm(k - m) / np.linalg.norm(k))
    expected = np.linalg.norm((a - b)[upper]) / len(a[upper]) ** 0.5 / a[upper].std()
    assert result.r[-1] == pytest.approx(expected)
    assert result.path[0] == 0 and result.gaps[0] == result.injections[0], "one start"
    assert result.gram_norm[-1] == pytest.approx(np.linalg.norm(k))
    assert result.std[-1] == pytest.approx(a[upper].std())


def test_batches_are_distinct_points_unless_drawn_with_replacement():
    for counts in batches(SMALL.replace(steps=20)):
        assert counts.sum() == 9 and counts.max() == 1
    for counts in batches(SMALL.replace(classes=2, batch=2, replacement=True, steps=20)):
        assert counts.sum() == 2 and len({i // 6 for i in drawn(counts)}) == 2, (
            "NSCL needs two classes"
        )


def test_delta_at_the_papers_example_is_far_from_one_percent():
    assert theory.delta(1000, 512, 1, 0.01, 1.0) == pytest.approx(1.71, abs=0.01)
    share = 1 / 20 + math.sqrt(math.log(50 * 300 / 0.05) / 600)
    expected = 2 * math.e * share / (1 - share)
    assert theory.delta(20, 300, 50, 0.05, 2.0) == pytest.approx(expected, rel=1e-12)
    assert theory.delta(2, 4, 1, 0.01, 1.0) == math.inf == theory.delta(50, 10**6, 1, 0.01, 1e-3)


def test_bounds_add_up_step_sizes_and_overflow_to_infinity():
    eta = np.linspace(0, 2, 30)
    for bound in (
        lambda e: theory.similarity_bound(50, 256, 30, e, 1.0, 0.01),
        lambda e: theory.triangle_bound(256, 30, e, 1.0),
        lambda e: theory.weight_bound(50, 256, 30, e, 1.0, 0.01, 1.0, 0.1),
    ):
        assert bound(eta) == pytest.approx(bound(1.0)) and bound(0.0) == 0
    assert theory.similarity_bound(50, 4, 30, 1e6, 0.1, 0.01) == math.inf
    assert theory.weight_bound(50, 64, 30, 1e3, 1.0, 0.01, 1, 1) == math.inf
    gap = theory.delta(50, 256, 30, 0.01, 1.0)
    expected = math.exp(30 / 512) * 30 / 16 * gap
    assert theory.similarity_bound(50, 256, 30, 1.0, 1.0, 0.01) == pytest.approx(expected)
    expected = 3 * theory.delta(50, 256, 30, 0.01, 2.0) * (math.exp(1.5) - 1)
    assert theory.weight_bound(50, 256, 30, 0.1, 2.0, 0.01, 3.0, 0.5) == pytest.approx(expected)
    expected = (1 + 4 / 1) * 3 + 8
    assert theory.posterior_bound([1.0, 2.0], [3.0, 4.0], 2, 0.5)[2] == pytest.approx(expected)
    assert theory.posterior_bound([1.0, 2.0], [3.0, 4.0], 8, 0.5, convex=True)[2] == 11


def test_after_one_step_the_a_posteriori_bounds_are_the_drift_and_later_the_convex_one_is_below():
    r = run(SMALL, device="cpu", record=("posterior", "injections"))
    convex = theory.posterior_bound(r.injections, SMALL.eta, SMALL.batch, SMALL.tau, convex=True)[
        r.steps
    ]
    assert r.drift[1] == pytest.approx(r.posterior[1], rel=1e-9) == convex[1]
    assert (r.drift[2:] < convex[2:]).all() and (convex[2:] < r.posterior[2:]).all()
    assert (r.posterior[1:] < r.bound[1:]).all() and (r.drift[1:] < r.triangle[1:]).all()


def test_with_replacement_theorem_1_fails_and_counting_repeats_repairs_it():
    for seed in SEEDS:
        r = run(COUNTER.replace(seed=seed), device="cpu", record=("reweighting",))
        assert r.drift[-1] / r.bound[-1] > 1.5
        counts = batches(COUNTER.replace(seed=seed))[0].double()
        gap = theory.delta(4, 1024, 1, 0.01, 5.0)
        assert r.reweighting.max() < gap, "Lemma 6 holds: it is Lemma 1 that fails"
        assert r.drift[-1] < 0.5 / 5 * gap * counts.norm().item() / 1024


def test_large_steps_leave_the_range_that_lemma_6_needs():
    for seed in SEEDS:
        config = Config(tau=5.0, classes=50, batch=200, eta=1000.0, seed=seed)
        r = run(config, device="cpu", record=("reweighting", "final"))
        assert r.reweighting.max() > 2 * theory.delta(50, 200, 100, 0.01, 5.0)
        assert np.abs(r.final[0]).max() > 10
        assert (r.drift <= r.bound).all()


def test_corollary_2_needs_a_small_drift():
    a = np.random.default_rng(0).normal(size=45)
    a -= a.mean()
    b = -0.1 * a  # r = 1.1
    assert np.corrcoef(a, b)[0, 1] == pytest.approx(-1)
    assert theory.rsa_lower_bound(np.linalg.norm(a - b), a.std(), 45) == pytest.approx(-1 / 21)
    assert theory.cka_lower_bound(0.0, 3.0) == 1 and theory.cka_lower_bound(math.inf, 3.0) == -1
    assert theory.rsa_lower_bound(1.0, 1.5, 4) == pytest.approx(0.5)


def test_the_circles_gradient_and_constants_against_autograd():
    config = SMALL.replace(steps=1, eta=0.1)
    z1, z2, labels = views(config.replace(d=2))
    w = torch.atan2(*torch.cat([z1, z2]).T.flip(0))
    batch = drawn(batches(config)[0])

    def loss(w, supervised):
        return literal_loss((w[:12, None] - w).cos(), batch, labels, config.tau, supervised)

    after = [
        w - 0.1 * grad(loss(leaf := w.clone().requires_grad_(), k == 1), leaf)[0] for k in (0, 1)
    ]
    r = run_circle(config, device="cpu")
    assert r.drift[-1] == pytest.approx((after[0] - after[1]).norm().item(), rel=1e-9)
    moved = (after[0][:12, None] - after[0]).cos() - (w[:12, None] - w).cos()
    assert r.moved[-1] == pytest.approx(moved.norm().item(), rel=1e-9)
    beta = 2 / config.tau**2 + 4 / config.tau
    for seed in SEEDS:
        w = 6.3 * torch.rand(24, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        for k in (False, True):
            assert torch.linalg.eigvalsh(hessian(lambda v, k=k: loss(v, k), w)).abs().max() <= beta


def test_pair_weights_are_derivatives_in_the_cosines():
    z1, z2, labels = views(Config(classes=3, n=6, batch=6, d=20))
    u = torch.cat([z1, z2])
    S, same = (u @ u.T).requires_grad_(), (labels[:, None] == labels).repeat(2, 2)
    own = torch.arange(6).repeat(2)[:, None] == torch.arange(6).repeat(2)
    for hidden, loss in (
        (own, lambda a, b: losses.dcl(a, b, 0.5)),
        (same, lambda a, b: losses.nscl(a, b, labels, 0.5)),
    ):
        value = (
            (S / 0.5).masked_fill(hidden, -math.inf).logsumexp(1) - S.roll(6, 1).diagonal() / 0.5
        ).mean()
        (slope,) = grad(value, S)
        ours = pair_weights(loss, 3 * z1, z2)
        expected = (slope + slope.T).fill_diagonal_(0)
        torch.testing.assert_close(ours.nan_to_num(), expected, atol=1e-10, rtol=1e-8)
        assert (expected[own & ~torch.eye(12, dtype=bool)] < 0).all()
        assert (expected[~hidden] > 0).all()


def test_a_program_may_mix_classes_batches_and_replacement():
    """The table has one shape for all of them: the chapter's whole grid is one program. Equal up to rounding."""
    configs = [
        SMALL.replace(seed=0, classes=2, tau=0.5),
        SMALL.replace(seed=1, batch=7, eta=0.1, d=3),
        SMALL.replace(seed=2, replacement=True, batch=30),
    ]
    for runner in (run, run_circle):
        beside = training_of(runner).train(configs, device="cpu", record="all")
        for config, together in zip(configs, beside):
            for name, value in vars(runner(config, device="cpu", record="all")).items():
                if isinstance(value, np.ndarray):
                    near = {"rtol": 1e-9, "atol": 1e-12, "err_msg": name}
                    np.testing.assert_allclose(getattr(together, name), value, **near)


def test_a_partial_result_has_its_own_copy_of_what_goes_on_changing():
    seen = []

    def look(fraction, partial):
        seen.append((partial, partial.final.copy()))
        return len(seen) < 2

    config = Config(n=40, batch=20, steps=20_000)
    asked = ("final", "injections", "reweighting")
    last = run(config, progress=look, device="cpu", record=asked)
    assert last.stopped and len(last.injections) == last.steps[-1] == len(last.reweighting)
    assert np.array_equal(seen[0][0].final, seen[0][1])
    assert not np.array_equal(seen[0][1], last.final)
