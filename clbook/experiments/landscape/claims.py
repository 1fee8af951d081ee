"""What LS and VA say about the loss of an invariant map, judged on the chapter's configurations of points."""

import numpy as np

from clbook.claims import Chapter, Finding

chapter = Chapter(__file__)
EXACT = 1e-12  # numbers in float64 that differ by less are called equal


def shuffling(losses) -> float:
    """How much it changes the losses (4,) of the four maps of `Maps` to shuffle who goes where."""
    return float(np.abs(losses[0::2] - losses[1::2]).max())


def rewritten(result, printed: bool) -> float:
    """Eq. 1 of an invariant map as VA Prop. 2.1 rewrites it over the embedded points: as printed, or corrected."""
    cosine = result.z @ result.z.T
    kept = cosine < 1 - 1e-9 if printed else ~np.eye(len(cosine), dtype=bool)
    similarity = np.exp((cosine if printed else cosine - 1) / result.config.tau)
    return float(np.log1p(2 * (kept * similarity).mean(1)).mean())


@chapter.measure("va-prop-2-1")
def forgets(maps):
    gap = shuffling(maps.losses["NT-Xent, eq. 1"])
    kept, mixed = maps.accuracy[[0, 2]], maps.accuracy[[1, 3]]
    return Finding(
        f"losses differ by {gap:.0e}; the classes of at least {kept.min():.0%} of the points are read "
        f"right by class, of at most {mixed.max():.0%} shuffled",
        gap,
        (EXACT - gap,),
    )


@chapter.measure("va-prop-2-1-formula")
def formula(still):
    even, one, _ = still
    off = max(abs(rewritten(result, True) - result.loss_mean) for result in still)
    right = max(abs(rewritten(result, False) - result.loss_mean) for result in still)
    return Finding(
        f"{rewritten(even, True):.2f} instead of {even.loss_mean:.4f} at even points, "
        f"{rewritten(one, True):.2f} instead of {one.loss_mean:.4f} at one place; "
        f"corrected, off by {right:.0e}",
        off,
        (EXACT - off,),
        None if right < EXACT else "fails",
    )
