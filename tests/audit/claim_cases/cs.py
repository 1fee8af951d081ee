"""Made-up runs on which the claims of the page on CS give each verdict that they may give."""

import numpy as np
import xarray

from clbook_book.audit.cs.runs import SDS
from clbook_book.course.photographs.runs import OUTPUTS, SLOW


def maps(style):
    """Five maps with a gain of 1 of four content dimensions, and this one of style."""
    return np.tile(np.diag(np.where(np.arange(8) < 4, 1.0, style)), (5, 1, 1))


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
    """Deep runs of all worlds and spreads by the style's R^2 at the output."""
    ends = {"content": content, "no content": 0.9, "lower tau_c": low, "no norm": 0.7, "both": 0.8}
    found = {}
    for width in (50, 10):
        for world in ("box", "sphere"):
            for sd in SDS:
                for label, end in ends.items():
                    # The layer before the last keeps all there is without content.
                    bare = label == "no content"
                    found[width, world, sd, label] = layers(0.75, end if bare else before, end)
    return found


def photos(slow, standard, two):
    """Records of CIFAR-10 by their rows (before, after, equal variances): the norm, without it, two temperatures."""
    rows = dict.fromkeys(OUTPUTS, (0.4, 0.4, 8))
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
