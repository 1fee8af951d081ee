"""What CS say about gradients and optima (their App. A to D), judged on calculations."""

import numpy as np

from clbook.claims import Finding, listed, span
from clbook.papers.cs.claims import chapter, least


def ranks(values: np.ndarray) -> np.ndarray:
    """(seeds,) how many singular values (seeds, d) are not zero."""
    return (values > 1e-10 * values[:, :1]).sum(1)


@chapter.measure("cs-lemma-5")
def flow(errors):
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


@chapter.measure("cs-lemma-6")
def batch_size(spectra, estimates):
    few, many = (spectra[n][:, 0] / spectra[n][:, -1] for n in (5, 100))
    error = [
        np.linalg.norm(estimates[n] - estimates[max(estimates)], axis=(-2, -1)) for n in (5, 100)
    ]
    rank, better = [ranks(spectra[n]) for n in (2, 12)], error[0] / error[1]
    return Finding(
        f"rank {rank[0].max()}, then {rank[1].min()}; condition number {span(few, '.0f')}, then "
        f"{span(many, '.1f')}; errors {span(better, '.1f')} times smaller",
        float(many.mean()),
        (rank[1] - rank[0], np.log(few / many), *np.log(better).T),
    )


@chapter.measure("cs-lemma-6-remark")
def covariance_rank(estimates):
    rank = np.linalg.matrix_rank(np.array([found for n, found in estimates.items() if n < 8]))
    return Finding(
        "at most {} (data) and {} (pairs)".format(*rank.max((0, 1))),
        float(rank.max()),
        (7.5 - rank.max(),),
    )


@chapter.measure("cs-gradient-rank")
def gradient_rank(spectra):
    off = max(abs(ranks(values) - min(2 * n - 1, 8)).max() for n, values in spectra.items())
    return Finding(
        f"{ranks(spectra[5]).min()} of 8 with 5 pairs; off by {off} at most",
        float(off),
        (0.5 - off,),
    )


@chapter.measure("cs-prop-2")
def reading(read):
    right, enough = (
        read["g gaussian, x whitened"],
        read["both rotations"][:, -1],
    )  # (spreads, numbers of pairs, seeds)
    text = "; ".join(f"{listed(found.mean((0, 2)))} ({name})" for name, found in read.items())
    return Finding(
        f"right with 800, 8,000, 40,000 pairs: {text}",
        float(right.min()),
        (*(right == 1).reshape(-1, right.shape[-1]), *(enough == 1)),
    )


@chapter.measure("cs-prop-3")
def recipe_equalises(recipe):
    equal, scaled = (
        np.array([recipe[sd, name][1] for sd in (0.05, 0.1, 0.15)]) for name in ("1", "the recipe")
    )
    return Finding(
        f"content faster by {span(scaled, '.1f')}; at equal temperatures by {span(equal, '.1f')}",
        float(scaled.mean()),
        tuple(abs(np.log(equal)) - abs(np.log(scaled))),
    )


@chapter.measure("cs-lemma-7")
def content_faster(recipe):
    faster = np.array([recipe[sd, "1"][1] for sd in (0.05, 0.1, 0.15)])
    return Finding(f"faster by {span(faster)}", float(faster.mean()), tuple(faster - 1))


@chapter.measure("cs-prop-4")
def infimum(far):
    least = max(float(loss[-1]) for loss in far.values())
    text = ", ".join(f"{loss[0]:.2g}" for loss in far.values())
    return Finding(f"{text} with the content times 30; {least:.0e} at 1e8", least, (1e-9 - least,))


@chapter.measure("cs-prop-1")
def nonlinear_infimum(collapsed):
    least = np.array([[losses[k][-1] for k in losses] for losses in collapsed])
    text = ", ".join(f"{np.mean([losses[k][0] for losses in collapsed]):.2g}" for k in collapsed[0])
    return Finding(
        f"{text} with the content times 30; {least.max():.0e} at 1e8",
        float(least.max()),
        (1e-9 - float(least.max()),),
    )


@chapter.measure("cs-prop-5")
def low_rank(layers):
    counts = {
        depth: np.array([ranks(np.array(of_seed)) for of_seed in found])
        for depth, found in layers.items()
    }
    by_layer = ", ".join(span(of_layer, "d") for of_layer in counts[3].T)
    return Finding(
        f"{span(counts[1], 'd')} (linear); {by_layer} (by layer)",
        float(counts[3].max()),
        (3.5 - float(max(counts[1].max(), counts[3][:, -1].max())),),
    )


@chapter.measure("cs-cor-1")
def inverse_not_best(corner):
    inverse, doubled = (np.array([corner[k][:, row, 1] for k in (1, 4)]) for row in (0, 1))
    text = "{:.2f} and {:.2f} fall to {:.2f} and {:.2f}".format(*inverse.mean(1), *doubled.mean(1))
    return Finding(text, float(doubled.mean()), tuple(inverse - doubled))


@chapter.measure("cs-prop-6")
def same_loss(sphere6):
    alone, through, *_ = sphere6["zero on style"]
    return Finding(
        f"difference {abs(alone - through):.0e}",
        abs(alone - through),
        (1e-9 - abs(alone - through),),
    )


@chapter.measure("cs-prop-6-rank")
def full_rank(sphere6):
    _, _, rank, seen, _ = sphere6["zero on style"]
    return Finding(f"rank {seen}; it is f that has rank {rank}", float(seen), (seen - 7.5,))


@chapter.measure("cs-eq-1")
def definitions(written):
    worst = np.max(written)
    return Finding(f"off by {worst:.0e} at most", float(worst), (1e-10 - worst,))


@chapter.measure("cs-generators")
def generators(worlds):
    lost, content, style = np.array(worlds).T
    return Finding(
        f"inverse off by {lost.max():.0e}; content differs by {content.max():g}, style by at least "
        f"{style.min():.2f}",
        float(lost.max()),
        (1e-4 - lost.max(), 1e-12 - content.max(), style.min() - 1e-6),
    )


@chapter.measure("cs-eq-2")
def style_distance(split):
    off, smaller = np.array(split).T
    return Finding(
        f"off by {off.max():.0e} at most; with the longest direction gone {span(smaller)} of it",
        float(smaller.max()),
        (1e-9 - off.max(), 1 - smaller.max()),
    )


@chapter.measure("cs-without-content")
def low_rank_distance(lowered):
    ratios = np.array(lowered)
    return Finding(f"{span(ratios)} of the full distance", float(ratios.max()), (ratios.max() - 1,))


@chapter.measure("cs-lemma-2")
def rank_of_product(products):
    above = max(found[0] for found in products)
    return Finding(f"{above} of 81 higher", float(above), (0.5 - above,))


@chapter.measure("cs-lemma-3")
def singular_product(products):
    _, both, one = np.array(products).max(0)
    return Finding(
        f"wrong for {both} of 81; with 'at least one' for {one}",
        float(both),
        (0.5 - both,),
        None if one == 0 else "fails",
    )


@chapter.measure("cs-temperature")
def only_scales(scaled):
    off, turned = np.array(scaled).T
    return Finding(
        f"off by {off.max():.0e} at most; with W held still the direction changes: cosine {span(turned)}",
        float(off.max()),
        (1e-12 - off.max(),),
    )


@chapter.measure("cs-assumption-3")
def diagonal(axes):
    commutator, left = np.array(axes).T
    return Finding(
        f"$AB - BA$ of the two has {span(commutator)} of the size of $AB$; {left.max():.0e} beside the "
        "diagonals after the change",
        float(left.max()),
        (commutator.min() - 0.1, 1e-10 - left.max()),
    )


@chapter.measure("cs-assumption-4")
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


@chapter.measure("cs-eq-7")
def derivative(derivatives):
    printed, corrected = np.array(derivatives).T
    return Finding(
        f"error {span(printed)}; corrected {corrected.max():.0e}",
        float(printed.mean()),
        (1e-9 - printed.min(),),
        None if corrected.max() < 1e-9 else "fails",
    )


@chapter.measure("cs-eq-10")
def pull(limits):
    errors = np.array([limits[n, 1.0] for n in (64, 256, 1024)])[..., 0]  # (sizes, seeds)
    return Finding(
        f"error {listed(errors.mean(1), '.1%')}",
        float(errors[-1].mean()),
        (*(errors[:-1] - errors[1:]), 0.01 - errors[-1]),
    )


@chapter.measure("cs-eq-13")
def push(limits):
    errors, uneven = np.moveaxis(np.array([limits[n, 1.0] for n in (64, 256, 1024)]), -1, 0)[1:]
    small = np.array(limits[1024, 1e-3])[:, 1]
    return Finding(
        f"error {listed(errors.mean(1), '.1%')}, shares off by up to {span(uneven[-1])} of 1/M; with W "
        f"times .001 error {span(small, '.1%')}",
        float(errors[-1].mean()),
        (0.01 - errors[-1],),
    )


@chapter.measure("cs-eq-15")
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


@chapter.measure("cs-definite")
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


@chapter.measure("cs-strong")
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


@chapter.measure("cs-proportional")
def proportional(entries):
    through, alone = (np.array([found[k] for found in entries]) for k in (0, 1))  # (seeds, 8, 8)
    spread = [(v.std(1) / abs(v).mean(1)).max() for v in (through, alone)]
    return Finding(
        f"spread {spread[0]:.1f} times the mean, {(through < 0).mean():.0%} of entries shrink; "
        f"{spread[1]:.0e} where the matrix is diagonal",
        float(spread[0]),
        (1e-9 - spread[0],),
    )


@chapter.measure("cs-lemma-7-ratio")
def growth_ratio(ratios):
    true, law, printed = np.array(ratios).transpose(2, 0, 1)  # (spreads, seeds)
    return Finding(
        f"autograd {listed(true.mean(1))}, the law {listed(law.mean(1))}, printed "
        f"{listed(printed.mean(1))}",
        float(true[-1].mean()),
        tuple(0.02 - abs(true / law - 1)),
    )


@chapter.measure("cs-prop-3-goal")
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


@chapter.measure("cs-stationary")
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


@chapter.measure("cs-loss-zero")
def zero_loss(zero):
    ratio, inverse = np.array(zero).T
    return Finding(
        f"off by {abs(ratio - 1).max():.0e}; at the inverse of g {span(inverse)} of it",
        float(inverse.max()),
        (1e-9 - abs(ratio - 1).max(), 1 - inverse.max()),
    )
