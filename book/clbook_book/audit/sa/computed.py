"""What SA's claims are judged on and takes over a second to compute: each function is the recipe of a record."""

import itertools

import numpy as np

from clbook.experiments.alignment import surrogate
from clbook_book.audit.sa import checks, definitions

SEEDS, FEW, CLASSES = range(5), range(3), (10, 20, 40, 80, 160)  # the last of `loss_gaps`


def definition_errors(seeds=FEW) -> list[dict[str, float]]:
    """{what SA define: how far the book's function is from it}, of each seed."""
    return [definitions.definitions(s) | {"eq. 1": checks.step_error(s)} for s in seeds]


def random_pairs(seeds=SEEDS) -> np.ndarray:
    """(seeds, draws, 2) CKA and RSA of pairs of random embeddings."""
    return np.array([definitions.outside(s) for s in seeds])


def loss_gaps(seeds=SEEDS) -> dict[float, np.ndarray]:
    """{tau: (seeds, classes, 2) DCL and CL minus NSCL} of random embeddings."""
    found = {}
    for tau in (0.5, 1.0):
        base = surrogate.Config(n=512, batch=512, tau=tau)
        rows = []
        for s in seeds:
            configs = [base.replace(classes=c, seed=s) for c in CLASSES]
            rows.append([surrogate.loss_gaps(config) for config in configs])
        found[tau] = np.array(rows)
    return found


def lasting() -> dict[tuple[str, float], tuple[int, int]]:
    """{(data set, tau): epochs for which Corollary 1 promises a CKA above 0, and all of SA's training}."""
    found = {}
    for (name, sizes), tau in itertools.product(checks.SETS.items(), checks.TAUS):
        classes, N, epochs = sizes
        found[name, tau] = (checks.promised(classes, N, epochs, tau, N / 10), epochs)
    return found
