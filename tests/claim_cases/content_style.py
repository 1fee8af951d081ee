"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np

WORLDS = ("box, p = 2", "box, p = 1", "sphere")


def linear(d_c, style, content=1.0, undone=None):
    """Three linear runs: the gains of style and of content, and style's with the temperatures undone."""
    trained, seen = (np.diag(np.where(np.arange(8) < d_c, content, gain))[None]
                     for gain in (style, style if undone is None else undone))
    return [Run(map=trained, undone=seen, config=Run(d_c=d_c))] * 3


def worlds(**runs):
    """The same runs in each world, by tau_c: `low`, `equal`, `high`."""
    return dict.fromkeys(WORLDS, {{"low": 0.01, "equal": 1.0, "high": 10.0}[name]: made for name, made in runs.items()})


def totals(*values):
    """Losses of the five maps of the table, for three seeds."""
    return {key: np.tile(values, (3, 3, 1)) for key in (("box", 2), ("sphere", 4))}


def deep(full, free=(0.8, 0.8, 0.8), halved=(0.8, 0.8, 0.8), seeds=3, **other):
    """Deep runs with style's R^2 in x, in the layer before the last, in the last."""
    full, free, halved = ([Run(style_r2=np.array([values]))] * seeds for values in (full, free, halved))
    return {("sphere", "$d_c$ = 5"): full, ("sphere", "$d_c$ = 0"): free,
            ("sphere", r"$d_c$ = 5, all $\tau$ halved"): halved,
            ("box", "$d_c$ = 5"): full, ("box", "$d_c$ = 0"): free, ("box", r"$d_c$ = 5, $\tau_c$ = .1"): halved,
            ("sphere", r"$d_c$ = 5, $\tau_c$ = .3"): full, ("sphere, no $\\ell_2$ norm", "$d_c$ = 5"): halved,
            ("sphere, no $\\ell_2$ norm", r"$d_c$ = 5, $\tau_c$ = .3"): halved}


def heads(*rows):
    """Three runs for each of the rows (readout before and after the projector, effective rank)."""
    names = ("regular", "without norm", "two temperatures", "one, in between")
    return {name: [Run(readout=np.array([[before, after]]), rank=np.array([[0, size]]))] * 3
            for name, (before, after, size) in zip(names, [*rows, rows[-1]])}


def scattered(change):
    """Three runs a row; effective ranks that differ between seeds, and that change so much with two temperatures."""
    sizes = {"regular": 5.0, "without norm": 20.0, "two temperatures": 20.0 + change}
    return {name: [Run(rank=np.array([[0, size + seed]])) for seed in range(3)] for name, size in sizes.items()}


def decayed(left):
    """A run of DirectCLR of whose weights that are not used so much is left; by the law, a half."""
    return Run(rows=np.array([np.ones(4), np.full(4, left)]), config=Run(direct=2, lr=0.5, decay=1.0, steps=1))


def direct(h, r):
    return [Run(readout=np.array([[h, r, 0.5]]))] * 3


def values(rank, condition=10.0):
    """(3, 8) singular values, of which so many are not zero."""
    return np.tile(np.where(np.arange(8) < rank, np.geomspace(1, 1 / condition, 8), 0), (3, 1))


def estimates(**sizes):
    """Covariances of n5, ... points: 1 and an error on the diagonal, in as many dimensions as the rank."""
    return {int(name[1:]): np.tile(np.diag((np.arange(8) < rank) * (1 + error)), (3, 2, 1, 1))
            for name, (rank, error) in sizes.items()}


def reads(share):
    names = ("both rotations", "g gaussian,\nx whitened")
    return {(name, sd): np.full(3, share) for name in names for sd in (0.1, 0.3)}


def recipe(equal, scaled):
    return {(sd, name): (None, np.full(3, ratio)) for sd in (0.05, 0.1, 0.15)
            for name, ratio in (("1", equal), ("the recipe", scaled))}


def lemma5(printed):
    return [{"printed": [printed], "corrected": [1e-7], "detached": [1e-7]}] * 3


def corner(doubled):
    return dict.fromkeys((1, 4), np.tile([[3.0] * 3, [doubled] * 3], (3, 1, 1)))


LEVEL, FALLEN = linear(0, 1.0), {k: linear(k, 0.1) for k in (1, 2, 4)}
FLAT = {k: linear(k, 0.9) for k in (1, 2, 4)}
CASES = {
    "cs-fig-1-left": {
        "holds": {"box": {0: LEVEL, **FALLEN}, "globe": {0: LEVEL, 4: FALLEN[4]}, "mild": FALLEN[4]},
        "not seen here": {"box": {0: LEVEL, **FLAT}, "globe": {0: LEVEL, 4: FALLEN[4]}, "mild": FALLEN[4]}},
    "cs-box-content-grows": {"holds": {"box": {0: LEVEL, **{k: linear(k, 0.9, 5.0) for k in (1, 2, 4)}}},
                             "fails": {"box": {0: LEVEL, **{k: linear(k, 0.1, 1.1) for k in (1, 2, 4)}}}},
    "cs-sphere-threshold": {"holds": {"rows": [(1, 1, 2, 0.1, 0), (1, 1, 0.5, 0.3, 0)]},
                            "fails": {"rows": [(1, 1, 2, 0.3, 0), (1, 1, 0.5, 0.1, 0)]}},
    "cs-table-1": {"holds": {"parts": totals(8, 7, 3, 4, 3.5)}, "not seen here": {"parts": totals(8, 7, 9, 4, 3.5)}},
    "cs-box-style-pays": {"holds": {"parts": totals(8, 7, 3, 4, 3.5)}, "fails": {"parts": totals(8, 7, 3, 4, 4.5)}},
    "cs-units": {"holds": {"unit": [1e-16, 0.0]}, "fails": {"unit": [1e-16, 0.1]}},
    "cs-fig-1-dashed": {
        "holds": {"level": dict.fromkeys(WORLDS, LEVEL), "tempered": worlds(low=linear(2, 0.95))},
        "not seen here": {"level": dict.fromkeys(WORLDS, LEVEL), "tempered": worlds(low=linear(2, 0.1))}},
    "cs-low-tau-c": {"holds when": {"tempered": worlds(low=linear(2, 0.9), equal=linear(2, 0.1))},
                     "not seen here": {"tempered": worlds(low=linear(2, 0.1), equal=linear(2, 0.9))}},
    "cs-high-tau-c": {"holds": {"tempered": worlds(high=linear(2, 0.9), equal=linear(2, 0.1))},
                      "not seen here": {"tempered": worlds(high=linear(2, 0.1), equal=linear(2, 0.9))}},
    "cs-undone": {"holds": {"tempered": worlds(low=linear(2, 0.9, undone=0.05), equal=linear(2, 0.1))},
                  "fails": {"tempered": worlds(low=linear(2, 0.9, undone=0.5), equal=linear(2, 0.1))}},
    "cs-fig-1-right": {"holds": {"deep": deep((0.8, 0.5, 0.1))}, "not seen here": {"deep": deep((0.8, 0.7, 0.6))}},
    "cs-last-layer": {"holds": {"deep": deep((0.8, 0.7, 0.1))}, "not seen here": {"deep": deep((0.8, 0.2, 0.1))}},
    "cs-deep-lower-tau": {"holds": {"deep": deep((0.8, 0.5, 0.1), halved=(0.8, 0.5, 0.2))},
                          "fails": {"deep": deep((0.8, 0.5, 0.2), halved=(0.8, 0.5, 0.1))}},
    "cs-fig-1-middle": {"undecided": {"deep": deep((0.8, 0.5, 0.1), seeds=1)}},
    "cs-deep-sphere": {"undecided": {"deep": deep((0.8, 0.5, 0.1), seeds=1)}},
    "cs-table-2-before": {"holds": {"heads": heads(*[(0.9, 0.8, 1)] * 3)},
                          "not seen here": {"heads": heads(*[(0.8, 0.9, 1)] * 3)}},
    "cs-table-2-two": {"holds": {"heads": heads((0.9, 0.8, 1), (0.8, 0.7, 1), (0.95, 0.95, 1))},
                       "not seen here": {"heads": heads((0.9, 0.8, 1), (0.8, 0.7, 1), (0.5, 0.5, 1))}},
    "cs-two-spectrum": {"holds": {"heads": scattered(0.1)}, "not seen here": {"heads": scattered(5.0)}},
    "cs-fig-2": {"holds": {"heads": heads((1, 1, 10), (1, 1, 20), (1, 1, 20))},
                 "not seen here": {"heads": heads((1, 1, 10), (1, 1, 11), (1, 1, 11))}},
    "cs-fig-4": {"holds when": {"direct": [decayed(0.5)], "strong": decayed(0.5)},
                 "fails": {"direct": [decayed(0.5)], "strong": decayed(0.9)}},
    "cs-h-against-r": {"holds": {"direct": direct(0.9, 0.8), "heads": heads((0.9, 0.9, 1))},
                       "not seen here": {"direct": direct(0.8, 0.9), "heads": heads((0.9, 0.9, 1))}},
    "cs-lemma-5": {"holds": {"errors": lemma5(1e-3)}, "misprinted": {"errors": lemma5(0.6)}},
    "cs-lemma-6": {
        "holds": {"spectra": {2: values(3), 5: values(8, 100.0), 12: values(8), 100: values(8, 5.0)},
                  "estimates": estimates(n5=(8, 0.5), n100=(8, 0.1), n20000=(8, 0.0))},
        "fails": {"spectra": {2: values(8), 5: values(8, 5.0), 12: values(3), 100: values(8, 100.0)},
                  "estimates": estimates(n5=(8, 0.1), n100=(8, 0.5), n20000=(8, 0.0))}},
    "cs-lemma-6-remark": {"holds": {"estimates": estimates(n4=(4, 0.0), n100=(8, 0.0))},
                          "fails": {"estimates": estimates(n4=(8, 0.0), n100=(8, 0.0))}},
    "cs-gradient-rank": {"holds": {"spectra": {2: values(3), 5: values(8)}},
                         "fails": {"spectra": {2: values(2), 5: values(5)}}},
    "cs-prop-2": {"holds when": {"read": reads(1.0)}, "fails": {"read": reads(0.5)}},
    "cs-prop-3": {"holds": {"recipe": recipe(1.6, 1.1)}, "fails": {"recipe": recipe(1.6, 9.0)}},
    "cs-lemma-7": {"holds": {"recipe": recipe(1.6, 1.1)}, "fails": {"recipe": recipe(0.6, 1.1)}},
    "cs-prop-4": {"holds": {"far": {1: [2.0, 0.0], 2: [1.0, 0.0]}}, "fails": {"far": {1: [2.0, 1.0], 2: [1.0, 0.0]}}},
    "cs-prop-4-optimum": {"holds": {"surface": {1: np.array([[1.0, 2.0], [1.0, 0.5]])}},
                          "fails": {"surface": {1: np.array([[1.0, 0.9], [1.0, 0.5]])}}},
    "cs-prop-5": {"holds when": {"layers": {1: [3], 3: [8, 8, 3]}}, "fails": {"layers": {1: [3], 3: [8, 8, 8]}}},
    "cs-cor-1": {"holds": {"corner": corner(2.0)}, "fails": {"corner": corner(4.0)}},
    "cs-prop-6": {"holds": {"sphere6": {"zero on style": (1.0, 1.0, 8, 4, 0.0)}},
                  "fails": {"sphere6": {"zero on style": (1.0, 2.0, 8, 4, 0.0)}}},
    "cs-prop-6-rank": {"holds": {"sphere6": {"zero on style": (1.0, 1.0, 8, 8, 0.0)}},
                       "misprinted": {"sphere6": {"zero on style": (1.0, 1.0, 8, 4, 0.0)}}},
}
