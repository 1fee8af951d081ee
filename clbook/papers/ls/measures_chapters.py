"""How the claims of LS on the chapters' pages are measured."""

import numpy as np
from scipy.optimize import linprog

from clbook import theory
from clbook.experiments.landscape.maps import PREDICTOR
from clbook.experiments.separability import condition
from clbook.experiments.separability.figures import times
from clbook.experiments.sphere import CLUSTERED
from clbook.papers.judging import Finding, Measures, listed, span

measures = Measures()
EXACT = 1e-12  # numbers in float64 that differ by less are called equal


def apart(results) -> np.ndarray:
    """Whether each run separated."""
    return np.array([result.separable_at is not None for result in results])


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


@measures("ls-indicator")
def indicator(finite):
    off = np.array([r.curves.simclr[r.config.clusters - 1] - r.loss_mean for r in finite])
    return Finding(
        "the loss differs by " + ", ".join(f"{one:.4f}" for one in off),
        float(off[-1]),
        (float((off[:-1] / off[1:] / 4).min() - 1),),
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
    near, far = (
        np.array([best_line(r.thresholds, most) for r in by_tolerance]) for most in (0.1, 0.5)
    )
    (slack, fit), (beyond, worse) = near.T, far.T
    return Finding(
        f"there is one for {(slack > 0).sum()} of {len(slack)} tolerances (R2 from {fit.min():.3f}), "
        f"up to tau = .5 for {(beyond > 0).sum()} (R2 from {worse.min():.3f})",
        float(fit.min()),
        (float(slack.min()),),
    )


@measures("ls-threshold-slope")
def slope(by_tolerance):
    found = [
        (r.thresholds.gaps / r.thresholds.taus)[r.thresholds.taus <= 0.02] for r in by_tolerance
    ]
    said = np.array([theory.threshold_slope(r.config.tolerance) for r in by_tolerance])
    ratio = np.array(found) / said[:, None]
    slopes = ", ".join(f"{one.mean():.1f}" for one in found)
    return Finding(
        f"slopes {slopes}: {ratio.min():.2f} to {ratio.max():.2f} times the formula",
        float(found[0].mean() / found[-1].mean()),
        (0.15 - float(np.abs(ratio - 1).max()),),
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
    return Finding(
        ", ".join(f"{loss:.4f}" for loss in losses),
        float(losses[-1]),
        (EXACT - float(np.abs(losses - closed).max()), float(np.diff(losses).min())),
    )


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
    return Finding(
        f"{int(ever.sum())} of {ever.size} runs cluster, {int(apart.sum())} are separable; "
        f"accuracy {span(uniform_gentle.accuracy.max('step'), '.2g')}",
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


@measures("ls-cube-over-tau")
def cube_decides(phase_diagram):
    seeds = [phase_diagram.of(seed) for seed in np.unique(phase_diagram.seed)]
    square, cube = (
        np.array([one.misfit(one.eps**power / one.tau) for one in seeds]) for power in (2, 3)
    )
    return Finding(
        f"misses the time by a factor of {span(cube, '.2f')}, eps^2/tau by one of {span(square, '.3f')}",
        float(cube.mean()),
        (square - cube,),
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


@measures("img-emergence")
def emergence(emergence):
    accuracy = emergence.accuracy
    first, best, last = accuracy.isel(step=0), accuracy.max("step"), accuracy.isel(step=-1)
    return Finding(
        f"{listed(first)} at the start, {listed(last)} at the end, best {listed(best)}",
        float(last.mean()),
        (last - first - 0.1, 0.05 - (best - last)),
    )


@measures("ls-fig-5-clusters")
def blocks_first(repeats):
    alignment = np.array([result.alignment[0] for result in repeats["eps^2/tau = .01, network"]])
    return Finding(
        f"alignment {span(alignment, '.2g')}", float(alignment.mean()), (alignment - 0.9,)
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


@measures("ls-lemma-b-4")
def lemma(within):
    values = [np.array([s.autograd for s in one]) for one in within]
    least = min(float(one.min() / np.abs(one).max()) for one in values)
    return Finding(
        f"positive for {sum((one > 0).sum() for one in values)} of {sum(map(len, values))}; "
        f"at most {', '.join(f'{one.max():.0e}' for one in values)} for K = 2 to 5",
        least,
        (least,),
    )


@measures("ls-eq-21")
def eq_21(variations):
    off, right = (
        max(abs(getattr(s, name) - s.autograd) for s in variations.values())
        for name in ("printed", "corrected")
    )
    one = variations["random h"]
    return Finding(
        f"{one.printed:.4f} where the derivative is {one.autograd:.4f}; corrected, off by {right:.0e}",
        off,
        (EXACT - off,),
        None if right < EXACT else "fails",
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


@measures("ls-stronger-than-needed")
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


@measures("ls-free-uniform")
def free_uniform(vanilla):
    gap = np.array(
        [
            [
                abs(run.loss[-1] - theory.simplified_plateau(run.config.tau, run.config.d))
                for run in runs
            ]
            for runs in vanilla.values()
        ]
    )
    accuracy = np.array([[run.accuracy[-1] for run in runs] for runs in vanilla.values()])
    return Finding(
        f"loss within {gap.max():.0e}, accuracy {span(accuracy, '.2g')}",
        float(gap.max()),
        (*(0.005 - gap), *(0.5 - accuracy)),
    )


@measures("ls-cap-clusters")
def cap_clusters(cap, cap_wide_gap):
    groups = (*cap.values(), cap_wide_gap)
    every = [run for runs in groups for run in runs]
    at = [run.clustered_at for runs in cap.values() for run in runs if run.clustered_at is not None]
    return Finding(
        f"{clustered(every).sum()} of {len(every)} runs cluster, those of LS's data at iterations "
        f"{span(at or 0, 'd')}; {separable(every).sum()} are separable",
        float(clustered(every).mean()),
        (*map(clustered, groups), *map(separable, groups)),
    )


@measures("ls-capacity")
def capacity(vanilla, cap):
    free = {
        d: np.array([run.loss[np.searchsorted(run.steps, 100)] for run in vanilla[d, "cap"]])
        for d in (2, 3)
    }
    margins = [free[d] - [run.loss[-1] for run in runs] for (d, _), runs in cap.items()]
    return Finding(
        f"theirs is lower by {span(-np.array(margins), '.2g')}",
        float(np.mean(margins)),
        tuple(margins),
    )
