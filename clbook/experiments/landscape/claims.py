"""What LS and VA say about the loss of an invariant map, judged on the chapter's configurations of points."""

import numpy as np
from scipy.optimize import linprog

from clbook import theory
from clbook.claims import Chapter, Finding
from clbook.experiments.landscape.maps import PREDICTOR

chapter = Chapter("landscape")
EXACT = 1e-12  # numbers in float64 that differ by less are called equal
MAPS = "120 points in three clean clusters, sent by class or shuffled to three places and to 120"
CURVES = "1 to 64 even places on the circle with equal weight, many points at each, tau = .01 to .5"
SHARED = "4 places with 5 points each, 8 with 4, 3 with 10, on the circle, tau = .2"


def shuffling(losses) -> float:
    """How much it changes the losses (4,) of the four maps of `Maps` to shuffle who goes where."""
    return float(np.abs(losses[0::2] - losses[1::2]).max())


def curves(by_tau) -> tuple[np.ndarray, np.ndarray]:
    """((t, K) eq. 1 of 1 to K even places, (t, 1) that of the uniform distribution), tau ascending."""
    by_tau = sorted(by_tau, key=lambda result: result.config.tau)
    return np.array([r.curves.simclr for r in by_tau]), np.array([[r.curves.simclr_plateau] for r in by_tau])


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
    best = linprog([0, 0, -1], np.concatenate([above, below]), np.concatenate([-gap, wider]), bounds=(None, None))
    return float(best.x[2]), float(np.corrcoef(tau, gap)[0, 1] ** 2)


def minimum(result) -> float:
    """The second smallest curvature, as a part of the largest: above 0 where nothing but a rotation is level."""
    return float(result.eigenvalues[1] / np.abs(result.eigenvalues).max())


@chapter.claim(
    "va-prop-2-1", "VA Prop. 2.1; LS Prop. B.1", shown=True, anchor="prop-land-forget",
    says="The loss of an invariant map depends on where the embedded points lie, and not on the data",
    theirs="eq. 1, any invariant map, data with a density", here=f"eq. 1, tau = .2, {MAPS}",
    bar="to shuffle who goes where changes the loss by less than 1e-12", evidence="float64, 2 pairs of maps")
def forgets(maps):
    gap = shuffling(maps.losses["NT-Xent, eq. 1"])
    kept, mixed = maps.accuracy[[0, 2]], maps.accuracy[[1, 3]]
    return Finding(f"losses differ by {gap:.0e}; the classes of at least {kept.min():.0%} of the points are read "
                   f"right by class, of at most {mixed.max():.0%} shuffled", gap, (EXACT - gap,))


@chapter.claim(
    "va-prop-2-1-formula", "VA Prop. 2.1; LS Prop. B.1", shown=True, anchor="land-trap",
    verdicts=("holds", "misprinted"),
    says=r"Over the embedded points eq. 1 is the mean of "
         r"$\log(1 + 2\,\mathbb{E}_y[1_{x \ne y} e^{\mathrm{sim}(x, y)/\tau}])$",
    theirs="any invariant map, data with a density",
    here=r"n = 5 points on the circle, tau = .2; corrected: $(\mathrm{sim} - 1)/\tau$, and $y$ is any other data "
         "point, perhaps at the same place",
    bar="equal to eq. 1 up to 1e-12", evidence="float64: even points, random points, all at one place")
def formula(still):
    even, one, _ = still
    off = max(abs(rewritten(result, True) - result.loss_mean) for result in still)
    right = max(abs(rewritten(result, False) - result.loss_mean) for result in still)
    return Finding(f"{rewritten(even, True):.2f} instead of {even.loss_mean:.4f} at even points, "
                   f"{rewritten(one, True):.2f} instead of {one.loss_mean:.4f} at one place; "
                   f"corrected, off by {right:.0e}", off, (EXACT - off,), None if right < EXACT else "fails")


@chapter.claim(
    "ls-vicreg", "LS Appendix B.1, VICReg; VA Appendix A.1, VICReg", anchor="land-forget",
    says="For an invariant map VICReg's loss, too, depends on where the embedded points lie, and not on the data",
    theirs="any invariant map", here=MAPS, bar="to shuffle who goes where changes the loss by less than 1e-12",
    evidence="float64, 2 pairs of maps")
def vicreg_forgets(maps):
    gap = shuffling(maps.losses["VICReg"])
    return Finding(f"losses differ by {gap:.0e}", gap, (EXACT - gap,))


@chapter.claim(
    "ls-byol", "LS Appendix B.1, BYOL; VA Appendix A.1, BYOL", anchor="land-forget",
    says="For an invariant map BYOL's loss, too, depends on where the embedded points lie, and not on the data",
    theirs="squared distance, minimised over map and predictor",
    here=f"one fixed linear predictor, without and with normalised vectors, {MAPS}",
    bar="to shuffle who goes where changes the loss by less than 1e-12", evidence="float64, 2 pairs of maps")
def byol_forgets(maps):
    plain = ((maps.z * np.array(PREDICTOR) - maps.z) ** 2).sum(2).mean(1)
    gap = max(shuffling(plain), shuffling(maps.losses["BYOL, fixed predictor"]))
    return Finding(f"losses differ by {gap:.0e}; with the best predictor, the identity, all are 0", gap, (EXACT - gap,))


@chapter.claim(
    "ls-arbitrary", "LS Section 3, arbitrary distribution; VA Section 3, arbitrary distribution", shown=True,
    anchor="fig-land-forget", verdicts=("holds when", "fails"),
    condition="what is arbitrary is who goes where, not where the places lie",
    says="The loss has minimisers with an arbitrary distribution of the points, whatever the clusters of the data",
    theirs="a remark after Theorem 3.1", here=f"eq. 1, tau = .2, {MAPS}",
    bar="the lowest of the losses is had by a map that mixes the classes", evidence="float64, 4 maps")
def arbitrary(maps):
    three, three_mixed, many, many_mixed = maps.losses["NT-Xent, eq. 1"]
    lowest = min(three, three_mixed, many)
    return Finding(f"120 places have {many_mixed:.4f} by class and shuffled, three places {three:.4f}",
                   float(many_mixed), (EXACT - (many_mixed - lowest),))


@chapter.claim(
    "ls-no-collapse", "LS Section 2, no collapse; VA Section 2, collapse", anchor="land-curved",
    says="The repulsion keeps the map from sending all points to one place",
    theirs="said of eq. 1, no setting",
    here=f"eq. 1 of {CURVES}; curvature of eq. 3 at one place, n = 5, tau = .2",
    bar="one place has the highest loss, and the loss falls in every direction that parts its points",
    evidence="float64, 6 temperatures")
def collapse(by_tau, still):
    losses, _ = curves(by_tau)
    gain, down = float((losses[:, 0] - losses[:, 1]).min()), still[1].split
    return Finding(f"loss {losses[0, 0]:.4f}, at least {gain:.2f} above two places; curvature at most {down.max():.2f} "
                   f"in {len(down)} directions", gain, (gain, -float(down.max())))


@chapter.claim(
    "ls-fig-2-left", "LS Fig. 2, left; LS Fig. 2, middle; VA Fig. 3, left; VA Fig. 3, middle", shown=True,
    anchor="fig-land-panels", says="The loss falls as even places get more and closer, and levels off",
    theirs="even places on the circle; the temperatures are not given", here=f"eq. 1, {CURVES}",
    bar="no step to more places raises the loss, and 64 places are within 1 % of the uniform distribution "
        "(set after the run)",
    evidence="float64, 6 temperatures")
def falls(by_tau):
    losses, plateau = curves(by_tau)
    rise, above = float(np.diff(losses).max()), float((losses[:, -1:] / plateau - 1).max())
    return Finding(f"no step up beyond {max(rise, 0):.0e}; 64 places are at most {above:.0e} of it above the level",
                   above, (EXACT - rise, 0.01 - above))


@chapter.claim(
    "ls-smaller-tau", "LS Section 3, more points and smaller tau; VA Remark 3.1, more clusters or uniform; "
    "VA Remark 3.1, more points; VA Remark 3.1, smaller temperature", anchor="land-low",
    says="More even places and a smaller tau lower the loss, and the uniform distribution has the lowest",
    theirs="read off the curves over the number of places", here=f"eq. 1, {CURVES}",
    bar="no step to more places, to a smaller tau or to the uniform distribution raises the loss",
    evidence="float64, 6 temperatures")
def lowers(by_tau):
    losses, plateau = curves(by_tau)
    steps = -np.diff(losses), np.diff(losses, axis=0), losses - plateau
    most, least, uniform = losses[-1, 1], losses[0, -1], plateau[0, 0]
    return Finding(f"2 places at tau = .5: {most:.3f}; 64 at .01: {least:.3f}, uniform {uniform:.3f}", float(least),
                   tuple(EXACT + float(down.min()) for down in steps))


@chapter.claim(
    "ls-indicator", "LS Section 2, indicator negligible; VA Section 2, large n", anchor="land-trap",
    says="To leave out the indicator, which excludes the anchor's own data point, makes a negligible difference "
         "for many points",
    theirs="large n", here="eq. 1, 16 even places with 1, 4 and 16 points each, tau = .2",
    bar="the difference falls at least 4-fold where n is 4 times as large", evidence="float64, n = 16, 64, 256")
def indicator(finite):
    off = np.array([r.curves.simclr[r.config.clusters - 1] - r.loss_mean for r in finite])
    return Finding("the loss differs by " + ", ".join(f"{one:.4f}" for one in off), float(off[-1]),
                   (float((off[:-1] / off[1:] / 4).min() - 1),))


@chapter.claim(
    "ls-data-points", "LS Section 3, more points and smaller tau; VA Remark 3.1, more points", ours=True,
    anchor="land-trap",
    says="More data points at the same places raise eq. 1, by what the anchor's own share $2/n$ had taken away",
    theirs="not said: the points of the sentence are places",
    here="eq. 1, 16 even places with 1, 4 and 16 points each, tau = .2",
    bar=r"each is $\log(1 + 2G - 2/n)$ up to 1e-12, and the loss rises with n", evidence="float64, n = 16, 64, 256")
def data_points(finite):
    losses = np.array([r.loss_mean for r in finite])
    closed = np.log([np.exp(r.curves.simclr[r.config.clusters - 1]) - 2 / len(r.z) for r in finite])
    return Finding(", ".join(f"{loss:.4f}" for loss in losses), float(losses[-1]),
                   (EXACT - float(np.abs(losses - closed).max()), float(np.diff(losses).min())))


@chapter.claim(
    "ls-fig-2-right", "LS Fig. 2, right; VA Fig. 3, right", anchor="land-low",
    verdicts=("holds when", "fails"), condition=r"$\tau$ is at most .1",
    says="The threshold of the smallest squared distance is linear in tau",
    theirs="no range of tau; how close to the level counts is not said",
    here="12 temperatures from .005 to .5; within .1, .01 and .0001 of the level",
    bar="for each tolerance a straight line passes between the threshold and the next wider spacing at every tau up "
        "to .1 (set after the run)", evidence="float64, 3 tolerances")
def linear(by_tolerance):
    near, far = (np.array([line(r.thresholds, most) for r in by_tolerance]) for most in (0.1, 0.5))
    (slack, fit), (beyond, worse) = near.T, far.T
    return Finding(f"there is one for {(slack > 0).sum()} of {len(slack)} tolerances (R2 from {fit.min():.3f}), "
                   f"up to tau = .5 for {(beyond > 0).sum()} (R2 from {worse.min():.3f})", float(fit.min()),
                   (float(slack.min()),))


@chapter.claim(
    "ls-threshold-slope", "LS Fig. 2, right; VA Fig. 3, right", ours=True, anchor="land-low",
    says=r"For small tau the slope of that line is $2\pi^2/\ln(2/\text{tolerance})$: what counts as level decides it",
    theirs="not said", here="tolerances .1, .01 and .0001, tau from .005 to .02",
    bar="threshold / tau is within 15 % of it (a step of the whole number K is up to 10 %)",
    evidence="float64, 9 thresholds")
def slope(by_tolerance):
    found = [(r.thresholds.gaps / r.thresholds.taus)[r.thresholds.taus <= 0.02] for r in by_tolerance]
    said = np.array([theory.threshold_slope(r.config.tolerance) for r in by_tolerance])
    ratio = np.array(found) / said[:, None]
    slopes = ", ".join(f"{one.mean():.1f}" for one in found)
    return Finding(f"slopes {slopes}: {ratio.min():.2f} to {ratio.max():.2f} times the formula",
                   float(found[0].mean() / found[-1].mean()), (0.15 - float(np.abs(ratio - 1).max()),))


@chapter.claim(
    "ls-remark-3-1", "LS Remark 3.1; VA Remark 3.1, single point; VA Remark 3.1, even points on the circle; "
    "VA Remark 3.1, even points on the sphere", shown=True, anchor="prop-land-symmetry",
    says="Evenly spread points, and all points at one place, are stationary on the sphere",
    theirs="any dimension; what even means there is not said",
    here="eq. 3, tau = .2: five points on the circle, one place, simplex and cross-polytope in 3 to 5 dimensions",
    bar="no gradient along the sphere beyond 1e-12", evidence="float64, 7 configurations")
def stationary(still, solids):
    *fixed, random = [float(result.tangential.max()) for result in still]
    largest = max(*fixed, *(float(result.tangential.max()) for result in solids))
    return Finding(f"at most {largest:.0e}; at random points {random:.2f}", largest, (EXACT - largest,))


@chapter.claim(
    "ls-eq-5", "LS eq. 5; LS Theorem 3.1; LS Remark 3.1; VA Theorem 3.2", anchor="land-still",
    says="Evenly spread points are stationary because they satisfy eq. 5",
    theirs=r"eq. 5 for all antisymmetric $h$",
    here=r"the one $h$ that the proof uses, $\eta'(\frac12|x - y|^2)(x - y)$; five even points on the circle, tau = .2",
    bar=r"the integrals of $h$ at all places are equal up to 1e-12", evidence="float64")
def same_integrals(still):
    integrals = forces(still[0]).mean(1)
    apart = np.linalg.norm(integrals[:, None] - integrals, axis=2).max()
    along = np.abs(integrals - (integrals * still[0].z).sum(1, keepdims=True) * still[0].z).max()
    return Finding(f"they differ by up to {apart:.2f}; each is a multiple of its place, up to {along:.0e}",
                   float(apart), (EXACT - float(apart),))


@chapter.claim(
    "ls-eq-14", "LS eq. 14; VA Prop. 3.1, eq. 7", anchor="land-still",
    says="At an invariant map the gradient is the mean of pairwise forces of eq. 14", theirs=r"any $\Psi$ and $\eta$",
    here=r"$\Psi(t) = \log(1 + t)$, $\eta(t) = e^{-t/\tau}$, tau = .2, five random points on the circle",
    bar="equal to automatic differentiation up to 1e-12", evidence="float64, 1 configuration")
def pairwise(still):
    random = still[2]
    squares = ((random.z[:, None] - random.z) ** 2).sum(2)
    weight = 1 / (1 + np.exp(-squares / (2 * random.config.tau)).mean(1))
    off = float(np.abs(((weight[:, None] + weight)[:, :, None] * forces(random)).mean(1) - random.gradient).max())
    return Finding(f"off by {off:.0e}, of {np.abs(random.gradient).max():.2f}", off, (EXACT - off,))


@chapter.claim(
    "ls-remark-3-2", "LS Remark 3.2; VA Remark 3.2; VA Section 3, local minimizers", shown=True, anchor="land-curved",
    verdicts=("holds when", "fails"), condition="every place carries one data point",
    says="The stationary points of Theorem 3.1 are local minimisers, for finitely many points too",
    theirs="examples: even points, and one place for all",
    here="eq. 3 at 3, 4, 5, 8 and 16 even points on the circle, tau = .05, .2, .5",
    bar="every curvature is positive but that of a rotation", evidence="float64, 15 configurations")
def minimisers(alone, saddles, still):
    least = min(minimum(result) for result in alone)
    *shared, one = (f"{r.negative(r.eigenvalues)} of {len(r.eigenvalues)}" for r in (*saddles, still[1]))
    return Finding(f"the second smallest is at least {least:.0e} of the largest; with several points a place "
                   f"{', '.join(shared)} directions go down, at one place {one}", least, (least - 1e-9,))


@chapter.claim(
    "ls-copies-part", "LS Remark 3.2; VA Remark 3.2", ours=True, shown=True, anchor="thm-land-split",
    says="Points that share a place gain by parting: K even places with m points each have exactly K(m - 1) ways down",
    theirs="not said", here=f"eq. 3, {SHARED}",
    bar="that number of negative curvatures, each as in the theorem up to a part of 1e-9",
    evidence="float64, 3 configurations")
def copies_part(saddles):
    ways = [(r.negative(r.eigenvalues), r.config.clusters * (r.config.copies - 1)) for r in saddles]
    off = max(float(np.abs(r.split / theory.split_curvature(r.config.clusters, r.config.tau) - 1).max())
              for r in saddles)
    return Finding(f"{', '.join(str(found) for found, _ in ways)}; curvatures off by {off:.0e}", off,
                   (0.5 - sum(found != said for found, said in ways), 1e-9 - off))


@chapter.claim(
    "ls-prop-b-3-constant", "LS Prop. B.3, constant map; VA Prop. A.1, constant map", anchor="land-curved",
    says="A constant map satisfies the first-order condition, so that it may be a local minimiser",
    theirs="maps into the whole space", here="gradient of eq. 3 in the plane at one place for 5 points, tau = .2",
    bar="no gradient beyond 1e-12", evidence="float64, 1 configuration")
def constant(still):
    one = still[1]
    slope = float(np.abs(one.gradient).max())
    down = f"{one.negative(one.split)} of {len(one.split)}"
    return Finding(f"gradient {slope:.0e}; yet on the circle {down} directions that part points go down: among "
                   "invariant maps it is the maximum", slope, (EXACT - slope,))


@chapter.claim(
    "ls-lemma-b-4", "LS Lemma B.4; VA Lemma A.2", anchor="land-lemma",
    says=r"The second variation is positive along every $h$ with eq. 20 and $\sigma > 3K^2\tau$",
    theirs="K places with the same number of points; $h$ depends on the place, $f + h$ stays on the sphere",
    here=r"2 to 5 even places on the circle, random $h$ of that kind (it is 0 where $h$ is the same at all places); "
         r"$\Psi(t) = \log(1 + t/2)$, as in the proof",
    bar="positive for each of them", evidence="float64, those of 300 draws a K that satisfy eq. 20")
def lemma(within):
    values = [np.array([s.autograd for s in one]) for one in within]
    least = min(float(one.min() / np.abs(one).max()) for one in values)
    return Finding(f"positive for {sum((one > 0).sum() for one in values)} of {sum(map(len, values))}; "
                   f"at most {', '.join(f'{one.max():.0e}' for one in values)} for K = 2 to 5", least, (least,))


@chapter.claim(
    "ls-eq-21", "LS eq. 21; VA eq. 28", anchor="land-lemma", verdicts=("holds", "misprinted"),
    says=r"For $\Psi(t) = \log(1 + t/2)$ the second variation is eq. 21", theirs="any configuration",
    here=r"five even points on the circle, tau = .2; corrected: $G/2$ for $G^2/2$, factors $\frac14, \frac12, \frac12$",
    bar="equal to automatic differentiation up to 1e-12", evidence="float64, a random direction and a rotation")
def eq_21(variations):
    off, right = (max(abs(getattr(s, name) - s.autograd) for s in variations.values())
                  for name in ("printed", "corrected"))
    one = variations["random h"]
    return Finding(f"{one.printed:.4f} where the derivative is {one.autograd:.4f}; corrected, off by {right:.0e}", off,
                   (EXACT - off,), None if right < EXACT else "fails")
