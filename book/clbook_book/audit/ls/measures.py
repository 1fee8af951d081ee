"""How the claims of LS are measured, in the order of items.yaml."""

import numpy as np
from scipy.optimize import linprog
from scipy.stats import spearmanr

from clbook import theory
from clbook.experiments.separability import condition
from clbook_book.audit.judging import (
    Every,
    Finding,
    Measures,
    counted,
    listed,
    misprint,
    span,
)
from clbook_book.audit.ls import noisy
from clbook_book.audit.ls.runs import LOSSES, SETS
from clbook_book.course.kernel.runs import at_three_times
from clbook_book.course.separability.figures import times
from clbook_book.course.separability.runs import PAIRS

measures = Measures()
EXACT = 1e-12  # numbers in float64 that differ by less are called equal
NEARLY = 1e-9  # relative: after an integration or an eigenvalue problem


def taken(results) -> np.ndarray:
    """The iterations that each run took to separate, inf where it did not."""
    return np.array([np.inf if r.separable_at is None else r.separable_at for r in results], float)


def apart(results) -> np.ndarray:
    """Whether at some time an affine rule was right on every point of each run."""
    return np.isfinite(taken(results))


def each_of(found: list[dict], name: str) -> np.ndarray:
    """What each of some dictionaries has under a name."""
    return np.array([one[name] for one in found])


def of_seeds(diagram) -> list:
    """The phase diagram of each seed."""
    return [diagram.of(seed) for seed in np.unique(diagram.seed)]


def times_above_one(record) -> np.ndarray:
    """When each run of a record separated whose ratio of condition (e) is above 1, nan where it did not."""
    return record.separable_at.values[(record.left > record.right).values]


def clustered(runs) -> np.ndarray:
    """Whether each run's clusters appeared at some time."""
    return np.array([run.clustered_at is not None for run in runs])


def even_places(by_tau) -> tuple[np.ndarray, np.ndarray]:
    """((t, K) eq. 1 of 1 to K even places, (t, 1) that of the uniform distribution), tau ascending."""
    losses, plateaus = [], []
    for result in sorted(by_tau, key=lambda result: result.config.tau):
        losses.append(result.curves.simclr)
        plateaus.append([result.curves.simclr_plateau])
    return np.array(losses), np.array(plateaus)


def of_places(result) -> float:
    """Eq. 1 of the even distribution on the places where a run has its points."""
    return result.curves.simclr[result.config.clusters - 1]


def integrals(result) -> np.ndarray:
    """(n, d) of eq. 5: means over y of eta'(|x - y|^2 / 2) (x - y) with eta(t) = exp(-t / tau), at each point x."""
    apart = result.z[:, None] - result.z
    tau = result.config.tau
    square = (apart**2).sum(2, keepdims=True)
    return (-np.exp(-square / (2 * tau)) / tau * apart).mean(1)


def unlike(result) -> float:
    """How far the integrals of eq. 5 are from one multiple of their places."""
    found = integrals(result)
    return abs(found - (found * result.z).sum(1).mean() * result.z).max()


def best_line(thresholds, most: float) -> tuple[float, float]:
    """(s, R2) of the thresholds at tau up to `most`.

    K even places are at the plateau, K - 1 are not: the threshold lies between their spacings, and s tells how far
    inside all these intervals the best straight line can stay, in units of their widths; below 0 none can.
    """
    low = thresholds.taus <= most
    tau = thresholds.taus[low]
    gap = thresholds.gaps[low]
    count = np.rint(np.pi / np.arcsin(np.sqrt(gap) / 2))
    wider = 4 * np.sin(np.pi / (count - 1)) ** 2
    width = wider - gap
    one = np.ones_like(tau)
    above = np.stack([-one, -tau, width], 1)
    below = np.stack([one, tau, width], 1)
    best = linprog(
        [0, 0, -1],
        np.concatenate([above, below]),
        np.concatenate([-gap, wider]),
        bounds=(None, None),
    )
    return best.x[2], np.corrcoef(tau, gap)[0, 1] ** 2


def least_curvature(result) -> float:
    """The second smallest curvature, as a part of the largest: above 0 where nothing but a rotation is level."""
    return result.eigenvalues[1] / abs(result.eigenvalues).max()


def as_derived(variations: list[dict]) -> Finding:
    """Finding of a formula for a derivative: as printed and corrected, beside that by autograd."""
    derivative = each_of(variations, "autograd")
    printed = each_of(variations, "printed")
    right = abs(each_of(variations, "corrected") - derivative).max()
    return misprint(
        f"{printed[0]:.4f} where the derivative is {derivative[0]:.4f}; corrected, off by {right:.0e}",
        abs(printed - derivative).max(),
        right,
        EXACT,
    )


@measures("img-mnist-pixels")
def mnist_pixels(mnist_images):
    right, seen = mnist_images.pixels, mnist_images.pixels_seen
    return Finding(
        f"right for {listed(right, '.3f')}; in the plane for {listed(seen, '.3f')}",
        right - 0.94,
        seen - 0.9,
    )


@measures("img-cifar-pixels")
def cifar_pixels(cifar):
    right, seen = cifar.pixels, cifar.pixels_seen
    return Finding(
        f"right for {right[0]:.2f}; in the plane for {listed(seen)}",
        0.5 - right,
        0.5 - seen,
    )


@measures("img-simclr-strong")
def simclr_strong(cifar):
    seen = cifar.features_seen
    return Finding(f"right for {listed(seen)}", seen - 0.5)


@measures("ls-theorem-4-3-tight")
def tight_start(repeats):
    runs = repeats["eps^2/tau = .01, network"]
    parted = apart(runs)
    return Finding(f"{counted(parted)} seeds, at {times(runs)}", parted)


def over_scatter(a, b) -> np.ndarray:
    """The distance between the means of two clusters on a line, (..., n) each, over their scatter."""
    return abs(a.mean(-1) - b.mean(-1)) / np.hypot(a.std(-1), b.std(-1))


@measures("ls-interaction")
def interaction(donuts, full_loss):
    views = ("rotation", "noise", "none")
    turned, noisy, bare = (apart(donuts[name]) for name in views)
    clusters = full_loss.separable_at.sel(loss="eq. 12", set="clusters") <= 300
    return Finding(
        f"donut: {counted(turned)} with rotations, {counted(noisy)} with noise, {counted(bare)} without views; "
        f"clusters: {counted(clusters)} with noise",
        turned,
        ~noisy,
        ~bare,
        clusters,
    )


@measures("ls-persist")
def persist(repeats):
    ratios, whole = [], []
    for run in repeats["eps^2/tau = .01, network"]:
        at = np.searchsorted(run.steps, run.separable_at)
        z = run.z[[at, -1], :, 0]
        first = run.labels == 0
        one, other = z[:, first], z[:, ~first]
        ratios.append(over_scatter(one, other))
        low, high = sorted([one[-1], other[-1]], key=np.mean)
        whole.append(low.max() < high.min())
    then, end = np.transpose(ratios)
    return Finding(
        f"distance over scatter {span(then, '.2g')} at separation, {span(end, '.2g')} at the end",
        Every(np.log(end / then)),
        whole,
    )


@measures("ls-without-collapse")
def without_collapse(several):
    texts, margins = [], []
    for name, runs in several.items():
        share = np.array([run.least_spread for run in runs])
        texts.append(f"{name}: {span(share)} of the largest")
        margins.append(Every(share - 0.05))
    return Finding(
        "; ".join(texts),
        *margins,
    )


@measures("ls-no-collapse")
def collapse(by_tau, still):
    losses, _ = even_places(by_tau)
    gain = (losses[:, 0] - losses[:, 1]).min()
    down = still[1].split
    return Finding(
        f"loss {losses[0, 0]:.4f}, at least {gain:.2f} above two places; curvature at most {down.max():.2f} "
        f"in {len(down)} directions",
        gain,
        -down.max(),
    )


@measures("ls-indicator")
def indicator(finite):
    off = np.array([of_places(r) - r.loss_mean for r in finite])
    falls = off[:-1] / off[1:]  # where n is 4 times as large
    return Finding(
        f"the loss differs by {listed(off, '.4f')}",
        (falls / 4).min() - 1,
    )


@measures("ls-consistent")
def consistent(on_sphere):
    similar = each_of(on_sphere, "similarity").max()
    loss = each_of(on_sphere, "loss").max()
    scale = each_of(on_sphere, "scale").min()
    return Finding(
        f"similarities off by a part of {similar:.0e}, losses by {loss:.0e}; doubling the points changes "
        f"LS eq. 3 by {scale:.0%} or more",
        EXACT - similar,
        EXACT - loss,
        scale - 0.01,
    )


@measures("ls-theorem-3-1")
def theorem_3_1(still, solids):
    *fixed, random = still
    places = [*fixed, *solids]
    off = max(map(unlike, places))
    moves = max(one.tangential.max() for one in places)
    least = min(unlike(random), random.tangential.max())
    return Finding(
        f"at {len(places)} configurations the integrals are one multiple of the place up to {off:.0e}, and the "
        f"gradient along the sphere is at most {moves:.0e}; at random points off by {least:.2f} or more",
        EXACT - off,
        EXACT - moves,
        least - 0.01,
    )


@measures("ls-eq-5")
def same_integrals(still):
    z = still[0].z
    found = integrals(still[0])
    apart = np.linalg.norm(found[:, None] - found, axis=2).max()
    along = abs(found - (found * z).sum(1, keepdims=True) * z).max()
    return misprint(
        f"they differ by up to {apart:.2f}; corrected, the parts along the sphere by {along:.0e}",
        apart,
        along,
        EXACT,
    )


@measures("ls-remark-3-1")
def stationary(still, solids):
    *fixed, random = still
    largest = max(one.tangential.max() for one in (*fixed, *solids))
    return Finding(
        f"at most {largest:.0e}; at random points {random.tangential.max():.2f}", EXACT - largest
    )


@measures("ls-fig-2-left")
def falls(by_tau):
    losses, plateau = even_places(by_tau)
    rise = np.diff(losses).max()
    above = (losses[:, -1:] / plateau - 1).max()
    return Finding(
        f"no step up beyond {max(rise, 0):.0e}; 64 places are at most {above:.0e} of it above the level",
        EXACT - rise,
        0.01 - above,
    )


@measures("ls-fig-2-right")
def linear(by_tolerance):
    slack, fit = np.transpose([best_line(r.thresholds, 0.1) for r in by_tolerance])
    beyond, worse = np.transpose([best_line(r.thresholds, 0.5) for r in by_tolerance])
    return Finding(
        f"there is such a line for {counted(slack > 0)} tolerances (R2 from {fit.min():.3f}), "
        f"up to tau = .5 for {(beyond > 0).sum()} (R2 from {worse.min():.3f})",
        slack.min(),
    )


@measures("ls-smaller-tau")
def lowers(by_tau):
    losses, plateau = even_places(by_tau)
    steps = -np.diff(losses), np.diff(losses, axis=0), losses - plateau
    uniform = plateau[0, 0]
    return Finding(
        f"2 places at tau = .5: {losses[-1, 1]:.3f}; 64 at .01: {losses[0, -1]:.3f}, uniform {uniform:.3f}",
        *(EXACT + down.min() for down in steps),
    )


@measures("ls-remark-3-2")
def minimisers(alone, saddles, still):
    least = min(least_curvature(result) for result in alone)
    down = []
    for r in (*saddles, still[1]):
        down.append(f"{r.negative(r.eigenvalues)} of {len(r.eigenvalues)}")
    *shared, one = down
    return Finding(
        f"the second smallest is at least {least:.0e} of the largest; with several points a place "
        f"{', '.join(shared)} directions go down, at one place {one}",
        least - 1e-9,
    )


@measures("ls-prop-4-1")
def kernel_flow(step_errors):
    coarse, fine = np.array(step_errors["partial"])[:2]
    return Finding(
        f"error {fine.max():.0e} at lr/tau = .01, {span(coarse / fine, '.2g')} times less than at .1",
        coarse / fine / 8 - 1,
    )


@measures("ls-theorem-4-3")
def sufficient(scattered):
    grows, shrinks, off = [], [], 0.0
    for (gradient, scatter), growth in scattered.items():
        (grows if scatter < 1 else shrinks).append(growth)
        law = (2 if gradient == "full" else 1) * noisy.SCALE**2 / (2 * noisy.TAU) * (1 - scatter)
        off = max(off, abs(growth / law - 1).max())
    return Finding(
        f"ratio {noisy.ratio():,.0f}; the rate is that law up to {off:.1%}; beyond $M^2 = \\tau$ every gap "
        f"shrinks, at {-np.max(shrinks):.2g} or more, so that the clusters stay mixed",
        np.min(grows),
        np.min(shrinks),
    )


@measures("ls-equal-means")
def nothing_moves(equal_means, constant, constant_slope):
    ratios = []
    for result in constant:
        config = result.config
        at_start = result.gamma[0], result.theta[0], result.sigma2[0]
        left, right = theory.separation_condition(0.1, config.tau, config.n, *at_start, delta=0.0)
        ratios.append(left / right)
    least = min(equal_means["ratio"], *ratios)
    slope = max(equal_means["partial"], equal_means["full"], constant_slope)
    return Finding(
        f"ratio {equal_means['ratio']:.0f}, at one place {span(ratios, '.0f')}; gradient {slope:.0e} at most",
        least - 100,
        1e-15 - slope,
    )


@measures("ls-overlap")
def no_weights(overlapping, overlapping_moved):
    ratio = each_of(overlapping, "ratio")
    best = each_of(overlapping, "best").max()
    moved = each_of(overlapping_moved, "best")
    share = span(each_of(overlapping, "kappa"), ".2g")
    power = np.polyfit(np.log(each_of(overlapping, "n")), np.log(ratio), 1)[0]
    return Finding(
        rf"ratio {listed(ratio, '.0f')}, $\kappa/\Theta$ {share}; the largest gap over all weights is {best:.2f} eps, "
        f"with moved numbers {span(moved)}",
        ratio.min() - 10,
        0.01 - abs(power - 0.5),
        -best,
        Every(-moved),
    )


@measures("ls-more-clusters")
def more_clusters(several):
    texts, parted = [], []
    for name, runs in several.items():
        texts.append(f"{name}: {span(taken(runs), '.0f')}")
        parted.append(apart(runs))
    return Finding("iterations for " + "; ".join(texts), *parted)


@measures("ls-full-loss")
def other_losses(full_loss):
    texts, conditions = [], []
    times = full_loss.separable_at.fillna(np.inf)
    for loss in LOSSES:
        clusters, donut, bare = (times.sel(loss=loss, set=name) for name in SETS)
        texts.append(f"{loss}: {np.median(clusters):.0f} and {np.median(donut):.0f}")
        conditions += map(np.isfinite, (clusters, donut))
        conditions += [donut > clusters, np.isinf(bare)]
    return Finding("median iterations for clusters and donut, " + "; ".join(texts), *conditions)


@measures("ls-any-family")
def any_family(to_the_end, random_features, linear_maps):
    at = np.concatenate([times_above_one(to_the_end), times_above_one(random_features)])
    mixed = np.isnan(at)
    others = [apart(runs) for runs in linear_maps.values()]
    return Finding(
        f"{counted(mixed)} runs above 1 stay mixed; the slowest takes {np.nanmax(at):,.0f} iterations; from a tight "
        f"start {counted(np.concatenate(others))} of random features, bumps and splines separate",
        ~mixed,
        *others,
    )


@measures("ls-cube-over-tau")
def cube_tells(phase_diagram):
    early, ordered, flow, missed = [], [], [], []
    for one in of_seeds(phase_diagram):
        cube = one.eps**3 / one.tau
        missed.append([one.misfit(cube), one.misfit(one.eps**2 / one.tau)])
        at = np.where(one.separated, one.steps, np.inf)
        early.append(at[cube < 0.101].max() < at[cube > 99].min())
        ordered.append(spearmanr(cube, at)[0])
        flow.append(spearmanr(cube, at * one.tau)[0])
    by_cube, by_square = np.transpose(missed)
    return Finding(
        f"rank correlation {span(ordered)} with the iterations, {span(flow)} with the time of the flow; one rising "
        f"function of it misses the iterations by a factor of {span(by_cube)}, one of eps^2/tau by "
        f"{span(by_square, '.3f')}",
        early,
        Every(np.subtract(ordered, 0.5)),
    )


@measures("ls-spread-squared")
def spread_squared(blocks, thetas):
    sigma2 = np.asarray(blocks)[:, :, 0]
    falls = sigma2[:, 1:-1] / sigma2[:, 2:]  # from one spread to the next, but for the first
    least = np.min(thetas, axis=1)
    return Finding(
        f"divided by {span(falls)}; $\\Theta$ at least {least.min():.0f}",
        falls.min(1) - 3.5,
        least - 1,
    )


@measures("ls-fig-3")
def three_pairs(fig3):
    early, late, never = (fig3.separable_at.sel(panel=panel) for panel in PAIRS)
    third = fig3.moved.sel(panel="fourth")
    again = ", ".join("never" if np.isnan(at) else f"{at:,.0f}" for at in late)
    first = listed(early, ".0f")
    return Finding(
        f"at {first}; at {again}; the third in {counted(np.isfinite(never))} "
        f"seeds, its points move by {span(third)} eps, those of the second by {span(fig3.moved.sel(panel='third'))}",
        late > 10 * early,
        np.isnan(never),
        0.25 - third,
    )


@measures("ls-fig-4-data")
def no_line(affine):
    return Finding(f"{counted(affine)} can be separated by a line", ~affine)


@measures("ls-fig-4-donut")
def donut(donuts):
    turned = apart(donuts["rotation"])
    return Finding(
        f"{counted(turned)} seeds, at {times(donuts['rotation'])}",
        turned,
    )


def accuracy_rises(record, words) -> Finding:
    """Whether a readout is more often right at the end than at the start; `words`: how its accuracies are told."""
    first = record.accuracy.isel(step=0)
    best = record.accuracy.max("step")
    last = record.accuracy.isel(step=-1)
    return Finding(
        f"{words(first)} at the start, {words(last)} at the end, best {words(best)}",
        last - first,
    )


@measures("ls-fig-4-mnist")
def mnist_rises(fig4_mnist):
    return accuracy_rises(fig4_mnist, span)


@measures("ls-fig-4-mnist-end")
def mnist_in_the_end(fig4_mnist):
    parted = np.isfinite(fig4_mnist.separable_at)
    return Finding(
        f"{counted(parted)} runs by iteration 5,000; right for at most {listed(fig4_mnist.accuracy.max('step'))}",
        parted,
    )


@measures("img-emergence")
def emergence(emergence):
    return accuracy_rises(emergence, listed)


@measures("img-emergence-end")
def emergence_in_the_end(emergence):
    best = emergence.accuracy.max("step")
    return Finding(
        f"right for at most {listed(best)} by iteration 5,000",
        best >= 1,
    )


def scatter_at_start(runs) -> np.ndarray:
    """sigma^2 over Theta of each run at the start."""
    return np.array([run.sigma2[0] / run.theta[0] for run in runs])


@measures("ls-donut-gradients")
def donut_gradients(shapes):
    donut = scatter_at_start(shapes["donut"])
    clusters = scatter_at_start(shapes["clusters"])
    theta = np.array([r.theta[0] for r in shapes["donut"]])
    return Finding(
        f"$\\sigma^2/\\Theta$ {span(donut, '.1f')} on the donut, where $\\Theta$ is {span(theta)}, and "
        f"{span(clusters)} on the clusters",
        Every(np.log(donut)),
        Every(-np.log(clusters)),
    )


@measures("ls-fig-5-clusters-later")
def blocks_from_the_start(stories):
    start, _, end = at_three_times(stories.sel(data="clusters"))
    return Finding(
        f"alignment {span(start, '.2g')} at the start, {span(end, '.2g')} at the end",
        Every(start - 0.9),
        Every(0.05 - abs(end - start)),
    )


@measures("ls-fig-5-donut")
def sharp_blocks(stories):
    start, _, end = at_three_times(stories.sel(data="donut"))
    best = end.max("activation")
    on_clusters = stories.alignment.isel(step=-1).sel(data="clusters")
    rises = end > start
    return Finding(
        f"it rises in {counted(rises)} runs, from {span(start, '.2g')} to {span(end, '.2g')}; with the best activation "
        f"{span(best, '.2g')}, on two clusters {span(on_clusters, '.2g')}",
        rises,
        best - 0.5,
    )


@measures("ls-reshaping")
def reshaping(fig5):
    last = (fig5.recorded_steps <= fig5.separable_at).sum("step") - 1
    rise = fig5.alignment.isel(step=last) / fig5.alignment.isel(step=0)
    told = [f"{span(one)} ({one.activation.item()})" for one in rise.transpose("activation", ...)]
    return Finding(
        f"at separation it is {' and '.join(told)} times that at the start",
        *np.log(rise).stack(kind=("activation", "eps")).T,
    )


@measures("ls-blocks-first")
def blocks_then_separation(stories, fig5):
    donut = stories.sel(data="donut")
    start, then, end = at_three_times(donut)
    part = (then - start) / (end - start)
    until = fig5.alignment.where(fig5.recorded_steps <= fig5.separable_at, 0.0)
    highest = until.max(("activation", "eps", "step"))
    return Finding(
        f"{span(part, '.2g')} of the rise, at iterations {span(donut.separable_at, 'd')}; the highest alignment until "
        f"separation, over the eight settings, is {span(highest)}",
        np.maximum(part.max("activation"), highest) - 0.5,
    )


@measures("ls-eq-13")
def eq_13(first_variations):
    return as_derived(first_variations)


@measures("ls-eq-14")
def pairwise(pairwise):
    plain, printed, right = np.max(pairwise, axis=0)
    return Finding(
        f"off by a part of {plain:.0e} where $\\eta(0) = 1$; by {printed:.1f} times the gradient where it is 3, and "
        f"divided by it {right:.0e}",
        EXACT - max(plain, right),
    )


@measures("ls-prop-b-3-first-order")
def constant(still):
    slope = abs(still[1].gradient).max()
    return Finding(f"gradient {slope:.0e}", EXACT - slope)


@measures("ls-prop-b-3-constant")
def no_minimum(still, parted):
    one = still[1]
    least = max(parted)
    return Finding(
        f"{one.negative(one.split)} of {len(one.split)} directions that part points go down on the circle; "
        f"in {len(parted)} tries the loss changes by {least:.1e} at most",
        least,
    )


@measures("ls-growing-scale")
def growing_scale(growing):
    shares, left = [], []
    for v in growing.values():
        before = v[:-1]
        share = np.zeros_like(before)  # that is left where k doubles; 0 of nothing
        np.divide(v[1:], before, where=before > 0, out=share)
        shares.append(share)
        left.append(v[-1] / v[0])
    left = max(left)
    return Finding(
        f"at k = 64 at most {left:.0e} of its value at k = 1",
        1 - np.max(shares),
        1e-3 - left,
    )


@measures("ls-lemma-b-4")
def lemma(within):
    values, least, largest = [], np.inf, []
    for variations in within:
        found = [s.autograd for s in variations]
        values += found
        largest.append(max(found))
        least = min(least, min(found) / max(map(abs, found)))
    return Finding(
        f"positive for {counted(np.greater(values, 0))}; "
        f"at most {listed(largest, '.0e')} for K = 2 to 5",
        least,
    )


@measures("ls-eq-21")
def eq_21(variations):
    return as_derived([one._asdict() for one in variations.values()])


@measures("ls-appendix-b-5")
def stays_invariant(one_step):
    falls = {agree: found[:, 0] / found[:, 1] for agree, found in one_step.items()}
    return Finding(
        f"it falls {span(falls[True], '.1f')}-fold; where the gradients differ {span(falls[False], '.2f')}-fold",
        falls[True].min() - 8,
        2 - falls[False].max(),
    )


@measures("ls-step-1")
def step_1(linear_errors, linear_powers):
    eps, gamma, tau, error = np.transpose(linear_errors)
    part = (error / (eps**3 / tau**2 + gamma / tau)).max()
    return Finding(
        f"at most {part:.2f} times it; powers {span(linear_powers)}",
        2 - part,
        0.2 - abs(np.subtract(linear_powers, 3)).max(),
    )


@measures("ls-step-2")
def blocks_error(block_powers):
    return Finding(
        rf"error ~ $(\sigma^2)^p$, p = {span(block_powers, '.2g')}",
        np.array(block_powers) - 0.9,
    )


@measures("ls-growth-rate")
def growth_rate(growth):
    ratios = {"partial": [], "full": []}
    for gradient, rate, predicted in growth:
        ratios[gradient].append(rate / predicted)
    partial = np.array(ratios["partial"])
    return Finding(
        f"{span(partial, '.3f')} of it; with the full gradient {span(ratios['full'], '.3f')} of twice the rate",
        0.05 - abs(partial - 1),
    )


@measures("ls-step-4")
def step_4(flows):
    errors = each_of(flows, "alpha")
    right = each_of(flows, "gap").max()
    return misprint(
        f"off by {span(errors, '.1%')}; the difference of the means by {right:.0e}",
        errors.max(),
        right,
        NEARLY,
    )


@measures("ls-step-5")
def step_5(printed_bounds, equal_means):
    smallest = -equal_means["eps"]
    reached = min(map(max, printed_bounds.values()))
    return Finding(
        f"the smallest distance stays at {smallest:g}; F reaches {reached:.0e}",
        smallest - reached,
    )


@measures("ls-stronger-than-needed")
def stronger(donuts, tiny):
    of_donuts = condition.check(donuts["rotation"]).ratio
    of_tiny = condition.check(tiny).ratio
    turned = apart(donuts["rotation"]) & (of_donuts < 1)
    started = apart(tiny) & (of_tiny < 1)
    return Finding(
        f"{counted(turned)} donuts (ratio {span(of_donuts, '.2g')}) and "
        f"{counted(started)} tiny starts ({span(of_tiny, '.2g')}): much stronger, here",
        turned,
        started,
    )


@measures("ls-free-uniform")
def free_uniform(vanilla, fig6_free):
    gap, accuracy = [], []
    for (d, _), runs in vanilla.items():
        for run in runs:
            gap.append(abs(run.loss[-1] - theory.simplified_plateau(run.config.tau, d)))
            accuracy.append(run.accuracy[-1])
    end = fig6_free.isel(step=-1)
    large = abs(end.loss - theory.simplified_plateau(0.2, 2))
    few = f"loss within {np.max(gap):.0e}, accuracy {span(accuracy, '.2g')}"
    many = f"n = 2,000: {large.max():.0e}, {span(end.accuracy)}"
    return Finding(
        f"{few}; {many}",
        Every(0.005 - np.append(gap, large)),
        Every(0.5 - np.append(accuracy, end.accuracy)),
    )


@measures("ls-fig-6-size")
def full_size(fig6, uniform_size, uniform_batches):
    own, cap = (fig6.separable_at.sel(start=start) for start in ("ordinary", "cap"))
    small = np.isfinite(uniform_batches.separable_at)
    by_rate = [f"{counted(one)} at lr {one.lr.item():g}" for one in small]
    return Finding(
        f"from the network's own start at {listed(own, '.0f')}, from the cap at {listed(cap, '.0f')}; from the uniform "
        f"start {counted(np.isfinite(uniform_size.separable_at.sel(d=2)))} within 16; in batches of 200 "
        f"{', '.join(by_rate)}",
        own <= 100,
        cap <= 100,
    )
