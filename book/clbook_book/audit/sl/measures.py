"""What SL say, measured on what `runs` gives: a function for each claim of items.yaml, or for some that are alike."""

import functools

import numpy as np

from clbook.experiments.modadd import over_seeds
from clbook.experiments.modadd.equivalence import SAME
from clbook_book.audit.judging import (
    Every,
    Finding,
    Measures,
    counted,
    if_agreed,
    listed,
    lists,
    span,
)
from clbook_book.audit.sl.runs import BOTH, ONE, RANDOM, SMALL, WITH, WITHOUT
from clbook_book.audit.sl.tables import distances
from clbook_book.audit.sl.theorems import CLASSES

measures = Measures()
EQUAL = 1e-4  # two vectors of an optimum are called equal where they are closer than this
CLOSE = 0.5  # SL say "close" of a ratio and give no number: here half of that at the start
GUESSING = np.log(32)  # the loss of a model that knows nothing, in batches of 32


# What several measures use.


ranges = functools.partial(lists, words=span, form=".2g")


def compared(*pairs: dict) -> Finding:
    """In each pair {label: numbers, one a seed} the first are the larger ones, in the seeds that both have."""
    numbers, margins = {}, []
    for pair in pairs:
        seeds = min(len(values) for values in pair.values())
        larger, smaller = (values[:seeds] for values in pair.values())
        numbers |= zip(pair, (larger, smaller), strict=True)
        margins.append(larger - smaller)
    return ranges(numbers, *margins)


def close(runs) -> Finding:
    """Whether equivalent symbols end close: at less than half of the ratio at which they began."""
    start, *_, last = over_seeds(runs, "ratio")
    return ranges({"ratio": last, "at the start": start}, CLOSE * start - last)


def end(runs, name: str = "ratio") -> np.ndarray:
    """What each run recorded last in a field, or of the accuracy from a start."""
    return over_seeds(runs, name)[-1]


def kept_since_half(runs) -> np.ndarray:
    """What different symbols keep of their distance in the second half of the epochs, one a run."""
    half = np.searchsorted(runs[0].steps, runs[0].steps[-1] / 2)
    different = over_seeds(runs, "different")
    return different[-1] / different[half]


def over_epochs(runs, start: str = "pretrained") -> np.ndarray:
    """Accuracy on unseen pairs in the mean over the epochs of the classifiers from a start, one a run."""
    return np.array([run.accuracy[start].mean() for run in runs])


def closest(runs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Farthest equivalent pair, nearest different one, and how many of these are closer at the end; one a run each."""
    ends = [distances(run.tables[-1], CLASSES) for run in runs]
    farthest = np.array([equivalent[-1] for equivalent, _ in ends])
    nearest = np.array([different[0] for _, different in ends])
    closer = [(pair[1] < far).sum() for pair, far in zip(ends, farthest, strict=True)]
    return farthest, nearest, np.array(closer)


def unless_cut(own, found: Finding) -> Finding:
    """The finding; undecided where a run of SL Fig. 7 has learned nothing by its last epoch: it was cut too early."""
    cut = end(own[BOTH], "loss") > 0.98 * GUESSING
    found.text += f"; {counted(cut)} runs have learned nothing by the last epoch"
    if cut.any():
        found.verdict = "undecided"
    return found


def perfect_at(run, start: str) -> float:
    """First epoch at which a classifier answers all unseen pairs right; infinity where it never does."""
    times = run.accuracy_at[run.accuracy[start] == 1]
    return float(times[0]) if len(times) else np.inf


def close_at(steps, equivalent) -> np.ndarray:
    """First epoch recorded at which distances (runs, steps) are at half of their first one; the last, if never."""
    close = equivalent < CLOSE * equivalent[:, :1]
    return steps[np.where(close.any(1), close.argmax(1), -1)]


def left(runs, name: str = "equivalent") -> np.ndarray:
    """What is left at the end of the first distance of equivalent symbols, or of another field; one a run."""
    start, *_, last = over_seeds(runs, name)
    return last / start


def pair_ratios(runs, kind: str, frame: int = -1) -> np.ndarray:
    """Mean distance of a kind of pairs over that of the random pairs matched to it, one a run."""
    return np.array([run.ratio(kind, frame) for run in runs])


def order(runs) -> tuple[dict, list]:
    """Ratios of twins and of natural synonyms; by how much twins end closer than these, and these than others."""
    twins = pair_ratios(runs, "injected")
    natural = pair_ratios(runs, "natural")
    return {"twins": twins, "natural synonyms": natural}, [natural - twins, 1 - natural]


# Section 1: what the paper finds.


@measures("sl-simclr")
def simclr(views):
    near, far, broken = views
    return ranges(
        {"equivalent views apart": near, "nearest others": far, "not equivalent": broken},
        Every(far / 100 - near),
    )


# Section 3: two networks, labels, a basis.


@measures("sl-theorem-3-1")
def twins_meet(twins, twin_moved):
    contexts = twins["all hypotheses"].max(1)
    symbols = twins["softmax over symbols"].max(1)
    moved, change = twin_moved
    return ranges(
        {
            "apart with the softmax over contexts (SL eq. 2)": contexts,
            "with that over symbols (SL Lemma A.1)": symbols,
            "with a basis alone, at the loss of the optimum": moved,
        },
        Every(EQUAL - contexts),
        Every(EQUAL - symbols),
        moved - 1,
        1e-12 - change["contexts"],
        change["symbols"] - 1e-12,
    )


@measures("sl-many-contexts")
def many_contexts(basis):
    within = basis.sel(variant=["48 columns, d = 4", "6 columns, d = 3"])
    twins = basis.twins.max("pair")
    inside, narrow = within.twins.max("pair"), within.narrowest
    return ranges(
        {
            "at the rank and below it: twins": inside,
            "narrowest extent": narrow,
            "above it: twins, 48 pairs, d = 32": twins.sel(variant="48 columns"),
            "64 pairs, d = 32": twins.sel(variant="64 columns"),
        },
        Every((1e-5 - inside).min("variant")),
        Every((narrow - 1e-3).min("variant")),
    )


@measures("sl-smaller-d")
def smaller_d(basis):
    apart = basis.twins.max("pair")
    small = apart.sel(variant=["48 columns, d = 4", "6 columns, d = 3"]).max("variant")
    return ranges(
        {
            "d = 32: apart": apart.sel(variant="48 columns"),
            "d = 24": apart.sel(variant="48 columns, d = 24"),
            "d = 4, and 3 with 6 pairs": small,
        },
        Every(EQUAL - small),
    )


# Section 4: without labels, aligned distributions.


@measures("sl-unrelated")
def unrelated(shuffled, untaught):
    ratio = end(shuffled)
    accuracy = end(shuffled, "pretrained")
    return ranges(
        {"ratio": ratio, "accuracy": accuracy, "permuted": untaught["permuted"]},
        ratio - 0.9,
        untaught["permuted"] + 0.1 - accuracy,
    )


@measures("sl-theorem-4-2")
def without_labels(unlabelled):
    without, labelled = unlabelled
    return ranges(
        {"apart": without, "with labels": labelled},
        Every(EQUAL - without),
        Every(labelled - EQUAL),
    )


@measures("sl-needed")
def hypotheses_needed(twins):
    uneven = twins["(2) broken"].min(1)
    no_basis = twins["(3) impossible:\n24 columns, d = 32"].min(1)
    return ranges(
        {"other contexts: apart": uneven, "no basis: apart": no_basis},
        Every(uneven - EQUAL),
        Every(no_basis - EQUAL),
    )


@measures("sl-corollary-4-3")
def one_vector(aligned_tables, with_decay):
    equal, others = aligned_tables
    equal_with = np.array([[same.max() for same, _ in seeds] for seeds in with_decay.values()])
    others_with = np.array([[other.min() for _, other in seeds] for seeds in with_decay.values()])
    return ranges(
        {
            "equivalent apart": equal,
            "others": others,
            "CModAdd with decay: equivalent": equal_with,
            "others there": others_with,
        },
        Every(1e-3 - equal),
        Every(others - 1e-3),
        Every(1e-3 - equal_with.max(0)),
        Every(others_with.min(0) - 1e-3),
    )


# Sections 5 and 6: modular addition.


@measures("sl-aligned")
def tasks_aligned(aligned, classes):
    modadd = ((aligned.semantic <= SAME) != CLASSES).sum()
    cmodadd = ((aligned.conditional <= SAME) != CLASSES).sum()
    *numbers, as_classes = classes
    return ranges(
        {
            "N = 16: exceptions in ModAdd": modadd,
            "in CModAdd": cmodadd,
            "N = 101: different rows in both": numbers,
        },
        0.5 - modadd,
        0.5 - cmodadd,
        as_classes,
        0.5 - abs(np.array(numbers) - 10).max(),
    )


@measures("sl-own-fig-2a")
def own_equivalent_close(paper, defaults):
    start, *_, last = over_seeds(paper, "ratio")
    kept = kept_since_half(paper)
    return ranges(
        {
            "last ratio": last,
            "first": start,
            "different keep": kept,
            "with PyTorch's width and dropout last ratio": end(defaults),
            "different keep there": kept_since_half(defaults),
        },
        CLOSE * start - last,
        kept - 0.9,
    )


@measures("sl-own-only")
def own_only_equivalent(paper, defaults):
    equivalent, different, closer = closest(paper)
    found = ranges(
        {"farthest equivalent pair": equivalent, "nearest different pair": different},
        different - equivalent,
    )
    found.text += (
        f"; closer than the farthest equivalent one: {listed(closer, 'd')} of 112 pairs; "
        f"with PyTorch's width and dropout {listed(closest(defaults)[2], 'd')}"
    )
    return found


@measures("sl-loss-zero")
def loss_zero(first, full):
    least = end(first, "floor")
    return ranges(
        {
            "least loss": least,
            "reached on all samples": np.array([end(runs, "loss") for runs in full.values()]),
            "guessing": GUESSING,
        },
        Every(GUESSING / 10 - least),
    )


@measures("sl-own-fig-2b")
def own_better(paper, defaults):
    accuracy, random = over_epochs(paper), over_epochs(paper, "random")
    ahead = over_epochs(defaults) - over_epochs(defaults, "random")
    return ranges(
        {
            "accuracy": accuracy,
            "random": random,
            "with PyTorch's width and dropout ahead by": ahead,
        },
        accuracy - random,
    )


@measures("sl-own-fig-6b", SMALL, RANDOM)
@measures("sl-own-fig-7b", BOTH, WITH)
@measures("sl-own-fig-8b", ONE, WITH)
def better(name, random, own):
    return compared(
        {"accuracy": over_epochs(own[name]), "random": over_epochs(own[random], "random")}
    )


@measures("sl-perfect-early")
def perfect_early(paper):
    trained = np.array([perfect_at(run, "pretrained") for run in paper])
    random = np.array([perfect_at(run, "random") for run in paper])
    last = paper[0].accuracy_at[-1]
    text = f"{counted(trained <= last)}, at epochs {listed(trained, 'g')}; random {listed(random, 'g')}"
    return Finding(
        text.replace("inf", "never"), np.minimum(random, last) - np.minimum(trained, last)
    )


@measures("sl-partial", 0.3, 1)
def useful(p, sign, dose, untaught):
    """Accuracies at epoch 100: of symbols whose heavy contexts have probability p, and of untaught ones, both worse."""
    accuracy = end(dose[p], "pretrained")
    others = {start: values[: len(accuracy)] for start, values in untaught.items()}
    return ranges(
        {"accuracy": accuracy, **others},
        *(sign * (accuracy - values) for values in others.values()),
    )


@measures("sl-rq1")
def aligned_is_useful(dose, untaught, own_wide):
    found = useful(1 / 32, 1, dose, untaught)
    wide = over_epochs(own_wide) - over_epochs(own_wide, "random")
    found.text += f"; in the paper's setting with d = 128 the gain is {wide.mean():.2f}"
    return found


# Sections 7 and 10: less alignment, several tasks.


@measures("sl-never-together")
def never_together(unshared):
    ratio, near, far = unshared
    return ranges(
        {
            "ratio": ratio,
            "beside a third symbol that has the contexts of both: apart": near,
            "others": far,
        },
        Every(ratio - 0.9),
        Every(far / 100 - near),
    )


@measures("sl-violated")
def violated(dose):
    some, more = (end(dose[p]) for p in (0.1, 0.3))
    return ranges(
        {"p = .1: ratio": some, "p = .3": more},
        0.9 - some,
        0.9 - more,
    )


@measures("sl-crucial")
def crucial(dose, untaught):
    aligned, lost = (end(dose[p], "pretrained") for p in (1 / 32, 0.9))
    random = untaught["random"][: len(lost)]
    return ranges(
        {"aligned": aligned, "p = .9": lost, "random": random}, (aligned + random) / 2 - lost
    )


@measures("sl-required")
def required(dose, untaught, split_gaps):
    found = useful(0.3, -1, dose, untaught)
    found.text += f"; total variation of equivalent symbols in SL's split {span(split_gaps)}"
    return found


# Appendix: the proofs, and the update of a batch (A.1 to A.5).


@measures("sl-lemma-a-1")
def lemma(lemma):
    printed, corrected = lemma
    error = printed.min() if corrected.max() < 0.01 else np.nan
    return ranges(
        {f"softmax off by {corrected.max():.0e}, exp(sim) by at least": error}, 0.01 - error
    )


@measures("sl-prop-a-2")
def other_answers(twins, one_dimension):
    apart = twins["(1) broken"].min(1)
    four, cmodadd = one_dimension
    return ranges(
        {"apart": apart, "d = 1: different ones": four, "in CModAdd": cmodadd},
        Every(apart - EQUAL),
        Every(1e-3 - four),
        Every(1e-3 - cmodadd),
    )


@measures("sl-update")
def update(steps):
    distinct = np.array(steps["distinct"])
    return ranges(
        {"distinct: off by": distinct, "repeated": steps["repeated"]}, Every(1e-12 - distinct)
    )


# Appendix: variants of the training (A.6 to A.10).


@measures("sl-own-fig-4a")
def own_wide_near(own_wide):
    found = close(own_wide)
    found.text += f"; the distance is {span(left(own_wide))} of that at the start"
    found.conditions += (CLOSE - left(own_wide),)
    return if_agreed(found)


@measures("sl-own-fig-4b")
def own_wide_random_start(own_wide):
    trained = over_epochs(own_wide)
    random = over_epochs(own_wide, "random")
    ahead = trained - random
    return ranges(
        {"trained": trained, "random": random},
        0.1 + ahead,
        0.1 - ahead,
    )


@measures("sl-own-fig-5a")
def no_decay(own):
    start, *_, last = over_seeds(own[WITHOUT], "ratio")
    with_decay = end(own[WITH])
    return ranges(
        {"ratio": last, "with decay": with_decay, "at the start": start},
        last - with_decay,
        last - CLOSE * start,
        start - last,
    )


@measures("sl-own-marginal")
def no_decay_marginal(own):
    numbers, margins = {}, []
    for reading, name in (("distance", "equivalent"), ("ratio", "ratio")):
        without, decayed = left(own[WITHOUT], name), left(own[WITH], name)
        numbers |= {f"left of the first {reading}": without, f"{reading}, with decay": decayed}
        margins.append((1 - decayed) / 2 - (1 - without))
    return if_agreed(ranges(numbers, *margins))


@measures("sl-own-fig-5b")
def no_decay_helps_little(own):
    gain = over_epochs(own[WITHOUT]) - over_epochs(own[RANDOM], "random")
    full = over_epochs(own[WITH]) - over_epochs(own[WITH], "random")
    return ranges(
        {"gain": gain, "with decay": full},
        gain,
        full / 2 - gain,
    )


@measures("sl-own-nearest")
def decay_keeps_apart(own, own_nearest):
    numbers, margins = {}, []
    for reading, kind in (
        ("nearest", None),
        ("over different", "different"),
        ("over equivalent", "equivalent"),
    ):
        kept, lost = (
            own_nearest[name] / (end(own[name], kind) if kind else 1) for name in (WITH, WITHOUT)
        )
        numbers |= {f"{reading}, with decay": kept, f"{reading}, without": lost}
        margins.append(kept - lost)
    return if_agreed(ranges(numbers, *margins))


@measures("sl-own-fig-6a")
def small_start_mitigates(own):
    found, without = close(own[SMALL]), end(own[WITHOUT])
    found.text += f"; without decay from the usual start {span(without)}"
    found.conditions += (without - end(own[SMALL]),)
    return found


@measures("sl-own-fig-8a")
def one_uneven_close(own):
    return close(own[ONE])


@measures("sl-own-fig-7a")
def both_close(own):
    return unless_cut(own, close(own[BOTH]))


@measures("sl-own-farther")
def farther_apart(own):
    return unless_cut(
        own,
        compared({"with": end(own[BOTH], "different"), "without": end(own[SMALL], "different")}),
    )


@measures("sl-own-bands")
def three_bands(own, own_groups):
    return unless_cut(own, ranges({"groups": own_groups}, own_groups == 3))


@measures("sl-uneven-pair")
def uneven_pair(own_uneven, own):
    return compared({"ratio of the pair": own_uneven[ONE], "of all in its run": end(own[ONE])})


@measures("sl-own-longer")
def one_uneven_longer(own, replaced):
    return compared(
        {
            "epochs until half": close_at(own[ONE][0].steps, over_seeds(own[ONE], "equivalent").T),
            "even data": close_at(replaced.step.values, replaced.equivalent.values),
        }
    )


@measures("sl-own-less-useful")
def one_uneven_less_useful(own):
    found = compared({"even": over_epochs(own[WITH]), "uneven": over_epochs(own[ONE])})
    if own[WITH][0].config.misaligned != own[ONE][0].config.misaligned:
        found.text += "; the uneven runs draw with replacement, the even ones do not"
        found.verdict = "undecided"
    return found


# Appendix: words (A.11).


@measures("sl-fig-9-closer")
def twins_closer(words_fixed_toss):
    ratio = pair_ratios(words_fixed_toss, "injected")
    share = np.array(
        [
            (r.distances["injected"][-1] < r.distances["random, injected"][-1]).mean()
            for r in words_fixed_toss
        ]
    )
    return Finding(
        f"mean distance {span(ratio)} of that of random pairs; {span(share, '.0%')} of the pairs",
        1 - ratio,
        share - 0.5,
    )


@measures("sl-fig-9b")
def converge(words_fixed_toss, words_fast):
    numbers, margins = {}, []
    for start, runs in ((".02", words_fixed_toss), ("1", words_fast)):
        first, last = (pair_ratios(runs, "injected", frame) for frame in (0, -1))
        numbers[f"from a start of {start} the ratio ends at"] = last
        margins.append(CLOSE * first - last)
    return if_agreed(ranges(numbers, *margins))


@measures("sl-natural-between")
def between(words_fixed_toss, words_whole_sentence):
    numbers, margins = order(words_fixed_toss)
    wide, more = order(words_whole_sentence)
    numbers |= {f"{kind}, window of twenty": values for kind, values in wide.items()}
    return ranges(numbers, *margins, *more)


@measures("sl-transformer")
def with_transformer(words_transformer):
    numbers, margins = order(words_transformer)
    return ranges(numbers, *margins)
