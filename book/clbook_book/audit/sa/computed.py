"""What SA's claims are judged on and takes over a second to compute: each function is the recipe of a record."""

import numpy as np

from clbook.experiments.alignment import surrogate

SEEDS, FEW, CLASSES = range(5), range(3), (10, 20, 40, 80, 160)  # the last of `loss_gaps`


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
