"""What CS say about gradients and optima (their App. C and D), judged on the chapter's calculations."""

import numpy as np

from clbook.claims import Finding
from clbook.experiments.content_style.claims import chapter, span

SMALL = {"theirs": "linear model", "evidence": "3 seeds"}
BATCHES = "box, d = 8, style sd .3, d_c = 0, n = 2 to 12 and 100, W small"
RATES = {"anchor": "cs-tau", "here": "box, p = 2, d_c = 4, style sd .3, content sd .05, .1 and .15, W small"}
SCALED = {"here": "box, style sd .3, d_c = 1, 2, 4, 512 pairs; f finds and scales the latents", "evidence": "float64"}
SIMPLEX = {"anchor": "cs-surface", "theirs": "f puts classes on a simplex; D is constant on content, zero on style",
           "here": "5 classes, random style, d = 8", "evidence": "float64"}


def ranks(values: np.ndarray) -> np.ndarray:
    """(seeds,) how many singular values (seeds, d) are not zero."""
    return (values > 1e-10 * values[:, :1]).sum(1)


@chapter.claim(
    "cs-lemma-5", "CS Lemma 5", anchor="fig-cs-lemmas", verdicts=("holds", "misprinted"), evidence="3 seeds, float64",
    says=r"In a linear model with many negatives $\dot W = (M + 1)\, W [\Sigma_x - \Sigma_{\tilde x}]$",
    theirs="M tends to infinity", here="1,024 pairs, d_c = 4, W a rotation times .001, M as prefactor",
    bar="relative error below 1 % against autograd")
def flow(errors):
    printed, corrected, detached = (np.array([e[k][0] for e in errors]) for k in ("printed", "corrected", "detached"))
    text = rf"error {{:.2f}}; with $2 \Sigma_x$ {corrected.max():.0e}; with negatives held still {detached.max():.0e}"
    return Finding(text.format(printed.mean()), float(printed.mean()), (0.01 - printed,),
                   None if corrected.max() < 1e-5 else "fails")


@chapter.claim(
    "cs-lemma-6", "CS Lemma 6", anchor="fig-cs-lemmas", here=BATCHES, **SMALL,
    says="A larger batch gives better estimates of the covariances, and better conditioned gradients of higher rank",
    bar="from 2 to 12 pairs the rank rises; from 5 to 100 the condition number and both covariances' errors fall")
def batch_size(spectra, estimates):
    few, many = (spectra[n][:, 0] / spectra[n][:, -1] for n in (5, 100))
    error = [np.linalg.norm(estimates[n] - estimates[max(estimates)], axis=(-2, -1)) for n in (5, 100)]
    rank, better = [ranks(spectra[n]) for n in (2, 12)], error[0] / error[1]
    return Finding(f"rank {rank[0].max()}, then {rank[1].min()}; condition number {span(few, '.0f')}, then "
                   f"{span(many, '.1f')}; errors {span(better, '.1f')} times smaller", float(many.mean()),
                   (rank[1] - rank[0], np.log(few / many), *np.log(better).T))


@chapter.claim(
    "cs-lemma-6-remark", "CS Lemma 6, remark", anchor="fig-cs-lemmas", here=BATCHES, **SMALL,
    says="With M + 1 < d the estimates of the covariances cannot have full rank", bar="below 8 where n is")
def covariance_rank(estimates):
    rank = np.linalg.matrix_rank(np.array([found for n, found in estimates.items() if n < 8]))
    return Finding("at most {} (data) and {} (pairs)".format(*rank.max((0, 1))), float(rank.max()), (7.5 - rank.max(),))


@chapter.claim(
    "cs-gradient-rank", "CS Lemma 6, remark", ours=True, anchor="fig-cs-lemmas", theirs="not said",
    says="The gradient of n pairs has rank min(2n - 1, d), and full rank with fewer pairs than dimensions",
    here=BATCHES, bar="that rank for each n", evidence="3 seeds")
def gradient_rank(spectra):
    off = max(abs(ranks(values) - min(2 * n - 1, 8)).max() for n, values in spectra.items())
    return Finding(f"{ranks(spectra[5]).min()} of 8 with 5 pairs; off by {off} at most", float(off), (0.5 - off,))


@chapter.claim(
    "cs-prop-2", "CS Prop. 2", anchor="fig-cs-reading", **SMALL, here="box, style sd .1 and .3, 800 pairs, W small",
    says="The singular values of the gradient tell how many dimensions are content",
    verdicts=("holds when", "fails"), condition="W stretches no direction and the observations are whitened first",
    bar="the largest drop follows the d_c-th value, for each d_c from 1 to 7 and both spreads")
def reading(read):
    rate = {name.replace("\n", " "): np.array([read[name, sd] for sd in (0.1, 0.3)]) for name, _ in read}
    whitened = rate["g gaussian, x whitened"]
    text = "; ".join(f"{low.mean():.2f}, {high.mean():.2f} ({name})" for name, (low, high) in rate.items())
    return Finding("right: " + text, float(whitened.mean()), tuple(whitened == 1))


@chapter.claim(
    "cs-prop-3", "CS Prop. 3", theirs=r"linear model, $\tau_s$ = 1; a heuristic", evidence="3 seeds", **RATES,
    says=r"With $\tau_c = \sigma_c / \sigma_s$ the gradients of content and style are of about the same size",
    bar="their rates of growth are closer to each other than at equal temperatures, for each spread of content")
def recipe_equalises(recipe):
    equal, scaled = (np.array([recipe[sd, name][1] for sd in (0.05, 0.1, 0.15)]) for name in ("1", "the recipe"))
    return Finding(f"content faster by {span(scaled, '.1f')}; at equal temperatures by {span(equal, '.1f')}",
                   float(scaled.mean()), tuple(abs(np.log(equal)) - abs(np.log(scaled))))


@chapter.claim(
    "cs-lemma-7", "CS Lemma 7; CS Lemma 7, remark", **SMALL, **RATES,
    says="The gradients of W are larger for content, also if it varies in a pair, but much less than style",
    bar="content grows faster, for each spread of content")
def content_faster(recipe):
    faster = np.array([recipe[sd, "1"][1] for sd in (0.05, 0.1, 0.15)])
    return Finding(f"faster by {span(faster)}", float(faster.mean()), tuple(faster - 1))


@chapter.claim(
    "cs-prop-4", "CS Prop. 4; CS Prop. 1", anchor="cs-surface", **SCALED,
    says="Maps that keep the content and drop all style come as near to the lowest loss, zero, as one likes",
    theirs="the proof scales the content without bound", bar="loss below 1e-9 where the content is times 1e8")
def infimum(far):
    least = max(float(loss[-1]) for loss in far.values())
    text = ", ".join(f"{loss[0]:.2g}" for loss in far.values())
    return Finding(f"{text} with the content times 30; {least:.0e} at 1e8", least, (1e-9 - least,))


@chapter.claim(
    "cs-prop-4-optimum", "CS Prop. 4", anchor="fig-cs-surface", **SCALED, theirs="its words, not its proof's limit",
    says="A map that keeps the content and drops all style attains the optimum",
    bar="at some scale of the content, from .3 to 30, no amount of style tried has a lower loss")
def optimum(surface):
    best = np.array([loss.min(1) / loss[:, 0] for loss in surface.values()])
    return Finding(f"the best style has {span(best)} of the loss without", float(best.max()),
                   (float(best.max()) - 1 + 1e-9,))


@chapter.claim(
    "cs-prop-5", "CS Prop. 5", anchor="cs-surface", evidence="200 pairs, float64",
    says="With content, the gradient in a weight matrix has rank at most d_c at the optimum",
    verdicts=("holds when", "fails"), condition="f is linear or the matrix is its last",
    theirs="nonlinear f", here="f inverts g (1 or 3 layers), doubles content and drops style; d_c = 3 of 8",
    bar="rank at most 3, for those matrices")
def low_rank(layers):
    (linear,), deep = layers[1], layers[3]
    return Finding(f"{linear} (linear); {', '.join(map(str, deep))} (by layer)", float(max(deep)),
                   (3.5 - max(linear, deep[-1]),))


@chapter.claim(
    "cs-cor-1", "CS Cor. 1", anchor="cs-surface", **SMALL, here="box, style sd .3, d_c = 1 and 4, 896 pairs a seed",
    says="With content the inverse of g does not have the lowest loss", bar="a lower loss with the content doubled")
def inverse_not_best(corner):
    inverse, doubled = (np.array([corner[k][:, row, 1] for k in (1, 4)]) for row in (0, 1))
    text = "{:.2f} and {:.2f} fall to {:.2f} and {:.2f}".format(*inverse.mean(1), *doubled.mean(1))
    return Finding(text, float(doubled.mean()), tuple(inverse - doubled))


@chapter.claim(
    "cs-prop-6", "CS Prop. 6", **SIMPLEX, bar="within 1e-9",
    says="On the sphere D f has the loss of the collapsed encoder")
def same_loss(sphere6):
    alone, through, *_ = sphere6["zero on style"]
    return Finding(f"difference {abs(alone - through):.0e}", abs(alone - through), (1e-9 - abs(alone - through),))


@chapter.claim(
    "cs-prop-6-rank", "CS Prop. 6", **SIMPLEX, says="D f has rank d", verdicts=("holds", "misprinted"), bar="rank 8")
def full_rank(sphere6):
    _, _, rank, seen, _ = sphere6["zero on style"]
    return Finding(f"rank {seen}; it is f that has rank {rank}", float(seen), (seen - 7.5,))
