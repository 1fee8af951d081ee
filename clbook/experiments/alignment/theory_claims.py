"""What SA prove, and what they say about it, judged on the chapter's tables of similarities and on formulas."""

import numpy as np

from clbook import theory
from clbook.claims import Finding, listed, span
from clbook.experiments.alignment.claims import chapter


def allowed(run) -> float:
    """Delta at a run's settings."""
    c = run.config
    return theory.delta(c.classes, c.batch, c.steps, c.delta, c.tau)


@chapter.measure("sa-loss-gap")
def loss_gap(classes, gaps):
    curves = np.log([values.transpose(2, 1, 0) for values in gaps.values()])  # (taus, losses, classes, seeds)
    dcl, cl = np.swapaxes([[np.polyfit(np.log(classes), one, 1)[0] for one in both] for both in curves], 0, 1)
    return Finding(f"slopes {listed(dcl.mean(1))} at tau = .5, 1; with the positive, as in Section 3, "
                   f"{listed(cl.mean(1))}", float(dcl.mean()), tuple(0.07 - abs(dcl + 1)))


@chapter.measure("sa-nscl-loss")
def nscl_loss(read):
    section, *_, printed = [value for name, value in read.items() if name.startswith("NSCL")]
    return Finding(f"it is {printed}; Section 3's loss is {section:.2f}", section, (np.isfinite(printed),))


@chapter.measure("sa-theorem-1")
def theorem_1(coupled):
    times = np.array([(run.bound[1:] / run.drift[1:]).min() for run in coupled])
    return Finding(f"the bound is at least {span(times, '.0f')} times the drift", float(times.min()),
                   (np.log(times.min()),))


@chapter.measure("sa-theorem-1-replacement")
def replacement(repeats):
    ratio = np.array([run.drift[-1] / run.bound[-1] for run in repeats if run.config.batch == 1024])
    return Finding(f"drift / bound = {listed(ratio)}", float(ratio.mean()), (1 - ratio,))


@chapter.measure("sa-repeated-anchors")
def repeated_anchors(sides, coupled):
    part = max(run.injections.max() * run.config.tau * run.config.batch**0.5 / allowed(run) for run in coupled)
    squares, lipschitz, size = sides["distinct"].T
    return Finding(f"left / right in eqs. 10, 11, 13: {listed([squares.max(), lipschitz.max(), size.max()])}, Lemma 8 "
                   f"{part:.2f}; with repeats {listed(sides['repeated'].mean(0), '.0f')}", float(squares.max()),
                   (1e-12 - abs(squares - 1).max(), 1 - lipschitz.max(), 1 - size.max(), 1 - part))


@chapter.measure("sa-beyond-triangle")
def beyond_triangle(life, coupled):
    useful, steps = [bool((run.bound < run.triangle)[1:].all()) for run in coupled], np.array(list(life.values()))
    return Finding(f"in {np.sum(steps > 0)} of {len(steps)}, for at most {steps.max()} steps; at each recorded time in "
                   f"{sum(useful)} of our {len(useful)} runs", float(steps.min()), (steps.min() - 0.5,))


@chapter.measure("sa-lemma-2")
def lemma_2(curvature):
    return Finding(f"attained at (1/2, 1/2), to {abs(curvature.max() - 0.5):.0e}; else at most "
                   f"{np.sort(curvature)[-2]:.3f}", float(curvature.max()), (0.5 + 1e-9 - curvature.max(),))


@chapter.measure("sa-lemma-3")
def lemma_3(squares, display):
    error, largest = float(abs(squares - display).max()), float(squares.max())
    return Finding(rf"equal to {error:.0e}; times $\tau^2$ at most {largest:.3f} (the second case of the proof forgets "
                   "the attraction)", largest, (1e-12 - error, 2 - largest))


@chapter.measure("sa-lemma-5")
def lemma_5(share):
    right = (1 - 1 / 8) * (1 - 1 / 10)
    misses = [abs(share - mean).max() for mean in (0.9, right)]
    return Finding(f"{span(share, '.3f')}, not .9; (1 - 1/B)(1 - 1/C) = {right:.4f}", float(share.mean()),
                   (0.01 - abs(share - 0.9),), None if min(misses) < 0.01 else "fails")


@chapter.measure("sa-corollary-3")
def corollary_3(fewest, promised):
    missed = (fewest < promised).mean(1)
    return Finding(f"less in {missed.mean():.0%}; the smallest is {fewest.min():.3f}, promised {promised:.3f}",
                   float(fewest.min()), (0.01 - missed,))


@chapter.measure("sa-lemma-6")
def lemma_6(identity, coupled):
    found = np.array([(run.reweighting.max(), allowed(run)) for run in coupled]).T
    gap, mass = found[0] / found[1], found[0] / (1 - found[0] / 2) / found[1]  # alpha to 1 - alpha
    return Finding(rf"at most {gap.max():.2f} and {mass.max():.2f} of it; $2\alpha$ to {identity:.0e}",
                   float(gap.max()), (1e-12 - identity, 1 - gap.max(), 1 - mass.max()))


@chapter.measure("sa-lemma-6-range")
def lemma_6_range(wild):
    ratio = np.array([run.reweighting.max() / allowed(run) for run in wild])
    kept = sum(bool((run.drift <= run.bound).all()) for run in wild)
    entry = max(abs(run.final[0]).max() for run in wild)
    return Finding(f"{span(ratio, '.1f')} times it, at entries up to {entry:.0f}; the drift keeps below Theorem 1 in "
                   f"{kept} of {len(wild)}", float(ratio.mean()), (1 - ratio,))


@chapter.measure("sa-corollaries")
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


@chapter.measure("sa-corollaries-far")
def corollaries_far(correlation, certified):
    return Finding(f"{correlation:.0f}, below {certified:.2f}", float(correlation), (correlation - certified,))


@chapter.measure("sa-theorem-2")
def theorem_2(circles):
    times = min((run.bound[1:] / run.drift[1:]).min() for run in circles)
    bound, triangle = np.array([(run.bound[-1], run.triangle[-1]) for run in circles]).T
    return Finding(f"the bound is at least {times:.0f} times the drift; at the end infinite in {np.isinf(bound).sum()} "
                   f"of {len(circles)} runs, below the triangle inequality in {np.sum(bound < triangle)}", float(times),
                   (np.log(times),))


@chapter.measure("sa-delta")
def delta(example):
    limit = example[1e9]
    return Finding(f"{example[1.0]:.2f} at tau = 1, {limit:.2f} for tau to infinity", limit, (0.015 - limit,))


@chapter.measure("sa-vacuous")
def vacuous(life, sets):
    epochs = np.array([life[name, tau] * 1024 / n for name, _, n in sets for tau in (0.1, 0.5, 1.0)])
    return Finding(f"above it from the first step on in {np.sum(epochs == 0)} of {len(epochs)}, after "
                   f"{epochs.max():.0f} epochs at most", float(epochs.max()), (100 - epochs.max(),))


@chapter.measure("sa-bound-batch")
def bound_batch(theorem):
    linear, *others = powers = theorem["fixed epochs"]
    return Finding(f"changes by 10 to the power {listed(powers, '.1f')}", float(linear),
                   (linear, *(-power for power in others)))


@chapter.measure("sa-surrogate")
def surrogate(circles):
    miss = min((run.missed[1:] / run.moved[1:]).min() for run in circles)
    return Finding(f"misses by at least {miss:.3f} times what they move", float(miss), (1 - miss,))
