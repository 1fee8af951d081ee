"""What SL say, judged on the runs of the page: exact checks, the paper's own setting, and other records."""

import dataclasses

import numpy as np

from clbook.claims import Chapter, Finding, listed
from clbook.experiments.modadd.claims import EQUAL, GUESSING, WITH, closer, compared, end, ranges

chapter = Chapter(__file__)
WITHOUT, SMALL, BOTH = (
    "no decay",
    "no decay, small start",
    "decay, small start",
)  # SL Fig. 5, 6, 7; WITH is Fig. 2
ONE = "one symbol, p = .9"  # SL Fig. 8
RANDOM = "random, no decay"  # classifiers from random symbols, without decay as in SL Fig. 5 and 6


def over_epochs(runs, start: str = "pretrained") -> np.ndarray:
    """Accuracy on unseen pairs in the mean over the epochs of the classifiers from a start, one a run."""
    return np.array([run.accuracy[start].mean() for run in runs])


def unless_cut(own, finding: Finding) -> Finding:
    """The finding; undecided where a run of SL Fig. 7 has learned nothing by its last epoch: it was cut too early."""
    cut = (end(own[BOTH], "loss") > 0.98 * GUESSING).any()
    return dataclasses.replace(finding, verdict="undecided") if cut else finding


def perfect_at(run, start: str) -> float:
    """First epoch at which a classifier answers all unseen pairs right; infinity where it never does."""
    times = run.accuracy_at[run.accuracy[start] == 1]
    return float(times[0]) if len(times) else np.inf


# Exact: definitions, distributions, look-up tables, steps.
@chapter.measure("sl-def-2-1", "Def. 2.1")
@chapter.measure("sl-def-4-1", "Def. 4.1")
@chapter.measure("sl-two-distributions", "one distribution")
def agrees(name, definitions):
    off, yes, no = (int(count) for count in definitions[name])
    return Finding(
        f"differ on {off} of {yes + no} pairs; {yes} obey it, {no} do not",
        float(off),
        (0.5 - off, yes - 0.5, no - 0.5),
    )


@chapter.measure("sl-one-context")
def one_context(words, word_gaps):
    same, other = word_gaps
    return ranges(
        {"gap in one context": same, "in the other": other},
        1e-12 - same,
        other - 0.5,
        words.max() - 0.5,
    )


@chapter.measure("sl-eq-1")
def losses_agree(loss_errors):
    return ranges({"largest difference": loss_errors.max()}, 1e-12 - loss_errors.max())


@chapter.measure("sl-similarity")
def similarity(similarities):
    scalar, cosine, apart = similarities.T
    return ranges(
        {"scalar product: off by": scalar, "cosine": cosine, "one from the other": apart},
        1e-12 - scalar.max(),
        1e-12 - cosine.max(),
        apart.min() - 1e-3,
    )


@chapter.measure("sl-fig-1")
def diagrams(figure_1):
    off = np.array([[*variants.values()] for variants in figure_1])[..., 0].max()
    with_labels = np.array([variants["b"][1] for variants in figure_1])
    others = max(
        change for variants in figure_1 for name, (_, change) in variants.items() if name != "b"
    )
    return ranges(
        {"off by": off, "other labels change b by": with_labels, "the others": others},
        1e-12 - off,
        with_labels.min() - 1e-3,
        1e-12 - others,
    )


@chapter.measure("sl-crop-cutout")
def crop_and_cutout(cropped):
    error, change = cropped
    return ranges(
        {"largest difference": error, "change of the context": change}, error == 0, change == 0
    )


@chapter.measure("sl-own-setting")
def settings_of_section_5(setting):
    differ = sum(len(set(values)) > 1 for values in setting.values())
    return Finding(f"{differ} of {len(setting)} settings differ", float(differ), (0.5 - differ,))


@chapter.measure("sl-several-tasks")
def several_tasks(several):
    twins = several["both"][:, 1]
    others = np.min([apart[:, 0] for name, apart in several.items() if name != "both"], 0)
    return ranges(
        {"agree in both: apart": twins, "nearest others": others}, 1e-3 - twins, others - 1e-3
    )


@chapter.measure("sl-shared")
def shared_parameters(sides):
    ratio = sides.equivalent / sides.different
    first, last = ratio.isel(step=0), ratio.isel(step=-1)
    ways = ("none", "table", "all")
    return ranges(
        {f"{way}: ratio": last.sel(variant=way) for way in ways},
        *((first - last).sel(variant=way) for way in ways),
    )


@chapter.measure("sl-held-out")
def left_out(sides):
    apart = sides.sel(variant="none")
    start, end = apart.isel(step=0), apart.isel(step=-1)
    return ranges(
        {
            "at the end": end.held,
            "at the start": start.held,
            "least": apart.held.min("step"),
            "training": end.loss,
        },
        GUESSING - end.held,
    )


@chapter.measure("sl-own-example")
def own_example(classes):
    *numbers, agree = classes
    return ranges(
        {"different rows in ModAdd and CModAdd": numbers},
        agree,
        0.5 - abs(np.array(numbers) - 10).max(),
    )


@chapter.measure("sl-same-data")
def same_data(same_columns):
    return ranges({"largest difference": same_columns}, same_columns == 0)


@chapter.measure("sl-no-answer")
def no_answer(gap, samples):
    rest = np.array(
        [
            none.different[-1] / full.different[full.steps <= none.steps[-1]][-1]
            for none, full in zip(*samples, strict=True)
        ]
    )
    return ranges(
        {f"largest gap {gap:g}; distance without the answer over that with it:": rest},
        1e-12 - gap,
        0.1 - rest,
    )


@chapter.measure("sl-theorem-4-2")
def without_labels(unlabelled):
    without, labelled = unlabelled
    return ranges({"apart": without, "with labels": labelled}, EQUAL - without, labelled - EQUAL)


@chapter.measure("sl-never-appears")
def never_appears(absent):
    moved, others = absent
    return ranges(
        {"moved by": moved, "other twins apart": others}, moved.max() == 0, EQUAL - others
    )


@chapter.measure("sl-many-contexts")
def many_contexts(basis):
    many = basis.sel(variant=[f"{n} columns" for n in (80, 100, 200)])
    twins, narrow = many.twins.max("pair"), many.narrowest
    few = basis.twins.max("pair").sel(variant="64 columns")
    return ranges(
        {"twins": twins, "narrowest extent": narrow, "64 pairs: twins": few},
        (1e-5 - twins).min("variant"),
        (narrow - 1e-3).min("variant"),
    )


@chapter.measure("sl-perturbed")
def perturbed(pushed):
    ranks, before, anew, _ = pushed
    return ranges(
        {"independent directions": ranks, "twins apart, best symbols": anew, "before": before},
        ranks - 15.5,
        EQUAL - anew,
    )


@chapter.measure("sl-perturbed-again")
def perturbed_again(pushed):
    return ranges(
        {"twins apart, minimised again": pushed[3], "before": pushed[1]}, EQUAL - pushed[3]
    )


@chapter.measure("sl-smaller-d")
def smaller_d(basis):
    apart = basis.twins.max("pair")
    small = apart.sel(variant=["48 columns, d = 16", "48 columns, d = 8"]).max("variant")
    return ranges(
        {
            "d = 32: apart": apart.sel(variant="48 columns"),
            "d = 24": apart.sel(variant="48 columns, d = 24"),
            "d = 16 and 8": small,
        },
        EQUAL - small,
    )


@chapter.measure("sl-any-d")
def any_d(one_dimension):
    four, cmodadd = one_dimension
    return ranges(
        {"four symbols, nearest": four, "CModAdd, nearest": cmodadd},
        four.max() - 1e-3,
        cmodadd.max() - 1e-3,
    )


@chapter.measure("sl-frozen")
def frozen(given):
    return ranges(
        {f"{name}: apart": apart for name, apart in given.items()},
        *(1e-9 - apart for apart in given.values()),
    )


@chapter.measure("sl-decay-basis")
def decay_for_basis(frequencies):
    equal, different = frequencies
    return ranges({"equal frequencies: apart": equal, "different ones": different}, EQUAL - equal)


@chapter.measure("sl-fig-3")
def two_lines(lines):
    parallel, others = lines
    return ranges(
        {"directions left, parallel": parallel, "not parallel": others},
        0.5 - abs(parallel - 1).max(),
        0.5 - others.max(),
    )


@chapter.measure("sl-update")
def update(steps):
    distinct, repeated = (np.array(steps[name])[:, 0] for name in ("distinct", "repeated"))
    return ranges({"distinct: off by": distinct, "repeated": repeated}, 1e-12 - distinct)


@chapter.measure("sl-update-encoder")
def update_of_contexts(steps):
    off = np.array(
        [
            max(found)
            for found in zip(*(np.array(rows)[:, 1] for rows in steps.values()), strict=True)
        ]
    )
    return ranges({"off by": off}, 1e-12 - off)


# The paper's own setting.
@chapter.measure("sl-own-fig-2a")
def only_equivalent(paper):
    ratio, different = (
        np.array([getattr(run, name) for run in paper]) for name in ("ratio", "different")
    )
    half = np.searchsorted(paper[0].steps, paper[0].steps[-1] / 2)
    kept = different[:, -1] / different[:, half]
    return ranges(
        {"last ratio": ratio[:, -1], "first": ratio[:, 0], "different keep": kept},
        ratio[:, 0] - ratio[:, -1],
        kept > 0.9,
    )


@chapter.measure("sl-own-fig-2b", WITH, WITH)
@chapter.measure("sl-own-fig-6b", SMALL, RANDOM)
@chapter.measure("sl-own-fig-7b", BOTH, WITH)
@chapter.measure("sl-own-fig-8b", ONE, WITH)
def better(name, random, own):
    return compared(
        {"accuracy": over_epochs(own[name]), "random": over_epochs(own[random], "random")}
    )


@chapter.measure("sl-own-permuted")
def permuted_helps_less(paper):
    return compared({"accuracy": over_epochs(paper), "permuted": over_epochs(paper, "permuted")})


@chapter.measure("sl-perfect-early")
def perfect_early(paper):
    trained, random = (
        np.array([perfect_at(run, start) for run in paper]) for start in ("pretrained", "random")
    )
    text = f"at epochs {listed(trained, 'g')}; random {listed(random, 'g')}"
    return Finding(
        text.replace("inf", "never"),
        float(np.median(trained)),
        (np.isfinite(trained), trained < random),
    )


@chapter.measure("sl-own-fig-5a")
def no_decay(own):
    return compared(
        {"ratio": end(own[WITHOUT]), "with decay": end(own[WITH])},
        {
            "at the start": np.array([run.ratio[0] for run in own[WITHOUT]]),
            "ratio": end(own[WITHOUT]),
        },
    )


@chapter.measure("sl-own-fig-6a", SMALL)
@chapter.measure("sl-own-fig-7a", BOTH)
def nearer(name, own):
    return closer(end(own[WITHOUT]), end(own[name]))


@chapter.measure("sl-own-fig-8a")
def one_uneven(own_uneven):
    return closer(own_uneven[WITHOUT], own_uneven[ONE], "no decay, the same pair")


@chapter.measure("sl-own-farther")
def farther_apart(own):
    return unless_cut(
        own,
        compared({"with": end(own[BOTH], "different"), "without": end(own[SMALL], "different")}),
    )


@chapter.measure("sl-own-bands")
def three_bands(own, own_groups):
    return unless_cut(own, ranges({"groups": own_groups}, own_groups == 3))


@chapter.measure("sl-own-longer")
def one_uneven_longer(own, own_uneven):
    return compared(
        {"ratio": own_uneven[ONE], "even": own_uneven[WITH]},
        {"accuracy, even": over_epochs(own[WITH]), "uneven": over_epochs(own[ONE])},
    )


@chapter.measure("sl-own-nearest")
def decay_keeps_apart(own, own_nearest):
    return unless_cut(
        own,
        compared(
            {"nearest, start 1, with decay": own_nearest[WITH], "without": own_nearest[WITHOUT]},
            {
                "small start, with decay": own_nearest[BOTH],
                "small start, without": own_nearest[SMALL],
            },
        ),
    )


@chapter.measure("sl-own-fig-5b")
def no_decay_helps_little(own):
    gain = over_epochs(own[WITHOUT]) - over_epochs(own[RANDOM], "random")
    full = over_epochs(own[WITH]) - over_epochs(own[WITH], "random")
    return ranges({"gain": gain, "with decay": full}, gain, full / 2 - gain)
