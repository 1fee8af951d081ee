"""Made-up records on which the claims on images give each verdict that they may give."""

import numpy as np
import xarray


def cifar(**values):
    """A record of three runs with these accuracies at the end, each with a little spread."""
    spread = np.array([0.0, 0.01, -0.01])
    record = {name: ("seed", value + spread) for name, value in values.items()}
    record["knn"] = (("seed", "epoch"), np.stack([0 * spread, values["knn"] + spread], 1))
    return {"cifar": xarray.Dataset(record)}


FLAT = {"pixels": 0.3, "pixels_seen": 0.2, "features_seen": 0.4}
CASES = {
    "img-simclr-uncovers": {
        "seen here": cifar(knn=0.5, **FLAT),
        "not seen here": cifar(knn=0.3, **FLAT),
    }
}
