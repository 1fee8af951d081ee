"""What the chapter's runs and measures of modular addition are made of."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from clbook import data
from clbook.experiments.modadd import (
    PAPER,
    VARIANTS,
    Config,
    Samples,
    distances,
    over_seeds,
    run,
    run_variants,
)
from clbook.experiments.modadd.experiment import floor, one_heavy_context
from clbook.losses import symbol_context
from clbook.metrics import mean_interval
from clbook.optim import Adam
from clbook.sweep import sweep
from clbook.transformer import Transformer

TINY = Config(N=6, k=3, d=4, epochs=3, batch=16)


def test_shuffled_symbols_learn_nothing():
    shuffled = sweep(
        run, [Config(seed=seed, epochs=250, misaligned="shuffled") for seed in range(3)]
    )
    assert 0.95 < over_seeds(shuffled, "ratio")[-1].mean() < 1.2


def test_collapse_is_called_by_its_name():
    for init in (0.02, 1.0):
        result = run(Config(decay=0.03, init=init, lr=0.01, epochs=60, fraction=1.0))
        assert result.collapsed and result.different[-1] < 0.1
        assert result.loss[-1] == pytest.approx(math.log(32), abs=0.02)
    assert not run(Config(epochs=1)).collapsed


@pytest.mark.parametrize("N, k", [(16, 8), (7, 3), (5, 1), (4, 4)])
def test_tables_of_modular_addition(N, k):
    pairs, labels = data.modadd(N, k)
    assert {(a, b): y for (a, b), y in zip(pairs.tolist(), labels.tolist(), strict=True)} == {
        (a, b): (a + b) % k for a in range(N) for b in range(N)
    }
    symbols, contexts = data.cmodadd(N, k)
    found = {(s, tuple(c)) for s, c in zip(symbols.tolist(), contexts.tolist(), strict=True)}
    assert (
        found
        == {(a, (N, b, (a + b) % k)) for a in range(N) for b in range(N)}
        | {(b, (a, N, (a + b) % k)) for a in range(N) for b in range(N)}
        and len(symbols) == 2 * N * N
    )


def test_a_heavy_context_takes_its_share():
    symbols, _ = data.cmodadd(16, 8)
    weights = one_heavy_context(symbols, [3, 5], 0.9, torch.Generator().manual_seed(0))
    for u in range(16):
        mine = weights[symbols == u].sort().values.tolist()
        expected = [0.1 / 31] * 31 + [0.9] if u in (3, 5) else [1 / 32] * 32
        assert mine == pytest.approx(expected, abs=1e-12)


def test_epochs_see_every_sample_once_or_draw_by_weight():
    even = Samples(Config())
    assert sorted(even.epoch().tolist()) == list(range(410))
    assert len({*zip(even.symbols.tolist(), even.ids.tolist(), strict=True)}) == 410
    uneven = Samples(Config(misaligned="all", p=0.9))
    heavy = uneven.weights > 0.5
    assert heavy.sum() == 16
    share = np.mean([heavy[uneven.epoch()].double().mean() for _ in range(50)])
    assert share == pytest.approx(0.9, abs=0.01)


def test_the_floor_is_the_logarithm_of_the_fitting_contexts_and_no_scores_beat_it():
    samples = Samples(Config(fraction=1.0, seed=1))

    def epochs(pmi, count):
        """(count,) floors of as many epochs, side by side."""
        drawn = torch.stack([samples.epoch() for _ in range(count)])
        return floor(pmi.expand(count, -1, -1), samples.symbols[drawn], samples.ids[drawn], 32)

    indices = samples.epoch()
    counts = []
    for batch in indices.split(32):
        needed = [
            (c[2] - c[:2][c[:2] < 16].sum()) % 8 for c in samples.contexts[batch]
        ]  # class of the masked symbol
        counts += [sum(int(s) % 8 == int(n) for n in needed) for s in samples.symbols[batch]]
    found = floor(samples.pmi[None], samples.symbols[indices][None], samples.ids[indices][None], 32)
    assert found.item() == pytest.approx(np.log(counts).mean(), abs=1e-12)
    least = epochs(samples.pmi, 200).mean()
    assert least == pytest.approx(1.4962, abs=0.01)
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        off = samples.pmi + 0.5 * torch.randn(
            samples.pmi.shape, generator=generator, dtype=torch.float64
        )
        assert epochs(off, 20).mean() > least


@pytest.mark.parametrize("kind, make", [("l2", torch.optim.Adam), ("decoupled", torch.optim.AdamW)])
def test_adam_with_a_decay_a_run_is_pytorchs(kind, make):
    start = torch.randn(3, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    decays, target = (0.0, 0.1, 0.5), torch.linspace(-1, 1, 8, dtype=torch.float64).view(4, 2)
    ours, theirs = (
        start.clone().requires_grad_(),
        [start[m].clone().requires_grad_() for m in range(3)],
    )
    update = Adam([ours], 0.05, decays, kind)
    optimisers = [
        make([w], lr=0.05, weight_decay=decay) for w, decay in zip(theirs, decays, strict=True)
    ]
    for _ in range(20):
        update.step(torch.autograd.grad((ours - target).pow(4).sum(), [ours]))
        for w, optimiser in zip(theirs, optimisers, strict=True):
            optimiser.zero_grad()
            (w - target).pow(4).sum().backward()
            optimiser.step()
    torch.testing.assert_close(
        ours.detach(), torch.stack([w.detach() for w in theirs]), rtol=1e-5, atol=1e-5
    )


def test_adam_rounds_a_run_alone_as_beside_others_whatever_the_sizes():
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(3, *shape, generator=generator) for shape in ((5,), (3, 7), (2, 1))]
    beside, alone = [w.clone() for w in start], [w[1:2].clone() for w in start]
    both = Adam(beside, 0.05, (0.0, 0.1, 0.5)), Adam(alone, 0.05, 0.1)
    for t in range(20):
        gradients = [torch.randn(w.shape, generator=generator) for w in beside]
        if t == 10:  # the first run has ended
            stay = torch.tensor([False, True, True])
            beside[:] = [w[stay] for w in beside]
            both[0].keep(stay)
        both[0].step([g[-len(w) :] for g, w in zip(gradients, beside, strict=True)])
        both[1].step([g[1 if t < 10 else -2 :][:1] for g in gradients])
        assert all(torch.equal(a[0], w[-2]) for a, w in zip(alone, beside, strict=True))


def test_training_is_equation_2_with_adam():
    config = TINY.replace(init=0.5)
    result, samples = run(config), Samples(config)
    generator = torch.Generator().manual_seed(0)
    encoder = Transformer(7, 3, 4, 4, [generator], hidden=16)
    table = (0.5 * torch.randn(6, 4, generator=generator)).requires_grad_()
    optimiser = torch.optim.Adam([table, *encoder.parameters()], lr=1e-3, weight_decay=1e-3)
    samples.epoch()  # measured before the first step
    for t in (1, 2, 3):
        losses = []
        for batch in samples.epoch().split(16):
            loss = symbol_context(
                table[samples.symbols[batch]], encoder(samples.contexts[batch][None])[0]
            )
            losses += [loss.item()] * len(batch)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        assert result.loss[t] == pytest.approx(np.mean(losses), abs=1e-4)
        assert np.abs(result.tables[t] - result.tables[t - 1]).max() > 1e-4
    np.testing.assert_allclose(result.tables[3], table.detach(), atol=1e-4)


def test_a_single_sample_left_over_is_no_batch():
    result = run(
        TINY.replace(fraction=49 / 72, epochs=2)
    )  # 49 samples: three batches of 16 and one sample
    assert result.config.samples == 49 and np.isfinite(result.loss).all()


def test_variants_side_by_side_are_the_runs_alone():
    group = run_variants(TINY.replace(seed=1, classifier="both", classifier_epochs=2))
    assert list(group.runs) == list(VARIANTS)[1:]
    for name in ("no decay", "all symbols, p = .9", "shuffled"):
        alone = run(TINY.replace(seed=1, classifier="both", classifier_epochs=2, **VARIANTS[name]))
        for field in ("tables", "loss", "floor"):
            assert np.array_equal(getattr(alone, field), getattr(group[name], field)), (name, field)
        assert all(
            np.array_equal(alone.accuracy[start], group[name].accuracy[start])
            for start in alone.accuracy
        )


def test_small_starts():
    small = run(Config(epochs=1, init=0.02))
    assert small.tables[0].std() == pytest.approx(0.02, rel=0.2)
    assert small.loss[0] == pytest.approx(math.log(32), abs=0.1)


def test_classifiers_share_everything_but_their_first_embedding():
    base = TINY.replace(N=12, classifier="all", classifier_epochs=1, lr=1e-12)
    same = run(base)
    assert same.accuracy["pretrained"].shape == (2,) and list(same.accuracy_at) == [0, 1]
    alone = run(base.replace(classifier="pretrained"))
    assert np.array_equal(same.accuracy["pretrained"], alone.accuracy["pretrained"])
    still = run(base.replace(classifier="none"))
    assert (
        still.accuracy == {}
        and np.array_equal(still.steps, same.steps)
        and np.array_equal(still.loss, same.loss)
    )


def test_a_run_that_is_stopped_while_its_classifiers_learn_keeps_the_contrastive_part():
    config = TINY.replace(epochs=20, classifier="both", classifier_epochs=10_000)
    result = run(config, progress=lambda fraction, partial: len(partial.accuracy_at) < 3)
    assert result.stopped and result.steps[-1] == 20 and 3 <= len(result.accuracy["random"]) < 1000


def test_the_paper_s_settings_begin():
    runs = [PAPER.replace(seed=seed, epochs=1, classifier_epochs=1) for seed in range(2)]
    assert PAPER.epochs == 10_000 and PAPER.samples == 410
    assert over_seeds(sweep(run, runs, n_jobs=1), "loss").shape == (2, 2)


def test_distances_against_a_slow_loop():
    table = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    slow = {True: [], False: []}
    for u in range(6):
        for v in range(u):
            slow[(u - v) % 3 == 0].append(float((table[u] - table[v]).norm()))
    assert [float(mean) for mean in distances(table, 3)] == pytest.approx(
        [np.mean(slow[k]) for k in (True, False)]
    )
    assert math.isnan(distances(table, 6)[0]) and math.isnan(distances(table, 1)[1])


def test_interval_is_students():
    values = np.random.default_rng(0).normal(size=(4, 7))
    mean, half = mean_interval(values)
    low, high = stats.t.interval(0.95, 6, values.mean(1), stats.sem(values, axis=1))
    np.testing.assert_allclose([mean - half, mean + half], [low, high])
    with pytest.raises(ValueError, match="values has 1 on its last axis"):
        mean_interval([3.0])


@pytest.mark.parametrize("field, value", [("k", 17), ("heads", 3), ("fraction", 1e-3)])
def test_settings_that_depend_on_others_are_checked(field, value):
    with pytest.raises(ValueError, match=f"{field} = .* must be "):
        Config(**{field: value})
