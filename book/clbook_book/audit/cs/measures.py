"""How the claims of CS are measured, in the order of items.yaml."""

import numpy as np

from clbook.experiments.content_style.experiment import gains, singular, style_gain
from clbook.metrics import spectral_rank
from clbook_book.audit.cs.recipes import DIGITS, KS, SDS, SPACES, TRIED, WORLDS
from clbook_book.audit.judging import Every, Finding, Measures, listed, misprint, span
from clbook_book.course.photographs.figures import ranks
from clbook_book.course.photographs.recipes import OUTPUTS, SLOW

measures = Measures()
BOXES = ("box, p = 2", "box, p = 1")
TOTAL = 2  # row of the table of losses
# What was done to the outputs of photographs, and at which temperatures.
NORM, SCALED_OUTPUTS, _, STANDARD, STANDARD_TWO, STEEP = OUTPUTS
(SLOW_NORM,) = SLOW


# The abstract, Sections 2 and 3.


def by_spread(found: dict) -> str:
    """Words for {name: (spreads, seeds)}: the means over seeds."""
    texts = []
    for name, values in found.items():
        means = np.mean(values, 1)
        texts.append(f"{name} {listed(means)}")
    return "; ".join(texts)


# In the box, and on the sphere: the spreads of style.
SPREADS = {"box": (0.1, 0.3, 0.6, 1.0), "sphere": TRIED}


@measures("cs-bias")
def less_where_it_varies(linear):
    found, falls = {}, []
    for space, sds in SPREADS.items():
        maps = np.array([linear["spread", space, 4, sd] for sd in sds])
        shares = style_gain(maps, 4)  # (spreads, seeds)
        found[f"{space}: style's gain over content's"] = shares
        falls += list(shares[:-1] - shares[1:])
    return Finding(by_spread(found), *falls)


@measures("cs-abstract")
def low_rank_projector(keeping):
    lead, style, worse = [], [], []
    for losses, fits in keeping["sphere"]:
        lead.append(min(losses[1:]) - losses[0])
        style.append(fits[0][1])
    for losses, _ in keeping["box"]:
        worse.append(losses[0] - min(losses[1:]))
    return Finding(
        f"sphere: the loss is lower by {span(lead, '.3f')} without style, "
        f"whose $R^2$ is {span(style)}; "
        f"in the box the loss is higher by {span(worse)}",
        lead,
        np.subtract(0.1, style),
    )


@measures("cs-eq-1")
def definitions(written):
    worst = np.max(written)
    return Finding(f"off by {worst:.0e} at most", 1e-10 - worst)


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
    return Finding("; ".join(texts), *np.subtract(levels, 0.8))


def style_kept(deep, world: str, sd: float, label: str, width: int = 50) -> np.ndarray:
    """(seeds,) R^2 of the style at the output."""
    return deep[width, world, sd, label].style.isel(layer=-1).values


def at_spreads(deep, world: str, label: str, sds=SDS) -> np.ndarray:
    """(spreads, seeds) R^2 of the style at the output."""
    return np.array([style_kept(deep, world, sd, label) for sd in sds])


@measures("cs-inversion-deep")
def inverted_deep(deep):
    kept = {world: at_spreads(deep, world, "no content") for world in SPACES}
    style = np.concatenate(list(kept.values()))
    return Finding(by_spread(kept), *(style - 0.9))


@measures("cs-eq-2")
def style_distance(split):
    off, smaller = np.array(split).T
    return Finding(
        f"off by {off.max():.0e} at most; with the longest direction gone {span(smaller)} of it",
        1e-9 - off.max(),
        1 - smaller.max(),
    )


@measures("cs-without-content")
def low_rank_distance(lowered):
    ratios = np.array(lowered)
    return Finding(f"{span(ratios)} of the full distance", ratios.min() - 1)


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
    text = (
        f"within over between {span(within, '.4f')}; "
        f"$R^2$ of style {span(style)}; "
        f"cosines off by {span(off)} at most; "
        f"the control has {span(kept_within)} and {span(kept_style)}"
    )
    return Finding(
        text,
        0.1 - within,
        0.1 - style,
        0.1 - off,
        kept_within - 0.1,
        kept_style - 0.1,
    )


@measures("cs-lemma-1-near")
def near_style_stays(classes):
    within, style = of_classes(classes, "style near the old one")
    return Finding(
        f"within over between {span(within)}; $R^2$ of style {span(style)}", within - 0.1
    )


def factors(linear, tau_c: float) -> dict:
    """{world: (d_c, seeds) the factor by which a tau_c not 1 changes style's gain over content's}."""
    found = {}
    for world in WORLDS:
        changed = [style_gain(linear[world, k, tau_c], k) for k in KS]
        equal = [style_gain(linear[world, k, 1.0], k) for k in KS]
        found[world] = np.divide(changed, equal)
    return found


def by_world(found: dict) -> str:
    """Words for what `factors` gives."""
    texts = [f"{span(values)} ({world})" for world, values in found.items()]
    return "times " + ", ".join(texts)


@measures("cs-low-tau-c-gain")
def lower_content(linear):
    found = factors(linear, 0.01)
    in_boxes = np.concatenate([found[world] for world in BOXES])
    return Finding(by_world(found), *np.log(in_boxes))


@measures("cs-high-tau-c")
def higher_content(linear):
    found = factors(linear, 10.0)
    low = factors(linear, 0.01)
    # As printed it helps in the box, for both p and each d_c, by at least as much as the other order.
    gain = np.concatenate([np.log(found[world] / low[world]) for world in BOXES])
    helps = all(low[world].mean(1).min() > 1 for world in BOXES)
    return Finding(
        f"{by_world(found)}; tau_c = .01: {by_world(low)}",
        gain.min(0),
        verdict=None if helps else "fails",
    )


@measures("cs-conjecture-1")
def shielded(shield):
    fourth = [shield[5, above].style.sel(layer="fourth") for above in range(4)]
    return Finding(
        f"$R^2$ {listed([v.mean() for v in fourth])} under 0 to 3 layers", fourth[3] - fourth[0]
    )


# Section 4.1: Figure 1 and Table 1.


@measures("cs-fig-1-left")
def style_falls(linear):
    free = linear["box, p = 2", 0, 1.0], linear["spread", "sphere", 0, 0.3]
    level = np.array([least(maps) for maps in free])
    in_box = [singular(linear["box, p = 2", k, 1.0])[:, k] for k in KS]
    on_sphere = singular(linear["spread", "sphere", 4, 0.3])[:, 4]
    fallen = np.array([*in_box, on_sphere])
    return Finding(
        f"without content the smallest is {span(level)}; "
        f"with it the largest of style {span(in_box)} (box), "
        f"{span(on_sphere)} (sphere)",
        *(level - 0.5),
        *(0.5 - fallen),
    )


@measures("cs-box-content-grows")
def content_grows(linear):
    free = gains(linear["box, p = 2", 0, 1.0]).mean(1)
    content, style = [], []
    for k in KS:
        gain = gains(linear["box, p = 2", k, 1.0]) / free[:, None]  # (seeds, 8)
        content.append(gain[:, :k].mean(1))
        style.append(gain[:, k:].mean(1))
    return Finding(
        f"content {span(content, '.1f')} times, style {span(style)} times the gain without content",
        *np.log(np.multiply(content, style)),
    )


def off_level(maps, free) -> np.ndarray:
    """(seeds,) the largest distance of a singular value of maps from its mean over the maps without content."""
    level = singular(free).mean(0)
    return abs(singular(maps) - level).max(1)


@measures("cs-fig-1-dashed")
def dashed(heated, linear):
    one = [off_level(heated[1, 0.1, sd], heated[0, 1.0, sd]) for sd in TRIED]
    free = heated[0, 1.0, 0.3]
    equal = off_level(heated[1, 1.0, 0.3], free)
    best = []
    for k in (2, 4):
        off = [off_level(heated[k, tau, 0.3], free).mean() for tau in (0.03, 0.1, 0.3)]
        best.append(min(off))
    in_boxes = []
    for world in BOXES:
        free = linear[world, 0, 1.0]
        off = [off_level(linear[world, k, 0.01], free).mean() for k in KS]
        in_boxes.append(f"{listed(off)} ({world})")
    text = (
        f"{by_spread({'off by': one})} at style sd .2, .3, .5, "
        f"at equal temperatures by {equal.mean():.2f}; "
        f"with d_c = 2 and 4 by {listed(best)} at the best tau_c; "
        f"in the box, d_c = 1, 2, 4, by {'; '.join(in_boxes)}"
    )
    return Finding(
        text,
        0.1 - one[0],
        0.1 - one[1],
        equal - 0.1,
    )


@measures("cs-units")
def units(unit):
    off = max(unit)
    return Finding(f"by {off:.0e} at most", 1e-12 - off)


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
        *np.log(found[1.0] / found[0.01]),
    )


@measures("cs-fig-1-middle")
def deep_box(deep):
    style = at_spreads(deep, "box", "content")
    free = at_spreads(deep, "box", "no content")
    text = by_spread({"box, content": style, "without": free})
    return Finding(f"$R^2$ {text}", Every(free - style))


@measures("cs-deep-box")
def deep_box_temperature(deep):
    low = style_kept(deep, "box", 0.15, "lower tau_c")
    equal = style_kept(deep, "box", 0.15, "content")
    return Finding(
        f"$R^2$ {listed(low)} with the lower tau_c, {listed(equal)} at equal temperatures",
        low - equal,
    )


@measures("cs-fig-1-narrow")
def deep_narrow(rotated):
    texts, less = [], []
    for world in SPACES:
        style = style_kept(rotated, world, 0.15, "content", 10)
        free = style_kept(rotated, world, 0.15, "no content", 10)
        texts.append(f"{world}, content {listed(style)}; without {listed(free)}")
        less.append(free - style)
    return Finding(f"$R^2$ {'; '.join(texts)}", *less)


@measures("cs-deep-lower-tau")
def lower_temperature(deep_short):
    halved = deep_short["sphere", r"$d_c$ = 5, all $\tau$ halved"]
    plain = deep_short["sphere", "$d_c$ = 5"]
    more = []
    for low, run in zip(halved, plain, strict=True):
        more.append(low.style_r2[-1, -1] - run.style_r2[-1, -1])
    return Finding(f"$R^2$ higher by {span(more)}", more)


@measures("cs-fig-1-right")
def deep_sphere(deep):
    style = at_spreads(deep, "sphere", "content")
    free = at_spreads(deep, "sphere", "no content")
    text = by_spread({"sphere, content": style, "without": free})
    return Finding(text, *(0.5 - style / free))


@measures("cs-threshold-deep")
def threshold_misses(deep, predicted):
    share = at_spreads(deep, "sphere", "content") / at_spreads(deep, "sphere", "no content")
    left = [predicted[sd][0] for sd in SDS]
    return Finding(
        f"at {listed(left)} of the threshold {by_spread({'a share of': share})}",
        1 - max(left),
        *(0.5 - share),
    )


@measures("cs-sphere-threshold")
def sphere_threshold(sphere_grid):
    left, gain = np.array(sphere_grid).T[2:4]
    above = gain[left >= 1]
    below = gain[left < 1]
    top = above.max()
    bottom = below.min()
    return Finding(
        f"at most {top:.2f} of content's above, at least {bottom:.2f} below",
        Every(bottom - above),
        Every(below - top),
    )


@measures("cs-table-1")
def beats_inverse(parts):
    _, scaled, trained, *_ = parts["box", 2][:, TOTAL].T
    inverse, _, on_sphere, *_ = parts["sphere", 4][:, TOTAL].T
    return Finding(
        f"box {trained.mean():.2f} against {scaled.mean():.2f}, "
        f"sphere {on_sphere.mean():.2f} against {inverse.mean():.2f}",
        scaled - trained,
        inverse - on_sphere,
    )


@measures("cs-table-1-split")
def split_of_losses(parts):
    spaces = np.stack([parts["box", 2], parts["sphere", 4]])
    both = spaces[:, :, :TOTAL]  # (spaces, seeds, 2, maps)
    inverse, _, trained, *_ = np.moveaxis(both, -1, 0)
    in_box, on_sphere = trained - inverse
    means = np.stack([inverse.mean(1), trained.mean(1)], 1).ravel()
    return Finding(
        "alignment and uniformity, inverse to trained: box {:.2f} and {:.2f} to {:.2f} and {:.2f}, sphere {:.2f} and "
        "{:.2f} to {:.2f} and {:.2f}".format(*means),
        -on_sphere.sum(1),
        -on_sphere[:, 0],
        in_box[:, 0],
        -in_box[:, 1],
    )


def totals(deep, world: str, label: str) -> np.ndarray:
    """(2, spreads, seeds) the loss of the inverse of g, and of the trained encoder, at each of two spreads."""
    runs = [deep[50, world, sd, label].terms.values for sd in SDS[1:]]
    found = np.array(runs)[..., TOTAL]  # (spreads, seeds, 2)
    return found.transpose(2, 0, 1)


def beaten(lead: np.ndarray, free: np.ndarray) -> Finding:
    """By how much a loss is below that of the inverse (spreads, seeds); `free`: without content, for the text."""
    text = by_spread({"lower by": lead, "without content by": free})
    return Finding(text, Every(lead))


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
    uniformity = {world: np.array(terms)[:, 1] for world, terms in inverse.items()}
    box = uniformity["box", 2]
    other = uniformity["box", 1]
    ball = uniformity["sphere", 2]
    near = (0.2 - abs(box - 7.69)).min()
    far = (abs(other - 7.69) - 0.2).min()
    ball_near = (0.01 - abs(ball - 9.26)).min()
    return Finding(
        f"box {box.mean():.2f} (p = 2), {other.mean():.2f} (p = 1); sphere {ball.mean():.2f}",
        near,
        far,
        ball_near,
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
    text = by_spread({"in the last layer": last, "before it": before})
    return Finding(text, *(last - before))


@measures("cs-last-layer-box")
def in_the_last_in_the_box(deep):
    last, before = lost_last(deep, "box", "content")
    free, _ = lost_last(deep, "box", "no content")
    found = {
        "in the last layer": last,
        "before it": before,
        "in the last, no content": free,
    }
    return Finding(
        by_spread(found),
        Every(last - before),
        Every(last - free),
    )


def beside(deep, label: str) -> tuple:
    """(spreads, seeds) R^2 of style on the sphere at two spreads: with norm and one temperature, with norm and a lower
    tau_c, with `label`; and how far the last is above the first, then above the second."""
    names = ("content", "lower tau_c", label)
    none, alone, other = (at_spreads(deep, "sphere", name, SDS[1:]) for name in names)
    return none, alone, other, [*(other - none), *(other - alone)]


@measures("cs-deep-sphere")
def norm_too(deep):
    none, alone, both, more = beside(deep, "both")
    text = by_spread({"with neither": none, "with tau_c": alone, "with both": both})
    return Finding(f"$R^2$ {text}", *more)


@measures("cs-deep-norm")
def norm_alone(deep):
    none, alone, bare, more = beside(deep, "no norm")
    found = {
        "without the norm": bare,
        "with it": none,
        "with it and two temperatures": alone,
    }
    return Finding(by_spread(found), *more)


# Section 4.2: Figure 2 and Table 2.


def times(rank, one: str, other: str):
    """(seeds,) the effective ranks of one variant over those of another."""
    return rank.sel(variant=one) / rank.sel(variant=other)


@measures("cs-norm-scaled")
def scaled_norm(heads, norms):
    on_digits = times(heads["rank"].sel(place="z"), "without norm", "regular")
    on_cifar = times(ranks(norms, "z"), SCALED_OUTPUTS, NORM)
    return Finding(
        f"{span(on_digits)} times on digits, {span(on_cifar)} times on CIFAR-10",
        0.25 - abs(on_digits - 1),
        0.25 - abs(on_cifar - 1),
    )


@measures("img-rank")
def rank_after(cifar):
    before = spectral_rank(cifar.spectrum_h)
    after = spectral_rank(cifar.spectrum_z)
    return Finding(
        f"effective rank before {listed(before, '.1f')}, after {listed(after, '.1f')}",
        before - after,
    )


@measures("cs-photo-fig-2")
def photo_norm_removed(norms, slow):
    norm = ranks(slow, "z").sel(variant=SLOW_NORM)
    without = ranks(norms, "z").sel(variant=STANDARD).isel(seed=slice(norm.size))
    rise = without.values / norm.values - 1
    return Finding(
        f"effective rank {listed(norm, '.1f')} with the norm, {listed(without, '.1f')} without",
        rise - 0.25,
    )


@measures("photo-norm-control")
def photo_control(norms, slow):
    rank = ranks(norms, "z")
    steep = listed(rank.sel(variant=STEEP), ".1f")
    standard = listed(rank.sel(variant=STANDARD), ".1f")
    plain = listed(ranks(slow, "z").sel(variant=SLOW_NORM), ".1f")
    return Finding(
        f"effective rank {steep} with the norm at 1/64, {plain} with it at 1, {standard} with variance 1",
        times(rank, STEEP, STANDARD) - 0.9,
    )


@measures("cs-fig-2")
def norm_removed(digits):
    rank = digits["rank"].sel(place="z")
    ratio = times(rank, "without norm", "regular")
    rows = ("regular", "without norm", "regular, temperature 1/2")
    regular, bare, half = (rank.sel(variant=row).mean() for row in rows)
    return Finding(
        f"by {span(ratio - 1, '.0%')}, "
        f"from {regular:.1f} to {bare:.1f}; "
        f"the norm at a temperature of .5 has {half:.1f} already",
        ratio - 1.25,
    )


@measures("cs-two-spectrum")
def two_spectrum(digits):
    ratio = times(digits["rank"].sel(place="z"), "two temperatures", "without norm")
    return Finding(f"{span(ratio)} times", 0.1 - abs(ratio - 1))


@measures("cs-photo-two-spectrum")
def photo_two_spectrum(norms):
    before, after = (times(ranks(norms, place), STANDARD_TWO, STANDARD) for place in "hz")
    return Finding(
        f"ratio of effective ranks {listed(before)} before the projector, {listed(after)} after it",
        0.1 - abs(before - 1),
        0.1 - abs(after - 1),
    )


@measures("img-before-projector")
def before_projector(cifar):
    before = cifar.probe
    after = cifar.probe_z
    text = f"before {listed(before)}, after {listed(after)}"
    return Finding(text, before - after)


# The rows of CS Table 2: regular, without norm, two temperatures. Readouts are (places, rows, seeds), first those after
# the projector.
TABLE_2 = list(DIGITS)[:3]


def digits_readouts(digits) -> np.ndarray:
    """The readouts of CS Table 2's rows on digits."""
    rows = digits.readout.sel(variant=TABLE_2, place=["z", "h"])
    return rows.transpose("place", "variant", "seed").values


def photo_readouts(norms) -> np.ndarray:
    """The same rows on photographs, each at the rate that suits it."""
    rows = [
        norms[name].sel(variant=[NORM, STANDARD, STANDARD_TWO]) for name in ("probe_z", "probe")
    ]
    return np.array([row.values for row in rows])


@measures("cs-table-2-before")
def digits_before_better(digits):
    after, before = digits_readouts(digits)
    lead = before - after
    texts = []
    for name, mean in zip(TABLE_2, lead.mean(1), strict=True):
        texts.append(f"{mean:.3f} ({name})")
    return Finding("by " + ", ".join(texts), *lead)


@measures("cs-photo-before")
def photo_before_better(norms):
    after, before = photo_readouts(norms)
    lead = before - after
    text = "; ".join(listed(row, ".3f") for row in lead)
    return Finding(f"by {text}", *lead)


def changed(readouts: np.ndarray, row: int) -> tuple[str, np.ndarray]:
    """Words for the change of the readouts from the row before to this one; (places, seeds) how large it is."""
    first = readouts[:, row - 1]
    then = readouts[:, row]
    texts = []
    for old, new in zip(first.mean(1), then.mean(1), strict=True):
        texts.append(f"{old:.3f} to {new:.3f}")
    after, before = texts
    return f"{after} after the projector, {before} before, means", then - first


@measures("cs-photo-norm")
def photo_no_gain(norms):
    text, gain = changed(photo_readouts(norms), 1)
    return Finding(text, *(0.01 - gain))


@measures("cs-photo-caption")
def photo_gain(norms):
    text, gain = changed(photo_readouts(norms), 1)
    return Finding(text, *gain)


@measures("cs-table-2-norm")
def digits_no_gain(digits):
    text, gain = changed(digits_readouts(digits), 1)
    return Finding(text, *(0.01 - gain))


@measures("cs-table-2-caption")
def digits_gain(digits):
    text, gain = changed(digits_readouts(digits), 1)
    return Finding(text, *gain)


@measures("cs-table-2-two", 0)
@measures("cs-table-2-two-before", 1)
def digits_two_temperatures(place: int, digits):
    text, gain = changed(digits_readouts(digits), 2)
    return Finding(text, gain[place])


@measures("cs-photo-two", 0)
@measures("cs-photo-two-before", 1)
def photo_two_temperatures(place: int, norms):
    rows = norms.sel(variant=[STANDARD, STANDARD_TWO])
    text, gain = changed(np.array([rows.probe_z, rows.probe]), 1)
    return Finding(text, gain[place])


# Appendices A and B: matrices, classifiers, assumptions.


@measures("cs-lemma-2")
def rank_of_product(products):
    above, *_ = np.max(products, 0)
    return Finding(f"{above} of 81 higher", 0.5 - above)


@measures("cs-lemma-3")
def singular_product(products):
    _, both, one = np.max(products, 0)
    return misprint(f"wrong for {both} of 81; with 'at least one' for {one}", both, one, 0.5)


@measures("cs-lemma-4")
def classifier_simplex(classifier):
    run = classifier.sel(variant="classifier")
    off = abs(run.cosines + 1 / 3).max("pair")
    within = run.within.isel(step=-1)
    return Finding(
        f"cosines off by {span(off)} at most; within over between {span(within, '.4f')}", 0.1 - off
    )


@measures("cs-generators")
def generators(worlds):
    lost, content, style = np.array(worlds).T
    off = lost.max()
    differs = content.max()
    apart = style.min()
    return Finding(
        f"inverse off by {off:.0e}; content differs by {differs:g}, style by at least {apart:.2f}",
        1e-4 - off,
        1e-12 - differs,
        apart - 1e-6,
    )


@measures("cs-assumption-3")
def simultaneously_diagonal(axes):
    commutator, _, left = np.array(axes).T
    most = left.max()
    return Finding(
        f"{most:.0e} beside the diagonals after a rotation; for covariances without common axes no rotation "
        f"does it ($AB - BA$ has {span(commutator)} of the size of $AB$), their generalised eigenvectors do",
        1e-10 - most,
    )


def smallest(dial, share: int) -> np.ndarray:
    """(seeds at style sd .6, then at 1) smallest eigenvalue of share Sigma_x - Sigma_x~."""
    ascending = np.array([*dial[0.6][share], *dial[1.0][share]])
    return ascending[:, 0]


@measures("cs-assumption-4")
def strong_style(dial):
    true = smallest(dial, 2)
    printed = smallest(dial, 1)
    return Finding(
        f"smallest {span(true, '.3f')}; with $\\Sigma_x$ once {span(printed, '.3f')}",
        Every(true),
        Every(-printed),
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
        1e-5 - lost,
        1e-12 - farthest,
        1 - angle - 1e-5,
    )


@measures("cs-lemma-5")
def lemma_5(errors):
    printed = [of_seed["printed"][0] for of_seed in errors]
    corrected = max(of_seed["corrected"][0] for of_seed in errors)
    detached = max(of_seed["detached"][0] for of_seed in errors)
    text = (
        f"error {np.mean(printed):.2f}; "
        rf"with $2 \Sigma_x$ {corrected:.0e}; "
        f"with negatives held still {detached:.0e}"
    )
    return Finding(
        text,
        0.01 - min(printed),
        verdict=None if corrected < 1e-5 else "fails",
    )


@measures("cs-eq-7")
def derivative(derivatives):
    printed, corrected = np.array(derivatives).T
    right = corrected.max()
    return misprint(f"error {span(printed)}; corrected {right:.0e}", printed.min(), right, 1e-9)


@measures("cs-eq-10")
def pull(limits):
    found = np.array([limits[n, 1.0] for n in (64, 256, 1024)])
    errors = found[..., 0]  # (sizes, seeds)
    last = errors[-1]
    falls = errors[:-1] - errors[1:]
    return Finding(
        f"error {listed(errors.mean(1), '.1%')}",
        Every(falls),
        Every(0.01 - last),
    )


@measures("cs-eq-12")
def cross_term(endless, limits):
    turned = endless[1.0][0]
    small = endless[1e-3][0]
    sampled = np.mean([found[1] for found in limits[1024, 1.0]])
    return Finding(
        f"{turned:.1%} of the other term at a rotation ({sampled:.1%} with 1,024 anchors), {small:.0e} at .001 of it",
        1e-4 - small,
        turned - 1e-4,
    )


@measures("cs-eq-13")
def even_shares(endless):
    _, least, most = endless[1.0]
    _, *small = endless[1e-3]
    off = max(abs(share - 1) for share in small)
    return Finding(
        f"M times a share is {least:.2f} to {most:.2f} at a rotation; off 1 by {off:.0e} at .001 of it",
        1e-3 - off,
        most - 1 - 1e-3,
    )


def nonzero(values: np.ndarray) -> np.ndarray:
    """(...,) how many singular values (..., d) are not zero."""
    return (values > 1e-10 * values[..., :1]).sum(-1)


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
        f"rank {low.max()}, then {full.min()}; "
        f"condition number {span(few, '.0f')}, then {span(many, '.1f')}; "
        f"errors {span(better, '.1f')} times smaller"
    )
    margins = (full - low, np.log(few / many), np.log(better))
    return Finding(text, *map(Every, margins))


@measures("cs-lemma-6-remark")
def covariance_rank(estimates):
    few = [found for n, found in estimates.items() if n < 8]
    rank = np.linalg.matrix_rank(np.array(few))
    return Finding("at most {} (data) and {} (pairs)".format(*rank.max((0, 1))), 7.5 - rank.max())


@measures("cs-gradient-rank")
def gradient_rank(spectra):
    errors = []
    for n, values in spectra.items():
        said = min(2 * n - 1, 8)
        errors.append(abs(nonzero(values) - said).max())
    off = max(errors)
    return Finding(
        f"{nonzero(spectra[5]).min()} of 8 with 5 pairs; off by {off} at most", 0.5 - off
    )


@measures("cs-eq-15")
def decomposition(forms):
    off, middle, beside = zip(*forms, strict=True)
    most = max(off)
    content, style = np.hsplit(np.array(middle), [4])
    return Finding(
        f"off by {most:.0e}; "
        f"content {span(content, '.3f')}, "
        f"style {span(style, '.3f')}, "
        f"beside the diagonal {span(beside, '.4f')}",
        1e-9 - most,
        0.05 - 12 * max(beside),
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
        Every(-highest),
        verdict=None if one_sign else "fails",
    )


@measures("cs-strong")
def strong_augmentation(linear):
    sds = SPREADS["box"]
    free = np.array([least(linear["spread", "box", 0, sd]) for sd in sds])  # (spreads, seeds)
    shares = np.array([least(linear["spread", "box", 4, sd]) for sd in sds]) / free
    texts = []
    for share, sd in zip(shares, sds, strict=True):
        texts.append(f"{span(share)} at sd {sd:g}")
    without = listed(free[2:].mean(1))
    weak = shares[:2].min(0)
    return Finding(
        f"of that without content {'; '.join(texts)}; without content it is {without} at .6 and 1",
        *(0.5 - shares[2:]),
        0.5 - weak,
    )


def scatter(ratios) -> float:
    """The largest standard deviation of a column of matrices (seeds, 8, 8) over its mean size."""
    return (ratios.std(1) / abs(ratios).mean(1)).max()


@measures("cs-proportional")
def proportional(entries):
    through, alone = np.swapaxes(entries, 0, 1)  # (seeds, 8, 8)
    spread = scatter(through)
    diagonal = scatter(alone)
    shrinking = (through < 0).mean()
    return Finding(
        f"spread {diagonal:.0e} where the matrix is diagonal; "
        f"else {spread:.1f} times the mean, "
        f"and {shrinking:.0%} of entries shrink",
        1e-9 - diagonal,
        spread - 1e-9,
    )


@measures("cs-eigenvalues")
def eigenvalues_decide(linear, sphere_eigenvalues):
    mild = least(linear["spread", "sphere", 4, 0.2])
    strong = least(linear["spread", "sphere", 4, 0.5])
    above = sphere_eigenvalues[0.2]
    below = sphere_eigenvalues[0.5]
    return Finding(
        f"smallest eigenvalue {above:.3f} and {below:.3f}: "
        f"smallest over largest singular value {span(mild)} and {span(strong, '.4f')}",
        above,
        -below,
        mild - 0.3,
        0.01 - strong,
    )


@measures("cs-lemma-7")
def content_faster(recipe):
    faster = np.array([recipe[sd, "1"][1] for sd in (0.05, 0.1, 0.15)])
    return Finding(f"faster by {span(faster)}", *(faster - 1))


@measures("cs-lemma-7-ratio")
def growth_ratio(ratios):
    true, law, printed = np.array(ratios).transpose(2, 0, 1)  # (spreads, seeds)
    off = abs(true / law - 1)
    text = by_spread({"autograd": true, "the law": law, "printed": printed})
    return Finding(text.replace(";", ","), Every(0.02 - off))


@measures("cs-prop-2")
def reading(readings):
    right = readings["g gaussian, x whitened"]  # (spreads, numbers of pairs, seeds)
    enough = readings["both rotations"][:, -1]
    texts = []
    for name, found in readings.items():
        texts.append(f"{listed(found.mean((0, 2)))} ({name})")
    return Finding(
        f"right with 800, 8,000, 40,000 pairs: {'; '.join(texts)}",
        (right == 1).ravel(),
        (enough == 1).ravel(),
    )


@measures("cs-prop-3")
def recipe_equalises(recipe):
    sds = (0.01, 0.05, 0.1, 0.15)
    equal = np.array([recipe[sd, "1"][1] for sd in sds])
    scaled = np.array([recipe[sd, "the recipe"][1] for sd in sds])
    off = abs(np.log(scaled))
    return Finding(
        by_spread({"content faster by": scaled, "at equal temperatures by": equal}),
        Every(np.log(10) - off),
    )


@measures("cs-prop-3-goal")
def equal_spectrum(linear):
    texts, levels = [], []
    sds = (0.05, 0.1, 0.15)
    for p in (2, 1):
        scaled = [least(linear["recipe", p, sd, "s"]) for sd in sds]
        equal = [least(linear["recipe", p, sd, "1"]) for sd in sds]
        texts.append(f"{span(scaled)} (p = {p}; at equal temperatures {span(equal)})")
        levels += scaled
    return Finding("; ".join(texts), *np.subtract(levels, 0.5))


@measures("cs-stationary")
def only_zero(dial):
    eigenvalues = [dial[sd][1] for sd in (0.1, 0.2, 0.3)]
    values = np.abs(eigenvalues)  # (spreads, seeds, eigenvalues)
    size = values.min(-1) / values.max(-1)
    text = f"at least {size.min():.2f} of the largest"
    return Finding(text, Every(size - 0.1))


@measures("cs-loss-zero")
def zero_loss(loss_at_zero):
    ratio, inverse = np.array(loss_at_zero).T
    off = abs(ratio - 1).max()
    return Finding(
        f"off by {off:.0e}; at the inverse of g {span(inverse)} of it",
        1e-9 - off,
        1 - inverse.max(),
    )


# Appendix D: what is optimal.


@measures("cs-prop-4-optimum")
def style_optimum(surface):
    losses = np.array([*surface.values()])  # (d_c, content, style)
    best = losses.min(2) / losses[..., 0]
    return Finding(
        f"the best style has {span(best)} of the loss without", best.max(1).min() - 1 + 1e-9
    )


@measures("cs-prop-4")
def infimum(far, collapsed, no_content):
    losses = [*far.values()]
    text = listed([loss[0] for loss in losses], ".2g")
    for of_seed in collapsed:
        losses += of_seed.values()
    least = max(loss[-1] for loss in losses)
    return Finding(
        f"{text} with the content times 30; "
        f"{least:.0e} at 1e8, linear and not; "
        f"without content {no_content:.2f}",
        1e-9 - least,
        no_content - 1e-9,
    )


@measures("cs-cor-1")
def inverse_not_best(corner):
    losses = np.array([corner[k][:, :, 1] for k in (1, 4)])  # (d_c, seeds, content)
    inverse = losses[..., 0]
    doubled = losses[..., 1]
    means = losses.mean(1).T.ravel()
    text = "{:.2f} and {:.2f} fall to {:.2f} and {:.2f}".format(*means)
    return Finding(text, Every(inverse - doubled))


@measures("cs-prop-5")
def low_rank(layers):
    counts = {key: nonzero(np.array(values)) for key, values in layers.items()}  # (seeds, layers)
    straight = np.concatenate([counts[1, 2], counts[1, 30]])
    bent = np.concatenate([counts[3, 2], counts[3, 30]])
    by_layer = ", ".join(span(of_layer, "d") for of_layer in bent.T)
    low = max(straight.max(), bent[:, -1].max())
    return Finding(
        f"{span(straight, 'd')} (linear); {by_layer} (by layer), with content times 2 and times 30",
        3.5 - low,
        bent[:, 0].max() - 3.5,
    )


@measures("cs-prop-6")
def same_loss(sphere_identity):
    alone, through, *_ = sphere_identity["zero on style"]
    off = abs(alone - through)
    return Finding(f"difference {off:.0e}", 1e-9 - off)


@measures("cs-prop-6-rank")
def full_rank(sphere_identity):
    _, _, rank, seen, _ = sphere_identity["zero on style"]
    return Finding(f"rank {seen}; it is f that has rank {rank}", seen - 7.5)


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
        f"{span(unused, '.4f')} left at a product of 8, "
        f"of the rows that the loss sees {span(used)}; "
        f"{early:.3f} left at .008",
        0.01 - unused,
        np.log(used / unused / 10),
        early - 0.5,
    )


@measures("cs-eq-28")
def only_concatenated(decayed):
    unused = decayed.sel(variant="directclr").isel(row=slice(12, None))
    added = unused.added.max("row")
    left = unused.left.max("row")
    return Finding(
        f"at most {span(added, '.4f')} of h, with {span(left, '.4f')} of the weights left",
        0.01 - added,
    )


@measures("cs-h-against-r")
def r_reads_worse(directclr):
    h, r = (directclr.readout.sel(variant="directclr", place=place).values for place in "hr")
    text = f"r {r.mean():.3f}, h {h.mean():.3f}"
    return Finding(text, h - r)


@measures("cs-directclr-simclr")
def simclr_reads_better(directclr, heads):
    r = directclr.readout.sel(variant="directclr", place="r").values
    other = heads.readout.sel(variant="regular", place="h").values
    text = f"r {r.mean():.3f}, SimCLR {other.mean():.3f}"
    return Finding(text, other - r)
