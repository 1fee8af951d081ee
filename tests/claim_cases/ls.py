"""Made-up runs on which the claims of LS's own room give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook import theory
from clbook.experiments.separability.recipes import PAIRS
from clbook.papers.ls.recipes import LOSSES, SETS

NAN = np.nan


def runs(*at, **fields):
    """Runs that separate at these iterations (None: never)."""
    return [Run(separable_at=steps, **fields) for steps in at]


def embedded(rank):
    """Runs in the plane that separate at once; their points lie on a cross, or on a line (rank 1)."""
    z = np.array([[1.0, 0], [-1, 0], [0, rank - 1], [0, 1 - rank]])
    return {
        "several": {"one": runs(0.5, 0.5, 0.5, z=z[None], steps=np.array([1]), config=Run(d=2))}
    }


def ended(ratio, at):
    """A record of runs with this ratio of (e), one of which separates at `at`."""
    return record(
        "run",
        left=np.full(3, ratio),
        right=np.ones(3),
        separable_at=np.array([1.0, 2.0, at]),
        gradient=["partial", "full", "full"],
    )


def record(axes, places=None, **quantities):
    """A record of quantities along these axes, or those of them that each has."""
    kept = {}
    for name, values in quantities.items():
        kept[name] = (axes.split()[: np.ndim(values)], values)
    return xarray.Dataset(kept, coords=places)


def tight(drift, rate):
    """Runs whose gap grows at this multiple of the rate 5 (Theta = 2, tau = .1), with this drift of the kernel."""
    config = Run(tau=0.1, lr_over_tau=0.01, eps=1.0)
    steps = np.arange(0, 4001, 10)
    gap = 1e-6 * np.exp(5 * rate * 0.001 * steps)[:, None]
    z = np.concatenate([gap, -gap], 1)[:, :, None] / 2
    return {
        "linear_maps": {
            "random": [
                Run(
                    config=config,
                    steps=steps,
                    labels=np.array([0, 1]),
                    z=z,
                    theta=[2.0],
                    drift=np.array([drift]),
                )
            ]
            * 3
        }
    }


def after(*whole):
    """A record of two families, three runs each, which separate at time 0; whether classes are whole at each time."""
    return {
        "followed": record(
            "family seed step",
            {"family": ["a network", "random features"]},
            recorded_steps=np.tile(np.arange(len(whole)), (2, 3, 1)),
            separable_at=np.zeros((2, 3)),
            whole=np.tile(np.array(whole, bool), (2, 3, 1)),
        )
    }


def watched(separable_at):
    """Runs that follow the linear law exactly, tau = 1/4 and a push of 1 and -1; they say when they separate."""
    z = [np.array([1.0, -0.5, 0.5, -1.0])]
    for _ in range(200):
        z.append(z[-1] + 0.1 * np.array([1, 1, -1, -1]) * (z[-1][:2].mean() - z[-1][2:].mean()))
    return {
        "watched": runs(
            *[separable_at] * 3,
            z=np.array(z),
            labels=np.array([0, 0, 1, 1]),
            push=np.array([1.0, 1, -1, -1]),
            config=Run(tau=0.25, lr=0.1, gradient="partial"),
        )
    }


def shapes(donut, clusters, spread=(9.0, 0.1)):
    """Donuts and clusters that take so long, and whose gradients scatter so much."""
    return {
        "shapes": {
            name: runs(*[at] * 3, sigma2=[s], theta=[1.0])
            for name, at, s in (("donut", donut, spread[0]), ("clusters", clusters, spread[1]))
        }
    }


def full(clusters, donut, none):
    """A record of three losses on three data sets, three seeds each, that separate at these iterations."""
    at = np.tile(np.array([clusters, donut, none])[:, None], (3, 1, 3))
    places = {"loss": [*LOSSES], "set": [*SETS]}
    return {"full_loss": record("loss set seed", places, separable_at=at)}


def donuts(alignment, width=1.0):
    """A record of three donuts, recorded at 0, 1, 2 and 3, that separate at 2."""
    return {
        "fig5": record(
            "activation eps seed step",
            {"activation": ["tanh"], "eps": [1.0]},
            separable_at=np.full((1, 1, 3), 2.0),
            recorded_steps=np.tile(np.arange(4.0), (1, 1, 3, 1)),
            alignment=np.tile(alignment, (1, 1, 3, 1)),
            width=np.full((1, 1, 3, 4), width),
            scatter=np.ones((1, 1, 3, 4)),
        )
    }


def panels(early, late, never, moved):
    return {
        "fig3": record(
            "panel seed",
            {"panel": [*PAIRS]},
            separable_at=np.outer([early, late, never], np.ones(3)),
            moved=np.outer([9.0, 1.0, moved], np.ones(3)),
        )
    }


def sphere(similarity):
    return {"on_sphere": [dict(similarity=similarity, loss=0.0, scale=0.5)]}


def first(printed, corrected):
    return {"first_variations": [dict(autograd=1.0, printed=printed, corrected=corrected)]}


def flow(alpha, gap, rest=0.0):
    return [dict(alpha=alpha, gap=gap, rest=rest)]


def components(alpha):
    """{n: (seeds, starts, 2)} with this size at n points."""
    return {n: np.full((3, 5, 2), alpha(n)) for n in (50, 200)}


def equal(slope):
    return dict(partial=slope, full=slope, ratio=900.0, eps=0.1)


def mnist(*accuracy):
    return {"fig4_mnist": record("seed step", accuracy=np.array([accuracy] * 3))}


def circle(*at):
    return {
        "fig6": record(
            "seed step",
            separable_at=np.array(at),
            recorded_steps=np.array([[0.0, 3000]] * 3),
            accuracy=np.ones((3, 2)),
        )
    }


def free(loss):
    """A record of three runs from each of two starts that end with this loss."""
    accuracy = np.full((2, 3, 2), 0.25)
    return {
        "fig6_free": record("start seed step", loss=np.full((2, 3, 2), loss), accuracy=accuracy)
    }


PLATEAU = theory.simplified_plateau(0.2, 2)
CASES = {
    "ls-definitions": {
        "holds": {"written": [{"eq. 1": (1.0, 1.0)}]},
        "fails": {"written": [{"eq. 1": (1.0, 1.1)}]},
    },
    "ls-any-scale": {"holds": {"scales": [0.0]}, "fails": {"scales": [0.1]}},
    "ls-same-distribution": {
        "holds": {"pushed": [{"radius": 0.0, "invariant network": 0.0, "network": 0.1}]},
        "fails": {"pushed": [{"radius": 0.2, "invariant network": 0.0, "network": 0.1}]},
    },
    "ls-consistent": {"holds when": sphere(0.0), "fails": sphere(0.1)},
    "ls-eq-13": {"holds": first(1.0, 1.0), "misprinted": first(2.0, 1.0), "fails": first(2.0, 3.0)},
    "ls-growing-scale": {
        "holds": {"growing": {"exp": np.array([1.0, 0.1, 0.0])}},
        "fails": {"growing": {"exp": np.array([1.0, 0.1, 0.2])}},
    },
    "ls-multiplier": {
        "holds": {"multipliers": [(0.0, 0.0)]},
        "misprinted": {"multipliers": [(1.0, 0.0)]},
        "fails": {"multipliers": [(1.0, 1.0)]},
    },
    "ls-lower-bound": {
        "holds": {"bounds": [np.array([[2.0, 1.0, 1.5]])]},
        "fails": {"bounds": [np.array([[1.0, 2.0, 1.0]])]},
    },
    "ls-any-map": {
        "holds": {"velocity": {"spline": [0.0]}},
        "fails": {"velocity": {"spline": [0.5]}},
    },
    "ls-appendix-b-5": {
        "holds": {"kept": {"radius": [0.0], "point": [0.1]}},
        "fails": {"kept": {"radius": [0.2], "point": [0.1]}},
    },
    "ls-more-clusters": {
        "holds": {"several": {"3 in 2-D": runs(5, 6, 7)}},
        "fails": {"several": {"3 in 2-D": runs(None, None, None)}},
    },
    "ls-without-collapse": {"holds": embedded(2.0), "not seen here": embedded(1.0)},
    "ls-full-loss": {"holds": full(5, 50, NAN), "fails": full(5, NAN, NAN)},
    "ls-any-family": {
        "holds": {"random_features": ended(5.0, 9.0)},
        "undecided": {"random_features": ended(5.0, NAN)},
    },
    "ls-still-kernel": {"holds": tight(0.0, 1.0), "fails": tight(1e-3, 1.0)},
    "ls-lost-again": {"holds": after(1, 1, 1), "fails": after(1, 1, 0)},
    "ls-theorem-4-3": {
        "holds": {"to_the_end": ended(5.0, 9.0)},
        "undecided": {"to_the_end": ended(5.0, NAN)},
    },
    "ls-equal-means": {"holds": {"equal_means": equal(1.0)}, "fails": {"equal_means": equal(0.0)}},
    "ls-repaired": {"holds": watched(2), "fails": watched(100)},
    "ls-spread-squared": {
        "holds": {
            "blocks": np.tile([[[9, 1], [4, 1], [1, 1], [0.25, 1]]], (3, 1, 1)),
            "thetas": np.full((3, 4), 9.0),
        },
        "fails": {
            "blocks": np.tile([[[9, 1], [4, 1], [2, 1], [1, 1]]], (3, 1, 1)),
            "thetas": np.full((3, 4), 9.0),
        },
    },
    "ls-lipschitz": {"holds": {"steep": [(20.0, 1.0)]}, "fails": {"steep": [(2e6, 1.0)]}},
    "ls-fig-4-data": {
        "holds": {"affine": {"donut": [False] * 3}},
        "fails": {"affine": {"donut": [True] * 3}},
    },
    "ls-fig-4-pixels": {
        "holds": {"affine": {"digits": [True] * 3}},
        "fails": {"affine": {"digits": [False] * 3}},
    },
    "ls-donut-gradients": {"holds when": shapes(50, 5), "fails": shapes(50, 5, (0.5, 0.1))},
    "ls-reshaping": {"holds": shapes(50, 5), "fails": shapes(6, 5)},
    "ls-warm-start": {
        "holds": donuts([0.1, 0.8, 0.9, 0.9]),
        "not seen here": donuts([0.1, 0.1, 0.1, 0.9]),
    },
    "ls-step-1": {
        "holds": {"linear_errors": [(1.0, 0.0, 1.0, 1.0)], "linear_powers": [3.0]},
        "fails": {"linear_errors": [(1.0, 0.0, 1.0, 5.0)], "linear_powers": [3.0]},
    },
    "ls-growing-eigenvalue": {
        "holds": {"eigenvalues": [(-1.0, -1.0, 0.0)]},
        "fails": {"eigenvalues": [(-1.0, -1.1, 0.0)]},
    },
    "ls-step-4": {
        "holds": {"flows": flow(0.0, 0.0)},
        "misprinted": {"flows": flow(0.5, 0.0)},
        "fails": {"flows": flow(0.5, 0.5)},
    },
    "ls-step-4-bounds": {
        "holds": {"components": components(lambda n: 0.2), "flows": flow(0.5, 0.0)},
        "fails": {"components": components(lambda n: n), "flows": flow(0.5, 0.0)},
    },
    "ls-first-gap": {
        "holds": {"components": components(np.sqrt)},
        "fails": {"components": components(lambda n: 0.2)},
    },
    "ls-step-5": {
        "holds": {"printed_bounds": {1: [-9.0, -8.0]}, "equal_means": equal(0.0)},
        "fails": {"printed_bounds": {1: [-9.0, 5.0]}, "equal_means": equal(0.0)},
    },
    "ls-sphere-drift": {
        "holds": {"drifts": [0.01, 0.02, 0.03]},
        "not seen here": {"drifts": [0.7, 0.7, 0.5]},
    },
    "ls-fig-4-mnist": {"holds": mnist(0.4, 0.8, 0.8), "not seen here": mnist(0.4, 0.9, 0.6)},
    "ls-fig-6-size": {"holds when": circle(70.0, 75, 80), "not seen here": circle(NAN, NAN, NAN)},
    "ls-fig-6-free": {"holds": free(PLATEAU), "not seen here": free(PLATEAU + 1)},
    "ls-fig-3": {"holds": panels(8, 900, NAN, 0.1), "not seen here": panels(8, NAN, NAN, 0.1)},
    "ls-fig-5-order": {
        "holds": donuts([0.1, 0.8, 0.9, 0.9]),
        "not seen here": donuts([0.1, 0.1, 0.1, 0.1]),
    },
}
