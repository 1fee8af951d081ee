"""What VA predict: how fast the embedding of a cluster moves."""

from __future__ import annotations

import numpy as np


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
    """
    return -np.asarray(share)[:, None] * np.asarray(squared_norm)[:, None] * gain * gradient
