"""What VA says, judged in its own setting: on the checks of this room and on its records."""

import numpy as np
import xarray

from clbook import theory
from clbook.claims import Chapter, Finding, listed, span
from clbook.papers.va import recipes

chapter = Chapter(__file__)
CLUSTERED = 0.95


def spoilt(values, form=".0e") -> str:
    """The range of some errors, for a Finding's text."""
    return f"off by {span(values, form)}"


def both(printed, corrected, bar: float) -> Finding:
    """Errors (draws,) of a formula as printed and of its corrected form; the worst of the first is judged."""
    right = "corrected" if max(corrected) < bar else "not even corrected"
    return Finding(
        f"as printed {spoilt(printed, '.2g')}; {right}: {max(corrected):.0e}",
        float(np.mean(printed)),
        (float(bar - max(printed)),),
    )


def reached(record, name: str = "accuracy", bar: float = CLUSTERED):
    """(runs,) first recorded iteration from which a curve of a record is at the bar; inf: it never is."""
    above = record[name] >= bar
    first = record.step[above.argmax("step")].drop_vars("step")
    return first.where(above.any("step"), np.inf)


def of_network(record, net: str, depth: int):
    """The runs of the record `va-uniform` with one network."""
    return record.sel(run=(record.net == net) & (record.depth == depth))


def by_setting(record, values) -> dict:
    """{(net, depth, d, loss): {lr: values of the seeds}} of values along the runs of the record `va-uniform`."""
    table = {}
    settings = zip(*(record[name].values for name in ("net", "depth", "d", "loss")), strict=True)
    for setting, lr, value in zip(settings, record.lr.values, values.values, strict=True):
        table.setdefault(setting, {}).setdefault(lr, []).append(value)
    return table


def best_rate(rates: dict, by: float = np.inf) -> list[bool]:
    """Of {lr: iterations at which each seed clusters}: whether each seed has by then, at the best rate."""
    return max(
        ([at <= by and np.isfinite(at) for at in seeds] for seeds in rates.values()), key=sum
    )


def clusters_come(record, net: str, depth: int) -> Finding:
    """Whether some learning rate brings the clusters out in every seed, in each setting of one network."""
    mine = of_network(record, net, depth)
    table, runs = by_setting(mine, reached(mine)), reached(mine)
    found = [best_rate(rates) for rates in table.values()]
    soonest = [min(max(seeds) for seeds in rates.values()) for rates in table.values()]
    when = f", by iteration {span(soonest, '.0f')}" if np.isfinite(soonest).all() else ""
    return Finding(
        f"at the best rate {np.sum(found)} of {np.size(found)} runs cluster{when}; at all rates "
        f"{int(np.isfinite(runs).sum())} of {runs.size}",
        float(np.mean(found)),
        tuple(np.array(seeds) for seeds in found),
    )


@chapter.measure("va-uniform-start")
def uniform_start(uniform):
    return clusters_come(uniform, "mlp", 1)


@chapter.measure("va-uniform-eq-18")
def uniform_eq_18(uniform):
    return clusters_come(uniform, "averaging", 1)


@chapter.measure("va-uniform-deep")
def uniform_deep(uniform):
    return clusters_come(uniform, "mlp", 4)


@chapter.measure("va-uniform-small-steps")
def small_steps(uniform):
    settings = zip(uniform.net.values, uniform.depth.values, uniform.lr.values, strict=True)
    below = np.array([lr in recipes.BELOW[net, depth] for net, depth, lr in settings])
    seeds, best = uniform.seed.values, uniform.accuracy.max("step").values
    share = np.array(
        [(best[below & (seeds == seed)] >= CLUSTERED).mean() for seed in np.unique(seeds)]
    )
    return Finding(
        f"{(best[below] >= CLUSTERED).sum()} of {below.sum()} runs; best accuracy {span(best[below])}",
        float(share.mean()),
        (share - 0.5,),
    )


@chapter.measure("va-uniform-slow")
def slow_steps(slow):
    best, end = slow.accuracy.max("step"), slow.accuracy.isel(step=-1)
    return Finding(
        f"best accuracy {span(best)}, {span(end)} at the end",
        float(best.mean()),
        (best >= CLUSTERED,),
    )


@chapter.measure("va-free-uniform")
def free_uniform(free):
    plateaus = [theory.sphere_plateau(recipes.BASE.tau, d, 1) for d in free.d.values]
    end = free.isel(step=-1)
    gap = abs(end.recorded_loss - xarray.DataArray(plateaus, dims="d"))
    kinds = [values.stack(kind=("d", "start")).T for values in (gap, end.accuracy)]
    return Finding(
        f"loss within {gap.max():.0e}, accuracy {span(end.accuracy, '.2g')}",
        float(gap.max()),
        (*(0.005 - kinds[0]), *(0.5 - kinds[1])),
    )


@chapter.measure("va-by-15")
def by_15(uniform):
    table = by_setting(uniform, reached(uniform))
    rates = {
        (net, lr): seeds
        for (net, depth, d, loss), of in table.items()
        if (depth, d, loss) == (1, 2, "eq. 4")
        for lr, seeds in of.items()
    }
    found = best_rate(rates, by=15)
    first = {name: max(seeds) for name, seeds in rates.items()}
    (net, lr), at = min(first.items(), key=lambda pair: pair[1])
    return Finding(
        f"soonest in all seeds: iteration {at:g}, {net} at lr = {lr:g}",
        float(at),
        (np.array(found),),
    )


def time_clustered(record):
    """(runs,) how many iterations a run spends with an accuracy of .95, its recorded values taken to last."""
    lasts = record.step.diff("step", label="lower")  # the last recorded value has no duration
    return (lasts * (record.accuracy >= CLUSTERED)).sum("step")


@chapter.measure("va-abstract-2")
def life(life):
    spent = time_clustered(life)
    return Finding(
        f"{span(spent, ',.0f')} of 20,000 iterations",
        float(spent.mean()),
        tuple(np.log(np.maximum(spent, 1) / 1000)),
    )


@chapter.measure("va-trivial-end")
def trivial_end(life):
    above = life.recorded_loss.isel(step=-1) - theory.circle_plateau(recipes.BASE.tau, 1)
    end = life.accuracy.isel(step=-1)
    return Finding(
        f"loss {span(above)} above the uniform one, accuracy {span(end)} at the end",
        float(above.mean()),
        (*(0.01 - above), *(0.5 - end)),
    )


@chapter.measure("va-stationary")
def stationary(life):
    cap = life.sel(start="cap").isel(step=-1)
    later, spread, end = cap.later, cap.recorded_spread, cap.accuracy
    return Finding(
        f"the median point moves by {span(later)}; views {span(spread, '.2g')} away; accuracy {span(end)}",
        float(later.mean()),
        (0.1 - later, 0.05 - spread, end - CLUSTERED),
    )


@chapter.measure("va-speeds")
def speeds(speeds):
    loss = speeds.recorded_loss
    first = loss.isel(step=0)
    goal = first - 0.9 * (first - loss.min("step"))
    at = speeds.step[(loss <= goal).argmax("step")]
    network, free = (at.sel(network=there).values for there in (True, False))
    times = np.maximum(network, 1) / np.maximum(free, 1)
    return Finding(
        f"iterations {listed(network, 'd')} with, {listed(free, 'd')} without",
        float(times.mean()),
        (abs(np.log(times)) - np.log(2),),
    )


@chapter.measure("va-remark-4-4-lost")
def small_lost(lost):
    end = lost["tail"].isel(step=-1)
    equal, small = end.sel(ratio=1.0), end.sel(ratio=0.05)
    return Finding(
        f"{span(small)} of its points at 1/20 of the size, {span(equal)} at equal sizes",
        float(small.mean()),
        (0.5 - small, equal - 0.5),
    )


@chapter.measure("va-remark-4-4-late")
def small_late(lost):
    at = reached(lost, "tail")
    equal, small = at.sel(ratio=1.0), at.sel(ratio=0.05)
    later = np.log(np.maximum(small, 1) / np.maximum(equal, 1))
    return Finding(
        f"iterations {listed(small, 'g')} at 1/20 of the size, {listed(equal, 'g')} at equal sizes",
        float(np.exp(later.mean())),
        (later > 0,),
    )


@chapter.measure("va-abstract-1")
def lowest(lowest):
    below = min(min(seeds) for seeds in lowest.values())
    return Finding(
        f"lowest found less that of even points: {below:.0e} at least",
        below,
        (below + 1e-12, *(1e-6 - np.array(seeds) for seeds in lowest.values())),
    )


@chapter.measure("va-latent-distribution")
def latent(pushed):
    apart = max(max(one["radius"], one["invariant network"]) for one in pushed)
    return Finding(f"apart by {apart:.0e}", apart, (1e-12 - apart,))


@chapter.measure("va-eq-3")
def invariance(views):
    apart = {tau: np.array([found[0] for found in seeds]) for tau, seeds in views.items()}
    worst = float(max(map(np.max, apart.values())))
    return Finding(
        f"views at most {worst:.0e} apart", worst, tuple(1e-4 - found for found in apart.values())
    )


@chapter.measure("va-rescaled")
def rescaled(scales):
    return Finding(f"it changes by at most {max(scales):.0e}", max(scales), (1e-12 - max(scales),))


@chapter.measure("va-consistent")
def consistent(consistent):
    printed, corrected = np.moveaxis(consistent, -1, 0)  # (n, seeds)
    fall = printed[:-1] / printed[1:]
    return Finding(
        f"as printed {span(printed[-1])} at n = 1,024; corrected {span(corrected[-1], '.4f')}, falling "
        f"{span(corrected[:-1] / corrected[1:], '.1f')}-fold",
        float(printed[-1].mean()),
        (np.log(fall.min(0) / 3),),
    )


@chapter.measure("va-eq-6")
def eq_6(first):
    return both(
        *np.transpose(
            [
                [abs(one[name] / one["autograd"] - 1) for name in ("printed", "corrected")]
                for one in first
            ]
        ),
        bar=1e-12,
    )


@chapter.measure("va-eq-7-scale")
def eq_7(scaled):
    return both(*np.transpose(scaled), bar=1e-10)


@chapter.measure("va-remark-4-1")
def any_map(steps):
    margins = []
    for seeds in steps.values():
        errors = np.array(
            [errors for errors, _ in seeds]
        )  # (seeds, rates), the rates falling tenfold
        fall = (errors[:, :-1] / errors[:, 1:]).min(1)
        margins.append(np.where(errors.max(1) < 1e-9, 1.0, np.log(fall / 8)))
    first = {name: max(errors[0] for errors, _ in seeds) for name, seeds in steps.items()}
    still = max(change for _, change in steps["random features"])
    return Finding(
        "error at lr/tau = .1: "
        + ", ".join(f"{error:.0e} ({name})" for name, error in first.items())
        + f"; the kernel of random features changes by {still:g}",
        max(first.values()),
        tuple(margins),
    )


@chapter.measure("va-remark-4-2")
def identity(identity):
    return both(*np.transpose(identity), bar=1e-12)


@chapter.measure("va-prop-a-1-rescaled")
def blown_up(growing):
    seen = [slopes[slopes > 1e-15 * slopes[0]] for slopes in growing.values()]
    left = max(float(slopes[-1] / slopes[0]) for slopes in growing.values())
    fall = min(float((1 - slopes[1:] / slopes[:-1]).min()) for slopes in seen)
    return Finding(f"at 64 f at most {left:.0e} of its first value", left, (fall, 1e-3 - left))


@chapter.measure("va-a-3-multiplier")
def multiplier(multipliers):
    off = max(from_one for _, from_one in multipliers)
    return Finding(f"0 up to a part of {off:.0e}", off, (1e-12 - off,))


@chapter.measure("va-a-4-convergence")
def convergence(stuck):
    gradients, changes = np.transpose(stuck)
    return Finding(
        f"gradient {gradients.max():g}, and beside it the loss is lower by {span(-changes, '.0e')}",
        float(changes.mean()),
        (float(np.where(gradients <= 1e-12, changes, 1.0).max()),),
    )


@chapter.measure("va-definitions")
def definitions(written):
    off = max(abs(pairs[name][0] / pairs[name][1] - 1) for pairs in written for name in written[0])
    return Finding(f"off by a part of {off:.0e} at most", off, (1e-10 - off,))


@chapter.measure("va-own-setting")
def own_setting(setting):
    clean, places = np.transpose(setting)
    return Finding(
        f"clean coordinates change by {clean.max():g}, places by {places.max():.0e}",
        float(places.max()),
        (clean == 0, 1e-6 - places),
    )


@chapter.measure("va-theorem-4-5-training")
def in_training(trained):
    p = np.polyfit(np.log(trained["delta"]), np.log(trained["errors"]), 1)[0]
    return Finding(
        rf"error ~ $\delta^p$, p = {span(p)}; {span(trained['errors'][0], '.0e')} at $\delta$ = .003",
        float(p.mean()),
        (p - 0.9,),
    )


def change_after(loss, iteration: int):
    """(runs,) largest change of a loss after the first recorded time from `iteration` on."""
    later = loss.sel(step=slice(iteration, None))
    return abs(later - later.isel(step=0)).max("step")


@chapter.measure("va-network-at-rest")
def network_at_rest(uniform):
    text, margins = [], []
    mine = of_network(uniform, "mlp", 1)
    mine = mine.sel(run=(mine.d == 2) & (mine.loss == "eq. 4"))
    for lr in recipes.BEYOND["mlp", 1]:
        runs = mine.sel(run=mine.lr == lr)
        moved = change_after(runs.recorded_loss, 200)
        least = runs.accuracy.sel(step=slice(200, None)).min("step")
        text.append(
            f"lr = {lr:g}: loss changes by {span(moved, '.2f')}, accuracy at least {listed(least)}"
        )
        margins.append(np.minimum(0.05 - moved, least - CLUSTERED))
    best = max(margins, key=np.min)
    return Finding("; ".join(text), float(best.min()), (best >= 0,))


@chapter.measure("va-vanilla-at-rest")
def vanilla_at_rest(speeds):
    moved = change_after(speeds.sel(network=False).recorded_loss, 1000)
    return Finding(
        f"the loss changes by {span(moved, '.0e')} after it", float(moved.max()), (0.005 - moved,)
    )
