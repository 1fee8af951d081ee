"""What CS say about content and style, judged on the chapter's runs; the rest is judged in the room cs."""

import numpy as np

from clbook.claims import Chapter, Finding, span
from clbook.experiments.content_style.experiment import gains, singular
from clbook.experiments.content_style.recipes import ROWS

chapter = Chapter(__file__)
FREE, FULL = "$d_c$ = 0", "$d_c$ = 5"  # labels of deep runs
BEFORE, AFTER = "h", "z"  # places of the projector


def ends(runs) -> np.ndarray:
    """(seeds, d) normalised singular values at the end."""
    return np.array([singular(run.map[-1]) for run in runs])


def gained(runs, style: bool) -> np.ndarray:
    """(seeds,) mean gain of style, or of content, at the end."""
    parts = [slice(run.config.d_c, None) if style else slice(run.config.d_c) for run in runs]
    return np.array(
        [gains(run.map[-1])[part].mean() for run, part in zip(runs, parts, strict=True)]
    )


def kept(runs, layer: int = -1) -> np.ndarray:
    """(seeds,) R^2 of the style in a layer, the last one unless said, at the end."""
    return np.array([run.style_r2[-1, layer] for run in runs])


def read(heads, variant: str, place: str):
    """(seeds,) readout accuracy at a place, at the end, of one of the recorded settings of `recipes`."""
    return heads.readout.sel(variant=variant, place=place)


def ranks(heads) -> list:
    """(seeds,) effective rank after the projector: regular, without norm, two temperatures, one in between."""
    return [heads["rank"].sel(variant=name, place=AFTER) for name in ROWS]


@chapter.measure("cs-fig-1-left")
def spectrum(box, globe):
    level = [ends(runs[0])[:, -1] for runs in (box, globe)]
    fallen = [ends(box[k])[:, k] for k in (1, 2, 4)] + [ends(globe[4])[:, 4]]
    return Finding(
        f"without content the smallest is {span(level)}; with it the largest of style {span(fallen[:3])} "
        f"(box), {span(fallen[3])} (sphere)",
        float(np.max(fallen)),
        (*(v - 0.5 for v in level), *(0.5 - v for v in fallen)),
    )


@chapter.measure("cs-box-content-grows")
def content_grows(box):
    gain = np.array([[gained(box[k], style) for k in (1, 2, 4)] for style in (False, True)])
    content, style = gain / gained(box[0], style=True)
    return Finding(
        f"content {span(content, '.1f')} times, style {span(style)} times the gain without content",
        float(style.mean()),
        tuple(np.log(content * style)),
    )


@chapter.measure("cs-sphere-threshold")
def threshold(rows):
    left, gain = np.array(rows).T[2:4].reshape(2, -1, 3)  # (settings, seeds)
    above, below = np.where(left >= 1, gain, 0).max(0), np.where(left < 1, gain, np.inf).min(0)
    return Finding(
        f"at most {above.max():.2f} of content's above, at least {below.min():.2f} below",
        float(above.max()),
        (below - above,),
    )


@chapter.measure("cs-fig-1-right")
def deep_sphere(deep):
    style, free = (kept(deep["sphere", label]) for label in (FULL, FREE))
    return Finding(
        f"$R^2$ {span(style)}, without content {span(free)}",
        float(style.mean()),
        (0.5 - style / free,),
    )


@chapter.measure("cs-deep-lower-tau")
def lower_tau(deep):
    more = kept(deep["sphere", r"$d_c$ = 5, all $\tau$ halved"]) - kept(deep["sphere", FULL])
    return Finding(f"$R^2$ higher by {span(more)}", float(more.mean()), (more,))


@chapter.measure("cs-table-2-before")
def before_better(heads):
    lead = {}
    for name in list(ROWS)[:3]:
        lead[name] = read(heads, name, BEFORE) - read(heads, name, AFTER)
    return Finding(
        "by " + ", ".join(f"{span(v, '.3f')} ({name})" for name, v in lead.items()),
        float(np.mean([*lead.values()])),
        tuple(lead.values()),
    )


@chapter.measure("cs-table-2-two")
def two_temperatures(heads):
    texts, gains = [], []
    for words, place in (("after", AFTER), ("before", BEFORE)):
        bare = read(heads, "without norm", place)
        two = read(heads, "two temperatures", place)
        texts.append(f"{words} {bare.mean():.3f} to {two.mean():.3f}")
        gains.append(two - bare)
    after = read(heads, "two temperatures", AFTER).mean()
    between = read(heads, "one, in between", AFTER).mean()
    return Finding(
        f"{', '.join(texts)}; one temperature in between: {between:.3f} after",
        float(after),
        tuple(gains),
    )


@chapter.measure("cs-two-spectrum")
def two_spectrum(heads):
    _, bare, two, between = ranks(heads)
    return Finding(
        f"{span(two / bare)} times; one temperature in between does the same ({between.mean():.1f} against "
        f"{two.mean():.1f})",
        float((two / bare).mean()),
        (2 * bare.std(ddof=1) - abs(two - bare),),
    )


@chapter.measure("cs-fig-2")
def norm_removed(heads):
    regular, bare, *_ = ranks(heads)
    rise = bare / regular - 1
    return Finding(f"by {span(rise, '.0%')}", float(rise.mean()), (rise - 0.25,))


@chapter.measure("cs-fig-4")
def decayed(direct, strong):
    runs = (direct, strong)
    left = np.array([(run.rows[-1] / run.rows[0])[run.config.direct :].mean() for run in runs])
    law = np.array([(1 - run.config.lr * run.config.decay) ** run.config.steps for run in runs])
    return Finding(
        f"{left[0]:.3f} and {left[1]:.3f}; by the law {law[0]:.3f} and {law[1]:.3f}",
        float(left[1]),
        (1e-3 - float(abs(left / law - 1).max()),),
    )


@chapter.measure("cs-h-against-r")
def r_reads_worse(directclr, heads):
    h, r = (read(directclr, "directclr", place) for place in ("h", "r"))
    other = read(heads, "regular", BEFORE)
    return Finding(
        f"r {r.mean():.3f}, h {h.mean():.3f}, SimCLR {other.mean():.3f}",
        float(r.mean()),
        (h - r, other - r),
    )


@chapter.measure("cs-prop-4-optimum")
def optimum(surface):
    best = np.array([loss.min(1) / loss[:, 0] for loss in surface.values()])
    return Finding(
        f"the best style has {span(best)} of the loss without",
        float(best.max()),
        (float(best.max()) - 1 + 1e-9,),
    )
