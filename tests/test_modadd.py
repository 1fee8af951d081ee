"""What the chapter says about modular addition, over several seeds, and what `experiments.modadd` promises of its runs."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats

from clbook import data
from clbook.experiments import modadd
from clbook.experiments.modadd import PAPER, VARIANTS, Config, Result, Samples, distances, run, run_variants
from clbook.losses import symbol_context
from clbook.metrics import mean_interval
from clbook.sweep import sweep
from clbook.transformer import Transformer, descend

FIRST = Config(seeds=10, classifier="all")  # these three are the chapter's own
GROUP = Config(seeds=3, classifier="pretrained")
FULL = Config(seeds=3, fraction=1.0, epochs=1500, variants="decay")
TINY = Config(N=6, k=3, d=4, epochs=3, batch=16)


def test_equivalent_symbols_come_together():
    (first,) = sweep(run, [FIRST])
    assert first.ratio[0] == pytest.approx([1] * 10, abs=0.3)
    assert first.ratio[-1].mean() < 0.6 and first.ratio[-1].max() < 0.7
    assert first.different[-1].min() > 2 and not first.collapsed.any()


def test_the_classifier_gains_from_the_right_vectors_not_from_any():
    (first,) = sweep(run, [FIRST])
    at = list(first.accuracy_at).index(100)
    (good, wide), (random, spread), (permuted, around) = (
        mean_interval(first.accuracy[start][at]) for start in ("pretrained", "random", "permuted"))
    assert good - wide > 0.7 and random + spread < 0.35
    assert permuted + around < good - wide and abs(permuted - random) < 0.2


def test_variants_are_ordered_as_the_appendix_says_and_shuffled_symbols_learn_nothing():
    (group,), (first,) = sweep(run_variants, [GROUP]), sweep(run, [FIRST])
    end = {name: result.ratio[-1] for name, result in {"base": first, **group.runs}.items()}
    assert 0.95 < end["shuffled"].mean() < 1.2
    assert end["base"].mean() < end["all symbols, p = .5"].mean() < end["all symbols, p = .9"].mean()
    assert end["no decay, small start"].mean() < end["no decay"].mean()
    helped = group.runs["no decay"].accuracy["pretrained"][-1]  # SL Fig. 5b: only slightly
    assert helped.mean() > first.accuracy["random"][-1].mean() + 0.3


def test_on_all_samples_a_small_start_replaces_decay_and_the_loss_reaches_its_floor():
    (full,) = sweep(run_variants, [FULL])
    base, none, small = (full.runs[name] for name in ("base", "no decay", "no decay, small start"))
    assert small.ratio[-1].max() < 0.05
    assert (base.ratio[-1] < none.ratio[-1]).all()
    for result in full.runs.values():
        assert 1.48 < result.loss[-2:].mean() < 1.60
        assert (result.loss[-20:].mean(0) > result.floor[-20:].mean(0)).all()


def test_collapse_is_called_by_its_name():
    for init in (0.02, 1.0):
        result = run(Config(decay=0.03, init=init, lr=0.01, epochs=60, fraction=1.0))
        assert result.collapsed.all() and result.different[-1] < 0.1
        assert result.loss[-1] == pytest.approx(math.log(32), abs=0.02)
    assert not run(Config(epochs=1)).collapsed.any()


@pytest.mark.parametrize("N, k", [(16, 8), (7, 3), (5, 1), (4, 4)])
def test_tables_of_modular_addition(N, k):
    pairs, labels = data.modadd(N, k)
    assert {(a, b): y for (a, b), y in zip(pairs.tolist(), labels.tolist())} == {
        (a, b): (a + b) % k for a in range(N) for b in range(N)}
    symbols, contexts = data.cmodadd(N, k)
    found = {(s, tuple(c)) for s, c in zip(symbols.tolist(), contexts.tolist())}
    assert found == {(a, (N, b, (a + b) % k)) for a in range(N) for b in range(N)} | {
        (b, (a, N, (a + b) % k)) for a in range(N) for b in range(N)} and len(symbols) == 2 * N * N


def test_a_heavy_context_takes_its_share():
    symbols, _ = data.cmodadd(16, 8)
    weights = data.one_heavy_context(symbols, [3, 5], 0.9, torch.Generator().manual_seed(0))
    for u in range(16):
        mine = weights[symbols == u].sort().values.tolist()
        expected = [0.1 / 31] * 31 + [0.9] if u in (3, 5) else [1 / 32] * 32
        assert mine == pytest.approx(expected, abs=1e-12)


def test_epochs_see_every_sample_once_or_draw_by_weight():
    even = Samples(Config(), 0)
    assert sorted(even.epoch().tolist()) == list(range(410)) and len({*zip(even.symbols.tolist(), even.ids.tolist())}) == 410
    uneven = Samples(Config(misaligned="all", p=0.9), 0)
    heavy = uneven.weights > 0.5
    assert heavy.sum() == 16
    share = np.mean([heavy[uneven.epoch()].double().mean() for _ in range(50)])
    assert share == pytest.approx(0.9, abs=0.01)


def test_the_floor_is_the_logarithm_of_the_fitting_contexts_and_no_scores_beat_it():
    samples = Samples(Config(fraction=1.0), 1)
    indices = samples.epoch()
    counts = []
    for batch in indices.split(32):
        needed = [(c[2] - c[:2][c[:2] < 16].sum()) % 8 for c in samples.contexts[batch]]  # class of the masked symbol
        counts += [sum(int(s) % 8 == int(n) for n in needed) for s in samples.symbols[batch]]
    assert samples.floor(indices) == pytest.approx(np.log(counts).mean(), abs=1e-12)
    many = [samples.floor(samples.epoch()) for _ in range(200)]
    assert np.mean(many) == pytest.approx(1.4962, abs=0.01)
    exact, generator = samples.pmi.clone(), torch.Generator().manual_seed(0)
    for _ in range(5):
        samples.pmi = exact + 0.5 * torch.randn(exact.shape, generator=generator, dtype=torch.float64)
        assert np.mean([samples.floor(samples.epoch()) for _ in range(20)]) > np.mean(many)


@pytest.mark.parametrize("kind, make", [("l2", torch.optim.Adam), ("decoupled", torch.optim.AdamW)])
def test_decay_a_member_is_pytorchs(kind, make):
    start = torch.randn(3, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    decays, target = (0.0, 0.1, 0.5), torch.linspace(-1, 1, 8, dtype=torch.float64).view(4, 2)
    ours = start.clone().requires_grad_()
    update = descend([ours], 0.05, decays, kind)
    theirs = [start[m].clone().requires_grad_() for m in range(3)]
    optimisers = [make([w], lr=0.05, weight_decay=decay) for w, decay in zip(theirs, decays)]
    for _ in range(20):
        update((ours - target).pow(4).sum())
        for w, optimiser in zip(theirs, optimisers):
            optimiser.zero_grad()
            (w - target).pow(4).sum().backward()
            optimiser.step()
    torch.testing.assert_close(ours.detach(), torch.stack([w.detach() for w in theirs]), rtol=1e-5, atol=1e-5)


def test_training_is_equation_2_with_adam():
    config = TINY.replace(init=0.5)
    result, samples = run(config), Samples(config, 0)
    generator = torch.Generator().manual_seed(0)
    encoder = Transformer(7, 3, 4, 4, [generator], hidden=16)
    table = (0.5 * torch.randn(6, 4, generator=generator)).requires_grad_()
    optimiser = torch.optim.Adam([table, *encoder.parameters()], lr=1e-3, weight_decay=1e-3)
    samples.epoch()  # measured before the first step
    for t in (1, 2, 3):
        losses = []
        for batch in samples.epoch().split(16):
            loss = symbol_context(table[samples.symbols[batch]], encoder(samples.contexts[batch][None])[0])
            losses += [loss.item()] * len(batch)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        assert result.loss[t, 0] == pytest.approx(np.mean(losses), abs=1e-4)
        assert np.abs(result.tables[t, 0] - result.tables[t - 1, 0]).max() > 1e-4
    np.testing.assert_allclose(result.tables[3, 0], table.detach(), atol=1e-4)


def test_a_seed_does_not_depend_on_its_neighbours_in_the_batch():
    group = run_variants(TINY.replace(seeds=2))
    assert list(group.runs) == list(VARIANTS)[1:]
    for name in ("no decay", "all symbols, p = .9", "shuffled"):
        alone = run(TINY.replace(seed=1, **VARIANTS[name]))
        np.testing.assert_allclose(alone.tables[:, 0], group.runs[name].tables[:, 1], atol=1e-4)
        np.testing.assert_allclose(alone.floor[:, 0], group.runs[name].floor[:, 1], atol=1e-12)


def test_small_starts():
    small = run(Config(epochs=1, init=0.02))
    assert small.tables[0].std() == pytest.approx(0.02, rel=0.2)
    assert small.loss[0] == pytest.approx(math.log(32), abs=0.1)


def test_classifiers_share_everything_but_their_first_embedding():
    same = run(TINY.replace(N=12, k=3, seeds=2, classifier="all", classifier_epochs=1, lr=1e-12))
    assert same.accuracy["pretrained"].shape == (2, 2) and list(same.accuracy_at) == [0, 1]
    alone = run(TINY.replace(N=12, k=3, seeds=2, classifier="pretrained", classifier_epochs=1, lr=1e-12))
    assert np.array_equal(same.accuracy["pretrained"], alone.accuracy["pretrained"])


def test_distances_against_a_slow_loop():
    table = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    slow = {True: [], False: []}
    for u in range(6):
        for v in range(u):
            slow[(u - v) % 3 == 0].append(float((table[u] - table[v]).norm()))
    assert distances(table, 3) == pytest.approx((np.mean(slow[True]), np.mean(slow[False])), abs=1e-6)
    assert math.isnan(distances(table, 6)[0]) and math.isnan(distances(table, 1)[1])


def test_interval_is_students():
    values = np.random.default_rng(0).normal(size=(4, 7))
    mean, half = mean_interval(values)
    low, high = stats.t.interval(0.95, 6, values.mean(1), stats.sem(values, axis=1))
    np.testing.assert_allclose([mean - half, mean + half], [low, high])
    with pytest.raises(ValueError, match="values has 1 on its last axis"):
        mean_interval([3.0])


def test_same_config_same_bits():
    config = TINY.replace(classifier="all", classifier_epochs=2, seeds=2)
    first, again = run(config), run(config)
    for field in dataclasses.fields(Result):
        a, b = getattr(first, field.name), getattr(again, field.name)
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b), field.name
    assert all(np.array_equal(first.accuracy[s], again.accuracy[s]) for s in first.accuracy)


def test_stop_returns_what_there_is():
    seen = []
    for function in (run, run_variants):
        result = function(Config(epochs=100_000), progress=lambda fraction, partial: seen.append(partial) or False)
        assert result.stopped and type(seen[-1]) is type(result)


def test_a_run_that_diverges_names_its_learning_rate():
    with pytest.raises(ValueError, match="lr = .* the run diverged at iteration"):
        run(Config(lr=10.0, decay=1.0, decay_kind="decoupled", init=10.0, epochs=300))


@pytest.mark.parametrize("field, value", [("k", 17), ("k", 0), ("heads", 3), ("fraction", 0.0), ("fraction", 1e-3),
                                          ("p", 1.5), ("misaligned", "both"), ("decay", -1.0), ("init", 0.0),
                                          ("seeds", 0), ("N", 1)])
def test_bad_settings_name_the_field(field, value):
    with pytest.raises(ValueError, match=f"{field} = .* must be "):
        Config(**{field: value})
    assert modadd.PAPER is PAPER and PAPER.epochs == 10_000 and PAPER.samples == 410
