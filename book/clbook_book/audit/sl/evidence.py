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
from clbook_book.audit.sl import checks, computed, recipes, tables
from clbook_book.audit.sl.measures import BOTH, ONE, WITH, WITHOUT
from clbook_book.audit.sl.recipes import RANDOM

SEEDS, TEN = range(5), range(10)
BATCHES = computed.BATCHES


def of_variant(name: str, variant: str):
    """Gives the runs of one variant of the record `name`, one a seed."""
    return functools.cache(lambda: recipes.by_name(name)[variant])


# Section 1: SimCLR on tables. Section 5: the tasks.


# SimCLR on tables: distances of equivalent views, of the nearest others, and where none are equivalent.
views = functools.cache(checks.views)
# Different rows in the tables of ModAdd and CModAdd, N = 101 and k = 10; whether they are the classes mod k.
classes = functools.cache(checks.classes)


@functools.cache
def aligned():
    """Which symbols are equivalent in ModAdd, and which in CModAdd: `equivalence.check` of both."""
    return equivalence.check(equivalence.cmodadd_table(), equivalence.modadd_table())


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
# Optima of random tables with more or fewer contexts.
basis = of_record("sl-basis")
# Contexts that lack a basis are perturbed: twins before it, and after minimising again, (2, seeds).
pushed = functools.cache(checks.pushed)
# d = 1: distances of symbols that mean different things, in a table of four and in CModAdd, (seeds,) each.
one_dimension = functools.cache(checks.one_dimension)
# {decay: distances of equivalent and of other symbols at the optimum of CModAdd, for each seed}.
with_decay = of_computed("sl-with-decay")
# Optima of aligned tables without zeros or decay: farthest twins, nearest others, (seeds,) each.
aligned_tables = functools.cache(checks.aligned)
# No two symbols share a context, and the encoder keeps (c - b) mod k: farthest equivalent, nearest others.
by_class = functools.cache(checks.by_class)
# {kind of batch: error of A.5 against the gradient, (seeds,)}.
steps = functools.cache(checks.steps)


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


# Runs on symbols that are dealt to contexts at random (a record).
shuffled = of_variant("sl-shuffled", "shuffled")
# Runs on contexts without the answer (a record).
no_answer = of_variant("sl-samples", "no answer")
# Runs on samples in which equivalent symbols share no context (a record).
apart = of_variant("sl-samples", "apart")


@functools.cache
def dose():
    """{probability of the heavy context of every symbol: runs} (a record)."""
    return {float(p): runs for p, runs in recipes.by_name("sl-dose").items()}


@functools.cache
def split_gaps():
    """Total variation between contexts of equivalent symbols in the samples that SL's runs train on, (10, 8)."""
    return np.array([checks.split_gaps(run.config) for run in paper()])


@functools.cache
def gaps():
    """Total variation between the contexts of two equivalent symbols, for each probability of `dose`."""
    p = np.array(recipes.DOSES)
    return (32 * p - 1) / 31


# Runs whose classifiers have 1,000 epochs, five seeds (a record).
long = of_variant("sl-starts", "base")


@functools.cache
def oracle():
    """Accuracy over these epochs of classifiers that start from one random vector a class, (seeds, T) (a record)."""
    return records.load("sl-oracle").accuracy.values


# The paper's own setting, ten seeds: records.


# Runs with the settings of Section 5, and classifiers from three starts: Fig. 2.
paper = of_variant("sl-paper", "base")
# The same with the width and the dropout of PyTorch's layers, three seeds.
defaults = of_variant("sl-paper-defaults", "defaults")


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
def own_groups():
    """Groups of distances of different symbols at the end of Fig. 7, (seeds,)."""
    ends = [run.tables[-1] for run in own()[BOTH]]
    return np.array([len(tables.group_sizes(table, checks.CLASSES)) for table in ends])


# Words.


# The chapter's runs, five seeds: one toss of a coin an occurrence says which of two twins a word is.
words_fixed_toss = of_runs("sl-words-fixed")


@functools.cache
def _said():
    """{choice that the paper leaves open: runs, one a seed} (a record)."""
    return recipes.said("sl-words")


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
