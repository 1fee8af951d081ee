"""Made-up runs on which the claims of the page on CS give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook.experiments.content_style.recipes import ROWS
from clbook.experiments.photographs.recipes import OUTPUTS, SLOW
from clbook.papers.cs.recipes import DIGITS, KS, SDS, TRIED, WORLDS


def maps(style, content=1.0, d_c=4):
    """Five maps with the gains of style and of content."""
    return np.tile(np.diag(np.where(np.arange(8) < d_c, content, style)), (5, 1, 1))


def linear(low, equal=0.1, high=0.1, free=1.0):
    """Linear runs: the style's gain at low, equal and high tau_c for each d_c, and without content."""
    found = {(world, 0, 1.0): maps(free, free, 0) for world in WORLDS}
    found |= {
        (world, 0, 1.0): np.tile(np.diag(np.linspace(1, free, 8)), (5, 1, 1)) for world in WORLDS
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
GLOBES = [("spread", "sphere", 4, sd) for sd in TRIED]
RECIPE = [
    ("recipe", p, sd, name) for p in (2, 1) for sd in (0.05, 0.1, 0.15) for name in ("1", "s")
]


def layers(*values):
    """Three deep runs with the style's R^2 in x, in the layer before the last, in the last."""
    return xarray.Dataset({"style": (("seed", "layer"), np.tile(values, (3, 1)))})


def deep(
    content,
    free=0.9,
    low=0.8,
    bare=0.7,
    both=0.8,
    x=0.75,
    before=0.7,
    inverse=(2.0, 2.0),
    trained=(1.0, 3.0),
):
    """Deep runs of all worlds and spreads by the style's R^2 at the output; losses with content and without."""
    ends = {
        "content": content,
        "no content": free,
        "lower tau_c": low,
        "no norm": bare,
        "both": both,
    }
    found = {}
    for width in (50, 10):
        for world in ("box", "sphere"):
            for sd in SDS:
                for label, end in ends.items():
                    # The layer before the last keeps all there is without content.
                    runs = layers(x, end if label == "no content" else before, end)
                    k = int(label == "no content")
                    losses = np.tile([[0, 0, inverse[k]], [0, 0, trained[k]]], (3, 1, 1))
                    runs["terms"] = ("seed", "moment", "term"), losses
                    found[width, world, sd, label] = runs
    return found


def five(runs):
    """The same runs with five seeds in the place of three."""
    return {key: run.isel(seed=[0, 1, 2, 0, 1]) for key, run in runs.items()}


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


NEAR = corners("style near the old one", 0.9, 0.5)


def digits(*rows):
    """Rows (readout before, after, effective rank after); eight seeds that differ a little."""
    axes, seeds = ("variant", "seed", "place"), np.linspace(-1, 1, 8)
    rows = [*rows, *(len(DIGITS) - len(rows)) * [rows[-1]]]
    before, after, rank = np.array(rows, dtype=float).T[..., None]
    readout = np.stack([before + 0 * seeds, after + 0.001 * seeds], axis=-1)
    found = np.stack([9 + 0 * rank * seeds, rank + 0.01 * seeds], axis=-1)
    return xarray.Dataset(
        {"readout": (axes, readout), "rank": (axes, found)},
        coords={"variant": [*DIGITS], "place": ["h", "z"]},
    )


def heads(*rows):
    """Eight seeds of each of the rows (readout before and after the projector, effective rank)."""
    rows = np.array([*rows, *(len(ROWS) - len(rows)) * [rows[-1]]], dtype=float)
    before, after, size = rows.T[..., None] * np.ones(8)
    axes = ("place", "variant", "seed")
    return xarray.Dataset(
        {"readout": (axes, np.array([before, after])), "rank": (axes, np.array([size, size]))},
        coords={"place": ["h", "z"], "variant": [*ROWS]},
    )


def photos(slow, standard, two, **others):
    """Records of CIFAR-10 by their rows (before, after, equal variances): the norm, without it, two temperatures."""
    rows = {name: others.get("scaled", (0.4, 0.4, 8)) for name in OUTPUTS}
    rows |= {"no norm, variance 1": standard, "no norm, variance 1, two temperatures": two}
    rows |= {
        "norm": others.get("norm", (0.4, 0.4, 8)),
        "norm, temperature 1/64": others.get("steep", (0.4, 0.4, 8)),
    }

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


def cifar(before, after, ranks=(8, 8)):
    """The record of SimCLR: readouts before and after the projector, equal variances there."""
    found = {"probe": ("seed", np.full(3, before)), "probe_z": ("seed", np.full(3, after))}
    for place, rank in zip("hz", ranks, strict=True):
        values = np.tile(np.arange(8) < rank, (3, 1)).astype(float)
        found[f"spectrum_{place}"] = ("seed", f"axis_{place}"), values
    return {"cifar": xarray.Dataset(found)}


def trained(styles, content=1.0):
    """Linear runs in the box and on the sphere: level without content, with it the gains of {d_c: style}."""
    found = {("box, p = 2", 0, 1.0): maps(1.0), ("spread", "sphere", 0, 0.3): maps(1.0)}
    for k, style in styles.items():
        found["box, p = 2", k, 1.0] = maps(style, content, k)
    return found | {("spread", "sphere", 4, 0.3): maps(0.1)}


def short(content, halved):
    """The chapter's deep runs by the style's R^2 at the output."""
    return {
        ("sphere", "$d_c$ = 5"): [Run(style_r2=np.array([[content]]))] * 3,
        ("sphere", r"$d_c$ = 5, all $\tau$ halved"): [Run(style_r2=np.array([[halved]]))] * 3,
    }


def hot(one, equal=0.3, more=0.3):
    """Maps on the sphere, level without content: d_c = 1 at tau_c = .1, at equal temperatures, and d_c = 2, 4."""
    found = {(0, 1.0, sd): np.tile(np.eye(8), (5, 1, 1)) for sd in TRIED}
    for k in KS:
        for tau in (0.03, 0.1, 0.3, 1.0):
            found[k, tau, 0.3] = maps(more if k > 1 else equal, d_c=k)
    for sd in TRIED:
        found[1, 0.1, sd] = maps(one, d_c=1)
    return found


def read(h=0.9, r=0.8):
    """Eight runs of DirectCLR."""
    readout = np.array([h, r, 0.5])[:, None, None] * np.ones((1, 1, 8))
    return xarray.Dataset(
        {"readout": (("place", "variant", "seed"), readout)},
        coords={"place": ["h", "r", "z"], "variant": ["directclr"]},
    )


def falling(*shares):
    """Linear runs whose style has these gains over content's, from spread to spread, in the box and on the sphere."""
    found = {}
    for keys in (SPREADS[4:], GLOBES):
        found |= {key: maps(share) for key, share in zip(keys, shares, strict=False)}
    return found


def direct(added=0.0, h=0.9, r=0.8, other=0.95, left=1e-4):
    """Three runs of DirectCLR and of SimCLR."""
    read = [[[h, r, 0.5]] * 3, [[other, np.nan, 0.5]] * 3]
    kept = {
        "added": (("variant", "seed", "row"), np.full((2, 3, 64), added)),
        "left": (
            ("variant", "seed", "row"),
            np.where(np.arange(64) < 12, 0.7, left) * np.ones((2, 3, 1)),
        ),
        "readout": (("variant", "seed", "place"), read),
    }
    return xarray.Dataset(
        kept, coords={"variant": ["directclr", "simclr"], "place": ["h", "r", "z"]}
    )


def totals(*values):
    """Losses of the five maps of the table, for three seeds."""
    return {key: np.tile(values, (5, 3, 1)) for key in (("box", 2), ("sphere", 4))}


def table_1(box, sphere):
    """Losses (alignment, uniformity) of the inverse and of the trained map, for five seeds."""
    found = {}
    for key, (inverse, trained_map) in ((("box", 2), box), (("sphere", 4), sphere)):
        columns = [[*pair, sum(pair)] for pair in (inverse, inverse, trained_map)]
        found[key] = np.tile(np.array(columns).T, (5, 1, 1))
    return found


def values(rank, condition=10.0):
    """(5, 8) singular values, of which so many are not zero."""
    return np.tile(np.where(np.arange(8) < rank, np.geomspace(1, 1 / condition, 8), 0), (5, 1))


def estimates(**sizes):
    """Covariances of n5, ... points: 1 and an error on the diagonal, in as many dimensions as the rank."""
    return {
        int(name[1:]): np.tile(np.diag((np.arange(8) < rank) * (1 + error)), (5, 2, 1, 1))
        for name, (rank, error) in sizes.items()
    }


def reads(share):
    return dict.fromkeys(("both rotations", "g gaussian, x whitened"), np.full((2, 3, 3), share))


def recipe(equal, scaled):
    return {
        (sd, name): (None, np.full(5, ratio))
        for sd in (0.01, 0.05, 0.1, 0.15)
        for name, ratio in (("1", equal), ("the recipe", scaled))
    }


def lemma5(printed):
    return [{"printed": [printed], "corrected": [1e-7], "detached": [1e-7]}] * 3


def corner(doubled):
    return dict.fromkeys((1, 4), np.tile([[3.0] * 3, [doubled] * 3], (3, 1, 1)))


def keeping(lead, style):
    """Losses without style, lower by `lead`, and with it; R^2 of style without it."""
    one = (np.array([1.0 - lead, 1.0]), np.array([[1, style], [1, 1]]))
    return {"sphere": [one] * 5, "box": [one] * 5}


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
        (n, scale): [(pull * 1024 / n, push, 1.0)] * 5
        for n in (64, 256, 1024)
        for scale in (1.0, 1e-3)
    }


def entries(through):
    return [(through, np.ones((8, 8)))] * 3


def middle(beside):
    return [(1e-15, np.full(8, 0.05), beside)] * 3


def gradients(straight, bent):
    """What `layer_values` gives, for a linear f and for one of three layers, at both scales."""
    found = {}
    for scale in (2, 30):
        found |= {(1, scale): layer_values(straight), (3, scale): layer_values(*bent)}
    return found


def early(left):
    """A run of DirectCLR of whose weights that are not used so much is left."""
    return Run(rows=np.array([np.ones(4), np.full(4, left)]), config=Run(direct=2))


ENDLESS = {1.0: (0.08, 0.06, 3.5), 1e-3: (1e-7, 1.0, 1.0)}
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
    "cs-generators": {
        "holds": {"worlds": [(1e-6, 0.0, 0.1)]},
        "fails": {"worlds": [(1e-6, 0.1, 0.1)]},
    },
    "cs-without-content": {"holds": {"lowered": [[1.2]]}, "fails": {"lowered": [[0.9]]}},
    "cs-table-1-settings": {
        "holds": {"inverse": INVERSE},
        "fails": {"inverse": INVERSE | {("box", 1): [(0, 7.7, 0)] * 3}},
    },
    "cs-lemma-3": {"holds": {"products": [(0, 0, 0)]}, "misprinted": {"products": [(0, 16, 0)]}},
    "cs-lemma-5": {"holds": {"errors": lemma5(1e-3)}, "misprinted": {"errors": lemma5(0.6)}},
    "cs-eq-7": {
        "holds": {"derivatives": [(1e-12, 1e-15)]},
        "misprinted": {"derivatives": [(0.5, 1e-15)]},
    },
    "cs-eq-10": {"holds": {"limits": limits(1e-3, 0.1)}, "fails": {"limits": limits(0.1, 0.1)}},
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
    "cs-gradient-rank": {
        "holds": {"spectra": {2: values(3), 5: values(8)}},
        "fails": {"spectra": {2: values(2), 5: values(5)}},
    },
    "cs-definite": {
        "holds": {"dial": {sd: {1: [np.linspace(-0.08, -0.01, 8)] * 3} for sd in (0.1, 0.2, 0.3)}},
        "misprinted": {"dial": dial(0.01)},
    },
    "cs-strong": {
        "holds when": {"linear": ends(1.0, *SPREADS[:4]) | ends(0.1, *SPREADS[4:])},
        "fails": {"linear": ends(1.0, *SPREADS)},
    },
    "cs-lemma-7": {"holds": {"recipe": recipe(1.6, 1.1)}, "fails": {"recipe": recipe(0.6, 1.1)}},
    "cs-lemma-7-ratio": {
        "holds": {"ratios": [[(1.6, 1.6, 4.0)] * 3] * 3},
        "fails": {"ratios": [[(1.6, 1.2, 4.0)] * 3] * 3},
    },
    "cs-stationary": {"holds": {"dial": dial(0.02)}, "fails": {"dial": dial(0.0)}},
    "cs-loss-zero": {
        "holds": {"loss_at_zero": [(1.0, 0.9)]},
        "fails": {"loss_at_zero": [(1.1, 0.9)]},
    },
    "cs-cor-1": {"holds": {"corner": corner(2.0)}, "fails": {"corner": corner(4.0)}},
    "cs-prop-6-rank": {
        "holds": {"sphere_identity": {"zero on style": (1.0, 1.0, 8, 8, 0.0)}},
        "misprinted": {"sphere_identity": {"zero on style": (1.0, 1.0, 8, 4, 0.0)}},
    },
    "cs-bias": {
        "holds": {"linear": falling(0.9, 0.5, 0.3, 0.1)},
        "fails": {"linear": falling(0.1, 0.3, 0.5, 0.9)},  # the spreads in the wrong order
    },
    "cs-inversion": {
        "holds": {"linear": linear(1.0)},
        "fails": {"linear": linear(1.0, free=0.5)},
    },
    "cs-inversion-deep": {
        "seen here": {"deep": deep(0.3, free=0.95)},
        "undecided": {"deep": deep(0.3, free=0.8)},
    },
    "cs-eq-2": {"identity": {"split": [(1e-15, 0.5)]}, "fails": {"split": [(1e-15, 1.5)]}},
    "cs-conjecture-1": {
        "seen here": {"shield": shield(0.2)},
        "not seen here": {"shield": shield(-0.2)},
    },
    "cs-lemma-1": {
        "holds": {"classes": xarray.concat([corners("style drawn anew", 0.01), NEAR], "variant")},
        "fails": {
            "classes": xarray.concat([corners("style drawn anew", 0.01, 0.5), NEAR], "variant")
        },
    },
    "cs-lemma-1-near": {
        "holds": {"classes": corners("style near the old one", 0.9)},
        "fails": {"classes": corners("style near the old one", 0.01)},
    },
    "cs-lemma-4": {
        "seen here": {"classifier": corners("classifier", 0.01)},
        "not seen here": {"classifier": corners("classifier", 0.01, off=0.3)},
    },
    "cs-high-tau-c": {
        "holds": {"linear": linear(0.15, 0.1, 0.9)},
        "misprinted": {"linear": linear(0.9, 0.1, 0.15)},  # the temperatures exchanged
    },
    "cs-low-tau-c-gain": {
        "holds": {"linear": linear(0.9)},
        "fails": {"linear": linear(0.1, 0.9)},
    },
    "cs-fig-1-dashed": {
        "holds when": {"heated": hot(0.95), "linear": linear(0.1)},
        "fails": {
            "heated": hot(0.3, equal=0.95),
            "linear": linear(0.1),
        },  # the temperatures exchanged
    },
    "cs-undone": {"holds": {"linear": linear(0.005)}, "fails": {"linear": linear(50.0)}},
    "cs-fig-1-left": {
        "holds": {"linear": trained(dict.fromkeys(KS, 0.1))},
        "fails": {"linear": trained(dict.fromkeys(KS, 0.9))},
    },
    "cs-box-content-grows": {
        "holds": {"linear": trained(dict.fromkeys(KS, 0.9), 5.0)},
        "fails": {"linear": trained(dict.fromkeys(KS, 0.1), 1.1)},
    },
    "cs-sphere-threshold": {
        "holds": {"sphere_grid": 5 * [(1, 1, 2, 0.1, 0)] + 5 * [(1, 1, 0.5, 0.3, 0)]},
        "fails": {"sphere_grid": 5 * [(1, 1, 2, 0.3, 0)] + 5 * [(1, 1, 0.5, 0.1, 0)]},
    },
    "cs-fig-1-middle": {"seen here": {"deep": deep(0.2)}, "not seen here": {"deep": deep(0.95)}},
    "cs-deep-box": {
        "seen here": {"deep": deep(0.2)},
        "not seen here": {"deep": deep(0.9, low=0.2)},
    },
    "cs-fig-1-narrow": {
        "seen here": {"rotated": five(deep(0.2))},
        "not seen here": {"rotated": five(deep(0.95))},  # with and without content exchanged
    },
    "cs-fig-1-right": {"seen here": {"deep": deep(0.2)}, "not seen here": {"deep": deep(0.8)}},
    "cs-deep-lower-tau": {
        "holds": {"deep_short": short(0.1, 0.2)},
        "fails": {"deep_short": short(0.2, 0.1)},
    },
    "cs-threshold-deep": {
        "holds": {"deep": deep(0.2), "predicted": dict.fromkeys(SDS, (0.5, 0.5))},
        "fails": {"deep": deep(0.8), "predicted": dict.fromkeys(SDS, (0.5, 0.5))},
    },
    "cs-table-1": {
        "holds": {"parts": totals(8, 7, 3)},
        "fails": {"parts": totals(8, 7, 9)},
    },
    "cs-table-1-split": {
        "holds": {"parts": table_1(((0.1, 7.0), (0.2, 1.0)), ((-0.2, 9.0), (-1.0, 9.1)))},
        "fails": {"parts": table_1(((-0.2, 9.0), (-1.0, 9.1)), ((0.1, 7.0), (0.2, 1.0)))},
    },
    "cs-table-1-deep-box": {
        "seen here": {
            "deep": deep(0.2),
            "scaled_inverse": dict.fromkeys((5, 0), np.full((2, 3), 2.0)),
        },
        "not seen here": {
            "deep": deep(0.2, trained=(3.0, 1.0)),
            "scaled_inverse": dict.fromkeys((5, 0), np.full((2, 3), 2.0)),
        },
    },
    "cs-table-1-deep-sphere": {
        "seen here": {"deep": deep(0.2)},
        "not seen here": {"deep": deep(0.2, trained=(3.0, 1.0))},
    },
    "cs-last-layer": {
        "seen here": {"deep": deep(0.2)},
        "not seen here": {"deep": deep(0.2, before=0.3)},
    },
    "cs-last-layer-box": {
        "seen here": {"deep": deep(0.2)},
        "not seen here": {"deep": deep(0.2, before=0.3)},
    },
    "cs-deep-sphere": {
        "seen here": {"deep": deep(0.2, low=0.3)},
        "not seen here": {"deep": deep(0.2, low=0.9)},
    },
    "cs-deep-norm": {
        "holds": {"deep": deep(0.2, low=0.3)},
        "fails": {"deep": deep(0.2, low=0.3, bare=0.1)},
    },
    "cs-fig-2": {
        "seen here": {"digits": digits((1, 1, 10), (1, 1, 20))},
        "not seen here": {"digits": STILL},
    },
    "cs-norm-scaled": {
        "holds": photos(*[(0.4, 0.4, 8)] * 3) | {"heads": heads((1, 1, 10), (1, 1, 11))},
        "fails": photos(*[(0.4, 0.4, 8)] * 3, norm=(0.4, 0.4, 4))
        | {"heads": heads((1, 1, 10), (1, 1, 20))},
    },
    "cs-photo-fig-2": {
        "seen here": photos((0.4, 0.4, 4), (0.4, 0.4, 8), (0.4, 0.4, 8)),
        "not seen here": photos((0.4, 0.4, 8), (0.4, 0.4, 8), (0.4, 0.4, 8)),
    },
    "photo-norm-control": {
        "holds": photos(*[(0.4, 0.4, 8)] * 3),
        "fails": photos(*[(0.4, 0.4, 8)] * 3, steep=(0.4, 0.4, 4)),
    },
    "img-rank": {"holds": cifar(0.5, 0.4, (8, 2)), "fails": cifar(0.5, 0.4, (2, 8))},
    "img-before-projector": {"seen here": cifar(0.5, 0.4), "not seen here": cifar(0.4, 0.5)},
    "cs-table-2-before": {
        "seen here": {"digits": digits(*[(0.9, 0.8, 1)] * 3)},
        "not seen here": {"digits": digits(*[(0.8, 0.9, 1)] * 3)},
    },
    "cs-photo-before": {
        "seen here": photos(*[(0.5, 0.4, 8)] * 3),
        "not seen here": photos(*[(0.4, 0.5, 8)] * 3),
    },
    "cs-photo-norm": {
        "seen here": photos(*[(0.5, 0.4, 8)] * 3),
        "not seen here": photos((0.4, 0.3, 8), (0.5, 0.4, 8), (0.5, 0.4, 8)),
    },
    "cs-photo-caption": {
        "seen here": photos((0.4, 0.3, 8), (0.5, 0.4, 8), (0.5, 0.4, 8)),
        "not seen here": photos((0.5, 0.4, 8), (0.4, 0.3, 8), (0.4, 0.3, 8)),
    },
    "cs-table-2-norm": {
        "seen here": {"digits": STILL},
        "not seen here": {"digits": digits((0.8, 0.7, 10), (0.9, 0.8, 10))},
    },
    "cs-table-2-caption": {
        "seen here": {"digits": digits((0.8, 0.7, 1), (0.9, 0.8, 1))},
        "not seen here": {"digits": digits((0.9, 0.8, 1), (0.8, 0.7, 1))},
    },
    "cs-two-spectrum": {
        "seen here": {"digits": STILL},
        "not seen here": {"digits": digits((1, 1, 1), (1, 1, 10), (1, 1, 20))},
    },
    "cs-photo-two-spectrum": {
        "seen here": photos(*[(0.4, 0.4, 8)] * 3),
        "not seen here": photos((0.4, 0.4, 8), (0.4, 0.4, 8), (0.4, 0.4, 16)),
    },
    "cs-eq-28": {"holds when": {"decayed": direct()}, "fails": {"decayed": direct(0.5)}},
    "cs-fig-4": {
        "holds when": {"decayed": direct(), "weak_decay": early(0.99)},
        "fails": {"decayed": direct(left=0.5), "weak_decay": early(0.99)},
    },
    "cs-h-against-r": {
        "seen here": {"directclr": read()},
        "not seen here": {"directclr": read(h=0.7)},
    },
    "cs-directclr-simclr": {
        "seen here": {"directclr": read(), "heads": heads((0.9, 0.9, 1))},
        "not seen here": {"directclr": read(), "heads": heads((0.7, 0.9, 1))},
    },
    "cs-lemma-2": {"identity": {"products": [(0, 16, 0)]}, "fails": {"products": [(3, 16, 0)]}},
    "cs-assumption-3": {
        "identity": {"axes": [(0.5, 1e-16, 1e-16)]},
        "fails": {"axes": [(0.5, 1e-16, 0.1)]},
    },
    "cs-assumption-4": {
        "holds": {"dial": dial(-0.01, 0.01)},
        "fails": {"dial": dial(-0.01, -0.01)},
    },
    "cs-units": {"identity": {"unit": [1e-16, 0.0]}, "fails": {"unit": [1e-16, 0.1]}},
    "cs-temperature": {
        "holds when": {"scaled": [(1e-16, 0.9, 1.0)]},
        "fails": {"scaled": [(1e-16, 0.9, 0.9)]},
    },
    "cs-eq-12": {
        "holds when": {"endless": ENDLESS, "limits": limits(0.1, 0.1)},
        "fails": {"endless": dict.fromkeys((1.0, 1e-3), ENDLESS[1.0]), "limits": limits(0.1, 0.1)},
    },
    "cs-eq-13": {
        "holds when": {"endless": ENDLESS},
        "fails": {"endless": dict.fromkeys((1.0, 1e-3), ENDLESS[1.0])},
    },
    "cs-lemma-6-remark": {
        "identity": {"estimates": estimates(n4=(4, 0.0), n100=(8, 0.0))},
        "fails": {"estimates": estimates(n4=(8, 0.0), n100=(8, 0.0))},
    },
    "cs-eigenvalues": {
        "holds": {
            "linear": {key: maps(end) for key, end in zip(GLOBES, (0.5, 0.1, 1e-4), strict=True)},
            "sphere_eigenvalues": {0.2: 0.1, 0.5: -0.1},
        },
        "fails": {
            "linear": {key: maps(end) for key, end in zip(GLOBES, (1e-4, 0.1, 0.5), strict=True)},
            "sphere_eigenvalues": {0.2: 0.1, 0.5: -0.1},
        },
    },
    "cs-eq-15": {"identity": {"forms": middle(1e-3)}, "fails": {"forms": middle(0.05)}},
    "cs-proportional": {
        "holds when": {"entries": [(MIXED, np.ones((8, 8)))] * 3},
        "fails": {"entries": [(MIXED, MIXED)] * 3},
    },
    "cs-prop-2": {"holds when": {"readings": reads(1.0)}, "fails": {"readings": reads(0.5)}},
    "cs-prop-3": {"holds": {"recipe": recipe(1.6, 1.1)}, "fails": {"recipe": recipe(1.6, 19.0)}},
    "cs-prop-3-goal": {
        "holds": {"linear": ends(0.9, *RECIPE)},
        "fails": {"linear": ends(0.1, *RECIPE)},
    },
    "cs-prop-4-optimum": {
        "holds": {"surface": {1: np.array([[1.0, 2.0], [1.0, 0.5]])}},
        "fails": {"surface": {1: np.array([[1.0, 0.9], [1.0, 0.5]])}},
    },
    "cs-prop-4": {
        "holds": {"far": {1: [2.0, 0.0]}, "collapsed": [{1: [2.0, 0.0]}], "no_content": 4.8},
        # Style stretched in place of content.
        "fails": {"far": {1: [2.0, 4.8]}, "collapsed": [{1: [2.0, 4.8]}], "no_content": 0.0},
    },
    "cs-prop-5": {
        "holds when": {"layers": gradients(3, (8, 8, 3))},
        "fails": {"layers": gradients(3, (8, 8, 8))},
    },
    "cs-prop-6": {
        "identity": {"sphere_identity": {"zero on style": (1.0, 1.0, 8, 4, 0.0)}},
        "fails": {"sphere_identity": {"zero on style": (1.0, 2.0, 8, 4, 0.0)}},
    },
}
for place in ("", "-before"):
    better, worse = (0.9, 0.8), (0.7, 0.6)
    CASES[f"cs-table-2-two{place}"] = {
        "seen here": {"digits": digits((1, 1, 1), (*worse, 1), (*better, 1))},
        "not seen here": {"digits": digits((1, 1, 1), (*better, 1), (*worse, 1))},
    }
    CASES[f"cs-photo-two{place}"] = {
        "seen here": photos((0.4, 0.4, 8), (*worse, 8), (*better, 8)),
        "not seen here": photos((0.4, 0.4, 8), (*better, 8), (*worse, 8)),
    }
