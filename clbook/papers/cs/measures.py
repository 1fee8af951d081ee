"""How the claims of CS are measured, in the order of items.yaml."""

import numpy as np

from clbook.experiments.content_style.experiment import gains, singular, style_gain
from clbook.experiments.content_style.recipes import ROWS
from clbook.experiments.photographs.figures import ranks
from clbook.experiments.photographs.recipes import OUTPUTS
from clbook.metrics import spectral_rank
from clbook.papers.cs.recipes import DIGITS, SDS, SPACES, WORLDS
from clbook.papers.judging import Finding, Measures, listed, span

measures = Measures()
BOXES, KS = {"box, p = 2": 2, "box, p = 1": 1}, (1, 2, 4)
TOTAL = 2  # row of the table of losses
INVERSE, SCALED, TRAINED, BARE, BESIDE = range(5)  # its columns
NO_CONTENT, CONTENT = "$d_c$ = 0", "$d_c$ = 5"  # labels of the chapter's deep runs
BEFORE, AFTER = "h", "z"  # places of the projector
# What was done to the outputs of photographs, and at which temperatures.
NORM, SCALED_OUTPUTS, SCALED_TWO, STANDARD, _, STEEP = OUTPUTS


# The abstract, Sections 2 and 3.


@measures("cs-abstract")
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


@measures("cs-eq-1")
def definitions(written):
    worst = np.max(written)
    return Finding(f"off by {worst:.0e} at most", float(worst), (1e-10 - worst,))


def least(maps) -> np.ndarray:
    """(seeds,) smallest singular value over the largest of maps (seeds, 8, 8)."""
    return singular(maps)[:, -1]


@measures("cs-inversion")
def inverted(linear):
    level = [least(linear[world, 0, 1.0]) for world in WORLDS]
    return Finding(
        "; ".join(f"{span(v)} ({world})" for v, world in zip(level, WORLDS, strict=True)),
        float(np.min(level)),
        tuple(v - 0.8 for v in level),
    )


def by_spread(name, values) -> str:
    """Words: the means over seeds of values {sd: (seeds,)}."""
    return f"{name} {listed([v.mean() for v in values])}"


def style_kept(
    deep, world: str, sd: float, label: str, width: int = 50, layer: int = -1
) -> np.ndarray:
    """(seeds,) R^2 of the style in a layer, the output unless said."""
    return deep[width, world, sd, label].style.isel(layer=layer).values


def at_spreads(deep, label: str, width: int = 50, layer: int = -1) -> dict:
    """{world: [(seeds,) R^2 of the style in a layer, for each spread]}."""
    return {
        world: [style_kept(deep, world, sd, label, width, layer) for sd in SDS] for world in SPACES
    }


@measures("cs-inversion-deep")
def inverted_deep(deep):
    found = at_spreads(deep, "no content")
    every = [v for values in found.values() for v in values]
    return Finding(
        "; ".join(by_spread(world, v) for world, v in found.items()),
        float(np.min(every)),
        tuple(v - 0.9 for v in every),
    )


@measures("cs-eq-2")
def style_distance(split):
    off, smaller = np.array(split).T
    return Finding(
        f"off by {off.max():.0e} at most; with the longest direction gone {span(smaller)} of it",
        float(smaller.max()),
        (1e-9 - off.max(), 1 - smaller.max()),
    )


@measures("cs-without-content")
def low_rank_distance(lowered):
    ratios = np.array(lowered)
    return Finding(f"{span(ratios)} of the full distance", float(ratios.max()), (ratios.max() - 1,))


@measures("cs-prop-1")
def nonlinear_infimum(collapsed):
    least = np.array([[losses[k][-1] for k in losses] for losses in collapsed])
    text = ", ".join(f"{np.mean([losses[k][0] for losses in collapsed]):.2g}" for k in collapsed[0])
    return Finding(
        f"{text} with the content times 30; {least.max():.0e} at 1e8",
        float(least.max()),
        (1e-9 - float(least.max()),),
    )


@measures("cs-lemma-1")
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


@measures("cs-lemma-1-near")
def near_style_stays(classes):
    run = classes.sel(variant="style near the old one")
    within, style = run.within.isel(step=-1), run.style.isel(layer=-1)
    return Finding(
        f"within over between {span(within)}; $R^2$ of style {span(style)}",
        float(within.mean()),
        (0.1 - within,),
    )


@measures("cs-low-tau-c-gain", 0.01, BOXES)
@measures("cs-high-tau-c", 10.0, WORLDS)
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


@measures("cs-conjecture-1")
def shielded(shield):
    fourth = [shield[5, above].style.sel(layer="fourth") for above in range(4)]
    return Finding(
        f"$R^2$ {listed([v.mean() for v in fourth])} under 0 to 3 layers",
        float((fourth[3] - fourth[0]).mean()),
        (fourth[3] - fourth[0],),
    )


@measures("cs-shield-content")
def shield_needs_content(shield):
    fourth = {key: runs.style.sel(layer="fourth") for key, runs in shield.items()}
    gain = {k: fourth[k, 3] - fourth[k, 0] for k in (5, 0)}
    return Finding(
        f"by {span(gain[5])}; without content by {span(gain[0])}",
        float((gain[5] - gain[0]).mean()),
        (gain[5] - gain[0],),
    )


# Section 4.1: Figure 1 and Table 1.


@measures("cs-deep-converged", 50)
@measures("cs-deep-narrow", 10)
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


def spectra_at_end(runs) -> np.ndarray:
    """(seeds, d) normalised singular values at the end."""
    return np.array([singular(run.map[-1]) for run in runs])


@measures("cs-fig-1-left")
def style_falls(box, globe):
    level = [spectra_at_end(runs[0])[:, -1] for runs in (box, globe)]
    fallen = [spectra_at_end(box[k])[:, k] for k in (1, 2, 4)] + [spectra_at_end(globe[4])[:, 4]]
    return Finding(
        f"without content the smallest is {span(level)}; with it the largest of style {span(fallen[:3])} "
        f"(box), {span(fallen[3])} (sphere)",
        float(np.max(fallen)),
        (*(v - 0.5 for v in level), *(0.5 - v for v in fallen)),
    )


def gained(runs, style: bool) -> np.ndarray:
    """(seeds,) mean gain of style, or of content, at the end."""
    parts = [slice(run.config.d_c, None) if style else slice(run.config.d_c) for run in runs]
    return np.array(
        [gains(run.map[-1])[part].mean() for run, part in zip(runs, parts, strict=True)]
    )


@measures("cs-box-content-grows")
def content_grows(box):
    gain = np.array([[gained(box[k], style) for k in (1, 2, 4)] for style in (False, True)])
    content, style = gain / gained(box[0], style=True)
    return Finding(
        f"content {span(content, '.1f')} times, style {span(style)} times the gain without content",
        float(style.mean()),
        tuple(np.log(content * style)),
    )


@measures("cs-fig-1-dashed")
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


@measures("cs-units")
def units(unit):
    return Finding(f"by {max(unit):.0e} at most", max(unit), (1e-12 - max(unit),))


@measures("cs-undone")
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


def fallen(deep, world: str, width: int = 50) -> tuple[str, list[np.ndarray]]:
    """Words for the R^2 of style with content and without; [(seeds,) a half less the one over the other]."""
    style, free = (at_spreads(deep, label, width)[world] for label in ("content", "no content"))
    text = "; ".join((by_spread(f"{world}, content", style), by_spread("without", free)))
    return text, [0.5 - s / f for s, f in zip(style, free, strict=True)]


@measures("cs-fig-1-middle")
def deep_box(deep):
    text, less = fallen(deep, "box")
    low, equal = (style_kept(deep, "box", 0.15, label) for label in ("lower tau_c", "content"))
    best = max(less, key=np.mean)
    return Finding(
        f"{text}; lower tau_c, sd .15 {low.mean():.2f}",
        float(0.5 - best.mean()),
        (best, low - equal),
    )


@measures("cs-fig-1-narrow")
def deep_narrow(deep):
    found = [fallen(deep, world, 10) for world in SPACES]
    early = reads_as_well(10, deep).value < 0
    return Finding(
        "; ".join(text for text, _ in found),
        None,
        tuple(v for _, less in found for v in less),
        "undecided" if early else None,
    )


def style_at_end(runs, layer: int = -1) -> np.ndarray:
    """(seeds,) R^2 of the style in a layer, the last one unless said, at the end."""
    return np.array([run.style_r2[-1, layer] for run in runs])


@measures("cs-fig-1-right")
def short_deep_sphere(deep_short):
    style, free = (style_at_end(deep_short["sphere", label]) for label in (CONTENT, NO_CONTENT))
    return Finding(
        f"$R^2$ {span(style)}, without content {span(free)}",
        float(style.mean()),
        (0.5 - style / free,),
    )


@measures("cs-deep-lower-tau")
def lower_temperature(deep_short):
    halved = style_at_end(deep_short["sphere", r"$d_c$ = 5, all $\tau$ halved"])
    more = halved - style_at_end(deep_short["sphere", CONTENT])
    return Finding(f"$R^2$ higher by {span(more)}", float(more.mean()), (more,))


@measures("cs-fig-1-right-long")
def deep_sphere(deep):
    text, less = fallen(deep, "sphere")
    return Finding(text, float(0.5 - np.mean(less)), tuple(less))


@measures("cs-threshold-deep")
def threshold_misses(deep, predicted):
    share = [0.5 - less for less in fallen(deep, "sphere")[1]]
    left = [predicted[sd][0] for sd in SDS]
    return Finding(
        f"at {listed(left)} of the threshold {by_spread('a share of', share)}",
        float(np.min(share)),
        (1 - max(left), *(v - 0.5 for v in share)),
    )


@measures("cs-sphere-threshold")
def sphere_threshold(sphere_grid):
    left, gain = np.array(sphere_grid).T[2:4].reshape(2, -1, 3)  # (settings, seeds)
    above, below = np.where(left >= 1, gain, 0).max(0), np.where(left < 1, gain, np.inf).min(0)
    return Finding(
        f"at most {above.max():.2f} of content's above, at least {below.min():.2f} below",
        float(above.max()),
        (below - above,),
    )


@measures("cs-low-tau-c")
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


@measures("cs-table-1")
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


@measures("cs-box-style-pays")
def style_pays(parts):
    without, beside = parts["box", 2][:, TOTAL, [BARE, BESIDE]].T
    means = without.mean(), beside.mean()
    return Finding(
        "{:.2f} without, {:.2f} with it".format(*means), float(means[1]), (without - beside,)
    )


@measures("cs-table-1-deep-box", "box")
@measures("cs-table-1-deep-sphere", "sphere")
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


@measures("cs-table-1-settings")
def decoded(inverse):
    box, other, ball = (
        np.array(inverse[key])[:, 1] for key in (("box", 2), ("box", 1), ("sphere", 2))
    )
    return Finding(
        f"box {box.mean():.2f} (p = 2), {other.mean():.2f} (p = 1); sphere {ball.mean():.2f}",
        float(box.mean()),
        (0.2 - abs(box - 7.69), abs(other - 7.69) - 0.2, 0.01 - abs(ball - 9.26)),
    )


@measures("cs-last-layer", "sphere")
@measures("cs-last-layer-box", "box")
def lost_last(world: str, deep) -> Finding:
    """How much more R^2 of style the last layer loses than those before it."""
    runs = [deep[50, world, sd, "content"].style.values for sd in SDS]
    last, before = [r[:, -2] - r[:, -1] for r in runs], [r.max(1) - r[:, -2] for r in runs]
    return Finding(
        f"{by_spread('in the last layer', last)}; {by_spread('before it', before)}",
        float(np.mean(last)),
        tuple(a - b for a, b in zip(last, before, strict=True)),
    )


@measures("cs-deep-sphere")
def norm_too(deep):
    none, alone, both = (
        [style_kept(deep, "sphere", sd, k) for sd in SDS[1:]]
        for k in ("content", "lower tau_c", "both")
    )
    more = tuple(b - v for other in (none, alone) for b, v in zip(both, other, strict=True))
    text = f"{by_spread('with neither', none)}; {by_spread('with tau_c', alone)}; {by_spread('with both', both)}"
    return Finding(f"$R^2$ {text}", float(np.mean(both)), more)


@measures("cs-deep-norm")
def temperatures_without_norm(deep):
    bare, both = (
        [style_kept(deep, "sphere", sd, label) for sd in SDS[1:]] for label in ("no norm", "both")
    )
    more = tuple(b - v for b, v in zip(both, bare, strict=True))
    return Finding(
        f"{by_spread('with two temperatures', both)}; {by_spread('with equal ones', bare)}",
        float(np.mean(more)),
        more,
    )


# Section 4.2: Figure 2 and Table 2.


def digit_ranks(heads) -> list:
    """(seeds,) effective rank after the projector: regular, without norm, two temperatures, one in between."""
    return [heads["rank"].sel(variant=name, place=AFTER) for name in ROWS]


@measures("cs-fig-2")
def norm_removed_scaled(heads):
    regular, bare, *_ = digit_ranks(heads)
    rise = bare / regular - 1
    return Finding(f"by {span(rise, '.0%')}", float(rise.mean()), (rise - 0.25,))


@measures("img-rank")
def rank_after(cifar):
    before, after = spectral_rank(cifar.spectrum_h), spectral_rank(cifar.spectrum_z)
    return Finding(
        f"effective rank before {listed(before, '.1f')}, after {listed(after, '.1f')}",
        float((after / before).mean()),
        (before - after,),
    )


def rise(record, variant: str) -> Finding:
    """How much the effective rank after the projector is above that with the norm."""
    rank = ranks(record, "z")
    norm, without = rank.sel(variant=NORM), rank.sel(variant=variant)
    found = without / norm - 1
    return Finding(
        f"effective rank {listed(norm, '.1f')} with the norm, {listed(without, '.1f')} without",
        float(found.mean()),
        (found - 0.25,),
    )


@measures("cs-photo-fig-2")
def photo_norm_removed(norms):
    return rise(norms, SCALED_OUTPUTS)


@measures("cs-photo-fig-2-literal")
def photo_norm_removed_literal(norms):
    return rise(norms, STANDARD)


@measures("photo-norm-control")
def photo_control(norms):
    rank = ranks(norms, "z")
    steep, standard = rank.sel(variant=STEEP), rank.sel(variant=STANDARD)
    share = steep / standard
    return Finding(
        f"effective rank {listed(steep, '.1f')} with the norm at 1/64, "
        f"{listed(standard, '.1f')} with variance 1",
        float(share.mean()),
        (share - 0.9,),
    )


def digits_columns(digits, name: str, place: str) -> list:
    """(seeds,) of the variants regular, without norm, two temperatures: the readout or the rank at a place."""
    return [digits[name].sel(variant=variant, place=place) for variant in DIGITS]


@measures("cs-fig-2-literal")
def norm_removed(digits):
    regular, bare, _ = digits_columns(digits, "rank", "z")
    return Finding(
        f"effective rank {span(regular, '.1f')} with the norm, {span(bare, '.1f')} without",
        float((bare / regular).mean()),
        (bare / regular - 1.25,),
    )


def readout(heads, variant: str, place: str):
    """(seeds,) readout accuracy at a place, at the end, of one of the recorded settings of `recipes`."""
    return heads.readout.sel(variant=variant, place=place)


@measures("cs-table-2-before")
def digits_before_better(heads):
    lead = {}
    for name in list(ROWS)[:3]:
        lead[name] = readout(heads, name, BEFORE) - readout(heads, name, AFTER)
    return Finding(
        "by " + ", ".join(f"{span(v, '.3f')} ({name})" for name, v in lead.items()),
        float(np.mean([*lead.values()])),
        tuple(lead.values()),
    )


@measures("img-before-projector")
def before_projector(cifar):
    before, after = cifar.probe, cifar.probe_z
    lead = before - after
    return Finding(f"before {listed(before)}, after {listed(after)}", float(lead.mean()), (lead,))


@measures("cs-photo-before")
def photo_before_better(norms):
    lead = (norms.probe - norms.probe_z).sel(variant=[NORM, SCALED_OUTPUTS, SCALED_TWO])
    return Finding(
        "by " + "; ".join(listed(row, ".3f") for row in lead),
        float(lead.mean()),
        tuple(lead),
    )


def change(record, old: str, new: str) -> tuple[str, np.ndarray]:
    """How the linear readout changes after and before the projector, from one variant to another: (2, seeds)."""
    first, second = record.sel(variant=old), record.sel(variant=new)
    text = (
        f"{first.probe_z.mean():.3f} to {second.probe_z.mean():.3f} after the projector, "
        f"{first.probe.mean():.3f} to {second.probe.mean():.3f} before, means"
    )
    return text, np.stack([second.probe_z - first.probe_z, second.probe - first.probe])


@measures("cs-photo-norm")
def photo_no_gain(norms):
    text, gain = change(norms, NORM, SCALED_OUTPUTS)
    return Finding(
        text,
        float(gain.mean()),
        tuple(0.01 - gain),
    )


@measures("cs-table-2-norm")
def readout_without_norm(digits):
    after, before = (digits_columns(digits, "readout", place) for place in ("z", "h"))
    return Finding(
        "after {:.3f} to {:.3f}, before {:.3f} to {:.3f}".format(
            *(v.mean() for v in (*after[:2], *before[:2]))
        ),
        float((after[1] - after[0]).mean()),
        (2 * after[0].std(ddof=1) - abs(after[1] - after[0]),),
    )


@measures("cs-table-2-caption", 1)
@measures("cs-table-2-two-literal", 2)
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


@measures("cs-table-2-two")
def digits_two_temperatures(heads):
    texts, gains = [], []
    for words, place in (("after", AFTER), ("before", BEFORE)):
        bare = readout(heads, "without norm", place)
        two = readout(heads, "two temperatures", place)
        texts.append(f"{words} {bare.mean():.3f} to {two.mean():.3f}")
        gains.append(two - bare)
    after = readout(heads, "two temperatures", AFTER).mean()
    between = readout(heads, "one, in between", AFTER).mean()
    return Finding(
        f"{', '.join(texts)}; one temperature in between: {between:.3f} after",
        float(after),
        tuple(gains),
    )


@measures("cs-photo-two")
def photo_two_temperatures(norms):
    text, gain = change(norms, SCALED_OUTPUTS, SCALED_TWO)
    return Finding(
        text,
        float(gain.mean()),
        tuple(gain),
    )


@measures("cs-two-spectrum")
def two_spectrum_scaled(heads):
    _, bare, two, between = digit_ranks(heads)
    return Finding(
        f"{span(two / bare)} times; one temperature in between does the same ({between.mean():.1f} against "
        f"{two.mean():.1f})",
        float((two / bare).mean()),
        (2 * bare.std(ddof=1) - abs(two - bare),),
    )


@measures("cs-photo-two-spectrum")
def photo_two_spectrum(norms):
    ratios = []
    for place in "hz":
        rank = ranks(norms, place)
        ratios.append(rank.sel(variant=SCALED_TWO) / rank.sel(variant=SCALED_OUTPUTS))
    before, after = ratios
    return Finding(
        f"ratio of effective ranks {listed(before)} before the projector, {listed(after)} after it",
        float(np.mean(ratios)),
        tuple(0.1 - abs(np.stack(ratios) - 1)),
    )


@measures("cs-two-spectrum-literal")
def two_spectrum(digits):
    _, bare, two = digits_columns(digits, "rank", "z")
    return Finding(
        f"{span(two / bare)} times",
        float((two / bare).mean()),
        (2 * bare.std(ddof=1) - abs(two - bare),),
    )


# Appendices A and B: matrices, classifiers, assumptions.


@measures("cs-lemma-2")
def rank_of_product(products):
    above = max(found[0] for found in products)
    return Finding(f"{above} of 81 higher", float(above), (0.5 - above,))


@measures("cs-lemma-3")
def singular_product(products):
    _, both, one = np.array(products).max(0)
    return Finding(
        f"wrong for {both} of 81; with 'at least one' for {one}",
        float(both),
        (0.5 - both,),
        None if one == 0 else "fails",
    )


@measures("cs-lemma-4")
def classifier_simplex(classifier):
    run = classifier.sel(variant="classifier")
    off, within = abs(run.cosines + 1 / 3).max("pair"), run.within.isel(step=-1)
    return Finding(
        f"cosines off by {span(off)} at most; within over between {span(within, '.4f')}",
        float(off.mean()),
        (0.1 - off,),
    )


@measures("cs-generators")
def generators(worlds):
    lost, content, style = np.array(worlds).T
    return Finding(
        f"inverse off by {lost.max():.0e}; content differs by {content.max():g}, style by at least "
        f"{style.min():.2f}",
        float(lost.max()),
        (1e-4 - lost.max(), 1e-12 - content.max(), style.min() - 1e-6),
    )


@measures("cs-assumption-3")
def simultaneously_diagonal(axes):
    commutator, left = np.array(axes).T
    return Finding(
        f"$AB - BA$ of the two has {span(commutator)} of the size of $AB$; {left.max():.0e} beside the "
        "diagonals after the change",
        float(left.max()),
        (commutator.min() - 0.1, 1e-10 - left.max()),
    )


@measures("cs-assumption-4")
def strong_style(dial):
    true, printed = (
        np.array([[values[0] for values in of_sd[share]] for of_sd in (dial[0.6], dial[1.0])])
        for share in (2, 1)
    )
    return Finding(
        f"smallest {span(true, '.3f')}; with $\\Sigma_x$ once {span(printed, '.3f')}",
        float(true.min()),
        tuple(-true),
    )


# Appendix C: the gradient of the linear model.


@measures("cs-temperature")
def only_scales(scaled):
    off, turned = np.array(scaled).T
    return Finding(
        f"off by {off.max():.0e} at most; with W held still the direction changes: cosine {span(turned)}",
        float(off.max()),
        (1e-12 - off.max(),),
    )


@measures("cs-lemma-5")
def lemma_5(errors):
    printed, corrected, detached = (
        np.array([e[k][0] for e in errors]) for k in ("printed", "corrected", "detached")
    )
    text = rf"error {{:.2f}}; with $2 \Sigma_x$ {corrected.max():.0e}; with negatives held still {detached.max():.0e}"
    return Finding(
        text.format(printed.mean()),
        float(printed.mean()),
        (0.01 - printed,),
        None if corrected.max() < 1e-5 else "fails",
    )


@measures("cs-eq-7")
def derivative(derivatives):
    printed, corrected = np.array(derivatives).T
    return Finding(
        f"error {span(printed)}; corrected {corrected.max():.0e}",
        float(printed.mean()),
        (1e-9 - printed.min(),),
        None if corrected.max() < 1e-9 else "fails",
    )


@measures("cs-eq-10")
def pull(limits):
    errors = np.array([limits[n, 1.0] for n in (64, 256, 1024)])[..., 0]  # (sizes, seeds)
    return Finding(
        f"error {listed(errors.mean(1), '.1%')}",
        float(errors[-1].mean()),
        (*(errors[:-1] - errors[1:]), 0.01 - errors[-1]),
    )


@measures("cs-eq-13")
def push(limits):
    errors, uneven = np.moveaxis(np.array([limits[n, 1.0] for n in (64, 256, 1024)]), -1, 0)[1:]
    small = np.array(limits[1024, 1e-3])[:, 1]
    return Finding(
        f"error {listed(errors.mean(1), '.1%')}, shares off by up to {span(uneven[-1])} of 1/M; with W "
        f"times .001 error {span(small, '.1%')}",
        float(errors[-1].mean()),
        (0.01 - errors[-1],),
    )


def nonzero(values: np.ndarray) -> np.ndarray:
    """(seeds,) how many singular values (seeds, d) are not zero."""
    return (values > 1e-10 * values[:, :1]).sum(1)


@measures("cs-lemma-6")
def batch_size(spectra, estimates):
    few, many = (spectra[n][:, 0] / spectra[n][:, -1] for n in (5, 100))
    error = [
        np.linalg.norm(estimates[n] - estimates[max(estimates)], axis=(-2, -1)) for n in (5, 100)
    ]
    rank, better = [nonzero(spectra[n]) for n in (2, 12)], error[0] / error[1]
    return Finding(
        f"rank {rank[0].max()}, then {rank[1].min()}; condition number {span(few, '.0f')}, then "
        f"{span(many, '.1f')}; errors {span(better, '.1f')} times smaller",
        float(many.mean()),
        (rank[1] - rank[0], np.log(few / many), *np.log(better).T),
    )


@measures("cs-lemma-6-remark")
def covariance_rank(estimates):
    rank = np.linalg.matrix_rank(np.array([found for n, found in estimates.items() if n < 8]))
    return Finding(
        "at most {} (data) and {} (pairs)".format(*rank.max((0, 1))),
        float(rank.max()),
        (7.5 - rank.max(),),
    )


@measures("cs-gradient-rank")
def gradient_rank(spectra):
    off = max(abs(nonzero(values) - min(2 * n - 1, 8)).max() for n, values in spectra.items())
    return Finding(
        f"{nonzero(spectra[5]).min()} of 8 with 5 pairs; off by {off} at most",
        float(off),
        (0.5 - off,),
    )


@measures("cs-eq-15")
def decomposition(forms):
    off, middle, beside = zip(*forms, strict=True)
    expected = np.where(np.arange(8) < 4, 1 / 12, np.mean([m[4:] for m in middle]))
    apart = np.array([abs(m - expected).max() for m in middle]) * 12
    return Finding(
        f"off by {max(off):.0e}; content {span([m[:4] for m in middle], '.3f')}, style "
        f"{span([m[4:] for m in middle], '.3f')}, beside the diagonal {span(beside, '.4f')}",
        float(max(off)),
        (1e-9 - max(off), 0.05 - apart, 0.05 - 12 * np.array(beside)),
    )


@measures("cs-definite")
def definite(dial):
    least, *_, most = np.moveaxis(
        [dial[sd][1] for sd in (0.1, 0.2, 0.3)], -1, 0
    )  # of the eigenvalues, ascending
    return Finding(
        f"as printed {-most.max():.3f} to {-least.min():.3f}; corrected, from {least.min():.3f} up",
        float(-most.min()),
        tuple(-most),
        None if (least > 0).all() or (most < 0).all() else "fails",
    )


@measures("cs-strong")
def strong_augmentation(linear):
    left = {
        sd: least(linear["spread", "box", 4, sd]) / least(linear["spread", "box", 0, sd])
        for sd in (0.1, 0.3, 0.6, 1.0)
    }
    text = "; ".join(f"{span(v)} at sd {sd:g}" for sd, v in left.items())
    free = listed([least(linear["spread", "box", 0, sd]).mean() for sd in (0.6, 1.0)])
    return Finding(
        f"of that without content {text}; without content it is {free} at .6 and 1",
        float(left[1.0].mean()),
        (0.5 - left[0.6], 0.5 - left[1.0], 0.5 - np.minimum(left[0.1], left[0.3])),
    )


@measures("cs-proportional")
def proportional(entries):
    through, alone = (np.array([found[k] for found in entries]) for k in (0, 1))  # (seeds, 8, 8)
    spread = [(v.std(1) / abs(v).mean(1)).max() for v in (through, alone)]
    return Finding(
        f"spread {spread[0]:.1f} times the mean, {(through < 0).mean():.0%} of entries shrink; "
        f"{spread[1]:.0e} where the matrix is diagonal",
        float(spread[0]),
        (1e-9 - spread[0],),
    )


@measures("cs-lemma-7")
def content_faster(recipe):
    faster = np.array([recipe[sd, "1"][1] for sd in (0.05, 0.1, 0.15)])
    return Finding(f"faster by {span(faster)}", float(faster.mean()), tuple(faster - 1))


@measures("cs-lemma-7-ratio")
def growth_ratio(ratios):
    true, law, printed = np.array(ratios).transpose(2, 0, 1)  # (spreads, seeds)
    return Finding(
        f"autograd {listed(true.mean(1))}, the law {listed(law.mean(1))}, printed "
        f"{listed(printed.mean(1))}",
        float(true[-1].mean()),
        tuple(0.02 - abs(true / law - 1)),
    )


@measures("cs-prop-2")
def reading(readings):
    right, enough = (
        readings["g gaussian, x whitened"],
        readings["both rotations"][:, -1],
    )  # (spreads, numbers of pairs, seeds)
    text = "; ".join(f"{listed(found.mean((0, 2)))} ({name})" for name, found in readings.items())
    return Finding(
        f"right with 800, 8,000, 40,000 pairs: {text}",
        float(right.min()),
        (*(right == 1).reshape(-1, right.shape[-1]), *(enough == 1)),
    )


@measures("cs-prop-3")
def recipe_equalises(recipe):
    equal, scaled = (
        np.array([recipe[sd, name][1] for sd in (0.05, 0.1, 0.15)]) for name in ("1", "the recipe")
    )
    return Finding(
        f"content faster by {span(scaled, '.1f')}; at equal temperatures by {span(equal, '.1f')}",
        float(scaled.mean()),
        tuple(abs(np.log(equal)) - abs(np.log(scaled))),
    )


@measures("cs-prop-3-goal")
def equal_spectrum(linear):
    found = {
        (p, name): np.array([least(linear["recipe", p, sd, name]) for sd in (0.05, 0.1, 0.15)])
        for p in (2, 1)
        for name in ("s", "1")
    }
    return Finding(
        "; ".join(
            f"{span(found[p, 's'])} (p = {p}; at equal temperatures {span(found[p, '1'])})"
            for p in (2, 1)
        ),
        float(np.min(found[2, "s"])),
        (*(found[2, "s"] - 0.5), *(found[1, "s"] - 0.5)),
    )


@measures("cs-stationary")
def only_zero(dial):
    size = np.array(
        [
            [abs(values).min() / abs(values).max() for values in dial[sd][1]]
            for sd in (0.1, 0.2, 0.3)
        ]
    )
    return Finding(
        f"at least {size.min():.2f} of the largest", float(size.min()), tuple(size - 0.1)
    )


@measures("cs-loss-zero")
def zero_loss(loss_at_zero):
    ratio, inverse = np.array(loss_at_zero).T
    return Finding(
        f"off by {abs(ratio - 1).max():.0e}; at the inverse of g {span(inverse)} of it",
        float(inverse.max()),
        (1e-9 - abs(ratio - 1).max(), 1 - inverse.max()),
    )


# Appendix D: what is optimal.


@measures("cs-prop-4-optimum")
def style_optimum(surface):
    best = np.array([loss.min(1) / loss[:, 0] for loss in surface.values()])
    return Finding(
        f"the best style has {span(best)} of the loss without",
        float(best.max()),
        (float(best.max()) - 1 + 1e-9,),
    )


@measures("cs-prop-4")
def infimum(far):
    least = max(float(loss[-1]) for loss in far.values())
    text = ", ".join(f"{loss[0]:.2g}" for loss in far.values())
    return Finding(f"{text} with the content times 30; {least:.0e} at 1e8", least, (1e-9 - least,))


@measures("cs-cor-1")
def inverse_not_best(corner):
    inverse, doubled = (np.array([corner[k][:, row, 1] for k in (1, 4)]) for row in (0, 1))
    text = "{:.2f} and {:.2f} fall to {:.2f} and {:.2f}".format(*inverse.mean(1), *doubled.mean(1))
    return Finding(text, float(doubled.mean()), tuple(inverse - doubled))


@measures("cs-prop-5")
def low_rank(layers):
    counts = {
        depth: np.array([nonzero(np.array(of_seed)) for of_seed in found])
        for depth, found in layers.items()
    }
    by_layer = ", ".join(span(of_layer, "d") for of_layer in counts[3].T)
    return Finding(
        f"{span(counts[1], 'd')} (linear); {by_layer} (by layer)",
        float(counts[3].max()),
        (3.5 - float(max(counts[1].max(), counts[3][:, -1].max())),),
    )


@measures("cs-prop-6")
def same_loss(sphere_identity):
    alone, through, *_ = sphere_identity["zero on style"]
    return Finding(
        f"difference {abs(alone - through):.0e}",
        abs(alone - through),
        (1e-9 - abs(alone - through),),
    )


@measures("cs-prop-6-rank")
def full_rank(sphere_identity):
    _, _, rank, seen, _ = sphere_identity["zero on style"]
    return Finding(f"rank {seen}; it is f that has rank {rank}", float(seen), (seen - 7.5,))


# Appendix E: DirectCLR.


@measures("cs-fig-4")
def unused_decay(weak_decay, strong_decay):
    runs = (weak_decay, strong_decay)
    left = np.array([(run.rows[-1] / run.rows[0])[run.config.direct :].mean() for run in runs])
    law = np.array([(1 - run.config.lr * run.config.decay) ** run.config.steps for run in runs])
    return Finding(
        f"{left[0]:.3f} and {left[1]:.3f}; by the law {law[0]:.3f} and {law[1]:.3f}",
        float(left[1]),
        (1e-3 - float(abs(left / law - 1).max()),),
    )


@measures("cs-eq-28")
def only_concatenated(decayed):
    unused = decayed.sel(variant="directclr").isel(row=slice(12, None))
    added, left = unused.added.max("row"), unused.left.max("row")
    return Finding(
        f"at most {span(added, '.4f')} of h, with {span(left, '.4f')} of the weights left",
        float(added.mean()),
        (0.01 - added,),
    )


@measures("cs-h-against-r")
def r_reads_worse_early(directclr, heads):
    h, r = (readout(directclr, "directclr", place) for place in ("h", "r"))
    other = readout(heads, "regular", BEFORE)
    return Finding(
        f"r {r.mean():.3f}, h {h.mean():.3f}, SimCLR {other.mean():.3f}",
        float(r.mean()),
        (h - r, other - r),
    )


@measures("cs-h-against-r-decayed")
def r_reads_worse(decayed):
    h, r = (decayed.readout.sel(variant="directclr", place=place) for place in ("h", "r"))
    other = decayed.readout.sel(variant="simclr", place="h")
    return Finding(
        f"r {r.mean():.3f}, h {h.mean():.3f}, SimCLR {other.mean():.3f}",
        float(r.mean()),
        (h - r, other - r),
    )
