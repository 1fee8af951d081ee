"""What CS say about gradients and optima (their App. C and D), judged on the chapter's calculations."""

import numpy as np

from clbook.claims import Finding, span
from clbook.experiments.content_style.claims import chapter


def ranks(values: np.ndarray) -> np.ndarray:
    """(seeds,) how many singular values (seeds, d) are not zero."""
    return (values > 1e-10 * values[:, :1]).sum(1)


@chapter.measure("cs-lemma-5")
def flow(errors):
    printed, corrected, detached = (np.array([e[k][0] for e in errors]) for k in ("printed", "corrected", "detached"))
    text = rf"error {{:.2f}}; with $2 \Sigma_x$ {corrected.max():.0e}; with negatives held still {detached.max():.0e}"
    return Finding(text.format(printed.mean()), float(printed.mean()), (0.01 - printed,),
                   None if corrected.max() < 1e-5 else "fails")


@chapter.measure("cs-lemma-6")
def batch_size(spectra, estimates):
    few, many = (spectra[n][:, 0] / spectra[n][:, -1] for n in (5, 100))
    error = [np.linalg.norm(estimates[n] - estimates[max(estimates)], axis=(-2, -1)) for n in (5, 100)]
    rank, better = [ranks(spectra[n]) for n in (2, 12)], error[0] / error[1]
    return Finding(f"rank {rank[0].max()}, then {rank[1].min()}; condition number {span(few, '.0f')}, then "
                   f"{span(many, '.1f')}; errors {span(better, '.1f')} times smaller", float(many.mean()),
                   (rank[1] - rank[0], np.log(few / many), *np.log(better).T))


@chapter.measure("cs-lemma-6-remark")
def covariance_rank(estimates):
    rank = np.linalg.matrix_rank(np.array([found for n, found in estimates.items() if n < 8]))
    return Finding("at most {} (data) and {} (pairs)".format(*rank.max((0, 1))), float(rank.max()), (7.5 - rank.max(),))


@chapter.measure("cs-gradient-rank")
def gradient_rank(spectra):
    off = max(abs(ranks(values) - min(2 * n - 1, 8)).max() for n, values in spectra.items())
    return Finding(f"{ranks(spectra[5]).min()} of 8 with 5 pairs; off by {off} at most", float(off), (0.5 - off,))


@chapter.measure("cs-prop-2")
def reading(read):
    rate = {name.replace("\n", " "): np.array([read[name, sd] for sd in (0.1, 0.3)]) for name, _ in read}
    whitened = rate["g gaussian, x whitened"]
    text = "; ".join(f"{low.mean():.2f}, {high.mean():.2f} ({name})" for name, (low, high) in rate.items())
    return Finding("right: " + text, float(whitened.mean()), tuple(whitened == 1))


@chapter.measure("cs-prop-3")
def recipe_equalises(recipe):
    equal, scaled = (np.array([recipe[sd, name][1] for sd in (0.05, 0.1, 0.15)]) for name in ("1", "the recipe"))
    return Finding(f"content faster by {span(scaled, '.1f')}; at equal temperatures by {span(equal, '.1f')}",
                   float(scaled.mean()), tuple(abs(np.log(equal)) - abs(np.log(scaled))))


@chapter.measure("cs-lemma-7")
def content_faster(recipe):
    faster = np.array([recipe[sd, "1"][1] for sd in (0.05, 0.1, 0.15)])
    return Finding(f"faster by {span(faster)}", float(faster.mean()), tuple(faster - 1))


@chapter.measure("cs-prop-4")
def infimum(far):
    least = max(float(loss[-1]) for loss in far.values())
    text = ", ".join(f"{loss[0]:.2g}" for loss in far.values())
    return Finding(f"{text} with the content times 30; {least:.0e} at 1e8", least, (1e-9 - least,))


@chapter.measure("cs-prop-4-optimum")
def optimum(surface):
    best = np.array([loss.min(1) / loss[:, 0] for loss in surface.values()])
    return Finding(f"the best style has {span(best)} of the loss without", float(best.max()),
                   (float(best.max()) - 1 + 1e-9,))


@chapter.measure("cs-prop-5")
def low_rank(layers):
    (linear,), deep = layers[1], layers[3]
    return Finding(f"{linear} (linear); {', '.join(map(str, deep))} (by layer)", float(max(deep)),
                   (3.5 - max(linear, deep[-1]),))


@chapter.measure("cs-cor-1")
def inverse_not_best(corner):
    inverse, doubled = (np.array([corner[k][:, row, 1] for k in (1, 4)]) for row in (0, 1))
    text = "{:.2f} and {:.2f} fall to {:.2f} and {:.2f}".format(*inverse.mean(1), *doubled.mean(1))
    return Finding(text, float(doubled.mean()), tuple(inverse - doubled))


@chapter.measure("cs-prop-6")
def same_loss(sphere6):
    alone, through, *_ = sphere6["zero on style"]
    return Finding(f"difference {abs(alone - through):.0e}", abs(alone - through), (1e-9 - abs(alone - through),))


@chapter.measure("cs-prop-6-rank")
def full_rank(sphere6):
    _, _, rank, seen, _ = sphere6["zero on style"]
    return Finding(f"rank {seen}; it is f that has rank {rank}", float(seen), (seen - 7.5,))
