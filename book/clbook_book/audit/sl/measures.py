"""What SL say, measured on `evidence`: a function for each claim of items.yaml, or for several that are alike."""

import numpy as np

from clbook import theory
from clbook.experiments.modadd import over_seeds
from clbook.experiments.modadd.equivalence import SAME
from clbook_book.audit.judging import Every, Finding, Measures, counted, listed, span
from clbook_book.audit.sl.checks import CLASSES
from clbook_book.audit.sl.recipes import RANDOM

measures = Measures()
EQUAL = 1e-4  # two vectors of an optimum are called equal where they are closer than this
CLOSE = 0.5  # SL say "close" of a ratio and give no number: here half of that at the start
GUESSING = np.log(32)  # the loss of a model that knows nothing, in batches of 32
# Names of runs. WITH is SL Fig. 2; the next three are Fig. 5, 6 and 7.
WITH, WITHOUT, SMALL, BOTH = "base", "no decay", "no decay, small start", "decay, small start"
ONE = "one symbol, p = .9"  # SL Fig. 8
HALF, ALL = "all symbols, p = .5", "all symbols, p = .9"  # another reading of Fig. 8


# What several measures use.


def ranges(numbers: dict, *conditions) -> Finding:
    """The range of the numbers under each label."""
    text = "; ".join(f"{label} {span(values, '.2g')}" for label, values in numbers.items())
    return Finding(text, *conditions)


def below(bar: float, numbers: dict) -> Finding:
    """Under each label every number is below the bar."""
    margins = [Every(bar - values) for values in numbers.values()]
    return ranges(numbers, *margins)


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


def over_epochs(runs, start: str = "pretrained") -> np.ndarray:
    """Accuracy on unseen pairs in the mean over the epochs of the classifiers from a start, one a run."""
    return np.array([run.accuracy[start].mean() for run in runs])


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


def close_at(run) -> float:
    """First epoch recorded at which a run's ratio is half of that at its start; the last epoch where it never is."""
    times = run.steps[run.ratio < CLOSE * run.ratio[0]]
    return float(times[0]) if len(times) else float(run.steps[-1])


def pair_ratios(runs, kind: str, frame: int = -1) -> np.ndarray:
    """Mean distance of a kind of pairs over that of the random pairs matched to it, one a run."""
    return np.array([run.ratio(kind, frame) for run in runs])


def mean_distances(runs, kind: str, frame: int = -1) -> np.ndarray:
    """Mean distance of a kind of pairs, one a run."""
    return np.array([run.distances[kind][frame].mean() for run in runs])


def grown(runs, kind: str) -> np.ndarray:
    """Mean distance of a kind of pairs at the end over that at the start, one a run."""
    return mean_distances(runs, kind) / mean_distances(runs, kind, 0)


def split_words(run) -> set[str]:
    """The words of a run's text that have become two words each, and are not in it any more themselves."""
    found = set()
    for pair in run.pairs["injected"]:
        first, second = (run.words[k] for k in pair)
        if first != second and first[:-1] == second[:-1]:
            found.add(first[:-1])
    return found - set(run.words)


def order(runs) -> Finding:
    """Whether twins end closer than natural synonyms, and these closer than different words, by their ratios."""
    twins = pair_ratios(runs, "injected")
    natural = pair_ratios(runs, "natural")
    return Finding(
        f"twins {span(twins)}, natural synonyms {span(natural)}",
        natural - twins,
        1 - natural,
    )


# Section 1: what the paper finds.


@measures("sl-simclr")
def simclr(views):
    near, far, broken = views
    return ranges(
        {"equivalent views apart": near, "nearest others": far, "not equivalent": broken},
        Every(far / 100 - near),
    )


# Section 2: definitions, the loss and its diagrams.


@measures("sl-def-2-1", "Def. 2.1")
@measures("sl-def-4-1", "Def. 4.1")
@measures("sl-two-distributions", "one distribution")
def agrees(name, definition_counts):
    off, yes, no = (int(count) for count in definition_counts[name])
    return Finding(
        f"differ on {off} of {yes + no} pairs; {yes} obey it, {no} do not",
        0.5 - off,
        yes - 0.5,
        no - 0.5,
    )


@measures("sl-one-context")
def one_context(example):
    overall, (same, other) = example
    return ranges(
        {"gap in one context": same, "in the other": other},
        1e-12 - same,
        other - 0.5,
        overall.max() - 0.5,
    )


@measures("sl-eq-1")
def losses_agree(loss_errors):
    return ranges({"largest difference": loss_errors.max()}, 1e-12 - loss_errors.max())


@measures("sl-similarity")
def similarity(similarities):
    scalar, cosine, apart = similarities.T
    return ranges(
        {"scalar product: off by": scalar, "cosine": cosine, "one from the other": apart},
        1e-12 - scalar.max(),
        1e-12 - cosine.max(),
        apart.min() - 1e-3,
    )


@measures("sl-fig-1")
def diagrams(figure_1):
    # Of each batch and diagram (error, change with other labels).
    off = np.max([[*batch.values()] for batch in figure_1], (0, 1))[0]
    with_labels = np.array([batch["b"][1] for batch in figure_1])
    others = 0.0
    for batch in figure_1:
        without = [change for name, (_, change) in batch.items() if name != "b"]
        others = max(others, *without)
    return ranges(
        {"off by": off, "other labels change b by": with_labels, "the others": others},
        1e-12 - off,
        with_labels.min() - 1e-3,
        1e-12 - others,
    )


# Section 3: two networks, labels, a basis.


@measures("sl-crop-cutout")
def crop_and_cutout(cropped):
    error, change = cropped
    return ranges(
        {"largest difference": error, "change of the context": change},
        error == 0,
        change == 0,
    )


@measures("sl-shared")
def shared_parameters(sides):
    ratio = sides.equivalent / sides.different
    first = ratio.isel(step=0)
    last = ratio.isel(step=-1)
    ways = ("none", "table", "all")
    return ranges(
        {f"{way}: ratio": last.sel(variant=way) for way in ways},
        *((first - last).sel(variant=way) for way in ways),
    )


@measures("sl-update-encoder")
def update_of_contexts(steps):
    errors = [np.array(rows)[:, 1] for rows in steps.values()]
    off = np.max(errors, 0)
    return below(1e-12, {"off by": off})


@measures("sl-theorem-3-1")
def twins_meet(twins, twin_moved):
    contexts = twins["all hypotheses"].max(1)
    symbols = twins["softmax over symbols"].max(1)
    found = below(
        EQUAL,
        {
            "apart with the softmax over contexts (SL eq. 2)": contexts,
            "with that over symbols (SL Lemma A.1)": symbols,
        },
    )
    moved, change = twin_moved
    found.text += (
        f"; with a basis alone {moved:.0f} apart, where the loss is off its least value by "
    )
    found.text += f"{change['contexts']:.1g}"
    return found


@measures("sl-decay-basis")
def decay_for_basis(frequencies):
    equal, different = frequencies
    return ranges(
        {"equal frequencies: apart": equal, "different ones": different}, Every(EQUAL - equal)
    )


@measures("sl-never-appears")
def never_appears(absent):
    moved, others = absent
    return ranges(
        {"moved by": moved, "other twins apart": others},
        moved.max() == 0,
        Every(EQUAL - others),
    )


@measures("sl-many-contexts")
def many_contexts(basis):
    many = basis.sel(variant=[f"{n} columns" for n in (80, 100, 200)])
    twins = many.twins.max("pair")
    narrow = many.narrowest
    few = basis.twins.max("pair").sel(variant="64 columns")
    return ranges(
        {"twins": twins, "narrowest extent": narrow, "64 pairs: twins": few},
        Every((1e-5 - twins).min("variant")),
        Every((narrow - 1e-3).min("variant")),
    )


@measures("sl-perturbed")
def perturbed(pushed):
    ranks, before, anew, _ = pushed
    return ranges(
        {"independent directions": ranks, "twins apart, best symbols": anew, "before": before},
        Every(ranks - 15.5),
        Every(EQUAL - anew),
    )


@measures("sl-perturbed-again")
def perturbed_again(pushed):
    return ranges(
        {"twins apart, minimised again": pushed[3], "before": pushed[1]},
        Every(pushed[3] - EQUAL),
    )


@measures("sl-smaller-d")
def smaller_d(basis):
    apart = basis.twins.max("pair")
    small = apart.sel(variant=["48 columns, d = 16", "48 columns, d = 8"]).max("variant")
    return ranges(
        {
            "d = 32: apart": apart.sel(variant="48 columns"),
            "d = 24": apart.sel(variant="48 columns, d = 24"),
            "d = 16 and 8": small,
        },
        Every(EQUAL - small),
    )


# Section 4: without labels, aligned distributions.


@measures("sl-unrelated")
def unrelated(shuffled, first):
    ratio = end(shuffled)
    accuracy = end(shuffled, "pretrained")
    permuted = end(first, "permuted")[: len(accuracy)]
    return ranges(
        {"ratio": ratio, "accuracy": accuracy, "permuted": permuted},
        ratio - 0.9,
        permuted + 0.1 - accuracy,
    )


@measures("sl-twin-nearest")
def nearest(words_fixed_toss):
    share = end(words_fixed_toss, "twin_nearest")
    return Finding(f"{span(share, '.0%')} of them", share - 0.5)


@measures("sl-same-vector")
def same_vector(words_fixed_toss):
    least = np.array([run.distances["injected"][-1].min() for run in words_fixed_toss])
    closest = least / mean_distances(words_fixed_toss, "random, injected")
    return Finding(
        f"the closest pair is at {span(closest)} of it",
        Every(closest - 0.01),
    )


@measures("sl-rarer-farther")
def rarer(words_fixed_toss):
    slopes = []
    for run in words_fixed_toss:
        count = run.counts[run.pairs["injected"]].min(1)
        ratio = run.distances["injected"][-1] / run.distances["random, injected"][-1]
        slopes.append(np.polyfit(np.log(count), np.log(ratio), 1)[0])
    return Finding(f"ratio ~ occurrences^p, p = {span(slopes)}", -np.array(slopes))


@measures("sl-fresh-coin")
def fresh_coin(words_fresh_toss, words_fixed_toss):
    share = end(words_fresh_toss, "twin_nearest")
    distance = mean_distances(words_fresh_toss, "injected")
    fixed = mean_distances(words_fixed_toss, "injected")
    ratio = pair_ratios(words_fresh_toss, "injected")
    return Finding(
        f"{span(share, '.0%')} of the twins; distance {span(distance)}, fixed toss {span(fixed)}; "
        f"{span(ratio)} of that of random pairs",
        share - 0.9,
        fixed - distance,
        Every(ratio - 0.01),
    )


@measures("sl-theorem-4-2")
def without_labels(unlabelled):
    without, labelled = unlabelled
    return ranges(
        {"apart": without, "with labels": labelled},
        Every(EQUAL - without),
        Every(labelled - EQUAL),
    )


@measures("sl-frozen")
def frozen(given):
    return below(1e-9, {f"{name}: apart": apart for name, apart in given.items()})


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
    equal_with = np.array([same.max() for same, _ in with_decay[1e-3]])
    others_with = np.array([different.min() for _, different in with_decay[1e-3]])
    return ranges(
        {
            "equivalent apart": equal,
            "others": others,
            "CModAdd with decay: equivalent": equal_with,
            "others there": others_with,
        },
        Every(1e-3 - equal),
        Every(others - 1e-3),
        Every(1e-3 - equal_with),
        Every(others_with - 1e-3),
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


@measures("sl-same-data")
def same_data(same_columns):
    return ranges({"largest difference": same_columns}, same_columns == 0)


@measures("sl-no-answer")
def no_answer(gap_without_answer, no_answer):
    start, *_, last = over_seeds(no_answer, "different")
    left = last / start
    label = f"largest gap {gap_without_answer:g}; of their first distance different symbols keep"
    return ranges(
        {label: left},
        1e-12 - gap_without_answer,
        Every(0.1 - left),
    )


@measures("sl-own-setting")
def settings_of_section_5(setting):
    differ = sum(len(set(values)) > 1 for values in setting.values())
    return Finding(f"{differ} of {len(setting)} settings differ", 0.5 - differ)


@measures("sl-fig-2a")
def only_equivalent(first):
    different = over_seeds(first, "different")
    start, *_, last = over_seeds(first, "ratio")
    kept = different[-1] / different[-7]
    return ranges(
        {"first ratio": start, "last": last, "different keep": kept},
        start - last,
        kept - 0.9,
    )


@measures("sl-own-fig-2a")
def own_equivalent_close(paper):
    different = over_seeds(paper, "different")
    half = np.searchsorted(paper[0].steps, paper[0].steps[-1] / 2)
    start, *_, last = over_seeds(paper, "ratio")
    kept = different[-1] / different[half]
    return ranges(
        {"last ratio": last, "first": start, "different keep": kept},
        CLOSE * start - last,
        kept - 0.9,
    )


@measures("sl-own-only")
def own_only_equivalent(own_closest):
    equivalent, different, closer = own_closest
    found = ranges(
        {"farthest equivalent pair": equivalent, "nearest different pair": different},
        Every(different - equivalent),
    )
    found.text += f"; closer than the farthest equivalent one: {listed(closer, 'd')} of 112 pairs"
    return found


@measures("sl-defaults-fig-2a")
def defaults_equivalent_close(defaults):
    return own_equivalent_close(defaults)


@measures("sl-defaults-fig-2b")
def defaults_better(defaults):
    return compared({"accuracy": over_epochs(defaults), "random": over_epochs(defaults, "random")})


@measures("sl-loss-zero")
def loss_zero(trained):
    least = end(trained[WITH], "floor")
    return ranges({"least loss": least, "guessing": GUESSING}, Every(GUESSING / 10 - least))


@measures("sl-loss-floor")
def loss_at_floor(full):
    above = []
    for runs in full.values():
        least = end(runs, "floor")
        above.append((end(runs, "loss") - least) / (GUESSING - least))
    up = np.concatenate(above)
    return below(0.1, {"up by": up})


@measures("sl-fig-2b")
def trained_helps(first):
    return compared({"accuracy": end(first, "pretrained"), "random": end(first, "random")})


@measures("sl-permuted")
def permuted_helps_less(first, paper):
    return compared(
        {"accuracy": end(first, "pretrained"), "permuted": end(first, "permuted")},
        {
            "paper's setting": over_epochs(paper),
            "permuted there": over_epochs(paper, "permuted"),
        },
    )


@measures("sl-own-fig-2b", WITH, WITH)
@measures("sl-own-fig-6b", SMALL, RANDOM)
@measures("sl-own-fig-7b", BOTH, WITH)
@measures("sl-own-fig-8b", ONE, WITH)
def better(name, random, own):
    return compared(
        {"accuracy": over_epochs(own[name]), "random": over_epochs(own[random], "random")}
    )


@measures("sl-good")
def good_representations(oracle, long):
    return compared({"one vector a class": oracle.mean(1), "random": over_epochs(long, "random")})


@measures("sl-perfect-early")
def perfect_early(paper):
    trained = np.array([perfect_at(run, "pretrained") for run in paper])
    random = np.array([perfect_at(run, "random") for run in paper])
    last = paper[0].accuracy_at[-1]
    earlier = np.minimum(random, last) - np.minimum(trained, last)
    text = f"at epochs {listed(trained, 'g')}; random {listed(random, 'g')}"
    return Finding(text.replace("inf", "never"), earlier)


@measures("sl-rq1")
def aligned_is_useful(dose, random, own_wide):
    accuracy = end(dose[1 / 32], "pretrained")
    random = random[: len(accuracy)]
    wide = over_epochs(own_wide) - over_epochs(own_wide, "random")
    return ranges(
        {
            "aligned": accuracy,
            "random": random,
            "in the paper's setting with d = 128 the gain is": wide.mean(),
        },
        accuracy - random,
    )


# Sections 7 and 10: less alignment, several tasks.


@measures("sl-never-together")
def never_together(by_class, apart):
    near, far = by_class
    return ranges(
        {
            "with that encoder equivalent symbols are apart by": near,
            "others": far,
            "with our transformer, untied: ratio": end(apart),
        },
        near / far - 0.9,
    )


@measures("sl-violated")
def violated(dose):
    some, more = (end(dose[p]) for p in (0.1, 0.3))
    return ranges(
        {"p = .1: ratio": some, "p = .3": more},
        0.9 - some,
        0.9 - more,
    )


@measures("sl-partial")
def partial(dose, random):
    return compared({"accuracy": end(dose[0.5], "pretrained"), "random": random})


@measures("sl-several-tasks")
def several_tasks(several):
    twins = several["both"][:, 1]
    others = np.min([apart[:, 0] for name, apart in several.items() if name != "both"], 0)
    return ranges(
        {"agree in both: apart": twins, "nearest others": others},
        Every(1e-3 - twins),
        Every(others - 1e-3),
    )


# Appendix: the proofs, and the update of a batch (A.1 to A.5).


@measures("sl-lemma-a-1")
def lemma(lemma):
    printed, corrected = lemma
    error = printed.min() if corrected.max() < 0.01 else np.nan
    label = f"softmax off by {corrected.max():.0e}, exp(sim) by at least"
    return ranges({label: error}, 0.01 - error)


@measures("sl-fig-3")
def two_lines(lines):
    parallel, others = lines
    return ranges(
        {"directions left, parallel": parallel, "not parallel": others},
        0.5 - abs(parallel - 1).max(),
        0.5 - others.max(),
    )


@measures("sl-prop-a-2")
def other_answers(twins):
    apart = twins["(1) broken"].min(1)
    return ranges({"apart": apart}, Every(apart - EQUAL))


@measures("sl-any-d")
def any_d(one_dimension):
    four, cmodadd = one_dimension
    return ranges(
        {"four symbols, nearest": four, "CModAdd, nearest": cmodadd},
        Every(1e-3 - four),
        Every(1e-3 - cmodadd),
    )


@measures("sl-update")
def update(steps):
    distinct, repeated = (np.array(steps[name])[:, 0] for name in ("distinct", "repeated"))
    return ranges({"distinct: off by": distinct, "repeated": repeated}, Every(1e-12 - distinct))


# Appendix: variants of the training (A.6 to A.10).


@measures("sl-own-fig-4a")
def own_wide_near(own_wide):
    return close(own_wide)


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


@measures("sl-imbalance-fades")
def imbalance_fades(law_errors):
    return below(0.03, {f"{name}: off by": error for name, error in law_errors.items()})


@measures("sl-large-symbols")
def large_symbols(flow_ratios):
    large, *others = flow_ratios
    numbers = {f"ratio, {large}": flow_ratios[large]} | {name: flow_ratios[name] for name in others}
    return ranges(
        numbers,
        *(Every(flow_ratios[large] - flow_ratios[name]) for name in others),
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
    numbers = {
        "nearest, with decay": own_nearest[WITH],
        "without": own_nearest[WITHOUT],
        "over the mean distance, with": own_nearest[WITH] / end(own[WITH], "different"),
        "and without": own_nearest[WITHOUT] / end(own[WITHOUT], "different"),
    }
    nearest, without, share, share_without = numbers.values()
    return ranges(
        numbers,
        nearest - without,
        share - share_without,
    )


@measures("sl-own-fig-6a", SMALL)
@measures("sl-own-fig-8a", ONE)
def ends_close(name, own):
    return close(own[name])


@measures("sl-own-fig-7a")
def both_close(own):
    return unless_cut(own, close(own[BOTH]))


@measures("sl-own-farther")
def farther_apart(own):
    return unless_cut(
        own,
        compared({"with": end(own[BOTH], "different"), "without": end(own[SMALL], "different")}),
    )


@measures("sl-one-distance")
def one_distance(with_decay):
    errors = {}
    for decay, optima in with_decay.items():
        ratios = [different / theory.l2_distance(decay) for _, different in optima]
        errors[f"decay {decay:g}: off by"] = np.array([abs(ratio - 1).max() for ratio in ratios])
    return below(1e-3, errors)


@measures("sl-own-bands")
def three_bands(own, own_groups):
    return unless_cut(own, ranges({"groups": own_groups}, own_groups == 3))


@measures("sl-uneven-pair")
def uneven_pair(own_uneven):
    return compared({"ratio of the pair": own_uneven[ONE], "even": own_uneven[WITH]})


@measures("sl-all-uneven")
def all_uneven(trained):
    even, half, most = (end(trained[name]) for name in (WITH, HALF, ALL))
    accuracies = {
        "accuracy, even": end(trained[WITH], "pretrained"),
        "at .9": end(trained[ALL], "pretrained"),
    }
    return compared(
        {"p = .5: ratio": half, "even": even},
        {"p = .9": most, "p = .5: ratio": half},
        accuracies,
    )


@measures("sl-own-longer")
def one_uneven_longer(own):
    longer = np.array([close_at(run) for run in own[ONE]])
    even = np.array([close_at(run) for run in own[WITH]])
    return ranges(
        {
            "ratio": end(own[ONE]),
            "even": end(own[WITH]),
            "thousand epochs until half of the start": longer / 1000,
            "even data": even / 1000,
        },
        end(own[ONE]) - end(own[WITH]),
        longer - even,
    )


@measures("sl-own-less-useful")
def one_uneven_less_useful(own):
    return compared({"even": over_epochs(own[WITH]), "uneven": over_epochs(own[ONE])})


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
def converge(words_fast):
    twins = grown(words_fast, "injected")
    others = grown(words_fast, "random, injected")
    return Finding(
        f"twins end at {span(twins)} times the distance of the start, random pairs at {span(others)} times",
        0.5 - twins,
        others - 0.5,
    )


@measures("sl-fig-9b-open")
def choices_decide(words_fast, words_start_1, words_fixed_toss):
    fast, slow, small = (
        grown(runs, "injected") for runs in (words_fast, words_start_1, words_fixed_toss)
    )
    return Finding(
        f"twins end at {span(fast)} times the distance of the start; at .002 at {span(slow)} times; from the small "
        f"start at {span(small)} times",
        0.5 - fast,
        slow - 0.5,
        small - 1,
    )


@measures("sl-artificial")
def split_by_a_coin(words_fixed_toss):
    counts = np.array([run.counts[run.pairs["injected"]] for run in words_fixed_toss])
    first = counts[..., 0]
    second = counts[..., 1]
    uneven = ((first - second) ** 2 / (first + second)).sum(1)
    split = np.array([len(split_words(run)) for run in words_fixed_toss])
    return Finding(
        f"{span(split, 'd')} words, sum {span(uneven, '.0f')}",
        split == 100,
        Every(3 - abs(uneven - 100) / 200**0.5),
    )


@measures("sl-natural-between")
def between(words_fixed_toss):
    return order(words_fixed_toss)


@measures("sl-softmax-side")
def softmax_side(words_fixed_toss, words_over_symbols):
    last = words_over_symbols[0].steps[-1]
    frame = list(words_fixed_toss[0].steps).index(last)
    contexts = pair_ratios(words_fixed_toss, "injected", frame)
    other = pair_ratios(words_over_symbols, "injected")
    return Finding(
        f"ratio {span(contexts)} and {span(other)}",
        Every(0.05 - abs(contexts - other)),
    )


@measures("sl-whole-sentence")
def whole_sentence(words_whole_sentence):
    return order(words_whole_sentence)


@measures("sl-transformer")
def with_transformer(words_transformer):
    return order(words_transformer)
