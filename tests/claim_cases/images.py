"""Made-up records on which the claims on images give each verdict that they may give."""

import numpy as np
import xarray


def made(**values):
    """A record of three runs with these accuracies, each with a little spread."""
    spread = np.array([0.0, 0.01, -0.01])
    record = {name: ("seed", value + spread) for name, value in values.items() if name != "knn"}
    if "knn" in values:
        over_time = np.stack([0 * spread, values["knn"] + spread], 1)
        record["knn"] = (("seed", "epoch"), over_time)
    return xarray.Dataset(record)


def cifar(**values):
    return {"cifar": made(**values)}


def mnist(**values):
    return {"mnist_images": made(**values)}


def spectra(before, after):
    """Spectra with so many equal variances."""
    record = {}
    for name, count in (("h", before), ("z", after)):
        variances = np.tile(np.arange(8) < count, (3, 1)).astype(float)
        record[f"spectrum_{name}"] = (("seed", f"axis_{name}"), variances)
    return {"cifar": xarray.Dataset(record)}


def rising(last, best):
    """Accuracies that start at .5, have a best and end so."""
    lines = np.array([0.5, best, last]) + np.array([[0.0], [0.01], [-0.01]]) * (best < 1)
    return {"emergence": xarray.Dataset({"accuracy": (("seed", "step"), lines)})}


FLAT = {"pixels": 0.3, "pixels_seen": 0.2}
CASES = {
    "img-mnist-pixels": {
        "seen here": mnist(pixels=0.98, pixels_seen=0.95),
        "not seen here": mnist(pixels=0.98, pixels_seen=0.7),
    },
    "img-cifar-pixels": {
        "seen here": cifar(**FLAT),
        "not seen here": cifar(pixels=0.6, pixels_seen=0.2),
    },
    "img-simclr-uncovers": {
        "seen here": cifar(knn=0.5, features_seen=0.4, **FLAT),
        "not seen here": cifar(knn=0.3, features_seen=0.4, **FLAT),
    },
    "img-simclr-strong": {
        "seen here": cifar(features_seen=0.7),
        "not seen here": cifar(features_seen=0.4),
    },
    "img-training": {
        "seen here": cifar(knn=0.5, untrained=0.3),
        "not seen here": cifar(knn=0.3, untrained=0.5),
    },
    # The run backwards falls.
    "img-emergence": {"seen here": rising(0.7, 0.72), "not seen here": rising(0.3, 0.56)},
    "img-emergence-end": {"seen here": rising(1.0, 1.0), "undecided": rising(0.8, 0.82)},
}
