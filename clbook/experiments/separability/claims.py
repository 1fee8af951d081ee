"""What LS say about when clusters separate, judged on the chapter's runs."""

import numpy as np

from clbook import theory
from clbook.claims import Chapter, Finding, listed, span
from clbook.experiments.separability import condition
from clbook.experiments.separability.figures import times

chapter = Chapter(__file__)


def apart(results) -> np.ndarray:
    """Whether each run separated."""
    return np.array([result.separable_at is not None for result in results])


@chapter.measure("ls-prop-4-1")
def kernel_flow(errors):
    coarse, fine = np.array(errors["partial"])[:2]
    return Finding(
        f"error {fine.max():.0e} at lr/tau = .01, {span(coarse / fine, '.2g')} times less than at .1",
        float(fine.max()),
        (coarse / fine / 8 - 1,),
    )


@chapter.measure("ls-prop-4-1-full")
def full_gradient(errors):
    error = np.array(errors["full"])[-1]
    return Finding(
        f"error {span(error, '.2g')}, whatever the step", float(error.mean()), (0.1 - error,)
    )


@chapter.measure("ls-remark-4-2")
def own_gradient(repeats):
    runs = repeats["eps^2/tau = .01, vanilla"]
    ordered = np.array([(np.diff(r.z[:, np.argsort(r.z[0, :, 0]), 0]) >= 0).all() for r in runs])
    return Finding(
        f"order kept in {ordered.sum()} of {len(runs)} seeds; {apart(runs).sum()} separate",
        float(ordered.mean()),
        (ordered, ~apart(runs)),
    )


@chapter.measure("ls-growth-rate")
def growth_rate(growth):
    ratio = np.array(
        [rate / predicted for gradient, rate, predicted in growth if gradient == "partial"]
    )
    return Finding(f"{span(ratio, '.3f')} of it", float(ratio.mean()), (0.05 - abs(ratio - 1),))


@chapter.measure("ls-growth-full")
def growth_full(growth):
    ratio = np.array(
        [rate / predicted for gradient, rate, predicted in growth if gradient == "full"]
    )
    return Finding(
        f"{span(ratio, '.3f')} of twice the rate", float(ratio.mean()), (0.05 - abs(ratio - 1),)
    )


@chapter.measure("ls-theorem-4-3-tight")
def tight_start(repeats):
    runs = repeats["eps^2/tau = .01, network"]
    return Finding(
        f"{apart(runs).sum()} of {len(runs)} seeds, at {times(runs)}",
        float(apart(runs).mean()),
        (apart(runs),),
    )


@chapter.measure("ls-theorem-4-3-constant")
def constant_start(constant, slope):
    ratios = []
    for result in constant:
        config, at_start = (
            result.config,
            {name: getattr(result, name)[0] for name in ("gamma", "theta", "sigma2")},
        )
        left, right = theory.separation_condition(0.1, config.tau, config.n, **at_start, delta=0.0)
        ratios.append(left / right)
    resting = sum(ratio > 100 and slope == 0 for ratio in ratios)
    return Finding(
        f"ratio {span(ratios, '.0f')}, gradient {slope:.1g}: nothing ever moves",
        float(np.min(ratios)),
        (0.5 - resting,),
    )


@chapter.measure("ls-condition-tells")
def tells(measured):
    seeds = [measured.of(seed) for seed in np.unique(measured.seed)]
    auc = np.array([one.auc(one.ratio) for one in seeds])
    still, alone = (
        [one.auc(one.ratio_frozen) for one in seeds],
        [one.auc(-(one.eps**2) / one.tau) for one in seeds],
    )
    return Finding(
        f"AUC {span(auc, '.3f')}; with delta = 0 {span(still, '.3f')}, eps^2/tau alone {span(alone, '.3f')}",
        float(auc.mean()),
        (auc - 0.9,),
    )


@chapter.measure("ls-cube-over-tau")
def cube_decides(measured):
    seeds = [measured.of(seed) for seed in np.unique(measured.seed)]
    square, cube = (
        np.array([one.misfit(one.eps**power / one.tau) for one in seeds]) for power in (2, 3)
    )
    return Finding(
        f"misses the time by a factor of {span(cube, '.2f')}, eps^2/tau by one of {span(square, '.3f')}",
        float(cube.mean()),
        (square - cube,),
    )


@chapter.measure("ls-step-2")
def blocks_error(powers):
    return Finding(
        rf"error ~ $(\sigma^2)^p$, p = {span(powers, '.2g')}",
        float(np.mean(powers)),
        (np.array(powers) - 0.9,),
    )


@chapter.measure("ls-gamma")
def gamma_small(measured):
    part = np.array(
        [np.median(one.gamma / one.left) for one in map(measured.of, np.unique(measured.seed))]
    )
    return Finding(
        f"{span(part, '.2g')} of it, though {np.median(measured.gamma / measured.eps):.2f} eps",
        float(part.mean()),
        (0.1 - part,),
    )


@chapter.measure("ls-more-points")
def more_points(more):
    steps = more.separable_at.fillna(more.recorded_steps.max("step"))
    medians = steps.median("seed")
    tight, wide = (listed(medians.sel(start=start), "g") for start in ("tight", "wide"))
    fewer = np.log(steps.sel(n=50) / steps.sel(n=200))
    return Finding(
        f"medians for n = 50, 100, 200: {tight} (tight start); {wide} (wide)",
        float(fewer.sel(start="tight").median()),
        tuple(fewer),
    )


@chapter.measure("ls-stronger-than-needed")
def stronger(donuts, tiny):
    runs = [*donuts["rotation"], *tiny]
    ratio = condition.check(runs).ratio
    below = apart(runs) & (ratio < 1)
    return Finding(
        f"{below[:5].sum()} of 5 donuts (ratio {span(ratio[:5], '.2g')}) and "
        f"{below[5:].sum()} of 5 tiny starts ({span(ratio[5:], '.2g')}): much stronger, here",
        float(ratio.max()),
        (below[:5], below[5:]),
    )


@chapter.measure("ls-fig-4-donut")
def donut(donuts):
    turned = apart(donuts["rotation"])
    return Finding(
        f"{turned.sum()} of 5 seeds, at {times(donuts['rotation'])}",
        float(turned.mean()),
        (turned,),
    )


@chapter.measure("ls-donut-views")
def donut_views(donuts):
    others = [~apart(runs) for name, runs in donuts.items() if name != "rotation"]
    mixed, runs = np.sum(others), np.size(others)
    return Finding(f"{runs - mixed} of {runs} runs separate", float(mixed / runs), tuple(others))


@chapter.measure("ls-fig-5-clusters")
def blocks_first(repeats):
    alignment = np.array([result.alignment[0] for result in repeats["eps^2/tau = .01, network"]])
    return Finding(
        f"alignment {span(alignment, '.2g')}", float(alignment.mean()), (alignment - 0.9,)
    )
