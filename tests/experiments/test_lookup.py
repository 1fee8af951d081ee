"""SL's theorems at the exact optimum of look-up tables, hypothesis by hypothesis; the checker of equivalence."""

import math

import numpy as np
import pytest
import torch

from clbook import data, theory
from clbook.experiments.modadd import equivalence, lookup
from clbook.experiments.modadd.equivalence import Finite, check, cmodadd_table, modadd_table
from clbook.experiments.modadd.lookup import Config, flow, infonce, mutual_information, pmi, run
from clbook.losses import symbol_context
from clbook.results.sweep import sweep
from clbook_book.course.modadd.lookup_figures import twins

SEEDS = range(4)
BASIS = {"d": 32, "contexts": 12}  # 24 context-label pairs cannot span 32 dimensions


def excess(result):
    """How far the loss is above minus the mutual information."""
    return result.loss[-1] + mutual_information(result.joint)


def pmi_error(result, axis):
    logits, known = result.z[-1] @ result.c[-1].T, pmi(result.joint)
    return np.abs(
        logits - logits.mean(axis, keepdims=True) - known + known.mean(axis, keepdims=True)
    ).max()


def random_tables(joint, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(n, d, generator=generator, dtype=torch.float64) for n in joint.shape)


@pytest.mark.parametrize("over", ["contexts", "symbols"])
def test_population_loss_is_the_batch_loss_of_all_samples_and_its_slope_is_autograd_s(over):
    symbols, contexts = data.cmodadd(6, 3)
    _, ids = contexts.unique(dim=0, return_inverse=True)
    joint = torch.zeros(6, int(ids.max()) + 1, dtype=torch.float64)
    for pair in zip(symbols, ids):
        joint[pair] += 1 / len(ids)
    z, c = (table.requires_grad_() for table in random_tables(joint, 4))
    anchors, others = (z[symbols], c[ids]) if over == "contexts" else (c[ids], z[symbols])
    loss, slope = infonce(z, c, joint, over)
    expected = symbol_context(anchors, others).item() - math.log(len(ids))
    assert loss.item() == pytest.approx(expected, abs=1e-12)
    gradient = torch.autograd.grad(loss, (z, c))
    torch.testing.assert_close(
        gradient, (slope.detach() @ c.detach(), slope.detach().T @ z.detach())
    )


def update(z, c, joint):
    """SL A.5 in expectation: (pull, push), (S, d) each; the step of z_u is along pull - push = -(dL/dz_u) / p(u).

    pull is the mean of the contexts that the symbol is seen in, push the mean of all contexts by its softmax.
    """
    _, slope = lookup.infonce(z, c, joint)
    symbol = joint.sum(1, keepdim=True)
    pull = joint @ c / symbol
    push = (slope + joint) @ c / symbol
    return pull, push


def test_update_is_the_gradient_for_one_symbol_and_appendix_5_for_a_batch_of_distinct_symbols():
    joint = torch.from_numpy(equivalence.random_table(1).joint)
    z, c = (table.requires_grad_() for table in random_tables(joint, 3))
    (gradient,) = torch.autograd.grad(infonce(z, c, joint)[0], z)
    pull, push = update(z, c, joint)
    torch.testing.assert_close(-gradient / joint.sum(1, keepdim=True), pull - push)
    batch = c[:8]
    (gradient,) = torch.autograd.grad(8 * symbol_context(z, batch), z)
    torch.testing.assert_close(-gradient, batch - torch.softmax(z @ batch.T, 1) @ batch)


@pytest.mark.parametrize("over, axis", [("contexts", 1), ("symbols", 0)])
def test_theorem_3_1_holds_at_the_optimum(over, axis):
    for result in sweep(run, [Config(seed=seed, over=over) for seed in SEEDS]):
        same, different = result.distances()
        assert abs(excess(result)) < 1e-8 and pmi_error(result, axis) < 1e-2
        assert len(same) == 4 and same.max() < 1e-4 and different.min() > 1


@pytest.mark.parametrize("decay, distance", [(1e-4, 7.550), (1e-3, 6.178)])
def test_with_decay_all_different_symbols_are_equally_far_apart(decay, distance):
    assert theory.l2_distance(decay) == pytest.approx(distance, abs=1e-3)
    config = Config(data="cmodadd", decay=decay)
    for result in sweep(run, [config.replace(seed=seed) for seed in SEEDS[:3]]):
        same, different = result.distances()
        assert same.max() < 1e-3 and different == pytest.approx(distance, rel=0.005)


@pytest.mark.parametrize(
    "N, k, decay", [(12, 4, 1e-3), (9, 3, 5e-3), (16, 8, 0.015), (16, 8, 0.0157), (8, 8, 0.02)]
)
def test_the_formula_for_that_distance_and_the_decay_at_which_all_collapse(N, k, decay):
    _, different = run(Config(data="cmodadd", N=N, k=k, decay=decay)).distances()
    assert different == pytest.approx(theory.l2_distance(decay, N, k), rel=1e-3, abs=2e-3)
    if (N, k) == (16, 8):
        assert (theory.l2_distance(decay) == 0) == (decay > 1 / 64)


def test_fewer_dimensions_give_bands():
    octagon = [math.sin(j * math.pi / 8) / math.sin(math.pi / 8) for j in (1, 2, 3, 4)]
    for d, bands in ((4, [1, 2**0.5]), (2, octagon)):
        config = Config(data="cmodadd", d=d, decay=1e-3)
        for result in sweep(run, [config.replace(seed=seed) for seed in SEEDS[:3]]):
            _, different = result.distances()
            found = different / different.min()
            off = np.abs(found[:, None] - bands)
            assert off.min(1).max() < 0.01 and off.min(0).max() < 0.01


def test_more_positive_directions_of_m_than_classes_keep_equivalent_symbols_apart():
    for seed in SEEDS[:3]:
        result = flow(Config(lr=0.5, seed=seed, **BASIS))
        beyond = np.sort(np.linalg.eigvalsh(result.imbalance(0)))[::-1][4:]  # four classes
        assert (twins(result)[0] ** 2).sum() / 2 > 0.98 * beyond.clip(0).sum() > 10


@pytest.mark.parametrize("samples, value", [(None, 1.503), (512, 1.496)])
def test_floor_of_a_batch(samples, value):
    floor = theory.batch_floor(32, 8, samples)
    assert floor == pytest.approx(value, abs=5e-4)
    rng = np.random.default_rng(0)

    def drawn():
        return rng.integers(0, 8, 32) if samples is None else rng.permutation(512)[:32] % 8

    classes = np.array([drawn() for _ in range(20_000)])
    assert np.log((classes == classes[:, :1]).sum(1)).mean() == pytest.approx(floor, abs=0.015)


def test_checker_on_a_table_written_by_hand():
    task = Finite.of(
        [
            ("full", "the glass is _", "pour", 2),
            ("full", "the glass is _", "drink", 6),
            ("red", "a _ car", "fast", 1),
            ("empty", "the glass is _", "pour", 1),
            ("empty", "the glass is _", "drink", 3),
        ]
    )
    gap = equivalence.semantic_gap(task)
    assert gap[0, 2] == 0 and math.isnan(gap[0, 1]) and math.isnan(gap[1, 2])
    rows = [("red", "a _ car", "", 1), ("empty", "a _ tank", "", 3), ("full", "a _ tank", "", 1)]
    found = check(Finite.of(rows), task)
    groups = [("full", "empty"), ("red",)]
    assert found.aligned and found.groups("semantic") == found.groups("conditional") == groups
    found = check(Finite.of([*rows, ("full", "a _ car", "", 1)]), task)
    assert found.misses == [("full", "empty")] and found.conditional[0, 2] == pytest.approx(0.5)


@pytest.mark.parametrize("N, k", [(16, 8), (10, 3), (5, 1), (4, 4)])
def test_modular_addition_is_aligned_and_symbols_are_equivalent_mod_k(N, k):
    found = check(cmodadd_table(N, k), modadd_table(N, k))
    same = np.arange(N)[:, None] % k == np.arange(N) % k
    assert found.aligned and ((found.semantic == 0) == same).all()
    assert ((found.conditional < 1e-12) == same).all()
    expected = sum(-share * math.log(share) for share in np.bincount(np.arange(N) % k) / N)
    assert mutual_information(cmodadd_table(N, k).joint) == pytest.approx(expected, abs=1e-9)


def test_heavy_contexts_break_the_alignment():
    one, every = (check(cmodadd_table(heavy=heavy), modadd_table()) for heavy in ((0,), range(16)))
    assert one.misses == [(0, 8)] and len(every.misses) >= 6
    assert set(every.misses) <= {(u, u + 8) for u in range(8)}
    assert one.conditional[0, 8] == pytest.approx(0.9 - 1 / 32)


def test_a_minimisation_that_is_stopped_returns_what_it_has():
    seen = []
    config = Config(data="cmodadd", d=64)
    stopped = run(config, progress=lambda fraction, partial: bool(seen.append(partial)))
    assert stopped.stopped and len(stopped.steps) == 2 and np.isfinite(stopped.loss).all()
    assert len(seen) == 1 and seen[0].loss[-1] >= stopped.loss[-1]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Finite.of([]), "rows"),
        (lambda: Finite.of([("a", "b", 1)]), "rows"),
        (lambda: Finite.of([("a", "b", "", -1)]), "weight"),
        (lambda: Finite.of([("a", "b", "", "1")]), "weight"),
        (lambda: Finite.of([("a", "b", "", 0)]), "all weights are 0"),
        (lambda: cmodadd_table(8, 9), "k = 9"),
        (lambda: modadd_table(8, 0), "k = 0"),
        (lambda: cmodadd_table(share=1.0), "share = 1.0"),
        (lambda: check(cmodadd_table(8, 2), modadd_table(9, 2)), "symbols"),
        (lambda: Config(N=4, k=5), "k = 5"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_symbol_that_never_occurs_is_equivalent_to_none():
    assert np.isnan(equivalence.conditional_gap(np.array([[0.5, 0.5], [0.0, 0.0]]))[0, 1])
