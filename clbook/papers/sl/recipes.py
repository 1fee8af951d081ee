"""Records of the page of SL: runs in the paper's own setting, and those that are too long for a build."""

from __future__ import annotations

import numpy as np
import xarray

from clbook.experiments import modadd, words
from clbook.experiments.modadd import PAPER, VARIANTS, lookup
from clbook.experiments.modadd.classifier import STARTS
from clbook.experiments.modadd.lookup_figures import twins
from clbook.papers.sl import coin, computed, plain, shared, tables, training
from clbook.results import records
from clbook.results.labelled import padded
from clbook.results.records import Computed, Recipe, fields

SEEDS, FIVE, TEN = range(3), range(5), range(10)
KINDS = ("injected", "natural", "random, injected", "random, natural")  # of pairs of words
TABLES = 25  # times, spread over those recorded, at which all vectors are kept
CURVES = ("loss", "equivalent", "different")
SIDES = (*CURVES, "floor", "held")  # of `shared.run`
SPOKEN = ("loss", "held", "twin_nearest")  # of `words.run`

# The appendix in the paper's own setting (Fig. 5 to 8) and in the book's; base is a record, or a run, of its own.
OWN = ("no decay", "no decay, small start", "decay, small start", "one symbol, p = .9")
RANDOM = "random, no decay"  # classifiers from random symbols, without decay as in SL Fig. 5 and 6
OURS = tuple(name for name in VARIANTS if name != "base")
SHARED = ("none", "table", "all")  # what the two sides have in common
DOSES = (
    1 / 32,
    0.1,
    0.3,
    0.5,
    0.7,
    0.9,
)  # probabilities of the heavy context; at 1/32 it is no heavier than others
BASIS = {  # settings of `lookup.Config` beside d = 32; two columns a context
    "48 columns, d = 8": {"contexts": 24, "d": 8},
    "48 columns, d = 16": {"contexts": 24, "d": 16},
    "48 columns, d = 24": {"contexts": 24, "d": 24},
    **{f"{2 * n} columns": {"contexts": n} for n in (16, 20, 24, 28, 32, 40, 50, 100)},
    "48 columns, symbols start at .01": {"contexts": 24, "std": 0.01},
    "48 columns, decay .0001": {"contexts": 24, "decay": 1e-4},
    "48 columns, decay .001": {"contexts": 24, "decay": 1e-3},
}
WORDS = {  # settings of `words.Config`
    "start 1": {"std": 1.0},
    "start 1, lr 0.02": {"std": 1.0, "lr": 2e-2},
    "window 20": {"window": 20},
    "transformer": {"encoder": "transformer", "batch": 256, "steps": 1500},
    "duplicates kept": {"masked": False, "steps": 750},
}


def seeded(variants: dict, config, seeds=SEEDS, **settings) -> tuple:
    """`config` with each of the changes {name: change}, a run a seed, name by name."""
    return tuple(
        config.replace(seed=seed, **settings, **change)
        for change in variants.values()
        for seed in seeds
    )


def each(names, seeds=SEEDS) -> np.ndarray:
    """The name of each run of `seeded`, as text."""
    return np.repeat([str(name) for name in names], len(seeds))


def over_time(values: list) -> np.ndarray:
    """Curves of several runs as one array, (runs, ..., T) in float32, NaN where a run had ended."""
    return np.float32(padded(values))


def trained(results: list, tables: int = TABLES) -> dict:
    """Curves of `modadd.run`s, (runs, T), and accuracies (runs, starts, T'); vectors at as many times as `tables`."""
    first = results[0]
    at = np.unique(np.linspace(0, len(first.steps) - 1, tables).astype(int))
    return contrastive(results) | {
        "accuracy_at": first.accuracy_at,
        "table_steps": first.steps[at],
        "tables": np.stack([r.tables[at] for r in results]).astype(np.float16),
        "accuracy": over_time(
            [np.array([*r.accuracy.values()]).reshape(len(r.accuracy), -1) for r in results]
        ),
    }


def contrastive(results: list) -> dict:
    """Curves of `modadd.run`s of which the first is the longest, (runs, T), without vectors and classifiers."""
    found = {"steps": results[0].steps}
    for name in (*CURVES, "floor"):
        found[name] = over_time([getattr(result, name) for result in results])
    return found


def runs_of(record: xarray.Dataset, name: str):
    """(name of its variant, its config, the record's row) of each run of the record `name`."""
    configs = iter(RECIPES[name].configs)
    for variant in record.variant.values:
        for seed in record.seed.values:
            yield variant, next(configs), record.sel(variant=variant, seed=seed)


def by_name(name: str) -> dict[str, list[modadd.Result]]:
    """{variant: the Results, a seed each} of a record that `trained` made; their tables are those at `table_steps`.

    The chapter's figures and measures take Results, as those of a sweep.
    """
    record, found = records.load(name), {}
    for variant, config, one in runs_of(record, name):
        accuracy = {start: one.accuracy.sel(start=start).values for start in one.start.values}
        curves = {curve: one[curve].values for curve in (*CURVES, "floor")}
        result = modadd.Result(
            config=config,
            seconds=0.0,
            device="cpu",
            stopped=False,
            steps=record.step.values,
            accuracy=accuracy,
            tables=one.tables.values.astype(np.float32),
            accuracy_at=record.accuracy_at.values,
            **curves,
        )
        found.setdefault(variant, []).append(result)
    return found


def said(name: str) -> dict[str, list[words.Result]]:
    """{variant: the Results, a seed each} of a record that `spoken` made: mean distances in place of all pairs' own."""
    record, found = records.load(name), {}
    for variant, config, one in runs_of(record, name):
        distances = {kind: one.distance.sel(kind=kind).values[:, None] for kind in KINDS}
        curves = {curve: one[curve].values for curve in SPOKEN}
        result = words.Result(
            config=config,
            seconds=0.0,
            device="cpu",
            stopped=False,
            words=[],
            counts=None,
            pairs={},
            distances=distances,
            steps=one.recorded_steps.values,
            **curves,
        )
        found.setdefault(variant, []).append(result)
    return found


def optima(results: list) -> dict:
    """Of `lookup.run`s: the loss at the start and at the end, twins' and others' distances, extents of the contexts."""
    return {
        "loss": np.stack([r.loss for r in results]),
        "twins": np.stack([twins(r)[0] for r in results]),
        "others": np.array([twins(r)[1].min() for r in results]),
        "narrowest": np.array([tables.narrowest(r.c[-1]) for r in results]),
    }


def spoken(results: list) -> dict:
    """Of `words.run`s: mean distances (runs, kinds, T) in the order of `KINDS`; steps, losses, nearest (runs, T)."""
    means = [np.array([r.distances[kind].mean(1) for kind in KINDS]) for r in results]
    return {
        "distance": over_time(means),
        "steps": np.stack([r.steps for r in results]),
        **{name: over_time([getattr(r, name) for r in results]) for name in SPOKEN},
    }


def names(result) -> np.ndarray:
    """The names of the symbols, a line each, as one text."""
    return np.array("\n".join(result.words))


AXES = {
    **dict.fromkeys((*SIDES, "twin_nearest"), "run step"),
    "steps": "step",
    "table_steps": "table_step",
    "tables": "run table_step symbol dim",
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
FIXED = tuple(words.Config(seed=seed) for seed in SEEDS)
SAID = (
    "lr",
    "decay",
    "layers",
    "epochs",
    "classifier",
    "classifier_epochs",
)  # what SL Sec. 5 names
UNSAID = plain.Config(**{name: getattr(PAPER, name) for name in SAID})
WITH_DECAY = (words.Config(steps=750, decay=1e-4),)
COMPUTED = (
    computed.twins,
    computed.lemma,
    computed.law_errors,
    computed.flow_ratios,
    computed.with_decay,
)
RECIPES = {
    **{f"sl-{one.__name__.replace('_', '-')}": Computed(one) for one in COMPUTED},
    "sl-first": Recipe(
        "the book's setting, ten seeds, and classifiers from three starts",
        modadd.run,
        FIRST,
        fields("tables"),
        ("loss",),
        record=("floor",),
    ),
    "sl-words-fixed": Recipe(
        "the chapter's runs on words, three seeds",
        words.run,
        FIXED,
        fields("table", words=names),
        ("loss",),
        start=0.085,
        record=SPOKEN,
    ),
    "sl-words-decay": Recipe(
        "words with weight decay, 750 steps",
        words.run,
        WITH_DECAY,
        fields("table"),
        ("loss",),
        start=0.085,
        record=SPOKEN,
    ),
    "sl-paper": Recipe(
        "the paper's own setting (SL Sec. 5), ten seeds, and classifiers from three starts",
        modadd.run,
        seeded({"base": {}}, PAPER, TEN),
        trained,
        CURVES,
        start=0.002,
        record=("floor",),
        axes=AXES,
        labels=STARTED["all"],
        named={"variant": each(("base",), TEN)},
        dims=("variant", "seed"),
    ),
    "sl-paper-defaults": Recipe(
        "the paper's setting with the width and the dropout of PyTorch's layers, three seeds (25 minutes each)",
        plain.run,
        seeded({"defaults": {}}, UNSAID),
        trained,
        CURVES,
        start=0.002,
        record=("floor",),
        axes=AXES,
        labels=STARTED["all"],
        named={"variant": each(("defaults",))},
        dims=("variant", "seed"),
    ),
    "sl-paper-variants": Recipe(
        "SL Fig. 5 to 8 in the paper's own setting, ten seeds each, and classifiers from their tables",
        modadd.run,
        seeded({name: VARIANTS[name] for name in OWN}, PAPER, TEN, classifier="pretrained"),
        trained,
        CURVES,
        start=0.002,
        record=("floor",),
        axes=AXES,
        labels=STARTED["pretrained"],
        named={"variant": each(OWN, TEN)},
        dims=("variant", "seed"),
    ),
    "sl-paper-random": Recipe(
        "classifiers from random symbols in the paper's own setting but without decay, ten seeds",
        modadd.run,
        seeded({"random": {}}, PAPER, TEN, decay=0.0, epochs=1, classifier="both"),
        trained,
        ("accuracy",),
        record=("floor",),
        axes=AXES,
        labels=STARTED["both"],
        named={"variant": each(("random",), TEN)},
        dims=("variant", "seed"),
    ),
    "sl-paper-wide": Recipe(
        "SL Fig. 4 (d = 128) in the paper's own setting, ten seeds",
        modadd.run,
        seeded({"d = 128": {"d": 128}}, PAPER, TEN, classifier="both"),
        lambda results: trained(results, 2),
        CURVES,
        start=0.001,
        record=("floor",),
        axes=AXES,
        labels=STARTED["both"],
        named={"variant": each(("d = 128",), TEN)},
        dims=("variant", "seed"),
    ),
    "sl-variants": Recipe(
        "SL Fig. 5 to 8 and a control in the book's setting, five seeds each",
        modadd.run,
        seeded(
            {name: VARIANTS[name] for name in OURS}, modadd.Config(), FIVE, classifier="pretrained"
        ),
        trained,
        CURVES,
        record=("floor",),
        axes=AXES,
        labels=STARTED["pretrained"],
        named={"variant": each(OURS, FIVE)},
        dims=("variant", "seed"),
    ),
    "sl-shuffled": Recipe(
        "symbols dealt to contexts at random in the book's setting, ten seeds",
        modadd.run,
        seeded({"shuffled": VARIANTS["shuffled"]}, modadd.Config(), TEN, classifier="pretrained"),
        trained,
        CURVES,
        record=("floor",),
        axes=AXES,
        labels=STARTED["pretrained"],
        named={"variant": each(("shuffled",), TEN)},
        dims=("variant", "seed"),
    ),
    "sl-wide": Recipe(
        "SL Fig. 4 (d = 128) in the book's setting, three seeds",
        modadd.run,
        seeded({"d = 128": {"d": 128}}, modadd.Config(), classifier="both"),
        trained,
        CURVES,
        record=("floor",),
        axes=AXES,
        labels=STARTED["both"],
        named={"variant": each(("d = 128",))},
        dims=("variant", "seed"),
    ),
    "sl-dose": Recipe(
        "heavy contexts of every symbol, six probabilities, five seeds each, in the book's setting",
        modadd.run,
        seeded(
            {p: {"p": p} for p in DOSES},
            modadd.Config(),
            FIVE,
            misaligned="all",
            classifier="pretrained",
        ),
        trained,
        CURVES,
        record=("floor",),
        axes=AXES,
        labels=STARTED["pretrained"],
        named={"variant": each(DOSES, FIVE)},
        dims=("variant", "seed"),
    ),
    "sl-samples": Recipe(
        "contexts without the answer; contexts that no two symbols share; half of all samples; five seeds each",
        training.run,
        seeded(
            {
                kind: {"drawn": kind, "fraction": 1.0 if kind == "no answer" else 0.5}
                for kind in ("no answer", "apart", "plain")
            },
            training.Config(),
            FIVE,
            classifier="pretrained",
        ),
        trained,
        CURVES,
        record=("floor",),
        axes=AXES,
        labels=STARTED["pretrained"],
        named={"variant": each(("no answer", "apart", "plain"), FIVE)},
        dims=("variant", "seed"),
    ),
    "sl-starts": Recipe(
        "the book's setting with 1,000 epochs of the classifiers, five seeds",
        modadd.run,
        tuple(
            modadd.Config(seed=seed, classifier="all", classifier_epochs=1000) for seed in range(5)
        ),
        trained,
        CURVES,
        start=0.005,
        record=("floor",),
        axes=AXES,
        labels=STARTED["all"],
        named={"variant": each(("base",), range(5))},
        dims=("variant", "seed"),
    ),
    "sl-oracle": Recipe(
        "classifiers that start from one random vector a class, five seeds",
        training.classify,
        tuple(
            modadd.Config(seed=seed, classifier="pretrained", classifier_epochs=1000)
            for seed in range(5)
        ),
        lambda results: {
            "accuracy": over_time([r.accuracy for r in results]),
            "steps": results[0].steps,
        },
        ("accuracy",),
        start=0.03,
        axes={"steps": "step", "accuracy": "run step"},
        dims=("seed",),
    ),
    "sl-shared": Recipe(
        "a table of its own, the encoder's table, or the encoder for both sides, three seeds each",
        shared.run,
        seeded({kind: {"shared": kind} for kind in SHARED}, shared.Config()),
        lambda results: (
            {"steps": results[0].steps}
            | {name: over_time([getattr(r, name) for r in results]) for name in SIDES}
        ),
        SIDES,
        record=("floor", "held"),
        axes=AXES,
        named={"variant": each(SHARED)},
        dims=("variant", "seed"),
    ),
    "sl-basis": Recipe(
        "optima of random tables with more or fewer contexts, three seeds each",
        lookup.run,
        seeded(BASIS, lookup.Config(d=32)),
        optima,
        ("loss",),
        start=1.0,
        axes={"loss": "run moment", "twins": "run pair"},
        labels={"moment": ("start", "end")},
        named={"variant": each(BASIS)},
        dims=("variant", "seed"),
    ),
    "sl-words": Recipe(
        "words from other starts, with longer contexts, a transformer, other negatives; three seeds each",
        words.run,
        seeded(WORDS, words.Config()),
        spoken,
        ("loss", "held"),
        start=0.085,
        record=SPOKEN,
        axes=HEARD,
        labels={"kind": KINDS},
        named={"variant": each(WORDS)},
        dims=("variant", "seed"),
    ),
    "sl-coin": Recipe(
        "words whose twins are tossed at every draw, three seeds",
        coin.run,
        seeded({"fresh": {}}, words.Config()),
        spoken,
        ("loss", "held"),
        start=0.085,
        record=SPOKEN,
        axes=HEARD,
        labels={"kind": KINDS},
        named={"variant": each(("fresh",))},
        dims=("variant", "seed"),
    ),
}
