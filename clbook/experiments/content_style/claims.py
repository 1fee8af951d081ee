"""What CS say about content and style, judged on the chapter's runs; their formulas are in `theory_claims`."""

import numpy as np

from clbook.claims import Chapter, Finding, span
from clbook.experiments.content_style.experiment import gains, singular, style_gain

chapter = Chapter(__file__)
BOXES = ("box, p = 2", "box, p = 1")  # names of the two, `tempered` has the sphere's as well
FREE, FULL, COOL = "$d_c$ = 0", "$d_c$ = 5", r"$d_c$ = 5, $\tau_c$ = .3"  # labels of deep runs
BEFORE, AFTER = 0, -1  # places of the projector
TOTAL, (INVERSE, SCALED, TRAINED, BARE, BESIDE) = 2, range(5)  # row, and columns, of the table of losses


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


@chapter.measure("cs-fig-1-left")
def spectrum(box, globe, mild):
    level = [ends(runs[0])[:, -1] for runs in (box, globe)]
    fallen = [ends(box[k])[:, k] for k in (1, 2, 4)] + [ends(runs)[:, 4] for runs in (globe[4], mild)]
    return Finding(f"without content the smallest is {span(level)}; with it the largest of style {span(fallen[:3])} "
                   f"(box), {span(fallen[3:])} (sphere)", float(np.max(fallen)),
                   (*(v - 0.5 for v in level), *(0.5 - v for v in fallen)))


@chapter.measure("cs-box-content-grows")
def content_grows(box):
    gain = np.array([[gained(box[k], style) for k in (1, 2, 4)] for style in (False, True)])
    content, style = gain / gained(box[0], style=True)
    return Finding(f"content {span(content, '.1f')} times, style {span(style)} times the gain without content",
                   float(style.mean()), tuple(np.log(content * style)))


@chapter.measure("cs-sphere-threshold")
def threshold(rows):
    _, _, left, gain, _ = np.array(rows).T
    above, below = gain[left >= 1].max(), gain[left < 1].min()
    return Finding(f"at most {above:.2f} of content's above, at least {below:.2f} below", above, (below - above,))


@chapter.measure("cs-table-1")
def beats_inverse(parts):
    box, ball = parts["box", 2][:, TOTAL], parts["sphere", 4][:, TOTAL]
    means = [v.mean() for v in (box[:, TRAINED], box[:, SCALED], ball[:, TRAINED], ball[:, INVERSE])]
    return Finding("box {:.2f} against {:.2f}, sphere {:.2f} against {:.2f}".format(*means), float(means[0]),
                   (box[:, SCALED] - box[:, TRAINED], ball[:, INVERSE] - ball[:, TRAINED]))


@chapter.measure("cs-box-style-pays")
def style_pays(parts):
    without, beside = parts["box", 2][:, TOTAL, [BARE, BESIDE]].T
    means = without.mean(), beside.mean()
    return Finding("{:.2f} without, {:.2f} with it".format(*means), float(means[1]), (without - beside,))


@chapter.measure("cs-units")
def units(unit):
    return Finding(f"by {max(unit):.0e} at most", max(unit), (1e-12 - max(unit),))


@chapter.measure("cs-fig-1-dashed")
def dashed(level, tempered):
    least = {name: (ends(runs[0.01])[:, -1], ends(level[name])[:, -1]) for name, runs in tempered.items()}
    gap = [abs(ends(runs[0.01]) - ends(level[name]).mean(0)).max(1) for name, runs in tempered.items()]
    return Finding("smallest, and without content: " + "; ".join(f"{span(a)}, {span(b)} ({name})" for name, (a, b)
                   in least.items()), float(np.min(gap)), (0.1 - np.min(gap, 0),))


def changes(tempered, tau_c: float) -> tuple[str, dict]:
    """Words for, and by world (seeds,), the factor by which a tau_c other than 1 changes style's share of the gain."""
    factors = {name: relative(runs[tau_c]) / relative(runs[1.0]) for name, runs in tempered.items()}
    return "times " + ", ".join(f"{span(v)} ({name})" for name, v in factors.items()), factors


@chapter.measure("cs-low-tau-c")
def low_tau_c(tempered):
    text, factors = changes(tempered, 0.01)
    return Finding(text, float(factors["sphere"].mean()), tuple(np.log(factors[name]) for name in BOXES))


@chapter.measure("cs-high-tau-c")
def high_tau_c(tempered):
    text, factors = changes(tempered, 10.0)
    return Finding(text, float(factors["sphere"].mean()), tuple(np.log(v) for v in factors.values()))


@chapter.measure("cs-undone")
def undone(tempered):
    before, after = (np.array([relative(tempered[k][tau], undone=True) for k in BOXES]) for tau in (1.0, 0.01))
    return Finding(f"{span(after, '.3f')} of content's; at equal temperatures {span(before, '.3f')}",
                   float(after.mean()), tuple(np.log(before / after)))


@chapter.measure("cs-fig-1-right")
def deep_sphere(deep):
    style, free = (kept(deep["sphere", label]) for label in (FULL, FREE))
    return Finding(f"$R^2$ {span(style)}, without content {span(free)}", float(style.mean()), (0.5 - style / free,))


@chapter.measure("cs-last-layer")
def last_layer(deep):
    start, before, after = (kept(deep["sphere", FULL], layer) for layer in (0, -2, -1))
    return Finding(f"{span(before - after)} in the last layer, {span(start - before)} before it",
                   float((before - after).mean()), (2 * before - start - after,))


@chapter.measure("cs-deep-lower-tau")
def lower_tau(deep):
    more = kept(deep["sphere", r"$d_c$ = 5, all $\tau$ halved"]) - kept(deep["sphere", FULL])
    return Finding(f"$R^2$ higher by {span(more)}", float(more.mean()), (more,))


@chapter.measure("cs-fig-1-middle")
def deep_box(deep):
    free, style, low = (kept(deep["box", label]) for label in (FREE, FULL, r"$d_c$ = 5, $\tau_c$ = .1"))
    return Finding(f"$R^2$ {style[0]:.2f}, without content {free[0]:.2f}, with the lower temperature {low[0]:.2f}",
                   float(style[0]), (0.5 - style / free, low - style))


@chapter.measure("cs-deep-sphere")
def norm_too(deep):
    both, bare = (kept(deep["sphere, no $\\ell_2$ norm", label]) for label in (COOL, FULL))
    alone, none = kept(deep["sphere", COOL]), kept(deep["sphere", FULL])[:1]
    return Finding(f"$R^2$ {none[0]:.2f} with neither, {alone[0]:.2f} with tau_c, {bare[0]:.2f} without the norm, "
                   f"{both[0]:.2f} with both", float(both[0]), (both - none, both - alone))


@chapter.measure("cs-table-2-before")
def before_better(heads):
    lead = {name: read(runs, BEFORE) - read(runs, AFTER) for name, runs in list(heads.items())[:3]}
    return Finding("by " + ", ".join(f"{span(v, '.3f')} ({name})" for name, v in lead.items()),
                   float(np.mean([*lead.values()])), tuple(lead.values()))


@chapter.measure("cs-table-2-two")
def two_temperatures(heads):
    _, bare, two = (np.array([read(runs, k) for k in (AFTER, BEFORE)]) for runs in list(heads.values())[:3])
    text = "after {:.3f} to {:.3f}, before {:.3f} to {:.3f}".format(*np.stack([bare, two], 1).mean(2).ravel())
    between = read(heads["one, in between"], AFTER).mean()
    return Finding(f"{text}; one temperature in between: {between:.3f} after", float(two[0].mean()), tuple(two - bare))


@chapter.measure("cs-two-spectrum")
def two_spectrum(heads):
    regular, bare, two = ranks(heads)
    return Finding(f"{span(two / bare)} times; removing the norm: {span(bare / regular)} times",
                   float((two / bare).mean()), (2 * bare.std(ddof=1) - abs(two - bare),))


@chapter.measure("cs-fig-2")
def norm_removed(heads):
    regular, bare, _ = ranks(heads)
    rise = bare / regular - 1
    return Finding(f"by {span(rise, '.0%')}", float(rise.mean()), (rise - 0.25,))


@chapter.measure("cs-fig-4")
def decayed(direct, strong):
    runs = (direct[0], strong)
    left = np.array([(run.rows[-1] / run.rows[0])[run.config.direct:].mean() for run in runs])
    law = np.array([(1 - run.config.lr * run.config.decay) ** run.config.steps for run in runs])
    return Finding(f"{left[0]:.3f} and {left[1]:.3f} of it; by the law {law[0]:.3f} and {law[1]:.3f}", float(left[1]),
                   (1e-3 - float(abs(left / law - 1).max()),))


@chapter.measure("cs-h-against-r")
def r_reads_worse(direct, heads):
    h, r, other = read(direct, 0), read(direct, 1), read(heads["regular"], BEFORE)
    return Finding(f"r {r.mean():.3f}, h {h.mean():.3f}, SimCLR {other.mean():.3f}", float(r.mean()),
                   (h - r, other - r))


from clbook.experiments.content_style import theory_claims  # noqa: E402, F401 (registers its claims)
