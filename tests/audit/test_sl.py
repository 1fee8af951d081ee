"""What SL's page adds: other tables and their optima, the steps of a batch, PyTorch's own encoder."""

import numpy as np
import pytest
import torch

from clbook import data
from clbook.experiments import modadd
from clbook.experiments.modadd import equivalence, lookup
from clbook.losses import symbol_context
from clbook.training.loop import one_thread
from clbook_book.audit.sl import figures, measures, plain, runs, tables, theorems

JOINT = equivalence.random_table(0).labelled


def columns(joint):
    """The columns of joint (S, P) that are not zero, in an order of their own, whatever they are called."""
    seen = joint[:, joint.any(0)]
    return seen[:, np.lexsort(seen)]


def test_cmodadd_is_modadd_with_labels_and_without_the_answer_it_is_nothing():
    with_labels, without = equivalence.modadd_table().labelled, equivalence.cmodadd_table().joint
    assert np.array_equal(columns(with_labels), columns(without))
    pairs, _ = data.modadd(6, 3)
    hidden = equivalence.Finite.of(
        row for a, b in pairs.tolist() for row in ((a, f"? + {b}", "", 1), (b, f"{a} + ?", "", 1))
    )
    assert hidden.joint.shape == (6, 12) and np.ptp(hidden.joint) == 0
    # of 15 pairs, 3 are equivalent
    assert len(equivalence.check(hidden, equivalence.modadd_table(6, 3)).misses) == 12


def test_a_third_symbol_joins_two_that_share_no_context_and_that_tell_groups_apart():
    gap = equivalence.conditional_gap(theorems.THIRD)
    assert theorems.THIRD.sum() == pytest.approx(1) and gap[0, 1] == 1 > gap[0, 2] == gap[1, 2]
    z, _ = tables.optimum(theorems.THIRD, decay=0.03, seed=9)
    near, far = tables.distances(z, theorems.PAIRS)
    assert len(near) == 3 and near.max() < 1e-4 and far.min() > 0.8
    z, _ = tables.optimum(theorems.THIRD, decay=0.001, seed=9)  # too little to join them
    assert tables.distances(z, theorems.PAIRS)[0].min() > 1


def test_views_of_a_point_are_alike_and_one_table_joins_those_of_the_same_points():
    joint = tables.views()
    assert joint == pytest.approx(joint.T) and joint.sum() == pytest.approx(1)
    gap = equivalence.conditional_gap(joint)
    assert gap[0, 1] == pytest.approx(0, abs=1e-9) and gap[0, 2] > 0.01
    assert equivalence.conditional_gap(tables.views(0, "contexts"))[0, 1] > 0.01
    near, far = tables.distances(tables.one_table(joint), tables.TWINS)
    assert near.max() < far.min() / 100


@one_thread()
def test_optimum_is_the_chapters():
    z, c = tables.optimum(JOINT)
    loss = float(lookup.infonce(*map(torch.from_numpy, (z, c, JOINT)))[0])
    assert loss == pytest.approx(-lookup.mutual_information(JOINT), abs=1e-9)


@pytest.mark.parametrize("d", [1, 3])
def test_twins_have_one_vector_for_any_given_contexts_that_span(d):
    contexts = np.random.default_rng(0).normal(size=(JOINT.shape[1], d))
    given, p = torch.from_numpy(contexts), torch.from_numpy(JOINT)
    start = torch.randn(len(JOINT), d, generator=torch.Generator().manual_seed(0)).double()
    (z,) = tables.minimised(lambda z: lookup.infonce(z, given, p)[0], [start])
    near, far = tables.distances(z, tables.TWINS)
    assert near.max() < 1e-6 < far.min() / 100


@pytest.mark.parametrize("d, meet", [(4, True), (8, False)])
def test_where_no_dimension_is_superfluous_twins_meet(d, meet):
    """Four classes: the table has rank 4 without the means of its rows, and ten columns."""
    for seed in range(2):
        joint = equivalence.random_table(seed, contexts=5).labelled
        information = lookup.pmi(joint)
        centred = information - information.mean(1, keepdims=True)
        assert np.linalg.matrix_rank(centred, 1e-9) == 4
        z, _ = tables.optimum(joint, d, seed=seed)
        assert (tables.distances(z, tables.TWINS)[0].max() < 1e-4) == meet


def test_contexts_can_be_a_basis_where_twins_are_apart():
    """Above the rank, 48 columns: in two of three tables 32 contexts are a basis; in none their differences span."""
    bases = []
    for seed in (2, 3, 4):
        run = lookup.run(runs.FEW.replace(seed=seed))
        contexts, (near, _) = run.c[-1], run.distances()
        extents = np.linalg.svd(contexts, compute_uv=False)
        bases.append(bool(extents[-1] > 0.01 * extents[0]))
        assert near.max() > 2 and tables.narrowest(contexts) < 1e-4
    assert bases == [False, True, True]


def test_decay_takes_the_place_of_a_basis_for_twins_that_are_equally_frequent():
    joint = equivalence.random_table(0, contexts=12).labelled
    equal = joint / joint.sum(1, keepdims=True) / len(joint)
    for table, meet in ((equal, True), (joint, False)):
        z, _ = tables.optimum(table, 16, decay=1e-3)
        assert (tables.distances(z, tables.TWINS)[0].max() < 1e-4) == meet


def test_a_table_of_contexts_treats_symbols_that_share_none_alike():
    order = np.random.default_rng(0).permutation(8)
    assert np.array_equal(columns(theorems.ALONE), columns(theorems.ALONE[order]))
    assert not np.array_equal(
        columns(theorems.THIRD), columns(theorems.THIRD[[2, 1, 0, *range(3, 9)]])
    )


def test_extents():
    flat = np.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    assert tables.narrowest(flat) == 0
    assert tables.narrowest(np.eye(3)[:, :2]) == pytest.approx(3**-0.5)


def test_groups_of_distances_have_a_gap_between_them_and_are_not_too_small():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    none = np.eye(4, dtype=bool)
    assert tables.group_sizes(square, none) == [4, 2]  # four sides, two diagonals
    assert tables.group_sizes(square, none, least=0.5) == [4]
    sides = np.abs(np.subtract.outer(range(4), range(4))) % 2 == 1
    assert tables.group_sizes(square, none | sides) == [2]
    moved = square + [[0.01, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert tables.group_sizes(moved, none) == [4, 2]  # a gap of a hundredth is none


def test_a_5_is_the_gradient_where_symbols_differ_and_is_off_where_one_repeats_or_is_shared():
    assert theorems.update_error(16, 16) < 1e-14 < 0.05 < theorems.update_error(4, 8)
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(9, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    c = (z.roll(1, 0) + z.roll(2, 0)) / 2  # a context is the mean of two other symbols
    (slope,) = torch.autograd.grad(-9 * symbol_context(z, c), z, retain_graph=True)
    printed = c - (z @ c.T).softmax(1) @ c
    assert ((printed - slope).norm(dim=1) > 0.1 * slope.norm(dim=1)).all()


def test_lemma_a_1_is_off_on_two_batches_of_one_size_too():
    found = []
    for seed in range(5):
        density = np.exp(lookup.pmi(equivalence.random_table(seed).labelled))
        first, second = (density[0] / density[batch].sum(0) for batch in ([0, 2, 4], [0, 5, 7]))
        found.append(np.abs(first - second).max() / 2)
    assert f"{min(found):.2f}" == "0.26"


def test_permuted_vectors_are_as_long_as_those_of_uneven_contexts():
    for found, said in ((runs.first()[:5], "2.3 to 2.5"), (runs.dose()[0.3], "2.4 to 2.5")):
        lengths = [np.linalg.norm(run.tables[-1], axis=1).mean() for run in found]
        assert f"{min(lengths):.1f} to {max(lengths):.1f}" == said


def test_a_context_moves_towards_its_symbol_and_away_from_a_sum_of_the_others():
    z, c = torch.randn(2, 9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    (slope,) = torch.autograd.grad(9 * symbol_context(z, c.requires_grad_()), c)
    weights = (z @ c.T).softmax(1).T.detach()
    torch.testing.assert_close(-slope, z - weights @ z)
    assert abs(weights.sum(1) - 1).max() > 0.1  # over the symbols they need not add up to 1


def test_no_equivalent_pair_has_the_same_contexts_in_four_fifths_of_the_samples():
    found = theorems.split_gaps(modadd.PAPER.replace(seed=3))
    assert found.shape == (8,) and found.min() > 0.05
    assert theorems.split_gaps(modadd.PAPER.replace(fraction=1.0)) == pytest.approx(0)


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


def test_its_samples_and_batches_are_the_chapters_of_the_seed():
    for dropout in (0.0, 0.1):
        config = PLAIN.replace(dropout=dropout, classifier="both", classifier_epochs=10)
        found = plain.run(config, record="all")
        assert found.loss[-1] < found.loss[0] and found.accuracy["random"].shape == (2,)
        chapters = modadd.run(modadd.Config(N=6, k=3, batch=12, hidden=16, epochs=4), record="all")
        assert np.array_equal(found.floor, chapters.floor)


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


def test_runs_of_a_record_know_their_settings():
    found, record = runs.additions(runs.doses), runs.doses()
    for variant, of_seeds in found.items():
        for seed, run in enumerate(of_seeds):
            one = record.sel(variant=variant, seed=seed)
            assert run.config.described() == one.config.item()
            assert np.array_equal(run.loss, one.loss)
            assert run.tables.shape == (1, 16, 8)
    assert not list(found.values())[1][0].collapsed


def test_the_figure_of_a_records_runs_says_its_numbers():
    heavy = runs.additions(runs.doses)["0.9"]
    ratios = figures.ratios({"heavy": heavy})
    end = np.mean([run.ratio[-1] for run in heavy])
    assert ratios.alt == f"Ratio at the end, mean over seeds: heavy {end:.2f}."
    (line,) = [line for line in ratios.fig.axes[0].lines if line.get_gid() == "heavy"]
    assert line.get_ydata() == pytest.approx(np.mean([run.ratio for run in heavy], 0))


def test_a_run_is_close_from_half_of_its_first_distance_on_or_never():
    distances = np.array([[1.2, 0.5, 0.4], [0.6, 0.5, 0.4]])
    assert measures.close_at(np.array([0, 5, 9]), distances).tolist() == [5, 9]


def test_decay_joins_different_symbols_before_it_joins_all():
    rows = [[0.47, 0.47, 0.03, 0.03], [0.45, 0.49, 0.03, 0.03], [0.03, 0.03, 0.47, 0.47]]
    joint = np.repeat(rows, 2, 0) / 6
    for decay, least, most in ((1e-3, 0.1, 0.3), (1e-2, 0, 1e-3)):
        z, _ = tables.optimum(joint, decay=decay)
        assert least <= np.linalg.norm(z[0] - z[2]) < most < 1.9 < np.linalg.norm(z[0] - z[4])
