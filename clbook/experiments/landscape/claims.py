"""What LS and VA say about the loss of an invariant map, judged on the chapter's configurations of points."""

import numpy as np
from scipy.optimize import linprog

from clbook import theory
from clbook.claims import Chapter, Finding
from clbook.experiments.landscape.maps import PREDICTOR

chapter = Chapter(__file__)
EXACT = 1e-12  # numbers in float64 that differ by less are called equal


def shuffling(losses) -> float:
    """How much it changes the losses (4,) of the four maps of `Maps` to shuffle who goes where."""
    return float(np.abs(losses[0::2] - losses[1::2]).max())


def curves(by_tau) -> tuple[np.ndarray, np.ndarray]:
    """((t, K) eq. 1 of 1 to K even places, (t, 1) that of the uniform distribution), tau ascending."""
    by_tau = sorted(by_tau, key=lambda result: result.config.tau)
    return np.array([r.curves.simclr for r in by_tau]), np.array(
        [[r.curves.simclr_plateau] for r in by_tau]
    )


def rewritten(result, printed: bool) -> float:
    """Eq. 1 of an invariant map as VA Prop. 2.1 rewrites it over the embedded points: as printed, or corrected."""
    cosine = result.z @ result.z.T
    kept = cosine < 1 - 1e-9 if printed else ~np.eye(len(cosine), dtype=bool)
    similarity = np.exp((cosine if printed else cosine - 1) / result.config.tau)
    return float(np.log1p(2 * (kept * similarity).mean(1)).mean())


def forces(result) -> np.ndarray:
    """(n, n, d) eta'(|x - y|^2 / 2) (x - y) of eq. 3 with eta(t) = exp(-t / tau), for all pairs of points."""
    apart = result.z[:, None] - result.z
    tau = result.config.tau
    return -np.exp(-(apart**2).sum(2, keepdims=True) / (2 * tau)) / tau * apart


def line(thresholds, most: float) -> tuple[float, float]:
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


def minimum(result) -> float:
    """The second smallest curvature, as a part of the largest: above 0 where nothing but a rotation is level."""
    return float(result.eigenvalues[1] / np.abs(result.eigenvalues).max())


@chapter.measure("va-prop-2-1")
def forgets(maps):
    gap = shuffling(maps.losses["NT-Xent, eq. 1"])
    kept, mixed = maps.accuracy[[0, 2]], maps.accuracy[[1, 3]]
    return Finding(
        f"losses differ by {gap:.0e}; the classes of at least {kept.min():.0%} of the points are read "
        f"right by class, of at most {mixed.max():.0%} shuffled",
        gap,
        (EXACT - gap,),
    )


@chapter.measure("va-prop-2-1-formula")
def formula(still):
    even, one, _ = still
    off = max(abs(rewritten(result, True) - result.loss_mean) for result in still)
    right = max(abs(rewritten(result, False) - result.loss_mean) for result in still)
    return Finding(
        f"{rewritten(even, True):.2f} instead of {even.loss_mean:.4f} at even points, "
        f"{rewritten(one, True):.2f} instead of {one.loss_mean:.4f} at one place; "
        f"corrected, off by {right:.0e}",
        off,
        (EXACT - off,),
        None if right < EXACT else "fails",
    )


@chapter.measure("ls-vicreg")
def vicreg_forgets(maps):
    gap = shuffling(maps.losses["VICReg"])
    return Finding(f"losses differ by {gap:.0e}", gap, (EXACT - gap,))


@chapter.measure("ls-byol")
def byol_forgets(maps):
    plain = ((maps.z * np.array(PREDICTOR) - maps.z) ** 2).sum(2).mean(1)
    gap = max(shuffling(plain), shuffling(maps.losses["BYOL, fixed predictor"]))
    return Finding(
        f"losses differ by {gap:.0e}; with the best predictor, the identity, all are 0",
        gap,
        (EXACT - gap,),
    )


@chapter.measure("ls-arbitrary")
def arbitrary(maps):
    three, three_mixed, many, many_mixed = maps.losses["NT-Xent, eq. 1"]
    lowest = min(three, three_mixed, many)
    return Finding(
        f"120 places have {many_mixed:.4f} by class and shuffled, three places {three:.4f}",
        float(many_mixed),
        (EXACT - (many_mixed - lowest),),
    )


@chapter.measure("ls-no-collapse")
def collapse(by_tau, still):
    losses, _ = curves(by_tau)
    gain, down = float((losses[:, 0] - losses[:, 1]).min()), still[1].split
    return Finding(
        f"loss {losses[0, 0]:.4f}, at least {gain:.2f} above two places; curvature at most {down.max():.2f} "
        f"in {len(down)} directions",
        gain,
        (gain, -float(down.max())),
    )


@chapter.measure("ls-fig-2-left")
def falls(by_tau):
    losses, plateau = curves(by_tau)
    rise, above = float(np.diff(losses).max()), float((losses[:, -1:] / plateau - 1).max())
    return Finding(
        f"no step up beyond {max(rise, 0):.0e}; 64 places are at most {above:.0e} of it above the level",
        above,
        (EXACT - rise, 0.01 - above),
    )


@chapter.measure("ls-smaller-tau")
def lowers(by_tau):
    losses, plateau = curves(by_tau)
    steps = -np.diff(losses), np.diff(losses, axis=0), losses - plateau
    most, least, uniform = losses[-1, 1], losses[0, -1], plateau[0, 0]
    return Finding(
        f"2 places at tau = .5: {most:.3f}; 64 at .01: {least:.3f}, uniform {uniform:.3f}",
        float(least),
        tuple(EXACT + float(down.min()) for down in steps),
    )


@chapter.measure("ls-indicator")
def indicator(finite):
    off = np.array([r.curves.simclr[r.config.clusters - 1] - r.loss_mean for r in finite])
    return Finding(
        "the loss differs by " + ", ".join(f"{one:.4f}" for one in off),
        float(off[-1]),
        (float((off[:-1] / off[1:] / 4).min() - 1),),
    )


@chapter.measure("ls-data-points")
def data_points(finite):
    losses = np.array([r.loss_mean for r in finite])
    closed = np.log([np.exp(r.curves.simclr[r.config.clusters - 1]) - 2 / len(r.z) for r in finite])
    return Finding(
        ", ".join(f"{loss:.4f}" for loss in losses),
        float(losses[-1]),
        (EXACT - float(np.abs(losses - closed).max()), float(np.diff(losses).min())),
    )


@chapter.measure("ls-fig-2-right")
def linear(by_tolerance):
    near, far = (np.array([line(r.thresholds, most) for r in by_tolerance]) for most in (0.1, 0.5))
    (slack, fit), (beyond, worse) = near.T, far.T
    return Finding(
        f"there is one for {(slack > 0).sum()} of {len(slack)} tolerances (R2 from {fit.min():.3f}), "
        f"up to tau = .5 for {(beyond > 0).sum()} (R2 from {worse.min():.3f})",
        float(fit.min()),
        (float(slack.min()),),
    )


@chapter.measure("ls-threshold-slope")
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


@chapter.measure("ls-remark-3-1")
def stationary(still, solids):
    *fixed, random = [float(result.tangential.max()) for result in still]
    largest = max(*fixed, *(float(result.tangential.max()) for result in solids))
    return Finding(
        f"at most {largest:.0e}; at random points {random:.2f}", largest, (EXACT - largest,)
    )


@chapter.measure("ls-eq-5")
def same_integrals(still):
    integrals = forces(still[0]).mean(1)
    apart = np.linalg.norm(integrals[:, None] - integrals, axis=2).max()
    along = np.abs(integrals - (integrals * still[0].z).sum(1, keepdims=True) * still[0].z).max()
    return Finding(
        f"they differ by up to {apart:.2f}; each is a multiple of its place, up to {along:.0e}",
        float(apart),
        (EXACT - float(apart),),
    )


@chapter.measure("ls-eq-14")
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


@chapter.measure("ls-remark-3-2")
def minimisers(alone, saddles, still):
    least = min(minimum(result) for result in alone)
    *shared, one = (
        f"{r.negative(r.eigenvalues)} of {len(r.eigenvalues)}" for r in (*saddles, still[1])
    )
    return Finding(
        f"the second smallest is at least {least:.0e} of the largest; with several points a place "
        f"{', '.join(shared)} directions go down, at one place {one}",
        least,
        (least - 1e-9,),
    )


@chapter.measure("ls-copies-part")
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


@chapter.measure("ls-prop-b-3-constant")
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


@chapter.measure("ls-lemma-b-4")
def lemma(within):
    values = [np.array([s.autograd for s in one]) for one in within]
    least = min(float(one.min() / np.abs(one).max()) for one in values)
    return Finding(
        f"positive for {sum((one > 0).sum() for one in values)} of {sum(map(len, values))}; "
        f"at most {', '.join(f'{one.max():.0e}' for one in values)} for K = 2 to 5",
        least,
        (least,),
    )


@chapter.measure("ls-eq-21")
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
