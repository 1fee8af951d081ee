"""What SA prove, and what they say about it, judged on tables of similarities, small encoders and formulas."""

import numpy as np

from clbook import theory
from clbook.claims import Chapter, Finding, listed, span

chapter = Chapter(__file__)
ROOM = 1e-9  # of rounding, in inequalities that may be attained


def allowed(run) -> float:
    """Delta at a run's settings."""
    c = run.config
    return theory.delta(c.classes, c.batch, c.steps, c.delta, c.tau)


def worst(runs, left, right) -> float:
    """The largest left(run) / right(run) over runs, and over the times that both are arrays of."""
    return max(float(np.max(left(run) / right(run))) for run in runs)


def no_more(quotients: dict[str, float], text: str) -> Finding:
    """Finding for left sides that are to be at most the right ones: {where: largest left / right}."""
    found = "; ".join(f"{where} {value:.2g}" for where, value in quotients.items())
    return Finding(
        f"{text}: {found}", max(quotients.values()), tuple(1 + ROOM - q for q in quotients.values())
    )


def by_encoder(text, left, right, circles, networks) -> Finding:
    """`no_more` for the runs on the circle and for those of the network."""
    return no_more(
        {"circle": worst(circles, left, right), "network": worst(networks, left, right)}, text
    )


@chapter.measure("sa-definitions")
def definitions(defined):
    error = max(max(found.values()) for found in defined)
    return Finding(f"{len(defined[0])} definitions equal to {error:.0e}", error, (1e-12 - error,))


@chapter.measure("sa-gap-training")
def gap_training(by_classes):
    counts = [runs[0].config.classes for runs in by_classes]
    use = [k for k, count in enumerate(counts) if count >= 5]
    gaps = np.array(
        [[run.loss_gap[:, :2] for run in by_classes[k]] for k in use]
    )  # (C, seeds, T, 2)
    slopes = np.polyfit(np.log([counts[k] for k in use]), np.log(gaps).reshape(len(use), -1), 1)[0]
    steepest = slopes.reshape(gaps.shape[1:]).max((1, 2))  # the flattest of each seed
    return Finding(f"slopes {span(slopes)}", float(slopes.mean()), (-1 - steepest,))


@chapter.measure("sa-nscl-loss")
def nscl_loss(read):
    section, *_, printed = [value for name, value in read.items() if name.startswith("NSCL")]
    return Finding(
        f"it is {printed}; Section 3's loss is {section:.2f}", section, (np.isfinite(printed),)
    )


@chapter.measure("sa-reparametrised")
def reparametrised(renamed):
    apart, change = np.transpose(renamed)
    return Finding(
        f"weights {apart.min():.2f} of their length apart, cosines equal to {change.max():.0e}",
        float(apart.min()),
        (apart - 0.1, 1e-10 - change.max()),
    )


@chapter.measure("sa-theorem-1")
def theorem_1(coupled):
    careful = worst(coupled, lambda r: r.drift[1:], lambda r: r.posterior[1:])
    stated = worst(coupled, lambda r: r.posterior[1:], lambda r: r.bound[1:])
    least = 1 / worst(coupled, lambda r: r.drift[1:], lambda r: r.bound[1:])
    return Finding(
        f"drift / a posteriori at most {careful:.4f}, a posteriori / Theorem 1 at most {stated:.3f}, in "
        f"{len(coupled)} runs; Theorem 1 is at least {least:.0f} times the drift",
        least,
        (1 + ROOM - careful, 1 + ROOM - stated),
    )


@chapter.measure("sa-theorem-1-replacement")
def replacement(repeats):
    ratio = np.array([run.drift[-1] / run.bound[-1] for run in repeats if run.config.batch == 1024])
    return Finding(f"drift / bound = {listed(ratio)}", float(ratio.mean()), (1 - ratio,))


@chapter.measure("sa-recurrence")
def recurrence(coupled):
    quotients = []
    for run in coupled:
        c, after = run.config, np.append(run.path[1:], run.drift[-1])
        line = (1 + c.eta / (2 * c.tau**2 * c.batch)) * run.path + c.eta * allowed(run) / (
            c.tau * c.batch**0.5
        )
        quotients.append((after / line).max())
    return no_more({f"over {len(coupled)} runs": max(quotients)}, "left / right side at most")


@chapter.measure("sa-repeated-anchors")
def repeated_anchors(sides):
    squares, lipschitz, size = sides["distinct"].T
    return Finding(
        f"left / right in eqs. 10, 11, 13: {listed([squares.max(), lipschitz.max(), size.max()])}; with "
        f"repeats {listed(sides['repeated'].mean(0), '.0f')}",
        float(squares.max()),
        (1e-12 - abs(squares - 1).max(), 1 - lipschitz.max(), 1 - size.max()),
    )


@chapter.measure("sa-beyond-triangle")
def beyond_triangle(life, coupled):
    useful, steps = (
        [bool((run.bound < run.triangle)[1:].all()) for run in coupled],
        np.array(list(life.values())),
    )
    return Finding(
        f"in {np.sum(steps > 0)} of {len(steps)}, for at most {steps.max()} steps; at each recorded time in "
        f"{sum(useful)} of our {len(useful)} runs",
        float(steps.min()),
        (steps.min() - 0.5,),
    )


def corollary(runs, similarity, measured, scale, lower) -> Finding:
    """Finding for Corollary 1 or 2: `lower`(distance, scale) is not above the similarity, for the measured relative
    distance and for Theorem 1's bound; in how many runs it says something at the end."""
    spare, says = [], []
    for run in runs:
        sizes = scale(run)
        for k in range(1, len(run.steps)):
            promises = [lower(measured(run)[k] * sizes[k], sizes[k]), lower(run.bound[k], sizes[k])]
            spare.append(similarity(run)[k] - np.array(promises))
        says.append(np.array(promises) > 0)
    own, stated = np.min(spare, 0)
    informative = np.sum(says, 0)
    return Finding(
        f"in all of {len(runs)} runs; promised above 0 at the end in {informative[0]} with the measured "
        f"distance, in {informative[1]} by Theorem 1",
        float(min(own, stated)),
        (own + ROOM, stated + ROOM),
    )


@chapter.measure("sa-corollary-1")
def corollary_1(coupled):
    return corollary(
        coupled, lambda r: r.cka, lambda r: r.rho, lambda r: r.gram_norm, theory.cka_lower_bound
    )


@chapter.measure("sa-corollary-2")
def corollary_2(coupled):
    n = coupled[0].config.n
    return corollary(
        coupled,
        lambda r: r.rsa,
        lambda r: r.r,
        lambda r: r.std * np.sqrt(n * (n - 1) / 2),
        lambda distance, size: theory.rsa_lower_bound(distance, size, 1),
    )


@chapter.measure("sa-corollaries-far")
def corollaries_far(correlation, certified):
    return Finding(
        f"{correlation:.0f}, below {certified:.2f}", float(correlation), (correlation - certified,)
    )


@chapter.measure("sa-exponent")
def exponent(trainings):
    values = np.array([power for _, power, _ in trainings.values()])
    return Finding(
        f"the exponent at the end is {span(values, '.3g')}",
        float(values.min()),
        (np.log(1.1) - values.max(),),
    )


@chapter.measure("sa-prefactor")
def prefactor(large):
    before, power, N = np.array(list(large.values())).T
    share, best = before / N, np.argmin(before)
    gap = np.log10(share) + power / np.log(10)  # log10 of the bound / N
    return Finding(
        f"factor / N = {span(share, '.2g')}; where it is smallest the exponential is "
        f"{np.exp(power[best]):.1e}",
        float(share.min()),
        (0.1 - share.max(), -1 - gap.max()),
    )


@chapter.measure("sa-rho")
def rho(trainings):
    before, power, N = np.array(list(trainings.values())).T
    largest = np.log10(before / N) + power / np.log(10)
    return Finding(
        f"$\\rho$ is promised to be at most 10 to the power {span(largest, '.0f')}, r "
        f"{np.sqrt(2):.1f} times as much",
        float(largest.min()),
        (-1 - largest.max(), -1 - largest.max() - np.log10(2) / 2),
    )


@chapter.measure("sa-vacuous")
def vacuous(lasting):
    epochs, trained = np.array(list(lasting.values())).T
    found = "; ".join(
        f"tau = {tau:g}: {listed([e for (_, t), (e, _) in lasting.items() if t == tau], 'd')}"
        for tau in dict.fromkeys(tau for _, tau in lasting)
    )
    return Finding(
        f"it does so for so many epochs: {found}",
        float(epochs.max()),
        ((trained - epochs).min() - 0.5,),
    )


@chapter.measure("sa-range")
def value_range(drawn):
    least, most = drawn.min((0, 1)), drawn.max((0, 1))
    return Finding(
        f"CKA from {least[0]:.2f} to {most[0]:.2f}, RSA from {least[1]:.2f} to {most[1]:.2f}",
        float(least[1]),
        (least[0], 1 + ROOM - most[0], drawn[..., 1].min(1), 1 + ROOM - most[1]),
    )


@chapter.measure("sa-lemma-2")
def lemma_2(curvature, bent):
    return Finding(
        f"attained at (1/2, 1/2), to {abs(curvature.max() - 0.5):.0e}, else at most "
        f"{np.sort(curvature)[-2]:.3f}; batch losses {bent.max():.2f} of the bound",
        float(curvature.max()),
        (0.5 + ROOM - curvature.max(), 1 + ROOM - bent.max()),
    )


@chapter.measure("sa-lemma-3")
def lemma_3(one):
    error, largest = float(abs(one["squares"] - one["display"]).max()), float(one["squares"].max())
    return Finding(
        rf"equal to {error:.0e}; times $\tau^2$ at most {largest:.3f} (the second case of the proof forgets "
        "the attraction)",
        largest,
        (1e-12 - error, 2 - largest),
    )


@chapter.measure("sa-lemma-4")
def lemma_4(masses):
    sets, ratios = masses.max(0)
    return Finding(
        f"$\\log(Z/|S|)$ at most {sets:.3f}, the logarithm of the quotient of ratios at most {ratios:.3f} "
        "of what is allowed",
        float(sets),
        (1 + 1e-12 - sets, 1 + 1e-12 - ratios),
    )


@chapter.measure("sa-lemma-5")
def lemma_5(share, rare):
    right = (1 - 1 / 8) * (1 - 1 / 10)
    often, bound = rare
    misses = [abs(share - mean).max() for mean in (0.9, right)]
    return Finding(
        f"{span(share, '.3f')}, not .9; (1 - 1/B)(1 - 1/C) = {right:.4f}; at B = 2 in {often.mean():.0%} of "
        f"the draws, bound {bound:.2f}",
        float(share.mean()),
        (0.01 - abs(share - 0.9), bound - often),
        None if min(misses) < 0.01 else "fails",
    )


@chapter.measure("sa-corollary-3")
def corollary_3(fewest, promised):
    missed = (fewest < promised).mean(1)
    return Finding(
        f"less in {missed.mean():.0%}; the smallest is {fewest.min():.3f}, promised {promised:.3f}",
        float(fewest.min()),
        (0.01 - missed,),
    )


@chapter.measure("sa-mass")
def mass(coupled):
    return no_more(
        {f"over {len(coupled)} runs": worst(coupled, lambda r: r.mass, lambda r: allowed(r) / 2)},
        "left / right side at most",
    )


@chapter.measure("sa-lemma-6")
def lemma_6(one, coupled):
    gap = worst(coupled, lambda r: r.reweighting, allowed)
    return Finding(
        rf"at most {gap:.2f} of it; $2\alpha$ to {one['identity']:.0e}",
        gap,
        (1e-12 - one["identity"], 1 - gap),
    )


@chapter.measure("sa-lemma-6-range")
def lemma_6_range(wild):
    ratio = np.array([run.reweighting.max() / allowed(run) for run in wild])
    kept = sum(bool((run.drift <= run.bound).all()) for run in wild)
    entry = max(abs(run.final[0]).max() for run in wild)
    return Finding(
        f"{span(ratio, '.1f')} times it, at entries up to {entry:.0f}; the drift keeps below Theorem 1 in "
        f"{kept} of {len(wild)}",
        float(ratio.mean()),
        (1 - ratio,),
    )


@chapter.measure("sa-lemma-7")
def lemma_7(circles, networks):
    return by_encoder(
        "left / right side at most",
        lambda r: r.apart,
        lambda r: r.constants()["G"] * allowed(r) / r.config.tau,
        circles,
        networks,
    )


@chapter.measure("sa-lemma-8")
def lemma_8(coupled):
    def right(run):
        c = run.config
        return allowed(run) / (c.tau * c.batch**0.5) + run.path / (2 * c.tau**2 * c.batch)

    return no_more(
        {f"over {len(coupled)} runs": worst(coupled, lambda r: r.gaps, right)},
        "left / right side at most",
    )


@chapter.measure("sa-assumptions")
def assumptions(circles, networks):
    length = max(run.G.max() for run in circles) / 2**0.5
    bend = worst(circles, lambda r: r.beta, lambda r: r.constants()["beta"])
    return Finding(
        f"on the circle {length:.3f} of G and {bend:.3f} of beta; the network has G up to "
        f"{max(run.G.max() for run in networks):.0f} and beta up to "
        f"{max(run.beta.max() for run in networks):.0f}",
        bend,
        (1 + ROOM - length, 1 + ROOM - bend),
    )


@chapter.measure("sa-eq-15")
def eq_15(circles, networks):
    def right(run):
        c, found = run.config, run.constants()
        return (1 + found["beta"] * c.eta) * run.drift[:-1] + c.eta * found["G"] * allowed(
            run
        ) / c.tau

    return by_encoder("left / right side at most", lambda r: r.drift[1:], right, circles, networks)


@chapter.measure("sa-theorem-2")
def theorem_2(circles, networks):
    runs = [*circles, *networks]
    quotients = [
        worst(those, lambda r: r.drift[1:], lambda r: r.bound[1:]) for those in (circles, networks)
    ]
    bound, triangle = np.array([(run.bound[-1], run.triangle[-1]) for run in runs]).T
    return Finding(
        f"drift / bound at most {quotients[0]:.2g} on the circle, {quotients[1]:.2g} for the network; at "
        f"the end the bound is infinite in {np.isinf(bound).sum()} of {len(runs)} runs, below the triangle "
        f"inequality in {np.sum(bound < triangle)}",
        1 / max(quotients),
        tuple(1 - q for q in quotients),
    )


@chapter.measure("sa-delta")
def delta(example):
    limit = example[1e9]
    return Finding(
        f"{example[1.0]:.2f} at tau = 1, {limit:.2f} for tau to infinity", limit, (0.015 - limit,)
    )


@chapter.measure("sa-bound-batch")
def bound_batch(theorem):
    linear, *others = powers = theorem["fixed epochs"]
    return Finding(
        f"changes by 10 to the power {listed(powers, '.1f')}",
        float(linear),
        (linear, *(-power for power in others)),
    )


@chapter.measure("sa-eq-5")
def eq_5(circles, networks):
    runs = [*circles, *networks]
    chain = worst(runs, lambda r: r.chain, lambda r: r.slope)
    small = [np.sqrt(run.stretch) * run.config.eta * run.slope < 0.1 for run in runs]
    quarter = np.concatenate(
        [(run.rest / run.half)[keep] for run, keep in zip(runs, small, strict=True)]
    )
    return Finding(
        f"$J^\\top$ to {chain:.0e}; remainder of a step over that of half a step {span(quarter)}, in "
        f"{len(quarter)} steps",
        chain,
        (1e-10 - chain, 0.1 - abs(quarter / 4 - 1).max()),
    )


@chapter.measure("sa-eq-6")
def eq_6(circles):
    P = worst(circles, lambda r: r.stretch, lambda r: 6 * r.config.n)
    R = worst(
        circles, lambda r: r.rest, lambda r: r.constants()["M"] / 2 * (r.config.eta * r.slope) ** 2
    )
    return no_more({"P": P, "remainder": R}, "left / right side at most")


@chapter.measure("sa-eq-7")
def eq_7(circles, networks):
    def right(run):
        c, found = run.config, run.constants()
        pulled, squared = c.eta * found["C"] * run.pull, found["M"] / 2 * (c.eta * run.slope) ** 2
        return ((1 + c.eta / (2 * c.tau**2 * c.batch)) * run.missed + pulled + squared)[:-1]

    return by_encoder("left / right side at most", lambda r: r.missed[1:], right, circles, networks)


@chapter.measure("sa-eq-9")
def eq_9(circles, networks):
    runs = [*circles, *networks]
    quotients = [
        worst(those, lambda r: r.missed[-1], lambda r: r.miss_bound())
        for those in (circles, networks)
    ]
    loose = [run.miss_bound() / run.moved[-1] for run in runs]
    return Finding(
        f"left / right side at most {listed(quotients, '.2g')}; the right side is at least {min(loose):.0f} "
        "times what the similarities have moved",
        max(quotients),
        tuple(1 + ROOM - q for q in quotients),
    )


@chapter.measure("sa-summary")
def summary(circles, networks):
    falls, words = [], []
    for name, runs in (("circle", circles), ("network", networks)):
        usual = runs[0].config
        for key, order in (("eta", -1), ("batch", 1), ("tau", 1)):
            others = {k: getattr(usual, k) for k in ("eta", "batch", "tau") if k != key}
            those = [
                r for r in runs if all(getattr(r.config, k) == value for k, value in others.items())
            ]
            values = sorted({getattr(r.config, key) for r in those})[::order]
            missed = np.array(
                [[r.missed[-1] for r in those if getattr(r.config, key) == v] for v in values]
            )
            falls.append(-np.diff(missed, axis=0).max(0))
            words.append(f"{name}, {key} {listed(values, 'g')}: {listed(missed.mean(1), '.2g')}")
    return Finding("; ".join(words), None, tuple(falls))


@chapter.measure("sa-surrogate")
def surrogate(circles, networks):
    miss = [
        np.array([run.missed[-1] / run.moved[-1] for run in runs]) for runs in (circles, networks)
    ]
    return Finding(
        f"misses by {span(miss[0])} times what they move on the circle, {span(miss[1])} for the network",
        float(np.max(miss)),
        (0.5 - np.max(miss),),
    )


@chapter.measure("sa-time-scale")
def time_scale(circles, networks):
    cosine = [max(run.cosine[-1] for run in runs) for runs in (circles, networks)]
    return Finding(
        f"cosine at most {cosine[0]:.2f} on the circle, {cosine[1]:.2f} for the network: with the best time "
        f"scale it misses by {np.sqrt(1 - max(cosine) ** 2):.3f} of the movement or more",
        float(max(cosine)),
        (max(cosine) - 0.5,),
    )


from clbook.papers.sa import trained_claims  # noqa: E402, F401 (registers the claims on trained networks)
