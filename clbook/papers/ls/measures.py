"""How the claims of LS are measured, in the order of items.yaml."""

import numpy as np
from scipy.optimize import linprog

from clbook import theory
from clbook.experiments.kernel.recipes import at_three_times
from clbook.experiments.landscape.maps import PREDICTOR
from clbook.experiments.separability import condition
from clbook.experiments.separability.figures import times
from clbook.experiments.separability.recipes import PAIRS
from clbook.experiments.sphere import CLUSTERED
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


def clustered(runs) -> np.ndarray:
    """Whether each run's clusters appeared at some time."""
    return np.array([run.clustered_at is not None for run in runs])


def separable(runs) -> np.ndarray:
    """Whether at some time an affine rule was right on every point of each run."""
    return np.array([run.separable_at is not None for run in runs])


def shuffling(losses) -> float:
    """How much it changes the losses (4,) of the four maps of `Maps` to shuffle who goes where."""
    return float(np.abs(losses[0::2] - losses[1::2]).max())


def even_places(by_tau) -> tuple[np.ndarray, np.ndarray]:
    """((t, K) eq. 1 of 1 to K even places, (t, 1) that of the uniform distribution), tau ascending."""
    by_tau = sorted(by_tau, key=lambda result: result.config.tau)
    return np.array([r.curves.simclr for r in by_tau]), np.array(
        [[r.curves.simclr_plateau] for r in by_tau]
    )


def forces(result) -> np.ndarray:
    """(n, n, d) eta'(|x - y|^2 / 2) (x - y) of eq. 3 with eta(t) = exp(-t / tau), for all pairs of points."""
    apart = result.z[:, None] - result.z
    tau = result.config.tau
    return -np.exp(-(apart**2).sum(2, keepdims=True) / (2 * tau)) / tau * apart


def best_line(thresholds, most: float) -> tuple[float, float]:
    """(s, R2) of the thresholds at tau up to `most`.

    K even places are at the plateau, K - 1 are not: the threshold lies between their spacings, and s tells how far
    inside all these intervals the best straight line can stay, in units of their widths; below 0 none can.
    """
    low = thresholds.taus <= most
    tau, gap = thresholds.taus[low], thresholds.gaps[low]
    count = np.rint(np.pi / np.arcsin(np.sqrt(gap) / 2))
    wider = 4 * np.sin(np.pi / (count - 1)) ** 2
    one = np.ones_like(tau)
    above, below = np.stack([-one, -tau, wider - gap], 1), np.stack([one, tau, wider - gap], 1)
    best = linprog(
        [0, 0, -1],
        np.concatenate([above, below]),
        np.concatenate([-gap, wider]),
        bounds=(None, None),
    )
    return float(best.x[2]), float(np.corrcoef(tau, gap)[0, 1] ** 2)


def least_curvature(result) -> float:
    """The second smallest curvature, as a part of the largest: above 0 where nothing but a rotation is level."""
    return float(result.eigenvalues[1] / np.abs(result.eigenvalues).max())


@measures("img-mnist-pixels")
def mnist_pixels(mnist_images):
    right = mnist_images.pixels
    return Finding(f"right for {listed(right, '.3f')}", float(right.mean()), (right - 0.94,))


@measures("img-mnist-features")
def mnist_features(mnist_images):
    features, pixels = mnist_images.knn.isel(epoch=-1), mnist_images.pixels
    gain = features - pixels
    return Finding(
        f"features {listed(features, '.3f')}, pixels {listed(pixels, '.3f')}",
        float(gain.mean()),
        (gain,),
    )


@measures("img-cifar-pixels")
def cifar_pixels(cifar):
    right, seen = cifar.pixels, cifar.pixels_seen
    return Finding(
        f"right for {right[0]:.2f}; in the plane for {listed(seen)}",
        float(right.mean()),
        (0.5 - right, 0.5 - seen),
    )


@measures("img-simclr-strong")
def simclr_strong(cifar):
    seen = cifar.features_seen
    return Finding(f"right for {listed(seen)}", float(seen.mean()), (seen - 0.5,))


@measures("ls-without-collapse")
def without_collapse(several):
    ranks, margins = {}, []
    for name, runs in several.items():
        rank = np.zeros(len(runs))
        for i, run in enumerate(runs):
            if run.separable_at:
                then = np.searchsorted(run.steps, run.separable_at)
                rank[i] = effective_rank(run.z[then])
        ranks[name] = rank
        margins.append(rank - runs[0].config.d + 0.5)
    return Finding(
        "; ".join(f"{name}: {span(rank, '.2f')}" for name, rank in ranks.items()),
        float(min(rank.min() for rank in ranks.values())),
        tuple(margins),
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
    off = 0.0
    for pairs in written:
        off = max(off, *(abs(ours / plain - 1) for ours, plain in pairs.values()))
    return Finding(f"off by a part of {off:.0e} at most", off, (1e-10 - off,))


@measures("ls-no-collapse")
def collapse(by_tau, still):
    losses, _ = even_places(by_tau)
    gain, down = float((losses[:, 0] - losses[:, 1]).min()), still[1].split
    return Finding(
        f"loss {losses[0, 0]:.4f}, at least {gain:.2f} above two places; curvature at most {down.max():.2f} "
        f"in {len(down)} directions",
        gain,
        (gain, -float(down.max())),
    )


@measures("ls-any-scale")
def any_scale(scales):
    return Finding(f"changes by {max(scales):.0e}", max(scales), (EXACT - max(scales),))


@measures("ls-indicator")
def indicator(finite):
    off = np.array([r.curves.simclr[r.config.clusters - 1] - r.loss_mean for r in finite])
    falls = off[:-1] / off[1:]  # where n is 4 times as large
    return Finding(
        f"the loss differs by {listed(off, '.4f')}",
        float(off[-1]),
        (float((falls / 4).min() - 1),),
    )


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


@measures("ls-eq-5")
def same_integrals(still):
    integrals = forces(still[0]).mean(1)
    apart = np.linalg.norm(integrals[:, None] - integrals, axis=2).max()
    along = np.abs(integrals - (integrals * still[0].z).sum(1, keepdims=True) * still[0].z).max()
    return Finding(
        f"they differ by up to {apart:.2f}; each is a multiple of its place, up to {along:.0e}",
        float(apart),
        (EXACT - float(apart),),
    )


@measures("ls-remark-3-1")
def stationary(still, solids):
    *fixed, random = [float(result.tangential.max()) for result in still]
    largest = max(*fixed, *(float(result.tangential.max()) for result in solids))
    return Finding(
        f"at most {largest:.0e}; at random points {random:.2f}", largest, (EXACT - largest,)
    )


@measures("ls-fig-2-left")
def falls(by_tau):
    losses, plateau = even_places(by_tau)
    rise, above = float(np.diff(losses).max()), float((losses[:, -1:] / plateau - 1).max())
    return Finding(
        f"no step up beyond {max(rise, 0):.0e}; 64 places are at most {above:.0e} of it above the level",
        above,
        (EXACT - rise, 0.01 - above),
    )


@measures("ls-fig-2-right")
def linear(by_tolerance):
    slack, fit = np.transpose([best_line(r.thresholds, 0.1) for r in by_tolerance])
    beyond, worse = np.transpose([best_line(r.thresholds, 0.5) for r in by_tolerance])
    near, far = (slack > 0).sum(), (beyond > 0).sum()
    fit, worse = fit.min(), worse.min()
    return Finding(
        f"there is one for {near} of {len(slack)} tolerances (R2 from {fit:.3f}), "
        f"up to tau = .5 for {far} (R2 from {worse:.3f})",
        float(fit),
        (float(slack.min()),),
    )


@measures("ls-threshold-slope")
def slope(by_tolerance):
    found = [
        (r.thresholds.gaps / r.thresholds.taus)[r.thresholds.taus <= 0.02] for r in by_tolerance
    ]
    said = np.array([theory.threshold_slope(r.config.tolerance) for r in by_tolerance])
    ratio = np.array(found) / said[:, None]
    slopes = [one.mean() for one in found]
    off = float(np.abs(ratio - 1).max())
    return Finding(
        f"slopes {listed(slopes, '.1f')}: {ratio.min():.2f} to {ratio.max():.2f} times the formula",
        float(slopes[0] / slopes[-1]),
        (0.15 - off,),
    )


@measures("ls-smaller-tau")
def lowers(by_tau):
    losses, plateau = even_places(by_tau)
    steps = -np.diff(losses), np.diff(losses, axis=0), losses - plateau
    most, least, uniform = losses[-1, 1], losses[0, -1], plateau[0, 0]
    return Finding(
        f"2 places at tau = .5: {most:.3f}; 64 at .01: {least:.3f}, uniform {uniform:.3f}",
        float(least),
        tuple(EXACT + float(down.min()) for down in steps),
    )


@measures("ls-data-points")
def data_points(finite):
    losses = np.array([r.loss_mean for r in finite])
    closed = np.log([np.exp(r.curves.simclr[r.config.clusters - 1]) - 2 / len(r.z) for r in finite])
    off, rise = float(np.abs(losses - closed).max()), float(np.diff(losses).min())
    return Finding(listed(losses, ".4f"), float(losses[-1]), (EXACT - off, rise))


@measures("ls-remark-3-2")
def minimisers(alone, saddles, still):
    least = min(least_curvature(result) for result in alone)
    *shared, one = (
        f"{r.negative(r.eigenvalues)} of {len(r.eigenvalues)}" for r in (*saddles, still[1])
    )
    return Finding(
        f"the second smallest is at least {least:.0e} of the largest; with several points a place "
        f"{', '.join(shared)} directions go down, at one place {one}",
        least,
        (least - 1e-9,),
    )


@measures("ls-copies-part")
def copies_part(saddles):
    ways = [(r.negative(r.eigenvalues), r.config.clusters * (r.config.copies - 1)) for r in saddles]
    off = max(
        float(np.abs(r.split / theory.split_curvature(r.config.clusters, r.config.tau) - 1).max())
        for r in saddles
    )
    return Finding(
        f"{', '.join(str(found) for found, _ in ways)}; curvatures off by {off:.0e}",
        off,
        (0.5 - sum(found != said for found, said in ways), 1e-9 - off),
    )


@measures("ls-arbitrary")
def arbitrary(maps):
    three, three_mixed, many, many_mixed = maps.losses["NT-Xent, eq. 1"]
    lowest = min(three, three_mixed, many)
    return Finding(
        f"120 places have {many_mixed:.4f} by class and shuffled, three places {three:.4f}",
        float(many_mixed),
        (EXACT - (many_mixed - lowest),),
    )


@measures("ls-uniform-start")
def uniform_start(uniform_gentle):
    ever, apart = np.isfinite(uniform_gentle.clustered_at), np.isfinite(uniform_gentle.separable_at)
    accuracy = span(uniform_gentle.accuracy.max("step"), ".2g")
    return Finding(
        f"{int(ever.sum())} of {ever.size} runs cluster, {int(apart.sum())} are separable; "
        f"accuracy {accuracy}",
        float(ever.mean()),
        tuple(ever.stack(case=("d", "depth")).T),
    )


@measures("ls-beyond-the-limit")
def beyond(uniform_trained, uniform_ratio, uniform_large):
    above = uniform_ratio > 1
    ended = above & (uniform_trained.accuracy.isel(step=-1) >= CLUSTERED)
    each = ("d", "depth", "lr")
    share = ended.sum(each) / above.sum(each)
    return Finding(
        f"{int(ended.sum())} of {int(above.sum())} runs, {span(share, '.2g')} of each seed's; n = 2,000 at lr = 2, "
        f"1 seed: accuracy {uniform_large.accuracy.max():.2f}",
        float(share.mean()),
        (share - 0.5,),
    )


@measures("ls-clusters-by-climbing")
def climbing(uniform_trained):
    ended = uniform_trained.accuracy.isel(step=-1) >= CLUSTERED
    rises = (uniform_trained.loss.isel(step=-1) - uniform_trained.loss.isel(step=0)).where(ended)
    least, most = float(rises.min()), float(rises.max())
    text = f"it rises by {span([least, most], '.2g')} in {int(ended.sum())} runs"
    return Finding(text, least, (least,))


@measures("ls-prop-4-1")
def kernel_flow(step_errors):
    coarse, fine = np.array(step_errors["partial"])[:2]
    return Finding(
        f"error {fine.max():.0e} at lr/tau = .01, {span(coarse / fine, '.2g')} times less than at .1",
        float(fine.max()),
        (coarse / fine / 8 - 1,),
    )


@measures("ls-prop-4-1-full")
def full_gradient(step_errors):
    error = np.array(step_errors["full"])[-1]
    return Finding(
        f"error {span(error, '.2g')}, whatever the step", float(error.mean()), (0.1 - error,)
    )


@measures("ls-any-map")
def any_map(velocity):
    off = float(np.max(list(velocity.values())))
    return Finding(f"off by a part of {off:.0e}", off, (1e-10 - off,))


@measures("ls-remark-4-2")
def own_gradient(repeats):
    runs = repeats["eps^2/tau = .01, vanilla"]
    ordered = np.array([(np.diff(r.z[:, np.argsort(r.z[0, :, 0]), 0]) >= 0).all() for r in runs])
    return Finding(
        f"order kept in {ordered.sum()} of {len(runs)} seeds; {apart(runs).sum()} separate",
        float(ordered.mean()),
        (ordered, ~apart(runs)),
    )


@measures("ls-theorem-4-3-tight")
def tight_start(repeats):
    runs = repeats["eps^2/tau = .01, network"]
    return Finding(
        f"{apart(runs).sum()} of {len(runs)} seeds, at {times(runs)}",
        float(apart(runs).mean()),
        (apart(runs),),
    )


@measures("ls-theorem-4-3-constant")
def constant_start(constant, constant_slope):
    ratios = []
    for result in constant:
        config, at_start = (
            result.config,
            {name: getattr(result, name)[0] for name in ("gamma", "theta", "sigma2")},
        )
        left, right = theory.separation_condition(0.1, config.tau, config.n, **at_start, delta=0.0)
        ratios.append(left / right)
    resting = sum(ratio > 100 and constant_slope == 0 for ratio in ratios)
    return Finding(
        f"ratio {span(ratios, '.0f')}, gradient {constant_slope:.1g}: nothing ever moves",
        float(np.min(ratios)),
        (0.5 - resting,),
    )


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
    given, broken = float(given.sum()), float(broken.sum())
    return Finding(
        f"{broken:.0f} of {given:.0f} promises broken, in {len(watched)} runs; a promise comes at "
        f"{span(late, '.2f')} times the step of separation",
        broken,
        (0.5 - broken, given - 0.5),
    )


@measures("ls-condition-tells")
def tells(phase_diagram):
    seeds = [phase_diagram.of(seed) for seed in np.unique(phase_diagram.seed)]
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


@measures("ls-gamma")
def gamma_small(phase_diagram):
    part = np.array(
        [
            np.median(one.gamma / one.left)
            for one in map(phase_diagram.of, np.unique(phase_diagram.seed))
        ]
    )
    return Finding(
        f"{span(part, '.2g')} of it, though {np.median(phase_diagram.gamma / phase_diagram.eps):.2f} eps",
        float(part.mean()),
        (0.1 - part,),
    )


@measures("ls-more-points")
def more_points(more_points):
    steps = more_points.separable_at.fillna(more_points.recorded_steps.max("step"))
    medians = steps.median("seed")
    tight, wide = (listed(medians.sel(start=start), "g") for start in ("tight", "wide"))
    fewer = np.log(steps.sel(n=50) / steps.sel(n=200))
    return Finding(
        f"medians for n = 50, 100, 200: {tight} (tight start); {wide} (wide)",
        float(fewer.sel(start="tight").median()),
        tuple(fewer),
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
    ratios = []
    for runs in linear_maps.values():
        rates = [r.theta[0] / (4 * r.config.tau) for r in runs]
        ratios.append(np.array([condition.measured_growth(r) for r in runs]) / rates)
    return Finding(
        f"drift {drift:g}; {span(np.concatenate(ratios), '.3f')} of the rate",
        drift,
        (0.5 if drift == 0 else -1.0, *(0.05 - abs(ratio - 1) for ratio in ratios)),
    )


@measures("ls-cube-over-tau")
def cube_decides(phase_diagram):
    seeds = [phase_diagram.of(seed) for seed in np.unique(phase_diagram.seed)]
    square = np.array([one.misfit(one.eps**2 / one.tau) for one in seeds])
    cube = np.array([one.misfit(one.eps**3 / one.tau) for one in seeds])
    return Finding(
        f"misses the time by a factor of {span(cube, '.2f')}, eps^2/tau by one of {span(square, '.3f')}",
        float(cube.mean()),
        (square - cube,),
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
    parted = int(np.isfinite(never).sum())
    way, other = (span(moved, ".2f") for moved in (third, second))
    return Finding(
        f"at {listed(early, '.0f')}; at {again}; the third in {parted} of {len(never)} "
        f"seeds, its points move by {way} eps, those of the second by {other}",
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


@measures("ls-fig-4-donut")
def donut(donuts):
    turned = apart(donuts["rotation"])
    return Finding(
        f"{turned.sum()} of 5 seeds, at {times(donuts['rotation'])}",
        float(turned.mean()),
        (turned,),
    )


@measures("ls-donut-views")
def donut_views(donuts):
    others = [~apart(runs) for name, runs in donuts.items() if name != "rotation"]
    mixed, runs = np.sum(others), np.size(others)
    return Finding(f"{runs - mixed} of {runs} runs separate", float(mixed / runs), tuple(others))


@measures("ls-fig-4-mnist")
def mnist_rises(fig4_mnist):
    accuracy = fig4_mnist.accuracy
    first, best, last = accuracy.isel(step=0), accuracy.max("step"), accuracy.isel(step=-1)
    return Finding(
        f"{span(first, '.2f')} at the start, {span(last, '.2f')} at the end, best {span(best, '.2f')}",
        float(last.mean()),
        (last - first - 0.1, 0.05 - (best - last)),
    )


@measures("img-emergence")
def emergence(emergence):
    accuracy = emergence.accuracy
    first, best, last = accuracy.isel(step=0), accuracy.max("step"), accuracy.isel(step=-1)
    return Finding(
        f"{listed(first)} at the start, {listed(last)} at the end, best {listed(best)}",
        float(last.mean()),
        (last - first - 0.1, 0.05 - (best - last)),
    )


@measures("ls-donut-gradients")
def donut_gradients(shapes):
    donut = np.array([r.sigma2[0] / r.theta[0] for r in shapes["donut"]])
    clusters = np.array([r.sigma2[0] / r.theta[0] for r in shapes["clusters"]])
    theta = span([r.theta[0] for r in shapes["donut"]], ".2f")
    return Finding(
        f"$\\sigma^2/\\Theta$ {span(donut, '.1f')} on the donut ($\\Theta$ {theta}), "
        f"{span(clusters, '.2f')} on the clusters",
        float(donut.mean()),
        (np.log(donut), -np.log(clusters)),
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


@measures("ls-fig-5-clusters")
def blocks_first(repeats):
    alignment = np.array([result.alignment[0] for result in repeats["eps^2/tau = .01, network"]])
    return Finding(
        f"alignment {span(alignment, '.2g')}", float(alignment.mean()), (alignment - 0.9,)
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


@measures("ls-vicreg")
def vicreg_forgets(maps):
    gap = shuffling(maps.losses["VICReg"])
    return Finding(f"losses differ by {gap:.0e}", gap, (EXACT - gap,))


@measures("ls-byol")
def byol_forgets(maps):
    plain = ((maps.z * np.array(PREDICTOR) - maps.z) ** 2).sum(2).mean(1)
    gap = max(shuffling(plain), shuffling(maps.losses["BYOL, fixed predictor"]))
    return Finding(
        f"losses differ by {gap:.0e}; with the best predictor, the identity, all are 0",
        gap,
        (EXACT - gap,),
    )


@measures("ls-eq-13")
def eq_13(first_variations):
    off = max(abs(one["printed"] - one["autograd"]) for one in first_variations)
    right = max(abs(one["corrected"] - one["autograd"]) for one in first_variations)
    one = first_variations[0]
    return Finding(
        f"{one['printed']:.4f} where the derivative is {one['autograd']:.4f}; corrected, off by {right:.0e}",
        off,
        (EXACT - off,),
        None if right < EXACT else "fails",
    )


@measures("ls-eq-14")
def pairwise(still):
    random = still[2]
    squares = ((random.z[:, None] - random.z) ** 2).sum(2)
    weight = 1 / (1 + np.exp(-squares / (2 * random.config.tau)).mean(1))
    off = float(
        np.abs(
            ((weight[:, None] + weight)[:, :, None] * forces(random)).mean(1) - random.gradient
        ).max()
    )
    return Finding(f"off by {off:.0e}, of {np.abs(random.gradient).max():.2f}", off, (EXACT - off,))


@measures("ls-prop-b-3-constant")
def constant(still):
    one = still[1]
    slope = float(np.abs(one.gradient).max())
    down = f"{one.negative(one.split)} of {len(one.split)}"
    return Finding(
        f"gradient {slope:.0e}; yet on the circle {down} directions that part points go down: among "
        "invariant maps it is the maximum",
        slope,
        (EXACT - slope,),
    )


@measures("ls-growing-scale")
def growing_scale(growing):
    falls = np.inf
    for v in growing.values():
        share = np.zeros(len(v) - 1)  # that is left where k doubles; 0 of nothing
        np.divide(v[1:], v[:-1], where=v[:-1] > 0, out=share)
        falls = min(falls, float((1 - share).min()))
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


@measures("ls-lemma-b-4")
def lemma(within):
    values, least, largest = [], np.inf, []
    for variations in within:
        found = [s.autograd for s in variations]
        values += found
        largest.append(max(found))
        least = min(least, float(min(found) / np.abs(found).max()))
    return Finding(
        f"positive for {np.greater(values, 0).sum()} of {len(values)}; "
        f"at most {listed(largest, '.0e')} for K = 2 to 5",
        least,
        (least,),
    )


@measures("ls-eq-21")
def eq_21(variations):
    off = max(abs(s.printed - s.autograd) for s in variations.values())
    right = max(abs(s.corrected - s.autograd) for s in variations.values())
    one = variations["random h"]
    return Finding(
        f"{one.printed:.4f} where the derivative is {one.autograd:.4f}; corrected, off by {right:.0e}",
        off,
        (EXACT - off,),
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


@measures("ls-step-2")
def blocks_error(block_powers):
    return Finding(
        rf"error ~ $(\sigma^2)^p$, p = {span(block_powers, '.2g')}",
        float(np.mean(block_powers)),
        (np.array(block_powers) - 0.9,),
    )


@measures("ls-growth-rate")
def growth_rate(growth):
    ratio = np.array(
        [rate / predicted for gradient, rate, predicted in growth if gradient == "partial"]
    )
    return Finding(f"{span(ratio, '.3f')} of it", float(ratio.mean()), (0.05 - abs(ratio - 1),))


@measures("ls-growth-full")
def growth_full(growth):
    ratio = np.array(
        [rate / predicted for gradient, rate, predicted in growth if gradient == "full"]
    )
    return Finding(
        f"{span(ratio, '.3f')} of twice the rate", float(ratio.mean()), (0.05 - abs(ratio - 1),)
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


@measures("ls-stronger-than-needed")
def stronger(donuts, tiny):
    runs = [*donuts["rotation"], *tiny]
    ratio = condition.check(runs).ratio
    below = apart(runs) & (ratio < 1)
    turned, started = np.split(below, [5])
    of_donuts, of_tiny = (span(part, ".2g") for part in np.split(ratio, [5]))
    return Finding(
        f"{turned.sum()} of 5 donuts (ratio {of_donuts}) and "
        f"{started.sum()} of 5 tiny starts ({of_tiny}): much stronger, here",
        float(ratio.max()),
        (turned, started),
    )


@measures("ls-free-uniform")
def free_uniform(vanilla):
    gap, accuracy = [], []
    for (d, _), runs in vanilla.items():
        plateau = theory.simplified_plateau(runs[0].config.tau, d)
        gap.append([abs(run.loss[-1] - plateau) for run in runs])
        accuracy.append([run.accuracy[-1] for run in runs])
    gap, accuracy = np.array(gap), np.array(accuracy)
    return Finding(
        f"loss within {gap.max():.0e}, accuracy {span(accuracy, '.2g')}",
        float(gap.max()),
        (*(0.005 - gap), *(0.5 - accuracy)),
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


@measures("ls-cap-clusters")
def cap_clusters(cap, cap_wide_gap):
    groups = (*cap.values(), cap_wide_gap)
    every = [run for runs in groups for run in runs]
    at = [run.clustered_at for runs in cap.values() for run in runs if run.clustered_at is not None]
    ever, parted, times = clustered(every), separable(every), span(at or 0, "d")
    return Finding(
        f"{ever.sum()} of {len(every)} runs cluster, those of LS's data at iterations "
        f"{times}; {parted.sum()} are separable",
        float(ever.mean()),
        (*map(clustered, groups), *map(separable, groups)),
    )


@measures("ls-fig-6-size")
def full_size(fig6):
    at, last = fig6.separable_at, float(fig6.recorded_steps.max())
    when = ", ".join("never" if np.isnan(t) else f"{t:.0f}" for t in at)
    right = span(fig6.accuracy.isel(step=-1), ".2f")
    return Finding(
        f"separable at {when} of {last:,.0f} iterations; neighbours' labels right on "
        f"{right} at the end",
        float(at.fillna(0.0).mean() / last),
        ((0.1 - at / last).fillna(-1.0),),
    )


@measures("ls-capacity")
def capacity(vanilla, cap):
    margins = []
    for (d, _), runs in cap.items():
        free = [run.loss[np.searchsorted(run.steps, 100)] for run in vanilla[d, "cap"]]
        margins.append(np.array(free) - [run.loss[-1] for run in runs])
    return Finding(
        f"theirs is lower by {span(-np.array(margins), '.2g')}",
        float(np.mean(margins)),
        tuple(margins),
    )


@measures("ls-sphere-drift")
def sphere_drift(drifts):
    return Finding(
        f"{span(drifts, '.2g')} of its norm", float(np.mean(drifts)), (0.1 - np.array(drifts),)
    )
