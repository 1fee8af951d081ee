"""How the claims of CS are measured, in the order of items.yaml."""

import numpy as np

from clbook.experiments.content_style.experiment import singular, style_gain
from clbook_book.audit.cs.runs import KS, SDS, SPACES, TRIED, WORLDS
from clbook_book.audit.judging import (
    Every,
    Finding,
    Measures,
    counted,
    if_agreed,
    listed,
    lists,
    misprint,
    span,
)
from clbook_book.course.photographs.figures import ranks
from clbook_book.course.photographs.runs import OUTPUTS, SLOW

measures = Measures()
BOXES = ("box, p = 2", "box, p = 1")
TOTAL = 2  # row of the table of losses
# What was done to the outputs of photographs, and at which temperatures.
NORM, _, _, STANDARD, STANDARD_TWO, STEEP = OUTPUTS
(SLOW_NORM,) = SLOW


# The abstract, Sections 2 and 3.


def by_spread(found: dict) -> str:
    """Words for {name: (spreads, seeds)}: the means over seeds."""
    texts = []
    for name, values in found.items():
        texts.append(f"{name} {listed(np.mean(values, 1))}")
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
    return Finding(
        f"within over between {span(within, '.4f')}; "
        f"$R^2$ of style {span(style)}; "
        f"cosines off by {span(off)} at most; "
        f"the control has {span(kept_within)} and {span(kept_style)}",
        0.1 - within,
        0.1 - style,
        0.1 - off,
        kept_within - 0.1,
        kept_style - 0.1,
    )


def factors(low: dict, equal: dict) -> dict:
    """{d_c: (seeds,) the factor by which style's gain over content's is larger} for {d_c: maps} of two temperatures."""
    return {k: style_gain(low[k], k) / style_gain(equal[k], k) for k in KS}


@measures("cs-low-tau-c-gain")
def lower_content(linear, heated):
    texts, more = [], []
    for world in BOXES:
        low, equal = ({k: linear[world, k, tau] for k in KS} for tau in (0.01, 1.0))
        found = [*factors(low, equal).values()]
        texts.append(f"{span(found)} ({world})")
        more += [*np.log(found)]
    globes = []
    for tau in (0.03, 0.1, 0.3):
        globe = factors(*({k: heated[k, low, 0.3] for k in KS} for low in (tau, 1.0)))
        more.append(np.log(globe[1]))
        means = listed([found.mean() for found in globe.values()])
        globes.append(f"{means} at tau_c = {tau:g}")
    return Finding(
        f"times {', '.join(texts)}; on the sphere, for d_c = 1, 2, 4, times {'; '.join(globes)}",
        *more,
    )


@measures("cs-conjecture-1")
def shielded(shield):
    fourth = [shield[5, above].style.sel(layer="fourth") for above in range(4)]
    return Finding(
        f"$R^2$ {listed([v.mean() for v in fourth])} under 0 to 3 layers", fourth[3] - fourth[0]
    )


# Section 4.1: Figure 1 and Table 1.


@measures("cs-fig-1-left")
def style_falls(linear, heated):
    free = [linear[world, 0, 1.0] for world in BOXES]
    level = [least(maps) for maps in (*free, heated[0, 1.0, 0.3])]
    in_box = [singular(linear[world, k, 1.0])[:, k] for world in BOXES for k in KS]
    on_sphere = [singular(heated[k, 1.0, 0.3])[:, k] for k in KS]
    return Finding(
        f"without content the smallest is {span(level)}; "
        f"with it the largest of style {span(in_box)} (box), "
        f"{span(on_sphere)} (sphere)",
        *np.subtract(level, 0.5),
        *(0.5 - np.array(in_box + on_sphere)),
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
    return Finding(
        f"{by_spread({'off by': one})} at style sd .2, .3, .5, "
        f"at equal temperatures by {equal.mean():.2f}; "
        f"with d_c = 2 and 4 by {listed(best)} at the best tau_c; "
        f"in the box, d_c = 1, 2, 4, by {'; '.join(in_boxes)}",
        0.1 - one[0],
        0.1 - one[1],
        equal - 0.1,
    )


@measures("cs-fig-1-middle", "box")
@measures("cs-fig-1-right", "sphere")
def deep_style(world: str, deep, rotated):
    style, free = (
        [style_kept(rotated, world, 0.15, label, 10), *at_spreads(deep, world, label)]
        for label in ("content", "no content")
    )
    wide = by_spread({"content": style[1:], "without": free[1:]})
    text = f"width 10 content {listed(style[0])}, without {listed(free[0])}; at width 50 {wide}"
    shares = [one / other for one, other in zip(style, free, strict=True)]
    return Finding(f"$R^2$ at {text}", *(0.5 - share for share in shares))


@measures("cs-content-stays")
def content_stays(deep, rotated):
    texts, more = [], []
    for world in SPACES:
        runs = rotated[10, world, 0.15, "content"], *(deep[50, world, sd, "content"] for sd in SDS)
        ends = [run.content.isel(layer=[0, -1]).values.T for run in runs]  # of x, of the output
        first, last = np.array([end.mean(1) for end in ends]).T
        texts.append(f"{world} {listed(last)}, x has {listed(first)}")
        more += [last - 0.9 * first for first, last in ends]
    return if_agreed(Finding(f"$R^2$ at width 10, then 50: {'; '.join(texts)}", *more), 3)


@measures("cs-deep-box")
def deep_box_temperature(deep):
    low = style_kept(deep, "box", 0.15, "lower tau_c")
    equal = style_kept(deep, "box", 0.15, "content")
    return Finding(
        f"$R^2$ {listed(low)} with the lower tau_c, {listed(equal)} at equal temperatures",
        low - equal,
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
    texts, more = [], []
    for space, k, first in (("box", 2, 1), ("sphere", 4, 0)):
        inverse, *maps = parts[space, k][:, TOTAL].T[[first, 2, 3]]
        texts.append(f"{space} {listed(np.mean(maps, 1))} against {inverse.mean():.2f}")
        more += [inverse - found for found in maps]
    return Finding(f"trained, and content alone: {'; '.join(texts)}", *more)


@measures("cs-table-1-split")
def split_of_losses(parts):
    spaces = np.stack([parts["box", 2], parts["sphere", 4]])
    both = spaces[:, :, :TOTAL]  # (spaces, seeds, 2, maps)
    inverse, _, trained, *_ = np.moveaxis(both, -1, 0)
    in_box, on_sphere = trained - inverse
    return Finding(
        "alignment and uniformity, inverse to trained: box {:.2f} and {:.2f} to {:.2f} and {:.2f}, sphere {:.2f} and "
        "{:.2f} to {:.2f} and {:.2f}".format(
            *np.stack([inverse.mean(1), trained.mean(1)], 1).ravel()
        ),
        -on_sphere.sum(1),
        -on_sphere[:, 0],
        in_box[:, 0],
        -in_box[:, 1],
    )


def lost_last(style) -> tuple[np.ndarray, np.ndarray]:
    """R^2 of style, of encoders whose layers are the last axis, that the last layer loses, and those before it."""
    below = style[..., -2]
    return below - style[..., -1], style.max(-1) - below


@measures("cs-last-layer")
def in_the_last_layer(deep, rotated):
    found, more = {}, []
    for world in SPACES:
        narrow = rotated[10, world, 0.15, "content"].style.values
        wide = np.array([deep[50, world, sd, "content"].style.values for sd in SDS])
        for width, style in ((10, narrow[None]), (50, wide)):
            last, before = lost_last(style)
            found[f"{world}, width {width}, in the last layer"] = last
            found[f"{world}, width {width}, before it"] = before
            more += [*(last - before)]
    return Finding(by_spread(found).replace("-0.00", "0.00"), *more)


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
    text = by_spread(
        {"without the norm": bare, "with it": none, "with it and two temperatures": alone}
    )
    return Finding(text, *more)


# Section 4.2: Figure 2 and Table 2.


def times(rank, one: str, other: str):
    """(seeds,) the effective ranks of one variant over those of another."""
    return rank.sel(variant=one) / rank.sel(variant=other)


@measures("cs-photo-fig-2")
def norm_removed(norms, slow):
    norm = ranks(slow, "z").sel(variant=SLOW_NORM)
    own, without, steep = (ranks(norms, "z").sel(variant=row) for row in (NORM, STANDARD, STEEP))
    return if_agreed(
        Finding(
            f"effective rank at one rate {listed(norm, '.1f')} with the norm, {listed(without, '.1f')} without; "
            f"with the norm at the rate that suits it {listed(own, '.1f')}; "
            f"at the temperature 1/64 to which variance 1 amounts {listed(steep, '.1f')}",
            *(without.values / row.values - 1.25 for row in (norm, own)),
        ),
        3,
    )


@measures("cs-photo-two-spectrum")
def photo_two_spectrum(norms):
    before, after = (times(ranks(norms, place), STANDARD_TWO, STANDARD) for place in "hz")
    return Finding(
        f"ratio of effective ranks {listed(before)} before the projector, {listed(after)} after it",
        0.1 - abs(before - 1),
        0.1 - abs(after - 1),
    )


def photo_readouts(norms) -> np.ndarray:
    """(places, rows, seeds) the readouts of the rows of CS Table 2, each at the rate that suits it.

    Rows: regular, without norm, two temperatures; places: after the projector, then before it.
    """
    rows = [
        norms[name].sel(variant=[NORM, STANDARD, STANDARD_TWO]) for name in ("probe_z", "probe")
    ]
    return np.array([row.values for row in rows])


@measures("cs-photo-before")
def before_is_better(norms, walls):
    after, before = photo_readouts(norms)
    ends = list(before[0] - after[0])
    texts = [f"by {listed(ends, '.3f')}"]
    for name, wall in walls.items():
        later = wall.probe.values[0, 1:] - wall.probe_z.values[0]
        ends.append(later[-1])
        texts.append(
            f"{name} on all of CIFAR-10 by {later[-1]:.3f}, and at {counted(later > 0)} recorded epochs"
        )
    return Finding("; ".join(texts), Every(ends))


@measures("cs-photo-before-bare")
def before_without_norm(norms):
    after, before = photo_readouts(norms)
    lead = (before - after)[1:]
    return lists(
        {"without the norm by": lead[0], "with two temperatures by": lead[1]}, *lead, form=".3f"
    )


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


@measures("cs-photo-two", 0)
@measures("cs-photo-two-before", 1)
def photo_two_temperatures(place: int, norms):
    rows = norms.sel(variant=[STANDARD, STANDARD_TWO])
    text, gain = changed(np.array([rows.probe_z, rows.probe]), 1)
    return Finding(text, gain[place])


# Appendices A and B: matrices, classifiers, assumptions.


@measures("cs-lemma-3")
def singular_product(products):
    both, one = np.max(products, 0)
    return misprint(f"wrong for {both} of 81; with 'at least one' for {one}", both, one, 0.5)


# Appendix C: the gradient of the linear model.


@measures("cs-temperature")
def only_scales(scaled):
    off, turned, small = np.array(scaled).T
    farthest = off.max()
    lost = (1 - small).max()
    return Finding(
        f"at a small W cosine 1 to {lost:.0e}; at a rotation held still {span(turned)}, scaled along off "
        f"by {farthest:.0e}",
        1e-5 - lost,
        1e-12 - farthest,
        1 - turned.min() - 1e-5,
    )


@measures("cs-lemma-5")
def lemma_5(errors):
    printed = [of_seed["printed"][0] for of_seed in errors]
    corrected = max(of_seed["corrected"][0] for of_seed in errors)
    detached = max(of_seed["detached"][0] for of_seed in errors)
    return Finding(
        f"error {np.mean(printed):.2f}; "
        rf"with $2 \Sigma_x$ {corrected:.0e}; "
        f"with negatives held still {detached:.0e}",
        0.01 - min(printed),
        verdict=None if corrected < 1e-5 else "fails",
    )


@measures("cs-eq-7")
def derivative(derivatives):
    printed, corrected = np.array(derivatives).T
    right = corrected.max()
    return misprint(f"error {span(printed)}; corrected {right:.0e}", printed.min(), right, 1e-9)


@measures("cs-eq-12")
def cross_term(endless):
    turned = endless[1.0][0]
    small = endless[1e-3][0]
    return Finding(
        f"{turned:.1%} of the other term at a rotation, {small:.0e} at .001 of it",
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
        errors.append(np.linalg.norm(estimates[n] - limit, axis=(-2, -1)))
    few, many = conditions
    better = np.divide(*errors)
    low = nonzero(spectra[2])
    full = nonzero(spectra[12])
    return Finding(
        f"rank {low.max()}, then {full.min()}; "
        f"condition number {span(few, '.0f')}, then {span(many, '.1f')}; "
        f"errors {span(better, '.1f')} times smaller",
        *map(Every, (full - low, np.log(few / many), np.log(better))),
    )


@measures("cs-definite")
def definite(dial):
    ascending = np.array([dial[sd][1] for sd in (0.1, 0.2, 0.3)])  # (spreads, seeds, eigenvalues)
    lowest = ascending[..., 0]
    highest = ascending[..., -1]
    bottom = lowest.min()
    return Finding(
        f"as printed {-highest.max():.3f} to {-bottom:.3f}; corrected, from {bottom:.3f} up",
        Every(-highest),
        verdict=None if (lowest > 0).all() or (highest < 0).all() else "fails",
    )


@measures("cs-strong")
def strong_augmentation(linear):
    sds = SPREADS["box"]
    free = np.array([least(linear["spread", "box", 0, sd]) for sd in sds])  # (spreads, seeds)
    shares = np.array([least(linear["spread", "box", 4, sd]) for sd in sds]) / free
    texts = []
    for share, sd in zip(shares, sds, strict=True):
        texts.append(f"{span(share)} at sd {sd:g}")
    return Finding(
        f"of that without content {'; '.join(texts)}; without content it is {listed(free[2:].mean(1))} at .6 and 1",
        *(0.5 - shares[2:]),
        0.5 - shares[:2].min(0),
    )


@measures("cs-lemma-7")
def content_faster(recipe):
    faster = np.array([recipe[sd, "1"][1] for sd in (0.05, 0.1, 0.15)])
    return Finding(f"faster by {span(faster)}", *(faster - 1))


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
    return Finding(
        by_spread({"content faster by": scaled, "at equal temperatures by": equal}),
        Every(np.log(10) - abs(np.log(scaled))),
    )


# Appendix D: what is optimal.


@measures("cs-prop-4")
def infimum(surface, far, collapsed, no_content):
    tried = np.array([*surface.values()])  # (d_c, content, style)
    best = tried.min(2) / tried[..., 0]
    losses = [*far.values()]
    text = listed([loss[0] for loss in losses], ".2g")
    for of_seed in collapsed:
        losses += of_seed.values()
    least = max(loss[-1] for loss in losses)
    return Finding(
        f"the best style has {span(best)} of the loss without, "
        f"which is {text} with the content times 30, {least:.0e} at 1e8, linear and not; "
        f"without content {no_content:.2f}",
        best.max(1).min() - 1 + 1e-9,
        verdict=None if least < 1e-9 < no_content else "fails",
    )


@measures("cs-cor-1")
def inverse_not_best(corner):
    losses = np.array([corner[k][:, :, 1] for k in (1, 4)])  # (d_c, seeds, content)
    return Finding(
        "{:.2f} and {:.2f} fall to {:.2f} and {:.2f}".format(*losses.mean(1).T.ravel()),
        Every(losses[..., 0] - losses[..., 1]),
    )


@measures("cs-prop-5")
def low_rank(layers):
    counts = {key: nonzero(np.array(values)) for key, values in layers.items()}  # (seeds, layers)
    straight = np.concatenate([counts[1, 2], counts[1, 30]])
    bent = np.concatenate([counts[3, 2], counts[3, 30]])
    by_layer = ", ".join(span(of_layer, "d") for of_layer in bent.T)
    return Finding(
        f"{span(straight, 'd')} (linear); {by_layer} (by layer), with content times 2 and times 30",
        3.5 - max(straight.max(), bent[:, -1].max()),
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
    run = decayed.sel(variant="directclr")
    seen, unseen = np.split(run.left.values, [12], axis=1)  # (seeds, rows)
    unused = unseen.max(1)
    used = seen.mean(1)
    added = run.added[:, 12:].max("row")
    start, *_, end = weak_decay.rows[:, weak_decay.config.direct :]
    early = (end / start).mean()
    return Finding(
        f"{span(unused, '.4f')} left at a product of 8, "
        f"of the rows that the loss sees {span(used)}; "
        f"at most {span(added, '.4f')} of h added there; "
        f"{early:.3f} left at .008",
        0.01 - unused,
        np.log(used / unused / 10),
        0.01 - added,
        early - 0.5,
    )
