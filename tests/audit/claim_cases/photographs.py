"""Made-up records on which the claims on photographs give each verdict that they may give."""

import numpy as np
import xarray

LOSSES = ["dcl", "nscl", "supcon", "ce"]
SPREAD = np.array([0.0, 0.01, -0.01])[:, None, None]  # of three seeds


def curves(*ends):
    """(3 seeds, 4 epochs, 4 losses): from 1 before training, in equal parts, to `ends`."""
    values = (
        1
        + np.linspace(0, 1, 4)[:, None] * (np.array(ends) - 1)
        + SPREAD * np.array([0, 1, 1, 1]) / 10
    )
    return xarray.DataArray(values, {"loss": LOSSES}, ("seed", "epoch", "loss"))


def both(record):
    """The same record of both sets, and of the digits beside them."""
    sets = {"CIFAR-10": record, "MNIST": record}
    return {"photographs": sets, "images": sets | {"digits": record}}


def similar(nscl, scl, ce):
    """Both sets with these CKA and RSA at the end."""
    values = curves(1, nscl, scl, ce)
    return both(xarray.Dataset({"cka": values, "rsa": values}))


def right(*accuracies):
    """Both sets with these accuracies of DCL, NSCL, SCL and CE."""
    values = np.array(accuracies) + SPREAD[..., 0] * np.arange(4) / 10
    values = xarray.DataArray(values, {"loss": LOSSES}, ("seed", "loss"))
    return both(xarray.Dataset({"nccc": values, "probe": values}))


def heated(low, middle, high):
    """Both sets with these similarities of NSCL at the three temperatures."""

    def record(**ends):
        whole = xarray.concat([curves(1, end, end, end) for end in ends.values()], "tau")
        return xarray.Dataset({"cka": whole, "rsa": whole})

    half = record(half=middle).isel(tau=0)
    others = record(low=low, high=high).assign_coords(tau=[0.1, 1.0])
    return both(half) | {"photographs_tau": both(others)["photographs"]}


CASES = {
    "sa-photo-scl-zero": {
        "seen here": similar(0.9, 0.02, 0.4),
        "not seen here": similar(0.9, 0.4, 0.4),
    },
    "sa-photo-ce-between": {
        "seen here": similar(0.9, 0.3, 0.6),
        "not seen here": similar(0.9, 0.6, 0.3),
    },
    "sa-photo-probe": {
        "seen here": right(0.6, 0.7, 0.8, 0.8),
        "not seen here": right(0.8, 0.7, 0.6, 0.8),
    },
    "sa-photo-tau": {"seen here": heated(0.3, 0.6, 0.9), "not seen here": heated(0.9, 0.6, 0.3)},
}
