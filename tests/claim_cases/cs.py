"""Made-up runs on which the claims of the page on CS give each verdict that they may give."""

import numpy as np
import xarray

from clbook.papers.cs.recipes import DIGITS, SDS, WORLDS

THREE = np.ones(3)


def maps(style, content=1.0, d_c=4):
    """Three maps with the gains of style and of content."""
    return np.tile(np.diag(np.where(np.arange(8) < d_c, content, style)), (3, 1, 1))


def linear(low, equal=0.1, high=0.1, free=1.0):
    """Linear runs: the style's gain at low, equal and high tau_c for each d_c, and without content."""
    found = {(world, 0, 1.0): maps(free, free, 0) for world in WORLDS}
    found |= {
        (world, 0, 1.0): np.tile(np.diag(np.linspace(1, free, 8)), (3, 1, 1)) for world in WORLDS
    }
    return found | {
        (world, k, tau): maps(style, d_c=k)
        for world in WORLDS
        for k in (1, 2, 4)
        for tau, style in ((0.01, low), (1.0, equal), (10.0, high))
    }


def ends(fixed, *keys):
    """Linear runs of those keys whose smallest singular value is `fixed`."""
    return {key: maps(fixed) for key in keys}


SPREADS = [("spread", "box", k, sd) for k in (0, 4) for sd in (0.1, 0.3, 0.6, 1.0)]
RECIPE = [
    ("recipe", p, sd, name) for p in (2, 1) for sd in (0.05, 0.1, 0.15) for name in ("1", "s")
]


def layers(*values):
    """Three deep runs with the style's R^2 in x, in the layer before the last, in the last."""
    return xarray.Dataset({"style": (("seed", "layer"), np.tile(values, (3, 1)))})


def deep(content, free=0.9, low=0.8, bare=0.7, both=0.8, x=0.75, before=0.7):
    """Deep runs of all worlds and spreads by the style's R^2 at the output."""
    ends = {
        "content": content,
        "no content": free,
        "lower tau_c": low,
        "no norm": bare,
        "both": both,
    }
    return {
        (width, world, sd, label): layers(x, before, end)
        for width in (50, 10)
        for world in ("box", "sphere")
        for sd in SDS
        for label, end in ends.items()
    }


def losses(inverse, trained):
    """Totals of Table 1 for deep encoders."""
    totals = np.tile([[0, 0, inverse], [0, 0, trained]], (3, 1, 1))
    runs = xarray.Dataset({"terms": (("seed", "moment", "term"), totals)})
    return {
        (50, f"{world} of Table 1", 0.05, label): runs
        for world in ("box", "sphere")
        for label in ("content", "no content")
    }


def shield(with_content, without=0.0):
    """R^2 of the fourth layer that is so much higher under three layers than under none."""

    def run(value):
        style = np.tile([value, 0], (3, 1))
        places = {"layer": ["fourth", "output"]}
        return xarray.Dataset({"style": (("seed", "layer"), style)}, coords=places)

    return {
        **{(5, above): run(0.5 + with_content * above / 3) for above in range(4)},
        (0, 0): run(0.5),
        (0, 3): run(0.5 + without),
    }


def corners(variant, within, style=0.0, off=0.0):
    """Three runs of encoders of classes."""
    kept = {
        "within": (("variant", "seed", "step"), np.full((1, 3, 2), within)),
        "style": (("variant", "seed", "layer"), np.full((1, 3, 2), style)),
        "cosines": (("variant", "seed", "pair"), np.full((1, 3, 6), -1 / 3 + off)),
    }
    return xarray.Dataset(kept, coords={"variant": [variant]})


def digits(*rows):
    """Rows (readout before, after, effective rank after); three seeds that differ a little."""
    axes, seeds = ("variant", "seed", "place"), np.array([-1, 0, 1])
    before, after, rank = np.array(rows, dtype=float).T[..., None]
    readout = np.stack([before + 0 * seeds, after + 0.001 * seeds], axis=-1)
    ranks = np.stack([9 + 0 * rank * seeds, rank + 0.5 * seeds], axis=-1)
    return xarray.Dataset(
        {"readout": (axes, readout), "rank": (axes, ranks)},
        coords={"variant": [*DIGITS], "place": ["h", "z"]},
    )


def direct(added=0.0, h=0.9, r=0.8, other=0.95):
    """Three runs of DirectCLR and of SimCLR."""
    read = [[[h, r, 0.5]] * 3, [[other, np.nan, 0.5]] * 3]
    kept = {
        "added": (("variant", "seed", "row"), np.full((2, 3, 64), added)),
        "left": (("variant", "seed", "row"), np.full((2, 3, 64), 1e-4)),
        "readout": (("variant", "seed", "place"), read),
    }
    return xarray.Dataset(
        kept, coords={"variant": ["directclr", "simclr"], "place": ["h", "r", "z"]}
    )


def totals(*values):
    """Losses of the five maps of the table, for three seeds."""
    return {key: np.tile(values, (3, 3, 1)) for key in (("box", 2), ("sphere", 4))}


def values(rank, condition=10.0):
    """(3, 8) singular values, of which so many are not zero."""
    return np.tile(np.where(np.arange(8) < rank, np.geomspace(1, 1 / condition, 8), 0), (3, 1))


def estimates(**sizes):
    """Covariances of n5, ... points: 1 and an error on the diagonal, in as many dimensions as the rank."""
    return {
        int(name[1:]): np.tile(np.diag((np.arange(8) < rank) * (1 + error)), (3, 2, 1, 1))
        for name, (rank, error) in sizes.items()
    }


def reads(share):
    return dict.fromkeys(("both rotations", "g gaussian, x whitened"), np.full((2, 3, 3), share))


def recipe(equal, scaled):
    return {
        (sd, name): (None, np.full(3, ratio))
        for sd in (0.05, 0.1, 0.15)
        for name, ratio in (("1", equal), ("the recipe", scaled))
    }


def lemma5(printed):
    return [{"printed": [printed], "corrected": [1e-7], "detached": [1e-7]}] * 3


def corner(doubled):
    return dict.fromkeys((1, 4), np.tile([[3.0] * 3, [doubled] * 3], (3, 1, 1)))


def keeping(lead, style):
    """Losses without style, lower by `lead`, and with it; R^2 of style without it."""
    one = (np.array([1.0 - lead, 1.0]), np.array([[1, style], [1, 1]]))
    return {"sphere": [one] * 3, "box": [one] * 3}


def layer_values(*counts):
    """Singular values of three seeds' layers, of which so many are not zero."""
    return [[np.where(np.arange(8) < k, 1.0, 1e-17) for k in counts]] * 3


def dial(least, twice=0.01):
    """Eigenvalues: the smallest as given, the largest 0.08."""
    both = {1: [np.linspace(least, 0.08, 8)] * 3, 2: [np.linspace(twice, 0.17, 8)] * 3}
    return dict.fromkeys((0.1, 0.2, 0.3, 0.6, 1.0), both)


def limits(pull, push):
    """Errors of the pull that fall to `pull`, and of the push."""
    return {
        (n, scale): [(pull * 1024 / n, push, 1.0)] * 3
        for n in (64, 256, 1024)
        for scale in (1.0, 1e-3)
    }


def entries(through):
    return [(through, np.ones((8, 8)))] * 3


def middle(style):
    return [(1e-15, np.where(np.arange(8) < 4, 1 / 12, style), 1e-3)] * 3


MIXED = np.where(np.arange(64).reshape(8, 8) % 2, 1.0, -1.0) * np.arange(1, 9)[:, None]
INVERSE = {
    ("box", 2): [(0, 7.7, 0)] * 3,
    ("box", 1): [(0, 6.1, 0)] * 3,
    ("sphere", 2): [(0, 9.26, 0)] * 3,
}
STILL = digits((0.9, 0.8, 10), (0.9, 0.8, 10), (0.9, 0.8, 10))
CASES = {
    "cs-abstract": {
        "holds when": {"keeping": keeping(0.1, 0.0)},
        "fails": {"keeping": keeping(-0.1, 0.0)},
    },
    "cs-eq-1": {"holds": {"written": [[1e-15]]}, "fails": {"written": [[1e-3]]}},
    "cs-inversion": {
        "holds": {"linear": linear(1.0)},
        "not seen here": {"linear": linear(1.0, free=0.5)},
    },
    "cs-inversion-deep": {
        "holds": {"deep": deep(0.3, free=0.95)},
        "not seen here": {"deep": deep(0.3, free=0.8)},
    },
    "cs-generators": {
        "holds": {"worlds": [(1e-6, 0.0, 0.1)]},
        "fails": {"worlds": [(1e-6, 0.1, 0.1)]},
    },
    "cs-eq-2": {"holds": {"split": [(1e-15, 0.5)]}, "fails": {"split": [(1e-15, 1.5)]}},
    "cs-without-content": {"holds": {"lowered": [[1.2]]}, "fails": {"lowered": [[0.9]]}},
    "cs-conjecture-1": {
        "holds": {"shield": shield(0.2)},
        "not seen here": {"shield": shield(-0.2)},
    },
    "cs-shield-content": {"holds": {"shield": shield(0.2)}, "fails": {"shield": shield(0.2, 0.3)}},
    "cs-lemma-1": {
        "holds": {"classes": corners("style drawn anew", 0.01)},
        "fails": {"classes": corners("style drawn anew", 0.01, 0.5)},
    },
    "cs-lemma-1-near": {
        "holds": {"classes": corners("style near the old one", 0.01)},
        "fails": {"classes": corners("style near the old one", 0.9)},
    },
    "cs-lemma-4": {
        "holds": {"classifier": corners("classifier", 0.01)},
        "not seen here": {"classifier": corners("classifier", 0.01, off=0.3)},
    },
    "cs-high-tau-c": {
        "holds": {"linear": linear(0.1, 0.1, 0.9)},
        "not seen here": {"linear": linear(0.1, 0.9, 0.1)},
    },
    "cs-fig-1-dashed": {
        "holds": {"linear": linear(0.95)},
        "not seen here": {"linear": linear(0.1)},
    },
    "cs-low-tau-c": {"holds": {"linear": linear(0.9)}, "not seen here": {"linear": linear(0.1)}},
    "cs-low-tau-c-gain": {"holds": {"linear": linear(0.9)}, "fails": {"linear": linear(0.1, 0.9)}},
    "cs-undone": {"holds when": {"linear": linear(0.5)}, "fails": {"linear": linear(50.0)}},
    "cs-units": {"holds": {"unit": [1e-16, 0.0]}, "fails": {"unit": [1e-16, 0.1]}},
    "cs-table-1": {
        "holds": {"parts": totals(8, 7, 3, 4, 3.5)},
        "not seen here": {"parts": totals(8, 7, 9, 4, 3.5)},
    },
    "cs-box-style-pays": {
        "holds": {"parts": totals(8, 7, 3, 4, 3.5)},
        "fails": {"parts": totals(8, 7, 3, 4, 4.5)},
    },
    "cs-table-1-deep-box": {
        "holds": {"deep": losses(2.0, 1.0)},
        "not seen here": {"deep": losses(1.0, 2.0)},
    },
    "cs-table-1-deep-sphere": {
        "holds": {"deep": losses(2.0, 1.0)},
        "not seen here": {"deep": losses(1.0, 2.0)},
    },
    "cs-table-1-settings": {
        "holds": {"inverse": INVERSE},
        "fails": {"inverse": INVERSE | {("box", 1): [(0, 7.7, 0)] * 3}},
    },
    "cs-deep-converged": {"holds": {"deep": deep(0.3)}, "fails": {"deep": deep(0.3, free=0.5)}},
    "cs-deep-narrow": {"holds": {"deep": deep(0.3)}, "fails": {"deep": deep(0.3, free=0.5)}},
    "cs-fig-1-narrow": {"holds": {"deep": deep(0.2)}, "not seen here": {"deep": deep(0.8)}},
    "cs-fig-1-middle": {"holds": {"deep": deep(0.2)}, "not seen here": {"deep": deep(0.8)}},
    "cs-fig-1-right-long": {"holds": {"deep": deep(0.2)}, "not seen here": {"deep": deep(0.8)}},
    "cs-last-layer": {
        "holds": {"deep": deep(0.2)},
        "not seen here": {"deep": deep(0.2, before=0.3)},
    },
    "cs-last-layer-box": {
        "holds": {"deep": deep(0.2)},
        "not seen here": {"deep": deep(0.2, before=0.3)},
    },
    "cs-deep-sphere": {
        "holds": {"deep": deep(0.2, low=0.3)},
        "not seen here": {"deep": deep(0.2, low=0.9)},
    },
    "cs-deep-norm": {"holds": {"deep": deep(0.2)}, "fails": {"deep": deep(0.2, both=0.5)}},
    "cs-threshold-deep": {
        "holds": {"deep": deep(0.8), "predicted": dict.fromkeys(SDS, (0.5, 0.5))},
        "fails": {"deep": deep(0.2), "predicted": dict.fromkeys(SDS, (0.5, 0.5))},
    },
    "cs-fig-2-literal": {
        "holds": {"digits": digits((1, 1, 10), (1, 1, 20), (1, 1, 20))},
        "not seen here": {"digits": STILL},
    },
    "cs-table-2-norm": {
        "holds": {"digits": digits((1, 0.8, 10), (1, 0.8, 10), (1, 1, 20))},
        "not seen here": {"digits": digits((1, 0.8, 10), (1, 0.9, 10), (1, 1, 20))},
    },
    "cs-table-2-caption": {
        "holds": {"digits": digits((0.8, 0.7, 1), (0.9, 0.8, 1), (1, 1, 2))},
        "not seen here": {"digits": digits((0.9, 0.8, 1), (0.8, 0.7, 1), (1, 1, 2))},
    },
    "cs-table-2-two-literal": {
        "holds": {"digits": digits((1, 1, 1), (0.8, 0.7, 1), (0.9, 0.8, 2))},
        "not seen here": {"digits": digits((1, 1, 1), (0.8, 0.7, 1), (0.7, 0.6, 2))},
    },
    "cs-two-spectrum-literal": {
        "holds": {"digits": STILL},
        "not seen here": {"digits": digits((1, 1, 1), (1, 1, 10), (1, 1, 20))},
    },
    "cs-eq-28": {"holds when": {"decayed": direct()}, "fails": {"decayed": direct(0.5)}},
    "cs-h-against-r-decayed": {
        "holds": {"decayed": direct()},
        "not seen here": {"decayed": direct(h=0.7)},
    },
    "cs-lemma-2": {"holds": {"products": [(0, 16, 0)]}, "fails": {"products": [(3, 16, 0)]}},
    "cs-lemma-3": {"holds": {"products": [(0, 0, 0)]}, "misprinted": {"products": [(0, 16, 0)]}},
    "cs-temperature": {"holds when": {"scaled": [(1e-16, 0.5)]}, "fails": {"scaled": [(0.1, 0.5)]}},
    "cs-assumption-3": {"holds when": {"axes": [(0.5, 1e-16)]}, "fails": {"axes": [(0.5, 0.1)]}},
    "cs-assumption-4": {"holds": {"dial": dial(-0.1, -0.1)}, "fails": {"dial": dial(-0.1, 0.1)}},
    "cs-lemma-5": {"holds": {"errors": lemma5(1e-3)}, "misprinted": {"errors": lemma5(0.6)}},
    "cs-eq-7": {
        "holds": {"derivatives": [(1e-12, 1e-15)]},
        "misprinted": {"derivatives": [(0.5, 1e-15)]},
    },
    "cs-eq-10": {"holds": {"limits": limits(1e-3, 0.1)}, "fails": {"limits": limits(0.1, 0.1)}},
    "cs-eq-13": {"holds": {"limits": limits(1e-3, 1e-3)}, "fails": {"limits": limits(1e-3, 0.1)}},
    "cs-lemma-6": {
        "holds": {
            "spectra": {2: values(3), 5: values(8, 100.0), 12: values(8), 100: values(8, 5.0)},
            "estimates": estimates(n5=(8, 0.5), n100=(8, 0.1), n20000=(8, 0.0)),
        },
        "fails": {
            "spectra": {2: values(8), 5: values(8, 5.0), 12: values(3), 100: values(8, 100.0)},
            "estimates": estimates(n5=(8, 0.1), n100=(8, 0.5), n20000=(8, 0.0)),
        },
    },
    "cs-lemma-6-remark": {
        "holds": {"estimates": estimates(n4=(4, 0.0), n100=(8, 0.0))},
        "fails": {"estimates": estimates(n4=(8, 0.0), n100=(8, 0.0))},
    },
    "cs-gradient-rank": {
        "holds": {"spectra": {2: values(3), 5: values(8)}},
        "fails": {"spectra": {2: values(2), 5: values(5)}},
    },
    "cs-eq-15": {
        "holds": {"forms": middle(0.02)},
        "fails": {"forms": [(1e-15, np.where(np.arange(8) < 4, 0.02, 0.08), 1e-3)] * 3},
    },
    "cs-definite": {
        "holds": {"dial": {sd: {1: [np.linspace(-0.08, -0.01, 8)] * 3} for sd in (0.1, 0.2, 0.3)}},
        "misprinted": {"dial": dial(0.01)},
    },
    "cs-strong": {
        "holds when": {"linear": ends(1.0, *SPREADS[:4]) | ends(0.1, *SPREADS[4:])},
        "fails": {"linear": ends(1.0, *SPREADS)},
    },
    "cs-proportional": {
        "holds": {"entries": entries(np.ones((8, 8)))},
        "fails": {"entries": entries(MIXED)},
    },
    "cs-lemma-7": {"holds": {"recipe": recipe(1.6, 1.1)}, "fails": {"recipe": recipe(0.6, 1.1)}},
    "cs-lemma-7-ratio": {
        "holds": {"ratios": [[(1.6, 1.6, 4.0)] * 3] * 3},
        "fails": {"ratios": [[(1.6, 1.2, 4.0)] * 3] * 3},
    },
    "cs-prop-2": {"holds when": {"readings": reads(1.0)}, "fails": {"readings": reads(0.5)}},
    "cs-prop-3": {"holds": {"recipe": recipe(1.6, 1.1)}, "fails": {"recipe": recipe(1.6, 9.0)}},
    "cs-prop-3-goal": {
        "holds": {"linear": ends(0.9, *RECIPE)},
        "not seen here": {"linear": ends(0.1, *RECIPE)},
    },
    "cs-stationary": {"holds": {"dial": dial(0.02)}, "fails": {"dial": dial(0.0)}},
    "cs-loss-zero": {
        "holds": {"loss_at_zero": [(1.0, 0.9)]},
        "fails": {"loss_at_zero": [(1.1, 0.9)]},
    },
    "cs-prop-4": {
        "holds": {"far": {1: [2.0, 0.0], 2: [1.0, 0.0]}},
        "fails": {"far": {1: [2.0, 1.0], 2: [1.0, 0.0]}},
    },
    "cs-prop-1": {
        "holds": {"collapsed": [{1: [2.0, 0.0]}]},
        "fails": {"collapsed": [{1: [2.0, 1.0]}]},
    },
    "cs-cor-1": {"holds": {"corner": corner(2.0)}, "fails": {"corner": corner(4.0)}},
    "cs-prop-5": {
        "holds when": {"layers": {1: layer_values(3), 3: layer_values(8, 8, 3)}},
        "fails": {"layers": {1: layer_values(3), 3: layer_values(8, 8, 8)}},
    },
    "cs-prop-6": {
        "holds": {"sphere_identity": {"zero on style": (1.0, 1.0, 8, 4, 0.0)}},
        "fails": {"sphere_identity": {"zero on style": (1.0, 2.0, 8, 4, 0.0)}},
    },
    "cs-prop-6-rank": {
        "holds": {"sphere_identity": {"zero on style": (1.0, 1.0, 8, 8, 0.0)}},
        "misprinted": {"sphere_identity": {"zero on style": (1.0, 1.0, 8, 4, 0.0)}},
    },
}
