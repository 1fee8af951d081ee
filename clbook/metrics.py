"""Measures of a representation: separability, similarity of two representations, readouts, spectra.

All take torch tensors (any device) or numpy arrays and compute in float64.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import optimize, sparse


def _array(name, values, ndim):
    """`values` as a finite float64 array of `ndim` dimensions (a vector is one column); ValueError naming it."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1 and ndim == 2:
        values = values[:, None]
    if values.ndim != ndim:
        raise ValueError(f"{name} has shape {values.shape}: it must have {ndim} dimensions")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has entries that are not finite")
    return values


def class_ids(labels, n):
    """Labels as numbers 0 .. C-1 and C; ValueError where there are not n of them or fewer than two classes."""
    if isinstance(labels, torch.Tensor):
        labels = labels.detach().cpu().numpy()
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise ValueError(f"labels has shape {labels.shape}: it must be ({n},), one for each point")
    classes, ids = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"labels holds {len(classes)} class: it must hold at least two")
    return ids, len(classes)
