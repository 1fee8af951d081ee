"""What follows from SL's loss on modular addition: the least loss of a batch, and the distances under decay."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from clbook._arguments import positive, refused, whole


def batch_floor(batch: int = 32, k: int = 8, samples: int | None = None) -> float:
    """Least expected loss of SL eq. 2 on CModAdd in a batch: E log(1 + X), X the other contexts that fit the anchor.

    X is Bin(batch - 1, 1/k) for independent draws, hypergeometric for a batch drawn from `samples` without repeats.

    Args:
        batch: pairs in a batch, 1 to a million.
        k: modulus, >= 1.
        samples: pairs that the batch is drawn from, a multiple of k from batch to 100 million (the time grows with it);
            None for independent draws.

    Raises:
        ValueError: an argument out of range.
    """
    batch = whole("batch", batch, 1, 10**6)
    k = whole("k", k, 1)
    if samples is None:
        fits = stats.binom(batch - 1, 1 / k)
    else:
        samples = whole("samples", samples, batch, 10**8)
        if samples % k:
            raise refused("samples", samples, f"a multiple of k = {k}")
        fits = stats.hypergeom(samples - 1, samples // k - 1, batch - 1)
    count = np.arange(batch)
    return float(fits.pmf(count) @ np.log1p(count))


def l2_distance(decay: float, N: int = 16, k: int = 8) -> float:
    """Distance of all different symbols of CModAdd at the optimum with decay/2 (|Z|^2 + |C|^2), d >= k - 1 (ours).

    The optimal logits are a (1[fits] - 1/k); the penalty is decay times their nuclear norm. See the chapter.

    Args:
        decay: weight of the penalty, > 0.
        N: number of symbols, a multiple of k. Another N is not refused, but its distances differ from each other.
        k: modulus, >= 2.

    Raises:
        ValueError: an argument out of range.
    """
    decay = positive("decay", decay)
    N = whole("N", N, 1)
    k = whole("k", k, 2)
    contexts = 2 * N * k
    slope = (k - 1) * decay * math.sqrt(N * contexts) / k  # derivative of the penalty in a
    if slope * k >= k - 1:
        return 0.0
    logit = math.log((k - 1) * (1 - slope) / slope)
    return math.sqrt(2 * math.sqrt(contexts / N) * logit)
