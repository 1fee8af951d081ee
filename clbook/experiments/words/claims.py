"""What SL say about synonyms in a text, judged on the chapter's runs."""

import numpy as np

from clbook.claims import Chapter, Finding, span

chapter = Chapter(__file__)


def ratios(runs, kind: str, frame: int = -1) -> np.ndarray:
    """Mean distance of a kind of pairs over that of the random pairs matched to it, one a run."""
    return np.array([run.ratio(kind, frame) for run in runs])


def grown(runs, kind: str) -> np.ndarray:
    """Mean distance of a kind of pairs at the end over that at the start, one a run."""
    return np.array(
        [run.distances[kind][-1].mean() / run.distances[kind][0].mean() for run in runs]
    )


def converged(runs) -> Finding:
    """Whether twins end at less than half of the distance at which they began, and different words at more."""
    twins, others = grown(runs, "injected"), grown(runs, "random, injected")
    return Finding(
        f"twins end at {span(twins)} times the distance of the start, random pairs at {span(others)} times",
        float(twins.mean()),
        (0.5 - twins, others - 0.5),
    )


@chapter.measure("sl-fig-9-closer")
def closer(seeds):
    ratio = ratios(seeds, "injected")
    share = np.array(
        [(r.distances["injected"][-1] < r.distances["random, injected"][-1]).mean() for r in seeds]
    )
    return Finding(
        f"mean distance {span(ratio)} of that of random pairs; {span(share, '.0%')} of the pairs",
        float(ratio.mean()),
        (1 - ratio, share - 0.5),
    )


@chapter.measure("sl-natural-between")
def between(seeds):
    twins, natural = ratios(seeds, "injected"), ratios(seeds, "natural")
    return Finding(
        f"ratio {span(natural)}, twins {span(twins)}",
        float(natural.mean()),
        (natural - twins, 1 - natural),
    )


@chapter.measure("sl-fig-9b-small-start")
def small_start(seeds):
    return converged(seeds)


@chapter.measure("sl-fig-9b-start-1")
def default_start(large):
    return converged(large)


@chapter.measure("sl-fig-9b-start-1-fast")
def default_start_fast(fast):
    return converged(fast)


@chapter.measure("sl-transformer")
def with_transformer(transformer):
    twins, natural = ratios(transformer, "injected"), ratios(transformer, "natural")
    return Finding(
        f"twins {span(twins)}, natural synonyms {span(natural)}",
        float(twins.mean()),
        (natural - twins, 1 - natural),
    )


@chapter.measure("sl-twin-nearest")
def nearest(seeds):
    share = np.array([run.twin_nearest[-1] for run in seeds])
    return Finding(f"{span(share, '.0%')} of them", float(share.mean()), (share - 0.5,))


@chapter.measure("sl-same-vector")
def same_vector(seeds):
    closest = np.array(
        [
            r.distances["injected"][-1].min() / r.distances["random, injected"][-1].mean()
            for r in seeds
        ]
    )
    return Finding(
        f"the closest pair is at {span(closest)} of it", float(closest.mean()), (0.01 - closest,)
    )


@chapter.measure("sl-rarer-farther")
def rarer(seeds):
    slopes = []
    for run in seeds:
        count = run.counts[run.pairs["injected"]].min(1)
        ratio = run.distances["injected"][-1] / run.distances["random, injected"][-1]
        slopes.append(np.polyfit(np.log(count), np.log(ratio), 1)[0])
    return Finding(
        f"ratio ~ occurrences^p, p = {span(slopes)}", float(np.mean(slopes)), (-np.array(slopes),)
    )


@chapter.measure("sl-softmax-side")
def softmax_side(seeds, symbols):
    contexts = np.array(
        [run.ratio("injected", list(run.steps).index(symbols[0].steps[-1])) for run in seeds]
    )
    other = ratios(symbols, "injected")
    return Finding(
        f"ratio {span(contexts)} and {span(other)}",
        float(np.abs(contexts - other).max()),
        (0.05 - np.abs(contexts - other),),
    )


# What stands on the page of SL: the coin, a fresh one, wider windows.
@chapter.measure("sl-artificial")
def split_by_a_coin(fixed):
    first, second = np.moveaxis([run.counts[run.pairs["injected"]] for run in fixed], 2, 0)
    uneven = ((first - second) ** 2 / (first + second)).sum(1)
    pairs = np.array(
        [[[run.words[k] for k in pair] for pair in run.pairs["injected"]] for run in fixed]
    )
    named = [
        len({a[:-1] for a, b in own if a[:-1] == b[:-1] and a != b} - set(run.words))
        for own, run in zip(pairs, fixed, strict=True)
    ]
    return Finding(
        f"{span(named, 'd')} words, sum {span(uneven, '.0f')}",
        float(uneven.mean()),
        (np.array(named) == 100, 3 - abs(uneven - 100) / 200**0.5),
    )


@chapter.measure("sl-fresh-coin")
def fresh_coin(fresh, fixed):
    share, distance, other = (
        np.array(values)
        for values in (
            [run.twin_nearest[-1] for run in fresh],
            *([run.distances["injected"][-1].mean() for run in runs] for runs in (fresh, fixed)),
        )
    )
    return Finding(
        f"{span(share, '.0%')} of the twins; distance {span(distance)}, fixed toss {span(other)}",
        float(share.mean()),
        (share - 0.9, other - distance),
    )


@chapter.measure("sl-fresh-same")
def fresh_same(fresh):
    ratio = ratios(fresh, "injected")
    return Finding(
        f"{span(ratio)} of the distance of random pairs", float(ratio.mean()), (0.01 - ratio,)
    )


@chapter.measure("sl-whole-sentence")
def whole_sentence(wide_window):
    twins, natural = ratios(wide_window, "injected"), ratios(wide_window, "natural")
    return Finding(
        f"twins {span(twins)}, natural synonyms {span(natural)}",
        float(twins.mean()),
        (natural - twins, 1 - natural),
    )
