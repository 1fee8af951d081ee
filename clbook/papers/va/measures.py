"""How each claim under VA's items is measured: on what `evidence` gives, in the order of `items.yaml`."""

import numpy as np
import xarray

from clbook import theory
from clbook.experiments.kernel import closed_forms
from clbook.experiments.sphere import CLUSTERED, coherence
from clbook.papers.judging import Finding, Measures, listed, span
from clbook.papers.va import recipes

measures = Measures()
EXACT = 1e-12  # numbers in float64 that differ by less are called equal
ORDER = 0.9  # what is O(delta) falls like delta^p with p at least 1


def both(printed, corrected, bar: float) -> Finding:
    """Errors (draws,) of a formula as printed and of its corrected form; the worst of the first is judged."""
    right = "corrected" if max(corrected) < bar else "not even corrected"
    return Finding(
        f"as printed off by {span(printed, '.2g')}; {right}: {max(corrected):.0e}",
        float(np.mean(printed)),
        (float(bar - max(printed)),),
    )


# The abstract and Section 1.


@measures("va-abstract-1")
def lowest_is_even(lowest):
    below = min(min(seeds) for seeds in lowest.values())
    return Finding(
        f"lowest found less that of even points: {below:.0e} at least",
        below,
        (below + 1e-12, *(1e-6 - np.array(seeds) for seeds in lowest.values())),
    )


@measures("va-abstract-2")
def clusters_live(life):
    spent = recipes.time_clustered(life)
    return Finding(
        f"{span(spent, ',.0f')} of 20,000 iterations",
        float(spent.mean()),
        tuple(np.log(np.maximum(spent, 1) / 1000)),
    )


@measures("va-trivial-end")
def trivial_end(life):
    above = life.recorded_loss.isel(step=-1) - theory.circle_plateau(recipes.BASE.tau, 1)
    end = life.accuracy.isel(step=-1)
    return Finding(
        f"loss {span(above)} above the uniform one, accuracy {span(end)} at the end",
        float(above.mean()),
        (*(0.01 - above), *(0.5 - end)),
    )


def against(text: str, values, others, by: float = 0.0) -> Finding:
    """Accuracies `values` (runs,) against `others`, which they must be above by `by`; {} and {} in the text."""
    gain = values - others
    text = text.format(listed(values), listed(others))
    return Finding(text, float(gain.mean()), (gain - by,))


@measures("img-simclr-uncovers")
def simclr_uncovers(cifar):
    found = against("features {}, pixels {}", cifar.knn.isel(epoch=-1), cifar.pixels, 0.08)
    plane = against("; in the plane {} and {}", cifar.features_seen, cifar.pixels_seen)
    return Finding(found.text + plane.text, found.value, found.conditions + plane.conditions)


@measures("img-training")
def training_uncovers(cifar):
    return against("trained {}, untrained {}", cifar.knn.isel(epoch=-1), cifar.untrained, 0.08)


# Section 2: the losses.


@measures("va-latent-distribution")
def latent(pushed):
    apart = max(max(one["radius"], one["invariant network"]) for one in pushed)
    return Finding(f"apart by {apart:.0e}", apart, (1e-12 - apart,))


@measures("va-definitions")
def definitions(written):
    off = max(abs(pairs[name][0] / pairs[name][1] - 1) for pairs in written for name in written[0])
    return Finding(f"off by a part of {off:.0e} at most", off, (1e-10 - off,))


@measures("va-eq-3")
def invariance(views_at_minimum):
    apart = [np.array(seeds)[:, 0] for seeds in views_at_minimum.values()]  # by temperature
    worst = float(np.max(apart))
    return Finding(
        f"views at most {worst:.0e} apart", worst, tuple(1e-4 - found for found in apart)
    )


@measures("va-prop-2-1")
def forgets(maps):
    losses = maps.losses["NT-Xent, eq. 1"]
    gap = float(np.abs(losses[0::2] - losses[1::2]).max())
    kept, mixed = maps.accuracy[[0, 2]], maps.accuracy[[1, 3]]
    return Finding(
        f"losses differ by {gap:.0e}; the classes of at least {kept.min():.0%} of the points are read "
        f"right by class, of at most {mixed.max():.0%} shuffled",
        gap,
        (EXACT - gap,),
    )


def rewritten(result, printed: bool) -> float:
    """Eq. 1 of an invariant map as VA Prop. 2.1 rewrites it over the embedded points: as printed, or corrected."""
    cosine = result.z @ result.z.T
    kept = cosine < 1 - 1e-9 if printed else ~np.eye(len(cosine), dtype=bool)
    similarity = np.exp((cosine if printed else cosine - 1) / result.config.tau)
    return float(np.log1p(2 * (kept * similarity).mean(1)).mean())


@measures("va-prop-2-1-formula")
def formula(still):
    even, one, _ = still
    off = max(abs(rewritten(result, True) - result.loss_mean) for result in still)
    right = max(abs(rewritten(result, False) - result.loss_mean) for result in still)
    text = (
        f"{rewritten(even, True):.2f} instead of {even.loss_mean:.4f} at even points, "
        f"{rewritten(one, True):.2f} instead of {one.loss_mean:.4f} at one place; "
        f"corrected, off by {right:.0e}"
    )
    return Finding(text, off, (EXACT - off,), None if right < EXACT else "fails")


@measures("va-rescaled")
def rescaled(scales):
    return Finding(f"it changes by at most {max(scales):.0e}", max(scales), (1e-12 - max(scales),))


@measures("va-consistent")
def consistent(consistency):
    printed, corrected = np.moveaxis(consistency, -1, 0)  # (n, seeds)
    fall, corrected_fall = printed[:-1] / printed[1:], corrected[:-1] / corrected[1:]
    text = (
        f"as printed {span(printed[-1])} at n = 1,024; corrected {span(corrected[-1], '.4f')}, falling "
        f"{span(corrected_fall, '.1f')}-fold"
    )
    return Finding(text, float(printed[-1].mean()), (np.log(fall.min(0) / 3),))


# Section 3: minimisers, and the uniform start.


@measures("va-eq-6")
def eq_6(first_variations):
    printed = [abs(one["printed"] / one["autograd"] - 1) for one in first_variations]
    corrected = [abs(one["corrected"] / one["autograd"] - 1) for one in first_variations]
    return both(printed, corrected, bar=1e-12)


@measures("va-eq-7-scale")
def eq_7(scaled_similarity):
    return both(*np.transpose(scaled_similarity), bar=1e-10)


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
    found = []
    for seeds in rates.values():
        found.append([at <= by and np.isfinite(at) for at in seeds])
    return max(found, key=sum)


@measures("va-uniform-start", "mlp", 1)
@measures("va-uniform-eq-18", "averaging", 1)
@measures("va-uniform-deep", "mlp", 4)
def clusters_come(net: str, depth: int, uniform) -> Finding:
    """Whether some learning rate brings the clusters out in every seed, in each setting of one network."""
    mine = of_network(uniform, net, depth)
    runs = recipes.reached(mine)
    table = by_setting(mine, runs)
    found = [best_rate(rates) for rates in table.values()]
    soonest = [min(map(max, rates.values())) for rates in table.values()]
    when = f", by iteration {span(soonest, '.0f')}" if np.isfinite(soonest).all() else ""
    text = (
        f"at the best rate {np.sum(found)} of {np.size(found)} runs cluster{when}; at all rates "
        f"{int(np.isfinite(runs).sum())} of {runs.size}"
    )
    return Finding(text, float(np.mean(found)), tuple(map(np.array, found)))


@measures("va-uniform-small-steps")
def small_steps(uniform):
    settings = zip(uniform.net.values, uniform.depth.values, uniform.lr.values, strict=True)
    below = np.array([lr in recipes.BELOW[net, depth] for net, depth, lr in settings])
    seeds, best = uniform.seed.values, uniform.accuracy.max("step").values
    clustered = best >= CLUSTERED
    share = np.array([clustered[below & (seeds == seed)].mean() for seed in np.unique(seeds)])
    return Finding(
        f"{clustered[below].sum()} of {below.sum()} runs; best accuracy {span(best[below])}",
        float(share.mean()),
        (share - 0.5,),
    )


@measures("va-uniform-slow")
def slow_steps(slow):
    best, end = slow.accuracy.max("step"), slow.accuracy.isel(step=-1)
    return Finding(
        f"best accuracy {span(best)}, {span(end)} at the end",
        float(best.mean()),
        (best >= CLUSTERED,),
    )


# Section 4.1: the kernel and invariance.


def first_order(errors) -> Finding:
    """How much the error of a step falls with the step; errors (rates, seeds), from lr/tau = .1 on in powers of ten."""
    fall = (errors[1:4] / errors[:3]).min(0)
    return Finding(
        f"error {errors[0].max():.0e} at lr/tau = .1; it falls at least {fall.min():.1f}-fold",
        float(errors[0].max()),
        (fall / 8 - 1,),
    )


@measures("va-prop-4-1")
def kernel_flow(step_errors):
    return first_order(step_errors["partial"])


@measures("va-prop-4-1-full")
def full_gradient(step_errors):
    smallest = step_errors["full"][0]
    return Finding(f"error {span(smallest, '.2g')}", float(smallest.mean()), (0.1 - smallest,))


@measures("va-prop-4-1-views")
def views_as_points(step_errors):
    return first_order(step_errors["joint"])


@measures("va-remark-4-1")
def any_map(other_maps):
    margins = []
    for seeds in other_maps.values():
        errors = np.array([errors for errors, _ in seeds])  # (seeds, rates), tenfold smaller rates
        fall = (errors[:, :-1] / errors[:, 1:]).min(1)
        margins.append(np.where(errors.max(1) < 1e-9, 1.0, np.log(fall / 8)))
    first = {name: max(errors[0] for errors, _ in seeds) for name, seeds in other_maps.items()}
    still = max(change for _, change in other_maps["random features"])
    text = ", ".join(f"{error:.0e} ({name})" for name, error in first.items())
    return Finding(
        f"error at lr/tau = .1: {text}; the kernel of random features changes by {still:g}",
        max(first.values()),
        tuple(margins),
    )


@measures("va-remark-4-2")
def identity(identity_kernel):
    return both(*np.transpose(identity_kernel), bar=1e-12)


@measures("va-theorem-4-2-vanilla")
def stays_invariant(three_flows):
    runs = [flow["vanilla"] for flow in three_flows]
    moved = np.array([run.moved[-1] for run in runs])
    together = np.array([run.spread.max() == 0 for run in runs])
    return Finding(
        f"together in {together.sum()} of {len(runs)} seeds; points move {span(moved, '.2g')}",
        float(together.mean()),
        (together & (moved > 0),),
    )


@measures("va-theorem-4-2-network")
def loses_invariance(three_flows):
    first, last = np.array([flow["network"].spread[[1, -1]] for flow in three_flows]).T
    return Finding(
        f"spread {span(first, '.1e')} after one step, {span(last, '.2g')} after 120",
        float(first.mean()),
        (np.log(first / 1e-12),),
    )


@measures("va-theorem-4-2-radius")
def keeps_invariance(three_flows):
    runs = [flow["radius"] for flow in three_flows]
    spread = np.array([run.spread.max() for run in runs])
    moved = np.array([run.moved[-1] for run in runs])
    return Finding(
        f"spread at most {spread.max():.0e}; points move {span(moved, '.2g')}",
        float(spread.max()),
        (1e-12 - spread, moved > 0),
    )


@measures("va-theorem-4-2-only-if")
def only_if(constant_start):
    spread = float(constant_start.spread.max())
    gap = closed_forms.gradient_gap(constant_start)
    return Finding(
        f"gradients differ by up to {gap:.1f}, spread {spread:g}", spread, (spread or -gap,)
    )


# Section 4.2: the kernel of one hidden layer, and clusters.


@measures("va-own-setting")
def own_setting(clean_and_places):
    clean, places = np.transpose(clean_and_places)
    return Finding(
        f"clean coordinates change by {clean.max():g}, places by {places.max():.0e}",
        float(places.max()),
        (clean == 0, 1e-6 - places),
    )


@measures("va-prop-4-3")
def explicit_kernel(explicit):
    right = max(
        max(errors["1/sqrt(M)", "1/M"], errors["1/sqrt(M D)", "1/(M D)"])
        for errors in explicit.values()
    )
    return Finding(f"relative error {right:.0e}", right, (1e-12 - right,))


@measures("va-prop-4-4")
def wide_kernel(wide):
    first, *_, last = wide["isotropic"]
    return Finding(
        f"error {span(first, '.2g')} at M = 64, {span(last, '.2g')} at 16,384",
        float(last.mean()),
        (np.log(first / last), 0.05 - last),
    )


@measures("va-prop-4-4-mean")
def shifted_rows(wide):
    shifted, stretched = wide["shifted"][-1], wide["stretched"][-1]
    return Finding(
        f"error {span(shifted, '.2g')}; for rows with mean zero and unequal variances "
        f"{span(stretched, '.2g')}",
        float(shifted.mean()),
        (0.05 - shifted,),
    )


def powers(x, errors) -> np.ndarray:
    """p of errors ~ x^p, errors (len(x), seeds): one p a seed."""
    return np.polyfit(np.log(x), np.log(errors), 1)[0]


def by_delta(runs, error) -> np.ndarray:
    """p of error ~ delta^p, one a seed, from runs[delta][seed] and error(run)."""
    deltas = [row[0].config.delta for row in runs]
    return powers(deltas, [list(map(error, row)) for row in runs])


def order_of(errors) -> Finding:
    """Errors {"delta": (deltas,), "errors": (deltas, seeds)} that are to fall like delta."""
    p = powers(errors["delta"], errors["errors"])
    smallest = span(errors["errors"][0], ".0e")
    return Finding(
        rf"error ~ $\delta^p$, p = {span(p)}; {smallest} at $\delta$ = .003",
        float(p.mean()),
        (p - ORDER,),
    )


@measures("va-theorem-4-5")
def cluster_velocity(printed):
    return order_of(printed)


@measures("va-theorem-4-5-own")
def own_gradient(tight):
    smooth, random = (
        by_delta(tight[f"{start} start"], lambda run: run.error("own"))
        for start in ("smooth", "random")
    )
    return Finding(
        f"p = {span(smooth, '.2f')} from a smooth start, {span(random, '.2f')} from a random one",
        float(smooth.mean()),
        (smooth - ORDER, 0.5 - random),
    )


@measures("va-theorem-4-5-training")
def in_training(trained):
    return order_of(trained)


@measures("va-corollary-4-6")
def one_half(corollary):
    first, *_, last = corollary[..., 1]
    return Finding(
        f"error {span(first, '.2g')} at M = 64, {span(last, '.2g')} at 4,096",
        float(last.mean()),
        (np.log(first / last), 0.05 - last),
    )


def slowing(speeds, ratios):
    """p of (speed of the last cluster / mean speed of the others) ~ ratio^p, one a seed, and that quotient at the end.

    speeds (ratios, seeds, clusters).
    """
    relative = speeds[..., -1] / speeds[..., :-1].mean(-1)
    return powers(ratios, relative), relative[-1]


@measures("va-remark-4-4")
def small_is_slow(cluster_speeds, ratios):
    p, last = slowing(cluster_speeds[4], ratios)
    return Finding(
        f"p = {span(p, '.2f')}; at 1/20 of their size {span(last, '.2g')} of their speed",
        float(p.mean()),
        (p - 0.5,),
    )


@measures("va-remark-4-4-two")
def two_are_equal(cluster_speeds, ratios):
    p, last = slowing(cluster_speeds[2], ratios)
    return Finding(
        f"p = {span(np.round(p, 2) + 0.0)}; at 1/20 of its size {span(last, '.2f')} of the other's speed",
        float(p.mean()),
        (p - 0.5,),
    )


@measures("va-remark-4-4-lost")
def small_lost(lost):
    end = lost["tail"].isel(step=-1)
    equal, small = end.sel(ratio=1.0), end.sel(ratio=0.05)
    return Finding(
        f"{span(small)} of its points at 1/20 of the size, {span(equal)} at equal sizes",
        float(small.mean()),
        (0.5 - small, equal - 0.5),
    )


@measures("va-remark-4-4-late")
def small_late(lost):
    at = recipes.reached(lost, "tail")
    equal, small = at.sel(ratio=1.0), at.sel(ratio=0.05)
    later = np.log(np.maximum(small, 1) / np.maximum(equal, 1))
    return Finding(
        f"iterations {listed(small, 'g')} at 1/20 of the size, {listed(equal, 'g')} at equal sizes",
        float(np.exp(later.mean())),
        (later > 0,),
    )


# Section 4.2.1: what Figures 5 and 6 show.


@measures("va-stationary")
def stationary(life):
    cap = life.sel(start="cap").isel(step=-1)
    later, spread, end = cap.later, cap.recorded_spread, cap.accuracy
    return Finding(
        f"the median point moves by {span(later)}; views {span(spread, '.2g')} away; accuracy {span(end)}",
        float(later.mean()),
        (0.1 - later, 0.05 - spread, end - CLUSTERED),
    )


def scatter(run) -> float:
    """How much the first velocities of the points differ from their cluster's mean, relative to all velocities."""
    velocity = run.measured[0]
    means = np.array([velocity[run.labels == q].mean(0) for q in np.unique(run.labels)])
    return float(np.linalg.norm(velocity - means[run.labels]) / np.linalg.norm(velocity))


@measures("va-fig-5-one-velocity")
def one_velocity(tight):
    axes, line = (by_delta(tight[name], scatter) for name in ("random start", "centres on a line"))
    return Finding(
        f"p = {span(axes, '.2f')} for orthogonal centres, {span(line, '.2f')} on a line",
        float(line.mean()),
        (axes - ORDER, line - ORDER),
    )


@measures("va-same-direction")
def same_direction(pushes):
    within, together = np.moveaxis(np.array(list(pushes.values())), -1, 0)  # (dimensions, seeds)
    return Finding(
        f"{span(within, '.3f')}; of all four clusters together {span(together, '.2g')}",
        float(within.mean()),
        tuple(within - 0.9),
    )


@measures("va-own-gradients")
def own_gradients(cap):
    found = np.array([[coherence(run.arrows[0], run.labels) for run in cap[d, 1]] for d in (2, 3)])
    return Finding(f"{span(found, '.2g')}", float(found.mean()), tuple(found - 0.5))


@measures("va-fig-5-eq-21")
def on_a_line(tight):
    runs = tight["centres on a line"]
    p = by_delta(runs, lambda run: run.error("mean"))
    blocks = by_delta(runs, lambda run: run.error("blocks"))
    errors = [run.error("mean") for row in runs for run in row]
    return Finding(
        f"error {span(errors, '.2g')}, p = {span(p, '.2f')}; with all blocks of the kernel "
        f"{span(blocks, '.2f')}",
        float(np.mean(errors)),
        (p - ORDER,),
    )


@measures("va-speeds")
def different_speeds(speeds):
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


def moved(runs, since: int) -> np.ndarray:
    """How far the median point of each run is at the end from where it was at iteration `since`."""
    found = []
    for run in runs:
        before = run.z[np.searchsorted(run.steps, since)]
        found.append(np.median(np.linalg.norm(run.z[-1] - before, axis=1)))
    return np.array(found)


@measures("va-at-rest")
def at_rest(cap_wide_gap, vanilla):
    network, free = moved(cap_wide_gap, 200), moved(vanilla[2, "cap"], 200)
    return Finding(
        f"it moves by {span(network, '.2g')} through the network, by {span(free, '.2g')} without",
        float(network.mean()),
        (0.1 - network, 0.1 - free),
    )


def change_after(loss, iteration: int):
    """(runs,) largest change of a loss after the first recorded time from `iteration` on."""
    later = loss.sel(step=slice(iteration, None))
    return abs(later - later.isel(step=0)).max("step")


@measures("va-network-at-rest")
def network_at_rest(uniform):
    text, margins = [], []
    mine = of_network(uniform, "mlp", 1)
    mine = mine.sel(run=(mine.d == 2) & (mine.loss == "eq. 4"))
    for lr in recipes.BEYOND["mlp", 1]:
        runs = mine.sel(run=mine.lr == lr)
        change = change_after(runs.recorded_loss, 200)
        least = runs.accuracy.sel(step=slice(200, None)).min("step")
        text.append(
            f"lr = {lr:g}: loss changes by {span(change)}, accuracy at least {listed(least)}"
        )
        margins.append(np.minimum(0.05 - change, least - CLUSTERED))
    best = max(margins, key=np.min)
    return Finding("; ".join(text), float(best.min()), (best >= 0,))


@measures("va-vanilla-at-rest")
def vanilla_at_rest(speeds):
    change = change_after(speeds.sel(network=False).recorded_loss, 1000)
    return Finding(
        f"the loss changes by {span(change, '.0e')} after it",
        float(change.max()),
        (0.005 - change,),
    )


@measures("va-by-15")
def by_15(uniform):
    table = by_setting(uniform, recipes.reached(uniform))
    rates = {}
    for (net, depth, d, loss), seeds_by_rate in table.items():
        if (depth, d, loss) == (1, 2, "eq. 4"):
            rates |= {(net, lr): seeds for lr, seeds in seeds_by_rate.items()}
    found = best_rate(rates, by=15)
    first = {name: max(seeds) for name, seeds in rates.items()}
    (net, lr), at = min(first.items(), key=lambda pair: pair[1])
    return Finding(
        f"soonest in all seeds: iteration {at:g}, {net} at lr = {lr:g}",
        float(at),
        (np.array(found),),
    )


@measures("va-free-uniform")
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


# The appendix.


@measures("va-prop-a-1-rescaled")
def blown_up(growing):
    seen = [slopes[slopes > 1e-15 * slopes[0]] for slopes in growing.values()]
    left = max(float(slopes[-1] / slopes[0]) for slopes in growing.values())
    fall = min(float((1 - slopes[1:] / slopes[:-1]).min()) for slopes in seen)
    return Finding(f"at 64 f at most {left:.0e} of its first value", left, (fall, 1e-3 - left))


@measures("va-a-3-multiplier")
def multiplier(multipliers):
    off = max(from_one for _, from_one in multipliers)
    return Finding(f"0 up to a part of {off:.0e}", off, (1e-12 - off,))


@measures("va-a-4-convergence")
def convergence(stuck):
    gradients, changes = np.transpose(stuck)
    return Finding(
        f"gradient {gradients.max():g}, and beside it the loss is lower by {span(-changes, '.0e')}",
        float(changes.mean()),
        (float(np.where(gradients <= 1e-12, changes, 1.0).max()),),
    )


@measures("va-theorem-4-5-mean")
def mean_gradient(tight):
    p = by_delta(tight["random start"], lambda run: run.error("mean"))
    return Finding(rf"error ~ $\delta^p$, p = {span(p, '.2f')}", float(p.mean()), (p - ORDER,))
