"""Made-up runs on which the claims of the page on CS give each verdict that they may give."""

import numpy as np
import xarray

from clbook_book.audit.cs.recipes import SDS, WORLDS
from clbook_book.course.photographs.recipes import OUTPUTS, SLOW


def maps(style, content=1.0, d_c=4):
    """Five maps with the gains of style and of content."""
    return np.tile(np.diag(np.where(np.arange(8) < d_c, content, style)), (5, 1, 1))


def linear(low, equal=0.1, high=0.1, free=1.0):
    """Linear runs: the style's gain at low, equal and high tau_c for each d_c, and without content."""
    found = {}
    for world in WORLDS:
        found[world, 0, 1.0] = np.tile(np.diag(np.linspace(1, free, 8)), (5, 1, 1))
        for k in (1, 2, 4):
            for tau, style in ((0.01, low), (1.0, equal), (10.0, high)):
                found[world, k, tau] = maps(style, d_c=k)
    return found


def ends(fixed, *keys):
    """Linear runs of those keys whose smallest singular value is `fixed`."""
    return {key: maps(fixed) for key in keys}


RECIPE = [
    ("recipe", p, sd, name) for p in (2, 1) for sd in (0.05, 0.1, 0.15) for name in ("1", "s")
]


def layers(*values):
    """Three deep runs with the style's R^2 in x, in the layer before the last, in the last."""
    return xarray.Dataset({"style": (("seed", "layer"), np.tile(values, (3, 1)))})


def deep(content, low=0.8, before=0.7):
    """Deep runs of all worlds and spreads by the style's R^2 at the output; losses with content and without."""
    ends = {"content": content, "no content": 0.9, "lower tau_c": low, "no norm": 0.7, "both": 0.8}
    found = {}
    for width in (50, 10):
        for world in ("box", "sphere"):
            for sd in SDS:
                for label, end in ends.items():
                    # The layer before the last keeps all there is without content.
                    bare = label == "no content"
                    runs = layers(0.75, end if bare else before, end)
                    losses = np.tile([[0, 0, 2.0], [0, 0, 3.0 if bare else 1.0]], (3, 1, 1))
                    runs["terms"] = ("seed", "moment", "term"), losses
                    found[width, world, sd, label] = runs
    return found


def corners(variant, within, style=0.0, off=0.0):
    """Three runs of encoders of classes."""
    kept = {
        "within": (("variant", "seed", "step"), np.full((1, 3, 2), within)),
        "style": (("variant", "seed", "layer"), np.full((1, 3, 2), style)),
        "cosines": (("variant", "seed", "pair"), np.full((1, 3, 6), -1 / 3 + off)),
    }
    return xarray.Dataset(kept, coords={"variant": [variant]})


def photos(slow, standard, two, steep=(0.4, 0.4, 8)):
    """Records of CIFAR-10 by their rows (before, after, equal variances): the norm, without it, two temperatures."""
    rows = dict.fromkeys(OUTPUTS, (0.4, 0.4, 8)) | {"norm, temperature 1/64": steep}
    rows |= {"no norm, variance 1": standard, "no norm, variance 1, two temperatures": two}

    def made(rows):
        found = xarray.Dataset(coords={"variant": [*rows]})
        values, spread = np.array([*rows.values()], dtype=float), np.array([0.0, 0.001, -0.001])
        for k, name in enumerate(("probe", "probe_z")):
            found[name] = ("variant", "seed"), values[:, k, None] + spread
        equal = (np.arange(64) < values[:, 2, None, None]) * np.ones((1, 3, 1))
        for place in "hz":
            found[f"spectrum_{place}"] = ("variant", "seed", f"axis_{place}"), equal
        return found

    return {"norms": made(rows), "slow": made(dict.fromkeys(SLOW, slow))}


def dial(least, twice=0.01):
    """Eigenvalues: the smallest as given, the largest 0.08."""
    both = {1: [np.linspace(least, 0.08, 8)] * 3, 2: [np.linspace(twice, 0.17, 8)] * 3}
    return dict.fromkeys((0.1, 0.2, 0.3, 0.6, 1.0), both)


CASES = {
    "cs-without-content": {"holds": {"lowered": [[1.2]]}, "fails": {"lowered": [[0.9]]}},
    "cs-deep-box": {
        "seen here": {"deep": deep(0.2)},
        "not seen here": {"deep": deep(0.9, low=0.2)},
    },
    "cs-last-layer": {
        "seen here": {"deep": deep(0.2), "rotated": deep(0.2)},
        "not seen here": {"deep": deep(0.2), "rotated": deep(0.2, before=0.3)},
    },
    "cs-photo-two-before": {
        "seen here": photos((0.4, 0.4, 8), (0.7, 0.6, 8), (0.9, 0.8, 8)),
        "not seen here": photos((0.4, 0.4, 8), (0.9, 0.8, 8), (0.7, 0.6, 8)),
    },
    "cs-prop-3-goal": {
        "holds": {"linear": ends(0.9, *RECIPE)},
        "fails": {"linear": ends(0.1, *RECIPE)},
    },
}
