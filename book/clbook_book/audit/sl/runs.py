"""What was run for SL's claims: each function gives one thing that measures take, once in a process.

Those marked `recorded` are kept as records; the others take less than a second.
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from clbook import sweep
from clbook.experiments import modadd, words
from clbook.experiments.modadd import PAPER, VARIANTS, equivalence, lookup, over_seeds
from clbook.experiments.modadd.classifier import STARTS
from clbook.results.labelled import padded
from clbook_book.audit.sl import plain, tables, theorems
from clbook_book.course.modadd import lookup_figures
from clbook_book.records import by_name, fields, over_time, recorded

THREE, FIVE, TEN = range(3), range(5), range(10)  # seeds
CURVES = ("loss", "equivalent", "different")
AXES = {
    **dict.fromkeys((*CURVES, "floor", "held", "twin_nearest"), "run step"),
    "steps": "step",
    "table_steps": "table_step",
    "groups": "run table_step",
    "tables": "run symbol dim",
    "accuracy_at": "classifier_step",
    "accuracy": "run start classifier_step",
}


def results_of(read, kind: type, quantities) -> dict[str, list]:
    """{variant: the Results of this kind, a seed each} of a record; quantities(its row of a run): what a Result has.

    The chapters' figures and measures take Results, as those of a sweep.
    """
    record, configs, found = read(), iter(read.recipe.configs), {}
    for variant in record.variant.values:
        found[variant] = []
        for seed in record.seed.values:
            own = quantities(record.sel(variant=variant, seed=seed))
            found[variant].append(kind.__new__(kind))
            vars(found[variant][-1]).update(own, config=next(configs))
    return found


# Section 1: SimCLR on tables. Section 5: the tasks.


# SimCLR on tables: distances of equivalent views, of the nearest others, and where none are equivalent.
views = functools.cache(theorems.views)
# Different rows in the tables of ModAdd and CModAdd, N = 101 and k = 10; whether they are the classes mod k.
classes = functools.cache(theorems.classes)


@functools.cache
def aligned():
    """Which symbols are equivalent in ModAdd, and which in CModAdd: `equivalence.check` of both."""
    return equivalence.check(equivalence.cmodadd_table(), equivalence.modadd_table())


# Theorems: optima of look-up tables in float64, five seeds.


OPTIMA = {  # what is changed in the random table, or in the loss
    "all hypotheses": {},
    "(1) broken": {"broken": "answers"},
    "(2) broken": {"broken": "contexts"},
    "(3) impossible:\n24 columns, d = 32": {"contexts": 12, "d": 32},
    "softmax over symbols": {"over": "symbols"},
}


@recorded("sl-twins")
def twins(seeds=FIVE):
    """{what is changed: distances of the twins at the optimum, (seeds, pairs)}."""
    found = {}
    for name, changes in OPTIMA.items():
        runs = sweep(lookup.run, [lookup.Config(seed=seed, **changes) for seed in seeds])
        found[name] = np.array([lookup_figures.twins(run)[0] for run in runs])
    return found


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
unlabelled = recorded("sl-unlabelled")(theorems.unlabelled)
BATCHES = [0, 2, 4], [0, 1, 5, 7]  # symbols in the batches on which Lemma A.1 is tried


def _lemma_errors(run) -> tuple[float, float]:
    """What Lemma A.1 is off by on one of the two batches at least, at any optimum; and, at this one, its error with the
    softmax over the batch on the left side."""
    density, score = np.exp(lookup.pmi(run.joint)), np.exp(run.z[-1] @ run.c[-1].T)
    right, softmax = ([x[batch] / x[batch].sum(0) for batch in BATCHES] for x in (density, score))
    first, second = (of_batch[0] for of_batch in right)  # of symbol 0; its left side is one number
    off = [np.abs(a - b).max() for a, b in zip(right, softmax, strict=True)]
    return np.abs(first - second).max() / 2, max(off)


@recorded("sl-lemma")
def lemma():
    """Both errors of Lemma A.1, (2, seeds)."""
    runs = sweep(lookup.run, [lookup.Config(seed=seed, over="symbols") for seed in FIVE])
    return np.transpose([_lemma_errors(run) for run in runs])


RANDOM_TABLE = lookup.Config(d=32)  # two columns a context
FEW = RANDOM_TABLE.replace(contexts=24)
BASIS = {f"48 columns, d = {d}": FEW.replace(d=d) for d in (8, 16, 24)}
BASIS |= {
    f"{2 * n} columns": RANDOM_TABLE.replace(contexts=n) for n in (16, 20, 24, 28, 32, 40, 50, 100)
}
BASIS |= {  # at the rank of these tables, which is 4, below and above it
    "48 columns, d = 4": FEW.replace(d=4),
    "6 columns, d = 3": RANDOM_TABLE.replace(contexts=3, d=3),
    "6 columns, d = 8": RANDOM_TABLE.replace(contexts=3, d=8),
}
BASIS["48 columns, symbols start at .01"] = FEW.replace(std=0.01)
BASIS["48 columns, decay .0001"] = FEW.replace(decay=1e-4)
BASIS["48 columns, decay .001"] = FEW.replace(decay=1e-3)


@recorded(
    "sl-basis",
    lookup.run,
    BASIS,
    seeds=FIVE,
    start=1.0,
    axes={"loss": "run moment", "twins": "run pair"},
    labels={"moment": ("start", "end")},
)
def basis(results):
    """Optima of random tables with more or fewer contexts, five seeds each.

    Keeps:
        loss: at the start and at the end.
        twins: distance of each pair of twins at the end.
        others: least distance of two symbols that are no twins, at the end.
        narrowest: smallest over largest extent of the contexts at the end.
    """
    ends = [lookup_figures.twins(r) for r in results]
    return {
        "loss": np.stack([r.loss for r in results]),
        "twins": np.stack([near for near, _ in ends]),
        "others": np.array([far.min() for _, far in ends]),
        "narrowest": np.array([tables.narrowest(r.c[-1]) for r in results]),
    }


# d = 1: distances of symbols that mean different things, in a table of four and in CModAdd, (seeds,) each.
one_dimension = functools.cache(theorems.one_dimension)


@recorded("sl-with-decay")
def with_decay(seeds=FIVE):
    """{decay: distances of equivalent and of other symbols at the optimum of CModAdd, for each seed}."""
    found = {}
    for decay in (1e-4, 1e-3, 0.015):
        configs = [lookup.Config(data="cmodadd", decay=decay, seed=seed) for seed in seeds]
        found[decay] = [run.distances() for run in sweep(lookup.run, configs)]
    return found


# Optima of aligned tables without zeros or decay: farthest twins, nearest others, (seeds,) each.
aligned_tables = functools.cache(theorems.aligned)
# Symbols that share no context: alone with theirs, and beside a third symbol that has both.
unshared = functools.cache(theorems.unshared)
# {kind of batch: error of A.5 against the gradient, (seeds,)}.
steps = functools.cache(theorems.steps)


# A transformer and Adam in the book's setting.


STARTED = {
    "pretrained": {"start": STARTS[:1]},
    "both": {"start": STARTS[:2]},
    "all": {"start": STARTS},
}


def of_additions(name, variants: dict, config, seeds=THREE, run=modadd.run, **more):
    """`recorded` for runs on modular addition with each of the changes {name: change}, and for classifiers."""
    configs = {variant: config.replace(**change) for variant, change in variants.items()}
    more = {"curves": CURVES, "labels": STARTED[config.classifier]} | more
    return recorded(name, run, configs, seeds=seeds, record=("floor",), axes=AXES, **more)


def trained(results: list) -> dict:
    """Curves of `modadd.run`s, (runs, T), accuracies (runs, starts, T'), and all vectors at the end."""
    accuracies = [np.array([*r.accuracy.values()]).reshape(len(r.accuracy), -1) for r in results]
    found = over_time(results, *CURVES, "floor")
    found["accuracy_at"] = results[0].accuracy_at
    found["tables"] = np.stack([r.tables[-1] for r in results]).astype(np.float16)
    found["accuracy"] = np.float32(padded(accuracies))
    return found


@functools.cache
def additions(read) -> dict[str, list[modadd.Result]]:
    """{variant: the Results, a seed each} of a record that `trained` made; their tables are the last."""

    def quantities(one):
        found = {curve: one[curve].values for curve in (*CURVES, "floor")}
        found["steps"] = one.step.values
        found["tables"] = one.tables.values.astype(np.float32)[None]
        found["accuracy"] = {
            start: one.accuracy.sel(start=start).values for start in one.start.values
        }
        found["accuracy_at"] = one.accuracy_at.values
        return found

    return results_of(read, modadd.Result, quantities)


@recorded(
    "sl-first",
    modadd.run,
    [modadd.Config(classifier="all")],
    keep=fields(),
    seeds=TEN,
    record=("floor",),
)
def first(runs):
    """The book's setting, ten seeds, and classifiers from three starts."""
    return runs


@functools.cache
def untaught():
    """{start: accuracy at epoch 100 of the classifiers from random and from permuted symbols, (seeds,)}."""
    return {start: over_seeds(first(), start)[-1] for start in STARTS[1:]}


@recorded(
    "sl-all-samples",
    modadd.run,
    [
        modadd.Config(fraction=1.0, epochs=1500).replace(**change)
        for change in modadd.DECAYS.values()
    ],
    keep=fields("tables"),
    seeds=FIVE,
    record=("floor",),
)
def full(runs):
    """The book's setting on all samples, 1,500 epochs, with and without decay and from a small start, five seeds."""
    return by_name(modadd.DECAYS, runs)


@of_additions(
    "sl-shuffled",
    {"shuffled": VARIANTS["shuffled"]},
    modadd.Config(classifier="pretrained"),
    TEN,
)
def dealt(results):
    """Symbols dealt to contexts at random in the book's setting, ten seeds."""
    return trained(results)


def shuffled():
    """Runs on symbols that are dealt to contexts at random."""
    return additions(dealt)["shuffled"]


# Probabilities of the heavy context; at 1/32 it is no heavier than others.
DOSES = (1 / 32, 0.1, 0.3, 0.5, 0.7, 0.9)


@of_additions(
    "sl-dose",
    {p: {"p": p} for p in DOSES},
    modadd.Config(misaligned="all", classifier="pretrained"),
    FIVE,
)
def doses(results):
    """Heavy contexts of every symbol, six probabilities, five seeds each, in the book's setting."""
    return trained(results)


@functools.cache
def dose():
    """{probability of the heavy context of every symbol: runs}."""
    return {float(p): runs for p, runs in additions(doses).items()}


@functools.cache
def split_gaps():
    """Total variation between contexts of equivalent symbols in the samples that SL's runs train on, (10, 8)."""
    return np.array([theorems.split_gaps(run.config) for run in paper()])


# The paper's own setting, ten seeds.


@of_additions("sl-paper", {"base": {}}, PAPER, TEN, start=0.002)
def papers(results):
    """The paper's own setting (SL Sec. 5), ten seeds, and classifiers from three starts."""
    return trained(results)


def paper():
    """Runs with the settings of Section 5, and classifiers from three starts: Fig. 2."""
    return additions(papers)["base"]


SAID = ("lr", "decay", "layers", "epochs", "classifier", "classifier_epochs")  # SL Sec. 5 names


@of_additions(
    "sl-paper-defaults",
    {"defaults": {}},
    plain.Config(**{name: getattr(PAPER, name) for name in SAID}),
    run=plain.run,
    start=0.002,
)
def of_pytorch(results):
    """The paper's setting with the width and the dropout of PyTorch's layers, three seeds (40 minutes each)."""
    return trained(results)


def defaults():
    """The same with the width and the dropout of PyTorch's layers, three seeds."""
    return additions(of_pytorch)["defaults"]


# Names of runs. WITH is SL Fig. 2; those of the appendix are Fig. 5, 6, 7 and 8.
WITH = "base"
OWN = ("no decay", "no decay, small start", "decay, small start", "one symbol, p = .9")
WITHOUT, SMALL, BOTH, ONE = OWN
RANDOM = "random, no decay"  # classifiers from random symbols, without decay as in SL Fig. 5 and 6
COUNTED = 25  # times, spread over those recorded, at which groups of distances are counted


@of_additions(
    "sl-paper-variants",
    {name: VARIANTS[name] for name in OWN},
    PAPER.replace(classifier="pretrained"),
    TEN,
    start=0.002,
)
def appendix(results):
    """SL Fig. 5 to 8 in the paper's own setting, ten seeds each, and classifiers from their tables.

    Keeps, beside `trained`:
        table_steps: some of the recorded times.
        groups: groups into which the distances of different symbols fall at these times.
    """
    at = np.unique(np.linspace(0, len(results[0].steps) - 1, COUNTED).astype(int))
    counts = []
    for r in results:
        counts.append([len(tables.group_sizes(table, theorems.CLASSES)) for table in r.tables[at]])
    return trained(results) | {"table_steps": results[0].steps[at], "groups": np.array(counts)}


@recorded(
    "sl-paper-replaced",
    modadd.run,
    PAPER.replace(misaligned="one", p=1 / 32, epochs=1300, classifier="none"),
    seeds=TEN,
    curves=("equivalent",),
    start=0.02,
    axes=AXES,
)
def replaced(results):
    """The first epochs of SL Fig. 8's control, ten seeds: even contexts that are drawn with replacement."""
    return over_time(results, *CURVES)


@of_additions(
    "sl-paper-random",
    {"random": {}},
    PAPER.replace(decay=0.0, epochs=1, classifier="both"),
    TEN,
    curves=("accuracy",),
)
def from_random(results):
    """Classifiers from random symbols in the paper's own setting but without decay, ten seeds."""
    return trained(results)


@of_additions(
    "sl-paper-wide",
    {"d = 128": {"d": 128}},
    PAPER.replace(classifier="both"),
    TEN,
    start=0.001,
)
def wide(results):
    """SL Fig. 4 (d = 128) in the paper's own setting, ten seeds."""
    return trained(results)


@functools.cache
def own():
    """{variant of the appendix: runs}, and one of random symbols without decay: Fig. 2 and 4 to 8."""
    return {
        WITH: paper(),
        **additions(appendix),
        RANDOM: additions(from_random)["random"],
        **additions(wide),
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
        different = [tables.distances(run.tables[-1], theorems.CLASSES)[1] for run in runs]
        found[name] = np.min(different, 1)
    return found


@functools.cache
def own_groups():
    """Groups of distances of different symbols at the end of Fig. 7, (seeds,)."""
    ends = [run.tables[-1] for run in own()[BOTH]]
    return np.array([len(tables.group_sizes(table, theorems.CLASSES)) for table in ends])


# Words.


SPOKEN = ("loss", "held", "twin_nearest")  # of `words.run`
KINDS = ("injected", "natural", "random, injected", "random, natural")  # of pairs of words


def of_distances(name, configs, seeds=()):
    """`recorded` for whole runs on words, but without their tables."""
    return recorded(name, words.run, configs, fields("table"), seeds, start=0.085, record=SPOKEN)


@of_distances("sl-words-fixed", [words.Config()], FIVE)
def words_fixed_toss(runs):
    """The chapter's runs on words, five seeds."""
    return runs  # one toss of a coin an occurrence says which of two twins a word is


@of_distances(
    "sl-words-others",
    [
        words.Config(std=1.0),
        words.Config(std=1.0, lr=2e-2),
        words.Config(sentences=4000, common=30, steps=1500),
        words.Config(steps=750, decay=1e-4),
    ],
)
def words_others(runs):
    """Words from a large start, two rates; a text of 4,000 sentences; weight decay, 750 steps."""
    return runs


def of_words(name, variants: dict):
    """`recorded` for runs on words with each of the changes {name: change}, five seeds each."""
    return recorded(
        name,
        words.run,
        {variant: words.Config(**change) for variant, change in variants.items()},
        seeds=FIVE,
        curves=("loss", "held"),
        start=0.085,
        record=SPOKEN,
        axes=AXES | {"steps": "run step", "distance": "run kind step"},
        labels={"kind": KINDS},
    )


def spoken(results: list) -> dict:
    """Of `words.run`s: mean distances (runs, kinds, T) in the order of `KINDS`; steps, losses, nearest (runs, T)."""
    means = []
    for r in results:
        means.append(np.array([r.distances[kind].mean(1) for kind in KINDS]))
    found = over_time(results, *SPOKEN)
    found["distance"] = np.float32(padded(means))
    found["steps"] = np.stack([r.steps for r in results])
    return found


@functools.cache
def said(read) -> dict[str, list[words.Result]]:
    """{variant: the Results, a seed each} of a record that `spoken` made: mean distances in place of all pairs' own."""

    def quantities(one):
        found = {curve: one[curve].values for curve in SPOKEN}
        found["steps"] = one.recorded_steps.values
        found["distances"] = {kind: one.distance.sel(kind=kind).values[:, None] for kind in KINDS}
        return found

    return results_of(read, words.Result, quantities)


@of_words(
    "sl-words",
    {
        "start 1": {"std": 1.0},
        "start 1, lr 0.02": {"std": 1.0, "lr": 2e-2},
        "window 20": {"window": 20},
        "transformer": {"encoder": "transformer", "batch": 256, "steps": 1500},
        "duplicates kept": {"masked": False, "steps": 750},
    },
)
def words_left_open(results):
    """Words from other starts, with longer contexts, a transformer, other negatives; five seeds each.

    Keeps:
        distance: mean distance of the pairs of each kind.
    """
    return spoken(results)


def words_fast():
    """From a start of size 1 with ten times the learning rate."""
    return said(words_left_open)["start 1, lr 0.02"]


def words_whole_sentence():
    """With twenty words on each side."""
    return said(words_left_open)["window 20"]


def words_transformer():
    """With a transformer as encoder."""
    return said(words_left_open)["transformer"]
