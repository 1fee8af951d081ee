"""What the chapter's runs and measures of modular addition are made of."""

import math

import numpy as np
import pytest
import torch

from clbook import data
from clbook.experiments.modadd import PAPER, Addition, Config, Samples, distances, over_seeds, run
from clbook.experiments.modadd.experiment import floor, one_heavy_context
from clbook.losses import symbol_context
from clbook.results.sweep import sweep
from clbook.training.loop import learning
from clbook.transformer import Transformer
from clbook_book.course.modadd import play

TINY = Config(N=6, k=3, d=4, epochs=3, batch=16)


def test_a_step_of_the_page_is_a_batch_of_the_experiment():
    """The same loss, encoder and Adam, from the same start."""
    config = play.Config(steps=1, batch=16)
    training = play.Batches([config])
    s = training.start()
    drawn = training.draw()
    _, losses = training.forward(learning(s), drawn, 0)
    symbols, contexts = data.cmodadd(config.N, config.k)
    whole = Addition([Config(batch=16, epochs=1, fraction=1.0)])
    weights = whole.start().weights
    assert all(torch.equal(a, b) for a, b in zip(s.weights, weights, strict=True))
    chosen = drawn.batch
    wanted = whole.objective(weights, symbols[chosen], contexts[chosen])
    assert torch.equal(losses, wanted)


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
    assert found == {(a, (N, b, (a + b) % k)) for a in range(N) for b in range(N)} | {
        (b, (a, N, (a + b) % k)) for a in range(N) for b in range(N)
    }
    assert len(symbols) == 2 * N * N


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
        # class of the masked symbol
        needed = [(c[2] - c[:2][c[:2] < 16].sum()) % 8 for c in samples.contexts[batch]]
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


def test_training_is_equation_2_with_adam():
    config = TINY.replace(init=0.5)
    result, samples = run(config, record=("floor",)), Samples(config)
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
    assert (result.floor <= result.loss).all()


def test_a_single_sample_left_over_is_no_batch():
    # 49 samples: three batches of 16 and one sample
    result = run(TINY.replace(fraction=49 / 72, epochs=2))
    assert result.config.samples == 49 and np.isfinite(result.loss).all()


def test_classifiers_start_from_what_their_names_say():
    """Right before they learn: the last table, numbers of their own, the table's rows on other symbols."""
    training = Addition(
        [TINY.replace(epochs=1, classifier="all"), TINY.replace(epochs=1, seed=4, classifier="all")]
    )
    s = training.start()
    drawn = training.draw()
    z, losses = training.forward(s, drawn, 0)
    after = s.replace(**training.step(s, drawn, losses, 0))
    table = after.weights[0]
    first = after.weights[training.parts]  # (R, S, N, d)
    assert torch.equal(first[:, 0], table)
    assert torch.equal(first[:, 1], s.weights[training.parts][:, 1])
    for run_rows, own in zip(first[:, 2], table, strict=True):
        assert not torch.equal(run_rows, own)
        assert torch.equal(run_rows.sort(0).values, own.sort(0).values)
    for w in after.weights[training.parts + 1 :]:
        assert torch.equal(w[:, 0], w[:, 1]) and torch.equal(w[:, 0], w[:, 2])


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
    assert still.accuracy == {} and np.array_equal(still.steps, same.steps)
    assert np.array_equal(still.loss, same.loss)


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
    expected = [np.mean(slow[k]) for k in (True, False)]
    assert [float(mean) for mean in distances(table, 3)] == pytest.approx(expected)
    assert math.isnan(distances(table, 6)[0]) and math.isnan(distances(table, 1)[1])


@pytest.mark.parametrize("field, value", [("k", 17), ("heads", 3), ("fraction", 1e-3)])
def test_settings_that_depend_on_others_are_checked(field, value):
    with pytest.raises(ValueError, match=f"{field} = .* must be "):
        Config(**{field: value})
