"""What VA predict: how fast the embedding of a cluster moves."""

from __future__ import annotations

import math

import numpy as np

from clbook._arguments import reals, refused


def cluster_velocity(
    share: np.ndarray, squared_norm: np.ndarray, gain: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    """Velocity of a cluster's embedding, -(n_q/n) |xi_q|^2 beta_q grad L (VA eq. 21, Theorem 4.5), orthogonal centres.

    Args:
        share: (N,) n_q / n, the share of the points that lie in the cluster.
        squared_norm: (N,) |xi_q|^2 of its centre.
        gain: (N, d) diagonal of beta_q, the mean over hidden units of the squared slope at xi_q; for ReLU and infinite
            width 1/2 (VA Corollary 4.6).
        gradient: (N, d) partial gradient of the loss. The statement has it at the cluster's centre, its proof needs the
            mean over the cluster's points.

    Returns:
        (N, d).

    Raises:
        ValueError: other shapes, no numbers.
    """
    given = {"share": share, "squared_norm": squared_norm, "gain": gain, "gradient": gradient}
    shapes = {name: reals(name, numbers).shape for name, numbers in given.items()}
    clusters, d = (math.prod(shapes["share"]),), shapes["gradient"][-1:]
    for name, numbers in given.items():
        shape = clusters + d if name in ("gain", "gradient") else clusters
        if shapes[name] != shape:
            raise refused(name, numbers, f"numbers of shape {shape}")
    share, squared_norm, gain, gradient = map(np.asarray, given.values())
    return -share[:, None] * squared_norm[:, None] * gain * gradient
