"""What the claims of SL are judged on: a function for each thing that `measures` takes.

What is trained here comes from the store where it is there, and records are loaded. Each thing is made once in a
process, so the page of SL, which shows most of them, takes them from here, too.
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from clbook.experiments import modadd
from clbook.experiments.modadd import equivalence, lookup, over_seeds
from clbook_book import records
from clbook_book.audit.judging import of_computed, of_record, of_runs
from clbook_book.audit.sl import checks, computed, definitions, recipes, tables
from clbook_book.audit.sl.measures import BOTH, ONE, WITH, WITHOUT
from clbook_book.audit.sl.recipes import RANDOM

SEEDS, TEN = range(5), range(10)
POINTS = 4, 9, 16  # points in the batches on which losses are compared
BATCHES = computed.BATCHES


# Section 1: SimCLR on tables. Sections 2 to 5: the definitions, written out.


@functools.cache
def views():
    """SimCLR on tables: distances of equivalent views, of the nearest others, and where none are equivalent."""
    return checks.views()


@functools.cache
def definition_counts():
    """{definition: pairs of symbols on which the book's code differs from it, that obey it, that do not}."""
    return definitions.definitions()


@functools.cache
def example():
    """Semantic gap of two words that can be exchanged in one context and not in another: over both, and in each."""
    return definitions.example()


@functools.cache
def loss_errors():
    """Error of the book's loss against eq. 1 and eq. 2 as loops, (batches, 2)."""
    return np.array([definitions.loss_errors(n, seed) for seed, n in enumerate(POINTS)])


@functools.cache
def similarities():
    """Errors with the scalar product and with the cosine, and how far the two losses are apart, (batches, 3)."""
    return np.array([definitions.similarities(n, seed) for seed, n in enumerate(POINTS)])


@functools.cache
def figure_1():
    """Of each batch {diagram of Fig. 1: (error of its loss, change of the loss with other labels)}."""
    return [definitions.figure_1(n, seed) for seed, n in enumerate(POINTS)]


@functools.cache
def cropped():
    """Largest error of images put together from a crop and Cutout; change of Cutout with what it hides."""
    return definitions.crop_and_cutout()


@functools.cache
def setting():
    """{setting of Section 5: (as it is given, as the program has it)}."""
    return definitions.own_setting()


@functools.cache
def classes():
    """Different rows in the tables of ModAdd and CModAdd, N = 101 and k = 10; whether they are the classes mod k."""
    return definitions.classes()


@functools.cache
def aligned():
    """Which symbols are equivalent in ModAdd, and which in CModAdd: `equivalence.check` of both."""
    return equivalence.check(equivalence.cmodadd_table(), equivalence.modadd_table())


@functools.cache
def same_columns():
    """Largest difference between the tables of CModAdd and of ModAdd with labels."""
    return checks.same_columns()


@functools.cache
def gap_without_answer():
    """Largest conditional gap of two symbols in CModAdd without the answer."""
    hidden = equivalence.check(tables.no_answer(), equivalence.modadd_table())
    return abs(hidden.conditional).max()


# Theorems: optima of look-up tables in float64, five seeds.


# {what is changed: distances of the twins at the optimum, (seeds, pairs)}.
twins = of_computed("sl-twins")


@functools.cache
def twin_moved():
    """How far one of two twins is moved from the other; {what the softmax sums over: change of the loss by that}.

    A random table of 8 symbols and 8 columns, with its optimal symbols for contexts C = I, which are a basis.
    """
    joint = torch.from_numpy(equivalence.random_table(contexts=4).labelled)
    exact = torch.from_numpy(lookup.pmi(joint.numpy()))
    shifted = exact.clone()
    shifted[1] += 5
    basis = torch.eye(8, dtype=torch.float64)
    change = {}
    for over in ("contexts", "symbols"):
        before, _ = lookup.infonce(exact, basis, joint, over)
        after, _ = lookup.infonce(shifted, basis, joint, over)
        change[over] = abs(float(after) - float(before))
    return float(torch.linalg.norm(shifted[0] - shifted[1])), change


# Twins with the same contexts and other answers: largest distance without labels, smallest with; (seeds,) each.
unlabelled = of_computed("sl-unlabelled")
# Error of Lemma A.1 as printed, and with the softmax over the batch on the left side; (2, batches, seeds).
lemma = of_computed("sl-lemma")


@functools.cache
def lines():
    """Fig. 3: directions that two context vectors leave open, parallel ones and others."""
    return checks.lines()


@functools.cache
def given():
    """{given contexts: largest distance of twins, (seeds,)}."""
    return checks.given()


@functools.cache
def frequencies():
    """With decay and no basis, twins' largest distance: equally frequent ones and others, (seeds,) each."""
    return checks.frequencies()


# Optima of random tables with more or fewer contexts.
basis = of_record("sl-basis")


@functools.cache
def pushed():
    """Contexts that lack a basis are perturbed: directions after it, twins before it and twice after it, (4, seeds)."""
    return checks.pushed()


@functools.cache
def one_dimension():
    """d = 1: distances of symbols that mean different things, in a table of four and in CModAdd, (seeds,) each."""
    return checks.one_dimension()


# How far a symbol that never occurs moves, and the largest distance of the other twins, (seeds,) each.
absent = of_computed("sl-absent")


# {decay: distances of equivalent and of other symbols at the optimum of CModAdd, for each seed}.
with_decay = of_computed("sl-with-decay")


@functools.cache
def aligned_tables():
    """Optima of aligned tables without zeros or decay: farthest twins, nearest others, (seeds,) each."""
    return checks.aligned()


@functools.cache
def by_class():
    """No two symbols share a context, and the encoder keeps (c - b) mod k: farthest equivalent, nearest others."""
    return checks.by_class()


@functools.cache
def several():
    """{in which of two additions symbols agree: their least and largest distance, (seeds, 2)}."""
    return checks.several()


@functools.cache
def steps():
    """{kind of batch: errors of the rules of A.5 against the gradient, a row a seed}."""
    return checks.steps()


# {start: by how much the imbalance is off its law, (seeds,)}.
law_errors = of_computed("sl-law-errors")
# {start: mean distance of equivalent symbols over that of different ones at the end, (seeds,)}.
flow_ratios = of_computed("sl-flow-ratios")


# A transformer and Adam in the book's setting.


# The book's setting, ten seeds, and classifiers from three starts: Fig. 2.
first = of_runs("sl-first")


@functools.cache
def random():
    """Accuracy at epoch 100 of the classifiers from random symbols, (seeds,)."""
    at = list(first()[0].accuracy_at).index(100)
    return over_seeds(first(), "random")[at]


@functools.cache
def full():
    """{start and decay: runs on all samples, 1,500 epochs, one a seed} (a record)."""
    runs = iter(records.runs("sl-all-samples"))
    found = {}
    for name in modadd.DECAYS:
        found[name] = [next(runs) for _ in SEEDS]
    return found


@functools.cache
def trained():
    """{variant of the appendix: runs}: those of `first`, and two records."""
    others = recipes.by_name("sl-variants") | recipes.by_name("sl-wide")
    return {"base": first(), **others}


@functools.cache
def shuffled():
    """Runs on symbols that are dealt to contexts at random (a record)."""
    return recipes.by_name("sl-shuffled")["shuffled"]


# Runs with shared parameters, and their loss on the samples left out.
sides = of_record("sl-shared")


@functools.cache
def no_answer():
    """Runs on contexts without the answer (a record)."""
    return recipes.by_name("sl-samples")["no answer"]


@functools.cache
def apart():
    """Runs on samples in which equivalent symbols share no context (a record)."""
    return recipes.by_name("sl-samples")["apart"]


@functools.cache
def dose():
    """{probability of the heavy context of every symbol: runs} (a record)."""
    return {float(p): runs for p, runs in recipes.by_name("sl-dose").items()}


@functools.cache
def gaps():
    """Total variation between the contexts of two equivalent symbols, for each probability of `dose`."""
    p = np.array(recipes.DOSES)
    return (32 * p - 1) / 31


@functools.cache
def long():
    """Runs whose classifiers have 1,000 epochs, five seeds (a record)."""
    return recipes.by_name("sl-starts")["base"]


@functools.cache
def oracle():
    """Accuracy over these epochs of classifiers that start from one random vector a class, (seeds, T) (a record)."""
    return records.load("sl-oracle").accuracy.values


# The paper's own setting, ten seeds: records.


@functools.cache
def paper():
    """Runs with the settings of Section 5, and classifiers from three starts: Fig. 2."""
    return recipes.by_name("sl-paper")["base"]


@functools.cache
def defaults():
    """The same with the width and the dropout of PyTorch's layers, three seeds."""
    return recipes.by_name("sl-paper-defaults")["defaults"]


@functools.cache
def own():
    """{variant of the appendix: runs}, and one of random symbols without decay: Fig. 2 and 4 to 8."""
    return {
        WITH: paper(),
        **recipes.by_name("sl-paper-variants"),
        RANDOM: recipes.by_name("sl-paper-random")["random"],
        **recipes.by_name("sl-paper-wide"),
    }


@functools.cache
def own_wide():
    """Runs with d = 128: Fig. 4."""
    return own()["d = 128"]


def _ratio_of_uneven(drawn, run) -> float:
    """Ratio, in `run`, of the pair of symbols that has uneven contexts in the run `drawn`."""
    uneven = modadd.Samples(drawn.config)
    u = uneven.symbols[uneven.weights.argmax()]
    first = run.tables[-1][u]
    second = run.tables[-1][(u + 8) % 16]
    return np.linalg.norm(first - second) / run.different[-1]


@functools.cache
def own_uneven():
    """{variant: the ratio of the pair that is uneven in Fig. 8, (seeds,)}."""
    found = {}
    for name in (WITH, WITHOUT, ONE):
        pairs = zip(own()[ONE], own()[name], strict=True)
        found[name] = np.array([_ratio_of_uneven(drawn, run) for drawn, run in pairs])
    return found


@functools.cache
def own_nearest():
    """{variant: distance of the two nearest different symbols, (seeds,)}."""
    found = {}
    for name, runs in own().items():
        different = [tables.distances(run.tables[-1], checks.CLASSES)[1] for run in runs]
        found[name] = np.min(different, 1)
    return found


@functools.cache
def own_closest():
    """Of Fig. 2: farthest equivalent pair, nearest different one, and how many of these are closer; (seeds,) each."""
    found = []
    for run in paper():
        equivalent, different = tables.distances(run.tables[-1], checks.CLASSES)
        closer = (different < equivalent[-1]).sum()
        found.append((equivalent[-1], different[0], closer))
    farthest, nearest, closer = np.array(found).T
    return farthest, nearest, closer.astype(int)


@functools.cache
def own_groups():
    """Groups of distances of different symbols at the end of Fig. 7, (seeds,)."""
    ends = [run.tables[-1] for run in own()[BOTH]]
    return np.array([len(tables.group_sizes(table, checks.CLASSES)) for table in ends])


# Words.


# The chapter's runs, five seeds: one toss of a coin an occurrence says which of two twins a word is.
words_fixed_toss = of_runs("sl-words-fixed")
# The same with the softmax over symbols, 750 steps.
words_over_symbols = of_runs("sl-words-over-symbols")


@functools.cache
def words_fresh_toss():
    """The same with a toss at every draw (a record)."""
    return recipes.said("sl-coin")["fresh"]


@functools.cache
def _said():
    """{choice that the paper leaves open: runs, one a seed} (a record)."""
    return recipes.said("sl-words")


@functools.cache
def words_start_1():
    """The same from a start of standard deviation 1."""
    return _said()["start 1"]


@functools.cache
def words_fast():
    """The same from that start with ten times the learning rate."""
    return _said()["start 1, lr 0.02"]


@functools.cache
def words_whole_sentence():
    """The same with twenty words on each side."""
    return _said()["window 20"]


@functools.cache
def words_transformer():
    """The same with a transformer as encoder."""
    return _said()["transformer"]


# The same with weight decay, 750 steps.
words_decay = of_runs("sl-words-decay")
