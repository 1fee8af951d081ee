"""What VA and LS say about the kernel between weights and embeddings, judged on the chapter's runs."""

import numpy as np

from clbook.claims import Chapter, Finding
from clbook.experiments.kernel import closed_forms

chapter = Chapter("kernel")
NET = "one hidden layer, inner weights trained, LS eq. 12"
DONUT = "donut, one hidden layer of 100, tanh, ReLU and GELU, eps = .1, tau = 1, lr = .05 tau"
DONUT_THEIRS = "donut, one hidden layer of 100; activation, eps, tau and the learning rate are not given"
FIRST_ORDER = "a step's relative error falls at least 8-fold where the step is 10 times smaller, for lr/tau = 100 to .1"
ORDER = 0.9  # what is O(delta) falls like delta^p with p at least 1
TIGHT = r"relative error ~ $\delta^p$, p above .9, for $\delta$ = .003 to .3 (set after the run)"


def span(values, form: str = ".2g") -> str:
    """The range of some numbers."""
    return f"{np.min(values):{form}} to {np.max(values):{form}}"


def powers(x, errors) -> np.ndarray:
    """p of errors ~ x^p, errors (len(x), seeds): one p a seed."""
    return np.polyfit(np.log(x), np.log(errors), 1)[0]


def by_delta(runs, error) -> np.ndarray:
    """p of error ~ delta^p, one a seed, from runs[delta][seed] and error(run)."""
    return powers([row[0].config.delta for row in runs], [[error(run) for run in row] for row in runs])


def scatter(run) -> float:
    """How much the first velocities of the points differ from their cluster's mean, relative to all velocities."""
    velocity = run.measured[0]
    means = np.array([velocity[run.labels == q].mean(0) for q in np.unique(run.labels)])
    return float(np.linalg.norm(velocity - means[run.labels]) / np.linalg.norm(velocity))


def at_three_times(run) -> np.ndarray:
    """A run's alignment of kernel and labels at the start, when it is first seen separated, and at the end."""
    return run.alignment[[0, np.searchsorted(run.steps, run.separable_at), -1]]


def by_activation(runs, value) -> np.ndarray:
    """value(run), one row an activation and one column a seed."""
    names = dict.fromkeys(run.config.activation for run in runs)
    return np.array([[value(run) for run in runs if run.config.activation == name] for name in names])


def first_order(errors) -> Finding:
    """How much the error of a step falls with the step; errors (rates, seeds), from lr/tau = .1 on in powers of ten."""
    fall = (errors[1:4] / errors[:3]).min(0)
    return Finding(f"error {errors[0].max():.0e} at lr/tau = .1; it falls at least {fall.min():.1f}-fold",
                   float(errors[0].max()), (fall / 8 - 1,))


@chapter.claim(
    "va-prop-4-1", "VA Prop. 4.1; LS Prop. 4.1", shown=True, anchor="prop-ker-flow",
    says="Every embedding moves by the kernel-weighted mean of all points' loss gradients",
    theirs="any parametrised map, gradient flow", here=f"one step of gradient descent, {NET}, views held still",
    bar=FIRST_ORDER, evidence="3 seeds, float64")
def kernel_flow(errors):
    return first_order(errors["partial"])


@chapter.claim(
    "va-prop-4-1-full", "VA Prop. 4.1", ours=True, anchor="ker-flow",
    says="With gradients taken at views that are held still, the formula gives the step of full back-propagation",
    theirs="not said: the loss of the proposition has no weights in it", here=f"one step, {NET}, full gradient",
    bar="relative error below .1 at lr/tau = .1", evidence="3 seeds, float64")
def full_gradient(errors):
    return Finding(f"error {span(errors['full'][0])}", float(errors["full"][0].mean()), (0.1 - errors["full"][0],))


@chapter.claim(
    "va-prop-4-1-views", "VA Prop. 4.1", ours=True, anchor="ker-flow",
    says="With the views counted as points of their own, the formula gives the step of full back-propagation",
    theirs="not said; VA's gradient in eq. 7 moves both points of a pair", here=f"one step, {NET}, full gradient",
    bar=FIRST_ORDER, evidence="3 seeds, float64")
def views_as_points(errors):
    return first_order(errors["joint"])


@chapter.claim(
    "va-theorem-4-2-vanilla", "VA Theorem 4.2, vanilla; LS Theorem 4.2, vanilla", shown=True,
    anchor="thm-ker-invariance", says="Without a network an invariant map stays invariant",
    theirs="vanilla gradient descent, any loss", here="LS eq. 12, 40 points and 6 turned copies of each",
    bar="a point and its views stay exactly together while they move", evidence="5 seeds of 120 iterations")
def stays_invariant(flows):
    runs = [flow["vanilla"] for flow in flows]
    moved = np.array([run.moved[-1] for run in runs])
    together = np.array([run.spread.max() == 0 for run in runs])
    return Finding(f"together in {together.sum()} of {len(runs)} seeds; points move {span(moved)}",
                   float(together.mean()), (together & (moved > 0),))


@chapter.claim(
    "va-theorem-4-2-network", "VA Theorem 4.2, network; LS Section 4.1, loss of invariance", shown=True,
    anchor="thm-ker-invariance", says="Through a network an invariant map can lose its invariance",
    theirs="gradient descent on the weights", here=f"{NET}, full gradient, 6 turned copies of each point",
    bar="after one step a point and a view are farther apart than 1e-12; rounding makes 1e-15 (set after the run)",
    evidence="5 seeds")
def loses_invariance(flows):
    first, last = np.array([flow["network"].spread[[1, -1]] for flow in flows]).T
    return Finding(f"spread {span(first, '.1e')} after one step, {span(last)} after 120", float(first.mean()),
                   (np.log(first / 1e-12),))


@chapter.claim(
    "va-theorem-4-2-radius", "VA Theorem 4.2, network; LS Theorem 4.2, network", anchor="ker-invariance",
    says="Through a network an invariant map stays invariant where the gradients in the weights agree at a point and "
         "its views", theirs="gradient descent on the weights", here=f"a network that sees $|x|$ alone, {NET}",
    bar="a point and its views stay together up to 1e-12 while they move",
    evidence="5 seeds of 120 iterations, float64")
def keeps_invariance(flows):
    spread, moved = np.array([(flow["radius"].spread.max(), flow["radius"].moved[-1]) for flow in flows]).T
    return Finding(f"spread at most {spread.max():.0e}; points move {span(moved)}", float(spread.max()),
                   (1e-12 - spread, moved > 0))


@chapter.claim(
    "va-theorem-4-2-only-if", "VA Theorem 4.2, only if; LS Theorem 4.2, network", anchor="ker-invariance",
    says="Through a network invariance survives a step only if the gradients in the weights agree at a point and its "
         "views",
    theirs="gradient descent on the weights", here=f"a constant map, where all pushes vanish; {NET}, turned copies",
    bar="where the gradients in the weights differ, a point and its views part",
    evidence="a counterexample of 120 iterations, float64")
def only_if(still):
    spread, gap = float(still.spread.max()), closed_forms.gradient_gap(still)
    return Finding(f"gradients differ by up to {gap:.1f}, spread {spread:g}", spread, (spread or -gap,))


@chapter.claim(
    "va-prop-4-3", "VA Prop. 4.3; LS Prop. B.5", shown=True, anchor="prop-ker-explicit",
    says="The kernel of one hidden layer is the inputs' scalar product times the mean product of the units' slopes",
    theirs=r"outer weights $1/\sqrt M$ and prefactor $1/M$ (VA), $1/\sqrt{MD}$ and $1/(MD)$ (LS)",
    here="both, against automatic differentiation; D = 5, d = 3, M = 64, tanh, ReLU, GELU",
    bar="relative error below 1e-12", evidence="float64 identity over 6 settings")
def explicit_kernel(explicit):
    right = max(max(errors["1/sqrt(M)", "1/M"], errors["1/sqrt(M D)", "1/(M D)"]) for errors in explicit.values())
    return Finding(f"relative error {right:.0e}", right, (1e-12 - right,))


@chapter.claim(
    "ls-prop-b-5-swapped", "LS Prop. B.5; VA Prop. 4.3", ours=True, anchor="ker-explicit",
    says="One paper's prefactor serves for the other's outer weights", theirs="each paper has its own pair",
    here="D = 5, d = 3, M = 64, tanh, ReLU, GELU", bar="relative error below 1e-12",
    evidence="float64 identity over 6 settings")
def swapped_prefactor(explicit):
    wrong = min(min(errors["1/sqrt(M)", "1/(M D)"], errors["1/sqrt(M D)", "1/M"]) for errors in explicit.values())
    return Finding(f"relative error {wrong:.1f} or more: off by the factor D", wrong, (1e-12 - wrong,))


@chapter.claim(
    "va-prop-4-4", "VA Prop. 4.4; LS Prop. B.6", anchor="fig-ker-width", verdicts=("holds when", "fails"),
    condition="the entries have mean zero",
    says="For ReLU and rows of i.i.d. Gaussian entries the kernel tends to a function of the inputs' product and angle",
    theirs="M to infinity", here="20 points of $R^3$, M = 64 to 16,384, standard Gaussian rows (LS: all divided by D)",
    bar="the relative error falls, and ends below 5 % (set after the run)", evidence="20 draws")
def wide_kernel(wide):
    first, *_, last = wide["isotropic"]
    return Finding(f"error {span(first)} at M = 64, {span(last)} at 16,384", float(last.mean()),
                   (np.log(first / last), 0.05 - last))


@chapter.claim(
    "va-prop-4-4-mean", "VA Prop. 4.4; LS Prop. B.6", anchor="fig-ker-width",
    says="That limit is reached whatever the mean of the i.i.d. Gaussian entries",
    theirs="M to infinity; no mean is given", here="entries of mean 1 and variance 1, M = 16,384",
    bar="relative error below 5 % (set after the run)", evidence="20 draws")
def shifted_rows(wide):
    shifted, stretched = wide["shifted"][-1], wide["stretched"][-1]
    return Finding(f"error {span(shifted)}; for rows with mean zero and unequal variances {span(stretched)}",
                   float(shifted.mean()), (0.05 - shifted,))


@chapter.claim(
    "va-theorem-4-5", "VA Theorem 4.5, as printed", shown=True, anchor="thm-ker-clusters",
    says="A point moves along the gradient at its cluster's centre, scaled by the cluster's share, the centre's "
         r"squared length and the units' mean squared slope, up to $O(\delta)$",
    theirs="N at most d orthogonal clusters; noise orthogonal to the clean data; start a function of the latter",
    here="the same: D = 5, d = N = 2, clusters of 40 and 20 points, tanh, M = 256, VA eq. 4 with its gradient eq. 7",
    bar=TIGHT, evidence="3 seeds, exact flow at the start, float64")
def cluster_velocity(printed):
    p = powers(printed["delta"], printed["errors"])
    return Finding(rf"error ~ $\delta^p$, p = {span(p, '.2f')}; {span(printed['errors'][0], '.0e')} at $\delta$ = .003",
                   float(p.mean()), (p - ORDER,))


@chapter.claim(
    "va-theorem-4-5-mean", "VA Theorem 4.5, mean gradient", anchor="fig-ker-delta",
    says=r"From any start a point moves along the mean of its cluster's gradients, scaled as in the theorem, up to "
         r"$O(\delta)$", theirs="a step of the proof",
    here=f"{NET}, three orthogonal clusters, d = 2, every point embedded at random, noise in all directions",
    bar=TIGHT, evidence="3 seeds, one step, float64")
def mean_gradient(tight):
    p = by_delta(tight["random start"], lambda run: run.error("mean"))
    return Finding(rf"error ~ $\delta^p$, p = {span(p, '.2f')}", float(p.mean()), (p - ORDER,))


@chapter.claim(
    "va-theorem-4-5-own", "VA Theorem 4.5, as printed", ours=True, anchor="fig-ker-delta",
    verdicts=("holds when", "fails"), condition="the start is smooth in the data",
    says="Each point's own gradient may stand for the mean over its cluster",
    theirs="not said; in VA's setting a cluster starts at one place", here=f"{NET}, three orthogonal clusters",
    bar=r"error ~ $\delta^p$, p above .9 from a smooth start, and below .5 from a random one (set after the run)",
    evidence="3 seeds, one step, float64")
def own_gradient(tight):
    smooth, random = (by_delta(tight[f"{start} start"], lambda run: run.error("own")) for start in ("smooth", "random"))
    return Finding(f"p = {span(smooth, '.2f')} from a smooth start, {span(random, '.2f')} from a random one",
                   float(smooth.mean()), (smooth - ORDER, 0.5 - random))


@chapter.claim(
    "va-fig-5-one-velocity", "VA Section 4.2.1, same direction; VA Section 4.2.1, Fig. 5 reflects Theorem 4.5",
    anchor="fig-ker-delta",
    says=r"From a random embedding the points of a cluster move the same way, up to $O(\delta)$",
    theirs="orthogonal clusters; in Fig. 5 four clusters on a line, on the circle",
    here=f"{NET}, three clusters around orthogonal centres and four on Fig. 5's line, in the plane",
    bar=r"velocities differ within a cluster like $\delta^p$, p above .9, $\delta$ = .003 to .3 (set after the run)",
    evidence="3 seeds each, one step, float64")
def one_velocity(tight):
    axes, line = (by_delta(tight[name], scatter) for name in ("random start", "centres on a line"))
    return Finding(f"p = {span(axes, '.2f')} for orthogonal centres, {span(line, '.2f')} on a line", float(line.mean()),
                   (axes - ORDER, line - ORDER))


@chapter.claim(
    "va-fig-5-eq-21", "VA Section 4.2.1, Fig. 5 reflects Theorem 4.5", ours=True, anchor="fig-ker-delta",
    says="The velocities on Fig. 5's line of centres are those of eq. 21",
    theirs="not said: the theorem asks for orthogonal centres", here=f"{NET}, centres -3, -1, 1, 3, mean gradients",
    bar=TIGHT, evidence="3 seeds, one step, float64")
def on_a_line(tight):
    runs = tight["centres on a line"]
    p, blocks = (by_delta(runs, lambda run, name=name: run.error(name)) for name in ("mean", "blocks"))
    errors = [run.error("mean") for row in runs for run in row]
    return Finding(f"error {span(errors)}, p = {span(p, '.2f')}; with all blocks of the kernel {span(blocks, '.2f')}",
                   float(np.mean(errors)), (p - ORDER,))


@chapter.claim(
    "va-corollary-4-6", "VA Corollary 4.6", anchor="ker-clusters",
    says="For ReLU and growing width the mean squared slope in Theorem 4.5 becomes one half", theirs="M to infinity",
    here=f"{NET}, three clusters of radius .001, smooth start, mean gradients, M = 64 to 4,096",
    bar="the relative error with one half falls, and ends below 5 % (set after the run)",
    evidence="5 seeds, one step, float64")
def one_half(corollary):
    first, *_, last = corollary[..., 1]
    return Finding(f"error {span(first)} at M = 64, {span(last)} at 4,096", float(last.mean()),
                   (np.log(first / last), 0.05 - last))


def slowing(speeds, ratios):
    """p of (speed of the last cluster / mean speed of the others) ~ ratio^p, one a seed, and that quotient at the end.

    speeds (ratios, seeds, clusters).
    """
    relative = speeds[..., -1] / speeds[..., :-1].mean(-1)
    return powers(ratios, relative), relative[-1]


@chapter.claim(
    "va-remark-4-4", "VA Remark 4.4, speed", shown=True, anchor="ker-small",
    says="The pull on a small cluster can be negligible beside that on larger ones, as its share scales it",
    theirs="Theorem 4.5", here=f"{NET}, four orthogonal clusters, smooth start, one of 1 to 1/20 of the others' size",
    bar="its speed relative to theirs falls like (relative size)$^p$, p above .5: nearer to proportion, p = 1, than to "
        "none, p = 0 (set after the run)", evidence="5 seeds, one step")
def small_is_slow(speeds, ratios):
    p, last = slowing(speeds[4], ratios)
    return Finding(f"p = {span(p, '.2f')}; at 1/20 of their size {span(last)} of their speed", float(p.mean()),
                   (p - 0.5,))


@chapter.claim(
    "va-remark-4-4-two", "VA Remark 4.4, speed", ours=True, anchor="ker-small",
    says="Of two clusters, too, the small one is slow beside the large one", theirs="not said of two",
    here=f"{NET}, two orthogonal clusters, smooth start", bar="the same as of four (set after the run)",
    evidence="5 seeds, one step")
def two_are_equal(speeds, ratios):
    p, last = slowing(speeds[2], ratios)
    return Finding(f"p = {span(p, '.2f')}; at 1/20 of its size {span(last, '.2f')} of the other's speed",
                   float(p.mean()), (p - 0.5,))


@chapter.claim(
    "ls-fig-5-clusters-later", "LS Fig. 5, clusters", anchor="fig-ker-clusters-time",
    says="The kernel of two clusters has blocks before training, which change little",
    theirs="two clusters, one hidden layer; to iteration 5,000",
    here="eps = .1, tau = 1, tanh, ReLU and GELU, 1,000 iterations", evidence="3 seeds an activation",
    bar="alignment with the labels above .9 at iteration 0, and within .05 of it at the end (set after the run)")
def blocks_first(stories):
    start, end = (by_activation(stories["clusters"], lambda run, t=t: run.alignment[t]) for t in (0, -1))
    return Finding(f"alignment {span(start)} at the start, {span(end)} at the end", float(start.mean()),
                   (*(start - 0.9), *(0.05 - abs(end - start))))


@chapter.claim(
    "ls-fig-5-donut-rises", "LS Fig. 5, donut", anchor="ker-training", verdicts=("holds", "not seen here"),
    says="On the donut training brings the kernel nearer to blocks", theirs=DONUT_THEIRS, here=DONUT,
    bar="the alignment with the labels is higher at iteration 5,000 than at 0, in every run (set after the run)",
    evidence="3 seeds an activation")
def alignment_rises(stories):
    start, end = (by_activation(stories["donut"], lambda run, t=t: run.alignment[t]) for t in (0, -1))
    return Finding(f"{(end > start).sum()} of {start.size} runs; alignment {span(start)} before, {span(end)} after",
                   float((end - start).min()), tuple(end > start))


@chapter.claim(
    "ls-fig-5-donut", "LS Fig. 5, donut", anchor="ker-training", verdicts=("holds", "not seen here"),
    says="On the donut the kernel has sharp blocks by iteration 5,000", theirs=DONUT_THEIRS, here=DONUT,
    bar="alignment above .5 (none: 0, ideal blocks: 1) with the best of the three activations", evidence="3 seeds")
def sharp_blocks(stories):
    end = by_activation(stories["donut"], lambda run: run.alignment[-1]).max(0)
    return Finding(f"alignment {span(end)}; on two clusters {span([run.alignment[-1] for run in stories['clusters']])}",
                   float(end.mean()), (end - 0.5,))


@chapter.claim(
    "ls-blocks-first", "LS Section 4.2.2, blocks before separation", shown=True, anchor="ker-training",
    verdicts=("holds", "not seen here"), theirs=DONUT_THEIRS, here=DONUT, evidence="3 seeds",
    says="On the donut training first gives the kernel its blocks, and separation follows",
    bar="half of the rise of the alignment by iteration 5,000 comes before separation, with the best of the three "
        "activations (set after the run)")
def blocks_then_separation(stories):
    start, then, end = np.moveaxis(by_activation(stories["donut"], at_three_times), -1, 0)
    part = (then - start) / (end - start)
    steps = [run.separable_at for run in stories["donut"]]
    return Finding(f"{span(part)} of the rise, at iterations {span(steps, 'd')}", float(part.mean()),
                   (part.max(0) - 0.5,))
