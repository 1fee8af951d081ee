"""Made-up records on which the claims on photographs give each verdict that they may give."""

import numpy as np
import xarray

from clbook.experiments.photographs.recipes import OUTPUTS

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
    """The same record of both sets."""
    sets = {"CIFAR-10": record, "MNIST": record}
    return {"photographs": sets, "images": sets}


def similar(nscl, scl, ce):
    """Both sets with these CKA and RSA at the end."""
    values = curves(1, nscl, scl, ce)
    return both(xarray.Dataset({"cka": values, "rsa": values}))


def apart(nscl, scl):
    """A record with these weight gaps at the end."""
    return xarray.Dataset({"gap": 1 - curves(1, 1 - nscl, 1 - scl, 1)})


def beside_digits(nscl, scl):
    """Both sets with the wider gap for SCL, and the long training on digits with these gaps at its end."""
    photographs = both(apart(0.5, 0.9))["images"]
    return {"images": photographs | {"digits": apart(nscl, scl).rename(epoch="step")}}


def declining(fall):
    """Both sets with a CKA of NSCL that falls by so much over seven epochs."""
    values = np.tile(0.5 - fall * np.linspace(-0.5, 0.5, 7)[:, None], (3, 1, 4)) + SPREAD / 10
    values = xarray.DataArray(values, {"loss": LOSSES}, ("seed", "epoch", "loss"))
    return both(xarray.Dataset({"cka": values}))


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


def of_variants(values, *axes):
    """An array of the records of `OUTPUTS`: (variants, seeds, ...)."""
    return xarray.DataArray(values, {"variant": [*OUTPUTS]}, ("variant", "seed", *axes))


def spectra(*counts, before=8):
    """A record in which so many variances of each variant are equal after the projector, the others 0."""

    def made(numbers, axis):
        equal = np.arange(16) < np.array(numbers)[:, None, None]
        return of_variants(np.repeat(equal, 3, axis=1).astype(float), axis)

    after, same = made(counts, "axis_z"), made([before] * len(OUTPUTS), "axis_h")
    return {"norms": xarray.Dataset({"spectrum_z": after, "spectrum_h": same})}


def read(after, before):
    """A record with these accuracies, one a variant."""
    kept = {}
    for key, values in (("probe_z", after), ("probe", before)):
        kept[key] = of_variants(np.array(values)[:, None] + SPREAD[:, 0, 0] / 10)
    return {"norms": xarray.Dataset(kept)}


def kernels(before, after):
    """Both sets with these alignments of the kernel."""
    values = np.tile([before, after], (2, 3, 1)) + SPREAD[:, 0] * np.array([0, 1])
    places = {"data": ["cifar10", "mnist"], "moment": ["before", "after"]}
    return {
        "photo_blocks": xarray.Dataset(
            {"aligned": (("data", "seed", "moment"), values)}, coords=places
        )
    }


CASES = {
    "sa-photo-order": {
        "seen here": similar(0.9, 0.4, 0.5),
        "not seen here": similar(0.5, 0.9, 0.4),  # NSCL and SCL exchanged
    },
    "sa-photo-throughout": {
        "seen here": similar(0.9, 0.4, 0.5),
        "not seen here": similar(0.5, 0.9, 0.4),
    },
    "sa-photo-scl-zero": {
        "seen here": similar(0.9, 0.02, 0.4),
        "not seen here": similar(0.9, 0.4, 0.4),
    },
    "sa-photo-ce-between": {
        "seen here": similar(0.9, 0.3, 0.6),
        "not seen here": similar(0.9, 0.6, 0.3),
    },
    "sa-photo-ce-between-cifar": {
        "seen here": similar(0.9, 0.3, 0.6),
        "not seen here": similar(0.9, 0.6, 0.3),
    },
    "sa-photo-decline": {
        "seen here": declining(0.9),
        "not seen here": declining(-0.9),  # the time reversed
    },
    "sa-photo-gap": {
        "seen here": both(apart(0.5, 0.9)),
        # The time reversed.
        "not seen here": both(apart(0.5, 0.9).isel(epoch=slice(None, None, -1))),
    },
    "sa-photo-scl-weights": {
        "seen here": beside_digits(0.5, 0.9),
        "not seen here": beside_digits(0.9, 0.5),
    },
    "sa-photo-centres": {
        "seen here": right(0.6, 0.7, 0.8, 0.8),
        "not seen here": right(0.8, 0.7, 0.6, 0.8),
    },
    "sa-photo-centres-ce": {
        "seen here": right(0.6, 0.7, 0.8, 0.8),
        "not seen here": right(0.6, 0.8, 0.7, 0.7),
    },
    "sa-photo-probe": {
        "seen here": right(0.6, 0.7, 0.8, 0.8),
        "not seen here": right(0.8, 0.7, 0.6, 0.8),
    },
    "sa-photo-tau": {"seen here": heated(0.3, 0.6, 0.9), "not seen here": heated(0.9, 0.6, 0.3)},
    "photo-blocks": {"seen here": kernels(0.2, 0.5), "not seen here": kernels(0.3, 0.2)},
    "photo-blocks-mnist": {"seen here": kernels(0.3, 0.2), "not seen here": kernels(0.2, 0.5)},
}
