"""Series of runs that the audit of the papers judges, and of which the chapter shows the records."""

import functools

import numpy as np

from clbook import sweep
from clbook.experiments.kernel import Config, run
from clbook_book.audit.va import closed_forms

SEEDS = range(5)
RATES = (0.1, 1.0, 10.0, 100.0, 1000.0)  # learning rate / tau
TURNING = Config(
    centres="line",
    clusters=4,
    delta=0.3,
    n=40,
    width=64,
    gradient="full",
    lr_over_tau=0.1,
    steps=120,
)


def _steps(gradient: str) -> list:
    """The runs of one step with this gradient: all rates, five seeds of each."""
    base = Config(delta=0.3, width=16, gradient=gradient)
    configs = [base.replace(lr_over_tau=rate, seed=seed) for rate in RATES for seed in SEEDS]
    return sweep(run, configs, record=("measured", "kernel"))


def step_errors():
    """{gradient: (rates, seeds)} relative error of Prop. 4.1 for one step; "joint": full, views as points."""
    partial = _steps("partial")
    full = _steps("full")
    errors = {
        "partial": [run.error("kernel") for run in partial],
        "full": [run.error("kernel") for run in full],
        "joint": [closed_forms.joint_error(run) for run in full],
    }
    shape = len(RATES), len(SEEDS)
    return {name: np.reshape(values, shape) for name, values in errors.items()}


@functools.cache
def ratios():
    """Sizes of the cluster that shrinks, relative to each other one."""
    return 1.0, 0.5, 0.2, 0.1, 0.05


def cluster_speeds():
    """{number of clusters: (ratios, seeds, clusters)} speeds at the first step; the last cluster shrinks."""
    unequal = Config(n=240, start="smooth")
    speeds = {2: [], 3: [], 4: []}
    for number, found in speeds.items():
        for ratio in ratios():
            base = unequal.replace(clusters=number, ratio=ratio)
            configs = [base.replace(seed=seed) for seed in range(5)]
            runs = sweep(run, configs, record=("measured",))
            found.append([run.speeds() for run in runs])
    return {number: np.array(found) for number, found in speeds.items()}
