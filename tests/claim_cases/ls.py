"""Made-up runs on which the claims of LS's own room give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook.experiments.separability.recipes import PAIRS
from clbook.papers.ls import repair
from clbook.papers.ls.recipes import LOSSES, SETS

NAN = np.nan


def runs(*at, **fields):
    """Runs that separate at these iterations (None: never)."""
    return [Run(separable_at=steps, **fields) for steps in at]


def embedded(width):
    """Runs in the plane that separate at once; their points lie on a cross, or on a line (width 0)."""
    z = np.array([[1.0, 0], [-1, 0], [0, width], [0, -width]])
    return {"several": {"one": runs(*[0] * 5, z=z[None], steps=np.array([0]), config=Run(d=2))}}


def sharpened(*scatters):
    """Five runs of two clusters at -1 and 1 that scatter so much at separation, and at the end."""
    z = [np.array([-1 - s, -1 + s, 1 - s, 1 + s])[:, None] for s in scatters]
    fields = dict(z=np.array(z), steps=np.array([10, 20]), labels=np.array([0, 0, 1, 1]))
    return {"repeats": {"eps^2/tau = .01, network": runs(*[10] * 5, **fields)}}


def ended(ratio, at):
    """A record of runs with this ratio of (e), one of which separates at `at`."""
    return record(
        "run",
        left=np.full(6, ratio),
        right=np.ones(6),
        separable_at=np.array([1.0, 2.0, 1.0, 2.0, 1.0, at]),
        gradient=["partial", "full", "full", "partial", "partial", "partial"],
    )


def overlap(best, ratio=20.0):
    """Starts with this largest gap over all weights, and a ratio of (e) that grows like the root of n."""
    made = [dict(n=n, ratio=ratio * np.sqrt(n / 4), kappa=-2.0, best=best) for n in (4, 16)]
    return {"overlapping": made, "overlapping_moved": made * 3}


def spread(apart, overlapping):
    """A record of clusters without overlap and with it, five seeds each, that separate at these iterations."""
    at = np.array([[apart] * 5, [overlapping] * 5])
    kappa = np.array([[0.5] * 5, [-0.5] * 5])
    kept = dict(separable_at=at, kappa=kappa, left=np.full((2, 5), 9.0), right=np.ones((2, 5)))
    return {"overlap_runs": record("spread seed", **kept)}


def record(axes, places=None, **quantities):
    """A record of quantities along these axes, or those of them that each has."""
    kept = {}
    for name, values in quantities.items():
        kept[name] = (axes.split()[: np.ndim(values)], values)
    return xarray.Dataset(kept, coords=places)


def tight(drift, rate):
    """Runs whose gap grows at this multiple of the rate 5 (Theta = 2, tau = .1), with this drift of the kernel."""
    config = Run(tau=0.1, lr=0.001, eps=1.0)
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
            * 5
        }
    }


def after(*whole):
    """A record of two families, five runs each, which separate at time 0; whether classes are whole at each time."""
    return {
        "followed": record(
            "family seed step",
            {"family": ["a network", "random features"]},
            recorded_steps=np.tile(np.arange(len(whole)), (2, 5, 1)),
            separable_at=np.zeros((2, 5)),
            whole=np.tile(np.array(whole, bool), (2, 5, 1)),
        )
    }


def watched(separable_at):
    """Runs that follow the linear law exactly, tau = 1/4 and a push of 1 and -1; they say when they separate."""
    z = [np.array([1.0, -0.5, 0.5, -1.0])]
    for _ in range(200):
        z.append(z[-1] + 0.1 * np.array([1, 1, -1, -1]) * (z[-1][:2].mean() - z[-1][2:].mean()))
    run = Run(
        z=np.array(z),
        labels=np.array([0, 0, 1, 1]),
        push=np.array([1.0, 1, -1, -1]),
        config=Run(tau=0.25, lr=0.1, gradient="partial"),
        separable_at=separable_at,
    )
    promised = np.full(3, float(repair.certified_at(run)))
    return {"promises": {"promised": promised, "separable_at": np.full(3, float(separable_at))}}


def shapes(donut, clusters, spread=(9.0, 0.1), theta=1.0):
    """Donuts and clusters that take so long, and whose gradients scatter so much."""
    return {
        "shapes": {
            name: runs(*[at] * 5, sigma2=[s * theta], theta=[theta])
            for name, at, s in (("donut", donut, spread[0]), ("clusters", clusters, spread[1]))
        }
    }


def full(clusters, donut, none):
    """A record of three losses on three data sets, five seeds each, that separate at these iterations."""
    at = np.tile(np.array([clusters, donut, none])[:, None], (3, 1, 5))
    places = {"loss": [*LOSSES], "set": [*SETS]}
    return {"full_loss": record("loss set seed", places, separable_at=at)}


def donuts(later, start=0.1):
    """A record of five ReLU donuts, recorded at 0, 1, 2 and 3, that separate at 2; the ratio of (e) at 1."""
    ratio = np.array([start, later, np.nan, np.nan])
    return {
        "fig5": record(
            "activation eps seed step",
            {"activation": ["relu"], "eps": [1.0]},
            separable_at=np.full((1, 1, 5), 2.0),
            recorded_steps=np.tile(np.arange(4.0), (1, 1, 5, 1)),
            later=np.tile(ratio, (1, 1, 5, 1)),
        )
    }


def panels(early, late, never, moved):
    return {
        "fig3": record(
            "panel seed",
            {"panel": [*PAIRS]},
            separable_at=np.outer([early, late, never], np.ones(5)),
            moved=np.outer([9.0, 1.0, moved], np.ones(5)),
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
    return {n: np.full((5, 5, 2), alpha(n)) for n in (50, 200)}


def equal(slope):
    return dict(partial=slope, full=slope, ratio=900.0, eps=0.1)


def constant(slope):
    """Runs whose clusters are tight, and the gradient at their constant start."""
    return {
        "constant_slope": slope,
        "constant": [Run(config=Run(tau=0.1, n=100), gamma=[0.0], theta=[20.0], sigma2=[0.0])] * 5,
    }


def mnist(*accuracy, at=NAN):
    """A record of three runs with these accuracies over time, which are separable at this iteration."""
    lines = np.array([accuracy] * 3)
    return {"fig4_mnist": record("seed step", accuracy=lines, separable_at=np.full(3, at))}


def circle(*at):
    """Records of Figure 6: from the cap separable at these iterations."""
    uniform = record("d depth seed", {"d": [2], "depth": [1]}, separable_at=np.full((1, 1, 5), 4.0))
    small = record("lr seed", {"lr": [0.2]}, separable_at=np.full((1, 5), NAN))
    return {
        "fig6": record(
            "seed step", separable_at=np.array(at), recorded_steps=np.array([[0.0, 3000]] * 3)
        ),
        "uniform_size": uniform,
        "uniform_batches": small,
    }


CASES = {
    "ls-definitions": {
        "holds": {"written": [{"eq. 1": (1.0, 1.0)}]},
        "fails": {"written": [{"eq. 1": (1.0, 1.1)}]},
    },
    "ls-any-scale": {"identity": {"scales": [0.0]}, "fails": {"scales": [0.1]}},
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
        "seen here": {"several": {"3 in 2-D": runs(5, 6, 7, 8, 9)}},
        "not seen here": {"several": {"3 in 2-D": runs(5, 6, 7, 8, None)}},
    },
    "ls-without-collapse": {"seen here": embedded(1.0), "not seen here": embedded(0.0)},
    "ls-full-loss": {"seen here": full(5, 50, NAN), "not seen here": full(50, 5, NAN)},
    "ls-any-family": {
        "holds when": {
            "random_features": ended(5.0, 9.0),
            "linear_maps": {"spline": runs(*[3] * 5)},
        },
        "undecided": {
            "random_features": ended(5.0, NAN),
            "linear_maps": {"spline": runs(*[3] * 5)},
        },
    },
    "ls-still-kernel": {"holds": tight(0.0, 1.0), "fails": tight(1e-3, 1.0)},
    "ls-lost-again": {"seen here": after(1, 1, 1), "not seen here": after(1, 1, 0)},
    "ls-theorem-4-3": {
        "holds when": {"to_the_end": ended(5.0, 9.0), "equal_means": equal(0.0), **overlap(-1.0)},
        "undecided": {"to_the_end": ended(5.0, NAN), "equal_means": equal(0.0), **overlap(-1.0)},
    },
    "ls-equal-means": {
        "holds": {"equal_means": equal(0.0), **constant(0.0)},
        "fails": {"equal_means": equal(1.0), **constant(0.0)},
    },
    "ls-overlap": {"holds": overlap(-1.0), "fails": overlap(0.1)},
    "ls-overlap-runs": {"seen here": spread(20, NAN), "not seen here": spread(90, 20)},
    "ls-persist": {"seen here": sharpened(0.5, 0.1), "not seen here": sharpened(0.1, 0.5)},
    "ls-repaired": {"identity": watched(2), "fails": watched(100)},
    "ls-spread-squared": {
        "holds": {
            "blocks": np.tile([[[9, 1], [4, 1], [1, 1], [0.25, 1]]], (5, 1, 1)),
            "thetas": np.full((5, 4), 9.0),
        },
        "fails": {
            "blocks": np.tile([[[9, 1], [4, 1], [2, 1], [1, 1]]], (5, 1, 1)),
            "thetas": np.full((5, 4), 9.0),
        },
    },
    "ls-lipschitz": {"holds": {"steep": [(20.0, 1.0)]}, "fails": {"steep": [(2e6, 1.0)]}},
    "ls-fig-4-data": {
        "holds": {"affine": {"donut": [False] * 5}},
        "fails": {"affine": {"donut": [True] * 5}},
    },
    "ls-fig-4-pixels": {
        "seen here": {"affine": {"digits": [False] * 5, "mnist": [False] * 5}},
        "not seen here": {"affine": {"digits": [False] * 5, "mnist": [True] * 5}},
    },
    "ls-donut-gradients": {
        "holds": shapes(50, 5, theta=1e-15),
        "misprinted": shapes(50, 5),
        "fails": shapes(50, 5, (0.5, 0.1)),
    },
    "ls-reshaping": {"seen here": shapes(50, 5), "not seen here": shapes(5, 50)},
    "ls-warm-start": {"holds when": donuts(5.0), "not seen here": donuts(0.5)},
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
        "holds": {"flows": flow(0.5, 0.0)},
        "fails": {"flows": flow(0.5, 0.0, rest=0.1)},
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
        "seen here": {"drifts": [0.01, 0.02, 0.03, 0.02, 0.01]},
        "not seen here": {"drifts": [0.7, 0.7, 0.5, 0.01, 0.02]},
    },
    "ls-fig-4-mnist": {"seen here": mnist(0.4, 0.9, 0.6), "not seen here": mnist(0.8, 0.8, 0.4)},
    "ls-fig-4-mnist-end": {"seen here": mnist(0.4, 1.0, at=9.0), "undecided": mnist(0.4, 0.9)},
    "ls-fig-6-size": {"holds when": circle(70.0, 75, 80), "not seen here": circle(NAN, NAN, NAN)},
    "ls-fig-3": {
        "seen here": panels(8, 900, NAN, 0.1),
        "not seen here": panels(900, 8, NAN, 0.1),
    },
    "ls-eq-14": {
        "holds": {"pairwise": [(0.0, 0.0, 0.0)]},
        "misprinted": {"pairwise": [(0.0, 2.0, 0.0)]},
        "fails": {"pairwise": [(0.0, 2.0, 1.0)]},
    },
}
