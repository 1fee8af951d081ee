"""What SL say about symbols that mean the same, judged on the chapter's runs."""

from functools import partial, wraps

import numpy as np

from clbook.claims import Chapter, Finding
from clbook.experiments.modadd import lookup, over_seeds
from clbook.experiments.modadd.equivalence import SAME

chapter = Chapter("modadd")
EQUAL = 1e-4  # two vectors of an optimum are called equal where they are closer than this
GUESSING = np.log(32)  # the loss of a model that knows nothing, in batches of 32
WITH, WITHOUT, SMALL, BOTH = "base", "no decay", "no decay, small start", "decay, small start"  # SL Fig. 2, 5, 6, 7
ONE, HALF, ALL = "one symbol, p = .9", "all symbols, p = .5", "all symbols, p = .9"  # SL Fig. 8, in two readings


def paired(pair: dict) -> dict[str, np.ndarray]:
    """The pair as arrays, of as many seeds as both have."""
    arrays = {label: np.asarray(values) for label, values in pair.items()}
    seeds = min((len(values) for values in arrays.values() if values.ndim), default=0)
    return {label: values[:seeds] if values.ndim else values for label, values in arrays.items()}


def compared(id, source, says, bar, pairs, **fields):
    """A claim: in each of `pairs` {label: number, or one a seed} the first is larger. Labels "bar..." are not shown."""
    @wraps(pairs)
    def measure(*runs):
        found = [*map(paired, pairs(*runs))]
        shown = {label: x for pair in found for label, x in pair.items() if not label.startswith("bar")}
        ends = {label: dict.fromkeys(f"{end:.2g}" for end in (x.min(), x.max())) for label, x in shown.items()}
        text = "; ".join(f"{label} {' to '.join(ends[label])}" for label in shown)
        return Finding(text, float(next(iter(shown.values())).mean()), tuple(np.subtract(*p.values()) for p in found))
    chapter.claim(id, source, says=says, bar=bar, **fields)(measure)


def end(trained, name: str, field: str = "ratio") -> np.ndarray:
    """What the runs `name` recorded last: a field, or the accuracy from a start; a number a seed."""
    return over_seeds(trained[name], field)[-1]


def helps(name: str, other: str = "random"):
    """Pairs of a claim: the table of the runs `name` is a better start for the classifier than the other one."""
    return lambda trained: [{"accuracy": end(trained, name, "pretrained"), other: end(trained, WITH, other)}]


def closer(far, near) -> list[dict]:
    """Pairs of a claim: the second ratio is the smaller one, by difference and by quotient."""
    return [{"Fig. 5a": far, "ratio": near}, {"bar, log": np.log(far), "bar, log of ratio": np.log(near)}]


# Exact: distributions, and optima of look-up tables.
on_tables = partial(
    compared, theirs="an optimum of eq. 2", evidence="3 tables, optima in float64", anchor="ma-optimum",
    here="look-up tables, 4 pairs of twins, 24 contexts with 2 labels, d = 8, endless batch")
on_cmodadd = partial(on_tables, here="look-up tables, CModAdd, d = 8", anchor="ma-bands", evidence="3 starts, float64")
in_descent = partial(compared, ours=True, theirs="not said", evidence="3 starts, 1,000 steps", anchor="fig-ma-balance",
                     here="gradient descent of look-up tables on CModAdd, lr = 2")
on_condition = {"verdicts": ("holds when", "fails")}
compared(
    "sl-aligned", "SL Section 5, aligned tasks; SL Section 5, equivalence in ModAdd; "
    "SL Section 5, equivalence in CModAdd", "ModAdd and CModAdd are aligned: in both, exactly the symbols that agree "
    "mod k are equivalent", "no exception", lambda aligned: [
        {"bar": 0.5, f"exceptions in {name}:": ((gap <= SAME) != np.tile(np.eye(8, dtype=bool), (2, 2))).sum()}
        for name, gap in (("ModAdd", aligned.semantic), ("CModAdd", aligned.conditional))],
    theirs="any N, k", here="N = 16, k = 8", evidence="all 120 pairs, exact", anchor="fig-ma-gaps")
on_tables(
    "sl-theorem-3-1", "SL Theorem 3.1; SL Theorem 4.2", "Twins, which mean the same and are equally likely in each "
    "context, have one vector at the optimum if $d$ contexts are a basis", "less than .0001 apart, with either softmax",
    lambda twins: [{"bar": EQUAL, f"softmax over {over}: apart": twins[name].max(1)} for over, name in (
        ("contexts (eq. 2)", "all hypotheses"), ("symbols (Lemma A.1)", "softmax over symbols"))],
    shown=True, condition=r"the differences of the contexts span $\mathbb{R}^d$", **on_condition)
on_tables(
    "sl-basis-alone", "SL Theorem 3.1; SL Theorem 4.2", "With eq. 2, twins have one vector if contexts are a basis",
    "one of two twins is moved by 5 in all entries, and the loss rises by more than rounding, 1e-12",
    lambda moved, change: [{f"twins {moved:.0f} apart, loss changed by": change["contexts"], "bar": 1e-12}],
    shown=True, here="8 contexts, $C = I$, Z optimal", evidence="a counterexample, float64", anchor="ma-directions")
on_tables(
    "sl-needed", "SL Section 4, necessary hypotheses", "Equal probabilities of contexts and a basis are both needed",
    "without either, twins are more than .0001 apart", lambda twins: [
        {f"{why}: apart": twins[name].min(1), "bar": EQUAL} for why, name in (
            ("other contexts", "(2) broken"), ("no basis", "(3) impossible:\n24 columns, d = 32"))])
on_tables(
    "sl-many-contexts", "SL Section 3, more contexts than dimensions", "A basis is realistic: there are more pairs of "
    "context and label than dimensions", "narrowest extent above .001 of the widest, twins less than .0001 apart",
    lambda twins, narrow: [{"narrowest": narrow["100 columns, d = 32"], "bar": 1e-3}, {
        "bar": EQUAL, f"twins (of 48: {twins['48 columns, d = 32'].max():.1f})": twins["100 columns, d = 32"].max(1)}],
    shown=True, theirs="thousands of pairs, d up to 1,024", here="100 pairs (set after 48), d = 32", **on_condition,
    condition="there are about three pairs a dimension, not 1.5", anchor="ma-directions")
on_tables(
    "sl-lemma-a-1", "SL Lemma A.1", "At the optimum exp(sim) is the ratio of densities over its sum in the batch",
    "error below .01, as it is when the softmax of sim stands for exp(sim)", lambda printed, corrected: [
        {"bar": 0.01, f"softmax off by {corrected.max():.0e}, exp(sim) by at least":
            printed.min() if corrected.max() < 0.01 else np.nan}], verdicts=("holds", "misprinted"),
    here="look-up tables, batches of 3 and 4 symbols, softmax over symbols", anchor="ma-directions")
on_tables(
    "sl-prop-a-2", "SL Prop. A.2", "Two symbols with the same contexts and the same vector mean the same",
    "twins with other answers above .0001 apart", lambda twins: [{"apart": twins["(1) broken"].min(1), "bar": EQUAL}],
    condition="$d$ is large enough for Lemma A.1", anchor="ma-directions", **on_condition)
on_cmodadd(
    "sl-corollary-4-3", "SL Corollary 4.3", "With aligned data two symbols have one vector at the optimum if and only "
    "if they mean the same in the task", "symbols that agree mod k less than .001 apart, all others more",
    lambda with_decay: [{"bar": 1e-3, "equivalent apart": [run.distances()[0].max() for run in with_decay[1e-3]]},
                        {"others": [run.distances()[1].min() for run in with_decay[1e-3]], "bar": 1e-3}], shown=True,
    condition="there is weight decay, else no optimum exists, and $d$ is large enough", **on_condition)
on_cmodadd(
    "sl-one-distance", "SL Section A.9, three bands", "The optimum with decay has no bands: all different symbols are "
    "equally far apart", "within .1 % of our formula, for three decays", lambda with_decay: [
        {"bar": 1e-3, f"decay {decay:g}: off by": [
            np.abs(run.distances()[1] / lookup.l2_distance(decay) - 1).max() for run in with_decay[decay]]}
        for decay in (1e-4, 1e-3, 0.015)], ours=True, theirs="not said")
in_descent(
    "sl-imbalance-fades", "SL Fig. 5a", r"$M = Z^\top Z - C^\top C$ fades like $e^{-2\lambda t}$ under decay",
    "within 3 % of this law", lambda law: [{"bar": 0.03, f"{name}: off by": off} for name, off in law.items()])
in_descent(
    "sl-large-symbols", "SL Fig. 5a; SL Fig. 6a", "Without decay a large start of the symbols keeps equivalent ones "
    "apart, one of the contexts does not", "the largest ratio of four starts, in each seed", lambda ratios: [
        {"ratio, large symbols": ratios["large symbols"], name: ratios[name]} for name in [*ratios][1:]], shown=True)

# Training with a transformer and Adam.
in_training = partial(
    compared, theirs="3 layers, lr .0001, decay .01, 10,000 epochs", verdicts=("holds", "not seen here"),
    here="1 layer, lr and decay .001, 500 epochs, 80 % of the samples", evidence="3 seeds", anchor="fig-ma-variants")
ten = {"evidence": "10 seeds"}
in_training(
    "sl-fig-2a", "SL Fig. 2a", "Only equivalent symbols become close; the distance of different ones stops falling",
    "the ratio falls; from epoch 258 to 500 different symbols keep .9 of their distance (set after the run)",
    lambda trained: [dict(zip(("first ratio", "last"), over_seeds(trained[WITH], "ratio")[[0, -1]], strict=True)),
                     {"different keep": np.divide(*over_seeds(trained[WITH], "different")[[-1, -7]]), "bar": 0.9}],
    shown=True, anchor="fig-ma-first", **ten)
in_training(
    "sl-fig-5a", "SL Fig. 5a", "Without decay equivalent symbols do not get close, though they approach each other",
    "a larger ratio than with decay, a smaller one than at the start", lambda trained: [
        {"ratio": end(trained, WITHOUT), "with decay": end(trained, WITH)},
        {"at the start": over_seeds(trained[WITHOUT], "ratio")[0], "ratio": end(trained, WITHOUT)}], **ten)
NOT_CLOSE = "a smaller ratio than in Fig. 5a, not close for SL, by difference and by quotient (set after the run)"
in_training(
    "sl-fig-6a", "SL Fig. 6a", "From a small start, without decay, equivalent symbols get close in reasonable time",
    NOT_CLOSE, lambda trained: closer(end(trained, WITHOUT), end(trained, SMALL)))
in_training(
    "sl-fig-7a", "SL Fig. 7a", "From a small start (here .02), with decay, equivalent symbols get close in good time",
    NOT_CLOSE, lambda trained: closer(end(trained, WITHOUT), end(trained, BOTH)), **ten)
in_training(
    "sl-farther-apart", "SL Section A.9, farther apart", "From a small start, different symbols end farther apart with "
    "decay than without", "a larger mean distance", lambda trained: [
        {"with": end(trained, BOTH, "different"), "without": end(trained, SMALL, "different")}])
in_training(
    "sl-three-bands", "SL Section A.9, three bands", "From a small start, with decay, the distances of different "
    "symbols form three bands", "two gaps wider than a tenth of the mean distance, at the end (set after the run)",
    lambda gaps: [{"second widest gap": gaps, "bar": 0.1}], anchor="fig-ma-pairs", **ten)
in_training(
    "sl-fig-8a", "SL Fig. 8a", "If contexts of one symbol are uneven, p = .9, equivalent symbols still get close",
    NOT_CLOSE + ", for the uneven pair", lambda uneven: closer(uneven[WITHOUT], uneven[ONE]))
in_training(
    "sl-longer", "SL Section A.10, longer and less useful", "If contexts of one symbol are uneven, equivalent symbols "
    "need longer to get close, and help a classifier less", "after equal time a larger ratio of the uneven pair, and a "
    "smaller accuracy", lambda trained, uneven: [
        {"ratio": uneven[ONE], "even": uneven[WITH]},
        {"accuracy, even": end(trained, WITH, "pretrained"), "uneven": end(trained, ONE, "pretrained")}])
in_training(
    "sl-all-uneven", "SL Section A.10, longer and less useful", "If contexts of all symbols are uneven, equivalent "
    "ones stay the farther apart the larger p is, and help less", "larger ratios, smaller accuracy", lambda trained: [
        {"p = .5: ratio": end(trained, HALF), "even": end(trained, WITH)},
        {"p = .9": end(trained, ALL), "p = .5: ratio": end(trained, HALF)},
        {"accuracy, even": end(trained, WITH, "pretrained"), "at .9": end(trained, ALL, "pretrained")}],
    ours=True, theirs="one symbol")
in_training(
    "sl-loss-zero", "SL Section 5, distance not zero", "Equivalent symbols stay apart probably because the loss gets "
    "close to zero", "a least possible loss below a tenth of that of guessing, log 32", lambda trained: [
        {"bar": GUESSING / 10, "least loss": over_seeds(trained[WITH], "floor")[-1]}],
    here="the paper's N, k, batches and split", evidence="10 splits", anchor="ma-floor", verdicts=("holds", "fails"))
in_training(
    "sl-loss-floor", "SL Section 5, distance not zero", "The loss ends near the least loss of its batches",
    "less than a tenth of the way up to guessing, the worst of 9 runs", lambda full: [{"bar": 0.1, "up by": max(
        (r.loss[-1] - r.floor[-1]) / (GUESSING - r.floor[-1]) for runs in full.values() for r in runs)}],
    ours=True, theirs="not said", here="1,500 epochs, all samples", evidence="9 runs, 3 seeds", anchor="ma-floor")
in_classifier = partial(
    in_training, theirs="10,000 epochs; widths not given", here="100 epochs, width 48, chosen with Fig. 2b in view",
    bar="higher accuracy at epoch 100 than from random symbols")
for figure, says, pairs, fields in (
        ("2b", "Trained symbols make a classifier better, earlier", helps(WITH), ten | {"shown": True}),
        ("6b", "Symbols from a small start, without decay, help a classifier", helps(SMALL), {}),
        ("7b", "Symbols from a small start, with decay, help a classifier", helps(BOTH), ten),
        ("8b", "Symbols from slightly misaligned data help a classifier", helps(ONE), {})):
    in_classifier(f"sl-fig-{figure}", f"SL Fig. {figure}", says, pairs=pairs, **fields)
in_classifier("sl-permuted", "SL Fig. 2b", "It is their meaning that helps: the same vectors, permuted, help less",
              bar="higher accuracy at epoch 100", pairs=helps(WITH, "permuted"), ours=True, **ten)
in_classifier(
    "sl-fig-5b", "SL Fig. 5b", "Symbols trained without decay help a classifier only slightly", bar="by less than .2",
    pairs=lambda trained: [{"random, plus .2": end(trained, WITH, "random") + 0.2,
                            "trained": end(trained, WITHOUT, "pretrained")}], **ten)
in_classifier(
    "sl-fig-4b", "SL Fig. 4b", "With d = 128 random symbols do equally well", bar="within .1 in accuracy at epoch 100",
    pairs=lambda trained: [{"random, plus .1": end(trained, "d = 128", "random") + 0.1,
                            "trained": end(trained, "d = 128", "pretrained")}], evidence="1 seed")
in_training(
    "sl-fig-4a", "SL Fig. 4a", "With d = 128 equivalent symbols still end near each other", "a ratio below the first",
    lambda trained: [dict(zip(("first ratio", "last"), over_seeds(trained["d = 128"], "ratio")[[0, -1]], strict=True))],
    evidence="1 seed")
