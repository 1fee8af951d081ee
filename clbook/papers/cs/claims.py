"""What CS say of trained encoders, their figures and tables, judged on the runs and records of the page papers/cs."""

import numpy as np

from clbook.claims import Chapter, Finding, listed, span
from clbook.experiments.content_style.experiment import singular, style_gain
from clbook.papers.cs.recipes import DIGITS, SDS, SPACES, WORLDS

chapter = Chapter(__file__)
BOXES, KS = {"box, p = 2": 2, "box, p = 1": 1}, (1, 2, 4)
TOTAL, (INVERSE, SCALED, TRAINED, BARE, BESIDE) = (
    2,
    range(5),
)  # row, and columns, of the table of losses


def least(maps) -> np.ndarray:
    """(seeds,) smallest singular value over the largest of maps (seeds, 8, 8)."""
    return singular(maps)[:, -1]


def kept(deep, world: str, sd: float, label: str, width: int = 50, layer: int = -1) -> np.ndarray:
    """(seeds,) R^2 of the style in a layer, the output unless said."""
    return deep[width, world, sd, label].style.isel(layer=layer).values


def by_spread(name, values) -> str:
    """Words: the means over seeds of values {sd: (seeds,)}."""
    return f"{name} {listed([v.mean() for v in values])}"


def at_spreads(deep, label: str, width: int = 50, layer: int = -1) -> dict:
    """{world: [(seeds,) R^2 of the style in a layer, for each spread]}."""
    return {world: [kept(deep, world, sd, label, width, layer) for sd in SDS] for world in SPACES}


def fallen(deep, world: str, width: int = 50) -> tuple[str, list[np.ndarray]]:
    """Words for the R^2 of style with content and without; [(seeds,) a half less the one over the other]."""
    style, free = (at_spreads(deep, label, width)[world] for label in ("content", "no content"))
    text = "; ".join((by_spread(f"{world}, content", style), by_spread("without", free)))
    return text, [0.5 - s / f for s, f in zip(style, free, strict=True)]


@chapter.measure("cs-abstract")
def low_rank_projector(keeping):
    losses, fits = (np.array([k[part] for k in keeping["sphere"]]) for part in (0, 1))
    lead, style = losses[:, 1:].min(1) - losses[:, 0], fits[:, 0, 1]
    box = np.array([k[0] for k in keeping["box"]])
    return Finding(
        f"sphere: the loss is lower by {span(lead, '.3f')} without style, whose $R^2$ is {span(style)}; in "
        f"the box the loss is higher by {span(box[:, 0] - box[:, 1:].min(1))}",
        float(lead.mean()),
        (lead, 0.1 - style),
    )


@chapter.measure("cs-inversion")
def inverted(linear):
    level = [least(linear[world, 0, 1.0]) for world in WORLDS]
    return Finding(
        "; ".join(f"{span(v)} ({world})" for v, world in zip(level, WORLDS, strict=True)),
        float(np.min(level)),
        tuple(v - 0.8 for v in level),
    )


@chapter.measure("cs-inversion-deep")
def inverted_deep(deep):
    found = at_spreads(deep, "no content")
    every = [v for values in found.values() for v in values]
    return Finding(
        "; ".join(by_spread(world, v) for world, v in found.items()),
        float(np.min(every)),
        tuple(v - 0.9 for v in every),
    )


@chapter.measure("cs-conjecture-1")
def shielded(shield):
    fourth = [shield[5, above].style.sel(layer="fourth") for above in range(4)]
    return Finding(
        f"$R^2$ {listed([v.mean() for v in fourth])} under 0 to 3 layers",
        float((fourth[3] - fourth[0]).mean()),
        (fourth[3] - fourth[0],),
    )


@chapter.measure("cs-shield-content")
def shield_needs_content(shield):
    fourth = {key: runs.style.sel(layer="fourth") for key, runs in shield.items()}
    gain = {k: fourth[k, 3] - fourth[k, 0] for k in (5, 0)}
    return Finding(
        f"by {span(gain[5])}; without content by {span(gain[0])}",
        float((gain[5] - gain[0]).mean()),
        (gain[5] - gain[0],),
    )


@chapter.measure("cs-lemma-1")
def classes_collapse(classes):
    run = classes.sel(variant="style drawn anew")
    within, style = run.within.isel(step=-1), run.style.isel(layer=-1)
    off = abs(run.cosines + 1 / 3).max("pair")
    return Finding(
        f"within over between {span(within, '.4f')}; $R^2$ of style {span(style)}; cosines off by "
        f"{span(off)} at most",
        float(within.mean()),
        (0.1 - within, 0.1 - style, 0.1 - off),
    )


@chapter.measure("cs-lemma-1-near")
def near_style_stays(classes):
    run = classes.sel(variant="style near the old one")
    within, style = run.within.isel(step=-1), run.style.isel(layer=-1)
    return Finding(
        f"within over between {span(within)}; $R^2$ of style {span(style)}",
        float(within.mean()),
        (0.1 - within,),
    )


@chapter.measure("cs-lemma-4")
def classifier_simplex(classifier):
    run = classifier.sel(variant="classifier")
    off, within = abs(run.cosines + 1 / 3).max("pair"), run.within.isel(step=-1)
    return Finding(
        f"cosines off by {span(off)} at most; within over between {span(within, '.4f')}",
        float(off.mean()),
        (0.1 - off,),
    )


@chapter.measure("cs-fig-1-dashed")
def dashed(linear):
    free = {world: singular(linear[world, 0, 1.0]).mean(0) for world in WORLDS}
    gap = [
        np.max([abs(singular(linear[world, k, 0.01]) - free[world]).max(1) for k in KS], 0)
        for world in WORLDS
    ]
    left = {
        tau: {world: [least(linear[world, k, tau]).mean() for k in KS] for world in WORLDS}
        for tau in (0.01, 1.0)
    }
    text = "; ".join(
        f"{listed(left[0.01][world])}, at equal temperatures {listed(left[1.0][world])}, without content "
        f"{free[world][-1]:.2f} ({world})"
        for world in WORLDS
    )
    return Finding(
        "smallest over largest singular value for d_c = 1, 2, 4: " + text,
        float(np.min(gap)),
        (0.1 - np.min(gap, 0),),
    )


@chapter.measure("cs-low-tau-c")
def low_tau_c(linear):
    free = {world: least(linear[world, 0, 1.0]) for world in BOXES}
    low = {world: [least(linear[world, k, 0.01]) for k in KS] for world in BOXES}
    text = "; ".join(
        f"{listed(np.mean(low[w], 1))} of {free[w].mean():.2f} (p = {p})" for w, p in BOXES.items()
    )
    return Finding(
        text,
        float(np.min(low["box, p = 1"])),
        tuple(v / free[world] - 0.5 for world in BOXES for v in low[world]),
    )


@chapter.measure("cs-low-tau-c-gain", 0.01, BOXES)
@chapter.measure("cs-high-tau-c", 10.0, WORLDS)
def changed(tau_c: float, worlds, linear) -> Finding:
    """The factor by which a tau_c not 1 changes style's share of the gain; above 1 in `worlds`, for each d_c?"""
    factors = {
        (world, k): style_gain(linear[world, k, tau_c], k) / style_gain(linear[world, k, 1.0], k)
        for world in WORLDS
        for k in KS
    }
    spans = [span([v for key, v in factors.items() if key[0] == world]) for world in WORLDS]
    asked = [v for (world, _), v in factors.items() if world in worlds]
    return Finding(
        "times "
        + ", ".join(f"{words} ({world})" for words, world in zip(spans, WORLDS, strict=True)),
        float(np.mean(asked)),
        tuple(map(np.log, asked)),
    )


@chapter.measure("cs-undone")
def undo(linear):
    found = {}
    for world, p in BOXES.items():
        for tau in (0.01, 1.0):
            units = [np.where(np.arange(8) < k, tau, 1)[:, None] ** (1 / p) for k in KS]
            found[p, tau] = np.array(
                [style_gain(linear[world, k, tau] / u, k) for k, u in zip(KS, units, strict=True)]
            )
    text = "; ".join(
        f"{span(found[p, 0.01], '.3f')} of content's, at equal temperatures {span(found[p, 1.0], '.3f')} "
        f"(p = {p})"
        for p in (2, 1)
    )
    return Finding(
        text, float(found[2, 0.01].mean()), tuple(np.log(found[2, 1.0] / found[2, 0.01]))
    )


@chapter.measure("cs-units")
def units(unit):
    return Finding(f"by {max(unit):.0e} at most", max(unit), (1e-12 - max(unit),))


@chapter.measure("cs-table-1")
def beats_inverse(parts):
    box, ball = parts["box", 2][:, TOTAL], parts["sphere", 4][:, TOTAL]
    means = [
        v.mean() for v in (box[:, TRAINED], box[:, SCALED], ball[:, TRAINED], ball[:, INVERSE])
    ]
    return Finding(
        "box {:.2f} against {:.2f}, sphere {:.2f} against {:.2f}".format(*means),
        float(means[0]),
        (box[:, SCALED] - box[:, TRAINED], ball[:, INVERSE] - ball[:, TRAINED]),
    )


@chapter.measure("cs-box-style-pays")
def style_pays(parts):
    without, beside = parts["box", 2][:, TOTAL, [BARE, BESIDE]].T
    means = without.mean(), beside.mean()
    return Finding(
        "{:.2f} without, {:.2f} with it".format(*means), float(means[1]), (without - beside,)
    )


@chapter.measure("cs-table-1-deep-box", "box")
@chapter.measure("cs-table-1-deep-sphere", "sphere")
def beaten(world: str, deep) -> Finding:
    """By how much a deep encoder's loss is below that of the inverse of g, at the settings of Table 1."""
    (inverse, trained), control = (
        deep[50, f"{world} of Table 1", 0.05, label].terms.values[:, :, TOTAL].T
        for label in ("content", "no content")
    )
    means = [v.mean() for v in (trained, inverse, *control[::-1])]
    return Finding(
        "{:.2f} against {:.2f} (without content {:.2f} against {:.2f})".format(*means),
        float(means[0]),
        (inverse - trained,),
    )


@chapter.measure("cs-table-1-settings")
def decoded(inverse):
    box, other, ball = (
        np.array(inverse[key])[:, 1] for key in (("box", 2), ("box", 1), ("sphere", 2))
    )
    return Finding(
        f"box {box.mean():.2f} (p = 2), {other.mean():.2f} (p = 1); sphere {ball.mean():.2f}",
        float(box.mean()),
        (0.2 - abs(box - 7.69), abs(other - 7.69) - 0.2, 0.01 - abs(ball - 9.26)),
    )


@chapter.measure("cs-deep-converged", 50)
@chapter.measure("cs-deep-narrow", 10)
def reads_as_well(width: int, deep) -> Finding:
    """Whether the output reads the style at least as well as x without content; what else was tried is in the text."""
    out, x = (at_spreads(deep, "no content", width, layer) for layer in (-1, 0))
    more = [a - b for world in SPACES for a, b in zip(out[world], x[world], strict=True)]
    tried = [
        run.style.isel(layer=-1).mean()
        for (w, world, *_), run in deep.items()
        if w == width and "," in world
    ]
    also = f"; other steps, lengths and batches, at most {max(tried):.2f}" if tried else ""
    return Finding(
        "; ".join(f"{by_spread(world, out[world])} (x {span(x[world])})" for world in SPACES)
        + also,
        float(np.min(more)),
        tuple(v >= 0 for v in more),
    )


@chapter.measure("cs-fig-1-narrow")
def deep_narrow(deep):
    found = [fallen(deep, world, 10) for world in SPACES]
    early = reads_as_well(10, deep).value < 0
    return Finding(
        "; ".join(text for text, _ in found),
        None,
        tuple(v for _, less in found for v in less),
        "undecided" if early else None,
    )


@chapter.measure("cs-fig-1-middle")
def deep_box(deep):
    text, less = fallen(deep, "box")
    low, equal = (kept(deep, "box", 0.15, label) for label in ("lower tau_c", "content"))
    best = max(less, key=np.mean)
    return Finding(
        f"{text}; lower tau_c, sd .15 {low.mean():.2f}",
        float(0.5 - best.mean()),
        (best, low - equal),
    )


@chapter.measure("cs-fig-1-right-long")
def deep_sphere(deep):
    text, less = fallen(deep, "sphere")
    return Finding(text, float(0.5 - np.mean(less)), tuple(less))


@chapter.measure("cs-last-layer", "sphere")
@chapter.measure("cs-last-layer-box", "box")
def lost_last(world: str, deep) -> Finding:
    """How much more R^2 of style the last layer loses than those before it."""
    runs = [deep[50, world, sd, "content"].style.values for sd in SDS]
    last, before = [r[:, -2] - r[:, -1] for r in runs], [r.max(1) - r[:, -2] for r in runs]
    return Finding(
        f"{by_spread('in the last layer', last)}; {by_spread('before it', before)}",
        float(np.mean(last)),
        tuple(a - b for a, b in zip(last, before, strict=True)),
    )


@chapter.measure("cs-deep-sphere")
def norm_too(deep):
    none, alone, both = (
        [kept(deep, "sphere", sd, k) for sd in SDS[1:]] for k in ("content", "lower tau_c", "both")
    )
    more = tuple(b - v for other in (none, alone) for b, v in zip(both, other, strict=True))
    text = f"{by_spread('with neither', none)}; {by_spread('with tau_c', alone)}; {by_spread('with both', both)}"
    return Finding(f"$R^2$ {text}", float(np.mean(both)), more)


@chapter.measure("cs-deep-norm")
def temperatures_without_norm(deep):
    bare, both = (
        [kept(deep, "sphere", sd, label) for sd in SDS[1:]] for label in ("no norm", "both")
    )
    more = tuple(b - v for b, v in zip(both, bare, strict=True))
    return Finding(
        f"{by_spread('with two temperatures', both)}; {by_spread('with equal ones', bare)}",
        float(np.mean(more)),
        more,
    )


@chapter.measure("cs-threshold-deep")
def threshold_misses(deep, predicted):
    share = [0.5 - less for less in fallen(deep, "sphere")[1]]
    left = [predicted[sd][0] for sd in SDS]
    return Finding(
        f"at {listed(left)} of the threshold {by_spread('a share of', share)}",
        float(np.min(share)),
        (1 - max(left), *(v - 0.5 for v in share)),
    )


def digits_columns(digits, name: str, place: str) -> list:
    """(seeds,) of the variants regular, without norm, two temperatures: the readout or the rank at a place."""
    return [digits[name].sel(variant=variant, place=place) for variant in DIGITS]


@chapter.measure("cs-fig-2-literal")
def norm_removed(digits):
    regular, bare, _ = digits_columns(digits, "rank", "z")
    return Finding(
        f"effective rank {span(regular, '.1f')} with the norm, {span(bare, '.1f')} without",
        float((bare / regular).mean()),
        (bare / regular - 1.25,),
    )


@chapter.measure("cs-table-2-norm")
def readout_without_norm(digits):
    after, before = (digits_columns(digits, "readout", place) for place in ("z", "h"))
    return Finding(
        "after {:.3f} to {:.3f}, before {:.3f} to {:.3f}".format(
            *(v.mean() for v in (*after[:2], *before[:2]))
        ),
        float((after[1] - after[0]).mean()),
        (2 * after[0].std(ddof=1) - abs(after[1] - after[0]),),
    )


@chapter.measure("cs-table-2-caption", 1)
@chapter.measure("cs-table-2-two-literal", 2)
def better(row: int, digits) -> Finding:
    """How much better a row's readout is than that of the row before it, after the projector and before it."""
    after, before = (
        v[row] - v[row - 1]
        for v in (digits_columns(digits, "readout", place) for place in ("z", "h"))
    )
    return Finding(
        f"after by {span(after, '+.3f')}, before by {span(before, '+.3f')}",
        float(after.mean()),
        (after, before),
    )


@chapter.measure("cs-two-spectrum-literal")
def two_spectrum(digits):
    _, bare, two = digits_columns(digits, "rank", "z")
    return Finding(
        f"{span(two / bare)} times",
        float((two / bare).mean()),
        (2 * bare.std(ddof=1) - abs(two - bare),),
    )


@chapter.measure("cs-eq-28")
def only_concatenated(decayed):
    unused = decayed.sel(variant="directclr").isel(row=slice(12, None))
    added, left = unused.added.max("row"), unused.left.max("row")
    return Finding(
        f"at most {span(added, '.4f')} of h, with {span(left, '.4f')} of the weights left",
        float(added.mean()),
        (0.01 - added,),
    )


@chapter.measure("cs-h-against-r-decayed")
def r_reads_worse(decayed):
    h, r = (decayed.readout.sel(variant="directclr", place=place) for place in ("h", "r"))
    other = decayed.readout.sel(variant="simclr", place="h")
    return Finding(
        f"r {r.mean():.3f}, h {h.mean():.3f}, SimCLR {other.mean():.3f}",
        float(r.mean()),
        (h - r, other - r),
    )


from clbook.papers.cs import theory_claims  # noqa: E402, F401 (registers its claims)
