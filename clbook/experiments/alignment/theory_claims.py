"""What SA prove, and what they say about it, judged on the chapter's tables of similarities and on formulas."""

import numpy as np

from clbook import theory
from clbook.claims import Finding
from clbook.experiments.alignment.claims import chapter, listed, span

TABLES = "eq. 1 in float64: N = 200, T = 100, distinct points in a batch, 24 settings of tau, C, B, eta"
RUNS = "the worst of 24 settings, 1 seed each"
DISTINCT = {"verdicts": ("holds when", "fails"), "condition": "no point is in a batch twice"}
TWICE = "C = N = 4, B = 1024, tau = 5, one step of .5, one fixed view a point"
CIRCLE = "angles on the circle, N = 80, B = 64, 100 steps, tau = 2 and 5, eta = .01, .1, 10"


def allowed(run) -> float:
    """Delta at a run's settings."""
    c = run.config
    return theory.delta(c.classes, c.batch, c.steps, c.delta, c.tau)


@chapter.claim(
    "sa-loss-gap", "SA Section 3, loss gap", anchor="fig-sa-gap", verdicts=("holds when", "fails"),
    condition="the positive is left out below CL's line, as in DCL",
    says="The gap between the losses of CL and NSCL is of order 1/C", theirs="quoted, for all embeddings",
    here="random embeddings of 512 points, C = 10 to 160, tau = .5 and 1",
    bar="its logarithm falls in log C with a slope within .07 of -1", evidence="3 seeds")
def loss_gap(classes, gaps):
    curves = np.log([values.transpose(2, 1, 0) for values in gaps.values()])  # (taus, losses, classes, seeds)
    dcl, cl = np.swapaxes([[np.polyfit(np.log(classes), one, 1)[0] for one in both] for both in curves], 0, 1)
    return Finding(f"slopes {listed(dcl.mean(1))} at tau = .5, 1; with the positive, as in Section 3, "
                   f"{listed(cl.mean(1))}", float(dcl.mean()), tuple(0.07 - abs(dcl + 1)))


@chapter.claim(
    "sa-nscl-loss", "SA Appendix D.1, NSCL loss", anchor="sa-losses", verdicts=("holds", "misprinted"),
    says="NSCL is minus the logarithm of the positive's share in the softmax over the negatives",
    theirs="a definition", here="120 digits, cosines of raw pixels, tau = .5", bar="it is finite",
    evidence="1 batch, float64")
def nscl_loss(read):
    section, *_, printed = [value for name, value in read.items() if name.startswith("NSCL")]
    return Finding(f"it is {printed}; Section 3's loss is {section:.2f}", section, (np.isfinite(printed),))


@chapter.claim(
    "sa-theorem-1", "SA Theorem 1", shown=True, anchor="thm-sa-one", theirs="batches with replacement", **DISTINCT,
    says=r"The two tables differ by at most the bound, with probability $1 - \delta$", here=TABLES,
    bar="drift below the bound at each recorded time", evidence=RUNS)
def theorem_1(coupled):
    times = np.array([(run.bound[1:] / run.drift[1:]).min() for run in coupled])
    return Finding(f"the bound is at least {span(times, '.0f')} times the drift", float(times.min()),
                   (np.log(times.min()),))


@chapter.claim(
    "sa-theorem-1-replacement", "SA Theorem 1", anchor="fig-sa-replacement", theirs="any B, C, T and tau",
    says="The bound holds for batches drawn with replacement, in which points repeat", here=TWICE,
    bar="drift below the bound", evidence="3 seeds, float64")
def replacement(repeats):
    ratio = np.array([run.drift[-1] / run.bound[-1] for run in repeats if run.config.batch == 1024])
    return Finding(f"drift / bound = {listed(ratio)}", float(ratio.mean()), (1 - ratio,))


@chapter.claim(
    "sa-repeated-anchors", "SA Lemma 1; SA eq. 11; SA eq. 13; SA Lemma 8", anchor="sa-replacement", **DISTINCT,
    says="The squared gradients of a batch's anchors add up (eq. 10); the batch gradient is Lipschitz (eq. 11) and "
         "bounded (eq. 13); Lemma 8 follows", theirs="batches with replacement",
    here=f"C = 4, N = B = 1024, for Lemma 8 the 24 settings of Theorem 1; with repeats {TWICE}",
    bar="eq. 10 to 1e-12; no left side above the right one in eqs. 11, 13 and Lemma 8", evidence=f"3 seeds; {RUNS}")
def repeated_anchors(sides, coupled):
    part = max(run.injections.max() * run.config.tau * run.config.batch**0.5 / allowed(run) for run in coupled)
    squares, lipschitz, size = sides["distinct"].T
    return Finding(f"left / right in eqs. 10, 11, 13: {listed([squares.max(), lipschitz.max(), size.max()])}, Lemma 8 "
                   f"{part:.2f}; with repeats {listed(sides['repeated'].mean(0), '.0f')}", float(squares.max()),
                   (1e-12 - abs(squares - 1).max(), 1 - lipschitz.max(), 1 - size.max(), 1 - part))


@chapter.claim(
    "sa-beyond-triangle", "SA Theorem 1", ours=True, anchor="sa-vacuous",
    says="When training begins, Theorem 1 says more than the triangle inequality, which knows nothing of labels",
    theirs="not said", here="SA's C and B = 1024 on four data sets, learning rate 1.2, tau = .1, .5, 1",
    bar="below it after one step, in each setting", evidence="12 settings, formulas")
def beyond_triangle(life, coupled):
    useful, steps = [bool((run.bound < run.triangle)[1:].all()) for run in coupled], np.array(list(life.values()))
    return Finding(f"in {np.sum(steps > 0)} of {len(steps)}, for at most {steps.max()} steps; at each recorded time in "
                   f"{sum(useful)} of our {len(useful)} runs", float(steps.min()), (steps.min() - 0.5,))


@chapter.claim(
    "sa-lemma-2", "SA Lemma 2", anchor="sa-lemmas", theirs="any batch and similarities",
    says=r"The Hessian of an anchor's loss has norm at most $1/2\tau^2$", here=r"$\mathrm{Diag}(p) - pp^\top$, 5 keys",
    bar="largest eigenvalue at most 1/2, to 1e-9", evidence="10,000 random p and (1/2, 1/2, 0, 0, 0), float64")
def lemma_2(curvature):
    return Finding(f"attained at (1/2, 1/2), to {abs(curvature.max() - 0.5):.0e}; else at most "
                   f"{np.sort(curvature)[-2]:.3f}", float(curvature.max()), (0.5 + 1e-9 - curvature.max(),))


@chapter.claim(
    "sa-lemma-3", "SA Lemma 3", anchor="sa-lemmas", theirs="any anchor, CL and NSCL",
    says=r"The squared gradient of an anchor is that of eq. 12, and at most $2/\tau^2$",
    here="120 digits, cosines of raw pixels, tau = .5", bar="equal to 1e-12, and no larger",
    evidence="240 gradients by autograd, float64")
def lemma_3(squares, display):
    error, largest = float(abs(squares - display).max()), float(squares.max())
    return Finding(rf"equal to {error:.0e}; times $\tau^2$ at most {largest:.3f} (the second case of the proof forgets "
                   "the attraction)", largest, (1e-12 - error, 2 - largest))


@chapter.claim(
    "sa-lemma-5", "SA Lemma 5", anchor="ex-sa-lemma5", verdicts=("holds", "misprinted"),
    says="The share of negatives of an anchor has mean 1 - 1/C", theirs="batches with replacement, any B",
    here="B = 8, C = 10", bar="within .01", evidence="3 seeds of 20,000 batches")
def lemma_5(share):
    right = (1 - 1 / 8) * (1 - 1 / 10)
    misses = [abs(share - mean).max() for mean in (0.9, right)]
    return Finding(f"{span(share, '.3f')}, not .9; (1 - 1/B)(1 - 1/C) = {right:.4f}", float(share.mean()),
                   (0.01 - abs(share - 0.9),), None if min(misses) < 0.01 else "fails")


@chapter.claim(
    "sa-corollary-3", "SA Corollary 3", anchor="sa-lemmas", theirs="batches with replacement",
    says=r"Each anchor of T batches has a share of negatives of $1 - 1/C - \epsilon$ or more, with probability "
         r"$1 - \delta$", here=r"T = 100, B = 128, C = 10, $\delta$ = .01", bar="less in at most 1 % of the draws",
    evidence="3 seeds of 100 draws")
def corollary_3(fewest, promised):
    missed = (fewest < promised).mean(1)
    return Finding(f"less in {missed.mean():.0%}; the smallest is {fewest.min():.3f}, promised {promised:.3f}",
                   float(fewest.min()), (0.01 - missed,))


@chapter.claim(
    "sa-lemma-6", "SA Lemma 6; SA eq. 14", anchor="sa-lemmas", theirs="similarities in [-1, 1]", here=TABLES,
    says=r"The softmaxes of CL and NSCL differ by at most $\Delta$; classmates have at most $\Delta/2$ times the mass "
         "of negatives", evidence=f"{RUNS}; 120 digits",
    bar=r"both at each step; the difference is the proof's $2\alpha$, to 1e-12")
def lemma_6(identity, coupled):
    found = np.array([(run.reweighting.max(), allowed(run)) for run in coupled]).T
    gap, mass = found[0] / found[1], found[0] / (1 - found[0] / 2) / found[1]  # alpha to 1 - alpha
    return Finding(rf"at most {gap.max():.2f} and {mass.max():.2f} of it; $2\alpha$ to {identity:.0e}",
                   float(gap.max()), (1e-12 - identity, 1 - gap.max(), 1 - mass.max()))


@chapter.claim(
    "sa-lemma-6-range", "SA Lemma 6; SA Theorem 1", ours=True, anchor="sa-lemmas",
    says="Lemma 6 covers each run of eq. 1", theirs="the entries are taken to stay in [-1, 1]",
    here="tau = 5, C = 50, B = 200, eta = 1000, 100 steps", bar=r"the softmaxes differ by at most $\Delta$",
    evidence="3 seeds, float64")
def lemma_6_range(wild):
    ratio = np.array([run.reweighting.max() / allowed(run) for run in wild])
    kept = sum(bool((run.drift <= run.bound).all()) for run in wild)
    entry = max(abs(run.final[0]).max() for run in wild)
    return Finding(f"{span(ratio, '.1f')} times it, at entries up to {entry:.0f}; the drift keeps below Theorem 1 in "
                   f"{kept} of {len(wild)}", float(ratio.mean()), (1 - ratio,))


@chapter.claim(
    "sa-corollaries", "SA Corollary 1; SA Corollary 2", anchor="sa-metrics", theirs="the setting of Theorem 1",
    says=r"CKA is at least $(1 - \rho)/(1 + \rho)$ and RSA at least $(1 - r)/(1 + r)$", here=TABLES, evidence=RUNS,
    bar="no less at each recorded time, with the measured drift")
def corollaries(coupled):
    spare = []
    for run in coupled:
        pairs = run.config.n * (run.config.n - 1) / 2
        for k in range(1, len(run.steps)):
            spare.append((run.cka[k] - theory.cka_lower_bound(run.drift[k], run.gram_norm[k]),
                          run.rsa[k] - theory.rsa_lower_bound(run.drift[k], run.std[k], pairs)))
    cka, rsa = np.min(spare, 0)
    some = sum(theory.cka_lower_bound(run.bound[-1], run.gram_norm[-1]) > 0 for run in coupled)
    return Finding(f"CKA is above by {cka:.0e} or more, RSA by {rsa:.0e}; Theorem 1's bound promises a CKA above 0 in "
                   f"{some} of {len(coupled)} runs", float(min(cka, rsa)), (cka, rsa))


@chapter.claim(
    "sa-corollaries-far", "SA Corollary 2; SA Corollary 1", ours=True, anchor="sa-metrics",
    says="The inequality behind both corollaries holds for vectors at any relative distance r",
    theirs="stated of runs, for any r", here="b = -.1 a, r = 1.1", bar="correlation at least (1 - r)/(1 + r)",
    evidence="1 pair of vectors, float64")
def corollaries_far(correlation, certified):
    return Finding(f"{correlation:.0f}, below {certified:.2f}", float(correlation), (correlation - certified,))


@chapter.claim(
    "sa-theorem-2", "SA Theorem 2", anchor="thm-sa-two", theirs="smooth encoders, batches with replacement",
    says=r"The weights part by at most the bound, with probability $1 - \delta$", here=f"{CIRCLE}, distinct points",
    bar="drift below the bound at each recorded time", evidence="the worst of 6 settings, 1 seed each")
def theorem_2(circles):
    times = min((run.bound[1:] / run.drift[1:]).min() for run in circles)
    bound, triangle = np.array([(run.bound[-1], run.triangle[-1]) for run in circles]).T
    return Finding(f"the bound is at least {times:.0f} times the drift; at the end infinite in {np.isinf(bound).sum()} "
                   f"of {len(circles)} runs, below the triangle inequality in {np.sum(bound < triangle)}", float(times),
                   (np.log(times),))


@chapter.claim(
    "sa-delta", "SA Appendix B, Delta", anchor="sa-vacuous", verdicts=("holds", "misprinted"),
    says=r"$\Delta$ is about .01", theirs=r"C = 1000, B = 512, $\delta$ = .01; tau and T are not given",
    here="the same, T = 1, any tau", bar="below .015 at some tau", evidence="a formula that falls as tau grows")
def delta(example):
    limit = example[1e9]
    return Finding(f"{example[1.0]:.2f} at tau = 1, {limit:.2f} for tau to infinity", limit, (0.015 - limit,))


@chapter.claim(
    "sa-vacuous", "SA Section 6, vacuous", anchor="sa-vacuous", theirs="said of the exponential, at a large scale",
    says="The bounds can say nothing beyond the first few epochs",
    here="Theorem 1 with SA's C and N on four data sets, B = 1024, rate 1.2 from the start, tau = .1, .5, 1",
    bar="above the triangle inequality within 100 epochs, SA's shortest training", evidence="12 settings, formulas")
def vacuous(life, sets):
    epochs = np.array([life[name, tau] * 1024 / n for name, _, n in sets for tau in (0.1, 0.5, 1.0)])
    return Finding(f"above it from the first step on in {np.sum(epochs == 0)} of {len(epochs)}, after "
                   f"{epochs.max():.0f} epochs at most", float(epochs.max()), (100 - epochs.max(),))


@chapter.claim(
    "sa-bound-batch", "SA Section 5.1, bound against Fig. 5", anchor="sa-batch",
    says="Theorem 1 implies that alignment falls as B grows if the learning rate is proportional to B, and rises "
         "for the other three scalings", theirs="Mini-ImageNet, B = 256, 512, 1024, 300 epochs",
    here="its bound for C = 100, SA's four rates, tau = 1",
    bar="larger at B = 1024 than at 256 for the first, smaller for the others", evidence="formulas")
def bound_batch(theorem):
    linear, *others = powers = theorem["fixed epochs"]
    return Finding(f"changes by 10 to the power {listed(powers, '.1f')}", float(linear),
                   (linear, *(-power for power in others)))


@chapter.claim(
    "sa-surrogate", "SA Appendix C, faithful", shown=True, anchor="sa-weights", theirs="smooth encoders", here=CIRCLE,
    says="Descent on similarities follows the similarities of an encoder whose weights descend",
    bar="closer to them than a table at rest, at some recorded time of some run", evidence="6 settings, 1 seed each")
def surrogate(circles):
    miss = min((run.missed[1:] / run.moved[1:]).min() for run in circles)
    return Finding(f"misses by at least {miss:.3f} times what they move", float(miss), (1 - miss,))
