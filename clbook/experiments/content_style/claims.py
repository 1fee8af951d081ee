"""What CS say about content and style, judged on the chapter's runs; their formulas are in `theory_claims`."""

import numpy as np

from clbook.claims import Chapter, Finding
from clbook.experiments.content_style.experiment import gains, singular, style_gain

chapter = Chapter("content_style")
SEEN = {"evidence": "3 seeds", "verdicts": ("holds", "not seen here")}
ONE = SEEN | {"evidence": "1 seed"}
OURS = {"evidence": "3 seeds", "ours": True, "theirs": "not said"}
LINEAR = "linear, d = 8; p and the spread of style are not given"
BOX, SPHERE = "box, d_c = 2, style sd .3, p = 2 and 1", "sphere, d_c = 4, style sd .3, base tau .5"
BOXES = ("box, p = 2", "box, p = 1")  # names of the two, `tempered` has the sphere's as well
TEMPERED = {"anchor": "fig-cs-tau", "here": f"linear, tau_c = .01 against 1; {BOX}; {SPHERE}"}
THEIR_DEEP = "7 layers of width 10; spread of style, batch and steps are not given"
OUR_DEEP = "7 layers of width 50, d_c = 5, style sd .15, 2,000 steps"
SPHERES = {"anchor": "fig-cs-depth", "here": f"sphere, tau = .5, {OUR_DEEP}"}
FREE, FULL, COOL = "$d_c$ = 0", "$d_c$ = 5", r"$d_c$ = 5, $\tau_c$ = .3"  # labels of deep runs
DIGITS = {"anchor": "cs-projector", "here": "digits, fully connected; standardised outputs have length 1 on average"}
DIRECT = {"anchor": "fig-cs-unused", "here": "digits, a fully connected block, 12 of 64 dimensions trained, 400 steps"}
BEFORE, AFTER = 0, -1  # places of the projector
TOTAL, (INVERSE, SCALED, TRAINED, BARE, BESIDE) = 2, range(5)  # row, and columns, of the table of losses


def span(values, form: str = ".2f") -> str:
    """The range of some numbers."""
    return f"{np.min(values):{form}} to {np.max(values):{form}}"


def ends(runs) -> np.ndarray:
    """(seeds, d) normalised singular values at the end."""
    return np.array([singular(run.map[-1]) for run in runs])


def gained(runs, style: bool) -> np.ndarray:
    """(seeds,) mean gain of style, or of content, at the end."""
    parts = [slice(run.config.d_c, None) if style else slice(run.config.d_c) for run in runs]
    return np.array([gains(run.map[-1])[part].mean() for run, part in zip(runs, parts, strict=True)])


def relative(runs, undone: bool = False) -> np.ndarray:
    """(seeds,) style gain over content gain at the end, as trained or with the temperatures undone."""
    return np.array([style_gain((run.undone if undone else run.map)[-1], run.config.d_c) for run in runs])


def kept(runs, layer: int = -1) -> np.ndarray:
    """(seeds,) R^2 of the style in a layer, the last one unless said, at the end."""
    return np.array([run.style_r2[-1, layer] for run in runs])


def read(runs, place: int) -> np.ndarray:
    """(seeds,) readout accuracy at a place, at the end."""
    return np.array([run.readout[-1, place] for run in runs])


def ranks(heads) -> list[np.ndarray]:
    """(seeds,) effective rank after the projector: regular, without norm, two temperatures."""
    return [np.array([run.rank[-1, AFTER] for run in runs]) for runs in list(heads.values())[:3]]


@chapter.claim(
    "cs-fig-1-left", "CS Fig. 1 left, solid; CS Section 4.1, no content", shown=True, anchor="fig-cs-spectra", **SEEN,
    says="A linear encoder's normalised singular values are level without content; with it those of style fall",
    theirs=LINEAR, here="tau = 1; box: d_c = 1, 2, 4, p = 2, style sd .3; sphere: d_c = 4, style sd .5 and .3",
    bar="without content all are above half; with it those after the d_c-th are below (set after the run)")
def spectrum(box, globe, mild):
    level = [ends(runs[0])[:, -1] for runs in (box, globe)]
    fallen = [ends(box[k])[:, k] for k in (1, 2, 4)] + [ends(runs)[:, 4] for runs in (globe[4], mild)]
    return Finding(f"without content the smallest is {span(level)}; with it the largest of style {span(fallen[:3])} "
                   f"(box), {span(fallen[3:])} (sphere)", float(np.max(fallen)),
                   (*(v - 0.5 for v in level), *(0.5 - v for v in fallen)))


@chapter.claim(
    "cs-box-content-grows", "CS Fig. 1 left, solid", shown=True, anchor="fig-cs-spectra", **OURS,
    says="In the box the spectrum falls because content is stretched more, rather than style less",
    here="linear, d_c = 1, 2, 4, p = 2, style sd .3, 2,000 steps",
    bar="content's mean gain is above that without content by a larger factor than style's is below it")
def content_grows(box):
    gain = np.array([[gained(box[k], style) for k in (1, 2, 4)] for style in (False, True)])
    content, style = gain / gained(box[0], style=True)
    return Finding(f"content {span(content, '.1f')} times, style {span(style)} times the gain without content",
                   float(style.mean()), tuple(np.log(content * style)))


@chapter.claim(
    "cs-sphere-threshold", "CS Section 4.1, no content", shown=True, anchor="fig-cs-threshold", ours=True,
    says=r"On the sphere a linear encoder drops its style if $\tau d_c (1 - \rho) \ge 1$, and keeps some if not",
    theirs="not said", here="d = 8, d_c = 1, 2, 4, tau = .25 to 2, style sd .2 to .5", evidence="36 runs, 1 seed",
    bar="each run above the threshold has less style gain, over its content's, than each run below")
def threshold(rows):
    _, _, left, gain, _ = np.array(rows).T
    above, below = gain[left >= 1].max(), gain[left < 1].min()
    return Finding(f"at most {above:.2f} of content's above, at least {below:.2f} below", above, (below - above,))


@chapter.claim(
    "cs-table-1", "CS Table 1, box; CS Table 1, sphere", shown=True, anchor="cs-table", **SEEN,
    says="With content, the trained linear map has a lower loss than the inverse of g",
    theirs="box .89 against 7.71, sphere 8.32 against 9.07; d_c and the spread of style are not given",
    here="box: d_c = 2, the inverse at its best scale; sphere: d_c = 4, style sd .5", bar="lower, in both worlds")
def beats_inverse(parts):
    box, ball = parts["box", 2][:, TOTAL], parts["sphere", 4][:, TOTAL]
    means = [v.mean() for v in (box[:, TRAINED], box[:, SCALED], ball[:, TRAINED], ball[:, INVERSE])]
    return Finding("box {:.2f} against {:.2f}, sphere {:.2f} against {:.2f}".format(*means), float(means[0]),
                   (box[:, SCALED] - box[:, TRAINED], ball[:, INVERSE] - ball[:, TRAINED]))


@chapter.claim(
    "cs-box-style-pays", "CS Table 1, box", anchor="cs-table", **OURS,
    says="In the box, with stretched content, the loss is lower with the style than without it",
    here="box, d_c = 2, style sd .3, content times 30", bar="lower")
def style_pays(parts):
    without, beside = parts["box", 2][:, TOTAL, [BARE, BESIDE]].T
    means = without.mean(), beside.mean()
    return Finding("{:.2f} without, {:.2f} with it".format(*means), float(means[1]), (without - beside,))


@chapter.claim(
    "cs-units", "CS App. C, temperature", ours=True, anchor="prop-cs-units", theirs="one temperature, set to 1",
    says=r"In the box a temperature is a unit: the loss is that of dimension k divided by $\tau_k^{1/p}$, for each k",
    here="d = 8, p = 1 and 2", bar="the losses differ by less than 1e-12 of their size", evidence="float64 identity")
def units(unit):
    return Finding(f"by {max(unit):.0e} at most", max(unit), (1e-12 - max(unit),))


@chapter.claim(
    "cs-fig-1-dashed", "CS Fig. 1 left, dashed", shown=True, theirs=LINEAR, **SEEN,
    **TEMPERED | {"anchor": "fig-cs-spectra"},
    says=r"With $\tau_c < \tau_s$ a linear encoder's spectrum is the same as without content",
    bar="each singular value is within .1 of its mean without content, in one of the three worlds at least")
def dashed(level, tempered):
    least = {name: (ends(runs[0.01])[:, -1], ends(level[name])[:, -1]) for name, runs in tempered.items()}
    gap = [abs(ends(runs[0.01]) - ends(level[name]).mean(0)).max(1) for name, runs in tempered.items()]
    return Finding("smallest, and without content: " + "; ".join(f"{span(a)}, {span(b)} ({name})" for name, (a, b)
                   in least.items()), float(np.min(gap)), (0.1 - np.min(gap, 0),))


def changes(tempered, tau_c: float) -> tuple[str, dict]:
    """Words for, and by world (seeds,), the factor by which a tau_c other than 1 changes style's share of the gain."""
    factors = {name: relative(runs[tau_c]) / relative(runs[1.0]) for name, runs in tempered.items()}
    return "times " + ", ".join(f"{span(v)} ({name})" for name, v in factors.items()), factors


@chapter.claim(
    "cs-low-tau-c", "CS Section 4.1, low tau_c", theirs=LINEAR, **TEMPERED, evidence="3 seeds",
    verdicts=("holds when", "not seen here"), condition="the latents live in a box",
    says="A lower temperature for content counters the collapse of style in linear encoders",
    bar="in the box, for both p, style's gain over content's is larger than at equal temperatures")
def low_tau_c(tempered):
    text, factors = changes(tempered, 0.01)
    return Finding(text, float(factors["sphere"].mean()), tuple(np.log(factors[name]) for name in BOXES))


@chapter.claim(
    "cs-high-tau-c", "CS Section 3, high tau_c", anchor="fig-cs-tau", **SEEN,
    says="A higher temperature for content counters the collapse of style",
    theirs="said of Section 4, which has the other order", here=f"linear, tau_c = 10 against 1; {BOX}; {SPHERE}",
    bar="style's gain over content's is larger than at equal temperatures, in each of the three worlds")
def high_tau_c(tempered):
    text, factors = changes(tempered, 10.0)
    return Finding(text, float(factors["sphere"].mean()), tuple(np.log(v) for v in factors.values()))


@chapter.claim(
    "cs-undone", "CS Fig. 1 left, dashed", anchor="fig-cs-tau", **OURS, here=f"linear, tau_c = .01 against 1; {BOX}",
    says=r"In the box, in the units that the loss sees, $\tau_c < \tau_s$ leaves style as far behind content",
    bar="with the temperatures undone, style's gain over content's is no larger, for both p")
def undone(tempered):
    before, after = (np.array([relative(tempered[k][tau], undone=True) for k in BOXES]) for tau in (1.0, 0.01))
    return Finding(f"{span(after, '.3f')} of content's; at equal temperatures {span(before, '.3f')}",
                   float(after.mean()), tuple(np.log(before / after)))


@chapter.claim(
    "cs-fig-1-right", "CS Fig. 1 right", shown=True, **SPHERES, **SEEN, theirs=THEIR_DEEP,
    says="With content, a deep encoder on the sphere loses its style at the output, for a linear readout",
    bar="$R^2$ below half of that without content (set after the run)")
def deep_sphere(deep):
    style, free = (kept(deep["sphere", label]) for label in (FULL, FREE))
    return Finding(f"$R^2$ {span(style)}, without content {span(free)}", float(style.mean()), (0.5 - style / free,))


@chapter.claim(
    "cs-last-layer", "CS Section 4.1, last layer", **SPHERES, **SEEN, theirs=THEIR_DEEP,
    says="At equal temperatures the collapse is in the last layer of a deep encoder only",
    bar="style loses more $R^2$ in the last layer than from x to the layer before")
def last_layer(deep):
    start, before, after = (kept(deep["sphere", FULL], layer) for layer in (0, -2, -1))
    return Finding(f"{span(before - after)} in the last layer, {span(start - before)} before it",
                   float((before - after).mean()), (2 * before - start - after,))


@chapter.claim(
    "cs-deep-lower-tau", "CS Fig. 1 right", **SPHERES, **OURS, bar="$R^2$ is higher",
    says="On the sphere half the temperature for all dimensions leaves more style at a deep encoder's output")
def lower_tau(deep):
    more = kept(deep["sphere", r"$d_c$ = 5, all $\tau$ halved"]) - kept(deep["sphere", FULL])
    return Finding(f"$R^2$ higher by {span(more)}", float(more.mean()), (more,))


@chapter.claim(
    "cs-fig-1-middle", "CS Fig. 1 middle; CS Section 4.1, deep box", anchor="fig-cs-depth", **ONE,
    says=r"With content, a deep encoder in the box loses its style, and less of it with $\tau_c < \tau_s$",
    theirs=THEIR_DEEP, here=f"tau_c = 1 and .1, p = 2, {OUR_DEEP}",
    bar="$R^2$ below half of that without content, and higher with the lower temperature")
def deep_box(deep):
    free, style, low = (kept(deep["box", label]) for label in (FREE, FULL, r"$d_c$ = 5, $\tau_c$ = .1"))
    return Finding(f"$R^2$ {style[0]:.2f}, without content {free[0]:.2f}, with the lower temperature {low[0]:.2f}",
                   float(style[0]), (0.5 - style / free, low - style))


@chapter.claim(
    "cs-deep-sphere", "CS Section 4.1, deep sphere", anchor="fig-cs-depth", **ONE,
    says=r"On the sphere $\tau_c < \tau_s$ alleviates the collapse of a deep encoder if the norm is removed too",
    theirs=THEIR_DEEP, here=f"tau = .5, tau_c = 1 and .3, {OUR_DEEP}",
    bar="$R^2$ higher than with neither, and than with the temperatures alone")
def norm_too(deep):
    both, bare = (kept(deep["sphere, no $\\ell_2$ norm", label]) for label in (COOL, FULL))
    alone, none = kept(deep["sphere", COOL]), kept(deep["sphere", FULL])[:1]
    return Finding(f"$R^2$ {none[0]:.2f} with neither, {alone[0]:.2f} with tau_c, {bare[0]:.2f} without the norm, "
                   f"{both[0]:.2f} with both", float(both[0]), (both - none, both - alone))


@chapter.claim(
    "cs-table-2-before", "CS Table 2, before the projector", shown=True, **DIGITS, **SEEN,
    says="A linear readout is better before the projector than after it", theirs="ResNet50, CIFAR-10, 3 seeds",
    bar="better in each of three settings")
def before_better(heads):
    lead = {name: read(runs, BEFORE) - read(runs, AFTER) for name, runs in list(heads.items())[:3]}
    return Finding("by " + ", ".join(f"{span(v, '.3f')} ({name})" for name, v in lead.items()),
                   float(np.mean([*lead.values()])), tuple(lead.values()))


@chapter.claim(
    "cs-table-2-two", "CS Table 2, two temperatures", **DIGITS, **SEEN,
    says="Without the norm, two temperatures improve the readout, after the projector and before it",
    theirs="ResNet50, CIFAR-10: 91.4 to 92.5 percent after, 92.5 to 93.2 before", bar="better, in both places")
def two_temperatures(heads):
    _, bare, two = (np.array([read(runs, k) for k in (AFTER, BEFORE)]) for runs in list(heads.values())[:3])
    text = "after {:.3f} to {:.3f}, before {:.3f} to {:.3f}".format(*np.stack([bare, two], 1).mean(2).ravel())
    between = read(heads["one, in between"], AFTER).mean()
    return Finding(f"{text}; one temperature in between: {between:.3f} after", float(two[0].mean()), tuple(two - bare))


@chapter.claim(
    "cs-two-spectrum", "CS Section 4.2, two temperatures", **DIGITS, **SEEN, theirs="ResNet50, CIFAR-10",
    says="Two temperatures do not change the spectrum of the representations",
    bar="the effective rank after the projector changes by no more than twice its standard deviation over seeds")
def two_spectrum(heads):
    regular, bare, two = ranks(heads)
    return Finding(f"{span(two / bare)} times; removing the norm: {span(bare / regular)} times",
                   float((two / bare).mean()), (2 * bare.std(ddof=1) - abs(two - bare),))


@chapter.claim(
    "cs-fig-2", "CS Fig. 2", **DIGITS, **SEEN, theirs="ResNet50, CIFAR-10; how outputs are scaled is not given",
    says="Removing the norm and standardising the outputs substantially reduces the collapse after the projector",
    bar="the effective rank rises by a quarter (our reading of substantially, set after the run)")
def norm_removed(heads):
    regular, bare, _ = ranks(heads)
    rise = bare / regular - 1
    return Finding(f"by {span(rise, '.0%')}", float(rise.mean()), (rise - 0.25,))


@chapter.claim(
    "cs-fig-4", "CS Fig. 4", **DIRECT, theirs="ResNet50, long training", evidence="decay .01 and 1, to 3 digits",
    says="Weight decay drives DirectCLR's last weights to zero in the dimensions that the loss does not see",
    verdicts=("holds when", "fails"), condition="learning rate times decay times steps is well above 1",
    bar="after t steps they are (1 - lr decay)^t of their start, which tends to zero")
def decayed(direct, strong):
    runs = (direct[0], strong)
    left = np.array([(run.rows[-1] / run.rows[0])[run.config.direct:].mean() for run in runs])
    law = np.array([(1 - run.config.lr * run.config.decay) ** run.config.steps for run in runs])
    return Finding(f"{left[0]:.3f} and {left[1]:.3f} of it; by the law {law[0]:.3f} and {law[1]:.3f}", float(left[1]),
                   (1e-3 - float(abs(left / law - 1).max()),))


@chapter.claim(
    "cs-h-against-r", "CS App. E, h against r; CS App. E, DirectCLR against SimCLR", **DIRECT, **SEEN,
    says="A linear readout of DirectCLR's r is worse than one of its h, and than SimCLR's",
    theirs="ResNet50: 61.6 percent from r, 63.1 from h, 66.5 with SimCLR", bar="worse than both")
def r_reads_worse(direct, heads):
    h, r, other = read(direct, 0), read(direct, 1), read(heads["regular"], BEFORE)
    return Finding(f"r {r.mean():.3f}, h {h.mean():.3f}, SimCLR {other.mean():.3f}", float(r.mean()),
                   (h - r, other - r))


from clbook.experiments.content_style import theory_claims  # noqa: E402, F401 (registers its claims)
