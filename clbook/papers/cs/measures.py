"""How the claims of CS are measured, in the order of items.yaml."""

import itertools

import numpy as np

from clbook.experiments.content_style.experiment import gains, singular, style_gain
from clbook.experiments.content_style.recipes import ROWS
from clbook.experiments.photographs.figures import ranks
from clbook.experiments.photographs.recipes import OUTPUTS, SLOW
from clbook.metrics import spectral_rank
from clbook.papers.cs.recipes import DIGITS, KS, SDS, SPACES, TRIED, WORLDS
from clbook.papers.judging import Every, Finding, Measures, listed, span

measures = Measures()
BOXES = {"box, p = 2": 2, "box, p = 1": 1}
TOTAL = 2  # row of the table of losses
INVERSE, SCALED, TRAINED = range(3)  # its columns
CONTENT = "$d_c$ = 5"  # label of the chapter's deep runs
BEFORE, AFTER = "h", "z"  # places of the projector
# What was done to the outputs of photographs, and at which temperatures.
NORM, SCALED_OUTPUTS, _, STANDARD, STANDARD_TWO, STEEP = OUTPUTS
(SLOW_NORM,) = SLOW


# The abstract, Sections 2 and 3.


def every(*margins) -> Every:
    """A statement about every draw of these arrays."""
    return Every(np.concatenate([np.ravel(array) for array in margins]))


# In the box, and on the sphere: the spreads of style.
SPREADS = {"box": (0.1, 0.3, 0.6, 1.0), "sphere": TRIED}


@measures("cs-bias")
def less_where_it_varies(linear):
    texts, falls = [], []
    for space, sds in SPREADS.items():
        maps = np.array([linear["spread", space, 4, sd] for sd in sds])
        shares = style_gain(maps, 4)  # (spreads, seeds)
        texts.append(by_spread(f"{space}: style's gain over content's", shares))
        falls += list(shares[:-1] - shares[1:])
    return Finding("; ".join(texts), np.min(falls), falls)


@measures("cs-abstract")
def low_rank_projector(keeping):
    lead, style, worse = [], [], []
    for losses, fits in keeping["sphere"]:
        lead.append(min(losses[1:]) - losses[0])
        style.append(fits[0][1])
    for losses, _ in keeping["box"]:
        worse.append(losses[0] - min(losses[1:]))
    return Finding(
        f"sphere: the loss is lower by {span(lead, '.3f')} without style, whose $R^2$ is {span(style)}; in "
        f"the box the loss is higher by {span(worse)}",
        np.mean(lead),
        (lead, np.subtract(0.1, style)),
    )


@measures("cs-eq-1")
def definitions(written):
    worst = np.max(written)
    return Finding(f"off by {worst:.0e} at most", worst, (1e-10 - worst,))


def least(maps) -> np.ndarray:
    """(seeds,) smallest singular value over the largest of maps (seeds, 8, 8)."""
    return singular(maps)[:, -1]


@measures("cs-inversion")
def inverted(linear):
    texts, levels = [], []
    for world in WORLDS:
        level = least(linear[world, 0, 1.0])
        texts.append(f"{span(level)} ({world})")
        levels.append(level)
    return Finding("; ".join(texts), np.min(levels), np.subtract(levels, 0.8))


def by_spread(name, values) -> str:
    """Words: the means over seeds of values (spreads, seeds)."""
    return f"{name} {listed(np.mean(values, 1))}"


def style_kept(deep, world: str, sd: float, label: str, width: int = 50) -> np.ndarray:
    """(seeds,) R^2 of the style at the output."""
    return deep[width, world, sd, label].style.isel(layer=-1).values


def at_spreads(deep, world: str, label: str, sds=SDS) -> np.ndarray:
    """(spreads, seeds) R^2 of the style at the output."""
    return np.array([style_kept(deep, world, sd, label) for sd in sds])


@measures("cs-inversion-deep")
def inverted_deep(deep):
    texts, kept = [], []
    for world in SPACES:
        style = at_spreads(deep, world, "no content")
        texts.append(by_spread(world, style))
        kept += list(style)
    return Finding("; ".join(texts), np.min(kept), np.subtract(kept, 0.9))


@measures("cs-eq-2")
def style_distance(split):
    off, smaller = np.array(split).T
    return Finding(
        f"off by {off.max():.0e} at most; with the longest direction gone {span(smaller)} of it",
        smaller.max(),
        (1e-9 - off.max(), 1 - smaller.max()),
    )


@measures("cs-without-content")
def low_rank_distance(lowered):
    ratios = np.array(lowered)
    return Finding(f"{span(ratios)} of the full distance", ratios.max(), (ratios.min() - 1,))


def of_classes(classes, variant) -> tuple:
    """(within over between, R^2 of style) at the end of a variant's runs."""
    run = classes.sel(variant=variant)
    return run.within.isel(step=-1), run.style.isel(layer=-1)


@measures("cs-lemma-1")
def classes_collapse(classes):
    within, style = of_classes(classes, "style drawn anew")
    kept_within, kept_style = of_classes(classes, "style near the old one")
    cosines = classes.cosines.sel(variant="style drawn anew")
    off = abs(cosines + 1 / 3).max("pair")
    control = f"the control has {span(kept_within)} and {span(kept_style)}"
    collapsed = (0.1 - within, 0.1 - style, 0.1 - off)
    return Finding(
        f"within over between {span(within, '.4f')}; $R^2$ of style {span(style)}; cosines off by "
        f"{span(off)} at most; {control}",
        within.mean(),
        (*collapsed, kept_within - 0.1, kept_style - 0.1),
    )


@measures("cs-lemma-1-near")
def near_style_stays(classes):
    within, style = of_classes(classes, "style near the old one")
    return Finding(
        f"within over between {span(within)}; $R^2$ of style {span(style)}",
        within.mean(),
        (within - 0.1,),
    )


def factors(linear, tau_c: float) -> dict:
    """{(world, d_c): (seeds,) the factor by which a tau_c not 1 changes style's gain over content's}."""
    found = {}
    for world in WORLDS:
        for k in KS:
            equal = style_gain(linear[world, k, 1.0], k)
            found[world, k] = style_gain(linear[world, k, tau_c], k) / equal
    return found


def by_world(found: dict) -> str:
    """Words for what `factors` gives."""
    texts = []
    for world in WORLDS:
        values = [v for key, v in found.items() if key[0] == world]
        texts.append(f"{span(values)} ({world})")
    return "times " + ", ".join(texts)


@measures("cs-low-tau-c-gain")
def lower_content(linear):
    found = factors(linear, 0.01)
    asked = [v for (world, _), v in found.items() if world in BOXES]
    return Finding(by_world(found), np.mean(asked), map(np.log, asked))


@measures("cs-high-tau-c")
def higher_content(linear):
    found = factors(linear, 10.0)
    low = factors(linear, 0.01)
    # As printed it helps in the box, for both p and each d_c, by at least as much as the other order.
    gain, other = [], []
    for key in itertools.product(BOXES, KS):
        gain.append(np.log(found[key]) - np.log(low[key]))
        other.append(low[key].mean())
    means = [values.mean() for values in found.values()]
    return Finding(
        f"{by_world(found)}; tau_c = .01: {by_world(low)}",
        np.mean(means),
        (np.min(gain, 0),),
        None if min(other) > 1 else "fails",
    )


@measures("cs-conjecture-1")
def shielded(shield):
    fourth = [shield[5, above].style.sel(layer="fourth") for above in range(4)]
    return Finding(
        f"$R^2$ {listed([v.mean() for v in fourth])} under 0 to 3 layers",
        (fourth[3] - fourth[0]).mean(),
        (fourth[3] - fourth[0],),
    )


# Section 4.1: Figure 1 and Table 1.


def spectra_at_end(runs) -> np.ndarray:
    """(seeds, d) normalised singular values at the end."""
    return np.array([singular(run.map[-1]) for run in runs])


@measures("cs-fig-1-left")
def style_falls(box, globe):
    level = [spectra_at_end(runs[0])[:, -1] for runs in (box, globe)]
    in_box = [spectra_at_end(box[k])[:, k] for k in KS]
    on_sphere = spectra_at_end(globe[4])[:, 4]
    fallen = [*in_box, on_sphere]
    margins = [v - 0.5 for v in level] + [0.5 - v for v in fallen]
    return Finding(
        f"without content the smallest is {span(level)}; with it the largest of style {span(in_box)} "
        f"(box), {span(on_sphere)} (sphere)",
        np.max(fallen),
        margins,
    )


def gained(runs, style: bool) -> np.ndarray:
    """(seeds,) mean gain of style, or of content, at the end."""
    found = []
    for run in runs:
        content, of_style = np.split(gains(run.map[-1]), [run.config.d_c])
        part = of_style if style else content
        found.append(part.mean())
    return np.array(found)


@measures("cs-box-content-grows")
def content_grows(box):
    free = gained(box[0], style=True)
    content = np.array([gained(box[k], style=False) for k in KS]) / free
    style = np.array([gained(box[k], style=True) for k in KS]) / free
    return Finding(
        f"content {span(content, '.1f')} times, style {span(style)} times the gain without content",
        style.mean(),
        np.log(content * style),
    )


def off_level(maps, free) -> np.ndarray:
    """(seeds,) the largest distance of a singular value of maps from its mean over the maps without content."""
    level = singular(free).mean(0)
    return abs(singular(maps) - level).max(1)


@measures("cs-fig-1-dashed")
def dashed(heated, linear):
    def gap(k, tau, sd=0.3):
        return off_level(heated[k, tau, sd], heated[0, 1.0, sd])

    one = [gap(1, 0.1, sd) for sd in TRIED]
    equal = gap(1, 1.0)
    best = []
    for k in (2, 4):
        best.append(min(gap(k, tau).mean() for tau in (0.03, 0.1, 0.3)))
    in_boxes = []
    for world in BOXES:
        free = linear[world, 0, 1.0]
        off = [off_level(linear[world, k, 0.01], free).mean() for k in KS]
        in_boxes.append(f"{listed(off)} ({world})")
    on_sphere = (
        f"{by_spread('off by', one)} at style sd .2, .3, .5, at equal temperatures by "
        f"{equal.mean():.2f}; with d_c = 2 and 4 by {listed(best)} at the best tau_c"
    )
    return Finding(
        f"{on_sphere}; in the box, d_c = 1, 2, 4, by {'; '.join(in_boxes)}",
        np.max(one[:2]),
        (0.1 - one[0], 0.1 - one[1], equal - 0.1),
    )


@measures("cs-units")
def units(unit):
    off = max(unit)
    return Finding(f"by {off:.0e} at most", off, (1e-12 - off,))


@measures("cs-undone")
def undo(linear):
    found = {}
    for tau in (0.01, 1.0):
        undone = []
        for k in KS:
            is_content = np.arange(8) < k
            unit = np.where(is_content, tau, 1) ** 0.5
            maps = linear["box, p = 2", k, tau] / unit[:, None]
            undone.append(style_gain(maps, k))
        found[tau] = np.array(undone)
    return Finding(
        f"{span(found[0.01], '.3f')} of content's, at equal temperatures {span(found[1.0], '.3f')}",
        found[0.01].mean(),
        np.log(found[1.0] / found[0.01]),
    )


@measures("cs-fig-1-middle")
def deep_box(deep):
    style = at_spreads(deep, "box", "content")
    free = at_spreads(deep, "box", "no content")
    text = f"$R^2$ {by_spread('box, content', style)}; {by_spread('without', free)}"
    less = free - style
    return Finding(text, less.mean(), (every(less),))


@measures("cs-deep-box")
def deep_box_temperature(deep):
    low = style_kept(deep, "box", 0.15, "lower tau_c")
    equal = style_kept(deep, "box", 0.15, "content")
    more = low - equal
    return Finding(
        f"$R^2$ {listed(low)} with the lower tau_c, {listed(equal)} at equal temperatures",
        more.mean(),
        (more,),
    )


@measures("cs-fig-1-narrow")
def deep_narrow(rotated):
    texts, less = [], []
    for world in SPACES:
        style = style_kept(rotated, world, 0.15, "content", 10)
        free = style_kept(rotated, world, 0.15, "no content", 10)
        texts.append(f"{world}, content {listed(style)}; without {listed(free)}")
        less.append(free - style)
    return Finding(f"$R^2$ {'; '.join(texts)}", np.mean(less), less)


def style_at_end(runs) -> np.ndarray:
    """(seeds,) R^2 of the style at the output, at the end."""
    return np.array([run.style_r2[-1, -1] for run in runs])


@measures("cs-deep-lower-tau")
def lower_temperature(deep_short):
    halved = style_at_end(deep_short["sphere", r"$d_c$ = 5, all $\tau$ halved"])
    more = halved - style_at_end(deep_short["sphere", CONTENT])
    return Finding(f"$R^2$ higher by {span(more)}", more.mean(), (more,))


@measures("cs-fig-1-right")
def deep_sphere(deep):
    style = at_spreads(deep, "sphere", "content")
    free = at_spreads(deep, "sphere", "no content")
    less = 0.5 - style / free
    text = f"{by_spread('sphere, content', style)}; {by_spread('without', free)}"
    return Finding(text, 0.5 - less.mean(), less)


@measures("cs-threshold-deep")
def threshold_misses(deep, predicted):
    share = at_spreads(deep, "sphere", "content") / at_spreads(deep, "sphere", "no content")
    left = [predicted[sd][0] for sd in SDS]
    return Finding(
        f"at {listed(left)} of the threshold {by_spread('a share of', share)}",
        share.min(),
        (1 - max(left), *(0.5 - share)),
    )


@measures("cs-sphere-threshold")
def sphere_threshold(sphere_grid):
    left, gain = np.array(sphere_grid).T[2:4]
    above = gain[left >= 1]
    below = gain[left < 1]
    return Finding(
        f"at most {above.max():.2f} of content's above, at least {below.min():.2f} below",
        above.max(),
        (every(below.min() - above, below - above.max()),),
    )


@measures("cs-table-1")
def beats_inverse(parts):
    box = parts["box", 2][:, TOTAL].T
    ball = parts["sphere", 4][:, TOTAL].T
    trained, scaled = box[TRAINED], box[SCALED]
    in_box = f"box {trained.mean():.2f} against {scaled.mean():.2f}"
    on_sphere = f"sphere {ball[TRAINED].mean():.2f} against {ball[INVERSE].mean():.2f}"
    return Finding(
        f"{in_box}, {on_sphere}",
        trained.mean(),
        (scaled - trained, ball[INVERSE] - ball[TRAINED]),
    )


@measures("cs-table-1-split")
def split_of_losses(parts):
    spaces = np.stack([parts["box", 2], parts["sphere", 4]])
    both = spaces[:, :, :TOTAL]  # (spaces, seeds, 2, maps)
    inverse = both[..., INVERSE]
    trained = both[..., TRAINED]
    in_box, on_sphere = trained - inverse
    means = np.stack([inverse.mean(1), trained.mean(1)], 1).ravel()
    return Finding(
        "alignment and uniformity, inverse to trained: box {:.2f} and {:.2f} to {:.2f} and {:.2f}, sphere {:.2f} and "
        "{:.2f} to {:.2f} and {:.2f}".format(*means),
        on_sphere[:, 0].mean(),
        (-on_sphere.sum(1), -on_sphere[:, 0], in_box[:, 0], -in_box[:, 1]),
    )


def totals(deep, world: str, label: str) -> np.ndarray:
    """(2, spreads, seeds) the loss of the inverse of g, and of the trained encoder, at each of two spreads."""
    runs = [deep[50, world, sd, label].terms.values for sd in SDS[1:]]
    found = np.array(runs)[..., TOTAL]  # (spreads, seeds, 2)
    return found.transpose(2, 0, 1)


def beaten(lead: np.ndarray, free: np.ndarray) -> Finding:
    """By how much a loss is below that of the inverse (spreads, seeds); `free`: without content, for the text."""
    text = f"{by_spread('lower by', lead)}; {by_spread('without content by', free)}"
    return Finding(text, lead.mean(), (every(lead),))


@measures("cs-table-1-deep-box")
def beaten_in_the_box(deep, scaled_inverse):
    _, trained = totals(deep, "box", "content")
    _, without = totals(deep, "box", "no content")
    return beaten(scaled_inverse[5] - trained, scaled_inverse[0] - without)


@measures("cs-table-1-deep-sphere")
def beaten_on_the_sphere(deep):
    inverse, trained = totals(deep, "sphere", "content")
    inverse_without, without = totals(deep, "sphere", "no content")
    return beaten(inverse - trained, inverse_without - without)


@measures("cs-table-1-settings")
def decoded(inverse):
    keys = (("box", 2), ("box", 1), ("sphere", 2))
    box, other, ball = (np.array(inverse[key])[:, 1] for key in keys)
    near = (0.2 - abs(box - 7.69)).min()
    far = (abs(other - 7.69) - 0.2).min()
    ball_near = (0.01 - abs(ball - 9.26)).min()
    return Finding(
        f"box {box.mean():.2f} (p = 2), {other.mean():.2f} (p = 1); sphere {ball.mean():.2f}",
        box.mean(),
        (near, far, ball_near),
    )


def lost_last(deep, world: str, label: str) -> tuple[np.ndarray, np.ndarray]:
    """(spreads, seeds) R^2 of style that the last layer loses, and those before it."""
    style = np.array([deep[50, world, sd, label].style.values for sd in SDS])
    below = style[..., -2]
    last = below - style[..., -1]
    before = style.max(-1) - below
    return last, before


@measures("cs-last-layer")
def in_the_last_on_the_sphere(deep):
    last, before = lost_last(deep, "sphere", "content")
    return Finding(
        f"{by_spread('in the last layer', last)}; {by_spread('before it', before)}",
        last.mean(),
        last - before,
    )


@measures("cs-last-layer-box")
def in_the_last_in_the_box(deep):
    last, before = lost_last(deep, "box", "content")
    free, _ = lost_last(deep, "box", "no content")
    return Finding(
        f"{by_spread('in the last layer', last)}; {by_spread('before it', before)}; "
        f"{by_spread('in the last, no content', free)}",
        last.mean(),
        (every(last - before), every(last - free)),
    )


@measures("cs-deep-sphere")
def norm_too(deep):
    none = at_spreads(deep, "sphere", "content", SDS[1:])
    alone = at_spreads(deep, "sphere", "lower tau_c", SDS[1:])
    both = at_spreads(deep, "sphere", "both", SDS[1:])
    more = np.concatenate([both - none, both - alone])
    return Finding(
        f"$R^2$ {by_spread('with neither', none)}; {by_spread('with tau_c', alone)}; "
        f"{by_spread('with both', both)}",
        both.mean(),
        more,
    )


@measures("cs-deep-norm")
def norm_alone(deep):
    bare = at_spreads(deep, "sphere", "no norm", SDS[1:])
    none = at_spreads(deep, "sphere", "content", SDS[1:])
    alone = at_spreads(deep, "sphere", "lower tau_c", SDS[1:])
    more = np.concatenate([bare - none, bare - alone])
    return Finding(
        f"{by_spread('without the norm', bare)}; {by_spread('with it', none)}; "
        f"{by_spread('with it and two temperatures', alone)}",
        more.min(),
        more,
    )


# Section 4.2: Figure 2 and Table 2.


@measures("cs-norm-scaled")
def scaled_norm(heads, norms):
    with_norm, without, *_ = ROWS
    after = heads["rank"].sel(place=AFTER)
    regular = after.sel(variant=with_norm)
    bare = after.sel(variant=without)
    rank = ranks(norms, "z")
    on_digits = bare / regular
    on_cifar = rank.sel(variant=SCALED_OUTPUTS) / rank.sel(variant=NORM)
    return Finding(
        f"{span(on_digits)} times on digits, {span(on_cifar)} times on CIFAR-10",
        on_digits.mean(),
        (0.25 - abs(on_digits - 1), 0.25 - abs(on_cifar - 1)),
    )


@measures("img-rank")
def rank_after(cifar):
    before = spectral_rank(cifar.spectrum_h)
    after = spectral_rank(cifar.spectrum_z)
    return Finding(
        f"effective rank before {listed(before, '.1f')}, after {listed(after, '.1f')}",
        (after / before).mean(),
        (before - after,),
    )


@measures("cs-photo-fig-2")
def photo_norm_removed(norms, slow):
    norm = ranks(slow, "z").sel(variant=SLOW_NORM)
    without = ranks(norms, "z").sel(variant=STANDARD).isel(seed=slice(norm.size))
    rise = without.values / norm.values - 1
    return Finding(
        f"effective rank {listed(norm, '.1f')} with the norm, {listed(without, '.1f')} without",
        rise.mean(),
        (rise - 0.25,),
    )


@measures("photo-norm-control")
def photo_control(norms, slow):
    rank = ranks(norms, "z")
    steep = rank.sel(variant=STEEP)
    standard = rank.sel(variant=STANDARD)
    plain = ranks(slow, "z").sel(variant=SLOW_NORM)
    share = steep / standard
    return Finding(
        f"effective rank {listed(steep, '.1f')} with the norm at 1/64, {listed(plain, '.1f')} with it at 1, "
        f"{listed(standard, '.1f')} with variance 1",
        share.mean(),
        (share - 0.9,),
    )


def digits_columns(digits, name: str, place: str) -> list:
    """(seeds,) of the variants regular, without norm, two temperatures: the readout or the rank at a place."""
    there = digits[name].sel(place=place)
    return [there.sel(variant=variant).values for variant in list(DIGITS)[:3]]


@measures("cs-fig-2")
def norm_removed(digits):
    regular, bare, _ = digits_columns(digits, "rank", AFTER)
    ratio = bare / regular
    half = digits["rank"].sel(variant="regular, temperature 1/2", place=AFTER)
    text = (
        f"by {span(ratio - 1, '.0%')}, from {regular.mean():.1f} to {bare.mean():.1f}; the norm at a "
        f"temperature of .5 has {half.mean():.1f} already"
    )
    return Finding(text, ratio.mean(), (ratio - 1.25,))


def digits_readouts(digits) -> tuple[list, list]:
    """The readouts of `digits_columns` after the projector, and before it."""
    return digits_columns(digits, "readout", AFTER), digits_columns(digits, "readout", BEFORE)


@measures("cs-table-2-before")
def digits_before_better(digits):
    after, before = digits_readouts(digits)
    lead = np.subtract(before, after)
    texts = [f"{mean:.3f} ({name})" for name, mean in zip(DIGITS, lead.mean(1), strict=False)]
    return Finding("by " + ", ".join(texts), lead.mean(), lead)


@measures("img-before-projector")
def before_projector(cifar):
    before = cifar.probe
    after = cifar.probe_z
    lead = before - after
    return Finding(f"before {listed(before)}, after {listed(after)}", lead.mean(), (lead,))


def photo_readouts(norms, slow) -> list:
    """(seeds,) readouts after the projector, and before it: norm, without norm, two temperatures, at one rate."""
    norms = norms.isel(seed=slice(slow.sizes["seed"]))
    found = []
    for name in ("probe_z", "probe"):
        rows = [slow[name].sel(variant=SLOW_NORM).values]
        rows += [norms[name].sel(variant=variant).values for variant in (STANDARD, STANDARD_TWO)]
        found.append(rows)
    return found


@measures("cs-photo-before")
def photo_before_better(norms, slow):
    after, before = photo_readouts(norms, slow)
    lead = np.subtract(before, after)
    text = "; ".join(listed(row, ".3f") for row in lead)
    return Finding(f"by {text}", lead.mean(), lead)


def changed(after: list, before: list, row: int) -> tuple[str, list]:
    """Words for the change of the readouts from the row before to this one; (seeds,) of both places."""
    gains, texts = [], []
    for rows in (after, before):
        first, then = rows[row - 1 : row + 1]
        gains.append(then - first)
        texts.append(f"{first.mean():.3f} to {then.mean():.3f}")
    text = "{} after the projector, {} before, means".format(*texts)
    return text, gains


def no_gain(after: list, before: list) -> Finding:
    """Whether the readout does not improve without the norm."""
    text, gains = changed(after, before, 1)
    return Finding(text, np.mean(gains), [0.01 - v for v in gains])


@measures("cs-photo-norm")
def photo_no_gain(norms, slow):
    return no_gain(*photo_readouts(norms, slow))


@measures("cs-photo-caption")
def photo_gain(norms, slow):
    text, gains = changed(*photo_readouts(norms, slow), 1)
    return Finding(text, np.mean(gains), gains)


@measures("cs-table-2-norm")
def digits_no_gain(digits):
    return no_gain(*digits_readouts(digits))


@measures("cs-table-2-caption")
def digits_gain(digits):
    text, gains = changed(*digits_readouts(digits), 1)
    return Finding(text, np.mean(gains), gains)


@measures("cs-table-2-two", 0)
@measures("cs-table-2-two-before", 1)
def digits_two_temperatures(place: int, digits):
    text, gains = changed(*digits_readouts(digits), 2)
    return Finding(text, gains[place].mean(), (gains[place],))


@measures("cs-photo-two", 0)
@measures("cs-photo-two-before", 1)
def photo_two_temperatures(place: int, norms):
    rows = []
    for name in ("probe_z", "probe"):
        rows.append([norms[name].sel(variant=v).values for v in (STANDARD, STANDARD_TWO)])
    text, gains = changed(*rows, 1)
    return Finding(text, gains[place].mean(), (gains[place],))


@measures("cs-two-spectrum")
def two_spectrum(digits):
    _, bare, two = digits_columns(digits, "rank", AFTER)
    return Finding(
        f"{span(two / bare)} times",
        (two / bare).mean(),
        (0.1 - abs(two / bare - 1),),
    )


@measures("cs-photo-two-spectrum")
def photo_two_spectrum(norms):
    ratios = []
    for place in "hz":
        rank = ranks(norms, place)
        ratios.append(rank.sel(variant=STANDARD_TWO) / rank.sel(variant=STANDARD))
    before, after = ratios
    return Finding(
        f"ratio of effective ranks {listed(before)} before the projector, {listed(after)} after it",
        np.mean(ratios),
        0.1 - abs(np.stack(ratios) - 1),
    )


# Appendices A and B: matrices, classifiers, assumptions.


@measures("cs-lemma-2")
def rank_of_product(products):
    above = max(found[0] for found in products)
    return Finding(f"{above} of 81 higher", above, (0.5 - above,))


@measures("cs-lemma-3")
def singular_product(products):
    _, both, one = np.array(products).max(0)
    return Finding(
        f"wrong for {both} of 81; with 'at least one' for {one}",
        both,
        (0.5 - both,),
        None if one == 0 else "fails",
    )


@measures("cs-lemma-4")
def classifier_simplex(classifier):
    run = classifier.sel(variant="classifier")
    off = abs(run.cosines + 1 / 3).max("pair")
    within = run.within.isel(step=-1)
    return Finding(
        f"cosines off by {span(off)} at most; within over between {span(within, '.4f')}",
        off.mean(),
        (0.1 - off,),
    )


@measures("cs-generators")
def generators(worlds):
    lost, content, style = np.array(worlds).T
    off = lost.max()
    differs = content.max()
    apart = style.min()
    return Finding(
        f"inverse off by {off:.0e}; content differs by {differs:g}, style by at least {apart:.2f}",
        off,
        (1e-4 - off, 1e-12 - differs, apart - 1e-6),
    )


@measures("cs-assumption-3")
def simultaneously_diagonal(axes):
    left = np.array([shared for *_, shared in axes])
    commutator = [found[0] for found in axes]
    return Finding(
        f"{left.max():.0e} beside the diagonals after a rotation; for covariances without common axes no rotation "
        f"does it ($AB - BA$ has {span(commutator)} of the size of $AB$), their generalised eigenvectors do",
        left.max(),
        (1e-10 - left.max(),),
    )


def smallest(dial, share: int) -> np.ndarray:
    """(seeds at style sd .6, then at 1) smallest eigenvalue of share Sigma_x - Sigma_x~."""
    ascending = [*dial[0.6][share], *dial[1.0][share]]
    return np.array([values[0] for values in ascending])


@measures("cs-assumption-4")
def strong_style(dial):
    true = smallest(dial, 2)
    printed = smallest(dial, 1)
    return Finding(
        f"smallest {span(true, '.3f')}; with $\\Sigma_x$ once {span(printed, '.3f')}",
        true.min(),
        (every(true, -printed),),
    )


# Appendix C: the gradient of the linear model.


@measures("cs-temperature")
def only_scales(scaled):
    off, turned, small = np.array(scaled).T
    farthest = off.max()
    angle = turned.min()
    lost = (1 - small).max()
    return Finding(
        f"at a small W cosine 1 to {lost:.0e}; at a rotation held still {span(turned)}, scaled along off "
        f"by {farthest:.0e}",
        angle,
        (1e-5 - lost, 1e-12 - farthest, 1 - angle - 1e-5),
    )


@measures("cs-lemma-5")
def lemma_5(errors):
    printed = np.array([of_seed["printed"][0] for of_seed in errors])
    corrected = np.array([of_seed["corrected"][0] for of_seed in errors])
    detached = np.array([of_seed["detached"][0] for of_seed in errors])
    text = rf"error {{:.2f}}; with $2 \Sigma_x$ {corrected.max():.0e}; with negatives held still {detached.max():.0e}"
    return Finding(
        text.format(printed.mean()),
        printed.mean(),
        (0.01 - printed.min(),),
        None if corrected.max() < 1e-5 else "fails",
    )


@measures("cs-eq-7")
def derivative(derivatives):
    printed, corrected = np.array(derivatives).T
    return Finding(
        f"error {span(printed)}; corrected {corrected.max():.0e}",
        printed.mean(),
        (1e-9 - printed.min(),),
        None if corrected.max() < 1e-9 else "fails",
    )


@measures("cs-eq-10")
def pull(limits):
    found = np.array([limits[n, 1.0] for n in (64, 256, 1024)])
    errors = found[..., 0]  # (sizes, seeds)
    last = errors[-1]
    falls = errors[:-1] - errors[1:]
    return Finding(
        f"error {listed(errors.mean(1), '.1%')}",
        last.mean(),
        (every(falls), every(0.01 - last)),
    )


@measures("cs-eq-12")
def cross_term(endless, limits):
    turned = endless[1.0][0]
    small = endless[1e-3][0]
    sampled = np.mean([found[1] for found in limits[1024, 1.0]])
    return Finding(
        f"{turned:.1%} of the other term at a rotation ({sampled:.1%} with 1,024 anchors), {small:.0e} at .001 of it",
        turned,
        (1e-4 - small, turned - 1e-4),
    )


@measures("cs-eq-13")
def even_shares(endless):
    _, least, most = endless[1.0]
    _, *small = endless[1e-3]
    off = max(abs(share - 1) for share in small)
    return Finding(
        f"M times a share is {least:.2f} to {most:.2f} at a rotation; off 1 by {off:.0e} at .001 of it",
        most,
        (1e-3 - off, most - 1 - 1e-3),
    )


def nonzero(values: np.ndarray) -> np.ndarray:
    """(seeds,) how many singular values (seeds, d) are not zero."""
    return (values > 1e-10 * values[:, :1]).sum(1)


@measures("cs-lemma-6")
def batch_size(spectra, estimates):
    limit = estimates[max(estimates)]
    conditions, errors = [], []
    for n in (5, 100):
        highest, *_, lowest = spectra[n].T
        conditions.append(highest / lowest)
        off = estimates[n] - limit
        errors.append(np.linalg.norm(off, axis=(-2, -1)))
    few, many = conditions
    better = np.divide(*errors)
    low = nonzero(spectra[2])
    full = nonzero(spectra[12])
    text = (
        f"rank {low.max()}, then {full.min()}; condition number {span(few, '.0f')}, then "
        f"{span(many, '.1f')}; errors {span(better, '.1f')} times smaller"
    )
    margins = (full - low, np.log(few / many), np.log(better))
    return Finding(text, many.mean(), map(every, margins))


@measures("cs-lemma-6-remark")
def covariance_rank(estimates):
    few = [found for n, found in estimates.items() if n < 8]
    rank = np.linalg.matrix_rank(np.array(few))
    return Finding(
        "at most {} (data) and {} (pairs)".format(*rank.max((0, 1))),
        rank.max(),
        (7.5 - rank.max(),),
    )


@measures("cs-gradient-rank")
def gradient_rank(spectra):
    errors = []
    for n, values in spectra.items():
        said = min(2 * n - 1, 8)
        errors.append(abs(nonzero(values) - said).max())
    off = max(errors)
    return Finding(
        f"{nonzero(spectra[5]).min()} of 8 with 5 pairs; off by {off} at most",
        off,
        (0.5 - off,),
    )


@measures("cs-eq-15")
def decomposition(forms):
    off, middle, beside = zip(*forms, strict=True)
    most = max(off)
    diagonals = np.array(middle)
    content, style = np.hsplit(diagonals, [4])
    return Finding(
        f"off by {most:.0e}; content {span(content, '.3f')}, style "
        f"{span(style, '.3f')}, beside the diagonal {span(beside, '.4f')}",
        most,
        (1e-9 - most, 0.05 - 12 * max(beside)),
    )


@measures("cs-definite")
def definite(dial):
    ascending = np.array([dial[sd][1] for sd in (0.1, 0.2, 0.3)])  # (spreads, seeds, eigenvalues)
    lowest = ascending[..., 0]
    highest = ascending[..., -1]
    bottom = lowest.min()
    one_sign = (lowest > 0).all() or (highest < 0).all()
    return Finding(
        f"as printed {-highest.max():.3f} to {-bottom:.3f}; corrected, from {bottom:.3f} up",
        -highest.min(),
        (every(-highest),),
        None if one_sign else "fails",
    )


@measures("cs-strong")
def strong_augmentation(linear):
    frees, shares, texts = [], [], []
    for sd in SPREADS["box"]:
        free = least(linear["spread", "box", 0, sd])
        share = least(linear["spread", "box", 4, sd]) / free
        frees.append(free.mean())
        shares.append(share)
        texts.append(f"{span(share)} at sd {sd:g}")
    *weak, strong, strongest = shares
    text = "; ".join(texts)
    without = listed(frees[2:])
    return Finding(
        f"of that without content {text}; without content it is {without} at .6 and 1",
        strongest.mean(),
        (0.5 - strong, 0.5 - strongest, 0.5 - np.minimum(*weak)),
    )


def scatter(ratios) -> float:
    """The largest standard deviation of a column of matrices (seeds, 8, 8) over its mean size."""
    return (ratios.std(1) / abs(ratios).mean(1)).max()


@measures("cs-proportional")
def proportional(entries):
    through = np.array([ratios for ratios, _ in entries])  # (seeds, 8, 8)
    alone = np.array([ratios for _, ratios in entries])
    spread = scatter(through)
    diagonal = scatter(alone)
    shrinking = (through < 0).mean()
    return Finding(
        f"spread {diagonal:.0e} where the matrix is diagonal; else {spread:.1f} times the mean, and "
        f"{shrinking:.0%} of entries shrink",
        spread,
        (1e-9 - diagonal, spread - 1e-9),
    )


@measures("cs-eigenvalues")
def eigenvalues_decide(linear, sphere_eigenvalues):
    mild = least(linear["spread", "sphere", 4, 0.2])
    strong = least(linear["spread", "sphere", 4, 0.5])
    above = sphere_eigenvalues[0.2]
    below = sphere_eigenvalues[0.5]
    return Finding(
        f"smallest eigenvalue {above:.3f} and {below:.3f}: smallest over largest singular value "
        f"{span(mild)} and {span(strong, '.4f')}",
        strong.mean(),
        (above, -below, mild - 0.3, 0.01 - strong),
    )


@measures("cs-lemma-7")
def content_faster(recipe):
    rates = [recipe[sd, "1"] for sd in (0.05, 0.1, 0.15)]
    faster = np.array([of_seeds for _, of_seeds in rates])
    return Finding(f"faster by {span(faster)}", faster.mean(), faster - 1)


@measures("cs-lemma-7-ratio")
def growth_ratio(ratios):
    true, law, printed = np.array(ratios).transpose(2, 0, 1)  # (spreads, seeds)
    text = ", ".join(
        (by_spread("autograd", true), by_spread("the law", law), by_spread("printed", printed))
    )
    off = abs(true / law - 1)
    return Finding(text, true[-1].mean(), (every(0.02 - off),))


@measures("cs-prop-2")
def reading(readings):
    right = readings["g gaussian, x whitened"]  # (spreads, numbers of pairs, seeds)
    enough = readings["both rotations"][:, -1]
    texts = []
    for name, found in readings.items():
        texts.append(f"{listed(found.mean((0, 2)))} ({name})")
    return Finding(
        f"right with 800, 8,000, 40,000 pairs: {'; '.join(texts)}",
        right.min(),
        ((right == 1).ravel(), (enough == 1).ravel()),
    )


@measures("cs-prop-3")
def recipe_equalises(recipe):
    sds = (0.01, 0.05, 0.1, 0.15)
    equal = np.array([recipe[sd, "1"][1] for sd in sds])
    scaled = np.array([recipe[sd, "the recipe"][1] for sd in sds])
    return Finding(
        f"{by_spread('content faster by', scaled)}; {by_spread('at equal temperatures by', equal)}",
        scaled.max(),
        (every(np.log(10) - abs(np.log(scaled))),),
    )


@measures("cs-prop-3-goal")
def equal_spectrum(linear):
    texts, levels = [], []
    for p in (2, 1):
        scaled, equal = [], []
        for sd in (0.05, 0.1, 0.15):
            scaled.append(least(linear["recipe", p, sd, "s"]))
            equal.append(least(linear["recipe", p, sd, "1"]))
        texts.append(f"{span(scaled)} (p = {p}; at equal temperatures {span(equal)})")
        levels.append(scaled)
    levels = np.array(levels)  # (p, spreads, seeds)
    return Finding("; ".join(texts), levels[0].min(), np.concatenate(levels - 0.5))


@measures("cs-stationary")
def only_zero(dial):
    eigenvalues = [dial[sd][1] for sd in (0.1, 0.2, 0.3)]
    values = np.abs(eigenvalues)  # (spreads, seeds, eigenvalues)
    size = values.min(-1) / values.max(-1)
    text = f"at least {size.min():.2f} of the largest"
    return Finding(text, size.min(), (every(size - 0.1),))


@measures("cs-loss-zero")
def zero_loss(loss_at_zero):
    ratio, inverse = np.array(loss_at_zero).T
    off = abs(ratio - 1).max()
    return Finding(
        f"off by {off:.0e}; at the inverse of g {span(inverse)} of it",
        inverse.max(),
        (1e-9 - off, 1 - inverse.max()),
    )


# Appendix D: what is optimal.


@measures("cs-prop-4-optimum")
def style_optimum(surface):
    losses = np.array([*surface.values()])  # (d_c, content, style)
    best = losses.min(2) / losses[..., 0]
    return Finding(
        f"the best style has {span(best)} of the loss without",
        best.max(),
        (best.max() - 1 + 1e-9,),
    )


@measures("cs-prop-4")
def infimum(far, collapsed, no_content):
    losses = [*far.values()]
    text = listed([loss[0] for loss in losses], ".2g")
    for of_seed in collapsed:
        losses += of_seed.values()
    least = max(loss[-1] for loss in losses)
    return Finding(
        f"{text} with the content times 30; {least:.0e} at 1e8, linear and not; without content {no_content:.2f}",
        least,
        (1e-9 - least, no_content - 1e-9),
    )


@measures("cs-cor-1")
def inverse_not_best(corner):
    losses = np.array([corner[k][:, :, 1] for k in (1, 4)])  # (d_c, seeds, content)
    inverse = losses[..., 0]
    doubled = losses[..., 1]
    means = losses.mean(1).T.ravel()
    text = "{:.2f} and {:.2f} fall to {:.2f} and {:.2f}".format(*means)
    return Finding(text, doubled.mean(), (every(inverse - doubled),))


@measures("cs-prop-5")
def low_rank(layers):
    counts = {1: [], 3: []}
    for (depth, _), found in layers.items():
        counts[depth] += [nonzero(np.array(of_seed)) for of_seed in found]
    straight = counts[1]
    bent = np.array(counts[3])  # (seeds and scales, layers)
    by_layer = ", ".join(span(of_layer, "d") for of_layer in bent.T)
    low = max(np.max(straight), bent[:, -1].max())
    return Finding(
        f"{span(straight, 'd')} (linear); {by_layer} (by layer), with content times 2 and times 30",
        bent.max(),
        (3.5 - low, bent[:, 0].max() - 3.5),
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
    return Finding(f"rank {seen}; it is f that has rank {rank}", seen, (seen - 7.5,))


# Appendix E: DirectCLR.


@measures("cs-fig-4")
def unused_decay(weak_decay, decayed):
    left = decayed.left.sel(variant="directclr").values  # (seeds, rows)
    seen, unseen = np.split(left, [12], axis=1)
    unused = unseen.max(1)
    used = seen.mean(1)
    start, *_, end = weak_decay.rows[:, weak_decay.config.direct :]
    early = (end / start).mean()
    return Finding(
        f"{span(unused, '.4f')} left at a product of 8, of the rows that the loss sees {span(used)}; {early:.3f} left "
        "at .008",
        unused.mean(),
        (0.01 - unused, np.log(used / unused / 10), early - 0.5),
    )


@measures("cs-eq-28")
def only_concatenated(decayed):
    unused = decayed.sel(variant="directclr").isel(row=slice(12, None))
    added = unused.added.max("row")
    left = unused.left.max("row")
    return Finding(
        f"at most {span(added, '.4f')} of h, with {span(left, '.4f')} of the weights left",
        added.mean(),
        (0.01 - added,),
    )


@measures("cs-h-against-r")
def r_reads_worse(directclr):
    h, r = (directclr.readout.sel(variant="directclr", place=place).values for place in "hr")
    lead = h - r
    text = f"r {r.mean():.3f}, h {h.mean():.3f}"
    return Finding(text, lead.mean(), (lead,))


@measures("cs-directclr-simclr")
def simclr_reads_better(directclr, heads):
    r = directclr.readout.sel(variant="directclr", place="r").values
    other = heads.readout.sel(variant="regular", place=BEFORE).values
    lead = other - r
    text = f"r {r.mean():.3f}, SimCLR {other.mean():.3f}"
    return Finding(text, lead.mean(), (lead,))
