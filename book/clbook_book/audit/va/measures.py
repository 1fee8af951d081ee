"""How each claim under VA's items is measured: on what `runs` gives, in the order of `items.yaml`."""

import numpy as np
import xarray

from clbook import theory
from clbook.experiments.sphere import CLUSTERED
from clbook.losses import nt_xent_mean
from clbook_book.audit.judging import Every, Finding, Measures, counted, listed, misprint, span
from clbook_book.audit.va import minima
from clbook_book.audit.va.runs import BASE, BELOW, BEYOND, gap_ratio, reached

measures = Measures()
EXACT = 1e-12  # numbers in float64 that differ by less are called equal
ORDER = 0.9  # what is O(delta) falls like delta^p with p at least 1


# The abstract and Section 1.


@measures("va-abstract-1")
def lowest_is_even(lowest, views_at_minimum):
    above = np.array(list(lowest.values()))  # (tau, seeds)
    even = minima.circle(minima.even(8))
    free = [
        np.array(found)[:, 1].min() - nt_xent_mean(even, even, tau).item()
        for tau, found in views_at_minimum.items()
    ]
    below, views = above.min(), min(free)
    return Finding(
        f"lowest found less that of even points: {below:.0e} at least, with free views {views:.0e}",
        min(below, views) + EXACT,
        *map(Every, 1e-6 - above),
    )


@measures("va-abstract-2")
def clusters_live(life):
    gaps = gap_ratio(life)
    early, late, end = gaps.sel(start="cap").transpose("moment", "seed").values
    return Finding(
        f"gaps between clusters are {listed(early, '.0f')} times those within at iteration 104, "
        f"{listed(late, '.1f')} times at 3,122, {listed(end, '.1f')} times at 20,000; from a uniform "
        f"start at lr = 10: {listed(gaps.sel(start='uniform').isel(moment=1), '.1f')} times at 3,122",
        Every(np.log(np.minimum(early, late) / 2)),
    )


@measures("img-simclr-uncovers")
def simclr_uncovers(cifar):
    features = cifar.knn.isel(epoch=-1)
    seen = f"in the plane {listed(cifar.features_seen)} and {listed(cifar.pixels_seen)}"
    return Finding(
        f"features {listed(features)}, pixels {listed(cifar.pixels)}; {seen}",
        features - cifar.pixels - 0.08,
        cifar.features_seen - cifar.pixels_seen,
    )


# Section 2: the losses.


@measures("va-eq-3")
def invariance(views_at_minimum):
    apart = np.array(list(views_at_minimum.values()))[..., 0]  # (tau, seeds)
    return Finding(f"views at most {apart.max():.0e} apart", *map(Every, 1e-4 - apart))


@measures("va-prop-2-1")
def forgets(maps):
    losses = maps.losses["NT-Xent, eq. 1"]
    gap = np.abs(losses[0::2] - losses[1::2]).max()
    return Finding(f"losses differ by {gap:.0e}", EXACT - gap)


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
    return misprint(
        f"{rewritten(even, True):.2f} instead of {even.loss_mean:.4f} at even points, "
        f"{rewritten(one, True):.2f} instead of {one.loss_mean:.4f} at one place; "
        f"corrected, off by {right:.0e}",
        off,
        right,
        EXACT,
    )


# Section 3: minimisers, and the uniform start.


def of_network(record, net: str, depth: int):
    """The runs of the record `va-uniform` with one network."""
    return record.sel(run=(record.net == net) & (record.depth == depth))


def by_setting(record) -> dict:
    """{(net, depth, d, loss): {lr: iterations at which each seed clusters}} of the record `va-uniform`."""
    table = {}
    for at in reached(record):
        setting = at.net.item(), at.depth.item(), at.d.item(), at.loss.item()
        table.setdefault(setting, {}).setdefault(at.lr.item(), []).append(at.item())
    return table


def best_rate(rates: dict, by: float = np.inf) -> np.ndarray:
    """Of {lr: iterations at which each seed clusters}: whether each seed has by then, at the best rate."""
    found = (np.isfinite(seeds) & (np.array(seeds) <= by) for seeds in rates.values())
    return max(found, key=np.sum)


@measures("va-uniform-start", "mlp", 1)
@measures("va-uniform-deep", "mlp", 4)
def clusters_come(net: str, depth: int, uniform, uniform_large) -> Finding:
    """Whether some learning rate brings the clusters out in every seed, in each setting of one network."""
    mine = of_network(uniform, net, depth)
    size = uniform_large[depth]
    large = size.accuracy.transpose(..., "step") >= CLUSTERED
    settings = by_setting(mine).values()
    found = [best_rate(rates) for rates in settings]
    soonest = [min(map(max, rates.values())) for rates in settings]
    when = f", by iteration {span(soonest, ',.0f')}" if np.isfinite(soonest).all() else ""
    came = np.isfinite(reached(mine))
    stayed = came & (mine.accuracy.isel(step=-1) >= CLUSTERED)
    gentle = came[mine.lr.isin(BELOW[net, depth])]
    return Finding(
        f"at the best rate {np.sum(found)} of {np.size(found)} runs cluster{when}; at all rates "
        f"{counted(came)}, below the stability limit {counted(gentle)}, and {stayed.sum():d} still have "
        f"clusters at the end; at LS's size {counted(large.any('step'))} within {size.recorded_steps.max():.0f} "
        f"iterations, and {large[..., -1].sum():d} have them then",
        *found,
    )


@measures("va-uniform-deep-stay")
def clusters_stay(uniform):
    mine = of_network(uniform, "mlp", 4)
    mine = mine.sel(run=mine.lr.isin(BEYOND["mlp", 4]))
    panels = xarray.where(mine.d == 2, 500, 2000)
    there = mine.accuracy.sel(step=panels, method="nearest") >= CLUSTERED
    circle, sphere = (there.sel(run=there.d == d) for d in (2, 3))
    of_two = xarray.where(
        mine.loss == "eq. 4", np.log(1.5), np.log1p(1 - 2 / BASE.n)
    )  # places, half each
    few = mine.recorded_loss.isel(step=-1) > of_two - 0.01
    return Finding(
        f"clusters there in {counted(circle)} runs on the circle and {counted(sphere)} on the sphere; at the end "
        f"{counted(few)} have the loss of two places or one",
        *(float(runs.sum()) - 0.5 for runs in (circle, sphere)),
    )


@measures("va-uniform-eq-18")
def clusters_of_eq_18(uniform):
    mine = of_network(uniform, "averaging", 1)
    came = np.isfinite(reached(mine))
    beyond = mine.lr.isin(BEYOND["averaging", 1])
    return Finding(
        f"{counted(came[beyond])} runs beyond the stability limit cluster, {counted(came[~beyond])} below it",
        float(came.sum()) - 0.5,
    )


@measures("va-uniform-at-rest")
def at_rest_at_even_points(at_rest):
    even, other = np.moveaxis([list(run.values()) for run in at_rest], -1, 0)  # (seeds, losses)
    return Finding(
        f"gradient in the weights at most {even.max():.0e}, from random places {span(other, '.1g')}",
        Every(EXACT - even.max(1)),
    )


@measures("va-off-sphere")
def come_off_the_sphere(off_sphere):
    at, rise = np.moveaxis(np.array(list(off_sphere.values())), -1, 0)  # (tau, seeds)
    low, *high = came = np.isfinite(at)
    return Finding(
        rf"at $\tau$ = .1 in {counted(low)} seeds, at .2 and .5 in {counted(high)}, by iteration "
        f"{at[1:].max():.0f}; the loss falls by {-rise.max():.0e} or more in each step",
        came[1:].all(0),
        Every(-rise.max(0)),
        ~low.all(),
    )


# Section 4.1: the kernel and invariance.


@measures("va-remark-4-2")
def identity(identity_kernel):
    printed, corrected = np.transpose(identity_kernel)
    right = corrected.max()
    return misprint(
        f"as printed off by {span(printed, '.2g')}; corrected: {right:.0e}",
        printed.max(),
        right,
        EXACT,
    )


@measures("va-theorem-4-2-vanilla")
def stays_invariant(three_flows):
    runs = [flow["vanilla"] for flow in three_flows]
    moved = np.array([run.moved[-1] for run in runs])
    together = np.array([run.spread.max() == 0 for run in runs])
    return Finding(
        f"together in {counted(together)} seeds; points move {span(moved, '.2g')}",
        together & (moved > 0),
    )


@measures("va-theorem-4-2-network")
def loses_invariance(three_flows):
    first, last = np.array([flow["network"].spread[[1, -1]] for flow in three_flows]).T
    return Finding(
        f"spread {span(first, '.1e')} after one step, {span(last, '.2g')} after 120",
        Every(np.log(first / 1e-12)),
    )


@measures("va-theorem-4-2-only-if")
def only_if(unlike_gradients):
    moved, parted, unlike = np.transpose(unlike_gradients)
    farthest = parted.max()
    return Finding(
        f"points move {span(moved, '.1f')} in 200 steps, gradients at a point and its view differ by "
        f"{unlike.min():.1f} or more, and the two are {farthest:.1g} apart",
        farthest - 1e-4 if farthest > 1e-4 else -unlike.min(),
    )


# Section 4.2: the kernel of one hidden layer, and clusters.


@measures("va-prop-4-3")
def explicit_kernel(explicit):
    right = 0.0
    for errors in explicit.values():
        right = max(right, errors["1/sqrt(M)", "1/M"], errors["1/sqrt(M D)", "1/(M D)"])
    return Finding(f"relative error {right:.0e}", EXACT - right)


@measures("va-prop-4-4")
def wide_kernel(wide):
    first, *_, last = wide["isotropic"]
    return Finding(
        f"error {span(first, '.2g')} at M = 64, {span(last, '.2g')} at 16,384; there "
        f"{span(wide['shifted'][-1], '.2g')} for entries of mean 1, "
        f"{span(wide['stretched'][-1], '.2g')} for rows with mean zero and unequal variances",
        np.log(first / last),
        0.05 - last,
    )


def powers(x, errors) -> np.ndarray:
    """p of errors ~ x^p, errors (len(x), seeds): one p a seed."""
    return np.polyfit(np.log(x), np.log(errors), 1)[0]


def errors_of(runs, name: str) -> np.ndarray:
    """(deltas, seeds) an error of the record `va-tight`, from runs[delta][seed]."""
    return np.array([[getattr(run, name) for run in row] for row in runs])


def by_delta(runs, name: str) -> np.ndarray:
    """p of error ~ delta^p, one a seed."""
    return powers([row[0].config.delta for row in runs], errors_of(runs, name))


@measures("va-theorem-4-5")
def cluster_velocity(printed, trained):
    found, orders = [], []
    for when, one in (("at the start", printed), ("after 50 steps", trained)):
        p = powers(one["delta"], one["errors"])
        found.append(rf"{when} p = {span(p)}; {span(one['errors'][0], '.0e')} at $\delta$ = .003")
        orders.append(p - ORDER)
    return Finding(rf"error ~ $\delta^p$, {'; '.join(found)}", *orders)


@measures("va-corollary-4-6")
def one_half(corollary):
    first, *_, last = corollary[..., 1]
    return Finding(
        f"error {span(first, '.2g')} at M = 64, {span(last, '.2g')} at 4,096",
        np.log(first / last),
        0.05 - last,
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
    of_three, _ = slowing(cluster_speeds[3], ratios)
    of_two, _ = slowing(cluster_speeds[2], ratios)
    return Finding(
        f"of four p = {span(p, '.2f')}, at 1/20 of their size {span(last, '.2g')} of their speed; "
        f"of three p = {span(of_three, '.2f')}; of two p = {span(np.round(of_two, 2) + 0.0)}",
        p - 0.5,
        of_three - 0.5,
    )


@measures("va-remark-4-4-lost")
def small_lost(lost, lost_wide):
    texts = []
    for cap, record in ((0.05, lost), (0.3, lost_wide)):
        best = record["tail"].max("step")
        small, equal = best.sel(ratio=0.05), best.sel(ratio=1.0)
        texts.append(f"cap {cap:g}: at best {listed(small)}, at equal sizes {listed(equal)}")
    return Finding(
        f"of its points are beside one of their own, {'; '.join(texts)}; there the 10-NN accuracy of all points, with "
        f"those of the small cluster, comes to {span(lost_wide.accuracy.sel(ratio=0.05).max('step'))}",
        (CLUSTERED - small).max(),
        (equal - small).values,
    )


# Section 4.2.1: what Figures 5 and 6 show.


@measures("va-stationary")
def stationary(life):
    cap = life.sel(start="cap")
    later = cap.later
    spread = cap.recorded_spread.isel(step=-1)
    gaps = gap_ratio(cap).isel(moment=-1)
    return Finding(
        f"the median point moves by {listed(later)}; views {span(spread, '.2g')} away; gaps between clusters "
        f"{listed(gaps, '.1f')} times those within",
        0.1 - later,
        0.05 - spread,
        gaps - 2,
    )


@measures("va-same-direction")
def same_direction(pushes, tight):
    within, together = np.moveaxis(np.array(list(pushes.values())), -1, 0)  # (dimensions, seeds)
    axes = by_delta(tight["random start"], "off_cluster")
    line = by_delta(tight["centres on a line"], "off_cluster")
    return Finding(
        f"{span(within, '.3f')} long; of all four clusters together {span(together, '.2g')}; velocities in a cluster "
        f"differ with p = {span(axes, '.2f')} for orthogonal centres, {span(line, '.2f')} on a line",
        *(within - 0.9),
        *(within - together),
        axes - ORDER,
        line - ORDER,
    )


@measures("va-fig-5-eq-21")
def on_a_line(tight):
    runs = tight["centres on a line"]
    p = by_delta(runs, "off_mean")
    blocks = by_delta(runs, "off_blocks")
    return Finding(
        f"error {span(errors_of(runs, 'off_mean'), '.2g')}, p = {span(p, 'z.2f')}; with all blocks of the kernel "
        f"{span(blocks, '.2f')}",
        0.5 - p,
        blocks - ORDER,
    )


@measures("va-by-15")
def by_15(uniform):
    rates = {}
    for (net, depth, d, loss), seeds_by_rate in by_setting(uniform).items():
        if (depth, d, loss) == (1, 2, "eq. 4"):
            rates |= {(net, lr): seeds for lr, seeds in seeds_by_rate.items()}
    latest = {key: max(seeds) for key, seeds in rates.items()}
    net, lr = min(latest, key=latest.get)
    trained = {"mlp": "all weights trained", "averaging": "eq. 18's network"}
    return Finding(
        f"soonest in all seeds: iteration {latest[net, lr]:g}, {trained[net]}, lr = {lr:g}",
        best_rate(rates, by=15),
    )


@measures("va-free-uniform")
def free_uniform(free):
    end = free.isel(step=-1)
    plateaus = [theory.sphere_plateau(BASE.tau, d, 1) for d in free.d.values]
    gap = abs(end.recorded_loss - xarray.DataArray(plateaus, dims="d"))
    return Finding(
        f"loss within {gap.max():.0e}, accuracy {span(end.accuracy)}",
        # In each seed the worst of dimensions and starts, so that five seeds are asked for.
        Every((0.005 - gap).min(["d", "start"])),
        Every((0.5 - end.accuracy).min(["d", "start"])),
    )


# The appendix.


@measures("va-theorem-4-5-mean")
def mean_gradient(tight):
    p = by_delta(tight["random start"], "off_mean")
    return Finding(rf"error ~ $\delta^p$, p = {span(p, '.2f')}", p - ORDER)
