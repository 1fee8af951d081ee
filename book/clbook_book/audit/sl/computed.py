"""What SL's claims are judged on and takes over a second to compute: each function is the recipe of a record."""

import numpy as np

from clbook import sweep
from clbook.experiments.modadd import lookup
from clbook_book.course.modadd import lookup_figures

SEEDS, DECAYS = range(5), (1e-4, 1e-3, 0.015)
BATCHES = [0, 2, 4], [0, 1, 5, 7]  # symbols in the batches on which Lemma A.1 is tried
OPTIMA = {  # what is changed in the random table, or in the loss
    "all hypotheses": {},
    "(1) broken": {"broken": "answers"},
    "(2) broken": {"broken": "contexts"},
    "(3) impossible:\n24 columns, d = 32": {"contexts": 12, "d": 32},
    "softmax over symbols": {"over": "symbols"},
}


def twins(seeds=SEEDS):
    """{what is changed: distances of the twins at the optimum, (seeds, pairs)}."""
    found = {}
    for name, changes in OPTIMA.items():
        runs = sweep(lookup.run, [lookup.Config(seed=seed, **changes) for seed in seeds])
        found[name] = np.array([lookup_figures.twins(run)[0] for run in runs])
    return found


def _lemma_errors(run, batch) -> tuple[float, float]:
    """Error of Lemma A.1 on the symbols of `batch`; and with the softmax over the batch on its left side."""
    score = np.exp(run.z[-1] @ run.c[-1].T)[batch]
    density = np.exp(lookup.pmi(run.joint))[batch]
    right = density / density.sum(0)
    printed = np.abs(score - right).max()
    softmax = score / score.sum(0)
    return printed, np.abs(softmax - right).max()


def lemma():
    """Both errors of Lemma A.1, (2, batches, seeds)."""
    runs = sweep(lookup.run, [lookup.Config(seed=seed, over="symbols") for seed in SEEDS])
    errors = []
    for batch in BATCHES:
        errors.append([_lemma_errors(run, batch) for run in runs])
    return np.array(errors).transpose(2, 0, 1)


def with_decay(seeds=SEEDS):
    """{decay: distances of equivalent and of other symbols at the optimum of CModAdd, for each seed}."""
    found = {}
    for decay in DECAYS:
        configs = [lookup.Config(data="cmodadd", decay=decay, seed=seed) for seed in seeds]
        found[decay] = [run.distances() for run in sweep(lookup.run, configs)]
    return found
