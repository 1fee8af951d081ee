"""What LS say about when clusters separate, judged on the chapter's runs."""

import numpy as np

from clbook import theory
from clbook.claims import Chapter, Finding
from clbook.experiments.separability import condition

chapter = Chapter("separability")
TWO = "two clusters in the plane, d = 1, one hidden layer"
GRID = "25 pairs of eps and tau, full gradient"


def apart(results) -> np.ndarray:
    """Whether each run separated."""
    return np.array([result.separable_at is not None for result in results])


def times(results) -> str:
    """The iterations at which the runs separated."""
    return ", ".join(str(result.separable_at or "never") for result in results)


def span(values, form: str = ".2g") -> str:
    """The range of some numbers, or the one number that all are."""
    low, high = f"{np.min(values):{form}}", f"{np.max(values):{form}}"
    return low if low == high else f"{low} to {high}"


@chapter.claim(
    "ls-prop-4-1", "LS Prop. 4.1", shown=True, anchor="sep-flow",
    says="The embedding of point i moves by the kernel-weighted mean of all points' loss gradients",
    theirs="any parametrised map, gradient flow",
    here=f"one step of gradient descent, {TWO}, views held still",
    bar="the relative error of a step falls at least 8-fold where the step is 10 times smaller",
    evidence="3 seeds, float64")
def kernel_flow(errors):
    coarse, fine = np.array(errors["partial"])[:2]
    return Finding(f"error {fine.max():.0e} at lr/tau = .01, {span(coarse / fine)} times less than at .1",
                   float(fine.max()), (coarse / fine / 8 - 1,))


@chapter.claim(
    "ls-prop-4-1-full", "LS Prop. 4.1", ours=True, anchor="sep-flow",
    says="The same formula describes a step that differentiates the views of eq. 12 too",
    theirs="the proposition is for a loss without weights; eq. 12 has the embedded views in it",
    here=f"one step, {TWO}, full gradient", bar="relative error below .1 at lr/tau = .001", evidence="3 seeds, float64")
def full_gradient(errors):
    error = np.array(errors["full"])[-1]
    return Finding(f"error {span(error)}, whatever the step", float(error.mean()), (0.1 - error,))


@chapter.claim(
    "ls-remark-4-2", "LS Remark 4.2", anchor="sep-vanilla",
    says="Without the kernel each point follows its own gradient, whatever data belong to it",
    theirs="vanilla flow, eq. 9", here="descent on eq. 12, views held still, two clusters, d = 1, eps = .1, tau = 1",
    bar="the points never change their order on the line, and do not separate", evidence="5 seeds of 100 iterations")
def own_gradient(repeats):
    runs = repeats["eps^2/tau = .01, vanilla"]
    ordered = np.array([(np.diff(r.z[:, np.argsort(r.z[0, :, 0]), 0]) >= 0).all() for r in runs])
    return Finding(f"order kept in {ordered.sum()} of {len(runs)} seeds; {apart(runs).sum()} separate",
                   float(ordered.mean()), (ordered, ~apart(runs)))


@chapter.claim(
    "ls-growth-rate", "LS Appendix C, Step 3", shown=True, anchor="sep-theorem",
    says=r"A tight start grows along the difference of the clusters at the rate $\Theta/4\tau$",
    theirs="gradient flow, kernel held still", here=f"{TWO}, eps = .001, partial gradient",
    bar="within 5 % of the rate", evidence="3 seeds")
def growth_rate(growth):
    ratio = np.array([rate / predicted for gradient, rate, predicted in growth if gradient == "partial"])
    return Finding(f"{span(ratio, '.3f')} of it", float(ratio.mean()), (0.05 - abs(ratio - 1),))


@chapter.claim(
    "ls-growth-full", "LS Appendix C, Step 3", ours=True, anchor="sep-theorem",
    says=r"The full gradient grows at twice that rate", theirs="not said", here=f"{TWO}, eps = .001, full gradient",
    bar="within 5 % of twice the rate", evidence="3 seeds")
def growth_full(growth):
    ratio = np.array([rate / predicted for gradient, rate, predicted in growth if gradient == "full"])
    return Finding(f"{span(ratio, '.3f')} of twice the rate", float(ratio.mean()), (0.05 - abs(ratio - 1),))


@chapter.claim(
    "ls-theorem-4-3-tight", "LS Theorem 4.3", shown=True, anchor="thm-sep",
    says="Two clusters separate where the start is tight and the network tells them apart",
    theirs="gradient flow under conditions (a) to (e)",
    here=f"{TWO}, a start drawn at random, eps = .1, tau = 1, full gradient",
    bar="separates in every seed", evidence="5 seeds of 100 iterations")
def tight_start(repeats):
    runs = repeats["eps^2/tau = .01, network"]
    return Finding(f"{apart(runs).sum()} of {len(runs)} seeds, at {times(runs)}", float(apart(runs).mean()),
                   (apart(runs),))


@chapter.claim(
    # A run that was cut may separate later: it is no counterexample.
    "ls-theorem-4-3", "LS Theorem 4.3", anchor="fig-sep-condition", verdicts=("holds", "undecided"),
    says="Some time separates the clusters where the left side of (e) is much larger than the right",
    theirs="gradient flow; how much larger is not said", here=f"{TWO}, random starts, {GRID}, read as a ratio above 1",
    bar="every run with a ratio above 1 separates", evidence="75 runs of 4,000 iterations, 3 seeds")
def sufficient(measured):
    (_, missed), (_, right) = measured.confusion(measured.ratio)
    return Finding(f"{missed} of {missed + right} runs above 1 are mixed when they end", missed, (0.5 - missed,))


@chapter.claim(
    "ls-theorem-4-3-constant", "LS Theorem 4.3", shown=True, anchor="sep-constant",
    says="Conditions (a) to (e) are enough, whatever the start",
    theirs=r"(a) bounds the start from above only; (e) asks for a large $\varepsilon$",
    here="all points and views start at 0, two clusters of spread .02; eps = tau = .1 in (a) and (e)",
    bar="no start that meets them with a ratio above 100 is at rest",
    evidence="a gradient of exactly 0; the kernels of 3 seeds")
def constant_start(constant, slope):
    ratios = []
    for result in constant:
        config, at_start = result.config, {name: getattr(result, name)[0] for name in ("gamma", "theta", "sigma2")}
        left, right = theory.separation_condition(0.1, config.tau, config.n, **at_start, delta=0.0)
        ratios.append(left / right)
    resting = sum(ratio > 100 and slope == 0 for ratio in ratios)
    return Finding(f"ratio {span(ratios, '.0f')}, gradient {slope:.1g}: nothing ever moves", float(np.min(ratios)),
                   (0.5 - resting,))


@chapter.claim(
    "ls-condition-tells", "LS Theorem 4.3, conditions", ours=True, shown=True, anchor="fig-sep-condition",
    says="The ratio of the sides of (e) tells which runs separate", theirs="not said: the condition is sufficient",
    here=f"{TWO}, {GRID}, delta measured until separation", bar="AUC above .9 in every seed",
    evidence="75 runs of 4,000 iterations, 3 seeds")
def tells(measured):
    seeds = [measured.of(seed) for seed in np.unique(measured.seed)]
    auc = np.array([one.auc(one.ratio) for one in seeds])
    still, alone = [one.auc(one.ratio_frozen) for one in seeds], [one.auc(-one.eps**2 / one.tau) for one in seeds]
    return Finding(f"AUC {span(auc, '.3f')}; with delta = 0 {span(still, '.3f')}, eps^2/tau alone {span(alone, '.3f')}",
                   float(auc.mean()), (auc - 0.9,))


@chapter.claim(
    "ls-cube-over-tau", "LS Section 4.2.1, the ratio decides", shown=True, anchor="fig-sep-phase",
    says=r"$\varepsilon^3/\tau$ decides: clusters separate early where it is small, late or never where it is large",
    theirs="three pairs of eps and tau", here=f"{TWO}, {GRID}, iterations at lr = .01 tau",
    bar=r"one rising function of it fits the times of a seed no worse than one of $\varepsilon^2/\tau$ does",
    evidence="3 seeds of 25 runs")
def cube_decides(measured):
    seeds = [measured.of(seed) for seed in np.unique(measured.seed)]
    square, cube = (np.array([one.misfit(one.eps**power / one.tau) for one in seeds]) for power in (2, 3))
    return Finding(f"misses the time by a factor {span(cube, '.2f')}, eps^2/tau by {span(square, '.3f')}",
                   float(cube.mean()), (square - cube,))


@chapter.claim(
    "ls-fig-3", "LS Fig. 3, second panel; LS Fig. 3, third panel; LS Fig. 3, fourth panel", anchor="fig-sep-ls3",
    says="Of three pairs of eps and tau one separates early, one late, and one hardly changes",
    theirs="(.02, .1), (1, .01), (1, .001), 10,000 iterations; n and the learning rate are not given",
    here="the same pairs, n = 200, full gradient, lr = .1 tau, at which the second separates in time",
    bar="the second more than 10 times later than the first, the third not within 10,000; half of its points move less "
        "than eps/4 (set after the run)", evidence="1 seed")
def three_pairs(ls3):
    early, late, never = (result.separable_at for result in ls3)
    moved = np.median(abs(ls3[2].z[-1] - ls3[2].z[0])) / ls3[2].config.eps
    return Finding(f"at {times(ls3)}; the last run's points move by {moved:.2g} eps", early,
                   ([late is not None and late > 10 * early], [never is None], [0.25 - moved]))


@chapter.claim(
    "ls-step-2", "LS Appendix C, Step 2", anchor="sep-loose",
    says=r"At the start the kernel equals its blocks up to $O(\sigma^2)$",
    theirs=r"gradients that scatter by $\sigma$ about their cluster's mean",
    here="one hidden layer, clusters of spread .2, .1, .05, .025",
    bar=r"the largest error falls like $(\sigma^2)^p$ with p above .9", evidence="3 seeds, exact kernel")
def blocks_error(powers):
    return Finding(rf"error ~ $(\sigma^2)^p$, p = {span(powers)}", float(np.mean(powers)), (np.array(powers) - 0.9,))


@chapter.claim(
    "ls-gamma", "LS Theorem 4.3, conditions", ours=True, anchor="sep-loose",
    says=r"A random start has a $\gamma$ that is small against $\Theta\sqrt n\,\varepsilon$",
    theirs="asked for in (e), at all times up to separation", here=f"{TWO}, {GRID}, at the start",
    bar="below a tenth of it", evidence="3 seeds, the median of 25 runs of each")
def gamma_small(measured):
    part = np.array([np.median(one.gamma / one.left) for one in map(measured.of, np.unique(measured.seed))])
    return Finding(f"{span(part)} of it, though {np.median(measured.gamma / measured.eps):.2f} eps", float(part.mean()),
                   (0.1 - part,))


@chapter.claim(
    "ls-more-points", "LS Theorem 4.3, conditions", ours=True, anchor="sep-loose",
    says=r"Clusters of more points separate earlier, as the factor $\sqrt n$ in (e) may suggest",
    theirs="not said: (e) is about whether, not when", here=f"{TWO}, n = 50, 100, 200, eps^2/tau = .1 and 50",
    bar="fewer iterations at n = 200 than at n = 50, for both starts", evidence="5 seeds")
def more_points(rows):
    steps = np.array([[result.separable_at or result.config.steps for result in results] for _, _, results in rows])
    tight, wide = (", ".join(f"{m:g}" for m in np.median(part, 1)) for part in (steps[:3], steps[3:]))
    fewer = tuple(np.log(few / many) for few, many in ((steps[0], steps[2]), (steps[3], steps[5])))
    return Finding(f"medians for n = 50, 100, 200: {tight} (tight start); {wide} (wide)",
                   float(np.median(fewer[0])), fewer)


@chapter.claim(
    "ls-stronger-than-needed", "LS Appendix C, stronger than necessary", anchor="sep-donut",
    says="Condition (e) is stronger than necessary", theirs="a remark after the proof; LS say slightly",
    here="donut with rotation, eps = tau = .1; two clusters, eps = tau = .0001",
    bar="runs with a ratio below 1 separate, in every seed", evidence="5 seeds each")
def stronger(donuts, tiny):
    runs = [*donuts["rotation"], *tiny]
    ratio = condition.check(runs).ratio
    below = apart(runs) & (ratio < 1)
    return Finding(f"{below[:5].sum()} of 5 donuts (ratio {span(ratio[:5])}) and {below[5:].sum()} of 5 tiny starts "
                   f"({span(ratio[5:])}): much stronger, here", float(ratio.max()), (below[:5], below[5:]))


@chapter.claim(
    "ls-fig-4-donut", "LS Fig. 4, donut", shown=True, anchor="sep-donut",
    says="A network whose views are rotations embeds a donut so that a threshold separates it",
    theirs="one hidden layer of 100, d = 1; n, eps, tau and the learning rate are not given",
    here="the same network, n = 100, eps = tau = .1, 300 iterations", bar="separates in every seed", evidence="5 seeds")
def donut(donuts):
    turned = apart(donuts["rotation"])
    return Finding(f"{turned.sum()} of 5 seeds, at {times(donuts['rotation'])}", float(turned.mean()), (turned,))


@chapter.claim(
    "ls-donut-views", "LS Fig. 4, donut", ours=True, anchor="sep-donut",
    says="With noise, without views, or without a network the donut does not separate",
    theirs="not said", here="n = 100, eps = tau = .1, 300 iterations", bar="no seed of the three settings separates",
    evidence="5 seeds each")
def donut_views(donuts):
    others = [~apart(runs) for name, runs in donuts.items() if name != "rotation"]
    mixed, runs = np.sum(others), np.size(others)
    return Finding(f"{runs - mixed} of {runs} runs separate", float(mixed / runs), tuple(others))


@chapter.claim(
    "ls-fig-5-clusters", "LS Fig. 5, clusters", anchor="fig-sep-kernel-clusters",
    says="The kernel of two clusters has blocks before training", theirs="two clusters, one hidden layer",
    here="eps = .1, tau = 1", bar="alignment with the labels above .9 at iteration 0", evidence="5 seeds")
def blocks_first(repeats):
    alignment = np.array([result.alignment[0] for result in repeats["eps^2/tau = .01, network"]])
    return Finding(f"alignment {span(alignment)}", float(alignment.mean()), (alignment - 0.9,))


@chapter.claim(
    "ls-fig-5-order", "LS Section 4.2.2, blocks before separation", anchor="fig-sep-kernel-donut",
    verdicts=("holds", "not seen here"), says="On a donut the kernel gets blocks first, and separation follows",
    theirs="donut; eps, tau and the learning rate are not given", here="eps = .1, tau = 1, lr = .05 tau",
    bar="alignment at separation twice that at the start", evidence="5 seeds, each until it separates")
def blocks_then(waiting):
    first, then = np.array([(run.alignment[0], run.alignment[np.searchsorted(run.steps, run.separable_at)])
                            for run in waiting]).T
    return Finding(f"alignment {span(first)} at the start, {span(then)} at separation (iterations {times(waiting)})",
                   float(np.mean(then / first)), (then / first / 2 - 1,))


@chapter.claim(
    "ls-fig-4-images", "LS Fig. 4, MNIST", anchor="sep-digits", verdicts=("holds", "not seen here"),
    says="The embeddings of three digits become increasingly linearly separable",
    theirs="MNIST, three hidden layers of 100; n, eps, tau and the number of iterations are not given",
    here="scikit-learn's 8 by 8 digits, n = 99, the same network, 600 iterations",
    bar="the accuracy of a linear readout at the end is within .05 of its best (set after the run)", evidence="3 seeds")
def increasingly(reached):
    best, last = np.array([(best, end) for r, best, _, end in reached if r.config.classes == 3]).T
    return Finding(f"best accuracy {span(best)}, at the end {span(last)}", float(last.mean()), (0.05 - (best - last),))
