"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np


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
    names = ("regular", "without norm", "two temperatures", "one, in between")
    return {
        name: {"readout": np.array([[before, after]] * 3), "rank": np.array([[0, size]] * 3)}
        for name, (before, after, size) in zip(names, [*rows, rows[-1]])
    }


def scattered(change):
    """Three seeds a row; effective ranks that differ between seeds, and that change so much with two temperatures."""
    sizes = {
        "regular": 5.0,
        "without norm": 20.0,
        "two temperatures": 20.0 + change,
        "one, in between": 20.0,
    }
    return {
        name: {"rank": np.array([[0, size + seed] for seed in range(3)])}
        for name, size in sizes.items()
    }


def decayed(left):
    """A run of DirectCLR of whose weights that are not used so much is left; by the law, a half."""
    return Run(
        rows=np.array([np.ones(4), np.full(4, left)]),
        config=Run(direct=2, lr=0.5, decay=1.0, steps=1),
    )


def direct(h, r):
    return {"readout": np.array([[h, r, 0.5]] * 3)}


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
        "holds": {"rows": 3 * [(1, 1, 2, 0.1, 0)] + 3 * [(1, 1, 0.5, 0.3, 0)]},
        "fails": {"rows": 3 * [(1, 1, 2, 0.3, 0)] + 3 * [(1, 1, 0.5, 0.1, 0)]},
    },
    "cs-fig-1-right": {
        "holds": {"deep": deep((0.8, 0.5, 0.1))},
        "not seen here": {"deep": deep((0.8, 0.7, 0.6))},
    },
    "cs-deep-lower-tau": {
        "holds": {"deep": deep((0.8, 0.5, 0.1), halved=(0.8, 0.5, 0.2))},
        "fails": {"deep": deep((0.8, 0.5, 0.2), halved=(0.8, 0.5, 0.1))},
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
        "holds when": {"direct": decayed(0.5), "strong": decayed(0.5)},
        "fails": {"direct": decayed(0.5), "strong": decayed(0.9)},
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
