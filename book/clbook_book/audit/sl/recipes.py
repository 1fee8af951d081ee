"""Records of the page of SL: runs in the paper's own setting, and those that are too long for a build."""

from __future__ import annotations

import functools

import numpy as np

from clbook.experiments import modadd, words
from clbook.experiments.modadd import PAPER, VARIANTS, lookup
from clbook.experiments.modadd.classifier import STARTS
from clbook.results.labelled import padded
from clbook_book import records
from clbook_book.audit.judging import computed_records
from clbook_book.audit.sl import checks, coin, computed, plain, tables, training
from clbook_book.course.modadd.lookup_figures import twins
from clbook_book.records import Recipe, fields

SEEDS = range(3)
FIVE = range(5)
TEN = range(10)
KINDS = ("injected", "natural", "random, injected", "random, natural")  # of pairs of words
COUNTED = 25  # times, spread over those recorded, at which groups of distances are counted
CURVES = ("loss", "equivalent", "different")
SPOKEN = ("loss", "held", "twin_nearest")  # of `words.run`

# The appendix in the paper's own setting (Fig. 5 to 8) and in the book's; base is a record, or a run, of its own.
OWN = ("no decay", "no decay, small start", "decay, small start", "one symbol, p = .9")
RANDOM = "random, no decay"  # classifiers from random symbols, without decay as in SL Fig. 5 and 6
DOSES = (
    1 / 32,
    0.1,
    0.3,
    0.5,
    0.7,
    0.9,
)  # probabilities of the heavy context; at 1/32 it is no heavier than others
# Settings of `lookup.Config` beside d = 32; two columns a context.
BASIS = {f"48 columns, d = {d}": {"contexts": 24, "d": d} for d in (8, 16, 24)}
BASIS |= {f"{2 * n} columns": {"contexts": n} for n in (16, 20, 24, 28, 32, 40, 50, 100)}
BASIS["48 columns, symbols start at .01"] = {"contexts": 24, "std": 0.01}
BASIS["48 columns, decay .0001"] = {"contexts": 24, "decay": 1e-4}
BASIS["48 columns, decay .001"] = {"contexts": 24, "decay": 1e-3}
SAMPLES = {  # settings of `training.Config`
    "no answer": {"drawn": "no answer", "fraction": 1.0},
    "apart": {"drawn": "apart", "fraction": 0.5},
    "plain": {"drawn": "plain", "fraction": 0.5},
}
WORDS = {  # settings of `words.Config`
    "start 1": {"std": 1.0},
    "start 1, lr 0.02": {"std": 1.0, "lr": 2e-2},
    "window 20": {"window": 20},
    "transformer": {"encoder": "transformer", "batch": 256, "steps": 1500},
    "duplicates kept": {"masked": False, "steps": 750},
}


def seeded(variants: dict, config, seeds=SEEDS) -> tuple:
    """`config` with each of the changes {name: change}, a run a seed, name by name."""
    return tuple(
        config.replace(seed=seed, **change) for change in variants.values() for seed in seeds
    )


def each(names, seeds=SEEDS) -> np.ndarray:
    """The name of each run of `seeded`, as text."""
    return np.repeat([str(name) for name in names], len(seeds))


def over_time(values: list) -> np.ndarray:
    """Curves of several runs as one array, (runs, ..., T) in float32, NaN where a run had ended."""
    return np.float32(padded(values))


def trained(results: list) -> dict:
    """Curves of `modadd.run`s, (runs, T), accuracies (runs, starts, T'), and all vectors at the end."""
    accuracies = [np.array([*r.accuracy.values()]).reshape(len(r.accuracy), -1) for r in results]
    found = curves(results, (*CURVES, "floor"))
    found["accuracy_at"] = results[0].accuracy_at
    found["tables"] = np.stack([r.tables[-1] for r in results]).astype(np.float16)
    found["accuracy"] = over_time(accuracies)
    return found


def banded(results: list) -> dict:
    """`trained`, and how many groups the distances of different symbols fall into at some of the recorded times."""
    at = np.unique(np.linspace(0, len(results[0].steps) - 1, COUNTED).astype(int))
    counts = []
    for r in results:
        counts.append([len(tables.group_sizes(table, checks.CLASSES)) for table in r.tables[at]])
    return trained(results) | {"table_steps": results[0].steps[at], "groups": np.array(counts)}


def curves(results: list, names) -> dict:
    """The times of the first run, which is the longest, and {name: (runs, ..., T)} of fields of the runs."""
    found = {"steps": results[0].steps}
    for name in names:
        found[name] = over_time([getattr(result, name) for result in results])
    return found


def runs_of(name: str, kind: type, quantities) -> dict[str, list]:
    """{variant: the Results of this kind, a seed each} of a record; quantities(its row of a run): what a Result has.

    The chapters' figures and measures take Results, as those of a sweep.
    """
    record = records.load(name)
    configs = iter(RECIPES[name].configs)
    found = {}
    for variant in record.variant.values:
        found[variant] = []
        for seed in record.seed.values:
            own = quantities(record.sel(variant=variant, seed=seed))
            found[variant].append(kind.__new__(kind))
            vars(found[variant][-1]).update(own, config=next(configs))
    return found


def by_name(name: str) -> dict[str, list[modadd.Result]]:
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

    return runs_of(name, modadd.Result, quantities)


def said(name: str) -> dict[str, list[words.Result]]:
    """{variant: the Results, a seed each} of a record that `spoken` made: mean distances in place of all pairs' own."""

    def quantities(one):
        found = {curve: one[curve].values for curve in SPOKEN}
        found["steps"] = one.recorded_steps.values
        found["distances"] = {kind: one.distance.sel(kind=kind).values[:, None] for kind in KINDS}
        return found

    return runs_of(name, words.Result, quantities)


def optima(results: list) -> dict:
    """Of `lookup.run`s: the loss at the start and at the end, twins' and others' distances, extents of the contexts."""
    found = {"loss": np.stack([r.loss for r in results])}
    found["twins"] = np.stack([twins(r)[0] for r in results])
    found["others"] = np.array([twins(r)[1].min() for r in results])
    found["narrowest"] = np.array([tables.narrowest(r.c[-1]) for r in results])
    return found


def spoken(results: list) -> dict:
    """Of `words.run`s: mean distances (runs, kinds, T) in the order of `KINDS`; steps, losses, nearest (runs, T)."""
    means = []
    for r in results:
        means.append(np.array([r.distances[kind].mean(1) for kind in KINDS]))
    found = curves(results, SPOKEN)
    found["distance"] = over_time(means)
    found["steps"] = np.stack([r.steps for r in results])
    return found


AXES = {
    **dict.fromkeys((*CURVES, "floor", "held", "twin_nearest"), "run step"),
    "steps": "step",
    "table_steps": "table_step",
    "groups": "run table_step",
    "tables": "run symbol dim",
    "accuracy_at": "classifier_step",
    "accuracy": "run start classifier_step",
}
STARTED = {
    "pretrained": {"start": STARTS[:1]},
    "both": {"start": STARTS[:2]},
    "all": {"start": STARTS},
}
HEARD = AXES | {"steps": "run step", "distance": "run kind step"}
FIRST = tuple(modadd.Config(seed=seed, classifier="all") for seed in TEN)
FIXED = tuple(words.Config(seed=seed) for seed in FIVE)
LONG = modadd.Config(classifier="pretrained", classifier_epochs=1000)
ALL_SAMPLES = seeded(modadd.DECAYS, modadd.Config(fraction=1.0, epochs=1500), FIVE)
SAID = (
    "lr",
    "decay",
    "layers",
    "epochs",
    "classifier",
    "classifier_epochs",
)  # what SL Sec. 5 names
UNSAID = plain.Config(**{name: getattr(PAPER, name) for name in SAID})
STARTED_LARGE = (words.Config(std=1.0), words.Config(std=1.0, lr=2e-2))
SMALL_TEXT = (words.Config(sentences=4000, common=30, steps=1500),)
WITH_DECAY = (words.Config(steps=750, decay=1e-4),)


def of_variants(says, run, variants: dict, config, reduce, curves, seeds=SEEDS, **more) -> Recipe:
    """The Recipe of `config` with each of the changes {name: change}, a run a seed; all else as for `Recipe`."""
    return Recipe(
        says,
        run,
        seeded(variants, config, seeds),
        reduce,
        curves,
        named={"variant": each(variants, seeds)},
        dims=("variant", "seed"),
        **more,
    )


def of_additions(says, variants: dict, config, seeds=SEEDS, run=modadd.run, **more) -> Recipe:
    """The Recipe of runs on modular addition, and of classifiers from the starts that `config` asks for."""
    changed = {"reduce": trained, "curves": CURVES} | more
    return of_variants(
        says,
        run,
        variants,
        config,
        seeds=seeds,
        record=("floor",),
        axes=AXES,
        labels=STARTED[config.classifier],
        **changed,
    )


def of_words(says, variants: dict, run=words.run) -> Recipe:
    """The Recipe of runs on words: what `spoken` keeps."""
    return of_variants(
        says,
        run,
        variants,
        words.Config(),
        spoken,
        ("loss", "held"),
        FIVE,
        start=0.085,
        record=SPOKEN,
        axes=HEARD,
        labels={"kind": KINDS},
    )


def of_distances(says, configs) -> Recipe:
    """The Recipe of whole runs on words, but without their tables."""
    return Recipe(
        says,
        words.run,
        configs,
        fields("table"),
        ("loss",),
        start=0.085,
        record=SPOKEN,
    )


RECIPES = computed_records(
    "sl",
    computed.twins,
    computed.lemma,
    computed.with_decay,
    checks.unlabelled,
)
RECIPES["sl-first"] = Recipe(
    "the book's setting, ten seeds, and classifiers from three starts",
    modadd.run,
    FIRST,
    fields(),
    ("loss",),
    record=("floor",),
)
RECIPES["sl-words-fixed"] = of_distances("the chapter's runs on words, five seeds", FIXED)
RECIPES["sl-words-others"] = of_distances(
    "words from a large start, two rates; a text of 4,000 sentences; weight decay, 750 steps",
    STARTED_LARGE + SMALL_TEXT + WITH_DECAY,
)
RECIPES["sl-paper"] = of_additions(
    "the paper's own setting (SL Sec. 5), ten seeds, and classifiers from three starts",
    {"base": {}},
    PAPER,
    TEN,
    start=0.002,
)
RECIPES["sl-paper-defaults"] = of_additions(
    "the paper's setting with the width and the dropout of PyTorch's layers, three seeds (25 minutes each)",
    {"defaults": {}},
    UNSAID,
    run=plain.run,
    start=0.002,
)
RECIPES["sl-paper-variants"] = of_additions(
    "SL Fig. 5 to 8 in the paper's own setting, ten seeds each, and classifiers from their tables",
    {name: VARIANTS[name] for name in OWN},
    PAPER.replace(classifier="pretrained"),
    TEN,
    reduce=banded,
    start=0.002,
)
RECIPES["sl-paper-random"] = of_additions(
    "classifiers from random symbols in the paper's own setting but without decay, ten seeds",
    {"random": {}},
    PAPER.replace(decay=0.0, epochs=1, classifier="both"),
    TEN,
    curves=("accuracy",),
)
RECIPES["sl-paper-wide"] = of_additions(
    "SL Fig. 4 (d = 128) in the paper's own setting, ten seeds",
    {"d = 128": {"d": 128}},
    PAPER.replace(classifier="both"),
    TEN,
    start=0.001,
)
RECIPES["sl-shuffled"] = of_additions(
    "symbols dealt to contexts at random in the book's setting, ten seeds",
    {"shuffled": VARIANTS["shuffled"]},
    modadd.Config(classifier="pretrained"),
    TEN,
)
RECIPES["sl-dose"] = of_additions(
    "heavy contexts of every symbol, six probabilities, five seeds each, in the book's setting",
    {p: {"p": p} for p in DOSES},
    modadd.Config(misaligned="all", classifier="pretrained"),
    FIVE,
)
RECIPES["sl-samples"] = of_additions(
    "contexts without the answer; contexts that no two symbols share; half of all samples; five seeds each",
    SAMPLES,
    training.Config(classifier="pretrained"),
    FIVE,
    run=training.run,
)
RECIPES["sl-all-samples"] = Recipe(
    "the book's setting on all samples, 1,500 epochs, with and without decay and from a small start, five seeds",
    modadd.run,
    ALL_SAMPLES,
    fields("tables"),
    ("loss",),
    record=("floor",),
)
RECIPES["sl-starts"] = of_additions(
    "the book's setting with 1,000 epochs of the classifiers, five seeds",
    {"base": {}},
    modadd.Config(classifier="all", classifier_epochs=1000),
    FIVE,
    start=0.005,
)
RECIPES["sl-oracle"] = Recipe(
    "classifiers that start from one random vector a class, five seeds",
    training.classify,
    seeded({"oracle": {}}, LONG, FIVE),
    functools.partial(curves, names=("accuracy",)),
    ("accuracy",),
    start=0.03,
    axes={"steps": "step", "accuracy": "run step"},
    dims=("seed",),
)
RECIPES["sl-basis"] = of_variants(
    "optima of random tables with more or fewer contexts, five seeds each",
    lookup.run,
    BASIS,
    lookup.Config(d=32),
    optima,
    ("loss",),
    FIVE,
    start=1.0,
    axes={"loss": "run moment", "twins": "run pair"},
    labels={"moment": ("start", "end")},
)
RECIPES["sl-words"] = of_words(
    "words from other starts, with longer contexts, a transformer, other negatives; five seeds each",
    WORDS,
)
RECIPES["sl-coin"] = of_words(
    "words whose twins are tossed at every draw, five seeds", {"fresh": {}}, coin.run
)
