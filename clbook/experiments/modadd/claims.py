"""What SL say about symbols that mean the same, judged on the chapter's runs."""

import numpy as np

from clbook import theory
from clbook.claims import Chapter, Finding, span
from clbook.experiments.modadd import over_seeds
from clbook.experiments.modadd.equivalence import SAME

chapter = Chapter(__file__)
EQUAL = 1e-4  # two vectors of an optimum are called equal where they are closer than this
GUESSING = np.log(32)  # the loss of a model that knows nothing, in batches of 32
WITH, HALF, ALL = (
    "base",
    "all symbols, p = .5",
    "all symbols, p = .9",
)  # SL Fig. 2; a reading of Fig. 8


def ranges(numbers: dict, *conditions) -> Finding:
    """The range of the numbers under each label; the value is the mean of the first ones."""
    text = "; ".join(f"{label} {span(values, '.2g')}" for label, values in numbers.items())
    return Finding(text, float(np.mean([*numbers.values()][0])), conditions)


def compared(*pairs: dict) -> Finding:
    """In each pair {label: numbers, one a seed} the first are the larger ones, in the seeds that both have."""
    numbers, margins = {}, []
    for pair in pairs:
        seeds = min(len(values) for values in pair.values())
        larger, smaller = (values[:seeds] for values in pair.values())
        numbers |= zip(pair, (larger, smaller), strict=True)
        margins.append(larger - smaller)
    return ranges(numbers, *margins)


def closer(far, near, label: str = "no decay") -> Finding:
    """Equivalent symbols end closer than in runs that SL call not close, by difference and by quotient of the ratios.

    far, near: ratios of distances, a seed each, those that are not close first; label: whose they are.
    """
    return ranges({label: far, "ratio": near}, far - near, np.log(far / near))


def end(runs, name: str = "ratio") -> np.ndarray:
    """What each run recorded last in a field, or of the accuracy from a start."""
    return over_seeds(runs, name)[-1]


def better_start(runs, other: str) -> Finding:
    """Classifiers do better from the tables that the runs have learned than from another start."""
    return compared({"accuracy": end(runs, "pretrained"), other: end(runs, other)})


# Exact: distributions, and look-up tables.
@chapter.measure("sl-aligned")
def tasks_aligned(aligned):
    agree = np.tile(np.eye(8, dtype=bool), (2, 2))  # whether two symbols agree mod 8
    modadd, cmodadd = (
        ((gap <= SAME) != agree).sum() for gap in (aligned.semantic, aligned.conditional)
    )
    return ranges(
        {"exceptions in ModAdd:": modadd, "exceptions in CModAdd:": cmodadd},
        0.5 - modadd,
        0.5 - cmodadd,
    )


@chapter.measure("sl-theorem-3-1")
def twins_meet(twins):
    contexts, symbols = twins["all hypotheses"].max(1), twins["softmax over symbols"].max(1)
    return ranges(
        {
            "distance with the softmax over contexts (SL eq. 2)": contexts,
            "with that over symbols (SL Lemma A.1)": symbols,
        },
        EQUAL - contexts,
        EQUAL - symbols,
    )


@chapter.measure("sl-basis-alone")
def basis_alone(moved, change):
    return ranges(
        {f"twins {moved:.0f} apart, loss changed by": change["contexts"]},
        change["contexts"] - 1e-12,
    )


@chapter.measure("sl-needed")
def hypotheses_needed(twins):
    uneven, no_basis = (
        twins["(2) broken"].min(1),
        twins["(3) impossible:\n24 columns, d = 32"].min(1),
    )
    return ranges(
        {"other contexts: apart": uneven, "no basis: apart": no_basis},
        uneven - EQUAL,
        no_basis - EQUAL,
    )


@chapter.measure("sl-lemma-a-1")
def lemma(printed, corrected):
    error = printed.min() if corrected.max() < 0.01 else np.nan
    return ranges(
        {f"softmax off by {corrected.max():.0e}, exp(sim) by at least": error}, 0.01 - error
    )


@chapter.measure("sl-prop-a-2")
def other_answers(twins):
    apart = twins["(1) broken"].min(1)
    return ranges({"apart": apart}, apart - EQUAL)


@chapter.measure("sl-corollary-4-3")
def one_vector(with_decay):
    optima = [run.distances() for run in with_decay[1e-3]]
    equivalent = np.array([same.max() for same, _ in optima])
    others = np.array([different.min() for _, different in optima])
    return ranges(
        {"equivalent apart": equivalent, "others": others}, 1e-3 - equivalent, others - 1e-3
    )


@chapter.measure("sl-one-distance")
def one_distance(with_decay):
    errors = {}
    for decay in (1e-4, 1e-3, 0.015):
        ratios = [run.distances()[1] / theory.l2_distance(decay) for run in with_decay[decay]]
        errors[f"decay {decay:g}: off by"] = np.array([abs(ratio - 1).max() for ratio in ratios])
    return ranges(errors, *(1e-3 - error for error in errors.values()))


@chapter.measure("sl-imbalance-fades")
def imbalance_fades(law):
    errors = {f"{name}: off by": error for name, error in law.items()}
    return ranges(errors, *(0.03 - error for error in errors.values()))


@chapter.measure("sl-large-symbols")
def large_symbols(ratios):
    large, *others = ratios
    return compared(*({f"ratio, {large}": ratios[large], name: ratios[name]} for name in others))


# Training with a transformer and Adam, and of classifiers afterwards.
@chapter.measure("sl-fig-2a")
def only_equivalent(first):
    ratio, different = over_seeds(first, "ratio"), over_seeds(first, "different")
    start, last, kept = ratio[0], ratio[-1], different[-1] / different[-7]
    return ranges(
        {"first ratio": start, "last": last, "different keep": kept}, start - last, kept - 0.9
    )


@chapter.measure("sl-all-uneven")
def all_uneven(trained):
    even, half, most = (end(trained[name]) for name in (WITH, HALF, ALL))
    accuracies = {
        "accuracy, even": end(trained[WITH], "pretrained"),
        "at .9": end(trained[ALL], "pretrained"),
    }
    return compared(
        {"p = .5: ratio": half, "even": even}, {"p = .9": most, "p = .5: ratio": half}, accuracies
    )


@chapter.measure("sl-loss-zero")
def loss_zero(trained):
    least = end(trained[WITH], "floor")
    return ranges({"least loss": least}, GUESSING / 10 - least)


@chapter.measure("sl-loss-floor")
def loss_at_floor(full):
    up = max(
        (run.loss[-1] - run.floor[-1]) / (GUESSING - run.floor[-1])
        for runs in full.values()
        for run in runs
    )
    return ranges({"up by": up}, 0.1 - up)


@chapter.measure("sl-fig-2b")
def trained_helps(first):
    return better_start(first, "random")


@chapter.measure("sl-permuted")
def permuted_helps_less(first):
    return better_start(first, "permuted")


# Variants, other samples and other starts, which stand on the page of SL.
@chapter.measure("sl-fig-4a")
def wide_near(wide, undecayed):
    return closer(end(undecayed), end(wide))


@chapter.measure("sl-fig-4b")
def wide_random_start(wide):
    return compared(
        {"random, plus .1": end(wide, "random") + 0.1, "trained": end(wide, "pretrained")}
    )


@chapter.measure("sl-unrelated")
def unrelated(shuffled, random):
    ratio, accuracy = end(shuffled), end(shuffled, "pretrained")
    return ranges(
        {"ratio": ratio, "accuracy": accuracy, "random": random},
        ratio - 0.9,
        random[: len(accuracy)] + 0.1 - accuracy,
    )


@chapter.measure("sl-rq1")
def aligned_is_useful(dose, gaps, random):
    accuracy = np.array([end(runs, "pretrained") for runs in dose.values()])  # (doses, seeds)
    slopes = np.polyfit(gaps, accuracy, 1)[0]
    return ranges(
        {"slope of the accuracy": slopes, "aligned": accuracy[0], "random": random},
        accuracy[0] - random[: accuracy.shape[1]],
        -slopes,
    )


@chapter.measure("sl-violated")
def violated(dose):
    some, more = (end(dose[p]) for p in (0.1, 0.3))
    return ranges({"p = .1: ratio": some, "p = .3": more}, 0.9 - some, 0.9 - more)


@chapter.measure("sl-partial")
def partial(dose, random):
    return compared({"accuracy": end(dose[0.5], "pretrained"), "random": random})


@chapter.measure("sl-never-together")
def never_together(apart):
    ratio = end(apart)
    return ranges({"ratio": ratio, "accuracy": end(apart, "pretrained")}, ratio - 0.9)


@chapter.measure("sl-good")
def good_representations(oracle, long):
    random = np.array([run.accuracy["random"].mean() for run in long])
    return compared({"one vector a class": oracle.mean(1), "random": random})


@chapter.measure("sl-own-fig-4a")
def own_wide_near(own_wide, own_undecayed):
    return closer(end(own_undecayed), end(own_wide))


@chapter.measure("sl-own-fig-4b")
def own_wide_random_start(own_wide):
    trained, random = (
        np.array([run.accuracy[start].mean() for run in own_wide])
        for start in ("pretrained", "random")
    )
    return ranges({"trained": trained, "random": random}, 0.1 - abs(trained - random))
