"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook.experiments.content_style.recipes import ROWS


def linear(d_c, style, content=1.0):
    """Three linear runs with the gains of style and of content."""
    return [
        Run(map=np.diag(np.where(np.arange(8) < d_c, content, style))[None], config=Run(d_c=d_c))
    ] * 3


def deep(full, free=(0.8, 0.8, 0.8), halved=(0.8, 0.8, 0.8)):
    """Deep runs with style's R^2 in x, in the layer before the last, in the last."""
    full, free, halved = ([Run(style_r2=np.array([values]))] * 3 for values in (full, free, halved))
    return {
        ("sphere", "$d_c$ = 5"): full,
        ("sphere", "$d_c$ = 0"): free,
        ("sphere", r"$d_c$ = 5, all $\tau$ halved"): halved,
    }


def heads(*rows):
    """Three seeds of each of the rows (readout before and after the projector, effective rank)."""
    before, after, size = np.array([*rows, *(4 - len(rows)) * [rows[-1]]]).T[..., None] * np.ones(3)
    return record(["h", "z"], readout=[before, after], rank=[0 * size, size])


def record(places, variants=tuple(ROWS), **quantities):
    """A record of quantities at places (places, variants, seeds)."""
    axes = ("place", "variant", "seed")
    kept = {name: (axes, np.array(values)) for name, values in quantities.items()}
    return xarray.Dataset(kept, coords={"place": places, "variant": list(variants)})


def scattered(change):
    """Three seeds a row; effective ranks that differ between seeds, and that change so much with two temperatures."""
    size = np.array([5.0, 20.0, 20.0 + change, 20.0])[:, None] + np.arange(3)
    return record(["h", "z"], rank=[0 * size, size])


def decayed(left):
    """A run of DirectCLR of whose weights that are not used so much is left; by the law, a half."""
    return Run(
        rows=np.array([np.ones(4), np.full(4, left)]),
        config=Run(direct=2, lr=0.5, decay=1.0, steps=1),
    )


def direct(h, r):
    return record(["h", "r", "z"], ["directclr"], readout=[[[value] * 3] for value in (h, r, 0.5)])


LEVEL, FALLEN = linear(0, 1.0), {k: linear(k, 0.1) for k in (1, 2, 4)}
FLAT = {k: linear(k, 0.9) for k in (1, 2, 4)}
CASES = {
    "cs-fig-1-left": {
        "holds": {"box": {0: LEVEL, **FALLEN}, "globe": {0: LEVEL, 4: FALLEN[4]}},
        "not seen here": {"box": {0: LEVEL, **FLAT}, "globe": {0: LEVEL, 4: FALLEN[4]}},
    },
    "cs-box-content-grows": {
        "holds": {"box": {0: LEVEL, **{k: linear(k, 0.9, 5.0) for k in (1, 2, 4)}}},
        "fails": {"box": {0: LEVEL, **{k: linear(k, 0.1, 1.1) for k in (1, 2, 4)}}},
    },
    "cs-sphere-threshold": {
        "holds": {"sphere_grid": 3 * [(1, 1, 2, 0.1, 0)] + 3 * [(1, 1, 0.5, 0.3, 0)]},
        "fails": {"sphere_grid": 3 * [(1, 1, 2, 0.3, 0)] + 3 * [(1, 1, 0.5, 0.1, 0)]},
    },
    "cs-fig-1-right": {
        "holds": {"deep_short": deep((0.8, 0.5, 0.1))},
        "not seen here": {"deep_short": deep((0.8, 0.7, 0.6))},
    },
    "cs-deep-lower-tau": {
        "holds": {"deep_short": deep((0.8, 0.5, 0.1), halved=(0.8, 0.5, 0.2))},
        "fails": {"deep_short": deep((0.8, 0.5, 0.2), halved=(0.8, 0.5, 0.1))},
    },
    "cs-table-2-before": {
        "holds": {"heads": heads(*[(0.9, 0.8, 1)] * 3)},
        "not seen here": {"heads": heads(*[(0.8, 0.9, 1)] * 3)},
    },
    "cs-table-2-two": {
        "holds": {"heads": heads((0.9, 0.8, 1), (0.8, 0.7, 1), (0.95, 0.95, 1))},
        "not seen here": {"heads": heads((0.9, 0.8, 1), (0.8, 0.7, 1), (0.5, 0.5, 1))},
    },
    "cs-two-spectrum": {
        "holds": {"heads": scattered(0.1)},
        "not seen here": {"heads": scattered(5.0)},
    },
    "cs-fig-2": {
        "holds": {"heads": heads((1, 1, 10), (1, 1, 20), (1, 1, 20))},
        "not seen here": {"heads": heads((1, 1, 10), (1, 1, 11), (1, 1, 11))},
    },
    "cs-fig-4": {
        "holds when": {"weak_decay": decayed(0.5), "strong_decay": decayed(0.5)},
        "fails": {"weak_decay": decayed(0.5), "strong_decay": decayed(0.9)},
    },
    "cs-h-against-r": {
        "holds": {"directclr": direct(0.9, 0.8), "heads": heads((0.9, 0.9, 1))},
        "not seen here": {"directclr": direct(0.8, 0.9), "heads": heads((0.9, 0.9, 1))},
    },
    "cs-prop-4-optimum": {
        "holds": {"surface": {1: np.array([[1.0, 2.0], [1.0, 0.5]])}},
        "fails": {"surface": {1: np.array([[1.0, 0.9], [1.0, 0.5]])}},
    },
}
