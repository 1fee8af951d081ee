"""Made-up records on which the claims on photographs give each verdict that they may give."""

import numpy as np

from clbook.experiments.photographs.recipes import ROWS

SPREAD = np.array([0.0, 0.01, -0.01])[:, None, None]  # of three seeds


def curves(*ends):
    """(3 seeds, 4 epochs, 4 losses): from 1 before training, in equal parts, to `ends`."""
    return (
        1
        + np.linspace(0, 1, 4)[:, None] * (np.array(ends) - 1)
        + SPREAD * np.array([0, 1, 1, 1]) / 10
    )


def similar(nscl, scl, ce):
    """Both sets with these CKA and RSA at the end."""
    record = {key: curves(1, nscl, scl, ce) for key in ("cka", "rsa")}
    return {"cifar": record, "mnist": record}


def apart(nscl, scl):
    record = {"gap": 1 - curves(1, 1 - nscl, 1 - scl, 1)}
    return {"cifar": record, "mnist": record}


def right(*accuracies):
    """Both sets with these accuracies of DCL, NSCL, SCL and CE."""
    record = {
        key: np.array(accuracies) + SPREAD[..., 0] * np.arange(4) / 10 for key in ("nccc", "probe")
    }
    return {"cifar": record, "mnist": record}


def heated(low, middle, high):
    """Both sets with these similarities of NSCL at the three temperatures."""

    def record(*ends):
        whole = np.concatenate([curves(1, end, end, end) for end in ends])
        return {"cka": whole, "rsa": whole}

    return {
        "cifar": record(middle),
        "mnist": record(middle),
        "cifar_tau": record(low, high),
        "mnist_tau": record(low, high),
    }


def seeds(values):
    """(15,): a value a row of ROWS, three seeds each."""
    return (np.array(values)[:, None] + SPREAD[:, 0, 0] / 10).ravel()


def spectra(*counts, before=8):
    """A record in which so many variances of each row are equal after the projector, the others 0."""

    def made(numbers):
        return np.repeat(np.arange(16) < np.array(numbers)[:, None], 3, axis=0).astype(float)

    return {"norms": {"spectrum_z": made(counts), "spectrum_h": made([before] * len(ROWS))}}


def read(after, before):
    return {"norms": {"probe_z": seeds(after), "probe": seeds(before)}}


def kernels(before, after):
    """Both sets with these alignments of the kernel."""
    aligned = np.tile([before, after], (2, 3, 1)) + SPREAD[:, 0] * np.array([0, 1])
    return {"blocks": {"aligned": aligned.reshape(6, 2)}}


CASES = {
    "sa-photo-order": {"holds": similar(0.9, 0.4, 0.5), "not seen here": similar(0.5, 0.9, 0.4)},
    "sa-photo-scl-zero": {
        "holds": {"cifar": similar(0.9, 0.02, 0.4)["cifar"]},
        "not seen here": {"cifar": similar(0.9, 0.4, 0.4)["cifar"]},
    },
    "sa-photo-ce-between": {
        "holds": similar(0.9, 0.3, 0.6),
        "not seen here": similar(0.9, 0.6, 0.3),
    },
    "sa-photo-gap": {"holds": apart(0.5, 0.9), "not seen here": apart(0.9, 0.5)},
    "sa-photo-table-1": {
        "holds": right(0.6, 0.7, 0.8, 0.8),
        "not seen here": right(0.8, 0.7, 0.6, 0.8),
    },
    "sa-photo-tau": {"holds": heated(0.3, 0.6, 0.9), "not seen here": heated(0.9, 0.6, 0.3)},
    "cs-photo-fig-2": {
        "holds": spectra(4, 8, 8, 4, 4, 4),
        "not seen here": spectra(8, 8, 8, 16, 16, 8),
    },
    "cs-photo-fig-2-literal": {
        "holds": spectra(4, 4, 4, 8, 8, 8),
        "not seen here": spectra(8, 16, 16, 8, 8, 8),
    },
    "cs-photo-before": {
        "holds": read([0.4] * 6, [0.5] * 6),
        "not seen here": read([0.5] * 6, [0.4] * 6),
    },
    "cs-photo-norm": {
        "holds": read([0.4] * 6, [0.5] * 6),
        "not seen here": read([0.4, *[0.5] * 5], [0.5] * 6),
    },
    "cs-photo-two": {
        "holds": read([0.4, 0.4, 0.5, *[0.4] * 3], [0.5, 0.5, 0.6, *[0.5] * 3]),
        "not seen here": read([0.4, 0.4, 0.3, *[0.4] * 3], [0.5, 0.5, 0.6, *[0.5] * 3]),
    },
    "photo-norm-control": {"holds": spectra(4, 4, 4, 8, 8, 8), "fails": spectra(4, 4, 4, 8, 8, 4)},
    "photo-blocks": {"holds": kernels(0.2, 0.5), "fails": kernels(0.3, 0.2)},
    "cs-photo-two-spectrum": {
        "holds": spectra(8, 8, 8, 8, 8, 8),
        "not seen here": spectra(8, 8, 16, 8, 8, 8),
    },
}
