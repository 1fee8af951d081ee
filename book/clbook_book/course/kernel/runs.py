"""What was run for the chapter: the kernel while networks train on two clusters and on a donut (LS Figure 5)."""

from __future__ import annotations

import numpy as np

from clbook import kernels
from clbook.experiments import separability
from clbook.explore.static import thinned
from clbook.metrics import r2
from clbook.results.sweep import combined
from clbook_book.records import fields, recorded

ACTIVATIONS = ("tanh", "relu", "gelu")
CLUSTERS = separability.Config(tau=1.0, lr_over_tau=0.05, steps=5000)
DONUT = CLUSTERS.replace(data="donut", augmentation="rotation")
ASKED = ("kernel", "alignment", "theta", "sigma2")
BOTH = {"activation": ACTIVATIONS, "seed": range(5)}


@recorded(
    "ls-fig-5-training",
    separability.run,
    combined(CLUSTERS, **BOTH) + combined(DONUT, **BOTH),
    curves=("alignment",),
    start=0.02,
    record=ASKED,
    axes={
        **dict.fromkeys(("steps", "alignment", "fisher"), "run step"),
        "share": "run moment",
        "fit": "run pattern by",
    },
    labels={
        "moment": ("start", "near separation", "end"),
        "pattern": ("eigenvector", "embedding"),
        "by": ("position", "squared radius"),
    },
    dims=("data", "activation", "seed"),
)
def stories(results):
    """The kernel on two clusters and on a donut, tanh, ReLU and GELU, five seeds, 5,000 iterations.

    Keeps:
        alignment, fisher (runs, T): alignment of the kernel with the labels, and Fisher ratio, at the recorded times.
        share (runs, 3): class share of the kernel's top eigenvector at the start, near separation and at the end.
        fit (runs, 2, 2): R^2 of the top eigenvector of K(0), and of the embedding at separation, as linear functions of
            the position, and of the squared radius.
    """
    share, fit = [], []
    for r in results:
        apart = r.z[int(np.searchsorted(r.steps, r.separable_at))]
        top = kernels.top_eigenvector(r.kernel[0], r.labels)[0][:, None]
        radius = (r.x**2).sum(1, keepdims=True)
        fit.append([[r2(pattern, by)[0] for by in (r.x, radius)] for pattern in (top, apart)])
        chosen = thinned(len(r.steps), 6)
        near = chosen[np.argmin(np.abs(r.steps[chosen] - r.separable_at))]
        share.append([kernels.top_eigenvector(r.kernel[k], r.labels)[1] for k in (0, near, -1)])
    return {
        "steps": np.stack([r.steps for r in results]),
        "alignment": np.stack([r.alignment for r in results]),
        "fisher": np.stack([r.theta / r.sigma2 for r in results]),
        "share": np.array(share),
        "fit": np.array(fit),
        "separable_at": np.array([r.separable_at for r in results]),
    }


def at_three_times(record) -> list:
    """Alignment of kernel and labels at the start, when a run is first seen separated, and at the end."""
    seen = (record.recorded_steps >= record.separable_at).argmax("step")
    return [record.alignment.isel(step=at) for at in (0, seen, -1)]


def at_six_times(result) -> np.ndarray:
    """(T, n, n) the kernel at six recorded times, those that `kernel_story` draws, and NaN at the others."""
    chosen = thinned(len(result.steps), 6)
    kept = np.full_like(result.kernel, np.nan)
    kept[chosen] = result.kernel[chosen]
    return kept


@recorded(
    "ls-fig-5-kernels",
    separability.run,
    [CLUSTERS, DONUT],
    keep=fields("kernel", kernel=at_six_times),
    curves=("alignment",),
    start=0.02,
    record=ASKED,
)
def at_times(runs):
    """The kernel on two clusters and on a donut, tanh, one seed, at six of 5,000 iterations."""
    return runs
