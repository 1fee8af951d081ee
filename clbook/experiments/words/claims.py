"""What SL say about synonyms in a text, judged on the chapter's runs."""

import numpy as np

from clbook.claims import Chapter, Finding

chapter = Chapter("words")
SEEN = ("holds", "not seen here")
PAPER = "1 % of BookCorpus, transformer, the rest of the sentence as context; d, steps and learning rate not given"
TEXT = "library documentation, five words on each side"
SMALL = f"{TEXT}, mean encoder, d = 64, start of deviation .02, Adam at .002"
CONVERGE = ("twins end nearer than they began, and different words lose a smaller part of their distance "
            "(set after the run)")
SEEDS = "3 seeds of 3,000 steps, 100 pairs of twins each"


def ratios(runs, kind: str, frame: int = -1) -> np.ndarray:
    """Mean distance of a kind of pairs over that of the random pairs matched to it, one a run."""
    return np.array([run.ratio(kind, frame) for run in runs])


def grown(runs, kind: str) -> np.ndarray:
    """Mean distance of a kind of pairs at the end over that at the start, one a run."""
    return np.array([run.distances[kind][-1].mean() / run.distances[kind][0].mean() for run in runs])


def span(values, form: str = ".2f") -> str:
    """The range of some numbers."""
    low, high = f"{np.min(values):{form}}", f"{np.max(values):{form}}"
    return low if low == high else f"{low} to {high}"


def converged(runs) -> Finding:
    """Whether twins end nearer than they began, and different words lose a smaller part of their distance."""
    twins, others = grown(runs, "injected"), grown(runs, "random, injected")
    return Finding(f"twins end at {span(twins)} times the distance of the start, random pairs at {span(others)} times",
                   float(twins.mean()), (1 - twins, others - twins))


@chapter.claim(
    "sl-fig-9-closer", "SL Fig. 9b; SL Fig. 9a", shown=True, anchor="fig-wo-nine", verdicts=SEEN,
    says="Words that are equivalent come closer to each other than different ones, in the mean and pair by pair",
    theirs=PAPER, here=f"{SMALL}; different words are as frequent as the twins",
    bar="twins' mean distance is below that of random pairs, and more than half of the pairs are below their "
        "own (set after the run)",
    evidence=SEEDS)
def closer(seeds):
    ratio = ratios(seeds, "injected")
    share = np.array([(r.distances["injected"][-1] < r.distances["random, injected"][-1]).mean() for r in seeds])
    return Finding(f"mean distance {span(ratio)} of that of random pairs; {span(share, '.0%')} of the pairs",
                   float(ratio.mean()), (1 - ratio, share - 0.5))


@chapter.claim(
    "sl-natural-between", "SL Section A.11, natural synonyms", shown=True, anchor="wo-nine", verdicts=SEEN,
    says="Natural synonyms lie between artificial ones and different words", theirs=PAPER,
    here=f"{SMALL}; natural synonyms from a list of ours",
    bar="the mean distance, over that of matched random pairs, is above that of the twins and below 1", evidence=SEEDS)
def between(seeds):
    twins, natural = ratios(seeds, "injected"), ratios(seeds, "natural")
    return Finding(f"ratio {span(natural)}, twins {span(twins)}", float(natural.mean()), (natural - twins, 1 - natural))


@chapter.claim(
    "sl-fig-9b-small-start", "SL Fig. 9b", shown=True, anchor="wo-nine", verdicts=SEEN,
    says="Equivalent words converge to a small distance, different ones remain distant", theirs=PAPER, here=SMALL,
    bar=CONVERGE, evidence=SEEDS)
def small_start(seeds):
    return converged(seeds)


@chapter.claim(
    "sl-fig-9b-start-1", "SL Fig. 9b", anchor="wo-open", verdicts=SEEN,
    says="Equivalent words converge to a small distance, different ones remain distant",
    theirs=f"{PAPER}; a footnote points to nn.Embedding, whose default start is N(0, 1)",
    here=f"{TEXT}, mean encoder, d = 64, start N(0, 1), Adam at .002",
    bar=CONVERGE,
    evidence="1 seed of 3,000 steps, which can move a coordinate by about 6; two words start 11 apart")
def default_start(large):
    return converged([large])


@chapter.claim(
    "sl-fig-9b-start-1-fast", "SL Fig. 9b", anchor="wo-open", verdicts=SEEN,
    says="Equivalent words converge to a small distance, different ones remain distant",
    theirs=f"{PAPER}; a footnote points to nn.Embedding, whose default start is N(0, 1)",
    here=f"{TEXT}, mean encoder, d = 64, start N(0, 1), Adam at .02",
    bar=CONVERGE,
    evidence="1 seed of 3,000 steps")
def default_start_fast(fast):
    return converged([fast])


@chapter.claim(
    "sl-transformer", "SL Section A.11, transformer encoder", anchor="wo-open", verdicts=SEEN,
    says="The order of Fig. 9 appears with a transformer that encodes the contexts", theirs=PAPER,
    here=f"{TEXT}, one layer, d = 64, start of deviation .02, batches of 256",
    bar="twins' mean distance, over that of matched random pairs, is below that of natural synonyms, and that below 1 "
        "(set after the run)",
    evidence="1 seed of 1,500 steps")
def with_transformer(transformer):
    twins, natural = ratios([transformer], "injected"), ratios([transformer], "natural")
    return Finding(f"twins {span(twins)}, natural synonyms {span(natural)}", float(twins.mean()),
                   (natural - twins, 1 - natural))


@chapter.claim(
    "sl-twin-nearest", "SL Theorem 4.2; SL Fig. 9b", ours=True, shown=True, anchor="wo-nine",
    says="For most twins the other twin is the nearest of all words", theirs="not said", here=SMALL,
    bar="for more than half of the first twins, among 4,099 other symbols (set after the run)", evidence=SEEDS)
def nearest(seeds):
    share = np.array([run.twin_nearest[-1] for run in seeds])
    return Finding(f"{span(share, '.0%')} of them", float(share.mean()), (share - 0.5,))


@chapter.claim(
    "sl-same-vector", "SL Theorem 4.2", ours=True, shown=True, anchor="wo-meet",
    says="Twins get the same vector from a finite text, too",
    theirs="not said: the theorem asks for equal conditional probabilities, which a sample lacks, and an optimum",
    here=SMALL, bar="the closest pair of a seed is nearer than a hundredth of the mean distance of random pairs",
    evidence=SEEDS)
def same_vector(seeds):
    closest = np.array([r.distances["injected"][-1].min() / r.distances["random, injected"][-1].mean() for r in seeds])
    return Finding(f"the closest pair is at {span(closest)} of it", float(closest.mean()), (0.01 - closest,))


@chapter.claim(
    "sl-rarer-farther", "SL Theorem 4.2", ours=True, shown=True, anchor="fig-wo-count",
    says="Twins that occur more often end closer to each other", theirs="not said", here=SMALL,
    bar="over the pairs, the logarithm of the distance ratio falls with that of the occurrences of the rarer twin "
        "(set after the run)",
    evidence=SEEDS)
def rarer(seeds):
    slopes = []
    for run in seeds:
        count = run.counts[run.pairs["injected"]].min(1)
        ratio = run.distances["injected"][-1] / run.distances["random, injected"][-1]
        slopes.append(np.polyfit(np.log(count), np.log(ratio), 1)[0])
    return Finding(f"ratio ~ occurrences^p, p = {span(slopes)}", float(np.mean(slopes)), (-np.array(slopes),))


@chapter.claim(
    "sl-softmax-side", "SL Section A.11, masked words; SL eq. 2, without labels", ours=True, anchor="wo-open",
    says="It makes no difference whether the word looks for its context or the context for its word",
    theirs="not said: eq. 2 has the first, A.11 the second", here=f"{SMALL}, at step 750",
    bar="the twins' distance ratio differs by less than .05", evidence="3 seeds of 750 steps each way")
def softmax_side(seeds, symbols):
    contexts = np.array([run.ratio("injected", list(run.steps).index(symbols[0].steps[-1])) for run in seeds])
    other = ratios(symbols, "injected")
    return Finding(f"ratio {span(contexts)} and {span(other)}", float(np.abs(contexts - other).max()),
                   (0.05 - np.abs(contexts - other),))
