"""What SL's page adds: other tables and their optima, other samples, the steps of a batch, a coin at every draw."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from stepping import advance

from clbook.experiments import modadd, words
from clbook.experiments.modadd import equivalence, lookup
from clbook.training.loop import one_thread
from clbook_book import records
from clbook_book.audit.judging import paper
from clbook_book.audit.sl import (
    checks,
    coin,
    definitions,
    figures,
    measures,
    plain,
    recipes,
    shared,
    tables,
    training,
    updates,
)

JOINT = equivalence.random_table(0).labelled


def test_cmodadd_is_modadd_with_labels_and_without_the_answer_it_is_nothing():
    assert checks.same_columns() == 0
    hidden = tables.no_answer(6, 3)
    assert hidden.joint.shape == (6, 12) and np.ptp(hidden.joint) == 0
    # of 15 pairs, 3 are equivalent
    assert len(equivalence.check(hidden, equivalence.modadd_table(6, 3)).misses) == 12


def test_other_frequencies_and_absent_symbols_leave_the_conditionals_of_the_rest():
    equal, less = tables.equally_frequent(JOINT), tables.without(JOINT, 1)
    assert equal.sum(1) == pytest.approx(1 / 8) and less.sum() == pytest.approx(1)
    assert not less[1].any()
    for other in (equal, np.delete(less, 1, 0)):
        gap = equivalence.conditional_gap(other)
        expected = equivalence.conditional_gap(JOINT if len(other) == 8 else np.delete(JOINT, 1, 0))
        assert gap == pytest.approx(expected)


def test_equivalent_symbols_that_share_no_context_fit_the_same_classes():
    joint, classes = tables.apart(6, 3)
    assert joint.sum(1) == pytest.approx(1 / 6) and ((joint > 0).sum(0) == 1).all()
    assert equivalence.conditional_gap(joint)[0, 3] == pytest.approx(1)  # nothing shared
    assert (joint.argmax(0) % 3 == classes).all()
    labelled = np.stack([joint[:, classes == k].sum(1) for k in range(3)], 1)
    z, _ = tables.optimum(labelled, decay=1e-3)
    near, far = tables.distances(z, np.tile(np.eye(3, dtype=bool), (2, 2)))
    assert near.max() < 1e-4 and far.min() > 1


def test_views_of_a_point_are_alike_and_one_table_joins_those_of_the_same_points():
    joint = tables.views()
    assert joint == pytest.approx(joint.T) and joint.sum() == pytest.approx(1)
    gap = equivalence.conditional_gap(joint)
    assert gap[0, 1] == pytest.approx(0, abs=1e-9) and gap[0, 2] > 0.01
    assert equivalence.conditional_gap(tables.views(0, "contexts"))[0, 1] > 0.01
    near, far = tables.distances(tables.one_table(joint), tables.TWINS)
    assert near.max() < far.min() / 100


def test_definitions_read_as_loops():
    table = equivalence.Finite.of(
        [  # a and b: other answers in rho 1; b and c: other frequencies of the contexts
            ("a", 0, "yes", 1),
            ("a", 1, "no", 1),
            ("b", 0, "yes", 1),
            ("b", 1, "yes", 1),
            ("c", 0, "yes", 3),
            ("c", 1, "yes", 1),
        ]
    )
    means, stands = definitions.plainly(table)
    assert means.tolist() == [[True, False, False], [False, True, True], [False, True, True]]
    assert stands.tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    assert definitions.differing(means, stands) == [2, 1, 2]


def test_symbols_that_never_share_a_context_are_not_told_apart_by_their_answers():
    table = equivalence.Finite.of([("a", 0, "yes", 1), ("b", 1, "no", 1)])
    means, stands = definitions.plainly(table)
    assert means.all() and not stands[0, 1]


def test_the_loop_of_the_loss():
    anchors = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    positives = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
    first, second = np.exp(2) / (np.exp(2) + np.exp(1)), np.exp(2) / (np.exp(0) + np.exp(2))
    expected = -np.log([first, second]).mean()
    assert definitions.slow_loss(anchors, positives) == pytest.approx(expected)


@one_thread()
def test_optimum_is_the_chapters():
    z, c = tables.optimum(JOINT)
    loss = float(lookup.infonce(*map(torch.from_numpy, (z, c, JOINT)))[0])
    assert loss == pytest.approx(-lookup.mutual_information(JOINT), abs=1e-9)


def test_rows_for_given_contexts_by_newtons_method_and_by_l_bfgs():
    contexts = np.random.default_rng(0).normal(size=(JOINT.shape[1], 3))
    z, same = tables.optimum(JOINT, 3, contexts=contexts)
    assert np.array_equal(same, contexts)
    assert tables.exact_rows(JOINT, contexts) == pytest.approx(z, abs=1e-6)


def test_rows_without_a_minimiser_are_refused():
    apart = np.eye(2) / 2  # each symbol has a context of its own
    with pytest.raises(ValueError, match="has no minimiser, or needs more"):
        tables.exact_rows(apart, np.array([[1.0], [-1.0]]), steps=20)


def test_extents_and_the_lines_of_figure_3():
    flat = np.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    assert tables.narrowest(flat) == 0
    assert tables.narrowest(np.eye(3)[:, :2]) == pytest.approx(3**-0.5)
    assert tables.solutions(np.array([1.0, 0]), np.array([-2.0, 0])).shape == (2, 1)
    assert tables.solutions(np.array([1.0, 0]), np.array([1.0, 0.1])).shape == (2, 0)


def test_groups_of_distances_have_a_gap_between_them_and_are_not_too_small():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    none = np.eye(4, dtype=bool)
    assert tables.group_sizes(square, none) == [4, 2]  # four sides, two diagonals
    assert tables.group_sizes(square, none, least=0.5) == [4]
    sides = np.abs(np.subtract.outer(range(4), range(4))) % 2 == 1
    assert tables.group_sizes(square, none | sides) == [2]
    moved = square + [[0.01, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert tables.group_sizes(moved, none) == [4, 2]  # a gap of a hundredth is none


def test_both_rules_are_the_gradient_where_symbols_differ_and_a_5_is_off_where_one_repeats():
    of_symbols, of_contexts, repeated = updates.errors(16, 16)
    assert max(of_symbols, of_contexts) < 1e-14 and repeated == 0
    of_symbols, of_contexts, repeated = updates.errors(4, 8)
    assert of_symbols > 0.05 and of_contexts < 1e-14 and repeated > 0.5


def test_plain_samples_are_the_chapters():
    settings = {"epochs": 3, "fraction": 0.5}
    assert np.array_equal(
        training.run(training.Config(**settings)).loss, modadd.run(modadd.Config(**settings)).loss
    )


def test_no_context_is_shared_or_no_answer_is_seen():
    apart = training.Chosen(training.Config(drawn="apart", fraction=0.5))
    assert len(apart.ids) == 256 == len(apart.ids.unique()) and apart.pmi.shape == (16, 256)
    hidden = training.Chosen(training.Config(drawn="no answer", fraction=1.0))
    assert (hidden.contexts[:, 2] == 16).all() and hidden.ids.max() == 31
    assert hidden.pmi.abs().max() < 1e-12


def test_the_part_must_fit_the_samples():
    with pytest.raises(ValueError, match="k / N = 0.5"):
        training.Config(drawn="apart", fraction=0.8)


def test_classifiers_start_from_one_vector_a_class():
    config = modadd.Config(classifier="pretrained", classifier_epochs=20, seed=3)
    (table,) = training.Oracle([config]).state.weights[0][0]
    assert torch.equal(table[:8], table[8:]) and len(table.unique(dim=0)) == 8
    found = training.classify(config)
    assert found.steps.tolist() == [0, 10, 20] and found.accuracy.shape == (3,)


def test_a_table_of_its_own_is_the_chapters_training():
    settings = {"epochs": 3, "seed": 1}
    found = shared.run(shared.Config(**settings), record="all")
    assert np.array_equal(found.loss, modadd.run(modadd.Config(**settings)).loss)
    assert found.held.shape == found.steps.shape and found.held[0] > found.floor[0]


def test_left_out_samples_are_those_that_are_not_trained_on():
    s = shared.Shared([shared.Config(seed=seed) for seed in (0, 3)]).state
    for run in range(2):
        sets = []
        for symbols, contexts in ((s.symbols, s.contexts), (s.held_symbols, s.held_contexts)):
            both = torch.cat([symbols[run][:, None], contexts[run]], 1)
            sets.append({*map(tuple, both.tolist())})
        assert [len(found) for found in sets] == [410, 102] and not sets[0] & sets[1]


@pytest.mark.parametrize("kind", ["table", "all"])
def test_what_is_shared_is_one_tensor(kind):
    config = shared.Config(shared=kind, epochs=2)
    program, plain = (shared.Shared([c]) for c in (config, config.replace(shared="none")))
    s = program.start()
    assert len(s.weights) == len(plain.state.weights) - 1
    before = program.vectors(s.weights).detach()
    if kind == "table":
        assert torch.equal(before, s.weights[0][:, :16])
    else:
        alone = program.encode(s.weights, torch.tensor([[[5, 16, 16]]]))
        torch.testing.assert_close(before[0, 5], alone[0, 0].detach())
    after = program.vectors(advance(program, s, 0).weights)
    assert not torch.equal(after, before)
    beside = shared.Shared([config.replace(seed=2), config])
    kept = beside.keep(beside.start(), torch.tensor([False, True]))
    torch.testing.assert_close(beside.vectors(advance(beside, kept, 0).weights), after)


def test_shared_runs_have_no_classifiers_and_leave_a_batch_out():
    with pytest.raises(ValueError, match="classifier = 'both'"):
        shared.Config(classifier="both")
    with pytest.raises(ValueError, match="fraction = 1.0"):
        shared.Config(fraction=1.0)


PLAIN = plain.Config(N=6, k=3, batch=12, hidden=16, layers=2, epochs=4)


def ours(net, positions=3):
    """The weights of the chapter's `Transformer`, in its order, from an `Encoder` of PyTorch's modules."""
    found = [net.tokens.weight, net.positions]
    for layer in net.layers.layers:
        attention = layer.self_attn
        found += [attention.in_proj_weight.mT, attention.in_proj_bias[None]]
        for linear in (attention.out_proj, layer.linear1, layer.linear2):
            found += [linear.weight.mT, linear.bias[None]]
        for norm in (layer.norm1, layer.norm2):
            found += [norm.weight[None], norm.bias[None]]
    found += [net.last.weight.mT, net.last.bias[None]]
    return [weight.detach()[None] for weight in found]


def test_pytorchs_encoder_without_dropout_is_the_chapters_from_the_same_weights():
    net = plain.Encoder(PLAIN.replace(dropout=0.0))
    program = modadd.experiment.Addition([modadd.Config(N=6, k=3, hidden=16, layers=2)])
    contexts = torch.tensor([[6, 1, 2], [3, 6, 0], [5, 5, 6], [0, 1, 2]])
    given = [torch.zeros(1, 6, 8), *ours(net)]
    assert [w.shape for w in given] == [w.shape for w in program.state.weights]
    torch.testing.assert_close(program.encode(given, contexts[None])[0], net(contexts))


def test_its_training_is_the_chapters_steps_in_place():
    class Plainly(plain.Plain):
        contrastive_epoch = modadd.experiment.Addition.contrastive_epoch

    for dropout in (0.0, 0.1):
        config = PLAIN.replace(dropout=dropout, classifier="both", classifier_epochs=10)
        found, same = plain.run(config, record="all"), Plainly.run(config)
        assert np.array_equal(found.loss, same.loss) and found.loss[-1] < found.loss[0]
        assert np.array_equal(found.tables, same.tables) and found.accuracy["random"].shape == (2,)
        chapters = modadd.run(modadd.Config(N=6, k=3, batch=12, hidden=16, epochs=4), record="all")
        assert np.array_equal(found.floor, chapters.floor)  # the samples and batches of this seed


def test_what_is_dropped_hangs_on_the_seed_alone_and_leaves_pytorchs_generator_as_it_was():
    before = torch.random.get_rng_state()
    found = plain.run(PLAIN)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(3)
    again = plain.run(PLAIN)
    assert np.array_equal(found.loss, again.loss) and np.array_equal(found.tables, again.tables)
    without, other = (plain.run(PLAIN.replace(**c)) for c in ({"dropout": 0.0}, {"seed": 1}))
    assert np.array_equal(without.tables[0], found.tables[0])
    assert not np.array_equal(without.tables[-1], found.tables[-1])
    assert not np.array_equal(other.tables[0], found.tables[0])


def test_dropout_of_the_hidden_units_is_pytorchs():
    x = torch.randn(300, 1001, generator=torch.Generator().manual_seed(0))
    inputs = x.clone().requires_grad_()
    with plain.drawing(0):
        units = plain.Kept.apply(inputs * 1, 0.1)
    kept = units[x > 0] > 0
    assert kept.double().mean().item() == pytest.approx(0.9, abs=0.002)
    torch.testing.assert_close(units[units > 0], x[units > 0] / 0.9)
    assert (units[x < 0] == 0).all()
    (slope,) = torch.autograd.grad(units.sum(), inputs)
    torch.testing.assert_close(slope, (units > 0) / 0.9)


def test_a_coin_exchanges_twins_and_nothing_else():
    other, drawn = torch.tensor([[3, 1, 2, 0]]), torch.tensor([[0.1, 0.9, 0.1, 0.9]])
    assert coin.tossed(torch.tensor([[0, 0, 1, 3]]), other, drawn).tolist() == [[3, 0, 1, 3]]


def test_every_twin_has_the_other_and_the_batches_are_the_chapters():
    config = words.Config(steps=1, batch=8)
    fresh, plain = coin.Fresh([config]), words.Embedding([config])
    first, second = fresh.state.pairs["injected"][0].T
    other = fresh.state.other[0]
    assert torch.equal(other[first], second) and torch.equal(other[second], first)
    assert (other != torch.arange(len(other))).sum() == 2 * len(first)
    assert torch.equal(fresh.draw().places, plain.draw().places)


@pytest.mark.parametrize("name", ["sl-dose", "sl-samples"])
def test_runs_of_a_record_know_their_settings(name):
    found, record = recipes.by_name(name), records.load(name)
    for variant, runs in found.items():
        for seed, run in enumerate(runs):
            one = record.sel(variant=variant, seed=seed)
            assert run.config.described() == one.config.item()
            assert np.array_equal(run.loss, one.loss)
            assert run.tables.shape == (record.sizes["table_step"], 16, 8)
    assert not list(found.values())[1][0].collapsed


def test_figures_of_a_records_runs_say_its_numbers():
    runs = recipes.by_name("sl-dose")["0.9"]
    ratios = figures.ratios({"heavy": runs})
    end = np.mean([run.ratio[-1] for run in runs])
    assert ratios.alt == f"Ratio at the end, mean over seeds: heavy {end:.2f}."
    (line,) = [line for line in ratios.fig.axes[0].lines if line.get_gid() == "heavy"]
    assert line.get_ydata() == pytest.approx(np.mean([run.ratio for run in runs], 0))
    pairs = figures.pairs(runs, records.load("sl-dose").table_steps.values)
    assert [ax.get_title() for ax in pairs.fig.axes] == [f"seed {seed}" for seed in range(5)]
    assert [len(ax.lines) for ax in pairs.fig.axes] == [120] * 5


def test_a_perturbation_needs_both_a_basis_and_symbols_that_coincide():
    far, near = np.full(5, 2.0), np.full(5, 1e-9)
    for ranks, anew, verdict in ((16, near, "identity"), (15, near, "fails"), (16, far, "fails")):
        finding = paper("SL").measures["sl-perturbed"]((np.full(5, ranks), far, anew, far))
        assert paper("SL").claims["sl-perturbed"].row(finding)["verdict"] == verdict


def test_a_run_is_close_from_half_of_its_first_ratio_on_or_never():
    run = SimpleNamespace(steps=np.array([0, 5, 9]), ratio=np.array([1.2, 0.5, 0.4]))
    assert measures.close_at(run) == 5
    run.ratio = np.array([0.6, 0.5, 0.4])
    assert measures.close_at(run) == 9
