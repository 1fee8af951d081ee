"""How the claims of LS are measured, in the order of items.yaml."""

import numpy as np

from clbook import theory
from clbook.experiments.kernel.recipes import at_three_times
from clbook.experiments.separability import condition
from clbook.experiments.separability.recipes import PAIRS
from clbook.metrics import effective_rank
from clbook.papers.judging import Finding, Measures, listed, span
from clbook.papers.ls import repair
from clbook.papers.ls.recipes import LOSSES, SETS

measures = Measures()
EXACT = 1e-12  # numbers in float64 that differ by less are called equal
NEARLY = 1e-9  # relative: after an integration or an eigenvalue problem


def apart(results) -> np.ndarray:
    """Whether each run separated."""
    return np.array([result.separable_at is not None for result in results])


def taken(results) -> np.ndarray:
    """The iterations that each run took to separate, inf where it did not."""
    return np.array(
        [np.inf if result.separable_at is None else result.separable_at for result in results]
    )


def above_one(record):
    """Which runs of a record have a ratio of condition (e) above 1."""
    return record.left > record.right


def until_separation(record):
    """Which recorded times of a record's runs come before their separation."""
    return record.recorded_steps < record.separable_at.fillna(np.inf)


def kinds(values) -> tuple:
    """(seeds,) for each activation and width of the start, of values along those of the record of donuts."""
    return tuple(values.stack(kind=("activation", "eps")).T)


@measures("ls-without-collapse")
def without_collapse(several):
    ranks = {
        name: np.array(
            [
                effective_rank(r.z[np.searchsorted(r.steps, r.separable_at)])
                if r.separable_at
                else 0.0
                for r in runs
            ]
        )
        for name, runs in several.items()
    }
    margins = tuple(ranks[name] - runs[0].config.d + 0.5 for name, runs in several.items())
    return Finding(
        "; ".join(f"{name}: {span(rank, '.2f')}" for name, rank in ranks.items()),
        float(min(rank.min() for rank in ranks.values())),
        margins,
    )


@measures("ls-same-distribution")
def same_distribution(pushed):
    kept = max(max(one["radius"], one["invariant network"]) for one in pushed)
    lost = min(one["network"] for one in pushed)
    return Finding(
        f"apart by {kept:.0e}; where the map is not invariant by at least {lost:.2f}",
        kept,
        (EXACT - kept, lost - 0.01),
    )


@measures("ls-definitions")
def definitions(written):
    off = {
        name: max(abs(pairs[name][0] / pairs[name][1] - 1) for pairs in written)
        for name in written[0]
    }
    return Finding(
        f"off by a part of {max(off.values()):.0e} at most",
        max(off.values()),
        (1e-10 - max(off.values()),),
    )


@measures("ls-any-scale")
def any_scale(scales):
    return Finding(f"changes by {max(scales):.0e}", max(scales), (EXACT - max(scales),))


@measures("ls-consistent")
def consistent(on_sphere):
    similar, loss = (max(one[name] for one in on_sphere) for name in ("similarity", "loss"))
    scale = min(one["scale"] for one in on_sphere)
    return Finding(
        f"similarities off by a part of {similar:.0e}, losses by {loss:.0e}; doubling the points changes "
        f"eq. 3 by {scale:.0%} or more",
        loss,
        (EXACT - similar, EXACT - loss, scale - 0.01),
    )


@measures("ls-any-map")
def any_map(velocity):
    off = float(np.max(list(velocity.values())))
    return Finding(f"off by a part of {off:.0e}", off, (1e-10 - off,))


@measures("ls-lost-again")
def lost_again(followed):
    after = followed.recorded_steps >= followed.separable_at
    stays = (followed.whole | ~after).all("step")
    text = ", ".join(f"{int((~one).sum())} of {one.size} with {one.family.item()}" for one in stays)
    return Finding(f"lost again at some time: {text}", float(stays.mean()), tuple(stays))


@measures("ls-theorem-4-3")
def sufficient(to_the_end):
    at = to_the_end.separable_at
    above, mixed = above_one(to_the_end), np.isnan(at)
    last = listed(at[to_the_end.gradient == "full"], ",.0f")
    stay = int((above & mixed).sum())
    return Finding(
        f"{stay} of {int(above.sum())} runs above 1 stay mixed; the slowest takes "
        f"{at[above].max():,.0f} iterations, the chapter's three {last}",
        float(stay),
        (0.5 - stay,),
    )


@measures("ls-equal-means")
def nothing_moves(equal_means):
    slope = max(equal_means["partial"], equal_means["full"])
    resting = equal_means["ratio"] > 100 and slope < 1e-15
    return Finding(
        f"ratio {equal_means['ratio']:.0f}, gradient {slope:.0e}: nothing moves",
        equal_means["ratio"],
        (-1.0 if resting else 1.0,),
    )


@measures("ls-repaired")
def repaired(watched):
    promised = np.array([repair.certified_at(r) or np.inf for r in watched])
    given, broken = np.isfinite(promised), (taken(watched) > promised) & np.isfinite(promised)
    late = promised[given] / taken(watched)[given]
    return Finding(
        f"{broken.sum()} of {given.sum()} promises broken, in {len(watched)} runs; a promise comes at "
        f"{span(late, '.2f')} times the step of separation",
        float(broken.sum()),
        (0.5 - float(broken.sum()), float(given.sum()) - 0.5),
    )


@measures("ls-more-clusters")
def more_clusters(several):
    times = "; ".join(f"{name}: {span(taken(runs), '.0f')}" for name, runs in several.items())
    return Finding(
        f"iterations for {times}",
        float(np.mean([apart(runs).mean() for runs in several.values()])),
        tuple(apart(runs) for runs in several.values()),
    )


@measures("ls-full-loss")
def other_losses(full_loss):
    text, conditions = [], []
    times = full_loss.separable_at.fillna(np.inf)
    for loss in LOSSES:
        clusters, donut, bare = (times.sel(loss=loss, set=name) for name in SETS)
        text.append(f"{loss}: {np.median(clusters):.0f} and {np.median(donut):.0f}")
        conditions += [np.isfinite(clusters), np.isfinite(donut), donut > clusters, np.isinf(bare)]
    return Finding(
        f"median iterations for clusters and donut, {'; '.join(text)}", None, tuple(conditions)
    )


@measures("ls-any-family")
def any_family(random_features):
    above, mixed = above_one(random_features), np.isnan(random_features.separable_at)
    slowest = float(random_features.separable_at[above].max())
    stay = int((above & mixed).sum())
    return Finding(
        f"{stay} of {int(above.sum())} stay mixed; the slowest takes {slowest:,.0f} iterations",
        float(stay),
        (0.5 - stay,),
    )


@measures("ls-still-kernel")
def still_kernel(linear_maps):
    drift = max(float(r.drift.max()) for runs in linear_maps.values() for r in runs)
    ratio = {
        name: np.array([condition.measured_growth(r) * 4 * r.config.tau / r.theta[0] for r in runs])
        for name, runs in linear_maps.items()
    }
    return Finding(
        f"drift {drift:g}; {span(np.concatenate(list(ratio.values())), '.3f')} of the rate",
        drift,
        (0.5 if drift == 0 else -1.0, *(0.05 - abs(one - 1) for one in ratio.values())),
    )


@measures("ls-spread-squared")
def spread_squared(blocks, thetas):
    sigma2 = np.asarray(blocks)[:, :, 0]
    falls = sigma2[:, 1:-1] / sigma2[:, 2:]
    return Finding(
        f"divided by {span(falls, '.2f')}; $\\Theta$ at least {np.min(thetas):.0f}",
        float(falls.mean()),
        (falls.min(1) - 3.5, np.min(thetas, axis=1) - 1),
    )


@measures("ls-lipschitz")
def lipschitz(steep):
    sign, smooth = np.max(steep, axis=0)
    return Finding(
        f"{sign:,.0f}; for tanh at most {smooth:.2f}", float(sign), (1000 - float(sign),)
    )


@measures("ls-fig-3")
def three_pairs(fig3):
    early, late, never = (fig3.separable_at.sel(panel=panel) for panel in PAIRS)
    second, third = (fig3.moved.sel(panel=panel) for panel in ("third", "fourth"))
    again = ", ".join("never" if np.isnan(at) else f"{at:,.0f}" for at in late)
    return Finding(
        f"at {listed(early, '.0f')}; at {again}; the third in {int(np.isfinite(never).sum())} of {len(never)} "
        f"seeds, its points move by {span(third, '.2f')} eps, those of the second by "
        f"{span(second, '.2f')}",
        float(np.median(early)),
        (late > 10 * early, np.isnan(never), 0.25 - third),
    )


@measures("ls-fig-4-data")
def no_line(affine):
    return Finding(
        f"{sum(affine['donut'])} of {len(affine['donut'])} can be separated by a line",
        float(np.mean(affine["donut"])),
        (~np.array(affine["donut"]),),
    )


@measures("ls-fig-4-pixels")
def pixels(affine):
    return Finding(
        f"{sum(affine['digits'])} of {len(affine['digits'])}",
        float(np.mean(affine["digits"])),
        (np.array(affine["digits"]),),
    )


@measures("ls-fig-4-mnist")
def mnist_rises(fig4_mnist):
    accuracy = fig4_mnist.accuracy
    first, best, last = accuracy.isel(step=0), accuracy.max("step"), accuracy.isel(step=-1)
    return Finding(
        f"{span(first, '.2f')} at the start, {span(last, '.2f')} at the end, best {span(best, '.2f')}",
        float(last.mean()),
        (last - first - 0.1, 0.05 - (best - last)),
    )


@measures("ls-donut-gradients")
def donut_gradients(shapes):
    ratio = {
        name: np.array([r.sigma2[0] / r.theta[0] for r in runs]) for name, runs in shapes.items()
    }
    theta = span([r.theta[0] for r in shapes["donut"]], ".2f")
    return Finding(
        f"$\\sigma^2/\\Theta$ {span(ratio['donut'], '.1f')} on the donut ($\\Theta$ {theta}), "
        f"{span(ratio['clusters'], '.2f')} on the clusters",
        float(ratio["donut"].mean()),
        (np.log(ratio["donut"]), -np.log(ratio["clusters"])),
    )


@measures("photo-blocks")
def sharper(photo_blocks):
    texts, gains = [], []
    for name, data in (("CIFAR-10", "cifar10"), ("MNIST", "mnist")):
        aligned = photo_blocks.aligned.sel(data=data)
        before, after = aligned.sel(moment="before"), aligned.sel(moment="after")
        texts.append(f"{name} {listed(before)} to {listed(after)}")
        gains.append(after - before)
    return Finding(
        "; ".join(texts),
        float(np.mean(gains)),
        tuple(np.array(gains) - 0.02),
    )


@measures("ls-reshaping")
def reshaping(shapes):
    donut, clusters = taken(shapes["donut"]), taken(shapes["clusters"])
    return Finding(
        f"{listed(donut, '.0f')} against {listed(clusters, '.0f')}",
        float(np.median(donut / clusters)),
        (np.log(donut / clusters / 2),),
    )


@measures("ls-fig-5-clusters-later")
def blocks_from_the_start(stories):
    start, _, end = at_three_times(stories.sel(data="clusters"))
    return Finding(
        f"alignment {span(start, '.2g')} at the start, {span(end, '.2g')} at the end",
        float(start.mean()),
        (*(start - 0.9), *(0.05 - abs(end - start))),
    )


@measures("ls-fig-5-donut-rises")
def alignment_rises(stories):
    start, _, end = at_three_times(stories.sel(data="donut"))
    rises = end > start
    return Finding(
        f"{int(rises.sum())} of {start.size} runs; alignment {span(start, '.2g')} before, "
        f"{span(end, '.2g')} after",
        float((end - start).min()),
        tuple(rises),
    )


@measures("ls-fig-5-donut")
def sharp_blocks(stories):
    last = stories.alignment.isel(step=-1)
    end = last.sel(data="donut").max("activation")
    return Finding(
        f"alignment {span(end, '.2g')} with the best activation; on two clusters "
        f"{span(last.sel(data='clusters'), '.2g')}",
        float(end.mean()),
        (end - 0.5,),
    )


@measures("ls-blocks-first")
def blocks_then_separation(stories):
    donut = stories.sel(data="donut")
    start, then, end = at_three_times(donut)
    part = (then - start) / (end - start)
    return Finding(
        f"{span(part, '.2g')} of the rise, at iterations {span(donut.separable_at, 'd')}",
        float(part.mean()),
        (part.max("activation") - 0.5,),
    )


@measures("ls-fig-5-order")
def blocks_then(fig5):
    inside = fig5.recorded_steps <= fig5.separable_at
    last = fig5.alignment.isel(step=inside.sum("step") - 1)
    rise = (last / fig5.alignment.isel(step=0)).where(inside.any("step"), 0.0)
    highest = float(fig5.alignment.where(inside, 0.0).max())
    texts = []
    for activation in rise.activation.values:
        spans = [span(one, ".2f") for one in rise.sel(activation=activation)]
        texts.append(f"{activation}: multiplied by {', '.join(spans)}")
    return Finding(
        "; ".join(texts)
        + f", from the tightest start to the widest; never above {highest:.2f} until then",
        highest,
        kinds(rise / 2 - 1),
    )


@measures("ls-warm-start")
def warm_start(fig5):
    n = 100
    times = until_separation(fig5) & (fig5.recorded_steps > 0) & (fig5.alignment > 0.5)
    ratio = np.sqrt(n) * fig5.width / fig5.scatter
    margins = np.log(ratio.where(times).max("step")).fillna(-1.0)
    return Finding(
        f"such a time in {int((margins > 0).sum())} of {margins.size} runs", None, kinds(margins)
    )


@measures("ls-eq-13")
def eq_13(first_variations):
    off, right = (
        max(abs(one[name] - one["autograd"]) for one in first_variations)
        for name in ("printed", "corrected")
    )
    one = first_variations[0]
    return Finding(
        f"{one['printed']:.4f} where the derivative is {one['autograd']:.4f}; corrected, off by {right:.0e}",
        off,
        (EXACT - off,),
        None if right < EXACT else "fails",
    )


@measures("ls-growing-scale")
def growing_scale(growing):
    falls = min(
        float((1 - np.divide(v[1:], v[:-1], where=v[:-1] > 0, out=np.zeros(len(v) - 1))).min())
        for v in growing.values()
    )
    left = max(float(v[-1] / v[0]) for v in growing.values())
    return Finding(
        f"at k = 64 at most {left:.0e} of its value at k = 1", left, (falls, 1e-3 - left)
    )


@measures("ls-multiplier")
def multiplier(multipliers):
    off, right = np.max(multipliers, axis=0)
    return Finding(
        f"they differ by {off:.1f} times their size; corrected, off by {right:.0e}",
        float(off),
        (EXACT - float(off),),
        None if right < EXACT else "fails",
    )


@measures("ls-lower-bound")
def lower_bound(bounds):
    found, printed, right = np.concatenate(bounds).T
    slack, sharper = float((found / printed).min()), float((found / right).min())
    return Finding(
        f"at least {slack:.1f} times the bound in {len(found)} directions; with its factors put right "
        f"{sharper:.1f} times",
        slack,
        (float(printed.min()), slack - 1),
    )


@measures("ls-appendix-b-5")
def stays_invariant(kept):
    radius, point = max(kept["radius"]), min(kept["point"])
    return Finding(
        f"by {radius:.0e} at most; by {point:.2g} or more where it sees the point",
        radius,
        (EXACT - radius, point - EXACT),
    )


@measures("ls-prop-b-5-swapped")
def swapped_prefactor(explicit):
    wrong = min(
        min(errors["1/sqrt(M)", "1/(M D)"], errors["1/sqrt(M D)", "1/M"])
        for errors in explicit.values()
    )
    return Finding(
        f"relative error {wrong:.1f} or more: off by the factor D", wrong, (1e-12 - wrong,)
    )


@measures("ls-step-1")
def step_1(linear_errors, linear_powers):
    part = max(error / (eps**3 / tau**2 + gamma / tau) for eps, gamma, tau, error in linear_errors)
    return Finding(
        f"at most {part:.2f} times it; powers {span(linear_powers, '.2f')}",
        part,
        (2 - part, 0.2 - float(abs(np.array(linear_powers) - 3).max())),
    )


@measures("ls-growing-eigenvalue")
def growing_eigenvalue(eigenvalues):
    lowest, said, others = np.array(eigenvalues).T
    off = float(max(abs(lowest / said - 1).max(), (others / abs(lowest)).max()))
    return Finding(f"off by a part of {off:.0e}", off, (NEARLY - off,))


@measures("ls-step-4")
def step_4(flows):
    off, right = (max(one[name] for one in flows) for name in ("alpha", "gap"))
    return Finding(
        f"off by {span([one['alpha'] for one in flows], '.1%')}; the difference of the means by {right:.0e}",
        off,
        (NEARLY - off,),
        None if right < NEARLY else "fails",
    )


@measures("ls-step-4-bounds")
def step_4_bounds(components, flows):
    share = max(float((found / np.sqrt(n)).max()) for n, found in components.items())
    moved = max(one["rest"] for one in flows)
    return Finding(
        rf"at most {share:.2f} $\sqrt n\,\varepsilon$; the rest moves by {moved:.0e}",
        share,
        (1 - share, NEARLY - moved),
    )


@measures("ls-first-gap")
def first_gap(components):
    medians = np.array(
        [np.median(found[..., 0], axis=1) for found in components.values()]
    )  # (n's, seeds)
    powers = np.polyfit(np.log(list(components)), np.log(medians), 1)[0]
    of_n = ", ".join(f"{median:.2f}" for median in medians.mean(1))
    return Finding(
        rf"{of_n} $\varepsilon$ for n = {', '.join(map(str, components))}: powers {span(powers, '.2f')}",
        float(powers.mean()),
        (powers - 0.25,),
    )


@measures("ls-step-5")
def step_5(printed_bounds, equal_means):
    smallest = -equal_means["eps"]
    over = min(float(max(values)) - smallest for values in printed_bounds.values())
    return Finding(
        f"the smallest distance stays at {smallest:g}; F reaches {min(max(v) for v in printed_bounds.values()):.0e}",
        over,
        (-over,),
    )


@measures("ls-fig-6-free")
def full_size_free(fig6_free):
    end = fig6_free.isel(step=-1)
    gap, accuracy = abs(end.loss - theory.simplified_plateau(0.2, 2)), end.accuracy
    return Finding(
        f"loss within {gap.max():.0e}, accuracy {span(accuracy, '.2f')}",
        float(gap.max()),
        (*(0.005 - gap), *(0.5 - accuracy)),
    )


@measures("ls-fig-6-size")
def full_size(fig6):
    at, last = fig6.separable_at, float(fig6.recorded_steps.max())
    when = ", ".join("never" if np.isnan(t) else f"{t:.0f}" for t in at)
    return Finding(
        f"separable at {when} of {last:,.0f} iterations; neighbours' labels right on "
        f"{span(fig6.accuracy.isel(step=-1), '.2f')} at the end",
        float(at.fillna(0.0).mean() / last),
        ((0.1 - at / last).fillna(-1.0),),
    )


@measures("ls-sphere-drift")
def sphere_drift(drifts):
    return Finding(
        f"{span(drifts, '.2g')} of its norm", float(np.mean(drifts)), (0.1 - np.array(drifts),)
    )
